//! What the plugin says at each extension point, beside what the scheduler's tests show of Reserve and PreBind.

use super::super::trial::{Trial, map, object};
use bayplan_framework::{ActionType, ClusterEvent, EventObjects, EventResource};
use bayplan_model::testing::{Random, node, pod};
use bayplan_model::{Change, KubernetesVersion, Object, PodInfo, Symbol};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const V1: &str = "resource.k8s.io/v1";

fn class(name: &str, resource: Option<&str>) -> Object {
    let spec = json!({"extendedResourceName": resource});
    object(json!({"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}))
}

/// A pool of one slice on a node, with these devices.
fn slice(on: &str, devices: &[&str]) -> Object {
    object(slice_json(on, devices))
}

fn slice_json(on: &str, devices: &[&str]) -> Value {
    let devices: Vec<Value> = devices.iter().map(|name| json!({"name": name})).collect();
    json!({
        "apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": on},
        "spec": {"driver": "d.ex", "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
            "nodeName": on, "devices": devices},
    })
}

fn request(count: i64) -> Value {
    json!([{"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": count}}])
}

fn claim(name: &str, requests: Value, status: Value) -> Value {
    json!({
        "apiVersion": V1, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
        "spec": {"devices": {"requests": requests}}, "status": status,
    })
}

fn allocated(device: &str, on: &str) -> Value {
    let node = json!({"key": "metadata.name", "operator": "In", "values": [on]});
    json!({"allocation": {
        "devices": {"results": [{"request": "r", "driver": "d.ex", "pool": on, "device": device}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [node]}]},
    }})
}

fn with_claims(names: &[&str]) -> Arc<PodInfo> {
    let claims: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "resourceClaimName": name})).collect();
    pod("p").uid("p").set("spec.resourceClaims", json!(claims)).build()
}

fn trial(objects: Vec<Object>) -> Trial {
    Trial::of("DynamicResources", objects)
}

#[test]
fn pods_without_claims_pass() {
    let trial = trial(vec![node("a").object()]);
    assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
    assert_eq!(trial.scores(&pod("p").build()), map([("a", 0)]));
    assert_eq!(trial.gate(&pod("p").build()), None);
    assert_eq!(trial.post_filtered(&pod("p").build()), (vec![], String::new()));
    let older = Trial::in_version(KubernetesVersion::V1_36, "DynamicResources", vec![node("a").object()]);
    assert_eq!(older.post_filtered(&pod("p").build()).1, "no new claims to deallocate");
}

#[test]
fn a_pod_waits_for_its_claims() {
    let mut gone = claim("gone", request(1), json!({}));
    gone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let trial = trial(vec![object(claim("x", request(1), json!({}))), object(gone)]);
    let gate = |claims: Value, statuses: Value| {
        let pod = pod("p").uid("u").set("spec.resourceClaims", claims);
        trial.gate(&pod.set("status.resourceClaimStatuses", statuses).build()).unwrap_or_default()
    };
    let named = |name: &str| json!([{"name": "n", "resourceClaimName": name}]);
    let made = json!([{"name": "n", "resourceClaimTemplateName": "t"}]);
    let status = |name: Option<&str>| json!([{"name": "n", "resourceClaimName": name}]);
    assert_eq!(gate(named("x"), json!([])), "");
    assert_eq!(gate(named("y"), json!([])), "could not find ResourceClaim \"default/y\"");
    assert_eq!(gate(named("gone"), json!([])), "resourceclaim \"gone\" is being deleted");
    assert_eq!(gate(made.clone(), json!([])), "pod \"default/p\": ResourceClaim not created yet");
    assert_eq!(gate(made.clone(), status(None)), "");
    assert_eq!(
        gate(made, status(Some("x"))),
        "ResourceClaim default/x was not created for Pod default/p (Pod is not owner)"
    );
    assert_eq!(
        gate(json!([{"name": "n"}]), json!([])),
        "pod \"default/p\", spec.resourceClaim \"n\": none of the supported fields are set"
    );
}

#[test]
fn requests_need_classes() {
    let many = json!([{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "no"}]}]);
    let bare = json!([{"name": "r", "exactly": {}}]);
    let trial = trial(vec![
        node("a").object(),
        class("c", None),
        object(claim("many", many, json!({}))),
        object(claim("bare", bare, json!({}))),
        object(claim("new", json!([{"name": "r"}]), json!({}))),
    ]);
    let refused = |name: &str| trial.refused(&with_claims(&[name])).remove("*").unwrap();
    let unresolvable = "UnschedulableAndUnresolvable: ";
    assert_eq!(refused("many"), format!("{unresolvable}request r/s: device class no does not exist"));
    assert_eq!(
        refused("bare"),
        "Error: running PreFilter plugin \"DynamicResources\": request r: unsupported request type"
    );
    let new = "resource claim default/new, request r: unknown request type";
    assert_eq!(refused("new"), format!("{unresolvable}{new}"));
}

