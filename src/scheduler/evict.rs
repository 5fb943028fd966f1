//! Evicts the victims of a preemption while the scheduler goes on: all but the last side by side, then the last. The
//! preemptor is kept out of the queue until then (`Snapshot::is_preempting`), so that it does not choose more victims.
//!
//! ```text
//! clear nominations of lower priority ─► each victim:
//!   waits at Permit, or works before its bind ─► its binding fails; no call
//!   else ─► PATCH condition DisruptionTarget ─► DELETE with UID ─► event Preempted
//! all but the last done ─► the last ─► end
//!   a failure, or the last victim was only in memory ─► the preemptor is activated
//!   else the deletion of the last victim wakes it, as any event that its plugins wait for
//! ```
//!
//! `evictions.rs` knows how far each one is. An instance that stops leading abandons its evictions: what was not sent is
//! not sent later.
//!
//! Source: `pkg/scheduler/framework/preemption/executor.go`. Upstream does not activate the preemptor when the last victim
//! was only in memory, so that it may wait for the next deletion of any pod. It activates it after every failure, also
//! when the API server refuses each eviction at once; here the preemptor completes its back-off after the second failure
//! in a row.

use super::Scheduler;
use super::binding_cycle::BindingStage;
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::evictions::{Eviction, Progress, Step, progress};
use super::guard::guard;
use super::io::Effect;
use bayplan_framework::{
    Answer, ApiCall, CallError, ConditionPatch, Cycle, EventRecord, EventType, ObjectPart, PatchBody,
    PluginId, Status, Ticket,
};
use bayplan_model::{PodInfo, PodKey, Symbol, Time};
use std::sync::Arc;

impl Scheduler {
    /// The victims that need to be evicted: those that are not being deleted already.
    pub(super) fn to_evict(&self, victims: Vec<Arc<PodInfo>>) -> Vec<Arc<PodInfo>> {
        let newest = victims.into_iter().filter_map(|pod| self.cache.pod(&pod.key).cloned());
        newest.filter(|pod| !pod.is_terminating()).collect()
    }

    /// Begins to evict these pods from the node to which the preemptor is nominated; at least one pod, the most important
    /// first.
    pub(super) fn begin_eviction(
        &mut self,
        preemptor: Arc<PodInfo>,
        node: Symbol,
        mut victims: Vec<Arc<PodInfo>>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let key = preemptor.key.clone();
        self.preemption_was_futile(&preemptor, &format!("more pods were evicted from node {node}"), now);
        self.forget_eviction(&key);
        self.cache.snapshot.set_preempting(&key, true);
        self.clear_lower_nominations(&preemptor, &node, now);
        let last = victims.pop();
        let since = self.profiles.get(&preemptor.scheduler_name).and_then(|framework| framework.mark());
        self.evictions.begin(preemptor, node, last, since);
        for victim in victims {
            self.evict(&key, victim, now, out);
        }
        self.go_on_evicting(&key, now, out);
    }

    /// Clears the nominations of pods of lower priority to the node: they may not fit beside
    /// the preemptor, and find another node sooner. Those that may evict it fit beside it, and would evict it again.
    fn clear_lower_nominations(&mut self, preemptor: &Arc<PodInfo>, node: &Symbol, now: Time) {
        let snapshot = &self.cache.snapshot;
        let row = snapshot.node_by_name(node).and_then(|row| snapshot.node(row));
        let cycle = self
            .profiles
            .get(&preemptor.scheduler_name)
            .map(|framework| Cycle::new(preemptor.clone(), framework.clone(), now));
        let keeps = |pod: &Arc<PodInfo>| {
            let Some((cycle, row)) = cycle.as_ref().zip(row) else { return false };
            let (framework, handle) = (&cycle.framework, cycle.handle(snapshot));
            guard(framework, || Ok(framework.keeps_from(pod, handle, row))).unwrap_or(false)
        };
        let there = self.cache.nominator.iter().filter(|(_, at)| *at == node);
        let pods = there.filter_map(|(pod, _)| self.cache.pod(pod).cloned());
        let lower = pods.filter(|pod| pod.priority < preemptor.priority && !keeps(pod));
        let lower: Vec<Arc<PodInfo>> = lower.collect();
        for pod in lower {
            self.nominate(&pod, None, now);
            self.promise_ended(&pod, Some(node.clone()), None, now);
            let patch = ConditionPatch {
                reason: None,
                message: String::new(),
                generation: 0,
                nominated_node: Some(Symbol::default()),
                resource_version: Box::default(),
            };
            self.outbox.patch(object_key(&pod), pod.key.clone(), patch);
        }
    }

