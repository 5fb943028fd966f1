//! [`Bindings`]: all binding cycles, with the indexes that find them by alarm, wait and watched object. The stages of a
//! binding are in `binding_cycle.rs`.

use super::binding_cycle::BindingCycle;
use super::interested::{Concerned, Interested};
use super::permit_wait::WaitClass;
use bayplan_model::{Generation, Kind, ObjectKey, PodKey, Snapshot, Symbol, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The name by which a binding watches an object.
pub(super) type WatchKey = (Kind, Symbol, Symbol);

/// The name of an object for watches.
pub(super) fn watch_key(object: &ObjectKey) -> WatchKey {
    (object.kind.clone(), object.namespace.clone(), object.name.clone())
}

/// All bindings, by pod.
#[derive(Clone, Default)]
pub(super) struct Bindings {
    all: FxHashMap<PodKey, BindingCycle>,
    alarms: BTreeSet<(Time, PodKey)>,
    waiting: BTreeSet<PodKey>,
    classes: BTreeMap<WaitClass, BTreeSet<PodKey>>,
    interested: Interested<WaitClass>,
    watching: BTreeMap<WatchKey, BTreeSet<PodKey>>,
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

    /// The pods whose bindings watch an object, ordered by key.
    pub(super) fn watchers(&self, object: &ObjectKey) -> Vec<PodKey> {
        if self.watching.is_empty() {
            return Vec::new();
        }
        self.watching.get(&watch_key(object)).into_iter().flatten().cloned().collect()
    }

    /// The classes of waiting pods whose answer may have changed since `since`.
    pub(super) fn classes_concerned(&self, since: Generation, snapshot: &Snapshot) -> Concerned<WaitClass> {
        self.interested.since(since, snapshot)
    }

    /// The first pod of a class; the first one after `after`.
    pub(super) fn next_of(&self, class: &WaitClass, after: Option<&PodKey>) -> Option<PodKey> {
        let pods = self.classes.get(class)?;
        match after {
            Some(after) => pods.range((Bound::Excluded(after), Bound::Unbounded)).next().cloned(),
            None => pods.first().cloned(),
        }
    }

    /// Whether a pod is in a class.
    pub(super) fn is_in(&self, class: &WaitClass, pod: &PodKey) -> bool {
        self.classes.get(class).is_some_and(|pods| pods.contains(pod))
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
        if self.waiting.remove(pod) {
            binding.classes().for_each(|class| self.leave_class(&class, pod));
        }
        for object in binding.watches() {
            let key = watch_key(object);
            if let Some(pods) = self.watching.get_mut(&key) {
                pods.remove(pod);
                if pods.is_empty() {
                    self.watching.remove(&key);
                }
            }
        }
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
            binding.classes().for_each(|class| self.enter_class(class, &key));
        }
        for object in binding.watches() {
            self.watching.entry(watch_key(object)).or_default().insert(key.clone());
        }
        self.binds_open += usize::from(binding.has_bind_open());
        self.all.insert(key, binding);
    }

    fn enter_class(&mut self, class: WaitClass, pod: &PodKey) {
        match self.classes.get_mut(&class) {
            Some(pods) => {
                pods.insert(pod.clone());
            }
            None => {
                self.interested.insert(&class.interest, class.clone());
                self.classes.insert(class, BTreeSet::from([pod.clone()]));
            }
        }
    }

    fn leave_class(&mut self, class: &WaitClass, pod: &PodKey) {
        let Some(pods) = self.classes.get_mut(class) else { return };
        pods.remove(pod);
        if pods.is_empty() {
            self.interested.remove(&class.interest, class);
            self.classes.remove(class);
        }
    }
}
