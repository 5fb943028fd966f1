//! The beginning of an attempt: whether the policy applies to the pod, `prefilter`, and the values
//! of the pod that filters and scores read. Also gates, which are evaluated before the attempt.

use super::{PolicyPlugin, numbers, queued, refusal, refusal_of};
use bayplan_framework::{
    Code, Handle, PreEnqueue, PreFilter, PreFilterExtensions, PreFilterOutcome, StateSlot, Status, TimedPoint,
};
use bayplan_lang::codegen::{Answers, CompiledPrefilter, Env, compute};
use bayplan_lang::eval::collections::Collections;
use bayplan_lang::eval::context::{EvalContext, MovedPods, NOTHING_MOVED};
use bayplan_lang::eval::exempt::of_daemon_set;
use bayplan_lang::typed::{Missing, Reason};
use bayplan_lang::types::value::{Constant, Fault, Value};
use bayplan_model::{NodeInfo, NodeSet, PodInfo, Snapshot, Symbol};
use bayplan_plugins::default_preemption::held_while_evicting;
use std::sync::Arc;

/// What the policy keeps of an attempt.
#[derive(Clone)]
pub(super) struct Attempt {
    /// Whether the policy applies to the pod.
    pub(super) applies: bool,
    /// Whether it may refuse the pod: pods of DaemonSets have one possible node, and are only
    /// scored.
    pub(super) refuses: bool,
    /// The values of the pod that filters and scores read.
    pub(super) registers: Arc<[Constant]>,
    /// What simulations need not compute again: of the rules that decide, and of each part of those that count.
    pub(super) answers: Arc<[Answers]>,
    /// Pods that a simulation moved.
    pub(super) moved: MovedPods,
    /// What explanations of all nodes share.
    pub(super) collections: Collections,
    /// The scores of the feasible nodes.
    pub(super) scores: Option<Arc<super::score::Scores>>,
    /// Waiting pods with the same key wait for the same conditions; `None`: no other pod can.
    pub(super) equivalence_key: Option<u64>,
    /// The deadline of each `wait`, once the pod has reached permit.
    pub(super) deadlines: Vec<bayplan_model::Time>,
}

impl Attempt {
    /// Of a policy that does not apply, with so many parts of rules that simulations ask.
    pub(super) fn none(parts: usize) -> Self {
        Self {
            applies: false,
            refuses: false,
            registers: Arc::from([]),
            answers: (0..parts).map(|_| Answers::default()).collect(),
            moved: MovedPods::default(),
            collections: Collections::default(),
            scores: None,
            equivalence_key: None,
            deadlines: Vec::new(),
        }
    }
}

/// The beginning of an attempt.
pub(super) struct Begun {
    /// What the policy keeps of it.
    pub(super) attempt: Attempt,
    /// The nodes that are left, or why the pod is refused.
    pub(super) left: Result<Option<NodeSet>, Status>,
}

impl Begun {
    /// The policy leaves the pod alone.
    fn skips(parts: usize) -> Self {
        Self { attempt: Attempt::none(parts), left: Ok(None) }
    }

    /// The pod is refused before the policy has anything to keep.
    fn refuses(status: Status, parts: usize) -> Self {
        Self { attempt: Attempt::none(parts), left: Err(status) }
    }
}

/// The refusal of a let with `missing`. Nothing derives whether evicting pods helps against it: it does not unless the
/// policy says `resolvable`.
fn before_nodes(status: Status, reason: &Reason) -> Status {
    match (status.code, reason.written) {
        (Code::Unschedulable, None) => Status::unresolvable(status.message()),
        _ => status,
    }
}

/// What the absence of a let with `missing` means.
pub(super) enum Absent {
    /// Nothing is absent.
    Nothing,
    /// The policy does not apply.
    Skip,
    /// The pod is refused.
    Refused(Status),
}

impl PolicyPlugin {
    /// Whether the pod is exempt from the policy.
    pub(super) fn exempts(&self, pod: &PodInfo) -> bool {
        !self.compiled.policy.to_all_pods && self.exempt.exempts(pod)
    }

