//! `resource.k8s.io/v1/ResourceClaim` with the fields that are read.

use super::super::metadata::{Metadata, ObjectMeta};
use super::super::read::or_default;
use super::super::typed::metadata_field;
use super::super::{Kind, ObjectError, Typed};
use super::{Allocation, ClaimConfig, ClaimConstraint, ClaimRequest, Consumer, DeviceStatus};
use crate::symbol::Symbol;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The finalizer that keeps a claim while it is allocated.
pub const DELETE_PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// The annotation of claims that the scheduler makes for extended resources.
pub(crate) const EXTENDED_RESOURCE_CLAIM: &str = "resource.kubernetes.io/extended-resource-claim";

/// A claim of devices.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceClaim {
    /// Namespace, name, UID, version, owners, deletion.
    pub metadata: ObjectMeta,
    /// `metadata.finalizers`.
    pub finalizers: Box<[Symbol]>,
    /// `spec.devices.requests`.
    pub requests: Arc<[ClaimRequest]>,
    /// `spec.devices.constraints`.
    pub constraints: Arc<[ClaimConstraint]>,
    /// `spec.devices.config`.
    pub config: Arc<[ClaimConfig]>,
    /// `status.allocation`.
    pub allocation: Option<Arc<Allocation>>,
    /// `status.reservedFor`.
    pub reserved_for: Arc<[Consumer]>,
    /// `status.devices`.
    pub devices: Arc<[DeviceStatus]>,
    /// The rest of the status, which wakes pods when it changes.
    pub other_status: Arc<Map<String, Value>>,
}

/// `resourcev1.ResourceClaim`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Slim {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ClaimMetadata,
    /// `spec`.
    #[serde(deserialize_with = "or_default")]
    pub spec: Spec,
    /// `status`.
    #[serde(deserialize_with = "or_default")]
    pub status: Status,
}

/// `metav1.ObjectMeta` with the finalizers.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimMetadata {
    /// Everything else.
    #[serde(flatten)]
    pub common: Metadata,
    /// `finalizers`.
    #[serde(deserialize_with = "or_default")]
    pub finalizers: Vec<Symbol>,
}

/// `resourcev1.ResourceClaimSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// `devices`.
    #[serde(deserialize_with = "or_default")]
    pub devices: Devices,
}

/// `resourcev1.DeviceClaim`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Devices {
    /// `requests`.
    #[serde(deserialize_with = "or_default")]
    pub requests: Vec<ClaimRequest>,
    /// `constraints`.
    #[serde(deserialize_with = "or_default")]
    pub constraints: Vec<ClaimConstraint>,
    /// `config`.
    #[serde(deserialize_with = "or_default")]
    pub config: Vec<ClaimConfig>,
}

/// `resourcev1.ResourceClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `allocation`.
    pub allocation: Option<Arc<Allocation>>,
    /// `reservedFor`.
    #[serde(deserialize_with = "or_default")]
    pub reserved_for: Vec<Consumer>,
    /// `devices`.
    #[serde(deserialize_with = "or_default")]
    pub devices: Vec<DeviceStatus>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Typed for ResourceClaim {
    const KIND: Kind = Kind::ResourceClaim;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, status } = object;
        Ok(Self {
            metadata: ObjectMeta::of(&metadata.common, &[EXTENDED_RESOURCE_CLAIM])?,
            finalizers: metadata.finalizers.clone().into(),
            requests: spec.devices.requests.clone().into(),
            constraints: spec.devices.constraints.clone().into(),
            config: spec.devices.config.clone().into(),
            allocation: status.allocation.clone(),
            reserved_for: status.reserved_for.clone().into(),
            devices: status.devices.clone().into(),
            other_status: Arc::new(status.other.clone()),
        })
    }

    metadata_field!();

    /// Another scheduler allocated it, or allocated it anew: its devices count, and those that are assumed cannot be
    /// written.
    fn refutes(&self, assumed: &Self) -> bool {
        self.allocation.is_some() && self.allocation != assumed.allocation
    }
}

impl ResourceClaim {
    /// Whether a pod may use it.
    pub fn is_reserved_for(&self, uid: &Symbol) -> bool {
        self.reserved_for.iter().any(|consumer| consumer.uid == *uid)
    }

    /// Whether the scheduler made it for the extended resources of a pod.
    pub fn is_of_extended_resources(&self) -> bool {
        self.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == Some("true")
    }

    /// Whether it has the finalizer that keeps it while it is allocated.
    pub fn is_protected(&self) -> bool {
        self.finalizers.iter().any(|finalizer| *finalizer == DELETE_PROTECTION)
    }
}
