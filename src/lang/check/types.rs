//! Types as they are written, and how a value is made to fit a type.

use super::Checker;
use super::scope::{DeclId, DeclKind};
use crate::language::fields::ObjectType;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::range::Range;
use crate::types::value::Value;
use crate::types::{RecordType, Type};
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::Resource;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Names of types that a policy may write.
const NAMES: [(&str, Type); 24] = [
    ("bool", Type::Bool),
    ("int", Type::Int),
    ("uint", Type::Uint),
    ("float", Type::Float),
    ("double", Type::Float),
    ("string", Type::String),
    ("blob", Type::Blob),
    ("cpu", Type::Cpu),
    ("bytes", Type::Bytes),
    ("duration", Type::Duration),
    ("count", Type::Count),
    ("time", Type::Time),
    ("resources", Type::Resources),
    ("dyn", Type::Dyn),
    ("pod", Type::Object(ObjectType::Pod)),
    ("node", Type::Object(ObjectType::Node)),
    ("container", Type::Object(ObjectType::Container)),
    ("taint", Type::Object(ObjectType::Taint)),
    ("toleration", Type::Object(ObjectType::Toleration)),
    ("owner", Type::Object(ObjectType::Owner)),
    ("gpu", Type::Object(ObjectType::Gpu)),
    ("device", Type::Object(ObjectType::Device)),
    ("claim", Type::Object(ObjectType::Claim)),
    ("load", Type::Object(ObjectType::Load)),
];

/// The types that were declared and met.
#[derive(Default)]
pub(super) struct DeclaredTypes {
    /// Each once: a record with thousands of fields is used thousands of times.
    made: FxHashMap<DeclId, Type>,
    /// How many types contain themselves.
    circles: usize,
}

