//! The resources that a pod requests: upstream's `PodRequests` and `PodLimits`, the non-zero amounts of scoring, and the quality of
//! service. Amounts are added up exactly and rounded once, at the end. Called where objects become [`super::PodInfo`]
//! and [`super::Node`]; a cycle reads only the results.
//!
//! Source: `component-helpers/resource/helpers.go`, `pkg/scheduler/framework/types.go` (`CalculateResource`),
//! `pkg/scheduler/util/pod_resources.go`, `pkg/apis/core/v1/helper/qos/qos.go`.

use super::kubernetes::{VersionRow, VersionRows};
use super::labels;
use super::objects::ObjectError;
use super::objects::pod::{Container, ContainerStatus, Pod};
use super::objects::problems::Problems;
use super::objects::read::{Amount, ResourceList};
use super::pod::QosClass;
use super::quantity::Quantity;
use super::resource::Resource;
use super::symbol::Symbol;
use smallvec::SmallVec;

/// What a container without a CPU request counts in scores, in millicores.
pub(super) const DEFAULT_MILLI_CPU: i64 = 100;
/// What a container without a memory request counts in scores, in bytes.
pub(super) const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

/// Exact amounts by resource name; a name may be absent, which is not the same as zero. Order is that of first sight.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Amounts(SmallVec<[(Symbol, Quantity); 3]>);

impl Amounts {
    /// The amount of `name`.
    pub fn get(&self, name: &str) -> Option<Quantity> {
        self.0.iter().find(|(n, _)| n.as_str() == name).map(|(_, amount)| *amount)
    }

    fn entry(&mut self, name: &Symbol, then: impl FnOnce(Option<Quantity>) -> Quantity) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, amount)) => *amount = then(Some(*amount)),
            None => self.0.push((name.clone(), then(None))),
        }
    }

    fn set(&mut self, name: &Symbol, amount: Quantity) {
        self.entry(name, |_| amount);
    }

    fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            self.entry(name, |now| now.map_or(*amount, |now| now + *amount));
        }
    }

    fn max(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            self.entry(name, |now| now.map_or(*amount, |now| now.max(*amount)));
        }
    }

    /// The amounts as an object writes them.
    pub(crate) fn to_list(&self) -> ResourceList {
        ResourceList(self.0.iter().map(|(name, amount)| (name.clone(), Amount::Good(*amount))).collect())
    }

    /// Whole amounts: CPU in millicores, the rest in units, each rounded up. Names that are neither native nor
    /// extended resources are left out, as upstream does.
    pub(crate) fn to_resource(&self) -> Resource {
        let mut resource = Resource::default();
        for (name, amount) in &self.0 {
            match name.as_str() {
                "cpu" => resource.milli_cpu = amount.milli_value(),
                "memory" => resource.memory = amount.value(),
                "ephemeral-storage" => resource.ephemeral_storage = amount.value(),
                "pods" => resource.pods = amount.value(),
                other if is_scalar(other) => resource.set_scalar(name.clone(), amount.value()),
                _ => {}
            }
        }
        resource
    }
}

/// Whether a resource other than the native ones counts: extended resources, `hugepages-…`, `attachable-volumes-…`
/// and names under `kubernetes.io/`.
///
/// Source: `pkg/scheduler/util/utils.go`, `IsScalarResourceName`.
pub fn is_scalar(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended(name)
}

/// Whether `name` is an extended resource, such as `nvidia.com/gpu`.
pub fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && labels::key_problem(&format!("requests.{name}")).is_none()
}

/// Which amounts a list has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AmountsOf {
    /// What is taken: one that cannot be read counts as all there is.
    Requests,
    /// Bounds on use: nothing is decided by one that cannot be read.
    Limits,
    /// What a node has: one that cannot be read counts as nothing.
    Node,
}

/// The amounts at `path`. What is beyond the range of 64 bits is kept and counts as its end.
pub(super) fn read(list: &ResourceList, path: &str, of: AmountsOf, problems: &mut Problems) -> Amounts {
    let mut amounts = Amounts::default();
    for (name, amount) in &list.0 {
        let problem = match amount {
            Amount::Good(quantity) if quantity.sign() >= 0 => {
                amounts.set(name, *quantity);
                continue;
            }
            Amount::Good(quantity) => (quantity.to_string(), "must be greater than or equal to 0".to_owned()),
            Amount::Bad(text, error) => (text.to_string(), error.to_string()),
        };
        let problem = ObjectError::new(format!("{path}.{name}"), problem.0, problem.1);
        match of {
            AmountsOf::Limits => problems.note(problem),
            AmountsOf::Node => problems.note_hiding(problem),
            AmountsOf::Requests => {
                problems.note_hiding(problem);
                amounts.set(name, Quantity::from_value(i64::MAX));
            }
        }
    }
    amounts
}

