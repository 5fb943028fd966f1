//! `after failure`: members of groups that are refused at Permit, or tried again, after an attempt that failed.

use super::attempt::{Absent, Attempt};
use super::{PolicyPlugin, numbers, refusal};
use crate::framework::{Actor, Failure, Handle, Status};
use crate::lang::codegen::{CompiledDoes, Env};
use crate::lang::eval::context::EvalContext;
use crate::lang::types::value::Value;
use crate::model::{PodInfo, PodKey};

/// What is done with another pod.
enum Done {
    /// It waits at Permit and is refused.
    Released(PodKey, Status),
    /// It has no node and is tried again.
    Woken(PodKey),
}

impl PolicyPlugin {
    /// What a failed attempt does to other pods.
    fn after(&self, h: &Handle) -> Vec<Done> {
        let context = EvalContext::new(h.pod, h.snapshot, h.now);
        // An attempt may end before the policy had its turn.
        let applies = match h.state::<Attempt>() {
            Some(attempt) => attempt.applies && attempt.refuses,
            None => self.applies(context) && !self.never_refuses(h.pod),
        };
        if !applies || !matches!(self.missing(context), Absent::Nothing) {
            return Vec::new();
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let mut done = Vec::new();
        for act in &self.compiled.statements.acts.after_failure {
            if !act.holds(&mut env) {
                continue;
            }
            match &act.does {
                CompiledDoes::Release(members, reason) => {
                    let status = refusal(&self.compiled, reason, context).of_rule(numbers::AFTER_FAILURE);
                    let waiting = |pod: &PodInfo| context.is_waiting(pod);
                    let waiting = others(members(&mut env), h.pod, waiting);
                    done.extend(waiting.into_iter().map(|key| Done::Released(key, status.clone())));
                }
                CompiledDoes::Activate(members) => {
                    let unplaced = |pod: &PodInfo| context.placement(pod).is_none();
                    done.extend(others(members(&mut env), h.pod, unplaced).into_iter().map(Done::Woken));
                }
            }
        }
        done
    }
}

/// Those of some pods for which `wanted` holds, without `own`.
fn others(pods: Value<'_>, own: &PodInfo, wanted: impl Fn(&PodInfo) -> bool) -> Vec<PodKey> {
    let of = |value: &Value<'_>| match value {
        Value::Pod(pod) if pod.key != own.key && wanted(pod) => Some(pod.key.clone()),
        _ => None,
    };
    pods.elements().unwrap_or_default().iter().filter_map(of).collect()
}

impl Failure for PolicyPlugin {
    fn failed(&self, a: &mut Actor, ended_by_others: bool) {
        // Two groups that end and wake each other would never rest.
        if ended_by_others {
            return;
        }
        for done in self.after(&a.handle()) {
            match done {
                Done::Released(pod, status) => a.release(pod, status),
                Done::Woken(pod) => a.wake(pod),
            }
        }
    }
}
