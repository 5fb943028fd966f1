//! [`Refusal`]: why an attempt ended without a node.

use bayplan_framework::{Promise, Status};
use bayplan_model::{PodInfo, Symbol};
use std::sync::Arc;

/// Why an attempt ended without a node.
#[derive(Clone)]
pub(super) struct Refusal {
    /// The status of the pod.
    pub(super) status: Status,
    /// The text for event and condition.
    pub(super) message: String,
    /// How the nomination is treated.
    pub(super) promise: Promise,
    /// What an attempt to preempt other pods came to; `None` without one.
    pub(super) preemption: Option<Preemption>,
    /// Whether the node had been chosen already.
    pub(super) late: bool,
    /// What ended the attempt.
    pub(super) ended_by: EndedBy,
}

/// What ended an attempt that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum EndedBy {
    /// What was refused or went wrong for the pod itself.
    #[default]
    Itself,
    /// It waited at Permit, and a plugin refused it because of another pod that waited.
    Group,
    /// It waited at Permit, and a plugin refused it because the attempt for another pod failed.
    Release,
}

impl Refusal {
    /// Reports the text of the status alone; the nomination is removed.
    pub(super) fn plain(status: Status) -> Self {
        Self {
            message: status.message(),
            status,
            promise: Promise::Clear,
            preemption: None,
            late: false,
            ended_by: EndedBy::Itself,
        }
    }
}

/// What an attempt to preempt other pods came to.
#[derive(Clone, Default)]
pub(super) struct Preemption {
    /// The pods that are to be evicted from the nominated node, the most important first; none when preemption does not
    /// help.
    pub(super) victims: Vec<Arc<PodInfo>>,
    /// How many of them PodDisruptionBudgets protect.
    pub(super) violations: usize,
    /// Their names.
    pub(super) budgets: Vec<Symbol>,
}
