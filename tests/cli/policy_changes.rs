//! `bayplan diff OLD NEW`: what it prints, what it says of a cluster, and what it does with bad input.

use crate::support::command::{Ended, bayplan, bayplan_in, folder};
use crate::support::repository;
use serde_json::{Value, json};

const OLD: &str =
    "policy p {\n  filter zone {\n    reject \"no\" when node.labels[\"zone\"] == \"a\"\n  }\n}\n";

fn new() -> String {
    OLD.replace("== \"a\"", "in [\"a\", \"b\"]")
}

fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": zone}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}}})
}

fn pod(name: &str, node: Option<&str>, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": if node.is_some() { "Running" } else { "Pending" }}})
}

fn cluster(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn the_page_shows_what_the_command_prints() {
    let path = repository("docs/changes.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut made = String::new();
    let mut rest = page.as_str();
    let mut shown = 0;
    // Each example is a command and its output, in one block.
    while let Some((before, block)) = rest.split_once("```text\n$ ") {
        let (block, after) = block.split_once("```").unwrap();
        let command = block.lines().next().unwrap();
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let Ended { status, out, err } = bayplan(&words);
        assert_eq!((status, err.as_str()), (0, ""), "{command}");
        made += &format!("{before}```text\n$ {command}\n{out}```");
        rest = after;
        shown += 1;
    }
    made += rest;
    assert!(shown >= 2);
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), made, "run `make golden`");
}

#[test]
fn sums_of_the_effect_add_up() {
    let objects = [
        node("n1", "a"),
        node("n2", "b"),
        node("n3", "c"),
        pod("runs-1", Some("n2"), "3"),
        pod("runs-2", Some("n2"), "1"),
        pod("runs-3", Some("n3"), "3"),
        pod("waits", None, "3"),
        pod("big", None, "9"),
        pod("small", None, "1"),
    ];
    let here = folder(&[("old.bay", OLD), ("new.bay", &new()), ("c.json", &cluster(&objects))]);
    let line = ["diff", "old.bay", "new.bay", "--cluster", "c.json", "-o", "json", "--exit-code"];
    let Ended { status, out, err } = bayplan_in(&here, &line);
    let said: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
    let effect = &said["effect"];
    let number = |name: &str| effect[name].as_i64().unwrap_or_else(|| panic!("{name}: {effect}"));
    assert_eq!(
        number("pending"),
        number("wait") + number("placed") + number("beginToWait") + number("beginToRun")
    );
    let refused = effect["refusedWhereTheyAre"].as_array().unwrap();
    assert_eq!(
        number("appliesToRunning"),
        number("mayStay") + number("refusedAsBefore") + refused.len() as i64
    );
    let names: Vec<(&str, bool)> =
        refused.iter().map(|of| (of["pod"].as_str().unwrap(), of["restartedOn"].is_null())).collect();
    assert_eq!(names, [("default/runs-1", true), ("default/runs-2", false)]);
    assert_eq!(status, 1);
    // A witness is a pod of the cluster where one shows it.
    assert_eq!(said["rules"][0]["verdict"], "stricter");
    assert_eq!(said["rules"][0]["witnesses"][0]["invented"], false);
    // Nothing changes, nothing differs.
    let line = ["diff", "old.bay", "old.bay", "--cluster", "c.json", "--exit-code"];
    assert_eq!(bayplan_in(&here, &line).status, 0);
}

#[test]
fn policies_come_and_go() {
    let other = "policy q { filter f { reject \"no\" when node.unschedulable } }";
    let here = folder(&[("old.bay", OLD), ("new.bay", other)]);
    let Ended { out, .. } = bayplan_in(&here, &["diff", "old.bay", "new.bay", "-o", "json"]);
    let said: Value = serde_json::from_str(&out).unwrap();
    let verdicts: Vec<(&str, &str)> = said["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["policy"].as_str().unwrap(), rule["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts, [("p", "looser"), ("q", "stricter")]);
}

