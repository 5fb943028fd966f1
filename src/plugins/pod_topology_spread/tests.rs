//! The cases of upstream's documentation, and those that surprise.

use super::super::trial::{Trial, map};
use bayplan_framework::{Edit, Simulation};
use bayplan_model::testing::{PodMaker, node, pod};
use bayplan_model::{KindRow, Object, PodInfo, Symbol};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const NAME: &str = "PodTopologySpread";
const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const FULL: &str = "Unschedulable: node(s) didn't match pod topology spread constraints";
const MISSING: &str = "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints \
                       (missing required label)";

/// Nodes `a1`, `a2` in zone `a`, `b1` in zone `b`, and so on; a name of one letter has no zone.
fn nodes(names: &[&str]) -> Vec<Object> {
    let zoned = |name: &&str| match name.split_at(1) {
        (_, "") => node(name).object(),
        (zone, _) => node(name).zone(zone).object(),
    };
    names.iter().map(zoned).collect()
}

/// A running pod of the application `web` on a node.
fn web(name: &str, on: &str) -> PodMaker {
    pod(name).label("app", "web").on(on)
}

/// A cluster of some nodes with one running pod of `web` for each name of `placed`.
fn trial(names: &[&str], placed: &[&str]) -> Trial {
    let pods = placed.iter().enumerate().map(|(at, on)| web(&format!("web-{at}"), on).object());
    Trial::of(NAME, nodes(names).into_iter().chain(pods).collect())
}

fn constraint(key: &str, when: &str, more: Value) -> Value {
    let mut made = json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}}});
    for (field, value) in more.as_object().unwrap() {
        made[field] = value.clone();
    }
    made
}

/// A pod of `web` with some constraints.
fn spread(constraints: &[Value]) -> PodMaker {
    pod("new").label("app", "web").set("spec.topologySpreadConstraints", json!(constraints))
}

fn hard(key: &str, more: Value) -> Value {
    constraint(key, "DoNotSchedule", more)
}

fn soft(key: &str, more: Value) -> Value {
    constraint(key, "ScheduleAnyway", more)
}

fn refused(trial: &Trial, constraints: &[Value]) -> BTreeMap<String, String> {
    trial.refused(&spread(constraints).build())
}

fn other(value: Value) -> Object {
    let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
    (row.unwrap().from_value)(Arc::new(value)).unwrap()
}

#[test]
fn a_domain_may_have_a_few_pods_more_than_the_emptiest() {
    let trial = trial(&["a1", "a2", "b1", "c1", "x"], &["a1", "a2", "b1"]);
    let none = || hard(ZONE, json!({}));
    let full = [("a1", FULL), ("a2", FULL), ("b1", FULL), ("x", MISSING)];
    assert_eq!(refused(&trial, &[none()]), map(full));
    assert_eq!(
        refused(&trial, &[hard(ZONE, json!({"maxSkew": 2}))]),
        map([("a1", FULL), ("a2", FULL), ("x", MISSING)])
    );
    assert_eq!(refused(&trial, &[hard(ZONE, json!({"maxSkew": i32::MAX}))]), map([("x", MISSING)]));
    // A pod that its own selector leaves out makes no domain fuller.
    let db = spread(&[hard(ZONE, json!({}))]).label("app", "db").build();
    assert_eq!(trial.refused(&db), map([("a1", FULL), ("a2", FULL), ("x", MISSING)]));
    assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
}

#[test]
fn the_first_constraint_that_is_broken_says_why() {
    let trial = trial(&["a1", "b1", "x"], &["x"]);
    let (zone, host) = (hard(ZONE, json!({})), hard(HOSTNAME, json!({})));
    // The pod on x counts for no constraint, since x lacks a key of one.
    assert_eq!(refused(&trial, &[host.clone(), zone.clone()]), map([("x", MISSING)]));
    let trial = self::trial(&["a1", "a2", "b1"], &["a1"]);
    assert_eq!(refused(&trial, &[zone, host]), map([("a1", FULL), ("a2", FULL)]));
}

#[test]
fn with_fewer_domains_than_wanted_the_minimum_is_0() {
    let trial = trial(&["a1", "b1"], &["a1", "b1"]);
    assert_eq!(refused(&trial, &[hard(ZONE, json!({}))]), map::<&str, _>([]));
    assert_eq!(refused(&trial, &[hard(ZONE, json!({"minDomains": 2}))]), map::<&str, _>([]));
    let three = hard(ZONE, json!({"minDomains": 3}));
    assert_eq!(refused(&trial, &[three]), map([("a1", FULL), ("b1", FULL)]));
}

