//! Everything that refuses a pod is explained with its place and values, those of the pod's own profile: prefilters,
//! reserve, permit, gates, evictions, groups. In JSON, on a terminal, and in tests of policies.

use crate::support::command::bayplan;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A folder with files of these names and texts.
pub(super) fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bayplan-statements-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

pub(super) fn node(name: &str, allocatable: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}})
}

pub(super) fn pod(name: &str, labels: Value, requests: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests, "limits": requests}}]},
    })
}

fn on(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

pub(super) fn list(items: &[Value]) -> String {
    json!({"kind": "List", "items": items}).to_string()
}

/// What `explain` says of a pod, as text and as JSON.
pub(super) fn explained(folder: &std::path::Path, arguments: &[&str]) -> (String, Value) {
    let path = |file: &str| folder.join(file).display().to_string();
    let (cluster, policies) = (path("c.json"), path("p.bay"));
    let mut all = vec!["explain"];
    all.extend(arguments);
    all.extend(["--cluster", &cluster, "--policies", &policies]);
    let config = path("config.yaml");
    if folder.join("config.yaml").exists() {
        all.extend(["--config", &config]);
    }
    let text = bayplan(&all);
    assert_eq!(text.status, 0, "{}", text.err);
    all.extend(["-o", "json"]);
    (text.out, serde_json::from_str(&bayplan(&all).out).unwrap())
}

const QUOTA: &str = "\
/// Each team has its share.
policy quota {
  param pool = 16
  applies when has(pod.labels[\"team\"])
  ledger all: count by \"all\" { add pod.requests[\"nvidia.com/gpu\"] }
  prefilter {
    reject \"the pool is used up\" with {used: all[\"all\"], pool: pool}
      when all[\"all\"] + pod.requests[\"nvidia.com/gpu\"] > pool
  }
}
";

pub(super) fn gpus(count: u32) -> Value {
    json!({"nvidia.com/gpu": count.to_string()})
}

fn quota(name: &str) -> PathBuf {
    let team = || json!({"team": "red"});
    let cluster = list(&[
        node("n1", json!({"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "32"})),
        on(pod("r1", team(), gpus(15)), "n1"),
        pod("r2", team(), gpus(4)),
    ]);
    folder(name, &[("c.json", &cluster), ("p.bay", QUOTA)])
}

#[test]
fn a_prefilter_shows_its_line_condition_and_values() {
    let folder = quota("prefilter");
    let (text, json) = explained(&folder, &["r2"]);
    for part in ["quota/prefilter", "p.bay:7", "used: 15", "pool: 16", "all[\"all\"] +"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told = &json["refusedBy"][0];
    assert_eq!(
        (&told["rule"], &told["details"]),
        (&json!("quota/prefilter"), &json!({"used": "15", "pool": "16"}))
    );
    assert_eq!(told["condition"]["truth"], true);
    let (text, _) = explained(&folder, &["r2", "--node", "n1"]);
    assert!(
        text.contains("refused by quota before nodes are evaluated") && text.contains("used: 15"),
        "{text}"
    );
}

#[test]
fn a_quota_offers_less_and_waiting_and_no_way_around_it() {
    let (_, json) = explained(&quota("less"), &["r2"]);
    let helps: Vec<&str> =
        json["wouldHelp"].as_array().unwrap().iter().map(|help| help["what"].as_str().unwrap()).collect();
    assert_eq!(helps[0], "request 1 nvidia.com/gpu instead of 4", "{helps:?}");
    assert!(helps.contains(&"until 3 nvidia.com/gpu come free"), "{helps:?}");
    assert!(!helps.iter().any(|what| what.contains("label")), "{helps:?}");
}

#[test]
fn what_refuses_a_chosen_node_is_named_with_its_values() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "pods": "9"})),
        on(pod("r", json!({}), json!({})), "n1"),
        pod("p", json!({}), json!({})),
    ]);
    let policy = "/// x\npolicy late {\n  permit { reject \"no\" with {pods: node.pods.count()} when node.pods.count() > 1 }\n}\n";
    let folder = folder("late", &[("c.json", &cluster), ("p.bay", policy)]);
    let (text, json) = explained(&folder, &["p"]);
    for part in ["late refuses it once n1 is chosen", "late/permit on n1", "p.bay:3", "pods: 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(json["refusedBy"][0]["node"], "n1");
    let (text, json) = explained(&folder, &["p", "--node", "n1"]);
    assert!(text.contains("once the node is chosen") && text.contains("p.bay:3"), "{text}");
    assert_eq!(json["onNode"]["onceChosen"]["rule"], "late/permit");
}

#[test]
fn values_are_those_of_the_pods_own_profile() {
    let cluster = list(&[
        node("n1", json!({"cpu": "8", "memory": "10Gi", "pods": "9"})),
        pod("p", json!({}), json!({"memory": "7Gi"})),
    ]);
    let policy = "/// x\npolicy headroom {\n  param least = 20%\n  filter mem {\n    require share(node.free.memory - \
                  pod.requests.memory, node.allocatable.memory) >= least else \"full\" with {least: least}\n  }\n}\n";
    for order in [["red", "default-scheduler"], ["default-scheduler", "red"]] {
        let profiles = order.map(|name| match name {
            "red" => "- schedulerName: red\n  pluginConfig: [{name: headroom, args: {least: \"50%\"}}]\n",
            _ => "- schedulerName: default-scheduler\n",
        });
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n{}",
            profiles.concat()
        );
        let case = "policies: [p.bay]\nconfig: config.yaml\nnodes: [{name: n1, allocatable: {cpu: 8, memory: 10Gi}}]\n\
                    cases:\n- name: the default profile keeps 20 %\n  pod: {name: p, requests: {memory: 7Gi}}\n  \
                    expect: {node: n1}\n";
        let files =
            [("c.json", &*cluster), ("p.bay", policy), ("config.yaml", &config), ("p.test.yaml", case)];
        let folder = folder("profiles", &files);
        let (_, json) = explained(&folder, &["p", "--node", "n1", "--all"]);
        let rule = &json["onNode"]["policyRules"][0];
        assert_eq!((&rule["refuses"], &rule["details"]["least"]), (&json!(false), &json!("0.2")), "{json}");
        let tested = bayplan(&["test", folder.join("p.test.yaml").to_str().unwrap(), "--explain"]).out;
        assert!(tested.contains("mem passes n1") && !tested.contains("never true"), "{tested}");
    }
}

#[test]
fn a_gang_that_waits_says_which_member_lacks_what() {
    let of_gang = || json!({"gang": "g"});
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("a", of_gang(), json!({"cpu": "1"})),
        pod("b", of_gang(), json!({"cpu": "9"})),
    ]);
    let policy = "/// x\npolicy gang {\n  applies when has(pod.labels[\"gang\"])\n  group members = p in pods where p.labels[\"gang\"] == \
                  pod.labels[\"gang\"]\n  permit { wait 1min for members until members.count(m, m.placed) >= 2 else \
                  \"incomplete\" }\n}\n";
    let folder = folder("gang", &[("c.json", &cluster), ("p.bay", policy)]);
    let (text, json) = explained(&folder, &["a"]);
    assert!(text.contains("gang/permit on n1") && text.contains("p.bay:5"), "{text}");
    let member = &json["group"][0];
    assert_eq!(member["pod"], "default/b");
    assert!(member["state"].as_str().unwrap().contains("Insufficient cpu"), "{member}");
}

