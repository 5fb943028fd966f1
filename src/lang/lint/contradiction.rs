//! The lint `contradiction` for equalities: conditions that must hold together and cannot.
//!
//! Called by `lint` for every policy without a mistake. Conditions that exclude each other by the ranges of
//! numbers are found by the checker on its way; here one value would have to equal two constants, or a
//! condition and its negation would both have to hold. What `applies when` says counts in the whole policy,
//! except in `queue by`.

use super::shadow::{Parts, split};
use crate::analysis::same::same;
use crate::analysis::shape::constant;
use crate::typed::{Body, Expr, ExprKind, Policy};
use crate::types::value::{Constant, Value};
use bayplan_diag::{Diagnostic, Span, codes};

/// How many parts are compared with each other, so that a long condition is read in time.
const MOST_PARTS: usize = 200;

/// A part of a condition, and whether it must hold or must not.
type Part<'p> = (&'p Expr, bool);

/// Reports the conditions of a policy that never hold.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let mut applies = Vec::new();
    for conjunct in policy.applies() {
        split(policy, conjunct, true, &mut applies);
    }
    if let Some((earlier, later)) = contradiction(policy, &[], &applies) {
        report(earlier, later, "the policy applies to no pod", diagnostics);
        return;
    }
    for rule in policy.rules.iter().filter(|rule| !matches!(rule.body, Body::Applies(_) | Body::Queue(_))) {
        for statement in rule.statements(policy) {
            let Some(condition) = statement.condition() else { continue };
            let mut parts = Parts::new();
            split(policy, condition, true, &mut parts);
            if let Some((earlier, later)) = contradiction(policy, &applies, &parts) {
                report(earlier, later, "the condition is always false", diagnostics);
            }
        }
    }
}

/// The first of `later` that excludes one before it, or one of `known`.
fn contradiction(policy: &Policy, known: &[Part<'_>], later: &[Part<'_>]) -> Option<(Span, Span)> {
    let later = later.get(..later.len().min(MOST_PARTS)).unwrap_or_default();
    later.iter().enumerate().find_map(|(at, part)| {
        let before = known.iter().take(MOST_PARTS).chain(later.iter().take(at));
        let mut excluded = before.filter(|earlier| excludes(policy, **earlier, *part));
        excluded.next().map(|earlier| (earlier.0.span, part.0.span))
    })
}

/// Whether two parts cannot both be as they must be.
fn excludes(policy: &Policy, a: Part<'_>, b: Part<'_>) -> bool {
    if a.1 != b.1 {
        return same(policy, a.0, b.0);
    }
    if !a.1 {
        return false;
    }
    match (values(policy, a.0), values(policy, b.0)) {
        (Some((path, one)), Some((other, two))) => {
            path.ty == other.ty
                && same(policy, path, other)
                && !one.iter().any(|value| two.iter().any(|other| value.equals(other)))
        }
        _ => false,
    }
}

/// What an expression must be one of, if it says so: `path == constant`, `path in [constants]`.
fn values<'p>(policy: &Policy, expr: &'p Expr) -> Option<(&'p Expr, Vec<Constant>)> {
    match &expr.kind {
        ExprKind::Equal(left, right) => match (constant(policy, left), constant(policy, right)) {
            (None, Some(value)) => Some((left, vec![value])),
            (Some(value), None) => Some((right, vec![value])),
            _ => None,
        },
        ExprKind::In(path, list) => match constant(policy, list)? {
            Value::List(values) if constant(policy, path).is_none() => Some((path, values.to_vec())),
            _ => None,
        },
        _ => None,
    }
}

fn report(earlier: Span, later: Span, consequence: &str, diagnostics: &mut Vec<Diagnostic>) {
    let is_known = |said: &Diagnostic| {
        (said.code == &codes::CONTRADICTION || said.code == &codes::ALWAYS)
            && (said.span.contains(later) || later.contains(said.span))
    };
    if !diagnostics.iter().any(is_known) {
        diagnostics.push(
            Diagnostic::new(&codes::CONTRADICTION, later, "this never holds here")
                .with_place(earlier, "this excludes it")
                .with_help(consequence),
        );
    }
}
