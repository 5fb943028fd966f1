//! Feature gates of Kubernetes that concern a scheduler, one in each row: stage, default and lock in 1.36 and in 1.37, `[-]`
//! where a version does not have the gate. To add a gate, add a row.

use super::{Built::*, GateRow, GateState, Stage::*};

/// Makes the enum of gates and the table.
macro_rules! gates {
    ($($(#[doc = $doc:literal])+ $gate:ident [$($older:tt)*] [$($newer:tt)*] $needs:tt $built:expr;)*) => {
        /// A feature gate that concerns a scheduler.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Gate {
            $($(#[doc = $doc])+ $gate,)*
        }

        /// The table, in the order of [`Gate`].
        pub static GATES: &[GateRow] = &[$(GateRow {
            name: stringify!($gate),
            what: concat!($($doc),+),
            states: [gates!(@ $($older)*), gates!(@ $($newer)*)],
            needs: &$needs,
            needs_since_1_37: &[],
            // The only one. Source: `pkg/features/kube_features.go`, `MinCompatibilityVersion`.
            on_among_newest: matches!(Gate::$gate, Gate::DRAFractionalCapacityRange),
            built: $built,
        }),*];
    };
    (@ -) => { None };
    (@ $stage:ident $default:ident $locked:ident) => {
        Some(GateState { stage: $stage, default: gates!(# $default), locked: gates!(# $locked) })
    };
    (# on) => { true };
    (# off) => { false };
    (# locked) => { true };
    (# free) => { false };
}

gates! {
    /// Plugins say which events may help a pod that they refused. Source: KEP-4247.
    SchedulerQueueingHints [Ga on locked] [-] []
        Locked;
    /// An empty active queue takes the next pod from the backoff queue. Source: KEP-5142.
    SchedulerPopFromBackoffQ [Beta on free] [Beta on free] []
        Fixed("an idle scheduler always takes pods from the backoff queue");
    /// Victims are evicted beside the scheduling cycle. Source: KEP-4832.
    SchedulerAsyncPreemption [Beta on free] [Beta on free] []
        Fixed("victims are always evicted beside the scheduling cycle");
    /// Calls to the API server do not stop the scheduling cycle. Source: KEP-5229.
    SchedulerAsyncAPICalls [Beta off free] [Beta off free] []
        Same("the scheduling cycle never waits for calls to the API server");
    /// Pods with the same requirements reuse a decision. Source: KEP-5598.
    OpportunisticBatching [Beta on free] [Beta on free] []
        Same("decisions are the same without batching, which is not built");
    /// The chosen node is written before a pod waits at Permit or PreBind. Source: KEP-5278.
    NominatedNodeNameForExpectation [Beta on free] [Beta on free] []
        Fixed("the chosen node is always written before a pod waits at Permit or PreBind");
    /// Nodes must declare the features that a pod needs. Source: KEP-5328.
    NodeDeclaredFeatures [Beta on free] [Ga on locked] []
        Both;
    /// Tolerations with `Gt` and `Lt`. Source: KEP-5471.
    TaintTolerationComparisonOperators [Alpha off free] [Alpha off free] []
        Both;
    /// Spread constraints say which nodes count. Source: KEP-3094.
    NodeInclusionPolicyInPodTopologySpread [Ga on locked] [Ga on locked] []
        Locked;
    /// Spread constraints may have `matchLabelKeys`. Source: KEP-3243.
    MatchLabelKeysInPodTopologySpread [Beta on free] [Beta on free] []
        Fixed("the scheduler always reads `matchLabelKeys`");
    /// The API server merges `matchLabelKeys` of spread constraints. Source: KEP-3243.
    MatchLabelKeysInPodTopologySpreadSelectorMerge [Beta on free] [Beta on free] ["MatchLabelKeysInPodTopologySpread"]
        Same("only the API server reads it");
    /// Pod affinity may have `matchLabelKeys`. Source: KEP-3633.
    MatchLabelKeysInPodAffinity [Ga on locked] [Ga on locked] []
        Locked;
    /// Volumes match only claims of the same VolumeAttributesClass. Source: KEP-3751.
    VolumeAttributesClass [Ga on locked] [Ga on locked] []
        Locked;
    /// Scores nodes by the capacity of volumes. Source: KEP-4049.
    StorageCapacityScoring [Alpha off free] [Beta on free] []
        Both;
    /// A CSIDriver may keep pods from nodes without the driver. Source: KEP-5030.
    VolumeLimitScaling [Alpha off free] [Beta on free] []
        Both;
    /// The attach limit of a node may change. Source: KEP-4876.
    MutableCSINodeAllocatableCount [Ga on locked] [Ga on locked] []
        Locked;
    /// Requests of a whole pod. Source: KEP-2837.
    PodLevelResources [Beta on free] [Beta on free] []
        Fixed("requests of whole pods always count");
    /// Resources of running pods may change. Source: KEP-1287.
    InPlacePodVerticalScaling [Ga on locked] [Ga on locked] []
        Locked;
    /// Requests of running pods as a whole may change. Source: KEP-5419.
    InPlacePodLevelResourcesVerticalScaling [Beta on free] [Beta on free] ["InPlacePodVerticalScaling", "NodeDeclaredFeatures", "PodLevelResources"]
        Same("while the gate is off the API server drops the status of requests of whole pods");
    /// Restartable init containers. Source: KEP-753.
    SidecarContainers [Ga on locked] [-] []
        Locked;
    /// Scheduling gates. Source: KEP-3521.
    PodSchedulingReadiness [Ga on locked] [Ga on locked] []
        Locked;
    /// Conditions have `observedGeneration`. Source: KEP-5067.
    PodObservedGenerationTracking [Ga on locked] [Ga on locked] []
        Locked;
    /// The API server clears the nomination of a bound pod. Source: KEP-5278.
    ClearingNominatedNodeNameAfterBinding [Beta on free] [Beta on free] []
        Same("only the API server reads it");
    /// A container may restart the whole pod. Source: KEP-5532.
    RestartAllContainersOnContainerExits [Beta on free] [Beta on free] ["ContainerRestartRules", "NodeDeclaredFeatures"]
        Same("pods with `RestartAllContainers` always need nodes that declare it");
    /// User namespaces with the network of the host. Source: KEP-5607.
    UserNamespacesHostNetworkSupport [Alpha off free] [Alpha off free] ["NodeDeclaredFeatures", "UserNamespacesSupport"]
        Same("pods with `hostUsers: false` and `hostNetwork: true` always need nodes that declare it");
    /// Workload and PodGroup objects. Source: KEP-4671.
    GenericWorkload [Alpha off free] [Beta off free] []
        Fixed("groups of pods are not built");
    /// Pods of a group start together. Source: KEP-4671.
    GangScheduling [Alpha off free] [-] ["GenericWorkload"]
        Fixed("groups of pods are not built");
    /// Groups of pods in one topology domain. Source: KEP-5732.
    TopologyAwareWorkloadScheduling [Alpha off free] [Alpha off free] ["GenericWorkload"]
        Fixed("groups of pods are not built");
    /// Preemption of groups of pods. Source: KEP-5710.
    WorkloadAwarePreemption [Alpha off free] [-] ["GangScheduling"]
        Fixed("groups of pods are not built");
    /// Resource claims. Source: KEP-4381.
    DynamicResourceAllocation [Ga on locked] [Ga on locked] []
        Locked;
    /// Claims with access for administrators. Source: KEP-5018.
    DRAAdminAccess [Ga on locked] [Ga on locked] ["DynamicResourceAllocation"]
        Locked;
    /// Claims with alternatives. Source: KEP-4816.
    DRAPrioritizedList [Ga on free] [Ga on locked] ["DynamicResourceAllocation"]
        Both;
    /// Extended resources from device classes. Source: KEP-5004.
    DRAExtendedResource [Beta on free] [Ga on locked] ["DynamicResourceAllocation"]
        Both;
    /// Devices shared by capacity. Source: KEP-5075.
    DRAConsumableCapacity [Beta on free] [Beta on free] ["DynamicResourceAllocation"]
        Both;
    /// Taints of devices. Source: KEP-5055.
    DRADeviceTaints [Beta on free] [Ga on free] ["DynamicResourceAllocation"]
        Both;
    /// Rules that taint devices. Source: KEP-5055.
    DRADeviceTaintRules [Beta off free] [Ga on free] ["DRADeviceTaints"]
        Both;
    /// Devices in parts. Source: KEP-4815.
    DRAPartitionableDevices [Beta on free] [Beta on free] ["DynamicResourceAllocation"]
        Both;
    /// Devices that are prepared before the binding. Source: KEP-5007.
    DRADeviceBindingConditions [Beta on free] [Beta on free] ["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"]
        Both;
    /// Status of the devices of a claim. Source: KEP-4817.
    DRAResourceClaimDeviceStatus [Beta on free] [Ga on locked] []
        Both;
    /// A limit on the time for allocating devices. Source: KEP-4381.
    DRASchedulerFilterTimeout [Beta on free] [Beta on free] ["DynamicResourceAllocation"]
        Both;
    /// Attributes of devices that are lists. Source: KEP-5491.
    DRAListTypeAttributes [Alpha off free] [Alpha off free] ["DynamicResourceAllocation"]
        Fixed("attributes of devices that are lists are not built");
    /// Node resources through claims. Source: KEP-5517.
    DRANodeAllocatableResources [Alpha off free] [Alpha off free] ["DynamicResourceAllocation"]
        Fixed("node resources through claims are not built");
    /// Claims of a group of pods. Source: KEP-5729.
    DRAWorkloadResourceClaims [Alpha off free] [Beta off free] ["DynamicResourceAllocation", "GenericWorkload"]
        Fixed("claims of groups of pods are not built");
    /// The page `/flagz`. Source: KEP-4828.
    ComponentFlagz [Beta on free] [Beta on free] []
        Both;
    /// The page `/statusz`. Source: KEP-4827.
    ComponentStatusz [Beta on free] [Beta on free] []
        Both;
    /// The API server chooses the leader. Source: KEP-4355.
    CoordinatedLeaderElection [Beta off free] [Beta off free] []
        Fixed("candidates for leases are not built");
    /// Log lines have the context of their caller. Source: KEP-3077.
    ContextualLogging [Beta on free] [Beta on free] []
        Same("log lines always have their context");
    /// Alpha options of logging. Source: KEP-3077.
    LoggingAlphaOptions [Alpha off free] [Alpha off free] []
        Fixed("no alpha option of logging is built");
    /// Beta options of logging. Source: KEP-3077.
    LoggingBetaOptions [Beta on free] [Beta on free] []
        Fixed("the log format is always free to choose");
    /// Native histograms. Source: KEP-5808.
    NativeHistograms [Alpha off free] [Beta on free] []
        Same("histograms are classic in the text format with either value");
    /// Groups of groups of pods. Source: KEP-5732.
    CompositePodGroup [-] [Alpha off free] ["GenericWorkload", "TopologyAwareWorkloadScheduling"]
        Fixed("groups of pods are not built");
    /// A preemption policy of a group of pods. Source: KEP-5710.
    PodGroupPreemptionPolicy [-] [Alpha off free] ["GenericWorkload"]
        Fixed("groups of pods are not built");
    /// Preempts pods for one whose resize its node defers. Source: KEP-5836.
    InPlacePodVerticalScalingSchedulerPreemption [-] [Alpha off free] ["InPlacePodVerticalScaling"]
        Fixed("preemption for resizes is not built");
    /// Terms on `kubernetes.io/hostname` look at the pods of one node.
    InterPodAffinityHostnameFastPath [-] [Alpha off free] []
        Fixed("terms on host names always count all nodes of the host name");
    /// Plugins name the pods that an event concerns.
    SchedulerPreQueueingHints [-] [Alpha off free] []
        Same("it only saves work");
    /// Attributes of devices that are derived from others.
    DRADerivedAttributes [-] [Alpha off free] ["DynamicResourceAllocation"]
        Fixed("derived attributes of devices are not built");
    /// Groups of devices that may be allocated together.
    DRADeviceCompatibilityGroups [-] [Alpha off free] ["DRAPartitionableDevices", "DynamicResourceAllocation"]
        Fixed("groups of devices that go together are not built");
    /// Fractions in ranges of capacity.
    DRAFractionalCapacityRange [-] [Beta off free] ["DRAConsumableCapacity"]
        Both;
    /// Drivers whose devices need no work on the node.
    DRAOptionalNodeOperations [-] [Alpha off free] ["DynamicResourceAllocation", "NodeDeclaredFeatures"]
        Fixed("devices without work on the node are not built");
    /// Types of devices in parts.
    DRAPartitionableDevicesType [-] [Alpha off free] ["DRAPartitionableDevices", "DRAResourcePoolStatus", "DynamicResourceAllocation"]
        Same("only the API server reads it");
}
