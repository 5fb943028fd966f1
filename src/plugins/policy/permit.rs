//! `permit`: checks, and waits that end when their condition holds. No pod goes on before each of its waits held.
//!
//! A wait `for` a group has one deadline, that of the member that opened it; who leaves without going on takes the
//! waiting others along.

use super::attempt::{Absent, Attempt};
use super::own::Own;
use super::waits::{Moment, Question, WaitKey, Waits};
use super::{PolicyPlugin, refusal};
use crate::framework::{Actor, Handle, MAX_PERMIT_WAIT, Permit, PermitOutcome, Status};
use crate::lang::codegen::{CompiledWait, Env};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::convert;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::typed::GroupId;
use crate::lang::types::value::{Ordered, Value};
use crate::model::{Duration, NodeId, PodInfo, PodKey, Snapshot, Time};

/// What was seen of a `wait`.
struct Seen {
    satisfied: bool,
    /// What it asks of the cluster for this pod; `None`: nobody else asks the same.
    question: Option<Question>,
    /// The group that waits together.
    group: Option<WaitKey>,
}

/// What was seen of a pod at permit.
enum Look {
    /// The policy says nothing of it.
    Nothing,
    /// Each of its waits, and what its checks ask.
    Waits(Vec<Seen>, Vec<Option<Question>>),
}

impl PolicyPlugin {
    fn all_waits(&self) -> impl Iterator<Item = &CompiledWait> {
        self.compiled.statements.permits.iter().flat_map(|permit| &permit.waits)
    }

    fn group_key(&self, at: usize, group: GroupId, context: EvalContext<'_>) -> Option<WaitKey> {
        let of = &self.compiled.policy[group];
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let values: Vec<_> =
            of.keys.iter().map(|key| Ordered(convert::keep(&evaluator.value(&key.pod)))).collect();
        values.iter().all(|value| !value.0.is_absent()).then_some((at, values))
    }

    /// The moment at which conditions are judged.
    fn moment(&self, a: &Actor) -> Moment {
        (a.handle().snapshot.generation(), a.now, self.compiled.hash)
    }

    /// Judges a condition of a permit for a pod, or takes what was found out at this moment for a pod of which the
    /// condition reads the same.
    fn judge(
        &self,
        a: &mut Actor,
        question: &Own,
        at: usize,
        pod: &PodInfo,
        node: Option<NodeId>,
        condition: impl FnOnce(&mut Env<'_, '_>) -> bool,
    ) -> Option<(Option<Question>, bool)> {
        let moment = self.moment(a);
        let h = a.handle();
        let context = placed(pod, h.snapshot, h.now, node)?;
        let question = question.ask(&self.compiled.policy, at, context);
        let waits = h.snapshot.index::<Waits>(&self.waits_key);
        let known = question.as_ref().and_then(|question| waits?.judged(moment, question));
        if let Some(known) = known {
            return Some((question, known));
        }
        let answer = condition(&mut Env::new(&self.compiled.policy, context, &[]));
        if let Some(waits) = a.own::<Waits>(&self.waits_key) {
            waits.judge(moment, question.clone(), answer);
        }
        Some((question, answer))
    }

    /// Looks at checks and waits for the pod of the call.
    fn look(&self, a: &mut Actor, node: NodeId) -> Result<Look, Status> {
        let pod = a.pod.clone();
        {
            let h = a.handle();
            let Some(context) = placed(&pod, h.snapshot, h.now, Some(node)) else { return Ok(Look::Nothing) };
            // An attempt that began before the policy was loaded kept nothing: it is judged as it is now.
            let applies = match h.state::<Attempt>() {
                Some(attempt) => attempt.applies && attempt.refuses,
                None => self.applies(context) && !self.never_refuses(h.pod),
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
        for (at, (check, own)) in checks.zip(&self.own.checks).enumerate() {
            // Checks stand behind the waits in the numbering.
            let at = self.own.waits.len() + at;
            let judged = self.judge(a, own, at, &pod, Some(node), |env| check.refuses(env));
            let refused = judged.as_ref().is_some_and(|(_, refused)| *refused);
            checked.push(judged.and_then(|(question, _)| question));
            if refused {
                let h = a.handle();
                let context = placed(&pod, h.snapshot, h.now, Some(node));
                let context = context.unwrap_or_else(|| EvalContext::new(&pod, h.snapshot, h.now));
                return Err(refusal(&self.compiled, check.reason(), context));
            }
        }
        let mut seen = Vec::new();
        for (at, wait) in self.all_waits().enumerate() {
            let Some(own) = self.own.waits.get(at) else { continue };
            let judged = self.judge(a, own, at, &pod, Some(node), |env| (wait.until)(env));
            let h = a.handle();
            let context = placed(&pod, h.snapshot, h.now, Some(node));
            let group =
                wait.group.zip(context).and_then(|(group, context)| self.group_key(at, group, context));
            let (question, satisfied) = judged.unwrap_or((None, false));
            seen.push(Seen { satisfied, question, group });
        }
        Ok(Look::Waits(seen, checked))
    }

    /// Answers for the pod of the call, and lets those go on that waited for it.
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
        // It goes on when each wait holds and no check refuses.
        let waits = seen.iter().map(|of| (of.question.clone(), true));
        let questions = waits.chain(checked.into_iter().map(|question| (question, false))).collect();
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
        let equivalence_key = a.own::<Waits>(&self.waits_key).and_then(|waits| waits.asks(&pod, questions));
        let until = deadlines.iter().copied().min().unwrap_or(a.now);
        if let Some(attempt) = a.slot().get_mut::<Attempt>() {
            attempt.deadlines = deadlines;
            attempt.equivalence_key = equivalence_key;
        }
        Ok(PermitOutcome::Wait { until })
    }

    /// The deadline of a wait that begins; a group's members that are not placed are tried at once.
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

    /// Lets the waiting members of the groups go on of whom it is known at this moment that they may, too: those that
    /// ask the same. The others are asked on their own.
    fn let_others_go(&self, a: &mut Actor, seen: &[Seen]) {
        if !self.compiled.statements.guards.is_empty() {
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

    /// The refusal of a wait that did not end in time.
    fn too_late(&self, h: &Handle<'_>, node: NodeId, at: usize) -> Status {
        let context = placed(h.pod, h.snapshot, h.now, Some(node))
            .unwrap_or_else(|| EvalContext::new(h.pod, h.snapshot, h.now));
        match self.all_waits().nth(at) {
            Some(wait) => refusal(&self.compiled, &wait.wait.reason, context),
            None => Status::unschedulable("the wait did not end in time"),
        }
    }
}

/// A deadline of a wait that does not wait.
const FOREVER: Time = Time(i64::MAX);

/// What a pod on a node sees: the node is `node`, or the one it is placed on.
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

/// The members of a group that have no node, the pod itself left out.
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
            // What held the last time the pod came here says nothing of this time.
            waits.leave(&pod);
        }
        self.answer(a, node, &[])
    }

    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        let known = a.handle().state::<Attempt>().map(|attempt| attempt.deadlines.clone());
        self.answer(a, node, &known.unwrap_or_default())
    }

    fn equivalence_key(&self, h: &Handle) -> Option<u64> {
        h.state::<Attempt>()?.equivalence_key.filter(|_| self.compiled.statements.guards.is_empty())
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
