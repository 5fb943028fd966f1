//! Numbers and times as Go reads and writes them.

use super::calendar::Civil;
use crate::types::value::Instant;
use std::fmt::Write;

/// A float as Go's `%g` writes it.
pub(super) fn shortest(x: f64) -> String {
    if x.is_nan() {
        "NaN".to_owned()
    } else if x.is_infinite() {
        if x > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        super::super::notation::go_float(x)
    }
}

/// A duration in seconds, as CEL writes it: by way of a float, so that the last digits of centuries are rounded.
pub(super) fn seconds(nanoseconds: i64) -> String {
    format!("{}s", in_units(nanoseconds, 1_000_000_000))
}

/// A duration in a unit of so many nanoseconds, as Go's `Duration.Seconds` and its like compute it.
pub(super) fn in_units(nanoseconds: i64, unit: i64) -> f64 {
    (nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64
}

/// An instant as Go's `RFC3339Nano` writes it, with the offset that it was read with, or in UTC.
pub(super) fn rfc3339(at: &Instant, utc: bool) -> String {
    let offset = if utc { 0 } else { at.offset };
    let civil = Civil::of(at.seconds.saturating_add(i64::from(offset)));
    let (year, month, day) = (civil.year, civil.month, civil.day);
    let (hour, minute, second) = (civil.second / 3600, civil.second / 60 % 60, civil.second % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if at.nanoseconds > 0 {
        let digits = format!("{:09}", at.nanoseconds);
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
    if offset == 0 {
        text.push('Z');
    } else {
        let minutes = offset.unsigned_abs() / 60;
        let sign = if offset < 0 { '-' } else { '+' };
        let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
    text
}

/// A float as Go's `strconv.ParseFloat` reads it; `None` too where the number leaves the range.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1.0, text.get(1..)?),
        b'+' => (1.0, text.get(1..)?),
        _ => (1.0, text),
    };
    if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        return Some(sign * f64::INFINITY);
    }
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    let digits = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let plain = without_underscores(digits.unwrap_or(unsigned), digits.is_some())?;
    let number = match digits {
        Some(_) => hexadecimal(&plain)?,
        // Rust reads the same decimals as Go, and words and a second sign beside them.
        None if plain.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            plain.parse().ok()?
        }
        None => return None,
    };
    number.is_finite().then_some(sign * number)
}

/// The text without underscores, each of which must separate two digits, or the base and a digit.
fn without_underscores(text: &str, hexadecimal: bool) -> Option<String> {
    let digit = |c: char| c.is_ascii_digit() || hexadecimal && c.is_ascii_hexdigit();
    let mut before = if hexadecimal { '0' } else { '!' };
    for c in text.chars() {
        if c == '_' && !digit(before) || before == '_' && !digit(c) {
            return None;
        }
        before = c;
    }
    (before != '_').then(|| text.replace('_', ""))
}

/// A hexadecimal float after `0x`: digits, a point, and an exponent of 2 that must be there.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let plain = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let far = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = exponent.parse().unwrap_or(far).clamp(-100_000, 100_000);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut shift, mut rest) = (0u128, -4 * fraction.len() as i64, false);
    for c in whole.chars().chain(fraction.chars()) {
        let digit = c.to_digit(16)?;
        if mantissa < 1 << 100 {
            mantissa = mantissa * 16 + u128::from(digit);
        } else {
            rest |= digit != 0;
            shift += 4;
        }
    }
    Some(scaled(mantissa | u128::from(rest), shift + exponent))
}

/// `mantissa` times 2 to the `power`, rounded once to the nearest float, halves to even.
fn scaled(mantissa: u128, power: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = i64::from(128 - mantissa.leading_zeros());
    // The lowest bit that a float of this size has.
    let lowest = (bits + power - 53).max(-1074);
    let cut = lowest - power;
    let kept = if cut <= 0 {
        mantissa << cut.unsigned_abs().min(127)
    } else if cut > 127 {
        0
    } else {
        let (whole, part) = (mantissa >> cut, mantissa & ((1 << cut) - 1));
        let half = 1u128 << (cut - 1);
        whole + u128::from(part > half || part == half && whole & 1 == 1)
    };
    // Both factors are powers of 2 within the range, so that nothing is rounded again.
    let first = lowest.clamp(-1000, 1000);
    let second = (lowest - first).clamp(-1000, 1100);
    kept as f64 * 2f64.powi(first as i32) * 2f64.powi(second as i32)
}
