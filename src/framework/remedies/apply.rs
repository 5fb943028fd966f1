//! What an [`Edit`] does to a pod and to the node under evaluation.

use super::{CORDONED, Edit, EditOwner, json};
use bayplan_model::{Change, Labels, Node, NodeId, PodInfo, Snapshot, Symbol};
use serde_json::Value;
use std::sync::Arc;

impl Edit {
    /// The pod after some edits: they are made on its JSON, which is read again, so that every field has the value that
    /// it would have in the cluster. Edits of nodes and policies leave the pod as it is. `None` for a pod whose JSON is
    /// not kept, and where the API server would refuse the edited one.
    pub fn edited_pod(pod: &PodInfo, edits: &[Edit]) -> Option<PodInfo> {
        if edits.iter().all(|edit| edit.owner() != EditOwner::Pod) {
            return Some(pod.clone());
        }
        let mut object = Value::clone(pod.raw.as_deref()?);
        json::edit_pod(&mut object, pod, edits);
        // The API server computes the class of a pod that is created again with other requests.
        let requests = edits.iter().any(|edit| matches!(edit, Edit::Request { .. }));
        let status = object.get_mut("status").and_then(Value::as_object_mut).filter(|_| requests);
        let class = status.and_then(|status| status.shift_remove("qosClass"));
        let read = PodInfo::from_file(Arc::new(object)).ok()?;
        let mut edited = PodInfo {
            labels: read.labels,
            annotations: read.annotations,
            requests: read.requests,
            limits: read.limits,
            nonzero_milli_cpu: read.nonzero_milli_cpu,
            nonzero_memory: read.nonzero_memory,
            score_requests: read.score_requests,
            containers: read.containers,
            host_ports: read.host_ports,
            tolerations: read.tolerations,
            node_affinity: read.node_affinity,
            constraints: read.constraints,
            qos: read.qos,
            raw: read.raw,
            // The rest is as the cluster has it: of files, with what was filled in when they were read.
            ..pod.clone()
        };
        if class.is_some()
            && let Some(raw) = edited.raw.as_mut().map(Arc::make_mut)
        {
            raw["status"]["qosClass"] = Value::from(edited.qos.name());
        }
        Some(edited)
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

    /// What happens everywhere while the pod waits: pods that hold the resource end, those of DaemonSets aside.
    pub fn apply_everywhere(&self, fork: &mut Snapshot) {
        let Edit::ComesFree { resource, .. } = self else { return };
        let any = resource.as_str() == "pods";
        let holds = |pod: &PodInfo| (any || pod.requests.get(resource) > 0) && !restarts_at_once(pod);
        let placed = fork.pods().filter(|entry| entry.placed.is_some() && holds(&entry.pod));
        let ended: Vec<_> = placed.map(|entry| entry.pod.key.clone()).collect();
        for pod in ended {
            fork.apply(Change::PodRemoved { pod });
        }
    }

    /// Makes the edit on a node object and on its JSON. Whether it is an edit of the object.
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
        if let Some(raw) = node.raw.as_mut().map(Arc::make_mut) {
            json::edit_node(raw, self);
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

/// Whether another pod takes the place of this one at once: that of a DaemonSet.
fn restarts_at_once(pod: &PodInfo) -> bool {
    pod.owners.iter().any(|owner| owner.controller && owner.kind.as_str() == "DaemonSet")
}
