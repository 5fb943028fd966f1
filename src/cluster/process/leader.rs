//! Leader election with client-go's semantics (`tools/leaderelection`): at most one instance leads.
//! A candidate measures the age of another's lease by its own clock, from when it saw the lease
//! change. A leader that cannot renew its lease before the renew deadline stops by itself, before
//! another instance may take the lease. On a graceful end it releases the lease.

use super::term::{Moment, Term};
use crate::api::backoff::jitter;
use crate::api::client::{Api, ApiError, JSON, Request};
use crate::inputs::watch::rule;
use http::Method;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use std::time::{Duration, Instant};

/// The lease and its times.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// The holder identity of this instance.
    pub identity: String,
    /// After this long without renewal another instance may take the lease.
    pub lease: Duration,
    /// After this long without renewal the leader stops.
    pub renew: Duration,
    /// The time between two attempts.
    pub retry: Duration,
}

/// `<hostname>_<uuid>`, as kube-scheduler identifies itself.
pub fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = std::env::var("HOSTNAME").unwrap_or(host);
    let id = uuid::Builder::from_random_bytes(fastrand::u128(..).to_be_bytes()).into_uuid();
    format!("{}_{id}", host.trim())
}

/// The lease as last seen.
struct Observed {
    lease: Lease,
    at: Instant,
}

impl Observed {
    fn spec(&self) -> Option<&LeaseSpec> {
        self.lease.spec.as_ref()
    }
}

/// A candidate, and the leader once it has won.
pub(crate) struct Election {
    api: Api,
    settings: Settings,
    observed: Option<Observed>,
    reported: String,
    /// Whether this instance sent a write of the lease, so that the lease may be ours even without an
    /// answer.
    wrote: bool,
}

/// How often the release of the lease is tried when other clients write it.
const RELEASES: usize = 3;

/// The result of one attempt to take or renew the lease.
enum Attempt {
    Held,
    /// By this other holder.
    HeldBy(String),
    /// Another client wrote the lease between our read and our write.
    Conflict,
    Failed(ApiError),
}

impl Election {
    /// A candidate that has not seen the lease yet.
    pub(crate) fn new(api: Api, settings: Settings) -> Self {
        Self { api, settings, observed: None, reported: String::new(), wrote: false }
    }

    /// Waits until this instance holds the lease. `waiting` receives the holder or the error,
    /// whenever that changes.
    pub(crate) async fn acquire(&mut self, term: &Term, mut waiting: impl FnMut(&str)) {
        loop {
            let began = Moment::now();
            match self.attempt().await {
                Attempt::Held => {
                    term.extend(began, self.settings.renew);
                    tracing::info!(lease = %self.path(), identity = %self.settings.identity, "became leader");
                    return;
                }
                Attempt::HeldBy(holder) => {
                    if self.reported != holder {
                        let acquired = self.observed.as_ref().and_then(|it| it.spec()?.acquire_time.as_ref());
                        let since = acquired.map_or("unknown".to_owned(), |time| time.0.to_string());
                        tracing::info!(
                            lease = %self.path(), %holder, %since,
                            "waiting for the lease, which another instance holds"
                        );
                        waiting(&holder);
                        self.reported = holder;
                    }
                }
                Attempt::Conflict => {}
                Attempt::Failed(error) => {
                    let error = self.advice(&error);
                    tracing::error!(lease = %self.path(), "cannot take the lease: {error}");
                    waiting(&error);
                    self.reported = String::new();
                }
            }
            tokio::time::sleep(jitter(self.settings.retry, 1.2)).await;
        }
    }

