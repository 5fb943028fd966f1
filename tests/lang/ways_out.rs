//! The fixes of `may-fail` and `must-not-fail`: every one that is offered compiles and takes its finding away, in
//! documents of the tree and for random rules, in every style of scalar.

use bayplan::diag::{Diagnostic, Fix, FixClass, SourceMap, fix};
use bayplan::lang;
use bayplan::testing::Random;
use std::path::{Path, PathBuf};

fn said(text: &str) -> (SourceMap, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let id = sources.add("p.yaml", text);
    let size = lang::analysis::cost::Size::of(100, 1_000);
    let said = lang::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new()).1;
    (sources, said)
}

fn is_ours(said: &Diagnostic) -> bool {
    ["may-fail", "must-not-fail"].contains(&said.code.slug)
}

fn findings(said: &[Diagnostic]) -> usize {
    said.iter().filter(|said| is_ours(said)).count()
}

/// Errors but those of our findings.
fn errors(said: &[Diagnostic]) -> usize {
    said.iter().filter(|said| said.is_error() && !is_ours(said)).count()
}

fn applied(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.span.start, edit.span.end)));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// What was found in documents, and how many findings had a fix.
#[derive(Default)]
struct Tally {
    findings: usize,
    fixes: usize,
    wrong: Vec<String>,
    without: Vec<String>,
}

impl Tally {
    fn document(&mut self, text: &str) {
        let (sources, before) = said(text);
        for finding in before.iter().filter(|said| is_ours(said)) {
            self.findings += 1;
            let Some(fix) = finding.fixes.first() else {
                self.without.push(format!(
                    "{}: {} {:?}",
                    finding.message,
                    sources.text(finding.span),
                    finding.help
                ));
                continue;
            };
            self.fixes += 1;
            let fixed = applied(text, fix);
            let (_, after) = said(&fixed);
            if errors(&after) > errors(&before) || findings(&after) >= findings(&before) {
                let told: Vec<_> = after.iter().map(|said| (&said.message, &said.fixes)).collect();
                self.wrong.push(format!("{}: {}\n{fixed}{told:?}", finding.message, fix.message));
            }
        }
        self.all_at_once(text);
    }

    /// Rounds of fixes end, and nothing with a fix is left.
    fn all_at_once(&mut self, text: &str) {
        let mut text = text.to_owned();
        for _ in 0..20 {
            let (sources, mut said) = said(&text);
            said.retain(is_ours);
            let round = fix::apply(&sources, &said, &[FixClass::Certain, FixClass::MayChangeDecisions]);
            if round.applied == 0 {
                return;
            }
            text = round.files.into_values().next().unwrap();
        }
        self.wrong.push(format!("fixing does not end\n{text}"));
    }
}

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn every_fix_in_the_documents_of_the_tree_takes_its_finding_away() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["examples", "tests/lang/documents", "tests/explain", "tests/plugins", "policies"] {
        if root.join(folder).is_dir() {
            documents(&root.join(folder), &mut paths);
        }
    }
    let mut tally = Tally::default();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        if text.contains("kind: SchedulingPolicy\n") && !text.contains("kind: ConfigMap") {
            tally.document(&text);
        }
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert!(tally.fixes > 4, "{} of {}: {:?}", tally.fixes, tally.findings, tally.without);
}

