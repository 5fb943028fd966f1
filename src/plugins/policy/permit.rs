//! `permit`: checks, and waits that end when their condition holds. A pod is allowed once each of
//! its waits held.
//!
//! A wait `for` a group has one deadline, that of its first waiting member. A member that leaves
//! without being allowed takes the other waiting members with it.

use super::attempt::{Absent, Attempt};
use super::events::RuleInterest;
use super::memo_reads::memo_numbers;
use super::pod_inputs::ConditionInputs;
use super::waits::{ConditionKey, Moment, Verdict, WaitKey, Waits};
use super::{PolicyPlugin, numbers, refusal, refusal_of};
use bayplan_framework::{
    Actor, Handle, Interest, MAX_PERMIT_WAIT, Permit, PermitOutcome, Status, TimedPoint,
};
use bayplan_lang::codegen::groups::{GroupIndex, group_number};
use bayplan_lang::codegen::{CompiledWait, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::typed::GroupId;
use bayplan_lang::types::convert;
use bayplan_lang::types::value::{Ordered, Value};
use bayplan_model::{Duration, IndexKey, NodeId, PodInfo, PodKey, Snapshot, Time};

/// The state of a `wait` for a pod.
struct Seen {
    satisfied: bool,
    /// The condition with its inputs for this pod; `None`: no other pod has the same.
    key: Option<ConditionKey>,
    /// The group that waits together.
    group: Option<WaitKey>,
}

/// The state of a pod at permit.
enum Look {
    /// The policy does not apply.
    Nothing,
    /// Each of its waits, and the keys of its checks.
    Waits(Vec<Seen>, Vec<Option<ConditionKey>>),
}

impl PolicyPlugin {
    fn all_waits(&self) -> impl Iterator<Item = &CompiledWait> {
        self.compiled.statements.permits.iter().flat_map(|permit| &permit.waits)
    }

    /// The values that the members of the pod's group have; `None`: it is in no group.
    fn group_values(&self, group: GroupId, context: EvalContext<'_>) -> Option<Vec<Ordered<'static>>> {
        let of = &self.compiled.policy[group];
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let values: Vec<_> =
            of.keys.iter().map(|key| Ordered(convert::keep(&evaluator.value(&key.pod)))).collect();
        values.iter().all(|value| !value.0.is_absent()).then_some(values)
    }

    fn group_key(&self, at: usize, group: GroupId, context: EvalContext<'_>) -> Option<WaitKey> {
        Some((at, self.group_values(group, context)?))
    }

    /// What can change the result of rules for the pod of the context.
    pub(super) fn interest_of(&self, rules: &RuleInterest, context: EvalContext<'_>) -> Interest {
        let number = |(group, index): &(GroupId, IndexKey)| {
            Some(group_number(index, &self.group_values(*group, context)?))
        };
        let policy = &self.compiled.policy;
        let sums = rules.ledgers.iter().flat_map(|read| read.numbers(policy, context));
        let memos = memo_numbers(policy, &rules.memos, context);
        let mut groups: Vec<u64> = rules.groups.iter().filter_map(number).chain(sums).chain(memos).collect();
        groups.sort_unstable();
        groups.dedup();
        Interest { kinds: rules.kinds, groups }
    }

    /// How often the groups of a condition moved, for the pod of the context; `None`: more than members of groups can
    /// change its result.
    fn group_moves(&self, inputs: &ConditionInputs, context: EvalContext<'_>) -> Option<u64> {
        let mut all = 0u64;
        for (group, index) in inputs.groups.as_ref()? {
            // The condition of a pod without a group does not change.
            let Some(values) = self.group_values(*group, context) else { continue };
            let index = context.snapshot.index::<GroupIndex>(index)?;
            all = all.wrapping_add(index.moves(&values));
        }
        Some(all)
    }

    /// The state of the cluster in which conditions are evaluated.
    fn moment(&self, a: &Actor) -> Moment {
        (a.handle().snapshot.generation(), a.now, self.compiled.hash)
    }

    /// Evaluates a condition of a permit for a pod, or reuses the result for another pod with the
    /// same inputs at the same moment.
    fn judge(
        &self,
        a: &mut Actor,
        inputs: &ConditionInputs,
        at: usize,
        pod: &PodInfo,
        node: Option<NodeId>,
        condition: impl FnOnce(&mut Env<'_, '_>) -> bool,
    ) -> Option<(Option<ConditionKey>, bool)> {
        let moment = self.moment(a);
        let h = a.handle();
        let context = placed(pod, h.snapshot, h.now, node)?;
        let policy = &self.compiled.policy;
        let key = inputs.key(policy, at, context);
        let moves = key.as_ref().and_then(|_| self.group_moves(inputs, context));
        let waits = h.snapshot.index::<Waits>(&self.waits_key);
        let known = key.as_ref().and_then(|key| waits?.judged(moment, key, moves));
        let (answer, holds_for) = match known {
            Some(known) => (known, None),
            None => {
                let judged = || condition(&mut Env::new(policy, context, &[]));
                let answer = self.timed(&h, TimedPoint::Permit, numbers::PERMIT, judged);
                let distance = || inputs.distance.least(&mut Evaluator::new(policy, context));
                (answer, Some(if answer { 1 } else { distance() }))
            }
        };
        if let Some(waits) = a.own::<Waits>(&self.waits_key) {
            let verdict = Verdict { answer, moves: moves.zip(holds_for) };
            waits.judge(moment, key.clone(), verdict, known.is_none());
        }
        Some((key, answer))
    }

    /// Evaluates checks and waits for the pod of the call.
    fn look(&self, a: &mut Actor, node: NodeId) -> Result<Look, Status> {
        let pod = a.pod.clone();
        {
            let h = a.handle();
            let Some(context) = placed(&pod, h.snapshot, h.now, Some(node)) else { return Ok(Look::Nothing) };
            // An attempt that began before the policy was loaded kept nothing.
            let applies = match h.state::<Attempt>() {
                Some(attempt) => attempt.applies && attempt.refuses,
                None => self.applies(context) && !self.never_refuses(h.pod, h.snapshot),
            };
            if !applies {
                return Ok(Look::Nothing);
            }
            match self.missing(context) {
                Absent::Nothing => {}
                Absent::Skip => return Ok(Look::Nothing),
                Absent::Refused(status) => return Err(status),
            }
        }
        let checks = self.compiled.statements.permits.iter().flat_map(|permit| &permit.checks);
        let mut checked = Vec::new();
        for (at, (check, own)) in checks.zip(&self.inputs.checks).enumerate() {
            // Checks are numbered after the waits.
            let at = self.inputs.waits.len() + at;
            let judged = self.judge(a, own, at, &pod, Some(node), |env| check.refuses(env));
            let refused = judged.as_ref().is_some_and(|(_, refused)| *refused);
            if check.may_fail && check.on_error == OnError::Ignore && !refused {
                let h = a.handle();
                if let Some(context) = placed(&pod, h.snapshot, h.now, Some(node)) {
                    let mut env = Env::new(&self.compiled.policy, context, &[]);
                    check.refuses(&mut env);
                    self.note_ignored(&h, &mut env, numbers::PERMIT);
                }
            }
            checked.push(judged.and_then(|(key, _)| key));
            if refused {
                let h = a.handle();
                let context = placed(&pod, h.snapshot, h.now, Some(node));
                let context = context.unwrap_or_else(|| EvalContext::new(&pod, h.snapshot, h.now));
                if check.may_fail {
                    // The answer may be that of another pod: what failed is found again.
                    let mut env = Env::new(&self.compiled.policy, context, &[]);
                    check.refuses(&mut env);
                    if let Some(fault) = env.failed.take() {
                        return Err(self.failed(numbers::PERMIT, check.on_error, &fault, false));
                    }
                }
                let refused = refusal_of(&self.compiled, check, context);
                return Err(refused.of_rule(numbers::PERMIT));
            }
        }
        let mut seen = Vec::new();
        for (at, wait) in self.all_waits().enumerate() {
            let Some(own) = self.inputs.waits.get(at) else { continue };
            let judged = self.judge(a, own, at, &pod, Some(node), |env| (wait.until)(env));
            let h = a.handle();
            let context = placed(&pod, h.snapshot, h.now, Some(node));
            if let (true, Some(context), Some((_, false))) = (wait.may_fail, context, &judged) {
                let mut env = Env::new(&self.compiled.policy, context, &[]);
                (wait.until)(&mut env);
                self.note_ignored(&h, &mut env, numbers::PERMIT);
                if let Some(fault) = env.failed.take() {
                    return Err(self.failed(numbers::PERMIT, wait.wait.on_error, &fault, false));
                }
            }
            let group =
                wait.group.zip(context).and_then(|(group, context)| self.group_key(at, group, context));
            let (key, satisfied) = judged.unwrap_or((None, false));
            seen.push(Seen { satisfied, key, group });
        }
        Ok(Look::Waits(seen, checked))
    }

    /// Decides on the pod of the call, and allows the pods that waited for it.
    fn answer(&self, a: &mut Actor, node: NodeId, known: &[Time]) -> Result<PermitOutcome, Status> {
        let pod = a.pod.key.clone();
        if a.own::<Waits>(&self.waits_key).is_some_and(|waits| waits.take_released(&pod)) {
            return Ok(PermitOutcome::Allow);
        }
        if let Some(waits) = a.own::<Waits>(&self.waits_key) {
            waits.look();
        }
        let Look::Waits(seen, checked) = self.look(a, node)? else { return Ok(PermitOutcome::Allow) };
        if seen.iter().all(|of| of.satisfied) {
            self.let_others_go(a, &seen);
            if let Some(waits) = a.own::<Waits>(&self.waits_key) {
                waits.leave(&pod);
            }
            return Ok(PermitOutcome::Allow);
        }
        // The pod is allowed when each wait holds and no check refuses.
        let waits = seen.iter().map(|of| (of.key.clone(), true));
        let keys = waits.chain(checked.into_iter().map(|key| (key, false))).collect();
        let mut deadlines = vec![FOREVER; seen.len()];
        for (at, of) in seen.iter().enumerate().filter(|(_, of)| !of.satisfied) {
            let before = known.get(at).copied().filter(|deadline| *deadline != FOREVER);
            let deadline = match before {
                Some(deadline) => deadline,
                None => self.open(a, node, at, of),
            };
            if before.is_some() && deadline <= a.now {
                return Err(self.too_late(&a.handle(), node, at));
            }
            if let Some(place) = deadlines.get_mut(at) {
                *place = deadline;
            }
        }
        let moment = self.moment(a);
        let equivalence_key =
            a.own::<Waits>(&self.waits_key).and_then(|waits| waits.enlist(moment, &pod, keys));
        let until = deadlines.iter().copied().min().unwrap_or(a.now);
        if let Some(attempt) = a.slot().get_mut::<Attempt>() {
            attempt.deadlines = deadlines;
            attempt.equivalence_key = equivalence_key;
        }
        Ok(PermitOutcome::Wait { until })
    }

    /// The deadline of a wait that begins. Members of the group without a node are tried at once.
    fn open(&self, a: &mut Actor, node: NodeId, at: usize, of: &Seen) -> Time {
        let pod = a.pod.clone();
        let Some(wait) = self.all_waits().nth(at) else { return a.now };
        let (own, members) = {
            let h = a.handle();
            let Some(context) = placed(&pod, h.snapshot, h.now, Some(node)) else { return h.now };
            let mut env = Env::new(&self.compiled.policy, context, &[]);
            let patience = Duration((wait.patience)(&mut env).clamp(0, MAX_PERMIT_WAIT.0));
            let opens = of.group.as_ref().is_some_and(|key| {
                h.snapshot.index::<Waits>(&self.waits_key).is_some_and(|waits| !waits.is_open(key))
            });
            let members = wait.members.as_ref().filter(|_| opens).map(|members| members(&mut env));
            (h.now + patience, members.map(|members| pending(&members, &context)).unwrap_or_default())
        };
        let Some(key) = &of.group else { return own };
        match a.own::<Waits>(&self.waits_key).map(|waits| waits.enter(key.clone(), pod.key.clone(), own)) {
            Some(deadline) => {
                members.into_iter().for_each(|member| a.activate(member));
                deadline
            }
            None => own,
        }
    }

    /// Allows the waiting members of the groups whose conditions are known to hold at this moment,
    /// because they have the same inputs. The other members are evaluated on their own.
    fn let_others_go(&self, a: &mut Actor, seen: &[Seen]) {
        if !self.compiled.statements.required_lets.is_empty() {
            return;
        }
        let moment = self.moment(a);
        let Some(waits) = a.own::<Waits>(&self.waits_key) else { return };
        let mut released = Vec::new();
        for key in seen.iter().filter_map(|of| of.group.as_ref()) {
            released.extend(waits.release(moment, key));
        }
        let me = a.pod.key.clone();
        released.into_iter().filter(|pod| *pod != me).for_each(|pod| a.allow(pod));
    }

    /// The refusal after a wait timed out.
    fn too_late(&self, h: &Handle<'_>, node: NodeId, at: usize) -> Status {
        let context = placed(h.pod, h.snapshot, h.now, Some(node))
            .unwrap_or_else(|| EvalContext::new(h.pod, h.snapshot, h.now));
        match self.all_waits().nth(at) {
            Some(wait) => refusal(&self.compiled, &wait.wait.reason, context),
            None => Status::unschedulable("the wait did not end in time"),
        }
    }
}

/// The deadline of a wait that is satisfied.
const FOREVER: Time = Time(i64::MAX);

/// The context of a pod on `node`, or on the node where it is placed.
fn placed<'a>(
    pod: &'a PodInfo,
    snapshot: &'a Snapshot,
    now: Time,
    node: Option<NodeId>,
) -> Option<EvalContext<'a>> {
    let context = EvalContext::new(pod, snapshot, now);
    let node = match node {
        Some(node) => node,
        None => context.placement(pod)?.0,
    };
    Some(context.on(snapshot.node(node)?))
}

