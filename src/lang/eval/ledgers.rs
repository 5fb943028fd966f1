//! Ledgers: which pods they count ([`entry_of`] defines it), and [`LedgerIndex`], the sums as an index of the
//! snapshot.
//!
//! `plugins::policy` makes an index for each ledger, with the closures of `codegen::ledgers`; the snapshot keeps it,
//! and both evaluators read it. In a simulation a sum is that of the index with the pods that were moved. An entry
//! lives as long as its pod has a node, so that what tenants write as a key is kept no longer than their pods. It
//! remembers the objects that it looked up, including missing ones, and is made again when one of them changes.
//!
//! Sums have 128 bits, and what each placed pod adds is in parts that forks share. Log records are numbered by ledger
//! and key, so that pods wake when a sum that they read moves. A ledger counts its pods again at the end of an
//! exception (`Index::next_end`, `Index::expire`). An index with a `PodPrecondition` gets no other change of a pod.

use super::amounts::Amount;
use super::context::{EvalContext, MovedPods};
use super::interpret::Evaluator;
use super::looked::{Looked, Place};
use super::meaning::Meaning;
use super::shards::Shards;
use crate::typed::{LedgerId, Policy};
use crate::types::Type;
use crate::types::convert;
use crate::types::value::{Constant, Ordered, Value};
use bayplan_model::{
    Change, Delta, Feeds, Index, IndexKey, Kinds, Moved, Moves, NodeId, PodInfo, PodKey, PodPrecondition,
    Snapshot, Symbol, Time,
};
use rustc_hash::FxHasher;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The key of a sum.
pub type Key = Ordered<'static>;

/// What a pod on a node adds, and under which key; `None` if the ledger does not count it.
/// The objects that it looks up are remembered.
pub type EntryFn =
    Box<dyn Fn(&PodInfo, NodeId, &Snapshot, Option<&Looked>) -> Option<(Key, Amount)> + Send + Sync>;

/// What a ledger counts.
pub struct Definition {
    /// The key of its index.
    pub key: IndexKey,
    /// The type of its sums.
    pub ty: Type,
    /// The entry of a pod on a node.
    pub entry: EntryFn,
    /// Pods without this are not counted.
    pub precondition: Option<PodPrecondition>,
    /// Whether entries move with their nodes.
    pub reads_node: bool,
    /// Whether entries move with their namespaces.
    pub reads_namespace: bool,
    /// Whether entries move with objects that they look up.
    pub reads_objects: bool,
    /// The instants of the wall clock at which pods that an exception leaves alone are counted again, the first one first.
    pub ends: Vec<Time>,
}

impl Definition {
    /// Of a ledger whose entries `entry` computes.
    pub fn new(
        policy: &Policy,
        ledger: LedgerId,
        precondition: Option<PodPrecondition>,
        entry: EntryFn,
    ) -> Self {
        let of = &policy[ledger];
        Self {
            key: of.index.clone(),
            ty: of.ty.clone(),
            entry,
            precondition,
            reads_node: of.reads_node,
            reads_namespace: of.reads_namespace,
            reads_objects: of.reads_objects,
            ends: policy.ends(),
        }
    }

    /// What a pod adds on a node, if anything.
    fn entry(
        &self,
        pod: &PodInfo,
        node: NodeId,
        snapshot: &Snapshot,
        looked: Option<&Looked>,
    ) -> Option<(Key, Amount)> {
        (self.entry)(pod, node, snapshot, looked).filter(|(_, amount)| !amount.is_nothing())
    }
}

/// The definition of an entry: what a pod on a node adds to a ledger, and under which key. A pod is counted if the
/// conditions of `applies` hold for it, it is not finished, and nothing that the ledger needs is absent. Pods that the
/// policy leaves alone hold room, too, so they count.
pub fn entry_of(
    policy: &Policy,
    ledger: LedgerId,
    (pod, node): (&PodInfo, NodeId),
    snapshot: &Snapshot,
) -> Option<(Key, Amount)> {
    let of = &policy[ledger];
    if pod.is_finished() {
        return None;
    }
    let node = snapshot.node(node);
    if of.reads_node && node.is_none() {
        return None;
    }
    let context = EvalContext { node, ..EvalContext::new(pod, snapshot, snapshot.time()) };
    let mut evaluator = Evaluator::new(policy, context);
    let applies = policy.narrows().all(|condition| evaluator.holds(condition));
    let mut present = || of.required_lets.iter().all(|id| !evaluator.value(&policy[*id].value).is_absent());
    if !applies || !present() {
        return None;
    }
    let key = evaluator.value(&of.key);
    if !key.equals(&key) {
        return None;
    }
    let mut amount = Amount::nothing(&of.ty);
    for add in &of.adds {
        if add.when.as_ref().is_none_or(|when| evaluator.holds(when)) {
            amount.add_value(&evaluator.value(&add.value));
        }
    }
    Some((Ordered(convert::keep(&key)), amount))
}

