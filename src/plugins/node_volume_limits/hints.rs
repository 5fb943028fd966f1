//! Which events may help a pod that the limits refused.

use super::NodeVolumeLimits;
use super::volumes::concerns;
use crate::volumes::migration::{InTree, inline_csi_volume};
use crate::{events, object_change, pod_change, pods};
use bayplan_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventRegistration, EventResource, Handle, QueueingHint,
};
use bayplan_model::{CsiNode, PersistentVolumeClaim, PodInfo, VolumeAttachment, VolumeSource};

impl EnqueueExtensions for NodeVolumeLimits {
    fn events(&self) -> Vec<EventRegistration> {
        vec![
            events(EventResource::CsiNode, ActionType::ADD.with(ActionType::UPDATE)),
            pods(ActionType::DELETE),
            events(EventResource::PersistentVolumeClaim, ActionType::ADD),
            events(EventResource::VolumeAttachment, ActionType::DELETE),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match event.resource {
            EventResource::CsiNode => match object_change::<CsiNode>(event) {
                (Some(old), Some(new)) => rose(old, new),
                _ => true,
            },
            EventResource::PersistentVolumeClaim => {
                object_change::<PersistentVolumeClaim>(event).1.is_none_or(|claim| uses(h.pod, claim))
            }
            EventResource::VolumeAttachment => {
                object_change::<VolumeAttachment>(event).0.is_none_or(|gone| may_use(h.pod, gone))
            }
            _ => pod_change(event).0.is_none_or(|gone| {
                (gone.node_name.is_some() || gone.nominated_node.is_some()) && concerns(gone)
            }),
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

/// Whether the limit of some driver rose. Upstream takes a driver without limit to have the limit 0, so that a limit
/// that comes rises, and one that goes does not.
fn rose(old: &CsiNode, new: &CsiNode) -> bool {
    // Of several entries of a driver the last counts.
    let before = |name| {
        let entry = old.drivers.iter().rev().find(|driver| driver.name == name);
        entry.and_then(|driver| driver.limit).unwrap_or(0)
    };
    new.drivers.iter().any(|driver| driver.limit.unwrap_or(0) > before(driver.name.clone()))
}

/// Whether the pod uses the claim.
fn uses(pod: &PodInfo, claim: &PersistentVolumeClaim) -> bool {
    let metadata = &claim.metadata;
    metadata.namespace == pod.namespace && pod.claims().any(|(_, name, _)| name == metadata.name)
}

/// Whether the pod may use the volume that is detached. Upstream leaves ephemeral volumes out.
fn may_use(pod: &PodInfo, gone: &VolumeAttachment) -> bool {
    let volumes = pod.constraints.iter().flat_map(|constraints| constraints.volumes.iter());
    volumes.map(|volume| &volume.source).any(|source| match (source, InTree::of_inline(source)) {
        (VolumeSource::Claim { .. }, _) => true,
        (_, Some(plugin)) => match inline_csi_volume(source) {
            Ok(_) => gone.attacher == *plugin.driver(),
            // A volume that cannot be translated wakes the pod.
            Err(_) => true,
        },
        _ => false,
    })
}
