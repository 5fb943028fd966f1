//! Lists and maps of CEL, and what Kubernetes validates of constants: durations, timestamps and patterns that
//! are written in place, and conversions of constants.

use super::inference;
use crate::check::Checker;
use crate::eval::operations;
use crate::language::environments::Row;
use crate::language::functions::{self, Conversion, FunctionDef, FunctionId, Prepared};
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Operation};
use crate::types::value::{Constant, Value};
use crate::types::{Ty, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// Functions whose call with a constant is computed when the expression is compiled, as cel-go does.
impl Checker<'_> {
    pub(super) fn cel_list(&mut self, elements: &[ast::Element], span: Span) -> Expr {
        let mut joined: Option<Type> = None;
        let mut types = Vec::with_capacity(elements.len());
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let item = self.expr(&element.value, None);
            let (item, ty) = if element.optional { self.optional_part(item) } else { self.part(item) };
            if ty.is_unknown() {
                return self.unknown(span);
            }
            joined = Some(self.joined(joined, &ty));
            types.push((ty, item.span));
            items.push((item, element.optional));
        }
        if !self.are_alike(&types, "list") {
            return self.unknown(span);
        }
        let element = joined.unwrap_or_else(|| self.cel.inference.fresh());
        let whole = self.cel.inference.resolve(&element);
        self.doubt_unless_sure(&whole, types.iter().map(|(ty, _)| ty));
        self.make(ExprKind::List(items), element.list(), span)
    }

    /// An element with its type.
    fn part(&self, item: Expr) -> (Expr, Type) {
        let ty = item.ty.clone();
        (item, ty)
    }

    /// What an optional holds, absent where it is empty, with the type of what it holds.
    fn optional_part(&mut self, item: Expr) -> (Expr, Type) {
        let (span, ty) = (item.span, self.ty(&item));
        let held = match ty {
            Type::CelOptional(held) => (*held).clone(),
            Type::Dyn => Type::Dyn,
            Type::Unknown => Type::Unknown,
            other => {
                let message = format!("`?` wants an optional, this is `{}`", self.shown(&other));
                let made = self.cel_mistake(&codes::TYPE_MISMATCH, span, message, "remove the `?`");
                let ty = made.ty.clone();
                return (made, ty);
            }
        };
        let made = self.dynamic_node(Operation::Held, vec![item], held.clone(), span);
        (made, held)
    }

    /// The type of elements so far and of one more.
    fn joined(&mut self, known: Option<Type>, next: &Type) -> Type {
        let Some(known) = known else { return next.clone() };
        match self.cel.inference.assign(&known, next) {
            true => inference::most_general(&known, next),
            false => Type::Dyn,
        }
    }

    fn uneven(&mut self, what: &str, known: &Type, next: &Type, span: Span) {
        let message = format!("the {what} has `{}` before this `{}`", self.shown(known), self.shown(next));
        self.mistake(
            &codes::TYPE_MISMATCH,
            span,
            message,
            "all have one type; `dyn(…)` around each takes any",
        );
    }

    /// Kubernetes wants the same type of all elements; `dyn` beside another type is none.
    fn are_alike(&mut self, types: &[(Type, Span)], what: &str) -> bool {
        if self.cel.formatting > 0 {
            return true;
        }
        let Some((first, rest)) = types.split_first() else { return true };
        let first = self.cel.inference.resolve(&first.0);
        for (ty, span) in rest {
            let ty = self.cel.inference.resolve(ty);
            if !is_equivalent(&first, &ty) {
                self.uneven(what, &first, &ty, *span);
                return false;
            }
        }
        true
    }

    pub(super) fn cel_map(&mut self, entries: &[ast::Entry], span: Span) -> Expr {
        let (mut key_type, mut value_type): (Option<Type>, Option<Type>) = (None, None);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let mut made = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = self.expr(&entry.key, None);
            let key_ty = self.ty(&key);
            let value = self.expr(&entry.value, None);
            let (value, value_ty) = if entry.optional { self.optional_part(value) } else { self.part(value) };
            if key_ty.is_unknown() || value_ty.is_unknown() {
                return self.unknown(span);
            }
            key_type = Some(self.joined(key_type, &key_ty));
            value_type = Some(self.joined(value_type, &value_ty));
            keys.push((key_ty, key.span));
            values.push((value_ty, value.span));
            made.push((key, value, entry.optional));
        }
        if !self.are_alike(&keys, "map") || !self.are_alike(&values, "map") {
            return self.unknown(span);
        }
        let key = key_type.unwrap_or_else(|| self.cel.inference.fresh());
        let value = value_type.unwrap_or_else(|| self.cel.inference.fresh());
        let (whole_key, whole_value) = (self.cel.inference.resolve(&key), self.cel.inference.resolve(&value));
        self.doubt_unless_sure(&whole_key, keys.iter().map(|(ty, _)| ty));
        self.doubt_unless_sure(&whole_value, values.iter().map(|(ty, _)| ty));
        let ty = Type::Map(Arc::new(key), Arc::new(value));
        let optional = made.iter().any(|(_, _, optional)| *optional);
        if !optional && are_plain_keys(&made) {
            return self.make(ExprKind::Map(made), ty, span);
        }
        let optional: Arc<[bool]> = made.iter().map(|(_, _, optional)| *optional).collect();
        let parts = made.into_iter().flat_map(|(key, value, _)| [key, value]).collect();
        self.dynamic_node(Operation::Map(optional), parts, ty, span)
    }

    /// The value of an expression that is made of constants; `None` where it is a fault.
    pub(super) fn constant_of_cel(&self, expr: &Expr) -> Option<Constant> {
        match &expr.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            ExprKind::Dynamic(Operation::Demand(_), inner) => {
                inner.first().and_then(|inner| self.constant_of_cel(inner))
            }
            _ => self.constant(expr).filter(|value| !value.is_fault() && !value.is_absent()),
        }
    }

    /// What Kubernetes validates of a call with constants. `Err` after a report.
    pub(super) fn validated(
        &mut self,
        rows: &[FunctionId],
        written: &[ast::Arg],
        expr: Expr,
    ) -> Result<Expr, Expr> {
        let span = expr.span;
        let Some(def) = rows.first().map(|row| row.def()) else { return Ok(expr) };
        if !self.has_patterns(def, written, &expr) {
            return Err(self.unknown(span));
        }
        // Kubernetes does not validate quantities; in a policy such a rule would never have a value.
        let is_quantity = def.conversion() == Some(Conversion::Quantity);
        let validates = def.converts && (!is_quantity || self.has_row(Row::ConstantQuantities));
        let (Some([part]), true) = (call_arguments(&expr), validates) else { return Ok(expr) };
        let Some(constant) = folded(part) else { return Ok(expr) };
        let value = operations::operate(&Operation::Call(rows.into()), [constant].into_iter().collect());
        match value {
            value if value.is_fault() || value.is_absent() => {
                let at = part.span;
                let why = match value.as_fault() {
                    _ if is_quantity => format!("{} is not a quantity", self.excerpt(at)),
                    Some(fault) => fault.message.to_string(),
                    None => format!("`{}` has no value", self.excerpt(span)),
                };
                self.no_value(def, part, (&codes::BAD_CONSTANT, at, why), String::new());
                Err(self.unknown(span))
            }
            _ if is_quantity => Ok(expr),
            value => {
                let range = super::super::expr::constant_range(&value, &expr.ty);
                Ok(Expr { kind: ExprKind::Constant(value), range, ..expr })
            }
        }
    }

    /// Whether the constant patterns of a call are patterns. The first argument that is written in `matches`, which
    /// gives a bool, counts as one where it is a literal, as in Kubernetes, also where it is the text.
    fn has_patterns(&mut self, def: &FunctionDef, written: &[ast::Arg], expr: &Expr) -> bool {
        if !def.matches_pattern() {
            return true;
        }
        let mut patterns: Vec<(ast::Text, Span)> = Vec::new();
        if let (Some(first), Ty::Bool) = (written.first(), &def.result)
            && let ast::ExprKind::Literal(ast::Literal::String(text)) = &without_brackets(&first.value).kind
        {
            patterns.push((text.clone(), first.value.span));
        }
        if let Some([_, pattern, ..]) = call_arguments(expr)
            && let ExprKind::Constant(value) = &pattern.kind
            && let Some(text) = value.as_str()
        {
            patterns.push((ast::Text::from(text), pattern.span));
        }
        let known = is_prepared(expr);
        for (text, at) in patterns {
            let budget = &self.budget.patterns;
            let compiled = match self.has_row(Row::Patterns) {
                false => functions::Pattern::compile_large(&text),
                // The text is refused for its patterns, of which this one is not compiled.
                true if budget.is_exceeded() => return true,
                true => functions::Pattern::compile(&text),
            };
            match compiled {
                Err(error) => {
                    let message = format!("the pattern does not compile: {}", error.why);
                    self.mistake(&codes::BAD_CONSTANT, at, message, "");
                    return false;
                }
                Ok(_) if known || !self.has_row(Row::Patterns) => {}
                Ok(pattern) => {
                    let before = budget.spent();
                    budget.spend(Prepared::Pattern(Arc::new(pattern)).bytes());
                    budget.note(before, at);
                }
            }
        }
        true
    }
}

