//! [`Snapshot`]: the state of the cluster that readers see, and how changes become the next one.

use super::PodEntry;
use super::indexes::Indexes;
use super::objects::Objects;
use super::pods::PodTable;
use crate::changes::{Change, ChangeLog, ChangeRecord, Delta, Generation, Kinds, Moved, Moves};
use crate::columns::{Columns, KeptColumns};
use crate::index::{Feeds, Index, IndexError, IndexKey};
use crate::kubernetes::VersionRows;
use crate::metrics::{Metrics, Reading};
use crate::node::Node;
use crate::node_info::NodeInfo;
use crate::node_set::NodeId;
use crate::objects::{Kind, Namespace};
use crate::pod::{PodInfo, PodKey};
use crate::pod_counts::{PodCounts, labels_of};
use crate::selector_index::SelectorIndex;
use crate::sums::Sums;
use crate::symbol::Symbol;
use crate::time::{Duration, Time};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A row: the node and what is on it.
#[derive(Clone, Debug)]
pub(crate) struct NodeRow {
    pub(crate) node: Arc<Node>,
    pub(crate) alive: bool,
    pub(crate) pods: Vec<Arc<PodInfo>>,
    /// When this scheduler assumed each of them: [`PodEntry::assumed_at`] to read it with all pods of a node.
    pub(crate) assumed_at: Vec<Option<Time>>,
    /// What the pods request together.
    pub(crate) sums: Sums,
    /// How many of the pods use host ports.
    pub(crate) port_pods: usize,
}

/// The cluster at one moment.
///
/// `Clone` copies it with its log, for a scheduler that continues on its own; [`Snapshot::fork`] is for everything
/// else. Both share large parts by `Arc`, which are copied piece by piece when one side is modified.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(super) rows: Arc<Vec<Arc<NodeRow>>>,
    pub(super) by_name: Arc<FxHashMap<Symbol, NodeId>>,
    pub(super) free_rows: Vec<NodeId>,
    /// How often each row is pinned.
    pub(super) pins: Arc<BTreeMap<NodeId, usize>>,
    pub(super) pods: PodTable,
    pub(super) pod_count: usize,
    pub(super) nominated: Arc<FxHashMap<NodeId, Vec<Arc<PodInfo>>>>,
    pub(super) nominated_to: Arc<FxHashMap<PodKey, NodeId>>,
    pub(super) namespaces: Arc<BTreeMap<Symbol, Arc<Namespace>>>,
    pub(super) objects: Objects,
    pub(super) selectors: SelectorIndex,
    pub(super) columns: Columns,
    pub(crate) counts: PodCounts,
    indexes: Indexes,
    pub(super) metrics: Arc<Metrics>,
    /// Pods whose victims are being evicted.
    preempting: Arc<BTreeSet<PodKey>>,
    log: Arc<ChangeLog>,
    wall_offset: Duration,
    /// See [`Snapshot::time`].
    time: Time,
    /// See [`Snapshot::version_rows`].
    version_rows: VersionRows,
    /// See [`Snapshot::is_served`].
    not_served: BTreeSet<Kind>,
}

/// What a snapshot keeps, for checks that nothing is left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kept {
    /// Columns of what nodes and tenants name freely.
    pub columns: KeptColumns,
    /// Rows that are in use, alive or not.
    pub rows: usize,
    /// Rows that are pinned.
    pub pinned: usize,
    /// Pods that are known.
    pub pods: usize,
    /// Pods that are nominated.
    pub nominated: usize,
    /// Pods whose victims are being evicted.
    pub preempting: usize,
    /// Indexes, broken ones included.
    pub indexes: usize,
    /// Matches of pods that have a holder.
    pub wanted_matches: usize,
    /// Matches of pods that are kept without a holder.
    pub lingering_matches: usize,
    /// Distinct terms of pod affinity of placed pods.
    pub carried_terms: usize,
    /// Distinct labels of placed pods.
    pub pod_labels: usize,
    /// Objects of kinds other than pods, nodes and namespaces.
    pub objects: usize,
    /// Assumptions about them.
    pub assumptions: usize,
    /// Names in the index of selectors.
    pub selectors: usize,
    /// Nodes with known metrics.
    pub metrics: usize,
}

