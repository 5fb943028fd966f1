//! [`VolumeUsers`]: which pods use which claims, and which have disks that exclude other pods.

use super::{NAME, claims, disks, volumes};
use bayplan_framework::Status;
use bayplan_model::{
    Change, Delta, Feeds, Index, IndexError, IndexKey, Moves, NodeId, PodInfo, Snapshot, Symbol,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which pods use which claims and disks: the index of the plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeUsers {
    /// The rows of the pods that use a claim, by its namespace and name; a row is there once for each pod.
    claims: Arc<FxHashMap<(Symbol, Symbol), Vec<NodeId>>>,
    /// Pods with disks that exclude others, by row.
    pub(super) disks: Arc<BTreeMap<NodeId, Vec<Arc<PodInfo>>>>,
}

impl VolumeUsers {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new(NAME))
    }

    /// The living nodes with a pod that uses a claim.
    pub(super) fn claim<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        namespace: &Symbol,
        name: &Symbol,
    ) -> impl Iterator<Item = NodeId> + use<'a> {
        let rows = self.claims.get(&(namespace.clone(), name.clone()));
        let alive = snapshot.columns().alive();
        rows.into_iter().flatten().copied().filter(|row| alive.contains(*row))
    }

    fn add(&mut self, pod: &Arc<PodInfo>, node: NodeId) {
        let mut names: Vec<&Symbol> = claims(pod).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let users = Arc::make_mut(&mut self.claims);
            for name in names {
                let rows = users.entry((pod.namespace.clone(), name.clone())).or_default();
                rows.insert(rows.partition_point(|row| *row < node), node);
            }
        }
        if disks(pod).next().is_some() {
            let pods = Arc::make_mut(&mut self.disks).entry(node).or_default();
            pods.insert(pods.partition_point(|other| other.key < pod.key), pod.clone());
        }
    }

    fn remove(&mut self, pod: &Arc<PodInfo>, node: NodeId) {
        let mut names: Vec<&Symbol> = claims(pod).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let key = (pod.namespace.clone(), name.clone());
            let users = Arc::make_mut(&mut self.claims);
            let Some(rows) = users.get_mut(&key) else { continue };
            if let Ok(at) = rows.binary_search(&node) {
                rows.remove(at);
            }
            if rows.is_empty() {
                users.remove(&key);
            }
        }
        if disks(pod).next().is_some() {
            let all = Arc::make_mut(&mut self.disks);
            let Some(pods) = all.get_mut(&node) else { return };
            pods.retain(|other| other.key != pod.key);
            if pods.is_empty() {
                all.remove(&node);
            }
        }
    }
}

impl Index for VolumeUsers {
    fn feeds(&self) -> Feeds {
        Feeds::PLACEMENTS
    }

    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let now = match delta.change {
            Change::PodPlaced { pod, node, .. } => Some((pod, *node)),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => None,
            _ => return,
        };
        let before = match &delta.pod_before {
            Some((pod, Some(node))) => Some((pod, *node)),
            _ => None,
        };
        let concerns = |pod: &Arc<PodInfo>| volumes(pod).next().is_some();
        if let Some((pod, node)) = before.filter(|(pod, _)| concerns(pod)) {
            self.remove(pod, node);
        }
        if let Some((pod, node)) = now.filter(|(pod, _)| concerns(pod)) {
            self.add(pod, node);
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        *self = Self::default();
        for entry in snapshot.pods() {
            if let Some((node, _)) = entry.placed {
                self.add(&entry.pod, node);
            }
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// Calls `with` with the index, or with a fresh one where the snapshot has none.
pub(super) fn with_index<T>(snapshot: &Snapshot, with: impl FnOnce(&VolumeUsers) -> T) -> Result<T, Status> {
    match snapshot.try_index::<VolumeUsers>(&VolumeUsers::key()) {
        Ok(index) => Ok(with(index)),
        Err(error @ IndexError::Broken) => Err(Status::error(error.to_string())),
        Err(IndexError::Absent) => {
            let mut fresh = VolumeUsers::default();
            fresh.rebuild(snapshot);
            Ok(with(&fresh))
        }
    }
}
