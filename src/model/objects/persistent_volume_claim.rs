//! `v1/PersistentVolumeClaim` with the fields that are read.

use super::super::labels::{LabelSelector, SelectorError};
use super::super::quantity::Quantity;
use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::persistent_volume::{class_of, mode_of, storage};
use super::read::{ResourceList, or_default};
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, selectors};
use serde::Deserialize;

/// The annotation that the controller writes last when it binds a claim. Its value does not matter.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The annotation by which the scheduler asks for a volume that the node of this name can use.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The phase of a claim whose volume is gone.
pub(crate) const LOST: &str = "Lost";

/// A claim to a persistent volume.
#[derive(Clone, PartialEq, Debug)]
pub struct PersistentVolumeClaim {
    /// Namespace, name, UID, version, owners, deletion.
    pub metadata: ObjectMeta,
    /// The storage class; empty for none.
    pub class: Symbol,
    /// `spec.volumeName`; empty when no volume is named.
    pub volume: Symbol,
    /// Whether the controller has finished the binding.
    pub bind_completed: bool,
    /// `spec.resources.requests.storage`.
    pub request: Option<Quantity>,
    /// `spec.selector`.
    pub selector: Option<Result<LabelSelector, SelectorError>>,
    /// `spec.accessModes`.
    pub access_modes: Box<[Symbol]>,
    /// `spec.volumeMode`; `Filesystem` when unset.
    pub mode: Symbol,
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: Symbol,
    /// `status.phase`.
    pub phase: Symbol,
    /// The node for which a volume is to be provisioned.
    pub selected_node: Option<Symbol>,
    /// Whether it has any annotation.
    pub annotated: bool,
}

/// `v1.PersistentVolumeClaimSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `accessModes`.
    #[serde(deserialize_with = "or_default")]
    pub access_modes: Vec<Symbol>,
    /// `selector`.
    pub selector: Option<selectors::LabelSelector>,
    /// `resources`.
    #[serde(deserialize_with = "or_default")]
    pub resources: Resources,
    /// `volumeName`.
    #[serde(deserialize_with = "or_default")]
    pub volume_name: Symbol,
    /// `storageClassName`.
    #[serde(deserialize_with = "or_default")]
    pub storage_class_name: Symbol,
    /// `volumeMode`.
    #[serde(deserialize_with = "or_default")]
    pub volume_mode: Symbol,
    /// `volumeAttributesClassName`.
    #[serde(deserialize_with = "or_default")]
    pub volume_attributes_class_name: Symbol,
}

/// `v1.VolumeResourceRequirements`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// `requests`.
    #[serde(deserialize_with = "or_default")]
    pub requests: ResourceList,
}

/// `v1.PersistentVolumeClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `phase`.
    #[serde(deserialize_with = "or_default")]
    pub phase: Symbol,
}

impl Typed for PersistentVolumeClaim {
    const KIND: Kind = Kind::PersistentVolumeClaim;
    type Slim = Slim<Spec, Status>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, status } = object;
        let annotations = &metadata.annotations;
        Ok(Self {
            class: class_of(annotations, &spec.storage_class_name),
            volume: spec.volume_name.clone(),
            bind_completed: annotations.get(BIND_COMPLETED).is_some(),
            request: storage(&spec.resources.requests, "spec.resources.requests")?,
            selector: spec.selector.as_ref().map(LabelSelector::parse),
            access_modes: spec.access_modes.clone().into(),
            mode: mode_of(&spec.volume_mode),
            attributes_class: spec.volume_attributes_class_name.clone(),
            phase: status.phase.clone(),
            selected_node: annotations.get(SELECTED_NODE).map(Symbol::new),
            annotated: annotations.iter().len() > 0,
            metadata: ObjectMeta::of(metadata, &[])?,
        })
    }

    metadata_field!();
}

impl PersistentVolumeClaim {
    /// Whether its volume is gone.
    pub fn is_lost(&self) -> bool {
        self.phase == LOST
    }

    /// Whether the controller has bound it: it names a volume, and the binding is complete. The phase does not count.
    pub fn is_bound(&self) -> bool {
        !self.volume.is_empty() && self.bind_completed
    }
}
