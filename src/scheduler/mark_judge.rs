//! Which marks on bound pods count. A mark is worked off once, which a condition of the pod says from then on, and only
//! with its proof that this scheduler bound the pod there; every other one is removed, with a growing
//! pause where a user sets it again and again. Called by `after_bind`.

use super::Scheduler;
use super::after_bind::{FIRST_PAUSE, Key, LONGEST_PAUSE};
use bayplan_model::{Duration, PodInfo, PodKey, Symbol};
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

impl Scheduler {
    /// What a mark on a pod with a node is.
    pub(super) fn judge_mark(&self, pod: &PodInfo, plugin: &Symbol, value: &str) -> Judgement {
        let (Some(node), true) = (&pod.node_name, self.profiles.get(&pod.scheduler_name).is_some()) else {
            return Judgement::Unknown;
        };
        let keys = &self.options.mark_keys;
        // The one knows what this instance wrote before a watch shows it, the other what instances before it wrote.
        if self.mark_judge.finished.contains(&(pod.key.clone(), plugin.clone()))
            || pod.written_after_bind.contains(plugin)
        {
            return Judgement::Forged;
        }
        match keys.prove(value, &pod.key, node, plugin) {
            true => Judgement::Open,
            false if keys.judge() => Judgement::Forged,
            false => Judgement::Unknown,
        }
    }
}
