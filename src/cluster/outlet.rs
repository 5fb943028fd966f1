//! What leaves the scheduler, sorted: calls to `effects`, events to `events`, decisions to metrics and the log. Runs
//! on the driver's thread and never waits.

use super::driver::{Mailbox, Outlet};
use super::effects::{Effects, Made, Replies};
use super::events::EventSink;
use super::metrics::Metrics;
use crate::framework::{Answer, ApiCall, CallError, Ticket};
use crate::model::{PodKey, Symbol, Time};
use crate::scheduler::{Decision, DecisionRecord, Effect, Input, Scheduler};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pods that are being bound, at most, of which the start is remembered.
const REMEMBERED: usize = 100_000;

/// A pod on its way from its decision to its binding.
struct Started {
    at: Instant,
    attempt: u32,
    /// When the pod was first tried.
    first: Time,
    profile: Symbol,
}

/// Sorts effects.
pub struct Sorter {
    effects: Effects,
    events: EventSink,
    metrics: Arc<Metrics>,
    binding: Arc<Binding>,
    started: FxHashMap<PodKey, Started>,
    took: Duration,
}

/// The UIDs of pods whose binding is on its way.
#[derive(Default)]
pub struct Binding(Mutex<FxHashSet<Symbol>>);

impl Binding {
    fn all(&self) -> std::sync::MutexGuard<'_, FxHashSet<Symbol>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all().len()
    }
}

impl Sorter {
    /// Hands calls and events on to these.
    pub fn new(effects: Effects, events: EventSink, metrics: Arc<Metrics>, binding: Arc<Binding>) -> Self {
        Self { effects, events, metrics, binding, started: FxHashMap::default(), took: Duration::ZERO }
    }

    fn call(&mut self, ticket: Option<Ticket>, call: ApiCall, machine: &Scheduler) {
        if let ApiCall::Bind { pod, .. } = &call {
            self.binding.all().insert(pod.uid.clone());
        }
        let transition = turns(&call, machine);
        self.effects.call(ticket, call, transition);
    }

    fn decided(&mut self, record: DecisionRecord) {
        let now = Instant::now();
        let pod = format!("{}/{}", record.pod.namespace, record.pod.name);
        let (revision, attempt) = (record.revision, record.attempt);
        let result = match &record.decision {
            Decision::Placed { node, feasible, .. } => {
                tracing::debug!(
                    %pod, %node, evaluated_nodes = record.evaluated, feasible_nodes = feasible, revision, attempt,
                    "chose a node for pod"
                );
                if self.started.len() >= REMEMBERED {
                    self.started.clear();
                }
                let started = Started {
                    at: now - self.took,
                    attempt: record.attempt,
                    first: record.first_attempt,
                    profile: record.profile,
                };
                self.started.insert(record.key, started);
                return;
            }
            Decision::Unschedulable { message, .. } => {
                tracing::debug!(%pod, revision, attempt, err = %message, "Unable to schedule pod; no fit; waiting");
                "unschedulable"
            }
            Decision::Error { message } => {
                tracing::error!(%pod, revision, attempt, err = %message, "Error scheduling pod; retrying");
                "error"
            }
        };
        self.started.remove(&record.key);
        self.count(result, &record.profile, self.took);
    }

    fn count(&self, result: &str, profile: &Symbol, took: Duration) {
        let labels = vec![("result", result.to_owned()), ("profile", profile.to_string())];
        self.metrics.schedule_attempts.get_or_create(&labels).inc();
        self.metrics.attempt_duration.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

impl Outlet<Scheduler> for Sorter {
    fn effect(&mut self, effect: Effect, machine: &Scheduler, now: Time) {
        match effect {
            Effect::Call(ticket, call) => self.call(Some(ticket), call, machine),
            Effect::Event(event) => {
                match (event.reason, self.started.remove(&event.key)) {
                    ("Scheduled", Some(started)) => {
                        self.metrics.bound(started.attempt, (now - started.first).0.max(0) as f64 / 1e6);
                        self.count("scheduled", &started.profile, started.at.elapsed());
                        tracing::debug!(
                            pod = %format_args!("{}/{}", event.pod.namespace, event.pod.name),
                            "Successfully bound pod to node"
                        );
                    }
                    ("FailedScheduling", Some(started)) => {
                        self.count("error", &started.profile, started.at.elapsed());
                    }
                    _ => {}
                }
                self.events.send(event);
            }
            Effect::Decided(record) => self.decided(*record),
        }
    }

    fn attempted(&mut self, took: Duration) {
        self.took = took;
        self.metrics.algorithm_duration.observe(took.as_secs_f64());
    }
}

/// Whether a patch turns the condition `PodScheduled` to another status than the pod's present one.
fn turns(call: &ApiCall, machine: &Scheduler) -> bool {
    let ApiCall::PatchStatus { pod, patch } = call else { return false };
    if patch.reason.is_none() {
        return false;
    }
    let entry = machine.snapshot().pod(&PodKey(pod.uid.clone()));
    let condition = entry.and_then(|entry| entry.pod.scheduled_condition.as_ref());
    condition.is_none_or(|condition| condition.0 != "False")
}

/// Answers go to the driver; what was called is counted.
pub struct Answers {
    /// The driver's way in.
    pub mailbox: Mailbox,
    /// Counts calls.
    pub metrics: Arc<Metrics>,
    /// Bindings on their way.
    pub binding: Arc<Binding>,
}

impl Replies for Answers {
    fn reply(&self, ticket: Ticket, result: Result<Answer, CallError>) {
        self.mailbox.input(Input::Reply(ticket, result));
    }

    fn made(&self, made: Made) {
        let labels = vec![("kind", made.kind.to_owned()), ("result", made.result.to_owned())];
        self.metrics.calls.get_or_create(&labels).inc();
        if made.kind != "bind" {
            return;
        }
        self.metrics.bind_results.get_or_create(&vec![("result", made.result.to_owned())]).inc();
        self.binding.all().remove(&made.pod.uid);
    }
}