const YIELDS: &str = "/// x\npolicy yields { preempt { victim v when v.namespace == \"batch\" } }\n";

fn batch(mut pod: Value) -> Value {
    pod["metadata"]["namespace"] = json!("batch");
    pod
}

#[test]
fn the_rule_that_named_a_victim_is_shown_and_other_nodes_as_they_are() {
    let cpu = || json!({"cpu": "2"});
    let cluster = list(&[
        node("n1", json!({"cpu": "2", "memory": "8Gi", "pods": "9"})),
        node("n2", json!({"cpu": "1", "memory": "8Gi", "pods": "9"})),
        on(batch(pod("b", json!({}), cpu())), "n1"),
        pod("p", json!({}), cpu()),
    ]);
    let folder = folder("yields", &[("c.json", &cluster), ("p.bay", YIELDS)]);
    let (text, json) = explained(&folder, &["p"]);
    assert!(text.contains("Evicted by yields,") && text.contains("p.bay:2: batch/b on n1"), "{text}");
    assert!(text.contains("NodeResourcesFit: Insufficient cpu"), "{text}");
    assert_eq!(json["evictions"]["mayBeEvicted"][0]["policy"], "yields");
}

#[test]
fn tests_say_which_rule_named_a_victim() {
    let case = "policies: [p.bay]\nnodes: [{name: n1, allocatable: {cpu: 2, memory: 8Gi}}]\ncases:\n- name: room\n  \
                pods: [{name: b, namespace: batch, node: n1, requests: {cpu: 2}}, {name: p, requests: {cpu: 2}}]\n  \
                expect: {p: {node: n1, evicts: []}}\n";
    let folder = folder("victims", &[("p.bay", YIELDS), ("p.test.yaml", case)]);
    let tested = bayplan(&["test", folder.join("p.test.yaml").to_str().unwrap()]).out;
    assert!(tested.contains("evicts b; the pod is placed on n1"), "{tested}");
    assert!(tested.contains("yields/victim names batch/b on n1") && tested.contains("p.bay:2"), "{tested}");
}

