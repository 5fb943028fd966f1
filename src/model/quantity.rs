//! [`Quantity`]: a Kubernetes resource quantity by Go's rules, in fixed point: a decimal mantissa of up to 38 digits
//! and a power of ten, so nothing is lost that the API would keep. Parsing allocates nothing. Called when objects,
//! policies and configurations are read; in a cycle amounts are plain `i64` (`resource.rs`).
//!
//! Source: `apimachinery/pkg/api/resource/quantity.go`, `amount.go`, `suffix.go`, `scale_int.go`. Behaviour is
//! upstream's where a number fits 64 bits, oddities included; beyond that ours saturates where upstream wraps.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// How a quantity was written, which decides how it is printed back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum QuantityFormat {
    /// Powers of ten with letters: `500m`, `2k`.
    #[default]
    DecimalSI,
    /// Powers of 1024: `1Gi`.
    BinarySI,
    /// Powers of ten with an exponent: `2e3`.
    DecimalExponent,
}

/// An amount as Kubernetes writes it (`500m`, `1Gi`, `2e3`). Compared by amount, not by the way it is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    /// Less than 10^38 in size.
    mantissa: i128,
    /// Amount = mantissa x 10^exponent; -9 or more. Texts have 32 bits for it; sums and long mantissas go beyond.
    exponent: i64,
    format: QuantityFormat,
    /// Upstream holds the amount as an arbitrary decimal, not as a 64-bit number: negative amounts round differently.
    decimal: bool,
}

/// Why a text is not a quantity; the messages are upstream's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuantityError {
    /// Not of the form of a quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// A suffix without a number before it.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// 10^38, which no mantissa reaches.
const LIMIT: u128 = 100_000_000_000_000_000_000_000_000_000_000_000_000;
/// Amounts are kept to the billionth.
const NANO: i64 = -9;
/// Decimal digits that every 64-bit number holds.
const SAFE_DIGITS: i64 = 18;

/// A quantity's text taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point, leading zeros dropped; `0` when there are none.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    /// Whether any digit precedes the suffix: `Ki` has none.
    digits: bool,
    suffix: &'a str,
}

/// What a suffix means: base 2 or 10, its power, and the format it stands for.
struct Suffix {
    binary: bool,
    power: i32,
    format: QuantityFormat,
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        let decimal = |power| Some(Self { binary: false, power, format: QuantityFormat::DecimalSI });
        let binary = |power| Some(Self { binary: true, power, format: QuantityFormat::BinarySI });
        match text {
            "" => decimal(0),
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => {
                let power: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
                // Upstream cuts the exponent to 32 bits.
                Some(Self { binary: false, power: power as i32, format: QuantityFormat::DecimalExponent })
            }
        }
    }
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let bytes = text.as_bytes();
    let run = |from: usize, of: fn(u8) -> bool| {
        from + bytes.get(from..).unwrap_or_default().iter().take_while(|byte| of(**byte)).count()
    };
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let first = run(start, |byte| byte == b'0');
    let whole_end = run(first, |byte| byte.is_ascii_digit());
    let (fraction_start, number_end) = match bytes.get(whole_end) {
        Some(b'.') => (whole_end + 1, run(whole_end + 1, |byte| byte.is_ascii_digit())),
        _ => (whole_end, whole_end),
    };
    let letters = run(number_end, |byte| b"eEinumkKMGTP".contains(&byte));
    let signed = letters + usize::from(matches!(bytes.get(letters), Some(b'-' | b'+')));
    if run(signed, |byte| byte.is_ascii_digit()) != bytes.len() {
        return Err(QuantityError::Format);
    }
    let slice = |from, to| text.get(from..to).unwrap_or_default();
    Ok(Parts {
        negative,
        whole: if first == whole_end { "0" } else { slice(first, whole_end) },
        fraction: slice(fraction_start, number_end),
        digits: whole_end > start || number_end > fraction_start,
        suffix: slice(number_end, text.len()),
    })
}