#[test]
fn a_node_must_have_devices_or_the_claim() {
    let mut selects = request(1);
    selects[0]["exactly"]["deviceClassName"] = json!("c");
    let trial = trial(vec![
        node("a").object(),
        node("b").object(),
        class("c", None),
        slice("a", &["d1", "d2"]),
        slice("b", &["d1"]),
        object(claim("one", request(1), json!({}))),
        object(claim("two", request(2), json!({}))),
        object(claim("there", request(1), allocated("d1", "b"))),
    ]);
    let none = "UnschedulableAndUnresolvable: cannot allocate all claims";
    let away = "UnschedulableAndUnresolvable: resourceclaim not available on the node";
    // The only device of `b` is allocated.
    assert_eq!(trial.refused(&with_claims(&["one"])), map([("b", none)]));
    assert_eq!(trial.refused(&with_claims(&["one", "one"])), map([("b", none)]));
    assert_eq!(trial.refused(&with_claims(&["there"])), map([("a", away)]));
    assert_eq!(trial.refused(&with_claims(&["there", "two"])), map([("a", away), ("b", none)]));
    assert_eq!(trial.scores(&with_claims(&["one"])), map([("a", 0), ("b", 0)]));
}

#[test]
fn earlier_alternatives_score_higher() {
    let of = |name: &str, class: &str| json!({"name": name, "deviceClassName": class, "count": 1});
    let two = json!({"name": "s0", "deviceClassName": "c", "count": 2});
    let list = json!([{"name": "r", "firstAvailable": [two, of("s1", "c")]}]);
    let trial = trial(vec![
        node("a").object(),
        node("b").object(),
        class("c", None),
        slice("a", &["d1"]),
        slice("b", &["d1", "d2"]),
        object(claim("x", list, json!({}))),
    ]);
    assert_eq!(trial.scores(&with_claims(&["x"])), map([("a", 87), ("b", 100)]));
}

#[test]
fn a_claim_that_no_node_can_use_is_deallocated_unless_others_use_it() {
    let mut shared = claim("shared", request(1), allocated("d1", "c"));
    shared["status"]["reservedFor"] = json!([{"resource": "pods", "name": "q", "uid": "q"}]);
    let mut own = claim("own", request(1), allocated("d2", "c"));
    own["status"]["reservedFor"] = json!([{"resource": "pods", "name": "p", "uid": "p"}]);
    let objects = || vec![node("a").object(), class("c", None), object(shared.clone()), object(own.clone())];
    let newer = trial(objects());
    let done = (vec![String::from("patch own")], String::from("deallocation of ResourceClaim completed"));
    assert_eq!(newer.post_filtered(&with_claims(&["shared", "own"])), done);
    assert_eq!(newer.post_filtered(&with_claims(&["shared"])), (vec![], String::new()));
    let older = Trial::in_version(KubernetesVersion::V1_36, "DynamicResources", objects());
    assert_eq!(older.post_filtered(&with_claims(&["shared"])).1, "still not schedulable");
}

#[test]
fn devices_that_are_not_prepared_make_a_claim_unavailable() {
    let status = |condition: &str| {
        let mut status = allocated("d1", "a");
        let result = &mut status["allocation"]["devices"]["results"][0];
        result["bindingConditions"] = json!(["ready"]);
        result["bindingFailureConditions"] = json!(["broken"]);
        let condition = json!({"type": condition, "status": "True", "reason": "R", "message": "m"});
        status["devices"] =
            json!([{"driver": "d.ex", "pool": "a", "device": "d1", "conditions": [condition]}]);
        status
    };
    let refused = |status: Value| {
        let objects = vec![node("a").object(), object(claim("x", request(1), status))];
        trial(objects).refused(&with_claims(&["x"])).len()
    };
    let mut late = status("other");
    late["allocation"]["allocationTimestamp"] = json!("1969-01-01T00:00:00Z");
    let cases = [(status("ready"), 0), (status("other"), 0), (status("broken"), 1), (late, 1)];
    for (status, expected) in cases {
        assert_eq!(refused(status.clone()), expected, "{status}");
    }
}