impl Snapshot {
    /// The wall clock at an instant of the scheduler's monotonic time, for policies and events. Timers use monotonic
    /// time itself.
    #[inline]
    pub fn wall_clock(&self, at: Time) -> Time {
        at + self.wall_offset
    }

    /// The instant of the scheduler's monotonic time at which the wall clock shows `wall`, as long as it is not
    /// stepped.
    #[inline]
    pub fn monotonic(&self, wall: Time) -> Time {
        wall - self.wall_offset
    }

    /// The present, in the scheduler's monotonic time: that of the last [`Snapshot::expire`].
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// As which version of Kubernetes decisions are made here.
    #[inline]
    pub fn version_rows(&self) -> VersionRows {
        self.version_rows
    }

    /// Decides as these rows say from now on. A snapshot begins as 1.37. Pods that are resized in place count anew; they
    /// keep what 1.36 counted when a snapshot turns to 1.37 again.
    pub fn decide_by(&mut self, rows: VersionRows) {
        if rows == self.version_rows {
            return;
        }
        self.version_rows = rows;
        let resized = self.pods().filter(|entry| entry.pod.taken_in_1_36.is_some());
        let resized: Vec<_> = resized.map(|entry| (entry.pod.clone(), entry.placed)).collect();
        for (pod, placed) in resized {
            if let Some((node, how)) = placed {
                self.apply(Change::PodPlaced { pod, node, how });
            }
        }
    }

    /// Whether the API server has a kind of objects, as far as is known.
    pub fn is_served(&self, kind: &Kind) -> bool {
        !self.not_served.contains(kind)
    }

    /// The API server has a kind of objects, or is older than it.
    pub fn set_served(&mut self, kind: &Kind, served: bool) {
        match served {
            true => self.not_served.remove(kind),
            false => self.not_served.insert(kind.clone()),
        };
    }

    /// How far the wall clock is ahead of the scheduler's monotonic time.
    pub fn set_wall_offset(&mut self, offset: Duration) {
        self.wall_offset = offset;
    }

