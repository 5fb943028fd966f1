//! The natural logarithm that weighs constraints, from `+ - * /` alone, so that every machine computes the same. The
//! platform's `ln` may differ in the last digit, and a score is rounded from a sum of products with it.
//!
//! The method is that of FreeBSD's `e_log.c`, which Go's `math.Log` uses on amd64, in the same order of operations:
//! the results are the same to the last bit.

/// ln 2 in two parts; the first has so few digits that its product with a small whole number is exact.
const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

/// Coefficients of the polynomial in `s²`.
const L: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// The natural logarithm of a number of at least 1.
pub(super) fn ln(of: u32) -> f64 {
    // of = fraction * 2^exponent, with the fraction between √½ and √2.
    let bits = f64::from(of.max(1)).to_bits();
    let mut exponent = (bits >> 52) as f64 - 1022.0;
    let mut fraction = f64::from_bits(bits & ((1 << 52) - 1) | 0.5f64.to_bits());
    if fraction < std::f64::consts::FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1.0;
    }
    let f = fraction - 1.0;
    let s = f / (2.0 + f);
    let (s2, s4) = (s * s, (s * s) * (s * s));
    let odd = s2 * (L[0] + s4 * (L[2] + s4 * (L[4] + s4 * L[6])));
    let even = s4 * (L[1] + s4 * (L[3] + s4 * L[5]));
    let half = 0.5 * f * f;
    exponent * LN_2.0 - ((half - (s * (half + (odd + even)) + exponent * LN_2.1)) - f)
}

#[cfg(test)]
mod tests {
    use super::ln;

    /// What Go's `math.Log` gives on amd64, as `tests/conformance/generator -ln` wrote it.
    #[test]
    fn logarithms_are_those_of_go_to_the_last_bit() {
        let recorded = include_str!("../../../tests/conformance/ln.txt");
        let mut lines = recorded.lines();
        // The sum of the bits of all of them shows a difference anywhere, the single values show where.
        let sum: u64 =
            lines.next().and_then(|line| line.strip_prefix("2..200002 ")).unwrap().parse().unwrap();
        let mut count = 0;
        for line in lines {
            let (of, bits) = line.split_once(' ').unwrap();
            let of: u32 = of.parse().unwrap();
            assert_eq!(format!("{:016x}", ln(of).to_bits()), bits, "ln {of}");
            count += 1;
        }
        assert!(count > 2_000, "{count}");
        assert_eq!(
            (2..=200_002).fold(0u64, |sum, of| sum.wrapping_mul(31).wrapping_add(ln(of).to_bits())),
            sum
        );
    }

    #[test]
    fn logarithms_are_close_to_those_of_the_platform() {
        for of in (1..100_000).chain([u32::MAX - 1, u32::MAX]) {
            let (ours, platform) = (ln(of), f64::from(of).ln());
            assert!((ours - platform).abs() <= platform * f64::EPSILON, "ln {of}: {ours}, {platform}");
        }
        assert_eq!(ln(1), 0.0);
    }
}
