//! Watches of the kinds that policies look up. They begin and end with the policies, and none of them holds up anything
//! but the policies that need it: a kind that the API server does not have, or that we may not list, is tried again, and
//! its policies wait.
//!
//! A watch that keeps more fields runs beside the one whose objects are decided on, and takes its place with its
//! first list.

use super::kinds;
use super::objects::{OfCollection, Slim};
use super::unreadable::Unreadable;
use super::watch::{self, Collection, Trouble, Update};
use crate::api::client::Api;
use crate::process::driver::Mailbox;
use bayplan_lang::language::fields::kinds as built_in;
use bayplan_lang::types::ObjectKind;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{Kind, KindName};
use bayplan_scheduler::Input;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The kinds that policies look up, each with what is kept of its objects.
pub(crate) type Wanted = BTreeMap<KindName, Projection>;

/// After this time the objects of a kind that no policy looks up are dropped.
const LINGER: Duration = Duration::from_secs(60);
/// How long to wait before a kind that is not there is looked for again.
const AGAIN: Duration = Duration::from_secs(3);
/// How long the start waits for the first list of a kind. After that its policies make their pods wait.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// The state of the watch of one kind.
#[derive(Clone, Debug)]
struct State {
    listed: bool,
    kept: Arc<Projection>,
    /// When the last event or bookmark came; before the first list, when a policy wanted the kind.
    seen: Instant,
    /// Why it cannot be watched.
    trouble: Option<Trouble>,
    /// Why the watch that keeps more cannot take its place.
    further: Option<Trouble>,
}

impl State {
    /// Nothing is known of a kind yet.
    fn new() -> Self {
        Self { listed: false, kept: Arc::default(), seen: Instant::now(), trouble: None, further: None }
    }
}

/// Whether a watch has listed its objects. The one that has delivers the changes.
type Listed = Arc<AtomicBool>;

/// The watches.
#[derive(Clone)]
pub(crate) struct LookUps {
    shared: Arc<Shared>,
}

struct Shared {
    mailbox: Mailbox,
    wanted: tokio::sync::watch::Sender<Wanted>,
    states: Mutex<BTreeMap<KindName, State>>,
    /// Objects whose watch has brought nothing for longer are too old to decide on.
    max_age: Duration,
    /// The kinds whose objects are too old, as they were looked at last.
    old: Mutex<BTreeSet<KindName>>,
    /// Counts changes of the states; shared with the other watches.
    generation: tokio::sync::watch::Sender<u64>,
}

