//! What was allocated to a claim, in `status.allocation`, and what drivers say of it.

use super::super::read::or_default;
use super::slice::ChosenNodes;
use super::{DeviceId, DeviceToleration, PoolId, optional_quantities_by_name};
use crate::objects::selectors;
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `resourcev1.AllocationResult`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Allocation {
    /// `devices`.
    #[serde(deserialize_with = "or_default")]
    pub devices: DeviceAllocation,
    /// `nodeSelector`: the nodes that can use it; `None`: all.
    #[serde(deserialize_with = "selector")]
    pub node_selector: Option<Arc<ChosenNodes>>,
    /// `allocationTimestamp`, as it is written.
    pub allocation_timestamp: Option<Box<str>>,
}

/// `resourcev1.DeviceAllocationResult`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceAllocation {
    /// `results`: the devices, in the order of requests.
    #[serde(deserialize_with = "or_default")]
    pub results: Vec<AllocatedDevice>,
    /// `config`.
    #[serde(deserialize_with = "or_default")]
    pub config: Vec<AllocationConfig>,
}

/// `resourcev1.DeviceRequestAllocationResult`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllocatedDevice {
    /// `request`: `request` or `request/subrequest`.
    #[serde(deserialize_with = "or_default")]
    pub request: Symbol,
    /// `driver`.
    #[serde(deserialize_with = "or_default")]
    pub driver: Symbol,
    /// `pool`.
    #[serde(deserialize_with = "or_default")]
    pub pool: Symbol,
    /// `device`.
    #[serde(deserialize_with = "or_default")]
    pub device: Symbol,
    /// `adminAccess`: the device is not taken by it.
    #[serde(deserialize_with = "or_default")]
    pub admin_access: bool,
    /// `tolerations` of the request.
    #[serde(deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// `bindingConditions` of the device.
    #[serde(deserialize_with = "or_default")]
    pub binding_conditions: Vec<Symbol>,
    /// `bindingFailureConditions` of the device.
    #[serde(deserialize_with = "or_default")]
    pub binding_failure_conditions: Vec<Symbol>,
    /// `shareID`: which share of a device that claims share.
    #[serde(rename = "shareID")]
    pub share: Option<Symbol>,
    /// `consumedCapacity` of the share.
    #[serde(deserialize_with = "optional_quantities_by_name")]
    pub consumed_capacity: Option<BTreeMap<Symbol, Quantity>>,
    /// `skipNodeOperations`, which nodes must declare that they know.
    #[serde(deserialize_with = "or_default")]
    pub skip_node_operations: Vec<Symbol>,
}

/// Where a configuration comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
pub enum ConfigSource {
    /// A class.
    #[default]
    FromClass,
    /// The claim.
    FromClaim,
}

/// `resourcev1.DeviceAllocationConfiguration`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AllocationConfig {
    /// `source`.
    #[serde(deserialize_with = "or_default")]
    pub source: ConfigSource,
    /// `requests`.
    #[serde(deserialize_with = "or_default")]
    pub requests: Vec<Symbol>,
    /// `opaque`, as it was written.
    pub opaque: Option<Arc<Value>>,
}

/// `resourcev1.ResourceClaimConsumerReference`: who may use the claim.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Consumer {
    /// `apiGroup`; empty for pods.
    #[serde(deserialize_with = "or_default")]
    pub api_group: Symbol,
    /// `resource`: `pods`.
    #[serde(deserialize_with = "or_default")]
    pub resource: Symbol,
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `uid`.
    #[serde(deserialize_with = "or_default")]
    pub uid: Symbol,
}

/// `resourcev1.AllocatedDeviceStatus`: what a driver says of a device of the claim.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceStatus {
    /// `driver`.
    #[serde(deserialize_with = "or_default")]
    pub driver: Symbol,
    /// `pool`.
    #[serde(deserialize_with = "or_default")]
    pub pool: Symbol,
    /// `device`.
    #[serde(deserialize_with = "or_default")]
    pub device: Symbol,
    /// `conditions`.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<StatusCondition>,
}

