//! The lease: at most one instance leads. client-go's semantics (`tools/leaderelection`): the lease of another is
//! judged by when *we* saw it change, never by its clock; a leader that cannot renew before the deadline stops by
//! itself, before another may take the lease; on a graceful end the lease is given back.

use super::calls::now_micro;
use super::client::{Api, ApiError, JSON, Request};
use super::random::{jitter, uuid};
use super::term::Term;
use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The lease and its times.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// Who we are.
    pub identity: String,
    /// After this long without renewal another may take the lease.
    pub lease: Duration,
    /// After this long without renewal the leader stops.
    pub renew: Duration,
    /// Between two tries.
    pub retry: Duration,
}

/// `<hostname>_<uuid>`, as kube-scheduler names itself.
pub fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = std::env::var("HOSTNAME").unwrap_or(host);
    format!("{}_{}", host.trim(), uuid())
}

/// What was last seen of the lease.
struct Observed {
    lease: Value,
    at: Instant,
}

/// A candidate, and the leader when it has won.
pub struct Election {
    api: Api,
    settings: Settings,
    observed: Option<Observed>,
    reported: String,
}

/// How one try to hold the lease ended.
enum Tried {
    Held,
    /// By another: its name.
    HeldBy(String),
    Failed(ApiError),
}

impl Election {
    /// A candidate.
    pub fn new(api: Api, settings: Settings) -> Self {
        Self { api, settings, observed: None, reported: String::new() }
    }

    /// Waits until the lease is ours. `waiting` is told who holds it, whenever that changes.
    pub async fn acquire(&mut self, term: &Term, mut waiting: impl FnMut(&str)) {
        loop {
            let began = Instant::now();
            match self.attempt().await {
                Tried::Held => {
                    term.extend_to(began + self.settings.renew);
                    tracing::info!(lease = %self.path(), identity = %self.settings.identity, "became leader");
                    return;
                }
                Tried::HeldBy(holder) => {
                    if self.reported != holder {
                        let since =
                            self.observed.as_ref().and_then(|it| it.lease["spec"]["acquireTime"].as_str());
                        tracing::info!(
                            lease = %self.path(), %holder, since = since.unwrap_or("unknown"),
                            "waiting for the lease, which another holds"
                        );
                        waiting(&holder);
                        self.reported = holder;
                    }
                }
                Tried::Failed(error) => {
                    let error = self.advice(&error);
                    tracing::error!(lease = %self.path(), "cannot take the lease: {error}");
                    waiting(&error);
                    self.reported = String::new();
                }
            }
            tokio::time::sleep(jitter(self.settings.retry, 1.2)).await;
        }
    }

