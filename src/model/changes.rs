//! [`Change`]: the only way to modify a snapshot, and the log of changes.

use super::metrics::Reading;
use super::node::Node;
use super::node_set::NodeId;
use super::objects::{ApiObject, Namespace, ObjectKey};
use super::pod::{PodInfo, PodKey};
use super::symbol::Symbol;
use super::time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// How a pod came to its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Chosen here; the API does not know yet.
    Assumed,
    /// The API has it.
    Bound,
}

/// Something that happened to the cluster.
#[derive(Clone, Debug)]
pub enum Change {
    /// A pod was placed on a node, assumed or bound; also when an assumed pod is confirmed or a placed pod is updated.
    PodPlaced {
        /// The pod as it is now.
        pod: Arc<PodInfo>,
        /// Where it is.
        node: NodeId,
        /// Assumed or bound.
        how: Placement,
    },
    /// A placed pod was assumed by this scheduler then.
    PodAssumed {
        /// Which.
        pod: PodKey,
        /// When its node was chosen.
        at: Time,
    },
    /// A pod without a node is known, or was updated.
    PodPending {
        /// The pod as it is now.
        pod: Arc<PodInfo>,
    },
    /// A placed pod lost its node and is pending again (an assumption was taken back).
    PodUnplaced {
        /// Which.
        pod: PodKey,
    },
    /// A pod is gone.
    PodRemoved {
        /// Which.
        pod: PodKey,
    },
    /// A pod begins or stops waiting at Permit.
    PodWaiting {
        /// Which.
        pod: PodKey,
        /// Whether it waits now.
        waiting: bool,
    },
    /// A pod was nominated to a node, or its nomination was removed.
    Nominated {
        /// The pod.
        pod: Arc<PodInfo>,
        /// The node; `None` removes the nomination.
        node: Option<NodeId>,
    },
    /// A node was added or changed.
    NodeUpserted {
        /// The node as it is now.
        node: Arc<Node>,
    },
    /// A node is gone. Its row stays, not alive, while pods name it.
    NodeRemoved {
        /// Its name.
        name: Symbol,
    },
    /// A namespace was added or changed.
    NamespaceUpserted {
        /// The namespace as it is now.
        namespace: Arc<Namespace>,
    },
    /// A namespace is gone.
    NamespaceRemoved {
        /// Its name.
        name: Symbol,
    },
    /// An object of another kind was added or changed.
    ObjectSeen {
        /// The object as it is now.
        object: Arc<dyn ApiObject>,
    },
    /// An object of another kind is gone. Ignored when the key has another UID than the object that is known.
    ObjectGone {
        /// Which.
        key: ObjectKey,
    },
    /// A pod that is being bound takes an object to be as it will write it. Every reader sees it so until the change is
    /// taken back, the object is gone, or it is seen at or above the version that the write returned. Ignored when
    /// the object is not known by this UID; a key without UID may name an object that was not seen yet, because the pod
    /// creates it.
    Assumed {
        /// Which object.
        key: ObjectKey,
        /// How it will be.
        with: Arc<dyn ApiObject>,
        /// The pod that is being bound.
        by: PodKey,
    },
    /// The API server accepted the write of an assumed object.
    AssumedWritten {
        /// Which object.
        key: ObjectKey,
        /// The pod that is being bound.
        by: PodKey,
        /// The version that the write returned.
        version: Box<str>,
    },
    /// The metrics API was polled.
    Metrics {
        /// When, in monotonic time.
        at: Time,
        /// What it said; nothing when it did not answer.
        readings: Arc<[Reading]>,
    },
    /// A pod takes back what it assumed about an object.
    Unassumed {
        /// Which object.
        key: ObjectKey,
        /// The pod that was being bound.
        by: PodKey,
    },
}

/// An object of another kind as readers of the snapshot see it, before and after a change.
#[derive(Clone, Debug)]
pub struct ObjectDelta {
    /// As it was; `None` when it is new.
    pub before: Option<Arc<dyn ApiObject>>,
    /// As it is; `None` when it is gone.
    pub after: Option<Arc<dyn ApiObject>>,
}

/// A change together with the previous state; an [`Index`](super::Index) receives it, after the snapshot
/// itself has taken the change in.
#[derive(Clone, Debug)]
pub struct Delta<'a> {
    /// The change.
    pub change: &'a Change,
    /// The node that was changed or removed, as it was.
    pub node_before: Option<Arc<Node>>,
    /// The row of the node that was added, changed or removed.
    pub node: Option<NodeId>,
    /// The pod that was changed or removed, as it was, with the node it was on.
    pub pod_before: Option<(Arc<PodInfo>, Option<NodeId>)>,
    /// The object of another kind that was seen, assumed or is gone.
    pub object: Option<ObjectDelta>,
}

/// Kinds of change of a node or of the cluster, as bits. Plugins and rules state what they read with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Kinds(pub u32);

