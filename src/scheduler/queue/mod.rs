//! The scheduling queue: active pods, pods in back-off, unschedulable pods that wait for an event, and the events since
//! pods in flight were popped. It decides nothing about nodes.
//!
//! ```text
//!  add ──► PreEnqueue ─┬─ ok ──► active ──► pop ──► in flight ──► done
//!                      │           ▲  ▲                 │
//!                      │  back-off ┘  │ event helps     │ refused, nothing helped meanwhile
//!                      └─ refused ► unschedulable ◄─────┘
//! ```
//!
//! Source: `pkg/scheduler/backend/queue/scheduling_queue.go` (1.36, hints and popFromBackoffQ on).

mod active;
mod alarms;
mod backoff;
mod census;
mod held;
mod in_flight;
mod incoming;
mod interest;
mod nominator;
mod order;
mod queued;
mod remembered;
#[cfg(test)]
mod tests;
mod unschedulable;

pub(super) use census::Cause;
pub(super) use interest::{ProfileHints, handle};
pub(super) use nominator::Nominator;
pub(super) use queued::Queued;
pub(super) use remembered::Copied;

use super::interested::Interested;
use active::{Active, Rank, Seat};
use backoff::Backoff;
use bayplan_framework::{
    ActionType, ClusterEvent, CycleState, EventObjects, EventResource, Framework, Interest, QueuedPodInfo,
    RuleFault,
};
use bayplan_model::{Duration, Generation, PodInfo, PodKey, Snapshot, Symbol, Time, VersionRow};
use census::Census;
use held::{Held, Notices};
use in_flight::{InFlight, Since};
use incoming::Incoming;
use interest::{RequeueStrategy, Served};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use unschedulable::Unschedulable;

/// Interval of the search for pods that have waited longer than the limit.
const FLUSH_EVERY: Duration = Duration::from_seconds(30);

/// Which pods an event may reach.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// This pod alone.
    pub(super) only: Option<PodKey>,
    /// All pods except this one.
    pub(super) except: Option<PodKey>,
    /// Only pods of this priority and lower.
    pub(super) up_to_priority: Option<i32>,
    /// It comes from a failed attempt: the back-off of those that it helps is not cut short.
    pub(super) after_backoff: bool,
}

impl Scope {
    fn reaches(&self, pod: &PodInfo) -> bool {
        self.only.as_ref().is_none_or(|only| *only == pod.key)
            && self.except.as_ref() != Some(&pod.key)
            && self.up_to_priority.is_none_or(|most| pod.priority <= most)
    }

    /// Where a pod goes that the event helps as much.
    fn limit(&self, strategy: RequeueStrategy) -> RequeueStrategy {
        if self.after_backoff { strategy.min(RequeueStrategy::AfterBackoff) } else { strategy }
    }
}

/// The queue that a pod is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuePlace {
    /// Ready for an attempt.
    Active,
    /// Waiting for the end of its back-off.
    Backoff,
    /// Waiting for an event.
    Unschedulable,
    /// Kept out by a PreEnqueue plugin.
    Gated,
}

#[derive(Clone, Debug)]
enum Place {
    Active(Seat),
    Backoff { failed: bool, expiry: Time, rank: Rank },
    Unschedulable,
}

/// What the PreEnqueue plugins say.
enum Gates {
    Open,
    Hold {
        panicked: bool,
        /// What the pod's condition is to say.
        text: Option<String>,
    },
}

#[derive(Clone, Debug)]
struct Entry {
    queued: Queued,
    place: Place,
    /// What can change its sort key; empty for a pod that waits for an event.
    interest: Interest,
}

