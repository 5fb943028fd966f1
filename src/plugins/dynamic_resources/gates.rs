//! [`Gates`]: what feature gates and the version change about the plugin.

use bayplan_devices::AllocatorFeatures;
use bayplan_framework::{Features, Gate};
use bayplan_model::{VersionRow, VersionRows};

/// What feature gates and the version change about the plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gates {
    /// What the allocator knows.
    pub(super) allocator: AllocatorFeatures,
    /// `DRAExtendedResource`.
    pub(super) extended_resources: bool,
    /// `DRASchedulerFilterTimeout`.
    pub(super) filter_timeout: bool,
    rows: VersionRows,
}

impl Gates {
    pub(super) fn of(features: Features) -> Self {
        let on = |gate| features.on(gate);
        let allocator = AllocatorFeatures {
            prioritized_list: on(Gate::DRAPrioritizedList),
            consumable_capacity: on(Gate::DRAConsumableCapacity),
            fractional_capacity: on(Gate::DRAFractionalCapacityRange),
            partitionable_devices: on(Gate::DRAPartitionableDevices),
            device_taints: on(Gate::DRADeviceTaints),
            taint_rules: on(Gate::DRADeviceTaints) && on(Gate::DRADeviceTaintRules),
            binding_conditions: on(Gate::DRADeviceBindingConditions)
                && on(Gate::DRAResourceClaimDeviceStatus),
            rows: features.rows(),
        };
        Self {
            allocator,
            extended_resources: on(Gate::DRAExtendedResource),
            filter_timeout: on(Gate::DRASchedulerFilterTimeout),
            rows: features.rows(),
        }
    }

    /// Whether a row of the version counts.
    pub(super) fn has(&self, row: VersionRow) -> bool {
        self.rows.has(row)
    }
}
