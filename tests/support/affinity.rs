//! Pods with drawn terms of pod affinity and pod anti-affinity, namespaces that their selectors tell apart, and what
//! InterPodAffinity decides by its definition over all pairs of pods.

#![allow(dead_code)]

use bayplan::framework::Code;
use bayplan::model::{
    Labels, Namespace, NodeInfo, PodAffinity, PodAffinityTerm, PodInfo, Snapshot, Symbol, VersionRow,
};
use bayplan::testing::{PodMaker, Random, namespace};
use serde_json::{Value, json};
use std::sync::Arc;

const APPS: [&str; 3] = ["web", "db", "tool"];
const KEYS: [&str; 3] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk"];

/// The namespaces that pods of this file are in. A pod may also be in `unknown`, which no object describes.
pub(crate) fn namespaces() -> Vec<Arc<Namespace>> {
    vec![
        namespace("default").build(),
        namespace("one").label("team", "x").label("stage", "test").build(),
        namespace("two").label("team", "y").build(),
    ]
}

/// A selector over the labels of pods, or of namespaces.
fn selector(r: &mut Random, keys: &[&str], values: &[&str]) -> Value {
    let key = r.of(keys);
    match r.below(7) {
        0 => json!({}),
        1 => json!({"matchExpressions": [{"key": key, "operator": "NotIn", "values": [r.of(values)]}]}),
        2 => json!({"matchExpressions": [{"key": key, "operator": "Exists"}]}),
        3 => json!({"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}),
        4 => {
            json!({"matchExpressions": [{"key": key, "operator": "In", "values": [r.of(values), r.of(values)]}]})
        }
        _ => json!({"matchLabels": {key: r.of(values)}}),
    }
}

fn term(r: &mut Random) -> Value {
    let mut term = json!({"topologyKey": r.of(&KEYS)});
    if !r.one_in(12) {
        term["labelSelector"] = selector(r, &["app", "app", "app", "team"], &APPS);
    }
    if r.one_in(4) {
        term["namespaces"] = json!([r.of(&["default", "one", "two", "unknown"])]);
    }
    if r.one_in(3) {
        term["namespaceSelector"] = selector(r, &["team", "stage"], &["x", "y", "test"]);
    }
    if r.one_in(60) {
        // Nothing that the API server lets pass; upstream refuses the pod.
        term["labelSelector"] = json!({"matchExpressions": [{"key": "app", "operator": "In"}]});
    }
    term
}

fn terms(r: &mut Random) -> Value {
    let required: Vec<Value> = (0..r.below(3)).map(|_| term(r)).collect();
    let preferred = (0..r.below(3))
        .map(|_| json!({"weight": 1 + r.below(100), "podAffinityTerm": term(r)}))
        .collect::<Vec<_>>();
    json!({
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    })
}

/// The pod with a label and a namespace that terms may be about, and with terms of its own half of the time.
pub(crate) fn with_affinity(r: &mut Random, mut made: PodMaker) -> PodMaker {
    made = made.label("app", r.of(&APPS)).namespace(r.of(&["default", "default", "one", "two", "unknown"]));
    if r.one_in(2) {
        return made;
    }
    if r.one_in(2) {
        made = made.set("spec.affinity.podAffinity", terms(r));
    }
    if r.one_in(2) {
        made = made.set("spec.affinity.podAntiAffinity", terms(r));
    }
    made
}

/// The terms of a pod.
pub(crate) fn affinity(pod: &PodInfo) -> PodAffinity {
    pod.constraints.as_ref().map(|constraints| (*constraints.affinity).clone()).unwrap_or_default()
}

fn labels_of(s: &Snapshot, namespace: &Symbol) -> Labels {
    s.namespace(namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default()
}

/// Whether a term of the incoming pod is about another pod: upstream takes the listed namespaces and, of those that have a
/// Namespace object, the selected ones, all for an empty selector, and 1.36 takes the selector once more on no labels.
fn own_term_is_about(s: &Snapshot, term: &PodAffinityTerm, other: &PodInfo) -> bool {
    let known = s.namespace(&other.namespace).is_some();
    let selector = term.namespace_selector.as_ref();
    let selected = known && selector.is_some_and(|of| of.matches(&labels_of(s, &other.namespace)));
    let older = !s.version_rows().has(VersionRow::NamespaceSelectors);
    let on_no_labels = selector.is_some_and(|of| of.is_empty() || older && of.matches(&Labels::default()));
    (term.namespaces.contains(&other.namespace) || selected || on_no_labels)
        && term.selector.as_ref().is_some_and(|selector| selector.matches(&other.labels))
}

fn same_domain(a: NodeInfo, b: NodeInfo, key: &Symbol) -> bool {
    a.label(key).is_some() && a.label(key) == b.label(key)
}

/// All pods on living nodes.
fn running(s: &Snapshot) -> Vec<(NodeInfo<'_>, Arc<PodInfo>)> {
    s.nodes().flat_map(|node| node.pods().map(move |pod| (node, pod.clone()))).collect()
}

/// What Filter says, by its definition.
pub(crate) fn refusal(s: &Snapshot, pod: &PodInfo, on: NodeInfo) -> Option<(Code, &'static str)> {
    let own = affinity(pod);
    let pods = running(s);
    let matches_all = |other: &PodInfo| own.required.iter().all(|term| own_term_is_about(s, term, other));
    let wanted: Vec<_> = pods.iter().filter(|(_, other)| matches_all(other)).collect();
    let keys = || own.required.iter().map(|term| &term.topology_key);
    if !own.required.is_empty() {
        let reason = (Code::UnschedulableAndUnresolvable, "node(s) didn't match pod affinity rules");
        if keys().any(|key| on.label(key).is_none()) {
            return Some(reason);
        }
        let found = keys().all(|key| wanted.iter().any(|(node, _)| same_domain(*node, on, key)));
        let somewhere = wanted.iter().any(|(node, _)| keys().any(|key| node.label(key).is_some()));
        if !found && (somewhere || !matches_all(pod)) {
            return Some(reason);
        }
    }
    let refuses = |term: &PodAffinityTerm| {
        let mut about = pods.iter().filter(|(_, other)| own_term_is_about(s, term, other));
        about.any(|(node, _)| same_domain(*node, on, &term.topology_key))
    };
    if own.required_anti.iter().any(|term| refuses(term)) {
        return Some((Code::Unschedulable, "node(s) didn't match pod anti-affinity rules"));
    }
    let namespace = labels_of(s, &pod.namespace);
    let kept_away = pods.iter().any(|(node, other)| {
        let terms = affinity(other).required_anti;
        terms
            .iter()
            .any(|term| term.matches(pod, Some(&namespace)) && same_domain(*node, on, &term.topology_key))
    });
    kept_away.then_some((Code::Unschedulable, "node(s) didn't satisfy existing pods anti-affinity rules"))
}

/// The raw score, by its definition.
pub(crate) fn score(s: &Snapshot, pod: &PodInfo, on: NodeInfo) -> i64 {
    let namespace = labels_of(s, &pod.namespace);
    let mut score = 0;
    for (node, other) in running(s) {
        let near = |term: &PodAffinityTerm| same_domain(node, on, &term.topology_key);
        for of in &affinity(pod).preferred {
            if own_term_is_about(s, &of.term, &other) && near(&of.term) {
                score += i64::from(of.weight);
            }
        }
        for term in &affinity(&other).required {
            score += i64::from(term.matches(pod, Some(&namespace)) && near(term));
        }
        for of in &affinity(&other).preferred {
            if of.term.matches(pod, Some(&namespace)) && near(&of.term) {
                score += i64::from(of.weight);
            }
        }
    }
    score
}