/// `metav1.Condition`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusCondition {
    /// `type`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: Symbol,
    /// `status`: `True`, `False`, `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: Symbol,
    /// `reason`.
    #[serde(deserialize_with = "or_default")]
    pub reason: Symbol,
    /// `message`.
    #[serde(deserialize_with = "or_default")]
    pub message: Box<str>,
}

fn selector<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<ChosenNodes>>, D::Error> {
    Ok(Option::<selectors::NodeSelector>::deserialize(from)?
        .map(|written| Arc::new(ChosenNodes::of(written))))
}

impl AllocatedDevice {
    /// Which device it is.
    pub fn id(&self) -> DeviceId {
        let pool = PoolId { driver: self.driver.clone(), name: self.pool.clone() };
        DeviceId { pool, name: self.device.clone() }
    }

    fn json(&self) -> Value {
        let mut out = Map::new();
        for (name, value) in [("request", &self.request), ("driver", &self.driver), ("pool", &self.pool)] {
            out.insert(name.to_owned(), json!(value.as_str()));
        }
        out.insert(String::from("device"), json!(self.device.as_str()));
        if self.admin_access {
            out.insert(String::from("adminAccess"), json!(true));
        }
        if !self.tolerations.is_empty() {
            out.insert(String::from("tolerations"), json!(self.tolerations));
        }
        for (name, conditions) in [
            ("bindingConditions", &self.binding_conditions),
            ("bindingFailureConditions", &self.binding_failure_conditions),
        ] {
            if !conditions.is_empty() {
                out.insert(name.to_owned(), names(conditions));
            }
        }
        if let Some(share) = &self.share {
            out.insert(String::from("shareID"), json!(share.as_str()));
        }
        if let Some(consumed) = self.consumed_capacity.as_ref().filter(|consumed| !consumed.is_empty()) {
            let consumed =
                consumed.iter().map(|(name, amount)| (name.to_string(), json!(amount.to_string())));
            out.insert(String::from("consumedCapacity"), Value::Object(consumed.collect()));
        }
        if !self.skip_node_operations.is_empty() {
            out.insert(String::from("skipNodeOperations"), names(&self.skip_node_operations));
        }
        Value::Object(out)
    }
}

fn names(of: &[Symbol]) -> Value {
    of.iter().map(|name| json!(name.as_str())).collect()
}

impl AllocationConfig {
    fn json(&self) -> Value {
        let source = match self.source {
            ConfigSource::FromClass => "FromClass",
            ConfigSource::FromClaim => "FromClaim",
        };
        let mut out = json!({"source": source});
        if !self.requests.is_empty() {
            out["requests"] = names(&self.requests);
        }
        if let Some(opaque) = &self.opaque {
            out["opaque"] = (**opaque).clone();
        }
        out
    }
}

impl Allocation {
    /// As the API has it.
    pub fn json(&self) -> Value {
        let mut devices = Map::new();
        if !self.devices.results.is_empty() {
            let results = self.devices.results.iter().map(AllocatedDevice::json).collect();
            devices.insert(String::from("results"), results);
        }
        if !self.devices.config.is_empty() {
            let config = self.devices.config.iter().map(AllocationConfig::json).collect();
            devices.insert(String::from("config"), config);
        }
        let mut out = json!({"devices": devices});
        if let Some(nodes) = &self.node_selector {
            out["nodeSelector"] = json!(nodes.written);
        }
        if let Some(at) = &self.allocation_timestamp {
            out["allocationTimestamp"] = json!(at);
        }
        out
    }
}

impl Consumer {
    /// A pod as consumer.
    pub fn pod(name: &Symbol, uid: &Symbol) -> Self {
        let resource = Symbol::new("pods");
        Self { api_group: Symbol::default(), resource, name: name.clone(), uid: uid.clone() }
    }

    /// As the API has it.
    pub fn json(&self) -> Value {
        let mut out = json!({
            "resource": self.resource.as_str(), "name": self.name.as_str(), "uid": self.uid.as_str(),
        });
        if !self.api_group.is_empty() {
            out["apiGroup"] = json!(self.api_group.as_str());
        }
        out
    }
}
