//! NormalizeScore as arithmetic: raw scores to scores from 0 to 100.
//!
//! Used by `engine`, which adds the scores of many nodes at a time, and by recorders, which look at the scores of few.

use super::points::Normalize;

/// The highest score of a plugin after normalisation.
pub const MAX_SCORE: i64 = 100;

/// A normalisation with the extremes that it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Scores as they are.
    As,
    /// One score for all nodes.
    Constant(i64),
    /// Shares of the highest score.
    Max(i64),
    /// The highest score gets 0, a score of 0 the most.
    MaxReversed(i64),
    /// From the lowest to the highest score.
    MinMax(i64, i64),
    /// The lowest score gets 100, the highest the share that the lowest has in it.
    MaxPlusMin {
        /// The highest score; at least 1.
        max: i64,
        /// The highest and the lowest score together.
        sum: i64,
        /// The score that becomes 0.
        ignored: i64,
    },
    /// 0 for one score, the most for all others.
    AllBut(i64),
}

impl Normalize {
    /// Whether a raw score counts for the highest and the lowest.
    #[inline]
    pub fn counts(self, score: i64) -> bool {
        !matches!(self, Self::MaxPlusMin { ignored } if ignored == score)
    }
}

impl Scale {
    /// The normalisation of raw scores between `low` and `high`, those left out that do not count
    /// ([`Normalize::counts`]).
    pub fn of(normalize: Normalize, low: i64, high: i64) -> Self {
        match normalize {
            Normalize::None => Self::As,
            Normalize::Max if high <= 0 => Self::As,
            Normalize::Max => Self::Max(high),
            Normalize::MaxReversed if high <= 0 => Self::Constant(MAX_SCORE),
            Normalize::MaxReversed => Self::MaxReversed(high),
            Normalize::MinMax if low < high => Self::MinMax(low, high),
            Normalize::MinMax => Self::Constant(0),
            Normalize::MaxPlusMin { ignored } if high <= 0 => Self::AllBut(ignored),
            Normalize::MaxPlusMin { ignored } => {
                Self::MaxPlusMin { max: high, sum: high.saturating_add(low), ignored }
            }
        }
    }

    /// Writes the weighted normalised score of each raw score from 0 to the highest, when there are few; of
    /// [`Scale::MinMax`] from the lowest.
    pub fn fill(self, weight: i64, low: i64, table: &mut Vec<i64>) {
        const FEW: i64 = 1024;
        table.clear();
        // A score beyond the table becomes 0, as an ignored one does.
        if let Self::Max(max) | Self::MaxReversed(max) | Self::MaxPlusMin { max, ignored: ..0, .. } = self
            && max < FEW
            && low >= 0
        {
            table.extend((0..=max).map(|score| self.apply(score).saturating_mul(weight)));
        }
        if let Self::MinMax(min, max) = self
            && max.saturating_sub(min) < FEW
        {
            table.extend((min..=max).map(|score| self.apply(score).saturating_mul(weight)));
        }
    }

    /// Adds the weighted scores of a block, where no sum goes beyond the numbers.
    pub fn add(self, weight: i64, table: &[i64], raw: &[i64; 64], totals: &mut [i64; 64]) {
        let rows = totals.iter_mut().zip(raw);
        match self {
            Self::As if weight == 1 => rows.for_each(|(total, raw)| *total += raw),
            Self::As => rows.for_each(|(total, raw)| *total += raw * weight),
            Self::Constant(score) => {
                let weighted = score * weight;
                rows.for_each(|(total, _)| *total += weighted);
            }
            Self::MinMax(min, _) if !table.is_empty() => rows.for_each(|(total, raw)| {
                *total += table.get(raw.wrapping_sub(min) as usize).copied().unwrap_or(0);
            }),
            _ if !table.is_empty() => {
                rows.for_each(|(total, raw)| *total += table.get(*raw as usize).copied().unwrap_or(0));
            }
            Self::MaxPlusMin { max, sum, ignored } => rows.for_each(|(total, raw)| {
                let share = quotient(MAX_SCORE.saturating_mul(sum.saturating_sub(*raw)), max);
                *total += if *raw == ignored { 0 } else { share * weight };
            }),
            _ => rows.for_each(|(total, raw)| *total += self.apply(*raw) * weight),
        }
    }

