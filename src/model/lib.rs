//! The cluster as data: objects parsed once, interned strings, node data in columns, and the arithmetic on them. This
//! room makes no decisions.
//!
//! Start with [`Snapshot`]: a [`Change`] modifies it, [`NodeInfo`] and [`Columns`] read it.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod symbol;
mod time;
mod duration;
mod quantity;
mod refusal;
mod amounts;
mod resource;
mod labels;
mod mark_key;
mod marks;
pub mod metrics;
mod merge_patch;
mod metadata_change;
mod node_selector;
mod taints;
mod bit_set;
mod node_set;
mod constraints;
mod pod;
mod precondition;
mod node;
mod held;
mod shared;
mod pod_annotations;
mod pod_counts;
mod columns;
mod changes;
mod difference;
mod kubernetes;
mod index;
mod snapshot;
mod node_info;
mod sums;
pub mod gpus;
#[cfg(any(test, feature = "testing"))]
mod describe;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod objects;
mod selector_index;
mod table;
mod devices;
mod requests;
mod server_features;

pub use amounts::{amount, amount_beside, rounded_down};
pub use bit_set::{BitSet, Row, bits};
pub use changes::{
    Change, ChangeLog, ChangeRecord, Delta, Generation, Kinds, Moved, Moves, ObjectDelta, Placement,
};
pub use columns::{Columns, DomainColumn, KeptColumns, ResourceColumn, TaintSet, TaintSetId, Want};
pub use constraints::{
    CLASS_RESOURCE, ClaimSource, Constraint, ConstraintKinds, DeviceContainer, ExtendedClaim, PodAffinity,
    PodAffinityTerm, PodClaim, PodConstraints, PodDevices, PodVolume, SpreadConstraint, SpreadSelector,
    VolumeSource, WeightedTerm, may_be_of_devices,
};
pub use devices::{
    AllocatedDevices, DeviceIndex, DeviceUse, Held, HeldPlaces, Holder, NewestSlices, PoolSlices, PoolUse,
    Revision,
};
pub use duration::DurationError;
pub use index::{Feeds, Index, IndexError, IndexKey};
pub use kubernetes::{KubernetesVersion, VersionRow, VersionRowDef, VersionRowKind, VersionRows};
pub use labels::{
    Annotations, LabelSelector, Labels, Requirement, SelectorError, SelectorOperator, key_problem,
    value_problem,
};
pub use mark_key::{MarkKey, MarkKeys};
pub use marks::PodMarks;
pub use merge_patch::merge;
pub use metadata_change::{AFTER_BIND, MetadataChange, after_bind_mark};
pub use metrics::{
    BadReading, LONGEST_WINDOW, Load, MOST_SAMPLES, Measured, Metrics, POLL_PERIOD, Reading, Usage,
};
pub use node::{Image, Node};
pub use node_info::{NodeInfo, Overlay};
pub use node_selector::{NodeAffinity, NodeSelector, NodeSelectorTerm, PreferredTerm};
pub use node_set::{NodeId, NodeSet, block, blocks_mut, pack, rows_where};
pub use objects::{
    ApiObject, ClaimReference, CsiDriver, CsiNode, CsiStorageCapacity, DaemonSet, Demand, DeviceClass,
    DeviceTaintRule, IntOrPercent, KINDS, Kind, KindName, KindRow, LookedUp, Namespace, Object, ObjectError,
    ObjectKey, ObjectMeta, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSource,
    PodDisruptionBudget, ReplicaSet, ReplicationController, ResourceClaim, ResourceClaimTemplate,
    ResourceSlice, Seen, Service, StatefulSet, StorageClass, TopologyTerm, Typed, Unread, VolumeAttachment,
    downcast, looked_up,
};
pub use pod::{Container, HostPort, OwnerReference, PodInfo, PodKey, QosClass, ScheduledCondition};
pub use pod_annotations::{of_the_creator, pod_annotation_problem};
pub use pod_counts::{CarriedTerm, NodeCounts, PodMatch, TermKind};
pub use precondition::{Filed, PodPrecondition};
pub use quantity::{Quantity, QuantityError, QuantityFormat};
pub use refusal::{kubelet_refusal, lacking_resource};
pub use requests::{is_extended, is_scalar};
pub use resource::Resource;
pub use selector_index::Selects;
pub use server_features::{NEWEST_SERVER, OLDEST_SERVER, SERVER_FEATURES, ServerFeature};
pub use snapshot::{Assumption, Kept, PodEntry, Snapshot, at_or_above};
pub use symbol::Symbol;
pub use taints::{Effect, Taint, Toleration, TolerationOperator, find_untolerated};
pub use time::{Duration, Time};
