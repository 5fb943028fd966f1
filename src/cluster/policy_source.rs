//! Policies from ConfigMaps and files: watched, compiled aside, taken into service as one set. What became of a text
//! is written on its object (annotations by server-side apply under a field manager of our own) and as an Event;
//! the texts that served are kept in a ConfigMap `bayplan-history-<name>` beside it (`policy_history`), so that a broken
//! text does not end the service of the older one when another instance starts. Every instance reads, only the leader writes.
//!
//! Read are the ConfigMaps with the label `bayplan.dev/policy` of the namespaces that are named; other namespaces'
//! are not, so that whoever may write a ConfigMap somewhere cannot keep other people's pods waiting.

use super::calls::now_micro;
use super::client::{Api, ApiError, JSON, Request};
use super::policy_history::{self, Revision};
use super::policy_store::{Compile, Service, StandIn, Store, Texts, Verdict, hash};
use super::random::Backoff;
use super::term::Term;
use super::watch::{self, Collection, Seen};
use http::Method;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// The label of ConfigMaps that hold policies.
pub const LABEL: &str = "bayplan.dev/policy";
/// The label of ConfigMaps that keep what served last.
pub(super) const HISTORY: &str = "bayplan.dev/history";
/// What the names of those begin with.
const HISTORY_PREFIX: &str = "bayplan-history-";
/// Keys of a ConfigMap that hold a policy end in this, as files do.
const ENDING: &str = ".bay";
/// Who we are to server-side apply.
const FIELD_MANAGER: &str = "bayplan-policies";
/// Changes that come within this time are taken into service together.
const TOGETHER: Duration = Duration::from_millis(50);
/// How often files are looked at, and writes that failed are tried again.
const LOOK: Duration = Duration::from_secs(2);
/// Problems written on an object, at most; its annotations share 256 KiB.
const SHOWN: usize = 20;

/// Where policies come from.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Namespaces whose ConfigMaps are read.
    pub namespaces: Vec<String>,
    /// A folder of files that end in `.bay`, or one such file.
    pub files: Option<PathBuf>,
    /// Who writes verdicts, for events.
    pub identity: String,
    /// Whether the pods of a policy wait that does not compile and has no older text.
    pub on_invalid: OnInvalid,
}

/// What becomes of the pods that a policy names which does not compile and has no older text.
#[derive(Clone, Debug, Default)]
pub struct OnInvalid {
    /// They are scheduled as if it were not there; else they wait.
    pub ignore: bool,
    /// By namespace of the policy, where it is otherwise.
    pub but: BTreeMap<String, bool>,
}

impl OnInvalid {
    /// Whether pods wait for a policy of this object; never for files, which end the program instead.
    pub fn waits(&self, object: &str, path: bool) -> bool {
        let namespace = object.split('/').next().unwrap_or_default();
        !path && !self.but.get(namespace).copied().unwrap_or(self.ignore)
    }
}

/// Takes a set into service under a revision; an error says what is wrong with the set as a whole.
pub type Apply<P> =
    Box<dyn Fn(Service<P>, u64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// One policy object as others may see it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// `namespace/name`, or a path.
    pub object: String,
    /// The verdict on the present text.
    pub verdict: Verdict,
    /// The hash of the text that serves; empty when none does.
    pub revision: String,
    /// The policies that serve from it.
    pub policies: Vec<String>,
    /// Since when this text serves here, in seconds since 1970.
    pub since: i64,
}

/// The state of the source, shared with health, metrics and `/configz`.
#[derive(Clone, Debug, Default)]
pub struct State {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    loaded: bool,
    trouble: Option<String>,
    revision: u64,
    objects: Vec<Shown>,
}

impl State {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first set is in service; else why not.
    pub fn loaded(&self) -> Result<(), String> {
        let inner = self.inner();
        match (&inner.trouble, inner.loaded) {
            (_, true) => Ok(()),
            (Some(trouble), false) => Err(trouble.clone()),
            (None, false) => Err("policies are not loaded yet".into()),
        }
    }

    /// The revision in service and the objects.
    pub fn shown(&self) -> (u64, Vec<Shown>) {
        let inner = self.inner();
        (inner.revision, inner.objects.clone())
    }
}

