//! Amounts of resources.

use super::{FunctionDef, Influence};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{Value, amount, named_resources};

const BASE: FunctionDef = FunctionDef { method: true, ..FunctionDef::BASE };
const R: Ty = Ty::Resources;

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "fits",
        influence: &[Influence::Lowers, Influence::Raises],
        params: &[R, R],
        names: &["need", "room"],
        result: Ty::Bool,
        body: |args, _| match args {
            [Value::Resources(need), Value::Resources(room)] => Value::Bool(
                named_resources(need).iter().all(|(name, wanted)| *wanted <= amount(room, name.as_str())),
            ),
            _ => Value::Absent,
        },
        doc: "true if every amount is at most the amount in `room`; a resource that `room` does \
              not name counts as 0",
        examples: &[
            ("resources({\"cpu\": \"1\"}).fits(resources({\"cpu\": \"2\"}))", "true"),
            ("resources({\"cpu\": \"1\"}).fits(resources({\"memory\": \"1\"}))", "false"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "within",
        influence: &[Influence::Lowers, Influence::Unknown],
        params: &[R, R],
        names: &["used", "limit"],
        result: Ty::Bool,
        body: |args, _| match args {
            [Value::Resources(used), Value::Resources(limit)] => Value::Bool(
                named_resources(limit).iter().all(|(name, most)| amount(used, name.as_str()) <= *most),
            ),
            _ => Value::Absent,
        },
        doc: "true if every amount is at most the amount in `limit`; a resource that `limit` does \
              not name is not limited",
        examples: &[("resources({\"cpu\": \"1\"}).within(resources({\"memory\": \"1\"}))", "true")],
        ..BASE
    },
    FunctionDef {
        name: "value",
        influence: &[Influence::Raises],
        params: &[Ty::Number('n')],
        names: &["amount"],
        result: Ty::Int,
        range: Some(|r| r.first().copied().unwrap_or(Range::None)),
        body: |args, _| match args {
            [Value::Int(x)] => Value::Int(*x),
            [other] => {
                other.as_float().map_or(Value::Absent, |x| Value::Int(crate::types::arithmetic::cut(x)))
            }
            _ => Value::Absent,
        },
        doc: "the amount as an int in base units: millicores, bytes, microseconds or pieces",
        examples: &[("(2cpu).value()", "2000"), ("(1Ki).value()", "1024")],
        ..BASE
    },
];
