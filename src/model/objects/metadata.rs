//! `metadata`, the same for every kind, and what its fields become: [`ObjectMeta`] for the kinds that the core handles by
//! the table alone.

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
    pub(crate) fn required_name(&self) -> Result<Symbol, ObjectError> {
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

/// `metadata` of an object, as far as plugins read it.
///
/// Equality leaves out the version: nothing is decided by it, and two versions of an object that are equal in all else
/// are the same to every reader.
#[derive(Clone, Debug, Default)]
pub struct ObjectMeta {
    /// The namespace; empty for kinds without.
    pub namespace: Symbol,
    /// The name.
    pub name: Symbol,
    /// The UID; empty when unknown.
    pub uid: Symbol,
    /// `resourceVersion`; empty when unknown.
    pub version: Box<str>,
    /// The labels that are kept.
    pub labels: Labels,
    /// The annotations that are kept.
    pub annotations: Annotations,
    /// `deletionTimestamp`.
    pub deleted: Option<Time>,
    /// The owners that are kept.
    pub owners: Box<[OwnerReference]>,
}

impl PartialEq for ObjectMeta {
    fn eq(&self, other: &Self) -> bool {
        let Self { namespace, name, uid, version: _, labels, annotations, deleted, owners } = self;
        (namespace, name, uid) == (&other.namespace, &other.name, &other.uid)
            && (labels, annotations) == (&other.labels, &other.annotations)
            && (deleted, owners) == (&other.deleted, &other.owners)
    }
}

impl ObjectMeta {
    /// What names the object and its version. Labels, annotations, owners and deletion are left out, so that a change
    /// of them does not count as a change of the object.
    pub fn name_of(metadata: &Metadata) -> Result<Self, ObjectError> {
        Ok(Self {
            namespace: metadata.namespace.clone(),
            name: metadata.required_name()?,
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            ..Self::default()
        })
    }

    /// Everything, but only the annotations with these keys: others may be long, and nothing reads them.
    pub fn of(metadata: &Metadata, annotations: &[&str]) -> Result<Self, ObjectError> {
        let mut kept = metadata.annotations.clone();
        kept.retain(|key, _| annotations.contains(&key));
        Ok(Self {
            labels: metadata.labels.clone(),
            annotations: kept,
            deleted: metadata.deleted()?,
            owners: metadata.owners(),
            ..Self::name_of(metadata)?
        })
    }
}
