//! Regular expressions of RE2. A pattern is a constant, compiled once when the policy is loaded.

use super::notation::text;
use super::{FunctionDef, Grows, Pattern, PatternError, Prepare, Prepared, Work};
use crate::lang::types::Ty;
use crate::lang::types::value::{Constant, Value};
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef { method: true, ..FunctionDef::BASE };
const S: Ty = Ty::String;

/// A pattern that is a constant: argument 1.
const PATTERN: Option<Prepare> = Some(Prepare { constants: &[1], make: pattern });

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "matches",
        work: Work::Matches,
        params: &[S, S],
        names: &["text", "pattern"],
        result: Ty::Bool,
        prepare: PATTERN,
        body: matches,
        doc: "true if the regular expression matches a part of the string; the pattern is a \
              constant",
        examples: &[("\"gpu-a-12\".matches(\"^gpu-[a-z]-[0-9]+$\")", "true")],
        ..BASE
    },
    FunctionDef {
        name: "matches",
        work: Work::Matches,
        method: false,
        params: &[S, S],
        names: &["text", "pattern"],
        result: Ty::Bool,
        prepare: PATTERN,
        body: matches,
        doc: "true if the regular expression matches a part of the string; the pattern is a \
              constant",
        examples: &[("matches(\"abc\", \"b\")", "true")],
        ..BASE
    },
    FunctionDef {
        name: "find",
        work: Work::Matches,
        params: &[S, S],
        names: &["text", "pattern"],
        result: S,
        prepare: PATTERN,
        body: |args, prepared| match (args, prepared) {
            ([a, _], Prepared::Pattern(pattern)) => {
                let found = text(a).and_then(|a| pattern.find(a).map(|found| found.as_str().to_owned()));
                Value::text(found.unwrap_or_default())
            }
            _ => Value::Absent,
        },
        doc: "the first match of the regular expression; the empty string if there is none",
        examples: &[("\"abc 123\".find(\"[0-9]+\")", "\"123\""), ("\"abc\".find(\"[0-9]\")", "\"\"")],
        ..BASE
    },
    FunctionDef {
        name: "findAll",
        work: Work::MatchesAll,
        grows: Grows::Parts,
        params: &[S, S],
        names: &["text", "pattern"],
        result: Ty::List(&S),
        prepare: PATTERN,
        body: |args, prepared| match (args, prepared) {
            ([a, _], Prepared::Pattern(pattern)) => {
                Value::list(pattern.find_iter(text(a).unwrap_or("")).map(|found| Value::text(found.as_str())))
            }
            _ => Value::Absent,
        },
        doc: "all matches of the regular expression",
        examples: &[("\"a1b22\".findAll(\"[0-9]+\")", "[\"1\", \"22\"]")],
        ..BASE
    },
    FunctionDef {
        name: "findAll",
        work: Work::MatchesAll,
        grows: Grows::Parts,
        params: &[S, S, Ty::Int],
        names: &["text", "pattern", "most"],
        result: Ty::List(&S),
        prepare: PATTERN,
        body: |args, prepared| match (args, prepared) {
            ([a, _, Value::Int(most)], Prepared::Pattern(pattern)) => {
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                let found = pattern.find_iter(text(a).unwrap_or("")).take(most);
                Value::list(found.map(|found| Value::text(found.as_str())))
            }
            _ => Value::Absent,
        },
        doc: "the first `most` matches of the regular expression; all if `most` is negative",
        examples: &[("\"a1b22\".findAll(\"[0-9]+\", 1)", "[\"1\"]")],
        ..BASE
    },
];

fn matches<'a>(args: &[Value<'a>], prepared: &Prepared) -> Value<'a> {
    match (args, prepared) {
        ([a, _], Prepared::Pattern(pattern)) => Value::Bool(text(a).is_some_and(|a| pattern.is_match(a))),
        _ => Value::Absent,
    }
}

fn pattern(args: &[Option<Constant>]) -> Result<Prepared, (usize, String)> {
    let Some(Some(source)) = args.get(1) else {
        return Err((1, "the pattern must be a constant".to_owned()));
    };
    let source = text(source).unwrap_or("");
    let compiled = Pattern::compile(source);
    let refused = |error: PatternError| (1, format!("the pattern does not compile: {}", error.why));
    compiled.map(|pattern| Prepared::Pattern(Arc::new(pattern))).map_err(refused)
}
