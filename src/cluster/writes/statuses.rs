//! Writes the status of PodGroups and ElasticQuotas, if `--write-status` names them: what the controllers of scheduler-plugins
//! write. Every replica watches, the leader writes. `group_status` and `quota_status` compute a status,
//! `status_writer` decides when to write it, and `effects` sends it after everything about pods. A kind, a right or a policy
//! that is missing is reported once, and nothing else waits for it.
//!
//! Statuses are beside the scheduler, since they need pods that have ended, which it does not read. What a quota uses is not
//! computed a second time: `Plugin::sum` gives the sum of a ledger by name and key, and the task reads it on the scheduling
//! thread when the snapshot has changed.

use super::calls::{StatusPatch, now_rfc3339};
use super::effects::Effects;
use super::group_status::{self, Groups, LABEL, Pod};
use super::quota_status::{self, LedgerName, Quotas, State, Sums};
use super::status_writer::{Name, PAUSE, Seen, Status, StatusWriter, Write};
use crate::api::client::Api;
use crate::inputs::informers::Informers;
use crate::inputs::watch::{self, Collection, Update, Watched, encode, rule};
use crate::port::metrics::Metrics;
use crate::process::driver::Driver;
use crate::process::term::Term;
use bayplan_framework::{Answer, CallError};
use bayplan_model::objects::projection::Projection;
use bayplan_scheduler::Scheduler;
use futures::future::{BoxFuture, join_all};
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Which statuses are written; none by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Those of PodGroups.
    pub pod_groups: bool,
    /// Those of ElasticQuotas, whose `used` is a sum of this ledger.
    pub elastic_quotas: Option<LedgerName>,
}

impl Settings {
    /// Reads words such as `PodGroup`, `ElasticQuota` and `ElasticQuota=POLICY.LEDGER`.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut settings = Self::default();
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("PodGroup", "") => settings.pod_groups = true,
                ("ElasticQuota", "") => settings.elastic_quotas = Some(LedgerName::default()),
                ("ElasticQuota", ledger) => settings.elastic_quotas = Some(ledger.parse()?),
                _ => return Err(format!("the status of `{word}` cannot be written")),
            }
        }
        Ok(settings)
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The kinds whose status is written.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let kinds = [(self.pod_groups, &POD_GROUPS), (self.elastic_quotas.is_some(), &ELASTIC_QUOTAS)];
        kinds.into_iter().filter(|(asked, _)| *asked).map(|(_, kind)| kind.kind).collect()
    }

    /// The rules of a role that it needs.
    pub(crate) fn rights(&self) -> Vec<String> {
        let kinds = [(self.pod_groups, &POD_GROUPS), (self.elastic_quotas.is_some(), &ELASTIC_QUOTAS)];
        kinds.into_iter().filter(|(asked, _)| *asked).flat_map(|(_, kind)| kind.rights()).collect()
    }
}

/// A kind whose status is written.
struct StatusKind {
    kind: &'static str,
    plural: &'static str,
    /// The fields of the status that are written.
    fields: &'static [&'static str],
}

const GROUP: &str = "scheduling.x-k8s.io";
const POD_GROUPS: StatusKind =
    StatusKind { kind: "PodGroup", plural: "podgroups", fields: group_status::FIELDS };
const ELASTIC_QUOTAS: StatusKind =
    StatusKind { kind: "ElasticQuota", plural: "elasticquotas", fields: quota_status::FIELDS };

impl StatusKind {
    fn rights(&self) -> [String; 2] {
        [rule(GROUP, &[self.plural], &["list", "watch"]), self.right_to_write()]
    }

    fn right_to_write(&self) -> String {
        rule(GROUP, &[&format!("{}/status", self.plural)], &["patch"])
    }

    fn collection(&self) -> Collection {
        Collection {
            path: format!("/apis/{GROUP}/v1alpha1/{}", self.plural),
            resource: self.plural.into(),
            group: GROUP.into(),
            selectors: String::new(),
            keep: Projection::everything(),
            looked_up: None,
        }
    }

    fn path_of(&self, (namespace, name): &Name) -> String {
        format!("/apis/{GROUP}/v1alpha1/namespaces/{namespace}/{}/{name}", self.plural)
    }

