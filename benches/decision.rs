//! The time of one decision: all nodes examined, no verdict remembered. Sizes by
//! `BAYPLAN_BENCH_NODES` (`1000,5000,20000,100000`). Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::Scan;
use bayplan::model::{PodInfo, Symbol, Want};
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

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(2));
    targets = decisions
}
criterion_main!(benches);
