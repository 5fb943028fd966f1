//! The objects that a test file writes itself: pods and nodes in short or in full, and namespaces
//! by their labels. Each becomes what the API would give, read by the ordinary parser.

use super::fields::Section;
use super::read::Errors;
use bayplan_diag::Span;
use bayplan_model::objects::ObjectError;
use bayplan_model::{Namespace, Node, PodInfo, Reading, Time};
use bayplan_yaml::{Field, Tree};
use serde_json::{Value, json};
use std::sync::Arc;

/// The instant, namespaces and nodes of a file or of one case.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) now: Option<Time>,
    pub(super) namespaces: Vec<Arc<Namespace>>,
    pub(super) nodes: Vec<Arc<Node>>,
    /// What nodes use, each with its place.
    pub(super) metrics: Vec<(Reading, Span)>,
}

/// A pod of a case.
#[derive(Clone, Debug)]
pub(super) struct CasePod {
    pub(super) from: PodFrom,
    pub(super) span: Span,
}

/// Where a pod is written.
#[derive(Clone, Debug)]
pub(super) enum PodFrom {
    /// In a file of its own.
    File(String),
    /// In the case.
    Case(Arc<PodInfo>),
}

impl CasePod {
    /// The pod; what is wrong with its file as text.
    pub(super) fn made(&self, pod_file: &dyn Fn(&str) -> Option<Value>) -> Result<Arc<PodInfo>, String> {
        match &self.from {
            PodFrom::Case(pod) => Ok(pod.clone()),
            PodFrom::File(name) => {
                let value = pod_file(name).ok_or_else(|| format!("`{name}` has no pod"))?;
                PodInfo::from_value(Arc::new(value)).map(Arc::new).map_err(|error| error.to_string())
            }
        }
    }
}

/// Reads a pod: the name of a file, a whole object, or the short form.
pub(super) fn pod(field: &Field, errors: &mut Errors) -> Option<PodFrom> {
    if let Some(name) = field.tree.as_str() {
        return Some(PodFrom::File(name.to_owned()));
    }
    let full = if is_full(field.tree) { field.tree.to_json() } else { short_pod(field, errors)? };
    let made = PodInfo::from_value(Arc::new(full));
    made.map(|pod| PodFrom::Case(Arc::new(pod))).map_err(|error| wrong(field, &error, errors)).ok()
}

/// Reads a node: a whole object, or the short form.
pub(super) fn node(field: &Field, errors: &mut Errors) -> Option<Arc<Node>> {
    let full = if is_full(field.tree) { field.tree.to_json() } else { short_node(field, errors)? };
    Node::from_value(Arc::new(full)).map(Arc::new).map_err(|error| wrong(field, &error, errors)).ok()
}

/// Reads `namespaces`: labels by name.
pub(super) fn namespaces(field: &Field, errors: &mut Errors) -> Vec<Arc<Namespace>> {
    let bayplan_yaml::TreeValue::Map(entries) = &field.tree.value else {
        errors
            .push(field.error(format!("expected namespaces with their labels, found {}", field.tree.kind())));
        return Vec::new();
    };
    let made = entries.iter().filter_map(|entry| {
        let field = Field { tree: &entry.value, path: format!("{}.{}", field.path, entry.key) };
        let mut labels = entry.value.to_json();
        if labels.is_null() {
            labels = json!({});
        }
        if let Some(labels) = labels.as_object_mut() {
            // Every namespace of a cluster has this label.
            labels.entry("kubernetes.io/metadata.name").or_insert(json!(entry.key));
        }
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": entry.key, "labels": labels},
        });
        let made = Namespace::from_value(Arc::new(object));
        made.map(Arc::new).map_err(|error| wrong(&field, &error, errors)).ok()
    });
    made.collect()
}

/// Whether an object is written as the API has it.
fn is_full(tree: &Tree) -> bool {
    ["metadata", "spec", "status"].iter().any(|name| tree.get(name).is_some())
}

/// An error of an object at the field that it is about, or at the object.
fn wrong(field: &Field, error: &ObjectError, errors: &mut Errors) {
    // The short forms leave the outer fields out.
    let outer = ["spec.containers[0].resources.", "metadata.", "spec.", "status."];
    let short = outer.iter().find_map(|outer| error.path.strip_prefix(outer));
    let path = match short {
        Some(short) if !is_full(field.tree) => short,
        _ => &error.path,
    };
    let place = field.tree.find(path);
    let of = if path.is_empty() { "object" } else { path };
    let message = match error.value.is_empty() {
        true => format!("`{of}`: {}", error.reason),
        false => format!("`{of}` cannot be `{}`: {}", error.value, error.reason),
    };
    errors.push(Field { tree: place, path: String::new() }.error(message));
}

fn short_pod(field: &Field, errors: &mut Errors) -> Option<Value> {
    let before = errors.len();
    let fields = field.object(&Section::Pod.names(), errors);
    let value = |name: &str| fields.get(name).map_or(Value::Null, |field| field.tree.to_json());
    let text = |name: &str, errors: &mut Errors| {
        fields.get(name).and_then(|field| field.string(errors)).map(str::to_owned)
    };
    let gates = fields.get("schedulingGates").map(|gates| gates.list(errors)).unwrap_or_default();
    let gates: Vec<Value> =
        gates.iter().filter_map(|gate| gate.string(errors)).map(|name| json!({"name": name})).collect();
    let image = text("image", errors);
    let container = json!({
        "name": "main",
        "image": image.as_deref().unwrap_or("main"),
        "resources": {"requests": value("requests"), "limits": value("limits")},
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": text("name", errors).unwrap_or_else(|| "pod".to_owned()),
            "namespace": text("namespace", errors).unwrap_or_else(|| "default".to_owned()),
            "labels": value("labels"),
            "annotations": value("annotations"),
        },
        "spec": {
            "containers": [container],
            "priority": value("priority"),
            "nodeSelector": value("nodeSelector"),
            "tolerations": value("tolerations"),
            "schedulerName": text("schedulerName", errors),
            "schedulingGates": gates,
            "nodeName": text("node", errors),
        },
        "status": {"phase": "Pending"},
    });
    (errors.len() == before).then_some(pod)
}

fn short_node(field: &Field, errors: &mut Errors) -> Option<Value> {
    let before = errors.len();
    let fields = field.object(&Section::Node.names(), errors);
    let value = |name: &str| fields.get(name).map_or(Value::Null, |field| field.tree.to_json());
    let name = fields.get("name").and_then(|name| name.string(errors));
    if name.is_none() && errors.len() == before {
        errors.push(fields.place("name").error("a node needs a `name`"));
    }
    let mut allocatable = value("allocatable");
    if allocatable.is_null() {
        allocatable = json!({});
    }
    if let Some(all) = allocatable.as_object_mut() {
        all.entry("pods").or_insert(json!(110));
    }
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": value("labels"), "annotations": value("annotations")},
        "spec": {"taints": value("taints"), "unschedulable": value("unschedulable")},
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    (errors.len() == before).then_some(node)
}
