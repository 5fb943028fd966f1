//! `v1/Pod` with the fields that are read, and its conversion to a [`PodInfo`].

use super::super::kubernetes::{KubernetesVersion, VersionRows};
use super::super::metadata_change::AFTER_BIND;
use super::super::node_selector::NodeAffinity;
use super::super::pod::{self, HostPort, PodInfo, PodKey, QosClass};
use super::super::requests::{PodResources, pod_level};
use super::super::shared::Shared;
use super::super::symbol::Symbol;
use super::super::taints::Toleration;
use super::super::{labels::Labels, resource::Resource};
use super::constraints::{PodAffinity, RestartRule, SpreadConstraint};
use super::metadata::instant;
use super::pod_devices::{ExtendedClaimStatus, ResourceClaim, ResourceClaimStatus};
use super::pod_volumes::Volume;
use super::problems::{Problems, decode_as_far_as_possible};
use super::projection::kept_whole;
use super::read::{ResourceList, or_default};
use super::slim::Slim;
use super::{ObjectError, decode, selectors};
use serde::Deserialize;
use std::sync::Arc;

/// `v1.Pod`, as far as we read it.
pub type Pod = Slim<Spec, Status>;

/// `v1.PodSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `schedulerName`.
    #[serde(deserialize_with = "or_default")]
    pub scheduler_name: Symbol,
    /// `nodeName`.
    #[serde(deserialize_with = "or_default")]
    pub node_name: Symbol,
    /// `priority`.
    pub priority: Option<i32>,
    /// `priorityClassName`.
    #[serde(deserialize_with = "or_default")]
    pub priority_class_name: Symbol,
    /// `preemptionPolicy`.
    #[serde(deserialize_with = "or_default")]
    pub preemption_policy: Symbol,
    /// `schedulingGates`.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_gates: Vec<Named>,
    /// `initContainers`.
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Vec<Container>,
    /// `containers`.
    #[serde(deserialize_with = "or_default")]
    pub containers: Vec<Container>,
    /// `resources`: amounts of the pod as a whole.
    pub resources: Option<Resources>,
    /// `overhead`.
    #[serde(deserialize_with = "or_default")]
    pub overhead: ResourceList,
    /// `hostNetwork`.
    #[serde(deserialize_with = "or_default")]
    pub host_network: bool,
    /// `hostUsers`.
    pub host_users: Option<bool>,
    /// `resourceClaims`.
    #[serde(deserialize_with = "or_default")]
    pub resource_claims: Vec<ResourceClaim>,
    /// `topologySpreadConstraints`.
    #[serde(deserialize_with = "or_default")]
    pub topology_spread_constraints: Vec<SpreadConstraint>,
    /// `volumes`.
    #[serde(deserialize_with = "or_default")]
    pub volumes: Vec<Volume>,
    /// `tolerations`.
    #[serde(deserialize_with = "or_default")]
    pub tolerations: Vec<selectors::Toleration>,
    /// `nodeSelector`.
    #[serde(deserialize_with = "or_default")]
    pub node_selector: Labels,
    /// `affinity`.
    #[serde(deserialize_with = "or_default")]
    pub affinity: Affinity,
}

/// Something that counts by its name alone.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Named {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
}

/// `v1.Container`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `image`.
    #[serde(deserialize_with = "or_default")]
    pub image: Symbol,
    /// `restartPolicy`; only of init containers.
    #[serde(deserialize_with = "or_default")]
    pub restart_policy: Symbol,
    /// `restartPolicyRules`.
    #[serde(deserialize_with = "or_default")]
    pub restart_policy_rules: Vec<RestartRule>,
    /// `resources`.
    #[serde(deserialize_with = "or_default")]
    pub resources: Resources,
    /// `ports`.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<Port>,
}

impl Container {
    /// Whether an init container keeps running.
    pub(crate) fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }
}

/// `v1.ResourceRequirements`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Resources {
    /// `requests`.
    #[serde(deserialize_with = "or_default")]
    pub requests: ResourceList,
    /// `limits`.
    #[serde(deserialize_with = "or_default")]
    pub limits: ResourceList,
}

