//! CEL's `optional`: a value that holds another or nothing. What the language itself leaves out is `T?`.

use super::{Absence, FunctionDef};
use crate::lang::types::Ty;
use crate::lang::types::value::{Value, named_resources};
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef::BASE;
const T: Ty = Ty::Var('t');
const O: Ty = Ty::CelOptional(&T);

/// The row that makes CEL's optional of a `T?`: what `.?` and `[?` are.
pub const WRAP: &str = ".?";

/// The family's rows.
pub static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: WRAP,
        params: &[Ty::Optional(&T)],
        names: &["field or element"],
        result: O,
        absent: Absence::Taken,
        body: |args, _| Value::Optional(args.first().filter(|of| !of.is_absent()).cloned().map(Arc::new)),
        doc: "a field (`m.?k`) or element (`l[?0]`) as CEL's optional, which holds nothing where there is none",
        examples: &[
            ("{\"a\": 1}.?a", "optional.of(1)"),
            ("[3][?1].hasValue()", "1 > 2"),
            ("{\"a\": {\"b\": 2}}.?a.b", "optional.of(2)"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "optional.of",
        params: &[T],
        names: &["x"],
        result: O,
        body: |args, _| Value::Optional(args.first().cloned().map(Arc::new)),
        doc: "CEL's optional that holds x",
        examples: &[("optional.of(1) == optional.of(1)", "1 < 2")],
        ..BASE
    },
    FunctionDef {
        name: "optional.none",
        params: &[],
        result: O,
        body: |_, _| Value::Optional(None),
        doc: "CEL's optional that holds nothing; it equals any other that holds nothing",
        examples: &[("optional.none() == [1][?4]", "1 < 2")],
        ..BASE
    },
    FunctionDef {
        name: "optional.ofNonZeroValue",
        params: &[T],
        names: &["x"],
        result: O,
        body: |args, _| Value::Optional(args.first().filter(|x| !is_zero(x)).cloned().map(Arc::new)),
        doc: "CEL's optional that holds x, or nothing where x is 0, empty, false or null",
        examples: &[
            ("optional.ofNonZeroValue(\"\")", "optional.none()"),
            ("optional.ofNonZeroValue(2)", "optional.of(2)"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "optional.unwrap",
        params: &[Ty::List(&O)],
        names: &["list"],
        result: Ty::List(&T),
        body: unwrap,
        doc: "what the optionals of a list hold, in their order",
        examples: &[("optional.unwrap([optional.of(1), optional.none()])", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "unwrapOpt",
        method: true,
        params: &[Ty::List(&O)],
        names: &["list"],
        result: Ty::List(&T),
        body: unwrap,
        doc: "what the optionals of a list hold, in their order",
        examples: &[("[optional.of(1), optional.none()].unwrapOpt()", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "hasValue",
        method: true,
        params: &[O],
        names: &["optional"],
        result: Ty::Bool,
        body: |args, _| Value::Bool(matches!(args, [Value::Optional(Some(_))])),
        doc: "whether CEL's optional holds something",
        examples: &[("{\"a\": 1}.?a.hasValue()", "1 < 2"), ("{\"a\": 1}.?b.hasValue()", "1 > 2")],
        ..BASE
    },
    FunctionDef {
        name: "value",
        method: true,
        params: &[O],
        names: &["optional"],
        result: T,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [Value::Optional(Some(held))] => Value::clone(held),
            _ => Value::Absent,
        },
        doc: "what CEL's optional holds; absent where it holds nothing",
        examples: &[("optional.of(2).value()", "2"), ("{\"a\": 1}.?b.value()", "none")],
        ..BASE
    },
    FunctionDef {
        name: "orValue",
        method: true,
        params: &[O, T],
        names: &["optional", "otherwise"],
        result: T,
        body: |args, _| match args {
            [Value::Optional(Some(held)), _] => Value::clone(held),
            [_, otherwise] => otherwise.clone(),
            _ => Value::Absent,
        },
        doc: "what CEL's optional holds, or the other value where it holds nothing",
        examples: &[("[3][?0].orValue(9)", "3"), ("[3][?7].orValue(9)", "9")],
        ..BASE
    },
    FunctionDef {
        name: "or",
        method: true,
        params: &[O, O],
        names: &["optional", "otherwise"],
        result: O,
        body: |args, _| match args {
            [held @ Value::Optional(Some(_)), _] => held.clone(),
            [_, otherwise] => otherwise.clone(),
            _ => Value::Absent,
        },
        doc: "the first of two of CEL's optionals that holds something",
        examples: &[("optional.none().or(optional.of(1))", "optional.of(1)")],
        ..BASE
    },
];

fn unwrap<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    let Some(items) = args.first().and_then(Value::elements) else { return Value::Absent };
    Value::list(items.iter().filter_map(|item| match item {
        Value::Optional(held) => held.as_deref().cloned(),
        _ => None,
    }))
}

/// Whether a value is what CEL calls zero.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Absent | Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Int(x) => *x == 0,
        Value::Uint(x) => *x == 0,
        Value::Float(x) => *x == 0.0,
        Value::Resources(amounts) => named_resources(amounts).is_empty(),
        other => other.size() == Some(0),
    }
}
