//! Pods of a snapshot: known, on rows, and nominated. An update of a pod where it is writes what it changed and
//! nothing else. [`Snapshot::mark_pod`] lays annotations and labels over an assumed pod.

use super::{NodeRow, Snapshot};
use crate::changes::{Change, Delta, Kinds, Moved, Placement};
use crate::columns::Columns;
use crate::marks::PodMarks;
use crate::node_set::NodeId;
use crate::pod::{PodInfo, PodKey};
use crate::sums::Sums;
use crate::symbol::Symbol;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

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
    /// What its binding adds to it; `pod` has it already.
    pub marked: Option<Arc<Marked>>,
}

/// The marks of a pod that is being bound.
#[derive(Debug)]
pub struct Marked {
    /// What its binding adds.
    pub marks: PodMarks,
    /// The pod without it.
    plain: Arc<PodInfo>,
}

impl Marked {
    /// The pod without what its binding adds.
    pub fn plain(&self) -> &Arc<PodInfo> {
        &self.plain
    }
}

/// Pods by key in shards, so that a write after a fork copies one shard and not the whole table.
#[derive(Clone, Debug)]
pub(super) struct PodTable(Vec<Arc<FxHashMap<PodKey, PodEntry>>>);

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

    pub(super) fn get(&self, key: &PodKey) -> Option<&PodEntry> {
        self.0[Self::shard(key)].get(key)
    }

    pub(super) fn get_mut(&mut self, key: &PodKey) -> Option<&mut PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(key)]).get_mut(key)
    }

    fn insert(&mut self, key: PodKey, entry: PodEntry) -> Option<PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(&key)]).insert(key, entry)
    }

    fn remove(&mut self, key: &PodKey) -> Option<PodEntry> {
        Arc::make_mut(&mut self.0[Self::shard(key)]).remove(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &PodEntry> {
        self.0.iter().flat_map(|shard| shard.values())
    }
}

impl NodeRow {
    fn add(&mut self, pod: &Arc<PodInfo>) {
        self.sums.add(&self.node, pod);
        self.port_pods += usize::from(!pod.host_ports.is_empty());
    }

    /// Takes a pod, which is not in `pods`, out of the sums.
    fn subtract(&mut self, pod: &PodInfo) {
        if !self.sums.subtract(pod) {
            self.add_up();
        }
        self.leave_out_unnamed();
        self.port_pods = self.port_pods.saturating_sub(usize::from(!pod.host_ports.is_empty()));
    }

    /// A pod, which is in `pods`, takes the place of an earlier version of itself in the sums.
    fn replace(&mut self, before: &PodInfo, pod: &PodInfo) {
        match self.sums.subtract(before) {
            true => self.sums.add(&self.node, pod),
            false => self.add_up(),
        }
        self.leave_out_unnamed();
        self.port_pods += usize::from(!pod.host_ports.is_empty());
        self.port_pods = self.port_pods.saturating_sub(usize::from(!before.host_ports.is_empty()));
    }

    /// Leaves resources out that no pod names.
    fn leave_out_unnamed(&mut self) {
        let (scalars, pods) = (&mut self.sums.requested.scalars, &self.pods);
        if scalars.iter().any(|(_, amount)| *amount == 0) {
            let named = |name: &Symbol| {
                pods.iter().any(|pod| pod.requests.scalars.iter().any(|(other, _)| other == name))
            };
            scalars.retain(|(name, amount)| *amount != 0 || named(name));
        }
    }

    /// Makes the sums anew.
    pub(super) fn add_up(&mut self) {
        self.sums = Sums::of(&self.node, self.pods.iter());
    }
}

impl Snapshot {
    /// A pod is placed. `false`: it was there already, and nothing changed that a plugin or rule reads.
    pub(super) fn place_pod(
        &mut self,
        pod: &Arc<PodInfo>,
        node: NodeId,
        how: Placement,
        delta: &mut Delta<'_>,
    ) -> bool {
        delta.node = Some(node);
        if let Some(PodEntry { placed: Some((at, was)), waiting, pod: before, .. }) = self.pods.get(&pod.key)
            && *at == node
        {
            let ends_wait = *waiting && how == Placement::Bound;
            let (before, was) = (before.clone(), *was);
            let mut kinds = before.difference(pod);
            if was != how || ends_wait {
                kinds |= Kinds::PODS_OTHER;
            }
            self.replace_placed(&before, pod, (node, how), kinds);
            delta.pod_before = Some((before, Some(node)));
            return !kinds.is_empty();
        }
        delta.pod_before = self.unlink_pod(&pod.key);
        self.link_pod(pod, Some((node, how)), None);
        true
    }

    /// Lays annotations and labels over an assumed pod until [`Snapshot::unmark_pod`], or until it loses its node. Every
    /// reader sees them. Ignored when the pod is not assumed.
    pub fn mark_pod(&mut self, key: &PodKey, marks: PodMarks) {
        let Some(entry) = self.pods.get(key) else { return };
        let Some((node, how @ Placement::Assumed)) = entry.placed else { return };
        let (mut all, plain) = match &entry.marked {
            Some(marked) => (marked.marks.clone(), marked.plain.clone()),
            None => (PodMarks::default(), entry.pod.clone()),
        };
        all.add(marks);
        let pod = Arc::new(all.laid_over(&plain));
        self.apply(Change::PodPlaced { pod, node, how });
        if let Some(entry) = self.pods.get_mut(key) {
            entry.marked = Some(Arc::new(Marked { marks: all, plain }));
        }
    }

    /// What the binding of a pod adds to it.
    pub fn marks(&self, key: &PodKey) -> Option<&PodMarks> {
        Some(&self.pods.get(key)?.marked.as_ref()?.marks)
    }

    /// A newer version of a pod with the marks that are laid over it, to be placed.
    pub fn with_marks(&mut self, pod: Arc<PodInfo>) -> Arc<PodInfo> {
        let Some(PodEntry { pod: shown, marked: Some(marked), .. }) = self.pods.get(&pod.key) else {
            return pod;
        };
        if Arc::ptr_eq(shown, &pod) {
            return pod;
        }
        let shown = Arc::new(marked.marks.laid_over(&pod));
        let marked = Arc::new(Marked { marks: marked.marks.clone(), plain: pod });
        if let Some(entry) = self.pods.get_mut(&shown.key) {
            entry.marked = Some(marked);
        }
        shown
    }

    /// Forgets the marks of a pod and returns it without them; the caller places it anew. `None`: it has none.
    pub fn unmark_pod(&mut self, key: &PodKey) -> Option<Arc<PodInfo>> {
        self.pods.get(key)?.marked.as_ref()?;
        let marked = self.pods.get_mut(key)?.marked.take()?;
        Some(marked.plain.clone())
    }

    /// Replaces a bound pod by a later version that differs in nothing that a plugin or rule can read, on the same node.
    /// `false`: it is another kind of update, and nothing was done.
    pub fn refresh_pod(&mut self, pod: &Arc<PodInfo>) -> bool {
        let Some(PodEntry { placed: Some((node, Placement::Bound)), pod: before, .. }) =
            self.pods.get(&pod.key)
        else {
            return false;
        };
        if before.node_name != pod.node_name || !before.difference(pod).is_empty() {
            return false;
        }
        let (before, at) = (before.clone(), (*node, Placement::Bound));
        self.replace_placed(&before, pod, at, Kinds::NONE);
        true
    }

    /// A placed pod is replaced by a later version of itself, which differs from it in `kinds`.
    fn replace_placed(
        &mut self,
        before: &Arc<PodInfo>,
        pod: &Arc<PodInfo>,
        at: (NodeId, Placement),
        kinds: Kinds,
    ) {
        let same = Arc::ptr_eq(before, pod);
        if same && kinds.is_empty() {
            return;
        }
        if let Some(entry) = self.pods.get_mut(&pod.key) {
            entry.pod = pod.clone();
            entry.placed = Some(at);
            entry.waiting &= at.1 == Placement::Assumed;
        }
        let sums = kinds.intersects(Kinds::PODS_REQUESTS.with(Kinds::PODS_PORTS));
        if !same && let Some(row) = self.row_mut(at.0) {
            if let Some(place) = row.pods.iter_mut().find(|other| Arc::ptr_eq(other, before)) {
                *place = pod.clone();
            }
            if sums {
                row.replace(before, pod);
            }
        }
        if sums {
            self.write_sums(at.0);
        }
        if !kinds.is_empty() {
            self.note(Moved::Node(at.0), kinds, None);
        }
    }

    /// A pod has no node. `false`: it had none, and nothing changed that a plugin or rule reads.
    pub(super) fn unplace_pod(&mut self, pod: &Arc<PodInfo>, delta: &mut Delta<'_>) -> bool {
        if let Some(entry) = self.pods.get(&pod.key)
            && entry.placed.is_none()
        {
            let before = entry.pod.clone();
            let moved = !before.difference(pod).is_empty() || entry.waiting;
            if let Some(entry) = self.pods.get_mut(&pod.key) {
                entry.pod = pod.clone();
                entry.waiting = false;
            }
            if moved {
                self.note(Moved::Global, Kinds::PENDING_PODS, None);
            }
            delta.pod_before = Some((before, None));
            return moved;
        }
        delta.pod_before = self.unlink_pod(&pod.key);
        self.link_pod(pod, None, None);
        true
    }

    pub(super) fn unlink_pod(&mut self, key: &PodKey) -> Option<(Arc<PodInfo>, Option<NodeId>)> {
        let entry = self.pods.remove(key)?;
        self.pod_count -= 1;
        let Some((id, _)) = entry.placed else {
            self.note(Moved::Global, Kinds::PENDING_PODS, None);
            return Some((entry.pod, None));
        };
        if let Some(row) = self.row_mut(id) {
            if let Some(at) = row.pods.iter().position(|pod| pod.key == *key) {
                row.pods.remove(at);
                row.assumed_at.remove(at);
            }
            row.subtract(&entry.pod);
        }
        self.sum_changed(id, &entry.pod);
        Some((entry.pod, Some(id)))
    }

    pub(super) fn link_pod(
        &mut self,
        pod: &Arc<PodInfo>,
        placed: Option<(NodeId, Placement)>,
        assumed_at: Option<Time>,
    ) {
        let entry = PodEntry { pod: pod.clone(), placed, waiting: false, assumed_at, marked: None };
        self.pods.insert(pod.key.clone(), entry);
        self.pod_count += 1;
        let Some((id, _)) = placed else {
            self.note(Moved::Global, Kinds::PENDING_PODS, None);
            return;
        };
        if let Some(row) = self.row_mut(id) {
            row.pods.push(pod.clone());
            row.assumed_at.push(assumed_at);
            row.add(pod);
        }
        self.sum_changed(id, pod);
    }

    /// Notes in the row when a pod on it was assumed.
    pub(super) fn set_assumed_at(&mut self, id: NodeId, pod: &Arc<PodInfo>, at: Time) {
        let Some(row) = self.row_mut(id) else { return };
        if let Some(place) = row.pods.iter().position(|other| Arc::ptr_eq(other, pod))
            && let Some(known) = row.assumed_at.get_mut(place)
        {
            *known = Some(at);
        }
    }

    /// Writes the sums of a row to the columns.
    pub(super) fn write_sums(&mut self, id: NodeId) {
        let Some(row) = self.rows.get(id.row()) else { return };
        if row.alive {
            self.columns.set_requested(id.row(), &row.sums.requested, row.pods.len(), row.sums.nonzero);
            Columns::set_flag(&mut self.columns.host_ports, id, row.port_pods > 0);
        }
    }

    /// Writes the sums of a row to the columns and the log, after `pod` came or went.
    fn sum_changed(&mut self, id: NodeId, pod: &PodInfo) {
        self.write_sums(id);
        let mut kinds = Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER);
        if !pod.host_ports.is_empty() {
            kinds |= Kinds::PODS_PORTS;
        }
        self.note(Moved::Node(id), kinds, None);
    }

    /// Sets or removes a nomination. `false`: nothing changed that a plugin or rule reads.
    pub(super) fn nominate(&mut self, pod: &Arc<PodInfo>, node: Option<NodeId>) -> bool {
        let before = self.nominated_node(&pod.key);
        if before == node {
            let Some(node) = node else { return false };
            let pods = Arc::make_mut(&mut self.nominated).entry(node).or_default();
            let place = pods.iter_mut().find(|other| other.key == pod.key);
            if let Some(known) = place
                && known.difference(pod).is_empty()
            {
                *known = pod.clone();
                return false;
            }
        }
        if let Some(before) = before {
            let nominated = Arc::make_mut(&mut self.nominated);
            if let Some(pods) = nominated.get_mut(&before) {
                pods.retain(|other| other.key != pod.key);
                if pods.is_empty() {
                    nominated.remove(&before);
                    Columns::set_flag(&mut self.columns.promised, before, false);
                }
            }
            Arc::make_mut(&mut self.nominated_to).remove(&pod.key);
            self.note(Moved::Node(before), Kinds::NOMINATED, None);
        }
        if let Some(node) = node {
            Arc::make_mut(&mut self.nominated).entry(node).or_default().push(pod.clone());
            Arc::make_mut(&mut self.nominated_to).insert(pod.key.clone(), node);
            Columns::set_flag(&mut self.columns.promised, node, true);
            self.note(Moved::Node(node), Kinds::NOMINATED, None);
        }
        true
    }
}
