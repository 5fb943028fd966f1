//! Which term refuses a node and because of which pods, and the edits that may help.

use super::filter::{AFFINITY, ANTI_AFFINITY, EXISTING, State, state};
use super::terms::{is_about_incoming, is_among, required, required_anti};
use bayplan_framework::{Edit, Handle, Violation};
use bayplan_model::{NodeInfo, PodAffinityTerm, PodInfo, PodMatch, SelectorOperator, Symbol};
use std::sync::Arc;

/// How many pods a violation names.
const NAMED: usize = 3;

/// How many values of a label are proposed for a node.
const PROPOSED: usize = 3;

/// The label that names the host; it is never edited.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// What a term asks of pods, as people say it: `app=db in namespace web`.
fn pods_text(term: &PodAffinityTerm, own: &Symbol) -> String {
    let pods = match &term.selector {
        None => return String::from("no labelSelector"),
        Some(selector) if selector.is_empty() => String::from("any labels"),
        Some(selector) => selector.to_string(),
    };
    let names: Vec<&str> = term.namespaces.iter().map(Symbol::as_str).collect();
    match (&names[..], &term.namespace_selector) {
        ([name], None) if *name == own.as_str() => pods,
        ([name], None) => format!("{pods} in namespace {name}"),
        (names, None) => format!("{pods} in namespaces {}", names.join(", ")),
        (_, Some(selector)) if selector.is_empty() => format!("{pods} in all namespaces"),
        ([], Some(selector)) => format!("{pods} in namespaces with {selector}"),
        (names, Some(selector)) => format!("{pods} in namespaces {} or with {selector}", names.join(", ")),
    }
}

/// `default/a, default/b and more`; empty without pods.
fn names_text<'p>(mut pods: impl Iterator<Item = &'p Arc<PodInfo>>) -> String {
    let named: Vec<String> = pods.by_ref().take(NAMED).map(|pod| pod.full_name()).collect();
    let more = if pods.next().is_some() { " and more" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// The pods in the domain that a node is in by a key, by row. The node itself is as it is simulated.
fn pods_in_domain<'n>(node: NodeInfo<'n>, key: &Symbol) -> impl Iterator<Item = &'n Arc<PodInfo>> {
    let value = node.label(key);
    let nodes = node.snapshot().nodes().filter(move |other| value.is_some() && other.label(key) == value);
    nodes.flat_map(move |other| if other.id() == node.id() { node.pods() } else { other.pods() })
}

/// Every term that refuses the node.
pub(super) fn violations(h: &Handle, node: NodeInfo, state: &State, out: &mut Vec<Violation>) {
    affinity_violations(h, node, state, out);
    let violation = |reason: &str, what: &str, need: String, have: String| Violation {
        reason: reason.to_owned(),
        what: what.to_owned(),
        need,
        have,
        ..Violation::default()
    };
    for (term, (key, pods)) in required_anti(h.pod).iter().zip(&state.own.anti) {
        if state.anti.at(key, node) > 0 {
            let have = names_text(pods_in_domain(node, key).filter(|pod| is_among(pods, pod, h.snapshot)));
            if !have.is_empty() {
                let need = format!("no pod with {} in its {key}", pods_text(term, &h.pod.namespace));
                out.push(violation(ANTI_AFFINITY, "podAntiAffinity", need, have));
            }
        }
    }
    for key in state.existing.keys_at(node) {
        for (term, of) in carriers(h, node, key) {
            let need = format!("no pod with {} in its {key}", pods_text(&term, &h.pod.namespace));
            out.push(violation(
                EXISTING,
                "podAntiAffinity of running pods",
                need,
                names_text(of.into_iter()),
            ));
        }
    }
}

