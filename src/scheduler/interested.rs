//! [`Interested`]: finds those whom a change of the cluster concerns, without a look at the others. Waiting pods and
//! sort keys of the queue use it.

use bayplan_framework::Interest;
use bayplan_model::{Generation, Kinds, Moved, Snapshot};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Values of `T` by their interests.
#[derive(Clone, Debug)]
pub(super) struct Interested<T> {
    /// Few keys: plugins tell few combinations of kinds.
    by_kinds: BTreeMap<Kinds, BTreeSet<T>>,
    by_group: FxHashMap<u64, BTreeSet<T>>,
}

/// What moved, and whom it concerns.
pub(super) struct Concerned<T> {
    pub(super) kinds: Kinds,
    pub(super) all: BTreeSet<T>,
}

impl<T> Default for Interested<T> {
    fn default() -> Self {
        Self { by_kinds: BTreeMap::new(), by_group: FxHashMap::default() }
    }
}

impl<T: Ord + Clone> Interested<T> {
    pub(super) fn insert(&mut self, interest: &Interest, value: T) {
        for group in &interest.groups {
            self.by_group.entry(*group).or_default().insert(value.clone());
        }
        if !interest.kinds.is_empty() {
            self.by_kinds.entry(interest.kinds).or_default().insert(value);
        }
    }

    pub(super) fn remove(&mut self, interest: &Interest, value: &T) {
        for group in &interest.groups {
            if let Some(values) = self.by_group.get_mut(group) {
                values.remove(value);
                if values.is_empty() {
                    self.by_group.remove(group);
                }
            }
        }
        if let Some(values) = self.by_kinds.get_mut(&interest.kinds) {
            values.remove(value);
            if values.is_empty() {
                self.by_kinds.remove(&interest.kinds);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_kinds.is_empty() && self.by_group.is_empty()
    }

    /// Those whom the changes since `since` concern; all of them when the log does not reach back that far.
    pub(super) fn since(&self, since: Generation, snapshot: &Snapshot) -> Concerned<T> {
        let mut concerned = Concerned { kinds: Kinds::NONE, all: BTreeSet::new() };
        if self.is_empty() {
            return concerned;
        }
        let Some(records) = snapshot.changes_since(since) else {
            let values = self.by_kinds.values().chain(self.by_group.values());
            concerned.kinds = Kinds::ALL;
            concerned.all = values.flatten().cloned().collect();
            return concerned;
        };
        for record in records {
            match record.what {
                Moved::Group(group) => {
                    concerned.all.extend(self.by_group.get(&group).into_iter().flatten().cloned());
                }
                Moved::Node(_) | Moved::Global => concerned.kinds |= record.kinds,
            }
        }
        for (kinds, values) in &self.by_kinds {
            if kinds.intersects(concerned.kinds) {
                concerned.all.extend(values.iter().cloned());
            }
        }
        concerned
    }
}
