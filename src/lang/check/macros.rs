//! Macros: expressions that are evaluated for the elements of a collection.

use super::Checker;
use super::expr::type_range;
use crate::language::macros::{self, MacroDef, MacroKind, Parts};
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Macro, SlotId};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_diag::{Span, codes};
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn macro_call(
        &mut self,
        row: &MacroDef,
        object: Expr,
        call: &ast::MethodCall,
        span: Span,
    ) -> Expr {
        let object = if object.ty.is_optional() {
            let rest = self.excerpt(Span { start: object.span.end, ..span });
            self.value_in(object, Some(&|filled| format!("{filled}{rest}")))
        } else {
            object
        };
        let (first, second) = self.macro_variable_types(row, &object, &call.method);
        let locals = self.frame.locals.len();
        let mark = self.frame.facts.mark();
        let slots = self.bind_macro_variables(row, call, &first, second.as_ref());
        // A key that the macro goes over is in the map.
        if let (Type::Map(..), Some(slot)) = (&object.ty, slots.first()) {
            self.known_key(&object, *slot);
        }
        let (condition, body) = self.macro_parts(row, &call.args[row.variables..]);
        self.frame.facts.forget(mark);
        self.frame.locals.truncate(locals);
        let unknown = object.ty.is_unknown()
            || first.is_unknown()
            || condition.as_ref().is_some_and(|p| p.ty.is_unknown())
            || body.as_ref().is_some_and(|e| e.ty.is_unknown());
        if unknown {
            return self.unknown(span);
        }
        if let Some(body) = &body
            && self.leaves_scope(&body.ty, &slots, body.span)
        {
            return self.unknown(span);
        }
        let element = second.filter(|_| matches!(object.ty, Type::List(_) | Type::Set(_)));
        let element = element.unwrap_or_else(|| first.clone());
        let Some(result) = self.macro_result(row, &object.ty, first, element, body, span) else {
            return self.unknown(span);
        };
        let made = Macro {
            kind: row.kind,
            over: object,
            slot: slots.first().copied().unwrap_or(SlotId(0)),
            second: slots.get(1).copied(),
            condition,
            body: result.body,
        };
        let expr = self.with_range(ExprKind::Macro(Box::new(made)), result.ty, result.range, span);
        self.narrowed(expr)
    }

    /// The types of the first and the second variable. Reports an object that the macro cannot go
    /// over.
    fn macro_variable_types(
        &mut self,
        row: &MacroDef,
        object: &Expr,
        name: &ast::Name,
    ) -> (Type, Option<Type>) {
        match object.ty.clone() {
            Type::Unknown => {}
            other if row.is_optional() && !matches!(other, Type::CelOptional(_)) => {
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    object.span,
                    format!("`{}` is for CEL's optional, this is `{other}`", name.text),
                    "`x.?field`, `l[?0]` and `optional.of(…)` are one",
                );
            }
            Type::List(element) | Type::Set(element) if row.variables == 2 => {
                return (Type::Int, Some((*element).clone()));
            }
            Type::List(element) | Type::Set(element) => return ((*element).clone(), None),
            Type::Map(key, value) if row.variables == 2 => {
                return ((*key).clone(), Some((*value).clone()));
            }
            Type::Map(key, _) => return ((*key).clone(), None),
            Type::Resources if row.variables == 1 => return (Type::String, None),
            Type::CelOptional(held) if row.is_optional() => return ((*held).clone(), None),
            Type::Dyn => self.mistake(
                &codes::DYNAMIC_VALUE,
                object.span,
                "this has no known type",
                "a macro goes over a list or a map of a known type",
            ),
            other => {
                let help = match other {
                    Type::Resources => "the forms with two variables are for maps: `r[name]` is the amount",
                    _ => "",
                };
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    object.span,
                    format!("`{}` goes over a list or a map, this is `{other}`", name.text),
                    help,
                );
            }
        }
        (Type::Unknown, Some(Type::Unknown))
    }

    /// Declares the variables of the macro for its parts. The caller ends their scope.
    fn bind_macro_variables(
        &mut self,
        row: &MacroDef,
        call: &ast::MethodCall,
        first: &Type,
        second: Option<&Type>,
    ) -> Vec<SlotId> {
        let variables = call.args[..row.variables].iter().filter_map(|arg| match &arg.value.kind {
            ast::ExprKind::Name(name) => Some((name, arg.value.span)),
            _ => None,
        });
        let mut slots = Vec::with_capacity(2);
        for (at, (variable, place)) in variables.enumerate() {
            let ty = if at == 0 { first.clone() } else { second.cloned().unwrap_or(Type::Unknown) };
            let range = if at == 0 && row.variables == 2 && ty == Type::Int {
                Range::whole(0, i128::from(i32::MAX))
            } else {
                type_range(&ty)
            };
            slots.push(self.add_variable(variable, place, ty, range));
        }
        slots
    }

    /// The condition and the body of the macro. A body after a condition is checked with the facts
    /// that the condition shows.
    fn macro_parts(&mut self, row: &MacroDef, parts: &[ast::Arg]) -> (Option<Expr>, Option<Expr>) {
        match (row.parts, parts) {
            (Parts::Condition, [p]) => (Some(self.condition(&p.value)), None),
            (Parts::Body, [e]) => (None, Some(self.expr(&e.value, None))),
            (Parts::ConditionAndBody, [p, e]) => {
                let condition = self.condition(&p.value);
                self.assume(&condition, true);
                (Some(condition), Some(self.expr(&e.value, None)))
            }
            _ => (None, None),
        }
    }

    /// What the macro gives, by its kind. `None` when its body does not fit, which is reported.
    fn macro_result(
        &mut self,
        row: &MacroDef,
        object: &Type,
        first: Type,
        element: Type,
        body: Option<Expr>,
        span: Span,
    ) -> Option<MacroResult> {
        let body_type = body.as_ref().map_or(Type::Unknown, |e| e.ty.clone());
        let (ty, range) = match row.kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => (Type::Bool, Range::None),
            MacroKind::Count => (Type::Int, Range::whole(0, i128::from(i32::MAX))),
            MacroKind::Filter => match object {
                Type::Map(..) if row.variables == 2 => (object.clone(), Range::None),
                _ => (element.list(), Range::None),
            },
            MacroKind::First => {
                let ty = element.optional();
                let range = type_range(&ty);
                (ty, range)
            }
            MacroKind::Map => (body_type.list(), Range::None),
            MacroKind::OptMap => {
                let value = self.value(body?);
                if value.ty.is_unknown() {
                    return None;
                }
                let ty = Type::CelOptional(Arc::new(value.ty.clone()));
                return Some(MacroResult { ty, range: Range::None, body: Some(value) });
            }
            MacroKind::OptFlatMap => {
                if !matches!(body_type, Type::CelOptional(_)) {
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        body.as_ref().map_or(span, |e| e.span),
                        format!("`optFlatMap` makes CEL's optional, this is `{body_type}`"),
                        "`optMap` is for what is none, `optional.of(…)` makes one",
                    );
                    return None;
                }
                (body_type, Range::None)
            }
            MacroKind::TransformMap => (Type::Map(Arc::new(first), Arc::new(body_type)), Range::None),
            // Of CEL alone.
            MacroKind::TransformMapEntry | MacroKind::Bind => (body_type, Range::None),
            MacroKind::Sum | MacroKind::Min | MacroKind::Max | MacroKind::SortBy => {
                return self.macro_of_values(row.kind, element, body?);
            }
        };
        Some(MacroResult { ty, range, body })
    }

    /// What a macro gives that adds or orders the values of its body.
    fn macro_of_values(&mut self, kind: MacroKind, element: Type, body: Expr) -> Option<MacroResult> {
        let value = self.value(body);
        if value.ty.is_unknown() {
            return None;
        }
        let fits = match kind {
            MacroKind::Sum => value.ty.is_numeric() || value.ty == Type::Resources,
            _ => value.ty.is_ordered(),
        } || value.ty == Type::Never;
        if !fits {
            let what = if kind == MacroKind::Sum { "summed" } else { "put in order" };
            let message = format!("`{}` cannot be {what}", value.ty);
            self.mistake(&codes::TYPE_MISMATCH, value.span, message, "");
            return None;
        }
        let (ty, range) = match kind {
            // The body of a sum of nothing has no type; the sum is 0.
            MacroKind::Sum if value.ty == Type::Never => (Type::Int, Range::int(0)),
            MacroKind::Sum => (value.ty.clone(), sum_range(value.range, &value.ty)),
            MacroKind::SortBy => (element.list(), Range::None),
            _ => (value.ty.clone().optional(), value.range),
        };
        Some(MacroResult { ty, range, body: Some(value) })
    }
}

/// What a macro gives: its type and range, and its body as it is evaluated.
struct MacroResult {
    ty: Type,
    range: Range,
    body: Option<Expr>,
}

/// What a sum of values of a type and range can be: it stops at the ends of the type.
pub(super) fn sum_range(of: Range, ty: &Type) -> Range {
    match (of, type_range(ty)) {
        (Range::Whole { lo, hi, .. }, Range::Whole { lo: least, hi: most, .. }) => {
            Range::whole(if lo >= 0 { 0 } else { least }, if hi <= 0 { 0 } else { most })
        }
        (Range::Real { lo, hi, .. }, _) => {
            Range::real(if lo >= 0.0 { 0.0 } else { f64::MIN }, if hi <= 0.0 { 0.0 } else { f64::MAX })
        }
        _ => Range::None,
    }
}

/// The macro of the policy language that a method call is.
pub(super) fn macro_row(call: &ast::MethodCall) -> Option<&'static MacroDef> {
    macros::fitting(&call.method.text, call.args.len(), |at| call.is_name(at))
}
