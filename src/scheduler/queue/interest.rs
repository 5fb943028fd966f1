//! Who waits for what: the events that the plugins of a profile registered, and the hints they give. Read by the
//! queue when something happened. What happened is derived elsewhere (`framework/events.rs`).
//!
//! Source: `pkg/scheduler/scheduler.go` (`buildQueueingHintMap`), `backend/queue/scheduling_queue.go`
//! (`isPodWorthRequeuing`).

use crate::framework::{
    ActionType, ClusterEvent, CycleState, EventObjects, EventRegistration, EventResource, Framework, Handle,
    PluginId, PluginSet, QueuedPodInfo, QueueingHint,
};
use crate::model::{PodKey, Snapshot, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A profile's framework with what its plugins wait for.
#[derive(Debug)]
pub(crate) struct Judges {
    /// The plugins.
    pub(crate) framework: Arc<Framework>,
    /// By place in the framework.
    waits: Vec<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    events: Vec<EventRegistration>,
    /// Registered for Node/Add without Node/UpdateNodeTaint: woken by every taint change, without a hint.
    every_taint: bool,
}

/// What an event means for a refused pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Worth {
    /// It cannot help.
    Skip,
    /// It may; the pod's back-off is kept.
    AfterBackoff,
    /// It may, and the plugin that waited for it had said `Pending`: without back-off.
    Immediately,
}

impl Judges {
    /// Asks the plugins once what they wait for.
    pub(crate) fn of(framework: &Arc<Framework>) -> Self {
        let points = framework.points();
        let mut asked = PluginSet::default();
        let lists =
            [&points.pre_enqueue, &points.pre_filter, &points.filter, &points.reserve, &points.permit];
        for id in lists.into_iter().flatten() {
            asked.insert(*id);
        }
        let waits = framework.plugins().iter().enumerate().map(|(at, plugin)| {
            if !asked.contains(PluginId(at as u16)) {
                return Waits::default();
            }
            let Some(extensions) = plugin.enqueue_extensions() else {
                let all = EventRegistration { resource: EventResource::WildCard, actions: ActionType::ALL };
                return Waits { events: vec![all], every_taint: false };
            };
            let events = extensions.events();
            let node = |action: ActionType| {
                events.iter().any(|e| e.resource == EventResource::Node && e.actions.intersects(action))
            };
            let every_taint = node(ActionType::ADD) && !node(ActionType::UPDATE_NODE_TAINT);
            Waits { events, every_taint }
        });
        Self { waits: waits.collect(), framework: framework.clone() }
    }

    /// Whether a plugin waits for an event of this sort.
    pub(crate) fn waits_for(&self, plugin: PluginId, event: &ClusterEvent) -> bool {
        self.waits.get(plugin.index()).is_some_and(|waits| {
            waits.events.iter().any(|registered| matches(registered, event))
                || waits.every_taint && is_taint_change(event)
        })
    }

    /// Whether the event may help this pod: the hints of the plugins that refused it. Wildcard events bypass hints;
    /// one that carries a pod is meant for that pod alone.
    pub(crate) fn worth(
        &self,
        info: &QueuedPodInfo,
        event: &ClusterEvent,
        snapshot: &Snapshot,
        now: Time,
    ) -> Worth {
        let refused_by =
            |id: PluginId| info.unschedulable_plugins.contains(id) || info.pending_plugins.contains(id);
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            return Worth::AfterBackoff;
        }
        if event.resource == EventResource::WildCard {
            return match meant_for(event) {
                Some(pod) if *pod != info.pod.key => Worth::Skip,
                _ => Worth::AfterBackoff,
            };
        }
        let mut worth = Worth::Skip;
        for (at, waits) in self.waits.iter().enumerate() {
            let id = PluginId(at as u16);
            if !refused_by(id) {
                continue;
            }
            let hinted = waits.events.iter().any(|registered| matches(registered, event));
            let helps = waits.every_taint && is_taint_change(event)
                || hinted && self.hint(id, info, event, snapshot, now) == QueueingHint::Queue;
            if !helps {
                continue;
            }
            if info.pending_plugins.contains(id) {
                return Worth::Immediately;
            }
            worth = Worth::AfterBackoff;
        }
        worth
    }

    /// A plugin's hint. One that panics may not keep the pod waiting.
    fn hint(
        &self,
        id: PluginId,
        info: &QueuedPodInfo,
        event: &ClusterEvent,
        snapshot: &Snapshot,
        now: Time,
    ) -> QueueingHint {
        let Some(extensions) = self.framework.plugin(id).and_then(|plugin| plugin.enqueue_extensions())
        else {
            return QueueingHint::Queue;
        };
        let state = CycleState::default();
        let handle = handle(info, snapshot, now, &state).for_plugin(id);
        catch_unwind(AssertUnwindSafe(|| extensions.hint(&handle, event))).unwrap_or(QueueingHint::Queue)
    }
}

/// The view of a queued pod for plugins that are asked outside an attempt.
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

fn is_taint_change(event: &ClusterEvent) -> bool {
    event.resource == EventResource::Node && event.action.intersects(ActionType::UPDATE_NODE_TAINT)
}

/// Whether a registration covers an event.
fn matches(registered: &EventRegistration, event: &ClusterEvent) -> bool {
    let resource = match registered.resource {
        EventResource::WildCard => true,
        EventResource::Pod => {
            matches!(
                event.resource,
                EventResource::Pod | EventResource::AssignedPod | EventResource::UnschedulablePod
            )
        }
        resource => resource == event.resource,
    };
    resource && registered.actions.intersects(event.action)
}
