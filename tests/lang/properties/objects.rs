//! Macros over the objects of a kind that ask for a namespace visit the objects of that namespace alone: for random
//! objects, closures and columns still agree with the reference evaluator, which visits all.

use super::Random;
use super::evaluators::cluster;
use super::narrowing::{by_closures, by_columns, verdict};
use crate::support::policies::{compile, framework_of, snapshot};
use bayplan::model::objects::projection::Projection;
use bayplan::model::{Change, KindName, LookedUp, Symbol};
use std::sync::Arc;

/// Conditions about objects, some of which ask for a namespace by what the pod, the node or another element has.
const CONDITIONS: [&str; 12] = [
    "desks.exists(d, d.namespace == pod.namespace)",
    "desks.first(d, pod.namespace == d.namespace).name == \"a\"",
    "desks.first(d, d.namespace == pod.namespace && d.labels[\"tier\"] == \"b\").name == \"b\"",
    "desks.count(d, d.labels[\"tier\"] == \"a\" && d.namespace == \"shop\") > 1",
    "desks.filter(d, d.namespace == node.labels[\"zone\"]).map(d, d.name) == [\"a\", \"b\"]",
    "desks.exists(d, d.namespace == d.name)",
    "desks.exists(d, d.namespace == d.name && d.namespace == pod.namespace)",
    "desks.all(d, d.namespace == pod.namespace)",
    "nodes.count(n, desks.exists(d, d.namespace == n.labels[\"zone\"])) > 1",
    "pods.all(p, has_desk(p.namespace))",
    "desks.exists(d, d.namespace == node.labels[\"zone\"] || d.name == \"b\")",
    "desks.exists(d, d.namespace == pod.labels[\"none\"])",
];

#[test]
fn objects_of_a_namespace_are_found_as_the_reference_evaluator_finds_them() {
    let kind = KindName::parse("example.com/v1/Desk").unwrap();
    let (mut held, mut refused) = (0, 0);
    for seed in 0..120 {
        let mut random = Random(8_000_000 + seed);
        let (nodes, pods) = cluster(&mut random);
        let condition = random.of(&CONDITIONS);
        let text = format!(
            "policy p {{ applies to all pods let desks = objects(\"example.com/v1/Desk\")
             def has_desk(n: string) = desks.exists(d, d.namespace == n)
             filter f {{ require {condition} else \"x\" }} }}"
        );
        let set = compile(&text);
        let policy = set.iter().next().unwrap();
        let mut snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        let mut namespaces = vec!["shop", "a", "b"];
        namespaces.extend(pods.iter().map(|pod| pod.namespace.as_str()));
        let zone = Symbol::new("zone");
        let zones: Vec<Symbol> =
            snapshot.nodes().filter_map(|node| node.node().labels.get(&zone).cloned()).collect();
        namespaces.extend(zones.iter().map(Symbol::as_str));
        for _ in 0..random.below(9) {
            let desk = serde_json::json!({"metadata": {
                "name": random.of(&["a", "b", "c"]), "namespace": random.of(&namespaces),
                "labels": {"tier": random.of(&["a", "b"])},
            }});
            let desk = LookedUp::new(&kind, desk, &Projection::everything()).unwrap();
            snapshot.apply(Change::ObjectSeen { object: Arc::new(desk) });
        }
        for pod in pods.iter().filter(|pod| !["Succeeded", "Failed"].contains(&pod.phase.as_str())) {
            let verdicts = verdict(policy, &snapshot, pod);
            assert_eq!(by_closures(policy, &snapshot, pod), verdicts, "closures, seed {seed}: {condition}");
            assert_eq!(by_columns(policy, &snapshot, pod), verdicts, "columns, seed {seed}: {condition}");
            held += verdicts.iter().filter(|verdict| verdict.is_none()).count();
            refused += verdicts.iter().filter(|verdict| verdict.is_some()).count();
        }
    }
    assert!(held > 500 && refused > 500, "{held} held, {refused} refused");
}
