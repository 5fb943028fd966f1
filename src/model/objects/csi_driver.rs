//! `storage.k8s.io/v1/CSIDriver` with the fields that are read.

use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// A CSI driver.
#[derive(Clone, PartialEq, Debug)]
pub struct CsiDriver {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.storageCapacity`: whether it publishes capacities that a scheduler must respect.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`: whether pods that use the driver stay away from nodes without it. Counts
    /// under the feature gate `VolumeLimitScaling` (KEP-5030).
    pub prevents_scheduling_if_missing: bool,
}

/// `storagev1.CSIDriverSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `storageCapacity`.
    #[serde(deserialize_with = "or_default")]
    pub storage_capacity: bool,
    /// `preventPodSchedulingIfMissing`.
    #[serde(deserialize_with = "or_default")]
    pub prevent_pod_scheduling_if_missing: bool,
}

impl Typed for CsiDriver {
    const KIND: Kind = Kind::CsiDriver;
    type Slim = Slim<Spec>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, .. } = object;
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            storage_capacity: spec.storage_capacity,
            prevents_scheduling_if_missing: spec.prevent_pod_scheduling_if_missing,
        })
    }

    metadata_field!();
}
