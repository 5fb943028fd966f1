//! How numbers, instants, durations and quantities are written and read, in the formats of Go, CEL
//! and Kubernetes. Conversions, `format`, params of a policy and the string functions use them.

use crate::types::Type;
use crate::types::value::{Str, Value};
use bayplan_model::{Duration, Quantity, Resource, Symbol, Time};

/// A time or duration as CEL writes it.
pub(super) fn written(value: &Value<'_>, ty: &Type) -> String {
    match (value, ty) {
        (Value::Time(at), _) => rfc3339(*at),
        (Value::Int(us), Type::Duration) => seconds(*us),
        _ => value.to_string(),
    }
}

/// An instant in RFC 3339, with as many decimals as it has.
pub(super) fn rfc3339(at: Time) -> String {
    at.to_rfc3339_exactly()
}

/// Microseconds as seconds with `s`, as CEL writes a duration: by way of a float, so that the last digits
/// of centuries are rounded.
pub(super) fn seconds(us: i64) -> String {
    let (whole, part) = (us / 1_000_000, us % 1_000_000);
    let seconds = whole as f64 + (part * 1000) as f64 / 1e9;
    format!("{seconds}s")
}

/// A float as Go's `%g` writes it: the shortest digits, an exponent below -4 and from 6 up.
pub(crate) fn go_float(x: f64) -> String {
    if x == 0.0 {
        return if x.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        format!("{x}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

/// A duration in Go's format, as `time.ParseDuration` reads it, in microseconds; absent if it is
/// finer.
pub fn parse_duration(text: &str) -> Option<i64> {
    Duration::parse(text).ok().map(|duration| duration.0)
}

/// A Kubernetes quantity in thousandths, rounded up.
pub(crate) fn parse_cpu(text: &str) -> Option<i64> {
    Quantity::parse(text).ok()?.checked_milli_value()
}

/// A Kubernetes quantity in whole units, rounded up.
pub(crate) fn parse_whole(text: &str) -> Option<i64> {
    Quantity::parse(text).ok()?.checked_value()
}

/// Sets the amount of a resource from a Kubernetes quantity.
pub(crate) fn set_amount(resource: &mut Resource, name: &str, text: &str) -> Option<()> {
    match name {
        "cpu" => resource.milli_cpu = parse_cpu(text)?,
        "memory" => resource.memory = parse_whole(text)?,
        "ephemeral-storage" => resource.ephemeral_storage = parse_whole(text)?,
        "pods" => resource.pods = parse_whole(text)?,
        other => resource.set_scalar(Symbol::new(other), parse_whole(text)?),
    }
    Some(())
}

/// The text of a string.
pub(super) fn text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::String(Str::Symbol(symbol)) => Some(symbol.as_str()),
        other => other.as_str(),
    }
}
