//! Reads the facts: the workloads first, so that the caller can say what their flags mean, then everything else. Lists are
//! bounded where a cluster may have many objects. Nothing is written.

use super::facts::{
    Facts, Installation, NamedLease, Part, Refused, Removal, Reviewed, ServerClock, Unread, Why, Workload,
    failed_at, is_static, node_of, scheduler_of,
};
use super::port;
use crate::api::client::{Api, ApiError, Request, Target};
use crate::inputs::informers;
use crate::inputs::list::{ListError, WantedPolicies, reach};
use crate::inputs::watch::{self, Collection, encode};
use crate::policies::config_maps;
use crate::policies::listing::{self, PolicyObject};
use crate::process::{mark_key, published};
use crate::rights::needed::needed;
use crate::rights::review::{self, Who, lacks};
use crate::rights::right::Right;
use bayplan_lang::analysis::cost::Size;
use bayplan_model::objects::{self, projection::Projection};
use bayplan_model::{AFTER_BIND, Kind, Node, kubelet_refusal};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodSpec};
use k8s_openapi::api::events::v1::Event;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The label of the manifests and of the chart.
const OURS: &str = "app.kubernetes.io/name=bayplan";
/// How many pods and events are read where there may be many.
const SOME: usize = 500;
/// How many nodes of refused pods are checked.
const NODES: usize = 3;
/// How long ago a refusal still counts.
pub(super) const RECENT: SignedDuration = SignedDuration::from_hours(6);

/// A connection to a cluster.
pub struct Session {
    runtime: Runtime,
    api: Api,
    user: String,
}

/// What has our label.
#[derive(Debug)]
pub struct Labelled {
    deployments: Part<Vec<Deployment>>,
    pods: Part<Vec<Pod>>,
    /// What starts an installation.
    pub workloads: Vec<Workload>,
}

/// What the caller wants to know beside the installations.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Further namespaces of policies.
    pub policy_namespaces: Vec<String>,
    /// The user whose rights are reviewed, instead of the account of each installation.
    pub account: Option<String>,
    /// The address of a secure port.
    pub port: Option<String>,
    /// Whether the installation is to be removed.
    pub before_removal: bool,
}

