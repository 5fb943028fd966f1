//! [`Run`]: the machine on a cluster in memory, from the first pod to the report.

use crate::remembered;
use crate::{Api, ClaimController, DisruptionController, VolumeController, WatchEvent, World, Writes};
use bayplan_engine::TieBreak;
use bayplan_framework::{EventRecord, Would, WouldEffect};
use bayplan_model::{Duration, Kind, Object, ObjectKey, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan_scheduler::memory::key_of;
use bayplan_scheduler::{
    self as scheduler, BindingView, DeciderKind, DecisionRecord, Effect, Input, Profiles, QueuePlace,
    RecordLevel, Scheduler, Stage,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The order in which pending pods are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As the profile's QueueSort says.
    #[default]
    Queue,
    /// The order of the files.
    Given,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The order in which pending pods are tried.
    pub order: Order,
    /// How to choose among equal nodes.
    pub tie_break: TieBreak,
    /// Seeds the choice among equal nodes.
    pub seed: u64,
    /// How much each decision records.
    pub records: RecordLevel,
    /// The only pod whose decisions record that much; `None` means all pods.
    pub recorded_pod: Option<PodKey>,
    /// Which decider evaluates the nodes.
    pub decider: DeciderKind,
    /// The instant at which the run begins and pods enter the queue.
    pub start: Time,
    /// How far the clock may advance.
    pub longest: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::default(),
            tie_break: TieBreak::default(),
            seed: 0,
            records: RecordLevel::Nodes,
            recorded_pod: None,
            decider: DeciderKind::default(),
            start: Time(0),
            longest: Duration::from_seconds(3_600),
        }
    }
}

/// The state of a pod at the end.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// Bound to this node.
    Bound(Symbol),
    /// Unschedulable: waits for an event that may help.
    Waiting {
        /// kube-scheduler's message of the last attempt.
        message: String,
    },
    /// A plugin keeps it out of the queue.
    Gated {
        /// The plugin.
        by: Symbol,
    },
    /// Its attempts fail with an error.
    Failing {
        /// The error.
        message: String,
    },
    /// It has a node and is not bound yet: the clock stopped.
    AtPermit {
        /// The node.
        node: Symbol,
        /// The plugins it waits for.
        plugins: Vec<Symbol>,
    },
    /// No profile serves its `schedulerName`.
    NotOurs,
    /// It is being deleted, so it is not scheduled; or it had a node, and was evicted to make room for another pod.
    Terminating,
}

/// A pod that waited at Permit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waited {
    /// The node it was assigned.
    pub node: Symbol,
    /// The plugins it waited for, each with its deadline.
    pub plugins: Vec<(Symbol, Time)>,
}

/// The result for a pod.
#[derive(Clone, Debug)]
pub struct PodReport {
    /// The pod as given, with the names of the claims that were made for it.
    pub pod: Arc<PodInfo>,
    /// Its state at the end.
    pub standing: Standing,
    /// Its decisions, oldest first.
    pub decisions: Vec<DecisionRecord>,
    /// Its events, oldest first.
    pub events: Vec<EventRecord>,
    /// How it waited at Permit before the clock advanced.
    pub waited: Option<Waited>,
}

impl PodReport {
    /// What rules that do not decide would have done to it: to its last attempt, and to the evictions of an earlier one.
    pub fn would(&self) -> Vec<Would> {
        let Some((last, before)) = self.decisions.split_last() else { return Vec::new() };
        let mut all = last.would.clone();
        let evicts = |would: &&Would| matches!(would.effect, WouldEffect::Spares | WouldEffect::Evicts);
        for earlier in before.iter().flat_map(|record| &record.would).filter(evicts) {
            let same = |of: &&mut Would| (&of.policy, &of.rule) == (&earlier.policy, &earlier.rule);
            match all.iter_mut().find(same) {
                Some(of) => of.effect = of.effect.max(earlier.effect),
                None => all.push(earlier.clone()),
            }
        }
        all
    }
}

/// The result of a dry run.
pub struct Report {
    /// Pending pods, in the order they were given.
    pub pods: Vec<PodReport>,
    /// The order of first attempts, as indexes into `pods`.
    pub tried: Vec<usize>,
    /// How far the clock advanced.
    pub elapsed: Duration,
    /// Whether the run stopped while pods were still retried.
    pub stopped: bool,
    /// What policies wrote into objects.
    pub writes: Writes,
    /// The scheduler at the end.
    pub scheduler: Scheduler,
    /// The API server at the end.
    pub server: Api,
}

