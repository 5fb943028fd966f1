//! `storage.k8s.io/v1/CSINode` with the fields that are read: the drivers of a node, how many volumes each can attach,
//! and which in-tree plugins the kubelet leaves to drivers.

use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// The annotation that names the in-tree plugins that the kubelet of the node leaves to CSI drivers.
pub(crate) const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// The CSI drivers of the node of the same name.
#[derive(Clone, PartialEq, Debug)]
pub struct CsiNode {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.drivers`.
    pub drivers: Box<[CsiNodeDriver]>,
    /// The annotation [`MIGRATED_PLUGINS`]; empty when it is absent.
    pub migrated_plugins: Box<str>,
}

/// A driver of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsiNodeDriver {
    /// Its name.
    pub name: Symbol,
    /// `allocatable.count`: how many volumes it can attach to the node; `None` without a limit.
    pub limit: Option<i64>,
}

/// `storagev1.CSINodeSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// `drivers`.
    #[serde(deserialize_with = "or_default")]
    pub drivers: Vec<Driver>,
}

/// `storagev1.CSINodeDriver`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Driver {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `allocatable`.
    #[serde(deserialize_with = "or_default")]
    pub allocatable: Allocatable,
}

/// `storagev1.VolumeNodeResources`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Allocatable {
    /// `count`.
    pub count: Option<i32>,
}

impl Typed for CsiNode {
    const KIND: Kind = Kind::CsiNode;
    type Slim = Slim<Spec>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, .. } = object;
        let drivers = spec.drivers.iter().map(|driver| CsiNodeDriver {
            name: driver.name.clone(),
            limit: driver.allocatable.count.map(i64::from),
        });
        let migrated = metadata.annotations.get(MIGRATED_PLUGINS).unwrap_or_default();
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            drivers: drivers.collect(),
            migrated_plugins: Box::from(migrated),
        })
    }

    metadata_field!();
}

impl CsiNode {
    /// Whether the kubelet leaves the volumes of this in-tree plugin to its driver. The list is compared word by word,
    /// blanks included.
    pub fn has_migrated(&self, plugin: &str) -> bool {
        self.migrated_plugins.split(',').any(|migrated| migrated == plugin)
    }

    /// Whether the node has the driver.
    pub fn has_driver(&self, name: &Symbol) -> bool {
        self.drivers.iter().any(|driver| driver.name == *name)
    }

    /// How many volumes the driver can attach to the node; `None` without a limit. Of several entries the last with
    /// a limit counts.
    pub fn limit(&self, name: &Symbol) -> Option<i64> {
        let of_driver = self.drivers.iter().rev().filter(|driver| driver.name == *name);
        of_driver.filter_map(|driver| driver.limit).next()
    }
}
