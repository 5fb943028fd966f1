//! [`PodInfo`]: a pod, parsed once from the slim object of `objects/pod.rs`. Every plugin reads it.

use super::constraints::{
    ConstraintKinds, ExtendedClaim, PodConstraints, PodDevices, PodVolume, VolumeSource,
};
use super::kubernetes::{VersionRow, VersionRows};
use super::labels::{Annotations, Labels};
use super::node_selector::NodeAffinity;
use super::objects::ObjectError;
use super::requests::Taken;
use super::resource::Resource;
use super::symbol::Symbol;
use super::taints::Toleration;
use super::time::Time;
use std::sync::Arc;

/// The identity of a pod: its UID. Pods from files without one get `namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PodKey(pub Symbol);

/// A host port that a container requests.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HostPort {
    /// `TCP` (default), `UDP` or `SCTP`.
    pub protocol: Symbol,
    /// The port number.
    pub port: i32,
    /// The address; `0.0.0.0` when none is given.
    pub ip: Symbol,
}

/// Quality of service, as the kubelet computes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum QosClass {
    /// No requests and no limits.
    BestEffort,
    /// Anything between.
    Burstable,
    /// Requests equal limits for CPU and memory in every container.
    Guaranteed,
}

impl QosClass {
    /// The name, as `status.qosClass` has it.
    pub fn name(self) -> &'static str {
        match self {
            QosClass::BestEffort => "BestEffort",
            QosClass::Burstable => "Burstable",
            QosClass::Guaranteed => "Guaranteed",
        }
    }
}

/// A container of a pod, as far as rules look at it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Container {
    /// The name.
    pub name: Symbol,
    /// The image as written.
    pub image: Symbol,
    /// What it requests.
    pub requests: Resource,
    /// What it may use.
    pub limits: Resource,
    /// An init container.
    pub init: bool,
    /// An init container that keeps running (`restartPolicy: Always`).
    pub sidecar: bool,
}

/// An owner of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnerReference {
    /// `group/version`.
    pub api_version: Symbol,
    /// The kind.
    pub kind: Symbol,
    /// The name.
    pub name: Symbol,
    /// The UID.
    pub uid: Symbol,
    /// Whether it is the managing controller.
    pub controller: bool,
}

/// Status, reason, message and last transition of the condition `PodScheduled`.
pub type ScheduledCondition = (Symbol, Symbol, Box<str>, Option<Time>);

/// A pod, parsed once and shared. Parts that pods of one template have in common are one copy for all of them, so that a
/// copy of a pod costs little.
#[derive(Clone, PartialEq, Debug)]
pub struct PodInfo {
    /// Identity.
    pub key: PodKey,
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// UID; empty for pods from files that have none.
    pub uid: Symbol,
    /// `metadata.resourceVersion`; empty when unknown.
    pub resource_version: Box<str>,
    /// `metadata.generation`; 0 when unknown.
    pub generation: i64,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Annotations,
    /// Owners.
    pub owners: Arc<[OwnerReference]>,
    /// Creation time.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`: the pod is terminating.
    pub deleted: Option<Time>,
    /// `spec.schedulerName`; `default-scheduler` when not given.
    pub scheduler_name: Symbol,
    /// `spec.nodeName`; `None` while unbound.
    pub node_name: Option<Symbol>,
    /// `spec.priority`; 0 when not given.
    pub priority: i32,
    /// `spec.priorityClassName`.
    pub priority_class: Option<Symbol>,
    /// `spec.preemptionPolicy` is `Never`.
    pub never_preempts: bool,
    /// Names of `spec.schedulingGates`, in pod order.
    pub scheduling_gates: Box<[Symbol]>,
    /// Effective request: upstream's `PodRequests`, with overhead (`component-helpers/resource/helpers.go`).
    pub requests: Resource,
    /// Which of CPU, memory and ephemeral storage are requested, as bits, be it nothing of it.
    pub named_requests: u8,
    /// Effective limits, summed as `requests` are.
    pub limits: Resource,
    /// Request of CPU (millicores) with upstream's default for containers that name none; what a placed pod adds to its node in scores.
    pub nonzero_milli_cpu: i64,
    /// Request of memory (bytes) with upstream's default for containers that name none; what a placed pod adds to its node in scores.
    pub nonzero_memory: i64,
    /// What this pod counts while NodeResourcesFit scores nodes for it: defaults for containers that name no CPU or
    /// memory, and no amounts of the pod as a whole.
    pub score_requests: Resource,
    /// What the pod takes as 1.36 counts it, where that differs: the fields above are those of 1.37.
    pub taken_in_1_36: Option<Box<Taken>>,
    /// `spec.overhead`.
    pub overhead: Resource,
    /// Containers: init containers first, in pod order, then regular ones.
    pub containers: Arc<[Container]>,
    /// Images of containers and image volumes, normalised (`:latest` added), in pod order, for image locality.
    pub images: Arc<[Symbol]>,
    /// Host ports of regular containers and sidecars, ordered, without duplicates.
    pub host_ports: Box<[HostPort]>,
    /// Tolerations in pod order.
    pub tolerations: Arc<[Toleration]>,
    /// Node selector and node affinity.
    pub node_affinity: NodeAffinity,
    /// Volumes, resource claims, topology spread, pod affinity; `None` for a pod with none of it.
    pub constraints: Option<Arc<PodConstraints>>,
    /// Quality of service.
    pub qos: QosClass,
    /// `status.phase`.
    pub phase: Symbol,
    /// `status.reason` of a pod that failed: why a kubelet ended or refused it.
    pub failure: Option<Symbol>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<Symbol>,
    /// `status.startTime`.
    pub started: Option<Time>,
    /// The condition `PodScheduled`: status, reason, message, last transition.
    pub scheduled_condition: Option<Box<ScheduledCondition>>,
    /// The condition `DisruptionTarget` is `True` with the reason `PreemptionByScheduler`: a scheduler evicts the pod to
    /// make room for another.
    pub disruption_target: bool,
    /// The plugins that have written what they had to write after the binding, by the conditions that say so. Who may write
    /// a pod but not its status makes none.
    pub written_after_bind: Box<[Symbol]>,
    /// What could not be read and hides what the pod takes. Such a pod is not placed, and the node that it is on counts
    /// as full.
    pub unreadable: Option<Arc<ObjectError>>,
    /// The object as the API has it, for policies that read `spec`, `status` or `metadata` beyond the fields above.
    /// `None` when no loaded policy does.
    pub raw: Option<Arc<serde_json::Value>>,
}

