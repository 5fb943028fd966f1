//! The scheduler's view of the cluster, and whether each pod is pending, assumed or bound.
//!
//! ```text
//!            assume                bind answered              seen bound
//! Pending ───────────► Assumed ───────────────────► Told ───────────────► Bound
//!    ▲                  │  │ ▲                        │
//!    │  forget          │  │ └─ known again           │ seen bound elsewhere: Bound there
//!    └──────────────────┘  ▼
//!    ▲                  Unknown: the bind may have happened; the room is kept until that is decided
//!    └────── forget ───────┘
//! ```
//!
//! An assumption is kept beside the object: newer versions of the object do not end it; only `forget` and an update
//! that shows the pod on a node do. A deletion removes the pod in every state.
//!
//! Source: `pkg/scheduler/backend/cache/cache.go`; assumptions never expire.

use super::holders::Holders;
use super::queue::Nominator;
use bayplan_model::{Assumption, Change, Node, NodeId, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The state of a pod's assignment to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodState {
    /// The pod has no node.
    Pending,
    /// Assumed; the bind call was not sent, or has no reply yet.
    Assumed(Symbol),
    /// Assumed; the outcome of the bind call is unknown.
    Unknown(Symbol),
    /// The API server confirmed the binding; the watch has not shown it yet.
    Told(Symbol),
    /// The watch showed the pod on the node.
    Bound(Symbol),
}

impl PodState {
    /// The node that the pod is bound to or assumed on.
    pub fn node(&self) -> Option<&Symbol> {
        match self {
            PodState::Pending => None,
            PodState::Assumed(node) | PodState::Unknown(node) | PodState::Told(node) => Some(node),
            PodState::Bound(node) => Some(node),
        }
    }

    /// Whether the API server has bound the pod.
    pub fn is_bound(&self) -> bool {
        matches!(self, PodState::Told(_) | PodState::Bound(_))
    }

    /// Whether the pod is assumed.
    pub fn is_assumed(&self) -> bool {
        matches!(self, PodState::Assumed(_) | PodState::Unknown(_))
    }
}

/// A pod before and after an update.
#[derive(Debug)]
pub(super) struct Seen {
    /// The object as it was; `None` for a pod that is new.
    pub(super) old: Option<Arc<PodInfo>>,
    /// The state before.
    pub(super) before: PodState,
    /// The state after.
    pub(super) after: PodState,
}

/// The scheduler's picture of the cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) snapshot: Snapshot,
    pub(super) nominator: Nominator,
    pub(super) holders: Holders,
    states: FxHashMap<PodKey, PodState>,
    /// How many of the states are assumed.
    assumed: usize,
    names: FxHashMap<(Symbol, Symbol), PodKey>,
}

impl Cache {
    /// The state of a pod; `None` when the pod is unknown.
    pub(super) fn state(&self, pod: &PodKey) -> Option<&PodState> {
        self.states.get(pod)
    }

    /// The newest version of a pod.
    pub(super) fn pod(&self, pod: &PodKey) -> Option<&Arc<PodInfo>> {
        self.snapshot.pod(pod).map(|entry| &entry.pod)
    }

    /// The pod that has this name.
    pub(super) fn pod_named(&self, namespace: &Symbol, name: &Symbol) -> Option<&PodKey> {
        self.names.get(&(namespace.clone(), name.clone()))
    }

    /// All known pods, ordered by key.
    pub(super) fn pods(&self) -> Vec<(&PodKey, &PodState)> {
        let mut pods: Vec<_> = self.states.iter().collect();
        pods.sort_by(|a, b| a.0.cmp(b.0));
        pods
    }

    /// The pods whose node no watch has shown, ordered by key.
    pub(super) fn unseen(&self) -> Vec<(PodKey, PodState)> {
        let unseen = |state: &PodState| state.is_assumed() || matches!(state, PodState::Told(_));
        let unseen = self.states.iter().filter(|(_, state)| unseen(state));
        let mut unseen: Vec<_> = unseen.map(|(key, state)| (key.clone(), state.clone())).collect();
        unseen.sort_by(|one, other| one.0.cmp(&other.0));
        unseen
    }

    /// The number of assumed pods.
    pub(super) fn assumed(&self) -> usize {
        self.assumed
    }

    fn set_state(&mut self, pod: PodKey, state: PodState) {
        self.assumed += usize::from(state.is_assumed());
        let before = self.states.insert(pod, state);
        self.assumed -= usize::from(before.is_some_and(|before| before.is_assumed()));
    }

    /// Adds or updates a pod. The caller has removed any other pod of the same name.
    pub(super) fn see(&mut self, pod: Arc<PodInfo>) -> Seen {
        let key = pod.key.clone();
        let old = self.pod(&key).cloned();
        let before = self.states.get(&key).cloned().unwrap_or(PodState::Pending);
        let after = match (&before, &pod.node_name) {
            (_, Some(node)) => PodState::Bound(node.clone()),
            (PodState::Assumed(_) | PodState::Unknown(_) | PodState::Told(_), None) => before.clone(),
            (PodState::Pending | PodState::Bound(_), None) => PodState::Pending,
        };
        self.names.insert((pod.namespace.clone(), pod.name.clone()), key.clone());
        self.settle(pod, after.clone());
        Seen { old, before, after }
    }

