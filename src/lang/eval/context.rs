//! [`EvalContext`]: what an expression can read. It decides which pods and nodes a policy sees, and
//! where a pod is placed.
//!
//! `plugins::policy` makes one for each call of the framework, and explanations make their own.
//! Both evaluators read it.

use super::collections::Collections;
use super::looked::Looked;
use crate::typed::Source;
use crate::types::value::Value;
use bayplan_model::{
    ApiObject, Kind, KindName, Load, LookedUp, NodeId, NodeInfo, OwnerReference, Placement, PodInfo, PodKey,
    Snapshot, Symbol, Time,
};
use std::sync::Arc;

/// What an expression can read. Cheap to copy.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// The pod being scheduled, in the conditions of groups too.
    pub pod: &'a PodInfo,
    /// The node that is evaluated, with the pods that a simulation added and removed. `None`: no
    /// node.
    pub node: Option<NodeInfo<'a>>,
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// The wall clock at the instant of the cycle.
    pub now: Time,
    /// When the pod was put into the queue and how often it was tried.
    pub queued: Queued,
    /// Pods that a simulation moved; empty without a simulation.
    pub moved: &'a MovedPods,
    /// Remembers which objects were looked up by name or as owner; `None`: they are not asked for.
    pub looked: Option<&'a Looked>,
    /// What evaluations about this pod on this snapshot share; `None`: each makes its own.
    pub collections: Option<&'a Collections>,
}

/// What the queue knows of the pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// When it was put into the queue; `None` outside a queue.
    pub since: Option<Time>,
    /// How often it was tried.
    pub attempts: u32,
}

/// Pods that a simulation put onto a node or took away from one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedPods {
    /// Put onto a node: the nominated ones, or a victim that is spared.
    pub added: Vec<(Arc<PodInfo>, NodeId)>,
    /// Taken away: victims.
    pub removed: Vec<PodKey>,
}

/// Nothing was moved.
pub static NOTHING_MOVED: MovedPods = MovedPods { added: Vec::new(), removed: Vec::new() };

impl MovedPods {
    /// Whether nothing was moved.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Puts a pod onto a node, or back onto it.
    pub fn add(&mut self, pod: &Arc<PodInfo>, node: NodeId) {
        match self.removed.iter().position(|key| *key == pod.key) {
            Some(at) => {
                self.removed.swap_remove(at);
            }
            None => self.added.push((pod.clone(), node)),
        }
    }

    /// Takes a pod away.
    pub fn remove(&mut self, pod: &PodInfo) {
        match self.added.iter().position(|(added, _)| added.key == pod.key) {
            Some(at) => {
                self.added.swap_remove(at);
            }
            None => self.removed.push(pod.key.clone()),
        }
    }
}

impl<'a> EvalContext<'a> {
    /// A context without a node, outside simulations, at an instant of the scheduler's monotonic time.
    pub fn new(pod: &'a PodInfo, snapshot: &'a Snapshot, now: Time) -> Self {
        let now = snapshot.wall_clock(now);
        Self {
            pod,
            node: None,
            snapshot,
            now,
            queued: Queued::default(),
            moved: &NOTHING_MOVED,
            looked: None,
            collections: None,
        }
    }

    /// This context for a node.
    pub fn on(self, node: NodeInfo<'a>) -> Self {
        Self { node: Some(node), ..self }
    }

