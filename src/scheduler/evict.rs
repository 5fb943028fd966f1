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
//! An instance that stops leading abandons its evictions: what was not sent is not sent later.
//!
//! Source: `pkg/scheduler/framework/preemption/executor.go`. Upstream does not activate the preemptor when the last victim
//! was only in memory, so that it may wait for the next deletion of any pod. It activates it after every failure, also
//! when the API server refuses each eviction at once; here the preemptor completes its back-off after the second failure
//! in a row.

use super::Scheduler;
use super::binding::BindingStage;
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::cycle::guard;
use super::io::Effect;
use bayplan_framework::{
    Answer, ApiCall, CallError, ConditionPatch, Cycle, EventRecord, EventType, Mark, Part, PatchBody,
    PluginId, Status, Ticket,
};
use bayplan_model::{PodInfo, PodKey, Symbol, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of attempts to write the condition of a victim.
const PATCH_TRIES: u32 = 4;

/// The evictions of all preemptors.
#[derive(Clone, Default, Debug)]
pub(super) struct Evictions {
    by_preemptor: BTreeMap<PodKey, Eviction>,
    /// The preemptors whose last victim is this pod. They need not wait once it is being deleted.
    last: BTreeMap<PodKey, BTreeSet<PodKey>>,
    /// The preemptors whose last eviction failed.
    failed: BTreeSet<PodKey>,
}

/// The eviction of the victims of one preemptor.
#[derive(Clone, Debug)]
struct Eviction {
    preemptor: Arc<PodInfo>,
    node: Symbol,
    /// The victim that goes after the others, until its turn.
    last: Option<Arc<PodInfo>>,
    open: BTreeMap<Ticket, Step>,
    failed: bool,
    /// The last victim gave its room back without a call.
    freed_in_memory: bool,
    /// When it began, for metrics.
    since: Option<Mark>,
}

/// A victim whose call is open.
#[derive(Clone, Debug)]
struct Step {
    victim: Arc<PodInfo>,
    /// Whether the call deletes it; else it writes the condition.
    deletes: bool,
    tries: u32,
}

/// What became of a call.
enum Progress {
    /// The next call is to be sent.
    Next(Step),
    /// The victim is evicted by us.
    Evicted(Arc<PodInfo>),
    /// The victim was gone already.
    Gone,
    Failed,
}

impl Evictions {
    /// The preemptors, each with the pods whose eviction has begun and is not done, ordered by key.
    pub(super) fn all(&self) -> impl Iterator<Item = (&PodKey, Vec<&PodKey>)> {
        fn open(eviction: &Eviction) -> Vec<&PodKey> {
            eviction.open.values().map(|step| &step.victim.key).collect()
        }
        self.by_preemptor.iter().map(|(preemptor, eviction)| (preemptor, open(eviction)))
    }

    /// The last victim of a preemptor, once it is its turn.
    fn last_of(&self, preemptor: &PodKey) -> Option<&PodKey> {
        self.last.iter().find(|(_, preemptors)| preemptors.contains(preemptor)).map(|(victim, _)| victim)
    }

    fn await_last(&mut self, victim: &PodKey, preemptor: &PodKey) {
        self.last.entry(victim.clone()).or_default().insert(preemptor.clone());
    }

    fn await_no_more(&mut self, preemptor: &PodKey) {
        self.last.retain(|_, preemptors| {
            preemptors.remove(preemptor);
            !preemptors.is_empty()
        });
    }
}

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
        self.forget_eviction(&key);
        self.cache.snapshot.set_preempting(&key, true);
        self.clear_lower_nominations(&preemptor, &node, now);
        let last = victims.pop();
        let since = self.profiles.get(&preemptor.scheduler_name).and_then(|framework| framework.mark());
        let open = BTreeMap::new();
        let eviction = Eviction { preemptor, node, last, open, failed: false, freed_in_memory: false, since };
        self.evictions.by_preemptor.insert(key.clone(), eviction);
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
        let deletes = newest.disruption_target;
        self.send_step(preemptor, Step { victim: newest, deletes, tries: 0 });
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
        let Some(eviction) = self.evictions.by_preemptor.get_mut(preemptor) else { return };
        let of = object_key(&step.victim);
        let call = match step.deletes {
            true => ApiCall::Delete { of },
            false => ApiCall::Patch {
                of,
                part: Part::Status,
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
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        eviction.open.insert(ticket, step);
        self.outbox.call(ticket, call, Owner::Eviction(preemptor.clone()));
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
        let Some(eviction) = self.evictions.by_preemptor.get_mut(preemptor) else { return };
        let Some(step) = eviction.open.remove(&ticket) else { return };
        let is_here = self.cache.pod(&step.victim.key).is_some();
        match progress(step, answer, is_here) {
            Progress::Next(step) if !eviction.failed => self.send_step(preemptor, step),
            Progress::Next(_) | Progress::Gone => {}
            Progress::Evicted(victim) => self.preempted(preemptor, &victim, "", now, out),
            Progress::Failed => {
                eviction.failed = true;
                let open: Vec<Ticket> = eviction.open.keys().copied().collect();
                for ticket in open {
                    if self.outbox.withdraw(ticket) {
                        eviction.open.remove(&ticket);
                    }
                }
            }
        }
        self.go_on_evicting(preemptor, now, out);
    }

    /// Evicts the last victim when the others are gone, and ends the eviction after it.
    fn go_on_evicting(&mut self, preemptor: &PodKey, now: Time, out: &mut Vec<Effect>) {
        let Some(eviction) = self.evictions.by_preemptor.get_mut(preemptor) else { return };
        if !eviction.open.is_empty() {
            return;
        }
        if let Some(last) = eviction.last.take().filter(|_| !eviction.failed) {
            self.evictions.await_last(&last.key, preemptor);
            let freed = self.evict(preemptor, last, now, out);
            let Some(eviction) = self.evictions.by_preemptor.get_mut(preemptor) else { return };
            eviction.freed_in_memory = freed;
            if !eviction.open.is_empty() {
                return;
            }
        }
        let Some(ended) = self.evictions.by_preemptor.get(preemptor) else { return };
        let (failed, activate) = (ended.failed, ended.failed || ended.freed_in_memory);
        if let Some(framework) = self.profiles.get(&ended.preemptor.scheduler_name) {
            framework.eviction_ended(if failed { "error" } else { "success" }, ended.since);
        }
        let ends_later = self.evictions.last_of(preemptor).is_some_and(|last| self.holds_room(last));
        self.forget_eviction(preemptor);
        self.cache.snapshot.set_preempting(preemptor, false);
        let failed_before = match failed {
            true => !self.evictions.failed.insert(preemptor.clone()),
            false => {
                self.evictions.failed.remove(preemptor);
                false
            }
        };
        if failed_before {
            self.queue.activate_after_backoff(preemptor, &self.cache.snapshot, now);
        } else if activate {
            self.queue.activate(preemptor, &self.cache.snapshot, now);
        } else {
            self.queue.gate_opened(preemptor, ends_later, &self.cache.snapshot, now);
        }
    }

    /// Forgets the eviction of a preemptor; calls that were not sent are withdrawn.
    fn forget_eviction(&mut self, preemptor: &PodKey) {
        let Some(eviction) = self.evictions.by_preemptor.remove(preemptor) else { return };
        self.evictions.await_no_more(preemptor);
        for ticket in eviction.open.keys() {
            self.outbox.withdraw(*ticket);
        }
    }

    /// This instance stopped leading: what was not sent is not sent.
    pub(super) fn abandon_evictions(&mut self, now: Time) {
        let preemptors: Vec<PodKey> = self.evictions.by_preemptor.keys().cloned().collect();
        for preemptor in preemptors {
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
            self.evictions.failed.remove(pod);
            self.cache.snapshot.set_preempting(pod, false);
        }
        let waiting: Vec<PodKey> = self.evictions.last.get(pod).into_iter().flatten().cloned().collect();
        let ends_later = self.holds_room(pod);
        for preemptor in waiting {
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
        &self,
        preemptor: &PodKey,
        victim: &PodInfo,
        suffix: &str,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(Eviction { preemptor, node, .. }) = self.evictions.by_preemptor.get(preemptor) else {
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
        self.event(event, out);
    }
}

/// What the answer to a step means. `is_here`: the pod is known and not replaced by a namesake.
fn progress(step: Step, answer: &Result<Answer, CallError>, is_here: bool) -> Progress {
    match (answer, step.deletes) {
        (Ok(_), false) => Progress::Next(Step { deletes: true, tries: 0, ..step }),
        (Ok(_), true) => Progress::Evicted(step.victim),
        // The name is free, or another pod has it.
        (Err(CallError::Refused { code: 404, .. }), _) => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. }), true) => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. }), false) if !is_here => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. } | CallError::Unknown(_)), false)
            if step.tries + 1 < PATCH_TRIES =>
        {
            Progress::Next(Step { tries: step.tries + 1, ..step })
        }
        (Err(_), _) => Progress::Failed,
    }
}
