//! `bayplan plan`: what follows from what a rule reads, and how far policies may go.

use crate::support::command::{bayplan, bayplan_in, folder};
use serde_json::Value;

#[test]
fn plan_says_what_follows_from_what_a_rule_reads() {
    let source = "/// GPU pods stay on the nodes of their team.
policy gpu-rules {
  applies when pod.requests[\"nvidia.com/gpu\"] > 0
  gate \"held\" when pod.labels[\"hold\"] == \"yes\"
  filter same-team {
    require node.labels[\"team\"] == pod.labels[\"team\"] || node.labels[\"shared\"] == \"true\" else \"node(s) of another team\"
  }
  filter room { require node.free.cpu >= pod.requests.cpu else \"no room\" }
  let needed = pod.requests.cpu
  filter aliased { let free = node.free.cpu require free >= needed else \"no room\" }
  filter turned { let misses = needed > node.free[\"cpu\"] reject \"no room\" when misses }
  filter half { require node.free.cpu * 2 >= pod.requests.cpu else \"no room\" }
  filter lonely { reject \"node(s) with many pods\" when node.pods.count() > 5 }
}
";
    let folder = folder(&[("planned.bay", source)]);
    let path = folder.join("planned.bay");
    let path = path.to_str().unwrap();
    let ended = bayplan(&["plan", path, "-o", "json"]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let rules = json["policies"][0]["rules"].as_array().unwrap();
    let of = |name: &str| {
        let rule = rules.iter().find(|rule| rule["name"] == name).unwrap();
        let word = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        (rule["evictionHelps"] == true, word("newNodeHelps"), rule["autoscalerKnows"] == true)
    };
    assert_eq!(of("gate"), (false, "no".into(), false));
    assert_eq!(of("same-team"), (false, "if labelled".into(), false));
    assert_eq!(of("room"), (true, "yes".into(), true));
    // A let is a name for its expression.
    assert_eq!(of("aliased"), of("room"));
    assert_eq!(of("turned"), of("room"));
    assert_eq!(of("half"), (true, "yes".into(), false));
    assert_eq!(of("lonely"), (true, "maybe".into(), false));
    let drawn = bayplan(&["plan", path]).out;
    let line = drawn.lines().filter(|line| line.trim_start().starts_with("same-team")).nth(1).unwrap();
    let words = ["no", "if labelled", "no (1)", "labels shared, team"];
    assert!(words.iter().all(|word| line.contains(word)), "{drawn}");
    assert!(
        drawn.contains("(1) cluster-autoscaler and Karpenter see node affinity, not policies"),
        "{drawn}"
    );
}

#[test]
fn plan_says_for_which_pods_and_until_when_a_policy_decides() {
    let policy =
        |mode: &str| format!("/// x\npolicy p {{ {mode} filter f {{ require node.ready else \"r\" }} }}\n");
    for (mode, expected) in [
        ("", None),
        ("mode audit until 2031-01-31", Some("audit; audit is meant until 2031-01-31")),
        ("mode enforce when pod.name == \"a\" else warn", Some("enforce when pod.name == \"a\", else warn")),
        (
            "gate mode enforce when pod.name == \"a\" \"r\" when pod.priority > 1",
            Some("gate: enforce when pod.name == \"a\", else audit"),
        ),
    ] {
        let folder = folder(&[("moded.bay", &policy(mode))]);
        let path = folder.join("moded.bay");
        let path = path.to_str().unwrap();
        let ended = bayplan(&["plan", path, "-o", "json"]);
        let plan: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(plan["policies"][0]["mode"].as_str(), expected, "{}", ended.err);
        let printed = bayplan(&["plan", path]).out;
        assert!(
            expected.is_none_or(|mode| printed.contains(&format!("  mode         {mode}\n"))),
            "{printed}"
        );
    }
}

#[test]
fn plan_says_which_api_servers_take_what_a_binding_adds() {
    let policy = "/// x\npolicy p {\n  reserve {\n    annotate pod { \"example.com/on\": node.name }\n    label pod { \"example.com/zone\": node.zone ?? \"\" }\n  }\n}\n";
    let folder = folder(&[("adds.bay", policy)]);
    let ended = bayplan(&["plan", folder.join("adds.bay").to_str().unwrap(), "-o", "json"]);
    let plan: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        plan["policies"][0]["writes"],
        serde_json::json!([
            "annotate the pod, with its binding",
            "label the pod, with its binding (Kubernetes 1.35 or newer)",
        ]),
        "{}",
        ended.err
    );
}

/// A condition in CEL that is an error for pods without a label stops them all.
#[test]
fn plan_lint_and_explain_name_the_pods_that_an_error_stops() {
    let policy = "# Databases stay off spot nodes.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: no-spot}\nspec:\n  \
                  appliesWhen: pod.labels[\"kind\"] == \"database\"\n  filters:\n  - {name: ready, expression: node.ready, reason: no}\n";
    let cluster = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n\
                   apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: default}\nspec: {containers: [{name: a, image: a}]}\n";
    let at = folder(&[("p.yaml", policy), ("cluster.yaml", cluster)]);
    let plan = bayplan_in(&at, &["plan", "p.yaml"]);
    assert!(
        plan.out.contains("refuses every pod without the label `kind`, whatever the node"),
        "{}",
        plan.out
    );
    let json: Value = serde_json::from_str(&bayplan_in(&at, &["plan", "p.yaml", "-o", "json"]).out).unwrap();
    assert_eq!(
        json["policies"][0]["stops"][0],
        "refuses every pod without the label `kind`, whatever the node"
    );
    for (rule, when) in [
        (
            "filters: [{name: own, expression: 'pod.labels[\"kind\"] == \"x\"', reason: no}]",
            "whatever the node",
        ),
        ("permit: [{reject: no, when: 'pod.labels[\"kind\"] == \"x\"'}]", "once a node is chosen"),
    ] {
        let head = policy.split("  appliesWhen").next().unwrap();
        let at = folder(&[("p.yaml", &format!("{head}  {rule}\n"))]);
        let plan = bayplan_in(&at, &["plan", "p.yaml"]).out;
        let said = format!("refuses every pod without the label `kind`, {when}");
        assert!(plan.contains(&said), "{plan}");
    }
    let lint = bayplan_in(&at, &["lint", "p.yaml", "--deny", "warnings"]);
    assert_eq!(lint.status, 1, "{}{}", lint.out, lint.err);
    let fixed = policy.replace("pod.labels[\"kind\"]", "pod.labels[?\"kind\"].orValue(\"\")");
    let right = folder(&[("p.yaml", &fixed)]);
    assert_eq!(bayplan_in(&right, &["lint", "p.yaml", "--deny", "warnings"]).status, 0);
    assert!(!bayplan_in(&right, &["plan", "p.yaml"]).out.contains("refuses every pod"));
    let told = bayplan_in(&at, &["explain", "web", "--cluster", "cluster.yaml", "--policies", "p.yaml"]);
    for part in ["no-spot/applies when", "p.yaml:6", "no such key", "pod.labels[\"kind\"]"] {
        assert!(told.out.contains(part), "{part} in\n{}{}", told.out, told.err);
    }
    let gate = policy.replace(
        "appliesWhen: pod.labels[\"kind\"] == \"database\"",
        "gates: [{reason: held, when: 'pod.labels[\"kind\"] == \"x\"'}]",
    );
    let gated = folder(&[("p.yaml", &gate), ("cluster.yaml", cluster)]);
    let plan = bayplan_in(&gated, &["plan", "p.yaml"]);
    assert!(plan.out.contains("keeps back every pod without the label `kind`"), "{}", plan.out);
    let told = bayplan_in(&gated, &["explain", "web", "--cluster", "cluster.yaml", "--policies", "p.yaml"]);
    for part in ["p.yaml:6", "no such key", "pod.labels[\"kind\"]"] {
        assert!(told.out.contains(part), "{part} in\n{}{}", told.out, told.err);
    }
}
