//! Documents and rules that are made to be slow or large: each is refused with a clear message, or read, in bounded
//! time, and the number of reports has a bound.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use bayplan::policy_files::policies_in;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of this thread, which other processes do not make longer.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What is said of the policies of a file, and how long it took.
fn said(name: &str, text: String) -> (usize, Vec<Diagnostic>, Duration) {
    let name = name.to_owned();
    let work = move || {
        let begin = cpu_time();
        let mut sources = SourceMap::new();
        let file = sources.add(name, text);
        let (found, mut said) = policies_in(&mut sources, file);
        let mut policies = 0;
        for found in found {
            let (made, more) = lang::compile(sources.get(found.source).unwrap());
            policies += made.len();
            said.extend(more);
        }
        (policies, said, cpu_time() - begin)
    };
    std::thread::Builder::new().stack_size(lang::STACK).spawn(work).unwrap().join().unwrap()
}

const HEAD: &str =
    "# A.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: a}\nspec:\n  filters:\n";

fn rule(expression: &str) -> String {
    format!("{HEAD}  - {{name: f, expression: '{expression}', reason: node(s) of another kind}}\n")
}

fn map(key: &str, text: &str) -> String {
    let labels = "labels: {bayplan.dev/policy: \"true\"}";
    let value = serde_json::to_string(text).unwrap();
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: rules, {labels}}}\ndata:\n  {key}: {value}\n")
}

/// Texts that are refused, with a part of the message.
fn refused() -> Vec<(&'static str, &'static str, String)> {
    let deep =
        |open: &str, close: &str, levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    let mut bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..12 {
        let before = format!("*x{}", level - 1);
        bomb.push_str(&format!("x{level}: &x{level} [{}]\n", vec![before; 10].join(", ")));
    }
    let json = |expression: &str| {
        format!(
            "{{\"apiVersion\": \"bayplan.dev/v1\", \"kind\": \"SchedulingPolicy\",\n\"metadata\": {{\"name\": \"a\"}}, \"spec\": \
             {{\"filters\": [{{\"name\": \"f\", \"expression\": \"{expression}\", \"reason\": \"no\"}}]}}}}\n"
        )
    };
    vec![
        ("10 MiB expression", "bytes", rule(&"a".repeat(10 << 20))),
        ("an expression of 1 MB", "", rule(&"a + ".repeat(200_000))),
        ("10,000 brackets", "levels", rule(&deep("(", ")", 5_000))),
        ("10,000 lists", "levels", rule(&deep("[", "]", 5_000))),
        ("a.a.a", "", rule(&format!("{}a", "a.".repeat(7_000)))),
        ("a chain of calls", "", rule(&format!("a{}", ".f()".repeat(3_000)))),
        ("a raw NUL", "", rule("node.name == \"a\0b\"")),
        ("an unpaired surrogate of JSON", "", json("node.name == \\\"\\ud800\\\"")),
        ("an unpaired surrogate of CEL", "", json("node.name == \\\"\\\\ud800\\\"")),
        ("a surrogate in a name", "", json("node.\\udc00name == \\\"a\\\"")),
        ("a pattern that explodes", "", rule("node.name.matches(\"((a{1,1000}){1,1000}){1,1000}\")")),
        ("many alternatives", "", rule(&format!("node.name.matches(\"({})*\")", "a?".repeat(5_000)))),
        (
            "a format of a million clauses",
            "",
            rule(&format!("\"{}\".format([node.name]) == \"a\"", "%s".repeat(1_000_000))),
        ),
        (
            "a format of thousands of clauses",
            "",
            rule(&format!("\"{}\".format([node.name]) == \"a\"", "%s".repeat(4_000))),
        ),
        ("10,000 levels of YAML", "", format!("{HEAD}  - {}\n", "- ".repeat(10_000))),
        ("10,000 levels of flow", "", format!("{HEAD}  - {}\n", deep("[", "]", 10_000))),
        ("10,000 levels of JSON", "", json("a").replace("\"no\"", &deep("[", "]", 10_000))),
        ("a bomb of aliases", "", format!("{bomb}{}", rule("node.ready"))),
        ("a bomb in a policy", "", format!("{}{}", rule("node.ready"), bomb)),
        (
            "a million keys",
            "",
            format!(
                "{}{}",
                rule("node.ready"),
                (0..300_000).map(|at| format!("k{at}: 1\n")).collect::<String>()
            ),
        ),
        ("the same key often", "", format!("{}{}", rule("node.ready"), "k: 1\n".repeat(100_000))),
        ("100,000 mistakes", "", format!("{HEAD}{}", "  - {}\n".repeat(30_000))),
    ]
}

