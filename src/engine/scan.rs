//! [`Scan`]: every filter and scorer answers for all nodes at once, over columns; each filter only for the nodes that
//! passed the filters before it. With sampling, plugins run on single nodes until enough fit.

use super::{Decider, Memory, best, sampling};
use bayplan_framework::{Code, Cycle, Recorder, Status, TimedPoint, Verdicts};
use bayplan_model::{NodeId, NodeInfo, NodeSet, Snapshot};

/// The fast decider.
#[derive(Debug, Default)]
pub struct Scan {
    memory: Memory,
    verdicts: Verdicts,
    /// Numbers of the statuses of `verdicts` in the diagnosis.
    numbers: Vec<u32>,
    singly: NodeSet,
}

impl Scan {
    /// A decider that has decided nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs all filters on `nodes`, and leaves the feasible ones in it.
    fn ask_ranges(&mut self, c: &mut Cycle, s: &Snapshot, nodes: &mut NodeSet) -> Result<(), Status> {
        let framework = c.framework.clone();
        c.diagnosis.evaluated = nodes.len();
        let mut errors: Vec<(NodeId, Status)> = Vec::new();
        self.take_nominated(c, s, nodes, &mut errors);
        for id in framework.filters(&c.state).collect::<Vec<_>>() {
            let Some(point) = framework.plugin(id).and_then(|plugin| plugin.filter()) else { continue };
            self.verdicts.clear();
            framework.evaluated(id, TimedPoint::Filter, nodes.len());
            framework.timed_plugin(c.sampled, id, TimedPoint::Filter, || {
                point.filter_range(&c.handle(s).for_plugin(id), nodes, &mut self.verdicts);
                Ok(())
            })?;
            if self.verdicts.by_word().is_empty() {
                continue;
            }
            self.numbers.clear();
            for status in self.verdicts.statuses() {
                let status = status.clone().by(id);
                self.numbers.push(match status.code {
                    Code::Error => u32::MAX,
                    _ => c.diagnosis.nodes.register(&status),
                });
            }
            for refused in self.verdicts.by_word() {
                let (word, status) = (refused.word as usize, refused.status as usize);
                nodes.remove_rows(word, refused.rows);
                match self.numbers.get(status) {
                    Some(number) if *number != u32::MAX => {
                        c.diagnosis.nodes.set_rows(word, refused.rows, *number);
                    }
                    _ => {
                        let Some(status) = self.verdicts.statuses().get(status) else { continue };
                        let status = framework.filter_error(status.clone().by(id));
                        let rows = (0..64).filter(|row| refused.rows >> row & 1 == 1);
                        errors.extend(rows.map(|row| (NodeId::from_row(word * 64 + row), status.clone())));
                    }
                }
            }
            if nodes.is_empty() || !errors.is_empty() {
                break;
            }
        }
        if !errors.is_empty() {
            // A filter may stop at its first error, and that of another node may come before it.
            let asked = |id: NodeId| {
                let node = s.node(id).filter(|_| nodes.contains(id))?;
                let status = framework.filter_with_nominated(c.handle(s), node).err()?;
                (!status.is_rejected()).then_some(status)
            };
            return sampling::first_error(s, errors, asked).map_or(Ok(()), Err);
        }
        nodes.union(&self.singly);
        Ok(())
    }

    /// Filters single nodes in the order of sampling, from where the last pod stopped, until `enough` fit.
    fn ask_until(
        &mut self,
        enough: usize,
        c: &mut Cycle,
        s: &Snapshot,
        nodes: &NodeSet,
    ) -> Result<NodeSet, Status> {
        let mut order = sampling::tree_order(s, nodes);
        let mut feasible = NodeSet::with_rows(s.columns().rows());
        let Some(start) = self.memory.next_start.checked_rem(order.len()) else { return Ok(feasible) };
        order.rotate_left(start);
        let mut open = enough;
        for id in &order {
            if open == 0 {
                break;
            }
            let Some(node) = s.node(*id) else { continue };
            c.diagnosis.evaluated += 1;
            let Err(status) = c.framework.filter_with_nominated(c.handle(s), node) else {
                feasible.insert(*id);
                open -= 1;
                continue;
            };
            if !status.is_rejected() {
                return Err(status);
            }
            c.diagnosis.nodes.set(*id, &status);
        }
        self.memory.next_start = (start + c.diagnosis.evaluated) % order.len();
        Ok(feasible)
    }

    /// Takes nodes with nominated pods out of `nodes` and filters each; those that fit stay in `singly`.
    fn take_nominated(
        &mut self,
        c: &mut Cycle,
        s: &Snapshot,
        nodes: &mut NodeSet,
        errors: &mut Vec<(NodeId, Status)>,
    ) {
        self.singly.clear();
        if !s.has_nominations() {
            return;
        }
        let mut promised = s.columns().promised().clone();
        promised.intersect(nodes);
        let kept: Vec<NodeId> = {
            let (framework, h) = (&c.framework, c.handle(s));
            let keeps = |node: &NodeInfo| {
                s.nominated(node.id()).iter().any(|pod| framework.keeps_from(pod, h, *node))
            };
            promised.iter().filter_map(|id| s.node(id)).filter(keeps).map(|node| node.id()).collect()
        };
        for node in kept.into_iter().filter_map(|id| s.node(id)) {
            nodes.remove(node.id());
            match c.framework.filter_with_nominated(c.handle(s), node) {
                Ok(()) => self.singly.insert(node.id()),
                Err(status) if status.code == Code::Error => errors.push((node.id(), status)),
                Err(status) => c.diagnosis.nodes.set(node.id(), &status),
            }
        }
    }
}

impl Decider for Scan {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn filter_nodes(&mut self, c: &mut Cycle, s: &Snapshot, mut nodes: NodeSet) -> Result<NodeSet, Status> {
        match sampling::enough(&c.framework, nodes.len()) {
            Some(enough) => self.ask_until(enough, c, s, &nodes),
            None => {
                self.ask_ranges(c, s, &mut nodes)?;
                Ok(nodes)
            }
        }
    }

    fn score_nodes(
        &mut self,
        c: &Cycle,
        s: &Snapshot,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        let (framework, totals) = (&c.framework, &mut self.memory.totals);
        for (scorer, point) in framework.scorers(&c.state) {
            let h = c.handle(s).for_plugin(scorer.plugin);
            framework.evaluated(scorer.plugin, TimedPoint::Score, on.len());
            if point.is_zero(&h) && !rec.wants_scores() {
                continue;
            }
            let done = framework.timed_plugin(c.sampled, scorer.plugin, TimedPoint::Score, || {
                point.score_range(&h, on, &mut totals.raw)
            });
            done.map_err(|status| best::score_failed(c, status.by(scorer.plugin)))?;
            totals.add(framework, scorer, point, on, rec)?;
        }
        Ok(())
    }
}
