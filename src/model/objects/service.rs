//! `v1/Service` with the fields that are read: default spreading keeps the pods of a Service apart.

use super::super::labels::Labels;
use super::metadata::{Metadata, ObjectMeta};
use super::read::or_default;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// A Service.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Service {
    /// Its name.
    pub metadata: ObjectMeta,
    /// `spec.selector`; an empty one selects no pod.
    pub selector: Labels,
}

/// `v1.Service`, as far as it is read.
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

/// `v1.ServiceSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selector`.
    #[serde(deserialize_with = "or_default")]
    pub selector: Labels,
}

impl Typed for Service {
    const KIND: Kind = Kind::Service;
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
