//! What a pod says of devices: its claims, those that were made for it, and what its containers request by extended
//! resources.

use crate::symbol::Symbol;
use std::sync::Arc;

/// Claims of a pod, and requests that classes of devices may serve.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodDevices {
    /// `spec.resourceClaims`, in pod order.
    pub claims: Box<[PodClaim]>,
    /// `status.resourceClaimStatuses`, in the order written: the name of the entry in `spec.resourceClaims`, and of the claim
    /// that was made for it; `None` when none is needed.
    pub claim_statuses: Box<[(Symbol, Option<Symbol>)]>,
    /// `status.extendedResourceClaimStatus`.
    pub extended_claim: Option<Box<ExtendedClaim>>,
    /// Init containers, then regular ones, in pod order; empty when none of them requests a resource that a class
    /// of devices may serve ([`may_be_of_devices`]).
    pub containers: Arc<[DeviceContainer]>,
}

/// `v1.PodResourceClaim`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodClaim {
    /// `name`.
    pub name: Symbol,
    /// Where the claim comes from.
    pub source: ClaimSource,
}

/// Where a claim of a pod comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ClaimSource {
    /// `resourceClaimName`: the claim of this name in the pod's namespace.
    Claim(Symbol),
    /// `resourceClaimTemplateName`: the claim that is made for the pod from this template.
    Template(Symbol),
    /// Neither: a form of a later Kubernetes.
    Neither,
}

/// `v1.PodExtendedResourceClaimStatus`: the claim that was made for the extended resources of a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExtendedClaim {
    /// `resourceClaimName`.
    pub name: Symbol,
    /// `requestMappings`: container, resource, and the request of the claim that serves it.
    pub mappings: Box<[(Symbol, Symbol, Symbol)]>,
}

/// What a container requests, as requests of devices are made from it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceContainer {
    /// The name.
    pub name: Symbol,
    /// Whether it runs as long as the pod: a regular container, or an init container with `restartPolicy: Always`.
    pub long_lived: bool,
    /// All that it requests, by name, nothing of a resource as well. `None`: an amount that upstream does not take for a
    /// whole number, from which no request is made.
    pub requests: Box<[(Symbol, Option<i64>)]>,
}

/// What the extended resources begin with that are named after a class of devices.
///
/// Source: `k8s.io/api/resource/v1`, `ResourceDeviceClassPrefix`.
pub const CLASS_RESOURCE: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a class of devices may serve requests of a resource: an extended one, or one named after the class.
///
/// Source: `pkg/scheduler/util/utils.go`, `IsDRAExtendedResourceName`.
pub fn may_be_of_devices(resource: &str) -> bool {
    resource.contains('/') && (resource.starts_with(CLASS_RESOURCE) || crate::requests::is_extended(resource))
}
