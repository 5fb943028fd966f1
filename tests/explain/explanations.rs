//! What `explain` prints for small clusters, each in a file of `tests/explain/explanations` whose
//! first line is the command. A policy of the same name is loaded with it, in CEL from the folder `documents`, and the expected output
//! is in a file beside it; with `BAYPLAN_GOLDEN=write` the outputs are written anew.

use crate::support::command::{Ended, bayplan};
use crate::support::repository;
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository("tests/explain/explanations")).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    found.sort();
    found
}

/// The arguments in the first line of a case.
fn arguments(case: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(case).unwrap();
    let line = text.lines().next().unwrap().strip_prefix("# bayplan explain").unwrap().to_owned();
    let relative = case.strip_prefix(repository("")).unwrap();
    let mut arguments: Vec<String> =
        ["explain"].into_iter().chain(line.split_whitespace()).map(str::to_owned).collect();
    arguments.extend(["--cluster".to_owned(), relative.display().to_string()]);
    if case.with_extension("bay").exists() {
        arguments.extend(["--policies".to_owned(), relative.with_extension("bay").display().to_string()]);
    }
    let document = Path::new("tests/explain/explanations/documents").join(case.file_name().unwrap());
    if repository("").join(&document).exists() {
        arguments.extend(["--policies".to_owned(), document.display().to_string()]);
    }
    arguments
}

