//! The kinds of `resource.k8s.io` with the fields that are read: what claims request, what classes select, what slices
//! offer, and what was allocated.
//!
//! Source: `k8s.io/api/resource/v1/types.go`.

mod allocation;
mod attribute;
mod class;
mod claim;
mod device;
mod request;
mod slice;
mod taint;
mod taint_rule;

pub use allocation::{
    AllocatedDevice, Allocation, AllocationConfig, ConfigSource, Consumer, DeviceAllocation, DeviceStatus,
    StatusCondition,
};
pub use attribute::AttributeValue;
pub use claim::{DELETE_PROTECTION, ResourceClaim};
pub use class::DeviceClass;
pub use device::{
    Capacity, CapacityPolicy, CapacityRange, CounterConsumption, CounterSet, Device, DeviceId, PoolId,
};
pub use request::{
    AllocationMode, ClaimConfig, ClaimConstraint, ClaimRequest, DeviceRequest, ExactRequest, RequestKind,
    SubRequest,
};
pub use slice::{ChosenNodes, NodeChoice, ResourceSlice};
pub use taint::{DeviceTaint, DeviceToleration};
pub use taint_rule::DeviceTaintRule;

use super::read::Amount;
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;

/// Reads a quantity; one that is not well formed is an error of its field.
fn quantity<'de, D: Deserializer<'de>>(from: D) -> Result<Quantity, D::Error> {
    of_amount(Amount::deserialize(from)?)
}

/// Reads a quantity that may be absent.
fn optional_quantity<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Quantity>, D::Error> {
    Option::<Amount>::deserialize(from)?.map(of_amount).transpose()
}

/// Reads a list of quantities.
fn quantities<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Quantity>, D::Error> {
    let amounts = Option::<Vec<Amount>>::deserialize(from)?.unwrap_or_default();
    amounts.into_iter().map(of_amount).collect()
}

/// Reads quantities by name.
fn quantities_by_name<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Symbol, Quantity>, D::Error> {
    Ok(optional_quantities_by_name(from)?.unwrap_or_default())
}

/// Reads quantities by name, which may be absent.
fn optional_quantities_by_name<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<Symbol, Quantity>>, D::Error> {
    let Some(amounts) = Option::<BTreeMap<Symbol, Amount>>::deserialize(from)? else { return Ok(None) };
    let amounts = amounts.into_iter().map(|(name, amount)| Ok((name, of_amount(amount)?)));
    amounts.collect::<Result<_, _>>().map(Some)
}

fn of_amount<E: Error>(amount: Amount) -> Result<Quantity, E> {
    match amount {
        Amount::Good(quantity) => Ok(quantity),
        Amount::Bad(_, error) => Err(E::custom(error)),
    }
}
