//! `resource.k8s.io/v1/ResourceClaimTemplate`, which only the controllers of an API server in memory read.

use super::super::metadata::ObjectMeta;
use super::super::read::or_default;
use super::super::slim::Slim;
use super::super::typed::metadata_field;
use super::super::{Kind, ObjectError, Typed};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a claim is made of for each pod that names the template.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceClaimTemplate {
    /// Namespace, name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.metadata`: labels and annotations of the claims.
    pub claim_metadata: Arc<Map<String, Value>>,
    /// `spec.spec`: the spec of the claims.
    pub claim_spec: Arc<Map<String, Value>>,
}

/// `resourcev1.ResourceClaimTemplateSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Map<String, Value>,
    /// `spec`.
    #[serde(deserialize_with = "or_default")]
    pub spec: Map<String, Value>,
}

impl Typed for ResourceClaimTemplate {
    const KIND: Kind = Kind::ResourceClaimTemplate;
    type Slim = Slim<Spec>;

    fn from_object(object: &Slim<Spec>) -> Result<Self, ObjectError> {
        Ok(Self {
            metadata: ObjectMeta::name_of(&object.metadata)?,
            claim_metadata: Arc::new(object.spec.metadata.clone()),
            claim_spec: Arc::new(object.spec.spec.clone()),
        })
    }

    metadata_field!();
}
