//! Unschedulable pods, grouped by profile, rejecting plugins and gate. An event that no plugin of a group registered
//! for costs one check per group, not per pod.

use super::alarms::Alarms;
use super::interest::ProfileHints;
use bayplan_framework::{ClusterEvent, EventObjects, PluginId, PluginSet, QueuedPodInfo};
use bayplan_model::{PodKey, Time, VersionRow};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Group {
    hints: Arc<ProfileHints>,
    refused_by: PluginSet,
    gated_by: Option<PluginId>,
    /// By number of arrival.
    pods: BTreeMap<u64, PodKey>,
}

impl Group {
    /// Whether a rejecting plugin registered for this event. Only its gate can release a gated pod; in 1.36 events of the
    /// scheduler itself are only for gates that registered for everything.
    fn waits_for(&self, event: &ClusterEvent) -> bool {
        if let Some(gate) = self.gated_by {
            if event.is_wildcard() && self.hints.framework.version().has(VersionRow::GatesAtFlush) {
                return true;
            }
            let everything = || self.hints.framework.waits().waits_for_everything(gate);
            return self.hints.waits_for(gate, event) && (!event.is_wildcard() || everything());
        }
        event.is_wildcard() || self.refused_by.iter().any(|plugin| self.hints.waits_for(plugin, event))
    }

    /// Whether the gate or a rejecting plugin reads the clock.
    fn reads_clock(&self) -> bool {
        let reads = |plugin| self.hints.framework.reads_clock(plugin);
        self.gated_by.map_or_else(|| self.refused_by.iter().any(reads), reads)
    }
}

/// Pods waiting for an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Unschedulable {
    groups: Vec<Group>,
    /// When time may help them.
    pub(super) alarms: Alarms,
}

fn refused_by(info: &QueuedPodInfo) -> PluginSet {
    info.unschedulable_plugins.iter().chain(info.pending_plugins.iter()).collect()
}

impl Unschedulable {
    pub(super) fn insert(&mut self, hints: &Arc<ProfileHints>, info: &QueuedPodInfo, number: u64) {
        let plugins = refused_by(info);
        let same = |group: &&mut Group| {
            Arc::ptr_eq(&group.hints, hints)
                && group.gated_by == info.gating_plugin
                && group.refused_by == plugins
        };
        match self.groups.iter_mut().find(same) {
            Some(group) => {
                group.pods.insert(number, info.pod.key.clone());
            }
            None => self.groups.push(Group {
                hints: hints.clone(),
                refused_by: plugins,
                gated_by: info.gating_plugin,
                pods: BTreeMap::from([(number, info.pod.key.clone())]),
            }),
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        for group in &mut self.groups {
            group.pods.remove(&number);
        }
        self.groups.retain(|group| !group.pods.is_empty());
        self.alarms.remove(number);
    }

    /// The pods that an event may help, by number of arrival.
    pub(super) fn concerned(&self, event: &ClusterEvent) -> Vec<PodKey> {
        let mut pods: Vec<(&u64, &PodKey)> =
            self.groups.iter().filter(|group| group.waits_for(event)).flat_map(|g| &g.pods).collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// Sets the instant at which time may help to `now`, for every pod that a plugin refused which reads the clock.
    pub(super) fn ring_readers_of_the_clock(&mut self, now: Time) {
        let reading = self.groups.iter().filter(|group| group.reads_clock()).flat_map(|group| &group.pods);
        for (number, pod) in reading.map(|(number, pod)| (*number, pod.clone())).collect::<Vec<_>>() {
            self.alarms.set(number, &pod, Some(now));
        }
    }

    /// All pods, by number of arrival.
    pub(super) fn all(&self) -> Vec<PodKey> {
        let mut pods: Vec<(&u64, &PodKey)> = self.groups.iter().flat_map(|group| &group.pods).collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// Whether a pod may be requeued because it has waited long.
    pub(super) fn any_flushed(&self) -> bool {
        let event = ClusterEvent::wildcard("UnschedulableTimeout", EventObjects::None);
        self.groups.iter().any(|group| group.waits_for(&event))
    }

    /// The number of unschedulable pods and of gated pods.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |gated: bool| {
            let groups = self.groups.iter().filter(|group| group.gated_by.is_some() == gated);
            groups.map(|group| group.pods.len()).sum()
        };
        (count(false), count(true))
    }
}
