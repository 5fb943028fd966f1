//! What a pod says of devices, as the API writes it, and how it becomes [`PodDevices`].

use super::super::constraints::{
    ClaimSource, DeviceContainer, ExtendedClaim, PodClaim, PodDevices, may_be_of_devices,
};
use super::super::shared::Shared;
use super::super::symbol::Symbol;
use super::pod::{Container, Spec, Status};
use super::read::{Amount, or_default};
use serde::Deserialize;
use std::sync::Arc;

/// `v1.PodResourceClaim`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaim {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `resourceClaimName`.
    pub resource_claim_name: Option<Symbol>,
    /// `resourceClaimTemplateName`.
    pub resource_claim_template_name: Option<Symbol>,
}

/// `v1.PodResourceClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `resourceClaimName`.
    pub resource_claim_name: Option<Symbol>,
}

/// `v1.PodExtendedResourceClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtendedClaimStatus {
    /// `resourceClaimName`.
    #[serde(deserialize_with = "or_default")]
    pub resource_claim_name: Symbol,
    /// `requestMappings`.
    #[serde(deserialize_with = "or_default")]
    pub request_mappings: Vec<RequestMapping>,
}

/// `v1.ContainerExtendedResourceRequest`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RequestMapping {
    /// `containerName`.
    #[serde(deserialize_with = "or_default")]
    pub container_name: Symbol,
    /// `resourceName`.
    #[serde(deserialize_with = "or_default")]
    pub resource_name: Symbol,
    /// `requestName`.
    #[serde(deserialize_with = "or_default")]
    pub request_name: Symbol,
}

thread_local! {
    static CONTAINERS: Shared<Arc<[DeviceContainer]>, ()> = const { Shared::new() };
}

impl ResourceClaim {
    fn parse(&self) -> PodClaim {
        let source = match (&self.resource_claim_name, &self.resource_claim_template_name) {
            (Some(claim), _) => ClaimSource::Claim(claim.clone()),
            (None, Some(template)) => ClaimSource::Template(template.clone()),
            (None, None) => ClaimSource::Neither,
        };
        PodClaim { name: self.name.clone(), source }
    }
}

impl ExtendedClaimStatus {
    fn parse(&self) -> Box<ExtendedClaim> {
        let mapping = |of: &RequestMapping| {
            (of.container_name.clone(), of.resource_name.clone(), of.request_name.clone())
        };
        let mappings = self.request_mappings.iter().map(mapping).collect();
        Box::new(ExtendedClaim { name: self.resource_claim_name.clone(), mappings })
    }
}

impl Container {
    fn requests_devices(&self) -> bool {
        self.resources.requests.0.iter().any(|(name, _)| may_be_of_devices(name))
    }

    fn for_devices(&self, init: bool) -> DeviceContainer {
        let amount = |amount: &Amount| match amount {
            Amount::Good(quantity) => quantity.as_i64(),
            Amount::Bad(..) => None,
        };
        let list = &self.resources.requests.0;
        let mut requests: Vec<_> = list.iter().map(|(name, of)| (name.clone(), amount(of))).collect();
        requests.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of several with one name the last counts.
        requests.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        DeviceContainer {
            name: self.name.clone(),
            long_lived: !init || self.is_sidecar(),
            requests: requests.into(),
        }
    }
}

impl Spec {
    /// Whether a pod says nothing of devices; most pods do not.
    pub(super) fn has_no_devices(&self, status: &Status) -> bool {
        self.resource_claims.is_empty()
            && status.resource_claim_statuses.is_empty()
            && status.extended_resource_claim_status.is_none()
            && !self.requests_devices()
    }

    fn requests_devices(&self) -> bool {
        self.containers.iter().chain(&self.init_containers).any(Container::requests_devices)
    }

    /// What a pod says of devices.
    pub(super) fn devices(&self, status: &Status) -> Option<Box<PodDevices>> {
        if self.has_no_devices(status) {
            return None;
        }
        let containers: Arc<[_]> = match self.requests_devices() {
            true => self.all_containers().map(|(container, init)| container.for_devices(init)).collect(),
            false => Arc::default(),
        };
        let claim_statuses = status.resource_claim_statuses.iter();
        Some(Box::new(PodDevices {
            claims: self.resource_claims.iter().map(ResourceClaim::parse).collect(),
            claim_statuses: claim_statuses
                .map(|of| (of.name.clone(), of.resource_claim_name.clone()))
                .collect(),
            extended_claim: status.extended_resource_claim_status.as_ref().map(ExtendedClaimStatus::parse),
            containers: CONTAINERS.with(|table| table.same(containers)),
        }))
    }
}
