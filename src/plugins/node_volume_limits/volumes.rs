//! Which volumes of a pod count against the limit of a driver.

use crate::volumes::migration::{CsiVolume, InTree, csi_volume, inline_csi_volume};
use crate::volumes::{check_owner, claim_not_found};
use bayplan_framework::Status;
use bayplan_model::{
    PersistentVolume, PersistentVolumeClaim, PodInfo, PodVolume, Snapshot, StorageClass, Symbol, VolumeSource,
};

/// Something that decides which volumes of a pod count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Dependency {
    /// A claim, by namespace and name.
    Claim(Symbol, Symbol),
    /// A persistent volume.
    Volume(Symbol),
    /// A storage class.
    Class(Symbol),
}

/// Whether the plugin looks at the pod: it has a claim, or an inline volume of a kind that has a CSI driver.
pub(super) fn concerns(pod: &PodInfo) -> bool {
    of(pod).any(|volume| match &volume.source {
        VolumeSource::Claim { .. } | VolumeSource::Ephemeral => true,
        inline => InTree::of_inline(inline).is_some(),
    })
}

fn of(pod: &PodInfo) -> impl Iterator<Item = &PodVolume> {
    pod.constraints.iter().flat_map(|constraints| constraints.volumes.iter())
}

/// Where the volumes of a pod count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The pod is to be placed: all its claims must exist.
    New,
    /// The pod is on the node: claims that do not exist are left out.
    Placed,
}

/// The volumes of a pod on a node, as the drivers name them. In-tree volumes count only on nodes with a CSINode.
/// `read` receives what the result depends on. The volumes come in any order and may come twice.
pub(super) fn attachable(
    snapshot: &Snapshot,
    pod: &PodInfo,
    has_csi_node: bool,
    role: Role,
    out: &mut Vec<CsiVolume>,
    mut read: impl FnMut(Dependency),
) -> Result<(), Status> {
    let namespace = &pod.namespace;
    for volume in of(pod) {
        let (name, ephemeral) = match &volume.source {
            VolumeSource::Claim { name, .. } => (name.clone(), false),
            VolumeSource::Ephemeral => (Symbol::from(format!("{}-{}", pod.name, volume.name)), true),
            inline => {
                if has_csi_node {
                    let found = inline_csi_volume(inline).map_err(|why| {
                        Status::error(format!("converting volume({}) from inline to csi: {why}", volume.name))
                    })?;
                    out.extend(found);
                }
                continue;
            }
        };
        if name.is_empty() {
            return Err(Status::error("PersistentVolumeClaim had no name"));
        }
        read(Dependency::Claim(namespace.clone(), name.clone()));
        let Some(claim) = snapshot.object::<PersistentVolumeClaim>(namespace, &name) else {
            if role == Role::New {
                let why = claim_not_found(&name);
                return Err(Status::unresolvable(format!("looking up PVC {namespace}/{name}: {why}")));
            }
            continue;
        };
        if ephemeral {
            check_owner(pod, claim).map_err(Status::error)?;
        }
        let found = of_claim(snapshot, claim, has_csi_node, &mut read);
        out.extend(found.filter(|volume| !volume.driver.is_empty() && !volume.handle.is_empty()));
    }
    Ok(())
}

/// The volume of a claim. A claim without volume counts as one of the driver that will provision it.
///
/// Source: `csi.go`, `getCSIDriverInfo`.
fn of_claim(
    snapshot: &Snapshot,
    claim: &PersistentVolumeClaim,
    has_csi_node: bool,
    mut read: impl FnMut(Dependency),
) -> Option<CsiVolume> {
    let everywhere = Symbol::default();
    if !claim.volume.is_empty() {
        read(Dependency::Volume(claim.volume.clone()));
        if let Some(volume) = snapshot.object::<PersistentVolume>(&everywhere, &claim.volume) {
            let counts = InTree::of_volume(&volume.source).is_none() || has_csi_node;
            return csi_volume(volume).ok().flatten().filter(|_| counts);
        }
    }
    if claim.class.is_empty() {
        return None;
    }
    read(Dependency::Class(claim.class.clone()));
    let class = snapshot.object::<StorageClass>(&everywhere, &claim.class)?;
    let driver = match InTree::named(&class.provisioner) {
        Some(plugin) => Symbol::new(plugin.driver()),
        None => class.provisioner.clone(),
    };
    if InTree::named(&class.provisioner).is_some_and(|plugin| !plugin.is_migrated() || !has_csi_node) {
        return None;
    }
    // No driver has a volume of this name.
    let metadata = &claim.metadata;
    let handle = Symbol::from(format!("\0{}/{}", metadata.namespace, metadata.name));
    Some(CsiVolume { driver, handle })
}
