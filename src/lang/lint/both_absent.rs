//! The lint `both-absent`: a comparison with `==` that is false where both sides are absent, in a place where false
//! favours the node.
//!
//! Called by `lint` for every policy without a mistake. An expression is walked with the outcome that its growth leads
//! to: a condition that holds, or a number that is larger, favours the node or harms it.

use super::shadow::split;
use crate::analysis::same::same;
use crate::analysis::shape::resolve_alias;
use crate::language::functions::Influence;
use crate::typed::{
    ArithmeticOp, Check, CompareOp, Expr, ExprKind, Give, Macro, Point, Policy, Rule, Score, Statement,
};
use crate::types::range::Range;
use bayplan_diag::{Diagnostic, Source, Span, codes};
use std::collections::BTreeSet;

/// What it leads to when a condition holds or a number grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The pod passes, or the score grows.
    Favours,
    /// The pod is refused, or the score shrinks.
    Harms,
    /// It cannot be told.
    Unknown,
}

use Effect::{Favours, Harms, Unknown};

impl Effect {
    /// Of a part whose growth does this to the whole.
    fn through(self, influence: Influence) -> Self {
        match influence {
            Influence::Raises => self,
            Influence::Lowers => self.flip(),
            Influence::Divides | Influence::Unknown => Unknown,
        }
    }

    fn flip(self) -> Self {
        match self {
            Favours => Harms,
            Harms => Favours,
            Unknown => Unknown,
        }
    }

    /// Times a factor, or divided by one.
    fn by_sign(self, other: &Expr) -> Self {
        match other.range.ends() {
            Some((low, _)) if low >= 0.0 => self,
            Some((_, high)) if high <= 0.0 => self.flip(),
            _ => Unknown,
        }
    }
}

/// Reports comparisons of two sides that may both be absent.
pub(super) fn check(policy: &Policy, source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let mut walk =
        Walk { policy, present: required(policy), found: BTreeSet::new(), said: Vec::new(), source };
    for rule in &policy.rules {
        if let Some(score) = rule.score() {
            walk.score(score);
            continue;
        }
        // Evictions favour no node.
        if rule.point() == Point::PostFilter {
            continue;
        }
        for statement in rule.statements(policy) {
            match statement {
                Statement::Check(Check { condition: Some(condition), refuses_when, .. }) => {
                    walk.expr(condition, if *refuses_when { Harms } else { Favours });
                }
                Statement::Wait(wait) => walk.expr(&wait.until, Favours),
                _ => {}
            }
        }
    }
    diagnostics.append(&mut walk.said);
}

/// What a pod or node must have, or it is refused in any case: `require has(…)` and the like, anywhere in the policy.
fn required(policy: &Policy) -> Vec<&Expr> {
    let mut present = Vec::new();
    for point in [Point::PreEnqueue, Point::PreFilter, Point::Filter] {
        // A rule that leaves pods alone requires nothing of them.
        let of_all = policy.rules_at(point).filter(|rule| rule.head.guard.is_empty());
        for check in of_all.flat_map(Rule::checks) {
            let mut parts = Vec::new();
            if let Some(condition) = &check.condition {
                split(policy, condition, !check.refuses_when, &mut parts);
            }
            for (part, truth) in parts {
                match &part.kind {
                    ExprKind::Has(inner) if truth => present.push(&**inner),
                    ExprKind::Equal(left, right) | ExprKind::In(left, right) if truth => {
                        present.extend([&**left, &**right]);
                    }
                    _ => {}
                }
            }
        }
    }
    present
}

struct Walk<'p> {
    policy: &'p Policy,
    /// What the policy requires.
    present: Vec<&'p Expr>,
    source: &'p Source,
    /// Places that were reported: a let or def may be used often.
    found: BTreeSet<(usize, usize)>,
    said: Vec<Diagnostic>,
}

impl<'p> Walk<'p> {
    fn score(&mut self, score: &'p Score) {
        let grows = if score.reversed { Harms } else { Favours };
        for (at, give) in score.gives.iter().enumerate() {
            give.value.iter().for_each(|value| self.expr(value, grows));
            let Some(when) = &give.when else { continue };
            let taken = match compare(give, score.gives.get(at + 1..).unwrap_or_default()) {
                Some(true) => grows,
                Some(false) => grows.flip(),
                None => Unknown,
            };
            self.expr(when, taken);
        }
    }

    fn both(&mut self, left: &'p Expr, right: &'p Expr, effect: Effect) {
        self.expr(left, effect);
        self.expr(right, effect);
    }

