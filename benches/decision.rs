//! The time of one decision: all nodes examined, no verdict remembered. Sizes by
//! `BAYPLAN_BENCH_NODES` (`1000,5000,20000,100000`). Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::Scan;
use bayplan::model::{Change, NodeId, Placement, PodInfo, PodKey, Symbol, Want};
use bayplan::testing::pod;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use std::sync::Arc;
use support::{cluster, decide, framework, sizes};

fn decisions(c: &mut Criterion) {
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
    for size in sizes("1000,5000,20000,100000") {
        let mut snapshot = cluster(size, &framework);
        snapshot.want(&[Want::Label(Symbol::new("tier"))]);
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

/// The fork that an attempt decides on while it waits for extenders, of 5,000 nodes with 100,000 pods, and the first
/// writes after it: what the cluster shares with the fork is copied then, piece by piece.
fn forks(c: &mut Criterion) {
    let framework = framework();
    let mut snapshot = cluster(5_000, &framework);
    for at in 0..100_000 - snapshot.pod_count() {
        let mut one = (*pod("more").cpu("10m").build()).clone();
        one.key = PodKey(Symbol::from(format!("more/{at}")));
        let node = NodeId::from_row(at % 5_000);
        snapshot.apply(Change::PodPlaced { pod: Arc::new(one), node, how: Placement::Bound });
    }
    c.bench_function("fork", |b| b.iter(|| snapshot.fork()));
    let mut row = 0;
    c.bench_function("fork and ten placed pods", |b| {
        b.iter(|| {
            let fork = snapshot.fork();
            for _ in 0..10 {
                row = (row + 7) % 5_000;
                let mut one = (*pod("new").cpu("10m").build()).clone();
                one.key = PodKey(Symbol::from(format!("new/{}", row % 100)));
                let (pod, node) = (Arc::new(one), NodeId::from_row(row));
                snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            }
            fork
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(2));
    targets = decisions, forks
}
criterion_main!(benches);
