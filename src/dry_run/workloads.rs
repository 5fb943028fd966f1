//! The pods that controllers would create from a workload: Job, CronJob, Deployment, ReplicaSet,
//! ReplicationController, StatefulSet, DaemonSet and PodTemplate, with upstream's names, labels and
//! owner references. Random parts of names are derived from the workload and the pod's number, so
//! that equal files give equal pods. Used by `load` for files of pods.
//!
//! Source: `pkg/controller/{job,deployment,replicaset,statefulset,daemon}`.

use bayplan_model::{Effect, Node, PodInfo, find_untolerated};
use serde_json::{Map, Value, json};
use std::hash::Hasher;
use std::sync::Arc;

/// The most pods that are made of one workload.
const MOST: i64 = 100_000;

/// The result of expanding an object in a file of pods.
pub(super) enum Expanded {
    /// Its pods.
    Pods {
        /// The pods.
        pods: Vec<Value>,
        /// The objects that controllers make beside them: the ReplicaSet of a Deployment, the claims of a StatefulSet.
        beside: Vec<Value>,
    },
    /// Controllers make no pods of it.
    NoPods,
    /// An unknown kind, which may create pods.
    Unknown,
    /// A field cannot be used: its path, and what is wrong.
    Wrong(&'static str, String),
}

/// The pods of an object. A DaemonSet has one for each of `nodes` that it runs on.
pub(super) fn expand(object: &Value, kind: &str, nodes: &[&Node]) -> Expanded {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or("v1");
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let workload = Workload { object, kind, version };
    let pods = match (version, kind) {
        ("v1", "PodTemplate") => workload.template("template").map(|pod| vec![workload.bare(pod)]),
        ("batch/v1", "Job") => workload.job(object.get("spec"), &workload.name()),
        ("batch/v1", "CronJob") => workload.cron_job(),
        ("apps/v1", "Deployment") => workload.deployment(),
        ("apps/v1", "ReplicaSet") | ("v1", "ReplicationController") => {
            workload.replicas().and_then(|count| workload.replica_set(&workload.name(), kind, count))
        }
        ("apps/v1", "StatefulSet") => workload.stateful_set(),
        ("apps/v1", "DaemonSet") => workload.daemon_set(nodes),
        _ => {
            // Kubernetes' own groups have no other kinds that make pods.
            let own = !group.contains('.') || group.ends_with(".k8s.io");
            return if own && !makes_pods(kind) { Expanded::NoPods } else { Expanded::Unknown };
        }
    };
    match pods {
        Ok(pods) => Expanded::Pods { beside: workload.beside(&pods), pods },
        Err((path, message)) => Expanded::Wrong(path, message),
    }
}

/// Whether controllers make pods of objects of a kind.
pub(super) fn makes_pods(kind: &str) -> bool {
    matches!(
        kind,
        "PodTemplate"
            | "Job"
            | "CronJob"
            | "Deployment"
            | "ReplicaSet"
            | "ReplicationController"
            | "StatefulSet"
            | "DaemonSet"
    )
}

/// The path of the pod template in an object of a kind.
pub(super) fn template_of(kind: &str) -> &'static str {
    match kind {
        "PodTemplate" => "template",
        "CronJob" => "spec.jobTemplate.spec.template",
        _ => "spec.template",
    }
}

/// The path of a field, and what is wrong with it.
type Wrong = (&'static str, String);

struct Workload<'v> {
    object: &'v Value,
    kind: &'v str,
    version: &'v str,
}

