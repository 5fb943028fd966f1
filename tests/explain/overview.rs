//! Explanations of whole clusters: every table that divides something adds up, and suggestions
//! help.

use crate::support::command;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What the command prints.
fn printed(arguments: &[&str]) -> String {
    let ended = command::bayplan(arguments);
    assert!(matches!(ended.status, 0 | 1), "{arguments:?}: {}", ended.err);
    ended.out
}

/// Nodes that differ in everything that a rule looks at, and pods that want much.
fn cluster() -> Vec<Value> {
    let mut objects = Vec::new();
    for at in 0..40 {
        let taints = if at % 4 == 0 {
            json!([{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}])
        } else {
            json!([])
        };
        objects.push(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{at:02}"), "labels": {
                "team": if at % 3 == 0 { "shop" } else { "vision" },
                "disk": if at % 5 == 0 { "ssd" } else { "hdd" },
            }},
            "spec": {"unschedulable": at == 7, "taints": taints},
            "status": {"allocatable": {"cpu": (2 + at % 5).to_string(), "memory": "8Gi", "pods": "3"}},
        }));
    }
    for at in 0..12 {
        let cpu = ["6", "8", "6", "1"][at % 4];
        let selector = if at % 4 == 3 { json!({"disk": "nvme"}) } else { json!({}) };
        objects.push(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{at}"), "labels": {"team": "shop"}},
            "spec": {"nodeSelector": selector, "containers": [{"name": "c", "image": "x", "resources": {
                "requests": {"cpu": cpu, "memory": "1Gi"},
            }}]},
        }));
    }
    objects
}

const POLICY: &str = "\
/// Teams stay at home.
policy home {
  filter same-team {
    require node.labels[\"team\"] == pod.labels[\"team\"] else \"node(s) belong to another team\"
  }
}
";

fn files(name: &str, objects: &[Value]) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("bayplan-explain-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cluster, policy) = (folder.join("cluster.json"), folder.join("home.bay"));
    std::fs::write(&cluster, json!({"kind": "List", "items": objects}).to_string()).unwrap();
    std::fs::write(&policy, POLICY).unwrap();
    (cluster, policy)
}

#[test]
fn every_division_adds_up_to_all_nodes() {
    let objects = cluster();
    let (cluster, policy) = files("sums", &objects);
    let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policy.to_str().unwrap()];
    let mut waiting = 0;
    for pod in 0..12 {
        let name = format!("p{pod}");
        let mut arguments = vec!["explain", name.as_str(), "-o", "json"];
        arguments.extend(flags);
        let told: Value = serde_json::from_str(&printed(&arguments)).unwrap();
        assert_eq!(told["kind"], "Explanation");
        let nodes = told["nodes"].as_u64().unwrap();
        assert_eq!(nodes, 40);
        let sets = told["sets"].as_array().unwrap();
        let refused: u64 = sets.iter().map(|set| set["nodes"].as_u64().unwrap()).sum();
        assert_eq!(refused + told["fits"].as_array().unwrap().len() as u64, nodes, "{name}");
        for rule in told["rules"].as_array().unwrap() {
            let with = |alone: bool| -> u64 {
                let of_rule = sets.iter().filter(|set| {
                    let rules = set["rules"].as_array().unwrap();
                    rules.contains(&rule["rule"]) && (!alone || rules.len() == 1)
                });
                of_rule.map(|set| set["nodes"].as_u64().unwrap()).sum()
            };
            assert_eq!(rule["refuses"].as_u64(), Some(with(false)), "{name} {rule}");
            assert_eq!(rule["alone"].as_u64(), Some(with(true)), "{name} {rule}");
        }
        if told["state"] == "waits" {
            waiting += 1;
            let event = told["message"].as_str().unwrap();
            // What follows is about preemption.
            let reasons = event.split_once(": ").unwrap().1;
            let reasons = reasons.split_once(". ").map_or(reasons, |(reasons, _)| reasons);
            let counts = reasons.split(", ");
            let sum: u64 = counts.map(|part| part.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(sum, nodes, "{event}");
        }
        the_first_table_of_the_text_adds_up(&name, &flags);
    }
    assert!(waiting >= 3, "{waiting}");
}

/// The lines below `NODES` up to the sum.
fn the_first_table_of_the_text_adds_up(pod: &str, flags: &[&str]) {
    let mut arguments = vec!["explain", pod];
    arguments.extend(flags);
    let text = printed(&arguments);
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("NODES"));
    let rows: Vec<&str> = table.skip(1).take_while(|line| !line.is_empty()).collect();
    let numbers: Vec<u64> = rows
        .iter()
        .map(|row| row.split_whitespace().next().unwrap().replace(',', "").parse().unwrap())
        .collect();
    let (sum, parts) = numbers.split_last().unwrap();
    assert_eq!(parts.iter().sum::<u64>(), *sum, "{text}");
    assert_eq!(*sum, 40, "{text}");
}

