//! Kubernetes' quantities as CEL has them: exact amounts without a unit. The language's own amounts
//! are `as_cpu`, `as_bytes` and `as_count`.

use super::{Absence, Dialects, FunctionDef};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{ExactQuantity, Value};
use bayplan_model::Quantity;
use std::cmp::Ordering;
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef { method: true, dialects: Dialects::ALL, ..FunctionDef::BASE };
const Q: Ty = Ty::Quantity;

const fn compared(name: &'static str, body: super::Body) -> FunctionDef {
    FunctionDef { name, params: &[Q, Q], names: &["amount", "other"], result: Ty::Bool, body, ..BASE }
}

const fn combined(name: &'static str, params: &'static [Ty], body: super::Body) -> FunctionDef {
    FunctionDef { name, params, names: &["amount", "other"], result: Q, body, ..BASE }
}

pub(super) const AS_APPROXIMATE_FLOAT: FunctionDef = FunctionDef {
    name: "asApproximateFloat",
    dialects: Dialects::POLICY,
    params: &[Q],
    names: &["amount"],
    result: Ty::Float,
    body: |args, _| one(args, |amount| Value::float(amount.approximate())),
    doc: "the float that is closest to the quantity",
    examples: &[("quantity(\"50m\").asApproximateFloat()", "0.05")],
    ..BASE
};

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "quantity",
        converts: true,
        dialects: Dialects::POLICY,
        method: false,
        params: &[Ty::Optional(&Ty::String)],
        names: &["text"],
        result: Q,
        absent: Absence::Maybe,
        body: |args, _| {
            let text = args.first().and_then(Value::as_str);
            Value::optional(text.and_then(|text| ExactQuantity::parse(text).ok()).map(made))
        },
        doc: "the Kubernetes quantity that a string holds; absent if it holds none",
        examples: &[("quantity(\"1000m\") == quantity(\"1\")", "true"), ("quantity(\"1Xi\")", "none")],
        ..BASE
    },
    FunctionDef {
        name: "isQuantity",
        method: false,
        params: &[Ty::String],
        names: &["text"],
        result: Ty::Bool,
        body: |args, _| {
            Value::Bool(args.first().and_then(Value::as_str).is_some_and(|t| Quantity::parse(t).is_ok()))
        },
        doc: "true if a string is a Kubernetes quantity",
        examples: &[("isQuantity(\"1.5Gi\")", "true"), ("isQuantity(\"1,5\")", "false")],
        ..BASE
    },
    FunctionDef {
        doc: "true if the quantity is greater than the other",
        examples: &[("quantity(\"1Gi\").isGreaterThan(quantity(\"1G\"))", "true")],
        ..compared("isGreaterThan", |args, _| Value::Bool(order(args) == Some(Ordering::Greater)))
    },
    FunctionDef {
        doc: "true if the quantity is less than the other",
        examples: &[("quantity(\"100m\").isLessThan(quantity(\"1\"))", "true")],
        ..compared("isLessThan", |args, _| Value::Bool(order(args) == Some(Ordering::Less)))
    },
    FunctionDef {
        result: Ty::Int,
        range: Some(|_| Range::whole(-1, 1)),
        doc: "-1 if the quantity is less than the other, 1 if it is greater, 0 if they are equal",
        examples: &[("quantity(\"1\").compareTo(quantity(\"2\"))", "-1")],
        ..compared("compareTo", |args, _| order(args).map_or(Value::Absent, |order| Value::Int(order as i64)))
    },
    FunctionDef {
        doc: "the sum of two quantities",
        examples: &[("quantity(\"1Gi\").add(quantity(\"1Mi\"))", "quantity(\"1025Mi\")")],
        ..combined("add", &[Q, Q], |args, _| both(args, |a, b| a + b))
    },
    FunctionDef {
        doc: "the sum of a quantity and an int",
        examples: &[("quantity(\"1k\").add(500)", "quantity(\"1.5k\")")],
        ..combined("add", &[Q, Ty::Int], |args, _| both(args, |a, b| a + b))
    },
    FunctionDef {
        doc: "the difference of two quantities",
        examples: &[("quantity(\"1Gi\").sub(quantity(\"1Mi\"))", "quantity(\"1023Mi\")")],
        ..combined("sub", &[Q, Q], |args, _| both(args, |a, b| a + -b))
    },
    FunctionDef {
        doc: "the quantity minus an int",
        examples: &[("quantity(\"1k\").sub(500)", "quantity(\"500\")")],
        ..combined("sub", &[Q, Ty::Int], |args, _| both(args, |a, b| a + -b))
    },
    FunctionDef {
        name: "sign",
        method: false,
        params: &[Q],
        names: &["amount"],
        result: Ty::Int,
        range: Some(|_| Range::whole(-1, 1)),
        body: |args, _| one(args, |amount| Value::Int(i64::from(amount.sign()))),
        doc: "-1 if the quantity is negative, 1 if it is positive, 0 if it is 0",
        examples: &[("sign(quantity(\"-3\"))", "-1")],
        ..BASE
    },
    FunctionDef {
        name: "isInteger",
        params: &[Q],
        names: &["amount"],
        result: Ty::Bool,
        body: |args, _| one(args, |amount| Value::Bool(amount.as_i64().is_some())),
        doc: "true if the quantity is written as a whole number that fits 64 bits; `1000m` is not",
        examples: &[("quantity(\"50k\").isInteger()", "true"), ("quantity(\"1.5\").isInteger()", "false")],
        ..BASE
    },
    FunctionDef {
        name: "asInteger",
        params: &[Q],
        names: &["amount"],
        result: Ty::Int,
        absent: Absence::Maybe,
        body: |args, _| one(args, |amount| Value::optional(amount.as_i64().map(Value::Int))),
        doc: "the quantity as an int; absent if `isInteger` is false",
        examples: &[("quantity(\"50k\").asInteger()", "50000"), ("quantity(\"50m\").asInteger()", "none")],
        ..BASE
    },
    AS_APPROXIMATE_FLOAT,
];

pub(super) fn made(amount: ExactQuantity) -> Value<'static> {
    Value::Quantity(Arc::new(amount))
}

fn one<'a>(args: &[Value<'a>], f: impl Fn(&Quantity) -> Value<'static>) -> Value<'a> {
    match args {
        [Value::Quantity(amount)] => f(amount),
        _ => Value::Absent,
    }
}

fn both<'a>(args: &[Value<'a>], f: impl Fn(Quantity, Quantity) -> Quantity) -> Value<'a> {
    let amount = |value: &Value<'_>| match value {
        Value::Quantity(of) => Some(of.amount),
        // With an exponent, as upstream: a sum with 0 takes the format of the other.
        Value::Int(number) => Quantity::parse(&format!("{number}e0")).ok(),
        _ => None,
    };
    match args {
        [a, b] => Value::optional(amount(a).zip(amount(b)).map(|(a, b)| made(ExactQuantity::sum(f(a, b))))),
        _ => Value::Absent,
    }
}

fn order(args: &[Value<'_>]) -> Option<Ordering> {
    match args {
        [Value::Quantity(a), Value::Quantity(b)] => Some(a.amount.cmp(&b.amount)),
        _ => None,
    }
}
