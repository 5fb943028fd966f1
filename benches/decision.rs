//! The time of one decision: all nodes examined, no verdict remembered. Sizes by
//! `BAYPLAN_BENCH_NODES` (`1000,5000,20000,100000`). Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Candidate, Cycle, Silent};
use bayplan::model::{Change, NodeId, Placement, PodInfo, PodKey, Snapshot, Symbol, Time, Want};
use bayplan::testing::{node, pod};
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

/// A preemption attempt: no node fits, and each has ten pods of lower priority.
fn preemption(c: &mut Criterion) {
    let framework = framework();
    let small = |name: &str| {
        let pod =
            pod(name).cpu("390m").memory("100Mi").set("status.startTime", json!("2026-01-01T00:00:00Z"));
        pod.phase("Running")
    };
    for size in sizes("5000") {
        let mut snapshot = Snapshot::default();
        for at in 0..size {
            let name = format!("n{at}");
            snapshot.apply(Change::NodeUpserted { node: node(&name).cpu("4").memory("8Gi").build() });
            let row = snapshot.node_by_name(&Symbol::new(&name)).unwrap();
            for pod in 0..10 {
                let pod = small(&format!("{name}-{pod}")).on(&name).build();
                snapshot.apply(Change::PodPlaced { pod, node: row, how: Placement::Bound });
            }
        }
        let preemptor = pod("high").cpu("1").priority(1_000).build();
        let mut scan = Scan::new();
        c.bench_with_input(BenchmarkId::new("preemption", size), &snapshot, |b, snapshot| {
            b.iter(|| {
                let mut cycle = Cycle::new(preemptor.clone(), framework.clone(), Time(0));
                let found = scan.filter(&mut cycle, snapshot, &mut Silent).unwrap();
                assert!(found.nodes.is_empty());
                let answer = framework.run_post_filter(&cycle, snapshot);
                assert!(Candidate::best(&answer.candidates, Time(0)).is_some());
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(2));
    targets = decisions, forks, preemption
}
criterion_main!(benches);
