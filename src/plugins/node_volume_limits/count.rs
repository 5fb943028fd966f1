//! The definition for a node: counts volumes and compares them with the limits.

use super::REASON;
use super::index::AttachedVolumes;
use super::volumes::{Role, attachable};
use crate::volumes::migration::CsiVolume;
use bayplan_framework::{Status, Violation};
use bayplan_model::{
    CsiDriver, CsiNode, NodeInfo, PersistentVolume, PersistentVolumeSource, PodInfo, Snapshot, Symbol,
    VolumeAttachment,
};
use std::collections::{BTreeMap, BTreeSet};

/// Why a node is refused.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Refusal {
    /// The volumes cannot be counted.
    Status(Status),
    /// A driver is not installed on the node.
    NotInstalled(Symbol),
    /// The limit of a driver.
    Limit {
        /// The driver.
        driver: Symbol,
        /// How many volumes it can attach.
        limit: i64,
        /// How many are in use or attached.
        used: i64,
        /// How many the pod adds.
        new: i64,
    },
}

impl Refusal {
    pub(super) fn into_status(self) -> Status {
        match self {
            Self::Status(status) => status,
            Self::NotInstalled(driver) => Status::unschedulable(not_installed(&driver)),
            Self::Limit { .. } => Status::unschedulable(REASON),
        }
    }

    pub(super) fn into_violation(self) -> Violation {
        match self {
            Self::Limit { driver, limit, used, new } => Violation {
                reason: REASON.to_owned(),
                what: format!("driver {driver}"),
                need: format!("{new} more"),
                have: format!("{used} of {limit} attached"),
                ..Violation::default()
            },
            other => Violation { reason: other.into_status().message(), ..Violation::default() },
        }
    }
}

pub(super) fn not_installed(driver: &Symbol) -> String {
    format!("{driver} CSI driver is not installed on the node")
}

/// The volumes that the pod adds to a node, without duplicates.
pub(super) fn new_volumes(
    snapshot: &Snapshot,
    pod: &PodInfo,
    has_csi_node: bool,
) -> Result<BTreeSet<CsiVolume>, Status> {
    let mut new = Vec::new();
    attachable(snapshot, pod, has_csi_node, Role::New, &mut new, |_| {})?;
    Ok(new.into_iter().collect())
}

/// The first driver of the volumes that demands to be on the node and is not.
///
/// Source: `csi.go`, `checkCSIDriverOnNode`.
pub(super) fn missing_driver<'v>(
    snapshot: &Snapshot,
    volumes: &'v BTreeSet<CsiVolume>,
    csi_node: Option<&CsiNode>,
) -> Option<&'v Symbol> {
    let mut drivers = volumes.iter().map(|volume| &volume.driver);
    drivers.find(|name| {
        let driver = snapshot.object::<CsiDriver>(&Symbol::default(), name);
        let demands = driver.is_some_and(|driver| driver.prevents_scheduling_if_missing);
        demands && !csi_node.is_some_and(|node| node.has_driver(name))
    })
}

/// The volumes of attachments that name a CSI volume.
///
/// Source: `csi.go`, `getNodeVolumeAttachmentInfo`.
pub(super) fn attached(snapshot: &Snapshot, attachment: &VolumeAttachment) -> Option<CsiVolume> {
    let volume = attachment.volume.as_ref().filter(|_| !attachment.attacher.is_empty())?;
    let volume = snapshot.object::<PersistentVolume>(&Symbol::default(), volume)?;
    match &volume.source {
        PersistentVolumeSource::Csi { handle, .. } => {
            Some(CsiVolume { driver: attachment.attacher.clone(), handle: handle.clone() })
        }
        _ => None,
    }
}

/// Whether the node can attach the pod's volumes.
pub(super) fn check(
    snapshot: &Snapshot,
    pod: &PodInfo,
    node: NodeInfo,
    scaling: bool,
) -> Result<(), Refusal> {
    let csi_node = snapshot.object::<CsiNode>(&Symbol::default(), node.name()).map(|node| &**node);
    let mut new = new_volumes(snapshot, pod, csi_node.is_some()).map_err(Refusal::Status)?;
    if scaling && let Some(driver) = missing_driver(snapshot, &new, csi_node) {
        return Err(Refusal::NotInstalled(driver.clone()));
    }
    let Some(csi_node) = csi_node.filter(|node| node.drivers.iter().any(|driver| driver.limit.is_some()))
    else {
        return Ok(());
    };
    if new.is_empty() {
        return Ok(());
    }
    let mut used = Vec::new();
    for other in node.pods() {
        attachable(snapshot, other, true, Role::Placed, &mut used, |_| {}).map_err(Refusal::Status)?;
    }
    let mut used: BTreeSet<CsiVolume> = used.into_iter().collect();
    // A volume that is attached and that no pod uses counts as used and as new.
    new.retain(|volume| !used.contains(volume));
    match snapshot.try_index::<AttachedVolumes>(&AttachedVolumes::key()) {
        Ok(index) => {
            let attachments = index.attachments(snapshot, node.name());
            used.extend(attachments.filter_map(|attachment| attached(snapshot, attachment)));
        }
        Err(_) => {
            let attachments = snapshot.objects::<VolumeAttachment>().filter(|of| of.node == *node.name());
            used.extend(attachments.filter_map(|attachment| attached(snapshot, attachment)));
        }
    }
    exceeded(csi_node, &new, |driver| used.iter().filter(|volume| volume.driver == *driver).count() as i64)
        .map_or(Ok(()), Err)
}

/// The first driver whose limit is exceeded.
fn exceeded(csi_node: &CsiNode, new: &BTreeSet<CsiVolume>, used: impl Fn(&Symbol) -> i64) -> Option<Refusal> {
    let mut by_driver: BTreeMap<&Symbol, i64> = BTreeMap::new();
    for volume in new {
        *by_driver.entry(&volume.driver).or_default() += 1;
    }
    by_driver.into_iter().find_map(|(driver, new)| {
        let (limit, used) = (csi_node.limit(driver)?, used(driver));
        let driver = driver.clone();
        (used + new > limit).then_some(Refusal::Limit { driver, limit, used, new })
    })
}
