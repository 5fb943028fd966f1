//! Pods with claims of devices: slices that come, change and go, drivers that prepare devices or not, other schedulers that
//! allocate by themselves; and what must hold of devices.

use crate::moves::What;
use crate::world::World;
use bayplan::dry_run::{ClaimController, Preparation, prepare};
use bayplan::framework::{Instances, Plugin, Profile};
use bayplan::model::objects::devices::{
    AllocatedDevice, Allocation, Consumer, DELETE_PROTECTION, DeviceAllocation, DeviceId,
};
use bayplan::model::{
    ClaimSource, Kind, Labels, Object, ObjectKey, PodInfo, Quantity, ResourceClaim, Symbol, Time, downcast,
};
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is drawn besides when pods have claims of devices.
pub(crate) const DEVICES: &[(What, u64)] = &[
    (What::PutSlice, 5),
    (What::DeleteSlice, 1),
    (What::PutDeviceClass, 1),
    (What::PutDeviceClaim, 8),
    (What::DeleteDeviceClaim, 1),
    (What::ControlClaims, 16),
    (What::ForeignAllocate, 1),
    (What::Deliver, 15),
];

/// The kinds that are watched besides.
pub(crate) const KINDS: [Kind; 3] = [Kind::ResourceClaim, Kind::ResourceSlice, Kind::DeviceClass];

const V1: &str = "resource.k8s.io/v1";
const DRIVER: &str = "d.ex";
const RESOURCE: &str = "e.ex/gpu";
/// Claims that pods name: see [`request`].
const CLAIMS: u64 = 7;
/// What a pool has of the counter that its partitions `p1` and `p2` consume.
const COUNTER: i64 = 2;
/// The capacity of a device that claims share.
const CAPACITY: &str = "10Gi";
/// The moment at which other schedulers say that they allocated.
const FOREIGN: &str = "1999-01-01T00:00:00Z";

/// The plugin of the default profile.
pub(crate) fn plugin() -> Arc<dyn Plugin> {
    let registry = bayplan::plugins::registry();
    let framework = Profile::new("any").build(&registry, &mut Instances::default()).unwrap();
    framework.plugins().iter().find(|plugin| plugin.name() == "DynamicResources").unwrap().clone()
}

/// The controllers of claims, and what others did.
#[derive(Default)]
pub(crate) struct Devices {
    controller: ClaimController,
    made: u64,
    /// Pods that another scheduler bound.
    foreign: BTreeSet<Symbol>,
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { kind, namespace: namespace.into(), name: name.into(), uid: Symbol::default() }
}

fn is_foreign(claim: &ResourceClaim) -> bool {
    let at = claim.allocation.as_ref().and_then(|allocation| allocation.allocation_timestamp.as_deref());
    at == Some(FOREIGN)
}

/// A request of one class.
fn request(class: &str, more: Value) -> Value {
    let mut exactly = json!({"deviceClassName": class});
    exactly.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"devices": {"requests": [{"name": "r", "exactly": exactly}]}})
}

/// What a claim of this number requests.
fn spec(number: u64) -> Value {
    match number {
        0 | 1 => request("gpu", json!({"count": 1})),
        2 => request("gpu", json!({"count": 2})),
        3 | 4 => request("shared", json!({"capacity": {"requests": {"mem": "4Gi"}}})),
        5 => request("part", json!({"count": 1})),
        _ => request("gpu", json!({"allocationMode": "All", "adminAccess": true})),
    }
}

impl World {
    fn put_of(&mut self, value: Value) {
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        let row = bayplan::model::KindRow::named(&text("apiVersion"), &text("kind")).unwrap();
        self.api.put((row.from_value)(Arc::new(value)).unwrap());
    }

    pub(crate) fn begin_devices(&mut self) {
        for at in 0..3 {
            self.put_device_class(at * 2 + 1);
        }
        for (name, number) in [("t0", 0), ("t1", 3), ("t2", 5)] {
            self.put_of(json!({
                "apiVersion": V1, "kind": "ResourceClaimTemplate",
                "metadata": {"name": name, "namespace": "default", "uid": name},
                "spec": {"metadata": {}, "spec": spec(number)},
            }));
        }
        (0..3).for_each(|at| self.put_slice(at));
    }

