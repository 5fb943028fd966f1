//! [`Value`]: what an expression of a policy stands for while it is evaluated.
//!
//! Made by the reference evaluator, by the function table and by the closures where no plain number, truth or
//! text will do. Objects of the cluster are references into the snapshot, so that a value is made without copying.
//! How numbers behave is in `arith.rs`; which types exist is in `types.rs`.

use crate::model::{
    Annotations, Container, Labels, Namespace, NodeId, PodInfo, Quantity, Resource, Symbol, Taint, Time,
};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// A text: a symbol or a string of the snapshot, or one that was computed.
#[derive(Clone)]
pub enum Str<'a> {
    /// An interned string of the snapshot; borrowed, because counting references costs more than comparing.
    Interned(&'a Symbol),
    /// An interned string that is kept.
    Symbol(Symbol),
    /// A string of the snapshot, as annotations are.
    Borrowed(&'a str),
    /// A string that was computed, or a constant.
    Text(Arc<str>),
}

impl Str<'_> {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        match self {
            Str::Interned(symbol) => symbol.as_str(),
            Str::Symbol(symbol) => symbol.as_str(),
            Str::Borrowed(text) => text,
            Str::Text(text) => text,
        }
    }
}

impl Str<'_> {
    /// The symbol of an interned text.
    pub fn interned(&self) -> Option<&Symbol> {
        match self {
            Str::Interned(symbol) => Some(symbol),
            Str::Symbol(symbol) => Some(symbol),
            Str::Borrowed(_) | Str::Text(_) => None,
        }
    }

    /// Whether the texts are equal: interned ones by word.
    pub fn same(&self, other: &Str<'_>) -> bool {
        match (self.interned(), other.interned()) {
            (Some(left), Some(right)) => left == right,
            _ => self.as_str() == other.as_str(),
        }
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl<'a> From<&'a str> for Str<'static> {
    fn from(text: &'a str) -> Self {
        Str::Text(Arc::from(text))
    }
}

impl From<String> for Str<'static> {
    fn from(text: String) -> Self {
        Str::Text(Arc::from(text))
    }
}

/// Amounts by resource name: a reference into the snapshot, or computed.
#[derive(Clone)]
pub enum Resources<'a> {
    /// Of an object of the snapshot.
    Borrowed(&'a Resource),
    /// A sum or a difference.
    Shared(Arc<Resource>),
}

impl std::ops::Deref for Resources<'_> {
    type Target = Resource;
    fn deref(&self) -> &Resource {
        match self {
            Resources::Borrowed(resource) => resource,
            Resources::Shared(resource) => resource,
        }
    }
}

/// A value known when the policy is compiled.
pub type Constant = Value<'static>;

