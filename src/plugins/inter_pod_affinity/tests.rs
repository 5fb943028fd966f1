//! Worked cases of the reference and the first-pod rule.

use crate::trial::{Trial, map};
use bayplan_model::KubernetesVersion;
use bayplan_model::Object;
use bayplan_model::testing::{PodMaker, namespace, node, pod};
use serde_json::{Value, json};

const AFFINITY: &str = "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules";
const ANTI: &str = "Unschedulable: node(s) didn't match pod anti-affinity rules";
const EXISTING: &str = "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";
const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

fn app(name: &str) -> Value {
    json!({"matchLabels": {"app": name}})
}

fn required(made: PodMaker, kind: &str, terms: Value) -> PodMaker {
    made.set(&format!("spec.affinity.{kind}.requiredDuringSchedulingIgnoredDuringExecution"), terms)
}

fn preferred(made: PodMaker, kind: &str, weight: i64, term: Value) -> PodMaker {
    let terms = json!([{"weight": weight, "podAffinityTerm": term}]);
    made.set(&format!("spec.affinity.{kind}.preferredDuringSchedulingIgnoredDuringExecution"), terms)
}

fn trial(pods: Vec<Object>) -> Trial {
    trial_of(KubernetesVersion::default(), pods)
}

fn trial_of(version: KubernetesVersion, pods: Vec<Object>) -> Trial {
    let mut objects = vec![
        node("a1").zone("a").object(),
        node("a2").zone("a").object(),
        node("b1").zone("b").object(),
        node("none").object(),
    ];
    objects.extend(pods);
    Trial::in_version(version, "InterPodAffinity", objects)
}

#[test]
fn a_pod_needs_a_pod_in_the_domain_that_matches_all_its_terms() {
    let web = || pod("web").label("app", "web").label("tier", "front");
    let trial = trial(vec![web().on("a1").object(), pod("other").label("app", "web").on("b1").object()]);
    let near = |terms: Value| trial.refused(&required(pod("p"), "podAffinity", terms).build());
    let zone = json!({"topologyKey": ZONE, "labelSelector": app("web")});
    assert_eq!(near(json!([zone])), map([("none", AFFINITY)]));
    // One pod must match all terms, in every domain.
    let front = json!({"topologyKey": HOST, "labelSelector": {"matchLabels": {"tier": "front"}}});
    let refused = map([("a2", AFFINITY), ("b1", AFFINITY), ("none", AFFINITY)]);
    assert_eq!(near(json!([zone, front])), refused);
    // A term without a selector is about no pod, an empty selector about every pod.
    let all = map([("a1", AFFINITY), ("a2", AFFINITY), ("b1", AFFINITY), ("none", AFFINITY)]);
    assert_eq!(near(json!([{"topologyKey": HOST}])), all);
    let empty = json!([{"topologyKey": HOST, "labelSelector": {}}]);
    assert_eq!(near(empty), map([("a2", AFFINITY), ("none", AFFINITY)]));
}

#[test]
fn the_first_pod_of_a_group_may_go_where_it_has_the_topology_keys() {
    let zone = json!([{"topologyKey": ZONE, "labelSelector": app("web")}]);
    let first = required(pod("p").label("app", "web"), "podAffinity", zone.clone()).build();
    assert_eq!(trial(Vec::new()).refused(&first), map([("none", AFFINITY)]));
    // A pod on a node without the key counts in no domain, so the group has no first pod yet.
    let apart = pod("web").label("app", "web").on("none").object();
    assert_eq!(trial(vec![apart]).refused(&first), map([("none", AFFINITY)]));
    let there = pod("web").label("app", "web").on("b1").object();
    let refused = map([("a1", AFFINITY), ("a2", AFFINITY), ("none", AFFINITY)]);
    assert_eq!(trial(vec![there]).refused(&first), refused);
    // A pod that does not match its own terms is never the first.
    let other = required(pod("p"), "podAffinity", zone).build();
    assert_eq!(trial(Vec::new()).refused(&other).len(), 4);
}

#[test]
fn anti_affinity_keeps_pods_apart_in_both_directions() {
    let zone = json!([{"topologyKey": ZONE, "labelSelector": app("web")}]);
    let guard = required(pod("guard"), "podAntiAffinity", zone.clone()).on("b1").object();
    let trial = trial(vec![guard, pod("web").label("app", "web").on("a2").terminating().object()]);
    let web = pod("p").label("app", "web").build();
    assert_eq!(trial.refused(&web), map([("b1", EXISTING)]));
    assert_eq!(trial.refused(&pod("p").label("app", "db").build()), map::<&str, _>([]));
    // Terminating pods count. The pod's own terms come before those of running pods.
    let own = required(pod("p").label("app", "web"), "podAntiAffinity", zone.clone()).build();
    assert_eq!(trial.refused(&own), map([("a1", ANTI), ("a2", ANTI), ("b1", EXISTING)]));
    let near = json!([{"topologyKey": HOST, "labelSelector": app("none")}]);
    let both = required(required(pod("p"), "podAntiAffinity", zone), "podAffinity", near).build();
    assert_eq!(trial.refused(&both).get("a1").map(String::as_str), Some(AFFINITY));
}

