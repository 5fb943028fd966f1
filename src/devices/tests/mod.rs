//! Clusters for tests, written as JSON, and what the allocator says of them.

mod cases;
mod gather;
mod limits;
mod pools;
mod refusals;
mod shared;
mod slow;

use crate::{Allocator, AllocatorFeatures, Claims, DeviceOf, NotAllocated, SelectError, Selects};
use bayplan_model::objects::devices::{Allocation, AttributeValue};
use bayplan_model::testing::{node, object_of};
use bayplan_model::{
    Change, DeviceIndex, Duration, KubernetesVersion, Object, ResourceClaim, Snapshot, Typed, VersionRows,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A device of a slice from its name and other fields.
fn device(name: &str, more: Value) -> Value {
    let mut device = json!({"name": name});
    device.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device
}

/// Devices by name with nothing else.
fn plain(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| device(name, json!({}))).collect()
}

/// Devices with one attribute of text.
fn with(attribute: &str, values: &[(&str, &str)]) -> Vec<Value> {
    let attributes = |value: &str| json!({"attributes": {attribute: {"string": value}}});
    values.iter().map(|(name, value)| device(name, attributes(value))).collect()
}

/// A request of devices of the class `c`.
fn request(name: &str, exactly: Value) -> Value {
    let mut of = json!({"deviceClassName": "c"});
    of.as_object_mut().unwrap().extend(exactly.as_object().unwrap().clone());
    json!({"name": name, "exactly": of})
}

/// A request for some devices.
fn some(name: &str, count: i64) -> Value {
    request(name, json!({"count": count}))
}

/// Evaluates `KEY=VALUE` against attributes of text. `run: TEXT` and `compile: TEXT` fail; a missing key does too.
struct Attributes;

impl Selects for Attributes {
    fn selects(&self, expression: &Arc<str>, device: &DeviceOf<'_>) -> Result<bool, SelectError> {
        if let Some(text) = expression.strip_prefix("compile: ") {
            return Err(SelectError::Compile(text.to_owned()));
        }
        let (key, wanted) = expression.split_once('=').unwrap_or((expression, ""));
        match device.device.attributes.get(&key.into()) {
            Some(AttributeValue::String(value)) => Ok(**value == *wanted),
            Some(_) => Ok(false),
            None => Err(SelectError::Run(format!("no such key: {key}"))),
        }
    }
}

/// Selectors of a request.
fn selectors(expressions: &[&str]) -> Value {
    let of = expressions.iter().map(|expression| json!({"cel": {"expression": expression}}));
    json!({"selectors": of.collect::<Vec<_>>()})
}

/// A cluster of the node `N1` with the class `c`, and claims.
struct Cluster {
    snapshot: Snapshot,
    claims: Vec<Arc<ResourceClaim>>,
    features: AllocatorFeatures,
    timeout: Duration,
}

impl Cluster {
    fn new(version: KubernetesVersion) -> Self {
        let mut snapshot = Snapshot::default();
        snapshot.add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
        let rows = VersionRows::of(version);
        let features = AllocatorFeatures::of(rows, version == KubernetesVersion::V1_37);
        let timeout = Duration::from_seconds(10);
        let cluster = Self { snapshot, claims: Vec::new(), features, timeout };
        cluster.class("c", json!({}))
    }

    fn see(mut self, kind: &str, mut value: Value) -> Self {
        value["apiVersion"] = json!("resource.k8s.io/v1");
        value["kind"] = json!(kind);
        let Object::Other(object) = object_of(value) else { panic!("an object of the table") };
        self.snapshot.apply(Change::ObjectSeen { object });
        self
    }

    fn class(self, name: &str, spec: Value) -> Self {
        self.see("DeviceClass", json!({"metadata": {"name": name}, "spec": spec}))
    }

    /// A slice of a pool of the driver `d.ex`, alone in its pool and of the node unless `more` says otherwise.
    fn slice(self, name: &str, pool: &str, devices: Vec<Value>, more: Value) -> Self {
        let mut spec = json!({
            "driver": "d.ex", "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "devices": devices,
        });
        for (field, value) in more.as_object().unwrap() {
            match (field.as_str(), value) {
                ("pool", Value::Object(of)) => {
                    let into = spec["pool"].as_object_mut().unwrap();
                    into.extend(of.clone());
                }
                _ => spec[field] = value.clone(),
            }
        }
        let chosen = ["nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"];
        if chosen.iter().all(|field| spec.get(field).is_none()) {
            spec["nodeName"] = json!("N1");
        }
        self.see("ResourceSlice", json!({"metadata": {"name": name}, "spec": spec}))
    }

