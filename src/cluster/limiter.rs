//! Limits on our own calls: a token bucket for `--kube-api-qps` and `--kube-api-burst`, and a pause
//! when the server says that it is overloaded (429).

use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// A token bucket with a pause. Callers are served in the order of their calls.
#[derive(Debug)]
pub struct Limiter {
    /// Tokens per second and maximum number of saved tokens; `None`: no limit.
    rate: Option<(f64, f64)>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Negative if more tokens are reserved than exist.
    tokens: f64,
    at: Option<Instant>,
    not_before: Option<Instant>,
}

impl Limiter {
    /// At most `qps` calls a second and `burst` at once. As in client-go, a rate of 0 means its
    /// default (5) and a negative one no limit.
    pub fn new(qps: f64, burst: i64) -> Self {
        let qps = if qps == 0.0 { 5.0 } else { qps };
        let burst = if burst <= 0 { 10.0 } else { burst as f64 };
        let rate = (qps > 0.0).then_some((qps, burst));
        Self { rate, state: Mutex::new(State { tokens: burst, at: None, not_before: None }) }
    }

    /// No limit.
    pub fn unlimited() -> Self {
        Self::new(-1.0, 1)
    }

    /// Waits until one more call is allowed.
    pub async fn acquire(&self) {
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Allows no calls for this long.
    pub fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.not_before = state.not_before.max(Some(until));
    }

    fn reserve(&self, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut wait = Duration::ZERO;
        if let Some((qps, burst)) = self.rate {
            let since = state.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
            state.tokens = (state.tokens + since.as_secs_f64() * qps).min(burst) - 1.0;
            state.at = Some(now);
            if state.tokens < 0.0 {
                wait = Duration::from_secs_f64(-state.tokens / qps);
            }
        }
        match state.not_before {
            Some(until) if until > now => wait.max(until - now),
            _ => wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_admitted_at_once_and_the_rest_at_the_rate() {
        let limiter = Limiter::new(10.0, 2);
        let now = Instant::now();
        let waits: Vec<u128> = (0..5).map(|_| limiter.reserve(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200, 300]);
        let later = now + Duration::from_secs(60);
        let waits: Vec<u128> = (0..3).map(|_| limiter.reserve(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100], "saved tokens never exceed the burst");
    }

    #[test]
    fn a_negative_rate_is_no_limit_and_a_pause_delays_all() {
        let limiter = Limiter::unlimited();
        let now = Instant::now();
        assert!((0..10_000).all(|_| limiter.reserve(now).is_zero()));
        limiter.pause(Duration::from_secs(3));
        assert!(limiter.reserve(now) >= Duration::from_secs(3));
        assert!(limiter.reserve(Instant::now() + Duration::from_secs(4)).is_zero());
    }
}
