//! [`Columns`]: node data by column in row order, for passes over all nodes. Only [`Snapshot::apply`] writes them; a
//! row and its column entries always agree. What nodes and tenants name freely (label keys, taint lists, scalar
//! resources) is kept while it is in use.
//!
//! [`Snapshot::apply`]: super::Snapshot::apply

mod domains;
mod labels;
mod resources;
mod taints;

pub use domains::DomainColumn;
pub use resources::ResourceColumn;
pub use taints::{TaintSet, TaintSetId};

use super::held::Held;
use super::labels::Labels;
use super::node_set::{NodeId, NodeSet};
use super::pod_counts::PodMatch;
use super::resource::Resource;
use super::symbol::Symbol;
use super::taints::Taint;
use domains::DomainColumns;
use labels::LabelColumns;
use resources::{Part, Scalars};
use std::sync::Arc;
use taints::TaintSets;

/// What the snapshot keeps for plugins while it has a holder
/// ([`Snapshot::want`](crate::Snapshot::want)).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Want {
    /// The column of a node label key.
    Label(Symbol),
    /// The domains of a node label key.
    Domain(Symbol),
    /// How many pods of a match are on which node.
    Count(Arc<PodMatch>),
}

/// Entries of all label columns together, 8 bytes each: 64 MiB; the same of all columns of domains. The first 64
/// columns are made whatever their size.
const MOST_ENTRIES: usize = 8 << 20;

/// Whether one more column may be made, after columns without a holder have gone where necessary.
fn has_room<V>(held: &mut Held<Symbol, V>, room: usize) -> bool {
    let full = |made: usize| made >= Held::<Symbol, V>::LINGERING && (made + 1) * room > MOST_ENTRIES;
    while full(held.made()) && held.drop_oldest().is_some() {}
    !full(held.made())
}

/// The keys of columns, ordered.
fn ordered<'c, V: 'c>(columns: impl Iterator<Item = (&'c Symbol, &'c V)>) -> Vec<&'c Symbol> {
    let mut keys: Vec<&Symbol> = columns.map(|(key, _)| key).collect();
    keys.sort();
    keys
}

/// The keys whose values differ, with the new values.
fn changed_labels<'l>(
    before: &'l Labels,
    now: &'l Labels,
) -> impl Iterator<Item = (&'l Symbol, Option<&'l Symbol>)> {
    let gone = before.iter().filter(|(key, _)| now.get(key).is_none()).map(|(key, _)| (key, None));
    let set = now.iter().filter(|(key, value)| before.get(key) != Some(value));
    gone.chain(set.map(|(key, value)| (key, Some(value))))
}

/// Node data by column. Rows that are not alive hold zeros; columns are longer than the rows, up to a whole word of 64.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    rows: usize,
    pub(super) alive: Arc<NodeSet>,
    pub(super) unschedulable: Arc<NodeSet>,
    pub(super) host_ports: Arc<NodeSet>,
    pub(super) promised: Arc<NodeSet>,
    cpu: ResourceColumn,
    memory: ResourceColumn,
    ephemeral_storage: ResourceColumn,
    /// `requested` is the number of pods on the node.
    pods: ResourceColumn,
    scalars: Scalars,
    nonzero_milli_cpu: Arc<Vec<i64>>,
    nonzero_memory: Arc<Vec<i64>>,
    taints: Arc<Vec<TaintSetId>>,
    taint_sets: Arc<TaintSets>,
    labels: Arc<LabelColumns>,
    domains: Arc<DomainColumns>,
}

impl Columns {
    /// The rows that hold a living node.
    #[inline]
    pub fn alive(&self) -> &NodeSet {
        &self.alive
    }

    /// The rows whose node has `spec.unschedulable`.
    #[inline]
    pub fn unschedulable(&self) -> &NodeSet {
        &self.unschedulable
    }

    /// The rows whose node has a pod with host ports.
    #[inline]
    pub fn host_ports(&self) -> &NodeSet {
        &self.host_ports
    }

    /// The rows that a pod is nominated to, alive or not.
    #[inline]
    pub fn promised(&self) -> &NodeSet {
        &self.promised
    }

    /// How many rows there are, alive or not.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many entries a column has: the rows, up to a whole word of 64.
    #[inline]
    pub fn room(&self) -> usize {
        self.rows.next_multiple_of(64)
    }

    /// The column of a resource by its Kubernetes name. `None` for a scalar resource of which no node has any and no
    /// pod on a node requests any.
    #[inline]
    pub fn resource(&self, name: &Symbol) -> Option<&ResourceColumn> {
        match name.as_str() {
            "cpu" => Some(&self.cpu),
            "memory" => Some(&self.memory),
            "ephemeral-storage" => Some(&self.ephemeral_storage),
            "pods" => Some(&self.pods),
            _ => self.scalars.get(name),
        }
    }

    /// The scalar resources that have a column, in no particular order.
    pub fn scalar_names(&self) -> impl Iterator<Item = &Symbol> {
        self.scalars.names()
    }

    /// Requested CPU in millicores with upstream's default for containers that name none.
    #[inline]
    pub fn nonzero_milli_cpu(&self) -> &[i64] {
        &self.nonzero_milli_cpu
    }

    /// Requested memory in bytes with upstream's default for containers that name none.
    #[inline]
    pub fn nonzero_memory(&self) -> &[i64] {
        &self.nonzero_memory
    }

    /// The taint list of each row; index into [`Columns::taint_sets`].
    #[inline]
    pub fn taints(&self) -> &[TaintSetId] {
        &self.taints
    }

    /// The distinct taint lists by number; the first is the empty one, and numbers that no row uses are empty too.
    #[inline]
    pub fn taint_sets(&self) -> &[TaintSet] {
        self.taint_sets.all()
    }

