//! [`NodeId`], the row of a node, and [`NodeSet`]: a set of rows as a bitset, in row order.

/// The row of a node in the snapshot and its columns. A node keeps its row while a pod names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(u32);

impl NodeId {
    /// The row, counted from 0.
    #[inline]
    pub const fn row(self) -> usize {
        self.0 as usize
    }

    /// The node of a row. Rows above 2^32 do not exist.
    #[inline]
    pub const fn from_row(row: usize) -> Self {
        Self(row as u32)
    }
}

/// A set of node rows. Iterates in row order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// The empty set, with room for `rows` rows.
    pub fn with_rows(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(64)] }
    }

    /// Adds a row; grows when the row lies beyond the room.
    pub fn insert(&mut self, node: NodeId) {
        let word = node.row() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (node.row() % 64);
    }

    /// Removes a row.
    pub fn remove(&mut self, node: NodeId) {
        if let Some(word) = self.words.get_mut(node.row() / 64) {
            *word &= !(1 << (node.row() % 64));
        }
    }

    /// Removes rows of one word of 64.
    pub fn remove_rows(&mut self, word: usize, rows: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word &= !rows;
        }
    }

    /// Whether the row is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        self.words.get(node.row() / 64).is_some_and(|word| word >> (node.row() % 64) & 1 == 1)
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

    /// Becomes a copy of `other` without giving its room back.
    pub fn copy_from(&mut self, other: &NodeSet) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
    }

    /// Keeps the rows that are in `other` too.
    pub fn intersect(&mut self, other: &NodeSet) {
        for (at, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(at).copied().unwrap_or(0);
        }
    }

    /// Adds the rows of `other`.
    pub fn union(&mut self, other: &NodeSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Removes the rows of `other`.
    pub fn subtract(&mut self, other: &NodeSet) {
        for (word, gone) in self.words.iter_mut().zip(&other.words) {
            *word &= !gone;
        }
    }

    /// The rows in row order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, word)| bits(*word).map(move |bit| NodeId::from_row(at * 64 + bit)))
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

/// The bits of a word, lowest first.
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

/// A word from 64 flags of 0 or 1, the first in the lowest bit.
///
/// Flags are bytes while they are made, because bytes are what a compiler turns comparisons of many rows into.
#[inline]
pub fn pack(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Each factor moves one flag to its place in the highest byte; no two of them meet.
        let highest = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= highest << (8 * at);
    }
    word
}

/// The 64 entries of one word of rows. `None` beyond the end of the column.
#[inline]
pub fn block<T>(column: &[T], word: usize) -> Option<&[T; 64]> {
    column.as_chunks().0.get(word)
}

/// The rows of a word whose entry passes; none beyond the end of the column.
#[inline]
pub fn rows_where<T>(column: &[T], word: usize, test: impl Fn(&T) -> bool) -> u64 {
    let Some(block) = block(column, word) else { return 0 };
    let mut flags = [0; 64];
    for (flag, entry) in flags.iter_mut().zip(block) {
        *flag = u8::from(test(entry));
    }
    pack(&flags)
}

/// The words of `nodes` that hold any row, each with the 64 entries of `column` to be written.
pub fn blocks_mut<'c, T>(
    nodes: &'c NodeSet,
    column: &'c mut [T],
) -> impl Iterator<Item = (usize, u64, &'c mut [T; 64])> {
    let blocks = nodes.words.iter().zip(column.as_chunks_mut().0).enumerate();
    blocks.filter(|(_, (rows, _))| **rows != 0).map(|(word, (rows, block))| (word, *rows, block))
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}