impl Session {
    /// Connects to a cluster.
    pub fn open(target: &Target) -> Result<Self, ListError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
        let (api, user) = runtime.block_on(async {
            let api = Api::new(target).await?;
            reach(&api).await?;
            let user = review::user(&api).await.unwrap_or_default();
            Ok::<_, ListError>((api, user))
        })?;
        Ok(Self { runtime, api, user })
    }

    /// The Deployments and pods with our label, in one namespace or in all.
    pub fn labelled(&self, namespace: Option<&str>) -> Labelled {
        self.runtime.block_on(async {
            let selectors = format!("labelSelector={}", encode(OURS));
            let deployments =
                list::<Deployment>(&self.api, "apps", "deployments", namespace, &selectors).await;
            let pods = list::<Pod>(&self.api, "", "pods", namespace, &selectors).await;
            let mut workloads = Vec::new();
            for of in deployments.iter().flatten() {
                let spec = of.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
                let name = format!("deploy/{}", of.metadata.name.as_deref().unwrap_or_default());
                workloads.extend(self.workload(of.metadata.namespace.as_deref(), name, spec).await);
            }
            for pod in pods.iter().flatten().filter(|pod| !is_of_deployment(pod)) {
                let name = format!("pod/{}", pod.metadata.name.as_deref().unwrap_or_default());
                let found = self.workload(pod.metadata.namespace.as_deref(), name, pod.spec.as_ref()).await;
                // Static pods of several hosts are one installation.
                let known =
                    |of: &Workload| workloads.iter().any(|known: &Workload| known.arguments == of.arguments);
                workloads.extend(found.filter(|of| !known(of)));
            }
            Labelled { deployments, pods, workloads }
        })
    }

    /// What a pod template starts, if it starts a scheduler or an extender.
    async fn workload(
        &self,
        namespace: Option<&str>,
        name: String,
        spec: Option<&PodSpec>,
    ) -> Option<Workload> {
        let (namespace, spec) = (namespace?.to_owned(), spec?);
        let starts = |arguments: &Vec<String>| {
            matches!(arguments.first().map(String::as_str), Some("run" | "extender"))
        };
        let container = spec.containers.iter().find(|of| of.args.as_ref().is_some_and(starts))?;
        let arguments = container.args.clone()?;
        let account = spec.service_account_name.as_deref().unwrap_or("default");
        let user = match arguments.iter().any(|argument| argument.starts_with("--kubeconfig")) {
            true => String::new(),
            false => format!("system:serviceaccount:{namespace}:{account}"),
        };
        let configuration = match config_file(&arguments, container, spec) {
            Some((map, key)) => {
                let path = config_maps::path_of(&format!("{namespace}/{map}"));
                let map = self.api.call::<ConfigMap>(Request::get(path)).await.ok();
                map.and_then(|map| map.data?.get(&key).cloned())
            }
            None => None,
        };
        Some(Workload { namespace, name, user, arguments, configuration })
    }

    /// Reads everything else.
    pub fn facts(
        &self,
        labelled: Labelled,
        installations: Vec<Installation>,
        questions: &Questions,
    ) -> Facts {
        self.runtime.block_on(self.read(labelled, installations, questions))
    }

    async fn read(
        &self,
        labelled: Labelled,
        installations: Vec<Installation>,
        questions: &Questions,
    ) -> Facts {
        let api = &self.api;
        let mut namespaces = questions.policy_namespaces.clone();
        namespaces.extend(installations.iter().flat_map(|of| of.wanted.policies.clone()));
        namespaces.sort();
        namespaces.dedup();
        let published =
            published::all(api, &namespaces).await.map_err(|(of, error)| unread(&of, error, "list"));
        let policies = self.policies(&namespaces).await;
        let mut names: BTreeSet<String> = installations.iter().flat_map(|of| of.names.clone()).collect();
        names.extend(
            published.iter().flatten().flat_map(|of| of.names().map(str::to_owned).collect::<Vec<_>>()),
        );
        let (clock, version) = self.version().await;
        let removal = match questions.before_removal {
            true => Some(self.removal(&installations, &names, &namespaces).await),
            false => None,
        };
        let ports = match &questions.port {
            Some(address) => vec![port::at(address).await],
            None => {
                let pods =
                    labelled.pods.iter().flatten().filter(|pod| pod.metadata.deletion_timestamp.is_none());
                join_all(pods.map(|pod| port::of_pod(api, pod))).await
            }
        };
        let kube_schedulers = format!("labelSelector={}", encode("component=kube-scheduler"));
        Facts {
            user: self.user.clone(),
            version,
            clock,
            deployments: labelled.deployments,
            own_pods: labelled.pods,
            kube_schedulers: list(api, "", "pods", Some("kube-system"), &kube_schedulers).await,
            leases: self.leases(&installations).await,
            published,
            policies,
            rights: self.rights(&installations, questions.account.as_deref()).await,
            unbound: list(api, "", "pods", None, &fields(&["spec.nodeName=".to_owned()])).await,
            foreign: self.foreign(&names).await,
            refused: self.refused(&names).await,
            nodes: self.nodes(&installations).await,
            scheduled: self.scheduled(&names).await,
            autoscalers: self.autoscalers().await,
            ports,
            removal,
            installations,
            // After everything, so that leases that were read are not from the future.
            now: Timestamp::now(),
        }
    }

    async fn version(&self) -> (Option<ServerClock>, Part<String>) {
        let before = Timestamp::now();
        let answer = self.api.page("/version").await;
        let after = Timestamp::now();
        let failed = |why: String| Unread { resource: "the version".to_owned(), why: Why::Failed(why) };
        let page = match answer {
            Ok(page) => page,
            Err(error) => return (None, Err(failed(error.to_string()))),
        };
        let clock = page.date.map(|server| ServerClock { server, before, after });
        let version = serde_json::from_str::<Value>(&page.text).unwrap_or_default();
        let version = version["gitVersion"].as_str().map(str::to_owned);
        (clock, version.ok_or_else(|| failed(format!("the API server answered {}", page.code))))
    }

    async fn policies(&self, namespaces: &[String]) -> Part<Vec<PolicyObject>> {
        let wanted = WantedPolicies::In(namespaces.to_vec());
        match listing::read(&self.api, &wanted, Size::default(), &BTreeSet::new()).await {
            Ok(found) => Ok(found.objects),
            Err((of, error)) => Err(unread(&of, error, "list")),
        }
    }

    /// That of each installation, and that of kube-scheduler.
    async fn leases(&self, installations: &[Installation]) -> Part<Vec<NamedLease>> {
        let mut names: BTreeSet<(String, String)> =
            installations.iter().filter_map(|of| of.wanted.lease.clone()).collect();
        names.insert(("kube-system".to_owned(), "kube-scheduler".to_owned()));
        let mut leases = Vec::new();
        for (namespace, name) in names {
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
            let lease = match self.api.call(Request::get(path)).await {
                Ok(lease) => Some(lease),
                Err(error) if error.code() == Some(404) => None,
                Err(error) => {
                    let right =
                        Right::new(&["get"], "coordination.k8s.io", "leases").in_namespace(&namespace);
                    return Err(why(right, error));
                }
            };
            leases.push(NamedLease { namespace, name, lease });
        }
        Ok(leases)
    }

    async fn rights(&self, installations: &[Installation], account: Option<&str>) -> Part<Vec<Reviewed>> {
        let mut questions = Vec::new();
        for of in installations {
            let user = account.unwrap_or(&of.workload.user).to_owned();
            if !user.is_empty() {
                questions.extend(needed(&of.wanted).into_iter().map(|needed| (user.clone(), needed)));
            }
        }
        let answers = questions.into_iter().map(|(user, needed)| async move {
            let who = if user == self.user { Who::Ourselves } else { Who::User(user.clone()) };
            let lacks = lacks(&self.api, &needed.right, &who).await?;
            Ok(lacks.map(|lacks| Reviewed { user, needed, lacks }))
        });
        let answers: Result<Vec<_>, ApiError> = join_all(answers).await.into_iter().collect();
        let group = "authorization.k8s.io";
        let right = || Right::new(&["create"], group, "subjectaccessreviews");
        answers.map(|all| all.into_iter().flatten().collect()).map_err(|error| why(right(), error))
    }

    /// Some pods on nodes that are of no scheduler of these names.
    async fn foreign(&self, names: &BTreeSet<String>) -> Part<(Vec<Pod>, bool)> {
        let mut selectors = vec!["spec.nodeName!=".to_owned()];
        selectors.extend(names.iter().map(|name| format!("spec.schedulerName!={name}")));
        first_page(&self.api, "/api/v1/pods", "pods", "", &fields(&selectors)).await
    }

    /// Pods that kubelets refused, and some of the pods that others placed on the nodes that refused most.
    async fn refused(&self, names: &BTreeSet<String>) -> Part<Refused> {
        let failed = fields(&["status.phase=Failed".to_owned()]);
        let (mut pods, more) = first_page::<Pod>(&self.api, "/api/v1/pods", "pods", "", &failed).await?;
        pods.retain(is_refused);
        let since = Timestamp::now() - RECENT;
        let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| failed_at(pod).is_some_and(|at| at >= since)) {
            *nodes.entry(node_of(pod)).or_default() += 1;
        }
        let mut nodes: Vec<(&str, usize)> = nodes.into_iter().collect();
        nodes.sort_by_key(|(node, refused)| (Reverse(*refused), *node));
        let mut beside = Vec::new();
        for (node, _) in nodes.into_iter().take(NODES) {
            let mut selectors = vec![format!("spec.nodeName={node}"), "status.phase!=Failed".to_owned()];
            selectors.push("status.phase!=Succeeded".to_owned());
            let (found, _) =
                first_page::<Pod>(&self.api, "/api/v1/pods", "pods", "", &fields(&selectors)).await?;
            beside
                .extend(found.into_iter().filter(|pod| is_static(pod) || !names.contains(scheduler_of(pod))));
        }
        Ok(Refused { pods, more, beside })
    }

    /// The nodes, if an installation keeps to some of them.
    async fn nodes(&self, installations: &[Installation]) -> Part<Vec<Arc<Node>>> {
        if installations.iter().all(|of| of.nodes.is_none()) {
            return Ok(Vec::new());
        }
        let collection = informers::collection(&Kind::Node);
        match watch::list::<objects::node::Node>(&self.api, &collection).await {
            Ok((nodes, _)) => {
                Ok(nodes.iter().filter_map(|node| Node::from_object(node).ok()).map(Arc::new).collect())
            }
            Err(error) => Err(unread(&collection, error, "list")),
        }
    }

    /// Some events about pods that schedulers of these names bound.
    async fn scheduled(&self, names: &BTreeSet<String>) -> Part<Vec<Event>> {
        let mut found = Vec::new();
        for name in names {
            let selectors = fields(&["reason=Scheduled".to_owned(), format!("reportingController={name}")]);
            let path = "/apis/events.k8s.io/v1/events";
            found.extend(first_page(&self.api, path, "events", "events.k8s.io", &selectors).await?.0);
        }
        Ok(found)
    }

    /// Signs of node autoscalers.
    async fn autoscalers(&self) -> Part<Vec<String>> {
        let mut signs = Vec::new();
        for (path, sign) in [
            (
                "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status",
                "cluster-autoscaler writes the ConfigMap kube-system/cluster-autoscaler-status",
            ),
            ("/apis/karpenter.sh", "the API server has the kinds of Karpenter"),
        ] {
            match self.api.call::<Value>(Request::get(path)).await {
                Ok(_) => signs.push(sign.to_owned()),
                Err(error) if error.code() == Some(404) => {}
                Err(error) => {
                    let right = Right::new(&["get"], "", "configmaps").in_namespace("kube-system");
                    return Err(why(right.of("cluster-autoscaler-status"), error));
                }
            }
        }
        Ok(signs)
    }

    async fn removal(
        &self,
        installations: &[Installation],
        names: &BTreeSet<String>,
        namespaces: &[String],
    ) -> Removal {
        let api = &self.api;
        let mut marked = Vec::new();
        let mut failed = None;
        for name in names {
            let selectors = fields(&["spec.nodeName!=".to_owned(), format!("spec.schedulerName={name}")]);
            match first_page::<Pod>(api, "/api/v1/pods", "pods", "", &selectors).await {
                Ok((pods, _)) => marked.extend(pods.into_iter().filter(is_marked)),
                Err(unread) => failed = Some(unread),
            }
        }
        let ours = format!("labelSelector={}", encode(OURS));
        let mut admission = Ok(Vec::new());
        let group = "admissionregistration.k8s.io";
        for plural in ["validatingadmissionpolicies", "validatingadmissionpolicybindings"] {
            match list::<Value>(api, group, plural, None, &ours).await {
                Ok(objects) => {
                    let name = |of: &Value| Some(format!("{plural}/{}", of["metadata"]["name"].as_str()?));
                    if let Ok(all) = &mut admission {
                        all.extend(objects.iter().filter_map(name));
                    }
                }
                Err(unread) => admission = Err(unread),
            }
        }
        let required = format!("labelSelector={}", encode("bayplan.dev/scheduler=required"));
        Removal {
            makers: self.makers().await,
            marked: failed.map_or(Ok(marked), Err),
            required: list(api, "", "namespaces", None, &required).await,
            stays: stays(installations, namespaces),
            admission,
        }
    }

    /// Objects that make pods, with the scheduler name of their template.
    async fn makers(&self) -> Part<Vec<(String, String)>> {
        let mut found = Vec::new();
        for (group, plural, kind) in [
            ("apps", "deployments", "deployment"),
            ("apps", "statefulsets", "statefulset"),
            ("apps", "daemonsets", "daemonset"),
            ("batch", "cronjobs", "cronjob"),
        ] {
            for of in list::<Value>(&self.api, group, plural, None, "").await? {
                let template =
                    if kind == "cronjob" { "/spec/jobTemplate/spec/template" } else { "/spec/template" };
                let name = of.pointer(&format!("{template}/spec/schedulerName")).and_then(Value::as_str);
                let text = |path: &str| of.pointer(path).and_then(Value::as_str).unwrap_or_default();
                let object = format!("{kind} {}/{}", text("/metadata/namespace"), text("/metadata/name"));
                found.extend(name.map(|name| (object, name.to_owned())));
            }
        }
        Ok(found)
    }
}