/// The scheduling queue.
#[derive(Clone, Debug)]
pub(super) struct SchedulingQueue {
    entries: FxHashMap<PodKey, Entry>,
    active: Active,
    backoff: Backoff,
    unschedulable: Unschedulable,
    in_flight: InFlight,
    incoming: Incoming,
    arrivals: u64,
    /// Maximum time that a pod waits for an event before it is retried; `None`: unlimited.
    longest_wait: Option<Duration>,
    next_flush: Time,
    /// The generation of the cluster at which the sort keys were computed.
    keys_at: Generation,
    /// Pods in the active and back-off queues, by what can change their sort keys, but for what moves a class of active
    /// pods.
    sorted: Interested<PodKey>,
    served: Served,
    /// The queued pods by what keeps them waiting.
    census: Census,
    /// When the condition of a held pod is to be written.
    notices: Notices,
    /// Pods whose gates opened after their condition was given the text of a gate.
    freed: Vec<Arc<PodInfo>>,
    /// Rules that failed at PreEnqueue, with their plugins.
    failed_gates: Vec<(Symbol, Arc<RuleFault>)>,
}

impl SchedulingQueue {
    pub(super) fn new(initial: Duration, max: Duration, longest_wait: Option<Duration>) -> Self {
        Self {
            entries: FxHashMap::default(),
            active: Active::default(),
            backoff: Backoff::new(initial, max),
            unschedulable: Unschedulable::default(),
            in_flight: InFlight::default(),
            incoming: Incoming::default(),
            arrivals: 0,
            longest_wait,
            next_flush: Time(i64::MIN),
            keys_at: Generation::default(),
            sorted: Interested::default(),
            served: Served::default(),
            census: Census::default(),
            notices: Notices::default(),
            freed: Vec::new(),
            failed_gates: Vec::new(),
        }
    }

    /// Adds a pod without a node.
    pub(super) fn add(
        &mut self,
        pod: Arc<PodInfo>,
        hints: Arc<ProfileHints>,
        snapshot: &Snapshot,
        now: Time,
    ) {
        self.remove(&pod.key);
        self.served.include(&hints);
        self.arrivals += 1;
        let info = QueuedPodInfo::new(pod, now);
        let queued = Queued {
            info,
            hints,
            number: self.arrivals,
            ready: now,
            attempted: None,
            says_held: false,
            held: None,
        };
        let queue = self.put(queued, RequeueStrategy::Immediately, snapshot, now);
        let newer = snapshot.version_rows().has(VersionRow::EventLabels);
        self.incoming.count(queue, if newer { "UnscheduledPodAdd" } else { "UnschedulablePodAdd" });
    }

    /// Whether the pod is queued or in flight.
    pub(super) fn contains(&self, pod: &PodKey) -> bool {
        self.entries.contains_key(pod) || self.in_flight.contains(pod)
    }

    /// Updates a queued pod. The change may make it schedulable.
    pub(super) fn update(
        &mut self,
        pod: Arc<PodInfo>,
        changes: &[ClusterEvent],
        snapshot: &Snapshot,
        now: Time,
    ) {
        let key = pod.key.clone();
        let Some(entry) = self.entries.get_mut(&key) else {
            if self.in_flight.contains(&key) {
                let scope = Scope { only: Some(key), ..Scope::default() };
                for event in changes.iter().filter(|event| self.served.want(event.resource, event.action)) {
                    self.in_flight.note(event, &scope);
                }
            }
            return;
        };
        entry.queued.info.pod = pod;
        match &entry.place {
            Place::Unschedulable => {
                for event in changes {
                    self.ask(&key, event, &Scope::default(), snapshot, now);
                }
            }
            Place::Active(_) | Place::Backoff { .. } => self.rank_again(&key, snapshot),
        }
    }

    /// Removes a pod that was deleted or has a node.
    pub(super) fn remove(&mut self, pod: &PodKey) -> Option<Queued> {
        let entry = self.entries.remove(pod)?;
        self.census.remove(&entry.queued);
        self.sorted.remove(&entry.interest, pod);
        match &entry.place {
            Place::Active(seat) => self.active.remove(seat),
            Place::Backoff { failed, expiry, rank } => self.backoff.remove(*failed, *expiry, rank),
            Place::Unschedulable => self.unschedulable.remove(entry.queued.number),
        }
        if let Some(held) = &entry.queued.held {
            self.notices.remove(held, pod);
        }
        Some(entry.queued)
    }

    /// Whether there is a pod to try: an active one, or a refused one in back-off.
    pub(super) fn has_work(&self) -> bool {
        !self.active.is_empty() || self.backoff.first_refused().is_some()
    }

