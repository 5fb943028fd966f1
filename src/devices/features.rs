//! [`AllocatorFeatures`]: what feature gates and versions change about allocations.

use bayplan_model::{VersionRow, VersionRows};

/// Which features are on, and as which version is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocatorFeatures {
    /// `DRAPrioritizedList`.
    pub prioritized_list: bool,
    /// `DRAConsumableCapacity`.
    pub consumable_capacity: bool,
    /// `DRAFractionalCapacityRange`.
    pub fractional_capacity: bool,
    /// `DRAPartitionableDevices`.
    pub partitionable_devices: bool,
    /// `DRADeviceTaints`.
    pub device_taints: bool,
    /// `DRADeviceTaintRules`.
    pub taint_rules: bool,
    /// `DRADeviceBindingConditions` with `DRAResourceClaimDeviceStatus`.
    pub binding_conditions: bool,
    /// The version's rows.
    pub rows: VersionRows,
}

impl AllocatorFeatures {
    /// As a version has them by default.
    pub fn of(rows: VersionRows, taint_rules: bool) -> Self {
        Self {
            prioritized_list: true,
            consumable_capacity: true,
            fractional_capacity: false,
            partitionable_devices: true,
            device_taints: true,
            taint_rules,
            binding_conditions: true,
            rows,
        }
    }

    /// Whether a row of the version counts.
    pub(crate) fn has(&self, row: VersionRow) -> bool {
        self.rows.has(row)
    }

    /// Whether upstream's stable allocator decides, which knows neither shares nor binding conditions. Of it this crate
    /// has the refusals, and not the order of pools, which is random.
    ///
    /// Source: `structured/internal/stable`, `structured/allocator.go`.
    pub(crate) fn stable(&self) -> bool {
        !self.consumable_capacity && !self.binding_conditions
    }

    /// Whether slices with shared counters count on every node, whichever node they are for.
    pub(crate) fn counters_everywhere(&self) -> bool {
        self.stable() || !self.has(VersionRow::CounterSlicesOfNode)
    }
}
