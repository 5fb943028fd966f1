//! What `explain --fix` prints of policies applies with `patch` and with `git apply`, wherever a policy is written. The
//! changed file then lints, and the pod is placed.

use crate::support::command::{Ended, Folder, bayplan_in, folder};
use crate::support::repository;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n, labels: {zone: b}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: i}]}
";

/// How a file holds a policy.
#[derive(Clone, Copy, Debug)]
enum Style {
    Own,
    Block(&'static str),
    TwoKeys,
    List,
    DoubleQuoted,
    SingleQuoted,
    Plain,
    Json,
    JsonList,
    Flow,
}

const ANY_TEXT: [Style; 8] = [
    Style::Own,
    Style::Block("|"),
    Style::Block("|-"),
    Style::TwoKeys,
    Style::List,
    Style::DoubleQuoted,
    Style::Json,
    Style::JsonList,
];

const HEAD: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: rules\n  labels: {bayplan.dev/policy: \"true\"}\n";

/// The file that holds a policy, and its name.
fn file(style: Style, text: &str, ending: &str) -> (String, String) {
    let key = format!("p{ending}");
    let indented = |by: &str| {
        let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{by}{line}\n") };
        text.lines().map(line).collect::<String>()
    };
    let quoted = Value::from(text).to_string();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "rules", "labels": {"bayplan.dev/policy": "true"}}, "data": {&key: text}});
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let yaml = match style {
        Style::Own => return (key, text.to_owned()),
        Style::Block(mark) => format!("{HEAD}data:\n  {key}: {mark}\n{}", indented("    ")),
        Style::TwoKeys => format!(
            "{HEAD}data:\n  a.bay: |\n    policy other {{\n      filter any {{ require pod.name != \"x\" else \"x\" }}\n    }}\n  {key}: | # rules\n{}  \
             readme: none\n",
            indented("      ")
        ),
        Style::List => {
            let head: String = HEAD
                .lines()
                .enumerate()
                .map(|(at, line)| format!("{}{line}\n", if at == 0 { "- " } else { "  " }))
                .collect();
            format!("apiVersion: v1\nkind: List\nitems:\n{head}  data:\n    {key}: |\n{}", indented("      "))
        }
        Style::DoubleQuoted => format!("{HEAD}data:\n  {key}: {quoted} # rules\n"),
        Style::SingleQuoted => format!("{HEAD}data:\n  {key}: '{}'\n", one_line.replace('\'', "''")),
        Style::Plain => format!("{HEAD}data:\n  {key}: {one_line}\n"),
        Style::Flow => format!("{HEAD}data: {{{key}: '{}'}}\n", one_line.replace('\'', "''")),
        Style::Json => return ("maps.json".to_owned(), format!("{map:#}\n")),
        Style::JsonList => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": [map]});
            return ("maps.json".to_owned(), list.to_string());
        }
    };
    ("maps.yaml".to_owned(), yaml)
}

/// Applies a patch with a tool; what the tool says where it fails.
fn applied(at: &Path, tool: &[&str], patch: &str) -> Result<(), String> {
    std::fs::write(at.join("fix.patch"), patch).unwrap();
    let output = Command::new(tool[0]).args(&tool[1..]).current_dir(at).output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let clean = output.status.success() && !said.contains("fuzz") && !said.contains("offset");
    if clean { Ok(()) } else { Err(said) }
}

/// Applies every suggestion that changes a policy of a file, with both tools. The number of suggestions.
fn follow(name: &str, text: &str, more: &[&str]) -> usize {
    let files = [(name, text), ("cluster.yaml", CLUSTER)];
    let (ours, gits): (Folder, Folder) = (folder(&files), folder(&files));
    let asked = [&["explain", "p", "--cluster", "cluster.yaml", "--policies", name][..], more].concat();
    let said = |at: &Folder, arguments: &[&str]| -> Ended { bayplan_in(at, arguments) };
    let told = said(&ours, &[&asked[..], &["-o", "json"]].concat());
    let json: Value = serde_json::from_str(&told.out)
        .unwrap_or_else(|_| panic!("{name}: {}{}\n{text}", told.out, told.err));
    let mut followed = 0;
    for (at, help) in json["wouldHelp"].as_array().unwrap().iter().enumerate() {
        if help["whose"] != "policy" {
            continue;
        }
        let number = (at + 1).to_string();
        let fix = said(&ours, &[&asked[..], &["--fix", &number]].concat());
        assert_eq!(fix.status, 0, "{}", fix.err);
        for (at, tool) in
            [(&ours, &["patch", "-p1", "-i", "fix.patch"][..]), (&gits, &["git", "apply", "fix.patch"][..])]
        {
            if let Err(why) = applied(at, tool, &fix.out) {
                panic!("{tool:?}: {why}\n{}\n{text}", fix.out);
            }
        }
        let changed = std::fs::read_to_string(ours.join(name)).unwrap();
        assert_eq!(changed, std::fs::read_to_string(gits.join(name)).unwrap());
        let lint = said(&ours, &[&["lint", name][..], more].concat());
        assert_eq!(lint.status, 0, "{}{}", lint.out, lint.err);
        let again = said(&ours, &[&asked[..], &["-o", "json"]].concat());
        let state: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(state["state"], "placed", "{}\n{changed}", fix.out);
        for at in [&ours, &gits] {
            std::fs::write(at.join(name), text).unwrap();
        }
        followed += 1;
    }
    followed
}

