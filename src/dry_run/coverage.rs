//! [`Witness`]: watches the dry run of a test. It asks the reference evaluator what each attempt asked of the policies,
//! in the same order and as far, for condition coverage; and keeps the states of the cluster from which a result is
//! explained. What is a condition is `lang::coverage`'s to say.

use super::Watcher;
use crate::lang::eval::context::{EvalContext, Queued};
use crate::lang::eval::coverage::Coverage;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::typed::{Check, PrefilterStatement};
use crate::model::{Change, NodeInfo, Placement, PodInfo, PodKey, Snapshot, Time};
use crate::plugins::policy::{LeftAlone, why_left_alone};
use crate::scheduler::{Decision, DecisionRecord, Profiles, Scheduler};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The cluster as an attempt found it.
pub(super) struct Moment {
    /// The cluster; the pod has no node.
    pub(super) snapshot: Snapshot,
    /// The instant.
    pub(super) now: Time,
}

/// Watches the pods of a test.
pub(super) struct Witness<'a> {
    policies: &'a PolicySet,
    profiles: &'a Profiles,
    coverage: &'a mut Coverage,
    /// The states in which pods were tried first and last.
    pub(super) first: FxHashMap<PodKey, Moment>,
    pub(super) last: FxHashMap<PodKey, Moment>,
    /// The state at the end.
    pub(super) end: Option<Moment>,
}

/// How far the policies speak of a pod.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Spoken {
    /// Not at all.
    Nothing,
    /// Scores only: the pod of a DaemonSet.
    Scores,
    /// All of it.
    All,
}

impl<'a> Witness<'a> {
    pub(super) fn new(policies: &'a PolicySet, profiles: &'a Profiles, coverage: &'a mut Coverage) -> Self {
        let (first, last) = (FxHashMap::default(), FxHashMap::default());
        Self { policies, profiles, coverage, first, last, end: None }
    }

    /// The policies of the pod's profile that speak of it.
    fn asked(&self, pod: &PodInfo) -> Vec<(Arc<CompiledPolicy>, Spoken)> {
        let Some(framework) = self.profiles.get(&pod.scheduler_name) else { return Vec::new() };
        let enabled = |name: &str| framework.plugins().iter().any(|plugin| plugin.name() == name);
        let of = self.policies.iter().filter(|policy| enabled(policy.name()));
        of.map(|policy| (policy.clone(), spoken(policy, pod)))
            .filter(|(_, how)| *how != Spoken::Nothing)
            .collect()
    }

    /// Whether the policy applies to the pod of the context; its conditions are noted.
    fn applies(&mut self, policy: &CompiledPolicy, context: EvalContext<'_>) -> bool {
        let mut evaluator = policy.evaluator(context);
        let applies = policy.policy.applies.iter().all(|condition| {
            self.coverage.see(&evaluator.tree(condition));
            evaluator.holds(condition)
        });
        let missing = policy.policy.lets.iter().filter(|of| of.missing.is_some());
        applies && missing.into_iter().all(|of| !evaluator.value(&of.value).is_absent())
    }

