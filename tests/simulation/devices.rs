//! Pods with claims of devices: slices that come, change and go, drivers that prepare devices or not, taints, other schedulers
//! that allocate, reserve and take back by themselves. What must hold of devices is in `device_checks.rs`.

use crate::moves::{Move, What};
use crate::world::World;
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::dry_run::{ClaimController, Preparation, prepare};
use bayplan::framework::{ApiCall, ClaimPatch, Features, Plugin, Ticket};
use bayplan::model::objects::devices::{
    AllocatedDevice, Allocation, Consumer, DELETE_PROTECTION, DeviceAllocation,
};
use bayplan::model::{
    ClaimSource, Kind, KubernetesVersion, Object, ObjectKey, PodInfo, ResourceClaim, Symbol, Time, downcast,
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
    (What::PutTaintRule, 1),
    (What::DeleteTaintRule, 1),
    (What::PutDeviceClaim, 10),
    (What::DeleteDeviceClaim, 1),
    (What::ControlClaims, 16),
    (What::ForeignAllocate, 2),
    (What::ForeignDeallocate, 1),
    (What::Deliver, 15),
];

/// The kinds that are watched besides.
pub(crate) const KINDS: [Kind; 4] =
    [Kind::ResourceClaim, Kind::ResourceSlice, Kind::DeviceClass, Kind::DeviceTaintRule];

const V1: &str = "resource.k8s.io/v1";
pub(crate) const DRIVER: &str = "d.ex";
pub(crate) const RESOURCE: &str = "e.ex/gpu";
/// Classes of devices.
const CLASSES: [&str; 4] = ["gpu", "shared", "part", "net"];
/// Claims that pods name: see [`spec`].
const CLAIMS: u64 = 10;
/// The pool whose devices several nodes reach. The others are those of nodes.
const NETWORK: u64 = 5;
/// What a pool has of the counter that its partitions consume.
pub(crate) const COUNTER: i64 = 2;
/// The capacity of a device that claims share.
pub(crate) const CAPACITY: &str = "10Gi";
/// The moment at which other schedulers say that they allocated.
pub(crate) const FOREIGN: &str = "1999-01-01T00:00:00Z";

/// What a device consumes of the counter of its pool.
pub(crate) fn counters_of(device: &str) -> i64 {
    match device {
        "p1" | "p3" | "x0" | "x2" | "x3" => 1,
        "p2" | "x1" => 2,
        _ => 0,
    }
}

/// The version of Kubernetes as which a world decides.
pub(crate) fn version(older: bool) -> KubernetesVersion {
    if older { KubernetesVersion::V1_36 } else { KubernetesVersion::V1_37 }
}

/// The plugin of the default profile. Drivers have half a minute to prepare devices.
pub(crate) fn plugin(older: bool) -> Arc<dyn Plugin> {
    let args = json!({"name": "DynamicResources", "args": {"bindingTimeout": "30s"}});
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [args]}],
    });
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let registry = bayplan::plugins::registry_with(Features::of(version(older)));
    let frameworks = config.frameworks(&registry, id).unwrap().frameworks;
    let mut plugins = frameworks[0].plugins().iter();
    plugins.find(|plugin| plugin.name() == "DynamicResources").unwrap().clone()
}

/// The controllers of claims, and what others did.
#[derive(Default)]
pub(crate) struct Devices {
    controller: ClaimController,
    made: u64,
    /// Pods that another scheduler bound.
    pub(crate) foreign: BTreeSet<Symbol>,
    /// The claims as the scheduler knows them, by name: as the watch has shown them, or as they were when a write of them was
    /// answered.
    pub(crate) shown: BTreeMap<Symbol, ResourceClaim>,
    /// Writes of claims that are not answered.
    pub(crate) writes: BTreeMap<Ticket, ObjectKey>,
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { kind, namespace: namespace.into(), name: name.into(), uid: Symbol::default() }
}

pub(crate) fn is_foreign(claim: &ResourceClaim) -> bool {
    let at = claim.allocation.as_ref().and_then(|allocation| allocation.allocation_timestamp.as_deref());
    at == Some(FOREIGN)
}

/// A request of one class.
fn request(name: &str, class: &str, more: Value) -> Value {
    json!({"name": name, "exactly": with(json!({"deviceClassName": class}), more)})
}

