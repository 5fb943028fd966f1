//! How many pods of a kind are on which node, kept up to date with every change, for plugins that count pods:
//! topology spread, pod affinity, policies.
//!
//! Two things are counted: pods that a registered [`PodMatch`] matches
//! ([`Want::Count`](super::Want::Count), `matches.rs`), and pods that carry a term of pod affinity (`carriers.rs`).
//! Counts are sparse (`counts.rs`): only nodes with such a pod have an entry. A pod finds what it changes by its labels
//! (`directory.rs`): a match or term is filed under a label pair that its selector requires. A match that is new finds
//! its pods by the rows of their labels (`postings.rs`).
//!
//! What is here is derived from the pods of the snapshot; [`Snapshot::matching_pods`](super::Snapshot::matching_pods)
//! gives the same answer without it.

mod carriers;
mod counts;
mod directory;
mod matches;
mod pod_match;
mod postings;

pub use carriers::{CarriedTerm, TermKind};
pub use counts::NodeCounts;
pub use pod_match::PodMatch;

use super::labels::Labels;
use super::node_set::NodeId;
use super::objects::Namespace;
use super::pod::PodInfo;
use super::symbol::Symbol;
pub(super) use carriers::Carriers;
pub(super) use counts::Counts;
pub(super) use matches::Matches;
use postings::Postings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The namespaces of the cluster by name.
pub(super) type Namespaces = BTreeMap<Symbol, Arc<Namespace>>;

/// The labels of a namespace; `None` when it is not known.
pub(super) fn labels_of<'n>(namespaces: &'n Namespaces, name: &Symbol) -> Option<&'n Labels> {
    namespaces.get(name).map(|namespace| &namespace.labels)
}

/// All counts of pods.
#[derive(Clone, Debug, Default)]
pub(super) struct PodCounts {
    pub(super) matches: Arc<Matches>,
    pub(super) carriers: Arc<Carriers>,
    pub(super) labels: Postings,
}

/// A pod on a node.
pub(super) type Placed<'a> = Option<(&'a PodInfo, NodeId)>;

impl PodCounts {
    /// A pod came to a node, left one, moved, or was replaced by a later version of itself. Returns the topology keys of
    /// terms of pod affinity that came (1) and went (-1).
    pub(super) fn pod_moved(
        &mut self,
        before: Placed<'_>,
        now: Placed<'_>,
        namespaces: &Namespaces,
    ) -> Vec<(Symbol, i64)> {
        let mut keys = Vec::new();
        let both = before.zip(now).filter(|((_, from), (_, to))| from == to);
        let same =
            |test: fn(&PodInfo, &PodInfo) -> bool| both.is_some_and(|((old, _), (new, _))| test(old, new));
        if !same(|old, new| {
            old.is_terminating() == new.is_terminating()
                && old.labels == new.labels
                && old.namespace == new.namespace
        }) {
            self.count_matches(before, -1, namespaces);
            self.count_matches(now, 1, namespaces);
            let kept = |of: Placed<'_>| both.and(of).map_or(Labels::none(), |(pod, _)| &pod.labels).clone();
            let (old, new) = (kept(before), kept(now));
            if let Some((pod, node)) = before {
                self.labels.count(&pod.labels, &new, node, -1);
            }
            if let Some((pod, node)) = now {
                self.labels.count(&pod.labels, &old, node, 1);
            }
        }
        if !same(|old, new| old.constraints == new.constraints) {
            self.count_carried(before, -1, &mut keys);
            self.count_carried(now, 1, &mut keys);
        }
        keys
    }

    fn count_matches(&mut self, placed: Placed<'_>, by: i64, namespaces: &Namespaces) {
        let Some((pod, node)) = placed else { return };
        let hit = self.matches.about(pod, namespaces);
        if !hit.is_empty() {
            Arc::make_mut(&mut self.matches).count(&hit, node, by);
        }
    }

    fn count_carried(&mut self, placed: Placed<'_>, by: i64, keys: &mut Vec<(Symbol, i64)>) {
        let Some((pod, node)) = placed else { return };
        if let Some(constraints) = pod.constraints.as_ref().filter(|of| !of.affinity.is_empty()) {
            Arc::make_mut(&mut self.carriers).count(&constraints.affinity, node, by, keys);
        }
    }
}
