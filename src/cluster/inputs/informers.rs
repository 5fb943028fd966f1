//! Turns watches into Inputs: pods that have not ended, nodes, namespaces, and the kinds of objects
//! that plugins in service need ([`Need`]), each in watch order, over the driver's one channel.
//! `Synced` follows when every needed kind has been listed once, those that policies look up were
//! tried, and policies were chosen for what the watches bring. A missing right is logged once, and its
//! consumers wait until it is granted: without pods, nodes or another needed kind nothing is scheduled,
//! because decisions would be guesses; without namespaces, policies that read them do not go into
//! service; without an optional kind, or one that older API servers do not have, its plugins decide as if there were no
//! such objects. A watch that brings nothing for minutes stops decisions,
//! too (`Input::Stale`), until it is up to date again.

use super::look_ups::LookUps;
use super::node_metrics::Poller;
use super::objects::{Extended, OfCollection, Slim};
use super::unreadable::Unreadable;
use super::watch::{self, Collection, Trouble, Update, encode};
use crate::api::client::Api;
use crate::api::server_version::ServerVersion;
use crate::extender::objects::{RawObjects, Whole};
use crate::policies::largest::Largest;
use crate::process::driver::Mailbox;
use crate::process::supervisor::{Supervisor, Task};
use bayplan_framework::Need;
use bayplan_lang::typed::reads::Keeps;
use bayplan_model::objects::projection::Projection;
use bayplan_model::objects::{namespace, node, pod};
use bayplan_model::{KINDS, Kind, KindName, KindRow, PodMarks};
use bayplan_scheduler::Input;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What policies need from the watches: what to keep of each kind beside the slim fields, and whether
/// namespaces are needed at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Needs {
    /// Of objects.
    pub keeps: Keeps,
    /// Whether a policy reads namespaces at all; in-tree plugins do not.
    pub any_namespace: bool,
    /// Whether a policy reads what nodes use.
    pub metrics: bool,
    /// Whether a policy adds labels to a pod with its Binding.
    pub binding_labels: bool,
}

impl Needs {
    /// What is kept beside the slim fields; of other kinds nothing.
    fn of(&self, kind: &Kind) -> &Projection {
        static NOTHING: LazyLock<Projection> = LazyLock::new(Projection::default);
        match kind {
            Kind::Pod => &self.keeps.pods,
            Kind::Node => &self.keeps.nodes,
            Kind::Namespace => &self.keeps.namespaces,
            _ => &NOTHING,
        }
    }

    /// The union.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.keeps.merge(&other.keeps);
        self.any_namespace |= other.any_namespace;
        self.metrics |= other.metrics;
        self.binding_labels |= other.binding_labels;
        self
    }
}

/// The state of one watch, for readiness and metrics.
#[derive(Clone, Debug)]
pub struct WatchState {
    /// The resource's plural name.
    pub resource: &'static str,
    /// Whether it has been listed.
    pub listed: bool,
    /// What is kept of the listed objects.
    pub kept: Arc<Projection>,
    /// When the last event or bookmark came.
    pub seen: Instant,
    /// Why it cannot be watched.
    pub trouble: Option<Trouble>,
    /// How many of its objects cannot be read whole.
    pub unreadable: usize,
    /// The most parts that one of its objects has.
    pub largest: Largest,
}

/// The running watches.
#[derive(Clone)]
pub struct Informers {
    api: Api,
    shared: Arc<Shared>,
    /// Of the metrics API.
    poller: Poller,
}

/// Who needs a watched kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NeededBy {
    /// Every decision.
    All,
    /// Policies in service.
    Policies,
    /// Every decision, where the API server has the kind: older ones that are supported do not.
    IfServed,
    /// A plugin; without the kind it decides as if there were no such objects.
    Optional,
}

/// A watched kind.
#[derive(Clone, Copy, Debug)]
struct Watching {
    row: &'static KindRow,
    by: NeededBy,
}

