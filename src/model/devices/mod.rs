//! [`DeviceIndex`]: what decisions about devices look up: slices by pool and node, taints of rules, what is allocated,
//! classes by extended resource, and the claims of extended resources.

mod allocated;
mod classes;
mod newest;
mod special;
mod slices;
mod taint_rules;
#[cfg(test)]
mod tests;

pub use allocated::{AllocatedDevices, DeviceUse, Held, HeldPlaces, Holder, PoolUse};
pub use newest::{NewestSlices, Revision};
pub use slices::PoolSlices;

use crate::changes::{Delta, Moves};
use crate::index::{Feeds, Index, IndexKey};
use crate::labels::Labels;
use crate::objects::devices::{Device, DeviceId, DeviceTaint, PoolId};
use crate::objects::{ApiObject, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice, Typed};
use crate::snapshot::Snapshot;
use crate::symbol::Symbol;
use std::sync::Arc;

/// Slices, allocations, classes and claims of devices, as readers of the snapshot see them: with assumptions. Objects in
/// it may be of an earlier version that differs in nothing that is read.
///
/// Source: `pkg/scheduler/framework/plugins/dynamicresources/{allocateddevices,dra_manager}.go`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeviceIndex {
    slices: slices::Slices,
    rules: taint_rules::TaintRules,
    allocated: AllocatedDevices,
    classes: classes::Classes,
    special: special::SpecialClaims,
}

impl DeviceIndex {
    /// Its key. All profiles share it.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new("DynamicResources"))
    }

    /// The slices of a pool of the highest generation.
    pub fn newest(&self, pool: &PoolId) -> Option<&NewestSlices> {
        self.slices.pool(pool).map(PoolSlices::newest)
    }

    /// The slices of a pool, by name.
    pub fn pool(&self, pool: &PoolId) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.slices.pool(pool).into_iter().flat_map(PoolSlices::slices)
    }

    /// All pools that have slices, by driver and name.
    pub fn pools(&self) -> impl Iterator<Item = &PoolSlices> {
        self.slices.pools()
    }

    /// The slices that name this node, by name.
    pub fn slices_of(&self, node: &Symbol) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.slices.of_node(node)
    }

    /// The pools of the slices that name this node, by driver and name, each with those slices of it that name the node:
    /// of the highest generation among them.
    pub fn pools_of(&self, node: &Symbol) -> &[NewestSlices] {
        self.slices.pools_of_node(node)
    }

    /// Names the slices that there are now.
    pub fn slices_revision(&self) -> &Revision {
        self.slices.revision()
    }

    /// The slices that name no node, by name.
    pub fn slices_of_no_node(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.slices.of_no_node()
    }

    /// The slices that name a node and have shared counters, by name: 1.36 sees them on every node.
    pub fn counter_slices_of_nodes(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.slices.counters_of_nodes()
    }

    /// The devices that a node of this name with these labels reaches, with their slices: of the highest generation of
    /// each pool, whether or not the pool is complete, and whether or not they are allocated. Those of slices that name the
    /// node come first, each by name of the slice and in its order.
    pub fn reached_by(&self, node: &Symbol, labels: &Labels) -> Vec<(&Arc<ResourceSlice>, &Arc<Device>)> {
        self.slices.reached_by(node, labels)
    }

    /// The taints that rules add to those of the device itself: first of the rules that select by less than driver and
    /// pool, by name of the rule. The feature gate of rules decides whether they count. `all`: those without a selector
    /// taint every device.
    ///
    /// Source: `dynamic-resource-allocation/resourceslice/tracker`.
    pub fn taints_of<'i>(&'i self, device: &DeviceId, all: bool) -> impl Iterator<Item = &'i DeviceTaint> {
        self.rules.taints_of(device, all)
    }

    /// Whether there are rules at all.
    pub fn has_taint_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What is allocated to claims.
    pub fn allocated(&self) -> &AllocatedDevices {
        &self.allocated
    }

    /// The class that stands for an extended resource of this name: the newest that names it, of equally old ones the
    /// one with the smaller name; or the one whose name follows `deviceclass.resource.kubernetes.io/`.
    pub fn class_of_resource(&self, resource: &Symbol) -> Option<&Arc<DeviceClass>> {
        self.classes.of_resource(resource)
    }

    /// Namespace and name of the claim that was made for the extended resources of a pod: of several the first. The
    /// pod controls it.
    ///
    /// Source: `extendeddynamicresources.go`, `findExtendedResourceClaim`.
    pub fn special_claim_of(&self, uid: &Symbol, pod: &Symbol) -> Option<&Holder> {
        self.special.of(uid, pod)
    }

    fn change(&mut self, before: Option<&Arc<dyn ApiObject>>, after: Option<&Arc<dyn ApiObject>>) {
        if let Some((before, after)) = both::<ResourceClaim>(before, after) {
            self.allocated.change(before.as_deref(), after.as_deref());
            self.special.change(before.as_deref(), after.as_deref());
        } else if let Some((before, after)) = both::<ResourceSlice>(before, after) {
            self.slices.change(before.as_deref(), after);
        } else if let Some((before, after)) = both::<DeviceTaintRule>(before, after) {
            self.rules.change(before.as_deref(), after);
        } else if let Some((before, after)) = both::<DeviceClass>(before, after) {
            self.classes.change(before.as_deref(), after);
        }
    }
}

/// Two versions of an object of a kind; `None` when neither is of it.
#[allow(clippy::type_complexity)] // a pair of what may be absent
fn both<T: Typed>(
    before: Option<&Arc<dyn ApiObject>>,
    after: Option<&Arc<dyn ApiObject>>,
) -> Option<(Option<Arc<T>>, Option<Arc<T>>)> {
    let typed = |object: &Arc<dyn ApiObject>| object.clone().shared().downcast_ref::<Arc<T>>().cloned();
    let of_kind = before.or(after).is_some_and(|object| object.kind() == T::KIND);
    of_kind.then(|| (before.and_then(typed), after.and_then(typed)))
}

impl Index for DeviceIndex {
    fn feeds(&self) -> Feeds {
        Feeds::OBJECTS
    }

    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        if let Some(object) = &delta.object {
            self.change(object.before.as_ref(), object.after.as_ref());
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        *self = Self::default();
        for claim in snapshot.objects::<ResourceClaim>() {
            self.allocated.change(None, Some(claim));
            self.special.change(None, Some(claim));
        }
        for slice in snapshot.objects::<ResourceSlice>() {
            self.slices.change(None, Some(slice.clone()));
        }
        for rule in snapshot.objects::<DeviceTaintRule>() {
            self.rules.change(None, Some(rule.clone()));
        }
        for class in snapshot.objects::<DeviceClass>() {
            self.classes.change(None, Some(class.clone()));
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}
