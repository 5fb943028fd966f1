//! The terms of a pod, and the pods that they are about.

use bayplan_model::{Labels, PodAffinity, PodAffinityTerm, PodInfo, PodMatch, Snapshot, Symbol, VersionRow};
use std::sync::Arc;

/// The affinity of a pod; `None` for a pod without constraints.
pub(super) fn affinity(pod: &PodInfo) -> Option<&PodAffinity> {
    pod.constraints.as_ref().map(|constraints| &*constraints.affinity)
}

/// Required terms of `podAffinity`.
pub(super) fn required(pod: &PodInfo) -> &[Arc<PodAffinityTerm>] {
    affinity(pod).map_or(&[], |affinity| &affinity.required)
}

/// Required terms of `podAntiAffinity`.
pub(super) fn required_anti(pod: &PodInfo) -> &[Arc<PodAffinityTerm>] {
    affinity(pod).map_or(&[], |affinity| &affinity.required_anti)
}

/// The labels of a namespace; `None` for a namespace that is not known.
fn labels_of<'s>(snapshot: &'s Snapshot, namespace: &Symbol) -> Option<&'s Labels> {
    snapshot.namespace(namespace).map(|namespace| &namespace.labels)
}

/// Whether a pod is among the pods of a match.
pub(super) fn is_among(pods: &PodMatch, pod: &PodInfo, snapshot: &Snapshot) -> bool {
    pods.matches(pod, labels_of(snapshot, &pod.namespace))
}

/// Whether a term of a running pod is about the incoming pod, whose namespace has no labels if it is not known.
pub(super) fn is_about_incoming(term: &PodAffinityTerm, pod: &PodInfo, snapshot: &Snapshot) -> bool {
    term.matches(pod, Some(labels_of(snapshot, &pod.namespace).unwrap_or(Labels::none())))
}

/// Whether a pod matches all terms, their `namespaceSelector` evaluated on a namespace without labels; false without
/// a term. Queueing hints evaluate terms so.
pub(super) fn matches_all(terms: &[Arc<PodAffinityTerm>], pod: &PodInfo) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, Some(Labels::none())))
}

/// Whether a pod matches any of the terms, their `namespaceSelector` evaluated on a namespace without labels.
pub(super) fn matches_any(terms: &[Arc<PodAffinityTerm>], pod: &PodInfo) -> bool {
    terms.iter().any(|term| term.matches(pod, Some(Labels::none())))
}

/// Whether a term of the incoming pod is about a pod. Its `namespaceSelector` takes known namespaces; in 1.36 it is
/// evaluated on a namespace without labels as well, as [`PodMatch::of_term`] says.
pub(super) fn is_about(term: &PodAffinityTerm, pod: &PodInfo, snapshot: &Snapshot) -> bool {
    term.matches(pod, labels_of(snapshot, &pod.namespace))
        || !snapshot.version_rows().has(VersionRow::NamespaceSelectors)
            && term.matches(pod, Some(Labels::none()))
}

/// Whether all terms of the incoming pod are about a pod; false without a term.
pub(super) fn is_about_all(terms: &[Arc<PodAffinityTerm>], pod: &PodInfo, snapshot: &Snapshot) -> bool {
    !terms.is_empty() && terms.iter().all(|term| is_about(term, pod, snapshot))
}

/// The pods that all of these terms of the incoming pod are about; `None` without a term.
pub(super) fn pods_of_all(terms: &[Arc<PodAffinityTerm>], snapshot: &Snapshot) -> Option<PodMatch> {
    let mut matches = terms.iter().map(|term| PodMatch::of_term(term, snapshot.version_rows()));
    let first = matches.next()?;
    Some(matches.fold(first, |all, of| both(all, of, snapshot)))
}

/// The pods that all of these terms are about, where the namespaces that the terms have in common do not depend on labels
/// of namespaces.
pub(super) fn pods_known_beforehand(terms: &[Arc<PodAffinityTerm>], snapshot: &Snapshot) -> Option<PodMatch> {
    let matches: Vec<PodMatch> =
        terms.iter().map(|term| PodMatch::of_term(term, snapshot.version_rows())).collect();
    let some = || matches.iter().filter(|of| !of.all_namespaces);
    let namespaces = |of: &PodMatch| (of.namespaces.clone(), of.namespace_selector.clone());
    let differ = some().any(|of| some().next().map(namespaces) != Some(namespaces(of)));
    if differ && some().any(|of| of.namespace_selector.is_some()) {
        return None;
    }
    pods_of_all(terms, snapshot)
}

/// The pods that two matches have in common.
fn both(a: PodMatch, b: PodMatch, snapshot: &Snapshot) -> PodMatch {
    // A match without a selector takes no pod, and neither do both together.
    let none = a.selectors.is_empty() || b.selectors.is_empty();
    let same = a.namespaces == b.namespaces && a.namespace_selector == b.namespace_selector;
    let (namespaces, namespace_selector) = if b.all_namespaces || same {
        (a.namespaces, a.namespace_selector)
    } else if a.all_namespaces {
        (b.namespaces, b.namespace_selector)
    } else {
        // No selector says what two selectors have in common: the namespaces are listed.
        let listed = namespaces_of(&b, snapshot);
        (namespaces_of(&a, snapshot).into_iter().filter(|name| listed.contains(name)).collect(), None)
    };
    let mut selectors: Vec<_> = a.selectors.into_iter().collect();
    selectors.extend(b.selectors.into_iter().filter(|of| !selectors.contains(of)).collect::<Vec<_>>());
    PodMatch {
        all_namespaces: a.all_namespaces && b.all_namespaces,
        namespaces,
        namespace_selector,
        selectors: selectors.into_iter().filter(|_| !none).collect(),
        terminating: true,
    }
}

/// The namespaces that a match takes by name or by their labels, ordered by name.
fn namespaces_of(pods: &PodMatch, snapshot: &Snapshot) -> Vec<Symbol> {
    let selected = snapshot.namespaces().filter(|namespace| {
        pods.namespace_selector.as_ref().is_some_and(|selector| selector.matches(&namespace.labels))
    });
    let mut names: Vec<Symbol> =
        pods.namespaces.iter().cloned().chain(selected.map(|namespace| namespace.name.clone())).collect();
    names.sort();
    names.dedup();
    names
}
