//! Makes edits on the JSON of a pod or node, as the API server would keep the object afterwards: of a pod by applying
//! the strategic merge patch that `explain --fix` prints.

use super::{CORDONED, Edit, Patch};
use bayplan_model::{HostPort, PodInfo, Symbol, Taint};
use serde_json::{Map, Value, json};

/// Makes the edits of a pod.
pub(super) fn edit_pod(object: &mut Value, pod: &PodInfo, edits: &[Edit]) {
    if let Some(manifest) = Patch::of(pod, edits, None).manifest {
        merge(object, &manifest);
    }
    for edit in edits {
        match edit {
            Edit::PodLabel { key, value } => metadata(object, "labels", key, value.as_deref()),
            Edit::PodAnnotation { key, value } => metadata(object, "annotations", key, value.as_deref()),
            Edit::DropHostPort(port) => drop_host_port(object, port),
            Edit::MaxSkew { topology_key, to, .. } => {
                edit_hard_spread(object, topology_key, "maxSkew", json!(to));
            }
            Edit::SpreadAnyway { topology_key } => {
                edit_hard_spread(object, topology_key, "whenUnsatisfiable", json!("ScheduleAnyway"));
            }
            _ => {}
        }
    }
    drop_empty(object, "spec", &["nodeSelector", "tolerations"]);
    drop_empty(object, "metadata", &["labels", "annotations"]);
}

/// Makes an edit of a node.
pub(super) fn edit_node(object: &mut Value, edit: &Edit) {
    match edit {
        Edit::NodeLabel { key, value } => metadata(object, "labels", key, value.as_deref()),
        Edit::RemoveTaint(taint) => retain_taints(object, |known| !is_taint(known, taint)),
        Edit::Uncordon { .. } => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.shift_remove("unschedulable");
            }
            retain_taints(object, |known| known["key"] != *CORDONED);
        }
        _ => {}
    }
    drop_empty(object, "spec", &["taints"]);
    drop_empty(object, "metadata", &["labels"]);
}

/// The field by which a strategic merge patch finds an element of a list; lists without one are replaced.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers" | "initContainers" => Some("name"),
        "topologySpreadConstraints" => Some("topologyKey"),
        _ => None,
    }
}

/// Applies a strategic merge patch.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Value::Object(into) = into else { return };
    for (name, change) in patch {
        match (change, merge_key(name)) {
            (Value::Null, _) => {
                into.shift_remove(name);
            }
            (Value::Array(changes), Some(key)) => {
                let known = into.entry(name.clone()).or_insert_with(|| json!([]));
                changes.iter().for_each(|change| merge_element(known, key, change));
            }
            _ => merge(into.entry(name.clone()).or_insert(Value::Null), change),
        }
    }
}

/// Applies the patch of an element of a list.
fn merge_element(list: &mut Value, key: &str, change: &Value) {
    let Some(list) = list.as_array_mut() else { return };
    match list.iter_mut().find(|known| known[key] == change[key]) {
        Some(known) => merge(known, change),
        None => list.push(change.clone()),
    }
}

/// Sets a label or annotation, or removes it.
fn metadata(object: &mut Value, map: &str, key: &str, value: Option<&str>) {
    merge(object, &json!({"metadata": {map: {key: value}}}));
}

/// Drops fields that the API server leaves out when they are empty.
fn drop_empty(object: &mut Value, part: &str, fields: &[&str]) {
    let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) else { return };
    for field in fields {
        let empty = part.get(*field).is_some_and(|value| match value {
            Value::Object(of) => of.is_empty(),
            Value::Array(of) => of.is_empty(),
            other => other.is_null(),
        });
        if empty {
            part.shift_remove(*field);
        }
    }
}

/// Removes a host port. The API server makes every port of a pod on the host network a host port, so there the whole
/// entry goes.
fn drop_host_port(object: &mut Value, port: &HostPort) {
    let on_host = object["spec"]["hostNetwork"] == true;
    let is_port = |of: &Value| {
        let text = |field: &str, default: &str| match of[field].as_str() {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => default.to_owned(),
        };
        let number = match of["hostPort"].as_i64() {
            None | Some(0) if on_host => of["containerPort"].as_i64(),
            number => number,
        };
        number == Some(i64::from(port.port))
            && text("protocol", "TCP") == *port.protocol
            && text("hostIP", "0.0.0.0") == *port.ip
    };
    for list in ["containers", "initContainers"] {
        let containers = object.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let Some(ports) = container.get_mut("ports").and_then(Value::as_array_mut) else { continue };
            if on_host {
                ports.retain(|of| !is_port(of));
            } else {
                for of in ports.iter_mut().filter(|of| is_port(of)).filter_map(Value::as_object_mut) {
                    of.shift_remove("hostPort");
                }
            }
            if ports.is_empty()
                && let Some(container) = container.as_object_mut()
            {
                container.shift_remove("ports");
            }
        }
    }
}

/// Sets a field of every hard topology spread constraint of a key.
fn edit_hard_spread(object: &mut Value, key: &Symbol, field: &str, value: Value) {
    let constraints = object.pointer_mut("/spec/topologySpreadConstraints").and_then(Value::as_array_mut);
    for constraint in constraints.into_iter().flatten() {
        if constraint["topologyKey"] == **key && constraint["whenUnsatisfiable"] != "ScheduleAnyway" {
            constraint[field] = value.clone();
        }
    }
}

fn retain_taints(node: &mut Value, keep: impl Fn(&Value) -> bool) {
    if let Some(taints) = node.pointer_mut("/spec/taints").and_then(Value::as_array_mut) {
        taints.retain(keep);
    }
}

fn is_taint(of: &Value, taint: &Taint) -> bool {
    of["key"] == *taint.key
        && of["value"].as_str().unwrap_or_default() == &*taint.value
        && of["effect"] == taint.effect.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_merge_as_kubectl_merges_them() {
        let mut pod = json!({"spec": {
            "containers": [{"name": "a", "image": "i"}, {"name": "b"}],
            "nodeSelector": {"x": "1", "y": "2"}, "tolerations": [{"key": "k"}],
        }});
        merge(
            &mut pod,
            &json!({"spec": {
                "containers": [{"name": "b", "resources": {"requests": {"cpu": "1"}}}],
                "nodeSelector": {"x": null}, "tolerations": [{"key": "l"}], "affinity": {"podAffinity": {"r": null}},
            }}),
        );
        let expected = json!({"spec": {
            "containers": [{"name": "a", "image": "i"}, {"name": "b", "resources": {"requests": {"cpu": "1"}}}],
            "nodeSelector": {"y": "2"}, "tolerations": [{"key": "l"}], "affinity": {"podAffinity": {}},
        }});
        assert_eq!(pod, expected);
    }

    #[test]
    fn what_the_api_server_leaves_out_when_empty_goes() {
        let mut node = json!({"metadata": {"labels": {"a": "1"}}, "spec": {
            "unschedulable": true, "taints": [{"key": CORDONED, "effect": "NoSchedule"}],
        }});
        edit_node(&mut node, &Edit::Uncordon { tainted: true });
        edit_node(&mut node, &Edit::NodeLabel { key: Symbol::new("a"), value: None });
        assert_eq!(node, json!({"metadata": {}, "spec": {}}));
    }
}
