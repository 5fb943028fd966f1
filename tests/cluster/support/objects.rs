//! Makers of objects as JSON, which tests change and create. Each has the minimum that the API
//! server accepts and a scheduler places.

use bayplan::model::{KINDS, Kind};
use serde_json::{Map, Value, json};

/// A Ready node. `capacity` has resources and their quantities, such as `cpu` and `memory`; all of
/// it is allocatable. The default for `pods` is 110.
pub(crate) fn node(name: &str, capacity: &[(&str, &str)]) -> Value {
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
pub(crate) fn pod(namespace: &str, name: &str, scheduler: &str, requests: &[(&str, &str)]) -> Value {
    let requests: Map<String, Value> =
        requests.iter().map(|(resource, quantity)| ((*resource).to_owned(), json!(quantity))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            // Extended resources need limits that equal the requests.
            "containers": [{ "name": "main", "image": "pause", "resources": { "requests": requests, "limits": requests } }],
        },
    })
}

/// A ConfigMap with these keys and texts.
pub(crate) fn config_map(
    namespace: &str,
    name: &str,
    labels: &[(&str, &str)],
    data: &[(&str, &str)],
) -> Value {
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

/// Adds a label to an object.
#[must_use]
pub(crate) fn with_label(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = json!(value);
    object
}

/// Adds a taint to a node.
#[must_use]
pub(crate) fn with_taint(mut node: Value, key: &str, value: &str, effect: &str) -> Value {
    if !node["spec"]["taints"].is_array() {
        node["spec"]["taints"] = json!([]);
    }
    if let Some(taints) = node["spec"]["taints"].as_array_mut() {
        taints.push(json!({ "key": key, "value": value, "effect": effect }));
    }
    node
}

/// The resources of the kinds beside pods, nodes and namespaces that decisions read, as `kubectl create clusterrole`
/// takes them.
pub(crate) fn other_resources() -> String {
    let others = KINDS.iter().filter(|row| !matches!(row.kind, Kind::Pod | Kind::Node | Kind::Namespace));
    let names = others.map(|row| match row.group {
        "" => row.plural.to_owned(),
        group => format!("{}.{group}", row.plural),
    });
    names.collect::<Vec<_>>().join(",")
}
