//! The active queue: ordered by the profile's QueueSort plugin, then by time, then by arrival.
//!
//! Pods whose keys move together are a class: they keep their order among each other, and the first of them stands for
//! all in the order of the queue. So a sum that moves costs one key for each class that reads it, however many pods wait.

use crate::interested::Interested;
use bayplan_framework::{Interest, SortKey};
use bayplan_model::{Generation, Kinds, PodKey, Snapshot, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

/// How the place of a pod in the queue is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seat {
    /// By its own key.
    Alone(Rank),
    /// Among the pods of its class.
    Shared {
        class: SortKey,
        /// The groups that move the class.
        groups: Arc<[u64]>,
        /// By what tells it from the others.
        own: Rank,
    },
}

/// Pods whose keys move together.
#[derive(Clone, Debug)]
struct Class {
    members: BTreeMap<Rank, PodKey>,
    moved_by: Interest,
    /// The rank of the first of them in `Active::order`; `None` if it must be computed.
    placed: Option<Rank>,
}

/// Active pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Active {
    /// Pods without a class, and the first of each class.
    order: BTreeMap<Rank, PodKey>,
    classes: FxHashMap<SortKey, Class>,
    /// The classes by what moves them.
    interested: Interested<SortKey>,
    /// The classes without a place in `order`.
    unsettled: BTreeSet<SortKey>,
    len: usize,
}

impl Active {
    pub(super) fn insert(&mut self, seat: &Seat, pod: PodKey) {
        self.len += 1;
        let (class, groups, own) = match seat {
            Seat::Alone(rank) => {
                self.order.insert(rank.clone(), pod);
                return;
            }
            Seat::Shared { class, groups, own } => (class, groups, own),
        };
        let interested = &mut self.interested;
        let of = self.classes.entry(class.clone()).or_insert_with(|| {
            let moved_by = Interest { kinds: Kinds::NONE, groups: groups.to_vec() };
            interested.insert(&moved_by, class.clone());
            Class { members: BTreeMap::new(), moved_by, placed: None }
        });
        of.members.insert(own.clone(), pod);
        if of.members.keys().next() == Some(own) {
            self.unsettle(class);
        }
    }

    pub(super) fn remove(&mut self, seat: &Seat) {
        let (class, own) = match seat {
            Seat::Alone(rank) => {
                self.len -= usize::from(self.order.remove(rank).is_some());
                return;
            }
            Seat::Shared { class, own, .. } => (class, own),
        };
        let Some(of) = self.classes.get_mut(class) else { return };
        let was_first = of.members.keys().next() == Some(own);
        self.len -= usize::from(of.members.remove(own).is_some());
        let is_empty = of.members.is_empty();
        if was_first {
            self.unsettle(class);
        }
        if is_empty && let Some(of) = self.classes.remove(class) {
            self.interested.remove(&of.moved_by, class);
            self.unsettled.remove(class);
        }
    }

    /// The place of a class is to be computed.
    fn unsettle(&mut self, class: &SortKey) {
        let Some(of) = self.classes.get_mut(class) else { return };
        if let Some(rank) = of.placed.take() {
            self.order.remove(&rank);
        }
        self.unsettled.insert(class.clone());
    }

    /// The places of the classes that changes moved since then are to be computed.
    pub(super) fn moved(&mut self, since: Generation, snapshot: &Snapshot) {
        for class in self.interested.since(since, snapshot).all {
            self.unsettle(&class);
        }
    }

    /// Computes the places that are to be computed, from the ranks of pods.
    pub(super) fn settle(&mut self, rank: impl Fn(&PodKey) -> Option<Rank>) {
        for class in std::mem::take(&mut self.unsettled) {
            let Some(of) = self.classes.get_mut(&class) else { continue };
            let Some(first) = of.members.values().next() else { continue };
            let Some(rank) = rank(first) else { continue };
            self.order.insert(rank.clone(), first.clone());
            of.placed = Some(rank);
        }
    }

    /// The first pod, once all places are computed.
    pub(super) fn first(&self) -> Option<&PodKey> {
        self.order.values().next()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A pod of a class that is not in the order of the ranks, or the first of a class whose rank is another one though
    /// nothing moved since it was computed; for checks.
    pub(super) fn misplaced(
        &self,
        since: Generation,
        snapshot: &Snapshot,
        rank: impl Fn(&PodKey) -> Option<Rank>,
    ) -> Option<&PodKey> {
        let moved = self.interested.since(since, snapshot).all;
        let misplaced = self.classes.iter().filter_map(|(class, of)| {
            let ranks: Vec<_> = of.members.values().map(|pod| (rank(pod), pod)).collect();
            let settled = moved.contains(class)
                || self.unsettled.contains(class)
                || ranks.first().is_some_and(|(rank, _)| *rank == of.placed);
            let unordered = ranks.windows(2).find(|pair| matches!(pair, [left, right] if left.0 >= right.0));
            let unordered = unordered.and_then(|pair| pair.last());
            unordered.or(ranks.first().filter(|_| !settled)).map(|(_, pod)| *pod)
        });
        misplaced.min()
    }
}
