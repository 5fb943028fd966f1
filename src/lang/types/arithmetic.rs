//! Arithmetic of the policy language: whole numbers stop at the ends of 64 bits, quotients are cut
//! toward zero, floats are always finite, and an operation without a result gives `None`.
//!
//! This is the definition of a number. The reference evaluator and the closures share it, and
//! nothing else of each other's operators.

/// `left / right` of whole numbers, cut toward zero; `None` when `right` is 0. The one quotient
/// beyond 64 bits (the smallest number by -1) is the largest number.
pub(crate) fn div(left: i64, right: i64) -> Option<i64> {
    if right == 0 { None } else { Some(left.saturating_div(right)) }
}

/// `left % right` with the sign of `left`; `None` when `right` is 0.
pub(crate) fn rem(left: i64, right: i64) -> Option<i64> {
    if right == 0 { None } else { Some(left.wrapping_rem(right)) }
}

/// A float made finite. NaN, which no operation here makes of finite floats, becomes 0.
pub(crate) fn finite(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(f64::MIN, f64::MAX) }
}

/// `left / right` of floats; `None` when `right` is 0.
pub(crate) fn div_float(left: f64, right: f64) -> Option<f64> {
    if right == 0.0 { None } else { Some(finite(left / right)) }
}

/// The quotient of two amounts of one unit; `None` when `right` is 0.
pub fn ratio(left: i64, right: i64) -> Option<f64> {
    if right == 0 { None } else { Some(left as f64 / right as f64) }
}

/// A whole amount times a float, cut to a whole base unit.
pub fn scale(amount: i64, by: f64) -> i64 {
    cut(amount as f64 * by)
}

/// A whole amount by a float, cut to a whole base unit; `None` when `by` is 0.
pub(crate) fn scale_down(amount: i64, by: f64) -> Option<i64> {
    if by == 0.0 { None } else { Some(cut(amount as f64 / by)) }
}

/// The whole part of a float, toward zero; stops at the ends of 64 bits.
pub fn cut(number: f64) -> i64 {
    number as i64
}

/// The nearest whole number, halves away from zero; stops at the ends of 64 bits.
pub fn round(number: f64) -> i64 {
    number.round() as i64
}

/// Whole `100 * part / of`, exactly, cut toward zero and kept in 0 to 100; 0 when `of` is 0.
pub fn percent(part: i64, of: i64) -> i64 {
    if of == 0 {
        return 0;
    }
    // 128 bits are exact and slow; most amounts do not need them.
    match part.checked_mul(100) {
        Some(hundredfold) => hundredfold.saturating_div(of).clamp(0, 100),
        None => (100 * i128::from(part) / i128::from(of)).clamp(0, 100) as i64,
    }
}

/// [`percent`] of floats.
pub(crate) fn percent_float(part: f64, of: f64) -> i64 {
    score(100.0 * share_float(part, of)).clamp(0, 100)
}

/// `part / of` kept in 0 to 1; 0 when `of` is 0.
pub fn share(part: i64, of: i64) -> f64 {
    ratio(part, of).map_or(0.0, |share| share.clamp(0.0, 1.0))
}

/// [`share`] of floats.
pub(crate) fn share_float(part: f64, of: f64) -> f64 {
    div_float(part, of).map_or(0.0, |share| share.clamp(0.0, 1.0))
}

/// The only rounding of a score: to nine decimals, then toward zero. So 0.29 * 100 is 29, although
/// the float is slightly less.
pub fn score(number: f64) -> i64 {
    let billionths = number * 1e9;
    if billionths.abs() >= 9e15 {
        // Beyond 2^53 a float has no digits left to round away.
        return cut(number);
    }
    cut(billionths.round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_cut_toward_zero_and_stop_at_the_end() {
        assert_eq!(div(7, 2), Some(3));
        assert_eq!(div(-7, 2), Some(-3));
        assert_eq!(div(1, 0), None);
        assert_eq!(div(i64::MIN, -1), Some(i64::MAX));
        assert_eq!(rem(-7, 2), Some(-1));
        assert_eq!(rem(i64::MIN, -1), Some(0));
    }

    #[test]
    fn a_percent_is_exact_beyond_64_bits() {
        assert_eq!(percent(i64::MAX, i64::MAX), 100);
        assert_eq!(percent(i64::MAX - 1, i64::MAX), 99);
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(-5, 3), 0);
        assert_eq!(percent(5, 0), 0);
        assert_eq!(percent(7, 3), 100);
    }

    #[test]
    fn a_score_is_rounded_once() {
        assert_eq!(score(0.29 * 100.0), 29);
        assert_eq!(score(99.999), 99);
        assert_eq!(score(-0.5), 0);
        assert_eq!(score(99.999_999_999_9), 100);
        assert_eq!(score(1e300), i64::MAX);
    }

    #[test]
    fn amounts_times_floats_are_cut() {
        assert_eq!(scale(1500, 1.5), 2250);
        assert_eq!(scale(3, 0.5), 1);
        assert_eq!(scale(-3, 0.5), -1);
        assert_eq!(scale(i64::MAX, 2.0), i64::MAX);
    }
}
