//! The end of a binding without success: its open calls are answered, its steps are undone in reverse order, and the pod
//! is requeued when it still needs a node.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `handleBindingCycleError`.

use super::binding::{BindingCycle, BindingStage};
use super::cache::PodState;
use super::cycle::refused_at;
use super::failure::no_nomination;
use super::io::Effect;
use super::queue::Scope;
use super::{Deferred, Scheduler};
use crate::framework::{Status, Ticket, TimedPoint};
use crate::model::{PodInfo, PodKey, Time};
use std::sync::Arc;

impl Scheduler {
    /// Cancels a binding after a refusal or error. It ends after the replies to its open calls.
    pub(super) fn binding_failed(
        &mut self,
        mut binding: BindingCycle,
        status: Status,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let framework = &binding.cycle.framework;
        match &binding.stage {
            BindingStage::Permit(waits) if !waits.is_empty() => {
                framework.waited(status.code.name(), binding.since);
            }
            BindingStage::PreBind(_) => {
                framework.point_ended(TimedPoint::PreBind, status.code.name(), binding.since);
            }
            _ => {}
        }
        let open = self.calls_to_wait_for(&binding);
        self.stop_waiting(&mut binding, now);
        binding.stage = BindingStage::Leaving { open, status: Some(status) };
        self.leave(binding, now, out);
    }

    /// Cancels the binding of a pod that was deleted or bound elsewhere: releases its reservations and reports nothing.
    pub(super) fn leave_quietly(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let open = self.calls_to_wait_for(&binding);
        self.stop_waiting(&mut binding, now);
        binding.stage = BindingStage::Leaving { open, status: None };
        self.leave(binding, now, out);
    }

    /// The sent calls of a binding that have no reply yet. Unsent calls are withdrawn.
    fn calls_to_wait_for(&mut self, binding: &BindingCycle) -> Vec<Ticket> {
        let tickets = match &binding.stage {
            BindingStage::PreBind(tasks) => tasks.iter().flat_map(|task| task.open.iter().copied()).collect(),
            BindingStage::Bind(ticket) => vec![*ticket],
            BindingStage::Resolve { read, .. } => read.iter().copied().collect(),
            BindingStage::Leaving { open, .. } => open.clone(),
            BindingStage::Permit(_) => Vec::new(),
        };
        let mut open: Vec<Ticket> = tickets;
        open.retain(|ticket| self.outbox.is_known(*ticket) && !self.outbox.withdraw(*ticket));
        open
    }

    /// Ends a binding that did not succeed: undoes all steps in reverse order.
    pub(super) fn leave(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let BindingStage::Leaving { open, status } = &binding.stage else { return };
        if !open.is_empty() {
            return self.bindings.put(binding);
        }
        let status = status.clone();
        let key = binding.key().clone();
        self.unreserve(&mut binding.cycle, binding.node, now);
        self.cache.forget(&key);
        let pod = &binding.cycle.pod;
        let pod = Arc::new(PodInfo { node_name: Some(binding.node_name.clone()), ..(**pod).clone() });
        self.freed(&pod, &Scope { except: Some(key.clone()), ..Scope::default() }, now);
        match status {
            Some(status) if self.cache.state(&key) == Some(&PodState::Pending) => {
                let mut refusal = refused_at(&mut binding.cycle, binding.node, status);
                refusal.nominated = no_nomination();
                self.attempt_failed(binding.queued, &binding.cycle, refusal, now, out);
            }
            _ => self.queue.done(&key),
        }
    }

    /// Notes that a pod was deleted or seen on a node; its binding handles this at the end of the step.
    pub(super) fn settled(&mut self, pod: &PodKey) {
        if self.bindings.contains(pod) {
            self.deferred.push_back(Deferred::Settled(pod.clone()));
        }
    }

    /// Handles a binding whose pod was deleted or has a node.
    pub(super) fn binding_settled(&mut self, pod: &PodKey, now: Time, out: &mut Vec<Effect>) {
        let decided = self.cache.state(pod).is_none_or(PodState::is_bound);
        let Some(binding) = self.bindings.take(pod) else { return };
        match &binding.stage {
            _ if !decided => self.bindings.put(binding),
            // The answer of the bind decides.
            BindingStage::Bind(ticket) if !self.outbox.withdraw(*ticket) => self.bindings.put(binding),
            BindingStage::Resolve { read: Some(_), .. } | BindingStage::Leaving { .. } => {
                self.bindings.put(binding);
            }
            BindingStage::Resolve { .. } => self.resolve(binding, None, now, out),
            _ => self.leave_quietly(binding, now, out),
        }
    }
}
