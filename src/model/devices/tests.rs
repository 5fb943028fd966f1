//! The index against its definition, and what it answers case by case.

use super::{DeviceIndex, Holder};
use crate::changes::Change;
use crate::index::Index;
use crate::objects::devices::{DeviceId, PoolId};
use crate::objects::{ApiObject, Object, ResourceClaim, Typed};
use crate::pod::PodKey;
use crate::quantity::Quantity;
use crate::snapshot::Snapshot;
use crate::symbol::Symbol;
use crate::testing::{Random, object_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn object(kind: &str, mut value: Value) -> Arc<dyn ApiObject> {
    value["apiVersion"] = json!("resource.k8s.io/v1");
    value["kind"] = json!(kind);
    match object_of(value) {
        Object::Other(object) => object,
        other => panic!("not of the table: {other:?}"),
    }
}

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
    snapshot
}

fn index(snapshot: &Snapshot) -> &DeviceIndex {
    snapshot.index(&DeviceIndex::key()).unwrap()
}

fn see(snapshot: &mut Snapshot, kind: &str, value: Value) {
    snapshot.apply(Change::ObjectSeen { object: object(kind, value) });
}

fn lose(snapshot: &mut Snapshot, kind: &str, value: Value) {
    snapshot.apply(Change::ObjectGone { key: object(kind, value).key() });
}

fn pool(name: &str) -> PoolId {
    PoolId { driver: "d.ex".into(), name: name.into() }
}

fn device(name: &str) -> DeviceId {
    DeviceId { pool: pool("p"), name: name.into() }
}

fn result(device: &str, more: Value) -> Value {
    let mut result = json!({"request": "r", "driver": "d.ex", "pool": "p", "device": device});
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result
}

fn claim(name: &str, results: &[Value]) -> Value {
    let status = match results.is_empty() {
        true => json!({}),
        false => json!({"allocation": {"devices": {"results": results}}}),
    };
    json!({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {}, "status": status})
}

fn slice(name: &str, pool: &str, node: &str) -> Value {
    let spec = match node {
        "" => json!({"driver": "d.ex", "pool": {"name": pool}, "allNodes": true}),
        node => json!({"driver": "d.ex", "pool": {"name": pool}, "nodeName": node}),
    };
    json!({"metadata": {"name": name}, "spec": spec})
}

fn names<'a, T: Typed>(of: impl Iterator<Item = &'a Arc<T>>) -> Vec<&'a str> {
    of.map(|object| object.metadata().name.as_str()).collect()
}

fn text(amounts: &BTreeMap<Symbol, Quantity>) -> Vec<String> {
    amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect()
}

#[test]
fn slices_are_found_by_pool_and_by_node() {
    let mut s = snapshot();
    for (name, pool, node) in
        [("s2", "p", "n1"), ("s1", "p", "n2"), ("s3", "p", ""), ("s4", "q", "n1"), ("s0", "q", "")]
    {
        see(&mut s, "ResourceSlice", slice(name, pool, node));
    }
    let fork = s.clone();
    assert_eq!(names(index(&s).pool(&pool("p"))), ["s1", "s2", "s3"]);
    assert_eq!(names(index(&s).slices_of(&"n1".into())), ["s2", "s4"]);
    assert_eq!(names(index(&s).slices_of_no_node()), ["s0", "s3"]);
    // A slice that moves to another pool and node leaves the old ones.
    see(&mut s, "ResourceSlice", slice("s2", "r", "n3"));
    lose(&mut s, "ResourceSlice", slice("s0", "q", ""));
    lose(&mut s, "ResourceSlice", slice("s4", "q", "n1"));
    let pools: Vec<_> = index(&s).pools().map(|pool| pool.id().to_string()).collect();
    assert_eq!(pools, ["d.ex/p", "d.ex/r"]);
    assert_eq!(names(index(&s).slices_of(&"n1".into())), [""; 0]);
    assert_eq!(names(index(&s).slices_of(&"n3".into())), ["s2"]);
    assert_eq!(names(index(&fork).pool(&pool("q"))), ["s0", "s4"]);
}

