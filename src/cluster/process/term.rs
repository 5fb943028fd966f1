//! The end of this instance's term as leader. `leader` extends the term; `effects` checks it before
//! each write.

use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The end of our term. Clones share it.
///
/// A write that starts before the renew deadline, with a time limit below `leaseDuration -
/// renewDeadline`, ends before another instance can hold the lease.
///
/// It is measured by a clock that goes on while the machine is suspended: a leader that wakes up an
/// hour later must not write before it has renewed its lease.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// Milliseconds since the machine was started; 0: no term, the largest value: no end.
    until: Arc<AtomicU64>,
}

/// The clock that goes on while the machine is suspended.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// An instant of the clock by which terms are measured: milliseconds since the machine was started,
/// suspension included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The present instant.
    pub(crate) fn now() -> Self {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let millis = u64::try_from(time.tv_nsec).unwrap_or_default() / 1_000_000;
        Self(seconds.saturating_mul(1_000).saturating_add(millis))
    }
}

impl Term {
    /// No term: no writes are allowed.
    pub(crate) fn none() -> Self {
        Self { until: Arc::new(AtomicU64::new(0)) }
    }

    /// A term without end, for an instance that runs without election.
    pub(crate) fn endless() -> Self {
        Self { until: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    /// Extends the term to `length` after the moment at which the renewal began: the machine may have
    /// been suspended before the answer came.
    pub(crate) fn extend(&self, began: Moment, length: Duration) {
        let until = began.0.saturating_add(u64::try_from(length.as_millis()).unwrap_or(u64::MAX));
        self.until.store(until.min(u64::MAX - 1), Ordering::SeqCst);
    }

    /// Ends the term.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// Whether a write may start now.
    pub(crate) fn may_write(&self) -> bool {
        let until = self.until.load(Ordering::SeqCst);
        until == u64::MAX || Moment::now().0 < until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_allowed_only_within_the_term() {
        let term = Term::none();
        assert!(!term.may_write());
        term.extend(Moment::now(), Duration::from_secs(60));
        assert!(term.clone().may_write());
        let an_hour_ago = Moment(Moment::now().0.saturating_sub(3_600_000));
        term.extend(an_hour_ago, Duration::from_secs(10));
        assert!(!term.may_write(), "the machine was suspended while the renewal was on its way");
        assert!(Term::endless().may_write());
    }
}
