//! [`Framework`]: the plugins of a profile by extension point, and the state of one cycle.

use super::{Extenders, probe};
use crate::Tree;
use crate::cycle_state::{Concerned, CycleState};
use crate::diagnosis::Diagnosis;
use crate::handle::{Act, Actor, Handle};
use crate::order::{Points, ScorePlugin};
use crate::plugin::Plugin;
use crate::plugin_id::{PluginId, PluginSet};
use crate::points::*;
use crate::preconditions::{Places, Preconditions};
use crate::probe::TimedPoint;
use crate::queued::{QueuedPodInfo, SortKey, SortShare};
use crate::reads::Interest;
use crate::recorder::Recorder;
use crate::simulation::Simulation;
use crate::status::{Code, Status};
use crate::waits::Waits;
use bayplan_model::{
    Duration, IndexError, NodeInfo, NodeSet, PodInfo, Snapshot, Symbol, Time, VersionRows, Want,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The plugins of one profile.
pub struct Framework {
    /// `schedulerName` of the profile.
    pub scheduler_name: Symbol,
    /// Set by `percentageOfNodesToScore`; `None` or 100 and more: all nodes.
    pub percentage_of_nodes_to_score: Option<i32>,
    plugins: Vec<Arc<dyn Plugin>>,
    /// The arguments that plugins were made with, when a profile made them.
    args: Option<Vec<Tree>>,
    pub(super) points: Points,
    waits: Waits,
    preconditions: Preconditions,
    order: Order,
    /// The plugins without a precondition: those that run for most pods.
    always: Arc<Concerned>,
    /// The plugins that preemption asks again what PreFilter refuses.
    again: Vec<PluginId>,
    /// The plugins that act after failed attempts.
    pub(super) failures: Vec<PluginId>,
    /// The plugins that write for bound pods.
    pub(super) after_binds: Vec<PluginId>,
    /// The plugins with rules that do not decide.
    counts: Vec<PluginId>,
    extenders: Arc<Extenders>,
    version: VersionRows,
    pub(super) watch: Option<probe::Watch>,
}

/// The position of each plugin at the points at which a pod may skip some of them.
pub(super) struct Order {
    pre_enqueue: Places,
    pre_filter: Places,
    filter: Places,
    pre_score: Places,
    score: Places,
}

impl Order {
    /// The plugins of the set at each point, of `count` plugins of the framework.
    fn concerned(&self, points: &Points, plugins: &PluginSet, count: usize) -> Concerned {
        let mut silent = PluginSet::below(count);
        silent.subtract(plugins);
        Concerned {
            silent,
            pre_enqueue: pick(&points.pre_enqueue, &self.pre_enqueue, plugins),
            pre_filter: pick(&points.pre_filter, &self.pre_filter, plugins),
            filter: pick(&points.filter, &self.filter, plugins),
            pre_score: pick(&points.pre_score, &self.pre_score, plugins),
            score: pick(&points.score, &self.score, plugins),
        }
    }
}

impl std::fmt::Debug for Framework {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Framework({})", self.scheduler_name)
    }
}

/// The data of one scheduling attempt.
#[derive(Clone)]
pub struct Cycle {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The plugins of the attempt, kept to the end of its binding.
    pub framework: Arc<Framework>,
    /// State of the plugins.
    pub state: CycleState,
    /// The refusals so far.
    pub diagnosis: Diagnosis,
    /// The instant of the cycle.
    pub now: Time,
    /// When the pod first entered the queue.
    pub queued_at: Option<Time>,
    /// The number of earlier attempts.
    pub attempts: u32,
    /// Whether its plugins are timed one by one.
    pub sampled: bool,
    /// How far the pod's nominated node was tried, which is evaluated before the others.
    pub nominated: NominatedTry,
}

