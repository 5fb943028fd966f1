//! How long to wait before a retry. The random part keeps replicas from retrying at the same
//! instant; no scheduling decision draws a random number.

use backon::ExponentialBuilder;
use std::time::Duration;

/// Delays that double from `first` to `most`, for ever, each with up to its own length added at
/// random.
pub fn backoff(first: Duration, most: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(first).with_max_delay(most).with_jitter().without_max_times()
}

/// `base` plus a random part of up to `factor` times `base` (client-go's `wait.Jitter`).
pub fn jitter(base: Duration, factor: f64) -> Duration {
    base + base.mul_f64(fastrand::f64() * factor)
}
