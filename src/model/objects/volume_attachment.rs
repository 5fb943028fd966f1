//! `storage.k8s.io/v1/VolumeAttachment` with the fields that are read: which volume is attached to which node.

use super::super::symbol::Symbol;
use super::metadata::{Metadata, ObjectMeta};
use super::read::or_default;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// A volume that is attached, or is to be attached, to a node.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumeAttachment {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.attacher`: the CSI driver.
    pub attacher: Symbol,
    /// `spec.nodeName`.
    pub node: Symbol,
    /// `spec.source.persistentVolumeName`; `None` for volumes that pods name themselves.
    pub volume: Option<Symbol>,
}

/// `storagev1.VolumeAttachment`, as far as it is read.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Slim {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// `spec`.
    #[serde(deserialize_with = "or_default")]
    pub spec: Spec,
}

/// `storagev1.VolumeAttachmentSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `attacher`.
    #[serde(deserialize_with = "or_default")]
    pub attacher: Symbol,
    /// `nodeName`.
    #[serde(deserialize_with = "or_default")]
    pub node_name: Symbol,
    /// `source`.
    #[serde(deserialize_with = "or_default")]
    pub source: Source,
}

/// `storagev1.VolumeAttachmentSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Source {
    /// `persistentVolumeName`.
    pub persistent_volume_name: Option<Symbol>,
}

impl Typed for VolumeAttachment {
    const KIND: Kind = Kind::VolumeAttachment;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec } = object;
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            attacher: spec.attacher.clone(),
            node: spec.node_name.clone(),
            volume: spec.source.persistent_volume_name.clone(),
        })
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn with_metadata(self, metadata: ObjectMeta) -> Self {
        Self { metadata, ..self }
    }
}
