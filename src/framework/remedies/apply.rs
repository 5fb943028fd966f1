//! What an [`Edit`] does to a pod and to the node under evaluation.

use super::{CORDONED, DevicesOf, Edit, EditOwner, json};
use bayplan_model::objects::devices::{DeviceRequest, DeviceToleration};
use bayplan_model::{Change, Labels, Node, NodeId, PodInfo, PodKey, ResourceClaim, Snapshot, Symbol};
use serde_json::Value;
use std::sync::Arc;

impl Edit {
    /// The pod after some edits: they are made on its JSON, which is read again, so that every field has the value that
    /// it would have in the cluster. Edits of nodes and policies leave the pod as it is. `None` for a pod whose JSON is
    /// not kept, and where the API server would refuse the edited one.
    pub fn edited_pod(pod: &PodInfo, edits: &[Edit]) -> Option<PodInfo> {
        if edits.iter().all(|edit| edit.owner() != EditOwner::Pod || edit.changes_claim()) {
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
            end(fork, ended);
            return;
        }
        let mut node = Node::clone(info.node());
        if self.edit_node(&mut node) {
            fork.apply(Change::NodeUpserted { node: Arc::new(node) });
        }
    }

    /// What happens wherever the pod goes: its claim has another request, or while it waits pods that hold the resource end,
    /// those of DaemonSets aside.
    pub fn apply_everywhere(&self, fork: &mut Snapshot) {
        let resource = match self {
            Edit::ComesFree { resource, .. } => resource,
            Edit::TolerateDevice { of, taint } => {
                let toleration = DeviceToleration {
                    key: taint.key.clone(),
                    operator: Symbol::new("Equal"),
                    value: taint.value.clone(),
                    effect: taint.effect.clone(),
                    toleration_seconds: None,
                };
                return edit_request(fork, of, |request| request.tolerations.push(toleration.clone()));
            }
            Edit::DeviceCount { of, to, .. } => {
                return edit_request(fork, of, |request| request.set_count(*to));
            }
            _ => return,
        };
        let any = resource.as_str() == "pods";
        let holds = |pod: &PodInfo| (any || pod.requests.get(resource) > 0) && !restarts_at_once(pod);
        let placed = fork.pods().filter(|entry| entry.placed.is_some() && holds(&entry.pod));
        let ended: Vec<_> = placed.map(|entry| entry.pod.key.clone()).collect();
        end(fork, ended);
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

/// Ends pods. Claims that no other pod uses lose their devices, as the controller of claims does it.
fn end(fork: &mut Snapshot, ended: Vec<PodKey>) {
    let uids: Vec<Symbol> =
        ended.iter().filter_map(|pod| fork.pod(pod)).map(|entry| entry.pod.uid.clone()).collect();
    for pod in ended {
        fork.apply(Change::PodRemoved { pod });
    }
    let is_freed = |claim: &&Arc<ResourceClaim>| {
        let users = &claim.reserved_for;
        claim.allocation.is_some() && !users.is_empty() && users.iter().all(|user| uids.contains(&user.uid))
    };
    let freed: Vec<_> = fork.objects::<ResourceClaim>().filter(is_freed).cloned().collect();
    for claim in freed {
        let claim = ResourceClaim { allocation: None, reserved_for: Arc::new([]), ..(*claim).clone() };
        fork.apply(Change::ObjectSeen { object: Arc::new(claim) });
    }
}

/// Changes a request of a claim.
fn edit_request(fork: &mut Snapshot, of: &DevicesOf, change: impl Fn(&mut DeviceRequest)) {
    let Some(claim) = fork.object::<ResourceClaim>(&of.namespace, &of.claim) else { return };
    let mut claim = ResourceClaim::clone(claim);
    let mut requests = claim.requests.to_vec();
    for request in &mut requests {
        if let Some(exactly) = request.exactly.as_mut().filter(|_| request.name == of.request) {
            change(&mut exactly.device);
        }
        for alternative in &mut request.first_available {
            if format!("{}/{}", request.name, alternative.name) == *of.request {
                change(&mut alternative.device);
            }
        }
    }
    claim.requests = requests.into();
    fork.apply(Change::ObjectSeen { object: Arc::new(claim) });
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
