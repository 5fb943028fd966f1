//! Every node of a decision: who refused it, or what each scorer gave it. Written by a recorder that watches the
//! plugins; only when decisions shall be recorded in full.

use super::io::{DecisionDetail, NodeDetail, PluginScore};
use crate::framework::{Cycle, Feasible, PartialScore, PluginId, Recorder};
use crate::model::{NodeId, NodeSet, Snapshot, Symbol};

/// What was seen of an attempt.
#[derive(Default)]
pub(super) struct Detail {
    wanted: bool,
    feasible: NodeSet,
    scores: Vec<(PluginId, i64, Vec<i64>)>,
    totals: Vec<i64>,
    parts: Vec<(PluginId, NodeId, Vec<PartialScore>)>,
}

impl Detail {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Asks scorers that are made of statements for the score of each.
    pub(super) fn read_parts(&mut self, cycle: &Cycle, on: &Feasible, snapshot: &Snapshot) {
        if !self.wanted {
            return;
        }
        for (entry, scorer) in cycle.framework.scorers(&cycle.state) {
            let handle = cycle.handle(snapshot).for_plugin(entry.plugin);
            for node in on.nodes.iter().filter_map(|id| snapshot.node(id)) {
                let parts = scorer.partial_scores(&handle, on, node);
                if !parts.is_empty() {
                    self.parts.push((entry.plugin, node.id(), parts));
                }
            }
        }
    }

    /// What the record holds; `None` when the outcome is enough.
    pub(super) fn finish(&self, cycle: &Cycle, snapshot: &Snapshot) -> Option<DecisionDetail> {
        if !self.wanted {
            return None;
        }
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
                    .iter()
                    .find(|(other, node, _)| other == plugin && *node == id)
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
            nodes: snapshot.columns().alive().iter().map(node_detail).collect(),
            pre_filter_message: cycle.diagnosis.pre_filter_message.clone(),
        })
    }
}

impl Recorder for Detail {
    fn wants_scores(&self) -> bool {
        self.wanted
    }

    fn filtered(&mut self, feasible: &NodeSet, _: &crate::framework::NodeToStatus) {
        if self.wanted {
            self.feasible.copy_from(feasible);
        }
    }

    fn scored(&mut self, plugin: PluginId, weight: i64, _: &NodeSet, _: &[i64], normalized: &[i64]) {
        if self.wanted {
            self.scores.push((plugin, weight, normalized.to_vec()));
        }
    }

    fn totals(&mut self, _: &NodeSet, totals: &[i64]) {
        if self.wanted {
            self.totals = totals.to_vec();
        }
    }
}