#[test]
fn in_1_36_a_namespace_selector_of_the_pod_is_evaluated_on_no_labels_as_well() {
    for (version, not_x) in KubernetesVersion::ALL.into_iter().zip([1, 0]) {
        takes_namespaces(version, not_x);
    }
}

/// `not_x`: how many nodes a term keeps away that leaves the namespace of the pod there out.
fn takes_namespaces(version: KubernetesVersion, not_x: usize) {
    let team = |name: &str| namespace(name).label("team", name).object();
    let in_x = pod("there").namespace("x").label("app", "web").on("a1").object();
    let trial = trial_of(version, vec![team("x"), team("y"), in_x]);
    let apart = |selector: Value| {
        let term = json!([{"topologyKey": HOST, "labelSelector": app("web"), "namespaceSelector": selector}]);
        trial.refused(&required(pod("p"), "podAntiAffinity", term).build()).len()
    };
    assert_eq!(apart(json!({})), 1);
    assert_eq!(apart(json!({"matchLabels": {"team": "x"}})), 1);
    assert_eq!(apart(json!({"matchLabels": {"team": "y"}})), 0);
    let not_in =
        |team: &str| json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": [team]}]});
    assert_eq!((apart(not_in("y")), apart(not_in("x"))), (1, not_x), "{version}");
    // The terms of running pods are evaluated on the labels of the pod's namespace.
    let term = json!([{"topologyKey": HOST, "labelSelector": app("web"), "namespaceSelector": not_in("x")}]);
    let guard = required(pod("guard"), "podAntiAffinity", term).on("a1").object();
    let trial = self::trial(vec![team("x"), team("y"), guard]);
    let web =
        |namespace: &str| trial.refused(&pod("p").namespace(namespace).label("app", "web").build()).len();
    assert_eq!((web("x"), web("y"), web("unknown")), (0, 1, 1));
}

#[test]
fn a_namespace_selector_of_the_pod_takes_no_namespace_without_an_object() {
    let web = || pod("there").namespace("unknown").label("app", "web").on("a1").object();
    for (version, older) in KubernetesVersion::ALL.into_iter().zip([true, false]) {
        let trial = trial_of(version, vec![namespace("x").label("team", "x").object(), web()]);
        let term = |selector: &Value| json!({"topologyKey": HOST, "labelSelector": app("web"), "namespaceSelector": selector});
        let apart = |term: Value| {
            let refused = trial.refused(&required(pod("p"), "podAntiAffinity", json!([term])).build());
            assert!(refused.keys().all(|name| name == "a1"));
            !refused.is_empty()
        };
        let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "team", "operator": operator, "values": values}]});
        let (not_in, in_x) = (expression("NotIn", json!(["x"])), expression("In", json!(["x"])));
        let absent = expression("DoesNotExist", json!([]));
        // 1.36 asks such a selector about no labels, which it matches.
        assert_eq!((apart(term(&not_in)), apart(term(&absent))), (older, older), "{version}");
        assert!(!apart(term(&in_x)) && !apart(term(&expression("Exists", json!([])))), "{version}");
        // The empty selector takes all namespaces, and one that is named counts without an object.
        let mut named = term(&in_x);
        named["namespaces"] = json!(["unknown"]);
        assert!(apart(term(&json!({}))) && apart(named), "{version}");
        let prefers = preferred(pod("p"), "podAffinity", 10, term(&not_in)).build();
        assert_eq!(trial.scores(&prefers).get("a1"), older.then_some(&100), "{version}");
        // A pod may be the first of its group if its own term takes its namespace.
        let zone = json!([{"topologyKey": ZONE, "labelSelector": app("db"), "namespaceSelector": not_in}]);
        let first = pod("p").namespace("unknown").label("app", "db");
        let refused = trial.refused(&required(first, "podAffinity", zone).build());
        assert_eq!(refused.len(), if older { 1 } else { 4 }, "{version}: {refused:?}");
    }
}