#[test]
fn extended_resources_are_devices_where_a_node_has_none_of_its_own() {
    let trial = trial(vec![
        node("plugin").resource("e.ex/gpu", "4").object(),
        node("devices").object(),
        node("neither").object(),
        class("c", Some("e.ex/gpu")),
        slice("devices", &["d1", "d2"]),
    ]);
    let none = "UnschedulableAndUnresolvable: cannot allocate all claims";
    assert_eq!(trial.refused(&pod("p").request("e.ex/gpu", "2").build()), map([("neither", none)]));
    assert_eq!(
        trial.refused(&pod("p").request("e.ex/gpu", "3").build()),
        map([("neither", none), ("devices", none)])
    );
    // Named after the class.
    let implicit = pod("p").request("deviceclass.resource.kubernetes.io/c", "1").build();
    assert_eq!(trial.refused(&implicit), map([("plugin", none), ("neither", none)]));
    assert_eq!(trial.refused(&pod("p").request("e.ex/other", "1").build()), map::<&str, _>([]));
    let both = pod("p").request("e.ex/gpu", "1").request("e.ex/other", "1").build();
    let cannot = "UnschedulableAndUnresolvable: cannot fit resource";
    let nodes = ["plugin", "devices", "neither"];
    assert_eq!(trial.refused(&both), map(nodes.map(|node| (node, cannot))));
}

#[test]
fn a_claim_of_an_earlier_attempt_is_deleted() {
    let mut left = claim("p-extended-resources-x", request(1), json!({}));
    left["metadata"]["annotations"] = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": true});
    left["metadata"]["ownerReferences"] = json!([owner]);
    let trial = trial(vec![node("a").object(), class("c", Some("e.ex/gpu")), object(left)]);
    let pod = pod("p").uid("p").request("e.ex/gpu", "1").build();
    let text = "UnschedulableAndUnresolvable: cannot schedule extended resource claim";
    assert_eq!(trial.refused(&pod), map([("a", text)]));
    let (calls, text) = trial.post_filtered(&pod);
    assert_eq!(calls, ["patch p-extended-resources-x", "delete p-extended-resources-x"]);
    assert_eq!(text, "deletion of ResourceClaim completed");
}

#[test]
fn containers_share_the_devices_of_those_that_run_after_them() {
    let asks = |name: &str, amount: &str| {
        let requests = json!({"cpu": "1", "e.ex/gpu": amount});
        json!({"name": name, "image": "i", "resources": {"requests": requests, "limits": requests}})
    };
    let mut init = asks("i0", "2");
    init["resources"]["requests"].as_object_mut().unwrap().remove("cpu");
    let pod = pod("p")
        .set("spec.initContainers", json!([init]))
        .set("spec.containers", json!([asks("c0", "1")]))
        .build();
    let found = super::requests::of(&pod, &[("e.ex/gpu".into(), "c".into())]);
    let names: Vec<&str> = found.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["container-0-request-0", "container-1-request-1"]);
    let mapping = |of: &bayplan_framework::RequestMapping| format!("{} -> {}", of.container, of.request);
    let mappings: Vec<String> = found.mappings.iter().map(mapping).collect();
    let expected =
        ["c0 -> container-1-request-1", "i0 -> container-1-request-1", "i0 -> container-0-request-0"];
    assert_eq!(mappings, expected);
}

fn event(resource: EventResource, old: Option<Value>, new: Option<Value>) -> ClusterEvent {
    let other = |value: Value| match object(value) {
        Object::Other(object) => object,
        _ => panic!("not of the table"),
    };
    let action = match (&old, &new) {
        (None, _) => ActionType::ADD,
        (_, None) => ActionType::DELETE,
        _ => ActionType::UPDATE_OTHER,
    };
    ClusterEvent::of(resource, action, EventObjects::Object { old: old.map(other), new: new.map(other) })
}

#[test]
fn events_of_claims_help_by_what_they_free_and_whose_they_are() {
    let (x, y) = (claim("x", request(1), json!({})), claim("y", request(1), json!({})));
    let objects = || vec![node("a").object(), object(x.clone()), object(y.clone())];
    let taken = claim("y", request(1), allocated("d1", "a"));
    let own = claim("x", request(1), allocated("d1", "a"));
    let waiting = with_claims(&["x"]);
    for (old, new, older, newer) in [
        (Some(&taken), Some(&y), true, true),
        (Some(&y), Some(&taken), false, false),
        (Some(&x), Some(&own), true, true),
        (Some(&x), Some(&x), false, false),
        (None, Some(&x), true, true),
        (None, Some(&y), false, false),
        (Some(&taken), None, false, true),
        (Some(&y), None, false, false),
    ] {
        let event = event(EventResource::ResourceClaim, old.cloned(), new.cloned());
        let helps =
            |version| Trial::in_version(version, "DynamicResources", objects()).helps(&waiting, &event);
        let expected = (older, newer);
        let found = (helps(KubernetesVersion::V1_36), helps(KubernetesVersion::V1_37));
        assert_eq!(found, expected, "{old:?} {new:?}");
    }
    // A pod whose claims are missing is not helped even by free devices.
    let event = event(EventResource::ResourceClaim, Some(taken), Some(y.clone()));
    assert!(!trial(objects()).helps(&with_claims(&["z"]), &event));
}

