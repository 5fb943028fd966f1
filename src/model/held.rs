//! [`Held`]: values that are kept while they have a holder. Holders are counted, and the values that lost their last
//! holder most recently linger.

use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::hash::Hash;

/// A key that has holders, or that lingers.
#[derive(Clone, Debug)]
struct Entry<V> {
    /// `None`: there was no room for it.
    value: Option<V>,
    holders: u32,
    /// The turn at which its last holder left; orders the values without a holder.
    left: u64,
}

/// Values by key, each kept while it has a holder.
#[derive(Clone, Debug)]
pub(super) struct Held<K, V> {
    entries: FxHashMap<K, Entry<V>>,
    /// Keys without a holder, in the order in which they lost it.
    lingering: BTreeMap<u64, K>,
    turn: u64,
    /// How many keys have a value.
    made: usize,
}

impl<K, V> Default for Held<K, V> {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), lingering: BTreeMap::new(), turn: 0, made: 0 }
    }
}

impl<K: Clone + Eq + Hash, V> Held<K, V> {
    /// Values that are kept without a holder.
    pub(super) const LINGERING: usize = 64;

    /// The value of a key; `None` also when there was no room for it.
    pub(super) fn get<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)?.value.as_ref()
    }

    /// The value of a key, to be written.
    pub(super) fn get_mut<Q: ?Sized + Eq + Hash>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key)?.value.as_mut()
    }

    /// All keys that have a value, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().filter_map(|(key, entry)| Some((key, entry.value.as_ref()?)))
    }

    /// All values, to be written, in no particular order.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().filter_map(|entry| entry.value.as_mut())
    }

    /// Counts a holder of a key. `true`: the key has no value yet; give it one with [`Held::set`] if there is room.
    pub(super) fn hold(&mut self, key: &K) -> bool {
        let missing = Entry { value: None, holders: 0, left: 0 };
        let entry = self.entries.entry(key.clone()).or_insert(missing);
        if entry.holders == 0 {
            self.lingering.remove(&entry.left);
        }
        entry.holders += 1;
        entry.value.is_none()
    }

    /// Gives a held key its value.
    pub(super) fn set(&mut self, key: &K, value: V) {
        if let Some(entry) = self.entries.get_mut(key) {
            self.made += usize::from(entry.value.replace(value).is_none());
        }
    }

    /// Takes the value of a key away; its holders stay counted.
    pub(super) fn clear(&mut self, key: &K) -> Option<V> {
        let value = self.entries.get_mut(key)?.value.take()?;
        self.made -= 1;
        Some(value)
    }

    /// Ends one count of a key. Returns the value that went because of it, with its key.
    pub(super) fn release(&mut self, key: &K) -> Option<(K, V)> {
        let entry = self.entries.get_mut(key).filter(|entry| entry.holders > 0)?;
        entry.holders -= 1;
        if entry.holders > 0 {
            return None;
        }
        if entry.value.is_none() {
            self.entries.remove(key);
            return None;
        }
        self.turn += 1;
        entry.left = self.turn;
        self.lingering.insert(self.turn, key.clone());
        if self.entries.capacity() > 1_024.max(8 * self.entries.len()) {
            self.entries.shrink_to_fit();
        }
        if self.lingering.len() > Self::LINGERING { self.drop_oldest() } else { None }
    }

    /// Removes the value that has been without a holder for the longest time, and returns it with its key.
    pub(super) fn drop_oldest(&mut self) -> Option<(K, V)> {
        let (_, key) = self.lingering.pop_first()?;
        let value = self.entries.remove(&key)?.value?;
        self.made -= 1;
        Some((key, value))
    }

    /// How many keys have a value.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// How many keys have a holder.
    pub(super) fn held(&self) -> usize {
        self.entries.len() - self.lingering.len()
    }

    /// How many values are kept without a holder.
    pub(super) fn lingering(&self) -> usize {
        self.lingering.len()
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
