//! Objects are decoded into the fields that are read: whatever else they have changes nothing, and costs no memory.

use bayplan::model::{Node, PodInfo};
use bayplan::testing::node;
use serde_json::{Value, json};

/// Every field that is read: names joined by dots, `[]` for each item of a list, `*` for each name of a map.
const READ: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels.*",
    "metadata.annotations.*",
    "metadata.ownerReferences.[].apiVersion",
    "metadata.ownerReferences.[].kind",
    "metadata.ownerReferences.[].name",
    "metadata.ownerReferences.[].uid",
    "metadata.ownerReferences.[].controller",
    "spec.schedulerName",
    "spec.nodeName",
    "spec.priority",
    "spec.priorityClassName",
    "spec.preemptionPolicy",
    "spec.schedulingGates.[].name",
    "spec.initContainers.[].name",
    "spec.initContainers.[].image",
    "spec.initContainers.[].restartPolicy",
    "spec.initContainers.[].resources.requests.*",
    "spec.initContainers.[].resources.limits.*",
    "spec.initContainers.[].ports.[].hostPort",
    "spec.initContainers.[].ports.[].protocol",
    "spec.initContainers.[].ports.[].hostIP",
    "spec.containers.[].name",
    "spec.containers.[].image",
    "spec.containers.[].resources.requests.*",
    "spec.containers.[].resources.limits.*",
    "spec.containers.[].ports.[].hostPort",
    "spec.containers.[].ports.[].protocol",
    "spec.containers.[].ports.[].hostIP",
    "spec.resources.requests.*",
    "spec.resources.limits.*",
    "spec.overhead.*",
    "spec.volumes.[].image.reference",
    "spec.tolerations.[].key",
    "spec.tolerations.[].operator",
    "spec.tolerations.[].value",
    "spec.tolerations.[].effect",
    "spec.nodeSelector.*",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.[].matchExpressions.[].*",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.[].matchFields.[].*",
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.[].weight",
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.[].preference.matchExpressions.[].*",
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.[].preference.matchFields.[].*",
    "status.phase",
    "status.nominatedNodeName",
    "status.startTime",
    "status.qosClass",
    "status.conditions.[].type",
    "status.conditions.[].status",
    "status.conditions.[].reason",
    "status.conditions.[].message",
    "status.conditions.[].lastTransitionTime",
    "status.containerStatuses.[].name",
    "status.containerStatuses.[].resources.requests.*",
    "status.containerStatuses.[].resources.limits.*",
    "status.containerStatuses.[].allocatedResources.*",
    "status.initContainerStatuses.[].name",
    "status.initContainerStatuses.[].resources.requests.*",
    "status.initContainerStatuses.[].resources.limits.*",
    "status.initContainerStatuses.[].allocatedResources.*",
    "status.resources.requests.*",
    "status.resources.limits.*",
    "status.allocatedResources.*",
    "status.images.[].names",
    "status.images.[].sizeBytes",
    "status.capacity.*",
    "status.allocatable.*",
    "status.declaredFeatures",
    "spec.unschedulable",
    "spec.taints.[].key",
    "spec.taints.[].value",
    "spec.taints.[].effect",
];

/// `value` without what no path leads to.
fn reduced(value: &Value, paths: &[&str]) -> Value {
    let below = |name: &str| -> Option<Vec<&str>> {
        let mut rest = Vec::new();
        for path in paths {
            let (head, tail) = path.split_once('.').unwrap_or((path, ""));
            if head == name || head == "*" {
                rest.push(tail);
            }
        }
        (!rest.is_empty()).then_some(rest)
    };
    match value {
        Value::Object(map) if !paths.contains(&"") => Value::Object(
            map.iter()
                .filter_map(|(name, value)| Some((name.clone(), reduced(value, &below(name)?))))
                .collect(),
        ),
        Value::Array(items) if !paths.contains(&"") => {
            let paths = below("[]").unwrap_or_default();
            Value::Array(items.iter().map(|item| reduced(item, &paths)).collect())
        }
        value => value.clone(),
    }
}