/// The members of a group without a node, except the pod itself.
fn pending(members: &Value<'_>, context: &EvalContext<'_>) -> Vec<PodKey> {
    let members = members.elements().unwrap_or_default();
    members
        .iter()
        .filter_map(|member| match member {
            Value::Pod(pod) if pod.key != context.pod.key && context.placement(pod).is_none() => {
                Some(pod.key.clone())
            }
            _ => None,
        })
        .collect()
}

impl Permit for PolicyPlugin {
    fn permit(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        let pod = a.pod.key.clone();
        if let Some(waits) = a.own::<Waits>(&self.waits_key) {
            // Results of an earlier attempt do not count.
            waits.leave(&pod);
        }
        self.answer(a, node, &[])
    }

    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        let known = a.handle().state::<Attempt>().map(|attempt| attempt.deadlines.clone());
        self.answer(a, node, &known.unwrap_or_default())
    }

    fn equivalence_key(&self, h: &Handle) -> Option<u64> {
        h.state::<Attempt>()?.equivalence_key.filter(|_| self.compiled.statements.required_lets.is_empty())
    }

    fn interest(&self, h: &Handle) -> Option<Interest> {
        let context = EvalContext::new(h.pod, h.snapshot, h.now);
        Some(self.interest_of(&self.events.at_permit, context))
    }

    fn timed_out(&self, h: &Handle) -> Option<Status> {
        let attempt = h.state::<Attempt>()?;
        let node = h.snapshot.pod(&h.pod.key)?.placed?.0;
        let earliest = attempt.deadlines.iter().copied().min()?;
        let at = attempt.deadlines.iter().position(|deadline| *deadline == earliest)?;
        Some(self.too_late(h, node, at))
    }

    fn left(&self, a: &mut Actor) {
        let h = a.handle();
        let context = EvalContext::new(h.pod, h.snapshot, h.now);
        let keys: Vec<(WaitKey, Status)> = self
            .all_waits()
            .enumerate()
            .filter_map(|(at, wait)| {
                let key = self.group_key(at, wait.group?, context)?;
                Some((key, refusal(&self.compiled, &wait.wait.reason, context)))
            })
            .collect();
        let me = a.pod.key.clone();
        for (key, status) in keys {
            let waiting = a.own::<Waits>(&self.waits_key).map(|waits| waits.close(&key)).unwrap_or_default();
            for pod in waiting.into_iter().filter(|pod| *pod != me) {
                a.reject(pod, status.clone());
            }
        }
    }
}
