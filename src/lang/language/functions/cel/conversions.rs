//! Conversions. What does not fit the new type is a fault.

use super::calendar::CALENDAR;
use super::{BASE, DURATION, TIMESTAMP, go, no_overload, overflow, type_name};
use crate::language::functions::{Absence, Body, Examples, FunctionDef, Influence};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{Cel, FaultKind, Instant, Value};
use bayplan_model::{Duration, Symbol, Time};
use std::sync::Arc;

/// A row of a conversion from one value.
const fn from(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { name, params, names: &["x"], result, body, doc, examples, converts: true, ..BASE }
}

/// A row of a conversion that not every value has.
const fn partial(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { absent: Absence::Maybe, ..from(name, params, result, body, doc, examples) }
}

/// A conversion to a number: more of the argument is more of the result.
const fn rising(row: FunctionDef) -> FunctionDef {
    FunctionDef { influence: &[Influence::Raises], ..row }
}

/// A row of a conversion that gives the value itself.
const fn same(name: &'static str, params: &'static [Ty], result: Ty, examples: Examples) -> FunctionDef {
    FunctionDef {
        range: Some(|ranges| ranges.first().copied().unwrap_or(Range::None)),
        ..rising(from(name, params, result, itself, "the value itself", examples))
    }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    same("int", &[Ty::Int], Ty::Int, &[("int(1)", "1")]),
    rising(partial(
        "int",
        &[Ty::Float],
        Ty::Int,
        to_int,
        "the whole part of a double; an error outside of 64 bits",
        &[("int(2.9)", "2"), ("int(-2.9)", "-2")],
    )),
    rising(from(
        "int",
        &[DURATION],
        Ty::Int,
        to_int,
        "the nanoseconds of a duration",
        &[("int(duration('1s'))", "1000000000")],
    )),
    partial(
        "int",
        &[Ty::String],
        Ty::Int,
        to_int,
        "the int that a string holds, in decimal digits with an optional sign; an error if it holds none",
        &[("int('-3')", "-3")],
    ),
    rising(from(
        "int",
        &[TIMESTAMP],
        Ty::Int,
        to_int,
        "the seconds from 1970-01-01T00:00:00Z to a timestamp",
        &[("int(timestamp('1970-01-01T00:01:00Z'))", "60")],
    )),
    rising(partial(
        "int",
        &[Ty::Uint],
        Ty::Int,
        to_int,
        "a uint as an int; an error above the largest int",
        &[("int(7u)", "7")],
    )),
    same("uint", &[Ty::Uint], Ty::Uint, &[("uint(7u)", "7u")]),
    rising(partial(
        "uint",
        &[Ty::Float],
        Ty::Uint,
        to_uint,
        "the whole part of a double; an error if it is negative or too large",
        &[("uint(2.9)", "2u")],
    )),
    rising(partial(
        "uint",
        &[Ty::Int],
        Ty::Uint,
        to_uint,
        "an int as a uint; an error below 0",
        &[("uint(7)", "7u")],
    )),
    partial(
        "uint",
        &[Ty::String],
        Ty::Uint,
        to_uint,
        "the uint that a string of decimal digits holds; an error if it holds none",
        &[("uint('7')", "7u")],
    ),
    same("double", &[Ty::Float], Ty::Float, &[("double(1.5)", "1.5")]),
    rising(from("double", &[Ty::Int], Ty::Float, to_double, "an int as a double", &[("double(1)", "1.0")])),
    partial(
        "double",
        &[Ty::String],
        Ty::Float,
        to_double,
        "the double that a string holds, as Go reads it, `NaN` and `Inf` too; an error if it holds none",
        &[("double('0.5')", "0.5")],
    ),
    rising(from("double", &[Ty::Uint], Ty::Float, to_double, "a uint as a double", &[("double(7u)", "7.0")])),
    same("string", &[Ty::String], Ty::String, &[("string('a')", "'a'")]),
    from("string", &[Ty::Bool], Ty::String, to_string, "`true` or `false`", &[("string(true)", "'true'")]),
    partial(
        "string",
        &[Ty::Blob],
        Ty::String,
        to_string,
        "the string that bytes encode; an error if they are not valid UTF-8",
        &[("string(b'abc')", "'abc'")],
    ),
    from(
        "string",
        &[Ty::Float],
        Ty::String,
        to_string,
        "a double as Go prints it with `%g`",
        &[("string(1.5)", "'1.5'"), ("string(1e6)", "'1e+06'"), ("string(2.0)", "'2'")],
    ),
    from(
        "string",
        &[DURATION],
        Ty::String,
        to_string,
        "a duration in seconds",
        &[("string(duration('1m30.5s'))", "'90.5s'")],
    ),
    from("string", &[Ty::Int], Ty::String, to_string, "the decimal digits", &[("string(-3)", "'-3'")]),
    from(
        "string",
        &[TIMESTAMP],
        Ty::String,
        to_string,
        "a timestamp in RFC 3339 format, with the offset that it was read with",
        &[("string(timestamp('2026-01-02T03:04:05+01:00'))", "'2026-01-02T03:04:05+01:00'")],
    ),
    from("string", &[Ty::Uint], Ty::String, to_string, "the decimal digits", &[("string(7u)", "'7'")]),
    same("bool", &[Ty::Bool], Ty::Bool, &[("bool(true)", "true")]),
    partial(
        "bool",
        &[Ty::String],
        Ty::Bool,
        to_bool,
        "the bool that a string holds, as Go's `strconv.ParseBool` reads it; an error if it holds none",
        &[("bool('T')", "true"), ("bool('0')", "false")],
    ),
    same("bytes", &[Ty::Blob], Ty::Blob, &[("bytes(b'a')", "b'a'")]),
    from(
        "bytes",
        &[Ty::String],
        Ty::Blob,
        |args, _| match args {
            [text] if text.as_str().is_some() => Value::Blob(text.as_str().unwrap_or("").as_bytes().into()),
            _ => no_overload("bytes", args),
        },
        "the UTF-8 bytes of a string",
        &[("bytes('a')", "b'a'")],
    ),
    same("duration", &[DURATION], DURATION, &[("duration(duration('1s'))", "duration('1s')")]),
    partial(
        "duration",
        &[Ty::Int],
        DURATION,
        to_duration,
        "always an error: an int has no unit; the overload exists because cel-go declares it",
        &[],
    ),
    partial(
        "duration",
        &[Ty::String],
        DURATION,
        to_duration,
        "the duration that a string holds, in Go's format (`1h30m`, `500ms`, `1ns`); an error if it holds none, or \
         one of more than 292 years",
        &[("duration('90m')", "duration('1h30m')")],
    ),
    same("timestamp", &[TIMESTAMP], TIMESTAMP, &[("timestamp(timestamp(0))", "timestamp(0)")]),
    partial(
        "timestamp",
        &[Ty::Int],
        TIMESTAMP,
        to_timestamp,
        "the timestamp so many seconds after 1970-01-01T00:00:00Z; an error outside of the years 1 to 9999",
        &[("timestamp(60)", "timestamp('1970-01-01T00:01:00Z')")],
    ),
    partial(
        "timestamp",
        &[Ty::String],
        TIMESTAMP,
        to_timestamp,
        "the timestamp that a string in RFC 3339 format holds; an error if it holds none, or one outside of the \
         years 1 to 9999",
        &[("timestamp('1970-01-01T01:00:00+01:00')", "timestamp(0)")],
    ),
    from(
        "dyn",
        &[Ty::Var('t')],
        Ty::Dyn,
        itself,
        "the value itself, of a type that the compiler does not know",
        &[("dyn(1) == 1.0", "true")],
    ),
    from(
        "type",
        &[Ty::Var('t')],
        Ty::TypeName,
        |args, _| match args.first().and_then(type_name) {
            Some(name) => Value::TypeName(Symbol::new(name)),
            None => no_overload("type", args),
        },
        "the type of a value at run time",
        &[("type(1) == int", "true"), ("type(timestamp(0)) == google.protobuf.Timestamp", "true")],
    ),
];

