//! What is done after an attempt, as closures. `plugins::policy` carries it out.

use super::closures::{BoolFn, ValueFn};
use super::{Env, Lowering};
use crate::lang::language::fields::ObjectType;
use crate::lang::typed::{Act, Acts, Does, Expr, ExprKind, GroupId, MemoId, Point, Policy, Reason};
use crate::lang::types::Type;
use crate::lang::types::range::Range;

/// An act with its condition.
pub struct CompiledAct {
    /// What is done.
    pub does: CompiledDoes,
    /// Evaluated first.
    when: Option<BoolFn>,
}

impl CompiledAct {
    /// Whether it is to be done in this environment.
    pub fn holds(&self, env: &mut Env<'_, '_>) -> bool {
        self.when.as_ref().is_none_or(|when| when(env))
    }
}

/// What an act does.
pub enum CompiledDoes {
    /// Refuses the waiting ones among these pods.
    Release(ValueFn, Reason),
    /// Tries the unschedulable ones among these pods again.
    Activate(ValueFn),
    /// Sets a memo to this value, or forgets it.
    Remember(MemoId, ValueFn),
}

/// All acts of a policy, in the order of the text.
#[derive(Default)]
pub struct CompiledActs {
    /// `after failure`
    pub after_failure: Vec<CompiledAct>,
}

/// Lowers all acts of a policy. It was proved that nothing of them fails.
pub(super) fn acts(lowering: &mut Lowering<'_>, policy: &Policy) -> CompiledActs {
    let mut all = CompiledActs::default();
    for Acts { point, acts, .. } in &policy.acts {
        let acts = acts.iter().map(|act| lowered(lowering, policy, act));
        match point {
            Point::Failure => all.after_failure.extend(acts),
            _ => {}
        }
    }
    all
}

fn lowered(lowering: &mut Lowering<'_>, policy: &Policy, act: &Act) -> CompiledAct {
    CompiledAct {
        when: act.when.as_ref().map(|when| lowering.bool(when)),
        does: match &act.does {
            Does::Release(group, reason) => {
                CompiledDoes::Release(members_of(lowering, policy, *group), reason.clone())
            }
            Does::Activate(group) => CompiledDoes::Activate(members_of(lowering, policy, *group)),
            Does::Remember(memo, value) => CompiledDoes::Remember(*memo, lowering.value(value)),
        },
    }
}

/// The members of a group, as pods.
pub(super) fn members_of(lowering: &mut Lowering<'_>, policy: &Policy, group: GroupId) -> ValueFn {
    lowering.value(&Expr {
        kind: ExprKind::Group(group),
        ty: Type::Object(ObjectType::Pod).list(),
        range: Range::None,
        span: policy[group].span,
    })
}