    /// Evicts one pod: in memory, or with the first of its calls. Returns whether it gave its room back at once.
    fn evict(&mut self, preemptor: &PodKey, victim: Arc<PodInfo>, now: Time, out: &mut Vec<Effect>) -> bool {
        let Some(newest) = self.cache.pod(&victim.key).cloned().filter(|pod| !pod.is_terminating()) else {
            return false;
        };
        if self.is_leaving(&newest.key) {
            // Its binding ends, and gives the room back when its calls are answered.
            return false;
        }
        if self.cancel_binding(&newest.key, now, out) {
            self.preempted(preemptor, &newest, " (in kube-scheduler memory).", now, out);
            return !self.cache.state(&newest.key).is_some_and(PodState::is_assumed);
        }
        self.send_step(preemptor, Step::first(newest));
        false
    }

    fn is_leaving(&self, pod: &PodKey) -> bool {
        self.bindings.get(pod).is_some_and(|binding| matches!(binding.stage, BindingStage::Leaving { .. }))
    }

    /// Ends the binding of a victim whose bind was not begun. `false`: it has none.
    fn cancel_binding(&mut self, pod: &PodKey, now: Time, out: &mut Vec<Effect>) -> bool {
        let Some(binding) = self.bindings.get(pod) else { return false };
        let status = match &binding.stage {
            BindingStage::Permit(waits) if !waits.is_empty() => {
                Status::error("waiting on permit for pod: preempted")
            }
            BindingStage::PreBind(tasks) => {
                let name = tasks.iter().find_map(|task| task.unfinished());
                let name = name.map_or("", |id: PluginId| binding.cycle.framework.plugin_name(id));
                Status::error(format!("running PreBind plugin {name:?}: preempted by DefaultPreemption"))
            }
            _ => return false,
        };
        let Some(binding) = self.bindings.take(pod) else { return false };
        self.binding_failed(binding, status, now, out);
        true
    }

    /// Sends the call of a step.
    fn send_step(&mut self, preemptor: &PodKey, step: Step) {
        let Some(eviction) = self.evictions.get(preemptor) else { return };
        let of = object_key(&step.victim);
        let call = match step.deletes {
            true => ApiCall::Delete { of },
            false => ApiCall::Patch {
                of,
                part: ObjectPart::Status,
                version: None,
                body: PatchBody::DisruptionTarget {
                    message: format!(
                        "{}: preempting to accommodate a higher priority pod",
                        eviction.preemptor.scheduler_name
                    ),
                    generation: step.victim.generation,
                },
            },
        };
        let ticket = self.outbox.send(call, Owner::Eviction(preemptor.clone()));
        self.evictions.sent(preemptor, ticket, step);
    }

    /// A call of an eviction was answered.
    pub(super) fn eviction_answered(
        &mut self,
        preemptor: &PodKey,
        ticket: Ticket,
        answer: &Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(step) = self.evictions.take(preemptor, ticket) else { return };
        let failed = self.evictions.get(preemptor).is_some_and(Eviction::has_failed);
        let is_here = self.cache.pod(&step.victim.key).is_some();
        match progress(step, answer, is_here) {
            Progress::Next(step) if !failed => self.send_step(preemptor, step),
            Progress::Next(_) | Progress::Gone => {}
            Progress::Evicted(victim) => self.preempted(preemptor, &victim, "", now, out),
            Progress::Failed => {
                for ticket in self.evictions.fail(preemptor) {
                    if self.outbox.withdraw(ticket) {
                        self.evictions.take(preemptor, ticket);
                    }
                }
            }
        }
        self.go_on_evicting(preemptor, now, out);
    }

