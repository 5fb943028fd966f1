//! Groups as an index: the pods of `group NAME = p in pods where p.path == pod.path && …` by the
//! values of the paths, so that finding one pod's group does not visit all pods.
//!
//! `plugins::policy` makes an index for each group, the snapshot keeps it, and closures read it.
//! Conditions of the group that are not such an equality are evaluated when a rule needs the
//! members.

use crate::analysis::index::can_be_indexed;
use crate::codegen::{Env, Lowering, ValueFn};
use crate::eval::context::EvalContext;
use crate::eval::meaning::Meaning;
use crate::eval::shards::Shards;
use crate::typed::{GroupId, Policy};
use crate::types::convert;
use crate::types::value::{Ordered, Value};
use bayplan_model::{
    Change, Delta, Feeds, Index, IndexKey, Kinds, Moved, Moves, PodInfo, PodKey, Snapshot, Symbol, Time,
};
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

type Key = Vec<Ordered<'static>>;

/// The pods of one group declaration by the values of its paths.
#[derive(Clone)]
pub struct GroupIndex {
    paths: Arc<Paths>,
    key: IndexKey,
    groups: Shards<Key, Arc<Members>>,
    /// The key of each pod.
    keys: Shards<PodKey, Arc<Key>>,
    /// No group has moved more often than this.
    moves: u64,
}

/// The pods of one group.
#[derive(Clone)]
struct Members {
    /// In the order of their keys.
    pods: BTreeMap<PodKey, Arc<PodInfo>>,
    /// Grows with each change of a member.
    moves: u64,
}

/// The closures of a group's paths, which read nothing but the member and the policy's constants.
struct Paths {
    /// The place of the member's variable.
    slot: usize,
    values: Vec<ValueFn>,
}

impl std::fmt::Debug for GroupIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: BTreeMap<_, _> = self.keys.iter().collect();
        f.debug_struct("GroupIndex").field("keys", &keys).finish_non_exhaustive()
    }
}

/// Two indexes are equal when they have the same members under the same keys. An update that changes nothing
/// readable does not reach an index, so that versions of a member may differ in such fields.
impl PartialEq for GroupIndex {
    fn eq(&self, other: &Self) -> bool {
        let same = |(left, right): (&Arc<PodInfo>, &Arc<PodInfo>)| left.difference(right).is_empty();
        self.keys == other.keys
            && self.groups.len() == other.groups.len()
            && self.groups.iter().all(|(key, left)| {
                other.groups.get(key).is_some_and(|right| {
                    left.pods.len() == right.pods.len()
                        && left.pods.values().zip(right.pods.values()).all(same)
                })
            })
    }
}

/// The key of a group's index in the snapshot. It names what the group means: profiles with other arguments, and
/// changed groups, have an index of their own.
pub fn index_key(policy: &Policy, group: GroupId) -> IndexKey {
    let means = Meaning::new(policy).of_group(group);
    IndexKey(Symbol::from(format!("{}/group/{}/{means:016x}", policy.name, policy[group].name)))
}