    /// Keeps the lease; returns when it is lost, with the reason. From the renew deadline on nothing may be written
    /// (`term`), and the lease is lost then.
    pub async fn hold(&mut self, term: &Term) -> String {
        let mut deadline = Instant::now() + self.settings.renew;
        let mut last = String::from("no answer");
        loop {
            tokio::time::sleep_until((Instant::now() + self.settings.retry).min(deadline).into()).await;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                term.end();
                return format!("it was not renewed within {:?}: {last}", self.settings.renew);
            }
            let began = Instant::now();
            match tokio::time::timeout(left, self.attempt()).await {
                Ok(Tried::Held) => {
                    deadline = began + self.settings.renew;
                    term.extend_to(deadline);
                }
                Ok(Tried::HeldBy(holder)) => {
                    term.end();
                    return format!("`{holder}` holds it now");
                }
                Ok(Tried::Failed(error)) => {
                    last = self.advice(&error);
                    tracing::warn!(lease = %self.path(), error = %last, "cannot renew the lease");
                }
                Err(_) => {}
            }
        }
    }

    /// Gives the lease back, so that another takes it at once.
    pub async fn release(&mut self) {
        let Some(observed) = self.observed.take() else { return };
        let mut lease = observed.lease;
        if lease["spec"]["holderIdentity"] != self.settings.identity.as_str() {
            return;
        }
        let now = now_micro();
        let transitions = lease["spec"]["leaseTransitions"].clone();
        lease["spec"] = json!({
            "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now,
            "leaseTransitions": transitions,
        });
        match self.put(&lease).await {
            Ok(_) => tracing::info!(lease = %self.path(), "released the lease"),
            Err(error) => tracing::warn!(lease = %self.path(), %error, "cannot release the lease"),
        }
    }

    /// The name of the lease.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    fn path(&self) -> String {
        format!("{}/{}", self.settings.namespace, self.settings.name)
    }

    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.settings.namespace)
    }

    fn advice(&self, error: &ApiError) -> String {
        match error.code() {
            Some(401) => {
                format!("the API server does not accept our credentials ({error}): is the token expired?")
            }
            Some(403) => format!(
                "{error}; add this rule to the role: {{apiGroups: [\"coordination.k8s.io\"], resources: \
                 [\"leases\"], resourceNames: [\"{}\"], verbs: [\"get\", \"update\"]}} and `create` without names",
                self.settings.name
            ),
            _ => error.to_string(),
        }
    }

    async fn put(&self, lease: &Value) -> Result<Value, ApiError> {
        let path = format!("{}/{}", self.collection(), self.settings.name);
        let request = Request::with_body(Method::PUT, path, JSON, lease).within(self.settings.renew / 2);
        self.api.call(request).await
    }

    /// client-go's `tryAcquireOrRenew`.
    async fn attempt(&mut self) -> Tried {
        let now = Instant::now();
        // The holder that changed nothing since need not read before it writes.
        if let Some(observed) = &self.observed
            && self.is_ours(&observed.lease)
            && now < observed.at + self.settings.lease
        {
            let lease = self.renewed(observed.lease.clone());
            match self.put(&lease).await {
                Ok(lease) => return self.held(lease),
                Err(error) if error.code() == Some(409) => {}
                Err(error) => return Tried::Failed(error),
            }
        }
        let path = format!("{}/{}", self.collection(), self.settings.name);
        let lease: Value = match self.api.call(Request::get(path).within(self.settings.renew / 2)).await {
            Ok(lease) => lease,
            Err(error) if error.code() == Some(404) => return self.create().await,
            Err(error) => return Tried::Failed(error),
        };
        let seen = Instant::now();
        if self.observed.as_ref().is_none_or(|it| it.lease["spec"] != lease["spec"]) {
            self.observed = Some(Observed { lease: lease.clone(), at: seen });
        }
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        let seconds = lease["spec"]["leaseDurationSeconds"].as_u64().unwrap_or(0);
        let valid = self.observed.as_ref().is_some_and(|it| it.at + Duration::from_secs(seconds) > seen);
        if !holder.is_empty() && valid && holder != self.settings.identity {
            return Tried::HeldBy(holder);
        }
        match self.put(&self.renewed(lease)).await {
            Ok(lease) => self.held(lease),
            Err(error) if error.code() == Some(409) => Tried::HeldBy(holder),
            Err(error) => Tried::Failed(error),
        }
    }

    async fn create(&mut self) -> Tried {
        let now = now_micro();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": self.settings.name, "namespace": self.settings.namespace},
            "spec": {
                "holderIdentity": self.settings.identity,
                "leaseDurationSeconds": self.settings.lease.as_secs(),
                "acquireTime": now, "renewTime": now, "leaseTransitions": 0,
            },
        });
        let request =
            Request::with_body(Method::POST, self.collection(), JSON, &lease).within(self.settings.renew / 2);
        match self.api.call(request).await {
            Ok(lease) => self.held(lease),
            Err(error) if error.code() == Some(409) => Tried::HeldBy("another candidate".into()),
            Err(error) => Tried::Failed(error),
        }
    }

    fn held(&mut self, lease: Value) -> Tried {
        self.observed = Some(Observed { lease, at: Instant::now() });
        Tried::Held
    }

    fn is_ours(&self, lease: &Value) -> bool {
        lease["spec"]["holderIdentity"] == self.settings.identity.as_str()
    }

    /// The lease with us as its holder, from now on; what others wrote beside the times stays.
    fn renewed(&self, mut lease: Value) -> Value {
        let ours = self.is_ours(&lease);
        let now = now_micro();
        let transitions = lease["spec"]["leaseTransitions"].as_u64().unwrap_or(0) + u64::from(!ours);
        if !lease["spec"].is_object() {
            lease["spec"] = json!({});
        }
        let spec = &mut lease["spec"];
        spec["holderIdentity"] = json!(self.settings.identity);
        spec["leaseDurationSeconds"] = json!(self.settings.lease.as_secs());
        spec["renewTime"] = json!(now);
        if !ours {
            spec["acquireTime"] = json!(now);
            spec["leaseTransitions"] = json!(transitions);
        }
        lease
    }
}
