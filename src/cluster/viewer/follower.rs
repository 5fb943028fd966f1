//! [`Follower`]: a cluster as `explain` reads it, followed by watches: objects of all kinds of the table, the policies, the
//! configuration that runs, and kinds that policies look up, once a policy does. As in `inputs::list`, objects are kept
//! whole, and a kind that may not be read is missing or ends the command.

use super::desk::Desk;
use crate::api::client::{Api, ApiError, Request};
use crate::inputs::informers;
use crate::inputs::kinds;
use crate::inputs::list::{self, COUNTS, LEFT_OUT, ListError, Listed, Options, Refused, WantedPolicies};
use crate::inputs::node_metrics;
use crate::inputs::objects::{Extended, OfCollection, Slim};
use crate::inputs::watch::{self, Collection, Link, Trouble, Update};
use crate::policies::listing::{self, PolicyObjects};
use crate::process::published::{self, Running};
use bayplan_lang::schemas::Schemas;
use bayplan_lang::types::ObjectKind;
use bayplan_model::objects::projection::Projection;
use bayplan_model::objects::{namespace, node, pod};
use bayplan_model::{KINDS, Kind, KindName, Object, ObjectKey, Reading, Seen};
use futures::future::{BoxFuture, FutureExt, ready};
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

/// How long the first lists may take.
const FIRST: Duration = Duration::from_secs(120);
/// How long the first list of a kind that policies look up may take.
const LOOK_UP: Duration = Duration::from_secs(10);
/// How often it is checked whether the API server answers, and how long it may take to answer: a connection that was cut
/// without a word is silent as one on which nothing happens.
const PING: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(3));
/// After how long a part is read again that could not be read.
const FAILED: Duration = Duration::from_secs(5);
/// Several objects of one change are read at once.
const SETTLE: Duration = Duration::from_millis(50);

/// Follows a cluster.
#[derive(Clone)]
pub struct Follower {
    api: Api,
    handle: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    state: Mutex<State>,
    /// Notified at every change of the state.
    changed: Notify,
    /// A policy, a history or an override changed.
    policies: Notify,
    /// The configuration that runs changed.
    running: Notify,
    /// Further watches.
    more: mpsc::UnboundedSender<Watch>,
    desk: Desk,
}

/// Where an object is in the order of a list: the turn of its kind, the place of its kind in the table, and namespace and
/// name as the API server sorts them.
type Place = (u8, usize, String);

#[derive(Default)]
struct State {
    objects: BTreeMap<Place, Object>,
    /// Warnings about objects that cannot be read whole.
    unusable: BTreeMap<Place, String>,
    watches: Vec<Watched>,
    /// Of kinds that policies look up: the place of the watch.
    looked_up: BTreeMap<KindName, usize>,
    policies: Option<Result<PolicyObjects, (Collection, ApiError)>>,
    running: Option<Result<Option<Running>, String>>,
    /// Since when the API server does not answer, and why.
    silent: Option<(Instant, String)>,
}

/// The state of a watch.
struct Watched {
    collection: Collection,
    /// Whether it is of an object of the table, without which nothing can be decided; `None`: it only tells of changes.
    needed: Option<bool>,
    /// How the first list ended.
    first: Option<Result<(), Trouble>>,
    down: Option<(Instant, String)>,
}

/// A watch to begin.
struct Watch {
    at: usize,
    of: Of,
}

/// What a watch brings.
enum Of {
    /// Objects of a kind of the table, by its place there.
    Table(usize),
    /// Objects that policies look up.
    LookedUp,
    /// Changes that make policies be read again.
    Policies,
    /// Changes that make the configuration be read again.
    Running,
}

/// Places of objects that policies look up are behind those of the table.
const LOOKED_UP: u8 = 3;