    /// A node with its pods, alive or not. `None` for an unknown row.
    #[inline]
    pub fn node(&self, id: NodeId) -> Option<NodeInfo<'_>> {
        self.rows.get(id.row()).map(|row| NodeInfo::new(self, row, id))
    }

    /// The row of a living node.
    pub fn node_by_name(&self, name: &Symbol) -> Option<NodeId> {
        self.by_name.get(name).copied().filter(|id| self.columns.alive().contains(*id))
    }

    /// The row of a node by name, also when the node is gone and only pods name it.
    #[inline]
    pub fn row_by_name(&self, name: &Symbol) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The row of a node by name. A name that is not known yet (a pod was seen before its node) gets a row that is
    /// not alive, and that goes with the last pod on it.
    pub fn row_or_placeholder(&mut self, name: &Symbol) -> NodeId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        self.new_row(Arc::new(Node::placeholder(name.clone())), false)
    }

    /// The living nodes in row order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeInfo<'_>> {
        self.columns.alive().iter().filter_map(|id| self.node(id))
    }

    /// How many nodes live.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.columns.alive().len()
    }

    /// Node data by column.
    #[inline]
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// A pod that is known, placed or pending.
    #[inline]
    pub fn pod(&self, key: &PodKey) -> Option<&PodEntry> {
        self.pods.get(key)
    }

    /// All known pods in no particular order: sort them before showing them or deciding by them.
    pub fn pods(&self) -> impl Iterator<Item = &PodEntry> {
        self.pods.all()
    }

    /// How many pods are known.
    pub fn pod_count(&self) -> usize {
        self.pod_count
    }

    /// How many pods have a node, also assumed ones and those whose node is unknown. Sums over all nodes.
    pub fn placed_pods(&self) -> usize {
        self.rows.iter().map(|row| row.pods.len()).sum()
    }

    /// Pods nominated to a node, in the order of the nominations.
    pub fn nominated(&self, node: NodeId) -> &[Arc<PodInfo>] {
        self.nominated.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The node that a pod is nominated to.
    pub fn nominated_node(&self, pod: &PodKey) -> Option<NodeId> {
        self.nominated_to.get(pod).copied()
    }

    /// Whether any pod is nominated to any node.
    #[inline]
    pub fn has_nominations(&self) -> bool {
        !self.nominated_to.is_empty()
    }

    /// All nominated pods with their nodes, ordered by pod key.
    pub fn nominations(&self) -> Vec<(Arc<PodInfo>, NodeId)> {
        let mut all: Vec<_> = self
            .nominated
            .iter()
            .flat_map(|(node, pods)| pods.iter().map(|pod| (pod.clone(), *node)))
            .collect();
        all.sort_by(|a, b| a.0.key.cmp(&b.0.key));
        all
    }

    /// Whether victims of the pod are being evicted.
    pub fn is_preempting(&self, pod: &PodKey) -> bool {
        self.preempting.contains(pod)
    }

    /// Sets whether victims of the pod are being evicted. Only the scheduler does this.
    pub fn set_preempting(&mut self, pod: &PodKey, on: bool) {
        if self.preempting.contains(pod) == on {
            return;
        }
        let preempting = Arc::make_mut(&mut self.preempting);
        match on {
            true => preempting.insert(pod.clone()),
            false => preempting.remove(pod),
        };
        self.note(Moved::Global, Kinds::PENDING_PODS, None);
    }

    /// A namespace.
    pub fn namespace(&self, name: &Symbol) -> Option<&Arc<Namespace>> {
        self.namespaces.get(name)
    }

    /// The pods on a row, also when its node is gone.
    pub fn pods_on(&self, row: NodeId) -> &[Arc<PodInfo>] {
        self.rows.get(row.row()).map_or(&[], |row| &row.pods)
    }

    /// All namespaces, ordered by name.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.namespaces.values()
    }

    /// The newest generation.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.log.newest()
    }

    /// The changes since `since`, oldest first. `None` when the log does not reach back that far: the reader looks at
    /// everything. Meant for callers that keep a generation of this snapshot between two inputs (sort keys of the queue, waits
    /// at Permit); the log of a [`Snapshot::fork`] begins with the fork.
    pub fn changes_since(&self, since: Generation) -> Option<impl Iterator<Item = &ChangeRecord>> {
        self.log.since(since)
    }

    /// A copy to try changes on. Its log is empty, so that a write does not copy the records.
    pub fn fork(&self) -> Self {
        Self { log: Arc::new(ChangeLog::after(self.generation())), ..self.clone() }
    }

    /// What it keeps.
    pub fn kept(&self) -> Kept {
        Kept {
            columns: self.columns.kept(),
            rows: self.by_name.len(),
            pinned: self.pins.len(),
            pods: self.pod_count,
            nominated: self.nominated_to.len(),
            preempting: self.preempting.len(),
            indexes: self.indexes.keys().count(),
            wanted_matches: self.counts.matches.kept().0,
            lingering_matches: self.counts.matches.kept().1,
            carried_terms: self.counts.carriers.len(),
            pod_labels: self.counts.labels.len(),
            objects: self.objects.len(),
            assumptions: self.objects.assumption_count(),
            selectors: self.selectors.len(),
            metrics: self.metrics.node_count(),
        }
    }

    /// An index by its key and type. `None` when there is none or it is broken.
    pub fn index<T: Index>(&self, key: &IndexKey) -> Option<&T> {
        self.try_index(key).ok()
    }

    /// An index by its key and type, or why there is none. A plugin answers `Error` for a broken index.
    pub fn try_index<T: Index>(&self, key: &IndexKey) -> Result<&T, IndexError> {
        let index: &dyn Any = self.indexes.get(key)?;
        index.downcast_ref().ok_or(IndexError::Absent)
    }

    /// An index that its owner writes, outside the stream of changes.
    pub fn index_mut<T: Index>(&mut self, key: &IndexKey) -> Option<&mut T> {
        let index: &mut dyn Any = self.indexes.get_mut(key)?;
        index.downcast_mut()
    }

    /// Lets the owner of an index write it and report what moved. Returns the numbers of the groups that did.
    pub fn write_index<T: Index>(
        &mut self,
        key: &IndexKey,
        write: impl FnOnce(&mut T, &mut Moves),
    ) -> Vec<u64> {
        let mut moves = Moves::default();
        if let Some(index) = self.index_mut::<T>(key) {
            write(index, &mut moves);
        }
        self.moved(moves)
    }

    /// When the first part of an index ends by time alone, in monotonic time.
    pub fn next_end(&self) -> Option<Time> {
        self.indexes.next_end(self)
    }

    /// The present is this instant of monotonic time from now on: ends the parts of indexes whose time is over. Returns
    /// the numbers of the groups that moved.
    pub fn expire(&mut self, now: Time) -> Vec<u64> {
        self.time = now;
        if self.next_end().is_none_or(|end| end > now) {
            return Vec::new();
        }
        let mut indexes = std::mem::take(&mut self.indexes);
        let moves = indexes.expire(self);
        self.indexes = indexes;
        self.moved(moves)
    }

    /// Records what moved in an index. Returns the numbers of the groups among it.
    fn moved(&mut self, moves: Moves) -> Vec<u64> {
        let mut numbers = Vec::new();
        for (what, kinds) in moves.0 {
            if let Moved::Group(number) = what {
                numbers.push(number);
            }
            self.note(what, kinds, None);
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Whether there is an index with this key that is not broken.
    pub fn has_index(&self, key: &IndexKey) -> bool {
        self.indexes.get(key).is_ok()
    }

    /// The keys of the broken indexes.
    pub fn broken_indexes(&self) -> impl Iterator<Item = &IndexKey> {
        self.indexes.broken()
    }

    /// Adds an index, rebuilt from the snapshot. It replaces an index with the same key.
    pub fn add_index(&mut self, key: IndexKey, index: Box<dyn Index>) {
        let mut indexes = std::mem::take(&mut self.indexes);
        indexes.remove(&key);
        indexes.add(key, index, self);
        self.indexes = indexes;
    }

    /// Removes an index.
    pub fn remove_index(&mut self, key: &IndexKey) {
        self.indexes.remove(key);
    }

    /// The keys of all indexes, in the order they were added.
    pub fn index_keys(&self) -> impl Iterator<Item = &IndexKey> {
        self.indexes.keys()
    }

    /// Derives every index anew: the definition that [`Index::apply`] must agree with. A broken index stays broken.
    pub fn rebuild_indexes(&mut self) {
        let mut indexes = std::mem::take(&mut self.indexes);
        indexes.rebuild(self);
        self.indexes = indexes;
    }

    /// What nodes use.
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The windows over which rules read what nodes use; without one no sample is kept.
    pub fn set_metrics_windows(&mut self, windows: Vec<Duration>) {
        if windows.is_empty() && self.metrics.windows().is_empty() {
            return;
        }
        Arc::make_mut(&mut self.metrics).set_windows(windows);
        self.note(Moved::Global, Kinds::METRICS, None);
    }

    fn polled(&mut self, at: Time, readings: &[Reading]) -> bool {
        if self.metrics.windows().is_empty() {
            return false;
        }
        let (offset, by_name, alive) = (self.wall_offset, &self.by_name, self.columns.alive());
        let known = |name: &Symbol| by_name.get(name).is_some_and(|id| alive.contains(*id));
        let moved = Arc::make_mut(&mut self.metrics).poll(at, offset, readings, known);
        if moved {
            self.note(Moved::Global, Kinds::METRICS, None);
        }
        moved
    }

    /// Applies a change. A change that names an unknown object is ignored, such as the removal of an unknown pod. A
    /// change of nothing that a plugin or rule can read makes no record and reaches no index.
    pub fn apply(&mut self, change: Change) {
        let change = match change {
            Change::PodPlaced { pod, node, how } => {
                Change::PodPlaced { pod: pod.counted(self.version_rows), node, how }
            }
            other => other,
        };
        let mut delta =
            Delta { change: &change, node_before: None, node: None, pod_before: None, object: None };
        let mut promised_before = None;
        let moved = match &change {
            Change::PodPlaced { pod, node, how } => self.place_pod(pod, *node, *how, &mut delta),
            Change::PodAssumed { pod, at } => {
                if let Some(entry) = self.pods.get_mut(pod)
                    && let Some((node, _)) = entry.placed
                {
                    entry.assumed_at = Some(*at);
                    let known = entry.pod.clone();
                    self.set_assumed_at(node, &known, *at);
                    self.note(Moved::Node(node), Kinds::PODS_OTHER, None);
                }
                true
            }
            Change::PodPending { pod } => self.unplace_pod(pod, &mut delta),
            Change::PodUnplaced { pod } => {
                delta.pod_before = self.unlink_pod(pod);
                if let Some((pod, _)) = &delta.pod_before {
                    self.link_pod(&pod.clone(), None, None);
                }
                true
            }
            Change::PodRemoved { pod } => {
                delta.pod_before = self.unlink_pod(pod);
                true
            }
            Change::PodWaiting { pod, waiting } => match self.pods.get(pod) {
                Some(entry) if entry.waiting != *waiting => {
                    delta.pod_before = Some((entry.pod.clone(), entry.placed.map(|(node, _)| node)));
                    if let Some(entry) = self.pods.get_mut(pod) {
                        entry.waiting = *waiting;
                    }
                    self.note(Moved::Global, Kinds::PENDING_PODS, None);
                    true
                }
                _ => false,
            },
            Change::Nominated { pod, node } => {
                promised_before = self.nominated_node(&pod.key);
                self.nominate(pod, *node)
            }
            Change::NodeUpserted { node } => self.upsert_node(node, &mut delta),
            Change::NodeRemoved { name } => {
                self.remove_node(name, &mut delta);
                true
            }
            Change::NamespaceUpserted { namespace } => {
                let before = labels_of(&self.namespaces, &namespace.name).cloned();
                Arc::make_mut(&mut self.namespaces).insert(namespace.name.clone(), namespace.clone());
                self.note(Moved::Global, Kinds::NAMESPACES, None);
                self.recount_namespace(&namespace.name, before.as_ref());
                true
            }
            Change::NamespaceRemoved { name } => {
                let before = labels_of(&self.namespaces, name).cloned();
                Arc::make_mut(&mut self.namespaces).remove(name);
                self.note(Moved::Global, Kinds::NAMESPACES, None);
                self.recount_namespace(name, before.as_ref());
                true
            }
            Change::ObjectSeen { .. }
            | Change::ObjectGone { .. }
            | Change::Assumed { .. }
            | Change::AssumedWritten { .. }
            | Change::Unassumed { .. } => self.change_object(&change, &mut delta),
            Change::Metrics { at, readings } => self.polled(*at, readings),
        };
        if !moved {
            return;
        }
        self.count_change(&delta);
        // Rows go when the change is in: a pod may have left a row only to come back to it.
        let left = delta.pod_before.as_ref().and_then(|(_, node)| *node);
        for id in [left, promised_before, delta.node].into_iter().flatten() {
            self.release(id);
        }
        self.feed_indexes(&delta);
    }

    fn feed_indexes(&mut self, delta: &Delta<'_>) {
        let number = Feeds::number_of(delta.change);
        if !self.indexes.takes(number) {
            return;
        }
        let mut indexes = std::mem::take(&mut self.indexes);
        let moves = indexes.apply(number, delta, self);
        self.indexes = indexes;
        match moves {
            Some(moves) => moves.0.into_iter().for_each(|(what, kinds)| self.note(what, kinds, None)),
            None => Arc::make_mut(&mut self.log).forget(),
        }
    }

    pub(super) fn note(&mut self, what: Moved, kinds: Kinds, label: Option<Symbol>) {
        Arc::make_mut(&mut self.log).push(what, kinds, label);
    }
}
