//! Limits the reviews that callers of the secure port cause at the API server, so that no client
//! that reaches the port can have our own account throttled. `access` asks before each review.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Reviews a second, as upstream for its client of TokenReviews (`pkg/kubeapiserver/options`).
const RATE: f64 = 200.0;
/// Reviews at once.
const AT_ONCE: usize = 16;
/// The part of both that is kept for callers whose request was allowed not long ago.
const KEPT: f64 = 0.25;

/// A token bucket with a limit on open reviews.
#[derive(Debug)]
pub(crate) struct ReviewLimit(Mutex<State>);

#[derive(Debug)]
struct State {
    tokens: f64,
    at: Instant,
    open: usize,
}

/// An open review; ends when dropped.
#[derive(Debug)]
pub(crate) struct Review<'l>(&'l ReviewLimit);

impl Drop for Review<'_> {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}

impl ReviewLimit {
    /// All reviews of the first second are left.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(State { tokens: RATE, at: now, open: 0 }))
    }

    /// Begins a review, or refuses it at once. `known` callers were allowed not long ago.
    pub(crate) fn begin(&self, known: bool, now: Instant) -> Option<Review<'_>> {
        let kept = if known { 0.0 } else { KEPT };
        let mut state = self.state();
        let since = now.saturating_duration_since(state.at);
        state.tokens = (state.tokens + since.as_secs_f64() * RATE).min(RATE);
        state.at = state.at.max(now);
        let room = state.tokens - 1.0 >= kept * RATE;
        if !room || (state.open + 1) as f64 > (1.0 - kept) * AT_ONCE as f64 {
            return None;
        }
        state.tokens -= 1.0;
        state.open += 1;
        Some(Review(self))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn unknown_callers_leave_reviews_for_known_ones() {
        let now = Instant::now();
        let limit = ReviewLimit::new(now);
        let unknown = (0..1_000).filter(|_| limit.begin(false, now).is_some()).count();
        let known = (0..1_000).filter(|_| limit.begin(true, now).is_some()).count();
        assert_eq!((unknown, known), (150, 50));
        let later = now + Duration::from_secs(1);
        assert_eq!((0..1_000).filter(|_| limit.begin(true, later).is_some()).count(), 200);
    }

    #[test]
    fn at_most_sixteen_are_open() {
        let now = Instant::now();
        let limit = ReviewLimit::new(now);
        let mut open: Vec<Review<'_>> = std::iter::from_fn(|| limit.begin(false, now)).collect();
        assert_eq!(open.len(), 12);
        open.extend(std::iter::from_fn(|| limit.begin(true, now)));
        assert_eq!(open.len(), 16);
        open.pop();
        assert!(limit.begin(true, now).is_some());
    }
}
