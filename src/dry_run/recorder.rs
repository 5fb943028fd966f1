//! [`CoverageRecorder`]: watches the dry run of a test. It records which conditions each attempt
//! evaluated, from the traces of the reference evaluator, and keeps the states of the cluster that
//! explain a result. `analysis::coverage` says what a condition is.

use super::Watcher;
use super::cases::Remembered;
use bayplan_framework::{Code, Cycle, Silent, Simulation, Verdict};
use bayplan_lang::analysis::coverage::Coverage;
use bayplan_lang::eval::context::{EvalContext, MovedPods, Queued};
use bayplan_lang::eval::trace::Tracer;
use bayplan_lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan_lang::typed::Point;
use bayplan_model::{Change, NodeInfo, ObjectKey, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan_policy::{ExemptPods, Exemption, of_profile, why_exempt};
use bayplan_scheduler::{Decision, DecisionRecord, Profiles, Scheduler};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The cluster as an attempt found it.
pub(super) struct Moment {
    /// The cluster; the pod has no node.
    pub(super) snapshot: Snapshot,
    /// The instant.
    pub(super) now: Time,
}

/// Observes the pods of a test.
pub(super) struct CoverageRecorder<'a> {
    /// As they are written.
    policies: &'a PolicySet,
    /// Those of each profile, with its arguments.
    of_profiles: FxHashMap<Symbol, PolicySet>,
    profiles: &'a Profiles,
    coverage: &'a mut Coverage,
    /// The states in which pods were tried first and last.
    pub(super) first: FxHashMap<PodKey, Moment>,
    pub(super) last: FxHashMap<PodKey, Moment>,
    /// The pods that were evicted for a pod.
    pub(super) evicted: FxHashMap<PodKey, Vec<ObjectKey>>,
    /// The state at the end.
    pub(super) end: Option<Moment>,
    /// What memos remember at the beginning.
    pub(super) memos: Vec<Remembered>,
}

/// Which rules of a policy concern a pod.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Concerned {
    /// None.
    No,
    /// Scores only: the pod of a DaemonSet.
    Scores,
    /// All.
    All,
}

impl<'a> CoverageRecorder<'a> {
    pub(super) fn new(policies: &'a PolicySet, profiles: &'a Profiles, coverage: &'a mut Coverage) -> Self {
        let (of_profiles, first, last, evicted) = Default::default();
        Self { policies, of_profiles, profiles, coverage, first, last, evicted, end: None, memos: Vec::new() }
    }

    /// Records what a policy evaluates at an extension point. Whether a statement decided: a check
    /// refused, or the policy does not apply.
    fn record(&mut self, policy: &CompiledPolicy, point: Point, context: EvalContext<'_>) -> bool {
        // Rules that do not decide are evaluated too, and end nothing.
        for counting in policy.counts() {
            self.keep(Tracer::new(counting.rules(), point, context).reached());
        }
        self.keep(Tracer::new(policy.enforced(), point, context).reached())
    }

    /// The policies of the pod's profile that apply to it.
    fn applying(&mut self, context: EvalContext<'_>) -> Vec<(Arc<CompiledPolicy>, Concerned)> {
        self.applying_as(context, concerned)
    }

