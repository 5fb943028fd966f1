//! Terms of the pod that is scheduled, with the namespaces that their `namespaceSelector` selects.
//!
//! Source: `plugin.go`, `mergeAffinityTermNamespacesIfNotEmpty`; `kube-scheduler/framework/types.go`, `AffinityTerm`.

use super::pods::PodMatch;
use crate::model::{Labels, PodAffinity, PodAffinityTerm, PodInfo, Snapshot, Symbol};
use std::sync::Arc;

/// The affinity of a pod; `None` for a pod without a term.
pub(super) fn affinity(pod: &PodInfo) -> Option<&PodAffinity> {
    pod.constraints.as_ref().map(|constraints| &constraints.affinity)
}

/// Required terms of `podAffinity`.
pub(super) fn required(pod: &PodInfo) -> &[Arc<PodAffinityTerm>] {
    affinity(pod).map_or(&[], |affinity| &affinity.required)
}

/// Required terms of `podAntiAffinity`.
pub(super) fn required_anti(pod: &PodInfo) -> &[Arc<PodAffinityTerm>] {
    affinity(pod).map_or(&[], |affinity| &affinity.required_anti)
}

/// Whether a pod matches all terms, their `namespaceSelector` evaluated on a namespace without labels; false without
/// a term. Queueing hints evaluate terms so.
pub(super) fn matches_all(terms: &[Arc<PodAffinityTerm>], pod: &PodInfo) -> bool {
    let none = Labels::default();
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, &none))
}

/// Whether the term is about the pods of every namespace. Upstream evaluates the `namespaceSelector` of the incoming
/// pod's terms once more on a namespace without labels, so that `{}` and a selector made of `NotIn` and
/// `DoesNotExist` alone take all namespaces.
fn takes_all_namespaces(term: &PodAffinityTerm) -> bool {
    term.namespace_selector.as_ref().is_some_and(|selector| selector.matches(&Labels::default()))
}

/// Whether the pods that the term is about depend on the labels of namespaces.
fn reads_namespaces(term: &PodAffinityTerm) -> bool {
    term.namespace_selector.is_some() && !takes_all_namespaces(term)
}

/// The pods that a term of the incoming pod is about; `selected` are the namespaces that its selector selects.
fn pods_in(term: &PodAffinityTerm, selected: impl Iterator<Item = Symbol>) -> PodMatch {
    let all_namespaces = takes_all_namespaces(term);
    let mut namespaces: Vec<Symbol> = Vec::new();
    if !all_namespaces {
        namespaces.extend(term.namespaces.iter().cloned().chain(selected));
        namespaces.sort();
        namespaces.dedup();
    }
    PodMatch {
        namespaces: namespaces.into(),
        all_namespaces,
        selectors: term.selector.iter().cloned().collect(),
        terminating: true,
    }
}

/// The pods that a term of the incoming pod is about. A term without a `labelSelector` is about no pod.
pub(super) fn pods_of(term: &PodAffinityTerm, snapshot: &Snapshot) -> PodMatch {
    let selector = term.namespace_selector.as_ref().filter(|_| reads_namespaces(term));
    let selected = selector.into_iter().flat_map(|selector| {
        let matching = snapshot.namespaces().filter(|namespace| selector.matches(&namespace.labels));
        matching.map(|namespace| namespace.name.clone())
    });
    pods_in(term, selected)
}

/// The same without a look at the cluster; `None` where labels of namespaces decide.
pub(super) fn pods_known_beforehand(term: &PodAffinityTerm) -> Option<PodMatch> {
    (!reads_namespaces(term)).then(|| pods_in(term, std::iter::empty()))
}

/// The pods that all of these are about; `None` without any.
pub(super) fn all_of(matches: impl IntoIterator<Item = PodMatch>) -> Option<PodMatch> {
    matches.into_iter().reduce(|a, b| {
        let namespaces = match (a.all_namespaces, b.all_namespaces) {
            (true, _) => b.namespaces,
            (_, true) => a.namespaces,
            _ => {
                a.namespaces.iter().filter(|name| b.namespaces.binary_search(name).is_ok()).cloned().collect()
            }
        };
        // A match without a selector takes no pod, and neither does the conjunction.
        let none = a.selectors.is_empty() || b.selectors.is_empty();
        let selectors = a.selectors.into_iter().chain(b.selectors).filter(|_| !none).collect();
        PodMatch {
            namespaces,
            all_namespaces: a.all_namespaces && b.all_namespaces,
            selectors,
            terminating: true,
        }
    })
}
