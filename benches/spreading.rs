//! The time of one decision that looks at other pods or at volumes: spreading, pod affinity and claims, at 5,000 nodes with 50,000 running
//! pods. Sizes by `BAYPLAN_BENCH_NODES`. Prints its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::Scan;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use support::crowd::{Crowd, KINDS};
use support::{decide, framework, sizes};

fn decisions(c: &mut Criterion) {
    let framework = framework();
    for size in sizes("5000") {
        for kind in KINDS {
            let crowd = Crowd::new(kind, size, &framework);
            let mut scan = Scan::new();
            let mut next = 0;
            c.bench_with_input(BenchmarkId::new(kind, size), &crowd, |b, crowd| {
                b.iter(|| {
                    next += 1;
                    decide(&mut scan, &crowd.pods[next % crowd.pods.len()], &framework, &crowd.snapshot);
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