#[test]
fn nodes_reach_devices_of_the_newest_generation() {
    let mut s = snapshot();
    let zone = |zone: &str| json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]});
    let mut add = |name: &str, pool: &str, generation: i64, more: Value| {
        let pool = json!({"name": pool, "generation": generation, "resourceSliceCount": 1});
        let mut spec = json!({"driver": "d.ex", "pool": pool});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        see(&mut s, "ResourceSlice", json!({"metadata": {"name": name}, "spec": spec}));
    };
    add("s0", "p", 1, json!({"nodeName": "n1", "devices": [{"name": "old"}]}));
    add("s2", "p", 2, json!({"nodeName": "n1", "devices": [{"name": "b"}, {"name": "a"}]}));
    add("s1", "q", 1, json!({"allNodes": true, "devices": [{"name": "all"}]}));
    add("s3", "r", 1, json!({"nodeSelector": zone("x"), "devices": [{"name": "x"}]}));
    let each = json!([
        {"name": "mine", "nodeName": "n1"}, {"name": "zone", "nodeSelector": zone("x")}, {"name": "none"},
        {"name": "other", "nodeName": "n2"}, {"name": "every", "allNodes": true},
    ]);
    add("s4", "s", 1, json!({"perDeviceNodeSelection": true, "devices": each}));
    let reached = |node: &str, of: &str| -> Vec<String> {
        let labels = crate::testing::node(node).label("zone", of).build().labels.clone();
        let all = index(&s).reached_by(&node.into(), &labels);
        all.into_iter().map(|(slice, device)| format!("{}/{}", slice.pool.name, device.name)).collect()
    };
    assert_eq!(reached("n1", "y"), ["p/b", "p/a", "q/all", "s/mine", "s/every"]);
    assert_eq!(reached("n2", "x"), ["q/all", "r/x", "s/zone", "s/other", "s/every"]);
}

#[test]
fn rules_taint_devices() {
    let mut s = snapshot();
    let rule = |name: &str, selector: Value| {
        let spec = json!({"deviceSelector": selector, "taint": {"key": name, "effect": "NoSchedule"}});
        json!({"metadata": {"name": name}, "spec": spec})
    };
    assert!(!index(&s).has_taint_rules());
    for (name, selector) in [
        ("all", json!({})),
        ("driver", json!({"driver": "d.ex"})),
        ("none", json!(null)),
        ("other", json!({"driver": "d.ex", "pool": "q"})),
        ("device", json!({"driver": "d.ex", "pool": "p", "device": "d1"})),
    ] {
        see(&mut s, "DeviceTaintRule", rule(name, selector));
    }
    let keys_in = |s: &Snapshot, name: &str, all: bool| -> Vec<String> {
        index(s).taints_of(&device(name), all).map(|taint| taint.key.to_string()).collect()
    };
    let keys = |s: &Snapshot, name: &str| keys_in(s, name, false);
    assert_eq!(keys_in(&s, "d2", true), ["all", "driver", "none"]);
    assert_eq!(keys(&s, "d1"), ["all", "driver", "device"]);
    assert_eq!(keys(&s, "d2"), ["all", "driver"]);
    see(&mut s, "DeviceTaintRule", rule("device", json!({"device": "d2"})));
    lose(&mut s, "DeviceTaintRule", rule("all", json!({})));
    assert_eq!(keys(&s, "d1"), ["driver"]);
    assert_eq!(keys(&s, "d2"), ["device", "driver"]);
}

#[test]
fn a_device_is_taken_until_the_last_claim_lets_it_go() {
    let mut s = snapshot();
    let results = [result("d1", json!({})), result("d2", json!({"adminAccess": true}))];
    see(&mut s, "ResourceClaim", claim("x", &results));
    see(&mut s, "ResourceClaim", claim("y", &results[..1]));
    let allocated = index(&s).allocated();
    assert!(allocated.is_taken(&device("d1")) && allocated.has_any(&device("d1")));
    assert!(!allocated.has_any(&device("d2")), "administrators take nothing");
    let of_d1: Vec<_> = allocated.holders(&device("d1")).map(|of| of.name.as_str()).collect();
    assert_eq!(of_d1, ["x", "y"]);
    lose(&mut s, "ResourceClaim", claim("x", &[]));
    assert!(index(&s).allocated().is_taken(&device("d1")));
    // One allocation takes the place of another in one change.
    see(&mut s, "ResourceClaim", claim("y", &[result("d3", json!({}))]));
    assert!(!index(&s).allocated().has_any(&device("d1")));
    assert!(index(&s).allocated().is_taken(&device("d3")));
    see(&mut s, "ResourceClaim", claim("y", &[]));
    assert_eq!(index(&s).allocated().pools().count(), 0);
}

