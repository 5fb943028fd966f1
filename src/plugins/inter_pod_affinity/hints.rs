//! Which events may help a pod that the plugin refused.
//!
//! Source: `plugin.go`, `isSchedulableAfterPodChange`, `isSchedulableAfterNodeChange`.

use super::InterPodAffinity;
use super::terms::{affinity, matches_all, matches_any, required, required_anti};
use bayplan_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventRegistration, Handle, QueueingHint,
};
use bayplan_model::{Node, PodInfo, VersionRow};

impl EnqueueExtensions for InterPodAffinity {
    fn events(&self) -> Vec<EventRegistration> {
        let of_pods = ActionType::ADD.with(ActionType::UPDATE_POD_LABEL).with(ActionType::DELETE);
        vec![crate::pods(of_pods), crate::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL))]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match (crate::node_change(event), crate::pod_change(event)) {
            ((old, Some(new)), _) => node_helps(h.pod, old.map(|node| &**node), new),
            (_, (None, None)) => true,
            (_, (old, new)) => {
                let any = h.snapshot.version_rows().has(VersionRow::AntiAffinityHints);
                pod_helps(h.pod, old.map(|pod| &**pod), new.map(|pod| &**pod), any)
            }
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }

    fn further_events(&self) -> Vec<EventRegistration> {
        super::further_hints::events()
    }

    fn further_hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        if super::further_hints::helps(h, event) { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

/// Whether a pod that came, went or changed its labels may help. `any`: one term of anti-affinity suffices to keep pods
/// apart, as since 1.37.
fn pod_helps(pod: &PodInfo, old: Option<&PodInfo>, new: Option<&PodInfo>, any: bool) -> bool {
    if old.is_some() && new.is_some_and(|new| new.key == pod.key) {
        // Its own labels changed: others may have anti-affinity against the old labels and not against the new ones.
        return true;
    }
    let has_node = |pod: &PodInfo| pod.node_name.is_some() || pod.nominated_node.is_some();
    if ![old, new].into_iter().flatten().all(has_node) {
        return false;
    }
    if !is_parsed(pod, &["requiredAffinityTerms", "requiredAntiAffinityTerms"]) {
        return true;
    }
    let (required, anti) = (required(pod), required_anti(pod));
    let keeps_apart = if any { matches_any } else { matches_all };
    match (old, new) {
        (Some(old), Some(new)) => {
            !matches_all(required, old) && matches_all(required, new)
                || keeps_apart(anti, old) && !keeps_apart(anti, new)
        }
        (None, Some(new)) => matches_all(required, new),
        (Some(old), None) => {
            keeps_apart(anti, old)
                || !is_parsed(old, &["requiredAntiAffinityTerms"])
                || keeps_apart(required_anti(old), pod)
        }
        (None, None) => true,
    }
}

/// Whether lists of terms could be parsed. Upstream queues a pod where they could not.
fn is_parsed(pod: &PodInfo, lists: &[&str]) -> bool {
    let invalid = affinity(pod).and_then(|affinity| affinity.invalid.as_ref());
    invalid.is_none_or(|text| !lists.iter().any(|list| text.contains(&format!("{list}: "))))
}

/// Whether a node that came or changed its labels may help.
fn node_helps(pod: &PodInfo, old: Option<&Node>, new: &Node) -> bool {
    if !is_parsed(pod, &["requiredAffinityTerms", "requiredAntiAffinityTerms"]) {
        return true;
    }
    let (required, anti) = (required(pod), required_anti(pod));
    let Some(old) = old else {
        // A node without the topology key takes every pod with anti-affinity.
        return !anti.is_empty() || required.iter().any(|term| new.labels.get(&term.topology_key).is_some());
    };
    let before_and_now = |key| (old.labels.get(key), new.labels.get(key));
    required.iter().any(|term| match before_and_now(&term.topology_key) {
        (before, Some(now)) => before != Some(now),
        (_, None) => false,
    }) || anti.iter().any(|term| match before_and_now(&term.topology_key) {
        (Some(before), now) => now != Some(before),
        (None, _) => false,
    })
}