/// The value of an expression that cel-go computes when it compiles: a constant, or a list or map of constants.
pub(super) fn folded(expr: &Expr) -> Option<Constant> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value.clone()),
        ExprKind::List(items) => {
            let items: Option<Vec<Constant>> =
                items.iter().map(|(item, optional)| folded(item).filter(|_| !optional)).collect();
            items.map(Value::list)
        }
        ExprKind::Map(entries) => {
            let entries: Option<Vec<(Constant, Constant)>> = entries
                .iter()
                .map(|(key, value, optional)| Some((folded(key)?, folded(value).filter(|_| !optional)?)))
                .collect();
            entries.map(Value::map)
        }
        ExprKind::Dynamic(operation @ Operation::Map(optional), parts) if !optional.contains(&true) => {
            let parts: Option<operations::Operands<'static>> = parts.iter().map(folded).collect();
            parts.map(|parts| operations::operate(operation, parts)).filter(|made| !made.is_fault())
        }
        _ => None,
    }
}

/// An expression without the brackets around it.
pub(super) fn without_brackets(of: &ast::Expr) -> &ast::Expr {
    match &of.kind {
        ast::ExprKind::Paren(inner) => without_brackets(inner),
        _ => of,
    }
}

/// The arguments of a call, also of one whose outcome is demanded.
pub(in crate::check) fn call_arguments(expr: &Expr) -> Option<&[Expr]> {
    match &expr.kind {
        ExprKind::Call(_, args, _) | ExprKind::Dynamic(Operation::Call(_), args) => Some(args),
        ExprKind::Dynamic(Operation::Demand(_), inner) => inner.first().and_then(call_arguments),
        _ => None,
    }
}

/// Whether the pattern of a call is compiled, and counted, already.
fn is_prepared(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(_, _, prepared) => matches!(**prepared, Prepared::Pattern(_)),
        ExprKind::Dynamic(Operation::Demand(_), inner) => inner.first().is_some_and(is_prepared),
        _ => false,
    }
}

/// Whether two types are the same but for the numbers of variables.
fn is_equivalent(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Variable(_), Type::Variable(_)) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) => is_equivalent(a, b),
        (Type::CelOptional(a), Type::CelOptional(b)) | (Type::TypeOf(a), Type::TypeOf(b)) => {
            is_equivalent(a, b)
        }
        (Type::Map(a, b), Type::Map(c, d)) => is_equivalent(a, c) && is_equivalent(b, d),
        (left, right) => left == right,
    }
}

/// Whether the policy language has keys of this type.
fn are_plain_keys(entries: &[(Expr, Expr, bool)]) -> bool {
    entries.iter().all(|(key, _, _)| matches!(key.ty, Type::String | Type::Int | Type::Uint | Type::Bool))
}