/// A JSON object with more fields.
fn with(mut of: Value, more: Value) -> Value {
    of.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    of
}

/// What a claim of this number requests.
fn spec(number: u64) -> Value {
    let one = json!({"count": 1});
    let requests = match number {
        0 | 1 => json!([request("r", "gpu", one)]),
        2 => json!([request("r", "gpu", json!({"count": 2}))]),
        3 | 4 => json!([request("r", "shared", json!({"capacity": {"requests": {"mem": "4Gi"}}}))]),
        5 => json!([request("r", "part", one)]),
        6 => json!([request("r", "gpu", json!({"allocationMode": "All", "adminAccess": true}))]),
        7 => json!([request("r", "net", one)]),
        8 => json!([{"name": "r", "firstAvailable": [
            {"name": "two", "deviceClassName": "part", "count": 2},
            {"name": "one", "deviceClassName": "gpu", "count": 1},
        ]}]),
        _ => json!([request("r", "gpu", one.clone()), request("s", "part", one)]),
    };
    json!({"devices": {"requests": requests}})
}

/// A device with partitions of a pool, or with conditions, and so on.
fn device(name: &str, kind: &str, more: Value) -> Value {
    let consumed = json!([{"counterSet": "cs", "counters": {"c": {"value": counters_of(name).to_string()}}}]);
    let device = with(json!({"name": name, "attributes": {"kind": {"string": kind}}}), more);
    match counters_of(name) {
        0 => device,
        _ => with(device, json!({"consumesCounters": consumed})),
    }
}

/// Whether a claim has devices that its driver prepares, and has not prepared.
pub(crate) fn unprepared(claim: &ResourceClaim) -> Option<&AllocatedDevice> {
    let mut results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.find(|result| {
        let of = |status: &&bayplan::model::objects::devices::DeviceStatus| {
            (&status.pool, &status.device) == (&result.pool, &result.device)
        };
        let conditions = claim.devices.iter().find(of).map_or(&[][..], |status| &status.conditions);
        let is_true =
            |kind: &Symbol| conditions.iter().any(|of| of.kind == *kind && of.status.as_str() == "True");
        !result.binding_conditions.iter().all(is_true)
    })
}

impl World {
    fn put_of(&mut self, value: Value) {
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        let row = bayplan::model::KindRow::named(&text("apiVersion"), &text("kind")).unwrap();
        self.api.put((row.from_value)(Arc::new(value)).unwrap());
    }

    pub(crate) fn begin_devices(&mut self) {
        self.put_device_classes();
        for (name, number) in [("t0", 0), ("t1", 3), ("t2", 5)] {
            self.put_of(json!({
                "apiVersion": V1, "kind": "ResourceClaimTemplate",
                "metadata": {"name": name, "namespace": "default", "uid": name},
                "spec": {"metadata": {}, "spec": spec(number)},
            }));
        }
        [0, 1, 2, NETWORK].into_iter().for_each(|at| self.put_slice(at));
    }

    fn put_device_classes(&mut self) {
        (0..CLASSES.len() as u64).for_each(|at| self.put_device_class(at * 2 + 1));
    }

