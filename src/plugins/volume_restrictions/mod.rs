//! Refuses nodes where a disk of the pod is in use in a way that excludes the pod, and every node while another pod uses
//! a claim of the pod with the access mode ReadWriteOncePod.
//!
//! `users.rs` is the index of claims and disks in use.
//!
//! Source: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.

#[cfg(test)]
mod tests;
mod users;

pub use users::VolumeUsers;

use super::volumes::claim_not_found;
use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, Edit, EnqueueExtensions, EventRegistration, EventResource, Features,
    Filter, Handle, Need, Plugin, PreFilter, PreFilterExtensions, PreFilterOutcome, QueueingHint, Reads,
    StateSlot, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{
    ConstraintKinds, Index, IndexKey, Kind, Kinds, NodeId, NodeInfo, NodeSet, PersistentVolumeClaim, PodInfo,
    PodPrecondition, PodVolume, Symbol, VolumeSource,
};
use std::sync::Arc;
use users::with_index;

const NAME: &str = "VolumeRestrictions";
const DISK: &str = "node(s) had no available disk";
const CLAIM: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already \
                     in-use by another pod";
const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, VolumeRestrictions)
}

struct VolumeRestrictions;

fn volumes(pod: &PodInfo) -> impl Iterator<Item = &PodVolume> {
    pod.constraints.iter().flat_map(|constraints| constraints.volumes.iter())
}

/// The names of the claims that the pod's volumes name. Claims of ephemeral volumes are not looked at: only one pod can
/// use them.
fn claims(pod: &PodInfo) -> impl Iterator<Item = &Symbol> {
    volumes(pod).filter_map(|volume| match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name),
        _ => None,
    })
}

/// The volumes of a pod that other pods may exclude.
fn disks(pod: &PodInfo) -> impl Iterator<Item = &PodVolume> {
    let has = pod.constraint_kinds().intersects(ConstraintKinds::EXCLUSIVE_DISKS);
    let exclusive = |volume: &&PodVolume| volume.source.kinds().intersects(ConstraintKinds::EXCLUSIVE_DISKS);
    has.then(|| volumes(pod)).into_iter().flatten().filter(exclusive)
}

/// Whether two disks are one disk that two pods cannot use on one node.
fn exclude(a: &VolumeSource, b: &VolumeSource) -> bool {
    use VolumeSource as S;
    match (a, b) {
        (
            S::GcePersistentDisk { name, read_only, .. },
            S::GcePersistentDisk { name: other, read_only: too, .. },
        ) => name == other && !(*read_only && *too),
        (S::AwsElasticBlockStore { volume_id, .. }, S::AwsElasticBlockStore { volume_id: other, .. }) => {
            volume_id == other
        }
        (S::Iscsi { iqn, read_only }, S::Iscsi { iqn: other, read_only: too }) => {
            iqn == other && !(*read_only && *too)
        }
        (
            S::Rbd { monitors, pool, image, read_only },
            S::Rbd { monitors: theirs, pool: other_pool, image: other_image, read_only: too },
        ) => {
            (pool, image) == (other_pool, other_image)
                && !(*read_only && *too)
                && monitors.iter().any(|monitor| theirs.contains(monitor))
        }
        _ => false,
    }
}

/// The first disk of `pod` that `other` excludes.
fn excluded<'p>(pod: &'p PodInfo, other: &PodInfo) -> Option<&'p PodVolume> {
    disks(pod).find(|disk| disks(other).any(|theirs| exclude(&disk.source, &theirs.source)))
}

/// The state of an attempt: the pod's claims with ReadWriteOncePod, and how many uses by other pods there are.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    claims: Box<[Symbol]>,
    in_use: i64,
}

impl State {
    /// How many volumes of a pod have the name of such a claim. Upstream does not compare the namespace.
    fn uses(&self, other: &PodInfo) -> i64 {
        claims(other).filter(|name| self.claims.contains(name)).count() as i64
    }

