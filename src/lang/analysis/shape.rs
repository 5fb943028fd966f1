//! Shapes of typed expressions that columns answer: a label of the node, an amount of the node, a constant.

use crate::lang::language::fields::{FieldId, ObjectType};
use crate::lang::typed::{Expr, ExprKind, Policy, Root};
use crate::lang::types::value::Constant;
use crate::model::Symbol;

/// Which column of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// `node.allocatable`
    Allocatable,
    /// `node.requested`
    Requested,
    /// `node.free`
    Free,
}

/// The expression behind lets, proofs of presence and brackets.
pub fn peel<'p>(policy: &'p Policy, expr: &'p Expr) -> &'p Expr {
    match &expr.kind {
        ExprKind::Let(id) => match policy.lets.get(id.0 as usize) {
            Some(of) if of.missing.is_none() => peel(policy, &of.value),
            _ => expr,
        },
        ExprKind::Present(inner) => peel(policy, inner),
        _ => expr,
    }
}

/// The value of an expression that is a constant, a param or a let of these.
pub fn constant(policy: &Policy, expr: &Expr) -> Option<Constant> {
    match &peel(policy, expr).kind {
        ExprKind::Constant(constant) => Some(constant.clone()),
        ExprKind::Param(param) => Some(policy.params.get(param.0 as usize)?.value.clone()),
        _ => None,
    }
}

fn text(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    constant(policy, expr)?.as_str().map(Symbol::new)
}

/// A field of `node`.
fn node_field(policy: &Policy, expr: &Expr) -> Option<FieldId> {
    let ExprKind::Field(object, field) = &peel(policy, expr).kind else { return None };
    let is_node = matches!(peel(policy, object).kind, ExprKind::Root(Root::Node));
    (is_node && field.def().owner == ObjectType::Node).then_some(*field)
}

/// `node.labels["key"]` with a constant key.
pub fn node_label(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    let ExprKind::Index(labels, key) = &peel(policy, expr).kind else { return None };
    (node_field(policy, labels)?.def().name == "labels").then(|| text(policy, key)).flatten()
}

/// `node.labels`
pub fn is_node_labels(policy: &Policy, expr: &Expr) -> bool {
    node_field(policy, expr).is_some_and(|field| field.def().name == "labels")
}

/// A constant text.
pub fn constant_text(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    text(policy, expr)
}

/// `node.free["resource"]` and the like, with a constant name.
pub fn node_resource(policy: &Policy, expr: &Expr) -> Option<(Part, Symbol)> {
    let ExprKind::Resource(resources, name) = &peel(policy, expr).kind else { return None };
    let part = match node_field(policy, resources)?.def().name {
        "allocatable" => Part::Allocatable,
        "requested" => Part::Requested,
        "free" => Part::Free,
        _ => return None,
    };
    Some((part, text(policy, name)?))
}

/// `node.unschedulable`
pub fn is_node_unschedulable(policy: &Policy, expr: &Expr) -> bool {
    node_field(policy, expr).is_some_and(|field| field.def().name == "unschedulable")
}
