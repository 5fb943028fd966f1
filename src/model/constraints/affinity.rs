//! [`PodAffinity`]: the terms of `podAffinity` and `podAntiAffinity` of a pod, parsed.

use super::super::labels::{LabelSelector, Labels};
use super::super::pod::PodInfo;
use super::super::symbol::Symbol;
use std::sync::Arc;

/// A term of `podAffinity` or `podAntiAffinity`, parsed.
///
/// Source: `kube-scheduler/framework/types.go`, `newAffinityTerm`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodAffinityTerm {
    /// The node label whose values are the domains.
    pub topology_key: Symbol,
    /// Namespaces by name, ordered; the pod's own when the term gives neither names nor a selector.
    pub namespaces: Box<[Symbol]>,
    /// Namespaces by their labels; the empty selector takes all of them.
    pub namespace_selector: Option<LabelSelector>,
    /// The pods; `None` matches no pod.
    pub selector: Option<LabelSelector>,
}

impl PodAffinityTerm {
    /// Whether the term is about `pod`, whose namespace has these labels; `None`: no namespace is taken by its labels, and
    /// the empty selector takes all the same.
    pub fn matches(&self, pod: &PodInfo, namespace: Option<&Labels>) -> bool {
        let in_namespace = self.namespaces.binary_search(&pod.namespace).is_ok()
            || self.namespace_selector.as_ref().is_some_and(|selector| match namespace {
                Some(labels) => selector.matches(labels),
                None => selector.is_empty(),
            });
        in_namespace && self.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels))
    }
}

/// A preferred term with its weight.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WeightedTerm {
    /// The weight, 1 to 100; negative for anti-affinity.
    pub weight: i32,
    /// The term.
    pub term: Arc<PodAffinityTerm>,
}

/// All terms of `podAffinity` and `podAntiAffinity` of a pod. A list with a term that cannot be parsed is empty, as
/// upstream.
///
/// Source: `pkg/scheduler/framework/types.go`, `PodInfo.Update`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodAffinity {
    /// Required terms of `podAffinity`, in pod order.
    pub required: Box<[Arc<PodAffinityTerm>]>,
    /// Required terms of `podAntiAffinity`, in pod order. Those of running pods keep other pods away.
    pub required_anti: Box<[Arc<PodAffinityTerm>]>,
    /// Preferred terms: those of `podAffinity`, then those of `podAntiAffinity` with negative weights.
    pub preferred: Box<[WeightedTerm]>,
    /// Upstream's text about the lists that cannot be parsed.
    pub invalid: Option<Box<str>>,
}

impl PodAffinity {
    /// Whether the pod has no term that could be parsed.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.required_anti.is_empty() && self.preferred.is_empty()
    }
}