#[test]
fn explanations_read_as_expected() {
    let write = std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write");
    let mut wrong = Vec::new();
    for case in cases() {
        let arguments = arguments(&case);
        let Ended { status, out: text, err: errors } =
            bayplan(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(status, 0, "{}: {errors}", case.display());
        let expected = case.with_extension("out");
        if write {
            std::fs::write(&expected, &text).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != text {
            wrong.push(format!("{}:\n{text}", case.display()));
        }
        let first = text.lines().next().unwrap();
        assert!(first.chars().count() <= 100, "{first}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The objects of a case.
fn objects(case: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(case).unwrap();
    let list: Value = serde_saphyr::from_str(&text).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// A strategic merge patch, as far as pods need it: containers are merged by name and spread
/// constraints by their topology key, null removes, other lists are replaced.
fn merge(into: &mut Value, patch: &Value) {
    let (Some(fields), true) = (patch.as_object(), into.is_object() || into.is_null()) else {
        *into = patch.clone();
        return;
    };
    for (field, value) in fields {
        match (field.as_str(), value) {
            (_, Value::Null) => drop(into.as_object_mut().map(|into| into.remove(field))),
            ("containers" | "initContainers" | "topologySpreadConstraints", Value::Array(patches)) => {
                let key = if field == "topologySpreadConstraints" { "topologyKey" } else { "name" };
                for patch in patches {
                    let known = into[field].as_array_mut().unwrap();
                    let item = known.iter_mut().find(|known| known[key] == patch[key]).unwrap();
                    merge(item, patch);
                }
            }
            _ => merge(&mut into[field], value),
        }
    }
}

/// What `kubectl label`, `annotate`, `taint` and `uncordon` do to the objects.
fn kubectl(objects: &mut [Value], command: &str) {
    let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
    let target = |objects: &mut [Value], kind: &str, name: &str| -> usize {
        objects.iter().position(|of| of["kind"] == kind && of["metadata"]["name"] == name).unwrap()
    };
    let set = |of: &mut Value, term: &str| match term.split_once('=') {
        Some((key, value)) => of[key] = json!(value),
        None => drop(of.as_object_mut().unwrap().remove(term.strip_suffix('-').unwrap())),
    };
    match words[..] {
        ["kubectl", "label", "node", name, term, ..] => {
            let at = target(objects, "Node", name);
            set(&mut objects[at]["metadata"]["labels"], term);
        }
        ["kubectl", "label", "pod", name, "-n", "default", term, ..] => {
            let at = target(objects, "Pod", name);
            set(&mut objects[at]["metadata"]["labels"], term);
        }
        ["kubectl", "annotate", "pod", name, "-n", "default", term, ..] => {
            let at = target(objects, "Pod", name);
            set(&mut objects[at]["metadata"]["annotations"], term);
        }
        ["kubectl", "uncordon", name] => {
            let at = target(objects, "Node", name);
            objects[at]["spec"] = json!({});
        }
        ["kubectl", "taint", "node", name, taint] => {
            let at = target(objects, "Node", name);
            let key = taint.split([':', '=']).next().unwrap();
            objects[at]["spec"]["taints"].as_array_mut().unwrap().retain(|taint| taint["key"] != key);
        }
        _ => panic!("{command}"),
    }
}

/// Does in a claim what the patch says: `In the request gpu of ResourceClaim mine, set `count: 1`, …`.
fn edit_claim(objects: &mut [Value], text: &str) {
    let after = |word: &str| {
        let rest = text.split(word).nth(1).unwrap();
        rest.split([' ', ',']).next().unwrap().to_owned()
    };
    let (request, claim) = (after(" the request "), after("ResourceClaim "));
    let what: Value = serde_saphyr::from_str(text.split('`').nth(1).unwrap()).unwrap();
    let is_it = |of: &&mut Value| of["kind"] == "ResourceClaim" && of["metadata"]["name"] == *claim;
    let claim = objects.iter_mut().find(is_it).unwrap();
    let requests = claim["spec"]["devices"]["requests"].as_array_mut().unwrap();
    let request = requests.iter_mut().find(|of| of["name"] == *request).unwrap();
    match what.get("count") {
        Some(count) => request["exactly"]["count"] = count.clone(),
        None => request["exactly"]["tolerations"] = json!([what]),
    }
}

/// Makes the patch of `--fix N -o json` in the objects, as kubectl would.
fn apply(objects: &mut [Value], pod: &str, fix: &Value) {
    let named = objects.iter_mut().find(|of| of["kind"] == "Pod" && of["metadata"]["name"] == pod).unwrap();
    if !fix["manifestPatch"].is_null() {
        merge(named, &fix["manifestPatch"]);
    }
    let (claims, by_hand): (Vec<&str>, Vec<&str>) = fix["byHand"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .partition(|of| of.contains("ResourceClaim"));
    if !by_hand.is_empty() {
        named["spec"]["containers"][0]["ports"][0].as_object_mut().unwrap().remove("hostPort");
    }
    claims.into_iter().for_each(|claim| edit_claim(objects, claim));
    for command in fix["commands"].as_array().unwrap() {
        kubectl(objects, command.as_str().unwrap());
    }
}

/// A folder for the files of one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bayplan-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write_cluster(folder: &Path, objects: &[Value]) -> String {
    let cluster = folder.join("cluster.json");
    std::fs::write(&cluster, json!({"kind": "List", "items": objects}).to_string()).unwrap();
    cluster.display().to_string()
}

/// Runs a command that prints JSON.
fn json_of(arguments: &[String]) -> Value {
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["-o", "json"]);
    let Ended { status, out: text, err: errors } = bayplan(&arguments);
    assert_eq!(status, 0, "{arguments:?}: {errors}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn patches_do_what_they_promise() {
    let folder = folder("patches");
    let mut applied = std::collections::BTreeMap::new();
    for case in cases() {
        let flags = arguments(&case);
        let Some(pod) = flags.get(1).filter(|word| !word.starts_with('-')).cloned() else { continue };
        // The explanation of one node has no patches.
        if flags.iter().any(|flag| flag == "--node") {
            continue;
        }
        let explained = json_of(&flags);
        for (at, help) in explained["wouldHelp"].as_array().unwrap().iter().enumerate() {
            if help["whose"] == "wait" {
                continue;
            }
            let fix = json_of(&[&flags[..], &["--fix".to_owned(), (at + 1).to_string()]].concat());
            let mut changed = objects(&case);
            apply(&mut changed, &pod, &fix);
            let mut again = vec!["explain".to_owned(), pod.clone()];
            again.extend(["--cluster".to_owned(), write_cluster(&folder, &changed)]);
            if let Some(at) = flags.iter().position(|flag| flag == "--policies") {
                let written = repository(&flags[at + 1]);
                let policy = folder.join("policy").with_extension(written.extension().unwrap());
                std::fs::copy(&written, &policy).unwrap();
                for change in fix["policies"].as_array().unwrap() {
                    patch(&policy, change["diff"].as_str().unwrap());
                }
                again.extend(["--policies".to_owned(), policy.display().to_string()]);
            }
            let told = json_of(&again);
            assert_eq!(told["state"], "placed", "{}: {help}", case.display());
            let node = told["decision"]["node"].as_str().unwrap();
            let opened = help["nodes"].as_array().unwrap();
            assert!(opened.is_empty() || opened.iter().any(|of| of == node), "{node}: {help}");
            *applied.entry(help["whose"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert!(applied.len() == 3 && applied.values().all(|count| *count > 1), "{applied:?}");
}

/// A cluster where several pods wait and several are placed before them.
fn random_cluster(random: &mut Random) -> Vec<Value> {
    let mut objects = Vec::new();
    for at in 0..5 {
        let taints = match random.below(5) {
            0 => json!([{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]),
            1 => json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]),
            _ => json!([]),
        };
        let disk = ["ssd", "hdd"][random.below(2)];
        objects.push(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{at}"), "labels": {"disk": disk}},
            "spec": {"unschedulable": random.below(8) == 0, "taints": taints},
            "status": {"allocatable": {
                "cpu": format!("{}m", 1_500 + 500 * random.below(8)), "memory": "9Gi", "pods": "4",
            }},
        }));
    }
    for at in 0..9 {
        let selector = match random.below(4) {
            0 => json!({"disk": "sdd"}),
            1 => json!({"disk": "ssd"}),
            _ => json!({}),
        };
        let sidecar = json!({
            "name": "proxy", "image": "x", "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}},
        });
        let memory = ["1Gi", "6500000Ki"][random.below(2)];
        let main = json!({"name": "main", "image": "x", "resources": {"requests": {
            "cpu": format!("{}m", 750 + 500 * random.below(8)), "memory": memory,
        }}});
        objects.push(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{at}"), "namespace": "default"},
            "spec": {"priority": random.below(3), "nodeSelector": selector, "containers": [sidecar, main]},
        }));
    }
    objects
}

/// Every suggestion holds at the pod's turn: with the pods that were placed before it where they
/// are, and with the change, the pod is placed. A change of the pod alone also holds when all pods
/// are placed again.
#[test]
fn suggestions_hold_at_the_pods_turn() {
    let folder = folder("turns");
    let (mut followed, mut after_others) = (0, 0);
    for seed in 0..4 {
        let objects = random_cluster(&mut Random(seed));
        let cluster = write_cluster(&folder, &objects);
        let flags = ["--cluster".to_owned(), cluster, "--tie-break".to_owned(), "name".to_owned()];
        let run = json_of(&[&["dry-run".to_owned()], &flags[..]].concat());
        let decisions = run["decisions"].as_array().unwrap().clone();
        for decision in decisions.iter().filter(|decision| decision["state"] == "waits") {
            let full_name = decision["pod"].as_str().unwrap();
            let name = full_name.strip_prefix("default/").unwrap();
            write_cluster(&folder, &objects);
            let command = [&["explain".to_owned(), name.to_owned()], &flags[..]].concat();
            let explained = json_of(&command);
            let before = explained["placedBefore"].as_array().unwrap().clone();
            after_others += usize::from(!before.is_empty());
            for (at, help) in explained["wouldHelp"].as_array().unwrap().iter().enumerate() {
                if help["steps"].as_array().unwrap().iter().any(|step| step["whose"] == "wait") {
                    continue;
                }
                write_cluster(&folder, &objects);
                let fix = json_of(&[&command[..], &["--fix".to_owned(), (at + 1).to_string()]].concat());
                let mut changed = objects.clone();
                apply(&mut changed, name, &fix);
                let turn = at_turn(&changed, &decisions, full_name, &before);
                let states = if help["whose"] == "pod" { vec![turn, changed] } else { vec![turn] };
                for state in states {
                    write_cluster(&folder, &state);
                    let told = json_of(&command);
                    let verdict = &told["verdict"];
                    assert_eq!(told["state"], "placed", "seed {seed}, {name}: {help}\n{verdict}");
                }
                followed += 1;
            }
        }
    }
    assert!(followed > 20 && after_others > 3, "{followed} {after_others}");
}

/// The cluster at a pod's turn: the pods before it run on their nodes, the pods after it are not
/// there.
fn at_turn(objects: &[Value], decisions: &[Value], pod: &str, before: &[Value]) -> Vec<Value> {
    let mut turn = objects.to_vec();
    turn.retain_mut(|of| {
        let full_name = format!("default/{}", of["metadata"]["name"].as_str().unwrap());
        if of["kind"] == "Node" || full_name == pod {
            return true;
        }
        let decision = decisions.iter().find(|other| other["pod"] == full_name).unwrap();
        of["spec"]["nodeName"] = decision["node"].clone();
        before.iter().any(|name| *name == full_name)
    });
    turn
}

#[test]
fn a_gate_that_the_clock_opens_says_when() {
    let folder = folder("gate");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "x"}]}});
    let cluster = write_cluster(&folder, &[pod]);
    let policy = folder.join("later.bay");
    let text = "policy later {\n  /// Not in this century.\n  gate \"closed\" \
                when now() < timestamp(\"2100-01-01T00:00:00Z\")\n}\n";
    std::fs::write(&policy, text).unwrap();
    let flags = ["explain", "p", "--cluster", &cluster, "--policies", policy.to_str().unwrap()];
    let Ended { status, out: text, err: errors } = bayplan(&flags);
    assert_eq!(status, 0, "{errors}");
    assert!(text.starts_with("default/p is kept out of the queue by later: closed\n"), "{text}");
    assert!(text.contains("later.bay:3\n    Not in this century.\n    closed\n"), "{text}");
    assert!(text.contains("\n  Opens Friday 2100-01-01 00:00 UTC, in "), "{text}");
    assert!(text.lines().last().unwrap().ends_with("--fix 1"), "{text}");
    let told = json_of(&flags.map(str::to_owned));
    assert_eq!(told["gate"]["opens"], "2100-01-01T00:00:00Z");
    assert_eq!(told["wouldHelp"][0]["what"], "except this pod from later");
}

