//! [`Range`]: which numbers an expression can be, computed without wrap-around.
//!
//! `check` derives ranges from literals, the field table, params and narrowing. The proof of
//! scores, the rules for division and conversion, and the lints read them. A range is sound and not
//! always tight: it holds every value that the evaluators can compute.

use crate::types::Type;

/// Which values a number can have. Ends are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Not a number.
    None,
    /// Whole numbers and amounts with a unit, in base units.
    Whole {
        /// Smallest.
        lo: i128,
        /// Largest.
        hi: i128,
        /// 0 is left out, though it lies between the ends.
        nonzero: bool,
    },
    /// Floats.
    Real {
        /// Smallest.
        lo: f64,
        /// Largest.
        hi: f64,
        /// 0 is left out, though it lies between the ends.
        nonzero: bool,
    },
}

/// How a number compares with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Relation {
    /// The relation of the bound to the number.
    pub fn mirrored(self) -> Self {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessEqual => Relation::GreaterEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterEqual => Relation::LessEqual,
            other => other,
        }
    }
}

const MIN: i128 = i64::MIN as i128;
const MAX: i128 = i64::MAX as i128;

impl Range {
    /// Every value of a type.
    pub fn of(ty: &Type) -> Range {
        match ty.present() {
            Type::Float => Range::real(f64::MIN, f64::MAX),
            Type::Uint => Range::whole(0, u64::MAX as i128),
            Type::Count => Range::whole(MIN, MAX),
            ty if ty.is_whole() => Range::whole(MIN, MAX),
            _ => Range::None,
        }
    }

    /// `lo..hi` of whole numbers.
    pub const fn whole(lo: i128, hi: i128) -> Range {
        Range::Whole { lo, hi, nonzero: false }
    }

    /// `lo..hi` of floats.
    pub const fn real(lo: f64, hi: f64) -> Range {
        Range::Real { lo, hi, nonzero: false }
    }

    /// One whole number.
    pub const fn int(value: i64) -> Range {
        Range::whole(value as i128, value as i128)
    }

    /// Both ends as floats, never inside of the true ends by more than the rounding that the
    /// evaluators do.
    pub fn ends(self) -> Option<(f64, f64)> {
        match self {
            Range::None => None,
            Range::Whole { lo, hi, .. } => Some((lo as f64, hi as f64)),
            Range::Real { lo, hi, .. } => Some((lo, hi)),
        }
    }

    /// Whether 0 cannot be.
    pub(crate) fn excludes_zero(self) -> bool {
        match self {
            Range::None => false,
            Range::Whole { lo, hi, nonzero } => nonzero || lo > 0 || hi < 0,
            Range::Real { lo, hi, nonzero } => nonzero || lo > 0.0 || hi < 0.0,
        }
    }

    /// Whether nothing can be: narrowing has found a contradiction.
    pub fn is_empty(self) -> bool {
        match self {
            Range::None => false,
            Range::Whole { lo, hi, nonzero } => lo > hi || nonzero && lo == 0 && hi == 0,
            Range::Real { lo, hi, nonzero } => lo > hi || nonzero && lo == 0.0 && hi == 0.0,
        }
    }

    /// Whether all values lie between `lo` and `hi`.
    pub fn within(self, lo: f64, hi: f64) -> bool {
        self.ends().is_some_and(|(a, b)| a >= lo && b <= hi)
    }

    /// Whether no value is below 0.
    pub(crate) fn is_positive_or_zero(self) -> bool {
        self.ends().is_some_and(|(lo, _)| lo >= 0.0)
    }

    /// The numbers of this range as floats.
    pub(crate) fn widen(self) -> Range {
        match self {
            Range::Whole { lo, hi, nonzero } => Range::Real { lo: lo as f64, hi: hi as f64, nonzero },
            other => other,
        }
    }

