//! Replaces profiles and policies between attempts. Indexes are added and removed with their plugins, queued pods
//! continue with the new plugins of their profile, bindings keep the framework that they began with.

use super::Scheduler;
use super::cache::PodState;
use super::io::{Effect, Profiles};
use super::queue::ProfileHints;
use bayplan_model::{PodInfo, PodKey, Time};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Scheduler {
    pub(super) fn replace_profiles(&mut self, profiles: Arc<Profiles>, now: Time, out: &mut Vec<Effect>) {
        self.cache.snapshot.decide_by(profiles.version());
        self.replace_indexes(&profiles);
        self.cache.snapshot.set_metrics_windows(profiles.metrics_windows());
        self.hold_wants_of_profiles(&profiles);
        let hints: Vec<Arc<ProfileHints>> = profiles
            .frameworks
            .iter()
            .map(|framework| {
                let kept = self.hints.iter().find(|hints| Arc::ptr_eq(&hints.framework, framework));
                kept.cloned().unwrap_or_else(|| Arc::new(ProfileHints::of(framework)))
            })
            .collect();
        self.hints = hints;
        self.by_rule.keep(profiles.frameworks.iter().map(AsRef::as_ref));
        self.profiles = profiles.clone();
        self.hold_wants_again();
        // Its plugins may have lost their indexes.
        self.give_up_suspended(now);
        self.queue.replace_judges(&self.hints, &self.cache.snapshot, now);
        self.adopt_pods(now);
        self.replace_waits(&profiles, now, out);
        self.marks_anew(now);
    }

    /// Removes the indexes of removed plugins, keeps indexes with an unchanged key, and builds the others from the
    /// snapshot, broken ones too. A key contains the declaration, so a changed declaration has another key.
    fn replace_indexes(&mut self, profiles: &Profiles) {
        let snapshot = &mut self.cache.snapshot;
        let mut wanted = FxHashSet::default();
        for plugin in profiles.frameworks.iter().flat_map(|framework| framework.plugins()) {
            for (key, index) in plugin.indexes() {
                // A broken index is made anew.
                if !snapshot.has_index(&key) {
                    snapshot.add_index(key.clone(), index);
                }
                wanted.insert(key);
            }
        }
        let gone: Vec<_> = snapshot.index_keys().filter(|key| !wanted.contains(key)).cloned().collect();
        for key in gone {
            snapshot.remove_index(&key);
        }
    }

    /// Enqueues the pods of new profiles, and removes the nominations of pods of removed profiles.
    fn adopt_pods(&mut self, now: Time) {
        let pending: Vec<PodKey> = self
            .cache
            .pods()
            .into_iter()
            .filter(|(_, state)| **state == PodState::Pending)
            .map(|(key, _)| key.clone())
            .collect();
        let mut pods: Vec<Arc<PodInfo>> =
            pending.iter().filter_map(|key| self.cache.pod(key).cloned()).collect();
        pods.sort_by(|a, b| (&a.namespace, &a.name, &a.key).cmp(&(&b.namespace, &b.name, &b.key)));
        for pod in pods {
            match self.hints_of(&pod) {
                Some(hints) => {
                    if !self.queue.contains(&pod.key) && !self.bindings.contains(&pod.key) {
                        let node = pod.nominated_node.clone();
                        self.cache.nominator.set(&pod, node.as_ref(), &mut self.cache.snapshot);
                        self.queue.add(pod, hints, &self.cache.snapshot, now);
                    }
                }
                None => {
                    let promised = self.cache.nominator.get(&pod.key).cloned();
                    self.nominate(&pod, None, now);
                    self.promise_ended(&pod, promised, None, now);
                }
            }
        }
    }
}