/// Expressions that may fail, and what becomes of the rule when the first fix is applied.
const RULES: &[(&str, &str)] = &[
    ("node.labels[\"a\"] == \"x\"", "\"a\" in node.labels && node.labels[\"a\"] == \"x\""),
    ("node.labels.a == \"x\"", "has(node.labels.a) && node.labels.a == \"x\""),
    ("node.labels[\"a\"] != \"x\"", "!(\"a\" in node.labels) || node.labels[\"a\"] != \"x\""),
    (
        "node.ready && node.labels[\"a\"] != \"x\"",
        "node.ready && (!(\"a\" in node.labels) || node.labels[\"a\"] != \"x\")",
    ),
    ("!(node.labels[\"a\"] == \"x\")", "!(\"a\" in node.labels && node.labels[\"a\"] == \"x\")"),
    (
        "node.ready || node.labels[\"a\"].startsWith(\"x\")",
        "node.ready || \"a\" in node.labels && node.labels[\"a\"].startsWith(\"x\")",
    ),
    (
        "(node.ready ? node.labels[\"a\"] : \"\") == \"x\"",
        "(node.ready ? node.labels[?\"a\"].orValue(\"\") : \"\") == \"x\"",
    ),
    (
        "[\"a\", \"b\"].exists(k, node.labels[k] == \"x\")",
        "[\"a\", \"b\"].exists(k, k in node.labels && node.labels[k] == \"x\")",
    ),
    (
        "[\"a\", \"b\"].map(k, node.labels[k]).exists(v, v == \"x\")",
        "[\"a\", \"b\"].map(k, node.labels[?k].orValue(\"\")).exists(v, v == \"x\")",
    ),
    (
        "node.labels[pod.labels[\"a\"]] == \"x\"",
        "\"a\" in pod.labels && pod.labels[\"a\"] in node.labels && node.labels[pod.labels[\"a\"]] == \"x\"",
    ),
    (
        "[\"x\", node.name][size(pod.labels)] == \"x\"",
        "[\"x\", node.name][?size(pod.labels)].orValue(\"\") == \"x\"",
    ),
    (
        "node.name.split(\"-\")[1] == \"x\"",
        "size(node.name.split(\"-\")) > 1 && node.name.split(\"-\")[1] == \"x\"",
    ),
    ("100 / size(pod.labels) > 3", "(size(pod.labels) != 0 ? 100 / size(pod.labels) : 0) > 3"),
    (
        "size(node.name) % (size(pod.labels) - 3) == 1",
        "((size(pod.labels) - 3) != 0 ? size(node.name) % (size(pod.labels) - 3) : 0) == 1",
    ),
    ("pod.labels[?\"a\"].value() == \"x\"", "pod.labels[?\"a\"].orValue(\"\") == \"x\""),
];

const HEAD: &str = "# Keeps pods off.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: a}\n\
                    spec:\n  filters:\n";

fn filter(scalar: &str) -> String {
    format!("{HEAD}  - name: f\n    expression: {scalar}\n    reason: node(s) of another kind\n")
}

/// A rule in each style of scalar.
fn styles(rule: &str) -> Vec<String> {
    let double = rule.replace('\\', "\\\\").replace('"', "\\\"");
    let mut styles = vec![
        format!("'{}'", rule.replace('\'', "''")),
        format!("\"{double}\""),
        format!(">-\n      {rule}"),
        format!("|\n      {rule}\n"),
    ];
    if !rule.starts_with(['"', '[', '!', '{', '\'']) && !rule.contains(": ") {
        styles.push(rule.to_owned());
    }
    styles
}

