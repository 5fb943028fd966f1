//! [`Waits`]: the groups that wait at a policy's permit, each with one deadline and the pods that wait for it.

use crate::lang::value::Ordered;
use crate::model::{Change, Delta, Index, Moves, PodKey, Snapshot, Time};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

/// Which `wait` of the policy, and the values of the group's paths.
pub type WaitKey = (usize, Vec<Ordered<'static>>);

/// The groups that wait. Written by the policy's permit alone: it is not derived from objects, so a rebuild keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    open: BTreeMap<WaitKey, Open>,
}

/// A group that waits.
#[derive(Clone, Debug, PartialEq)]
struct Open {
    /// Of all its members.
    deadline: Time,
    waiting: BTreeSet<PodKey>,
}

impl Waits {
    /// `pod` waits from now on. Returns the deadline of its group and whether `pod` is the one that opened it.
    pub fn enter(&mut self, key: WaitKey, pod: PodKey, deadline: Time) -> (Time, bool) {
        let opened = !self.open.contains_key(&key);
        let open = self.open.entry(key).or_insert_with(|| Open { deadline, waiting: BTreeSet::new() });
        open.waiting.insert(pod);
        (open.deadline, opened)
    }

    /// The pods that wait in a group, in the order of their keys.
    pub fn waiting(&self, key: &WaitKey) -> Vec<PodKey> {
        self.open.get(key).map(|open| open.waiting.iter().cloned().collect()).unwrap_or_default()
    }

    /// `pod` waits no longer.
    pub fn leave(&mut self, pod: &PodKey) {
        for open in self.open.values_mut() {
            open.waiting.remove(pod);
        }
        self.open.retain(|_, open| !open.waiting.is_empty());
    }

    /// The whole group waits no longer. Returns who did.
    pub fn close(&mut self, key: &WaitKey) -> Vec<PodKey> {
        self.open.remove(key).map(|open| open.waiting.into_iter().collect()).unwrap_or_default()
    }
}

impl Index for Waits {
    fn apply(&mut self, delta: &Delta<'_>, _snapshot: &Snapshot, _moved: &mut Moves) {
        if let Change::PodRemoved { pod } = delta.change {
            self.leave(pod);
        }
    }

    fn rebuild(&mut self, _snapshot: &Snapshot) {}

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
