//! The time of one decision with each policy of the library alone, at 1,000 and 5,000 nodes: the columns of
//! `policies/README.md`. CPU times of this thread; the median of some rounds. `BAYPLAN_BENCH_ROWS` chooses policies by a
//! part of their names. Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::Scan;
use bayplan::framework::Framework;
use bayplan::model::{Change, NodeId, Placement, PodInfo, PodKey, Snapshot, Symbol, Want};
use bayplan::testing::{PodMaker, Random, node, pod};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{decide, policy, scoring};

/// Rounds of a policy; the median counts.
const ROUNDS: usize = 9;
/// CPU time of one round in microseconds, about.
const ENOUGH: f64 = 20_000.0;

/// Nodes of several shapes with what the policies read: labels, annotations, images and GPUs.
fn nodes(number: usize) -> Vec<Arc<bayplan::model::Node>> {
    let of = |at: usize| {
        let gpus = [0, 2, 4, 8][at % 4];
        let mut maker = node(&format!("node-{at:06}"))
            .cpu(["16", "32", "64", "96"][at % 4])
            .memory(["64Gi", "128Gi", "256Gi"][at % 3])
            .zone(["a", "b", "c"][at % 3])
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
fn new_pod(name: &str) -> PodMaker {
    pod(name)
        .cpu("2")
        .memory("4Gi")
        .request("nvidia.com/gpu", "1")
        .label("app", "web")
        .label("job", "train")
        .label("spot", "allowed")
        .label("workload", "batch")
        .annotation("job-size", "4")
        .annotation("data.example.com/nodes", "node-000001,node-000007")
        .annotation("example.com/prepulled-only", "true")
        .set("spec.containers.0.image", json!("image-7:1"))
}

/// A cluster with 20 pods for each node on average, of which one in five has a share of a GPU.
fn cluster(number: usize, framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    nodes(number).into_iter().for_each(|node| snapshot.apply(Change::NodeUpserted { node }));
    let mut random = Random(7);
    let plain: Vec<Arc<PodInfo>> = (0..20)
        .map(|i| {
            let maker =
                pod("running").cpu(&format!("{}m", 50 + 31 * i)).memory(&format!("{}Mi", 100 + 61 * i));
            maker.label("app", &format!("app-{i}")).build()
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
    for at in 0..2 {
        let (pod, node) = (new_pod(&format!("member-{at}")).build(), NodeId::from_row(at * 5 + 3));
        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
    }
    for key in framework.plugins().iter().flat_map(|plugin| plugin.reads().label_keys) {
        snapshot.want(&[Want::Label(key)]);
    }
    snapshot
}

/// CPU time of this thread in microseconds.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Microseconds of one decision.
fn decision(text: &str, number: usize) -> f64 {
    let framework = scoring(policy(text));
    let snapshot = cluster(number, &framework);
    let pods: Vec<_> = (0..20).map(|at| new_pod(&format!("new-{at}")).build()).collect();
    let (mut scan, mut next) = (Scan::new(), 0);
    let mut measure = |times: usize| {
        let begin = cpu_time();
        for _ in 0..times {
            next += 1;
            decide(&mut scan, &pods[next % pods.len()], &framework, &snapshot);
        }
        (cpu_time() - begin) / times as f64
    };
    let times = ((ENOUGH / measure(2)) as usize).clamp(1, 2_000);
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| measure(times)).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// With two digits, as the README has it.
fn shown(microseconds: f64) -> String {
    let (number, unit) =
        if microseconds < 1_000.0 { (microseconds, "µs") } else { (microseconds / 1_000.0, "ms") };
    if number < 10.0 { format!("{number:.1} {unit}") } else { format!("{number:.0} {unit}") }
}

fn policies(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            policies(&path, found);
        } else if path.extension().is_some_and(|of| of == "bay") {
            found.push(path);
        }
    }
}

fn main() {
    let chosen = std::env::var("BAYPLAN_BENCH_ROWS").unwrap_or_default();
    let mut found = Vec::new();
    policies(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policies"), &mut found);
    found.sort();
    println!("one decision with a policy alone; 20 pods for each node");
    println!("{:<28} {:>12} {:>12}", "policy", "1,000 nodes", "5,000 nodes");
    println!("{:<28} {:>12} {:>12}", "(none)", shown(decision(EMPTY, 1_000)), shown(decision(EMPTY, 5_000)));
    for path in found {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name.contains(&chosen) {
            let text = std::fs::read_to_string(&path).unwrap();
            println!(
                "{name:<28} {:>12} {:>12}",
                shown(decision(&text, 1_000)),
                shown(decision(&text, 5_000))
            );
        }
    }
}

/// A policy that concerns no pod: what a decision takes without rules.
const EMPTY: &str = "/// Concerns no pod.\npolicy none {\n  applies when pod.namespace == \"nowhere\"\n  prefer 1 when node.ready\n}\n";
