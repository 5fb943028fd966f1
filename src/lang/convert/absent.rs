//! What the policy language means where a value may be absent, in CEL: a comparison with an absent value is false,
//! `??` gives another value, `has` asks.

use super::NoTwin;
use super::expressions::{
    To, Writer, Written, atomic, field, inner, is_optional_in_cel, macro_row, presence,
};
use crate::language::functions::Presence;
use crate::language::macros::MacroKind;
use crate::syntax::ast::*;
use bayplan_diag::Span;

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

/// Elements without a value.
pub(super) fn element(span: Span) -> NoTwin {
    NoTwin::new(
        span,
        "lists and maps of CEL have no elements without a value: `.present()` leaves them out, `[?…]` too",
    )
}

/// An expression that may be absent as an optional of CEL: fields and indices with `?`, names of such expressions,
/// choices between them, and any other operation in `optional.ofValid`.
pub(super) fn optional(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    writer.same_in_cel(expr)?;
    let expr = inner(expr);
    writer.same_in_cel(expr)?;
    match &expr.kind {
        ExprKind::Name(name) if writer.is_optional(name) => writer.name(name, expr.span),
        ExprKind::Name(name) if writer.is_memo(name) => {
            writer.name(name, expr.span)?;
            Ok(format!("memos.?{name}"))
        }
        ExprKind::Name(_) if writer.may_be_absent(expr) => Err(element(expr.span)),
        ExprKind::Field(access) if !access.optional => {
            Ok(format!("{}{}", object(writer, &access.object)?, field(&access.field.text, true)))
        }
        ExprKind::Index(access) if !access.optional => {
            Ok(format!("{}[?{}]", object(writer, &access.object)?, writer.expr(&access.index)?))
        }
        ExprKind::Literal(Literal::None) => Ok("optional.none()".to_owned()),
        ExprKind::Conditional(of) => {
            let (then, otherwise) = (side(writer, &of.then)?, side(writer, &of.otherwise)?);
            Ok(format!("({} ? {then} : {otherwise})", writer.expr(&of.condition)?))
        }
        ExprKind::Binary(of) if of.op == BinaryOp::Coalesce => {
            Ok(format!("{}.or({})", optional(writer, &of.left)?, side(writer, &of.right)?))
        }
        ExprKind::Binary(of) if matches!(of.op, BinaryOp::Div | BinaryOp::Rem) => {
            let quotient = format!("optional.of({})", quotient(writer, of)?);
            Ok(format!("({} ? {quotient} : optional.none())", tested(writer, of)?))
        }
        ExprKind::Call(call) => match writer.def(call, expr.span)? {
            Some((mut inner, def)) => Ok(format!("({})", optional(&mut inner, &def.body)?)),
            None => Ok(format!("optional.ofValid({})", valid(writer, expr)?)),
        },
        // What an optional holds is the optional.
        ExprKind::Method(call) if presence(call) == Some(Presence::Takes) && call.args.is_empty() => {
            writer.expr(&call.object)
        }
        ExprKind::Method(call) if is_optional_in_cel(call) && !writer.may_be_absent(&call.object) => {
            let object = writer.expr(&call.object)?;
            writer.method_of(call, object, false)
        }
        _ => Ok(format!("optional.ofValid({})", valid(writer, expr)?)),
    }
}

/// A value as an optional, whether it may be absent or not.
fn side(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    match writer.may_be_absent(expr) {
        true => optional(writer, expr),
        false => Ok(format!("optional.of({})", writer.expr(expr)?)),
    }
}

/// What `optional.ofValid` takes: the operation with the fields, elements and conversions that it begins with.
fn valid(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    if !writer.may_be_absent(expr) {
        return writer.expr(expr);
    }
    writer.same_in_cel(expr)?;
    let expr = inner(expr);
    match &expr.kind {
        ExprKind::Name(name) if writer.is_optional(name) => {
            Ok(format!("{}.value()", writer.name(name, expr.span)?))
        }
        ExprKind::Name(name) if writer.is_memo(name) => writer.name(name, expr.span),
        ExprKind::Field(access) if !access.optional => {
            Ok(format!("{}{}", valid(writer, &access.object)?, field(&access.field.text, false)))
        }
        ExprKind::Index(access) if !access.optional => {
            Ok(format!("{}[{}]", valid(writer, &access.object)?, writer.expr(&access.index)?))
        }
        ExprKind::Call(call) if writer.def(call, expr.span)?.is_none() => {
            let Some((first, rest)) = call.args.split_first() else { return writer.expr(expr) };
            let mut args = vec![valid(writer, &first.value)?];
            for arg in rest {
                args.push(writer.expr(&arg.value)?);
            }
            Ok(format!("{}({})", call.function.text, args.join(", ")))
        }
        ExprKind::Method(call) => {
            let object = valid(writer, &call.object)?;
            let value = if is_optional_in_cel(call) { ".value()" } else { "" };
            Ok(format!("{}{value}", writer.method_of(call, object, false)?))
        }
        ExprKind::Conditional(_) | ExprKind::Call(_) | ExprKind::Literal(Literal::None) => {
            Ok(format!("{}.value()", optional(writer, expr)?))
        }
        ExprKind::Binary(of) if matches!(of.op, BinaryOp::Coalesce | BinaryOp::Div | BinaryOp::Rem) => {
            Ok(format!("{}.value()", optional(writer, expr)?))
        }
        _ => Err(NoTwin::new(expr.span, "CEL has no spelling for a value that may be absent here")),
    }
}

