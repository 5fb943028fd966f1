//! The most devices of a claim, and the time-out.

use super::{Cluster, both, plain, request, same, some};
use bayplan_model::{Duration, KubernetesVersion};
use serde_json::json;

fn devices(count: usize) -> Vec<serde_json::Value> {
    let names: Vec<String> = (0..count).map(|at| format!("d{at:03}")).collect();
    plain(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_claim_has_at_most_32_devices() {
    let all = request("r", json!({"allocationMode": "All"}));
    for r in [some("r", 33), all] {
        both(
            [
                "claim ns/x: number of requested devices 33 exceeds the claim limit of 32",
                "claim ns/x, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
            ],
            |c| c.pool("p", devices(33)).requests(vec![r.clone()]),
        );
    }
    both(
        [
            "claim ns/x: number of requested devices 40 exceeds the claim limit of 32",
            "claim ns/x, request r1: adding 20 devices exceeds the claim limit of 32, with 20 already accounted for",
        ],
        |c| c.pool("p", devices(40)).requests(vec![some("r0", 20), some("r1", 20)]),
    );
    let incomplete = json!({"pool": {"resourceSliceCount": 2}});
    both(
        [
            "claim ns/x, request r1: asks for all devices, but resource pool d.ex/p is currently being updated",
            "claim ns/x, request r0: adding 40 devices exceeds the claim limit of 32, with 0 already accounted for",
        ],
        |c| {
            let all = request("r1", json!({"allocationMode": "All"}));
            c.slice("s", "p", devices(1), incomplete.clone()).requests(vec![some("r0", 40), all])
        },
    );
}

#[test]
fn counts_that_overflow_are_refused() {
    for version in KubernetesVersion::ALL {
        let cluster = Cluster::new(version).requests(vec![some("r0", i64::MAX), some("r1", i64::MAX)]);
        assert!(cluster.on("N1").contains("exceeds the claim limit of 32"), "{version}");
    }
}

/// 21 of 20 devices take 2^20 steps.
#[test]
fn a_search_ends_in_time() {
    for version in KubernetesVersion::ALL {
        let mut cluster = Cluster::new(version)
            .pool("p", devices(20))
            .slice("q", "q", devices(21), json!({"nodeName": "N2"}))
            .requests(vec![some("r", 21)]);
        cluster.timeout = Duration::from_millis(10);
        cluster.says("timed out");
        assert!(cluster.on("N2").starts_with("x r q/d000, "));
        cluster.timeout = Duration::from_seconds(10);
        cluster.says("fails");
        cluster.timeout = Duration::ZERO;
        cluster.says("fails");
    }
}

/// The way of a search is as long as claims have devices, and uses no stack.
#[test]
fn many_claims_are_searched_without_recursion() {
    same("", |c| (0..256).fold(c.pool("p", devices(1)), |c, at| c.claim(&format!("c{at}"), json!({}))));
    for version in KubernetesVersion::ALL {
        let spec = json!({"requests": (0..8).map(|at| some(&format!("r{at}"), 1)).collect::<Vec<_>>()});
        let cluster = Cluster::new(version).pool("p", devices(128 * 8));
        let cluster = (0..128).fold(cluster, |c, at| c.claim(&format!("c{at}"), spec.clone()));
        assert_eq!(cluster.on("N1").split(", ").count(), 128 * 8);
    }
}
