//! Conversions of strings to numbers, amounts and times, and back. The result of an absent value is
//! absent.

use super::notation::{go_float, parse_cpu, parse_duration, parse_whole, rfc3339, seconds, set_amount};
use super::{Absence, Examples, FunctionDef, Influence};
use crate::types::Ty;
use crate::types::arithmetic;
use crate::types::range::Range;
use crate::types::value::Value;
use bayplan_model::{Resource, Symbol, Time};

const BASE: FunctionDef = FunctionDef::BASE;
const TEXT: Ty = Ty::Optional(&Ty::String);
const INT: Ty = Ty::Optional(&Ty::Int);
const FLOAT: Ty = Ty::Optional(&Ty::Float);
const UINT: Ty = Ty::Optional(&Ty::Uint);

/// A row of a conversion from one value.
const fn from(
    name: &'static str,
    param: &'static [Ty],
    result: Ty,
    absent: Absence,
    body: super::Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef {
        name,
        params: param,
        names: &["x"],
        result,
        absent,
        body,
        doc,
        examples,
        converts: true,
        ..BASE
    }
}

/// A row of a conversion to a number: more of the argument is more of the result.
const fn number(
    name: &'static str,
    param: &'static [Ty],
    result: Ty,
    absent: Absence,
    body: super::Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    let influence = &[Influence::Raises];
    FunctionDef { influence, ..from(name, param, result, absent, body, doc, examples) }
}

/// The row of `float` under CEL's name.
const fn double(row: FunctionDef, examples: Examples) -> FunctionDef {
    FunctionDef { name: "double", doc: "CEL's name for `float`", examples, ..row }
}

/// The row of `time` under CEL's name.
const fn timestamp(row: FunctionDef, examples: Examples) -> FunctionDef {
    FunctionDef { name: "timestamp", doc: "CEL's name for `time`", examples, ..row }
}

const FLOAT_OF_NUMBER: FunctionDef = FunctionDef {
    range: Some(widened),
    ..number(
        "float",
        &[FLOAT],
        Ty::Float,
        Absence::Never,
        to_float,
        "a number as a float",
        &[("float(1)", "1.0")],
    )
};

const FLOAT_OF_UINT: FunctionDef = number(
    "float",
    &[UINT],
    Ty::Float,
    Absence::Never,
    uint_to_float,
    "a uint as a float",
    &[("float(7u)", "7.0")],
);

const FLOAT_OF_TEXT: FunctionDef = number(
    "float",
    &[TEXT],
    Ty::Float,
    Absence::Maybe,
    text_to_float,
    "the float that a string holds; absent if it holds no number or an infinite one",
    &[("float(\"0.5\")", "0.5"), ("float(none)", "none")],
);

const TIME_OF_TEXT: FunctionDef = from(
    "time",
    &[TEXT],
    Ty::Time,
    Absence::Maybe,
    text_to_time,
    "the instant that a string in RFC 3339 format holds, from 0001-01-01T00:00:00Z to the end of \
     the year 9999; absent if it holds no instant, or one finer than a microsecond",
    &[("time(\"1970-01-01T00:00:01Z\") - time(\"1970-01-01T00:00:00Z\")", "1s")],
);