/// Up to 38 digits as a number: how many digits were left out at the end, and whether one of those was not zero.
fn leading_digits(digits: impl Iterator<Item = u8>) -> (u128, i64, bool) {
    let (mut mantissa, mut dropped, mut rest) = (0u128, 0, false);
    for digit in digits {
        if dropped == 0 && mantissa < LIMIT / 10 {
            mantissa = mantissa * 10 + u128::from(digit - b'0');
        } else {
            dropped += 1;
            rest |= digit != b'0';
        }
    }
    (mantissa, dropped, rest)
}

/// `value` / 10^`places`, rounded up when something is lost.
fn divide_up(value: u128, places: i64, rest: bool) -> u128 {
    match u32::try_from(places).ok().and_then(|places| 10u128.checked_pow(places)) {
        Some(divisor) => value / divisor + u128::from(rest || !value.is_multiple_of(divisor)),
        None => u128::from(rest || value != 0),
    }
}

/// `value` x 2^`power` in billionths, rounded up, where `value` is `mantissa` x 10^`scale`; `None` when it is above
/// 2^63 - 1, where binary quantities are cut off.
fn binary_nanos(mantissa: u128, scale: i64, power: i32, rest: bool) -> Option<u128> {
    const CAP: u128 = i64::MAX as u128 * 1_000_000_000;
    let shift = scale - NANO;
    let (mut whole, mut part, divisor) = if shift >= 0 {
        (mantissa.checked_mul(10u128.checked_pow(u32::try_from(shift).ok()?)?)?, 0, 1)
    } else {
        // Digits that no power up to 2^60 lifts above a billionth are rounded up first.
        let far = (-shift - 38).max(0);
        let kept = divide_up(mantissa, far, false);
        let divisor = 10u128.pow(u32::try_from(-shift - far).unwrap_or(38));
        (kept / divisor, kept % divisor, divisor)
    };
    for _ in 0..power {
        whole = whole.checked_mul(2)?;
        part *= 2;
        if part >= divisor {
            part -= divisor;
            whole += 1;
        }
        if whole > CAP {
            return None;
        }
    }
    let nanos = whole + u128::from(part > 0 || rest);
    (nanos <= CAP).then_some(nanos)
}

impl Quantity {
    /// No amount.
    pub const ZERO: Self =
        Self { mantissa: 0, exponent: 0, format: QuantityFormat::DecimalSI, decimal: false };