/// A value. `'a` is the life of the snapshot, the pod and the policy that it was read from.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value: a key that is not there, a quotient by zero, `none`.
    Absent,
    /// CEL's `null`, which is a value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, or a whole amount in the base unit of its type: millicores, bytes, microseconds, pieces.
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
    /// A map: ordered by key, keys are texts, ints, uints or truths.
    Map(Arc<[(Value<'a>, Value<'a>)]>),
    /// A record: its fields in the order of its type.
    Record(Arc<[Value<'a>]>),
    /// Amounts by resource name.
    Resources(Resources<'a>),
    /// A map of labels.
    Labels(&'a Labels),
    /// A map of annotations.
    Annotations(&'a Annotations),
    /// A pod; where it is placed is asked of the snapshot.
    Pod(&'a PodInfo),
    /// A node, by its row in the snapshot.
    Node(NodeId),
    /// A namespace.
    Namespace(&'a Namespace),
    /// A container of a pod.
    Container(&'a Container),
    /// A taint of a node.
    Taint(&'a Taint),
    /// A part of an object as the API has it.
    Json(&'a serde_json::Value),
    /// CEL's `optional`, a type of its own.
    Optional(Option<Arc<Value<'a>>>),
    /// CEL's name of a type, as `type(x)` gives it.
    TypeName(Symbol),
    /// One of Kubernetes' quantities, exact.
    Quantity(Arc<Quantity>),
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

    /// A number made finite: infinities become the largest float of their sign, what is no number is absent.
    pub fn float(number: f64) -> Self {
        if number.is_nan() { Value::Absent } else { Value::Float(number.clamp(f64::MIN, f64::MAX)) }
    }

    /// `value`, or absent.
    pub fn optional(value: Option<Value<'a>>) -> Self {
        value.unwrap_or(Value::Absent)
    }

    /// Whether there is no value.
    pub fn is_absent(&self) -> bool {
        matches!(self, Value::Absent)
    }

    /// Whether the value is `true`. Everything else, absent included, does not hold.
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

    /// A value inside an object in its own form: texts, truths and numbers are themselves, `null` is absent.
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

    /// `==` of two values that are there. Numbers of different kinds compare by their amount; absent values
    /// and values of different types are not equal.
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Absent, _) | (_, Value::Absent) => false,
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::String(left), Value::String(right)) => left.same(right),
            (Value::Time(left), Value::Time(right)) => left == right,
            (Value::Blob(left), Value::Blob(right)) => left == right,
            (Value::TypeName(left), Value::TypeName(right)) => left == right,
            (Value::Quantity(left), Value::Quantity(right)) => left == right,
            (Value::Resources(left), Value::Resources(right)) => same_amounts(left, right),
            (Value::Pod(left), Value::Pod(right)) => left.key == right.key,
            (Value::Node(left), Value::Node(right)) => left == right,
            (Value::Namespace(left), Value::Namespace(right)) => left.name == right.name,
            (Value::Container(left), Value::Container(right)) => left == right,
            (Value::Taint(left), Value::Taint(right)) => left == right,
            (Value::Optional(left), Value::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => left.equals(right),
                (None, None) => true,
                _ => false,
            },
            (Value::Record(left), Value::Record(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|(left, right)| left.equals(right) || left.is_absent() && right.is_absent())
            }
            _ => self.equals_shape(other),
        }
    }

    /// The rest of [`Value::equals`]: numbers, lists, maps, in whatever form they come.
    fn equals_shape(&self, other: &Value<'_>) -> bool {
        if let Some(order) = self.compare_numbers(other) {
            return order == Ordering::Equal;
        }
        if let (Some(left), Some(right)) = (self.elements(), other.elements()) {
            return left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| l.equals(r));
        }
        if let (Some(left), Some(right)) = (self.entries(), other.entries()) {
            return left.len() == right.len()
                && left.iter().zip(right.iter()).all(|(l, r)| l.0.equals(&r.0) && l.1.equals(&r.1));
        }
        match (self.as_str(), other.as_str()) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        }
    }

    /// Two numbers compared exactly, whatever their kinds; `None` when one is no number.
    pub fn compare_numbers(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
            (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
            (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
            (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Value::Float(left), right) => whole(right).map(|right| compare_float(*left, right)),
            (left, Value::Float(right)) => whole(left).map(|left| compare_float(*right, left).reverse()),
            _ => None,
        }
    }

    /// A total order over all values: absent first, then by kind, then by content. Used by sorts, sets, maps and keys.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        if let Some(order) = self.compare_numbers(other) {
            return order;
        }
        match (self, other) {
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Time(left), Value::Time(right)) => left.cmp(right),
            (Value::String(left), Value::String(right)) => left.as_str().cmp(right.as_str()),
            (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
            (Value::TypeName(left), Value::TypeName(right)) => left.cmp(right),
            (Value::Quantity(left), Value::Quantity(right)) => left.cmp(right),
            (Value::Pod(left), Value::Pod(right)) => left.key.cmp(&right.key),
            (Value::Node(left), Value::Node(right)) => left.cmp(right),
            (Value::Namespace(left), Value::Namespace(right)) => left.name.cmp(&right.name),
            (Value::Taint(left), Value::Taint(right)) => left.cmp(right),
            (Value::Container(left), Value::Container(right)) => left.name.cmp(&right.name),
            (Value::Record(left), Value::Record(right)) => {
                for (left, right) in left.iter().zip(right.iter()) {
                    let order = left.order(right);
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                left.len().cmp(&right.len())
            }
            (Value::Optional(left), Value::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => left.order(right),
                (left, right) => left.is_some().cmp(&right.is_some()),
            },
            _ => {
                if let (Some(left), Some(right)) = (self.elements(), other.elements()) {
                    for (left, right) in left.iter().zip(right.iter()) {
                        let order = left.order(right);
                        if order != Ordering::Equal {
                            return order;
                        }
                    }
                    return left.len().cmp(&right.len());
                }
                if let (Some(left), Some(right)) = (self.entries(), other.entries()) {
                    for (left, right) in left.iter().zip(right.iter()) {
                        let order = left.0.order(&right.0).then_with(|| left.1.order(&right.1));
                        if order != Ordering::Equal {
                            return order;
                        }
                    }
                    return left.len().cmp(&right.len());
                }
                self.rank().cmp(&other.rank())
            }
        }
    }

    /// The place of the kind in the total order.
    fn rank(&self) -> u8 {
        match self {
            Value::Absent => 0,
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Int(_) | Value::Uint(_) | Value::Float(_) => 3,
            Value::Time(_) => 4,
            Value::String(_) => 5,
            Value::Blob(_) => 6,
            Value::List(_) => 7,
            Value::Map(_) | Value::Labels(_) | Value::Annotations(_) | Value::Resources(_) => 8,
            Value::Record(_) => 9,
            Value::Pod(_) => 10,
            Value::Node(_) => 11,
            Value::Namespace(_) => 12,
            Value::Container(_) => 13,
            Value::Taint(_) => 14,
            Value::Json(_) => 15,
            Value::Optional(_) => 16,
            Value::TypeName(_) => 17,
            Value::Quantity(_) => 18,
        }
    }

    /// Whether `self` stands in the list, set or among the keys of the map `container`; false when a side is absent.
    pub fn is_in(&self, container: &Value<'_>) -> bool {
        if self.is_absent() {
            return false;
        }
        match container {
            Value::Labels(_) | Value::Annotations(_) | Value::Resources(_) => {
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
    pub fn has_key(&self, key: &str) -> bool {
        match self {
            Value::Labels(labels) => labels.iter().any(|(name, _)| name.as_str() == key),
            Value::Annotations(annotations) => annotations.get(key).is_some(),
            Value::Resources(resources) => is_named(resources, key),
            _ => !self.key(key).is_absent(),
        }
    }

    /// The entry `key` of a map with texts as keys; absent when it is not there. A resource that is not named is 0.
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
            Value::Map(entries) => Value::optional(
                entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value.clone()),
            ),
            _ => Value::Absent,
        }
    }

    /// The entry of a map, or the element of a list, at `index`; absent when it is not there.
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

/// A value as a key of ordered maps and sets, by [`Value::order`].
#[derive(Clone, Debug)]
pub struct Ordered<'a>(pub Value<'a>);

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered<'_> {}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

/// A whole number of any width.
fn whole(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::Uint(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// A finite float against a whole number, exactly.
fn compare_float(float: f64, whole: i128) -> Ordering {
    // Every finite f64 beyond 2^65 is larger than any 64 bit number; below that its cut value fits an i128.
    if float >= 3.7e19 {
        return Ordering::Greater;
    }
    if float <= -3.7e19 {
        return Ordering::Less;
    }
    let cut = float.trunc();
    (cut as i128).cmp(&whole).then_with(|| (float - cut).partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

/// The amount of the resource `name` in base units, 0 when it is not named.
pub fn amount(resources: &Resource, name: &str) -> i64 {
    match name {
        "cpu" => resources.milli_cpu,
        "memory" => resources.memory,
        "ephemeral-storage" => resources.ephemeral_storage,
        "pods" => resources.pods,
        _ => resources
            .scalars
            .iter()
            .find(|(scalar, _)| scalar.as_str() == name)
            .map_or(0, |(_, amount)| *amount),
    }
}

/// Whether `name` is named; the four resources that every object has are named when they are not 0.
fn is_named(resources: &Resource, name: &str) -> bool {
    match name {
        "cpu" | "memory" | "ephemeral-storage" | "pods" => amount(resources, name) != 0,
        _ => resources.scalars.iter().any(|(scalar, _)| scalar.as_str() == name),
    }
}

/// The named resources with their amounts.
pub fn named_resources(resources: &Resource) -> Vec<(Symbol, i64)> {
    let mut named: Vec<(Symbol, i64)> = ["cpu", "memory", "ephemeral-storage", "pods"]
        .into_iter()
        .filter(|name| is_named(resources, name))
        .map(|name| (Symbol::new(name), amount(resources, name)))
        .collect();
    named.extend(resources.scalars.iter().cloned());
    named
}

fn same_amounts(left: &Resource, right: &Resource) -> bool {
    left == right || {
        let names = |r: &Resource| named_resources(r).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        names(left).iter().chain(names(right).iter()).all(|name| left.get(name) == right.get(name))
    }
}

impl PartialEq for Value<'_> {
    /// Identity for tests: like [`Value::equals`], but absent equals absent and kinds of numbers differ.
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
            && (self.is_absent() || self.equals(other))
            && std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// As explanations show it: texts in quotes, amounts with their unit, absent values as `absent`.
impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Absent => f.write_str("absent"),
            Value::Null => f.write_str("null"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Uint(number) => write!(f, "{number}u"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Time(time) => f.write_str(&time.to_rfc3339()),
            Value::String(text) => write!(f, "{:?}", text.as_str()),
            Value::Blob(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::List(items) => show_list(f, items),
            Value::Record(fields) => {
                f.write_str("{")?;
                for (at, value) in fields.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Value::Pod(pod) => write!(f, "pod {}/{}", pod.namespace, pod.name),
            Value::Node(node) => write!(f, "node #{}", node.row()),
            Value::Namespace(namespace) => write!(f, "namespace {}", namespace.name),
            Value::Container(container) => write!(f, "container {}", container.name),
            Value::Taint(taint) => write!(f, "{}={}:{:?}", taint.key, taint.value, taint.effect),
            Value::Json(json) => write!(f, "{json}"),
            Value::Optional(Some(value)) => write!(f, "optional.of({value})"),
            Value::Optional(None) => f.write_str("optional.none()"),
            Value::TypeName(name) => write!(f, "{name}"),
            Value::Quantity(amount) => write!(f, "{amount}"),
            Value::Map(_) | Value::Labels(_) | Value::Annotations(_) | Value::Resources(_) => {
                f.write_str("{")?;
                for (at, (key, value)) in self.entries().unwrap_or_default().iter().enumerate() {
                    write!(f, "{}{key}: {value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

fn show_list(f: &mut std::fmt::Formatter<'_>, items: &[Value<'_>]) -> std::fmt::Result {
    f.write_str("[")?;
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
    }
    f.write_str("]")
}

/// Millicores as a person writes them: `2cpu`, `500m`.
pub fn show_cpu(millicores: i64) -> String {
    if millicores % 1000 == 0 { format!("{}cpu", millicores / 1000) } else { format!("{millicores}m") }
}

/// Bytes as a person writes them: `4Gi`, `100B`.
pub fn show_bytes(bytes: i64) -> String {
    let suffixes = [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    match suffixes.iter().find(|(_, bits)| bytes != 0 && bytes % (1 << bits) == 0) {
        Some((suffix, bits)) => format!("{}{suffix}", bytes / (1 << bits)),
        None => format!("{bytes}B"),
    }
}

/// Microseconds as a person writes them: `1h30min`, `500ms`.
pub fn show_duration(microseconds: i64) -> String {
    if microseconds == 0 {
        return String::from("0s");
    }
    let mut text = String::from(if microseconds < 0 { "-" } else { "" });
    let mut rest = microseconds.unsigned_abs();
    let lengths = [
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("min", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
        ("us", 1),
    ];
    for (suffix, length) in lengths {
        if rest >= length {
            text.push_str(&format!("{}{suffix}", rest / length));
            rest %= length;
        }
    }
    text
}
