//! Measures how many bindings per second are left while the scheduler works off marks of `after bind` that it finds at
//! its start: `make bench-cluster`. `BAYPLAN_BENCH_MARKS` changes how many there are.

use crate::api_load::{merge, post};
use crate::bench_workloads::{Bench, ROWS, Row};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, control_plane::Options, objects, wait_until};
use crate::throughput_bench::{measure, size};
use bayplan::model::{MarkKey, PodKey};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Writes two keys of each bound pod: its own, and the end of the mark.
const POLICY: &str = "/// Writes the node's name after the binding.\npolicy named {\n  applies when pod.labels[\"app\"] == \"marked\"\n  \
    after bind { annotate pod {\"bench.example.com/node\": node.name} }\n}\n";
const MARK: &str = "after-bind.bayplan.dev/named";
/// The key that proves the marks.
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn marked(namespace: &str, number: usize, nodes: usize) -> Value {
    let mut pod = objects::pod(namespace, &format!("marked-{number}"), "bayplan", &[("cpu", "100m")]);
    pod["metadata"]["labels"] = json!({"app": "marked"});
    pod["spec"]["nodeName"] = json!(format!("node-{}", number % nodes));
    pod
}

/// Bindings per second, beside so many open marks.
fn rate(row: &Row, nodes: usize, pods: usize, marks: usize) -> f64 {
    let flags = ["--max-requests-inflight=3000", "--max-mutating-requests-inflight=1500"];
    let options = Options { api_server_flags: flags.map(str::to_owned).to_vec(), ..Options::default() };
    let bench = Bench::new(ControlPlane::start_with(options), row, "bayplan", nodes, pods);
    let path = format!("/api/v1/namespaces/{}/pods", bench.namespace);
    let of_marks = (0..marks).map(|number| post(&*path, &marked(&bench.namespace, number, nodes)));
    bench.client.all(32, of_marks);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"key": KEY},
        "metadata": {"name": "bayplan-marks", "namespace": bench.namespace},
    });
    bench.plane.create(&[secret]);
    let key = MarkKey::new(KEY.as_bytes()).unwrap();
    let list = bench.plane.get_json(["pods", "--namespace", &bench.namespace, "--selector", "app=marked"]);
    let of_proofs = list["items"].as_array().cloned().unwrap_or_default().into_iter().map(|pod| {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let uid = PodKey(text(&pod["metadata"]["uid"]).as_str().into());
        let proof = key.proof(&uid, &text(&pod["spec"]["nodeName"]).as_str().into(), "named");
        let patch = json!({"metadata": {"annotations": {MARK: proof}}});
        merge(format!("{path}/{}", text(&pod["metadata"]["name"])), &patch)
    });
    bench.client.all(32, of_proofs);
    let map =
        objects::config_map(&bench.namespace, "named", &[("bayplan.dev/policy", "")], &[("p.bay", POLICY)]);
    bench.plane.create(&[map]);
    let since = (Instant::now(), 0.0);
    let setup = Setup::new("bayplan").policies_from(&bench.namespace).flag("-v=0");
    let ours = SchedulerProcess::start(&bench.plane, &setup);
    let stop = AtomicBool::new(true);
    let figures = measure(&bench.plane, "bayplan", &ours.daemon, &ours.url(), since, pods, &stop);
    let placed = Instant::now();
    let open = || {
        let list =
            bench.plane.get_json(["pods", "--namespace", &bench.namespace, "--selector", "app=marked"]);
        let pods = list["items"].as_array().cloned().unwrap_or_default();
        pods.iter().filter(|pod| pod["metadata"]["annotations"][MARK].is_string()).count()
    };
    let left = open();
    wait_until("all marks are worked off", Duration::from_secs(300), || open() == 0);
    let (rate, more) = (pods as f64 / figures.seconds, placed.elapsed().as_secs_f64());
    println!(
        "{marks:>6} open marks: {rate:7.1} pods/s; {left} marks are left then, and none {more:.1} s later"
    );
    rate
}

#[test]
#[ignore = "takes minutes and needs a release build: make bench-cluster"]
fn bench_open_marks_at_a_restart() {
    let row = &ROWS[0];
    let (nodes, marks) = (size("BAYPLAN_BENCH_NODES", 5_000), size("BAYPLAN_BENCH_MARKS", 10_000));
    let pods = row.count(nodes, size("BAYPLAN_BENCH_PODS", row.pods));
    let (without, with) = (rate(row, nodes, pods, 0), rate(row, nodes, pods, marks));
    println!("with open marks {:.3} of the rate without; the target is 0.9", with / without);
}
