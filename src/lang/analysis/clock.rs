//! When time alone may change what a policy says: the next instant at which a comparison of
//! `now()`, or `within`, turns over. `plugins::policy` asks when a pod begins to wait.
//!
//! [`next_change`] observes the reference evaluator. Only evaluated parts count: a part that is not
//! reached is not reached before an evaluated part turns over.

use crate::eval::context::EvalContext;
use crate::eval::interpret::{Evaluator, Observer};
use crate::language::functions::Prepared;
use crate::typed::walk::each_part;
use crate::typed::{ArithmeticOp, Expr, ExprKind, LetId, Policy, Root, SlotId, Victim};
use crate::types::value::Value;
use bayplan_model::Kinds;
use bayplan_model::{PodInfo, Time};
use rustc_hash::FxHashMap;

/// How often a condition is evaluated again where no instant can be computed, in microseconds.
const MINUTE: i64 = 60_000_000;

/// The next full minute after an instant.
pub fn next_minute(now: Time) -> Time {
    Time((now.0.div_euclid(MINUTE) + 1).saturating_mul(MINUTE))
}

/// When time alone may change the value of an expression, everything else as it is; `None`: never. How many parts were
/// evaluated is added to `work`.
pub fn next_change(policy: &Policy, context: EvalContext<'_>, expr: &Expr, work: &mut u64) -> Option<Time> {
    let mut clock = Clock::new(policy, context.now, work);
    Evaluator::new(policy, context).observed(&mut clock).value(expr);
    clock.next
}

/// When time alone may change the condition of a `victim` or `protect` for a pod; `None`: never.
pub fn next_change_of(
    policy: &Policy,
    context: EvalContext<'_>,
    rule: &Victim,
    pod: &PodInfo,
    work: &mut u64,
) -> Option<Time> {
    let mut clock = Clock::new(policy, context.now, work);
    let mut evaluator = Evaluator::new(policy, context).observed(&mut clock);
    evaluator.bind_pod(rule.slot, pod);
    evaluator.value(&rule.condition);
    drop(evaluator);
    clock.next
}

/// Observes an evaluation and notes the first instant at which something in it may turn over.
struct Clock<'p, 'w> {
    policy: &'p Policy,
    now: Time,
    next: Option<Time>,
    /// How many parts were evaluated.
    work: &'w mut u64,
    /// The comparisons and calls under way whose turning point is computed, innermost last.
    solving: Vec<Solving>,
}

/// An expression whose turning point is computed when its operands are known.
struct Solving {
    /// The expression. Addresses are compared and never followed.
    of: *const Expr,
    /// Its operands; a call of `within` has one.
    operands: [*const Expr; 2],
    /// Their values in microseconds.
    values: [Option<i64>; 2],
    /// By how much the difference of the operands grows for each microsecond that passes.
    slope: i64,
}

impl Solving {
    /// The comparisons, and the calls of `within`, that can be solved.
    fn of(policy: &Policy, expr: &Expr) -> Option<Self> {
        let (operands, slope): ([*const Expr; 2], i64) = match &expr.kind {
            ExprKind::Equal(left, right) | ExprKind::Compare(_, left, right) => {
                ([&**left, &**right], slope(policy, left)? - slope(policy, right)?)
            }
            ExprKind::Call(_, args, prepared) if matches!(**prepared, Prepared::Windows(_)) => {
                let at = args.first().filter(|at| slope(policy, at) == Some(1))?;
                ([at, std::ptr::null()], 1)
            }
            _ => return None,
        };
        (slope.abs() <= 1).then_some(Self { of: expr, operands, values: [None, None], slope })
    }
}

impl<'p, 'w> Clock<'p, 'w> {
    fn new(policy: &'p Policy, now: Time, work: &'w mut u64) -> Self {
        Self { policy, now, next: None, work, solving: Vec::new() }
    }

    /// Something turns over then.
    fn note(&mut self, at: Time) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// Notes when a comparison turns over.
    fn compared(&mut self, slope: i64, left: i64, right: i64) {
        // The difference is 0 `wait` microseconds from now; a strict comparison and an equality
        // turn over there or one microsecond later.
        let wait = -(i128::from(left) - i128::from(right)) * i128::from(slope);
        for at in [wait, wait + 1] {
            if at > 0
                && let Ok(at) = i64::try_from(i128::from(self.now.0) + at)
            {
                self.note(Time(at));
            }
        }
    }

    /// Notes when `within`, of an instant that moves with the clock, turns over.
    fn called(&mut self, prepared: &Prepared, at: i64) {
        if let Prepared::Windows(windows) = prepared
            && let Some(change) = windows.next_change(Time(at))
        {
            self.note(Time(self.now.0.saturating_add(change.0.saturating_sub(at))));
        }
    }
}

impl Observer for Clock<'_, '_> {
    fn enter(&mut self, expr: &Expr) {
        *self.work += 1;
        self.solving.extend(Solving::of(self.policy, expr));
    }

