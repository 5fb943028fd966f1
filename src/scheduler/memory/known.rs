//! [`KnownObject`]: an object as a cache has it, as far as it is compared with the API server's.

use super::copy::joined;
use crate::fnv::fnv;
use bayplan_model::{ApiObject, Labels, Namespace, Node, PodInfo, Resource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// An object as a cache has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KnownObject {
    /// The kind; empty for nodes and pods.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// `namespace/name`, or the name of an object without a namespace.
    pub object: String,
    /// The UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// `metadata.resourceVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Of a pod that the watch showed on a node: the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What is compared: texts, or `#` and a number of a longer text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}

/// The longest text that is kept as it is, in bytes.
const LONGEST: usize = 96;

/// A node: what decisions read of it.
pub fn known_node(node: &Node) -> KnownObject {
    let taints = node.taints.iter().map(|taint| {
        let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
        format!("{}{value}:{}", taint.key, taint.effect.name())
    });
    let fields = [
        ("labels", labels(&node.labels)),
        ("taints", taints.collect::<Vec<_>>().join(",")),
        ("unschedulable", if node.unschedulable { "true".to_owned() } else { String::new() }),
        ("allocatable", amounts(&node.allocatable)),
        ("images", debug(&node.images)),
    ];
    KnownObject {
        object: node.name.to_string(),
        uid: node.uid.to_string(),
        version: node.resource_version.to_string(),
        fields: kept(fields),
        ..KnownObject::default()
    }
}

/// A pod: what decisions on it and on others read of it, but for where it is.
pub fn known_pod(pod: &PodInfo) -> KnownObject {
    let fields = [
        ("scheduler", pod.scheduler_name.to_string()),
        ("priority", if pod.priority == 0 { String::new() } else { pod.priority.to_string() }),
        ("labels", labels(&pod.labels)),
        ("requests", amounts(&pod.requests)),
        ("host ports", debug(&pod.host_ports)),
        ("tolerations", debug(&pod.tolerations)),
        ("node affinity", digest(&format!("{:?}", pod.node_affinity))),
        ("constraints", pod.constraints.as_ref().map_or_else(String::new, |of| digest(&format!("{of:?}")))),
        ("gates", pod.scheduling_gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(",")),
        ("terminating", if pod.is_terminating() { "true".to_owned() } else { String::new() }),
    ];
    KnownObject {
        object: pod.full_name(),
        uid: pod.uid.to_string(),
        version: pod.resource_version.to_string(),
        fields: kept(fields),
        ..KnownObject::default()
    }
}

/// A namespace.
pub fn known_namespace(namespace: &Namespace) -> KnownObject {
    KnownObject {
        kind: "Namespace".to_owned(),
        object: namespace.name.to_string(),
        fields: kept([("labels", labels(&namespace.labels))]),
        ..KnownObject::default()
    }
}

/// An object of another kind; `None` for kinds without a row, which policies look up. Of its metadata only what policies
/// read is kept, so that labels are not compared.
pub fn known_object(object: &dyn ApiObject) -> Option<KnownObject> {
    let kind = object.kind();
    let metadata = object.metadata();
    let terminating = if metadata.deleted.is_some() { "true".to_owned() } else { String::new() };
    let fields = [("contents", digest(&object.contents())), ("terminating", terminating)];
    Some(KnownObject {
        kind: kind.row()?.name.to_owned(),
        object: joined(&metadata.namespace, &metadata.name),
        uid: metadata.uid.to_string(),
        version: object.version().to_owned(),
        fields: kept(fields),
        ..KnownObject::default()
    })
}

fn kept<const N: usize>(fields: [(&str, String); N]) -> BTreeMap<String, String> {
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    fields.map(|(name, text)| (name.to_owned(), compact(text))).collect()
}

fn compact(text: String) -> String {
    if text.len() > LONGEST { digest(&text) } else { text }
}

fn digest(text: &str) -> String {
    format!("#{:016x}", fnv(text.bytes()))
}

/// A list of parts that have no shorter form; empty for an empty list.
fn debug<T: std::fmt::Debug>(parts: &[T]) -> String {
    if parts.is_empty() { String::new() } else { digest(&format!("{parts:?}")) }
}

fn labels(labels: &Labels) -> String {
    let mut all: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    all.sort();
    all.join(",")
}

/// Amounts that are not zero.
pub(super) fn amounts(of: &Resource) -> String {
    let mut text = String::new();
    let mut add = |name: &str, amount: i64| {
        if amount != 0 {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{name}={amount}");
        }
    };
    add("milliCPU", of.milli_cpu);
    add("memory", of.memory);
    add("ephemeral-storage", of.ephemeral_storage);
    add("pods", of.pods);
    let mut scalars: Vec<_> = of.scalars.iter().collect();
    scalars.sort();
    scalars.into_iter().for_each(|(name, amount)| add(name.as_str(), *amount));
    text
}
