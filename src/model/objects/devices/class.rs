//! `resource.k8s.io/v1/DeviceClass` with the fields that are read.

use super::super::metadata::ObjectMeta;
use super::super::read::or_default;
use super::super::slim::Slim;
use super::super::typed::metadata_field;
use super::super::{Kind, ObjectError, Typed};
use super::request::{Selectors, selectors};
use crate::symbol::Symbol;
use crate::time::Time;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// What devices of a class have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceClass {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `metadata.creationTimestamp`: of two classes with one extended resource the newest counts.
    pub created: Option<Time>,
    /// `spec.selectors`: expressions of CEL; `None`: a selector of a kind that this program does not know.
    pub selectors: Selectors,
    /// `spec.config`, each element as it was written.
    pub config: Arc<[Value]>,
    /// `spec.extendedResourceName`: pods may request the resource instead of a claim.
    pub extended_resource: Option<Symbol>,
}

/// `resourcev1.DeviceClassSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selectors`.
    #[serde(deserialize_with = "selectors")]
    pub selectors: Selectors,
    /// `config`.
    #[serde(deserialize_with = "or_default")]
    pub config: Vec<Value>,
    /// `extendedResourceName`.
    pub extended_resource_name: Option<Symbol>,
}

impl Typed for DeviceClass {
    const KIND: Kind = Kind::DeviceClass;
    type Slim = Slim<Spec>;

    fn from_object(object: &Slim<Spec>) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, .. } = object;
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            created: metadata.created()?,
            selectors: spec.selectors.clone(),
            config: spec.config.clone().into(),
            extended_resource: spec.extended_resource_name.clone(),
        })
    }

    metadata_field!();
}
