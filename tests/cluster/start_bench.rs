//! Measures the start of a scheduler in a full cluster until it is ready, and checks that waiting
//! pods are then placed. `make bench-cluster`; `BAYPLAN_BENCH_NODES` and `BAYPLAN_BENCH_BOUND`
//! change the size.

use crate::api_load::{ApiClient, post};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::throughput_bench::size;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A pod as a Deployment makes it, with fields that a scheduler does not read.
fn bound(namespace: &str, number: usize, node: &str) -> Value {
    let mut pod = objects::pod(
        namespace,
        &format!("web-7d4b9c6f5d-{number:06}"),
        "bayplan",
        &[("cpu", "100m"), ("memory", "200Mi")],
    );
    pod["metadata"]["labels"] = json!({
        "app": format!("app-{}", number % 200), "pod-template-hash": "7d4b9c6f5d", "tier": "web", "team": "shop",
    });
    pod["metadata"]["annotations"] = json!({
        "prometheus.io/scrape": "true", "prometheus.io/port": "9090",
        "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
    });
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("web-{}", number % 200),
        "uid": format!("6f1d2c3b-0000-4000-8000-{:012}", number % 200), "controller": true, "blockOwnerDeletion": true,
    }]);
    pod["spec"]["nodeName"] = json!(node);
    let container = &mut pod["spec"]["containers"][0];
    container["env"] =
        (0..8).map(|i| json!({"name": format!("SETTING_{i}"), "value": "a value of some length"})).collect();
    container["ports"] = json!([{"containerPort": 8080, "name": "http", "protocol": "TCP"}]);
    for probe in ["readinessProbe", "livenessProbe"] {
        container[probe] = json!({"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10});
    }
    container["volumeMounts"] = json!([{"name": "config", "mountPath": "/etc/web"}]);
    pod["spec"]["volumes"] = json!([{"name": "config", "configMap": {"name": "web"}}]);
    pod["spec"]["tolerations"] = json!([
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    ]);
    pod
}

#[test]
#[ignore = "takes minutes and needs a release build: make bench-cluster"]
fn bench_start_in_a_full_cluster() {
    let flags = ["--max-requests-inflight=3000", "--max-mutating-requests-inflight=1500"];
    let options =
        crate::support::Options { api_server_flags: flags.map(str::to_owned).to_vec(), ..Default::default() };
    let plane = ControlPlane::start_with(options);
    let (nodes, pods) = (size("BAYPLAN_BENCH_NODES", 5_000), size("BAYPLAN_BENCH_BOUND", 100_000));
    let client = ApiClient::new(&plane);
    let room = [("cpu", "32"), ("memory", "128Gi"), ("pods", "110")];
    client.all(32, (0..nodes).map(|i| post("/api/v1/nodes", &objects::node(&format!("node-{i}"), &room))));
    let namespace = plane.create_namespace("full");
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let since = Instant::now();
    client.all(64, (0..pods).map(|i| post(&*path, &bound(&namespace, i, &format!("node-{}", i % nodes)))));
    println!("{nodes} nodes, {pods} pods made in {:.0} s", since.elapsed().as_secs_f64());
    let waiting = |i| objects::pod(&namespace, &format!("waiting-{i}"), "bayplan", &[("cpu", "100m")]);
    client.all(8, (0..5).map(|i| post(&*path, &waiting(i))));

    for _ in 0..size("BAYPLAN_BENCH_STARTS", 3) {
        let since = Instant::now();
        let ours = SchedulerProcess::start(&plane, &Setup::new("bayplan").flag("-v=0"));
        let (seconds, cpu) = (since.elapsed().as_secs_f64(), ours.daemon.cpu_seconds().unwrap());
        let (now, peak) = ours.daemon.memory_kib().unwrap();
        println!(
            "ready after {seconds:.1} s, {cpu:.2} CPU s, {} MiB at most, {} MiB now",
            peak / 1024,
            now / 1024
        );
        wait_until("the waiting pods are bound", Duration::from_secs(30), || {
            (0..5).all(|i| plane.node_of(&namespace, &format!("waiting-{i}")).is_some())
        });
        let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
        let known = format!("scheduler_cache_size{{type=\"pods\"}} {}", pods + 5);
        assert!(metrics.lines().any(|line| line == known), "{known} is not in the metrics");
    }
}
