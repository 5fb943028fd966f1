//! [`ExemptPods`]: the pods that policies leave alone unless they say `applies to all pods`.
//!
//! Nothing that the creator of a pod may write makes it one of them. What counts is the namespace, and a DaemonSet that
//! was seen: owner references, labels, affinity and priority prove nothing by themselves.

use bayplan_model::{
    DaemonSet, Kind, ObjectKey, OwnerReference, PodInfo, SelectorOperator, Snapshot, Symbol, downcast,
};
use std::fmt;

/// Pods to which only policies with `applies to all pods` apply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExemptPods {
    /// Pods of these namespaces: kube-system, the scheduler's own, and those that the operator names.
    pub namespaces: Vec<Symbol>,
}

impl Default for ExemptPods {
    fn default() -> Self {
        Self { namespaces: vec![Symbol::new("kube-system")] }
    }
}

impl ExemptPods {
    /// Whether policies skip the pod altogether.
    pub fn exempts(&self, pod: &PodInfo) -> bool {
        self.namespaces.contains(&pod.namespace)
    }
}

/// Why a pod is exempt from policies without `applies to all pods`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exemption {
    /// Its namespace: policies skip it.
    Namespace(Symbol),
    /// It is the pod of a DaemonSet for one node: policies score, and refuse nothing.
    DaemonSet,
}

impl fmt::Display for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "namespace {name}"),
            Self::DaemonSet => f.write_str("DaemonSet"),
        }
    }
}

/// Why a pod is exempt, for explanations.
pub fn why_exempt(pod: &PodInfo, exempt: &ExemptPods, snapshot: &Snapshot) -> Option<Exemption> {
    if exempt.exempts(pod) {
        return Some(Exemption::Namespace(pod.namespace.clone()));
    }
    of_daemon_set(pod, snapshot).then_some(Exemption::DaemonSet)
}

/// Whether a pod is one that a DaemonSet has for one node: its controller is a DaemonSet that was seen, in its namespace
/// and with that UID, whose selector takes the pod, and its affinity requires one node by its name. The DaemonSet
/// controller deletes a pod of this kind that it has not asked for.
pub fn of_daemon_set(pod: &PodInfo, snapshot: &Snapshot) -> bool {
    let Some(owner) = daemon_set_named_by(pod) else { return false };
    let key = ObjectKey {
        kind: Kind::DaemonSet,
        namespace: pod.namespace.clone(),
        name: owner.name.clone(),
        uid: Symbol::default(),
    };
    let Some(set) = snapshot.any_object_seen(&key) else { return false };
    let takes = |set: &DaemonSet| set.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels));
    set.metadata().uid == owner.uid
        && downcast::<DaemonSet>(set.as_ref()).is_some_and(takes)
        && requires_one_node(pod)
}

/// The DaemonSet that a pod names as its controller, whether there is one or not.
pub fn daemon_set_named_by(pod: &PodInfo) -> Option<&OwnerReference> {
    let named = |owner: &&OwnerReference| owner.kind == "DaemonSet" && owner.api_version == "apps/v1";
    pod.owners.iter().find(|owner| owner.controller).filter(named)
}

/// Whether every required term of the pod's node affinity names the same one node, as those that the DaemonSet controller
/// writes.
fn requires_one_node(pod: &PodInfo) -> bool {
    let Some(required) = &pod.node_affinity.required else { return false };
    let mut names = required.terms.iter().map(|term| {
        let by_name = |field: &&_| field_names_a_node(field);
        term.fields.iter().find(by_name).and_then(|field| field.values.first())
    });
    match names.next() {
        Some(Some(first)) => names.all(|name| name == Some(first)),
        _ => false,
    }
}

fn field_names_a_node(field: &bayplan_model::Requirement) -> bool {
    field.key == "metadata.name" && field.operator == SelectorOperator::In && field.values.len() == 1
}
