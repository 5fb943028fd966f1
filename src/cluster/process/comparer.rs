//! Compares the cache with the objects of the API server: missing, redundant and different ones.
//! Pure; `debugger` provides both sides. kube-scheduler's comparer compares names only; this one
//! also compares what decisions read: labels, taints, allocatable resources, the nodes of pods, and
//! sums.
//!
//! Source: `pkg/scheduler/backend/cache/debugger/comparer.go`.

use bayplan_model::{Node, NodeId, Placement, PodInfo, PodKey, Resource, Snapshot, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Differences between cache and API server: the kind of difference, and the object.
pub(crate) type Mismatches = BTreeSet<(&'static str, String)>;

/// The API server has a node that the cache lacks.
pub(crate) const MISSED_NODES: &str = "missedNodes";
/// The cache has a node that the API server lacks.
pub(crate) const REDUNDANT_NODES: &str = "redundantNodes";
/// A node differs.
pub(crate) const CHANGED_NODES: &str = "changedNodes";
/// The sum of the requests on a node differs.
pub(crate) const WRONG_SUMS: &str = "wrongSums";
/// The API server has a pod that the cache lacks.
pub(crate) const MISSED_PODS: &str = "missedPods";
/// The cache has a pod that the API server lacks.
pub(crate) const REDUNDANT_PODS: &str = "redundantPods";
/// A pod differs, or is on another node.
pub(crate) const CHANGED_PODS: &str = "changedPods";

/// Compares the cache with the objects of the API server.
pub(crate) fn compare(cache: &Snapshot, nodes: &[Arc<Node>], pods: &[Arc<PodInfo>]) -> Mismatches {
    let mut found = Mismatches::new();
    let listed: FxHashMap<&Symbol, &Arc<Node>> = nodes.iter().map(|node| (&node.name, node)).collect();
    for node in nodes {
        match cache.node_by_name(&node.name).and_then(|id| cache.node(id)) {
            None => drop(found.insert((MISSED_NODES, node.name.to_string()))),
            Some(known) => {
                if let Some(what) = node_difference(known.node(), node) {
                    found.insert((CHANGED_NODES, format!("{}: {what}", node.name)));
                }
            }
        }
    }
    for node in cache.nodes().filter(|node| !listed.contains_key(node.name())) {
        found.insert((REDUNDANT_NODES, node.name().to_string()));
    }
    let listed: FxHashMap<&PodKey, &Arc<PodInfo>> = pods.iter().map(|pod| (&pod.key, pod)).collect();
    let mut sums: FxHashMap<NodeId, Resource> = FxHashMap::default();
    for pod in pods {
        match cache.pod(&pod.key) {
            None => drop(found.insert((MISSED_PODS, pod.full_name()))),
            Some(known) => {
                let bound = known.placed.filter(|(_, how)| *how == Placement::Bound);
                let at = bound.and_then(|(id, _)| cache.node(id)).map(|node| node.name());
                if let Some(what) = pod_difference(&known.pod, at, pod) {
                    found.insert((CHANGED_PODS, format!("{}: {what}", pod.full_name())));
                }
            }
        }
        if let Some(id) = pod.node_name.as_ref().and_then(|name| cache.row_by_name(name)) {
            sums.entry(id).or_default().add(&pod.requests);
        }
    }
    for known in cache.pods() {
        if !listed.contains_key(&known.pod.key) {
            found.insert((REDUNDANT_PODS, known.pod.full_name()));
        }
        // An assumed pod takes resources before the API server has its binding.
        if let Some((id, Placement::Assumed)) = known.placed
            && listed.get(&known.pod.key).is_none_or(|pod| pod.node_name.is_none())
        {
            sums.entry(id).or_default().add(&known.pod.requests);
        }
    }
    for node in cache.nodes() {
        let there = sums.remove(&node.id()).unwrap_or_default();
        if !same_amounts(node.requested(), &there) {
            let here = node.requested();
            let text = format!(
                "{}: {}m CPU and {} bytes in the cache, {}m and {} by the API server",
                node.name(),
                here.milli_cpu,
                here.memory,
                there.milli_cpu,
                there.memory
            );
            found.insert((WRONG_SUMS, text));
        }
    }
    found
}

/// The first differing field of a node, of those that decisions read.
fn node_difference(known: &Node, listed: &Node) -> Option<&'static str> {
    let same = [
        ("uid", known.uid == listed.uid),
        ("labels", known.labels == listed.labels),
        ("taints", known.taints == listed.taints),
        ("unschedulable", known.unschedulable == listed.unschedulable),
        ("allocatable", known.allocatable == listed.allocatable),
        ("images", known.images == listed.images),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// The first differing field of a pod that the cache has on the node `at`.
fn pod_difference(known: &PodInfo, at: Option<&Symbol>, listed: &PodInfo) -> Option<&'static str> {
    let same = [
        ("node", at == listed.node_name.as_ref()),
        ("labels", known.labels == listed.labels),
        ("requests", known.requests == listed.requests),
        ("terminating", known.is_terminating() == listed.is_terminating()),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// Whether all amounts are equal. A resource with amount 0 counts as absent.
fn same_amounts(a: &Resource, b: &Resource) -> bool {
    let scalars = |of: &Resource| {
        of.scalars.iter().filter(|(_, amount)| *amount != 0).cloned().collect::<Vec<(Symbol, i64)>>()
    };
    let plain = |of: &Resource| (of.milli_cpu, of.memory, of.ephemeral_storage);
    plain(a) == plain(b) && scalars(a) == scalars(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Change;
    use bayplan_model::objects::{node, pod};
    use serde_json::json;

    fn a_node(name: &str, zone: &str) -> Arc<Node> {
        let object = json!({
            "metadata": {"name": name, "uid": name, "labels": {"zone": zone}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        });
        let object: node::Node = serde_json::from_value(object).unwrap();
        Arc::new(Node::from_object(&object).unwrap())
    }

    fn a_pod(name: &str, node: Option<&str>) -> Arc<PodInfo> {
        let object = json!({
            "metadata": {"name": name, "namespace": "n", "uid": name},
            "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        });
        let object: pod::Pod = serde_json::from_value(object).unwrap();
        Arc::new(PodInfo::from_object(&object).unwrap())
    }

    fn cache(nodes: &[Arc<Node>], pods: &[Arc<PodInfo>], how: Placement) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for node in nodes {
            snapshot.apply(Change::NodeUpserted { node: node.clone() });
        }
        for pod in pods {
            let change = match &pod.node_name {
                Some(name) => {
                    let node = snapshot.row_or_placeholder(name);
                    Change::PodPlaced { pod: pod.clone(), node, how }
                }
                None => Change::PodPending { pod: pod.clone() },
            };
            snapshot.apply(change);
        }
        snapshot
    }

    fn kinds(found: &Mismatches) -> Vec<String> {
        found.iter().map(|(kind, name)| format!("{kind} {name}")).collect()
    }

    #[test]
    fn only_differences_are_reported_and_all_of_them() {
        let nodes = [a_node("a", "1"), a_node("b", "1")];
        let pods = [a_pod("p", Some("a")), a_pod("q", None), a_pod("r", Some("b"))];
        assert!(compare(&cache(&nodes, &pods, Placement::Bound), &nodes, &pods).is_empty());

        let other = [a_node("a", "2"), a_node("c", "1")];
        let there = [a_pod("p", Some("a")), a_pod("r", Some("a")), a_pod("s", None)];
        let found = compare(&cache(&nodes, &pods, Placement::Bound), &other, &there);
        assert_eq!(
            kinds(&found),
            [
                "changedNodes a: labels",
                "changedPods n/r: node",
                "missedNodes c",
                "missedPods n/s",
                "redundantNodes b",
                "redundantPods n/q",
                "wrongSums a: 1000m CPU and 0 bytes in the cache, 2000m and 0 by the API server",
                "wrongSums b: 1000m CPU and 0 bytes in the cache, 0m and 0 by the API server",
            ]
        );
    }

    #[test]
    fn an_assumed_pod_takes_resources_before_the_api_server_has_its_binding() {
        let nodes = [a_node("a", "1")];
        let assumed = cache(&nodes, &[a_pod("p", Some("a"))], Placement::Assumed);
        assert!(compare(&assumed, &nodes, &[a_pod("p", None)]).is_empty());
        // Bound, but the watch has not reported it: a single comparison sees a difference.
        let found = compare(&assumed, &nodes, &[a_pod("p", Some("a"))]);
        assert_eq!(kinds(&found), ["changedPods n/p: node"]);
    }
}