impl LookUps {
    /// No watches yet.
    pub(crate) fn new(
        mailbox: Mailbox,
        generation: tokio::sync::watch::Sender<u64>,
        max_age: Duration,
    ) -> Self {
        let wanted = tokio::sync::watch::Sender::new(Wanted::new());
        let (states, old) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(Shared { mailbox, wanted, states, max_age, old, generation }) }
    }

    /// Watches these kinds from now on.
    pub(crate) fn want(&self, wanted: &Wanted) {
        let mut states = self.shared.states();
        for kind in wanted.keys() {
            states.entry(kind.clone()).or_insert_with(State::new);
        }
        drop(states);
        let same = |held: &mut Wanted| {
            let changed = held != wanted;
            held.clone_from(wanted);
            changed
        };
        self.shared.wanted.send_if_modified(same);
    }

    /// What a policy that looks these kinds up lacks now; to be read after its name.
    pub(crate) fn unmet(&self, needs: &Wanted) -> Option<String> {
        let states = self.shared.states();
        needs.iter().find_map(|(kind, keep)| {
            let state = states.get(kind).cloned().unwrap_or_else(State::new);
            match (state.listed, &state.trouble) {
                (true, _) if self.shared.is_too_old(&state) => {
                    let why = state.trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
                    Some(format!("looks up `{kind}`, and its watch has brought nothing for too long{why}"))
                }
                (true, _) if state.kept.covers(keep) => None,
                (true, _) => Some(match &state.further {
                    Some(trouble) => {
                        format!("reads further fields of `{kind}`, which cannot be listed: {trouble}")
                    }
                    None => format!("reads further fields of `{kind}`, which are being listed"),
                }),
                (false, Some(trouble)) => {
                    Some(format!("looks up `{kind}`, which cannot be watched: {trouble}"))
                }
                (false, None) => Some(format!("looks up `{kind}`, and its objects are not listed yet")),
            }
        })
    }

    /// The kinds that policies look up, each with the time since the last event or bookmark of its watch.
    pub(crate) fn ages(&self) -> Vec<(KindName, Duration)> {
        let wanted = self.shared.wanted.borrow();
        let states = self.shared.states();
        let of = |kind: &KindName| Some((kind.clone(), states.get(kind)?.seen.elapsed()));
        wanted.keys().filter_map(of).collect()
    }

    /// The kinds whose objects are too old to decide on, with their ages.
    pub(super) fn too_old(&self) -> Vec<(KindName, Duration)> {
        let wanted = self.shared.wanted.borrow();
        let states = self.shared.states();
        let old = |kind: &KindName| {
            let state = states.get(kind).filter(|state| self.shared.is_too_old(state))?;
            Some((kind.clone(), state.seen.elapsed()))
        };
        wanted.keys().filter_map(old).collect()
    }

    /// Whether every kind has been listed, has trouble, or has had time enough. The start waits for it, so that pods do
    /// not wait by a policy whose objects come at once.
    pub(super) fn are_settled(&self) -> bool {
        let wanted = self.shared.wanted.borrow();
        let states = self.shared.states();
        let settled =
            |state: &State| state.listed || state.trouble.is_some() || state.seen.elapsed() > FIRST_LIST;
        wanted.keys().all(|kind| states.get(kind).is_some_and(settled))
    }

    /// Counts a change where the objects of a kind became too old, or fresh again.
    pub(super) fn look_at_ages(&self) {
        let old: BTreeSet<KindName> = self.too_old().into_iter().map(|(kind, _)| kind).collect();
        let mut known = self.shared.old.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == old {
            return;
        }
        for kind in old.difference(&known) {
            let age_seconds = self.shared.max_age.as_secs();
            tracing::error!(%kind, age_seconds, "no event of the watch for too long; the pods of the policies that look it up wait");
        }
        known.difference(&old).for_each(|kind| tracing::info!(%kind, "the watch is up to date again"));
        *known = old;
        drop(known);
        self.changed();
    }

    /// Counts a change: policies are chosen again.
    pub(crate) fn changed(&self) {
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Watches for ever.
    pub(crate) async fn run(self, api: Api) {
        let shared = self.shared;
        let mut wanted = shared.wanted.subscribe();
        let mut watches = Watches::default();
        let mut tick = tokio::time::interval(LINGER / 6);
        loop {
            let now = wanted.borrow_and_update().clone();
            watches.follow(&now, |kind, keep, listed| {
                let of = Of {
                    shared: Arc::clone(&shared),
                    kind: kind.clone(),
                    keep: Arc::new(keep.clone()),
                    listed,
                };
                Box::pin(watch_kind(api.clone(), of))
            });
            for kind in watches.ended(&now) {
                shared.states().remove(&kind);
                shared.mailbox.input(Input::Relisted(Kind::LookedUp(kind), Vec::new()));
            }
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                _ = tick.tick() => {}
                () = watches.all() => return,
            }
        }
    }
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A watch that runs.
struct Watch {
    keep: Projection,
    listed: Listed,
    running: Running,
}

/// The watches of a kind: the one whose objects are there, or are to come first, and the one that is to take its place
/// because it keeps more.
struct OfKind {
    now: Watch,
    next: Option<Watch>,
}

/// The watches that run, by kind.
#[derive(Default)]
struct Watches {
    running: BTreeMap<KindName, OfKind>,
    /// Since when no policy looks a kind up.
    unwanted: BTreeMap<KindName, Instant>,
}