impl Report {
    /// The cluster at the end: pods that were bound have their node. `begin`: as the run found it.
    pub fn world(&self, begin: &World) -> World {
        let known: FxHashSet<ObjectKey> =
            begin.objects.iter().map(|object| unversioned(object.key())).collect();
        let kept = begin.objects.iter().filter_map(|object| self.server.get(&object.key()).cloned());
        let pending =
            begin.pending.iter().filter_map(|pod| self.server.pod(&pod.namespace, &pod.name).cloned());
        let pending: Vec<Object> = pending.map(Object::Pod).collect();
        let came = self.server.objects().filter(|object| object.kind() != Kind::Pod);
        let came = came.filter(|object| !known.contains(&unversioned(object.key()))).cloned();
        let world: World = kept.chain(pending).chain(came).collect();
        World { assumed: begin.assumed.clone(), metrics: begin.metrics.clone(), ..world }
    }
}

/// A key without the UID, which the server gives where none was given.
pub(crate) fn unversioned(key: ObjectKey) -> ObjectKey {
    ObjectKey { uid: Symbol::default(), ..key }
}

/// Observes a dry run: each decision, with the cluster before it.
pub trait Watcher {
    /// Whether it wants to see the attempt on the pod that is tried next; each one costs a fork of the cluster.
    fn wants(&self, next: Option<&PodKey>) -> bool {
        let _ = next;
        true
    }
    /// The scheduler knows the objects of the cluster, and no pod is in its queue: what it learns only by running may be
    /// filled in.
    fn ready(&mut self, scheduler: &mut Scheduler, now: Time) {
        let _ = (scheduler, now);
    }
    /// An attempt ended with this decision; `before` is the cluster when it began.
    fn decided(&mut self, before: Snapshot, record: &DecisionRecord);
    /// An input and its effects were handled.
    fn handled(&mut self, scheduler: &Scheduler, now: Time);
}

/// Schedules the pending pods of a cluster.
pub fn run(world: &World, profiles: Arc<Profiles>, options: &Options) -> Report {
    run_watched(world, profiles, options, None)
}

/// Schedules the pending pods of a cluster; the observer sees every decision and every input.
pub fn run_watched(
    world: &World,
    profiles: Arc<Profiles>,
    options: &Options,
    watcher: Option<&mut dyn Watcher>,
) -> Report {
    let mut run = Run::new(world, profiles, options, watcher);
    let (remembered, new) = run.recall(world);
    match options.order {
        Order::Queue => {
            for pod in new {
                run.server.put(bayplan_model::Object::Pod(pod.clone()));
            }
            run.watch();
            run.settle();
        }
        Order::Given => {
            run.settle();
            for pod in new {
                run.server.put(bayplan_model::Object::Pod(pod.clone()));
                run.watch();
                run.settle();
            }
        }
    }
    run.try_last(&remembered);
    run.note_waiting();
    run.let_time_pass();
    run.report(world)
}

/// A dry run under way.
pub(crate) struct Run<'w> {
    watcher: Option<&'w mut dyn Watcher>,
    scheduler: Scheduler,
    server: Api,
    volumes: VolumeController,
    claims: ClaimController,
    budgets: DisruptionController,
    /// How much of the server's log the scheduler has received.
    seen: usize,
    now: Time,
    options: Options,
    decisions: FxHashMap<PodKey, Vec<DecisionRecord>>,
    events: FxHashMap<PodKey, Vec<EventRecord>>,
    waited: FxHashMap<PodKey, Waited>,
    writes: Writes,
    tried: Vec<PodKey>,
    /// Attempts left: pods could evict each other for ever.
    attempts_left: usize,
    stopped: bool,
}

