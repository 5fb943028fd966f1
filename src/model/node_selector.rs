//! Node selectors and node affinity of pods: terms joined by OR, requirements of a term by AND.

use super::labels::{Labels, Requirement, SelectorError};
use super::symbol::Symbol;
use std::sync::Arc;

/// A term of a node selector. A term without requirements matches nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NodeSelectorTerm {
    /// Requirements on labels.
    pub expressions: Box<[Requirement]>,
    /// Requirements on fields; only `metadata.name` exists.
    pub fields: Box<[Requirement]>,
    /// Why the term is invalid; an invalid term matches nothing and hides no match of another.
    pub error: Option<SelectorError>,
}

/// A `v1.NodeSelector`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeSelector {
    /// Any must match.
    pub terms: Box<[NodeSelectorTerm]>,
}

/// A preferred scheduling term with its weight (1 to 100).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreferredTerm {
    /// What is added to the score of a node that matches.
    pub weight: i64,
    /// The term.
    pub term: NodeSelectorTerm,
}

/// What a pod asks of nodes: `spec.nodeSelector` and `spec.affinity.nodeAffinity`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeAffinity {
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// Required terms.
    pub required: Option<Arc<NodeSelector>>,
    /// Preferred terms.
    pub preferred: Arc<[PreferredTerm]>,
}

impl NodeAffinity {
    /// The label keys it looks at.
    pub fn label_keys(&self) -> impl Iterator<Item = &Symbol> {
        let required = self.required.iter().flat_map(|selector| selector.terms.iter());
        let preferred = self.preferred.iter().map(|preferred| &preferred.term);
        self.node_selector.iter().map(|(key, _)| key).chain(
            required
                .chain(preferred)
                .flat_map(|term| term.expressions.iter().map(|requirement| &requirement.key)),
        )
    }
}