impl PodInfo {
    /// The pod as it counts where these rows decide.
    pub fn counted(self: Arc<Self>, rows: VersionRows) -> Arc<Self> {
        match &self.taken_in_1_36 {
            Some(taken) if !rows.has(VersionRow::ResizedSums) => Arc::new(Self {
                requests: taken.requests.clone(),
                limits: taken.limits.clone(),
                nonzero_milli_cpu: taken.nonzero_milli_cpu,
                nonzero_memory: taken.nonzero_memory,
                score_requests: taken.score_requests.clone(),
                ..Self::clone(&self)
            }),
            _ => self,
        }
    }

    /// The kinds of constraints that the pod has.
    #[inline]
    pub fn constraint_kinds(&self) -> ConstraintKinds {
        self.constraints.as_ref().map_or(ConstraintKinds::NONE, |constraints| constraints.kinds)
    }

    /// The claims that the pod uses, in pod order: the volume, the name of the claim in the pod's namespace, and whether
    /// it is the claim of a generic ephemeral volume, which must have the pod as its controller.
    pub fn claims(&self) -> impl Iterator<Item = (&PodVolume, Symbol, bool)> {
        let volumes = self.constraints.iter().flat_map(|constraints| &constraints.volumes);
        volumes.filter_map(|volume| match &volume.source {
            VolumeSource::Claim { name, .. } => Some((volume, name.clone(), false)),
            VolumeSource::Ephemeral => {
                Some((volume, Symbol::from(format!("{}-{}", self.name, volume.name)), true))
            }
            _ => None,
        })
    }

    /// What the pod says of devices.
    #[inline]
    pub fn devices(&self) -> Option<&PodDevices> {
        self.constraints.as_ref()?.devices.as_deref()
    }

    /// The claims of devices that its status says were made for it: those from templates, in the order written, and the one
    /// of its extended resources.
    pub fn generated_claims(&self) -> (&[(Symbol, Option<Symbol>)], Option<&ExtendedClaim>) {
        let devices = self.devices();
        let extended = devices.and_then(|devices| devices.extended_claim.as_deref());
        (devices.map_or(&[], |devices| &devices.claim_statuses), extended)
    }

    /// Whether the pod has ended (phase `Succeeded` or `Failed`).
    #[inline]
    pub fn is_finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether a node owns the pod: the mirror of a static pod, which no scheduler placed.
    pub fn is_of_its_node(&self) -> bool {
        self.owners.iter().any(|owner| owner.kind == "Node" && owner.controller)
    }

    /// Whether the pod is being deleted.
    #[inline]
    pub fn is_terminating(&self) -> bool {
        self.deleted.is_some()
    }

    /// `namespace/name`, as logs and events write it.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
