//! Nominated pods by the name of their node. A nomination to an unknown or deleted node is kept here, and is not in the
//! snapshot until the node exists. Nominations of gated pods count, as in kube-scheduler 1.37 (#139057).

use bayplan_model::{Change, PodInfo, PodKey, Snapshot, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The pods nominated for a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nominator(BTreeMap<PodKey, (Arc<PodInfo>, Symbol)>);

impl Nominator {
    /// Sets or removes a pod's nomination.
    pub(crate) fn set(&mut self, pod: &Arc<PodInfo>, node: Option<&Symbol>, snapshot: &mut Snapshot) {
        match node.filter(|name| !name.is_empty()) {
            Some(name) => {
                let row = snapshot.node_by_name(name);
                if self.0.get(&pod.key).is_some_and(|(old, at)| Arc::ptr_eq(old, pod) && at == name)
                    && snapshot.nominated_node(&pod.key) == row
                {
                    return;
                }
                self.0.insert(pod.key.clone(), (pod.clone(), name.clone()));
                snapshot.apply(Change::Nominated { pod: pod.clone(), node: row });
            }
            None => {
                if self.0.remove(&pod.key).is_some() {
                    snapshot.apply(Change::Nominated { pod: pod.clone(), node: None });
                }
            }
        }
    }

    /// The node that a pod is nominated for.
    pub(crate) fn get(&self, pod: &PodKey) -> Option<&Symbol> {
        self.0.get(pod).map(|(_, node)| node)
    }

    /// Adds the nominations of a new node to the snapshot.
    pub(crate) fn node_added(&self, name: &Symbol, snapshot: &mut Snapshot) {
        let row = snapshot.node_by_name(name);
        for (pod, node) in self.0.values() {
            if node == name {
                snapshot.apply(Change::Nominated { pod: pod.clone(), node: row });
            }
        }
    }

    /// Removes the nominations for a deleted node from the snapshot, and keeps them here.
    pub(crate) fn node_removed(&self, name: &Symbol, snapshot: &mut Snapshot) {
        for (pod, node) in self.0.values() {
            if node == name {
                snapshot.apply(Change::Nominated { pod: pod.clone(), node: None });
            }
        }
    }

    /// All nominations, by pod.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PodKey, &Symbol)> {
        self.0.iter().map(|(pod, (_, node))| (pod, node))
    }
}
