//! What the policy language means where a value may be absent, in CEL: a comparison with an absent value is false,
//! `??` gives another value, `has` asks.

use super::NoTwin;
use super::expressions::{Writer, Written, atomic, field, inner};
use crate::lang::syntax::ast::*;

/// Whether an operator gives false for an absent operand.
pub(super) fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::In
            | BinaryOp::Matches
    )
}

/// An expression that may be absent as an optional of CEL: fields and indices with `?`, names of such expressions.
pub(super) fn optional(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    let expr = inner(expr);
    match &expr.kind {
        ExprKind::Name(name) => Ok(writer.name(name)),
        ExprKind::Field(access) => {
            Ok(format!("{}{}", object(writer, &access.object)?, field(&access.field.text, true)))
        }
        ExprKind::Index(access) => {
            Ok(format!("{}[?{}]", object(writer, &access.object)?, writer.expr(&access.index)?))
        }
        ExprKind::Literal(Literal::None) => Ok("optional.none()".to_owned()),
        ExprKind::Conditional(of) => {
            let mut side = |side: &Expr| match writer.may_be_absent(side) {
                true => optional(writer, side),
                false => Ok(format!("optional.of({})", writer.expr(side)?)),
            };
            let (then, otherwise) = (side(&of.then)?, side(&of.otherwise)?);
            Ok(format!("({} ? {then} : {otherwise})", writer.expr(&of.condition)?))
        }
        _ => Err(NoTwin::new(
            expr.span,
            "the value may be absent here, and CEL ends with an error instead: only fields, indices and names have a \
             spelling for that",
        )),
    }
}

fn object(writer: &mut Writer<'_>, object: &Expr) -> Written {
    if writer.may_be_absent(object) { optional(writer, object) } else { writer.expr(object) }
}

/// A name that no macro around has.
fn fresh(writer: &Writer<'_>) -> String {
    let taken = |name: &str| writer.bound.iter().any(|bound| **bound == *name);
    (0..)
        .map(|at| if at == 0 { "v".to_owned() } else { format!("v{at}") })
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// `has(E)`
pub(super) fn has(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    let expr = inner(expr);
    match &expr.kind {
        ExprKind::Field(access) if !writer.may_be_absent(&access.object) => {
            Ok(format!("has({}.{})", writer.expr(&access.object)?, access.field.text))
        }
        ExprKind::Index(access) if !writer.may_be_absent(&access.object) => {
            let key = writer.expr(&access.index)?;
            Ok(format!("({} in {})", atomic(&access.index, key), writer.expr(&access.object)?))
        }
        _ => Ok(format!("{}.hasValue()", optional(writer, expr)?)),
    }
}

/// `E ?? D`
pub(super) fn coalesce(writer: &mut Writer<'_>, binary: &Binary) -> Written {
    if !writer.may_be_absent(&binary.left) {
        return writer.expr(&binary.left);
    }
    let left = inner(&binary.left);
    if let ExprKind::Binary(division) = &left.kind
        && matches!(division.op, BinaryOp::Div | BinaryOp::Rem)
        && !writer.may_be_absent(&division.left)
        && !writer.may_be_absent(&division.right)
        && !writer.may_be_absent(&binary.right)
    {
        let divisor = writer.expr(&division.right)?;
        let divisor = atomic(&division.right, divisor);
        let dividend = writer.expr(&division.left)?;
        let otherwise = writer.expr(&binary.right)?;
        let symbol = division.op.symbol();
        return Ok(format!(
            "({divisor} != 0 ? {dividend} {symbol} {divisor} : {})",
            atomic(&binary.right, otherwise)
        ));
    }
    let left = optional(writer, left)?;
    if writer.may_be_absent(&binary.right) {
        return Ok(format!("{left}.or({})", optional(writer, &binary.right)?));
    }
    Ok(format!("{left}.orValue({})", writer.expr(&binary.right)?))
}

/// `A == B`, `A < B`, `A in B`, …
pub(super) fn compare(writer: &mut Writer<'_>, binary: &Binary) -> Written {
    let (left, right) = (inner(&binary.left), inner(&binary.right));
    let none = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(Literal::None));
    if let (BinaryOp::Eq | BinaryOp::Ne, true) = (binary.op, none(left) || none(right)) {
        let value = has(writer, if none(right) { left } else { right })?;
        return Ok(if binary.op == BinaryOp::Eq { format!("!{value}") } else { value });
    }
    let absent = (writer.may_be_absent(left), writer.may_be_absent(right));
    let plain = |left: &str, right: &str| match binary.op {
        BinaryOp::Matches => format!("{left}.matches({right})"),
        op => format!("{left} {} {right}", op.symbol()),
    };
    match (absent, binary.op) {
        ((false, false), _) => {
            let (a, b) = (writer.expr(&binary.left)?, writer.expr(&binary.right)?);
            Ok(plain(&a, &b))
        }
        ((true, true), BinaryOp::Eq | BinaryOp::Ne) => {
            let (a, b) = (optional(writer, left)?, optional(writer, right)?);
            let not = if binary.op == BinaryOp::Ne { "!" } else { "" };
            Ok(format!("{not}({a}.hasValue() && {a} == {b})"))
        }
        ((true, false), BinaryOp::Eq | BinaryOp::Ne) => {
            let (a, b) = (optional(writer, left)?, writer.expr(right)?);
            Ok(format!("{a} {} optional.of({b})", binary.op.symbol()))
        }
        ((false, true), BinaryOp::Eq | BinaryOp::Ne) => {
            let (a, b) = (writer.expr(left)?, optional(writer, right)?);
            Ok(format!("optional.of({a}) {} {b}", binary.op.symbol()))
        }
        ((true, false), _) => {
            let variable = fresh(writer);
            let (a, b) = (optional(writer, left)?, writer.expr(&binary.right)?);
            Ok(format!("{a}.optMap({variable}, {}).orValue(false)", plain(&variable, &b)))
        }
        ((false, true), _) => {
            let variable = fresh(writer);
            let (a, b) = (writer.expr(&binary.left)?, optional(writer, right)?);
            Ok(format!("{b}.optMap({variable}, {}).orValue(false)", plain(&a, &variable)))
        }
        ((true, true), _) => {
            let (a, b) = (optional(writer, left)?, optional(writer, right)?);
            Ok(format!(
                "({a}.hasValue() && {b}.hasValue() && {})",
                plain(&format!("{a}.value()"), &format!("{b}.value()"))
            ))
        }
    }
}