/// `a / b` or `a % b`, of which the divisor is tested elsewhere.
fn quotient(writer: &mut Writer<'_>, of: &Binary) -> Written {
    let divisor = writer.expr(&of.right)?;
    let divisor = atomic(&of.right, divisor);
    Ok(format!("{} {} {divisor}", writer.expr(&of.left)?, of.op.symbol()))
}

/// Whether the divisor is not 0.
fn tested(writer: &mut Writer<'_>, of: &Binary) -> Written {
    let zero = match writer.to {
        To::Cel { types, .. } => types.divisors.get(&of.right.span).copied().unwrap_or("0"),
        To::Language(_) => "0",
    };
    let divisor = writer.expr(&of.right)?;
    Ok(format!("{} != {zero}", atomic(&of.right, divisor)))
}

/// `E.present()`: the elements that have a value.
pub(super) fn present(writer: &mut Writer<'_>, call: &MethodCall) -> Written {
    match &inner(&call.object).kind {
        ExprKind::Method(of)
            if macro_row(of).is_some_and(|row| row.kind == MacroKind::Map && row.variables == 1) =>
        {
            let maybe = of.args.last().is_some_and(|body| writer.may_be_absent(&body.value));
            let object = writer.expr(&of.object)?;
            let list = writer.method_of(of, object, maybe)?;
            Ok(if maybe { format!("{list}.unwrapOpt()") } else { list })
        }
        ExprKind::List(elements) => {
            let mut items = Vec::new();
            for element in elements {
                let absent = writer.may_be_absent(&element.value);
                items.push(match (absent, element.optional) {
                    (true, _) => format!("?{}", optional(writer, &element.value)?),
                    (false, true) => format!("?{}", writer.expr(&element.value)?),
                    (false, false) => writer.expr(&element.value)?,
                });
            }
            Ok(format!("[{}]", items.join(", ")))
        }
        _ => Err(element(call.object.span)),
    }
}

fn object(writer: &mut Writer<'_>, object: &Expr) -> Written {
    if writer.may_be_absent(object) { optional(writer, object) } else { writer.expr(object) }
}

