//! Policies from ConfigMaps and files: watches them, compiles them, and puts them into service as
//! one set. Every instance reads; only the leader writes verdicts and histories (`writer`).
//!
//! Only ConfigMaps with the label `bayplan.dev/policy` in the configured namespaces count. The
//! right to write a ConfigMap in another namespace therefore does not give the power to hold up
//! pods.

use super::compiled::{self, Compiler};
use super::config_maps::{
    HISTORY, LABEL, age_of, for_exceptions, name_of, namespace_of, overrides_of, texts_of, with_label,
};
use super::faults::FaultReports;
use super::files::{PolicyFiles, UnreadableFiles};
use super::keeper::PolicyKeeper;
use super::loader::Loader;
use super::outgrown::Outgrown;
use super::overrides::Overrides;
use super::service::PolicyService;
use super::state::PolicyState;
use super::store::{StandIn, Standing};
use super::verdict::{ObjectName, Verdict};
use super::writer::PolicyWriter;
use crate::api::client::Api;
use crate::inputs::kinds;
use crate::inputs::watch::{self, Collection, Update};
use crate::process::supervisor::{Supervisor, Task};
use crate::process::term::Term;
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::schemas::Schemas;
use bayplan_model::KindName;
use k8s_openapi::api::core::v1::ConfigMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// Changes within this time go into service together.
const TOGETHER: Duration = Duration::from_millis(50);
/// How often files are read again, overrides may end, and failed writes are retried.
const LOOK: Duration = Duration::from_secs(2);
/// How long the scheduling thread may take to tell which rules failed.
const ANSWER: Duration = Duration::from_secs(1);
/// How long verdicts wait for the scheduling thread to take over the policies.
const TAKE_OVER: Duration = Duration::from_secs(1);

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
    /// The size of the cluster that policies are compiled for.
    pub size: Size,
}

/// How to treat the pods that a policy selects while no text of it can serve.
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

/// What the API server told of the kinds that policies look up.
#[derive(Default)]
struct KindsAsked {
    /// When each kind was requested last.
    asked: BTreeMap<KindName, Instant>,
    known: Schemas,
}

impl KindsAsked {
    /// How often a kind is requested again: its CustomResourceDefinition may change.
    const AGAIN: Duration = Duration::from_secs(10);
    /// How often a kind that is not there is requested.
    const ABSENT: Duration = Duration::from_secs(2);

    /// Requests these kinds, where it is time; returns all kinds if something changed. A kind that is gone keeps the types
    /// that it had.
    async fn learn(&mut self, api: &Api, named: &BTreeSet<KindName>) -> Option<Schemas> {
        self.asked.retain(|name, _| named.contains(name));
        let due = |name: &&KindName| {
            let patience = if self.known.get(name).is_some() { Self::AGAIN } else { Self::ABSENT };
            self.asked.get(*name).is_none_or(|asked| asked.elapsed() >= patience)
        };
        let due: BTreeSet<KindName> = named.iter().filter(due).cloned().collect();
        if due.is_empty() {
            return None;
        }
        let found = kinds::all_described(api, &due).await;
        let now = Instant::now();
        self.asked.extend(due.into_iter().map(|name| (name, now)));
        let before = self.known.clone();
        self.known.merge(&found);
        (self.known != before).then(|| self.known.clone())
    }
}

/// What the watches report.
enum SourceEvent {
    Listed {
        namespace: usize,
        objects: Vec<ConfigMap>,
    },
    Changed {
        namespace: usize,
        object: Box<ConfigMap>,
    },
    Deleted(ObjectName),
    /// The overrides of a namespace; `None`: there are none.
    Overrides {
        namespace: usize,
        object: Option<Box<ConfigMap>>,
    },
    /// The histories of a namespace, which the leader writes.
    History {
        namespace: usize,
        change: HistoryChange,
    },
    Trouble(String),
}

/// A change of histories.
enum HistoryChange {
    Listed(Vec<ConfigMap>),
    Written(Box<ConfigMap>),
    Deleted(Box<ConfigMap>),
}

/// A ConfigMap as last seen.
struct Known {
    object: ConfigMap,
    namespace: usize,
    /// It may hold exceptions alone.
    exceptions_alone: bool,
}

/// What has been listed of a namespace.
#[derive(Clone, Copy, Default)]
struct ListedParts {
    policies: bool,
    overrides: bool,
}

/// The task that loads policies.
pub(crate) struct PolicySource {
    api: Api,
    supervisor: Supervisor,
    settings: Settings,
    loader: Loader,
    writer: PolicyWriter,
    faults: FaultReports,
    outgrown: Outgrown,
    objects: BTreeMap<ObjectName, Known>,
    files: Option<PolicyFiles>,
    listed: Vec<ListedParts>,
    /// Why the present set is not in service. It is tried again at each look.
    refused: Option<String>,
    /// Why the scheduler does not decide with the set in service.
    undecided: Result<(), String>,
    /// What the API server told of the kinds that policies look up, and when.
    kinds: KindsAsked,
}