const TIME_OF_SECONDS: FunctionDef = from(
    "time",
    &[INT],
    Ty::Time,
    Absence::Never,
    seconds_to_time,
    "the instant that is this many seconds after 1970-01-01T00:00:00Z; it stops at the ends of the \
     years 1 and 9999",
    &[("time(60) - time(0)", "1min")],
);

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        range: Some(same),
        ..number(
            "int",
            &[INT],
            Ty::Int,
            Absence::Never,
            |args, _| args.first().cloned().unwrap_or(Value::Absent),
            "the same int; a count becomes an int",
            &[("int(3)", "3")],
        )
    },
    FunctionDef {
        range: Some(|r| r.first().map_or(Range::None, |r| r.cut_to_whole())),
        ..number(
            "int",
            &[FLOAT],
            Ty::Int,
            Absence::Never,
            |args, _| match args {
                [Value::Float(x)] => Value::Int(arithmetic::cut(*x)),
                [Value::Int(x)] => Value::Int(*x),
                _ => Value::Absent,
            },
            "the whole part of a float: digits after the point are dropped",
            &[("int(2.9)", "2"), ("int(-2.9)", "-2"), ("int(1e300)", "9223372036854775807")],
        )
    },
    number(
        "int",
        &[UINT],
        Ty::Int,
        Absence::Never,
        |args, _| match args {
            [Value::Uint(x)] => Value::Int(i64::try_from(*x).unwrap_or(i64::MAX)),
            _ => Value::Absent,
        },
        "a uint as an int; a value above the largest int becomes the largest int",
        &[("int(7u)", "7")],
    ),
    number(
        "int",
        &[TEXT],
        Ty::Int,
        Absence::Maybe,
        |args, _| parsed(args, |text| text.parse().ok().map(Value::Int)),
        "the int that a string holds, in decimal digits with an optional sign; absent if it holds \
         no int",
        &[("int(\"12\")", "12"), ("int(\"-3\")", "-3"), ("int(none)", "none")],
    ),
    number(
        "int",
        &[Ty::Optional(&Ty::Time)],
        Ty::Int,
        Absence::Never,
        |args, _| match args {
            [Value::Time(at)] => Value::Int(at.0.div_euclid(1_000_000)),
            _ => Value::Absent,
        },
        "the seconds from 1970-01-01T00:00:00Z to an instant",
        &[("int(time(\"1970-01-01T00:01:00Z\"))", "60")],
    ),
    number(
        "int",
        &[Ty::Optional(&Ty::Dyn)],
        Ty::Int,
        Absence::Maybe,
        |args, _| match args {
            [value] => match value.clone().plain() {
                Value::Int(x) => Value::Int(x),
                Value::Float(x) => Value::Int(arithmetic::cut(x)),
                Value::String(text) => Value::optional(text.as_str().parse().ok().map(Value::Int)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        "the int that an untyped value of the API holds; absent if it holds no number",
        &[("int(pod.spec.containers[0].livenessProbe.httpGet.port)", "8080")],
    ),
    from(
        "uint",
        &[INT],
        Ty::Uint,
        Absence::Maybe,
        |args, _| match args {
            [Value::Int(x)] => Value::optional(u64::try_from(*x).ok().map(Value::Uint)),
            _ => Value::Absent,
        },
        "an int as a uint; absent if it is negative",
        &[("uint(7)", "7u")],
    ),
    from(
        "uint",
        &[FLOAT],
        Ty::Uint,
        Absence::Maybe,
        |args, _| match args.first().and_then(Value::as_float) {
            // 2^64, the first number that is too large.
            Some(x) if (0.0..18_446_744_073_709_551_616.0).contains(&x) => Value::Uint(x as u64),
            _ => Value::Absent,
        },
        "the whole part of a float as a uint; absent if it is negative or above the largest uint",
        &[("uint(2.9)", "2u")],
    ),
    from("uint", &[UINT], Ty::Uint, Absence::Never, same_value, "the same uint", &[("uint(2u)", "2u")]),
    from(
        "uint",
        &[TEXT],
        Ty::Uint,
        Absence::Maybe,
        // Go's `ParseUint` takes no sign.
        |args, _| {
            parsed(args, |text| {
                let number = text.parse().ok().filter(|_| !text.starts_with('+'));
                number.map(Value::Uint)
            })
        },
        "the uint that a string holds; absent if it holds no uint",
        &[("uint(\"7\")", "7u")],
    ),
    FLOAT_OF_NUMBER,
    FLOAT_OF_UINT,
    FLOAT_OF_TEXT,
    number(
        "float",
        &[Ty::Optional(&Ty::Dyn)],
        Ty::Float,
        Absence::Maybe,
        dyn_to_float,
        "the float that an untyped value of the API holds; absent if it holds no number",
        &[("float(pod.spec.containers[0].livenessProbe.httpGet.port)", "8080.0")],
    ),
    double(FLOAT_OF_NUMBER, &[("double(1)", "1.0")]),
    double(FLOAT_OF_UINT, &[("double(7u)", "7.0")]),
    double(FLOAT_OF_TEXT, &[("double(\"0.5\")", "0.5")]),
    from(
        "string",
        &[TEXT],
        Ty::String,
        Absence::Never,
        |args, _| args.first().cloned().unwrap_or(Value::Absent),
        "the same string",
        &[("string(\"a\")", "\"a\"")],
    ),
    from(
        "string",
        &[INT],
        Ty::String,
        Absence::Never,
        to_text,
        "the decimal digits of a number",
        &[("string(12)", "\"12\"")],
    ),
    from(
        "string",
        &[UINT],
        Ty::String,
        Absence::Never,
        to_text,
        "the decimal digits of a number",
        &[("string(7u)", "\"7\"")],
    ),
    from(
        "string",
        &[FLOAT],
        Ty::String,
        Absence::Never,
        to_text,
        "a float as Go prints it with `%g`",
        &[("string(1.5)", "\"1.5\""), ("string(1e21)", "\"1e+21\""), ("string(2.0)", "\"2\"")],
    ),
    from(
        "string",
        &[Ty::Optional(&Ty::Bool)],
        Ty::String,
        Absence::Never,
        to_text,
        "`true` or `false`",
        &[("string(true)", "\"true\"")],
    ),
    from(
        "string",
        &[Ty::Optional(&Ty::Time)],
        Ty::String,
        Absence::Never,
        to_text,
        "an instant in RFC 3339 format, in UTC",
        &[("string(time(\"2026-01-02T03:04:05Z\"))", "\"2026-01-02T03:04:05Z\"")],
    ),
    from(
        "string",
        &[Ty::Optional(&Ty::Duration)],
        Ty::String,
        Absence::Never,
        |args, _| match args {
            [Value::Int(us)] => Value::text(seconds(*us)),
            _ => Value::Absent,
        },
        "a duration in seconds, as CEL prints it",
        &[("string(90s)", "\"90s\""), ("string(1500ms)", "\"1.5s\"")],
    ),
    from(
        "string",
        &[Ty::Optional(&Ty::Blob)],
        Ty::String,
        Absence::Maybe,
        |args, _| match args {
            [Value::Blob(bytes)] => Value::optional(std::str::from_utf8(bytes).ok().map(Value::text)),
            _ => Value::Absent,
        },
        "the string that bytes encode; absent if they are not valid UTF-8",
        &[("string(b\"abc\")", "\"abc\"")],
    ),
    from(
        "string",
        &[Ty::Optional(&Ty::Dyn)],
        Ty::String,
        Absence::Maybe,
        |args, _| match args {
            [value] => match value.clone().plain() {
                text @ Value::String(_) => text,
                Value::Int(x) => Value::text(x.to_string()),
                Value::Float(x) => Value::text(go_float(x)),
                Value::Bool(x) => Value::text(if x { "true" } else { "false" }),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        "an untyped value of the API as a string; absent if it is a list or an object",
        &[("string(pod.spec.containers[0].livenessProbe.httpGet.port)", "\"8080\"")],
    ),
    from(
        "bool",
        &[TEXT],
        Ty::Bool,
        Absence::Maybe,
        |args, _| {
            parsed(args, |text| match text {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Value::Bool(true)),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Value::Bool(false)),
                _ => None,
            })
        },
        "the bool that a string holds, as Go's `strconv.ParseBool` reads it; absent if it holds no \
         bool",
        &[("bool(\"true\")", "true"), ("bool(\"0\")", "false")],
    ),
    from(
        "bytes",
        &[TEXT],
        Ty::Blob,
        Absence::Never,
        |args, _| match args {
            [Value::String(text)] => Value::Blob(text.as_str().as_bytes().into()),
            _ => Value::Absent,
        },
        "the UTF-8 bytes of a string",
        &[("bytes(\"a\")", "b\"a\"")],
    ),
    from(
        "dyn",
        &[Ty::Var('t')],
        Ty::Var('t'),
        Absence::Never,
        |args, _| args.first().cloned().unwrap_or(Value::Absent),
        "the value itself; exists so that CEL expressions compile",
        &[("dyn(1)", "1")],
    ),
    from(
        "type",
        &[Ty::Optional(&Ty::Dyn)],
        Ty::TypeName,
        Absence::Maybe,
        |args, _| match args {
            [value] => type_of(value),
            _ => Value::Absent,
        },
        "CEL's type of a value: `bool`, `int`, `uint`, `double`, `string`, `bytes`, `list`, `map`, \
         `null_type`, `type` or `optional_type`",
        &[("type(1) == int", "true"), ("type([1]) == map", "false"), ("type(1.5)", "double")],
    ),
    TIME_OF_TEXT,
    TIME_OF_SECONDS,
    timestamp(TIME_OF_TEXT, &[("timestamp(\"1970-01-01T00:00:01Z\") - timestamp(0)", "1s")]),
    timestamp(TIME_OF_SECONDS, &[("timestamp(60) - timestamp(0)", "1min")]),
    from(
        "duration",
        &[TEXT],
        Ty::Duration,
        Absence::Maybe,
        |args, _| parsed(args, |text| parse_duration(text).map(Value::Int)),
        "the duration that a string holds, in Go's format (`1h30m`, `500ms`); absent if it holds \
         no duration, or one finer than a microsecond",
        &[("duration(\"1h30m\")", "1h30min"), ("duration(\"-1.5s\")", "0s - 1500ms")],
    ),
    from(
        "as_cpu",
        &[TEXT],
        Ty::Cpu,
        Absence::Maybe,
        |args, _| parsed(args, |text| parse_cpu(text).map(Value::Int)),
        "the CPU that a Kubernetes quantity stands for, rounded up to millicores; absent if the \
         string is not a quantity",
        &[("as_cpu(\"500m\")", "500m"), ("as_cpu(\"2\")", "2cpu")],
    ),
    from(
        "as_bytes",
        &[TEXT],
        Ty::Bytes,
        Absence::Maybe,
        |args, _| parsed(args, |text| parse_whole(text).map(Value::Int)),
        "the bytes that a Kubernetes quantity stands for; absent if the string is not a quantity",
        &[("as_bytes(\"1Gi\")", "1Gi")],
    ),
    from(
        "as_count",
        &[TEXT],
        Ty::Count,
        Absence::Maybe,
        |args, _| parsed(args, |text| parse_whole(text).map(Value::Int)),
        "the count that a Kubernetes quantity stands for; absent if the string is not a quantity",
        &[("as_count(\"8\") + 1", "as_count(\"9\")")],
    ),
    from(
        "resources",
        &[Ty::Optional(&Ty::Map(&Ty::String, &Ty::String))],
        Ty::Resources,
        Absence::Maybe,
        amounts,
        "amounts by resource name, from Kubernetes quantities; absent if a string is not a \
         quantity",
        &[("resources({\"cpu\": \"500m\"}).cpu", "500m")],
    ),
    from(
        "resources",
        &[Ty::Optional(&Ty::Map(&Ty::String, &Ty::Dyn))],
        Ty::Resources,
        Absence::Maybe,
        amounts,
        "amounts by resource name, from numbers and Kubernetes quantities, as objects that are looked up have them",
        &[("has(resources(lookup(\"ResourceQuota\", \"default\", \"none\").spec.hard))", "false")],
    ),
    from(
        "resources",
        &[Ty::Optional(&Ty::Dyn)],
        Ty::Resources,
        Absence::Maybe,
        amounts,
        "the same of a map without a known type",
        &[("has(resources(lookup(\"ConfigMap\", \"default\", \"none\").metadata.labels))", "false")],
    ),
    from(
        "resources",
        &[Ty::Optional(&Ty::Resources)],
        Ty::Resources,
        Absence::Never,
        |args, _| args.first().cloned().unwrap_or(Value::Absent),
        "the same amounts",
        &[("resources(resources({\"cpu\": \"500m\"})).cpu", "500m")],
    ),
];

/// Amounts by resource name; a number counts as the quantity that it is written as.
fn amounts<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    let Some(entries) = args.first().and_then(Value::entries) else { return Value::Absent };
    let mut resource = Resource::default();
    for (name, amount) in entries.iter() {
        let number = match amount {
            Value::Int(_) | Value::Uint(_) | Value::Float(_) => Some(amount.to_string()),
            _ => None,
        };
        let text = number.as_deref().or_else(|| amount.as_str());
        let (Some(name), Some(text)) = (name.as_str(), text) else { return Value::Absent };
        if set_amount(&mut resource, name, text).is_none() {
            return Value::Absent;
        }
    }
    Value::resources(resource)
}

fn same(ranges: &[Range]) -> Range {
    ranges.first().copied().unwrap_or(Range::None)
}

fn widened(ranges: &[Range]) -> Range {
    same(ranges).widen()
}

fn parsed<'a>(args: &[Value<'a>], f: impl Fn(&str) -> Option<Value<'static>>) -> Value<'a> {
    match args {
        [Value::String(text)] => Value::optional(f(text.as_str())),
        _ => Value::Absent,
    }
}

