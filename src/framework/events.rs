//! Cluster events, and the hints that say whether one may help a refused pod.
//!
//! Source: `pkg/scheduler/framework/events.go`, `staging/src/k8s.io/kube-scheduler/framework/types.go`.

use bayplan_model::{ApiObject, Kind, Kinds, Namespace, Node, PodInfo, VersionRow, VersionRows};
use std::borrow::Cow;
use std::sync::Arc;

/// The resource of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EventResource {
    /// A pod with a node, and the refused pod itself; only in registrations.
    Pod,
    /// A pod with a node.
    AssignedPod,
    /// A pod about which this scheduler decided something that no watch has shown: it was assumed, it begins or stops waiting
    /// at Permit, its binding was accepted, its nomination moved. Upstream has no such events; policies may wait for them.
    /// One that is forgotten is an [`AssignedPod`](Self::AssignedPod) that ends.
    DecidedPod,
    /// A pod with a node whose binding takes a while: it waits at Permit, or for volumes. No watch shows it meanwhile, and
    /// it may wait for the very pods that it helps. Upstream has no such events; in-tree plugins that read which pods are on
    /// nodes wait for them.
    WaitingPod,
    /// A pod without a node other than the refused one. Upstream sends such events to no other pod; plugins that read
    /// pods without a node, such as members of groups, register for them.
    UnschedulablePod,
    /// The refused pod itself.
    TargetPod,
    /// A node.
    Node,
    /// A namespace; no upstream plugin registers for it, policies may.
    Namespace,
    /// A PersistentVolume.
    PersistentVolume,
    /// A PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// A StorageClass.
    StorageClass,
    /// A CSINode.
    CsiNode,
    /// A CSIDriver.
    CsiDriver,
    /// A CSIStorageCapacity.
    CsiStorageCapacity,
    /// A VolumeAttachment.
    VolumeAttachment,
    /// A DaemonSet; no upstream plugin registers for it. Policies refuse no pod of one that was seen.
    DaemonSet,
    /// A ResourceClaim.
    ResourceClaim,
    /// A ResourceSlice, or a DeviceTaintRule: upstream lays the taints of rules on slices, and sees slices that change.
    ResourceSlice,
    /// A DeviceClass.
    DeviceClass,
    /// An object of a kind that policies look up.
    LookedUp,
    /// A value that an index keeps and a plugin wrote, or whose time is over: a memo of a policy, a sum of a ledger.
    Memo,
    /// What nodes use: the metrics API was polled.
    NodeMetrics,
    /// Everything: wildcard events, and plugins that register no events.
    WildCard,
}

/// What happened, as bits; a registration may name several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ActionType(pub u32);

impl EventResource {
    /// The word in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::AssignedPod => "AssignedPod",
            Self::UnschedulablePod => "UnscheduledPod",
            Self::TargetPod => "TargetPod",
            Self::DecidedPod => "DecidedPod",
            Self::WaitingPod => "WaitingPod",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::StorageClass => "storage.k8s.io/StorageClass",
            Self::CsiNode => "storage.k8s.io/CSINode",
            Self::CsiDriver => "storage.k8s.io/CSIDriver",
            Self::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            Self::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            Self::DaemonSet => "apps/DaemonSet",
            Self::ResourceClaim => "resource.k8s.io/ResourceClaim",
            Self::ResourceSlice => "resource.k8s.io/ResourceSlice",
            Self::DeviceClass => "resource.k8s.io/DeviceClass",
            Self::LookedUp => "LookedUpObject",
            Self::Memo => "Memo",
            Self::NodeMetrics => "metrics.k8s.io/NodeMetrics",
            Self::WildCard => "*",
        }
    }

    /// The resource of the events of a kind. `None`: upstream has no events for it. Pods have several.
    pub fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::Node => Some(Self::Node),
            Kind::Namespace => Some(Self::Namespace),
            Kind::PersistentVolume => Some(Self::PersistentVolume),
            Kind::PersistentVolumeClaim => Some(Self::PersistentVolumeClaim),
            Kind::StorageClass => Some(Self::StorageClass),
            Kind::CsiNode => Some(Self::CsiNode),
            Kind::CsiDriver => Some(Self::CsiDriver),
            Kind::CsiStorageCapacity => Some(Self::CsiStorageCapacity),
            Kind::VolumeAttachment => Some(Self::VolumeAttachment),
            Kind::DaemonSet => Some(Self::DaemonSet),
            Kind::ResourceClaim => Some(Self::ResourceClaim),
            Kind::ResourceSlice | Kind::DeviceTaintRule => Some(Self::ResourceSlice),
            Kind::DeviceClass => Some(Self::DeviceClass),
            Kind::LookedUp(_) => Some(Self::LookedUp),
            Kind::Pod
            | Kind::PodDisruptionBudget
            | Kind::Service
            | Kind::ReplicationController
            | Kind::ReplicaSet
            | Kind::StatefulSet => None,
        }
    }

    /// Whether a registration for this resource takes an event of `event`.
    pub fn takes(self, event: Self) -> bool {
        match self {
            Self::WildCard => !matches!(event, Self::UnschedulablePod | Self::DecidedPod | Self::WaitingPod),
            Self::Pod => matches!(event, Self::Pod | Self::AssignedPod | Self::TargetPod),
            _ => self == event,
        }
    }
}