    /// Whether gates, prefilters, filters and waits do not apply to the pod.
    pub(super) fn never_refuses(&self, pod: &PodInfo, snapshot: &Snapshot) -> bool {
        !self.compiled.policy.to_all_pods && of_daemon_set(pod, snapshot)
    }

    /// Whether the policy applies to the pod.
    pub(super) fn applies(&self, context: EvalContext<'_>) -> bool {
        self.applies_or_fails(context, None).0
    }

    /// Whether the policy applies to the pod, and the fault of `applies when`; with a fault it applies and refuses. A
    /// fault that is to be ignored is noted in the attempt of `h`.
    pub(super) fn applies_or_fails(
        &self,
        context: EvalContext<'_>,
        h: Option<&Handle<'_>>,
    ) -> (bool, Option<Arc<Fault>>) {
        let may_apply = !self.suspended && self.compiled.preconditions.may_apply(context.pod);
        if !may_apply || self.exempts(context.pod) {
            return (false, None);
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let applies = self.compiled.statements.applies.iter().all(|condition| condition(&mut env));
        if let Some(h) = h {
            self.note_ignored(h, &mut env, numbers::APPLIES);
        }
        (applies, env.failed.take().filter(|_| applies))
    }

    /// The first let with `missing` that is absent.
    pub(super) fn missing(&self, context: EvalContext<'_>) -> Absent {
        if self.compiled.statements.required_lets.is_empty() {
            return Absent::Nothing;
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        for required in &self.compiled.statements.required_lets {
            if !(required.value)(&mut env).is_absent() {
                continue;
            }
            if let Some(fault) = env.failed.take() {
                let on_error = self.compiled.rules().on_error();
                return Absent::Refused(self.failed(numbers::MISSING, on_error, &fault, false));
            }
            return match &required.missing {
                Missing::Skip => Absent::Skip,
                Missing::Reject(reason) => {
                    let refused = refusal(&self.compiled, reason, context);
                    let refused = before_nodes(refused, reason).of_rule(numbers::MISSING);
                    Absent::Refused(refused.whatever_the_node(!self.compiled.deciding.depends_on_nodes()))
                }
                Missing::Error => {
                    let name = &self.compiled.policy[required.id].name;
                    Absent::Refused(Status::error(format!("{}: `{name}` is absent", self.compiled.name())))
                }
            };
        }
        Absent::Nothing
    }

    /// The refusal of the first gate that holds the pod.
    fn first_gate(&self, h: &Handle<'_>, context: EvalContext<'_>) -> Result<(), Status> {
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        for gate in &self.compiled.statements.gates {
            let refused = gate.refuses(&mut env);
            self.note_ignored(h, &mut env, numbers::GATE);
            if refused {
                if let Some(fault) = env.failed.take() {
                    return Err(self.failed(numbers::GATE, gate.on_error, &fault, false));
                }
                let status = refusal_of(&self.compiled, gate, context);
                return Err(Status::unresolvable(status.message()).of_rule(numbers::GATE));
            }
        }
        Ok(())
    }

    /// Begins an attempt.
    pub(super) fn begin(&self, h: &Handle<'_>) -> Begun {
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        let on_error = self.compiled.rules().on_error();
        let parts = 1 + self.counter.as_ref().map_or(0, |counter| counter.parts());
        let (of, point) = (&self.compiled.statements, TimedPoint::PreFilter);
        let applies = || self.applies_or_fails(context, Some(h));
        let applies = match of.applies.is_empty() {
            true => applies(),
            false => self.timed(h, point, numbers::APPLIES, applies),
        };
        match applies {
            (false, _) => return Begun::skips(parts),
            (true, None) => {}
            // Pods that the policy may not refuse are left alone.
            (true, Some(_)) if self.never_refuses(h.pod, h.snapshot) => return Begun::skips(parts),
            (true, Some(fault)) => {
                return Begun::refuses(self.failed(numbers::APPLIES, on_error, &fault, false), parts);
            }
        }
        let refuses = !self.never_refuses(h.pod, h.snapshot);
        let missing = match of.required_lets.is_empty() {
            true => Absent::Nothing,
            false => self.timed(h, point, numbers::MISSING, || self.missing(context)),
        };
        match missing {
            Absent::Nothing => {}
            Absent::Skip => return Begun::skips(parts),
            Absent::Refused(status) => {
                let attempt = Attempt { applies: true, refuses, ..Attempt::none(parts) };
                return Begun { attempt, left: Err(status) };
            }
        }
        let left = match refuses && !of.prefilters.is_empty() {
            true => self.timed(h, point, numbers::PREFILTER, || self.prefilter(context, h, None)),
            false => Ok(None),
        };
        let attempt =
            Attempt { applies: true, refuses, registers: self.registers(context), ..Attempt::none(parts) };
        Begun { attempt, left }
    }

    pub(super) fn registers(&self, context: EvalContext<'_>) -> Arc<[Constant]> {
        compute(&self.compiled.policy, &self.compiled.statements.registers, context).into()
    }

    /// `prefilter`: the first statement that refuses, in the order of the text; else the nodes that
    /// are left. `answers`: of the attempt, in a simulation.
    fn prefilter(
        &self,
        context: EvalContext<'_>,
        h: &Handle<'_>,
        answers: Option<&Answers>,
    ) -> Result<Option<NodeSet>, Status> {
        let mut left: Option<NodeSet> = None;
        let mut env = Env::simulating(&self.compiled.policy, context, answers);
        for statement in &self.compiled.statements.prefilters {
            match statement {
                CompiledPrefilter::Check(check) => {
                    let refused = check.refuses(&mut env);
                    self.note_ignored(h, &mut env, numbers::PREFILTER);
                    if refused {
                        if let Some(fault) = env.failed.take() {
                            let failed = self.failed(numbers::PREFILTER, check.on_error, &fault, false);
                            return Err(failed.whatever_the_node(check.no_node_helps()));
                        }
                        let refused = refusal_of(&self.compiled, check, context);
                        let refused = refused.whatever_the_node(check.no_node_helps());
                        return Err(refused.of_rule(numbers::PREFILTER));
                    }
                }
                CompiledPrefilter::Only(only) => {
                    let chosen = only.when.as_ref().is_none_or(|when| when(&mut env));
                    let names = if chosen { (only.nodes)(&mut env) } else { Value::Absent };
                    self.note_ignored(h, &mut env, numbers::PREFILTER);
                    if let Some(fault) = env.failed.take() {
                        return Err(self.failed(numbers::PREFILTER, only.on_error, &fault, false));
                    }
                    // Also of what failed and is to be ignored.
                    if names.is_absent() {
                        continue;
                    }
                    let named: NodeSet = names
                        .elements()
                        .unwrap_or_default()
                        .iter()
                        .filter_map(|name| context.node_named(&Symbol::new(name.as_str()?)))
                        .collect();
                    match &mut left {
                        Some(left) => left.intersect(&named),
                        None => left = Some(named),
                    }
                }
            }
        }
        Ok(left)
    }

    /// What simulations of an attempt need not compute again.
    pub(super) fn answers<'a>(&self, attempt: &'a Attempt) -> Option<&'a Answers> {
        attempt.answers.get(self.part)
    }

