//! What the statements of a policy say of a pod at one extension point, with places and values. `because` and
//! `cli explain` read it.

use crate::lang::eval::context::EvalContext;
use crate::lang::eval::trace::{Reach, StatementTrace, ValueTrace, reason_of_fault, trace};
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::typed::{Point, Rule, Statement};
use crate::plugins::policy::{ExemptPods, why_exempt};
use std::sync::Arc;

/// What a statement found.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// `policy/rule`.
    pub rule: String,
    /// Where the statement is written.
    pub place: String,
    /// What the author wrote about it.
    pub doc: Option<String>,
    /// The reason of its refusal, holes filled.
    pub reason: Option<String>,
    /// The values that its author named.
    pub details: Vec<(String, String)>,
    /// The error of its condition.
    pub error: Option<String>,
    /// The condition with its parts.
    pub condition: Option<ValueTrace>,
    /// Whether it refuses the pod.
    pub refuses: bool,
    /// Whether it is a `wait` whose condition does not hold.
    pub waits: bool,
}

impl Told {
    fn of(policy: &CompiledPolicy, of: StatementTrace<'_>) -> Self {
        let StatementTrace { finding, reason, fault, details, condition } = of;
        let reached = finding.reach == Reach::Evaluated;
        let applies = matches!(finding.statement, Statement::Condition(_)) && finding.holds == Some(true);
        // A fault of `applies when` refuses: whether the policy applies is not known.
        let failed = fault.as_ref().filter(|_| applies && matches!(finding.rule, Rule::Applies(_)));
        let on_error = policy.policy.on_error;
        let of_fault =
            failed.map(|fault| reason_of_fault(policy.name(), finding.rule.name(), on_error, &fault.message));
        let doc = match (finding.rule, finding.statement) {
            (_, Statement::Check(check)) if check.doc.is_some() => check.doc.as_deref(),
            (Rule::Filter(filter), _) => filter.doc.as_deref(),
            _ => None,
        };
        Self {
            rule: format!("{}/{}", policy.name(), finding.rule.name()),
            place: policy.place(finding.statement.span()).to_owned(),
            doc: doc.map(str::to_owned),
            refuses: reached && (finding.decides && reason.is_some() || failed.is_some()),
            waits: matches!(finding.statement, Statement::Wait(_)) && finding.holds == Some(false),
            reason: of_fault.or(reason),
            details,
            error: fault.map(|fault| policy.described(&fault)),
            condition,
        }
    }

    /// The values that the author named, in brackets: ` (used: 15, pool: 16)`.
    pub fn values(&self) -> String {
        let shown: Vec<String> =
            self.details.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
    }
}

/// What the statements of a policy say at an extension point.
pub fn told(policy: &CompiledPolicy, point: Point, context: EvalContext<'_>) -> Vec<Told> {
    trace(policy.enforced(), point, context).into_iter().map(|of| Told::of(policy, of)).collect()
}

/// The statement that refuses a pod before nodes are evaluated.
pub fn refused_before_nodes(policy: &CompiledPolicy, context: EvalContext<'_>) -> Option<Told> {
    let points = [Point::Applies, Point::PreFilter].into_iter();
    points.flat_map(|point| told(policy, point, context)).find(|told| told.refuses)
}

/// The statement that refuses a pod on the node that was chosen, on which it counts already.
pub fn refused_late(policy: &CompiledPolicy, context: EvalContext<'_>) -> Option<Told> {
    let points = [Point::Reserve, Point::Permit].into_iter();
    points.flat_map(|point| told(policy, point, context)).find(|told| told.refuses)
}

/// The policies whose rules about refusals concern a pod.
pub fn applying<'p>(policies: &'p PolicySet, context: EvalContext<'_>) -> Vec<&'p Arc<CompiledPolicy>> {
    let exempt = why_exempt(context.pod, &ExemptPods::default(), context.snapshot).is_some();
    let narrowed = |policy: &CompiledPolicy| {
        policy.policy.narrows().all(|condition| policy.evaluator(context).holds(condition))
    };
    policies.iter().filter(|policy| (policy.policy.to_all_pods || !exempt) && narrowed(policy)).collect()
}
