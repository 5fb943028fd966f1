//! The active queue: ordered by the profile's QueueSort plugin, then by time, then by arrival.

use crate::framework::SortKey;
use crate::model::{PodKey, Time};
use std::collections::BTreeMap;

/// The sort key of a pod in the queue.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank {
    /// The key from the profile's QueueSort plugin.
    pub(crate) key: SortKey,
    /// When the pod entered the queue this time.
    pub(crate) since: Time,
    /// The number of the pod's arrival.
    pub(crate) number: u64,
}

/// Active pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Active(BTreeMap<Rank, PodKey>);

impl Active {
    pub(super) fn insert(&mut self, rank: Rank, pod: PodKey) {
        self.0.insert(rank, pod);
    }

    pub(super) fn remove(&mut self, rank: &Rank) {
        self.0.remove(rank);
    }

    pub(super) fn first(&self) -> Option<&PodKey> {
        self.0.values().next()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PodKey> {
        self.0.values()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