#[test]
fn witnesses_become_tests_that_pass() {
    let here = folder(&[("old.bay", OLD), ("new.bay", &new())]);
    let line = ["diff", "old.bay", "new.bay", "--write-tests", "made.test.yaml"];
    let Ended { status, err, .. } = bayplan_in(&here, &line);
    assert_eq!((status, err.trim()), (0, "1 case in made.test.yaml"));
    let tested = bayplan_in(&here, &["test", "made.test.yaml"]);
    assert_eq!(tested.status, 0, "{}{}", tested.out, tested.err);
    // Under the old text the case fails: it shows the change.
    std::fs::write(here.join("new.bay"), OLD).unwrap();
    assert_eq!(bayplan_in(&here, &["test", "made.test.yaml"]).status, 1);
    // A file is never overwritten.
    let again = bayplan_in(&here, &line);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("is there already"), "{}", again.err);
}

/// Nodes that use more than a share of what they have are refused.
const BUSY: &str = "policy p {\n  source load = metrics(window: 15min, max_age: 5min)\n  filter busy {\n    \
                    reject \"busy\" when share(load[node.name].cpu.mean ?? 0cpu, node.allocatable.cpu) > 0.8\n  }\n}\n";

#[test]
fn a_witness_may_be_what_a_node_uses() {
    let here = folder(&[("old.bay", BUSY), ("new.bay", &BUSY.replace("> 0.8", "> 0.5"))]);
    let line = ["diff", "old.bay", "new.bay", "-o", "json", "--write-tests", "made.test.yaml"];
    let Ended { status, out, err } = bayplan_in(&here, &line);
    assert_eq!((status, err.trim()), (0, "1 case in made.test.yaml"), "{out}");
    let said: Value = serde_json::from_str(&out).unwrap();
    let objects = &said["rules"][0]["witnesses"][0]["objects"];
    assert!(objects["load"]["cpu"]["mean"].is_string(), "{said:#}");
    let tested = bayplan_in(&here, &["test", "made.test.yaml"]);
    assert_eq!(tested.status, 0, "{}{}", tested.out, tested.err);
    std::fs::write(here.join("new.bay"), BUSY).unwrap();
    assert_eq!(bayplan_in(&here, &["test", "made.test.yaml"]).status, 1);
}

#[test]
fn what_wakes_pods_is_said_where_it_changes() {
    let room = OLD.replace("node.labels[\"zone\"] == \"a\"", "node.free.cpu < pod.requests.cpu");
    let here = folder(&[("old.bay", OLD), ("new.bay", &room), ("same.bay", &new())]);
    let text = bayplan_in(&here, &["diff", "old.bay", "new.bay"]).out;
    assert!(text.contains("a pod that it refuses wakes on: ") && text.contains("pod gone"), "{text}");
    assert!(text.contains("; before on: "), "{text}");
    let markdown = bayplan_in(&here, &["diff", "old.bay", "new.bay", "-o", "markdown"]).out;
    assert!(markdown.contains("a pod that it refuses wakes on: "), "{markdown}");
    let rule = |new: &str| -> Value {
        let out = bayplan_in(&here, &["diff", "old.bay", new, "-o", "json"]).out;
        serde_json::from_str::<Value>(&out).unwrap()["rules"][0].clone()
    };
    let of_room = rule("new.bay");
    let words = |name: &str| -> Vec<String> { serde_json::from_value(of_room[name].clone()).unwrap() };
    assert!(words("wakesOn").contains(&"pod gone".to_owned()), "{of_room:#}");
    assert!(words("wakesOnBefore").contains(&"labels zone".to_owned()), "{of_room:#}");
    // Other values of the same label wake as before.
    let of_labels = rule("same.bay");
    assert!(of_labels["wakesOn"].is_null() && of_labels["wakesOnBefore"].is_null(), "{of_labels:#}");
}

