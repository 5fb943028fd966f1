//! The queue as plain data: copied from a running scheduler, and taken over by another one (`crate::memory`).

use super::interest::RequeueStrategy;
use super::{Entry, Place as InQueue, QueuePlace, Queued, SchedulingQueue};
use crate::memory::{Place, QueueEntry};
use bayplan_framework::{Framework, Interest, PluginId, PluginSet, QueuedPodInfo};
use bayplan_model::{PodKey, Snapshot, Time};
use std::collections::BTreeMap;

/// A queued pod, without the texts about it.
pub(crate) struct Copied {
    pub(crate) queued: Queued,
    pub(crate) place: Place,
    /// The second in which its back-off ends.
    pub(crate) until: Option<Time>,
    /// When time alone may help it.
    pub(crate) alarm: Option<Time>,
}

impl Copied {
    /// A pod whose attempt is not over.
    pub(crate) fn in_flight(queued: &Queued) -> Self {
        Self { queued: queued.copied(), place: Place::InFlight, until: None, alarm: None }
    }

    /// What the order of the queue is by: the queue, and within it as the scheduler takes them.
    pub(crate) fn order(&self, snapshot: &Snapshot) -> impl Ord + use<> {
        let ranked = matches!(self.place, Place::Active | Place::Backoff);
        let rank = ranked.then(|| self.queued.rank(snapshot));
        (self.place as u8, self.until, rank, self.queued.number)
    }
}

impl Queued {
    /// A copy without the texts about it, which costs no allocation.
    fn copied(&self) -> Self {
        let info = &self.info;
        Self {
            info: QueuedPodInfo {
                pod: info.pod.clone(),
                unschedulable_plugins: info.unschedulable_plugins.clone(),
                pending_plugins: info.pending_plugins.clone(),
                blame: None,
                told: Vec::new(),
                ..*info
            },
            hints: self.hints.clone(),
            held: None,
            ..*self
        }
    }
}

impl SchedulingQueue {
    /// All queued pods, in no particular order.
    pub(crate) fn copied(&self) -> Vec<Copied> {
        let copied = |entry: &Entry| {
            let (place, until) = match &entry.place {
                InQueue::Active(_) => (QueuePlace::Active, None),
                InQueue::Backoff { expiry, .. } => (QueuePlace::Backoff, Some(*expiry)),
                InQueue::Unschedulable if entry.queued.info.gating_plugin.is_some() => {
                    (QueuePlace::Gated, None)
                }
                InQueue::Unschedulable => (QueuePlace::Unschedulable, None),
            };
            let alarm = self.unschedulable.alarms.of(entry.queued.number);
            Copied { queued: entry.queued.copied(), place: place.into(), until, alarm }
        };
        self.entries.values().map(copied).collect()
    }

    /// Puts a queued pod where an entry says, behind those that were recalled before. `policies` says what the policies of the entry meant: where one means
    /// something else here, the pod is tried again.
    pub(crate) fn recall(
        &mut self,
        key: &PodKey,
        entry: &QueueEntry,
        policies: &BTreeMap<String, u64>,
        snapshot: &Snapshot,
        now: Time,
    ) {
        let Some(mut queued) = self.remove(key) else { return };
        self.arrivals += 1;
        queued.number = self.arrivals;
        let framework = queued.hints.framework.clone();
        let ids = |names: &[String]| -> Option<PluginSet> {
            names.iter().map(|name| same_plugin(&framework, name, policies)).collect()
        };
        let (refused, pending) = (ids(&entry.refused_by), ids(&entry.pending));
        let gate = entry.gate.as_ref().map(|name| same_plugin(&framework, name, policies));
        let same = refused.is_some() && pending.is_some() && gate != Some(None);
        let info = &mut queued.info;
        info.attempts = entry.attempts.min(MOST);
        info.unschedulable_count = entry.refusals.min(MOST);
        info.consecutive_errors = entry.errors.min(MOST);
        info.added = entry.added.0;
        info.timestamp = entry.since.0;
        info.initial_attempt = entry.first_ready.map(|at| at.0);
        info.unschedulable_plugins = refused.unwrap_or_default();
        info.pending_plugins = pending.unwrap_or_default();
        info.gating_plugin = gate.flatten();
        (info.refused_late, info.flushed) = (entry.refused_late, entry.flushed);
        (info.full_backoff, info.helped) = (entry.full_backoff, entry.helped);
        queued.ready = entry.ready.0;
        queued.attempted = entry.attempted.map(|at| at.0);
        match entry.queue {
            Place::Unschedulable | Place::Gated if same => {
                self.unschedulable.insert(&queued.hints, &queued.info, queued.number);
                let judged = queued.judged_at(now);
                match entry.alarm {
                    Some(at) => self.unschedulable.alarms.set(queued.number, key, Some(at.0)),
                    None => self.unschedulable.alarms.compute(&queued, judged, snapshot, now),
                }
                self.census.add(&queued);
                let (place, interest) = (InQueue::Unschedulable, Interest::default());
                self.entries.insert(key.clone(), Entry { queued, place, interest });
            }
            Place::Active | Place::InFlight => self.make_active(key.clone(), queued, snapshot, now),
            Place::Unschedulable | Place::Gated | Place::Backoff => {
                self.put(queued, RequeueStrategy::AfterBackoff, snapshot, now);
            }
        }
    }

    /// Makes a waiting pod active, whatever it waits for; its gates still hold.
    pub(crate) fn activate_at_once(&mut self, key: &PodKey, snapshot: &Snapshot, now: Time) {
        self.activate_as(RequeueStrategy::Immediately, key, snapshot, now);
    }
}

/// More attempts than a pod has.
const MOST: u32 = u32::MAX / 2;

/// The plugin of a name, unless it is a policy that means something else than it did.
fn same_plugin(framework: &Framework, name: &str, policies: &BTreeMap<String, u64>) -> Option<PluginId> {
    let at = framework.plugins().iter().position(|plugin| plugin.name() == name)?;
    let id = PluginId(u16::try_from(at).ok()?);
    let digest = framework.plugin(id)?.rule_plugin().map(|of| of.digest());
    (digest.is_none() || digest == policies.get(name).copied()).then_some(id)
}
