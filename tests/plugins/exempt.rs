//! Who is exempt from policies: nothing that the creator of a pod writes takes the pod out of one.

use crate::support::policies::{add_pod, attempt, framework, snapshot};
use bayplan::framework::Framework;
use bayplan::model::{Change, Object, Snapshot};
use bayplan::testing::{PodMaker, node, object_of, pod};
use serde_json::{Value, json};
use std::sync::Arc;

const POLICY: &str = r#"
    policy quota {
      ledger used: int by pod.namespace { add 1 }
      filter own { reject "another team's" when node.labels["team"] != pod.namespace }
      filter most { reject "more than two" when used[pod.namespace] >= 2 }
    }"#;

fn daemon_set(changed: &str, value: Value) -> Object {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "DaemonSet/agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}},
    });
    if !changed.is_empty() {
        *set.pointer_mut(changed).unwrap() = value;
    }
    object_of(set)
}

/// A pod as the DaemonSet controller makes it for a node.
fn of_daemon_set(name: &str) -> PodMaker {
    pod(name).namespace("shop").label("app", "agent").owner("DaemonSet", "agent").set(
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        by_name(&["theirs"]),
    )
}

fn by_name(names: &[&str]) -> Value {
    let term =
        |name: &&str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
    json!({"nodeSelectorTerms": names.iter().map(term).collect::<Vec<_>>()})
}

fn cluster(framework: &Framework, sets: Vec<Object>) -> Snapshot {
    let nodes =
        vec![node("theirs").label("team", "vision").build(), node("own").label("team", "shop").build()];
    let mut snapshot = snapshot(framework, nodes, vec![]);
    for set in sets {
        if let Object::Other(object) = set {
            snapshot.apply(Change::ObjectSeen { object });
        }
    }
    snapshot
}

/// Whether the policy refuses the pod on the other team's node.
fn is_refused(framework: &Arc<Framework>, snapshot: &Snapshot, pod: PodMaker) -> bool {
    let outcome = attempt(framework, snapshot, &pod.build());
    outcome.reasons.iter().any(|(node, _)| node == "theirs")
}

#[test]
fn the_pod_of_a_daemon_set_that_is_there_is_not_refused() {
    let framework = framework(POLICY);
    let there = cluster(&framework, vec![daemon_set("", Value::Null)]);
    assert!(!is_refused(&framework, &there, of_daemon_set("a")));
    assert!(is_refused(&framework, &there, pod("plain").namespace("shop")));
    let system = pod("system").namespace("kube-system");
    assert!(!is_refused(&framework, &there, system), "its namespace is exempt");
}

/// Forges, alone and together, every field of a pod that `why_exempt` reads, beside a DaemonSet that is there.
#[test]
fn no_field_of_a_pod_takes_it_out_of_a_policy() {
    let framework = framework(POLICY);
    let required = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let labelled = json!({"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["theirs"]}]}]});
    let not_in = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "NotIn", "values": ["own"]}]}]});
    let owner = |field: &str, value: Value| {
        let path = format!("metadata.ownerReferences.0.{field}");
        move |pod: PodMaker| pod.set(&path, value.clone())
    };
    // Each takes one of the marks of a DaemonSet's pod away.
    type Change = Box<dyn Fn(PodMaker) -> PodMaker>;
    let wrong: Vec<(&str, Change)> = vec![
        ("group", Box::new(owner("apiVersion", json!("evil.example/v1")))),
        ("version", Box::new(owner("apiVersion", json!("apps/v2")))),
        ("kind", Box::new(owner("kind", json!("ReplicaSet")))),
        ("name", Box::new(owner("name", json!("other")))),
        ("uid", Box::new(owner("uid", json!("made-up")))),
        ("no uid", Box::new(owner("uid", json!("")))),
        ("not the controller", Box::new(owner("controller", json!(false)))),
        ("labels", Box::new(|pod: PodMaker| pod.label("app", "train"))),
        ("no affinity", Box::new(move |pod: PodMaker| pod.set(required, Value::Null))),
        ("two nodes", Box::new(move |pod: PodMaker| pod.set(required, by_name(&["theirs", "own"])))),
        ("no term", Box::new(move |pod: PodMaker| pod.set(required, json!({"nodeSelectorTerms": []})))),
        ("by label", Box::new(move |pod: PodMaker| pod.set(required, labelled.clone()))),
        ("by another name", Box::new(move |pod: PodMaker| pod.set(required, not_in.clone()))),
        ("namespace", Box::new(|pod: PodMaker| pod.namespace("other"))),
    ];
    let elsewhere: Vec<Object> = vec![daemon_set("/metadata/namespace", json!("vision"))];
    let there = cluster(&framework, vec![daemon_set("", Value::Null)]);
    // What proves nothing, whatever its value.
    let marks: [fn(PodMaker) -> PodMaker; 3] = [
        |pod| pod,
        |pod| {
            pod.set("spec.priority", json!(2_000_001_000))
                .set("spec.priorityClassName", json!("system-node-critical"))
        },
        |pod| {
            let pod = pod.annotation("scheduler.alpha.kubernetes.io/critical-pod", "");
            pod.label("k8s-app", "kube-proxy")
                .set("spec.priority", json!(i32::MAX))
                .set("spec.hostNetwork", json!(true))
        },
    ];
    for mark in marks {
        assert!(is_refused(&framework, &there, mark(pod("plain").namespace("shop"))));
        for sets in [vec![], elsewhere.clone()] {
            let absent = cluster(&framework, sets);
            assert!(is_refused(&framework, &absent, mark(of_daemon_set("a"))), "the DaemonSet is not there");
        }
        for (what, forge) in &wrong {
            assert!(is_refused(&framework, &there, mark(forge(of_daemon_set("a")))), "{what}");
        }
    }
    // A set that takes no pod, and one that was made again.
    for (path, value) in [
        ("/spec/selector", json!({"matchLabels": {"app": "other"}})),
        ("/spec/selector", Value::Null),
        ("/metadata/uid", json!("again")),
    ] {
        let other = cluster(&framework, vec![daemon_set(path, value)]);
        assert!(is_refused(&framework, &other, of_daemon_set("a")), "{path}");
    }
}

#[test]
fn ledgers_count_pods_that_policies_leave_alone() {
    let framework = framework(POLICY);
    let mut there = cluster(&framework, vec![daemon_set("", Value::Null)]);
    let own = |name: &str| pod(name).namespace("shop");
    assert_eq!(attempt(&framework, &there, &own("a").build()).scores.len(), 1);
    for name in ["x", "y"] {
        add_pod(&mut there, of_daemon_set(name).on("theirs").build());
    }
    let refused = attempt(&framework, &there, &own("a").build()).reasons;
    assert!(refused.contains(&("own".into(), "more than two".into())), "{refused:?}");
}
