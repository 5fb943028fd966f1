//! The lint `written-already`: a constant that is written where the conditions say that it is there.

use super::shadow::{Parts, split};
use crate::analysis::shape::{constant, resolve_alias};
use crate::language::fields::ObjectType;
use crate::syntax::ast::WriteVerb;
use crate::typed::{Expr, ExprKind, Policy, Root, Write};
use bayplan_diag::{Diagnostic, Source, Span, codes};

/// Reports writes that change nothing.
pub(super) fn check(policy: &Policy, source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let mut applies = Parts::new();
    policy.applies().iter().for_each(|conjunct| split(policy, conjunct, true, &mut applies));
    for write in policy.marks() {
        let mut known = applies.clone();
        write.when.iter().for_each(|when| split(policy, when, true, &mut known));
        for entry in &write.entries {
            let Some(value) = constant(policy, &entry.value) else { continue };
            let there = known.iter().find(|(part, truth)| {
                *truth
                    && shown(policy, part, write.verb, &entry.key).is_some_and(|shown| shown.equals(&value))
            });
            let Some((part, _)) = there else { continue };
            let message = format!("`{}` has this value already", entry.key);
            let said = Diagnostic::new(&codes::WRITTEN_ALREADY, entry.span, message)
                .with_place(part.span, "because of this")
                .with_help("remove it: it changes nothing");
            diagnostics.push(match statement(source, write) {
                Some(span) if !policy.cel => {
                    said.with_fix("remove the statement", span, "").keeping_decisions()
                }
                _ => said,
            });
        }
    }
}

/// The statement, where it writes nothing else.
fn statement(source: &Source, write: &Write) -> Option<Span> {
    let alone = write.entries.len() == 1;
    source.text().get(write.span.range()).filter(|_| alone).map(|_| write.span)
}

/// The value that a condition shows for this key of the pod.
fn shown(policy: &Policy, part: &Expr, verb: WriteVerb, key: &str) -> Option<crate::types::value::Constant> {
    let ExprKind::Equal(left, right) = &part.kind else { return None };
    let of = |side: &Expr, other: &Expr| {
        is_key(policy, side, verb, key).then(|| constant(policy, other)).flatten()
    };
    of(left, right).or_else(|| of(right, left))
}

/// Whether an expression is this key of the pod's annotations or labels.
fn is_key(policy: &Policy, expr: &Expr, verb: WriteVerb, key: &str) -> bool {
    let ExprKind::Index(map, index) = &resolve_alias(policy, expr).kind else { return false };
    let ExprKind::Field(object, field) = &resolve_alias(policy, map).kind else { return false };
    let Some(name) = verb.map() else { return false };
    let def = field.def();
    def.owner == ObjectType::Pod
        && def.name == name
        && matches!(resolve_alias(policy, object).kind, ExprKind::Root(Root::Pod))
        && constant(policy, index).is_some_and(|index| index.as_str() == Some(key))
}
