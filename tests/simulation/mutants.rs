//! Mistakes made on purpose, put between the scheduler and its plugins or its driver. Each must be caught: these are
//! the tests of the simulation's checks.

use crate::device_mutants;
use bayplan::framework::*;
use bayplan::lang::codegen::ledgers;
use bayplan::lang::eval::ledgers::{Definition, LedgerIndex};
use bayplan::model::{
    Duration, Index, IndexKey, Kind, NodeId, NodeInfo, NodeSet, Object, PodInfo, PodKey, PodPrecondition,
    Snapshot, Time, Want,
};
use bayplan::scheduler::Input;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    /// None: what carries the mistakes changes nothing by itself.
    Harmless,
    /// Changes of node labels wake no pod.
    ForgetNodeLabels,
    /// Unreserve does nothing.
    SkipUnreserve,
    /// The driver reports a call of unknown outcome as refused.
    ForgetUnknown,
    /// The driver reports a call that was answered with 429 as refused.
    ThrottledIsRefused,
    /// The driver does not show that a pod is being deleted.
    HideDeletions,
    /// Deleted pods wake no pod.
    SkipDeletions,
    /// Polls of the metrics API wake no pod.
    ForgetMetrics,
    /// When a gang breaks up, its other members stay at Permit.
    LeaveGangBehind,
    /// A pod that waits at Permit is never re-evaluated.
    JudgeOnce,
    /// No plugin says when the clock changes its answer.
    ForgetClock,
    /// Steps of the wall clock are not reported.
    ForgetSteps,
    /// All pods that wait at a plugin's Permit are in one equivalence class.
    AllAreEquivalent,
    /// Waiting pods do not say which groups concern them.
    ForgetGroups,
    /// What a memo remembers wakes no pod when it changes or ends.
    ForgetMemos,
    /// No policy hears of what the scheduler decided about a pod.
    ForgetDecisions,
    /// The entries of ledgers do not move when a node changes.
    LeaveEntries,
    /// The entries of ledgers do not move when an object changes that they look up.
    LeaveEntriesOfObjects,
    /// The driver does not show that objects of other kinds than pods, nodes and namespaces are gone.
    ForgetObjectsGone,
    /// Preemption also evicts pods of the priority of the preemptor and of higher priority.
    GreedyVictims,
    /// No PreEnqueue plugin keeps a pod out.
    OpenGate,
    /// A pod is reserved without what it assumes about objects.
    AssumeNothing,
    /// Unreserve says that what the pod assumes was written, at a version that never comes.
    KeepAssumptions,
    /// The driver does not show what other schedulers allocate to claims.
    ForgetForeign,
    /// The driver does not show which pods use claims.
    ForgetReserved,
    /// The driver reports a call of unknown outcome as one that was not allowed.
    UnknownIsNotDone,
    /// A pod whose claims are allocated already is bound without being added to those that use them.
    SkipReservation,
    /// A pod does not wait until its devices are prepared.
    SkipPreparation,
    /// No event about claims wakes a pod that DynamicResources refused.
    ClaimsWakeNothing,
    /// No event about slices and rules of taints wakes a pod that DynamicResources refused.
    SlicesWakeNothing,
    /// InterPodAffinity allows every node.
    BlindAffinity,
    /// No event wakes a pod that InterPodAffinity refused.
    AffinityWakesNothing,
    /// The driver does not hand over what extenders answer.
    ForgetExtenders,
    /// The mark of what is left to do after a binding goes before it is done.
    RemoveMarks,
    /// Every extension point panics now and then. The scheduler must live on: this one is no mistake to be caught.
    Panics,
}

/// What a panic made on purpose says.
pub(crate) const ON_PURPOSE: &str = "a plugin panics on purpose";

