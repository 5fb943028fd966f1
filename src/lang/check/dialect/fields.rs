//! Fields and indices of CEL: of maps and lists whose types are known by the nodes of the policy language, with a
//! fault where the facts do not prove the element; of anything else by the values.

use super::is_static;
use super::literals::{folded, without_brackets};
use super::names::{is_message_type, qualified};
use super::operators::Overload;
use crate::check::Checker;
use crate::language::environments::Row;
use crate::language::functions::Presence;
use crate::language::macros::{self, FormKind};
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Operation};
use crate::types::value::{Constant, FaultKind, Value};
use crate::types::{CelType, Ty, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

const A: Ty = Ty::Var('a');
const B: Ty = Ty::Var('b');
const LIST: Ty = Ty::List(&A);
const MAP: Ty = Ty::Map(&A, &B);

/// `_[_]`, with its forms for optionals.
const INDEX: &[Overload] = &[
    (&[LIST, Ty::Int], A),
    (&[MAP, A], B),
    (&[Ty::CelOptional(&LIST), Ty::Int], Ty::CelOptional(&A)),
    (&[Ty::CelOptional(&MAP), A], Ty::CelOptional(&B)),
];

/// `_[?_]`
const OPTIONAL_INDEX: &[Overload] = &[
    (&[LIST, Ty::Int], Ty::CelOptional(&A)),
    (&[Ty::CelOptional(&LIST), Ty::Int], Ty::CelOptional(&A)),
    (&[MAP, A], Ty::CelOptional(&B)),
    (&[Ty::CelOptional(&MAP), A], Ty::CelOptional(&B)),
];

/// Whether the fields of a type are those of the policy language.
fn has_fields(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Object(_)
            | Type::Api(_)
            | Type::Record(_)
            | Type::Resources
            | Type::Kind(_)
            | Type::Structure(_)
    )
}

