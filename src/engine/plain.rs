//! [`Plain`]: the definition. It rebuilds every index on a fork of the cluster and runs plugins node by node.
//! Explanations use it, and tests compare every other decider with it.

use super::{Decider, Memory, best, sampling};
use bayplan_framework::{Code, Cycle, Recorder, Status};
use bayplan_model::{NodeId, NodeSet, Snapshot};
use std::borrow::Cow;

/// The definition of a decision.
#[derive(Debug, Default)]
pub struct Plain(Memory);

impl Plain {
    /// A decider that has decided nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decider for Plain {
    fn memory(&self) -> &Memory {
        &self.0
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.0
    }

    /// A fork with every index derived anew.
    fn view<'s>(&self, s: &'s Snapshot) -> Cow<'s, Snapshot> {
        let mut fork = s.fork();
        fork.rebuild_indexes();
        Cow::Owned(fork)
    }

    fn filter_nodes(&mut self, c: &mut Cycle, s: &Snapshot, nodes: NodeSet) -> Result<NodeSet, Status> {
        let enough = sampling::enough(&c.framework, nodes.len());
        let order: Vec<NodeId> = match enough {
            Some(_) => sampling::tree_order(s, &nodes),
            None => {
                let all = sampling::tree_order(s, s.columns().alive());
                all.into_iter().filter(|id| nodes.contains(*id)).collect()
            }
        };
        let start = match enough {
            Some(_) if !order.is_empty() => self.0.next_start % order.len(),
            _ => 0,
        };
        let mut feasible = NodeSet::with_rows(s.columns().rows());
        let (mut found, mut asked) = (0, 0);
        let (after, before) = order.split_at(start);
        for id in before.iter().chain(after) {
            if enough.is_some_and(|enough| found >= enough) {
                break;
            }
            let Some(node) = s.node(*id) else { continue };
            asked += 1;
            match c.framework.filter_with_nominated(c.handle(s), node) {
                Ok(()) => {
                    found += 1;
                    feasible.insert(*id);
                }
                Err(status) if status.code == Code::Error => return Err(status),
                Err(status) => c.diagnosis.nodes.set(*id, &status),
            }
        }
        if enough.is_some() && !order.is_empty() {
            self.0.next_start = (start + asked) % order.len();
        }
        c.diagnosis.evaluated = asked;
        Ok(feasible)
    }

    fn score_nodes(
        &mut self,
        c: &Cycle,
        s: &Snapshot,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        let totals = &mut self.0.totals;
        for (scorer, point) in c.framework.scorers(&c.state) {
            let h = c.handle(s).for_plugin(scorer.plugin);
            for node in on.iter().filter_map(|id| s.node(id)) {
                let score = point.score(&h, node);
                totals.raw[node.id().row()] =
                    score.map_err(|status| best::score_failed(c, status.by(scorer.plugin)))?;
            }
            totals.add(&c.framework, scorer, point, on, rec)?;
        }
        Ok(())
    }
}
