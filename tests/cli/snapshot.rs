//! `bayplan snapshot`: one file of a cluster decides as its parts do; it has no more than decisions read; what is broken is
//! said, and nothing half written stays.

use crate::support::command::{Ended, bayplan_in, folder};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const POLICY: &str = "\
/// Pods stay on the nodes of their team.
policy teams {
  filter same-team {
    require node.labels[\"acme.com/team\"] == pod.labels[\"acme.com/team\"] else \"another team\"
  }
  score low {
    give 40 when (pod.annotations[\"acme.com/job\"] ?? \"\").startsWith(\"night-\")
    give 60
  }
}
";

const CONFIG: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: []
profiles:
- schedulerName: default-scheduler
  plugins: {score: {disabled: [{name: ImageLocality}]}}
- schedulerName: batch
";

fn node(name: &str, team: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": {
            "kubernetes.io/hostname": name, "acme.com/team": team, "acme.com/rack": "acme-r1"}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"machineID": "acme-machine"}},
    })
}

fn pod(name: &str, on: Option<&str>, cpu: &str) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "acme-shop", "labels": {"acme.com/team": "acme-vision", "app": "acme-app"},
            "annotations": {"acme.com/job": "night-7", "acme.com/other": "acme-secret"}},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "acme-main", "image": "acme.com/app:2",
            "env": [{"name": "TOKEN", "value": "acme-token"}], "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Pending"},
    });
    if let Some(node) = on {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"]["phase"] = json!("Running");
    }
    pod
}

/// Nodes of two teams, pods that run on them, pods that wait, and objects that nothing reads.
fn cluster() -> Value {
    let mut items = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "acme-shop"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "acme-key", "namespace": "acme-shop"}, "data": {"k": "YWNtZQ=="}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "acme-map", "namespace": "acme-shop"}, "data": {"k": "acme-data"}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "acme-web", "namespace": "acme-shop"}, "spec": {"selector": {"app": "acme-app"}, "clusterIP": "10.9.8.7"}}),
    ];
    for at in 0..12 {
        items.push(node(
            &format!("acme-n{at:02}"),
            if at % 2 == 0 { "acme-vision" } else { "acme-audio" },
            "4",
        ));
        items.push(pod(
            &format!("acme-run-{at}"),
            Some(&format!("acme-n{at:02}")),
            if at == 1 || at == 2 { "1" } else { "3500m" },
        ));
    }
    items.extend([pod("acme-fits", None, "2"), pod("acme-waits", None, "3"), pod("acme-huge", None, "64")]);
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn files() -> crate::support::command::Folder {
    folder(&[("cluster.json", &cluster().to_string()), ("teams.bay", POLICY), ("config.yaml", CONFIG)])
}

const FROM: [&str; 6] = ["--cluster", "cluster.json", "--policies", "teams.bay", "--config", "config.yaml"];

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> Ended {
    let ended = bayplan_in(folder, arguments);
    assert_eq!(ended.status, 0, "{arguments:?}: {}{}", ended.out, ended.err);
    ended
}

/// The text without the commands at its end, which repeat the flags of this one.
fn answer(ended: &Ended) -> String {
    ended.out.split("\nNext: ").next().unwrap_or_default().to_owned()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_snapshot_decides_as_the_files_that_it_was_made_of() {
    let folder = files();
    let said = done(&folder, &[&["snapshot", "-o", "all.json"][..], &FROM].concat()).err;
    assert!(said.contains("wrote all.json: 29 objects and 1 policy"), "{said}");
    for command in [
        &["dry-run", "--all"][..],
        &["explain"],
        &["explain", "acme-waits"],
        &["explain", "acme-fits", "--all"],
        &["explain", "acme-huge", "--node", "acme-n01"],
        &["dry-run", "-o", "json", "--all-nodes"],
    ] {
        let of_files = done(&folder, &[command, &FROM].concat());
        let of_snapshot = done(&folder, &[command, &["--cluster", "all.json"]].concat());
        let place = |text: String| text.replace("snapshot teams.bay", "teams.bay");
        assert_eq!(place(answer(&of_snapshot)), place(answer(&of_files)), "{command:?}");
    }
    // A policy that is named takes the place of the one in the file.
    fs::write(folder.join("other.bay"), "policy teams { filter none { require true } }\n").unwrap();
    let other = done(&folder, &["explain", "acme-waits", "--cluster", "all.json", "--policies", "other.bay"]);
    assert!(!other.out.contains("same-team"), "{}", other.out);
    // Stdout has the same bytes, but for the instant.
    let piped = done(&folder, &["snapshot", "--cluster", "all.json"]).out;
    assert_eq!(piped, fs::read_to_string(folder.join("all.json")).unwrap());
}

#[test]
fn it_has_nothing_that_no_decision_reads() {
    let folder = files();
    let text = done(&folder, &[&["snapshot"][..], &FROM].concat()).out;
    for word in [
        "Secret",
        "acme-key",
        "acme-map",
        "TOKEN",
        "acme-token",
        "acme-machine",
        "10.9.8.7",
        "acme.com/other",
        "acme-secret",
    ] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["kind"], &document["formatVersion"]), (&json!("Snapshot"), &json!(1)));
    assert_eq!(document["policies"][0]["serves"], json!(["teams"]));
    let job = document["objects"].as_array().unwrap().iter().find(|object| object["kind"] == "Pod").unwrap();
    assert_eq!(job["metadata"]["annotations"], json!({"acme.com/job": "night-7"}));
}

