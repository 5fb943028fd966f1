//! What an [`Edit`] does to a pod and to the node under evaluation.

use super::{CORDONED, Edit};
use crate::model::{
    Annotations, Change, ConstraintKinds, Labels, Node, NodeAffinity, NodeId, PodAffinity, PodInfo, Snapshot,
    SpreadConstraint, Symbol, Toleration, TolerationOperator,
};
use std::sync::Arc;

impl Edit {
    /// Makes the edit on a pod. Edits of nodes and policies leave the pod as it is.
    pub fn apply_to_pod(&self, pod: &mut PodInfo) {
        match self {
            Edit::Request { resource, amount } => match resource.as_str() {
                "cpu" => pod.requests.milli_cpu = *amount,
                "memory" => pod.requests.memory = *amount,
                "ephemeral-storage" => pod.requests.ephemeral_storage = *amount,
                _ => pod.requests.set_scalar(resource.clone(), *amount),
            },
            Edit::Tolerate(taint) => {
                let more = Toleration {
                    key: taint.key.clone(),
                    operator: TolerationOperator::Equal,
                    value: taint.value.clone(),
                    effect: Some(taint.effect),
                };
                pod.tolerations = pod.tolerations.iter().cloned().chain([more]).collect();
            }
            Edit::DropSelector { key, .. } => select(pod, key, None),
            Edit::SelectorValue { key, to, .. } => select(pod, key, Some((key, to))),
            Edit::SelectorKey { from, to, value } => select(pod, from, Some((to, value))),
            Edit::DropRequiredAffinity => pod.node_affinity.required = None,
            Edit::DropPodAffinity => edit_affinity(pod, |affinity| affinity.required = Box::default()),
            Edit::DropPodAntiAffinity => {
                edit_affinity(pod, |affinity| affinity.required_anti = Box::default());
            }
            Edit::DropHostPort(port) => {
                pod.host_ports = pod.host_ports.iter().filter(|known| *known != port).cloned().collect();
            }
            Edit::MaxSkew { topology_key, to, .. } => {
                edit_spread(pod, topology_key, |constraint| constraint.max_skew = *to);
            }
            Edit::SpreadAnyway { topology_key } => {
                edit_spread(pod, topology_key, |constraint| constraint.hard = false);
            }
            Edit::PodLabel { key, value } => pod.labels = with(&pod.labels, key, value.as_ref()),
            Edit::PodAnnotation { key, value } => {
                let others = pod.annotations.iter().filter(|(known, _)| *known != key);
                let others = others.map(|(key, value)| (key.clone(), value.clone()));
                let value = value.iter().map(|value| (key.clone(), value.clone()));
                pod.annotations = others.chain(value).collect::<Annotations>();
            }
            Edit::NodeLabel { .. }
            | Edit::RemoveTaint(_)
            | Edit::Uncordon { .. }
            | Edit::LeaveOut { .. }
            | Edit::PodsEnd => {}
        }
    }

    /// Makes the edit on a node of a fork. Edits of pods and policies leave the node as it is.
    pub fn apply_to_node(&self, fork: &mut Snapshot, id: NodeId) {
        let Some(info) = fork.node(id) else { return };
        if *self == Edit::PodsEnd {
            let ended: Vec<_> =
                info.pods().filter(|pod| !restarts_at_once(pod)).map(|pod| pod.key.clone()).collect();
            for pod in ended {
                fork.apply(Change::PodRemoved { pod });
            }
            return;
        }
        let mut node = Node::clone(info.node());
        if self.edit_node(&mut node) {
            fork.apply(Change::NodeUpserted { node: Arc::new(node) });
        }
    }

    /// Makes the edit on a node object. Whether it is an edit of the object.
    pub fn edit_node(&self, node: &mut Node) -> bool {
        match self {
            Edit::NodeLabel { key, value } => node.labels = with(&node.labels, key, value.as_ref()),
            Edit::RemoveTaint(taint) => {
                node.taints = node.taints.iter().filter(|known| *known != taint).cloned().collect();
            }
            Edit::Uncordon { .. } => {
                node.unschedulable = false;
                node.taints = node.taints.iter().filter(|taint| taint.key != *CORDONED).cloned().collect();
            }
            _ => return false,
        }
        true
    }
}

/// Labels with another value under a key, or without the key.
fn with(labels: &Labels, key: &Symbol, value: Option<&Symbol>) -> Labels {
    let others = labels.iter().filter(|(known, _)| *known != key);
    let others = others.map(|(key, value)| (key.clone(), value.clone()));
    others.chain(value.map(|value| (key.clone(), value.clone()))).collect()
}

/// Edits the terms of pod affinity and pod anti-affinity.
fn edit_affinity(pod: &mut PodInfo, edit: impl FnOnce(&mut PodAffinity)) {
    if let Some(constraints) = &mut pod.constraints {
        edit(Arc::make_mut(&mut Arc::make_mut(constraints).affinity));
    }
}

/// Edits the hard topology spread constraints of a key.
fn edit_spread(pod: &mut PodInfo, key: &Symbol, edit: impl Fn(&mut SpreadConstraint)) {
    let Some(constraints) = &mut pod.constraints else { return };
    let constraints = Arc::make_mut(constraints);
    let hard =
        Arc::make_mut(&mut constraints.spread).iter_mut().filter(|of| of.hard && of.topology_key == *key);
    hard.for_each(edit);
    if constraints.spread.iter().any(|constraint| !constraint.hard) {
        constraints.kinds = constraints.kinds.with(ConstraintKinds::SOFT_SPREAD);
    }
}

/// Replaces a term of the node selector, or drops it.
fn select(pod: &mut PodInfo, key: &Symbol, term: Option<(&Symbol, &Symbol)>) {
    let mut selector = with(&pod.node_affinity.node_selector, key, None);
    if let Some((key, value)) = term {
        selector = with(&selector, key, Some(value));
    }
    pod.node_affinity = NodeAffinity { node_selector: selector, ..pod.node_affinity.clone() };
}

/// Whether another pod takes the place of this one at once: that of a DaemonSet.
fn restarts_at_once(pod: &PodInfo) -> bool {
    pod.owners.iter().any(|owner| owner.controller && owner.kind.as_str() == "DaemonSet")
}
