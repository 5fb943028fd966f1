//! Counts of pods equal a walk over all pods, whatever happened to pods, nodes, namespaces and holders.

use bayplan::model::{
    Change, KubernetesVersion, LabelSelector, Labels, NodeId, Placement, PodAffinityTerm, PodInfo, PodKey,
    PodMatch, Snapshot, Symbol, TermKind, VersionRows, Want, objects::selectors,
};
use bayplan::testing::{Random, namespace, node, pod};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn selector(value: &Value) -> LabelSelector {
    LabelSelector::parse(&serde_json::from_value::<selectors::LabelSelector>(value.clone()).unwrap()).unwrap()
}

fn one_of<'v>(r: &mut Random, values: &[&'v str]) -> &'v str {
    values[r.below(values.len())]
}

fn random_selector(r: &mut Random) -> Value {
    match r.below(6) {
        0 => json!({}),
        1 => json!({ "matchExpressions": [{ "key": "app", "operator": "NotIn", "values": ["a"] }] }),
        2 => json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["a", "b"] }] }),
        3 => {
            json!({ "matchLabels": { "tier": one_of(r, &["x", "y"]) }, "matchExpressions": [
                { "key": "app", "operator": "Exists" } ] })
        }
        _ => json!({ "matchLabels": { "app": one_of(r, &["a", "b", "c"]) } }),
    }
}

fn random_term(r: &mut Random) -> Value {
    let mut term = json!({ "topologyKey": one_of(r, &["zone", "host"]) });
    if !r.one_in(8) {
        term["labelSelector"] = random_selector(r);
    }
    if r.one_in(3) {
        term["namespaceSelector"] = match r.below(3) {
            0 => json!({}),
            1 => json!({ "matchLabels": { "team": one_of(r, &["red", "blue"]) } }),
            _ => json!({ "matchExpressions": [{ "key": "team", "operator": "NotIn", "values": ["red"] }] }),
        };
    }
    if r.one_in(4) {
        term["namespaces"] = json!([one_of(r, &["one", "two"])]);
    }
    term
}

fn random_pod(r: &mut Random, name: usize) -> Arc<PodInfo> {
    let mut made = pod(&format!("p{name}")).namespace(["one", "two", "three"][name % 3]);
    for (key, values) in [("app", &["a", "b", "c"][..]), ("tier", &["x", "y"])] {
        if !r.one_in(4) {
            made = made.label(key, one_of(r, values));
        }
    }
    if r.one_in(4) {
        made = made.set("metadata.deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    }
    if r.one_in(2) {
        let weighted =
            |r: &mut Random| json!({ "weight": 1 + r.below(2), "podAffinityTerm": random_term(r) });
        let affinity = json!({
            "podAffinity": { REQUIRED: [random_term(r)], PREFERRED: [weighted(r)] },
            "podAntiAffinity": { REQUIRED: [random_term(r), random_term(r)], PREFERRED: [weighted(r)] },
        });
        made = made.set("spec.affinity", affinity);
    }
    made.build()
}

fn random_match(r: &mut Random) -> PodMatch {
    if r.one_in(2) {
        let term: PodInfo = (*random_pod_with_term(r)).clone();
        let term: &PodAffinityTerm = &term.constraints.as_ref().unwrap().affinity.required[0];
        return PodMatch::of_term(term, VersionRows::default());
    }
    let selectors: Vec<_> = (0..r.below(3)).map(|_| selector(&random_selector(r))).collect();
    PodMatch::in_namespace(&Symbol::new(one_of(r, &["one", "two"])), selectors)
}

fn random_pod_with_term(r: &mut Random) -> Arc<PodInfo> {
    pod("p").namespace("one").set("spec.affinity.podAffinity", json!({ REQUIRED: [random_term(r)] })).build()
}

fn labels_of<'s>(snapshot: &'s Snapshot, pod: &PodInfo) -> Option<&'s Labels> {
    snapshot.namespace(&pod.namespace).map(|namespace| &namespace.labels)
}

/// The definition: every pod of every living node is asked.
fn walk(snapshot: &Snapshot, counts: impl Fn(&PodInfo) -> i64) -> BTreeMap<NodeId, i64> {
    let nodes = snapshot.nodes().map(|info| (info.id(), info.pods().map(|pod| counts(pod)).sum()));
    nodes.filter(|(_, pods)| *pods > 0).collect()
}

type Terms = BTreeMap<String, (i32, BTreeMap<NodeId, i64>)>;

