//! [`Waits`]: the groups that wait at a policy's permit, each with one deadline and its waiting
//! pods. It also keeps the results of conditions at one moment, so that a condition is evaluated
//! once for a group and not once for each member.

use bayplan_lang::types::value::Ordered;
use bayplan_model::{Change, Delta, Feeds, Generation, Index, Moves, PodKey, Snapshot, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Which `wait` of the policy, and the values of the group's paths.
pub(super) type WaitKey = (usize, Vec<Ordered<'static>>);

/// The groups that wait. Only the policy's permit writes it. It is not derived from objects, so a
/// rebuild keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    open: BTreeMap<WaitKey, Open>,
    /// The groups in which each pod waits.
    groups_of: BTreeMap<PodKey, BTreeSet<WaitKey>>,
    /// Pods that are allowed and have not been reconsidered since.
    released: BTreeSet<PodKey>,
    /// What each waiting pod waits for.
    conditions: BTreeMap<PodKey, Arc<Conditions>>,
    /// The pods that wait for the same.
    classes: BTreeMap<Arc<Conditions>, Class>,
    /// The last number of a class; a number is never used again.
    last_number: u64,
    /// Results of conditions at one moment.
    judged: Judged,
    /// Results that hold until members of groups changed, of conditions that pods wait for.
    standing: BTreeMap<ConditionKey, Standing>,
    /// How often a condition was evaluated.
    judgments: u64,
    /// How often a pod was evaluated.
    looks: u64,
}

/// The conditions of a waiting pod, each with the result that allows it; `None`: no other pod has
/// the same condition with the same inputs.
type Conditions = Vec<(Option<ConditionKey>, bool)>;

/// Pods with the same conditions and inputs.
#[derive(Clone, Debug, PartialEq)]
struct Class {
    number: u64,
    pods: usize,
}

/// A result of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) answer: bool,
    /// How often the groups of the condition had moved, and after how many further moves the
    /// result may be another; `None`: it holds at one moment only.
    pub(super) moves: Option<(u64, u64)>,
}

/// The last result of a condition that pods wait for.
#[derive(Clone, Debug, PartialEq)]
struct Standing {
    /// The classes that have the condition.
    classes: usize,
    /// The policy by which it was evaluated, and the result.
    verdict: Option<(u64, Verdict)>,
}

/// What the result of a condition depends on beside the pod: the cluster, the instant, the policy.
pub(super) type Moment = (Generation, Time, u64);