/// What a pod takes of the node that it is on, as one version of Kubernetes counts it. See the fields of
/// [`super::PodInfo`] of the same names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// `requests`.
    pub requests: Resource,
    /// `nonzero_milli_cpu`.
    pub nonzero_milli_cpu: i64,
    /// `nonzero_memory`.
    pub nonzero_memory: i64,
    /// `score_requests`.
    pub score_requests: Resource,
    /// `limits`.
    pub limits: Resource,
    /// `named_requests`.
    pub named: u8,
}

/// Requests and limits of one place.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Resources {
    /// `requests`.
    pub requests: Amounts,
    /// `limits`.
    pub limits: Amounts,
}

/// One container, checked, with what its status says.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ContainerResources {
    /// The requests of the spec.
    pub spec: Resources,
    /// What the kubelet has set, when the status says so.
    pub actual: Option<Resources>,
    /// The requests that the kubelet allocated, when the status says so.
    pub allocated: Option<Amounts>,
    /// An init container.
    pub init: bool,
    /// An init container that keeps running.
    pub sidecar: bool,
}

/// All amounts of a pod, checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct PodResources {
    /// Init containers first, in pod order, then regular ones.
    pub containers: Vec<ContainerResources>,
    /// `spec.resources`.
    pub pod: Option<Resources>,
    /// `status.resources` and `status.allocatedResources`, when the former is there.
    pub pod_status: Option<(Resources, Amounts)>,
    /// `spec.overhead`.
    pub overhead: Amounts,
    /// The kubelet reported the requested resize as infeasible.
    pub resize_infeasible: bool,
    /// It cannot be read what the pod takes.
    pub takes_all: bool,
}

/// Whether amounts of the whole pod may be given for `name`.
pub(super) fn pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

impl PodResources {
    /// Takes the amounts out of a pod object. If one of those that it takes cannot be read, the pod as a whole takes all
    /// CPU, memory and ephemeral storage that there is.
    pub(super) fn read(pod: &Pod, problems: &mut Problems) -> Self {
        let (spec, status) = (&pod.spec, &pod.status);
        let statuses = status.all_containers();
        let mut containers = Vec::with_capacity(spec.init_containers.len() + spec.containers.len());
        for (at, container) in spec.init_containers.iter().enumerate() {
            let path = format!("spec.initContainers[{at}]");
            containers.push(read_container(container, &path, true, &statuses, problems));
        }
        for (at, container) in spec.containers.iter().enumerate() {
            let path = format!("spec.containers[{at}]");
            containers.push(read_container(container, &path, false, &statuses, problems));
        }
        let pod_status = status.resources.as_ref().map(|resources| {
            let path = "status.allocatedResources";
            let actual = Resources::read(resources, "status.resources", problems);
            (actual, read(&status.allocated_resources, path, AmountsOf::Requests, problems))
        });
        let pending = status.conditions.iter().find(|condition| condition.kind == "PodResizePending");
        let overhead = read(&spec.overhead, "spec.overhead", AmountsOf::Requests, problems);
        let pod = spec.resources.as_ref().map(|whole| Resources::read(whole, "spec.resources", problems));
        Self {
            containers,
            pod,
            pod_status,
            overhead,
            resize_infeasible: pending.is_some_and(|condition| condition.reason == "Infeasible"),
            takes_all: problems.hiding().is_some(),
        }
    }

    /// Whether the pod as a whole names amounts that count.
    fn has_pod_requests(&self) -> bool {
        self.pod.as_ref().is_some_and(|pod| pod.requests.0.iter().any(|(name, _)| pod_level(name)))
    }

