//! The data of the waiting pod itself that the conditions of a permit read. At one moment a condition has
//! the same answer for all pods with the same inputs, so `permit.rs` evaluates it once for them.

use super::distance::Distance;
use super::events::RuleInterest;
use super::waits::ConditionKey;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::policy_set::CompiledPolicy;
use bayplan_lang::typed::walk;
use bayplan_lang::typed::{self, Expr, ExprKind, GroupId, Point, Policy, Root, Statement};
use bayplan_lang::types::convert;
use bayplan_lang::types::value::Ordered;
use bayplan_model::{IndexKey, Kinds};

/// The inputs of each condition of a policy's permits.
pub(super) struct PodInputs {
    pub(super) waits: Vec<ConditionInputs>,
    pub(super) checks: Vec<ConditionInputs>,
}

impl PodInputs {
    pub(super) fn of(compiled: &CompiledPolicy) -> Self {
        let (policy, part) = (&compiled.policy, compiled.rules());
        let rules = || part.at(Point::Permit);
        let waits = rules().flat_map(|rule| rule.waits().iter().map(move |of| (rule, of)));
        let waits = waits.map(|(rule, of)| {
            let until = part.condition(rule, Statement::Wait(of));
            let until = until.as_deref().unwrap_or(&of.until);
            ConditionInputs::of(policy, [until], &of.reads, Distance::of(policy, until))
        });
        let checks = rules().flat_map(|rule| rule.checks().map(move |of| (rule, of)));
        let checks = checks.map(|(rule, of)| {
            let condition = part.condition(rule, Statement::Check(of));
            ConditionInputs::of(policy, condition.as_deref(), &of.reads, Distance::One)
        });
        Self { waits: waits.collect(), checks: checks.collect() }
    }
}

/// What a condition reads.
pub(super) struct ConditionInputs {
    /// The largest parts that read the waiting pod, its namespace, and nothing else. `None`: the condition reads more
    /// of the pod than values can tell.
    parts: Option<Vec<Expr>>,
    /// The groups that it reads, with their indexes. `None`: more than the parts and members of groups can change its
    /// result.
    pub(super) groups: Option<Vec<(GroupId, IndexKey)>>,
    /// How many members must change before it can hold.
    pub(super) distance: Distance,
}

impl ConditionInputs {
    fn of<'e>(
        policy: &'e Policy,
        conditions: impl IntoIterator<Item = &'e Expr>,
        reads: &typed::reads::RuleReads,
        distance: Distance,
    ) -> Self {
        let conditions: Vec<&'e Expr> = conditions.into_iter().collect();
        let mut parts = Vec::new();
        let all = conditions.iter().all(|condition| collect(policy, condition, &mut parts));
        let interest = RuleInterest::of(policy, conditions.iter().copied(), reads);
        // The parts hold what is read of the namespace.
        let of_groups = !reads.clock
            && reads.ledgers.is_empty()
            && reads.memos.is_empty()
            && Kinds::NAMESPACES.with(interest.kinds) == Kinds::NAMESPACES;
        Self { parts: all.then_some(parts), groups: of_groups.then_some(interest.groups), distance }
    }

    /// The condition at `at` with its inputs for a pod; `None`: no other pod has the same.
    pub(super) fn key(&self, policy: &Policy, at: usize, context: EvalContext<'_>) -> Option<ConditionKey> {
        let mut evaluator = Evaluator::new(policy, context);
        let parts = self.parts.as_ref()?.iter();
        Some((at, parts.map(|part| Ordered(convert::keep_seen(&evaluator.value(part)))).collect()))
    }
}

/// What an expression reads.
#[derive(Clone, Copy, Default)]
struct Origin {
    /// The pod or its namespace.
    pod: bool,
    /// Anything else that is not a constant.
    other: bool,
}

fn reads(policy: &Policy, expr: &Expr) -> Origin {
    match &expr.kind {
        ExprKind::Root(Root::Pod | Root::Namespace) => Origin { pod: true, other: false },
        ExprKind::Root(_)
        | ExprKind::Group(_)
        | ExprKind::Ledger(..)
        | ExprKind::Memo(_)
        | ExprKind::Source(..)
        | ExprKind::Now
        | ExprKind::LookUp(..)
        | ExprKind::Slot(_)
        | ExprKind::CallDef(..) => Origin { pod: false, other: true },
        // The placement of a pod is not part of the pod.
        ExprKind::Field(_, field) if field.def().changed_by == Kinds::PLACEMENT => {
            Origin { pod: false, other: true }
        }
        ExprKind::Macro(_) => Origin { pod: false, other: true },
        ExprKind::Let(id) => reads(policy, &policy[*id].value),
        _ => walk::parts(expr).into_iter().fold(Origin::default(), |all, child| {
            let of = reads(policy, child);
            Origin { pod: all.pod || of.pod, other: all.other || of.other }
        }),
    }
}

/// Collects the parts. Whether they are everything that is read of the pod.
fn collect(policy: &Policy, expr: &Expr, parts: &mut Vec<Expr>) -> bool {
    let of = reads(policy, expr);
    if of.pod && !of.other && convert::can_be_kept(&expr.ty) {
        parts.push(expr.clone());
        return true;
    }
    match &expr.kind {
        // The pod as a whole, or the node it is on.
        ExprKind::Root(Root::Pod | Root::Namespace | Root::Node) => false,
        ExprKind::Field(object, field) if field.def().changed_by == Kinds::PLACEMENT => {
            // Of a member it is the group's; of the pod itself it is its own.
            !reads(policy, object).pod && collect(policy, object, parts)
        }
        ExprKind::Let(id) => collect(policy, &policy[*id].value, parts),
        ExprKind::Memo(id) => collect(policy, &policy[*id].key, parts),
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
