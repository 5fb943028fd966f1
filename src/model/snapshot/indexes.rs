//! The indexes of a snapshot: found by key, fed by kind of change, and guarded. An index is code of a plugin that runs
//! while the cluster is written, so that a panic in it must lose neither the other indexes nor the process: the index
//! is rebuilt once. If it panics again, it is broken until a reload makes it anew, and its plugin answers `Error`.

use crate::changes::{Change, Delta, Moves};
use crate::index::{Feeds, Index, IndexError, IndexKey};
use crate::pod::PodInfo;
use crate::precondition::Filed;
use crate::snapshot::Snapshot;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// An index in its place.
#[derive(Clone, Debug)]
struct Slot {
    key: IndexKey,
    /// `None`: it is broken.
    index: Option<Arc<Box<dyn Index>>>,
    feeds: Feeds,
    /// Whether it has been rebuilt after a panic.
    failed: bool,
}

impl Slot {
    /// Runs code of the index; the second panic breaks it. Returns whether the code panicked.
    fn guarded(&mut self, work: impl FnOnce(&mut dyn Index)) -> bool {
        let Some(index) = &mut self.index else { return false };
        let panicked = catch_unwind(AssertUnwindSafe(|| work(own(index)))).is_err();
        if panicked && std::mem::replace(&mut self.failed, true) {
            self.index = None;
        }
        panicked
    }

    /// Applies a change. After a panic the index is rebuilt. Returns whether it panicked.
    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, moves: &mut Moves) -> bool {
        let panicked = self.guarded(|index| index.apply(delta, snapshot, moves));
        if panicked {
            self.guarded(|index| index.rebuild(snapshot));
        }
        panicked
    }
}

/// Where the indexes are; changes when one is added or removed.
#[derive(Debug, Default)]
struct Directory {
    by_key: FxHashMap<IndexKey, usize>,
    /// The indexes that each kind of change goes to, in their order.
    fed: [Vec<usize>; Feeds::COUNT],
    /// Of these, the ones without a precondition.
    unconditional: [Vec<usize>; Feeds::COUNT],
    /// The indexes with a precondition.
    filed: Filed<usize>,
}

impl Directory {
    /// The indexes that a change goes to, in their order: of a change of a pod those whose precondition it meets, as it
    /// was or as it is.
    fn takers(&self, number: usize, delta: &Delta<'_>) -> Cow<'_, [usize]> {
        let (all, unconditional) = (&self.fed[number], &self.unconditional[number]);
        let now = match delta.change {
            Change::PodPlaced { pod, .. } | Change::PodPending { pod } => Some(pod),
            _ => None,
        };
        let before = delta.pod_before.as_ref().map(|(pod, _)| pod);
        if all.len() == unconditional.len() || now.is_none() && before.is_none() {
            return Cow::Borrowed(all);
        }
        let mut takers = unconditional.clone();
        let same = now.zip(before).is_some_and(|(now, before)| Arc::ptr_eq(now, before));
        let pods: [Option<&Arc<PodInfo>>; 2] = [now, before.filter(|_| !same)];
        pods.into_iter().flatten().for_each(|pod| self.filed.each(pod, |at| takers.push(at)));
        takers.sort_unstable();
        takers.dedup();
        Cow::Owned(takers)
    }
}

/// All indexes, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    slots: Vec<Slot>,
    directory: Arc<Directory>,
}

impl Indexes {
    fn slot(&self, key: &IndexKey) -> Option<&Slot> {
        self.slots.get(*self.directory.by_key.get(key)?)
    }

    pub(super) fn get(&self, key: &IndexKey) -> Result<&dyn Index, IndexError> {
        let slot = self.slot(key).ok_or(IndexError::Absent)?;
        slot.index.as_ref().map(|index| &***index).ok_or(IndexError::Broken)
    }

    pub(super) fn get_mut(&mut self, key: &IndexKey) -> Option<&mut dyn Index> {
        let at = *self.directory.by_key.get(key)?;
        self.slots.get_mut(at)?.index.as_mut().map(own)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        self.slots.iter().map(|slot| &slot.key)
    }

    pub(super) fn broken(&self) -> impl Iterator<Item = &IndexKey> {
        self.slots.iter().filter(|slot| slot.index.is_none()).map(|slot| &slot.key)
    }

