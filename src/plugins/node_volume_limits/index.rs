//! [`AttachedVolumes`]: for each node with a limit which volumes count, and by driver how many. A change counts the nodes
//! anew that it may concern; `count.rs` is the definition of what counts.

use super::NAME;
use super::count::attached;
use super::volumes::{Dependency, Role, attachable, concerns};
use crate::volumes::migration::CsiVolume;
use bayplan_model::{
    Change, CsiNode, Delta, Feeds, Index, IndexKey, Moves, NodeId, ObjectDelta, PersistentVolume,
    PersistentVolumeClaim, PodInfo, Snapshot, StorageClass, Symbol, VolumeAttachment, downcast,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is known of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum RowState {
    /// Nothing: there is no node, or its volumes cannot be counted. The definition decides.
    #[default]
    Unknown,
    /// The node has no CSINode, so that no driver has a limit.
    NoCsiNode,
    /// The drivers' columns have the node's limits and counts.
    Counted,
}

/// The room of a node without a limit.
const UNLIMITED: i64 = i64::MAX;

/// A driver that has a limit on some node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Column {
    /// How many more volumes a row may have; negative where there are too many. Whole words of 64 rows; rows beyond
    /// have no limit.
    room: Vec<i64>,
    /// How many rows have a limit.
    limits: usize,
}

/// A node with limits.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    /// The volumes that count, ordered, with whether a pod uses them. Others are only attached.
    volumes: Box<[(CsiVolume, bool)]>,
    /// The drivers with a limit.
    limits: Box<[Symbol]>,
    /// The objects that decide which volumes count, ordered.
    reads: Box<[Dependency]>,
}

/// The volumes that count against the limits of nodes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AttachedVolumes {
    states: Arc<Vec<RowState>>,
    rows: Arc<FxHashMap<NodeId, Arc<Row>>>,
    drivers: Arc<BTreeMap<Symbol, Arc<Column>>>,
    /// The rows that depend on an object, ordered.
    dependents: Arc<FxHashMap<Dependency, Vec<NodeId>>>,
    /// The names of the VolumeAttachments by node.
    attachments: Arc<FxHashMap<Symbol, BTreeSet<Symbol>>>,
}

type Rows = SmallVec<[NodeId; 4]>;

/// A row with the limits of its drivers.
type Limited = (Row, BTreeMap<Symbol, i64>);

