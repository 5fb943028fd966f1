//! Expressions in a plain form, in which those that mean the same are more often written alike: lets, defs and arguments are
//! written out, CEL's optionals are values that may be absent, and an element of a constant map is one of its cases.

use bayplan_lang::analysis::faults::may_fail;
use bayplan_lang::eval::interpret::arithmetic;
use bayplan_lang::language::functions::Presence;
use bayplan_lang::typed::walk::{each_part_mut, mentions};
use bayplan_lang::typed::{Expr, ExprKind, Macro, MacroKind, Operation, Policy, SlotId};
use bayplan_lang::types::value::Constant;
use bayplan_lang::types::{Type, convert};

/// How many lets and defs are written out in an expression.
const MOST_WRITTEN_OUT: usize = 512;
/// Maps with more entries stay as they are.
const MOST_ENTRIES: usize = 16;

/// An expression in the plain form. It has the same value, and the same faults.
pub(crate) fn plain(policy: &Policy, expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    Writer { policy, left: MOST_WRITTEN_OUT }.write(&mut expr);
    expr
}

struct Writer<'p> {
    policy: &'p Policy,
    left: usize,
}

impl Writer<'_> {
    fn write(&mut self, expr: &mut Expr) {
        if let Some(body) = self.defined(expr) {
            // What a let with `missing` stands for is there where the let is read.
            *expr = if body.ty.is_optional() && !expr.ty.is_optional() {
                present(body, expr.ty.clone())
            } else {
                body
            };
            return self.write(expr);
        }
        each_part_mut(expr, &mut |part| self.write(part));
        if let Some(simpler) = simpler(expr) {
            *expr = simpler;
        }
    }

    /// What the name of a let, a def or an argument stands for.
    fn defined(&mut self, expr: &Expr) -> Option<Expr> {
        let policy = self.policy;
        let body = match &expr.kind {
            ExprKind::Param(id) => {
                return Some(Expr { kind: ExprKind::Constant(policy[*id].value.clone()), ..expr.clone() });
            }
            ExprKind::Let(id) => policy[*id].value.clone(),
            // An argument that is a fault makes the call one, also where the body does not use it.
            ExprKind::CallDef(id, args) if !args.iter().any(|arg| may_fail(policy, arg)) => {
                let def = &policy[*id];
                let mut body = def.body.clone();
                replace(&mut body, &def.parameters, args);
                body
            }
            _ => return None,
        };
        self.left = self.left.checked_sub(1)?;
        Some(body)
    }
}