impl PolicySource {
    /// A source that has read nothing yet.
    pub(crate) fn new(
        api: Api,
        term: Term,
        settings: Settings,
        service: PolicyService,
        supervisor: Supervisor,
    ) -> Self {
        let (on_invalid, namespaces) = (settings.on_invalid.clone(), settings.namespaces.clone());
        let stand_in: StandIn = Box::new(move |name, texts, standing| {
            let namespace = namespace_of(name);
            // A file that does not compile ends the start instead.
            let is_file = !namespaces.iter().any(|own| own == namespace);
            if is_file && standing == Standing::Broken {
                return None;
            }
            on_invalid.waits(namespace).then(|| compiled::stand_in(name, texts, standing)).flatten()
        });
        let keeper = PolicyKeeper::new(api.clone(), term.clone());
        Self {
            writer: PolicyWriter::new(api.clone(), term, settings.identity.clone()),
            loader: Loader::new(service, keeper, stand_in, settings.size),
            faults: FaultReports::default(),
            outgrown: Outgrown::default(),
            api,
            supervisor,
            objects: BTreeMap::new(),
            files: settings.files.clone().map(PolicyFiles::new),
            listed: vec![ListedParts::default(); settings.namespaces.len()],
            settings,
            refused: None,
            undecided: Ok(()),
            kinds: KindsAsked::default(),
        }
    }

    /// The state, for health checks and pages.
    pub(crate) fn state(&self) -> PolicyState {
        self.loader.state.clone()
    }

    /// Compiles texts as those of the objects.
    pub(crate) fn compiler(&self) -> Compiler {
        self.loader.compiler()
    }

    /// Loads all policies, then follows changes for ever. `ready` receives the result of the first
    /// load; an error ends the task.
    pub(crate) async fn run(mut self, ready: tokio::sync::oneshot::Sender<Result<(), SourceError>>) {
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
        self.learn_kinds().await;
        let state = self.state();
        self.loader.keeper.read(&self.settings.namespaces, |trouble| note_trouble(&state, trouble)).await;
        self.loader.restore_owners();
        for (at, namespace) in self.settings.namespaces.iter().enumerate() {
            let policies = watch_policies(self.api.clone(), namespace.clone(), at, send.clone());
            self.supervisor.spawn(Task::PolicyWatch, policies);
            let overrides = watch_overrides(self.api.clone(), namespace.clone(), at, send.clone());
            self.supervisor.spawn(Task::PolicyWatch, overrides);
            let histories = watch_histories(self.api.clone(), namespace.clone(), at, send.clone());
            self.supervisor.spawn(Task::PolicyWatch, histories);
        }
        while !self.listed.iter().all(|listed| listed.policies && listed.overrides) {
            let Some(event) = inbox.recv().await else { break };
            block_in_place(|| self.take(event));
        }
        self.learn_kinds().await;
        block_in_place(|| self.serve()).map_err(SourceError::Set)?;
        self.files_compile()
    }

