//! The in-tree plugins, named as in Kubernetes, one in each file or folder. [`IN_TREE`] lists them in the order of the
//! default profile, and [`registry`] builds the registry from it. The folder `policy`, which turns policies into plugins,
//! is a crate of its own, since it uses the language.
//!
//! Source: `pkg/scheduler/apis/config/v1/default_plugins.go` of Kubernetes 1.36.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod priority_sort;
mod scheduling_gates;
mod shape;
mod node_unschedulable;
mod node_name;
mod taint_toleration;
mod node_affinity;
mod node_ports;
mod node_resources_fit;
mod node_resources_balanced_allocation;
mod resource_allocation;
mod image_locality;
mod listed;
mod inter_pod_affinity;
mod pod_topology_spread;
mod node_declared_features;
mod node_volume_limits;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;
mod volumes;
mod default_binder;
pub mod default_preemption;
mod dynamic_resources;
#[cfg(test)]
mod trial;

pub use image_locality::ImageHolders;
pub use node_volume_limits::AttachedVolumes;
pub use volume_binding::VolumeIndex;
pub use volume_restrictions::VolumeUsers;

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, EventObjects, EventRegistration, EventResource, Features, Field,
    Filter, Gate, Handle, Make, NewPlugin, Plugin, PluginDescriptor, Registry, Tree, Verdicts,
};
use bayplan_model::{Node, NodeSet, PodInfo, Typed, VersionRow, downcast};
use std::sync::Arc;

/// Every in-tree plugin of Kubernetes in the order of the default profile of 1.37, then those that feature gates keep out
/// of it.
pub static IN_TREE: &[PluginDescriptor] = &[
    built("SchedulingGates", 0, None, scheduling_gates::new),
    built("PrioritySort", 0, None, priority_sort::new),
    built("NodeName", 0, None, node_name::new).with_cause("affinity"),
    built("NodeUnschedulable", 0, None, node_unschedulable::new).with_cause("taint"),
    built("TaintToleration", 3, None, taint_toleration::new).with_cause("taint"),
    built("NodeAffinity", 2, Some("NodeAffinityArgs"), node_affinity::new).with_cause("affinity"),
    built("NodePorts", 0, None, node_ports::new),
    built("NodeResourcesFit", 1, Some("NodeResourcesFitArgs"), node_resources_fit::new)
        .with_cause("resources"),
    built("VolumeRestrictions", 0, None, volume_restrictions::new).with_cause("volume"),
    built("NodeVolumeLimits", 0, None, node_volume_limits::new).with_cause("volume"),
    built("VolumeBinding", 0, Some("VolumeBindingArgs"), volume_binding::new).with_cause("volume"),
    built("VolumeZone", 0, None, volume_zone::new).with_cause("volume"),
    built("PodTopologySpread", 2, Some("PodTopologySpreadArgs"), pod_topology_spread::new)
        .with_cause("spread"),
    built("InterPodAffinity", 2, Some("InterPodAffinityArgs"), inter_pod_affinity::new)
        .with_cause("affinity"),
    built("DynamicResources", 2, Some("DynamicResourcesArgs"), dynamic_resources::new).with_cause("claim"),
    built("DefaultPreemption", 0, Some("DefaultPreemptionArgs"), default_preemption::new),
    built(
        "NodeResourcesBalancedAllocation",
        1,
        Some("NodeResourcesBalancedAllocationArgs"),
        node_resources_balanced_allocation::new,
    ),
    built("ImageLocality", 1, None, image_locality::new),
    built("DefaultBinder", 0, None, default_binder::new),
    PluginDescriptor {
        gate: Some(Gate::NodeDeclaredFeatures),
        ..built("NodeDeclaredFeatures", 0, None, node_declared_features::new)
    },
    gated("GangScheduling"),
    gated("TopologyPlacementGenerator"),
    gated("PodGroupPodsCount"),
];

const fn built(
    name: &'static str,
    weight: i64,
    args: Option<&'static str>,
    new: NewPlugin,
) -> PluginDescriptor {
    PluginDescriptor { name, weight, default: true, gate: None, args, cause: "other", make: Make::Built(new) }
}

const fn gated(name: &'static str) -> PluginDescriptor {
    PluginDescriptor {
        name,
        weight: 0,
        default: false,
        gate: None,
        args: None,
        cause: "other",
        make: Make::GatedOff,
    }
}

/// The in-tree plugins as a registry, to which policies are added.
pub fn registry() -> Registry {
    registry_with(Features::default())
}

/// The in-tree plugins under these feature gates.
pub fn registry_with(features: Features) -> Registry {
    let mut table = IN_TREE.to_vec();
    let at = |name: &str| table.iter().position(|row| row.name == name);
    if let (false, Some(name), Some(unschedulable)) =
        (features.has(VersionRow::NodeNameFirst), at("NodeName"), at("NodeUnschedulable"))
    {
        table.swap(name, unschedulable);
    }
    Registry::in_tree(&table, features)
}

/// Makes a plugin that takes no arguments.
fn without_args(args: &Tree, plugin: impl Plugin + 'static) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    Field::root(args).object(&[], &mut errors);
    if errors.is_empty() { Ok(Arc::new(plugin)) } else { Err(errors) }
}

/// Waits for some actions on nodes.
const fn nodes(actions: ActionType) -> EventRegistration {
    EventRegistration { resource: EventResource::Node, actions }
}

/// Waits for some actions on pods.
const fn pods(actions: ActionType) -> EventRegistration {
    EventRegistration { resource: EventResource::Pod, actions }
}

/// Waits for some actions on another kind of object.
const fn events(resource: EventResource, actions: ActionType) -> EventRegistration {
    EventRegistration { resource, actions }
}

/// The range form of a filter that has none for this pod: node by node.
fn filter_each(filter: &dyn Filter, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
    for node in nodes.iter().filter_map(|id| h.snapshot.node(id)) {
        if let Err(status) = filter.filter(h, node) {
            let status = out.status(status);
            out.refuse(node.id(), status);
        }
    }
}

/// An object of another kind before and after an event; `None` also for objects that are not of this type.
fn object_change<T: Typed>(event: &ClusterEvent) -> (Option<&T>, Option<&T>) {
    match &event.objects {
        EventObjects::Object { old, new } => {
            (old.as_deref().and_then(|old| downcast(old)), new.as_deref().and_then(|new| downcast(new)))
        }
        _ => (None, None),
    }
}

/// A pod before and after an event.
fn pod_change(event: &ClusterEvent) -> (Option<&Arc<PodInfo>>, Option<&Arc<PodInfo>>) {
    match &event.objects {
        EventObjects::Pod { old, new } => (old.as_ref(), new.as_ref()),
        _ => (None, None),
    }
}

/// A node before and after an event.
fn node_change(event: &ClusterEvent) -> (Option<&Arc<Node>>, Option<&Arc<Node>>) {
    match &event.objects {
        EventObjects::Node { old, new } => (old.as_ref(), new.as_ref()),
        _ => (None, None),
    }
}
