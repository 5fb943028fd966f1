//! Macros of CEL: over lists and maps of known types, over values whose types show when they are evaluated, and
//! `cel.bind`, which names a value.

use super::doubts::{can_fail, is_open};
use super::{has_float, is_static};
use crate::check::Checker;
use crate::check::macros::{macro_row, sum_range};
use crate::check::scope::{Local, LocalKind};
use crate::language::environments::Row;
use crate::language::macros::{self, MacroDef, MacroKind, Parts};
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Macro, Operation, SlotId};
use crate::types::range::Range;
use crate::types::value::FaultKind;
use crate::types::{CelType, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// The name of a macro's variable.
fn variable(of: &ast::Expr) -> Option<ast::Text> {
    match &of.kind {
        ast::ExprKind::Paren(inner) => variable(inner),
        ast::ExprKind::Name(name) if !name.starts_with('.') => Some(name.clone()),
        _ => None,
    }
}

impl Checker<'_> {
    /// A macro, if the call is one.
    pub(super) fn cel_macro(&mut self, call: &ast::MethodCall, span: Span) -> Option<Expr> {
        if let ast::ExprKind::Name(object) = &call.object.kind
            && self.has_row(Row::Bind)
            && let [name, value, body] = call.args.as_slice()
            && let full = format!("{}.{}", object.trim_start_matches('.'), call.method.text)
            && macros::fitting_in_cel(&full, call.args.len()).is_some()
        {
            return Some(self.cel_bind(name, value, body, span));
        }
        let own = macros::fitting_in_cel(&call.method.text, call.args.len());
        // A macro that policies have beside those of CEL.
        let row = own.or_else(|| macro_row(call).filter(|_| self.has_row(Row::Functions)))?;
        // `m.exists(k, v, p)` and `l.map(x, p, e)` have as many arguments; the variables tell them apart.
        let names: Vec<Option<ast::Text>> =
            call.args.iter().take(row.variables).map(|arg| variable(&arg.value)).collect();
        let object = self.expr(&call.object, None);
        let mut declared = Vec::with_capacity(row.variables);
        for (name, arg) in names.into_iter().zip(&call.args) {
            let Some(name) = name else {
                let message =
                    format!("`{}` declares a variable here, this is an expression", call.method.text);
                self.mistake(
                    &codes::SYNTAX,
                    arg.value.span,
                    message,
                    "write a plain name, as in `l.all(x, x > 0)`",
                );
                return Some(self.unknown(span));
            };
            if declared.iter().any(|(known, _)| *known == name) {
                let message = format!("both variables are called `{name}`");
                self.mistake(&codes::DUPLICATE_NAME, arg.value.span, message, "choose another name");
                return Some(self.unknown(span));
            }
            declared.push((name, arg.value.span));
        }
        let written = call.args.get(row.variables..).unwrap_or_default();
        let made = self.cel_macro_of(row, object, &declared, written, span);
        Some(made.unwrap_or_else(|| self.unknown(span)))
    }

    /// A macro of a row; `None` after a report.
    fn cel_macro_of(
        &mut self,
        row: &MacroDef,
        object: Expr,
        declared: &[(ast::Text, Span)],
        written: &[ast::Arg],
        span: Span,
    ) -> Option<Expr> {
        let ty = self.ty(&object);
        if ty.is_unknown() {
            return None;
        }
        let sorts = row.kind == MacroKind::SortBy;
        if let (true, Type::Map(..)) = (sorts, &ty) {
            let message = format!("a list can be sorted, this is `{}`", self.shown(&ty));
            return Some(self.cel_mistake(&codes::TYPE_MISMATCH, object.span, message, ""));
        }
        let is_open = !matches!(ty, Type::List(_) | Type::Set(_));
        let (types, mut object) = self.cel_variable_types(row.is_optional(), declared.len(), object, &ty)?;
        if sorts && (is_open || self.cel.doubts.any()) {
            let (ty, at) = (object.ty.clone(), object.span);
            object = self.dynamic_node(Operation::Sortable, vec![object], ty, at);
        }
        let (locals, mark) = (self.frame.locals.len(), self.frame.facts.mark());
        let slots = self.cel_declare(declared, &types);
        let parts = match self.reads_its_variable(row, declared, &types) {
            true => None,
            false => {
                if let (Type::Map(..), Some(slot)) = (&object.ty, slots.first()) {
                    self.known_key(&object, *slot);
                }
                Some(self.cel_macro_parts(row.parts, written))
            }
        };
        self.frame.facts.forget(mark);
        self.frame.locals.truncate(locals);
        let (condition, body) = parts?;
        let is_unknown = |part: &Option<Expr>| part.as_ref().is_some_and(|part| part.ty.is_unknown());
        if is_unknown(&condition) || is_unknown(&body) {
            return None;
        }
        let (kind, body) = self.as_cel_go_reads(row.kind, body, &types, slots.last().copied(), span);
        let body_type = body.as_ref().map(|body| self.ty(body)).unwrap_or(Type::Dyn);
        let result = self.cel_macro_result(kind, is_open, &types, &body_type, body.as_ref(), span)?;
        let body = match (sorts, slots.as_slice(), body) {
            (true, [slot], Some(body)) if self.sorts_by_values(&object, &body, &body_type) => {
                return Some(self.sorted_by_values(object, *slot, body, &body_type, result, span));
            }
            (_, _, body) => body,
        };
        let range = match (kind, &body) {
            (MacroKind::Sum, Some(body)) => sum_range(body.range, &body.ty),
            (MacroKind::Min | MacroKind::Max, Some(body)) => body.range,
            (MacroKind::Count, _) => Range::whole(0, i128::from(i32::MAX)),
            (_, _) if has_float(&result) => Range::None,
            _ => super::super::expr::type_range(&result),
        };
        let made = Macro {
            kind,
            over: object,
            slot: slots.first().copied().unwrap_or(SlotId(0)),
            second: slots.get(1).copied(),
            condition,
            body,
        };
        let made = self.with_range(ExprKind::Macro(Box::new(made)), result, range, span);
        // These macros are choices between an optional that is made and none.
        let made = if row.is_optional() { self.branch(made, true) } else { made };
        let made = self.demand(made, FaultKind::BadArgument);
        Some(match (kind, made.ty.present()) {
            (MacroKind::Min | MacroKind::Max, Type::Duration) => {
                self.exact_or_absent(made, CelType::Duration)
            }
            (MacroKind::Min | MacroKind::Max, Type::Time) => self.exact_or_absent(made, CelType::Timestamp),
            _ => made,
        })
    }

    /// Whether the macro itself reads its variable, whose name cel-go takes for that of a type. Reports it.
    fn reads_its_variable(&mut self, row: &MacroDef, declared: &[(ast::Text, Span)], types: &[Type]) -> bool {
        let reads = row.kind == MacroKind::Filter || row.is_optional();
        let (true, [(name, at)], [ty]) = (reads, declared, types) else { return false };
        self.reads_a_type(name, ty, *at) && self.named_by_variable(name, *at).ty.is_unknown()
    }

    /// The condition and the body. A body with a condition is checked with what that shows.
    fn cel_macro_parts(&mut self, parts: Parts, written: &[ast::Arg]) -> (Option<Expr>, Option<Expr>) {
        match (parts, written) {
            (Parts::Condition, [p]) => (Some(self.cel_condition(&p.value)), None),
            (Parts::ConditionAndBody, [p, e]) => {
                let condition = self.cel_condition(&p.value);
                if !condition.ty.is_unknown() {
                    self.assume(&condition, true);
                }
                (Some(condition), Some(self.expr(&e.value, None)))
            }
            (_, [e, ..]) => (None, Some(self.expr(&e.value, None))),
            _ => (None, None),
        }
    }

    /// The kind and the body with what cel-go does to the values of the body, and of the variable.
    fn as_cel_go_reads(
        &mut self,
        kind: MacroKind,
        body: Option<Expr>,
        types: &[Type],
        slot: Option<SlotId>,
        span: Span,
    ) -> (MacroKind, Option<Expr>) {
        match (kind, body) {
            // An element that `filter` keeps is read once more.
            (MacroKind::Filter, body) => match slot.filter(|slot| self.is_made_anew(types, *slot)) {
                Some(slot) => {
                    let ty = self.declared.slots[slot.index()].ty.clone();
                    let read = self.make(ExprKind::Slot(slot), ty, span);
                    (MacroKind::Map, Some(self.branch(read, true)))
                }
                None => (kind, body),
            },
            // An entry is a map, also where its type is not known.
            (MacroKind::TransformMapEntry, Some(body))
                if !is_static(&self.ty(&body)) || self.cel.doubts.any() =>
            {
                let (ty, at) = (body.ty.clone(), body.span);
                (kind, Some(self.dynamic_node(Operation::Mapping, vec![body], ty, at)))
            }
            (MacroKind::Min | MacroKind::Max, Some(body)) => (kind, Some(self.of_policy_form(body))),
            (_, body) => (kind, body),
        }
    }

    /// Whether the keys of `sortBy` show only when they are computed which order they have.
    fn sorts_by_values(&self, object: &Expr, body: &Expr, ty: &Type) -> bool {
        let open = self.cel.doubts.any() || !is_static(ty) || has_float(ty);
        !self.has_row(Row::Faults) && (open || can_fail(body) || can_fail(object))
    }

    /// `l.sortBy(x, e)` as cel-go has it: `cel.bind(t, l, t.@sortByAssociatedKeys(t.map(x, e)))`.
    fn sorted_by_values(
        &mut self,
        object: Expr,
        slot: SlotId,
        body: Expr,
        ty: &Type,
        result: Type,
        span: Span,
    ) -> Expr {
        let list = self.new_slot(ast::Text::from("@list"), object.ty.clone(), object.span);
        let read = self.make(ExprKind::Slot(list), object.ty.clone(), object.span);
        let at = body.span;
        let keys = Macro {
            kind: MacroKind::Map,
            over: read.clone(),
            slot,
            second: None,
            condition: None,
            body: Some(body),
        };
        let keys = self.make(ExprKind::Macro(Box::new(keys)), ty.clone().list(), at);
        // Where the type of the keys is known the overload is, and what it costs is counted.
        let keys = match is_static(ty) {
            true => self.dynamic_node(Operation::Counted(true), vec![keys], ty.clone().list(), at),
            false => keys,
        };
        let rows = self.functions("@sortByAssociatedKeys", true);
        let sorted = self.dynamic_node(Operation::Call(rows.into()), vec![read, keys], result.clone(), span);
        let made = Macro {
            kind: MacroKind::Bind,
            over: object,
            slot: list,
            second: None,
            condition: None,
            body: Some(sorted),
        };
        self.make(ExprKind::Macro(Box::new(made)), result, span)
    }

    /// Whether reading the variable of a macro makes another optional of it.
    fn is_made_anew(&self, types: &[Type], slot: SlotId) -> bool {
        let is_key = types.len() > 1
            && self.declared.slots.get(slot.index()).is_some_and(|slot| slot.ty == Type::String);
        !is_key
            && !self.has_row(Row::Optionals)
            && types.iter().any(|ty| matches!(ty, Type::Dyn | Type::CelOptional(_)))
    }

    /// The types of the variables, and the object as something that the macro can go over.
    fn cel_variable_types(
        &mut self,
        is_optional: bool,
        variables: usize,
        object: Expr,
        ty: &Type,
    ) -> Option<(Vec<Type>, Expr)> {
        let span = object.span;
        if is_optional {
            let held = match ty {
                Type::CelOptional(held) if self.cel.doubts.any() => {
                    let held = (**held).clone();
                    let object = self.dynamic_node(Operation::Optional, vec![object], ty.clone(), span);
                    return Some((vec![held], object));
                }
                Type::CelOptional(held) => (**held).clone(),
                Type::Dyn | Type::Variable(_) => {
                    let object = self.dynamic_node(Operation::Optional, vec![object], Type::Dyn, span);
                    // The result of `value()`, of which nothing is known.
                    return Some((vec![self.cel.inference.fresh()], object));
                }
                other => {
                    let message = format!("this macro is for optionals, this is `{}`", self.shown(other));
                    self.mistake(&codes::TYPE_MISMATCH, span, message, "");
                    return None;
                }
            };
            return Some((vec![held], object));
        }
        let types = match ty {
            Type::List(_) | Type::Map(..) if self.cel.doubts.any() => {
                let (object, types) = (Expr { ty: ty.clone(), ..object }, variables_of(ty, variables));
                let object = self.dynamic_node(Operation::Iterable, vec![object], ty.clone(), span);
                return Some((types, object));
            }
            Type::List(_) | Type::Set(_) => variables_of(ty, variables),
            Type::Map(..) => variables_of(ty, variables),
            Type::Resources if variables == 1 => vec![Type::String],
            Type::Dyn | Type::Variable(_) => {
                self.cel.inference.assign(&Type::Dyn, ty);
                let object = self.dynamic_node(Operation::Iterable, vec![object], Type::Dyn, span);
                return Some((vec![Type::Dyn, Type::Dyn], object));
            }
            other => {
                let message = format!("a macro goes over a list or a map, this is `{}`", self.shown(other));
                self.mistake(&codes::TYPE_MISMATCH, span, message, "");
                return None;
            }
        };
        Some((types, Expr { ty: ty.clone(), ..object }))
    }

    fn cel_declare(&mut self, declared: &[(ast::Text, Span)], types: &[Type]) -> Vec<SlotId> {
        let mut slots = Vec::with_capacity(2);
        for (at, (name, span)) in declared.iter().enumerate() {
            let ty = types.get(at).cloned().unwrap_or(Type::Dyn);
            let range = match (&ty, declared.len()) {
                (Type::Int, 2) if at == 0 => Range::whole(0, i128::from(i32::MAX)),
                (Type::Float, _) => Range::None,
                _ => super::super::expr::type_range(&ty),
            };
            slots.push(self.cel_variable(name, *span, ty, range));
        }
        let doubted = self.cel.doubts.any() || types.iter().any(is_open);
        if doubted {
            slots.iter().for_each(|slot| self.cel.doubts.doubt_slot(*slot));
        }
        slots
    }

    /// A variable that is given when the expression is evaluated.
    pub(in crate::check) fn cel_binding(&mut self, name: &ast::Text, ty: Type) {
        let range = if has_float(&ty) { Range::None } else { super::super::expr::type_range(&ty) };
        self.cel_variable(name, Span::default(), ty, range);
        self.cel.bindings = self.declared.slots.len();
    }

    fn cel_variable(&mut self, name: &ast::Text, span: Span, ty: Type, range: Range) -> SlotId {
        let slot = self.new_slot(name.clone(), ty, span);
        let kind = LocalKind::Slot(slot, range);
        self.frame.locals.push(Local { name: name.clone(), span, kind, used: false });
        slot
    }

    fn cel_macro_result(
        &mut self,
        kind: MacroKind,
        is_open: bool,
        types: &[Type],
        body: &Type,
        expr: Option<&Expr>,
        span: Span,
    ) -> Option<Type> {
        let first = types.first().cloned().unwrap_or(Type::Dyn);
        let at = expr.map_or(span, |expr| expr.span);
        Some(match kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => Type::Bool,
            MacroKind::Count => Type::Int,
            MacroKind::Sum if body.is_numeric() || *body == Type::Resources => body.clone(),
            MacroKind::Min | MacroKind::Max
                if body.is_ordered() || matches!(body, Type::Cel(CelType::Duration | CelType::Timestamp)) =>
            {
                body.clone().optional()
            }
            MacroKind::Sum | MacroKind::Min | MacroKind::Max => {
                let message = format!("`{}` cannot be summed or put in order", super::cel_name(body));
                return self.cel_refused(at, message);
            }
            MacroKind::First => first.optional(),
            MacroKind::Filter => first.list(),
            MacroKind::Map => body.clone().list(),
            MacroKind::TransformMap => Type::Map(Arc::new(first), Arc::new(body.clone())),
            MacroKind::TransformMapEntry => match body {
                Type::Map(..) => body.clone(),
                Type::Dyn => {
                    Type::Map(Arc::new(self.cel.inference.fresh()), Arc::new(self.cel.inference.fresh()))
                }
                other => {
                    let message =
                        format!("the value of an entry is a map, this is `{}`", super::cel_name(other));
                    return self.cel_refused(at, message);
                }
            },
            MacroKind::SortBy => {
                let ordered = matches!(
                    body,
                    Type::Int
                        | Type::Uint
                        | Type::Float
                        | Type::Bool
                        | Type::String
                        | Type::Blob
                        | Type::Cel(_)
                        | Type::Dyn
                        | Type::Variable(_)
                );
                if !ordered {
                    return self
                        .cel_refused(at, format!("`{}` cannot be put in order", super::cel_name(body)));
                }
                // Keys of any type fit several overloads, of which each gives a list of its own type.
                match (is_open, body) {
                    (true, Type::Dyn | Type::Variable(_)) => Type::Dyn,
                    (true, _) => {
                        self.cel.doubts.doubt();
                        self.cel.inference.fresh().list()
                    }
                    _ => first.list(),
                }
            }
            MacroKind::OptMap => Type::CelOptional(Arc::new(body.clone())),
            MacroKind::OptFlatMap => {
                let none = Type::CelOptional(Arc::new(self.cel.inference.fresh()));
                if !self.cel.inference.assign(body, &none) {
                    let message = format!(
                        "`optFlatMap` makes an optional, this is `{}`; `optMap` is for a plain value",
                        self.shown(body)
                    );
                    return self.cel_refused(at, message);
                }
                match body {
                    Type::Dyn => Type::Dyn,
                    _ => self.cel.inference.resolve(&none),
                }
            }
            _ => Type::Dyn,
        })
    }

    /// Reports a body that does not fit.
    fn cel_refused(&mut self, at: Span, message: String) -> Option<Type> {
        self.mistake(&codes::TYPE_MISMATCH, at, message, "");
        None
    }

    /// `cel.bind(name, value, body)`
    fn cel_bind(&mut self, name: &ast::Arg, value: &ast::Arg, body: &ast::Arg, span: Span) -> Expr {
        let Some(text) = variable(&name.value) else {
            let message = "`cel.bind` declares a variable here, this is an expression";
            self.mistake(&codes::SYNTAX, name.value.span, message, "write a plain name");
            return self.unknown(span);
        };
        let value = self.expr(&value.value, None);
        self.bound(text, name.value.span, value, span, |checker| checker.expr(&body.value, None))
    }

    /// An expression in which a name has a value.
    fn bound(
        &mut self,
        name: ast::Text,
        at: Span,
        value: Expr,
        span: Span,
        body: impl FnOnce(&mut Self) -> Expr,
    ) -> Expr {
        if value.ty.is_unknown() {
            return self.unknown(span);
        }
        let ty = self.ty(&value);
        if self.reads_a_type(&name, &ty, at) && self.named_by_variable(&name, at).ty.is_unknown() {
            return self.unknown(span);
        }
        let range = if has_float(&ty) || !is_static(&ty) { Range::None } else { value.range };
        let locals = self.frame.locals.len();
        let doubted = self.cel.doubts.any() || is_open(&ty) || can_fail(&value);
        let slot = self.cel_variable(&name, at, ty, range);
        if doubted {
            self.cel.doubts.doubt_slot(slot);
        }
        let body = body(self);
        self.frame.locals.truncate(locals);
        if body.ty.is_unknown() {
            return self.unknown(span);
        }
        let (ty, range) = (self.ty(&body), body.range);
        let made = Macro {
            kind: MacroKind::Bind,
            over: value,
            slot,
            second: None,
            condition: None,
            body: Some(body),
        };
        self.with_range(ExprKind::Macro(Box::new(made)), ty, range, span)
    }
}

/// What the variables of a macro stand for.
fn variables_of(over: &Type, variables: usize) -> Vec<Type> {
    match over {
        Type::List(of) | Type::Set(of) if variables == 2 => vec![Type::Int, (**of).clone()],
        Type::List(of) | Type::Set(of) => vec![(**of).clone()],
        Type::Map(key, value) => vec![(**key).clone(), (**value).clone()],
        _ => vec![Type::Dyn, Type::Dyn],
    }
}