    /// A raw score after normalisation.
    #[inline]
    pub fn apply(self, score: i64) -> i64 {
        match self {
            Self::As => score,
            Self::Constant(score) => score,
            Self::Max(max) => MAX_SCORE.saturating_mul(score) / max,
            Self::MaxReversed(max) => MAX_SCORE - MAX_SCORE.saturating_mul(score) / max,
            // As upstream: in floating point, then cut.
            Self::MinMax(min, max) => {
                (MAX_SCORE as f64 * (score.saturating_sub(min) as f64 / max.saturating_sub(min) as f64))
                    as i64
            }
            Self::AllBut(ignored) => {
                if score == ignored {
                    0
                } else {
                    MAX_SCORE
                }
            }
            Self::MaxPlusMin { ignored, .. } if score == ignored => 0,
            Self::MaxPlusMin { max, sum, .. } => {
                quotient(MAX_SCORE.saturating_mul(sum.saturating_sub(score)), max)
            }
        }
    }
}

/// `a / b`, cut. Where floats hold both exactly their quotient is never rounded up to a whole number, and a processor
/// divides floats faster.
#[inline]
fn quotient(a: i64, b: i64) -> i64 {
    const EXACT: i64 = 1 << 52;
    if (0..EXACT).contains(&a) && (1..EXACT).contains(&b) {
        (a as f64 / b as f64) as i64
    } else {
        a.checked_div(b).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::testing::Random;

    #[test]
    fn quotients_are_those_of_whole_numbers() {
        let mut random = Random(3);
        let mut near = |bits: usize| (1i64 << random.below(bits)) + random.below(5) as i64 - 2;
        for _ in 0..100_000 {
            let (a, b) = (near(53), near(53).max(1));
            for a in [a, a.saturating_mul(b) - 1, a.saturating_mul(b), a.saturating_mul(b).saturating_add(1)]
            {
                assert_eq!(quotient(a, b), a / b, "{a} / {b}");
            }
        }
    }

    #[test]
    fn the_lowest_score_gets_0_and_the_highest_100() {
        for (low, high) in [(-40, 60), (i64::MIN, i64::MAX), (0, 5_000), (7, 7)] {
            let scale = Scale::of(Normalize::MinMax, low, high);
            let mut table = Vec::new();
            scale.fill(2, low, &mut table);
            let raw: [i64; 64] = std::array::from_fn(|at| low.saturating_add(at as i64).min(high));
            let mut totals = [3; 64];
            scale.add(2, &table, &raw, &mut totals);
            assert_eq!(totals, raw.map(|raw| 3 + 2 * scale.apply(raw)));
            assert_eq!(scale.apply(low), 0);
        }
        // As floating point leaves them: 100 * (29 / 100) is below 29.
        let scale = Scale::of(Normalize::MinMax, 0, 100);
        assert_eq!([29, 57, 58, 100].map(|score| scale.apply(score)), [28, 56, 57, 100]);
    }

    #[test]
    fn fewer_is_better_and_ignored_nodes_get_nothing() {
        let normalize = Normalize::MaxPlusMin { ignored: -1 };
        let scale = Scale::of(normalize, 1, 4);
        assert_eq!([1, 2, 4, -1].map(|score| scale.apply(score)), [100, 75, 25, 0]);
        assert_eq!([0, -1].map(|score| Scale::of(normalize, 0, 0).apply(score)), [100, 0]);
        // The table and the sum of a block agree with single scores.
        for high in [4, 5_000] {
            let (scale, mut table) = (Scale::of(normalize, 1, high), Vec::new());
            scale.fill(3, 1, &mut table);
            assert_eq!(table.is_empty(), high > 1_024);
            let raw: [i64; 64] =
                std::array::from_fn(|at| if at % 7 == 0 { -1 } else { 1 + at as i64 % high });
            let mut totals = [7; 64];
            scale.add(3, &table, &raw, &mut totals);
            assert_eq!(totals, raw.map(|raw| 7 + 3 * scale.apply(raw)));
        }
    }
}