    /// A class comes, or goes.
    pub(crate) fn put_device_class(&mut self, with: u64) {
        let name = ["gpu", "shared", "part"][(with / 2 % 3) as usize];
        // Without its class a plain Fit would serve the extended resource.
        if name != "gpu" && with.is_multiple_of(2) && (with / 8).is_multiple_of(3) {
            self.api.delete(&key(Kind::DeviceClass, "", name));
            return;
        }
        let expression = format!("device.attributes[\"{DRIVER}\"].kind == \"{name}\"");
        let resource = if name == "gpu" { json!(RESOURCE) } else { json!(null) };
        self.put_of(json!({
            "apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": name, "uid": format!("class-{name}")},
            "spec": {"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": resource},
        }));
    }

    /// All classes are there, and pools are whole: a claim for all devices fails while a pool is being updated, and its pod is
    /// tried again and again.
    pub(crate) fn settle_devices(&mut self) {
        (0..3).for_each(|at| self.put_device_class(at * 2 + 1));
        for at in 0..5 {
            let of = |part: &str| key(Kind::ResourceSlice, "", &format!("n{at}-{part}"));
            if self.api.get(&of("counters")).is_some() != self.api.get(&of("devices")).is_some() {
                self.put_slice(at);
            }
        }
    }

    /// The devices of a node: some are left out.
    pub(crate) fn put_slice(&mut self, with: u64) {
        let node = format!("n{}", with % 5);
        let pool = json!({"name": node, "generation": 1, "resourceSliceCount": 2});
        let device = |name: &str, kind: &str, more: Value| {
            let mut device = json!({"name": name, "attributes": {"kind": {"string": kind}}});
            device.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            device
        };
        let consumes = |amount: i64| json!({"consumesCounters": [{"counterSet": "cs", "counters": {"c": {"value": amount.to_string()}}}]});
        let prepared = json!({"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]});
        let shared = json!({
            "allowMultipleAllocations": true, "capacity": {"mem": {"value": CAPACITY}},
        });
        let all = [
            device("d0", "gpu", json!({})),
            device("d1", "gpu", json!({})),
            device("d2", "gpu", prepared),
            device("s0", "shared", shared),
            device("p1", "part", consumes(1)),
            device("p2", "part", consumes(2)),
            device("p3", "part", consumes(1)),
        ];
        let left_out = with / 8;
        let devices = all.into_iter().enumerate().filter(|(at, _)| left_out >> (at * 2) & 3 != 1);
        let devices: Vec<Value> = devices.map(|(_, device)| device).collect();
        let slice = |name: String, more: Value| {
            let mut slice = json!({
                "apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": name, "uid": name},
                "spec": {"driver": DRIVER, "pool": pool, "nodeName": node},
            });
            slice["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            slice
        };
        let counters = json!([{"name": "cs", "counters": {"c": {"value": COUNTER.to_string()}}}]);
        self.put_of(slice(format!("{node}-counters"), json!({"sharedCounters": counters})));
        self.put_of(slice(format!("{node}-devices"), json!({"devices": devices})));
    }

    /// What a new pod has of devices.
    pub(crate) fn devices_of_pod(with: u64) -> Option<Value> {
        let mut random = Random(with ^ 0xdead);
        let count = [0, 1, 1, 1, 2][random.below(5)];
        let entry = |at: usize, random: &mut Random| match random.below(3) {
            0 => {
                json!({"name": format!("e{at}"), "resourceClaimTemplateName": format!("t{}", random.below(3))})
            }
            _ => {
                let claim = random.next() % CLAIMS;
                json!({"name": format!("e{at}"), "resourceClaimName": format!("r{claim}")})
            }
        };
        (count > 0).then(|| (0..count).map(|at| entry(at, &mut random)).collect())
    }

    /// How many devices a new pod requests as an extended resource.
    pub(crate) fn gpus_of_pod(with: u64) -> Option<&'static str> {
        ["1", "2"].get(Random(with ^ 0xbeef).below(10)).copied()
    }

    /// A claim that pods name.
    pub(crate) fn put_device_claim(&mut self, with: u64) {
        let number = with / 64 % CLAIMS;
        let name = format!("r{number}");
        if self.api.get(&key(Kind::ResourceClaim, "default", &name)).is_some() {
            return;
        }
        self.devices.made += 1;
        self.put_of(json!({
            "apiVersion": V1, "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": format!("r-{}", self.devices.made)},
            "spec": spec(number),
        }));
    }

    /// A user deletes a claim: while its finalizer keeps it, it stays.
    pub(crate) fn delete_device_claim(&mut self, with: u64) {
        let Some(claim) = self.pick_claim(with) else { return };
        if !claim.is_protected() {
            self.api.delete(&key(Kind::ResourceClaim, &claim.metadata.namespace, &claim.metadata.name));
            return;
        }
        let mut claim = claim;
        claim.metadata.deleted.get_or_insert(self.now);
        self.api.put(Object::Other(Arc::new(claim)));
    }

    fn pick_claim(&self, with: u64) -> Option<ResourceClaim> {
        let claims = self.claims();
        claims.get((with / 64) as usize % claims.len().max(1)).cloned()
    }

    fn claims(&self) -> Vec<ResourceClaim> {
        let claims = self.api.list(&Kind::ResourceClaim).into_iter().filter_map(|object| match object {
            Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()).cloned(),
            _ => None,
        });
        claims.collect()
    }

    /// The controller acts, and a driver prepares devices, fails, or says nothing.
    pub(crate) fn control_claims(&mut self, with: u64) {
        self.devices.controller.watch(&mut self.api);
        self.devices.controller.collect(&mut self.api);
        let open: Vec<ObjectKey> = self.devices.controller.unprepared().iter().cloned().collect();
        let Some(claim) = open.get((with / 64) as usize % open.len().max(1)) else { return };
        match with % 4 {
            0 => prepare(&mut self.api, claim, Preparation::Fails),
            1 => {}
            _ => prepare(&mut self.api, claim, Preparation::Succeeds),
        }
    }

    /// The controllers do all that they can.
    pub(crate) fn control_all_claims(&mut self) {
        if self.options.devices {
            self.devices.controller.act(&mut self.api);
            self.devices.controller.collect(&mut self.api);
        }
    }

    /// Another scheduler allocates a device to a claim, as it thinks.
    pub(crate) fn foreign_allocate(&mut self, with: u64) {
        let Some(claim) = self.pick_claim(with).filter(|claim| claim.allocation.is_none()) else { return };
        if claim.is_of_extended_resources() || claim.metadata.deleted.is_some() {
            return;
        }
        let mut random = Random(with);
        let node = format!("n{}", random.below(5));
        let device = ["d0", "d1", "p1"][random.below(3)];
        let result = AllocatedDevice {
            request: "r".into(),
            driver: DRIVER.into(),
            pool: Symbol::new(&node),
            device: device.into(),
            ..AllocatedDevice::default()
        };
        let nodes = json!({"devices": {}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [node]},
        ]}]}});
        let allocation = Allocation {
            devices: DeviceAllocation { results: vec![result], ..DeviceAllocation::default() },
            allocation_timestamp: Some(FOREIGN.into()),
            ..serde_json::from_value(nodes).unwrap()
        };
        let protected = [Symbol::new(DELETE_PROTECTION)];
        self.api.put(Object::Other(Arc::new(ResourceClaim {
            allocation: Some(Arc::new(allocation)),
            finalizers: protected.into_iter().collect(),
            ..claim
        })));
    }

    /// Another scheduler bound a pod.
    pub(crate) fn bound_by_others(&mut self, pod: &ObjectKey) {
        self.devices.foreign.insert(pod.uid.clone());
    }

    /// Devices are given as they may be.
    pub(crate) fn check_devices(&self) -> Result<(), String> {
        let claims = self.claims();
        self.no_device_is_given_twice(&claims)?;
        self.bound_pods_have_their_claims(&claims)
    }

    fn no_device_is_given_twice(&self, claims: &[ResourceClaim]) -> Result<(), String> {
        let mut taken: BTreeMap<DeviceId, &Symbol> = BTreeMap::new();
        let mut shared: BTreeMap<DeviceId, Quantity> = BTreeMap::new();
        let mut counted: BTreeMap<&Symbol, i64> = BTreeMap::new();
        for claim in claims.iter().filter(|claim| !is_foreign(claim)) {
            let name = &claim.metadata.name;
            let results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
            for result in results.filter(|result| !result.admin_access) {
                let id = result.id();
                match &result.share {
                    Some(_) => {
                        let mem = result.consumed_capacity.iter().flatten();
                        let mem = mem.fold(Quantity::ZERO, |sum, (_, amount)| sum + *amount);
                        let sum = shared.entry(id.clone()).or_insert(Quantity::ZERO);
                        *sum = *sum + mem;
                        if *sum > CAPACITY.parse().unwrap() {
                            return Err(format!("24: claims take {sum} of {id:?}, the last is {name}"));
                        }
                    }
                    None => {
                        if let Some(other) = taken.insert(id.clone(), name) {
                            return Err(format!("24: {id:?} is given to {other} and {name}"));
                        }
                    }
                }
                let counters = match result.device.as_str() {
                    "p1" | "p3" => 1,
                    "p2" => 2,
                    _ => 0,
                };
                let sum = counted.entry(&result.pool).or_default();
                *sum += counters;
                if *sum > COUNTER {
                    return Err(format!(
                        "24: {sum} of the counter of {} are consumed, at last by {name}",
                        result.pool
                    ));
                }
            }
        }
        Ok(())
    }

    /// The names of the claims of a pod, as far as they are known; those of templates and of extended resources too.
    fn claims_of(pod: &PodInfo) -> Vec<Symbol> {
        let (made, special) = pod.generated_claims();
        let entries = pod.devices().map_or(&[][..], |devices| &devices.claims).iter();
        let named = entries.filter_map(|entry| match &entry.source {
            ClaimSource::Claim(name) => Some(name.clone()),
            _ => made.iter().find(|(of, _)| *of == entry.name).and_then(|(_, name)| name.clone()),
        });
        named.chain(special.map(|special| special.name.clone())).collect()
    }

    /// Whether the pod gets a claim for extended resources.
    fn wants_gpus(pod: &PodInfo) -> bool {
        pod.requests.scalars.iter().any(|(name, _)| *name == RESOURCE)
    }

    fn bound_pods_have_their_claims(&self, claims: &[ResourceClaim]) -> Result<(), String> {
        for pod in self.api.pods().filter(|pod| !self.devices.foreign.contains(&pod.uid)) {
            let Some(node) = &pod.node_name else { continue };
            if Self::wants_gpus(pod) && pod.generated_claims().1.is_none() {
                return Err(format!("25: {} is bound without a claim for its extended resources", pod.name));
            }
            let entries = pod.devices().map_or(0, |devices| devices.claims.len());
            let names = Self::claims_of(pod);
            if names.len() != entries + usize::from(Self::wants_gpus(pod)) {
                return Err(format!("25: {} is bound and has only {names:?}", pod.name));
            }
            for name in names {
                let Some(claim) = claims.iter().find(|claim| claim.metadata.name == name) else {
                    return Err(format!("25: {} is bound and {name} is gone", pod.name));
                };
                let allocation = claim.allocation.as_ref();
                let nodes = allocation.and_then(|allocation| allocation.node_selector.as_ref());
                let labels = Labels::default();
                let reaches =
                    nodes.is_none_or(|nodes| nodes.selector.matches(node, &labels).unwrap_or(false));
                if allocation.is_none() || !claim.is_reserved_for(&pod.uid) || !reaches {
                    return Err(format!("25: {} is bound to {node} with {claim:?}", pod.name));
                }
            }
        }
        Ok(())
    }

    /// At rest no claim was left behind.
    pub(crate) fn no_claim_is_left(&self) -> Result<(), String> {
        let mut special: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        for claim in self.claims() {
            let name = &claim.metadata.name;
            if claim.is_of_extended_resources() {
                let owner = claim.metadata.owners.iter().find(|owner| owner.controller);
                let pod = owner.and_then(|owner| self.api.pods().find(|pod| pod.uid == owner.uid));
                let Some(pod) = pod else { return Err(format!("26: {name} is left without its pod")) };
                // That of a pod that is being deleted goes with it.
                if pod.node_name.is_none() && !pod.is_terminating() {
                    return Err(format!("26: {} is not bound and has {name}", pod.name));
                }
                if let Some(other) = special.insert(pod.uid.clone(), name.clone()) {
                    return Err(format!("26: {} has {other} and {name}", pod.name));
                }
            }
            let lives = |consumer: &&Consumer| self.api.pods().any(|pod| pod.uid == consumer.uid);
            if let Some(gone) = claim.reserved_for.iter().find(|consumer| !lives(consumer)) {
                return Err(format!("26: {name} is reserved for {gone:?}, which is gone"));
            }
        }
        Ok(())
    }
}

/// A moment is one of ours when it is later.
#[test]
fn other_schedulers_are_told_apart() {
    assert!(Time::parse(FOREIGN).unwrap() < crate::world::BEGIN);
}
