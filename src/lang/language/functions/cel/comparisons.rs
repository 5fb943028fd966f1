//! CEL's equality and order of values whose types are known at run time only.
//!
//! They differ from `types/equality.rs`: NaN equals nothing, whole numbers are compared with floats as floats, and
//! Kubernetes' types have no equality with others.

use super::{no_overload, type_name};
use crate::types::value::{Cel, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// `left == right`.
///
/// # Errors
/// A fault: the left value is of a type of Kubernetes, the right one is not.
pub fn equal<'a>(left: &Value<'_>, right: &Value<'_>) -> Result<bool, Value<'a>> {
    if let Some(order) = numbers(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return Ok(left == right);
    }
    match (left, right) {
        // Only a list or map holds faults.
        (Value::Cel(Cel::Fault(fault)), _) => Err(Value::Cel(Cel::Fault(fault.clone()))),
        (_, Value::Cel(Cel::Fault(_))) => Ok(false),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right),
            (left, right) => Ok(left.is_none() && right.is_none()),
        },
        (Value::Cel(Cel::Url(left)), Value::Cel(Cel::Url(right))) => Ok(left.text == right.text),
        (Value::Cel(Cel::Ip(_) | Cel::Cidr(_) | Cel::Url(_) | Cel::Semver(_) | Cel::Format(_)), _)
        | (Value::Quantity(_), _)
            if type_name(left) != type_name(right) && type_name(right) != Some("null_type") =>
        {
            Err(no_overload("==", std::slice::from_ref(right)))
        }
        // Its Go type is another one, which only the left side knows.
        (Value::Quantity(_), Value::Quantity(right)) if right.is_sum => {
            Err(no_overload("==", &[Value::Quantity(right.clone())]))
        }
        _ => Ok(same_shape(left, right)),
    }
}

/// Whether two keys are one key of a map: numbers of different types are not, and of the kinds that Go tells apart by
/// their address only copies are.
pub fn same_key(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Int(_), Value::Int(_)) | (Value::Uint(_), Value::Uint(_)) => left.equals(right),
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Int(_) | Value::Uint(_) | Value::Float(_), _) => false,
        (Value::Quantity(left), Value::Quantity(right)) => Arc::ptr_eq(left, right),
        (Value::Cel(Cel::Url(left)), Value::Cel(Cel::Url(right))) => Arc::ptr_eq(left, right),
        (Value::List(left), Value::List(right)) => Arc::ptr_eq(left, right),
        (Value::Map(left), Value::Map(right)) => Arc::ptr_eq(left, right),
        (Value::Optional(Some(left)), Value::Optional(Some(right))) => Arc::ptr_eq(left, right),
        (Value::Null, Value::Null) => true,
        _ => left.equals(right),
    }
}

/// Whether Go has no hash of a value.
pub(crate) fn has_no_hash(value: &Value<'_>) -> bool {
    matches!(value, Value::Blob(_) | Value::Cel(Cel::Semver(_) | Cel::Format(_)))
}

/// The value of a key of a map. A float that is a whole number finds it, and whole numbers find each other.
pub fn entry<'a>(map: &Value<'a>, key: &Value<'_>) -> Option<Value<'a>> {
    if let Some(text) = key.as_str() {
        return match map {
            Value::Map(entries) => {
                let at = entries.binary_search_by(|(known, _)| known.order(key)).ok()?;
                entries.get(at).map(|(_, value)| value.clone())
            }
            _ => map.has_key(text).then(|| map.key(text)),
        };
    }
    let entries = map.entries()?;
    let of = |key: &Value<'_>| {
        entries.iter().find(|(known, _)| same_key(known, key)).map(|(_, value)| value.clone())
    };
    of(key).or_else(|| match key {
        Value::Float(x) if x.trunc() == *x => {
            let int = (-9.3e18..9.3e18).contains(x).then_some(*x as i128).and_then(|x| i64::try_from(x).ok());
            let uint = (0.0..1.9e19).contains(x).then_some(*x as i128).and_then(|x| u64::try_from(x).ok());
            let int = int.and_then(|int| of(&Value::Int(int)));
            int.or_else(|| uint.and_then(|uint| of(&Value::Uint(uint))))
        }
        Value::Int(x) => u64::try_from(*x).ok().and_then(|x| of(&Value::Uint(x))),
        Value::Uint(x) => i64::try_from(*x).ok().and_then(|x| of(&Value::Int(x))),
        _ => None,
    })
}

/// Equality of values that are not numbers, texts or optionals. A fault between two elements counts as equality, as
/// in cel-go.
fn same_shape(left: &Value<'_>, right: &Value<'_>) -> bool {
    if let (Some(left), Some(right)) = (left.elements(), right.elements()) {
        let same = |(left, right)| equal(left, right).unwrap_or(true);
        return left.len() == right.len() && left.iter().zip(right.iter()).all(same);
    }
    if let (other, Some(left), Some(right)) = (right, left.entries(), right.entries()) {
        let same = |(key, value): &(Value<'_>, Value<'_>)| {
            entry(other, key).is_some_and(|found| equal(value, &found).unwrap_or(true))
        };
        return left.len() == right.len() && left.iter().all(same);
    }
    type_name(left) == type_name(right) && left.order(right) == Ordering::Equal
}

/// Whether a value is an element of a list.
pub(super) fn contains(list: &[Value<'_>], value: &Value<'_>) -> bool {
    list.iter().any(|item| equal(value, item).unwrap_or(false))
}

/// The order of two values; `None` where CEL has an error: NaN, types that have no order, and types that have none
/// with each other.
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    if let Some(order) = numbers(left, right) {
        return order;
    }
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return Some(left.cmp(right));
    }
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Blob(left), Value::Blob(right)) => Some(left.cmp(right)),
        (Value::Cel(Cel::Duration(left)), Value::Cel(Cel::Duration(right))) => Some(left.cmp(right)),
        (Value::Cel(Cel::Instant(left)), Value::Cel(Cel::Instant(right))) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Whether values of this type have an order.
pub(super) fn has_order(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Float(_)
            | Value::Blob(_)
            | Value::Cel(Cel::Duration(_) | Cel::Instant(_))
    ) || value.as_str().is_some()
}

/// Two numbers in order, `Some(None)` if one is NaN; `None` if one is not a number.
fn numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        // As floats: 2^53 + 1 is the same as 2^53 there.
        (Value::Float(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Int(left), Value::Float(right)) => (*left as f64).partial_cmp(right),
        (Value::Float(left), Value::Uint(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Uint(left), Value::Float(right)) => (*left as f64).partial_cmp(right),
        _ => return None,
    })
}