impl Workload<'_> {
    fn name(&self) -> String {
        self.text("/metadata/name").unwrap_or_default().to_owned()
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.object.pointer(pointer).and_then(Value::as_str)
    }

    /// A number of pods at a path below the object; `or` when it is not given.
    fn number(of: Option<&Value>, field: &'static str, or: i64) -> Result<i64, Wrong> {
        match of {
            None | Some(Value::Null) => Ok(or),
            Some(value) => match value.as_i64() {
                Some(number) if (0..=MOST).contains(&number) => Ok(number),
                _ => Err((field, format!("expected a number of pods from 0 to {MOST}, found {value}"))),
            },
        }
    }

    fn replicas(&self) -> Result<i64, Wrong> {
        Self::number(self.object.pointer("/spec/replicas"), "spec.replicas", 1)
    }

    /// The pod template at a field, as a pod without a name.
    fn template(&self, field: &'static str) -> Result<Value, Wrong> {
        let pointer = format!("/{}", field.replace('.', "/"));
        match self.object.pointer(&pointer) {
            Some(template @ Value::Object(_)) => Ok(template.clone()),
            _ => Err((field, "the pod template is missing".to_owned())),
        }
    }

    /// A pod of a template with a name and labels, owned by `owner` (kind and name).
    fn pod(&self, template: &Value, name: &str, labels: &[(&str, String)], owner: (&str, &str)) -> Value {
        let mut pod = template.clone();
        let Some(fields) = pod.as_object_mut() else { return pod };
        fields.insert("apiVersion".to_owned(), json!("v1"));
        fields.insert("kind".to_owned(), json!("Pod"));
        fields.entry("status").or_insert(json!({"phase": "Pending"}));
        let metadata = fields.entry("metadata").or_insert(Value::Null);
        if metadata.is_null() {
            *metadata = json!({});
        }
        if let Some(metadata) = metadata.as_object_mut() {
            let namespace = self.text("/metadata/namespace").unwrap_or("default");
            metadata.insert("name".to_owned(), json!(name));
            metadata.insert("namespace".to_owned(), json!(namespace));
            let all = metadata.entry("labels").or_insert(Value::Null);
            if all.is_null() {
                *all = json!({});
            }
            if let Some(all) = all.as_object_mut() {
                all.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
            }
            let (kind, owner) = owner;
            let version = if kind == self.kind { self.version } else { "apps/v1" };
            let uid = match self.text("/metadata/uid").filter(|_| kind == self.kind) {
                Some(uid) => uid.to_owned(),
                None => format!("{}-{}", kind.to_lowercase(), hash(&[namespace, owner], 12)),
            };
            let reference = json!({
                "apiVersion": version, "kind": kind, "name": owner, "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            });
            metadata.insert("ownerReferences".to_owned(), json!([reference]));
        }
        pod
    }

    /// The pod of a PodTemplate, which has no owner.
    fn bare(&self, template: Value) -> Value {
        let mut pod = self.pod(&template, &self.name(), &[], (self.kind, ""));
        if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("ownerReferences");
        }
        pod
    }

    /// The pods that run at once: as many as `parallelism`, and no more than are to complete.
    fn job(&self, spec: Option<&Value>, name: &str) -> Result<Vec<Value>, Wrong> {
        let field = |name: &str| spec.and_then(|spec| spec.get(name));
        if field("suspend").and_then(Value::as_bool) == Some(true) {
            return Ok(Vec::new());
        }
        let parallelism = Self::number(field("parallelism"), "spec.parallelism", 1)?;
        let completions = Self::number(field("completions"), "spec.completions", parallelism)?;
        let indexed = field("completionMode").and_then(Value::as_str) == Some("Indexed");
        let Some(template) = field("template").filter(|template| template.is_object()) else {
            return Err(("spec.template", "the pod template is missing".to_owned()));
        };
        let pods = (0..parallelism.min(completions)).map(|index| {
            let suffix = hash(&[name, &index.to_string()], 5);
            let mut labels =
                vec![("batch.kubernetes.io/job-name", name.to_owned()), ("job-name", name.to_owned())];
            if !indexed {
                return self.pod(template, &format!("{name}-{suffix}"), &labels, ("Job", name));
            }
            labels.push(("batch.kubernetes.io/job-completion-index", index.to_string()));
            let mut pod = self.pod(template, &format!("{name}-{index}-{suffix}"), &labels, ("Job", name));
            annotate(&mut pod, "batch.kubernetes.io/job-completion-index", &index.to_string());
            pod
        });
        Ok(pods.collect())
    }

    /// One run of the job.
    fn cron_job(&self) -> Result<Vec<Value>, Wrong> {
        let Some(template) = self.object.pointer("/spec/jobTemplate") else {
            return Err(("spec.jobTemplate", "the job template is missing".to_owned()));
        };
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": format!("{}-1", self.name()), "namespace": self.text("/metadata/namespace")},
            "spec": template.get("spec"),
        });
        let run = Workload { object: &job, kind: "Job", version: "batch/v1" };
        run.job(job.get("spec"), &run.name()).map_err(|(field, message)| match field {
            "spec.template" => ("spec.jobTemplate.spec.template", message),
            "spec.parallelism" => ("spec.jobTemplate.spec.parallelism", message),
            "spec.completions" => ("spec.jobTemplate.spec.completions", message),
            _ => ("spec.jobTemplate", message),
        })
    }

    /// The pods of its new ReplicaSet.
    fn deployment(&self) -> Result<Vec<Value>, Wrong> {
        let count = self.replicas()?;
        let template = self.template("spec.template")?;
        let hash = hash(&[&template.to_string()], 10);
        let set = format!("{}-{hash}", self.name());
        let pods = (0..count).map(|index| {
            let name = format!("{set}-{}", self::hash(&[&set, &index.to_string()], 5));
            self.pod(&template, &name, &[("pod-template-hash", hash.clone())], ("ReplicaSet", &set))
        });
        Ok(pods.collect())
    }

    /// The objects that controllers make beside the pods.
    fn beside(&self, pods: &[Value]) -> Vec<Value> {
        match self.kind {
            "Deployment" => pods.first().and_then(|pod| self.replica_set_of(pod)).into_iter().collect(),
            "StatefulSet" => pods.iter().flat_map(|pod| self.claims_of(pod)).collect(),
            _ => Vec::new(),
        }
    }

    /// The ReplicaSet that the controller of Deployments makes: it selects what the Deployment selects, of its own
    /// revision.
    fn replica_set_of(&self, pod: &Value) -> Option<Value> {
        let owner = pod.pointer("/metadata/ownerReferences/0")?;
        let mut selector = self.object.pointer("/spec/selector")?.clone();
        let revision = pod.pointer("/metadata/labels/pod-template-hash")?;
        let labels = selector.as_object_mut()?.entry("matchLabels").or_insert(json!({}));
        labels.as_object_mut()?.insert("pod-template-hash".to_owned(), revision.clone());
        let metadata = json!({
            "name": owner.get("name"), "uid": owner.get("uid"), "namespace": pod.pointer("/metadata/namespace"),
        });
        Some(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"selector": selector},
        }))
    }

    /// The claims that the controller of StatefulSets makes for a pod.
    fn claims_of(&self, pod: &Value) -> Vec<Value> {
        let templates = self.object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
        let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let made = templates.into_iter().flatten().filter_map(|template| {
            let of = template.pointer("/metadata/name")?.as_str()?;
            let mut claim = template.clone();
            let fields = claim.as_object_mut()?;
            fields.insert("apiVersion".to_owned(), json!("v1"));
            fields.insert("kind".to_owned(), json!("PersistentVolumeClaim"));
            let metadata = fields.get_mut("metadata")?.as_object_mut()?;
            metadata.insert("name".to_owned(), json!(format!("{of}-{name}")));
            metadata.insert("namespace".to_owned(), pod.pointer("/metadata/namespace")?.clone());
            Some(claim)
        });
        made.collect()
    }

    fn replica_set(&self, set: &str, kind: &str, count: i64) -> Result<Vec<Value>, Wrong> {
        let template = self.template("spec.template")?;
        let pods = (0..count).map(|index| {
            let name = format!("{set}-{}", hash(&[set, &index.to_string()], 5));
            self.pod(&template, &name, &[], (kind, set))
        });
        Ok(pods.collect())
    }

    fn stateful_set(&self) -> Result<Vec<Value>, Wrong> {
        let count = self.replicas()?;
        let start = Self::number(self.object.pointer("/spec/ordinals/start"), "spec.ordinals.start", 0)?;
        let template = self.template("spec.template")?;
        let set = self.name();
        let revision = format!("{set}-{}", hash(&[&template.to_string()], 10));
        let pods = (start..start + count).map(|ordinal| {
            let name = format!("{set}-{ordinal}");
            let labels = [
                ("apps.kubernetes.io/pod-index", ordinal.to_string()),
                ("statefulset.kubernetes.io/pod-name", name.clone()),
                ("controller-revision-hash", revision.clone()),
            ];
            let mut pod = self.pod(&template, &name, &labels, ("StatefulSet", &set));
            self.claim(&mut pod, &name);
            pod
        });
        Ok(pods.collect())
    }

    /// Adds the claims of a StatefulSet to the volumes of a pod.
    fn claim(&self, pod: &mut Value, name: &str) {
        let claims = self.object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
        for claim in claims.into_iter().flatten() {
            let Some(claim) = claim.pointer("/metadata/name").and_then(Value::as_str) else { continue };
            let volumes = spec.entry("volumes").or_insert(json!([]));
            if let Some(volumes) = volumes.as_array_mut() {
                volumes.retain(|volume| volume.get("name").and_then(Value::as_str) != Some(claim));
                let claim_name = format!("{claim}-{name}");
                volumes.push(json!({"name": claim, "persistentVolumeClaim": {"claimName": claim_name}}));
            }
        }
    }

    /// A pod for each node whose name, labels and taints let the set run there.
    fn daemon_set(&self, nodes: &[&Node]) -> Result<Vec<Value>, Wrong> {
        let mut template = self.template("spec.template")?;
        tolerate_all(&mut template);
        let set = self.name();
        let revision = hash(&[&template.to_string()], 10);
        let labels = [("controller-revision-hash", revision)];
        let probe = self.pod(&template, &set, &labels, (self.kind, &set));
        // What is wrong with the pod is reported when the pod is read.
        let Ok(probe) = PodInfo::from_value(Arc::new(probe)) else {
            return Ok(vec![self.pod(&template, &set, &labels, (self.kind, &set))]);
        };
        let runs = |node: &&&Node| {
            let affinity = matches!(probe.node_affinity.matches(&node.name, &node.labels), Ok(true));
            let taints = &node.taints;
            affinity && find_untolerated(taints, &probe.tolerations, Effect::keeps_pods_away, false).is_none()
        };
        let pods = nodes.iter().filter(runs).map(|node| {
            let name = format!("{set}-{}", hash(&[&set, &node.name], 5));
            let mut pod = self.pod(&template, &name, &labels, (self.kind, &set));
            only_on(&mut pod, &node.name);
            pod
        });
        Ok(pods.collect())
    }
}

