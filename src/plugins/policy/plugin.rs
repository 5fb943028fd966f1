//! [`PolicyPlugin`]: a policy as a plugin of the framework.

use crate::{ExemptPods, Waits, clock, counting, events, numbers, pod_inputs, preempt, queue};
use bayplan_framework::{
    AfterBind, Counting, Edit, Failure, Filter, Framework, Handle, LeftAlone, Need, Permit, Plugin, PostBind,
    PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, PreemptionRules, QueueSort, Reads, Reserve,
    RulePlugin, Score, Status,
};
use bayplan_lang::analysis::index::can_be_indexed;
use bayplan_lang::codegen::CompiledCheck;
use bayplan_lang::codegen::groups::{GroupIndex, index_key};
use bayplan_lang::codegen::ledgers;
use bayplan_lang::eval::context::{EvalContext, Queued};
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::eval::ledgers::LedgerIndex;
use bayplan_lang::eval::memos::MemoIndex;
use bayplan_lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan_lang::typed::{GroupId, LedgerId, Reason};
use bayplan_lang::types::Type;
use bayplan_lang::types::value::{Ordered, Value};
use bayplan_model::{
    DeviceIndex, Duration, Index, IndexKey, Kind, NodeInfo, PodPrecondition, Resource, Snapshot, Symbol, Time,
};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A policy as a plugin.
pub struct PolicyPlugin {
    /// The rules that decide. All ids and declarations are those of the whole policy.
    pub(crate) compiled: Arc<CompiledPolicy>,
    /// The policy as it was written.
    pub(crate) whole: Arc<CompiledPolicy>,
    /// The rules that do not decide.
    pub(crate) counter: Option<Box<counting::Counter>>,
    pub(crate) exempt: ExemptPods,
    pub(crate) events: events::Events,
    pub(crate) inputs: pod_inputs::PodInputs,
    pub(crate) clocked: clock::Clocked,
    /// What the keys of `queue by` have in common.
    pub(crate) shares: Option<queue::Shares>,
    pub(crate) waits_key: IndexKey,
    /// It applies to no pod.
    pub(crate) suspended: bool,
    /// Which part of the rules of the policy it has: 0 those that decide. The others run beside the plugin of the policy.
    pub(crate) part: usize,
    /// Preemption asks its prefilters again: one may let the pod pass once others are evicted.
    pub(crate) asks_again: bool,
    /// Its rules about evictions may begin to apply to a pod that does not change.
    pub(crate) may_begin: bool,
    /// The names of the rules that refuse or fail: those of [`numbers`], then the filters, then the scores.
    pub(crate) rules: Vec<Symbol>,
}

/// The policies of a set as plugins, in the order of their names.
pub fn plugins(set: &PolicySet, exempt: &ExemptPods) -> Vec<Arc<dyn Plugin>> {
    set.iter()
        .map(|policy| Arc::new(PolicyPlugin::new(policy.clone(), exempt.clone())) as Arc<dyn Plugin>)
        .collect()
}

/// The policies of a profile as they were written, with the arguments that the profile gives them.
pub fn of_profile(framework: &Framework) -> PolicySet {
    let plugins = framework.plugins().iter();
    let policies = plugins.filter_map(|plugin| {
        let plugin: &dyn Any = &**plugin;
        plugin.downcast_ref::<PolicyPlugin>().map(|policy| policy.written().clone())
    });
    PolicySet::new(policies)
}

impl PolicyPlugin {
    /// A policy as a plugin.
    pub fn new(whole: Arc<CompiledPolicy>, exempt: ExemptPods) -> Self {
        let compiled = whole.decides().clone();
        let counter = counting::Counter::of(&whole, &exempt);
        let events = events::Events::of(&compiled);
        let waits_key = IndexKey(Symbol::from(format!("{}/waits", compiled.name())));
        let inputs = pod_inputs::PodInputs::of(&compiled);
        let clocked = clock::Clocked::of(compiled.rules());
        let shares = queue::Shares::of(compiled.rules());
        let filters = compiled.statements.filters.iter().map(|filter| filter.name.clone());
        let scores = compiled.statements.scores.iter().map(|score| score.name.clone());
        let rules = numbers::NAMES.iter().map(|name| Symbol::from(*name));
        // Statuses number the rules that decide: those that count come last.
        let counted = counter.iter().flat_map(|counter| counter.names());
        let rules = rules.chain(filters).chain(scores).chain(counted).collect();
        let asks_again = preempt::asks_again(&compiled);
        let may_begin = preempt::may_begin(&compiled);
        Self {
            compiled,
            whole,
            counter,
            exempt,
            events,
            inputs,
            clocked,
            shares,
            waits_key,
            suspended: false,
            part: 0,
            asks_again,
            may_begin,
            rules,
        }
    }

