//! Macros: expressions that are evaluated for the elements of a collection.

use super::Checker;
use super::expr::type_range;
use crate::diag::{Span, codes};
use crate::lang::language::macros::{self, MacroDef, MacroKind, Parts};
use crate::lang::syntax::ast::{self, Text};
use crate::lang::typed::{Expr, ExprKind, Macro, SlotId};
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn macro_call(
        &mut self,
        row: &MacroDef,
        object: Expr,
        call: &ast::MethodCall,
        span: Span,
    ) -> Expr {
        let name = &call.method;
        let object = if object.ty.is_optional() {
            let rest = self.excerpt(Span { start: object.span.end, ..span });
            self.value_in(object, Some(&|filled| format!("{filled}{rest}")))
        } else {
            object
        };
        let variables: Vec<(Text, Span)> = call.args[..row.variables]
            .iter()
            .filter_map(|arg| match &arg.value.kind {
                ast::ExprKind::Name(name) => Some((name.clone(), arg.value.span)),
                _ => None,
            })
            .collect();
        let (first_type, second_type) = match object.ty.clone() {
            Type::Unknown => (Type::Unknown, Some(Type::Unknown)),
            other if row.is_optional() && !matches!(other, Type::CelOptional(_)) => {
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    object.span,
                    format!("`{}` is for CEL's optional, this is `{other}`", name.text),
                    "`x.?field`, `l[?0]` and `optional.of(…)` are one",
                );
                (Type::Unknown, Some(Type::Unknown))
            }
            Type::List(element) | Type::Set(element) if row.variables == 2 => {
                (Type::Int, Some((*element).clone()))
            }
            Type::List(element) | Type::Set(element) => ((*element).clone(), None),
            Type::Map(key, value) if row.variables == 2 => ((*key).clone(), Some((*value).clone())),
            Type::Map(key, _) => ((*key).clone(), None),
            Type::Resources if row.variables == 1 => (Type::String, None),
            Type::CelOptional(held) if row.is_optional() => ((*held).clone(), None),
            other => {
                if other == Type::Dyn {
                    self.mistake(
                        &codes::DYNAMIC_VALUE,
                        object.span,
                        "this has no known type",
                        "a macro goes over a list or a map of a known type",
                    );
                } else {
                    let help = match other {
                        Type::Resources => {
                            "the forms with two variables are for maps: `r[name]` is the amount"
                        }
                        _ => "",
                    };
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        object.span,
                        format!("`{}` goes over a list or a map, this is `{other}`", name.text),
                        help,
                    );
                }
                (Type::Unknown, Some(Type::Unknown))
            }
        };
        let locals = self.frame.locals.len();
        let mark = self.frame.facts.mark();
        let mut slots: Vec<SlotId> = Vec::with_capacity(2);
        for (at, (variable, place)) in variables.iter().enumerate() {
            let ty = if at == 0 { first_type.clone() } else { second_type.clone().unwrap_or(Type::Unknown) };
            let range = if at == 0 && row.variables == 2 && ty == Type::Int {
                Range::whole(0, i128::from(i32::MAX))
            } else {
                type_range(&ty)
            };
            let slot = self.add_variable(variable, *place, ty, range);
            slots.push(slot);
        }
        // A key that the macro goes over is in the map.
        if let (Type::Map(..), Some(slot)) = (&object.ty, slots.first()) {
            self.known_key(&object, *slot);
        }
        let rest = &call.args[row.variables..];
        let (condition, body) = match (row.parts, rest) {
            (Parts::Condition, [p]) => (Some(self.condition(&p.value)), None),
            (Parts::Body, [e]) => (None, Some(self.expr(&e.value, None))),
            (Parts::ConditionAndBody, [p, e]) => {
                let condition = self.condition(&p.value);
                self.assume(&condition, true);
                (Some(condition), Some(self.expr(&e.value, None)))
            }
            _ => (None, None),
        };
        self.frame.facts.forget(mark);
        self.frame.locals.truncate(locals);
        let unknown = object.ty.is_unknown()
            || first_type.is_unknown()
            || condition.as_ref().is_some_and(|p| p.ty.is_unknown())
            || body.as_ref().is_some_and(|e| e.ty.is_unknown());
        if unknown {
            return self.unknown(span);
        }
        let positive = Range::whole(0, i128::from(i64::MAX));
        let kind = row.kind;
        let element = second_type.clone().filter(|_| matches!(object.ty, Type::List(_) | Type::Set(_)));
        let element = element.unwrap_or_else(|| first_type.clone());
        let mut body = body;
        let (ty, range) = match kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => (Type::Bool, Range::None),
            MacroKind::Count => (Type::Int, positive),
            MacroKind::Filter => match &object.ty {
                Type::Map(..) if row.variables == 2 => (object.ty.clone(), Range::None),
                _ => (element.list(), Range::None),
            },
            MacroKind::First => {
                let ty = element.optional();
                let range = type_range(&ty);
                (ty, range)
            }
            MacroKind::Map => (body.as_ref().map_or(Type::Unknown, |e| e.ty.clone()).list(), Range::None),
            MacroKind::OptMap => {
                let Some(value) = body.take() else { return self.unknown(span) };
                let value = self.value(value);
                let ty = Type::CelOptional(Arc::new(value.ty.clone()));
                if value.ty.is_unknown() {
                    return self.unknown(span);
                }
                body = Some(value);
                (ty, Range::None)
            }
            MacroKind::OptFlatMap => {
                let ty = body.as_ref().map_or(Type::Unknown, |e| e.ty.clone());
                if !matches!(ty, Type::CelOptional(_)) {
                    let place = body.as_ref().map_or(span, |e| e.span);
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        place,
                        format!("`optFlatMap` makes CEL's optional, this is `{ty}`"),
                        "`optMap` is for what is none, `optional.of(…)` makes one",
                    );
                    return self.unknown(span);
                }
                (ty, Range::None)
            }
            MacroKind::TransformMap => {
                let value = body.as_ref().map_or(Type::Unknown, |e| e.ty.clone());
                (Type::Map(Arc::new(first_type.clone()), Arc::new(value)), Range::None)
            }
            MacroKind::Sum | MacroKind::Min | MacroKind::Max | MacroKind::SortBy => {
                let Some(value) = body.take() else { return self.unknown(span) };
                let value = self.value(value);
                let fits = match kind {
                    MacroKind::Sum => value.ty.is_numeric() || value.ty == Type::Resources,
                    _ => value.ty.is_ordered(),
                } || value.ty == Type::Never;
                if value.ty.is_unknown() {
                    return self.unknown(span);
                }
                if !fits {
                    let what = if kind == MacroKind::Sum { "summed" } else { "put in order" };
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        value.span,
                        format!("`{}` cannot be {what}", value.ty),
                        "",
                    );
                    return self.unknown(span);
                }
                let (ty, range) = match kind {
                    MacroKind::Sum => (value.ty.clone(), sum_range(value.range)),
                    MacroKind::SortBy => (element.list(), Range::None),
                    _ => (value.ty.clone().optional(), value.range),
                };
                body = Some(value);
                (ty, range)
            }
        };
        let made = Macro {
            kind,
            over: object,
            slot: slots.first().copied().unwrap_or(SlotId(0)),
            second: slots.get(1).copied(),
            condition,
            body,
        };
        self.with_range(ExprKind::Macro(Box::new(made)), ty, range, span)
    }
}

/// What a sum of values of a range can be.
pub(super) fn sum_range(of: Range) -> Range {
    let most = i128::from(i64::MAX);
    match of {
        Range::Whole { lo, hi, .. } => {
            Range::whole(if lo >= 0 { 0 } else { i128::from(i64::MIN) }, if hi <= 0 { 0 } else { most })
        }
        Range::Real { lo, hi, .. } => {
            Range::real(if lo >= 0.0 { 0.0 } else { f64::MIN }, if hi <= 0.0 { 0.0 } else { f64::MAX })
        }
        Range::None => Range::None,
    }
}

/// The macro that a method call is, by its name and the shape of its arguments.
pub(super) fn macro_row(name: &str, args: &[ast::Arg]) -> Option<&'static MacroDef> {
    let is_variable = |arg: &ast::Arg| arg.name.is_none() && matches!(arg.value.kind, ast::ExprKind::Name(_));
    macros::named(name).find(|row| {
        args.len() == row.variables + row.parts.count() && args.iter().take(row.variables).all(is_variable)
    })
}
