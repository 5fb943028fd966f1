//! [`Duration::parse`]: durations as Go writes them (`15s`, `1m30s`, `1.5h`), for configurations,
//! flags and the policy language. Reads what Go's `time.ParseDuration` reads, to the nanosecond;
//! a result that is not a whole number of microseconds is refused.
//!
//! Source: Go's `src/time/format.go`, `ParseDuration`.

use super::time::Duration;

/// Why a text is not a duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DurationError {
    /// No number where one is expected, or something after it.
    #[error("expected a number and a unit, such as `15s` or `1m30s`")]
    Malformed,
    /// A number without a unit.
    #[error("a number needs a unit: `h`, `m`, `s`, `ms` or `us`")]
    MissingUnit,
    /// A unit that Go does not know.
    #[error("the units are `h`, `m`, `s`, `ms`, `us` and `ns`")]
    UnknownUnit,
    /// Beyond 64 bits of nanoseconds, about 292 years.
    #[error("a duration is at most about 292 years")]
    TooLong,
    /// Finer than a microsecond.
    #[error("a duration is a whole number of microseconds")]
    TooFine,
}

/// The units with their nanoseconds, and the two letters `µ` of Unicode.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The largest magnitude, of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// Reads a duration as Go does.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let nanoseconds = Self::parse_nanoseconds(text)?;
        if nanoseconds % 1_000 != 0 {
            return Err(DurationError::TooFine);
        }
        Ok(Self(nanoseconds / 1_000))
    }

    /// Reads a duration as Go does, in nanoseconds; never [`DurationError::TooFine`].
    pub fn parse_nanoseconds(text: &str) -> Result<i64, DurationError> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(0);
        }
        if rest.is_empty() {
            return Err(DurationError::Malformed);
        }
        let mut nanoseconds: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = part(rest)?;
            let sum = nanoseconds.checked_add(part).filter(|sum| *sum <= LIMIT);
            nanoseconds = sum.ok_or(DurationError::TooLong)?;
            rest = after;
        }
        if nanoseconds == LIMIT && !negative {
            return Err(DurationError::TooLong);
        }
        let nanoseconds = nanoseconds.cast_signed();
        Ok(if negative { nanoseconds.wrapping_neg() } else { nanoseconds })
    }
}

/// The first number with its unit, in nanoseconds, and the rest of the text.
fn part(text: &str) -> Result<(u64, &str), DurationError> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Malformed);
    }
    let (unit, rest) =
        rest.split_at(rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len()));
    if unit.is_empty() {
        return Err(DurationError::MissingUnit);
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let unit = known.map(|(_, nanoseconds)| *nanoseconds).ok_or(DurationError::UnknownUnit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| DurationError::TooLong)? };
    let all = whole.checked_mul(unit).filter(|all| *all <= LIMIT).ok_or(DurationError::TooLong)?;
    let all = all.checked_add(part_of_unit(fraction, unit)).filter(|all| *all <= LIMIT);
    Ok((all.ok_or(DurationError::TooLong)?, rest))
}