/// Why the first set could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file does not compile; nothing older is known of it.
    #[error("{0}")]
    Files(String),
    /// The files cannot be read.
    #[error("cannot read policies from `{path}`: {why}")]
    Unreadable {
        /// The folder or file.
        path: String,
        /// The system's words.
        why: std::io::Error,
    },
    /// The set as a whole cannot be used.
    #[error("{0}")]
    Set(String),
}

enum Came {
    All { namespace: usize, objects: Vec<Value> },
    Applied(Value),
    Gone(Value),
    Trouble(String),
}

/// A ConfigMap as it was last seen.
struct Map {
    object: Value,
    namespace: usize,
}

/// The task that reads, compiles, applies and reports.
pub struct Source<P> {
    api: Api,
    term: Term,
    settings: Settings,
    store: Store<P>,
    apply: Apply<P>,
    state: State,
    /// ConfigMaps by `namespace/name`.
    maps: BTreeMap<String, Map>,
    /// Paths of the files that were last seen.
    files: Vec<String>,
    /// Texts that served last, by `namespace/name`, as the cluster keeps them.
    history: FxHashMap<String, Texts>,
    /// The same with those before them, newest first.
    revisions: FxHashMap<String, Vec<Revision>>,
    listed: Vec<bool>,
    revision: u64,
    since: FxHashMap<String, (String, i64)>,
    /// Objects whose verdict may have to be written.
    unwritten: Vec<String>,
    /// Why what is there is not in service as a set, when it is not: it is tried again at each look.
    out: Option<String>,
    /// What cannot be written is said once.
    complained: bool,
}