    /// What the pod takes, as a version counts it.
    pub(super) fn taken(&self, rows: VersionRows) -> Taken {
        let without_pods = |amounts: Amounts| Resource { pods: 0, ..amounts.to_resource() };
        let (nonzero_milli_cpu, nonzero_memory) = self.nonzero(rows);
        let requests = self.requests(rows);
        let names = ["cpu", "memory", "ephemeral-storage"].into_iter().enumerate();
        let named =
            names.filter(|(_, name)| requests.get(name).is_some()).fold(0, |all, (at, _)| all | 1 << at);
        Taken {
            named,
            limits: without_pods(self.limits(rows)),
            requests: without_pods(requests),
            nonzero_milli_cpu,
            nonzero_memory,
            score_requests: without_pods(self.score(rows)),
        }
    }

    /// Whether versions may count it differently: a status says what the pod has.
    pub(super) fn is_resized(&self) -> bool {
        let has_status = |of: &ContainerResources| of.actual.is_some() || of.allocated.is_some();
        self.resize_infeasible || self.pod_status.is_some() || self.containers.iter().any(has_status)
    }

    /// The requests of the pod, with overhead.
    fn requests(&self, rows: VersionRows) -> Amounts {
        self.requests_with(&Amounts::default(), rows)
    }

    /// The requests of the containers, without pod-level resources, overhead and status.
    pub(super) fn asked_by_containers(&self) -> Amounts {
        self.combine(|container| container.spec.requests.clone())
    }

    /// CPU (millicores) and memory (bytes) as nodes add them up for scores. A default counts for each container that
    /// names none, unless the pod as a whole or any container gives the resource and the pod has amounts of its own.
    fn nonzero(&self, rows: VersionRows) -> (i64, i64) {
        let asked = self.has_pod_requests().then(|| self.requests(rows));
        let missing = |name| asked.as_ref().is_none_or(|asked| asked.get(name).is_none());
        self.scored(missing("cpu"), missing("memory"), rows)
    }

    /// What counts of the pod that is being scored by NodeResourcesFit: the defaults of CPU and memory count for each
    /// container that names none, and amounts of the pod as a whole do not count, as upstream's scorer is made
    /// without `enablePodLevelResources` (the recorded decisions show it).
    fn score(&self, rows: VersionRows) -> Amounts {
        let mut requests = self.containers_with(&Self::defaults(true, true), rows);
        requests.add(&self.overhead);
        requests
    }

    fn scored(&self, cpu: bool, memory: bool, rows: VersionRows) -> (i64, i64) {
        let requests = self.requests_with(&Self::defaults(cpu, memory), rows);
        let of = |name| requests.get(name).unwrap_or_default();
        (of("cpu").milli_value(), of("memory").value())
    }

    fn defaults(cpu: bool, memory: bool) -> Amounts {
        let mut defaults = Amounts::default();
        if cpu {
            defaults.set(&Symbol::new("cpu"), Quantity::from_milli(DEFAULT_MILLI_CPU));
        }
        if memory {
            defaults.set(&Symbol::new("memory"), Quantity::from_value(DEFAULT_MEMORY));
        }
        defaults
    }

    fn containers_with(&self, defaults: &Amounts, rows: VersionRows) -> Amounts {
        let filled = |asked: Option<&Amounts>| {
            let mut asked = asked.cloned().unwrap_or_default();
            for (name, amount) in &defaults.0 {
                asked.entry(name, |now| now.unwrap_or(*amount));
            }
            asked
        };
        if rows.has(VersionRow::ResizedSums) {
            self.maximum_of_sums(filled)
        } else {
            self.sum_of_maxima(filled)
        }
    }

    /// The maximum of what each container asks for and has, summed over the containers: 1.36.
    fn sum_of_maxima(&self, filled: impl Fn(Option<&Amounts>) -> Amounts) -> Amounts {
        self.combine(|container| match &container.actual {
            Some(actual) if container.sidecar || !container.init => {
                let allocated = container.allocated.clone().unwrap_or_default();
                let spec = &container.spec.requests;
                filled(Some(&self.effective_requests(spec, &actual.requests, &allocated)))
            }
            _ => filled(Some(&container.spec.requests)),
        })
    }