    /// What a call sees: the handle's view, with the pods that a simulation moved.
    pub(super) fn context<'a>(&self, h: &Handle<'a>, attempt: Option<&'a Attempt>) -> EvalContext<'a> {
        EvalContext {
            pod: h.pod,
            node: None,
            snapshot: h.snapshot,
            now: h.snapshot.wall_clock(h.now),
            queued: queued(h),
            moved: attempt.map_or(&NOTHING_MOVED, |attempt| &attempt.moved),
            looked: None,
            collections: None,
        }
    }

    /// The context of the reference evaluator, which many nodes ask.
    pub(super) fn explained<'a>(&self, h: &Handle<'a>, attempt: Option<&'a Attempt>) -> EvalContext<'a> {
        let collections = attempt.map(|attempt| &attempt.collections);
        EvalContext { collections, ..self.context(h, attempt) }
    }

    /// Whether rules read pods that a simulation moves, other than those of the node.
    fn follows_moves(&self) -> bool {
        let counted = || self.counter.as_ref().is_some_and(|counter| counter.sees_other_pods());
        self.compiled.sees_other_pods || counted()
    }

    /// A simulation moved a pod on a node: registers of rules that read other pods are computed again.
    fn move_pod(
        &self,
        h: &Handle<'_>,
        slot: &mut StateSlot,
        node: NodeInfo<'_>,
        change: impl FnOnce(&mut MovedPods),
    ) {
        if !self.follows_moves() {
            return;
        }
        let Some(attempt) = slot.get_mut::<Attempt>() else { return };
        // Rules that count may apply to pods to which those that decide do not.
        if !attempt.applies && !self.counts_evictions() {
            return;
        }
        change(&mut attempt.moved);
        if !attempt.applies || self.compiled.statements.registers.is_empty() {
            return;
        }
        let moved = attempt.moved.clone();
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        // Registers do not read `node`; what they read of all nodes is, of this one, as it is simulated.
        attempt.registers = self.registers(EvalContext { moved: &moved, ..context }.on(node));
    }
}

