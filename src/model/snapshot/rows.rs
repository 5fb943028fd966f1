//! Rows of a snapshot: nodes that come, change and go, and rows that are freed and used again.

use super::{NodeRow, Snapshot};
use crate::changes::{Delta, Kinds, Moved};
use crate::columns::Columns;
use crate::labels::Labels;
use crate::node::Node;
use crate::node_set::NodeId;
use crate::resource::Resource;
use crate::sums::Sums;
use crate::symbol::Symbol;
use std::sync::Arc;

/// What a row that is not alive has in the columns.
fn nothing() -> Node {
    Node::placeholder(Symbol::default())
}

impl Snapshot {
    pub(super) fn row_mut(&mut self, id: NodeId) -> Option<&mut NodeRow> {
        Arc::make_mut(&mut self.rows).get_mut(id.row()).map(Arc::make_mut)
    }

    /// A node comes or changes. `false`: nothing changed that a plugin or rule reads.
    pub(super) fn upsert_node(&mut self, node: &Arc<Node>, delta: &mut Delta<'_>) -> bool {
        let known = self.by_name.get(&node.name).copied();
        let id = known.unwrap_or_else(|| self.new_row(node.clone(), false));
        delta.node = Some(id);
        let Some(row) = self.row_mut(id) else { return false };
        let was_alive = std::mem::replace(&mut row.alive, true);
        let before = std::mem::replace(&mut row.node, node.clone());
        // A pod that takes everything takes what the node has now.
        let all_taken = row.sums.is_at_the_end();
        if all_taken {
            row.add_up();
        }
        if !was_alive {
            self.enter_columns(id);
            self.note(Moved::Node(id), Kinds::LIFE, None);
            self.note(Moved::Global, Kinds::NODES, None);
            return true;
        }
        if all_taken {
            self.write_sums(id);
        }
        let kinds = before.difference(node);
        self.write_parts(id, &before, node, kinds);
        if kinds.intersects(Kinds::LABELS) {
            let label = the_changed_label(&before.labels, &node.labels);
            self.note(Moved::Node(id), Kinds::LABELS, label);
        }
        let others = kinds.without(Kinds::LABELS);
        if !others.is_empty() {
            self.note(Moved::Node(id), others, None);
        }
        delta.node_before = Some(before);
        !kinds.is_empty()
    }

    pub(super) fn new_row(&mut self, node: Arc<Node>, alive: bool) -> NodeId {
        let name = node.name.clone();
        let row = Arc::new(NodeRow {
            node,
            alive,
            pods: Vec::new(),
            assumed_at: Vec::new(),
            sums: Sums::default(),
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

    pub(super) fn remove_node(&mut self, name: &Symbol, delta: &mut Delta<'_>) {
        let Some(id) = self.node_by_name(name) else { return };
        let Some(row) = self.row_mut(id) else { return };
        row.alive = false;
        let node = row.node.clone();
        self.leave_columns(id, &node);
        delta.node = Some(id);
        delta.node_before = Some(node);
        self.note(Moved::Node(id), Kinds::LIFE, None);
        self.note(Moved::Global, Kinds::NODES, None);
        if self.metrics.node_count() > 0 && Arc::make_mut(&mut self.metrics).forget(name) {
            self.note(Moved::Global, Kinds::METRICS, None);
        }
    }

    /// Reserves a row for a caller that stores its number, also when its node and pods are gone. Pins are counted;
    /// [`Snapshot::unpin`] ends one.
    pub fn pin(&mut self, row: NodeId) {
        *Arc::make_mut(&mut self.pins).entry(row).or_default() += 1;
    }

    /// Ends one [`Snapshot::pin`]. A row without node, pods and pins is used again.
    pub fn unpin(&mut self, row: NodeId) {
        let pins = Arc::make_mut(&mut self.pins);
        let Some(count) = pins.get_mut(&row) else { return };
        *count -= 1;
        if *count == 0 {
            pins.remove(&row);
            self.release(row);
        }
    }

    /// Frees a row that is not alive, that no placed or nominated pod refers to, and that is not pinned.
    pub(super) fn release(&mut self, id: NodeId) {
        let Some(row) = self.rows.get(id.row()) else { return };
        let named = !row.pods.is_empty() || self.nominated.contains_key(&id) || self.pins.contains_key(&id);
        if row.alive || named {
            return;
        }
        let name = row.node.name.clone();
        if self.by_name.get(&name) == Some(&id) {
            Arc::make_mut(&mut self.by_name).remove(&name);
            self.free_rows.push(id);
            self.note(Moved::Node(id), Kinds::LIFE, None);
        }
    }

    /// Writes all columns of a row whose node came.
    fn enter_columns(&mut self, id: NodeId) {
        let Some(row) = self.rows.get(id.row()).cloned() else { return };
        Columns::set_flag(&mut self.columns.alive, id, true);
        Columns::set_flag(&mut self.columns.host_ports, id, row.port_pods > 0);
        self.columns.set_requested(id.row(), &row.sums.requested, row.pods.len(), row.sums.nonzero);
        self.write_parts(id, &nothing(), &row.node, Kinds::ALL);
    }

    /// Clears all columns of a row whose node went.
    fn leave_columns(&mut self, id: NodeId, node: &Node) {
        Columns::set_flag(&mut self.columns.alive, id, false);
        Columns::set_flag(&mut self.columns.host_ports, id, false);
        self.columns.set_requested(id.row(), &Resource::default(), 0, (0, 0));
        self.write_parts(id, node, &nothing(), Kinds::ALL);
    }

    /// Writes the columns of these parts of a node.
    fn write_parts(&mut self, id: NodeId, before: &Node, now: &Node, kinds: Kinds) {
        if kinds.intersects(Kinds::UNSCHEDULABLE) {
            Columns::set_flag(&mut self.columns.unschedulable, id, now.unschedulable);
        }
        if kinds.intersects(Kinds::ALLOCATABLE) {
            self.columns.set_allocatable(id.row(), &now.allocatable);
        }
        if kinds.intersects(Kinds::TAINTS) {
            self.columns.set_taints(id.row(), &now.taints);
        }
        if kinds.intersects(Kinds::LABELS) {
            self.columns.set_labels(id.row(), &before.labels, &now.labels);
        }
    }
}

/// The label key whose value differs, if there is exactly one.
fn the_changed_label(before: &Labels, now: &Labels) -> Option<Symbol> {
    let gone = before.iter().filter(|(key, _)| now.get(key).is_none());
    let set = now.iter().filter(|(key, value)| before.get(key) != Some(value));
    let mut changed = gone.chain(set).map(|(key, _)| key);
    let first = changed.next()?;
    changed.next().is_none().then(|| first.clone())
}
