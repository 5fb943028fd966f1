//! The value of an expression that needs no pod, node or clock.
//!
//! The checker calls it wherever the language wants a constant (names of resources, patterns, weights,
//! params), and `analysis::fold` for every expression. Operations are those of `interpret`, so that a folded
//! expression has the value that it would have had.

use super::budget::{Counter, ELEMENT};
use super::{interpret, limits};
use crate::language::functions::{FunctionId, Grows, Prepared, Work};
use crate::typed::{ArithmeticOp, Def, Expr, ExprKind, Let, LetId, Param};
use crate::types::value::{Constant, Value};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// What visiting a state of a pattern counts for, in bytes that are read.
const VISIT: u64 = 4;

/// What constants may refer to.
#[derive(Clone, Copy)]
pub struct Tables<'t> {
    /// Arguments of the policy.
    pub params: &'t [Param],
    /// Its lets.
    pub lets: &'t [Let],
    /// Its defs.
    pub defs: &'t [Def],
    /// What computing may take.
    pub effort: &'t Counter,
    /// The values of lets that were computed before.
    pub known: &'t Known,
}

/// The values of the lets of a policy that were computed before.
#[derive(Default)]
pub struct Known(Cell<FxHashMap<LetId, Option<Constant>>>);

impl Known {
    fn get(&self, id: LetId) -> Option<Option<Constant>> {
        let known = self.0.take();
        let value = known.get(&id).cloned();
        self.0.set(known);
        value
    }

    fn insert(&self, id: LetId, value: Option<Constant>) {
        let mut known = self.0.take();
        known.insert(id, value);
        self.0.set(known);
    }
}

/// The value of an expression that is made of constants only. `None` also where computing it would take
/// too much.
pub fn constant(expr: &Expr, tables: Tables<'_>) -> Option<Constant> {
    if !tables.effort.spend(1) {
        return None;
    }
    let value = |expr: &Expr| constant(expr, tables);
    Some(match &expr.kind {
        ExprKind::Constant(constant) => constant.clone(),
        ExprKind::Param(id) => tables.params.get(id.index())?.value.clone(),
        ExprKind::Let(id) => of_let(*id, tables)?,
        ExprKind::Present(inner) => value(inner)?,
        ExprKind::Widen(inner) => interpret::widen(value(inner)?),
        ExprKind::Has(inner) => match &inner.kind {
            ExprKind::Resource(resources, name) => Value::Bool(value(name)?.is_in(&value(resources)?)),
            _ => Value::Bool(!value(inner)?.is_absent()),
        },
        ExprKind::Not(inner) => Value::Bool(!value(inner)?.holds()),
        ExprKind::Negate(inner) => interpret::negate(value(inner)?),
        ExprKind::And(left, right) => and(left, right, tables)?,
        ExprKind::Or(left, right) => or(left, right, tables)?,
        ExprKind::Equal(left, right) => {
            let (a, b) = both(left, right, tables)?;
            Value::Bool(a.equals(&b))
        }
        ExprKind::Compare(op, left, right) => {
            let (a, b) = both(left, right, tables)?;
            Value::Bool(interpret::compare(*op, &a, &b))
        }
        ExprKind::In(left, right) => {
            let (a, b) = both(left, right, tables)?;
            Value::Bool(a.is_in(&b))
        }
        ExprKind::Arithmetic(op, left, right) => {
            let (a, b) = both(left, right, tables)?;
            if *op == ArithmeticOp::Add && !limits::fits_together(&a, &b) {
                return None;
            }
            interpret::arithmetic(*op, &left.ty, &right.ty, a, b)
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            if value(condition)?.holds() {
                value(then)?
            } else {
                value(otherwise)?
            }
        }
        ExprKind::Coalesce(left, right) => match value(left)? {
            Value::Absent => value(right)?,
            left => left,
        },
        ExprKind::List(elements) => list(elements, tables)?,
        ExprKind::Map(entries) => map(entries, tables)?,
        ExprKind::Record(values) => Value::Record(values.iter().map(value).collect::<Option<_>>()?),
        ExprKind::RecordField(object, at) => match value(object)? {
            Value::Record(fields) => Value::optional(fields.get(*at).cloned()),
            _ => Value::Absent,
        },
        ExprKind::Index(object, index) => {
            let (object, index) = (value(object)?, value(index)?);
            if index.is_absent() { Value::Absent } else { object.index(&index) }
        }
        ExprKind::Resource(resources, name) => match (value(resources)?, value(name)?) {
            (resources @ Value::Resources(_), name) => resources.key(name.as_str()?),
            _ => Value::Absent,
        },
        ExprKind::Call(function, args, prepared) => {
            let args = args.iter().map(value).collect::<Option<Vec<_>>>()?;
            if !limits::fits(function.def(), &args) || !affordable(*function, &args, prepared, tables) {
                return None;
            }
            Some((function.def().body)(&args, prepared)).filter(|value| !value.is_fault())?
        }
        ExprKind::CallDef(id, args) if args.is_empty() => {
            constant(&tables.defs.get(id.index())?.body, tables)?
        }
        ExprKind::CallDef(..)
        | ExprKind::Dynamic(..)
        | ExprKind::Macro(_)
        | ExprKind::Slot(_)
        | ExprKind::Root(_)
        | ExprKind::Group(_)
        | ExprKind::Ledger(..)
        | ExprKind::Memo(_)
        | ExprKind::Source(..)
        | ExprKind::Now
        | ExprKind::LookUp(..)
        | ExprKind::Field(..)
        | ExprKind::ApiField(..) => return None,
    })
}

