//! [`PodConstraints`]: placement constraints of a pod beyond resources, ports, tolerations and node
//! affinity: volumes, resource claims, topology spread, pod affinity, node features. Most pods have
//! for none of it, so [`PodInfo`] carries one optional pointer.

use super::labels::{LabelSelector, Labels};
use super::pod::PodInfo;
use super::symbol::Symbol;
use std::sync::Arc;

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
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they share a kind.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One constraint of a pod: its kind, and the words in which messages name it
/// (`podAntiAffinity`, `volume data (persistentVolumeClaim)`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// The kind.
    pub kind: ConstraintKinds,
    /// How messages name it.
    pub name: Symbol,
}

/// A required term of `podAntiAffinity`, parsed. The terms of running pods keep other pods away.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodAffinityTerm {
    /// The node label whose values are the domains.
    pub topology_key: Symbol,
    /// Namespaces by name, ordered.
    pub namespaces: Box<[Symbol]>,
    /// Namespaces by their labels; the empty selector takes all of them.
    pub namespace_selector: Option<LabelSelector>,
    /// The pods; `None` matches no pod.
    pub selector: Option<LabelSelector>,
}

impl PodAffinityTerm {
    /// Whether the term is about `pod`, whose namespace has these labels.
    pub fn matches(&self, pod: &PodInfo, namespace: &Labels) -> bool {
        let in_namespace = self.namespaces.binary_search(&pod.namespace).is_ok()
            || self.namespace_selector.as_ref().is_some_and(|selector| selector.matches(namespace));
        in_namespace && self.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels))
    }
}

/// Placement constraints of a pod beyond resources, ports, tolerations and node affinity.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodConstraints {
    /// The kinds of all constraints.
    pub kinds: ConstraintKinds,
    /// Each constraint once, in the order of the pod's fields.
    pub list: Box<[Constraint]>,
    /// Required terms of `podAntiAffinity`.
    pub anti_affinity: Box<[Arc<PodAffinityTerm>]>,
}

impl PodConstraints {
    /// The constraints of a pod; `None` when it has none.
    pub fn of(list: Vec<Constraint>, anti_affinity: Box<[Arc<PodAffinityTerm>]>) -> Option<Arc<Self>> {
        let mut unique: Vec<Constraint> = Vec::with_capacity(list.len());
        for constraint in list {
            if !unique.contains(&constraint) {
                unique.push(constraint);
            }
        }
        let kinds =
            unique.iter().fold(ConstraintKinds::NONE, |kinds, constraint| kinds.with(constraint.kind));
        (!kinds.is_empty()).then(|| Arc::new(Self { kinds, list: unique.into(), anti_affinity }))
    }
}