    fn of(h: &Handle) -> Result<Self, Status> {
        let mut once = Vec::new();
        for name in claims(h.pod) {
            let claim = h.snapshot.object::<PersistentVolumeClaim>(&h.pod.namespace, name);
            let Some(claim) = claim else { return Err(Status::unresolvable(claim_not_found(name))) };
            let exclusive = claim.access_modes.iter().any(|mode| *mode == *READ_WRITE_ONCE_POD);
            if exclusive && !once.contains(name) {
                once.push(name.clone());
            }
        }
        if once.is_empty() {
            return Ok(Self::default());
        }
        let used = |index: &VolumeUsers| {
            let is_used = |name: &&Symbol| index.claim(h.snapshot, &h.pod.namespace, name).next().is_some();
            once.iter().filter(is_used).count() as i64
        };
        Ok(Self { in_use: with_index(h.snapshot, used)?, claims: once.into() })
    }
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::VOLUMES.with(Kinds::PODS_OTHER).with(Kinds::LIFE);
        Reads { other_pods: true, ..Reads::of(kinds) }
    }
    fn kinds(&self) -> &'static [Need] {
        &[Need { kind: Kind::PersistentVolumeClaim, optional: false }]
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(VolumeUsers::key(), Box::new(VolumeUsers::default()))]
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        let kinds = ConstraintKinds::EXCLUSIVE_DISKS.with(ConstraintKinds::VOLUME_CLAIMS);
        Some(PodPrecondition::Constraints(kinds))
    }
    bayplan_framework::serves!(PreFilter, Filter, EnqueueExtensions);
    fn remedies(&self, _: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        node.map(|_| Edit::PodsEnd).into_iter().collect()
    }
}

impl PreFilter for VolumeRestrictions {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let found = State::of(h)?;
        if found.in_use == 0 && disks(h.pod).next().is_none() {
            return Ok(PreFilterOutcome::Skip);
        }
        state.put(found);
        Ok(PreFilterOutcome::AllNodes)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(&self, _: &Handle, slot: &mut StateSlot, added: &PodInfo, _: NodeInfo) -> Result<(), Status> {
        change(slot, added, 1);
        Ok(())
    }

    fn remove_pod(
        &self,
        _: &Handle,
        slot: &mut StateSlot,
        removed: &PodInfo,
        _: NodeInfo,
    ) -> Result<(), Status> {
        change(slot, removed, -1);
        Ok(())
    }
}

/// Counts the uses of a pod that came (1) or went (-1).
fn change(slot: &mut StateSlot, pod: &PodInfo, by: i64) {
    let uses = slot.get::<State>().map_or(0, |state| state.uses(pod));
    if uses != 0
        && let Some(state) = slot.get_mut::<State>()
    {
        state.in_use = state.in_use.saturating_add(by.saturating_mul(uses));
    }
}

/// How many uses of the pod's claims by other pods there are.
fn in_use(h: &Handle) -> Result<i64, Status> {
    match h.state::<State>() {
        Some(state) => Ok(state.in_use),
        None => State::of(h).map(|state| state.in_use),
    }
}