impl<P: Clone + Send + Sync + 'static> Source<P> {
    /// A source that has read nothing.
    pub fn new(
        api: Api,
        term: Term,
        settings: Settings,
        (compile, stand_in): (Compile<P>, StandIn),
        apply: Apply<P>,
    ) -> Self {
        let listed = vec![false; settings.namespaces.len()];
        let (on_invalid, namespaces) = (settings.on_invalid.clone(), settings.namespaces.clone());
        let stand_in: StandIn = Box::new(move |name, texts| {
            // A file is named by its path.
            let map = namespaces.iter().any(|it| name.split_once('/').is_some_and(|(first, _)| first == it));
            on_invalid.waits(name, !map).then(|| stand_in(name, texts)).flatten()
        });
        Self {
            api,
            term,
            settings,
            store: Store::new(compile, stand_in),
            apply,
            state: State::default(),
            maps: BTreeMap::new(),
            files: Vec::new(),
            history: FxHashMap::default(),
            revisions: FxHashMap::default(),
            listed,
            revision: 0,
            since: FxHashMap::default(),
            unwritten: Vec::new(),
            out: None,
            complained: false,
        }
    }

    /// What others may see of it.
    pub fn state(&self) -> State {
        self.state.clone()
    }

    /// Reads everything once and takes it into service, then goes on for ever. `ready` is told when the first set
    /// serves; an error before that ends it.
    pub async fn run(mut self, ready: tokio::sync::oneshot::Sender<Result<(), SourceError>>) {
        let (send, mut inbox) = mpsc::unbounded_channel();
        if let Err(error) = block_in_place(|| self.read_files(true)) {
            let _ = ready.send(Err(error));
            return;
        }
        self.read_history().await;
        for (at, namespace) in self.settings.namespaces.iter().enumerate() {
            tokio::spawn(watch_maps(self.api.clone(), namespace.clone(), at, send.clone()));
        }
        while !self.listed.iter().all(|listed| *listed) {
            let Some(came) = inbox.recv().await else { return };
            block_in_place(|| self.take(came));
        }
        let first = self.serve().await.map_err(SourceError::Set);
        let failed = first.is_err();
        let _ = ready.send(first);
        if failed {
            return;
        }
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let changed = tokio::select! {
                came = inbox.recv() => match came {
                    Some(came) => {
                        let mut changed = block_in_place(|| self.take(came));
                        tokio::time::sleep(TOGETHER).await;
                        while let Ok(came) = inbox.try_recv() {
                            changed |= block_in_place(|| self.take(came));
                        }
                        changed
                    }
                    None => return,
                },
                _ = look.tick() => match block_in_place(|| self.read_files(false)) {
                    Ok(changed) => changed,
                    Err(error) => {
                        tracing::warn!(%error, "keeping the policies that serve");
                        false
                    }
                },
            };
            if changed || self.out.is_some() {
                let served = self.serve().await;
                if let Err(error) = &served
                    && self.out.as_ref() != Some(error)
                {
                    tracing::error!(%error, "cannot take the policies into service; the older set goes on deciding");
                }
                self.out = served.err();
            }
            self.write().await;
        }
    }

    fn take(&mut self, came: Came) -> bool {
        match came {
            Came::All { namespace, objects } => {
                let mut gone: Vec<String> = self
                    .maps
                    .iter()
                    .filter(|(_, map)| map.namespace == namespace)
                    .map(|(name, _)| name.clone())
                    .collect();
                let mut changed = false;
                for object in objects {
                    let name = name_of(&object);
                    gone.retain(|it| *it != name);
                    changed |= self.put_map(name, object, namespace);
                }
                for name in gone {
                    changed |= self.remove_map(&name);
                }
                if let Some(listed) = self.listed.get_mut(namespace) {
                    *listed = true;
                }
                changed
            }
            Came::Applied(object) => {
                let name = name_of(&object);
                let at =
                    self.settings.namespaces.iter().position(|it| object["metadata"]["namespace"] == **it);
                self.put_map(name, object, at.unwrap_or_default())
            }
            Came::Gone(object) => self.remove_map(&name_of(&object)),
            Came::Trouble(trouble) => {
                tracing::error!("cannot read policies: {trouble}");
                self.state.inner().trouble = Some(trouble);
                false
            }
        }
    }

    fn put_map(&mut self, name: String, object: Value, namespace: usize) -> bool {
        let age = age_of(&object);
        let history = &self.history;
        let changed = self.store.put(&name, &age, texts_of(&object), || history.get(&name).cloned());
        self.maps.insert(name.clone(), Map { object, namespace });
        if changed {
            self.unwritten.push(name);
        }
        changed
    }

    fn remove_map(&mut self, name: &str) -> bool {
        self.maps.remove(name);
        let known = self.store.remove(name);
        if known {
            tracing::info!(policy = name, "policy object is gone");
            self.unwritten.push(name.to_owned());
        }
        known
    }

    /// Takes what is there into service and notes the verdicts that change.
    async fn serve(&mut self) -> Result<(), String> {
        let service = self.store.service();
        let revision = self.revision + 1;
        (self.apply)(service.clone(), revision).await?;
        self.revision = revision;
        let now = jiff::Timestamp::now().as_second();
        let mut shown = Vec::new();
        for (name, (verdict, _)) in &service.verdicts {
            let serving = self.store.good(name).map(|(_, hash)| hash.to_owned()).unwrap_or_default();
            let since = self.since.entry(name.clone()).or_insert_with(|| (serving.clone(), now));
            if since.0 != serving {
                *since = (serving.clone(), now);
            }
            let policies =
                service.policies.iter().filter(|(of, _)| of == name).map(|(_, it)| it.name.clone()).collect();
            match verdict {
                Verdict::Serving => {}
                Verdict::Refused { problems, instead, holds } => {
                    let first = problems.first().map(ToString::to_string).unwrap_or_default();
                    let instead = instead.as_deref().unwrap_or("nothing");
                    tracing::warn!(policy = %name, problems = problems.len(), %first, %instead, ?holds, "policy refused");
                }
                Verdict::Waiting { why } => tracing::warn!(policy = %name, %why, "policy waits"),
            }
            shown.push(Shown {
                object: name.clone(),
                verdict: verdict.clone(),
                revision: serving,
                policies,
                since: since.1,
            });
            if !self.unwritten.contains(name) {
                self.unwritten.push(name.clone());
            }
        }
        self.since.retain(|name, _| service.verdicts.contains_key(name));
        tracing::info!(
            revision,
            policies = service.policies.len(),
            objects = shown.len(),
            "policies in service"
        );
        let mut inner = self.state.inner();
        (inner.loaded, inner.trouble, inner.revision, inner.objects) = (true, None, revision, shown);
        Ok(())
    }

    /// Reads the files anew; whether anything changed.
    fn read_files(&mut self, first: bool) -> Result<bool, SourceError> {
        let Some(path) = &self.settings.files else { return Ok(false) };
        let unreadable = |why| SourceError::Unreadable { path: path.display().to_string(), why };
        let mut files = BTreeMap::new();
        let mut open = vec![path.clone()];
        while let Some(at) = open.pop() {
            if at.is_dir() {
                for entry in std::fs::read_dir(&at).map_err(unreadable)? {
                    let entry = entry.map_err(unreadable)?.path();
                    // Kubernetes mounts ConfigMaps by way of hidden folders; they would be seen twice.
                    let hidden =
                        entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                    if !hidden && (entry.is_dir() || entry.extension().is_some_and(|it| it == "bay")) {
                        open.push(entry);
                    }
                }
            } else {
                files.insert(at.display().to_string(), std::fs::read_to_string(&at).map_err(unreadable)?);
            }
        }
        let gone: Vec<String> =
            self.files.iter().filter(|name| !files.contains_key(*name)).cloned().collect();
        self.files = files.keys().cloned().collect();
        let mut changed = false;
        for (name, text) in files {
            changed |= self.store.put(&name, "", [(name.clone(), text)].into(), || None);
        }
        for name in gone {
            changed |= self.store.remove(&name);
        }
        if first {
            let verdicts = self.store.service().verdicts;
            let refused: Vec<String> = verdicts
                .values()
                .filter_map(|(verdict, _)| match verdict {
                    Verdict::Refused { problems, .. } => Some(problems),
                    _ => None,
                })
                .flatten()
                .map(ToString::to_string)
                .collect();
            if !refused.is_empty() {
                return Err(SourceError::Files(refused.join("\n")));
            }
        }
        Ok(changed)
    }

    /// Reads what served before, until that succeeds.
    async fn read_history(&mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
        for namespace in self.settings.namespaces.clone() {
            loop {
                let path = format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector={HISTORY}");
                match self.api.call::<Value>(Request::get(path)).await {
                    Ok(list) => {
                        for object in list["items"].as_array().into_iter().flatten() {
                            let Some((of, texts)) = kept_by(object) else { continue };
                            self.revisions.insert(of.clone(), policy_history::revisions(object, &texts));
                            self.history.insert(of, texts);
                        }
                        break;
                    }
                    Err(error) => {
                        let trouble = match error.code() {
                            Some(403) => format!(
                                "{error}; add this rule to the role in namespace {namespace}: {{apiGroups: [\"\"], \
                                 resources: [\"configmaps\"], verbs: [\"list\", \"watch\"]}}"
                            ),
                            _ => error.to_string(),
                        };
                        if self.state.inner().trouble.as_ref() != Some(&trouble) {
                            self.take(Came::Trouble(trouble));
                        }
                        tokio::time::sleep(backoff.wait()).await;
                    }
                }
            }
        }
    }

    /// Writes verdicts and history, as the leader.
    async fn write(&mut self) {
        if !self.term.may_write() || self.unwritten.is_empty() {
            return;
        }
        let mut names = std::mem::take(&mut self.unwritten);
        names.sort();
        names.dedup();
        let verdicts = self.store.service().verdicts;
        let out = self.out.clone().map(|why| Verdict::Waiting { why });
        for name in names {
            let done = match (self.maps.get(&name), verdicts.get(&name)) {
                (Some(map), Some((verdict, _))) => {
                    let verdict = match &out {
                        Some(waiting) if *verdict == Verdict::Serving => waiting,
                        _ => verdict,
                    };
                    self.write_one(&name, &map.object, verdict).await
                }
                // Gone: what served of it serves no more.
                _ if name.contains('/') && self.history.contains_key(&name) => self.forget(&name).await,
                _ => Ok(None),
            };
            match done {
                Ok(None) => {}
                Ok(Some((name, revisions))) => match revisions.first() {
                    Some(newest) => {
                        self.history.insert(name.clone(), newest.texts.clone());
                        self.revisions.insert(name, revisions);
                    }
                    None => {
                        self.history.remove(&name);
                        self.revisions.remove(&name);
                    }
                },
                Err(error) => {
                    if !self.complained {
                        self.complained = true;
                        let help = match error.code() {
                            Some(403) => {
                                let rule = watch::rule("", &["configmaps"], &["create", "patch", "delete"]);
                                format!("; add this rule to the role in its namespace: {rule}")
                            }
                            _ => String::new(),
                        };
                        tracing::warn!(policy = %name, %error, "cannot write what became of a policy{help}");
                    }
                    if error.is_passing() {
                        self.unwritten.push(name);
                    }
                }
            }
        }
    }

    async fn write_one(
        &self,
        name: &str,
        object: &Value,
        verdict: &Verdict,
    ) -> Result<Option<(String, Vec<Revision>)>, ApiError> {
        let mut recorded = None;
        if let Some((texts, hash)) = self.store.good(name)
            && self.history.get(name) != Some(texts)
        {
            let newest = Revision {
                revision: hash.to_owned(),
                at: super::calls::now_rfc3339(),
                by: policy_history::author(object),
                texts: texts.clone(),
            };
            let before = self.revisions.get(name).cloned().unwrap_or_default();
            let revisions = policy_history::followed_by(before, newest);
            self.record(name, &revisions, hash).await?;
            recorded = Some((name.to_owned(), revisions));
        }
        let serving = self.store.good(name).map(|(_, hash)| hash.to_owned()).unwrap_or_default();
        let annotations = annotations(verdict, &hash(&texts_of(object)), &serving);
        let there = &object["metadata"]["annotations"];
        if annotations.iter().all(|(key, value)| there[key] == *value) {
            return Ok(recorded);
        }
        let meta = &object["metadata"];
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
                "annotations": annotations,
            },
        });
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", path_of(name));
        let request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", &body);
        match self.api.send(request).await {
            // Gone or replaced meanwhile: the watch brings what is there now.
            Err(error) if matches!(error.code(), Some(404 | 409)) => return Ok(recorded),
            other => other?,
        };
        self.event(meta, verdict).await;
        Ok(recorded)
    }

    /// Keeps the texts that served, the present one first.
    async fn record(&self, name: &str, revisions: &[Revision], hash: &str) -> Result<(), ApiError> {
        let (namespace, object) = name.split_once('/').unwrap_or_default();
        let history = format!("{HISTORY_PREFIX}{object}");
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": history, "namespace": namespace, "labels": {HISTORY: ""},
                "annotations": {
                    "bayplan.dev/history-of": name, "bayplan.dev/revision": hash,
                    "bayplan.dev/recorded-at": super::calls::now_rfc3339(),
                },
            },
            "data": policy_history::data(revisions),
        });
        let path =
            format!("{}?fieldManager={FIELD_MANAGER}&force=true", path_of(&format!("{namespace}/{history}")));
        let request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", &body);
        self.api.send(request).await.map(drop)
    }

    async fn forget(&self, name: &str) -> Result<Option<(String, Vec<Revision>)>, ApiError> {
        let (namespace, object) = name.split_once('/').unwrap_or_default();
        let path = path_of(&format!("{namespace}/{HISTORY_PREFIX}{object}"));
        let request = Request { method: Method::DELETE, ..Request::get(path) };
        match self.api.send(request).await {
            Err(error) if error.code() != Some(404) => Err(error),
            _ => Ok(Some((name.to_owned(), Vec::new()))),
        }
    }

    /// The verdict as an Event about the object; its loss is no harm, the annotation says the same.
    async fn event(&self, meta: &Value, verdict: &Verdict) {
        let (kind, reason, note) = match verdict {
            Verdict::Serving => {
                ("Normal", "PolicyLoaded", String::from("the policies of this object are in service"))
            }
            Verdict::Refused { problems, instead, holds } => {
                let what = match instead {
                    Some(hash) => format!("refused; the text {hash} goes on deciding: "),
                    None if !holds.is_empty() => {
                        let names = holds.join(", ");
                        format!("refused; no older text is known, so the pods of {names} wait: ")
                    }
                    None => {
                        String::from("refused; no older text is known, so these policies decide nothing: ")
                    }
                };
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                ("Warning", "PolicyRefused", what + &lines.join("\n"))
            }
            Verdict::Waiting { why } => ("Warning", "PolicyWaiting", why.clone()),
        };
        let name = meta["name"].as_str().unwrap_or_default();
        let namespace = meta["namespace"].as_str().unwrap_or_default();
        let stamp = jiff::Timestamp::now().as_nanosecond();
        let body = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": format!("{name}.{stamp:x}"), "namespace": namespace},
            "eventTime": now_micro(), "reportingController": "bayplan.dev/policies",
            "reportingInstance": self.settings.identity, "action": "Load", "reason": reason, "type": kind,
            "note": note.chars().take(1_000).collect::<String>(),
            "regarding": {
                "apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace, "uid": meta["uid"],
            },
        });
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        if let Err(error) = self.api.send(Request::with_body(Method::POST, path, JSON, &body)).await {
            tracing::info!(policy = name, %error, "cannot write an event about a policy");
        }
    }
}