/// The number of a group in [`Moved::Group`]: of the pods whose paths have these values.
pub fn group_number(index: &IndexKey, values: &[Ordered<'static>]) -> u64 {
    let mut hasher = FxHasher::default();
    index.hash(&mut hasher);
    values.hash(&mut hasher);
    hasher.finish()
}

impl GroupIndex {
    /// An empty index for a group.
    pub fn new(policy: &Policy, group: GroupId) -> Self {
        let mut lowering = Lowering::new(policy);
        let of = &policy[group];
        let values = of.keys.iter().map(|key| lowering.value(&key.member)).collect();
        let paths = Paths { slot: of.slot.index(), values };
        let key = index_key(policy, group);
        Self { paths: Arc::new(paths), key, groups: Shards::default(), keys: Shards::default(), moves: 0 }
    }

    /// A number that grows by at least one with each change of a pod whose paths have, or had, these values.
    pub fn moves(&self, key: &[Ordered<'static>]) -> u64 {
        self.groups.get(key).map_or(self.moves, |members| members.moves)
    }

    /// The pods whose paths have these values.
    pub fn get(&self, key: &Key) -> impl Iterator<Item = &PodInfo> {
        self.groups.get(key).into_iter().flat_map(|members| members.pods.values()).map(|pod| &**pod)
    }

    fn key_of(&self, pod: &Arc<PodInfo>, snapshot: &Snapshot) -> Option<Key> {
        if pod.is_finished() {
            return None;
        }
        let mut env = Env::with_slot(EvalContext::new(pod, snapshot, Time::default()), self.paths.slot);
        if let Some(member) = env.slots.get_mut(self.paths.slot) {
            *member = Value::Pod(pod);
        }
        let mut values = Vec::with_capacity(self.paths.values.len());
        for path in &self.paths.values {
            let value = path(&mut env);
            // Absent, or a list with something absent: it equals nothing.
            if !value.equals(&value) {
                return None;
            }
            values.push(Ordered(convert::keep(&value)));
        }
        Some(values)
    }

    fn take(&mut self, pod: &PodKey) {
        if self.keys.get(pod).is_none() {
            return;
        }
        let Some(key) = self.keys.part_mut(pod).and_then(|part| part.remove(pod)) else { return };
        let Some(part) = self.groups.part_mut(&key) else { return };
        if let Some(members) = part.get_mut(&*key).map(Arc::make_mut) {
            members.pods.remove(pod);
            if members.pods.is_empty() {
                part.remove(&*key);
            }
        }
    }

    /// Counts a change of a member that is or was in this group.
    fn moved(&mut self, key: &Key) {
        let members = self.groups.part_mut(key).and_then(|part| part.get_mut(key)).map(Arc::make_mut);
        let moves = match members {
            Some(members) => {
                members.moves += 1;
                members.moves
            }
            None => self.moves + 1,
        };
        self.moves = self.moves.max(moves);
    }

    fn put(&mut self, pod: &Arc<PodInfo>, snapshot: &Snapshot) {
        self.take(&pod.key);
        let Some(key) = self.key_of(pod, snapshot) else { return };
        let moves = self.moves;
        if let Some(part) = self.groups.part_mut(&key) {
            let new = || Arc::new(Members { pods: BTreeMap::new(), moves });
            let members = Arc::make_mut(part.entry(key.clone()).or_insert_with(new));
            members.pods.insert(pod.key.clone(), pod.clone());
        }
        if let Some(part) = self.keys.part_mut(&pod.key) {
            part.insert(pod.key.clone(), Arc::new(key));
        }
    }
}

impl Index for GroupIndex {
    fn feeds(&self) -> Feeds {
        let others = Feeds::POD_ASSUMED.with(Feeds::POD_WAITING).with(Feeds::NOMINATED);
        Feeds::PLACEMENTS.with(others)
    }

    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, moved: &mut Moves) {
        let pod = match delta.change {
            Change::PodPlaced { pod, .. } | Change::PodPending { pod } | Change::Nominated { pod, .. } => {
                &pod.key
            }
            Change::PodRemoved { pod }
            | Change::PodUnplaced { pod }
            | Change::PodWaiting { pod, .. }
            | Change::PodAssumed { pod, .. } => pod,
            _ => return,
        };
        let before = self.keys.get(pod).cloned();
        match delta.change {
            Change::PodPlaced { pod, .. } | Change::PodPending { pod } => {
                // The paths read nothing but the pod: a pod that only moved keeps its group.
                let known = delta.pod_before.as_ref().is_some_and(|(before, _)| Arc::ptr_eq(before, pod));
                if !known {
                    self.put(pod, snapshot);
                }
            }
            Change::PodRemoved { pod } => self.take(pod),
            _ => {}
        }
        let after = self.keys.get(pod).filter(|after| before.as_ref() != Some(after)).cloned();
        for key in before.iter().chain(&after) {
            self.moved(key);
            moved.0.push((Moved::Group(group_number(&self.key, key)), Kinds::GROUPS));
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        (self.groups, self.keys) = (Shards::default(), Shards::default());
        // Beyond every number that an index of this key may have given before.
        self.moves = self.moves.max(snapshot.generation().0) + 1;
        for entry in snapshot.pods() {
            self.put(&entry.pod, snapshot);
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// How closures find the candidates of a group: in the index if it exists and knows all pods, else
/// among all pods.
pub struct Lookup {
    key: Option<IndexKey>,
}

impl Lookup {
    /// For a group of a policy.
    pub fn new(policy: &Policy, group: GroupId) -> Self {
        Self { key: can_be_indexed(policy, group).then(|| index_key(policy, group)) }
    }

    /// Pods that may be in the group, ordered by key, and whether their paths surely have the
    /// wanted values.
    pub fn candidates<'a>(
        &self,
        context: &EvalContext<'a>,
        wanted: &[Value<'_>],
    ) -> (Vec<&'a PodInfo>, bool) {
        if wanted.iter().any(|value| !value.equals(value)) {
            return (Vec::new(), true);
        }
        let complete = context.moved.added.iter().all(|(pod, _)| context.snapshot.pod(&pod.key).is_some())
            && context.snapshot.pod(&context.pod.key).is_some();
        let index = self.key.as_ref().filter(|_| complete).and_then(|key| {
            let snapshot: &'a Snapshot = context.snapshot;
            snapshot.index::<GroupIndex>(key)
        });
        match index {
            Some(index) => {
                let key: Key = wanted.iter().map(|value| Ordered(convert::keep(value))).collect();
                (index.get(&key).filter(|pod| context.sees(pod)).collect(), true)
            }
            None => (context.pods(), false),
        }
    }
}
