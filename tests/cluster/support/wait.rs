//! Waiting for servers.

use std::time::{Duration, Instant};

/// Checks `condition` until it is true.
///
/// # Panics
///
/// After `timeout`; the message names `what`.
#[track_caller]
pub(crate) fn wait_until(what: &str, timeout: Duration, condition: impl FnMut() -> bool) {
    assert!(became_true(timeout, condition), "waited {timeout:?} in vain: {what}");
}

/// Checks `condition` until it is true or `timeout` has passed; returns whether it became true.
pub(crate) fn became_true(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
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