/// A condition of a permit, by its position, with all values that it reads of the pod itself.
pub(super) type ConditionKey = (usize, Vec<Ordered<'static>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Judged {
    at: Moment,
    answers: BTreeMap<ConditionKey, Verdict>,
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
        self.groups_of.entry(pod.clone()).or_default().insert(key.clone());
        let open = self.open.entry(key).or_insert_with(|| Open { deadline, waiting: BTreeSet::new() });
        open.waiting.insert(pod);
        open.deadline
    }

    /// The pods that wait in a group, in the order of their keys.
    pub fn waiting(&self, key: &WaitKey) -> Vec<PodKey> {
        self.open.get(key).map(|open| open.waiting.iter().cloned().collect()).unwrap_or_default()
    }

    /// The result of a condition at a moment. `moves`: how often its groups moved, where nothing
    /// else can change the result.
    pub fn judged(&self, at: Moment, key: &ConditionKey, moves: Option<u64>) -> Option<bool> {
        if self.judged.at == at
            && let Some(verdict) = self.judged.answers.get(key)
        {
            return Some(verdict.answer);
        }
        let (policy, verdict) = self.standing.get(key)?.verdict?;
        let (then, limit) = verdict.moves?;
        let moved = moves?.checked_sub(then)?;
        (policy == at.2 && moved < limit).then_some(verdict.answer)
    }

    /// Records the result of a condition at a moment; `evaluated`: it was not known.
    pub(super) fn judge(&mut self, at: Moment, key: Option<ConditionKey>, verdict: Verdict, evaluated: bool) {
        self.judgments += u64::from(evaluated);
        let Some(key) = key else { return };
        if self.judged.at != at {
            self.judged = Judged { at, answers: BTreeMap::new() };
        }
        self.judged.answers.entry(key).or_insert(verdict);
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
    pub(crate) fn enlist(&mut self, at: Moment, pod: &PodKey, conditions: Conditions) -> Option<u64> {
        let shared = conditions.iter().all(|(key, _)| key.is_some());
        let known = self.classes.get_key_value(&conditions).map(|(known, _)| known.clone());
        let conditions = known.unwrap_or_else(|| Arc::new(conditions));
        if !self.classes.contains_key(&conditions) {
            self.last_number += 1;
            self.classes.insert(conditions.clone(), Class { number: self.last_number, pods: 0 });
            for (key, _) in conditions.iter() {
                if let Some(key) = key {
                    let new = || Standing { classes: 0, verdict: None };
                    self.standing.entry(key.clone()).or_insert_with(new).classes += 1;
                }
            }
        }
        for key in conditions.iter().filter_map(|(key, _)| key.as_ref()) {
            let verdict = self.judged.answers.get(key).filter(|_| self.judged.at == at);
            if let (Some(verdict @ Verdict { moves: Some(_), .. }), Some(standing)) =
                (verdict, self.standing.get_mut(key))
            {
                standing.verdict = Some((at.2, *verdict));
            }
        }
        let number = self.classes.get_mut(&conditions).map(|class| {
            class.pods += 1;
            class.number
        });
        if let Some(before) = self.conditions.insert(pod.clone(), conditions) {
            self.leave_class(&before);
        }
        number.filter(|_| shared)
    }

    /// A pod left its class. The last one takes the results of its conditions along.
    fn leave_class(&mut self, conditions: &Arc<Conditions>) {
        let Some(class) = self.classes.get_mut(conditions) else { return };
        class.pods -= 1;
        if class.pods > 0 {
            return;
        }
        self.classes.remove(conditions);
        for key in conditions.iter().filter_map(|(key, _)| key.as_ref()) {
            if let Some(standing) = self.standing.get_mut(key) {
                standing.classes -= 1;
                if standing.classes == 0 {
                    self.standing.remove(key);
                }
            }
        }
        if self.classes.is_empty() {
            self.judged.answers.clear();
        }
    }

    /// How many results, classes, groups and released pods are kept.
    pub fn kept(&self) -> usize {
        self.open.len()
            + self.groups_of.len()
            + self.released.len()
            + self.conditions.len()
            + self.classes.len()
            + self.standing.len()
            + self.judged.answers.len()
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
            let conditions = self.conditions.get(pod)?;
            let known = |of: &Option<ConditionKey>| of.as_ref().and_then(|of| self.judged(at, of, None));
            Some(conditions.iter().all(|(key, wanted)| known(key) == Some(*wanted)))
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
    pub(crate) fn take_released(&mut self, pod: &PodKey) -> bool {
        self.released.remove(pod)
    }

    /// Removes a waiting pod.
    pub fn leave(&mut self, pod: &PodKey) {
        self.released.remove(pod);
        self.forget(pod);
        for key in self.groups_of.remove(pod).unwrap_or_default() {
            if let Some(open) = self.open.get_mut(&key) {
                open.waiting.remove(pod);
                if open.waiting.is_empty() {
                    self.open.remove(&key);
                }
            }
        }
    }

    /// Removes and returns all waiting pods of a group.
    pub fn close(&mut self, key: &WaitKey) -> Vec<PodKey> {
        let open = self.open.remove(key);
        let waiting: Vec<PodKey> = open.map(|open| open.waiting.into_iter().collect()).unwrap_or_default();
        for pod in &waiting {
            self.forget(pod);
            if let Some(groups) = self.groups_of.get_mut(pod) {
                groups.remove(key);
                if groups.is_empty() {
                    self.groups_of.remove(pod);
                }
            }
        }
        waiting
    }

    /// Forgets what a pod waits for.
    fn forget(&mut self, pod: &PodKey) {
        if let Some(conditions) = self.conditions.remove(pod) {
            self.leave_class(&conditions);
        }
    }
}

impl Index for Waits {
    fn feeds(&self) -> Feeds {
        Feeds::POD_REMOVED.with(Feeds::POD_WAITING)
    }
    fn apply(&mut self, delta: &Delta<'_>, _snapshot: &Snapshot, _moved: &mut Moves) {
        match delta.change {
            Change::PodRemoved { pod } => {
                self.leave(pod);
                if self.classes.is_empty() {
                    self.judged.answers.clear();
                }
            }
            // It went on, so it is not reconsidered.
            Change::PodWaiting { pod, waiting: false } => {
                self.released.remove(pod);
            }
            _ => {}
        }
    }

    fn rebuild(&mut self, _snapshot: &Snapshot) {}

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}
