//! What names mean in CEL: variables, names of types, and names with dots.

use crate::check::Checker;
use crate::check::scope::LocalKind;
use crate::language::environments::Row;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Operation, SlotId};
use crate::types::value::{FaultKind, Value};
use crate::types::{CelType, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// CEL's names of types, which are values: what `type(x)` is compared with.
fn type_named(name: &str) -> Option<Type> {
    let dynamic = || Arc::new(Type::Dyn);
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Float,
        "string" => Type::String,
        "bytes" => Type::Blob,
        "list" => Type::List(dynamic()),
        "map" => Type::Map(dynamic(), dynamic()),
        "null_type" => Type::Null,
        "type" => Type::TypeName,
        "optional_type" => Type::CelOptional(Arc::new(Type::Never)),
        "google.protobuf.Duration" => Type::Cel(CelType::Duration),
        "google.protobuf.Timestamp" => Type::Cel(CelType::Timestamp),
        "net.IP" => Type::Cel(CelType::Ip),
        "net.CIDR" => Type::Cel(CelType::Cidr),
        _ => return None,
    })
}

/// Variables of other places of Kubernetes' CEL: why a rule has none, and what to write.
fn refused(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "authorizer" => (
            "a scheduler has no request to authorize",
            "compare `pod.service_account` or `pod.namespace`; RBAC and admission policies decide who may create a pod",
        ),
        "request" => ("a scheduler has no request", "the pod is `pod`, its namespace `ns`"),
        "object" | "oldObject" | "self" | "oldSelf" => (
            "a rule reads a pod and a node",
            "write `pod` or `node`; what is not a field of ours is below `pod.spec`",
        ),
        "namespaceObject" => ("the namespace of the pod has another name", "write `ns`"),
        "device" => ("a rule reads a pod and a node", "selectors of devices are in resource claims"),
        _ => return None,
    })
}

/// A type of `google.protobuf` that no value has, in a name with dots.
pub(super) fn is_message_type(name: &str) -> bool {
    name.trim_start_matches('.').strip_prefix("google.protobuf.").is_some_and(|of| !of.contains('.'))
}

/// `a.b.c` as one name, where it consists of names and dots only.
pub(super) fn qualified(of: &ast::Expr) -> Option<String> {
    match &of.kind {
        ast::ExprKind::Name(name) => Some(name.to_string()),
        ast::ExprKind::Field(access) if !access.optional => {
            Some(format!("{}.{}", qualified(&access.object)?, access.field.text))
        }
        _ => None,
    }
}

impl Checker<'_> {
    /// A variable or a type of this name.
    pub(super) fn cel_known(&mut self, name: &str, span: Span) -> Option<Expr> {
        // A dot in front passes the variables of macros by.
        if !name.starts_with('.') && self.is_local(name) {
            let value = self.name(&ast::Text::from(name), span);
            if self.reads_a_type(name, &value.ty, span) {
                return Some(self.named_by_variable(name, span));
            }
            return Some(self.of_macro_variable(value));
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(binding) = self.binding(name, span) {
            return Some(binding);
        }
        if self.is_variable(name) {
            let value = self.name(&ast::Text::from(name), span);
            return Some(self.demand(value, FaultKind::NoSuchField));
        }
        type_named(name).map(|ty| self.type_value(name, ty, span))
    }

    fn type_value(&self, name: &str, ty: Type, span: Span) -> Expr {
        let value = Value::TypeName(bayplan_model::Symbol::from(name));
        self.make(ExprKind::Constant(value), Type::TypeOf(Arc::new(ty)), span)
    }

    /// Whether a macro around the expression declares the name.
    pub(super) fn is_local(&self, name: &str) -> bool {
        let own = self.frame.locals.iter().rev().find(|local| *local.name == *name);
        own.is_some_and(
            |local| matches!(local.kind, LocalKind::Slot(slot, _) if slot.index() >= self.cel.bindings),
        )
    }

    /// Whether cel-go takes a variable of this type for the name of a type.
    pub(super) fn names_a_type(&self, ty: &Type) -> bool {
        let names = matches!(self.cel.inference.resolve(ty), Type::TypeOf(_) | Type::TypeName);
        names && !self.has_row(Row::TypeVariables)
    }

    /// Whether cel-go takes a variable that is read here for the name of a type. Where its type is open, the type is checked at
    /// the end of the expression.
    pub(super) fn reads_a_type(&mut self, name: &str, ty: &Type, span: Span) -> bool {
        if matches!(self.cel.inference.resolve(ty), Type::Variable(_)) {
            self.cel.doubts.read(name, span, ty.clone());
        }
        self.names_a_type(ty)
    }

    /// The type that a variable of a macro names in cel-go, where there is one.
    pub(super) fn named_by_variable(&mut self, name: &str, span: Span) -> Expr {
        match type_named(name) {
            Some(ty) => self.type_value(name, ty, span),
            None => {
                let message =
                    format!("`{name}` stands for types, and Kubernetes' CEL takes it for the name of one");
                self.mistake(
                    &codes::UNKNOWN_NAME,
                    span,
                    message,
                    "compare with the type where it is computed",
                );
                self.unknown(span)
            }
        }
    }

    /// The variable of a macro: cel-go makes its optionals anew where it reads them. Where it is in doubt its value may
    /// be a fault, and is of any type.
    fn of_macro_variable(&mut self, value: Expr) -> Expr {
        let ExprKind::Slot(slot) = &value.kind else { return value };
        let doubted = self.cel.doubts.is_doubted(*slot);
        let value = self.branch(value, true);
        if !doubted {
            return value;
        }
        self.cel.doubts.doubt();
        let (ty, span) = (value.ty.clone(), value.span);
        self.dynamic_node(Operation::Demand(FaultKind::BadArgument), vec![value], ty, span)
    }

    /// A variable that is given when the expression is evaluated, also where the variable of a macro hides it.
    fn binding(&self, name: &str, span: Span) -> Option<Expr> {
        let slot = self.declared.slots.iter().take(self.cel.bindings).position(|slot| *slot.name == *name)?;
        let ty = self.declared.slots.get(slot)?.ty.clone();
        Some(self.make(ExprKind::Slot(SlotId(slot as u32)), ty, span))
    }

    fn is_variable(&self, name: &str) -> bool {
        let known = || self.names.contains_key(name) || crate::check::scope::root(name).is_some();
        self.frame.locals.iter().any(|local| *local.name == *name) || self.has_row(Row::Names) && known()
    }

    pub(super) fn cel_name(&mut self, name: &ast::Text, span: Span) -> Expr {
        if let Some(known) = self.cel_known(name, span) {
            return known;
        }
        if let Some((why, instead)) =
            refused(name).filter(|_| self.has_row(Row::Names) || &**name == "authorizer")
        {
            let message = format!("`{name}` is not known here: {why}");
            self.mistake(&codes::UNKNOWN_NAME, span, message, instead);
            return self.unknown(span);
        }
        self.unknown_name(name, span);
        self.unknown(span)
    }
}