impl Follower {
    /// A follower that [`Follower::run`] keeps up to date. Tabs learn of changes from the desk.
    pub(super) fn new(api: &Api, options: Options, desk: Desk) -> (Self, BoxFuture<'static, ()>) {
        let (more, watches) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Notify::new(),
            policies: Notify::new(),
            running: Notify::new(),
            more,
            desk,
            options,
        });
        let follower = Self { api: api.only_reading(), handle: Handle::current(), shared };
        follower.begin();
        let run = follower.clone().run(watches).boxed();
        (follower, run)
    }

    /// The watches that are there from the start.
    fn begin(&self) {
        for (at, row) in KINDS.iter().enumerate() {
            let needed = matches!(row.kind, Kind::Pod | Kind::Node);
            self.add(informers::collection(&row.kind), Some(needed), Of::Table(at));
        }
        let Options { policies, configuration, .. } = &self.shared.options;
        for collection in listing::read_from(policies) {
            self.add(collection, None, Of::Policies);
        }
        if let (WantedPolicies::In(namespaces) | WantedPolicies::IfAllowed(namespaces), true) =
            (policies, *configuration)
        {
            for namespace in namespaces {
                self.add(published::published_in(namespace), None, Of::Running);
            }
        }
    }

    /// Begins a watch; returns its place.
    fn add(&self, collection: Collection, needed: Option<bool>, of: Of) -> usize {
        let mut state = self.shared.state();
        let at = state.watches.len();
        state.watches.push(Watched { collection, needed, first: None, down: None });
        // The receiver lives as long as the follower runs.
        let _ = self.shared.more.send(Watch { at, of });
        at
    }

    async fn run(self, mut watches: mpsc::UnboundedReceiver<Watch>) {
        let mut open: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        open.push(self.read_policies().boxed());
        open.push(self.read_running().boxed());
        open.push(self.ping().boxed());
        loop {
            tokio::select! {
                Some(watch) = watches.recv() => open.push(self.watch(watch)),
                Some(()) = open.next() => {}
            }
        }
    }

    fn watch(&self, Watch { at, of }: Watch) -> BoxFuture<'_, ()> {
        let kind = match of {
            Of::Table(row) => KINDS.get(row).map(|row| &row.kind),
            _ => None,
        };
        match (of, kind) {
            (Of::Table(row), Some(Kind::Pod)) => self.objects::<Extended<pod::Pod>>(at, row).boxed(),
            (Of::Table(row), Some(Kind::Node)) => self.objects::<Extended<node::Node>>(at, row).boxed(),
            (Of::Table(row), Some(Kind::Namespace)) => {
                self.objects::<Extended<namespace::Namespace>>(at, row).boxed()
            }
            (Of::Table(row), _) => self.objects::<OfCollection>(at, row).boxed(),
            (Of::LookedUp, _) => self.objects::<OfCollection>(at, at).boxed(),
            (Of::Policies, _) => self.signals(at, &self.shared.policies).boxed(),
            (Of::Running, _) => self.signals(at, &self.shared.running).boxed(),
        }
    }

    async fn objects<T: Slim>(&self, at: usize, row: usize) {
        let Some((collection, turn)) = self.shared.of_watch(at, row) else { return };
        let place = |key: &ObjectKey| (turn, row, format!("{}/{}", key.namespace, key.name));
        let report = |update: Update<T>| {
            let mut state = self.shared.state();
            match update {
                Update::Listed(objects) => {
                    let own = (turn, row, String::new())..(turn, row + 1, String::new());
                    let gone: Vec<Place> =
                        state.objects.range(own.clone()).map(|(of, _)| of.clone()).collect();
                    gone.iter().for_each(|of| drop(state.objects.remove(of)));
                    let gone: Vec<Place> = state.unusable.range(own).map(|(of, _)| of.clone()).collect();
                    gone.iter().for_each(|of| drop(state.unusable.remove(of)));
                    for object in objects {
                        state.take(&collection, place(&object.key()), &object);
                    }
                    state.first(at, Ok(()));
                }
                Update::Changed(object) => state.take(&collection, place(&object.key()), &object),
                Update::Deleted(object) => {
                    let of = place(&object.key());
                    state.objects.remove(&of);
                    state.unusable.remove(&of);
                }
                Update::None => return ready(true),
                Update::Trouble(trouble) => {
                    if !matches!(trouble, Trouble::Passing(_)) {
                        state.first(at, Err(trouble));
                    }
                }
            }
            drop(state);
            self.shared.changed();
            ready(true)
        };
        watch::run_linked::<T, _>(&self.api, &collection, report, |link| self.shared.linked(at, link)).await;
    }

    /// Watches a collection whose objects are read by others.
    async fn signals(&self, at: usize, reader: &Notify) {
        let Some((collection, _)) = self.shared.of_watch(at, 0) else { return };
        let report = |update: Update<Value>| {
            if !matches!(update, Update::None | Update::Trouble(_)) {
                reader.notify_one();
            }
            ready(true)
        };
        watch::run_linked(&self.api, &collection, report, |link| self.shared.linked(at, link)).await;
    }

    async fn read_policies(&self) {
        let Options { policies, size, kinds, .. } = &self.shared.options;
        loop {
            let found = listing::read(&self.api, policies, *size, kinds).await;
            let read = found.is_ok();
            self.shared.keep(found, |state| &mut state.policies);
            again(&self.shared.policies, read).await;
        }
    }

    async fn read_running(&self) {
        loop {
            let found = list::running(&self.api, &self.shared.options).await;
            let read = found.is_ok();
            self.shared.keep(found, |state| &mut state.running);
            again(&self.shared.running, read).await;
        }
    }

    /// Finds out whether the API server answers at all.
    async fn ping(&self) {
        let mut heard = Instant::now();
        loop {
            tokio::time::sleep(PING.0).await;
            let answer = self.api.send(Request::get("/version").within(PING.1)).await;
            let silent = match answer {
                Ok(_) | Err(ApiError::Status { .. } | ApiError::Unreadable(_)) => {
                    heard = Instant::now();
                    None
                }
                Err(error @ (ApiError::NotSent(_) | ApiError::Lost(_))) => Some((heard, error.to_string())),
            };
            let mut state = self.shared.state();
            let news = state.silent.is_some() != silent.is_some();
            state.silent = silent;
            drop(state);
            if news {
                self.shared.desk.news();
            }
        }
    }

    /// Waits for the first lists; an error if a part is missing without which nothing can be decided.
    pub(super) async fn ready(&self) -> Result<(), ListError> {
        let deadline = tokio::time::Instant::now() + FIRST;
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            let waits_for = {
                let state = self.shared.state();
                let open = |of: &&Watched| of.needed.is_some() && of.first.is_none();
                match state.watches.iter().find(open) {
                    Some(of) => of.collection.resource.clone().into_owned(),
                    None if state.policies.is_none() || state.running.is_none() => "configmaps".to_owned(),
                    None => return state.judged(&self.shared.options).map(drop),
                }
            };
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                let why = ApiError::Lost(format!("no list within {FIRST:?}"));
                return Err(ListError::Failed { resource: waits_for, why });
            }
        }
    }

    /// The cluster now.
    pub fn listed(&self) -> Listed {
        let state = self.shared.state();
        let policies = match &state.policies {
            Some(Ok(found)) => found.clone(),
            _ => PolicyObjects::default(),
        };
        let mut missing: Vec<String> = state.unusable.values().cloned().collect();
        missing.extend(policies.missing.iter().cloned());
        missing.extend(state.judged(&self.shared.options).unwrap_or_default());
        let of_table = state.objects.iter().filter(|((turn, ..), _)| *turn != LOOKED_UP);
        Listed {
            objects: of_table.map(|(_, object)| object.clone()).collect(),
            policies,
            running: state.running.clone().unwrap_or(Ok(None)),
            missing,
            namespace: self.api.namespace().to_owned(),
            server: self.api.server().to_owned(),
        }
    }

    /// The objects of kinds that policies look up, which are watched from now on; with warnings about what cannot be read.
    /// Waits for the first list. Not to be called by a task.
    pub fn look_up(&self, kinds: &[Arc<ObjectKind>]) -> (Vec<Object>, Vec<String>) {
        let (mut objects, mut missing) = (Vec::new(), Vec::new());
        for kind in kinds {
            let known = self.shared.state().looked_up.get(&kind.name).copied();
            let at = match (known, kinds::collection(kind, Projection::everything())) {
                (Some(at), _) => at,
                (None, Some(collection)) => {
                    let at = self.add(collection, Some(false), Of::LookedUp);
                    self.shared.state().looked_up.insert(kind.name.clone(), at);
                    at
                }
                (None, None) => {
                    missing.push(format!("the API server has no kind `{}`: nothing is looked up", kind.name));
                    continue;
                }
            };
            let first = self.handle.block_on(tokio::time::timeout(LOOK_UP, self.shared.first_of(at)));
            match first {
                Ok(Ok(())) => {}
                Ok(Err(trouble)) => missing.push(format!("`{}` cannot be looked up: {trouble}", kind.name)),
                Err(_) => {
                    missing.push(format!("`{}` cannot be looked up: the list takes too long", kind.name))
                }
            }
            let state = self.shared.state();
            let own = (LOOKED_UP, at, String::new())..(LOOKED_UP, at + 1, String::new());
            objects.extend(state.objects.range(own).map(|(_, object)| object.clone()));
        }
        (objects, missing)
    }

    /// The kinds of these names that the server has. Not to be called by a task.
    pub fn described(&self, kinds: &BTreeSet<KindName>) -> Schemas {
        self.handle.block_on(kinds::all_described(&self.api, kinds))
    }

    /// What nodes use now; with what there is to say about a part that is missing. Not to be called by a task.
    pub fn metrics(&self) -> (Vec<Reading>, Option<String>) {
        self.handle.block_on(node_metrics::read_by(&self.api))
    }

    /// Since when the cluster cannot be followed, and why.
    pub(super) fn lost(&self) -> Option<(Instant, String)> {
        let state = self.shared.state();
        let down = state.watches.iter().filter_map(|of| of.down.clone());
        down.chain(state.silent.clone()).min_by_key(|(since, _)| *since)
    }
}

