//! The lints `shadowed-rule` and `duplicate-rule`: statements that have no effect because an earlier one
//! refuses, or gives, the same.
//!
//! Called by `lint` for every policy without a mistake. A condition is a set of parts that must all hold; one
//! that has all the parts of an earlier one, or narrower ones, holds only where that one does.

use crate::analysis::same::same;
use crate::analysis::shape::{constant, resolve_alias};
use crate::typed::{Body, Check, CompareOp, Expr, ExprKind, Mode, Point, Policy, Rule, Score};
use crate::types::Type;
use bayplan_diag::{Diagnostic, Span, codes};
use std::cmp::Ordering;

/// How many statements before it a statement is compared with, so that a long policy is read in time.
const NEAR: usize = 200;
/// How many comparisons of parts are made for a policy, about.
const COMPARISONS: usize = 500_000;

/// How many statements before it a statement is compared with, where all have so many parts together.
fn near(statements: usize, parts: usize) -> usize {
    let each = (parts / statements.max(1)).max(1);
    (COMPARISONS / parts.saturating_mul(each).max(1)).clamp(1, NEAR)
}

/// Parts that must all hold, or (`false`) not hold.
pub(super) type Parts<'p> = Vec<(&'p Expr, bool)>;

/// Reports rules that have no effect because of an earlier rule.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    for point in [Point::PreEnqueue, Point::PreFilter, Point::Filter] {
        refusals(policy, policy.rules_at(point), diagnostics);
    }
    let nevers = policy.rules.iter().filter(|rule| matches!(rule.body, Body::Never(_)));
    refusals(policy, nevers, diagnostics);
    let guards = policy.rules.iter().filter(|rule| matches!(rule.body, Body::EvictionGuard(_)));
    refusals(policy, guards, diagnostics);
    for (_, score) in policy.scores() {
        gives(policy, score, diagnostics);
    }
    let scores: Vec<&Rule> = policy.rules_at(Point::Score).collect();
    for (at, score) in scores.iter().enumerate() {
        let mut before = scores.iter().take(at).skip(at.saturating_sub(NEAR));
        let earlier = before.find(|earlier| same_score(policy, earlier, score));
        if let Some(earlier) = earlier {
            diagnostics.push(
                Diagnostic::new(
                    &codes::DUPLICATE_RULE,
                    score.span(),
                    format!("`{}` scores what `{}` scores", score.name(), earlier.name()),
                )
                .with_place(earlier.span(), "the same score")
                .with_help("remove it, and add its weight to the other"),
            );
        }
    }
}

/// Of statements that refuse in turn.
fn refusals<'p>(
    policy: &'p Policy,
    rules: impl Iterator<Item = &'p Rule>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let of = rules.flat_map(|rule| {
        rule.checks().map(move |check| ((rule.head.mode, check), refusing(policy, rule, check)))
    });
    let (checks, parts): (Vec<(Mode, &Check)>, Vec<Parts<'_>>) = of.unzip();
    let near = near(parts.len(), parts.iter().map(Vec::len).sum());
    for (at, ((mode, check), later)) in checks.iter().zip(&parts).enumerate() {
        let mut before = checks.iter().zip(&parts).take(at).skip(at.saturating_sub(near));
        let shadows = |(of, earlier): &(&(Mode, _), &Parts<'_>)| {
            acts_before(of.0, *mode) && covers(policy, earlier, later)
        };
        let Some(((_, earlier), theirs)) = before.find(shadows) else {
            continue;
        };
        if covers(policy, later, theirs) {
            diagnostics.push(said(
                &codes::DUPLICATE_RULE,
                check.span,
                "this refuses just what an earlier statement refuses",
                earlier.span,
                "the same condition",
                "remove one of them: the reason of the earlier one is shown",
            ));
        } else {
            diagnostics.push(said(
                &codes::SHADOWED_RULE,
                check.span,
                "an earlier statement already refuses everything that this one does",
                earlier.span,
                "this refuses all of it",
                "remove it, or move it before the other where its reason should be shown",
            ));
        }
    }
}

/// Of the gives of a score; those after one without a condition are another lint's.
fn gives(policy: &Policy, score: &Score, diagnostics: &mut Vec<Diagnostic>) {
    let parts: Vec<(Span, Parts<'_>)> = score
        .gives
        .iter()
        .filter_map(|give| {
            let mut parts = Vec::new();
            split(policy, give.when.as_ref()?, true, &mut parts);
            Some((give.span, parts))
        })
        .collect();
    let near = near(parts.len(), parts.iter().map(|(_, parts)| parts.len()).sum());
    for (at, (span, later)) in parts.iter().enumerate() {
        let mut before = parts.iter().take(at).skip(at.saturating_sub(near));
        let earlier = before.find(|(_, earlier)| covers(policy, earlier, later));
        if let Some((earlier, _)) = earlier {
            diagnostics.push(said(
                &codes::SHADOWED_RULE,
                *span,
                "this is never given: an earlier `give` holds wherever this one does",
                *earlier,
                "this one is given",
                "remove it, or move it before the other",
            ));
        }
    }
}

fn said(
    code: &'static bayplan_diag::Code,
    span: Span,
    message: &str,
    earlier: Span,
    label: &str,
    help: &str,
) -> Diagnostic {
    Diagnostic::new(code, span, message).with_place(earlier, label).with_help(help)
}

fn same_score(policy: &Policy, left: &Rule, right: &Rule) -> bool {
    let (guards, modes) = ((&left.head.guard, &right.head.guard), (left.head.mode, right.head.mode));
    let (Some(left), Some(right)) = (left.score(), right.score()) else { return false };
    let same_part = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
        (Some(a), Some(b)) => same(policy, a, b),
        (None, None) => true,
        _ => false,
    };
    modes.0 == modes.1
        && guards.0.len() == guards.1.len()
        && guards.0.iter().zip(guards.1).all(|(a, b)| same(policy, &a.holds, &b.holds))
        && left.normalize == right.normalize
        && left.reversed == right.reversed
        && left.gives.len() == right.gives.len()
        && left
            .gives
            .iter()
            .zip(&right.gives)
            .all(|(a, b)| same_part(&a.value, &b.value) && same_part(&a.when, &b.when))
}

