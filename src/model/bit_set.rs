//! [`BitSet`]: a set of small numbers, such as rows of nodes or places of plugins, in words of 64 bits.

use smallvec::SmallVec;
use std::marker::PhantomData;

/// A number that names one of few things.
pub trait Row: Copy {
    /// The number, counted from 0.
    fn row(self) -> usize;
    /// The thing of a number.
    fn from_row(row: usize) -> Self;
}

/// A set of rows. Iterates in row order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BitSet<R> {
    /// One word without an allocation: few profiles have more than 64 plugins.
    words: SmallVec<[u64; 1]>,
    of: PhantomData<R>,
}

impl<R> Default for BitSet<R> {
    fn default() -> Self {
        Self { words: SmallVec::new(), of: PhantomData }
    }
}

impl<R: Row> BitSet<R> {
    /// The empty set, with room for `rows` rows.
    pub fn with_rows(rows: usize) -> Self {
        Self { words: SmallVec::from_elem(0, rows.div_ceil(64)), of: PhantomData }
    }

    /// The rows below `count`.
    pub fn below(count: usize) -> Self {
        let mut words = SmallVec::from_elem(u64::MAX, count.div_ceil(64));
        if let Some(last) = words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last = (1 << (count % 64)) - 1;
        }
        Self { words, of: PhantomData }
    }

    /// Adds a row; grows when the row lies beyond the room.
    pub fn insert(&mut self, row: R) {
        let word = row.row() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (row.row() % 64);
    }

    /// Removes a row.
    pub fn remove(&mut self, row: R) {
        if let Some(word) = self.words.get_mut(row.row() / 64) {
            *word &= !(1 << (row.row() % 64));
        }
    }

    /// Removes rows of one word of 64.
    pub fn remove_rows(&mut self, word: usize, rows: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word &= !rows;
        }
    }

    /// Whether the row is in the set.
    pub fn contains(&self, row: R) -> bool {
        self.words.get(row.row() / 64).is_some_and(|word| word >> (row.row() % 64) & 1 == 1)
    }

    /// How many rows are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no row is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes all rows, keeps the room.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Becomes a copy of `other` and keeps its own memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
    }

    /// Keeps the rows that are in `other` too.
    pub fn intersect(&mut self, other: &Self) {
        for (at, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(at).copied().unwrap_or(0);
        }
    }

    /// Adds the rows of `other`.
    pub fn union(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Removes the rows of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, gone) in self.words.iter_mut().zip(&other.words) {
            *word &= !gone;
        }
    }

    /// The rows in row order.
    pub fn iter(&self) -> impl Iterator<Item = R> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, word)| bits(*word).map(move |bit| R::from_row(at * 64 + bit)))
    }

    /// The words of 64 rows each, lowest row in the lowest bit; for passes over columns.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, to be written by passes over columns.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

impl<R: Row> FromIterator<R> for BitSet<R> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut set = Self::default();
        for row in rows {
            set.insert(row);
        }
        set
    }
}

/// The bits of a word, lowest first.
#[inline]
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::super::node_set::{NodeId, NodeSet};
    use std::collections::BTreeSet;

    #[test]
    fn a_set_is_what_a_tree_of_numbers_is() {
        let mut random = crate::testing::Random(7);
        for _ in 0..200 {
            let (mut a, mut b) = (BTreeSet::new(), BTreeSet::new());
            for _ in 0..random.below(40) {
                a.insert(random.below(200));
                b.insert(random.below(300));
            }
            let set = |of: &BTreeSet<usize>| of.iter().map(|row| NodeId::from_row(*row)).collect::<NodeSet>();
            let rows = |of: &NodeSet| of.iter().map(NodeId::row).collect::<BTreeSet<usize>>();
            let with = |change: fn(&mut NodeSet, &NodeSet)| {
                let mut changed = set(&a);
                change(&mut changed, &set(&b));
                rows(&changed)
            };
            assert_eq!(with(NodeSet::union), &a | &b);
            assert_eq!(with(NodeSet::intersect), &a & &b);
            assert_eq!(with(NodeSet::subtract), &a - &b);
            assert_eq!(with(NodeSet::copy_from), b);
            assert_eq!((set(&a).len(), set(&a).is_empty()), (a.len(), a.is_empty()));
            let count = random.below(200);
            assert_eq!(rows(&NodeSet::below(count)), (0..count).collect());
        }
    }
}
