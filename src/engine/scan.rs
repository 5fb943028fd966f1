//! [`Scan`]: every filter and scorer is asked for all nodes at once, over columns; each filter only for the nodes that
//! passed the ones before it. Remembers nothing between pods but its scratch memory, so it agrees with `Plain` on every
//! cluster (property test).

use super::best::{self, Totals};
use super::plain::{ask_each, nominated_node_fits, note_plugins};
use super::{Decider, Selected, TieBreak, sampling};
use crate::framework::{Code, Cycle, Feasible, Recorder, Span, Status, Verdicts};
use crate::model::{NodeId, NodeSet, Snapshot};

/// The fast decider.
#[derive(Debug, Default)]
pub struct Scan {
    next_start: usize,
    totals: Totals,
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

    /// Asks all filters for `nodes`, which becomes the feasible nodes.
    fn ask_ranges(&mut self, c: &mut Cycle, s: &Snapshot, nodes: &mut NodeSet) -> Result<(), Status> {
        let framework = c.framework.clone();
        c.diagnosis.evaluated = nodes.len();
        // The error of the lowest row ends the attempt, as when nodes are asked one by one.
        let mut error: Option<(NodeId, Status)> = None;
        self.take_nominated(c, s, nodes, &mut error);
        for id in framework.filters(&c.state).collect::<Vec<_>>() {
            let Some(point) = framework.plugin(id).and_then(|plugin| plugin.filter()) else { continue };
            self.verdicts.clear();
            framework.evaluated(id, Span::Filter, nodes.len());
            framework.timed_plugin(c.sampled, id, Span::Filter, || {
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
                        let node = NodeId::from_row(word * 64 + refused.rows.trailing_zeros() as usize);
                        if let Some(status) = self.verdicts.statuses().get(status)
                            && error.as_ref().is_none_or(|(first, _)| node < *first)
                        {
                            error = Some((node, framework.filter_error(status.clone().by(id))));
                        }
                    }
                }
            }
            if nodes.is_empty() {
                break;
            }
        }
        if let Some((_, status)) = error {
            return Err(status);
        }
        nodes.union(&self.singly);
        note_plugins(&mut c.diagnosis);
        Ok(())
    }

    /// Takes the nodes that pods are promised to out of `nodes` and asks them singly; those that fit stay in `singly`.
    fn take_nominated(
        &mut self,
        c: &mut Cycle,
        s: &Snapshot,
        nodes: &mut NodeSet,
        error: &mut Option<(NodeId, Status)>,
    ) {
        self.singly.clear();
        if !s.has_nominations() {
            return;
        }
        let promised: NodeSet = s
            .nominations()
            .into_iter()
            .filter(|(pod, node)| {
                pod.priority >= c.pod.priority && pod.key != c.pod.key && nodes.contains(*node)
            })
            .map(|(_, node)| node)
            .collect();
        for node in promised.iter().filter_map(|id| s.node(id)) {
            nodes.remove(node.id());
            match c.framework.filter_with_nominated(c.handle(s), node) {
                Ok(()) => self.singly.insert(node.id()),
                Err(status) if status.code == Code::Error => {
                    if error.as_ref().is_none_or(|(first, _)| node.id() < *first) {
                        *error = Some((node.id(), status));
                    }
                }
                Err(status) => c.diagnosis.nodes.set(node.id(), &status),
            }
        }
    }
}

impl Decider for Scan {
    fn filter(&mut self, c: &mut Cycle, s: &Snapshot, rec: &mut dyn Recorder) -> Result<Feasible, Status> {
        self.totals.forget();
        let framework = c.framework.clone();
        let left = framework.run_pre_filter(c, s, rec)?;
        if let Some(node) = nominated_node_fits(c, s, left.as_ref()) {
            let nodes: NodeSet = [node].into_iter().collect();
            c.diagnosis.evaluated = 1;
            rec.filtered(&nodes, &c.diagnosis.nodes);
            return Ok(Feasible { nodes });
        }
        let mut nodes = s.columns().alive().clone();
        if let Some(left) = &left {
            nodes.intersect(left);
        }
        framework.timed(Span::Filter, || {
            match sampling::enough(&framework, nodes.len()) {
                Some(_) => {
                    let order = sampling::tree_order(s, &nodes);
                    nodes = ask_each(c, s, &order, &mut self.next_start)?;
                }
                None => self.ask_ranges(c, s, &mut nodes)?,
            }
            Ok(())
        })?;
        rec.filtered(&nodes, &c.diagnosis.nodes);
        Ok(Feasible { nodes })
    }

    fn score(
        &mut self,
        c: &mut Cycle,
        on: &Feasible,
        s: &Snapshot,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        if !best::wants_scores(on, rec) {
            return Ok(());
        }
        let framework = c.framework.clone();
        self.totals.begin(s.columns().room());
        if framework.points().score.is_empty() {
            self.totals.all_equal(&on.nodes);
        } else {
            framework.run_pre_score(c, s, on)?;
        }
        framework.timed(Span::Score, || {
            for (scorer, point) in framework.scorers(&c.state) {
                let h = c.handle(s).for_plugin(scorer.plugin);
                framework.evaluated(scorer.plugin, Span::Score, on.nodes.len());
                let done = framework.timed_plugin(c.sampled, scorer.plugin, Span::Score, || {
                    point.score_range(&h, &on.nodes, &mut self.totals.raw)
                });
                done.map_err(|status| best::score_failed(c, status.by(scorer.plugin)))?;
                self.totals.add(&framework, scorer, point, &on.nodes, rec)?;
            }
            Ok(())
        })?;
        self.totals.known = true;
        rec.totals(&on.nodes, &self.totals.totals);
        Ok(())
    }

    fn select(
        &mut self,
        _: &Cycle,
        on: &Feasible,
        s: &Snapshot,
        extra: &[(NodeId, i64)],
        tie: TieBreak,
        draw: u64,
        rec: &mut dyn Recorder,
    ) -> Option<Selected> {
        self.totals.select(on, s, extra, tie, draw, rec)
    }

    fn best(&self) -> &NodeSet {
        &self.totals.best
    }

    fn next_start(&self) -> usize {
        self.next_start
    }

    fn set_next_start(&mut self, next: usize) {
        self.next_start = next;
    }
}
