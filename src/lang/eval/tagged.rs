//! Values as JSON that carries their types, as the recorded verdicts of Kubernetes' CEL have them:
//! `{"int": "3"}`, `{"list": [{"string": "a"}]}`. `eval --batch` prints them, and reads its variables
//! with [`typed`].

use crate::language::functions::go_float;
use crate::types::Type;
use crate::types::cel::Cel;
use crate::types::value::Value;
use bayplan_model::Time;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;

/// A value as JSON. `null` for an absent value; `{"error": …}` for a fault; a value that only the
/// policy language has is `{"text": …}`.
pub fn tagged(value: &Value<'_>) -> Json {
    match value {
        Value::Absent => Json::Null,
        Value::Null | Value::Json(Json::Null) => json!({"null": true}),
        Value::Bool(truth) => json!({"bool": truth}),
        Value::Int(number) => json!({"int": number.to_string()}),
        Value::Uint(number) => json!({"uint": number.to_string()}),
        Value::Float(number) => json!({"double": double(*number)}),
        Value::String(text) => json!({"string": text.as_str()}),
        Value::Blob(bytes) => json!({"bytes": hexadecimal(bytes)}),
        Value::Time(at) => json!({"timestamp": at.to_rfc3339_exactly()}),
        Value::Optional(None) => json!({"optional": null}),
        Value::Optional(Some(held)) => json!({"optional": tagged(held)}),
        Value::TypeName(name) => json!({"type": name.as_str()}),
        Value::Quantity(amount) => json!({"quantity": amount.to_string()}),
        Value::Cel(of) => of_cel(of),
        Value::Json(Json::Bool(_) | Json::Number(_) | Json::String(_)) => tagged(&value.clone().plain()),
        other => of_parts(other),
    }
}

/// A list, a map, or anything else as text.
fn of_parts(value: &Value<'_>) -> Json {
    if let Some(items) = value.elements() {
        return json!({"list": items.iter().map(tagged).collect::<Vec<_>>()});
    }
    match value.entries() {
        Some(entries) => {
            let pairs = entries.iter().map(|(key, value)| json!([tagged(key), tagged(value)]));
            json!({"map": pairs.collect::<Vec<_>>()})
        }
        None => json!({"text": value.to_string()}),
    }
}

fn of_cel(value: &Cel) -> Json {
    match value {
        Cel::Fault(fault) => json!({"error": &*fault.message}),
        Cel::Duration(nanoseconds) => json!({"duration": go_duration(*nanoseconds)}),
        Cel::Instant(at) => json!({"timestamp": utc(at.seconds, at.nanoseconds)}),
        other => {
            let name = other.ty().map_or("text", |ty| ty.name());
            let mut tagged = serde_json::Map::new();
            tagged.insert(name.to_owned(), Json::from(other.to_string()));
            Json::Object(tagged)
        }
    }
}

/// A double as Go's `strconv` writes it with the fewest digits.
fn double(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => go_float(number),
    }
}