impl<'w> Run<'w> {
    fn new(
        world: &World,
        profiles: Arc<Profiles>,
        options: &Options,
        watcher: Option<&'w mut dyn Watcher>,
    ) -> Self {
        let scheduler = Scheduler::new(scheduler::Options {
            longest_wait: None,
            window: usize::MAX,
            seed: options.seed,
            tie_break: options.tie_break,
            records: options.records,
            recorded_pod: options.recorded_pod.clone(),
            decider: options.decider,
            ..scheduler::Options::default()
        });
        let mut run = Self {
            watcher,
            scheduler,
            server: Api::new(),
            volumes: VolumeController::default(),
            claims: ClaimController::default(),
            budgets: DisruptionController::default(),
            seen: 0,
            now: options.start,
            options: options.clone(),
            decisions: FxHashMap::default(),
            events: FxHashMap::default(),
            waited: FxHashMap::default(),
            writes: Writes::default(),
            tried: Vec::new(),
            attempts_left: world.pending.len() * 20 + 100,
            stopped: false,
        };
        run.step(Input::Profiles(profiles));
        run.step(Input::Lead(true));
        for object in &world.objects {
            run.server.put(object.clone());
        }
        run.watch();
        if !world.metrics.is_empty() {
            run.step(Input::Metrics(world.metrics_at(options.start).into()));
        }
        run.step(Input::Synced);
        if let Some(memory) = &world.memory {
            remembered::fill_memos(memory, &mut run.scheduler, run.now);
        }
        if let Some(watcher) = &mut run.watcher {
            watcher.ready(&mut run.scheduler, run.now);
        }
        run
    }

    /// Queues the pods that a scheduler remembered as it had them; returns them, and the others.
    fn recall(&mut self, world: &World) -> (Vec<PodKey>, Vec<Arc<PodInfo>>) {
        let Some(memory) = &world.memory else { return (Vec::new(), world.pending.clone()) };
        let queued: FxHashSet<PodKey> = memory.queue.iter().map(|of| key_of(&of.uid, &of.pod)).collect();
        let known = |pod: &&Arc<PodInfo>| queued.contains(&pod.key);
        let (known, new): (Vec<_>, Vec<_>) = world.pending.iter().partition(known);
        for pod in &known {
            self.server.put(Object::Pod((*pod).clone()));
        }
        self.watch();
        self.scheduler.recall(memory, self.now);
        (known.into_iter().map(|pod| pod.key.clone()).collect(), new.into_iter().cloned().collect())
    }

    /// Tries the pods that waited for an event which did not come, as a scheduler does in the end, so that the report says
    /// why each waits.
    fn try_last(&mut self, remembered: &[PodKey]) {
        for key in remembered {
            let waits = matches!(
                self.scheduler.queue_place(key),
                Some(QueuePlace::Unschedulable | QueuePlace::Backoff)
            );
            if waits && !self.decisions.contains_key(key) && !self.stopped {
                self.scheduler.retry(key, self.now);
                self.settle();
            }
        }
    }