/// The keys of the indexes of a policy's ledgers, which [`Ledger::index`](crate::typed::Ledger::index) keeps. They
/// name what is counted, of which pods and under which key: profiles with other arguments, and changed ledgers, have
/// indexes of their own.
pub fn index_keys(policy: &Policy) -> Vec<IndexKey> {
    let mut meaning = Meaning::new(policy);
    let ledgers = policy.ledgers.iter().enumerate();
    let key = ledgers.map(|(at, ledger)| {
        let means = meaning.of_ledger(LedgerId(at as u32));
        IndexKey(Symbol::from(format!("{}/ledger/{}/{means:016x}", policy.name, ledger.name)))
    });
    key.collect()
}

/// The number of a key of a ledger in [`Moved::Group`].
pub fn key_number(index: &IndexKey, key: &Key) -> u64 {
    let mut hasher = FxHasher::default();
    index.hash(&mut hasher);
    key.hash(&mut hasher);
    hasher.finish()
}

/// The number of a ledger, whatever the key, in [`Moved::Group`]: of sums that an end of an exception moves.
pub fn ledger_number(index: &IndexKey) -> u64 {
    let mut hasher = FxHasher::default();
    index.hash(&mut hasher);
    hasher.finish()
}

/// The sums of a ledger.
#[derive(Clone)]
pub struct LedgerIndex {
    by: Arc<Definition>,
    sums: Shards<Key, Sum>,
    /// What each pod that is counted adds, and where.
    entries: Shards<PodKey, (Key, Amount)>,
    looks: Looks,
    /// How many exceptions have ended.
    ended: usize,
}

/// The sum under a key.
#[derive(Clone, Debug)]
struct Sum {
    amount: Amount,
    pods: u32,
    /// Its value, once it was read.
    value: OnceLock<Constant>,
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        self.amount == other.amount && self.pods == other.pods
    }
}

impl std::fmt::Debug for LedgerIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|left, right| left.0.cmp(right.0));
        f.debug_struct("LedgerIndex").field("entries", &entries).finish_non_exhaustive()
    }
}

impl PartialEq for LedgerIndex {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries && self.sums == other.sums && self.looks == other.looks
    }
}

impl LedgerIndex {
    /// An empty index.
    pub fn new(by: Definition) -> Self {
        let looks = Looks::default();
        Self { by: Arc::new(by), sums: Shards::default(), entries: Shards::default(), looks, ended: 0 }
    }

    /// The sum under a key; 0 or empty where there is none.
    pub fn sum(&self, key: &Key) -> Constant {
        match self.sums.get(key) {
            Some(sum) => sum.value.get_or_init(|| sum.amount.value()).clone(),
            None => Amount::nothing(&self.by.ty).value(),
        }
    }

    /// The sum under a key with the pods that a simulation moved.
    fn sum_with(&self, key: &Key, moved: &MovedPods, snapshot: &Snapshot) -> Constant {
        let known = self.sums.get(key).map(|sum| sum.amount.clone());
        let mut sum = known.unwrap_or_else(|| Amount::nothing(&self.by.ty));
        let added = moved.added.iter().map(|(pod, _)| &pod.key);
        for pod in moved.removed.iter().chain(added) {
            if let Some((_, amount)) = self.entries.get(pod).filter(|(of, _)| of == key) {
                sum.subtract(amount);
            }
        }
        for (pod, node) in &moved.added {
            if let Some((_, amount)) = self.by.entry(pod, *node, snapshot, None).filter(|(of, _)| of == key) {
                sum.add(&amount);
            }
        }
        sum.value()
    }

    /// The sums that the pods of a simulation moved, by key.
    pub fn moved_sums(&self, moved: &MovedPods, snapshot: &Snapshot) -> Vec<(Key, Constant)> {
        let mut keys: Vec<Key> = Vec::new();
        let mut add = |key: &Key| {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        };
        let added = moved.added.iter().map(|(pod, _)| &pod.key);
        moved
            .removed
            .iter()
            .chain(added)
            .filter_map(|pod| self.entries.get(pod))
            .for_each(|(key, _)| add(key));
        let entries = moved.added.iter().filter_map(|(pod, node)| self.by.entry(pod, *node, snapshot, None));
        entries.for_each(|(key, _)| add(&key));
        keys.into_iter().map(|key| (key.clone(), self.sum_with(&key, moved, snapshot))).collect()
    }

    /// What a pod on a node would add, and under which key.
    pub fn entry_on(&self, pod: &PodInfo, node: NodeId, snapshot: &Snapshot) -> Option<(Key, Amount)> {
        self.by.entry(pod, node, snapshot, None)
    }

