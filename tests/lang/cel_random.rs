//! Random expressions over what CEL and the language share: functions, regular expressions, times and
//! numbers at the ends of their ranges, with what Kubernetes' own CEL says of them.
//!
//! `tests/conformance/generator -cel-random` writes expressions and verdicts. A sample of them is
//! `tests/conformance/cel-random-1.36.jsonl.gz`; `BAYPLAN_CEL=FILE` compares the lines of another file.

use super::cel::{asked, is_recorded};
use bayplan::lang::types::value::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A difference from Kubernetes' CEL that is meant: its name, and the expressions that it concerns.
/// `docs/language.md` says why.
type Difference = (&'static str, fn(&Case) -> bool);

const DIFFERENCES: &[Difference] = &[
    // A conversion of constants without a value is a mistake of the policy, also in a branch that CEL
    // never takes.
    ("a constant without a value is refused wherever it stands", |case| {
        case.refused("BP0112") && is_branched(case.expr)
    }),
    ("times and durations are whole microseconds", |case| {
        case.refused("BP0112")
            && ["ns'", "1.5us", "0.0000001s", "000000001Z", "999999999Z", "854775807s"]
                .iter()
                .any(|fine| case.expr.contains(fine))
    }),
    ("an instant has no offset: it is shown in UTC", |case| {
        let is_offset = |at: usize| {
            let part = case.expr.get(at..at + 8).unwrap_or("").as_bytes();
            matches!(part, [d, b'+' | b'-', a, b, b':', x, y, b'\''] if [d, a, b, x, y].iter().all(|c| c.is_ascii_digit()))
        };
        let is_shown = ["string(", "format("].iter().any(|way| case.expr.contains(way));
        case.here.is_ok() && is_shown && (0..case.expr.len()).any(is_offset)
    }),
    ("`asApproximateFloat` is the nearest float, and CEL rounds twice", |case| {
        case.here.is_ok() && case.expr.contains("asApproximateFloat")
    }),
    ("a float is never infinite and never NaN", |case| {
        if ["'NaN'", "'inf'"].iter().any(|word| case.expr.contains(word)) {
            return true;
        }
        ["Inf", "NaN", "∞"].iter().any(|word| case.theirs().contains(word)) || case.expr.contains("1e308")
    }),
    (
        "a pattern takes at most 1 MiB when it is compiled",
        |case| matches!(&case.here, Err(why) if why.contains("when compiled")),
    ),
];

/// Whether CEL may leave out a part of the expression.
fn is_branched(expr: &str) -> bool {
    ["?", "&&", "||", ".map(", ".filter(", ".exists", ".all(", ".optMap(", ".or(", ".orValue("]
        .iter()
        .any(|part| expr.contains(part))
}

/// Codes of mistakes that may refuse an expression that has a value in CEL: the checker is stricter.
const REFUSALS: &[(&str, &str)] = &[
    ("BP0103", "two types that CEL compares or mixes"),
    ("BP0105", "a value that may be absent, where CEL stops with an error"),
    ("BP0108", "a pattern that is computed, also from constants"),
    ("BP0111", "a result between constants that leaves its range, and a division by 0"),
    ("BP0109", "a number that is not known to be small enough for a list"),
];

/// One expression, and what is said of it on both sides.
struct Case<'a> {
    expr: &'a str,
    verdict: &'a serde_json::Value,
    /// The value here as text, or why there is none.
    here: Result<String, String>,
    /// Both have the same value.
    same: bool,
}

impl Case<'_> {
    /// Refused with this code.
    fn refused(&self, code: &str) -> bool {
        matches!(&self.here, Err(why) if why.starts_with(code))
    }

    /// What CEL says, as text.
    fn theirs(&self) -> String {
        let said = ["value", "error", "compileError"].iter().find_map(|key| self.verdict.get(*key));
        said.map(ToString::to_string).unwrap_or_default()
    }
}

/// What is found when the same is asked on both sides.
#[derive(Default)]
struct Found {
    counts: BTreeMap<String, usize>,
    wrong: String,
}

fn compare(cases: &[serde_json::Value]) -> Found {
    let mut found = Found::default();
    for verdict in cases {
        let Some(expr) = verdict["expr"].as_str() else { continue };
        let (mut text, mut same) = (String::new(), false);
        let done = asked(expr, &mut |value: &Value<'_>| {
            text = value.to_string();
            same = verdict.get("value").is_some_and(|wanted| is_recorded(value, wanted));
        });
        let here = done.map(|()| text);
        let case = Case { expr, verdict, here, same };
        let (class, wrong) = judge(&case);
        *found.counts.entry(class).or_default() += 1;
        if wrong {
            let _ = writeln!(found.wrong, "{expr}\n    here  {:?}\n    there {}", case.here, case.theirs());
        }
    }
    found
}

/// How a case counts, and whether it is a difference without a name.
fn judge(case: &Case) -> (String, bool) {
    let has_value = case.verdict.get("value").is_some();
    let refused = |words: &str| case.verdict["compileError"].as_str().is_some_and(|why| why.contains(words));
    // Of `matches(text, pattern)` Kubernetes reads the text as a pattern before it evaluates.
    let is_pattern = refused("parsing regexp")
        || refused("invalid matches argument") && !case.expr.replace(".matches(", "").contains("matches(");
    match &case.here {
        Ok(_) if has_value && case.same => return ("same".to_owned(), false),
        // What CEL refuses or stops at has a value here, by the rules for what fails.
        Ok(value) if !has_value && !is_pattern => return only_here(case, value),
        Err(_) if !has_value => return ("in neither".to_owned(), false),
        _ => {}
    }
    if let Some((name, _)) = DIFFERENCES.iter().find(|(_, concerns)| concerns(case)) {
        return (format!("differs: {name}"), false);
    }
    match &case.here {
        Err(why) => {
            let code = why.split_whitespace().next().unwrap_or("");
            let named = REFUSALS.iter().any(|(known, _)| *known == code);
            (format!("refused: {code}"), !named)
        }
        Ok(_) => ("different".to_owned(), true),
    }
}

/// What CEL refuses, or stops at, and what there is here instead.
fn only_here(case: &Case, value: &str) -> (String, bool) {
    let why = case.verdict.get("error").or_else(|| case.verdict.get("compileError"));
    let why = why.and_then(|why| why.as_str()).unwrap_or("").lines().next().unwrap_or("");
    let words: String = why.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').take(60).collect();
    let what = if value == "absent" { "absent" } else { "a value" };
    (format!("only here, {what}: {words}"), false)
}

fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn random_expressions_have_the_values_of_kubernetes() {
    let found = compare(&super::cel::recorded("cel-random-1.36.jsonl.gz"));
    assert!(found.wrong.is_empty(), "{:#?}\n{}", found.counts, found.wrong);
    assert!(found.counts.get("same").is_some_and(|same| *same > 1000), "{:#?}", found.counts);
}

#[test]
#[ignore = "compares the file that BAYPLAN_CEL names"]
fn more_random_expressions_have_the_values_of_kubernetes() {
    let file = std::env::var("BAYPLAN_CEL").unwrap();
    let found = compare(&lines(&std::fs::read_to_string(file).unwrap()));
    println!("{:#?}", found.counts);
    assert!(found.wrong.is_empty(), "{}", found.wrong);
}