impl Checker<'_> {
    /// The name that is nearest to a word, when it is near enough to be meant.
    pub(super) fn nearest<'n>(&self, word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
        self.budget.suggestions.nearest(word, names).map(str::to_owned)
    }

    /// The type that is written.
    pub(super) fn type_expr(&mut self, of: &ast::TypeExpr) -> Type {
        let ty = match &of.kind {
            ast::TypeExprKind::Name(name) => self.type_name(name),
            ast::TypeExprKind::Kind(kind) if matches!(&*kind.text, "Pod" | "Node" | "Namespace") => {
                Type::Object(match &*kind.text {
                    "Pod" => ObjectType::Pod,
                    "Node" => ObjectType::Node,
                    _ => ObjectType::Namespace,
                })
            }
            ast::TypeExprKind::Kind(kind) => match self.kind_named(&kind.text, kind.span) {
                Some(id) => Type::Kind(self.declared.kinds[id.index()].clone()),
                None => Type::Unknown,
            },
            ast::TypeExprKind::List(element) => self.type_expr(element).list(),
            ast::TypeExprKind::Set(element) => Type::Set(Arc::new(self.type_expr(element))),
            ast::TypeExprKind::Map(key, value) => {
                let written = key.span;
                let key = self.type_expr(key);
                if !matches!(key, Type::String | Type::Int | Type::Uint | Type::Bool | Type::Unknown) {
                    self.mistake(
                        &codes::BAD_TYPE,
                        written,
                        format!("`{key}` cannot be a key of a map"),
                        "keys are `string`, `int`, `uint` or `bool`",
                    );
                }
                Type::Map(Arc::new(key), Arc::new(self.type_expr(value)))
            }
            ast::TypeExprKind::Record(fields) => self.record_type(None, fields),
        };
        if of.optional { ty.optional() } else { ty }
    }

    fn record_type(&mut self, name: Option<&ast::Name>, fields: &[ast::FieldDecl]) -> Type {
        let mut known: Vec<(Arc<str>, Type)> = Vec::with_capacity(fields.len());
        let mut names: FxHashSet<&str> = FxHashSet::default();
        for field in fields {
            let ty = self.type_expr(&field.declared);
            if !names.insert(&field.name.text) {
                self.mistake(
                    &codes::DUPLICATE_NAME,
                    field.name.span,
                    format!("the field `{}` is declared twice", field.name.text),
                    "",
                );
            } else {
                known.push((field.name.text.clone(), ty));
            }
        }
        let name = name.map(|name| name.text.clone());
        Type::Record(Arc::new(RecordType { name, fields: known.into() }))
    }

    fn type_name(&mut self, name: &ast::Name) -> Type {
        if let Some((_, ty)) = NAMES.iter().find(|(known, _)| **known == *name.text) {
            return ty.clone();
        }
        if let Some(id) = self.names.get(&name.text).copied() {
            let decl = &mut self.decls[id.index()];
            decl.used = true;
            match decl.kind {
                DeclKind::Type(of) => {
                    if let Some(known) = self.types.made.get(&id) {
                        return known.clone();
                    }
                    if self.resolving.contains(&id) {
                        self.types.circles += 1;
                        self.mistake(
                            &codes::RECURSION,
                            name.span,
                            format!("`{}` is defined by itself", name.text),
                            "a type may not contain itself",
                        );
                        return Type::Unknown;
                    }
                    let circles = self.types.circles;
                    self.resolving.push(id);
                    let ty = match &of.value.kind {
                        ast::TypeExprKind::Record(fields) if !of.value.optional => {
                            self.record_type(Some(&of.name), fields)
                        }
                        _ => self.type_expr(&of.value),
                    };
                    self.resolving.pop();
                    if self.types.circles == circles {
                        self.types.made.insert(id, ty.clone());
                    }
                    return ty;
                }
                DeclKind::Lost => {
                    self.incomplete = true;
                    return Type::Unknown;
                }
                _ => {}
            }
        }
        let known = NAMES.iter().map(|(name, _)| *name).chain(
            self.decls
                .iter()
                .filter_map(|decl| matches!(decl.kind, DeclKind::Type(_)).then_some(&*decl.name.text)),
        );
        let mut diagnostic =
            Diagnostic::new(&codes::BAD_TYPE, name.span, format!("no type is called `{}`", name.text));
        let other = match &*name.text {
            "number" | "integer" | "i64" | "long" => Some("int"),
            "text" | "str" | "String" => Some("string"),
            "boolean" => Some("bool"),
            "memory" | "quantity" => Some("bytes"),
            "timestamp" => Some("time"),
            _ => None,
        };
        if let Some(near) = other.map(str::to_owned).or_else(|| self.nearest(&name.text, known)) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
        Type::Unknown
    }

    /// A value where one of type `wanted` must stand; says it if it does not fit.
    pub(super) fn fit(&mut self, expr: Expr, wanted: &Type, who: &str) -> Expr {
        let expr = self.of_policy_form(expr);
        if expr.ty.is_unknown() || wanted.is_unknown() {
            return expr;
        }
        let expr = if expr.ty.is_optional() && !wanted.is_optional() {
            let fits = wanted.accepts(expr.ty.present());
            let expr = self.value(expr);
            if !fits && !expr.ty.is_unknown() {
                self.wrong_type(&expr, wanted, who);
                return self.unknown(expr.span);
            }
            expr
        } else {
            expr
        };
        match self.coerce(expr, wanted) {
            Ok(expr) => expr,
            Err(expr) => {
                self.wrong_type(&expr, wanted, who);
                self.unknown(expr.span)
            }
        }
    }

    fn wrong_type(&mut self, expr: &Expr, wanted: &Type, who: &str) {
        let given = expr.ty.present().clone();
        let span = expr.span;
        if self.minutes_meant(expr, wanted) {
            return;
        }
        if wanted.present().is_unit() && matches!(given, Type::Int | Type::Float) {
            let help = self.unit_help(wanted, self.constant(expr).as_ref());
            self.mistake(
                &codes::NUMBER_WITHOUT_UNIT,
                span,
                format!("{who} wants `{wanted}`, this is a number"),
                help,
            );
            return;
        }
        let help = match (wanted.present(), &given) {
            (Type::Int, Type::Float) => "cut it with `round(…)`, `floor(…)` or `ceil(…)`",
            (Type::String, Type::Int | Type::Float | Type::Bool | Type::Time) => "convert it: `string(…)`",
            (Type::Int, Type::String) => "convert it: `int(…) ?? 0`",
            (Type::Float, Type::String) => "convert it: `float(…) ?? 0`",
            (_, Type::Amount(_)) => "`.value()` is the number in base units",
            _ => "",
        };
        let code = if wanted.present().is_unit() && given.is_unit() {
            &codes::MIXED_UNITS
        } else {
            &codes::TYPE_MISMATCH
        };
        self.mistake(code, span, format!("{who} wants `{wanted}`, this is `{given}`"), help);
    }

    /// `5m` where a duration is wanted: says that it is millicores.
    pub(super) fn minutes_meant(&mut self, expr: &Expr, wanted: &Type) -> bool {
        let text = self.excerpt(expr.span);
        let minutes = text.strip_suffix('m').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        });
        if !(minutes && expr.ty == Type::Cpu && *wanted.present() == Type::Duration) {
            return false;
        }
        let fixed = format!("{text}in");
        self.report(
            Diagnostic::new(
                &codes::MIXED_UNITS,
                expr.span,
                format!("`{text}` is millicores, and a duration is wanted"),
            )
            .with_help(format!("minutes are written `{fixed}`"))
            .with_fix(format!("write `{fixed}`"), expr.span, fixed),
        );
        true
    }

    /// Makes a value fit a type without a loss; gives it back as it was if that cannot be.
    pub(super) fn coerce(&self, mut expr: Expr, wanted: &Type) -> Result<Expr, Expr> {
        if expr.ty == *wanted || expr.ty.is_unknown() || wanted.is_unknown() {
            return Ok(expr);
        }
        if let Type::Optional(inner) = wanted {
            if let Type::Optional(own) = &expr.ty {
                if **own == Type::Never {
                    expr.ty = wanted.clone();
                    return Ok(expr);
                }
                if own == inner {
                    return Ok(expr);
                }
                if inner.has_elements() && inner.covers(own) {
                    expr.ty = wanted.clone();
                    return Ok(expr);
                }
                // An optional int as an optional float.
                if **inner == Type::Float && matches!(**own, Type::Int | Type::Count) {
                    return Ok(self.widen(expr));
                }
                if inner.accepts(own) && own.is_whole() && inner.is_whole() {
                    expr.ty = wanted.clone();
                    return Ok(expr);
                }
                return Err(expr);
            }
            return self.coerce(expr, inner);
        }
        if expr.ty.is_optional() {
            return Err(expr);
        }
        if expr.ty == Type::Never {
            expr.ty = wanted.clone();
            return Ok(expr);
        }
        match (wanted, &expr.ty) {
            (unit, Type::Int) if unit.is_unit() && is_zero(&expr) => {
                expr.ty = wanted.clone();
                Ok(expr)
            }
            (Type::Count, Type::Int) | (Type::Int, Type::Count) => {
                expr.ty = wanted.clone();
                Ok(expr)
            }
            (Type::Float, Type::Int | Type::Count) => Ok(self.widen(expr)),
            (Type::Dyn, _) => {
                expr.ty = Type::Dyn;
                expr.range = Range::None;
                Ok(expr)
            }
            (wanted, own) if wanted.has_elements() && wanted.covers(own) => {
                expr.ty = wanted.clone();
                Ok(expr)
            }
            (Type::Uint, Type::Int) if is_zero(&expr) => {
                Ok(Expr { kind: ExprKind::Constant(Value::Uint(0)), ty: Type::Uint, ..expr })
            }
            _ => self.coerce_parts(expr, wanted),
        }
    }

    /// Literals and choices fit when their parts do.
    fn coerce_parts(&self, expr: Expr, wanted: &Type) -> Result<Expr, Expr> {
        let Expr { kind, ty, range, span } = expr;
        let whole = |kind: ExprKind, ty: Type| Expr { kind, ty, range, span };
        match (kind, wanted) {
            (ExprKind::List(items), Type::List(element) | Type::Set(element)) => {
                let is_list = matches!(wanted, Type::List(_));
                let mut made = Vec::with_capacity(items.len());
                let mut fits = true;
                for (item, optional) in items {
                    let item = if fits { self.coerce(item, element) } else { Err(item) };
                    match item {
                        Ok(item) => made.push((item, optional)),
                        Err(item) => {
                            fits = false;
                            made.push((item, optional));
                        }
                    }
                }
                let expr = whole(ExprKind::List(made), if fits && is_list { wanted.clone() } else { ty });
                if fits && is_list { Ok(expr) } else { Err(expr) }
            }
            (ExprKind::Map(entries), Type::Map(key_type, value_type)) => {
                let mut made = Vec::with_capacity(entries.len());
                let mut fits = true;
                for (key, value, optional) in entries {
                    let key = self.coerce(key, key_type).unwrap_or_else(|key| {
                        fits = false;
                        key
                    });
                    let value = self.coerce(value, value_type).unwrap_or_else(|value| {
                        fits = false;
                        value
                    });
                    made.push((key, value, optional));
                }
                let expr = whole(ExprKind::Map(made), if fits { wanted.clone() } else { ty });
                if fits { Ok(expr) } else { Err(expr) }
            }
            (ExprKind::Map(entries), Type::Record(record)) => self.coerce_record(entries, ty, span, record),
            (ExprKind::Map(entries), Type::Resources) if entries.is_empty() => Ok(Expr {
                kind: ExprKind::Constant(Value::resources(Resource::default())),
                ty: Type::Resources,
                range: Range::int(0),
                span,
            }),
            (ExprKind::Conditional(condition, then, otherwise), _) => {
                match (self.coerce(*then, wanted), self.coerce(*otherwise, wanted)) {
                    (Ok(then), Ok(otherwise)) => {
                        let range = then.range.union(otherwise.range);
                        let kind = ExprKind::Conditional(condition, Box::new(then), Box::new(otherwise));
                        Ok(Expr { kind, ty: wanted.clone(), range, span })
                    }
                    (Ok(then), Err(otherwise)) | (Err(then), Ok(otherwise)) | (Err(then), Err(otherwise)) => {
                        let kind = ExprKind::Conditional(condition, Box::new(then), Box::new(otherwise));
                        Err(whole(kind, ty))
                    }
                }
            }
            (kind, _) => Err(whole(kind, ty)),
        }
    }

    fn coerce_record(
        &self,
        entries: Vec<(Expr, Expr, bool)>,
        ty: Type,
        span: Span,
        record: &Arc<RecordType>,
    ) -> Result<Expr, Expr> {
        // Each entry is looked for among the fields, and each field becomes an expression.
        let fields = record.fields.len();
        if !self.budget.checks.spend((fields + entries.len() * fields / 16) as u64) {
            return Err(Expr { kind: ExprKind::Map(entries), ty, range: Range::None, span });
        }
        let mut values: Vec<Option<Expr>> = record.fields.iter().map(|_| None).collect();
        let mut fits = true;
        for (key, value, _) in &entries {
            let at = self
                .constant_str(key)
                .and_then(|key| record.fields.iter().position(|(name, _)| *name == key));
            match at.map(|at| (at, self.coerce(value.clone(), &record.fields[at].1))) {
                Some((at, Ok(value))) => values[at] = Some(value),
                _ => fits = false,
            }
        }
        for (value, (_, ty)) in values.iter_mut().zip(record.fields.iter()) {
            if value.is_none() && ty.is_optional() {
                *value = Some(Expr {
                    kind: ExprKind::Constant(Value::Absent),
                    ty: ty.clone(),
                    range: Range::None,
                    span,
                });
            }
        }
        let values: Option<Vec<Expr>> = values.into_iter().collect();
        match values {
            Some(values) if fits => Ok(Expr {
                kind: ExprKind::Record(values),
                ty: Type::Record(record.clone()),
                range: Range::None,
                span,
            }),
            _ => Err(Expr { kind: ExprKind::Map(entries), ty, range: Range::None, span }),
        }
    }

    /// An int or count as a float.
    pub(super) fn widen(&self, expr: Expr) -> Expr {
        let ty = if expr.ty.is_optional() { Type::Float.optional() } else { Type::Float };
        let (range, span) = (expr.range.widen(), expr.span);
        let kind = match expr.kind {
            ExprKind::Constant(Value::Int(value)) => ExprKind::Constant(Value::Float(value as f64)),
            kind => ExprKind::Widen(Box::new(Expr { kind, ..expr })),
        };
        Expr { kind, ty, range, span }
    }

    /// The type that both fit, if there is one.
    pub(super) fn join(&self, a: &Type, b: &Type) -> Option<Type> {
        if a.is_unknown() {
            return Some(b.clone());
        }
        if b.is_unknown() || a == b {
            return Some(a.clone());
        }
        match (a, b) {
            (Type::Optional(a), b) => self.join(a, b.present()).map(Type::optional),
            (a, Type::Optional(b)) => self.join(a, b).map(Type::optional),
            (Type::Never, other) | (other, Type::Never) => Some(other.clone()),
            (Type::Float, Type::Int | Type::Count) | (Type::Int | Type::Count, Type::Float) => {
                Some(Type::Float)
            }
            (Type::Count, Type::Int) | (Type::Int, Type::Count) => Some(Type::Count),
            (Type::CelOptional(a), Type::CelOptional(b)) => match (&**a, &**b) {
                (Type::Never, other) | (other, Type::Never) => {
                    Some(Type::CelOptional(Arc::new(other.clone())))
                }
                (Type::Dyn, _) | (_, Type::Dyn) => Some(Type::CelOptional(Arc::new(Type::Dyn))),
                _ => None,
            },
            (a, b) if a.has_elements() && a.covers(b) => Some(a.clone()),
            (a, b) if b.has_elements() && b.covers(a) => Some(b.clone()),
            (Type::Map(k, _), other @ (Type::Map(..) | Type::Resources | Type::Record(_)))
            | (other @ (Type::Map(..) | Type::Resources | Type::Record(_)), Type::Map(k, _))
                if **k == Type::Never =>
            {
                Some(other.clone())
            }
            _ => None,
        }
    }
}

/// A 0 without a unit, which fits every unit; `0cpu` does not.
pub(super) fn is_zero(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(Value::Int(0))) && matches!(expr.ty, Type::Int | Type::Count)
}
