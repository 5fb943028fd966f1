//! What memos remember for the pods of a case: at its beginning (`memos`), and expected at its end (`remembers`).

use super::compare::Difference;
use super::names::mistake;
use super::{Bench, Seen, World, no_pod};
use bayplan_diag::{Diagnostic, Span, suggest};
use bayplan_lang::check::of_yaml;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::memos::{MemoIndex, key_of, remembered};
use bayplan_lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan_lang::typed::MemoId;
use bayplan_lang::types::show::quantity;
use bayplan_lang::types::value::Constant;
use bayplan_model::{PodInfo, Time};
use bayplan_scheduler::Scheduler;
use std::sync::Arc;

/// A value of a memo, as a case writes it.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// The name of the pod, in a case with several.
    pub(super) pod: Option<String>,
    /// `MEMO` or `POLICY/MEMO`.
    pub(super) memo: String,
    /// The value; null for nothing.
    pub(super) value: serde_json::Value,
    /// The value, where it is written.
    pub(super) span: Span,
}

/// A memo with a value of its type.
struct Known<'p> {
    policy: &'p Arc<CompiledPolicy>,
    memo: MemoId,
    value: Option<Constant>,
}

impl Given {
    /// The memo, and the value in its type.
    fn in_its_type<'p>(&self, policies: &'p PolicySet) -> Result<Known<'p>, Box<Diagnostic>> {
        let named = policies.iter().flat_map(|policy| {
            let memos = policy.policy.memos.iter().zip(0..);
            memos.map(move |(memo, at)| (policy, MemoId(at), format!("{}/{}", policy.name(), memo.name)))
        });
        let named: Vec<_> = named.collect();
        let is = |name: &str| *name == *self.memo || name.rsplit('/').next() == Some(&*self.memo);
        let mut fitting = named.iter().filter(|(.., name)| is(name));
        let (policy, memo) = match (fitting.next(), fitting.next()) {
            (Some((policy, memo, _)), None) => (*policy, *memo),
            (Some((.., one)), Some((.., other))) => {
                let message = format!("several policies have a memo `{}`", self.memo);
                let said = mistake(self.span, message, None);
                return Err(Box::new(said.with_help(format!("write `{one}` or `{other}`"))));
            }
            (None, _) => {
                let names =
                    named.iter().flat_map(|(.., name)| [&**name, name.rsplit('/').next().unwrap_or(name)]);
                let near = suggest::nearest(&self.memo, names).map(str::to_owned);
                return Err(mistake(self.span, format!("no policy has a memo `{}`", self.memo), near));
            }
        };
        let ty = &policy.policy[memo].ty;
        let value = match self.value.is_null() {
            true => None,
            false => Some(of_yaml(&self.value, ty).map_err(|why| {
                mistake(self.span, format!("the memo `{}` is `{ty}`: {why}", self.memo), None)
            })?),
        };
        Ok(Known { policy, memo, value })
    }

    /// Whether the policies have the memo, and the value is of its type.
    pub(super) fn known(&self, policies: &PolicySet) -> Result<(), Box<Diagnostic>> {
        self.in_its_type(policies).map(|_| ())
    }

    /// The value that the memo has for a pod of the case as the case begins.
    pub(super) fn of_a_pod(&self, world: &World, bench: &Bench) -> Result<Remembered, Box<Diagnostic>> {
        let Known { policy, memo, value } = self.in_its_type(bench.policies)?;
        let Some(value) = value else {
            let message = format!("the memo `{}` remembers nothing as the case begins", self.memo);
            return Err(mistake(self.span, message, None));
        };
        if policy.policy[memo].keeps_for.0 <= 0 {
            let message = format!("the memo `{}` keeps nothing: its ttl is 0", self.memo);
            return Err(mistake(self.span, message, None));
        }
        let is = |pod: &&Arc<PodInfo>| self.pod.as_ref().is_none_or(|name| *pod.name == **name);
        let Some(pod) = world.pending.iter().find(is) else {
            return Err(no_pod(self.pod.as_deref(), self.span, world));
        };
        Ok(Remembered { policy: policy.clone(), memo, pod: pod.clone(), value })
    }

    /// The difference between what is expected and what the memo remembers for the pod at the end.
    pub(super) fn difference(&self, seen: &Seen) -> Difference {
        let Known { policy, memo, value } = self.in_its_type(seen.policies).ok()?;
        let moment = seen.recorder.end.as_ref()?;
        let context = EvalContext::new(&seen.pod.pod, &moment.snapshot, moment.now);
        let key = key_of(&policy.policy, memo, context);
        let got = remembered(&context, &policy.policy[memo].index, &key.0);
        let got = (!got.is_absent()).then_some(got);
        let shown = |of: &Option<Constant>| match of {
            Some(value) => quantity(value, &policy.policy[memo].ty).unwrap_or_else(|| value.to_string()),
            None => "nothing".to_owned(),
        };
        let words = |of| format!("{} remembers {}", self.memo, shown(of));
        (got != value).then(|| (words(&value), words(&got), Vec::new()))
    }
}

/// A value that a memo has as a case begins.
pub(crate) struct Remembered {
    policy: Arc<CompiledPolicy>,
    memo: MemoId,
    pod: Arc<PodInfo>,
    value: Constant,
}

impl Remembered {
    /// Fills the index of the memo.
    pub(crate) fn fill(self, scheduler: &mut Scheduler, now: Time) {
        let policy = &self.policy.policy;
        let key = key_of(policy, self.memo, EvalContext::new(&self.pod, scheduler.snapshot(), now));
        let memo = &policy[self.memo];
        scheduler.fill::<MemoIndex>(&memo.index, |index, moved| {
            index.remember(key, Some(self.value), now, memo.keeps_for, moved);
        });
    }
}
