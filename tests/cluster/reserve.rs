//! `reserve`: the pod has its marks from the moment it has a node.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::Value;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(40);

const MARKS: &str = r#"
/// Notes where the pod runs, on nodes that are not full.
policy marks {
  reserve {
    reject "three pods are enough" when node.pods.count(p, p.labels["counted"] == "yes") >= 3
    annotate pod {"example.com/chosen": node.name} when pod.labels["quiet"] != "yes"
    label pod {"counted": "yes", "example.com/node": node.name}
  }
}
"#;

#[test]
fn the_first_event_of_a_watch_with_the_node_has_the_marks() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "marks", 1);
    let policy =
        objects::config_map(&load.namespace, "marks", &[("bayplan.dev/policy", "")], &[("marks.bay", MARKS)]);
    plane.create(&[policy]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));

    let mut own = objects::with_label(load.pod("a", "100m"), "counted", "no");
    own["metadata"]["annotations"]["example.com/own"] = "stays".into();
    plane.create(&[own]);
    let created = plane.get_json(["pods", "a", "--namespace", &load.namespace]);
    wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, "a").is_some());
    let node = plane.node_of(&load.namespace, "a").unwrap();
    // The watch begins in the past: it tells every version of the pod.
    let version = created["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!(
        "--raw=/api/v1/namespaces/{}/pods?watch=true&resourceVersion={version}&timeoutSeconds=3",
        load.namespace
    );
    let events = plane.kubectl_ok(["get", &path]);
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let first = events.map(|event| event["object"].clone()).find(|pod| pod["spec"]["nodeName"].is_string());
    let pod = first.unwrap_or(created);
    assert_eq!(pod["spec"]["nodeName"], *node, "the first version with a node");
    let metadata = &pod["metadata"];
    assert_eq!(metadata["annotations"]["example.com/chosen"], *node, "{metadata:#}");
    assert_eq!(metadata["annotations"]["example.com/own"], "stays");
    assert_eq!(metadata["labels"]["counted"], "yes", "a label of the Binding replaces that of the pod");
    assert_eq!(metadata["labels"]["example.com/node"], *node);

    // The labels that `reserve` wrote count: the third pod after this one is refused.
    let names = ["b", "c", "d"];
    plane.create(&names.map(|name| load.pod(name, "100m")));
    wait_until("a pod is refused", SOON, || {
        names.iter().any(|name| {
            plane.events_about(&load.namespace, name).iter().any(|event| {
                event["note"].as_str().is_some_and(|note| note.contains("three pods are enough"))
            })
        })
    });
    wait_until("the others are bound", SOON, || load.bound() == 3);
    plane.delete_pod(&load.namespace, "a");
    wait_until("the last pod takes the free place", SOON, || {
        names.iter().all(|name| plane.node_of(&load.namespace, name).is_some())
    });
}