impl Kinds {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A node came, went, or its row was given to another.
    pub const LIFE: Self = Self(1);
    /// Labels of a node.
    pub const LABELS: Self = Self(1 << 1);
    /// Annotations of a node.
    pub const ANNOTATIONS: Self = Self(1 << 2);
    /// Taints of a node.
    pub const TAINTS: Self = Self(1 << 3);
    /// `spec.unschedulable` of a node.
    pub const UNSCHEDULABLE: Self = Self(1 << 4);
    /// Allocatable or capacity of a node.
    pub const ALLOCATABLE: Self = Self(1 << 5);
    /// Images of a node; with `Global` the number of nodes that hold one.
    pub const IMAGES: Self = Self(1 << 6);
    /// Conditions of a node.
    pub const CONDITIONS: Self = Self(1 << 7);
    /// Declared features of a node.
    pub const FEATURES: Self = Self(1 << 8);
    /// Pods nominated to a node.
    pub const NOMINATED: Self = Self(1 << 9);
    /// Requests of the pods on a node.
    pub const PODS_REQUESTS: Self = Self(1 << 10);
    /// Host ports of the pods on a node.
    pub const PODS_PORTS: Self = Self(1 << 11);
    /// Anything else of the pods on a node (labels, phase, termination).
    pub const PODS_OTHER: Self = Self(1 << 12);
    /// Namespaces of the cluster.
    pub const NAMESPACES: Self = Self(1 << 13);
    /// The number of nodes.
    pub const NODES: Self = Self(1 << 14);
    /// Pods that are not on a node.
    pub const PENDING_PODS: Self = Self(1 << 15);
    /// Anything of a node that has no bit of its own (raw objects).
    pub const OTHER: Self = Self(1 << 16);
    /// Members of a group, or the sum of a key of a ledger, that an index follows ([`Moved::Group`]).
    pub const GROUPS: Self = Self(1 << 17);
    /// Volumes, claims and everything else of storage.
    pub const VOLUMES: Self = Self(1 << 18);
    /// Services and controllers of pods.
    pub const SERVICES: Self = Self(1 << 19);
    /// PodDisruptionBudgets.
    pub const BUDGETS: Self = Self(1 << 20);
    /// Objects that policies look up.
    pub const OBJECTS: Self = Self(1 << 21);
    /// What nodes use, as the metrics API says.
    pub const METRICS: Self = Self(1 << 22);
    /// DaemonSets.
    pub const DAEMON_SETS: Self = Self(1 << 23);
    /// A pod is placed, moved or gone; records of the log have [`PODS_OTHER`](Self::PODS_OTHER) for it.
    pub const PLACEMENT: Self = Self(1 << 24);
    /// The queue's own account of a pod (time of entry). The log has no record of it, nor of what follows.
    pub const QUEUE: Self = Self(1 << 25);
    /// Each attempt to schedule a pod.
    pub const ATTEMPTS: Self = Self(1 << 26);
    /// Time.
    pub const TIME: Self = Self(1 << 27);
    /// Devices, what claims of them request, and what is allocated.
    pub const DEVICES: Self = Self(1 << 28);
    /// Everything.
    pub const ALL: Self = Self(u32::MAX);

    /// Anything of pods, wherever they are.
    pub const OF_PODS: Self = Self::PODS_REQUESTS
        .with(Self::PODS_PORTS)
        .with(Self::PODS_OTHER)
        .with(Self::PENDING_PODS)
        .with(Self::NOMINATED);

    /// Anything of a node and of the pods on it.
    const OF_NODE: Self = Self::LABELS
        .with(Self::ANNOTATIONS)
        .with(Self::TAINTS)
        .with(Self::UNSCHEDULABLE)
        .with(Self::ALLOCATABLE)
        .with(Self::IMAGES)
        .with(Self::CONDITIONS)
        .with(Self::PODS_REQUESTS)
        .with(Self::PODS_OTHER)
        .with(Self::OTHER);

    /// What records of a node have for these kinds of change of one of its fields.
    pub const fn in_records_of_node(self) -> Self {
        let of_pods = Self::PODS_REQUESTS.with(Self::PLACEMENT);
        let more = if self.intersects(of_pods) { Self::PODS_OTHER } else { Self::NONE };
        Self(self.0 & Self::OF_NODE.0).with(more)
    }

    /// Both.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The first without the second.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether they share a bit.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no bit is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A point in the history of a snapshot; grows with every record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Generation(pub u64);

/// What moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// A node.
    Node(NodeId),
    /// Something of the whole cluster.
    Global,
    /// A member of a group of pods, or the sum of a key of a ledger, that an index follows. Both are numbered by a
    /// hash; two may share a number, so a reader may look at one that did not move.
    Group(u64),
}

/// One record of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeRecord {
    /// When.
    pub generation: Generation,
    /// What.
    pub what: Moved,
    /// In which respect.
    pub kinds: Kinds,
    /// The label key, when `kinds` is `LABELS` and one key changed.
    pub label: Option<Symbol>,
}

/// The changes of its own that an index reports.
#[derive(Default, Debug)]
pub struct Moves(pub Vec<(Moved, Kinds)>);

/// The last records, oldest first; a ring. A log that begins with a fork has no older record.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    records: VecDeque<ChangeRecord>,
    newest: Generation,
}

impl ChangeLog {
    /// Records kept.
    pub const CAPACITY: usize = 65_536;

    /// An empty log whose next record has the generation after `newest`.
    #[inline]
    pub fn after(newest: Generation) -> Self {
        Self { records: VecDeque::new(), newest }
    }

    /// How many records are kept.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no record is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Drops all records: what happened cannot be told, and readers look at everything.
    pub fn forget(&mut self) {
        self.newest.0 += 1;
        self.records.clear();
    }

    /// Writes a record.
    pub fn push(&mut self, what: Moved, kinds: Kinds, label: Option<Symbol>) {
        self.newest.0 += 1;
        if self.records.len() == Self::CAPACITY {
            self.records.pop_front();
        }
        self.records.push_back(ChangeRecord { generation: self.newest, what, kinds, label });
    }

    /// The newest generation.
    #[inline]
    pub fn newest(&self) -> Generation {
        self.newest
    }

    /// Records newer than `since`, oldest first. `None` when some of them were dropped.
    pub fn since(&self, since: Generation) -> Option<impl Iterator<Item = &ChangeRecord>> {
        let oldest_kept = self.newest.0 - self.records.len() as u64;
        let skip = usize::try_from(since.0.checked_sub(oldest_kept)?).ok()?;
        Some(self.records.iter().skip(skip))
    }
}