    /// Evicts the last victim when the others are gone, and ends the eviction after it.
    fn go_on_evicting(&mut self, preemptor: &PodKey, now: Time, out: &mut Vec<Effect>) {
        if self.evictions.get(preemptor).is_none_or(Eviction::is_open) {
            return;
        }
        if let Some(last) = self.evictions.take_last(preemptor) {
            let freed = self.evict(preemptor, last, now, out);
            self.evictions.freed(preemptor, freed);
        }
        let Some(ended) = self.evictions.get(preemptor).filter(|eviction| !eviction.is_open()) else {
            return;
        };
        let (failed, activate) = (ended.has_failed(), ended.activates());
        if let Some(framework) = self.profiles.get(&ended.preemptor.scheduler_name) {
            framework.eviction_ended(if failed { "error" } else { "success" }, ended.since);
        }
        let ends_later = self.evictions.last_of(preemptor).is_some_and(|last| self.holds_room(last));
        self.forget_eviction(preemptor);
        if failed {
            // More evictions follow, because not all of these were made.
            self.surroundings.preemptor_gone(preemptor);
        }
        self.cache.snapshot.set_preempting(preemptor, false);
        if self.evictions.note_end(preemptor, failed) {
            self.queue.activate_after_backoff(preemptor, &self.cache.snapshot, now);
        } else if activate {
            self.queue.activate(preemptor, &self.cache.snapshot, now);
        } else {
            self.queue.gate_opened(preemptor, ends_later, &self.cache.snapshot, now);
        }
    }

    /// Forgets the eviction of a preemptor; calls that were not sent are withdrawn.
    fn forget_eviction(&mut self, preemptor: &PodKey) {
        for ticket in self.evictions.forget(preemptor) {
            self.outbox.withdraw(ticket);
        }
    }

    /// This instance stopped leading: what was not sent is not sent.
    pub(super) fn abandon_evictions(&mut self, now: Time) {
        self.surroundings.forget_preemptors();
        for preemptor in self.evictions.preemptors() {
            self.forget_eviction(&preemptor);
            self.cache.snapshot.set_preempting(&preemptor, false);
            self.queue.activate(&preemptor, &self.cache.snapshot, now);
        }
    }

    /// A pod is gone or being deleted: the gates of preemptors that wait for it alone open, and its own victims stay.
    /// The event of its end wakes the preemptors.
    pub(super) fn eviction_sees_end(&mut self, pod: &PodKey, gone: bool, now: Time) {
        if gone {
            self.forget_eviction(pod);
            self.evictions.note_end(pod, false);
            self.cache.snapshot.set_preempting(pod, false);
        }
        let ends_later = self.holds_room(pod);
        for preemptor in self.evictions.waiting_for(pod) {
            self.cache.snapshot.set_preempting(&preemptor, false);
            self.queue.gate_opened(&preemptor, ends_later, &self.cache.snapshot, now);
        }
    }

    /// Whether the end of the pod gives room back, by an event. A victim whose binding failed gave it back before.
    fn holds_room(&self, pod: &PodKey) -> bool {
        self.cache.snapshot.pod(pod).is_some_and(|entry| entry.placed.is_some())
    }

    /// Reports that a pod was evicted.
    fn preempted(
        &mut self,
        preemptor: &PodKey,
        victim: &PodInfo,
        suffix: &str,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(Eviction { preemptor, node, .. }) = self.evictions.get(preemptor) else {
            return;
        };
        let event = EventRecord {
            pod: object_key(victim),
            related: Some(object_key(preemptor)),
            key: victim.key.clone(),
            scheduler: preemptor.scheduler_name.clone(),
            kind: EventType::Normal,
            reason: "Preempted".into(),
            action: "Preempting",
            note: format!("Preempted by pod {} on node {node}{suffix}", preemptor.uid),
            result: None,
            at: now,
        };
        self.surroundings.evicted_for(&preemptor.key, node);
        self.event(event, out);
    }
}