    /// An object as the watch shows it.
    fn seen(&self, object: &Value) -> Option<(Name, Seen)> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let name = (text("/metadata/namespace")?, text("/metadata/name")?);
        let present = object.get("status").and_then(Value::as_object);
        let field = |field: &&str| Some(((*field).to_owned(), present?.get(*field)?.clone()));
        let status = self.fields.iter().filter_map(field).collect();
        let (uid, version) = (text("/metadata/uid")?, text("/metadata/resourceVersion")?);
        Some((name, Seen { uid, version, status }))
    }
}

/// The pods that name a group, whatever their phase.
fn pods_of_groups() -> Collection {
    Collection {
        path: String::from("/api/v1/pods"),
        resource: "pods".into(),
        group: "".into(),
        selectors: format!("labelSelector={}", encode(LABEL)),
        keep: Projection::default(),
        looked_up: None,
    }
}

/// What the watches bring.
enum News {
    Pods(Update<Pod>),
    Groups(Update<Value>),
    Quotas(Update<Value>),
}

/// The objects of one kind: what is known of them, and what is written.
struct Part<T> {
    kind: &'static StatusKind,
    objects: T,
    writer: StatusWriter,
    listed: bool,
    /// Why it cannot be read, why its status cannot be computed, and why that cannot be written.
    troubles: [Option<String>; 3],
}

/// The places of troubles.
const READING: usize = 0;
const COMPUTING: usize = 1;
const WRITING: usize = 2;

impl<T: Default> Part<T> {
    fn new(kind: &'static StatusKind) -> Self {
        Self {
            kind,
            objects: T::default(),
            writer: StatusWriter::default(),
            listed: false,
            troubles: [None, None, None],
        }
    }

    /// Says once why no status can be written.
    fn troubled(&mut self, at: usize, why: Option<String>, metrics: &Metrics) {
        let Some(trouble) = self.troubles.get_mut(at) else { return };
        if let Some(why) = why.as_ref().filter(|why| Some(*why) != trouble.as_ref()) {
            tracing::warn!(kind = self.kind.kind, "no status is written: {why}");
        }
        if why.is_none() && trouble.is_some() {
            tracing::info!(kind = self.kind.kind, "the status is written again");
        }
        *trouble = why;
        metrics.status_waits.set([self.kind.kind], usize::from(self.troubles.iter().any(Option::is_some)));
    }

    /// Takes an update of the watch; `put` and `remove` tell the objects of it. Returns whose status may differ now.
    fn take(
        &mut self,
        update: Update<Value>,
        put: impl Fn(&mut T, &Name, &Value, &Status),
        remove: impl Fn(&mut T, &Name),
        metrics: &Metrics,
    ) -> Vec<Name> {
        let (objects, listed) = match update {
            Update::Listed(objects) => {
                self.listed = true;
                self.troubled(READING, None, metrics);
                (objects, true)
            }
            Update::Changed(object) => (vec![object], false),
            Update::Deleted(object) => {
                let found = self.kind.seen(&object);
                if let Some((name, _)) = &found {
                    self.writer.gone(name);
                    remove(&mut self.objects, name);
                }
                return found.into_iter().map(|(name, _)| name).collect();
            }
            Update::None => return Vec::new(),
            Update::Trouble(trouble) => {
                self.troubled(READING, Some(trouble.to_string()), metrics);
                return Vec::new();
            }
        };
        let now = Instant::now();
        let mut names = Vec::new();
        for object in &objects {
            let Some((name, seen)) = self.kind.seen(object) else { continue };
            put(&mut self.objects, &name, object, &seen.status);
            self.writer.see(&name, seen, now);
            names.push(name);
        }
        if listed {
            names.sort();
            let known: Vec<Name> = self.writer.names().cloned().collect();
            for name in known.iter().filter(|name| names.binary_search(name).is_err()) {
                self.writer.gone(name);
                remove(&mut self.objects, name);
            }
        }
        names
    }