    /// This plugin, suspended: it applies to no pod.
    pub fn suspended(self) -> Self {
        Self { suspended: true, counter: None, ..self }
    }

    /// The policy as it was written.
    pub fn written(&self) -> &Arc<CompiledPolicy> {
        &self.whole
    }

    /// Whether its rules do not decide.
    pub(crate) fn counts(&self) -> bool {
        self.part > 0
    }

    /// Whether rules about evictions count: then the policy follows simulations.
    pub(crate) fn counts_evictions(&self) -> bool {
        self.counter.as_ref().is_some_and(|counter| counter.preempts())
    }

    fn waits(&self) -> bool {
        !self.compiled.statements.permits.is_empty()
    }
}

impl Plugin for PolicyPlugin {
    fn name(&self) -> &str {
        self.compiled.name()
    }

    fn rule_plugin(&self) -> Option<&dyn RulePlugin> {
        Some(self)
    }

    fn next_change(&self, h: &Handle, work: &mut u64) -> Option<Time> {
        self.next_turn(h, work)
    }

    fn reads(&self) -> Reads {
        self.events.reads().clone()
    }

    fn precondition(&self) -> Option<PodPrecondition> {
        self.compiled.preconditions.narrowest().cloned()
    }

    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        // They are the same whatever the rules may do.
        let policy = &self.whole.policy;
        let mut indexes: Vec<(IndexKey, Box<dyn Index>)> = (0..policy.groups.len() as u32)
            .map(GroupId)
            .filter(|group| can_be_indexed(policy, *group))
            .map(|group| {
                let index: Box<dyn Index> = Box::new(GroupIndex::new(policy, group));
                (index_key(policy, group), index)
            })
            .collect();
        for at in 0..policy.ledgers.len() as u32 {
            let index = ledgers::index(policy, LedgerId(at));
            indexes.push((policy[LedgerId(at)].index.clone(), Box::new(index)));
        }
        for memo in &policy.memos {
            indexes.push((memo.index.clone(), Box::new(MemoIndex::new(memo.index.clone()))));
        }
        // All profiles and plugins share it.
        if self.whole.reads.of_devices() {
            indexes.push((DeviceIndex::key(), Box::new(DeviceIndex::default())));
        }
        if self.waits() {
            indexes.push((self.waits_key.clone(), Box::new(Waits::default())));
        }
        indexes
    }

    fn pre_enqueue(&self) -> Option<&dyn PreEnqueue> {
        (!self.compiled.statements.gates.is_empty() || self.preempts().is_some()).then_some(self)
    }

    fn kinds(&self) -> &'static [Need] {
        const BUDGETS: &[Need] = bayplan_plugins::default_preemption::NEEDS;
        const DEVICES: &[Need] = &[need(Kind::ResourceClaim), need(Kind::ResourceSlice)];
        const BOTH: &[Need] =
            &[need(Kind::PodDisruptionBudget), need(Kind::ResourceClaim), need(Kind::ResourceSlice)];
        let preempts = self.preempts().is_some() || self.counts_evictions();
        match (preempts, self.whole.reads.of_devices()) {
            (false, false) => &[],
            (true, false) => BUDGETS,
            (false, true) => DEVICES,
            (true, true) => BOTH,
        }
    }

    fn queue_sort(&self) -> Option<&dyn QueueSort> {
        let orders = self.compiled.statements.queue.is_some() && !self.suspended;
        orders.then_some(self as &dyn QueueSort)
    }

    bayplan_framework::serves!(EnqueueExtensions);

    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        let of = &self.compiled.statements;
        let asks = !of.prefilters.is_empty()
            || !of.filters.is_empty()
            || !of.scores.is_empty()
            || !of.reserves.is_empty()
            || !of.permits.is_empty()
            || !of.acts.before_bind.is_empty()
            || !of.acts.after_bind.is_empty()
            || self.preempts().is_some()
            || self.counts_evictions();
        asks.then_some(self)
    }

    fn filter(&self) -> Option<&dyn Filter> {
        (!self.compiled.statements.filters.is_empty()).then_some(self)
    }

    fn post_filter(&self) -> Option<&dyn PostFilter> {
        self.preempts().map(|_| self as &dyn PostFilter)
    }

    fn pre_score(&self) -> Option<&dyn PreScore> {
        (!self.compiled.statements.scores.is_empty()).then_some(self)
    }

    fn score(&self) -> Option<&dyn Score> {
        (!self.compiled.statements.scores.is_empty()).then_some(self)
    }

    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        self.edits(h, node)
    }

    fn reserve(&self) -> Option<&dyn Reserve> {
        (!self.compiled.statements.reserves.is_empty()).then_some(self)
    }

    fn pre_bind(&self) -> Option<&dyn PreBind> {
        (!self.compiled.statements.acts.before_bind.is_empty()).then_some(self)
    }

    fn post_bind(&self) -> Option<&dyn PostBind> {
        (!self.compiled.statements.acts.after_bind.is_empty()).then_some(self)
    }

    fn permit(&self) -> Option<&dyn Permit> {
        (!self.compiled.statements.permits.is_empty()).then_some(self)
    }
}

