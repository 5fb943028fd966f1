//! Policies as documents: what is said of broken ones, places and fixes in every style of scalar and through two
//! layers of YAML, and that a document means what its twin in the policy language means.

use super::fixtures::{files, golden, line};
use bayplan::diag::{Diagnostic, FixClass, Source, SourceMap, fix};
use bayplan::lang;
use bayplan::lang::syntax::{self, ast};
use bayplan::policy_files::policies_in;
use std::path::Path;

/// What is said of the policies of a YAML file, with its sources.
fn said(name: &str, text: &str) -> (SourceMap, Vec<lang::typed::Policy>, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let (found, mut said) = policies_in(&mut sources, file);
    // A file without a document of policies has none; the reader of a single key says so.
    let texts: Vec<_> =
        if found.is_empty() { vec![file] } else { found.iter().map(|it| it.source).collect() };
    let mut policies = Vec::new();
    for id in &texts {
        let (made, diagnostics) = lang::compile(sources.get(*id).unwrap());
        policies.extend(made);
        said.extend(diagnostics);
    }
    let compile = |source: &Source| fix::Compiled {
        diagnostics: lang::compile(source).1,
        statements: lang::statements(source),
    };
    fix::verify(&sources, &mut said, &texts, &compile);
    (sources, policies, said)
}

/// `tests/lang/documents/broken/*.yaml`: what is said about each, in `said.out`.
#[test]
fn mistakes_of_documents_are_said_as_recorded() {
    let mut all = String::new();
    for path in files("documents/broken", "yaml") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (sources, _, said) = said(&name, &text);
        assert!(!said.is_empty(), "{name}: nothing is said");
        all.push_str(&format!("---- {name}\n"));
        for said in &said {
            all.push_str(&line(said, &sources));
            for edit in said.fixes.iter().take(1).flat_map(|fix| &fix.edits) {
                all.push_str(&format!("    fix: {} -> {}\n", sources.text(edit.span), edit.text));
            }
        }
    }
    golden("documents/broken/said.out", &all);
}

fn twin(name: &str) -> (SourceMap, [bayplan::diag::SourceId; 2]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/documents/twins");
    let mut sources = SourceMap::new();
    let ids = [".bay", ".yaml"].map(|ending| {
        let text = std::fs::read_to_string(folder.join(format!("{name}{ending}"))).unwrap();
        sources.add(format!("{name}{ending}"), text)
    });
    (sources, ids)
}

/// The debug text of a tree without places.
fn without_places(tree: &impl std::fmt::Debug) -> String {
    let text = format!("{tree:#?}");
    let spans =
        regex::Regex::new(r"Span \{\s*source: SourceId\(\s*\d+,?\s*\),\s*start: \d+,\s*end: \d+,?\s*\}")
            .unwrap();
    spans
        .replace_all(&text, "Span")
        .replace("dialect: Cel", "dialect: Policy")
        .replace("cel: true", "cel: false")
}

#[test]
fn a_document_is_read_into_the_tree_of_its_twin() {
    for name in ["everything", "proved"] {
        let (sources, ids) = twin(name);
        let [language, document] = ids.map(|id| {
            let (file, said) = syntax::parse(sources.get(id).unwrap());
            assert!(said.is_empty(), "{name}: {said:?}");
            let ast::ItemKind::Policy(policy) = &file.items[0].kind else { panic!("{name}: {file:?}") };
            let doc = file.items[0].doc.as_ref().map(|doc| doc.text.clone());
            without_places(&(doc, policy))
        });
        pretty_assertions_eq(&language, &document);
    }
}

#[test]
fn what_cannot_fail_compiles_to_the_policy_of_its_twin() {
    let (sources, ids) = twin("proved");
    let [language, document] = ids.map(|id| {
        let (policies, said) = lang::compile(sources.get(id).unwrap());
        // It has a `permit` that refuses by the node.
        assert!(said.iter().all(|said| said.code.slug == "late-by-node"), "{said:?}");
        without_places(&policies)
    });
    pretty_assertions_eq(&language, &document);
}

fn pretty_assertions_eq(left: &str, right: &str) {
    let differs = left.lines().zip(right.lines()).enumerate().find(|(_, (left, right))| left != right);
    if let Some((at, (one, other))) = differs {
        let before: Vec<&str> = left.lines().take(at).collect();
        let before = before.iter().rev().take(12).rev().cloned().collect::<Vec<_>>().join("\n");
        panic!("line {at}:\n{before}\n- {one}\n+ {other}");
    }
    assert_eq!(left.lines().count(), right.lines().count());
}