impl Mutant {
    /// The framework with this mistake in all of its plugins.
    pub(crate) fn of(self, framework: &Framework) -> Arc<Framework> {
        let plugins = framework.plugins().iter().map(|plugin| {
            let inner = Arc::clone(plugin);
            Arc::new(Mutated { inner, mutant: self }) as Arc<dyn Plugin>
        });
        let name = framework.scheduler_name.clone();
        Arc::new(Framework::new(name, plugins.collect(), framework.points().clone()))
    }

    /// What a driver with this mistake hands to the scheduler.
    pub(crate) fn input(self, input: Input) -> Input {
        match input {
            Input::Reply(ticket, Err(CallError::Unknown(message))) if self == Self::ForgetUnknown => {
                let reason = String::from("Conflict");
                Input::Reply(ticket, Err(CallError::Refused { code: 409, reason, message }))
            }
            Input::Reply(_, Ok(Answer::Extender(answer)))
                if self == Self::ForgetExtenders && answer != ExtenderAnswer::Bound =>
            {
                Input::Tick
            }
            Input::WallClock(_) if self == Self::ForgetSteps => Input::WallClock(Duration::ZERO),
            Input::Reply(ticket, Err(CallError::Retry { message, .. }))
                if self == Self::ThrottledIsRefused =>
            {
                let reason = String::from("TooManyRequests");
                Input::Reply(ticket, Err(CallError::Refused { code: 429, reason, message }))
            }
            Input::Deleted(key)
                if self == Self::ForgetObjectsGone
                    && !matches!(key.kind, Kind::Pod | Kind::Node | Kind::Namespace) =>
            {
                Input::Tick
            }
            Input::Reply(ticket, Err(CallError::Unknown(message))) if self == Self::UnknownIsNotDone => {
                let reason = String::from("Forbidden");
                Input::Reply(ticket, Err(CallError::Refused { code: 403, reason, message }))
            }
            Input::Upserted(object) => Input::Upserted(self.shown(object)),
            Input::Relisted(kind, all) => {
                Input::Relisted(kind, all.into_iter().map(|object| self.shown(object)).collect())
            }
            other => other,
        }
    }

    /// An object as the driver shows it.
    fn shown(self, object: Object) -> Object {
        match self {
            Self::HideDeletions => undeleted(object),
            Self::ForgetForeign => device_mutants::changed(object, device_mutants::not_allocated),
            Self::ForgetReserved => device_mutants::changed(object, device_mutants::not_reserved),
            _ => object,
        }
    }
}

/// The object as if its deletion had not begun.
fn undeleted(object: Object) -> Object {
    match object {
        Object::Pod(pod) if pod.deleted.is_some() => {
            Object::Pod(Arc::new(PodInfo { deleted: None, ..(*pod).clone() }))
        }
        other => other,
    }
}

/// A plugin with a mistake.
struct Mutated {
    inner: Arc<dyn Plugin>,
    mutant: Mutant,
}

impl Mutated {
    /// Panics at some moments for some pods, the same ones in every run.
    fn may_panic(&self, point: &str, pod: &PodKey, now: Time) {
        if self.mutant != Mutant::Panics {
            return;
        }
        let mut hasher = rustc_hash::FxHasher::default();
        (point, self.inner.name(), pod, now.0).hash(&mut hasher);
        let drawn = hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        assert!(!drawn.is_multiple_of(40), "{ON_PURPOSE}");
    }

    /// Whether this is the plugin of devices, and it has this mistake.
    fn mistakes_devices(&self, mutant: Mutant) -> bool {
        self.mutant == mutant && self.inner.name() == "DynamicResources"
    }

    /// Whether every node is allowed by mistake.
    fn overlooks(&self) -> bool {
        self.mutant == Mutant::BlindAffinity && self.inner.name() == "InterPodAffinity"
    }

    fn may_panic_at(&self, point: &str, h: &Handle) {
        self.may_panic(point, &h.pod.key, h.now);
    }

    fn may_panic_in(&self, point: &str, a: &Actor) {
        self.may_panic(point, &a.pod.key, a.now);
    }
}

