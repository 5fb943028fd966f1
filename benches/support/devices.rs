//! Nodes with devices in slices, of which claims hold a part, and a pod with a claim of one device.

use super::crowd::seen;
use bayplan::framework::Framework;
use bayplan::model::{Change, Kind, PodInfo, Snapshot};
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

/// Half of the devices of each node are taken.
pub(crate) const HALF: &str = "a device by CEL, half are taken";
/// One device of one node is left.
pub(crate) const ONE_LEFT: &str = "a device by CEL, all but one are taken";
/// One node has a device that is selected.
pub(crate) const ONE_SELECTED: &str = "a device by CEL, only one is selected";
/// Every node reaches the same 1,000 devices, of which one is left.
pub(crate) const REMOTE: &str = "1,000 devices for all nodes, one is left";
/// Half are taken, and a pod with such a claim came before; in the other rows too many kinds of claims lie between.
pub(crate) const AGAIN: &str = "a device by CEL, as a pod before";
/// As before, and the claims have alternatives, so that nodes have scores.
pub(crate) const CHOICE_AGAIN: &str = "a device by CEL or all, as a pod before";
pub(crate) const KINDS: [&str; 6] = [HALF, ONE_LEFT, ONE_SELECTED, REMOTE, AGAIN, CHOICE_AGAIN];

/// The nodes for which there are targets.
pub(crate) const NODES: usize = 500;
/// Pods that are decided about.
const PODS: usize = 50;
/// Devices of each node.
const PER_NODE: usize = 8;
/// Devices of a slice: as many as the API server allows.
const PER_SLICE: usize = 128;
const REMOTE_DEVICES: usize = 1_000;
const DRIVER: &str = "gpu.example.com";
/// The pool that every node reaches.
const SHARED: &str = "shared";

/// What shows the slices of this number of nodes to a snapshot.
pub(crate) fn slices(nodes: usize) -> impl Iterator<Item = Change> {
    (0..nodes).map(|at| seen(Kind::ResourceSlice, &slice(at, |_| "large")))
}

/// A claim for each device of this number of nodes, which holds it.
pub(crate) fn all_taken(nodes: usize) -> impl Iterator<Item = Change> {
    (0..nodes * PER_NODE).map(|at| taken(&name(at / PER_NODE), at % PER_NODE))
}

/// The cluster, and the pods that are decided about.
pub(crate) struct Devices {
    pub(crate) snapshot: Snapshot,
    pub(crate) pods: Vec<Arc<PodInfo>>,
}

impl Devices {
    pub(crate) fn new(kind: &str, nodes: usize, framework: &Framework) -> Self {
        let mut snapshot = Snapshot::default();
        for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
            snapshot.add_index(key, index);
        }
        for at in 0..nodes {
            let made = node(&name(at)).cpu("64").memory("256Gi").zone(["a", "b", "c"][at % 3]);
            snapshot.apply(Change::NodeUpserted { node: made.build() });
        }
        let class = json!({ "metadata": { "name": "gpu" }, "spec": { "selectors": [
            { "cel": { "expression": format!("device.driver == '{DRIVER}'") } }
        ] } });
        snapshot.apply(seen(Kind::DeviceClass, &class));
        let model = |at: usize, device: usize| match kind {
            ONE_SELECTED if (at, device) != (nodes - 1, PER_NODE - 1) => "small",
            _ => "large",
        };
        let is_taken = |at: usize, device: usize| match kind {
            HALF | AGAIN | CHOICE_AGAIN => device < PER_NODE / 2,
            ONE_SELECTED => false,
            _ => (at, device) != (nodes - 1, PER_NODE - 1),
        };
        if kind == REMOTE {
            remote(&mut snapshot);
        } else {
            for at in 0..nodes {
                snapshot.apply(seen(Kind::ResourceSlice, &slice(at, |device| model(at, device))));
                for device in (0..PER_NODE).filter(|device| is_taken(at, *device)) {
                    snapshot.apply(taken(&name(at), device));
                }
            }
        }
        let wanted = format!("device.attributes['{DRIVER}'].model == 'large'");
        let request = json!({ "deviceClassName": "gpu", "selectors": [{ "cel": { "expression": wanted } }] });
        for number in 0..PODS {
            // The name makes it another kind of claim.
            let name = format!("gpu-{number}");
            let mut alternatives = [request.clone(), request.clone()];
            for (of, count) in alternatives.iter_mut().zip([PER_NODE, 1]) {
                of["name"] = json!(format!("of-{count}"));
                of["count"] = json!(count);
            }
            let request = match kind {
                CHOICE_AGAIN => json!({ "name": name, "firstAvailable": alternatives }),
                _ => json!({ "name": name, "exactly": request }),
            };
            let claim = json!({
                "metadata": { "name": claim_name(number), "namespace": "default", "uid": claim_name(number) },
                "spec": { "devices": { "requests": [request] } },
            });
            snapshot.apply(seen(Kind::ResourceClaim, &claim));
        }
        let claim = |number: usize| if matches!(kind, AGAIN | CHOICE_AGAIN) { 0 } else { number };
        let pods: Vec<Arc<PodInfo>> = (0..PODS).map(|number| wanting(number, claim(number))).collect();
        for pod in &pods {
            let wants = framework.wants(pod, &snapshot);
            snapshot.want(&wants);
        }
        Self { snapshot, pods }
    }
}