    /// What the containers ask for, what was allocated to them and what they have, each summed, and the maximum of the
    /// three. A whole pod whose status has both amounts has these in place of the last two sums.
    fn maximum_of_sums(&self, filled: impl Fn(Option<&Amounts>) -> Amounts) -> Amounts {
        let spec = self.combine(|container| filled(Some(&container.spec.requests)));
        let has_status = |of: &ContainerResources| of.actual.is_some() || of.allocated.is_some();
        let whole = self
            .pod_status
            .as_ref()
            .filter(|(actual, allocated)| !actual.requests.0.is_empty() && !allocated.0.is_empty());
        if whole.is_none() && !self.resize_infeasible && !self.containers.iter().any(has_status) {
            return spec;
        }
        let (allocated, actual) = match whole {
            Some((actual, allocated)) => (allocated.clone(), actual.requests.clone()),
            None => {
                let asked =
                    |of: &'_ ContainerResources| (!self.resize_infeasible).then(|| of.spec.requests.clone());
                let allocated = |of: &ContainerResources| of.allocated.clone().or_else(|| asked(of));
                let actual = |of: &ContainerResources| {
                    let actual = of.actual.as_ref().map(|actual| &actual.requests);
                    actual.filter(|actual| !actual.0.is_empty()).cloned().or_else(|| allocated(of))
                };
                let sum = |of: &dyn Fn(&ContainerResources) -> Option<Amounts>| {
                    self.combine(|container| filled(of(container).as_ref()))
                };
                (sum(&allocated), sum(&actual))
            }
        };
        self.effective_requests(&spec, &actual, &allocated)
    }

    fn requests_with(&self, defaults: &Amounts, rows: VersionRows) -> Amounts {
        let mut requests = self.containers_with(defaults, rows);
        if let (true, Some(pod)) = (self.has_pod_requests(), &self.pod) {
            let resized = self.pod_status.as_ref().map(|(actual, allocated)| {
                self.effective_requests(&pod.requests, &actual.requests, allocated)
            });
            let effective = resized.as_ref().unwrap_or(&pod.requests);
            // 1.36 takes the names of the spec alone.
            let named = if rows.has(VersionRow::ResizedSums) { effective } else { &pod.requests };
            for (name, _) in named.0.iter().filter(|(name, _)| pod_level(name)) {
                requests.set(name, effective.get(name).unwrap_or_default());
            }
        }
        requests.add(&self.overhead);
        if self.takes_all {
            for name in ["cpu", "memory", "ephemeral-storage"] {
                requests.set(&Symbol::new(name), Quantity::from_value(i64::MAX));
            }
        }
        requests
    }

    /// The limits of the containers, resized as [`PodResources::maximum_of_sums`] says.
    fn limits_of_sums(&self) -> Amounts {
        let spec = self.combine(|container| container.spec.limits.clone());
        let whole = self.pod_status.as_ref().filter(|(actual, _)| !actual.limits.0.is_empty());
        let actual = match whole {
            Some((actual, _)) => actual.limits.clone(),
            None => self.combine(|container| {
                let actual = container.actual.as_ref().map(|actual| &actual.limits);
                let asked = (!self.resize_infeasible).then_some(&container.spec.limits);
                actual.filter(|actual| !actual.0.is_empty()).or(asked).cloned().unwrap_or_default()
            }),
        };
        self.effective_limits(&spec, &actual)
    }

    /// The limits of each container, resized as [`PodResources::sum_of_maxima`] says.
    fn limits_of_maxima(&self) -> Amounts {
        self.combine(|container| match &container.actual {
            Some(actual) if container.sidecar || !container.init => {
                self.effective_limits(&container.spec.limits, &actual.limits)
            }
            _ => container.spec.limits.clone(),
        })
    }

    /// What the pod may use, with overhead for what is limited.
    fn limits(&self, rows: VersionRows) -> Amounts {
        let newer = rows.has(VersionRow::ResizedSums);
        let mut limits = if newer { self.limits_of_sums() } else { self.limits_of_maxima() };
        if let Some(pod) = self.pod.as_ref().filter(|pod| {
            let names = pod.requests.0.iter().chain(&pod.limits.0);
            newer && names.into_iter().any(|(name, _)| pod_level(name))
        }) {
            let resized = self.pod_status.as_ref();
            let resized = resized.map(|(actual, _)| self.effective_limits(&pod.limits, &actual.limits));
            let effective = resized.as_ref().unwrap_or(&pod.limits);
            for (name, amount) in effective.0.iter().filter(|(name, _)| pod_level(name)) {
                limits.set(name, *amount);
            }
        }
        if let Some(pod) = self.pod.as_ref().filter(|_| !newer) {
            // A status without limits tells nothing about a resize that can never be.
            let told = |actual: &Resources| !self.resize_infeasible || !actual.limits.0.is_empty();
            let resized = self
                .pod_status
                .as_ref()
                .filter(|(actual, _)| told(actual))
                .map(|(actual, _)| self.effective_limits(&pod.limits, &actual.limits));
            for (name, amount) in pod.limits.0.iter().filter(|(name, _)| pod_level(name)) {
                let amount =
                    resized.as_ref().map_or(*amount, |resized| resized.get(name).unwrap_or_default());
                limits.set(name, amount);
            }
        }
        for (name, amount) in &self.overhead.0 {
            if limits.get(name).is_some_and(|limit| !limit.is_zero()) {
                limits.entry(name, |now| now.unwrap_or_default() + *amount);
            }
        }
        limits
    }