fn itself<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    args.first().cloned().unwrap_or(Value::Absent)
}

/// The fault of a value that cannot be converted.
fn no_value<'a>(value: &Value<'_>, to: &str) -> Value<'a> {
    Value::fault(FaultKind::BadConversion, format!("{value} is not a value of type {to}"))
}

fn to_int<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    let [value] = args else { return no_overload("int", args) };
    match value {
        // The ends of the range are refused too, as in cel-go.
        Value::Float(x) if *x > i64::MIN as f64 && *x < i64::MAX as f64 => Value::Int(*x as i64),
        Value::Float(_) => overflow("the int"),
        Value::Uint(x) => i64::try_from(*x).map_or_else(|_| overflow("the int"), Value::Int),
        Value::Cel(Cel::Duration(nanoseconds)) => Value::Int(*nanoseconds),
        Value::Cel(Cel::Instant(at)) => Value::Int(at.seconds),
        text => match text.as_str() {
            Some(digits) => digits.parse().map_or_else(|_| no_value(text, "int"), Value::Int),
            None => no_overload("int", args),
        },
    }
}

fn to_uint<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    let [value] = args else { return no_overload("uint", args) };
    match value {
        // 2^64, the first number that is too large.
        Value::Float(x) if (0.0..18_446_744_073_709_551_616.0).contains(x) => Value::Uint(*x as u64),
        Value::Float(_) => overflow("the uint"),
        Value::Int(x) => u64::try_from(*x).map_or_else(|_| overflow("the uint"), Value::Uint),
        text => match text.as_str() {
            // Go's `ParseUint` takes no sign.
            Some(digits) if digits.starts_with('+') => no_value(text, "uint"),
            Some(digits) => digits.parse().map_or_else(|_| no_value(text, "uint"), Value::Uint),
            None => no_overload("uint", args),
        },
    }
}

