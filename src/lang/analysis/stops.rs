//! Which errors of CEL stop every pod for which they happen, because no node can help it then: before nodes are evaluated,
//! on every node alike, or once a node is chosen. `faults` warns of them, and `plan` lists them.

use super::faults::sources_in;
use super::stage::depends;
use crate::syntax::ast::OnError;
use crate::typed::operation::{each_exposed_part, is_source};
use crate::typed::{Body, Expr, ExprKind, Operation, Policy, Root, Rule, Statement};
use crate::types::value::FaultKind;
use bayplan_diag::Span;

/// A place whose error stops every pod for which it happens.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The operation.
    pub span: Span,
    /// The label or annotation that such a pod is without, in words.
    pub lacks: Option<String>,
    /// What happens to such a pod.
    pub how: Stopped,
}

/// What happens to a pod for which an expression ends with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A gate keeps it out of the queue.
    Kept,
    /// It is refused, whatever the node.
    Refused,
    /// It is refused on the node that was chosen, and no other node is tried.
    RefusedLate,
}

/// Every such place of a policy that depends on the pod alone, each once.
pub fn stops(policy: &Policy) -> Vec<Stop> {
    let mut found: Vec<Stop> = Vec::new();
    for rule in policy.rules.iter().filter(|_| policy.cel) {
        for (source, _) in rule.statements(policy).flat_map(|statement| sources(policy, rule, statement)) {
            let how = match rule.body {
                Body::Gate(_) => Stopped::Kept,
                Body::Reserve(_) | Body::Permit(_) => Stopped::RefusedLate,
                _ => Stopped::Refused,
            };
            // Where a node has a say, such an error does not depend on the pod alone.
            let of_node = depends(policy, &source, &mut Vec::new()).node;
            if !of_node && !found.iter().any(|known| known.span == source.span) {
                found.push(Stop { span: source.span, lacks: lacks(&source), how });
            }
        }
    }
    found
}

/// The operations of a statement that may fail and stop pods then, and what they do.
pub(super) fn sources(policy: &Policy, rule: &Rule, statement: Statement<'_>) -> Vec<(Expr, &'static str)> {
    let does = match (&rule.body, statement) {
        (Body::Applies(_) | Body::Missing(_) | Body::Prefilter(_), _) => {
            "the policy then refuses the pod, whatever the node"
        }
        (Body::Gate(_), _) => "the gate then keeps the pod out of the queue",
        (Body::Filter(_), _) => "the filter then refuses the pod on every node",
        (Body::Permit(_), Statement::Wait(_)) => "the pod then waits until the time is over, and is refused",
        (Body::Reserve(_) | Body::Permit(_), _) => {
            "the pod is then refused on the node that was chosen, and no other is tried"
        }
        _ => return Vec::new(),
    };
    if on_error(policy, statement) == OnError::Ignore {
        return Vec::new();
    }
    let mut found = Vec::new();
    match (&rule.body, statement) {
        (Body::Filter(_), Statement::Check(check)) => {
            if let Some(condition) = &check.condition {
                on_every_node(policy, condition, !check.refuses_when, &mut found);
            }
        }
        (_, Statement::Wait(wait)) => sources_in(policy, &wait.until, &mut found),
        // A write must not fail.
        (_, Statement::Write(_)) => {}
        (_, statement) => {
            let parts = statement.condition().into_iter().chain(statement.value());
            parts.for_each(|part| sources_in(policy, part, &mut found));
        }
    }
    found.into_iter().map(|source| (source, does)).collect()
}

/// The operations that depend on the pod alone and after whose error no node passes: a condition that must be `wanted` for a
/// node to pass cannot be so then.
fn on_every_node(policy: &Policy, expr: &Expr, wanted: bool, found: &mut Vec<Expr>) {
    match &expr.kind {
        // A false part of `&&` absorbs the error of the other, as a true one of `||` does.
        ExprKind::And(left, right) if wanted => {
            on_every_node(policy, left, wanted, found);
            on_every_node(policy, right, wanted, found);
        }
        ExprKind::Or(left, right) if !wanted => {
            on_every_node(policy, left, wanted, found);
            on_every_node(policy, right, wanted, found);
        }
        // Where both have one, a pod may have both.
        ExprKind::And(left, right) | ExprKind::Or(left, right) => {
            let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
            on_every_node(policy, left, wanted, &mut of_left);
            on_every_node(policy, right, wanted, &mut of_right);
            if !of_left.is_empty() && !of_right.is_empty() {
                let fresh = of_left.into_iter().chain(of_right);
                let fresh = fresh.filter(|one| !found.iter().any(|known| known.span == one.span));
                let fresh: Vec<Expr> = fresh.collect();
                found.extend(fresh);
            }
        }
        ExprKind::Not(inner) => on_every_node(policy, inner, !wanted, found),
        ExprKind::Conditional(condition, ..) => on_every_node(policy, condition, wanted, found),
        ExprKind::Let(id) => on_every_node(policy, &policy[*id].value, wanted, found),
        // Whether it comes to each of its parts depends on values.
        ExprKind::Macro(_) | ExprKind::Coalesce(..) | ExprKind::CallDef(..) => {}
        _ => {
            if is_source(expr)
                && is_of_pod(policy, expr)
                && !found.iter().any(|known| known.span == expr.span)
            {
                found.push(expr.clone());
            }
            each_exposed_part(expr, &mut |part| on_every_node(policy, part, wanted, found));
        }
    }
}

fn is_of_pod(policy: &Policy, expr: &Expr) -> bool {
    let of = depends(policy, expr, &mut Vec::new());
    !of.node && !of.free
}

/// The label or annotation of the pod whose absence is the fault.
fn lacks(source: &Expr) -> Option<String> {
    let ExprKind::Dynamic(Operation::Demand(FaultKind::NoSuchKey), args) = &source.kind else { return None };
    let ExprKind::Index(object, key) = &args.first()?.kind else { return None };
    let (ExprKind::Field(of, field), ExprKind::Constant(key)) = (&object.kind, &key.kind) else {
        return None;
    };
    let of = match of.kind {
        ExprKind::Root(Root::Pod) => "",
        ExprKind::Root(Root::Namespace) => "namespace ",
        _ => return None,
    };
    Some(format!("the {of}{} `{}`", field.def().meaning?.entry()?, key.as_str()?))
}

/// What is done about a fault of a statement of such a rule.
fn on_error(policy: &Policy, statement: Statement<'_>) -> OnError {
    match statement {
        Statement::Check(check) => check.on_error,
        Statement::Only(only) => only.on_error,
        _ => policy.on_error,
    }
}