#[test]
fn markdown_has_no_markup_of_names() {
    let hostile = OLD.replace("\"a\"", "\"a|b<img>\"");
    let here = folder(&[("old.bay", OLD), ("new.bay", &hostile)]);
    let Ended { out, .. } = bayplan_in(&here, &["diff", "old.bay", "new.bay", "-o", "markdown"]);
    assert!(out.starts_with("### 1 rule compared: 1 means something else"), "{out}");
    assert!(!out.contains("<img") && out.contains("a\\|b&lt;img>"), "{out}");
}

#[test]
fn bad_input_is_a_sentence() {
    let here =
        folder(&[("old.bay", OLD), ("new.bay", "policy p { filter f { reject } }"), ("text.txt", "hello")]);
    std::fs::write(here.join("bytes.bay"), [0xff, 0xfe, 0x00]).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["diff", "old.bay"], "2 values required"),
        (&["diff", "old.bay", "nothing.bay"], "nothing.bay"),
        (&["diff", "old.bay", "new.bay"], "nothing was decided"),
        (&["diff", "old.bay", "bytes.bay"], "UTF-8"),
        (&["diff", "old.bay", "old.bay", "--policies", "old.bay"], "`--policies` has no meaning here"),
        (&["diff", "old.bay", "old.bay", "--kubernetes", "1.36..1.37"], "cannot be used with"),
        (&["diff", "old.bay", "old.bay", "--cluster", "nothing.json"], "nothing.json"),
        (&["diff"], "required"),
    ];
    for (line, words) in cases {
        let Ended { status, err, .. } = bayplan_in(&here, line);
        assert_eq!(status, 2, "{line:?}: {err}");
        assert!(err.contains(words), "{line:?}: {err}");
    }
}

#[test]
fn the_page_opens_on_what_moves() {
    let change = [
        "diff",
        "examples/rollout/1-audit",
        "examples/rollout/3-enforce",
        "--cluster",
        "examples/rollout/cluster.yaml",
        "--pods",
        "examples/rollout/pods.yaml",
        "-o",
        "bay-plan",
    ];
    let Ended { status, out, err } = bayplan(&change);
    assert_eq!((status, err.as_str()), (0, ""));
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(plan["opens"], "change");
    assert_eq!(plan["answer"][0], "1 pod begins to wait now.");
    assert_eq!(plan["flags"], "", "no flags of `explain` decide as NEW alone");
    let Ended { status, .. } = bayplan(&[&change[..], &["--exit-code"]].concat());
    assert_eq!(status, 1, "a pod is decided otherwise");
    let places = |column: &str| {
        let rows = plan["pods"][column].as_array().unwrap();
        rows.iter()
            .map(|row| {
                usize::try_from(row.as_i64().unwrap())
                    .map_or("", |row| plan["nodes"]["name"][row].as_str().unwrap())
            })
            .collect::<Vec<_>>()
    };
    let pods: Vec<&str> =
        plan["pods"]["name"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(pods, ["cart", "index", "crawl", "ledger"]);
    assert_eq!(places("before"), ["any-1"; 4]);
    assert_eq!(places("node"), ["red-1", "blue-1", "", "any-1"]);
}

#[test]
fn a_page_needs_a_cluster_and_policies() {
    let rules = ["examples/rollout/1-audit", "examples/rollout/3-enforce"];
    let Ended { status, err, .. } = bayplan(&["diff", rules[0], rules[1], "-o", "html"]);
    assert_eq!((status, err.contains("give one with `--cluster FILE`, or `--live`")), (2, true), "{err}");
    let versions =
        ["diff", "--kubernetes", "1.36..1.37", "--cluster", "examples/rollout/cluster.yaml", "-o", "html"];
    let Ended { status, err, .. } = bayplan(&versions);
    assert_eq!((status, err.contains("give OLD and NEW")), (2, true), "{err}");
}
