//! `metadata`, the same for every kind, and what its fields become.

use super::super::labels::{Annotations, Labels};
use super::super::pod::OwnerReference;
use super::super::symbol::Symbol;
use super::super::time::Time;
use super::ObjectError;
use super::read::or_default;
use serde::Deserialize;

/// `metav1.ObjectMeta`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `namespace`; empty for kinds without, and where files leave it out.
    #[serde(deserialize_with = "or_default")]
    pub namespace: Symbol,
    /// `uid`.
    #[serde(deserialize_with = "or_default")]
    pub uid: Symbol,
    /// `resourceVersion`.
    #[serde(deserialize_with = "or_default")]
    pub resource_version: Box<str>,
    /// `generation`.
    #[serde(deserialize_with = "or_default")]
    pub generation: i64,
    /// `labels`.
    #[serde(deserialize_with = "or_default")]
    pub labels: Labels,
    /// `annotations`.
    #[serde(deserialize_with = "or_default")]
    pub annotations: Annotations,
    /// `ownerReferences`.
    #[serde(deserialize_with = "or_default")]
    pub owner_references: Vec<Owner>,
    /// `creationTimestamp`.
    pub creation_timestamp: Option<Box<str>>,
    /// `deletionTimestamp`.
    pub deletion_timestamp: Option<Box<str>>,
}

/// `metav1.OwnerReference`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Owner {
    /// `apiVersion`.
    #[serde(deserialize_with = "or_default")]
    pub api_version: Symbol,
    /// `kind`.
    #[serde(deserialize_with = "or_default")]
    pub kind: Symbol,
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `uid`.
    #[serde(deserialize_with = "or_default")]
    pub uid: Symbol,
    /// `controller`.
    pub controller: Option<bool>,
}

impl Metadata {
    /// The name, which every object has.
    pub fn required_name(&self) -> Result<Symbol, ObjectError> {
        if self.name.is_empty() {
            return Err(ObjectError::new("metadata.name", "", "a name is required"));
        }
        Ok(self.name.clone())
    }

    /// `creationTimestamp` as an instant.
    pub fn created(&self) -> Result<Option<Time>, ObjectError> {
        instant("metadata.creationTimestamp", self.creation_timestamp.as_deref())
    }

    /// `deletionTimestamp` as an instant.
    pub fn deleted(&self) -> Result<Option<Time>, ObjectError> {
        instant("metadata.deletionTimestamp", self.deletion_timestamp.as_deref())
    }

    /// The owners.
    pub fn owners(&self) -> Box<[OwnerReference]> {
        self.owner_references
            .iter()
            .map(|owner| OwnerReference {
                api_version: owner.api_version.clone(),
                kind: owner.kind.clone(),
                name: owner.name.clone(),
                uid: owner.uid.clone(),
                controller: owner.controller.unwrap_or(false),
            })
            .collect()
    }
}

/// The instant at `path`.
pub fn instant(path: &str, text: Option<&str>) -> Result<Option<Time>, ObjectError> {
    text.map(|text| {
        Time::parse(text).ok_or_else(|| ObjectError::new(path, text, "not an RFC 3339 date and time"))
    })
    .transpose()
}
