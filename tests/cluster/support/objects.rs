//! Makers of objects as JSON, for tests to change and create. What a test does not name is the least that the
//! API server takes and a scheduler places.

use serde_json::{Map, Value, json};

/// A Ready node. `capacity` holds resources and their quantities, `cpu`, `memory` and so on, and is allocatable
/// whole; without `pods` in it the node takes 110.
pub fn node(name: &str, capacity: &[(&str, &str)]) -> Value {
    let mut resources: Map<String, Value> = Map::new();
    resources.insert("pods".to_owned(), json!("110"));
    resources.extend(capacity.iter().map(|(resource, quantity)| ((*resource).to_owned(), json!(quantity))));
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

/// A pod of one container for the scheduler of that name.
pub fn pod(namespace: &str, name: &str, scheduler: &str, requests: &[(&str, &str)]) -> Value {
    let requests: Map<String, Value> =
        requests.iter().map(|(resource, quantity)| ((*resource).to_owned(), json!(quantity))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            // Limits equal to requests, which extended resources must have.
            "containers": [{ "name": "main", "image": "pause", "resources": { "requests": requests, "limits": requests } }],
        },
    })
}

/// A ConfigMap of these keys and texts.
pub fn config_map(namespace: &str, name: &str, labels: &[(&str, &str)], data: &[(&str, &str)]) -> Value {
    let map = |pairs: &[(&str, &str)]| -> Map<String, Value> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
    };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": map(labels) },
        "data": map(data),
    })
}

/// Puts a label on an object made here.
#[must_use]
pub fn with_label(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = json!(value);
    object
}

/// Puts a taint on a node made here.
#[must_use]
pub fn with_taint(mut node: Value, key: &str, value: &str, effect: &str) -> Value {
    if !node["spec"]["taints"].is_array() {
        node["spec"]["taints"] = json!([]);
    }
    if let Some(taints) = node["spec"]["taints"].as_array_mut() {
        taints.push(json!({ "key": key, "value": value, "effect": effect }));
    }
    node
}