    /// The policies of the pod's profile whose `applies` holds for it and that concern it.
    fn applying_as(
        &mut self,
        context: EvalContext<'_>,
        concerned: impl Fn(&CompiledPolicy, &EvalContext<'_>) -> Concerned,
    ) -> Vec<(Arc<CompiledPolicy>, Concerned)> {
        let Some(framework) = self.profiles.get(&context.pod.scheduler_name) else { return Vec::new() };
        let of_profile = || of_profile(framework);
        let policies = self.of_profiles.entry(framework.scheduler_name.clone()).or_insert_with(of_profile);
        let mut of: Vec<_> =
            policies.iter().map(|policy| (policy.clone(), concerned(policy, &context))).collect();
        of.retain(|(policy, how)| *how != Concerned::No && !self.record(policy, Point::Applies, context));
        of
    }

    /// Records what the attempt of a decision evaluated.
    fn attempt(&mut self, before: &Snapshot, pod: &Arc<PodInfo>, record: &DecisionRecord) {
        let mut context = EvalContext::new(pod, before, record.at);
        context.queued = Queued { since: Some(record.first_attempt), attempts: record.attempt };
        let applying = self.applying(context);
        let refusing = || applying.iter().filter(|(_, how)| *how == Concerned::All).map(|(policy, _)| policy);
        for policy in refusing() {
            self.record(policy, Point::PreEnqueue, context);
        }
        // A policy that refuses the pod at once ends the attempt, but for evictions that may help.
        if refusing().any(|policy| self.record(policy, Point::PreFilter, context)) {
            self.evictions(&applying, before, pod, record);
            for policy in refusing() {
                self.record(policy, Point::Failure, context);
            }
            return;
        }
        for policy in refusing() {
            for node in before.nodes() {
                self.record(policy, Point::Filter, context.on(node));
            }
        }
        let detail = record.detail.as_ref().map(|detail| detail.nodes.as_slice()).unwrap_or_default();
        let feasible: Vec<_> =
            detail.iter().filter(|node| node.refused.is_none() && node.total.is_some()).collect();
        for node in &feasible {
            let Some(info) = named(before, &node.name) else { continue };
            for (policy, _) in &applying {
                self.record(policy, Point::Score, context.on(info));
            }
        }
        if feasible.is_empty() {
            self.evictions(&applying, before, pod, record);
        }
        let best = feasible.iter().max_by_key(|node| node.total).map(|node| &node.name);
        if !matches!(record.decision, Decision::Placed { .. }) {
            for policy in refusing() {
                self.record(policy, Point::Failure, context);
            }
        }
        let chosen = match &record.decision {
            Decision::Placed { node, .. } => Some(node),
            _ => best,
        };
        if let Some(node) = chosen.and_then(|name| named(before, name)) {
            let mut after = before.fork();
            after.apply(Change::PodPlaced { pod: pod.clone(), node: node.id(), how: Placement::Assumed });
            let Some(node) = after.node(node.id()) else { return };
            let context = EvalContext::new(pod, &after, record.at).on(node);
            if refusing().any(|policy| self.record(policy, Point::Reserve, context)) {
                return;
            }
            self.counted(&after, pod, record.at);
            for policy in refusing() {
                self.record(policy, Point::Permit, context);
            }
            for (policy, _) in &applying {
                self.record(policy, Point::PreBind, context);
                self.record(policy, Point::PostBind, context);
            }
        }
    }
}

impl CoverageRecorder<'_> {
    /// Records what rules about evictions evaluated: for each node on a simulation of its own, each pod with those gone
    /// that were judged before.
    fn evictions(
        &mut self,
        applying: &[(Arc<CompiledPolicy>, Concerned)],
        before: &Snapshot,
        pod: &Arc<PodInfo>,
        record: &DecisionRecord,
    ) {
        let policies: Vec<&CompiledPolicy> = applying.iter().map(|(policy, _)| &**policy).collect();
        let Some(framework) = self.profiles.get(&pod.scheduler_name).cloned() else { return };
        if policies.iter().all(|policy| !policy.policy.evicts()) {
            return;
        }
        let context = EvalContext::new(pod, before, record.at);
        let mut never = false;
        for policy in &policies {
            never |= self.record(policy, Point::PostFilter, context);
        }
        if never {
            return;
        }
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), record.at);
        // A pod that PreFilter refuses may fit without others.
        let refused = framework.run_pre_filter(&mut cycle, before, &mut Silent).err();
        if refused.is_some_and(|status| status.code == Code::UnschedulableAndUnresolvable) {
            return;
        }
        let handle = cycle.handle(before);
        let mut rules = framework.preemption_rules(handle);
        for node in before.nodes() {
            let mut trial = Simulation::new(&*framework, handle, node);
            let mut moved = MovedPods::default();
            let _ = rules.take_off(node, &mut trial, &mut |simulated, victim, verdict| {
                let context = EvalContext { moved: &moved, ..context }.on(simulated);
                for policy in &policies {
                    self.keep(Tracer::of_victim(policy.rules(), false, victim, context).reached());
                    self.keep(Tracer::of_victim(policy.rules(), true, victim, context).reached());
                }
                if verdict == Verdict::Candidate {
                    moved.remove(victim);
                }
            });
            let (_, simulated) = trial.view();
            let context = EvalContext { moved: &moved, ..context }.on(simulated);
            for policy in &policies {
                self.keep(Tracer::of_guards(policy.rules(), context).reached());
            }
        }
    }

    /// Records the conditions of statements. Whether one of them decided.
    fn keep(&mut self, mut tracer: Tracer<'_, '_>) -> bool {
        let mut decided = false;
        while let Some(finding) = tracer.next() {
            if let Some(condition) = tracer.condition(&finding) {
                self.coverage.record(&condition);
            }
            decided |= finding.decides;
        }
        decided
    }
}

