//! Literals: numbers with and without units to base units, strings and their escapes.
//!
//! Called by `build`. An error is the message and help of a diagnostic; its place is the literal.

use crate::syntax::ast::Literal;

/// What is wrong with a literal: message and help.
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Wrong {
    fn new(message: String) -> Self {
        Wrong { message, help: None }
    }
}

/// `12`, `0x1f`, `7u`; `negative` when a minus precedes it.
pub(super) fn int(text: &str, negative: bool) -> Result<Literal, Wrong> {
    let (digits, unsigned) = match text.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse::<u64>(),
    };
    let out_of_range = || Wrong::new(format!("`{text}` does not fit into 64 bits"));
    let value = value.map_err(|_| out_of_range())?;
    match (unsigned, negative) {
        (true, false) => Ok(Literal::Uint(value)),
        (true, true) => Err(Wrong::new(format!("`-{text}` is negative, and `{text}` has no sign"))),
        (false, _) => whole(i128::from(value), negative).map(Literal::Int).ok_or_else(out_of_range),
    }
}

/// `1.5`, `1e3`
pub(super) fn float(text: &str, negative: bool) -> Result<Literal, Wrong> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Float(if negative { -value } else { value })),
        _ => Err(Wrong::new(format!("`{text}` is beyond the largest number"))),
    }
}

/// `50%`
pub(super) fn percent(text: &str, negative: bool) -> Result<Literal, Wrong> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(Literal::Share(if negative { -value / 100.0 } else { value / 100.0 }))
        }
        _ => Err(Wrong::new(format!("`{text}` is beyond the largest number"))),
    }
}

/// `500m`, `2cpu`, `4Gi`, `100B`
pub(super) fn quantity(text: &str, negative: bool) -> Result<Literal, Wrong> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (factor, of) = match unit {
        "m" => (1, "millicores"),
        "cpu" => (1000, "millicores"),
        "B" => (1, "bytes"),
        _ => (byte_factor(unit), "bytes"),
    };
    let value = amount(text, &[(number, factor)], of, negative)?;
    Ok(if of == "bytes" { Literal::Bytes(value) } else { Literal::Cpu(value) })
}

/// `10ms`, `1h30min`: microseconds, as durations are kept everywhere. A shorter part of one is refused.
pub(super) fn duration(text: &str, negative: bool) -> Result<Literal, Wrong> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let split = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(split);
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        let factor: i128 = match unit {
            "ms" => 1_000,
            "s" => 1_000_000,
            "min" => 60_000_000,
            "h" => 3_600_000_000,
            _ => 86_400_000_000,
        };
        parts.push((number, factor));
        rest = next;
    }
    amount(text, &parts, "microseconds", negative).map(Literal::Duration)
}

/// A text as the literal with a unit that it would be in a policy, with a minus in front if there is one: `500m`, `4Gi`,
/// `1h30min`, `50%`. `None`: it has no such form. An error says what is wrong with the amount.
pub(crate) fn with_unit(text: &str) -> Option<Result<Literal, String>> {
    let (negative, body) = text.strip_prefix('-').map_or((false, text), |body| (true, body));
    let is_number = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        [whole, fraction]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let read = |literal: Result<Literal, Wrong>| Some(literal.map_err(|wrong| wrong.message));
    if let Some(number) = body.strip_suffix('%') {
        return if is_number(number) { read(percent(body, negative)) } else { None };
    }
    let mut units = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let (unit, next) = tail.split_at(tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len()));
        if !is_number(number) {
            return None;
        }
        units.push(unit);
        rest = next;
    }
    match units[..] {
        ["m" | "cpu" | "B" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"] => {
            read(quantity(body, negative))
        }
        [] => None,
        _ if units.iter().all(|unit| matches!(*unit, "ms" | "s" | "min" | "h" | "d")) => {
            read(duration(body, negative))
        }
        _ => None,
    }
}

fn byte_factor(unit: &str) -> i128 {
    match unit {
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => 1 << 60,
    }
}

/// The sum of numbers times factors, which must be whole and fit 64 bits.
fn amount(text: &str, parts: &[(&str, i128)], of: &str, negative: bool) -> Result<i64, Wrong> {
    let too_large = || Wrong::new(format!("`{text}` does not fit into 64 bits of {of}"));
    let mut sum: i128 = 0;
    for (number, factor) in parts {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        // 18 digits are more than any unit has
        if fraction.len() > 18 {
            return Err(not_whole(text, of));
        }
        let mantissa = format!("{whole}{fraction}").parse::<i128>().map_err(|_| too_large())?;
        let scale = 10i128.pow(fraction.len() as u32);
        let scaled = mantissa.checked_mul(*factor).ok_or_else(too_large)?;
        if scaled % scale != 0 {
            return Err(not_whole(text, of));
        }
        sum = sum.checked_add(scaled / scale).ok_or_else(too_large)?;
    }
    whole(sum, negative).ok_or_else(too_large)
}