    /// Asks checks in turn; whether none refuses.
    fn pass<'c>(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        checks: impl Iterator<Item = &'c Check>,
    ) -> bool {
        for check in checks {
            let Some(condition) = &check.condition else { return !check.refuses_when };
            self.coverage.see(&evaluator.tree(condition));
            if evaluator.holds(condition) == check.refuses_when {
                return false;
            }
        }
        true
    }

    /// What an attempt asks of a policy before any node is looked at; whether it goes on.
    fn prefilter(&mut self, policy: &CompiledPolicy, context: EvalContext<'_>) -> bool {
        let mut evaluator = policy.evaluator(context);
        for statement in policy.policy.prefilters.iter().flat_map(|prefilter| &prefilter.statements) {
            match statement {
                PrefilterStatement::Check(check) => {
                    if !self.pass(&mut evaluator, std::iter::once(check)) {
                        return false;
                    }
                }
                PrefilterStatement::Only(only) => {
                    if let Some(when) = &only.when {
                        self.coverage.see(&evaluator.tree(when));
                    }
                }
            }
        }
        true
    }

    fn scores(&mut self, policy: &CompiledPolicy, context: EvalContext<'_>) {
        let mut evaluator = policy.evaluator(context);
        for score in &policy.policy.scores {
            for give in &score.gives {
                let Some(when) = &give.when else { break };
                self.coverage.see(&evaluator.tree(when));
                if evaluator.holds(when) {
                    break;
                }
            }
        }
    }

    /// Notes what the attempt of a decision asked.
    fn attempt(&mut self, before: &Snapshot, pod: &Arc<PodInfo>, record: &DecisionRecord) {
        let mut context = EvalContext::new(pod, before, record.at);
        context.queued = Queued { since: Some(record.first_attempt), attempts: record.attempt };
        let policies = self.asked(pod);
        let applying: Vec<_> =
            policies.into_iter().filter(|(policy, _)| self.applies(policy, context)).collect();
        let refusing = || applying.iter().filter(|(_, how)| *how == Spoken::All).map(|(policy, _)| policy);
        for policy in refusing() {
            self.pass(&mut policy.evaluator(context), policy.policy.gates.iter());
        }
        // A policy that refuses the pod at once ends the attempt.
        if !refusing().all(|policy| self.prefilter(policy, context)) {
            return;
        }
        for policy in refusing() {
            for node in before.nodes() {
                let mut evaluator = policy.evaluator(context.on(node));
                let checks = policy.policy.filters.iter().flat_map(|filter| &filter.checks);
                self.pass(&mut evaluator, checks);
            }
        }
        let detail = record.detail.as_ref().map(|detail| detail.nodes.as_slice()).unwrap_or_default();
        let feasible: Vec<_> =
            detail.iter().filter(|node| node.refused.is_none() && node.total.is_some()).collect();
        for node in &feasible {
            let Some(info) = named(before, &node.name) else { continue };
            for (policy, _) in &applying {
                self.scores(policy, context.on(info));
            }
        }
        let best = feasible.iter().max_by_key(|node| node.total).map(|node| &node.name);
        let chosen = match &record.decision {
            Decision::Placed { node, .. } => Some(node),
            _ => best,
        };
        if let Some(node) = chosen.and_then(|name| named(before, name)) {
            let mut after = before.clone();
            after.apply(Change::PodPlaced { pod: pod.clone(), node: node.id(), how: Placement::Assumed });
            let Some(node) = after.node(node.id()) else { return };
            let context = EvalContext::new(pod, &after, record.at).on(node);
            for policy in refusing() {
                let checks = policy.policy.permits.iter().flat_map(|permit| &permit.checks);
                self.pass(&mut policy.evaluator(context), checks);
            }
        }
    }
}

impl Watcher for Witness<'_> {
    fn decided(&mut self, before: Snapshot, record: &DecisionRecord) {
        let Some(pod) = before.pod(&record.key).map(|entry| entry.pod.clone()) else { return };
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
            for (policy, how) in self.asked(&pod) {
                if how != Spoken::All || policy.policy.permits.is_empty() || !self.applies(&policy, context) {
                    continue;
                }
                let mut evaluator = policy.evaluator(context);
                for wait in policy.policy.permits.iter().flat_map(|permit| &permit.waits) {
                    self.coverage.see(&evaluator.tree(&wait.until));
                }
            }
        }
    }
}

impl Witness<'_> {
    /// Notes the gates of pods that were never tried, and the state at the end.
    pub(super) fn ended(&mut self, snapshot: Snapshot, now: Time, pods: &[Arc<PodInfo>]) {
        for pod in pods {
            if self.first.contains_key(&pod.key) {
                continue;
            }
            let context = EvalContext::new(pod, &snapshot, now);
            for (policy, how) in self.asked(pod) {
                if how == Spoken::All && self.applies(&policy, context) {
                    self.pass(&mut policy.evaluator(context), policy.policy.gates.iter());
                }
            }
        }
        self.end = Some(Moment { snapshot, now });
    }
}

/// How far a policy speaks of a pod because of what the pod is.
fn spoken(policy: &CompiledPolicy, pod: &PodInfo) -> Spoken {
    if policy.policy.to_all_pods {
        return Spoken::All;
    }
    match why_left_alone(pod, &LeftAlone::default()).as_deref() {
        None => Spoken::All,
        Some("DaemonSet") => Spoken::Scores,
        Some(_) => Spoken::Nothing,
    }
}

pub(super) fn named<'s>(snapshot: &'s Snapshot, name: &crate::model::Symbol) -> Option<NodeInfo<'s>> {
    snapshot.node(snapshot.node_by_name(name)?)
}