    /// A class comes, or goes.
    pub(crate) fn put_device_class(&mut self, with: u64) {
        let name = CLASSES[(with / 2) as usize % CLASSES.len()];
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

    /// What is tried again and again, as with upstream, is over: all classes are there, pools are whole (a claim for all
    /// devices fails while a pool is being updated), and no pod names a claim twice (the API server refuses its reservation).
    pub(crate) fn settle_devices(&mut self) {
        self.put_device_classes();
        let hopeless = self.api.pods().filter(|pod| pod.node_name.is_none() && names_a_claim_twice(pod));
        let hopeless: Vec<ObjectKey> = hopeless.map(|pod| Object::Pod(pod.clone()).key()).collect();
        for pod in hopeless {
            self.api.delete(&pod);
        }
        for at in 0..=NETWORK {
            let of = |part: &str| key(Kind::ResourceSlice, "", &format!("{}-{part}", pool_name(at)));
            if self.api.get(&of("counters")).is_some() != self.api.get(&of("devices")).is_some() {
                self.put_slice(at);
            }
        }
    }

    /// One change of one kind after the other, so that nothing else wakes those whom it helps.
    pub(crate) fn change_devices_at_rest(&mut self) -> Result<(), String> {
        let mut random = Random(self.options.seed ^ 0xde71ce);
        for _ in 0..4 {
            let what = random.of(&[
                What::PutSlice,
                What::PutDeviceClaim,
                What::DeleteDeviceClaim,
                What::PutDeviceClass,
                What::ForeignDeallocate,
                What::PutTaintRule,
                What::DeleteTaintRule,
                What::DeletePod,
            ]);
            self.play(&Move { what, with: random.next() });
            self.settle_devices();
            self.rest()?;
            self.check_at_rest().map_err(|broken| format!("after {what:?} at rest: {broken}"))?;
        }
        Ok(())
    }

    /// The devices of a node or of the network: some are left out. No driver leaves out partitions, of which some may be in
    /// use: what they consume would be forgotten.
    pub(crate) fn put_slice(&mut self, random: u64) {
        let number = random % (NETWORK + 1);
        let name = pool_name(number);
        let generation = 1 + (random >> 40 & 1);
        let pool = json!({"name": name, "generation": generation, "resourceSliceCount": 2});
        let prepared = json!({"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]});
        let shared = json!({
            "allowMultipleAllocations": true, "capacity": {"mem": {"value": CAPACITY}},
        });
        let on = |node: &str| json!({"nodeName": node});
        let (all, choice, of_devices) = match number {
            NETWORK => (
                vec![
                    device("x0", "net", on("n0")),
                    device("x1", "net", on("n1")),
                    device("x2", "net", json!({"allNodes": true})),
                    device("x3", "net", on("n2")),
                ],
                json!({"allNodes": true}),
                json!({"perDeviceNodeSelection": true}),
            ),
            _ => (
                vec![
                    device("d0", "gpu", json!({})),
                    device("d1", "gpu", json!({})),
                    device("d2", "gpu", prepared),
                    device("s0", "shared", shared),
                    device("p1", "part", json!({})),
                    device("p2", "part", json!({})),
                    device("p3", "part", json!({})),
                ],
                on(&name),
                on(&name),
            ),
        };
        let left_out = random / 8;
        let few = self.options.scarce;
        let stays = |(at, device): &(usize, Value)| match device["name"].as_str() {
            Some("d1" | "x0" | "x3") if few => false,
            Some(name) => counters_of(name) > 0 || left_out >> (at * 2) & 3 != 1,
            None => false,
        };
        let devices = all.into_iter().enumerate().filter(stays);
        let devices: Vec<Value> = devices.map(|(_, device)| device).collect();
        let slice = |part: &str, choice: &Value, more: Value| {
            let name = format!("{name}-{part}");
            let spec = with(with(json!({"driver": DRIVER, "pool": pool}), choice.clone()), more);
            json!({
                "apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": name, "uid": name}, "spec": spec,
            })
        };
        let counters = json!([{"name": "cs", "counters": {"c": {"value": COUNTER.to_string()}}}]);
        self.put_of(slice("counters", &choice, json!({"sharedCounters": counters})));
        self.put_of(slice("devices", &of_devices, json!({"devices": devices})));
    }

    /// An administrator taints devices.
    pub(crate) fn put_taint_rule(&mut self, random: u64) {
        let name = format!("tr{}", random % 2);
        let selector = match random / 2 % 4 {
            0 => json!({"driver": DRIVER, "device": "d0"}),
            1 => json!({"driver": DRIVER, "pool": "n0", "device": "p1"}),
            at => json!({"driver": DRIVER, "pool": pool_name(at - 1)}),
        };
        self.put_of(json!({
            "apiVersion": V1, "kind": "DeviceTaintRule", "metadata": {"name": name, "uid": name},
            "spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}},
        }));
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
                // The first ones more often, so that pods share them and compete.
                let claim = random.next() % (CLAIMS + 6) % CLAIMS;
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

    pub(crate) fn claims(&self) -> Vec<ResourceClaim> {
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

    /// The watch of claims is behind all others.
    pub(crate) fn deliver_all_but_claims(&mut self) {
        for kind in self.kinds().into_iter().filter(|kind| *kind != Kind::ResourceClaim) {
            while self.deliver(&kind, false) {}
        }
    }

    /// The controllers do all that they can.
    pub(crate) fn control_all_claims(&mut self) {
        if self.options.devices {
            self.devices.controller.act(&mut self.api);
            self.devices.controller.collect(&mut self.api);
        }
    }

    /// Another scheduler allocates a device to a claim, as it thinks, and may bind a pod with it.
    pub(crate) fn foreign_allocate(&mut self, with: u64) {
        let Some(claim) = self.pick_claim(with).filter(|claim| claim.allocation.is_none()) else { return };
        if claim.is_of_extended_resources() || claim.metadata.deleted.is_some() {
            return;
        }
        let mut random = Random(with);
        let node = format!("n{}", random.below(5));
        let device = ["d0", "d1", "p1", "p2", "s0", "x2"][random.below(6)];
        let mut result = AllocatedDevice {
            request: "r".into(),
            driver: DRIVER.into(),
            pool: if device == "x2" { pool_name(NETWORK).into() } else { Symbol::new(&node) },
            device: device.into(),
            ..AllocatedDevice::default()
        };
        if device == "s0" {
            result.share = Some(Symbol::from(format!("share-{}", random.below(1_000))));
            result.consumed_capacity = Some(BTreeMap::from([("mem".into(), "4Gi".parse().unwrap())]));
        }
        let nodes = json!({"devices": {}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [node]},
        ]}]}});
        let allocation = Allocation {
            devices: DeviceAllocation { results: vec![result], ..DeviceAllocation::default() },
            allocation_timestamp: Some(FOREIGN.into()),
            ..serde_json::from_value(nodes).unwrap()
        };
        let protected = [Symbol::new(DELETE_PROTECTION)];
        let pod = if random.below(3) == 0 { self.bound_with(&claim, &node) } else { None };
        self.api.put(Object::Other(Arc::new(ResourceClaim {
            allocation: Some(Arc::new(allocation)),
            finalizers: protected.into_iter().collect(),
            reserved_for: pod.into_iter().collect(),
            ..claim
        })));
    }

    /// Another scheduler binds a pod that has this claim alone.
    fn bound_with(&mut self, claim: &ResourceClaim, node: &str) -> Option<Consumer> {
        let of_claim = |pod: &&Arc<PodInfo>| match pod.devices().map_or(&[][..], |devices| &devices.claims) {
            [entry] => entry.source == ClaimSource::Claim(claim.metadata.name.clone()),
            _ => false,
        };
        let is_free = |pod: &&Arc<PodInfo>| pod.node_name.is_none() && !Self::wants_gpus(pod);
        let pod = self.api.pods().filter(is_free).find(of_claim)?.clone();
        let node = self.names(&Kind::Node).into_iter().find(|key| key.name.as_str() == node)?.name;
        let call = ApiCall::Bind {
            pod: Object::Pod(pod.clone()).key(),
            node: node.clone(),
            marks: Default::default(),
        };
        self.api.answer(&call, self.now, None).ok()?;
        self.devices.foreign.insert(pod.uid.clone());
        self.not_ours_alone.insert(node);
        Some(Consumer::pod(&pod.name, &pod.uid))
    }

    /// Another scheduler takes the allocation of an unused claim back.
    pub(crate) fn foreign_deallocate(&mut self, with: u64) {
        let claim = self.pick_claim(with).filter(|claim| claim.allocation.is_some());
        if let Some(claim) = claim.filter(|claim| claim.reserved_for.is_empty()) {
            self.api.put(Object::Other(Arc::new(ClaimPatch::Deallocated.of(&claim))));
        }
    }
}

/// Whether two entries of a pod name one claim.
fn names_a_claim_twice(pod: &PodInfo) -> bool {
    let claims = pod.devices().map_or(&[][..], |devices| &devices.claims);
    let mut named = BTreeSet::new();
    let mut of_entries = claims.iter().filter_map(|entry| match &entry.source {
        ClaimSource::Claim(name) => Some(name),
        _ => None,
    });
    !of_entries.all(|name| named.insert(name))
}

/// The name of a pool: that of its node.
fn pool_name(number: u64) -> String {
    if number == NETWORK { String::from("net") } else { format!("n{number}") }
}

/// A moment is one of ours when it is later.
#[test]
fn other_schedulers_are_told_apart() {
    assert!(Time::parse(FOREIGN).unwrap() < crate::world::BEGIN);
}
