//! [`Columns`]: node data by column in row order, for passes over all nodes. Only [`Snapshot::apply`] writes them; a
//! row and its column entries always agree.
//!
//! [`Snapshot::apply`]: super::Snapshot::apply

use super::node_set::{NodeId, NodeSet};
use super::resource::Resource;
use super::symbol::Symbol;
use super::taints::Taint;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Names a distinct list of taints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TaintSetId(pub u32);

/// One resource over all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceColumn {
    /// Allocatable, in the units of [`Resource`].
    pub allocatable: Arc<Vec<i64>>,
    /// Requested by the pods on the node.
    pub requested: Arc<Vec<i64>>,
}

/// Node data by column. Rows that are not alive hold zeros; columns are longer than the rows, up to a whole word of 64.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    rows: usize,
    pub(super) alive: Arc<NodeSet>,
    pub(super) unschedulable: Arc<NodeSet>,
    pub(super) host_ports: Arc<NodeSet>,
    pub(super) cpu: ResourceColumn,
    pub(super) memory: ResourceColumn,
    pub(super) ephemeral_storage: ResourceColumn,
    /// `requested` is the number of pods on the node.
    pub(super) pods: ResourceColumn,
    pub(super) scalars: Arc<FxHashMap<Symbol, ResourceColumn>>,
    pub(super) nonzero_milli_cpu: Arc<Vec<i64>>,
    pub(super) nonzero_memory: Arc<Vec<i64>>,
    pub(super) taints: Arc<Vec<TaintSetId>>,
    pub(super) taint_sets: Arc<Vec<Arc<[Taint]>>>,
    pub(super) labels: Arc<FxHashMap<Symbol, Arc<Vec<Option<Symbol>>>>>,
}

impl Columns {
    /// The rows that hold a living node.
    pub fn alive(&self) -> &NodeSet {
        &self.alive
    }

    /// The rows whose node has `spec.unschedulable`.
    pub fn unschedulable(&self) -> &NodeSet {
        &self.unschedulable
    }

    /// The rows whose node has a pod with host ports.
    pub fn host_ports(&self) -> &NodeSet {
        &self.host_ports
    }

    /// How many rows there are, alive or not.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many entries a column has: the rows, up to a whole word of 64.
    pub fn room(&self) -> usize {
        self.rows.next_multiple_of(64)
    }

    /// The column of a resource by its Kubernetes name. `None` when no node and no pod on one names it.
    pub fn resource(&self, name: &Symbol) -> Option<&ResourceColumn> {
        match name.as_str() {
            "cpu" => Some(&self.cpu),
            "memory" => Some(&self.memory),
            "ephemeral-storage" => Some(&self.ephemeral_storage),
            "pods" => Some(&self.pods),
            _ => self.scalars.get(name),
        }
    }

    /// Requested CPU in millicores with upstream's default for containers that name none.
    pub fn nonzero_milli_cpu(&self) -> &[i64] {
        &self.nonzero_milli_cpu
    }

    /// Requested memory in bytes with upstream's default for containers that name none.
    pub fn nonzero_memory(&self) -> &[i64] {
        &self.nonzero_memory
    }

    /// The taint set of each row; index into [`Columns::taint_sets`].
    pub fn taints(&self) -> &[TaintSetId] {
        &self.taints
    }

    /// All distinct taint lists seen so far; the first is the empty one.
    pub fn taint_sets(&self) -> &[Arc<[Taint]>] {
        &self.taint_sets
    }

    /// The values of a label key over all rows. `None` when the key was not requested
    /// ([`Snapshot::want_label`](super::Snapshot::want_label)); read the labels of the nodes instead.
    pub fn label(&self, key: &Symbol) -> Option<&[Option<Symbol>]> {
        self.labels.get(key).map(|column| column.as_slice())
    }

