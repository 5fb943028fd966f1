//! What a pod costs: bytes of a running pod with spreading, affinity and volumes, and the time of a copy, of a fork,
//! and of updates of placed pods while many matches are registered. It prints figures and fails when 100,000 pods need
//! more than 500 MB.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::model::objects::{pod as object, selectors};
use bayplan::model::{
    Change, LabelSelector, Labels, NodeId, Placement, PodInfo, PodMatch, Snapshot, Symbol, Want,
};
use bayplan::testing::node;
use serde_json::{Value, json};
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::memory;

const NODES: usize = 5_000;
const PODS: usize = 100_000;
const MATCHES: usize = 1_000;
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Makes a pod by number.
type Make = fn(usize) -> Value;

const SHAPES: [(&str, Make); 3] = [
    ("plain", plain),
    ("of a Deployment, with affinity and volumes", replica),
    ("of a StatefulSet, with affinity and a claim each", stateful),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, shape] = &arguments[..]
        && flag == "--bytes"
    {
        return println!("{}", bytes_per_pod(SHAPES[shape.parse::<usize>().unwrap()].1));
    }
    println!("size of PodInfo: {} bytes", size_of::<PodInfo>());
    for (at, (name, _)) in SHAPES.iter().enumerate() {
        // Each in a process of its own: memory that was given back would be used again.
        let mut measured = Command::new(std::env::current_exe().unwrap());
        let output = measured.args(["--bytes", &at.to_string()]).output().unwrap();
        let bytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        let all = bytes * PODS as u64;
        println!("bytes of a pod {name}: {bytes}, {PODS} pods: {} MB (target 500 MB)", all / 1_000_000);
        assert!(all < 500_000_000);
    }
    let mut snapshot = cluster(replica);
    times(&mut snapshot);
}

/// A running pod as a controller and the API server make it.
fn plain(at: usize) -> Value {
    let app = format!("app-{}", at % 500);
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/{app}/{name}:1.2.3"),
            "resources": { "requests": { "cpu": "250m", "memory": "300Mi" }, "limits": { "memory": "300Mi" } },
            "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
        })
    };
    let toleration = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    json!({
        "metadata": {
            "name": format!("{app}-6c8f7d9b5-{at:05x}"), "namespace": format!("team-{}", at % 20),
            "uid": format!("{at:08x}-58f0-4d7c-9c5e-1f2e3d4c5b6a"), "resourceVersion": (1_000_000 + at).to_string(),
            "labels": { "app": app, "pod-template-hash": "6c8f7d9b5", "tier": "web", "team": "shop" },
            "annotations": { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" },
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-6c8f7d9b5"),
                "uid": format!("{:08x}-0000-4d7c-9c5e-1f2e3d4c5b6a", at % 500), "controller": true }],
        },
        "spec": {
            "nodeName": format!("node-{:05}", at % NODES), "schedulerName": "default-scheduler",
            "containers": [container("main"), container("proxy")],
            "tolerations": [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
        },
        "status": { "phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
            { "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
        ] },
    })
}

fn replica(at: usize) -> Value {
    let mut pod = plain(at);
    let app = json!({ "matchLabels": { "app": format!("app-{}", at % 500) } });
    let zone = "topology.kubernetes.io/zone";
    let term = |key: &str| json!({ "topologyKey": key, "labelSelector": app });
    pod["spec"]["topologySpreadConstraints"] = json!([
        { "maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app,
          "matchLabelKeys": ["pod-template-hash"] },
        { "maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": app },
    ]);
    pod["spec"]["affinity"] = json!({
        "podAntiAffinity": { REQUIRED: [term("kubernetes.io/hostname")] },
        "podAffinity": { PREFERRED: [{ "weight": 10, "podAffinityTerm": term(zone) }] },
    });
    pod["spec"]["volumes"] = json!([
        { "name": "data", "persistentVolumeClaim": { "claimName": format!("shared-{}", at % 500) } },
        { "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } },
        { "name": format!("kube-api-access-{at:05x}"), "projected": { "sources": [{ "serviceAccountToken": {} }] } },
    ]);
    pod
}

fn stateful(at: usize) -> Value {
    let mut pod = replica(at);
    let name = format!("db-{}-{}", at % 500, at / 500);
    pod["metadata"]["name"] = json!(name);
    pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = json!(name);
    pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = json!((at / 500).to_string());
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = json!(format!("data-{name}"));
    pod
}

/// A pod as a watch reads it.
fn read(value: &Value) -> Arc<PodInfo> {
    let bytes = serde_json::to_vec(value).unwrap();
    let slim: object::Pod = serde_json::from_slice(&bytes).unwrap();
    Arc::new(PodInfo::from_object(&slim).unwrap())
}

fn cluster(make: Make) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for at in 0..NODES {
        let made = node(&format!("node-{at:05}")).cpu("64").memory("256Gi").zone(["a", "b", "c"][at % 3]);
        snapshot.apply(Change::NodeUpserted { node: made.build() });
    }
    for at in 0..PODS {
        snapshot.apply(Change::PodPlaced {
            pod: read(&make(at)),
            node: NodeId::from_row(at % NODES),
            how: Placement::Bound,
        });
    }
    snapshot
}

