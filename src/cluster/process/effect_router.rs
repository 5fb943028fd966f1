//! Routes the scheduler's effects: calls and events to `effects`, decisions to metrics and the
//! log. Runs on the driver's thread and never waits.

use super::driver::{Mailbox, Outlet};
use crate::extender::ask::Asker;
use crate::port::metrics::Metrics;
use crate::writes::effects::{Effects, EventSink, FinishedCall, Replies};
use bayplan_framework::{Answer, ApiCall, AttemptResult, CallError, ExtenderAsk, Ticket};
use bayplan_model::{PodKey, Symbol, Time};
use bayplan_scheduler::{Decision, DecisionRecord, Effect, Input, Scheduler};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum number of tracked attempts at which those that ended are looked for.
const SWEEP_AT: usize = 1_024;

/// A pod between its decision and its binding.
struct Started {
    at: Instant,
    attempt: u32,
    /// When the pod first entered the active queue.
    first: Time,
    /// Whether no event woke it.
    flushed: bool,
    profile: Symbol,
}

/// The attempts whose pods are being bound. A binding that ends without an event, because its pod was deleted, leaves
/// its entry behind until the next sweep.
#[derive(Default)]
struct StartedAttempts {
    all: FxHashMap<PodKey, Started>,
    sweep_at: usize,
}

impl StartedAttempts {
    fn insert(&mut self, pod: PodKey, started: Started, is_binding: impl Fn(&PodKey) -> bool) {
        if self.all.len() >= self.sweep_at {
            self.all.retain(|pod, _| is_binding(pod));
            self.sweep_at = (2 * self.all.len()).max(SWEEP_AT);
        }
        self.all.insert(pod, started);
    }

    fn remove(&mut self, pod: &PodKey) -> Option<Started> {
        self.all.remove(pod)
    }
}

/// Hands each effect to its receiver.
pub(crate) struct EffectRouter {
    effects: Effects,
    events: EventSink,
    metrics: Arc<Metrics>,
    in_flight: Arc<InFlightCalls>,
    extenders: Option<Asker>,
    started: StartedAttempts,
    took: Duration,
    /// When the attempt that waits for extenders began.
    suspended: Option<Instant>,
}

/// Work outside of the scheduling thread that was begun and is not done.
#[derive(Default)]
pub(crate) struct InFlightCalls {
    /// The UIDs of pods that are being bound.
    bindings: Mutex<FxHashSet<Symbol>>,
    /// Questions to extenders about scores; `None` before the first.
    prioritizing: Mutex<Option<FxHashSet<Ticket>>>,
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InFlightCalls {
    /// Number of bindings in flight.
    pub(crate) fn bindings(&self) -> usize {
        lock(&self.bindings).len()
    }

    /// Number of extenders that are scoring nodes; `None` when none was ever asked to.
    pub(crate) fn prioritizing(&self) -> Option<usize> {
        lock(&self.prioritizing).as_ref().map(FxHashSet::len)
    }
}

impl EffectRouter {
    /// A router to these receivers.
    pub(crate) fn new(effects: Effects, metrics: Arc<Metrics>, in_flight: Arc<InFlightCalls>) -> Self {
        let events = effects.events();
        let (started, took) = (StartedAttempts::default(), Duration::ZERO);
        Self { effects, events, metrics, in_flight, extenders: None, started, took, suspended: None }
    }

    /// This router, which hands questions to extenders to `asker`.
    pub(crate) fn asking(self, asker: Option<Asker>) -> Self {
        Self { extenders: asker, ..self }
    }

    fn call(&mut self, ticket: Ticket, call: ApiCall, machine: &Scheduler) {
        if let ApiCall::Bind { pod, .. } | ApiCall::Extender { ask: ExtenderAsk::Bind { pod, .. }, .. } =
            &call
        {
            lock(&self.in_flight.bindings).insert(pod.uid.clone());
        }
        if let (ApiCall::Extender { at, ask }, Some(extenders)) = (&call, &self.extenders) {
            if !matches!(ask, ExtenderAsk::Bind { .. }) {
                self.suspended.get_or_insert_with(|| Instant::now() - self.took);
            }
            if matches!(ask, ExtenderAsk::Prioritize { .. }) {
                lock(&self.in_flight.prioritizing).get_or_insert_default().insert(ticket);
            }
            return extenders.ask(ticket, *at, ask.clone());
        }
        let transition = turns(&call, machine);
        self.effects.call(ticket, call, transition);
    }

