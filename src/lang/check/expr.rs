//! Expressions: literals, names, fields and indices, one function a kind.

use super::Checker;
use super::types::nearest;
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::ast::{self, Literal, Text};
use crate::lang::range::Range;
use crate::lang::schema::{self, ObjectType};
use crate::lang::typed::{Expr, ExprKind, Root};
use crate::lang::types::{Ty, Type};
use crate::lang::value::{Constant, Value};
use std::sync::Arc;

/// Fields of the language that are not built.
const FIELDS_NOT_BUILT: [(ObjectType, &str); 3] =
    [(ObjectType::Pod, "gpu"), (ObjectType::Node, "gpus"), (ObjectType::Container, "status")];

/// The range of a constant.
pub(super) fn constant_range(value: &Constant, ty: &Type) -> Range {
    match value {
        Value::Int(value) => Range::int(*value),
        Value::Float(value) => Range::real(*value, *value),
        Value::Uint(value) => Range::whole(i128::from(*value), i128::from(*value)),
        _ => type_range(ty),
    }
}

/// All values of a type; amounts in `resources` are asked for by [`Type::Resources`].
pub(super) fn type_range(ty: &Type) -> Range {
    match ty.present() {
        Type::Resources => Range::whole(i128::from(i64::MIN), i128::from(i64::MAX)),
        other => Range::of(other),
    }
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
        Ty::Amount => Type::Amount(Arc::from("")),
        Ty::Time => Type::Time,
        Ty::Resources => Type::Resources,
        Ty::Dyn => Type::Dyn,
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

/// Whether Kubernetes can have a resource of this name.
fn is_resource_name(name: &str) -> bool {
    name.contains('/')
        || matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods" | "storage")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

impl Checker<'_> {
    /// An expression. `wanted` helps literals to their type; it is no demand.
    pub(super) fn expr(&mut self, of: &ast::Expr, wanted: Option<&Type>) -> Expr {
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

    fn literal(&mut self, literal: &Literal, span: Span) -> Expr {
        let (value, ty) = match literal {
            Literal::Bool(truth) => (Value::Bool(*truth), Type::Bool),
            Literal::Int(value) => (Value::Int(*value), Type::Int),
            Literal::Uint(value) => (Value::Uint(*value), Type::Uint),
            Literal::Float(value) | Literal::Share(value) => (Value::Float(*value), Type::Float),
            Literal::Cpu(value) => (Value::Int(*value), Type::Cpu),
            Literal::Bytes(value) => (Value::Int(*value), Type::Bytes),
            Literal::Duration(nanoseconds) => (Value::Int(nanoseconds / 1000), Type::Duration),
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
                let item = if optional { item } else { self.coerce(item, &ty).unwrap_or_else(|item| item) };
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
        self.with_range(kind, ty, range, span)
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

    // ---- fields and indices

    fn field(&mut self, access: &ast::FieldAccess, span: Span) -> Expr {
        if access.optional {
            self.not_built(span, "CEL's optional field `.?`");
            return self.unknown(span);
        }
        let object = self.expr(&access.object, None);
        if object.ty.is_unknown() {
            return self.unknown(span);
        }
        let name = &access.field;
        let optional = object.ty.is_optional();
        match object.ty.present().clone() {
            Type::Object(owner) => self.object_field(object, owner, name, span),
            Type::Api(api) => match schema::api::field(api, &name.text) {
                Some((ty, range)) => self.api_field(object, name, ty, range, span),
                None => {
                    let known = schema::api::fields(api);
                    let what = schema::api::name(api).to_owned();
                    self.unknown_field(&what, name, known);
                    self.unknown(span)
                }
            },
            Type::Resources => {
                let key = self.text_constant(name.text.clone(), name.span);
                self.resource(object, key, span, true)
            }
            Type::Map(key, value) => {
                if *key != Type::String && *key != Type::Never {
                    self.mistake(
                        &codes::TYPE_MISMATCH,
                        name.span,
                        format!("keys of this map are `{key}`"),
                        "write the key in brackets",
                    );
                    return self.unknown(span);
                }
                let key = self.text_constant(name.text.clone(), name.span);
                self.map_index(object, key, &value, span)
            }
            Type::Record(record) => match record.fields.iter().position(|(field, _)| *field == name.text) {
                Some(at) => {
                    let ty = record.fields[at].1.clone();
                    let ty = if optional { ty.optional() } else { ty };
                    let range = type_range(&ty);
                    let expr = self.with_range(ExprKind::RecordField(Box::new(object), at), ty, range, span);
                    self.narrowed(expr)
                }
                None => {
                    let known = record.fields.iter().map(|(name, _)| name.to_string()).collect();
                    let what = Type::Record(record.clone()).to_string();
                    self.unknown_field(&what, name, known);
                    self.unknown(span)
                }
            },
            Type::Dyn => {
                let kind = ExprKind::ApiField(Box::new(object), name.text.clone());
                self.make(kind, Type::Dyn, span)
            }
            Type::Never => self.unknown(span),
            other => {
                if self.label_key_meant(&access.object, &object, Some(name), span) {
                    return self.unknown(span);
                }
                let has = match (&other, &*name.text) {
                    (Type::Time, "hour" | "hours") => {
                        let text = self.excerpt(object.span);
                        self.mistake(
                            &codes::UNKNOWN_FIELD,
                            name.span,
                            "`hour` needs a time zone",
                            format!("`{text}.hour(\"Europe/Berlin\")`; the pod wakes when it changes"),
                        );
                        return self.unknown(span);
                    }
                    (Type::List(_), "size" | "length" | "count") => {
                        Some(format!("`{}.size()`", self.excerpt(object.span)))
                    }
                    (Type::String, "size" | "length") => {
                        Some(format!("`{}.size()`", self.excerpt(object.span)))
                    }
                    _ if !crate::lang::functions::named(&name.text, true).is_empty() => {
                        Some(format!("`{}` is a method: `.{}(…)`", name.text, name.text))
                    }
                    (Type::List(element), _) if matches!(**element, Type::Object(_) | Type::Api(_)) => {
                        Some(format!(
                            "each element has: `{}.exists(x, x.{} …)`",
                            self.excerpt(object.span),
                            name.text
                        ))
                    }
                    _ => None,
                };
                self.mistake(
                    &codes::UNKNOWN_FIELD,
                    name.span,
                    format!("`{other}` has no field `{}`", name.text),
                    has.unwrap_or_default(),
                );
                self.unknown(span)
            }
        }
    }

    fn text_constant(&self, text: Text, span: Span) -> Expr {
        self.make(ExprKind::Constant(Value::text(text)), Type::String, span)
    }

    fn object_field(&mut self, object: Expr, owner: ObjectType, name: &ast::Name, span: Span) -> Expr {
        let optional = object.ty.is_optional();
        if let Some(field) = schema::field(owner, &name.text) {
            let def = field.def();
            let ty = plain_type(&def.ty);
            let range = match (def.range, &ty) {
                (Some((lo, hi)), _) => Range::whole(i128::from(lo), i128::from(hi)),
                (None, Type::Resources) => Range::whole(0, i128::from(i64::MAX)),
                _ => type_range(&ty),
            };
            let ty = if optional { ty.optional() } else { ty };
            let expr = self.with_range(ExprKind::Field(Box::new(object), field), ty, range, span);
            return self.narrowed(expr);
        }
        if let Some((ty, range)) = schema::api::root(owner, &name.text) {
            return self.api_field(object, name, ty, range, span);
        }
        if FIELDS_NOT_BUILT.contains(&(owner, &*name.text)) {
            self.not_built(name.span, format_args!("`{}.{}`", owner.name(), name.text));
            return self.unknown(span);
        }
        let known: Vec<String> = schema::fields_of(owner)
            .map(|row| row.name.to_owned())
            .chain(schema::api::roots(owner).map(str::to_owned))
            .collect();
        self.unknown_field(owner.name(), name, known);
        self.unknown(span)
    }

    fn api_field(&mut self, object: Expr, name: &ast::Name, ty: Type, range: Range, span: Span) -> Expr {
        let ty = if object.ty.is_optional() { ty.optional() } else { ty };
        let kind = ExprKind::ApiField(Box::new(object), name.text.clone());
        let expr = self.with_range(kind, ty, range, span);
        self.narrowed(expr)
    }

    fn unknown_field(&mut self, what: &str, name: &ast::Name, known: Vec<String>) {
        let message = format!("`{what}` has no field `{}`", name.text);
        let mut diagnostic = Diagnostic::new(&codes::UNKNOWN_FIELD, name.span, message);
        if let Some(near) = nearest(&name.text, known.iter().map(String::as_str)) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?")).with_fix(
                format!("write `{near}`"),
                name.span,
                near,
            );
        } else if matches!(what, "pod" | "node") {
            let meant = match &*name.text {
                "nodeSelector" | "affinity" | "volumes" | "tolerations" | "hostNetwork"
                | "serviceAccountName" => Some(format!("`{what}.spec.{}`", name.text)),
                "cpu" | "memory" => Some(format!("`{what}.requests.{}`", name.text)),
                "creationTimestamp" => Some(format!("`{what}.created`")),
                "conditions" | "nodeInfo" | "addresses" => Some(format!("`{what}.status.{}`", name.text)),
                "object" => Some(format!("`{what}.spec`, `{what}.status`, `{what}.metadata`")),
                _ => None,
            };
            if let Some(meant) = meant {
                diagnostic = diagnostic.with_help(meant);
            }
        }
        self.report(diagnostic);
    }

    /// `node.labels.topology.kubernetes.io/zone`: a text has no fields, so a label key was meant. Says it.
    pub(super) fn label_key_meant(
        &mut self,
        object: &ast::Expr,
        typed: &Expr,
        field: Option<&ast::Name>,
        span: Span,
    ) -> bool {
        let _ = object;
        let ExprKind::Index(map, key) = strip(&typed.kind) else { return false };
        let (ExprKind::Field(_, row), Some(first)) = (strip(&map.kind), self.constant_str(key)) else {
            return false;
        };
        if !matches!(row.def().name, "labels" | "annotations") || self.excerpt(typed.span).ends_with(']') {
            return false;
        }
        let Some(field) = field else { return false };
        // The rest of the key as it was written: dots, dashes and slashes up to the next other mark.
        let from = field.span.start as usize;
        let rest: String = self
            .text
            .get(from..)
            .unwrap_or("")
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/'))
            .collect();
        let rest = rest.trim_end_matches(['.', '-', '_', '/']);
        let key = format!("{first}.{rest}");
        let end = from + rest.len();
        let whole = Span::new(span.source, typed.span.start as usize, end);
        let map_text = self.excerpt(map.span);
        let fixed = format!("{map_text}[\"{key}\"]");
        self.report(
            Diagnostic::new(
                &codes::LABEL_KEY_BRACKETS,
                whole,
                "a label key with `.` or `/` goes in brackets",
            )
            .with_help(format!("write `{fixed}`"))
            .with_fix(format!("write `{fixed}`"), whole, fixed),
        );
        true
    }

    fn index(&mut self, access: &ast::IndexAccess, span: Span) -> Expr {
        if access.optional {
            self.not_built(span, "CEL's optional index `[?`");
            return self.unknown(span);
        }
        let object = self.expr(&access.object, None);
        let wanted = match object.ty.present() {
            Type::Map(key, _) => Some((**key).clone()),
            Type::Resources | Type::Record(_) => Some(Type::String),
            Type::List(_) => Some(Type::Int),
            _ => None,
        };
        let index = self.expr(&access.index, wanted.as_ref());
        if object.ty.is_unknown() || index.ty.is_unknown() {
            return self.unknown(span);
        }
        match object.ty.present().clone() {
            Type::Map(key, value) => {
                // An absent key is in no map.
                let key = if index.ty.is_optional() { (*key).clone().optional() } else { (*key).clone() };
                let index = self.fit_index(index, &key);
                self.map_index(object, index, &value, span)
            }
            Type::Resources => {
                let index = self.fit(index, &Type::String, "the name of a resource");
                self.resource(object, index, span, false)
            }
            Type::List(element) => {
                let wanted = if index.ty.is_optional() { Type::Int.optional() } else { Type::Int };
                let index = self.fit(index, &wanted, "the index of a list");
                let ty = (*element).clone().optional();
                let range = type_range(&ty);
                let expr =
                    self.with_range(ExprKind::Index(Box::new(object), Box::new(index)), ty, range, span);
                self.known_index(expr)
            }
            Type::Record(_) => {
                let Some(name) = self.constant_str(&index) else {
                    self.mistake(
                        &codes::NOT_CONSTANT,
                        index.span,
                        "a field of a record is asked for by a constant",
                        "use a `map` where names are computed",
                    );
                    return self.unknown(span);
                };
                let field = ast::FieldAccess {
                    object: access.object.clone(),
                    field: ast::Name { text: name, span: index.span },
                    optional: false,
                };
                self.field(&field, span)
            }
            Type::Dyn => {
                let index = self.value(index);
                self.make(ExprKind::Index(Box::new(object), Box::new(index)), Type::Dyn, span)
            }
            Type::Never => self.unknown(span),
            Type::Object(_) | Type::Api(_) => {
                let help = match self.constant_str(&index) {
                    Some(name) => format!("write `{}.{name}`", self.excerpt(object.span)),
                    None => String::new(),
                };
                let message = format!("`{}` has fields and no keys", object.ty.present());
                self.mistake(&codes::TYPE_MISMATCH, span, message, help);
                self.unknown(span)
            }
            other => {
                let message = format!("`{other}` has no elements");
                self.mistake(&codes::TYPE_MISMATCH, object.span, message, "");
                self.unknown(span)
            }
        }
    }

    fn fit_index(&mut self, index: Expr, key: &Type) -> Expr {
        self.fit(index, key, "the map's key")
    }

    fn map_index(&mut self, object: Expr, index: Expr, value: &Type, span: Span) -> Expr {
        let ty = value.clone().optional();
        let range = type_range(&ty);
        let expr = self.with_range(ExprKind::Index(Box::new(object), Box::new(index)), ty, range, span);
        self.known_index(expr)
    }

    /// `{"a": 1}.a`: of constants it is known whether there is an element.
    fn known_index(&self, expr: Expr) -> Expr {
        match self.constant(&expr) {
            Some(Value::Absent) | None => self.narrowed(expr),
            Some(value) => {
                let mut expr = self.present(expr);
                expr.range = constant_range(&value, &expr.ty);
                expr
            }
        }
    }

    /// An amount of a resource map: 0 where it is not named.
    fn resource(&mut self, object: Expr, name: Expr, span: Span, dotted: bool) -> Expr {
        if name.ty.is_unknown() {
            return self.unknown(span);
        }
        let ty = match self.constant_str(&name) {
            Some(constant) => {
                if !is_resource_name(&constant) {
                    let path = self.excerpt(object.span);
                    let help = match &*constant {
                        "gpu" | "gpus" | "GPU" => format!("GPUs are `{path}[\"nvidia.com/gpu\"]`"),
                        "mem" | "ram" => "memory is `memory`".to_owned(),
                        "storage" | "disk" | "ephemeral_storage" => {
                            format!("local storage is `{path}[\"ephemeral-storage\"]`")
                        }
                        other => nearest(other, ["cpu", "memory", "pods", "ephemeral-storage"])
                            .map(|near| format!("did you mean `{near}`?"))
                            .unwrap_or_else(|| {
                                format!("extended resources have a domain: `{path}[\"example.com/{other}\"]`")
                            }),
                    };
                    let _ = dotted;
                    self.mistake(&codes::UNKNOWN_FIELD, name.span, format!("no resource `{constant}`"), help);
                    return self.unknown(span);
                }
                resource_type(&constant)
            }
            None => {
                let key = self.key(&name).unwrap_or_else(|| self.excerpt(name.span).to_owned());
                let key: &str = if key.starts_with('$') { self.excerpt(name.span) } else { &key };
                Type::Amount(Arc::from(key))
            }
        };
        let range = match object.range {
            Range::None => Range::of(&ty),
            range => range,
        };
        let ty = if object.ty.is_optional() { ty.optional() } else { ty };
        let expr = self.with_range(ExprKind::Resource(Box::new(object), Box::new(name)), ty, range, span);
        self.narrowed(expr)
    }

    // ---- absence

    /// A value where one is wanted; says it if it may be absent.
    pub(super) fn value(&mut self, expr: Expr) -> Expr {
        self.value_in(expr, None)
    }

    /// The same; `example` writes the whole expression with a value in the place of the absent one.
    pub(super) fn value_in(&mut self, mut expr: Expr, example: Option<&dyn Fn(&str) -> String>) -> Expr {
        if !expr.ty.is_optional() {
            return expr;
        }
        let text = self.excerpt(expr.span).to_owned();
        if *expr.ty.present() == Type::Never {
            self.mistake(
                &codes::ABSENT_VALUE,
                expr.span,
                "`none` is no value here",
                "compare with `== none`",
            );
            return self.unknown(expr.span);
        }
        let default = default_text(expr.ty.present());
        let (message, look) = self.absent_message(&expr, &text);
        let simple = !matches!(strip(&expr.kind), ExprKind::Arithmetic(..));
        let filled = match default {
            Some(default) if simple => Some(format!("({text} ?? {default})")),
            Some(default) => Some(format!("({text} ?? {default})")),
            None => None,
        };
        let help = match (filled, look) {
            (Some(filled), Some(look)) => {
                let example = example.map_or_else(|| filled.clone(), |example| example(&filled));
                format!("`{example}`, or `{look}` first")
            }
            (Some(filled), None) => {
                let example = example.map_or_else(|| filled.clone(), |example| example(&filled));
                format!("`{example}`")
            }
            (None, Some(look)) => format!("`{look}` first"),
            (None, None) => "give a default with `??`".to_owned(),
        };
        self.mistake(&codes::ABSENT_VALUE, expr.span, message, help);
        expr.ty = expr.ty.present().clone();
        expr
    }

    /// Why it may be absent, and how to look first.
    fn absent_message(&self, expr: &Expr, text: &str) -> (String, Option<String>) {
        use super::scope::Place;
        let verb = match self.frame.place {
            Place::Filter => "require ",
            _ => "",
        };
        let tail = if verb.is_empty() { " && …" } else { "" };
        let look = |path: &str| Some(format!("{verb}has({path}){tail}"));
        match strip(&expr.kind) {
            ExprKind::Index(map, key) => {
                let constant = self.constant_str(key);
                let map_text = self.excerpt(map.span);
                let what = match strip(&map.kind) {
                    ExprKind::Field(_, row) if row.def().name == "labels" => "label",
                    ExprKind::Field(_, row) if row.def().name == "annotations" => "annotation",
                    _ if matches!(map.ty.present(), Type::List(_)) => {
                        let message = format!("`{text}` may be absent: the list may be shorter");
                        let at = match self.constant(key) {
                            Some(Value::Int(at)) => at.to_string(),
                            _ => self.excerpt(key.span).to_owned(),
                        };
                        return (message, Some(format!("{verb}size({map_text}) > {at}{tail}")));
                    }
                    _ => "key",
                };
                match constant {
                    Some(key) => (
                        format!("the {what} `{key}` may be absent"),
                        Some(format!("{verb}\"{key}\" in {map_text}{tail}")),
                    ),
                    None => (format!("`{text}` may be absent"), look(text)),
                }
            }
            ExprKind::Arithmetic(op, _, divisor) => {
                use crate::lang::typed::ArithmeticOp::{Divide, Remainder};
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
                let name = function.def().name;
                let message = match name {
                    "int" | "float" | "double" | "duration" | "time" | "timestamp" | "as_cpu"
                    | "as_bytes" | "as_count" | "uint" => {
                        format!("`{text}` has no value where the text is none")
                    }
                    _ if args.iter().any(|arg| matches!(arg.ty.present(), Type::List(_))) => {
                        format!("`{text}` has no value where the list is empty")
                    }
                    _ => format!("`{text}` may have no value"),
                };
                (message, None)
            }
            ExprKind::Macro(_) => (format!("`{text}` has no value where there is no element"), None),
            ExprKind::Root(Root::Pod) => (format!("`{text}` may be absent"), None),
            _ if self.key(expr).is_some() => (format!("`{text}` may be absent"), look(text)),
            _ => (format!("`{text}` may be absent"), None),
        }
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