#[test]
fn policies_say_which_nodes_make_a_domain() {
    let mut objects = nodes(&["a1"]);
    objects.push(node("b1").zone("b").taint("dedicated", "", "NoSchedule").object());
    objects.push(node("c1").zone("c").label("disk", "ssd").object());
    objects.push(web("one", "a1").object());
    objects.push(web("two", "c1").object());
    let trial = Trial::of(NAME, objects);
    // Zone b has a node without matching pods, unless taints are honoured.
    assert_eq!(refused(&trial, &[hard(ZONE, json!({}))]), map([("a1", FULL), ("c1", FULL)]));
    let taints = json!({"nodeTaintsPolicy": "Honor"});
    assert_eq!(refused(&trial, &[hard(ZONE, taints.clone())]), map::<&str, _>([]));
    let tolerant = spread(&[hard(ZONE, taints)]).toleration("dedicated", "Exists", "", "").build();
    assert_eq!(trial.refused(&tolerant), map([("a1", FULL), ("c1", FULL)]));
    // The node selector admits c1 alone: the only domain, and the others count 0.
    let selects = |more| spread(&[hard(ZONE, more)]).node_selector("disk", "ssd").build();
    assert_eq!(trial.refused(&selects(json!({}))), map::<&str, _>([]));
    let ignored = selects(json!({"nodeAffinityPolicy": "Ignore"}));
    assert_eq!(trial.refused(&ignored), map([("a1", FULL), ("c1", FULL)]));
}

#[test]
fn selectors_that_match_nothing_everything_or_cannot_be_parsed() {
    let trial = trial(&["a1", "b1"], &["a1", "a1", "a1"]);
    for selector in [Value::Null, json!({}), json!({"matchLabels": {"app": "db"}})] {
        let constraint = hard(ZONE, json!({"labelSelector": selector}));
        assert_eq!(refused(&trial, &[constraint]), map::<&str, _>([]), "{selector}");
    }
    // An empty selector counts no placed pod, but the pod itself.
    let empty = hard(ZONE, json!({"labelSelector": {}, "maxSkew": 0}));
    assert_eq!(refused(&trial, &[empty]), map([("a1", FULL), ("b1", FULL)]));
    let invalid = json!({"matchExpressions": [{"key": "app", "operator": "Near"}]});
    let invalid = hard(ZONE, json!({"labelSelector": invalid}));
    let text = "Error: running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard \
                topology spread constraints: \"Near\" is not a valid label selector operator";
    assert_eq!(refused(&trial, &[invalid]), map([("*", text)]));
}

#[test]
fn values_of_the_pods_own_labels_join_the_selector() {
    let mut objects = nodes(&["a1", "b1"]);
    objects.push(web("old", "a1").label("version", "1").object());
    objects.push(web("new", "b1").label("version", "2").object());
    let trial = Trial::of(NAME, objects);
    let constraint = hard(ZONE, json!({"matchLabelKeys": ["version", "absent"]}));
    let of = |version: &str| {
        trial.refused(&spread(std::slice::from_ref(&constraint)).label("version", version).build())
    };
    assert_eq!(of("1"), map([("a1", FULL)]));
    assert_eq!(of("2"), map([("b1", FULL)]));
    assert_eq!(of("3"), map::<&str, _>([]));
}

#[test]
fn terminating_pods_and_pods_of_other_namespaces_do_not_count() {
    let mut objects = nodes(&["a1", "b1"]);
    objects.push(web("going", "a1").terminating().object());
    objects.push(web("foreign", "a1").namespace("other").object());
    let trial = Trial::of(NAME, objects);
    assert_eq!(refused(&trial, &[hard(ZONE, json!({}))]), map::<&str, _>([]));
}

/// The verdict on a node after some pods were removed from it and others added.
fn after(trial: &Trial, pod: &Arc<PodInfo>, on: &str, removed: &[PodMaker], added: &[PodMaker]) -> bool {
    trial.simulated(pod, on, |simulation: &mut Simulation| {
        removed.iter().for_each(|pod| simulation.remove_pod(&pod.clone().build()).unwrap());
        added.iter().for_each(|pod| simulation.add_pod(&pod.clone().build()).unwrap());
        simulation.passes().is_ok()
    })
}

#[test]
fn a_simulation_counts_a_terminating_pod_that_it_removes() {
    // Zone a has one pod that counts and one that terminates; zone b has none.
    let mut objects = nodes(&["a1", "b1"]);
    let (v1, v2) = (web("v1", "a1"), web("v2", "a1").terminating());
    objects.extend([v1.clone().object(), v2.clone().object()]);
    let trial = Trial::of(NAME, objects);
    let new = spread(&[hard(ZONE, json!({}))]).build();
    assert_eq!(trial.refused(&new), map([("a1", FULL)]));
    let both = [v1.clone(), v2.clone()];
    // Both gone: -1. The first back: 0. Both back: 1.
    assert!(after(&trial, &new, "a1", &both, &[]));
    assert!(after(&trial, &new, "a1", &both, std::slice::from_ref(&v1)));
    assert!(!after(&trial, &new, "a1", &both, &both));
    // Without the terminating pod alone the count is 0 as well.
    assert!(after(&trial, &new, "a1", &[v2], &[]));
    // Pods that come to the emptiest domain move the minimum.
    assert!(!after(&trial, &new, "b1", &[], &[web("x", "b1"), web("y", "b1")]));
}