/// Whether the node of `status.nominatedNodeName` was evaluated alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NominatedTry {
    /// Not yet, or the pod has no nominated node.
    #[default]
    Open,
    /// The pod fits there, so that no other node was evaluated.
    Fits,
    /// An extender refused it: all nodes are evaluated.
    Refused,
}

impl Cycle {
    /// A cycle that has not begun.
    pub fn new(pod: Arc<PodInfo>, framework: Arc<Framework>, now: Time) -> Self {
        Self {
            pod,
            framework,
            state: CycleState::default(),
            diagnosis: Diagnosis::default(),
            now,
            queued_at: None,
            attempts: 0,
            sampled: false,
            nominated: NominatedTry::Open,
        }
    }

    /// This cycle for a question beside its attempt: nothing is timed.
    pub fn untimed(mut self) -> Self {
        self.sampled = false;
        self.state.rule_times = None;
        self
    }

    /// The frozen view for plugins.
    pub fn handle<'a>(&'a self, snapshot: &'a Snapshot) -> Handle<'a> {
        Handle {
            pod: &self.pod,
            snapshot,
            now: self.now,
            queued_at: self.queued_at,
            attempts: self.attempts,
            refused_late: false,
            gated: false,
            cycle: &self.state,
            plugin: PluginId::NONE,
        }
    }
}

impl Framework {
    /// A framework of `plugins`, each at the points named for it.
    pub fn new(scheduler_name: Symbol, plugins: Vec<Arc<dyn Plugin>>, points: Points) -> Self {
        Self::with(scheduler_name, plugins, points, Arc::default(), VersionRows::default())
    }

    /// This framework, deciding as these rows say.
    #[must_use]
    pub fn decide_by(self, version: VersionRows) -> Self {
        if self.version == version {
            return self;
        }
        self.made_anew(version)
    }

    /// Everything that is derived from plugins and points, derived again.
    fn made_anew(self, version: VersionRows) -> Self {
        let mut framework =
            Self::with(self.scheduler_name, self.plugins, self.points, self.extenders, version);
        framework.percentage_of_nodes_to_score = self.percentage_of_nodes_to_score;
        framework.args = self.args;
        framework.watch = self.watch;
        framework
    }

    /// As which version of Kubernetes it decides.
    pub fn version(&self) -> VersionRows {
        self.version
    }

    fn with(
        scheduler_name: Symbol,
        plugins: Vec<Arc<dyn Plugin>>,
        points: Points,
        extenders: Arc<Extenders>,
        version: VersionRows,
    ) -> Self {
        let of_extenders = (!extenders.is_empty()).then(|| plugins.len().saturating_sub(1));
        let waits = Waits::of(&plugins, &points, of_extenders, version);
        let preconditions = Preconditions::of(&plugins);
        let places = |point: &[PluginId]| Places::of(point.iter().copied());
        let order = Order {
            pre_enqueue: places(&points.pre_enqueue),
            pre_filter: places(&points.pre_filter),
            filter: places(&points.filter),
            pre_score: places(&points.pre_score),
            score: Places::of(points.score.iter().map(|entry| entry.plugin)),
        };
        let always = Arc::new(order.concerned(&points, preconditions.any(), plugins.len()));
        let asks_again = |id: &&PluginId| {
            let point = plugins.get(id.index()).and_then(|plugin| plugin.pre_filter());
            point.and_then(|point| point.extensions()).is_some_and(|extensions| extensions.asks_again())
        };
        let again = points.pre_filter.iter().filter(asks_again).copied().collect();
        let those = |serves: fn(&dyn Plugin) -> bool| -> Vec<PluginId> {
            let serving = plugins.iter().enumerate().filter(|(_, plugin)| serves(&***plugin));
            serving.map(|(at, _)| PluginId(at as u16)).collect()
        };
        let failures = those(|plugin| plugin.rule_plugin().is_some_and(|of| of.failure().is_some()));
        let after_binds = those(|plugin| plugin.rule_plugin().is_some_and(|of| of.after_bind().is_some()));
        let counts = those(|plugin| plugin.rule_plugin().is_some_and(|of| of.counting().is_some()));
        Self {
            scheduler_name,
            percentage_of_nodes_to_score: None,
            plugins,
            args: None,
            points,
            waits,
            preconditions,
            order,
            always,
            again,
            failures,
            after_binds,
            counts,
            extenders,
            version,
            watch: None,
        }
    }