    /// Whether any index is fed changes of this kind.
    pub(super) fn takes(&self, number: usize) -> bool {
        self.directory.fed.get(number).is_some_and(|fed| !fed.is_empty())
    }

    /// Adds an index that is not built yet.
    pub(super) fn add(&mut self, key: IndexKey, index: Box<dyn Index>, snapshot: &Snapshot) {
        let feeds = index.feeds();
        let mut slot = Slot { key, index: Some(Arc::new(index)), feeds, failed: false };
        if slot.guarded(|index| index.rebuild(snapshot)) {
            slot.guarded(|index| index.rebuild(snapshot));
        }
        self.slots.push(slot);
        self.direct();
    }

    pub(super) fn remove(&mut self, key: &IndexKey) {
        if self.directory.by_key.contains_key(key) {
            self.slots.retain(|slot| slot.key != *key);
            self.direct();
        }
    }

    /// Writes the directory.
    fn direct(&mut self) {
        let mut directory = Directory::default();
        for (at, slot) in self.slots.iter().enumerate() {
            directory.by_key.insert(slot.key.clone(), at);
            let precondition = slot.index.as_ref().and_then(|index| index.precondition().cloned());
            for (number, fed) in directory.fed.iter_mut().enumerate() {
                if slot.feeds.has(number) {
                    fed.push(at);
                    if precondition.is_none() {
                        directory.unconditional[number].push(at);
                    }
                }
            }
            if let Some(precondition) = precondition {
                directory.filed.file(precondition, at);
            }
        }
        self.directory = Arc::new(directory);
    }

    /// Applies a change to the indexes that it goes to. Returns what they report; `None` when one panicked, so that
    /// what moved in it is unknown.
    pub(super) fn apply(&mut self, number: usize, delta: &Delta<'_>, snapshot: &Snapshot) -> Option<Moves> {
        let mut moves = Moves::default();
        let mut panicked = false;
        let directory = self.directory.clone();
        for at in directory.takers(number, delta).iter() {
            if let Some(slot) = self.slots.get_mut(*at).filter(|slot| slot.feeds.has(number)) {
                panicked |= slot.apply(delta, snapshot, &mut moves);
            }
        }
        (!panicked).then_some(moves)
    }

    /// When the first part of an index ends by time alone.
    pub(super) fn next_end(&self, snapshot: &Snapshot) -> Option<Time> {
        let ending = self.directory.fed.get(Feeds::TIME.first())?.iter();
        ending.filter_map(|at| self.slots.get(*at)?.index.as_ref()?.next_end(snapshot)).min()
    }

    /// Ends what ends at or before the present. Returns what that changed.
    pub(super) fn expire(&mut self, snapshot: &Snapshot) -> Moves {
        let mut moves = Moves::default();
        let directory = self.directory.clone();
        for at in directory.fed.get(Feeds::TIME.first()).into_iter().flatten() {
            let Some(slot) = self.slots.get_mut(*at) else { continue };
            let ends = slot.index.as_ref().and_then(|index| index.next_end(snapshot));
            if ends.is_some_and(|end| end <= snapshot.time()) {
                slot.guarded(|index| index.expire(snapshot, &mut moves));
            }
        }
        moves
    }

    /// Derives every index anew. A broken one stays broken.
    pub(super) fn rebuild(&mut self, snapshot: &Snapshot) {
        for slot in &mut self.slots {
            if slot.guarded(|index| index.rebuild(snapshot)) {
                slot.guarded(|index| index.rebuild(snapshot));
            }
        }
    }
}

