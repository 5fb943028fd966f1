//! What an update changed of a pod or a node, in the terms of [`Kinds`]. An update that changes
//! nothing that a plugin or rule can read has no kinds. Every field is named here, so that a new field is classified.

use super::changes::Kinds;
use super::node::Node;
use super::pod::{PodInfo, ScheduledCondition};
use super::time::Time;
use serde_json::Value;
use std::sync::Arc;

impl PodInfo {
    /// What `now`, a later version of the same pod, changed for readers of the pods on a node: `PODS_REQUESTS`,
    /// `PODS_PORTS`, `PODS_OTHER`, or nothing. Not compared: `metadata.resourceVersion` and `metadata.generation`, which
    /// no plugin or rule reads; `spec.nodeName`, because the snapshot knows where a pod is; of the condition `PodScheduled`
    /// everything but the time at which it became true.
    ///
    /// A policy that reads the whole object keeps it in `raw`: then any difference of it is `PODS_OTHER`.
    pub fn difference(&self, now: &PodInfo) -> Kinds {
        let PodInfo {
            key,
            namespace,
            name,
            uid,
            resource_version: _,
            generation: _,
            labels,
            annotations,
            owners,
            created,
            deleted,
            scheduler_name,
            node_name: _,
            priority,
            priority_class,
            never_preempts,
            scheduling_gates,
            requests,
            named_requests,
            limits,
            nonzero_milli_cpu,
            nonzero_memory,
            score_requests,
            taken_in_1_36,
            overhead,
            containers,
            images,
            host_ports,
            tolerations,
            node_affinity,
            constraints,
            qos,
            phase,
            failure,
            nominated_node,
            started,
            scheduled_condition,
            disruption_target,
            written_after_bind,
            unreadable,
            raw,
        } = self;
        let requests = *requests != now.requests
            || *taken_in_1_36 != now.taken_in_1_36
            || *named_requests != now.named_requests
            || *unreadable != now.unreadable
            || *nonzero_milli_cpu != now.nonzero_milli_cpu
            || *nonzero_memory != now.nonzero_memory;
        let ports = *host_ports != now.host_ports;
        let other = *phase != now.phase
            || *failure != now.failure
            || *deleted != now.deleted
            || *labels != now.labels
            || *annotations != now.annotations
            || *owners != now.owners
            || *started != now.started
            || *nominated_node != now.nominated_node
            || scheduled_at(scheduled_condition) != scheduled_at(&now.scheduled_condition)
            || *scheduling_gates != now.scheduling_gates
            || *priority != now.priority
            || *priority_class != now.priority_class
            || *never_preempts != now.never_preempts
            || *scheduler_name != now.scheduler_name
            || *created != now.created
            || (key, namespace, name, uid) != (&now.key, &now.namespace, &now.name, &now.uid)
            || *limits != now.limits
            || *score_requests != now.score_requests
            || *overhead != now.overhead
            || *containers != now.containers
            || *images != now.images
            || *tolerations != now.tolerations
            || *node_affinity != now.node_affinity
            || *constraints != now.constraints
            || *qos != now.qos
            || *disruption_target != now.disruption_target
            || *written_after_bind != now.written_after_bind
            || raw_differs(raw, &now.raw);
        let mut kinds = Kinds::NONE;
        if requests {
            // Rules about single pods read requests too.
            kinds |= Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER);
        }
        if ports {
            kinds |= Kinds::PODS_PORTS.with(Kinds::PODS_OTHER);
        }
        if other {
            kinds |= Kinds::PODS_OTHER;
        }
        kinds
    }
}

/// When the pod was scheduled, by its condition.
fn scheduled_at(condition: &Option<Box<ScheduledCondition>>) -> Option<Time> {
    condition.as_ref().filter(|condition| condition.0.as_str() == "True").and_then(|condition| condition.3)
}

fn raw_differs(before: &Option<Arc<Value>>, now: &Option<Arc<Value>>) -> bool {
    match (before, now) {
        (None, None) => false,
        (Some(before), Some(now)) => !Arc::ptr_eq(before, now) && before != now,
        _ => true,
    }
}

impl Node {
    /// What `now`, a later version of the same node, changed. Not compared: `metadata.resourceVersion`.
    pub fn difference(&self, now: &Node) -> Kinds {
        let Node {
            name,
            uid,
            resource_version: _,
            labels,
            annotations,
            owners,
            created,
            deleted,
            unschedulable,
            taints,
            allocatable,
            allocatable_written,
            capacity,
            images,
            conditions,
            declared_features,
            raw,
        } = self;
        let allocatable = *allocatable != now.allocatable
            || *allocatable_written != now.allocatable_written
            || *capacity != now.capacity;
        let other = (name, uid, owners) != (&now.name, &now.uid, &now.owners)
            || (created, deleted) != (&now.created, &now.deleted)
            || raw_differs(raw, &now.raw);
        let parts = [
            (*labels != now.labels, Kinds::LABELS),
            (*annotations != now.annotations, Kinds::ANNOTATIONS),
            (*taints != now.taints, Kinds::TAINTS),
            (*unschedulable != now.unschedulable, Kinds::UNSCHEDULABLE),
            (allocatable, Kinds::ALLOCATABLE),
            (!Arc::ptr_eq(images, &now.images) && *images != now.images, Kinds::IMAGES),
            (*conditions != now.conditions, Kinds::CONDITIONS),
            (*declared_features != now.declared_features, Kinds::FEATURES),
            (other, Kinds::OTHER),
        ];
        parts.into_iter().filter(|(differs, _)| *differs).fold(Kinds::NONE, |all, (_, kind)| all.with(kind))
    }
}
