//! [`Waits`]: the events that the plugins of a framework registered for.
//!
//! Source: `pkg/scheduler/scheduler.go`, `buildQueueingHintMap`.

use super::events::{ActionType, ClusterEvent, EventRegistration, EventResource, QueueingHint};
use super::handle::Handle;
use super::order::Points;
use super::plugin::Plugin;
use super::plugin_id::PluginId;
use bayplan_model::{VersionRow, VersionRows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which events the plugins of a framework wait for.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    rows: Vec<Wait>,
    /// The actions that any plugin waits for, by resource of an event.
    wanted: BTreeMap<EventResource, ActionType>,
}

/// The resources of events.
const RESOURCES: [EventResource; 21] = [
    EventResource::AssignedPod,
    EventResource::DecidedPod,
    EventResource::WaitingPod,
    EventResource::UnschedulablePod,
    EventResource::TargetPod,
    EventResource::Node,
    EventResource::Namespace,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::StorageClass,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::CsiStorageCapacity,
    EventResource::VolumeAttachment,
    EventResource::DaemonSet,
    EventResource::ResourceClaim,
    EventResource::ResourceSlice,
    EventResource::DeviceClass,
    EventResource::LookedUp,
    EventResource::Memo,
    EventResource::NodeMetrics,
];

/// A plugin and one of its registrations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wait {
    plugin: PluginId,
    registration: EventRegistration,
    /// The plugin has no hint for this event: the event may always help.
    always: bool,
    /// Upstream's plugin does not wait for this event.
    further: bool,
}

impl Waits {
    /// The registrations of all plugins that can refuse a pod, and of the one at the place `extenders`. A plugin without `EnqueueExtensions` waits for
    /// everything. In 1.36 one that waits for nodes to be added and not for their taints is woken by taints all the same
    /// (upstream's answer to a node that is added with a taint which is taken away later).
    ///
    /// Source: `pkg/scheduler/scheduler.go`, `buildQueueingHintMap`, `unionedGVKs`.
    pub(super) fn of(
        plugins: &[Arc<dyn Plugin>],
        points: &Points,
        extenders: Option<usize>,
        version: VersionRows,
    ) -> Self {
        let mut rows = Vec::new();
        for (at, plugin) in plugins.iter().enumerate() {
            let id = PluginId(at as u16);
            let refuses =
                [&points.pre_enqueue, &points.pre_filter, &points.filter, &points.reserve, &points.permit];
            let post = points.post_filter.contains(&id) && plugin.enqueue_extensions().is_some();
            if !refuses.iter().any(|point| point.contains(&id)) && !post && extenders != Some(at) {
                continue;
            }
            let Some(extensions) = plugin.enqueue_extensions() else {
                let registration =
                    EventRegistration { resource: EventResource::WildCard, actions: ActionType::ALL };
                rows.push(Wait { plugin: id, registration, always: true, further: false });
                continue;
            };
            let mut added = false;
            let mut taints = false;
            for registration in extensions.events() {
                if registration.resource == EventResource::Node {
                    added |= registration.actions.intersects(ActionType::ADD);
                    taints |= registration.actions.intersects(ActionType::UPDATE_NODE_TAINT);
                }
                // Policies read pods in ways that no action of upstream tells apart.
                let in_tree = plugin.rule_plugin().is_none();
                let parts = match version.has(VersionRow::OwnPodEvents) && in_tree {
                    true => registration.parts(),
                    false => [Some(registration), None],
                };
                rows.extend(parts.into_iter().flatten().map(|registration| Wait {
                    plugin: id,
                    registration,
                    always: false,
                    further: false,
                }));
            }
            if added && !taints && !version.has(VersionRow::TaintWakeUps) {
                let registration = EventRegistration {
                    resource: EventResource::Node,
                    actions: ActionType::UPDATE_NODE_TAINT,
                };
                rows.push(Wait { plugin: id, registration, always: true, further: false });
            }
            let further = extensions.further_events().into_iter();
            rows.extend(further.map(|registration| Wait {
                plugin: id,
                registration,
                always: false,
                further: true,
            }));
        }
        let mut wanted: BTreeMap<EventResource, ActionType> = BTreeMap::new();
        for Wait { registration, .. } in &rows {
            for resource in RESOURCES.into_iter().filter(|of| registration.resource.takes(*of)) {
                let actions = wanted.entry(resource).or_default();
                *actions = actions.with(registration.actions);
            }
        }
        Self { rows, wanted }
    }

    /// The plugins that wait for an event, each once, in the framework's order.
    pub fn interested(&self, event: &ClusterEvent) -> impl Iterator<Item = PluginId> {
        let mut last = None;
        self.rows.iter().filter(move |row| row.takes(event)).filter_map(move |row| {
            let first = last != Some(row.plugin);
            last = Some(row.plugin);
            first.then_some(row.plugin)
        })
    }

    /// Whether a plugin has no `EnqueueExtensions`, so that it waits for everything.
    pub fn waits_for_everything(&self, plugin: PluginId) -> bool {
        let all = |row: &Wait| row.registration.resource == EventResource::WildCard;
        self.rows.iter().any(|row| row.plugin == plugin && all(row))
    }

    /// Whether any plugin registered for one of these actions.
    ///
    /// Source: `pkg/scheduler/backend/queue/scheduling_queue.go`, `isEventOfInterest`.
    pub fn anyone(&self, resource: EventResource, actions: ActionType) -> bool {
        resource == EventResource::WildCard
            || self.wanted.get(&resource).is_some_and(|wanted| wanted.intersects(actions))
    }

    /// Whether an event may help a pod that `plugin` refused: upstream's hint, or the plugin's further one.
    pub fn may_help(
        &self,
        plugins: &[Arc<dyn Plugin>],
        plugin: PluginId,
        h: Handle,
        event: &ClusterEvent,
    ) -> Option<QueueingHint> {
        let hint = self.hint(plugins, plugin, h, event);
        let takes = |row: &Wait| row.plugin == plugin && row.further && row.takes(event);
        if hint == Some(QueueingHint::Queue) || !self.rows.iter().any(takes) {
            return hint;
        }
        let extensions = plugins.get(plugin.index()).and_then(|plugin| plugin.enqueue_extensions());
        extensions.map(|extensions| extensions.further_hint(&h.for_plugin(plugin), event)).or(hint)
    }

    /// What an event means for a pod that `plugin` refused, as upstream has it. `None`: the plugin does not wait for such
    /// events.
    pub fn hint(
        &self,
        plugins: &[Arc<dyn Plugin>],
        plugin: PluginId,
        h: Handle,
        event: &ClusterEvent,
    ) -> Option<QueueingHint> {
        let mut answer = None;
        let rows = self.rows.iter().filter(|row| row.plugin == plugin && !row.further);
        for row in rows.filter(|row| row.takes(event)) {
            let hint = match plugins.get(plugin.index()).and_then(|plugin| plugin.enqueue_extensions()) {
                Some(extensions) if !row.always && !event.is_wildcard() => {
                    extensions.hint(&h.for_plugin(plugin), event)
                }
                _ => QueueingHint::Queue,
            };
            if hint == QueueingHint::Queue {
                return Some(hint);
            }
            answer = Some(hint);
        }
        answer
    }
}

impl Wait {
    fn takes(&self, event: &ClusterEvent) -> bool {
        event.is_wildcard()
            || self.registration.resource.takes(event.resource)
                && self.registration.actions.intersects(event.action)
    }
}