    /// Renews the lease until it is lost; returns the reason. The lease is lost at the latest at
    /// the renew deadline, from which on `term` allows no more writes.
    pub(crate) async fn hold(&mut self, term: &Term) -> String {
        let mut deadline = Instant::now() + self.settings.renew;
        let mut last = String::from("no answer");
        loop {
            tokio::time::sleep_until((Instant::now() + self.settings.retry).min(deadline).into()).await;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                term.end();
                return format!("the lease was not renewed within {:?}: {last}", self.settings.renew);
            }
            let (began, moment) = (Instant::now(), Moment::now());
            match tokio::time::timeout(left, self.attempt()).await {
                Ok(Attempt::Held) => {
                    deadline = began + self.settings.renew;
                    term.extend(moment, self.settings.renew);
                }
                Ok(Attempt::HeldBy(holder)) => {
                    term.end();
                    return format!("`{holder}` holds the lease");
                }
                Ok(Attempt::Conflict) => "another client writes the lease".clone_into(&mut last),
                Ok(Attempt::Failed(error)) => {
                    last = self.advice(&error);
                    tracing::warn!(lease = %self.path(), error = %last, "cannot renew the lease");
                }
                Err(_) => {}
            }
        }
    }

    /// Releases the lease, so that another instance can take it at once. It reads the lease first,
    /// because an attempt that was given up may have changed it.
    pub(crate) async fn release(&mut self) {
        if !self.wrote {
            return;
        }
        self.observed = None;
        for _ in 0..RELEASES {
            let error = match self.release_once().await {
                Ok(false) => return,
                Ok(true) => return tracing::info!(lease = %self.path(), "released the lease"),
                Err(error) => error,
            };
            if error.code() != Some(409) {
                return tracing::warn!(lease = %self.path(), %error, "cannot release the lease");
            }
        }
        tracing::warn!(lease = %self.path(), "cannot release the lease: another client writes it");
    }

    /// Whether it was ours and is released.
    async fn release_once(&self) -> Result<bool, ApiError> {
        let mut lease = self.get().await?;
        if !self.is_ours(&lease) {
            return Ok(false);
        }
        let now = now();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: lease.spec.and_then(|spec| spec.lease_transitions),
            ..LeaseSpec::default()
        });
        self.put(&lease).await.map(|_| true)
    }

    /// The name of the lease.
    pub(crate) fn name(&self) -> &str {
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
            Some(403) => {
                let create = rule("coordination.k8s.io", &["leases"], &["create"]);
                format!(
                    "{error}; add these rules to the role: {{apiGroups: [\"coordination.k8s.io\"], resources: \
                     [\"leases\"], resourceNames: [\"{}\"], verbs: [\"get\", \"update\"]}} and {create}",
                    self.settings.name
                )
            }
            _ => error.to_string(),
        }
    }

    async fn put(&self, lease: &Lease) -> Result<Lease, ApiError> {
        let path = format!("{}/{}", self.collection(), self.settings.name);
        let request = Request::with_body(Method::PUT, path, JSON, lease).within(self.settings.renew / 2);
        self.api.call(request).await
    }

    async fn get(&self) -> Result<Lease, ApiError> {
        let path = format!("{}/{}", self.collection(), self.settings.name);
        self.api.call(Request::get(path).within(self.settings.renew / 2)).await
    }

    /// client-go's `tryAcquireOrRenew`.
    async fn attempt(&mut self) -> Attempt {
        let now = Instant::now();
        // A holder that saw no other change writes without reading first.
        if let Some(observed) = &self.observed
            && self.is_ours(&observed.lease)
            && now < observed.at + self.settings.lease
        {
            let lease = self.renewed(observed.lease.clone());
            self.wrote = true;
            match self.put(&lease).await {
                Ok(lease) => return self.held(lease),
                Err(error) if error.code() == Some(409) => {}
                Err(error) => return Attempt::Failed(error),
            }
        }
        let lease = match self.get().await {
            Ok(lease) => lease,
            Err(error) if error.code() == Some(404) => return self.create().await,
            Err(error) => return Attempt::Failed(error),
        };
        let seen = Instant::now();
        if self.observed.as_ref().is_none_or(|it| it.lease.spec != lease.spec) {
            self.observed = Some(Observed { lease: lease.clone(), at: seen });
        }
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
        let valid = self.observed.as_ref().is_some_and(|it| it.at + Duration::from_secs(seconds) > seen);
        if !holder.is_empty() && valid && holder != self.settings.identity {
            return Attempt::HeldBy(holder);
        }
        self.wrote = true;
        match self.put(&self.renewed(lease)).await {
            Ok(lease) => self.held(lease),
            Err(error) if error.code() == Some(409) => Attempt::Conflict,
            Err(error) => Attempt::Failed(error),
        }
    }

    async fn create(&mut self) -> Attempt {
        let metadata = ObjectMeta {
            name: Some(self.settings.name.clone()),
            namespace: Some(self.settings.namespace.clone()),
            ..ObjectMeta::default()
        };
        let mut lease = self.renewed(Lease { metadata, spec: None });
        if let Some(spec) = &mut lease.spec {
            // As client-go counts: the first holder does not count as a transition.
            spec.lease_transitions = Some(0);
        }
        let request =
            Request::with_body(Method::POST, self.collection(), JSON, &lease).within(self.settings.renew / 2);
        self.wrote = true;
        match self.api.call(request).await {
            Ok(lease) => self.held(lease),
            Err(error) if error.code() == Some(409) => Attempt::Conflict,
            Err(error) => Attempt::Failed(error),
        }
    }

    fn held(&mut self, lease: Lease) -> Attempt {
        self.observed = Some(Observed { lease, at: Instant::now() });
        Attempt::Held
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        holder == Some(self.settings.identity.as_str())
    }

    /// The lease with this instance as its holder, renewed at the present time. What others wrote
    /// beside holder and times stays.
    fn renewed(&self, mut lease: Lease) -> Lease {
        let ours = self.is_ours(&lease);
        let now = now();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.settings.identity.clone());
        spec.lease_duration_seconds = Some(i32::try_from(self.settings.lease.as_secs()).unwrap_or(i32::MAX));
        spec.renew_time = Some(now.clone());
        if !ours {
            spec.acquire_time = Some(now);
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        lease
    }
}

fn now() -> MicroTime {
    MicroTime(jiff::Timestamp::now())
}
