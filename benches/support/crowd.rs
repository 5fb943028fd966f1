//! Clusters full of running pods, and pods that look at them or have volumes.

use super::volumes;
use bayplan::framework::Framework;
use bayplan::model::{
    Change, Kind, LabelSelector, NodeId, Object, Placement, PodInfo, PodKey, PodMatch, Snapshot, Symbol, Want,
};
use bayplan::testing::{PodMaker, node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the pods of a crowd ask for.
pub(crate) const KINDS: [&str; 11] = [
    "looks at no pod",
    "default spreading",
    "hard zone spread",
    "hostname anti-affinity, 5,000 carriers",
    "zone affinity",
    "preferred affinity",
    "1,000 distinct carrier terms",
    volumes::BOUND,
    volumes::DELAYED,
    volumes::CAPACITY,
    volumes::CAPACITY_OF_NODES,
];

/// Running pods of each node.
const PODS_PER_NODE: usize = 10;
/// Pods of each app.
const APP: usize = 100;
const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A cluster and the pods that are decided about.
pub(crate) struct Crowd {
    pub(crate) snapshot: Snapshot,
    pub(crate) pods: Vec<Arc<PodInfo>>,
}

fn term(key: &str, app: &str) -> Value {
    json!({ "topologyKey": key, "labelSelector": { "matchLabels": { "app": app } } })
}

fn anti(pod: PodMaker, term: Value) -> PodMaker {
    pod.set("spec.affinity.podAntiAffinity", json!({ REQUIRED: [term] }))
}

impl Crowd {
    /// A cluster of these nodes, all of one size in three zones, with ten pods each of many apps.
    pub(crate) fn new(kind: &str, nodes: usize, framework: &Framework) -> Self {
        let mut snapshot = Snapshot::default();
        for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
            snapshot.add_index(key, index);
        }
        for at in 0..nodes {
            let name = format!("node-{at:06}");
            let made = node(&name).cpu("64").memory("256Gi").zone(["a", "b", "c"][at % 3]);
            snapshot.apply(Change::NodeUpserted { node: made.label(HOSTNAME, &name).build() });
        }
        let apps = (nodes * PODS_PER_NODE).div_ceil(APP);
        let shapes: Vec<Arc<PodInfo>> =
            (0..apps).map(|app| running(&format!("app-{app}"), kind, app).build()).collect();
        for at in 0..nodes * PODS_PER_NODE {
            // The pods of an app are far apart.
            place(&mut snapshot, &shapes[at * 7 % apps], at, at % nodes);
        }
        if kind.starts_with("hostname") {
            // Two on every second node.
            let carrier = anti(running("web", kind, 0), term(HOSTNAME, "web")).build();
            for at in 0..nodes {
                place(&mut snapshot, &carrier, nodes * PODS_PER_NODE + at, at / 2 * 2);
            }
        }
        if kind.starts_with("1,000") {
            for at in 0..1_000 {
                let app = format!("single-{at}");
                let carrier = anti(running(&app, kind, 0), term(HOSTNAME, &app)).build();
                place(&mut snapshot, &carrier, nodes * PODS_PER_NODE + at, at * 5 % nodes);
            }
        }
        if kind.starts_with("default") {
            for app in 0..apps {
                let service = json!({ "metadata": { "name": format!("app-{app}"), "namespace": "default" },
                    "spec": { "selector": { "app": format!("app-{app}") } } });
                snapshot.apply(seen(Kind::Service, &service));
            }
        }
        volumes::put(kind, &mut snapshot);
        let pods: Vec<Arc<PodInfo>> = (0..50).map(|at| wanting(kind, at).build()).collect();
        for pod in &pods {
            let wants = framework.wants(pod, &snapshot);
            snapshot.want(&wants);
        }
        Self { snapshot, pods }
    }
}

/// Other versions of a placed pod of each of these nodes: with another label, or with nothing that plugins read.
pub(crate) fn versions(
    snapshot: &Snapshot,
    count: usize,
    version: &str,
    relabelled: bool,
) -> Vec<(Arc<PodInfo>, NodeId)> {
    let placed = snapshot.nodes().take(count).filter_map(|node| Some((node.pods().next()?, node.id())));
    let other = |(pod, node): (&Arc<PodInfo>, NodeId)| {
        let mut pod = PodInfo::clone(pod);
        pod.resource_version = Box::from(version);
        if relabelled {
            let labels = pod.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
            pod.labels = labels.chain([(Symbol::new("canary"), Symbol::new(version))]).collect();
        }
        (Arc::new(pod), node)
    };
    placed.map(other).collect()
}

/// Up to 1,000 different matches, two for each app of running pods.
pub(crate) fn selectors(count: usize) -> Vec<Want> {
    let of = |at: usize| {
        let app = (Symbol::new("app"), Symbol::from(format!("app-{}", at % 500)));
        let tier = (at >= 500).then(|| (Symbol::new("tier"), Symbol::new("web")));
        let selector = LabelSelector::of_labels(&std::iter::once(app).chain(tier).collect());
        Want::Count(Arc::new(PodMatch::in_namespace(&Symbol::new("default"), [selector])))
    };
    (0..count).map(of).collect()
}

pub(super) fn seen(kind: Kind, value: &Value) -> Change {
    let bytes = serde_json::to_vec(value).unwrap();
    match (kind.row().unwrap().parse)(&bytes).unwrap().object {
        Object::Other(object) => Change::ObjectSeen { object },
        _ => unreachable!("it is no pod, node or namespace"),
    }
}

fn running(app: &str, kind: &str, number: usize) -> PodMaker {
    let made = pod("running").cpu("250m").memory("512Mi").label("app", app).label("tier", "web");
    // Some running pods prefer others, as in any cluster.
    match kind == "preferred affinity" && number.is_multiple_of(10) {
        true => made.set(
            "spec.affinity.podAffinity",
            json!({ PREFERRED: [{ "weight": 5, "podAffinityTerm": term(ZONE, app) }] }),
        ),
        false => made,
    }
}

fn place(snapshot: &mut Snapshot, shape: &PodInfo, number: usize, row: usize) {
    let key = PodKey(Symbol::from(format!("uid-{number}")));
    let pod = Arc::new(PodInfo { key, ..shape.clone() });
    snapshot.apply(Change::PodPlaced { pod, node: NodeId::from_row(row), how: Placement::Bound });
}

/// The pod that is decided about.
fn wanting(kind: &str, number: usize) -> PodMaker {
    let app = match kind {
        "hostname anti-affinity, 5,000 carriers" => "web",
        "1,000 distinct carrier terms" => "single-7",
        _ => "app-10",
    };
    let made = pod("new")
        .cpu(&format!("{}m", 250 + 10 * number))
        .memory(&format!("{}Mi", 300 + 7 * number))
        .label("app", app)
        .label("tier", "web");
    let selector = json!({ "matchLabels": { "app": app } });
    let weighted = json!({ "weight": 10, "podAffinityTerm": term(ZONE, "app-20") });
    match kind {
        "hard zone spread" => made.set(
            "spec.topologySpreadConstraints",
            json!([{ "maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector }]),
        ),
        "hostname anti-affinity, 5,000 carriers" => anti(made, term(HOSTNAME, app)),
        "zone affinity" => made.set("spec.affinity.podAffinity", json!({ REQUIRED: [term(ZONE, "app-20")] })),
        kind if volumes::KINDS.contains(&kind) => made.set("spec.volumes", volumes::of_pod()),
        "preferred affinity" => made.set("spec.affinity.podAffinity", json!({ PREFERRED: [weighted] })),
        _ => made,
    }
}
