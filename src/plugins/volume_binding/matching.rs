//! [`Candidates`]: the volumes that a claim may take, whatever the node, and the one that it takes on a node.
//!
//! Source: `component-helpers/storage/volume/pv_helpers.go`, `FindMatchingVolume`.

use super::index::Class;
use crate::volumes;
use bayplan_model::{Labels, NodeSelector, PersistentVolume, PersistentVolumeClaim, Quantity, Symbol};
use std::sync::Arc;

/// The volumes that a claim may take on some node: they pass every check that does not look at the node.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// Volumes that are reserved for the claim. The first that is not taken decides: it, or no volume.
    pub(super) reserved: Vec<Arc<PersistentVolume>>,
    /// Other volumes, smallest first; equal ones by name. Upstream takes any of the smallest.
    pub(super) free: Vec<Arc<PersistentVolume>>,
    /// Why the search fails.
    pub(super) error: Option<Arc<str>>,
}

/// Whether a volume has what a claim asks for, apart from class, selector, access modes and phase, which do not matter
/// for a volume that is reserved for the claim.
fn holds(volume: &PersistentVolume, claim: &PersistentVolumeClaim, request: Quantity) -> bool {
    volume.capacity >= request
        && volume.mode == claim.mode
        && volume.attributes_class == claim.attributes_class
        && volume.metadata.deleted.is_none()
}

/// Why a volume without a claim does not suit a claim of its class on any node; for explanations.
pub(super) fn misfit(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    let request = claim.request.unwrap_or(Quantity::ZERO);
    if volume.capacity < request {
        return Some(format!("has {}, the claim requests {request}", volume.capacity));
    }
    if volume.mode != claim.mode {
        return Some(format!("has the volume mode {}", volume.mode));
    }
    if volume.attributes_class != claim.attributes_class {
        let class = &volume.attributes_class;
        return Some(match class.is_empty() {
            true => String::from("has no VolumeAttributesClass"),
            false => format!("has the VolumeAttributesClass {class}"),
        });
    }
    if volume.metadata.deleted.is_some() {
        return Some(String::from("is being deleted"));
    }
    if !volume.is_available() {
        return Some(format!("is {}", if volume.phase.is_empty() { "not available" } else { &volume.phase }));
    }
    if !selects(claim, &volume.metadata.labels) {
        return Some(String::from("does not match the claim's selector"));
    }
    let missing = claim.access_modes.iter().find(|mode| !volume.access_modes.contains(mode))?;
    Some(format!("lacks the access mode {missing}"))
}

fn selects(claim: &PersistentVolumeClaim, labels: &Labels) -> bool {
    match &claim.selector {
        None => true,
        Some(Ok(selector)) => selector.matches(labels),
        Some(Err(_)) => false,
    }
}

/// Whether the affinity of a volume allows a node with these labels. Terms on fields of nodes always hold.
///
/// Source: `component-helpers/storage/volume/helpers.go`, `CheckNodeAffinity`.
pub(super) fn allows(affinity: &NodeSelector, labels: &Labels) -> bool {
    matches!(affinity.matches(&Symbol::default(), labels), Ok(true))
}

/// Whether a volume without a claim is for nodes with these labels. Its affinity counts as written.
pub(super) fn reaches(volume: &PersistentVolume, labels: &Labels) -> bool {
    volume.affinity.as_ref().is_none_or(|affinity| allows(affinity, labels))
}

impl Candidates {
    /// The candidates of a claim among the volumes of its class.
    pub(super) fn of(claim: &PersistentVolumeClaim, class: Option<&Class>) -> Self {
        if let Some(Err(error)) = &claim.selector {
            let name = volumes::full_name(&claim.metadata);
            let text = format!("error creating internal label selector for claim: {name}: {error}");
            return Self { error: Some(Arc::from(text)), ..Self::default() };
        }
        let Some(class) = class else { return Self::default() };
        let request = claim.request.unwrap_or(Quantity::ZERO);
        let reserved = class.reserved(&claim.metadata);
        let reserved =
            reserved.filter(|volume| volume.is_for(&claim.metadata) && holds(volume, claim, request));
        let free = class.free(request).filter(|volume| suits(volume, claim, request));
        Self { reserved: reserved.cloned().collect(), free: free.cloned().collect(), error: None }
    }

    /// The definition: the volume that the claim takes on a node with these labels, when some are taken already.
    pub(super) fn first(
        &self,
        labels: &Labels,
        is_taken: impl Fn(&Arc<PersistentVolume>) -> bool,
    ) -> Option<&Arc<PersistentVolume>> {
        if let Some(reserved) = self.reserved.iter().find(|volume| !is_taken(volume)) {
            return Some(reserved).filter(|volume| reaches(volume, labels));
        }
        self.free.iter().find(|volume| !is_taken(volume) && reaches(volume, labels))
    }
}

/// Whether a volume without a claim suits a claim of its class.
fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim, request: Quantity) -> bool {
    holds(volume, claim, request)
        && volume.is_available()
        && selects(claim, &volume.metadata.labels)
        && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
}
