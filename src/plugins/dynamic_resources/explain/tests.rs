//! The words for requests that find too few devices, and what is proposed.

use crate::trial::{Trial, object};
use bayplan_framework::Edit;
use bayplan_model::testing::{node, pod};
use bayplan_model::{Object, PodInfo};
use serde_json::{Value, json};
use std::sync::Arc;

const V1: &str = "resource.k8s.io/v1";

fn class(spec: Value) -> Object {
    object(json!({"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec}))
}

fn slice(name: &str, more: Value, slices: i64) -> Object {
    let mut spec = json!({
        "driver": "d.ex", "pool": {"name": "n", "generation": 1, "resourceSliceCount": slices}, "nodeName": "n",
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    object(json!({"apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}))
}

fn devices(devices: Value) -> Object {
    slice("s", json!({"devices": devices}), 1)
}

fn claim(name: &str, spec: Value, status: Value) -> Object {
    object(json!({
        "apiVersion": V1, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
        "spec": {"devices": spec}, "status": status,
    }))
}

fn request(name: &str, more: Value) -> Value {
    let mut exactly = json!({"deviceClassName": "c"});
    for (field, value) in more.as_object().unwrap() {
        exactly[field] = value.clone();
    }
    json!({"name": name, "exactly": exactly})
}

/// A claim of another pod that has a device.
fn holder(name: &str, device: Value) -> Object {
    let mut result = json!({"request": "r", "driver": "d.ex", "pool": "n"});
    for (field, value) in device.as_object().unwrap() {
        result[field] = value.clone();
    }
    let user = json!([{"resource": "pods", "name": format!("pod-{name}"), "uid": format!("pod-{name}")}]);
    let status = json!({"reservedFor": user, "allocation": {"devices": {"results": [result]}}});
    claim(name, json!({"requests": [request("r", json!({}))]}), status)
}

fn with_claim() -> Arc<PodInfo> {
    let claims = json!([{"name": "x", "resourceClaimName": "x"}]);
    pod("p").uid("p").set("spec.resourceClaims", claims).build()
}

/// The words for a claim with this spec on a node with these objects.
fn said(mut objects: Vec<Object>, spec: Value) -> Vec<String> {
    objects.extend([node("n").object(), class(json!({})), claim("x", spec, json!({}))]);
    Trial::of("DynamicResources", objects).violation_texts(&with_claim(), "n")
}

#[test]
fn devices_that_others_hold_are_named_with_their_pods() {
    let three = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
    let objects = || {
        vec![devices(three.clone()), holder("h", json!({"device": "a"})), holder("i", json!({"device": "b"}))]
    };
    let two = json!({"requests": [request("r", json!({"count": 2}))]});
    let taken = "2 are taken by claims default/h for pod pod-h, default/i for pod pod-i";
    assert_eq!(
        said(objects(), two),
        [format!("claim default/x, request r: needs 2 devices of class c, has 1 of 3 devices ({taken})")]
    );
    let all = json!({"requests": [request("r", json!({"allocationMode": "All"}))]});
    assert_eq!(
        said(objects(), all),
        [format!("claim default/x, request r: needs all devices of class c, has 1 of 3 devices ({taken})")]
    );
    // The first request takes the only device that is free.
    let one = json!({});
    let each = json!({"requests": [request("q", one.clone()), request("r", one)]});
    let goes = "2 are taken by claims default/h for pod pod-h, default/i for pod pod-i; 1 goes to a request before this one";
    assert_eq!(
        said(objects(), each),
        [format!("claim default/x, request r: needs 1 device of class c, has none of 3 devices ({goes})")]
    );
}

#[test]
fn each_alternative_has_its_reasons() {
    let with = |value: i64| json!({"attributes": {"size": {"int": value}}});
    let mut list = json!([with(1), with(2)]);
    list[0]["name"] = json!("a");
    list[1]["name"] = json!("b");
    let size = |least: i64| {
        let expression = format!("device.attributes[\"d.ex\"].size >= {least}");
        json!([{"cel": {"expression": expression}}])
    };
    let first = json!([
        {"name": "large", "deviceClassName": "c", "selectors": size(4)},
        {"name": "small", "deviceClassName": "c", "selectors": size(2), "count": 2},
    ]);
    let spec = json!({"requests": [{"name": "r", "firstAvailable": first}]});
    let large = "2 do not match device.attributes[\"d.ex\"].size >= 4, where size is 1 on 1, 2 on 1";
    let small = "1 does not match device.attributes[\"d.ex\"].size >= 2, where size is 1";
    assert_eq!(
        said(vec![devices(list)], spec),
        [
            format!(
                "claim default/x, request r/large: needs 1 device of class c, has none of 2 devices ({large})"
            ),
            format!(
                "claim default/x, request r/small: needs 2 devices of class c, has 1 of 2 devices ({small})"
            ),
        ]
    );
}

#[test]
fn capacity_counters_and_constraints_have_amounts_and_values() {
    let shared = json!([
        {"name": "a", "allowMultipleAllocations": true, "capacity": {"mem": {"value": "8Gi"}}},
        {"name": "b"},
    ]);
    let share = json!({"device": "a", "shareID": "0", "consumedCapacity": {"mem": "6Gi"}});
    let wants = json!({"requests": [request("r", json!({"capacity": {"requests": {"mem": "4Gi"}}}))]});
    let why = "1 has too little mem left: 10Gi of 8Gi would be taken; 1 has no capacity mem";
    assert_eq!(
        said(vec![devices(shared), holder("h", share)], wants),
        [format!("claim default/x, request r: needs 1 device of class c, has none of 2 devices ({why})")]
    );
    let takes = |amount: &str| json!([{"counterSet": "gpu", "counters": {"mem": {"value": amount}}}]);
    let parts = json!([
        {"name": "half", "consumesCounters": takes("20Gi")}, {"name": "whole", "consumesCounters": takes("40Gi")},
    ]);
    let counters = json!({"sharedCounters": [{"name": "gpu", "counters": {"mem": {"value": "40Gi"}}}]});
    let objects = vec![
        slice("counters", counters, 2),
        slice("s", json!({"devices": parts}), 2),
        holder("h", json!({"device": "half"})),
    ];
    let why = "1 exceeds counter mem of gpu: 40Gi of 20Gi left; 1 is taken by claim default/h for pod pod-h";
    let why =
        [why, "1 is taken by claim default/h for pod pod-h; 1 exceeds counter mem of gpu: 40Gi of 20Gi left"];
    let found = said(objects, json!({"requests": [request("r", json!({}))]}));
    let head = "claim default/x, request r: needs 1 device of class c, has none of 2 devices";
    assert!(why.iter().any(|why| found == [format!("{head} ({why})")]), "{found:?}");
    let numa = json!([
        {"name": "a", "attributes": {"numa": {"int": 0}}}, {"name": "b", "attributes": {"numa": {"int": 1}}},
    ]);
    let spec = json!({
        "requests": [request("q", json!({})), request("r", json!({}))], "constraints": [{"matchAttribute": "d.ex/numa"}],
    });
    let why = "1 goes to a request before this one; 1 does not agree in d.ex/numa with the devices before, where numa is 1";
    assert_eq!(
        said(vec![devices(numa.clone())], spec),
        [format!("claim default/x, request r: needs 1 device of class c, has none of 2 devices ({why})")]
    );
    let both = json!({
        "requests": [request("r", json!({"count": 2}))], "constraints": [{"matchAttribute": "d.ex/numa"}],
    });
    assert_eq!(
        said(vec![devices(numa)], both),
        [
            "claim default/x, request r: needs 2 devices of class c, has devices that fit one by one, and not together"
        ]
    );
}

#[test]
fn extended_resources_have_their_own_name() {
    let objects = vec![
        node("n").object(),
        class(json!({"extendedResourceName": "ex.com/gpu"})),
        devices(json!([{"name": "a"}])),
        holder("h", json!({"device": "a"})),
    ];
    let trial = Trial::of("DynamicResources", objects);
    let pod = pod("p").uid("p").request("ex.com/gpu", "1").build();
    assert_eq!(
        trial.violation_texts(&pod, "n"),
        [
            "extended resource ex.com/gpu: needs 1 device of class c, has none of 1 device (1 is taken by claim default/h for pod pod-h)"
        ]
    );
    assert_eq!(trial.remedies(&pod, "n"), [Edit::PodsEnd]);
}

#[test]
fn fewer_devices_and_tolerations_are_proposed() {
    let taint = json!([{"key": "k", "value": "v", "effect": "NoExecute"}]);
    let objects = vec![
        node("n").object(),
        class(json!({})),
        devices(json!([{"name": "a"}, {"name": "b", "taints": taint}])),
        claim("x", json!({"requests": [request("r", json!({"count": 2}))]}), json!({})),
    ];
    let trial = Trial::of("DynamicResources", objects);
    let edits = trial.remedies(&with_claim(), "n");
    let words: Vec<String> = edits.iter().map(|edit| edit.describe(&with_claim(), "n")).collect();
    assert_eq!(
        words,
        [
            "tolerate k=v:NoExecute of devices (claim x, request r)",
            "request 1 device instead of 2 (claim x, request r)",
        ]
    );
}