    fn effective_requests(&self, spec: &Amounts, actual: &Amounts, allocated: &Amounts) -> Amounts {
        let mut most = if self.resize_infeasible { Amounts::default() } else { spec.clone() };
        most.max(actual);
        most.max(allocated);
        most
    }

    fn effective_limits(&self, spec: &Amounts, actual: &Amounts) -> Amounts {
        let mut most = if self.resize_infeasible { Amounts::default() } else { spec.clone() };
        most.max(actual);
        most
    }

    /// Regular containers and sidecars run together; an init container runs beside the sidecars before it.
    fn combine(&self, of: impl Fn(&ContainerResources) -> Amounts) -> Amounts {
        let (mut together, mut sidecars, mut starting) =
            (Amounts::default(), Amounts::default(), Amounts::default());
        for container in &self.containers {
            let mut amounts = of(container);
            if container.sidecar {
                sidecars.add(&amounts);
                starting.max(&sidecars);
            }
            if container.sidecar || !container.init {
                together.add(&amounts);
            } else {
                amounts.add(&sidecars);
                starting.max(&amounts);
            }
        }
        together.max(&starting);
        together
    }

    /// The quality of service that the kubelet derives from requests and limits.
    pub(super) fn qos(&self) -> QosClass {
        let places: Vec<&Resources> = match &self.pod {
            Some(pod) => vec![pod],
            None => self.containers.iter().map(|container| &container.spec).collect(),
        };
        let names = ["cpu", "memory"];
        let given = |amounts: &Amounts, name: &str| amounts.get(name).filter(|amount| amount.sign() > 0);
        let sum = |of: fn(&Resources) -> &Amounts, name: &str| {
            places.iter().filter_map(|place| given(of(place), name)).reduce(|sum, amount| sum + amount)
        };
        let requests = names.map(|name| sum(|place| &place.requests, name));
        let limits = names.map(|name| sum(|place| &place.limits, name));
        if requests.iter().chain(&limits).all(Option::is_none) {
            return QosClass::BestEffort;
        }
        // Without any limit at pod level nothing is missing from the limits, but then the sums differ.
        let limited = |place: &&Resources| names.iter().all(|name| given(&place.limits, name).is_some());
        if places.iter().all(limited) && requests == limits {
            QosClass::Guaranteed
        } else {
            QosClass::Burstable
        }
    }
}

impl Resources {
    fn read(resources: &super::objects::pod::Resources, path: &str, problems: &mut Problems) -> Self {
        let requests = &resources.requests;
        Self {
            requests: read(requests, &format!("{path}.requests"), AmountsOf::Requests, problems),
            limits: read(&resources.limits, &format!("{path}.limits"), AmountsOf::Limits, problems),
        }
    }
}

fn read_container(
    container: &Container,
    path: &str,
    init: bool,
    statuses: &[&ContainerStatus],
    problems: &mut Problems,
) -> ContainerResources {
    let status = statuses.iter().rev().find(|status| status.name == container.name);
    let at = format!("status.containerStatuses[{}]", container.name);
    let actual = status.and_then(|status| status.resources.as_ref());
    let actual = actual.map(|actual| Resources::read(actual, &format!("{at}.resources"), problems));
    let allocated = status.map(|status| &status.allocated_resources).filter(|list| !list.0.is_empty());
    let allocated =
        allocated.map(|list| read(list, &format!("{at}.allocatedResources"), AmountsOf::Requests, problems));
    let spec = Resources::read(&container.resources, &format!("{path}.resources"), problems);
    ContainerResources { spec, actual, allocated, init, sidecar: init && container.is_sidecar() }
}
