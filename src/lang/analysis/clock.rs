//! When time alone may change what was found out: the instant at which a comparison of `now()`, or `within`, turns over
//! next. The reference evaluator notes it while it evaluates; `plugins::policy` asks for it when a pod has to wait.
//!
//! Only what is evaluated counts: a part that is not reached cannot be reached before one that was has turned over.

use crate::lang::language::functions::Prepared;
use crate::lang::typed::walk::parts;
use crate::lang::typed::{ArithmeticOp, Expr, ExprKind, Policy};
use crate::lang::types::value::Value;
use crate::model::Time;

/// How often the clock is looked at where no instant can be computed.
const MINUTE: i64 = 60_000_000;

/// The next full minute after an instant.
pub fn next_minute(now: Time) -> Time {
    Time((now.0.div_euclid(MINUTE) + 1).saturating_mul(MINUTE))
}

/// What an evaluation noted of the clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    next: Option<Time>,
    /// How many comparisons are under way whose turning point is noted when both sides are known.
    solved: u32,
}

impl Clock {
    /// The first instant after now at which something that was evaluated may turn over.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Something turns over then.
    fn note(&mut self, at: Time) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// `now()` was read.
    pub(in crate::lang) fn read(&mut self, now: Time) {
        if self.solved == 0 {
            self.note(next_minute(now));
        }
    }

    /// A part begins whose turning point [`Clock::compared`] or [`Clock::called`] will note.
    pub(in crate::lang) fn begin(&mut self) {
        self.solved += 1;
    }

    /// Two sides were compared whose difference grows by `slope` for each microsecond that passes.
    pub(in crate::lang) fn compared(&mut self, slope: i64, left: &Value<'_>, right: &Value<'_>, now: Time) {
        self.solved -= 1;
        let (Some(left), Some(right), true) = (micros(left), micros(right), slope != 0) else { return };
        // The difference is nought `wait` microseconds from now; strict and equal comparisons turn over there or one
        // microsecond behind it.
        let difference = i128::from(left) - i128::from(right);
        let wait = -difference * i128::from(slope);
        for at in [wait, wait + 1] {
            if at > 0
                && let Ok(at) = i64::try_from(i128::from(now.0) + at)
            {
                self.note(Time(at));
            }
        }
    }

    /// `within` was asked of an instant that moves with the clock.
    pub(in crate::lang) fn called(&mut self, args: &[Value<'_>], prepared: &Prepared, now: Time) {
        self.solved -= 1;
        if let ([Value::Time(at), ..], Prepared::Windows(windows)) = (args, prepared)
            && let Some(change) = windows.next_change(*at)
        {
            self.note(Time(now.0.saturating_add(change.0.saturating_sub(at.0))));
        }
    }
}

fn micros(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Time(at) => Some(at.0),
        Value::Int(micros) => Some(*micros),
        _ => None,
    }
}

/// By how much an instant or a duration grows for each microsecond that passes: -1, 0 or 1; `None` where that cannot be
/// told.
pub(in crate::lang) fn slope(policy: &Policy, expr: &Expr) -> Option<i64> {
    let known = match &expr.kind {
        ExprKind::Now => 1,
        ExprKind::Let(id) => return slope(policy, &policy[*id].value),
        ExprKind::Present(inner) => slope(policy, inner)?,
        ExprKind::Negate(inner) => -slope(policy, inner)?,
        ExprKind::Arithmetic(ArithmeticOp::Add, left, right) => slope(policy, left)? + slope(policy, right)?,
        ExprKind::Arithmetic(ArithmeticOp::Subtract, left, right) => {
            slope(policy, left)? - slope(policy, right)?
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            let (then, otherwise) = (slope(policy, then)?, slope(policy, otherwise)?);
            return (then == otherwise && !reads_clock(policy, condition)).then_some(then);
        }
        ExprKind::Coalesce(left, right) => {
            let (left, right) = (slope(policy, left)?, slope(policy, right)?);
            return (left == right).then_some(left);
        }
        _ => return (!reads_clock(policy, expr)).then_some(0),
    };
    (-1..=1).contains(&known).then_some(known)
}

/// Whether an expression reads the clock.
pub fn reads_clock(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Now => true,
        ExprKind::Let(id) => reads_clock(policy, &policy[*id].value),
        ExprKind::Group(id) => policy[*id].rest.iter().any(|condition| reads_clock(policy, condition)),
        ExprKind::CallDef(def, args) => {
            args.iter().any(|arg| reads_clock(policy, arg)) || reads_clock(policy, &policy[*def].body)
        }
        _ => parts(expr).into_iter().any(|child| reads_clock(policy, child)),
    }
}
