//! [`Facts`]: what the API server shows of an installation and of what is around it. Each part is there, or says why it could
//! not be read; a check that needs it then says nothing.

use crate::policies::listing::PolicyObject;
use crate::process::published::Published;
use crate::rights::needed::{Needed, Wanted};
use crate::rights::right::Right;
use bayplan_config::NodeSelection;
use bayplan_model::Node;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::events::v1::Event;
use std::sync::Arc;
use std::time::Duration;

/// Why a part could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The plural name of the resource.
    pub resource: String,
    /// Why.
    pub why: Why,
}

/// Why a resource could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The right to it is missing.
    Forbidden(Box<Right>),
    /// The API server has no such kind.
    Absent,
    /// Another failure.
    Failed(String),
}

/// A part of the facts.
pub type Part<T> = Result<T, Unread>;

/// A server's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerClock {
    /// What it said, in whole seconds.
    pub server: Timestamp,
    /// Our time before the question.
    pub before: Timestamp,
    /// Our time after the answer.
    pub after: Timestamp,
}

/// What started an installation, before its flags are understood.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The namespace.
    pub namespace: String,
    /// The kind and the name, as kubectl takes them: `deploy/bayplan`.
    pub name: String,
    /// The user whose rights it has; empty if a kubeconfig says it.
    pub user: String,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// The text of the file that `--config` names, if it is from a ConfigMap.
    pub configuration: Option<String>,
}

/// An installation whose flags are understood.
#[derive(Clone, Debug)]
pub struct Installation {
    /// What starts it.
    pub workload: Workload,
    /// What it does and needs.
    pub wanted: Wanted,
    /// The scheduler names that it serves; empty for an extender.
    pub names: Vec<String>,
    /// The nodes that `--nodes` keeps it to.
    pub nodes: Option<NodeSelection>,
    /// After this long without renewal another process may take its lease.
    pub lease_duration: Duration,
}

/// A right of an installation that was reviewed.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// The user.
    pub user: String,
    /// The right that is needed.
    pub needed: Needed,
    /// What is missing of it.
    pub lacks: Right,
}

/// What the secure port of a replica says to everybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortAnswer {
    /// The pod, or the address.
    pub of: String,
    /// The names of the checks of `/readyz` that fail; or why there was no answer.
    pub failing: Result<Vec<String>, String>,
}

/// Pods that kubelets refused, and what is on their nodes.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    /// Pods that kubelets refused, at any time; some of those that failed.
    pub pods: Vec<Pod>,
    /// Whether there are more pods that failed.
    pub more: bool,
    /// Pods of other schedulers on the nodes with the most of them.
    pub beside: Vec<Pod>,
}

/// A lease, by namespace and name; `None`: it does not exist.
#[derive(Clone, Debug)]
pub struct NamedLease {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The object.
    pub lease: Option<Lease>,
}

/// What is found about the cluster.
#[derive(Debug)]
pub struct Facts {
    /// Our time.
    pub now: Timestamp,
    /// The user that asks.
    pub user: String,
    /// The version of the server, such as `v1.36.3`.
    pub version: Part<String>,
    /// The server's clock; `None` if its answers have no date.
    pub clock: Option<ServerClock>,
    /// The installations.
    pub installations: Vec<Installation>,
    /// Deployments with our label.
    pub deployments: Part<Vec<Deployment>>,
    /// Pods with our label.
    pub own_pods: Part<Vec<Pod>>,
    /// Pods of kube-scheduler in kube-system.
    pub kube_schedulers: Part<Vec<Pod>>,
    /// That of each installation, and that of kube-scheduler.
    pub leases: Part<Vec<NamedLease>>,
    /// The configurations that schedulers published.
    pub published: Part<Vec<Published>>,
    /// The policies.
    pub policies: Part<Vec<PolicyObject>>,
    /// The rights that are missing.
    pub rights: Part<Vec<Reviewed>>,
    /// Pods without a node.
    pub unbound: Part<Vec<Pod>>,
    /// Some of the pods on nodes that another scheduler bound, and whether there are more.
    pub foreign: Part<(Vec<Pod>, bool)>,
    /// Pods that kubelets refused.
    pub refused: Part<Refused>,
    /// The nodes, if an installation keeps to some of them; else none.
    pub nodes: Part<Vec<Arc<Node>>>,
    /// Events about pods that were scheduled, some of them.
    pub scheduled: Part<Vec<Event>>,
    /// Signs of node autoscalers: what, and where.
    pub autoscalers: Part<Vec<String>>,
    /// What secure ports say.
    pub ports: Vec<PortAnswer>,
    /// What only matters before a removal.
    pub removal: Option<Removal>,
}