    /// This framework with extenders. After its plugins comes one that represents them among the plugins that
    /// refused a pod.
    pub fn with_extenders(mut self, extenders: Arc<Extenders>) -> Self {
        if extenders.is_empty() {
            return self;
        }
        self.plugins.push(extenders.plugin().clone());
        self.args = self.args.map(|args| args.into_iter().chain([Tree::default()]).collect());
        let version = self.version;
        Self { extenders, ..self }.made_anew(version)
    }

    /// The plugins with rules that do not decide.
    pub(crate) fn counts(&self) -> &[PluginId] {
        &self.counts
    }

    /// Its extenders.
    pub fn extenders(&self) -> &Arc<Extenders> {
        &self.extenders
    }

    /// The plugin that represents the extenders.
    pub fn extender_plugin(&self) -> PluginId {
        match self.extenders.is_empty() {
            true => PluginId::NONE,
            false => PluginId(self.plugins.len().saturating_sub(1) as u16),
        }
    }

    /// Sets the arguments of the plugins, in the order of the plugins.
    pub(crate) fn made_with(mut self, args: Vec<Tree>) -> Self {
        self.args = Some(args);
        self
    }

    /// The plugin that is equivalent to `theirs` of another framework: the same instance, or a plugin of the same name,
    /// text and arguments that may refuse at the same points.
    pub fn counterpart(&self, of: &Framework, theirs: PluginId) -> Option<PluginId> {
        let plugin = of.plugins.get(theirs.index())?;
        let digest = |plugin: &dyn Plugin| plugin.rule_plugin().map(|of| of.digest());
        let args = |of: &Framework, at: usize| of.args.as_ref().and_then(|args| args.get(at).cloned());
        let given = args(of, theirs.index());
        let at = self.plugins.iter().position(|own| Arc::ptr_eq(own, plugin)).or_else(|| {
            let at = self.plugins.iter().position(|own| own.name() == plugin.name())?;
            let same = args(self, at).zip(given).is_some_and(|(own, given)| own.same(&given))
                && digest(&**self.plugins.get(at)?) == digest(&**plugin);
            same.then_some(at)
        })?;
        let own = PluginId(at as u16);
        (self.points.may_refuse(own) == of.points.may_refuse(theirs)).then_some(own)
    }

    /// The plugins in the order of the profile; a [`PluginId`] is a place in it.
    pub fn plugins(&self) -> &[Arc<dyn Plugin>] {
        &self.plugins
    }

    /// The windows over which its plugins read what nodes use.
    pub fn metrics_windows(&self) -> Vec<Duration> {
        let plugins = self.plugins.iter().filter_map(|plugin| plugin.rule_plugin());
        plugins.flat_map(|of| of.metrics_windows()).collect()
    }

    /// A plugin.
    pub fn plugin(&self, id: PluginId) -> Option<&dyn Plugin> {
        self.plugins.get(id.index()).map(|plugin| &**plugin)
    }

    /// Whether the answers of a plugin depend on the time; one that panics may.
    pub fn reads_clock(&self, id: PluginId) -> bool {
        self.plugin(id)
            .is_some_and(|plugin| catch_unwind(AssertUnwindSafe(|| plugin.reads().clock)).unwrap_or(true))
    }

    /// The name of a plugin; empty for [`PluginId::NONE`].
    pub fn plugin_name(&self, id: PluginId) -> &str {
        self.plugin(id).map_or("", Plugin::name)
    }