/// `v1.ContainerPort`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Port {
    /// `containerPort`; only for [`Pod::set_defaults`].
    #[serde(deserialize_with = "or_default")]
    pub container_port: i32,
    /// `hostPort`.
    #[serde(deserialize_with = "or_default")]
    pub host_port: i32,
    /// `protocol`.
    #[serde(deserialize_with = "or_default")]
    pub protocol: Symbol,
    /// `hostIP`.
    #[serde(rename = "hostIP", deserialize_with = "or_default")]
    pub host_ip: Symbol,
}

/// `v1.Affinity`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// `nodeAffinity`.
    #[serde(deserialize_with = "or_default")]
    pub node_affinity: selectors::NodeAffinity,
    /// `podAffinity`.
    #[serde(deserialize_with = "or_default")]
    pub pod_affinity: PodAffinity,
    /// `podAntiAffinity`.
    #[serde(deserialize_with = "or_default")]
    pub pod_anti_affinity: PodAffinity,
}

/// `v1.PodStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `phase`.
    #[serde(deserialize_with = "or_default")]
    pub phase: Symbol,
    /// `reason`.
    #[serde(deserialize_with = "or_default")]
    pub reason: Symbol,
    /// `nominatedNodeName`.
    #[serde(deserialize_with = "or_default")]
    pub nominated_node_name: Symbol,
    /// `startTime`.
    pub start_time: Option<Box<str>>,
    /// `qosClass`.
    #[serde(deserialize_with = "or_default")]
    pub qos_class: Symbol,
    /// `conditions`.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// `containerStatuses`.
    #[serde(deserialize_with = "or_default")]
    pub container_statuses: Vec<ContainerStatus>,
    /// `initContainerStatuses`.
    #[serde(deserialize_with = "or_default")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// `resources`: what the pod as a whole actually has.
    pub resources: Option<Resources>,
    /// `allocatedResources`: what the kubelet has set aside for the pod as a whole.
    #[serde(deserialize_with = "or_default")]
    pub allocated_resources: ResourceList,
    /// `resourceClaimStatuses`.
    #[serde(deserialize_with = "or_default")]
    pub resource_claim_statuses: Vec<ResourceClaimStatus>,
    /// `extendedResourceClaimStatus`.
    pub extended_resource_claim_status: Option<ExtendedClaimStatus>,
}

impl Status {
    /// Statuses of all containers; of several with one name the last counts.
    pub(crate) fn all_containers(&self) -> Vec<&ContainerStatus> {
        self.container_statuses.iter().chain(&self.init_container_statuses).collect()
    }
}

/// `v1.PodCondition`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// `type`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: Symbol,
    /// `status`.
    #[serde(deserialize_with = "or_default")]
    pub status: Symbol,
    /// `reason`.
    #[serde(deserialize_with = "or_default")]
    pub reason: Symbol,
    /// `message`.
    #[serde(deserialize_with = "or_default")]
    pub message: Box<str>,
    /// `lastTransitionTime`.
    pub last_transition_time: Option<Box<str>>,
}

/// `v1.ContainerStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `resources`: what the container actually has.
    pub resources: Option<Resources>,
    /// `allocatedResources`: what the kubelet has set aside.
    #[serde(deserialize_with = "or_default")]
    pub allocated_resources: ResourceList,
}