impl Plugin for Mutated {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn reads(&self) -> Reads {
        self.inner.reads()
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        self.inner.precondition()
    }
    fn rule_plugin(&self) -> Option<&dyn RulePlugin> {
        self.inner.rule_plugin().map(|_| self as &dyn RulePlugin)
    }
    fn next_change(&self, h: &Handle, work: &mut u64) -> Option<Time> {
        self.may_panic_at("next_change", h);
        self.inner.next_change(h, work).filter(|_| self.mutant != Mutant::ForgetClock)
    }
    fn wants(&self, pod: &PodInfo, snapshot: &Snapshot, out: &mut Vec<Want>) {
        self.inner.wants(pod, snapshot, out);
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        let mut indexes = self.inner.indexes();
        for (key, index) in &mut indexes {
            let leaves = matches!(self.mutant, Mutant::LeaveEntries | Mutant::LeaveEntriesOfObjects);
            if let (true, Some((of, ledger))) = (leaves, crate::rules::ledger_of(key)) {
                let entry = ledgers::entry(&of.policy, ledger);
                let mut definition = Definition::new(&of.policy, ledger, None, entry);
                match self.mutant {
                    Mutant::LeaveEntries => definition.reads_node = false,
                    _ => definition.reads_objects = false,
                }
                *index = Box::new(LedgerIndex::new(definition));
            }
        }
        indexes
    }
    fn pre_enqueue(&self) -> Option<&dyn PreEnqueue> {
        self.inner.pre_enqueue().map(|_| self as &dyn PreEnqueue)
    }
    fn queue_sort(&self) -> Option<&dyn QueueSort> {
        self.inner.queue_sort().map(|_| self as &dyn QueueSort)
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.inner.enqueue_extensions().map(|_| self as &dyn EnqueueExtensions)
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.inner.pre_filter().map(|_| self as &dyn PreFilter)
    }
    fn filter(&self) -> Option<&dyn Filter> {
        self.inner.filter().map(|_| self as &dyn Filter)
    }
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        self.inner.post_filter().map(|_| self as &dyn PostFilter)
    }
    fn pre_score(&self) -> Option<&dyn PreScore> {
        self.inner.pre_score().map(|_| self as &dyn PreScore)
    }
    fn score(&self) -> Option<&dyn Score> {
        self.inner.score()
    }
    fn reserve(&self) -> Option<&dyn Reserve> {
        self.inner.reserve().map(|_| self as &dyn Reserve)
    }
    fn permit(&self) -> Option<&dyn Permit> {
        self.inner.permit().map(|_| self as &dyn Permit)
    }
    fn pre_bind(&self) -> Option<&dyn PreBind> {
        self.inner.pre_bind().map(|_| self as &dyn PreBind)
    }
    fn bind(&self) -> Option<&dyn Bind> {
        self.inner.bind().map(|_| self as &dyn Bind)
    }
    fn post_bind(&self) -> Option<&dyn PostBind> {
        self.inner.post_bind().map(|_| self as &dyn PostBind)
    }
}

impl RulePlugin for Mutated {
    fn digest(&self) -> u64 {
        self.inner.rule_plugin().map_or(0, |of| of.digest())
    }
    fn metrics_windows(&self) -> Vec<Duration> {
        self.inner.rule_plugin().map_or_else(Vec::new, |of| of.metrics_windows())
    }
    fn preemption(&self) -> Option<&dyn PreemptionRules> {
        self.inner.rule_plugin()?.preemption()
    }
    fn failure(&self) -> Option<&dyn Failure> {
        self.inner.rule_plugin()?.failure()
    }
    fn after_bind(&self) -> Option<&dyn AfterBind> {
        self.inner.rule_plugin()?.after_bind().map(|_| self as &dyn AfterBind)
    }
}

impl PreEnqueue for Mutated {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        self.may_panic_at("pre_enqueue", h);
        if self.mutant == Mutant::OpenGate {
            return Ok(());
        }
        self.inner.pre_enqueue().unwrap().pre_enqueue(h)
    }
}

