//! `after failure`: members of groups that are refused at Permit, or tried again, and what is remembered, after an
//! attempt that failed.

use super::attempt::{Absent, Attempt};
use super::{PolicyPlugin, numbers, refusal};
use crate::framework::{Actor, Failure, Handle, Status};
use crate::lang::codegen::{CompiledDoes, Env};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::ledgers::Key;
use crate::lang::eval::memos::{MemoIndex, key_of};
use crate::lang::typed::MemoId;
use crate::lang::types::convert;
use crate::lang::types::value::{Constant, Value};
use crate::model::{PodInfo, PodKey};

/// What is done.
enum Done {
    /// It waits at Permit and is refused.
    Released(PodKey, Status),
    /// It has no node and is tried again.
    Woken(PodKey),
    /// A memo is set under a key, or forgotten.
    Remembered(MemoId, Key, Option<Constant>),
}

impl PolicyPlugin {
    /// What a failed attempt does. One that ended because of another pod only remembers.
    fn after(&self, h: &Handle, ended_by_others: bool) -> Vec<Done> {
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
            let remembers = matches!(act.does, CompiledDoes::Remember(..));
            if ended_by_others && !remembers || !act.holds(&mut env) {
                continue;
            }
            match &act.does {
                CompiledDoes::Release(members, reason) => {
                    let status = refusal(&self.compiled, reason, context).of_rule(numbers::AFTER_FAILURE);
                    let waiting = |pod: &PodInfo| context.is_waiting(pod);
                    let waiting = others(members(&mut env), h.pod, waiting);
                    done.extend(waiting.into_iter().map(|key| Done::Released(key, status.clone())));
                }
                CompiledDoes::Remember(memo, value) => {
                    let value = Some(convert::keep(&value(&mut env))).filter(|value| !value.is_absent());
                    let key = key_of(&self.compiled.policy, *memo, context);
                    // The last one of the text decides.
                    done.retain(|of| !matches!(of, Done::Remembered(other, ..) if other == memo));
                    done.push(Done::Remembered(*memo, key, value));
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

impl PolicyPlugin {
    /// Sets a memo, or forgets it; pods that wait for this key are notified.
    fn remember(&self, a: &mut Actor, memo: MemoId, key: Key, value: Option<Constant>) {
        let (memo, now) = (&self.compiled.policy[memo], a.now);
        a.write::<MemoIndex>(&memo.index, |index, moved| {
            index.remember(key, value, (now, memo.keeps_for), moved);
        });
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
        for done in self.after(&a.handle(), ended_by_others) {
            match done {
                Done::Released(pod, status) => a.release(pod, status),
                Done::Woken(pod) => a.wake(pod),
                Done::Remembered(memo, key, value) => self.remember(a, memo, key, value),
            }
        }
    }
}
