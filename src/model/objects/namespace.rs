//! `v1/Namespace` with the fields that are read, and its conversion to a [`super::Namespace`].

use super::metadata::Metadata;
use super::projection::kept_whole;
use super::read::or_default;
use super::{ObjectError, decode};
use serde::Deserialize;
use std::sync::Arc;

/// `v1.Namespace`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Namespace {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
}

impl super::Namespace {
    /// The namespace of an object. Fails where the API server would have refused the object.
    pub fn from_object(object: &Namespace) -> Result<Self, ObjectError> {
        Ok(Self {
            name: object.metadata.required_name()?,
            labels: object.metadata.labels.clone(),
            annotations: object.metadata.annotations.clone(),
            raw: None,
        })
    }

    /// The namespace of an object that is kept whole beside it, for policies that read beyond its fields.
    pub fn from_value(value: Arc<serde_json::Value>) -> Result<Self, ObjectError> {
        let namespace = Self::from_object(&decode(&value)?)?;
        Ok(Self { raw: Some(kept_whole(value)), ..namespace })
    }
}