/// Adds fields that nobody knows to every map that is not keyed by names of users.
fn overgrown(value: &Value) -> Value {
    const FREE: [&str; 9] = [
        "labels",
        "annotations",
        "requests",
        "limits",
        "overhead",
        "nodeSelector",
        "allocatedResources",
        "capacity",
        "allocatable",
    ];
    match value {
        Value::Object(map) => {
            let mut grown: serde_json::Map<_, _> = map
                .iter()
                .map(|(name, value)| {
                    (
                        name.clone(),
                        if FREE.contains(&name.as_str()) { value.clone() } else { overgrown(value) },
                    )
                })
                .collect();
            grown.insert("zzUnknown".into(), json!({ "a": [1, { "b": null }], "name": "x" }));
            Value::Object(grown)
        }
        Value::Array(items) => Value::Array(items.iter().map(overgrown).collect()),
        value => value.clone(),
    }
}

#[test]
fn fields_that_are_not_read_change_nothing() {
    let container = |name: &str| {
        json!({
            "name": name, "image": "web", "command": ["run"], "env": [{ "name": "A", "value": "b" }],
            "resources": { "requests": { "cpu": "1" }, "limits": { "memory": "1Gi" }, "claims": [{ "name": "x" }] },
            "ports": [{ "name": "http", "containerPort": 80, "hostPort": 80, "protocol": "UDP", "hostIP": "1.2.3.4" }],
            "restartPolicy": "Always", "livenessProbe": { "httpGet": { "path": "/", "port": 80 } },
        })
    };
    let status = json!([{
        "name": "main", "image": "web", "imageID": "x", "ready": true, "state": { "running": {} },
        "resources": { "requests": { "cpu": "2" }, "limits": { "cpu": "2" } }, "allocatedResources": { "cpu": "3" },
    }]);
    let full = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web", "generateName": "web-", "namespace": "shop", "uid": "u", "resourceVersion": "12",
            "generation": 3, "labels": { "app": "web" }, "annotations": { "a": "b" }, "finalizers": ["x"],
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "deletionGracePeriodSeconds": 30, "managedFields": [{ "manager": "kubectl", "fieldsV1": { "f:spec": {} } }],
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true, "blockOwnerDeletion": true }],
        },
        "spec": {
            "schedulerName": "s", "nodeName": "n", "priority": 5, "priorityClassName": "high", "preemptionPolicy": "Never",
            "schedulingGates": [{ "name": "g" }], "serviceAccountName": "x", "dnsPolicy": "ClusterFirst",
            "initContainers": [container("init")], "containers": [container("main")], "ephemeralContainers": [{ "name": "debug" }],
            "resources": { "requests": { "memory": "2Gi" }, "limits": { "memory": "2Gi" } }, "overhead": { "cpu": "10m" },
            "volumes": [{ "name": "i", "image": { "reference": "data", "pullPolicy": "Always" } }, { "name": "s", "secret": { "secretName": "x" } }],
            "tolerations": [{ "key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 300 }],
            "nodeSelector": { "disk": "ssd" },
            "affinity": { "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [{
                    "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b"] }],
                    "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }],
                }] },
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 3, "preference": {
                    "matchExpressions": [{ "key": "a", "operator": "Gt", "values": ["1"] }],
                } }],
            } },
        },
        "status": {
            "phase": "Running", "nominatedNodeName": "m", "startTime": "2026-01-01T00:00:00Z", "qosClass": "Burstable",
            "podIP": "10.0.0.1", "conditions": [{
                "type": "PodScheduled", "status": "True", "reason": "r", "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": null, "observedGeneration": 2,
            }],
            "containerStatuses": status, "initContainerStatuses": status,
            "resources": { "requests": { "memory": "3Gi" }, "limits": { "memory": "3Gi" } },
            "allocatedResources": { "memory": "1Gi" },
        },
    });
    let read = |value: &Value| PodInfo::from_object(&serde_json::from_value(value.clone()).unwrap()).unwrap();
    let slim = reduced(&full, READ);
    assert!(slim.to_string().len() < full.to_string().len() * 3 / 4);
    assert_eq!(read(&full), read(&slim));
    assert_eq!(read(&overgrown(&full)), read(&slim));

    let node = overgrown(
        &node("n")
            .cpu("4")
            .taint("a", "b", "NoSchedule")
            .image("web", 5)
            .annotation("a", "b")
            .unschedulable()
            .json(),
    );
    let read = |value: &Value| Node::from_object(&serde_json::from_value(value.clone()).unwrap()).unwrap();
    assert_eq!(read(&node), read(&reduced(&node, READ)));
}
