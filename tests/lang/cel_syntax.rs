//! CEL's parser: for every expression that both languages have, its tree is that of the policy language, places
//! included.

use super::cel::recorded;
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang::syntax::ast::*;
use bayplan::lang::syntax::cel;
use bayplan::lang::syntax::parse_expression;

/// What the parser of CEL makes of a text.
fn of_cel(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let id = sources.add("<text>", text);
    let parsed = cel::parse(text, id, &|at| at);
    parsed.expr.ok_or(parsed.diagnostics)
}

/// What the grammar of the policy language makes of it.
fn of_policies(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let id = sources.add("<text>", text);
    let (expr, said) = parse_expression(sources.get(id).unwrap());
    expr.ok_or(said)
}

/// The expressions of a recorded file, each with whether upstream's parser refuses it.
fn expressions() -> Vec<(String, bool)> {
    let files = ["kubernetes", "quantities", "random", "words"];
    let lines = files.iter().flat_map(|name| recorded(&format!("cel-{name}-1.36.jsonl.gz")));
    let expression = |line: serde_json::Value| {
        let error = line["compileError"].as_str().unwrap_or("");
        let refused = [
            "Syntax error",
            "reserved identifier",
            "unsupported syntax",
            "invalid int literal",
            "invalid double literal",
        ]
        .iter()
        .any(|words| error.contains(words));
        Some((line["expr"].as_str()?.to_owned(), refused))
    };
    lines.filter_map(expression).collect()
}

#[test]
fn recorded_expressions_have_one_tree_in_both_languages() {
    let (mut equal, mut wrong) = (0, Vec::new());
    for (text, refused) in expressions() {
        let (found, wanted) = (of_cel(&text), of_policies(&text));
        if found.is_err() != refused {
            wrong.push(format!("{text}: upstream refuses it: {refused}, ours: {found:?}"));
        }
        // `!!x` and `--x` are `x` in CEL.
        if text.contains("!!") || text.contains("--") {
            continue;
        }
        match (found, wanted) {
            (Ok(found), Ok(wanted)) if found == wanted => equal += 1,
            (Err(_), _) => {}
            (found, wanted) => wrong.push(format!("{text}\n  {found:?}\n  {wanted:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal > 2000, "{equal}");
}
