//! The world around the scheduler: server, watches, calls on their way, users, other schedulers, time. Every move is
//! total: where it cannot be made, nothing happens, so that moves can be left out of a log.

use crate::endings::{Endings, ThrottledBind};
use crate::mutants::Mutant;
use crate::plugins::{Fragile, Gang, Labelled, Reader, Reserver, Slow, basics, framework};
use crate::rules::Rules;
use crate::tenants;
use bayplan::dry_run::{Api, Fault, WatchEvent};
use bayplan::framework::{ApiCall, CallError, Framework, Plugin, Ticket};
use bayplan::model::{
    Duration, Effect as TaintEffect, Kind, Labels, Namespace, Node, Object, ObjectKey, PodInfo, Symbol,
    Taint, Time,
};
use bayplan::scheduler::{self, Decision, Effect, Input, Profiles, Scheduler};
use bayplan::testing::{namespace, node, pod};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::sync::Arc;

/// How a run is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub seed: u64,
    pub mutant: Option<Mutant>,
    /// Policies decide, beside the in-tree plugins, and not the plugins of the tests.
    pub policies: bool,
    /// The wall clock is stepped.
    pub clock_steps: bool,
    /// Nodes get keys of labels and taints that come and go.
    pub names: bool,
    /// A clone of the scheduler made on the way gets the same inputs, and must have the same effects.
    pub twin: bool,
    /// A plugin has an index that panics at some pods.
    pub fragile: bool,
}

/// Who acts, with numbers that say on what and how.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    what: What,
    with: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    AddNode,
    DeleteNode,
    RelabelNode,
    ResizeNode,
    AddPod,
    DeletePod,
    RecreatePod,
    TerminatePod,
    TerminateBinding,
    Storm,
    UpdatePod,
    Ungate,
    ForeignBind,
    Deliver,
    DeliverAll,
    SkipVersion,
    Relist,
    Cycle,
    Answer,
    LateAnswer,
    LateArrival,
    Advance,
    Kill,
    SecondLeader,
    Reload,
    TaintNode,
    CordonNode,
    AnnotateNode,
    RelabelPod,
    RelabelNamespace,
    StepClock,
    DecorateNode,
}

const WEIGHTS: &[(What, u64)] = &[
    (What::AddNode, 5),
    (What::DeleteNode, 1),
    (What::RelabelNode, 4),
    (What::ResizeNode, 2),
    (What::AddPod, 14),
    (What::DeletePod, 4),
    (What::RecreatePod, 2),
    (What::TerminatePod, 1),
    (What::TerminateBinding, 2),
    (What::Storm, 1),
    (What::UpdatePod, 3),
    (What::Ungate, 2),
    (What::ForeignBind, 1),
    (What::Deliver, 30),
    (What::DeliverAll, 6),
    (What::SkipVersion, 3),
    (What::Relist, 2),
    (What::Cycle, 34),
    (What::Answer, 34),
    (What::LateAnswer, 2),
    (What::LateArrival, 2),
    (What::Advance, 12),
    (What::Kill, 1),
    (What::SecondLeader, 1),
    (What::Reload, 2),
];

/// What is drawn besides when policies decide.
const MORE: &[(What, u64)] = &[
    (What::TaintNode, 3),
    (What::CordonNode, 2),
    (What::AnnotateNode, 2),
    (What::RelabelPod, 8),
    (What::RelabelNamespace, 2),
    (What::RelabelNode, 4),
    (What::Reload, 1),
];

/// What is drawn besides when the wall clock is stepped.
const STEPS: &[(What, u64)] = &[(What::StepClock, 4)];

impl Move {
    pub(crate) fn draw(what: u64, with: u64, options: &Options) -> Self {
        let more = || MORE.iter().filter(|_| options.policies);
        let names = || tenants::NAMES.iter().filter(|_| options.names);
        let steps = || STEPS.iter().filter(|_| options.clock_steps);
        let weights = || WEIGHTS.iter().chain(more()).chain(steps()).chain(names());
        let all: u64 = weights().map(|(_, weight)| weight).sum();
        let mut at = what % all;
        for (what, weight) in weights() {
            if at < *weight {
                return Self { what: *what, with };
            }
            at -= weight;
        }
        unreachable!("the weights add up")
    }
}

