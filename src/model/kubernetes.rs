//! The versions of Kubernetes that this scheduler decides as, and the table of their visible differences.
//!
//! Each row of [`VersionRow`] is one change of kube-scheduler 1.37 that a user of 1.36 can see. Version 1.36 is the empty
//! set of rows, 1.37 is all of them; code asks for one row by its name, and never for a version. `docs/versions.md` and
//! `bayplan diff --kubernetes` read the table.
//!
//! A change behind a feature gate names its gate: the row moves the default of the gate, and the gate decides.
//!
//! Source: `pkg/scheduler` of the tags v1.36.3 and v1.37.2.

/// A version of Kubernetes whose kube-scheduler is followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum KubernetesVersion {
    /// 1.36, as in v1.36.3.
    V1_36,
    /// 1.37, as in v1.37.2.
    #[default]
    V1_37,
}

impl KubernetesVersion {
    /// All of them, the oldest first.
    pub const ALL: [Self; 2] = [Self::V1_36, Self::V1_37];

    /// As it is written: `1.36`.
    pub fn word(self) -> &'static str {
        match self {
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }

    /// The release that the behaviour was taken from.
    pub fn release(self) -> &'static str {
        match self {
            Self::V1_36 => "v1.36.3",
            Self::V1_37 => "v1.37.2",
        }
    }

    /// The version that a text names: `1.37`, also as `v1.37` and with a patch release. `Err`: what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.trim().trim_start_matches('v');
        let minor = bare.match_indices('.').nth(1).map_or(bare, |(at, _)| bare.get(..at).unwrap_or(bare));
        let known = Self::ALL.into_iter().find(|version| version.word() == minor);
        known.ok_or_else(|| {
            let known = Self::ALL.map(|version| format!("`{}`", version.word())).join(" and ");
            format!("`{text}` is not a version of Kubernetes that decisions are made as; these are {known}")
        })
    }
}

impl std::fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// What a row changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VersionRowKind {
    /// On which node a pod is placed, or whether it is placed.
    Decision,
    /// The text of an event or condition.
    Text,
    /// Which event wakes a waiting pod.
    WakeUp,
    /// How often a call is sent.
    Retry,
    /// A metric or one of its labels.
    Metric,
    /// A flag or field of the configuration.
    Configuration,
}

impl VersionRowKind {
    /// As pages and JSON have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Text => "text",
            Self::WakeUp => "wake-up",
            Self::Retry => "retry",
            Self::Metric => "metric",
            Self::Configuration => "configuration",
        }
    }

    /// As a heading of differences of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Decision => "Decisions",
            Self::Text => "Texts",
            Self::WakeUp => "Wake-ups",
            Self::Retry => "Retries",
            Self::Metric => "Metrics",
            Self::Configuration => "Configuration",
        }
    }
}

/// A row of the table of differences.
#[derive(Clone, Copy, Debug)]
pub struct VersionRowDef {
    /// What it is called in pages, output and tests.
    pub id: &'static str,
    /// What it changes.
    pub kind: VersionRowKind,
    /// The plugin that it is about; empty for the scheduler as a whole.
    pub plugin: &'static str,
    /// The feature gate whose default it moves; empty without one.
    pub gate: &'static str,
    /// What 1.36 does.
    pub before: &'static str,
    /// What 1.37 does.
    pub after: &'static str,
    /// Upstream's files that changed, below `pkg/scheduler`, or the KEP.
    pub source: &'static str,
}

/// Makes the enum of differences and its table.
macro_rules! version_rows {
    ($($row:ident $id:literal $kind:ident [$($plugin:ident)?] [$($gate:ident)?]
        $before:literal => $after:literal, $source:literal;)*) => {
        /// One visible difference of kube-scheduler 1.37 from 1.36.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum VersionRow {
            $(#[doc = $after] $row,)*
        }

        impl VersionRow {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$row),*];

            /// Its row.
            pub fn def(self) -> &'static VersionRowDef {
                match self {
                    $(Self::$row => &VersionRowDef {
                        id: $id,
                        kind: VersionRowKind::$kind,
                        plugin: concat!($(stringify!($plugin))?),
                        gate: concat!($(stringify!($gate))?),
                        before: $before,
                        after: $after,
                        source: $source,
                    },)*
                }
            }
        }
    };
}

