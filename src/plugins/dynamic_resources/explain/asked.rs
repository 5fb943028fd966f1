//! [`Asked`]: a request, or an alternative of one, with the devices of a node.

use super::super::claims::full_name;
use super::super::requests::Requests;
use super::super::state::NOT_MADE;
use bayplan_devices::{Allocator, Refusal, Refusals, RefusedDevice};
use bayplan_model::objects::devices::{
    AllocationMode, ClaimConstraint, ClaimRequest, DeviceId, DeviceRequest, PoolId, RequestKind,
};
use bayplan_model::{Node, ResourceClaim, Symbol};
use std::borrow::Cow;
use std::sync::Arc;

/// A request, or an alternative of one, with the devices of a node.
pub(super) struct Asked {
    /// The position among the claims that are to be allocated.
    pub(super) claim_at: usize,
    claim: String,
    claim_name: Symbol,
    /// `request`, or `request/alternative`.
    pub(super) request: Symbol,
    /// The extended resource for which the claim is made, if it is one of these.
    resource: Option<Symbol>,
    pub(super) device: DeviceRequest,
    pub(super) constraints: Arc<[ClaimConstraint]>,
    /// Devices that serve it, beside what the requests before it take.
    pub(super) fitting: Vec<DeviceId>,
    /// Devices that do not.
    pub(super) refused: Vec<RefusedDevice>,
    pub(super) incomplete: Vec<PoolId>,
    pub(super) invalid: Vec<PoolId>,
    /// Whether neither this nor another alternative of the request finds enough devices.
    pub(super) is_short: bool,
}

impl Asked {
    /// `claim shop/data`.
    pub(super) fn owner(&self) -> String {
        match &self.resource {
            Some(resource) => format!("extended resource {resource}"),
            None => format!("claim {}", self.claim),
        }
    }

    /// `claim shop/data, request gpu`.
    pub(super) fn name(&self) -> String {
        match &self.resource {
            Some(_) => self.owner(),
            None => format!("{}, request {}", self.owner(), self.request),
        }
    }

    /// `2 devices of class gpu`.
    pub(super) fn need(&self) -> String {
        let class = &self.device.device_class_name;
        match self.device.mode() {
            AllocationMode::ExactCount(1) => format!("1 device of class {class}"),
            AllocationMode::ExactCount(count) => format!("{count} devices of class {class}"),
            AllocationMode::All => format!("all devices of class {class}"),
            AllocationMode::Unknown(mode) => format!("devices of class {class} ({mode})"),
        }
    }

    /// The name of the claim, if a person wrote what it requests.
    pub(super) fn written_claim(&self) -> Option<&Symbol> {
        self.resource.is_none().then_some(&self.claim_name)
    }

    /// How many devices are offered to the node.
    pub(super) fn total(&self) -> usize {
        self.fitting.len() + self.refused.len()
    }

    fn finds_too_few(&self) -> bool {
        let in_the_way = |of: &RefusedDevice| {
            !matches!(of.refusal, Refusal::Class { .. } | Refusal::Selector { .. } | Refusal::Node)
        };
        match self.device.mode() {
            AllocationMode::ExactCount(count) => {
                i64::try_from(self.fitting.len()).is_ok_and(|fit| fit < count)
            }
            AllocationMode::All | AllocationMode::Unknown(_) => {
                self.fitting.is_empty() || !self.incomplete.is_empty() || self.refused.iter().any(in_the_way)
            }
        }
    }
}

/// What a request may be served by: each with its name.
fn alternatives(request: &ClaimRequest) -> Vec<(Symbol, &DeviceRequest)> {
    match request.kind() {
        RequestKind::Exactly(exactly) => vec![(request.name.clone(), &exactly.device)],
        RequestKind::FirstAvailable(all) => {
            let name = |of: &Symbol| Symbol::from(format!("{}/{of}", request.name));
            all.iter().map(|of| (name(&of.name), &of.device)).collect()
        }
        RequestKind::Unknown => Vec::new(),
    }
}

/// The requests of claims, in order.
pub(super) fn of(
    allocator: &Allocator,
    node: &Node,
    claims: &[Cow<'_, ResourceClaim>],
    extended: Option<&Requests>,
) -> Vec<Asked> {
    let all: Vec<&ResourceClaim> = claims.iter().map(|claim| &**claim).collect();
    let mut asked = Vec::new();
    for (claim_at, claim) in all.iter().enumerate() {
        for (at, request) in claim.requests.iter().enumerate() {
            let Refusals { devices, mut fitting, incomplete, invalid } =
                allocator.refusals(node, &all, claim_at, at);
            let first = asked.len();
            for (name, device) in alternatives(request) {
                let made = extended.filter(|_| claim.metadata.name == NOT_MADE);
                let mapping = made.and_then(|of| of.mappings.iter().find(|of| of.request == name));
                let found = fitting.iter().position(|(of, _)| *of == name);
                asked.push(Asked {
                    claim_at,
                    claim: full_name(claim),
                    claim_name: claim.metadata.name.clone(),
                    resource: mapping.map(|mapping| mapping.resource.clone()),
                    device: device.clone(),
                    constraints: claim.constraints.clone(),
                    fitting: found.map(|found| fitting.swap_remove(found).1).unwrap_or_default(),
                    refused: devices.iter().filter(|of| of.request == name).cloned().collect(),
                    incomplete: incomplete.clone(),
                    invalid: invalid.clone(),
                    request: name,
                    is_short: false,
                });
            }
            let of_request = asked.get_mut(first..).unwrap_or_default();
            let is_short = of_request.iter().all(Asked::finds_too_few);
            of_request.iter_mut().for_each(|asked| asked.is_short = is_short);
        }
    }
    asked
}
