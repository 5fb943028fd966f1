//! Policies from ConfigMaps and files: watches them, compiles them, and puts them into service as
//! one set. Every instance reads; only the leader writes verdicts and histories (`policy_writer`).
//!
//! Only ConfigMaps with the label `bayplan.dev/policy` in the configured namespaces count. The
//! right to write a ConfigMap in another namespace therefore does not give the power to hold up
//! pods.

use super::client::Api;
use super::policies::{self, Policy};
use super::policy_files::{PolicyFiles, UnreadableFiles};
use super::policy_objects::{LABEL, age_of, name_of, texts_of, with_label};
use super::policy_state::{ObjectState, PolicyState};
use super::policy_store::{ObjectName, Service, StandIn, Store, Verdict};
use super::policy_writer::{PolicyWriter, Report};
use super::supervisor::{Supervisor, Task};
use super::term::Term;
use super::watch::{self, Update};
use k8s_openapi::api::core::v1::ConfigMap;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// Changes within this time go into service together.
const TOGETHER: Duration = Duration::from_millis(50);
/// How often files are read again, and failed writes are retried.
const LOOK: Duration = Duration::from_secs(2);

/// Where policies come from.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The namespaces whose ConfigMaps are read.
    pub namespaces: Vec<String>,
    /// A folder of `.bay` files, or one such file.
    pub files: Option<PathBuf>,
    /// The identity of this instance, for Events.
    pub identity: String,
    /// How to treat the pods of invalid policies.
    pub on_invalid: OnInvalid,
}

/// How to treat the pods that a policy selects, if it does not compile and no earlier text is
/// known.
#[derive(Clone, Debug, Default)]
pub struct OnInvalid {
    /// Whether pods are scheduled without the policy instead of waiting.
    pub ignore: bool,
    /// Exceptions, by the namespace of the policy.
    pub exceptions: BTreeMap<String, bool>,
}

impl OnInvalid {
    /// Whether the pods of an invalid policy in this namespace wait.
    pub fn waits(&self, namespace: &str) -> bool {
        !self.exceptions.get(namespace).copied().unwrap_or(self.ignore)
    }
}

/// Puts a set of policies into service under a revision. An error says why the set as a whole
/// cannot be used.
pub type Apply = Box<
    dyn Fn(Service<Policy>, u64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync,
>;

/// Why the first set of policies could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file does not compile; files have no earlier text.
    #[error("{0}")]
    Files(String),
    /// The files cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadableFiles),
    /// The set as a whole cannot be used.
    #[error("{0}")]
    Set(String),
}

/// What the watches report.
enum SourceEvent {
    Listed { namespace: usize, objects: Vec<ConfigMap> },
    Changed { namespace: usize, object: Box<ConfigMap> },
    Deleted(ObjectName),
    Trouble(String),
}

/// A ConfigMap as last seen.
struct Known {
    object: ConfigMap,
    namespace: usize,
}

/// The task that loads policies.
pub struct PolicySource {
    api: Api,
    supervisor: Supervisor,
    settings: Settings,
    store: Store<Policy>,
    apply: Apply,
    state: PolicyState,
    writer: PolicyWriter,
    objects: BTreeMap<ObjectName, Known>,
    files: Option<PolicyFiles>,
    /// Which namespaces have been listed.
    listed: Vec<bool>,
    revision: u64,
    /// The hash in service of each object, and since when.
    since: FxHashMap<ObjectName, (String, i64)>,
    /// Why the present set is not in service. It is tried again at each look.
    refused: Option<String>,
}

impl PolicySource {
    /// A source that has read nothing yet.
    pub fn new(api: Api, term: Term, settings: Settings, apply: Apply, supervisor: Supervisor) -> Self {
        let (on_invalid, namespaces) = (settings.on_invalid.clone(), settings.namespaces.clone());
        let stand_in: StandIn = Box::new(move |name, texts| {
            // A file that does not compile ends the start instead; only ConfigMaps have a stand-in.
            let namespace = name.split_once('/').map(|(namespace, _)| namespace.to_owned());
            let namespace = namespace.filter(|it| namespaces.contains(it))?;
            on_invalid.waits(&namespace).then(|| policies::stand_in_guarded(name, texts)).flatten()
        });
        Self {
            writer: PolicyWriter::new(api.clone(), term, settings.identity.clone()),
            api,
            supervisor,
            store: Store::new(Box::new(policies::compile_guarded), stand_in),
            apply,
            state: PolicyState::default(),
            objects: BTreeMap::new(),
            files: settings.files.clone().map(PolicyFiles::new),
            listed: vec![false; settings.namespaces.len()],
            settings,
            revision: 0,
            since: FxHashMap::default(),
            refused: None,
        }
    }