/// What stays when the objects of the installation are deleted, as kubectl deletes it.
fn stays(installations: &[Installation], namespaces: &[String]) -> Vec<String> {
    let mut stays = Vec::new();
    for of in installations {
        if let Some((namespace, name)) =
            of.wanted.lease.as_ref().filter(|(namespace, _)| namespace != "kube-system")
        {
            stays.push(format!("lease/{name} --namespace {namespace}"));
        }
        if !of.wanted.extends {
            stays.push(format!("secret/{} --namespace {}", mark_key::SECRET, of.wanted.namespace));
        }
    }
    for namespace in namespaces {
        stays.push(format!("configmaps --namespace {namespace} --selector bayplan.dev/configuration"));
        stays.push(format!("configmaps --namespace {namespace} --selector bayplan.dev/history"));
        stays.push(format!("configmap/{} --namespace {namespace}", config_maps::OVERRIDES));
    }
    stays
}

/// Whether a kubelet refused a pod that failed.
fn is_refused(pod: &Pod) -> bool {
    let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
    !node_of(pod).is_empty() && reason.is_some_and(|reason| kubelet_refusal(reason).is_some())
}

/// Whether `after bind` of a policy has something to write for a pod.
fn is_marked(pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.keys().any(|key| key.starts_with(AFTER_BIND)))
}