fn not_whole(text: &str, of: &str) -> Wrong {
    Wrong {
        message: format!("`{text}` is not a whole number of {of}"),
        help: Some(format!("amounts are kept in whole {of}")),
    }
}

fn whole(value: i128, negative: bool) -> Option<i64> {
    i64::try_from(if negative { -value } else { value }).ok()
}

/// The message for a number whose letters are not a unit.
pub(super) fn unknown_unit(text: &str) -> Wrong {
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    if text.starts_with("0x") || text.starts_with("0X") || text.starts_with("0b") {
        return Wrong::new(format!("`{text}` is not a number"));
    }
    let message = format!("`{text}` is not a unit");
    let help = meant_unit(number, unit).unwrap_or_else(|| {
        "units are `m cpu`, `B k M G T P E Ki Mi Gi Ti Pi Ei`, `ms s min h d` and `%`".to_owned()
    });
    Wrong { message, help: Some(help) }
}

/// What a number with letters that are not a unit is meant to be.
pub(super) fn meant_unit(number: &str, unit: &str) -> Option<String> {
    match unit {
        "Mb" | "MB" | "mb" | "Gb" | "GB" | "gb" | "Kb" | "KB" | "kb" | "kB" | "Tb" | "TB" | "tb" | "K"
        | "Mib" | "MiB" | "GiB" | "Gib" | "KiB" | "Kib" | "TiB" | "Tib" => {
            let letter = unit.get(..1).unwrap_or("").to_ascii_uppercase();
            let decimal = if letter == "K" { "k".to_owned() } else { letter.clone() };
            let binary = format!("{letter}i");
            match (plain_bytes(number, &decimal), plain_bytes(number, &binary)) {
                (Some(small), Some(large)) => {
                    Some(format!("`{number}{decimal}` is {small} bytes, `{number}{binary}` is {large}"))
                }
                _ => Some(format!("write `{number}{decimal}` or `{number}{binary}`")),
            }
        }
        "sec" | "secs" | "second" | "seconds" => Some(format!("write `{number}s`")),
        "mins" | "minute" | "minutes" => Some(format!("write `{number}min`")),
        "hour" | "hours" | "hr" | "hrs" => Some(format!("write `{number}h`")),
        "day" | "days" => Some(format!("write `{number}d`")),
        "w" | "wk" | "week" | "weeks" => {
            let days = number.parse::<u32>().ok().and_then(|weeks| weeks.checked_mul(7));
            days.map(|days| format!("write `{days}d`"))
        }
        "pct" | "percent" | "perc" => Some(format!("write `{number}%`")),
        "us" | "ns" => Some("durations are written in `ms`, `s`, `min`, `h` and `d`".to_owned()),
        "c" | "cpus" | "core" | "cores" | "CPU" | "vcpu" | "vcpus" => Some(format!("write `{number}cpu`")),
        "b" | "bytes" | "byte" => Some(format!("write `{number}B`")),
        _ if unit.starts_with('_') => Some("write digits without `_`".to_owned()),
        _ => None,
    }
}

fn plain_bytes(number: &str, unit: &str) -> Option<String> {
    let value = amount(number, &[(number, byte_factor(unit))], "bytes", false).ok()?;
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    Some(out)
}

/// A string literal's parts: whether it is raw, and the byte range of its content.
pub(super) fn content(text: &str) -> (bool, usize, usize) {
    let quote = text.find(['"', '\'']).unwrap_or(0);
    let raw = text.get(..quote).is_some_and(|prefix| prefix.contains(['r', 'R']));
    let body = text.get(quote..).unwrap_or("");
    let long = body.len() >= 6 && (body.starts_with("\"\"\"") || body.starts_with("'''"));
    let marks = if long { 3 } else { 1 };
    (raw, quote + marks, text.len().saturating_sub(marks).max(quote + marks))
}

