//! What the conditions of a permit read of the pod that waits: pods of which it is the same get the same answer from a
//! condition at one moment. Made when a policy becomes a plugin; asked by `permit.rs`.

use super::waits::Question;
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::convert;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::walk;
use crate::lang::typed::{Expr, ExprKind, Policy, Root};
use crate::lang::types::value::Ordered;

/// For each condition of a policy's permits what it reads of the pod itself.
pub(super) struct PodInputs {
    pub(super) waits: Vec<Own>,
    pub(super) checks: Vec<Own>,
}

impl PodInputs {
    pub(super) fn of(compiled: &CompiledPolicy) -> Self {
        let policy = &compiled.policy;
        let permits = &policy.permits;
        let checks = permits.iter().flat_map(|permit| &permit.checks);
        Self {
            waits: permits
                .iter()
                .flat_map(|permit| &permit.waits)
                .map(|of| Own::of(policy, [&of.until]))
                .collect(),
            checks: checks.map(|of| Own::of(policy, &of.condition)).collect(),
        }
    }
}

/// The largest parts of a condition that read the pod that waits, its namespace, and nothing else.
pub(super) struct Own(Option<Vec<Expr>>);

impl Own {
    fn of<'e>(policy: &Policy, conditions: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut parts = Vec::new();
        let all = conditions.into_iter().all(|condition| collect(policy, condition, &mut parts));
        Self(all.then_some(parts))
    }

    /// The question that the condition at `at` is for a pod; `None`: it is nobody else's.
    pub(super) fn ask(&self, policy: &Policy, at: usize, context: EvalContext<'_>) -> Option<Question> {
        let mut evaluator = Evaluator::new(policy, context);
        let parts = self.0.as_ref()?.iter();
        Some((at, parts.map(|part| Ordered(convert::keep(&evaluator.value(part)))).collect()))
    }
}

/// What an expression reads.
#[derive(Clone, Copy, Default)]
struct Reads {
    /// The pod or its namespace.
    pod: bool,
    /// Anything else that is no constant.
    other: bool,
}

fn reads(policy: &Policy, expr: &Expr) -> Reads {
    match &expr.kind {
        ExprKind::Root(Root::Pod | Root::Namespace) => Reads { pod: true, other: false },
        ExprKind::Root(_)
        | ExprKind::Group(_)
        | ExprKind::Now
        | ExprKind::Slot(_)
        | ExprKind::CallDef(..) => Reads { pod: false, other: true },
        // Where a pod is placed is no part of the pod.
        ExprKind::Field(_, field)
            if field.def().changed_by == crate::lang::language::fields::ChangedBy::Placement =>
        {
            Reads { pod: false, other: true }
        }
        ExprKind::Macro(_) => Reads { pod: false, other: true },
        ExprKind::Let(id) => reads(policy, &policy[*id].value),
        _ => walk::parts(expr).into_iter().fold(Reads::default(), |all, child| {
            let of = reads(policy, child);
            Reads { pod: all.pod || of.pod, other: all.other || of.other }
        }),
    }
}

/// Collects the parts. Whether they are all that is read of the pod.
fn collect(policy: &Policy, expr: &Expr, parts: &mut Vec<Expr>) -> bool {
    let of = reads(policy, expr);
    if of.pod && !of.other && convert::can_be_kept(&expr.ty) {
        parts.push(expr.clone());
        return true;
    }
    match &expr.kind {
        // The pod as a whole, or the node it is on.
        ExprKind::Root(Root::Pod | Root::Namespace | Root::Node) => false,
        ExprKind::Field(object, field)
            if field.def().changed_by == crate::lang::language::fields::ChangedBy::Placement =>
        {
            // Of a member it is the group's; of the pod itself it is its own.
            !reads(policy, object).pod && collect(policy, object, parts)
        }
        ExprKind::Let(id) => collect(policy, &policy[*id].value, parts),
        ExprKind::Group(id) => {
            let group = &policy[*id];
            group.keys.iter().all(|key| collect(policy, &key.pod, parts))
                && group.rest.iter().all(|condition| collect(policy, condition, parts))
        }
        ExprKind::CallDef(def, args) => {
            args.iter().all(|arg| collect(policy, arg, parts)) && collect(policy, &policy[*def].body, parts)
        }
        _ => walk::parts(expr).into_iter().all(|child| collect(policy, child, parts)),
    }
}
