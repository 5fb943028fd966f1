//! How filters and scorers are run on many nodes. [`Decider`] has two implementations: [`Plain`], the definition,
//! which rebuilds every index and runs plugins node by node; and [`Scan`], which runs them on ranges of columns. They
//! share the frame of a decision but no code that runs plugins on nodes, and a property test compares the two.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod best;
mod plain;
mod sampling;
mod scan;

pub use plain::Plain;
pub use scan::Scan;

use bayplan_framework::{Cycle, Feasible, NominatedTry, Recorder, Status, TimedPoint};
use bayplan_model::{NodeId, NodeSet, Snapshot};
use best::Totals;
use std::borrow::Cow;

/// The chosen node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selected {
    /// Which.
    pub node: NodeId,
    /// Its total; `None` when it was the only feasible node and scores were not requested.
    pub total: Option<i64>,
    /// Its place among the nodes that share the highest total, in row order, from 0.
    pub rank: u32,
    /// How many share it.
    pub of: u32,
}

/// How ties are broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TieBreak {
    /// By a number drawn from seed, pod and attempt: `draw` modulo the number of best nodes.
    #[default]
    Seeded,
    /// The first name.
    Name,
}

/// What a decider keeps between calls and between pods: scratch memory, and the position of sampling.
#[derive(Debug, Default)]
pub struct Memory {
    totals: Totals,
    /// Where sampling starts with the next pod; one position for all profiles, as upstream.
    next_start: usize,
}

/// Decides for one pod: [`filter`](Decider::filter), [`score`](Decider::score), [`select`](Decider::select), in this
/// order. Implementations differ in how they run filters and scorers on many nodes; the frame around that is here.
pub trait Decider: Send {
    /// Runs the Filter plugins of the attempt on `nodes`; the feasible ones. Refusals go to the diagnosis; of several
    /// `Error` statuses the one of the lowest row ends the attempt.
    fn filter_nodes(&mut self, c: &mut Cycle, s: &Snapshot, nodes: NodeSet) -> Result<NodeSet, Status>;
    /// Runs the Score plugins of the attempt on feasible nodes and adds their scores to the totals.
    fn score_nodes(
        &mut self,
        c: &Cycle,
        s: &Snapshot,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status>;
    /// Its memory.
    fn memory(&self) -> &Memory;
    /// Its memory, to be written.
    fn memory_mut(&mut self) -> &mut Memory;
    /// The cluster that plugins see.
    fn view<'s>(&self, s: &'s Snapshot) -> Cow<'s, Snapshot> {
        Cow::Borrowed(s)
    }

    /// PreFilter and Filter over all nodes, or over those that sampling picks. The feasible nodes; none when the pod
    /// was refused (the diagnosis of the cycle says why). `Err` only for `Error` statuses and for a pod that PreFilter
    /// refused.
    fn filter(&mut self, c: &mut Cycle, s: &Snapshot, rec: &mut dyn Recorder) -> Result<Feasible, Status> {
        self.memory_mut().totals.forget();
        let s = &*self.view(s);
        let framework = c.framework.clone();
        let left = framework.run_pre_filter(c, s, rec)?;
        if let Some(node) = nominated_node_fits(c, s, left.as_ref()) {
            let nodes: NodeSet = [node].into_iter().collect();
            c.diagnosis.evaluated = 1;
            c.nominated = NominatedTry::Fits;
            rec.filtered(&nodes, &c.diagnosis.nodes);
            return Ok(Feasible { nodes });
        }
        let mut nodes = s.columns().alive().clone();
        if let Some(left) = &left {
            nodes.intersect(left);
        }
        framework
            .timed(TimedPoint::Filter, || {
                nodes = self.filter_nodes(c, s, std::mem::take(&mut nodes))?;
                Ok(())
            })
            .inspect_err(|status| framework.plugin_failed(status.plugin, TimedPoint::Filter))?;
        c.diagnosis.note_refusals();
        rec.filtered(&nodes, &c.diagnosis.nodes);
        Ok(Feasible { nodes })
    }

    /// PreScore, Score and NormalizeScore over the feasible nodes. The totals stay for `select`. A single feasible node
    /// is not scored unless the recorder wants scores.
    fn score(
        &mut self,
        c: &mut Cycle,
        on: &Feasible,
        s: &Snapshot,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        if !rec.wants_scores() && on.nodes.len() <= 1 {
            return Ok(());
        }
        let s = &*self.view(s);
        let framework = c.framework.clone();
        self.memory_mut().totals.begin(s.columns().room());
        if framework.points().score.is_empty() && framework.extenders().is_empty() {
            self.memory_mut().totals.all_equal(&on.nodes);
        } else {
            framework.run_pre_score(c, s, on)?;
            framework.timed(TimedPoint::Score, || self.score_nodes(c, s, &on.nodes, rec))?;
        }
        let totals = &mut self.memory_mut().totals;
        totals.known = true;
        rec.totals(&on.nodes, &totals.totals);
        Ok(())
    }

    /// The node with the highest total, `extra` points of extenders added. Among equal nodes those that an extender
    /// named come first. `None` when nothing is feasible.
    #[allow(clippy::too_many_arguments)] // one call per decision; a struct would be taken apart at once
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
        self.memory_mut().totals.select(on, s, extra, tie, draw, rec)
    }

    /// The nodes that share the highest total of the last `select`, in row order.
    fn best(&self) -> &NodeSet {
        &self.memory().totals.best
    }

    /// The totals by row of the last pod; `None` when its nodes were not scored.
    fn node_totals(&self) -> Option<&[i64]> {
        let totals = &self.memory().totals;
        totals.known.then_some(&totals.totals)
    }

    /// Where sampling starts with the next pod (upstream's `nextStartNodeIndex`): all that a decider remembers.
    fn next_start(&self) -> usize {
        self.memory().next_start
    }

    /// Sampling starts there.
    fn set_next_start(&mut self, next: usize) {
        self.memory_mut().next_start = next;
    }
}

/// The node of `status.nominatedNodeName`, when PreFilter `left` it and the pod fits there: then no other node is
/// evaluated. As upstream, the filters also run on a node that PreFilter left out, and their refusal is its status.
fn nominated_node_fits(c: &mut Cycle, s: &Snapshot, left: Option<&NodeSet>) -> Option<NodeId> {
    if c.nominated == NominatedTry::Refused {
        return None;
    }
    let id = s.node_by_name(c.pod.nominated_node.as_ref()?)?;
    let is_left = left.is_none_or(|left| left.contains(id));
    let verdict = c.framework.filter_with_nominated(c.handle(s), s.node(id)?);
    match verdict {
        Ok(()) => is_left.then_some(id),
        Err(status) => {
            if !is_left && status.is_rejected() {
                c.diagnosis.nodes.set(id, &status);
            }
            None
        }
    }
}
