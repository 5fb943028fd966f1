//! Cluster events, and the hints that say whether one may help a refused pod.
//!
//! Source: `pkg/scheduler/framework/events.go`, `staging/src/k8s.io/kube-scheduler/framework/types.go`.

use crate::model::{Namespace, Node, PodInfo};
use std::sync::Arc;

/// The resource of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EventResource {
    /// A pod, assigned or not; only in registrations.
    Pod,
    /// A pod with a node.
    AssignedPod,
    /// A pod without a node.
    UnschedulablePod,
    /// A node.
    Node,
    /// A namespace; no upstream plugin registers for it, policies may.
    Namespace,
    /// Everything: wildcard events, and plugins that did not say what they wait for.
    WildCard,
}

/// What happened, as bits; a registration may name several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ActionType(pub u32);

impl ActionType {
    /// Added.
    pub const ADD: Self = Self(1);
    /// Deleted.
    pub const DELETE: Self = Self(1 << 1);
    /// Allocatable changed.
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    /// Labels changed.
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    /// Taints changed, or the node became schedulable.
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    /// Conditions changed.
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    /// Annotations changed.
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    /// Declared features changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    /// Labels of a pod changed.
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    /// A request of a pod shrank.
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    /// The number of tolerations of a pod changed.
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 10);
    /// The last scheduling gate of a pod went.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 11);
    /// A claim was made for a pod.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 12);
    /// An update that is none of the above.
    pub const UPDATE_OTHER: Self = Self(1 << 13);
    /// Any update.
    pub const UPDATE: Self = Self(((1 << 14) - 1) & !0b11);
    /// Anything.
    pub const ALL: Self = Self((1 << 14) - 1);

    /// Both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they share a bit.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The objects of an event, as they were and as they are.
#[derive(Clone, Debug)]
pub enum EventObjects {
    /// A pod.
    Pod {
        /// Before; `None` when it was added.
        old: Option<Arc<PodInfo>>,
        /// Now; `None` when it is gone.
        new: Option<Arc<PodInfo>>,
    },
    /// A node.
    Node {
        /// Before.
        old: Option<Arc<Node>>,
        /// Now.
        new: Option<Arc<Node>>,
    },
    /// A namespace.
    Namespace {
        /// Before.
        old: Option<Arc<Namespace>>,
        /// Now.
        new: Option<Arc<Namespace>>,
    },
    /// None: an event of the scheduler itself.
    None,
}

/// Something happened that may help refused pods.
#[derive(Clone, Debug)]
pub struct ClusterEvent {
    /// Of what.
    pub resource: EventResource,
    /// What happened; one bit, or several when one update changed several things.
    pub action: ActionType,
    /// The label for logs and metrics when it is none that follows from the two above
    /// (`UnschedulableTimeout`, `ForceActivate`, …).
    pub custom_label: Option<&'static str>,
    /// The objects.
    pub objects: EventObjects,
}

/// What a plugin waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventRegistration {
    /// Of what.
    pub resource: EventResource,
    /// Which actions.
    pub actions: ActionType,
}

/// Whether an event may help a refused pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueingHint {
    /// It cannot.
    Skip,
    /// It may: the pod is tried again.
    Queue,
}
