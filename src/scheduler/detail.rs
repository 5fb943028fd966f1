//! Records for each node of a decision which plugin refused it, or how each plugin scored it. A recorder collects this
//! only when decisions are recorded in full.

use super::io::{DecisionDetail, NodeDetail, PluginScore, RecordLevel};
use bayplan_framework::{Cycle, Feasible, PartialScore, PluginId, Recorder, Scale};
use bayplan_model::{NodeId, NodeSet, Snapshot, Symbol, bits, block};
use std::collections::BTreeMap;

/// The data recorded in one attempt.
#[derive(Clone, Default)]
pub(super) struct Detail {
    level: RecordLevel,
    /// The nodes in the record: all, or the chosen node and the best of the others.
    told: NodeSet,
    feasible: NodeSet,
    /// Raw scores of a plugin by row, how they are normalised, and its weight.
    scores: Vec<(PluginId, i64, Scale, Vec<i64>)>,
    totals: Vec<i64>,
    parts: Vec<(PluginId, NodeId, Vec<PartialScore>)>,
    /// The points of extenders, by name.
    extenders: Vec<(Symbol, Vec<(NodeId, i64)>)>,
}

impl Detail {
    pub(super) fn new(level: RecordLevel) -> Self {
        Self { level, ..Self::default() }
    }

    fn wanted(&self) -> bool {
        self.level != RecordLevel::Outcome
    }

    /// The nodes that extenders left.
    pub(super) fn left(&mut self, nodes: &NodeSet) {
        if self.wanted() {
            self.feasible.copy_from(nodes);
        }
    }

    /// Adds the points of extenders to the totals.
    pub(super) fn add_extenders(&mut self, cycle: &Cycle, scores: &BTreeMap<u16, Vec<(NodeId, i64)>>) {
        if !self.wanted() {
            return;
        }
        for (at, points) in scores {
            let Some(extender) = cycle.framework.extenders().get(*at).filter(|of| of.prioritizes()) else {
                continue;
            };
            for (node, points) in points {
                if let Some(total) = self.totals.get_mut(node.row()) {
                    *total = total.saturating_add(*points);
                }
            }
            self.extenders.push((Symbol::new(&extender.url), points.clone()));
        }
    }

    /// Collects the scores of a policy's single statements for the nodes in the record. `equal` are the nodes that
    /// share the highest total.
    pub(super) fn read_parts(
        &mut self,
        cycle: &Cycle,
        on: &Feasible,
        snapshot: &Snapshot,
        chosen: Option<NodeId>,
        equal: &NodeSet,
    ) {
        if !self.wanted() {
            return;
        }
        self.told.copy_from(snapshot.columns().alive());
        if self.level != RecordLevel::Nodes {
            let ranked = if self.level == RecordLevel::Ranked { RANKED } else { 1 };
            let mut others = on.nodes.clone();
            chosen.into_iter().for_each(|chosen| others.remove(chosen));
            // The first in row order among equals.
            let next = |_| {
                let next = equal.iter().find(|id| others.contains(*id));
                let next = next.or_else(|| first_highest(&others, &self.totals))?;
                others.remove(next);
                Some(next)
            };
            let best: Vec<NodeId> = (0..ranked).map_while(next).collect();
            self.told = chosen.into_iter().chain(best).collect();
        }
        for (entry, scorer) in cycle.framework.scorers(&cycle.state) {
            let handle = cycle.handle(snapshot).for_plugin(entry.plugin);
            let told = on.nodes.iter().filter(|id| self.told.contains(*id));
            for node in told.filter_map(|id| snapshot.node(id)) {
                let parts = scorer.partial_scores(&handle, on, node);
                if !parts.is_empty() {
                    self.parts.push((entry.plugin, node.id(), parts));
                }
            }
        }
        self.parts.sort_by_key(|(plugin, node, _)| (*plugin, *node));
    }