#[test]
fn a_pod_behind_a_gate_is_ours_and_says_what_follows() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({"tier": "batch"}), json!({"cpu": "9"})),
    ]);
    let policy = "/// x\npolicy batch {\n  applies when pod.labels[\"tier\"] == \"batch\"\n  gate \"batch starts in 2099\" when \
                  now() < time(\"2099-01-01T00:00:00Z\")\n}\n";
    let folder = folder("gate", &[("c.json", &cluster), ("p.bay", policy)]);
    let (text, json) = explained(&folder, &[]);
    assert!(text.contains("batch: batch starts in 2099") && !text.contains("Not ours"), "{text}");
    assert!(text.contains("the only node does not fit"), "{text}");
    assert!(json["gated"][0]["opens"].as_str().unwrap().starts_with("2099-01-01"), "{json}");
    let (text, json) = explained(&folder, &["p"]);
    assert!(
        text.contains("In the queue: the only node does not fit") && json["gate"]["then"].is_string(),
        "{text}"
    );
    let path = |file: &str| folder.join(file).display().to_string();
    let dry = bayplan(&["dry-run", "--cluster", &path("c.json"), "--policies", &path("p.bay")]).out;
    assert!(dry.contains("batch starts in 2099; opens ") && dry.contains("2099-01-01 00:00"), "{dry}");
}

