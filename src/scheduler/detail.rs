//! Every node of a decision: who refused it, or what each scorer gave it. Written by a recorder that watches the
//! plugins; only when decisions shall be recorded in full.

use super::io::{DecisionDetail, NodeDetail, PluginScore, RecordLevel};
use crate::framework::{Cycle, Feasible, PartialScore, PluginId, Recorder};
use crate::model::{NodeId, NodeSet, Snapshot, Symbol};

/// What was seen of an attempt.
#[derive(Default)]
pub(super) struct Detail {
    level: RecordLevel,
    /// The nodes that are told of: all, or the chosen one and the best of the others.
    told: NodeSet,
    feasible: NodeSet,
    scores: Vec<(PluginId, i64, Vec<i64>)>,
    totals: Vec<i64>,
    parts: Vec<(PluginId, NodeId, Vec<PartialScore>)>,
}

impl Detail {
    pub(super) fn new(level: RecordLevel) -> Self {
        Self { level, ..Self::default() }
    }

    fn wanted(&self) -> bool {
        self.level != RecordLevel::Outcome
    }

    /// Asks scorers that are made of statements for the score of each, for the nodes that are told of.
    pub(super) fn read_parts(
        &mut self,
        cycle: &Cycle,
        on: &Feasible,
        snapshot: &Snapshot,
        chosen: Option<NodeId>,
    ) {
        if !self.wanted() {
            return;
        }
        self.told.copy_from(snapshot.columns().alive());
        if self.level == RecordLevel::Best {
            let total = |id: &NodeId| self.totals.get(id.row()).copied().unwrap_or(i64::MIN);
            let others = on.nodes.iter().filter(|id| Some(*id) != chosen);
            // The first in row order among equals.
            let second = others.reduce(|best, id| if total(&id) > total(&best) { id } else { best });
            self.told = chosen.into_iter().chain(second).collect();
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

    /// What the record holds; `None` when the outcome is enough.
    pub(super) fn finish(&self, cycle: &Cycle, snapshot: &Snapshot) -> Option<DecisionDetail> {
        if !self.wanted() {
            return None;
        }
        // Nobody is told of when no node fits and only the best ones are asked for.
        let told = match self.level {
            RecordLevel::Nodes => snapshot.columns().alive(),
            _ => &self.told,
        };
        let name = |id: PluginId| Symbol::new(cycle.framework.plugin_name(id));
        let node_detail = |id: NodeId| {
            let feasible = self.feasible.contains(id);
            let refused = cycle.diagnosis.nodes.get(id).filter(|_| !feasible);
            let scored = self.scores.iter().filter(|_| feasible);
            let scores = scored.map(|(plugin, weight, scores)| PluginScore {
                plugin: name(*plugin),
                score: scores.get(id.row()).copied().unwrap_or(0).saturating_mul(*weight),
                parts: self
                    .parts
                    .binary_search_by_key(&(*plugin, id), |(plugin, node, _)| (*plugin, *node))
                    .ok()
                    .and_then(|at| self.parts.get(at))
                    .map(|(_, _, parts)| parts.clone())
                    .unwrap_or_default(),
            });
            NodeDetail {
                name: snapshot.node(id).map(|node| node.name().clone()).unwrap_or_default(),
                refused: refused.map(|status| (name(status.plugin), status.clone())),
                scores: scores.collect(),
                total: self.totals.get(id.row()).copied().filter(|_| feasible),
            }
        };
        Some(DecisionDetail {
            nodes: told.iter().map(node_detail).collect(),
            pre_filter_message: cycle.diagnosis.pre_filter_message.clone(),
        })
    }
}

impl Recorder for Detail {
    fn wants_scores(&self) -> bool {
        self.wanted()
    }

    fn filtered(&mut self, feasible: &NodeSet, _: &crate::framework::NodeToStatus) {
        if self.wanted() {
            self.feasible.copy_from(feasible);
        }
    }

    fn scored(&mut self, plugin: PluginId, weight: i64, _: &NodeSet, _: &[i64], normalized: &[i64]) {
        if self.wanted() {
            self.scores.push((plugin, weight, normalized.to_vec()));
        }
    }

    fn totals(&mut self, _: &NodeSet, totals: &[i64]) {
        if self.wanted() {
            self.totals = totals.to_vec();
        }
    }
}
