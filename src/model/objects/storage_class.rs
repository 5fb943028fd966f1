//! `storage.k8s.io/v1/StorageClass` with the fields that are read.

use super::super::labels::Labels;
use super::super::symbol::Symbol;
use super::metadata::{Metadata, ObjectMeta};
use super::read::or_default;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed};
use serde::Deserialize;

/// The binding mode of a class whose claims wait for a pod.
pub const WAIT_FOR_FIRST_CONSUMER: &str = "WaitForFirstConsumer";

/// The provisioner of classes that provision nothing.
pub(crate) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// A storage class.
#[derive(Clone, PartialEq, Debug)]
pub struct StorageClass {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `provisioner`.
    pub provisioner: Symbol,
    /// `volumeBindingMode`; the API server writes `Immediate` when it is unset.
    pub mode: Option<Symbol>,
    /// `allowedTopologies`: any must match; none matches every node.
    pub allowed_topologies: Box<[TopologyTerm]>,
}

/// A term of `allowedTopologies`. A term without requirements matches no node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyTerm {
    /// Label keys with the values that are allowed; all must hold.
    pub requirements: Box<[(Symbol, Box<[Symbol]>)]>,
}

/// `storagev1.StorageClass`, as far as we read it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Slim {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// `provisioner`.
    #[serde(deserialize_with = "or_default")]
    pub provisioner: Symbol,
    /// `volumeBindingMode`.
    pub volume_binding_mode: Option<Symbol>,
    /// `allowedTopologies`.
    #[serde(deserialize_with = "or_default")]
    pub allowed_topologies: Vec<Term>,
}

/// `v1.TopologySelectorTerm`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Term {
    /// `matchLabelExpressions`.
    #[serde(deserialize_with = "or_default")]
    pub match_label_expressions: Vec<Requirement>,
}

/// `v1.TopologySelectorLabelRequirement`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// `key`.
    #[serde(deserialize_with = "or_default")]
    pub key: Symbol,
    /// `values`.
    #[serde(deserialize_with = "or_default")]
    pub values: Vec<Symbol>,
}

impl TopologyTerm {
    /// Whether a node with these labels is allowed.
    pub fn matches(&self, labels: &Labels) -> bool {
        let holds = |(key, values): &(Symbol, Box<[Symbol]>)| {
            labels.get(key).is_some_and(|value| values.contains(value))
        };
        !self.requirements.is_empty() && self.requirements.iter().all(holds)
    }
}

impl Typed for StorageClass {
    const KIND: Kind = Kind::StorageClass;
    type Slim = Slim;

    fn from_object(object: &Slim) -> Result<Self, ObjectError> {
        let term = |term: &Term| TopologyTerm {
            requirements: term
                .match_label_expressions
                .iter()
                .map(|requirement| (requirement.key.clone(), requirement.values.clone().into()))
                .collect(),
        };
        Ok(Self {
            metadata: ObjectMeta::name_of(&object.metadata)?,
            provisioner: object.provisioner.clone(),
            mode: object.volume_binding_mode.clone(),
            allowed_topologies: object.allowed_topologies.iter().map(term).collect(),
        })
    }

    metadata_field!();
}

impl StorageClass {
    /// Whether its claims wait for a pod.
    pub fn waits_for_first_consumer(&self) -> bool {
        self.mode.as_ref().is_some_and(|mode| *mode == WAIT_FOR_FIRST_CONSUMER)
    }

    /// Whether it provisions volumes.
    pub fn provisions(&self) -> bool {
        !self.provisioner.is_empty() && self.provisioner != NO_PROVISIONER
    }

    /// Whether its topologies allow a node with these labels.
    pub fn allows(&self, labels: &Labels) -> bool {
        self.allowed_topologies.is_empty() || self.allowed_topologies.iter().any(|term| term.matches(labels))
    }
}
