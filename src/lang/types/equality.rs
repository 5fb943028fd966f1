//! Equality, order and hash of [`Value`]: what `==`, sorts, sets, maps and indexes mean by the same
//! value.
//!
//! One total order, [`Value::order`], decides all three; `tests/lang/values.rs` has the table that it is
//! tested against.
//!
//! - Values of different kinds are ordered by kind. Numbers are one kind and compare by amount,
//!   exactly: `1`, `1u` and `1.0` are the same, and so are `0.0` and `-0.0`.
//! - A value of an API object is the same as the plain value that it stands for, a list of JSON the
//!   same as a list, and labels and annotations the same as a map.
//! - Amounts of resources compare by what they hold: a resource with the amount 0 is the same as
//!   one that is not named.
//! - Pods, nodes, namespaces, devices and objects that are looked up are the same when they have the same identity.
//! - Absent is the smallest value and the same as itself.
//!
//! `==` of the language ([`Value::equals`]) says the same, with one difference: an absent value
//! equals nothing, and neither does a list or a map that holds one. Fields of records and CEL's
//! optionals may be absent on both sides.

use super::resources::{amount, named_resources};
use super::value::{Cel, Value};
use bayplan_model::{ApiObject, Container, KindName, LookedUp, OwnerReference, Resource, Symbol};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

impl<'a> Value<'a> {
    /// `==` of the language: the same value, and nothing absent in it.
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Absent, _) | (_, Value::Absent) => false,
            (Value::String(left), Value::String(right)) => left.same(right),
            (Value::Int(left), Value::Int(right)) => left == right,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Node(left), Value::Node(right)) => left == right,
            _ => self.order(other) == Ordering::Equal && self.is_complete(),
        }
    }

    /// Whether neither the value nor an element of it is absent.
    fn is_complete(&self) -> bool {
        match self {
            Value::Absent | Value::Json(serde_json::Value::Null) => false,
            Value::List(items) => items.iter().all(Value::is_complete),
            Value::Map(entries) => entries.iter().all(|(_, value)| value.is_complete()),
            Value::Json(serde_json::Value::Array(items)) => {
                items.iter().all(|item| Value::Json(item).is_complete())
            }
            Value::Json(serde_json::Value::Object(fields)) => {
                fields.values().all(|value| Value::Json(value).is_complete())
            }
            _ => true,
        }
    }

    /// The total order over all values.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Int(left), Value::Int(right)) => left.cmp(right),
            (Value::String(left), Value::String(right)) => left.as_str().cmp(right.as_str()),
            (Value::Json(_), _) | (_, Value::Json(_)) => {
                self.clone().plain().order_plain(&other.clone().plain())
            }
            _ => self.order_plain(other),
        }
    }

    /// [`Value::order`] of values of which what is left as JSON is a list or an object.
    fn order_plain(&self, other: &Value<'_>) -> Ordering {
        let ranks = self.rank().cmp(&other.rank());
        if ranks != Ordering::Equal {
            return ranks;
        }
        match (self, other) {
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Time(left), Value::Time(right)) => left.cmp(right),
            (Value::String(left), Value::String(right)) => left.as_str().cmp(right.as_str()),
            (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
            (Value::TypeName(left), Value::TypeName(right)) => left.cmp(right),
            (Value::Quantity(left), Value::Quantity(right)) => left.amount.cmp(&right.amount),
            (Value::Cel(Cel::Domains(_)), _) | (_, Value::Cel(Cel::Domains(_))) => self.order_shape(other),
            (Value::Cel(left), Value::Cel(right)) => left.order(right),
            (Value::Resources(left), Value::Resources(right)) => order_amounts(left, right),
            (Value::Pod(left), Value::Pod(right)) => left.key.cmp(&right.key),
            (Value::Node(left), Value::Node(right)) => left.cmp(right),
            (Value::Namespace(left), Value::Namespace(right)) => left.name.cmp(&right.name),
            (Value::LookedUp(left), Value::LookedUp(right)) => named(left).cmp(&named(right)),
            (Value::Taint(left), Value::Taint(right)) => left.cmp(right),
            (Value::Toleration(left), Value::Toleration(right)) => left.cmp(right),
            (Value::Owner(left), Value::Owner(right)) => readable(left).cmp(&readable(right)),
            (Value::Device(left), Value::Device(right)) => left.id().cmp(&right.id()),
            (Value::Load(left), Value::Load(right)) => left.cmp(right),
            (Value::Usage(left), Value::Usage(right)) => left.cmp(right),
            (Value::Container(left), Value::Container(right)) => order_containers(left, right),
            (Value::Record(left), Value::Record(right)) => in_turn(left.iter(), right.iter(), Value::order),
            (Value::Optional(left), Value::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => left.order(right),
                (left, right) => left.is_some().cmp(&right.is_some()),
            },
            _ => self.order_shape(other),
        }
    }

    /// The order of numbers, lists and maps, in whatever form they come.
    fn order_shape(&self, other: &Value<'_>) -> Ordering {
        if let Some(order) = self.compare_numbers(other) {
            return order;
        }
        if let (Some(left), Some(right)) = (self.elements(), other.elements()) {
            return in_turn(left.iter(), right.iter(), Value::order);
        }
        match (self.entries(), other.entries()) {
            (Some(left), Some(right)) => in_turn(left.iter(), right.iter(), |left, right| {
                left.0.order(&right.0).then_with(|| left.1.order(&right.1))
            }),
            _ => Ordering::Equal,
        }
    }

    /// Two numbers compared exactly, whatever their kinds; `None` if one is not a number.
    pub(crate) fn compare_numbers(&self, other: &Value<'_>) -> Option<Ordering> {
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

    /// The place of the kind in the total order.
    fn rank(&self) -> u8 {
        match self {
            Value::Absent | Value::Json(serde_json::Value::Null) => 0,
            Value::Null => 1,
            Value::Bool(_) | Value::Json(serde_json::Value::Bool(_)) => 2,
            Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Json(serde_json::Value::Number(_)) => 3,
            Value::Time(_) => 4,
            Value::String(_) | Value::Json(serde_json::Value::String(_)) => 5,
            Value::Blob(_) => 6,
            Value::List(_) | Value::Json(serde_json::Value::Array(_)) => 7,
            Value::Map(_)
            | Value::Labels(_)
            | Value::Annotations(_)
            | Value::Cel(Cel::Domains(_))
            | Value::Json(serde_json::Value::Object(_)) => 8,
            Value::Resources(_) => 9,
            Value::Record(_) => 10,
            Value::Pod(_) => 11,
            Value::Node(_) => 12,
            Value::Namespace(_) => 13,
            Value::Container(_) => 14,
            Value::Taint(_) => 15,
            Value::Optional(_) => 16,
            Value::TypeName(_) => 17,
            Value::Quantity(_) => 18,
            Value::Toleration(_) => 19,
            Value::Owner(_) => 20,
            Value::Cel(_) => 21,
            Value::LookedUp(_) => 22,
            Value::Load(_) => 23,
            Value::Usage(_) => 24,
            Value::Device(_) => 25,
        }
    }
}