version_rows! {
    StorageCapacityScores "storage-capacity-scores" Decision [VolumeBinding] [StorageCapacityScoring]
        "VolumeBinding gives no score." =>
        "VolumeBinding scores nodes by how full their volumes, or the storage of their topology, would be.",
        "framework/plugins/volumebinding/scorer.go, KEP-4049";
    MissingDrivers "missing-drivers" Decision [NodeVolumeLimits] [VolumeLimitScaling]
        "A node without the CSI driver of a volume has no limit for it, and passes." =>
        "A node without the CSI driver is refused if the CSIDriver says `preventPodSchedulingIfMissing`.",
        "framework/plugins/nodevolumelimits/csi.go, KEP-5030";
    ImageVolumes "image-volumes" Decision [ImageLocality] []
        "The maximum of the score counts containers." =>
        "The maximum of the score counts containers and image volumes.",
        "framework/plugins/imagelocality/image_locality.go";
    NamespaceSelectors "namespace-selectors" Decision [InterPodAffinity] []
        "The `namespaceSelector` of the incoming pod's terms is matched against the labels of the namespace and, as well, against no labels: one of only `NotIn` or `DoesNotExist` takes every namespace." =>
        "The `namespaceSelector` is matched against the labels of the namespaces that exist, and against nothing else.",
        "framework/plugins/interpodaffinity/plugin.go";
    BudgetsInOrder "budgets-in-order" Decision [DefaultPreemption] []
        "A victim takes from every PodDisruptionBudget that selects it." =>
        "A victim takes from the budgets in order, up to the first that it violates.",
        "framework/preemption/util.go";
    UnstartedVictims "unstarted-victims" Decision [DefaultPreemption] []
        "Of two pods of one priority on a node that have not started, the later one is spared first." =>
        "Of two pods of one priority on a node that have not started, the earlier one is spared first.",
        "framework/preemption/util.go";
    ResizedSums "resized-sums" Decision [] []
        "A pod that is resized in place takes the maximum of spec, status and allocation of each container." =>
        "A pod that is resized in place takes the maximum of the sums of spec, status and allocation.",
        "component-helpers/resource/helpers.go";
    GatedNominations "gated-nominations" Decision [] []
        "A nominated pod holds its room from the moment at which no gate holds it." =>
        "A nominated pod holds its room although a gate holds the pod.",
        "backend/queue/scheduling_queue.go";
    NodeNameFirst "node-name-first" Text [NodeName] []
        "NodeUnschedulable is the first filter, and NodeName is a filter alone." =>
        "NodeName narrows the nodes at PreFilter, and is the first filter: other nodes are refused in its name.",
        "apis/config/v1/default_plugins.go, framework/plugins/nodename/node_name.go";
    NoClaimsText "no-claims-text" Text [DynamicResources] []
        "The text of a pod that waits has `no new claims to deallocate, ` before what preemption says." =>
        "The text of a pod that waits has only what preemption says.",
        "framework/plugins/dynamicresources/dynamicresources.go";
    FoundPlacementText "found-placement-text" Text [DefaultPreemption] []
        "The text of a pod for which preemption found a node does not name it." =>
        "The text ends with `preemption: found a potential placement for pod on node NODE, preempting N victims`.",
        "framework/preemption/preemption.go";
    AllOfFullDevices "all-of-full-devices" Decision [DynamicResources] []
        "A request of all devices leaves out those whose capacity is used up." =>
        "A request of all devices counts those whose capacity is used up, and fails.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    CapacityFaults "capacity-faults" Decision [DynamicResources] []
        "A requested capacity that 64 bits do not hold, or that is negative, is computed on; a step gives `1Ki` for 1024." =>
        "Such a capacity is an error, and a step gives the format of the step.",
        "dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go";
    DistinctDevices "distinct-devices" Decision [DynamicResources] []
        "`distinctAttribute` compares a device with the last one of each request." =>
        "`distinctAttribute` compares a device with all others.",
        "dynamic-resource-allocation/structured/internal/incubating/constraint.go";
    CountersOfDriver "counters-of-driver" Decision [DynamicResources] []
        "Pools of one name share their counters, whichever driver they are of." =>
        "Each driver's pool has counters of its own.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    SharedCountersOnce "shared-counters-once" Decision [DynamicResources] []
        "A further share of a device without capacity takes its counters again." =>
        "A further share of a device takes no counters.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    CounterSlicesOfNode "counter-slices-of-node" Decision [DynamicResources] []
        "A slice with shared counters counts on every node, so that its pool can be incomplete or invalid on nodes without its devices." =>
        "A slice with shared counters counts on the nodes that it is for.",
        "dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go";
    NewDeviceFields "new-device-fields" Decision [DynamicResources] []
        "`compatibilityGroups` of devices and `derivedAttributes` of requests are unknown, and do nothing." =>
        "A slice with `compatibilityGroups` is left out, which leaves its pool incomplete, and `derivedAttributes` are an error.",
        "dynamic-resource-allocation/structured/internal/incubating/compatibility_groups.go";
    ConfigOnce "config-once" Decision [DynamicResources] []
        "The allocation of a claim has a configuration for several requests once for each, with their names." =>
        "The allocation of a claim has each configuration once, without names of requests if it is for all.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    SelectorAttributes "selector-attributes" Decision [DynamicResources] []
        "Attributes of devices are `any` in selectors: a list is an error, `dyn` is not a result, and `includes` takes up to 48 values." =>
        "Attributes of devices are `dyn` in selectors: lists are values, and `includes` takes lists of any length; `lists.range` has bounds.",
        "dynamic-resource-allocation/cel/compile.go, apiserver/pkg/cel/library/lists.go";
    SelectorCosts "selector-costs" Decision [DynamicResources] []
        "`startsWith` and `endsWith` in selectors cost by the text that is searched, `matches(a, b)` and `includes` cost 1." =>
        "`startsWith` and `endsWith` in selectors cost by their argument, `matches(a, b)` and `includes` by the sizes of theirs.",
        "dynamic-resource-allocation/cel/compile.go, cel-go/interpreter/runtimecost.go";
    DeviceTaintRules "device-taint-rules" Decision [DynamicResources] [DRADeviceTaintRules]
        "No DeviceTaintRule is read. With the gate one without a selector taints every device." =>
        "DeviceTaintRules taint devices; one without a selector taints none.",
        "scheduler.go, KEP-5055";
    DeviceLimitText "device-limit-text" Text [DynamicResources] []
        "A claim of more than 32 devices is refused with their number." =>
        "The request with which a claim has more than 32 devices is named.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    SkipNodeOperations "skip-node-operations" Decision [DynamicResources] []
        "`skipNodeOperations` of an allocated device is unknown, and does nothing." =>
        "A claim with a device that has `skipNodeOperations` is for nodes that declare `DRAOptionalNodeOperations`.",
        "framework/plugins/dynamicresources/dynamicresources.go, `Filter`";
    GoneSpecialClaims "gone-special-claims" Text [DynamicResources] []
        "The claim of extended resources that an earlier attempt left and that is gone meanwhile cannot be deleted, which is an error." =>
        "Such a claim counts as deleted.",
        "framework/plugins/dynamicresources/extendeddynamicresources.go, `deleteClaim`";
    DeletedClaims "deleted-claims" WakeUp [DynamicResources] []
        "The end of a claim wakes no pod." =>
        "The end of an allocated claim wakes pods that wait for devices.",
        "framework/plugins/dynamicresources/dynamicresources.go, `isSchedulableAfterClaimChange`";
    SelectorDeviceText "selector-device-text" Text [DynamicResources] []
        "An error of a selector at run time does not name the device." =>
        "An error of a selector at run time names the device and, for a missing key, what to write instead.",
        "dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go";
    TaintWakeUps "taint-wake-ups" WakeUp [] []
        "A change of taints wakes also pods that other filters refused." =>
        "A change of taints wakes only pods that a plugin which reads taints refused.",
        "scheduler.go";
    OwnPodEvents "own-pod-events" WakeUp [] []
        "Plugins wait for events of pods: of those with a node, and of the waiting pod itself." =>
        "Plugins wait for events of pods with a node, or of the waiting pod itself, each for its own.",
        "framework/events.go, framework/types.go";
    AntiAffinityHints "anti-affinity-hints" WakeUp [InterPodAffinity] []
        "The end of a pod helps against anti-affinity when all terms are about it." =>
        "The end of a pod helps against anti-affinity when any term is about it.",
        "framework/plugins/interpodaffinity/plugin.go";
    GatesAtFlush "gates-at-flush" WakeUp [] []
        "The flush of pods that wait long leaves gated pods alone." =>
        "The flush of pods that wait long runs PreEnqueue of gated pods again.",
        "backend/queue/scheduling_queue.go";
    BindRetries "bind-retries" Retry [DefaultBinder] []
        "The call that binds a pod is sent once." =>
        "The call that binds a pod is sent up to four times while the API server answers that it cannot serve.",
        "framework/plugins/defaultbinder/default_binder.go, util/utils.go";
    EventLabels "event-labels" Metric [] []
        "Labels of events call a pod without a node `UnschedulablePod`." =>
        "Labels of events tell `UnscheduledPod` from `TargetPod`, the waiting pod itself.",
        "framework/types.go";
    QueuedEntities "queued-entities" Metric [] []
        "The metrics of the queue count pods." =>
        "`scheduler_queued_entities` and `scheduler_queue_incoming_entities_total` count entities too: pods, or groups of pods.",
        "metrics/metrics.go, backend/queue/scheduling_queue.go";
    HiddenDurations "hidden-durations" Metric [] []
        "`scheduler_preemption_goroutines_duration_seconds` is served." =>
        "`scheduler_preemption_goroutines_duration_seconds` is deprecated and hidden.",
        "metrics/metrics.go";
    ClaimCreations "claim-creations" Metric [DynamicResources] []
        "`scheduler_resourceclaim_creates_total` counts claims that are created for extended resources." =>
        "`dynamic_resource_allocation_resourceclaim_creates_total` counts them, by owner and access.",
        "framework/plugins/dynamicresources/extendeddynamicresources.go";
    GroupPostFilter "group-post-filter" Configuration [] []
        "Profiles have no extension point `podGroupPostFilter`." =>
        "Profiles have the extension point `podGroupPostFilter`, for groups of pods.",
        "apis/config/v1/default_plugins.go";
}

