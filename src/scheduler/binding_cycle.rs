//! [`BindingCycle`]: a binding as a value, with its stage.

use super::permit_wait::Wait;
use super::permit_wait::WaitClass;
use super::queue::Queued;
use super::refusal::{EndedBy, Refusal};
use super::unsure::Unsure;
use bayplan_framework::{BindTask, Cycle, Mark, PluginId, Ticket};
use bayplan_model::{NodeId, ObjectKey, PodKey, Symbol, Time};
use std::collections::VecDeque;

/// The binding cycle of one pod.
#[derive(Clone)]
pub(super) struct BindingCycle {
    pub(super) cycle: Cycle,
    pub(super) queued: Queued,
    pub(super) node: NodeId,
    pub(super) node_name: Symbol,
    pub(super) began: Time,
    pub(super) stage: BindingStage,
    /// Whose call the last bind is.
    pub(super) binder: Binder,
    pub(super) groups: VecDeque<Vec<PluginId>>,
    /// When the current stage began, for the durations in metrics.
    pub(super) since: Option<Mark>,
    /// The plugins that write once the pod is bound: the Binding carries their marks.
    pub(super) after_bind: Vec<Symbol>,
    /// What ends the attempt, once it fails.
    pub(super) ended_by: EndedBy,
    /// Its writes of which nothing tells whether they happened.
    pub(super) unsure: Vec<Unsure>,
}

/// How far a binding has come.
#[derive(Clone)]
pub(super) enum BindingStage {
    Permit(Vec<Wait>),
    PreBind(Vec<Task>),
    Bind(Ticket),
    Resolve {
        message: String,
        until: Time,
        next: Time,
        read: Option<Ticket>,
    },
    /// Cancelled; `refusal: None` means that nothing is reported.
    Leaving {
        open: Vec<Ticket>,
        refusal: Option<Refusal>,
    },
}

/// Who has the call that binds the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binder {
    Plugin(PluginId),
    Extender(u16),
}

/// A plugin's part of the work before the bind.
pub(super) struct Task {
    pub(super) plugin: PluginId,
    pub(super) task: Box<dyn BindTask>,
    /// Its calls that have no answer yet.
    pub(super) open: Vec<Ticket>,
    pub(super) until: Option<Time>,
    pub(super) watch: Vec<ObjectKey>,
    pub(super) done: bool,
}

impl Clone for Task {
    fn clone(&self) -> Self {
        Self {
            plugin: self.plugin,
            task: self.task.fork(),
            open: self.open.clone(),
            until: self.until,
            watch: self.watch.clone(),
            done: self.done,
        }
    }
}

impl Task {
    /// Its plugin, while it works.
    pub(super) fn unfinished(&self) -> Option<PluginId> {
        (!self.done).then_some(self.plugin)
    }
}

impl BindingCycle {
    pub(super) fn new(cycle: Cycle, queued: Queued, node: NodeId, node_name: Symbol, now: Time) -> Self {
        let stage = BindingStage::Permit(Vec::new());
        let groups = VecDeque::new();
        Self {
            cycle,
            queued,
            node,
            node_name,
            began: now,
            stage,
            binder: Binder::Plugin(PluginId::NONE),
            groups,
            since: None,
            after_bind: Vec::new(),
            ended_by: EndedBy::Itself,
            unsure: Vec::new(),
        }
    }

    pub(super) fn key(&self) -> &PodKey {
        &self.cycle.pod.key
    }

    /// The instant at which the binding needs a tick.
    pub(super) fn alarm(&self) -> Option<Time> {
        match &self.stage {
            BindingStage::Permit(waits) => waits.iter().map(Wait::alarm).min(),
            BindingStage::PreBind(tasks) => {
                tasks.iter().filter(|task| !task.done).filter_map(|task| task.until).min()
            }
            BindingStage::Resolve { next, read: None, .. } => Some(*next),
            BindingStage::Leaving { open, .. } if open.is_empty() => {
                self.unsure.iter().filter_map(Unsure::alarm).min()
            }
            _ => None,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(&self.stage, BindingStage::Permit(waits) if !waits.is_empty())
    }

    pub(super) fn has_bind_open(&self) -> bool {
        matches!(self.stage, BindingStage::Bind(_) | BindingStage::Resolve { .. })
    }

    /// The objects that its tasks watch; one may come twice.
    pub(super) fn watches(&self) -> impl Iterator<Item = &ObjectKey> {
        let tasks = match &self.stage {
            BindingStage::PreBind(tasks) => tasks.as_slice(),
            _ => &[],
        };
        tasks.iter().flat_map(|task| &task.watch)
    }

    /// The classes in which it waits at Permit.
    pub(super) fn classes(&self) -> impl Iterator<Item = WaitClass> {
        let waits = match &self.stage {
            BindingStage::Permit(waits) => waits.as_slice(),
            _ => &[],
        };
        waits.iter().map(Wait::class)
    }
}
