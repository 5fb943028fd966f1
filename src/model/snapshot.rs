//! [`Snapshot`]: the cluster as an attempt sees it. [`Snapshot::apply`] is the only way to modify it. `Clone` makes a
//! fork: large parts are shared by `Arc` and copied piece by piece when one side is modified.

use super::changes::{Change, ChangeLog, ChangeRecord, Delta, Generation, Kinds, Moved, Moves, Placement};
use super::columns::Columns;
use super::index::{Index, IndexKey};
use super::node::Node;
use super::node_info::NodeInfo;
use super::node_set::NodeId;
use super::objects::Namespace;
use super::pod::{PodInfo, PodKey};
use super::resource::Resource;
use super::symbol::Symbol;
use super::time::{Duration, Time};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;

/// A row: the node and what is on it.
#[derive(Clone, Debug)]
pub(super) struct NodeRow {
    pub(super) node: Arc<Node>,
    pub(super) alive: bool,
    pub(super) pods: Vec<Arc<PodInfo>>,
    pub(super) requested: Resource,
    pub(super) nonzero: (i64, i64),
    /// How many of the pods use host ports.
    pub(super) port_pods: usize,
}

/// A pod that the snapshot knows.
#[derive(Clone, Debug)]
pub struct PodEntry {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Its node and how it came there; `None` while it is pending.
    pub placed: Option<(NodeId, Placement)>,
    /// Whether it waits at Permit.
    pub waiting: bool,
    /// When this scheduler assumed it on its node; `None` when others put it there, or before a restart.
    pub assumed_at: Option<Time>,
}

/// Pods by key in shards, so that a write after a fork copies one shard and not the whole table.
#[derive(Clone, Debug)]
struct PodTable(Vec<Arc<FxHashMap<PodKey, PodEntry>>>);

impl Default for PodTable {
    fn default() -> Self {
        Self(vec![Arc::default(); Self::SHARDS])
    }
}

impl PodTable {
    const SHARDS: usize = 256;

    fn shard(key: &PodKey) -> usize {
        // The hasher is fixed; the shard decides nothing that can be seen.
        (rustc_hash::FxBuildHasher.hash_one(key) >> 48) as usize % Self::SHARDS
    }

    fn get(&self, key: &PodKey) -> Option<&PodEntry> {
        self.0[Self::shard(key)].get(key)
    }

    fn get_mut(&mut self, key: &PodKey) -> Option<&mut PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(key)]).get_mut(key)
    }

    fn insert(&mut self, key: PodKey, entry: PodEntry) -> Option<PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(&key)]).insert(key, entry)
    }

    fn remove(&mut self, key: &PodKey) -> Option<PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(key)]).remove(key)
    }
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    rows: Arc<Vec<Arc<NodeRow>>>,
    by_name: Arc<FxHashMap<Symbol, NodeId>>,
    free_rows: Vec<NodeId>,
    pods: PodTable,
    pod_count: usize,
    nominated: Arc<FxHashMap<NodeId, Vec<Arc<PodInfo>>>>,
    nominated_to: Arc<FxHashMap<PodKey, NodeId>>,
    namespaces: Arc<BTreeMap<Symbol, Arc<Namespace>>>,
    columns: Columns,
    indexes: Vec<(IndexKey, Arc<Box<dyn Index>>)>,
    log: Arc<ChangeLog>,
    wall_offset: Duration,
}

impl Snapshot {
    /// The wall clock at an instant of the scheduler's monotonic time, for policies and events. Timers use monotonic
    /// time itself.
    pub fn wall_clock(&self, at: Time) -> Time {
        at + self.wall_offset
    }

    /// The instant of the scheduler's monotonic time at which the wall clock shows `wall`, as long as it is not
    /// stepped.
    pub fn monotonic(&self, wall: Time) -> Time {
        wall - self.wall_offset
    }

    /// How far the wall clock is ahead of the scheduler's monotonic time.
    pub fn set_wall_offset(&mut self, offset: Duration) {
        self.wall_offset = offset;
    }