/// Whether a rule of the first mode does before one of the second what that one would do.
pub(super) fn acts_before(earlier: Mode, later: Mode) -> bool {
    earlier == Mode::Enforce || earlier == later
}

/// What must hold, or not, so that a check of a rule refuses.
pub(super) fn refusing<'p>(policy: &'p Policy, rule: &'p Rule, check: &'p Check) -> Parts<'p> {
    let mut parts = Vec::new();
    if let Some(condition) = &check.condition {
        split(policy, condition, check.refuses_when, &mut parts);
    }
    rule.head.guard.iter().for_each(|leave| split(policy, &leave.holds, false, &mut parts));
    parts
}

/// The parts of a condition that holds (`truth`), or does not.
pub(super) fn split<'p>(policy: &'p Policy, expr: &'p Expr, truth: bool, parts: &mut Parts<'p>) {
    let peeled = if expr.ty == Type::Bool { resolve_alias(policy, expr) } else { expr };
    match (&peeled.kind, truth) {
        (ExprKind::And(left, right), true) | (ExprKind::Or(left, right), false) => {
            split(policy, left, truth, parts);
            split(policy, right, truth, parts);
        }
        (ExprKind::Not(inner), _) => split(policy, inner, !truth, parts),
        _ => parts.push((peeled, truth)),
    }
}

/// Whether the earlier parts hold wherever the later ones do.
pub(super) fn covers(policy: &Policy, earlier: &Parts<'_>, later: &Parts<'_>) -> bool {
    earlier.iter().all(|part| later.iter().any(|narrower| implies(policy, *narrower, *part)))
}

/// Whether `wider` holds wherever `narrower` does: the same, or a bound that lies further in.
fn implies(policy: &Policy, narrower: (&Expr, bool), wider: (&Expr, bool)) -> bool {
    if narrower.1 == wider.1 && same(policy, narrower.0, wider.0) {
        return true;
    }
    let bound = |(expr, truth): (&Expr, bool)| {
        let ExprKind::Compare(op, _, limit) = &expr.kind else { return None };
        let op = match (op, truth) {
            (CompareOp::Less, true) | (CompareOp::GreaterEqual, false) => CompareOp::Less,
            (CompareOp::LessEqual, true) | (CompareOp::Greater, false) => CompareOp::LessEqual,
            (CompareOp::Greater, true) | (CompareOp::LessEqual, false) => CompareOp::Greater,
            (CompareOp::GreaterEqual, true) | (CompareOp::Less, false) => CompareOp::GreaterEqual,
        };
        Some((op, constant(policy, limit)?))
    };
    let (ExprKind::Compare(_, a, _), ExprKind::Compare(_, b, _)) = (&narrower.0.kind, &wider.0.kind) else {
        return false;
    };
    let (Some((op, inner)), Some((outer_op, outer))) = (bound(narrower), bound(wider)) else { return false };
    if a.ty != b.ty || !same(policy, a, b) {
        return false;
    }
    match (op, outer_op, inner.order(&outer)) {
        (CompareOp::Less, CompareOp::Less | CompareOp::LessEqual, order) => order != Ordering::Greater,
        (CompareOp::LessEqual, CompareOp::LessEqual, order) => order != Ordering::Greater,
        (CompareOp::LessEqual, CompareOp::Less, order) => order == Ordering::Less,
        (CompareOp::Greater, CompareOp::Greater | CompareOp::GreaterEqual, order) => order != Ordering::Less,
        (CompareOp::GreaterEqual, CompareOp::GreaterEqual, order) => order != Ordering::Less,
        (CompareOp::GreaterEqual, CompareOp::Greater, order) => order == Ordering::Greater,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bayplan_diag::SourceMap;

    fn said(rules: &str) -> Vec<&'static str> {
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", format!("policy p {{ {rules} }}"));
        let (policies, said) = crate::compile(sources.get(id).unwrap());
        assert_eq!(policies.len(), 1, "{said:?}");
        let slugs = said.iter().map(|said| said.code.slug);
        slugs.filter(|slug| slug.ends_with("-rule")).collect()
    }

    #[test]
    fn a_rule_that_counts_shadows_none_that_decides() {
        let rule = |name: &str, mode: &str| {
            format!("filter {name} {{ {mode} reject \"x\" when node.unschedulable }} ")
        };
        let both = |a: &str, b: &str| said(&(rule("a", a) + &rule("b", b)));
        assert_eq!(both("", ""), ["duplicate-rule"]);
        assert_eq!(both("", "mode audit"), ["duplicate-rule"]);
        assert_eq!(both("mode audit", "mode audit"), ["duplicate-rule"]);
        assert_eq!(both("mode audit", ""), [""; 0]);
        assert_eq!(both("mode enforce when pod.priority > 0", ""), [""; 0]);
        assert_eq!(both("except until 2099-01-31 because \"x\" when pod.priority > 0", ""), [""; 0]);
    }
}
