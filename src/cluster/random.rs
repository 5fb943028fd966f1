//! Random numbers for what must differ between replicas: waits and identities. Decisions never draw from here.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// A random word.
pub fn word() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random number from 0 to 1.
pub fn fraction() -> f64 {
    (word() >> 11) as f64 / (1u64 << 53) as f64
}

/// `base` and up to `factor` times `base` on top (client-go's `wait.Jitter`).
pub fn jitter(base: Duration, factor: f64) -> Duration {
    base + base.mul_f64(fraction() * factor)
}

/// A random UUID, version 4, as text.
pub fn uuid() -> String {
    let (high, low) = (word(), word());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

/// Waits that double up to a bound, with jitter, until something succeeds.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    next: Duration,
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// Waits from `first` to `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { next: first, first, most }
    }

    /// How long to wait now; the next wait is twice as long.
    pub fn wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.most);
        jitter(wait, 0.5)
    }

    /// Something succeeded: the next wait is the first again.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_the_shape_of_version_4_and_differ() {
        let (one, other) = (uuid(), uuid());
        assert_ne!(one, other);
        for id in [one, other] {
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(id.as_bytes()[14], b'4', "{id}");
            assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        }
    }

    #[test]
    fn waits_double_up_to_their_bound_and_start_again() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, second * 3);
        let mut wait = |least: Duration| {
            let wait = backoff.wait();
            assert!(wait >= least && wait <= least.mul_f64(1.5), "{wait:?}");
        };
        wait(second);
        wait(second * 2);
        wait(second * 3);
        wait(second * 3);
        backoff.reset();
        assert!(backoff.wait() <= second.mul_f64(1.5));
    }
}
