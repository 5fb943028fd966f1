//! [`Concerned`]: which differences between versions can change anything for a pod. A row that does not concern a pod has no
//! part in its outcome, so that nothing is decided to find that out.

use crate::dry_run::World;
use crate::model::{ConstraintKinds, Kind, Object, PodInfo, VersionRow};

/// What of a cluster the rows read.
pub(super) struct Concerned {
    /// A pod is resized in place, and the versions count it differently.
    resized: bool,
    /// A gated pod is nominated to a node.
    gated_nominations: bool,
    /// How many PodDisruptionBudgets there are.
    budgets: usize,
    /// How many pods have a node and have not started.
    unstarted: usize,
    /// The rows that concern a pending pod by what is in its spec.
    pending: Vec<VersionRow>,
}

impl Concerned {
    /// What a cluster has of it.
    pub(super) fn of(world: &World) -> Self {
        let placed = || {
            world.objects.iter().filter_map(|object| match object {
                Object::Pod(pod) => Some(pod),
                _ => None,
            })
        };
        let all = || placed().chain(&world.pending);
        let of_spec = |row: &VersionRow| world.pending.iter().any(|pod| by_spec(*row, pod));
        Self {
            resized: all().any(|pod| pod.taken_in_1_36.is_some()),
            gated_nominations: world
                .pending
                .iter()
                .any(|pod| !pod.scheduling_gates.is_empty() && pod.nominated_node.is_some()),
            budgets: world.objects.iter().filter(|of| of.kind() == Kind::PodDisruptionBudget).count(),
            unstarted: placed().filter(|pod| pod.started.is_none()).count(),
            pending: VersionRow::ALL.iter().copied().filter(of_spec).collect(),
        }
    }

    /// Whether a row can change the nodes that a running pod would be given if it were new and alone.
    pub(super) fn running(&self, row: VersionRow, pod: &PodInfo) -> bool {
        match row {
            VersionRow::ResizedSums => self.resized,
            _ => by_spec(row, pod),
        }
    }

    /// Whether a row can change how a pending pod is treated, or those after it. `retried`: some pod was tried again.
    pub(super) fn pending(&self, row: VersionRow, retried: bool) -> bool {
        match row {
            VersionRow::ResizedSums => self.resized,
            VersionRow::GatedNominations => self.gated_nominations,
            VersionRow::BudgetsInOrder => self.budgets > 1,
            VersionRow::UnstartedVictims => self.unstarted > 1,
            VersionRow::NoClaimsText | VersionRow::FoundPlacementText => true,
            VersionRow::TaintWakeUps
            | VersionRow::OwnPodEvents
            | VersionRow::AntiAffinityHints
            | VersionRow::GoneSpecialClaims
            | VersionRow::DeletedClaims
            | VersionRow::GatesAtFlush => retried,
            VersionRow::StorageCapacityScores
            | VersionRow::MissingDrivers
            | VersionRow::ImageVolumes
            | VersionRow::NamespaceSelectors
            | VersionRow::NodeNameFirst
            | VersionRow::AllOfFullDevices
            | VersionRow::CapacityFaults
            | VersionRow::DistinctDevices
            | VersionRow::CountersOfDriver
            | VersionRow::SharedCountersOnce
            | VersionRow::CounterSlicesOfNode
            | VersionRow::NewDeviceFields
            | VersionRow::ConfigOnce
            | VersionRow::SkipNodeOperations
            | VersionRow::SelectorAttributes
            | VersionRow::SelectorCosts
            | VersionRow::DeviceTaintRules
            | VersionRow::DeviceLimitText
            | VersionRow::SelectorDeviceText => self.pending.contains(&row),
            VersionRow::BindRetries
            | VersionRow::EventLabels
            | VersionRow::QueuedEntities
            | VersionRow::HiddenDurations
            | VersionRow::ClaimCreations
            | VersionRow::GroupPostFilter => false,
        }
    }
}

/// Whether the spec of a pod has what a row is about.
fn by_spec(row: VersionRow, pod: &PodInfo) -> bool {
    let constraints = pod.constraints.as_deref();
    match row {
        VersionRow::StorageCapacityScores => pod.claims().next().is_some(),
        VersionRow::MissingDrivers => constraints.is_some_and(|of| !of.volumes.is_empty()),
        VersionRow::ImageVolumes => pod.images.len() > pod.containers.len(),
        VersionRow::NamespaceSelectors => constraints.is_some_and(|of| {
            let required = of.affinity.required.iter().chain(of.affinity.required_anti.iter());
            let mut terms = required.chain(of.affinity.preferred.iter().map(|of| &of.term));
            terms.any(|term| term.namespace_selector.is_some())
        }),
        VersionRow::NodeNameFirst => pod.node_name.is_some(),
        VersionRow::AllOfFullDevices
        | VersionRow::CapacityFaults
        | VersionRow::DistinctDevices
        | VersionRow::CountersOfDriver
        | VersionRow::SharedCountersOnce
        | VersionRow::CounterSlicesOfNode
        | VersionRow::NewDeviceFields
        | VersionRow::ConfigOnce
        | VersionRow::SkipNodeOperations
        | VersionRow::SelectorAttributes
        | VersionRow::SelectorCosts
        | VersionRow::DeviceTaintRules
        | VersionRow::DeviceLimitText
        | VersionRow::SelectorDeviceText => may_have_devices(pod),
        _ => false,
    }
}

/// Whether a pod has claims of devices, or a resource that a class of devices may stand for.
fn may_have_devices(pod: &PodInfo) -> bool {
    let has_claims = pod.constraints.as_deref().is_some_and(|of| {
        of.list.iter().any(|constraint| constraint.kind.intersects(ConstraintKinds::RESOURCE_CLAIMS))
    });
    has_claims || !pod.requests.scalars.is_empty()
}