fn check(what: &str, words: &str, (policies, said, took): (usize, Vec<Diagnostic>, Duration)) {
    assert!(took < Duration::from_secs(40), "{what}: {took:?}");
    let errors: Vec<&Diagnostic> = said.iter().filter(|said| said.is_error()).collect();
    assert!(!errors.is_empty() && policies == 0, "{what}: {policies} policies, {said:?}");
    assert!(errors.iter().any(|said| said.message.contains(words)), "{what}: {:?}", errors.first());
    assert!(said.len() <= 5_000, "{what}: {} reports", said.len());
    for said in said {
        assert!(said.message.len() < 1_000, "{what}: {}", said.message.len());
    }
}

#[test]
fn hostile_documents_are_refused() {
    for (what, words, text) in refused() {
        check(what, words, said("p.yaml", text));
    }
}

#[test]
fn hostile_keys_of_a_config_map_are_refused() {
    for (what, _, text) in refused() {
        if text.len() <= 1 << 20 {
            check(what, "", said("p.yaml", map("p.yaml", &text)));
        }
    }
    let many = "---\n".repeat(100_000);
    let (policies, found, took) = said("p.yaml", map("p.yaml", &format!("{many}{}", rule("node.ready"))));
    assert!(took < Duration::from_secs(40) && found.len() < 2_000 && policies <= 1, "{took:?}");
    let (_, found, took) = said("p.yaml", map("p.yaml", &"a: [\n---\n".repeat(100_000)));
    assert!(took < Duration::from_secs(40) && found.len() < 2_000, "{took:?} {}", found.len());
    assert!(found.iter().any(Diagnostic::is_error));
}

#[test]
fn a_config_map_of_a_mebibyte_of_rules_is_answered() {
    let mut text = HEAD.to_owned();
    for at in 0.. {
        if text.len() > (1 << 20) - 200 {
            break;
        }
        text.push_str(&format!(
            "  - {{name: f{at}, expression: 'node.labels[?\"a{at}\"].orValue(\"\") == pod.namespace', reason: no}}\n"
        ));
    }
    let (policies, found, took) = said("p.yaml", map("p.yaml", &text));
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert!(policies == 1 || found.iter().any(Diagnostic::is_error), "{policies}");
    assert!(found.len() < 20_000, "{}", found.len());
}

/// The patterns of a document count together, as those of the policy language do.
#[test]
fn the_patterns_of_a_document_are_bounded_together() {
    for text in ["node.name", "dyn(node.name)"] {
        let mut document = HEAD.to_owned();
        for at in 0..2_000 {
            document.push_str(&format!(
                "  - {{name: f{at}, expression: '{text}.matches(\"[\\\\pL\\\\pN]{{3}}\")', reason: no}}\n"
            ));
        }
        check(text, "the bytes of the compiled patterns of this text", said("p.yaml", document));
    }
    let few = rule("node.name.matches(\"^[a-z]+$\") && !dyn(node.name).matches(\"x{3}\")");
    let (policies, found, _) = said("p.yaml", few);
    assert!(policies == 1 && !found.iter().any(Diagnostic::is_error), "{found:?}");
}

#[test]
fn words_of_other_places_of_kubernetes_are_refused_by_name() {
    for (expression, word, help) in [
        ("authorizer.group(\"\").resource(\"pods\").check(\"create\").allowed()", "authorizer", "RBAC"),
        ("request.userInfo.username == \"a\"", "request", "pod"),
        ("object.spec.replicas > 1", "object", "pod.spec"),
        ("namespaceObject.metadata.name == \"a\"", "namespaceObject", "ns"),
        ("google.protobuf.Int32Value == google.protobuf.Any", "google.protobuf.Int32Value", "no wrapper"),
        ("google.protobuf.Int32Value{value: 1} == 1", "google.protobuf.Int32Value", "no wrapper"),
        ("type(node.name) == google.protobuf.Struct", "google.protobuf.Struct", "google.protobuf.Timestamp"),
    ] {
        let (policies, said, _) = said("p.yaml", rule(expression));
        let errors: Vec<&Diagnostic> = said.iter().filter(|said| said.is_error()).collect();
        assert!(policies == 0 && !errors.is_empty(), "{expression}");
        let by_name = errors.iter().any(|said| {
            said.message.contains(&format!("`{word}`"))
                && said.help.as_ref().is_some_and(|words| words.contains(help))
        });
        let told: Vec<_> = errors.iter().map(|said| (&said.message, &said.help)).collect();
        assert!(by_name, "{expression}: {told:?}");
    }
}