#[test]
fn the_message_is_the_whole_text_of_the_event() {
    let cluster = list(&[
        node("n1", json!({"cpu": "2", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({}), json!({"cpu": "4"})),
    ]);
    let folder = folder("message", &[("c.json", &cluster), ("p.bay", YIELDS)]);
    let (_, json) = explained(&folder, &["p"]);
    assert_eq!(json["message"], json["decision"]["message"], "{json}");
}

/// What `test --explain` prints of one case on the cluster of the folder.
fn tested(folder: &std::path::Path, case: &str) -> String {
    let text = format!("policies: [p.bay]\ncluster: c.json\ncases:\n- name: one\n{case}");
    std::fs::write(folder.join("p.test.yaml"), text).unwrap();
    let ended = bayplan(&["test", folder.join("p.test.yaml").to_str().unwrap(), "--explain"]);
    assert!(matches!(ended.status, 0 | 1), "{}", ended.err);
    ended.out
}

/// A node that a running pod fills, and a pod of higher priority.
fn full(policy: &str, name: &str) -> PathBuf {
    let cpu = || json!({"cpu": "2"});
    let mut p = pod("p", json!({}), cpu());
    p["spec"]["priority"] = json!(10);
    let runs = on(pod("b", json!({"role": "leader"}), cpu()), "n1");
    let cluster = list(&[node("n1", json!({"cpu": "2", "memory": "8Gi", "pods": "9"})), runs, p]);
    folder(name, &[("c.json", &cluster), ("p.bay", policy)])
}

const PREEMPTOR: &str =
    "  pod: {name: q, priority: 10, requests: {cpu: 2}}\n  expect: {unschedulable: true}\n";

#[test]
fn what_keeps_pods_from_being_evicted_shows_its_condition_and_values() {
    let victim = "victim v when v.priority < pod.priority";
    for (rule, name, parts) in [
        (
            "guard node.pods.count() >= 1 else \"one stays\" with {left: node.pods.count()}",
            "guard",
            ["y/guard on n1", "p.bay:4", "one stays", "left: 0", "node.pods.count() >= 1"],
        ),
        (
            "never \"no evictions\" with {of: pod.namespace} when pod.namespace == \"default\"",
            "never",
            ["y/never", "p.bay:4", "no evictions", "of: \"default\"", "pod.namespace == \"default\""],
        ),
    ] {
        let policy = format!("/// x\npolicy y {{ preempt {{\n  {victim}\n  {rule}\n}} }}\n");
        let folder = full(&policy, name);
        let (text, json) = explained(&folder, &["p"]);
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
        let told = &json["evictions"]["keeps"][0];
        assert_eq!(told["rule"], format!("y/{name}"), "{json}");
        assert!(told["condition"]["parts"].is_array() && told["details"].as_object().unwrap().len() == 1);
        let tested = tested(&folder, PREEMPTOR);
        assert!(tested.contains(&format!("y/{name} ")) && tested.contains("p.bay:4 ("), "{tested}");
        let (text, json) = explained(&folder, &["p", "--node", "n1"]);
        assert!(text.contains(parts[2]) && text.contains(parts[4]), "{text}");
        let rules = json["onNode"]["evictions"].as_array().unwrap();
        assert!(rules.iter().any(|of| of["rule"] == format!("y/{name}")), "{json}");
    }
    // Each pod of a node with the rules that name and protect it.
    let policy = format!(
        "/// x\npolicy y {{ preempt {{\n  {victim}\n  protect v when v.labels[\"role\"] == \"leader\"\n}} }}\n"
    );
    let folder = full(&policy, "protect");
    let (text, json) = explained(&folder, &["p", "--node", "n1"]);
    for part in ["y/victim on default/b", "y/protect on default/b", "\"leader\"", "v.priority < pod.priority"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let of = |json: &Value, at: usize| json["onNode"]["evictions"][at]["condition"]["text"].clone();
    assert_eq!(of(&json, 1), "v.labels[\"role\"] == \"leader\"");
    let (_, json) = explained(&folder, &["p"]);
    assert_eq!(json["evictions"]["protected"][0]["condition"]["truth"], true, "{json}");
}

#[test]
fn a_missing_value_shows_its_expression_and_what_follows_is_not_claimed() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({"job": "j"}), json!({})),
    ]);
    for (missing, why) in [
        ("missing reject \"no shards\" with {job: pod.labels[\"job\"]}", "refuses the pod"),
        ("missing error", "ends the attempt with an error"),
    ] {
        let policy = format!(
            "/// x\npolicy m {{\n  let n = int(pod.annotations[\"shards\"]) {missing}\n  filter f {{ require n > 3 else \"few\" }}\n}}\n"
        );
        let folder = folder("missing", &[("c.json", &cluster), ("p.bay", &policy)]);
        let (text, json) = explained(&folder, &["p"]);
        for part in ["m/n", "p.bay:3", "int(pod.annotations[\"shards\"])", "absent"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(json["refusedBy"][0]["condition"]["value"], "absent", "{json}");
        let (text, _) = explained(&folder, &["p", "--node", "n1"]);
        assert!(!text.contains("few") && text.contains("absent"), "{text}");
        let tested = tested(&folder, "  pod: {name: q, labels: {job: j}}\n  expect: {not: n1}\n");
        assert!(tested.contains(&format!("m/n {why}")) && tested.contains("p.bay:3"), "{tested}");
        assert!(!tested.contains("f refuses"), "{tested}");
    }
}