impl ActionType {
    /// The word in labels; several bits give that of the lowest.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 15] = [
            "Add",
            "Delete",
            "UpdateNodeAllocatable",
            "UpdateNodeLabel",
            "UpdateNodeTaint",
            "UpdateNodeCondition",
            "UpdateNodeAnnotation",
            "UpdateNodeDeclaredFeature",
            "UpdatePodLabel",
            "UpdatePodScaleDown",
            "UpdatePodToleration",
            "UpdatePodSchedulingGatesEliminated",
            "UpdatePodGeneratedResourceClaim",
            "Update",
            "UpdatePodScaleUp",
        ];
        NAMES.get(self.0.trailing_zeros() as usize).copied().unwrap_or("All")
    }

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
    /// A pod requests more of a resource.
    pub(crate) const UPDATE_POD_SCALE_UP: Self = Self(1 << 14);
    /// Any update.
    pub const UPDATE: Self = Self(((1 << 15) - 1) & !0b11);
    /// Anything.
    pub const ALL: Self = Self((1 << 15) - 1);

    /// The actions on a node that tell of a change of these kinds.
    pub fn on_node(kinds: Kinds) -> Self {
        let rows = NODE_ACTIONS.iter().filter(|(kind, _)| kinds.intersects(*kind));
        rows.fold(Self::default(), |all, (_, actions)| all.with(*actions))
    }

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
    /// An object of another kind.
    Object {
        /// Before.
        old: Option<Arc<dyn ApiObject>>,
        /// Now.
        new: Option<Arc<dyn ApiObject>>,
    },
    /// What moved in indexes: the numbers of [`Moved::Group`](bayplan_model::Moved::Group), in their order.
    Moved(Arc<[u64]>),
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

impl ClusterEvent {
    /// An event of an object.
    pub fn of(resource: EventResource, action: ActionType, objects: EventObjects) -> Self {
        Self { resource, action, custom_label: None, objects }
    }

    /// An event of the scheduler itself that every plugin takes, without asking for hints.
    pub fn wildcard(label: &'static str, objects: EventObjects) -> Self {
        let resource = EventResource::WildCard;
        Self { resource, action: ActionType::ALL, custom_label: Some(label), objects }
    }

    /// Whether hints are bypassed.
    pub fn is_wildcard(&self) -> bool {
        self.resource == EventResource::WildCard
    }

