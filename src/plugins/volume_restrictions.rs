//! Refuses nodes where a disk of the pod is in use in a way that excludes the pod, and every node while another pod uses
//! a claim of the pod with the access mode ReadWriteOncePod.
//!
//! Source: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.

use super::volumes::claim_not_found;
use crate::framework::{
    ActionType, ArgsError, ClusterEvent, EnqueueExtensions, EventRegistration, EventResource, Features,
    Filter, Handle, Need, Plugin, PreFilter, PreFilterExtensions, PreFilterOutcome, QueueingHint, Reads,
    StateSlot, Status, Tree, Verdicts, Violation,
};
use crate::model::{
    Change, ConstraintKinds, Delta, Feeds, Index, IndexError, IndexKey, Kind, Kinds, Moves, NodeId, NodeInfo,
    NodeSet, PersistentVolumeClaim, PodInfo, PodPrecondition, PodVolume, Snapshot, Symbol, VolumeSource,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Which pods use which claims and disks: the index of the plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeUsers {
    /// The rows of the pods that use a claim, by its namespace and name; a row is there once for each pod.
    claims: Arc<FxHashMap<(Symbol, Symbol), Vec<NodeId>>>,
    /// Pods with disks that exclude others, by row.
    disks: Arc<BTreeMap<NodeId, Vec<Arc<PodInfo>>>>,
}

impl VolumeUsers {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new(NAME))
    }

    /// The living nodes with a pod that uses a claim.
    fn claim<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        namespace: &Symbol,
        name: &Symbol,
    ) -> impl Iterator<Item = NodeId> + use<'a> {
        let rows = self.claims.get(&(namespace.clone(), name.clone()));
        let alive = snapshot.columns().alive();
        rows.into_iter().flatten().copied().filter(|row| alive.contains(*row))
    }

    fn add(&mut self, pod: &Arc<PodInfo>, node: NodeId) {
        let mut names: Vec<&Symbol> = claims(pod).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let users = Arc::make_mut(&mut self.claims);
            for name in names {
                let rows = users.entry((pod.namespace.clone(), name.clone())).or_default();
                rows.insert(rows.partition_point(|row| *row < node), node);
            }
        }
        if disks(pod).next().is_some() {
            let pods = Arc::make_mut(&mut self.disks).entry(node).or_default();
            pods.insert(pods.partition_point(|other| other.key < pod.key), pod.clone());
        }
    }

    fn remove(&mut self, pod: &Arc<PodInfo>, node: NodeId) {
        let mut names: Vec<&Symbol> = claims(pod).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let key = (pod.namespace.clone(), name.clone());
            let users = Arc::make_mut(&mut self.claims);
            let Some(rows) = users.get_mut(&key) else { continue };
            if let Ok(at) = rows.binary_search(&node) {
                rows.remove(at);
            }
            if rows.is_empty() {
                users.remove(&key);
            }
        }
        if disks(pod).next().is_some() {
            let all = Arc::make_mut(&mut self.disks);
            let Some(pods) = all.get_mut(&node) else { return };
            pods.retain(|other| other.key != pod.key);
            if pods.is_empty() {
                all.remove(&node);
            }
        }
    }
}

