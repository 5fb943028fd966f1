//! A cluster in a file: the same `Scheduler` as in a real cluster, before an API server in memory and on a clock that
//! jumps. Pods are placed, wait at Permit and time out as they would; nothing is written anywhere. Called by `cli`
//! (dry-run, test, explain); what is read from files is in `load`, what tests of policies expect in `cases`.

pub mod api;
pub mod because;
pub mod cases;
pub mod load;
pub mod namespaces;
mod recorder;
mod workloads;
pub mod world;

pub use api::{Api, Fault, WatchEvent};
pub use load::{Loaded, load, load_pods};
pub use world::World;

use crate::engine::TieBreak;
use crate::framework::{EventRecord, NotChecked};
use crate::model::{Duration, PodInfo, PodKey, Snapshot, Symbol, Time};
use crate::scheduler::{
    self, BindingView, DeciderKind, DecisionRecord, Effect, Input, Profiles, QueuePlace, RecordLevel,
    Scheduler, Stage,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// In which order pending pods are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As the profile's QueueSort says.
    #[default]
    Queue,
    /// As they stand in the files.
    Given,
}

/// How a dry run is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// In which order pending pods are tried.
    pub order: Order,
    /// How ties are broken.
    pub tie_break: TieBreak,
    /// Draws among equal nodes.
    pub seed: u64,
    /// How much decisions record.
    pub records: RecordLevel,
    /// The one pod whose decisions record that much; `None`: all pods.
    pub recorded_pod: Option<PodKey>,
    /// Which decider asks the nodes.
    pub decider: DeciderKind,
    /// The instant at which it begins; pods enter the queue then.
    pub start: Time,
    /// The clock goes no further than this beyond the start.
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

/// Where a pod stands at the end.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// Bound to this node.
    Bound(Symbol),
    /// It waits for an event that may help.
    Waiting {
        /// kube-scheduler's text of the last refusal.
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
    /// It has a node and is not bound: the clock went no further.
    AtPermit {
        /// The node.
        node: Symbol,
        /// The plugins it waits for.
        plugins: Vec<Symbol>,
    },
    /// No profile serves its `schedulerName`.
    NotOurs,
    /// It is being deleted, and is not tried.
    Terminating,
}

/// A pod that waited at Permit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waited {
    /// The node it was meant for.
    pub node: Symbol,
    /// The plugins it waited for, each with its deadline.
    pub plugins: Vec<(Symbol, Time)>,
}

/// What became of a pod.
#[derive(Clone, Debug)]
pub struct PodReport {
    /// The pod as it was given.
    pub pod: Arc<PodInfo>,
    /// Where it stands at the end.
    pub standing: Standing,
    /// Its decisions, oldest first.
    pub decisions: Vec<DecisionRecord>,
    /// Its events, oldest first.
    pub events: Vec<EventRecord>,
    /// How it waited at Permit when everything that needs no time was done.
    pub waited: Option<Waited>,
}

impl PodReport {
    /// What its last attempt did not check, because plugins are not built.
    pub fn not_checked(&self) -> &[NotChecked] {
        self.decisions.last().map_or(&[], |record| &record.not_checked)
    }
}

/// What a dry run found.
pub struct Report {
    /// Pending pods, in the order they were given.
    pub pods: Vec<PodReport>,
    /// The order in which pods were first tried, as places in `pods`.
    pub tried: Vec<usize>,
    /// How far the clock went.
    pub elapsed: Duration,
    /// Whether it was stopped while pods still moved.
    pub stopped: bool,
    /// The scheduler as it is at the end.
    pub scheduler: Scheduler,
}

/// Watches a dry run: what the plugins were asked, and on which state of the cluster.
pub trait Watcher {
    /// Whether it wants to see the attempt on the pod that is tried next; each one costs a fork of the cluster.
    fn wants(&self, next: Option<&PodKey>) -> bool {
        let _ = next;
        true
    }
    /// An attempt ended with this decision; `before` is the cluster as it was when it began.
    fn decided(&mut self, before: Snapshot, record: &DecisionRecord);
    /// An input was handled, and what followed from it.
    fn handled(&mut self, scheduler: &Scheduler, now: Time);
}