/// What remains when an installation goes.
#[derive(Debug)]
pub struct Removal {
    /// Objects that make pods with one of our scheduler names: kind, namespace and name, as `deployment shop/web`.
    pub makers: Part<Vec<(String, String)>>,
    /// Pods of our names that are bound and for which something is still to write.
    pub marked: Part<Vec<Pod>>,
    /// Namespaces in which pods must have policies.
    pub required: Part<Vec<Namespace>>,
    /// Objects that stay: as kubectl deletes them, `lease/bayplan --namespace bayplan`.
    pub stays: Vec<String>,
    /// Admission rules with our label, as `validatingadmissionpolicy/NAME`.
    pub admission: Part<Vec<String>>,
}

impl Facts {
    /// What could not be read, each resource once.
    pub(super) fn unread(&self) -> Vec<&Unread> {
        fn of<T>(part: &Part<T>) -> Option<&Unread> {
            part.as_ref().err()
        }
        let parts = [
            of(&self.version),
            of(&self.deployments),
            of(&self.own_pods),
            of(&self.kube_schedulers),
            of(&self.leases),
            of(&self.published),
            of(&self.policies),
            of(&self.rights),
            of(&self.unbound),
            of(&self.foreign),
            of(&self.refused),
            of(&self.nodes),
            of(&self.scheduled),
            of(&self.autoscalers),
        ];
        let removal = self.removal.iter();
        let removal = removal.flat_map(|of_removal| {
            [
                of(&of_removal.makers),
                of(&of_removal.marked),
                of(&of_removal.required),
                of(&of_removal.admission),
            ]
        });
        let mut all: Vec<&Unread> = Vec::new();
        for unread in parts.into_iter().chain(removal).flatten() {
            if !all.iter().any(|known| known.resource == unread.resource) {
                all.push(unread);
            }
        }
        all
    }

    /// The names that installations serve, and that published configurations have.
    pub(super) fn our_names(&self) -> Vec<&str> {
        let published = self.published.iter().flatten().filter(|of| of.is_fresh(self.server_now()));
        let mut names: Vec<&str> =
            self.installations.iter().flat_map(|of| &of.names).map(String::as_str).collect();
        names.extend(published.flat_map(Published::names));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The lease of this name, if it was read and exists.
    pub(super) fn lease(&self, namespace: &str, name: &str) -> Option<&Lease> {
        let leases = self.leases.iter().flatten();
        leases.filter(|of| of.namespace == namespace && of.name == name).find_map(|of| of.lease.as_ref())
    }

    /// Whether a lease is renewed in time; with `patience` beside its duration.
    pub(super) fn is_held(&self, lease: &Lease) -> bool {
        holder(lease).is_some() && self.unrenewed_for(lease).is_some_and(|late| late.is_zero())
    }

    /// For how long a lease has been free: zero while it is held.
    pub(super) fn unrenewed_for(&self, lease: &Lease) -> Option<Duration> {
        let spec = lease.spec.as_ref()?;
        let lasts = Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(15)).ok()?);
        let age = self.server_now().duration_since(spec.renew_time.as_ref()?.0);
        Some(Duration::try_from(age).unwrap_or_default().saturating_sub(lasts))
    }

    /// The server's time, so that a wrong clock of ours does not make leases old.
    pub(super) fn server_now(&self) -> Timestamp {
        self.clock.map_or(self.now, |clock| clock.server)
    }
}

