//! [`AntiAffinity`]: required anti-affinity terms of running pods, each term once with the pods that
//! have it, so that the replicas of a workload cost one look.

use crate::model::{
    Change, Delta, Feeds, Index, IndexKey, Labels, Moves, PodAffinityTerm, PodInfo, PodKey, Snapshot, Symbol,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Required anti-affinity of placed pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AntiAffinity {
    terms: FxHashMap<Arc<PodAffinityTerm>, Arc<BTreeSet<PodKey>>>,
}

impl AntiAffinity {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new("InterPodAffinity"))
    }

    /// The first running pod, by name, with a required anti-affinity term about `pod`. A pod on a node
    /// that was deleted or lacks the term's topology key keeps no pod away.
    pub fn about<'s>(&self, pod: &PodInfo, snapshot: &'s Snapshot) -> Option<&'s Arc<PodInfo>> {
        if self.terms.is_empty() {
            return None;
        }
        let none = Labels::default();
        let namespace = snapshot.namespace(&pod.namespace).map_or(&none, |namespace| &namespace.labels);
        let matching = self.terms.iter().filter(|(term, _)| term.matches(pod, namespace));
        let first = matching.filter_map(|(term, pods)| {
            pods.iter().filter(|key| **key != pod.key).find_map(|key| {
                let entry = snapshot.pod(key)?;
                let node = snapshot.node(entry.placed?.0)?;
                let alive = snapshot.columns().alive().contains(node.id());
                let counts = alive && node.label(&term.topology_key).is_some();
                counts.then_some(&entry.pod)
            })
        });
        first.min_by_key(|pod| (&pod.namespace, &pod.name))
    }

    fn add(&mut self, pod: &PodInfo) {
        for term in pod.constraints.iter().flat_map(|constraints| &constraints.affinity.required_anti) {
            let pods = self.terms.entry(term.clone()).or_default();
            Arc::make_mut(pods).insert(pod.key.clone());
        }
    }

    fn remove(&mut self, pod: &PodInfo) {
        for term in pod.constraints.iter().flat_map(|constraints| &constraints.affinity.required_anti) {
            let Some(pods) = self.terms.get_mut(term) else { continue };
            Arc::make_mut(pods).remove(&pod.key);
            if pods.is_empty() {
                self.terms.remove(term);
            }
        }
    }
}

impl Index for AntiAffinity {
    fn feeds(&self) -> Feeds {
        Feeds::PLACEMENTS
    }
    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let placed = match delta.change {
            Change::PodPlaced { pod, .. } => Some(pod),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => None,
            _ => return,
        };
        if let Some((before, Some(_))) = &delta.pod_before {
            self.remove(before);
        }
        if let Some(pod) = placed {
            self.add(pod);
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.terms.clear();
        for entry in snapshot.pods().filter(|entry| entry.placed.is_some()) {
            self.add(&entry.pod);
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}