    pub(super) fn grow(&mut self, rows: usize) {
        self.rows = self.rows.max(rows);
        let rows = self.room();
        fn longer<T: Clone + Default>(column: &mut Arc<Vec<T>>, rows: usize) {
            if column.len() < rows {
                Arc::make_mut(column).resize(rows, T::default());
            }
        }
        if self.taint_sets.is_empty() {
            Arc::make_mut(&mut self.taint_sets).push(Arc::from([]));
        }
        for resource in [&mut self.cpu, &mut self.memory, &mut self.ephemeral_storage, &mut self.pods] {
            longer(&mut resource.allocatable, rows);
            longer(&mut resource.requested, rows);
        }
        for resource in Arc::make_mut(&mut self.scalars).values_mut() {
            longer(&mut resource.allocatable, rows);
            longer(&mut resource.requested, rows);
        }
        longer(&mut self.nonzero_milli_cpu, rows);
        longer(&mut self.nonzero_memory, rows);
        longer(&mut self.taints, rows);
        for column in Arc::make_mut(&mut self.labels).values_mut() {
            longer(column, rows);
        }
    }

    pub(super) fn set_allocatable(&mut self, row: usize, of: &Resource) {
        let rows = self.room();
        set(&mut self.cpu.allocatable, row, of.milli_cpu);
        set(&mut self.memory.allocatable, row, of.memory);
        set(&mut self.ephemeral_storage.allocatable, row, of.ephemeral_storage);
        set(&mut self.pods.allocatable, row, of.pods);
        self.set_scalars(row, rows, of, |column| &mut column.allocatable);
    }

    pub(super) fn set_requested(&mut self, row: usize, of: &Resource, pods: usize, nonzero: (i64, i64)) {
        let rows = self.room();
        set(&mut self.cpu.requested, row, of.milli_cpu);
        set(&mut self.memory.requested, row, of.memory);
        set(&mut self.ephemeral_storage.requested, row, of.ephemeral_storage);
        set(&mut self.pods.requested, row, pods as i64);
        set(&mut self.nonzero_milli_cpu, row, nonzero.0);
        set(&mut self.nonzero_memory, row, nonzero.1);
        self.set_scalars(row, rows, of, |column| &mut column.requested);
    }

    fn set_scalars(
        &mut self,
        row: usize,
        rows: usize,
        of: &Resource,
        part: fn(&mut ResourceColumn) -> &mut Arc<Vec<i64>>,
    ) {
        if of.scalars.is_empty() && self.scalars.is_empty() {
            return;
        }
        let scalars = Arc::make_mut(&mut self.scalars);
        for (name, _) in &of.scalars {
            if !scalars.contains_key(name) {
                let zeros = Arc::new(vec![0; rows]);
                let column = ResourceColumn { allocatable: zeros.clone(), requested: zeros };
                scalars.insert(name.clone(), column);
            }
        }
        for (name, column) in scalars.iter_mut() {
            set(part(column), row, of.scalar(name));
        }
    }

    pub(super) fn set_taints(&mut self, row: usize, taints: &Arc<[Taint]>) {
        let known = self.taint_sets.iter().position(|set| set == taints);
        let id = known.unwrap_or_else(|| {
            let sets = Arc::make_mut(&mut self.taint_sets);
            sets.push(taints.clone());
            sets.len() - 1
        });
        set(&mut self.taints, row, TaintSetId(id as u32));
    }

    pub(super) fn set_flag(set: &mut Arc<NodeSet>, node: NodeId, on: bool) {
        if set.contains(node) != on {
            let set = Arc::make_mut(set);
            if on { set.insert(node) } else { set.remove(node) }
        }
    }
}

impl Columns {
    /// Adds the column of a label key, by row.
    pub(super) fn add_label(&mut self, key: Symbol, values: impl Iterator<Item = Option<Symbol>>) {
        let mut column: Vec<Option<Symbol>> = values.collect();
        column.resize(self.room(), None);
        Arc::make_mut(&mut self.labels).insert(key, Arc::new(column));
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

impl Columns {
    pub(super) fn set_label(column: &mut Arc<Vec<Option<Symbol>>>, row: usize, value: Option<Symbol>) {
        set(column, row, value);
    }
}
