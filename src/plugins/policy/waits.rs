//! [`Waits`]: the groups that wait at a policy's permit, each with one deadline and the pods that wait for it; and what
//! was found out of them at this moment, so that a group is judged once and not once for each of its members.

use crate::lang::types::value::Ordered;
use crate::model::{Change, Delta, Generation, Index, Moves, PodKey, Snapshot, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Which `wait` of the policy, and the values of the group's paths.
pub type WaitKey = (usize, Vec<Ordered<'static>>);

/// The groups that wait. Written by the policy's permit alone: it is not derived from objects, so a rebuild keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    open: BTreeMap<WaitKey, Open>,
    /// Pods that may go on and have not been asked since.
    released: BTreeSet<PodKey>,
    /// What is asked of those who wait, each with the answer by which they go on; `None`: nobody else asks it.
    asked: BTreeMap<PodKey, Vec<(Option<Question>, bool)>>,
    /// A number for each list of questions that somebody who waits is asked.
    keys: BTreeMap<Vec<(Option<Question>, bool)>, u64>,
    next_key: u64,
    /// What conditions gave at one moment.
    judged: Judged,
    /// How often a condition was evaluated.
    judgments: u64,
    /// How often a pod was looked at.
    looks: u64,
}

/// A moment at which conditions are what they are: the cluster, the instant, the policy.
pub type Moment = (Generation, Time, u64);

/// A condition of a permit, by its place, with all that it reads of the pod itself.
pub type Question = (usize, Vec<Ordered<'static>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Judged {
    at: Moment,
    answers: BTreeMap<Question, bool>,
}

/// A group that waits.
#[derive(Clone, Debug, PartialEq)]
struct Open {
    /// Of all its members.
    deadline: Time,
    waiting: BTreeSet<PodKey>,
}

impl Waits {
    /// Whether somebody waits in a group.
    pub fn is_open(&self, key: &WaitKey) -> bool {
        self.open.contains_key(key)
    }

    /// `pod` waits from now on. Returns the deadline of its group: that of the member that opened it.
    pub fn enter(&mut self, key: WaitKey, pod: PodKey, deadline: Time) -> Time {
        let open = self.open.entry(key).or_insert_with(|| Open { deadline, waiting: BTreeSet::new() });
        open.waiting.insert(pod);
        open.deadline
    }

    /// The pods that wait in a group, in the order of their keys.
    pub fn waiting(&self, key: &WaitKey) -> Vec<PodKey> {
        self.open.get(key).map(|open| open.waiting.iter().cloned().collect()).unwrap_or_default()
    }

    /// What was found out of a condition at this moment.
    pub fn judged(&self, at: Moment, question: &Question) -> Option<bool> {
        if self.judged.at == at { self.judged.answers.get(question).copied() } else { None }
    }

    /// A condition was evaluated.
    pub fn judge(&mut self, at: Moment, question: Option<Question>, answer: bool) {
        self.judgments += 1;
        let Some(question) = question else { return };
        if self.judged.at != at {
            self.judged = Judged { at, answers: BTreeMap::new() };
        }
        self.judged.answers.insert(question, answer);
    }

    /// How often a condition was evaluated.
    pub fn judgments(&self) -> u64 {
        self.judgments
    }

    /// All who wait, group after group.
    pub fn everybody(&self) -> impl Iterator<Item = &PodKey> {
        self.open.values().flat_map(|open| &open.waiting)
    }

    /// What is asked of a waiting pod, each with the answer by which it goes on; `None`: nobody else asks it. A number
    /// that pods have in common who are asked the same; `None` where no other can be.
    pub fn asks(&mut self, pod: &PodKey, questions: Vec<(Option<Question>, bool)>) -> Option<u64> {
        let shared = questions.iter().all(|(question, _)| question.is_some());
        let number = shared.then(|| {
            self.next_key += 1;
            *self.keys.entry(questions.clone()).or_insert(self.next_key)
        });
        self.asked.insert(pod.clone(), questions);
        number
    }

    /// A pod that waits, or comes to wait, is looked at.
    pub fn look(&mut self) {
        self.looks += 1;
    }

    /// How often pods were looked at.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Those who wait in a group and of whom it is known at this moment that they may go on wait no longer.
    pub fn release(&mut self, at: Moment, key: &WaitKey) -> Vec<PodKey> {
        let holds = |pod: &PodKey| {
            let questions = self.asked.get(pod)?;
            let known = |of: &Option<Question>| of.as_ref().and_then(|of| self.judged(at, of));
            Some(questions.iter().all(|(question, wanted)| known(question) == Some(*wanted)))
        };
        let mut released = self.waiting(key);
        released.retain(|pod| holds(pod) == Some(true));
        for pod in &released {
            self.leave(pod);
            self.released.insert(pod.clone());
        }
        released
    }

    /// Whether `pod` was released and not asked since.
    pub fn take_released(&mut self, pod: &PodKey) -> bool {
        self.released.remove(pod)
    }

    /// `pod` waits no longer.
    pub fn leave(&mut self, pod: &PodKey) {
        self.released.remove(pod);
        self.asked.remove(pod);
        for open in self.open.values_mut() {
            open.waiting.remove(pod);
        }
        self.open.retain(|_, open| !open.waiting.is_empty());
        self.forget_keys();
    }

    /// The whole group waits no longer. Returns who did.
    pub fn close(&mut self, key: &WaitKey) -> Vec<PodKey> {
        let open = self.open.remove(key);
        let waiting: Vec<PodKey> = open.map(|open| open.waiting.into_iter().collect()).unwrap_or_default();
        waiting.iter().for_each(|pod| {
            self.asked.remove(pod);
        });
        self.forget_keys();
        waiting
    }

    /// Numbers nobody has are given up when nobody waits; they are never given again.
    fn forget_keys(&mut self) {
        if self.asked.is_empty() {
            self.keys.clear();
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