/// What another scheduler writes counts at once, though a pod of ours still assumes otherwise.
#[test]
fn an_allocation_that_was_seen_refutes_another_one() {
    let at = |version: u8, results: &[Value]| {
        let mut claim = claim("x", results);
        claim["metadata"]["resourceVersion"] = json!(version.to_string());
        claim
    };
    let [ours, theirs] = ["d1", "d2"].map(|name| vec![result(name, json!({}))]);
    let assumed = |of: u8| {
        let mut s = snapshot();
        see(&mut s, "ResourceClaim", at(5, &[]));
        let with = object("ResourceClaim", at(of, &ours));
        s.apply(Change::Assumed { key: with.key(), with, by: PodKey("p".into()) });
        s
    };
    let key = object("ResourceClaim", at(5, &[])).key();
    let taken = |s: &Snapshot| ["d1", "d2"].map(|name| index(s).allocated().is_taken(&device(name)));
    let mut s = assumed(5);
    assert_eq!(taken(&s), [true, false]);
    see(&mut s, "ResourceClaim", at(6, &[]));
    assert_eq!(taken(&s), [true, false], "the write may come yet");
    see(&mut s, "ResourceClaim", at(7, &theirs));
    assert_eq!((taken(&s), s.assumptions(&key).len()), ([false, true], 0));
    // The pod read a newer version than the one that is seen, or wrote one.
    let mut s = assumed(8);
    see(&mut s, "ResourceClaim", at(7, &theirs));
    assert_eq!(taken(&s), [true, false]);
    s.apply(Change::AssumedWritten { key: key.clone(), by: PodKey("p".into()), version: "9".into() });
    see(&mut s, "ResourceClaim", at(8, &theirs));
    assert_eq!(taken(&s), [true, false]);
    see(&mut s, "ResourceClaim", at(9, &ours));
    assert_eq!((taken(&s), s.assumptions(&key).len()), ([true, false], 0));
}

#[test]
fn shares_of_a_device_add_up() {
    let mut s = snapshot();
    let share = |id: &str, amount: &str| {
        result("d1", json!({"shareID": id, "consumedCapacity": {"mem": amount, "cores": "0"}}))
    };
    see(&mut s, "ResourceClaim", claim("x", &[share("u1", "1Gi"), share("u2", "512Mi")]));
    see(&mut s, "ResourceClaim", claim("w", &[share("u3", "1000")]));
    see(&mut s, "ResourceClaim", claim("zero", &[result("d2", json!({"shareID": "u4"}))]));
    let allocated = index(&s).allocated();
    assert!(!allocated.is_taken(&device("d1")) && allocated.has_any(&device("d1")));
    let d1 = allocated.device(&device("d1")).unwrap();
    assert_eq!(d1.shares().iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["u1", "u2", "u3"]);
    assert_eq!(text(d1.consumed()), ["cores=0", "mem=1610613736"]);
    assert_eq!(d1.holders().count(), 2, "each claim once");
    let d2 = allocated.device(&device("d2")).unwrap();
    assert!(d2.consumed().is_empty() && d2.shares().len() == 1);
    lose(&mut s, "ResourceClaim", claim("w", &[]));
    let d1 = index(&s).allocated().device(&device("d1")).unwrap();
    assert_eq!(text(d1.consumed()), ["cores=0", "mem=1536Mi"]);
    see(&mut s, "ResourceClaim", claim("x", &[share("u1", "0")]));
    assert!(index(&s).allocated().device(&device("d1")).unwrap().consumed().is_empty());
}

#[test]
fn the_newest_class_stands_for_an_extended_resource() {
    let mut s = snapshot();
    let class = |name: &str, day: u8, resource: Option<&str>, selector: &str| {
        let metadata = json!({"name": name, "creationTimestamp": format!("2026-01-0{day}T00:00:00Z")});
        let selectors = json!([{"cel": {"expression": selector}}]);
        json!({"metadata": metadata, "spec": {"extendedResourceName": resource, "selectors": selectors}})
    };
    let of = |s: &Snapshot, resource: &str| {
        let class = index(s).class_of_resource(&resource.into());
        class.map(|class| format!("{} {}", class.metadata.name, class.selectors[0].as_deref().unwrap()))
    };
    let gpu = Some("e.ex/gpu");
    see(&mut s, "DeviceClass", class("c2", 2, gpu, "a"));
    see(&mut s, "DeviceClass", class("c1", 1, gpu, "a"));
    assert_eq!(of(&s, "e.ex/gpu").as_deref(), Some("c2 a"));
    assert_eq!(of(&s, "deviceclass.resource.kubernetes.io/c1").as_deref(), Some("c1 a"), "also of the older");
    see(&mut s, "DeviceClass", class("c0", 2, gpu, "a"));
    assert_eq!(of(&s, "e.ex/gpu").as_deref(), Some("c0 a"), "of equally old ones the smaller name");
    see(&mut s, "DeviceClass", class("c0", 2, gpu, "b"));
    assert_eq!(of(&s, "e.ex/gpu").as_deref(), Some("c0 b"), "a change takes effect");
    see(&mut s, "DeviceClass", class("c0", 2, Some("e.ex/other"), "b"));
    assert_eq!(of(&s, "e.ex/gpu").as_deref(), Some("c2 a"));
    lose(&mut s, "DeviceClass", class("c2", 2, gpu, "a"));
    assert_eq!(of(&s, "e.ex/gpu").as_deref(), Some("c1 a"), "the next one counts");
    assert_eq!(of(&s, "deviceclass.resource.kubernetes.io/c2"), None);
    see(&mut s, "DeviceClass", class("c1", 1, None, "a"));
    assert_eq!(of(&s, "e.ex/gpu"), None);
}