    /// Which plugins run where.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Which events plugins wait for.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// What the plugins want to be kept for a pod; each once.
    pub fn wants(&self, pod: &PodInfo, snapshot: &Snapshot) -> Vec<Want> {
        let mut wants = Vec::new();
        self.plugins.iter().for_each(|plugin| plugin.wants(pod, snapshot, &mut wants));
        wants.sort();
        wants.dedup();
        wants
    }

    /// Whether an event may help a pod that `plugin` refused: upstream's hint, or the plugin's further one
    /// ([`EnqueueExtensions::further_hint`]). `None`: the plugin does not wait for such events.
    pub fn may_help(
        &self,
        plugin: PluginId,
        h: Handle,
        event: &crate::events::ClusterEvent,
    ) -> Option<crate::events::QueueingHint> {
        self.waits.may_help(&self.plugins, plugin, h, event)
    }

    /// What an event means for a pod that `plugin` refused, as upstream has it. `None`: the plugin does not wait for such
    /// events.
    pub fn hint(
        &self,
        plugin: PluginId,
        h: Handle,
        event: &crate::events::ClusterEvent,
    ) -> Option<crate::events::QueueingHint> {
        self.waits.hint(&self.plugins, plugin, h, event)
    }

    /// PreEnqueue plugins in configured order (upstream's order is random); the first refusal ends the run. Plugins are timed
    /// one by one where rules are.
    pub fn run_pre_enqueue(&self, h: Handle) -> Result<(), Status> {
        let point = &self.points.pre_enqueue;
        let some = match point[..] {
            [] => None,
            _ => self.preconditions.with(h.pod).map(|plugins| pick(point, &self.order.pre_enqueue, &plugins)),
        };
        let sampled = h.cycle.rule_times.is_some();
        self.timed(TimedPoint::PreEnqueue, || {
            for id in some.as_ref().unwrap_or(&self.always.pre_enqueue) {
                if let Some(point) = self.plugin(*id).and_then(|plugin| plugin.pre_enqueue()) {
                    self.timed_plugin(sampled, *id, TimedPoint::PreEnqueue, || {
                        point.pre_enqueue(&h.for_plugin(*id)).map_err(|status| status.by(*id))
                    })?;
                }
            }
            Ok(())
        })
    }

