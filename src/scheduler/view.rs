//! Read-only views of a scheduler: the queue that holds a pod, the state of bindings, the number of open calls. For
//! reports, metrics and the checks of the simulation.

use super::Scheduler;
use super::binding_cycle::{BindingCycle, BindingStage};
use super::blame::{Waiting, has_rule};
use super::cache::PodState;
use super::faults::RuleErrors;
use super::queue::QueuePlace;
use bayplan_framework::{Framework, QueuedPodInfo, Ticket, WouldEffect};
use bayplan_model::{Duration, NodeId, NodeSet, PodKey, Symbol, Time, VersionRow};
use std::collections::{BTreeMap, BTreeSet};

/// How far a binding has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It waits at Permit for these plugins, each with its deadline.
    Permit(Vec<(Symbol, Time)>),
    /// Plugins work before the bind.
    PreBind,
    /// The bind call was sent.
    Bind(Ticket),
    /// The outcome of the bind is unknown; the pod is read to find out.
    Resolve,
    /// Cancelled; waits for the replies to its open calls.
    Leaving,
}

/// A summary of a binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindingView {
    /// The pod.
    pub pod: PodKey,
    /// The chosen node.
    pub node: Symbol,
    /// Its row.
    pub row: NodeId,
    /// When it began.
    pub began: Time,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a binding has come, in a word.
pub(super) fn stage_word(stage: &BindingStage) -> &'static str {
    match stage {
        BindingStage::Permit(_) => "permit",
        BindingStage::PreBind(_) => "preBind",
        BindingStage::Bind(_) => "bind",
        BindingStage::Resolve { .. } => "resolve",
        BindingStage::Leaving { .. } => "leaving",
    }
}

impl Scheduler {
    /// All bindings, ordered by pod.
    pub fn bindings(&self) -> Vec<BindingView> {
        let view = |(pod, binding): (&PodKey, &BindingCycle)| BindingView {
            pod: pod.clone(),
            node: binding.node_name.clone(),
            row: binding.node,
            began: binding.began,
            stage: match &binding.stage {
                BindingStage::Permit(waits) => {
                    Stage::Permit(waits.iter().map(|wait| (wait.name.clone(), wait.until)).collect())
                }
                BindingStage::PreBind(_) => Stage::PreBind,
                BindingStage::Bind(ticket) => Stage::Bind(*ticket),
                BindingStage::Resolve { .. } => Stage::Resolve,
                BindingStage::Leaving { .. } => Stage::Leaving,
            },
        };
        self.bindings.all().into_iter().map(view).collect()
    }

    /// The instant of the last input.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The pod whose attempt waits for extenders.
    pub fn suspended(&self) -> Option<&PodKey> {
        self.suspended.as_ref().map(|attempt| attempt.key())
    }

    /// Whether a pod is being bound.
    pub fn is_binding(&self, pod: &PodKey) -> bool {
        self.bindings.get(pod).is_some()
    }

    /// The queue that a pod is in; `None` when it is not queued.
    pub fn queue_place(&self, pod: &PodKey) -> Option<QueuePlace> {
        self.queue.place(pod)
    }

    /// The queue's record of a pod.
    pub fn queued(&self, pod: &PodKey) -> Option<&QueuedPodInfo> {
        self.queue.get(pod)
    }

    /// The instant at which time alone may help an unschedulable pod.
    pub fn alarm(&self, pod: &PodKey) -> Option<Time> {
        self.queue.alarm(pod)
    }

    /// The PreEnqueue plugin that keeps a pod out of the queue.
    pub fn gate(&self, pod: &PodKey) -> Option<&str> {
        self.queue.gate(pod)
    }

    /// The pod that the next [`Input::Cycle`](super::Input::Cycle) tries: an active one, or else one in back-off.
    pub fn next_pod(&mut self) -> Option<&PodKey> {
        self.queue.next(&self.cache.snapshot)
    }

    /// The nodes that shared the highest total in the last attempt; none if it chose no node.
    pub fn best_nodes(&self) -> &NodeSet {
        self.decider.best()
    }

    /// Pods to be tried now, in their order.
    pub fn queue_order(&self) -> impl Iterator<Item = &PodKey> {
        self.queue.active(&self.cache.snapshot).into_iter()
    }

    /// A pod whose place in the queue differs from its sort key, though no change is noted that would compute the key
    /// again; for checks.
    pub fn misplaced(&self) -> Option<&PodKey> {
        self.queue.misplaced(&self.cache.snapshot)
    }

    /// Every queued pod, in the order of arrival.
    pub fn all_queued(&self) -> Vec<PodKey> {
        self.queue.all()
    }

    /// How many pods are active, in back-off, unschedulable and gated.
    pub fn queue_counts(&self) -> [usize; 4] {
        self.queue.counts()
    }

    /// The number of pods that entered each queue: name of the queue, label of the event, count.
    pub fn queue_incoming(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.queue.incoming()
    }

    /// The number of entities that entered each queue, as `queue_incoming`; none where the version counts none.
    pub fn entities_incoming(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        let counts = self.counts_entities();
        self.queue.incoming_entities().filter(move |_| counts)
    }

    /// Whether the version counts entities beside pods. Each pod is one.
    pub fn counts_entities(&self) -> bool {
        self.cache.snapshot.version_rows().has(VersionRow::QueuedEntities)
    }

    /// How many queued pods were refused, by profile and plugin.
    pub fn refused_by(&self) -> std::collections::BTreeMap<(String, String), usize> {
        self.queue.refused()
    }