/// The value of a raw string: line ends as `\n`.
pub(super) fn raw(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The value of a string: escapes resolved, line ends as `\n`. On failure the byte range of the escape.
pub(super) fn unescape(text: &str) -> Result<String, (usize, usize)> {
    if !text.contains(['\\', '\r']) {
        return Ok(text.to_owned());
    }
    let bytes = escaped(text, false)?;
    String::from_utf8(bytes).map_err(|_| (0, text.len()))
}

/// The value of a byte string.
pub(super) fn unescape_bytes(text: &str) -> Result<Vec<u8>, (usize, usize)> {
    escaped(text, true)
}

fn escaped(text: &str, blob: bool) -> Result<Vec<u8>, (usize, usize)> {
    let mut out = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut buffer = [0; 4];
        match c {
            '\r' => {
                if chars.peek().is_none_or(|&(_, next)| next != '\n') {
                    out.push(b'\n');
                }
            }
            '\\' => {
                let (_, letter) = chars.next().ok_or((at, text.len()))?;
                let behind = at + 1 + letter.len_utf8();
                let simple = match letter {
                    'a' => Some(7),
                    'b' => Some(8),
                    'f' => Some(12),
                    'n' => Some(b'\n'),
                    'r' => Some(b'\r'),
                    't' => Some(b'\t'),
                    'v' => Some(11),
                    '\\' | '?' | '"' | '\'' | '`' => u8::try_from(letter).ok(),
                    _ => None,
                };
                if let Some(byte) = simple {
                    out.push(byte);
                    continue;
                }
                let (from, count, radix) = match letter {
                    'x' | 'X' => (behind, 2, 16),
                    'u' if !blob => (behind, 4, 16),
                    'U' if !blob => (behind, 8, 16),
                    '0'..='3' => (at + 1, 3, 8),
                    _ => return Err((at, behind)),
                };
                let wrong = (at, (from + count).min(text.len()));
                let digits = text.get(from..from + count).ok_or((at, behind))?;
                if !digits.chars().all(|d| d.is_digit(radix)) {
                    return Err((at, behind));
                }
                let value = u32::from_str_radix(digits, radix).map_err(|_| wrong)?;
                if blob {
                    out.push(u8::try_from(value).map_err(|_| wrong)?);
                } else {
                    let letter = char::from_u32(value).ok_or(wrong)?;
                    out.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
                }
                while chars.peek().is_some_and(|&(i, _)| i < from + count) {
                    chars.next();
                }
            }
            _ => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn value(result: Result<Literal, Wrong>) -> Result<Literal, String> {
        result.map_err(|wrong| wrong.message)
    }

    #[test]
    fn numbers_reach_the_ends_of_their_range_and_not_beyond() {
        assert_eq!(value(int("9223372036854775807", false)), Ok(Literal::Int(i64::MAX)));
        assert_eq!(value(int("9223372036854775808", true)), Ok(Literal::Int(i64::MIN)));
        assert!(value(int("9223372036854775808", false)).is_err());
        assert_eq!(value(int("0xFFFFFFFFFFFFFFFFu", false)), Ok(Literal::Uint(u64::MAX)));
        assert!(value(int("18446744073709551616u", false)).is_err());
        assert!(value(float("1e309", false)).is_err());
        assert!(value(quantity("8Ei", false)).is_err());
        assert_eq!(value(quantity("8Ei", true)), Ok(Literal::Bytes(i64::MIN)));
    }

    #[test]
    fn amounts_are_whole_in_their_base_unit() {
        assert_eq!(value(quantity("0.5cpu", false)), Ok(Literal::Cpu(500)));
        assert_eq!(value(quantity("1.5Ki", false)), Ok(Literal::Bytes(1536)));
        assert_eq!(value(quantity("0.3Ki", false)).unwrap_err(), "`0.3Ki` is not a whole number of bytes");
        assert!(value(quantity("0.5m", false)).is_err());
        assert_eq!(value(duration("1h30min", false)), Ok(Literal::Duration(5_400_000_000)));
        assert_eq!(value(duration("1.5s", true)), Ok(Literal::Duration(-1_500_000)));
        assert_eq!(value(duration("0.001ms", false)), Ok(Literal::Duration(1)));
        let short = "`0.0001ms` is not a whole number of microseconds";
        assert_eq!(value(duration("0.0001ms", false)).unwrap_err(), short);
        assert!(value(duration("1s0.0005ms", false)).is_err());
        assert!(value(duration("300000000d", false)).is_err());
        assert_eq!(value(percent("12.5%", false)), Ok(Literal::Share(0.125)));
    }

    #[test]
    fn escapes_are_those_of_cel() {
        assert_eq!(unescape(r#"a\n\x41\u00e9\U0001F600\101\"\?"#).unwrap(), "a\nAé😀A\"?");
        assert_eq!(unescape(r"a\q"), Err((1, 3)));
        assert_eq!(unescape(r"\ud800"), Err((0, 6)));
        assert_eq!(unescape_bytes(r"\xff\377é").unwrap(), [0xff, 0xff, 0xc3, 0xa9]);
        assert_eq!(unescape("a\r\nb\rc").unwrap(), "a\nb\nc");
    }

    #[test]
    fn a_unit_that_does_not_exist_names_those_that_do() {
        let wrong = unknown_unit("500Mb");
        assert_eq!(wrong.help.unwrap(), "`500M` is 500,000,000 bytes, `500Mi` is 524,288,000");
    }
}
