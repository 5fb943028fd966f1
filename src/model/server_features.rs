//! What a scheduler has less of on an older API server, as a table: the driver on a real cluster says at its start what is
//! off, and `docs/versions.md` has the rows. A feature of the scheduler alone is not here.

use super::marks::PodMarks;

/// The oldest Kubernetes whose API server is supported.
pub const OLDEST_SERVER: (u32, u32) = (1, 33);
/// The newest Kubernetes whose objects are known.
pub const NEWEST_SERVER: (u32, u32) = (1, 37);

/// The first Kubernetes whose API server has `resource.k8s.io/v1`.
pub(super) const DEVICES_SINCE: (u32, u32) = (1, 34);
/// The first one that has DeviceTaintRules there.
pub(super) const TAINT_RULES_SINCE: (u32, u32) = (1, 37);

/// Something that an API server does only from a version on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerFeature {
    /// The first version that does it with the defaults of its feature gates.
    pub since: (u32, u32),
    /// What is off before, as a line of a log begins.
    pub what: &'static str,
    /// What that means.
    pub without: &'static str,
    /// The feature gate of the API server with which older ones may do it too; empty without one.
    pub gate: &'static str,
}

/// The table, by version.
///
/// Source: `pkg/features/kube_features.go` of v1.37.2, which has the versions at which the defaults of gates changed.
pub const SERVER_FEATURES: &[ServerFeature] = &[
    ServerFeature {
        since: (1, 34),
        what: "requests of a whole pod",
        without: "the API server drops `spec.resources` of pods: the requests of containers count",
        gate: "PodLevelResources",
    },
    ServerFeature {
        since: DEVICES_SINCE,
        what: "resource claims and their devices",
        without: "the API server has no `resource.k8s.io/v1`: nothing of it is watched, and pods with claims wait",
        gate: "",
    },
    ServerFeature {
        since: PodMarks::LABELS_SINCE,
        what: "labels that policies add in `reserve`",
        without: "the API server drops labels of bindings: such a policy is not taken into service",
        gate: "",
    },
    ServerFeature {
        since: (1, 35),
        what: "volumes of images",
        without: "the API server takes no pod that has one",
        gate: "ImageVolume",
    },
    ServerFeature {
        since: (1, 36),
        what: "features that nodes declare",
        without: "the API server drops `status.declaredFeatures` of nodes: pods that need one wait",
        gate: "NodeDeclaredFeatures",
    },
    ServerFeature {
        since: (1, 36),
        what: "resizing of a whole pod in place",
        without: "pods have no `status.resources`: the requests of their spec count",
        gate: "InPlacePodLevelResourcesVerticalScaling",
    },
    ServerFeature {
        since: (1, 36),
        what: "taints of devices",
        without: "the API server drops taints of ResourceSlices: every device counts without taints",
        gate: "DRADeviceTaints",
    },
    ServerFeature {
        since: (1, 36),
        what: "devices in parts",
        without: "the API server drops counters of ResourceSlices and the nodes of single devices",
        gate: "DRAPartitionableDevices",
    },
    ServerFeature {
        since: (1, 36),
        what: "devices that are shared by capacity",
        without: "the API server drops `allowMultipleAllocations` and requests of capacity: one claim takes a device whole",
        gate: "DRAConsumableCapacity",
    },
    ServerFeature {
        since: (1, 36),
        what: "devices that are prepared before the binding",
        without: "the API server drops binding conditions of ResourceSlices: pods are bound without waiting",
        gate: "DRADeviceBindingConditions",
    },
    ServerFeature {
        since: (1, 36),
        what: "extended resources from DeviceClasses",
        without: "the API server drops `extendedResourceName` of classes: only device plugins serve extended resources",
        gate: "DRAExtendedResource",
    },
    ServerFeature {
        since: (1, 37),
        what: "`preventPodSchedulingIfMissing` of CSIDrivers",
        without: "the API server drops it: a node without the driver of a volume is not refused",
        gate: "VolumeLimitScaling",
    },
    ServerFeature {
        since: TAINT_RULES_SINCE,
        what: "DeviceTaintRules",
        without: "the API server has none in `resource.k8s.io/v1`: rules taint devices if it serves `v1beta2`",
        gate: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_supported_servers_and_in_their_order() {
        assert!(SERVER_FEATURES.is_sorted_by_key(|row| row.since));
        for row in SERVER_FEATURES {
            assert!(OLDEST_SERVER < row.since && row.since <= NEWEST_SERVER, "{row:?}");
            assert!(!row.what.ends_with('.') && !row.without.ends_with('.'), "{row:?}");
        }
    }
}