fn special(name: &str, uid: &str, controls: bool) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": controls});
    let annotations = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
    let metadata = json!({
        "name": name, "namespace": "ns", "uid": name, "annotations": annotations, "ownerReferences": [owner],
    });
    json!({"metadata": metadata, "spec": {}})
}

#[test]
fn the_claim_of_extended_resources_is_found_by_its_pod() {
    let mut s = snapshot();
    let of = |s: &Snapshot, uid: &str, pod: &str| -> Option<String> {
        index(s).special_claim_of(&uid.into(), &pod.into()).map(|claim| claim.name.to_string())
    };
    see(&mut s, "ResourceClaim", special("b", "u1", true));
    see(&mut s, "ResourceClaim", special("c", "u2", false));
    assert_eq!(of(&s, "u1", "web").as_deref(), Some("b"));
    assert_eq!(of(&s, "u1", "other"), None);
    assert_eq!(of(&s, "u2", "web"), None, "the pod does not control it");
    see(&mut s, "ResourceClaim", special("a", "u1", true));
    assert_eq!(of(&s, "u1", "web").as_deref(), Some("a"));
    lose(&mut s, "ResourceClaim", special("a", "u1", true));
    see(&mut s, "ResourceClaim", claim("b", &[]));
    assert_eq!(of(&s, "u1", "web"), None);
}