#[test]
fn fewer_pods_in_the_domain_score_higher() {
    let trial = trial(&["a1", "a2", "b1"], &["a1", "a1", "a2", "b1"]);
    let score = |constraints: &[Value]| trial.scores(&spread(constraints).build());
    // ln 4 is 1.39: 3 pods give 4, 1 pod gives 1.
    let by_zone = map([("a1", 25), ("a2", 25), ("b1", 100)]);
    assert_eq!(score(&[soft(ZONE, json!({}))]), by_zone);
    // By host: ln 5 is 1.61; 2 pods give 3, 1 pod gives 2.
    assert_eq!(score(&[soft(HOSTNAME, json!({}))]), map([("a1", 66), ("a2", 100), ("b1", 100)]));
    // A hard constraint scores nothing, and no pod counted means the best score for all.
    assert_eq!(score(&[hard(ZONE, json!({}))]), map::<i64, i64>([]));
    let all = map([("a1", 100), ("a2", 100), ("b1", 100)]);
    assert_eq!(score(&[soft(ZONE, json!({"labelSelector": null}))]), all);
    assert_eq!(score(&[soft(ZONE, json!({"labelSelector": {}}))]), all);
}

#[test]
fn nodes_without_a_key_get_nothing_unless_the_constraints_are_kubernetes_own() {
    let mut objects = nodes(&["a1", "b1", "x"]);
    objects.push(web("one", "a1").object());
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}}});
    objects.push(other(service));
    let trial = Trial::of(NAME, objects);
    let own = spread(&[soft(ZONE, json!({}))]).build();
    assert_eq!(trial.scores(&own), map([("a1", 0), ("b1", 100), ("x", 0)]));
    // Three hosts and three zones, the missing one among them. a1: ln 5 + 2 + ln 5 + 4 is 9; b1: 6; x: 2.
    let default = pod("new").label("app", "web").build();
    assert_eq!(trial.scores(&default), map([("a1", 22), ("b1", 55), ("x", 100)]));
    assert_eq!(trial.refused(&default), map::<&str, _>([]));
    assert_eq!(trial.scores(&pod("other").label("app", "db").build()), map::<i64, i64>([]));
    // An own constraint of either kind switches the defaults off.
    assert_eq!(trial.scores(&spread(&[hard(ZONE, json!({}))]).build()), map::<i64, i64>([]));
}

#[test]
fn controllers_select_the_pods_that_default_constraints_count() {
    let selector = json!({"matchLabels": {"app": "web"}});
    let metadata = json!({"name": "of", "namespace": "default"});
    let owners = [
        ("v1", "ReplicationController", json!({"app": "web"})),
        ("apps/v1", "ReplicaSet", selector.clone()),
        ("apps/v1", "StatefulSet", selector),
    ];
    for (version, kind, selector) in owners {
        let owner = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}});
        let mut objects = nodes(&["a1", "b1"]);
        objects.extend([web("one", "a1").object(), other(owner)]);
        let trial = Trial::of(NAME, objects);
        let owned = |name: &str, controller: bool| {
            let reference = json!({"apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": controller});
            // The controller is found by name: the pod need not match.
            pod("new").set("metadata.ownerReferences", json!([reference])).build()
        };
        assert_eq!(trial.scores(&owned("of", true)), map([("a1", 66), ("b1", 100)]), "{kind}");
        assert_eq!(trial.scores(&owned("of", false)), map::<i64, i64>([]), "{kind}");
        assert_eq!(trial.scores(&owned("gone", true)), map::<i64, i64>([]), "{kind}");
    }
}

#[test]
fn a_refusal_is_explained_with_domain_count_and_skew() {
    let trial = trial(&["a1", "a2", "b1", "x"], &["a1", "a2"]);
    let new = spread(&[hard(ZONE, json!({})), hard(HOSTNAME, json!({"minDomains": 5}))]).build();
    let said = |node: &str| -> Vec<String> {
        let violations = trial.violations(&new, node);
        violations.iter().map(|of| format!("{}: {}; {}", of.what, of.need, of.have)).collect()
    };
    let [zone, host] = said("a1").try_into().unwrap();
    assert_eq!(
        zone,
        "spread over topology.kubernetes.io/zone: a skew of at most 1; skew 3 in a: 2 pods there, 0 in b"
    );
    assert_eq!(
        host,
        "spread over kubernetes.io/hostname: a skew of at most 1; skew 2 in a1: 1 pod there, 3 domains of 5 (minDomains)"
    );
    assert_eq!(said("x"), ["label topology.kubernetes.io/zone: any value; absent"]);
    assert!(said("b1").is_empty());
    let key = Symbol::new(ZONE);
    let edits = trial.remedies(&new, "a2");
    assert!(edits.contains(&Edit::MaxSkew { topology_key: key.clone(), from: 1, to: 3 }), "{edits:?}");
    assert!(edits.contains(&Edit::SpreadAnyway { topology_key: key }) && edits.contains(&Edit::PodsEnd));
}
