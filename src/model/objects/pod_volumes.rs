//! `v1.Volume` with the fields that are read, and its conversion to [`PodVolume`]s.

use super::super::constraints::{PodVolume, VolumeSource};
use super::super::symbol::Symbol;
use super::read::or_default;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `v1.Volume`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// `name`; not interned, because most names belong to one pod.
    #[serde(deserialize_with = "or_default")]
    pub name: Box<str>,
    /// `image`.
    pub image: Option<ImageVolume>,
    /// `persistentVolumeClaim`.
    pub persistent_volume_claim: Option<ClaimVolume>,
    /// `ephemeral`.
    #[serde(deserialize_with = "is_given")]
    pub ephemeral: bool,
    /// `csi`.
    pub csi: Option<CsiVolume>,
    /// `gcePersistentDisk`.
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// `awsElasticBlockStore`.
    pub aws_elastic_block_store: Option<VolumeById>,
    /// `iscsi`.
    pub iscsi: Option<Iscsi>,
    /// `rbd`.
    pub rbd: Option<Rbd>,
    /// `azureDisk`.
    pub azure_disk: Option<AzureDisk>,
    /// `azureFile`.
    #[serde(deserialize_with = "is_given")]
    pub azure_file: bool,
    /// `cinder`.
    pub cinder: Option<VolumeById>,
    /// `portworxVolume`.
    pub portworx_volume: Option<VolumeById>,
    /// `vsphereVolume`.
    #[serde(deserialize_with = "is_given")]
    pub vsphere_volume: bool,
}

/// `v1.ImageVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageVolume {
    /// `reference`.
    #[serde(deserialize_with = "or_default")]
    pub reference: Symbol,
}

/// `v1.PersistentVolumeClaimVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimVolume {
    /// `claimName`.
    #[serde(deserialize_with = "or_default")]
    pub claim_name: Symbol,
    /// `readOnly`.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// `v1.CSIVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CsiVolume {
    /// `driver`.
    #[serde(deserialize_with = "or_default")]
    pub driver: Symbol,
}

/// `v1.GCEPersistentDiskVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GcePersistentDisk {
    /// `pdName`.
    #[serde(deserialize_with = "or_default")]
    pub pd_name: Symbol,
    /// `partition`.
    #[serde(deserialize_with = "or_default")]
    pub partition: i32,
    /// `readOnly`.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// A source that names its volume by `volumeID`: `v1.AWSElasticBlockStoreVolumeSource`, `v1.CinderVolumeSource`,
/// `v1.PortworxVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeById {
    /// `volumeID`.
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub volume_id: Symbol,
    /// `readOnly`.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// `v1.ISCSIVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Iscsi {
    /// `iqn`.
    #[serde(deserialize_with = "or_default")]
    pub iqn: Symbol,
    /// `readOnly`.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// `v1.RBDVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rbd {
    /// `monitors`.
    #[serde(deserialize_with = "or_default")]
    pub monitors: Vec<Symbol>,
    /// `pool`.
    #[serde(deserialize_with = "or_default")]
    pub pool: Symbol,
    /// `image`.
    #[serde(deserialize_with = "or_default")]
    pub image: Symbol,
    /// `readOnly`.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// `v1.AzureDiskVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureDisk {
    /// `diskName`.
    #[serde(deserialize_with = "or_default")]
    pub disk_name: Symbol,
    /// `diskURI`.
    #[serde(rename = "diskURI", deserialize_with = "or_default")]
    pub disk_uri: Symbol,
    /// `kind`.
    pub kind: Option<Symbol>,
}

/// Whether a field is there and not null, whatever it holds.
fn is_given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(from)?.is_some())
}

impl Volume {
    /// Fills in what the API server fills in and scheduling depends on.
    ///
    /// Source: `staging/src/k8s.io/api/core/v1/types.go`, the `+default` of `AzureDiskVolumeSource.Kind` and
    /// `RBDVolumeSource.RBDPool`.
    pub(super) fn set_defaults(&mut self) {
        if let Some(disk) = &mut self.azure_disk {
            disk.kind.get_or_insert_with(|| Symbol::new("Shared"));
        }
        if let Some(rbd) = self.rbd.as_mut().filter(|rbd| rbd.pool.is_empty()) {
            rbd.pool = Symbol::new("rbd");
        }
    }

    /// The sources that constrain the placement, in a fixed order. The API server lets a volume have one.
    pub(super) fn sources(&self) -> impl Iterator<Item = PodVolume> {
        let disks = self.exclusive_disks();
        let attached = [
            self.azure_disk.as_ref().map(|of| VolumeSource::AzureDisk {
                name: of.disk_name.clone(),
                uri: of.disk_uri.clone(),
                kind: of.kind.clone(),
            }),
            self.azure_file.then_some(VolumeSource::AzureFile),
            self.cinder.as_ref().map(|of| VolumeSource::Cinder { volume_id: of.volume_id.clone() }),
            self.portworx_volume
                .as_ref()
                .map(|of| VolumeSource::Portworx { volume_id: of.volume_id.clone() }),
            self.vsphere_volume.then_some(VolumeSource::Vsphere),
        ];
        let claims = [
            self.persistent_volume_claim
                .as_ref()
                .map(|of| VolumeSource::Claim { name: of.claim_name.clone(), read_only: of.read_only }),
            self.ephemeral.then_some(VolumeSource::Ephemeral),
            self.csi.as_ref().map(|of| VolumeSource::Csi { driver: of.driver.clone() }),
        ];
        let sources = claims.into_iter().chain(disks).chain(attached).flatten();
        sources.map(|source| PodVolume { name: self.name.clone(), source })
    }

    fn exclusive_disks(&self) -> [Option<VolumeSource>; 4] {
        [
            self.gce_persistent_disk.as_ref().map(|of| VolumeSource::GcePersistentDisk {
                name: of.pd_name.clone(),
                partition: of.partition,
                read_only: of.read_only,
            }),
            self.aws_elastic_block_store.as_ref().map(|of| VolumeSource::AwsElasticBlockStore {
                volume_id: of.volume_id.clone(),
                read_only: of.read_only,
            }),
            self.iscsi
                .as_ref()
                .map(|of| VolumeSource::Iscsi { iqn: of.iqn.clone(), read_only: of.read_only }),
            self.rbd.as_ref().map(|of| VolumeSource::Rbd {
                monitors: of.monitors.as_slice().into(),
                pool: of.pool.clone(),
                image: of.image.clone(),
                read_only: of.read_only,
            }),
        ]
    }
}