    /// Values of either range; `None` if one is not a number.
    pub fn union(self, other: Range) -> Range {
        match (self, other) {
            (a, b) if a.is_empty() => b,
            (a, b) if b.is_empty() => a,
            (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => Range::Whole {
                lo: lo.min(lo2),
                hi: hi.max(hi2),
                nonzero: self.excludes_zero() && other.excludes_zero(),
            },
            (Range::None, _) | (_, Range::None) => Range::None,
            (a, b) => match (a.widen(), b.widen()) {
                (Range::Real { lo, hi, .. }, Range::Real { lo: lo2, hi: hi2, .. }) => Range::Real {
                    lo: lo.min(lo2),
                    hi: hi.max(hi2),
                    nonzero: a.excludes_zero() && b.excludes_zero(),
                },
                _ => Range::None,
            },
        }
    }

    /// Values of both, in the kind of `self`. Whole numbers are compared with floats as the evaluators
    /// do it: rounded to the nearest float.
    pub fn intersect(self, other: Range) -> Range {
        match (self, other) {
            (Range::Whole { lo, hi, nonzero }, Range::Whole { lo: lo2, hi: hi2, nonzero: n2 }) => {
                Range::Whole { lo: lo.max(lo2), hi: hi.min(hi2), nonzero: nonzero || n2 }
            }
            (Range::Whole { lo, hi, nonzero }, Range::Real { lo: lo2, hi: hi2, nonzero: n2 }) => {
                let lo = lo.max(first_whole(|float| float >= lo2));
                let hi = hi.min(first_whole(|float| float > hi2) - 1);
                Range::Whole { lo, hi, nonzero: (nonzero || n2) && lo <= 0 && hi >= 0 }
            }
            (Range::Real { lo, hi, nonzero }, other) => match other.widen() {
                Range::Real { lo: lo2, hi: hi2, nonzero: n2 } => {
                    Range::Real { lo: lo.max(lo2), hi: hi.min(hi2), nonzero: nonzero || n2 }
                }
                _ => self,
            },
            (own, _) => own,
        }
    }

    /// What `self` can be when `self op bound` holds.
    pub fn cut(self, op: Relation, bound: Range) -> Range {
        match (self, bound) {
            (Range::Whole { .. }, Range::Whole { lo, hi, .. }) => match op {
                Relation::Less => self.intersect(Range::whole(i128::MIN, hi - 1)),
                Relation::LessEqual => self.intersect(Range::whole(i128::MIN, hi)),
                Relation::Greater => self.intersect(Range::whole(lo + 1, i128::MAX)),
                Relation::GreaterEqual => self.intersect(Range::whole(lo, i128::MAX)),
                Relation::Equal => self.intersect(bound),
                Relation::NotEqual if lo == hi => self.without(lo),
                _ => self,
            },
            (Range::None, _) | (_, Range::None) => self,
            _ => {
                let Range::Real { lo, hi, .. } = bound.widen() else { return self };
                match op {
                    Relation::Less => self.below(hi),
                    Relation::LessEqual => self.intersect(Range::real(f64::NEG_INFINITY, hi)),
                    Relation::Greater => self.above(lo),
                    Relation::GreaterEqual => self.intersect(Range::real(lo, f64::INFINITY)),
                    Relation::Equal => self.intersect(bound),
                    Relation::NotEqual if lo == 0.0 && hi == 0.0 => {
                        self.intersect(Range::Real { lo: f64::MIN, hi: f64::MAX, nonzero: true })
                    }
                    _ => self,
                }
            }
        }
    }

    /// The part below a float. Of floats the end itself stays in, but for 0.
    fn below(self, end: f64) -> Range {
        match self {
            Range::Whole { .. } => {
                self.intersect(Range::whole(i128::MIN, first_whole(|float| float >= end) - 1))
            }
            _ => self.intersect(Range::Real { lo: f64::NEG_INFINITY, hi: end, nonzero: end <= 0.0 }),
        }
    }

    /// The part above a float. Of floats the end itself stays in, but for 0.
    fn above(self, end: f64) -> Range {
        match self {
            Range::Whole { .. } => self.intersect(Range::whole(first_whole(|float| float > end), i128::MAX)),
            _ => self.intersect(Range::Real { lo: end, hi: f64::INFINITY, nonzero: end >= 0.0 }),
        }
    }

    /// The only outcome of `self op other`; `None` where both outcomes can be, where a range is empty,
    /// and for what is not a number. Whole numbers are compared exactly.
    pub fn outcome(self, op: Relation, other: Range) -> Option<bool> {
        if self.is_empty() || other.is_empty() {
            return None;
        }
        match (self, other) {
            (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => {
                outcome(op, (lo, hi), (lo2, hi2))
            }
            _ => outcome(op, self.ends()?, other.ends()?),
        }
    }

    fn without(self, value: i128) -> Range {
        match self {
            Range::Whole { lo, hi, nonzero } if lo == value => Range::Whole { lo: lo + 1, hi, nonzero },
            Range::Whole { lo, hi, nonzero } if hi == value => Range::Whole { lo, hi: hi - 1, nonzero },
            Range::Whole { lo, hi, .. } if value == 0 => Range::Whole { lo, hi, nonzero: true },
            other => other,
        }
    }

    /// Whole results stop at the ends of 64 bits.
    fn stop(lo: i128, hi: i128) -> Range {
        Range::whole(lo.clamp(MIN, MAX), hi.clamp(MIN, MAX))
    }

    /// Float results are finite.
    fn finite(lo: f64, hi: f64) -> Range {
        let lo = if lo.is_nan() { f64::MIN } else { lo.clamp(f64::MIN, f64::MAX) };
        let hi = if hi.is_nan() { f64::MAX } else { hi.clamp(f64::MIN, f64::MAX) };
        Range::real(lo, hi)
    }

    /// Whether no result of `self` and `other` by an operation on floats leaves the finite ones: every operation on
    /// floats is largest, or smallest, at ends of the ranges. A divisor must stay away from 0.
    pub(crate) fn stays_finite(
        self,
        other: Range,
        operation: impl Fn(f64, f64) -> f64,
        divides: bool,
    ) -> bool {
        let (Some((a, b)), Some((c, d))) = (self.ends(), other.ends()) else { return false };
        if divides && c <= 0.0 && d >= 0.0 {
            return false;
        }
        [(a, c), (a, d), (b, c), (b, d)].into_iter().all(|(x, y)| operation(x, y).is_finite())
    }

    /// `self + other`
    pub fn plus(self, other: Range) -> Range {
        self.pairwise(other, i128::saturating_add, |a, b| a + b)
    }

    /// `self - other`
    pub fn minus(self, other: Range) -> Range {
        self.pairwise(other, i128::saturating_sub, |a, b| a - b)
    }

    /// `self * other`; whole by float gives floats, which the caller cuts for units.
    pub fn times(self, other: Range) -> Range {
        let product = self.pairwise(other, i128::saturating_mul, |a, b| {
            // 0 * the largest float is 0 here as there.
            a * b
        });
        let nonzero = self.excludes_zero() && other.excludes_zero();
        match product {
            Range::Whole { lo, hi, .. } => Range::Whole { lo, hi, nonzero },
            other => other, // a product of floats may underflow to 0
        }
    }

    /// `self / other` where `other` is not 0.
    pub fn divided(self, other: Range) -> Range {
        match (self, other) {
            (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => {
                // The divisor is at least 1 away from 0; its ends nearest to 0 give the largest
                // quotients.
                let mut divisors = Vec::with_capacity(4);
                for end in [lo2, hi2] {
                    divisors.push(if end == 0 { if end == lo2 { 1 } else { -1 } } else { end });
                }
                if lo2 < 0 && hi2 > 0 {
                    divisors.extend([-1, 1]);
                }
                let quotients: Vec<i128> = divisors
                    .iter()
                    .filter(|d| **d != 0)
                    .flat_map(|d| [lo.saturating_div(*d), hi.saturating_div(*d)])
                    .collect();
                let lo = quotients.iter().copied().min().unwrap_or(MIN);
                let hi = quotients.iter().copied().max().unwrap_or(MAX);
                Range::stop(lo, hi)
            }
            (Range::None, _) | (_, Range::None) => Range::None,
            (a, b) => {
                let (Some((lo, hi)), Some((lo2, hi2))) = (a.ends(), b.ends()) else { return Range::None };
                if lo2 > 0.0 || hi2 < 0.0 {
                    let ends = [lo / lo2, lo / hi2, hi / lo2, hi / hi2];
                    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    return Range::finite(low, high);
                }
                // The divisor comes as near to 0 as it likes: only signs are known. A whole divisor
                // stays 1 away.
                let nearest: f64 = if matches!(b, Range::Whole { .. }) { 1.0 } else { 0.0 };
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                let mut add = |n: f64, d: f64| {
                    let q = if n == 0.0 { 0.0 } else { n / d };
                    low = low.min(q);
                    high = high.max(q);
                };
                for n in [lo, hi] {
                    if hi2 > 0.0 {
                        add(n, nearest);
                        add(n, hi2);
                    }
                    if lo2 < 0.0 {
                        add(n, -nearest);
                        add(n, lo2);
                    }
                }
                if low > high { Range::real(f64::MIN, f64::MAX) } else { Range::finite(low, high) }
            }
        }
    }

    /// `self % other` where `other` is not 0; the sign is that of `self`.
    pub fn remainder(self, other: Range) -> Range {
        match (self, other) {
            (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => {
                let most = lo2.saturating_abs().max(hi2.saturating_abs()).saturating_sub(1).max(0);
                Range::whole(if lo < 0 { lo.max(-most) } else { 0 }, if hi > 0 { hi.min(most) } else { 0 })
            }
            _ => Range::None,
        }
    }

    /// `-self`
    pub(crate) fn negated(self) -> Range {
        match self {
            Range::Whole { lo, hi, nonzero } => {
                Range::Whole { lo: (-hi).clamp(MIN, MAX), hi: (-lo).clamp(MIN, MAX), nonzero }
            }
            Range::Real { lo, hi, nonzero } => Range::Real { lo: -hi, hi: -lo, nonzero },
            Range::None => Range::None,
        }
    }

    /// Floats cut toward 0 to whole numbers.
    pub(crate) fn cut_to_whole(self) -> Range {
        match self {
            Range::Real { lo, hi, .. } => Range::stop(lo.trunc() as i128, hi.trunc() as i128),
            other => other,
        }
    }

    /// Applies a function that never falls to both ends.
    pub(crate) fn monotone(self, f: impl Fn(f64) -> f64) -> Range {
        match self.widen() {
            Range::Real { lo, hi, .. } => Range::finite(f(lo), f(hi)),
            _ => Range::None,
        }
    }

    fn pairwise(self, other: Range, whole: fn(i128, i128) -> i128, real: impl Fn(f64, f64) -> f64) -> Range {
        match (self, other) {
            (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => {
                let ends = [whole(lo, lo2), whole(lo, hi2), whole(hi, lo2), whole(hi, hi2)];
                let low = ends.iter().copied().min().unwrap_or(MIN);
                let high = ends.iter().copied().max().unwrap_or(MAX);
                Range::stop(low, high)
            }
            (Range::None, _) | (_, Range::None) => Range::None,
            (a, b) => {
                let (Some((lo, hi)), Some((lo2, hi2))) = (a.ends(), b.ends()) else { return Range::None };
                let ends = [real(lo, lo2), real(lo, hi2), real(hi, lo2), real(hi, hi2)];
                let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
                let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Range::finite(low, high)
            }
        }
    }
}

/// The only outcome of a comparison of numbers that lie between two ends each.
fn outcome<T: PartialOrd>(op: Relation, (a, b): (T, T), (c, d): (T, T)) -> Option<bool> {
    let apart = b < c || d < a;
    let (yes, no) = match op {
        Relation::Equal => (false, apart),
        Relation::NotEqual => (apart, false),
        Relation::Less => (b < c, a >= d),
        Relation::LessEqual => (b <= c, a > d),
        Relation::Greater => (a > d, b <= c),
        Relation::GreaterEqual => (a >= d, b < c),
    };
    if yes { Some(true) } else { no.then_some(false) }
}

/// The first whole number whose nearest float is on the upper side of a limit: `upper` is false for
/// floats below it and true for those above. Numbers beyond 65 bits are not looked at.
fn first_whole(upper: impl Fn(f64) -> bool) -> i128 {
    let (mut lower, mut first) = (-(1i128 << 65), 1i128 << 65);
    while first - lower > 1 {
        let middle = lower + (first - lower) / 2;
        if upper(middle as f64) {
            first = middle;
        } else {
            lower = middle;
        }
    }
    first
}

impl std::fmt::Display for Range {
    /// `0..100`, with the ends as numbers of the base unit; open ends are left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Range::None => f.write_str("no number"),
            Range::Whole { lo, hi, .. } => {
                if *lo > MIN {
                    write!(f, "{lo}")?;
                }
                f.write_str("..")?;
                if *hi < MAX { write!(f, "{hi}") } else { Ok(()) }
            }
            Range::Real { lo, hi, .. } => {
                if *lo > f64::MIN {
                    write!(f, "{lo}")?;
                }
                f.write_str("..")?;
                if *hi < f64::MAX { write!(f, "{hi}") } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_knows_signs_and_the_smallest_whole_divisor() {
        assert_eq!(Range::int(100).divided(Range::whole(1, 10)), Range::whole(10, 100));
        assert_eq!(Range::int(100).divided(Range::whole(0, 10)), Range::whole(10, 100));
        assert_eq!(Range::int(100).divided(Range::whole(-10, 10)), Range::whole(-100, 100));
        let open = Range::Real { lo: 0.0, hi: 1.0, nonzero: true };
        assert_eq!(Range::real(1.0, 1.0).divided(open), Range::real(1.0, f64::MAX));
        assert_eq!(Range::real(0.0, 0.0).divided(open), Range::real(0.0, 0.0));
    }

    #[test]
    fn comparisons_cut() {
        assert_eq!(Range::whole(0, 9).cut(Relation::Greater, Range::int(0)), Range::whole(1, 9));
        assert!(Range::real(0.0, 9.0).cut(Relation::Greater, Range::real(0.0, 0.0)).excludes_zero());
        assert_eq!(Range::whole(0, 9).cut(Relation::Greater, Range::real(0.5, 0.5)), Range::whole(1, 9));
        assert!(Range::whole(0, 9).cut(Relation::Greater, Range::int(9)).is_empty());
        assert!(Range::whole(-1, 1).cut(Relation::NotEqual, Range::int(0)).excludes_zero());
    }

    /// Whole numbers near those that floats have no room for.
    fn edges() -> impl Iterator<Item = i64> {
        let around = [0, 1 << 53, -(1 << 53), 1 << 62, i64::MAX - 3000, i64::MIN + 3000];
        around.into_iter().flat_map(|at: i64| (-3000..=3000).step_by(1).map(move |by| at.saturating_add(by)))
    }

    #[test]
    fn whole_numbers_are_cut_by_floats_as_they_are_compared_with_them() {
        let all = Range::of(&Type::Int);
        let bounds =
            [0.0, 0.5, -0.5, 9_007_199_254_740_992.0, -9_007_199_254_740_994.0, 9.3e18, 1e300, -1e300];
        for bound in bounds.into_iter().chain([4_611_686_018_427_388_928.0, 9_223_372_036_854_774_784.0]) {
            for (op, holds) in [
                (Relation::Less, (|a: f64, b: f64| a < b) as fn(f64, f64) -> bool),
                (Relation::LessEqual, |a, b| a <= b),
                (Relation::Greater, |a, b| a > b),
                (Relation::GreaterEqual, |a, b| a >= b),
                (Relation::Equal, |a, b| a == b),
            ] {
                let Range::Whole { lo, hi, .. } = all.cut(op, Range::real(bound, bound)) else { return };
                for number in edges() {
                    let inside = (lo..=hi).contains(&i128::from(number));
                    assert_eq!(inside, holds(number as f64, bound), "{number} {op:?} {bound}: {lo}..{hi}");
                }
            }
        }
    }

    #[test]
    fn ends_beyond_the_digits_of_a_float_are_compared_exactly() {
        let largest = Range::int(i64::MAX);
        assert_eq!(Range::of(&Type::Int).outcome(Relation::LessEqual, Range::int(i64::MAX - 1)), None);
        assert_eq!(Range::of(&Type::Int).outcome(Relation::LessEqual, largest), Some(true));
        assert_eq!(Range::int(i64::MAX - 1).outcome(Relation::Equal, largest), Some(false));
        assert_eq!(Range::of(&Type::Uint).outcome(Relation::Greater, largest), None);
    }

    #[test]
    fn results_stop_at_64_bits() {
        let all = Range::whole(MIN, MAX);
        assert_eq!(all.plus(all), all);
        assert_eq!(all.times(all), all);
    }
}
