//! [`Queued`]: what the queue knows of one pod, from its arrival until it is bound or gone.

use super::ProfileHints;
use super::active::{Rank, Seat};
use super::held::Held;
use super::interest::handle;
use bayplan_framework::{CycleState, Interest, PluginId, QueuedPodInfo, SortShare};
use bayplan_model::{Kinds, Snapshot, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A popped pod, with the data to requeue it.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    /// The queue's record of the pod.
    pub(crate) info: QueuedPodInfo,
    /// The plugins of its profile when it was popped.
    pub(crate) hints: Arc<ProfileHints>,
    /// The number of its arrival.
    pub(crate) number: u64,
    /// When it last entered the active queue.
    pub(crate) ready: Time,
    /// When its last attempt began: the rules that refused it read the clock then.
    pub(crate) attempted: Option<Time>,
    /// Whether `HeldByPolicy` was the last reason that its condition was given.
    pub(crate) says_held: bool,
    /// The gate that holds it, if its condition is to say so.
    pub(super) held: Option<Held>,
}

impl Queued {
    /// When the plugins that keep it out were last evaluated: gates just now, others in the last attempt.
    pub(super) fn judged_at(&self, now: Time) -> Time {
        self.attempted.filter(|_| self.info.gating_plugin.is_none()).unwrap_or(now)
    }

    /// Counts a failed attempt, by which back-off grows. A pod that no plugin refused failed with an error.
    pub(super) fn note_failure(&mut self, now: Time) {
        let info = &mut self.info;
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            info.consecutive_errors += 1;
        } else {
            info.unschedulable_count += 1;
            info.consecutive_errors = 0;
        }
        info.timestamp = now;
        info.flushed = false;
    }

    /// The sort key of a pod; a panic of the QueueSort plugin gives the key of pods without one.
    pub(super) fn rank(&self, snapshot: &Snapshot) -> Rank {
        let key = catch_unwind(AssertUnwindSafe(|| self.hints.framework.sort_key(&self.info, snapshot)));
        Rank { key: key.unwrap_or_default(), since: self.info.timestamp, number: self.number }
    }

    /// What can change the sort key of a pod; everything where the QueueSort plugin panics.
    pub(super) fn sort_interest(&self, snapshot: &Snapshot) -> Interest {
        let framework = &self.hints.framework;
        let interest = catch_unwind(AssertUnwindSafe(|| framework.sort_interest(&self.info, snapshot)));
        interest.unwrap_or_else(|_| Interest { kinds: Kinds::ALL, groups: Vec::new() })
    }

    /// The place of a pod among the active ones, and what can change it, except what moves its class.
    pub(super) fn seat(&self, snapshot: &Snapshot) -> (Seat, Interest) {
        let framework = &self.hints.framework;
        let interest = self.sort_interest(snapshot);
        let share = catch_unwind(AssertUnwindSafe(|| framework.sort_share(&self.info, snapshot)));
        match share.ok().flatten().filter(|_| !interest.groups.is_empty()) {
            Some(SortShare { class, own }) => {
                let own = Rank { key: own, since: self.info.timestamp, number: self.number };
                let seat = Seat::Shared { class, groups: interest.groups.into(), own };
                (seat, Interest { kinds: interest.kinds, groups: Vec::new() })
            }
            None => (Seat::Alone(self.rank(snapshot)), interest),
        }
    }

    /// Whether more pods may be evicted for it than with the plugins that it had `before`; also where a rule panics.
    pub(super) fn may_evict_more(&self, before: &ProfileHints, snapshot: &Snapshot, now: Time) -> bool {
        let state = CycleState::default();
        let handle = handle(&self.info, snapshot, now, &state);
        let (framework, before) = (&self.hints.framework, &before.framework);
        catch_unwind(AssertUnwindSafe(|| framework.evicts_more(before, handle))).unwrap_or(true)
    }

    /// Translates the plugins that refused a pod to those of the new framework. Returns whether all of them are unchanged.
    pub(super) fn rename(&mut self, hints: Arc<ProfileHints>) -> bool {
        let old = self.hints.framework.clone();
        let mut same = true;
        let mut rename = |id: PluginId| {
            let successor = hints.framework.counterpart(&old, id);
            same &= successor.is_some();
            successor
        };
        let info = &mut self.info;
        info.unschedulable_plugins = info.unschedulable_plugins.iter().filter_map(&mut rename).collect();
        info.pending_plugins = info.pending_plugins.iter().filter_map(&mut rename).collect();
        info.gating_plugin = info.gating_plugin.and_then(rename);
        self.hints = hints;
        same
    }
}