#[test]
fn a_reduced_snapshot_has_the_verdict_and_little_else() {
    let folder = files();
    let reduce = |pod: &str| {
        let ended = done(&folder, &[&["snapshot", "--reduce", pod][..], &FROM].concat());
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        (document["objects"].as_array().unwrap().clone(), ended)
    };
    let (objects, ended) = reduce("acme-huge");
    assert!(
        ended.err.contains("acme-shop/acme-huge waits, because of NodeResourcesFit, teams/same-team"),
        "{}",
        ended.err
    );
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Node", "Pod"], "one node has both reasons: {objects:#?}");
    assert_eq!(objects[0]["metadata"].get("labels"), None);
    assert_eq!(reduce("acme-huge").0, objects, "equal input gives equal objects");
    fs::write(folder.join("small.json"), &ended.out).unwrap();
    let told = done(&folder, &["explain", "acme-huge", "-n", "acme-shop", "--cluster", "small.json"]).out;
    assert!(told.contains("none of 1 node") || told.contains("waits"), "{told}");
    // The room that is left on one node of the team is what decides.
    let (objects, ended) = reduce("acme-shop/acme-fits");
    assert!(ended.err.contains("is placed on acme-n02"), "{}", ended.err);
    assert!(objects.len() < 5, "{objects:#?}");
    let none = bayplan_in(&folder, &[&["snapshot", "--reduce", "acme-hug"][..], &FROM].concat());
    assert_eq!((none.status, none.out.as_str()), (2, ""));
    assert!(none.err.contains("did you mean `acme-huge`"), "{}", none.err);
}

#[test]
fn an_anonymous_snapshot_names_nothing_but_what_policies_name() {
    let folder = files();
    let made = done(&folder, &[&["snapshot", "--anonymize", "-o", "anonymous.json"][..], &FROM].concat());
    let text = fs::read_to_string(folder.join("anonymous.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let objects = document["objects"].to_string();
    let left: Vec<&str> = objects.split('"').filter(|word| word.contains("acme")).collect();
    assert!(left.iter().all(|word| ["acme.com/team", "acme.com/job"].contains(word)), "{left:?}");
    assert!(objects.contains("night-"), "the beginning that the policy asks for stays");
    assert!(made.err.contains("so they stay: `acme.com/job`, `acme.com/team`, `night-…`"), "{}", made.err);
    assert!(made.err.contains("policies stay as they are written: `teams`"), "{}", made.err);
    // As many pods are placed and wait as before.
    let last = |ended: Ended| {
        let line = |line: &&str| line.contains(" pods: ");
        ended.out.lines().find(line).unwrap_or_default().to_owned()
    };
    let before = last(done(&folder, &[&["dry-run"][..], &FROM].concat()));
    assert_eq!(last(done(&folder, &["dry-run", "--cluster", "anonymous.json"])), before);
}

#[test]
fn a_case_from_a_pod_passes() {
    let folder = files();
    fs::create_dir(folder.join("tests")).unwrap();
    for (pod, expected) in
        [("acme-huge", "refused"), ("acme-shop/acme-fits", "node:"), ("acme-waits", "expect")]
    {
        let ended = done(&folder, &[&["test", "--from", pod][..], &FROM, &["tests"]].concat());
        assert!(ended.err.contains("the case passes"), "{}", ended.err);
        let name = ended.err.split("wrote tests/").nth(1).unwrap().split(' ').next().unwrap();
        let text = fs::read_to_string(folder.join("tests").join(name)).unwrap();
        assert!(text.contains(expected) && text.contains("policies:\n- ../teams.bay"), "{text}");
        let others: Vec<&str> = text.split(['"', ' ', '\n']).filter(|word| word.contains("acme")).collect();
        assert!(others.iter().all(|word| word.starts_with("acme.com/")), "{others:?}");
    }
    let ran = done(&folder, &["test", "tests"]);
    assert!(ran.out.contains("3 cases: 3 passed"), "{}", ran.out);
    // Without policies of its own the case has those of the snapshot.
    done(&folder, &[&["snapshot", "-o", "all.json"][..], &FROM].concat());
    let ended = done(&folder, &["test", "--from", "acme-huge", "--cluster", "all.json", "tests"]);
    assert!(ended.err.contains("from-pod-"), "{}", ended.err);
    assert!(done(&folder, &["test", "tests"]).out.contains("4 cases: 4 passed"));
    // The case fails where the policy is another one.
    fs::write(folder.join("teams.bay"), "policy teams { filter same-team { require true } }\n").unwrap();
    assert_eq!(bayplan_in(&folder, &["test", "tests"]).status, 1);
}

#[test]
fn what_is_broken_is_said() {
    let folder = files();
    done(&folder, &[&["snapshot", "-o", "all.json"][..], &FROM].concat());
    let whole = fs::read_to_string(folder.join("all.json")).unwrap();
    let cut = whole.len() / 2;
    let with = |from: &str, to: &str| whole.replacen(from, to, 1).into_bytes();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (whole.as_bytes()[..cut].to_vec(), "not valid JSON"),
        (b"{".to_vec(), "not valid JSON"),
        (
            b"{\"apiVersion\":\"bayplan.dev/v1\",\"kind\":\"Snapshot\"}".to_vec(),
            "the snapshot has no `formatVersion`",
        ),
        (
            with("\"formatVersion\":1", "\"formatVersion\":2"),
            "has the format 2, and this version reads formats up to 1",
        ),
        (
            with("\"formatVersion\":1", "\"formatVersion\":\"x\""),
            "`formatVersion` of the snapshot cannot be \"x\"",
        ),
        (with("\"objects\":[", "\"others\":["), "the snapshot has no `objects`"),
        (with("\"objects\":[", "\"objects\":7,\"others\":["), "`objects` of the snapshot is not a list"),
        (with("\"policies\":[", "\"policies\":[7,"), "the snapshot cannot be read"),
        (with("\"objects\":[", "\"objects\":[7,"), "the object has no `kind`"),
        ([whole.as_bytes(), b"\xff\xfe"].concat(), "not valid UTF-8"),
        (b"".to_vec(), "the file is empty"),
    ];
    for (bytes, expected) in cases {
        fs::write(folder.join("broken.json"), bytes).unwrap();
        for command in [
            &["dry-run"][..],
            &["explain", "acme-huge"],
            &["snapshot", "-o", "other.json"],
            &["test", "--from", "acme-huge"],
        ] {
            let ended = bayplan_in(&folder, &[command, &["--cluster", "broken.json"]].concat());
            assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{command:?} {expected}: {}", ended.err);
            assert!(ended.err.contains(expected), "{command:?} {expected}: {}", ended.err);
        }
    }
    // An object that an API server had counts as far as it can be read, as in a live cluster.
    let broken = with("\"phase\":\"Running\"", "\"phase\":7");
    fs::write(folder.join("broken.json"), broken).unwrap();
    let ended = done(&folder, &["dry-run", "--cluster", "broken.json"]);
    assert!(ended.err.contains("counts with what can be read of it"), "{}", ended.err);
    assert_eq!(names(&folder), ["all.json", "broken.json", "cluster.json", "config.yaml", "teams.bay"]);
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = files();
    fs::write(folder.join("known.json"), "before").unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    let before = names(&folder);
    for (target, expected) in [
        ("/dev/full", "cannot write /dev/full: No space left on device"),
        ("nowhere/all.json", "cannot write nowhere/all.json: No such file"),
        ("sub", "sub is a folder: name a file in it"),
    ] {
        let ended = bayplan_in(&folder, &[&["snapshot", "-o", target][..], &FROM].concat());
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{target}");
        assert!(ended.err.contains(expected), "{target}: {}", ended.err);
    }
    let full = std::process::Command::new("sh")
        .args([
            "-c",
            "\"$0\" snapshot --cluster cluster.json > /dev/full; echo $?",
            env!("CARGO_BIN_EXE_bayplan"),
        ])
        .current_dir(&*folder)
        .output()
        .unwrap();
    assert_eq!(full.stdout, b"2\n", "{}", String::from_utf8_lossy(&full.stderr));
    let closed = std::process::Command::new("bash")
        .args([
            "-c",
            "set -o pipefail; \"$0\" snapshot --cluster cluster.json | true",
            env!("CARGO_BIN_EXE_bayplan"),
        ])
        .current_dir(&*folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&closed.stderr);
    assert!(closed.status.code() == Some(0) && !said.contains("error"), "a reader that goes away: {said}");
    // Two files of one name beside each other: the one that was there is replaced as a whole.
    done(&folder, &[&["snapshot", "-o", "known.json"][..], &FROM].concat());
    assert!(fs::read_to_string(folder.join("known.json")).unwrap().starts_with("{\"apiVersion\""));
    assert_eq!(names(&folder), before);
}