    /// The label in logs and metrics: `NodeUpdateNodeTaint`, `AssignedPodDelete`, `UnschedulableTimeout`.
    pub fn label(&self) -> Cow<'static, str> {
        match self.custom_label {
            Some(label) => Cow::Borrowed(label),
            None => Cow::Owned(format!("{}{}", self.resource.name(), self.action.name())),
        }
    }

    /// What an update of a pod, its arrival or its end means: one event for each respect in which it changed, in
    /// upstream's order. Whether it is an assigned pod follows from the newest version of it; the events of a pod
    /// without a node are for that pod ([`ClusterEvent::for_others`] makes those for the others).
    ///
    /// Source: `pkg/scheduler/framework/events.go`, `PodSchedulingPropertiesChange`.
    pub fn of_pod(old: Option<&Arc<PodInfo>>, new: Option<&Arc<PodInfo>>, version: VersionRows) -> Vec<Self> {
        let Some(newest) = new.or(old) else { return Vec::new() };
        let resource = match newest.node_name {
            Some(_) => EventResource::AssignedPod,
            None => EventResource::TargetPod,
        };
        let changed = Self::actions_of_pod(old.map(|pod| &**pod), new.map(|pod| &**pod), version);
        let older = resource == EventResource::TargetPod && !version.has(VersionRow::EventLabels);
        let event = |action| {
            let objects = EventObjects::Pod { old: old.cloned(), new: new.cloned() };
            let custom_label = if older { label_in_1_36(action) } else { None };
            Self { custom_label, ..Self::of(resource, action, objects) }
        };
        POD_ACTIONS.into_iter().filter(|action| changed.intersects(*action)).map(event).collect()
    }

    /// The respects in which a pod changed.
    pub fn actions_of_pod(old: Option<&PodInfo>, new: Option<&PodInfo>, version: VersionRows) -> ActionType {
        let (old, new) = match (old, new) {
            (None, None) => return ActionType::default(),
            (None, Some(_)) => return ActionType::ADD,
            (Some(_), None) => return ActionType::DELETE,
            (Some(old), Some(new)) => (old, new),
        };
        let mut actions = ActionType::default();
        let mut note = |changed: bool, action| {
            if changed {
                actions = actions.with(action);
            }
        };
        note(old.labels != new.labels, ActionType::UPDATE_POD_LABEL);
        note(scaled_down(old, new), ActionType::UPDATE_POD_SCALE_DOWN);
        if version.has(VersionRow::EventLabels) {
            note(scaled_down(new, old), ActionType::UPDATE_POD_SCALE_UP);
        }
        note(
            !old.scheduling_gates.is_empty() && new.scheduling_gates.is_empty(),
            ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        );
        note(old.tolerations.len() != new.tolerations.len(), ActionType::UPDATE_POD_TOLERATION);
        note(
            old.generated_claims() != new.generated_claims(),
            ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        );
        if actions == ActionType::default() { ActionType::UPDATE_OTHER } else { actions }
    }

    /// The event of a pod without a node as other pods receive it.
    pub fn for_others(self) -> Self {
        match self.resource {
            EventResource::TargetPod => Self { resource: EventResource::UnschedulablePod, ..self },
            _ => self,
        }
    }

    /// What an update of a node, its arrival or its end means; nothing when it changed in no respect that plugins
    /// can wait for.
    ///
    /// Source: `pkg/scheduler/framework/events.go`, `NodeSchedulingPropertiesChange`.
    pub fn of_node(old: Option<&Arc<Node>>, new: Option<&Arc<Node>>) -> Vec<Self> {
        let mut actions = Vec::new();
        match (old, new) {
            (None, None) => {}
            (None, Some(_)) => actions.push(ActionType::ADD),
            (Some(_), None) => actions.push(ActionType::DELETE),
            (Some(old), Some(new)) => {
                let mut note = |changed: bool, action| {
                    if changed {
                        actions.push(action);
                    }
                };
                note(old.unschedulable && !new.unschedulable, ActionType::UPDATE_NODE_TAINT);
                let allocatable = (&old.allocatable, &old.allocatable_written)
                    != (&new.allocatable, &new.allocatable_written);
                note(allocatable, ActionType::UPDATE_NODE_ALLOCATABLE);
                note(old.labels != new.labels, ActionType::UPDATE_NODE_LABEL);
                note(old.taints != new.taints, ActionType::UPDATE_NODE_TAINT);
                note(old.conditions != new.conditions, ActionType::UPDATE_NODE_CONDITION);
                note(old.annotations != new.annotations, ActionType::UPDATE_NODE_ANNOTATION);
                let features = old.declared_features != new.declared_features;
                note(features, ActionType::UPDATE_NODE_DECLARED_FEATURE);
            }
        }
        let event = |action| {
            let objects = EventObjects::Node { old: old.cloned(), new: new.cloned() };
            Self::of(EventResource::Node, action, objects)
        };
        actions.into_iter().map(event).collect()
    }

    /// The event for other changes of a node: images, capacity, a cordon, fields that are only in the whole object.
    /// Upstream has no such event; policies may wait for it.
    pub fn of_rest_of_node(old: Option<&Arc<Node>>, new: &Arc<Node>) -> Option<Self> {
        let old = old?;
        let changed = old.images != new.images
            || old.capacity != new.capacity
            || !old.unschedulable && new.unschedulable
            || old.raw != new.raw;
        let objects = EventObjects::Node { old: Some(old.clone()), new: Some(new.clone()) };
        changed.then(|| Self::of(EventResource::Node, ActionType::UPDATE_OTHER, objects))
    }

    /// Values that indexes keep moved: these numbers, in their order.
    pub fn of_values(moved: Vec<u64>) -> Self {
        Self::of(EventResource::Memo, ActionType::UPDATE_OTHER, EventObjects::Moved(moved.into()))
    }

    /// The events of a namespace change. Upstream has no such events; policies may wait for them.
    pub fn of_namespace(old: Option<&Arc<Namespace>>, new: Option<&Arc<Namespace>>) -> Vec<Self> {
        let action = match (old, new) {
            (None, None) => return Vec::new(),
            (None, Some(_)) => ActionType::ADD,
            (Some(_), None) => ActionType::DELETE,
            (Some(_), Some(_)) => ActionType::UPDATE_OTHER,
        };
        let objects = EventObjects::Namespace { old: old.cloned(), new: new.cloned() };
        vec![Self::of(EventResource::Namespace, action, objects)]
    }
}