/// Resident memory of a snapshot with many pods.
fn bytes_per_pod(make: Make) -> u64 {
    let before = memory();
    let snapshot = cluster(make);
    let bytes = memory().saturating_sub(before) * 1_024 / PODS as u64;
    drop(snapshot);
    bytes
}

fn times(snapshot: &mut Snapshot) {
    let selector = |app: String| {
        let object = json!({ "matchLabels": { "app": app } });
        LabelSelector::parse(&serde_json::from_value::<selectors::LabelSelector>(object).unwrap()).unwrap()
    };
    let pods: Vec<(Arc<PodInfo>, NodeId)> = {
        let mut all: Vec<_> =
            snapshot.pods().map(|entry| (entry.pod.clone(), entry.placed.unwrap().0)).collect();
        all.sort_by(|a, b| a.0.key.cmp(&b.0.key));
        all.truncate(10_000);
        all
    };
    let many = |what: &str, each: &mut dyn FnMut(usize)| {
        let begin = Instant::now();
        (0..pods.len()).for_each(&mut *each);
        println!("{what}: {} ns", begin.elapsed().as_nanos() / pods.len() as u128);
    };
    many("copy of a pod", &mut |at| drop(black_box((*pods[at].0).clone())));
    many("fork of the snapshot", &mut |_| drop(black_box(snapshot.fork())));
    for registered in [0, MATCHES] {
        let wants: Vec<Want> = (0..registered)
            .map(|at| {
                let namespace = Symbol::from(format!("team-{}", at % 20));
                Want::Count(Arc::new(PodMatch::in_namespace(
                    &namespace,
                    [selector(format!("app-{}", at % 750))],
                )))
            })
            .collect();
        let begin = Instant::now();
        snapshot.want(&wants);
        if registered > 0 {
            println!("registration of a match: {} ns", begin.elapsed().as_nanos() / registered as u128);
        }
        let version = |change: &dyn Fn(&mut PodInfo)| -> Vec<Arc<PodInfo>> {
            let changed = |pod: &PodInfo| {
                let mut pod = pod.clone();
                change(&mut pod);
                Arc::new(pod)
            };
            pods.iter().map(|(pod, _)| changed(pod)).collect()
        };
        let relabelled = |pod: &mut PodInfo| {
            let labels = pod.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
            let extra = (Symbol::new("canary"), Symbol::from(registered.to_string()));
            pod.labels = labels.chain([extra]).collect::<Labels>();
        };
        let place = |snapshot: &mut Snapshot, to: &[Arc<PodInfo>], at: usize| {
            let change = Change::PodPlaced { pod: to[at].clone(), node: pods[at].1, how: Placement::Bound };
            snapshot.apply(change);
        };
        let of = |what: &str| format!("{what}, {registered} matches");
        let status = version(&|pod| pod.resource_version = format!("2{registered}").into());
        many(&of("update that nobody reads"), &mut |at| place(snapshot, &status, at));
        let phase = version(&|pod| pod.phase = Symbol::from(format!("Phase{registered}")));
        many(&of("update of the phase"), &mut |at| place(snapshot, &phase, at));
        let labels = version(&relabelled);
        many(&of("update of the labels"), &mut |at| place(snapshot, &labels, at));
        many(&of("removal and placement"), &mut |at| {
            snapshot.apply(Change::PodRemoved { pod: labels[at].key.clone() });
            place(snapshot, &labels, at);
        });
        let fork = snapshot.fork();
        let begin = Instant::now();
        snapshot.apply(Change::PodRemoved { pod: labels[0].key.clone() });
        place(snapshot, &labels, 0);
        println!("{}: {:?}", of("first change after a fork"), begin.elapsed());
        drop(fork);
        let (of_one, unknown) = (
            PodMatch::in_namespace(&pods[0].0.namespace, [selector("app-0".into())]),
            PodMatch::in_namespace(
                &pods[0].0.namespace,
                [selector("app-1".into()), selector("app-1".into())],
            ),
        );
        for (what, of_pods) in [("registered", of_one), ("not registered", unknown)] {
            let begin = Instant::now();
            let mut found = 0;
            for _ in 0..20 {
                snapshot.matching_pods(&of_pods, |_, pods| found += pods);
            }
            let took: Duration = begin.elapsed() / 20;
            println!("{}: {took:?} for {} pods", of(&format!("counts of a match, {what}")), found / 20);
        }
    }
}