impl Watches {
    /// Begins the watches that are missing, and those again that keep too little. One that has listed goes on until the
    /// other one has: other policies decide on its objects.
    fn follow(&mut self, wanted: &Wanted, begin: impl Fn(&KindName, &Projection, Listed) -> Running) {
        for (kind, keep) in wanted {
            self.unwanted.remove(kind);
            let begin = || {
                let listed = Listed::default();
                Watch { keep: keep.clone(), running: begin(kind, keep, Arc::clone(&listed)), listed }
            };
            match self.running.get_mut(kind) {
                Some(of) if of.now.keep.covers(keep) => of.next = None,
                Some(of) if of.next.as_ref().is_some_and(|next| next.keep.covers(keep)) => {}
                Some(of) if of.now.listed.load(Ordering::SeqCst) => of.next = Some(begin()),
                Some(of) => *of = OfKind { now: begin(), next: None },
                None => drop(self.running.insert(kind.clone(), OfKind { now: begin(), next: None })),
            }
        }
    }

    /// Ends the watches that no policy has needed for a while; returns their kinds.
    fn ended(&mut self, wanted: &Wanted) -> Vec<KindName> {
        for kind in self.running.keys().filter(|kind| !wanted.contains_key(kind)) {
            self.unwanted.entry(kind.clone()).or_insert_with(Instant::now);
        }
        let over = self.unwanted.iter().filter(|(_, since)| since.elapsed() > LINGER);
        let over: Vec<KindName> = over.map(|(kind, _)| kind.clone()).collect();
        for kind in &over {
            self.unwanted.remove(kind);
            self.running.remove(kind);
        }
        over
    }

