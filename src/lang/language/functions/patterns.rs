//! Regular expressions of RE2. In the policy language a pattern is a constant, compiled once when the policy is
//! loaded; in CEL it may be computed, and is compiled at each call.

use super::notation::text;
use super::{Dialects, FunctionDef, Grows, Pattern, PatternError, Prepare, Prepared, Work};
use crate::types::Ty;
use crate::types::value::{Constant, FaultKind, Value};
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef { method: true, dialects: Dialects::ALL, ..FunctionDef::BASE };
const S: Ty = Ty::String;

/// A pattern that is a constant: argument 1.
const PATTERN: Option<Prepare> = Some(Prepare { constants: &[1], make: pattern });

const MATCHES: FunctionDef = FunctionDef {
    name: "matches",
    work: Work::Matches,
    params: &[S, S],
    names: &["text", "pattern"],
    result: Ty::Bool,
    prepare: PATTERN,
    body: matches,
    doc: "true if the regular expression matches a part of the string; the pattern is a constant",
    examples: &[("\"gpu-a-12\".matches(\"^gpu-[a-z]-[0-9]+$\")", "true")],
    ..BASE
};

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    MATCHES,
    FunctionDef { method: false, examples: &[("matches(\"abc\", \"b\")", "true")], ..MATCHES },
    FunctionDef {
        name: "find",
        work: Work::Matches,
        params: &[S, S],
        names: &["text", "pattern"],
        result: S,
        prepare: PATTERN,
        body: |args, prepared| {
            with_pattern(args, prepared, |pattern, a| {
                Value::text(pattern.find(a).map_or("", |found| found.as_str()))
            })
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
        body: |args, prepared| with_pattern(args, prepared, |pattern, a| found_by(pattern, a, usize::MAX)),
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
        body: |args, prepared| match args {
            [a, source, Value::Int(most)] => {
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                let args = [a.clone(), source.clone()];
                with_pattern(&args, prepared, |pattern, a| found_by(pattern, a, most))
            }
            _ => Value::Absent,
        },
        doc: "the first `most` matches of the regular expression; all if `most` is negative",
        examples: &[("\"a1b22\".findAll(\"[0-9]+\", 1)", "[\"1\"]")],
        ..BASE
    },
];

fn matches<'a>(args: &[Value<'a>], prepared: &Prepared) -> Value<'a> {
    with_pattern(args, prepared, |pattern, a| Value::Bool(pattern.is_match(a)))
}

fn found_by(pattern: &Pattern, a: &str, most: usize) -> Value<'static> {
    Value::list(pattern.find_iter(a).take(most).map(|found| Value::text(found.as_str())))
}

/// Calls `body` with the pattern and the text. A pattern that is not prepared is compiled; what cannot be compiled is
/// a fault.
fn with_pattern<'a>(
    args: &[Value<'a>],
    prepared: &Prepared,
    body: impl Fn(&Pattern, &str) -> Value<'static>,
) -> Value<'a> {
    let [a, source] = args else { return Value::Absent };
    let (Some(a), Some(source)) = (text(a), text(source)) else { return Value::Absent };
    match prepared {
        Prepared::Pattern(pattern) => body(pattern, a),
        _ => match Pattern::compile(source) {
            Ok(pattern) => body(&pattern, a),
            Err(error) => {
                let why = format!("the pattern {source:?} does not compile: {}", error.why);
                Value::fault(FaultKind::BadArgument, why)
            }
        },
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
