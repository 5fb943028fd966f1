//! Pods with claims: the volume controller with its faults, users who delete claims and volumes, limits of nodes and
//! capacities; and what must hold of volumes.

use crate::moves::{Move, What};
use crate::world::World;
use bayplan::dry_run::{Provisioning, VolumeController, WatchEvent};
use bayplan::framework::{Answer, ApiCall, Instances, PatchBody, Plugin, Profile, Ticket};
use bayplan::model::{
    ApiObject, CsiNode, Kind, KindRow, Object, ObjectKey, PersistentVolume, PersistentVolumeClaim, PodKey,
    Symbol, Typed, downcast,
};
use bayplan::scheduler::Input;
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is drawn besides when pods have volumes.
pub(crate) const VOLUMES: &[(What, u64)] = &[
    (What::PutClaim, 5),
    (What::PutVolume, 4),
    (What::DeleteClaim, 1),
    (What::DeleteVolume, 1),
    (What::Control, 10),
    (What::Miscontrol, 3),
    (What::LimitNode, 2),
    (What::PutCapacity, 2),
    (What::Deliver, 15),
];

/// The kinds that are watched besides.
pub(crate) const KINDS: [Kind; 6] = [
    Kind::PersistentVolumeClaim,
    Kind::PersistentVolume,
    Kind::StorageClass,
    Kind::CsiNode,
    Kind::CsiDriver,
    Kind::CsiStorageCapacity,
];

/// Claims `c0` to `c2` take volumes that exist, the others are provisioned; `c5` is for one pod.
const CLAIMS: u64 = 6;
const SINGLE: &str = "c5";
const DRIVER: &str = "disks.example.com";

/// The volume plugins of the default profile.
pub(crate) fn plugins() -> Vec<Arc<dyn Plugin>> {
    let registry = bayplan::plugins::registry();
    let framework = Profile::new("any").build(&registry, &mut Instances::default()).unwrap();
    let named = |name: &str| framework.plugins().iter().find(|plugin| plugin.name() == name).unwrap().clone();
    ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"].map(named).to_vec()
}

/// The volume controller of a world, and what was seen of volumes.
#[derive(Default)]
pub(crate) struct Disks {
    controller: VolumeController,
    /// How far the log of the server was read.
    seen: usize,
    /// The UID of the claim that a volume was last given to.
    given: BTreeMap<Symbol, Symbol>,
    made: u64,
    /// Volumes and claims of calls, by ticket.
    asked: BTreeMap<Ticket, (Symbol, Symbol)>,
    /// The UID of the claim of a volume, as an answer told the scheduler.
    told: BTreeMap<Symbol, Symbol>,
}

/// Two pods with claims of their own, and one volume for either: both are tried before a call is answered.
pub(crate) fn two_claims_and_one_volume() -> Vec<Move> {
    let one = |what, with| Move { what, with };
    let pod = |number: u64, claim: &str| {
        let wanted = json!([{"name": "v0", "persistentVolumeClaim": {"claimName": claim}}]);
        // A plain pod that asks for little, see `add_pod`.
        let plain = |with: &u64| {
            with.is_multiple_of(4) && with / 7 % 2 == 1 && with / 16 % 8 == 7 && with / 1024 % 24 == number
        };
        let found = (0..).filter(plain).find(|with| World::claims_of_pod(*with).as_ref() == Some(&wanted));
        one(What::AddPod, found.unwrap())
    };
    let puts =
        [one(What::AddNode, 8), one(What::PutClaim, 0), one(What::PutClaim, 64), one(What::PutVolume, 256)];
    let tries = [one(What::DeliverAll, 0), one(What::Cycle, 1), one(What::Cycle, 1)];
    puts.into_iter().chain([pod(0, "c0"), pod(1, "c1")]).chain(tries).collect()
}

fn is_made(claim: &str) -> bool {
    claim >= "c3"
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { kind, namespace: namespace.into(), name: name.into(), uid: Symbol::default() }
}

fn typed<T: Typed + Clone>(object: &Object) -> Option<T> {
    match object {
        Object::Other(object) => downcast::<T>(object.as_ref()).cloned(),
        _ => None,
    }
}

