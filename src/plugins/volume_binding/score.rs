//! Score: nodes on which the volumes that a pod gets would be less full, of each class together.
//!
//! Claims that take existing volumes count alone where there is one; else those for which the storage of the node's
//! topology was checked.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/volume_binding.go`, `Score`; `scorer.go`. Upstream scores the
//! amount of a CSIStorageCapacity that has a `maximumVolumeSize` and no `capacity` by a panic; here it counts as nothing.

use super::claims::{Claims, DelayedClaim};
use super::filed::{Filed, Key};
use super::find::{find_delayed, order, pinned};
use super::groups::{Distinctions, Keys};
use super::index::{Class, VolumeIndex};
use crate::shape::on_line;
use bayplan_framework::{Handle, Status};
use bayplan_model::{CsiStorageCapacity, NodeId, NodeInfo, NodeSet, PersistentVolume, Quantity, Symbol};
use smallvec::SmallVec;

/// The shape when none is given: the fuller, the worse.
pub(super) const DEFAULT_SHAPE: [(i64, i64); 2] = [(0, 100), (100, 0)];

/// What is requested of a class, and what there is, in bytes.
#[derive(Default)]
struct Classes<'a>(SmallVec<[(&'a Symbol, i64, i64); 2]>);

impl<'a> Classes<'a> {
    fn of(&mut self, class: &'a Symbol) -> (&mut i64, &mut i64) {
        let at = self.0.iter().position(|(known, ..)| *known == class).unwrap_or_else(|| {
            self.0.push((class, 0, 0));
            self.0.len() - 1
        });
        let (_, requested, capacity) = &mut self.0[at];
        (requested, capacity)
    }

    fn takes(&mut self, of: &DelayedClaim, volume: &'a PersistentVolume) {
        let (requested, capacity) = self.of(&volume.class);
        *requested = requested.saturating_add(of.claim.request.unwrap_or(Quantity::ZERO).value());
        *capacity = capacity.saturating_add(volume.capacity.value());
    }

    /// Two claims of a class share its capacity: that of the last one counts.
    fn is_provisioned(&mut self, of: &'a DelayedClaim, bytes: i64, storage: Option<&CsiStorageCapacity>) {
        let (requested, capacity) = self.of(&of.claim.class);
        *requested = requested.saturating_add(bytes);
        *capacity = storage.and_then(|storage| storage.capacity).unwrap_or(0);
    }

    /// The mean of the classes.
    fn score(&self, shape: &[(i64, i64)]) -> i64 {
        let of_class = |requested: i64, capacity: i64| match requested > capacity || capacity == 0 {
            true => on_line(shape, 100),
            false => on_line(shape, (i128::from(requested) * 100 / i128::from(capacity)) as i64),
        };
        let sum: i64 = self.0.iter().map(|(_, requested, capacity)| of_class(*requested, *capacity)).sum();
        match self.0.len() {
            0 => 0,
            classes => (sum as f64 / classes as f64).round() as i64,
        }
    }
}

/// The definition: the score of one node.
pub(super) fn score(h: &Handle, shape: &[(i64, i64)], node: NodeInfo) -> Result<i64, Status> {
    let claims = Claims::in_attempt(h)?;
    let Ok(found) = find_delayed(h.snapshot, &claims.delayed, node.node()).map_err(Status::error)? else {
        return Ok(0);
    };
    let mut classes = Classes::default();
    for (at, volume) in &found.existing {
        claims.delayed.get(*at).into_iter().for_each(|of| classes.takes(of, volume));
    }
    if found.existing.is_empty() {
        let index = h.snapshot.index::<VolumeIndex>(&VolumeIndex::key());
        for of in found.provisioned.iter().filter_map(|at| claims.delayed.get(*at)) {
            let Some(bytes) = of.bytes else { continue };
            let class = index.and_then(|index| index.class(&of.claim.class));
            let storage = class.and_then(|class| class.capacities.first(bytes, &node.node().labels));
            classes.is_provisioned(of, bytes, storage);
        }
    }
    Ok(classes.score(shape))
}

/// A delayed claim, with its volumes and capacities by labels of nodes.
struct Claim<'a> {
    of: &'a DelayedClaim,
    filed: Filed<'a>,
    class: Option<&'a Class>,
    capacity_keys: SmallVec<[Key; 1]>,
}

/// The scores of many nodes, equal to [`score`].
pub(super) fn score_range(
    h: &Handle,
    shape: &[(i64, i64)],
    nodes: &NodeSet,
    out: &mut [i64],
) -> Result<(), Status> {
    let claims = Claims::in_attempt(h)?;
    let delayed = &claims.delayed;
    let index = h.snapshot.index::<VolumeIndex>(&VolumeIndex::key());
    // What distinguishes nodes does not matter: each is scored.
    let (mut keys, mut distinctions) = (Keys::new(h.snapshot), Distinctions::new());
    let by_label: SmallVec<[Claim<'_>; 1]> = delayed
        .iter()
        .map(|of| {
            let class = index.and_then(|index| index.class(&of.claim.class));
            let capacities = class.filter(|_| of.bytes.is_some()).map(|class| &class.capacities);
            let filed = Filed::of(&of.candidates, &mut keys, &mut distinctions);
            let capacity_keys = capacities.into_iter().flat_map(|of| of.keys());
            let capacity_keys = capacity_keys.map(|key| Key::new(keys.column(key))).collect();
            Claim { of, filed, class, capacity_keys }
        })
        .collect();
    let (order, pinned) = (order(delayed), pinned(delayed));
    for id in nodes.iter() {
        let (Some(node), Some(out)) = (h.snapshot.node(id), out.get_mut(id.row())) else { continue };
        *out = of_node(&by_label, &order, &pinned, id, node).score(shape);
    }
    Ok(())
}

/// What the claims would take on a node that passes.
fn of_node<'a>(
    claims: &[Claim<'a>],
    order: &[usize],
    pinned: &[usize],
    id: NodeId,
    node: NodeInfo,
) -> Classes<'a> {
    let labels = &node.node().labels;
    let mut classes = Classes::default();
    let mut taken: SmallVec<[&PersistentVolume; 4]> = SmallVec::new();
    let mut provisioned: SmallVec<[usize; 4]> = SmallVec::from_slice(pinned);
    for at in order {
        let Some(claim) = claims.get(*at) else { continue };
        let is_taken =
            |volume: &PersistentVolume| taken.iter().any(|other| other.metadata.name == volume.metadata.name);
        match claim.filed.first(id.row(), labels, is_taken) {
            Some(volume) => {
                taken.push(volume);
                classes.takes(claim.of, volume);
            }
            None => provisioned.push(*at),
        }
    }
    if taken.is_empty() {
        for claim in provisioned.iter().filter_map(|at| claims.get(*at)) {
            let Some(bytes) = claim.of.bytes else { continue };
            let values = claim.capacity_keys.iter().map(|key| key.value(id.row()));
            let storage = claim.class.and_then(|class| class.capacities.first_by(bytes, values, labels));
            classes.is_provisioned(claim.of, bytes, storage);
        }
    }
    classes
}
