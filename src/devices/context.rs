//! [`Context`]: what is the same for all nodes.

use crate::capacity::Arithmetic;
use crate::features::AllocatorFeatures;
use crate::selects::Selects;
use bayplan_model::{DeviceIndex, Snapshot, VersionRow};

/// The cluster, and how devices are allocated in it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) index: &'a DeviceIndex,
    pub(crate) features: AllocatorFeatures,
    pub(crate) selectors: &'a dyn Selects,
}

impl Context<'_> {
    /// How amounts of capacity are computed.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        Arithmetic {
            checked: self.features.has(VersionRow::CapacityFaults),
            fractions: self.features.fractional_capacity,
        }
    }
}
