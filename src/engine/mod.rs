//! How a question is asked of many nodes. [`Decider`] has two implementations: `Plain`, the definition, which
//! rebuilds every index, asks node by node and remembers nothing; and `Scan`, which asks ranges over columns.
//! They agree on every cluster (property test); what is remembered between attempts comes later, as an addition.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod best;
mod plain;
mod sampling;
mod scan;

pub use plain::Plain;
pub use scan::Scan;

use crate::framework::{Cycle, Feasible, Recorder, Status};
use crate::model::{NodeId, NodeSet, Snapshot};

/// The chosen node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selected {
    /// Which.
    pub node: NodeId,
    /// Its total; `None` when it was the only feasible node and nobody asked for scores.
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

/// Decides for one pod. Calls come in this order; scratch memory is kept between them and between pods.
pub trait Decider: Send {
    /// PreFilter and Filter over all nodes, or over those that sampling asks for. The feasible nodes; none when the
    /// pod was refused (the diagnosis in the cycle says why). `Err` only for `Error` statuses and for a pod that
    /// PreFilter refused.
    fn filter(&mut self, c: &mut Cycle, s: &Snapshot, rec: &mut dyn Recorder) -> Result<Feasible, Status>;
    /// PreScore, Score and NormalizeScore over the feasible nodes. Totals stay in the decider for `select`.
    fn score(
        &mut self,
        c: &mut Cycle,
        on: &Feasible,
        s: &Snapshot,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status>;
    /// The node with the highest total, `extra` points of extenders added. `None` when nothing is feasible.
    #[allow(clippy::too_many_arguments)] // one call per decision; a struct would be taken apart at once
    fn select(
        &mut self,
        c: &Cycle,
        on: &Feasible,
        s: &Snapshot,
        extra: &[(NodeId, i64)],
        tie: TieBreak,
        draw: u64,
        rec: &mut dyn Recorder,
    ) -> Option<Selected>;
    /// The nodes that share the highest total of the last `select`, in row order.
    fn best(&self) -> &NodeSet;
    /// Where sampling goes on with the next pod (upstream's `nextStartNodeIndex`): all that a decider remembers.
    fn next_start(&self) -> usize;
    /// Sampling goes on there.
    fn set_next_start(&mut self, next: usize);
}