impl Watcher for CoverageRecorder<'_> {
    fn ready(&mut self, scheduler: &mut Scheduler, now: Time) {
        self.memos.drain(..).for_each(|memo| memo.fill(scheduler, now));
    }

    fn decided(&mut self, before: Snapshot, record: &DecisionRecord) {
        let Some(pod) = before.pod(&record.key).map(|entry| entry.pod.clone()) else { return };
        if let Some(preemption) = record.preemption.as_ref().filter(|of| of.evicts) {
            self.evicted.entry(record.key.clone()).or_default().extend(preemption.victims.iter().cloned());
        }
        self.attempt(&before, &pod, record);
        let moment = Moment { snapshot: before, now: record.at };
        if !self.first.contains_key(&record.key) {
            let copy = Moment { snapshot: moment.snapshot.clone(), now: moment.now };
            self.first.insert(record.key.clone(), copy);
        }
        self.last.insert(record.key.clone(), moment);
    }

    fn handled(&mut self, scheduler: &Scheduler, now: Time) {
        let snapshot = scheduler.snapshot();
        for binding in scheduler.bindings() {
            let Some(pod) = snapshot.pod(&binding.pod).map(|entry| entry.pod.clone()) else { continue };
            let Some(node) = named(snapshot, &binding.node) else { continue };
            let context = EvalContext::new(&pod, snapshot, now).on(node);
            for (policy, how) in self.applying(context) {
                if how == Concerned::All {
                    self.record(&policy, Point::Permit, context);
                }
            }
        }
    }
}

impl CoverageRecorder<'_> {
    /// Records the gates of pods that have no node, which are evaluated again after an attempt, and keeps the state at the end.
    pub(super) fn ended(&mut self, snapshot: Snapshot, now: Time, pods: &[Arc<PodInfo>]) {
        for pod in pods {
            let placed = snapshot.pod(&pod.key).is_some_and(|entry| entry.placed.is_some());
            if placed && self.first.contains_key(&pod.key) {
                continue;
            }
            let context = EvalContext::new(pod, &snapshot, now);
            for (policy, how) in self.applying(context) {
                if how == Concerned::All {
                    self.record(&policy, Point::PreEnqueue, context);
                }
            }
        }
        for entry in snapshot.pods() {
            self.counted(&snapshot, &entry.pod, now);
        }
        self.end = Some(Moment { snapshot, now });
    }
}

impl CoverageRecorder<'_> {
    /// Records what ledgers evaluate for a pod that has a node.
    fn counted(&mut self, snapshot: &Snapshot, pod: &PodInfo, now: Time) {
        if self.policies.iter().all(|policy| policy.policy.ledgers.is_empty()) {
            return;
        }
        let context = EvalContext::new(pod, snapshot, now);
        let node = context.placement(pod).and_then(|(node, _)| snapshot.node(node));
        let Some(node) = node.filter(|_| !pod.is_finished()) else { return };
        // Pods that a policy leaves alone count.
        for (policy, _) in self.applying_as(context, |_, _| Concerned::All) {
            self.record(&policy, Point::Ledger, context.on(node));
        }
    }
}

/// Which rules of a policy concern a pod because of what the pod is.
fn concerned(policy: &CompiledPolicy, context: &EvalContext<'_>) -> Concerned {
    if policy.policy.to_all_pods {
        return Concerned::All;
    }
    match why_exempt(context.pod, &ExemptPods::default(), context.snapshot) {
        None => Concerned::All,
        Some(Exemption::DaemonSet) => Concerned::Scores,
        Some(Exemption::Namespace(_)) => Concerned::No,
    }
}

pub(super) fn named<'s>(snapshot: &'s Snapshot, name: &Symbol) -> Option<NodeInfo<'s>> {
    snapshot.node(snapshot.node_by_name(name)?)
}