impl Index for VolumeUsers {
    fn feeds(&self) -> Feeds {
        Feeds::PLACEMENTS
    }

    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let now = match delta.change {
            Change::PodPlaced { pod, node, .. } => Some((pod, *node)),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => None,
            _ => return,
        };
        let before = match &delta.pod_before {
            Some((pod, Some(node))) => Some((pod, *node)),
            _ => None,
        };
        let concerns = |pod: &Arc<PodInfo>| volumes(pod).next().is_some();
        if let Some((pod, node)) = before.filter(|(pod, _)| concerns(pod)) {
            self.remove(pod, node);
        }
        if let Some((pod, node)) = now.filter(|(pod, _)| concerns(pod)) {
            self.add(pod, node);
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        *self = Self::default();
        for entry in snapshot.pods() {
            if let Some((node, _)) = entry.placed {
                self.add(&entry.pod, node);
            }
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// Calls `with` with the index, or with a fresh one where the snapshot has none.
fn with_index<T>(snapshot: &Snapshot, with: impl FnOnce(&VolumeUsers) -> T) -> Result<T, Status> {
    match snapshot.try_index::<VolumeUsers>(&VolumeUsers::key()) {
        Ok(index) => Ok(with(index)),
        Err(error @ IndexError::Broken) => Err(Status::error(error.to_string())),
        Err(IndexError::Absent) => {
            let mut fresh = VolumeUsers::default();
            fresh.rebuild(snapshot);
            Ok(with(&fresh))
        }
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
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        Some(self)
    }
    fn filter(&self) -> Option<&dyn Filter> {
        Some(self)
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
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

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map, object};
    use super::*;
    use crate::framework::EventObjects;
    use crate::model::{Object, Placement};
    use crate::testing::{node, pod};
    use serde_json::{Value, json};

    fn with(name: &str, namespace: &str, source: Value) -> crate::testing::PodMaker {
        let mut volume = source;
        volume["name"] = json!("data");
        pod(name).namespace(namespace).set("spec.volumes", json!([volume]))
    }

    fn claim(namespace: &str, name: &str, mode: &str) -> Object {
        let metadata = json!({"name": name, "namespace": namespace});
        let spec = json!({"accessModes": [mode], "volumeName": "v"});
        object(
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}),
        )
    }

    fn claiming(name: &str, namespace: &str) -> crate::testing::PodMaker {
        with(name, namespace, json!({"persistentVolumeClaim": {"claimName": "data"}}))
    }

    fn deleted(pod: Arc<PodInfo>) -> ClusterEvent {
        let objects = EventObjects::Pod { old: Some(pod), new: None };
        ClusterEvent::of(EventResource::AssignedPod, ActionType::DELETE, objects)
    }

    #[test]
    fn a_disk_in_use_refuses_unless_all_only_read() {
        let refused = |used: Value, wanted: Value| {
            let used = with("used", "default", used).on("a").object();
            let trial = Trial::of("VolumeRestrictions", vec![node("a").object(), node("b").object(), used]);
            let found = trial.refused(&with("p", "default", wanted).build());
            assert!(found.is_empty() || found == map([("a", format!("Unschedulable: {DISK}"))]), "{found:?}");
            !found.is_empty()
        };
        let gce = |reads: bool| json!({"gcePersistentDisk": {"pdName": "d", "readOnly": reads}});
        assert!(
            refused(gce(false), gce(true))
                && refused(gce(true), gce(false))
                && !refused(gce(true), gce(true))
        );
        let ebs = |id: &str| json!({"awsElasticBlockStore": {"volumeID": id, "readOnly": true}});
        assert!(refused(ebs("a"), ebs("a")) && !refused(ebs("a"), ebs("b")));
        let iscsi = |lun: i32| json!({"iscsi": {"targetPortal": "p", "iqn": "i", "lun": lun}});
        assert!(refused(iscsi(1), iscsi(2)));
        let rbd = |monitors: &[&str], pool: &str| json!({"rbd": {"monitors": monitors, "pool": pool, "image": "i"}});
        assert!(refused(rbd(&["a", "b"], "p"), rbd(&["c", "b"], "p")));
        assert!(!refused(rbd(&["a"], "p"), rbd(&["b"], "p")) && !refused(rbd(&["a"], "p"), rbd(&["a"], "q")));
        // An image is in the pool `rbd` unless it says otherwise; other kinds of disks never conflict.
        assert!(!refused(gce(false), ebs("d")));
    }

    /// Worked case 14: disks conflict across namespaces, but the end of a pod of another namespace wakes none.
    #[test]
    fn disks_conflict_across_namespaces() {
        let disk = |reads: bool| json!({"gcePersistentDisk": {"pdName": "d", "readOnly": reads}});
        let other = with("used", "b", disk(false)).on("n");
        let trial = Trial::of("VolumeRestrictions", vec![node("n").object(), other.object()]);
        let pending = with("p", "a", disk(true)).build();
        assert_eq!(trial.refused(&pending), map([("n", format!("Unschedulable: {DISK}"))]));
        assert_eq!(
            trial.violation_texts(&pending, "n"),
            [
                "volume data (gcePersistentDisk): needs a disk that no other pod on the node excludes, has in use by b/used"
            ]
        );
        assert!(!trial.helps(&pending, &deleted(with("used", "b", disk(false)).on("n").build())));
        assert!(trial.helps(&pending, &deleted(with("used", "a", disk(false)).on("n").build())));
    }

    /// Worked case 8: a claim that does not exist.
    #[test]
    fn a_missing_claim_refuses_the_pod_until_it_comes() {
        let trial = Trial::of("VolumeRestrictions", vec![node("n").object()]);
        let pending = claiming("p", "a").build();
        let text = "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" not found";
        assert_eq!(trial.refused(&pending), map([("*", text)]));
        let added = |namespace: &str| {
            let Object::Other(claim) = claim(namespace, "data", "ReadWriteOnce") else { panic!("a claim") };
            let objects = EventObjects::Object { old: None, new: Some(claim) };
            ClusterEvent::of(EventResource::PersistentVolumeClaim, ActionType::ADD, objects)
        };
        assert!(trial.helps(&pending, &added("a")) && !trial.helps(&pending, &added("b")));
    }

    /// Worked case 15: the end of a pod with an equally named claim of another namespace lowers the counter.
    #[test]
    fn a_claim_for_a_single_pod_refuses_every_node_while_a_pod_uses_it() {
        let objects = || {
            vec![
                node("n1").object(),
                node("n2").object(),
                claim("a", "data", READ_WRITE_ONCE_POD),
                claim("b", "data", READ_WRITE_ONCE_POD),
                claiming("user", "a").on("n1").object(),
                claiming("w", "b").on("n2").object(),
            ]
        };
        let mut trial = Trial::of("VolumeRestrictions", objects());
        let pending = claiming("p", "a").build();
        let text = format!("Unschedulable: {CLAIM}");
        assert_eq!(trial.refused(&pending), map([("n1", text.clone()), ("n2", text)]));
        assert_eq!(
            trial.violation_texts(&pending, "n2"),
            [
                "claim a/data (ReadWriteOncePod): needs no other pod that uses it, has in use by a/user on node n1"
            ]
        );
        let state = State { claims: Box::from([Symbol::new("data")]), in_use: 1 };
        let mut slot = StateSlot::default();
        slot.put(state.clone());
        change(&mut slot, &claiming("w", "b").build(), -1);
        assert_eq!(slot.get::<State>().unwrap().in_use, 0);
        change(&mut slot, &claiming("w", "b").build(), 1);
        assert_eq!(slot.get::<State>(), Some(&state));
        // Pods on nodes that are gone do not count; neither do claims with another mode.
        trial.snapshot().apply(Change::NodeRemoved { name: Symbol::new("n1") });
        assert_eq!(trial.refused(&pending), map::<&str, _>([]));
        let shared = objects().into_iter().filter(|object| object.key().namespace != "a");
        let shared =
            shared.chain([claim("a", "data", "ReadWriteOnce"), claiming("user", "a").on("n2").object()]);
        assert_eq!(Trial::of("VolumeRestrictions", shared.collect()).refused(&pending), map::<&str, _>([]));
    }

    #[test]
    fn the_index_is_as_if_made_anew() {
        let mut trial = Trial::of("VolumeRestrictions", vec![node("a").object(), node("b").object()]);
        let (mut random, names) = (1u64, ["x", "y", "z"]);
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..300 {
            let source = match next(3) {
                0 => json!({"persistentVolumeClaim": {"claimName": names[next(3) as usize]}}),
                1 => json!({"gcePersistentDisk": {"pdName": names[next(3) as usize]}}),
                _ => json!({"emptyDir": {}}),
            };
            let pod = with(names[next(3) as usize], "a", source).build();
            let snapshot = trial.snapshot();
            match next(4) {
                0 => snapshot.apply(Change::PodRemoved { pod: pod.key.clone() }),
                1 => snapshot.apply(Change::PodPending { pod }),
                _ => {
                    let node = snapshot.row_by_name(&Symbol::new(["a", "b"][next(2) as usize])).unwrap();
                    snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
                }
            }
            let mut fresh = VolumeUsers::default();
            fresh.rebuild(snapshot);
            assert_eq!(snapshot.try_index::<VolumeUsers>(&VolumeUsers::key()).unwrap(), &fresh);
        }
    }
}
