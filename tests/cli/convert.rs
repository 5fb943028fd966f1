//! `bayplan convert` on files and ConfigMaps: what it writes, and that it writes nothing where a part has no twin.

use crate::support::command::{Ended, bayplan, bayplan_in, folder};

const GOOD: &str = "/// Keeps pods off broken nodes.\npolicy healthy {\n  filter ready {\n    require node.ready else \"not ready\"\n  }\n}\n";
const NONE: &str =
    "/// A.\npolicy other { score s normalize minmax { give pod.priority * 10000000000 * 10000000000 } }\n";

#[test]
fn a_file_is_converted_there_and_back() {
    let at = folder(&[("a.bay", GOOD)]);
    let Ended { status, out: shown, err } = bayplan_in(&at, &["convert", "a.bay"]);
    assert_eq!(status, 0, "{err}");
    let Ended { status, out, .. } = bayplan_in(&at, &["convert", "--write", "a.bay"]);
    assert_eq!((status, out.as_str()), (0, "wrote a.yaml\n"));
    assert_eq!(std::fs::read_to_string(at.join("a.yaml")).unwrap(), shown);
    let Ended { status, out: back, .. } = bayplan_in(&at, &["convert", "a.yaml"]);
    assert_eq!((status, back.as_str()), (0, GOOD));
    let Ended { status, err, .. } = bayplan_in(&at, &["convert", "--write", "a.yaml"]);
    assert!(status == 2 && err.contains("a.bay exists already"), "{err}");
}

#[test]
fn nothing_is_written_where_a_part_has_no_twin() {
    let at = folder(&[("a.bay", GOOD), ("b.bay", NONE)]);
    for arguments in [["convert", "--write", "."], ["convert", "--check", "."]] {
        let Ended { status, out, err } = bayplan_in(&at, &arguments);
        assert!(status == 1 && out.contains("BP0507") && out.contains("b.bay:2"), "{out}{err}");
    }
    assert!(!at.join("a.yaml").exists());
    let Ended { status, out, .. } = bayplan_in(&at, &["convert", "--check", "a.bay"]);
    assert_eq!((status, out.as_str()), (0, "1 text can be converted\n"));
    let at = folder(&[("a.bay", &GOOD.replace("node.", "nod."))]);
    assert_eq!(bayplan_in(&at, &["convert", "a.bay"]).status, 2);
}

#[test]
fn a_default_that_never_applies_is_removed_before_a_policy_is_converted() {
    let policy = "/// A.\npolicy quota {\n  applies when has(pod.labels[\"team\"])\n  \
                  ledger used: cpu by pod.labels[\"team\"] ?? \"\" { add pod.requests.cpu }\n  \
                  prefilter { reject \"used\" when used[pod.labels[\"team\"] ?? \"\"] > 4cpu }\n}\n";
    let at = folder(&[("q.bay", policy)]);
    let Ended { status, out, .. } = bayplan_in(&at, &["convert", "q.bay"]);
    assert!(status == 1 && out.contains("bayplan lint --fix"), "{out}");
    let fixed = bayplan_in(&at, &["lint", "--fix", "q.bay"]);
    assert_eq!(fixed.status, 0, "{}{}", fixed.out, fixed.err);
    let Ended { status, out, err } = bayplan_in(&at, &["convert", "q.bay"]);
    assert_eq!(status, 0, "{out}{err}");
}

#[test]
fn the_keys_of_config_maps_are_converted_in_place() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, labels: {bayplan.dev/policy: \"true\"}}\ndata:\n";
    let lines = GOOD.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let map = format!(
        "{head}  other: stays\n  a.bay: |\n{lines}  last: too # here\n---\nkind: Pod\nmetadata: {{name: x}}\n"
    );
    let json = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "more", "labels": {"bayplan.dev/policy": "true"}},
        "data": {"b.bay": GOOD.replace("healthy", "more")},
    });
    let at = folder(&[("map.yaml", &map), ("more.json", &json.to_string())]);
    for ending in [".yaml", ".bay"] {
        let Ended { status, out, err } = bayplan_in(&at, &["convert", "--write", "map.yaml", "more.json"]);
        assert_eq!(status, 0, "{out}{err}");
        let written = std::fs::read_to_string(at.join("map.yaml")).unwrap();
        assert!(written.contains(&format!("  other: stays\n  a{ending}: |\n    ")), "{written}");
        assert!(written.contains("\n  last: too # here\n---\nkind: Pod\n"), "{written}");
        let Ended { status, out, .. } = bayplan_in(&at, &["lint", "map.yaml", "more.json"]);
        assert_eq!((status, out.as_str()), (0, "2 policies in 2 files: nothing to say.\n"), "{written}");
    }
    assert_eq!(std::fs::read_to_string(at.join("map.yaml")).unwrap(), map);
}

