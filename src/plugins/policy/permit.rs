//! `permit`: checks, and waits that end when their condition holds. No pod goes on before each of its waits held.
//!
//! A wait `for` a group has one deadline, that of the member that opened it; who leaves without going on takes the
//! waiting others along.

use super::attempt::{Absent, Attempt};
use super::waits::{WaitKey, Waits};
use super::{PolicyPlugin, refusal};
use crate::framework::{Actor, Handle, MAX_PERMIT_WAIT, Permit, PermitOutcome, Status};
use crate::lang::context::EvalContext;
use crate::lang::convert;
use crate::lang::interpret::Evaluator;
use crate::lang::lower::{CompiledWait, Env};
use crate::lang::typed::GroupId;
use crate::lang::value::{Ordered, Value};
use crate::model::{Duration, NodeId, PodInfo, PodKey, Snapshot, Time};

/// What was seen of a `wait`.
struct Seen {
    satisfied: bool,
    patience: Duration,
    /// The group that waits together, and its members without a node.
    group: Option<(WaitKey, Vec<PodKey>)>,
}

impl PolicyPlugin {
    fn all_waits(&self) -> impl Iterator<Item = &CompiledWait> {
        self.compiled.statements.permits.iter().flat_map(|permit| &permit.waits)
    }

    fn group_key(&self, at: usize, group: GroupId, context: EvalContext<'_>) -> Option<WaitKey> {
        let of = self.compiled.policy.groups.get(group.0 as usize)?;
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let values: Vec<_> =
            of.keys.iter().map(|key| Ordered(convert::keep(&evaluator.value(&key.pod)))).collect();
        values.iter().all(|value| !value.0.is_absent()).then_some((at, values))
    }

    /// Looks at checks and waits for the pod of the call.
    fn look(&self, h: &Handle<'_>, node: NodeId) -> Result<Vec<Seen>, Status> {
        let Some(context) = placed(h.pod, h.snapshot, h.now, Some(node)) else { return Ok(Vec::new()) };
        // An attempt that began before the policy was loaded kept nothing: it is judged as it is now.
        let applies = match h.state::<Attempt>() {
            Some(attempt) => attempt.applies && attempt.refuses,
            None => self.applies(context) && !self.never_refuses(h.pod),
        };
        if !applies {
            return Ok(Vec::new());
        }
        match self.missing(context) {
            Absent::Nothing => {}
            Absent::Skip => return Ok(Vec::new()),
            Absent::Refused(status) => return Err(status),
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        for check in self.compiled.statements.permits.iter().flat_map(|permit| &permit.checks) {
            if check.refuses(&mut env) {
                return Err(refusal(&self.compiled, check.reason(), context));
            }
        }
        let mut seen = Vec::new();
        for (at, wait) in self.all_waits().enumerate() {
            let satisfied = (wait.until)(&mut env);
            let patience = Duration((wait.patience)(&mut env).clamp(0, MAX_PERMIT_WAIT.0));
            let group = wait.group.and_then(|group| {
                let key = self.group_key(at, group, context)?;
                let members = wait.members.as_ref().map(|members| members(&mut env))?;
                Some((key, pending(&members, &context)))
            });
            seen.push(Seen { satisfied, patience, group });
        }
        Ok(seen)
    }

    /// Whether a pod that waits may go on.
    fn may_go_on(&self, pod: &PodKey, snapshot: &Snapshot, now: Time) -> bool {
        let Some(entry) = snapshot.pod(pod) else { return false };
        let Some(context) = placed(&entry.pod, snapshot, now, None) else { return false };
        match self.missing(context) {
            Absent::Nothing => {}
            Absent::Skip => return true,
            Absent::Refused(_) => return false,
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        self.all_waits().all(|wait| (wait.until)(&mut env))
    }

    /// Answers for the pod of the call, and lets those go on that waited for it.
    fn answer(&self, a: &mut Actor, node: NodeId, known: &[Time]) -> Result<PermitOutcome, Status> {
        let seen = self.look(&a.handle(), node)?;
        self.let_others_go(a, &seen);
        if seen.iter().all(|of| of.satisfied) {
            let pod = a.pod.key.clone();
            if let Some(waits) = a.own::<Waits>(&self.waits_key) {
                waits.leave(&pod);
            }
            return Ok(PermitOutcome::Allow);
        }
        let mut deadlines = vec![FOREVER; seen.len()];
        for (at, of) in seen.iter().enumerate().filter(|(_, of)| !of.satisfied) {
            let before = known.get(at).copied().filter(|deadline| *deadline != FOREVER);
            let deadline = match before {
                Some(deadline) => deadline,
                None => self.open(a, of),
            };
            if before.is_some() && deadline <= a.now {
                return Err(self.too_late(&a.handle(), node, at));
            }
            if let Some(place) = deadlines.get_mut(at) {
                *place = deadline;
            }
        }
        let until = deadlines.iter().copied().min().unwrap_or(a.now);
        if let Some(attempt) = a.slot().get_mut::<Attempt>() {
            attempt.deadlines = deadlines;
        }
        Ok(PermitOutcome::Wait { until })
    }

    /// The deadline of a wait that begins; a group's members that are not placed are tried at once.
    fn open(&self, a: &mut Actor, of: &Seen) -> Time {
        let own = a.now + of.patience;
        let Some((key, pending)) = &of.group else { return own };
        let pod = a.pod.key.clone();
        let entered = a.own::<Waits>(&self.waits_key).map(|waits| waits.enter(key.clone(), pod, own));
        match entered {
            Some((deadline, opened)) => {
                if opened {
                    for member in pending {
                        a.activate(member.clone());
                    }
                }
                deadline
            }
            None => own,
        }
    }

    /// Lets the waiting members of the groups go on whose waits hold now.
    fn let_others_go(&self, a: &mut Actor, seen: &[Seen]) {
        for (key, _) in seen.iter().filter_map(|of| of.group.as_ref()) {
            let me = a.pod.key.clone();
            let waiting = a.own::<Waits>(&self.waits_key).map(|waits| waits.waiting(key)).unwrap_or_default();
            for pod in waiting.into_iter().filter(|pod| *pod != me) {
                let h = a.handle();
                if self.may_go_on(&pod, h.snapshot, h.now) {
                    if let Some(waits) = a.own::<Waits>(&self.waits_key) {
                        waits.leave(&pod);
                    }
                    a.allow(pod);
                }
            }
        }
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
        self.answer(a, node, &[])
    }

    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        let known = a.handle().state::<Attempt>().map(|attempt| attempt.deadlines.clone());
        self.answer(a, node, &known.unwrap_or_default())
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
