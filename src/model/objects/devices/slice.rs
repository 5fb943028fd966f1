//! `resource.k8s.io/v1/ResourceSlice` with the fields that are read.

use super::super::metadata::ObjectMeta;
use super::super::read::or_default;
use super::super::slim::Slim;
use super::super::typed::metadata_field;
use super::super::{Kind, ObjectError, Typed, selectors};
use super::{CounterSet, Device, PoolId};
use crate::labels::Labels;
use crate::node_selector::NodeSelector;
use crate::symbol::Symbol;
use serde::Deserialize;
use serde::de::Deserializer;
use std::sync::Arc;

/// A part of a pool of devices.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceSlice {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.driver` and `spec.pool.name`.
    pub pool: PoolId,
    /// `spec.pool.generation`: only slices of the highest count.
    pub generation: i64,
    /// `spec.pool.resourceSliceCount`: how many slices the pool has at this generation.
    pub slice_count: i64,
    /// The nodes that reach its devices.
    pub nodes: NodeChoice,
    /// `spec.perDeviceNodeSelection`: each device chooses its nodes. `None` when it is not set at all.
    pub per_device: Option<bool>,
    /// `spec.sharedCounters`.
    pub shared_counters: Arc<[CounterSet]>,
    /// `spec.devices`.
    pub devices: Arc<[Arc<Device>]>,
}

/// The nodes that a slice or a device is for; at most one of the fields is set.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeChoice {
    /// `nodeName`; empty when it is not set.
    #[serde(deserialize_with = "or_default")]
    pub node_name: Symbol,
    /// `nodeSelector`.
    #[serde(deserialize_with = "selector")]
    pub node_selector: Option<Arc<ChosenNodes>>,
    /// `allNodes`.
    #[serde(deserialize_with = "or_default")]
    pub all_nodes: bool,
}

/// A node selector, and as it was written: it is copied into what is allocated.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChosenNodes {
    /// What it means.
    pub selector: NodeSelector,
    /// What was written.
    pub written: selectors::NodeSelector,
}

fn selector<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<ChosenNodes>>, D::Error> {
    Ok(Option::<selectors::NodeSelector>::deserialize(from)?
        .map(|written| Arc::new(ChosenNodes::of(written))))
}

impl NodeChoice {
    /// Whether it is for a node of this name with these labels. A selector that is invalid chooses no node beyond those
    /// that its valid terms choose.
    pub(crate) fn reaches(&self, name: &Symbol, labels: &Labels) -> bool {
        let selected = |chosen: &Arc<ChosenNodes>| chosen.selector.matches(name, labels).unwrap_or(false);
        self.all_nodes
            || !self.node_name.is_empty() && self.node_name == *name
            || self.node_selector.as_ref().is_some_and(selected)
    }
}

impl ChosenNodes {
    /// The selector that was written.
    pub fn of(written: selectors::NodeSelector) -> Self {
        Self { selector: NodeSelector::parse(&written), written }
    }
}

/// `resourcev1.ResourceSliceSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `driver`.
    #[serde(deserialize_with = "or_default")]
    pub driver: Symbol,
    /// `pool`.
    #[serde(deserialize_with = "or_default")]
    pub pool: Pool,
    /// `nodeName`, `nodeSelector`, `allNodes`.
    #[serde(flatten)]
    pub nodes: NodeChoice,
    /// `perDeviceNodeSelection`.
    pub per_device_node_selection: Option<bool>,
    /// `sharedCounters`.
    #[serde(deserialize_with = "or_default")]
    pub shared_counters: Vec<CounterSet>,
    /// `devices`.
    #[serde(deserialize_with = "or_default")]
    pub devices: Vec<Arc<Device>>,
}

/// `resourcev1.ResourcePool`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pool {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `generation`.
    #[serde(deserialize_with = "or_default")]
    pub generation: i64,
    /// `resourceSliceCount`.
    #[serde(deserialize_with = "or_default")]
    pub resource_slice_count: i64,
}

impl Typed for ResourceSlice {
    const KIND: Kind = Kind::ResourceSlice;
    type Slim = Slim<Spec>;

    fn from_object(object: &Slim<Spec>) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, .. } = object;
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            pool: PoolId { driver: spec.driver.clone(), name: spec.pool.name.clone() },
            generation: spec.pool.generation,
            slice_count: spec.pool.resource_slice_count,
            nodes: spec.nodes.clone(),
            per_device: spec.per_device_node_selection,
            shared_counters: spec.shared_counters.clone().into(),
            devices: spec.devices.clone().into(),
        })
    }

    metadata_field!();
}
