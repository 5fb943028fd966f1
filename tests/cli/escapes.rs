//! Nothing that somebody else wrote reaches a terminal as it is: control characters, marks that turn text,
//! invisible characters and forged lines, in every kind of name and text, through every command and format.

use crate::support::command::{Ended, bayplan_in, folder};
use crate::support::repository;
use bayplan::diag::escape;
use serde_json::{Value, json};
use std::path::Path;

/// What an attacker would write. Each begins with a letter of its own, so that a failure names it.
const HOSTILE: [&str; 5] = [
    "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31mred\u{7f}\u{8}\u{8}erased",
    "b\u{202e}desrever\u{202c}\u{2066}isolated\u{2069}\u{200e}\u{200f}\u{61c}marks",
    "c\u{200b}\u{200d}\u{feff}\u{ad}hidden\u{fdd0}\u{fde0}\u{fde0}1\u{e0041}x",
    "d\nFORGED  n1  100  placed",
    "e\r\nFORGED\u{2028}FORGED\u{2029}x\tFORGED",
];

/// No raw character, no forged line. `tabs` are part of no text that a command prints of others.
fn assert_clean(what: &str, text: &str) {
    let raw = text.chars().find(|&c| escape::is_unsafe(c) && c != '\n');
    assert!(raw.is_none(), "{what}: raw {raw:?} in\n{}", text.escape_debug());
    // In YAML a line may follow another one: it is part of an indented text.
    if what.contains("\"yaml\"") {
        return;
    }
    let forged = text.lines().find(|line| line.trim_start_matches([' ', '│', '·']).starts_with("FORGED"));
    assert!(forged.is_none(), "{what}: a forged line in\n{text}");
}

fn check(folder: &Path, arguments: &[&str]) -> Ended {
    let ended = bayplan_in(folder, arguments);
    let what = format!("{arguments:?}");
    assert_clean(&what, &ended.out);
    assert_clean(&what, &ended.err);
    assert!(!ended.out.is_empty() || !ended.err.is_empty(), "{what} prints nothing");
    ended
}

/// A cluster in which one text of each kind is `text`.
fn cluster(text: &str, names: bool) -> Value {
    let name = |usual: &str| if names { format!("{usual}{text}") } else { usual.to_owned() };
    let meta = |usual: &str| {
        json!({
            "name": name(usual), "namespace": "default",
            "labels": {"team": text, text: "x"}, "annotations": {"note": text, text: "x"},
        })
    };
    let node = |usual: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": meta(usual),
            "spec": {"taints": [{"key": text, "value": text, "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        })
    };
    let pod = |usual: &str, more: Value| {
        let mut spec = json!({"containers": [
            {"name": name("main"), "image": text, "resources": {"requests": {"cpu": "1"}}}
        ]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta(usual), "spec": spec})
    };
    json!({"apiVersion": "v1", "kind": "List", "items": [
        node("n1"),
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2", "labels": {"zone": text}},
         "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}},
        pod("first", json!({})),
        pod("second", json!({"schedulerName": text})),
        pod("third", json!({"schedulingGates": [{"name": text}]})),
        pod("fourth", json!({"nodeSelector": {"zone": text, text: text}})),
        pod("fifth", json!({"nodeName": name("n1")})),
        pod("sixth", json!({"resources": {}, "tolerations": [{"key": text, "operator": "Exists"}]})),
        {"apiVersion": "v1", "kind": text, "metadata": {"name": text}},
    ]})
}

/// A ConfigMap with a wrong policy.
fn config_map(text: &str) -> Value {
    let line = text.replace(['\n', '\r'], " ");
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("rules{text}"), "labels": {"bayplan.dev/policy": text}},
        "data": {"rules.bay": format!("// {line}\npolicy inner {{ filter f {{ require nod.x }} }}")},
    })
}