fn to_float<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    args.first().and_then(Value::as_float).map_or(Value::Absent, Value::Float)
}

fn uint_to_float<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    match args {
        [Value::Uint(x)] => Value::Float(*x as f64),
        _ => Value::Absent,
    }
}

fn same_value<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    args.first().cloned().unwrap_or(Value::Absent)
}

fn text_to_float<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    parsed(args, |text| text.parse::<f64>().ok().filter(|x| x.is_finite()).map(Value::Float))
}

fn dyn_to_float<'a>(args: &[Value<'a>], prepared: &super::Prepared) -> Value<'a> {
    match args {
        [value] => match value.clone().plain() {
            text @ Value::String(_) => text_to_float(&[text], prepared),
            value => value.as_float().map_or(Value::Absent, Value::Float),
        },
        _ => Value::Absent,
    }
}

fn text_to_time<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    parsed(args, |text| Time::parse_exactly(text).map(Value::Time))
}

fn seconds_to_time<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    match args {
        [Value::Int(seconds)] => Value::Time(Time(seconds.saturating_mul(1_000_000)).in_calendar()),
        _ => Value::Absent,
    }
}

fn to_text<'a>(args: &[Value<'a>], _: &super::Prepared) -> Value<'a> {
    match args {
        [Value::Int(x)] => Value::text(x.to_string()),
        [Value::Uint(x)] => Value::text(x.to_string()),
        [Value::Float(x)] => Value::text(go_float(*x)),
        [Value::Bool(x)] => Value::text(if *x { "true" } else { "false" }),
        [Value::Time(at)] => Value::text(rfc3339(*at)),
        _ => Value::Absent,
    }
}

/// CEL's name of the type of a value without a known one.
fn type_of<'a>(value: &Value<'a>) -> Value<'a> {
    let Some(name) = super::cel::type_name(&value.clone().plain()) else { return Value::Absent };
    Value::TypeName(Symbol::new(name))
}
