//! Which nodes count for a constraint: those with all topology keys, as far as the constraint's policies admit them.
//!
//! Source: `podtopologyspread/common.go`, `matchNodeInclusionPolicies`.

use super::rules::Rule;
use crate::node_affinity::Compiled;
use bayplan_framework::Handle;
use bayplan_model::{
    DomainColumn, Effect, NodeId, NodeInfo, NodeSet, PodInfo, Snapshot, Taint, bits, find_untolerated,
    rows_where,
};
use std::sync::Arc;

/// The policies of a constraint for the nodes of an attempt.
#[derive(Clone, Copy)]
pub(super) struct Inclusion<'h> {
    h: &'h Handle<'h>,
    /// The feature gate `TaintTolerationComparisonOperators`.
    comparison: bool,
}

impl<'h> Inclusion<'h> {
    pub(super) fn new(h: &'h Handle<'h>, comparison: bool) -> Self {
        Self { h, comparison }
    }

    /// Whether the policies admit a node; topology keys are not looked at.
    pub(super) fn admits(&self, rule: &Rule, node: NodeInfo) -> bool {
        (!rule.honor_affinity || has_affinity(self.h.pod, node))
            && (!rule.honor_taints || self.tolerates(&node.node().taints))
    }

    fn tolerates(&self, taints: &[Taint]) -> bool {
        let tolerations = &self.h.pod.tolerations;
        find_untolerated(taints, tolerations, Effect::keeps_pods_away, self.comparison).is_none()
    }

    /// The nodes of `among` that the policies admit.
    pub(super) fn admitted(&self, rule: &Rule, mut among: NodeSet) -> NodeSet {
        let columns = self.h.snapshot.columns();
        let affinity = &self.h.pod.node_affinity;
        if rule.honor_affinity && !affinity.requires_nothing() {
            let compiled = Compiled::of(affinity, columns);
            for (word, rows) in among.words_mut().iter_mut().enumerate().filter(|(_, rows)| **rows != 0) {
                *rows = match &compiled {
                    Some(compiled) => compiled.matching(self.h, word, *rows),
                    None => with_affinity(self.h, word, *rows),
                };
            }
        }
        if rule.honor_taints {
            let sets = columns.taint_sets().iter();
            let refused: Vec<bool> =
                sets.map(|set| set.keeps_pods_away() && !self.tolerates(set.taints())).collect();
            if refused.contains(&true) {
                for (word, rows) in among.words_mut().iter_mut().enumerate().filter(|(_, rows)| **rows != 0) {
                    *rows &=
                        !rows_where(columns.taints(), word, |set| refused.get(set.0 as usize) == Some(&true));
                }
            }
        }
        among
    }
}

/// Whether a node matches the pod's node selector and required node affinity. A selector that cannot be parsed matches
/// nothing more.
fn has_affinity(pod: &PodInfo, node: NodeInfo) -> bool {
    matches!(pod.node_affinity.matches(node.name(), &node.node().labels), Ok(true))
}

/// The rows of a word whose nodes match the pod's node affinity, from the labels of the nodes.
fn with_affinity(h: &Handle, word: usize, rows: u64) -> u64 {
    let matching = |bit: &usize| {
        let node = h.snapshot.node(NodeId::from_row(word * 64 + bit));
        node.is_some_and(|node| has_affinity(h.pod, node))
    };
    bits(rows).filter(matching).fold(0, |set, bit| set | 1 << bit)
}

/// The living nodes with all topology keys.
pub(super) fn with_all_keys(snapshot: &Snapshot, domains: &[Arc<DomainColumn>]) -> NodeSet {
    let mut nodes = snapshot.columns().alive().clone();
    keep_with_all_keys(&mut nodes, domains);
    nodes
}

/// Leaves only the nodes with all topology keys.
pub(super) fn keep_with_all_keys(nodes: &mut NodeSet, domains: &[Arc<DomainColumn>]) {
    for (word, rows) in nodes.words_mut().iter_mut().enumerate().filter(|(_, rows)| **rows != 0) {
        for domains in domains {
            *rows &= rows_where(domains.of_row(), word, |domain| *domain != DomainColumn::NONE);
        }
    }
}
