//! [`Time`] and [`Duration`] in microseconds. The clock itself is never read here: instants are handed in.

use std::ops::{Add, Sub};

/// An instant: microseconds since 1970-01-01 UTC. Handed in by the driver, never running backwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub i64);

/// A length of time in microseconds; may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(pub i64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `seconds` as a duration; saturates.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// `milliseconds` as a duration; saturates.
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds.saturating_mul(1_000))
    }

    /// In seconds.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, by: Duration) -> Time {
        Time(self.0.saturating_add(by.0))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, by: Duration) -> Time {
        Time(self.0.saturating_sub(by.0))
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Time {
    /// Reads an RFC 3339 instant as Kubernetes writes it. `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|instant| Self(instant.as_microsecond()))
    }

    /// Writes the instant as Kubernetes' `metav1.Time`: RFC 3339 in UTC, whole seconds.
    pub fn to_rfc3339(self) -> String {
        match jiff::Timestamp::from_second(self.0.div_euclid(1_000_000)) {
            Ok(instant) => instant.to_string(),
            Err(_) => String::from("out of range"),
        }
    }
}
