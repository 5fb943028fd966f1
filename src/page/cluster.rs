//! Nodes and pods of a snapshot as columns.

use crate::Strings;
use crate::devices::Devices;
use crate::document::{BayPlan, LabelColumn, NodeColumns, PodColumns};
use bayplan_explain::trouble;
use bayplan_model::{Labels, Node, PodInfo, Resource, Snapshot, Symbol, Taint, Time, is_extended};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Labels that name the application of a pod, the most telling first.
const APPLICATION: [&str; 4] = ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app"];

/// Resources that every bay plan has, in this order.
const ALWAYS: [&str; 2] = ["cpu", "memory"];

/// Nodes with more pieces of a resource than this show a share instead of pieces.
const MOST_SLOTS: i64 = 16;

/// A pod with what became of it.
pub struct PodState {
    /// The pod as it was found.
    pub pod: Arc<PodInfo>,
    /// Its state in a word.
    pub state: &'static str,
    /// Its node before pending pods were placed.
    pub before: Option<Symbol>,
    /// Its node now.
    pub node: Option<Symbol>,
    /// Why it waits; empty when it does not.
    pub message: String,
    /// The place of its cause.
    pub cause: Option<usize>,
}

/// Fills in the nodes of a snapshot and these pods.
pub fn cluster(plan: &mut BayPlan, strings: &mut Strings, snapshot: &Snapshot, pods: &[PodState], now: Time) {
    let resources = resources(snapshot, pods);
    let mut rows: FxHashMap<&str, i64> = FxHashMap::default();
    for (row, node) in snapshot.nodes().enumerate() {
        rows.insert(node.name().as_str(), i64::try_from(row).unwrap_or(-1));
    }
    let devices = Devices::of(snapshot);
    plan.nodes = nodes(strings, snapshot, &resources, &devices);
    let mut shapes: FxHashMap<Vec<i64>, i64> = FxHashMap::default();
    let mut columns = PodColumns::default();
    let row =
        |name: &Option<Symbol>| name.as_ref().and_then(|name| rows.get(name.as_str())).copied().unwrap_or(-1);
    for PodState { pod, state, before, node, message, cause } in pods {
        let mut amounts = amounts(&pod.requests, &resources);
        amounts.extend(devices.of_pod(pod));
        let next = i64::try_from(shapes.len()).unwrap_or(-1);
        let shape = *shapes.entry(amounts).or_insert_with_key(|amounts| {
            plan.requests.push(amounts.clone());
            next
        });
        let owner = pod.owners.iter().find(|owner| owner.controller).or(pod.owners.first());
        let owner = owner.map_or_else(String::new, |owner| format!("{} {}", owner.kind, owner.name));
        columns.name.push(pod.name.to_string());
        columns.namespace.push(strings.place(&pod.namespace));
        columns.owner.push(strings.place_of_some(&owner));
        columns.application.push(strings.place(&application(pod)));
        columns.priority.push(pod.priority.into());
        columns.requests.push(shape);
        columns
            .age
            .push(pod.created.map_or(-1, |created| now.0.saturating_sub(created.0).max(0) / 1_000_000));
        columns.before.push(row(before));
        columns.node.push(row(node));
        columns.state.push(strings.place(state));
        columns.message.push(strings.place_of_some(message));
        columns.cause.push(cause.and_then(|cause| i64::try_from(cause).ok()).unwrap_or(-1));
    }
    plan.pods = columns;
    plan.resources = resources.into_iter().chain(devices.names()).map(|name| name.to_string()).collect();
}

/// The resources that nodes have or pods request: CPU and memory, then others by name. The number of pods is none.
fn resources(snapshot: &Snapshot, pods: &[PodState]) -> Vec<Symbol> {
    let mut others: BTreeSet<&Symbol> = BTreeSet::new();
    let storage = Symbol::new("ephemeral-storage");
    let scalars = |of: &Resource| of.ephemeral_storage > 0;
    let mut stores = false;
    for pod in pods {
        stores |= scalars(&pod.pod.requests);
        others
            .extend(pod.pod.requests.scalars.iter().filter(|(_, amount)| *amount > 0).map(|(name, _)| name));
    }
    for node in snapshot.nodes() {
        others.extend(
            node.allocatable().scalars.iter().filter(|(_, amount)| *amount > 0).map(|(name, _)| name),
        );
    }
    // What no pod requests of it is of no interest.
    let storage = stores.then_some(storage);
    ALWAYS.iter().map(|name| Symbol::new(name)).chain(storage).chain(others.into_iter().cloned()).collect()
}