impl Pod {
    /// Fills in what the API server fills in and scheduling depends on: requests from limits, host ports of pods on the
    /// host network, sources of volumes, and label keys of affinity terms. For pods from files; nothing changes in one
    /// that the API server has seen.
    ///
    /// Source: `pkg/apis/core/v1/defaults.go`, `SetDefaults_Pod`; `pkg/registry/core/pod/strategy.go`,
    /// `mutatePodAffinity`.
    pub fn set_defaults(&mut self) {
        // The API server has merged the keys into the selectors of a pod with a UID. Its labels may have changed since.
        if self.metadata.uid.is_empty() {
            self.spec.merge_label_keys(&self.metadata.labels);
        }
        self.spec.volumes.iter_mut().for_each(Volume::set_defaults);
        let host_network = self.spec.host_network;
        for container in self.spec.containers.iter_mut().chain(&mut self.spec.init_containers) {
            let resources = &mut container.resources;
            resources.requests.fill_from(&resources.limits, |_| true);
            for port in container.ports.iter_mut().filter(|port| host_network && port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
        let mut problems = Problems::default();
        let asked = PodResources::read(self, &mut problems).asked_by_containers();
        let Some(whole) = self.spec.resources.as_mut().filter(|whole| !whole.limits.0.is_empty()) else {
            return;
        };
        if problems.hiding().is_none() {
            whole.requests.fill_from(&asked.to_list(), |name| matches!(name, "cpu" | "memory"));
        }
        whole.requests.fill_from(&whole.limits, pod_level);
    }
}

thread_local! {
    static OWNERS: Shared<Arc<[pod::OwnerReference]>, ()> = const { Shared::new() };
    static CONTAINERS: Shared<Arc<[pod::Container]>, ()> = const { Shared::new() };
    static IMAGES: Shared<Arc<[Symbol]>, ()> = const { Shared::new() };
    static TOLERATIONS: Shared<Arc<[Toleration]>, ()> = const { Shared::new() };
}

fn some(text: &Symbol) -> Option<Symbol> {
    (!text.is_empty()).then(|| text.clone())
}

fn or(text: &Symbol, default: &str) -> Symbol {
    if text.is_empty() { Symbol::new(default) } else { text.clone() }
}

/// An image name as nodes report it: `:latest` when it has neither tag nor digest.
///
/// Source: `plugins/imagelocality`, `normalizedImageName`.
fn normalized_image(name: &Symbol) -> Symbol {
    if name.rfind(':') <= name.rfind('/') { Symbol::from(format!("{name}:latest")) } else { name.clone() }
}

impl Spec {
    /// Init containers, then regular ones, each with whether it is an init container.
    pub(super) fn all_containers(&self) -> impl Iterator<Item = (&Container, bool)> {
        let init = self.init_containers.iter().map(|container| (container, true));
        init.chain(self.containers.iter().map(|container| (container, false)))
    }

    fn host_ports(&self) -> Box<[HostPort]> {
        let mut ports: Vec<_> = self
            .all_containers()
            .filter(|(container, init)| !init || container.is_sidecar())
            .flat_map(|(container, _)| &container.ports)
            .filter(|port| port.host_port > 0)
            .map(|port| HostPort {
                protocol: or(&port.protocol, "TCP"),
                port: port.host_port,
                ip: or(&port.host_ip, "0.0.0.0"),
            })
            .collect();
        ports.sort();
        ports.dedup();
        ports.into()
    }

    fn images(&self) -> Arc<[Symbol]> {
        let containers = self.all_containers().map(|(container, _)| &container.image);
        let volumes = self.volumes.iter().filter_map(|volume| Some(&volume.image.as_ref()?.reference));
        containers.chain(volumes).map(normalized_image).collect()
    }
}

impl PodInfo {
    /// The pod of an object. Fails where the API server would have refused the object; invalid selectors do not
    /// fail, they are kept as terms that match nothing and say why.
    pub fn from_object(object: &Pod) -> Result<Self, ObjectError> {
        let mut problems = Problems::default();
        let pod = Self::read(object, &mut problems)?;
        problems.refuse(pod)
    }

    /// The pod of an object that an API server gave: what cannot be read is noted, and the rest is taken. Fails only
    /// without a name.
    pub fn read(object: &Pod, problems: &mut Problems) -> Result<Self, ObjectError> {
        let Pod { metadata, spec, status } = object;
        let name = metadata.required_name()?;
        let namespace = or(&metadata.namespace, "default");
        let key = match some(&metadata.uid) {
            Some(uid) => PodKey(uid),
            None => PodKey(Symbol::from(format!("{namespace}/{name}"))),
        };
        let resources = PodResources::read(object, problems);
        let taken = resources.taken(VersionRows::default());
        let resized =
            resources.is_resized().then(|| resources.taken(VersionRows::of(KubernetesVersion::V1_36)));
        let without_pods = |mut resource: Resource| {
            resource.pods = 0;
            resource
        };
        let containers =
            spec.all_containers().zip(&resources.containers).map(|((container, init), amounts)| {
                pod::Container {
                    name: container.name.clone(),
                    image: container.image.clone(),
                    requests: without_pods(amounts.spec.requests.to_resource()),
                    limits: without_pods(amounts.spec.limits.to_resource()),
                    init,
                    sidecar: amounts.sidecar,
                }
            });
        let mut tolerations = Vec::with_capacity(spec.tolerations.len());
        for (at, toleration) in spec.tolerations.iter().enumerate() {
            match Toleration::from_object(toleration, &format!("spec.tolerations[{at}]")) {
                Ok(toleration) => tolerations.push(toleration),
                // As upstream: an effect or operator that is not known tolerates nothing.
                Err(problem) => problems.note(problem),
            }
        }
        let scheduled = status.conditions.iter().enumerate().find(|(_, it)| it.kind == "PodScheduled");
        let scheduled_condition = scheduled.map(|(at, it)| {
            let path = format!("status.conditions[{at}].lastTransitionTime");
            let since = problems.or_none(instant(&path, it.last_transition_time.as_deref()));
            Box::new((it.status.clone(), it.reason.clone(), it.message.clone(), since))
        });
        let disrupted = status.conditions.iter().find(|it| it.kind == "DisruptionTarget");
        let is_true = status.conditions.iter().filter(|it| it.status == "True");
        let written = is_true.filter_map(|it| it.kind.strip_prefix(AFTER_BIND)).map(Symbol::new);
        let affinity = &spec.affinity.node_affinity;
        let constraints = spec.constraints(status, &namespace, &metadata.labels);
        Ok(Self {
            key,
            namespace,
            name,
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            generation: metadata.generation,
            labels: metadata.labels.shared(),
            annotations: metadata.annotations.clone(),
            owners: OWNERS.with(|table| table.same(metadata.owners().into())),
            created: problems.or_none(metadata.created()),
            deleted: problems.or_none(metadata.deleted()),
            scheduler_name: or(&spec.scheduler_name, "default-scheduler"),
            node_name: some(&spec.node_name),
            priority: spec.priority.unwrap_or(0),
            priority_class: some(&spec.priority_class_name),
            never_preempts: spec.preemption_policy == "Never",
            scheduling_gates: spec.scheduling_gates.iter().map(|gate| gate.name.clone()).collect(),
            requests: taken.requests.clone(),
            limits: taken.limits.clone(),
            nonzero_milli_cpu: taken.nonzero_milli_cpu,
            nonzero_memory: taken.nonzero_memory,
            score_requests: taken.score_requests.clone(),
            named_requests: taken.named,
            taken_in_1_36: resized.filter(|older| *older != taken).map(Box::new),
            overhead: without_pods(resources.overhead.to_resource()),
            containers: CONTAINERS.with(|table| table.same(containers.collect())),
            images: IMAGES.with(|table| table.same(spec.images())),
            host_ports: spec.host_ports(),
            tolerations: TOLERATIONS.with(|table| table.same(tolerations.into())),
            node_affinity: NodeAffinity::parse(spec.node_selector.shared(), affinity),
            constraints,
            qos: match status.qos_class.as_str() {
                "Guaranteed" => QosClass::Guaranteed,
                "Burstable" => QosClass::Burstable,
                "BestEffort" => QosClass::BestEffort,
                _ => resources.qos(),
            },
            phase: or(&status.phase, "Pending"),
            failure: some(&status.reason).filter(|_| status.phase == "Failed"),
            nominated_node: some(&status.nominated_node_name),
            started: problems.or_none(instant("status.startTime", status.start_time.as_deref())),
            scheduled_condition,
            disruption_target: disrupted
                .is_some_and(|it| it.status == "True" && it.reason == "PreemptionByScheduler"),
            written_after_bind: written.collect(),
            unreadable: problems.hiding().cloned().map(Arc::new),
            raw: None,
        })
    }

    /// The pod of a file: as [`PodInfo::from_value`], with the defaults of the API server.
    pub fn from_file(value: Arc<serde_json::Value>) -> Result<Self, ObjectError> {
        let mut object: Pod = decode(&value)?;
        object.set_defaults();
        Ok(Self { raw: Some(kept_whole(value)), ..Self::from_object(&object)? })
    }

    /// The pod of an object that is kept whole beside it, for policies that read beyond its fields.
    pub fn from_value(value: Arc<serde_json::Value>) -> Result<Self, ObjectError> {
        let pod = Self::from_object(&decode(&value)?)?;
        Ok(Self { raw: Some(kept_whole(value)), ..pod })
    }

    /// The pod of an object that an API server gave, as far as it can be read, kept whole beside it; with the first part
    /// that cannot.
    pub fn seen(value: Arc<serde_json::Value>) -> Result<(Self, Option<ObjectError>), ObjectError> {
        let mut problems = Problems::default();
        let slim = decode_as_far_as_possible(&value, &mut problems)?;
        let pod = Self::read(&slim, &mut problems)?;
        Ok((Self { raw: Some(kept_whole(value)), ..pod }, problems.into_first()))
    }
}
