//! How long to wait before a retry. The random part keeps replicas from retrying at the same
//! instant; no scheduling decision draws a random number.

use backon::ExponentialBuilder;
use std::time::Duration;

/// Delays that double from `first` to `most`, for ever, each with up to its own length added at
/// random.
pub(crate) fn backoff(first: Duration, most: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(first).with_max_delay(most).with_jitter().without_max_times()
}

/// The delay before the retry number `retry`, from 0: doubles from `first` to `most`, with up to its own
/// length added at random.
pub(crate) fn delay_before(retry: u32, first: Duration, most: Duration) -> Duration {
    jitter(first.saturating_mul(1_u32.checked_shl(retry).unwrap_or(u32::MAX)).min(most), 1.0)
}

/// `base` plus a random part of up to `factor` times `base` (client-go's `wait.Jitter`).
pub(crate) fn jitter(base: Duration, factor: f64) -> Duration {
    base + base.mul_f64(fastrand::f64() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let (first, most) = (Duration::from_millis(200), Duration::from_secs(10));
        for (retry, base) in [(0, 200), (1, 400), (5, 6_400), (6, 10_000), (40, 10_000)] {
            let (base, delay) = (Duration::from_millis(base), delay_before(retry, first, most));
            assert!(delay >= base && delay <= base * 2, "{retry}: {delay:?}");
        }
    }
}
