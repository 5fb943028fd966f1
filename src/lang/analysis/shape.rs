//! Shapes of typed expressions: a constant, a label of the node, an amount of the node.

use crate::language::fields::{FieldDef, Meaning, ObjectType};
use crate::typed::{Expr, ExprKind, Policy, Root};
use crate::types::value::Constant;
use bayplan_model::Kinds;
use bayplan_model::Symbol;

/// Which amount of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResourceAmount {
    /// `node.allocatable`
    Allocatable,
    /// `node.requested`
    Requested,
    /// `node.free`
    Free,
}

/// The expression that a let names, without proofs of presence.
pub fn resolve_alias<'p>(policy: &'p Policy, expr: &'p Expr) -> &'p Expr {
    match &expr.kind {
        ExprKind::Let(id) if policy[*id].missing.is_none() => resolve_alias(policy, &policy[*id].value),
        ExprKind::Present(inner) => resolve_alias(policy, inner),
        _ => expr,
    }
}

/// The value of an expression that is a constant, a param or a let of these.
pub fn constant(policy: &Policy, expr: &Expr) -> Option<Constant> {
    match &resolve_alias(policy, expr).kind {
        ExprKind::Constant(constant) => Some(constant.clone()),
        ExprKind::Param(param) => Some(policy[*param].value.clone()),
        _ => None,
    }
}

fn text(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    constant(policy, expr)?.as_str().map(Symbol::new)
}

/// A field of `node`.
fn node_field(policy: &Policy, expr: &Expr) -> Option<&'static FieldDef> {
    let ExprKind::Field(object, field) = &resolve_alias(policy, expr).kind else { return None };
    let is_node = matches!(resolve_alias(policy, object).kind, ExprKind::Root(Root::Node));
    let field = field.def();
    (is_node && field.owner == ObjectType::Node).then_some(field)
}

/// `node.labels["key"]` with a constant key.
pub(crate) fn node_label(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    let ExprKind::Index(labels, key) = &resolve_alias(policy, expr).kind else { return None };
    is_node_labels(policy, labels).then(|| text(policy, key)).flatten()
}

/// `node.labels`
pub fn is_node_labels(policy: &Policy, expr: &Expr) -> bool {
    node_field(policy, expr).is_some_and(|field| field.meaning == Some(Meaning::Labels))
}

/// A constant text.
pub(crate) fn constant_text(policy: &Policy, expr: &Expr) -> Option<Symbol> {
    text(policy, expr)
}

/// `node.free["resource"]` and the like, with a constant name.
pub(crate) fn node_resource(policy: &Policy, expr: &Expr) -> Option<(ResourceAmount, Symbol)> {
    let ExprKind::Resource(resources, name) = &resolve_alias(policy, expr).kind else { return None };
    let part = match node_field(policy, resources)?.meaning? {
        Meaning::Allocatable => ResourceAmount::Allocatable,
        Meaning::Requested => ResourceAmount::Requested,
        Meaning::Free => ResourceAmount::Free,
        _ => return None,
    };
    Some((part, text(policy, name)?))
}

/// `node.unschedulable`
pub(crate) fn is_node_unschedulable(policy: &Policy, expr: &Expr) -> bool {
    node_field(policy, expr).is_some_and(|field| field.changed_by == Kinds::UNSCHEDULABLE)
}

/// `node.pods.count()` and `size(node.pods)`
pub fn is_count_of_node_pods(policy: &Policy, expr: &Expr) -> bool {
    let ExprKind::Call(function, args, _) = &expr.kind else { return false };
    let [pods] = &args[..] else { return false };
    function.def().counts_elements
        && node_field(policy, pods).is_some_and(|field| field.objects() == Some(ObjectType::Pod))
}

/// The amount of a resource that `node.free` names, and the one that `pod.requests` names: the
/// resource.
pub fn free_and_requested<'p>(
    policy: &'p Policy,
    node: &'p Expr,
    pod: &'p Expr,
) -> Option<(&'p Expr, &'p Expr)> {
    let resource_of = |expr: &'p Expr, owner: Root, meaning: Meaning| {
        let ExprKind::Resource(resources, resource) = &resolve_alias(policy, expr).kind else { return None };
        let ExprKind::Field(object, field) = &resolve_alias(policy, resources).kind else { return None };
        let of_owner = matches!(&resolve_alias(policy, object).kind, ExprKind::Root(root) if *root == owner);
        (of_owner && field.def().meaning == Some(meaning)).then_some(&**resource)
    };
    resource_of(node, Root::Node, Meaning::Free).zip(resource_of(pod, Root::Pod, Meaning::Requests))
}
