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
    wait_until("the event", SOON, || {
        let events = plane.events_about(&space, "half");
        let refused = events.iter().filter(|it| it["reason"] == "PolicyRefused" && it["type"] == "Warning");
        refused.filter_map(|it| it["note"].as_str()).any(|note| note.contains("half.yaml:11:"))
    });
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

/// A policy that sends each pod to the node of its number, among those of one half.
fn numbered(syntax: &str, refused: &str) -> String {
    match syntax {
        "bay" => format!(
            "/// Sends pods to their nodes.\npolicy half {{\n  filter wanted {{\n    reject \"the other half is wanted\" when \
             node.labels[\"half\"] == \"{refused}\"\n  }}\n  prefer 100 when node.labels[\"number\"] == \
             (pod.labels[\"number\"] ?? \"none\")\n}}\n"
        ),
        _ => format!(
            "# Sends pods to their nodes.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: half}}\n\
             spec:\n  filters:\n  - name: wanted\n    rules:\n    - reject: the other half is wanted\n      when: \
             'node.labels[\"half\"] == \"{refused}\"'\n  prefer:\n  - weight: 100\n    when: 'node.labels[\"number\"] == \
             pod.labels[?\"number\"].orValue(\"none\")'\n"
        ),
    }
}

#[test]
fn twins_in_both_languages_replace_each_other_under_load_and_decide_alike() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "twins", 8);
    for node in 0..8 {
        let (half, number) = (format!("half={}", if node % 2 == 0 { "even" } else { "odd" }), node / 2);
        let name = format!("{}-{node}", load.namespace);
        plane.kubectl_ok(["label", "node", &name, &half, &format!("number={number}")]);
    }
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    plane.create(&[map(&load.namespace, "half", "half.bay", &numbered("bay", "odd"))]);
    let ours = SchedulerProcess::start(plane, &setup);
    let write = |syntax: &str, refused: &str| {
        let (own, other) =
            if syntax == "bay" { ("half.bay", "half.yaml") } else { ("half.yaml", "half.bay") };
        let patch = json!({ "data": { own: numbered(syntax, refused), other: null } }).to_string();
        let path =
            ["patch", "configmap", "half", "--namespace", &load.namespace, "--type=merge", "-p", &patch];
        plane.kubectl_ok(path);
    };
    for version in 0..12 {
        load.create_pods(8, "20m");
        write(["yaml", "bay"][version % 2], ["even", "odd"][version / 2 % 2]);
    }
    load.wait_bound(96, Duration::from_secs(60));
    load.check();
    let said = ours.said();
    let decided = said.lines().filter(|line| line.contains("chose a node for pod"));
    let revisions: Vec<u64> =
        decided.filter_map(|line| line.split("revision=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    assert!(revisions.is_sorted() && revisions.last() > revisions.first(), "{revisions:?}");

    // Each text alone sends the same pods to the same nodes.
    let verdict = || annotation(plane, &load.namespace, "half", "verdict");
    let mut places = Vec::new();
    for (round, (syntax, refused)) in
        [("bay", "even"), ("yaml", "even"), ("bay", "odd"), ("yaml", "odd")].into_iter().enumerate()
    {
        let before = annotation(plane, &load.namespace, "half", "revision");
        write(syntax, refused);
        wait_until("the text serves", SOON, || {
            verdict() == "Serving" && annotation(plane, &load.namespace, "half", "revision") != before
        });
        let name = |number: usize| format!("round-{round}-{number}");
        let pods = (0..4).map(|number| {
            let mut pod = load.pod(&name(number), "20m");
            pod["metadata"]["labels"] = json!({ "number": number.to_string() });
            pod
        });
        plane.create(&pods.collect::<Vec<_>>());
        let node = |number| plane.node_of(&load.namespace, &name(number));
        wait_until("the pods are bound", SOON, || (0..4).all(|number| node(number).is_some()));
        let expected = (0..4).map(|number| number * 2 + usize::from(refused == "even"));
        let expected: Vec<_> = expected.map(|node| Some(format!("{}-{node}", load.namespace))).collect();
        places.push((0..4).map(node).collect::<Vec<_>>());
        assert_eq!(places[round], expected, "{syntax}");
    }
    assert_eq!((&places[0], &places[2]), (&places[1], &places[3]));
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
