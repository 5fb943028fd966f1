//! `v1/ReplicationController` with the fields that are read: default spreading keeps its pods apart.

use super::super::labels::Labels;
use super::metadata::{Metadata, ObjectMeta};
use super::read::or_default;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// A ReplicationController.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReplicationController {
    /// Its name.
    pub metadata: ObjectMeta,
    /// `spec.selector`; an empty one selects no pod.
    pub selector: Labels,
}

/// `v1.ReplicationController`, as far as it is read.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Slim {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// `spec`.
    #[serde(deserialize_with = "or_default")]
    pub spec: Spec,
}

/// `v1.ReplicationControllerSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selector`.
    #[serde(deserialize_with = "or_default")]
    pub selector: Labels,
}

impl Typed for ReplicationController {
    const KIND: Kind = Kind::ReplicationController;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        Ok(Self { metadata: ObjectMeta::name_of(&object.metadata)?, selector: object.spec.selector.clone() })
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn with_metadata(self, metadata: ObjectMeta) -> Self {
        Self { metadata, ..self }
    }
}