    /// Runs all watches; returns when one ends, which happens when the scheduling thread is gone.
    fn all(&mut self) -> impl Future<Output = ()> {
        std::future::poll_fn(|context| {
            let mut ended = false;
            for of in self.running.values_mut() {
                let Some(mut next) = of.next.take() else {
                    ended |= of.now.running.as_mut().poll(context).is_ready();
                    continue;
                };
                ended |= next.running.as_mut().poll(context).is_ready();
                // What the other one has on its way goes with it: it is older than this list.
                if next.listed.load(Ordering::SeqCst) {
                    of.now = next;
                } else {
                    ended |= of.now.running.as_mut().poll(context).is_ready();
                    of.next = Some(next);
                }
            }
            if ended { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Shared {
    fn states(&self) -> std::sync::MutexGuard<'_, BTreeMap<KindName, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the objects of a kind are too old to decide on. Before the first list there are none.
    fn is_too_old(&self, state: &State) -> bool {
        state.listed && state.seen.elapsed() > self.max_age
    }
}

/// A watch of a kind.
#[derive(Clone)]
struct Of {
    shared: Arc<Shared>,
    kind: KindName,
    keep: Arc<Projection>,
    listed: Listed,
}

impl Of {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(self.shared.states().entry(self.kind.clone()).or_insert_with(State::new));
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Where this watch notes its trouble: it is about the objects that are there, or about those that are to come.
    fn place<'s>(&self, state: &'s mut State) -> &'s mut Option<Trouble> {
        match state.listed && !self.listed.load(Ordering::SeqCst) {
            true => &mut state.further,
            false => &mut state.trouble,
        }
    }

    fn troubled(&self, trouble: Trouble) {
        let known = {
            let mut states = self.shared.states();
            let state = states.entry(self.kind.clone()).or_insert_with(State::new);
            *self.place(state) == Some(trouble.clone())
        };
        if !known {
            tracing::warn!(kind = %self.kind, "cannot watch: {trouble}; the policies that look it up wait");
            self.change(|state| *self.place(state) = Some(trouble));
        }
    }

    /// An event or a bookmark came.
    fn alive(&self) {
        let mut states = self.shared.states();
        let Some(state) = states.get_mut(&self.kind) else { return };
        state.seen = Instant::now();
        let recovered = state.trouble.take().is_some();
        drop(states);
        if recovered {
            self.shared.generation.send_modify(|generation| *generation += 1);
        }
    }

    /// Hands an input to the scheduling thread, or notes trouble; returns whether that thread runs.
    async fn deliver(self, input: Result<Option<Input>, Trouble>) -> bool {
        match input {
            Ok(Some(list @ Input::Relisted(..))) => {
                let sent = self.shared.mailbox.input(list);
                self.listed.store(true, Ordering::SeqCst);
                let listed = State { listed: true, kept: Arc::clone(&self.keep), ..State::new() };
                self.change(|state| *state = listed);
                sent
            }
            Ok(Some(input)) => {
                let sent = self.shared.mailbox.input_with_room(input).await;
                self.alive();
                sent
            }
            Ok(None) => {
                self.alive();
                true
            }
            Err(trouble) => {
                self.troubled(trouble);
                true
            }
        }
    }
}

/// Watches a kind, as soon as the API server has it.
async fn watch_kind(api: Api, of: Of) {
    let collection = found(&api, &of).await;
    let mut unreadable = Unreadable::of(&of.kind.to_string());
    watch::run::<OfCollection, _>(&api, &collection, |update| {
        let kind = &of.kind;
        let input = match update {
            Update::Listed(objects) => {
                tracing::info!(%kind, count = objects.len(), "listed");
                unreadable.listed(&objects);
                let parsed = objects.iter().filter_map(|object| unreadable.read(object)).collect();
                Ok(Some(Input::Relisted(Kind::LookedUp(kind.clone()), parsed)))
            }
            Update::Changed(object) => Ok(unreadable.read(&object).map(Input::Upserted)),
            Update::Deleted(object) => {
                unreadable.deleted(&object.key());
                Ok(Some(Input::Deleted(object.key())))
            }
            Update::None => Ok(None),
            Update::Trouble(trouble) => Err(trouble),
        };
        of.clone().deliver(input)
    })
    .await;
}

/// The collection of a kind. Waits until the API server has the kind.
async fn found(api: &Api, of: &Of) -> Collection {
    let kind = &of.kind;
    loop {
        let described: Result<Option<ObjectKind>, _> = match built_in::named(kind) {
            Some(known) => Ok(Some((**known).clone())),
            None => kinds::discovered(api, kind).await,
        };
        let trouble = match described {
            Ok(found) => match found.and_then(|found| kinds::collection(&found, (*of.keep).clone())) {
                Some(collection) => return collection,
                None => Trouble::Absent,
            },
            Err(error) => Trouble::Passing(error.to_string()),
        };
        of.troubled(trouble);
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(paths: &[&str]) -> Projection {
        let mut keep = Projection::default();
        paths.iter().for_each(|path| keep.fields.add(&path.split('.').collect::<Vec<_>>()));
        keep
    }

    #[tokio::test]
    async fn watches_follow_what_policies_look_up() {
        let kind = KindName::parse("g.io/v1/Gang").unwrap();
        let begun = Mutex::new(Vec::new());
        let begin = |kind: &KindName, keep: &Projection, _: Listed| -> Running {
            begun.lock().unwrap().push((kind.clone(), keep.fields.paths()));
            Box::pin(std::future::pending())
        };
        let mut watches = Watches::default();
        let less = Wanted::from([(kind.clone(), keep(&["spec.a"]))]);
        let more = Wanted::from([(kind.clone(), keep(&["spec.a", "spec.b"]))]);
        for wanted in [&less, &less, &more, &less] {
            watches.follow(wanted, begin);
            assert!(watches.ended(wanted).is_empty());
        }
        let paths: Vec<_> = begun.lock().unwrap().iter().map(|(_, paths)| paths.len()).collect();
        assert_eq!(paths, [1, 2], "a watch that keeps enough goes on");
        watches.follow(&Wanted::new(), begin);
        assert!(watches.ended(&Wanted::new()).is_empty(), "it lingers");
        watches.unwanted.insert(kind.clone(), Instant::now() - 2 * LINGER);
        assert_eq!(watches.ended(&Wanted::new()), [kind]);
        assert!(watches.running.is_empty() && watches.unwanted.is_empty());
    }

    /// Runs the watches until none of them can go on.
    fn go_on(watches: &mut Watches) {
        let ended = futures::FutureExt::now_or_never(watches.all());
        assert!(ended.is_none());
    }

    #[tokio::test]
    async fn a_watch_stays_until_the_one_that_keeps_more_has_listed() {
        let kind = KindName::parse("g.io/v1/Gang").unwrap();
        let less = Wanted::from([(kind.clone(), keep(&["spec.a"]))]);
        let more = Wanted::from([(kind.clone(), keep(&["spec.a", "spec.b"]))]);
        // The number of fields that the watches keep that are polled.
        let polled = Arc::new(Mutex::new(Vec::new()));
        let lists = Arc::new(AtomicBool::new(false));
        let begin = |_: &KindName, keep: &Projection, listed: Listed| -> Running {
            let (polled, lists) = (Arc::clone(&polled), Arc::clone(&lists));
            let paths = keep.fields.paths().len();
            Box::pin(std::future::poll_fn(move |_| {
                polled.lock().unwrap().push(paths);
                listed.fetch_or(paths == 1 || lists.load(Ordering::SeqCst), Ordering::SeqCst);
                Poll::Pending
            }))
        };
        let mut watches = Watches::default();
        for wanted in [&less, &more, &more] {
            watches.follow(wanted, begin);
            go_on(&mut watches);
        }
        assert_eq!(*polled.lock().unwrap(), [1, 2, 1, 2, 1], "the list of the other one fails");
        lists.store(true, Ordering::SeqCst);
        polled.lock().unwrap().clear();
        for _ in 0..2 {
            watches.follow(&more, begin);
            go_on(&mut watches);
        }
        assert_eq!(*polled.lock().unwrap(), [2, 2], "the first one ends, and nothing of it comes later");
    }

    #[tokio::test]
    async fn a_kind_without_events_for_too_long_is_unmet_until_it_is_listed_again() {
        let (driver, _inbox) = crate::process::driver::Driver::<bayplan_scheduler::Scheduler>::new();
        let generation = tokio::sync::watch::Sender::new(0);
        let look_ups = LookUps::new(driver.mailbox(), generation.clone(), Duration::from_secs(180));
        let kind = KindName::parse("g.io/v1/Gang").unwrap();
        let (less, more) = (keep(&["spec.a"]), keep(&["spec.a", "spec.b"]));
        let wanted = Wanted::from([(kind.clone(), less.clone())]);
        let all = Wanted::from([(kind.clone(), more.clone())]);
        let of = |keep: &Projection| Of {
            shared: Arc::clone(&look_ups.shared),
            kind: kind.clone(),
            keep: Arc::new(keep.clone()),
            listed: Listed::default(),
        };
        let failed = || Err(Trouble::Passing("the API server answered 503".into()));
        let list = || Ok(Some(Input::Relisted(Kind::LookedUp(kind.clone()), Vec::new())));
        let unmet = |wanted: &Wanted| look_ups.unmet(wanted).unwrap_or_default();
        assert!(unmet(&wanted).contains("not listed yet"));
        look_ups.want(&wanted);
        assert!(!look_ups.are_settled(), "the first list may come at once");
        let watch = of(&less);
        watch.clone().deliver(failed()).await;
        assert!(
            look_ups.are_settled()
                && unmet(&wanted).contains("cannot be watched: the API server answered 503")
        );
        watch.clone().deliver(list()).await;
        assert_eq!(unmet(&wanted), "");

        // Another watch is to keep more, and cannot list.
        look_ups.want(&all);
        let next = of(&more);
        next.clone().deliver(failed()).await;
        assert_eq!(unmet(&wanted), "", "the objects that are there are as good as before");
        assert!(
            unmet(&all).contains("reads further fields of `g.io/v1/Gang`, which cannot be listed: the API")
        );

        let aged = |seconds: u64| {
            let mut states = look_ups.shared.states();
            states.get_mut(&kind).unwrap().seen = Instant::now() - Duration::from_secs(seconds);
        };
        let chosen = || {
            look_ups.look_at_ages();
            *generation.borrow()
        };
        let before = chosen();
        aged(170);
        assert_eq!((chosen(), unmet(&wanted).as_str()), (before, ""));
        aged(200);
        assert_eq!(chosen(), before + 1, "policies are chosen again");
        assert_eq!(chosen(), before + 1, "once");
        assert!(unmet(&wanted).contains("has brought nothing for too long"), "{}", unmet(&wanted));
        assert_eq!(look_ups.too_old().len(), 1);
        watch.deliver(Ok(None)).await;
        assert_eq!(chosen(), before + 2);
        assert_eq!((unmet(&wanted).as_str(), look_ups.too_old().len()), ("", 0));
        next.deliver(list()).await;
        assert_eq!(unmet(&all), "");
    }
}