impl Checker<'_> {
    /// The value of an expression that may be absent, or a fault.
    pub(in crate::check) fn demand(&mut self, expr: Expr, kind: FaultKind) -> Expr {
        if expr.ty.is_unknown() {
            return expr;
        }
        let (span, range) = (expr.span, expr.range);
        let expr = match &expr.ty {
            Type::Optional(inner) => {
                let ty = (**inner).clone();
                self.with_range(ExprKind::Dynamic(Operation::Demand(kind), vec![expr]), ty, range, span)
            }
            // A field of an object of which no type is known: it may be absent.
            Type::Dyn if matches!(expr.kind, ExprKind::ApiField(..)) => {
                self.make(ExprKind::Dynamic(Operation::Demand(kind), vec![expr]), Type::Dyn, span)
            }
            _ => expr,
        };
        self.exact(expr)
    }

    /// A value of the cluster in the form that CEL has it in.
    fn exact(&self, expr: Expr) -> Expr {
        let ty = match &expr.ty {
            Type::Duration => Type::Cel(CelType::Duration),
            Type::Time => Type::Cel(CelType::Timestamp),
            _ => return expr,
        };
        let span = expr.span;
        self.make(ExprKind::Dynamic(Operation::Exact(ty.clone()), vec![expr]), ty, span)
    }

    /// What an optional holds, or the type itself.
    fn without_optional(ty: &Type) -> (Type, bool) {
        match ty {
            Type::CelOptional(held) => ((**held).clone(), true),
            other => (other.clone(), false),
        }
    }

    pub(super) fn cel_field(&mut self, whole: &ast::Expr, access: &ast::FieldAccess) -> Expr {
        let span = whole.span;
        if !access.optional
            && let Some(name) = qualified(whole)
            && !name.split('.').next().is_some_and(|root| self.is_local(root))
            && let Some(known) = self.cel_known(&name, span)
        {
            return known;
        }
        if let Some(name) = qualified(whole).filter(|name| is_message_type(name)) {
            let message = format!("`{name}` is unknown: protobuf messages are not supported");
            let help = "of its types only `google.protobuf.Duration` and `google.protobuf.Timestamp` are names; \
                        `duration(…)` and `timestamp(…)` make values, numbers and texts need no wrapper";
            return self.cel_mistake(&codes::UNKNOWN_NAME, span, message, help);
        }
        // `memos.?name`
        if access.optional
            && matches!(&access.object.kind, ast::ExprKind::Name(name) if **name == *"memos")
            && let Some(memo) = self.named_memo(&access.field.text, span)
        {
            let memo = match memo.ty.present() {
                Type::Duration => self.exact_or_absent(memo, CelType::Duration),
                Type::Time => self.exact_or_absent(memo, CelType::Timestamp),
                _ => memo,
            };
            return self.wrapped(memo, span);
        }
        let object = self.expr(&access.object, None);
        let object = self.selected_from(&access.object, object, access.optional);
        self.cel_field_of(object, access, span)
    }

    /// An object of which a field or an element is read. cel-go reads a path in one go: an optional that it begins with
    /// counts for what it holds, made anew; one on the way has no parts.
    fn selected_from(&mut self, written: &ast::Expr, object: Expr, asks: bool) -> Expr {
        if self.has_row(Row::Optionals) {
            return object;
        }
        let is_step = match &without_brackets(written).kind {
            ast::ExprKind::Field(access) => !access.optional,
            ast::ExprKind::Index(access) => !access.optional,
            ast::ExprKind::Name(_) | ast::ExprKind::Conditional(_) => false,
            _ => return self.branch(object, true),
        };
        if !is_step || !self.may_be_optional(&object) {
            return object;
        }
        let (ty, span) = (object.ty.clone(), object.span);
        match object.kind {
            ExprKind::Dynamic(of @ (Operation::Select(..) | Operation::Index), args) => {
                let step = Operation::Step { of: Some(Arc::new(of)), asks };
                self.dynamic_node(step, args, ty, span)
            }
            // An element of a proved type is not selected from an optional.
            ExprKind::Index(..) | ExprKind::Dynamic(Operation::Demand(_), _) => {
                self.dynamic_node(Operation::Step { of: None, asks }, vec![object], ty, span)
            }
            _ => object,
        }
    }

    /// `has(a.f)` where cel-go reads what it found and not whether it did: in a branch of `?:` and as an index. Of an
    /// optional that is an optional.
    pub(super) fn has_as_value(&mut self, written: &ast::Expr, made: Expr) -> Expr {
        let is_has = matches!(
            &without_brackets(written).kind,
            ast::ExprKind::Call(call) if macros::form(&call.function.text) == Some(FormKind::Has)
        );
        let span = made.span;
        match made.kind {
            ExprKind::Dynamic(Operation::HasField(name), args)
                if is_has
                    && !self.has_row(Row::Optionals)
                    && args.iter().all(|object| self.may_be_optional(object)) =>
            {
                self.cel.doubts.doubt();
                self.dynamic_node(Operation::HasValue(name), args, Type::Bool, span)
            }
            kind => Expr { kind, ..made },
        }
    }

    fn may_be_optional(&self, expr: &Expr) -> bool {
        let ty = self.ty(expr);
        matches!(ty, Type::CelOptional(_)) || !is_static(&ty)
    }

    fn cel_field_of(&mut self, object: Expr, access: &ast::FieldAccess, span: Span) -> Expr {
        let ty = self.ty(&object);
        if ty.is_unknown() {
            return self.unknown(span);
        }
        // A field of an object that an optional holds is an optional.
        if let Type::CelOptional(of) = &ty
            && has_fields(of)
        {
            let held = self.held_of(Expr { ty, ..object });
            let field = ast::FieldAccess { optional: false, ..access.clone() };
            let field = self.field_of(held, &field, span);
            return self.wrapped(field, span);
        }
        if let Some(value) = self.of_held_map(&ty, &Type::String) {
            let key = self.text_constant(access.field.text.clone(), access.field.span);
            let held = self.held_of(Expr { ty, ..object });
            let found = self.map_index(held, key, &value, span);
            return self.wrapped(found, span);
        }
        if has_fields(&ty) {
            let object = Expr { ty, ..object };
            let field = ast::FieldAccess { optional: false, ..access.clone() };
            let field = self.field_of(object, &field, span);
            if access.optional {
                let name = ast::Name { text: crate::language::functions::WRAP.into(), span };
                return self.call_function(&name, false, vec![field], span, None);
            }
            return self.demand(field, FaultKind::NoSuchField);
        }
        if let Type::Map(key, value) = &ty
            && **key == Type::String
            && self.is_sure(value)
        {
            let key = self.text_constant(access.field.text.clone(), access.field.span);
            let value = (**value).clone();
            let found = self.map_index(Expr { ty, ..object }, key, &value, span);
            return match access.optional {
                true => self.wrapped(found, span),
                false => self.demand(found, FaultKind::NoSuchKey),
            };
        }
        let (target, held) = Self::without_optional(&ty);
        let field = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Variable(_) => {
                self.cel.inference.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Any => Type::Dyn,
            other => {
                let message = format!("`{}` has no fields", self.shown(other));
                return self.cel_mistake(&codes::UNKNOWN_FIELD, access.field.span, message, "");
            }
        };
        let name = access.field.text.clone();
        let (operation, result) = match (access.optional, held) {
            (true, _) => (Operation::OptionalSelect(name), Type::CelOptional(Arc::new(field))),
            (false, true) => (Operation::Select(name), Type::CelOptional(Arc::new(field))),
            (false, false) => (Operation::Select(name), field),
        };
        self.dynamic_node(operation, vec![object], result, span)
    }

    /// What an optional holds, absent where it is empty: of a field or element that was made one, that itself.
    fn held_of(&mut self, optional: Expr) -> Expr {
        match optional.kind {
            ExprKind::Call(function, mut inner, _)
                if function.def().presence == Some(Presence::Wraps)
                    && inner.len() == 1
                    && self.has_row(Row::Optionals) =>
            {
                inner.remove(0)
            }
            kind => self.held(Expr { kind, ..optional }).0,
        }
    }

    /// The values of a map that an optional holds, whose keys have a type; `None` where types are not known.
    fn of_held_map(&self, ty: &Type, key: &Type) -> Option<Type> {
        let Type::CelOptional(of) = ty else { return None };
        match &**of {
            Type::Map(of, value) if **of == *key && !super::has_float(key) => {
                (self.has_row(Row::Optionals) && self.is_sure(ty)).then(|| (**value).clone())
            }
            _ => None,
        }
    }

    /// `has(a.f)`
    pub(super) fn cel_has(&mut self, call: &ast::Call, span: Span) -> Expr {
        if let [ast::Arg { name: None, value }] = call.args.as_slice()
            && let ast::ExprKind::Name(name) = &value.kind
            && let Some(memo) = self.named_memo(name, value.span)
        {
            return self.make(ExprKind::Has(Box::new(memo)), Type::Bool, span);
        }
        let access = match call.args.as_slice() {
            [ast::Arg { name: None, value }] if let Some(access) = plain_field(value) => access,
            args => {
                let at = args.first().map_or(call.function.span, |arg| arg.value.span);
                let text = self.excerpt(at);
                let help = match args.first().map(|arg| &arg.value.kind) {
                    Some(ast::ExprKind::Index(of)) => {
                        let (map, key) = (self.excerpt(of.object.span), self.excerpt(of.index.span));
                        format!("write `{key} in {map}`")
                    }
                    _ => format!("write `has({text}.field)`"),
                };
                self.mistake(&codes::WRONG_ARGUMENTS, at, "`has` wants a field: `has(a.b)`", help);
                return self.unknown(span);
            }
        };
        let object = self.expr(&access.object, None);
        let object = self.selected_from(&access.object, object, true);
        let ty = self.ty(&object);
        if ty.is_unknown() {
            return self.unknown(span);
        }
        if has_fields(&ty) {
            let field = self.field_of(Expr { ty, ..object }, access, span);
            if field.ty.is_unknown() {
                return field;
            }
            return self.make(ExprKind::Has(Box::new(field)), Type::Bool, span);
        }
        if let Type::Map(key, value) = &ty
            && **key == Type::String
            && self.is_sure(value)
        {
            let key = self.text_constant(access.field.text.clone(), access.field.span);
            let value = (**value).clone();
            let found = self.map_index(Expr { ty, ..object }, key, &value, span);
            return self.make(ExprKind::Has(Box::new(found)), Type::Bool, span);
        }
        let (target, _) = Self::without_optional(&ty);
        match &target {
            Type::Map(..) | Type::Dyn | Type::Any => {}
            Type::Variable(_) => {
                self.cel.inference.assign(&Type::Dyn, &target);
            }
            other => {
                let message = format!("`{}` has no fields", self.shown(other));
                return self.cel_mistake(&codes::UNKNOWN_FIELD, access.field.span, message, "");
            }
        }
        let operation = Operation::HasField(access.field.text.clone());
        self.dynamic_node(operation, vec![object], Type::Bool, span)
    }

    pub(super) fn cel_index(&mut self, access: &ast::IndexAccess, span: Span) -> Expr {
        if let Some(found) = self.ledger_sum(access, span).or_else(|| self.source_of(access, span)) {
            return found;
        }
        let object = self.expr(&access.object, None);
        let object = self.selected_from(&access.object, object, access.optional);
        let index = self.expr(&access.index, None);
        let index = self.has_as_value(&access.index, index);
        let (ty, index_ty) = (self.ty(&object), self.ty(&index));
        if ty.is_unknown() || index_ty.is_unknown() {
            return self.unknown(span);
        }
        // Kubernetes refuses constants that no list or map has elements at.
        let is_index = |value: Constant| {
            matches!(
                value,
                Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::String(_)
            )
        };
        if !folded(&index).is_none_or(is_index) {
            let message = format!("nothing has an element at `{}`", self.excerpt(index.span));
            return self.cel_mistake(&codes::BAD_CONSTANT, index.span, message, "");
        }
        if ty == Type::Resources {
            let index = self.fit(index, &Type::String, "the name of a resource");
            let amount = self.resource(object, index, span, false);
            if access.optional && !amount.ty.is_unknown() {
                return self.wrapped(amount, span);
            }
            return self.demand(amount, FaultKind::NoSuchKey);
        }
        if self.is_sure(&ty)
            && let Some((value, kind)) = match &ty {
                Type::List(of) if index_ty == Type::Int => Some((of, FaultKind::IndexOutOfBounds)),
                Type::Map(key, of) if **key == index_ty && !super::has_float(key) => {
                    Some((of, FaultKind::NoSuchKey))
                }
                _ => None,
            }
        {
            let value = (**value).clone();
            let found = self.map_index(Expr { ty, ..object }, index, &value, span);
            return match access.optional {
                true => self.wrapped(found, span),
                false => self.demand(found, kind),
            };
        }
        if let Some(value) = self.of_held_map(&ty, &index_ty) {
            let held = self.held_of(Expr { ty, ..object });
            let found = self.map_index(held, index, &value, span);
            return self.wrapped(found, span);
        }
        let (overloads, operation) = match access.optional {
            true => (OPTIONAL_INDEX, Operation::OptionalIndex),
            false => (INDEX, Operation::Index),
        };
        let Some(result) = self.operator(overloads, &[object.ty.clone(), index.ty.clone()]) else {
            let message =
                format!("`[ ]` does not take `{}` and `{}`", self.shown(&ty), self.shown(&index_ty));
            return self.cel_mistake(&codes::TYPE_MISMATCH, span, message, "");
        };
        self.dynamic_node(operation, vec![object, index], result, span)
    }
}

/// A field without `?`, in any number of brackets.
fn plain_field(of: &ast::Expr) -> Option<&ast::FieldAccess> {
    match &of.kind {
        ast::ExprKind::Paren(inner) => plain_field(inner),
        ast::ExprKind::Field(access) if !access.optional => Some(access),
        _ => None,
    }
}
