//! What changes of policies mean: changes of the library as they were made, and edits of it as people make them, each with
//! the verdict that is right. Each witness is decided by the real binary, under the old and the new text.

use crate::support::command::{Ended, bayplan_in, folder};
use crate::support::repository;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An edit of a policy of the library: its file, what is replaced and by what, and the verdict about each rule that changes,
/// `RULE VERDICT`.
type Edit = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Edits as people make them.
const EDITS: &[Edit] = &[
    ("tutorial/avoid-node.bay", "== \"true\"", "in [\"true\", \"yes\"]", &["not-avoided stricter"]),
    ("tutorial/avoid-node.bay", "== \"true\"", "!= none", &["not-avoided stricter"]),
    (
        "tutorial/avoid-node.bay",
        "param key = \"avoid\"",
        "param key = \"drain\"",
        &["not-avoided incomparable"],
    ),
    (
        "tutorial/avoid-node.bay",
        "  filter",
        "  applies when pod.priority < 1000\n  filter",
        &["not-avoided looser"],
    ),
    ("tutorial/avoid-node.bay", "{\n    reject", "{\n    mode audit\n    reject", &["not-avoided looser"]),
    ("tutorial/gpu-priority.bay", "normalize minmax", "normalize max", &["most-free different"]),
    ("tutorial/gpu-priority.bay", "node.free[resource]", "node.free[resource] * 2", &["most-free different"]),
    ("tutorial/gpu-priority.bay", "> 0", ">= 1", &[]),
    ("tutorial/label-priority.bay", "p == none || p < 0", "p == none || p <= 0", &["highest different"]),
    ("tutorial/label-priority.bay", "p == none || p < 0", "!has(p) || !(p >= 0)", &[]),
    ("tutorial/label-priority.bay", "require has(node.labels[key])", "require key in node.labels", &[]),
    ("patterns/batch-hours.bay", "== \"batch\"", "in [\"batch\", \"ml\"]", &["gate stricter"]),
    (
        "patterns/gpu-placement.bay",
        "node.free[resource] >= pod",
        "node.free[resource] > pod",
        &["free-gpus stricter"],
    ),
    ("patterns/gpu-placement.bay", "weight 3", "weight 5", &["fullest different"]),
    (
        "patterns/gpu-placement.bay",
        "> 0",
        "> 1",
        &["free-gpus looser", "not-avoided looser", "fullest different"],
    ),
    ("patterns/gpu-placement.bay", "      else \"Insufficient", "      else \"Not enough", &[]),
    (
        "patterns/cheapest.bay",
        "give none when price == none",
        "give none when price == none || price < 0",
        &["cost different"],
    ),
    ("patterns/arch-match.bay", "param usual = \"amd64\"", "param usual = \"arm64\"", &["arch incomparable"]),
    ("patterns/data-locality.bay", "give 60", "give 50", &["local unknown"]),
    ("patterns/spot-mix.bay", "prefer 5 when", "prefer 7 when", &["prefer-1 different"]),
    (
        "patterns/spot-mix.bay",
        "== \"allowed\"",
        "in [\"allowed\", \"preferred\"]",
        &["keep-on-demand stricter", "prefer-1 different"],
    ),
    ("patterns/maintenance.bay", "param length = 4h", "param length = 6h", &["ends-before unknown"]),
    ("patterns/maintenance.bay", "start != none && now()", "has(start) && now()", &[]),
    ("patterns/prepulled-only.bay", "== \"true\"", "in [\"true\", \"1\"]", &["images-present stricter"]),
];

