//! Policies as documents in ConfigMaps of a running scheduler: they reload, keep their last good text, get verdicts
//! with lines of the document, and exclude namesakes across both languages.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

/// A policy that keeps pods off nodes with a label `half`, as a document and in the policy language.
fn document(refused: &str) -> String {
    format!(
        "# Keeps pods off one half.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: half}}\nspec:\n  \
         appliesWhen: '\"team\" in pod.labels && pod.labels[\"team\"] == \"half\"'\n  filters:\n  - name: wanted\n    rules:\n    - reject: the other \
         half is wanted\n      when: 'node.labels[\"half\"] == \"{refused}\"'\n"
    )
}

fn language(refused: &str) -> String {
    format!(
        "/// Keeps pods off one half.\npolicy half {{\n  applies when pod.labels[\"team\"] == \"half\"\n  filter wanted {{\n    \
         reject \"the other half is wanted\" when node.labels[\"half\"] == \"{refused}\"\n  }}\n}}\n"
    )
}

fn map(namespace: &str, name: &str, key: &str, text: &str) -> Value {
    objects::config_map(namespace, name, &[("bayplan.dev/policy", "")], &[(key, text)])
}

fn annotation(plane: &ControlPlane, namespace: &str, name: &str, key: &str) -> String {
    let object = plane.get_json(["configmap", name, "--namespace", namespace]);
    object["metadata"]["annotations"][format!("bayplan.dev/{key}")].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_document_serves_reloads_and_excludes_its_namesake() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "document", 2);
    let space = load.namespace.clone();
    plane.kubectl_ok(["label", "node", &format!("{space}-0"), "half=even"]);
    plane.kubectl_ok(["label", "node", &format!("{space}-1"), "half=odd"]);
    let setup = Setup::new(&load.scheduler).policies_from(&space);
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| annotation(plane, &space, name, "verdict");
    let serves = |name: &str| wait_until("it serves", SOON, || verdict(name) == "Serving");
    let goes_to = |name: &str, node: usize| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({"team": "half"});
        plane.create(&[pod]);
        wait_until("the pod is bound", SOON, || plane.node_of(&space, name).is_some());
        assert_eq!(plane.node_of(&space, name).unwrap(), format!("{space}-{node}"));
    };
    let write = |key: &str, text: &str| {
        let patch = json!({ "data": { key: text } }).to_string();
        plane.kubectl_ok(["patch", "configmap", "half", "--namespace", &space, "--type=merge", "-p", &patch]);
    };
    plane.create(&[map(&space, "half", "half.yaml", &document("odd"))]);
    serves("half");
    goes_to("document", 0);
    let first = annotation(plane, &space, "half", "revision");
    write("half.yaml", &document("even"));
    wait_until("the next text serves", SOON, || annotation(plane, &space, "half", "revision") != first);
    serves("half");
    goes_to("reloaded", 1);

    // A mistake is reported with its line of the document, and the text before stays in service.
    write("half.yaml", &document("odd").replace("node.labels", "nod.labels"));
    wait_until("it is refused", SOON, || verdict("half") == "Refused");
    let status: Value = serde_json::from_str(&annotation(plane, &space, "half", "status")).expect("JSON");
    let error = &status["errors"][0];
    assert_eq!((&error["key"], &error["line"]), (&json!("half.yaml"), &json!(11)), "{status}");
    goes_to("broken", 1);

    // An older object keeps a younger one of the same name out, whichever language they are in.
    write("half.yaml", &document("even"));
    serves("half");
    std::thread::sleep(Duration::from_millis(1_100));
    plane.create(&[map(&space, "half-2", "half.bay", &language("odd"))]);
    wait_until("the namesake waits", SOON, || verdict("half-2") == "Waiting");
    goes_to("older", 1);
    plane.kubectl_ok(["delete", "configmap", "half", "--namespace", &space]);
    serves("half-2");
    goes_to("younger", 0);
    std::thread::sleep(Duration::from_millis(1_100));
    plane.create(&[map(&space, "half-3", "half.json", &document("even"))]);
    wait_until("the namesake waits", SOON, || verdict("half-3") == "Waiting");

    // The history has texts of both, also for a restart.
    let kept = plane.get_json(["configmap", "bayplan-history-half", "--namespace", &space]);
    assert!(kept["data"]["half.bay"].as_str().is_some_and(|text| text == language("odd")), "{kept}");
    assert!(kept["data"]["revisions.json"].as_str().unwrap().contains("SchedulingPolicy"), "{kept}");
    drop(ours);
    let _ours = SchedulerProcess::start(plane, &setup);
    goes_to("restarted", 0);
    plane.kubectl_ok(["delete", "configmap", "half-2", "--namespace", &space]);
    serves("half-3");
    goes_to("last", 1);
}

#[test]
fn pods_of_a_document_without_a_good_text_wait() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "heldback", 1);
    // A comparison with a label that a node does not have is an error in CEL, and refuses the node.
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "half=even"]);
    let broken = document("odd").replace("node.labels", "nod.labels");
    plane.create(&[map(&load.namespace, "half", "half.yaml", &broken)]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let _ours = SchedulerProcess::start(plane, &setup);
    let mut held = load.pod("held", "10m");
    held["metadata"]["labels"] = json!({"team": "half"});
    plane.create(&[held, load.pod("other", "10m")]);
    let bound = |name: &str| plane.node_of(&load.namespace, name).is_some();
    wait_until("the pod that is not named is bound", SOON, || bound("other"));
    assert_eq!(annotation(plane, &load.namespace, "half", "verdict"), "Refused");
    assert!(annotation(plane, &load.namespace, "half", "status").contains("\"holds\":[\"half\"]"));
    assert!(!bound("held"));
    let patch = json!({ "data": { "half.yaml": document("odd") } }).to_string();
    plane.kubectl_ok([
        "patch",
        "configmap",
        "half",
        "--namespace",
        &load.namespace,
        "--type=merge",
        "-p",
        &patch,
    ]);
    wait_until("the pod is bound", SOON, || bound("held"));
}
