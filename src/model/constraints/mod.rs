//! [`PodConstraints`]: placement constraints of a pod beyond resources, ports, tolerations and node
//! affinity. Most pods have none, so [`PodInfo`](super::PodInfo) carries one optional pointer, which the pods of one
//! template share.
//!
//! - `spread.rs`: topology spread constraints
//! - `affinity.rs`: terms of pod affinity and pod anti-affinity
//! - `volumes.rs`: volumes that constrain the placement, and the claims that a pod uses
//! - `devices.rs`: claims of devices, and requests that devices may serve

mod affinity;
mod devices;
mod spread;
mod volumes;

use super::symbol::Symbol;
use std::sync::Arc;

pub use affinity::{PodAffinity, PodAffinityTerm, WeightedTerm};
pub use devices::{
    CLASS_RESOURCE, ClaimSource, DeviceContainer, ExtendedClaim, PodClaim, PodDevices, may_be_of_devices,
};
pub use spread::{SpreadConstraint, SpreadSelector};
pub use volumes::{PodVolume, VolumeSource};

/// Kinds of constraints, as bits. Plugins state which of them they look at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ConstraintKinds(pub u16);

impl ConstraintKinds {
    /// None.
    pub const NONE: Self = Self(0);
    /// `spec.resourceClaims`.
    pub const RESOURCE_CLAIMS: Self = Self(1);
    /// A `persistentVolumeClaim` volume.
    pub const VOLUME_CLAIMS: Self = Self(1 << 1);
    /// An `ephemeral` volume: a claim that is made for the pod.
    pub const EPHEMERAL_VOLUMES: Self = Self(1 << 2);
    /// A disk that conflicts with other users: GCE, AWS, iSCSI, RBD.
    pub const EXCLUSIVE_DISKS: Self = Self(1 << 3);
    /// An inline volume that counts against the limit of its driver: CSI, and in-tree kinds that are
    /// migrated to CSI.
    pub const ATTACHED_VOLUMES: Self = Self(1 << 4);
    /// A topology spread constraint with `DoNotSchedule`.
    pub const HARD_SPREAD: Self = Self(1 << 5);
    /// A topology spread constraint with `ScheduleAnyway`.
    pub const SOFT_SPREAD: Self = Self(1 << 6);
    /// A required term of `podAffinity` or `podAntiAffinity`.
    pub const REQUIRED_POD_AFFINITY: Self = Self(1 << 7);
    /// A preferred term of `podAffinity` or `podAntiAffinity`.
    pub const PREFERRED_POD_AFFINITY: Self = Self(1 << 8);
    /// Something that a node must declare as a feature.
    pub const NODE_FEATURES: Self = Self(1 << 9);

    /// Both.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they share a kind.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One constraint of a pod: its kind, and the words in which messages name it
/// (`podAntiAffinity`, `volume data (persistentVolumeClaim)`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Constraint {
    /// The kind.
    pub kind: ConstraintKinds,
    /// How messages name it.
    pub name: Symbol,
}

/// Placement constraints of a pod beyond resources, ports, tolerations and node affinity.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodConstraints {
    /// The kinds of all constraints.
    pub kinds: ConstraintKinds,
    /// Each constraint once, in the order of the pod's fields.
    pub list: Arc<[Constraint]>,
    /// `spec.topologySpreadConstraints`, in pod order.
    pub spread: Arc<[SpreadConstraint]>,
    /// Terms of `podAffinity` and `podAntiAffinity`.
    pub affinity: Arc<PodAffinity>,
    /// Volumes that constrain the placement, in pod order.
    pub volumes: Box<[PodVolume]>,
    /// Features that a node must declare, ordered by name.
    ///
    /// Source: `component-helpers/nodedeclaredfeatures/features`, `InferForScheduling`.
    pub features: Box<[Symbol]>,
    /// What the pod says of devices. Requests of extended resources alone are of no kind: without a class that serves
    /// them they are amounts as any other.
    pub devices: Option<Box<PodDevices>>,
}
