//! The holders of what the snapshot keeps on request ([`Want`]): each pod of our profiles, from its arrival until the
//! watch shows it on a node, and the profiles, for what their plugins read for every pod. Pods of other schedulers and
//! pods on nodes hold nothing.

use super::Scheduler;
use super::cache::PodState;
use super::guard::guard;
use super::io::Profiles;
use bayplan_model::{PodInfo, PodKey, Want};
use std::sync::Arc;

impl Scheduler {
    /// A pod was seen, or an attempt for it begins: it holds what the plugins of its profile want for it now.
    pub(super) fn hold_wants(&mut self, pod: &Arc<PodInfo>) {
        let hints = self.hints_of(pod).filter(|_| pod.node_name.is_none());
        let wants = hints.and_then(|hints| {
            let framework = &hints.framework;
            // Without columns the plugins read nodes: what a plugin that panics wants is left out.
            guard(framework, || Ok(framework.wants(pod, &self.cache.snapshot))).ok()
        });
        let wants = wants.unwrap_or_default();
        let before = self.cache.holders.by_pod.get(&pod.key);
        if before.map_or(&[][..], Vec::as_slice) == wants {
            return;
        }
        self.cache.snapshot.want(&wants);
        self.let_wants_go(&pod.key);
        if !wants.is_empty() {
            self.cache.holders.by_pod.insert(pod.key.clone(), wants);
        }
    }

    /// A pod is gone: it holds nothing.
    pub(super) fn let_wants_go(&mut self, pod: &PodKey) {
        if let Some(wants) = self.cache.holders.by_pod.remove(pod) {
            self.cache.snapshot.unwant(&wants);
        }
    }

    /// Profiles were replaced: they hold what their plugins read for every pod.
    pub(super) fn hold_wants_of_profiles(&mut self, profiles: &Profiles) {
        let plugins = profiles.frameworks.iter().flat_map(|framework| framework.plugins());
        let mut wants: Vec<Want> =
            plugins.flat_map(|plugin| plugin.reads().label_keys).map(Want::Label).collect();
        wants.sort();
        wants.dedup();
        self.cache.snapshot.want(&wants);
        let before = std::mem::replace(&mut self.cache.holders.by_profiles, wants);
        self.cache.snapshot.unwant(&before);
    }

    /// The plugins of profiles were replaced: every pod that waits for a node holds what the new ones want for it.
    pub(super) fn hold_wants_again(&mut self) {
        let waiting = self.cache.pods().into_iter().filter(|(_, state)| !matches!(state, PodState::Bound(_)));
        let keys: Vec<PodKey> = waiting.map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(pod) = self.cache.pod(&key).cloned() {
                self.hold_wants(&pod);
            }
        }
    }
}