/// The terms of placed pods that are about a pod, by a walk.
fn carried(snapshot: &Snapshot, kind: TermKind, about: &PodInfo) -> Terms {
    let mut terms = Terms::new();
    for info in snapshot.nodes() {
        for pod in info.pods() {
            let Some(constraints) = &pod.constraints else { continue };
            let affinity = &constraints.affinity;
            let of: Vec<(i32, &PodAffinityTerm)> = match kind {
                TermKind::Required => affinity.required.iter().map(|term| (0, &**term)).collect(),
                TermKind::RequiredAnti => affinity.required_anti.iter().map(|term| (0, &**term)).collect(),
                TermKind::Preferred => affinity.preferred.iter().map(|it| (it.weight, &*it.term)).collect(),
            };
            let labels = labels_of(snapshot, about).unwrap_or(Labels::none());
            for (weight, term) in of.into_iter().filter(|(_, term)| term.matches(about, Some(labels))) {
                let entry = terms.entry(format!("{weight} {term:?}")).or_insert((weight, BTreeMap::new()));
                *entry.1.entry(info.id()).or_default() += 1;
            }
        }
    }
    terms
}

fn random_change(r: &mut Random, s: &mut Snapshot, pods: usize) {
    let name = format!("n{}", r.below(8));
    let which = r.below(pods);
    let key = PodKey(random_pod(r, which).key.0.clone());
    match r.below(16) {
        0 | 1 => {
            let mut made = node(&name).cpu("4");
            if !r.one_in(4) {
                made = made.label("zone", one_of(r, &["a", "b", "c"]));
            }
            s.apply(Change::NodeUpserted { node: made.build() });
        }
        2 => s.apply(Change::NodeRemoved { name: Symbol::new(&name) }),
        3 => s.apply(Change::PodRemoved { pod: key }),
        4 => s.apply(Change::PodUnplaced { pod: key }),
        5 => s.apply(Change::PodPending { pod: random_pod(r, which) }),
        6 => {
            let team = one_of(r, &["red", "blue", "none"]);
            let made = namespace(one_of(r, &["one", "two", "three"]));
            let made = if r.one_in(4) { made } else { made.label("team", team) };
            s.apply(Change::NamespaceUpserted { namespace: made.build() });
        }
        7 => s.apply(Change::NamespaceRemoved { name: Symbol::new(one_of(r, &["one", "two"])) }),
        _ => {
            // A pod is placed, moves, or is replaced where it is.
            let there = s.pod(&key).and_then(|entry| entry.placed).filter(|_| r.one_in(2));
            let node = match there {
                Some((node, _)) => node,
                None => s.row_or_placeholder(&Symbol::new(&name)),
            };
            s.apply(Change::PodPlaced { pod: random_pod(r, which), node, how: Placement::Bound });
        }
    }
}

#[test]
fn counts_equal_a_walk_after_random_changes() {
    for seed in 0..60 {
        let mut r = Random(seed);
        let mut s = Snapshot::default();
        let matches: Vec<Arc<PodMatch>> = (0..12).map(|_| Arc::new(random_match(&mut r))).collect();
        let keys = ["zone", "host"].map(|key| Want::Domain(Symbol::new(key)));
        let mut held: Vec<Want> = Vec::new();
        let mut forks = Vec::new();
        for step in 0..120 {
            random_change(&mut r, &mut s, 30);
            if r.one_in(3) {
                let of = Want::Count(matches[r.below(matches.len())].clone());
                let want = if r.one_in(3) { keys[r.below(2)].clone() } else { of };
                s.want(std::slice::from_ref(&want));
                held.push(want);
            }
            if r.one_in(5) && !held.is_empty() {
                let gone = held.swap_remove(r.below(held.len()));
                s.unwant(&[gone]);
            }
            if step % 40 == 20 {
                forks.push((s.fork(), s.describe()));
            }
            for of in &matches {
                let mut found = BTreeMap::new();
                s.matching_pods(of, |node, pods| assert!(found.insert(node, pods).is_none()));
                let asked = walk(&s, |pod| i64::from(of.matches(pod, labels_of(&s, pod))));
                assert_eq!(found, asked, "seed {seed}, step {step}, {of:?}");
            }
            let about = random_pod(&mut r, step);
            for kind in [TermKind::Required, TermKind::RequiredAnti, TermKind::Preferred] {
                let mut found = Terms::new();
                for of in s.carried_terms(kind, &about) {
                    let nodes: BTreeMap<NodeId, i64> = of.nodes.iter().collect();
                    let name = format!("{} {:?}", of.weight, of.term);
                    // Carriers may be on nodes that are gone only.
                    if !nodes.is_empty() {
                        assert!(found.insert(name, (of.weight, nodes)).is_none());
                    }
                }
                assert_eq!(found, carried(&s, kind, &about), "seed {seed}, step {step}, {kind:?}");
            }
        }
        assert_eq!(s.describe(), s.rebuilt().describe(), "seed {seed}");
        for (fork, described) in forks {
            assert_eq!(fork.describe(), described, "seed {seed}: a fork is written by nobody else");
        }
        s.unwant(&held);
        (0..30).for_each(|name| s.apply(Change::PodRemoved { pod: random_pod(&mut r, name).key.clone() }));
        let kept = s.kept();
        assert_eq!((kept.wanted_matches, kept.carried_terms, kept.columns.wanted_domains), (0, 0, 0));
        assert!(kept.lingering_matches <= 64);
    }
}