#[test]
fn what_is_said_to_help_helps() {
    let objects = cluster();
    let (cluster, policy) = files("helps", &objects);
    let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policy.to_str().unwrap()];
    // The two nodes of the team with six cpu that are not tainted go to the first two pods that
    // want six.
    let mut arguments = vec!["explain", "p4", "-o", "json"];
    arguments.extend(flags);
    let told: Value = serde_json::from_str(&printed(&arguments)).unwrap();
    assert_eq!(told["state"], "waits", "{told}");
    let helps = told["wouldHelp"].as_array().unwrap();
    let of = |whose: &str| helps.iter().find(|help| help["whose"] == whose).cloned();
    let excepted = of("policy").expect("an exception");
    assert_eq!(excepted["what"], "except this pod from home/same-team");
    for name in excepted["nodes"].as_array().unwrap() {
        let object = objects.iter().find(|object| object["metadata"]["name"] == *name).unwrap();
        assert_eq!(object["metadata"]["labels"]["team"], "vision", "{name}");
    }
    // The label that would help, set in the file.
    let label = of("node").expect("a label");
    let node = label["nodes"][0].as_str().unwrap();
    let mut changed = objects.clone();
    let object = changed.iter_mut().find(|object| object["metadata"]["name"] == node).unwrap();
    object["metadata"]["labels"]["team"] = json!("shop");
    let (cluster, policy) = files("changed", &changed);
    let text = printed(&[
        "dry-run",
        "-o",
        "json",
        "--cluster",
        cluster.to_str().unwrap(),
        "--policies",
        policy.to_str().unwrap(),
    ]);
    let decisions: Value = serde_json::from_str(&text).unwrap();
    let all = decisions["decisions"].as_array().unwrap();
    let of_pod = all.iter().find(|one| one["pod"] == "default/p4").unwrap();
    assert_eq!(of_pod["state"], "placed", "{of_pod}");
}

#[test]
fn a_limit_of_time_ends_long_work_and_says_where_it_was() {
    let mut objects = cluster();
    for at in 0..3_000 {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("many{at}")},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        }));
    }
    let (cluster, policy) = files("limit", &objects);
    for arguments in [&["dry-run"][..], &["explain"], &["explain", "p1"]] {
        let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policy.to_str().unwrap()];
        let ended = command::bayplan(&[arguments, &flags, &["--timeout", "10ms"]].concat());
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
        assert!(ended.err.starts_with("error: stopped after 10ms (`--timeout`) while "), "{}", ended.err);
    }
    let ended = command::bayplan(&["dry-run", "--cluster", cluster.to_str().unwrap(), "--timeout", "0s"]);
    assert!(ended.status == 2 && ended.err.contains("must be greater than zero"), "{}", ended.err);
}

/// Templates of one kind share an explanation; what each of them waits for is what `explain` says of its pods.
#[test]
fn every_template_has_the_cause_of_its_pods() {
    let mut objects = cluster();
    for (at, cpu) in ["3", "5", "9", "7"].into_iter().cycle().take(24).enumerate() {
        let team = ["shop", "vision", "none"][at % 3];
        objects.push(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("q{at}"), "labels": {"team": team, "app": format!("app{at}")}},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]},
        }));
    }
    let (cluster, policy) = files("kinds", &objects);
    let flags =
        ["--cluster", cluster.to_str().unwrap(), "--policies", policy.to_str().unwrap(), "-o", "json"];
    let told: Value = serde_json::from_str(&printed(&[&["explain"][..], &flags].concat())).unwrap();
    let mut compared = 0;
    for cause in told["causes"].as_array().unwrap() {
        for template in cause["templates"].as_array().unwrap() {
            let pod = template["pods"][0].as_str().unwrap();
            let one: Value =
                serde_json::from_str(&printed(&[&["explain", pod][..], &flags].concat())).unwrap();
            // The rule that alone keeps away the most nodes.
            let rule = one["rules"][0]["rule"].as_str().unwrap();
            let said = cause["cause"].as_str().unwrap();
            let reason = one["rules"][0]["because"][0]["reason"].as_str().unwrap();
            assert!(said.contains(rule) || said.contains(reason), "{pod}: {said}, not {rule}: {reason}");
            compared += 1;
        }
    }
    assert!(compared > 12, "{compared}");
}
