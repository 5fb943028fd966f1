//! [`Coverage`]: which conditions of policies were seen true and seen false. `dry_run` shows it what a test asked;
//! `cli test` reports what no test has seen. What was asked, and of which node, is not known here.

use super::interpret::Shown;
use crate::diag::Span;
use crate::lang::analysis::stage::{Stage, stage};
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::{Expr, ExprKind, Policy, Rule, Statement};
use crate::lang::types::Type;
use rustc_hash::FxHashMap;

/// A condition of a statement. One that is made of several by `&&`, `||` and `!` is counted, and so is each of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Where it is written.
    pub span: Span,
    /// Whether it was seen true.
    pub seen_true: bool,
    /// Whether it was seen false.
    pub seen_false: bool,
}

impl Condition {
    /// Whether both outcomes were seen.
    pub fn covered(&self) -> bool {
        self.seen_true && self.seen_false
    }
}

/// The conditions of some policies. Those that are the same for every pod and node have no other outcome, and are
/// left out.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    conditions: Vec<Condition>,
    places: FxHashMap<Span, usize>,
}

impl Coverage {
    /// The conditions of policies, in the order of the text; none was seen.
    pub fn of<'p>(policies: impl IntoIterator<Item = &'p CompiledPolicy>) -> Self {
        let mut coverage = Self::default();
        for compiled in policies {
            let policy = &*compiled.policy;
            let statements = policy.rules().flat_map(Rule::statements);
            statements.filter_map(Statement::condition).for_each(|of| coverage.add(policy, of));
        }
        // A condition stands before those that it is made of.
        coverage.conditions.sort_by_key(|of| (of.span.source, of.span.start, std::cmp::Reverse(of.span.end)));
        let spans = coverage.conditions.iter().enumerate();
        coverage.places = spans.map(|(at, condition)| (condition.span, at)).collect();
        coverage
    }

    /// All conditions, in the order of the text.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Notes what an evaluated expression shows of the conditions in it. What stood behind a short cut was not asked.
    pub fn see(&mut self, shown: &Shown) {
        if !shown.reached {
            return;
        }
        let condition = self.places.get(&shown.span).and_then(|at| self.conditions.get_mut(*at));
        if let (Some(condition), Some(truth)) = (condition, shown.truth) {
            condition.seen_true |= truth;
            condition.seen_false |= !truth;
        }
        for part in &shown.parts {
            self.see(part);
        }
    }

    fn add(&mut self, policy: &Policy, condition: &Expr) {
        let condition = meant(policy, condition);
        self.put(policy, condition);
        self.add_parts(policy, condition);
    }

    /// The conditions that this one is made of.
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
            self.conditions.push(Condition { span: condition.span, seen_true: false, seen_false: false });
        }
    }
}

/// The condition behind negations and names: `!x` is seen when `x` is.
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