fn is_of_deployment(pod: &Pod) -> bool {
    pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "ReplicaSet")
}

/// The ConfigMap and its key that the file of `--config` is.
fn config_file(
    arguments: &[String],
    container: &k8s_openapi::api::core::v1::Container,
    spec: &PodSpec,
) -> Option<(String, String)> {
    let mut rest = arguments.iter();
    let path = rest.find_map(|argument| argument.strip_prefix("--config="))?;
    let mounts = container.volume_mounts.iter().flatten();
    let mount = mounts.into_iter().find(|mount| path.starts_with(&format!("{}/", mount.mount_path)))?;
    let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name)?;
    let key = path.strip_prefix(&format!("{}/", mount.mount_path))?;
    Some((volume.config_map.as_ref()?.name.clone(), key.to_owned()))
}

/// The query of a field selector.
fn fields(of: &[String]) -> String {
    format!("fieldSelector={}", encode(&of.join(",")))
}

fn root(group: &str) -> String {
    if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") }
}

/// All objects of a collection, but those that cannot be read.
async fn list<T: DeserializeOwned>(
    api: &Api,
    group: &str,
    plural: &str,
    namespace: Option<&str>,
    selectors: &str,
) -> Part<Vec<T>> {
    let path = match namespace {
        Some(namespace) => format!("{}/namespaces/{namespace}/{plural}", root(group)),
        None => format!("{}/{plural}", root(group)),
    };
    let collection = Collection {
        path,
        resource: plural.to_owned().into(),
        group: group.to_owned().into(),
        selectors: selectors.to_owned(),
        keep: Projection::everything(),
        looked_up: None,
    };
    match watch::list::<Value>(api, &collection).await {
        Ok((objects, _)) => {
            Ok(objects.into_iter().filter_map(|of| serde_json::from_value(of).ok()).collect())
        }
        Err(error) => Err(unread(&collection, error, "list")),
    }
}

