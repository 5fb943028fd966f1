//! Pods with amounts that the API server takes and 64 bits do not hold: they take their room.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

/// The message of the condition PodScheduled, if it is `False`.
fn refused(load: &Workload<'_>, pod: &str) -> String {
    let pod = load.plane.get_json(["pod", pod, "--namespace", &load.namespace]);
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|it| it["type"] == "PodScheduled" && it["status"] == "False");
    found.and_then(|found| found["message"].as_str().map(str::to_owned)).unwrap_or_default()
}

#[test]
fn a_pod_with_a_limit_beyond_64_bits_takes_its_room_also_after_a_restart() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "unreadable", 1);
    let node = format!("{}-0", load.namespace);
    let of_node = plane.get_json(["node", &node]);
    let cores: i64 = of_node["status"]["allocatable"]["cpu"].as_str().unwrap().parse().unwrap();
    let mut odd = load.pod("odd", &(cores - 1).to_string());
    odd["spec"]["nodeName"] = json!(node);
    odd["spec"]["containers"][0]["resources"]["limits"] = json!({"cpu": "1e16"});
    plane.create(&[odd]);
    let first = SchedulerProcess::start(plane, &Setup::new(&load.scheduler));
    let pending = |name: &str, limit: Option<&str>| -> Value {
        let mut pod = load.pod(name, "2");
        if let Some(limit) = limit {
            pod["spec"]["containers"][0]["resources"]["limits"] = json!({"cpu": limit});
        }
        pod
    };
    plane.create(&[pending("web", None), pending("limited", Some("1e16"))]);
    for pod in ["web", "limited"] {
        wait_until(&format!("{pod} waits for room"), SOON, || {
            refused(&load, pod).contains("Insufficient cpu")
        });
    }
    assert!(!first.said().contains("left out"), "{}", first.said());
    // The list of a new process has the pod, too.
    drop(first);
    let _second = SchedulerProcess::start(plane, &Setup::new(&load.scheduler));
    plane.create(&[pending("later", None)]);
    wait_until("later waits for room", SOON, || refused(&load, "later").contains("Insufficient cpu"));
    for pod in ["web", "later", "odd"] {
        plane.kubectl_ok([
            "delete",
            "pod",
            pod,
            "--namespace",
            &load.namespace,
            "--force",
            "--grace-period=0",
        ]);
    }
    wait_until("the limited pod is placed", SOON, || {
        let pod = plane.get_json(["pod", "limited", "--namespace", &load.namespace]);
        pod["spec"]["nodeName"] == node.as_str()
    });
}