    /// A node with its pods, alive or not. `None` for an unknown row.
    pub fn node(&self, id: NodeId) -> Option<NodeInfo<'_>> {
        self.rows.get(id.row()).map(|row| NodeInfo::new(self, row, id))
    }

    /// The row of a living node.
    pub fn node_by_name(&self, name: &Symbol) -> Option<NodeId> {
        self.by_name.get(name).copied().filter(|id| self.columns.alive().contains(*id))
    }

    /// The row of a node by name, also when the node is gone and only pods name it.
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
    pub fn node_count(&self) -> usize {
        self.columns.alive().len()
    }

    /// Node data by column.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// A pod that is known, placed or pending.
    pub fn pod(&self, key: &PodKey) -> Option<&PodEntry> {
        self.pods.get(key)
    }

    /// All known pods in no particular order: sort them before showing them or deciding by them.
    pub fn pods(&self) -> impl Iterator<Item = &PodEntry> {
        self.pods.0.iter().flat_map(|shard| shard.values())
    }

    /// How many pods are known.
    pub fn pod_count(&self) -> usize {
        self.pod_count
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

    /// A namespace.
    pub fn namespace(&self, name: &Symbol) -> Option<&Arc<Namespace>> {
        self.namespaces.get(name)
    }

    /// All namespaces, ordered by name.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.namespaces.values()
    }

    /// The newest generation.
    pub fn generation(&self) -> Generation {
        self.log.newest()
    }

    /// The changes since `since`, oldest first. `None` when the log does not reach back that far.
    pub fn changes_since(&self, since: Generation) -> Option<impl Iterator<Item = &ChangeRecord>> {
        self.log.since(since)
    }

    /// An index by its key and type.
    pub fn index<T: Index>(&self, key: &IndexKey) -> Option<&T> {
        let (_, index) = self.indexes.iter().find(|(k, _)| k == key)?;
        let index: &dyn Any = &***index;
        index.downcast_ref()
    }

    /// The same to be written by its owner, outside the stream of changes.
    pub fn index_mut<T: Index>(&mut self, key: &IndexKey) -> Option<&mut T> {
        let (_, index) = self.indexes.iter_mut().find(|(k, _)| k == key)?;
        let index: &mut dyn Any = own(index);
        index.downcast_mut()
    }

    /// Adds an index, rebuilt from the snapshot. It replaces an index with the same key.
    pub fn add_index(&mut self, key: IndexKey, mut index: Box<dyn Index>) {
        self.remove_index(&key);
        index.rebuild(self);
        self.indexes.push((key, Arc::new(index)));
    }

    /// Removes an index.
    pub fn remove_index(&mut self, key: &IndexKey) {
        self.indexes.retain(|(k, _)| k != key);
    }

    /// The keys of all indexes, in the order they were added.
    pub fn index_keys(&self) -> impl Iterator<Item = &IndexKey> {
        self.indexes.iter().map(|(key, _)| key)
    }

    /// Derives every index anew: the definition that [`Index::apply`] must agree with.
    pub fn rebuild_indexes(&mut self) {
        let mut indexes = std::mem::take(&mut self.indexes);
        for (_, index) in &mut indexes {
            own(index).rebuild(self);
        }
        self.indexes = indexes;
    }

    /// Makes a column of the values of a label key, if there is none.
    pub fn want_label(&mut self, key: &Symbol) {
        if self.columns.labels.contains_key(key) {
            return;
        }
        let values =
            self.rows.iter().map(|row| row.alive.then(|| row.node.labels.get(key).cloned()).flatten());
        self.columns.add_label(key.clone(), values);
    }

    /// Applies a change. A change that names an unknown object is ignored, such as the removal of an unknown pod.
    pub fn apply(&mut self, change: Change) {
        let mut delta = Delta { change: &change, node_before: None, node: None, pod_before: None };
        let mut promised_before = None;
        match &change {
            Change::PodPlaced { pod, node, how } => {
                let known =
                    self.pods.get(&pod.key).filter(|entry| entry.placed.is_some_and(|at| at.0 == *node));
                let assumed_at = known.and_then(|entry| entry.assumed_at);
                delta.pod_before = self.unlink_pod(&pod.key);
                self.link_pod(pod, Some((*node, *how)), assumed_at);
                delta.node = Some(*node);
            }
            Change::PodAssumed { pod, at } => {
                if let Some(entry) = self.pods.get_mut(pod)
                    && let Some((node, _)) = entry.placed
                {
                    entry.assumed_at = Some(*at);
                    self.note(Moved::Node(node), Kinds::PODS_OTHER, None);
                }
            }
            Change::PodPending { pod } => {
                delta.pod_before = self.unlink_pod(&pod.key);
                self.link_pod(pod, None, None);
            }
            Change::PodUnplaced { pod } => {
                delta.pod_before = self.unlink_pod(pod);
                if let Some((pod, _)) = &delta.pod_before {
                    self.link_pod(&pod.clone(), None, None);
                }
            }
            Change::PodRemoved { pod } => {
                delta.pod_before = self.unlink_pod(pod);
            }
            Change::PodWaiting { pod, waiting } => {
                if let Some(entry) = self.pods.get_mut(pod) {
                    entry.waiting = *waiting;
                    delta.pod_before = Some((entry.pod.clone(), entry.placed.map(|(node, _)| node)));
                    self.note(Moved::Global, Kinds::PENDING_PODS, None);
                }
            }
            Change::Nominated { pod, node } => {
                promised_before = self.nominated_node(&pod.key);
                self.nominate(pod, *node);
            }
            Change::NodeUpserted { node } => self.upsert_node(node, &mut delta),
            Change::NodeRemoved { name } => self.remove_node(name, &mut delta),
            Change::NamespaceUpserted { namespace } => {
                Arc::make_mut(&mut self.namespaces).insert(namespace.name.clone(), namespace.clone());
                self.note(Moved::Global, Kinds::NAMESPACES, None);
            }
            Change::NamespaceRemoved { name } => {
                Arc::make_mut(&mut self.namespaces).remove(name);
                self.note(Moved::Global, Kinds::NAMESPACES, None);
            }
        }
        // Rows go when the change is in: a pod may have left a row only to come back to it.
        let left = delta.pod_before.as_ref().and_then(|(_, node)| *node);
        for id in [left, promised_before, delta.node].into_iter().flatten() {
            self.release(id);
        }
        if !self.indexes.is_empty() {
            let mut indexes = std::mem::take(&mut self.indexes);
            let mut moves = Moves::default();
            for (_, index) in &mut indexes {
                own(index).apply(&delta, self, &mut moves);
            }
            self.indexes = indexes;
            for (what, kinds) in moves.0 {
                self.note(what, kinds, None);
            }
        }
    }

    fn note(&mut self, what: Moved, kinds: Kinds, label: Option<Symbol>) {
        Arc::make_mut(&mut self.log).push(what, kinds, label);
    }

    fn row_mut(&mut self, id: NodeId) -> Option<&mut NodeRow> {
        Arc::make_mut(&mut self.rows).get_mut(id.row()).map(Arc::make_mut)
    }

    fn unlink_pod(&mut self, key: &PodKey) -> Option<(Arc<PodInfo>, Option<NodeId>)> {
        let entry = self.pods.remove(key)?;
        self.pod_count -= 1;
        let Some((id, _)) = entry.placed else {
            self.note(Moved::Global, Kinds::PENDING_PODS, None);
            return Some((entry.pod, None));
        };
        if let Some(row) = self.row_mut(id) {
            if let Some(at) = row.pods.iter().position(|pod| pod.key == *key) {
                row.pods.remove(at);
            }
            row.requested.sub(&entry.pod.requests);
            row.nonzero.0 = row.nonzero.0.saturating_sub(entry.pod.nonzero_milli_cpu);
            row.nonzero.1 = row.nonzero.1.saturating_sub(entry.pod.nonzero_memory);
            row.port_pods -= usize::from(!entry.pod.host_ports.is_empty());
        }
        self.sum_changed(id, &entry.pod);
        Some((entry.pod, Some(id)))
    }

    fn link_pod(
        &mut self,
        pod: &Arc<PodInfo>,
        placed: Option<(NodeId, Placement)>,
        assumed_at: Option<Time>,
    ) {
        let entry = PodEntry { pod: pod.clone(), placed, waiting: false, assumed_at };
        self.pods.insert(pod.key.clone(), entry);
        self.pod_count += 1;
        let Some((id, _)) = placed else {
            self.note(Moved::Global, Kinds::PENDING_PODS, None);
            return;
        };
        if let Some(row) = self.row_mut(id) {
            row.pods.push(pod.clone());
            row.requested.add(&pod.requests);
            row.nonzero.0 = row.nonzero.0.saturating_add(pod.nonzero_milli_cpu);
            row.nonzero.1 = row.nonzero.1.saturating_add(pod.nonzero_memory);
            row.port_pods += usize::from(!pod.host_ports.is_empty());
        }
        self.sum_changed(id, pod);
    }

    /// Writes the sums of a row to the columns and the log, after `pod` came or went.
    fn sum_changed(&mut self, id: NodeId, pod: &PodInfo) {
        let Some(row) = self.rows.get(id.row()) else { return };
        if row.alive {
            self.columns.set_requested(id.row(), &row.requested, row.pods.len(), row.nonzero);
            Columns::set_flag(&mut self.columns.host_ports, id, row.port_pods > 0);
        }
        let mut kinds = Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER);
        if !pod.host_ports.is_empty() {
            kinds |= Kinds::PODS_PORTS;
        }
        self.note(Moved::Node(id), kinds, None);
    }

    fn nominate(&mut self, pod: &Arc<PodInfo>, node: Option<NodeId>) {
        let before = self.nominated_to.get(&pod.key).copied();
        if let Some(before) = before {
            let nominated = Arc::make_mut(&mut self.nominated);
            if let Some(pods) = nominated.get_mut(&before) {
                pods.retain(|other| other.key != pod.key);
                if pods.is_empty() {
                    nominated.remove(&before);
                }
            }
            Arc::make_mut(&mut self.nominated_to).remove(&pod.key);
            self.note(Moved::Node(before), Kinds::NOMINATED, None);
        }
        if let Some(node) = node {
            Arc::make_mut(&mut self.nominated).entry(node).or_default().push(pod.clone());
            Arc::make_mut(&mut self.nominated_to).insert(pod.key.clone(), node);
            self.note(Moved::Node(node), Kinds::NOMINATED, None);
        }
    }

    fn upsert_node(&mut self, node: &Arc<Node>, delta: &mut Delta<'_>) {
        if let Some(id) = self.by_name.get(&node.name).copied() {
            delta.node = Some(id);
            let Some(row) = self.row_mut(id) else { return };
            let was_alive = std::mem::replace(&mut row.alive, true);
            let before = std::mem::replace(&mut row.node, node.clone());
            self.write_row(id);
            if was_alive {
                self.note_difference(id, &before, node);
                delta.node_before = Some(before);
            } else {
                self.note(Moved::Node(id), Kinds::LIFE, None);
                self.note(Moved::Global, Kinds::NODES, None);
            }
            return;
        }
        let id = self.new_row(node.clone(), true);
        self.write_row(id);
        delta.node = Some(id);
        self.note(Moved::Node(id), Kinds::LIFE, None);
        self.note(Moved::Global, Kinds::NODES, None);
    }

    fn new_row(&mut self, node: Arc<Node>, alive: bool) -> NodeId {
        let name = node.name.clone();
        let row = Arc::new(NodeRow {
            node,
            alive,
            pods: Vec::new(),
            requested: Resource::default(),
            nonzero: (0, 0),
            port_pods: 0,
        });
        let rows = Arc::make_mut(&mut self.rows);
        let id = match self.free_rows.pop() {
            Some(id) => {
                rows[id.row()] = row;
                id
            }
            None => {
                rows.push(row);
                NodeId::from_row(rows.len() - 1)
            }
        };
        let rows = rows.len();
        self.columns.grow(rows);
        Arc::make_mut(&mut self.by_name).insert(name, id);
        id
    }

    fn remove_node(&mut self, name: &Symbol, delta: &mut Delta<'_>) {
        let Some(id) = self.node_by_name(name) else { return };
        let Some(row) = self.row_mut(id) else { return };
        row.alive = false;
        delta.node = Some(id);
        delta.node_before = Some(row.node.clone());
        self.write_row(id);
        self.note(Moved::Node(id), Kinds::LIFE, None);
        self.note(Moved::Global, Kinds::NODES, None);
    }

    /// Frees a row that is not alive and that no placed or nominated pod refers to.
    fn release(&mut self, id: NodeId) {
        let Some(row) = self.rows.get(id.row()) else { return };
        if row.alive || !row.pods.is_empty() || self.nominated.contains_key(&id) {
            return;
        }
        let name = row.node.name.clone();
        if self.by_name.get(&name) == Some(&id) {
            Arc::make_mut(&mut self.by_name).remove(&name);
            self.free_rows.push(id);
            self.note(Moved::Node(id), Kinds::LIFE, None);
        }
    }

    /// Writes all columns of a row from the row.
    fn write_row(&mut self, id: NodeId) {
        let Some(row) = self.rows.get(id.row()).cloned() else { return };
        let at = id.row();
        Columns::set_flag(&mut self.columns.alive, id, row.alive);
        Columns::set_flag(&mut self.columns.unschedulable, id, row.alive && row.node.unschedulable);
        Columns::set_flag(&mut self.columns.host_ports, id, row.alive && row.port_pods > 0);
        if row.alive {
            self.columns.set_allocatable(at, &row.node.allocatable);
            self.columns.set_requested(at, &row.requested, row.pods.len(), row.nonzero);
            self.columns.set_taints(at, &row.node.taints);
        } else {
            self.columns.set_allocatable(at, &Resource::default());
            self.columns.set_requested(at, &Resource::default(), 0, (0, 0));
            self.columns.set_taints(at, &Arc::from([]));
        }
        if !self.columns.labels.is_empty() {
            for (key, column) in Arc::make_mut(&mut self.columns.labels).iter_mut() {
                let value = row.alive.then(|| row.node.labels.get(key).cloned()).flatten();
                Columns::set_label(column, at, value);
            }
        }
    }

    fn note_difference(&mut self, id: NodeId, before: &Node, now: &Node) {
        if before.labels != now.labels {
            let mut keys: Vec<&Symbol> =
                before.labels.iter().chain(now.labels.iter()).map(|(key, _)| key).collect();
            keys.sort();
            keys.dedup();
            keys.retain(|key| before.labels.get(key) != now.labels.get(key));
            let one = if let [key] = keys[..] { Some(key.clone()) } else { None };
            self.note(Moved::Node(id), Kinds::LABELS, one);
        }
        let mut kinds = Kinds::NONE;
        let mut mark = |differs: bool, kind: Kinds| {
            if differs {
                kinds |= kind;
            }
        };
        mark(before.annotations != now.annotations, Kinds::ANNOTATIONS);
        mark(before.taints != now.taints, Kinds::TAINTS);
        mark(before.unschedulable != now.unschedulable, Kinds::UNSCHEDULABLE);
        mark(before.allocatable != now.allocatable || before.capacity != now.capacity, Kinds::ALLOCATABLE);
        mark(before.images != now.images, Kinds::IMAGES);
        mark(before.conditions != now.conditions, Kinds::CONDITIONS);
        mark(before.declared_features != now.declared_features, Kinds::FEATURES);
        mark(before.raw != now.raw, Kinds::OTHER);
        if !kinds.is_empty() {
            self.note(Moved::Node(id), kinds, None);
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