async fn watch_maps(api: Api, namespace: String, at: usize, send: mpsc::UnboundedSender<Came>) {
    let collection = maps(Some(&namespace), LABEL);
    watch::run::<Value>(&api, &collection, |seen| {
        let came = match seen {
            Seen::All(objects) => Came::All { namespace: at, objects },
            Seen::Applied(object) => Came::Applied(object),
            Seen::Gone(object) => Came::Gone(object),
            Seen::Alive => return !send.is_closed(),
            Seen::Trouble(trouble) => Came::Trouble(format!("{trouble} (namespace {namespace})")),
        };
        send.send(came).is_ok()
    })
    .await;
}

/// The ConfigMaps with a label, of one namespace or of all.
pub(super) fn maps(namespace: Option<&str>, label: &str) -> Collection {
    let path = match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
        None => "/api/v1/configmaps".to_owned(),
    };
    let selectors = format!("labelSelector={}", watch::encode(label));
    Collection { path, resource: "configmaps", group: "", selectors }
}

/// What policy objects are ordered by: creation, then uid.
pub(super) fn age_of(object: &Value) -> String {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    format!("{} {}", text("creationTimestamp"), text("uid"))
}

/// The object whose last good texts a ConfigMap keeps, and these texts. It stands in the same namespace: nobody keeps
/// texts for others.
pub(super) fn kept_by(object: &Value) -> Option<(String, Texts)> {
    let of = object["metadata"]["annotations"]["bayplan.dev/history-of"].as_str()?;
    let (namespace, _) = of.split_once('/')?;
    (object["metadata"]["namespace"] == *namespace).then(|| (of.to_owned(), texts_of(object)))
}

