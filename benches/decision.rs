//! The time of one decision: all nodes examined, no verdict remembered. Sizes by `BAYPLAN_BENCH_NODES`
//! (`1000,5000,20000,100000`). Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use bayplan::engine::{Decider, Scan, TieBreak};
use bayplan::framework::{Cycle, Framework, Instances, Profile, Silent};
use bayplan::model::{Change, Node, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan::plugins;
use bayplan::testing::{node, pod};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;

fn framework() -> Arc<Framework> {
    let profile = Profile::new("default-scheduler");
    Arc::new(profile.build(&plugins::registry(), &mut Instances::default()).unwrap())
}

fn cluster(nodes: usize, framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    let shapes: Vec<Arc<Node>> = (0..60)
        .map(|i: usize| {
            let mut maker = node("shape")
                .cpu(["8", "16", "32", "64"][i % 4])
                .memory(["32Gi", "64Gi", "128Gi"][i % 3])
                .zone(["a", "b", "c"][i % 3])
                .label("tier", ["gold", "silver"][i % 2]);
            if i % 10 == 0 {
                maker = maker.taint("dedicated", "batch", "NoSchedule");
            }
            if i % 7 == 0 {
                maker = maker.taint("busy", "", "PreferNoSchedule");
            }
            let images: Vec<_> = (0..20)
                .map(|image| json!({"names": [format!("image-{}:1", image + i % 5)], "sizeBytes": 200_000_000}))
                .collect();
            maker.set("status.images", json!(images)).build()
        })
        .collect();
    let running: Vec<Arc<PodInfo>> = (0..20)
        .map(|i| {
            pod("running").cpu(&format!("{}m", 100 + 37 * i)).memory(&format!("{}Mi", 100 + 61 * i)).build()
        })
        .collect();
    for at in 0..nodes {
        let mut one = (*shapes[at * 31 % shapes.len()]).clone();
        one.name = Symbol::from(format!("node-{at:06}"));
        snapshot.apply(Change::NodeUpserted { node: Arc::new(one) });
        let row = snapshot.row_by_name(&Symbol::from(format!("node-{at:06}"))).unwrap();
        for which in 0..at % 11 {
            let mut one = (*running[(at * 7 + which * 3) % running.len()]).clone();
            one.key = PodKey(Symbol::from(format!("{at}/{which}")));
            snapshot.apply(Change::PodPlaced { pod: Arc::new(one), node: row, how: Placement::Bound });
        }
    }
    snapshot
}

fn decide(scan: &mut Scan, pod: &Arc<PodInfo>, framework: &Arc<Framework>, snapshot: &Snapshot) {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    let feasible = scan.filter(&mut cycle, snapshot, &mut Silent).unwrap();
    scan.score(&mut cycle, &feasible, snapshot, &mut Silent).unwrap();
    let chosen = scan.select(&cycle, &feasible, snapshot, &[], TieBreak::Seeded, 7, &mut Silent);
    black_box(chosen);
}

fn decisions(c: &mut Criterion) {
    let sizes =
        std::env::var("BAYPLAN_BENCH_NODES").unwrap_or_else(|_| String::from("1000,5000,20000,100000"));
    let framework = framework();
    let plain = |i: usize| {
        pod("new")
            .cpu(&format!("{}m", 250 + 10 * i))
            .memory(&format!("{}Mi", 300 + 7 * i))
            .set("spec.containers.0.image", json!("image-7:1"))
    };
    let kinds: Vec<(&str, Vec<Arc<PodInfo>>)> = vec![
        ("plain", (0..50).map(|i| plain(i).build()).collect()),
        (
            "selector and tolerations",
            (0..50)
                .map(|i| {
                    plain(i)
                        .set("spec.nodeSelector", json!({"tier": "gold"}))
                        .set("spec.tolerations", json!([{"key": "dedicated", "operator": "Exists"}]))
                        .build()
                })
                .collect(),
        ),
        ("fits nowhere", (0..50).map(|i| plain(i).cpu("200").build()).collect()),
    ];
    for size in sizes.split(',').filter_map(|size| size.trim().parse::<usize>().ok()) {
        let mut snapshot = cluster(size, &framework);
        snapshot.want_label(&Symbol::new("tier"));
        for (name, pods) in &kinds {
            let mut scan = Scan::new();
            let mut next = 0;
            c.bench_with_input(BenchmarkId::new(*name, size), &snapshot, |b, snapshot| {
                b.iter(|| {
                    next += 1;
                    decide(&mut scan, &pods[next % pods.len()], &framework, snapshot);
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(2));
    targets = decisions
}
criterion_main!(benches);