impl QueueSort for Mutated {
    fn key(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> SortKey {
        self.may_panic("key", &pod.pod.key, pod.timestamp);
        self.inner.queue_sort().unwrap().key(pod, snapshot)
    }
    fn interest(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<Interest> {
        self.may_panic("sort interest", &pod.pod.key, pod.timestamp);
        self.inner.queue_sort().unwrap().interest(pod, snapshot)
    }
    fn share(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<SortShare> {
        self.may_panic("sort share", &pod.pod.key, pod.timestamp);
        self.inner.queue_sort().unwrap().share(pod, snapshot)
    }
}

impl PreFilter for Mutated {
    fn pre_filter(&self, h: &Handle, slot: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        self.may_panic_at("pre_filter", h);
        self.inner.pre_filter().unwrap().pre_filter(h, slot)
    }
    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        self.inner.pre_filter().unwrap().extensions()
    }
}

impl Filter for Mutated {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        self.may_panic_at("filter", h);
        if self.overlooks() {
            return Ok(());
        }
        self.inner.filter().unwrap().filter(h, node)
    }
    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        self.may_panic_at("filter", h);
        if self.overlooks() {
            return;
        }
        self.inner.filter().unwrap().filter_range(h, nodes, out);
    }
}

impl PostFilter for Mutated {
    fn preempts(&self) -> bool {
        self.inner.post_filter().unwrap().preempts()
    }
    fn is_substitute(&self) -> bool {
        self.inner.post_filter().unwrap().is_substitute()
    }
    fn post_filter(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &mut dyn PluginsRunner,
    ) -> PostFilterOutcome {
        self.may_panic_at("post_filter", h);
        let mut outcome = self.inner.post_filter().unwrap().post_filter(h, nodes, run);
        if let (PostFilterOutcome::Candidates(all), Mutant::GreedyVictims) = (&mut outcome, self.mutant) {
            for candidate in all {
                let pods = h.snapshot.node(candidate.node).into_iter().flat_map(|node| node.pods());
                candidate.victims = pods.cloned().collect();
            }
        }
        outcome
    }
}

impl PreScore for Mutated {
    fn pre_score(&self, h: &Handle, on: &Feasible, slot: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        self.may_panic_at("pre_score", h);
        self.inner.pre_score().unwrap().pre_score(h, on, slot)
    }
}

impl PreBind for Mutated {
    fn pre_flight(&self, h: &Handle, node: NodeId) -> Result<PreFlight, Status> {
        self.may_panic_at("pre_flight", h);
        if self.mistakes_devices(Mutant::SkipReservation) && device_mutants::only_reserves(h) {
            return Ok(PreFlight::Skip);
        }
        self.inner.pre_bind().unwrap().pre_flight(h, node)
    }
    fn start(&self, a: &mut Actor, node: NodeId) -> Result<Box<dyn BindTask>, Status> {
        self.may_panic_in("start", a);
        let task = self.inner.pre_bind().unwrap().start(a, node)?;
        Ok(match self.mistakes_devices(Mutant::SkipPreparation) {
            true => Box::new(device_mutants::Hasty(task)),
            false => task,
        })
    }
}

impl Bind for Mutated {
    fn bind(&self, h: &Handle, node: NodeId) -> Result<BindOutcome, Status> {
        self.may_panic_at("bind", h);
        self.inner.bind().unwrap().bind(h, node)
    }
}

impl PostBind for Mutated {
    fn post_bind(&self, a: &mut Actor, node: NodeId) {
        self.may_panic_in("post_bind", a);
        self.inner.post_bind().unwrap().post_bind(a, node);
    }
}