const POLICY: &str = "\
/// Refuses with what the owner of the pod wrote.
policy note {
  let note = pod.annotations[\"note\"] ?? \"none\"
  filter f { reject \"note {note}\" with { team: pod.labels[\"team\"] } when node.name != \"zzz\" && note != \"x\" }
  score s { give 50 when pod.labels[\"team\"] == node.labels[\"team\"] }
}
";

#[test]
fn what_objects_hold_is_escaped_by_every_command_and_format() {
    let at = folder(&[]);
    std::fs::write(at.join("note.bay"), POLICY).unwrap();
    for (number, text) in HOSTILE.iter().enumerate() {
        for names in [false, true] {
            let file = format!("{number}-{names}.json");
            std::fs::write(at.join(&file), cluster(text, names).to_string()).unwrap();
            let map = format!("map-{number}.json");
            std::fs::write(at.join(&map), config_map(text).to_string()).unwrap();
            let first = if names { format!("first{text}") } else { "first".to_owned() };
            let first = first.as_str();
            let node = if names { format!("n1{text}") } else { "n1".to_owned() };
            let fourth = first.replace("first", "fourth");
            let (cluster, policies) = (["--cluster", &file], ["--policies", "note.bay"]);
            let mut lines: Vec<Vec<&str>> = Vec::new();
            for output in ["text", "json", "yaml"] {
                lines.push([&["dry-run", "-o", output, "--all-nodes"][..], &cluster, &policies].concat());
            }
            for output in ["text", "json"] {
                for more in [&[][..], &["--all"], &["--node", "n2"]] {
                    lines.push([&["explain", first, "-o", output][..], more, &cluster, &policies].concat());
                }
                for expression in
                    ["pod.annotations[\"note\"] ?? \"\"", "pod.labels[\"team\"] == node.labels[\"team\"]"]
                {
                    let start = ["eval", expression, "--pod", first, "--node", &node, "-o", output];
                    lines.push([&start[..], &cluster].concat());
                }
            }
            lines.push([&["explain", &fourth][..], &cluster].concat());
            lines.push([&["explain", &fourth, "--node", "n2"][..], &cluster].concat());
            lines.push(vec!["lint", &map]);
            lines.push([&["dry-run"][..], &["--cluster", &map], &cluster].concat());
            for line in lines {
                let ended = check(&at, &line);
                let stops = line.contains(&map.as_str());
                assert!(stops || !ended.out.is_empty(), "{line:?}: nothing was decided: {}", ended.err);
                if line.contains(&"json") && !ended.out.is_empty() {
                    serde_json::from_str::<Value>(&ended.out)
                        .unwrap_or_else(|error| panic!("{line:?}: {error}: {}", ended.out));
                }
            }
        }
    }
}

#[test]
fn what_files_hold_and_are_called_is_escaped_by_every_format() {
    let at = folder(&[]);
    for (number, text) in HOSTILE.iter().enumerate() {
        let inside = text.replace(['\n', '\r', '\u{2028}', '\u{2029}'], " ");
        let name = format!("{number}{}.bay", text.replace('/', "_"));
        let source = format!(
            "// {inside}\npolicy p{number} {{ filter f {{ require node.labels[\"{inside}\"] == tru }} }}\n"
        );
        std::fs::write(at.join(&name), source).unwrap();
        for format in ["human", "json", "sarif", "rdjson", "junit", "github"] {
            let ended = check(&at, &["lint", &name, "--format", format, "--all"]);
            if ["json", "sarif", "rdjson"].contains(&format) {
                serde_json::from_str::<Value>(&ended.out).unwrap();
            }
        }
        check(&at, &["lint", &name, "--no-graphics"]);
        check(&at, &["plan", &name]);
        check(&at, &["dry-run", "--cluster", "none.json", "--policies", &name]);
        let case = json!({
            "policies": [name], "cluster": [format!("no{text}.yaml")],
            "cases": [{"name": text, "pod": {"name": text}, "expect": {"node": text}}],
        });
        let tests = format!("{number}.test.yaml");
        std::fs::write(at.join(&tests), case.to_string()).unwrap();
        for output in ["text", "json", "junit", "github"] {
            check(&at, &["test", &tests, "-o", output]);
        }
    }
}

#[test]
fn cases_of_tests_are_escaped_by_every_format() {
    let at = folder(&[]);
    std::fs::write(at.join("note.bay"), POLICY).unwrap();
    for (number, text) in HOSTILE.iter().enumerate() {
        let cluster = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"team": text}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
        std::fs::write(at.join("cluster.json"), cluster.to_string()).unwrap();
        let case = json!({
            "policies": ["note.bay"], "cluster": ["cluster.json"],
            "cases": [{"name": text, "pod": {"name": "web", "annotations": {"note": text}}, "expect": {"node": text}}],
        });
        let tests = format!("{number}.test.yaml");
        std::fs::write(at.join(&tests), case.to_string()).unwrap();
        for more in [&[][..], &["-o", "json"], &["-o", "junit"], &["-o", "github"], &["--explain"], &["-v"]] {
            check(&at, &[&["test", &tests][..], more].concat());
        }
    }
}

#[test]
fn arguments_are_escaped_where_they_are_repeated() {
    for text in HOSTILE {
        let at = repository("");
        for line in [
            vec!["lint", text],
            vec!["explain", text, "--cluster", "examples/first/cluster.yaml"],
            vec!["explain", "train-c", "--node", text, "--cluster", "examples/first/cluster.yaml"],
            vec!["dry-run", "--cluster", text],
            vec!["dry-run", "--cluster", "examples/first/cluster.yaml", "--config", text],
            vec!["eval", text],
            vec!["test", text],
            vec!["plan", text],
            vec!["lint", "--explain", text],
            vec!["lint", "--format", text],
            vec!["lint", "--format", text, "--color", "always"],
            vec![text],
            vec!["run", "--config", text],
        ] {
            let ended = bayplan_in(&at, &line);
            let what = format!("{line:?}");
            // Colours that were asked for are ours.
            let err = ended.err.replace("\u{1b}[", "");
            assert_clean(&what, &err);
            assert_clean(&what, &ended.out);
        }
    }
}