    /// Puts each change into service, and writes verdicts.
    async fn follow(&mut self, mut inbox: mpsc::UnboundedReceiver<SourceEvent>) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut watches, mut taken) = self.loader.changes();
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
                _ = watches.changed() => true,
                _ = taken.changed() => false,
                _ = look.tick() => {
                    let files = block_in_place(|| self.read_files()).unwrap_or_else(|error| {
                        tracing::warn!(%error, "the policies in service stay");
                        false
                    });
                    files | self.loader.overrides_ended()
                }
            };
            let changed = self.learn_kinds().await | changed;
            if changed || self.refused.is_some() {
                let served = block_in_place(|| self.serve());
                if let Err(error) = &served
                    && self.refused.as_ref() != Some(error)
                {
                    tracing::error!(%error, "cannot put the policies into service; the earlier set stays in service");
                }
                self.refused = served.err();
                self.loader.taken_over(TAKE_OVER).await;
            }
            self.write().await;
            self.report_faults().await;
            self.report_size().await;
        }
    }

    /// Asks the API server for the kinds that texts name; whether a text was compiled again.
    async fn learn_kinds(&mut self) -> bool {
        let named = self.loader.kinds_named();
        match self.kinds.learn(&self.api, &named).await {
            Some(schemas) => block_in_place(|| self.loader.set_schemas(schemas)),
            None => false,
        }
    }

    /// Takes over what a watch reports; whether anything changed that matters to the set.
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
                    listed.policies = true;
                }
                changed
            }
            SourceEvent::Changed { namespace, object } => self.put(*object, namespace),
            SourceEvent::Deleted(name) => self.remove(&name),
            SourceEvent::Overrides { namespace, object } => {
                if let Some(listed) = self.listed.get_mut(namespace) {
                    listed.overrides = true;
                }
                let Some(namespace) = self.settings.namespaces.get(namespace) else { return false };
                let (overrides, problems) = object.map(|object| Overrides::of(&object)).unwrap_or_default();
                for problem in problems {
                    tracing::warn!(%namespace, "{problem}; the entry has no effect");
                }
                self.loader.set_overrides(namespace, overrides)
            }
            SourceEvent::History { namespace, change } => {
                let Some(namespace) = self.settings.namespaces.get(namespace) else { return false };
                let changed = match change {
                    HistoryChange::Listed(all) => self.loader.keeper.replace(namespace, &all),
                    HistoryChange::Written(history) => self.loader.keeper.take(&history),
                    HistoryChange::Deleted(history) => self.loader.keeper.forget(&history),
                };
                // After the start histories tell the object that has a policy, and serve rollbacks.
                changed && (self.loader.rolls_back(namespace) | self.loader.follow_owners())
            }
            SourceEvent::Trouble(trouble) => {
                note_trouble(&self.loader.state, trouble);
                false
            }
        }
    }

    fn put(&mut self, object: ConfigMap, namespace: usize) -> bool {
        let name = name_of(&object);
        // Who may write the object may change its label, so that the label of an object that is known counts.
        let before = self.objects.get(&name).filter(|known| known.object.metadata.uid == object.metadata.uid);
        let exceptions_alone = for_exceptions(&object) || before.is_some_and(|known| known.exceptions_alone);
        let changed = self.loader.put(&name, &age_of(&object), texts_of(&object), exceptions_alone);
        if changed {
            self.writer.note(&name);
        }
        self.objects.insert(name, Known { object, namespace, exceptions_alone });
        changed
    }

    fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name);
        let known = self.loader.remove(name);
        if known {
            self.writer.note(name);
            tracing::info!(policy = name, "the policy object was deleted");
        }
        known
    }

    /// Reads the files again; whether any text changed.
    fn read_files(&mut self) -> Result<bool, UnreadableFiles> {
        let Some(files) = &mut self.files else { return Ok(false) };
        let reading = files.read()?;
        let mut changed = false;
        for (path, texts) in reading.present {
            changed |= self.loader.put_file(&path, texts);
        }
        for path in reading.gone {
            changed |= self.loader.remove(&path);
        }
        Ok(changed)
    }

    /// At the start all files must compile, and serve beside each other.
    fn files_compile(&self) -> Result<(), SourceError> {
        let of_files = |(name, _): &(&ObjectName, &Verdict)| !self.objects.contains_key(*name);
        let mut lines = Vec::new();
        for (name, verdict) in self.loader.in_service.verdicts.iter().filter(of_files) {
            match verdict {
                Verdict::Refused { problems, .. } => lines.extend(problems.iter().map(ToString::to_string)),
                Verdict::Waiting { why } if self.loader.is_blocked(name) => {
                    return Err(SourceError::Set(why.clone()));
                }
                _ => {}
            }
        }
        if lines.is_empty() { Ok(()) } else { Err(SourceError::Files(lines.join("\n"))) }
    }

    /// Puts the present set into service, and notes the objects whose verdict changed.
    fn serve(&mut self) -> Result<(), String> {
        let changed = self.loader.serve()?;
        changed.iter().for_each(|name| self.writer.note(name));
        Ok(())
    }

    /// Writes the verdicts that changed, and the texts that serve.
    async fn write(&mut self) {
        let undecided = self.loader.decides();
        if undecided != self.undecided {
            self.objects.keys().for_each(|name| self.writer.note(name));
            self.undecided = undecided;
        }
        let (loader, objects) = (&self.loader, &self.objects);
        let not_serving = self.refused.as_ref().or(self.undecided.as_ref().err());
        self.writer
            .write(|name| {
                let verdict = match (loader.in_service.verdicts.get(name)?, not_serving) {
                    (Verdict::Serving, Some(why)) => Verdict::Waiting { why: why.clone() },
                    (verdict, _) => verdict.clone(),
                };
                let revision = loader.in_service.chosen.get(name).cloned().unwrap_or_default();
                Some((&objects.get(name)?.object, verdict, revision))
            })
            .await;
        let named: BTreeSet<(String, String)> = self
            .loader
            .named()
            .into_iter()
            .map(|(object, policy)| (namespace_of(&object).to_owned(), policy))
            .collect();
        let objects = &self.objects;
        let object = |name: &str| objects.get(name).map(|known| known.object.clone());
        self.loader.keep(&named, object).await;
    }

    /// Writes Events about the policies whose rules failed, on their objects.
    async fn report_faults(&mut self) {
        if !self.writer.may_write() {
            return;
        }
        let Some(errors) = self.loader.rule_errors(ANSWER).await else { return };
        let (_, served) = self.loader.state.objects();
        let serves = |policy: &str| {
            let of = served.iter().find(|of| of.policies.iter().any(|own| own.name == policy));
            of.map(|of| of.object.clone()).filter(|object| self.objects.contains_key(object))
        };
        for (name, note) in self.faults.due(&errors, serves, tokio::time::Instant::now()) {
            if let Some(known) = self.objects.get(&name) {
                self.writer.write_fault(&known.object, note).await;
            }
        }
    }

    /// Writes Events about the policies that are compiled for a smaller cluster, on their objects.
    async fn report_size(&mut self) {
        let now = tokio::time::Instant::now();
        if !self.writer.may_write() || !self.outgrown.is_due(now) {
            return;
        }
        let Some(counts) = self.loader.object_counts(ANSWER).await else { return };
        let (_, served) = self.loader.state.objects();
        let objects = served
            .iter()
            .filter(|of| !of.policies.is_empty())
            .map(|of| (of.object.clone(), of.policies.iter().flat_map(|policy| &policy.looks_up).collect()));
        let (largest, size) = (self.loader.largest(), self.settings.size);
        let costly = match largest.exceeding(size) {
            larger if larger == size => BTreeSet::new(),
            larger => self.loader.too_costly_for(larger),
        };
        let parts = (&costly, &*largest.exceeded(size));
        for (name, note) in self.outgrown.due(&counts, parts, size, objects, now) {
            tracing::warn!(policy = %name, "{note}");
            if let Some(known) = self.objects.get(&name) {
                self.writer.write_outgrown(&known.object, note).await;
            }
        }
    }
}