impl Filter for VolumeRestrictions {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        if disks(h.pod).next().is_some() && node.pods().any(|other| excluded(h.pod, other).is_some()) {
            return Err(Status::unschedulable(DISK));
        }
        if in_use(h)? > 0 { Err(Status::unschedulable(CLAIM)) } else { Ok(()) }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let refused = |index: &VolumeUsers| {
            let has_disks = disks(h.pod).next().is_some();
            let users = has_disks.then(|| index.disks.iter()).into_iter().flatten();
            let excludes =
                |pods: &Vec<Arc<PodInfo>>| pods.iter().any(|other| excluded(h.pod, other).is_some());
            let mut refused: NodeSet = users
                .filter(|(node, _)| nodes.contains(**node))
                .filter(|(_, pods)| excludes(pods))
                .map(|it| *it.0)
                .collect();
            refused.intersect(nodes);
            refused
        };
        let (Ok(refused), Ok(in_use)) = (with_index(h.snapshot, refused), in_use(h)) else {
            super::filter_each(self, h, nodes, out);
            return;
        };
        let disk = out.status(Status::unschedulable(DISK));
        for (word, rows) in refused.words().iter().enumerate() {
            out.refuse_rows(word, *rows, disk);
        }
        if in_use > 0 {
            let claim = out.status(Status::unschedulable(CLAIM));
            for (word, rows) in nodes.words().iter().enumerate() {
                let taken = refused.words().get(word).copied().unwrap_or(0);
                out.refuse_rows(word, rows & !taken, claim);
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        for other in node.pods() {
            for disk in disks(h.pod) {
                let theirs = disks(other).find(|theirs| exclude(&disk.source, &theirs.source));
                let Some(_) = theirs else { continue };
                out.push(Violation {
                    reason: DISK.to_owned(),
                    what: format!("volume {} ({})", disk.name, disk.source.api_name()),
                    need: String::from("a disk that no other pod on the node excludes"),
                    have: format!("in use by {}", other.full_name()),
                    ..Violation::default()
                });
            }
        }
        match in_use(h) {
            Ok(count) if count > 0 => out.extend(uses_of_claims(h)),
            Ok(_) => {}
            Err(status) => out.push(Violation { reason: status.message(), ..Violation::default() }),
        }
    }
}

/// The pods that use the pod's claims; one violation without a pod where a simulation counts another.
fn uses_of_claims(h: &Handle) -> Vec<Violation> {
    let violation = |what: String, have: String| Violation {
        reason: CLAIM.to_owned(),
        what,
        need: if have.is_empty() { String::new() } else { String::from("no other pod that uses it") },
        have,
        ..Violation::default()
    };
    let claims = State::of(h).map(|state| state.claims).unwrap_or_default();
    let mut found = Vec::new();
    for name in &claims {
        let users = |index: &VolumeUsers| -> Vec<NodeId> {
            index.claim(h.snapshot, &h.pod.namespace, name).collect()
        };
        let mut rows = with_index(h.snapshot, users).unwrap_or_default();
        rows.dedup();
        for node in rows.into_iter().filter_map(|row| h.snapshot.node(row)) {
            let uses = |pod: &&Arc<PodInfo>| {
                pod.namespace == h.pod.namespace && self::claims(pod).any(|other| other == name)
            };
            found.extend(node.pods().filter(uses).map(|user| {
                let have = format!("in use by {} on node {}", user.full_name(), node.name());
                violation(format!("claim {}/{name} (ReadWriteOncePod)", h.pod.namespace), have)
            }));
        }
    }
    if found.is_empty() {
        found.push(violation(String::new(), String::new()));
    }
    found
}

impl EnqueueExtensions for VolumeRestrictions {
    fn events(&self) -> Vec<EventRegistration> {
        vec![
            super::pods(ActionType::DELETE),
            super::nodes(ActionType::ADD),
            super::events(EventResource::PersistentVolumeClaim, ActionType::ADD),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match event.resource {
            EventResource::PersistentVolumeClaim => {
                super::object_change::<PersistentVolumeClaim>(event).1.is_none_or(|claim| {
                    let metadata = &claim.metadata;
                    metadata.namespace == h.pod.namespace && claims(h.pod).any(|name| *name == metadata.name)
                })
            }
            EventResource::Node => true,
            _ => super::pod_change(event).0.is_none_or(|gone| {
                // Upstream compares the namespace for disks too, although disks conflict across namespaces.
                gone.namespace == h.pod.namespace
                    && (excluded(h.pod, gone).is_some()
                        || claims(h.pod).any(|name| claims(gone).any(|other| other == name)))
            }),
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}
