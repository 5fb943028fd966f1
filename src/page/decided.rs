//! Decisions as scores of the chosen node and the best of the others.

use crate::Strings;
use crate::document::{NodeScore, Placement};
use bayplan_dry_run::because::addends;
use bayplan_model::{Snapshot, Symbol};
use bayplan_scheduler::{Decision, DecisionRecord, NodeDetail};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// How many nodes beside the chosen one are shown.
const OTHERS: usize = 4;

/// A decision with the row of its pod, the decisive reason and the rows of the pods that were evicted for it.
pub type Decided<'a> = (usize, &'a DecisionRecord, String, Vec<usize>);

/// The decisions that placed pods.
pub fn decisions<'a>(
    decided: impl Iterator<Item = Decided<'a>>,
    strings: &mut Strings,
    snapshot: &Snapshot,
) -> Vec<Placement> {
    let rows: FxHashMap<&Symbol, i64> = snapshot.nodes().map(|node| node.name()).zip(0..).collect();
    let mut score = |node: &NodeDetail| NodeScore {
        node: rows.get(&node.name).copied().unwrap_or(-1),
        total: node.total.unwrap_or_default(),
        by: addends(node).into_iter().map(|(name, score)| (strings.place(&name), score)).collect(),
    };
    let mut found = Vec::new();
    for (pod, record, why, victims) in decided {
        let Decision::Placed { node, feasible, .. } = &record.decision else { continue };
        let nodes = record.detail.as_ref().map_or(&[][..], |detail| &detail.nodes);
        let scored = |other: &&NodeDetail| other.refused.is_none() && other.total.is_some();
        let chosen = nodes.iter().filter(scored).filter(|other| other.name == *node);
        let mut others: Vec<&NodeDetail> =
            nodes.iter().filter(scored).filter(|other| other.name != *node).collect();
        others.sort_by_key(|other| Reverse(other.total));
        let shown = chosen.chain(others.into_iter().take(OTHERS)).map(&mut score).collect();
        found.push(Placement { pod, why, feasible: *feasible, victims, nodes: shown });
    }
    found
}