impl Watching {
    /// Pods, nodes and namespaces, and what plugins need.
    fn all(needs: &[Need]) -> Vec<Self> {
        let by = |kind: &Kind| match needs.iter().find(|need| need.kind == *kind) {
            Some(need) if need.optional => Some(NeededBy::Optional),
            Some(_) if kind.row().is_some_and(|row| row.since.is_some()) => Some(NeededBy::IfServed),
            Some(_) => Some(NeededBy::All),
            None => None,
        };
        let watching = |row: &'static KindRow| {
            let by = match &row.kind {
                Kind::Pod | Kind::Node => Some(NeededBy::All),
                // Whether it is optional depends on what policies read.
                Kind::Namespace => {
                    by(&row.kind).filter(|by| *by == NeededBy::All).or(Some(NeededBy::Policies))
                }
                // Policies refuse no pod of a DaemonSet; policies come at any time.
                Kind::DaemonSet => by(&row.kind).or(Some(NeededBy::Optional)),
                kind => by(kind),
            };
            by.map(|by| Self { row, by })
        };
        KINDS.iter().filter_map(watching).collect()
    }

    /// Whether decisions need it now; `read`: policies read namespaces.
    fn is_needed(self, state: &WatchState, read: bool) -> bool {
        match self.by {
            NeededBy::All => true,
            NeededBy::Policies => read,
            NeededBy::IfServed | NeededBy::Optional => !self.can_be_missing(state, read),
        }
    }

    /// Whether decisions can be made without it. A failure that may pass counts only if nothing reads it: otherwise
    /// pods would be placed without regard to it.
    fn can_be_missing(self, state: &WatchState, read: bool) -> bool {
        let lasting = !matches!(state.trouble, None | Some(Trouble::Passing(_)));
        match self.by {
            NeededBy::All => false,
            NeededBy::Policies => lasting || state.trouble.is_some() && !read,
            NeededBy::IfServed => state.trouble == Some(Trouble::Absent),
            NeededBy::Optional => lasting,
        }
    }
}

/// The kinds that are watched for plugins with these needs, each with whether every decision needs it.
pub(crate) fn watched(needs: &[Need]) -> impl Iterator<Item = (&'static KindRow, bool)> {
    let always = |by: NeededBy| matches!(by, NeededBy::All | NeededBy::IfServed);
    Watching::all(needs).into_iter().map(move |of| (of.row, always(of.by)))
}

struct Shared {
    watching: Vec<Watching>,
    mailbox: Mailbox,
    /// The watches of the kinds that policies look up.
    look_ups: LookUps,
    needs: tokio::sync::watch::Sender<Needs>,
    states: Mutex<Vec<WatchState>>,
    /// Counts changes of the states.
    generation: tokio::sync::watch::Sender<u64>,
    synced: AtomicBool,
    /// Notified when `synced` turns true.
    now_synced: tokio::sync::Notify,
    stale: AtomicBool,
    max_age: Duration,
    /// The version of the API server, once it is known.
    server: OnceLock<ServerVersion>,
    /// Objects as the API server gave them, for extenders.
    raw: Option<Arc<RawObjects>>,
}

/// How often the age of the watches is checked.
const LOOK: Duration = Duration::from_secs(1);

/// After this time less is kept, when policies read less.
const LESS_AFTER: Duration = Duration::from_secs(60);