/// What the command says of two texts, as JSON.
fn diff(old: (&str, &str), new: (&str, &str)) -> Value {
    let here = folder(&[old, new]);
    let Ended { status, out, err } = bayplan_in(&here, &["diff", old.0, new.0, "-o", "json"]);
    assert_eq!(status, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// `RULE VERDICT` of the rules that do not mean the same.
fn verdicts(said: &Value) -> Vec<String> {
    let rules = said["rules"].as_array().unwrap().iter().filter(|rule| rule["verdict"] != "same");
    rules
        .map(|rule| format!("{} {}", rule["rule"].as_str().unwrap(), rule["verdict"].as_str().unwrap()))
        .collect()
}

/// Decides each witness that is made up under both texts: a filter refuses the pod on the node on one side alone.
fn check_witnesses(said: &Value, old: (&str, &str), new: (&str, &str)) {
    for rule in said["rules"].as_array().unwrap() {
        for witness in rule["witnesses"].as_array().unwrap() {
            let objects = &witness["objects"];
            if objects["podsOnNode"] != 0 || !objects["victim"].is_null() {
                continue;
            }
            let list = json!({"apiVersion": "v1", "kind": "List",
                "items": [objects["namespace"], objects["node"], objects["pod"]]});
            let refuses = |policy: (&str, &str)| {
                let here = folder(&[policy, ("cluster.json", &list.to_string())]);
                let node = objects["node"]["metadata"]["name"].as_str().unwrap();
                let pod = witness["pod"].as_str().unwrap();
                let line =
                    ["explain", pod, "--node", node, "--cluster", "cluster.json", "--policies", policy.0];
                let Ended { out, err, .. } = bayplan_in(&here, &line);
                let name = format!("{}/{}", rule["policy"].as_str().unwrap(), rule["rule"].as_str().unwrap());
                (
                    out.contains(&format!("{name} refuses")) || out.contains(&format!("{name}  refuses")),
                    format!("{out}{err}"),
                )
            };
            if witness["effect"] == "scored" || !rule["place"].as_str().unwrap().contains(".bay") {
                continue;
            }
            let ((before, told_before), (after, told_after)) = (refuses(old), refuses(new));
            let refused = witness["effect"] == "refused";
            assert_eq!((before, after), (!refused, refused), "{rule:#}\n{told_before}\n{told_after}");
        }
    }
}

#[test]
fn edits_of_the_library_have_the_right_verdict() {
    let (mut unknown, mut all) = (0, 0);
    for (file, from, to, expected) in EDITS {
        let old = std::fs::read_to_string(repository("policies").join(file)).unwrap();
        assert!(old.contains(from), "{file} has no `{from}`");
        let new = old.replacen(from, to, 1);
        let said = diff(("old.bay", &old), ("new.bay", &new));
        assert_eq!(verdicts(&said), *expected, "{file}: {from} becomes {to}\n{said:#}");
        let words = said["rules"].as_array().unwrap().iter().filter(|rule| rule["textChanged"] == true);
        all += words.count().max(1);
        unknown += expected.iter().filter(|verdict| verdict.ends_with("unknown")).count();
    }
    assert!(unknown * 10 <= all, "{unknown} of {all} are unknown");
}

#[test]
fn changes_of_the_library_have_their_recorded_verdicts() {
    let folder = repository("tests/compare/changes");
    let mut pairs: BTreeMap<String, [PathBuf; 2]> = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((name, side)) = name.split_once('.') else { continue };
        if side.starts_with("old.") || side.starts_with("new.") {
            let of = pairs.entry(name.to_owned()).or_default();
            of[usize::from(side.starts_with("new."))] = path;
        }
    }
    let mut lines = String::new();
    for (name, [old, new]) in &pairs {
        let texts = [old, new].map(|path| std::fs::read_to_string(path).unwrap());
        let names = [old, new].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        let said = diff((&names[0], &texts[0]), (&names[1], &texts[1]));
        check_witnesses(&said, (&names[0], &texts[0]), (&names[1], &texts[1]));
        for rule in said["rules"].as_array().unwrap().iter().filter(|rule| rule["textChanged"] == true) {
            let why = rule["unknownBecause"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            lines += &format!(
                "{name} {} {}{why}\n",
                rule["rule"].as_str().unwrap(),
                rule["verdict"].as_str().unwrap()
            );
        }
    }
    let golden = folder.join("verdicts.txt");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&golden, &lines).unwrap();
    }
    assert_eq!(std::fs::read_to_string(golden).unwrap_or_default(), lines, "run `make golden`");
}