/// Schedules the pending pods of a world.
pub fn run(world: &World, profiles: Arc<Profiles>, options: &Options) -> Report {
    run_watched(world, profiles, options, None)
}

/// The same before someone's eyes.
pub fn run_watched(
    world: &World,
    profiles: Arc<Profiles>,
    options: &Options,
    watcher: Option<&mut dyn Watcher>,
) -> Report {
    let mut run = Run::new(world, profiles, options, watcher);
    match options.order {
        Order::Queue => {
            for pod in &world.pending {
                run.server.put(crate::model::Object::Pod(pod.clone()));
            }
            run.watch();
            run.settle();
        }
        Order::Given => {
            for pod in &world.pending {
                run.server.put(crate::model::Object::Pod(pod.clone()));
                run.watch();
                run.settle();
            }
        }
    }
    run.note_waiting();
    run.let_time_pass();
    run.report(world)
}

/// A dry run under way.
struct Run<'w> {
    watcher: Option<&'w mut dyn Watcher>,
    scheduler: Scheduler,
    server: Api,
    /// How much of the server's log was shown.
    seen: usize,
    now: Time,
    options: Options,
    decisions: FxHashMap<PodKey, Vec<DecisionRecord>>,
    events: FxHashMap<PodKey, Vec<EventRecord>>,
    waited: FxHashMap<PodKey, Waited>,
    tried: Vec<PodKey>,
    /// How many attempts are left: pods that push each other out would go on for ever.
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
            seen: 0,
            now: options.start,
            options: options.clone(),
            decisions: FxHashMap::default(),
            events: FxHashMap::default(),
            waited: FxHashMap::default(),
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
        run.step(Input::Synced);
        run
    }

    /// One input, and everything that the server answers to it.
    fn step(&mut self, input: Input) {
        let mut inputs = std::collections::VecDeque::from([input]);
        let mut effects = Vec::new();
        while let Some(input) = inputs.pop_front() {
            let next = || self.scheduler.queue_order().next();
            let watched = matches!(input, Input::Cycle)
                && self.watcher.as_ref().is_some_and(|watcher| watcher.wants(next()));
            let mut before = watched.then(|| self.scheduler.fork());
            self.scheduler.step(input, self.now, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Call(ticket, call) => {
                        let answer = self.server.answer(&call, self.now, None);
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

    fn unseen(&mut self) -> Vec<Input> {
        let news = self.server.log().get(self.seen..).unwrap_or_default().iter();
        let inputs = news.map(|(_, event)| match event {
            WatchEvent::Upserted(object) => Input::Upserted(object.clone()),
            WatchEvent::Deleted(key) => Input::Deleted(key.clone()),
        });
        let inputs = inputs.collect();
        self.seen = self.server.log().len();
        inputs
    }

    /// Shows the scheduler what changed at the server.
    fn watch(&mut self) {
        for input in self.unseen() {
            self.step(input);
        }
    }

    /// Attempts until nothing is left to try without time passing.
    fn settle(&mut self) {
        while self.scheduler.wants_cycle() {
            if self.attempts_left == 0 {
                self.stopped = true;
                return;
            }
            self.attempts_left -= 1;
            self.step(Input::Cycle);
        }
    }

    fn note_waiting(&mut self) {
        for binding in self.scheduler.bindings() {
            if let Stage::Permit(plugins) = binding.stage {
                self.waited.insert(binding.pod, Waited { node: binding.node, plugins });
            }
        }
    }

    /// Lets waits elapse for as long as pods have a node and are not bound.
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
            scheduler: self.scheduler,
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
            pod: pod.clone(),
            standing,
            decisions: self.decisions.remove(&pod.key).unwrap_or_default(),
            events,
            waited: self.waited.remove(&pod.key),
        }
    }

    fn unplaced(&self, pod: &PodInfo, events: &[EventRecord]) -> Standing {
        if pod.is_terminating() {
            return Standing::Terminating;
        }
        if !self.scheduler.is_ours(&pod.key) {
            return Standing::NotOurs;
        }
        // The condition has the whole text, the event what fits into it.
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
