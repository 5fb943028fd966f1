//! Minimal sets of requirements that no node meets together: without any one of them some node
//! would do. Counted from what the plugins said of every node.

use super::{Explanation, NodeExplanation};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many requirements a conflict may have.
const LARGEST: usize = 4;

/// How many conflicts are reported.
const REPORTED: usize = 8;

/// How many requirements are examined: those that refuse the most nodes.
const EXAMINED: usize = 24;

/// Requirements that exclude each other on the nodes that there are.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The requirements, in the order in which rules run.
    pub requirements: Vec<Requirement>,
}

/// Something that a node must have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// The rule: a plugin's name, or `policy/rule`.
    pub rule: String,
    /// The required resource, where the rule has several requirements.
    pub what: String,
    /// How much of it.
    pub need: String,
    /// How many nodes meet it.
    pub meet: usize,
}

/// The smallest conflicts first; nothing when some node fits.
pub(super) fn conflicts(per_node: &[NodeExplanation], order: &[&str]) -> Vec<Conflict> {
    if per_node.is_empty() || per_node.iter().any(|node| node.refusals.is_empty()) {
        return Vec::new();
    }
    let mut refused: BTreeMap<(usize, &str, &str), Vec<u64>> = BTreeMap::new();
    let words = per_node.len().div_ceil(64);
    for (at, node) in per_node.iter().enumerate() {
        for refusal in &node.refusals {
            let place = order.iter().position(|rule| *rule == refusal.rule).unwrap_or(usize::MAX);
            // Each requested resource is a requirement of its own; a plugin's other reasons are
            // one.
            let key = match refusal.shortage {
                Some(_) => (place, &*refusal.what, &*refusal.need),
                None => (place, "", ""),
            };
            let rows = refused.entry(key).or_insert_with(|| vec![0; words]);
            if let Some(word) = rows.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
        }
    }
    let mut all: Vec<(Requirement, Vec<u64>)> = refused
        .into_iter()
        .map(|((place, what, need), rows)| {
            let rule = order.get(place).copied().unwrap_or_default().to_owned();
            let meet = per_node.len() - count(&rows);
            (Requirement { rule, what: what.to_owned(), need: need.to_owned(), meet }, rows)
        })
        .collect();
    if all.len() > EXAMINED {
        let mut by_count: Vec<usize> = (0..all.len()).collect();
        by_count.sort_by_key(|at| all.get(*at).map_or(usize::MAX, |(requirement, _)| requirement.meet));
        let kept: Vec<usize> = by_count.into_iter().take(EXAMINED).collect();
        let mut at = 0;
        all.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for size in 1..=LARGEST.min(all.len()) {
        covers(&all, size, per_node.len(), &mut Vec::new(), &mut found);
        if found.len() >= REPORTED {
            break;
        }
    }
    found.truncate(REPORTED);
    let requirement = |at: &usize| all.get(*at).map(|(requirement, _)| requirement.clone());
    found.iter().map(|set| Conflict { requirements: set.iter().filter_map(requirement).collect() }).collect()
}

/// Adds the sets of exactly `size` requirements that refuse all nodes and hold none of the smaller
/// sets found.
fn covers(
    all: &[(Requirement, Vec<u64>)],
    size: usize,
    nodes: usize,
    chosen: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) {
    if chosen.len() == size {
        let mut rows: Vec<u64> = Vec::new();
        for at in chosen.iter() {
            let Some((_, refused)) = all.get(*at) else { return };
            rows.resize(refused.len(), 0);
            rows.iter_mut().zip(refused).for_each(|(word, other)| *word |= other);
        }
        let smaller = found.iter().any(|set| set.iter().all(|at| chosen.contains(at)));
        if count(&rows) == nodes && !smaller {
            found.push(chosen.clone());
        }
        return;
    }
    let from = chosen.last().map_or(0, |last| last + 1);
    for at in from..all.len() {
        chosen.push(at);
        covers(all, size, nodes, chosen, found);
        chosen.pop();
    }
}

fn count(rows: &[u64]) -> usize {
    rows.iter().map(|word| word.count_ones() as usize).sum()
}

impl Explanation {
    /// The conflicts to show where no single rule keeps a node away alone: requirements that no
    /// node meets, or the first of the smallest conflicts.
    pub fn conflicts_to_show(&self) -> &[Conflict] {
        if self.rules.iter().any(|rule| rule.alone > 0) {
            return &[];
        }
        let singles = self.conflicts.iter().take_while(|conflict| conflict.requirements.len() == 1).count();
        self.conflicts.get(..singles.max(1)).unwrap_or_default()
    }
}
