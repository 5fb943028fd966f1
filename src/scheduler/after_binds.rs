//! [`AfterBinds`]: the marks whose writes are open, by when and in which order they are worked off.

use bayplan_framework::{Ticket, Write};
use bayplan_model::{Duration, PodKey, Symbol, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most marks that are worked off at once; the calls of the others wait here.
const AT_ONCE: usize = 32;

/// The least time between two marks that were found on pods, while pods are placed.
const BETWEEN_FOUND: Duration = Duration::from_millis(10);

/// The pause after the first try that failed; it doubles with each further one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_seconds(1);

/// The longest pause.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_seconds(300);

/// A pod and the plugin that writes for it.
pub(super) type Key = (PodKey, Symbol);

/// What is left to be written for bound pods.
#[derive(Clone, Default)]
pub(super) struct AfterBinds {
    open: BTreeMap<Key, OpenMark>,
    /// Those of this instance's bindings.
    own: Work,
    /// Those that were found on bound pods.
    found: Work,
    /// When the next of these may begin while pods are placed.
    next_found: Time,
    ended: BTreeMap<(Symbol, &'static str), u64>,
}

/// Marks of one origin.
#[derive(Clone, Default)]
struct Work {
    /// Those that wait for their turn, by the earliest instant.
    due: BTreeSet<(Time, Key)>,
    /// How many wait for the answer to a call.
    working: usize,
}

/// One mark.
#[derive(Clone)]
pub(super) struct OpenMark {
    pub(super) stage: MarkStage,
    /// How often writing failed.
    pub(super) failures: u32,
    pub(super) origin: Origin,
}

/// Where a mark is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// A binding of this instance.
    Own,
    /// It was found on the pod, with its proof.
    Found,
    /// It was found on the pod and does not count: it is removed, and nothing else is written.
    Forged,
}

#[derive(Clone)]
pub(super) enum MarkStage {
    /// For its turn.
    Waiting(Time),
    /// For the answer to a call; the others follow.
    Working { ticket: Ticket, rest: VecDeque<Write> },
    /// Everything is written; the watch has not shown it yet.
    Done { version: Box<str> },
}

impl AfterBinds {
    pub(super) fn get(&self, key: &Key) -> Option<&OpenMark> {
        self.open.get(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &OpenMark)> {
        self.open.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The marks that were given up: plugin, reason, count.
    pub(super) fn ended(&self) -> impl Iterator<Item = (&Symbol, &'static str, u64)> {
        self.ended.iter().map(|((plugin, why), count)| (plugin, *why, *count))
    }

    /// One of those that were found begins: the next has to wait while pods are placed.
    pub(super) fn pause_found(&mut self, now: Time) {
        self.next_found = now + BETWEEN_FOUND;
    }

    /// A mark waits for its turn.
    pub(super) fn begin(&mut self, key: &Key, at: Time, origin: Origin) {
        self.put(key, OpenMark { stage: MarkStage::Waiting(at), failures: 0, origin });
    }

    /// A mark that is known is in another stage.
    pub(super) fn set(&mut self, key: &Key, stage: MarkStage, failures: u32) {
        let origin = self.origin(key).unwrap_or(Origin::Own);
        self.put(key, OpenMark { stage, failures, origin });
    }

    pub(super) fn origin(&self, key: &Key) -> Option<Origin> {
        self.open.get(key).map(|mark| mark.origin)
    }

    pub(super) fn wait(&mut self, key: &Key, until: Time, failures: u32) {
        self.set(key, MarkStage::Waiting(until), failures);
    }

    fn work(&mut self, origin: Origin) -> &mut Work {
        if origin == Origin::Own { &mut self.own } else { &mut self.found }
    }

    fn put(&mut self, key: &Key, mark: OpenMark) {
        self.forget(key);
        let work = self.work(mark.origin);
        match &mark.stage {
            MarkStage::Waiting(until) => {
                work.due.insert((*until, key.clone()));
            }
            MarkStage::Working { .. } => work.working += 1,
            MarkStage::Done { .. } => {}
        }
        self.open.insert(key.clone(), mark);
    }

    pub(super) fn forget(&mut self, key: &Key) -> Option<OpenMark> {
        let mark = self.open.remove(key)?;
        let work = self.work(mark.origin);
        match &mark.stage {
            MarkStage::Waiting(until) => {
                work.due.remove(&(*until, key.clone()));
            }
            MarkStage::Working { .. } => work.working -= 1,
            MarkStage::Done { .. } => {}
        }
        Some(mark)
    }

    /// The first marks that may be worked off, and when: this instance's own, and of those that were found; `busy`: pods
    /// are placed.
    pub(super) fn first(&self, busy: bool) -> [Option<(Time, &Key)>; 2] {
        if self.own.working + self.found.working >= AT_ONCE {
            return [None, None];
        }
        let not_before = if busy { self.next_found } else { Time(i64::MIN) };
        let own = self.own.due.first().map(|(at, key)| (*at, key));
        [own, self.found.due.first().map(|(at, key)| ((*at).max(not_before), key))]
    }

    /// The next mark that is due; its own go first.
    pub(super) fn next_due(&self, busy: bool, now: Time) -> Option<&Key> {
        self.first(busy).into_iter().flatten().find(|(at, _)| *at <= now).map(|(_, key)| key)
    }

    /// A mark is given up.
    pub(super) fn end(&mut self, key: &Key, why: &'static str) -> Option<OpenMark> {
        let mark = self.forget(key)?;
        if mark.origin != Origin::Forged && !matches!(mark.stage, MarkStage::Done { .. }) {
            *self.ended.entry((key.1.clone(), why)).or_default() += 1;
        }
        Some(mark)
    }

    pub(super) fn of_pod(&self, pod: &PodKey) -> Vec<Key> {
        let from = (pod.clone(), Symbol::default());
        self.open.range(from..).take_while(|((of, _), _)| of == pod).map(|(key, _)| key.clone()).collect()
    }
}
