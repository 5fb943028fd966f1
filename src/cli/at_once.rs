//! [`at_once`]: one function of many values, on as many threads as the machine has cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

/// What `work` makes of each value, in their order. At most `most` threads run, and not more than the machine has cores, each
/// with the stack that parsers need. A panic of `work` goes on in the caller. Fails where no thread can be started.
pub(super) fn at_once<T: Sync, R: Send>(
    values: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> std::io::Result<Vec<R>> {
    let threads = available_parallelism().map_or(1, usize::from).min(most).min(values.len());
    if threads < 2 {
        return Ok(values.iter().map(work).collect());
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(value) = values.get(at) else { return made };
            made.push((at, work(value)));
        }
    };
    let mut made = scope(|scope| {
        let start = |_| Builder::new().stack_size(crate::lang::STACK).spawn_scoped(scope, take);
        let started: std::io::Result<Vec<_>> = (0..threads).map(start).collect();
        let ends = started?.into_iter().map(|thread| thread.join());
        let of_all = ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::io::Result::Ok(of_all.flatten().collect::<Vec<_>>())
    })?;
    made.sort_by_key(|(at, _)| *at);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_in_the_order_of_the_values() {
        let values: Vec<u64> = (0..100).collect();
        for most in [0, 1, 2, 100] {
            let slow_first = |value: &u64| {
                std::thread::sleep(std::time::Duration::from_micros(100 - value));
                value * 2
            };
            let made = at_once(&values, most, slow_first).unwrap();
            assert_eq!(made, values.iter().map(|value| value * 2).collect::<Vec<_>>());
        }
        assert!(at_once(&[], 4, |value: &u64| *value).unwrap().is_empty());
    }

    #[test]
    #[should_panic = "of one"]
    fn a_panic_goes_on() {
        let _ = at_once(&[1, 2, 3], 3, |value| assert!(*value != 2, "of one"));
    }
}
