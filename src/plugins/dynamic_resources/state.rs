//! [`State`]: what an attempt knows of the claims of its pod.

use super::requests::Requests;
use bayplan_model::objects::devices::Allocation;
use bayplan_model::{NodeInfo, ResourceClaim, Symbol, Time};
use std::sync::Arc;

/// The name of a claim for extended resources that does not exist yet. No claim can have it.
pub(super) const NOT_MADE: &str = "<extended-resources>";

/// A claim of the pod.
#[derive(Clone, Debug)]
pub(super) struct PodClaim {
    /// The claim as it was when the attempt began; in PreBind as it was written.
    pub(super) claim: Arc<ResourceClaim>,
    /// Whether it is the claim for the extended resources of the pod.
    pub(super) special: bool,
    /// What Reserve allocated to it.
    pub(super) allocated: Option<Arc<Allocation>>,
    /// Whether the last write of it that was sent is the one of allocation and reservation.
    pub(super) reserves: bool,
}

/// The claims of a pod during an attempt. Without claims: PreFilter found none, or refused the pod.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// In the order of the pod; the claim for extended resources is the last.
    pub(super) claims: Vec<PodClaim>,
    /// What the claim for extended resources requests on the node of Reserve.
    pub(super) requests: Option<Arc<Requests>>,
    /// The name that the claim for extended resources gets; set by Reserve.
    pub(super) made_name: Option<Symbol>,
    /// Whether the API server may have created the claim for extended resources.
    pub(super) may_be_made: bool,
    /// Since when PreBind waits for devices.
    pub(super) waits_since: Option<Time>,
}

impl PodClaim {
    pub(super) fn new(claim: Arc<ResourceClaim>, special: bool) -> Self {
        Self { claim, special, allocated: None, reserves: false }
    }

    /// Whether it is the claim for extended resources, which does not exist.
    pub(super) fn is_not_made(&self) -> bool {
        self.special && self.claim.metadata.name == NOT_MADE
    }
}

impl State {
    /// The claim for extended resources.
    pub(super) fn special(&self) -> Option<&PodClaim> {
        self.claims.last().filter(|claim| claim.special)
    }

    /// Whether the pod names claims.
    pub(super) fn has_user_claims(&self) -> bool {
        self.claims.iter().any(|claim| !claim.special)
    }

    /// The claims without an allocation.
    pub(super) fn to_allocate(&self) -> impl Iterator<Item = &PodClaim> {
        self.claims.iter().filter(|of| of.claim.allocation.is_none())
    }
}

/// Whether an allocation is for a node.
pub(super) fn reaches(allocation: &Allocation, node: &NodeInfo) -> bool {
    let matches = |nodes: &bayplan_model::objects::devices::ChosenNodes| {
        nodes.selector.matches(node.name(), &node.node().labels).unwrap_or(false)
    };
    allocation.node_selector.as_ref().is_none_or(|nodes| matches(nodes))
}
