//! [`Value`]: what an expression of a policy evaluates to.
//!
//! Objects of the cluster are references into the snapshot, so that a value is made without
//! copying. Arithmetic is in `arithmetic.rs`, equality, order and hash in `equality.rs`, and the
//! types of values in `types/mod.rs`.

use bayplan_model::{
    Annotations, Container, Labels, Load, LookedUp, Namespace, NodeId, OwnerReference, PodInfo, Resource,
    Symbol, Taint, Time, Toleration, Usage,
};
use std::borrow::Cow;
use std::sync::Arc;

pub use super::cel::{Cel, CelType, Cidr, ExactQuantity, Fault, FaultKind, Instant, PreRelease, Semver, Url};
pub use super::device::ReachedDevice;
pub use super::equality::Ordered;
pub(crate) use super::resources::is_named;
pub use super::resources::{Resources, amount, named_resources};
pub use super::text::Str;

/// A value known when the policy is compiled.
pub type Constant = Value<'static>;

/// A value. `'a` is the life of the snapshot, the pod and the policy that it was read from.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value: a missing key, a division by zero, `none`.
    Absent,
    /// CEL's `null`, which is a value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, or a whole amount in the base unit of its type: millicores, bytes,
    /// microseconds, pieces.
    Int(i64),
    /// CEL's `uint`.
    Uint(u64),
    /// A number; always finite.
    Float(f64),
    /// An instant.
    Time(Time),
    /// A string.
    String(Str<'a>),
    /// CEL's bytes.
    Blob(Arc<[u8]>),
    /// A list, or a set in the order of first appearance.
    List(Arc<[Value<'a>]>),
    /// A map: ordered by key, keys are strings, ints, uints or bools.
    Map(Arc<[(Value<'a>, Value<'a>)]>),
    /// A record: its fields in the order of its type.
    Record(Arc<[Value<'a>]>),
    /// Amounts by resource name.
    Resources(Resources<'a>),
    /// A map of labels.
    Labels(&'a Labels),
    /// A map of annotations.
    Annotations(&'a Annotations),
    /// A pod; the snapshot knows its placement.
    Pod(&'a PodInfo),
    /// A node, by its row in the snapshot.
    Node(NodeId),
    /// A namespace.
    Namespace(&'a Namespace),
    /// An object of a kind that is looked up.
    LookedUp(&'a LookedUp),
    /// A container of a pod.
    Container(&'a Container),
    /// A taint of a node.
    Taint(&'a Taint),
    /// A toleration of a pod.
    Toleration(&'a Toleration),
    /// The controller of a pod.
    Owner(&'a OwnerReference),
    /// A device that a node reaches.
    Device(ReachedDevice<'a>),
    /// What a node used over a window.
    Load(Arc<Load>),
    /// What a node used of its CPU, or of its memory.
    Usage(Usage),
    /// A part of an API object.
    Json(&'a serde_json::Value),
    /// CEL's `optional`, a type of its own.
    Optional(Option<Arc<Value<'a>>>),
    /// CEL's name of a type, as `type(x)` gives it.
    TypeName(Symbol),
    /// One of Kubernetes' quantities, exact.
    Quantity(Arc<ExactQuantity>),
    /// A value that only CEL has, or a fault.
    Cel(Cel),
}

impl<'a> Value<'a> {
    /// A computed text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Value::String(Str::Text(text.into()))
    }

    /// An interned text of the snapshot.
    pub fn symbol(symbol: &'a Symbol) -> Self {
        Value::String(Str::Interned(symbol))
    }

    /// A text of the snapshot.
    pub fn borrowed(text: &'a str) -> Self {
        Value::String(Str::Borrowed(text))
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Value<'a>>) -> Self {
        Value::List(items.into_iter().collect())
    }

    /// A map, ordered by key; of equal keys the last one stays.
    pub fn map(entries: impl IntoIterator<Item = (Value<'a>, Value<'a>)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|left, right| left.0.order(&right.0));
        entries.dedup_by(|later, earlier| {
            let same = later.0.equals(&earlier.0);
            if same {
                std::mem::swap(&mut later.1, &mut earlier.1);
            }
            same
        });
        Value::Map(entries.into())
    }

    /// A set of these elements: each once, in the order of first appearance.
    pub fn set(items: impl IntoIterator<Item = Value<'a>>) -> Self {
        let mut seen = std::collections::BTreeSet::new();
        Value::List(items.into_iter().filter(|item| seen.insert(Ordered(item.clone()))).collect())
    }

    /// Computed amounts.
    pub fn resources(resource: Resource) -> Self {
        Value::Resources(Resources::Shared(Arc::new(resource)))
    }

    /// A number made finite: an infinity becomes the largest float of its sign, NaN becomes absent.
    pub fn float(number: f64) -> Self {
        if number.is_nan() { Value::Absent } else { Value::Float(number.clamp(f64::MIN, f64::MAX)) }
    }

    /// A fault of CEL, whose place the evaluator fills in.
    pub fn fault(kind: FaultKind, message: impl Into<Arc<str>>) -> Self {
        Value::Cel(Cel::Fault(Arc::new(Fault::new(kind, message))))
    }

    /// The fault, if the value is one.
    pub fn as_fault(&self) -> Option<&Arc<Fault>> {
        match self {
            Value::Cel(Cel::Fault(fault)) => Some(fault),
            _ => None,
        }
    }

    /// Whether the value is a fault.
    pub fn is_fault(&self) -> bool {
        matches!(self, Value::Cel(Cel::Fault(_)))
    }

    /// `value`, or absent.
    pub fn optional(value: Option<Value<'a>>) -> Self {
        value.unwrap_or(Value::Absent)
    }

    /// Whether the value is absent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Value::Absent)
    }

    /// Whether the value is `true`; false for every other value.
    pub fn holds(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// The whole number of an int or an amount.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Uint(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Any number as a float, amounts in base units.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(number) => Some(*number),
            Value::Int(number) => Some(*number as f64),
            Value::Uint(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text.as_str()),
            Value::Json(serde_json::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list, a set or a list inside an object.
    pub fn elements(&self) -> Option<Cow<'_, [Value<'a>]>> {
        match self {
            Value::List(items) => Some(Cow::Borrowed(items)),
            Value::Json(serde_json::Value::Array(items)) => {
                Some(items.iter().map(Value::Json).map(Value::plain).collect::<Vec<_>>().into())
            }
            _ => None,
        }
    }

    /// Keys and values of a map, in the order of the keys.
    pub fn entries(&self) -> Option<Cow<'_, [(Value<'a>, Value<'a>)]>> {
        match self {
            Value::Map(entries) => Some(Cow::Borrowed(entries)),
            Value::Cel(Cel::Domains(entries)) => Some(Cow::Borrowed(entries)),
            Value::Labels(labels) => Some(
                labels.iter().map(|(k, v)| (Value::symbol(k), Value::symbol(v))).collect::<Vec<_>>().into(),
            ),
            Value::Annotations(annotations) => Some(
                annotations
                    .iter()
                    .map(|(k, v)| (Value::symbol(k), Value::borrowed(v)))
                    .collect::<Vec<_>>()
                    .into(),
            ),
            Value::Resources(resources) => {
                let mut named: Vec<(Value<'a>, Value<'a>)> = named_resources(resources)
                    .into_iter()
                    .map(|(name, amount)| (Value::text(name.as_str()), Value::Int(amount)))
                    .collect();
                named.sort_by(|left, right| left.0.order(&right.0));
                Some(named.into())
            }
            Value::Json(serde_json::Value::Object(fields)) => {
                let mut entries: Vec<_> =
                    fields.iter().map(|(k, v)| (Value::borrowed(k), Value::Json(v).plain())).collect();
                entries.sort_by(|left, right| left.0.order(&right.0));
                Some(entries.into())
            }
            _ => None,
        }
    }

    /// How many elements, entries or code points.
    pub fn size(&self) -> Option<usize> {
        match self {
            Value::List(items) => Some(items.len()),
            Value::Map(entries) => Some(entries.len()),
            Value::Cel(Cel::Domains(entries)) => Some(entries.len()),
            Value::Labels(labels) => Some(labels.iter().len()),
            Value::Annotations(annotations) => Some(annotations.iter().len()),
            Value::Resources(resources) => Some(named_resources(resources).len()),
            Value::String(text) => Some(text.as_str().chars().count()),
            Value::Blob(bytes) => Some(bytes.len()),
            Value::Json(serde_json::Value::Array(items)) => Some(items.len()),
            Value::Json(serde_json::Value::Object(fields)) => Some(fields.len()),
            Value::Json(serde_json::Value::String(text)) => Some(text.chars().count()),
            _ => None,
        }
    }

    /// A scalar inside an API object as a plain value; JSON's `null` becomes absent.
    pub fn plain(self) -> Self {
        match self {
            Value::Json(serde_json::Value::Null) => Value::Absent,
            Value::Json(serde_json::Value::Bool(truth)) => Value::Bool(*truth),
            Value::Json(serde_json::Value::String(text)) => Value::borrowed(text),
            Value::Json(serde_json::Value::Number(number)) => match number.as_i64() {
                Some(whole) => Value::Int(whole),
                None => number.as_f64().map_or(Value::Absent, Value::float),
            },
            other => other,
        }
    }

    /// Whether the list or set `container` has the element `self`, or the map the key; false if one
    /// is absent.
    pub fn is_in(&self, container: &Value<'_>) -> bool {
        if self.is_absent() {
            return false;
        }
        match container {
            Value::Labels(_) | Value::Annotations(_) | Value::Resources(_) | Value::Cel(Cel::Domains(_)) => {
                self.as_str().is_some_and(|key| container.has_key(key))
            }
            Value::Json(serde_json::Value::Object(fields)) => {
                self.as_str().is_some_and(|key| fields.get(key).is_some_and(|value| !value.is_null()))
            }
            Value::Map(entries) => entries.binary_search_by(|entry| entry.0.order(self)).is_ok(),
            other => other.elements().is_some_and(|items| items.iter().any(|item| item.equals(self))),
        }
    }

    /// Whether a map with texts as keys names `key`.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        match self {
            Value::Labels(labels) => labels.iter().any(|(name, _)| name.as_str() == key),
            Value::Annotations(annotations) => annotations.get(key).is_some(),
            Value::Resources(resources) => is_named(resources, key),
            Value::Cel(Cel::Domains(domains)) => domains.iter().any(|(name, _)| name.as_str() == Some(key)),
            _ => !self.key(key).is_absent(),
        }
    }

    /// The entry `key` of a map with texts as keys, or absent. A resource that is not named is 0.
    pub fn key(&self, key: &str) -> Value<'a> {
        match self {
            Value::Labels(labels) => Value::optional(
                labels.iter().find(|(name, _)| name.as_str() == key).map(|(_, value)| Value::symbol(value)),
            ),
            Value::Annotations(annotations) => Value::optional(annotations.get(key).map(Value::borrowed)),
            Value::Resources(resources) => Value::Int(amount(resources, key)),
            Value::Json(serde_json::Value::Object(fields)) => {
                Value::optional(fields.get(key).map(|value| Value::Json(value).plain()))
            }
            Value::Map(entries) => {
                let wanted = Value::borrowed(key);
                let found = entries.binary_search_by(|(name, _)| name.order(&wanted)).ok();
                Value::optional(found.and_then(|at| entries.get(at)).map(|(_, value)| value.clone()))
            }
            // A device has every domain; one without attributes is an empty map.
            Value::Cel(Cel::Domains(domains)) => domains
                .iter()
                .find(|(name, _)| name.as_str() == Some(key))
                .map_or_else(|| Value::Map(Arc::from([])), |(_, value)| value.clone()),
            _ => Value::Absent,
        }
    }

    /// The entry of a map, or the element of a list, at `index`; absent if there is none.
    pub fn index(&self, index: &Value<'_>) -> Value<'a> {
        if let Some(key) = index.as_str() {
            return self.key(key);
        }
        match self {
            Value::List(items) => Value::optional(
                index.as_int().and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get(at)).cloned(),
            ),
            Value::Json(serde_json::Value::Array(items)) => Value::optional(
                index
                    .as_int()
                    .and_then(|at| usize::try_from(at).ok())
                    .and_then(|at| items.get(at))
                    .map(|value| Value::Json(value).plain()),
            ),
            Value::Map(entries) => Value::optional(
                entries.iter().find(|(key, _)| key.equals(index)).map(|(_, value)| value.clone()),
            ),
            _ => Value::Absent,
        }
    }
}