    /// How many pods it counts, and how many keys there are.
    pub fn kept(&self) -> (usize, usize) {
        (self.entries.len(), self.sums.len())
    }

    /// How many pods looked objects up, and how many places they looked at.
    pub fn looks_kept(&self) -> (usize, usize) {
        self.looks.kept()
    }

    /// Counts a pod on a node, or nowhere, instead of what was counted of it before.
    fn put(&mut self, pod: &PodKey, entry: Option<(Key, Amount)>, moved: &mut Moves) {
        let before = self.entries.get(pod);
        if before == entry.as_ref() {
            return;
        }
        let before = before.cloned();
        if let Some((key, amount)) = &before {
            self.change(key, moved, |sum| {
                sum.amount.subtract(amount);
                sum.pods = sum.pods.saturating_sub(1);
            });
        }
        if let Some((key, amount)) = &entry {
            self.change(key, moved, |sum| {
                sum.amount.add(amount);
                sum.pods += 1;
            });
        }
        let Some(part) = self.entries.part_mut(pod) else { return };
        match entry {
            Some(entry) => part.insert(pod.clone(), entry),
            None => part.remove(pod),
        };
    }

    fn change(&mut self, key: &Key, moved: &mut Moves, change: impl FnOnce(&mut Sum)) {
        let number = Moved::Group(key_number(&self.by.key, key));
        if moved.0.last().is_none_or(|(last, _)| *last != number) {
            moved.0.push((number, Kinds::GROUPS));
        }
        let nothing = || Sum { amount: Amount::nothing(&self.by.ty), pods: 0, value: OnceLock::new() };
        let Some(part) = self.sums.part_mut(key) else { return };
        let sum = part.entry(key.clone()).or_insert_with(nothing);
        sum.value.take();
        change(sum);
        if sum.pods == 0 {
            part.remove(key);
        }
    }

    /// Counts a pod on a node.
    fn count(&mut self, pod: &PodInfo, node: NodeId, snapshot: &Snapshot, moved: &mut Moves) {
        if self.by.reads_objects {
            let looked = Looked::default();
            let entry = self.by.entry(pod, node, snapshot, Some(&looked));
            self.looks.put(&pod.key, looked.places());
            return self.put(&pod.key, entry, moved);
        }
        let entry = self.by.entry(pod, node, snapshot, None);
        self.put(&pod.key, entry, moved);
    }

    /// Counts some of the placed pods again, in their order, so that the log is the same for the same changes.
    fn count_again(&mut self, snapshot: &Snapshot, which: impl Fn(&PodInfo) -> bool, moved: &mut Moves) {
        let mut pods: Vec<_> = snapshot.pods().filter(|entry| which(&entry.pod)).collect();
        pods.sort_by(|left, right| left.pod.key.cmp(&right.pod.key));
        for entry in pods {
            if let Some((node, _)) = entry.placed {
                self.count(&entry.pod, node, snapshot, moved);
            }
        }
    }

    /// How many exceptions have ended.
    fn ended_at(&self, snapshot: &Snapshot) -> usize {
        let now = snapshot.wall_clock(snapshot.time());
        self.by.ends.partition_point(|end| *end <= now)
    }

    /// No longer counts a pod.
    fn take_out(&mut self, pod: &PodKey, moved: &mut Moves) {
        self.looks.put(pod, Box::default());
        self.put(pod, None, moved);
    }

    /// Counts the pods again that looked at a place.
    fn object_changed(&mut self, place: &Place, snapshot: &Snapshot, moved: &mut Moves) {
        for pod in self.looks.readers(place) {
            if let Some(entry) = snapshot.pod(&pod)
                && let Some((node, _)) = entry.placed
            {
                self.count(&entry.pod, node, snapshot, moved);
            }
        }
    }
}

/// The objects at which entries looked.
#[derive(Clone, Debug, Default, PartialEq)]
struct Looks {
    /// The places that each pod looked at, in their order.
    places: Shards<PodKey, Arc<[Place]>>,
    /// The pods that looked at each place.
    readers: Shards<Place, BTreeSet<PodKey>>,
}

impl Looks {
    fn kept(&self) -> (usize, usize) {
        (self.places.len(), self.readers.len())
    }

    /// The pods that looked at a place, in their order, so that the log is the same for the same changes.
    fn readers(&self, place: &Place) -> Vec<PodKey> {
        self.readers.get(place).map(|pods| pods.iter().cloned().collect()).unwrap_or_default()
    }

