//! The cluster of the bench of the library: nodes, pods, looked up objects and metrics with everything that its policies
//! read.

use bayplan::framework::Framework;
use bayplan::lang::schemas::Schemas;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    Change, KindName, LookedUp, Measured, Node, NodeId, Placement, PodInfo, PodKey, Reading, Snapshot,
    Symbol, Time, Want,
};
use bayplan::testing::{PodMaker, Random, node, pod};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of the repository.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The custom kinds that the policies look up.
pub(crate) fn schemas() -> Schemas {
    let mut schemas = Schemas::default();
    for entry in std::fs::read_dir(folder("policies/schemas")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for definition in bayplan::yaml::values(&text, false).unwrap() {
            schemas.add_definition(&definition).unwrap();
        }
    }
    schemas
}

/// Nodes of several shapes with what the policies read: labels, annotations, images and GPUs.
fn nodes(number: usize) -> Vec<Arc<Node>> {
    let of = |at: usize| {
        let gpus = [0, 2, 4, 8][at % 4];
        let mut maker = node(&format!("node-{at:06}"))
            .cpu(["16", "32", "64", "96"][at % 4])
            .memory(["64Gi", "128Gi", "256Gi"][at % 3])
            .zone(["a", "b", "c"][at % 3])
            .region(["west", "east", "east"][at % 3])
            .label("kubernetes.io/arch", ["amd64", "arm64"][usize::from(at.is_multiple_of(5))])
            .label("node.example.com/rank", &(at % 997).to_string())
            .label("priority.lixueduan.com", &(at % 89).to_string())
            .label("example.com/price-per-hour", &format!("{}.{}", at % 7, at % 97))
            .label("nvidia.com/gpu.clique", &format!("clique-{}", at / 16));
        if gpus > 0 {
            maker = maker.resource("nvidia.com/gpu", &gpus.to_string());
            maker = maker.label("nvidia.com/gpu.product", ["T4", "G2", "V100M16"][at % 3]);
        }
        if at.is_multiple_of(6) {
            maker = maker.label("avoid", "true").label("pool", "reserved");
        }
        if at.is_multiple_of(3) {
            maker = maker.label("node.kubernetes.io/lifecycle", "spot");
        }
        if at.is_multiple_of(10) {
            maker = maker.annotation("maintenance.example.com/start", "2027-03-02T12:00:00Z");
        }
        let images: Vec<_> = (0..20)
            .map(|image| json!({"names": [format!("image-{}:1", image + at % 5)], "sizeBytes": 1}))
            .collect();
        maker.set("status.images", json!(images)).build()
    };
    (0..number).map(of).collect()
}

/// A pod to which every policy applies.
pub(crate) fn new_pod(name: &str) -> PodMaker {
    pod(name)
        .cpu("2")
        .memory("4Gi")
        .request("nvidia.com/gpu", "1")
        .label("app", "web")
        .label("job", "train")
        .label("spot", "allowed")
        .label("workload", "batch")
        .label("scheduling.x-k8s.io/pod-group", "train")
        .label("appgroup.diktyo.x-k8s.io", "shop")
        .label("appgroup.diktyo.x-k8s.io.workload", "front")
        .annotation("job-size", "4")
        .annotation("data.example.com/nodes", "node-000001,node-000007")
        .annotation("example.com/prepulled-only", "true")
        .set("metadata.ownerReferences", json!([owner("VirtualMachineInstance", "db")]))
        .set("spec.securityContext", profile(0))
        .set("spec.containers.0.image", json!("image-7:1"))
        .raw()
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "kubevirt.io/v1", "kind": kind, "name": name, "uid": name, "controller": true})
}

/// A security context with one of five profiles.
fn profile(at: usize) -> Value {
    let name = format!("operator/default/calls-{}.json", at % 5);
    json!({"seccompProfile": {"type": "Localhost", "localhostProfile": name}})
}

/// An object of a custom kind.
fn object(kind: &str, name: &str, rest: Value) -> Change {
    let mut value = json!({"metadata": {"name": name, "namespace": "default", "uid": name}});
    for (key, part) in rest.as_object().unwrap() {
        value[key] = part.clone();
    }
    let kind = KindName::parse(kind).unwrap();
    let object = LookedUp::new(&kind, value, &Projection::everything()).unwrap();
    Change::ObjectSeen { object: Arc::new(object) }
}