#[test]
fn fixes_put_a_test_in_front_or_take_a_default() {
    let mut wrong = String::new();
    for (rule, wanted) in RULES {
        for scalar in styles(rule) {
            let text = filter(&scalar);
            let (_, before) = said(&text);
            let fix = before.iter().find(|said| is_ours(said)).and_then(|said| said.fixes.first());
            let Some(fix) = fix else {
                let told: Vec<_> = before.iter().map(|said| (&said.message, &said.help)).collect();
                wrong.push_str(&format!("{scalar}: no fix, {told:?}\n"));
                continue;
            };
            let fixed = applied(&text, fix);
            let documents = bayplan::yaml::documents(&fixed).0;
            let found = documents.first().map(|tree| tree.find("spec.filters[0].expression"));
            let found = found.and_then(|tree| tree.as_str()).unwrap_or("").trim().to_owned();
            // One fix at a time: the nested finding has the fix of both.
            let nested = rule.contains("[pod.labels[");
            let (_, after) = said(&fixed);
            if (found != *wanted && !nested) || errors(&after) > 0 {
                wrong.push_str(&format!("{scalar}\n  gives  {found}\n  wanted {wanted}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_fix_may_span_lines_and_layers() {
    for scalar in [
        "node.labels[\"a\"]\n      == \"x\" && node.ready",
        "\"node.labels[\\\"a\\\"]\\\n      \\ == \\\"x\\\" && node.ready\"",
        "'node.labels[\"a\"]\n      == \"x\" && node.ready'",
        ">\n      node.labels[\"a\"]\n      == \"x\"\n      && node.ready\n",
    ] {
        let mut tally = Tally::default();
        tally.document(&filter(scalar));
        assert!(tally.wrong.is_empty(), "{scalar}: {}", tally.wrong.join("\n"));
        // A plain scalar over lines keeps its form, and a text cannot begin it.
        assert!(tally.fixes == 1 || scalar.starts_with("node"), "{scalar}: {:?}", tally.without);
    }
}

/// A text that may be missing.
fn missing(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => "node.labels[\"a\"]".to_owned(),
        1 => "pod.labels.b".to_owned(),
        2 => "pod.annotations[\"c/d\"]".to_owned(),
        3 => "node.labels['e']".to_owned(),
        4 => "node.name.split(\"-\")[1]".to_owned(),
        5 => "(pod.labels)[\"f\"]".to_owned(),
        6 => format!("node.labels[{}]", missing(random, depth - 1)),
        7 => format!("(node.ready ? {} : \"x\")", missing(random, depth - 1)),
        _ => format!("{}.split(\",\")[0]", missing(random, depth - 1)),
    }
}

/// A number that may not be there.
fn number(random: &mut Random, depth: usize) -> String {
    let size = |random: &mut Random| {
        let number =
            ["size(pod.labels)", "size(node.name)", "node.pods.count()", "pod.priority", "size(node.labels)"];
        random.of(&number).to_owned()
    };
    let op = random.of(&["/", "%"]);
    match random.below(if depth == 0 { 2 } else { 4 }) {
        0 => format!("{} {op} {}", size(random), size(random)),
        1 => format!("size({})", missing(random, 0)),
        2 => format!("({} - 2) {op} ({} + 1)", number(random, depth - 1), size(random)),
        _ => format!("{} {op} (size({}) - 1)", size(random), missing(random, depth - 1)),
    }
}

/// A condition with something that may fail.
fn condition(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match random.below(6) {
            0 => format!("{} == \"x\"", missing(random, 2)),
            1 => format!("{} != \"x\"", missing(random, 2)),
            2 => format!("{}.startsWith(\"x\")", missing(random, 1)),
            3 => format!("\"x\" in [{}, {}]", missing(random, 1), missing(random, 1)),
            4 => format!("{} > 3", number(random, 1)),
            _ => format!("{} == {}", missing(random, 1), missing(random, 1)),
        };
    }
    let one = condition(random, depth - 1);
    let other = condition(random, depth - 1);
    match random.below(7) {
        0 => format!("{one} && {other}"),
        1 => format!("{one} || {other}"),
        2 => format!("!({one})"),
        3 => format!("node.ready ? {one} : {other}"),
        4 => format!("[\"p\", \"q\"].exists(k, node.labels[k] == \"y\" || {one})"),
        5 => format!("({one}) == ({other})"),
        _ => format!("node.ready && ({one} || {other})"),
    }
}

#[test]
fn every_fix_of_random_rules_takes_its_finding_away() {
    let times: Option<u64> = std::env::var("BAYPLAN_PROGRAMS").ok().and_then(|text| text.parse().ok());
    let mut tally = Tally::default();
    let (mut documents, mut refused) = (0, 0);
    for seed in 0..times.unwrap_or(160) {
        let mut random = Random(51_000_000 + seed);
        let depth = random.below(3);
        let rule = condition(&mut random, depth);
        let scalar = random.of(&styles(&rule));
        let indented = scalar.replace("\n      ", "\n        ");
        let text = match random.below(4) {
            0 => format!(
                "{HEAD}  - {{name: f, rules: [{{reject: no room, when: '{}'}}]}}\n",
                rule.replace('\'', "''")
            ),
            1 => format!(
                "{}  variables:\n  - name: v\n    expression: '{}'\n{}  - {{name: f, expression: variables.v == \"x\", reason: no room}}\n",
                HEAD.trim_end_matches("  filters:\n"),
                missing(&mut random, 1).replace('\'', "''"),
                "  filters:\n",
            ),
            2 => format!(
                "{}  scores:\n  - name: s\n    expression: '{}'\n    normalize: max\n",
                HEAD.trim_end_matches("  filters:\n"),
                number(&mut random, 1).replace('\'', "''")
            ),
            _ => filter(&indented),
        };
        let (_, before) = said(&text);
        if errors(&before) > 0 {
            refused += 1;
            if std::env::var("BAYPLAN_SHOW").is_ok() {
                println!("{text}{:?}", before.iter().map(|said| &said.message).collect::<Vec<_>>());
            }
            continue;
        }
        documents += 1;
        tally.document(&text);
    }
    println!(
        "{} of {} findings in {documents} documents have a fix, {refused} refused",
        tally.fixes, tally.findings
    );
    assert!(documents > refused * 4, "{refused} of {documents} do not compile");
    assert!(tally.wrong.is_empty(), "{} are wrong\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(tally.fixes * 10 >= tally.findings * 8, "{}", tally.without.join("\n"));
}

#[test]
fn what_must_not_fail_has_a_fix_too() {
    let head = HEAD.trim_end_matches("  filters:\n");
    for body in [
        "  queueBy:\n  - expression: pod.labels[\"rank\"]\n",
        "  queueBy:\n  - {expression: '100 / size(pod.labels)'}\n",
        "  groups:\n  - name: g\n    expression: p.labels[\"job\"] == pod.labels[\"job\"]\n  gates:\n  - {reason: alone, when: groups.g.count() < 2}\n",
    ] {
        let mut tally = Tally::default();
        tally.document(&format!("{head}{body}"));
        assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
        assert!(tally.findings == 0 || tally.fixes == tally.findings, "{body}: {:?}", tally.without);
    }
}

/// What may fail where no node can help the pod then is a warning; where a node may still do, a note.
#[test]
fn an_error_that_stops_pods_is_a_warning() {
    let kind = r#"pod.labels["kind"] == "database""#;
    let cases = [
        (
            format!("  appliesWhen: {kind}\n  filters: [{{name: f, expression: node.ready, reason: r}}]\n"),
            true,
        ),
        (format!("  gates: [{{reason: r, when: '{kind}'}}]\n"), true),
        (format!("  prefilter: [{{reject: r, when: '{kind}'}}]\n"), true),
        (
            format!(
                "  variables: [{{name: v, expression: '{kind}'}}]\n  prefilter: [{{reject: r, when: variables.v}}]\n  \
                 filters: [{{name: f, expression: variables.v, reason: r}}]\n"
            ),
            true,
        ),
        ("  prefilter: [{onlyNodes: '[pod.labels[\"kind\"]]'}]\n".to_owned(), true),
        // No node can help where the error depends on the pod alone.
        (format!("  filters: [{{name: f, expression: '{kind}', reason: r}}]\n"), true),
        (format!("  filters: [{{name: f, expression: 'node.ready && {kind}', reason: r}}]\n"), true),
        (format!("  filters: [{{name: f, rules: [{{reject: r, when: 'node.ready || {kind}'}}]}}]\n"), true),
        (
            format!(
                "  variables: [{{name: v, expression: '{kind}'}}]\n  filters: [{{name: f, expression: '!variables.v', reason: r}}]\n"
            ),
            true,
        ),
        (format!("  permit: [{{reject: r, when: '{kind}'}}]\n"), true),
        (format!("  permit: [{{wait: 60s, until: '{kind}', else: r}}]\n"), true),
        (format!("  reserve: [{{reject: r, when: '{kind}'}}]\n"), true),
        // A node may still do.
        (format!("  filters: [{{name: f, expression: 'node.ready || {kind}', reason: r}}]\n"), false),
        (format!("  filters: [{{name: f, rules: [{{reject: r, when: 'node.ready && {kind}'}}]}}]\n"), false),
        (format!("  filters: [{{name: f, onError: ignore, expression: '{kind}', reason: r}}]\n"), false),
        (format!("  onError: ignore\n  prefilter: [{{reject: r, when: '{kind}'}}]\n"), false),
        (format!("  scores: [{{name: f, gives: [{{value: '3', when: '{kind}'}}]}}]\n"), false),
    ];
    for (spec, stops) in cases {
        let text = format!(
            "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: p}}\nspec:\n{spec}"
        );
        let (sources, said) = said(&text);
        let found: Vec<_> = said.iter().filter(|said| said.code.slug == "may-fail").collect();
        assert_eq!(found.len(), 1, "{spec}: {said:?}");
        let warning = found[0].severity == bayplan::diag::Severity::Warning;
        assert_eq!(warning, stops, "{spec}: {:?}", found[0]);
        assert_eq!(sources.text(found[0].span), "pod.labels[\"kind\"]", "{spec}");
        assert!(found[0].help.is_some(), "{spec}");
    }
}

/// Of two parts of which one absorbs the error of the other, a pod may be without both.
#[test]
fn errors_that_absorb_each_other_stop_a_pod_without_both() {
    for (condition, stops) in [
        (r#"pod.labels["a"] == "x" || pod.labels["b"] == "y""#, true),
        (r#"pod.labels["a"] == "x" || node.labels["b"] == "y""#, false),
        (r#"node.ready || pod.labels["b"] == "y""#, false),
    ] {
        let text = format!(
            "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: p}}\nspec:\n  filters:\n  - name: f\n    expression: |-\n      {condition}\n    reason: r\n"
        );
        let (_, said) = said(&text);
        let found = || said.iter().filter(|said| said.code.slug == "may-fail");
        let warns = found().all(|said| said.severity == bayplan::diag::Severity::Warning);
        assert!(found().count() > 0 && warns == stops, "{condition}: {said:?}");
    }
}
