//! The claims and volumes of pods that are decided about. Every node runs a CSI driver with a limit.

use super::crowd::seen;
use bayplan::model::{Kind, Snapshot};
use serde_json::{Value, json};

/// A claim bound to a volume of a zone.
pub(crate) const BOUND: &str = "bound volume";
/// A claim that waits for a node, and 1,000 volumes for single nodes.
pub(crate) const DELAYED: &str = "delayed claim, 1,000 volumes";
/// A claim that is provisioned where a driver has the capacity.
pub(crate) const CAPACITY: &str = "delayed claim, storage capacity";
/// The same with a capacity for each node, as drivers of local disks report it.
pub(crate) const CAPACITY_OF_NODES: &str = "delayed claim, a capacity a node";
pub(crate) const KINDS: [&str; 4] = [BOUND, DELAYED, CAPACITY, CAPACITY_OF_NODES];

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const DRIVER: &str = "disks.example.com";

/// The volumes of a pod.
pub(crate) fn of_pod() -> Value {
    json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }])
}

fn volume(name: &str, size: usize, key: &str, value: &str) -> Value {
    let is = json!({ "key": key, "operator": "In", "values": [value] });
    json!({
        "metadata": { "name": name, "uid": name, "labels": { ZONE: "a" } },
        "spec": {
            "capacity": { "storage": format!("{size}Gi") }, "accessModes": ["ReadWriteOnce"], "storageClassName": "disks",
            "csi": { "driver": DRIVER, "volumeHandle": name },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [is] }] } },
        },
        "status": { "phase": "Available" },
    })
}

/// Makes what a kind of pod needs beside the nodes and running pods.
pub(crate) fn put(kind: &str, snapshot: &mut Snapshot) {
    if !KINDS.contains(&kind) {
        return;
    }
    let nodes: Vec<String> = snapshot.nodes().map(|node| node.name().to_string()).collect();
    for node in &nodes {
        let driver = json!({ "name": DRIVER, "nodeID": node, "allocatable": { "count": 24 } });
        let csi_node = json!({ "metadata": { "name": node }, "spec": { "drivers": [driver] } });
        snapshot.apply(seen(Kind::CsiNode, &csi_node));
    }
    let provisioner = if kind == DELAYED { "kubernetes.io/no-provisioner" } else { DRIVER };
    let class = json!({
        "metadata": { "name": "disks" }, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
    });
    snapshot.apply(seen(Kind::StorageClass, &class));
    let mut claim = json!({
        "metadata": { "name": "data", "namespace": "default", "uid": "data" },
        "spec": {
            "storageClassName": "disks", "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "10Gi" } },
        },
    });
    match kind {
        BOUND => {
            claim["metadata"]["annotations"] = json!({ "pv.kubernetes.io/bind-completed": "yes" });
            claim["spec"]["volumeName"] = json!("bound");
            snapshot.apply(seen(Kind::PersistentVolume, &volume("bound", 10, ZONE, "a")));
        }
        DELAYED => {
            for at in 0..1_000 {
                let node = &nodes[at * 5 % nodes.len()];
                let made = volume(&format!("volume-{at}"), 5 + at % 20, HOSTNAME, node);
                snapshot.apply(seen(Kind::PersistentVolume, &made));
            }
        }
        _ => {
            let driver = json!({ "metadata": { "name": DRIVER }, "spec": { "storageCapacity": true } });
            snapshot.apply(seen(Kind::CsiDriver, &driver));
            let zones = [("a", 5), ("b", 50), ("c", 500)].map(|(zone, size)| (ZONE, zone.to_owned(), size));
            let of_nodes = nodes.into_iter().enumerate().map(|(at, node)| (HOSTNAME, node, 5 + at % 20));
            let segments = match kind {
                CAPACITY => Vec::from(zones),
                _ => of_nodes.collect(),
            };
            for (key, value, size) in segments {
                let capacity = json!({
                    "metadata": { "name": value, "namespace": "kube-system" }, "storageClassName": "disks",
                    "capacity": format!("{size}Gi"), "nodeTopology": { "matchLabels": { key: value } },
                });
                snapshot.apply(seen(Kind::CsiStorageCapacity, &capacity));
            }
        }
    }
    snapshot.apply(seen(Kind::PersistentVolumeClaim, &claim));
}
