//! Input as people have it: pipes whose content decides, templates of charts, slips in kinds and keys, flags with one
//! value each, and lines to paste.

use crate::support::command::{Ended, bayplan, bayplan_in, bayplan_reads, folder};
use std::process::Command;

const POLICY: &str = "\
/// Keeps pods in zone a.
policy zones {
  filter own { require node.zone == \"a\" else \"node(s) of another zone\" }
}
";
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n, labels: {topology.kubernetes.io/zone: b}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: i}]}
";

fn config_map(key: &str, text: &str) -> String {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: rules\n  labels:\n    bayplan.dev/policy: \"true\"\ndata:\n  {key}: |\n{indented}"
    )
}

/// The document in the words of this release: what `convert` writes.
fn document() -> String {
    bayplan_reads(&["convert", "-"], POLICY).out
}

#[test]
fn the_content_of_a_pipe_decides_what_it_is() {
    let document = document();
    assert!(document.contains("kind: SchedulingPolicy"), "{document}");
    let json = |yaml: &str| {
        let values = bayplan::yaml::values(yaml, false).unwrap();
        values.iter().map(|value| format!("{value:#}\n")).collect::<String>()
    };
    let map = config_map("zones.bay", POLICY);
    let others = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n";
    let texts = [
        ("language", POLICY.to_owned()),
        ("a document", document.clone()),
        ("a document in JSON", json(&document)),
        ("a map", map.clone()),
        ("a map in JSON", json(&map)),
        ("a list", format!("{{\"kind\": \"List\", \"items\": [{}]}}", json(&map))),
        (
            "kustomize",
            format!("{others}---\n{map}---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\n"),
        ),
        (
            "helm",
            format!("---\n# Source: x/templates/a.yaml\n{map}---\n# Source: x/templates/b.yaml\n{others}"),
        ),
        ("a map of documents", config_map("zones.yaml", &document)),
        ("a stream of JSON", format!("{}{}", json(others).trim_end(), json(&map))),
        (
            "documents in a stream of JSON",
            format!("{}{}", json(&document), json(&document.replace("name: zones", "name: more-zones"))),
        ),
    ];
    let at = folder(&[("cluster.yaml", CLUSTER)]);
    let cluster = at.join("cluster.yaml").display().to_string();
    for (name, text) in &texts {
        let lint = bayplan_reads(&["lint", "-"], text);
        assert!(lint.status == 0 && lint.out.contains("in 1 file"), "{name}: {}{}", lint.out, lint.err);
        for command in [
            &["lint", "/dev/stdin"][..],
            &["plan", "-"],
            &["convert", "-", "--check"],
            &["dry-run", "--cluster", &cluster, "--policies", "-"],
            &["dry-run", "--cluster", &cluster, "--policies", "/dev/stdin"],
        ] {
            let Ended { status, out, err } = bayplan_reads(command, text);
            assert_eq!(status, 0, "{name}: {command:?}: {out}{err}");
            let refuses = out.contains("node(s) of another zone") || out.contains("zones");
            assert!(refuses || command[0] == "convert" || command[0] == "lint", "{name}: {command:?}: {out}");
        }
        std::fs::write(at.join("text"), text).unwrap();
        let script = format!("{} lint <(cat text)", env!("CARGO_BIN_EXE_bayplan"));
        let output = Command::new("bash").args(["-c", &script]).current_dir(&*at).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
    let both = bayplan_reads(&["dry-run", "--cluster", "-"], &format!("{CLUSTER}---\n{document}"));
    assert!(both.out.contains("node(s) of another zone"), "{}{}", both.out, both.err);
    let ended = bayplan_reads(&["convert", "--write", "-"], POLICY);
    assert!(ended.status == 2 && ended.err.contains("redirect the output"), "{}", ended.err);
    // A chart without policies prints comments and marks.
    for nothing in ["---\n# Source: x/templates/a.yaml\n", "# nothing\n", "---\n---\n"] {
        let ended = bayplan_reads(&["lint", "-"], nothing);
        assert!(ended.status == 2 && ended.err.contains("no policies in -"), "{}{}", ended.out, ended.err);
    }
    // What is no policy stays what it is.
    let ended = bayplan_reads(&["lint", "-"], others);
    assert!(ended.status == 2 && ended.err.contains("no policies in -"), "{}{}", ended.out, ended.err);
}

#[test]
fn templates_of_charts_are_named_as_such() {
    let named = config_map("zones.bay", POLICY).replace("name: rules", "name: {{ .Release.Name }}-rules");
    let only_if =
        format!("{{{{- if .Values.policies }}}}\n{}{{{{- end }}}}\n", config_map("zones.bay", POLICY));
    let inside = config_map("zones.bay", &POLICY.replace("\"a\"", "{{ .Values.zone | quote }}"));
    let included = config_map("zones.bay", POLICY).replace(
        "    bayplan.dev/policy",
        "    {{- include \"x.labels\" . | nindent 4 }}\n    bayplan.dev/policy",
    );
    let document = document().replace("name: zones", "name: {{ .Values.name }}");
    for text in [&named, &only_if, &inside, &included, &document] {
        let at = folder(&[("rules.yaml", text)]);
        let ended = bayplan_in(&at, &["lint", "."]);
        assert_eq!(ended.status, 1, "{}{}\n{text}", ended.out, ended.err);
        assert!(ended.out.contains("this is a template of a chart"), "{}\n{text}", ended.out);
        assert!(ended.out.contains("`helm template CHART | bayplan lint -`"), "{}", ended.out);
        assert_eq!(ended.out.matches("error[").count(), 1, "{}", ended.out);
    }
    // Braces of reasons and of other templates are none.
    let braces = POLICY.replace("another zone", "another {{zone}}");
    assert_eq!(bayplan_reads(&["lint", "-"], &braces).status, 0);
    let alerts = format!(
        "{}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: alerts}}\ndata:\n  a: |\n    {{{{ $labels.node }}}} is down\n",
        config_map("zones.bay", POLICY)
    );
    assert_eq!(bayplan_reads(&["lint", "-"], &alerts).status, 0);
}

#[test]
fn slips_in_kinds_and_keys_are_said() {
    let document = document();
    for kind in ["schedulingpolicy", "SchedulingPolcy", "schedulingPolicy", "Rules", "Policy"] {
        let text = document.replace("kind: SchedulingPolicy", &format!("kind: {kind}"));
        let at = folder(&[("a.bay", POLICY), ("x.yaml", &text)]);
        let ended = bayplan_in(&at, &["lint", "."]);
        assert_eq!(ended.status, 1, "{kind}: {}", ended.out);
        assert!(
            ended.out.contains("x.yaml") && ended.out.contains("SchedulingPolicy"),
            "{kind}: {}",
            ended.out
        );
    }
    // Without a version that is ours, and in JSON.
    let text =
        document.replace("apiVersion: bayplan.dev/v1\n", "").replace("SchedulingPolicy", "Schedulingpolicy");
    let json = bayplan::yaml::values(&text, false).unwrap()[0].to_string();
    for (name, text) in [("x.yaml", &text), ("x.json", &json)] {
        let at = folder(&[("a.bay", POLICY), (name, text)]);
        assert_eq!(bayplan_in(&at, &["lint", "."]).status, 1, "{text}");
    }
    // What our commands print is no policy, nor are the kinds of others.
    let report = bayplan_reads(&["lint", "-", "--format", "json"], POLICY).out;
    let others = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: p}\nspec: {}\n";
    let foreign = "apiVersion: example.com/v1\nkind: PodSchedulingPolicy\nmetadata: {name: p}\nspec: {}\n";
    let others = &format!("{others}---\n{foreign}");
    let at = folder(&[("a.bay", POLICY), ("report.json", &report), ("b.yaml", others)]);
    let ended = bayplan_in(&at, &["lint", "."]);
    assert!(ended.status == 0 && ended.out.contains("1 policy in "), "{}", ended.out);
    for key in ["d.by", "E.BAY", "e.Yaml", "policy", "f.txt"] {
        let text = format!("{}  {key}: |\n    policy other {{\n    }}\n", config_map("zones.bay", POLICY));
        let ended = bayplan_reads(&["lint", "-"], &text);
        let said = format!("no scheduler reads the key `{key}`");
        assert!(ended.out.contains(&said) && ended.out.contains("BP0519"), "{key}: {}", ended.out);
    }
    for key in ["README.md", "notes", "old.bay.bak", "x.txt"] {
        let text = format!("{}  {key}: some words\n", config_map("zones.bay", POLICY));
        assert_eq!(bayplan_reads(&["lint", "-", "--deny", "warnings"], &text).status, 0, "{key}");
    }
    for kind in ["Configmap", "configMap", "ConfigMaps"] {
        let text = config_map("zones.bay", POLICY).replace("kind: ConfigMap", &format!("kind: {kind}"));
        let at = folder(&[("a.bay", POLICY), ("x.yaml", &text)]);
        let ended = bayplan_in(&at, &["lint", "."]);
        let said = format!("`{kind}` is not a kind of Kubernetes");
        assert!(ended.status == 1 && ended.out.contains(&said), "{}{}", ended.out, ended.err);
    }
    let secret = config_map("zones.bay", POLICY).replace("kind: ConfigMap", "kind: Secret");
    assert_eq!(bayplan_in(&folder(&[("a.bay", POLICY), ("x.yaml", &secret)]), &["lint", "."]).status, 0);
    let off = config_map("zones.bay", POLICY).replace("\"true\"", "\"false\"");
    let ended = bayplan_reads(&["lint", "-"], &off);
    assert!(ended.out.contains("is `false`, and the policies are read all the same"), "{}", ended.out);
}