/// A simpler expression of the same value, whose parts are simple.
fn simpler(expr: &Expr) -> Option<Expr> {
    let made = |kind: ExprKind| Expr { kind, ..expr.clone() };
    match &expr.kind {
        ExprKind::Present(inner) if !inner.ty.is_optional() => Some((**inner).clone()),
        ExprKind::Dynamic(Operation::Demand(_), args) => match args.as_slice() {
            [inner] if is_plain(&inner.ty) => Some(inner.clone()),
            _ => None,
        },
        ExprKind::Call(function, args, _) => match (function.def().presence?, args.as_slice()) {
            (Presence::Tests, [optional]) => is_there(held(optional)?, expr),
            (Presence::Takes, [optional]) => {
                let held = held(optional)?;
                let is_taken = held.ty.is_optional() && !expr.ty.is_optional();
                Some(if is_taken { present(held, expr.ty.clone()) } else { held })
            }
            (Presence::TakesOr, [optional, other]) => or(held(optional)?, other, expr),
            _ => None,
        },
        ExprKind::Dynamic(Operation::OrElse(true), args) => match args.as_slice() {
            [optional, other] => or(held(optional)?, other, expr),
            _ => None,
        },
        ExprKind::Index(map, key) => {
            let ExprKind::Constant(map) = &map.kind else { return None };
            let entries = map.entries().filter(|entries| entries.len() <= MOST_ENTRIES)?;
            let constant = |of: &Constant, ty: &Type| Expr {
                kind: ExprKind::Constant(of.clone()),
                ty: ty.clone(),
                ..expr.clone()
            };
            let none = constant(&Constant::Absent, &expr.ty.clone().optional());
            let cases = entries.iter().rfold(none, |rest, (name, value)| {
                let is_key = ExprKind::Equal(key.clone(), Box::new(constant(name, key.ty.present())));
                let is_key = Expr { kind: is_key, ty: Type::Bool, ..expr.clone() };
                made(ExprKind::Conditional(
                    Box::new(is_key),
                    Box::new(constant(&convert::fit(value.clone(), &expr.ty), expr.ty.present())),
                    Box::new(rest),
                ))
            });
            Some(cases)
        }
        ExprKind::RecordField(record, at) => match &record.kind {
            ExprKind::Constant(Constant::Record(fields)) => {
                Some(made(ExprKind::Constant(fields.get(*at)?.clone())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether values of the type are never absent, and the same in both languages.
fn is_plain(ty: &Type) -> bool {
    matches!(ty, Type::Bool | Type::Int | Type::Uint | Type::Float | Type::String)
}

/// The value of a sum, a product and so on of constants.
pub(crate) fn folded(expr: &Expr) -> Option<Constant> {
    let ExprKind::Arithmetic(op, left, right) = &expr.kind else { return None };
    let constant = |expr: &Expr| match &expr.kind {
        ExprKind::Constant(of) => Some(of.clone()),
        _ => None,
    };
    Some(arithmetic(*op, &left.ty, &right.ty, constant(left)?, constant(right)?))
}

/// What an optional of CEL holds, absent where that is nothing.
fn held(optional: &Expr) -> Option<Expr> {
    let Type::CelOptional(ty) = optional.ty.present() else { return None };
    let ty = (**ty).clone().optional();
    let made = |kind: ExprKind| Expr { kind, ty: ty.clone(), ..optional.clone() };
    match &optional.kind {
        ExprKind::Present(inner) => held(inner),
        ExprKind::Call(function, args, _) => match (function.def().presence?, args.as_slice()) {
            (Presence::Wraps | Presence::Holds, [inner]) => Some(inner.clone()),
            (Presence::HoldsNothing, []) => Some(made(ExprKind::Constant(Constant::Absent))),
            (Presence::Or, [first, other]) => {
                Some(made(ExprKind::Coalesce(Box::new(held(first)?), Box::new(held(other)?))))
            }
            _ => None,
        },
        ExprKind::Dynamic(Operation::Optional, args) => held(args.first()?),
        // cel-go makes plain values anew as they are.
        ExprKind::Dynamic(Operation::Branch, args)
            if is_plain(ty.present()) || matches!(ty.present(), Type::Object(_)) =>
        {
            held(args.first()?)
        }
        ExprKind::Dynamic(Operation::OrElse(false), args) => match args.as_slice() {
            [first, other] => Some(made(ExprKind::Coalesce(Box::new(held(first)?), Box::new(held(other)?)))),
            _ => None,
        },
        ExprKind::Conditional(condition, then, otherwise) => Some(made(ExprKind::Conditional(
            condition.clone(),
            Box::new(held(then)?),
            Box::new(held(otherwise)?),
        ))),
        ExprKind::Macro(of) => mapped(of, optional, &ty),
        _ => None,
    }
}

/// What `optMap` and `optFlatMap` make: the body of the value, where there is one.
fn mapped(of: &Macro, whole: &Expr, ty: &Type) -> Option<Expr> {
    let mut body = match of.kind {
        MacroKind::OptMap => of.body.clone()?,
        MacroKind::OptFlatMap => held(of.body.as_ref()?)?,
        _ => return None,
    };
    let over = held(&of.over)?;
    let there = is_there(over.clone(), whole)?;
    let value = match over.ty.is_optional() {
        true => present(over.clone(), over.ty.present().clone()),
        false => over,
    };
    replace(&mut body, &[of.slot], std::slice::from_ref(&value));
    let none = Expr { kind: ExprKind::Constant(Constant::Absent), ty: ty.clone(), ..whole.clone() };
    let kind = ExprKind::Conditional(Box::new(there), Box::new(body), Box::new(none));
    Some(Expr { kind, ty: ty.clone(), ..whole.clone() })
}

/// Whether a value is there; `None` of an amount, of which `has` asks something else.
fn is_there(value: Expr, whole: &Expr) -> Option<Expr> {
    let is_amount = matches!(value.kind, ExprKind::Resource(..));
    (!is_amount).then(|| Expr { kind: ExprKind::Has(Box::new(value)), ty: Type::Bool, ..whole.clone() })
}

fn or(value: Expr, other: &Expr, whole: &Expr) -> Option<Expr> {
    if value.ty.present() != other.ty.present() {
        return None;
    }
    let kind = ExprKind::Coalesce(Box::new(value), Box::new(other.clone()));
    Some(Expr { kind, ..whole.clone() })
}

/// A value that is there.
pub(crate) fn present(value: Expr, ty: Type) -> Expr {
    let (range, span) = (value.range, value.span);
    Expr { kind: ExprKind::Present(Box::new(value)), ty, range, span }
}

/// Puts expressions in place of variables.
fn replace(expr: &mut Expr, slots: &[SlotId], by: &[Expr]) {
    if let ExprKind::Slot(slot) = &expr.kind {
        if let Some(by) = slots.iter().position(|of| of == slot).and_then(|at| by.get(at)) {
            *expr = by.clone();
        }
        return;
    }
    if mentions(expr, slots) {
        each_part_mut(expr, &mut |part| replace(part, slots, by));
    }
}