/// Waits until a part is to be read again: when it changed, and soon where reading it failed.
async fn again(changed: &Notify, read: bool) {
    let patience = if read { Duration::MAX } else { FAILED };
    // Elapsed or notified: both read it again.
    let _ = tokio::time::timeout(patience, changed.notified()).await;
    tokio::time::sleep(SETTLE).await;
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a part that was read. One that could not be read leaves the last one in sight; the page says how old it is.
    fn keep<T, E>(&self, found: Result<T, E>, part: impl FnOnce(&mut State) -> &mut Option<Result<T, E>>) {
        let mut state = self.state();
        let known = part(&mut state);
        if found.is_ok() || !matches!(known, Some(Ok(_))) {
            *known = Some(found);
        }
        drop(state);
        self.changed();
    }

    /// The objects changed.
    fn changed(&self) {
        self.changed.notify_waiters();
        self.desk.changed();
    }

    /// The collection of a watch, and the turn of its objects.
    fn of_watch(&self, at: usize, row: usize) -> Option<(Collection, u8)> {
        let collection = self.state().watches.get(at)?.collection.clone();
        let turn = match collection.looked_up {
            Some(_) => LOOKED_UP,
            None => list::turn(&KINDS.get(row)?.kind),
        };
        Some((collection, turn))
    }

    fn linked(&self, at: usize, link: Link) {
        let mut state = self.state();
        let Some(watch) = state.watches.get_mut(at) else { return };
        // What the server does not serve, or this user may not read, is not lost: it was never there.
        let down = match link {
            Link::Down(why) if !matches!(watch.first, Some(Err(_))) => {
                let since = watch.down.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                Some((since, why))
            }
            Link::Down(_) | Link::Up => None,
        };
        let news = watch.down.is_some() != down.is_some();
        watch.down = down;
        drop(state);
        if news {
            self.desk.news();
        }
    }

    /// How the first list of a watch ends.
    async fn first_of(&self, at: usize) -> Result<(), Trouble> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(first) = self.state().watches.get(at).and_then(|of| of.first.clone()) {
                return first;
            }
            changed.await;
        }
    }
}