/// The amounts in the order of the columns.
fn amounts(of: &Resource, resources: &[Symbol]) -> Vec<i64> {
    resources.iter().map(|name| of.get(name)).collect()
}

fn nodes(strings: &mut Strings, snapshot: &Snapshot, resources: &[Symbol], devices: &Devices) -> NodeColumns {
    let width = resources.len() + devices.names().count();
    let mut columns = NodeColumns {
        allocatable: vec![Vec::new(); width],
        requested: vec![Vec::new(); width],
        ..NodeColumns::default()
    };
    let keys: BTreeSet<&Symbol> =
        snapshot.nodes().flat_map(|node| node.node().labels.iter().map(|(key, _)| key)).collect();
    columns.labels = keys.iter().map(|key| LabelColumn { key: key.to_string(), value: Vec::new() }).collect();
    for info in snapshot.nodes() {
        let node: &Node = info.node();
        let (mut all, mut used) =
            (amounts(info.allocatable(), resources), amounts(info.requested(), resources));
        let (of_devices, held) = devices.of_node(node);
        all.extend(of_devices);
        used.extend(held);
        columns.name.push(info.name().to_string());
        columns.trouble.push(strings.place_of_some(trouble(node).unwrap_or_default()));
        columns.scarcest.push(scarcest(&all, &used));
        columns.slots.push(slots(resources, &all));
        columns.taints.push(node.taints.iter().map(|taint| strings.place(&taint_text(taint))).collect());
        for (column, key) in columns.labels.iter_mut().zip(&keys) {
            column.value.push(node.labels.get(key).map_or(-1, |value| strings.place(value)));
        }
        for (column, amount) in columns.allocatable.iter_mut().zip(all) {
            column.push(amount);
        }
        for (column, amount) in columns.requested.iter_mut().zip(used) {
            column.push(amount);
        }
    }
    columns
}

/// The resource of which the largest share is requested; of equal ones the first. -1 for a node that has nothing.
fn scarcest(allocatable: &[i64], requested: &[i64]) -> i64 {
    let mut most: Option<(usize, i128, i128)> = None;
    for (at, (all, used)) in allocatable.iter().zip(requested).enumerate().filter(|(_, (all, _))| **all > 0) {
        let (all, used) = (i128::from(*all), i128::from(*used));
        if most.is_none_or(|(_, of, taken)| used * of > taken * all) {
            most = Some((at, all, used));
        }
    }
    most.and_then(|(at, ..)| i64::try_from(at).ok()).unwrap_or(-1)
}

/// The first extended resource or driver of devices of which a node has a few pieces. Drivers are after the resources.
fn slots(resources: &[Symbol], allocatable: &[i64]) -> i64 {
    let in_pieces = |at: usize| resources.get(at).is_none_or(|name| is_extended(name));
    let few = |(at, all): (usize, &i64)| in_pieces(at) && (1..=MOST_SLOTS).contains(all);
    let at = allocatable.iter().enumerate().position(few);
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

/// `key=value:Effect`, as `kubectl taint` takes it.
fn taint_text(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect.name())
}

/// The application of a pod: what a label says, else what made it, else its own name.
fn application(pod: &PodInfo) -> String {
    let labels: &Labels = &pod.labels;
    let said = APPLICATION.iter().find_map(|key| labels.get(&Symbol::new(key)));
    let owner = || pod.owners.first().map(|owner| owner.name.to_string());
    said.map(Symbol::to_string).or_else(owner).unwrap_or_else(|| pod.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_has_the_smallest_free_share() {
        assert_eq!(scarcest(&[8000, 100, 4], &[4000, 60, 2]), 1);
        assert_eq!(scarcest(&[8000, 100, 4], &[4000, 50, 2]), 0, "of equal shares the first");
        assert_eq!(scarcest(&[i64::MAX, i64::MAX], &[1, 2]), 1);
        assert_eq!(scarcest(&[0, 0], &[1, 2]), -1);
    }
}
