//! Waiting for what a server does in its own time.

use std::time::{Duration, Instant};

/// Asks `condition` until it is true.
///
/// # Panics
///
/// After `timeout`, saying that `what` did not happen.
#[track_caller]
pub fn wait_until(what: &str, timeout: Duration, condition: impl FnMut() -> bool) {
    assert!(became_true(timeout, condition), "waited {timeout:?} in vain: {what}");
}

/// Asks `condition` until it is true, or `timeout` has passed; says which.
pub fn became_true(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
}