const POLICY: &str = "\
policy zones {
  filter own {
    require node.labels[\"zone\"] == \"a\" else \"node(s) of another zone\"
  }
}
";

#[test]
fn exceptions_are_patches_of_the_file_in_every_style() {
    let few = [Style::SingleQuoted, Style::Plain, Style::Flow, Style::Block(">"), Style::Block(">-")];
    for style in ANY_TEXT.into_iter().chain(few) {
        let (name, text) = file(style, POLICY, ".bay");
        assert!(follow(&name, &text, &[]) > 0, "{style:?}");
        assert!(follow(&name, &text.replace('\n', "\r\n"), &[]) > 0, "{style:?} with carriage returns");
        assert!(follow(&name, text.trim_end(), &[]) > 0, "{style:?} without a line end");
        assert!(follow(&name, &format!("\u{feff}{text}"), &[]) > 0, "{style:?} with a byte order mark");
    }
    let ended = bayplan_in(&folder(&[("z.bay", POLICY)]), &["convert", "z.bay"]);
    for style in ANY_TEXT {
        let (name, text) = file(style, &ended.out, ".yaml");
        assert!(follow(&name, &text, &[]) > 0, "{style:?}");
        assert!(follow(&name, &text.replace('\n', "\r\n"), &[]) > 0, "{style:?} with carriage returns");
    }
    assert!(follow("my rules.bay", POLICY, &[]) > 0);
}

/// The text without the conditions of one line that say which pods it is about.
fn for_every_pod(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let ends = |at: usize| lines.get(at + 1).is_none_or(|next| !next.starts_with("   "));
    let kept =
        lines.iter().enumerate().filter(|(at, line)| !(line.starts_with("  applies when ") && ends(*at)));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

/// Every policy of the library gets a rule that refuses the pod, and is written in one style after the other.
#[test]
fn exceptions_in_the_library_are_patches() {
    let schemas = repository("policies/schemas");
    let more = ["--schema", schemas.to_str().unwrap()];
    let (mut followed, mut policies) = (0, 0);
    let entries = |at: &Path| -> Vec<std::path::PathBuf> {
        let mut all: Vec<_> = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    };
    let folders = entries(&repository("policies")).into_iter().filter(|path| path.is_dir());
    for path in
        folders.flat_map(|at| entries(&at)).filter(|path| path.extension().is_some_and(|of| of == "bay"))
    {
        let text = std::fs::read_to_string(&path).unwrap();
        let end = text.rfind('}').unwrap();
        let rule = "  filter never { require pod.name == \"nobody\" else \"never\" }\n";
        let text = format!("{}{rule}{}", &text[..end], &text[end..]);
        // Some rules need what the condition proves.
        let for_all = for_every_pod(&text);
        let lint = bayplan_in(&folder(&[("p.bay", &for_all)]), &[&["lint", "p.bay"][..], &more].concat());
        let text = if lint.status == 0 { for_all } else { text };
        let style = ANY_TEXT[policies % ANY_TEXT.len()];
        let (name, written) = file(style, &text, ".bay");
        let written = if policies % 3 == 0 { written.replace('\n', "\r\n") } else { written };
        followed += follow(&name, &written, &more);
        let ended = bayplan_in(&folder(&[("p.bay", &text)]), &[&["convert", "p.bay"][..], &more].concat());
        if ended.status == 0 {
            let (name, written) = file(style, &ended.out, ".yaml");
            followed += follow(&name, &written, &more);
        }
        policies += 1;
    }
    assert!(policies > 20 && followed > policies, "{followed} of {policies}");
}

const NOBODY: &str = "policy nobody {\n  filter none { require pod.name == \"nobody\" else \"nobody\" }\n}\n";

#[test]
fn a_text_that_is_in_no_file_is_patched_under_another_name() {
    let at = folder(&[("cluster.yaml", CLUSTER)]);
    let script = format!(
        "printf '%s' '{NOBODY}' | {} explain p --cluster cluster.yaml --policies - --fix 1",
        env!("CARGO_BIN_EXE_bayplan")
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(&*at).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("\n# save this text as policies.bay: `patch -p1` and `git apply` then take"),
        "{text}"
    );
    std::fs::write(at.join("policies.bay"), NOBODY).unwrap();
    applied(&at, &["git", "apply", "fix.patch"], &text).unwrap();
    let folder_of = folder(&[("p.bay", NOBODY), ("cluster.yaml", CLUSTER)]);
    let path = folder_of.join("p.bay");
    let ended = bayplan_in(
        &at,
        &["explain", "p", "--cluster", "cluster.yaml", "--policies", path.to_str().unwrap(), "--fix", "1"],
    );
    assert!(ended.out.contains("patch -p1 -d /") && ended.out.contains("\n--- a/p.bay\n"), "{}", ended.out);
    applied(&folder_of, &["patch", "-p1", "-i", "fix.patch"], &ended.out).unwrap();
}