impl RulePlugin for PolicyPlugin {
    fn rules(&self) -> &[Symbol] {
        &self.rules
    }

    fn digest(&self) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        self.compiled.hash.hash(&mut hasher);
        self.exempt.namespaces.hash(&mut hasher);
        self.suspended.hash(&mut hasher);
        hasher.finish()
    }

    fn sum(&self, name: &str, key: &str, snapshot: &Snapshot) -> Option<Resource> {
        let ledger = self.whole.policy.ledgers.iter().find(|ledger| *ledger.name == *name)?;
        if self.suspended || ledger.ty != Type::Resources || ledger.key.ty != Type::String {
            return None;
        }
        let sums = snapshot.index::<LedgerIndex>(&ledger.index)?;
        match sums.sum(&Ordered(Value::text(key))) {
            Value::Resources(sum) => Some((*sum).clone()),
            _ => None,
        }
    }

    fn metrics_windows(&self) -> Vec<Duration> {
        self.compiled.policy.sources.iter().map(|source| source.window).collect()
    }

    fn preemption(&self) -> Option<&dyn PreemptionRules> {
        self.preempts().map(|_| self as &dyn PreemptionRules)
    }

    fn counting(&self) -> Option<&dyn Counting> {
        self.counter.as_ref().map(|counter| &**counter as &dyn Counting)
    }

    fn left_alone(&self, h: &Handle) -> Vec<LeftAlone> {
        self.exceptions_of(h)
    }

    fn after_bind(&self) -> Option<&dyn AfterBind> {
        self.writes_after_bind().then_some(self as &dyn AfterBind)
    }

    fn failure(&self) -> Option<&dyn Failure> {
        (!self.compiled.statements.acts.after_failure.is_empty()).then_some(self)
    }
}

const fn need(kind: Kind) -> Need {
    Need { kind, optional: false }
}

/// What the queue knows of the pod of a call.
pub(crate) fn queued(h: &bayplan_framework::Handle<'_>) -> Queued {
    Queued { since: h.queued_at.map(|at| h.snapshot.wall_clock(at)), attempts: h.attempts }
}

/// A refusal with a reason of the policy, its values from `context`.
pub(crate) fn refusal(compiled: &CompiledPolicy, reason: &Reason, context: EvalContext<'_>) -> Status {
    let text = match reason.constant() {
        Some(text) => text.to_string(),
        None => Evaluator::new(&compiled.policy, context).reason(reason),
    };
    if reason.resolvable { Status::unschedulable(text) } else { Status::unresolvable(text) }
}

/// A refusal by a check; a constant reason is not interned again.
pub(crate) fn refusal_of(
    compiled: &CompiledPolicy,
    check: &CompiledCheck,
    context: EvalContext<'_>,
) -> Status {
    match &check.constant {
        Some(text) if check.reason().resolvable => Status::unschedulable(text.clone()),
        Some(text) => Status::unresolvable(text.clone()),
        None => refusal(compiled, check.reason(), context),
    }
}
