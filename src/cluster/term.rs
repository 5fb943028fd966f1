//! The end of this instance's term as leader. `leader` extends the term; `effects` checks it before
//! each write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The end of our term. Clones share it.
///
/// A write that starts before the renew deadline, with a time limit below `leaseDuration -
/// renewDeadline`, ends before another instance can hold the lease.
#[derive(Clone, Debug)]
pub struct Term {
    base: Instant,
    /// Milliseconds after `base`; 0: no term, the largest value: no end.
    until: Arc<AtomicU64>,
}

impl Term {
    /// No term: no writes are allowed.
    pub fn none() -> Self {
        Self { base: Instant::now(), until: Arc::new(AtomicU64::new(0)) }
    }

    /// A term without end, for an instance that runs without election.
    pub fn endless() -> Self {
        Self { base: Instant::now(), until: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    /// Extends the term to `end`.
    pub fn extend_to(&self, end: Instant) {
        let after = end.saturating_duration_since(self.base).as_millis();
        self.until.store(u64::try_from(after).unwrap_or(u64::MAX - 1), Ordering::SeqCst);
    }

    /// Ends the term.
    pub fn end(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// Whether a write may start now.
    pub fn may_write(&self) -> bool {
        let until = self.until.load(Ordering::SeqCst);
        until == u64::MAX || self.base.elapsed() < Duration::from_millis(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_allowed_only_within_the_term() {
        let term = Term::none();
        assert!(!term.may_write());
        term.extend_to(Instant::now() + Duration::from_secs(60));
        assert!(term.clone().may_write());
        term.extend_to(Instant::now());
        std::thread::sleep(Duration::from_millis(2));
        assert!(!term.may_write());
        assert!(Term::endless().may_write());
    }
}