/// A cluster as its objects, each by kind and name.
type Objects = BTreeMap<(&'static str, String), Value>;

/// A change: another object of a kind, or `None` where it goes.
fn changed(random: &mut Random) -> ((&'static str, String), Option<Value>) {
    let on = random.of(&["a", "b", "c", "d"]).to_owned();
    let here = random.chance(75);
    let kinds = ["claim", "claim", "claim", "claim", "slice", "node", "class", "everywhere", "rule"];
    let (key, value) = match random.of(&kinds) {
        "claim" => {
            let name = random.of(&["k", "l", "m"]).to_owned();
            let status = allocated(random.of(&["d0", "d1"]), &on);
            (("ResourceClaim", name.clone()), claim(&name, request(1), status))
        }
        "slice" => {
            let devices = random.of(&[&["d0"][..], &["d0", "d1"], &["d1", "d2"]]);
            (("ResourceSlice", on.clone()), slice_json(&on, devices))
        }
        "node" => {
            (("Node", on.clone()), json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": on}}))
        }
        "class" => {
            let expression = random.of(&["true", "device.driver == 'd.ex'", "false"]);
            let spec = json!({"selectors": [{"cel": {"expression": expression}}]});
            let class =
                json!({"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec});
            return (("DeviceClass", "c".to_owned()), Some(class));
        }
        "everywhere" => {
            let mut slice = slice_json("shared", &["d0"]);
            slice["spec"].as_object_mut().unwrap().remove("nodeName");
            slice["spec"]["allNodes"] = json!(true);
            let here = random.one_in(8);
            return (("ResourceSlice", "shared".to_owned()), here.then_some(slice));
        }
        _ => {
            let selector = json!({"driver": "d.ex", "pool": on});
            let spec = json!({"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}});
            let rule =
                json!({"apiVersion": V1, "kind": "DeviceTaintRule", "metadata": {"name": "t"}, "spec": spec});
            let here = random.one_in(8);
            return (("DeviceTaintRule", "t".to_owned()), here.then_some(rule));
        }
    };
    (key, here.then_some(value))
}

/// Plugins that judged other pods before, on other states and forks of the cluster, judge and score like new ones.
#[test]
fn what_is_remembered_changes_no_verdict() {
    let mut differ = 0;
    for seed in 0..4 {
        let mut random = Random(seed);
        let mut objects = Objects::new();
        let names = ["one", "two", "three", "choice"];
        let choice = [2, 1].map(|count| {
            json!({"name": format!("of-{count}"), "deviceClassName": "c",
            "allocationMode": "ExactCount", "count": count})
        });
        let choice = json!([{"name": "r", "firstAvailable": choice}]);
        for (name, requests) in names.into_iter().zip([request(1), request(2), request(3), choice]) {
            objects.insert(("ResourceClaim", name.to_owned()), claim(name, requests, json!({})));
        }
        let all = |objects: &Objects| objects.values().cloned().map(object).collect::<Vec<_>>();
        let mut trial = trial(all(&objects));
        let mut kept = (trial.snapshot_mut().fork(), objects.clone());
        let mut refused = BTreeSet::new();
        for _ in 0..400 {
            if random.one_in(10) {
                kept = (
                    std::mem::replace(trial.snapshot_mut(), kept.0),
                    std::mem::replace(&mut objects, kept.1),
                );
            } else if random.one_in(20) {
                kept = (trial.snapshot_mut().fork(), objects.clone());
            }
            let (key, value) = changed(&mut random);
            let (kind, name) = key.clone();
            let before = objects.remove(&key);
            let change = match (value, kind) {
                (None, _) if before.is_none() => continue,
                (None, "Node") => Change::NodeRemoved { name: Symbol::new(&name) },
                (None, _) => match object(before.unwrap()) {
                    Object::Other(gone) => Change::ObjectGone { key: gone.key() },
                    _ => unreachable!(),
                },
                (Some(value), _) => {
                    objects.insert(key, value.clone());
                    match object(value) {
                        Object::Node(node) => Change::NodeUpserted { node },
                        Object::Other(object) => Change::ObjectSeen { object },
                        _ => unreachable!(),
                    }
                }
            };
            trial.snapshot_mut().apply(change);
            let fresh = self::trial(all(&objects));
            for claim in names {
                let pod = with_claims(&[claim]);
                let now = trial.refused(&pod);
                assert_eq!(now, fresh.refused(&pod), "{seed}: {kind} {name}");
                if !now.contains_key("*") {
                    let scores = trial.scores(&pod);
                    assert_eq!(scores, fresh.scores(&pod), "{seed}: {kind} {name}");
                    differ += usize::from(scores.into_values().collect::<BTreeSet<_>>().len() == 3);
                }
                refused.extend(now.into_values());
            }
        }
        assert!(refused.iter().any(|text| text.ends_with("cannot allocate all claims")), "{refused:?}");
    }
    assert!(differ > 20, "{differ}");
}