    /// Reads a quantity. Amounts below a billionth are rounded up to one, away from zero; binary ones above 2^63 - 1
    /// are cut off there; more than 38 significant digits are rounded up.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        Self::read(text).map(|(quantity, _)| quantity)
    }

    /// What upstream prints for `text` after reading it: `text` itself where it is nearly canonical, which is a
    /// little more often than [`Quantity`]'s `Display` would have it (`1.500` stays).
    pub fn reprint(text: &str) -> Result<Cow<'_, str>, QuantityError> {
        let (quantity, keeps) = Self::read(text)?;
        Ok(if keeps { Cow::Borrowed(text) } else { Cow::Owned(quantity.to_string()) })
    }

    /// The quantity, and whether its text is kept for printing.
    fn read(text: &str) -> Result<(Self, bool), QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = split(text)?;
        let Suffix { binary, power, format } = Suffix::parse(parts.suffix).ok_or(QuantityError::Suffix)?;
        let signed = |size: u128| {
            let size = i128::try_from(size.min(LIMIT - 1)).unwrap_or(i128::MAX);
            if parts.negative { -size } else { size }
        };
        let (whole, fraction) = (parts.whole.len() as i64, parts.fraction.len() as i64);
        // What upstream holds in 64 bits it keeps exactly.
        let precision = match binary {
            false => SAFE_DIGITS - whole - fraction,
            true if fraction == 0 => 15 - whole - i64::from(power) * 3 / 10 - 1,
            true => -1,
        };
        let exponent = if binary { 0 } else { i64::from(power.wrapping_sub(parts.fraction.len() as i32)) };
        let digits = || parts.whole.bytes().chain(parts.fraction.bytes());
        if precision >= 0 && exponent >= NANO {
            let (value, _, _) = leading_digits(digits());
            let keeps = match binary {
                true => value & 7 != 0,
                false => {
                    exponent % 3 == 0 && !parts.whole.starts_with('0') && !digits().rev().take(3).eq(*b"000")
                }
            };
            let amount = if binary { value << power } else { value };
            let quantity = Self { mantissa: signed(amount), exponent, format, decimal: false };
            return Ok((quantity, keeps || text == "0"));
        }
        if !parts.digits {
            return Err(QuantityError::Numeric);
        }
        let (mantissa, dropped, rest) = leading_digits(digits());
        if binary {
            let one = 1_000_000_000;
            let nanos = binary_nanos(mantissa, dropped - fraction, power, rest);
            let format = match nanos {
                Some(nanos) if nanos > 0 && nanos < one => QuantityFormat::DecimalSI,
                _ => format,
            };
            return Ok(match nanos {
                Some(nanos) => {
                    (Self { mantissa: signed(nanos), exponent: NANO, format, decimal: true }, false)
                }
                None => {
                    let mantissa = signed(i64::MAX as u128);
                    (Self { mantissa, exponent: 0, format, decimal: true }, false)
                }
            });
        }
        let scale = i64::from(power) - fraction + dropped;
        let (mantissa, scale) = if mantissa == 0 {
            (0, 0)
        } else if scale < NANO {
            (divide_up(mantissa, NANO - scale, rest), NANO)
        } else {
            (mantissa + u128::from(rest), scale)
        };
        Ok((Self { mantissa: signed(mantissa), exponent: scale, format, decimal: true }, false))
    }

    /// `amount` whole units.
    pub const fn from_value(amount: i64) -> Self {
        Self { mantissa: amount as i128, exponent: 0, format: QuantityFormat::DecimalSI, decimal: false }
    }

    /// `amount` thousandths.
    pub const fn from_milli(amount: i64) -> Self {
        Self { mantissa: amount as i128, exponent: -3, format: QuantityFormat::DecimalSI, decimal: false }
    }

    /// `amount` whole units, printed with powers of 1024.
    pub const fn from_bytes(amount: i64) -> Self {
        Self { mantissa: amount as i128, exponent: 0, format: QuantityFormat::BinarySI, decimal: false }
    }

    /// The way it was written.
    #[inline]
    pub const fn format(&self) -> QuantityFormat {
        self.format
    }

    /// -1, 0 or 1.
    #[inline]
    pub const fn sign(&self) -> i32 {
        self.mantissa.signum() as i32
    }

    /// Whether it is nothing.
    #[inline]
    pub const fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whole units, rounded up; saturates.
    pub fn value(&self) -> i64 {
        self.checked_value().unwrap_or(if self.mantissa < 0 { i64::MIN } else { i64::MAX })
    }

    /// Thousandths, rounded up; saturates.
    pub fn milli_value(&self) -> i64 {
        self.checked_milli_value().unwrap_or(if self.mantissa < 0 { i64::MIN } else { i64::MAX })
    }

    /// Whole units, rounded up; `None` when they do not fit 64 bits.
    pub fn checked_value(&self) -> Option<i64> {
        self.scaled(0)
    }

    /// Whole units, rounded up, of which 64 bits are kept, as upstream does where it does not look at the size.
    pub fn low_value(&self) -> i64 {
        self.checked_value().unwrap_or_else(|| {
            let size = match u32::try_from(self.exponent) {
                Ok(exponent) => self.mantissa.unsigned_abs().wrapping_mul(10u128.wrapping_pow(exponent)),
                Err(_) => divide_up(self.mantissa.unsigned_abs(), -self.exponent, false),
            } as i64;
            if self.mantissa < 0 { size.wrapping_neg() } else { size }
        })
    }

    /// The amount in another format.
    #[must_use]
    pub const fn with_format(self, format: QuantityFormat) -> Self {
        Self { format, ..self }
    }

    /// Thousandths, rounded up; `None` when they do not fit 64 bits.
    pub fn checked_milli_value(&self) -> Option<i64> {
        self.scaled(-3)
    }

    /// The whole number that it is, where upstream takes it for one: not where it holds an arbitrary decimal (beyond 64
    /// bits, `1.5Gi`), nor where it was written in fractions (`1000m`).
    pub fn as_i64(&self) -> Option<i64> {
        if self.decimal {
            return None;
        }
        let by = 10i128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        i64::try_from(self.mantissa.checked_mul(by)?).ok()
    }

    /// As a float: the number times a power of ten, as upstream computes it, so not always the nearest (`0.3` is
    /// 0.30000000000000004). Arbitrary decimals are billionths there, but for those that were cut off.
    pub fn approximate(&self) -> f64 {
        let cut_off =
            self.format == QuantityFormat::BinarySI && self.mantissa.unsigned_abs() == i64::MAX as u128;
        if self.decimal && !(cut_off && self.exponent == 0) {
            let billionths: f64 =
                format!("{}e{}", self.mantissa, self.exponent - NANO).parse().unwrap_or(f64::MAX);
            return billionths * 1e-9;
        }
        if self.exponent == 0 {
            return self.mantissa as f64;
        }
        self.mantissa as f64 * format!("1e{}", self.exponent).parse().unwrap_or(f64::MAX)
    }

    /// In units of 10^`unit`, rounded up, as far as 64 bits hold it.
    fn scaled(&self, unit: i64) -> Option<i64> {
        if self.mantissa == 0 {
            return Some(0);
        }
        let shift = self.exponent - unit;
        let exact = if shift >= 0 {
            let by = 10i128.checked_pow(u32::try_from(shift).ok()?)?;
            i64::try_from(self.mantissa.checked_mul(by)?).ok()?
        } else {
            let size = divide_up(self.mantissa.unsigned_abs(), -shift, false);
            i64::try_from(if self.mantissa < 0 { -(size as i128) } else { size as i128 }).ok()?
        };
        let capped = self.format == QuantityFormat::BinarySI && self.exponent == 0;
        if self.mantissa > 0 || !self.decimal || capped {
            return Some(exact);
        }
        // Upstream divides the low 64 bits of a negative decimal's billionths, rounds towards zero and adds one.
        let lift = 10u64.wrapping_pow(u32::try_from(self.exponent - NANO).ok()?);
        let low = ((self.mantissa.unsigned_abs() as u64).wrapping_mul(lift) as i64).wrapping_neg();
        let divisor = 10i64.pow(u32::try_from(unit - NANO).ok()?);
        Some(low / divisor + i64::from(low % divisor != 0))
    }

    /// The number of digits before the point.
    fn size(&self) -> i64 {
        let digits = self.mantissa.unsigned_abs().checked_ilog10().map_or(0, |log| i64::from(log) + 1);
        digits + self.exponent
    }

    /// The exact amount as a plain decimal number without trailing zeros.
    pub fn to_decimal(&self) -> String {
        let (mantissa, exponent) = self.reduced();
        let digits = mantissa.unsigned_abs().to_string();
        let sign = if mantissa < 0 { "-" } else { "" };
        if exponent >= 0 {
            return format!("{sign}{digits}{}", "0".repeat(exponent as usize));
        }
        let places = exponent.unsigned_abs() as usize;
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        format!("{sign}{whole}.{fraction}")
    }

    /// Mantissa and exponent without trailing zeros in the mantissa.
    fn reduced(&self) -> (i128, i64) {
        let (mut mantissa, mut exponent) = (self.mantissa, self.exponent);
        if mantissa == 0 {
            return (0, 0);
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            exponent = exponent.saturating_add(1);
        }
        (mantissa, exponent)
    }

    /// The amount as whole units when it has no fraction and fits.
    fn whole(&self) -> Option<i128> {
        let (mantissa, exponent) = self.reduced();
        mantissa.checked_mul(10i128.checked_pow(u32::try_from(exponent).ok()?)?)
    }
}