    /// The state, for health checks and pages.
    pub fn state(&self) -> PolicyState {
        self.state.clone()
    }

    /// Loads all policies, then follows changes for ever. `ready` receives the result of the first
    /// load; an error ends the task.
    pub async fn run(mut self, ready: tokio::sync::oneshot::Sender<Result<(), SourceError>>) {
        let (send, mut inbox) = mpsc::unbounded_channel();
        let first = self.load(&send, &mut inbox).await;
        let failed = first.is_err();
        let _ = ready.send(first);
        if !failed {
            self.follow(inbox).await;
        }
    }

    /// Reads files, histories and ConfigMaps, and puts them into service.
    async fn load(
        &mut self,
        send: &mpsc::UnboundedSender<SourceEvent>,
        inbox: &mut mpsc::UnboundedReceiver<SourceEvent>,
    ) -> Result<(), SourceError> {
        block_in_place(|| self.read_files())?;
        self.files_compile()?;
        let state = self.state.clone();
        self.writer.read_history(&self.settings.namespaces, |trouble| note_trouble(&state, trouble)).await;
        for (at, namespace) in self.settings.namespaces.iter().enumerate() {
            let watch = watch_namespace(self.api.clone(), namespace.clone(), at, send.clone());
            self.supervisor.spawn(Task::PolicyWatch, watch);
        }
        while !self.listed.iter().all(|listed| *listed) {
            let Some(event) = inbox.recv().await else { break };
            block_in_place(|| self.take(event));
        }
        self.serve().await.map_err(SourceError::Set)
    }