    fn expr(&mut self, expr: &'p Expr, effect: Effect) {
        let policy = self.policy;
        match &expr.kind {
            ExprKind::Let(id) => self.expr(&policy[*id].value, effect),
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.expr(inner, effect),
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::Equal(left, right) if self.is_unequal(left, right) => {
                    self.equal(expr.span, left, right, effect.flip(), true);
                }
                _ => self.expr(inner, effect.flip()),
            },
            ExprKind::Negate(inner) => self.expr(inner, effect.flip()),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => self.both(left, right, effect),
            ExprKind::Equal(left, right) => self.equal(expr.span, left, right, effect, false),
            ExprKind::Compare(op, left, right) => {
                let larger_left = matches!(op, CompareOp::Greater | CompareOp::GreaterEqual);
                let left_effect = if larger_left { effect } else { effect.flip() };
                self.expr(left, left_effect);
                self.expr(right, left_effect.flip());
            }
            ExprKind::Arithmetic(op, left, right) => {
                let (a, b) = match op {
                    ArithmeticOp::Add => (effect, effect),
                    ArithmeticOp::Subtract => (effect, effect.flip()),
                    ArithmeticOp::Multiply => (effect.by_sign(right), effect.by_sign(left)),
                    ArithmeticOp::Divide => (effect.by_sign(right), Unknown),
                    ArithmeticOp::Remainder => (Unknown, Unknown),
                };
                self.expr(left, a);
                self.expr(right, b);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.expr(condition, Unknown);
                self.both(then, otherwise, effect);
            }
            ExprKind::Coalesce(left, right) => self.both(left, right, effect),
            ExprKind::Call(function, args, _) => {
                for (at, arg) in args.iter().enumerate() {
                    self.expr(arg, effect.through(function.def().influence(at)));
                }
            }
            // Of a parameter it is not known what the policy requires.
            ExprKind::CallDef(_, args)
                if !self.present.is_empty() && args.iter().any(|arg| is_root(policy, arg)) => {}
            ExprKind::CallDef(id, _) => self.expr(&policy[*id].body, effect),
            ExprKind::Macro(of) => self.macro_parts(of, effect),
            _ => {}
        }
    }

    fn macro_parts(&mut self, of: &'p Macro, effect: Effect) {
        let adds = of.body.as_ref().is_some_and(|body| body.range.is_positive_or_zero());
        let [over, condition, body] = of.kind.influence(adds).map(|part| effect.through(part));
        self.expr(&of.over, over);
        of.condition.iter().for_each(|part| self.expr(part, condition));
        of.body.iter().for_each(|part| self.expr(part, body));
    }

    /// `left == right`, or `left != right`, at `span`; the effect is that of their equality.
    fn equal(&mut self, span: Span, left: &'p Expr, right: &'p Expr, effect: Effect, negated: bool) {
        let both = left.ty.is_optional() && right.ty.is_optional();
        let is_required = |side: &Expr| self.present.iter().any(|known| same(self.policy, known, side));
        if effect != Harms
            || !both
            || is_required(left)
            || is_required(right)
            || !self.found.insert((span.start as usize, span.end as usize))
        {
            return;
        }
        let message = if negated {
            "this holds also where both sides are absent, which favours the node"
        } else {
            "this is false also where both sides are absent, which favours the node"
        };
        let mut said = Diagnostic::new(&codes::BOTH_ABSENT, span, message);
        let path = [left, right]
            .into_iter()
            .find(|side| is_path(self.policy, side))
            .map(|side| self.text(side.span));
        match path {
            Some(path) if !path.is_empty() => {
                let both = format!("has({path}) && {} == {}", self.text(left.span), self.text(right.span));
                // The place may hold brackets around the comparison.
                let meant = match (negated, span.start < left.span.start) {
                    (true, _) => format!("!({both})"),
                    (false, true) => format!("({both})"),
                    (false, false) => both,
                };
                said = said
                    .with_help(format!(
                        "if that is meant, write `{meant}`; else say what is to happen without `{path}`"
                    ))
                    .with_fix("say that it is meant", span, meant)
                    .keeping_decisions();
            }
            _ => said = said.with_help("say with `has(…)` what is to happen without both"),
        }
        self.said.push(said);
    }

    /// Whether it was written `left != right`, which is `!(left == right)`.
    fn is_unequal(&self, left: &Expr, right: &Expr) -> bool {
        let between = self.source.text().get(left.span.range().end..right.span.range().start);
        between.is_some_and(|between| between.contains("!="))
    }

    fn text(&self, span: Span) -> &'p str {
        self.source.text().get(span.range()).unwrap_or("")
    }
}

/// Whether a `give` gives more than any other that is taken in its place; `None` where ranges do not tell.
fn compare(give: &Give, later: &[Give]) -> Option<bool> {
    let ends = |give: &Give| give.value.as_ref().map_or(Some((0.0, 0.0)), |value| ends(value.range));
    let (low, high) = ends(give)?;
    let last = later.iter().position(|other| other.when.is_none());
    // A node that no `give` takes gets 0.
    let mut others = if last.is_none() { vec![(0.0, 0.0)] } else { Vec::new() };
    for other in later.iter().take(last.map_or(later.len(), |last| last + 1)) {
        others.push(ends(other)?);
    }
    if others.iter().all(|(_, most)| low >= *most) {
        return Some(true);
    }
    others.iter().all(|(least, _)| high <= *least).then_some(false)
}

fn ends(range: Range) -> Option<(f64, f64)> {
    range.ends()
}

fn is_root(policy: &Policy, expr: &Expr) -> bool {
    matches!(resolve_alias(policy, expr).kind, ExprKind::Root(_))
}

/// Whether `has(…)` of an expression is known to hold after `&&`: a name, its fields, and entries under constant keys.
fn is_path(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Root(_) | ExprKind::Slot(_) => true,
        ExprKind::Field(object, _) | ExprKind::ApiField(object, _) | ExprKind::RecordField(object, _) => {
            is_path(policy, object)
        }
        ExprKind::Present(inner) => is_path(policy, inner),
        ExprKind::Index(object, key) => {
            matches!(
                resolve_alias(policy, key).kind,
                ExprKind::Constant(_) | ExprKind::Param(_) | ExprKind::Slot(_)
            ) && is_path(policy, object)
        }
        _ => false,
    }
}
