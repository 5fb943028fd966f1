//! [`Plain`]: the definition. Rebuilds every index on a fork, asks node by node, remembers nothing. Explanations use it,
//! and tests hold every other decider against it.

use super::best::{self, Totals};
use super::{Decider, Selected, TieBreak, sampling};
use crate::framework::{Code, Cycle, Diagnosis, Feasible, Recorder, Status};
use crate::model::{NodeId, NodeSet, Snapshot};

/// The definition of a decision.
#[derive(Debug, Default)]
pub struct Plain {
    /// Where sampling goes on with the next pod; one for all profiles, as upstream.
    next_start: usize,
    totals: Totals,
}

impl Plain {
    /// A decider that has decided nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

/// A fork with every index derived anew.
fn rebuilt(s: &Snapshot) -> Snapshot {
    let mut fork = s.clone();
    fork.rebuild_indexes();
    fork
}

impl Decider for Plain {
    fn filter(&mut self, c: &mut Cycle, s: &Snapshot, rec: &mut dyn Recorder) -> Result<Feasible, Status> {
        self.totals.forget();
        let s = &rebuilt(s);
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
        let order: Vec<NodeId> = match sampling::enough(&framework, nodes.len()) {
            Some(_) => sampling::tree_order(s, &nodes),
            None => nodes.iter().collect(),
        };
        let nodes = ask_each(c, s, &order, &mut self.next_start)?;
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
        let s = &rebuilt(s);
        let framework = c.framework.clone();
        self.totals.begin(s.columns().room());
        if framework.points().score.is_empty() {
            self.totals.all_equal(&on.nodes);
        } else {
            framework.run_pre_score(c, s, on)?;
        }
        for (scorer, point) in framework.scorers(&c.state) {
            let h = c.handle(s).for_plugin(scorer.plugin);
            for node in on.nodes.iter().filter_map(|id| s.node(id)) {
                let score = point.score(&h, node);
                self.totals.raw[node.id().row()] =
                    score.map_err(|status| best::score_failed(c, status.by(scorer.plugin)))?;
            }
            self.totals.add(&framework, scorer, point, &on.nodes, rec)?;
        }
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

/// The node that `status.nominatedNodeName` names, when it is among the nodes that PreFilter `left` and the pod fits
/// there: then no other is asked. Upstream does not look at what PreFilter left: its plugins' filters say the same.
pub(super) fn nominated_node_fits(c: &Cycle, s: &Snapshot, left: Option<&NodeSet>) -> Option<NodeId> {
    let id = s.node_by_name(c.pod.nominated_node.as_ref()?)?;
    if left.is_some_and(|left| !left.contains(id)) {
        return None;
    }
    let node = s.node(id)?;
    c.framework.filter_with_nominated(c.handle(s), node).is_ok().then_some(id)
}

/// Asks the nodes one by one in this order, from `next_start` on when not all are asked; the feasible ones. Refusals go
/// to the diagnosis; the first `Error` in row order ends the attempt.
pub(super) fn ask_each(
    c: &mut Cycle,
    s: &Snapshot,
    order: &[NodeId],
    next_start: &mut usize,
) -> Result<NodeSet, Status> {
    let enough = sampling::enough(&c.framework, order.len());
    let start = if enough.is_some() && !order.is_empty() { *next_start % order.len() } else { 0 };
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
        *next_start = (start + asked) % order.len();
    }
    c.diagnosis.evaluated = asked;
    note_plugins(&mut c.diagnosis);
    Ok(feasible)
}

/// Notes every plugin that refused a node.
pub(super) fn note_plugins(diagnosis: &mut Diagnosis) {
    let refusals: Vec<Status> =
        diagnosis.nodes.histogram().into_iter().map(|(status, _)| status.clone()).collect();
    for status in &refusals {
        diagnosis.add_plugin(status);
    }
}
