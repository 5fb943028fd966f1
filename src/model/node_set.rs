//! [`NodeId`], the row of a node, [`NodeSet`], a set of rows, and passes over columns in words of 64 rows.

use super::bit_set::{BitSet, Row};

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

impl Row for NodeId {
    #[inline]
    fn row(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_row(row: usize) -> Self {
        Self(row as u32)
    }
}

/// A set of nodes by row.
pub type NodeSet = BitSet<NodeId>;

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
    let blocks = nodes.words().iter().zip(column.as_chunks_mut().0).enumerate();
    blocks.filter(|(_, (rows, _))| **rows != 0).map(|(word, (rows, block))| (word, *rows, block))
}
