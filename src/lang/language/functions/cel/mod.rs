//! What only CEL has, as Kubernetes 1.36 and cel-go define it: rows whose meaning differs from the policy
//! language's, and what the evaluator of CEL shares with them (equality, order, arithmetic of time, names of
//! types).
//!
//! A row of both languages is in its family outside of this folder. Bodies here give a fault where CEL has an
//! error, and take elements of any type inside of lists, because a list of `dyn` is known by its first element only.

pub(super) mod calendar;
mod comparisons;
pub(super) mod conversions;
pub(super) mod devices;
pub(super) mod format;
pub(super) mod formats;
mod go;
pub(super) mod lists;
pub(super) mod net;
mod netip;
pub(super) mod quantities;
pub(crate) mod semver;
pub(super) mod sets;
pub(super) mod sizes;
pub(super) mod times;
pub(super) mod url;
mod url_parser;

pub use calendar::{add, negate, subtract};
pub(crate) use comparisons::has_no_hash;
pub use comparisons::{compare, entry, equal, same_key};

use super::{Absence, Dialects, Examples, FunctionDef};
use crate::types::value::{Cel, FaultKind, Value};
use crate::types::{CelType, Ty};

const BASE: FunctionDef = FunctionDef { dialects: Dialects::CEL, ..FunctionDef::BASE };
const METHOD: FunctionDef = FunctionDef { method: true, ..BASE };
const DURATION: Ty = Ty::Cel(CelType::Duration);
const TIMESTAMP: Ty = Ty::Cel(CelType::Timestamp);

/// A row of CEL: a function of parameters without names.
const fn row(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: super::Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { name, params, result, body, doc, examples, ..BASE }
}

/// A row of a function that not every argument has a value of.
const fn partial(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: super::Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { absent: Absence::Maybe, ..row(name, params, result, body, doc, examples) }
}

/// cel-go's name of the type of a value at run time; `None` for a fault, and for objects of the policy language.
pub fn type_name(value: &Value<'_>) -> Option<&'static str> {
    Some(match value {
        Value::Null => "null_type",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Blob(_) => "bytes",
        Value::Time(_) => CelType::Timestamp.name(),
        Value::Optional(_) => "optional_type",
        Value::TypeName(_) => "type",
        Value::Quantity(_) => "kubernetes.Quantity",
        Value::Cel(Cel::Domains(_)) => "map",
        Value::Cel(of) => of.ty()?.name(),
        Value::List(_) | Value::Json(serde_json::Value::Array(_)) => "list",
        Value::Map(_)
        | Value::Record(_)
        | Value::Labels(_)
        | Value::Annotations(_)
        | Value::Json(serde_json::Value::Object(_)) => "map",
        Value::Json(serde_json::Value::Null) => "null_type",
        Value::Json(serde_json::Value::Bool(_)) => "bool",
        Value::Json(serde_json::Value::String(_)) => "string",
        Value::Json(serde_json::Value::Number(number)) if number.is_f64() => "double",
        Value::Json(serde_json::Value::Number(_)) => "int",
        _ => return None,
    })
}

/// The fault of values that a function has no overload for.
fn no_overload<'a>(name: &str, values: &[Value<'_>]) -> Value<'a> {
    let types: Vec<&str> = values.iter().map(|value| type_name(value).unwrap_or("an object")).collect();
    Value::fault(FaultKind::NoSuchOverload, format!("`{name}` is not defined for {}", types.join(", ")))
}

/// The fault of an argument that a function refuses.
fn refused<'a>(why: impl Into<std::sync::Arc<str>>) -> Value<'a> {
    Value::fault(FaultKind::BadArgument, why)
}

/// The fault where cel-go stops in the middle of an evaluation: nothing absorbs it.
pub fn stopped<'a>(why: impl Into<std::sync::Arc<str>>) -> Value<'a> {
    Value::fault(FaultKind::Stopped, why)
}

/// The fault of a result that its type cannot hold.
fn overflow<'a>(what: &str) -> Value<'a> {
    Value::fault(FaultKind::Overflow, format!("{what} overflows"))
}

/// The nanoseconds of a duration.
fn nanoseconds(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Cel(Cel::Duration(nanoseconds)) => Some(*nanoseconds),
        _ => None,
    }
}

/// Calls a body of one text.
fn of_text<'a>(name: &str, args: &[Value<'a>], body: impl FnOnce(&str) -> Value<'a>) -> Value<'a> {
    match args {
        [text] if text.as_str().is_some() => body(text.as_str().unwrap_or("")),
        _ => no_overload(name, args),
    }
}
