//! The world around the scheduler: server, watches, calls on their way, users, other schedulers, time. What happens in it
//! is in `moves.rs`.

use crate::devices::{self, Devices};
use crate::endings::{Endings, ThrottledBind};
use crate::evictions::{self, Chosen};
use crate::extenders;
use crate::moves::{Move, What};
use crate::mutants::Mutant;
use crate::objects::Claimer;
use crate::plugins::{Fragile, Gang, Labelled, Reader, Reserver, Slow, basics, framework};
use crate::rules::Rules;
use crate::trials::END_OF_EXCEPTIONS;
use crate::trials::{Trials, without_trials};
use crate::volumes::{self, Disks};
use bayplan::dry_run::{Api, DisruptionController, WatchEvent};
use bayplan::framework::{
    ApiCall, CallError, Cycle, Extenders, Framework, Plugin, Silent, Status, Ticket, WouldEffect,
};
use bayplan::model::{Duration, Kind, Labels, Object, ObjectKey, Snapshot, Symbol, Time, VersionRows};
use bayplan::scheduler::{self, Decision, DecisionRecord, Effect, Input, Profiles, Scheduler};
use bayplan::testing::{namespace, node};
use std::cell::RefCell;
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
    /// The queue is ordered by sums of ledgers.
    pub orders: bool,
    /// The wall clock is stepped.
    pub clock_steps: bool,
    /// Pods preempt others; with policies they always do.
    pub preempts: bool,
    /// Nodes get keys of labels and taints that come and go.
    pub names: bool,
    /// A clone of the scheduler made on the way gets the same inputs, and must have the same effects.
    pub twin: bool,
    /// There are objects of other kinds than pods, nodes and namespaces.
    pub objects: bool,
    /// A plugin has an index that panics at some pods.
    pub fragile: bool,
    /// Extenders filter, score and bind.
    pub extenders: bool,
    /// Pods have claims.
    pub volumes: bool,
    /// Pods have claims of devices.
    pub devices: bool,
    /// There are few nodes and devices, watches of claims are late, and more calls are refused.
    pub scarce: bool,
    /// The scheduler decides as kube-scheduler 1.36.
    pub older: bool,
    /// Rules that do not decide.
    pub trials: Trials,
    /// The effects of every step are kept.
    pub compares: bool,
}

/// A call that the server has not answered.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub ticket: Ticket,
    pub call: ApiCall,
}

/// A call whose sender gave up; it may still arrive until then.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    pub call: ApiCall,
    pub until: Time,
}

/// When a world begins.
pub(crate) const BEGIN: Time = Time(1_000_079_880_000_000);
pub(crate) const TIMEOUT: Duration = Duration::from_seconds(5);

