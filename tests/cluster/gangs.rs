//! Groups that wait for each other at Permit: bound whole, or undone and tried again.

use crate::load::Load;
use crate::ours::{Ours, Setup};
use crate::support::{ControlPlane, objects, wait_until};
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

fn member(load: &Load<'_>, job: &str, index: usize, size: usize, cpu: &str) -> Value {
    let mut pod = objects::with_label(load.pod(&format!("{job}-{index}"), cpu), "job", job);
    pod["metadata"]["annotations"] = json!({ "job-size": size.to_string() });
    pod
}

#[test]
fn a_group_is_bound_whole_or_undone_and_tried_again() {
    let Some(plane) = ControlPlane::shared() else { return };
    let load = Load::new(plane, "gang", 2);
    let policy =
        objects::config_map(&load.namespace, "gang", &[("bayplan.dev/policy", "")], &[("gang.bay", GANG)]);
    plane.create(&[policy]);
    let _ours = Ours::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    let on = |name: &str| plane.node_of(&load.namespace, name);

    // Three of four: nobody is bound, and the room they held is given back in time.
    plane.create(&(0..3).map(|i| member(&load, "a", i, 4, "1")).collect::<Vec<_>>());
    wait_until("the event of the time-out", SOON, || {
        plane.events_about(&load.namespace, "a-0").iter().any(|event| {
            event["note"].as_str().is_some_and(|note| note.contains("timeout") || note.contains("in time"))
        })
    });
    assert_eq!(load.bound(), 0, "no member runs alone");
    let alone = load.pod("alone", "4");
    plane.create(&[alone]);
    wait_until("another pod gets room", SOON, || on("alone").is_some());
    plane.delete_pod(&load.namespace, "alone");

    // The fourth comes: all are bound.
    plane.create(&[member(&load, "a", 3, 4, "1")]);
    wait_until("the group is bound", SOON, || (0..4).all(|i| on(&format!("a-{i}")).is_some()));
}
