//! What a pod must have for a policy to apply: tests of one value of the pod, from the conjuncts of
//! `applies when`. The framework files the policy under the narrowest one, so that a policy which
//! does not apply costs nothing.
//!
//! A precondition may admit a pod to which the policy does not apply, but never the other way
//! round.

use super::shape::{constant, constant_text, resolve_alias};
use crate::language::fields::Meaning;
use crate::typed::{CompareOp, Expr, ExprKind, Point, Policy, Root, Rule};
use crate::types::value::{Constant, Value};
use bayplan_diag::{Diagnostic, codes};
use bayplan_model::{PodInfo, PodPrecondition, Symbol};

/// All preconditions of a policy; none when `applies when` has none.
#[derive(Debug, Default)]
pub struct Preconditions(Vec<PodPrecondition>);

impl Preconditions {
    /// Of a policy.
    pub fn of(policy: &Policy) -> Self {
        Self(policy.applies().iter().filter_map(|conjunct| precondition(policy, conjunct)).collect())
    }

    /// Whether the policy may apply to the pod.
    pub fn may_apply(&self, pod: &PodInfo) -> bool {
        self.0.iter().all(|precondition| precondition.holds(pod))
    }

    /// The one that the fewest pods are likely to meet.
    pub fn narrowest(&self) -> Option<&PodPrecondition> {
        self.0.iter().min_by_key(|precondition| precondition.rank())
    }
}

/// Notes a policy whose `applies when` is evaluated for every pod, because no conjunct tests a
/// single value.
pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let tests_a_value =
        |conjunct| value_test(policy, conjunct).is_some() || precondition(policy, conjunct).is_some();
    if policy.applies().is_empty() || policy.applies().iter().any(tests_a_value) {
        return;
    }
    let message = "the policy evaluates `applies when` for every kind of pod";
    let help = "add a conjunct like `has(pod.labels[\"app\"])` or `pod.namespace == \"shop\"`";
    let span = policy.rules_at(Point::Applies).next().map_or(policy.name_span, Rule::span);
    diagnostics.push(Diagnostic::new(&codes::CANNOT_BE_FILED, span, message).with_help(help));
}

fn precondition(policy: &Policy, conjunct: &Expr) -> Option<PodPrecondition> {
    if let Some(resource) = requested(policy, conjunct) {
        return Some(PodPrecondition::Requests(resource));
    }
    // `"k" in pod.labels` asks what `has(pod.labels["k"])` asks.
    if let ExprKind::In(key, map) = &conjunct.kind
        && let (Some(path), Some(key)) = (pod_path(policy, map), constant_text(policy, key))
    {
        return match path {
            ("labels", None) => Some(PodPrecondition::Label(key)),
            ("annotations", None) => Some(PodPrecondition::Annotation(key)),
            _ => None,
        };
    }
    let (path, values) = value_test(policy, conjunct)?;
    let path = pod_path(policy, path)?;
    let Some(values) = values else {
        return match path {
            ("labels", Some(key)) => Some(PodPrecondition::Label(key)),
            ("annotations", Some(key)) => Some(PodPrecondition::Annotation(key)),
            _ => None,
        };
    };
    let values: Option<Vec<Symbol>> = values.iter().map(|value| value.as_str().map(Symbol::new)).collect();
    match (path, values?) {
        (("labels", Some(key)), values) => Some(PodPrecondition::LabelIn(key, values)),
        (("namespace", None), values) => Some(PodPrecondition::Namespace(values)),
        _ => None,
    }
}

/// `path == constant`, `path in [constants]`: the path and the constants; `has(path)`: the path.
fn value_test<'p>(policy: &'p Policy, conjunct: &'p Expr) -> Option<(&'p Expr, Option<Vec<Constant>>)> {
    let (path, values) = match &conjunct.kind {
        ExprKind::Equal(left, right) => {
            let (path, other) = if is_path(policy, left) { (left, right) } else { (right, left) };
            (path, Some(vec![constant(policy, other)?]))
        }
        ExprKind::In(path, values) => {
            let Value::List(values) = constant(policy, values)? else { return None };
            (path, Some(values.to_vec()))
        }
        ExprKind::Has(path) if !matches!(path.kind, ExprKind::Resource(..)) => (path, None),
        _ => return None,
    };
    is_path(policy, path).then_some((path, values))
}

/// Whether an expression is a path from `pod` or `ns` with constant keys, of one field or several: `pod.owner.kind`.
fn is_path(policy: &Policy, expr: &Expr) -> bool {
    match &resolve_alias(policy, expr).kind {
        ExprKind::Field(object, _) => {
            matches!(object.kind, ExprKind::Root(Root::Pod | Root::Namespace)) || is_path(policy, object)
        }
        ExprKind::Index(object, key) => is_path(policy, object) && constant(policy, key).is_some(),
        _ => false,
    }
}

/// `pod.namespace`, `pod.labels["k"]` and the like: the field and the constant key.
fn pod_path(policy: &Policy, path: &Expr) -> Option<(&'static str, Option<Symbol>)> {
    match &resolve_alias(policy, path).kind {
        ExprKind::Field(object, field) => {
            let is_pod = matches!(resolve_alias(policy, object).kind, ExprKind::Root(Root::Pod));
            is_pod.then(|| (field.def().name, None))
        }
        ExprKind::Index(object, key) => {
            let (field, none) = pod_path(policy, object)?;
            let key = constant_text(policy, key)?;
            none.is_none().then_some((field, Some(key)))
        }
        _ => None,
    }
}

/// `pod.requests[c] > 0`: the resource.
fn requested(policy: &Policy, conjunct: &Expr) -> Option<Symbol> {
    let ExprKind::Compare(op, left, right) = &conjunct.kind else { return None };
    let left = match &left.kind {
        ExprKind::Widen(inner) => inner,
        _ => left,
    };
    let ExprKind::Resource(resources, name) = &resolve_alias(policy, left).kind else { return None };
    let ExprKind::Field(object, field) = &resources.kind else { return None };
    let Value::Int(bound) = constant(policy, right)? else { return None };
    let above = match op {
        CompareOp::Greater => bound >= 0,
        CompareOp::GreaterEqual => bound >= 1,
        _ => false,
    };
    let of_pod =
        field.def().meaning == Some(Meaning::Requests) && matches!(object.kind, ExprKind::Root(Root::Pod));
    (above && of_pod).then(|| constant_text(policy, name)).flatten()
}
