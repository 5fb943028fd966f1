//! Slim serde types with only the fields that are read, for files and watches: a file for each kind, and one file for the
//! kinds that are read for their selector alone. The cache never holds a full `k8s_openapi` object. Also [`Object`], which
//! drivers hand to the core. [`KINDS`] is the table of kinds.
//!
//! An object that the API server would have refused is an [`ObjectError`]; unknown fields are skipped unread.

pub mod constraints;
mod csi_driver;
pub mod csi_node;
mod csi_storage_capacity;
pub mod devices;
pub mod kept;
pub mod kind_name;
pub mod kinds;
pub mod looked_up;
pub mod metadata;
pub mod namespace;
pub mod node;
pub mod persistent_volume;
pub mod persistent_volume_claim;
pub mod pod;
mod pod_disruption_budget;
mod pod_devices;
mod pod_volumes;
pub mod problems;
pub mod projection;
pub mod read;
pub mod selecting;
pub mod selectors;
pub mod slim;
pub mod storage_class;
pub mod typed;
mod volume_attachment;

pub use csi_driver::CsiDriver;
pub use csi_node::CsiNode;
pub use csi_storage_capacity::CsiStorageCapacity;
pub use devices::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
pub use kind_name::KindName;
pub use kinds::{KINDS, Kind, KindRow};
pub use looked_up::{LookedUp, looked_up};
pub use metadata::ObjectMeta;
pub use persistent_volume::{ClaimReference, PersistentVolume, PersistentVolumeSource};
pub use persistent_volume_claim::PersistentVolumeClaim;
pub use pod_disruption_budget::{Demand, IntOrPercent, PodDisruptionBudget};
pub use selecting::{DaemonSet, ReplicaSet, ReplicationController, Service, StatefulSet};
pub use slim::Slim;
pub use storage_class::{StorageClass, TopologyTerm};
pub use typed::{ApiObject, Typed, Unread, downcast};
pub use volume_attachment::VolumeAttachment;

use super::labels::Labels;
use super::node::Node;
use super::pod::PodInfo;
use super::symbol::Symbol;
use std::sync::Arc;

/// Names one object.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for kinds without.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
    /// Its UID; empty when unknown.
    pub uid: Symbol,
}

impl ObjectKey {
    /// The key that no other is before.
    pub(super) fn first() -> Self {
        let none = Symbol::default;
        Self { kind: Kind::Pod, namespace: none(), name: none(), uid: none() }
    }
}

/// A namespace.
#[derive(Clone, PartialEq, Debug)]
pub struct Namespace {
    /// Name.
    pub name: Symbol,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: super::labels::Annotations,
    /// The object as the API has it, for policies that read beyond the fields above.
    pub raw: Option<Arc<serde_json::Value>>,
}

/// An object of the cluster, parsed.
#[derive(Clone, Debug)]
pub enum Object {
    /// A pod.
    Pod(Arc<PodInfo>),
    /// A node.
    Node(Arc<Node>),
    /// A namespace.
    Namespace(Arc<Namespace>),
    /// An object of any other kind of the table.
    Other(Arc<dyn ApiObject>),
}

/// Objects of the other kinds are equal when they have the same key and version and differ in nothing that is read.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pod(a), Self::Pod(b)) => a == b,
            (Self::Node(a), Self::Node(b)) => a == b,
            (Self::Namespace(a), Self::Namespace(b)) => a == b,
            (Self::Other(a), Self::Other(b)) => {
                Arc::ptr_eq(a, b)
                    || a.key() == b.key() && a.version() == b.version() && !a.differs(b.as_ref())
            }
            _ => false,
        }
    }
}

impl Object {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
            Self::Namespace(_) => Kind::Namespace,
            Self::Other(object) => object.kind(),
        }
    }

    /// Its `metadata.resourceVersion`; empty when unknown.
    pub fn version(&self) -> &str {
        match self {
            Self::Pod(pod) => &pod.resource_version,
            Self::Node(node) => &node.resource_version,
            Self::Namespace(_) => "",
            Self::Other(object) => object.version(),
        }
    }

    /// What names it.
    pub fn key(&self) -> ObjectKey {
        let (namespace, name, uid) = match self {
            Self::Pod(pod) => (pod.namespace.clone(), pod.name.clone(), pod.uid.clone()),
            Self::Node(node) => (Symbol::default(), node.name.clone(), node.uid.clone()),
            Self::Namespace(namespace) => (Symbol::default(), namespace.name.clone(), Symbol::default()),
            Self::Other(object) => return object.key(),
        };
        ObjectKey { kind: self.kind(), namespace, name, uid }
    }
}

/// An object that an API server gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// The object, as far as it can be read.
    pub object: Object,
    /// The first part of it that cannot be read.
    pub problem: Option<ObjectError>,
}

impl From<Object> for Seen {
    fn from(object: Object) -> Self {
        Self { object, problem: None }
    }
}

/// Why an object cannot be used: the path of the field, its value, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError {
    /// Such as `spec.containers[0].resources.requests.cpu`; empty for the object as a whole.
    pub path: String,
    /// What was written; empty when nothing was.
    pub value: String,
    /// What is wrong with it; upstream's words where it has some.
    pub reason: String,
}

impl ObjectError {
    /// The error of a value at a place.
    pub fn new(path: impl Into<String>, value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), value: value.into(), reason: reason.into() }
    }

    /// The error of an unsupported value.
    pub fn unsupported(path: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|name| format!("`{name}`")).collect();
        Self::new(path, value, format!("not supported; there are {}", supported.join(", ")))
    }
}

impl std::fmt::Display for ObjectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.path.as_str(), self.value.as_str()) {
            ("", "") => f.write_str(&self.reason),
            ("", value) => write!(f, "`{value}`: {}", self.reason),
            (path, "") => write!(f, "`{path}`: {}", self.reason),
            (path, value) => write!(f, "`{path}` is `{value}`: {}", self.reason),
        }
    }
}

impl std::error::Error for ObjectError {}

/// Reads the slim form of an object from JSON.
pub(crate) fn decode_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ObjectError> {
    serde_json::from_slice(bytes).map_err(|error| {
        // The tree knows where; the text knows the line.
        let tree = serde_json::from_slice(bytes).unwrap_or_default();
        let path = decode::<T>(&tree).err().map(|found| found.path).unwrap_or_default();
        ObjectError::new(path, "", error.to_string())
    })
}

/// Reads the slim form of an object that is held as a tree.
pub(crate) fn decode<'de, T: serde::Deserialize<'de>>(
    value: &'de serde_json::Value,
) -> Result<T, ObjectError> {
    T::deserialize(value).map_err(|error| {
        // Read once more to learn where: the way there costs on every field, and mistakes are rare.
        match serde_path_to_error::deserialize::<_, T>(value) {
            Err(found) => {
                let path = found.path().to_string();
                ObjectError::new(if path == "." { "" } else { &path }, "", found.into_inner().to_string())
            }
            Ok(_) => ObjectError::new("", "", error.to_string()),
        }
    })
}
