//! A scheduler takes over what another one remembered: the queue as it was there, and nominations. Assumed pods it has
//! to know on their nodes already.

use super::{Memory, key_of};
use crate::Scheduler;
use bayplan_model::{PodKey, Symbol, Time};
use std::collections::BTreeMap;

impl Scheduler {
    /// Takes over a memory, once the objects are known. A pod that is not queued here is left out, and so is what names a
    /// plugin that no profile has: such a pod is tried again, as after a reload.
    pub fn recall(&mut self, memory: &Memory, now: Time) {
        self.decider.set_next_start(memory.next_start);
        let nominated: BTreeMap<PodKey, Symbol> =
            memory.nominated.iter().map(|of| (key_of(&of.uid, &of.pod), Symbol::new(&of.node))).collect();
        let mut entries: Vec<_> = memory.queue.iter().map(|of| (key_of(&of.uid, &of.pod), of)).collect();
        entries.sort_by_key(|(_, of)| of.arrival);
        for (key, _) in &entries {
            if let Some(pod) = self.cache.pod(key).cloned() {
                self.cache.nominator.set(&pod, nominated.get(key), &mut self.cache.snapshot);
            }
        }
        for (key, entry) in entries {
            self.queue.recall(&key, entry, &memory.policies, &self.cache.snapshot, now);
        }
    }

    /// Makes a waiting pod active, as after the longest time that it waits for an event. Gates still hold it.
    pub fn retry(&mut self, pod: &PodKey, now: Time) {
        self.queue.activate_at_once(pod, &self.cache.snapshot, now);
    }
}