/// The value of a let, computed once.
fn of_let(id: LetId, tables: Tables<'_>) -> Option<Constant> {
    if let Some(known) = tables.known.get(id) {
        return known;
    }
    let value = constant(&tables.lets.get(id.index())?.value, tables);
    tables.known.insert(id, value.clone());
    value
}

/// Two operands that are read whole.
fn both(left: &Expr, right: &Expr, tables: Tables<'_>) -> Option<(Constant, Constant)> {
    let both = (constant(left, tables)?, constant(right, tables)?);
    tables.effort.values([&both.0, &both.1]).then_some(both)
}

/// Whether there is room to compute a call.
fn affordable(function: FunctionId, args: &[Constant], prepared: &Prepared, tables: Tables<'_>) -> bool {
    let def = function.def();
    let made = match def.grows {
        Grows::Counts => args
            .first()
            .and_then(Value::as_int)
            .map_or(0, |count| count.max(0) as u64)
            .saturating_mul(ELEMENT),
        _ => 0,
    };
    let visits = match prepared {
        Prepared::Pattern(pattern) => {
            let bytes = args.first().and_then(Value::as_str).map_or(0, |text| text.len() as u64);
            pattern.visits(bytes, def.work == Work::MatchesAll, None)
        }
        _ => 0,
    };
    let visits = u64::try_from(visits).unwrap_or(u64::MAX).saturating_mul(VISIT);
    tables.effort.spend(made.saturating_add(visits)) && tables.effort.values(args)
}

/// `left && right`; a false side decides, even when the left side is not a constant.
fn and(left: &Expr, right: &Expr, tables: Tables<'_>) -> Option<Constant> {
    match constant(left, tables) {
        Some(Value::Bool(false)) => Some(Value::Bool(false)),
        left => {
            let right = constant(right, tables)?;
            if right.holds() { left } else { Some(Value::Bool(false)) }
        }
    }
}

/// `left || right`; a true side decides, even when the left side is not a constant.
fn or(left: &Expr, right: &Expr, tables: Tables<'_>) -> Option<Constant> {
    match constant(left, tables) {
        Some(Value::Bool(true)) => Some(Value::Bool(true)),
        left => {
            let right = constant(right, tables)?;
            if right.holds() { Some(Value::Bool(true)) } else { left }
        }
    }
}

/// A list without its optional elements that are absent.
fn list(elements: &[(Expr, bool)], tables: Tables<'_>) -> Option<Constant> {
    let mut items = Vec::with_capacity(elements.len());
    for (element, optional) in elements {
        let item = constant(element, tables)?;
        if !(*optional && item.is_absent()) {
            items.push(item);
        }
    }
    Some(Value::List(items.into()))
}

/// A map without its optional entries that are absent.
fn map(entries: &[(Expr, Expr, bool)], tables: Tables<'_>) -> Option<Constant> {
    let mut pairs = Vec::with_capacity(entries.len());
    for (key, item, optional) in entries {
        let (key, item) = (constant(key, tables)?, constant(item, tables)?);
        if !(*optional && item.is_absent()) {
            pairs.push((key, item));
        }
    }
    Some(Value::map(pairs))
}
