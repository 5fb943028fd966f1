//! Numbers: the smallest, rounding, roots, parts of a whole.

use super::{Absence, FunctionDef, Influence, Vector, Work};
use crate::types::Ty;
use crate::types::arithmetic;
use crate::types::range::Range;
use crate::types::value::Value;
use std::cmp::Ordering;

const BASE: FunctionDef = FunctionDef::BASE;
const N: Ty = Ty::Number('n');
const T: Ty = Ty::Ordered('t');

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "min",
        influence: &[Influence::Raises],
        params: &[T, T],
        names: &["a", "b"],
        repeats: true,
        result: T,
        range: Some(|r| least(r, false)),
        body: |args, _| pick(args, Ordering::Less),
        doc: "the smallest argument",
        examples: &[("min(3, 1, 2)", "1"), ("min(2cpu, 500m)", "500m"), ("min(1, 0.5)", "0.5")],
        ..BASE
    },
    FunctionDef {
        name: "max",
        influence: &[Influence::Raises],
        params: &[T, T],
        names: &["a", "b"],
        repeats: true,
        result: T,
        range: Some(|r| least(r, true)),
        body: |args, _| pick(args, Ordering::Greater),
        doc: "the largest argument",
        examples: &[("max(3, 1, 2)", "3"), ("max(1Gi, 0)", "1Gi"), ("max(\"a\", \"b\")", "\"b\"")],
        ..BASE
    },
    FunctionDef {
        name: "math.least",
        influence: &[Influence::Raises],
        params: &[N, N],
        names: &["a", "b"],
        repeats: true,
        result: N,
        range: Some(|r| least(r, false)),
        body: |args, _| pick(args, Ordering::Less),
        doc: "CEL's name for `min`, for numbers only",
        examples: &[("math.least(3, 1)", "1")],
        ..BASE
    },
    FunctionDef {
        name: "math.greatest",
        influence: &[Influence::Raises],
        params: &[N, N],
        names: &["a", "b"],
        repeats: true,
        result: N,
        range: Some(|r| least(r, true)),
        body: |args, _| pick(args, Ordering::Greater),
        doc: "CEL's name for `max`, for numbers only",
        examples: &[("math.greatest(3, 1)", "3")],
        ..BASE
    },
    FunctionDef {
        name: "clamp",
        influence: &[Influence::Raises],
        params: &[N, N, N],
        names: &["x", "low", "high"],
        result: N,
        range: Some(clamp_range),
        body: |args, _| match args {
            [x, low, high] => {
                // With the ends the wrong way round the lower one wins, as `max(low, min(x,
                // high))`.
                let x = if x.order(high) == Ordering::Greater { high } else { x };
                if x.order(low) == Ordering::Less { low.clone() } else { x.clone() }
            }
            _ => Value::Absent,
        },
        doc: "x, raised to `low` if it is below and lowered to `high` if it is above",
        examples: &[("clamp(7, 0, 5)", "5"), ("clamp(-1, 0, 5)", "0"), ("clamp(0.5, 0, 1)", "0.5")],
        ..BASE
    },
    FunctionDef {
        name: "abs",
        params: &[N],
        names: &["x"],
        result: N,
        range: Some(|r| match r {
            [x] if x.is_positive_or_zero() => *x,
            [x] => least(&[*x, x.negated(), Range::whole(0, 0)], true),
            _ => Range::None,
        }),
        body: |args, _| match args {
            [Value::Int(x)] => Value::Int(x.saturating_abs()),
            [Value::Float(x)] => Value::Float(x.abs()),
            [Value::Uint(x)] => Value::Uint(*x),
            _ => Value::Absent,
        },
        doc: "the absolute value",
        examples: &[("abs(-3)", "3"), ("abs(0.5 - 1)", "0.5")],
        ..BASE
    },
    FunctionDef {
        name: "round",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Int,
        range: Some(|r| whole(r, f64::round)),
        body: |args, _| real(args, |x| Value::Int(arithmetic::round(x))),
        doc: "the nearest int; a half is rounded away from 0",
        examples: &[("round(2.5)", "3"), ("round(-2.5)", "-3"), ("round(2.4)", "2")],
        ..BASE
    },
    FunctionDef {
        name: "floor",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Int,
        range: Some(|r| whole(r, f64::floor)),
        body: |args, _| real(args, |x| Value::Int(arithmetic::cut(x.floor()))),
        doc: "the largest int that is at most x",
        examples: &[("floor(2.9)", "2"), ("floor(-2.1)", "-3")],
        ..BASE
    },
    FunctionDef {
        name: "ceil",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Int,
        range: Some(|r| whole(r, f64::ceil)),
        body: |args, _| real(args, |x| Value::Int(arithmetic::cut(x.ceil()))),
        doc: "the smallest int that is at least x",
        examples: &[("ceil(2.1)", "3"), ("ceil(-2.9)", "-2")],
        ..BASE
    },
    FunctionDef {
        name: "sqrt",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Float,
        range: Some(|r| match r {
            [x] => x.intersect(Range::real(0.0, f64::MAX)).monotone(f64::sqrt),
            _ => Range::None,
        }),
        absent: Absence::Unless(|r| r.first().is_some_and(|x| x.is_positive_or_zero())),
        body: |args, _| real(args, |x| if x < 0.0 { Value::Absent } else { Value::Float(x.sqrt()) }),
        doc: "the square root; absent if x is negative",
        examples: &[("sqrt(9)", "3.0"), ("sqrt(0 - float(\"4\"))", "none")],
        ..BASE
    },
    FunctionDef {
        name: "ln",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Float,
        range: Some(|r| match r {
            [x] if x.ends().is_some_and(|(lo, _)| lo > 0.0) => loose(x.monotone(exact_ln)),
            _ => Range::real(-800.0, 800.0),
        }),
        absent: Absence::Unless(|r| r.first().is_some_and(|x| x.is_positive_or_zero() && x.excludes_zero())),
        body: |args, _| real(args, |x| if x > 0.0 { Value::Float(exact_ln(x)) } else { Value::Absent }),
        doc: "the natural logarithm; absent if x is 0 or negative",
        examples: &[("ln(1)", "0.0"), ("ln(float(\"0\") ?? 1)", "none")],
        ..BASE
    },
    FunctionDef {
        name: "exp",
        influence: &[Influence::Raises],
        params: &[Ty::Float],
        names: &["x"],
        result: Ty::Float,
        range: Some(|r| match r {
            [x] => match loose(x.monotone(exact_exp)) {
                Range::Real { lo, hi, nonzero } => Range::Real { lo: lo.max(0.0), hi, nonzero },
                other => other,
            },
            _ => Range::None,
        }),
        body: |args, _| real(args, |x| Value::Float(exact_exp(x))),
        doc: "e raised to the power of x",
        examples: &[("exp(0)", "1.0")],
        ..BASE
    },
    FunctionDef {
        name: "pow",
        params: &[Ty::Float, Ty::Float],
        names: &["base", "exponent"],
        result: Ty::Float,
        range: Some(|r| match r {
            [base, exponent] if base.within(0.0, 1.0) && exponent.is_positive_or_zero() => {
                Range::real(0.0, 1.0)
            }
            [base, _] if base.is_positive_or_zero() => Range::real(0.0, f64::MAX),
            _ => Range::real(f64::MIN, f64::MAX),
        }),
        absent: Absence::Unless(|r| match r {
            [base, exponent] => {
                base.is_positive_or_zero() && (base.excludes_zero() || exponent.is_positive_or_zero())
            }
            _ => false,
        }),
        body: |args, _| match args {
            [Value::Float(base), Value::Float(exponent)] => power(*base, *exponent),
            _ => Value::Absent,
        },
        doc: "`base` raised to the power of `exponent`; absent for 0 and a negative exponent, and \
              for a negative base and an exponent that is not a whole number",
        examples: &[("pow(2, 10)", "1024.0"), ("pow(2, -1)", "0.5"), ("pow(4, 0.5)", "2.0")],
        ..BASE
    },
    FunctionDef {
        name: "beta_cdf",
        params: &[Ty::Float, Ty::Float, Ty::Float],
        names: &["x", "mean", "std"],
        result: Ty::Float,
        range: Some(|_| Range::real(0.0, 1.0)),
        // 1,300 terms at most, eight a step.
        work: Work::Series(163),
        body: |args, _| match args {
            [x, mean, std] => match (x.as_float(), mean.as_float(), std.as_float()) {
                (Some(x), Some(mean), Some(std)) => Value::Float(super::beta::beta_cdf(x, mean, std)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "the probability that a beta distribution with this mean and standard deviation gives at \
              most x; all three are shares of a whole; a standard deviation below 0.0001 counts as 0, and \
              one that is too large for the mean is lowered to the largest possible one",
        examples: &[
            ("round(1000 * beta_cdf(0.5, 0.5, 0.1))", "500"),
            ("beta_cdf(0.2, 0.5, 0)", "0.0"),
            ("beta_cdf(1, 0.3, 0.2)", "1.0"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "percent",
        influence: &[Influence::Raises, Influence::Divides],
        vector: Some(Vector::Percent),
        params: &[N, N],
        names: &["part", "of"],
        result: Ty::Int,
        range: Some(|_| Range::whole(0, 100)),
        body: |args, _| match args {
            [Value::Int(part), Value::Int(of)] => Value::Int(arithmetic::percent(*part, *of)),
            [part, of] => match (part.as_float(), of.as_float()) {
                (Some(part), Some(of)) => Value::Int(arithmetic::percent_float(part, of)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "100 * part / of as an int from 0 to 100, computed exactly and rounded down; 0 if \
              `of` is 0",
        examples: &[("percent(1, 3)", "33"), ("percent(5, 0)", "0"), ("percent(3Gi, 2Gi)", "100")],
        ..BASE
    },
    FunctionDef {
        name: "share",
        influence: &[Influence::Raises, Influence::Divides],
        vector: Some(Vector::Share),
        params: &[N, N],
        names: &["part", "of"],
        result: Ty::Float,
        range: Some(|_| Range::real(0.0, 1.0)),
        body: |args, _| match args {
            [Value::Int(part), Value::Int(of)] => Value::Float(arithmetic::share(*part, *of)),
            [part, of] => match (part.as_float(), of.as_float()) {
                (Some(part), Some(of)) => Value::Float(arithmetic::share_float(part, of)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "part / of as a float from 0 to 1; 0 if `of` is 0",
        examples: &[("share(1cpu, 4cpu)", "0.25"), ("share(5, 0)", "0.0"), ("share(7, 2)", "1.0")],
        ..BASE
    },
];

/// The first argument that no other one comes before (`Less`) or after (`Greater`).
fn pick<'a>(args: &[Value<'a>], wanted: Ordering) -> Value<'a> {
    let mut best: Option<&Value<'a>> = None;
    for arg in args {
        if best.is_none_or(|best| arg.order(best) == wanted) {
            best = Some(arg);
        }
    }
    best.cloned().unwrap_or(Value::Absent)
}

fn real(args: &[Value<'_>], f: impl Fn(f64) -> Value<'static>) -> Value<'static> {
    match args {
        [x] => x.as_float().map_or(Value::Absent, f),
        _ => Value::Absent,
    }
}

fn least(ranges: &[Range], largest: bool) -> Range {
    let mut ranges = ranges.iter().copied();
    let Some(first) = ranges.next() else { return Range::None };
    ranges.fold(first, |a, b| match (a, b) {
        (Range::Whole { lo, hi, .. }, Range::Whole { lo: lo2, hi: hi2, .. }) => {
            if largest {
                Range::whole(lo.max(lo2), hi.max(hi2))
            } else {
                Range::whole(lo.min(lo2), hi.min(hi2))
            }
        }
        (Range::None, _) | (_, Range::None) => Range::None,
        (a, b) => match (a.widen(), b.widen()) {
            (Range::Real { lo, hi, .. }, Range::Real { lo: lo2, hi: hi2, .. }) if largest => {
                Range::real(lo.max(lo2), hi.max(hi2))
            }
            (Range::Real { lo, hi, .. }, Range::Real { lo: lo2, hi: hi2, .. }) => {
                Range::real(lo.min(lo2), hi.min(hi2))
            }
            _ => Range::None,
        },
    })
}

fn clamp_range(ranges: &[Range]) -> Range {
    match ranges {
        [x, low, high] => least(&[least(&[*x, *high], false), *low], true),
        _ => Range::None,
    }
}

fn whole(ranges: &[Range], f: fn(f64) -> f64) -> Range {
    match ranges {
        [x @ Range::Whole { .. }] => *x,
        [x] => x.monotone(f).cut_to_whole(),
        _ => Range::None,
    }
}

/// A range whose ends were computed with rounding, widened by it.
fn loose(range: Range) -> Range {
    match range {
        Range::Real { lo, hi, nonzero } => Range::Real {
            lo: (lo - lo.abs() * 1e-12).max(f64::MIN),
            hi: (hi + hi.abs() * 1e-12).min(f64::MAX),
            nonzero,
        },
        other => other,
    }
}

/// `ln` from additions, multiplications and divisions only, so that every machine gives the same
/// bits.
///
/// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m-1)/(m+1)) by its series, whose
/// argument is at most 0.172, so 11 terms pass 53 bits.
pub(super) fn exact_ln(x: f64) -> f64 {
    if x == 1.0 {
        return 0.0;
    }
    let mut x = x;
    let mut exponent = 0i32;
    if x < f64::MIN_POSITIVE {
        x *= 18_014_398_509_481_984.0; // 2^54, for subnormal numbers
        exponent -= 54;
    }
    let bits = x.to_bits();
    exponent += ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    let mut k = 23.0;
    while k > 1.0 {
        sum = (sum + 1.0 / k) * square;
        k -= 2.0;
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * s * (1.0 + sum)
}

/// `exp` from additions and multiplications only. Beyond the largest float it is the largest float.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; exp r by its series, 2^n exactly.
pub(super) fn exact_exp(x: f64) -> f64 {
    if x > 709.782_712_893_383_9 {
        return f64::MAX;
    }
    if x < -745.2 {
        return 0.0;
    }
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let n = (x * std::f64::consts::LOG2_E).round();
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut sum = 1.0;
    let mut k = 18.0;
    while k >= 1.0 {
        sum = 1.0 + sum * r / k;
        k -= 1.0;
    }
    let n = n as i32;
    // In two steps, so that neither power of two leaves the normal numbers.
    let half = n / 2;
    let two = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
    arithmetic::finite(sum * two(half) * two(n - half))
}

/// `base^exponent`; whole exponents by squaring, others by `exp` and `ln`.
fn power(base: f64, exponent: f64) -> Value<'static> {
    if exponent == exponent.trunc() && exponent.abs() <= 1_048_576.0 {
        let mut n = exponent.abs() as u32;
        let (mut result, mut square) = (1.0f64, base);
        while n > 0 {
            if n & 1 == 1 {
                result = arithmetic::finite(result * square);
            }
            square = arithmetic::finite(square * square);
            n >>= 1;
        }
        return if exponent >= 0.0 {
            Value::Float(result)
        } else if result == 0.0 {
            if base == 0.0 { Value::Absent } else { Value::Float(f64::MAX) }
        } else {
            Value::Float(arithmetic::finite(1.0 / result))
        };
    }
    if exponent == 0.5 && base >= 0.0 {
        return Value::Float(base.sqrt());
    }
    if base > 0.0 {
        return Value::Float(exact_exp(arithmetic::finite(exponent * exact_ln(base))));
    }
    if base == 0.0 && exponent > 0.0 { Value::Float(0.0) } else { Value::Absent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_logarithm_and_exponential_agree_with_the_machine() {
        for i in 1..4000 {
            let x = f64::from(i) * 0.37;
            assert!((exact_ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "ln {x}");
            let y = f64::from(i - 2000) * 0.173;
            assert!((exact_exp(y) - y.exp()).abs() <= 2e-15 * y.exp(), "exp {y}");
        }
        assert_eq!(exact_exp(1e9), f64::MAX);
        assert_eq!(exact_exp(-1e9), 0.0);
        assert!(exact_exp(-740.0) > 0.0);
    }
}
