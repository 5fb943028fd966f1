//! What happens around decisions on a real API server, in metrics and events: another scheduler binds to nodes that we
//! fill, a kubelet refuses what we bound, a policy alone keeps a pod waiting; and how long rules take.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const POLICY: &str = "policy rooms {\n  applies when pod.labels[\"careful\"] == \"yes\"\n  filter closed {\n    reject \
                      \"closed\" when pod.labels[\"kept\"] == \"yes\" && !node.unschedulable\n  }\n}\n";

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
    for (rule, point) in [("closed", "Filter"), ("applies when", "PreFilter")] {
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

    plane.patch_status(space, "pod/p1", &json!({"status": {"phase": "Failed", "reason": "OutOfcpu"}}));
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
}