fn annotate(pod: &mut Value, key: &str, value: &str) {
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), json!(value));
    }
}

/// The tolerations that the DaemonSet controller adds.
fn tolerate_all(template: &mut Value) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let host_network = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    let tolerations = spec.entry("tolerations").or_insert(Value::Null);
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    let added = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    ];
    for (key, effect) in added.into_iter().filter(|(key, _)| host_network || *key != "network-unavailable") {
        let key = format!("node.kubernetes.io/{key}");
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
}

/// Requires the node by its name, as the DaemonSet controller does: every required term of the
/// template gives way to it.
fn only_on(pod: &mut Value, node: &str) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let required = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": [node]},
    ]}]});
    let mut parent = spec;
    for field in ["affinity", "nodeAffinity"] {
        let child = parent.entry(field).or_insert(Value::Null);
        if !child.is_object() {
            *child = Value::Object(Map::new());
        }
        let Some(child) = child.as_object_mut() else { return };
        parent = child;
    }
    parent.insert("requiredDuringSchedulingIgnoredDuringExecution".to_owned(), required);
}

/// Gives a pod with `generateName` a name, as the API server does.
pub(super) fn name_generated(pod: &mut Value, number: usize) {
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let named = metadata.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let prefix = metadata.get("generateName").and_then(Value::as_str).map(str::to_owned);
    if let Some(prefix) = prefix.filter(|_| !named) {
        let name = format!("{prefix}{}", hash(&[&prefix, &number.to_string()], 5));
        metadata.insert("name".to_owned(), json!(name));
    }
}

