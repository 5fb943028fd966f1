//! `after failure` and memos on a real API server: the waiting members of a job are refused when one of them finds no
//! node, the job rests, and it starts whole when there is room. A pod that fails has the others of its group tried again.
//! A memo keeps a pod that is made again on its node.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::Value;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

const WHOLE: &str = r#"
/// A job starts whole, gives its room back as soon as one pod finds no node, and then rests.
policy whole {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  memo rests: bool by [pod.namespace, pod.labels["job"] ?? ""] ttl 4s
  applies when has(pod.labels["job"])

  prefilter { reject unresolvable "the job rests" when rests ?? false }
  permit {
    wait 10min for members until members.count(m, m.placed) >= 3 else "the job did not become whole in time"
  }
  after failure {
    release members "a pod of the job found no node"
    remember rests = true when !(rests ?? false)
    activate members
  }
}
"#;

const STAY: &str = r#"
/// A pod that is made again goes back to its node, as long as that is remembered.
policy stay {
  memo home: string by [pod.namespace, pod.name] ttl 10min
  applies when has(pod.labels["stays"])

  prefilter { only nodes [home] when has(home) }
  after bind { remember home = node.name }
}
"#;

const TOGETHER: &str = r#"
/// Pods of one job are tried again together. No change of another object helps them.
policy together {
  group others = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  applies when has(pod.labels["job"])

  filter open { require pod.labels["open"] == "yes" else "the job is not open" }
  after failure { activate others }
}
"#;

fn policy(load: &Workload<'_>, name: &str, text: &str) -> Value {
    let key = format!("{name}.bay");
    objects::config_map(&load.namespace, name, &[("bayplan.dev/policy", "")], &[(&key, text)])
}

fn notes(plane: &ControlPlane, namespace: &str, pod: &str) -> Vec<String> {
    let events = plane.events_about(namespace, pod);
    events.iter().filter_map(|event| event["note"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_job_without_room_gives_back_what_it_has_and_rests() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "release", 2);
    let space = load.namespace.as_str();
    plane.create(&[policy(&load, "whole", WHOLE)]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
    let member = |name: &str, cpu: &str| objects::with_label(load.pod(name, cpu), "job", "a");
    let said = |pod: &str, text: &str| notes(plane, space, pod).iter().any(|note| note.contains(text));
    let bound = |name: &str| plane.node_of(space, name).is_some();

    // Two of three members wait, with all the room.
    plane.create(&[member("a-0", "3"), member("a-1", "3")]);
    plane.create(&[load.pod("alone", "4")]);
    wait_until("they hold the room", SOON, || said("alone", "Insufficient cpu"));
    assert_eq!(load.bound(), 0);

    // The third finds no node: the others are refused at once, and not after ten minutes.
    plane.create(&[member("a-2", "3")]);
    wait_until("a member is released", SOON, || {
        ["a-0", "a-1"].iter().any(|name| said(name, "a pod of the job found no node"))
    });
    wait_until("the job rests", SOON, || {
        ["a-0", "a-1", "a-2"].iter().any(|name| said(name, "the job rests"))
    });
    assert!(["a-0", "a-1", "a-2"].iter().all(|name| !bound(name)), "no member is bound alone");

    // Its room is free for others.
    wait_until("another pod gets the room", SOON, || bound("alone"));

    // With room for all the job starts whole: a pod that goes wakes it.
    plane.delete_pod(space, "a-2");
    plane.create(&[member("a-2", "1")]);
    plane.delete_pod(space, "alone");
    wait_until("the job is bound", SOON, || ["a-0", "a-1", "a-2"].iter().all(|name| bound(name)));
}

#[test]
fn a_pod_that_fails_has_the_others_of_its_group_tried_again() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "together", 1);
    plane.create(&[policy(&load, "together", TOGETHER)]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let ours = SchedulerProcess::start(plane, &setup);
    let attempts = || -> u32 {
        let metrics = plane.get_from(&ours.url(), "/metrics").unwrap_or_default();
        let failed = |line: &&str| {
            line.starts_with("scheduler_schedule_attempts_total{") && line.contains("\"unschedulable\"")
        };
        let counts =
            metrics.lines().filter(failed).filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
        counts.sum()
    };
    let member = |name: &str, job: &str| objects::with_label(load.pod(name, "1"), "job", job);
    plane.create(&[member("a-0", "a"), member("b-0", "b")]);
    wait_until("both are refused", SOON, || attempts() == 2);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(attempts(), 2, "a pod that is alone in its job is not tried again");
    // Each of two has the other one tried again, after its back-off.
    plane.create(&[member("a-1", "a")]);
    wait_until("they are tried again and again", SOON, || attempts() >= 7);
}

#[test]
fn a_pod_that_is_made_again_goes_back_as_long_as_its_node_is_remembered() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "memo", 3);
    let space = load.namespace.as_str();
    plane.create(&[policy(&load, "stay", STAY)]);
    let setup = Setup::new(&load.scheduler).policies_from(space);
    let ours = SchedulerProcess::start(plane, &setup);
    let pod = || objects::with_label(load.pod("a", "1"), "stays", "yes");
    let placed = || {
        wait_until("the pod is bound", SOON, || plane.node_of(space, "a").is_some());
        plane.node_of(space, "a").unwrap()
    };
    plane.create(&[pod()]);
    let home = placed();
    // Every other node has more room from now on.
    let mut beside = load.pod("beside", "2");
    beside["spec"]["nodeSelector"]["kubernetes.io/hostname"] = home.as_str().into();
    plane.create(&[beside]);
    wait_until("a pod is beside it", SOON, || plane.node_of(space, "beside").is_some());
    for _ in 0..3 {
        plane.delete_pod(space, "a");
        plane.create(&[pod()]);
        assert_eq!(placed(), home);
    }
    // A restart forgets: nothing that must hold may rest on a memo.
    drop(ours);
    plane.delete_pod(space, "a");
    let _next = SchedulerProcess::start(plane, &setup);
    plane.create(&[pod()]);
    assert_ne!(placed(), home, "the node with the least room is chosen by the memo alone");
}