#[test]
fn the_included_policies_that_are_converted_decide_alike() {
    let document = bayplan(&["convert", "examples/first/gpu.bay"]);
    assert_eq!(document.status, 0, "{}{}", document.out, document.err);
    let at = folder(&[("gpu.yaml", &document.out)]);
    let decisions = |policies: &str| {
        let arguments =
            ["dry-run", "--cluster", "examples/first/cluster.yaml", "--policies", policies, "-o", "json"];
        let ended = bayplan(&arguments);
        (ended.status, ended.out, ended.err)
    };
    assert_eq!(decisions(at.to_str().unwrap()), decisions("examples/first/gpu.bay"));
}

/// Messages and values are the same in both languages, durations too.
#[test]
fn a_converted_policy_shows_what_the_policy_showed() {
    let policy = "/// A.\npolicy a {\n  param patience = 90min\n  let longest = duration(pod.labels[\"longest\"]) ?? 2d\n  filter f {\n    \
                  require pod.name == \"none\" else \"waits {patience} of {longest}\" with {\n      one: duration(node.labels[\"d\"]),\n      \
                  other: [500ms, 1h], named: {\"a\": 90min}, no: duration(pod.name), age: pod.created - pod.created\n    }\n  }\n}\n";
    let cluster = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {d: 1h30m0.25s}}\nstatus: {allocatable: {cpu: 1, memory: 1Gi, pods: 110}}\n---\n\
                   apiVersion: v1\nkind: Pod\nmetadata: {name: q, creationTimestamp: 2026-03-02T09:00:00Z}\nspec: {containers: [{name: c, image: i}]}\n";
    let at = folder(&[("a.bay", policy), ("cluster.yaml", cluster)]);
    let Ended { status, out, err } = bayplan_in(&at, &["convert", "--write", "a.bay"]);
    assert_eq!(status, 0, "{out}{err}");
    let shown = |policies: &str| {
        let arguments = ["explain", "q", "--cluster", "cluster.yaml", "--policies", policies, "-o", "json"];
        let json: serde_json::Value = serde_json::from_str(&bayplan_in(&at, &arguments).out).unwrap();
        let refusal = &json["perNode"][0]["refusals"][0];
        [&refusal["reason"], &refusal["have"]].map(|of| of.as_str().unwrap().to_owned())
    };
    assert_eq!(
        shown("a.bay"),
        [
            "waits 1h30min of 2d",
            "one: 1h30min250ms, other: [500ms, 1h], named: {\"a\": 1h30min}, no: none, age: 0s"
        ]
    );
    assert_eq!(shown("a.yaml"), shown("a.bay"));
}

/// What is written is for programs: into a pipe or a file it goes as it is.
#[test]
fn what_a_pipe_gets_is_the_text_itself() {
    let text = "/// A.\npolicy a {\n  filter f { require node.ready else \"\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645} \u{1f468}\u{200d}\u{1f469}\" }\n}\n";
    let at = folder(&[("a.bay", text)]);
    let shown = bayplan_in(&at, &["convert", "a.bay"]);
    assert_eq!(shown.status, 0, "{}", shown.err);
    assert_eq!(bayplan_in(&at, &["convert", "--write", "a.bay"]).status, 0);
    let written = std::fs::read_to_string(at.join("a.yaml")).unwrap();
    assert_eq!(shown.out, written);
    assert!(shown.out.contains("\u{6cc}\u{200c}\u{62e}"), "{}", shown.out.escape_unicode());
}

/// A number that only the end of its range tells apart: the policy is written, and a note names the line.
#[test]
fn a_note_says_where_numbers_at_the_end_of_their_range_differ() {
    let text = "/// A.\npolicy a {\n  filter f {\n    require (int(node.labels[\"n\"]) ?? 0) + 1 > 0 else \"r\"\n  }\n}\n";
    let at = folder(&[("a.bay", text), ("defs.bay", "def big(p: pod): bool = p.priority > 3\n")]);
    for arguments in [&["convert", "a.bay"][..], &["convert", "--check", "a.bay"]] {
        let Ended { status, err, .. } = bayplan_in(&at, arguments);
        assert_eq!(status, 0, "{err}");
        assert!(err.contains("BP0507") && err.contains("a.bay:4"), "{err}");
    }
    let Ended { status, out, .. } = bayplan_in(&at, &["convert", "--check", "defs.bay"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("the text has no policy"), "{out}");
}
