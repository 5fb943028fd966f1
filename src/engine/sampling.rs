//! How many nodes are filtered, and in which order, when `percentageOfNodesToScore` is set. Unset means all nodes,
//! also for a profile without scorers, where upstream stops at the first node that fits.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `numFeasibleNodesToFind`; `pkg/scheduler/backend/cache/node_tree.go`.

use bayplan_framework::{Framework, Status};
use bayplan_model::{NodeId, NodeSet, Snapshot, Symbol};
use rustc_hash::FxHashMap;

/// In smaller clusters all nodes are filtered.
const MIN_FEASIBLE_NODES: usize = 100;

/// How many feasible nodes to find among `nodes`; `None`: all nodes are filtered.
pub(super) fn enough(framework: &Framework, nodes: usize) -> Option<usize> {
    let percentage = framework.percentage_of_nodes_to_score?;
    if nodes < MIN_FEASIBLE_NODES || percentage >= 100 {
        return None;
    }
    let percentage = match percentage {
        // An explicit 0 selects upstream's adaptive percentage.
        0 => (50usize.saturating_sub(nodes / 125)).max(5),
        percentage => percentage.max(0) as usize,
    };
    Some((nodes * percentage / 100).max(MIN_FEASIBLE_NODES))
}

/// The nodes of `nodes` in the order of upstream's node tree: zones in turn, in the order in which they first appear.
pub(super) fn tree_order(snapshot: &Snapshot, nodes: &NodeSet) -> Vec<NodeId> {
    let mut zones: Vec<Vec<NodeId>> = Vec::new();
    let mut numbers: FxHashMap<(Option<&Symbol>, Option<&Symbol>), usize> = FxHashMap::default();
    for id in nodes.iter() {
        let Some(node) = snapshot.node(id) else { continue };
        let key = (node.node().region(), node.node().zone());
        let number = *numbers.entry(key).or_insert_with(|| {
            zones.push(Vec::new());
            zones.len() - 1
        });
        zones[number].push(id);
    }
    let longest = zones.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| zones.iter().filter_map(move |zone| zone.get(turn)));
    turns.copied().collect()
}

/// The error that ends the attempt: that of the first node in tree order, as when filters run node by node. `asked` is the
/// error of a node that has none among `errors`.
pub(super) fn first_error(
    snapshot: &Snapshot,
    errors: Vec<(NodeId, Status)>,
    asked: impl Fn(NodeId) -> Option<Status>,
) -> Option<Status> {
    let known: FxHashMap<NodeId, Status> = errors.into_iter().collect();
    let mut order = tree_order(snapshot, snapshot.columns().alive()).into_iter();
    order.find_map(|id| known.get(&id).cloned().or_else(|| asked(id)))
}