/// The anti-affinity terms by a key about the pod of pods in the node's domain, each with its carriers.
fn carriers<'n>(
    h: &Handle,
    node: NodeInfo<'n>,
    key: &Symbol,
) -> Vec<(Arc<PodAffinityTerm>, Vec<&'n Arc<PodInfo>>)> {
    let mut found: Vec<(Arc<PodAffinityTerm>, Vec<&Arc<PodInfo>>)> = Vec::new();
    for pod in pods_in_domain(node, key) {
        let about = |term: &&Arc<PodAffinityTerm>| {
            term.topology_key == *key && is_about_incoming(term, h.pod, h.snapshot)
        };
        for term in required_anti(pod).iter().filter(about) {
            match found.iter_mut().find(|(known, _)| known == term) {
                Some((_, pods)) => pods.push(pod),
                None => found.push((term.clone(), vec![pod])),
            }
        }
    }
    found
}

fn affinity_violations(h: &Handle, node: NodeInfo, state: &State, out: &mut Vec<Violation>) {
    if !state.affinity_refuses(node) {
        return;
    }
    let violation = |need: String, have: String| Violation {
        reason: AFFINITY.to_owned(),
        what: String::from("podAffinity"),
        need,
        have,
        ..Violation::default()
    };
    let keys = &state.own.keys;
    let missing: Vec<&Symbol> = keys.iter().filter(|key| node.label(key).is_none()).collect();
    for key in &missing {
        out.push(violation(format!("the node label {key}"), String::from("no such label")));
    }
    if !missing.is_empty() {
        return;
    }
    let texts: Vec<String> = required(h.pod).iter().map(|term| pods_text(term, &h.pod.namespace)).collect();
    let mut named: Vec<&Symbol> = Vec::new();
    for key in keys.iter().filter(|key| state.affinity.at(key, node) <= 0) {
        if named.contains(&key) {
            continue;
        }
        named.push(key);
        let value = node.label(key).map(|value| value.as_str()).unwrap_or_default();
        let need = format!("a pod with {} in its {key}", texts.join(" and "));
        out.push(violation(need, format!("none in {value}")));
    }
}

/// The edits that may help against the refusal of a node.
pub(super) fn remedies(h: &Handle, node: NodeInfo) -> Vec<Edit> {
    let state = state(h, Some(node));
    let mut edits = Vec::new();
    if state.affinity_refuses(node) {
        edits.push(Edit::DropPodAffinity);
        for key in state.own.keys.iter().filter(|key| key.as_str() != HOSTNAME && node.label(key).is_none()) {
            let values = values_with(h, key, state.own.pods.as_ref());
            let label = |value| Edit::NodeLabel { key: key.clone(), value: Some(value) };
            edits.extend(values.into_iter().map(label));
        }
    }
    if state.anti.any_at(node) {
        edits.extend([Edit::DropPodAntiAffinity, Edit::PodsEnd]);
    }
    for key in state.existing.keys_at(node) {
        edits.push(Edit::PodsEnd);
        for (term, _) in carriers(h, node, key) {
            edits.extend(labels_that(&term).map(|key| Edit::PodLabel { key: key.clone(), value: None }));
        }
    }
    edits
}

/// The first values of a node label in whose domains a pod matches.
fn values_with(h: &Handle, key: &Symbol, pods: Option<&PodMatch>) -> Vec<Symbol> {
    let mut values: Vec<Symbol> = Vec::new();
    let Some(pods) = pods else { return values };
    for node in h.snapshot.nodes() {
        let Some(value) = node.label(key) else { continue };
        if !values.contains(value) && node.pods().any(|pod| is_among(pods, pod, h.snapshot)) {
            values.push(value.clone());
            if values.len() == PROPOSED {
                break;
            }
        }
    }
    values
}

/// The label keys without which a pod does not match a term.
fn labels_that(term: &PodAffinityTerm) -> impl Iterator<Item = &Symbol> {
    let requirements = term.selector.iter().flat_map(|selector| &selector.requirements);
    let positive =
        requirements.filter(|of| matches!(of.operator, SelectorOperator::In | SelectorOperator::Exists));
    positive.map(|of| &of.key)
}
