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
    /// The same for all.
    Constant(i64),
    /// Shares of the highest score.
    Max(i64),
    /// The highest score gets 0, a score of 0 the most.
    MaxReversed(i64),
    /// From the lowest to the highest score.
    MinMax(i64, i64),
}

impl Scale {
    /// The normalisation of raw scores between `low` and `high`.
    pub fn of(normalize: Normalize, low: i64, high: i64) -> Self {
        match normalize {
            Normalize::None => Self::As,
            Normalize::Max if high <= 0 => Self::As,
            Normalize::Max => Self::Max(high),
            Normalize::MaxReversed if high <= 0 => Self::Constant(MAX_SCORE),
            Normalize::MaxReversed => Self::MaxReversed(high),
            Normalize::MinMax if low < high => Self::MinMax(low, high),
            Normalize::MinMax => Self::Constant(0),
        }
    }

    /// Writes the weighted normalised score of each raw score from 0 to the highest, when there are few.
    pub fn fill(self, weight: i64, low: i64, table: &mut Vec<i64>) {
        const FEW: i64 = 1024;
        table.clear();
        if let Self::Max(max) | Self::MaxReversed(max) = self
            && max < FEW
            && low >= 0
        {
            table.extend((0..=max).map(|score| self.apply(score).saturating_mul(weight)));
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
            _ if !table.is_empty() => {
                rows.for_each(|(total, raw)| *total += table.get(*raw as usize).copied().unwrap_or(0));
            }
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
        }
    }
}