impl Informers {
    /// Watches that have not started. A watch without an event or bookmark for longer than `max_age`
    /// is too old to decide on. `needs` are those of the plugins. `raw` takes what the API server gave,
    /// for extenders.
    pub fn new(
        api: &Api,
        mailbox: Mailbox,
        max_age: Duration,
        needs: &[Need],
        raw: Option<Arc<RawObjects>>,
    ) -> Self {
        let watching = Watching::all(needs);
        let state = |resource| WatchState {
            resource,
            listed: false,
            kept: Arc::default(),
            seen: Instant::now(),
            trouble: None,
            unreadable: 0,
            largest: Largest::default(),
        };
        let generation = tokio::sync::watch::Sender::new(0);
        let look_ups = LookUps::new(mailbox.clone(), generation.clone(), max_age);
        let poller = Poller::new(mailbox.clone());
        let shared = Arc::new(Shared {
            mailbox,
            look_ups,
            needs: tokio::sync::watch::Sender::new(Needs::default()),
            states: Mutex::new(watching.iter().map(|of| state(of.row.plural)).collect()),
            watching,
            generation,
            synced: AtomicBool::new(false),
            now_synced: tokio::sync::Notify::new(),
            stale: AtomicBool::new(false),
            max_age,
            server: OnceLock::new(),
            raw,
        });
        Self { api: api.clone(), shared, poller }
    }

    /// Starts watching.
    pub fn start(&self, supervisor: &Supervisor) {
        for at in 0..self.shared.watching.len() {
            let shared = Arc::clone(&self.shared);
            let needs = shared.needs.subscribe();
            supervisor.spawn(Task::Watch, watch_kind(at, self.api.clone(), shared, needs));
        }
        supervisor.spawn(Task::WatchAge, watch_age(Arc::clone(&self.shared)));
        supervisor.spawn(Task::LookUps, self.shared.look_ups.clone().run(self.api.clone()));
        supervisor.spawn(Task::NodeMetrics, self.poller.clone().run(self.api.clone()));
    }

    /// The state of the watches.
    pub fn states(&self) -> Vec<WatchState> {
        self.shared.states().clone()
    }

    /// The most parts that one object has.
    pub(crate) fn largest(&self) -> Largest {
        self.shared.states().iter().fold(Largest::default(), |largest, state| largest.max(state.largest))
    }

    /// Whether every needed kind has been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.synced.load(Ordering::SeqCst)
    }

    /// Waits until every needed kind has been listed once.
    pub(crate) async fn synced(&self) {
        loop {
            let mut notified = std::pin::pin!(self.shared.now_synced.notified());
            // Register before the check, so that no change is missed.
            notified.as_mut().enable();
            if self.is_synced() {
                return;
            }
            notified.await;
        }
    }

    /// The time since the last event or bookmark of each watch, by its resource, or its kind if policies look it up.
    pub(crate) fn ages(&self) -> Vec<(String, Duration)> {
        let of_table =
            self.states().into_iter().map(|state| (state.resource.to_owned(), state.seen.elapsed()));
        of_table.chain(named(self.shared.look_ups.ages())).collect()
    }

    /// The watches that are too old to decide anything on, and how old they are.
    pub(crate) fn stale(&self) -> Vec<(&'static str, Duration)> {
        self.shared.too_old()
    }

    /// The watches that are too old, with those of kinds that policies look up: these hold up only the pods of such
    /// policies.
    pub(crate) fn stale_for_any(&self) -> Vec<(String, Duration)> {
        let of_table = self.stale().into_iter().map(|(resource, age)| (resource.to_owned(), age));
        of_table.chain(named(self.shared.look_ups.too_old())).collect()
    }

    /// Keeps what policies read from now on, and lists the kinds again of which less was kept.
    pub(crate) fn want(&self, needs: Needs) {
        self.shared.look_ups.want(&needs.keeps.objects);
        self.poller.want(needs.metrics);
        // Not while a list is delivered that may keep less.
        let _states = self.shared.states();
        self.shared.needs.send_if_modified(|held| std::mem::replace(held, needs.clone()) != needs);
    }

    /// What a policy with these needs lacks now, and the way out; to be read after its name.
    pub(crate) fn unmet(&self, needs: &Needs) -> Option<String> {
        let looked_up = self.shared.look_ups.unmet(&needs.keeps.objects);
        looked_up.or_else(|| self.unmet_of_table(needs)).or_else(|| self.unmet_of_server(needs))
    }

    /// The API server answered with this version, as long as it runs: upgrades are seen by the next start.
    pub(crate) fn served_by(&self, server: ServerVersion) {
        let _known = self.shared.server.set(server);
    }

    fn unmet_of_server(&self, needs: &Needs) -> Option<String> {
        let old = self.shared.server.get().filter(|server| server.is_before(PodMarks::LABELS_SINCE))?;
        needs.binding_labels.then(|| {
            let (major, minor) = PodMarks::LABELS_SINCE;
            format!(
                "adds labels to pods in `reserve`, which API server {old} does not take from a Binding (from \
                 {major}.{minor} on it does): write them in `before bind`, or as annotations"
            )
        })
    }

    fn unmet_of_table(&self, needs: &Needs) -> Option<String> {
        self.shared.watching.iter().zip(self.states()).find_map(|(watching, state)| {
            let KindRow { kind, plural: resource, .. } = watching.row;
            let further = *needs.of(kind) != Projection::default();
            let read = further || *kind == Kind::Namespace && needs.any_namespace;
            let lacks = read && (!state.listed || further && !state.kept.covers(needs.of(kind)));
            lacks.then(|| match (&state.trouble, state.listed) {
                (Some(trouble), _) => format!("reads {resource}, and they cannot be watched: {trouble}"),
                (None, false) => format!("reads {resource}, and they are not listed yet"),
                (None, true) => format!("reads further fields of {resource}, which are being listed"),
            })
        })
    }

    /// The state of the watches as a number that changes whenever a watch has listed its objects or
    /// has trouble.
    pub fn subscribe(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }

    /// The policies in service were chosen for the watches in this state. `Synced` follows the first
    /// choice after pods and nodes were listed, so that no decision misses a policy.
    pub fn policies_chosen(&self, generation: u64) {
        self.shared.settle(generation);
    }
}