#[test]
fn the_next_command_says_when_it_needs_the_same_stdin() {
    let script = format!(
        "{} explain p --cluster - < {}",
        env!("CARGO_BIN_EXE_bayplan"),
        repository("tests/explain/explanations/units.yaml").display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let next = text.lines().last().unwrap();
    assert_eq!(next, "Next, with the same stdin: bayplan explain p --cluster - --node a");
}

/// Names with escapes and line ends in files: nothing of them reaches the output raw, and they
/// forge no line.
#[test]
fn names_forge_no_line_of_an_explanation() {
    let folder = folder("names");
    let evil = "p\u{1b}[2J\nNext: rm -rf .";
    let strange = "n\u{202e}\nforged";
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": strange, "labels": {"a": "b\nforged"}},
        "spec": {"taints": [{"key": "k\nforged", "value": "v\u{1b}[31m", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    });
    let fields = [
        ("", json!({})),
        ("schedulingGates", json!([{"name": "g\nforged"}])),
        ("schedulerName", json!("s\nforged")),
    ];
    for (field, value) in fields {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": evil, "namespace": "default"},
            "spec": {"nodeSelector": {"a": "c\nforged"}, "containers": [{"name": "main", "image": "x"}]}});
        if !field.is_empty() {
            pod["spec"][field] = value;
        }
        let cluster = write_cluster(&folder, &[node.clone(), pod]);
        let commands: [&[&str]; 5] = [
            &["explain", evil, "-n", "default", "--cluster", &cluster, "--all"],
            &["explain", evil, "-n", "default", "--cluster", &cluster, "--fix", "1"],
            &["explain", evil, "-n", "default", "--cluster", &cluster, "--node", strange],
            &["explain", "--cluster", &cluster],
            &["explain", "--cluster", &cluster, "--cause", "1"],
        ];
        for command in commands {
            let Ended { out: text, err: errors, .. } = bayplan(command);
            for line in text.lines().chain(errors.lines()) {
                assert!(!line.starts_with("Next: rm") && !line.starts_with("forged"), "{command:?}: {text}");
                assert!(!line.contains(['\u{1b}', '\u{202e}']), "{command:?}: {line:?}");
            }
        }
    }
}

/// Applies a diff to a file with `patch`, whatever name the diff has.
fn patch(file: &Path, diff: &str) {
    let patch = file.with_extension("patch");
    std::fs::write(&patch, diff).unwrap();
    let output = Command::new("patch").arg(file).arg(patch).output().unwrap();
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stdout));
}
