//! What the statements of a policy say of a pod at one extension point, with places and values. `because` and
//! `cli explain` read it.

use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::trace::{Reach, StatementTrace, Tracer, ValueTrace, reason_of_fault, trace};
use bayplan_lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan_lang::typed::{Body, Missing, Point, Statement};
use bayplan_model::PodInfo;
use bayplan_policy::{ExemptPods, why_exempt};
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
    /// How a `wait` whose condition does not hold makes the pod wait.
    pub waits: Option<&'static str>,
    /// Whether it ends the attempt with an error: a `let` whose value is missing.
    pub fails: bool,
    /// The nodes that it leaves, where it narrows them.
    pub nodes: Option<String>,
}

impl Told {
    fn of(policy: &CompiledPolicy, of: StatementTrace<'_>) -> Self {
        let StatementTrace { finding, reason, fault, details, condition, nodes } = of;
        let reached = finding.reach == Reach::Evaluated;
        let missing = match finding.statement {
            Statement::Missing(of, Missing::Error) if finding.decides => Some(&of.name),
            _ => None,
        };
        // Without a condition, or where it holds.
        let narrows = reached && finding.holds != Some(false);
        let applies = matches!(finding.statement, Statement::Condition(_)) && finding.holds == Some(true);
        // A fault of `applies when` refuses: whether the policy applies is not known.
        let failed = fault.as_ref().filter(|_| applies && matches!(finding.rule.body, Body::Applies(_)));
        let on_error = policy.policy.on_error;
        let of_fault =
            failed.map(|fault| reason_of_fault(policy.name(), finding.rule.name(), on_error, &fault.message));
        let doc = match (&finding.rule.body, finding.statement) {
            (_, Statement::Check(check)) if check.doc.is_some() => check.doc.as_deref(),
            (Body::Filter(_), _) => finding.rule.head.doc.as_deref(),
            _ => None,
        };
        Self {
            rule: format!("{}/{}", policy.name(), finding.rule.name()),
            place: policy.place(finding.statement.span()).to_owned(),
            doc: doc.map(str::to_owned),
            refuses: reached && (finding.decides && reason.is_some() || failed.is_some()),
            waits: finding.waits().filter(|_| finding.holds == Some(false)),
            reason: of_fault.or(reason),
            details,
            error: match missing {
                Some(name) => Some(format!("`{name}` is absent, and `missing` says that this is an error")),
                None => fault.map(|fault| policy.described(&fault)),
            },
            fails: reached && missing.is_some(),
            nodes: nodes.filter(|_| narrows),
            condition,
        }
    }

    /// The values that the author named, in brackets: ` (used: 15, pool: 16)`.
    pub fn values(&self) -> String {
        values(&self.details)
    }
}

/// Named values in brackets, after a blank: ` (used: 15, pool: 16)`.
pub fn values(details: &[(String, String)]) -> String {
    let shown: Vec<String> = details.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
}

/// What the statements of a policy say at an extension point.
pub fn told(policy: &CompiledPolicy, point: Point, context: EvalContext<'_>) -> Vec<Told> {
    trace(policy.enforced(), point, context).into_iter().map(|of| Told::of(policy, of)).collect()
}

/// The statement that refuses a pod before nodes are evaluated, or ends its attempt with an error.
pub fn refused_before_nodes(policy: &CompiledPolicy, context: EvalContext<'_>) -> Option<Told> {
    let points = [Point::Applies, Point::PreFilter].into_iter();
    points.flat_map(|point| told(policy, point, context)).find(|told| told.refuses || told.fails)
}

/// Whether a policy comes to its rules about nodes: it applies to the pod, and no `let` of it is missing.
pub fn judges_nodes(policy: &CompiledPolicy, context: EvalContext<'_>) -> bool {
    trace(policy.enforced(), Point::Applies, context)
        .iter()
        .all(|of| !of.finding.decides && of.fault.is_none())
}

/// The statement that refuses a pod on the node that was chosen, on which it counts already.
pub fn refused_late(policy: &CompiledPolicy, context: EvalContext<'_>) -> Option<Told> {
    let points = [Point::Reserve, Point::Permit].into_iter();
    points.flat_map(|point| told(policy, point, context)).find(|told| told.refuses)
}

/// Why a pod evicts no other pod.
pub fn never_evicts(policies: &PolicySet, context: EvalContext<'_>) -> Vec<Told> {
    let all = applying(policies, context).into_iter();
    all.flat_map(|policy| told(policy, Point::PostFilter, context)).filter(|told| told.refuses).collect()
}

/// The statement that names a pod as one that may be evicted, or protects it; else one that ends with an error for it.
pub fn about_victim(
    policy: &CompiledPolicy,
    protects: bool,
    victim: &PodInfo,
    context: EvalContext<'_>,
) -> Option<Told> {
    let mut tracer = Tracer::of_victim(policy.enforced(), protects, victim, context);
    let mut failed = None;
    while let Some(finding) = tracer.next() {
        let fails = tracer.fault(&finding).is_some();
        if finding.decides {
            return Some(Told::of(policy, tracer.traced(finding)));
        }
        if fails && failed.is_none() {
            failed = Some(Told::of(policy, tracer.traced(finding)));
        }
    }
    failed
}

/// The guards that do not hold on a node without the pods that may be evicted.
pub fn guards(policies: &PolicySet, context: EvalContext<'_>) -> Vec<Told> {
    let of_policy = |policy: &Arc<CompiledPolicy>| {
        let all = Tracer::of_guards(policy.enforced(), context).traces().into_iter();
        all.map(|of| Told::of(policy, of)).find(|told| told.refuses)
    };
    applying(policies, context).into_iter().filter_map(of_policy).collect()
}

/// The policies that do not leave a pod alone as one that is exempt.
pub(crate) fn concerning<'p>(
    policies: &'p PolicySet,
    context: EvalContext<'_>,
) -> Vec<&'p Arc<CompiledPolicy>> {
    let exempt = why_exempt(context.pod, &ExemptPods::default(), context.snapshot).is_some();
    policies.iter().filter(|policy| policy.policy.to_all_pods || !exempt).collect()
}

/// The policies whose rules about refusals concern a pod.
pub fn applying<'p>(policies: &'p PolicySet, context: EvalContext<'_>) -> Vec<&'p Arc<CompiledPolicy>> {
    let narrowed = |policy: &CompiledPolicy| {
        policy.policy.narrows().all(|condition| policy.evaluator(context).holds(condition))
    };
    concerning(policies, context).into_iter().filter(|policy| narrowed(policy)).collect()
}
