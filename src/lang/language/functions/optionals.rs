//! CEL's `optional`, for both languages: a value that holds another or nothing. What the language itself leaves out is
//! `T?`.

use super::{Absence, Dialects, FunctionDef, Influence, Presence};
use crate::types::Ty;
use crate::types::value::{Cel, Value, named_resources};
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef { dialects: Dialects::ALL, ..FunctionDef::BASE };
const T: Ty = Ty::Var('t');
const O: Ty = Ty::CelOptional(&T);

/// The row that makes CEL's optional of a `T?`: what `.?` and `[?` are.
pub(crate) const WRAP: &str = ".?";

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: WRAP,
        presence: Some(Presence::Wraps),
        dialects: Dialects::POLICY,
        params: &[Ty::Optional(&T)],
        names: &["field or element"],
        result: O,
        absent: Absence::Taken,
        body: |args, _| Value::Optional(args.first().filter(|of| !of.is_absent()).cloned().map(Arc::new)),
        doc: "a field (`m.?k`) or an element (`l[?0]`) as a CEL optional, which is empty if the \
              field or element does not exist",
        examples: &[
            ("{\"a\": 1}.?a", "optional.of(1)"),
            ("[3][?1].hasValue()", "false"),
            ("{\"a\": {\"b\": 2}}.?a.b", "optional.of(2)"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "optional.ofValid",
        presence: Some(Presence::Catches),
        dialects: Dialects::POLICY,
        params: &[Ty::Optional(&T)],
        names: &["x"],
        result: O,
        absent: Absence::Taken,
        body: |args, _| Value::Optional(args.first().filter(|of| !of.is_absent()).cloned().map(Arc::new)),
        doc: "a CEL optional that holds x, or is empty if x has no value; for policies in CEL, where x would end with an \
              error: it takes in every error of x, wherever in x it is",
        examples: &[
            ("optional.ofValid(int(\"12\"))", "optional.of(12)"),
            ("optional.ofValid(int(pod.name)).orValue(1)", "1"),
            ("optional.ofValid(string(int(pod.name))).orValue(\"none\")", "\"none\""),
        ],
        ..BASE
    },
    FunctionDef {
        name: "optional.of",
        presence: Some(Presence::Holds),
        params: &[T],
        names: &["x"],
        result: O,
        body: |args, _| Value::Optional(args.first().cloned().map(Arc::new)),
        doc: "a CEL optional that holds x",
        examples: &[("optional.of(1) == optional.of(1)", "true")],
        ..BASE
    },
    FunctionDef {
        name: "optional.none",
        presence: Some(Presence::HoldsNothing),
        params: &[],
        result: O,
        body: |_, _| Value::Optional(None),
        doc: "an empty CEL optional; all empty optionals are equal",
        examples: &[("optional.none() == [1][?4]", "true")],
        ..BASE
    },
    FunctionDef {
        name: "optional.ofNonZeroValue",
        presence: Some(Presence::HoldsNonZero),
        params: &[T],
        names: &["x"],
        result: O,
        body: |args, _| Value::Optional(args.first().filter(|x| !is_zero(x)).cloned().map(Arc::new)),
        doc: "a CEL optional that holds x, or is empty if x is 0, empty, false or null",
        examples: &[
            ("optional.ofNonZeroValue(\"\")", "optional.none()"),
            ("optional.ofNonZeroValue(2)", "optional.of(2)"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "optional.unwrap",
        presence: Some(Presence::TakesAll),
        params: &[Ty::List(&O)],
        names: &["list"],
        result: Ty::List(&T),
        body: unwrap,
        doc: "the values that the CEL optionals of a list hold, in their order; empty ones are \
              skipped",
        examples: &[("optional.unwrap([optional.of(1), optional.none()])", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "unwrapOpt",
        presence: Some(Presence::TakesAll),
        method: true,
        params: &[Ty::List(&O)],
        names: &["list"],
        result: Ty::List(&T),
        body: unwrap,
        doc: "the values that the CEL optionals of a list hold, in their order; empty ones are \
              skipped",
        examples: &[("[optional.of(1), optional.none()].unwrapOpt()", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "hasValue",
        presence: Some(Presence::Tests),
        method: true,
        params: &[O],
        names: &["optional"],
        result: Ty::Bool,
        body: |args, _| Value::Bool(matches!(args, [Value::Optional(Some(_))])),
        doc: "true if the CEL optional is not empty",
        examples: &[("{\"a\": 1}.?a.hasValue()", "true"), ("{\"a\": 1}.?b.hasValue()", "false")],
        ..BASE
    },
    FunctionDef {
        name: "value",
        presence: Some(Presence::Takes),
        influence: &[Influence::Raises],
        method: true,
        params: &[O],
        names: &["optional"],
        result: T,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [Value::Optional(Some(held))] => Value::clone(held),
            _ => Value::Absent,
        },
        doc: "the value that a CEL optional holds; absent if it is empty",
        examples: &[("optional.of(2).value()", "2"), ("{\"a\": 1}.?b.value()", "none")],
        ..BASE
    },
    FunctionDef {
        name: "orValue",
        presence: Some(Presence::TakesOr),
        method: true,
        params: &[O, T],
        names: &["optional", "otherwise"],
        result: T,
        body: |args, _| match args {
            [Value::Optional(Some(held)), _] => Value::clone(held),
            [_, otherwise] => otherwise.clone(),
            _ => Value::Absent,
        },
        doc: "the value that a CEL optional holds, or the other value if it is empty",
        examples: &[("[3][?0].orValue(9)", "3"), ("[3][?7].orValue(9)", "9")],
        ..BASE
    },
    FunctionDef {
        name: "or",
        presence: Some(Presence::Or),
        method: true,
        params: &[O, O],
        names: &["optional", "otherwise"],
        result: O,
        body: |args, _| match args {
            [held @ Value::Optional(Some(_)), _] => held.clone(),
            [_, otherwise] => otherwise.clone(),
            _ => Value::Absent,
        },
        doc: "the first CEL optional, or the other one if the first is empty",
        examples: &[("optional.none().or(optional.of(1))", "optional.of(1)")],
        ..BASE
    },
];

fn unwrap<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    let Some(items) = args.first().and_then(Value::elements) else { return Value::Absent };
    if items.iter().any(|item| !matches!(item, Value::Optional(_))) {
        return Value::Absent;
    }
    Value::list(items.iter().filter_map(|item| match item {
        Value::Optional(held) => held.as_deref().cloned(),
        _ => None,
    }))
}

/// 0001-01-01T00:00:00Z in seconds since 1970.
const FIRST_SECOND: i64 = -62_135_596_800;

/// Whether a value is what CEL calls zero.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Absent | Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Int(x) => *x == 0,
        Value::Uint(x) => *x == 0,
        Value::Float(x) => *x == 0.0,
        Value::Resources(amounts) => named_resources(amounts).is_empty(),
        Value::Cel(Cel::Duration(nanoseconds)) => *nanoseconds == 0,
        // Go's zero time, the first instant of the year 1.
        Value::Cel(Cel::Instant(at)) => at.seconds == FIRST_SECOND && at.nanoseconds == 0,
        other => other.size() == Some(0),
    }
}
