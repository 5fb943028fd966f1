//! The time of a rule: compiling it, and asking all nodes, by closures over columns (no verdict
//! remembered) and by the reference evaluator. Sizes by `BAYPLAN_BENCH_NODES`. Prints its figures
//! and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Cycle, Silent};
use bayplan::model::{Time, Want};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use support::{FOUR_TERMS, cluster, only, policy, sizes, small_pod};

fn compiling(c: &mut Criterion) {
    c.bench_function("compile a policy of one rule with four terms", |b| {
        b.iter(|| black_box(policy(FOUR_TERMS)))
    });
}

fn asking(c: &mut Criterion) {
    let framework = only(policy(FOUR_TERMS));
    let pods: Vec<_> = (0..50).map(small_pod).collect();
    for size in sizes("1000,5000,20000,100000") {
        let mut snapshot = cluster(size, &framework);
        for key in framework.plugins().iter().flat_map(|plugin| plugin.reads().label_keys) {
            snapshot.want(&[Want::Label(key)]);
        }
        let mut scan = Scan::new();
        let mut next = 0;
        c.bench_with_input(
            BenchmarkId::new("one rule of four terms, all nodes", size),
            &snapshot,
            |b, snapshot| {
                b.iter(|| {
                    next += 1;
                    let mut cycle = Cycle::new(pods[next % pods.len()].clone(), framework.clone(), Time(0));
                    black_box(scan.filter(&mut cycle, snapshot, &mut Silent).unwrap());
                });
            },
        );
        let filter = framework.plugins()[0].filter().unwrap();
        c.bench_with_input(BenchmarkId::new("the same, node by node", size), &snapshot, |b, snapshot| {
            let mut cycle = Cycle::new(pods[0].clone(), framework.clone(), Time(0));
            framework.run_pre_filter(&mut cycle, snapshot, &mut Silent).unwrap();
            let handle = cycle.handle(snapshot).for_plugin(bayplan::framework::PluginId(0));
            b.iter(|| snapshot.nodes().filter(|node| filter.filter(&handle, *node).is_ok()).count());
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(2));
    targets = compiling, asking
}
criterion_main!(benches);