impl State {
    /// Takes an object as far as it can be read.
    fn take<T: Slim>(&mut self, collection: &Collection, place: Place, object: &T) {
        let (seen, problem, consequence) = match object.parse() {
            Ok(Seen { object, problem }) => (Some(object), problem, COUNTS),
            Err(problem) => (None, Some(problem), LEFT_OUT),
        };
        match problem {
            Some(problem) => {
                let said = list::unusable_part(collection, &object.key(), consequence, &problem);
                self.unusable.insert(place.clone(), said);
            }
            None => drop(self.unusable.remove(&place)),
        }
        match seen {
            Some(object) => drop(self.objects.insert(place, object)),
            None => drop(self.objects.remove(&place)),
        }
    }

    /// Notes how the first list of a watch ended. A right that is granted later, or a kind that the server has later, counts.
    fn first(&mut self, at: usize, ended: Result<(), Trouble>) {
        if let Some(watch) = self.watches.get_mut(at) {
            if watch.first.is_none() && ended.is_err() {
                watch.down = None;
            }
            if ended.is_ok() || watch.first.is_none() {
                watch.first = Some(ended);
            }
        }
    }

    /// Warnings about parts that are missing, as a command that reads once has them; an error if a needed one is missing.
    fn judged(&self, options: &Options) -> Result<Vec<String>, ListError> {
        let mut refused = Refused::default();
        for watch in &self.watches {
            let (Some(needed), Some(Err(trouble))) = (watch.needed, &watch.first) else { continue };
            if watch.collection.looked_up.is_some() || *trouble == Trouble::Absent && !needed {
                continue;
            }
            refused.add(watch.collection.clone(), as_error(trouble), needed)?;
        }
        if let Some(Err((collection, why))) = &self.policies {
            let needed = !matches!(options.policies, WantedPolicies::IfAllowed(_));
            refused.add(collection.clone(), why.clone(), needed)?;
        }
        refused.judge()
    }
}

/// Trouble as the error of a list.
fn as_error(trouble: &Trouble) -> ApiError {
    let status =
        |code, message: String| ApiError::Status { code, reason: String::new(), message, retry_after: None };
    match trouble {
        Trouble::Forbidden { message, .. } => status(403, message.clone()),
        Trouble::Absent => status(404, trouble.to_string()),
        Trouble::Unauthorized(message) => status(401, message.clone()),
        Trouble::Passing(message) => ApiError::Lost(message.clone()),
    }
}
