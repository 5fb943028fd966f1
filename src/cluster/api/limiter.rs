//! Limits on our own calls, by class. After a 429 a class pauses for the server's `Retry-After`; the other
//! classes go on. With `--kube-api-qps` a token bucket limits the calls about pods, another one their
//! events, as in kube-scheduler, and a third one the status of other objects. Without it only the server
//! limits us, by its priority and fairness.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The class of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// Taking, renewing and releasing the lease. No 429 pauses it: a leader that waits loses the lease.
    Lease,
    /// Bindings.
    Bind,
    /// Other writes about pods: patches of the status, deletions.
    Write,
    /// Events about pods.
    Event,
    /// The status of objects that are not pods.
    Status,
    /// Lists and watches, reads of single objects, and what belongs to policies.
    Read,
    /// Reviews of who may read the secure port.
    Review,
}

/// The number of classes.
pub(crate) const CLASSES: usize = 7;

/// The longest `Retry-After` that is obeyed, and the longest that kube-apiserver sends.
///
/// Source: `apiserver/pkg/server/filters`, `dropped_requests_tracker.go`, `maxRetryAfter`.
pub(crate) const LONGEST: Duration = Duration::from_secs(32);

/// The limits of all classes.
#[derive(Debug)]
pub(crate) struct Limits(Mutex<State>);

#[derive(Debug)]
struct State {
    /// For [`Class::Bind`] and [`Class::Write`]; `None`: no limit.
    calls: Option<Bucket>,
    /// For [`Class::Event`]; `None`: no limit.
    events: Option<Bucket>,
    /// For [`Class::Status`]; `None`: no limit.
    statuses: Option<Bucket>,
    /// The end of the last pause of each class.
    pauses: [Option<Instant>; CLASSES],
}

/// A token bucket.
#[derive(Clone, Debug)]
struct Bucket {
    /// Tokens per second.
    qps: f64,
    /// Maximum number of saved tokens.
    burst: f64,
    tokens: f64,
    /// When `tokens` was right.
    at: Option<Instant>,
}

impl Bucket {
    /// Takes a token, or returns when there is one.
    fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.tokens = (self.tokens + since.as_secs_f64() * self.qps).min(self.burst);
        self.at = Some(now);
        // A token that is due now may lack its last part by rounding.
        if self.tokens < 1.0 - 1e-6 {
            return Err(now + Duration::from_secs_f64((1.0 - self.tokens) / self.qps));
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

impl Limits {
    /// At most `qps` calls a second and `burst` at once, for the calls about pods, for their events and
    /// for the status of other objects each. A rate that is not positive means no limit; a burst that is
    /// not positive means 10, as in client-go.
    pub(crate) fn new(qps: f64, burst: i64) -> Self {
        let burst = if burst <= 0 { 10.0 } else { burst as f64 };
        let bucket = (qps > 0.0).then_some(Bucket { qps, burst, tokens: burst, at: None });
        Self(Mutex::new(State {
            calls: bucket.clone(),
            events: bucket.clone(),
            statuses: bucket,
            pauses: [None; CLASSES],
        }))
    }

    /// No limit but that of the server.
    pub(crate) fn unlimited() -> Self {
        Self::new(-1.0, 1)
    }

    /// Whether a rate of ours limits calls about pods.
    pub(crate) fn has_rate(&self) -> bool {
        self.state().calls.is_some()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the pause of this class, if it is paused.
    pub(crate) fn paused(&self, class: Class, now: Instant) -> Option<Instant> {
        self.state().pauses[class as usize].filter(|until| *until > now)
    }

    /// Admits one call of this class now, or returns when to ask again.
    pub(crate) fn take(&self, class: Class, now: Instant) -> Result<(), Instant> {
        let mut state = self.state();
        if let Some(until) = state.pauses[class as usize].filter(|until| *until > now) {
            return Err(until);
        }
        let bucket = match class {
            Class::Bind | Class::Write => &mut state.calls,
            Class::Event => &mut state.events,
            Class::Status => &mut state.statuses,
            Class::Lease | Class::Read | Class::Review => return Ok(()),
        };
        bucket.as_mut().map_or(Ok(()), |bucket| bucket.take(now))
    }

    /// Waits until one more call of this class is admitted.
    pub(crate) async fn acquire(&self, class: Class) {
        while let Err(at) = self.take(class, Instant::now()) {
            tokio::time::sleep_until(at).await;
        }
    }

    /// Admits no calls of this class for as long as the server asks, at most 32 s; does nothing for the
    /// lease.
    pub(crate) fn pause(&self, class: Class, pause: Duration) {
        if class == Class::Lease {
            return;
        }
        let until = Instant::now() + pause.min(LONGEST);
        let mut state = self.state();
        let last = &mut state.pauses[class as usize];
        *last = (*last).max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_admitted_at_once_and_the_rest_at_the_rate() {
        let limits = Limits::new(10.0, 2);
        let start = Instant::now();
        let admitted = |now: Instant| -> Vec<u128> {
            let mut now = now;
            (0..5)
                .map(|_| {
                    while let Err(at) = limits.take(Class::Bind, now) {
                        now = at;
                    }
                    (now - start).as_millis()
                })
                .collect()
        };
        assert_eq!(admitted(start), [0, 0, 100, 200, 300]);
        let later = start + Duration::from_secs(60);
        assert_eq!(admitted(later)[..3], [60_000, 60_000, 60_100], "saved tokens never exceed the burst");
    }

    #[test]
    fn events_and_statuses_have_rates_of_their_own_and_reads_none() {
        let limits = Limits::new(10.0, 1);
        let now = Instant::now();
        assert!(limits.take(Class::Bind, now).is_ok() && limits.take(Class::Write, now).is_err());
        for class in [Class::Event, Class::Status] {
            assert!(limits.take(class, now).is_ok() && limits.take(class, now).is_err(), "{class:?}");
        }
        for class in [Class::Lease, Class::Read, Class::Review] {
            assert!((0..1_000).all(|_| limits.take(class, now).is_ok()), "{class:?}");
        }
    }

    #[test]
    fn a_pause_holds_its_class_only_and_never_the_lease() {
        let limits = Limits::unlimited();
        let now = Instant::now();
        let all = [
            Class::Lease,
            Class::Bind,
            Class::Write,
            Class::Event,
            Class::Status,
            Class::Read,
            Class::Review,
        ];
        for class in all {
            assert!((0..10_000).all(|_| limits.take(class, now).is_ok()), "{class:?}");
        }
        limits.pause(Class::Review, Duration::from_secs(3));
        for class in all {
            assert_eq!(limits.take(class, now).is_err(), class == Class::Review, "{class:?}");
        }
        assert!(limits.take(Class::Review, Instant::now() + Duration::from_secs(4)).is_ok());
        limits.pause(Class::Lease, Duration::from_secs(3));
        assert!(limits.take(Class::Lease, now).is_ok());
    }

    #[test]
    fn a_pause_ends_after_the_longest_that_a_server_asks_for() {
        let limits = Limits::unlimited();
        limits.pause(Class::Bind, Duration::from_secs(3_600));
        let end = limits.take(Class::Bind, Instant::now()).unwrap_err();
        assert!(end <= Instant::now() + LONGEST, "a proxy cannot stop us for an hour");
    }
}