/// Sequences by their first difference; a sequence that ends first is smaller.
fn in_turn<L, R>(
    mut left: impl ExactSizeIterator<Item = L>,
    mut right: impl ExactSizeIterator<Item = R>,
    order: impl Fn(L, R) -> Ordering,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    while let (Some(left), Some(right)) = (left.next(), right.next()) {
        let order = order(left, right);
        if order != Ordering::Equal {
            return order;
        }
    }
    lengths
}

/// Amounts by name, without those that are 0.
fn order_amounts(left: &Resource, right: &Resource) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    let held = |resource: &Resource| {
        let mut named = named_resources(resource);
        named.retain(|(_, amount)| *amount != 0);
        named.sort_unstable();
        named
    };
    held(left).cmp(&held(right))
}

/// Containers by everything that rules can read of them.
fn order_containers(left: &Container, right: &Container) -> Ordering {
    let own = |of: &Container| (of.name.clone(), of.image.clone(), of.init, of.sidecar);
    own(left)
        .cmp(&own(right))
        .then_with(|| order_amounts(&left.requests, &right.requests))
        .then_with(|| order_amounts(&left.limits, &right.limits))
}

/// What tells two objects apart.
fn named(of: &LookedUp) -> (&KindName, &Symbol, &Symbol) {
    (of.kind_name(), &of.metadata().namespace, &of.metadata().name)
}