/// Ages of watches by the names of their kinds, as text.
fn named(kinds: Vec<(KindName, Duration)>) -> impl Iterator<Item = (String, Duration)> {
    kinds.into_iter().map(|(kind, age)| (kind.to_string(), age))
}

impl Shared {
    fn states(&self) -> std::sync::MutexGuard<'_, Vec<WatchState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how many objects of a watch cannot be read whole, and how large the largest one is.
    fn noted(&self, at: usize, unreadable: usize, largest: Largest) {
        if let Some(state) = self.states().get_mut(at) {
            (state.unreadable, state.largest) = (unreadable, largest);
        }
    }

    fn alive(&self, at: usize) {
        if let Some(state) = self.states().get_mut(at) {
            (state.seen, state.trouble) = (Instant::now(), None);
        }
    }

    /// The needed watches without an event for too long, with their ages. Before the first list they
    /// are not synced, which is another matter.
    fn too_old(&self) -> Vec<(&'static str, Duration)> {
        if !self.synced.load(Ordering::SeqCst) {
            return Vec::new();
        }
        let any_namespace = self.needs.borrow().any_namespace;
        let states = self.states();
        let needed =
            self.watching.iter().zip(states.iter()).filter(|(of, state)| of.is_needed(state, any_namespace));
        needed
            .map(|(_, state)| (state.resource, state.seen.elapsed()))
            .filter(|(_, age)| *age > self.max_age)
            .collect()
    }

    /// Hands a list to the scheduling thread; returns whether that thread runs. A list that keeps
    /// less than policies read by now is dropped, because its watch ends and another list follows.
    fn listed(&self, at: usize, list: Input, kept: Arc<Projection>) -> bool {
        let mut states = self.states();
        let Some(Watching { row: KindRow { kind, .. }, .. }) = self.watching.get(at) else { return false };
        if !kept.covers(self.needs.borrow().of(kind)) {
            return true;
        }
        let sent = self.mailbox.input(list);
        if let Some(state) = states.get_mut(at) {
            (state.listed, state.kept, state.trouble) = (true, kept, None);
            state.seen = Instant::now();
        }
        self.generation.send_modify(|generation| *generation += 1);
        sent
    }

