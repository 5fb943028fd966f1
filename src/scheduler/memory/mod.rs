//! [`Memory`]: what a scheduler holds and no API server has, as plain data: its queue, assumptions, nominations, evictions
//! and marks, and the objects as its cache has them. `copy.rs` makes it of a running scheduler, `recall.rs` gives it to one
//! that knows the same objects, `known.rs` says what of an object is compared.
//!
//! Its JSON is a part of the snapshot's format: fields are only added. All instants are of the wall clock.

mod copy;
mod known;
mod recall;

pub use copy::MemoryCopy;
pub use known::{KnownObject, known_namespace, known_node, known_object, known_pod};

use super::queue::QueuePlace;
use bayplan_model::{PodKey, Symbol, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// What a scheduler remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Memory {
    /// The version of the program that copied it. Digests of objects are compared by an equal one alone: each version has
    /// a form of its own for what they stand for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// When it was copied.
    pub taken: Instant,
    /// Whether the instance places pods: it has the lease, and its watches are up to date.
    pub leads: bool,
    /// The position at which sampling of nodes continues.
    pub next_start: usize,
    /// What each policy in service meant, as a number: a pod that an equal policy refused keeps waiting.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<String, u64>,
    /// The queue: active pods in the order in which they are tried, then those in back-off, then those that wait for an
    /// event, and those that a gate holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueEntry>,
    /// Pods that have a node which no watch has shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<AssumedPod>,
    /// The nodes for which pods are nominated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nominated: Vec<NominatedPod>,
    /// The pods whose victims are being evicted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evictions: Vec<OpenEviction>,
    /// What is still to be written for bound pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkLeft>,
    /// What policies remember.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memos: Vec<Remembered>,
    /// Sums and tables of the cache that contradict each other: each is a fault of the scheduler.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The nodes of the cache, in the order of its rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<KnownObject>,
    /// The pods of the cache, by namespace and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<KnownObject>,
    /// The objects of other kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<KnownObject>,
}

/// A queued pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct QueueEntry {
    /// `namespace/name`.
    pub pod: String,
    /// The UID; empty for a pod without.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The queue.
    pub queue: Place,
    /// The number of its arrival.
    pub arrival: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it was refused.
    pub refusals: u32,
    /// How often in a row its attempts failed with an error.
    pub errors: u32,
    /// When it first came.
    pub added: Instant,
    /// When it entered the queue this time; the base of its back-off.
    pub since: Instant,
    /// When it was first ready to be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ready: Option<Instant>,
    /// When it last became active.
    pub ready: Instant,
    /// When its last attempt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Instant>,
    /// The second in which its back-off ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// When time alone may help it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<Instant>,
    /// The plugins and policies that refused it last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<String>,
    /// Those of them that wait for something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// What keeps it out of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// It was refused after its node had been chosen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused_late: bool,
    /// It is tried again only because it has waited long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flushed: bool,
    /// Its back-off is not cut short.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full_backoff: bool,
    /// An event since its last attempt helped it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub helped: bool,
}

/// Where a queued pod is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Ready for an attempt.
    #[default]
    Active,
    /// Its attempt waits for extenders.
    InFlight,
    /// Waiting for the end of its back-off.
    Backoff,
    /// Waiting for an event.
    Unschedulable,
    /// Kept out by a gate.
    Gated,
}

/// A pod that has a node which no watch has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AssumedPod {
    /// `namespace/name`.
    pub pod: String,
    /// The UID; empty for a pod without.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The node.
    pub node: String,
    /// How sure the binding is.
    pub state: Certainty,
    /// How far the binding is: `permit`, `preBind`, `bind`, `resolve`, `leaving`; empty once it has ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// When the pod was assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// Other objects about which it assumes something: `Kind namespace/name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

/// How sure a binding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Certainty {
    /// The call was not sent, or has no answer yet.
    #[default]
    Assumed,
    /// The call got no answer.
    Unknown,
    /// The API server confirmed it, and no watch has shown it.
    Confirmed,
}

/// A nomination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NominatedPod {
    /// `namespace/name`.
    pub pod: String,
    /// The UID; empty for a pod without.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The node.
    pub node: String,
}

/// Victims that are being evicted for a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenEviction {
    /// The pod for which they make room: `namespace/name`, or its UID if it is gone.
    pub pod: String,
    /// The victims whose call is open, named alike.
    pub victims: Vec<String>,
}

/// What is still to be written for a bound pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MarkLeft {
    /// `namespace/name`, or its UID if it is gone.
    pub pod: String,
    /// The policy that writes.
    pub policy: String,
}

/// A value that a policy remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Remembered {
    /// The memo: the policy, its name there, and a number of what its key means.
    pub memo: String,
    /// The key, with its type.
    pub key: serde_json::Value,
    /// The value, with its type.
    pub value: serde_json::Value,
    /// When it ends.
    pub until: Instant,
}

/// An instant of the wall clock, which JSON has in RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub Time);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.to_rfc3339_exactly())
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        let at = Time::parse(&text);
        at.map(Self).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an instant")))
    }
}

/// The key of a pod that is named so: its UID, else `namespace/name`.
pub fn key_of(uid: &str, full_name: &str) -> PodKey {
    PodKey(Symbol::new(if uid.is_empty() { full_name } else { uid }))
}

impl From<QueuePlace> for Place {
    fn from(place: QueuePlace) -> Self {
        match place {
            QueuePlace::Active => Self::Active,
            QueuePlace::Backoff => Self::Backoff,
            QueuePlace::Unschedulable => Self::Unschedulable,
            QueuePlace::Gated => Self::Gated,
        }
    }
}

impl Place {
    /// In words: where the pod is.
    pub fn words(self) -> &'static str {
        match self {
            Self::Active => "ready to be tried",
            Self::InFlight => "being tried",
            Self::Backoff => "in back-off",
            Self::Unschedulable => "waiting for an event",
            Self::Gated => "held by a gate",
        }
    }
}
