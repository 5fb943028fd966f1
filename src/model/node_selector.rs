//! Node selectors and node affinity of pods: terms joined by OR, requirements of a term by AND. The serde form is in
//! `objects/selectors.rs`; requirements are those of `labels.rs`.
//!
//! Source: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`.

use super::labels::{Labels, Requirement, SelectorError, SelectorOperator, json_list};
use super::objects::selectors;
use super::symbol::Symbol;
use std::sync::Arc;

/// A term of a node selector. A term without requirements matches nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
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
    /// The errors of all terms; they matter only if no term matches.
    pub error: Option<SelectorError>,
}

impl NodeSelectorTerm {
    /// The term at `path`, with its errors.
    fn parse(object: &selectors::NodeSelectorTerm, path: &str) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut expressions = Vec::new();
        for (at, expression) in object.match_expressions.iter().enumerate() {
            let path = format!("{path}.matchExpressions[{at}].");
            let Some(operator) = SelectorOperator::parse(&expression.operator) else {
                problems.push(unsupported(
                    &path,
                    expression,
                    &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
                ));
                continue;
            };
            match Requirement::parse(&expression.key, operator, expression.values.as_deref(), &path) {
                Ok(requirement) => expressions.push(requirement),
                Err(more) => problems.extend(more),
            }
        }
        let mut fields = Vec::new();
        for (at, field) in object.match_fields.iter().enumerate() {
            let path = format!("{path}.matchFields[{at}].");
            let operator = SelectorOperator::parse(&field.operator);
            let Some(operator @ (SelectorOperator::In | SelectorOperator::NotIn)) = operator else {
                problems.push(unsupported(&path, field, &["In", "NotIn"]));
                continue;
            };
            match field.values.as_deref() {
                Some([value]) => {
                    let values = Box::from([value.clone()]);
                    fields.push(Requirement { key: field.key.clone(), operator, values, number: 0 });
                }
                values => {
                    let values = json_list(values);
                    problems.push(format!("{path}values: Invalid value: {values}: must have one element"));
                }
            }
        }
        let error = SelectorError::from_messages(problems.clone());
        (Self { expressions: expressions.into(), fields: fields.into(), error }, problems)
    }

    /// Whether the term has no requirements; such a term matches nothing.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty() && self.error.is_none()
    }

    /// Whether a node of this name with these labels matches. An invalid term matches nothing.
    pub fn matches(&self, name: &Symbol, labels: &Labels) -> bool {
        if self.error.is_some() || self.is_empty() {
            return false;
        }
        // A node without a name has no fields, and then upstream does not look at them. Unknown fields are empty.
        let field = |key: &Symbol| if *key == "metadata.name" { name.clone() } else { Symbol::default() };
        self.expressions.iter().all(|requirement| requirement.matches(labels))
            && (name.is_empty()
                || self.fields.iter().all(|field_is| field_is.holds(Some(&field(&field_is.key)))))
    }
}

fn unsupported(path: &str, expression: &selectors::Expression, supported: &[&str]) -> String {
    let supported: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
    let (operator, supported) = (expression.operator.as_str(), supported.join(", "));
    format!("{path}operator: Unsupported value: {operator:?}: supported values: {supported}")
}

impl NodeSelector {
    /// The selector of an object. Invalid terms stay in place and match nothing; `error` says what is wrong.
    pub fn parse(object: &selectors::NodeSelector) -> Self {
        let mut problems = Vec::new();
        let terms = object.node_selector_terms.iter().enumerate().map(|(at, term)| {
            let (term, more) = NodeSelectorTerm::parse(term, &format!("nodeSelectorTerms[{at}]"));
            problems.extend(more);
            term
        });
        let terms = terms.collect();
        Self { terms, error: SelectorError::from_messages(problems) }
    }

    /// Whether a node of this name with these labels matches any term. Fails when none does and a term is invalid.
    pub fn matches(&self, name: &Symbol, labels: &Labels) -> Result<bool, SelectorError> {
        if self.terms.iter().any(|term| term.matches(name, labels)) {
            return Ok(true);
        }
        self.error.clone().map_or(Ok(false), Err)
    }
}

impl PreferredTerm {
    /// The terms of an object. Those of weight 0 and empty ones are not looked at, yet a pod that has only such is
    /// scored; invalid ones stay in place too.
    pub(crate) fn parse_all(
        objects: &[selectors::PreferredSchedulingTerm],
    ) -> (Arc<[Self]>, Option<SelectorError>) {
        let mut problems = Vec::new();
        let mut terms = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            let preference = &object.preference;
            if object.weight == 0
                || preference.match_expressions.is_empty() && preference.match_fields.is_empty()
            {
                terms.push(Self { weight: 0, term: NodeSelectorTerm::default() });
                continue;
            }
            let (term, more) = NodeSelectorTerm::parse(preference, &format!("[{at}]"));
            problems.extend(more);
            terms.push(Self { weight: i64::from(object.weight), term });
        }
        (terms.into(), SelectorError::from_messages(problems))
    }

    /// Whether a node of this name with these labels gets the weight.
    pub fn matches(&self, name: &Symbol, labels: &Labels) -> bool {
        self.term.matches(name, labels)
    }
}

/// A preferred scheduling term with its weight (1 to 100).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreferredTerm {
    /// The amount added to the score of a matching node.
    pub weight: i64,
    /// The term.
    pub term: NodeSelectorTerm,
}

/// A pod's requirements for nodes: `spec.nodeSelector` and `spec.affinity.nodeAffinity`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeAffinity {
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// Required terms.
    pub required: Option<Arc<NodeSelector>>,
    /// Preferred terms.
    pub preferred: Arc<[PreferredTerm]>,
    /// The errors of all preferred terms. With errors, upstream fails to score the pod.
    pub preferred_error: Option<SelectorError>,
}

impl NodeAffinity {
    /// Node selector and affinity of a pod; the plugin's `addedAffinity` is the same without node selector.
    pub fn parse(node_selector: Labels, object: &selectors::NodeAffinity) -> Self {
        let required = object.required_during_scheduling_ignored_during_execution.as_ref();
        let (preferred, preferred_error) =
            PreferredTerm::parse_all(&object.preferred_during_scheduling_ignored_during_execution);
        let required = required.map(|required| Arc::new(NodeSelector::parse(required)));
        Self { node_selector, required, preferred, preferred_error }
    }

    /// Whether nothing is required of nodes.
    pub fn requires_nothing(&self) -> bool {
        self.node_selector.is_empty() && self.required.is_none()
    }

    /// Whether a node of this name with these labels has what is required: the labels of the node selector, and a
    /// term of the required affinity.
    pub fn matches(&self, name: &Symbol, labels: &Labels) -> Result<bool, SelectorError> {
        if self.node_selector.iter().any(|(key, value)| labels.get(key) != Some(value)) {
            return Ok(false);
        }
        self.required.as_ref().map_or(Ok(true), |required| required.matches(name, labels))
    }

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
