//! `docs/cel-differences.md`: where CEL and the policy language differ. What the page says of each expression is what
//! the compiler says of it in a rule of either language.

use super::faults::DIFFERENCES;
use super::*;
use bayplan::lang;

/// Expressions of a filter, and what to know of them.
const EXPRESSIONS: &[(&str, &str)] = &[
    (
        "node.labels[\"a\"] == \"x\"",
        "A comparison with a missing value does not hold in the policy language.",
    ),
    ("node.labels[\"a\"] != \"x\"", "`!=` is the opposite of `==`: it holds where the value is missing."),
    ("node.labels[\"a\"] == pod.labels[\"a\"]", "Not equal in the policy language where both are missing."),
    ("node.labels[?\"a\"] == pod.labels[?\"a\"]", "Two empty optionals are equal in both."),
    (
        "node.labels[\"a\"].startsWith(\"x\")",
        "The policy language wants a value first: `has(…) && …`, or `… ?? \"\"`.",
    ),
    ("\"a\" in node.labels && node.labels[\"a\"].startsWith(\"x\")", "Both know that the key is there."),
    ("node.labels[?\"a\"].orValue(\"\") == \"x\"", "Both have optionals."),
    ("(node.labels[\"a\"] ?? \"\") == \"x\"", "`??` is an operator of the policy language."),
    ("has(node.labels.a)", "A field."),
    ("has(node.labels[\"a\"])", "CEL tests fields only; of a key it says `\"a\" in node.labels`."),
    ("100 / size(pod.labels) > 3", "The quotient is absent in the policy language where the divisor is 0."),
    ("size(pod.labels) > 0 && 100 / size(pod.labels) > 3", "Both know that the divisor is not 0."),
    (
        "size(pod.name) + 9223372036854775807 > 0",
        "Numbers of the policy language stop at the end of their range.",
    ),
    ("2 * 1.5 == 3.0", "Whole numbers become floats in the policy language only."),
    ("1 == 1.0", "The same of comparisons."),
    ("1 == \"1\"", "A number is not a text in either."),
    ("node.name == null", "What has a type is never null in either."),
    ("node.name.split(\"-\")[1] == \"a\"", "An element that is not there is absent in the policy language."),
    ("int(node.labels[\"a\"]) > 1", "A text that is not a number is absent in the policy language."),
    ("int(\"12\") > 1", "Of a constant both know the value."),
    ("pod.name.matches(node.name)", "A pattern of the policy language is constant."),
    ("node.free.memory > 4Gi", "Units are words of the policy language."),
    ("node.free.memory > quantity(\"4Gi\")", "A quantity of CEL is compared with amounts of the cluster."),
    ("node.name matches \"a.*\"", "A method in CEL: `node.name.matches(\"a.*\")`."),
    (
        "pod.containers.exists(when, when.image == \"a\")",
        "Words of statements are names inside of expressions.",
    ),
    ("google.protobuf.Int32Value{value: 1} == 1", "Neither has messages."),
    ("authorizer.group(\"\").check(\"get\").allowed()", "Neither has what belongs to a request."),
    ("node.ready /* x */ && true", "Comments of CEL are those after `//`."),
];

/// A text for each reason of [`DIFFERENCES`], in its order.
const TEXTS: &[&str] = &[
    "7% 3",
    "none(a)",
    "1in a",
    "-3u",
    "[,]",
    "a ?? b",
    "0X1F",
    "'a\rb'",
    "r'''a\0b'''",
    "rb'a'",
    "--9223372036854775808",
];

/// What the compiler says of a rule.
fn outcome(name: &str, text: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add(name.to_owned(), text);
    let (_, said) = lang::compile(sources.get(id).unwrap());
    if let Some(error) = said.iter().find(|said| said.is_error()) {
        return format!("refused: {}", error.message);
    }
    let findings: Vec<&str> =
        said.iter().filter(|said| said.code.slug == "may-fail").map(|said| why(&said.message)).collect();
    match findings.first() {
        Some(first) => format!("an error: {first}"),
        None => "works".to_owned(),
    }
}

fn in_cel(expression: &str) -> String {
    let scalar = serde_json::to_string(expression).unwrap();
    outcome(
        "p.yaml",
        &format!(
            "# A.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: a}}\nspec:\n  filters:\n  - \
             {{name: f, expression: {scalar}, reason: node(s) of another kind}}\n"
        ),
    )
}

fn in_policies(expression: &str) -> String {
    let text = format!(
        "/// A.\npolicy a {{\n  filter f {{ require {expression} else \"node(s) of another kind\" }}\n}}\n"
    );
    outcome("p.bay", &text)
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\r', "␍").replace('\0', "␀")
}

fn page() -> String {
    let mut page = String::from(
        "# CEL and the policy language\n\nMade by `tests/lang/cel_syntax/differences.rs` from what the compiler says of each \
         expression in a filter;\n`make golden` writes this file.\n\nPolicy documents have the CEL of Kubernetes 1.36, whole, with the \
         variables and functions of policies\nbeside it. The policy language reads the expressions of CEL with the same \
         precedence, and gives them\nthe value that CEL has. Where CEL has an error, it has an absent value, which `has(…)` and `??` \
         test, and\nwhich a comparison does not match; what would need a value is refused when the policy is read.\n`onError` \
         says what an error of CEL does, and the note `may-fail` points at each place that may have one.\n`bayplan convert` \
         writes policies from one language in the other.\n\n## Values\n\n| expression | CEL | policy language | |\n|---|---|---|---|\n",
    );
    for (expression, remark) in EXPRESSIONS {
        let (cel, policies) = (cell(&in_cel(expression)), cell(&in_policies(expression)));
        page.push_str(&format!("| `` {} `` | {cel} | {policies} | {remark} |\n", cell(expression)));
    }
    page.push_str(
        "\n## Texts\n\nEvery other difference between what the two parsers read, as found on random texts:\n\n| why | such \
         as | read by |\n|---|---|---|\n",
    );
    for ((why, cel, _), text) in DIFFERENCES.iter().zip(TEXTS) {
        let reader = if *cel { "CEL" } else { "the policy language" };
        page.push_str(&format!("| {} | `` {} `` | {reader} |\n", cell(why), cell(text)));
    }
    page.push_str(
        "\nUnits of the policy language are quantities of CEL (`500m` is `quantity(\"500m\")`), durations are texts\n\
         (`duration(\"10m\")`), and names of the policy have a prefix in documents (`params.x`, `variables.x`,\n\
         `groups.x`).\n",
    );
    page
}

/// Why an expression may fail, without what a filter does then.
fn why(message: &str) -> &str {
    message.split(": the filter ").next().unwrap_or(message)
}

#[test]
fn the_page_of_differences_is_what_the_compiler_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cel-differences.md");
    let page = page();
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "`make golden` writes {} anew:\n{page}", path.display());
}

#[test]
fn every_reason_of_a_difference_has_a_text() {
    assert_eq!(DIFFERENCES.len(), TEXTS.len());
    for ((why, cel, known), text) in DIFFERENCES.iter().zip(TEXTS) {
        let (found, wanted) = (of_cel(text), of_policies(text));
        assert_eq!((found.is_ok(), wanted.is_ok()), (*cel, !*cel), "{why}: {text}");
        let said = if *cel { wanted.unwrap_err() } else { found.unwrap_err() };
        assert!(known(text, &said), "{why}: {text} {said:?}");
    }
}