/// Letters that Kubernetes uses in generated names, chosen by the parts.
fn hash(parts: &[&str], length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hasher = rustc_hash::FxHasher::default();
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write_u8(0);
    }
    let mut state = hasher.finish();
    let mut text = String::new();
    for _ in 0..length {
        // SplitMix64 spreads the bits of the hash.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let letter = (mixed ^ (mixed >> 31)) % LETTERS.len() as u64;
        text.extend(LETTERS.get(letter as usize).map(|letter| *letter as char));
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use bayplan_model::testing::node;

    /// The pods of a workload with one field changed.
    fn pods(kind: &str, version: &str, spec: Value) -> Vec<PodInfo> {
        let nodes = [
            node("n1").label("disk", "ssd").build(),
            node("n2").build(),
            node("n3").label("disk", "ssd").taint("gpu", "yes", "NoSchedule").build(),
            node("n4")
                .label("disk", "ssd")
                .taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
                .build(),
        ];
        let of: Vec<&Node> = nodes.iter().map(|node| &**node).collect();
        let object = json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": "w", "namespace": "shop", "uid": "u-1"}, "spec": spec,
        });
        match expand(&object, kind, &of) {
            Expanded::Pods { pods, .. } => {
                pods.into_iter().map(|pod| PodInfo::from_value(Arc::new(pod)).unwrap()).collect()
            }
            Expanded::Wrong(field, message) => panic!("{field}: {message}"),
            _ => panic!("no pods"),
        }
    }

    fn template() -> Value {
        json!({
            "metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"disk": "ssd"}},
        })
    }

    fn names(pods: &[PodInfo]) -> Vec<&str> {
        pods.iter().map(|pod| pod.name.as_str()).collect()
    }

    fn label<'p>(pod: &'p PodInfo, key: &str) -> Option<&'p str> {
        let found = pod.labels.iter().find(|(known, _)| known.as_str() == key);
        found.map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_job_has_as_many_pods_as_run_at_once() {
        let of = |spec: Value| pods("Job", "batch/v1", spec);
        let count = |more: Value| {
            let mut spec = json!({"template": template()});
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            of(spec).len()
        };
        assert_eq!(count(json!({})), 1);
        assert_eq!(count(json!({"parallelism": 3})), 3);
        assert_eq!(count(json!({"completions": 5})), 1);
        assert_eq!(count(json!({"parallelism": 3, "completions": 2})), 2);
        assert_eq!(count(json!({"parallelism": 0})), 0);
        assert_eq!(count(json!({"parallelism": 3, "suspend": true})), 0);
        let indexed = of(json!({
            "parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template(),
        }));
        assert!(names(&indexed)[0].starts_with("w-0-") && names(&indexed)[1].starts_with("w-1-"));
        assert_eq!(label(&indexed[1], "batch.kubernetes.io/job-completion-index"), Some("1"));
        assert_eq!(label(&indexed[1], "batch.kubernetes.io/job-name"), Some("w"));
        assert_eq!(label(&indexed[1], "app"), Some("x"));
        let owner = &indexed[0].owners[0];
        let owner = (owner.kind.as_str(), owner.name.as_str(), owner.uid.as_str(), owner.controller);
        assert_eq!(owner, ("Job", "w", "u-1", true));
        assert_eq!(indexed[0].namespace.as_str(), "shop");
    }

    #[test]
    fn replicas_have_names_and_owners_as_upstream() {
        let web = pods("Deployment", "apps/v1", json!({"replicas": 3, "template": template()}));
        let set = web[0].owners[0].clone();
        assert_eq!(set.kind.as_str(), "ReplicaSet");
        let hash = label(&web[0], "pod-template-hash").unwrap();
        assert_eq!(set.name.as_str(), format!("w-{hash}"));
        let distinct: std::collections::BTreeSet<&str> = names(&web).into_iter().collect();
        assert_eq!(distinct.len(), 3);
        assert!(distinct.iter().all(|name| name.starts_with(&format!("w-{hash}-"))), "{distinct:?}");
        let db = pods(
            "StatefulSet",
            "apps/v1",
            json!({
                "replicas": 2, "ordinals": {"start": 3}, "template": template(),
                "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            }),
        );
        assert_eq!(names(&db), ["w-3", "w-4"]);
        assert_eq!(label(&db[1], "apps.kubernetes.io/pod-index"), Some("4"));
        let raw = db[1].raw.as_ref().unwrap();
        assert_eq!(raw["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-w-4");
        assert_eq!(pods("ReplicaSet", "apps/v1", json!({"template": template()})).len(), 1);
        let cron = pods(
            "CronJob",
            "batch/v1",
            json!({
                "jobTemplate": {"spec": {"parallelism": 2, "template": template()}},
            }),
        );
        assert_eq!(cron.len(), 2);
        assert_eq!(cron[0].owners[0].name.as_str(), "w-1");
    }

    #[test]
    fn a_daemon_set_has_a_pod_for_each_node_that_it_runs_on() {
        let agents = pods("DaemonSet", "apps/v1", json!({"template": template()}));
        assert_eq!(agents.len(), 2, "n1, and n4 although it is cordoned");
        let matches = |pod: &PodInfo, node: &str| {
            let labels = bayplan_model::Labels::from_iter([("disk".into(), "ssd".into())]);
            matches!(pod.node_affinity.matches(&node.into(), &labels), Ok(true))
        };
        assert!(matches(&agents[0], "n1") && !matches(&agents[0], "n4") && matches(&agents[1], "n4"));
        assert_eq!(agents[0].owners[0].kind.as_str(), "DaemonSet");
    }

    #[test]
    fn other_kinds_have_no_pods_or_are_unknown() {
        let of = |version: &str, kind: &str| {
            expand(&json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}), kind, &[])
        };
        for (version, kind) in [("v1", "Service"), ("networking.k8s.io/v1", "Ingress"), ("policy/v1", "X")] {
            assert!(matches!(of(version, kind), Expanded::NoPods), "{version} {kind}");
        }
        for (version, kind) in [("ray.io/v1", "RayCluster"), ("batch/v1beta1", "CronJob"), ("x.io/v1", "Job")]
        {
            assert!(matches!(of(version, kind), Expanded::Unknown), "{version} {kind}");
        }
        assert!(matches!(of("apps/v1", "Deployment"), Expanded::Wrong("spec.template", _)));
        assert!(matches!(of("batch/v1", "CronJob"), Expanded::Wrong("spec.jobTemplate", _)));
    }
}
