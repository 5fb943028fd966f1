//! Claims and requests as a search sees them.

use crate::constraints::Constraint;
use crate::device::Place;
use crate::selectable::Wanted;
use bayplan_model::objects::devices::{AllocationMode, ClaimRequest, DeviceRequest};
use bayplan_model::{DeviceClass, ResourceClaim, Symbol};
use std::sync::Arc;

/// The devices that a claim can have at most (`AllocationResultsMaxSize`).
pub(crate) const MOST_DEVICES: i64 = 32;

/// What is requested: `exactly` of a request, or an alternative of `firstAvailable`.
#[derive(Clone, Debug)]
pub(crate) struct Alternative<'a> {
    /// Number among all alternatives of a search.
    pub(crate) number: u32,
    /// The name: of the request, or bare of the alternative.
    pub(crate) name: &'a Symbol,
    /// The name of the request.
    pub(crate) parent: &'a Symbol,
    /// The name in results: `request` or `request/alternative`.
    pub(crate) full_name: Symbol,
    /// What is requested.
    pub(crate) device: &'a DeviceRequest,
    /// `adminAccess`.
    pub(crate) admin_access: bool,
    /// The class.
    pub(crate) class: &'a Arc<DeviceClass>,
    /// The request as selectors see it.
    pub(crate) wanted: Wanted<'a>,
    /// How many devices.
    pub(crate) count: i64,
    /// Of the mode `All`: these devices.
    pub(crate) all: Option<Vec<Place>>,
}

/// A request of a claim.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    /// Its name.
    pub(crate) name: &'a Symbol,
    /// Whether it has `firstAvailable`.
    pub(crate) is_prioritized: bool,
    /// What is requested: one, unless there is a choice; the best first.
    pub(crate) alternatives: Vec<Alternative<'a>>,
}

/// A claim.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    /// The object.
    pub(crate) object: &'a ResourceClaim,
    /// Its requests.
    pub(crate) requests: Vec<Request<'a>>,
    /// Its constraints, before any device.
    pub(crate) constraints: Vec<Constraint<'a>>,
}

/// A request before its class is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) parent: &'a ClaimRequest,
    pub(crate) name: &'a Symbol,
    pub(crate) device: &'a DeviceRequest,
    pub(crate) admin_access: bool,
    pub(crate) is_alternative: bool,
}

impl Written<'_> {
    /// The name in results.
    pub(crate) fn full_name(&self) -> Symbol {
        match self.is_alternative {
            true => Symbol::from(format!("{}/{}", self.parent.name, self.name)),
            false => self.name.clone(),
        }
    }

    /// The word for its mode.
    pub(crate) fn mode(&self) -> AllocationMode {
        self.device.mode()
    }
}

/// How a claim is named in texts: `namespace/name`.
pub(crate) fn named(claim: &ResourceClaim) -> String {
    let (namespace, name) = (&claim.metadata.namespace, &claim.metadata.name);
    match namespace.is_empty() {
        true => name.to_string(),
        false => format!("{namespace}/{name}"),
    }
}