impl World {
    fn put_json(&mut self, kind: Kind, value: Value) {
        let row: &KindRow = kind.row().unwrap();
        self.api
            .put((row.from_value)(Arc::new(value)).unwrap_or_else(|error| panic!("{}: {error}", row.name)));
    }

    /// The classes and the driver, which stay, and the limits of all nodes that there may be.
    pub(crate) fn put_classes(&mut self) {
        for (name, provisioner) in [("static", "kubernetes.io/no-provisioner"), ("made", DRIVER)] {
            let class = json!({
                "metadata": {"name": name, "uid": name}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            });
            self.put_json(Kind::StorageClass, class);
        }
        let driver = json!({"metadata": {"name": DRIVER, "uid": DRIVER}, "spec": {"storageCapacity": true}});
        self.put_json(Kind::CsiDriver, driver);
        self.put_capacity(1);
        for at in 0..5 {
            self.put_csi_node(&format!("n{at}"), 2);
        }
    }

    /// The claims of a new pod.
    pub(crate) fn claims_of_pod(with: u64) -> Option<Value> {
        let mut random = Random(with);
        if random.next().is_multiple_of(3) {
            return None;
        }
        let count = 1 + random.next() % 2;
        let volume = |at: u64, claim: u64| json!({"name": format!("v{at}"), "persistentVolumeClaim": {"claimName": format!("c{claim}")}});
        Some((0..count).map(|at| volume(at, random.next() % CLAIMS)).collect())
    }

    pub(crate) fn put_claim(&mut self, with: u64) {
        let name = format!("c{}", with / 64 % CLAIMS);
        if self.api.get(&key(Kind::PersistentVolumeClaim, "default", &name)).is_some() {
            return;
        }
        self.disks.made += 1;
        let mode = if name == SINGLE { "ReadWriteOncePod" } else { "ReadWriteOnce" };
        let size = ["1Gi", "5Gi"][(with / 1024 % 2) as usize];
        let claim = json!({
            "metadata": {"name": name, "namespace": "default", "uid": format!("claim-{}", self.disks.made)},
            "spec": {
                "storageClassName": if is_made(&name) { "made" } else { "static" }, "accessModes": [mode],
                "resources": {"requests": {"storage": size}},
            },
            "status": {"phase": "Pending"},
        });
        self.put_json(Kind::PersistentVolumeClaim, claim);
    }