/// An instant in UTC, with as many decimals as it has, whatever offset its text had.
fn utc(seconds: i64, nanoseconds: u32) -> String {
    let whole = Time(seconds.saturating_mul(1_000_000)).to_rfc3339_exactly();
    let fraction = format!(".{nanoseconds:09}");
    format!("{}{}Z", whole.trim_end_matches('Z'), fraction.trim_end_matches('0').trim_end_matches('.'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Nanoseconds as Go prints a `time.Duration`: `1h0m0.5s`, `1.5ms`, `0s`.
fn go_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let all = nanoseconds.unsigned_abs();
    let in_unit = |amount: u64, unit: u64| {
        let width = unit.ilog10() as usize;
        let part = if width == 0 { String::new() } else { format!(".{:0width$}", amount % unit) };
        format!("{}{}", amount / unit, part.trim_end_matches('0').trim_end_matches('.'))
    };
    match all {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{all}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", in_unit(all, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", in_unit(all, 1_000_000)),
        _ => {
            let (minutes, rest) = (all / 60_000_000_000, all % 60_000_000_000);
            let seconds = in_unit(rest, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// A variable from JSON: its type by its value, and the value. The elements of an empty list count as
/// ints; a list or map whose values are of several types has elements of type `dyn`.
pub fn typed(json: &Json) -> (Type, Value<'static>) {
    match json {
        Json::Null => (Type::Null, Value::Null),
        Json::Bool(truth) => (Type::Bool, Value::Bool(*truth)),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => (Type::Int, Value::Int(whole)),
            (None, Some(whole)) => (Type::Uint, Value::Uint(whole)),
            (None, None) => (Type::Float, Value::Float(number.as_f64().unwrap_or(f64::NAN))),
        },
        Json::String(text) => (Type::String, Value::text(text.as_str())),
        Json::Array(items) => {
            let (types, values): (Vec<_>, Vec<_>) = items.iter().map(typed).unzip();
            let element = common(types).unwrap_or(Type::Int);
            (Type::List(Arc::new(element)), Value::list(values))
        }
        Json::Object(fields) => {
            let (types, values): (Vec<_>, Vec<_>) = fields.values().map(typed).unzip();
            let element = common(types).unwrap_or(Type::Dyn);
            let keys = fields.keys().map(|key| Value::text(key.as_str()));
            (Type::Map(Arc::new(Type::String), Arc::new(element)), Value::map(keys.zip(values)))
        }
    }
}

/// The type of all, `dyn` if they differ; none without any.
fn common(types: Vec<Type>) -> Option<Type> {
    let mut types = types.into_iter();
    let first = types.next()?;
    Some(if types.all(|other| other == first) { first } else { Type::Dyn })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let rows = [
            (0, "0s"),
            (1, "1ns"),
            (-1_500, "-1.5µs"),
            (100_000_000, "100ms"),
            (1_000_000_001, "1.000000001s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
            (-5_400_000_000_000, "-1h30m0s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanoseconds, text) in rows {
            assert_eq!(go_duration(nanoseconds), text);
        }
    }

    #[test]
    fn instants_are_in_utc() {
        assert_eq!(utc(-1, 500_000_000), "1969-12-31T23:59:59.5Z");
        assert_eq!(utc(-62_135_596_800, 1), "0001-01-01T00:00:00.000000001Z");
        assert_eq!(utc(253_402_300_799, 0), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn values_carry_their_types() {
        let variables = json!({"i": 1, "l": [1, 2], "e": [], "x": [1, "a"], "m": {"k": "v"}, "u": 9223372036854775808u64, "n": null, "d": 1e6});
        let (ty, value) = typed(&variables);
        assert_eq!(ty, Type::Map(Arc::new(Type::String), Arc::new(Type::Dyn)));
        let wanted = json!({"map": [
            [{"string": "d"}, {"double": "1e+06"}],
            [{"string": "e"}, {"list": []}],
            [{"string": "i"}, {"int": "1"}],
            [{"string": "l"}, {"list": [{"int": "1"}, {"int": "2"}]}],
            [{"string": "m"}, {"map": [[{"string": "k"}, {"string": "v"}]]}],
            [{"string": "n"}, {"null": true}],
            [{"string": "u"}, {"uint": "9223372036854775808"}],
            [{"string": "x"}, {"list": [{"int": "1"}, {"string": "a"}]}],
        ]});
        assert_eq!(tagged(&value), wanted);
        assert_eq!(typed(&json!([])).0, Type::List(Arc::new(Type::Int)));
        assert_eq!(tagged(&Value::Float(f64::NEG_INFINITY)), json!({"double": "-Inf"}));
        assert_eq!(tagged(&Value::Blob(Arc::from([0xff, 0].as_slice()))), json!({"bytes": "ff00"}));
    }
}
