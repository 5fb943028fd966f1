//! `v1/PersistentVolume` with the fields that are read.

use super::super::labels::Annotations;
use super::super::node_selector::NodeSelector;
use super::super::quantity::Quantity;
use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::read::{ResourceList, or_default};
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, selectors};
use serde::Deserialize;
use std::sync::Arc;

/// The annotation that names the class of a claim or volume; it precedes the field.
pub(crate) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotation that says that the binding of a volume or claim was made by a controller or a scheduler.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The annotation that names the provisioner of a volume.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The phase of a volume that no claim uses.
pub const AVAILABLE: &str = "Available";

/// The volume mode of a claim or volume that names none.
const FILESYSTEM: &str = "Filesystem";

/// A persistent volume.
#[derive(Clone, PartialEq, Debug)]
pub struct PersistentVolume {
    /// Name, UID, version, labels.
    pub metadata: ObjectMeta,
    /// The storage class; empty for none.
    pub class: Symbol,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: Box<[Symbol]>,
    /// `spec.volumeMode`; `Filesystem` when unset.
    pub mode: Symbol,
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: Symbol,
    /// `status.phase`.
    pub phase: Symbol,
    /// `spec.claimRef`.
    pub claim: Option<ClaimReference>,
    /// Whether a controller or a scheduler bound it.
    pub bound_by_controller: bool,
    /// The provisioner that made it; empty for none.
    pub provisioned_by: Symbol,
    /// `spec.nodeAffinity.required`. Only the labels of nodes are compared; requirements on fields always hold.
    pub affinity: Option<Arc<NodeSelector>>,
    /// What holds the data.
    pub source: PersistentVolumeSource,
}

/// The claim that a volume is bound to, or reserved for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimReference {
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
    /// Its UID; empty when the volume is reserved for any claim of that name.
    pub uid: Symbol,
}

/// What holds the data of a persistent volume: a CSI driver, or an in-tree plugin that may be migrated to one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PersistentVolumeSource {
    /// `csi`.
    Csi {
        /// The name of the driver.
        driver: Symbol,
        /// The volume, as the driver names it.
        handle: Symbol,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: Symbol,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `azureDisk`.
    AzureDisk {
        /// `diskURI`.
        uri: Symbol,
        /// `kind`; empty when unset.
        kind: Symbol,
    },
    /// `azureFile`.
    AzureFile,
    /// `cinder`.
    Cinder {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `portworxVolume`.
    Portworx {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `vsphereVolume`.
    Vsphere,
    /// Anything else: NFS, iSCSI, local disks, …
    Other,
}

/// `v1.PersistentVolumeSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `capacity`.
    #[serde(deserialize_with = "or_default")]
    pub capacity: ResourceList,
    /// `accessModes`.
    #[serde(deserialize_with = "or_default")]
    pub access_modes: Vec<Symbol>,
    /// `storageClassName`.
    #[serde(deserialize_with = "or_default")]
    pub storage_class_name: Symbol,
    /// `volumeMode`.
    #[serde(deserialize_with = "or_default")]
    pub volume_mode: Symbol,
    /// `volumeAttributesClassName`.
    #[serde(deserialize_with = "or_default")]
    pub volume_attributes_class_name: Symbol,
    /// `claimRef`.
    pub claim_ref: Option<Reference>,
    /// `nodeAffinity`.
    #[serde(deserialize_with = "or_default")]
    pub node_affinity: VolumeNodeAffinity,
    /// `csi`.
    pub csi: Option<Csi>,
    /// `gcePersistentDisk`.
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// `awsElasticBlockStore`.
    pub aws_elastic_block_store: Option<VolumeId>,
    /// `azureDisk`.
    pub azure_disk: Option<AzureDisk>,
    /// `azureFile`.
    pub azure_file: Option<serde::de::IgnoredAny>,
    /// `cinder`.
    pub cinder: Option<VolumeId>,
    /// `portworxVolume`.
    pub portworx_volume: Option<VolumeId>,
    /// `vsphereVolume`.
    pub vsphere_volume: Option<serde::de::IgnoredAny>,
}

/// `v1.PersistentVolumeStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `phase`.
    #[serde(deserialize_with = "or_default")]
    pub phase: Symbol,
}

/// `v1.ObjectReference`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// `namespace`.
    #[serde(deserialize_with = "or_default")]
    pub namespace: Symbol,
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `uid`.
    #[serde(deserialize_with = "or_default")]
    pub uid: Symbol,
}

/// `v1.VolumeNodeAffinity`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VolumeNodeAffinity {
    /// `required`.
    pub required: Option<selectors::NodeSelector>,
}

