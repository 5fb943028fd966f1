//! Fields and indices of objects, structures, maps, lists and resources, and CEL's optional forms of them.

use super::Checker;
use super::expr::{constant_range, plain_type, resource_type, strip, type_range};
use super::numbering::ValueId;
use crate::language::fields::{self, Meaning, ObjectType};
use crate::language::statements::Names;
use crate::syntax::ast::{self, Text};
use crate::typed::{ArithmeticOp, Expr, ExprKind, SlotId};
use crate::types::range::Range;
use crate::types::value::Value;
use crate::types::{ComputedName, Type};
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::Kinds;
use std::sync::Arc;

/// Fields of the language that are not built.
const FIELDS_NOT_BUILT: [(ObjectType, &str); 1] = [(ObjectType::Container, "status")];

/// Whether Kubernetes can have a resource of this name.
fn is_resource_name(name: &str) -> bool {
    name.contains('/')
        || matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods" | "storage")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

/// What was meant by a field that an object does not have: names of Kubernetes, and short ones that say too little.
fn field_meant(what: &str, name: &str) -> Option<String> {
    Some(match (what, name) {
        ("node", "cpu" | "memory") => format!(
            "write `node.free.{name}` for what is left, `node.requested.{name}` for what its pods request, or \
             `node.allocatable.{name}` for all of it"
        ),
        ("pod", "cpu" | "memory") => format!("write `pod.requests.{name}` or `pod.limits.{name}`"),
        ("pod" | "node", "creationTimestamp") => format!("write `{what}.created`"),
        ("pod", "owners" | "ownerReferences") => "write `pod.owner.kind == \"Job\"`".to_owned(),
        ("pod", "serviceAccount" | "serviceAccountName") => "write `pod.service_account`".to_owned(),
        ("pod", "nodeSelector") => "write `pod.node_selector`".to_owned(),
        ("pod", "affinity" | "volumes" | "hostNetwork") => format!("write `pod.spec.{name}`"),
        ("node", "conditions" | "nodeInfo" | "addresses") => format!("write `node.status.{name}`"),
        ("pod" | "node", "object") => {
            format!("write `{what}.spec`, `{what}.status` or `{what}.metadata`")
        }
        _ => return None,
    })
}

/// The type and range of a field by its row.
pub(super) fn plain_range(def: &fields::FieldDef) -> (Type, Range) {
    let ty = plain_type(&def.ty);
    let range = match (def.range, &ty) {
        (Some((lo, hi)), _) => Range::whole(i128::from(lo), i128::from(hi)),
        (None, Type::Resources) => Range::whole(0, i128::from(i64::MAX)),
        _ => type_range(&ty),
    };
    (ty, range)
}

impl Checker<'_> {
    pub(super) fn field(&mut self, access: &ast::FieldAccess, span: Span) -> Expr {
        if let ast::ExprKind::Field(inner) = &access.object.kind
            && let ast::ExprKind::Name(first) = &inner.object.kind
            && (&**first, &*inner.field.text) == ("google", "protobuf")
            && matches!(&*access.field.text, "Timestamp" | "Duration")
        {
            let name = bayplan_model::Symbol::from(format!("google.protobuf.{}", access.field.text));
            return self.make(ExprKind::Constant(Value::TypeName(name)), Type::TypeName, span);
        }
        let object = self.expr(&access.object, None);
        let (object, held) = self.held(object);
        let field = self.field_of(object, access, span);
        if held || access.optional { self.wrapped(field, span) } else { field }
    }

    pub(super) fn field_of(&mut self, object: Expr, access: &ast::FieldAccess, span: Span) -> Expr {
        if object.ty.is_unknown() {
            return self.unknown(span);
        }
        let name = &access.field;
        let optional = object.ty.is_optional();
        match object.ty.present().clone() {
            Type::Object(owner) => self.object_field(object, owner, name, span),
            Type::Api(api) => match fields::api::field(api, &name.text) {
                Some((ty, range)) => self.api_field(object, name, ty, range, span),
                None => {
                    let known = fields::api::fields(api).iter().map(|field| field.name);
                    let what = api.name.to_owned();
                    self.unknown_field(&what, name, known);
                    self.unknown(span)
                }
            },
            Type::Kind(kind) => self.kind_field(object, &kind, name, span),
            Type::Structure(of) => match of.field(&name.text) {
                Some(field) => self.api_field(object, name, field.ty.clone(), field.range, span),
                None if of.open => self.untyped_field(object, name, span),
                None => {
                    let known = of.fields().iter().map(|field| &*field.name);
                    self.unknown_field(&of.name, name, known);
                    self.unknown(span)
                }
            },
            Type::Resources => {
                let key = self.text_constant(name.text.clone(), name.span);
                self.resource(object, key, span, true)
            }
            Type::Map(key, value) => {
                if *key != Type::String && *key != Type::Never {
                    let message = format!("keys of this map are `{key}`");
                    self.mistake(&codes::TYPE_MISMATCH, name.span, message, "write the key in brackets");
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
                    /// Whose names fit into a message.
                    const FEW_FIELDS: usize = 12;
                    let known = record.fields.iter().map(|(name, _)| &**name);
                    let what = match record.fields.len() {
                        many if many > FEW_FIELDS && record.name.is_none() => {
                            format!("a record of {many} fields")
                        }
                        _ => Type::Record(record.clone()).to_string(),
                    };
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
                self.no_fields(&object, &other, access, span);
                self.unknown(span)
            }
        }
    }

    /// Reports a field of a value whose type has no fields, with what to write where that is known.
    fn no_fields(&mut self, object: &Expr, ty: &Type, access: &ast::FieldAccess, span: Span) {
        let name = &access.field;
        if self.label_key_meant(&access.object, object, Some(name), span) {
            return;
        }
        let text = self.excerpt(object.span);
        let has = match (ty, &*name.text) {
            (Type::Time, "hour" | "hours") => {
                let help = format!("`{text}.hour(\"Europe/Berlin\")`; the pod wakes when it changes");
                self.mistake(&codes::UNKNOWN_FIELD, name.span, "`hour` needs a time zone", help);
                return;
            }
            (Type::List(_), "size" | "length" | "count") | (Type::String, "size" | "length") => {
                format!("`{text}.size()`")
            }
            _ if !crate::language::functions::named(&name.text, true).is_empty() => {
                format!("`{}` is a method: `.{}(…)`", name.text, name.text)
            }
            (Type::List(element), _)
                if matches!(
                    **element,
                    Type::Object(_) | Type::Api(_) | Type::Kind(_) | Type::Structure(_)
                ) =>
            {
                format!("each element has: `{text}.exists(x, x.{} …)`", name.text)
            }
            _ => String::new(),
        };
        let message = format!("`{ty}` has no field `{}`", name.text);
        self.mistake(&codes::UNKNOWN_FIELD, name.span, message, has);
    }

    pub(super) fn text_constant(&self, text: Text, span: Span) -> Expr {
        self.make(ExprKind::Constant(Value::text(text)), Type::String, span)
    }

    fn object_field(&mut self, object: Expr, owner: ObjectType, name: &ast::Name, span: Span) -> Expr {
        let optional = object.ty.is_optional();
        if let Some(field) = fields::field(owner, &name.text) {
            let def = field.def();
            if def.changed_by == Kinds::TIME {
                return self.age(object, owner, span);
            }
            let (ty, range) = plain_range(def);
            let ty = if optional { ty.optional() } else { ty };
            let expr = self.with_range(ExprKind::Field(Box::new(object), field), ty, range, span);
            return self.narrowed(expr);
        }
        if let Some((ty, range)) = fields::api::root(owner, &name.text) {
            return self.api_field(object, name, ty, range, span);
        }
        if FIELDS_NOT_BUILT.contains(&(owner, &*name.text)) {
            self.not_built(name.span, format_args!("`{}.{}`", owner.name(), name.text));
            return self.unknown(span);
        }
        let known = fields::fields_of(owner).map(|row| row.name).chain(fields::api::roots(owner));
        self.unknown_field(owner.name(), name, known);
        self.unknown(span)
    }

    /// `now() - object.created`, absent where the object is.
    fn age(&mut self, object: Expr, owner: ObjectType, span: Span) -> Expr {
        let Some(created) = fields::field(owner, "created") else { return self.unknown(span) };
        if !self.allow(Names::NOW, "age", span) {
            return self.unknown(span);
        }
        let created = |checker: &Self, object: Expr, ty: Type| {
            checker.make(ExprKind::Field(Box::new(object), created), ty, span)
        };
        let since = |checker: &Self, created: Expr| {
            let now = checker.make(ExprKind::Now, Type::Time, span);
            let kind = ExprKind::Arithmetic(ArithmeticOp::Subtract, Box::new(now), Box::new(created));
            checker.with_range(kind, Type::Duration, type_range(&Type::Duration), span)
        };
        if !object.ty.is_optional() {
            let created = created(self, object, Type::Time);
            return since(self, created);
        }
        let created = created(self, object, Type::Time.optional());
        let has = self.make(ExprKind::Has(Box::new(created.clone())), Type::Bool, span);
        let present = self.make(ExprKind::Present(Box::new(created)), Type::Time, span);
        let age = since(self, present);
        let none = self.make(ExprKind::Constant(Value::Absent), Type::Duration.optional(), span);
        let kind = ExprKind::Conditional(Box::new(has), Box::new(age), Box::new(none));
        let ty = Type::Duration.optional();
        self.with_range(kind, ty.clone(), type_range(&ty), span)
    }

    pub(super) fn api_field(
        &mut self,
        object: Expr,
        name: &ast::Name,
        ty: Type,
        range: Range,
        span: Span,
    ) -> Expr {
        let ty = if object.ty.is_optional() { ty.optional() } else { ty };
        let kind = ExprKind::ApiField(Box::new(object), name.text.clone());
        let expr = self.with_range(kind, ty, range, span);
        self.narrowed(expr)
    }

    pub(super) fn unknown_field<'n>(
        &mut self,
        what: &str,
        name: &ast::Name,
        known: impl Iterator<Item = &'n str>,
    ) {
        let message = format!("`{what}` has no field `{}`", name.text);
        let mut diagnostic = Diagnostic::new(&codes::UNKNOWN_FIELD, name.span, message);
        if let Some(meant) = field_meant(what, &name.text) {
            diagnostic = diagnostic.with_help(meant);
        } else if let Some(near) = self.nearest(&name.text, known) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
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
        if row.def().meaning.and_then(Meaning::entry).is_none() || self.excerpt(typed.span).ends_with(']') {
            return false;
        }
        let Some(field) = field else { return false };
        let from = field.span.start as usize;
        let rest = self.key_at(field.span);
        let key = format!("{first}.{rest}");
        let end = from + rest.len();
        let whole = Span::new(span.source, typed.span.start as usize, end);
        let map_text = self.excerpt(map.span);
        let quote = crate::syntax::quote_at(self.texts.at(span), span.start as usize);
        let fixed = format!("{map_text}[{quote}{key}{quote}]");
        self.report_brackets("a label key with `.` or `/` goes in brackets", whole, fixed);
        true
    }

    /// A key as it was written without quotes: letters, dots, dashes and slashes up to the next other mark.
    fn key_at(&self, from: Span) -> &str {
        let rest = self.texts.at(from).get(from.start as usize..).unwrap_or("");
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        let end = rest.find(|c: char| !is_key(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or("").trim_end_matches(['.', '-', '_', '/'])
    }

    /// `pod.requests.nvidia.com/gpu`: the name of a resource has a `/`, so it goes in brackets. Reports it.
    fn resource_key_meant(&mut self, object: &Expr, name: &Expr) -> bool {
        let from = name.span.start as usize;
        let key = self.key_at(name.span);
        if !key.contains('/') || !key.contains('.') {
            return false;
        }
        let whole = Span::new(object.span.source, object.span.start as usize, from + key.len());
        let quote = crate::syntax::quote_at(self.texts.at(object.span), object.span.start as usize);
        let fixed = format!("{}[{quote}{key}{quote}]", self.excerpt(object.span));
        self.report_brackets("the name of a resource with `.` or `/` goes in brackets", whole, fixed);
        true
    }

    fn report_brackets(&mut self, message: &str, span: Span, fixed: String) {
        let fix = format!("write `{fixed}`");
        let said = Diagnostic::new(&codes::LABEL_KEY_BRACKETS, span, message);
        self.report(said.with_help(fix.clone()).with_fix(fix, span, fixed));
    }

    pub(super) fn index(&mut self, access: &ast::IndexAccess, span: Span) -> Expr {
        if let Some(found) = self.ledger_sum(access, span).or_else(|| self.source_of(access, span)) {
            return found;
        }
        let object = self.expr(&access.object, None);
        let (object, held) = self.held(object);
        let element = self.element_of(object, access, span);
        if held || access.optional { self.wrapped(element, span) } else { element }
    }

    fn element_of(&mut self, object: Expr, access: &ast::IndexAccess, span: Span) -> Expr {
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
                        "the name of a record's field must be a constant",
                        "use a `map` where names are computed",
                    );
                    return self.unknown(span);
                };
                let field = ast::FieldAccess {
                    object: access.object.clone(),
                    field: ast::Name { text: name, span: index.span },
                    optional: false,
                };
                self.field_of(object, &field, span)
            }
            Type::Dyn => {
                let index = self.value(index);
                self.make(ExprKind::Index(Box::new(object), Box::new(index)), Type::Dyn, span)
            }
            Type::Never => self.unknown(span),
            Type::Object(_) | Type::Api(_) | Type::Kind(_) | Type::Structure(_) => {
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

    pub(super) fn map_index(&mut self, object: Expr, index: Expr, value: &Type, span: Span) -> Expr {
        let ty = value.clone().optional();
        let range = type_range(&ty);
        let expr = self.with_range(ExprKind::Index(Box::new(object), Box::new(index)), ty, range, span);
        self.known_index(expr)
    }

    /// `{"a": 1}.a`: of constants it is known whether there is an element.
    fn known_index(&mut self, expr: Expr) -> Expr {
        match self.sure_constant(&expr) {
            Some(Value::Absent) | None => self.narrowed(expr),
            Some(value) => {
                let mut expr = self.present(expr);
                expr.range = constant_range(&value, &expr.ty);
                expr
            }
        }
    }

    /// An amount of a resource map: 0 where it is not named.
    pub(super) fn resource(&mut self, object: Expr, name: Expr, span: Span, dotted: bool) -> Expr {
        if name.ty.is_unknown() {
            return self.unknown(span);
        }
        let ty = match self.constant_str(&name) {
            Some(constant) => {
                if !is_resource_name(&constant) && !is_of_device(&object) {
                    if dotted && self.resource_key_meant(&object, &name) {
                        return self.unknown(span);
                    }
                    let path = self.excerpt(object.span);
                    let help = match &*constant {
                        "gpu" | "gpus" | "GPU" => format!("GPUs are `{path}[\"nvidia.com/gpu\"]`"),
                        "mem" | "ram" => "memory is `memory`".to_owned(),
                        "storage" | "disk" | "ephemeral_storage" => {
                            format!("local storage is `{path}[\"ephemeral-storage\"]`")
                        }
                        other => self
                            .nearest(other, ["cpu", "memory", "pods", "ephemeral-storage"])
                            .map(|near| format!("did you mean `{near}`?"))
                            .unwrap_or_else(|| {
                                format!("extended resources have a domain: `{path}[\"example.com/{other}\"]`")
                            }),
                    };
                    self.mistake(&codes::UNKNOWN_FIELD, name.span, format!("no resource `{constant}`"), help);
                    return self.unknown(span);
                }
                resource_type(&constant)
            }
            None => {
                let text = Arc::from(self.excerpt(name.span));
                Type::Amount(ComputedName { id: self.numbering().number_or_new(&name).0, text })
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

    /// Whether a type has the unit of a resource that one of these variables names: outside of their scope the
    /// unit is not known. Reports it.
    pub(super) fn leaves_scope(&mut self, ty: &Type, slots: &[SlotId], span: Span) -> bool {
        let Some(name) = self.named_by(ty, slots) else { return false };
        let text = self.excerpt(span);
        let help = match ty {
            Type::Amount(_) => format!("`({text}).value()` is the number in base units"),
            _ => "`.value()` of an amount is the number in base units".to_owned(),
        };
        let help = format!("{help}; a constant name has a unit");
        let message = format!("amounts of `{}` have no common unit outside of it", name.text);
        self.mistake(&codes::MIXED_UNITS, span, message, help);
        true
    }

    /// The computed name of a resource in a type that depends on one of these variables.
    fn named_by<'t>(&self, ty: &'t Type, slots: &[SlotId]) -> Option<&'t ComputedName> {
        match ty {
            Type::Amount(name) => self.depends_on(ValueId(name.id), slots).then_some(name),
            Type::List(of) | Type::Set(of) | Type::Optional(of) | Type::CelOptional(of) => {
                self.named_by(of, slots)
            }
            Type::Map(key, value) => self.named_by(key, slots).or_else(|| self.named_by(value, slots)),
            Type::Record(record) => record.fields.iter().find_map(|(_, ty)| self.named_by(ty, slots)),
            _ => None,
        }
    }

    // ---- CEL's optional

    /// What CEL's optional holds, as `T?`; with it whether the expression was one.
    pub(super) fn held(&mut self, expr: Expr) -> (Expr, bool) {
        if !matches!(expr.ty, Type::CelOptional(_)) {
            return (expr, false);
        }
        let span = expr.span;
        let name = ast::Name { text: "value".into(), span };
        let Type::CelOptional(inner) = &expr.ty else { return (expr, false) };
        // An absent object has no value: reported for `.value()`, but not for a field after it.
        if **inner == Type::Never {
            let none = self.make(ExprKind::Constant(Value::Absent), Type::Never.optional(), span);
            return (none, true);
        }
        let absent = matches!(self.sure_constant(&expr), Some(Value::Optional(None)));
        if absent {
            let ty = (**inner).clone().optional();
            return (self.make(ExprKind::Constant(Value::Absent), ty, span), true);
        }
        (self.call_function(&name, true, vec![expr], span, None), true)
    }

    /// A `T?` as CEL's optional; of a resource, whether it is named.
    pub(super) fn wrapped(&mut self, expr: Expr, span: Span) -> Expr {
        if expr.ty.is_unknown() {
            return self.unknown(span);
        }
        let expr = match &expr.kind {
            ExprKind::Resource(..) if !expr.ty.is_optional() => {
                let ty = expr.ty.clone().optional();
                let range = expr.range;
                let has = self.make(ExprKind::Has(Box::new(expr.clone())), Type::Bool, span);
                let none = self.make(ExprKind::Constant(Value::Absent), ty.clone(), span);
                let kind = ExprKind::Conditional(Box::new(has), Box::new(expr), Box::new(none));
                self.with_range(kind, ty, range, span)
            }
            _ => expr,
        };
        let name = ast::Name { text: crate::language::functions::WRAP.into(), span };
        self.call_function(&name, false, vec![expr], span, None)
    }
}

/// Whether amounts are those of a device: drivers name its capacities as they like.
fn is_of_device(amounts: &Expr) -> bool {
    matches!(strip(&amounts.kind), ExprKind::Field(_, field) if field.def().owner == ObjectType::Device)
}
