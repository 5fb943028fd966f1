//! [`find`]: the definition of Filter: which volumes the claims of a pod get on a node, or why they get none.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `FindPodVolumes`.

use super::claims::{Claims, DelayedClaim};
use super::index::VolumeIndex;
use super::matching;
use crate::volumes::migration;
use bayplan_framework::{Code, Status};
use bayplan_model::{CsiNode, Labels, Node, PersistentVolume, Quantity, Snapshot, Symbol};
use std::sync::Arc;

/// The reasons for which a node is refused, as bits in upstream's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Conflicts(pub(super) u8);

impl Conflicts {
    pub(super) const NONE: Self = Self(0);
    /// A bound volume is not for this node.
    pub(super) const AFFINITY: Self = Self(1);
    /// A claim finds no volume.
    pub(super) const NO_VOLUME: Self = Self(1 << 1);
    /// A volume cannot be provisioned for lack of capacity.
    pub(super) const NO_CAPACITY: Self = Self(1 << 2);
    /// A bound volume does not exist.
    pub(super) const GONE: Self = Self(1 << 3);
    /// How many combinations there are.
    pub(super) const COMBINATIONS: usize = 16;
    /// The texts, in the order of the bits.
    const TEXTS: [&str; 4] = [
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    ];

    /// Both.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The text of a single reason.
    pub(super) fn text(self) -> &'static str {
        Self::TEXTS.get(self.0.trailing_zeros() as usize).copied().unwrap_or_default()
    }

    /// The status of a refused node.
    pub(super) fn status(self) -> Status {
        let texts = Self::TEXTS.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        Status::with_reasons(Code::UnschedulableAndUnresolvable, texts.map(|(_, text)| *text))
    }
}

/// What the claims of a pod get on a node. Claims are named by their position among the delayed ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Claims with the existing volumes that they take, in the order in which they take them.
    pub(super) existing: Vec<(usize, Arc<PersistentVolume>)>,
    /// Claims for which a volume is provisioned, in the order in which they are checked.
    pub(super) provisioned: Vec<usize>,
}

/// The volumes of a pod's claims on a node, or the conflicts that refuse the node. An `Err` fails the attempt.
pub(super) fn find(
    snapshot: &Snapshot,
    claims: &Claims,
    node: &Node,
) -> Result<Result<Found, Conflicts>, String> {
    let bound = bound_conflict(snapshot, claims, node)?;
    let delayed = find_delayed(snapshot, &claims.delayed, node)?;
    Ok(match (bound, delayed) {
        (Conflicts::NONE, delayed) => delayed,
        (bound, Ok(_)) => Err(bound),
        (bound, Err(delayed)) => Err(bound.with(delayed)),
    })
}

/// The conflict of the first bound claim whose volume does not exist or is not for this node.
pub(super) fn bound_conflict(snapshot: &Snapshot, claims: &Claims, node: &Node) -> Result<Conflicts, String> {
    for bound in &claims.bound {
        let Some(volume) = &bound.volume else { return Ok(Conflicts::GONE) };
        if !reaches(snapshot, volume, node)? {
            return Ok(Conflicts::AFFINITY);
        }
    }
    Ok(Conflicts::NONE)
}

/// Whether a bound volume is for a node. The affinity counts as the CSI driver has it when the node has migrated the
/// volume's in-tree plugin to the driver.
pub(super) fn reaches(snapshot: &Snapshot, volume: &PersistentVolume, node: &Node) -> Result<bool, String> {
    let csi_node = snapshot.object::<CsiNode>(&Symbol::default(), &node.name);
    let affinity = migration::affinity_on(volume, csi_node.map(|csi_node| &**csi_node))?;
    Ok(affinity.is_none_or(|affinity| matching::allows(&affinity, &node.labels)))
}

/// The order in which claims take volumes: those with a smaller request first, equal ones in pod order.
pub(super) fn order(delayed: &[DelayedClaim]) -> Vec<usize> {
    let request = |at: &usize| delayed.get(*at).and_then(|of| of.claim.request).unwrap_or(Quantity::ZERO);
    let mut order: Vec<usize> = (0..delayed.len()).collect();
    order.retain(|at| delayed.get(*at).is_some_and(|of| of.claim.selected_node.is_none()));
    order.sort_by_key(request);
    order
}

/// The claims whose node is selected already.
pub(super) fn pinned(delayed: &[DelayedClaim]) -> Vec<usize> {
    let is_pinned = |at: &usize| delayed.get(*at).is_some_and(|of| of.claim.selected_node.is_some());
    (0..delayed.len()).filter(is_pinned).collect()
}

/// The volumes of delayed claims on a node.
pub(super) fn find_delayed(
    snapshot: &Snapshot,
    delayed: &[DelayedClaim],
    node: &Node,
) -> Result<Result<Found, Conflicts>, String> {
    let mut found = Found { provisioned: pinned(delayed), ..Found::default() };
    for of in delayed {
        match &of.claim.selected_node {
            Some(selected) if *selected != node.name => return Ok(Err(Conflicts::NO_VOLUME)),
            _ => {}
        }
    }
    for at in order(delayed) {
        let Some(of) = delayed.get(at) else { continue };
        if let Some(error) = &of.candidates.error {
            return Err(error.to_string());
        }
        let is_taken = |volume: &Arc<PersistentVolume>| {
            found.existing.iter().any(|(_, taken)| taken.metadata.name == volume.metadata.name)
        };
        match of.candidates.first(&node.labels, is_taken).cloned() {
            Some(volume) => found.existing.push((at, volume)),
            None => found.provisioned.push(at),
        }
    }
    let conflict = |at: &usize| {
        let of = delayed.get(*at)?;
        let enough = |bytes: i64| suffices(snapshot, of, bytes, &node.labels);
        provisioning_conflict(of, || of.class.allows(&node.labels), enough)
    };
    Ok(found.provisioned.iter().find_map(conflict).map_or(Ok(found), Err))
}

/// Why no volume can be provisioned for a claim on a node: whether the class allows the node, and whether the node has
/// the capacity for this many bytes.
///
/// Source: `binder.go`, `checkVolumeProvisions`.
pub(super) fn provisioning_conflict(
    of: &DelayedClaim,
    allows: impl FnOnce() -> bool,
    has_capacity: impl FnOnce(i64) -> bool,
) -> Option<Conflicts> {
    if !of.class.provisions() || !allows() {
        return Some(Conflicts::NO_VOLUME);
    }
    of.bytes.is_some_and(|bytes| !has_capacity(bytes)).then_some(Conflicts::NO_CAPACITY)
}

/// Whether some capacity of a claim's class suffices on a node with these labels.
pub(super) fn suffices(snapshot: &Snapshot, of: &DelayedClaim, bytes: i64, labels: &Labels) -> bool {
    let index = snapshot.index::<VolumeIndex>(&VolumeIndex::key());
    let class = index.and_then(|index| index.class(&of.claim.class));
    class.is_some_and(|class| class.capacities.suffice(bytes, labels))
}
