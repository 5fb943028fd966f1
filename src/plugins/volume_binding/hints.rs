//! Which events may help a pod that the plugin refused.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/volume_binding.go`, `EventsToRegister`.

use super::VolumeBinding;
use bayplan_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventObjects, EventRegistration, EventResource, Handle,
    QueueingHint,
};
use bayplan_model::{
    ApiObject, CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolumeClaim, PodInfo, StorageClass, Typed,
    VolumeSource, downcast,
};
use std::sync::Arc;

/// The object of an event before and after it, if it is of this kind.
fn change<T: Typed>(event: &ClusterEvent) -> (Option<&T>, Option<&T>) {
    match &event.objects {
        EventObjects::Object { old, new } => (typed(old), typed(new)),
        _ => (None, None),
    }
}

fn typed<T: Typed>(object: &Option<Arc<dyn ApiObject>>) -> Option<&T> {
    downcast(object.as_ref()?.as_ref())
}

impl EnqueueExtensions for VolumeBinding {
    fn events(&self) -> Vec<EventRegistration> {
        let add_or_update = ActionType::ADD.with(ActionType::UPDATE);
        let of = |resource, actions| EventRegistration { resource, actions };
        vec![
            of(EventResource::StorageClass, add_or_update),
            of(EventResource::PersistentVolumeClaim, add_or_update),
            of(EventResource::PersistentVolume, add_or_update),
            crate::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL)),
            of(EventResource::CsiNode, add_or_update),
            of(EventResource::CsiDriver, ActionType::UPDATE),
            of(EventResource::CsiStorageCapacity, add_or_update),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match event.resource {
            EventResource::PersistentVolumeClaim => is_of_pod(h.pod, change(event).1),
            EventResource::StorageClass => match change::<StorageClass>(event) {
                (Some(old), Some(new)) => old.allowed_topologies != new.allowed_topologies,
                _ => true,
            },
            EventResource::CsiNode => match change::<CsiNode>(event) {
                (Some(old), Some(new)) => old.migrated_plugins != new.migrated_plugins,
                _ => true,
            },
            EventResource::CsiStorageCapacity => match change::<CsiStorageCapacity>(event) {
                (Some(old), Some(new)) => new.limit().is_some_and(|limit| old.limit() < Some(limit)),
                _ => true,
            },
            EventResource::CsiDriver => match change::<CsiDriver>(event) {
                (Some(old), Some(new)) => {
                    old.storage_capacity && !new.storage_capacity && has_inline(h.pod, new)
                }
                _ => true,
            },
            _ => true,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

/// Whether a claim is one of the pod's.
fn is_of_pod(pod: &PodInfo, claim: Option<&PersistentVolumeClaim>) -> bool {
    claim.is_none_or(|claim| {
        claim.metadata.namespace == pod.namespace
            && pod.claims().any(|(_, name, _)| name == claim.metadata.name)
    })
}

/// Whether the pod has an inline volume of a driver. Upstream asks this although capacity counts for claims only.
fn has_inline(pod: &PodInfo, driver: &CsiDriver) -> bool {
    let volumes = pod.constraints.iter().flat_map(|constraints| &constraints.volumes);
    volumes.into_iter().any(|volume| match &volume.source {
        VolumeSource::Csi { driver: name } => *name == driver.metadata.name,
        _ => false,
    })
}