#[test]
fn flags_take_one_value_each_and_names_may_follow_them() {
    let other = POLICY.replace("zones", "others").replace("another zone", "another zone, too");
    let at = folder(&[("a.bay", POLICY), ("b.bay", &other), ("c.yaml", CLUSTER)]);
    std::fs::create_dir(at.join("rules")).unwrap();
    std::fs::copy(at.join("a.bay"), at.join("rules/a.bay")).unwrap();
    for arguments in [
        &["explain", "--cluster", "c.yaml", "p"][..],
        &["explain", "--cluster", "c.yaml", "--policies", "a.bay", "p"],
        &["explain", "--policies", "a.bay", "--policies", "b.bay", "--cluster", "c.yaml", "p"],
        &["explain", "p", "--cluster", "c.yaml", "--policies", "rules"],
        &["explain", "pod/p", "--cluster", "c.yaml"],
        &["explain", "po/default/p", "--cluster", "c.yaml"],
        &["lint", "--cluster", "c.yaml", "rules"],
        &["lint", "--cluster", "c.yaml", "a.bay", "b.bay"],
        &["eval", "--cluster", "c.yaml", "node.name", "--node", "n"],
    ] {
        let ended = bayplan_in(&at, arguments);
        assert_eq!(ended.status, 0, "{arguments:?}: {}{}", ended.out, ended.err);
    }
    let next = bayplan_in(
        &at,
        &["explain", "p", "--cluster", "c.yaml", "--policies", "a.bay", "--policies", "b.bay"],
    );
    assert!(next.out.contains(" --policies a.bay --policies b.bay"), "{}", next.out);
    for (arguments, said) in [
        (
            &["dry-run", "--cluster", "c.yaml", "--policies", "a.bay", "b.bay"][..],
            "repeat it, as in `--policies a",
        ),
        (
            &["explain", "--cluster", "c.yaml", "--policies", "a.bay", "b.bay"],
            "`b.bay` is a file: a flag takes one value",
        ),
    ] {
        let ended = bayplan_in(&at, arguments);
        assert!(ended.status == 2 && ended.err.contains(said), "{}", ended.err);
    }
}