    /// The content of the record; `None` when only the outcome is recorded.
    pub(super) fn finish(&self, cycle: &Cycle, snapshot: &Snapshot) -> Option<DecisionDetail> {
        if !self.wanted() {
            return None;
        }
        // Record no node when none fits and only the best were requested.
        let told = match self.level {
            RecordLevel::Nodes => snapshot.columns().alive(),
            _ => &self.told,
        };
        let name = |id: PluginId| Symbol::new(cycle.framework.plugin_name(id));
        let node_detail = |id: NodeId| {
            let feasible = self.feasible.contains(id);
            let refused = cycle.diagnosis.nodes.get(id).filter(|_| !feasible);
            let scored = self.scores.iter().filter(|_| feasible);
            let scores = scored.map(|(plugin, weight, scale, raw)| PluginScore {
                plugin: name(*plugin),
                score: raw.get(id.row()).map_or(0, |raw| scale.apply(*raw)).saturating_mul(*weight),
                parts: self
                    .parts
                    .binary_search_by_key(&(*plugin, id), |(plugin, node, _)| (*plugin, *node))
                    .ok()
                    .and_then(|at| self.parts.get(at))
                    .map(|(_, _, parts)| parts.clone())
                    .unwrap_or_default(),
            });
            let points = self.extenders.iter().filter(|_| feasible).map(|(url, points)| PluginScore {
                plugin: url.clone(),
                score: points.iter().filter(|(node, _)| *node == id).map(|(_, points)| points).sum(),
                parts: Vec::new(),
            });
            NodeDetail {
                name: snapshot.node(id).map(|node| node.name().clone()).unwrap_or_default(),
                refused: refused.map(|status| (name(status.plugin), status.clone())),
                scores: scores.chain(points).collect(),
                total: self.totals.get(id.row()).copied().filter(|_| feasible),
            }
        };
        Some(DecisionDetail {
            nodes: told.iter().map(node_detail).collect(),
            pre_filter_message: cycle.diagnosis.pre_filter_message.clone(),
        })
    }
}

/// How many of the nodes that were not chosen [`RecordLevel::Ranked`] records.
const RANKED: usize = 4;

/// The first node with the highest total, searched in words of 64 rows.
fn first_highest(nodes: &NodeSet, totals: &[i64]) -> Option<NodeId> {
    let mut highest: Option<(i64, NodeId)> = None;
    for (word, rows) in nodes.words().iter().enumerate().filter(|(_, rows)| **rows != 0) {
        let Some(totals) = block(totals, word) else { continue };
        let known = highest.map_or(i64::MIN, |(total, _)| total);
        // Most words have no higher row; find that out before looking at single rows.
        if highest.is_some() && totals.iter().fold(i64::MIN, |most, total| most.max(*total)) <= known {
            continue;
        }
        for bit in bits(*rows) {
            if highest.is_none_or(|(most, _)| totals[bit] > most) {
                highest = Some((totals[bit], NodeId::from_row(word * 64 + bit)));
            }
        }
    }
    highest.map(|(_, node)| node)
}

impl Recorder for Detail {
    fn wants_scores(&self) -> bool {
        self.wanted()
    }

    fn filtered(&mut self, feasible: &NodeSet, _: &bayplan_framework::NodeToStatus) {
        if self.wanted() {
            self.feasible.copy_from(feasible);
        }
    }

    fn scored(&mut self, plugin: PluginId, weight: i64, _: &NodeSet, raw: &[i64], scale: Scale) {
        if self.wanted() {
            self.scores.push((plugin, weight, scale, raw.to_vec()));
        }
    }

    fn totals(&mut self, _: &NodeSet, totals: &[i64]) {
        if self.wanted() {
            self.totals = totals.to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_highest_is_found_as_by_looking_at_each() {
        for seed in 0..200_u64 {
            let totals: Vec<i64> =
                (0..256).map(|row| ((row * 7919 + seed * 104_729) % 23) as i64 - 30).collect();
            let nodes: NodeSet =
                (0..250).filter(|row| (row * 31 + seed as usize) % 5 < 2).map(NodeId::from_row).collect();
            let each =
                nodes.iter().reduce(|best, id| if totals[id.row()] > totals[best.row()] { id } else { best });
            assert_eq!(first_highest(&nodes, &totals), each);
        }
        assert_eq!(first_highest(&NodeSet::default(), &[]), None);
    }
}