impl AfterBind for Mutated {
    fn marks(&self, h: &Handle) -> bool {
        self.may_panic_at("mark", h);
        self.inner.rule_plugin().unwrap().after_bind().unwrap().marks(h)
    }
    fn writes(&self, h: &Handle, node: NodeId) -> Vec<Write> {
        self.may_panic_at("writes", h);
        let mut writes = self.inner.rule_plugin().unwrap().after_bind().unwrap().writes(h, node);
        if self.mutant == Mutant::RemoveMarks {
            // The mark goes with the annotations of the pod.
            writes.retain(|write| matches!(write.body, PatchBody::Metadata(_)));
        }
        writes
    }
}

impl EnqueueExtensions for Mutated {
    fn events(&self) -> Vec<EventRegistration> {
        self.inner.enqueue_extensions().unwrap().events()
    }
    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        self.may_panic_at("hint", h);
        let forgotten = match self.mutant {
            Mutant::ForgetNodeLabels => event.action == ActionType::UPDATE_NODE_LABEL,
            Mutant::ForgetMetrics => event.resource == EventResource::NodeMetrics,
            Mutant::AffinityWakesNothing => self.inner.name() == "InterPodAffinity",
            Mutant::ForgetDecisions => event.resource == EventResource::DecidedPod,
            Mutant::ClaimsWakeNothing => {
                self.inner.name() == "DynamicResources" && event.resource == EventResource::ResourceClaim
            }
            Mutant::SlicesWakeNothing => {
                self.inner.name() == "DynamicResources" && event.resource == EventResource::ResourceSlice
            }
            Mutant::ForgetMemos => matches!(event.objects, EventObjects::Moved(_)),
            Mutant::SkipDeletions => matches!(event.objects, EventObjects::Pod { new: None, .. }),
            _ => false,
        };
        if forgotten {
            return QueueingHint::Skip;
        }
        self.inner.enqueue_extensions().unwrap().hint(h, event)
    }
}

impl Reserve for Mutated {
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status> {
        self.may_panic_in("reserve", a);
        let done = self.inner.reserve().unwrap().reserve(a, node);
        if self.mutant == Mutant::AssumeNothing {
            let assumed = a.handle().snapshot.assumed_by(&a.pod.key);
            assumed.iter().for_each(|object| a.unassume(object));
        }
        done
    }
    fn unreserve(&self, a: &mut Actor, node: NodeId) {
        self.may_panic_in("unreserve", a);
        let assumes = matches!(self.inner.name(), "VolumeBinding" | "DynamicResources");
        if self.mutant == Mutant::KeepAssumptions && assumes {
            let assumed = a.handle().snapshot.assumed_by(&a.pod.key);
            assumed.iter().for_each(|object| a.written(object, "999999999"));
            return;
        }
        if self.mutant != Mutant::SkipUnreserve {
            self.inner.reserve().unwrap().unreserve(a, node);
        }
    }
}

impl Permit for Mutated {
    fn permit(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        self.may_panic_in("permit", a);
        self.inner.permit().unwrap().permit(a, node)
    }
    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        if self.mutant == Mutant::JudgeOnce {
            return Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(3_600) });
        }
        self.may_panic_in("reconsider", a);
        self.inner.permit().unwrap().reconsider(a, node)
    }
    fn equivalence_key(&self, h: &Handle) -> Option<u64> {
        if self.mutant == Mutant::AllAreEquivalent {
            return Some(0);
        }
        self.may_panic_at("equivalence_key", h);
        self.inner.permit().unwrap().equivalence_key(h)
    }
    fn interest(&self, h: &Handle) -> Option<Interest> {
        self.may_panic_at("interest", h);
        let interest = self.inner.permit().unwrap().interest(h);
        interest.map(|interest| match self.mutant {
            Mutant::ForgetGroups => Interest { groups: Vec::new(), ..interest },
            _ => interest,
        })
    }
    fn timed_out(&self, h: &Handle) -> Option<Status> {
        self.may_panic_at("timed_out", h);
        self.inner.permit().unwrap().timed_out(h)
    }
    fn left(&self, a: &mut Actor) {
        self.may_panic_in("left", a);
        if self.mutant != Mutant::LeaveGangBehind {
            self.inner.permit().unwrap().left(a);
        }
    }
}