impl ClusterEvent {
    /// What the arrival, an update or the end of an object of another kind means: one event with the action `Add`,
    /// `Update` or `Delete`. `None` when nothing changed that is read, and for kinds that upstream has no events for. A
    /// DeviceTaintRule changes the slices that it taints, whatever happens to it.
    ///
    /// Source: `pkg/scheduler/eventhandlers.go`, `buildEvtResHandler`;
    /// `k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go`, `syncSlice`.
    pub fn of_object(old: Option<&Arc<dyn ApiObject>>, new: Option<&Arc<dyn ApiObject>>) -> Option<Self> {
        let kind = new.or(old)?.kind();
        let resource = EventResource::of(&kind)?;
        let action = match (old, new) {
            (None, _) | (_, None) if kind == Kind::DeviceTaintRule => ActionType::UPDATE_OTHER,
            (None, _) => ActionType::ADD,
            (_, None) => ActionType::DELETE,
            (Some(old), Some(new)) if new.differs(old.as_ref()) => ActionType::UPDATE_OTHER,
            _ => return None,
        };
        let objects = EventObjects::Object { old: old.cloned(), new: new.cloned() };
        Some(Self::of(resource, action, objects))
    }
}

/// The actions that tell of each kind of change of a node.
const NODE_ACTIONS: [(Kinds, ActionType); 9] = [
    (Kinds::LABELS, ActionType::UPDATE_NODE_LABEL),
    (Kinds::TAINTS, ActionType::UPDATE_NODE_TAINT),
    (Kinds::CONDITIONS, ActionType::UPDATE_NODE_CONDITION),
    (Kinds::ANNOTATIONS, ActionType::UPDATE_NODE_ANNOTATION),
    (Kinds::FEATURES, ActionType::UPDATE_NODE_DECLARED_FEATURE),
    (Kinds::UNSCHEDULABLE, ActionType::UPDATE_NODE_TAINT.with(ActionType::UPDATE_OTHER)),
    (Kinds::ALLOCATABLE, ActionType::UPDATE_NODE_ALLOCATABLE.with(ActionType::UPDATE_OTHER)),
    (Kinds::IMAGES, ActionType::UPDATE),
    (Kinds::OTHER, ActionType::UPDATE),
];

/// What may happen to a pod, in upstream's order.
const POD_ACTIONS: [ActionType; 9] = [
    ActionType::ADD,
    ActionType::DELETE,
    ActionType::UPDATE_POD_LABEL,
    ActionType::UPDATE_POD_SCALE_DOWN,
    ActionType::UPDATE_POD_SCALE_UP,
    ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    ActionType::UPDATE_POD_TOLERATION,
    ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
    ActionType::UPDATE_OTHER,
];

