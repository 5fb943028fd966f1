//! Keeps the queue in the order of its sort keys. Keys that read what changed are computed again when the next pod is
//! popped, so that many changes between two attempts cost one computation for each pod, or class of pods.
//!
//! Log records since the last attempt find the pods, by the numbers of groups, sums and memos
//! (`QueueSort::interest`). The simulation calls `SchedulingQueue::misplaced` after each step.

use super::{Entry, Place, Queued, SchedulingQueue};
use bayplan_framework::Interest;
use bayplan_model::{PodKey, Snapshot, Time};

impl SchedulingQueue {
    /// Makes a pod active.
    pub(super) fn make_active(&mut self, key: PodKey, mut queued: Queued, snapshot: &Snapshot, now: Time) {
        queued.ready = now;
        let (seat, interest) = queued.seat(snapshot);
        self.active.insert(&seat, key.clone());
        self.enter(key, queued, Place::Active(seat), interest);
    }

    /// Keeps a pod that has a sort key.
    pub(super) fn enter(&mut self, key: PodKey, queued: Queued, place: Place, interest: Interest) {
        self.sorted.insert(&interest, key.clone());
        self.census.add(&queued);
        self.entries.insert(key, Entry { queued, place, interest });
    }

    /// Recomputes the sort keys of the pods whose keys read what changed.
    pub(super) fn rank_anew(&mut self, snapshot: &Snapshot) {
        let now_at = snapshot.generation();
        if now_at != self.keys_at {
            let concerned = self.sorted.since(self.keys_at, snapshot);
            self.active.moved(self.keys_at, snapshot);
            self.keys_at = now_at;
            for key in concerned.all {
                self.rank_again(&key, snapshot);
            }
        }
        let entries = &self.entries;
        self.active.settle(|pod| entries.get(pod).map(|entry| entry.queued.rank(snapshot)));
    }

    pub(super) fn rank_again(&mut self, key: &PodKey, snapshot: &Snapshot) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let interest = match &mut entry.place {
            Place::Active(seat) => {
                let (fresh, interest) = entry.queued.seat(snapshot);
                if *seat != fresh {
                    self.active.remove(seat);
                    self.active.insert(&fresh, key.clone());
                    *seat = fresh;
                }
                interest
            }
            Place::Backoff { failed, expiry, rank } => {
                let fresh = entry.queued.rank(snapshot);
                if *rank != fresh {
                    self.backoff.remove(*failed, *expiry, rank);
                    self.backoff.insert(*failed, *expiry, fresh.clone(), key.clone());
                    *rank = fresh;
                }
                entry.queued.sort_interest(snapshot)
            }
            Place::Unschedulable => return,
        };
        if interest != entry.interest {
            self.sorted.remove(&entry.interest, key);
            self.sorted.insert(&interest, key.clone());
            entry.interest = interest;
        }
    }

    /// The active pods, in the order of their keys as they are now.
    pub(crate) fn active(&self, snapshot: &Snapshot) -> Vec<&PodKey> {
        let active = self.entries.iter().filter(|(_, entry)| matches!(entry.place, Place::Active(_)));
        let mut ranked: Vec<_> = active.map(|(key, entry)| (entry.queued.rank(snapshot), key)).collect();
        ranked.sort();
        ranked.into_iter().map(|(_, key)| key).collect()
    }

    /// A pod whose place differs from its sort key, though nothing changed that the key reads; for checks.
    pub(crate) fn misplaced(&self, snapshot: &Snapshot) -> Option<&PodKey> {
        let concerned = self.sorted.since(self.keys_at, snapshot).all;
        let misplaced = self.entries.iter().filter(|(key, entry)| {
            let moved = match &entry.place {
                Place::Active(seat) => *seat != entry.queued.seat(snapshot).0,
                Place::Backoff { rank, .. } => *rank != entry.queued.rank(snapshot),
                Place::Unschedulable => false,
            };
            moved && !concerned.contains(*key)
        });
        let rank = |pod: &PodKey| self.entries.get(pod).map(|entry| entry.queued.rank(snapshot));
        let of_class = || self.active.misplaced(self.keys_at, snapshot, rank);
        misplaced.map(|(key, _)| key).min().or_else(of_class)
    }
}
