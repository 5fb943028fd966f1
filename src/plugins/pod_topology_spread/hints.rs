//! Which events may help a pod that a hard constraint refused.
//!
//! Source: `podtopologyspread/plugin.go`, `isSchedulableAfterPodChange`, `isSchedulableAfterNodeChange`.

use super::PodTopologySpread;
use super::rules::Rules;
use crate::{node_change, nodes, pod_change, pods};
use bayplan_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventRegistration, EventResource, Handle, QueueingHint,
};
use bayplan_model::{Labels, Node, PodInfo};

/// Whether a pod can count for the refused one: itself, or a pod of its namespace with a node or a nomination.
fn is_involved(pod: &PodInfo, refused: &PodInfo) -> bool {
    pod.key == refused.key
        || (pod.node_name.is_some() || pod.nominated_node.is_some()) && pod.namespace == refused.namespace
}

/// Whether a change of a pod may help.
fn pod_helps(rules: &Rules, refused: &PodInfo, old: Option<&PodInfo>, new: Option<&PodInfo>) -> bool {
    let matches = |labels: &Labels| rules.iter().any(|rule| rule.matches(labels));
    match (old, new) {
        (Some(old), Some(new)) => {
            let tolerates_anew = new.key == refused.key
                && new.tolerations != old.tolerations
                && rules.iter().any(|rule| rule.honor_taints);
            let differs = |rule: &super::rules::Rule| rule.matches(&old.labels) != rule.matches(&new.labels);
            tolerates_anew || old.labels != new.labels && rules.iter().any(differs)
        }
        (Some(pod), None) | (None, Some(pod)) => matches(&pod.labels),
        (None, None) => true,
    }
}

/// Whether a change of a node may help.
fn node_helps(rules: &Rules, old: Option<&Node>, new: Option<&Node>) -> bool {
    let has_all = |node: &Node| rules.iter().all(|rule| node.labels.get(&rule.topology_key).is_some());
    match (old, new) {
        (Some(old), Some(new)) => {
            // Upstream compares an absent label with an empty one as equal.
            let value = |node: &Node, rule: &super::rules::Rule| {
                node.labels.get(&rule.topology_key).cloned().unwrap_or_default()
            };
            let moved = || rules.iter().any(|rule| value(old, rule) != value(new, rule));
            has_all(old) != has_all(new) || has_all(new) && (moved() || old.taints != new.taints)
        }
        (Some(node), None) | (None, Some(node)) => has_all(node),
        (None, None) => true,
    }
}

impl EnqueueExtensions for PodTopologySpread {
    fn events(&self) -> Vec<EventRegistration> {
        let of_pods = ActionType::ADD
            .with(ActionType::UPDATE_POD_LABEL)
            .with(ActionType::UPDATE_POD_TOLERATION)
            .with(ActionType::DELETE);
        let of_nodes = ActionType::ADD
            .with(ActionType::DELETE)
            .with(ActionType::UPDATE_NODE_LABEL)
            .with(ActionType::UPDATE_NODE_TAINT);
        vec![pods(of_pods), nodes(of_nodes)]
    }

    /// A pod whose binding waits, before a watch shows it on its node.
    fn further_events(&self) -> Vec<EventRegistration> {
        vec![EventRegistration { resource: EventResource::WaitingPod, actions: ActionType::ADD }]
    }

    fn further_hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        self.hint(h, event)
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let (old_pod, new_pod) = pod_change(event);
        if [old_pod, new_pod].into_iter().flatten().any(|pod| !is_involved(pod, h.pod)) {
            return QueueingHint::Skip;
        }
        let Ok(rules) = self.rules(h.pod, h.snapshot, true) else { return QueueingHint::Queue };
        let helps = if old_pod.is_some() || new_pod.is_some() {
            pod_helps(&rules, h.pod, old_pod.map(|pod| &**pod), new_pod.map(|pod| &**pod))
        } else {
            let (old, new) = node_change(event);
            node_helps(&rules, old.map(|node| &**node), new.map(|node| &**node))
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}