/// The index to be written: copied first when a fork shares it.
fn own(index: &mut Arc<Box<dyn Index>>) -> &mut dyn Index {
    if Arc::get_mut(index).is_none() {
        *index = Arc::new(index.fork());
    }
    match Arc::get_mut(index) {
        Some(index) => &mut **index,
        None => unreachable!("the copy made above has one owner"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Change;
    use crate::symbol::Symbol;
    use crate::testing::pod;
    use std::collections::BTreeSet;

    /// Counts pods. Panics while it applies a pod named `bad…`, and while it is rebuilt with two of them.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Fragile {
        pods: BTreeSet<Symbol>,
        calls: usize,
    }

    impl Index for Fragile {
        fn feeds(&self) -> Feeds {
            Feeds::POD_PENDING.with(Feeds::POD_REMOVED)
        }
        fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
            self.calls += 1;
            match delta.change {
                Change::PodPending { pod } => {
                    assert!(!pod.name.starts_with("bad"), "a bad pod");
                    self.pods.insert(pod.name.clone());
                }
                Change::PodRemoved { pod } => {
                    self.pods.retain(|name| !pod.0.ends_with(name.as_str()));
                }
                _ => unreachable!("it does not ask for this"),
            }
        }
        fn rebuild(&mut self, snapshot: &Snapshot) {
            self.pods = snapshot.pods().map(|entry| entry.pod.name.clone()).collect();
            assert!(self.pods.iter().filter(|name| name.starts_with("bad")).count() < 2, "two bad pods");
        }
        fn fork(&self) -> Box<dyn Index> {
            Box::new(self.clone())
        }
    }

    fn key(name: &str) -> IndexKey {
        IndexKey(Symbol::new(name))
    }

    fn quietly<T>(work: impl FnOnce() -> T) -> T {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let done = work();
        std::panic::set_hook(hook);
        done
    }

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        for name in ["a", "b", "c"] {
            snapshot.add_index(key(name), Box::new(Fragile::default()));
        }
        snapshot
    }

    fn see(snapshot: &mut Snapshot, name: &str) {
        snapshot.apply(Change::PodPending { pod: pod(name).build() });
    }

    fn names(snapshot: &Snapshot, of: &str) -> Result<Vec<String>, IndexError> {
        let index: &Fragile = snapshot.try_index(&key(of))?;
        Ok(index.pods.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn an_index_that_panics_is_rebuilt_once_and_is_broken_after_that() {
        quietly(|| {
            let mut s = snapshot();
            see(&mut s, "good");
            let fork = s.clone();
            let before = s.generation();
            see(&mut s, "bad-1");
            let all = Ok(vec!["bad-1".to_owned(), "good".to_owned()]);
            for of in ["a", "b", "c"] {
                assert_eq!(names(&s, of), all, "rebuilt");
            }
            assert!(s.changes_since(before).is_none(), "readers look at everything");
            // One that is new has not failed yet; the others have.
            s.add_index(key("new"), Box::new(Fragile::default()));
            s.apply(Change::PodRemoved { pod: pod("bad-1").build().key.clone() });
            see(&mut s, "bad-1");
            assert_eq!(names(&s, "a"), Err(IndexError::Broken));
            assert_eq!(names(&s, "new"), all);
            assert_eq!(names(&s, "other"), Err(IndexError::Absent));
            assert_eq!(s.broken_indexes().cloned().collect::<Vec<_>>(), ["a", "b", "c"].map(key));
            // Changes go on, to the fork as well, and a rebuild of what is broken does not hide it.
            see(&mut s, "last");
            s.rebuild_indexes();
            assert_eq!(names(&s, "a"), Err(IndexError::Broken));
            assert_eq!(names(&s, "new").unwrap().len(), 3);
            assert_eq!(names(&fork, "a"), Ok(vec!["good".to_owned()]));
            // A new index in its place serves again.
            s.add_index(key("a"), Box::new(Fragile::default()));
            assert_eq!(names(&s, "a").unwrap().len(), 3);
        });
    }

    #[test]
    fn an_index_that_cannot_be_rebuilt_is_broken_at_once() {
        quietly(|| {
            let mut s = Snapshot::default();
            see(&mut s, "bad-1");
            see(&mut s, "bad-2");
            s.add_index(key("a"), Box::new(Fragile::default()));
            assert_eq!(names(&s, "a"), Err(IndexError::Broken));
        });
    }

    #[test]
    fn an_index_gets_the_changes_that_it_asks_for() {
        let mut s = snapshot();
        see(&mut s, "good");
        s.apply(Change::NodeUpserted { node: crate::testing::node("n").build() });
        s.apply(Change::PodWaiting { pod: pod("good").build().key.clone(), waiting: true });
        s.remove_index(&key("a"));
        assert_eq!(s.index::<Fragile>(&key("b")).map(|index| index.calls), Some(1));
        assert_eq!(names(&s, "a"), Err(IndexError::Absent));
    }
}
