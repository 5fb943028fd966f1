//! Turns watches into Inputs: pods that have not ended, nodes and namespaces, each in watch order,
//! over the driver's one channel. `Synced` follows when all have been listed once. A missing right
//! is logged once, and its consumers wait until it is granted: without pods or nodes nothing is
//! scheduled, because decisions would be guesses; without namespaces, policies that read them do
//! not go into service.

use super::client::Api;
use super::driver::Mailbox;
use super::objects::{Slim, Whole};
use super::watch::{self, Collection, Trouble, Update, encode};
use crate::model::Kind;
use crate::model::objects::{namespace, node, pod};
use crate::scheduler::Input;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What policies need from the watches: the kinds to keep whole, because a policy reads more than
/// their slim fields, and whether namespaces are needed at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Keep pods whole.
    pub pods: bool,
    /// Keep nodes whole.
    pub nodes: bool,
    /// Keep namespaces whole.
    pub namespaces: bool,
    /// Whether a policy reads namespaces at all; in-tree plugins do not.
    pub any_namespace: bool,
}

impl Needs {
    fn of(self, kind: &Kind) -> bool {
        match kind {
            Kind::Pod => self.pods,
            Kind::Node => self.nodes,
            Kind::Namespace => self.namespaces,
        }
    }

    /// The union.
    pub fn and(self, other: Self) -> Self {
        Self {
            pods: self.pods || other.pods,
            nodes: self.nodes || other.nodes,
            namespaces: self.namespaces || other.namespaces,
            any_namespace: self.any_namespace || other.any_namespace,
        }
    }
}

/// The state of one watch, for readiness and metrics.
#[derive(Clone, Debug)]
pub struct WatchState {
    /// The resource's plural name.
    pub resource: &'static str,
    /// Whether it has been listed.
    pub listed: bool,
    /// Whether the listed objects are kept whole.
    pub whole: bool,
    /// When the last event or bookmark came.
    pub seen: Instant,
    /// Why it cannot be watched.
    pub trouble: Option<Trouble>,
}

/// The running watches.
#[derive(Clone)]
pub struct Informers {
    api: Api,
    shared: Arc<Shared>,
}

struct Shared {
    mailbox: Mailbox,
    needs: tokio::sync::watch::Sender<Needs>,
    states: Mutex<Vec<WatchState>>,
    changed: tokio::sync::Notify,
    started: AtomicBool,
    synced: AtomicBool,
}

/// The watched kinds and their resources.
pub(super) const RESOURCES: [(Kind, &str); 3] =
    [(Kind::Pod, "pods"), (Kind::Node, "nodes"), (Kind::Namespace, "namespaces")];

impl Informers {
    /// Watches that have not started.
    pub fn new(api: &Api, mailbox: Mailbox) -> Self {
        let state = |resource| WatchState {
            resource,
            listed: false,
            whole: false,
            seen: Instant::now(),
            trouble: None,
        };
        let shared = Arc::new(Shared {
            mailbox,
            needs: tokio::sync::watch::Sender::new(Needs::default()),
            states: Mutex::new(RESOURCES.iter().map(|(_, resource)| state(resource)).collect()),
            changed: tokio::sync::Notify::new(),
            started: AtomicBool::new(false),
            synced: AtomicBool::new(false),
        });
        Self { api: api.clone(), shared }
    }

    /// Starts watching.
    pub fn start(&self) {
        self.shared.started.store(true, Ordering::SeqCst);
        for at in 0..RESOURCES.len() {
            let shared = Arc::clone(&self.shared);
            let needs = shared.needs.subscribe();
            tokio::spawn(watch_kind(at, self.api.clone(), shared, needs));
        }
    }

    /// The state of the watches.
    pub fn states(&self) -> Vec<WatchState> {
        self.shared.states().clone()
    }

    /// Whether every needed kind has been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.synced.load(Ordering::SeqCst)
    }

    /// Keeps these kinds whole from now on, and lists again those that were slim. Returns when that
    /// is done; then policies that read whole objects may go into service. Before the start it
    /// returns at once, since the first list brings what is needed. Fails, and changes nothing, if
    /// policies read namespaces and these cannot be watched.
    pub async fn need(&self, needs: Needs) -> Result<(), String> {
        let started = self.shared.started.load(Ordering::SeqCst);
        if started {
            self.readable(needs)?;
        }
        self.shared.needs.send_if_modified(|held| std::mem::replace(held, needs) != needs);
        if !started {
            return Ok(());
        }
        self.shared.settle();
        loop {
            let mut notified = std::pin::pin!(self.shared.changed.notified());
            // Register before the check, so that no change is missed.
            notified.as_mut().enable();
            let done = RESOURCES.iter().zip(self.states()).all(|((kind, _), state)| {
                let whole = !needs.of(kind) || state.whole && state.listed;
                whole && (state.listed || *kind != Kind::Namespace || !needs.any_namespace)
            });
            if done {
                return Ok(());
            }
            self.readable(needs)?;
            notified.await;
        }
    }

    /// Fails if policies read namespaces and these cannot be watched.
    fn readable(&self, needs: Needs) -> Result<(), String> {
        let mut states = RESOURCES.iter().zip(self.states());
        match states.find(|((kind, _), _)| *kind == Kind::Namespace) {
            Some((_, WatchState { listed: false, trouble: Some(trouble), .. })) if needs.any_namespace => {
                Err(format!("a policy reads namespaces, and they cannot be watched: {trouble}"))
            }
            _ => Ok(()),
        }
    }
}