/// The sum; takes the format of the second when the first is nothing.
impl std::ops::Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let decimal = self.decimal || other.decimal;
        if self.is_zero() {
            return Self { decimal, ..other };
        }
        if other.is_zero() {
            return Self { decimal, ..self };
        }
        // One digit more than the longer of the two; what then lies below the 38th is rounded up.
        let longest = self.size().max(other.size()) + 1;
        let lowest = self.exponent.min(other.exponent).max(longest - 38);
        let at_lowest = |quantity: &Self| {
            let shift = quantity.exponent - lowest;
            let size = quantity.mantissa.unsigned_abs();
            let size = match u32::try_from(shift) {
                Ok(shift) => size.saturating_mul(10u128.saturating_pow(shift)),
                Err(_) => divide_up(size, -shift, false),
            };
            let size = i128::try_from(size).unwrap_or(i128::MAX);
            if quantity.mantissa < 0 { -size } else { size }
        };
        let mantissa = at_lowest(&self).saturating_add(at_lowest(&other));
        let decimal = decimal || i64::try_from(mantissa).is_err();
        Self { mantissa, exponent: lowest, format: self.format, decimal }
    }
}

/// The difference; takes the format of the second when the first is nothing.
impl std::ops::Sub for Quantity {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

/// The amount with the other sign.
impl std::ops::Neg for Quantity {
    type Output = Self;
    fn neg(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }
}

/// The canonical text: no fraction, the largest suffix that leaves none. Where upstream has no suffix for a power
/// (beyond `E`) it prints none, and so do we.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let mut format = self.format;
        if format == QuantityFormat::BinarySI {
            match self.whole().filter(|whole| whole.unsigned_abs() >= 1024) {
                Some(mut whole) => {
                    let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
                    let mut at = 0;
                    while whole % 1024 == 0 {
                        whole /= 1024;
                        at += 1;
                    }
                    return write!(f, "{whole}{}", suffixes.get(at).unwrap_or(&""));
                }
                None => format = QuantityFormat::DecimalSI,
            }
        }
        let (mantissa, exponent) = self.reduced();
        let zeros = exponent.rem_euclid(3);
        let power = exponent - zeros;
        write!(f, "{mantissa}{}", ["", "0", "00"].get(zeros as usize).unwrap_or(&""))?;
        match format {
            QuantityFormat::DecimalExponent if power != 0 => write!(f, "e{power}"),
            QuantityFormat::DecimalExponent => Ok(()),
            _ => f.write_str(match power {
                -9 => "n",
                -6 => "u",
                -3 => "m",
                3 => "k",
                6 => "M",
                9 => "G",
                12 => "T",
                15 => "P",
                18 => "E",
                _ => "",
            }),
        }
    }
}