const HEAD: &str = "# Keeps pods off broken nodes.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\n\
                    metadata: {name: healthy}\nspec:\n  variables: [{name: team, expression: pod.namespace}]\n";

/// A document with an expression in each style of scalar; `@` is where a word stands that the tests change.
fn styles() -> Vec<(&'static str, String)> {
    let filter = |expression: &str| {
        format!("{HEAD}  filters:\n  - name: a\n    expression: {expression}\n    reason: no\n")
    };
    vec![
        ("plain", filter("node.name == @")),
        ("plain over lines", filter("node.ready\n      && node.name\n\n      == @")),
        ("plain below its key", filter("\n      node.name == @")),
        ("single", filter("'node.name != ''x'' && node.name == @'")),
        ("single over lines", filter("'node.name != ''x''\n      && node.name\n      == @'")),
        ("double", filter("\"node.name != \\\"x\\\" && node.\\u006eame == @\"")),
        ("double over lines", filter("\"node.ready\\\n      \\ && node.name\n      == @\"")),
        ("literal", filter("|\n      node.ready &&\n        node.name == @\n")),
        ("literal, kept", filter("|2+\n        node.ready &&\n      node.name == @\n\n")),
        ("folded", filter(">\n      node.ready &&\n      node.name\n\n      == @\n")),
        ("folded, stripped", filter(">-\n\n      node.ready &&\n        node.name == @")),
        ("a comment behind", filter("node.name == @ # the team")),
        ("flow", format!("{HEAD}  filters: [{{name: a, expression: node.name == @, reason: no}}]\n")),
        (
            "json",
            "{\"apiVersion\": \"bayplan.dev/v1\", \"kind\": \"SchedulingPolicy\",\n \"metadata\": {\"name\": \"healthy\", \
             \"annotations\": {\"kubernetes.io/description\": \"x\"}},\n \"spec\": {\"variables\": [{\"name\": \"team\", \
             \"expression\": \"pod.namespace\"}],\n \"filters\": [{\"name\": \"a\", \"expression\": \"node.name != \
             \\\"x\\\" && node.name == @\", \"reason\": \"no\"}]}}\n"
                .to_owned(),
        ),
        ("with an anchor", filter("&it node.name == @")),
    ]
}

/// A document as a file, and as a key of a ConfigMap in each style that can hold it.
fn layers(document: &str) -> Vec<(&'static str, String)> {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, labels: {bayplan.dev/policy: \"true\"}}\ndata:\n";
    let indented = |by: &str| {
        let lines = document.split_inclusive('\n');
        lines
            .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("{by}{line}") })
            .collect::<String>()
    };
    let quoted = serde_json::to_string(document).unwrap();
    let mut layers = vec![
        ("file", document.to_owned()),
        ("file, crlf", document.replace('\n', "\r\n")),
        ("literal", format!("{map}  p.yaml: |\n{}", indented("    "))),
        ("literal, crlf", format!("{map}  p.yaml: |\n{}", indented("    ")).replace('\n', "\r\n")),
        ("literal, kept", format!("{map}  p.yml: |4+\n{}", indented("      "))),
        ("double", format!("{map}  p.yaml: {quoted}\n")),
        (
            "json",
            format!(
                "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {{\"name\": \"rules\", \"labels\": \
                 {{\"bayplan.dev/policy\": \"true\"}}}}, \"data\": {{\"p.json\": {quoted}}}}}\n"
            ),
        ),
    ];
    if document.starts_with('{') {
        let one_line = document.replace('\n', " ").replace('\'', "''");
        layers.push(("single", format!("{map}  p.json: '{one_line}'\n")));
    }
    layers
}

#[test]
fn places_are_those_of_the_outermost_file() {
    for (style, document) in styles() {
        for (layer, text) in layers(&document.replace('@', "nowhere")) {
            let (sources, _, said) = said("p.yaml", &text);
            let errors: Vec<&Diagnostic> = said.iter().filter(|said| said.is_error()).collect();
            assert_eq!(errors.len(), 1, "{style} in {layer}: {said:?}\n{text}");
            let (start, end) = sources.places(errors[0].span);
            assert_eq!(&text[start.offset..end.offset], "nowhere", "{style} in {layer}\n{text}");
            let line = text[..start.offset].matches('\n').count() + 1;
            assert_eq!(start.line, line, "{style} in {layer}");
        }
    }
}