    /// The pod that [`SchedulingQueue::pop`] gives.
    pub(super) fn next(&mut self, snapshot: &Snapshot) -> Option<&PodKey> {
        self.rank_anew(snapshot);
        self.active.first().or_else(|| self.backoff.first_refused())
    }

    /// Pops the next pod. It is in flight until [`SchedulingQueue::done`].
    pub(super) fn pop(&mut self, snapshot: &Snapshot, now: Time) -> Option<Queued> {
        let early = self.active.is_empty();
        let key = self.next(snapshot)?.clone();
        let mut queued = self.remove(&key)?;
        if early {
            self.incoming.count("active", "PopFromBackoffQ");
        }
        queued.info.attempts += 1;
        queued.info.helped = false;
        queued.info.initial_attempt.get_or_insert(now);
        self.in_flight.begin(key);
        Some(queued)
    }

    /// Ends the attempt: later events are not kept for the pod.
    pub(super) fn done(&mut self, pod: &PodKey) {
        self.in_flight.end(pod);
    }

    /// Requeues a pod in flight. A pod without plugins that refused it failed with an error.
    pub(super) fn requeue(&mut self, mut queued: Queued, snapshot: &Snapshot, now: Time) {
        queued.note_failure(now);
        let (strategy, full_backoff) = self.helped_meanwhile(&queued, snapshot, now);
        queued.info.full_backoff |= full_backoff;
        self.in_flight.end(&queued.info.pod.key);
        let queue = self.put(queued, strategy, snapshot, now);
        self.incoming.requeued(queue, strategy, "ScheduleAttemptFailure");
    }

    /// Requeues a pod whose plugins were replaced while it was in flight: their hints do not apply to it.
    pub(super) fn requeue_to(
        &mut self,
        mut queued: Queued,
        hints: Arc<ProfileHints>,
        snapshot: &Snapshot,
        now: Time,
    ) {
        queued.note_failure(now);
        self.in_flight.end(&queued.info.pod.key);
        queued.rename(hints);
        let strategy = RequeueStrategy::AfterBackoff;
        let queue = self.put(queued, strategy, snapshot, now);
        self.incoming.requeued(queue, strategy, "ScheduleAttemptFailure");
    }

    /// Puts a pod in flight back into the active queue, to be tried again at once: its attempt was given up.
    pub(super) fn put_back(
        &mut self,
        mut queued: Queued,
        pod: Arc<PodInfo>,
        hints: Arc<ProfileHints>,
        snapshot: &Snapshot,
        now: Time,
    ) {
        self.in_flight.end(&pod.key);
        queued.info.pod = pod;
        if !Arc::ptr_eq(&hints, &queued.hints) {
            queued.rename(hints);
        }
        let strategy = RequeueStrategy::Immediately;
        let queue = self.put(queued, strategy, snapshot, now);
        self.incoming.requeued(queue, strategy, "ScheduleAttemptFailure");
    }

