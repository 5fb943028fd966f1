//! The slim serde types, one kind a file, for files and watches alike: only the fields we read, so that a full
//! `k8s_openapi` object never lives in a cache. Also [`Object`], what the outside hands to the core.

use super::labels::Labels;
use super::node::Node;
use super::pod::PodInfo;
use super::symbol::Symbol;
use std::sync::Arc;

/// A kind of object that the core knows.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `v1/Pod`.
    Pod,
    /// `v1/Node`.
    Node,
    /// `v1/Namespace`.
    Namespace,
}

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
#[derive(Clone, PartialEq, Debug)]
pub enum Object {
    /// A pod.
    Pod(Arc<PodInfo>),
    /// A node.
    Node(Arc<Node>),
    /// A namespace.
    Namespace(Arc<Namespace>),
}
