//! Watches of the kinds that policies look up. They begin and end with the policies, and none of them holds up anything
//! but the policies that need it: a kind that the API server does not have, or that we may not list, is tried again, and
//! its policies wait.

use super::client::Api;
use super::driver::Mailbox;
use super::kinds;
use super::objects::{Looked, Slim};
use super::watch::{self, Collection, Trouble, Update};
use crate::lang::language::fields::kinds as built_in;
use crate::lang::types::ObjectKind;
use crate::model::objects::projection::Projection;
use crate::model::{Kind, KindName, Object};
use crate::scheduler::Input;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The kinds that policies look up, each with what is kept of its objects.
pub(super) type Wanted = BTreeMap<KindName, Projection>;

/// After this time the objects of a kind that no policy looks up are dropped.
const LINGER: Duration = Duration::from_secs(60);
/// How long to wait before a kind that is not there is looked for again.
const AGAIN: Duration = Duration::from_secs(3);

/// The state of the watch of one kind.
#[derive(Clone, Debug, Default)]
struct State {
    listed: bool,
    kept: Arc<Projection>,
    trouble: Option<Trouble>,
}

/// The watches.
#[derive(Clone)]
pub(super) struct LookUps {
    shared: Arc<Shared>,
}

struct Shared {
    mailbox: Mailbox,
    wanted: tokio::sync::watch::Sender<Wanted>,
    states: Mutex<BTreeMap<KindName, State>>,
    /// Counts changes of the states; shared with the other watches.
    generation: tokio::sync::watch::Sender<u64>,
}

impl LookUps {
    /// No watches yet.
    pub(super) fn new(mailbox: Mailbox, generation: tokio::sync::watch::Sender<u64>) -> Self {
        let wanted = tokio::sync::watch::Sender::new(Wanted::new());
        Self { shared: Arc::new(Shared { mailbox, wanted, states: Mutex::default(), generation }) }
    }

    /// Watches these kinds from now on.
    pub(super) fn want(&self, wanted: &Wanted) {
        let same = |held: &mut Wanted| {
            let changed = held != wanted;
            held.clone_from(wanted);
            changed
        };
        self.shared.wanted.send_if_modified(same);
    }

    /// What a policy that looks these kinds up lacks now; to be read after its name.
    pub(super) fn unmet(&self, needs: &Wanted) -> Option<String> {
        let states = self.shared.states();
        needs.iter().find_map(|(kind, keep)| {
            let state = states.get(kind).cloned().unwrap_or_default();
            match (state.listed, &state.trouble) {
                (true, _) if state.kept.covers(keep) => None,
                (true, _) => Some(format!("reads further fields of `{kind}`, which are being listed")),
                (false, Some(trouble)) => {
                    Some(format!("looks up `{kind}`, which cannot be watched: {trouble}"))
                }
                (false, None) => Some(format!("looks up `{kind}`, and its objects are not listed yet")),
            }
        })
    }

