//! `storage.k8s.io/v1/VolumeAttachment` with the fields that are read: which volume is attached to which node.

use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
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
    type Slim = Slim<Spec>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, .. } = object;
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            attacher: spec.attacher.clone(),
            node: spec.node_name.clone(),
            volume: spec.source.persistent_volume_name.clone(),
        })
    }

    metadata_field!();
}