    /// The pod's place in the queue.
    pub fn sort_key(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> SortKey {
        let sort =
            self.points.queue_sort.first().and_then(|id| self.plugin(*id)).and_then(|p| p.queue_sort());
        sort.map(|sort| sort.key(pod, snapshot)).unwrap_or_default()
    }

    /// What can change the pod's place in the queue.
    pub fn sort_interest(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Interest {
        let Some(plugin) = self.points.queue_sort.first().and_then(|id| self.plugin(*id)) else {
            return Interest::default();
        };
        let own = plugin.queue_sort().and_then(|sort| sort.interest(pod, snapshot));
        own.unwrap_or_else(|| Interest::of(&plugin.reads()))
    }

    /// What the pod's place in the queue has in common with those of other pods.
    pub fn sort_share(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<SortShare> {
        let sort = self.points.queue_sort.first().and_then(|id| self.plugin(*id))?.queue_sort()?;
        sort.share(pod, snapshot)
    }

    /// Runs PreFilter plugins. Returns the nodes that are left, `None` for all. The diagnosis records a refusal and
    /// the plugins that narrowed the nodes.
    pub fn run_pre_filter(
        &self,
        cycle: &mut Cycle,
        snapshot: &Snapshot,
        recorder: &mut dyn Recorder,
    ) -> Result<Option<NodeSet>, Status> {
        self.timed(TimedPoint::PreFilter, || self.ask_pre_filters(cycle, snapshot, recorder))
    }

    fn ask_pre_filters(
        &self,
        cycle: &mut Cycle,
        snapshot: &Snapshot,
        recorder: &mut dyn Recorder,
    ) -> Result<Option<NodeSet>, Status> {
        let mut left: Option<NodeSet> = None;
        let mut narrowed = PluginSet::default();
        let mut refused: Option<Status> = None;
        let concerned = match self.preconditions.with(&cycle.pod) {
            None => self.always.clone(),
            Some(plugins) => Arc::new(self.order.concerned(&self.points, &plugins, self.plugins.len())),
        };
        cycle.state.skip_filter.union(&concerned.silent);
        cycle.state.skip_score.union(&concerned.silent);
        cycle.state.concerned = Some(concerned.clone());
        if let Some(status) = self.with_broken_index(&concerned, snapshot) {
            return Err(self.failed("running PreFilter plugin", status));
        }
        for id in &concerned.pre_filter {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.pre_filter()) else { continue };
            let mut slot = cycle.state.slot_mut(*id).clone();
            let outcome = self.timed_plugin(cycle.sampled, *id, TimedPoint::PreFilter, || {
                let outcome = point.pre_filter(&cycle.handle(snapshot).for_plugin(*id), &mut slot);
                outcome.map_err(|status| status.by(*id))
            });
            if !matches!(outcome, Ok(PreFilterOutcome::Skip)) {
                self.evaluated(*id, TimedPoint::PreFilter, 1);
            }
            *cycle.state.slot_mut(*id) = slot;
            recorder.pre_filter(*id, &outcome);
            match outcome {
                Ok(PreFilterOutcome::AllNodes) => {}
                Ok(PreFilterOutcome::Skip) => cycle.state.skip_filter.insert(*id),
                Ok(PreFilterOutcome::Only(nodes)) => {
                    narrowed.insert(*id);
                    // Names of unknown nodes leave no node; the plugins do not conflict.
                    let some_here = !nodes.is_empty() && left.as_ref().is_none_or(|left| !left.is_empty());
                    match &mut left {
                        Some(left) => left.intersect(&nodes),
                        None => left = Some(nodes),
                    }
                    if some_here && left.as_ref().is_some_and(NodeSet::is_empty) {
                        let mut names: Vec<&str> = narrowed.iter().map(|id| self.plugin_name(id)).collect();
                        names.sort_unstable();
                        let text = match names[..] {
                            [one] => format!("node(s) didn't satisfy plugin {one}"),
                            _ => format!(
                                "node(s) didn't satisfy plugin(s) [{}] simultaneously",
                                names.join(" ")
                            ),
                        };
                        for id in narrowed.iter() {
                            cycle.diagnosis.unschedulable_plugins.insert(id);
                        }
                        return Err(self.refused_by_pre_filter(cycle, Status::unresolvable(text)));
                    }
                }
                Err(status) => match status.code {
                    Code::UnschedulableAndUnresolvable => {
                        return Err(self.refused_by_pre_filter(cycle, status));
                    }
                    Code::Unschedulable => refused = Some(status),
                    // As upstream: PreFilter cannot make a pod pending.
                    Code::Pending | Code::Error => {
                        return Err(self.failed("running PreFilter plugin", status));
                    }
                },
            }
        }
        for id in narrowed.iter() {
            cycle.diagnosis.unschedulable_plugins.insert(id);
        }
        if let Some(status) = refused {
            return Err(self.refused_by_pre_filter(cycle, status));
        }
        if left.is_some() {
            let mut names: Vec<&str> = narrowed.iter().map(|id| self.plugin_name(id)).collect();
            names.sort_unstable();
            let text = format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" "));
            cycle.diagnosis.nodes.set_absent(Status::unresolvable(text));
        }
        Ok(left)
    }

