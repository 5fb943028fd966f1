//! The real binary: arguments, what it prints where, and how it ends. Every bad input has a message and a status, and
//! nothing panics.

use crate::support::command::{Ended, bayplan, bayplan_reads};
use crate::support::repository;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const FIRST: [&str; 4] = ["--cluster", "examples/first/cluster.yaml", "--policies", "examples/first"];

fn first(command: &[&str], more: &[&str]) -> Ended {
    let arguments: Vec<&str> = command.iter().chain(&FIRST).chain(more).copied().collect();
    bayplan(&arguments)
}

/// A file in a folder of its own.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bayplan-cli-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_dry_run_prints_a_line_for_each_pod_and_counts_that_add_up() {
    let ended = first(&["dry-run"], &[]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].starts_with("POD      NODE   SCORE  WHY"), "{}", ended.out);
    assert!(lines[1].starts_with("train-a  gpu-1"), "{}", ended.out);
    assert!(lines[4].contains("waits      -  3 Insufficient nvidia.com/gpu, 1 node(s) labeled avoid=true"));
    let summary = "4 pods: 3 placed, 1 waits. 4 nodes, 1 policy. Nothing was written.";
    assert!(lines.contains(&summary), "{}", ended.out);
    let next = ended.out.lines().last().unwrap().strip_prefix("Next: bayplan ").unwrap();
    let next: Vec<&str> = next.split(' ').collect();
    assert_eq!(bayplan(&next).status, 0, "the next command runs as it is printed");
    assert_eq!(first(&["dry-run"], &["--quiet"]).out, format!("{summary}\n"));
}

#[test]
fn fail_on_unschedulable_is_status_1_only_when_a_pod_waits() {
    assert_eq!(first(&["dry-run"], &["--fail-on", "unschedulable"]).status, 1);
    let placed = file("placed.yaml", NODE_AND_POD.as_bytes());
    let ended = bayplan(&["dry-run", "--cluster", text(&placed), "--fail-on", "unschedulable"]);
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("the only node that fits"), "{}", ended.out);
}

const NODE_AND_POD: &str = "\
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: x, resources: {requests: {cpu: '1'}}}]}
";