/// What the policies look up: a group of pods, an application of three workloads with the costs between zones and
/// regions, five profiles of 300 system calls, a hundred quotas, and a virtual machine.
fn objects() -> Vec<Change> {
    let workload = |name: &str, on: &[&str]| {
        let on: Vec<Value> = on
            .iter()
            .map(|on| json!({"workload": {"name": on, "selector": on}, "maxNetworkCost": 15}))
            .collect();
        json!({"workload": {"name": name, "selector": name}, "dependencies": on})
    };
    let costs = |pairs: &[(&str, &str, i64)]| -> Vec<Value> {
        let of = |(from, to, cost): &(&str, &str, i64)| json!({"origin": from, "costList": [{"destination": to, "networkCost": cost}]});
        pairs.iter().map(of).collect()
    };
    let order: Vec<Value> = ["front", "back", "store"]
        .iter()
        .enumerate()
        .map(|(at, name)| json!({"index": at, "workload": {"name": name, "selector": name}}))
        .collect();
    let mut all = vec![
        object(
            "scheduling.x-k8s.io/v1alpha1/PodGroup",
            "train",
            json!({"spec": {"minMember": 2, "minResources": {"cpu": "4"}}}),
        ),
        object(
            "appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup",
            "shop",
            json!({
                "spec": {"workloads": [workload("front", &["back", "store"]), workload("back", &[]), workload("store", &[])]},
                "status": {"topologyOrder": order},
            }),
        ),
        object(
            "networktopology.diktyo.x-k8s.io/v1alpha1/NetworkTopology",
            "nt-default",
            json!({"spec": {"weights": [{"name": "UserDefined", "topologyList": [
                {"topologyKey": "topology.kubernetes.io/zone", "originList": costs(&[("b", "c", 10), ("c", "b", 10)])},
                {"topologyKey": "topology.kubernetes.io/region", "originList": costs(&[("west", "east", 20), ("east", "west", 20)])},
            ]}]}}),
        ),
        object("kubevirt.io/v1/VirtualMachine", "machine", json!({})),
    ];
    let owners = json!([owner("VirtualMachine", "machine")]);
    let instance =
        json!({"metadata": {"name": "db", "namespace": "default", "uid": "db", "ownerReferences": owners}});
    all.push(object("kubevirt.io/v1/VirtualMachineInstance", "db", instance));
    all.extend((0..5).map(|at| {
        let calls: Vec<String> = (0..300).map(|call| format!("call-{}", call + 20 * at)).collect();
        let spec = json!({"spec": {"syscalls": [{"action": "SCMP_ACT_ALLOW", "names": calls}]}});
        object("security-profiles-operator.x-k8s.io/v1beta1/SeccompProfile", &format!("calls-{at}"), spec)
    }));
    all.extend((0..100).map(|at| quota(&quota_namespace(at), 1_000_000, None)));
    all
}

/// The namespaces with quotas; the first is that of new pods.
pub(crate) fn quota_namespace(at: usize) -> String {
    if at == 0 { "default".to_owned() } else { format!("team-{at}") }
}

/// The quota of a namespace, in CPUs.
pub(crate) fn quota(namespace: &str, min: usize, max: Option<usize>) -> Change {
    let mut spec = json!({"min": {"cpu": min.to_string(), "memory": "1Ei", "pods": "1000000", "nvidia.com/gpu": "1000000"}});
    if let Some(max) = max {
        spec["max"] = json!({"cpu": max.to_string()});
    }
    let metadata = json!({"name": "quota", "namespace": namespace, "uid": namespace});
    object("scheduling.x-k8s.io/v1alpha1/ElasticQuota", "quota", json!({"metadata": metadata, "spec": spec}))
}

/// An empty snapshot that the plugins of a framework keep their indexes in.
pub(crate) fn empty(framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    snapshot.set_metrics_windows(framework.metrics_windows());
    snapshot
}