    /// A pool of one slice on the node.
    fn pool(self, pool: &str, devices: Vec<Value>) -> Self {
        self.slice(pool, pool, devices, json!({}))
    }

    fn object(name: &str, spec: Value, results: Value) -> Value {
        let status = json!({"allocation": {"devices": {"results": results}}});
        let metadata = json!({"name": name, "namespace": "ns", "uid": format!("uid-{name}")});
        match results.is_null() {
            true => json!({"metadata": metadata, "spec": {"devices": spec}}),
            false => json!({"metadata": metadata, "spec": {"devices": spec}, "status": status}),
        }
    }

    /// A claim that has devices of the driver `d.ex`: `pool/device`, with further fields of the results.
    fn allocated(self, name: &str, devices: &[&str], more: Value) -> Self {
        let results = devices.iter().map(|of| {
            let (pool, device) = of.split_once('/').unwrap();
            let mut result = json!({"request": "r", "driver": "d.ex", "pool": pool, "device": device});
            result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            result
        });
        let results = results.collect();
        self.see("ResourceClaim", Self::object(name, json!({}), results))
    }

    /// A claim to be served: `spec.devices`.
    fn claim(mut self, name: &str, spec: Value) -> Self {
        let mut value = Self::object(name, spec, Value::Null);
        value["apiVersion"] = json!("resource.k8s.io/v1");
        value["kind"] = json!("ResourceClaim");
        let Object::Other(object) = object_of(value) else { panic!("a claim") };
        self.claims.push(object.shared().downcast_ref::<Arc<ResourceClaim>>().unwrap().clone());
        self
    }

    /// The claim `x` with these requests.
    fn requests(self, requests: Vec<Value>) -> Self {
        self.claim("x", json!({"requests": requests}))
    }

    fn allocator<'a>(&'a self, index: &'a DeviceIndex) -> Allocator<'a> {
        Allocator::new(&self.snapshot, index, self.features, &Attributes)
    }

    fn wanted(&self) -> Claims<'_> {
        Claims::new(self.claims.iter().map(AsRef::as_ref))
    }

    fn index(&self) -> &DeviceIndex {
        self.snapshot.index(&DeviceIndex::key()).unwrap()
    }

    fn allocations_on(&self, name: &str) -> Result<Vec<Allocation>, NotAllocated> {
        let node = node(name).build();
        let mut wanted = self.wanted();
        let solution = self.allocator(self.index()).allocate(&node, &mut wanted, self.timeout)?;
        let allocations = solution.allocations()?;
        let of_claims = self.claims.iter().map(AsRef::as_ref).zip(&allocations);
        assert_eq!(solution.score(), crate::score(of_claims));
        Ok(allocations)
    }

    fn allocations(&self) -> Vec<Value> {
        let allocations = self.allocations_on("N1").unwrap();
        allocations.iter().map(Allocation::json).collect()
    }

    /// What happens on a node, in words: `claim request pool/device` for each device, or the failure.
    fn on(&self, node: &str) -> String {
        match self.allocations_on(node) {
            Ok(allocations) => {
                let named = self.claims.iter().zip(&allocations);
                let devices = named.flat_map(|(claim, allocation)| {
                    let claim = &claim.metadata().name;
                    allocation
                        .devices
                        .results
                        .iter()
                        .map(move |of| format!("{claim} {} {}/{}", of.request, of.pool, of.device))
                });
                devices.collect::<Vec<_>>().join(", ")
            }
            Err(NotAllocated::NoSolution) => String::from("fails"),
            Err(NotAllocated::InvalidPools) => String::from("invalid"),
            Err(NotAllocated::TimedOut) => String::from("timed out"),
            Err(NotAllocated::Error(text)) => text,
        }
    }

    fn says(&self, expected: &str) {
        assert_eq!(self.on("N1"), expected);
    }
}

/// Runs a case in both versions, each with what is expected.
fn both(expected: [&str; 2], make: impl Fn(Cluster) -> Cluster) {
    for (version, expected) in KubernetesVersion::ALL.into_iter().zip(expected) {
        assert_eq!(make(Cluster::new(version)).on("N1"), expected, "{version}");
    }
}

/// Runs a case of which both versions say the same.
fn same(expected: &str, make: impl Fn(Cluster) -> Cluster) {
    both([expected, expected], make);
}
