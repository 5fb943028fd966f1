//! Events that may help a refused pod and that upstream's hints miss. Upstream's pods wait for the periodic flush then.
//!
//! - A term with a `namespaceSelector` that selects by labels: upstream evaluates it on a namespace without labels.
//! - One of several anti-affinity terms, of the pod or of the pod that left: upstream wants all of them to match.
//! - A pod that left or lost its domain was the last that matched the affinity terms: the refused pod may be the first
//!   of its group.
//! - A refusal by the anti-affinity of running pods: a new node, a node that joins another domain, a node that is gone
//!   with its pods.
//! - Labels of a namespace that changed.
//! - A pod whose binding waits, before a watch shows it on its node.

use super::terms::{is_about, is_about_all, is_about_incoming, required, required_anti};
use bayplan_framework::{ActionType, ClusterEvent, EventObjects, EventRegistration, EventResource, Handle};
use bayplan_model::{Namespace, Node, PodInfo, Symbol, TermKind};
use std::sync::Arc;

/// The events.
pub(super) fn events() -> Vec<EventRegistration> {
    let of_pods = ActionType::ADD.with(ActionType::UPDATE_POD_LABEL).with(ActionType::DELETE);
    let of_nodes = ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL).with(ActionType::DELETE);
    vec![
        EventRegistration { resource: EventResource::AssignedPod, actions: of_pods },
        EventRegistration { resource: EventResource::WaitingPod, actions: ActionType::ADD },
        EventRegistration { resource: EventResource::Node, actions: of_nodes },
        EventRegistration { resource: EventResource::Namespace, actions: ActionType::ALL },
    ]
}

/// Whether an event may help.
pub(super) fn helps(h: &Handle, event: &ClusterEvent) -> bool {
    match &event.objects {
        EventObjects::Pod { old, new } => pod_helps(h, old.as_deref(), new.as_deref()),
        EventObjects::Node { old, new } => node_helps(h, old.as_deref(), new.as_deref()),
        EventObjects::Namespace { old, new } => namespace_helps(h, old.as_ref(), new.as_ref()),
        _ => false,
    }
}

fn pod_helps(h: &Handle, old: Option<&PodInfo>, new: Option<&PodInfo>) -> bool {
    let wanted = |pod: &PodInfo| is_about_all(required(h.pod), pod, h.snapshot);
    match (old, new) {
        (None, Some(new)) => wanted(new),
        (Some(old), None) => leaving_helps(h, old),
        (Some(old), Some(new)) => {
            let kept_off = |term: &_| is_about(term, old, h.snapshot) && !is_about(term, new, h.snapshot);
            // A pod that no longer matches may leave its group without a pod.
            wanted(old) != wanted(new) || required_anti(h.pod).iter().any(|term| kept_off(term))
        }
        (None, None) => false,
    }
}

/// Whether it may help that a pod is on its node no more.
fn leaving_helps(h: &Handle, left: &PodInfo) -> bool {
    required_anti(left).iter().any(|term| is_about_incoming(term, h.pod, h.snapshot))
        || required_anti(h.pod).iter().any(|term| is_about(term, left, h.snapshot))
        || may_be_first(h) && is_about_all(required(h.pod), left, h.snapshot)
}

/// Whether the pod matches its own affinity terms, so that it may be the first of its group.
fn may_be_first(h: &Handle) -> bool {
    is_about_all(required(h.pod), h.pod, h.snapshot)
}

fn node_helps(h: &Handle, old: Option<&Node>, new: Option<&Node>) -> bool {
    let carried = || h.snapshot.carried_terms(TermKind::RequiredAnti, h.pod);
    match (old, new) {
        (None, _) => carried().next().is_some(),
        (Some(old), None) => {
            // The pods of a node that is gone stay in its row and count no more.
            let row = h.snapshot.row_by_name(&old.name).and_then(|row| h.snapshot.node(row));
            row.is_some_and(|row| row.pods().any(|pod| leaving_helps(h, pod)))
        }
        (Some(old), Some(new)) => {
            let moved = |key: &Symbol| old.labels.get(key) != new.labels.get(key);
            carried().any(|of| moved(&of.term.topology_key))
                || required(h.pod).iter().any(|term| moved(&term.topology_key)) && may_be_first(h)
        }
    }
}

/// Whether a term of the pod selects namespaces by their labels, or terms of running pods select the pod's namespace.
fn namespace_helps(h: &Handle, old: Option<&Arc<Namespace>>, new: Option<&Arc<Namespace>>) -> bool {
    if old.map(|of| &of.labels) == new.map(|of| &of.labels) {
        return false;
    }
    let name = new.or(old).map(|namespace| &namespace.name);
    let own = required(h.pod).iter().chain(required_anti(h.pod));
    name == Some(&h.pod.namespace) || own.into_iter().any(|term| term.namespace_selector.is_some())
}