impl Ord for Quantity {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.sign().cmp(&other.sign());
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        let sizes = self.size().cmp(&other.size());
        let sizes = sizes.then_with(|| {
            // Equal sizes: the mantissas differ by at most 38 digits.
            let lowest = self.exponent.min(other.exponent);
            let lifted = |quantity: &Self| {
                let by = u32::try_from(quantity.exponent - lowest).unwrap_or(0);
                quantity.mantissa.unsigned_abs().saturating_mul(10u128.saturating_pow(by))
            };
            lifted(self).cmp(&lifted(other))
        });
        if self.mantissa < 0 { sizes.reverse() } else { sizes }
    }
}

impl PartialOrd for Quantity {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    fn amount(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn sums_and_differences_have_upstreams_format() {
        let cases = [
            ("1Gi", "512Mi", "1536Mi", "512Mi"),
            ("1Gi", "1000", "1073742824", "1073740824"),
            ("2k", "1Ki", "3024", "976"),
            ("0", "1Ki", "1Ki", "-1Ki"),
            ("1Ki", "0", "1Ki", "1Ki"),
            ("500m", "1", "1500m", "-500m"),
            ("1e3", "500", "1500", "500"),
            ("1.5Gi", "1.5Gi", "3Gi", "0"),
            ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
        ];
        for (one, other, sum, difference) in cases {
            assert_eq!((amount(one) + amount(other)).to_string(), sum, "{one} + {other}");
            assert_eq!((amount(one) - amount(other)).to_string(), difference, "{one} - {other}");
        }
        // What upstream holds as an arbitrary decimal stays one, be it nothing.
        let nothing = amount("1.5Gi") - amount("1.5Gi");
        assert_eq!((nothing + amount("5")).as_i64(), None);
        assert_eq!((amount("5") + Quantity::ZERO).as_i64(), Some(5));
    }
}