#[test]
fn narrowed_nodes_are_shown_with_the_statement() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({"pin": "yes"}), json!({})),
    ]);
    let policy = "/// x\npolicy pins {\n  prefilter { only nodes [\"gone\"] when pod.labels[\"pin\"] == \"yes\" }\n}\n";
    let folder = folder("only", &[("c.json", &cluster), ("p.bay", policy)]);
    let (text, json) = explained(&folder, &["p"]);
    for part in ["pins/prefilter", "p.bay:3", "leaves the nodes [\"gone\"]", "pod.labels[\"pin\"] == \"yes\""]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(json["refusedBy"][0]["nodes"], "[\"gone\"]");
    let tested =
        tested(&folder, "  pod: {name: q, labels: {pin: \"yes\"}}\n  expect: {unschedulable: true}\n");
    assert!(tested.contains("pins/prefilter leaves the nodes [\"gone\"]"), "{tested}");
}

#[test]
fn tests_show_lines_and_values_of_everything_that_refuses() {
    let cluster = list(&[node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"}))]);
    for (rule, told) in [
        ("gate \"held\" with {of: pod.name} when pod.priority == 0", "the gate of t keeps the pod out, "),
        ("filter f { reject \"no\" with {of: pod.name} when node.name == \"n1\" }", "f refuses n1, "),
        ("reserve { reject \"no\" with {of: pod.name} when pod.priority == 0 }", "t/reserve refuses n1, "),
        ("permit { reject \"no\" with {of: pod.name} when pod.priority == 0 }", "t/permit refuses n1, "),
        (
            "permit { wait 60s until pod.priority > 0 else \"no\" with {of: pod.name} }",
            "t/permit waits on n1, ",
        ),
    ] {
        let policy = format!("/// x\npolicy t {{\n  {rule}\n}}\n");
        let folder = folder("told", &[("c.json", &cluster), ("p.bay", &policy)]);
        let tested = tested(&folder, "  pod: {name: q}\n  expect: {not: n1}\n");
        let line =
            tested.lines().find(|line| line.contains(told)).unwrap_or_else(|| panic!("{told}: {tested}"));
        assert!(line.contains("p.bay:3 (of: \"q\")"), "{line}");
    }
}

/// A policy is named in the overview whatever its name, and by what it waits for.
#[test]
fn the_overview_names_the_policy_of_each_cause() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({}), json!({})),
    ]);
    for (rule, cause) in [
        ("gate \"members missing\" when pod.priority == 0", "g: members missing"),
        ("permit { wait 60s until pod.priority > 0 else \"incomplete\" }", "g: incomplete"),
    ] {
        let policy = format!("/// x\npolicy g {{ {rule} }}\n");
        let folder = folder("named", &[("c.json", &cluster), ("p.bay", &policy)]);
        let (text, _) = explained(&folder, &[]);
        assert!(text.contains(cause), "{text}");
    }
}

#[test]
fn an_error_in_cel_is_told_once() {
    let cluster = list(&[
        node("n1", json!({"cpu": "4", "memory": "8Gi", "pods": "9"})),
        pod("p", json!({}), json!({})),
    ]);
    let policy = "# x\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: c}\nspec:\n  \
                  appliesWhen: pod.labels[\"k\"] == \"x\"\n  filters:\n  - {name: f, expression: node.ready, reason: no}\n";
    let folder = folder("once", &[("c.json", &cluster), ("p.yaml", policy)]);
    let path = |file: &str| folder.join(file).display().to_string();
    let flags = ["--cluster", &path("c.json"), "--policies", &path("p.yaml")];
    let text = bayplan(&[&["explain", "p"][..], &flags].concat()).out;
    assert_eq!(text.matches("c/applies when   ").count(), 1, "{text}");
    let case =
        "policies: [p.yaml]\ncluster: c.json\ncases:\n- name: one\n  pod: {name: q}\n  expect: {not: n1}\n";
    std::fs::write(folder.join("p.test.yaml"), case).unwrap();
    let tested = bayplan(&["test", &path("p.test.yaml"), "--explain"]).out;
    assert!(
        tested.contains("c/applies when refuses the pod, ") && tested.contains("no such key"),
        "{tested}"
    );
}
