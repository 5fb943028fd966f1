//! Calls to the API server and their answers, as data.

use super::extenders::{ExtenderAnswer, ExtenderAsk};
use super::patch_body::PatchBody;
use bayplan_model::{Duration, Kind, ObjectKey, PodKey, PodMarks, Symbol, Time};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Names one call that is answered by exactly one reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ticket(pub u64);

/// The condition `PodScheduled=False` and the nomination that a refused pod gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionPatch {
    /// `Unschedulable`, `SchedulerError` or `HeldByPolicy`; `None` leaves the condition as it is, an empty reason
    /// removes it.
    pub reason: Option<&'static str>,
    /// The full message.
    pub message: String,
    /// `observedGeneration` of the condition: the `metadata.generation` of the pod that was refused; 0 when unknown.
    pub generation: i64,
    /// `status.nominatedNodeName`: `None` leaves it, an empty name clears it.
    pub nominated_node: Option<Symbol>,
    /// Written only when the pod is still at this version, else refused with 409; empty: whatever its version. A late
    /// patch must not say `PodScheduled=False` of a pod that was bound meanwhile.
    pub resource_version: Box<str>,
}

impl ConditionPatch {
    /// Whether it removes the condition.
    pub fn removes_condition(&self) -> bool {
        self.reason.is_some_and(str::is_empty)
    }
}

/// The reason of the condition of a pod that only policies keep waiting, where no new node could help: autoscalers
/// leave it alone.
pub const HELD_BY_POLICY: &str = "HeldByPolicy";

/// The part of an object that a patch writes: the object itself, or its subresource `status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectPart {
    /// The object without its status.
    Object,
    /// Its status.
    Status,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApiCall {
    /// Binds a pod: a POST to its `binding` subresource, with its UID.
    Bind {
        /// The pod.
        pod: ObjectKey,
        /// The node's name.
        node: Symbol,
        /// Annotations and labels that the API server copies to the pod in the same transaction.
        marks: PodMarks,
    },
    /// Reads an object.
    Read(ObjectKey),
    /// Patches the status of a pod; sent only when something changed.
    PatchStatus {
        /// The pod.
        pod: ObjectKey,
        /// The patch.
        patch: ConditionPatch,
    },
    /// Patches an object with its UID; answered with [`Answer::Written`].
    Patch {
        /// The object.
        of: ObjectKey,
        /// Which part of it.
        part: ObjectPart,
        /// The version that the object must have, else the API server refuses with 409; `None`: whatever its version.
        version: Option<Box<str>>,
        /// What is written.
        body: PatchBody,
    },
    /// Creates an object; answered with [`Answer::Created`]. The scheduler chooses the name, so that it can assume the
    /// object before it exists.
    Create {
        /// The object, without a UID.
        of: ObjectKey,
        /// What is created, as the API has it.
        object: Arc<Value>,
    },
    /// Asks an extender. It is not a call to the API server.
    Extender {
        /// The number of the extender.
        at: u16,
        /// The question.
        ask: ExtenderAsk,
    },
    /// Deletes an object by UID, with its own grace period. An object that is gone already is refused with 404.
    Delete {
        /// The object.
        of: ObjectKey,
    },
}

impl ApiCall {
    /// The object that the call is about.
    pub fn object(&self) -> &ObjectKey {
        match self {
            Self::Bind { pod: object, .. } | Self::PatchStatus { pod: object, .. } | Self::Read(object) => {
                object
            }
            Self::Patch { of: object, .. }
            | Self::Create { of: object, .. }
            | Self::Delete { of: object } => object,
            Self::Extender { ask, .. } => ask.pod(),
        }
    }
}

/// The result of a successful call.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// The object was written.
    Written {
        /// Its `metadata.resourceVersion` after the write; empty when the answer has none.
        version: Box<str>,
    },
    /// The object was created.
    Created {
        /// Its `metadata.uid`.
        uid: Symbol,
        /// Its `metadata.resourceVersion`.
        version: Box<str>,
    },
    /// An extender answered.
    Extender(ExtenderAnswer),
    /// The object that was read; `None` when it does not exist.
    Object(Option<bayplan_model::Object>),
}

/// Why a call did not succeed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// It certainly did not happen.
    Refused {
        /// HTTP status.
        code: u16,
        /// `metav1.Status.reason`.
        reason: String,
        /// `metav1.Status.message`.
        message: String,
    },
    /// It may have happened: a time-out, a lost connection, a 5xx.
    Unknown(String),
    /// It certainly did not happen, and the API server refused nothing: 429, or the request was never sent. The
    /// scheduler sends the same call with the same ticket again; plugins and bindings never see this error of a call
    /// that they still want.
    Retry {
        /// Minimum pause before it is sent again: the `Retry-After` of the API server.
        after: Duration,
        /// What happened.
        message: String,
    },
}

impl CallError {
    /// What happened, in words.
    pub fn message(&self) -> &str {
        match self {
            Self::Refused { message, .. } | Self::Unknown(message) | Self::Retry { message, .. } => message,
        }
    }
}

/// The type of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// How a scheduling attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptResult {
    /// The pod was bound.
    Scheduled,
    /// The pod was refused, at any point up to the bind.
    Unschedulable,
    /// Something failed.
    Error,
}

impl AttemptResult {
    /// The label `result` of `scheduler_schedule_attempts_total`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// An event of `events.k8s.io/v1`, to be written by the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventRecord {
    /// The pod it is about.
    pub pod: ObjectKey,
    /// Another object that it is about: the preemptor of an evicted pod.
    pub related: Option<ObjectKey>,
    /// For the driver's records.
    pub key: PodKey,
    /// Reporting controller: the scheduler's name.
    pub scheduler: Symbol,
    /// Normal or warning.
    pub kind: EventType,
    /// `Scheduled`, `FailedScheduling`, …
    pub reason: Cow<'static, str>,
    /// `Binding`, `Scheduling`, …
    pub action: &'static str,
    /// The note, at most 1,024 characters.
    pub note: String,
    /// How the attempt ended that the event reports; `None` when it reports none.
    pub result: Option<AttemptResult>,
    /// When.
    pub at: Time,
}

impl EventRecord {
    /// Whether it is about an object that a policy looked up. Such an event is written with the rights of the policies'
    /// account: the scheduler itself writes events about pods and nodes alone.
    pub fn is_of_policy(&self) -> bool {
        matches!(self.pod.kind, Kind::LookedUp(_))
    }
}
