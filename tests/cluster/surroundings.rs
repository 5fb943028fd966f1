//! What happens around decisions on a real API server, in metrics and events: another scheduler binds to nodes that we
//! fill, a kubelet refuses what we bound, a policy alone keeps a pod waiting; and how long rules take.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const POLICY: &str = r#"policy rooms {
  applies when pod.labels["careful"] == "yes"
  gate "early" when pod.labels["early"] == "yes"
  filter closed {
    reject "closed" when pod.labels["kept"] == "yes" && !node.unschedulable
  }
  permit { reject "late" when pod.labels["late"] == "yes" }
}
"#;

#[test]
fn what_others_do_is_counted_and_told() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "around", 1);
    let space = load.namespace.as_str();
    let labels = [("bayplan.dev/policy", "")];
    plane.create(&[objects::config_map(space, "rooms", &labels, &[("policy.bay", POLICY)])]);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
    let sample = |name: &str| {
        let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
        let of = |line: &str| line.strip_prefix(name)?.trim().parse::<f64>().ok();
        metrics.lines().find_map(of).unwrap_or_default()
    };
    let careful = |name: &str| objects::with_label(load.pod(name, "1m"), "careful", "yes");

    // One attempt in ten is timed; the choice is the same in every run.
    plane.create(&(0..60).map(|at| careful(&format!("p{at}"))).collect::<Vec<Value>>());
    load.wait_bound(60, SOON);
    for (rule, point) in
        [("gate", "PreEnqueue"), ("closed", "Filter"), ("applies when", "PreFilter"), ("permit", "Permit")]
    {
        let rule =
            format!("bayplan_rule_seconds_count{{policy=\"rooms\",rule=\"{rule}\",point=\"{point}\"}}");
        let timed = sample(&rule);
        assert!((1.0..30.0).contains(&timed), "{rule} {timed}");
    }

    plane.create(&[objects::with_label(careful("kept"), "kept", "yes")]);
    wait_until("the policy alone keeps it waiting", SOON, || sample("bayplan_autoscaler_blind_pods") == 1.0);
    wait_until("it has waited", SOON, || {
        sample("bayplan_oldest_waiting_seconds{queue=\"unschedulable\"}") > 0.5
    });
    assert_eq!(sample("bayplan_oldest_waiting_seconds{queue=\"active\"}"), 0.0);

    let node = plane.node_of(space, "p0").expect("its node");
    let mut foreign = objects::pod(space, "foreign", "someone-else", &[("cpu", "1m")]);
    foreign["spec"]["nodeName"] = json!(node);
    plane.create(&[foreign]);
    let bindings = "bayplan_foreign_bindings_total{scheduler=\"someone-else\"}";
    wait_until("the binding of another scheduler is seen", SOON, || sample(bindings) == 1.0);

    let message = "Node didn't have enough resource: cpu, requested: 1, used: 4000, capacity: 4000";
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let status = json!({"phase": "Failed", "reason": "OutOfcpu", "message": message, "startTime": started});
    plane.patch_status(space, "pod/p1", &json!({ "status": status }));
    let refused = "bayplan_bound_but_refused_total{reason=\"OutOfcpu\"}";
    wait_until("the refusal is seen", SOON, || sample(refused) == 1.0);
    let told = || {
        let events = plane.events_about(space, "p1").into_iter();
        events.filter(|event| event["reason"] == "NodeRefused").collect::<Vec<Value>>()
    };
    wait_until("the owner of the pod is told", SOON, || !told().is_empty());
    let note = format!(
        "node {node} refused the pod after it was bound: OutOfcpu; pods there that others placed: 1 (someone-else)"
    );
    assert_eq!((&told()[0]["type"], &told()[0]["note"]), (&json!("Warning"), &json!(note)));
    assert_eq!(sample("bayplan_preemption_futile_total"), 0.0);
    the_refused_pod_is_explained(plane, space, &node);
}

/// `explain` finds the pod, which is in no list of pods that run, and names what others placed on its node.
fn the_refused_pod_is_explained(plane: &ControlPlane, space: &str, node: &str) {
    let explain = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
            .args(["explain", "p1", "--namespace", space, "--policy-namespaces", space, "--kubeconfig"])
            .arg(plane.kubeconfig())
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = explain(&[]);
    let verdict = format!("{space}/p1 was bound to {node}, and the kubelet there refused it: OutOfcpu\n");
    assert!(text.starts_with(&verdict) && text.contains("requested: 1, used: 4000"), "{text}");
    assert!(text.contains(&format!("{space}/foreign")) && text.contains("someone-else"), "{text}");
    assert!(text.contains("bayplan doctor --kubeconfig"), "{text}");
    let told: Value = serde_json::from_str(&explain(&["-o", "json"])).unwrap();
    assert_eq!(told["state"], "refusedByKubelet", "{told:#}");
    let beside = told["finished"]["beside"].as_array().unwrap();
    let foreign = beside.iter().find(|of| of["pod"] == format!("{space}/foreign").as_str());
    assert_eq!(foreign.unwrap()["placedBy"], "someone-else", "{told:#}");
}
