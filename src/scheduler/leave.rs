//! The end of a binding without success: its open calls are answered, what they wrote is found out, its steps are undone in reverse order, and the pod
//! is requeued when it still needs a node.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `handleBindingCycleError`; `pkg/scheduler/eventhandlers.go`,
//! `handleAssumedPodDeletion`.

use super::binding_cycle::{BindingCycle, BindingStage};
use super::cache::PodState;
use super::cycle::refused_waiting;
use super::io::Effect;
use super::queue::Scope;
use super::refusal::Refusal;
use super::{Deferred, Scheduler};
use bayplan_framework::{Code, Diagnosis, Status, Ticket, TimedPoint};
use bayplan_model::{PodInfo, PodKey, Time};
use std::sync::Arc;

impl Scheduler {
    /// Cancels a binding after a refusal or error. It ends after the replies to its open calls. Only a refusal at Permit
    /// is reported as that of a node; after Permit the pod backs off as after an error.
    pub(super) fn binding_failed(
        &mut self,
        mut binding: BindingCycle,
        status: Status,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let framework = &binding.cycle.framework;
        let code = status.code.name();
        let refusal = match &binding.stage {
            BindingStage::Permit(waits) if !waits.is_empty() => {
                framework.waited(code, binding.since);
                refused_waiting(&mut binding.cycle, binding.node, status)
            }
            stage => {
                if matches!(stage, BindingStage::PreBind(_)) {
                    framework.point_ended(TimedPoint::PreBind, code, binding.since);
                }
                binding.cycle.diagnosis = Diagnosis::default();
                Refusal::plain(status)
            }
        };
        self.cancel(binding, Some(refusal), now, out);
    }

    /// Cancels the binding of a pod that was deleted, is being deleted or was bound elsewhere: releases its
    /// reservations and reports nothing.
    pub(super) fn leave_quietly(&mut self, binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        if matches!(&binding.stage, BindingStage::Permit(waits) if !waits.is_empty()) {
            binding.cycle.framework.waited(Code::Unschedulable.name(), binding.since);
        }
        self.cancel(binding, None, now, out);
    }

    fn cancel(
        &mut self,
        mut binding: BindingCycle,
        refusal: Option<Refusal>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let open = self.calls_to_wait_for(&binding);
        self.stop_waiting(&mut binding, now);
        binding.stage = BindingStage::Leaving { open, refusal };
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

    /// Ends a binding that did not succeed: undoes all steps in reverse order. While calls are open, only the room of a
    /// pod that is being deleted is given back.
    pub(super) fn leave(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let waits = match &binding.stage {
            BindingStage::Leaving { open, .. } => !open.is_empty() || self.is_unsure(&mut binding, now),
            _ => return,
        };
        let BindingStage::Leaving { refusal, .. } = &mut binding.stage else { return };
        let key = binding.cycle.pod.key.clone();
        if waits {
            if self.ends(&key) && self.cache.state(&key).is_some_and(PodState::is_assumed) {
                self.give_room_back(&binding, now);
            }
            return self.bindings.put(binding);
        }
        let refusal = refusal.take();
        let assumed = self.objects_assumed_by(&key);
        self.unreserve(&mut binding.cycle, binding.node, now);
        for before in assumed {
            // What was written stays assumed, and its next version is the event.
            let stays = self.cache.snapshot.assumptions(&before.key()).iter().any(|of| of.by == key);
            if !stays {
                self.shown_otherwise(&before, &key, now);
            }
        }
        if !self.give_room_back(&binding, now) && !binding.cycle.framework.points().reserve.is_empty() {
            // The room was free before, and what plugins reserved is free now.
            let seen = self.cache.pod(&key).cloned();
            self.freed_by(&binding, seen.as_ref(), now);
        }
        self.cache.snapshot.unpin(binding.node);
        let pending = self.cache.state(&key) == Some(&PodState::Pending) && !self.ends(&key);
        match refusal {
            Some(mut refusal) if pending => {
                self.by_rule.errors.count_late(&binding.cycle, &refusal.status);
                refusal.ended_by = binding.ended_by;
                self.attempt_failed(binding.queued, &mut binding.cycle, refusal, now, out);
            }
            _ => {
                self.queue.done(&key);
                // A stale list may show a pod without a node that was deleted or bound before.
                if let Some(pod) = self.cache.pod(&key).filter(|_| pending).cloned()
                    && let Some(hints) = self.hints_of(&pod)
                {
                    self.queue.add(pod, hints, &self.cache.snapshot, now);
                }
                if self.cache.pod(&key).is_none() || self.ends(&key) {
                    self.after_failure(&mut binding.cycle, binding.ended_by, now);
                }
            }
        }
    }

    /// Whether a pod is being deleted.
    pub(super) fn ends(&self, pod: &PodKey) -> bool {
        self.cache.pod(pod).is_some_and(|pod| pod.is_terminating())
    }

    /// Ends the assumption, and wakes the pods that the room may help. Returns whether the binding had room until now:
    /// that of a pod which was deleted, or which the watch showed elsewhere, is free since then.
    fn give_room_back(&mut self, binding: &BindingCycle, now: Time) -> bool {
        let had_room = match self.cache.state(binding.key()) {
            Some(PodState::Assumed(_) | PodState::Unknown(_)) => true,
            // A read found it on another node.
            Some(PodState::Told(node)) => *node != binding.node_name,
            Some(PodState::Pending | PodState::Bound(_)) | None => false,
        };
        if had_room {
            let key = binding.key();
            let seen = self.cache.pod(key).cloned();
            let is_marked = self.cache.snapshot.marks(key).is_some();
            self.cache.forget(key);
            self.freed_by(binding, seen.as_ref(), now);
            if let Some(marked) = seen.filter(|_| is_marked) {
                self.marks_went(marked, now);
            }
        }
        had_room
    }

    /// Wakes the pods that may need what the binding had; `seen`: its pod as it counted until now, with its marks and with
    /// what changed since its attempt.
    fn freed_by(&mut self, binding: &BindingCycle, seen: Option<&Arc<PodInfo>>, now: Time) {
        let pod = seen.unwrap_or(&binding.cycle.pod);
        let pod = Arc::new(PodInfo { node_name: Some(binding.node_name.clone()), ..(**pod).clone() });
        self.freed(&pod, &Scope { except: Some(binding.key().clone()), ..Scope::default() }, now);
    }

    /// Notes that a pod was deleted, is being deleted or was seen on a node; its binding handles this at the end of the
    /// step.
    pub(super) fn settled(&mut self, pod: &PodKey) {
        if self.bindings.contains(pod) {
            self.deferred.push_back(Deferred::Settled(pod.clone()));
        }
    }

    /// Handles a binding whose pod was deleted, is being deleted or has a node.
    pub(super) fn binding_settled(&mut self, pod: &PodKey, now: Time, out: &mut Vec<Effect>) {
        let decided = self.cache.state(pod).is_none_or(PodState::is_bound) || self.ends(pod);
        let Some(binding) = self.bindings.take(pod) else { return };
        match &binding.stage {
            _ if !decided => self.bindings.put(binding),
            // The answer of the bind decides.
            BindingStage::Bind(ticket) if !self.outbox.withdraw(*ticket) => self.bindings.put(binding),
            BindingStage::Leaving { .. } => self.leave(binding, now, out),
            BindingStage::Resolve { read: Some(_), .. } if !self.ends(pod) => self.bindings.put(binding),
            BindingStage::Resolve { .. } => self.resolve(binding, None, now, out),
            _ => self.leave_quietly(binding, now, out),
        }
    }
}
