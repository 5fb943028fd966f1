//! Keeps the order of the queue that of the sort keys: the keys that read what changed are computed again when the next
//! pod is asked for, so that many changes between two attempts cost one computation for each pod.

use super::{Place, SchedulingQueue};
use crate::model::{PodKey, Snapshot};

impl SchedulingQueue {
    /// Recomputes the sort keys of the pods whose keys read what changed.
    pub(super) fn rank_anew(&mut self, snapshot: &Snapshot) {
        let now_at = snapshot.generation();
        if now_at == self.keys_at {
            return;
        }
        let concerned = self.sorted.since(self.keys_at, snapshot);
        self.keys_at = now_at;
        for key in concerned.all {
            self.rank_again(&key, snapshot);
        }
    }

    pub(super) fn rank_again(&mut self, key: &PodKey, snapshot: &Snapshot) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let interest = entry.queued.sort_interest(snapshot);
        if interest != entry.interest {
            self.sorted.remove(&entry.interest, key);
            self.sorted.insert(&interest, key.clone());
            entry.interest = interest;
        }
        let fresh = entry.queued.rank(snapshot);
        match &mut entry.place {
            Place::Active(rank) if *rank != fresh => {
                self.active.remove(rank);
                self.active.insert(fresh.clone(), key.clone());
                *rank = fresh;
            }
            Place::Backoff { failed, expiry, rank } if *rank != fresh => {
                self.backoff.remove(*failed, *expiry, rank);
                self.backoff.insert(*failed, *expiry, fresh.clone(), key.clone());
                *rank = fresh;
            }
            _ => {}
        }
    }

    /// A pod whose sort key is not what its plugin computes now, though nothing changed that the key is said to read;
    /// for checks.
    pub(in crate::scheduler) fn misplaced(&self, snapshot: &Snapshot) -> Option<&PodKey> {
        let concerned = self.sorted.since(self.keys_at, snapshot).all;
        let misplaced = self.entries.iter().filter(|(key, entry)| match &entry.place {
            Place::Active(rank) | Place::Backoff { rank, .. } => {
                !concerned.contains(*key) && *rank != entry.queued.rank(snapshot)
            }
            Place::Unschedulable => false,
        });
        misplaced.map(|(key, _)| key).min()
    }
}
