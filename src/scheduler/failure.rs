//! Handles a failed attempt: requeues the pod, sets, keeps or removes its nomination, and reports the failure by event
//! and condition.
//!
//! Plugins act after failed attempts (`Plugin::failure`), once the pod is in the queue again. A pod that the failure
//! of another one released or woke keeps all of its back-off (`QueuedPodInfo::full_backoff`): otherwise two gangs
//! without room for both would try each other's pods without end, because pods leave back-off early when the active
//! queue is empty.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `handleSchedulingFailure`.

use super::Scheduler;
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::guard::guard;
use super::io::Effect;
use super::note::note;
use super::queue::Queued;
use super::refusal::{EndedBy, Refusal};
use bayplan_framework::{
    AttemptResult, ConditionPatch, Cycle, EventRecord, EventType, HELD_BY_POLICY, Promise,
};
use bayplan_model::{PodInfo, Symbol, Time};
use std::sync::Arc;

impl Scheduler {
    /// Requeues the pod, unless it is gone or bound; event and condition say why.
    pub(super) fn attempt_failed(
        &mut self,
        mut queued: Queued,
        cycle: &mut Cycle,
        refusal: Refusal,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let key = queued.info.pod.key.clone();
        let diagnosis = &cycle.diagnosis;
        let rejected = refusal.status.is_rejected();
        let promised = matches!(&refusal.promise, Promise::To(node) if !node.is_empty());
        let held = rejected && !refusal.late && !promised && diagnosis.nodes.no_node_helps();
        queued.info.unschedulable_plugins = diagnosis.unschedulable_plugins.clone();
        queued.info.pending_plugins = diagnosis.pending_plugins.clone();
        queued.says_held = held;
        queued.attempted = Some(cycle.now);
        queued.info.full_backoff = refusal.ended_by == EndedBy::Release;
        queued.info.refused_late = rejected && refusal.late;
        queued.info.blame = match rejected {
            true => self.by_rule.refusals.count(&cycle.framework, diagnosis, &refusal.status),
            false => None,
        };
        if let Some(blame) = &mut queued.info.blame {
            // An autoscaler does not look at pods that wait for no node, or for one that others leave.
            blame.by_policy_alone &= !held && !promised && !refusal.late;
        }
        if !rejected {
            queued.info.unschedulable_plugins = Default::default();
            queued.info.pending_plugins = Default::default();
        }
        let scheduler = cycle.framework.scheduler_name.clone();
        let newest = match self.cache.state(&key) {
            Some(PodState::Pending) => self.cache.pod(&key).cloned(),
            _ => None,
        };
        let victims =
            refusal.preemption.map(|preemption| self.to_evict(preemption.victims)).unwrap_or_default();
        match &newest {
            Some(pod) => {
                queued.info.pod = pod.clone();
                if !victims.is_empty() {
                    // Its gate holds it from the first event on.
                    self.cache.snapshot.set_preempting(&key, true);
                }
                self.requeue(queued, now);
                self.promise(pod, &refusal.promise, now);
            }
            None => self.queue.done(&key),
        }
        if rejected && !refusal.late && refusal.promise == Promise::Clear {
            self.preemption_was_futile(newest.as_ref().unwrap_or(&cycle.pod), "no node had room for it", now);
        }
        let pod = newest.as_ref().unwrap_or(&cycle.pod);
        let event = EventRecord {
            pod: object_key(pod),
            related: None,
            key: key.clone(),
            scheduler,
            kind: EventType::Warning,
            reason: "FailedScheduling".into(),
            action: "Scheduling",
            note: note(&refusal.message),
            result: Some(if rejected { AttemptResult::Unschedulable } else { AttemptResult::Error }),
            at: now,
        };
        self.event(event, out);
        if newest.is_some() {
            let patch = ConditionPatch {
                reason: Some(match rejected {
                    _ if held => HELD_BY_POLICY,
                    true => "Unschedulable",
                    false => "SchedulerError",
                }),
                message: refusal.message,
                generation: pod.generation,
                nominated_node: match &refusal.promise {
                    Promise::Keep => None,
                    Promise::Clear => Some(Symbol::default()),
                    Promise::To(node) => Some(node.clone()),
                },
                resource_version: Box::default(),
            };
            self.outbox.patch(object_key(pod), key, patch);
        }
        if let (Some(pod), Promise::To(node)) = (newest, refusal.promise)
            && !victims.is_empty()
        {
            self.begin_eviction(pod, node, victims, now, out);
        }
        self.after_failure(cycle, refusal.ended_by, now);
    }