#[test]
fn listed_namespaces_and_selected_ones_both_count() {
    let web = |namespace: &str, on: &str| pod("w").namespace(namespace).label("app", "web").on(on).object();
    let team = |name: &str| namespace(name).label("team", name).object();
    let trial = trial(vec![team("x"), team("y"), web("x", "a1"), web("y", "a2"), web("default", "b1")]);
    let refused = |more: Value| {
        let mut term = json!({"topologyKey": HOST, "labelSelector": app("web")});
        more.as_object().unwrap().iter().for_each(|(key, value)| term[key] = value.clone());
        let names = trial.refused(&required(pod("p"), "podAntiAffinity", json!([term])).build());
        names.into_keys().collect::<Vec<_>>().join(" ")
    };
    let x = json!({"matchLabels": {"team": "x"}});
    assert_eq!(refused(json!({})), "b1");
    assert_eq!(refused(json!({"namespaces": ["y"]})), "a2");
    assert_eq!(refused(json!({"namespaceSelector": x})), "a1");
    assert_eq!(refused(json!({"namespaces": ["y"], "namespaceSelector": x})), "a1 a2");
}

#[test]
fn a_selector_that_cannot_be_parsed_refuses_the_pod() {
    let term = json!([{"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}}]);
    let text = "\"Odd\" is not a valid label selector operator";
    let one = required(pod("p"), "podAntiAffinity", term.clone());
    let expected = format!("UnschedulableAndUnresolvable: parsing pod: requiredAntiAffinityTerms: {text}");
    assert_eq!(trial(Vec::new()).refused(&one.clone().build()), map([("*", expected)]));
    let two = required(one, "podAffinity", term).build();
    let expected = format!(
        "UnschedulableAndUnresolvable: parsing pod: [requiredAffinityTerms: {text}, requiredAntiAffinityTerms: {text}]"
    );
    assert_eq!(trial(Vec::new()).refused(&two), map([("*", expected)]));
}

#[test]
fn preferred_terms_of_both_sides_and_required_ones_of_running_pods_score() {
    let zone = |name: &str| json!({"topologyKey": ZONE, "labelSelector": app(name)});
    let web = pod("web").label("app", "web").on("a1").object();
    let near = preferred(pod("near").label("app", "db"), "podAffinity", 20, zone("new")).on("b1").object();
    let trial = trial(vec![web, near]);
    let new = || pod("p").label("app", "new");
    // 29 for zone a, 20 for zone b, 0 without a zone.
    let p = preferred(new(), "podAffinity", 29, zone("web")).build();
    assert_eq!(trial.scores(&p), map([("a1", 100), ("a2", 100), ("b1", 68), ("none", 0)]));
    let p = preferred(new(), "podAntiAffinity", 30, zone("web")).build();
    assert_eq!(trial.scores(&p), map([("a1", 0), ("a2", 0), ("b1", 100), ("none", 60)]));
    // Nothing is about the pod: no scores at all.
    assert_eq!(trial.scores(&pod("p").build()), map::<i64, _>([]));
    // Weights that cancel each other out are scores all the same.
    let two = json!([
        {"weight": 5, "podAffinityTerm": zone("web")}, {"weight": 5, "podAffinityTerm": zone("web")},
    ]);
    let kind = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution";
    let p = preferred(pod("p").set(kind, two), "podAntiAffinity", 10, zone("web")).build();
    assert_eq!(trial.scores(&p), map([("a1", 0), ("a2", 0), ("b1", 0), ("none", 0)]));
    // A required term of a running pod counts `hardPodAffinityWeight`.
    let hard = required(pod("h"), "podAffinity", json!([zone("new")])).on("b1").object();
    let trial = self::trial(vec![hard]);
    assert_eq!(trial.scores(&new().build()), map([("a1", 0), ("a2", 0), ("b1", 100), ("none", 0)]));
}

#[test]
fn normalised_scores_are_cut_as_floating_point_leaves_them() {
    let host = |name: &str| json!({"topologyKey": HOST, "labelSelector": app(name)});
    let on = |name: &str, node: &str| pod(name).label("app", name).on(node).object();
    let trial = trial(vec![on("x", "a1"), on("y", "a2"), on("z", "b1")]);
    let kind = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution";
    let terms = |x: i64, y: i64, z: i64| {
        let term = |weight: i64, name: &str| json!({"weight": weight, "podAffinityTerm": host(name)});
        pod("p").set(kind, json!([term(x, "x"), term(y, "y"), term(z, "z")])).build()
    };
    assert_eq!(trial.scores(&terms(29, 100, 57)), map([("a1", 28), ("a2", 100), ("b1", 56), ("none", 0)]));
    assert_eq!(trial.scores(&terms(58, 100, 50)), map([("a1", 57), ("a2", 100), ("b1", 50), ("none", 0)]));
}
