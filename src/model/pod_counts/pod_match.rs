//! [`PodMatch`]: which pods are counted.

use super::{Namespaces, labels_of};
use crate::constraints::PodAffinityTerm;
use crate::kubernetes::{VersionRow, VersionRows};
use crate::labels::{LabelSelector, Labels, Requirement};
use crate::pod::PodInfo;
use crate::symbol::Symbol;

/// Which pods are counted: those of some namespaces that match all selectors.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct PodMatch {
    /// Pods of all namespaces.
    pub all_namespaces: bool,
    /// Namespaces by name, ordered.
    pub namespaces: Box<[Symbol]>,
    /// Namespaces by their labels; it takes no namespace that is not known. A registered match follows changes of the
    /// namespaces.
    pub namespace_selector: Option<LabelSelector>,
    /// All must match; none: no pod is counted.
    pub selectors: Box<[LabelSelector]>,
    /// Whether terminating pods count.
    pub terminating: bool,
}

impl PodMatch {
    /// The pods of one namespace that match all selectors, without those that terminate: what topology spread counts.
    pub fn in_namespace(namespace: &Symbol, selectors: impl IntoIterator<Item = LabelSelector>) -> Self {
        Self {
            namespaces: Box::from([namespace.clone()]),
            selectors: selectors.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The pods that a term of an incoming pod is about, those that terminate included.
    ///
    /// Upstream lists the namespaces that the selector takes, so that one without a Namespace object is not among them; the
    /// empty selector takes all. 1.36 then asks the selector again about a namespace without labels, so that one which
    /// requires no label, such as one of `NotIn` alone, takes all namespaces too, known or not. Source: `plugins/interpodaffinity/plugin.go`, `mergeAffinityTermNamespacesIfNotEmpty`;
    /// `kube-scheduler/framework/types.go`, `AffinityTerm.Matches`.
    pub fn of_term(term: &PodAffinityTerm, rows: VersionRows) -> Self {
        let all = term.namespace_selector.as_ref().is_some_and(|selector| {
            selector.is_empty()
                || !rows.has(VersionRow::NamespaceSelectors) && selector.matches(Labels::none())
        });
        Self {
            all_namespaces: all,
            namespaces: if all { Box::default() } else { term.namespaces.clone() },
            namespace_selector: term.namespace_selector.clone().filter(|_| !all),
            selectors: term.selector.iter().cloned().collect(),
            terminating: true,
        }
    }

    /// Whether a pod is counted whose namespace has these labels; `None`: the namespace is not known.
    pub fn matches(&self, pod: &PodInfo, namespace: Option<&Labels>) -> bool {
        self.takes_namespace(&pod.namespace, || namespace) && self.matches_in_namespace(pod)
    }

    /// Whether a pod is counted, with the labels of its namespace taken from the cluster.
    pub(crate) fn matches_among(&self, pod: &PodInfo, namespaces: &Namespaces) -> bool {
        self.takes_namespace(&pod.namespace, || labels_of(namespaces, &pod.namespace))
            && self.matches_in_namespace(pod)
    }

    fn matches_in_namespace(&self, pod: &PodInfo) -> bool {
        (self.terminating || !pod.is_terminating())
            && !self.selectors.is_empty()
            && self.selectors.iter().all(|selector| selector.matches(&pod.labels))
    }

    /// Whether pods of a namespace may count. `labels`: `None` for one that is not known.
    pub(super) fn takes_namespace<'l>(
        &self,
        name: &Symbol,
        labels: impl FnOnce() -> Option<&'l Labels>,
    ) -> bool {
        let selects = |selector: &LabelSelector| labels().is_some_and(|labels| selector.matches(labels));
        self.all_namespaces
            || self.namespaces.binary_search(name).is_ok()
            || self.namespace_selector.as_ref().is_some_and(selects)
    }

    /// The requirements of all selectors.
    pub(super) fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.selectors.iter().flat_map(|selector| &selector.requirements)
    }
}