    /// How many pods hold columns of node labels.
    pub fn pods_with_wants(&self) -> usize {
        self.cache.holders.pods()
    }

    /// The number of events kept for pods in flight; at most 10,000.
    pub fn in_flight_events(&self) -> usize {
        self.queue.in_flight_events()
    }

    /// The number of events kept for pods in flight by label, and that of pods in flight as `PodPopped`.
    pub fn in_flight_by_label(&self) -> std::collections::BTreeMap<String, usize> {
        self.queue.in_flight_by_label()
    }

    /// The state of a pod in the cache; `None` when the pod is unknown.
    pub fn pod_state(&self, pod: &PodKey) -> Option<&PodState> {
        self.cache.state(pod)
    }

    /// All known pods with their states in the cache, ordered by key.
    pub fn pod_states(&self) -> Vec<(&PodKey, &PodState)> {
        self.cache.pods()
    }

    /// The number of assumed pods.
    pub fn assumed_pods(&self) -> usize {
        self.cache.assumed()
    }

    /// All nominations.
    pub fn nominations(&self) -> impl Iterator<Item = (&PodKey, &Symbol)> {
        self.cache.nominator.iter()
    }

    /// The pods whose victims are being evicted, each with the victims that have an open call, ordered by key.
    pub fn evictions(&self) -> impl Iterator<Item = (&PodKey, Vec<&PodKey>)> {
        self.evictions.all()
    }

    /// The number of calls without a reply yet.
    pub fn open_calls(&self) -> usize {
        self.outbox.open()
    }

    /// How much is kept for calls that are open, unsent or may be sent again; 0 when no pod needs a call.
    pub fn calls_kept(&self) -> usize {
        self.outbox.kept()
    }

    /// Whether this scheduler is responsible for the pod: its `schedulerName` names a profile in service.
    pub fn is_ours(&self, pod: &PodKey) -> bool {
        self.cache.pod(pod).is_some_and(|pod| self.hints_of(pod).is_some())
    }

    /// The number of attempts in which each rule refused a node: policy, rule, count.
    pub fn rule_refusals(&self) -> impl Iterator<Item = (&Symbol, &Symbol, u64)> {
        self.by_rule.refusals.all()
    }

    /// The pods that wait, by what they wait for.
    pub fn waiting(&self) -> Waiting {
        type OfProfile<'r> = (Symbol, &'r (Symbol, Symbol));
        // Each rule is looked for once.
        let mut by_one_rule: BTreeMap<OfProfile<'_>, (&Framework, usize)> = BTreeMap::new();
        let mut waiting = Waiting { at_permit: self.bindings.waiting().len(), ..Waiting::default() };
        for (cause, count) in self.queue.causes() {
            let framework = &cause.hints.framework;
            if let Some(gate) = cause.gate.and_then(|gate| framework.plugin(gate)) {
                let name = Symbol::new(gate.name());
                if let Some(rule) = gate.rule_plugin().and_then(|of| of.rules().first()) {
                    *waiting.by_one_rule.entry((name.clone(), rule.clone())).or_default() += count;
                }
                *waiting.gated.entry(name).or_default() += count;
            } else if let Some(blame) = &cause.blame {
                if cause.late {
                    waiting.at_permit += count;
                } else {
                    *waiting.refused.entry(blame.plugin.clone()).or_default() += count;
                }
                if blame.by_policy_alone {
                    waiting.by_policies_alone += count;
                }
                if let Some(rule) = &blame.sole_rule {
                    let key = (framework.scheduler_name.clone(), rule);
                    by_one_rule.entry(key).or_insert((framework, 0)).1 += count;
                }
            }
        }
        for ((_, rule), (framework, count)) in by_one_rule {
            if has_rule(framework, rule) {
                *waiting.by_one_rule.entry(rule.clone()).or_default() += count;
            }
        }
        waiting
    }

    /// The rules in service, with their policies.
    pub fn rules(&self) -> BTreeSet<(Symbol, Symbol)> {
        let plugins = self.profiles.frameworks.iter().flat_map(|framework| framework.plugins());
        let policies = plugins.filter_map(|plugin| Some((Symbol::new(plugin.name()), plugin.rule_plugin()?)));
        policies
            .flat_map(|(name, of)| of.rules().iter().map(move |rule| (name.clone(), rule.clone())))
            .collect()
    }

    /// How long a pod has waited at most, of those that are active (since they became so), in back-off and unschedulable
    /// (since they came). Pods that a gate holds do not count.
    pub fn longest_waits(&self) -> [Duration; 3] {
        self.queue.longest_waits(self.now)
    }

    /// The number of pods that each other scheduler bound to nodes with pods of ours, while this instance led.
    pub fn foreign_bindings(&self) -> impl Iterator<Item = (&Symbol, u64)> {
        self.surroundings.foreign_bindings()
    }

    /// The number of our pods that kubelets refused after they were bound, by reason, while this instance led.
    pub fn kubelet_refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.surroundings.kubelet_refusals()
    }

    /// The number of preemptions after which the pod was not placed on the node for which others were evicted.
    pub fn futile_preemptions(&self) -> u64 {
        self.surroundings.futile_preemptions()
    }

    /// The rules that failed.
    pub fn rule_errors(&self) -> impl Iterator<Item = RuleErrors> {
        self.by_rule.errors.all()
    }

    /// How often rules that do not decide would have done what: policy, rule, effect, count.
    pub fn rule_would(&self) -> impl Iterator<Item = (&Symbol, &Symbol, WouldEffect, u64)> {
        self.by_rule.would.all()
    }
}