    /// The `Error` of the first plugin of an attempt that lost an index: what it would say without it may be wrong.
    fn with_broken_index(&self, concerned: &Concerned, snapshot: &Snapshot) -> Option<Status> {
        snapshot.broken_indexes().next()?;
        let scorers = concerned.score.iter().map(|entry| entry.plugin);
        let early = concerned.pre_filter.iter().chain(&concerned.filter).chain(&concerned.pre_score);
        let late = self.points.reserve.iter().chain(&self.points.permit);
        let late = late.filter(|id| !concerned.silent.contains(**id));
        early.chain(late).copied().chain(scorers).find_map(|id| {
            let keys = self.plugin(id)?.indexes().into_iter().map(|(key, _)| key);
            let broken = keys.into_iter().find(|key| snapshot.broken_indexes().any(|other| other == key))?;
            Some(Status::error(format!("index {:?}: {}", broken.0.as_str(), IndexError::Broken)).by(id))
        })
    }

    /// The plugins whose Filter runs in this cycle, in order.
    pub fn filters<'a>(&'a self, state: &'a CycleState) -> impl Iterator<Item = PluginId> + 'a {
        let point = state.concerned.as_ref().map_or(&self.points.filter, |some| &some.filter);
        point.iter().copied().filter(|id| !state.skip_filter.contains(*id))
    }

    fn refused_by_pre_filter(&self, cycle: &mut Cycle, status: Status) -> Status {
        cycle.diagnosis.add_plugin(&status);
        cycle.diagnosis.pre_filter_message = Some(status.message());
        cycle.diagnosis.nodes.set_absent(status.clone());
        status
    }

    pub(super) fn failed(&self, what: &str, status: Status) -> Status {
        let text = format!("{what} {:?}: {}", self.plugin_name(status.plugin), status.message());
        Status::error(text).by(status.plugin).because_of(&status)
    }

    /// Filter plugins on one node, in order; the first refusal is the node's status.
    pub fn filter_node(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        for id in self.filters(h.cycle) {
            let Some(point) = self.plugin(id).and_then(|plugin| plugin.filter()) else { continue };
            self.evaluated(id, TimedPoint::Filter, 1);
            if let Err(status) = point.filter(&h.for_plugin(id), node) {
                let status = status.by(id);
                return Err(if status.code == Code::Error { self.filter_error(status) } else { status });
            }
        }
        Ok(())
    }

    /// An `Error` of a filter ends the attempt with this text.
    pub fn filter_error(&self, status: Status) -> Status {
        let text =
            format!("running {:?} filter plugin: {}", self.plugin_name(status.plugin), status.message());
        Status::error(text).by(status.plugin).because_of(&status)
    }

    /// Filter plugins on one node with nominated pods: the pod must fit together with those that keep the node from it,
    /// and without them.
    pub fn filter_with_nominated(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        let promised = h.snapshot.nominated(node.id());
        let mut keepers = promised.iter().filter(|other| self.keeps_from(other, h, node)).peekable();
        if keepers.peek().is_some() {
            let mut with = Simulation::new(self, h, node);
            for other in keepers {
                with.add_pod(other)?;
            }
            with.passes()?;
        }
        self.filter_node(h, node)
    }

    /// PreFilter extensions after `pod` was added to or removed from `node`. They get their slot as an argument; the
    /// state of the handle has none for them.
    pub(crate) fn run_pre_filter_extensions(
        &self,
        state: &mut CycleState,
        h: Handle,
        pod: &PodInfo,
        node: NodeInfo,
        added: bool,
    ) -> Result<(), Status> {
        for id in &self.points.pre_filter {
            if state.skip_filter.contains(*id) {
                continue;
            }
            let extensions = self.plugin(*id).and_then(|p| p.pre_filter()).and_then(|p| p.extensions());
            let Some(extensions) = extensions else { continue };
            // Taken out, so that writing into it copies nothing that only this state holds.
            let mut slot = std::mem::take(state.slot_mut(*id));
            let h = Handle { cycle: state, ..h.for_plugin(*id) };
            let done = if added {
                extensions.add_pod(&h, &mut slot, pod, node)
            } else {
                extensions.remove_pod(&h, &mut slot, pod, node)
            };
            *state.slot_mut(*id) = slot;
            let what = if added {
                "running AddPod on PreFilter plugin"
            } else {
                "running RemovePod on PreFilter plugin"
            };
            done.map_err(|status| self.failed(what, status.by(*id)))?;
        }
        Ok(())
    }

