//! `v1/Node` with the fields that are read, and its conversion to a [`node::Node`].

use super::super::node::{self, Image};
use super::super::requests::{self, Amounts, AmountsOf};
use super::super::symbol::Symbol;
use super::super::taints::{Effect, Taint};
use super::problems::Problems;
use super::projection::kept_whole;
use super::read::{ResourceList, or_default};
use super::slim::Slim;
use super::{ObjectError, decode, selectors};
use serde::Deserialize;
use std::sync::Arc;

/// The key of the taint of a node whose allocatable amounts cannot be read.
pub const UNREADABLE: &str = "bayplan.dev/unreadable";

/// `v1.Node`, as far as we read it.
pub type Node = Slim<Spec, Status>;

/// `v1.NodeSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `unschedulable`.
    #[serde(deserialize_with = "or_default")]
    pub unschedulable: bool,
    /// `taints`.
    #[serde(deserialize_with = "or_default")]
    pub taints: Vec<selectors::Taint>,
}

/// `v1.NodeStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `capacity`.
    #[serde(deserialize_with = "or_default")]
    pub capacity: ResourceList,
    /// `allocatable`; the API fills it from `capacity` when it is absent.
    pub allocatable: Option<ResourceList>,
    /// `images`.
    #[serde(deserialize_with = "or_default")]
    pub images: Vec<ContainerImage>,
    /// `conditions`.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// `declaredFeatures`.
    #[serde(deserialize_with = "or_default")]
    pub declared_features: Vec<Symbol>,
}

/// `v1.ContainerImage`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerImage {
    /// `names`.
    #[serde(deserialize_with = "or_default")]
    pub names: Vec<Symbol>,
    /// `sizeBytes`.
    #[serde(deserialize_with = "or_default")]
    pub size_bytes: i64,
}

/// `v1.NodeCondition`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// `type`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: Symbol,
    /// `status`.
    #[serde(deserialize_with = "or_default")]
    pub status: Symbol,
}

impl node::Node {
    /// The node of an object. Fails where the API server would have refused the object.
    pub fn from_object(object: &Node) -> Result<Self, ObjectError> {
        let mut problems = Problems::default();
        let node = Self::read(object, &mut problems)?;
        problems.refuse(node)
    }

    /// The node of an object that an API server gave: what cannot be read is noted, and the rest is taken. If that hides
    /// what it has, it has nothing, and a taint says so. Fails only without a name.
    pub fn read(object: &Node, problems: &mut Problems) -> Result<Self, ObjectError> {
        let Node { metadata, spec, status } = object;
        let name = metadata.required_name()?;
        let mut taints = Vec::with_capacity(spec.taints.len());
        for (at, taint) in spec.taints.iter().enumerate() {
            let effect = Effect::parse(&taint.effect).unwrap_or_else(|| {
                let path = format!("spec.taints[{at}].effect");
                problems.note(ObjectError::unsupported(path, &taint.effect, &Effect::NAMES));
                // An effect that is not known keeps pods away that do not tolerate every effect of the key.
                Effect::NoSchedule
            });
            taints.push(Taint { key: taint.key.clone(), value: taint.value.clone(), effect });
        }
        let (allocatable, path) = match &status.allocatable {
            Some(allocatable) => (allocatable, "status.allocatable"),
            None => (&status.capacity, "status.capacity"),
        };
        let mut allocatable = requests::read(allocatable, path, AmountsOf::Node, problems);
        if problems.hiding().is_some() {
            allocatable = Amounts::default();
            let (key, value) = (Symbol::new(UNREADABLE), Symbol::default());
            taints.push(Taint { key, value, effect: Effect::NoSchedule });
        }
        let capacity = requests::read(&status.capacity, "status.capacity", AmountsOf::Limits, problems);
        let mut conditions: Vec<_> = status
            .conditions
            .iter()
            .map(|condition| (condition.kind.clone(), condition.status.clone()))
            .collect();
        conditions.sort();
        Ok(Self {
            name,
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            owners: metadata.owners(),
            created: problems.or_none(metadata.created()),
            deleted: problems.or_none(metadata.deleted()),
            unschedulable: spec.unschedulable,
            taints: taints.into(),
            allocatable: allocatable.to_resource(),
            allocatable_written: allocatable,
            capacity: capacity.to_resource(),
            images: status
                .images
                .iter()
                .map(|image| Image { names: image.names.clone().into(), size: image.size_bytes })
                .collect(),
            conditions: conditions.into(),
            declared_features: status.declared_features.clone().into(),
            raw: None,
        })
    }

    /// The node of an object that is kept whole beside it, for policies that read beyond its fields.
    pub fn from_value(value: Arc<serde_json::Value>) -> Result<Self, ObjectError> {
        let node = Self::from_object(&decode(&value)?)?;
        Ok(Self { raw: Some(kept_whole(value)), ..node })
    }
}
