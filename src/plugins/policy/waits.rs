//! [`Waits`]: the groups that wait at a policy's permit, each with one deadline and its waiting
//! pods. It also keeps the results of conditions at one moment, so that a condition is evaluated
//! once for a group and not once for each member.

use crate::lang::types::value::Ordered;
use crate::model::{Change, Delta, Generation, Index, Moves, PodKey, Snapshot, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Which `wait` of the policy, and the values of the group's paths.
pub(super) type WaitKey = (usize, Vec<Ordered<'static>>);

/// The groups that wait. Only the policy's permit writes it. It is not derived from objects, so a
/// rebuild keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    open: BTreeMap<WaitKey, Open>,
    /// Pods that are allowed and have not been reconsidered since.
    released: BTreeSet<PodKey>,
    /// The conditions of each waiting pod, with the results that allow it; `None`: no other pod has
    /// the same condition with the same inputs.
    conditions: BTreeMap<PodKey, Vec<(Option<ConditionKey>, bool)>>,
    /// A number for each list of conditions that a pod waits for.
    equivalence_keys: BTreeMap<Vec<(Option<ConditionKey>, bool)>, u64>,
    next_equivalence_key: u64,
    /// Results of conditions at one moment.
    judged: Judged,
    /// How often a condition was evaluated.
    judgments: u64,
    /// How often a pod was evaluated.
    looks: u64,
}

/// What the result of a condition depends on beside the pod: the cluster, the instant, the policy.
pub(super) type Moment = (Generation, Time, u64);

/// A condition of a permit, by its position, with all values that it reads of the pod itself.
pub(super) type ConditionKey = (usize, Vec<Ordered<'static>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Judged {
    at: Moment,
    answers: BTreeMap<ConditionKey, bool>,
}

/// A group that waits.
#[derive(Clone, Debug, PartialEq)]
struct Open {
    /// The deadline of all its members.
    deadline: Time,
    waiting: BTreeSet<PodKey>,
}

impl Waits {
    /// Whether a pod waits in a group.
    pub fn is_open(&self, key: &WaitKey) -> bool {
        self.open.contains_key(key)
    }

    /// Adds a waiting pod. Returns the deadline of its group, which its first waiting member set.
    pub fn enter(&mut self, key: WaitKey, pod: PodKey, deadline: Time) -> Time {
        let open = self.open.entry(key).or_insert_with(|| Open { deadline, waiting: BTreeSet::new() });
        open.waiting.insert(pod);
        open.deadline
    }

    /// The pods that wait in a group, in the order of their keys.
    pub fn waiting(&self, key: &WaitKey) -> Vec<PodKey> {
        self.open.get(key).map(|open| open.waiting.iter().cloned().collect()).unwrap_or_default()
    }

    /// The result of a condition at a moment.
    pub fn judged(&self, at: Moment, key: &ConditionKey) -> Option<bool> {
        if self.judged.at == at { self.judged.answers.get(key).copied() } else { None }
    }

    /// Records the result of a condition.
    pub fn judge(&mut self, at: Moment, key: Option<ConditionKey>, answer: bool) {
        self.judgments += 1;
        let Some(key) = key else { return };
        if self.judged.at != at {
            self.judged = Judged { at, answers: BTreeMap::new() };
        }
        self.judged.answers.insert(key, answer);
    }

    /// How often a condition was evaluated.
    pub fn judgments(&self) -> u64 {
        self.judgments
    }

    /// All waiting pods, group after group.
    pub fn everybody(&self) -> impl Iterator<Item = &PodKey> {
        self.open.values().flat_map(|open| &open.waiting)
    }

    /// Records the conditions of a waiting pod, each with the result that allows it. Returns a
    /// number that pods with the same conditions and inputs share; `None`: no other pod can have
    /// the same.
    pub fn enlist(&mut self, pod: &PodKey, keys: Vec<(Option<ConditionKey>, bool)>) -> Option<u64> {
        let shared = keys.iter().all(|(key, _)| key.is_some());
        let number = shared.then(|| {
            self.next_equivalence_key += 1;
            *self.equivalence_keys.entry(keys.clone()).or_insert(self.next_equivalence_key)
        });
        self.conditions.insert(pod.clone(), keys);
        number
    }

    /// Counts an evaluation of a pod.
    pub fn look(&mut self) {
        self.looks += 1;
    }

    /// How often pods were evaluated.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Removes and returns the waiting pods of a group whose conditions are known to hold at this
    /// moment.
    pub fn release(&mut self, at: Moment, key: &WaitKey) -> Vec<PodKey> {
        let holds = |pod: &PodKey| {
            let keys = self.conditions.get(pod)?;
            let known = |of: &Option<ConditionKey>| of.as_ref().and_then(|of| self.judged(at, of));
            Some(keys.iter().all(|(key, wanted)| known(key) == Some(*wanted)))
        };
        let mut released = self.waiting(key);
        released.retain(|pod| holds(pod) == Some(true));
        for pod in &released {
            self.leave(pod);
            self.released.insert(pod.clone());
        }
        released
    }

    /// Whether `pod` was released and not reconsidered since.
    pub fn take_released(&mut self, pod: &PodKey) -> bool {
        self.released.remove(pod)
    }

    /// Removes a waiting pod.
    pub fn leave(&mut self, pod: &PodKey) {
        self.released.remove(pod);
        self.conditions.remove(pod);
        for open in self.open.values_mut() {
            open.waiting.remove(pod);
        }
        self.open.retain(|_, open| !open.waiting.is_empty());
        self.forget_equivalence_keys();
    }

    /// Removes and returns all waiting pods of a group.
    pub fn close(&mut self, key: &WaitKey) -> Vec<PodKey> {
        let open = self.open.remove(key);
        let waiting: Vec<PodKey> = open.map(|open| open.waiting.into_iter().collect()).unwrap_or_default();
        waiting.iter().for_each(|pod| {
            self.conditions.remove(pod);
        });
        self.forget_equivalence_keys();
        waiting
    }

    /// Forgets the numbers once no pod waits; a number is never used again.
    fn forget_equivalence_keys(&mut self) {
        if self.conditions.is_empty() {
            self.equivalence_keys.clear();
        }
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
}