    /// Handles one input and everything that the server answers.
    fn step(&mut self, input: Input) {
        let mut inputs = std::collections::VecDeque::from([input]);
        let mut effects = Vec::new();
        while let Some(input) = inputs.pop_front() {
            let watched = matches!(input, Input::Cycle)
                && self.watcher.as_ref().is_some_and(|watcher| watcher.wants(self.scheduler.next_pod()));
            let mut before = watched.then(|| self.scheduler.fork());
            self.scheduler.step(input, self.now, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Call(ticket, call) => {
                        let answer = self.server.answer(&call, self.now, None);
                        if answer.is_ok() {
                            self.writes.note(&call);
                        }
                        inputs.push_back(Input::Reply(ticket, answer));
                    }
                    Effect::Event(event) => self.events.entry(event.key.clone()).or_default().push(event),
                    Effect::Decided(record) => {
                        if let (Some(watcher), Some(before)) = (&mut self.watcher, before.take()) {
                            watcher.decided(before, &record);
                        }
                        if !self.decisions.contains_key(&record.key) {
                            self.tried.push(record.key.clone());
                        }
                        self.decisions.entry(record.key.clone()).or_default().push(*record);
                    }
                }
            }
            if let Some(watcher) = &mut self.watcher {
                watcher.handled(&self.scheduler, self.now);
            }
            inputs.extend(self.unseen());
        }
    }

    /// What happened at the server, after its controllers have acted.
    fn unseen(&mut self) -> Vec<Input> {
        self.claims.act(&mut self.server);
        self.volumes.act(&mut self.server);
        self.budgets.act(&mut self.server);
        let news = self.server.log().get(self.seen..).unwrap_or_default().iter();
        let inputs = news.map(|(_, event)| match event {
            WatchEvent::Upserted(object) => Input::Upserted(object.clone()),
            WatchEvent::Deleted(key) => Input::Deleted(key.clone()),
        });
        let inputs = inputs.collect();
        self.seen = self.server.log().len();
        inputs
    }

    /// Delivers the server's changes to the scheduler.
    fn watch(&mut self) {
        for input in self.unseen() {
            self.step(input);
        }
    }

    /// Runs attempts until only time can change anything.
    fn settle(&mut self) {
        loop {
            while self.scheduler.wants_cycle() {
                if self.attempts_left == 0 {
                    self.stopped = true;
                    return;
                }
                self.attempts_left -= 1;
                self.step(Input::Cycle);
            }
            // Evicted pods end only now: the others chose their nodes beside them.
            if !self.server.end_terminating() {
                return;
            }
            self.watch();
        }
    }

    fn note_waiting(&mut self) {
        for binding in self.scheduler.bindings() {
            if let Stage::Permit(plugins) = binding.stage {
                self.waited.insert(binding.pod, Waited { node: binding.node, plugins });
            }
        }
    }

    /// Advances the clock while pods have a node and are not bound.
    fn let_time_pass(&mut self) {
        while !self.stopped && !self.scheduler.bindings().is_empty() {
            let Some(next) = self.scheduler.next_wakeup() else { return };
            if next - self.options.start > self.options.longest {
                self.stopped = true;
                return;
            }
            self.now = self.now.max(next);
            self.step(Input::Tick);
            self.settle();
        }
    }

    fn report(mut self, world: &World) -> Report {
        let bindings = self.scheduler.bindings().into_iter().map(|binding| (binding.pod.clone(), binding));
        let mut bindings: FxHashMap<PodKey, BindingView> = bindings.collect();
        let pods: Vec<PodReport> =
            world.pending.iter().map(|pod| self.pod_report(pod, bindings.remove(&pod.key))).collect();
        let places: FxHashMap<&PodKey, usize> =
            world.pending.iter().enumerate().rev().map(|(at, pod)| (&pod.key, at)).collect();
        Report {
            tried: self.tried.iter().filter_map(|key| places.get(key).copied()).collect(),
            pods,
            elapsed: self.now - self.options.start,
            stopped: self.stopped,
            writes: self.writes,
            scheduler: self.scheduler,
            server: self.server,
        }
    }

    fn pod_report(&mut self, pod: &Arc<PodInfo>, binding: Option<BindingView>) -> PodReport {
        let events = self.events.remove(&pod.key).unwrap_or_default();
        let bound = self.server.pod(&pod.namespace, &pod.name).and_then(|pod| pod.node_name.clone());
        let standing = match (bound, binding) {
            (Some(node), _) => Standing::Bound(node),
            (None, Some(binding)) => Standing::AtPermit {
                node: binding.node,
                plugins: match binding.stage {
                    Stage::Permit(plugins) => plugins.into_iter().map(|(plugin, _)| plugin).collect(),
                    _ => Vec::new(),
                },
            },
            (None, None) => self.unplaced(pod, &events),
        };
        PodReport {
            pod: self.with_claims(pod),
            standing,
            decisions: self.decisions.remove(&pod.key).unwrap_or_default(),
            events,
            waited: self.waited.remove(&pod.key),
        }
    }

    fn with_claims(&self, pod: &Arc<PodInfo>) -> Arc<PodInfo> {
        let known = self.server.pod(&pod.namespace, &pod.name).filter(|known| known.key == pod.key);
        match known.filter(|known| known.constraints != pod.constraints) {
            Some(known) => {
                Arc::new(PodInfo { constraints: known.constraints.clone(), ..PodInfo::clone(pod) })
            }
            None => pod.clone(),
        }
    }

    fn unplaced(&self, pod: &PodInfo, events: &[EventRecord]) -> Standing {
        if pod.is_terminating() || self.server.pod(&pod.namespace, &pod.name).is_none() {
            return Standing::Terminating;
        }
        if !self.scheduler.is_ours(&pod.key) {
            return Standing::NotOurs;
        }
        // The condition has the whole message; an event may cut it.
        let at_server = self.server.pod(&pod.namespace, &pod.name);
        let condition = at_server.and_then(|pod| pod.scheduled_condition.as_ref());
        let message = match condition {
            Some(condition) if condition.0.as_str() == "False" => condition.2.to_string(),
            _ => events.last().map(|event| event.note.clone()).unwrap_or_default(),
        };
        let failing = condition.is_some_and(|condition| condition.1.as_str() == "SchedulerError");
        match self.scheduler.queue_place(&pod.key) {
            Some(QueuePlace::Gated) => {
                Standing::Gated { by: self.scheduler.gate(&pod.key).map(Symbol::new).unwrap_or_default() }
            }
            _ if failing => Standing::Failing { message },
            _ => Standing::Waiting { message },
        }
    }
}