#[test]
fn terms_of_an_incoming_pod_match_namespaces_as_upstream_does() {
    let mut s = Snapshot::default();
    s.apply(Change::NodeUpserted { node: node("n").build() });
    let n = s.node_by_name(&Symbol::new("n")).unwrap();
    let red = namespace("red").label("team", "red").build();
    s.apply(Change::NamespaceUpserted { namespace: red });
    for of in ["red", "own", "unknown"] {
        let placed = pod("p").namespace(of).label("app", "a").build();
        s.apply(Change::PodPlaced { pod: placed, node: n, how: Placement::Bound });
    }
    let [older, newer] = KubernetesVersion::ALL.map(VersionRows::of);
    let matched = |s: &mut Snapshot, namespace_selector: Value, namespaces: Value, rows: VersionRows| {
        let term = json!({ "topologyKey": "zone", "labelSelector": { "matchLabels": { "app": "a" } },
            "namespaceSelector": namespace_selector, "namespaces": namespaces });
        let made = pod("new").namespace("own").set("spec.affinity.podAffinity", json!({ REQUIRED: [term] }));
        let made = made.build();
        let of = PodMatch::of_term(&made.constraints.as_ref().unwrap().affinity.required[0], rows);
        let walked = s.clone();
        s.want(&[Want::Count(Arc::new(of.clone()))]);
        let mut pods = [0, 0];
        walked.matching_pods(&of, |_, count| pods[0] += count);
        s.matching_pods(&of, |_, count| pods[1] += count);
        assert_eq!(pods[0], pods[1]);
        pods[0]
    };
    assert_eq!(matched(&mut s, Value::Null, Value::Null, newer), 1, "its own");
    assert_eq!(matched(&mut s, json!({}), Value::Null, newer), 3, "all");
    assert_eq!(
        matched(&mut s, json!({ "matchLabels": { "team": "red" } }), Value::Null, newer),
        1,
        "not its own"
    );
    assert_eq!(
        matched(&mut s, json!({ "matchLabels": { "team": "red" } }), json!(["own"]), newer),
        2,
        "both"
    );
    // 1.36 asks the selector again about a namespace without labels.
    let not_red = json!({ "matchExpressions": [{ "key": "team", "operator": "NotIn", "values": ["red"] }] });
    assert_eq!(matched(&mut s, not_red.clone(), Value::Null, older), 3, "all");
    // A namespace without an object is none of those that are selected.
    assert_eq!(matched(&mut s, not_red.clone(), Value::Null, newer), 0, "unknown");
    assert_eq!(matched(&mut s, not_red.clone(), json!(["unknown"]), newer), 1, "named");
    s.apply(Change::NamespaceUpserted { namespace: namespace("own").build() });
    assert_eq!(matched(&mut s, not_red, Value::Null, newer), 1, "not red");
}

#[test]
fn the_domains_of_an_unwanted_key_are_made_from_the_nodes() {
    let mut s = Snapshot::default();
    for (name, zone) in [("a", "x"), ("b", "y"), ("c", "x")] {
        s.apply(Change::NodeUpserted { node: node(name).label("zone", zone).build() });
    }
    s.apply(Change::NodeUpserted { node: node("d").build() });
    s.apply(Change::NodeRemoved { name: Symbol::new("b") });
    let key = Symbol::new("zone");
    assert!(s.columns().domain(&key).is_none());
    let made = s.domains(&key);
    s.want(&[Want::Domain(key.clone())]);
    for column in [made, s.domains(&key)] {
        assert_eq!(column.of_row().len(), s.columns().room());
        assert_eq!(
            (column.get(0), column.get(1), column.get(2), column.get(3)),
            (Some(0), None, Some(0), None)
        );
        assert_eq!((column.nodes(), column.value(0), column.len()), (&[2][..], Some(&Symbol::new("x")), 1));
    }
}
