//! [`Postings`]: the rows on which pods have a label, so that the pods of a match are found without looking at all pods.

use super::{Counts, PodMatch};
use crate::labels::{Labels, Requirement, SelectorOperator};
use crate::node_set::NodeId;
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

/// How many pods on which row have a label.
type Shard = FxHashMap<(Symbol, Symbol), Counts>;

/// Rows by label, in shards, so that a write after a fork copies one shard and not the whole table.
#[derive(Clone, Debug)]
pub(crate) struct Postings(Vec<Arc<Shard>>);

impl Default for Postings {
    fn default() -> Self {
        Self(vec![Arc::default(); Self::SHARDS])
    }
}

impl Postings {
    const SHARDS: usize = 256;

    fn shard(key: &Symbol, value: &Symbol) -> usize {
        // The hasher is fixed; the shard decides nothing that can be seen.
        (rustc_hash::FxBuildHasher.hash_one((key, value)) >> 48) as usize % Self::SHARDS
    }

    /// A pod with these labels came to a row (`by` is 1) or left it (-1). Labels that it has in `except` too are left
    /// out: the pod keeps them.
    pub(super) fn count(&mut self, labels: &Labels, except: &Labels, node: NodeId, by: i64) {
        for (key, value) in labels.iter().filter(|(key, value)| except.get(key) != Some(value)) {
            let shard = Arc::make_mut(&mut self.0[Self::shard(key, value)]);
            let of = (key.clone(), value.clone());
            if by > 0 {
                shard.entry(of).or_default().add(node, by);
                continue;
            }
            let Some(counts) = shard.get_mut(&of) else { continue };
            counts.add(node, by);
            if counts.is_empty() {
                shard.remove(&of);
                if shard.capacity() > 64.max(8 * shard.len()) {
                    shard.shrink_to_fit();
                }
            }
        }
    }

    fn get(&self, key: &Symbol, value: &Symbol) -> Option<&Counts> {
        self.0.get(Self::shard(key, value))?.get(&(key.clone(), value.clone()))
    }

    /// The rows that may have pods of a match, in order. `None`: its selectors require no value of any label.
    pub(crate) fn rows(&self, of: &PodMatch) -> Option<Vec<NodeId>> {
        let counts = |of: &Requirement| -> Vec<&Counts> {
            of.values.iter().filter_map(|value| self.get(&of.key, value)).collect()
        };
        let required = of.requirements().filter(|of| of.operator == SelectorOperator::In);
        let rarest =
            required.map(counts).min_by_key(|all| all.iter().map(|counts| counts.len()).sum::<usize>())?;
        let mut rows: Vec<NodeId> =
            rarest.into_iter().flat_map(|counts| counts.iter().map(|(node, _)| node)).collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    /// How many distinct labels the pods have.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.len()).sum()
    }
}