    /// What the events since a pod was popped say of it, and whether those that help it come from failed attempts only.
    fn helped_meanwhile(&self, queued: &Queued, snapshot: &Snapshot, now: Time) -> (RequeueStrategy, bool) {
        let info = &queued.info;
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            return (RequeueStrategy::AfterBackoff, false);
        }
        match self.in_flight.since(&info.pod.key) {
            Since::Unknown | Since::TooMuch => (RequeueStrategy::AfterBackoff, false),
            Since::Events(events) => {
                let (mut strategy, mut full_backoff) = (RequeueStrategy::Skip, true);
                // A pod that waits at Permit is asked anew whenever a pod is assumed, up to its refusal. Members of a group
                // that time out together would wake each other for ever.
                let is_known =
                    |event: &ClusterEvent| info.refused_late && event.resource == EventResource::DecidedPod;
                let events = events.filter(|(event, scope)| scope.reaches(&info.pod) && !is_known(event));
                for (event, scope) in events {
                    let helps = scope.limit(queued.hints.strategy(info, event, snapshot, now));
                    full_backoff &= scope.after_backoff || helps == RequeueStrategy::Skip;
                    strategy = strategy.max(helps);
                    if strategy == RequeueStrategy::Immediately {
                        break;
                    }
                }
                (strategy, full_backoff && strategy != RequeueStrategy::Skip)
            }
        }
    }

    /// Puts a pod into a queue, and returns upstream's name of that queue.
    fn put(
        &mut self,
        mut queued: Queued,
        strategy: RequeueStrategy,
        snapshot: &Snapshot,
        now: Time,
    ) -> &'static str {
        let key = queued.info.pod.key.clone();
        let gates = match strategy {
            RequeueStrategy::Skip => Gates::Hold { panicked: false, text: None },
            _ => self.ask_gates(&mut queued, snapshot, now),
        };
        match &gates {
            Gates::Hold { text: Some(text), .. } => {
                queued.held = Some(Held::renewed(queued.held.take(), text, now));
            }
            _ => self.gates_open(&mut queued),
        }
        if let Gates::Hold { panicked, .. } = gates {
            if let Some(held) = &queued.held {
                self.notices.insert(held, &key);
            }
            self.unschedulable.insert(&queued.hints, &queued.info, queued.number);
            let alarms = &mut self.unschedulable.alarms;
            match panicked {
                true => alarms.set(queued.number, &key, Some(now + interest::CLOCK_EVERY)),
                false => alarms.compute(&queued, queued.judged_at(now), snapshot, now),
            }
            let interest = Interest::default();
            self.census.add(&queued);
            self.entries.insert(key, Entry { queued, place: Place::Unschedulable, interest });
            return incoming::UNSCHEDULABLE;
        }
        let expiry = self.backoff.expiry(&queued.info).filter(|_| self.backoff.is_waiting(&queued.info, now));
        match expiry {
            Some(expiry) if strategy == RequeueStrategy::AfterBackoff => {
                let failed = queued.info.consecutive_errors > 0 || queued.info.full_backoff;
                let (rank, interest) = (queued.rank(snapshot), queued.sort_interest(snapshot));
                self.backoff.insert(failed, expiry, rank.clone(), key.clone());
                self.enter(key, queued, Place::Backoff { failed, expiry, rank }, interest);
                "backoff"
            }
            _ => {
                queued.info.initial_attempt.get_or_insert(now);
                self.make_active(key, queued, snapshot, now);
                "active"
            }
        }
    }

    /// No gate holds the pod.
    fn gates_open(&mut self, queued: &mut Queued) {
        if queued.held.take().is_some_and(|held| held.is_told()) {
            self.freed.push(queued.info.pod.clone());
        }
    }

    /// PreEnqueue. The plugin that refuses is noted. A panic of one counts as a refusal, and the pod is retried later.
    fn ask_gates(&mut self, queued: &mut Queued, snapshot: &Snapshot, now: Time) -> Gates {
        let framework = queued.hints.framework.clone();
        let mut state = CycleState::default();
        state.rule_times = framework.rule_times(framework.samples());
        let handle = handle(&queued.info, snapshot, now, &state);
        let answer = catch_unwind(AssertUnwindSafe(|| framework.run_pre_enqueue(handle)));
        let policy = |plugin| Symbol::new(framework.plugin_name(plugin));
        let passed_over = state.faults().map(|(plugin, fault)| (policy(plugin), fault.clone()));
        self.failed_gates.extend(passed_over);
        match answer {
            Ok(Ok(())) => {
                queued.info.gating_plugin = None;
                Gates::Open
            }
            Ok(Err(status)) => {
                if let Some(fault) = status.fault() {
                    let policy = Symbol::new(framework.plugin_name(status.plugin));
                    self.failed_gates.push((policy, fault.clone()));
                }
                queued.info.gating_plugin = Some(status.plugin);
                queued.info.unschedulable_plugins.insert(status.plugin);
                let gate = framework.plugin(status.plugin).and_then(|plugin| plugin.pre_enqueue());
                // The API server's own condition of a pod with scheduling gates stays.
                let shows =
                    queued.info.pod.scheduling_gates.is_empty() && gate.is_some_and(|gate| gate.shows());
                Gates::Hold { panicked: false, text: shows.then(|| status.message()) }
            }
            Err(_) => {
                let first = framework.points().pre_enqueue.first().copied();
                queued.info.gating_plugin = first;
                if let Some(first) = first {
                    queued.info.unschedulable_plugins.insert(first);
                }
                Gates::Hold { panicked: true, text: None }
            }
        }
    }

    /// Whether a plugin of any profile waits for one of these actions.
    pub(super) fn wants(&self, resource: EventResource, actions: ActionType) -> bool {
        self.served.want(resource, actions)
    }

    /// Requeues the pods that an event may help. An event that no plugin waits for costs one lookup.
    pub(super) fn move_all(&mut self, event: &ClusterEvent, scope: &Scope, snapshot: &Snapshot, now: Time) {
        if !self.wants(event.resource, event.action) {
            return;
        }
        let since = self.served.reporter().and_then(Framework::mark);
        for key in self.unschedulable.concerned(event) {
            let reached = self.entries.get(&key).is_some_and(|entry| scope.reaches(&entry.queued.info.pod));
            if reached {
                self.ask(&key, event, scope, snapshot, now);
            }
        }
        self.in_flight.note(event, scope);
        if let Some(reporter) = self.served.reporter() {
            reporter.event_ended(event, since);
        }
    }

    /// Evaluates the hints for a waiting pod, and moves the pod if the event may help it.
    fn ask(&mut self, key: &PodKey, event: &ClusterEvent, scope: &Scope, snapshot: &Snapshot, now: Time) {
        let Some(Entry { queued, place: Place::Unschedulable, .. }) = self.entries.get(key) else { return };
        let strategy = scope.limit(queued.hints.strategy(&queued.info, event, snapshot, now));
        if strategy == RequeueStrategy::Skip {
            // It does not help now; it may have moved the instant at which time helps. An instant that has come stays:
            // the next tick tries the pod again.
            let alarms = &mut self.unschedulable.alarms;
            let alarm = alarms.of(queued.number);
            if alarm.map_or_else(|| queued.hints.reads_clock(&queued.info), |at| at > now) {
                alarms.compute(queued, now, snapshot, now);
            }
        }
        if strategy != RequeueStrategy::Skip
            && let Some(mut queued) = self.remove(key)
        {
            queued.info.full_backoff |= scope.after_backoff;
            // More of the room that a preemptor makes for itself is no reason to try it before it has all.
            let is_room = event.resource == EventResource::AssignedPod && event.action == ActionType::DELETE;
            queued.info.helped |= !is_room;
            let queue = self.put(queued, strategy, snapshot, now);
            self.incoming.moved(queue, strategy, &event.label());
        }
    }

    /// Activates a pod regardless of the events it waits for; its gates still hold, and a back-off that is not cut short.
    pub(super) fn activate(&mut self, key: &PodKey, snapshot: &Snapshot, now: Time) {
        let patient = self.entries.get(key).is_some_and(|entry| entry.queued.info.full_backoff);
        let strategy = if patient { RequeueStrategy::AfterBackoff } else { RequeueStrategy::Immediately };
        self.activate_as(strategy, key, snapshot, now);
    }

    /// Like [`SchedulingQueue::activate`], for a pod that completes its back-off before.
    pub(super) fn activate_after_backoff(&mut self, key: &PodKey, snapshot: &Snapshot, now: Time) {
        self.activate_as(RequeueStrategy::AfterBackoff, key, snapshot, now);
    }

    /// Moves an unschedulable pod as an event would that helps it, for another pod of its group: its back-off is not cut
    /// short, or two groups that wake each other would never rest.
    pub(super) fn wake(&mut self, key: &PodKey, snapshot: &Snapshot, now: Time) {
        if self.wait_full_backoff(key) {
            self.activate_after_backoff(key, snapshot, now);
        }
    }

    /// The back-off of an unschedulable pod will not be cut short. Returns whether the pod is one.
    pub(super) fn wait_full_backoff(&mut self, key: &PodKey) -> bool {
        let entry = self.entries.get_mut(key).filter(|entry| matches!(entry.place, Place::Unschedulable));
        let Some(entry) = entry else { return false };
        entry.queued.info.full_backoff = true;
        true
    }

    fn activate_as(&mut self, strategy: RequeueStrategy, key: &PodKey, snapshot: &Snapshot, now: Time) {
        match self.entries.get(key).map(|entry| &entry.place) {
            Some(Place::Active(_)) => {}
            Some(_) => {
                if let Some(queued) = self.remove(key) {
                    let queue = self.put(queued, strategy, snapshot, now);
                    self.incoming.activated(queue, "ForceActivate");
                }
            }
            None if self.in_flight.contains(key) => {
                if let Some(entry) = snapshot.pod(key).filter(|_| strategy == RequeueStrategy::Immediately) {
                    let pod = Some(entry.pod.clone());
                    let event =
                        ClusterEvent::wildcard("ForceActivate", EventObjects::Pod { old: None, new: pod });
                    self.in_flight.note(&event, &Scope::default());
                }
            }
            None => {}
        }
    }

    /// The gate of a pod opened without an event: an event that helped the pod meanwhile still counts. When an event that
    /// wakes it is `still_to_come`, the pod waits for it, unless no plugin but the gate is known to have refused it.
    pub(super) fn gate_opened(&mut self, key: &PodKey, still_to_come: bool, snapshot: &Snapshot, now: Time) {
        let opens = self.entries.get(key).map(|entry| &entry.queued.info).is_some_and(|info| {
            let refused = |gate| info.unschedulable_plugins.iter().any(|id| id != gate);
            info.gating_plugin.is_some_and(|gate| {
                !still_to_come || info.helped || !refused(gate) && info.pending_plugins.is_empty()
            })
        });
        if opens && let Some(queued) = self.remove(key) {
            let queue = self.put(queued, RequeueStrategy::AfterBackoff, snapshot, now);
            self.incoming.activated(queue, "GateOpened");
        }
    }

    /// Moves the pods whose alarm is due.
    fn ring(&mut self, snapshot: &Snapshot, now: Time) {
        while let Some(key) = self.unschedulable.alarms.first_due(now).cloned() {
            let Some(queued) = self.remove(&key) else { break };
            let queue = self.put(queued, RequeueStrategy::AfterBackoff, snapshot, now);
            self.incoming.activated(queue, "Clock");
        }
    }

    /// Moves pods that have completed their back-off, and requeues pods that have waited longer than the limit.
    pub(super) fn tick(&mut self, snapshot: &Snapshot, now: Time) {
        while let Some(key) = self.backoff.first_over(now).cloned() {
            let Some(mut queued) = self.remove(&key) else { break };
            queued.info.gating_plugin = None;
            queued.info.initial_attempt.get_or_insert(now);
            self.make_active(key, queued, snapshot, now);
            self.incoming.count("active", "BackoffComplete");
        }
        self.ring(snapshot, now);
        while let Some((key, since)) = self.unschedulable.alarms.next_postponed(now) {
            let Some(entry) = self.entries.get(&key) else { break };
            self.unschedulable.alarms.compute(&entry.queued, since, snapshot, now);
        }
        self.ring(snapshot, now);
        let Some(longest) = self.longest_wait else { return };
        if now < self.next_flush {
            return;
        }
        self.next_flush = Time((now.0.div_euclid(FLUSH_EVERY.0) + 1) * FLUSH_EVERY.0);
        let event = ClusterEvent::wildcard("UnschedulableTimeout", EventObjects::None);
        for key in self.unschedulable.concerned(&event) {
            let waits_long =
                self.entries.get(&key).is_some_and(|entry| now - entry.queued.info.timestamp > longest);
            if waits_long {
                if let Some(entry) = self.entries.get_mut(&key) {
                    entry.queued.info.flushed = true;
                }
                self.ask(&key, &event, &Scope::default(), snapshot, now);
            }
        }
    }

    /// The wall clock was stepped: the next [`SchedulingQueue::tick`] tries the pods again that a reader of the
    /// clock refused.
    pub(super) fn wall_clock_stepped(&mut self, now: Time) {
        self.unschedulable.ring_readers_of_the_clock(now);
    }

    /// A pod that a gate has held long enough, with the text of the gate.
    pub(super) fn next_held(&mut self, now: Time) -> Option<(Arc<PodInfo>, String)> {
        while let Some(key) = self.notices.pop(now) {
            let Some(Entry { queued, .. }) = self.entries.get_mut(&key) else { continue };
            let Some(held) = &mut queued.held else { continue };
            let gate = queued.info.gating_plugin.map(|gate| queued.hints.framework.plugin_name(gate));
            let budget = self.notices.budget(&Symbol::new(gate.unwrap_or_default()));
            if !held.has_turn(budget, now) {
                self.notices.insert(held, &key);
                continue;
            }
            let text = held.told(now);
            queued.says_held = true;
            return Some((queued.info.pod.clone(), text));
        }
        None
    }

    /// Takes the pods that no gate holds since the last call, of those that [`SchedulingQueue::next_held`] gave out.
    pub(super) fn take_freed(&mut self) -> Vec<Arc<PodInfo>> {
        std::mem::take(&mut self.freed)
    }

    /// Takes the faults of rules at PreEnqueue since the last call, each with its plugin.
    pub(super) fn take_failed_gates(&mut self) -> Vec<(Symbol, Arc<RuleFault>)> {
        std::mem::take(&mut self.failed_gates)
    }

    /// When [`SchedulingQueue::next_held`] has the next pod.
    pub(super) fn next_notice(&self) -> Option<Time> {
        self.notices.next()
    }

    /// When the next [`SchedulingQueue::tick`] may do something.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        let flush = self.longest_wait.filter(|_| self.unschedulable.any_flushed()).map(|_| self.next_flush);
        [self.backoff.next_wakeup(), flush, self.unschedulable.alarms.next_wakeup()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Replaces the plugins of profiles: `served` has those of each profile. A pod without a profile is dropped. Pods
    /// whose rejecting plugins are unchanged, and for which no more pods may be evicted, keep waiting, with the new
    /// plugins' ids; all others are retried.
    pub(super) fn replace_judges(&mut self, served: &[Arc<ProfileHints>], snapshot: &Snapshot, now: Time) {
        self.served = Served::default();
        served.iter().for_each(|hints| self.served.include(hints));
        let hints = |pod: &PodInfo| {
            let named = |hints: &&Arc<ProfileHints>| hints.framework.scheduler_name == pod.scheduler_name;
            served.iter().find(named).cloned()
        };
        let mut keys: Vec<(u64, PodKey)> =
            self.entries.iter().map(|(key, entry)| (entry.queued.number, key.clone())).collect();
        keys.sort();
        for (_, key) in keys {
            let Some(entry) = self.entries.get(&key) else { continue };
            let waits = matches!(entry.place, Place::Unschedulable);
            let successor = hints(&entry.queued.info.pod);
            if successor.as_ref().is_some_and(|hints| Arc::ptr_eq(hints, &entry.queued.hints)) {
                continue;
            }
            let Some(mut queued) = self.remove(&key) else { continue };
            let Some(hints) = successor else {
                self.gates_open(&mut queued);
                continue;
            };
            let before = queued.hints.clone();
            let same = queued.rename(hints) && queued.info.gating_plugin.is_none();
            let strategy = match (waits, same && !queued.may_evict_more(&before, snapshot, now)) {
                (true, true) => RequeueStrategy::Skip,
                _ => RequeueStrategy::AfterBackoff,
            };
            let queue = self.put(queued, strategy, snapshot, now);
            if waits {
                self.incoming.activated(queue, "ProfileReplaced");
            }
        }
    }

    /// The queue that a pod is in; `None` when it is not queued.
    pub(super) fn place(&self, pod: &PodKey) -> Option<QueuePlace> {
        let entry = self.entries.get(pod)?;
        Some(match entry.place {
            Place::Active(_) => QueuePlace::Active,
            Place::Backoff { .. } => QueuePlace::Backoff,
            Place::Unschedulable if entry.queued.info.gating_plugin.is_some() => QueuePlace::Gated,
            Place::Unschedulable => QueuePlace::Unschedulable,
        })
    }

    /// Whether a PreEnqueue plugin keeps the pod out.
    pub(super) fn is_gated(&self, pod: &PodKey) -> bool {
        self.place(pod) == Some(QueuePlace::Gated)
    }

    /// The record of a queued pod.
    pub(super) fn get(&self, pod: &PodKey) -> Option<&QueuedPodInfo> {
        self.entries.get(pod).map(|entry| &entry.queued.info)
    }

    /// The instant at which time alone may help an unschedulable pod.
    pub(super) fn alarm(&self, pod: &PodKey) -> Option<Time> {
        self.unschedulable.alarms.of(self.entries.get(pod)?.queued.number)
    }

    /// The name of the PreEnqueue plugin that keeps a pod out.
    pub(super) fn gate(&self, pod: &PodKey) -> Option<&str> {
        let queued = &self.entries.get(pod)?.queued;
        queued.info.gating_plugin.map(|gate| queued.hints.framework.plugin_name(gate))
    }

    /// How many pods are active, in back-off, unschedulable and gated.
    pub(super) fn counts(&self) -> [usize; 4] {
        let (unschedulable, gated) = self.unschedulable.counts();
        [self.active.len(), self.backoff.len(), unschedulable, gated]
    }

    /// How long a pod has waited at most, of those that are active (since they became so), in back-off and unschedulable
    /// (since they came). Looks at every pod, so that none costs anything as it moves.
    pub(super) fn longest_waits(&self, now: Time) -> [Duration; 3] {
        let mut since = [now; 3];
        for entry in self.entries.values().filter(|entry| entry.queued.info.gating_plugin.is_none()) {
            let (queue, from) = match entry.place {
                Place::Active(_) => (0, entry.queued.ready),
                Place::Backoff { .. } => (1, entry.queued.info.added),
                Place::Unschedulable => (2, entry.queued.info.added),
            };
            since[queue] = since[queue].min(from);
        }
        since.map(|since| now - since)
    }

    /// The number of pods that entered each queue (active, backoff, unschedulable), by event.
    pub(super) fn incoming(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.incoming.pods()
    }

    /// The number of entities that entered each queue, by event, as 1.37 counts them.
    pub(super) fn incoming_entities(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.incoming.entities()
    }

    /// The number of queued pods that each plugin refused in their last attempt: profile, plugin, count.
    pub(super) fn refused(&self) -> BTreeMap<(String, String), usize> {
        let mut refused = BTreeMap::new();
        for (cause, count) in self.causes() {
            let framework = &cause.hints.framework;
            for plugin in cause.refused_by.iter() {
                let labels = (framework.scheduler_name.to_string(), framework.plugin_name(plugin).to_owned());
                *refused.entry(labels).or_default() += count;
            }
        }
        refused
    }

    /// What keeps the queued pods waiting, each with the number of pods, in no particular order.
    pub(super) fn causes(&self) -> impl Iterator<Item = (&Cause, usize)> {
        self.census.iter()
    }

    /// The number of events kept for pods in flight.
    pub(super) fn in_flight_events(&self) -> usize {
        self.in_flight.events()
    }

    /// The number of events kept for pods in flight by label, and the number of these pods as `PodPopped`.
    pub(super) fn in_flight_by_label(&self) -> BTreeMap<String, usize> {
        self.in_flight.by_label()
    }

    /// Every queued pod, by number of arrival; for checks.
    pub(super) fn all(&self) -> Vec<PodKey> {
        let mut all: Vec<(u64, &PodKey)> = self.entries.iter().map(|(k, e)| (e.queued.number, k)).collect();
        all.sort();
        debug_assert_eq!(self.unschedulable.all().len(), {
            let (waiting, gated) = self.unschedulable.counts();
            waiting + gated
        });
        debug_assert!(self.census.is(&Census::of(self.entries.values().map(|entry| &entry.queued))));
        all.into_iter().map(|(_, key)| key.clone()).collect()
    }
}