    /// Watches for ever.
    pub(super) async fn run(self, api: Api) {
        let shared = self.shared;
        let mut wanted = shared.wanted.subscribe();
        let mut watches = Watches::default();
        let mut tick = tokio::time::interval(LINGER / 6);
        loop {
            let now = wanted.borrow_and_update().clone();
            watches.follow(&now, |kind, keep| {
                Box::pin(watch_kind(api.clone(), Arc::clone(&shared), kind.clone(), Arc::new(keep.clone())))
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

/// The watches that run, by kind.
#[derive(Default)]
struct Watches {
    running: BTreeMap<KindName, (Projection, Running)>,
    /// Since when no policy looks a kind up.
    unwanted: BTreeMap<KindName, Instant>,
}

impl Watches {
    /// Begins the watches that are missing, and those again that keep too little.
    fn follow(&mut self, wanted: &Wanted, begin: impl Fn(&KindName, &Projection) -> Running) {
        for (kind, keep) in wanted {
            self.unwanted.remove(kind);
            if !self.running.get(kind).is_some_and(|(kept, _)| kept.covers(keep)) {
                self.running.insert(kind.clone(), (keep.clone(), begin(kind, keep)));
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
            for (_, watch) in self.running.values_mut() {
                ended |= watch.as_mut().poll(context).is_ready();
            }
            if ended { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Shared {
    fn states(&self) -> std::sync::MutexGuard<'_, BTreeMap<KindName, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, kind: &KindName, change: impl FnOnce(&mut State)) {
        let mut states = self.states();
        change(states.entry(kind.clone()).or_default());
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn troubled(&self, kind: &KindName, trouble: Trouble) {
        let known = self.states().get(kind).is_some_and(|state| state.trouble.as_ref() == Some(&trouble));
        if !known {
            tracing::warn!(%kind, "cannot watch: {trouble}; the policies that look it up wait");
            self.change(kind, |state| state.trouble = Some(trouble));
        }
    }
}

/// Watches a kind, as soon as the API server has it.
async fn watch_kind(api: Api, shared: Arc<Shared>, kind: KindName, keep: Arc<Projection>) {
    let collection = found(&api, &shared, &kind, &keep).await;
    let mut unreadable = FxHashSet::default();
    watch::run::<Looked, _>(&api, &collection, |update| {
        let input = match update {
            Update::Listed(objects) => {
                tracing::info!(%kind, count = objects.len(), "listed");
                let parsed = objects.iter().filter_map(|object| parsed(object, &mut unreadable)).collect();
                Ok(Some(Input::Relisted(Kind::LookedUp(kind.clone()), parsed)))
            }
            Update::Changed(object) => Ok(parsed(&object, &mut unreadable).map(Input::Upserted)),
            Update::Deleted(object) => Ok(Some(Input::Deleted(object.key()))),
            Update::None => Ok(None),
            Update::Trouble(trouble) => Err(trouble),
        };
        deliver(Arc::clone(&shared), kind.clone(), Arc::clone(&keep), input)
    })
    .await;
}

/// The collection of a kind. Waits until the API server has the kind.
async fn found(api: &Api, shared: &Shared, kind: &KindName, keep: &Projection) -> Collection {
    loop {
        let described: Result<Option<ObjectKind>, _> = match built_in::named(kind) {
            Some(known) => Ok(Some((**known).clone())),
            None => kinds::discovered(api, kind).await,
        };
        let trouble = match described {
            Ok(of) => match of.and_then(|of| kinds::collection(&of, keep.clone())) {
                Some(collection) => return collection,
                None => Trouble::Absent,
            },
            Err(error) => Trouble::Passing(error.to_string()),
        };
        shared.troubled(kind, trouble);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Hands an input to the scheduling thread, or notes trouble; returns whether that thread runs.
async fn deliver(
    shared: Arc<Shared>,
    kind: KindName,
    kept: Arc<Projection>,
    input: Result<Option<Input>, Trouble>,
) -> bool {
    match input {
        Ok(Some(list @ Input::Relisted(..))) => {
            let sent = shared.mailbox.input(list);
            shared.change(&kind, |state| *state = State { listed: true, kept, trouble: None });
            sent
        }
        Ok(Some(input)) => shared.mailbox.input_with_room(input).await,
        Ok(None) => true,
        Err(trouble) => {
            shared.troubled(&kind, trouble);
            true
        }
    }
}

/// Most names of objects that are remembered as unreadable; beyond it some are logged again.
const MOST: usize = 1_000;

/// The object; one that cannot be used is logged once and left out.
fn parsed(object: &Looked, said: &mut FxHashSet<String>) -> Option<Object> {
    match object.parse() {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            let key = object.key();
            let name = format!("{}/{}", key.namespace, key.name);
            if said.len() >= MOST {
                said.clear();
            }
            if said.insert(name.clone()) {
                tracing::error!(object = %name, %error, "left out an object that cannot be used");
            }
            None
        }
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
        let begin = |kind: &KindName, keep: &Projection| -> Running {
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
}