impl AttachedVolumes {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new(NAME))
    }

    pub(super) fn state(&self, row: NodeId) -> RowState {
        self.states.get(row.row()).copied().unwrap_or_default()
    }

    /// The states by row, in whole words of 64; nothing is known of rows beyond.
    pub(super) fn states(&self) -> &[RowState] {
        &self.states
    }

    /// How many more volumes of a driver a row may have, in whole words of 64; rows beyond have no limit. `None` if no
    /// node has a limit for it.
    pub(super) fn room(&self, driver: &Symbol) -> Option<&[i64]> {
        self.drivers.get(driver).map(|column| &*column.room)
    }

    /// Whether a pod on the node uses the volume already.
    pub(super) fn is_used(&self, row: NodeId, volume: &CsiVolume) -> bool {
        let volumes = self.rows.get(&row).map(|row| &*row.volumes).unwrap_or_default();
        volumes.binary_search_by(|(other, _)| other.cmp(volume)).is_ok_and(|at| volumes[at].1)
    }

    /// The VolumeAttachments of a node by name.
    pub(super) fn attachments<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        node: &Symbol,
    ) -> impl Iterator<Item = &'a Arc<VolumeAttachment>> {
        let names = self.attachments.get(node).into_iter().flatten();
        names.filter_map(|name| snapshot.object(&Symbol::default(), name))
    }

    /// Counts the volumes of a row anew.
    fn recount(&mut self, row: NodeId, snapshot: &Snapshot) {
        self.forget(row);
        let (state, counted) = self.counted(row, snapshot);
        if state != self.state(row) {
            let states = Arc::make_mut(&mut self.states);
            if states.len() <= row.row() {
                states.resize((row.row() + 1).next_multiple_of(64), RowState::Unknown);
            }
            states[row.row()] = state;
        }
        let Some((counted, limits)) = counted else { return };
        if !counted.reads.is_empty() {
            let dependents = Arc::make_mut(&mut self.dependents);
            for read in &counted.reads {
                let rows = dependents.entry(read.clone()).or_default();
                if let Err(at) = rows.binary_search(&row) {
                    rows.insert(at, row);
                }
            }
        }
        for (driver, limit) in limits {
            let used = counted.volumes.iter().filter(|(volume, _)| volume.driver == driver).count() as i64;
            let column = Arc::make_mut(Arc::make_mut(&mut self.drivers).entry(driver).or_default());
            if column.room.len() <= row.row() {
                column.room.resize((row.row() + 1).next_multiple_of(64), UNLIMITED);
            }
            column.room[row.row()] = limit.saturating_sub(used);
            column.limits += 1;
        }
        Arc::make_mut(&mut self.rows).insert(row, Arc::new(counted));
    }

    /// Removes what is known of a row but its state.
    fn forget(&mut self, row: NodeId) {
        if !self.rows.contains_key(&row) {
            return;
        }
        let Some(known) = Arc::make_mut(&mut self.rows).remove(&row) else { return };
        let drivers = Arc::make_mut(&mut self.drivers);
        for driver in &known.limits {
            let Some(column) = drivers.get_mut(driver) else { continue };
            let column = Arc::make_mut(column);
            if let Some(room) = column.room.get_mut(row.row()) {
                *room = UNLIMITED;
            }
            column.limits -= 1;
            if column.limits == 0 {
                drivers.remove(driver);
            }
        }
        if known.reads.is_empty() {
            return;
        }
        let dependents = Arc::make_mut(&mut self.dependents);
        for read in &known.reads {
            let Some(rows) = dependents.get_mut(read) else { continue };
            rows.retain(|other| *other != row);
            if rows.is_empty() {
                dependents.remove(read);
            }
        }
    }

    /// What counts on a row, with the limits of the drivers.
    fn counted(&self, row: NodeId, snapshot: &Snapshot) -> (RowState, Option<Limited>) {
        let alive = snapshot.columns().alive().contains(row);
        let Some(node) = snapshot.node(row).filter(|_| alive) else { return (RowState::Unknown, None) };
        let csi_node = snapshot.object::<CsiNode>(&Symbol::default(), node.name());
        let Some(csi_node) = csi_node else { return (RowState::NoCsiNode, None) };
        let drivers = csi_node.drivers.iter();
        let limits = drivers.filter_map(|driver| Some((driver.name.clone(), driver.limit?)));
        let limits: BTreeMap<Symbol, i64> = limits.collect();
        if limits.is_empty() {
            return (RowState::Counted, None);
        }
        let (mut used, mut reads) = (Vec::new(), Vec::new());
        let failed = node.pods().any(|pod| {
            attachable(snapshot, pod, true, Role::Placed, &mut used, |read| reads.push(read)).is_err()
        });
        let mut volumes: BTreeMap<CsiVolume, bool> = used.into_iter().map(|volume| (volume, true)).collect();
        for attachment in self.attachments(snapshot, node.name()) {
            reads.extend(attachment.volume.clone().map(Dependency::Volume));
            if let Some(volume) = attached(snapshot, attachment) {
                volumes.entry(volume).or_insert(false);
            }
        }
        reads.sort_unstable();
        reads.dedup();
        let row = Row {
            volumes: volumes.into_iter().collect(),
            limits: limits.keys().cloned().collect(),
            reads: reads.into(),
        };
        (if failed { RowState::Unknown } else { RowState::Counted }, Some((row, limits)))
    }

    /// The rows that depend on an object.
    fn depending(&self, on: &Dependency, rows: &mut Rows) {
        rows.extend(self.dependents.get(on).into_iter().flatten().copied());
    }

    /// Takes in a change of an object; the rows that it may concern go to `rows`.
    fn object_changed(&mut self, object: &ObjectDelta, snapshot: &Snapshot, rows: &mut Rows) {
        let Some(any) = object.after.as_deref().or(object.before.as_deref()) else { return };
        let metadata = any.metadata();
        if downcast::<PersistentVolumeClaim>(any).is_some() {
            let claim = Dependency::Claim(metadata.namespace.clone(), metadata.name.clone());
            self.depending(&claim, rows);
        } else if downcast::<PersistentVolume>(any).is_some() {
            self.depending(&Dependency::Volume(metadata.name.clone()), rows);
        } else if downcast::<StorageClass>(any).is_some() {
            self.depending(&Dependency::Class(metadata.name.clone()), rows);
        } else if downcast::<CsiNode>(any).is_some() {
            rows.extend(snapshot.row_by_name(&metadata.name));
        } else if downcast::<VolumeAttachment>(any).is_some() {
            if let Some(before) = object.before.as_deref().and_then(downcast::<VolumeAttachment>) {
                self.detach(before);
                rows.extend(snapshot.row_by_name(&before.node));
            }
            if let Some(after) = object.after.as_deref().and_then(downcast::<VolumeAttachment>) {
                self.attach(after);
                rows.extend(snapshot.row_by_name(&after.node));
            }
        }
    }

    fn attach(&mut self, attachment: &VolumeAttachment) {
        let attachments = Arc::make_mut(&mut self.attachments);
        attachments.entry(attachment.node.clone()).or_default().insert(attachment.metadata.name.clone());
    }

    fn detach(&mut self, attachment: &VolumeAttachment) {
        let attachments = Arc::make_mut(&mut self.attachments);
        let Some(names) = attachments.get_mut(&attachment.node) else { return };
        names.remove(&attachment.metadata.name);
        if names.is_empty() {
            attachments.remove(&attachment.node);
        }
    }
}