impl Shared {
    fn states(&self) -> std::sync::MutexGuard<'_, Vec<WatchState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self, at: usize) {
        if let Some(state) = self.states().get_mut(at) {
            state.seen = Instant::now();
        }
    }

    fn listed(&self, at: usize, whole: bool) {
        if let Some(state) = self.states().get_mut(at) {
            (state.listed, state.whole, state.trouble) = (true, whole, None);
            state.seen = Instant::now();
        }
        self.settle();
    }

    fn troubled(&self, at: usize, trouble: Trouble) {
        if let Some(state) = self.states().get_mut(at) {
            state.trouble = Some(trouble);
        }
        self.settle();
    }

    /// Sends `Synced` when everything needed has been listed for the first time.
    fn settle(&self) {
        let any_namespace = self.needs.borrow().any_namespace;
        let all = RESOURCES.iter().zip(self.states().iter()).all(|((kind, _), state)| {
            let forbidden = matches!(state.trouble, Some(Trouble::Forbidden { .. }));
            state.listed || *kind == Kind::Namespace && forbidden && !any_namespace
        });
        if all && !self.synced.swap(true, Ordering::SeqCst) {
            tracing::info!("caches are synced");
            self.mailbox.input(Input::Synced);
        }
        self.changed.notify_waiters();
    }
}

async fn watch_kind(
    at: usize,
    api: Api,
    shared: Arc<Shared>,
    mut needs: tokio::sync::watch::Receiver<Needs>,
) {
    let Some((kind, _)) = RESOURCES.get(at) else { return };
    loop {
        let whole = needs.borrow_and_update().of(kind);
        let changed = async {
            while needs.borrow_and_update().of(kind) == whole {
                if needs.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let watching = async {
            match (kind, whole) {
                (Kind::Pod, false) => watch_as::<pod::Pod>(at, &api, &shared, whole).await,
                (Kind::Pod, true) => watch_as::<Whole<0>>(at, &api, &shared, whole).await,
                (Kind::Node, false) => watch_as::<node::Node>(at, &api, &shared, whole).await,
                (Kind::Node, true) => watch_as::<Whole<1>>(at, &api, &shared, whole).await,
                (Kind::Namespace, false) => watch_as::<namespace::Namespace>(at, &api, &shared, whole).await,
                (Kind::Namespace, true) => watch_as::<Whole<2>>(at, &api, &shared, whole).await,
            }
        };
        tokio::select! {
            () = watching => return,
            () = changed => {}
        }
    }
}

/// The watched collection of a kind. Pods that have ended are left out.
pub fn collection(kind: &Kind) -> Collection {
    let resource = RESOURCES.iter().find(|(of, _)| of == kind).map_or("", |(_, resource)| resource);
    let selectors = match kind {
        Kind::Pod => format!("fieldSelector={}", encode("status.phase!=Succeeded,status.phase!=Failed")),
        _ => String::new(),
    };
    Collection { path: format!("/api/v1/{resource}"), resource, group: "", selectors }
}

async fn watch_as<T: Slim>(at: usize, api: &Api, shared: &Arc<Shared>, whole: bool) {
    let Some((_, resource)) = RESOURCES.get(at) else { return };
    let mut unreadable = Unreadable { resource, said: FxHashSet::default() };
    watch::run::<T>(api, &collection(&T::KIND), |update| {
        let sent = match update {
            Update::Listed(objects) => {
                let count = objects.len();
                // Each object is freed when it is parsed, so that memory never holds a large
                // cluster in both forms.
                let parsed = objects.into_iter().filter_map(|object| unreadable.parse(&object)).collect();
                let sent = shared.mailbox.input(Input::Relisted(T::KIND, parsed));
                tracing::info!(resource, count, "listed");
                shared.listed(at, whole);
                return sent;
            }
            Update::Changed(object) => match unreadable.parse(&object) {
                Some(parsed) => shared.mailbox.input(Input::Upserted(parsed)),
                None => true,
            },
            Update::Deleted(object) => shared.mailbox.input(Input::Deleted(object.key())),
            Update::None => true,
            Update::Trouble(trouble) => {
                tracing::error!(resource, "cannot watch: {trouble}");
                shared.troubled(at, trouble);
                return true;
            }
        };
        shared.alive(at);
        sent
    })
    .await;
}

/// Parses objects, and logs once each object that the API server accepts and we cannot use.
struct Unreadable {
    resource: &'static str,
    said: FxHashSet<String>,
}

impl Unreadable {
    /// Maximum number of remembered names; beyond it some are logged again.
    const MOST: usize = 10_000;

    fn parse<T: Slim>(&mut self, object: &T) -> Option<crate::model::Object> {
        match object.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let key = object.key();
                let name = format!("{}/{}", key.namespace, key.name);
                if self.said.len() >= Self::MOST {
                    self.said.clear();
                }
                if self.said.insert(name.clone()) {
                    tracing::error!(resource = self.resource, object = %name, %error, "left out an object that cannot be used");
                }
                None
            }
        }
    }
}