    fn leave(&mut self, expr: &Expr, value: &Value<'_>) {
        if self.solving.last().is_some_and(|solving| std::ptr::eq(solving.of, expr))
            && let Some(solved) = self.solving.pop()
        {
            match (&expr.kind, solved.values) {
                (ExprKind::Call(_, _, prepared), [Some(at), _]) => self.called(prepared, at),
                (_, [Some(left), Some(right)]) if solved.slope != 0 => {
                    self.compared(solved.slope, left, right);
                }
                _ => {}
            }
        }
        let attempts =
            matches!(&expr.kind, ExprKind::Field(_, field) if field.def().changed_by == Kinds::ATTEMPTS);
        if attempts || matches!(expr.kind, ExprKind::Now) && self.solving.is_empty() {
            self.note(next_minute(self.now));
        }
        if let Some(solving) = self.solving.last_mut() {
            for (operand, known) in solving.operands.iter().zip(&mut solving.values) {
                if std::ptr::eq(*operand, expr) {
                    *known = micros(value);
                }
            }
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

/// By how much an instant or a duration grows for each microsecond that passes: -1, 0 or 1; `None`
/// where that cannot be told.
fn slope(policy: &Policy, expr: &Expr) -> Option<i64> {
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

/// Whether an expression reads the clock, or what grows with it.
pub fn reads_clock(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Now => true,
        ExprKind::Field(_, field) if field.def().changed_by == Kinds::ATTEMPTS => true,
        ExprKind::Let(id) => reads_clock(policy, &policy[*id].value),
        ExprKind::Group(id) => policy[*id].rest.iter().any(|condition| reads_clock(policy, condition)),
        ExprKind::CallDef(def, args) => {
            args.iter().any(|arg| reads_clock(policy, arg)) || reads_clock(policy, &policy[*def].body)
        }
        _ => {
            let mut found = false;
            each_part(expr, &mut |part| found = found || reads_clock(policy, part));
            found
        }
    }
}

/// The largest parts of an expression that read the clock, and neither the node nor a variable: their
/// values change at the same instants for all nodes. `None` if another part reads the clock with a node
/// or variable.
pub fn parts_of_time<'p>(policy: &'p Policy, expr: &'p Expr) -> Option<Vec<&'p Expr>> {
    let mut search = Search { policy, found: Vec::new(), lets: FxHashMap::default(), mixed: false };
    search.part(expr);
    (!search.mixed).then_some(search.found)
}

/// What a part of an expression reads.
#[derive(Clone, Default)]
struct Part {
    clock: bool,
    node: bool,
    /// Variables of macros, groups and defs around it.
    slots: Vec<SlotId>,
}

impl Part {
    /// Whether it is the same for all nodes and elements.
    fn is_closed(&self) -> bool {
        !self.node && self.slots.is_empty()
    }
}

struct Search<'p> {
    policy: &'p Policy,
    found: Vec<&'p Expr>,
    /// Lets that were searched, and what they read.
    lets: FxHashMap<LetId, Part>,
    /// Something is solved from the clock together with a node or variable.
    mixed: bool,
}

impl<'p> Search<'p> {
    fn part(&mut self, expr: &'p Expr) -> Part {
        let policy = self.policy;
        let before = self.found.len();
        let mut all = Part::default();
        match &expr.kind {
            ExprKind::Now => all.clock = true,
            ExprKind::Slot(slot) => all.slots.push(*slot),
            ExprKind::Root(Root::Node) => all.node = true,
            ExprKind::Let(id) => {
                all = match self.lets.get(id) {
                    Some(known) => known.clone(),
                    None => {
                        let of = self.part(&policy[*id].value);
                        self.lets.insert(*id, of.clone());
                        of
                    }
                };
            }
            ExprKind::Group(id) => self.join(&mut all, &policy[*id].rest, &[policy[*id].slot]),
            ExprKind::CallDef(def, args) => {
                self.join(&mut all, [&policy[*def].body], &policy[*def].parameters);
                self.join(&mut all, args, &[]);
            }
            _ => {
                for operand in expr.operands() {
                    let binds: Vec<SlotId> = operand.binds.into_iter().flatten().collect();
                    self.join(&mut all, [operand.expr], &binds);
                }
            }
        }
        if let ExprKind::Field(_, field) = &expr.kind {
            all.clock |= field.def().changed_by == Kinds::ATTEMPTS;
        }
        if all.clock && all.is_closed() {
            self.found.truncate(before);
            self.found.push(expr);
        } else if all.clock {
            self.mixed |= Solving::of(policy, expr).is_some();
        }
        all
    }

    /// Adds what parts read in which these variables are bound.
    fn join(&mut self, all: &mut Part, parts: impl IntoIterator<Item = &'p Expr>, bound: &[SlotId]) {
        for part in parts {
            let of = self.part(part);
            all.clock |= of.clock;
            all.node |= of.node;
            for slot in of.slots {
                if !bound.contains(&slot) && !all.slots.contains(&slot) {
                    all.slots.push(slot);
                }
            }
        }
    }
}
