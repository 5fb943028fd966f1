//! `apps/v1/StatefulSet` with the fields that are read: default spreading keeps its pods apart.

use super::super::labels::LabelSelector;
use super::metadata::{Metadata, ObjectMeta};
use super::read::or_default;
use super::{Kind, ObjectError, Typed, selectors};
use serde::Deserialize;

/// A StatefulSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StatefulSet {
    /// Its name.
    pub metadata: ObjectMeta,
    /// `spec.selector`; `None` when it is absent or invalid: it selects no pod.
    pub selector: Option<LabelSelector>,
}

/// `apps/v1.StatefulSet`, as far as it is read.
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

/// `apps/v1.StatefulSetSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selector`.
    pub selector: Option<selectors::LabelSelector>,
}

impl Typed for StatefulSet {
    const KIND: Kind = Kind::StatefulSet;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        let selector = object.spec.selector.as_ref().and_then(|selector| LabelSelector::parse(selector).ok());
        Ok(Self { metadata: ObjectMeta::name_of(&object.metadata)?, selector })
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn with_metadata(self, metadata: ObjectMeta) -> Self {
        Self { metadata, ..self }
    }
}
