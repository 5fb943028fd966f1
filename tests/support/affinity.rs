//! Pods with drawn terms of pod affinity and pod anti-affinity, and namespaces that their selectors tell apart.

use bayplan::model::Namespace;
use bayplan::testing::{PodMaker, Random, namespace};
use serde_json::{Value, json};
use std::sync::Arc;

const APPS: [&str; 3] = ["web", "db", "tool"];
const KEYS: [&str; 3] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk"];

/// The namespaces that pods of this file are in. A pod may also be in `unknown`, which no object describes.
pub(crate) fn namespaces() -> Vec<Arc<Namespace>> {
    vec![
        namespace("default").build(),
        namespace("one").label("team", "x").label("stage", "test").build(),
        namespace("two").label("team", "y").build(),
    ]
}

/// A selector over the labels of pods, or of namespaces.
fn selector(r: &mut Random, keys: &[&str], values: &[&str]) -> Value {
    let key = r.of(keys);
    match r.below(7) {
        0 => json!({}),
        1 => json!({"matchExpressions": [{"key": key, "operator": "NotIn", "values": [r.of(values)]}]}),
        2 => json!({"matchExpressions": [{"key": key, "operator": "Exists"}]}),
        3 => json!({"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}),
        4 => {
            json!({"matchExpressions": [{"key": key, "operator": "In", "values": [r.of(values), r.of(values)]}]})
        }
        _ => json!({"matchLabels": {key: r.of(values)}}),
    }
}

fn term(r: &mut Random) -> Value {
    let mut term = json!({"topologyKey": r.of(&KEYS)});
    if !r.one_in(12) {
        term["labelSelector"] = selector(r, &["app", "app", "app", "team"], &APPS);
    }
    if r.one_in(4) {
        term["namespaces"] = json!([r.of(&["default", "one", "two", "unknown"])]);
    }
    if r.one_in(3) {
        term["namespaceSelector"] = selector(r, &["team", "stage"], &["x", "y", "test"]);
    }
    if r.one_in(60) {
        // Nothing that the API server lets pass; upstream refuses the pod.
        term["labelSelector"] = json!({"matchExpressions": [{"key": "app", "operator": "In"}]});
    }
    term
}

fn terms(r: &mut Random) -> Value {
    let required: Vec<Value> = (0..r.below(3)).map(|_| term(r)).collect();
    let preferred = (0..r.below(3))
        .map(|_| json!({"weight": 1 + r.below(100), "podAffinityTerm": term(r)}))
        .collect::<Vec<_>>();
    json!({
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    })
}

/// The pod with a label and a namespace that terms may be about, and with terms of its own half of the time.
pub(crate) fn with_affinity(r: &mut Random, mut made: PodMaker) -> PodMaker {
    made = made.label("app", r.of(&APPS)).namespace(r.of(&["default", "default", "one", "two", "unknown"]));
    if r.one_in(2) {
        return made;
    }
    if r.one_in(2) {
        made = made.set("spec.affinity.podAffinity", terms(r));
    }
    if r.one_in(2) {
        made = made.set("spec.affinity.podAntiAffinity", terms(r));
    }
    made
}
