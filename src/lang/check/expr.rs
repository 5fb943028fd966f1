//! Expressions: literals, choices, and values that may be absent. Fields and indices are in `fields.rs`.

use super::Checker;
use super::dialect::ExprLanguage;
use crate::language::fields::Meaning;
use crate::language::functions::{Conversion, FunctionDef, Presence};
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, Literal};
use crate::typed::{Expr, ExprKind, LetId, Root};
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use crate::types::{ComputedName, Ty, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// The range of a constant.
pub(super) fn constant_range(value: &Constant, ty: &Type) -> Range {
    match value {
        Value::Int(value) => Range::int(*value),
        Value::Float(value) => Range::real(*value, *value),
        Value::Uint(value) => Range::whole(i128::from(*value), i128::from(*value)),
        _ => type_range(ty),
    }
}

/// All values of a type; [`Type::Resources`] requests amounts in `resources`.
pub(super) fn type_range(ty: &Type) -> Range {
    match ty.present() {
        Type::Resources => Range::whole(i128::from(i64::MIN), i128::from(i64::MAX)),
        other => Range::of(other),
    }
}

/// What is known of the value that a CEL optional holds where it holds one.
fn held_range(optional: &Expr) -> Range {
    let either = |one: &Expr, other: &Expr| held_range(one).union(held_range(other));
    match &optional.kind {
        ExprKind::Call(function, args, _) => match (function.def().presence, args.as_slice()) {
            (
                Some(Presence::Wraps | Presence::Catches | Presence::Holds | Presence::HoldsNonZero),
                [held],
            ) => held.range,
            (Some(Presence::Or), [one, other]) => either(one, other),
            _ => Range::None,
        },
        ExprKind::Conditional(_, one, other) => either(one, other),
        _ => Range::None,
    }
}

/// The range of the type of a call, with what is known of the CEL optional if the call takes what that holds.
pub(super) fn with_held(of_type: Range, function: &FunctionDef, args: &[Expr]) -> Range {
    let held = match (function.presence, args) {
        (Some(Presence::Takes), [optional]) => held_range(optional),
        (Some(Presence::TakesOr), [optional, otherwise]) => held_range(optional).union(otherwise.range),
        _ => Range::None,
    };
    let known = held != Range::None && of_type != Range::None;
    if known { of_type.intersect(held) } else { of_type }
}

/// The type of a table row, without variables.
pub(super) fn plain_type(ty: &Ty) -> Type {
    match ty {
        Ty::Bool => Type::Bool,
        Ty::Int => Type::Int,
        Ty::Uint => Type::Uint,
        Ty::Float => Type::Float,
        Ty::String => Type::String,
        Ty::Blob => Type::Blob,
        Ty::Null => Type::Null,
        Ty::Cpu => Type::Cpu,
        Ty::Bytes => Type::Bytes,
        Ty::Duration => Type::Duration,
        Ty::Count => Type::Count,
        Ty::Amount => Type::Amount(ComputedName::any()),
        Ty::Time => Type::Time,
        Ty::Resources => Type::Resources,
        Ty::Dyn => Type::Dyn,
        Ty::TypeName => Type::TypeName,
        Ty::Quantity => Type::Quantity,
        Ty::CelOptional(t) => Type::CelOptional(Arc::new(plain_type(t))),
        Ty::Cel(of) => Type::Cel(*of),
        Ty::Object(object) => Type::Object(*object),
        Ty::Api(_) => Type::Dyn,
        Ty::List(t) => plain_type(t).list(),
        Ty::Map(k, v) => Type::Map(Arc::new(plain_type(k)), Arc::new(plain_type(v))),
        Ty::Optional(t) => plain_type(t).optional(),
        Ty::Var(_) | Ty::Number(_) | Ty::Ordered(_) => Type::Unknown,
    }
}

/// The unit of a resource, by its name.
pub(super) fn resource_type(name: &str) -> Type {
    match name {
        "cpu" => Type::Cpu,
        "memory" | "ephemeral-storage" => Type::Bytes,
        _ if name.starts_with("hugepages-") => Type::Bytes,
        _ => Type::Count,
    }
}

impl Checker<'_> {
    /// An expression. `wanted` helps literals to their type; it is not a requirement.
    pub(super) fn expr(&mut self, of: &ast::Expr, wanted: Option<&Type>) -> Expr {
        if !self.budget.checks.spend(1) {
            self.incomplete = true;
            return self.unknown(of.span);
        }
        if self.dialect != ExprLanguage::Policy {
            return self.cel_expr(of);
        }
        match &of.kind {
            ast::ExprKind::Literal(literal) => self.literal(literal, of.span),
            ast::ExprKind::Name(name) => self.name(name, of.span),
            ast::ExprKind::Paren(inner) => {
                let mut expr = self.expr(inner, wanted);
                expr.span = of.span;
                expr
            }
            ast::ExprKind::Call(call) => self.call(call, of.span, wanted),
            ast::ExprKind::Method(call) => self.method(call, of.span),
            ast::ExprKind::Field(access) => self.field(access, of.span),
            ast::ExprKind::Index(access) => self.index(access, of.span),
            ast::ExprKind::Unary(unary) => self.unary(unary, of.span),
            ast::ExprKind::Binary(binary) => self.binary(binary, of.span, wanted),
            ast::ExprKind::Conditional(conditional) => self.conditional(conditional, of.span, wanted),
            ast::ExprKind::List(elements) => self.list(elements, of.span, wanted),
            ast::ExprKind::Map(entries) => self.map(entries, of.span, wanted),
        }
    }

    /// An expression that must have a value.
    pub(super) fn present_expr(&mut self, of: &ast::Expr, wanted: Option<&Type>) -> Expr {
        let expr = self.expr(of, wanted);
        self.value(expr)
    }

    /// A condition.
    pub(super) fn condition(&mut self, of: &ast::Expr) -> Expr {
        let expr = self.expr(of, Some(&Type::Bool));
        self.truth(expr)
    }

    /// A value that must be true or false.
    pub(super) fn truth(&mut self, expr: Expr) -> Expr {
        if self.dialect != ExprLanguage::Policy {
            return self.cel_truth(expr);
        }
        if expr.ty.is_unknown() || expr.ty == Type::Bool {
            return expr;
        }
        if *expr.ty.present() == Type::Bool {
            return self.value(expr);
        }
        let text = self.excerpt(expr.span);
        let help = match expr.ty.present() {
            _ if expr.ty.is_optional() => format!("whether it is there: `has({text})`"),
            ty if ty.is_numeric() => format!("compare it: `{text} > 0`"),
            Type::List(_) | Type::Map(..) => format!("whether it has elements: `{text}.size() > 0`"),
            Type::String => format!("compare it: `{text} == \"…\"`"),
            _ => String::new(),
        };
        self.mistake(
            &codes::NOT_A_CONDITION,
            expr.span,
            format!("a condition is true or false, this is `{}`", expr.ty),
            help,
        );
        self.unknown(expr.span)
    }

    pub(super) fn literal(&mut self, literal: &Literal, span: Span) -> Expr {
        let (value, ty) = match literal {
            Literal::Bool(truth) => (Value::Bool(*truth), Type::Bool),
            Literal::Int(value) => (Value::Int(*value), Type::Int),
            Literal::Uint(value) => (Value::Uint(*value), Type::Uint),
            Literal::Float(value) | Literal::Share(value) => (Value::Float(*value), Type::Float),
            Literal::Cpu(value) => (Value::Int(*value), Type::Cpu),
            Literal::Bytes(value) => (Value::Int(*value), Type::Bytes),
            Literal::Duration(microseconds) => (Value::Int(*microseconds), Type::Duration),
            Literal::String(text) => (Value::text(text.clone()), Type::String),
            Literal::Blob(bytes) => (Value::Blob(bytes.clone()), Type::Blob),
            Literal::Null => (Value::Null, Type::Null),
            Literal::None => (Value::Absent, Type::Never.optional()),
        };
        let range = constant_range(&value, &ty);
        self.with_range(ExprKind::Constant(value), ty, range, span)
    }

    fn list(&mut self, elements: &[ast::Element], span: Span, wanted: Option<&Type>) -> Expr {
        let wanted_element = match wanted.map(Type::present) {
            Some(Type::List(element) | Type::Set(element)) => Some((**element).clone()),
            _ => None,
        };
        let mut ty = Type::Never;
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let mut item = self.expr(&element.value, wanted_element.as_ref());
            if element.optional {
                item = self.held(item).0;
            }
            if let Some(wanted) = &wanted_element
                && !element.optional
            {
                item = self.coerce(item, wanted).unwrap_or_else(|item| item);
            }
            let own = if element.optional { item.ty.present().clone() } else { item.ty.clone() };
            if own.is_unknown() {
                return self.unknown(span);
            }
            match self.join(&ty, &own) {
                Some(joined) => ty = joined,
                None => {
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        item.span,
                        format!("the list has `{ty}` before this `{own}`"),
                        "the elements of a list have one type",
                    );
                    return self.unknown(span);
                }
            }
            items.push((item, element.optional));
        }
        let items = items
            .into_iter()
            .map(|(item, optional)| {
                let wanted =
                    if optional && item.ty.is_optional() { ty.clone().optional() } else { ty.clone() };
                let item = self.coerce(item, &wanted).unwrap_or_else(|item| item);
                (item, optional)
            })
            .collect();
        self.make(ExprKind::List(items), ty.list(), span)
    }

    fn map(&mut self, entries: &[ast::Entry], span: Span, wanted: Option<&Type>) -> Expr {
        let wanted = wanted.map(|wanted| wanted.present().clone());
        let (mut key_type, mut value_type) = (Type::Never, Type::Never);
        let mut made = Vec::with_capacity(entries.len());
        let mut uneven: Option<(Span, Type, Type)> = None;
        for entry in entries {
            let key = self.present_expr(&entry.key, None);
            let name = self.constant_str(&key);
            let wanted_value = match (&wanted, &name) {
                (Some(Type::Map(_, value)), _) => Some((**value).clone()),
                (Some(Type::Record(record)), Some(name)) => {
                    record.fields.iter().find(|(field, _)| field == name).map(|(_, ty)| ty.clone())
                }
                (Some(Type::Resources), Some(name)) => Some(resource_type(name)),
                _ => None,
            };
            let mut value = self.expr(&entry.value, wanted_value.as_ref());
            if entry.optional {
                value = self.held(value).0;
            }
            if let Some(wanted) = &wanted_value {
                value = self.coerce(value, wanted).unwrap_or_else(|value| value);
            }
            if key.ty.is_unknown() || value.ty.is_unknown() {
                return self.unknown(span);
            }
            let own = if entry.optional { value.ty.present().clone() } else { value.ty.clone() };
            match (self.join(&key_type, &key.ty), self.join(&value_type, &own)) {
                (Some(key), Some(value)) => (key_type, value_type) = (key, value),
                (Some(_), None) => uneven = Some((value.span, value_type.clone(), own)),
                (None, _) => uneven = Some((key.span, key_type.clone(), key.ty.clone())),
            }
            made.push((key, value, entry.optional));
        }
        let ty = Type::Map(Arc::new(key_type), Arc::new(value_type));
        let expr = self.make(ExprKind::Map(made), ty, span);
        match (&wanted, uneven) {
            (Some(wanted @ (Type::Record(_) | Type::Resources)), uneven) => match self.coerce(expr, wanted) {
                Ok(expr) => expr,
                Err(expr) if uneven.is_none() => expr,
                Err(_) => {
                    self.mistake(&codes::TYPE_MISMATCH, span, format!("this does not fit `{wanted}`"), "");
                    self.unknown(span)
                }
            },
            (_, Some((span, before, own))) => {
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    span,
                    format!("the map has `{before}` before this `{own}`"),
                    "the values of a map have one type, and so have its keys",
                );
                self.unknown(span)
            }
            _ => expr,
        }
    }

    fn conditional(&mut self, of: &ast::Conditional, span: Span, wanted: Option<&Type>) -> Expr {
        let condition = self.condition(&of.condition);
        let mark = self.frame.facts.mark();
        self.assume(&condition, true);
        let then = self.expr(&of.then, wanted);
        self.frame.facts.forget(mark);
        self.assume(&condition, false);
        let otherwise = self.expr(&of.otherwise, wanted);
        self.frame.facts.forget(mark);
        if then.ty.is_unknown() || otherwise.ty.is_unknown() || condition.ty.is_unknown() {
            return self.unknown(span);
        }
        let Some((then, otherwise, ty)) = self.same_type(then, otherwise) else {
            return self.unknown(span);
        };
        let range = then.range.union(otherwise.range);
        let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
        let expr = self.with_range(kind, ty, range, span);
        self.narrowed(expr)
    }

    /// Two values that one of them is chosen from: both in one type. Says it if there is none.
    pub(super) fn same_type(&mut self, a: Expr, b: Expr) -> Option<(Expr, Expr, Type)> {
        let ty = match self.join(a.ty.present(), b.ty.present()) {
            Some(ty) => ty,
            // A literal 0 takes the other's unit.
            None => match (self.coerce(a.clone(), b.ty.present()), self.coerce(b.clone(), a.ty.present())) {
                (Ok(_), _) => b.ty.present().clone(),
                (_, Ok(_)) => a.ty.present().clone(),
                _ => {
                    self.two_types(&a, &b, "choose between");
                    return None;
                }
            },
        };
        let fit = |this: &Self, expr: Expr| -> Expr {
            let wanted = if expr.ty.is_optional() { ty.clone().optional() } else { ty.clone() };
            this.coerce(expr, &wanted).unwrap_or_else(|expr| expr)
        };
        let optional = a.ty.is_optional() || b.ty.is_optional();
        let (a, b) = (fit(self, a), fit(self, b));
        let ty = if optional { ty.optional() } else { ty };
        Some((a, b, ty))
    }

    // ---- absence

    /// A value where one is wanted; says it if it may be absent.
    pub(super) fn value(&mut self, expr: Expr) -> Expr {
        self.value_in(expr, None)
    }

    /// A value where one is wanted; `example` writes the whole expression with a value in the place of an absent one.
    pub(super) fn value_in(&mut self, mut expr: Expr, example: Option<&dyn Fn(&str) -> String>) -> Expr {
        if !expr.ty.is_optional() {
            return expr;
        }
        let text = self.excerpt(expr.span).to_owned();
        if *expr.ty.present() == Type::Never {
            self.mistake(
                &codes::ABSENT_VALUE,
                expr.span,
                "`none` cannot be used as a value here",
                "compare with `== none`",
            );
            return self.unknown(expr.span);
        }
        let default = default_text(expr.ty.present());
        let (message, look) = self.absent_message(&expr, &text);
        let filled = default.map(|default| format!("({text} ?? {default})"));
        let help = match (filled, look) {
            (Some(filled), Some(look)) => {
                let example = example.map_or_else(|| filled.clone(), |example| example(&filled));
                format!("`{example}`, or `{look}` first")
            }
            (Some(filled), None) => {
                let example = example.map_or_else(|| filled.clone(), |example| example(&filled));
                format!("`{example}`")
            }
            (None, Some(look)) if self.is_of_policy(&expr) => {
                format!(
                    "`{look}` first, or write `missing skip` after the `let`: then the policy does not apply"
                )
            }
            (None, Some(look)) => format!("`{look}` first"),
            (None, None) => "give a default with `??`".to_owned(),
        };
        self.mistake(&codes::ABSENT_VALUE, expr.span, message, help);
        expr.ty = expr.ty.present().clone();
        expr
    }

    /// A let of the policy, which may say what is done when it is absent.
    fn is_of_policy(&self, expr: &Expr) -> bool {
        let of = |id: &LetId| self.declared.lets.get(id.index()).is_some_and(|of| of.of_policy);
        matches!(strip(&expr.kind), ExprKind::Let(id) if of(id))
    }

    /// Why it may be absent, and how to look first.
    fn absent_message(&self, expr: &Expr, text: &str) -> (String, Option<String>) {
        use super::scope::Place;
        let verb = match self.frame.place {
            Place::In(StatementId::Filter) => "require ",
            _ => "",
        };
        let tail = if verb.is_empty() { " && …" } else { "" };
        let look = |path: &str| Some(format!("{verb}has({path}){tail}"));
        match strip(&expr.kind) {
            ExprKind::Index(map, key) => {
                let constant = self.constant_str(key);
                let map_text = self.excerpt(map.span);
                if matches!(map.ty.present(), Type::List(_)) {
                    let message = format!("`{text}` may be absent: the list may be shorter");
                    let at = match self.constant(key) {
                        Some(Value::Int(at)) => at.to_string(),
                        _ => self.excerpt(key.span).to_owned(),
                    };
                    return (message, Some(format!("{verb}size({map_text}) > {at}{tail}")));
                }
                let what = what_of(map);
                match constant {
                    Some(key) => (
                        format!("the {what} `{key}` may be absent"),
                        Some(format!("{verb}\"{key}\" in {map_text}{tail}")),
                    ),
                    None => (format!("`{text}` may be absent"), look(text)),
                }
            }
            ExprKind::Arithmetic(op, _, divisor) => {
                use crate::typed::ArithmeticOp::{Divide, Remainder};
                let divisor = self.excerpt(divisor.span);
                match op {
                    Divide | Remainder => (
                        format!("`{text}` has no value where `{divisor}` is 0"),
                        Some(format!("{verb}{divisor} > 0{tail}")),
                    ),
                    _ => (format!("`{text}` may be absent"), None),
                }
            }
            ExprKind::Call(function, args, _) => {
                let def = function.def();
                let none = match def.conversion() {
                    Some(Conversion::Number) => Some("no number"),
                    Some(Conversion::Duration) => Some("no duration"),
                    Some(Conversion::Time) => Some("no time"),
                    Some(Conversion::Quantity) => Some("no quantity"),
                    Some(Conversion::Other) | None => None,
                };
                let message = match none {
                    Some(none) => {
                        let given = args.first().and_then(|arg| self.constant_str(arg));
                        let day = given.filter(|text| super::comparisons::is_day(text));
                        match args.first().map(|arg| strip(&arg.kind)) {
                            _ if let Some(day) = &day
                                && def.conversion() == Some(Conversion::Time) =>
                            {
                                format!("a day is not a time: write `{}(\"{day}T00:00:00Z\")`", def.name)
                            }
                            Some(ExprKind::Index(map, key)) if let Some(key) = self.constant_str(key) => {
                                let what = what_of(map);
                                format!("`{text}` is absent where the {what} `{key}` is absent or {none}")
                            }
                            _ => format!("`{text}` has no value where the text is {none}"),
                        }
                    }
                    _ if args.iter().any(|arg| matches!(arg.ty.present(), Type::List(_))) => {
                        format!("`{text}` has no value where the list is empty")
                    }
                    _ => format!("`{text}` may have no value"),
                };
                (message, None)
            }
            ExprKind::Macro(_) => (format!("`{text}` has no value for an empty collection"), None),
            ExprKind::Root(Root::Pod) => (format!("`{text}` may be absent"), None),
            _ => (format!("`{text}` may be absent"), look(text)),
        }
    }
}

/// What the entries of a map are called.
fn what_of(map: &Expr) -> &'static str {
    match strip(&map.kind) {
        ExprKind::Field(_, row) => row.def().meaning.and_then(Meaning::entry).unwrap_or("key"),
        _ => "key",
    }
}

/// Without marks that change nothing.
pub(super) fn strip(kind: &ExprKind) -> &ExprKind {
    match kind {
        ExprKind::Present(inner) | ExprKind::Widen(inner) => strip(&inner.kind),
        other => other,
    }
}

/// A default that may be written for a type.
pub(super) fn default_text(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::String => "\"\"",
        Type::Bool => "false",
        Type::List(_) | Type::Set(_) => "[]",
        Type::Map(..) | Type::Resources => "{}",
        Type::Duration => "0s",
        ty if ty.is_numeric() => "0",
        _ => return None,
    })
}
