//! The plugins of the tutorial as policies in ConfigMaps, on a cluster without other objects, so
//! that events can be compared word for word.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::binaries::{as_said, kubernetes};
use crate::support::{ControlPlane, objects, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const LABEL: &str = "priority.lixueduan.com";

fn policy(namespace: &str, name: &str, text: &str) -> Value {
    let key = format!("{name}.bay");
    objects::config_map(namespace, name, &[("bayplan.dev/policy", "")], &[(&key, text)])
}

#[track_caller]
fn wait_bound(plane: &ControlPlane, pod: &str) -> String {
    wait_until(&format!("`{pod}` is bound"), SOON, || plane.node_of("default", pod).is_some());
    plane.node_of("default", pod).unwrap()
}

#[test]
fn the_label_plugin_decides_and_its_events_are_those_of_the_tutorial() {
    let plane = ControlPlane::start();
    let policies = plane.create_namespace("policies");
    plane.create(&[policy(
        &policies,
        "label-priority",
        include_str!("../../policies/tutorial/label-priority.bay"),
    )]);
    let room = [("cpu", "8"), ("memory", "16Gi")];
    plane.create(&[objects::node("scheduler-1", &room), objects::node("scheduler-2", &room)]);
    let ours = SchedulerProcess::start(&plane, &Setup::new("i-scheduler").policies_from(&policies));

    plane.create(&[objects::pod("default", "first", "i-scheduler", &[("cpu", "10m")])]);
    wait_until("the event", SOON, || !plane.events_about("default", "first").is_empty());
    let event = plane.events_about("default", "first").remove(0);
    assert_eq!(
        event["note"],
        as_said(
            "0/2 nodes are available: 1 Node:Node: scheduler-1 does not have label priority.lixueduan.com, 1 \
             Node:Node: scheduler-2 does not have label priority.lixueduan.com. preemption: 0/2 nodes are available: 2 \
             No preemption victims found for incoming pod."
        )
    );
    assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("FailedScheduling")));
    assert_eq!(
        (&event["reportingController"], &event["action"]),
        (&json!("i-scheduler"), &json!("Scheduling"))
    );
    let condition = || {
        let pod = plane.get_json(["pod", "first"]);
        let all = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|it| it["type"] == "PodScheduled").unwrap_or_default()
    };
    wait_until("the condition", SOON, || condition()["status"] == "False");
    assert_eq!((&condition()["reason"], &condition()["message"]), (&json!("Unschedulable"), &event["note"]));
    assert!(condition()["lastTransitionTime"].is_string(), "{}", condition());
    assert_eq!(condition()["observedGeneration"], plane.get_json(["pod", "first"])["metadata"]["generation"]);

    plane.kubectl_ok(["label", "node", "scheduler-1", &format!("{LABEL}=10")]);
    assert_eq!(wait_bound(&plane, "first"), "scheduler-1", "bound without being created again");
    wait_until("the event of the binding", SOON, || {
        plane.events_about("default", "first").iter().any(|event| event["reason"] == "Scheduled")
    });
    let events = plane.events_about("default", "first");
    let bound = events.iter().find(|event| event["reason"] == "Scheduled").unwrap();
    assert_eq!(bound["note"], "Successfully assigned default/first to scheduler-1");
    assert_eq!((&bound["type"], &bound["action"]), (&json!("Normal"), &json!("Binding")));
    assert_eq!(condition()["status"], "True");

    plane.kubectl_ok(["label", "node", "scheduler-2", &format!("{LABEL}=20")]);
    plane.create(&[objects::pod("default", "second", "i-scheduler", &[("cpu", "10m")])]);
    assert_eq!(wait_bound(&plane, "second"), "scheduler-2");
    plane.kubectl_ok(["label", "--overwrite", "node", "scheduler-1", &format!("{LABEL}=30")]);
    plane.create(&[objects::pod("default", "third", "i-scheduler", &[("cpu", "10m")])]);
    assert_eq!(wait_bound(&plane, "third"), "scheduler-1");

    let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
    let added = if kubernetes() == "1.36" { "UnschedulablePodAdd" } else { "UnscheduledPodAdd" };
    let incoming = format!("scheduler_queue_incoming_pods_total{{queue=\"active\",event=\"{added}\"}} 3");
    for line in [
        incoming.as_str(),
        "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"i-scheduler\"} 3",
        "scheduler_pending_pods{queue=\"active\"} 0",
        "scheduler_cache_size{type=\"nodes\"} 2",
        "scheduler_pod_scheduling_attempts_count 3",
        "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"1\"} 2",
        "scheduler_preemption_attempts_total 1",
        "bayplan_leader 1",
        "bayplan_policy_load_success{policy=\"label-priority\"} 1",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}\nis not in\n{metrics}");
    }
    let configz: Value = serde_json::from_str(&plane.get_from(&ours.url(), "/configz").unwrap()).unwrap();
    assert_eq!(configz["policies"]["objects"][0]["policies"], json!(["label-priority"]));
    let entries = configz.as_object().unwrap();
    assert!(
        entries.values().all(|entry| entry["kind"].is_string()),
        "readers take entries for objects: {configz}"
    );
}

#[test]
fn avoid_node_and_gpu_priority_decide_together() {
    let plane = ControlPlane::start();
    let policies = plane.create_namespace("policies");
    plane.create(&[
        policy(&policies, "avoid-node", include_str!("../../policies/tutorial/avoid-node.bay")),
        policy(&policies, "gpu-priority", include_str!("../../policies/tutorial/gpu-priority.bay")),
    ]);
    let node = |name: &str, gpus: &str| {
        objects::node(name, &[("cpu", "8"), ("memory", "16Gi"), ("nvidia.com/gpu", gpus)])
    };
    plane.create(&[objects::with_label(node("node01", "8"), "avoid", "true")]);
    let _ours = SchedulerProcess::start(&plane, &Setup::new("tutorial").policies_from(&policies));

    plane.create(&[objects::pod("default", "web", "tutorial", &[("cpu", "10m")])]);
    wait_until("the event", SOON, || !plane.events_about("default", "web").is_empty());
    let event = plane.events_about("default", "web").remove(0);
    assert_eq!(
        event["note"],
        as_said(
            "0/1 nodes are available: 1 node is labeled avoid=true. preemption: 0/1 nodes are available: 1 Preemption is \
             not helpful for scheduling."
        )
    );
    plane.create(&[node("few", "2"), node("many", "4")]);
    assert_ne!(wait_bound(&plane, "web"), "node01");

    let gpus =
        |name: &str, count: &str| objects::pod("default", name, "tutorial", &[("nvidia.com/gpu", count)]);
    plane.create(&[gpus("train-a", "1")]);
    assert_eq!(wait_bound(&plane, "train-a"), "many");
    plane.create(&[gpus("train-b", "2")]);
    assert_eq!(wait_bound(&plane, "train-b"), "many");
    plane.create(&[gpus("train-c", "1")]);
    assert_eq!(wait_bound(&plane, "train-c"), "few", "the most free GPUs count, not the most GPUs");
}