/// Who holds a lease.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// `namespace/name` of a pod.
pub(super) fn pod_name(pod: &Pod) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    format!("{}/{}", text(&pod.metadata.namespace), text(&pod.metadata.name))
}

/// The scheduler name of a pod.
pub(super) fn scheduler_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or("default-scheduler")
}

/// The node of a pod; empty if it has none.
pub(super) fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

/// When a pod that failed was refused: a kubelet sets the start of a pod when it first writes of it.
pub(super) fn failed_at(pod: &Pod) -> Option<Timestamp> {
    let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    started.or(pod.metadata.creation_timestamp.as_ref()).map(|at| at.0)
}

/// Whether a pod is the mirror of a static pod, which no scheduler placed.
pub(super) fn is_static(pod: &Pod) -> bool {
    pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Node")
}

/// Some names of many, for a sentence.
pub(super) fn some<'t>(names: impl IntoIterator<Item = &'t str>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Facts for the tests of checks.

    use super::*;
    use crate::policies::account::PolicyAccount;
    use bayplan_framework::Need;
    use serde_json::{Value, json};

    /// The time of the tests.
    pub(in crate::doctor) fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    /// An object of Kubernetes.
    pub(in crate::doctor) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    /// A cluster in which nothing runs and everything may be read.
    pub(in crate::doctor) fn nothing() -> Facts {
        Facts {
            now: now(),
            user: "me".into(),
            version: Ok("v1.36.3".into()),
            clock: Some(ServerClock { server: now(), before: now(), after: now() }),
            installations: Vec::new(),
            deployments: Ok(Vec::new()),
            own_pods: Ok(Vec::new()),
            kube_schedulers: Ok(Vec::new()),
            leases: Ok(Vec::new()),
            published: Ok(Vec::new()),
            policies: Ok(Vec::new()),
            rights: Ok(Vec::new()),
            unbound: Ok(Vec::new()),
            foreign: Ok((Vec::new(), false)),
            refused: Ok(Refused::default()),
            nodes: Ok(Vec::new()),
            scheduled: Ok(Vec::new()),
            autoscalers: Ok(Vec::new()),
            ports: Vec::new(),
            removal: None,
        }
    }

    /// A Deployment `bayplan/bayplan` that serves a name, with the lease of that name.
    pub(in crate::doctor) fn installed(name: &str) -> Installation {
        let lease = match name {
            "default-scheduler" => ("kube-system".to_owned(), "kube-scheduler".to_owned()),
            name => ("bayplan".to_owned(), name.to_owned()),
        };
        Installation {
            workload: Workload {
                namespace: "bayplan".into(),
                name: "deploy/bayplan".into(),
                user: "system:serviceaccount:bayplan:bayplan".into(),
                ..Workload::default()
            },
            wanted: Wanted {
                extends: false,
                needs: Vec::<Need>::new(),
                lease: Some(lease),
                namespace: "bayplan".into(),
                account: PolicyAccount::beside("bayplan"),
                ..Wanted::of_extender(false, vec!["bayplan-policies".into()])
            },
            names: vec![name.to_owned()],
            nodes: None,
            lease_duration: Duration::from_secs(15),
        }
    }

    /// A lease that a holder renewed some seconds ago.
    pub(in crate::doctor) fn lease(namespace: &str, name: &str, holder: &str, ago: i64) -> NamedLease {
        let renewed = now() - jiff::SignedDuration::from_secs(ago);
        let lease = object(json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 15,
                "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
            },
        }));
        NamedLease { namespace: namespace.into(), name: name.into(), lease: Some(lease) }
    }

    /// A pod of a scheduler name, as old as that.
    pub(in crate::doctor) fn pod(name: &str, scheduler: &str, minutes: i64) -> Pod {
        let created = now() - jiff::SignedDuration::from_mins(minutes);
        object(json!({
            "metadata": {"namespace": "shop", "name": name, "creationTimestamp": created.to_string()},
            "spec": {"schedulerName": scheduler, "containers": []},
        }))
    }
}