/// A call that the server has not answered.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub ticket: Ticket,
    pub call: ApiCall,
}

/// A call whose sender gave up; it may still arrive until then.
#[derive(Clone, Debug)]
struct Late {
    call: ApiCall,
    until: Time,
}

/// When a world begins.
const BEGIN: Time = Time(1_000_000_000_000_000);
const TIMEOUT: Duration = Duration::from_seconds(5);
const KINDS: [Kind; 3] = [Kind::Pod, Kind::Node, Kind::Namespace];

pub(crate) struct World {
    pub options: Options,
    pub now: Time,
    /// How far the wall clock is ahead of `now`.
    pub wall: Duration,
    pub api: Api,
    pub scheduler: Scheduler,
    pub twin: Option<Scheduler>,
    seen: BTreeMap<Kind, usize>,
    pub open: Vec<Open>,
    late: Vec<Late>,
    /// Until then the server answers most calls with 429.
    storm: Time,
    /// Pods that are being deleted.
    endings: Endings,
    /// Every ticket ever given out by the scheduler of the day.
    tickets: BTreeSet<Ticket>,
    /// Nodes that others than us have filled, or that shrank.
    pub not_ours_alone: BTreeSet<Symbol>,
    /// Plugins that stay the same through every reload.
    pub others: Vec<Arc<dyn Plugin>>,
    pub revision: u64,
    /// What holds with policies.
    pub rules: Rules,
    pods_made: u64,
    /// Inputs and effects are printed.
    trace: bool,
    hash: rustc_hash::FxHasher,
    pub broken: Option<String>,
    /// Attempts that failed because an index is out of use.
    pub without_index: usize,
}

