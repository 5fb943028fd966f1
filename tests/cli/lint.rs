//! `bayplan lint`: which files it reads, how it ends, what it fixes, and what it says of a cluster.

use crate::support::command::{bayplan_in, folder};
use crate::support::repository;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

const GOOD: &str = "/// Keeps pods off broken nodes.\npolicy healthy { filter ready { require node.ready else \"not ready\" } }\n";

fn shell(folder: &Path, line: &str) -> i32 {
    let line = line.replace("bayplan", env!("CARGO_BIN_EXE_bayplan"));
    Command::new("bash").args(["-c", &line]).current_dir(folder).status().unwrap().code().unwrap()
}

#[test]
fn a_link_to_a_folder_above_is_followed_once() {
    let at = folder(&[]);
    fs::create_dir(at.join("a")).unwrap();
    fs::write(at.join("a/p.bay"), GOOD).unwrap();
    symlink("..", at.join("a/loop")).unwrap();
    symlink("a", at.join("b")).unwrap();
    let ended = bayplan_in(&at, &["lint"]);
    assert_eq!(
        (ended.status, ended.out.as_str()),
        (0, "1 policy in 1 file: nothing to say.\n"),
        "{}",
        ended.err
    );
}

#[test]
fn what_cannot_be_read_does_not_hide_the_findings_of_others() {
    let at = folder(&[]);
    fs::write(at.join("bad.bay"), GOOD.replace("node.ready", "node.redy")).unwrap();
    symlink("nowhere", at.join("gone.bay")).unwrap();
    assert!(Command::new("mkfifo").arg(at.join("pipe.bay")).status().unwrap().success());
    let ended = bayplan_in(&at, &["lint", "--format", "json"]);
    assert_eq!(ended.status, 2, "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let said = json["diagnostics"].as_array().unwrap();
    let codes: Vec<(&str, &str)> =
        said.iter().map(|said| (said["file"].as_str().unwrap(), said["code"].as_str().unwrap())).collect();
    for expected in [("gone.bay", "BP0015"), ("pipe.bay", "BP0015"), ("bad.bay", "BP0101")] {
        assert!(codes.contains(&expected), "{codes:?}");
    }
    let junit = bayplan_in(&at, &["lint", ".", "--format", "junit"]);
    assert!(junit.out.contains("errors=\"2\"") && junit.out.contains("failures=\"1\""), "{}", junit.out);
    let named = bayplan_in(&at, &["lint", "bad.bay", "missing.bay"]);
    assert_eq!(named.status, 2);
    assert!(named.out.contains("BP0101") && named.out.contains("missing.bay"), "{}", named.out);
    assert_eq!(bayplan_in(&at, &["lint", "/dev/zero"]).status, 2);
}

#[test]
fn patterns_leave_out_files_and_folders() {
    let at = folder(&[]);
    fs::create_dir_all(at.join("charts/deep")).unwrap();
    fs::write(at.join("p.bay"), GOOD).unwrap();
    for broken in ["charts/t.bay", "charts/deep/u.bay", "old-1.bay"] {
        fs::write(at.join(broken), "{{ .Values.rule }}").unwrap();
    }
    assert_eq!(bayplan_in(&at, &["lint"]).status, 1);
    for patterns in [["charts", "old-?.bay"], ["charts/**", "old*"], ["**/*.bay", "charts"]] {
        let mut arguments = vec!["lint"];
        patterns.iter().for_each(|pattern| arguments.extend(["--exclude", pattern]));
        let ended = bayplan_in(&at, &arguments);
        let nothing = patterns[0] == "**/*.bay";
        assert_eq!(ended.status, if nothing { 2 } else { 0 }, "{patterns:?}: {}{}", ended.out, ended.err);
    }
}

#[test]
fn writes_that_fail_end_with_2_and_closed_pipes_with_the_status_of_the_findings() {
    let at = folder(&[]);
    fs::write(at.join("good.bay"), GOOD).unwrap();
    fs::write(at.join("bad.bay"), GOOD.replace("node.ready", "node.redy")).unwrap();
    for format in ["human", "json", "sarif", "rdjson", "junit", "github"] {
        assert_eq!(
            shell(&at, &format!("bayplan lint good.bay --format {format} > /dev/full 2> /dev/null")),
            2,
            "{format}"
        );
        assert_eq!(
            shell(&at, &format!("set -o pipefail; bayplan lint bad.bay --format {format} | head -0")),
            1
        );
        assert_eq!(
            shell(&at, &format!("set -o pipefail; bayplan lint good.bay --format {format} | head -0")),
            0
        );
    }
    assert_eq!(shell(&at, "bayplan --help > /dev/full 2> /dev/null"), 2);
    assert_eq!(shell(&at, "bayplan lint --explain BP0104 > /dev/full 2> /dev/null"), 2);
}

#[test]
fn notes_can_be_denied() {
    let at = folder(&[]);
    fs::write(at.join("p.bay"), GOOD.lines().last().unwrap()).unwrap();
    assert_eq!(bayplan_in(&at, &["lint"]).status, 0);
    assert_eq!(bayplan_in(&at, &["lint", "--deny", "warnings"]).status, 0);
    let ended = bayplan_in(&at, &["lint", "--deny", "notes"]);
    assert!(ended.status == 1 && ended.out.contains("error[BP0415]"), "{}", ended.out);
}

#[test]
fn fixing_goes_on_until_nothing_is_left() {
    let at = folder(&[]);
    // The second mistake is seen only when the first one is gone.
    let text = "/// x\npolicy p {\n  filter f { require node.labels[\"a\"] == true and node.labels[\"b\"] = 1 else \"r\" }\n}\n";
    fs::write(at.join("p.bay"), text).unwrap();
    let count = |out: &str| -> usize {
        let line = out.lines().find(|line| line.contains(" can be fixed")).unwrap_or("; 0 can be fixed");
        line.split("; ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    assert!(count(&bayplan_in(&at, &["lint", "p.bay"]).out) >= 1);
    let ended = bayplan_in(&at, &["lint", "--fix", "p.bay"]);
    let fixed = fs::read_to_string(at.join("p.bay")).unwrap();
    assert!(fixed.contains("== \"true\" && node.labels[\"b\"] == \"1\""), "{fixed}\n{}", ended.out);
    assert_eq!(ended.status, 0, "{}", ended.out);
    let again = bayplan_in(&at, &["lint", "--fix", "p.bay"]);
    assert!(again.out.starts_with("nothing could be fixed"), "{}", again.out);
}

#[test]
fn a_code_is_explained_with_its_examples_and_an_unknown_one_has_near_ones() {
    let at = repository("");
    let ended = bayplan_in(&at, &["lint", "--explain", "missing-reason"]);
    for words in [
        "BP0408 missing-reason",
        "Warning:",
        "wrong:",
        "right:",
        "  policy healthy {",
        "allow(missing-reason)",
        "#bp0408",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    assert!(!bayplan_in(&at, &["lint", "--explain", "BP0104"]).out.contains("allow("));
    let ended = bayplan_in(&at, &["lint", "--explain", "mixd-units"]);
    assert!(ended.status == 2 && ended.err.contains("Did you mean `mixed-units`?"), "{}", ended.err);
}

const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {team: vision, topology.kubernetes.io/zone: east-1}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10', nvidia.com/gpu: '2'}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {team: speech, topology.kubernetes.io/zone: east-2}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {team: vision}}
spec: {containers: [{name: main, image: x}]}
";

#[test]
fn names_are_compared_with_those_of_a_cluster() {
    let at = folder(&[]);
    fs::write(at.join("cluster.yaml"), CLUSTER).unwrap();
    let policy = "\
/// Keeps pods on the nodes of their team.
policy teams {
  filter same-team { require node.labels[\"taem\"] == pod.labels[\"team\"] else \"another team\" }
  filter zone { reject \"zone\" when pod.namespace == \"shpo\" && node.zone in [\"east-1\", \"esat-2\"] }
  filter gpu { reject \"GPU\" when node.free[\"nvidia.com/gpus\"] > 0 && \"taem\" in node.labels }
}
";
    fs::write(at.join("teams.bay"), policy).unwrap();
    let ended = bayplan_in(&at, &["lint", "teams.bay", "--cluster", "cluster.yaml"]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let first = "\
warning[BP0301]: no node has the label `taem`
   ╭─[teams.bay:3:42]
 3 │   filter same-team { require node.labels[\"taem\"] == pod.labels[\"team\"] else \"another team\" }
   ·                                          ───┬──
   ·                                             ╰── 2 of 2 nodes have `team`
   ╰────
  effect: as written, `same-team` refuses all 2 nodes, and 1 pod would wait
  help:   did you mean `team`?
";
    assert!(ended.out.starts_with(first), "{}", ended.out);
    for words in [
        "no namespace is called `shpo`",
        "`shop` holds 1 pod",
        "no node has the value `esat-2` for `topology.kubernetes.io/zone`",
        "1 of 2 nodes has `east-2`",
        "no node has the resource `nvidia.com/gpus`",
        "1 of 2 nodes has `nvidia.com/gpu`",
        "did you mean `nvidia.com/gpu`?",
        "5 warnings in 1 file\n",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    // What the cluster suggests is a guess.
    let ended = bayplan_in(&at, &["lint", "--fix", "teams.bay", "--cluster", "cluster.yaml"]);
    assert!(ended.out.starts_with("nothing could be fixed"), "{}", ended.out);
    assert_eq!(fs::read_to_string(at.join("teams.bay")).unwrap(), policy);
}

/// A cluster with the names that policies compare beside labels.
const NAMES: &str = "\
apiVersion: v1
kind: Node
metadata: {name: gpu-1, labels: {topology.kubernetes.io/region: eu-1, topology.kubernetes.io/zone: eu-1a}}
spec: {taints: [{key: dedicated, value: batch, effect: NoSchedule}]}
status: {allocatable: {cpu: '8', memory: 16Gi, pods: '110', nvidia.com/gpu: '4'}, nodeInfo: {architecture: amd64}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {priorityClassName: high, schedulerName: default-scheduler, serviceAccountName: builder, runtimeClassName: gvisor, containers: [{name: main, image: x}]}
";

#[test]
fn resources_and_fields_are_compared_with_those_of_a_cluster() {
    let at = folder(&[]);
    fs::write(at.join("cluster.yaml"), NAMES).unwrap();
    for (bay, cel, said) in [
        ("node.free[\"nvidia/gpu\"] > 0", "", "no node has the resource `nvidia/gpu`"),
        ("node.free[\"nvidia.com/gpu\"] > 0", "", ""),
        ("node.free[\"amd.com/gpus\"] > 0", "", ""),
        ("node.zone == \"eu-1x\"", "node.?zone.orValue('') == 'eu-1x'", "no node has the value `eu-1x`"),
        (
            "!(node.zone in [\"eu-1x\"])",
            "!(node.?zone.orValue('') in ['eu-1x'])",
            "no node has the value `eu-1x`",
        ),
        ("node.zone == \"us-west-2\"", "node.?zone.orValue('') == 'us-west-2'", ""),
        ("node.region != \"eu-2\"", "node.?region.orValue('') != 'eu-2'", "no node has the region `eu-2`"),
        ("node.region != \"eu-1\"", "node.?region.orValue('') != 'eu-1'", ""),
        ("node.name == \"gpu-l\"", "node.name == 'gpu-l'", "no node has the name `gpu-l`"),
        (
            "pod.priority_class == \"hihg\"",
            "pod.?priority_class.orValue('') == 'hihg'",
            "no pod has the priority class `hihg`",
        ),
        ("pod.priority_class == \"high\"", "pod.?priority_class.orValue('') == 'high'", ""),
        (
            "pod.scheduler == \"default-schedular\"",
            "pod.scheduler == 'default-schedular'",
            "no pod has the scheduler `default-schedular`",
        ),
        (
            "pod.service_account == \"bilder\"",
            "pod.?service_account.orValue('') == 'bilder'",
            "no pod has the service account `bilder`",
        ),
        (
            "node.taints.exists(t, t.key == \"dedicatd\")",
            "node.taints.exists(t, t.key == 'dedicatd')",
            "no taint has the key `dedicatd`",
        ),
        (
            "node.taints.exists(t, t.value == \"bach\")",
            "node.taints.exists(t, t.value == 'bach')",
            "no taint has the value `bach`",
        ),
        (
            "pod.spec.runtimeClassName == \"gvisr\"",
            "pod.spec.?runtimeClassName.orValue('') == 'gvisr'",
            "no pod has `gvisr` in `spec.runtimeClassName`",
        ),
        ("pod.spec.runtimeClassName == \"gvisor\"", "pod.spec.?runtimeClassName.orValue('') == 'gvisor'", ""),
        (
            "node.status.nodeInfo.architecture == \"amd46\"",
            "",
            "no node has `amd46` in `status.nodeInfo.architecture`",
        ),
    ] {
        let policy = format!("/// A.\npolicy a {{\n  filter f {{ reject \"no\" when {bay} }}\n}}\n");
        let document = format!(
            "# A.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: a}}\nspec:\n  filters:\n  - name: f\n    reason: no\n    expression: |\n      !({cel})\n"
        );
        for (file, text) in [("a.bay", policy), ("a.yaml", document)] {
            if file == "a.yaml" && cel.is_empty() {
                continue;
            }
            fs::write(at.join(file), text).unwrap();
            let ended = bayplan_in(&at, &["lint", file, "--cluster", "cluster.yaml"]);
            assert_eq!(ended.status, 0, "{bay} {cel}: {}{}", ended.out, ended.err);
            let warned = ended.out.contains("BP030");
            assert_eq!(warned, !said.is_empty(), "{bay} {cel}: {}", ended.out);
            assert!(ended.out.contains(said), "{bay} {cel}: {}", ended.out);
        }
    }
}

#[test]
fn screen_readers_get_sentences() {
    let at = folder(&[]);
    fs::write(at.join("bad.bay"), GOOD.replace("node.ready", "node.redy")).unwrap();
    let ended = bayplan_in(&at, &["lint", "--no-graphics"]);
    assert!(ended.out.contains("Diagnostic severity: error"), "{}", ended.out);
    assert!(!ended.out.contains(['╭', '│', '─']), "{}", ended.out);
}

/// Lines fit a terminal of any width. `script` (util-linux) gives the program a terminal.
#[test]
fn terminals_of_any_width_are_filled_and_not_exceeded() {
    let at = folder(&[]);
    fs::write(
        at.join("bad.bay"),
        GOOD.replace("node.ready", "node.redy || node.name == \"a very long name indeed\""),
    )
    .unwrap();
    for columns in [50, 80, 120] {
        let line = format!(
            "stty cols {columns} rows 40; env -u COLUMNS LANG=C.UTF-8 {} lint --color never",
            env!("CARGO_BIN_EXE_bayplan")
        );
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(&*at)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let drawn: Vec<&str> = text.lines().filter(|line| line.contains('│')).map(str::trim_end).collect();
        assert!(!drawn.is_empty(), "{text}");
        for line in drawn {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn policies_that_are_too_much_together_are_reported_as_run_refuses_them() {
    let folder = folder(&[]);
    for policy in 0..60 {
        let rule = |number: usize| {
            format!("  score s{number} normalize max {{ give nodes.count(n, n.free.cpu < node.free.cpu) }}\n")
        };
        let rules: String = (0..10).map(rule).collect();
        fs::write(folder.join(format!("p{policy:02}.bay")), format!("policy p{policy:02} {{\n{rules}}}\n"))
            .unwrap();
    }
    let report = |size: &str| {
        let ended = bayplan_in(&folder, &["lint", ".", "--format", "json", "--size", size]);
        let report: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.err));
        let said = report["diagnostics"].as_array().unwrap().clone();
        let errors = said.into_iter().filter(|it| it["severity"] == "error").collect::<Vec<_>>();
        (ended.status, errors)
    };
    assert_eq!(report("nodes=10,pods=10"), (0, Vec::new()));
    let (status, errors) = report("nodes=500,pods=10");
    assert_eq!(status, 1);
    let first = errors[0]["message"].as_str().unwrap();
    assert!(errors.len() < 60, "{} errors", errors.len());
    assert!(first.contains("all policies together have 1,0"), "{first}");
    assert!(first.contains("and at most 1,000,000,000 are possible"), "{first}");
}

#[test]
fn a_mode_whose_day_is_over_is_reported_unless_a_comment_allows_it() {
    let folder = std::env::temp_dir().join(format!("bayplan-mode-due-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lint = |comment: &str, day: &str| {
        let file = folder.join("trial.bay");
        let text = format!(
            "/// Tries a rule.\n{comment}policy trial {{\n  mode audit until {day}\n  filter f {{ require node.ready else \"x\" }}\n}}\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bayplan"));
        let output = command.arg("lint").arg(&file).args(["--format", "json"]).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = report["diagnostics"].as_array().unwrap().clone();
        said.iter()
            .map(|said| said["name"].as_str().or(said["code"].as_str()).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let allow = "// bayplan: allow(mode-due) because it is tried for longer\n";
    assert_eq!(lint("", "2020-01-31").len(), 1);
    assert_eq!(lint("", "9000-01-31"), [] as [String; 0]);
    assert_eq!(lint(allow, "2020-01-31"), [] as [String; 0]);
    assert_eq!(lint(allow, "9000-01-31"), [] as [String; 0], "the comment will be needed");
    std::fs::remove_dir_all(folder).unwrap();
}

const WARNS: &str = "\
/// Keeps pods on ready nodes.
policy ready {
  filter ready { require node.labels[\"ok\"] == \"yes\" else \"node(s) not ready\" }
}
";

#[test]
fn findings_are_denied_and_allowed_by_code_and_by_the_project() {
    let undocumented = WARNS.replace("/// Keeps pods on ready nodes.\n", "");
    let at = folder(&[("p.bay", &undocumented)]);
    let lint = |arguments: &[&str]| bayplan_in(&at, &[&["lint", "p.bay"][..], arguments].concat());
    let plain = lint(&["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&plain.out).unwrap();
    let codes: Vec<&str> =
        json["diagnostics"].as_array().unwrap().iter().map(|of| of["code"].as_str().unwrap()).collect();
    assert!(plain.status == 0 && !codes.is_empty(), "{}", plain.out);
    for code in &codes {
        assert_eq!(lint(&["--deny", code]).status, 1, "{code}");
        let ended = lint(&["--allow", code, "--format", "json"]);
        assert!(!ended.out.contains(code) && ended.status == 0, "{}", ended.out);
    }
    let mut all: Vec<&str> = vec!["--deny", "notes"];
    all.extend(codes.iter().flat_map(|code| ["--allow", code]));
    assert_eq!(lint(&all).status, 0);
    assert_eq!(lint(&["--deny", "BP0105"]).status, 0);
    let wrong = lint(&["--deny", "warning"]);
    assert!(wrong.status == 2 && wrong.err.contains("expected `warnings`, `notes`, a code"), "{}", wrong.err);
    // SARIF has what is allowed as suppressed.
    let sarif = |at: &Path, arguments: &[&str]| -> Vec<serde_json::Value> {
        let ended = bayplan_in(at, &[&["lint", "p.bay", "--format", "sarif"][..], arguments].concat());
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        json["runs"][0]["results"].as_array().unwrap().clone()
    };
    let results = sarif(&at, &["--allow", codes[0]]);
    let suppressed: Vec<_> = results.iter().filter(|of| !of["suppressions"].is_null()).collect();
    assert!(suppressed.len() == 1 && suppressed[0]["ruleId"] == codes[0], "{results:?}");
    assert_eq!(suppressed[0]["suppressions"][0]["kind"], "external");
    let commented = format!("// bayplan: allow(missing-doc) because it is a test\n{undocumented}");
    let own = folder(&[("p.bay", &commented)]);
    let results = sarif(&own, &[]);
    let suppressed: Vec<_> = results.iter().filter(|of| !of["suppressions"].is_null()).collect();
    assert_eq!(suppressed.len(), 1, "{results:?}");
    assert_eq!(suppressed[0]["suppressions"][0]["justification"], "it is a test");
    // The project file of a folder above counts.
    let project = format!("lint:\n  deny: [{}]\n", codes[0]);
    let root = folder(&[("bayplan.yaml", &project)]);
    std::fs::create_dir(root.join("below")).unwrap();
    std::fs::write(root.join("below/p.bay"), &undocumented).unwrap();
    assert_eq!(bayplan_in(&root.join("below"), &["lint", "p.bay"]).status, 1);
    assert_eq!(bayplan_in(&root.join("below"), &["lint", "p.bay", "--allow", codes[0]]).status, 0);
    for (text, said) in [
        ("lint: {denny: []}\n", "did you mean `deny`?"),
        ("lint: {deny: [BP9999]}\n", "expected `warnings`, `notes`, a code"),
        ("test: {min-coverage: 101}\n", "not a percentage from 0 to 100"),
        ("lint: [\n", "not valid YAML"),
    ] {
        std::fs::write(root.join("bayplan.yaml"), text).unwrap();
        let ended = bayplan_in(&root.join("below"), &["lint", "p.bay"]);
        assert!(ended.status == 2 && ended.err.contains(said), "{text}: {}{}", ended.out, ended.err);
    }
    std::fs::write(root.join("bayplan.yaml"), "kind: ConfigMap\nmetadata: {name: x}\n").unwrap();
    assert_eq!(bayplan_in(&root.join("below"), &["lint", "p.bay"]).status, 0);
}

#[test]
fn cases_are_chosen_by_name_and_coverage_can_fail() {
    let cases = "policies: [p.bay]\nnodes:\n- {name: n, labels: {ok: 'yes'}}\n- {name: m}\ncases:\n- name: a ready node\n  pod: {name: a}\n  expect: {node: n}\n- name: another pod\n  pod: {name: b}\n  expect: {not: m}\n";
    let at = folder(&[("p.bay", WARNS), ("p.test.yaml", cases)]);
    let test = |arguments: &[&str]| bayplan_in(&at, &[&["test", "p.test.yaml"][..], arguments].concat());
    let all = test(&[]);
    assert!(all.out.contains("2 cases"), "{}{}", all.out, all.err);
    assert!(test(&["--name", "ready"]).out.contains("1 case: "));
    let none = test(&["-k", "nothing"]);
    assert!(none.status == 2 && none.err.contains("no case has a name with `nothing`"), "{}", none.err);
    let junit = test(&["-o", "junit"]);
    assert_eq!(junit.out.matches(" time=\"").count(), 4, "{}", junit.out);
    let never = cases.replace("- {name: m}\n", "").replace("{not: m}", "{node: n}");
    std::fs::write(at.join("p.test.yaml"), never).unwrap();
    assert_eq!(test(&[]).status, 0);
    let ended = test(&["--min-coverage", "90"]);
    assert!(ended.status == 1 && ended.out.contains("the least is 90 %"), "{}", ended.out);
    std::fs::write(at.join("bayplan.yaml"), "test: {min-coverage: 90}\n").unwrap();
    assert_eq!(test(&[]).status, 1);
    assert_eq!(test(&["--min-coverage", "0"]).status, 0);
}

#[test]
fn a_fix_within_quotes_of_yaml_is_escaped() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: r, labels: {bayplan.dev/policy: \"true\"}}\ndata:\n  \
                a.bay: \"/// Own nodes.\\npolicy a { filter f { require node.ready else 'not ready' } }\"\n";
    let at = folder(&[("m.yaml", text)]);
    let ended = bayplan_in(&at, &["lint", "--fix", "m.yaml"]);
    assert!(ended.out.starts_with("1 mistake was fixed"), "{}", ended.out);
    let fixed = fs::read_to_string(at.join("m.yaml")).unwrap();
    assert!(fixed.contains(r#"else \"not ready\" } }"#), "{fixed}");
    assert_eq!(bayplan_in(&at, &["lint", "m.yaml"]).status, 0);
}

#[test]
fn the_owner_of_a_pod_is_a_path() {
    let text = "/// Own nodes.\npolicy a {\n  except until 2099-12-31 because \"for ever\" when pod.name == \"x\"\n  applies when \
                pod.owner.kind == \"Job\"\n  filter f { require node.ready else \"not ready\" }\n}\n";
    let at = folder(&[("a.bay", text)]);
    let ended = bayplan_in(&at, &["lint", "a.bay"]);
    assert!(!ended.out.contains("BP0413"), "{}", ended.out);
    let scan = text.replace("pod.owner.kind == \"Job\"", "pod.attempts > 3");
    fs::write(at.join("a.bay"), scan).unwrap();
    assert!(bayplan_in(&at, &["lint", "a.bay"]).out.contains("BP0413"));
}

#[test]
fn what_is_read_twice_is_said_once_and_reasons_name_their_file() {
    let looks = "/// Licences.\npolicy a {\n  let license = lookup(\"example.com/v1/License\", pod.namespace, \"l\")\n  filter f { require license != none else \"no licence\" }\n}\n";
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: licenses.example.com}\nspec:\n  group: example.com\n  names: {kind: License, plural: licenses}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seats: {type: integer}}}}}}\n";
    let at = folder(&[("a.bay", looks), ("crd.yaml", crd)]);
    let plan = bayplan_in(&at, &["plan", "a.bay", "--schema", "crd.yaml"]);
    assert!(
        plan.out.contains("License added") && !plan.out.contains("LookedUpObject"),
        "{}{}",
        plan.out,
        plan.err
    );
    for line in plan.out.lines() {
        let words: Vec<&str> = line.split("; ").map(str::trim).collect();
        assert!(words.iter().all(|word| words.iter().filter(|of| of == &word).count() == 1), "{line}");
    }
    fs::write(
        at.join("x.test.yaml"),
        "policies: [missing.bay]\ncases: [{name: c, pod: {name: p}, expect: {node: n}}]\n",
    )
    .unwrap();
    let ended = bayplan_in(&at, &["test", "x.test.yaml"]);
    assert!(ended.status == 2 && ended.err.contains("x.test.yaml"), "{}", ended.err);
    fs::write(at.join("defs.bay"), "def twice(x: int): int = x * 2\n").unwrap();
    let ended = bayplan_in(&at, &["convert", "defs.bay"]);
    assert!(!ended.out.contains("``"), "{}{}", ended.out, ended.err);
}