/// A name that no macro around has.
fn fresh(writer: &Writer<'_>) -> String {
    let taken = |name: &str| {
        let outside = writer.instead.values().any(|text| text.contains(name));
        outside || writer.bound.iter().any(|bound| **bound == *name)
    };
    (0..)
        .map(|at| if at == 0 { "v".to_owned() } else { format!("v{at}") })
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// `has(E)`
pub(super) fn has(writer: &mut Writer<'_>, expr: &Expr) -> Written {
    let keyed = is_keyed(writer, expr);
    let expr = inner(expr);
    match &expr.kind {
        ExprKind::Name(name) if writer.is_memo(name) => Ok(format!("has({})", writer.name(name, expr.span)?)),
        ExprKind::Field(access) if !writer.may_be_absent(&access.object) => {
            Ok(format!("has({}.{})", writer.expr(&access.object)?, access.field.text))
        }
        ExprKind::Index(access) if keyed && !writer.may_be_absent(&access.object) => {
            let key = writer.expr(&access.index)?;
            Ok(format!("({} in {})", atomic(&access.index, key), writer.expr(&access.object)?))
        }
        _ => Ok(format!("{}.hasValue()", optional(writer, expr)?)),
    }
}

/// Whether it is a value of a key. Brackets have the place of what they are around: to be asked with them.
fn is_keyed(writer: &Writer<'_>, expr: &Expr) -> bool {
    matches!(writer.to, To::Cel { types, .. } if types.keyed.contains(&expr.span))
}

/// `E ?? D`
pub(super) fn coalesce(writer: &mut Writer<'_>, binary: &Binary) -> Written {
    if !writer.may_be_absent(&binary.left) {
        return writer.expr(&binary.left);
    }
    writer.same_in_cel(&binary.left)?;
    if let ExprKind::Binary(division) = &inner(&binary.left).kind
        && matches!(division.op, BinaryOp::Div | BinaryOp::Rem)
        && !writer.may_be_absent(&binary.right)
    {
        writer.same_in_cel(inner(&binary.left))?;
        let otherwise = writer.expr(&binary.right)?;
        let (test, quotient) = (tested(writer, division)?, quotient(writer, division)?);
        return Ok(format!("({test} ? {quotient} : {})", atomic(&binary.right, otherwise)));
    }
    let left = optional(writer, &binary.left)?;
    if writer.may_be_absent(&binary.right) {
        return Ok(format!("{left}.or({})", optional(writer, &binary.right)?));
    }
    Ok(format!("{left}.orValue({})", writer.expr(&binary.right)?))
}

/// Whether a field or the value of a key is there, and the value.
fn guarded(writer: &mut Writer<'_>, expr: &Expr) -> Result<Option<(String, String)>, NoTwin> {
    let keyed = is_keyed(writer, expr);
    let expr = inner(expr);
    match &expr.kind {
        ExprKind::Name(name) if writer.is_memo(name) => {
            let plain = writer.name(name, expr.span)?;
            Ok(Some((format!("has({plain})"), plain)))
        }
        ExprKind::Field(access) if !access.optional && !writer.may_be_absent(&access.object) => {
            let plain = format!("{}{}", writer.expr(&access.object)?, field(&access.field.text, false));
            Ok(plain.ends_with(&*access.field.text).then(|| (format!("has({plain})"), plain)))
        }
        ExprKind::Index(access) if keyed && !writer.may_be_absent(&access.object) => {
            let (key, map) = (writer.expr(&access.index)?, writer.expr(&access.object)?);
            Ok(Some((format!("{} in {map}", atomic(&access.index, key.clone())), format!("{map}[{key}]"))))
        }
        _ => Ok(None),
    }
}

/// Whether a value in an optional equals one of the language in an optional.
fn is_simple(writer: &Writer<'_>, expr: &Expr) -> bool {
    matches!(writer.to, To::Cel { types, .. } if types.simple.contains(&expr.span))
}

/// `A == B`, `A < B`, `A in B`, …
pub(super) fn compare(writer: &mut Writer<'_>, binary: &Binary) -> Written {
    let (left, right) = (&binary.left, &binary.right);
    let none = |expr: &Expr| matches!(inner(expr).kind, ExprKind::Literal(Literal::None));
    if let (BinaryOp::Eq | BinaryOp::Ne, true) = (binary.op, none(left) || none(right)) {
        let value = has(writer, if none(right) { left } else { right })?;
        return Ok(if binary.op == BinaryOp::Eq { format!("!{value}") } else { value });
    }
    let absent = (writer.may_be_absent(left), writer.may_be_absent(right));
    let plain = |left: &str, right: &str| match binary.op {
        BinaryOp::Matches => format!("{left}.matches({right})"),
        BinaryOp::Ne => format!("{left} == {right}"),
        op => format!("{left} {} {right}", op.symbol()),
    };
    let not = if binary.op == BinaryOp::Ne { "!" } else { "" };
    match (absent, binary.op) {
        ((false, false), _) => {
            let (a, b) = (writer.expr(&binary.left)?, writer.expr(&binary.right)?);
            Ok(if binary.op == BinaryOp::Ne { format!("{a} != {b}") } else { plain(&a, &b) })
        }
        ((true, true), BinaryOp::Eq | BinaryOp::Ne) => {
            let (a, b) = (optional(writer, left)?, optional(writer, right)?);
            Ok(format!("{not}({a}.hasValue() && {a} == {b})"))
        }
        ((true, false), BinaryOp::Eq | BinaryOp::Ne) if is_simple(writer, right) => {
            let (a, b) = (optional(writer, left)?, writer.expr(right)?);
            Ok(format!("{a} {} optional.of({b})", binary.op.symbol()))
        }
        ((false, true), BinaryOp::Eq | BinaryOp::Ne) if is_simple(writer, left) => {
            let (a, b) = (writer.expr(left)?, optional(writer, right)?);
            Ok(format!("optional.of({a}) {} {b}", binary.op.symbol()))
        }
        ((true, false), _) if let Some((test, a)) = guarded(writer, left)? => {
            let b = writer.expr(&binary.right)?;
            Ok(format!("{not}({test} && {})", plain(&a, &b)))
        }
        ((true, false), _) => {
            let variable = fresh(writer);
            let (a, b) = (optional(writer, left)?, writer.expr(&binary.right)?);
            Ok(format!("{not}{a}.optMap({variable}, {}).orValue(false)", plain(&variable, &b)))
        }
        ((false, true), _) => {
            let variable = fresh(writer);
            let (a, b) = (writer.expr(&binary.left)?, optional(writer, right)?);
            Ok(format!("{not}{b}.optMap({variable}, {}).orValue(false)", plain(&a, &variable)))
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