    /// Whether PreFilter lets the pod onto a node as things are simulated; the first refusal is the node's status.
    pub(super) fn pre_filter_again(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        for id in self.again.iter().filter(|id| !h.cycle.skip_filter.contains(**id)) {
            let extensions = self.plugin(*id).and_then(|p| p.pre_filter()).and_then(|p| p.extensions());
            let Some(extensions) = extensions else { continue };
            extensions.again(&h.for_plugin(*id), node).map_err(|status| status.by(*id))?;
        }
        Ok(())
    }

    /// Runs PreScore plugins; Score is skipped for those that return Skip.
    pub fn run_pre_score(&self, cycle: &mut Cycle, snapshot: &Snapshot, on: &Feasible) -> Result<(), Status> {
        self.timed(TimedPoint::PreScore, || self.ask_pre_scores(cycle, snapshot, on))
    }

    fn ask_pre_scores(&self, cycle: &mut Cycle, snapshot: &Snapshot, on: &Feasible) -> Result<(), Status> {
        let some = cycle.state.concerned.clone();
        for id in some.as_ref().map_or(&self.points.pre_score, |some| &some.pre_score) {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.pre_score()) else { continue };
            let mut slot = cycle.state.slot_mut(*id).clone();
            let outcome = self.timed_plugin(cycle.sampled, *id, TimedPoint::PreScore, || {
                point.pre_score(&cycle.handle(snapshot).for_plugin(*id), on, &mut slot)
            });
            if !matches!(outcome, Ok(PreScoreOutcome::Skip)) {
                self.evaluated(*id, TimedPoint::PreScore, 1);
            }
            *cycle.state.slot_mut(*id) = slot;
            match outcome {
                Ok(PreScoreOutcome::Score) => {}
                Ok(PreScoreOutcome::Skip) => cycle.state.skip_score.insert(*id),
                Err(status) => return Err(self.failed("running PreScore plugin", status.by(*id))),
            }
        }
        Ok(())
    }

    /// The scorers that run in this cycle.
    pub fn scorers<'a>(
        &'a self,
        state: &'a CycleState,
    ) -> impl Iterator<Item = (ScorePlugin, &'a dyn Score)> {
        let point = state.concerned.as_ref().map_or(&self.points.score, |some| &some.score);
        point.iter().filter(|entry| !state.skip_score.contains(entry.plugin)).filter_map(|entry| {
            let point = self.plugin(entry.plugin)?.score()?;
            Some((*entry, point))
        })
    }
}

/// Those of `plugins` that run at a point, in its order.
pub(super) fn pick<T: Copy>(point: &[T], places: &Places, plugins: &PluginSet) -> Vec<T> {
    places.pick(plugins).into_iter().filter_map(|place| point.get(usize::from(place)).copied()).collect()
}

/// The longest wait at Permit: 15 minutes.
///
/// Source: `pkg/scheduler/framework/runtime/framework.go`, `maxTimeout`.
pub const MAX_PERMIT_WAIT: bayplan_model::Duration = bayplan_model::Duration::from_seconds(15 * 60);

/// The data that acting plugins read and write.
pub struct Acting<'a> {
    /// The cluster.
    pub snapshot: &'a mut Snapshot,
    /// The instant.
    pub now: Time,
    /// The recorded actions.
    pub acts: &'a mut Vec<Act>,
    /// The number of the next ticket.
    pub next_ticket: &'a mut u64,
}

impl Acting<'_> {
    /// The actor of one plugin of one cycle.
    pub fn actor<'b>(&'b mut self, cycle: &'b mut Cycle, plugin: PluginId) -> Actor<'b> {
        Actor::new(&cycle.pod, self.snapshot, self.now, &mut cycle.state, plugin, self.acts, self.next_ticket)
    }
}