    /// Where a pod looks, instead of where it looked before.
    fn put(&mut self, pod: &PodKey, places: Box<[Place]>) {
        let before = self.places.get(pod).cloned();
        if before.as_deref().unwrap_or_default() == &*places {
            return;
        }
        for place in before.iter().flat_map(|before| before.iter()) {
            let Some(part) = self.readers.part_mut(place) else { continue };
            if let Some(pods) = part.get_mut(place) {
                pods.remove(pod);
                if pods.is_empty() {
                    part.remove(place);
                }
            }
        }
        for place in &places {
            let Some(part) = self.readers.part_mut(place) else { continue };
            part.entry(place.clone()).or_default().insert(pod.clone());
        }
        let Some(part) = self.places.part_mut(pod) else { return };
        match places.is_empty() {
            true => part.remove(pod),
            false => part.insert(pod.clone(), places.into()),
        };
    }
}

impl Index for LedgerIndex {
    fn feeds(&self) -> Feeds {
        let nodes = if self.by.reads_node { Feeds::NODES } else { Feeds::NONE };
        let namespaces = match self.by.reads_namespace {
            true => Feeds::NAMESPACE_UPSERTED.with(Feeds::NAMESPACE_REMOVED),
            false => Feeds::NONE,
        };
        let objects = if self.by.reads_objects { Feeds::OBJECTS } else { Feeds::NONE };
        let time = if self.by.ends.is_empty() { Feeds::NONE } else { Feeds::TIME };
        Feeds::PLACEMENTS.with(nodes).with(namespaces).with(objects).with(time)
    }

    fn precondition(&self) -> Option<&PodPrecondition> {
        self.by.precondition.as_ref()
    }

    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, moved: &mut Moves) {
        let of_namespace = match delta.change {
            Change::PodPlaced { pod, node, .. } => return self.count(pod, *node, snapshot, moved),
            Change::PodPending { pod } => return self.take_out(&pod.key, moved),
            Change::PodUnplaced { pod } | Change::PodRemoved { pod } => return self.take_out(pod, moved),
            Change::NodeUpserted { .. } | Change::NodeRemoved { .. } => {
                let Some(node) = delta.node else { return };
                for pod in snapshot.pods_on(node) {
                    self.count(pod, node, snapshot, moved);
                }
                return;
            }
            Change::NamespaceUpserted { namespace } => &namespace.name,
            Change::NamespaceRemoved { name } => name,
            _ => {
                let changed = delta.object.as_ref().and_then(|of| of.after.as_ref().or(of.before.as_ref()));
                if let Some(object) = changed {
                    let key = object.key();
                    self.object_changed(&(key.kind, key.namespace, key.name), snapshot, moved);
                }
                return;
            }
        };
        self.count_again(snapshot, |pod| pod.namespace == *of_namespace, moved);
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.sums = Shards::default();
        self.entries = Shards::default();
        self.looks = Looks::default();
        self.ended = self.ended_at(snapshot);
        let mut moved = Moves::default();
        for entry in snapshot.pods() {
            if let Some((node, _)) = entry.placed {
                self.count(&entry.pod, node, snapshot, &mut moved);
                moved.0.clear();
            }
        }
    }

    fn next_end(&self, snapshot: &Snapshot) -> Option<Time> {
        let ended = self.ended_at(snapshot);
        if ended != self.ended {
            return Some(snapshot.time());
        }
        self.by.ends.get(ended).map(|end| snapshot.monotonic(*end))
    }

    fn expire(&mut self, snapshot: &Snapshot, moved: &mut Moves) {
        self.ended = self.ended_at(snapshot);
        let before = moved.0.len();
        self.count_again(snapshot, |_| true, moved);
        if moved.0.len() > before {
            moved.0.push((Moved::Group(ledger_number(&self.by.key)), Kinds::GROUPS));
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// The sum of a ledger under a key, for the pod and the simulation of a context; `None`: the snapshot has no index of
/// the ledger.
pub fn sum(context: &EvalContext<'_>, index: &IndexKey, key: &Value<'_>) -> Option<Constant> {
    let index = context.snapshot.index::<LedgerIndex>(index)?;
    let key = Ordered(convert::keep(key));
    if context.moved.is_empty() {
        return Some(index.sum(&key));
    }
    Some(index.sum_with(&key, context.moved, context.snapshot))
}

/// The sum by definition: of the entries of all pods that have a node in a context.
pub fn recomputed(policy: &Policy, ledger: LedgerId, context: &EvalContext<'_>, key: &Value<'_>) -> Constant {
    let mut sum = Amount::nothing(&policy[ledger].ty);
    for pod in context.pods() {
        let Some((node, _)) = context.placement(pod) else { continue };
        let entry = entry_of(policy, ledger, (pod, node), context.snapshot);
        if let Some((of, amount)) = entry
            && of.0.equals(key)
        {
            sum.add(&amount);
        }
    }
    sum.value()
}