pub(crate) struct World {
    pub options: Options,
    pub now: Time,
    /// How far the wall clock is ahead of `now`.
    pub wall: Duration,
    pub api: Api,
    pub scheduler: Scheduler,
    pub twin: Option<Scheduler>,
    pub seen: BTreeMap<Kind, usize>,
    pub open: Vec<Open>,
    pub late: Vec<Late>,
    /// Until then the server answers most calls with 429.
    pub storm: Time,
    /// Pods that are being deleted.
    endings: Endings,
    /// Pods that are to be evicted.
    chosen: Chosen,
    /// DefaultPreemption.
    preemption: Arc<dyn Plugin>,
    /// Every ticket ever given out by the scheduler of the day.
    pub tickets: BTreeSet<Ticket>,
    /// Nodes that others than us have filled, or that shrank.
    pub not_ours_alone: BTreeSet<Symbol>,
    /// Plugins that stay the same through every reload.
    pub others: Vec<Arc<dyn Plugin>>,
    pub revision: u64,
    extenders: Arc<Extenders>,
    /// The frameworks in service, without the mistake of this run.
    honest: RefCell<Vec<Arc<Framework>>>,
    /// The controller of volumes.
    pub disks: Disks,
    /// The controllers of claims of devices.
    pub devices: Devices,
    /// The controller of PodDisruptionBudgets.
    pub budgets: DisruptionController,
    /// What holds with policies.
    pub rules: Rules,
    pub pods_made: u64,
    pub objects_made: u64,
    /// Inputs and effects are printed.
    trace: bool,
    hash: rustc_hash::FxHasher,
    pub broken: Option<String>,
    /// Attempts that failed because an index is out of use.
    pub without_index: usize,
    /// How often a rule that does not decide would have changed something.
    pub counted: usize,
    /// The effects of each step without those of rules that do not decide.
    pub played: Vec<String>,
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
            chosen: Chosen::default(),
            preemption: evictions::plugin(),
            tickets: BTreeSet::new(),
            not_ours_alone: BTreeSet::new(),
            others: vec![Arc::new(Reserver("r1")), Arc::new(Reserver("r2"))],
            revision: 0,
            extenders: extenders::extenders(),
            honest: RefCell::default(),
            disks: Disks::default(),
            devices: Devices::default(),
            budgets: DisruptionController::default(),
            rules: Rules::default(),
            pods_made: 0,
            objects_made: 0,
            trace: std::env::var("BAYPLAN_TRACE").is_ok(),
            hash: rustc_hash::FxHasher::default(),
            broken: None,
            without_index: 0,
            counted: 0,
            played: Vec::new(),
        };
        world.others.push(Arc::new(Reader));
        if options.objects {
            world.others.push(Arc::new(Claimer));
        }
        if options.volumes {
            world.others.extend(volumes::plugins());
            world.put_classes();
        }
        if options.devices {
            world.others.push(devices::plugin(options.older));
            world.begin_devices();
        }
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
        if self.options.preempts {
            plugins.push(self.preemption.clone());
        }
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
        self.honest.replace(frameworks.clone());
        let with = |framework: Arc<Framework>| match self.options.mutant {
            Some(mutant) => mutant.of(&framework),
            None => framework,
        };
        let with = |framework: Arc<Framework>| match self.options.extenders {
            true => {
                let framework = with(framework);
                let framework = Framework::new(
                    framework.scheduler_name.clone(),
                    framework.plugins().to_vec(),
                    framework.points().clone(),
                );
                Arc::new(framework.with_extenders(self.extenders.clone()))
            }
            false => with(framework),
        };
        let rows = VersionRows::of(devices::version(self.options.older));
        let with = |framework: Arc<Framework>| match self.options.older {
            true => {
                let (name, points) = (framework.scheduler_name.clone(), framework.points().clone());
                Arc::new(Framework::new(name, framework.plugins().to_vec(), points).decide_by(rows))
            }
            false => with(framework),
        };
        Arc::new(Profiles { frameworks: frameworks.into_iter().map(with).collect(), revision: self.revision })
    }

    /// A scheduler that starts from lists, in any order of the kinds.
    pub(crate) fn restart(&mut self, with: u64) {
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
        self.forget_volumes();
        self.devices.writes.clear();
        self.chosen = Chosen::default();
        self.tickets.clear();
        let profiles = self.profiles(if self.options.policies { with } else { 0 });
        self.step(Input::Profiles(profiles));
        if self.wall != Duration::ZERO {
            self.step(Input::WallClock(self.wall));
        }
        self.step(Input::Lead(true));
        for at in 0..self.kinds().len() {
            self.relist(&self.kind(with.wrapping_add(at as u64)));
        }
        self.relist(&Kind::PodDisruptionBudget);
        self.step(Input::Synced);
    }

    pub(crate) fn break_(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// One input to the scheduler, and to its twin.
    pub(crate) fn step(&mut self, input: Input) {
        self.endings.see(&input);
        self.chosen.before(&self.scheduler);
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
        let before = (self.options.policies || self.options.extenders).then(|| self.scheduler.fork());
        self.scheduler.step(input.clone(), self.now, &mut effects);
        self.volume_answered(&input);
        self.claim_answered(&input);
        if let Some(before) = before.as_ref().filter(|_| self.options.extenders) {
            let placed = effects.iter().filter_map(|effect| match effect {
                Effect::Decided(record) => Some(self.fits_now(record, before)),
                _ => None,
            });
            if let Err(broken) = placed.collect::<Result<(), String>>() {
                self.break_(broken);
            }
        }
        if let Some(before) = before.filter(|_| self.options.policies) {
            let decided = effects.iter().filter_map(|effect| match effect {
                Effect::Decided(record) => Some(self.rules.decided(record, &before, self.now)),
                _ => None,
            });
            let decided: Result<(), String> = decided.collect();
            let held = decided.and_then(|()| self.rules.stepped(&self.scheduler, self.now));
            // A plugin that panics when a pod leaves keeps the others.
            let held = match self.options.fragile {
                true => held,
                false => held.and_then(|()| self.rules.crews_are_left_whole(&self.scheduler)),
            };
            if let Err(broken) = held {
                self.break_(broken);
            }
        }
        let text = format!("{effects:?}");
        if self.trace {
            effects.iter().for_each(|effect| eprintln!("    < {effect:?}"));
        }
        self.hash.write(text.as_bytes());
        if self.options.compares {
            self.played.push(without_trials(&effects));
        }
        self.counted += effects.iter().map(counted).sum::<usize>();
        if let Some(twin) = &mut self.twin {
            let mut same = Vec::new();
            twin.step(input, self.now, &mut same);
            if format!("{same:?}") != text {
                self.break_(format!("a clone does something else: {text} and {same:?}"));
            }
        }
        let decided: Result<(), String> = effects.iter().try_for_each(|effect| match effect {
            Effect::Decided(record) => self
                .chosen
                .decided(record, &self.scheduler)
                .and_then(|()| if self.options.devices { self.devices_decided(record) } else { Ok(()) }),
            Effect::Call(_, call) => self
                .chosen
                .sent(call)
                .and_then(|()| self.volume_written(call))
                .and_then(|()| if self.options.devices { self.bound_when_prepared(call) } else { Ok(()) }),
            Effect::Event(_) => Ok(()),
        });
        if let Err(broken) = decided {
            self.break_(broken);
        }
        for effect in effects {
            match effect {
                Effect::Call(ticket, call) => {
                    if !self.tickets.insert(ticket) {
                        self.break_(format!("{ticket:?} was given out twice"));
                    }
                    let said = self.written_as_said(&call, &self.open);
                    if let Err(broken) = self.endings.sent(&call, &self.open).and(said) {
                        self.break_(broken);
                    }
                    self.volume_asked(ticket, &call);
                    self.claim_written(ticket, &call);
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

    /// Whether a pod fits where it was placed, also after extenders were waited for.
    fn fits_now(&self, record: &DecisionRecord, before: &Snapshot) -> Result<(), String> {
        let Decision::Placed { node, .. } = &record.decision else { return Ok(()) };
        let honest = self.honest.borrow();
        let framework = honest.iter().find(|framework| framework.scheduler_name == record.profile);
        let (Some(framework), Some(entry)) = (framework, before.pod(&record.key)) else { return Ok(()) };
        let mut cycle = Cycle::new(entry.pod.clone(), framework.clone(), self.now);
        let row = before.node_by_name(node);
        let fits = framework.run_pre_filter(&mut cycle, before, &mut Silent).and_then(|left| {
            let node = row.filter(|row| left.is_none_or(|left| left.contains(*row)));
            let node =
                node.and_then(|row| before.node(row)).ok_or_else(|| Status::error("it is not there"))?;
            framework.filter_with_nominated(cycle.handle(before), node)
        });
        fits.map_err(|status| format!("21: {} does not fit on {node}: {}", record.pod.name, status.message()))
    }

    pub(crate) fn names(&self, kind: &Kind) -> Vec<ObjectKey> {
        self.api.list(kind).iter().map(Object::key).collect()
    }

    pub(crate) fn pick(&self, kind: &Kind, with: u64) -> Option<ObjectKey> {
        let names = self.names(kind);
        (!names.is_empty()).then(|| names[(with / 64) as usize % names.len()].clone())
    }

    pub(crate) fn advance(&mut self, to: Time) {
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

    pub(crate) fn deliver(&mut self, kind: &Kind, twice: bool) -> bool {
        let Some((at, event)) = self.next_event(kind) else { return false };
        self.seen.insert(kind.clone(), at + 1);
        self.claim_shown(&event);
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
        for kind in self.kinds() {
            while self.deliver(&kind, false) {}
        }
    }

    /// Leaves a version out that a later one of the same object replaces, as a watch may. No watch leaves out a deletion.
    pub(crate) fn skip_version(&mut self, kind: &Kind) {
        let Some((at, event)) = self.next_event(kind) else { return };
        if matches!(event, WatchEvent::Deleted(_)) {
            return;
        }
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

    pub(crate) fn relist(&mut self, kind: &Kind) {
        self.seen.insert(kind.clone(), self.api.log().len());
        let all = self.api.list(kind);
        if *kind == Kind::ResourceClaim {
            self.claims_listed(&all);
        }
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
        if self.options.devices {
            self.settle_devices();
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
        self.rest()?;
        if self.options.devices {
            self.change_devices_at_rest()?;
        }
        Ok(())
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
                What::PollMetrics,
            ][(with % 15) as usize];
            self.play(&Move { what, with: with / 16 });
            if self.names(&Kind::Node).is_empty() {
                self.api.put(node("n0").cpu("1").object());
            }
            self.rest()?;
            self.nobody_is_forgotten().map_err(|broken| format!("after {what:?} at rest: {broken}"))?;
        }
        // All nodes are hot, pods come, and the nodes cool down.
        for (with, pods) in [(0xf_ffff << 20, 3), (0, 0)] {
            self.advance(self.now + Duration::from_seconds(16));
            self.poll_metrics(with);
            // A pod at which an index panics would be tried for ever.
            let pods = if self.options.fragile { 0 } else { pods };
            (0..pods).for_each(|at| self.play(&Move { what: What::AddPod, with: seed + at }));
            self.rest()?;
            self.nobody_is_forgotten().map_err(|broken| format!("after a poll at rest: {broken}"))?;
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
            self.control_all();
            self.control_all_claims();
            self.control_budgets();
            self.deliver_all();
            // Runs that are compared pass this instant at the same move, with exceptions and without.
            let end = END_OF_EXCEPTIONS;
            let end_of_exceptions = (self.options.compares && self.now < end).then_some(end);
            if let Some(open) = (!self.open.is_empty()).then(|| self.open.remove(0)) {
                let answer = self.answer(&open.call, None);
                self.step(Input::Reply(open.ticket, answer));
            } else if self.scheduler.wants_cycle() {
                self.step(Input::Cycle);
            } else if let Some(next) = self.scheduler.next_wakeup().into_iter().chain(end_of_exceptions).min()
            {
                self.advance(next.max(self.now));
            } else if self.end_pods() {
                // The victims of preemption are gone.
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

/// How many rules that do not decide would have changed a decision.
fn counted(effect: &Effect) -> usize {
    match effect {
        Effect::Decided(record) => {
            record.would.iter().filter(|would| would.effect != WouldEffect::Same).count()
        }
        _ => 0,
    }
}

/// What the condition of a pod says.
pub(crate) fn refused_text(api: &Api, pod: &ObjectKey) -> Option<String> {
    let pod = api.pod(&pod.namespace, &pod.name)?;
    pod.scheduled_condition.as_ref().map(|condition| condition.2.to_string())
}
