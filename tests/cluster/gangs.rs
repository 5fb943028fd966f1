//! Groups of pods that wait for each other at Permit: bound as a whole, or undone and retried.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(40);

const GANG: &str = r#"
/// A job starts whole or not at all.
policy gang {
  param patience = 3s
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  let wanted = int(pod.annotations["job-size"]) ?? 1

  applies when has(pod.labels["job"])
  permit { wait patience for members until members.count(m, m.placed) >= wanted else "job did not become whole in time" }
}
"#;

fn member(load: &Workload<'_>, job: &str, index: usize, size: usize, cpu: &str) -> Value {
    let mut pod = objects::with_label(load.pod(&format!("{job}-{index}"), cpu), "job", job);
    pod["metadata"]["annotations"] = json!({ "job-size": size.to_string() });
    pod
}

#[test]
fn a_group_is_bound_as_a_whole_or_undone_and_retried() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "gang", 2);
    let policy =
        objects::config_map(&load.namespace, "gang", &[("bayplan.dev/policy", "")], &[("gang.bay", GANG)]);
    plane.create(&[policy]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    let on = |name: &str| plane.node_of(&load.namespace, name);

    // Three of four members: no pod is bound, and their resources are released after the timeout.
    plane.create(&(0..3).map(|i| member(&load, "a", i, 4, "1")).collect::<Vec<_>>());
    wait_until("the event of the time-out", SOON, || {
        plane.events_about(&load.namespace, "a-0").iter().any(|event| {
            event["note"].as_str().is_some_and(|note| note.contains("timeout") || note.contains("in time"))
        })
    });
    assert_eq!(load.bound(), 0, "no member is bound alone");
    let alone = load.pod("alone", "4");
    plane.create(&[alone]);
    wait_until("another pod gets their resources", SOON, || on("alone").is_some());
    plane.delete_pod(&load.namespace, "alone");

    // With the fourth member all are bound.
    plane.create(&[member(&load, "a", 3, 4, "1")]);
    wait_until("the group is bound", SOON, || (0..4).all(|i| on(&format!("a-{i}")).is_some()));
}

/// The worker's gate opens when the leader has a node, and the leader goes on when a worker has one.
const LEAD: &str = r#"
/// Workers come after their leader, which waits for one of them.
policy lead {
  group leaders = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"] && p.labels["role"] == "leader"
  group workers = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"] && p.labels["role"] == "worker"
  applies when has(pod.labels["job"])
  gate "the leader has no node yet" when pod.labels["role"] == "worker" && leaders.count(l, l.placed) == 0
  permit { wait 60s until pod.labels["role"] == "worker" || workers.count(w, w.placed) >= 1 else "no worker came" }
}
"#;

#[test]
fn a_leader_and_a_worker_that_wait_for_each_other_are_bound() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "lead", 1);
    let policy =
        objects::config_map(&load.namespace, "lead", &[("bayplan.dev/policy", "")], &[("lead.bay", LEAD)]);
    plane.create(&[policy]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    let on = |name: &str| plane.node_of(&load.namespace, name);
    let member = |role: &str| {
        let pod = objects::with_label(load.pod(role, "1"), "job", "a");
        objects::with_label(pod, "role", role)
    };
    plane.create(&[member("worker")]);
    wait_until("the gate holds the worker", SOON, || {
        let events = plane.events_about(&load.namespace, "worker");
        events.iter().any(|event| event["note"].as_str().is_some_and(|note| note.contains("no node yet")))
    });
    plane.create(&[member("leader")]);
    wait_until("both are bound", Duration::from_secs(20), || {
        on("leader").is_some() && on("worker").is_some()
    });
}