    /// The values of a label key over all rows. `None` when no holder wants the key
    /// ([`Snapshot::want`](super::Snapshot::want)) or when there was no room for its column; read the labels of the
    /// nodes instead.
    #[inline]
    pub fn label(&self, key: &Symbol) -> Option<&[Option<Symbol>]> {
        self.labels.get(key)
    }

    /// The label keys that have a column, ordered.
    pub fn label_keys(&self) -> Vec<&Symbol> {
        self.labels.keys()
    }

    /// The topology domains of a label key. `None` when no holder wants them ([`Want::Domain`]) or when there was no
    /// room for the column; [`Snapshot::domains`](super::Snapshot::domains) makes them then.
    #[inline]
    pub fn domain(&self, key: &Symbol) -> Option<&Arc<DomainColumn>> {
        self.domains.get(key)
    }

    /// The label keys whose domains have a column, ordered.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn domain_keys(&self) -> Vec<&Symbol> {
        self.domains.keys()
    }

    /// What is kept, for checks.
    pub fn kept(&self) -> KeptColumns {
        KeptColumns {
            wanted_labels: self.labels.held(),
            lingering_labels: self.labels.lingering(),
            wanted_domains: self.domains.kept().0,
            lingering_domains: self.domains.kept().1,
            taint_sets: self.taint_sets.in_use(),
            scalars: self.scalars.len(),
        }
    }

    pub(super) fn grow(&mut self, rows: usize) {
        let before = self.room();
        self.rows = self.rows.max(rows);
        let room = self.room();
        if room == before {
            return;
        }
        for resource in [&mut self.cpu, &mut self.memory, &mut self.ephemeral_storage, &mut self.pods] {
            resource.grow(room);
        }
        self.scalars.grow(room);
        longer(&mut self.nonzero_milli_cpu, room);
        longer(&mut self.nonzero_memory, room);
        longer(&mut self.taints, room);
        if !self.labels.is_empty() {
            Arc::make_mut(&mut self.labels).grow(room);
        }
        if !self.domains.is_empty() {
            Arc::make_mut(&mut self.domains).grow(room);
        }
    }

    pub(super) fn set_allocatable(&mut self, row: usize, of: &Resource) {
        set(&mut self.cpu.allocatable, row, of.milli_cpu);
        set(&mut self.memory.allocatable, row, of.memory);
        set(&mut self.ephemeral_storage.allocatable, row, of.ephemeral_storage);
        set(&mut self.pods.allocatable, row, of.pods);
        self.scalars.set(row, self.rows.next_multiple_of(64), of, Part::Allocatable);
    }

    pub(super) fn set_requested(&mut self, row: usize, of: &Resource, pods: usize, nonzero: (i64, i64)) {
        set(&mut self.cpu.requested, row, of.milli_cpu);
        set(&mut self.memory.requested, row, of.memory);
        set(&mut self.ephemeral_storage.requested, row, of.ephemeral_storage);
        set(&mut self.pods.requested, row, pods as i64);
        set(&mut self.nonzero_milli_cpu, row, nonzero.0);
        set(&mut self.nonzero_memory, row, nonzero.1);
        self.scalars.set(row, self.rows.next_multiple_of(64), of, Part::Requested);
    }

    pub(super) fn set_taints(&mut self, row: usize, taints: &Arc<[Taint]>) {
        let before = self.taints.get(row).copied().unwrap_or_default();
        if self.taint_sets.is(before, taints) {
            return;
        }
        let sets = Arc::make_mut(&mut self.taint_sets);
        sets.leave(before);
        let now = sets.take(taints);
        set(&mut self.taints, row, now);
    }

    pub(super) fn set_labels(&mut self, row: usize, before: &Labels, now: &Labels) {
        if before == now {
            return;
        }
        if !self.labels.is_empty() {
            Arc::make_mut(&mut self.labels).set(row, before, now);
        }
        if !self.domains.is_empty() {
            Arc::make_mut(&mut self.domains).set(row, before, now);
        }
    }

    pub(super) fn labels_mut(&mut self) -> &mut LabelColumns {
        Arc::make_mut(&mut self.labels)
    }

    pub(super) fn domains_mut(&mut self) -> &mut DomainColumns {
        Arc::make_mut(&mut self.domains)
    }

    pub(super) fn set_flag(set: &mut Arc<NodeSet>, node: NodeId, on: bool) {
        if set.contains(node) != on {
            let set = Arc::make_mut(set);
            if on { set.insert(node) } else { set.remove(node) }
        }
    }
}

/// How much [`Columns`] keeps of what nodes and tenants name freely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeptColumns {
    /// Label keys with a holder.
    pub wanted_labels: usize,
    /// Label columns without a holder.
    pub lingering_labels: usize,
    /// Keys of topology domains with a holder.
    pub wanted_domains: usize,
    /// Columns of domains without a holder.
    pub lingering_domains: usize,
    /// Distinct taint lists, without the empty one.
    pub taint_sets: usize,
    /// Scalar resources.
    pub scalars: usize,
}

/// Makes a column longer.
fn longer<T: Clone + Default>(column: &mut Arc<Vec<T>>, room: usize) {
    if column.len() < room {
        Arc::make_mut(column).resize(room, T::default());
    }
}

/// Writes one entry, without copying a shared column when the value stays the same.
fn set<T: Clone + PartialEq>(column: &mut Arc<Vec<T>>, row: usize, value: T) {
    if column.get(row).is_some_and(|old| *old != value)
        && let Some(entry) = Arc::make_mut(column).get_mut(row)
    {
        *entry = value;
    }
}