impl World {
    pub(crate) fn new(options: &Options) -> Self {
        let mut world = Self {
            options: options.clone(),
            now: BEGIN,
            wall: Duration::ZERO,
            api: Api::new(),
            scheduler: Scheduler::new(scheduler::Options::default()),
            twin: None,
            seen: BTreeMap::new(),
            open: Vec::new(),
            late: Vec::new(),
            storm: BEGIN,
            endings: Endings::default(),
            tickets: BTreeSet::new(),
            not_ours_alone: BTreeSet::new(),
            others: vec![Arc::new(Reserver("r1")), Arc::new(Reserver("r2"))],
            revision: 0,
            rules: Rules::default(),
            pods_made: 0,
            trace: std::env::var("BAYPLAN_TRACE").is_ok(),
            hash: rustc_hash::FxHasher::default(),
            broken: None,
            without_index: 0,
        };
        world.others.push(Arc::new(Reader));
        if options.fragile {
            world.others.push(Arc::new(Fragile));
        }
        if options.policies {
            world.others.push(Arc::new(Slow));
            world.api.put(namespace("default").object());
        }
        world.restart(options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for at in 0..3 {
            world.play(&Move { what: What::AddNode, with: at });
        }
        world
    }

    pub(crate) fn profiles(&mut self, variant: u64) -> Arc<Profiles> {
        self.revision += 1;
        if self.options.policies {
            return self.policies(variant);
        }
        let wait = Duration::from_seconds(if variant % 4 == 1 { 7 } else { 20 });
        let mut plugins = basics();
        plugins.extend(self.others.iter().cloned());
        if variant % 4 != 2 {
            plugins.push(Arc::new(Gang { wait, ..Gang::default() }));
        }
        plugins.push(Arc::new(Slow));
        let mut labelled = plugins.clone();
        labelled.push(Arc::new(Labelled));
        let mut frameworks = vec![framework("default-scheduler", plugins)];
        if variant % 4 != 3 {
            frameworks.push(framework("labelled", labelled));
        }
        self.served(frameworks)
    }

    /// The frameworks as they serve: with a mistake when this run has one.
    pub(crate) fn served(&self, frameworks: Vec<Arc<Framework>>) -> Arc<Profiles> {
        let with = |framework: Arc<Framework>| match self.options.mutant {
            Some(mutant) => mutant.of(&framework),
            None => framework,
        };
        Arc::new(Profiles { frameworks: frameworks.into_iter().map(with).collect(), revision: self.revision })
    }

    /// A scheduler that starts from lists, in any order of the kinds.
    fn restart(&mut self, with: u64) {
        self.scheduler = Scheduler::new(scheduler::Options {
            longest_wait: None,
            request_timeout: TIMEOUT,
            seed: self.options.seed,
            window: 6,
            decider: scheduler::DeciderKind::Verified,
            ..scheduler::Options::default()
        });
        self.twin = None;
        self.open.clear();
        self.endings = Endings::default();
        self.tickets.clear();
        let profiles = self.profiles(if self.options.policies { with } else { 0 });
        self.step(Input::Profiles(profiles));
        if self.wall != Duration::ZERO {
            self.step(Input::WallClock(self.wall));
        }
        self.step(Input::Lead(true));
        for at in 0..3 {
            self.relist(&KINDS[(with as usize + at) % 3].clone());
        }
        self.step(Input::Synced);
    }

    fn break_(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// One input to the scheduler, and to its twin.
    pub(crate) fn step(&mut self, input: Input) {
        self.endings.see(&input);
        let throttled = ThrottledBind::of(&input, &self.scheduler);
        if let Input::Reply(ticket, Err(CallError::Retry { .. })) = &input {
            // The call may be sent again.
            self.tickets.remove(ticket);
        }
        let input = self.options.mutant.map_or(input.clone(), |mutant| mutant.input(input));
        let mut effects = Vec::new();
        if self.trace && !matches!(input, Input::Profiles(_)) {
            let seconds = (self.now - BEGIN).0 as f64 / 1e6;
            eprintln!("{seconds} > {input:?}");
        }
        let before = self.options.policies.then(|| self.scheduler.fork());
        self.scheduler.step(input.clone(), self.now, &mut effects);
        if let Some(before) = before {
            let decided = effects.iter().filter_map(|effect| match effect {
                Effect::Decided(record) => Some(self.rules.decided(record, &before, self.now)),
                _ => None,
            });
            let decided: Result<(), String> = decided.collect();
            let held = decided.and_then(|()| self.rules.stepped(&self.scheduler, self.now));
            if let Err(broken) = held {
                self.break_(broken);
            }
        }
        let text = format!("{effects:?}");
        if self.trace {
            effects.iter().for_each(|effect| eprintln!("    < {effect:?}"));
        }
        self.hash.write(text.as_bytes());
        if let Some(twin) = &mut self.twin {
            let mut same = Vec::new();
            twin.step(input, self.now, &mut same);
            if format!("{same:?}") != text {
                self.break_(format!("a clone does something else: {text} and {same:?}"));
            }
        }
        for effect in effects {
            match effect {
                Effect::Call(ticket, call) => {
                    if !self.tickets.insert(ticket) {
                        self.break_(format!("{ticket:?} was given out twice"));
                    }
                    if matches!(call, ApiCall::Delete { .. }) {
                        self.break_(format!("nothing was to be deleted: {call:?}"));
                    }
                    if let Err(broken) = self.endings.sent(&call, &self.open) {
                        self.break_(broken);
                    }
                    self.open.push(Open { ticket, call });
                }
                Effect::Event(_) => {}
                Effect::Decided(record) => {
                    let failed = matches!(&record.decision, Decision::Error { message } if message.contains("index \"explosive\""));
                    self.without_index += usize::from(failed);
                }
            }
        }
        let broken = throttled.and_then(|bind| bind.broken(&self.scheduler));
        if let Some(broken) = broken.or_else(|| self.endings.broken(&self.scheduler, &self.open)) {
            self.break_(broken);
        }
    }

    pub(crate) fn names(&self, kind: &Kind) -> Vec<ObjectKey> {
        self.api.list(kind).iter().map(Object::key).collect()
    }

    fn pick(&self, kind: &Kind, with: u64) -> Option<ObjectKey> {
        let names = self.names(kind);
        (!names.is_empty()).then(|| names[(with / 64) as usize % names.len()].clone())
    }

    fn change_pod(&mut self, with: u64, change: impl FnOnce(&mut PodInfo)) {
        let key = self.pick(&Kind::Pod, with);
        if let Some(Object::Pod(pod)) = key.and_then(|key| self.api.get(&key).cloned()) {
            let mut pod = (*pod).clone();
            change(&mut pod);
            self.api.put(Object::Pod(Arc::new(pod)));
        }
    }

    fn change_node(&mut self, with: u64, change: impl FnOnce(&mut Node)) {
        let key = self.pick(&Kind::Node, with);
        if let Some(Object::Node(node)) = key.and_then(|key| self.api.get(&key).cloned()) {
            let mut node = (*node).clone();
            change(&mut node);
            self.api.put(Object::Node(Arc::new(node)));
        }
    }

    fn add_pod(&mut self, name: &str, with: u64) {
        self.pods_made += 1;
        let mut maker = pod(name).uid(&format!("uid-{}", self.pods_made));
        maker = maker.cpu(["200m", "400m", "700m", "1"][with as usize % 4]).priority((with / 4 % 3) as i32);
        match with / 16 % 8 {
            0 | 1 => {
                let size = ["2", "3"][(with / 128 % 2) as usize];
                maker =
                    maker.label("gang", ["red", "blue"][(with / 256 % 2) as usize]).label("gang-size", size);
            }
            2 => maker = maker.label("slow", "yes"),
            3 => maker = maker.gate("wait"),
            4 | 5 => maker = maker.scheduler("labelled"),
            6 if (with / 128).is_multiple_of(4) => maker = maker.scheduler("other"),
            _ => {}
        }
        // Which label of nodes it reads: many keys come and go.
        if (with / 7).is_multiple_of(2) {
            maker = maker.label("reads", &tenants::key(with / 11));
        }
        if self.options.fragile && (with / 5).is_multiple_of(6) {
            maker = maker.label("explosive", "yes");
        }
        if self.options.policies {
            maker = maker.created("2001-09-09T01:46:40Z");
        }
        self.api.put(maker.object());
        if self.options.policies {
            let name = name.to_owned();
            let created = self.now + self.wall;
            let labels = tenants::labels(with);
            if let Some(found) = self.api.pod("default", &name) {
                let mut pod = (**found).clone();
                pod.created = Some(created);
                pod.labels = pod.labels.iter().map(|(k, v)| (k.clone(), v.clone())).chain(labels).collect();
                self.api.put(Object::Pod(Arc::new(pod)));
            }
        }
    }

    pub(crate) fn play(&mut self, one: &Move) {
        let with = one.with;
        match one.what {
            What::AddNode => {
                let name = format!("n{}", with % 5);
                let key = node(&name).build();
                let exists = self.api.get(&Object::Node(key).key()).is_some();
                if !exists {
                    let cpu = ["1", "2"][(with / 8 % 2) as usize];
                    let mut maker = node(&name).cpu(cpu).pods(4 + (with / 16 % 3) as i64);
                    if (with / 64).is_multiple_of(2) {
                        maker = maker.label("priority.lixueduan.com", "10");
                    }
                    self.api.put(maker.object());
                }
            }
            What::DeleteNode => {
                if let Some(key) = self.pick(&Kind::Node, with) {
                    // Its pods stay, and what comes back under its name may be smaller.
                    self.not_ours_alone.insert(key.name.clone());
                    self.api.delete(&key);
                }
            }
            What::RelabelNode if self.options.policies => self.change_node(with, |node| {
                let tier = ["gold", "silver", "ice", "gold"][(with % 4) as usize];
                let rank = ["1", "2", "3"][(with / 4 % 3) as usize];
                node.labels = [("tier", tier), ("rank", rank)]
                    .iter()
                    .filter(|(key, _)| *key == "tier" || (with / 64).is_multiple_of(2))
                    .map(|(key, value)| (Symbol::new(key), Symbol::new(value)))
                    .collect();
            }),
            What::TaintNode => self.change_node(with, |node| {
                let effect =
                    [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule][(with / 2 % 2) as usize];
                let taint = Taint { key: Symbol::new("dirty"), value: Symbol::default(), effect };
                node.taints = if with.is_multiple_of(3) { Arc::from([taint]) } else { Arc::from([]) };
            }),
            What::DecorateNode => self.change_node(with, |node| tenants::decorate(node, with)),
            What::CordonNode => self.change_node(with, |node| node.unschedulable = with.is_multiple_of(3)),
            What::AnnotateNode => {
                let seconds = [5, 30, 90][(with % 3) as usize];
                let opens = jiff::Timestamp::from_microsecond((self.now + self.wall).0 + seconds * 1_000_000)
                    .unwrap();
                self.change_node(with, |node| {
                    let opens = (Symbol::new("opens"), Arc::from(opens.to_string()));
                    node.annotations =
                        std::iter::once(opens).filter(|_| !(with / 8).is_multiple_of(3)).collect();
                });
            }
            What::RelabelPod => self.change_pod(with, |pod| {
                let kept = pod.labels.iter().filter(|(key, _)| !tenants::LABELS.contains(&key.as_str()));
                pod.labels =
                    kept.map(|(k, v)| (k.clone(), v.clone())).chain(tenants::labels(with / 64)).collect();
            }),
            What::RelabelNamespace => {
                let closed = (Symbol::new("closed"), Symbol::new("yes"));
                self.api.put(Object::Namespace(Arc::new(Namespace {
                    name: Symbol::new("default"),
                    labels: std::iter::once(closed).filter(|_| with.is_multiple_of(3)).collect(),
                    annotations: Default::default(),
                    raw: None,
                })));
            }
            What::RelabelNode => self.change_node(with, |node| {
                let label =
                    (Symbol::new("priority.lixueduan.com"), Symbol::new(["10", "20"][(with % 2) as usize]));
                node.labels =
                    if (with / 2).is_multiple_of(3) { Labels::default() } else { Labels::from_iter([label]) };
            }),
            What::ResizeNode => {
                if let Some(key) = self.pick(&Kind::Node, with)
                    && with.is_multiple_of(3)
                {
                    self.not_ours_alone.insert(key.name.clone());
                }
                self.change_node(with, |node| {
                    node.allocatable.milli_cpu =
                        if with.is_multiple_of(3) { 500 } else { node.allocatable.milli_cpu + 500 };
                    let written =
                        bayplan::testing::node("written").cpu(&format!("{}m", node.allocatable.milli_cpu));
                    node.allocatable_written = written.build().allocatable_written.clone();
                });
            }
            What::AddPod => {
                let name = format!("p{}", with / 1024 % 24);
                if self.api.pod("default", &name).is_none() {
                    self.add_pod(&name, with);
                }
            }
            What::DeletePod => {
                if let Some(key) = self.pick(&Kind::Pod, with) {
                    self.api.delete(&key);
                }
            }
            What::RecreatePod => {
                if let Some(key) = self.pick(&Kind::Pod, with) {
                    self.api.delete(&key);
                    self.add_pod(&key.name, with);
                }
            }
            What::TerminatePod => {
                let now = self.now;
                self.change_pod(with, |pod| pod.deleted = Some(now));
            }
            What::TerminateBinding => self.terminate_binding(with / 64),
            What::Storm => {
                self.storm = self.now + Duration::from_seconds([2, 10, 60][(with % 3) as usize]);
            }
            What::UpdatePod => self.change_pod(with, |pod| {
                let touched = (Symbol::new("touched"), Symbol::new(["a", "b"][(with % 2) as usize]));
                let kept = pod.labels.iter().filter(|(key, _)| key.as_str() != "touched");
                pod.labels = kept.map(|(k, v)| (k.clone(), v.clone())).chain([touched]).collect();
            }),
            What::Ungate => self.change_pod(with, |pod| pod.scheduling_gates = Box::default()),
            What::ForeignBind => {
                let (pod, node) = (self.pick(&Kind::Pod, with), self.pick(&Kind::Node, with / 64));
                if let (Some(pod), Some(node)) = (pod, node) {
                    let call = ApiCall::Bind { pod, node: node.name.clone(), annotations: Vec::new() };
                    if self.api.answer(&call, self.now, None).is_ok() {
                        self.not_ours_alone.insert(node.name);
                    }
                }
            }
            What::Deliver => {
                for _ in 0..1 + with / 4 % 3 {
                    self.deliver(&KINDS[(with % 3) as usize], (with / 16).is_multiple_of(8));
                }
            }
            What::DeliverAll => self.deliver_all(),
            What::SkipVersion => self.skip_version(&KINDS[(with % 3) as usize]),
            What::Relist => self.relist(&KINDS[(with % 3) as usize]),
            What::Cycle => {
                if self.scheduler.wants_cycle() {
                    self.step(Input::Cycle);
                }
                if self.options.twin && self.twin.is_none() && with.is_multiple_of(4) {
                    self.twin = Some(self.scheduler.clone());
                }
            }
            What::Answer => {
                if !self.open.is_empty() {
                    let open = self.open.remove(with as usize % self.open.len());
                    let fault = match with / 64 % 16 {
                        0 => Some(Fault::LoseAnswer),
                        1 => Some(Fault::LoseCall),
                        2 => Some(Fault::Refuse(
                            [409, 404, 410, 429, 500, 503, 504, 403][(with / 1024 % 8) as usize],
                        )),
                        4..=12 if self.now < self.storm => Some(Fault::Refuse(429)),
                        _ => None,
                    };
                    let answer = self.api.answer(&open.call, self.now, fault);
                    self.step(Input::Reply(open.ticket, answer));
                }
            }
            What::LateAnswer => {
                // The sender gives up; the call may still arrive.
                if !self.open.is_empty() {
                    let open = self.open.remove(with as usize % self.open.len());
                    self.late.push(Late { call: open.call, until: self.now + TIMEOUT });
                    let error = CallError::Unknown("the connection was lost".to_owned());
                    self.step(Input::Reply(open.ticket, Err(error)));
                }
            }
            What::LateArrival => {
                if !self.late.is_empty() {
                    let late = self.late.remove(with as usize % self.late.len());
                    let _ = self.api.answer(&late.call, self.now, None);
                }
            }
            What::StepClock => {
                self.wall = Duration::from_seconds([-90, -20, 0, 20, 40, 90][(with % 6) as usize]);
                self.step(Input::WallClock(self.wall));
            }
            What::Advance => {
                let by = [50, 200, 1_000, 2_500, 12_000, 40_000][(with % 6) as usize];
                self.advance(self.now + Duration::from_millis(by));
            }
            What::Kill => {
                self.calls_of_the_dead(with);
                self.restart(with);
            }
            What::SecondLeader => {
                self.step(Input::Lead(false));
                let before = self.open.len();
                self.deliver_all();
                self.step(Input::Cycle);
                self.step(Input::Tick);
                for _ in 0..before {
                    let open = self.open.remove(0);
                    let answer = self.api.answer(&open.call, self.now, None);
                    self.step(Input::Reply(open.ticket, answer));
                }
                if !self.open.is_empty() || before > self.tickets.len() {
                    self.break_(format!("sent after the lead was lost: {:?}", self.open));
                }
                self.late.clear();
                self.restart(with);
            }
            What::Reload => {
                let profiles = self.profiles(with);
                self.step(Input::Profiles(profiles));
            }
        }
    }

    /// A dead leader's calls arrive before the next one leads, or never.
    fn calls_of_the_dead(&mut self, with: u64) {
        let open = std::mem::take(&mut self.open);
        let late = std::mem::take(&mut self.late);
        let calls = open.into_iter().map(|open| open.call).chain(late.into_iter().map(|late| late.call));
        for (at, call) in calls.enumerate() {
            if with >> (at % 60) & 1 == 0 {
                let _ = self.api.answer(&call, self.now, None);
            }
        }
    }

    fn advance(&mut self, to: Time) {
        self.now = to;
        let now = self.now;
        self.late.retain(|late| late.until > now);
        self.step(Input::Tick);
    }

    fn next_event(&self, kind: &Kind) -> Option<(usize, WatchEvent)> {
        let from = self.seen.get(kind).copied().unwrap_or(0);
        let log = self.api.log();
        let at = (from..log.len()).find(|at| log[*at].0 == *kind)?;
        Some((at, log[at].1.clone()))
    }

    fn deliver(&mut self, kind: &Kind, twice: bool) -> bool {
        let Some((at, event)) = self.next_event(kind) else { return false };
        self.seen.insert(kind.clone(), at + 1);
        let input = match event {
            WatchEvent::Upserted(object) => Input::Upserted(object),
            WatchEvent::Deleted(key) => Input::Deleted(key),
        };
        if twice {
            self.step(input.clone());
        }
        self.step(input);
        true
    }

    pub(crate) fn deliver_all(&mut self) {
        for kind in &KINDS {
            while self.deliver(kind, false) {}
        }
    }

    /// Leaves a version out that a later one of the same object replaces, as a watch may.
    fn skip_version(&mut self, kind: &Kind) {
        let Some((at, event)) = self.next_event(kind) else { return };
        let key = |event: &WatchEvent| match event {
            WatchEvent::Upserted(object) => object.key(),
            WatchEvent::Deleted(key) => key.clone(),
        };
        let this = key(&event);
        let mut later = self.api.log()[at + 1..].iter().filter(|(other, _)| other == kind);
        if later.any(|(_, event)| key(event).name == this.name) {
            self.seen.insert(kind.clone(), at + 1);
        }
    }

    fn relist(&mut self, kind: &Kind) {
        self.seen.insert(kind.clone(), self.api.log().len());
        let all = self.api.list(kind);
        self.step(Input::Relisted(kind.clone(), all));
    }

    /// Nothing goes wrong any more: everything is shown and answered, and time passes until nothing moves.
    pub(crate) fn come_to_rest(&mut self) -> Result<(), String> {
        self.late.clear();
        if self.options.policies {
            return self.come_to_rest_with_policies();
        }
        if self.names(&Kind::Node).is_empty() {
            // Without any node pods are tried for ever.
            self.api.put(node("n0").cpu("1").object());
        }
        self.rest()?;
        // A last change of one kind alone, so that nothing else wakes those whom it helps.
        for object in self.api.list(&Kind::Node) {
            if let Object::Node(node) = object {
                let mut node = (*node).clone();
                node.labels = Labels::from_iter([(Symbol::new("priority.lixueduan.com"), Symbol::new("10"))]);
                self.api.put(Object::Node(Arc::new(node)));
            }
        }
        self.rest()
    }

    /// One change of one kind after the other, so that nothing else wakes those whom it helps.
    fn come_to_rest_with_policies(&mut self) -> Result<(), String> {
        if self.names(&Kind::Node).is_empty() {
            self.api.put(node("n0").cpu("1").object());
        }
        self.rest()?;
        self.nobody_is_forgotten()?;
        let seed = self.options.seed;
        for turn in 0..4u64 {
            let with = seed.wrapping_add(turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
            let what = [
                What::RelabelNode,
                What::TaintNode,
                What::CordonNode,
                What::AnnotateNode,
                What::DeletePod,
                What::DeletePod,
                What::DeletePod,
                What::RelabelPod,
                What::RelabelNamespace,
                What::AddNode,
                What::ResizeNode,
                What::Reload,
                What::DeleteNode,
                What::ForeignBind,
            ][(with % 14) as usize];
            self.play(&Move { what, with: with / 16 });
            if self.names(&Kind::Node).is_empty() {
                self.api.put(node("n0").cpu("1").object());
            }
            self.rest()?;
            self.nobody_is_forgotten().map_err(|broken| format!("after {what:?} at rest: {broken}"))?;
        }
        Ok(())
    }

    pub(crate) fn rest(&mut self) -> Result<(), String> {
        let begun = self.now;
        let mut given_up = 0;
        for _ in 0..20_000 {
            if self.options.policies
                && self.now - begun > Duration::from_seconds(600 * (1 + given_up))
                && given_up < 5
            {
                given_up += 1;
                self.give_up_a_crew();
            }
            self.deliver_all();
            if let Some(open) = (!self.open.is_empty()).then(|| self.open.remove(0)) {
                let answer = self.api.answer(&open.call, self.now, None);
                self.step(Input::Reply(open.ticket, answer));
            } else if self.scheduler.wants_cycle() {
                self.step(Input::Cycle);
            } else if let Some(next) = self.scheduler.next_wakeup() {
                self.advance(next.max(self.now));
            } else {
                self.check()?;
                return Ok(());
            }
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
        }
        Err(format!("no rest: {:?}, {:?}", self.scheduler.queue_counts(), self.scheduler.bindings()))
    }

    pub(crate) fn effects_hash(&self) -> u64 {
        self.hash.finish()
    }
}

/// What the condition of a pod says.
pub(crate) fn refused_text(api: &Api, pod: &ObjectKey) -> Option<String> {
    let pod = api.pod(&pod.namespace, &pod.name)?;
    pod.scheduled_condition.as_ref().map(|condition| condition.2.to_string())
}
