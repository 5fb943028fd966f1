//! Which marks on bound pods count. A mark is worked off once, which a condition of the pod says from then on, and only
//! with its proof that this scheduler bound the pod there; every other one is removed, with a growing
//! pause where a user sets it again and again. `after_bind` decides with it.

use super::after_binds::{FIRST_PAUSE, Key, LONGEST_PAUSE};
use bayplan_model::{Duration, PodKey, Symbol};
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of marks as long as their pods are there.
#[derive(Clone, Default)]
pub(super) struct MarkJudge {
    /// What is written already: a copy of its mark proves nothing.
    finished: BTreeSet<Key>,
    /// How many marks of a pod were removed unread.
    removed: BTreeMap<PodKey, u32>,
}

/// What a mark on a bound pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judgement {
    /// One of this scheduler, whose work is open.
    Open,
    /// Not one of this scheduler, or a copy of one whose work is done.
    Forged,
    /// It cannot be told yet, or it is another scheduler's.
    Unknown,
}

impl MarkJudge {
    /// Everything is written.
    pub(super) fn finish(&mut self, key: &Key) {
        self.finished.insert(key.clone());
    }

    /// Whether everything is written.
    pub(super) fn is_finished(&self, key: &Key) -> bool {
        self.finished.contains(key)
    }

    /// A forged mark of the pod goes: the pause before that.
    pub(super) fn pause(&mut self, pod: &PodKey) -> Duration {
        let count = self.removed.entry(pod.clone()).or_default();
        *count = count.saturating_add(1);
        match *count {
            1 => Duration::ZERO,
            more => Duration(FIRST_PAUSE.0.saturating_mul(1 << (more - 2).min(16)).min(LONGEST_PAUSE.0)),
        }
    }

    /// The pod is gone.
    pub(super) fn gone(&mut self, pod: &PodKey) {
        self.removed.remove(pod);
        let from = (pod.clone(), Symbol::default());
        let of_pod: Vec<Key> = self.finished.range(from..).take_while(|(of, _)| of == pod).cloned().collect();
        of_pod.iter().for_each(|key| {
            self.finished.remove(key);
        });
    }
}