fn claim_name(number: usize) -> String {
    format!("wanted-{number}")
}

fn wanting(number: usize, claim: usize) -> Arc<PodInfo> {
    let made = pod("new").cpu(&format!("{}m", 250 + 10 * number)).memory("300Mi");
    made.set("spec.resourceClaims", json!([{ "name": "gpu", "resourceClaimName": claim_name(claim) }]))
        .build()
}

fn name(at: usize) -> String {
    format!("node-{at:06}")
}

fn device(number: usize, model: &str) -> Value {
    json!({
        "name": format!("gpu-{number}"),
        "attributes": {
            "model": { "string": model }, "index": { "int": number }, "driverVersion": { "version": "1.2.3" },
            "uuid": { "string": format!("gpu-0000-{number}") },
        },
        "capacity": { "memory": { "value": "80Gi" } },
    })
}

/// The only slice of the pool of a node.
fn slice(at: usize, model: impl Fn(usize) -> &'static str) -> Value {
    let devices: Vec<Value> = (0..PER_NODE).map(|number| device(number, model(number))).collect();
    json!({
        "metadata": { "name": format!("{}-{DRIVER}", name(at)) },
        "spec": {
            "driver": DRIVER, "nodeName": name(at), "devices": devices,
            "pool": { "name": name(at), "generation": 1, "resourceSliceCount": 1 },
        },
    })
}

/// A pool for all nodes. All of its devices but the last one are taken.
fn remote(snapshot: &mut Snapshot) {
    let slices = REMOTE_DEVICES.div_ceil(PER_SLICE);
    for at in 0..slices {
        let of = at * PER_SLICE..REMOTE_DEVICES.min((at + 1) * PER_SLICE);
        let devices: Vec<Value> = of.map(|number| device(number, "large")).collect();
        let slice = json!({
            "metadata": { "name": format!("{SHARED}-{at:03}") },
            "spec": {
                "driver": DRIVER, "allNodes": true, "devices": devices,
                "pool": { "name": SHARED, "generation": 1, "resourceSliceCount": slices },
            },
        });
        snapshot.apply(seen(Kind::ResourceSlice, &slice));
    }
    (0..REMOTE_DEVICES - 1).for_each(|number| snapshot.apply(taken(SHARED, number)));
}

/// A claim that holds a device.
fn taken(pool: &str, number: usize) -> Change {
    let name = format!("{pool}-{number}");
    let result =
        json!({ "request": "gpu", "driver": DRIVER, "pool": pool, "device": format!("gpu-{number}") });
    let claim = json!({
        "metadata": { "name": name, "namespace": "default", "uid": name },
        "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } },
        "status": { "allocation": { "devices": { "results": [result] } } },
    });
    seen(Kind::ResourceClaim, &claim)
}
