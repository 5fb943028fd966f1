//! How many devices of a class a node has, as scores count them.
//!
//! They count other devices than the allocator finds: those of every generation of a pool, complete or not, tainted or
//! not, and of slices that choose no node at all.
//!
//! Source: `pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`, `calculateDRAResourceTotals`.

use crate::device::DeviceOf;
use crate::node_choice::{chooses, is_made};
use crate::selects::Selects;
use bayplan_model::{DeviceClass, DeviceIndex, Node, ResourceSlice};
use std::sync::Arc;

/// Devices of a class on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassTally {
    /// All of them.
    pub devices: i64,
    /// Those of which something is allocated.
    pub allocated: i64,
}

impl ClassTally {
    /// Counts the devices of the class on the node. `None`: a selector of the class fails on one of them, or a selector of
    /// nodes is not valid.
    pub fn of(
        index: &DeviceIndex,
        class: &DeviceClass,
        node: &Node,
        selectors: &dyn Selects,
    ) -> Option<Self> {
        let mut tally = Self::default();
        for slice in index.slices_of(&node.name).chain(index.slices_of_no_node()) {
            tally.add(slice, (index, class, node, selectors))?;
        }
        Some(tally)
    }

    /// Counts those of a slice.
    fn add(
        &mut self,
        slice: &Arc<ResourceSlice>,
        (index, class, node, selectors): (&DeviceIndex, &DeviceClass, &Node, &dyn Selects),
    ) -> Option<()> {
        let by_device = slice.per_device == Some(true);
        if !by_device && is_made(&slice.nodes) && !chooses(&slice.nodes, node).ok()? {
            return Some(());
        }
        let used = index.allocated().pool(&slice.pool);
        for (at, device) in slice.devices.iter().enumerate() {
            if by_device && !chooses(&device.nodes, node).ok()? {
                continue;
            }
            if is_of_class(class, &DeviceOf { slice, device, at }, selectors)? {
                self.devices += 1;
                self.allocated += i64::from(used.is_some_and(|used| used.device(&device.name).is_some()));
            }
        }
        Some(())
    }
}

/// Whether all selectors of the class select the device; those of kinds that are not known do. `None`: one fails.
fn is_of_class(class: &DeviceClass, device: &DeviceOf<'_>, selectors: &dyn Selects) -> Option<bool> {
    for expression in class.selectors.iter().flatten() {
        if !selectors.selects(expression, device).ok()? {
            return Some(false);
        }
    }
    Some(true)
}