#[test]
fn lines_to_paste_are_not_wrapped() {
    let help = bayplan(&["dry-run", "--help"]).out;
    let line = help
        .lines()
        .find(|line| {
            line.contains("kubectl get nodes,") || line.contains("cluster.json") && line.contains("kubectl")
        })
        .unwrap();
    assert!(line.ends_with("-A -o json > cluster.json"), "{line}");
    assert!(!help.contains('\u{a0}'), "{help}");
    for command in ["dry-run", "explain", "lint", "plan", "test"] {
        for help in [bayplan(&[command, "--help"]).out, bayplan(&["help", command]).out] {
            let examples: Vec<&str> =
                help.split("Examples:\n").nth(1).unwrap().lines().filter(|line| !line.is_empty()).collect();
            let wrapped = examples.iter().find(|line| !line.starts_with("  ") && !line.ends_with(':'));
            assert_eq!(wrapped, None, "{command}: {help}");
        }
    }
    let policy = "policy tiers {\n  filter own { require ns.labels[\"tier\"] == \"a\" else \"no\" }\n}\n";
    let at = folder(&[("c.yaml", CLUSTER), ("a.bay", policy)]);
    let ended = bayplan_in(&at, &["dry-run", "--cluster", "c.yaml", "--policies", "a.bay"]);
    let line = ended
        .err
        .lines()
        .find(|line| line.contains("kubectl get "))
        .unwrap_or_else(|| panic!("{}", ended.err));
    assert!(line.contains("`kubectl get ") && line.contains("> cluster.json`"), "{line}");
}

#[test]
fn the_flag_of_the_version_is_the_command() {
    let version = bayplan(&["version"]).out;
    assert_eq!(bayplan(&["--version"]).out, version);
    assert_eq!(bayplan(&["-V"]).out, version);
    assert_eq!(bayplan(&["--quiet"]).status, 2);
}
