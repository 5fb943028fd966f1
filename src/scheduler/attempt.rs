//! [`Attempt`]: an attempt from its pop to its choice, as a value. One that waits for extenders owns a fork of the
//! cluster and goes on where it stopped (`suspended.rs`).

use super::detail::Detail;
use super::queue::Queued;
use bayplan_framework::{Cycle, Feasible, PostFilterAnswer, Ticket};
use bayplan_model::{Generation, NodeId, NodeSet, PodKey, Snapshot, Time};
use std::collections::BTreeMap;

/// One attempt for a pod, from its pop to its choice.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) queued: Queued,
    pub(super) cycle: Cycle,
    pub(super) detail: Detail,
    /// The cluster that it decides on and its generation, once it waits; until then the live one.
    pub(super) view: Option<(Snapshot, Generation)>,
    pub(super) phase: Phase,
    /// Its questions without an answer: the extender of each.
    pub(super) open: BTreeMap<Ticket, u16>,
    /// When it stops waiting for answers. The driver answers every question earlier.
    pub(super) until: Time,
}

/// What an attempt waits for.
#[derive(Clone)]
pub(super) enum Phase {
    /// Nothing yet.
    Plugins,
    /// The answer of one extender about the nodes that are left.
    Filter {
        nodes: NodeSet,
        /// How many nodes passed the plugins.
        before: usize,
    },
    /// The scores of extenders.
    Prioritize { feasible: Feasible, scores: BTreeMap<u16, Vec<(NodeId, i64)>> },
    /// The call of a PostFilter plugin, under this ticket.
    PostFilter(Ticket, Box<PostFilterAnswer>),
    /// The answer of one extender about the candidates of a preemption.
    Preempt(Box<PostFilterAnswer>),
}

impl Attempt {
    pub(super) fn new(queued: Queued, cycle: Cycle, detail: Detail) -> Self {
        let (phase, open, until) = (Phase::Plugins, BTreeMap::new(), cycle.now);
        Self { queued, cycle, detail, view: None, phase, open, until }
    }

    pub(super) fn key(&self) -> &PodKey {
        &self.cycle.pod.key
    }

    /// The queue's record of its pod.
    pub(super) fn queued(&self) -> &Queued {
        &self.queued
    }

    /// The cluster that it decides on.
    pub(super) fn snapshot<'a>(&'a self, live: &'a Snapshot) -> &'a Snapshot {
        self.view.as_ref().map_or(live, |(view, _)| view)
    }

    /// When it needs a tick. Calls to the API server are always answered.
    pub(super) fn alarm(&self) -> Option<Time> {
        (!matches!(self.phase, Phase::PostFilter(..))).then_some(self.until)
    }

    /// The call of a PostFilter plugin that it waits for.
    pub(super) fn open_call(&self) -> Option<Ticket> {
        match &self.phase {
            Phase::PostFilter(ticket, _) => Some(*ticket),
            _ => None,
        }
    }

    /// Whether it waits for this answer.
    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        self.open.contains_key(&ticket)
    }
}
