//! Pods with drawn topology spread constraints, and the Services and controllers that default constraints follow.

use bayplan::model::{Change, KindRow, Object, Snapshot};
use bayplan::testing::{PodMaker, Random};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const KEYS: [&str; 4] =
    ["topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk"];
const APPS: [&str; 3] = ["web", "db", "tool"];
const NAMESPACES: [&str; 3] = ["default", "default", "one"];

fn selector(r: &mut Random) -> Value {
    match r.below(8) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [r.of(&APPS)]}]}),
        3 => json!({"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        4 => json!({"matchLabels": {"app": r.of(&APPS), "team": r.of(&["x", "y"])}}),
        _ => json!({"matchLabels": {"app": r.of(&APPS)}}),
    }
}

fn constraint(r: &mut Random) -> Value {
    let mut made = json!({
        "maxSkew": r.of(&[1, 1, 1, 2, 3]), "topologyKey": r.of(&KEYS), "labelSelector": selector(r),
        "whenUnsatisfiable": r.of(&["DoNotSchedule", "ScheduleAnyway"]),
    });
    if r.one_in(4) {
        made["matchLabelKeys"] = json!(["team"]);
    }
    if r.one_in(5) {
        made["minDomains"] = json!(1 + r.below(6));
    }
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        if r.one_in(3) {
            made[policy] = json!(r.of(&["Honor", "Ignore"]));
        }
    }
    made
}

/// The pod with labels that selectors look at, in one of few namespaces: with constraints half of the time, else with an
/// owner or nothing.
pub(crate) fn with_spread(r: &mut Random, mut made: PodMaker) -> PodMaker {
    made = made.label("app", r.of(&APPS)).namespace(r.of(&NAMESPACES));
    if r.one_in(2) {
        made = made.label("team", r.of(&["x", "y"]));
    }
    if r.one_in(12) {
        made = made.terminating();
    }
    if r.one_in(2) {
        let constraints: Vec<Value> = (0..1 + r.below(3)).map(|_| constraint(r)).collect();
        return made.set("spec.topologySpreadConstraints", json!(constraints));
    }
    if r.one_in(2) {
        let (version, kind) = r.of(&OWNERS);
        let owner = json!({"apiVersion": version, "kind": kind, "name": format!("of-{}", r.below(3)), "uid": "u",
            "controller": !r.one_in(6)});
        made = made.set("metadata.ownerReferences", json!([owner]));
    }
    made
}

const OWNERS: [(&str, &str); 4] = [
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
];

/// Adds some Services and controllers.
pub(crate) fn add_selecting_objects(r: &mut Random, s: &mut Snapshot) {
    for at in 0..r.below(4) {
        let labels = match r.below(5) {
            0 => json!({}),
            1 => Value::Null,
            2 => json!({"app": r.of(&APPS), "team": r.of(&["x", "y"])}),
            _ => json!({"app": r.of(&APPS)}),
        };
        add(s, "v1", "Service", &format!("s-{at}"), r.of(&NAMESPACES), labels);
    }
    for (version, kind) in OWNERS.iter().take(3) {
        for at in 0..r.below(3) {
            let selector = match *kind {
                "ReplicationController" => json!({"app": r.of(&APPS), "team": "x"}),
                _ => selector(r),
            };
            add(s, version, kind, &format!("of-{at}"), r.of(&NAMESPACES), selector);
        }
    }
}

fn add(s: &mut Snapshot, version: &str, kind: &str, name: &str, namespace: &str, selector: Value) {
    let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector}});
    let row = KindRow::named(version, kind).unwrap();
    if let Object::Other(object) = (row.from_value)(Arc::new(object)).unwrap() {
        s.apply(Change::ObjectSeen { object });
    }
}