    pub(crate) fn put_volume(&mut self, with: u64) {
        self.disks.made += 1;
        let name = format!("v{}", self.disks.made);
        let size = ["1Gi", "5Gi", "8Gi"][(with / 64 % 3) as usize];
        let mut volume = json!({
            "metadata": {"name": name, "uid": name},
            "spec": {
                "storageClassName": "static", "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": size},
            },
            "status": {"phase": "Available"},
        });
        if (with / 256).is_multiple_of(3) {
            let is = json!({"key": "priority.lixueduan.com", "operator": "In", "values": ["10"]});
            volume["spec"]["nodeAffinity"]["required"] =
                json!({"nodeSelectorTerms": [{"matchExpressions": [is]}]});
        }
        self.put_json(Kind::PersistentVolume, volume);
    }

    /// How much can be provisioned on which nodes.
    pub(crate) fn put_capacity(&mut self, with: u64) {
        let size = ["2Gi", "10Gi", "10Gi"][(with % 3) as usize];
        let capacity = json!({
            "metadata": {"name": "some", "namespace": "default", "uid": "some"},
            "storageClassName": "made", "capacity": size, "nodeTopology": {},
        });
        self.put_json(Kind::CsiStorageCapacity, capacity);
    }

    /// How many volumes a node can attach.
    pub(crate) fn limit_node(&mut self, with: u64) {
        let Some(node) = self.pick(&Kind::Node, with).map(|node| node.name) else { return };
        let count = 1 + (with % 3) as i64;
        if self.limit_of(&node).is_none_or(|limit| limit > count) {
            // The pods of the node may have more volumes than that.
            self.not_ours_alone.insert(node.clone());
        }
        self.put_csi_node(&node, count);
    }

    fn put_csi_node(&mut self, node: &str, count: i64) {
        let csi_node = json!({
            "metadata": {"name": node, "uid": format!("csi-{node}")},
            "spec": {"drivers": [{"name": DRIVER, "nodeID": node, "allocatable": {"count": count}}]},
        });
        self.put_json(Kind::CsiNode, csi_node);
    }

    fn limit_of(&self, node: &str) -> Option<i64> {
        let csi_node = typed::<CsiNode>(self.api.get(&key(Kind::CsiNode, "", node))?)?;
        csi_node.drivers.iter().find(|driver| *driver.name == *DRIVER)?.limit
    }

    /// The volume controller does one thing, or the provisioner fails.
    pub(crate) fn control(&mut self, with: u64) {
        self.disks.controller.watch(&mut self.api);
        let open: Vec<ObjectKey> = self.disks.controller.open().iter().cloned().collect();
        if let Some(claim) = open.get((with / 64) as usize % open.len().max(1)) {
            let ends = if with.is_multiple_of(4) { Provisioning::Fails } else { Provisioning::Succeeds };
            self.disks.controller.sync(&mut self.api, claim, ends);
        }
    }

    /// The volume controllers do all that they can.
    pub(crate) fn control_all(&mut self) {
        if self.options.volumes {
            self.disks.controller.act(&mut self.api);
        }
    }

    /// Something unexpected happens to a claim or a volume: the selected node is taken away, the volume forgets its
    /// claim, or a user binds the claim to another volume.
    pub(crate) fn miscontrol(&mut self, with: u64) {
        let all = |world: &Self, kind: &Kind| world.api.list(kind);
        let claims: Vec<PersistentVolumeClaim> =
            all(self, &Kind::PersistentVolumeClaim).iter().filter_map(typed).collect();
        let volumes: Vec<PersistentVolume> =
            all(self, &Kind::PersistentVolume).iter().filter_map(typed).collect();
        let claim = claims.get((with / 64) as usize % claims.len().max(1));
        let Some(claim) = claim.filter(|claim| !claim.is_bound()).cloned() else { return };
        match with % 3 {
            0 => {
                let without = PersistentVolumeClaim { selected_node: None, ..claim };
                self.api.put(Object::Other(Arc::new(without)));
            }
            1 => {
                let given = volumes.into_iter().find(|volume| volume.is_for(&claim.metadata));
                if let Some(volume) = given {
                    self.api.put(Object::Other(Arc::new(PersistentVolume { claim: None, ..volume })));
                }
            }
            _ => {
                let free = |volume: &PersistentVolume| {
                    volume.claim.is_none() && volume.class == claim.class && volume.is_available()
                };
                if let Some(volume) = volumes.into_iter().find(free).filter(|_| claim.volume.is_empty()) {
                    let bound = PersistentVolumeClaim { volume: volume.metadata.name.clone(), ..claim };
                    self.api.put(Object::Other(Arc::new(bound.clone())));
                    let key = ObjectKey { uid: Symbol::default(), ..bound.key() };
                    self.disks.controller.watch(&mut self.api);
                    self.disks.controller.sync(&mut self.api, &key, Provisioning::Succeeds);
                }
            }
        }
    }

    /// A call was sent.
    pub(crate) fn volume_asked(&mut self, ticket: Ticket, call: &ApiCall) {
        if let ApiCall::Patch { of, body: PatchBody::ClaimRef { claim, .. }, .. } = call {
            self.disks.asked.insert(ticket, (of.name.clone(), claim.uid.clone()));
        }
    }

    /// The scheduler got an answer.
    pub(crate) fn volume_answered(&mut self, input: &Input) {
        if let Input::Reply(ticket, Ok(Answer::Written { .. })) = input
            && let Some((volume, claim)) = self.disks.asked.remove(ticket)
        {
            self.disks.told.insert(volume, claim);
        }
    }

    /// The scheduler begins again.
    pub(crate) fn forget_volumes(&mut self) {
        self.disks.asked.clear();
        self.disks.told.clear();
    }

    /// A call is sent: no two pods write different claims into one volume, at once or when the scheduler was told of the
    /// other one.
    pub(crate) fn volume_written(&self, call: &ApiCall) -> Result<(), String> {
        let ApiCall::Patch { of, body: PatchBody::ClaimRef { claim, .. }, .. } = call else { return Ok(()) };
        let told = self.disks.told.get(&of.name).filter(|told| **told != claim.uid);
        let now = self.api.get(&key(Kind::PersistentVolume, "", &of.name));
        let now = now.and_then(typed::<PersistentVolume>).and_then(|volume| volume.claim);
        if let Some(told) = told.filter(|told| now.is_some_and(|now| now.uid == **told)) {
            return Err(format!("22: {} is given to {} after {told}", of.name, claim.name));
        }
        let other = self.open.iter().find_map(|open| match &open.call {
            ApiCall::Patch { of: same, body: PatchBody::ClaimRef { claim: other, .. }, .. }
                if same.uid == of.uid && other.uid != claim.uid =>
            {
                Some(other)
            }
            _ => None,
        });
        match other {
            Some(other) => Err(format!("22: {} is given to {} and {}", of.name, claim.name, other.name)),
            None => Ok(()),
        }
    }

    /// No volume goes from one claim to another.
    pub(crate) fn see_volumes(&mut self) -> Result<(), String> {
        let news = self.api.log().get(self.disks.seen..).unwrap_or_default().to_vec();
        self.disks.seen = self.api.log().len();
        for (_, event) in news {
            let WatchEvent::Upserted(object) = event else { continue };
            let Some(volume) = typed::<PersistentVolume>(&object) else { continue };
            let name = &volume.metadata.name;
            match volume.claim.filter(|to| !to.uid.is_empty() && !name.starts_with("pvc-")) {
                Some(to) => {
                    let before = self.disks.given.insert(name.clone(), to.uid.clone());
                    if let Some(before) = before.filter(|before| *before != to.uid) {
                        return Err(format!("22: {name} was given to {before} and to {}", to.uid));
                    }
                }
                None => {
                    self.disks.given.remove(name);
                }
            }
        }
        Ok(())
    }

    /// Volumes and claims are used as their limits and modes allow.
    pub(crate) fn check_volumes(&self) -> Result<(), String> {
        let s = &self.scheduler;
        for object in s.snapshot().any_objects_seen(&Kind::PersistentVolume) {
            let by = s.snapshot().assumptions(&object.key());
            let open: BTreeSet<&PodKey> =
                by.iter().filter(|by| by.written.is_none()).map(|by| &by.by).collect();
            if open.len() > 1 {
                return Err(format!("22: {open:?} take {}", object.key().name));
            }
        }
        let mut taken: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        for claim in
            self.api.list(&Kind::PersistentVolumeClaim).iter().filter_map(typed::<PersistentVolumeClaim>)
        {
            let name = claim.metadata.name.clone();
            // Any objects, see `objects.rs`: users put them as they like.
            if name.starts_with('o') {
                continue;
            }
            if let Some(other) =
                taken.insert(claim.volume.clone(), name.clone()).filter(|_| !claim.volume.is_empty())
            {
                return Err(format!("22: {} is bound to {other} and {name}", claim.volume));
            }
        }
        self.no_node_attaches_too_much()
    }

    fn no_node_attaches_too_much(&self) -> Result<(), String> {
        let (mut attached, mut single) = (BTreeMap::<&Symbol, BTreeSet<Symbol>>::new(), Vec::new());
        for pod in self.api.pods() {
            let Some(node) = pod.node_name.as_ref().filter(|node| !self.not_ours_alone.contains(*node))
            else {
                continue;
            };
            for (_, claim, _) in pod.claims().filter(|(_, claim, _)| is_made(claim)) {
                single.extend((*claim == *SINGLE && !pod.is_terminating()).then(|| pod.name.clone()));
                attached.entry(node).or_default().insert(claim);
            }
        }
        single.dedup();
        if single.len() > 1 {
            return Err(format!("23: {single:?} have the claim for one pod"));
        }
        for (node, claims) in attached {
            let limit = self.limit_of(node);
            if limit.is_some_and(|limit| claims.len() as i64 > limit) {
                return Err(format!("23: {node} attaches {claims:?}, and the limit is {limit:?}"));
            }
        }
        Ok(())
    }
}
