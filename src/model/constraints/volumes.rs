//! [`PodVolume`]: a volume of a pod that constrains the placement.

use super::super::symbol::Symbol;
use super::ConstraintKinds;

/// A volume of a pod whose source constrains the placement. A volume of a file that has several sources is listed once
/// for each.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodVolume {
    /// The name; not interned, because most names belong to one pod.
    pub name: Box<str>,
    /// Where the volume comes from.
    pub source: VolumeSource,
}

/// Where a volume comes from. Sources that constrain nothing (`configMap`, `emptyDir`) are not kept.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VolumeSource {
    /// `persistentVolumeClaim`.
    Claim {
        /// `claimName`, in the pod's namespace.
        name: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `ephemeral`: the claim is made for the pod and is named `<pod>-<volume>`.
    Ephemeral,
    /// `csi`: an inline volume.
    Csi {
        /// `driver`.
        driver: Symbol,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: Symbol,
        /// `partition`; 0 when not given.
        partition: i32,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        volume_id: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`: the name of the target.
        iqn: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`, in pod order.
        monitors: Box<[Symbol]>,
        /// `pool`.
        pool: Symbol,
        /// `image`.
        image: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `azureDisk`.
    AzureDisk {
        /// `diskName`.
        name: Symbol,
        /// `diskURI`.
        uri: Symbol,
        /// `kind`: `Shared`, `Dedicated` or `Managed`; `None` when the object has none.
        kind: Option<Symbol>,
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
}

impl VolumeSource {
    /// The API's name of the source.
    pub fn api_name(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "persistentVolumeClaim",
            Self::Ephemeral => "ephemeral",
            Self::Csi { .. } => "csi",
            Self::GcePersistentDisk { .. } => "gcePersistentDisk",
            Self::AwsElasticBlockStore { .. } => "awsElasticBlockStore",
            Self::Iscsi { .. } => "iscsi",
            Self::Rbd { .. } => "rbd",
            Self::AzureDisk { .. } => "azureDisk",
            Self::AzureFile => "azureFile",
            Self::Cinder { .. } => "cinder",
            Self::Portworx { .. } => "portworxVolume",
            Self::Vsphere => "vsphereVolume",
        }
    }

    /// How the source constrains the placement.
    pub fn kinds(&self) -> ConstraintKinds {
        use ConstraintKinds as K;
        match self {
            Self::Claim { .. } => K::VOLUME_CLAIMS,
            Self::Ephemeral => K::EPHEMERAL_VOLUMES,
            Self::GcePersistentDisk { .. } | Self::AwsElasticBlockStore { .. } => {
                K::EXCLUSIVE_DISKS.with(K::ATTACHED_VOLUMES)
            }
            Self::Iscsi { .. } | Self::Rbd { .. } => K::EXCLUSIVE_DISKS,
            Self::Csi { .. }
            | Self::AzureDisk { .. }
            | Self::AzureFile
            | Self::Cinder { .. }
            | Self::Portworx { .. }
            | Self::Vsphere => K::ATTACHED_VOLUMES,
        }
    }
}