#[test]
fn the_json_of_a_dry_run_has_the_documented_fields() {
    let ended = first(&["dry-run"], &["-o", "json", "--all-nodes"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["apiVersion"], "bayplan.dev/v1");
    assert_eq!(json["kind"], "DryRun");
    let decisions = json["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 4);
    for decision in decisions {
        for field in ["pod", "profile", "node", "message", "nominatedNode", "victims", "best", "nodes"] {
            assert!(decision.get(field).is_some(), "{field}: {decision}");
        }
        for node in decision["nodes"].as_array().unwrap() {
            if node["feasible"] == true {
                let sum: i64 =
                    node["scores"].as_object().unwrap().values().map(|s| s.as_i64().unwrap()).sum();
                assert_eq!(node["total"].as_i64(), Some(sum), "{node}");
            } else {
                assert!(node["plugin"].is_string() && node["code"].is_string() && node["reasons"].is_array());
            }
        }
    }
    let train_a = decisions.iter().find(|decision| decision["pod"] == "default/train-a").unwrap();
    assert_eq!(train_a["node"], "gpu-1");
    let on =
        |name: &str| train_a["nodes"].as_array().unwrap().iter().find(|n| n["name"] == name).unwrap().clone();
    assert_eq!(on("gpu-1")["policyScores"]["gpu-placement"]["fullest"], 100);
    assert_eq!(on("gpu-3")["plugin"], "gpu-placement");
    let without = first(&["dry-run"], &["-o", "json"]).out;
    assert!(!without.contains("\"nodes\""));
    assert!(first(&["dry-run"], &["-o", "yaml"]).out.starts_with("apiVersion: bayplan.dev/v1"));
}

#[test]
fn equal_runs_print_equal_bytes() {
    for output in ["text", "json"] {
        let one = first(&["dry-run"], &["-o", output, "--all-nodes"]).out;
        assert_eq!(one, first(&["dry-run"], &["-o", output, "--all-nodes"]).out);
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    assert!(!first(&["dry-run"], &[]).out.contains('\u{1b}'), "a pipe has no colours");
    assert!(first(&["dry-run"], &["--color", "always"]).out.contains("\u{1b}[32m"));
    assert!(!first(&["dry-run"], &["--color", "never"]).out.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let line = format!(
        "{} dry-run --cluster examples/first/cluster.yaml -o json --all-nodes; test $? -ne 101",
        env!("CARGO_BIN_EXE_bayplan")
    );
    let status = Command::new("sh")
        .args(["-c", &format!("({line}) | head -1 >/dev/null")])
        .current_dir(repository(""))
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn the_cluster_may_come_from_stdin_and_hold_the_policies() {
    let map = "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: 'true'}}
data:
  none.bay: |
    /// Nothing is let in.
    policy closed { filter door { reject \"the door is closed\" when node.name != \"\" } }
";
    let ended = bayplan_reads(&["dry-run", "--cluster", "-"], &format!("{NODE_AND_POD}{map}"));
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.out.contains("1 the door is closed"), "{}", ended.out);
    let unlabelled = map.replace(", labels: {bayplan.dev/policy: 'true'}", "");
    let ended = bayplan_reads(&["dry-run", "--cluster", "-"], &format!("{NODE_AND_POD}{unlabelled}"));
    assert!(ended.out.contains("1 placed"), "a scheduler would not read it: {}", ended.out);
}

#[test]
fn no_pending_pod_is_said_in_a_line_with_the_command_that_adds_some() {
    let nodes = file("nodes.yaml", NODE_AND_POD.split("---").next().unwrap().as_bytes());
    let ended = bayplan(&["dry-run", "--cluster", text(&nodes)]);
    assert_eq!(ended.status, 0);
    assert!(ended.out.starts_with("No pod is pending: 1 node, no policy."), "{}", ended.out);
    assert!(ended.out.contains("--pods FILE"));
}

#[test]
fn lint_ends_with_1_for_mistakes_and_says_all_of_them() {
    let broken = file("broken.bay", b"policy p {\n  filter a { require node.lables[\"x\"] == \"y\" else \"r\" }\n  filter b { require node.free.cpu >= pod.requests.memory else \"r\" }\n}\n");
    let ended = bayplan(&["lint", text(&broken)]);
    assert_eq!(ended.status, 1);
    assert!(ended.out.contains("broken.bay:2:") && ended.out.contains("broken.bay:3:"), "{}", ended.out);
    assert!(ended.out.lines().last().unwrap().starts_with("More about one: bayplan lint --explain BP"));
    let ended = bayplan(&["lint", text(&broken), "--format", "json"]);
    assert_eq!(ended.status, 1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["kind"], "LintReport");
    assert_eq!(json["summary"]["errors"], 2);
    for said in json["diagnostics"].as_array().unwrap() {
        for field in ["code", "slug", "severity", "message", "file", "start", "end", "labels", "fixes"] {
            assert!(said.get(field).is_some(), "{field}: {said}");
        }
    }
    assert_eq!(bayplan(&["lint", "examples/first"]).status, 0);
}

#[test]
fn a_code_is_explained() {
    let ended = bayplan(&["lint", "--explain", "BP0104"]);
    assert_eq!(ended.status, 0);
    assert!(ended.out.starts_with("BP0104 "), "{}", ended.out);
    let ended = bayplan(&["lint", "--explain", "BP9999"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
}

#[test]
fn mistakes_in_policies_stop_what_needs_them_with_2() {
    let broken = file("stops.bay", b"policy p { filter a { require nod.ready else \"r\" } }");
    for command in ["dry-run", "explain"] {
        let mut arguments = vec![command];
        if command == "explain" {
            arguments.push("web-1");
        }
        arguments.extend(["--cluster", "examples/first/cluster.yaml", "--policies", text(&broken)]);
        let ended = bayplan(&arguments);
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{}", ended.err);
        assert!(ended.err.contains("stops.bay:1:"), "{}", ended.err);
    }
    assert_eq!(bayplan(&["plan", text(&broken)]).status, 2);
}

#[test]
fn bad_arguments_and_absent_files_are_status_2() {
    let no_such_file: [&[&str]; 5] = [
        &["dry-run", "--cluster", "no/such/file.yaml"],
        &["lint", "no/such/file.bay"],
        &["test", "no/such/folder"],
        &["plan", "no/such/file.bay"],
        &["explain", "x", "--cluster", "no/such/file.yaml"],
    ];
    for arguments in no_such_file {
        let ended = bayplan(arguments);
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ended.err.contains("no/such/"), "{}", ended.err);
    }
    let wrong: [&[&str]; 6] = [
        &["dry-run"],
        &["dry-run", "--cluster", "x", "-o", "html"],
        &["dry-run", "--cluster", "x", "--seed", "many"],
        &["frobnicate"],
        &["eval"],
        &["eval", "1", "--batch", "x"],
    ];
    for arguments in wrong {
        assert_eq!(bayplan(arguments).status, 2, "{arguments:?}");
    }
    assert_eq!(bayplan(&["--help"]).status, 0);
    assert_eq!(bayplan(&["version"]).status, 0);
}

#[test]
fn as_a_plugin_of_kubectl_it_goes_by_that_name() {
    let link = file("kubectl-bayplan", b"");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bayplan"), &link).unwrap();
    let plugin = |arguments: &[&str]| {
        let output = Command::new(&link).args(arguments).current_dir(repository("")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let told = plugin(&["dry-run", FIRST[0], FIRST[1], FIRST[2], FIRST[3]]);
    assert!(
        told.lines().last().unwrap().starts_with("Next: kubectl bayplan explain train-c --cluster "),
        "{told}"
    );
    for command in ["dry-run", "explain", "lint", "test", "eval", "plan"] {
        let help = plugin(&[command, "--help"]);
        assert!(help.contains(&format!("Usage: kubectl bayplan {command}")), "{help}");
        assert!(
            !help.contains("  bayplan ") && help.contains(&format!("  kubectl bayplan {command}")),
            "{help}"
        );
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in ["dry-run", "explain", "lint", "test", "eval", "plan", "version", "completions"] {
        let ended = bayplan(&[command, "--help"]);
        assert_eq!(ended.status, 0);
        assert!(ended.out.contains("Example"), "{command} has no example: {}", ended.out);
    }
    for shell in ["bash", "zsh", "fish"] {
        let ended = bayplan(&["completions", shell]);
        assert!(ended.status == 0 && ended.out.contains("dry-run"), "{shell}");
    }
}

/// Input that no command may choke on: what it is, the bytes, and what the message mentions.
fn bad_clusters() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let pod =
        |spec: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {spec}\n").into_bytes();
    vec![
        (
            "truncated.yaml",
            b"apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {x: \"".to_vec(),
            "YAML",
        ),
        ("truncated.json", b"{\"kind\": \"Node\", \"metadata\": {\"name\":".to_vec(), "JSON"),
        ("latin.yaml", b"kind: Node\nmetadata: {name: \"caf\xe9\"}\n".to_vec(), "UTF-8"),
        ("negative.yaml", pod("{containers: [{name: c, resources: {requests: {cpu: \"-1\"}}}]}"), "cpu"),
        ("no-quantity.yaml", pod("{containers: [{name: c, resources: {requests: {memory: lots}}}]}"), "lots"),
        (
            "selector.yaml",
            pod(
                "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: 7}}, containers: []}",
            ),
            "",
        ),
        ("no-name.yaml", b"kind: Node\nmetadata: {}\n".to_vec(), "name"),
    ]
}

#[test]
fn bad_cluster_files_are_said_with_their_place_and_end_with_2() {
    for (name, bytes, about) in bad_clusters() {
        let path = file(name, &bytes);
        let ended = bayplan(&["dry-run", "--cluster", text(&path)]);
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{name}: {}", ended.err);
        assert!(ended.err.contains(name) && ended.err.contains(about), "{name}: {}", ended.err);
        assert!(ended.err.contains("error["), "{name}: {}", ended.err);
    }
}

#[test]
fn unknown_kinds_are_skipped_with_one_warning_that_counts() {
    let cluster = format!(
        "{NODE_AND_POD}---\nkind: Deployment\nmetadata: {{name: d}}\n---\nkind: Gadget\nmetadata: {{name: g}}\n"
    );
    let ended = bayplan_reads(&["dry-run", "--cluster", "-"], &cluster);
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.err.contains("Deployment") && ended.err.contains("Gadget"), "{}", ended.err);
}

#[test]
fn bad_policy_texts_are_said_and_end_with_1() {
    let long = format!("policy p {{ // {}\n}}\n", "x".repeat(1 << 20)).into_bytes();
    let deep = format!(
        "policy p {{ filter f {{ require {}true{} else \"r\" }} }}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    let cases: [(&str, Vec<u8>); 5] = [
        ("long.bay", long),
        ("deep.bay", deep.into_bytes()),
        ("latin.bay", b"policy p { filter f { require node.name == \"caf\xe9\" else \"r\" } }".to_vec()),
        ("cut.bay", b"policy p { filter f { require node.na".to_vec()),
        ("nothing.bay", b"\x00\x01\x02".to_vec()),
    ];
    for (name, bytes) in cases {
        let path = file(name, &bytes);
        let ended = bayplan(&["lint", text(&path)]);
        assert_eq!(ended.status, 1, "{name}: {}{}", ended.out, ended.err);
        assert!(ended.out.contains(name), "{name}: {}", ended.out);
        let ended =
            bayplan(&["dry-run", "--cluster", "examples/first/cluster.yaml", "--policies", text(&path)]);
        assert_eq!(ended.status, 2, "{name}: {}", ended.err);
    }
}

#[test]
fn lint_prints_for_other_programs() {
    let broken = file(
        "formats.bay",
        b"/// x\npolicy p { filter f { require node.labels[\"gpu\"] == true else \"r\" } }\n",
    );
    let as_json = |format: &str| -> Value {
        let ended = bayplan(&["lint", text(&broken), "--format", format]);
        assert_eq!(ended.status, 1, "{format}");
        serde_json::from_str(&ended.out).unwrap()
    };
    let result = as_json("sarif")["runs"][0]["results"][0].clone();
    assert_eq!(result["ruleId"], "BP0103");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    assert_eq!(as_json("rdjson")["diagnostics"][0]["suggestions"][0]["text"], "\"true\"");
    let github = bayplan(&["lint", text(&broken), "-o", "github"]);
    assert!(
        github.out.starts_with("::error file=")
            && github.out.contains("line=2,col=53,endLine=2,endColumn=57,title=BP0103"),
        "{}",
        github.out
    );
    let junit = bayplan(&["lint", text(&broken), "--format", "junit"]);
    assert!(junit.out.contains("failures=\"1\"") && junit.status == 1, "{}", junit.out);
}

#[test]
fn lint_fix_writes_what_is_certain_and_prints_the_rest() {
    let source = "/// x\npolicy p {\n  filter f { require node.labels[\"gpu\"] == true else \"r\" }\n  filter g { reject \"r\" when node.ready and pod.priority > 1s }\n}\n";
    let broken = file("fixable.bay", source.as_bytes());
    let ended = bayplan(&["lint", text(&broken)]);
    assert_eq!(ended.status, 1);
    let last: Vec<&str> = ended.out.lines().rev().take(2).collect();
    assert!(last[1].contains(" can be fixed: bayplan lint --fix "), "{}", ended.out);
    let ended = bayplan(&["lint", "--fix", text(&broken)]);
    let now = std::fs::read_to_string(&broken).unwrap();
    assert!(now.contains("== \"true\"") && now.contains("node.ready && pod.priority"), "{now}");
    assert_eq!(ended.status, 1, "{}", ended.out);
    assert!(ended.out.starts_with("2 mistakes were fixed"), "{}", ended.out);
    assert!(ended.out.contains("pod.priority > 1s"), "{}", ended.out);
    assert_eq!(bayplan_reads(&["lint", "--fix", "-"], source).status, 2);
}

#[test]
fn a_broken_document_does_not_hide_the_mistakes_of_the_others() {
    let map = "kind: ConfigMap\nmetadata: {name: m, labels: {bayplan.dev/policy: 'x'}}\ndata:\n  p.bay: |\n    policy p { filter f { require nod.ready else \"r\" } }\n";
    let path = file("stream.yaml", format!("kind: [\n---\n{map}").as_bytes());
    let ended = bayplan(&["lint", text(&path), "--format", "json"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let said = json["diagnostics"].as_array().unwrap();
    let of =
        |code: &str| said.iter().find(|said| said["code"] == code).map(|said| said["start"]["line"].clone());
    assert!(of("BP0502").is_some() && of("BP0201") == Some(7.into()), "{}", ended.out);
}

#[test]
fn three_mistakes_in_two_policies_of_a_config_map_are_on_their_lines() {
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: \"true\"}
data:
  one.bay: |
    policy one {
      filter a { require node.lables[\"x\"] == \"y\" else \"r\" }
      filter b { require node.free.cpu >= pod.requests.memory else \"r\" }
    }
  two.bay: |
    policy two {
      filter c { require 500Mb < node.free.memory else \"r\" }
    }
";
    let path = file("rules.yaml", map.as_bytes());
    let ended = bayplan(&["lint", text(&path), "--format", "json"]);
    assert_eq!(ended.status, 1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let errors = json["diagnostics"].as_array().unwrap().iter().filter(|said| said["severity"] == "error");
    let lines: Vec<i64> = errors.map(|said| said["start"]["line"].as_i64().unwrap()).collect();
    assert_eq!(lines, [9, 10, 14], "{}", ended.out);
}

#[test]
fn tests_of_policies_end_with_1_when_one_fails() {
    assert_eq!(bayplan(&["test", "examples/first"]).status, 0);
    let folder = file("wrong.test.yaml", b"policies: [p.bay]\ncluster: c.yaml\ncases:\n- name: it goes elsewhere\n  pod: {name: x}\n  expect: {unschedulable: {reason: the way out is closed}}\n");
    let folder = folder.parent().unwrap();
    std::fs::write(
        folder.join("p.bay"),
        "/// Nothing.\npolicy p { filter f { reject \"the way out is closed\" when node.name == \"z\" } }\n",
    )
    .unwrap();
    std::fs::write(folder.join("c.yaml"), NODE_AND_POD).unwrap();
    let ended = bayplan(&["test", text(folder)]);
    assert_eq!(ended.status, 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("FAIL  it goes elsewhere"), "{}", ended.out);
    assert!(ended.out.contains("1 case: 0 passed, 1 failed."), "{}", ended.out);
    let shown = "      expected  waits: the way out is closed
      got       a
      because   a passed f, ";
    assert!(ended.out.contains(shown), "{}", ended.out);
    assert!(ended.out.contains("false    node.name == \"z\"   \"a\""), "{}", ended.out);
    assert!(
        ended.out.contains("1 condition: 0 seen both true and false, 1 not:\n  never true"),
        "{}",
        ended.out
    );
    let last = ended.out.lines().last().unwrap().strip_prefix("Next: bayplan ").unwrap().to_owned();
    let again = bayplan(&last.split(' ').collect::<Vec<_>>());
    assert_eq!(again.status, 1, "{}", again.err);
    assert!(
        again.out.contains("\nCASE  it goes elsewhere") && again.out.contains("f passes a, "),
        "{}",
        again.out
    );
    let json: Value = serde_json::from_str(&bayplan(&["test", text(folder), "-o", "json"]).out).unwrap();
    assert_eq!(json["summary"]["failed"], 1);
    assert_eq!(json["coverage"]["conditions"], 1);
    assert_eq!(json["coverage"]["uncovered"][0]["seenFalse"], true);
    let tree = &json["files"][0]["cases"][0]["mismatches"][0]["because"][0]["tree"];
    assert_eq!(tree["text"], "node.name == \"z\"");
    let junit = bayplan(&["test", text(folder), "-o", "junit"]);
    assert!(junit.status == 1 && junit.out.contains("tests=\"1\" failures=\"1\""), "{}", junit.out);
    let github = bayplan(&["test", text(folder), "-o", "github"]);
    assert!(github.out.starts_with("::error file=") && github.out.contains(",line=4,"), "{}", github.out);
    std::fs::write(folder.join("wrong.test.yaml"), "policies: [p.bay]\ncluster: c.yaml\ncases:\n- name: it goes elsewhere\n  pod: {name: x}\n  expect: {node: b}\n").unwrap();
    let ended = bayplan(&["test", text(folder)]);
    assert_eq!(ended.status, 2, "a node that is not there is a mistake of the test");
    assert!(ended.err.contains("no node of the cluster is called `b`"), "{}", ended.err);
    std::fs::write(folder.join("wrong.test.yaml"), "cases: [{nmae: x}]").unwrap();
    assert_eq!(bayplan(&["test", text(folder)]).status, 2);
}

#[test]
fn expressions_have_a_value_a_type_and_a_tree() {
    let ended = bayplan(&["eval", "1 + 2"]);
    assert_eq!((ended.status, ended.out.lines().next().unwrap()), (0, "3   int"), "{}", ended.err);
    let ended = bayplan(&[
        "eval",
        "node.labels[\"avoid\"] == \"true\"",
        "--cluster",
        "examples/first/cluster.yaml",
        "--node",
        "gpu-3",
    ]);
    assert!(ended.out.starts_with("true   bool"), "{}{}", ended.out, ended.err);
    let ended = bayplan(&[
        "eval",
        "node.labels[\"avoid\"] != \"true\" || node.free.cpu > 2cpu",
        "--cluster",
        "examples/first/cluster.yaml",
        "--node",
        "gpu-3",
    ]);
    let tree = "  true     node.labels[\"avoid\"] != \"true\" || node.free.cpu > 2cpu
  false    ├─ node.labels[\"avoid\"] != \"true\"
           │  \"true\"
  true     └─ node.free.cpu > 2cpu
              32cpu
";
    assert!(ended.out.ends_with(tree), "{}{}", ended.out, ended.err);
    let ended = bayplan(&["eval", "1 +"]);
    assert!(ended.status == 2 && ended.err.contains("`expression` is not complete"), "{}", ended.err);
    let ended = bayplan(&["eval", "1 + \"a\""]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("expression:1:"), "{}", ended.err);
    let lines = "{\"vars\": {\"i\": 3, \"s\": \"x\"}}\n{\"expr\": \"i + 1\"}\n{\"expr\": \"s + 1\"}\n";
    let ended = bayplan_reads(&["eval", "--dsl", "--batch", "-"], lines);
    let answers: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["value"], serde_json::json!({"int": "4"}), "{}{}", ended.out, ended.err);
    assert!(answers[1]["compileError"].is_string());
}

/// Answers of `eval --batch`, a line each.
fn answers(arguments: &[&str], lines: &str) -> Vec<Value> {
    let ended = bayplan_reads(arguments, lines);
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{lines}");
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_batch_of_cel_answers_every_line() {
    use serde_json::json;
    let long = format!("{{\"expr\": \"{}\"}}", "1".repeat(1 << 20));
    let lines = format!(
        "{{\"vars\": {{\"i\": 7, \"l\": [], \"o\": {{\"a\": 1.5}}}}, \"dyn\": [\"o\"], \"note\": 1}}\n\
         {{\"expr\": \"i + 1\", \"category\": \"x\"}}\n\n{{\"expr\": \"o.a\"}}\r\n{{\"expr\": \"1 / (i - 7)\"}}\n\
         {{\"expr\": \"i + 'a'\"}}\n{{\"expr\"\n7\n{{\"expr\": 7}}\n{long}\n{{\"expr\": \"l\"}}"
    );
    let answers = answers(&["eval", "--batch", "-"], &lines);
    assert_eq!(answers[0], json!({"expr": "i + 1", "type": "int", "value": {"int": "8"}}));
    assert_eq!(answers[1], json!({"expr": "o.a", "type": "dyn", "value": {"double": "1.5"}}));
    assert_eq!((&answers[2]["type"], answers[2]["error"].is_string()), (&json!("int"), true));
    for refused in &answers[3..8] {
        assert!(refused["compileError"].is_string() && refused["expr"].is_string(), "{refused}");
    }
    assert!(answers[7]["compileError"].as_str().unwrap().contains("longer than 1 MiB"));
    assert_eq!(answers[8], json!({"expr": "l", "type": "list(int)", "value": {"list": []}}));
    assert_eq!(answers.len(), 9);
}

#[test]
fn a_batch_without_variables_that_can_be_read_is_refused() {
    for (first, words) in [
        ("", "is empty"),
        ("{}", "holds no `vars`"),
        ("{\"vars\": []}", "holds no `vars`"),
        ("{\"vars\"", "is not JSON"),
        ("{\"vars\": {\"a-b\": 1}}", "`a-b` is not the name of a variable"),
        ("{\"vars\": {}, \"dyn\": \"o\"}", "is a list of names"),
        ("{\"vars\": {}, \"dyn\": [\"o\"]}", "`o`, which is not in `vars`"),
    ] {
        let ended = bayplan_reads(&["eval", "--batch", "-"], &format!("{first}\n{{\"expr\": \"1\"}}\n"));
        let empty = first.is_empty().then(|| bayplan_reads(&["eval", "--batch", "-"], ""));
        let ended = empty.unwrap_or(ended);
        assert!(
            ended.status == 2 && ended.err.contains(words) && ended.out.is_empty(),
            "{first}: {}",
            ended.err
        );
    }
    let dynamic = "{\"vars\": {\"o\": 1}, \"dyn\": [\"o\"]}\n";
    assert_eq!(bayplan_reads(&["eval", "--dsl", "--batch", "-"], dynamic).status, 2);
    assert_eq!(bayplan(&["eval", "--batch", "no/such/file"]).status, 2);
}

#[test]
fn eval_of_cel_knows_the_names_of_policies() {
    let at = ["--cluster", "examples/first/cluster.yaml", "--node", "gpu-3"];
    let eval = |expression: &str| bayplan(&[&["eval", "--cel", expression][..], &at].concat());
    let ended = eval("node.name == 'gpu-3' || false");
    assert!(ended.status == 0 && ended.out.starts_with("true   bool"), "{}{}", ended.out, ended.err);
    let ended = eval("[1][node.name == 'gpu-3' ? 1 : 0]");
    assert!(ended.status == 1 && ended.out.starts_with("error: "), "{}{}", ended.out, ended.err);
    let ended = eval("node.name == 1");
    assert!(ended.status == 2 && ended.err.contains("expression:1:"), "{}", ended.err);
    assert_eq!(bayplan(&["eval", "--cel", "node.name"]).status, 2, "which node?");
    assert_eq!(bayplan(&["eval", "--cel", "--dsl", "1"]).status, 2);
}

/// What a shell offers for a line whose last word is being typed.
fn bash_offers(line: &[&str]) -> Option<Vec<String>> {
    let script = file("complete.bash", bayplan(&["completions", "bash"]).out.as_bytes());
    let words = line.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let program = format!(
        "source {}; COMP_WORDS=({words}); COMP_CWORD={}; f=$(complete -p bayplan | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
         $f bayplan '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        text(&script),
        line.len() - 1,
        line[line.len() - 1],
        line[line.len().saturating_sub(2)],
    );
    let output = Command::new("bash").args(["--norc", "-c", &program]).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn flags_of_kube_scheduler_are_taken_or_refused_by_name() {
    let ended = bayplan(&["run", "--requestheader-client-ca-file=ca.crt"]);
    assert_eq!(ended.status, 2);
    assert!(
        ended.err.starts_with("error: `--requestheader-client-ca-file` of kube-scheduler is not supported: ")
    );
    let ended = bayplan(&["run", "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA"]);
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "{}", ended.err);
    // Every flag that it has is known here, as one that is taken or as one that is refused.
    let recorded = include_str!("../control-plane/kube-scheduler-flags.txt");
    for flag in recorded.lines() {
        let ended = bayplan(&["run", &format!("--{flag}=?"), "--feature-gates=none"]);
        assert!(!ended.err.contains("unexpected argument"), "--{flag}: {}", ended.err);
    }
    assert!(recorded.lines().count() >= 60);
    // The configuration in force, which can be given back.
    let path = file("written.yaml", b"");
    let flags = ["--leader-elect=false", "--kube-api-qps=7"];
    let written = format!("--write-config-to={}", text(&path));
    let ended = bayplan(&["run", &written, flags[0], flags[1]]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let first = std::fs::read_to_string(&path).unwrap();
    assert!(first.contains("qps: 7") && first.contains("leaderElect: false"), "{first}");
    let ended = bayplan(&["run", &written, &format!("--config={}", text(&path))]);
    assert_eq!((ended.status, std::fs::read_to_string(&path).unwrap()), (0, first), "{}", ended.err);
    // Without a limit the API server's priority and fairness decides.
    for flags in [&[][..], &["--kube-api-qps=0"], &["--kube-api-qps=-1"]] {
        let ended = bayplan(&[&["run", &written], flags].concat());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(ended.status == 0 && text.contains("qps: -1\n"), "{flags:?}: {text}{}", ended.err);
    }
}

/// The commands as the help lists them.
fn commands() -> Vec<String> {
    let help = bayplan(&["--help"]).out;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn completion_scripts_know_every_command_and_its_flags() {
    let commands = commands();
    assert!(commands.len() >= 9, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = bayplan(&["completions", shell]).out;
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.contains("fail-on") && script.contains("tie-break"), "{shell}");
        // A shell that is there reads the script without complaint.
        let path = file(&format!("complete.{shell}"), script.as_bytes());
        if let Ok(checked) = Command::new(shell).args(["-n", text(&path)]).output() {
            assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    let Some(offered) = bash_offers(&["bayplan", ""]) else { return };
    for command in &commands {
        assert!(offered.contains(command), "bash does not offer {command}: {offered:?}");
        let flags = bash_offers(&["bayplan", command, "--"]).unwrap();
        assert!(flags.iter().any(|flag| flag == "--help"), "{command}: {flags:?}");
    }
    assert!(bash_offers(&["bayplan", "test", "--ex"]).unwrap().contains(&"--explain".to_owned()));
    let formats = bash_offers(&["bayplan", "lint", "--format", ""]).unwrap();
    assert!(formats.contains(&"sarif".to_owned()), "{formats:?}");
}

#[test]
fn every_command_ends_with_the_documented_status() {
    let warned = file("warned.bay", b"/// x\npolicy p { filter f { require node.ready } }\n");
    let warned = text(&warned);
    let first = "examples/first/cluster.yaml";
    let table: [(&[&str], i32); 20] = [
        (&["lint", warned], 0),
        (&["lint", warned, "--deny", "warnings"], 1),
        (&["lint", "--explain", "BP0104"], 0),
        (&["lint", "--explain", "BP9999"], 2),
        (&["lint", warned, "--format", "xml"], 2),
        (&["plan", warned], 0),
        (&["test", "tests/support"], 2),
        (&["test", "examples/first/gpu.test.yaml:1"], 2),
        (&["test", "examples/first/gpu.test.yaml:5"], 0),
        (&["explain", "train-c", "--cluster", first, "--policies", "examples/first"], 0),
        (&["explain", "nobody", "--cluster", first], 2),
        (&["explain", "train-c", "--cluster", first, "--node", "nowhere"], 2),
        (&["eval", "1 + 1"], 0),
        (&["eval", "node.free.cpu > 1cpu", "--cluster", first, "--node", "nowhere"], 2),
        (&["dry-run", "--cluster", first, "--fail-on", "unschedulable"], 0),
        (&["eval", "node.free.cpu > 1cpu", "--cluster", first], 2),
        (&["eval", "pod.priority > 1", "--cluster", first], 2),
        (&["diff", "old", "new"], 2),
        (&["lint", warned, "--cluster", first], 0),
        (&["completions", "tcsh"], 2),
    ];
    for (arguments, status) in table {
        let ended = bayplan(arguments);
        assert_eq!(ended.status, status, "{arguments:?}: {}{}", ended.out, ended.err);
        // What the command says goes to one side only: data to stdout, the rest to stderr.
        assert_eq!(ended.out.is_empty(), status == 2, "{arguments:?}: {}", ended.out);
    }
}

#[test]
fn values_of_calls_are_shown_and_a_pod_that_nobody_named_is_counted_nowhere() {
    let first = ["--cluster", "examples/first/cluster.yaml"];
    let mut arguments = vec!["eval", "pods.count(p, p.namespace == \"default\") + 1 > 3"];
    arguments.extend(first);
    let ended = bayplan(&arguments);
    assert!(ended.out.starts_with("true   bool"), "{}{}", ended.out, ended.err);
    let values = ended.out.lines().nth(3).unwrap();
    assert_eq!(values.trim(), "5", "{}", ended.out);
}

/// The pods that were evicted are those of the attempt that evicted them, not of the one that placed the pod.
#[test]
fn the_json_of_a_dry_run_names_the_victims_that_the_text_names() {
    let cluster = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 1, memory: 1Gi, pods: 110}}\n---\n\
        apiVersion: v1\nkind: Pod\nmetadata: {name: r1}\nspec: {nodeName: n1, priority: 0, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n---\n\
        apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {priority: 5, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n";
    let path = file("evicts.yaml", cluster.as_bytes());
    let ended = bayplan(&["dry-run", "--cluster", text(&path), "-o", "json"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let of_q = json["decisions"].as_array().unwrap().iter().find(|of| of["pod"] == "default/q").unwrap();
    assert_eq!(of_q["victims"], serde_json::json!(["default/r1"]), "{of_q}");
    let shown = bayplan(&["dry-run", "--cluster", text(&path)]).out;
    assert!(shown.contains("evicts default/r1"), "{shown}");
}

/// What a rule about evictions would have done is said although the pod had its node in a later attempt.
#[test]
fn a_dry_run_says_that_a_rule_which_counts_would_have_spared_pods() {
    let cluster = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 1, memory: 1Gi, pods: 110}}\n---\n\
        apiVersion: v1\nkind: Pod\nmetadata: {name: r1}\nspec: {nodeName: n1, priority: 0, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n---\n\
        apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {priority: 5, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n";
    let path = file("evicts.yaml", cluster.as_bytes());
    for (mode, effect) in [("audit", Some("spares")), ("enforce", None)] {
        let policy = format!(
            "/// Spares r1.\npolicy p {{\n  applies to all pods\n  preempt {{\n    mode {mode}\n    protect v when v.name == \"r1\"\n  }}\n}}\n"
        );
        let policy = file("spares.bay", policy.as_bytes());
        let arguments = ["dry-run", "--cluster", text(&path), "--policies", text(&policy)];
        let json: Value =
            serde_json::from_str(&bayplan(&[&arguments[..], &["-o", "json"]].concat()).out).unwrap();
        let of_q = &json["decisions"][0];
        assert_eq!(of_q["victims"].as_array().map(Vec::len), Some(usize::from(effect.is_some())), "{of_q}");
        assert_eq!(of_q["would"][0]["effect"].as_str(), effect, "{of_q}");
        let shown = bayplan(&arguments).out;
        assert_eq!(shown.contains("evicted fewer for them"), effect.is_some(), "{shown}");
    }
}

#[test]
fn a_dry_run_gives_devices_to_claims() {
    let cluster = "\
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == \"d.example.com\"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: of-b}
spec:
  driver: d.example.com
  nodeName: b
  pool: {name: b, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: first}
spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: one}], containers: [{name: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: one}], containers: [{name: main}]}
";
    let path = file("devices.yaml", cluster.as_bytes());
    let ended = bayplan(&["dry-run", "--cluster", text(&path)]);
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let line =
        |pod: &str| ended.out.lines().find(|line| line.starts_with(pod)).unwrap_or_default().to_owned();
    assert!(line("first").starts_with("first   b"), "{}", ended.out);
    assert!(line("second").contains("cannot allocate all claims"), "{}", ended.out);
}
