//! The distribution function of a beta distribution, from additions, multiplications, divisions and
//! roots only, so that every machine gives the same bits. The row is in `math.rs`.

use super::math::{exact_exp, exact_ln};

/// Below this spread the distribution is its mean.
const NARROW: f64 = 1e-4;

/// The probability that a beta distribution of this mean and standard deviation gives at most `x`.
///
/// Total: a mean outside of 0 to 1 is the nearer end, a spread below [`NARROW`] is none, and one
/// that no beta distribution of the mean has is cut to 99% of the largest variance, as Trimaran's
/// LowRiskOverCommitment does.
pub(crate) fn beta_cdf(x: f64, mean: f64, std: f64) -> f64 {
    let step = |at: f64| if x >= at { 1.0 } else { 0.0 };
    if mean <= 0.0 {
        return step(0.0);
    }
    if mean >= 1.0 {
        return step(1.0);
    }
    if std < NARROW {
        return step(mean);
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let most = mean * (1.0 - mean);
    let spread = std.min(1.0);
    let variance = (spread * spread).min(0.99 * most);
    let size = most / variance - 1.0;
    incomplete(x, mean * size, (1.0 - mean) * size).clamp(0.0, 1.0)
}

/// The regularised incomplete beta function I_x(a, b), x inside of 0 to 1, a and b above 0.
fn incomplete(x: f64, a: f64, b: f64) -> f64 {
    // The fraction converges quickly below the mean; above it the other tail is computed.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_below(1.0 - x, b, a);
    }
    incomplete_below(x, a, b)
}

fn incomplete_below(x: f64, a: f64, b: f64) -> f64 {
    let front = a * exact_ln(x) + b * exact_ln(1.0 - x) - (ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b));
    exact_exp(front) * fraction(x, a, b) / a
}

/// Lentz's evaluation of the continued fraction of the incomplete beta function (Numerical Recipes,
/// 6.4).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = |value: f64| if value.abs() < 1e-30 { 1e-30 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    // The number of terms grows with the root of the parameters, which NARROW bounds.
    for m in 1..40_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / tiny(1.0 + even * d);
        c = tiny(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / tiny(1.0 + odd * d);
        c = tiny(1.0 + odd / c);
        let factor = d * c;
        result *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function above 0, by Lanczos' approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;
    if x < 0.5 {
        return ln_gamma(x + 1.0) - exact_ln(x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut at = 1.0;
    for term in TERMS {
        sum += term / (x + at);
        at += 1.0;
    }
    let t = x + 7.5;
    HALF_LN_TWO_PI + (x + 0.5) * exact_ln(t) - t + exact_ln(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
    }

    /// Distributions whose function has a closed form.
    #[test]
    fn known_distributions_have_their_values() {
        for i in 1..100 {
            let x = f64::from(i) / 100.0;
            near(incomplete(x, 1.0, 1.0), x);
            near(incomplete(x, 2.0, 1.0), x * x);
            near(incomplete(x, 1.0, 3.0), 1.0 - (1.0 - x) * (1.0 - x) * (1.0 - x));
            near(incomplete(x, 2.0, 2.0), x * x * (3.0 - 2.0 * x));
            near(incomplete(x, 7.0, 0.5) + incomplete(1.0 - x, 0.5, 7.0), 1.0);
        }
        // The arcsine distribution: (2 / pi) asin(sqrt(1 / 4)) = 1 / 3.
        near(incomplete(0.25, 0.5, 0.5), 1.0 / 3.0);
        // The uniform distribution has mean 1/2 and variance 1/12.
        near(beta_cdf(0.3, 0.5, (1.0f64 / 12.0).sqrt()), 0.3);
    }

    #[test]
    fn it_never_falls_and_stays_inside() {
        for mean in [0.001, 0.2, 0.5, 0.97] {
            for std in [0.0001, 0.001, 0.02, 0.3, 5.0] {
                let mut last = 0.0;
                for i in -5..206 {
                    let value = beta_cdf(f64::from(i) / 200.0, mean, std);
                    assert!(
                        (0.0..=1.0).contains(&value) && value >= last - 1e-9,
                        "{mean} {std} {i}: {value}"
                    );
                    last = value;
                }
                assert_eq!(last, 1.0);
            }
        }
    }
}
