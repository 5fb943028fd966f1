//! [`Scheduler`]: the state machine, with its parts and the inputs that it takes.

use crate::after_binds::AfterBinds;
use crate::attempt::Attempt;
use crate::bindings::Bindings;
use crate::by_rule::ByRule;
use crate::cache::Cache;
use crate::calls::{Outbox, Owner};
use crate::evictions::Evictions;
use crate::mark_judge::MarkJudge;
use crate::note::note;
use crate::queue::{ProfileHints, SchedulingQueue, Scope};
use crate::readiness::Readiness;
use crate::refusal::EndedBy;
use crate::surroundings::Surroundings;
use crate::{Effect, Input, Options, PodState, Profiles};
use bayplan_engine::Decider;
use bayplan_framework::{Act, Acting, AttemptResult, ClusterEvent, EventRecord, Framework, Status, Ticket};
use bayplan_model::{
    Duration, Generation, Index, IndexKey, Moves, ObjectKey, PodInfo, PodKey, Snapshot, Symbol, Time,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// The scheduler as a state machine.
pub struct Scheduler {
    pub(crate) options: Options,
    pub(crate) cache: Cache,
    pub(crate) queue: SchedulingQueue,
    pub(crate) bindings: Bindings,
    pub(crate) evictions: Evictions,
    /// What plugins still have to write for bound pods.
    pub(crate) after_binds: AfterBinds,
    /// Which marks on bound pods count.
    pub(crate) mark_judge: MarkJudge,
    pub(crate) outbox: Outbox,
    pub(crate) profiles: Arc<Profiles>,
    pub(crate) hints: Vec<Arc<ProfileHints>>,
    pub(crate) decider: Box<dyn Decider>,
    pub(crate) readiness: Readiness,
    /// The generation of the cluster at which waiting pods were last re-evaluated.
    pub(crate) reconsidered: Generation,
    /// What each rule of a policy did.
    pub(crate) by_rule: ByRule,
    /// What others do to the decisions.
    pub(crate) surroundings: Surroundings,
    /// Work that remains before the step ends.
    pub(crate) deferred: VecDeque<Deferred>,
    /// The attempt that waits for extenders, or for the calls of a PostFilter plugin.
    pub(crate) suspended: Option<Box<Attempt>>,
    pub(crate) now: Time,
}

impl Clone for Scheduler {
    /// A fork that continues independently. The decider's scratch memory is made anew; the position of sampling is kept.
    fn clone(&self) -> Self {
        Self {
            options: self.options.clone(),
            cache: self.cache.clone(),
            queue: self.queue.clone(),
            bindings: self.bindings.clone(),
            evictions: self.evictions.clone(),
            after_binds: self.after_binds.clone(),
            mark_judge: self.mark_judge.clone(),
            outbox: self.outbox.clone(),
            profiles: self.profiles.clone(),
            hints: self.hints.clone(),
            decider: self.fresh_decider(),
            readiness: self.readiness,
            reconsidered: self.reconsidered,
            by_rule: self.by_rule.clone(),
            surroundings: self.surroundings.clone(),
            deferred: self.deferred.clone(),
            suspended: self.suspended.clone(),
            now: self.now,
        }
    }
}

impl Scheduler {
    /// A scheduler that knows nothing yet, does not lead, and serves no profile.
    pub fn new(options: Options) -> Self {
        let queue = SchedulingQueue::new(options.initial_backoff, options.max_backoff, options.longest_wait);
        let decider = options.decider.make();
        Self {
            options,
            cache: Cache::default(),
            queue,
            bindings: Bindings::default(),
            evictions: Evictions::default(),
            after_binds: AfterBinds::default(),
            mark_judge: MarkJudge::default(),
            outbox: Outbox::default(),
            profiles: Arc::default(),
            hints: Vec::new(),
            decider,
            readiness: Readiness::default(),
            reconsidered: Generation::default(),
            by_rule: ByRule::default(),
            surroundings: Surroundings::default(),
            deferred: VecDeque::new(),
            suspended: None,
            now: Time(i64::MIN),
        }
    }

    /// Handles one input and pushes the effects to `out`.
    pub fn step(&mut self, input: Input, now: Time, out: &mut Vec<Effect>) {
        let now = now.max(self.now);
        self.now = now;
        self.expire(now);
        match input {
            Input::Upserted(object) => self.upserted(object, now),
            Input::Deleted(key) => self.deleted(&key, now),
            Input::Relisted(kind, all) => self.relisted(&kind, all, now),
            Input::NotServed(kind) => self.not_served(&kind, now),
            Input::Metrics(readings) => self.metrics_polled(readings, now),
            Input::Synced => self.readiness.synced = true,
            Input::Stale(stale) => self.readiness.stale = stale,
            Input::WallClock(offset) => self.wall_clock_stepped(offset, now, out),
            Input::Lead(leading) => {
                self.readiness.leading = leading;
                if !leading {
                    self.give_up_suspended(now);
                    self.abandon_evictions(now);
                    self.marks_abandoned(now);
                }
            }
            Input::MarkKey(key) => {
                self.options.mark_keys.share(key);
                self.marks_anew(now);
            }
            Input::Profiles(profiles) => self.replace_profiles(profiles, now, out),
            Input::Reply(ticket, answer) if self.suspends(ticket) => {
                self.extender_answered(ticket, answer, now, out);
            }
            Input::Reply(ticket, answer) => {
                let sent = self.outbox.sent(ticket).cloned();
                match self.outbox.answered(ticket, &answer, now) {
                    Owner::Binding(pod) => {
                        self.write_of_a_binding(&pod, sent.as_ref(), &answer, now);
                        self.binding_answered(&pod, ticket, answer, now, out);
                    }
                    Owner::Eviction(preemptor) => {
                        self.eviction_answered(&preemptor, ticket, &answer, now, out);
                    }
                    Owner::Mark(pod, plugin) => {
                        self.mark_answered(&(pod, plugin), ticket, answer, now, out);
                    }
                    Owner::Ended(pod) => self.end_read(&pod, answer, now),
                    Owner::PostFilter => self.post_filter_call_answered(ticket, answer, now, out),
                    Owner::Patch(_) | Owner::Nobody => {}
                }
            }
            Input::Cycle => {
                if self.wants_cycle() {
                    self.attempt(now, out);
                }
            }
            Input::Tick => {}
        }
        self.queue.tick(&self.cache.snapshot, now);
        self.look_at_suspended(now, out);
        self.finish_step(now, out);
        self.show_gates(now, out);
        self.count_failed_gates();
        self.work_marks_off(now, out);
        self.send(now, out);
    }

    /// Ends what indexes keep for a time, and tells the pods that wait for it.
    fn expire(&mut self, now: Time) {
        let moved = self.cache.snapshot.expire(now);
        if !moved.is_empty() {
            self.move_all(&ClusterEvent::of_values(moved), &Scope::default(), now);
        }
    }

    /// The wall clock was stepped: whatever reads it is evaluated again.
    fn wall_clock_stepped(&mut self, offset: Duration, now: Time, out: &mut Vec<Effect>) {
        self.cache.snapshot.set_wall_offset(offset);
        self.expire(now);
        self.queue.wall_clock_stepped(now);
        self.clock_waits_again(now, out);
    }

    /// Carries out the consequences of an input until no work is left.
    fn finish_step(&mut self, now: Time, out: &mut Vec<Effect>) {
        loop {
            while let Some(deferred) = self.deferred.pop_front() {
                match deferred {
                    Deferred::Allow(pod, by) => self.allow_waiting(&pod, &by, now, out),
                    Deferred::Reject(pod, by, why, ended) => {
                        self.reject_waiting(&pod, &by, why, ended, now, out);
                    }
                    Deferred::Event(event) => self.event(*event, out),
                    Deferred::Settled(pod) => self.binding_settled(&pod, now, out),
                    Deferred::Changed(pod, object) => self.tasks_see(&pod, &object, now, out),
                }
            }
            let moved = self.reconsider_waiting(now, out) || !self.deferred.is_empty();
            if !moved && !self.ring_alarm(now, out) {
                return;
            }
        }
    }

    /// The instant by which the next `Tick` is needed. Calls that wait for the end of a pause need none while this
    /// instance does not lead: it would not send them.
    pub fn next_wakeup(&self) -> Option<Time> {
        let calls = self.outbox.next_wakeup().filter(|_| self.readiness.leading);
        let notices = self.queue.next_notice().filter(|_| self.readiness.leading);
        let suspended = self.suspended.as_ref().and_then(|attempt| attempt.alarm());
        let ends = self.cache.snapshot.next_end();
        let marks = self.next_mark().filter(|_| self.readiness.is_ready());
        [self.queue.next_wakeup(), self.bindings.next_alarm(), calls, notices, suspended, ends, marks]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether a `Cycle` would do something: synced and up to date, leading, a pod to try, no attempt that waits for
    /// extenders, room in the window of open binds.
    pub fn wants_cycle(&self) -> bool {
        self.readiness.is_ready()
            && self.suspended.is_none()
            && self.bindings.binds_open() < self.options.window
            && self.queue.has_work()
    }

    /// Whether the suspended attempt waits for this answer.
    fn suspends(&self, ticket: Ticket) -> bool {
        self.suspended.as_ref().is_some_and(|attempt| attempt.waits_for(ticket))
    }

    /// The cluster as the scheduler knows it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.cache.snapshot
    }

    /// Writes an index that plugins fill while pods are scheduled, before the first pod enters the queue.
    pub fn fill<T: Index>(&mut self, key: &IndexKey, fill: impl FnOnce(&mut T, &mut Moves)) {
        let _moved = self.cache.snapshot.write_index(key, fill);
    }

    /// A fork of the cluster, to try changes on.
    pub fn fork(&self) -> Snapshot {
        self.cache.snapshot.fork()
    }

    /// The profiles in service.
    pub fn profiles(&self) -> &Arc<Profiles> {
        &self.profiles
    }

    /// A new decider without scratch memory that continues sampling at the same node.
    pub(crate) fn fresh_decider(&self) -> Box<dyn Decider> {
        let mut decider = self.options.decider.make();
        decider.set_next_start(self.decider.next_start());
        decider
    }

    pub(crate) fn hints_of(&self, pod: &PodInfo) -> Option<Arc<ProfileHints>> {
        self.hints.iter().find(|hints| hints.framework.scheduler_name == pod.scheduler_name).cloned()
    }

    /// Sends waiting calls and events. While this instance does not lead, only the events of bindings that were
    /// answered, which the next leader cannot report. It does report failures: it tries the pod again.
    fn send(&mut self, now: Time, out: &mut Vec<Effect>) {
        if !self.readiness.leading {
            out.retain(|effect| match effect {
                Effect::Decided(_) => true,
                Effect::Event(event) => event.result == Some(AttemptResult::Scheduled),
                Effect::Call(..) => false,
            });
            return;
        }
        let cache = &self.cache;
        let pod = |key: &PodKey| {
            let bound = cache.state(key).is_none_or(PodState::is_bound);
            cache.pod(key).filter(|_| !bound).map(|pod| &**pod)
        };
        self.outbox.flush(now, pod, out);
    }

    /// Runs plugins that may act. Their actions on other pods are carried out before the step ends. Their calls belong
    /// to `owner`; returns the tickets of these calls.
    pub(crate) fn acting<T>(
        &mut self,
        now: Time,
        owner: &Owner,
        framework: &Framework,
        work: impl FnOnce(&mut Acting<'_>) -> T,
    ) -> (T, Vec<Ticket>) {
        let mut acts = Vec::new();
        let done = work(&mut Acting {
            snapshot: &mut self.cache.snapshot,
            now,
            acts: &mut acts,
            next_ticket: self.outbox.next_ticket(),
        });
        let mut called = Vec::new();
        for act in acts {
            match act {
                Act::Call(ticket, call) => {
                    self.outbox.call(ticket, call, owner.clone());
                    called.push(ticket);
                }
                Act::Activate(pod) => self.queue.activate(&pod, &self.cache.snapshot, now),
                Act::Moved(numbers) => {
                    self.move_all(&ClusterEvent::of_values(numbers), &Scope::default(), now);
                }
                Act::MovedByFailure(numbers) => {
                    let scope = Scope { after_backoff: true, ..Scope::default() };
                    self.move_all(&ClusterEvent::of_values(numbers), &scope, now);
                }
                Act::Wake(pod) => self.queue.wake(&pod, &self.cache.snapshot, now),
                Act::Event(key, event) => {
                    let record = EventRecord {
                        pod: event.of,
                        related: None,
                        key,
                        scheduler: framework.scheduler_name.clone(),
                        kind: event.kind,
                        reason: event.reason.to_string().into(),
                        action: event.action,
                        note: note(&event.note),
                        result: None,
                        at: now,
                    };
                    self.deferred.push_back(Deferred::Event(Box::new(record)));
                }
                Act::Counted(what) => framework.counted(&what),
                Act::Allow(pod, plugin) => {
                    let by = Symbol::new(framework.plugin_name(plugin));
                    self.deferred.push_back(Deferred::Allow(pod, by));
                }
                Act::Reject(pod, why) => {
                    let by = Symbol::new(framework.plugin_name(why.plugin));
                    self.deferred.push_back(Deferred::Reject(pod, by, why, EndedBy::Group));
                }
                Act::Release(pod, why) => {
                    let by = Symbol::new(framework.plugin_name(why.plugin));
                    self.deferred.push_back(Deferred::Reject(pod, by, why, EndedBy::Release));
                }
            }
        }
        (done, called)
    }

    pub(crate) fn move_all(&mut self, event: &ClusterEvent, scope: &Scope, now: Time) {
        self.queue.move_all(event, scope, &self.cache.snapshot, now);
    }

    pub(crate) fn event(&self, event: EventRecord, out: &mut Vec<Effect>) {
        let at = self.cache.snapshot.wall_clock(event.at);
        out.push(Effect::Event(EventRecord { at, ..event }));
    }
}

/// Work that remains before a step ends.
#[derive(Clone, Debug)]
pub(crate) enum Deferred {
    /// This plugin allows a waiting pod.
    Allow(PodKey, Symbol),
    /// This plugin refuses a waiting pod.
    Reject(PodKey, Symbol, Status, EndedBy),
    /// A plugin records an event.
    Event(Box<EventRecord>),
    /// The pod of a binding is gone, or was seen on a node.
    Settled(PodKey),
    /// An object changed that a binding waits for.
    Changed(PodKey, ObjectKey),
}
