//! Counts of pods by topology key and domain, which follow pods that a simulation adds and removes.

use super::domains::{Sums, Tally};
use bayplan_model::{NodeInfo, Symbol};
use smallvec::SmallVec;
use std::sync::Arc;

/// Counts by key and domain. A copy shares the counts of the cluster; the changes of a simulation are its own.
#[derive(Clone, Default, Debug)]
pub(super) struct Counts {
    cluster: Arc<Cluster>,
    moved: SmallVec<[Moved; 1]>,
}

/// Counts of the cluster.
#[derive(Default, Debug)]
struct Cluster {
    keys: Vec<Sums>,
    /// Domains with another count than 0.
    nonzero: usize,
}

/// A domain whose count a simulation changed.
#[derive(Clone, Debug)]
struct Moved {
    key: Symbol,
    value: Symbol,
    /// The count in the cluster.
    before: i64,
    by: i64,
}

impl Counts {
    pub(super) fn of(tally: Tally<'_>) -> Self {
        let (keys, _) = tally.finish();
        let nonzero = keys.iter().map(Sums::nonzero).sum();
        Self { cluster: Arc::new(Cluster { keys, nonzero }), moved: SmallVec::new() }
    }

    /// Whether every count is 0.
    pub(super) fn is_empty(&self) -> bool {
        let (gained, lost) = self.moved.iter().fold((0, 0), |(gained, lost), of| {
            let (before, now) = (of.before != 0, of.before + of.by != 0);
            (gained + usize::from(!before && now), lost + usize::from(before && !now))
        });
        self.cluster.nonzero + gained == lost
    }

    /// Whether a simulation changed a count.
    pub(super) fn is_simulated(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Changes the count of the domain that a node is in by a key.
    pub(super) fn shift(&mut self, key: &Symbol, node: NodeInfo, by: i64) {
        let Some(value) = node.label(key) else { return };
        match self.moved.iter_mut().find(|of| of.key == *key && of.value == *value) {
            Some(of) => of.by += by,
            None => {
                let before = self.of_cluster(key).map_or(0, |sums| sums.at(node.id()));
                self.moved.push(Moved { key: key.clone(), value: value.clone(), before, by });
            }
        }
    }

    /// The count of the domain that a node is in by a key; 0 where it is in none.
    pub(super) fn at(&self, key: &Symbol, node: NodeInfo) -> i64 {
        let in_cluster = self.of_cluster(key).map_or(0, |sums| sums.at(node.id()));
        in_cluster + self.moved_at(node).filter(|of| of.key == *key).map(|of| of.by).sum::<i64>()
    }

    /// Whether any domain that a node is in has a count above 0.
    pub(super) fn any_at(&self, node: NodeInfo) -> bool {
        self.keys_at(node).next().is_some()
    }

    /// The keys by which a node is in a domain with a count above 0.
    pub(super) fn keys_at<'c>(&'c self, node: NodeInfo<'c>) -> impl Iterator<Item = &'c Symbol> {
        let of_cluster = self.cluster.keys.iter().map(|sums| &sums.key);
        let new = |of: &&Moved| self.of_cluster(&of.key).is_none();
        let all = of_cluster.chain(self.moved_at(node).filter(new).map(|of| &of.key));
        all.filter(move |key| self.at(key, node) > 0)
    }

    /// The counts of the cluster by one key; `None` when no pod is counted by it.
    pub(super) fn of_cluster(&self, key: &Symbol) -> Option<&Sums> {
        self.cluster.keys.iter().find(|sums| sums.key == *key)
    }

    /// The rows of a word that are in a domain with a count above 0 by any key. Simulations are left out.
    pub(super) fn rows_counted(&self, word: usize) -> u64 {
        self.cluster.keys.iter().fold(0, |rows, sums| rows | sums.rows_above_zero(word))
    }

    fn moved_at<'c>(&'c self, node: NodeInfo<'c>) -> impl Iterator<Item = &'c Moved> {
        self.moved.iter().filter(move |of| node.label(&of.key) == Some(&of.value))
    }
}
