//! [`Shared`]: values that each thread made lately. Pods of one template have equal labels, containers and constraints;
//! what was made for the last pod serves the next, so that thousands of pods hold one copy.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// Values that are remembered in each table; a power of two.
const SLOTS: usize = 4_096;

/// The values made lately, each under what it was made from. A later value takes the place of an earlier one with the
/// same hash, so the table is bounded.
pub(super) struct Shared<K, V>(Cell<Vec<Option<(K, V)>>>);

impl<K, V: Clone> Shared<K, V> {
    /// An empty table.
    pub(super) const fn new() -> Self {
        Self(Cell::new(Vec::new()))
    }

    /// The value under the key that `is` accepts and that hashes like `hashed`; else what `make` gives, which is
    /// remembered.
    pub(super) fn find(
        &self,
        hashed: impl Hash,
        is: impl Fn(&K) -> bool,
        make: impl FnOnce() -> (K, V),
    ) -> V {
        let slot = slot_of(&hashed);
        let mut table = self.0.take();
        if table.is_empty() {
            table.resize_with(SLOTS, || None);
        }
        let value = match table.get_mut(slot) {
            Some(Some((known, value))) if is(known) => value.clone(),
            place => {
                let (key, value) = make();
                if let Some(place) = place {
                    *place = Some((key, value.clone()));
                }
                value
            }
        };
        self.0.set(table);
        value
    }
}

fn slot_of(of: &impl Hash) -> usize {
    (rustc_hash::FxBuildHasher.hash_one(of) >> 32) as usize % SLOTS
}

impl<T: ?Sized + Hash + Eq> Shared<Arc<T>, ()> {
    /// An equal value that was made before, or this one.
    pub(super) fn same(&self, made: Arc<T>) -> Arc<T> {
        let slot = slot_of(&made);
        let mut table = self.0.take();
        if table.is_empty() {
            table.resize_with(SLOTS, || None);
        }
        let value = match table.get_mut(slot) {
            Some(Some((known, ()))) if *known == made => known.clone(),
            Some(place) => {
                *place = Some((made.clone(), ()));
                made
            }
            None => made,
        };
        self.0.set(table);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one() {
        let table = Shared::<Arc<str>, ()>::new();
        let (a, b) = (table.same(Arc::from("a")), table.same(Arc::from("b")));
        assert!(Arc::ptr_eq(&a, &table.same(Arc::from("a"))) && Arc::ptr_eq(&b, &table.same(Arc::from("b"))));

        let table = Shared::<usize, Arc<usize>>::new();
        let found = |key: usize| table.find(key, |known| *known == key, || (key, Arc::new(key * 2)));
        let made: Vec<_> = (0..3).map(found).collect();
        for (key, made) in made.iter().enumerate() {
            assert!(Arc::ptr_eq(made, &found(key)));
        }
        // The table is bounded, and what it forgot is made again.
        (0..100_000).for_each(|key| assert_eq!(*found(key), key * 2));
        let kept = table.0.take();
        assert!(kept.len() == SLOTS && kept.iter().flatten().all(|(key, value)| **value == key * 2));
    }
}
