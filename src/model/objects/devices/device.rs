//! A device of a slice: what selectors, capacities, counters and taints are evaluated on.

use super::super::read::or_default;
use super::slice::NodeChoice;
use super::{AttributeValue, DeviceTaint, optional_quantity, quantities, quantity};
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use serde::Deserialize;
use serde::de::Deserializer;
use std::collections::BTreeMap;
use std::fmt;

/// Names a pool of devices.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct PoolId {
    /// The driver.
    pub driver: Symbol,
    /// The name of the pool, unique for the driver.
    pub name: Symbol,
}

/// Names a device.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct DeviceId {
    /// Its pool.
    pub pool: PoolId,
    /// The name in the pool.
    pub name: Symbol,
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.driver, self.name)
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pool, self.name)
    }
}

/// A device of a slice.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Device {
    /// `name`, unique in the pool.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `attributes`: `domain/id`, or `id` in the domain of the driver.
    #[serde(deserialize_with = "or_default")]
    pub attributes: BTreeMap<Symbol, AttributeValue>,
    /// `capacity`, named as attributes are.
    #[serde(deserialize_with = "or_default")]
    pub capacity: BTreeMap<Symbol, Capacity>,
    /// `consumesCounters`.
    #[serde(deserialize_with = "or_default")]
    pub consumes_counters: Vec<CounterConsumption>,
    /// `nodeName`, `nodeSelector`, `allNodes`: where slices choose nodes for each device.
    #[serde(flatten)]
    pub nodes: NodeChoice,
    /// `taints`, without those of rules.
    #[serde(deserialize_with = "or_default")]
    pub taints: Vec<DeviceTaint>,
    /// `bindsToNode`: what is allocated is for the node alone on which it is used first.
    #[serde(deserialize_with = "or_default")]
    pub binds_to_node: bool,
    /// `bindingConditions`: a pod is bound when all of them are true.
    #[serde(deserialize_with = "or_default")]
    pub binding_conditions: Vec<Symbol>,
    /// `bindingFailureConditions`: a pod is not bound when one of them is true.
    #[serde(deserialize_with = "or_default")]
    pub binding_failure_conditions: Vec<Symbol>,
    /// `allowMultipleAllocations`: claims share its capacity.
    #[serde(deserialize_with = "or_default")]
    pub allow_multiple_allocations: bool,
}

/// `resourcev1.DeviceCapacity`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Capacity {
    /// `value`: all there is.
    #[serde(deserialize_with = "quantity")]
    pub value: Quantity,
    /// `requestPolicy`: which parts of it a claim may take; only on devices that claims share, and most are not.
    pub request_policy: Option<Box<CapacityPolicy>>,
}

/// `resourcev1.CapacityRequestPolicy`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CapacityPolicy {
    /// `default`: for requests that name no amount.
    #[serde(deserialize_with = "optional_quantity")]
    pub default: Option<Quantity>,
    /// `validValues`, in order.
    #[serde(deserialize_with = "quantities")]
    pub valid_values: Vec<Quantity>,
    /// `validRange`.
    pub valid_range: Option<CapacityRange>,
}

/// `resourcev1.CapacityRequestPolicyRange`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CapacityRange {
    /// `min`.
    #[serde(deserialize_with = "optional_quantity")]
    pub min: Option<Quantity>,
    /// `max`.
    #[serde(deserialize_with = "optional_quantity")]
    pub max: Option<Quantity>,
    /// `step`, from `min` on.
    #[serde(deserialize_with = "optional_quantity")]
    pub step: Option<Quantity>,
}

/// `resourcev1.DeviceCounterConsumption`: what a device takes of the counters that devices of its pool share.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CounterConsumption {
    /// `counterSet`.
    #[serde(deserialize_with = "or_default")]
    pub counter_set: Symbol,
    /// `counters`.
    #[serde(deserialize_with = "counters")]
    pub counters: BTreeMap<Symbol, Quantity>,
    /// `compatibilityGroups`: behind a feature gate that is off.
    #[serde(deserialize_with = "or_default")]
    pub compatibility_groups: Vec<Symbol>,
}

/// `resourcev1.CounterSet`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CounterSet {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `counters`.
    #[serde(deserialize_with = "counters")]
    pub counters: BTreeMap<Symbol, Quantity>,
}

fn counters<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Symbol, Quantity>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Counter {
        #[serde(deserialize_with = "quantity")]
        value: Quantity,
    }
    let counters = Option::<BTreeMap<Symbol, Counter>>::deserialize(from)?.unwrap_or_default();
    Ok(counters.into_iter().map(|(name, counter)| (name, counter.value)).collect())
}