impl PreEnqueue for PolicyPlugin {
    fn shows(&self) -> bool {
        true
    }

    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        if self.preempts().is_some() {
            held_while_evicting(h)?;
        }
        let context = self.context(h, None);
        let of = &self.compiled.statements;
        if of.gates.is_empty() || self.never_refuses(h.pod, h.snapshot) {
            return Ok(());
        }
        let applies = || self.applies(context);
        let applies = match of.applies.is_empty() {
            true => applies(),
            false => self.timed(h, TimedPoint::PreEnqueue, numbers::APPLIES, applies),
        };
        if !applies {
            return Ok(());
        }
        match self.missing(context) {
            Absent::Nothing => {}
            // PreFilter refuses the pod and reports the reason or the error.
            Absent::Skip | Absent::Refused(_) => return Ok(()),
        }
        self.timed(h, TimedPoint::PreEnqueue, numbers::GATE, || self.first_gate(h, context))
    }
}

impl PreFilter for PolicyPlugin {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let Begun { attempt, left } = self.begin(h);
        let filters = self.asks_again || !self.compiled.statements.filters.is_empty();
        let evicts = self.preempts().is_some() || self.counts_evictions();
        let asks = attempt.applies && (attempt.refuses && filters || evicts) || self.counts_evictions();
        state.put(attempt);
        Ok(match left? {
            Some(only) => PreFilterOutcome::Only(only),
            None if asks => PreFilterOutcome::AllNodes,
            None => PreFilterOutcome::Skip,
        })
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        (self.asks_again || self.follows_moves()).then_some(self)
    }
}

impl PreFilterExtensions for PolicyPlugin {
    fn add_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        added: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        self.move_pod(h, state, node, |moved| {
            let known = h.snapshot.pod(&added.key).map(|entry| entry.pod.clone());
            moved.add(&known.unwrap_or_else(|| Arc::new(added.clone())), node.id());
        });
        Ok(())
    }

    fn remove_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        removed: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        self.move_pod(h, state, node, |moved| moved.remove(removed));
        Ok(())
    }

    fn asks_again(&self) -> bool {
        self.asks_again
    }

    fn again(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let attempt = h.state::<Attempt>().filter(|attempt| attempt.applies && attempt.refuses);
        let Some(attempt) = attempt else { return Ok(()) };
        // `prefilter` does not read `node`; of all nodes it sees this one as it is simulated.
        let context = self.context(h, Some(attempt)).on(node);
        match self.missing(context) {
            Absent::Nothing => {}
            Absent::Skip => return Ok(()),
            Absent::Refused(status) => return Err(status),
        }
        match self.prefilter(context, h, self.answers(attempt))? {
            Some(left) if !left.contains(node.id()) => {
                let text = format!("node(s) didn't satisfy plugin(s) [{}]", self.compiled.name());
                Err(Status::unresolvable(text))
            }
            _ => Ok(()),
        }
    }
}
