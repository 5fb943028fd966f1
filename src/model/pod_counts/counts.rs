//! [`Counts`]: a number per node, of the nodes where it is not 0.

use crate::node_set::{NodeId, NodeSet};
use smallvec::SmallVec;

/// Pods per row, ordered by row; rows without a pod have no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(SmallVec<[(NodeId, u32); 2]>);

impl Counts {
    /// Adds to the number of a row. Returns by how much the number of entries changed.
    pub(crate) fn add(&mut self, node: NodeId, by: i64) -> isize {
        let place = match self.0.last() {
            Some((last, _)) if *last < node => Err(self.0.len()),
            _ => self.0.binary_search_by_key(&node, |(row, _)| *row),
        };
        match place {
            Ok(at) => {
                let Some((_, count)) = self.0.get_mut(at) else { return 0 };
                *count = u32::try_from(i64::from(*count) + by).unwrap_or_default();
                if *count > 0 {
                    return 0;
                }
                self.0.remove(at);
                if self.0.capacity() > 64.max(4 * self.0.len()) {
                    self.0.shrink_to_fit();
                }
                -1
            }
            Err(at) => match u32::try_from(by) {
                Ok(count) if count > 0 => {
                    self.0.insert(at, (node, count));
                    1
                }
                _ => 0,
            },
        }
    }

    /// How many rows have a pod.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no row has a pod.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows with their numbers, also rows of nodes that are gone.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, i64)> {
        self.0.iter().map(|(node, count)| (*node, i64::from(*count)))
    }

    /// The counts on living nodes.
    pub(crate) fn on<'s>(&'s self, alive: &'s NodeSet) -> NodeCounts<'s> {
        NodeCounts { counts: self, alive }
    }
}

/// Pods per node, of the living nodes that have any, in row order.
#[derive(Clone, Copy, Debug)]
pub struct NodeCounts<'s> {
    counts: &'s Counts,
    alive: &'s NodeSet,
}

impl<'s> NodeCounts<'s> {
    /// The nodes with their numbers of pods, in row order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, i64)> + use<'s> {
        let alive = self.alive;
        self.counts.iter().filter(|(node, _)| alive.contains(*node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_map() {
        let mut random = crate::testing::Random(7);
        let mut counts = Counts::default();
        let mut map = std::collections::BTreeMap::new();
        let mut entries = 0;
        for _ in 0..20_000 {
            let row = NodeId::from_row(random.below(200));
            let has: i64 = map.get(&row).copied().unwrap_or_default();
            let by = if has > 0 && random.one_in(2) { -1 } else { 1 };
            entries += counts.add(row, by);
            map.insert(row, has + by);
            map.retain(|_, count| *count != 0);
            assert_eq!(entries, map.len() as isize);
        }
        assert!(counts.iter().eq(map));
        assert_eq!(Counts::default().add(NodeId::from_row(1), -1), 0, "there is nothing to take away");
    }
}
