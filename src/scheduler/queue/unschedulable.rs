//! Pods waiting for an event that may help them, in groups of (profile, plugins that refused, gate), so that an event
//! nobody waits for costs one look per group and not per pod.

use super::interest::Judges;
use crate::framework::{ClusterEvent, PluginId, PluginSet, QueuedPodInfo};
use crate::model::PodKey;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Group {
    judges: Arc<Judges>,
    refused_by: PluginSet,
    gated_by: Option<PluginId>,
    /// By number of arrival.
    pods: BTreeMap<u64, PodKey>,
}

impl Group {
    /// Whether anyone who keeps these pods waits for such an event. A gated pod is let through by its gate alone.
    fn waits_for(&self, event: &ClusterEvent) -> bool {
        if let Some(gate) = self.gated_by {
            return !event.is_wildcard() && self.judges.waits_for(gate, event);
        }
        event.is_wildcard() || self.refused_by.iter().any(|plugin| self.judges.waits_for(plugin, event))
    }

    /// Whether time alone may let these pods go on.
    fn reads_clock(&self) -> bool {
        match self.gated_by {
            Some(gate) => self.judges.reads_clock(gate),
            None => self.refused_by.iter().any(|plugin| self.judges.reads_clock(plugin)),
        }
    }
}

/// Pods waiting for an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Unschedulable {
    groups: Vec<Group>,
}

fn refused_by(info: &QueuedPodInfo) -> PluginSet {
    info.unschedulable_plugins.iter().chain(info.pending_plugins.iter()).collect()
}

impl Unschedulable {
    pub(super) fn insert(&mut self, judges: &Arc<Judges>, info: &QueuedPodInfo, number: u64) {
        let plugins = refused_by(info);
        let same = |group: &&mut Group| {
            Arc::ptr_eq(&group.judges, judges)
                && group.gated_by == info.gating_plugin
                && group.refused_by == plugins
        };
        match self.groups.iter_mut().find(same) {
            Some(group) => {
                group.pods.insert(number, info.pod.key.clone());
            }
            None => self.groups.push(Group {
                judges: judges.clone(),
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
    }

    /// The pods that are to be asked about an event, by number of arrival.
    pub(super) fn concerned(&self, event: &ClusterEvent) -> Vec<PodKey> {
        let mut pods: Vec<(&u64, &PodKey)> =
            self.groups.iter().filter(|group| group.waits_for(event)).flat_map(|g| &g.pods).collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// The pods that a plugin keeps which reads the clock, by number of arrival.
    pub(super) fn clocked(&self) -> Vec<PodKey> {
        let groups = self.groups.iter().filter(|group| group.reads_clock());
        let mut pods: Vec<(&u64, &PodKey)> = groups.flat_map(|group| &group.pods).collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// Whether there are such pods.
    pub(super) fn has_clocked(&self) -> bool {
        self.groups.iter().any(Group::reads_clock)
    }

    /// All pods, by number of arrival.
    pub(super) fn all(&self) -> Vec<PodKey> {
        let mut pods: Vec<(&u64, &PodKey)> = self.groups.iter().flat_map(|group| &group.pods).collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// How many wait, and how many are kept out by a gate.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |gated: bool| {
            let groups = self.groups.iter().filter(|group| group.gated_by.is_some() == gated);
            groups.map(|group| group.pods.len()).sum()
        };
        (count(false), count(true))
    }
}