    fn decided(&mut self, record: DecisionRecord, machine: &Scheduler) {
        let now = Instant::now();
        // The wait for extenders is part of the attempt.
        if let Some(began) = self.suspended.take() {
            self.took = now - began;
        }
        self.metrics.algorithm_duration.observe(self.took.as_secs_f64());
        let pod = format!("{}/{}", record.pod.namespace, record.pod.name);
        if let Some(preemption) = &record.preemption {
            self.metrics.preemption_attempts.inc();
            if preemption.evicts {
                self.metrics.preemption_victims.observe(preemption.victims.len() as f64);
                tracing::info!(%pod, victims = preemption.victims.len(), "evicts pods of lower priority");
            }
        }
        let (revision, attempt) = (record.revision, record.attempt);
        let result = match &record.decision {
            Decision::Placed { node, feasible, .. } => {
                tracing::debug!(
                    %pod, %node, evaluated_nodes = record.evaluated, feasible_nodes = feasible, revision, attempt,
                    "chose a node for pod"
                );
                let started = Started {
                    at: now - self.took,
                    attempt: record.attempt,
                    first: record.first_attempt,
                    flushed: record.flushed,
                    profile: record.profile,
                };
                self.started.insert(record.key, started, |pod| machine.is_binding(pod));
                return;
            }
            Decision::Unschedulable { message, .. } => {
                tracing::debug!(%pod, revision, attempt, err = %message, "Unable to schedule pod; no fit; waiting");
                AttemptResult::Unschedulable
            }
            Decision::Error { message } => {
                tracing::error!(%pod, revision, attempt, err = %message, "Error scheduling pod; retrying");
                AttemptResult::Error
            }
        };
        self.started.remove(&record.key);
        self.count(result.label(), &record.profile, self.took);
    }

    fn count(&self, result: &str, profile: &Symbol, took: Duration) {
        self.metrics.schedule_attempts.with([result, profile]).inc();
        self.metrics.attempt_duration.with([result, profile]).observe(took.as_secs_f64());
    }
}

impl Outlet<Scheduler> for EffectRouter {
    fn effect(&mut self, effect: Effect, machine: &Scheduler, now: Time) {
        match effect {
            Effect::Call(ticket, call) => self.call(ticket, call, machine),
            Effect::Event(event) => {
                match (event.result, self.started.remove(&event.key)) {
                    (Some(AttemptResult::Scheduled), Some(started)) => {
                        if started.flushed {
                            self.metrics.scheduled_after_flush.inc();
                        }
                        self.metrics.bound(started.attempt, (now - started.first).0.max(0) as f64 / 1e6);
                        self.count(AttemptResult::Scheduled.label(), &started.profile, started.at.elapsed());
                        tracing::debug!(
                            pod = %format_args!("{}/{}", event.pod.namespace, event.pod.name),
                            "Successfully bound pod to node"
                        );
                    }
                    (Some(result), Some(started)) => {
                        self.count(result.label(), &started.profile, started.at.elapsed());
                    }
                    _ => {}
                }
                self.events.send(event);
            }
            Effect::Decided(record) => self.decided(*record, machine),
        }
    }

    fn attempted(&mut self, took: Duration) {
        self.took = took;
        // Whatever was suspended before has ended.
        self.suspended = None;
    }
}

/// Whether a patch changes the status of the pod's condition `PodScheduled`.
fn turns(call: &ApiCall, machine: &Scheduler) -> bool {
    let ApiCall::PatchStatus { pod, patch } = call else { return false };
    if patch.reason.is_none() || patch.removes_condition() {
        return false;
    }
    let entry = machine.snapshot().pod(&PodKey(pod.uid.clone()));
    let condition = entry.and_then(|entry| entry.pod.scheduled_condition.as_ref());
    condition.is_none_or(|condition| condition.0 != "False")
}

/// Sends answers to the driver, and counts the calls.
pub(crate) struct Answers {
    /// The driver's mailbox.
    pub mailbox: Mailbox,
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
    /// What is not answered yet.
    pub in_flight: Arc<InFlightCalls>,
}

impl Replies for Answers {
    fn reply(&self, ticket: Ticket, result: Result<Answer, CallError>) {
        if let Some(open) = lock(&self.in_flight.prioritizing).as_mut() {
            open.remove(&ticket);
        }
        self.mailbox.input(Input::Reply(ticket, result));
    }

    fn finished(&self, call: FinishedCall) {
        self.metrics.calls.with([call.kind, call.result]).inc();
        if call.kind != "bind" {
            return;
        }
        self.metrics.bind_results.with([call.result]).inc();
        lock(&self.in_flight.bindings).remove(&call.pod.uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_whose_bindings_ended_without_an_event_are_forgotten() {
        let mut started = StartedAttempts::default();
        let attempt = || Started {
            at: Instant::now(),
            attempt: 1,
            first: Time(0),
            flushed: false,
            profile: "p".into(),
        };
        for at in 0..10 * SWEEP_AT {
            let last = at.saturating_sub(10);
            let is_binding = |pod: &PodKey| pod.0.parse::<usize>().is_ok_and(|of| of >= last);
            started.insert(PodKey(at.to_string().into()), attempt(), is_binding);
            assert!(started.all.len() <= SWEEP_AT);
        }
        assert!(started.remove(&PodKey((10 * SWEEP_AT - 5).to_string().into())).is_some());
    }
}
