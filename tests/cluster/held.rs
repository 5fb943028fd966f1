//! What the API server shows of pods that only policies keep waiting: reason `HeldByPolicy`, which
//! node autoscalers leave alone.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const POLICY: &str = r#"
policy doors {
  gate "the door is closed" when pod.labels["door"] == "closed"
  filter size { reject "too big for us" when pod.requests.cpu >= 3cpu }
  filter heat { reject "too hot" when node.labels["heat"] == "hot" && pod.labels["cold"] == "yes" }
}
"#;
const PAIRS: &str = r#"
policy pairs {
  group members = p in pods where p.namespace == pod.namespace && p.labels["pair"] == pod.labels["pair"]
  applies when has(pod.labels["pair"])
  permit { wait 10min for members until members.count(m, m.placed) >= 2 else "no pair" }
}
"#;

/// Status, reason and message of the condition PodScheduled.
fn scheduled(load: &Workload<'_>, pod: &str) -> (String, String, String) {
    let pod = load.plane.get_json(["pod", pod, "--namespace", &load.namespace]);
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|it| it["type"] == "PodScheduled").unwrap_or_default();
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn with_reason(load: &Workload<'_>, pod: &str, reason: &str) -> String {
    wait_until(&format!("{pod} has the reason {reason}"), SOON, || scheduled(load, pod).1 == reason);
    let (status, _, message) = scheduled(load, pod);
    assert_eq!(status, "False");
    message
}

fn labelled(load: &Workload<'_>, name: &str, key: &str, value: &str) -> Value {
    objects::with_label(load.pod(name, "10m"), key, value)
}

#[test]
fn pods_that_only_policies_hold_say_so_and_pods_of_scheduling_gates_do_not() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "held", 1);
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "heat=hot"]);
    let policy = objects::config_map(
        &load.namespace,
        "doors",
        &[("bayplan.dev/policy", "")],
        &[("doors.bay", POLICY), ("pairs.bay", PAIRS)],
    );
    plane.create(&[policy]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    wait_until("the policy serves", SOON, || {
        let object = plane.get_json(["configmap", "doors", "--namespace", &load.namespace]);
        object["metadata"]["annotations"]["bayplan.dev/verdict"] == "Serving"
    });
    let mut gated = labelled(&load, "gated", "door", "closed");
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    plane.create(&[
        gated,
        labelled(&load, "closed", "door", "closed"),
        load.pod("big", "3"),
        objects::with_label(labelled(&load, "half", "door", "closed"), "pair", "yes"),
        labelled(&load, "cold", "cold", "yes"),
    ]);
    assert_eq!(with_reason(&load, "closed", "HeldByPolicy"), "the door is closed");
    let message = with_reason(&load, "big", "HeldByPolicy");
    assert!(message.contains("too big for us"), "{message}");
    // A new node could pass this one.
    with_reason(&load, "cold", "Unschedulable");
    // The pod with a scheduling gate has waited as long as the other one.
    assert_eq!(scheduled(&load, "gated").1, "SchedulingGated");

    let open = |pod: &str| plane.kubectl_ok(["label", "pod", pod, "--namespace", &load.namespace, "door-"]);
    open("closed");
    wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, "closed").is_some());
    let (status, reason, message) = scheduled(&load, "closed");
    assert_eq!((status.as_str(), reason.as_str(), message.as_str()), ("True", "", ""));
    // The pod has a node and waits for another pod at Permit: no condition says that it is held.
    with_reason(&load, "half", "HeldByPolicy");
    open("half");
    wait_until("the condition is gone", SOON, || scheduled(&load, "half").0.is_empty());
    let half = plane.get_json(["pod", "half", "--namespace", &load.namespace]);
    assert!(half["status"]["nominatedNodeName"].is_string() && half["spec"]["nodeName"].is_null(), "{half}");
    // Without its scheduling gate the policy holds the other pod.
    let remove = r#"{"spec": {"schedulingGates": null}}"#;
    plane.kubectl_ok(["patch", "pod", "gated", "--namespace", &load.namespace, "--type=merge", "-p", remove]);
    assert_eq!(with_reason(&load, "gated", "HeldByPolicy"), "the door is closed");
    open("gated");
    wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, "gated").is_some());
}
