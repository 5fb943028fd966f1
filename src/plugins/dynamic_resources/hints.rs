//! Which events may help a pod that the plugin refused.
//!
//! Upstream's claims that are assumed are events too; here the watch of the claim that was written is the event, or the end
//! of the assumption when nothing was written.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `EventsToRegister`,
//! `isSchedulableAfterClaimChange`, `isSchedulableAfterPodChange`.

use super::DynamicResources;
use super::claims::user_claims;
use bayplan_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventObjects, EventRegistration, EventResource, Handle,
    QueueingHint,
};
use bayplan_model::{ResourceClaim, VersionRow};

impl EnqueueExtensions for DynamicResources {
    fn events(&self) -> Vec<EventRegistration> {
        let add_or_update = ActionType::ADD.with(ActionType::UPDATE);
        let claims = match self.gates.has(VersionRow::DeletedClaims) {
            true => add_or_update.with(ActionType::DELETE),
            false => add_or_update,
        };
        let nodes =
            ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL).with(ActionType::UPDATE_NODE_ALLOCATABLE);
        vec![
            crate::nodes(nodes),
            crate::events(EventResource::ResourceClaim, claims),
            crate::events(EventResource::TargetPod, ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM),
            crate::events(EventResource::DeviceClass, add_or_update),
            crate::events(EventResource::ResourceSlice, add_or_update),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match (event.resource, &event.objects) {
            (EventResource::ResourceClaim, _) => {
                let (old, new) = crate::object_change::<ResourceClaim>(event);
                claim_helps(h, old, new)
            }
            (EventResource::TargetPod, EventObjects::Pod { new: Some(new), .. }) => {
                new.key == h.pod.key && user_claims(new, h.snapshot).is_ok()
            }
            _ => true,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

/// Whether a change of a claim may help the pod.
fn claim_helps(h: &Handle, old: Option<&ResourceClaim>, new: Option<&ResourceClaim>) -> bool {
    let was_allocated = old.is_some_and(|old| old.allocation.is_some());
    let Some(new) = new else { return was_allocated };
    let Ok(claims) = user_claims(h.pod, h.snapshot) else { return false };
    if was_allocated && new.allocation.is_none() {
        // Devices are free.
        return true;
    }
    if !claims.iter().any(|claim| claim.metadata.uid == new.metadata.uid) {
        return false;
    }
    let status = |of: &ResourceClaim| {
        (of.allocation.clone(), of.reserved_for.clone(), of.devices.clone(), of.other_status.clone())
    };
    old.is_none_or(|old| status(old) != status(new))
}
