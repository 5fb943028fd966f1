//! Filing of policies: from the conjuncts of `applies when` that look at one thing of the pod, a test that costs a few
//! comparisons, so that a policy which does not apply costs nothing.
//!
//! Made by `policy_set.rs`, asked by `plugins::policy` before anything else. It may let a pod through that `applies
//! when` then refuses, never the other way round.

use crate::lang::analysis::shape;
use crate::lang::typed::{Expr, ExprKind, Filing, Policy, Root};
use crate::lang::types::value::{Constant, amount};
use crate::model::{PodInfo, Symbol};

/// What a pod must have.
#[derive(Debug)]
pub enum Must {
    /// A label.
    Label(Symbol),
    /// A label with one of these values.
    LabelIn(Symbol, Vec<Symbol>),
    /// An annotation.
    Annotation(Symbol),
    /// One of these namespaces.
    Namespace(Vec<Symbol>),
    /// A request of this resource above 0.
    Requests(Symbol),
}

/// All that a pod must have for the policy to apply; empty when nothing can be said beforehand.
#[derive(Debug, Default)]
pub struct Filings(Vec<Must>);

impl Filings {
    /// Of a policy.
    pub fn of(policy: &Policy) -> Self {
        Self(policy.filings.iter().filter_map(|filing| must(policy, filing)).collect())
    }

    /// Whether the policy may apply to the pod.
    pub fn may_apply(&self, pod: &PodInfo) -> bool {
        self.0.iter().all(|must| match must {
            Must::Label(key) => pod.labels.get(key).is_some(),
            Must::LabelIn(key, values) => pod.labels.get(key).is_some_and(|value| values.contains(value)),
            Must::Annotation(key) => pod.annotations.get(key).is_some(),
            Must::Namespace(names) => names.contains(&pod.namespace),
            Must::Requests(name) => amount(&pod.requests, name) > 0,
        })
    }

    /// What the fewest pods are likely to have.
    pub fn narrowest(&self) -> Option<&Must> {
        self.0.iter().min_by_key(|must| match must {
            Must::LabelIn(..) => 0,
            Must::Annotation(_) => 1,
            Must::Label(_) => 2,
            Must::Namespace(_) => 3,
            Must::Requests(_) => 4,
        })
    }

    /// Whether nothing can be said beforehand.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn must(policy: &Policy, filing: &Filing) -> Option<Must> {
    match filing {
        Filing::Has(path) => match pod_path(policy, path)? {
            ("labels", Some(key)) => Some(Must::Label(key)),
            ("annotations", Some(key)) => Some(Must::Annotation(key)),
            _ => None,
        },
        Filing::Equals { path, values } => {
            let values: Option<Vec<Symbol>> = values.iter().map(text).collect();
            match (pod_path(policy, path)?, values?) {
                (("labels", Some(key)), values) => Some(Must::LabelIn(key, values)),
                (("namespace", None), values) => Some(Must::Namespace(values)),
                _ => None,
            }
        }
        Filing::Requests(name) => Some(Must::Requests(Symbol::new(name))),
    }
}

fn text(value: &Constant) -> Option<Symbol> {
    value.as_str().map(Symbol::new)
}

/// `pod.namespace`, `pod.labels["k"]` and the like: the field and the constant key.
fn pod_path(policy: &Policy, path: &Expr) -> Option<(&'static str, Option<Symbol>)> {
    match &shape::resolve_alias(policy, path).kind {
        ExprKind::Field(object, field) => {
            let is_pod = matches!(shape::resolve_alias(policy, object).kind, ExprKind::Root(Root::Pod));
            is_pod.then(|| (field.def().name, None))
        }
        ExprKind::Index(object, key) => {
            let (field, none) = pod_path(policy, object)?;
            let key = shape::constant_text(policy, key)?;
            none.is_none().then_some((field, Some(key)))
        }
        _ => None,
    }
}