/// The first objects of a collection, and whether it has more.
async fn first_page<T: DeserializeOwned>(
    api: &Api,
    path: &str,
    plural: &str,
    group: &str,
    selectors: &str,
) -> Part<(Vec<T>, bool)> {
    let path = format!("{path}?limit={SOME}&{selectors}");
    match api.call::<Value>(Request::get(path)).await {
        Ok(mut page) => {
            let more = page["metadata"]["continue"].as_str().is_some_and(|next| !next.is_empty());
            let items =
                page.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
            Ok((items.into_iter().filter_map(|of| serde_json::from_value(of).ok()).collect(), more))
        }
        Err(error) => Err(why(Right::new(&["list"], group, plural), error)),
    }
}

fn unread(of: &Collection, error: ApiError, verb: &'static str) -> Unread {
    let mut right = Right::new(&[verb], &of.group, &of.resource);
    if let Some((_, rest)) = of.path.split_once("/namespaces/")
        && let Some((namespace, _)) = rest.split_once('/')
    {
        right = right.in_namespace(namespace);
    }
    why(right, error)
}

/// Why a call that needs a right failed.
fn why(right: Right, error: ApiError) -> Unread {
    let resource = right.resource.clone();
    let why = match error.code() {
        Some(403) => Why::Forbidden(Box::new(right)),
        Some(404) => Why::Absent,
        _ => Why::Failed(error.to_string()),
    };
    Unread { resource, why }
}
