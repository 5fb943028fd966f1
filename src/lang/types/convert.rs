//! Values in the form that a type promises, and values that outlive the snapshot.
//!
//! What the API has is untyped. A part of an object that does not fit the type that a policy was
//! checked with counts as absent.

use super::Type;
use super::range::Range;
use super::value::{Constant, Str, Value};
use bayplan_model::{Symbol, Time};
use std::sync::{Arc, LazyLock};

/// A value from inside an object of the API as a value of type `ty`; absent when it does not fit.
pub fn fit<'a>(value: Value<'a>, ty: &Type) -> Value<'a> {
    let ty = ty.present();
    let fits = match (ty, &value) {
        (Type::Dyn | Type::Unknown, _) => true,
        (Type::Bool, Value::Bool(_))
        | (Type::Int | Type::Count, Value::Int(_))
        | (Type::Float, Value::Float(_))
        | (Type::String, Value::String(_)) => true,
        (Type::Float, Value::Int(number)) => return Value::Float(*number as f64),
        (Type::Time, Value::String(text)) => {
            return Value::optional(Time::parse_exactly(text.as_str()).map(Value::Time));
        }
        (Type::List(element) | Type::Set(element), Value::Json(serde_json::Value::Array(items))) => {
            let fitting = items.iter().map(|item| fit(Value::Json(item).plain(), element));
            return Value::list(fitting.filter(|item| !item.is_absent()));
        }
        (Type::Map(_, of), Value::Json(serde_json::Value::Object(fields))) => {
            return Value::map(
                fields
                    .iter()
                    .map(|(key, value)| (Value::borrowed(key), fit(Value::Json(value).plain(), of)))
                    .filter(|(_, value)| !value.is_absent()),
            );
        }
        (Type::Api(_) | Type::Structure(_), Value::Json(serde_json::Value::Object(_))) => true,
        (_, Value::Json(_)) => false,
        (Type::Api(_) | Type::Structure(_), _)
        | (Type::Bool | Type::Int | Type::Count | Type::Float | Type::String, _) => {
            matches!(value, Value::Absent)
        }
        _ => true,
    };
    if fits { value } else { Value::Absent }
}

/// A field of a structure of the API. A required field has a value: if a file, or an object that an
/// old API server accepted, lacks it, it is the empty value of its type, as in Kubernetes' own Go
/// types.
///
/// `declared` is the range that the API declares for a number; a number beyond it does not fit.
pub fn field<'a>(value: Value<'a>, ty: &Type, declared: Range) -> Value<'a> {
    static EMPTY: LazyLock<serde_json::Value> = LazyLock::new(|| serde_json::json!({}));
    let value = fit(value, ty);
    let beyond = match (&value, declared) {
        (Value::Int(number), Range::Whole { lo, hi, .. }) => !(lo..=hi).contains(&i128::from(*number)),
        _ => false,
    };
    if !value.is_absent() && !beyond {
        return value;
    }
    match ty {
        Type::Bool => Value::Bool(false),
        Type::Int | Type::Count => Value::Int(0),
        Type::Float => Value::Float(0.0),
        Type::String => Value::text(""),
        Type::Time => Value::Time(Time::default()),
        Type::List(_) | Type::Set(_) => Value::List(Arc::from([])),
        Type::Map(..) => Value::Map(Arc::from([])),
        Type::Api(_) | Type::Structure(_) => Value::Json(&EMPTY),
        _ => Value::Absent,
    }
}

/// Whether values of a type can outlive the snapshot.
pub fn can_be_kept(ty: &Type) -> bool {
    match ty {
        Type::Object(_) | Type::Api(_) | Type::Kind(_) | Type::Structure(_) => false,
        Type::Dyn | Type::Any | Type::Variable(_) | Type::Unknown => false,
        Type::List(of) | Type::Set(of) | Type::Optional(of) | Type::CelOptional(of) => can_be_kept(of),
        Type::Map(key, value) => can_be_kept(key) && can_be_kept(value),
        Type::Record(record) => record.fields.iter().all(|(_, ty)| can_be_kept(ty)),
        _ => true,
    }
}

/// The value without references into the snapshot. Objects of the snapshot become absent; types for
/// which [`can_be_kept`] is true hold none.
pub fn keep(value: &Value<'_>) -> Constant {
    match value {
        Value::Null => Value::Null,
        Value::Bool(truth) => Value::Bool(*truth),
        Value::Int(number) => Value::Int(*number),
        Value::Uint(number) => Value::Uint(*number),
        Value::Float(number) => Value::Float(*number),
        Value::Time(time) => Value::Time(*time),
        Value::String(Str::Interned(symbol)) => Value::String(Str::Symbol((*symbol).clone())),
        Value::String(Str::Symbol(symbol)) => Value::String(Str::Symbol(symbol.clone())),
        Value::String(Str::Text(text)) => Value::String(Str::Text(text.clone())),
        Value::String(Str::Borrowed(text)) => Value::text(*text),
        Value::Blob(bytes) => Value::Blob(bytes.clone()),
        Value::List(items) => Value::List(items.iter().map(keep).collect()),
        Value::Map(entries) => Value::Map(entries.iter().map(|(k, v)| (keep(k), keep(v))).collect()),
        Value::Record(fields) => Value::Record(fields.iter().map(keep).collect()),
        Value::Resources(resources) => Value::resources((**resources).clone()),
        Value::Labels(_) | Value::Annotations(_) => {
            Value::map(value.entries().unwrap_or_default().iter().map(|(k, v)| (keep(k), keep(v))))
        }
        Value::Optional(inner) => Value::Optional(inner.as_ref().map(|inner| Arc::new(keep(inner)))),
        Value::TypeName(name) => Value::TypeName(name.clone()),
        Value::Quantity(amount) => Value::Quantity(amount.clone()),
        Value::Cel(value) => Value::Cel(value.clone()),
        _ => Value::Absent,
    }
}

/// [`keep`] with all that a rule can see of the value. Equal values may differ in what `has` and macros see: a
/// resource with the amount 0 is named, and an absent one is not.
pub fn keep_seen(value: &Value<'_>) -> Constant {
    match value {
        Value::Resources(_) => {
            Value::map(value.entries().unwrap_or_default().iter().map(|(k, v)| (keep(k), keep(v))))
        }
        Value::List(items) => Value::List(items.iter().map(keep_seen).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(k, v)| (keep_seen(k), keep_seen(v))).collect())
        }
        Value::Record(fields) => Value::Record(fields.iter().map(keep_seen).collect()),
        Value::Optional(inner) => Value::Optional(inner.as_ref().map(|inner| Arc::new(keep_seen(inner)))),
        other => keep(other),
    }
}

/// A constant whose text is interned, so that it compares with texts of the snapshot by pointer.
pub(crate) fn interned(constant: Constant) -> Constant {
    match constant {
        Value::String(text) => Value::String(Str::Symbol(Symbol::new(text.as_str()))),
        other => other,
    }
}
