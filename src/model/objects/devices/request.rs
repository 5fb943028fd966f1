//! What a claim requests: requests, their alternatives, and constraints over them.

use super::super::read::or_default;
use super::{DeviceToleration, quantities_by_name};
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Selectors of devices: expressions of CEL that must all be true. `None`: a selector of a kind that this program does not
/// know.
pub(crate) type Selectors = Arc<[Option<Arc<str>>]>;

/// Reads selectors.
pub(super) fn selectors<'de, D: Deserializer<'de>>(from: D) -> Result<Selectors, D::Error> {
    #[derive(Deserialize)]
    struct Selector {
        cel: Option<Cel>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Cel {
        expression: Arc<str>,
    }
    let selectors = Option::<Vec<Selector>>::deserialize(from)?.unwrap_or_default();
    let expressions = selectors.into_iter().map(|selector| selector.cel.map(|cel| cel.expression));
    Ok(expressions.map(|expression| expression.filter(|text| !text.is_empty())).collect())
}

/// `resourcev1.DeviceRequest`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimRequest {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `exactly`.
    pub exactly: Option<ExactRequest>,
    /// `firstAvailable`: alternatives, the best first.
    #[serde(deserialize_with = "or_default")]
    pub first_available: Vec<SubRequest>,
}

/// Which of its two forms a request has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RequestKind<'a> {
    /// `exactly`.
    Exactly(&'a ExactRequest),
    /// `firstAvailable`.
    FirstAvailable(&'a [SubRequest]),
    /// Neither: a form of a later Kubernetes.
    Unknown,
}

impl ClaimRequest {
    /// Its form.
    pub fn kind(&self) -> RequestKind<'_> {
        match &self.exactly {
            Some(exactly) => RequestKind::Exactly(exactly),
            None if !self.first_available.is_empty() => RequestKind::FirstAvailable(&self.first_available),
            None => RequestKind::Unknown,
        }
    }
}

/// `resourcev1.ExactDeviceRequest`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExactRequest {
    /// What is requested.
    #[serde(flatten)]
    pub device: DeviceRequest,
    /// `adminAccess`: devices in use may be taken too.
    #[serde(deserialize_with = "or_default")]
    pub admin_access: bool,
}

/// `resourcev1.DeviceSubRequest`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubRequest {
    /// `name`, unique in its request.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// What is requested.
    #[serde(flatten)]
    pub device: DeviceRequest,
}

/// How many devices a request takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllocationMode {
    /// `ExactCount`.
    ExactCount(i64),
    /// `All` that match.
    All,
    /// One that this program does not know.
    Unknown(Symbol),
}

/// What the two forms of a request have in common.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceRequest {
    /// `deviceClassName`.
    #[serde(deserialize_with = "or_default")]
    pub device_class_name: Symbol,
    /// `selectors`.
    #[serde(deserialize_with = "selectors")]
    pub selectors: Selectors,
    /// `allocationMode`; empty: `ExactCount`.
    #[serde(deserialize_with = "or_default")]
    allocation_mode: Symbol,
    /// `count`; the API server writes 1 where it is absent.
    count: Option<i64>,
    /// `tolerations`.
    #[serde(deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// `capacity`: how much of devices that claims share; `None` when it is not set.
    pub capacity: Option<CapacityRequests>,
    /// `derivedAttributes`: behind a feature gate that is off. Whether there are any.
    #[serde(rename = "derivedAttributes", deserialize_with = "or_default")]
    derived_attributes: Vec<serde::de::IgnoredAny>,
}

/// `resourcev1.CapacityRequirements`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CapacityRequests {
    /// `requests`.
    #[serde(deserialize_with = "quantities_by_name")]
    pub requests: BTreeMap<Symbol, Quantity>,
}

impl DeviceRequest {
    /// A request of devices of a class, as extended resources make it.
    pub fn of_class(class: Symbol, count: i64) -> Self {
        Self { device_class_name: class, count: Some(count), ..Self::default() }
    }

    /// Requests so many devices; of the mode `ExactCount`.
    pub fn set_count(&mut self, count: i64) {
        self.count = Some(count);
    }

    /// How many devices it takes.
    pub fn mode(&self) -> AllocationMode {
        match self.allocation_mode.as_str() {
            "" | "ExactCount" => {
                AllocationMode::ExactCount(self.count.filter(|count| *count != 0).unwrap_or(1))
            }
            "All" => AllocationMode::All,
            _ => AllocationMode::Unknown(self.allocation_mode.clone()),
        }
    }

    /// The amounts of capacity that it names.
    pub fn amounts(&self) -> Option<&BTreeMap<Symbol, Quantity>> {
        self.capacity.as_ref().map(|capacity| &capacity.requests)
    }

    /// Whether it has derived attributes, which are behind a feature gate that is off.
    pub fn derives_attributes(&self) -> bool {
        !self.derived_attributes.is_empty()
    }
}

/// `resourcev1.DeviceConstraint`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimConstraint {
    /// `requests`: those that it is about, `request` or `request/subrequest`; none: all.
    #[serde(deserialize_with = "or_default")]
    pub requests: Vec<Symbol>,
    /// `matchAttribute`: all devices have the same value.
    pub match_attribute: Option<Symbol>,
    /// `distinctAttribute`: the values of all devices differ.
    pub distinct_attribute: Option<Symbol>,
}

/// `resourcev1.DeviceClaimConfiguration`: what drivers get.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimConfig {
    /// `requests`: those that it is for, `request` or `request/subrequest`; none: all.
    #[serde(deserialize_with = "or_default")]
    pub requests: Vec<Symbol>,
    /// `opaque`, as it was written.
    pub opaque: Option<Arc<Value>>,
}