/// Whether two versions of a pod have the same volumes. Pods of one template share them.
fn same_volumes(old: &PodInfo, new: &PodInfo) -> bool {
    let same = match (&old.constraints, &new.constraints) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old.volumes == new.volumes,
        (None, None) => true,
        (Some(any), None) | (None, Some(any)) => any.volumes.is_empty(),
    };
    same && old.uid == new.uid
}

/// The rows whose volumes change when a pod comes, goes or moves.
fn moved(delta: &Delta<'_>, now: Option<(&Arc<PodInfo>, NodeId)>, rows: &mut Rows) {
    let before = match &delta.pod_before {
        Some((pod, Some(node))) => Some((pod, *node)),
        _ => None,
    };
    if let (Some((old, from)), Some((new, to))) = (before, now)
        && from == to
        && (Arc::ptr_eq(old, new) || same_volumes(old, new))
    {
        return;
    }
    rows.extend([before, now].into_iter().flatten().filter(|(pod, _)| concerns(pod)).map(|(_, row)| row));
}

impl Index for AttachedVolumes {
    fn feeds(&self) -> Feeds {
        Feeds::PLACEMENTS.with(Feeds::NODES).with(Feeds::OBJECTS)
    }

    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, _: &mut Moves) {
        let mut rows = Rows::new();
        match delta.change {
            Change::PodPlaced { pod, node, .. } => moved(delta, Some((pod, *node)), &mut rows),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => {
                moved(delta, None, &mut rows);
            }
            Change::NodeUpserted { .. } => {
                rows.extend(delta.node.filter(|row| self.state(*row) == RowState::Unknown));
            }
            Change::NodeRemoved { .. } => rows.extend(delta.node),
            _ => {
                if let Some(object) = &delta.object {
                    self.object_changed(object, snapshot, &mut rows);
                }
            }
        }
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            self.recount(row, snapshot);
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        *self = Self::default();
        for attachment in snapshot.objects::<VolumeAttachment>() {
            self.attach(attachment);
        }
        for node in snapshot.nodes() {
            self.recount(node.id(), snapshot);
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
impl AttachedVolumes {
    /// Equal but for trailing rows of which nothing is known.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let states = |of: &Self| {
            let known = of.states.iter().rposition(|state| *state != RowState::Unknown);
            of.states[..known.map_or(0, |at| at + 1)].to_vec()
        };
        let rooms = |of: &Self| {
            let column = |column: &Column| {
                let rooms = column.room.iter().copied().enumerate();
                rooms.filter(|(_, room)| *room != UNLIMITED).collect::<Vec<_>>()
            };
            of.drivers.iter().map(|(name, of)| (name.clone(), of.limits, column(of))).collect::<Vec<_>>()
        };
        states(self) == states(other)
            && rooms(self) == rooms(other)
            && (&self.rows, &self.dependents) == (&other.rows, &other.dependents)
            && self.attachments == other.attachments
    }
}
