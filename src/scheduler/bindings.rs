//! [`Bindings`]: all binding cycles, with the indexes that find them by alarm, wait and watched object. The stages of a
//! binding are in `binding.rs`.

use super::binding::BindingCycle;
use crate::model::{PodKey, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// All bindings, by pod.
#[derive(Clone, Default)]
pub(super) struct Bindings {
    all: FxHashMap<PodKey, BindingCycle>,
    alarms: BTreeSet<(Time, PodKey)>,
    waiting: BTreeSet<PodKey>,
    watching: BTreeSet<PodKey>,
    binds_open: usize,
}

impl Bindings {
    pub(super) fn contains(&self, pod: &PodKey) -> bool {
        self.all.contains_key(pod)
    }

    pub(super) fn get(&self, pod: &PodKey) -> Option<&BindingCycle> {
        self.all.get(pod)
    }

    /// All of them, ordered by pod.
    pub(super) fn all(&self) -> Vec<(&PodKey, &BindingCycle)> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// Pods that wait at Permit, ordered by key.
    pub(super) fn waiting(&self) -> &BTreeSet<PodKey> {
        &self.waiting
    }

    /// Pods whose binding watches an object, ordered by key.
    pub(super) fn watching(&self) -> &BTreeSet<PodKey> {
        &self.watching
    }

    /// The pod with the earliest alarm that has passed.
    pub(super) fn first_alarm(&self, now: Time) -> Option<&PodKey> {
        self.alarms.first().filter(|(at, _)| *at <= now).map(|(_, pod)| pod)
    }

    pub(super) fn next_alarm(&self) -> Option<Time> {
        self.alarms.first().map(|(at, _)| *at)
    }

    pub(super) fn binds_open(&self) -> usize {
        self.binds_open
    }

    /// Takes a binding out to work on it; [`Bindings::put`] puts it back.
    pub(super) fn take(&mut self, pod: &PodKey) -> Option<BindingCycle> {
        let binding = self.all.remove(pod)?;
        if let Some(at) = binding.alarm() {
            self.alarms.remove(&(at, pod.clone()));
        }
        self.waiting.remove(pod);
        self.watching.remove(pod);
        self.binds_open -= usize::from(binding.has_bind_open());
        Some(binding)
    }

    pub(super) fn put(&mut self, binding: BindingCycle) {
        let key = binding.key().clone();
        if let Some(at) = binding.alarm() {
            self.alarms.insert((at, key.clone()));
        }
        if binding.is_waiting() {
            self.waiting.insert(key.clone());
        }
        if binding.watches() {
            self.watching.insert(key.clone());
        }
        self.binds_open += usize::from(binding.has_bind_open());
        self.all.insert(key, binding);
    }
}
