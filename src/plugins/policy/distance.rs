//! How far a condition over a group is from being true: the least number of members that must change first. A wait for
//! a gang is not evaluated again before so many members changed, so that the admission of a gang does not count all of
//! its members once per member.

use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::language::macros::MacroKind;
use bayplan_lang::typed::walk;
use bayplan_lang::typed::{CompareOp, Expr, ExprKind, Policy};
use bayplan_lang::types::value::Value;

/// A condition whose reads are members of groups, and values that do not change while a pod waits.
pub(super) enum Distance {
    /// Any change may make it true.
    One,
    /// All parts must become true.
    All(Vec<(Expr, Distance)>),
    /// One part must become true.
    Any(Vec<Distance>),
    /// A number of members must reach a bound.
    Count {
        count: Box<Expr>,
        bound: Box<Expr>,
        /// The number must exceed the bound.
        beyond: bool,
    },
}

impl Distance {
    pub(super) fn of(policy: &Policy, condition: &Expr) -> Self {
        match &condition.kind {
            ExprKind::Let(id) => Self::of(policy, &policy[*id].value),
            ExprKind::And(left, right) => {
                let part = |part: &Expr| (part.clone(), Self::of(policy, part));
                Self::All(vec![part(left), part(right)])
            }
            ExprKind::Or(left, right) => Self::Any(vec![Self::of(policy, left), Self::of(policy, right)]),
            ExprKind::Compare(op, left, right) => {
                let (count, bound, beyond) = match op {
                    CompareOp::GreaterEqual => (left, right, false),
                    CompareOp::Greater => (left, right, true),
                    CompareOp::LessEqual => (right, left, false),
                    CompareOp::Less => (right, left, true),
                };
                if !counts_members(policy, count) || reads_group(policy, bound) {
                    return Self::One;
                }
                Self::Count { count: count.clone(), bound: bound.clone(), beyond }
            }
            _ => Self::One,
        }
    }

    /// The least number of changes after which the condition, which is false now, may be true; at least 1.
    pub(super) fn least(&self, evaluator: &mut Evaluator<'_, '_>) -> u64 {
        match self {
            Self::One => 1,
            Self::All(parts) => {
                let mut most = 1;
                for (part, distance) in parts {
                    if !evaluator.holds(part) {
                        most = most.max(distance.least(evaluator));
                    }
                }
                most
            }
            Self::Any(parts) => parts.iter().map(|part| part.least(evaluator)).min().unwrap_or(1),
            Self::Count { count, bound, beyond } => {
                let whole = |value: Value<'_>| match value {
                    Value::Int(number) => Some(i128::from(number)),
                    Value::Uint(number) => Some(i128::from(number)),
                    _ => None,
                };
                let (count, bound) = (whole(evaluator.value(count)), whole(evaluator.value(bound)));
                let missing =
                    bound.zip(count).map_or(1, |(bound, count)| bound - count + i128::from(*beyond));
                u64::try_from(missing.max(1)).unwrap_or(1)
            }
        }
    }
}

/// Whether an expression is a number of members of a group that the change of one member changes by one at most.
fn counts_members(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Let(id) => counts_members(policy, &policy[*id].value),
        ExprKind::Macro(of) if of.kind == MacroKind::Count => {
            is_group(policy, &of.over)
                && of.body.is_none()
                && of.condition.as_ref().is_none_or(|condition| !reads_group(policy, condition))
        }
        _ => false,
    }
}

fn is_group(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Let(id) => is_group(policy, &policy[*id].value),
        ExprKind::Group(id) => policy[*id].rest.iter().all(|condition| !reads_group(policy, condition)),
        _ => false,
    }
}

fn reads_group(policy: &Policy, expr: &Expr) -> bool {
    walk::any(policy, expr, &mut |part| matches!(part.kind, ExprKind::Group(_)))
}