const _: () = assert!(VersionRow::ALL.len() <= u64::BITS as usize);

/// A set of differences: what is decided as 1.37 decides it. `default()` is all of them, which is 1.37.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VersionRows(u64);

impl Default for VersionRows {
    fn default() -> Self {
        Self::of(KubernetesVersion::default())
    }
}

impl VersionRows {
    /// Those of a version.
    pub fn of(version: KubernetesVersion) -> Self {
        match version {
            KubernetesVersion::V1_36 => Self(0),
            KubernetesVersion::V1_37 => Self((1 << VersionRow::ALL.len()) - 1),
        }
    }

    /// Whether a row is one of them.
    pub fn has(self, row: VersionRow) -> bool {
        self.0 & 1 << row as u32 != 0
    }

    /// These, with or without one of them.
    #[must_use]
    pub fn with(self, row: VersionRow, on: bool) -> Self {
        let bit = 1 << row as u32;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// The version that has these differences; `None` between two versions.
    pub fn version(self) -> Option<KubernetesVersion> {
        KubernetesVersion::ALL.into_iter().find(|version| Self::of(*version) == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        for text in ["1.36", "v1.36", "1.36.3", " v1.36.0-rc.1"] {
            assert_eq!(KubernetesVersion::parse(text), Ok(KubernetesVersion::V1_36), "{text}");
        }
        for text in ["", "1", "1.3", "1.38", "2.36", "latest", "1.366"] {
            let said = KubernetesVersion::parse(text).unwrap_err();
            assert!(said.contains("`1.36` and `1.37`"), "{said}");
        }
    }

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let older = VersionRows::of(KubernetesVersion::V1_36);
        for row in VersionRow::ALL.iter().copied() {
            assert!(!older.has(row) && VersionRows::default().has(row));
            let one = older.with(row, true);
            let has: Vec<_> = VersionRow::ALL.iter().filter(|other| one.has(**other)).collect();
            assert_eq!(has, [&row]);
            assert_eq!((one.version(), one.with(row, false)), (None, older));
        }
        assert_eq!(older.version(), Some(KubernetesVersion::V1_36));
    }

    #[test]
    fn rows_are_consistent() {
        let mut ids: Vec<&str> = VersionRow::ALL.iter().map(|row| row.def().id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), VersionRow::ALL.len());
        for row in VersionRow::ALL.iter().map(|row| row.def()) {
            assert!(row.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{row:?}");
            assert!(
                row.before.ends_with('.') && row.after.ends_with('.') && !row.source.is_empty(),
                "{row:?}"
            );
        }
    }
}