    /// A node by its row; the node that is evaluated comes with its simulation.
    pub fn node_info(&self, id: NodeId) -> Option<NodeInfo<'a>> {
        match self.node {
            Some(node) if node.id() == id => Some(node),
            _ => self.snapshot.node(id),
        }
    }

    /// The living nodes, in row order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        self.snapshot.nodes().map(|node| node.id())
    }

    /// The row of a living node by name.
    pub fn node_named(&self, name: &Symbol) -> Option<NodeId> {
        self.snapshot.node_by_name(name)
    }

    /// All pods that a policy sees, ordered by key: pending and placed, not finished. They include
    /// the pod being scheduled, and exclude pods that a simulation removed.
    pub fn pods(&self) -> Vec<&'a PodInfo> {
        match self.shared_collections() {
            Some(known) => known.pods(|| self.pods_found().into_iter().map(|pod| self.shared(pod)).collect()),
            None => self.pods_found(),
        }
    }

    /// What this evaluation shares with others; nothing in a simulation, which moves pods.
    pub(super) fn shared_collections(&self) -> Option<&'a Collections> {
        self.collections.filter(|_| self.moved.is_empty())
    }

    /// A pod of the snapshot, or the pod being scheduled, to keep.
    pub(super) fn shared(&self, pod: &PodInfo) -> Arc<PodInfo> {
        let known = self.snapshot.pod(&pod.key).map(|entry| entry.pod.clone());
        known.unwrap_or_else(|| Arc::new(pod.clone()))
    }

    fn pods_found(&self) -> Vec<&'a PodInfo> {
        let mut pods: Vec<&'a PodInfo> = self.snapshot.pods().map(|entry| &*entry.pod).collect();
        if self.snapshot.pod(&self.pod.key).is_none() {
            pods.push(self.pod);
        }
        pods.extend(
            self.moved
                .added
                .iter()
                .map(|(pod, _)| &**pod)
                .filter(|pod| self.snapshot.pod(&pod.key).is_none() && pod.key != self.pod.key),
        );
        pods.retain(|pod| self.sees(pod));
        pods.sort_by(|left, right| left.key.cmp(&right.key));
        pods
    }

    /// Whether a pod of the snapshot is in the collections of a policy.
    pub fn sees(&self, pod: &PodInfo) -> bool {
        !pod.is_finished() && !self.moved.removed.contains(&pod.key)
    }

    /// Pods that are nominated to a node, ordered by key.
    pub fn nominated(&self) -> Vec<&'a PodInfo> {
        let snapshot = self.snapshot;
        snapshot
            .nominations()
            .into_iter()
            .filter_map(|(pod, node)| snapshot.nominated(node).iter().find(|p| p.key == pod.key))
            .map(|pod| &**pod)
            .collect()
    }

    /// The objects of a kind, ordered by namespace and name.
    pub fn objects(&self, kind: &KindName) -> impl Iterator<Item = &'a LookedUp> + use<'a> {
        self.snapshot.all_looked_up(&Kind::LookedUp(kind.clone()))
    }

    /// The objects of a kind in a namespace, by name.
    pub fn objects_in(
        &self,
        kind: &KindName,
        namespace: &str,
    ) -> impl Iterator<Item = &'a LookedUp> + use<'a> {
        self.snapshot.looked_up_in(&Kind::LookedUp(kind.clone()), &Symbol::new(namespace))
    }

    /// The object of a kind by the values of its namespace and name, or of its name alone.
    pub fn object_named(&self, kind: &KindName, names: &[Value<'_>]) -> Option<&'a LookedUp> {
        let (namespace, name) = match names {
            [name] => (Symbol::default(), Symbol::new(name.as_str()?)),
            [namespace, name] => (Symbol::new(namespace.as_str()?), Symbol::new(name.as_str()?)),
            _ => return None,
        };
        self.look_up(&Kind::LookedUp(kind.clone()), &namespace, &name)
    }

    fn look_up(&self, kind: &Kind, namespace: &Symbol, name: &Symbol) -> Option<&'a LookedUp> {
        if let Some(looked) = self.looked {
            looked.at(kind, namespace, name);
        }
        self.snapshot.looked_up(kind, namespace, name)
    }

    /// The controller of a pod or object, if it is of this kind. It is in the namespace of what it controls, or in none.
    pub fn owner(&self, kind: &KindName, of: &Value<'_>) -> Option<&'a LookedUp> {
        let (namespace, owners): (_, &[OwnerReference]) = match of {
            Value::Pod(pod) => (&pod.namespace, &pod.owners),
            Value::LookedUp(object) => (&object.metadata().namespace, object.owners()),
            _ => return None,
        };
        let owner = owners.iter().find(|owner| owner.controller)?;
        let group = owner.api_version.as_str().split_once('/').map_or("", |(group, _)| group);
        if owner.kind.as_str() != kind.kind() || group != kind.group() {
            return None;
        }
        let kind = Kind::LookedUp(kind.clone());
        let found = self.look_up(&kind, namespace, &owner.name);
        let found = found.or_else(|| self.look_up(&kind, &Symbol::default(), &owner.name))?;
        // Files leave UIDs out.
        let uid = &found.metadata().uid;
        (uid.is_empty() || owner.uid.is_empty() || *uid == owner.uid).then_some(found)
    }

    /// What the node of this name used over a window, unless its newest sample is older than `max_age`.
    pub fn load(&self, node: &Symbol, source: &Source) -> Option<&'a Arc<Load>> {
        let metrics = self.snapshot.metrics();
        metrics.load(node, source.window).filter(|load| metrics.age(load) <= source.max_age)
    }

    /// What the node of this name used over a window, computed from the samples.
    pub(crate) fn load_recomputed(&self, node: &Symbol, source: &Source) -> Option<Load> {
        let metrics = self.snapshot.metrics();
        metrics.recomputed(node, source.window).filter(|load| metrics.age(load) <= source.max_age)
    }

    /// The node of a pod and whether the pod is assumed or bound; `None` while it is pending.
    pub fn placement(&self, pod: &PodInfo) -> Option<(NodeId, Placement)> {
        if !self.moved.is_empty() {
            if let Some((_, node)) = self.moved.added.iter().find(|(added, _)| added.key == pod.key) {
                return Some((*node, Placement::Assumed));
            }
            if self.moved.removed.contains(&pod.key) {
                return None;
            }
        }
        self.snapshot.pod(&pod.key)?.placed
    }

    /// When a pod was placed: this scheduler assumed it, or its condition says it. `None` while it is pending.
    pub fn placed_at(&self, pod: &PodInfo) -> Option<Time> {
        // A rule that goes over the pods of the node asks for each of them: the tables of all pods are slow to read.
        let here = self.node.filter(|_| self.moved.is_empty()).and_then(|node| node.assumed_at(pod));
        let assumed = match here {
            Some(assumed) => assumed,
            None => {
                self.placement(pod)?;
                self.snapshot.pod(&pod.key).and_then(|entry| entry.assumed_at)
            }
        };
        let condition =
            || pod.scheduled_condition.as_deref().filter(|(status, ..)| status.as_str() == "True");
        assumed.or_else(|| condition().and_then(|(.., at)| *at))
    }

    /// Whether a pod waits at Permit.
    pub fn is_waiting(&self, pod: &PodInfo) -> bool {
        self.snapshot.pod(&pod.key).is_some_and(|entry| entry.waiting)
    }
}