/// The label in 1.36 of something that happened to a pod without a node, which is its name in 1.37 for the rest.
fn label_in_1_36(action: ActionType) -> Option<&'static str> {
    Some(match action {
        ActionType::ADD => "UnschedulablePodAdd",
        ActionType::DELETE => "UnschedulablePodDelete",
        ActionType::UPDATE_POD_LABEL => "UnschedulablePodUpdatePodLabel",
        ActionType::UPDATE_POD_SCALE_DOWN => "UnschedulablePodUpdatePodScaleDown",
        ActionType::UPDATE_POD_TOLERATION => "UnschedulablePodUpdatePodToleration",
        ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED => {
            "UnschedulablePodUpdatePodSchedulingGatesEliminated"
        }
        ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM => "UnschedulablePodUpdatePodGeneratedResourceClaim",
        ActionType::UPDATE_OTHER => "UnschedulablePodUpdate",
        _ => return None,
    })
}

/// Whether the request for any resource shrank or was removed.
fn scaled_down(old: &PodInfo, new: &PodInfo) -> bool {
    if old.named_requests & !new.named_requests != 0 {
        return true;
    }
    let (old, new) = (&old.requests, &new.requests);
    let gone = |(name, amount): &(bayplan_model::Symbol, i64)| {
        *amount > new.scalar(name) || !new.scalars.iter().any(|(other, _)| other == name)
    };
    old.milli_cpu > new.milli_cpu
        || old.memory > new.memory
        || old.ephemeral_storage > new.ephemeral_storage
        || old.scalars.iter().any(gone)
}

/// An event that a plugin registered for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventRegistration {
    /// Of what.
    pub resource: EventResource,
    /// Which actions.
    pub actions: ActionType,
}

impl EventRegistration {
    /// A registration for pods as 1.37 has it: what happens to pods with a node, and what happens to the waiting pod
    /// itself. Other registrations are one part.
    pub(super) fn parts(self) -> [Option<Self>; 2] {
        if self.resource != EventResource::Pod {
            return [Some(self), None];
        }
        let of = |resource, may: ActionType| {
            let actions = ActionType(self.actions.0 & may.0);
            (actions.0 != 0).then_some(Self { resource, actions })
        };
        let both = ActionType::UPDATE_POD_LABEL.with(ActionType::UPDATE_POD_SCALE_DOWN);
        let ends = ActionType::ADD.with(ActionType::DELETE);
        // Who waits for any update waits for those of the pod itself.
        let any_update = self.actions.intersects(ActionType::UPDATE_OTHER);
        let placed = if any_update { ends } else { both.with(ends) };
        let others = ActionType(ActionType::ALL.0 & !ActionType::ADD.0 & !ActionType::DELETE.0);
        [of(EventResource::AssignedPod, placed), of(EventResource::TargetPod, others)]
    }
}

/// Whether an event may help a refused pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueingHint {
    /// It cannot.
    Skip,
    /// It may: the pod is tried again.
    Queue,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::testing::pod;
    use bayplan_model::{KubernetesVersion, PodInfo};
    use serde_json::{Value, json};

    #[test]
    fn claims_that_were_made_for_a_pod_are_an_event_of_their_own() {
        let rows = VersionRows::of(KubernetesVersion::V1_36);
        let of = |path: &str, value: Value| pod("p").set(path, value).build();
        let actions = |old: &PodInfo, new: &PodInfo| ClusterEvent::actions_of_pod(Some(old), Some(new), rows);
        let old = pod("p").build();
        let made = ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM;
        let statuses = json!([{"name": "a", "resourceClaimName": "x"}, {"name": "b"}]);
        let one = of("status.resourceClaimStatuses", statuses);
        let turned = json!([{"name": "b"}, {"name": "a", "resourceClaimName": "x"}]);
        let turned = of("status.resourceClaimStatuses", turned);
        let extended = of("status.extendedResourceClaimStatus", json!({"resourceClaimName": "y"}));
        assert_eq!(actions(&old, &one), made);
        assert_eq!(actions(&one, &turned), made, "the order counts");
        assert_eq!(actions(&old, &extended), made);
        let claims = json!([{"name": "a", "resourceClaimName": "x"}]);
        assert_eq!(actions(&old, &of("spec.resourceClaims", claims)), ActionType::UPDATE_OTHER);
        let [event] = &*ClusterEvent::of_pod(Some(&old), Some(&one), rows) else { panic!("one event") };
        assert_eq!(event.custom_label, Some("UnschedulablePodUpdatePodGeneratedResourceClaim"));
    }
}
