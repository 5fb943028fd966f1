//! Rules that the plugins for volumes share.
//!
//! - `migration.rs`: in-tree volume sources as their CSI drivers see them
//! - `rows.rs`: where a requirement on a node label holds

pub(super) mod migration;
pub(super) mod rows;

use bayplan_model::{ObjectMeta, PersistentVolumeClaim, PodInfo, Symbol};

/// `namespace/name` of an object.
pub(super) fn full_name(object: &ObjectMeta) -> String {
    format!("{}/{}", object.namespace, object.name)
}

/// Upstream's text for a claim that does not exist.
pub(super) fn claim_not_found(name: &Symbol) -> String {
    format!("persistentvolumeclaim {:?} not found", name.as_str())
}

/// Upstream's text for a volume that does not exist.
pub(super) fn volume_not_found(name: &Symbol) -> String {
    format!("persistentvolume {:?} not found", name.as_str())
}

/// Complains about a claim that has the name of a pod's ephemeral volume and was not made for the pod.
///
/// Source: `component-helpers/storage/ephemeral/ephemeral.go`, `VolumeIsForPod`.
pub(super) fn check_owner(pod: &PodInfo, claim: &PersistentVolumeClaim) -> Result<(), String> {
    let metadata = &claim.metadata;
    let owner = metadata.owners.iter().find(|owner| owner.controller);
    if metadata.namespace == pod.namespace && owner.is_some_and(|owner| owner.uid == pod.uid) {
        return Ok(());
    }
    let (claim, pod) = (full_name(metadata), pod.full_name());
    Err(format!("PVC {claim} was not created for pod {pod} (pod is not owner)"))
}
