//! Delta debugging: the fewest of some things with which a question is still answered yes. Nothing is drawn, so that equal
//! things give equal results.
//!
//! Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002), without its first half: a subset alone is
//! rarely enough here, its complement often.

/// Leaves out as much of `all` as `holds` allows; no single one of the rest can be left out then. `holds` gets
/// subsets in their order, and must hold for all.
pub(super) fn minimized<T: Clone>(mut all: Vec<T>, mut holds: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = all.len().div_ceil(2);
    while size > 0 && !all.is_empty() {
        let mut at = 0;
        let mut left_out = false;
        while at < all.len() {
            let end = (at + size).min(all.len());
            let rest: Vec<T> = all[..at].iter().chain(&all[end..]).cloned().collect();
            if holds(&rest) {
                all = rest;
                left_out = true;
            } else {
                at = end;
            }
        }
        // What could not be left out before may be now.
        size = match (size, left_out) {
            (1, true) => 1,
            (1, false) => 0,
            (size, _) => size.min(all.len().max(1)).div_ceil(2),
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_nothing_else() {
        let needed = [3, 40, 41, 99];
        let mut asked = 0;
        let left = minimized((0..100).collect(), |some: &[i32]| {
            asked += 1;
            needed.iter().all(|one| some.contains(one))
        });
        assert_eq!(left, needed);
        assert!(asked < 80, "{asked}");
        assert_eq!(minimized(vec![1, 2], |_: &[i32]| true), [0; 0]);
        assert_eq!(minimized(Vec::<i32>::new(), |_: &[i32]| true), [0; 0]);
    }

    /// Either of two is enough, and one that needs another is left out after it.
    #[test]
    fn no_single_one_can_be_left_out() {
        let holds = |some: &[i32]| {
            let has = |one| some.contains(&one);
            (has(1) || has(2)) && (!has(5) || has(6))
        };
        let left = minimized(vec![1, 2, 5, 6], holds);
        for one in &left {
            let rest: Vec<i32> = left.iter().copied().filter(|other| other != one).collect();
            assert!(!holds(&rest), "{left:?}");
        }
    }
}
