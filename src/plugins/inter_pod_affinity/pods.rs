//! Walks over the placed pods: which match, and which carry a term.

use crate::model::{LabelSelector, NodeId, PodAffinityTerm, PodInfo, Snapshot, Symbol};
use std::sync::Arc;

/// Pods of some namespaces that some selectors match.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PodMatch {
    pub(super) namespaces: Box<[Symbol]>,
    pub(super) all_namespaces: bool,
    pub(super) selectors: Box<[LabelSelector]>,
    pub(super) terminating: bool,
}

impl PodMatch {
    pub(super) fn matches(&self, pod: &PodInfo) -> bool {
        (self.all_namespaces || self.namespaces.binary_search(&pod.namespace).is_ok())
            && !self.selectors.is_empty()
            && self.selectors.iter().all(|selector| selector.matches(&pod.labels))
            && (self.terminating || !pod.is_terminating())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TermKind {
    RequiredAnti,
    Required,
    Preferred,
}

pub(super) fn matching_pods(snapshot: &Snapshot, of: &PodMatch, mut each: impl FnMut(NodeId, i64)) {
    for node in snapshot.nodes() {
        let count = node.pods().filter(|pod| of.matches(pod)).count();
        if count > 0 {
            each(node.id(), count as i64);
        }
    }
}

pub(super) fn carried_terms(
    snapshot: &Snapshot,
    kind: TermKind,
    _: &PodInfo,
    mut each: impl FnMut(&Arc<PodAffinityTerm>, i64, &[(NodeId, i64)]),
) {
    for node in snapshot.nodes() {
        for affinity in node.pods().filter_map(|pod| super::terms::affinity(pod)) {
            let one = [(node.id(), 1)];
            match kind {
                TermKind::RequiredAnti => affinity.required_anti.iter().for_each(|term| each(term, 1, &one)),
                TermKind::Required => affinity.required.iter().for_each(|term| each(term, 1, &one)),
                TermKind::Preferred => {
                    affinity.preferred.iter().for_each(|of| each(&of.term, i64::from(of.weight), &one));
                }
            }
        }
    }
}
