//! [`Node`]: a node object, parsed once. The pods on it are in the snapshot.

use super::labels::{Annotations, Labels};
use super::requests::Amounts;
use super::resource::Resource;
use super::symbol::Symbol;
use super::taints::Taint;
use super::time::Time;
use std::sync::Arc;

/// An image that a node has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// All its names.
    pub names: Box<[Symbol]>,
    /// Its size in bytes.
    pub size: i64,
}

/// A node, parsed once and shared.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Name.
    pub name: Symbol,
    /// UID.
    pub uid: Symbol,
    /// `metadata.resourceVersion`; empty when unknown.
    pub resource_version: Box<str>,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Annotations,
    /// Owners.
    pub owners: Box<[super::pod::OwnerReference]>,
    /// Creation time.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Time>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`, in order.
    pub taints: Arc<[Taint]>,
    /// `status.allocatable`.
    pub allocatable: Resource,
    /// `status.allocatable` as it is written: exact, also names that no pod can request. A change of it is an event
    /// even if the counted amounts stay the same, as upstream.
    pub allocatable_written: Amounts,
    /// `status.capacity`.
    pub capacity: Resource,
    /// `status.images`.
    pub images: Arc<[Image]>,
    /// `status.conditions`: type, status; ordered by type.
    pub conditions: Box<[(Symbol, Symbol)]>,
    /// `status.declaredFeatures`.
    pub declared_features: Box<[Symbol]>,
    /// The object as the API has it, for policies that read beyond the fields above; `None` when none does.
    pub raw: Option<Arc<serde_json::Value>>,
}

impl Node {
    /// A node that only pods name: nothing but its name is known.
    pub fn placeholder(name: Symbol) -> Self {
        Self {
            name,
            uid: Symbol::default(),
            resource_version: Box::default(),
            labels: Labels::default(),
            annotations: Annotations::default(),
            owners: Box::default(),
            created: None,
            deleted: None,
            unschedulable: false,
            taints: Arc::from([]),
            allocatable: Resource::default(),
            allocatable_written: Amounts::default(),
            capacity: Resource::default(),
            images: Arc::from([]),
            conditions: Box::default(),
            declared_features: Box::default(),
            raw: None,
        }
    }

    /// Whether the condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().any(|(kind, status)| kind.as_str() == "Ready" && status.as_str() == "True")
    }

    /// Topology zone: `topology.kubernetes.io/zone`, or its beta name.
    pub fn zone(&self) -> Option<&Symbol> {
        self.label("topology.kubernetes.io/zone")
            .or_else(|| self.label("failure-domain.beta.kubernetes.io/zone"))
    }

    /// Topology region: `topology.kubernetes.io/region`, or its beta name.
    pub fn region(&self) -> Option<&Symbol> {
        self.label("topology.kubernetes.io/region")
            .or_else(|| self.label("failure-domain.beta.kubernetes.io/region"))
    }

    fn label(&self, key: &str) -> Option<&Symbol> {
        self.labels.iter().find(|(k, _)| k.as_str() == key).map(|(_, value)| value)
    }
}
