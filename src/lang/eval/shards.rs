//! [`Shards`]: a map in parts that forks share, so that a write after a fork copies one part.

use rustc_hash::{FxHashMap, FxHasher};
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How many parts there are.
const PARTS: usize = 64;

/// A map without an order.
#[derive(Clone, Debug)]
pub struct Shards<K, V>(Box<[Arc<FxHashMap<K, V>>]>);

impl<K: Hash + Eq + Clone, V: Clone> Default for Shards<K, V> {
    fn default() -> Self {
        Self((0..PARTS).map(|_| Arc::default()).collect())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Shards<K, V> {
    fn part<Q: Hash + ?Sized>(key: &Q) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        // The maps themselves use the high bits.
        hasher.finish() as usize % PARTS
    }

    /// The value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(Self::part(key))?.get(key)
    }

    /// The part of a key, to be written.
    pub(crate) fn part_mut(&mut self, key: &K) -> Option<&mut FxHashMap<K, V>> {
        self.0.get_mut(Self::part(key)).map(Arc::make_mut)
    }

    /// Keys and values, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().flat_map(|part| part.iter())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Hash + Eq + Clone, V: Clone + PartialEq> PartialEq for Shards<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(left, right)| left == right)
    }
}
