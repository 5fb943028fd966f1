//! The parts of a typed expression, directly or through the lets and defs of its policy.
//!
//! Used by the analyses that look (`lower/`, `cost`, the lints over typed trees) and by the folding
//! that changes (`fold.rs`, which also walks over the statements of a policy).

use crate::typed::{Expr, ExprKind, Policy, SlotId};

/// Calls `$f` for the parts of `$kind`, in the order of evaluation; `mut` and `iter_mut` for parts
/// to change.
macro_rules! for_each_part {
    ($kind:expr, $iter:ident, $f:ident $(, $mut:tt)?) => {
        match $kind {
            ExprKind::Constant(_)
            | ExprKind::Param(_)
            | ExprKind::Let(_)
            | ExprKind::Slot(_)
            | ExprKind::Root(_)
            | ExprKind::Group(_)
            | ExprKind::Memo(_)
            | ExprKind::Now => {}
            ExprKind::Field(inner, _)
            | ExprKind::ApiField(inner, _)
            | ExprKind::RecordField(inner, _)
            | ExprKind::Present(inner)
            | ExprKind::Ledger(_, inner)
            | ExprKind::Source(_, inner)
            | ExprKind::Widen(inner)
            | ExprKind::Has(inner)
            | ExprKind::Not(inner)
            | ExprKind::Negate(inner) => $f(inner),
            ExprKind::Index(left, right)
            | ExprKind::Resource(left, right)
            | ExprKind::And(left, right)
            | ExprKind::Or(left, right)
            | ExprKind::Equal(left, right)
            | ExprKind::Compare(_, left, right)
            | ExprKind::In(left, right)
            | ExprKind::Arithmetic(_, left, right)
            | ExprKind::Coalesce(left, right) => {
                $f(left);
                $f(right);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                $f(condition);
                $f(then);
                $f(otherwise);
            }
            ExprKind::List(elements) => elements.$iter().for_each(|(element, _)| $f(element)),
            ExprKind::Map(entries) => entries.$iter().for_each(|(key, value, _)| {
                $f(key);
                $f(value);
            }),
            ExprKind::Record(values)
            | ExprKind::Call(_, values, _)
            | ExprKind::CallDef(_, values)
            | ExprKind::LookUp(_, values)
            | ExprKind::Dynamic(_, values) => {
                values.$iter().for_each(|value| $f(value));
            }
            ExprKind::Macro(of) => {
                $f(&$($mut)? of.over);
                of.condition.$iter().for_each(|condition| $f(condition));
                of.body.$iter().for_each(|body| $f(body));
            }
        }
    };
}

/// Calls `f` for every part of an expression, in the order of evaluation. Lets, defs and groups are
/// not entered.
pub fn each_part<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    for_each_part!(&expr.kind, iter, f);
}

/// The parts of an expression, in the order of evaluation.
pub fn parts(expr: &Expr) -> Vec<&Expr> {
    let mut parts = Vec::new();
    each_part(expr, &mut |part| parts.push(part));
    parts
}

/// [`each_part`] for parts that are changed on the way.
pub fn each_part_mut(expr: &mut Expr, f: &mut impl FnMut(&mut Expr)) {
    for_each_part!(&mut expr.kind, iter_mut, f, mut);
}

/// Whether one of these variables is used in an expression.
pub fn mentions(expr: &Expr, slots: &[SlotId]) -> bool {
    if let ExprKind::Slot(slot) = &expr.kind {
        return slots.contains(slot);
    }
    let mut found = false;
    each_part(expr, &mut |part| found = found || mentions(part, slots));
    found
}

/// Whether `test` holds of an expression or of one of its parts, through the lets and defs of the
/// policy.
pub fn any(policy: &Policy, expr: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let defined = match &expr.kind {
        ExprKind::Let(id) => Some(&policy[*id].value),
        ExprKind::CallDef(id, _) => Some(&policy[*id].body),
        _ => None,
    };
    if defined.is_some_and(|defined| any(policy, defined, test)) {
        return true;
    }
    let mut found = false;
    each_part(expr, &mut |part| found = found || any(policy, part, test));
    found
}