    fn troubled(&self, at: usize, trouble: Trouble) {
        self.change(at, |state| state.trouble = Some(trouble));
    }

    /// Changes a state. State and generation change together.
    fn change(&self, at: usize, change: impl FnOnce(&mut WatchState)) {
        let mut states = self.states();
        if let Some(state) = states.get_mut(at) {
            change(state);
        }
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Sends `Synced` when every kind has been listed or can be missing, and policies were chosen for that
    /// state.
    fn settle(&self, chosen_for: u64) {
        let states = self.states();
        let read = self.needs.borrow().any_namespace;
        let mut all = self.watching.iter().zip(states.iter());
        let all = all.all(|(of, state)| state.listed || of.can_be_missing(state, read));
        let all = all && self.look_ups.are_settled();
        let current = *self.generation.borrow() == chosen_for;
        drop(states);
        if all && current && !self.synced.swap(true, Ordering::SeqCst) {
            tracing::info!("caches are synced");
            self.mailbox.input(Input::Synced);
            self.now_synced.notify_waiters();
        }
    }
}

/// Stops decisions while a watch is too old, and resumes them when all are up to date.
async fn watch_age(shared: Arc<Shared>) {
    let mut settled = false;
    loop {
        tokio::time::sleep(LOOK).await;
        shared.look_ups.look_at_ages();
        if !std::mem::replace(&mut settled, shared.look_ups.are_settled()) && settled {
            // Time alone may have settled them.
            shared.look_ups.changed();
        }
        let old = shared.too_old();
        let stale = !old.is_empty();
        if shared.stale.swap(stale, Ordering::SeqCst) == stale {
            continue;
        }
        match old.first() {
            Some((resource, age)) => tracing::error!(
                resource,
                age_seconds = age.as_secs(),
                "no event of the watch for too long; nothing is scheduled until it is up to date"
            ),
            None => tracing::info!("the watches are up to date again"),
        }
        shared.mailbox.input(Input::Stale(stale));
    }
}

async fn watch_kind(
    at: usize,
    api: Api,
    shared: Arc<Shared>,
    mut needs: tokio::sync::watch::Receiver<Needs>,
) {
    let Some(Watching { row, .. }) = shared.watching.get(at).copied() else { return };
    let kind = &row.kind;
    loop {
        let keep = Arc::new(needs.borrow_and_update().of(kind).clone());
        let changed = no_longer_right(kind, &keep, &mut needs);
        let watching = async {
            let keep = Arc::clone(&keep);
            let whole = shared.raw.as_ref().is_some_and(|raw| raw.keeps(kind));
            match (kind, keep.fields.is_empty()) {
                (Kind::Pod, _) if whole => watch_as::<Whole<pod::Pod>>((at, row), &api, &shared, keep).await,
                (Kind::Node, _) if whole => {
                    watch_as::<Whole<node::Node>>((at, row), &api, &shared, keep).await
                }
                (Kind::Pod, true) => watch_as::<pod::Pod>((at, row), &api, &shared, keep).await,
                (Kind::Pod, false) => watch_as::<Extended<pod::Pod>>((at, row), &api, &shared, keep).await,
                (Kind::Node, true) => watch_as::<node::Node>((at, row), &api, &shared, keep).await,
                (Kind::Node, false) => watch_as::<Extended<node::Node>>((at, row), &api, &shared, keep).await,
                (Kind::Namespace, true) => {
                    watch_as::<namespace::Namespace>((at, row), &api, &shared, keep).await;
                }
                (Kind::Namespace, false) => {
                    watch_as::<Extended<namespace::Namespace>>((at, row), &api, &shared, keep).await;
                }
                _ => watch_as::<OfCollection>((at, row), &api, &shared, keep).await,
            }
        };
        tokio::select! {
            () = watching => return,
            () = changed => {}
        }
    }
}

/// Returns when policies read more than is kept, or less for a while: the policies in service before
/// read what was kept for them until their successors are.
async fn no_longer_right(kind: &Kind, keep: &Projection, needs: &mut tokio::sync::watch::Receiver<Needs>) {
    loop {
        let wanted = needs.borrow_and_update().of(kind).clone();
        if !keep.covers(&wanted) {
            return;
        }
        let patience = if wanted == *keep { Duration::MAX } else { LESS_AFTER };
        match tokio::time::timeout(patience, needs.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => std::future::pending().await,
            Err(_) => return,
        }
    }
}

/// The watched collection of a kind. Pods that have ended are left out.
pub fn collection(kind: &Kind) -> Collection {
    let Some(row) = kind.row() else { unreachable!("kinds that policies look up have their own watches") };
    let selectors = match row.kind {
        Kind::Pod => format!("fieldSelector={}", encode("status.phase!=Succeeded,status.phase!=Failed")),
        _ => String::new(),
    };
    let keep = Projection::everything();
    let (resource, group) = (row.plural.into(), row.group.into());
    Collection { path: row.path(), resource, group, selectors, keep, looked_up: None }
}

async fn watch_as<T: Slim>(
    (at, row): (usize, &'static KindRow),
    api: &Api,
    shared: &Arc<Shared>,
    keep: Arc<Projection>,
) {
    let (kind, resource) = (&row.kind, row.plural);
    let (mut unreadable, mut largest) = (Unreadable::of(resource), Largest::default());
    let collection = Collection { keep: (*keep).clone(), ..collection(kind) };
    watch::run::<T, _>(api, &collection, |update| {
        let input = match update {
            Update::Listed(objects) => {
                tracing::info!(resource, count = objects.len(), "listed");
                unreadable.listed(&objects);
                largest = Largest::default();
                // Each object is freed when it is parsed, so that memory never holds a large
                // cluster in both forms.
                let parsed = objects
                    .into_iter()
                    .filter_map(|object| unreadable.read(&object).map(|parsed| (parsed, object.text())))
                    .inspect(|(parsed, _)| largest.note(parsed));
                let parsed = match &shared.raw {
                    Some(raw) => raw.listed(kind, parsed),
                    None => parsed.map(|(parsed, _)| parsed).collect(),
                };
                Ok(Some(Input::Relisted(kind.clone(), parsed)))
            }
            Update::Changed(object) => Ok(unreadable.read(&object).map(|parsed| {
                largest.note(&parsed);
                if let Some(raw) = &shared.raw {
                    raw.changed(&parsed, object.text());
                }
                Input::Upserted(parsed)
            })),
            Update::Deleted(object) => {
                if let Some(raw) = &shared.raw {
                    raw.deleted(&object.key());
                }
                unreadable.deleted(&object.key());
                Ok(Some(Input::Deleted(object.key())))
            }
            Update::None => Ok(None),
            Update::Trouble(trouble) => Err(trouble),
        };
        shared.noted(at, unreadable.count(), largest);
        deliver(at, Arc::clone(&keep), Arc::clone(shared), input)
    })
    .await;
}

/// Hands an input to the scheduling thread, or notes trouble; returns whether that thread runs.
async fn deliver(
    at: usize,
    kept: Arc<Projection>,
    shared: Arc<Shared>,
    input: Result<Option<Input>, Trouble>,
) -> bool {
    match input {
        Ok(Some(list @ Input::Relisted(..))) => {
            // A list replaces the updates that wait, so it needs no room.
            shared.listed(at, list, kept)
        }
        Ok(Some(input)) => {
            let sent = shared.mailbox.input_with_room(input).await;
            shared.alive(at);
            sent
        }
        Ok(None) => {
            shared.alive(at);
            true
        }
        Err(trouble) => {
            const AS_IF: &str = "; decisions are made as if there were none";
            let row = shared.watching.get(at).map(|of| of.row);
            if let Some(row) = row.filter(|row| row.since.is_some() && trouble == Trouble::Absent) {
                shared.mailbox.input(Input::NotServed(row.kind.clone()));
            }
            match shared.watching.get(at) {
                Some(Watching { row, by: NeededBy::IfServed }) if trouble == Trouble::Absent => {
                    tracing::info!(resource = row.plural, "not watched: {trouble}{AS_IF}");
                }
                Some(Watching { row, by }) => {
                    let lasting = !matches!(trouble, Trouble::Passing(_));
                    let without = if *by == NeededBy::Optional && lasting { AS_IF } else { "" };
                    tracing::error!(resource = row.plural, "cannot watch: {trouble}{without}");
                }
                None => {}
            }
            shared.troubled(at, trouble);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::client::Target;
    use crate::process::driver::{Driver, Inbox};
    use bayplan_scheduler::Scheduler;

    async fn informers(more: bool) -> (Informers, Driver<Scheduler>, Inbox<Scheduler>) {
        let needs = [
            Need { kind: Kind::PersistentVolume, optional: false },
            Need { kind: Kind::CsiStorageCapacity, optional: true },
        ];
        informers_for(if more { &needs[..] } else { &[] }).await
    }

    async fn informers_for(needs: &[Need]) -> (Informers, Driver<Scheduler>, Inbox<Scheduler>) {
        let target = Target { master: Some("http://127.0.0.1:1".into()), ..Target::default() };
        let api = Api::new(&target).await.unwrap();
        let (driver, inbox) = Driver::<Scheduler>::new();
        let informers = Informers::new(&api, driver.mailbox(), Duration::from_secs(180), needs, None);
        (informers, driver, inbox)
    }

    fn list(informers: &Informers, kind: Kind) {
        let at = informers.shared.watching.iter().position(|of| of.row.kind == kind).unwrap();
        informers.shared.listed(at, Input::Relisted(kind, Vec::new()), Arc::default());
    }

    fn trouble(informers: &Informers, kind: &Kind, trouble: Trouble) {
        let at = informers.shared.watching.iter().position(|of| of.row.kind == *kind).unwrap();
        informers.shared.troubled(at, trouble);
    }

    /// Lists what every decision needs, and DaemonSets, which may be missing.
    fn list_pods_and_nodes(informers: &Informers) {
        list(informers, Kind::Pod);
        list(informers, Kind::Node);
        list(informers, Kind::DaemonSet);
    }

    fn chosen(informers: &Informers) {
        let generation = *informers.subscribe().borrow();
        informers.policies_chosen(generation);
    }

    fn reading_hostnames() -> Needs {
        let mut needs = Needs::default();
        needs.keeps.pods.fields.add(&["spec", "hostname"]);
        needs
    }

    #[tokio::test]
    async fn a_list_that_keeps_too_little_never_replaces_one_that_policies_need() {
        let (informers, driver, _inbox) = informers(false).await;
        let needs = reading_hostnames();
        let kept = Arc::new(needs.keeps.pods.clone());
        let list = || Input::Relisted(Kind::Pod, Vec::new());
        assert!(informers.shared.listed(0, list(), Arc::clone(&kept)));
        assert_eq!(informers.unmet(&needs), None);
        // A list that keeps less is on its way when a policy comes that reads the field.
        informers.want(needs.clone());
        assert_eq!(informers.unmet(&needs), None);
        assert!(informers.shared.listed(0, list(), Arc::default()));
        assert_eq!(informers.unmet(&needs), None);
        assert_eq!(driver.inbox_depth(), 1, "the later list is dropped");
        // Without such a policy it counts, and a policy waits for the next one.
        informers.want(Needs::default());
        assert!(informers.shared.listed(0, list(), Arc::default()));
        assert!(informers.unmet(&needs).is_some_and(|why| why.contains("are being listed")));
    }

    #[tokio::test]
    async fn labels_in_reserve_wait_for_an_api_server_that_copies_them() {
        let version =
            |text: &str| ServerVersion::of(&serde_json::json!({ "gitVersion": text })).expect("a version");
        let labels = Needs { binding_labels: true, ..Needs::default() };
        for (server, meets) in [(None, true), (Some("v1.34.2-gke.7"), false), (Some("v1.35.0"), true)] {
            let (informers, _driver, _inbox) = informers(false).await;
            server.into_iter().for_each(|text| informers.served_by(version(text)));
            let unmet = informers.unmet(&labels);
            assert_eq!(unmet.is_none(), meets, "{server:?}: {unmet:?}");
            assert!(unmet.is_none_or(|why| why.contains("API server v1.34.2-gke.7") && why.contains("before bind")));
            assert_eq!(informers.unmet(&Needs::default()), None, "other policies go on");
        }
    }

    #[tokio::test]
    async fn failures_that_may_pass_do_not_replace_namespaces_that_policies_read() {
        let passing = || Trouble::Passing("the API server answered 500".into());
        let forbidden = || Trouble::Forbidden { message: "forbidden".into(), rule: String::new() };
        for (any_namespace, trouble, synced) in
            [(false, passing(), true), (true, passing(), false), (true, forbidden(), true)]
        {
            let (informers, _driver, _inbox) = informers(false).await;
            informers.want(Needs { any_namespace, ..Needs::default() });
            list_pods_and_nodes(&informers);
            chosen(&informers);
            assert!(!informers.is_synced(), "namespaces are neither listed nor in trouble");
            super::tests::trouble(&informers, &Kind::Namespace, trouble.clone());
            chosen(&informers);
            assert_eq!(informers.is_synced(), synced, "{any_namespace} {trouble:?}");
        }
    }

    #[tokio::test]
    async fn a_kind_of_newer_servers_is_needed_unless_the_server_has_none() {
        let forbidden = || Trouble::Forbidden { message: "forbidden".into(), rule: String::new() };
        let claims = Kind::ResourceClaim;
        let passing = Trouble::Passing("the API server answered 500".into());
        for (missing, synced) in [(Trouble::Absent, true), (forbidden(), false), (passing, false)] {
            let needs = [Need { kind: claims.clone(), optional: false }];
            let (informers, _driver, _inbox) = informers_for(&needs).await;
            list_pods_and_nodes(&informers);
            list(&informers, Kind::Namespace);
            chosen(&informers);
            assert!(!informers.is_synced(), "the claims are neither listed nor in trouble");
            trouble(&informers, &claims, missing.clone());
            chosen(&informers);
            assert_eq!(informers.is_synced(), synced, "{missing:?}");
            list(&informers, claims.clone());
            chosen(&informers);
            assert!(informers.is_synced());
        }
    }

    #[tokio::test]
    async fn a_kind_that_plugins_need_is_listed_first_and_an_optional_one_may_be_missing() {
        let forbidden = || Trouble::Forbidden { message: "forbidden".into(), rule: String::new() };
        let capacities = Kind::CsiStorageCapacity;
        for (missing, synced) in [
            (Trouble::Absent, true),
            (forbidden(), true),
            (Trouble::Passing("the API server answered 500".into()), false),
        ] {
            let (informers, _driver, _inbox) = informers(true).await;
            list_pods_and_nodes(&informers);
            list(&informers, Kind::Namespace);
            trouble(&informers, &capacities, missing.clone());
            chosen(&informers);
            assert!(!informers.is_synced(), "the volumes are not listed");
            trouble(&informers, &Kind::PersistentVolume, forbidden());
            chosen(&informers);
            assert!(!informers.is_synced(), "volumes are not optional");
            list(&informers, Kind::PersistentVolume);
            chosen(&informers);
            assert_eq!(informers.is_synced(), synced, "{missing:?}");
            list(&informers, capacities.clone());
            chosen(&informers);
            assert!(informers.is_synced());
        }
    }
}