fn note_trouble(state: &PolicyState, trouble: String) {
    if state.note_trouble(trouble.clone()) {
        tracing::error!("cannot read policies: {trouble}");
    }
}

async fn watch_policies(api: Api, namespace: String, at: usize, send: mpsc::UnboundedSender<SourceEvent>) {
    let collection = with_label(Some(&namespace), LABEL);
    follow(&api, &collection, &namespace, &send, |update| match update {
        Update::Listed(objects) => Some(SourceEvent::Listed { namespace: at, objects }),
        Update::Changed(object) => Some(SourceEvent::Changed { namespace: at, object: Box::new(object) }),
        Update::Deleted(object) => Some(SourceEvent::Deleted(name_of(&object))),
        Update::None | Update::Trouble(_) => None,
    })
    .await;
}

async fn watch_overrides(api: Api, namespace: String, at: usize, send: mpsc::UnboundedSender<SourceEvent>) {
    let collection = overrides_of(&namespace);
    let event = |object: Option<ConfigMap>| {
        Some(SourceEvent::Overrides { namespace: at, object: object.map(Box::new) })
    };
    follow(&api, &collection, &namespace, &send, |update| match update {
        Update::Listed(objects) => event(objects.into_iter().next()),
        Update::Changed(object) => event(Some(object)),
        Update::Deleted(_) => event(None),
        Update::None | Update::Trouble(_) => None,
    })
    .await;
}

async fn watch_histories(api: Api, namespace: String, at: usize, send: mpsc::UnboundedSender<SourceEvent>) {
    let collection = with_label(Some(&namespace), HISTORY);
    follow(&api, &collection, &namespace, &send, |update| {
        let change = match update {
            Update::Listed(objects) => HistoryChange::Listed(objects),
            Update::Changed(object) => HistoryChange::Written(Box::new(object)),
            Update::Deleted(object) => HistoryChange::Deleted(Box::new(object)),
            Update::None | Update::Trouble(_) => return None,
        };
        Some(SourceEvent::History { namespace: at, change })
    })
    .await;
}

/// Watches a collection of a namespace and sends what its updates mean.
async fn follow(
    api: &Api,
    collection: &Collection,
    namespace: &str,
    send: &mpsc::UnboundedSender<SourceEvent>,
    event: impl Fn(Update<ConfigMap>) -> Option<SourceEvent> + Send + Sync,
) {
    watch::run::<ConfigMap, _>(api, collection, |update| {
        let event = match update {
            Update::Trouble(trouble) => {
                Some(SourceEvent::Trouble(format!("{trouble} (namespace {namespace})")))
            }
            update => event(update),
        };
        std::future::ready(match event {
            Some(event) => send.send(event).is_ok(),
            None => !send.is_closed(),
        })
    })
    .await;
}