    fn answered(&mut self, write: &Write, answer: &Result<Answer, CallError>, metrics: &Metrics) {
        let result = match answer {
            Ok(_) => "done",
            Err(CallError::Refused { .. }) => "refused",
            Err(CallError::Unknown(_)) => "unknown",
            Err(CallError::Retry { .. }) => "retry",
        };
        metrics.status_writes.with([self.kind.kind, result]).inc();
        self.writer.answered(write, answer, Instant::now());
        let name = format!("{}/{}", write.name.0, write.name.1);
        match answer {
            Ok(_) => self.troubled(WRITING, None, metrics),
            Err(CallError::Refused { code: 403, .. }) => {
                let why =
                    format!("it is forbidden; add this rule to the role: {}", self.kind.right_to_write());
                self.troubled(WRITING, Some(why), metrics);
            }
            Err(error) => {
                tracing::info!(kind = self.kind.kind, object = %name, ?error, "status not written")
            }
        }
    }
}

/// A write that ended: whether it was about a quota, and its answer.
type Ended = (bool, Write, Result<Answer, CallError>);

/// Maximum number of writes that wait for their turn.
const OPEN: usize = 32;

/// Writes statuses.
pub(crate) struct Statuses {
    pub(crate) settings: Settings,
    pub(crate) api: Api,
    pub(crate) effects: Effects,
    pub(crate) driver: Driver<Scheduler>,
    pub(crate) informers: Informers,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) term: Term,
}

impl Statuses {
    /// Watches and writes for ever.
    pub(crate) async fn run(self) {
        for rule in self.settings.rights() {
            tracing::info!("the status of other objects is written; the role needs this rule: {rule}");
        }
        let (tell, told) = mpsc::channel(256);
        let mut watches: Vec<BoxFuture<'_, ()>> = Vec::new();
        if self.settings.pod_groups {
            watches.push(Box::pin(watched(&self.api, pods_of_groups(), tell.clone(), News::Pods)));
            watches.push(Box::pin(watched(&self.api, POD_GROUPS.collection(), tell.clone(), News::Groups)));
        }
        if self.settings.elastic_quotas.is_some() {
            watches.push(Box::pin(watched(&self.api, ELASTIC_QUOTAS.collection(), tell, News::Quotas)));
        }
        let work = Work {
            of: &self,
            groups: Part::new(&POD_GROUPS),
            pods_listed: false,
            quotas: Part::new(&ELASTIC_QUOTAS),
            known: None,
            open: FuturesUnordered::new(),
        };
        tokio::join!(join_all(watches), work.run(told));
    }
}

/// Hands what a watch brings on.
async fn watched<T: Watched>(
    api: &Api,
    collection: Collection,
    tell: mpsc::Sender<News>,
    news: fn(Update<T>) -> News,
) {
    watch::run::<T, _>(api, &collection, |update| {
        let tell = tell.clone();
        async move { tell.send(news(update)).await.is_ok() }
    })
    .await;
}

/// What is known, and the open writes.
struct Work<'s> {
    of: &'s Statuses,
    groups: Part<Groups>,
    pods_listed: bool,
    quotas: Part<Quotas>,
    /// The state whose sums the quotas have.
    known: Option<State>,
    open: FuturesUnordered<BoxFuture<'s, Ended>>,
}