/// What rules can read of an owner.
fn readable(of: &OwnerReference) -> (&Symbol, &Symbol, &Symbol) {
    (&of.kind, &of.name, &of.uid)
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
    // A float beyond 2^65 is larger than every 64-bit number; the whole part of any other fits an
    // i128.
    if float >= 3.7e19 {
        return Ordering::Greater;
    }
    if float <= -3.7e19 {
        return Ordering::Less;
    }
    let cut = float.trunc();
    (cut as i128).cmp(&whole).then_with(|| (float - cut).partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

/// What absent values hash as: no small number, so that they do not share a bucket with 0.
const ABSENT: u64 = 0x5bd1_e995_9d1f_3e0d;

/// Values that [`Value::order`] calls the same have the same hash.
impl Hash for Value<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::Absent => state.write_u64(ABSENT),
            Value::Null => state.write_u64(!ABSENT),
            Value::Bool(truth) => truth.hash(state),
            Value::Int(number) => number.hash(state),
            Value::Uint(number) => hash_whole(i128::from(*number), state),
            Value::Float(number) => hash_float(*number, state),
            Value::Time(time) => time.0.hash(state),
            Value::String(text) => text.as_str().hash(state),
            Value::Blob(bytes) => bytes.hash(state),
            Value::Record(fields) => fields.hash(state),
            Value::Resources(resources) => hash_amounts(resources, state),
            Value::Pod(pod) => pod.key.hash(state),
            Value::Node(node) => node.row().hash(state),
            Value::Namespace(namespace) => namespace.name.hash(state),
            Value::LookedUp(object) => named(object).hash(state),
            Value::Container(container) => {
                container.name.hash(state);
                container.image.hash(state);
            }
            Value::Taint(taint) => taint.hash(state),
            Value::Toleration(toleration) => toleration.hash(state),
            Value::Owner(owner) => readable(owner).hash(state),
            Value::Device(device) => device.id().hash(state),
            Value::Load(load) => load.hash(state),
            Value::Usage(usage) => usage.hash(state),
            Value::Optional(held) => held.hash(state),
            Value::TypeName(name) => name.hash(state),
            // Equal quantities may be written with other exponents.
            Value::Quantity(amount) => amount.sign().hash(state),
            Value::Cel(Cel::Domains(_)) => self.entries().unwrap_or_default().hash(state),
            Value::Cel(of) => of.hash(state),
            Value::Json(
                serde_json::Value::Null
                | serde_json::Value::Bool(_)
                | serde_json::Value::Number(_)
                | serde_json::Value::String(_),
            ) => self.clone().plain().hash(state),
            Value::List(_) | Value::Json(serde_json::Value::Array(_)) => {
                self.elements().unwrap_or_default().hash(state);
            }
            Value::Map(_) | Value::Labels(_) | Value::Annotations(_) | Value::Json(_) => {
                self.entries().unwrap_or_default().hash(state);
            }
        }
    }
}

/// A whole number of any width, as an `Int` hashes where it fits one.
fn hash_whole<H: Hasher>(number: i128, state: &mut H) {
    match i64::try_from(number) {
        Ok(number) => number.hash(state),
        Err(_) => number.hash(state),
    }
}

/// A float as the whole number that it is the same as, if there is one.
fn hash_float<H: Hasher>(number: f64, state: &mut H) {
    if number.trunc() == number && number.abs() < 3.7e19 {
        hash_whole(number as i128, state);
    } else {
        number.to_bits().hash(state);
    }
}

/// The sum of the hashes of all amounts but 0, so that their order and number do not matter.
fn hash_amounts<H: Hasher>(resources: &Resource, state: &mut H) {
    let hash_one = |name: &str| {
        let mut hasher = rustc_hash::FxHasher::default();
        name.hash(&mut hasher);
        amount(resources, name).hash(&mut hasher);
        hasher.finish()
    };
    let named = named_resources(resources);
    let held = named.iter().filter(|(_, amount)| *amount != 0);
    held.fold(0u64, |sum, (name, _)| sum.wrapping_add(hash_one(name.as_str()))).hash(state);
}

/// A value as a key of maps and sets, by [`Value::order`].
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

impl Hash for Ordered<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Value<'_> {
    /// Equal in value and form: tests and the typed tree tell `1` from `1.0`.
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.order(other) == Ordering::Equal
    }
}
