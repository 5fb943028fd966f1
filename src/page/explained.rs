//! An explanation in the columns of the document: refusals once, and for each node a number.

use crate::document::Explained;
use bayplan_explain::{Explanation, Refusal};
use bayplan_model::{Snapshot, Symbol};
use rustc_hash::FxHashMap;
use serde_json::json;

/// An explanation of the pod in this row; nodes are those of `snapshot`. The words of reasons, what
/// would help and the values of rules are left to the caller.
pub fn explained(explanation: &Explanation, snapshot: &Snapshot, pod: usize) -> Explained {
    let mut found = Explained {
        pod,
        message: explanation.message.clone(),
        nodes: explanation.nodes,
        fits: explanation.fits.len(),
        refused_before_nodes: explanation.refused_before_nodes.clone(),
        refused_late: explanation.refused_late.clone(),
        sets: explanation.sets.clone(),
        funnel: explanation.funnel.clone(),
        conflicts: explanation.conflicts.clone(),
        would_refuse: explanation.would_refuse.clone(),
        exceptions: explanation.exceptions.clone(),
        refused_by: json!([]),
        group: json!([]),
        per_node: vec![-1; snapshot.node_count()],
        ..Explained::default()
    };
    let rows: FxHashMap<&Symbol, usize> =
        snapshot.nodes().enumerate().map(|(row, node)| (node.name(), row)).collect();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut lists: FxHashMap<Vec<usize>, usize> = FxHashMap::default();
    for node in &explanation.per_node {
        let list: Vec<usize> =
            node.refusals.iter().map(|refusal| place(refusal, &mut places, &mut found.refusals)).collect();
        let next = lists.len();
        let at = *lists.entry(list).or_insert_with_key(|list| {
            found.reasons.push(list.clone());
            next
        });
        let row = rows.get(&Symbol::new(&node.name)).and_then(|row| found.per_node.get_mut(*row));
        if let (Some(row), Ok(at)) = (row, i64::try_from(at)) {
            *row = at;
        }
    }
    found
}

/// The place of a refusal among those that are known.
fn place(refusal: &Refusal, places: &mut FxHashMap<String, usize>, all: &mut Vec<Refusal>) -> usize {
    *places.entry(format!("{refusal:?}")).or_insert_with(|| {
        all.push(refusal.clone());
        all.len() - 1
    })
}