    /// Puts each change into service, and writes verdicts.
    async fn follow(&mut self, mut inbox: mpsc::UnboundedReceiver<SourceEvent>) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let changed = tokio::select! {
                event = inbox.recv() => {
                    let Some(event) = event else { return };
                    let mut changed = block_in_place(|| self.take(event));
                    tokio::time::sleep(TOGETHER).await;
                    while let Ok(event) = inbox.try_recv() {
                        changed |= block_in_place(|| self.take(event));
                    }
                    changed
                }
                _ = look.tick() => block_in_place(|| self.read_files()).unwrap_or_else(|error| {
                    tracing::warn!(%error, "the policies in service stay");
                    false
                }),
            };
            if changed || self.refused.is_some() {
                let served = self.serve().await;
                if let Err(error) = &served
                    && self.refused.as_ref() != Some(error)
                {
                    tracing::error!(%error, "cannot put the policies into service; the earlier set stays in service");
                }
                self.refused = served.err();
            }
            self.write().await;
        }
    }

    /// Takes over what a watch reports; whether any text changed.
    fn take(&mut self, event: SourceEvent) -> bool {
        match event {
            SourceEvent::Listed { namespace, objects } => {
                let of_namespace = self.objects.iter().filter(|(_, known)| known.namespace == namespace);
                let mut gone: Vec<ObjectName> = of_namespace.map(|(name, _)| name.clone()).collect();
                let mut changed = false;
                for object in objects {
                    gone.retain(|name| *name != name_of(&object));
                    changed |= self.put(object, namespace);
                }
                for name in gone {
                    changed |= self.remove(&name);
                }
                if let Some(listed) = self.listed.get_mut(namespace) {
                    *listed = true;
                }
                changed
            }
            SourceEvent::Changed { namespace, object } => self.put(*object, namespace),
            SourceEvent::Deleted(name) => self.remove(&name),
            SourceEvent::Trouble(trouble) => {
                note_trouble(&self.state, trouble);
                false
            }
        }
    }

    fn put(&mut self, object: ConfigMap, namespace: usize) -> bool {
        let name = name_of(&object);
        let texts = texts_of(&object);
        let changed = self.store.put(&name, &age_of(&object), texts, || self.writer.last_good(&name));
        if changed {
            self.writer.note(&name);
        }
        self.objects.insert(name, Known { object, namespace });
        changed
    }

    fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name);
        let known = self.store.remove(name);
        if known {
            tracing::info!(policy = name, "the policy object was deleted");
            self.writer.note(name);
        }
        known
    }

    /// Reads the files again; whether any text changed.
    fn read_files(&mut self) -> Result<bool, UnreadableFiles> {
        let Some(files) = &mut self.files else { return Ok(false) };
        let reading = files.read()?;
        let mut changed = false;
        for (path, texts) in reading.present {
            changed |= self.store.put(&path, "", texts, || None);
        }
        for path in reading.gone {
            changed |= self.store.remove(&path);
        }
        Ok(changed)
    }

    /// At the start all files must compile.
    fn files_compile(&self) -> Result<(), SourceError> {
        let verdicts = self.store.service().verdicts;
        let problems = verdicts.values().filter_map(|(verdict, _)| match verdict {
            Verdict::Refused { problems, .. } => Some(problems),
            _ => None,
        });
        let lines: Vec<String> = problems.flatten().map(ToString::to_string).collect();
        if lines.is_empty() { Ok(()) } else { Err(SourceError::Files(lines.join("\n"))) }
    }

    /// Puts the present set into service, and records the verdicts.
    async fn serve(&mut self) -> Result<(), String> {
        let service = self.store.service();
        let revision = self.revision + 1;
        (self.apply)(service.clone(), revision).await?;
        self.revision = revision;
        let now = jiff::Timestamp::now().as_second();
        let mut objects = Vec::new();
        for (name, (verdict, _)) in &service.verdicts {
            log_verdict(name, verdict);
            self.writer.note(name);
            let serving = self.store.good(name).map(|(_, hash)| hash.to_owned()).unwrap_or_default();
            let since = self.since.entry(name.clone()).or_insert_with(|| (serving.clone(), now));
            if since.0 != serving {
                *since = (serving.clone(), now);
            }
            let policies = service.policies.iter().filter(|(of, _)| of == name);
            objects.push(ObjectState {
                object: name.clone(),
                verdict: verdict.clone(),
                revision: serving,
                policies: policies.map(|(_, policy)| policy.name.clone()).collect(),
                since: since.1,
            });
        }
        self.since.retain(|name, _| service.verdicts.contains_key(name));
        let (policies, count) = (service.policies.len(), objects.len());
        tracing::info!(revision, policies, objects = count, "policies in service");
        self.state.serve(revision, objects);
        Ok(())
    }

    /// Writes the verdicts that changed.
    async fn write(&mut self) {
        let verdicts = self.store.service().verdicts;
        let (store, objects, refused) = (&self.store, &self.objects, &self.refused);
        let report = |name: &str| {
            let object = objects.get(name).zip(verdicts.get(name)).map(|(known, (verdict, _))| {
                let verdict = match (verdict, refused) {
                    (Verdict::Serving, Some(why)) => Verdict::Waiting { why: why.clone() },
                    _ => verdict.clone(),
                };
                (&known.object, verdict)
            });
            Report { object, good: store.good(name) }
        };
        self.writer.write(report).await;
    }
}

fn note_trouble(state: &PolicyState, trouble: String) {
    if state.note_trouble(trouble.clone()) {
        tracing::error!("cannot read policies: {trouble}");
    }
}

fn log_verdict(name: &str, verdict: &Verdict) {
    match verdict {
        Verdict::Serving => {}
        Verdict::Refused { problems, instead, holds } => {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            let instead = instead.as_deref().unwrap_or("nothing");
            let count = problems.len();
            tracing::warn!(policy = %name, problems = count, %first, %instead, ?holds, "policy refused");
        }
        Verdict::Waiting { why } => tracing::warn!(policy = %name, %why, "policy waits"),
    }
}

async fn watch_namespace(api: Api, namespace: String, at: usize, send: mpsc::UnboundedSender<SourceEvent>) {
    let collection = with_label(Some(&namespace), LABEL);
    watch::run::<ConfigMap, _>(&api, &collection, |update| {
        let event = match update {
            Update::Listed(objects) => SourceEvent::Listed { namespace: at, objects },
            Update::Changed(object) => SourceEvent::Changed { namespace: at, object: Box::new(object) },
            Update::Deleted(object) => SourceEvent::Deleted(name_of(&object)),
            Update::None => return std::future::ready(!send.is_closed()),
            Update::Trouble(trouble) => SourceEvent::Trouble(format!("{trouble} (namespace {namespace})")),
        };
        std::future::ready(send.send(event).is_ok())
    })
    .await;
}
