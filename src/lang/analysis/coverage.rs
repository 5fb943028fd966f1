//! [`Coverage`]: which conditions of policies were seen true and seen false. `dry_run` records the
//! traces of a test in it; `cli test` reports what no test has seen.

use super::stage::{Stage, stage};
use crate::eval::trace::ValueTrace;
use crate::typed::{Body, Expr, ExprKind, Policy, Statement};
use crate::types::Type;
use bayplan_diag::Span;
use rustc_hash::FxHashMap;

/// A condition of a statement, or a part of one that `&&`, `||` and `!` join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Where it is written.
    pub span: Span,
    /// Whether it was seen true.
    pub seen_true: bool,
    /// Whether it was seen false.
    pub seen_false: bool,
    /// Whether it was seen to fail: an expression in CEL without a value.
    pub seen_error: bool,
}

impl Condition {
    /// Whether both outcomes were seen.
    pub fn covered(&self) -> bool {
        self.seen_true && self.seen_false
    }
}

/// The conditions of some policies. Constant conditions have one outcome, and are left out.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    conditions: Vec<Condition>,
    places: FxHashMap<Span, usize>,
}

impl Coverage {
    /// The conditions of policies, in the order of the text, none of them seen.
    pub fn of<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Self {
        let mut coverage = Self::default();
        for policy in policies {
            for rule in &policy.rules {
                let conditions = rule.statements(policy).filter_map(Statement::condition);
                // Of an exception, that its day is over is nothing that a test can bring about.
                match rule.body {
                    Body::Except(id) => {
                        let pods = policy.excepted_pods(&policy[id]);
                        pods.iter().for_each(|of| coverage.add(policy, of));
                    }
                    _ => conditions.for_each(|of| coverage.add(policy, of)),
                }
            }
        }
        // A condition comes before its parts.
        coverage.conditions.sort_by_key(|of| (of.span.source, of.span.start, std::cmp::Reverse(of.span.end)));
        let spans = coverage.conditions.iter().enumerate();
        coverage.places = spans.map(|(at, condition)| (condition.span, at)).collect();
        coverage
    }

    /// All conditions, in the order of the text.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Records the conditions in an evaluated expression. Parts after a short cut were not
    /// evaluated.
    pub fn record(&mut self, shown: &ValueTrace) {
        if !shown.reached {
            return;
        }
        let condition = self.places.get(&shown.span).and_then(|at| self.conditions.get_mut(*at));
        if let Some(condition) = condition {
            condition.seen_true |= shown.truth == Some(true);
            condition.seen_false |= shown.truth == Some(false);
            condition.seen_error |= shown.failed;
        }
        for part in &shown.parts {
            self.record(part);
        }
    }

    fn add(&mut self, policy: &Policy, condition: &Expr) {
        let condition = meant(policy, condition);
        self.put(policy, condition);
        self.add_parts(policy, condition);
    }

    /// The parts of a condition.
    fn add_parts(&mut self, policy: &Policy, condition: &Expr) {
        let (ExprKind::And(left, right) | ExprKind::Or(left, right)) = &condition.kind else { return };
        for part in [left, right] {
            let part = meant(policy, part);
            match part.kind {
                ExprKind::And(..) | ExprKind::Or(..) => self.add_parts(policy, part),
                _ => self.put(policy, part),
            }
        }
    }

    fn put(&mut self, policy: &Policy, condition: &Expr) {
        let known = self.places.contains_key(&condition.span);
        if !known && condition.ty == Type::Bool && stage(policy, condition) != Stage::Const {
            self.places.insert(condition.span, self.conditions.len());
            let (seen_true, seen_false, seen_error) = (false, false, false);
            self.conditions.push(Condition { span: condition.span, seen_true, seen_false, seen_error });
        }
    }
}

/// The condition that negations and names stand for: `!x` is seen when `x` is.
fn meant<'p>(policy: &'p Policy, condition: &'p Expr) -> &'p Expr {
    match &condition.kind {
        // `a != b` is `!(a == b)`, at one place.
        ExprKind::Not(inner) if inner.span == condition.span => condition,
        ExprKind::Not(inner) | ExprKind::Present(inner) | ExprKind::Widen(inner) => meant(policy, inner),
        ExprKind::Let(id) => match &policy[*id].value {
            value if value.ty == Type::Bool => meant(policy, value),
            _ => condition,
        },
        _ => condition,
    }
}
