//! CEL's equality and order of values whose types are known at run time only.
//!
//! They differ from `types/equality.rs`: NaN equals nothing, whole numbers are compared with floats as floats, and
//! Kubernetes' types have no equality with others.

use super::{no_overload, type_name};
use crate::lang::types::value::{Cel, Value};
use std::cmp::Ordering;

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
        _ => Ok(same_shape(left, right)),
    }
}

/// Equality of values that are not numbers, texts or optionals. A fault between two elements counts as equality, as
/// in cel-go.
fn same_shape(left: &Value<'_>, right: &Value<'_>) -> bool {
    if let (Some(left), Some(right)) = (left.elements(), right.elements()) {
        let same = |(left, right)| equal(left, right).unwrap_or(true);
        return left.len() == right.len() && left.iter().zip(right.iter()).all(same);
    }
    if let (Some(left), Some(right)) = (left.entries(), right.entries()) {
        let same = |((key, left), (other, right)): (&(Value<'_>, Value<'_>), &(Value<'_>, Value<'_>))| {
            equal(key, other).unwrap_or(false) && equal(left, right).unwrap_or(true)
        };
        return left.len() == right.len() && left.iter().zip(right.iter()).all(same);
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