    /// Runs the plugins that act after an attempt that failed; its steps are undone.
    pub(super) fn after_failure(&mut self, cycle: &mut Cycle, ended_by: EndedBy, now: Time) {
        let framework = cycle.framework.clone();
        if !framework.acts_after_failure() {
            return;
        }
        let before = self.deferred.len();
        let _ = self.acting(now, &Owner::Nobody, &framework, |acting| {
            guard(&framework, || {
                framework.run_failure(cycle, ended_by != EndedBy::Itself, acting);
                Ok(())
            })
        });
        if self.deferred.len() > before {
            // Or the pod takes the room of those that it released before others can.
            self.queue.wait_full_backoff(&cycle.pod.key);
        }
    }

    /// Sets, keeps or removes the nomination in memory, and wakes the pods that a nomination which ends kept off its
    /// node. Upstream wakes them when the watch shows the new status; ours is written later, possibly joined with the
    /// next one.
    fn promise(&mut self, pod: &Arc<PodInfo>, promise: &Promise, now: Time) {
        let before = self.cache.nominator.get(&pod.key).cloned();
        let after = match promise {
            Promise::Keep => before.clone(),
            Promise::Clear => None,
            Promise::To(node) => Some(node.clone()).filter(|node| !node.is_empty()),
        };
        self.nominate(pod, after.as_ref(), now);
        let placed = after.and_then(|node| self.cache.snapshot.node_by_name(&node));
        self.promise_ended(pod, before, placed, now);
    }

    /// Says in the conditions of pods that gates hold why they wait. The condition of a pod that no gate holds is not
    /// written.
    pub(super) fn show_gates(&mut self, now: Time, out: &mut Vec<Effect>) {
        for pod in self.queue.take_freed() {
            self.outbox.withdraw_condition(&object_key(&pod), HELD_BY_POLICY);
        }
        if !self.readiness.leading {
            return;
        }
        while let Some((pod, text)) = self.queue.next_held(now) {
            let condition = pod.scheduled_condition.as_deref();
            if condition
                .is_some_and(|(_, reason, message, _)| *reason == HELD_BY_POLICY && **message == *text)
            {
                continue;
            }
            let event = EventRecord {
                pod: object_key(&pod),
                related: None,
                key: pod.key.clone(),
                scheduler: pod.scheduler_name.clone(),
                kind: EventType::Normal,
                reason: HELD_BY_POLICY.into(),
                action: "Scheduling",
                note: note(&text),
                result: None,
                at: now,
            };
            self.event(event, out);
            let patch = ConditionPatch {
                reason: Some(HELD_BY_POLICY),
                message: text,
                generation: pod.generation,
                nominated_node: None,
                resource_version: Box::default(),
            };
            self.outbox.patch(object_key(&pod), pod.key.clone(), patch);
        }
    }

    /// Requeues a pod. If its profile was replaced meanwhile, the new plugins apply.
    fn requeue(&mut self, queued: Queued, now: Time) {
        let key = queued.info.pod.key.clone();
        let hints = self.hints_of(&queued.info.pod);
        match hints {
            Some(hints) if Arc::ptr_eq(&hints, &queued.hints) => {
                self.queue.requeue(queued, &self.cache.snapshot, now);
            }
            Some(hints) => self.queue.requeue_to(queued, hints, &self.cache.snapshot, now),
            None => self.queue.done(&key),
        }
    }

    /// Counts the gates that failed since the last call, one by one.
    pub(super) fn count_failed_gates(&mut self) {
        for fault in self.queue.take_failed_gates() {
            self.by_rule.errors.count_once(std::iter::once(fault));
        }
    }
}