impl Work<'_> {
    async fn run(mut self, mut told: mpsc::Receiver<News>) {
        let mut tick = tokio::time::interval(PAUSE);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let again = self.send(Instant::now());
            let alarm =
                tokio::time::sleep_until(again.unwrap_or_else(|| Instant::now() + Duration::from_secs(60)));
            tokio::select! {
                news = told.recv() => match news {
                    Some(news) => self.take(news),
                    None => return,
                },
                Some((of_quota, write, answer)) = self.open.next() => match of_quota {
                    true => self.quotas.answered(&write, &answer, &self.of.metrics),
                    false => self.groups.answered(&write, &answer, &self.of.metrics),
                },
                _ = tick.tick() => self.sum().await,
                () = alarm => {}
            }
        }
    }

    fn take(&mut self, news: News) {
        let metrics = &self.of.metrics;
        let names = match news {
            News::Pods(Update::Listed(pods)) => {
                self.groups.objects.replace_pods(&pods);
                self.pods_listed = true;
                self.groups.troubled(COMPUTING, None, metrics);
                self.groups.writer.names().cloned().collect()
            }
            News::Pods(Update::Changed(pod)) => self.groups.objects.put_pod(&pod).into_iter().collect(),
            News::Pods(Update::Deleted(pod)) => self.groups.objects.remove_pod(&pod).into_iter().collect(),
            News::Pods(Update::None) => Vec::new(),
            News::Pods(Update::Trouble(trouble)) => {
                self.groups.troubled(COMPUTING, Some(trouble.to_string()), metrics);
                Vec::new()
            }
            News::Groups(update) => {
                let put = |groups: &mut Groups, name: &Name, object: &Value, status: &Status| {
                    groups.put(name, object, status.clone());
                };
                self.groups.take(update, put, Groups::remove, metrics)
            }
            News::Quotas(update) => {
                let put =
                    |quotas: &mut Quotas, name: &Name, object: &Value, _: &Status| quotas.put(name, object);
                // Sums are read again when a quota is new, or names other resources.
                if !matches!(update, Update::None) {
                    self.known = None;
                }
                self.quotas.take(update, put, Quotas::remove, metrics);
                return;
            }
        };
        if !self.pods_listed || !self.groups.listed {
            return;
        }
        let (now, time) = (Instant::now(), now_rfc3339());
        for name in names {
            let status = self.groups.objects.status_of(&name, &time);
            self.groups.writer.want(&name, status, now);
        }
    }

    /// Asks for the sums of the quotas' namespaces, if anything changed.
    async fn sum(&mut self) {
        let Some(ledger) = self.of.settings.elastic_quotas.clone() else { return };
        // Before that, pods are missing from the sums.
        if !self.quotas.listed || !self.of.informers.is_synced() || !self.of.term.may_write() {
            return;
        }
        let (namespaces, known) = (self.quotas.objects.namespaces(), self.known);
        let asked = self
            .of
            .driver
            .inspect(move |scheduler| quota_status::sums(scheduler, &ledger, &namespaces, known));
        let Some((state, Some(sums))) = asked.await else { return };
        self.known = Some(state);
        let trouble = sums.as_ref().err().cloned();
        self.quotas.troubled(COMPUTING, trouble, &self.of.metrics);
        let (sums, now) = (sums.unwrap_or_else(|_| Sums::new()), Instant::now());
        for (name, status) in self.quotas.objects.statuses(&sums) {
            self.quotas.writer.want(&name, status, now);
        }
    }

    /// Sends what may go out now. Returns when to look again, if nothing else happens.
    fn send(&mut self, now: Instant) -> Option<Instant> {
        if !self.of.term.may_write() {
            return Some(now + PAUSE);
        }
        let mut again: Option<Instant> = None;
        for of_quota in [false, true] {
            let part = if of_quota { &mut self.quotas.writer } else { &mut self.groups.writer };
            let kind = if of_quota { &ELASTIC_QUOTAS } else { &POD_GROUPS };
            while self.open.len() < OPEN {
                let write = match part.next(now) {
                    Ok(write) => write,
                    Err(at) => {
                        again = again.into_iter().chain(at).min();
                        break;
                    }
                };
                let (path, uid, status) =
                    (kind.path_of(&write.name), write.uid.clone(), write.changes.clone());
                let effects = &self.of.effects;
                self.open.push(Box::pin(async move {
                    let answer = effects.patch_status(StatusPatch { path, uid, status }).await;
                    (of_quota, write, answer)
                }));
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Settings, String> {
        Settings::parse(&words.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_is_written_unless_it_is_named() {
        assert!(Settings::parse(&[]).unwrap().is_empty());
        let both = parse("PodGroup,ElasticQuota=mine.sums").unwrap();
        assert_eq!(both.elastic_quotas.as_ref().unwrap().to_string(), "mine.sums");
        assert_eq!(parse("ElasticQuota").unwrap().elastic_quotas, Some(LedgerName::default()));
        assert_eq!(
            both.rights(),
            [
                r#"{apiGroups: ["scheduling.x-k8s.io"], resources: ["podgroups"], verbs: ["list", "watch"]}"#,
                r#"{apiGroups: ["scheduling.x-k8s.io"], resources: ["podgroups/status"], verbs: ["patch"]}"#,
                r#"{apiGroups: ["scheduling.x-k8s.io"], resources: ["elasticquotas"], verbs: ["list", "watch"]}"#,
                r#"{apiGroups: ["scheduling.x-k8s.io"], resources: ["elasticquotas/status"], verbs: ["patch"]}"#,
            ]
        );
        for bad in ["podgroup", "PodGroup=a.b", "ElasticQuota=a", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