/// `namespace/name`.
pub(super) fn name_of(object: &Value) -> String {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

fn path_of(name: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap_or_default();
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

/// The policies of a ConfigMap: its keys that end in `.bay`.
pub(super) fn texts_of(object: &Value) -> Texts {
    let data = object["data"].as_object().into_iter().flatten();
    let policies = data.filter(|(key, _)| key.ends_with(ENDING));
    policies.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

/// What is written on an object. Nothing in it depends on time or on who writes it, so that replicas agree.
fn annotations(verdict: &Verdict, present: &str, serving: &str) -> BTreeMap<&'static str, String> {
    let mut status = json!({"state": verdict.word(), "text": present, "revision": serving});
    match verdict {
        Verdict::Serving => {}
        Verdict::Refused { problems, holds, .. } => {
            if !holds.is_empty() {
                status["holds"] = json!(holds);
            }
            let shown: Vec<Value> = problems
                .iter()
                .take(SHOWN)
                .map(|it| {
                    json!({
                        "code": it.code, "key": it.key, "line": it.line, "column": it.column,
                        "message": it.message, "help": it.help,
                    })
                })
                .collect();
            status["errors"] = Value::Array(shown);
            if problems.len() > SHOWN {
                status["more"] = json!(problems.len() - SHOWN);
            }
        }
        Verdict::Waiting { why } => status["why"] = json!(why),
    }
    [
        ("bayplan.dev/verdict", verdict.word().to_owned()),
        ("bayplan.dev/revision", serving.to_owned()),
        ("bayplan.dev/status", status.to_string()),
    ]
    .into()
}