fn to_double<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    match args {
        [Value::Int(x)] => Value::Float(*x as f64),
        [Value::Uint(x)] => Value::Float(*x as f64),
        [text] if text.as_str().is_some() => {
            let number = text.as_str().and_then(go::parse_float);
            number.map_or_else(|| no_value(text, "double"), Value::Float)
        }
        _ => no_overload("double", args),
    }
}

fn to_string<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    match args {
        [value] => match text_of(value) {
            Some(Ok(text)) => Value::text(text),
            Some(Err(fault)) => fault,
            None => no_overload("string", args),
        },
        _ => no_overload("string", args),
    }
}

/// A value as `string` writes it; `None` for types that it does not take.
pub(super) fn text_of<'a>(value: &Value<'_>) -> Option<Result<String, Value<'a>>> {
    Some(Ok(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Uint(x) => x.to_string(),
        Value::Float(x) => go::shortest(*x),
        Value::Cel(Cel::Duration(nanoseconds)) => go::seconds(*nanoseconds),
        Value::Cel(Cel::Instant(at)) => go::rfc3339(at, false),
        Value::Blob(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                let why = "the bytes are not valid UTF-8";
                return Some(Err(Value::fault(FaultKind::BadConversion, why)));
            }
        },
        value => value.as_str()?.to_owned(),
    }))
}

fn to_bool<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    let [value] = args else { return no_overload("bool", args) };
    match value.as_str() {
        Some("1" | "t" | "T" | "TRUE" | "true" | "True") => Value::Bool(true),
        Some("0" | "f" | "F" | "FALSE" | "false" | "False") => Value::Bool(false),
        Some(_) => no_value(value, "bool"),
        None => no_overload("bool", args),
    }
}

fn to_duration<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    let [value] = args else { return no_overload("duration", args) };
    match value.as_str() {
        Some(text) => match Duration::parse_nanoseconds(text) {
            Ok(nanoseconds) => Value::Cel(Cel::Duration(nanoseconds)),
            Err(why) => Value::fault(FaultKind::BadConversion, format!("{value} is not a duration: {why}")),
        },
        None => no_value(value, "duration"),
    }
}

fn to_timestamp<'a>(args: &[Value<'a>], _: &super::super::Prepared) -> Value<'a> {
    let made = |seconds, nanoseconds, offset| {
        Value::Cel(Cel::Instant(Arc::new(Instant { seconds, nanoseconds, offset })))
    };
    let [value] = args else { return no_overload("timestamp", args) };
    match (value, value.as_str()) {
        (Value::Int(seconds), _) if CALENDAR.contains(seconds) => made(*seconds, 0, 0),
        (Value::Int(_), _) => overflow("the timestamp"),
        (_, Some(text)) => match Time::parse_nanoseconds(text) {
            Some((seconds, nanoseconds, offset)) => made(seconds, nanoseconds, offset),
            None => no_value(value, "timestamp"),
        },
        _ => no_overload("timestamp", args),
    }
}
