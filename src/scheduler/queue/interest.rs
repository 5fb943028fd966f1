//! Whether an event may help a refused pod, by the hints of the plugins that refused it. The queue calls this for each
//! event. `framework/events.rs` defines events and registrations.
//!
//! Source: `pkg/scheduler/scheduler.go` (`buildQueueingHintMap`), `backend/queue/scheduling_queue.go`
//! (`isPodWorthRequeuing`).

use bayplan_framework::{
    ActionType, ClusterEvent, CycleState, EventObjects, EventResource, Framework, Handle, PluginId,
    QueuedPodInfo, QueueingHint,
};
use bayplan_model::{Duration, PodKey, Snapshot, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Interval at which a plugin is re-evaluated after it panicked.
pub(super) const CLOCK_EVERY: Duration = Duration::from_seconds(60);

/// A profile's framework, as the queue uses it.
#[derive(Debug)]
pub(crate) struct ProfileHints {
    /// The plugins.
    pub(crate) framework: Arc<Framework>,
}

/// What an event means for a refused pod: whether and how it is requeued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum RequeueStrategy {
    /// It cannot help.
    Skip,
    /// It may help; the pod's back-off still applies.
    AfterBackoff,
    /// It may help a plugin that had returned `Pending`: requeue without back-off.
    Immediately,
}

/// The profiles in service.
#[derive(Clone, Debug, Default)]
pub(super) struct Served(Vec<Arc<ProfileHints>>);

impl Served {
    pub(super) fn include(&mut self, hints: &Arc<ProfileHints>) {
        if !self.0.iter().any(|known| Arc::ptr_eq(known, hints)) {
            self.0.push(hints.clone());
        }
    }

    /// Whether a plugin of any profile waits for one of these actions.
    pub(super) fn want(&self, resource: EventResource, actions: ActionType) -> bool {
        self.0.iter().any(|hints| hints.framework.waits().anyone(resource, actions))
    }

    /// The framework that reports for all profiles: their probe is the same.
    pub(super) fn reporter(&self) -> Option<&Framework> {
        self.0.first().map(|hints| &*hints.framework)
    }
}

impl ProfileHints {
    pub(crate) fn of(framework: &Arc<Framework>) -> Self {
        Self { framework: framework.clone() }
    }

    /// The gate that holds a pod, or the plugins that refused it.
    fn keepers(info: &QueuedPodInfo) -> impl Iterator<Item = PluginId> {
        let refused_by = info.unschedulable_plugins.iter().chain(info.pending_plugins.iter());
        info.gating_plugin.into_iter().chain(refused_by.filter(|_| info.gating_plugin.is_none()))
    }

    /// Whether a plugin that keeps a pod out reads the clock.
    pub(crate) fn reads_clock(&self, info: &QueuedPodInfo) -> bool {
        Self::keepers(info).any(|id| self.framework.reads_clock(id))
    }

    /// The first instant after `since` at which the answer of a plugin that keeps a pod out may change. What is evaluated
    /// is added to `work`.
    pub(crate) fn next_change(
        &self,
        info: &QueuedPodInfo,
        snapshot: &Snapshot,
        since: Time,
        work: &mut u64,
    ) -> Option<Time> {
        let state = CycleState::default();
        let next = Self::keepers(info).filter_map(|id| {
            let plugin = self.framework.plugin(id)?;
            let handle = handle(info, snapshot, since, &state).for_plugin(id);
            // A plugin that panics is re-evaluated a minute later.
            let next = catch_unwind(AssertUnwindSafe(|| plugin.next_change(&handle, work)));
            next.unwrap_or(Some(since + CLOCK_EVERY)).map(|next| next.max(since + Duration(1)))
        });
        next.min()
    }

    /// Whether a plugin registered for this event.
    pub(crate) fn waits_for(&self, plugin: PluginId, event: &ClusterEvent) -> bool {
        self.framework.waits().interested(event).any(|id| id == plugin)
    }

    /// Whether the event may help this pod: the hints of the plugins that refused it. Wildcard events bypass hints;
    /// one that carries a pod is meant for that pod alone.
    pub(crate) fn strategy(
        &self,
        info: &QueuedPodInfo,
        event: &ClusterEvent,
        snapshot: &Snapshot,
        now: Time,
    ) -> RequeueStrategy {
        let refused_by =
            |id: PluginId| info.unschedulable_plugins.contains(id) || info.pending_plugins.contains(id);
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            return RequeueStrategy::AfterBackoff;
        }
        if event.is_wildcard() {
            return match meant_for(event) {
                Some(pod) if *pod != info.pod.key => RequeueStrategy::Skip,
                _ => RequeueStrategy::AfterBackoff,
            };
        }
        let mut strategy = RequeueStrategy::Skip;
        for id in self.framework.waits().interested(event) {
            if !refused_by(id) || self.hint(id, info, event, snapshot, now) == QueueingHint::Skip {
                continue;
            }
            if info.pending_plugins.contains(id) {
                return RequeueStrategy::Immediately;
            }
            strategy = RequeueStrategy::AfterBackoff;
        }
        strategy
    }

    /// A plugin's hint. A panic counts as `Queue`, so that the pod is not kept waiting.
    fn hint(
        &self,
        id: PluginId,
        info: &QueuedPodInfo,
        event: &ClusterEvent,
        snapshot: &Snapshot,
        now: Time,
    ) -> QueueingHint {
        let state = CycleState::default();
        let handle = handle(info, snapshot, now, &state);
        let since = self.framework.mark();
        let hint = catch_unwind(AssertUnwindSafe(|| self.framework.may_help(id, handle, event)));
        let hint = hint.ok().flatten();
        self.framework.hint_ended(id, event, hint, since);
        hint.unwrap_or(QueueingHint::Queue)
    }
}

/// The view of a queued pod for plugins that run outside an attempt.
pub(crate) fn handle<'a>(
    info: &'a QueuedPodInfo,
    snapshot: &'a Snapshot,
    now: Time,
    state: &'a CycleState,
) -> Handle<'a> {
    Handle {
        pod: &info.pod,
        snapshot,
        now,
        queued_at: Some(info.added),
        attempts: info.attempts,
        refused_late: info.refused_late && info.gating_plugin.is_none(),
        gated: info.gating_plugin.is_some(),
        cycle: state,
        plugin: PluginId::NONE,
    }
}

fn meant_for(event: &ClusterEvent) -> Option<&PodKey> {
    match &event.objects {
        EventObjects::Pod { new: Some(pod), .. } => Some(&pod.key),
        _ => None,
    }
}
