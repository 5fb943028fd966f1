//! `storage.k8s.io/v1/CSIStorageCapacity` with the fields that are read.

use super::super::labels::{LabelSelector, SelectorError};
use super::super::symbol::Symbol;
use super::metadata::{Metadata, ObjectMeta};
use super::read::{Amount, or_default};
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, selectors};
use serde::Deserialize;

/// How much storage of a class some nodes can reach.
#[derive(Clone, PartialEq, Debug)]
pub struct CsiStorageCapacity {
    /// Namespace, name, UID, version.
    pub metadata: ObjectMeta,
    /// `storageClassName`.
    pub class: Symbol,
    /// `nodeTopology`: the nodes that reach it. `None`: no node; the empty selector: all.
    pub topology: Option<Result<LabelSelector, SelectorError>>,
    /// `capacity` in bytes, rounded up.
    pub capacity: Option<i64>,
    /// `maximumVolumeSize` in bytes, rounded up.
    pub maximum_volume_size: Option<i64>,
}

/// `storagev1.CSIStorageCapacity`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Slim {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// `nodeTopology`.
    pub node_topology: Option<selectors::LabelSelector>,
    /// `storageClassName`.
    #[serde(deserialize_with = "or_default")]
    pub storage_class_name: Symbol,
    /// `capacity`.
    pub capacity: Option<Amount>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Amount>,
}

impl Typed for CsiStorageCapacity {
    const KIND: Kind = Kind::CsiStorageCapacity;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        let bytes = |amount: &Option<Amount>, path: &str| match amount {
            Some(amount) => Ok(Some(amount.quantity(path)?.value())),
            None => Ok(None),
        };
        Ok(Self {
            metadata: ObjectMeta::name_of(&object.metadata)?,
            class: object.storage_class_name.clone(),
            topology: object.node_topology.as_ref().map(LabelSelector::parse),
            capacity: bytes(&object.capacity, "capacity")?,
            maximum_volume_size: bytes(&object.maximum_volume_size, "maximumVolumeSize")?,
        })
    }

    metadata_field!();
}

impl CsiStorageCapacity {
    /// The largest volume that can be provisioned, in bytes: `maximumVolumeSize` if given, else `capacity`. `None`: no
    /// volume.
    pub fn limit(&self) -> Option<i64> {
        self.maximum_volume_size.or(self.capacity)
    }
}