/// A random version of one of a few objects.
fn drawn(random: &mut Random, version: usize) -> Arc<dyn ApiObject> {
    let name = random.of(&["a", "b", "c"]);
    let (kind, mut value) = match random.below(6) {
        0 => {
            let mut slice = slice(name, random.of(&["p", "q"]), random.of(&["", "n1", "n2"]));
            slice["spec"]["pool"]["generation"] = json!(random.below(3));
            slice["spec"]["pool"]["resourceSliceCount"] = json!(1 + random.below(2));
            if random.chance(40) {
                slice["spec"]["sharedCounters"] = json!([{"name": "cs", "counters": {"n": {"value": "4"}}}]);
            } else {
                slice["spec"]["devices"] = json!([{"name": random.of(&["d1", "d2"])}]);
            }
            if slice["spec"]["allNodes"] == json!(true) && random.chance(40) {
                slice["spec"]["allNodes"] = json!(null);
                slice["spec"]["perDeviceNodeSelection"] = json!(true);
            }
            ("ResourceSlice", slice)
        }
        1 => {
            let selector = random.of(&[json!(null), json!({}), json!({"driver": "d.ex", "pool": "p"})]);
            let spec = json!({"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}});
            ("DeviceTaintRule", json!({"metadata": {"name": name}, "spec": spec}))
        }
        2 => {
            let created = random.of(&["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]);
            let resource = random.of(&[json!(null), json!("e.ex/gpu"), json!("e.ex/nic")]);
            let metadata = json!({"name": name, "creationTimestamp": created});
            ("DeviceClass", json!({"metadata": metadata, "spec": {"extendedResourceName": resource}}))
        }
        3 => {
            let mut special = special(name, random.of(&["u1", "u2"]), random.chance(70));
            if random.chance(50) {
                let results = [result(random.of(&["d1", "d2"]), json!({}))];
                special["status"] = json!({"allocation": {"devices": {"results": results}}});
            }
            ("ResourceClaim", special)
        }
        _ => {
            let results: Vec<Value> = (0..random.below(4))
                .map(|_| {
                    let more = match random.below(5) {
                        0 => json!({"adminAccess": true}),
                        1 => json!({"shareID": random.of(&["s1", "s2"])}),
                        2 | 3 => {
                            let amount = random.of(&["0", "1Gi", "1500", "2e3"]);
                            json!({"shareID": random.of(&["s3", "s4"]), "consumedCapacity": {"mem": amount}})
                        }
                        _ => json!({}),
                    };
                    let mut result = result(random.of(&["d1", "d2"]), more);
                    result["pool"] = json!(random.of(&["p", "p", "q"]));
                    result
                })
                .collect();
            ("ResourceClaim", claim(name, &results))
        }
    };
    value["metadata"]["resourceVersion"] = json!(version.to_string());
    value["metadata"]["uid"] = json!(random.of(&["1", "1", "1", "2"]));
    object(kind, value)
}

/// What is allocated of a device, read from the claims themselves.
fn by_definition(snapshot: &Snapshot, name: &str) -> (bool, Vec<Symbol>, Vec<Holder>, Quantity) {
    let (mut taken, mut shares, mut holders, mut sum) = (false, Vec::new(), Vec::new(), Quantity::ZERO);
    for claim in snapshot.objects::<ResourceClaim>() {
        for result in claim.allocation.iter().flat_map(|allocation| &allocation.devices.results) {
            if result.id() != device(name) || result.admin_access {
                continue;
            }
            taken |= result.share.is_none();
            shares.extend(result.share.clone());
            holders.push(Holder::of(claim));
            let consumed = result.consumed_capacity.as_ref().and_then(|of| of.get(&Symbol::new("mem")));
            sum = sum + consumed.copied().unwrap_or(Quantity::ZERO);
        }
    }
    shares.sort();
    shares.dedup();
    holders.dedup();
    (taken, shares, holders, sum)
}

fn assert_agrees(snapshot: &Snapshot, name: &str) {
    let (taken, shares, holders, sum) = by_definition(snapshot, name);
    let allocated = index(snapshot).allocated();
    assert_eq!(allocated.is_taken(&device(name)), taken);
    assert_eq!(allocated.has_any(&device(name)), !holders.is_empty());
    assert_eq!(allocated.holders(&device(name)).cloned().collect::<Vec<_>>(), holders);
    let Some(of) = allocated.device(&device(name)) else { return };
    assert_eq!(of.shares().iter().cloned().collect::<Vec<_>>(), shares);
    assert_eq!(of.consumed().get(&Symbol::new("mem")).copied().unwrap_or(Quantity::ZERO), sum);
    assert_eq!(of.consumed().is_empty(), sum.is_zero());
}

/// What is remembered of the devices of slices is what the devices say one by one. Returns for how many it is remembered.
fn assert_remembered(snapshot: &Snapshot) -> usize {
    let index = index(snapshot);
    let mut devices = 0;
    for used in index.allocated().pools() {
        let slices: Vec<_> = index.pool(used.id()).collect();
        let Some(places) = used.places(&slices) else { continue };
        for (at, slice) in slices.iter().enumerate() {
            for (position, device) in slice.devices.iter().enumerate() {
                assert_eq!(places.at(at, position), used.held(&device.name));
                devices += 1;
            }
        }
    }
    devices
}

#[test]
fn changes_lead_to_what_a_rebuild_gives() {
    let (mut remembered, mut steps) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut s = snapshot();
        let mut fork: Option<(Snapshot, DeviceIndex)> = None;
        for version in 1..80 {
            let object = drawn(&mut random, version);
            let (mut key, by) = (object.key(), PodKey(random.of(&["p1", "p2"]).into()));
            if random.chance(30) {
                key.uid = Symbol::default();
            }
            s.apply(match random.below(10) {
                0..=4 => Change::ObjectSeen { object },
                5 => Change::ObjectGone { key },
                6 => {
                    let version = (version + random.below(5)).to_string().into();
                    Change::AssumedWritten { key, by, version }
                }
                7 => Change::Unassumed { key, by },
                _ => Change::Assumed { key, with: object, by },
            });
            let mut built = DeviceIndex::default();
            built.rebuild(&s);
            assert_eq!(*index(&s), built, "seed {seed}, step {version}");
            // Equality of amounts leaves out the format.
            assert_eq!(format!("{:?}", index(&s).allocated), format!("{:?}", built.allocated));
            for name in ["d1", "d2"] {
                assert_agrees(&s, name);
            }
            (remembered, steps) = (remembered + assert_remembered(&s), steps + 1);
            if random.one_in(20) {
                fork = Some((s.clone(), index(&s).clone()));
            }
        }
        if let Some((fork, then)) = fork {
            assert_eq!(*index(&fork), then, "a fork stays as it was");
        }
    }
    assert!(remembered > steps / 4, "{remembered} devices in {steps} steps");
}