    /// Sets a pod's state, and updates the snapshot.
    fn settle(&mut self, pod: Arc<PodInfo>, state: PodState) {
        let key = pod.key.clone();
        if matches!(state, PodState::Bound(_) | PodState::Pending) {
            // The object has what the binding added.
            self.snapshot.unmark_pod(&key);
        }
        let waiting = self.snapshot.pod(&key).is_some_and(|entry| entry.waiting);
        match state.node() {
            Some(node) => {
                let pod = self.snapshot.with_marks(pod);
                let node = self.snapshot.row_or_placeholder(node);
                let how = if state.is_bound() { Placement::Bound } else { Placement::Assumed };
                self.snapshot.apply(Change::PodPlaced { pod, node, how });
                if waiting && !state.is_bound() {
                    self.snapshot.apply(Change::PodWaiting { pod: key.clone(), waiting });
                }
            }
            None => self.snapshot.apply(Change::PodPending { pod }),
        }
        self.set_state(key, state);
    }

    /// Removes a pod.
    pub(super) fn remove_pod(&mut self, pod: &PodKey) -> Option<(Arc<PodInfo>, PodState)> {
        let state = self.states.remove(pod)?;
        self.assumed -= usize::from(state.is_assumed());
        let object = self.pod(pod)?.clone();
        let name = (object.namespace.clone(), object.name.clone());
        if self.names.get(&name) == Some(pod) {
            self.names.remove(&name);
        }
        self.nominator.set(&object, None, &mut self.snapshot);
        self.snapshot.apply(Change::PodRemoved { pod: pod.clone() });
        Some((object, state))
    }

    /// Assumes the pod on the node from `now`. [`Cache::forget`] undoes it.
    pub(super) fn assume(&mut self, pod: &PodKey, node: NodeId, now: Time) {
        let Some(name) = self.snapshot.node(node).map(|node| node.name().clone()) else { return };
        let Some(object) = self.pod(pod).cloned() else { return };
        self.settle(object, PodState::Assumed(name));
        self.snapshot.apply(Change::PodAssumed { pod: pod.clone(), at: now });
    }

    /// Ends the assumption: the pod is pending again. No effect on a pod that is deleted or bound.
    pub(super) fn forget(&mut self, pod: &PodKey) {
        if !self.states.get(pod).is_some_and(PodState::is_assumed) {
            return;
        }
        self.set_state(pod.clone(), PodState::Pending);
        let plain = self.snapshot.unmark_pod(pod);
        self.snapshot.apply(Change::PodUnplaced { pod: pod.clone() });
        if let Some(pod) = plain {
            self.snapshot.apply(Change::PodPending { pod });
        }
    }

    /// Marks the outcome of the pod's bind as unknown.
    pub(super) fn doubt(&mut self, pod: &PodKey) {
        if let Some(PodState::Assumed(node)) = self.states.get(pod).cloned() {
            self.set_state(pod.clone(), PodState::Unknown(node));
        }
    }

    /// Records that the API server bound the pod. No effect on a pod that is deleted or seen bound.
    pub(super) fn told(&mut self, pod: &PodKey, node: &Symbol) {
        let known = self.states.get(pod).is_some_and(|state| !matches!(state, PodState::Bound(_)));
        if known && let Some(object) = self.pod(pod).cloned() {
            self.settle(object, PodState::Told(node.clone()));
        }
    }

    /// Sets whether the pod waits at Permit.
    pub(super) fn wait(&mut self, pod: &PodKey, waiting: bool) {
        self.snapshot.apply(Change::PodWaiting { pod: pod.clone(), waiting });
    }

    /// Ends what a pod assumed about objects when its binding ends. What was written stays until it is seen.
    pub(super) fn end_assumptions(&mut self, pod: &PodKey) {
        for key in self.snapshot.assumed_by(pod) {
            let open = |by: &Assumption| by.by == *pod && by.written.is_none();
            if self.snapshot.assumptions(&key).iter().any(open) {
                self.snapshot.apply(Change::Unassumed { key, by: pod.clone() });
            }
        }
    }

    /// Adds or updates a node; returns the previous version.
    pub(super) fn see_node(&mut self, node: Arc<Node>) -> Option<Arc<Node>> {
        let row = self.snapshot.node_by_name(&node.name);
        let old = row.and_then(|row| self.snapshot.node(row)).map(|node| node.node().clone());
        let name = node.name.clone();
        self.snapshot.apply(Change::NodeUpserted { node });
        if old.is_none() {
            self.nominator.node_added(&name, &mut self.snapshot);
        }
        old
    }

    /// Removes a node and returns it.
    pub(super) fn remove_node(&mut self, name: &Symbol) -> Option<Arc<Node>> {
        let row = self.snapshot.node_by_name(name)?;
        let old = self.snapshot.node(row).map(|node| node.node().clone());
        self.nominator.node_removed(name, &mut self.snapshot);
        self.snapshot.apply(Change::NodeRemoved { name: name.clone() });
        old
    }
}