/// A cluster with 20 pods for each node on average, of which one in five has a share of a GPU.
pub(crate) fn cluster(number: usize, framework: &Framework) -> Snapshot {
    let mut snapshot = empty(framework);
    nodes(number).into_iter().for_each(|node| snapshot.apply(Change::NodeUpserted { node }));
    objects().into_iter().for_each(|change| snapshot.apply(change));
    let mut random = Random(7);
    let plain: Vec<Arc<PodInfo>> = (0..20)
        .map(|i| {
            let maker =
                pod("running").cpu(&format!("{}m", 50 + 31 * i)).memory(&format!("{}Mi", 100 + 61 * i));
            let maker = maker.namespace(&quota_namespace(i)).set("spec.securityContext", profile(i));
            maker.label("app", &format!("app-{i}")).raw().build()
        })
        .collect();
    let shares: Vec<Arc<PodInfo>> = ["160", "320", "470", "810", "1000"]
        .iter()
        .map(|milli| pod("running").cpu("500m").annotation("alibabacloud.com/gpu-milli", milli).build())
        .collect();
    for at in 0..20 * number {
        let mut one = (*if at.is_multiple_of(5) { random.of(&shares) } else { random.of(&plain) }).clone();
        one.key = PodKey(Symbol::new(&format!("default/running-{at}")));
        let node = NodeId::from_row(random.below(number));
        snapshot.apply(Change::PodPlaced { pod: Arc::new(one), node, how: Placement::Bound });
    }
    for at in 0..4 {
        let (pod, node) = (new_pod(&format!("member-{at}")).build(), NodeId::from_row(at * 5 + 3));
        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
    }
    for at in 0..100 {
        let back = pod(&format!("back-{at}")).label("appgroup.diktyo.x-k8s.io", "shop");
        let pod = back.label("appgroup.diktyo.x-k8s.io.workload", "back").build();
        let node = NodeId::from_row(at * 7 % number);
        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
    }
    measured(number, &mut snapshot);
    for key in framework.plugins().iter().flat_map(|plugin| plugin.reads().label_keys) {
        snapshot.want(&[Want::Label(key)]);
    }
    snapshot
}

/// Three polls of what all nodes use; the last is at the instant of the decisions.
fn measured(number: usize, snapshot: &mut Snapshot) {
    for poll in [-30i64, -15, 0] {
        let at = Time(poll * 1_000_000);
        let readings = (0..number).map(|row| {
            let cpu = 1_000 + (row as i64 * 37 + poll * 11) % 7_000;
            let measured = Measured::Sample { at, cpu, memory: (cpu << 20) * 4 };
            Reading { node: Symbol::from(format!("node-{row:06}")), measured }
        });
        let readings = readings.collect();
        snapshot.apply(Change::Metrics { at, readings });
    }
}

/// The arguments without which a policy does nothing.
pub(crate) fn arguments(policy: &str, nodes: usize) -> Vec<(&'static str, Value)> {
    let model = |row: usize| (format!("node-{row:06}"), json!({"k0": 100.0, "k1": 1.5, "k2": 0.03}));
    match policy {
        "peaks" => vec![("models", Value::Object((0..nodes).map(model).collect()))],
        _ => Vec::new(),
    }
}

/// Pods of each node of a full cluster.
const VICTIMS: usize = 10;

/// A cluster in which every node is full of pods that may be evicted, of a hundred namespaces that use more than their
/// quotas guarantee; and a pod of a namespace that uses less, with higher priority.
pub(crate) fn full(number: usize, framework: &Framework) -> (Snapshot, Arc<PodInfo>) {
    let mut snapshot = empty(framework);
    let used = number * VICTIMS * 390 / 1_000 + 1;
    for team in 1..101 {
        snapshot.apply(quota(&quota_namespace(team), used / 200, Some(used)));
    }
    snapshot.apply(quota("default", used, None));
    let annotations = json!({
        "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "100",
        "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": "60",
    });
    let class = json!({"metadata": {"name": "low", "uid": "low", "annotations": annotations}, "value": 1});
    snapshot.apply(object("scheduling.k8s.io/v1/PriorityClass", "low", class));
    let small = pod("small").cpu("390m").memory("100Mi").set("spec.priorityClassName", json!("low"));
    let small = small.set("status.startTime", json!("2026-01-01T00:00:00Z")).phase("Running");
    let small: Vec<Arc<PodInfo>> =
        (1..101).map(|team| small.clone().namespace(&quota_namespace(team)).build()).collect();
    for at in 0..number {
        let name = format!("node-{at:06}");
        snapshot.apply(Change::NodeUpserted { node: node(&name).cpu("4").memory("8Gi").build() });
        let row = snapshot.row_by_name(&Symbol::new(&name)).unwrap();
        for victim in 0..VICTIMS {
            let text = Symbol::from(format!("{name}-{victim}"));
            let of = &small[(at * 7 + victim) % small.len()];
            let key = PodKey(Symbol::from(format!("{}/{text}", of.namespace)));
            let one = PodInfo { key, name: text, priority: (victim % 3) as i32, ..(**of).clone() };
            snapshot.apply(Change::PodPlaced { pod: Arc::new(one), node: row, how: Placement::Bound });
        }
    }
    (snapshot, pod("high").cpu("1").priority(1_000).build())
}
