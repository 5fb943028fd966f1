//! [`Index`]: the state of a plugin between attempts. The snapshot keeps it and feeds it the changes that it asks for.
//!
//! An index has a key: plugin instance, declaration and arguments. Every policy is an instance of one Rust type, and
//! two policies must not share state. A reload keeps an index whose key is unchanged.

use super::changes::{Change, Delta, Moves};
use super::precondition::PodPrecondition;
use super::snapshot::Snapshot;
use super::symbol::Symbol;
use super::time::Time;
use std::any::Any;

/// Names an index of a snapshot: the plugin instance it belongs to and, where it has several, which.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IndexKey(pub Symbol);

/// State derived from the objects of a snapshot. [`Index::rebuild`] defines it; [`Index::apply`] must agree.
///
/// A pod update that differs in nothing that a plugin can read ([`PodInfo::difference`](super::PodInfo::difference))
/// reaches no index: an index that keeps the objects themselves may keep the earlier version.
pub trait Index: Any + Send + Sync + std::fmt::Debug {
    /// The changes that [`Index::apply`] is called for; it must ignore all others.
    fn feeds(&self) -> Feeds;
    /// A property of pods: changes of a pod that has it neither before nor after are not for this index.
    fn precondition(&self) -> Option<&PodPrecondition> {
        None
    }
    /// Applies a change that `snapshot` has applied already. Changes of the index itself go to `moved` and from there
    /// to the log.
    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, moved: &mut Moves);
    /// Clears the index and derives it from `snapshot`.
    fn rebuild(&mut self, snapshot: &Snapshot);
    /// When the first part of it changes by time alone, in monotonic time; at once if the wall clock was stepped past
    /// such an instant. Asked of indexes with [`Feeds::TIME`].
    fn next_end(&self, _snapshot: &Snapshot) -> Option<Time> {
        None
    }
    /// Changes what changes at or before the present ([`Snapshot::time`]). What moves with it goes to `moved`.
    fn expire(&mut self, _snapshot: &Snapshot, _moved: &mut Moves) {}
    /// A copy, made when a forked snapshot is written to.
    fn fork(&self) -> Box<dyn Index>;
}

/// Why there is no index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// The snapshot has no index of this key and type.
    #[error("the snapshot has no such index")]
    Absent,
    /// The index panicked, was rebuilt, and panicked again. A reload of the profiles makes it anew.
    #[error("the index panicked twice and is out of use until the next reload")]
    Broken,
}

/// Kinds of [`Change`] as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feeds(u16);

impl Feeds {
    /// No change.
    pub const NONE: Self = Self(0);
    /// [`Change::PodPlaced`].
    pub const POD_PLACED: Self = Self(1);
    /// [`Change::PodAssumed`].
    pub const POD_ASSUMED: Self = Self(1 << 1);
    /// [`Change::PodPending`].
    pub const POD_PENDING: Self = Self(1 << 2);
    /// [`Change::PodUnplaced`].
    pub(crate) const POD_UNPLACED: Self = Self(1 << 3);
    /// [`Change::PodRemoved`].
    pub const POD_REMOVED: Self = Self(1 << 4);
    /// [`Change::PodWaiting`].
    pub const POD_WAITING: Self = Self(1 << 5);
    /// [`Change::Nominated`].
    pub const NOMINATED: Self = Self(1 << 6);
    /// [`Change::NodeUpserted`].
    pub(crate) const NODE_UPSERTED: Self = Self(1 << 7);
    /// [`Change::NodeRemoved`].
    pub(crate) const NODE_REMOVED: Self = Self(1 << 8);
    /// [`Change::NamespaceUpserted`].
    pub const NAMESPACE_UPSERTED: Self = Self(1 << 9);
    /// [`Change::NamespaceRemoved`].
    pub const NAMESPACE_REMOVED: Self = Self(1 << 10);
    /// The changes of objects of other kinds and of what is assumed about them ([`Delta::object`]). A change of nothing
    /// that a reader of the snapshot sees is not among them.
    pub const OBJECTS: Self = Self(1 << 11);
    /// Time: parts of the index end by themselves ([`Index::expire`]). It is not a change.
    pub const TIME: Self = Self(1 << 12);
    /// [`Change::Metrics`].
    pub const METRICS: Self = Self(1 << 13);
    /// The changes that put pods on nodes and take them off.
    pub const PLACEMENTS: Self =
        Self::POD_PLACED.with(Self::POD_PENDING).with(Self::POD_UNPLACED).with(Self::POD_REMOVED);
    /// Changes of nodes.
    pub const NODES: Self = Self::NODE_UPSERTED.with(Self::NODE_REMOVED);
    /// How many kinds there are.
    pub(super) const COUNT: usize = 14;

    /// Both.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the kind with this number is among them.
    pub(super) const fn has(self, number: usize) -> bool {
        self.0 >> number & 1 == 1
    }

    /// The number of the first kind among them.
    pub(super) const fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The number of a change's kind.
    pub(super) fn number_of(change: &Change) -> usize {
        let feed = match change {
            Change::PodPlaced { .. } => Self::POD_PLACED,
            Change::PodAssumed { .. } => Self::POD_ASSUMED,
            Change::PodPending { .. } => Self::POD_PENDING,
            Change::PodUnplaced { .. } => Self::POD_UNPLACED,
            Change::PodRemoved { .. } => Self::POD_REMOVED,
            Change::PodWaiting { .. } => Self::POD_WAITING,
            Change::Nominated { .. } => Self::NOMINATED,
            Change::NodeUpserted { .. } => Self::NODE_UPSERTED,
            Change::NodeRemoved { .. } => Self::NODE_REMOVED,
            Change::NamespaceUpserted { .. } => Self::NAMESPACE_UPSERTED,
            Change::NamespaceRemoved { .. } => Self::NAMESPACE_REMOVED,
            Change::Metrics { .. } => Self::METRICS,
            Change::ObjectSeen { .. }
            | Change::ObjectGone { .. }
            | Change::Assumed { .. }
            | Change::AssumedWritten { .. }
            | Change::Unassumed { .. } => Self::OBJECTS,
        };
        feed.first()
    }
}