/// The digits after the point in nanoseconds, rounded as Go rounds them: digits beyond 63 bits are
/// dropped, and the product is truncated to a nanosecond.
fn part_of_unit(fraction: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0u64, 1f64);
    for digit in fraction.bytes() {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        let Some(next) = next.filter(|next| value <= (LIMIT - 1) / 10 && *next <= LIMIT) else { break };
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MICROSECOND: i64 = 1;
    const MILLISECOND: i64 = 1_000 * MICROSECOND;
    const SECOND: i64 = 1_000 * MILLISECOND;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;

    #[test]
    fn known_durations_of_go() {
        // From Go's src/time/time_test.go; those with parts of a microsecond are in the next test.
        let known = [
            ("0", 0),
            ("5s", 5 * SECOND),
            ("30s", 30 * SECOND),
            ("1478s", 1478 * SECOND),
            ("-5s", -5 * SECOND),
            ("+5s", 5 * SECOND),
            ("-0", 0),
            ("+0", 0),
            ("5.0s", 5 * SECOND),
            ("5.6s", 5 * SECOND + 600 * MILLISECOND),
            ("5.s", 5 * SECOND),
            (".5s", 500 * MILLISECOND),
            ("1.0s", SECOND),
            ("1.00s", SECOND),
            ("1.004s", SECOND + 4 * MILLISECOND),
            ("1.0040s", SECOND + 4 * MILLISECOND),
            ("100.00100s", 100 * SECOND + MILLISECOND),
            ("11us", 11),
            ("12µs", 12),
            ("12μs", 12),
            ("13ms", 13 * MILLISECOND),
            ("14s", 14 * SECOND),
            ("15m", 15 * MINUTE),
            ("16h", 16 * HOUR),
            ("3h30m", 3 * HOUR + 30 * MINUTE),
            ("10.5s4m", 4 * MINUTE + 10 * SECOND + 500 * MILLISECOND),
            ("-2m3.4s", -(2 * MINUTE + 3 * SECOND + 400 * MILLISECOND)),
            ("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14 * SECOND + 425 * MILLISECOND),
            ("0.3333333333333333333h", 20 * MINUTE),
            ("0.100000000000000000000h", 6 * MINUTE),
            ("1000ns", 1),
        ];
        for (text, microseconds) in known {
            assert_eq!(Duration::parse(text), Ok(Duration(microseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_finer_than_a_microsecond_is_refused() {
        let fine = [
            "10ns",
            "1h2m3s4ms5us6ns",
            "52763797000ns52ns",
            "9007199254740993ns",
            "9223372036854775807ns",
            "9223372036854775.807us",
            "9223372036s854ms775us807ns",
            "-9223372036854775808ns",
            "0.9223372036854775807h",
            "0.830103483285477580700h",
        ];
        for text in fine {
            assert_eq!(Duration::parse(text), Err(DurationError::TooFine), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        use DurationError::{Malformed, MissingUnit, TooLong, UnknownUnit};
        let refused = [
            ("", Malformed),
            ("3", MissingUnit),
            ("-", Malformed),
            ("s", Malformed),
            (".", Malformed),
            ("-.", Malformed),
            (".s", Malformed),
            ("+.s", Malformed),
            ("1d", UnknownUnit),
            ("\u{85}\u{85}", Malformed),
            ("\u{ffff}", Malformed),
            ("hello \u{ffff} world", Malformed),
            ("9223372036854775810ns", TooLong),
            ("9223372036854775808ns", TooLong),
            ("-9223372036854775809ns", TooLong),
            ("9223372036854776us", TooLong),
            ("3000000h", TooLong),
            ("9223372036854775.808us", TooLong),
            ("9223372036854ms775us808ns", TooLong),
            ("5s ", UnknownUnit),
            (" 5s", Malformed),
            ("1-2s", UnknownUnit),
        ];
        for (text, why) in refused {
            assert_eq!(Duration::parse(text), Err(why), "{text:?}");
        }
    }

    /// Computes a duration slowly: each number is a fraction of two whole numbers.
    fn slowly(parts: &[(u32, String, usize)]) -> Option<i64> {
        let mut nanoseconds = 0i128;
        for (whole, fraction, unit) in parts {
            let scale = 10i128.pow(fraction.len() as u32);
            let digits: i128 = format!("{whole}{fraction}").parse().unwrap();
            nanoseconds += digits * i128::from(UNITS[*unit].1) / scale;
        }
        if nanoseconds >= i128::from(LIMIT) || nanoseconds % 1_000 != 0 {
            return None;
        }
        i64::try_from(nanoseconds / 1_000).ok()
    }

    proptest! {
        #[test]
        fn the_parser_agrees_with_fractions(
            parts in prop::collection::vec((any::<u32>(), "[0-9]{0,9}", 0..UNITS.len()), 1..4),
            negative: bool,
        ) {
            // Go computes the fraction in floats; down to a nanosecond that is exact.
            let parts: Vec<(u32, String, usize)> = parts
                .into_iter()
                .map(|(whole, fraction, unit)| {
                    let exact = UNITS[unit].1.ilog10().min(9) as usize;
                    (whole, fraction[..fraction.len().min(exact)].to_owned(), unit)
                })
                .collect();
            let mut text = String::from(if negative { "-" } else { "" });
            for (whole, fraction, unit) in &parts {
                text += &format!("{whole}.{fraction}{}", UNITS[*unit].0);
            }
            let expected = slowly(&parts).map(|of| Duration(if negative { -of } else { of }));
            prop_assert_eq!(Duration::parse(&text).ok(), expected, "{}", text);
        }

        #[test]
        fn no_text_breaks_the_parser(text in "[-+]?[0-9.hmnuµs ]{0,40}") {
            let _ = Duration::parse(&text);
        }
    }
}