#[test]
fn fixes_are_written_where_they_belong() {
    for (style, document) in styles() {
        for (layer, text) in layers(&document.replace('@', "team")) {
            let (sources, _, diagnostics) = said("p.yaml", &text);
            assert!(diagnostics.iter().any(|said| said.is_error()), "{style} in {layer}: {diagnostics:?}");
            let fixed =
                fix::apply(&sources, &diagnostics, &[FixClass::Certain, FixClass::MayChangeDecisions]);
            assert_eq!(fixed.applied, 1, "{style} in {layer}: {diagnostics:?}\n{text}");
            let fixed = fixed.files.into_values().next().unwrap();
            assert_eq!(
                fixed,
                text.replace("team\"}],", "@")
                    .replace("== team", "== variables.team")
                    .replace('@', "team\"}],")
            );
            let (_, policies, after) = said("p.yaml", &fixed);
            assert!(!after.iter().any(|said| said.is_error()), "{style} in {layer}: {after:?}\n{fixed}");
            assert_eq!(policies.len(), 1);
        }
    }
}

#[test]
fn documents_without_a_mistake_are_taken() {
    for (style, document) in styles() {
        for (layer, text) in layers(&document.replace('@', "variables.team")) {
            let (_, policies, said) = said("p.yaml", &text);
            assert!(said.is_empty(), "{style} in {layer}: {said:?}\n{text}");
            assert_eq!(policies.len(), 1, "{style} in {layer}");
            assert!(policies[0].doc.is_some(), "{style} in {layer}");
        }
    }
}

#[test]
fn a_file_may_hold_other_kinds_beside_policies() {
    let text = format!(
        "kind: Pod\nmetadata: {{name: a}}\n---\n{HEAD}  filters: [{{name: a, expression: node.name == variables.team, \
         reason: no}}]\n---\napiVersion: v1\nkind: List\nitems:\n- kind: Node\n- {{apiVersion: bayplan.dev/v1, kind: \
         SchedulingPolicy, metadata: {{name: b, annotations: {{kubernetes.io/description: x}}}}, spec: {{prefer: \
         [{{weight: 2, when: node.ready}}]}}}}\n"
    );
    let (_, policies, said) = said("all.yaml", &text);
    assert!(said.is_empty(), "{said:?}");
    let names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
    assert_eq!(names, ["healthy", "b"]);
    assert_eq!(policies[1].doc.as_deref(), Some("x"));
}

#[test]
fn a_variable_that_reads_the_node_stands_in_each_block_that_uses_it() {
    let text = format!(
        "{HEAD}  - {{name: full, expression: node.pods.count() >= variables.most}}\n  - {{name: most, expression: \
         node.allocatable.pods}}\n  filters:\n  - {{name: a, expression: '!variables.full', reason: 'on {{variables.team}}'}}\n  \
         - {{name: b, rules: [{{reject: no, when: node.unschedulable, with: {{most: variables.most}}}}]}}\n  prefer:\n  - {{weight: 2, \
         when: variables.full}}\n  - {{weight: 1, when: node.ready}}\n"
    )
    .replace("  variables: [{name: team, expression: pod.namespace}]", "  variables:\n  - {name: team, expression: pod.namespace}");
    let (_, policies, said) = said("p.yaml", &text);
    assert!(said.is_empty(), "{said:?}\n{text}");
    let scores: Vec<&str> = policies[0].scores().map(|(head, _)| &*head.name).collect();
    assert_eq!(scores, ["prefer-1", "prefer-2"]);
    assert_eq!(policies[0].lets.iter().filter(|of| &*of.name == "full").count(), 2);
}

#[test]
fn the_policy_says_what_its_errors_do() {
    let text = format!(
        "{HEAD}  onError: error\n  strict: true\n  filters:\n  - {{name: a, expression: node.ready, reason: no, onError: \
         ignore}}\n  - {{name: b, rules: [{{reject: no, when: node.ready, onError: reject}}]}}\n"
    );
    let mut sources = SourceMap::new();
    let id = sources.add("p.yaml", text);
    let (file, said) = syntax::parse(sources.get(id).unwrap());
    assert!(said.is_empty(), "{said:?}");
    let policy = file.policies().next().unwrap();
    assert_eq!((policy.dialect, policy.on_error), (ast::Dialect::Cel, ast::OnError::Error));
    assert_eq!(policy.strict.map(|span| sources.text(span)), Some("strict: true"));
    let on_error: Vec<_> = policy.statements.iter().filter_map(|it| Some(it.on_error?.0)).collect();
    assert_eq!(on_error, [ast::OnError::Ignore]);
    let ast::StatementKind::Filter(filter) = &policy.statements[2].kind else { panic!("{policy:?}") };
    assert_eq!(filter.block.statements[0].on_error.map(|(of, _)| of), Some(ast::OnError::Reject));
}
