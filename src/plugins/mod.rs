//! The in-tree plugins, named as in Kubernetes: a file each. [`IN_TREE`] is the one table of them, in the order of the
//! default profile; [`registry`] makes the registry of it. Rules of policies become plugins in [`policy`].
//!
//! Source: `pkg/scheduler/apis/config/v1/default_plugins.go` of Kubernetes 1.36.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod priority_sort;
mod scheduling_gates;
mod node_unschedulable;
mod node_name;
mod taint_toleration;
mod node_affinity;
mod node_ports;
mod node_resources_fit;
mod node_resources_balanced_allocation;
mod resource_allocation;
mod image_locality;
mod default_binder;
pub mod policy;

pub use image_locality::ImageHolders;

use crate::framework::{
    ActionType, ArgsError, ClusterEvent, EventObjects, EventRegistration, EventResource, Features, Field,
    NewPlugin, Plugin, PluginDescriptor, Registry, Tree,
};
use crate::model::{Node, PodInfo};
use std::sync::Arc;

/// Every in-tree plugin of Kubernetes 1.36 in the order of the default profile, built or not; behind them those that
/// feature gates keep out of it.
pub static IN_TREE: &[PluginDescriptor] = &[
    built("SchedulingGates", 0, None, scheduling_gates::new),
    built("PrioritySort", 0, None, priority_sort::new),
    built("NodeUnschedulable", 0, None, node_unschedulable::new),
    built("NodeName", 0, None, node_name::new),
    built("TaintToleration", 3, None, taint_toleration::new),
    built("NodeAffinity", 2, Some("NodeAffinityArgs"), node_affinity::new),
    built("NodePorts", 0, None, node_ports::new),
    built("NodeResourcesFit", 1, Some("NodeResourcesFitArgs"), node_resources_fit::new),
    not_built("VolumeRestrictions", 0, None),
    not_built("NodeVolumeLimits", 0, None),
    not_built("VolumeBinding", 0, Some("VolumeBindingArgs")),
    not_built("VolumeZone", 0, None),
    not_built("PodTopologySpread", 2, Some("PodTopologySpreadArgs")),
    not_built("InterPodAffinity", 2, Some("InterPodAffinityArgs")),
    not_built("DynamicResources", 2, Some("DynamicResourcesArgs")),
    not_built("DefaultPreemption", 0, Some("DefaultPreemptionArgs")),
    built(
        "NodeResourcesBalancedAllocation",
        1,
        Some("NodeResourcesBalancedAllocationArgs"),
        node_resources_balanced_allocation::new,
    ),
    built("ImageLocality", 1, None, image_locality::new),
    built("DefaultBinder", 0, None, default_binder::new),
    not_built("NodeDeclaredFeatures", 0, None),
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
    PluginDescriptor { name, weight, default: true, args, new: Some(new) }
}

const fn not_built(name: &'static str, weight: i64, args: Option<&'static str>) -> PluginDescriptor {
    PluginDescriptor { name, weight, default: true, args, new: None }
}

const fn gated(name: &'static str) -> PluginDescriptor {
    PluginDescriptor { name, weight: 0, default: false, args: None, new: None }
}

/// The in-tree plugins as a registry, to which policies are added.
pub fn registry() -> Registry {
    registry_with(Features::default())
}

/// The in-tree plugins under these feature gates.
pub fn registry_with(features: Features) -> Registry {
    Registry::in_tree(IN_TREE, features)
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