/// `v1.CSIPersistentVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Csi {
    /// `driver`.
    #[serde(deserialize_with = "or_default")]
    pub driver: Symbol,
    /// `volumeHandle`.
    #[serde(deserialize_with = "or_default")]
    pub volume_handle: Symbol,
}

/// `v1.GCEPersistentDiskVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GcePersistentDisk {
    /// `pdName`.
    #[serde(deserialize_with = "or_default")]
    pub pd_name: Symbol,
}

/// A source that is named by `volumeID`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VolumeId {
    /// `volumeID`.
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub volume_id: Symbol,
}

/// `v1.AzureDiskVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureDisk {
    /// `diskURI`.
    #[serde(rename = "diskURI", deserialize_with = "or_default")]
    pub disk_uri: Symbol,
    /// `kind`.
    #[serde(deserialize_with = "or_default")]
    pub kind: Symbol,
}

/// The class of a claim or volume: the annotation if there is one, even an empty one, else the field.
pub(super) fn class_of(annotations: &Annotations, field: &Symbol) -> Symbol {
    annotations.get(CLASS_ANNOTATION).map_or_else(|| field.clone(), Symbol::new)
}

/// The volume mode: `Filesystem` when unset.
pub(super) fn mode_of(field: &Symbol) -> Symbol {
    if field.is_empty() { Symbol::new(FILESYSTEM) } else { field.clone() }
}

/// The amount of storage in a list; `None` when the list does not name it.
pub(super) fn storage(list: &ResourceList, path: &str) -> Result<Option<Quantity>, ObjectError> {
    list.quantity("storage", path)
}

impl Typed for PersistentVolume {
    const KIND: Kind = Kind::PersistentVolume;
    type Slim = Slim<Spec, Status>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, status } = object;
        let annotations = &metadata.annotations;
        let affinity = spec.node_affinity.required.as_ref();
        Ok(Self {
            class: class_of(annotations, &spec.storage_class_name),
            capacity: storage(&spec.capacity, "spec.capacity")?.unwrap_or(Quantity::ZERO),
            access_modes: spec.access_modes.clone().into(),
            mode: mode_of(&spec.volume_mode),
            attributes_class: spec.volume_attributes_class_name.clone(),
            phase: status.phase.clone(),
            claim: spec.claim_ref.as_ref().map(|claim| ClaimReference {
                namespace: claim.namespace.clone(),
                name: claim.name.clone(),
                uid: claim.uid.clone(),
            }),
            bound_by_controller: annotations.get(BOUND_BY_CONTROLLER).is_some(),
            provisioned_by: annotations.get(PROVISIONED_BY).map(Symbol::new).unwrap_or_default(),
            affinity: affinity.map(|required| Arc::new(NodeSelector::parse(required))),
            source: PersistentVolumeSource::of(spec),
            metadata: ObjectMeta::of(metadata, &[])?,
        })
    }

    metadata_field!();
}

impl PersistentVolume {
    /// Whether no claim uses it and none did.
    pub fn is_available(&self) -> bool {
        self.phase == AVAILABLE
    }

    /// Whether it is bound to this claim or reserved for it. A reference without UID is to any claim of that name.
    ///
    /// Source: `component-helpers/storage/volume/pv_helpers.go`, `IsVolumeBoundToClaim`.
    pub fn is_for(&self, claim: &ObjectMeta) -> bool {
        self.claim.as_ref().is_some_and(|to| {
            to.name == claim.name
                && to.namespace == claim.namespace
                && (to.uid.is_empty() || to.uid == claim.uid)
        })
    }
}

impl PersistentVolumeSource {
    fn of(spec: &Spec) -> Self {
        let id = |source: &VolumeId| source.volume_id.clone();
        if let Some(csi) = &spec.csi {
            Self::Csi { driver: csi.driver.clone(), handle: csi.volume_handle.clone() }
        } else if let Some(disk) = &spec.gce_persistent_disk {
            Self::GcePersistentDisk { name: disk.pd_name.clone() }
        } else if let Some(disk) = &spec.aws_elastic_block_store {
            Self::AwsElasticBlockStore { volume_id: id(disk) }
        } else if let Some(disk) = &spec.azure_disk {
            Self::AzureDisk { uri: disk.disk_uri.clone(), kind: disk.kind.clone() }
        } else if spec.azure_file.is_some() {
            Self::AzureFile
        } else if let Some(disk) = &spec.cinder {
            Self::Cinder { volume_id: id(disk) }
        } else if let Some(disk) = &spec.portworx_volume {
            Self::Portworx { volume_id: id(disk) }
        } else if spec.vsphere_volume.is_some() {
            Self::Vsphere
        } else {
            Self::Other
        }
    }
}
