//! Where names are in objects: every text of an object that is not a word of the API is visited, with what it is.

use super::words;
use bayplan_model::CLASS_RESOURCE;
use serde_json::{Map, Value};

/// What a text names. Of a text that names several things the first counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Sort {
    /// A node.
    Node,
    /// A pod.
    Pod,
    /// A namespace.
    Namespace,
    /// Another object, or a part of one, such as a container.
    Object,
    /// A key of a label, an annotation, a taint.
    Key,
    /// A resource.
    Resource,
    /// An image.
    Image,
    /// A UID.
    Uid,
    /// The value of a label, an annotation, a taint.
    Value,
    /// Any other text.
    Text,
    /// What selectors and constraints of devices may read.
    Device,
}

impl Sort {
    /// The beginning of its anonymous names.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Pod => "pod",
            Self::Namespace => "namespace",
            Self::Object => "object",
            Self::Key => "label",
            // Only names with a domain are resources of devices.
            Self::Resource => "example.com/resource",
            Self::Image => "image",
            Self::Uid => "uid",
            Self::Value => "value",
            Self::Text => "text",
            Self::Device => "device",
        }
    }

    /// Whether a text stays because it is a word of Kubernetes.
    pub(super) fn stays(self, text: &str) -> bool {
        match self {
            Self::Node | Self::Pod | Self::Uid | Self::Image => text.is_empty(),
            Self::Namespace => text.is_empty() || words::is_namespace(text),
            Self::Object => text.is_empty() || words::is_name(text),
            Self::Key => text.is_empty() || words::is_key(text),
            Self::Resource => words::is_resource(text),
            Self::Value | Self::Text => words::is_value(text),
            Self::Device => true,
        }
    }
}

/// Maps whose keys and values users choose.
const FREE: [&str; 5] = ["labels", "annotations", "matchLabels", "nodeSelector", "data"];
/// Maps of amounts by resource.
const AMOUNTS: [&str; 7] =
    ["requests", "limits", "allocatable", "capacity", "overhead", "usage", "allocatedResources"];
/// Fields that are keys, or lists of keys.
const KEYS: [&str; 5] = ["key", "topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys"];
/// Fields whose texts are words of the API, amounts or instants.
const WORDS: [&str; 38] = [
    "apiVersion",
    "operator",
    "effect",
    "phase",
    "type",
    "status",
    "protocol",
    "restartPolicy",
    "preemptionPolicy",
    "whenUnsatisfiable",
    "qosClass",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "accessModes",
    "volumeMode",
    "volumeBindingMode",
    "reclaimPolicy",
    "persistentVolumeReclaimPolicy",
    "creationTimestamp",
    "deletionTimestamp",
    "startTime",
    "timestamp",
    "window",
    "minAvailable",
    "maxUnavailable",
    "unhealthyPodEvictionPolicy",
    "size",
    "sizeLimit",
    "podManagementPolicy",
    "concurrencyPolicy",
    "completionMode",
    "timeAdded",
    "lastTransitionTime",
    "lastProbeTime",
    "resource",
    "action",
    "maximumVolumeSize",
    "hostIP",
];
/// Kinds of devices and of claims to them.
const OF_DEVICES: [&str; 5] =
    ["ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule"];
/// Their fields that are words of the API, amounts or instants.
const WORDS_OF_DEVICES: [&str; 4] = ["allocationMode", "allocationTimestamp", "apiGroup", "finalizers"];
/// Their fields whose texts and keys selectors, constraints and drivers read.
const OF_SELECTORS: [&str; 12] = [
    "driver",
    "expression",
    "matchAttribute",
    "distinctAttribute",
    "attributes",
    "capacity",
    "counters",
    "consumedCapacity",
    "requestPolicy",
    "bindingConditions",
    "bindingFailureConditions",
    "compatibilityGroups",
];
/// Their fields that drivers alone understand.
const OPAQUE: [&str; 2] = ["parameters", "data"];
/// Fields that are texts of people.
const TEXTS: [&str; 2] = ["message", "description"];

/// Visits every text of an object that names something; the visitor may change it.
pub(super) fn visit(object: &mut Value, visitor: &mut dyn FnMut(Sort, &mut String)) {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    // The names of its fields are what policies read.
    if kind == "CustomResourceDefinition" {
        return;
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("resourceVersion");
        metadata.shift_remove("generateName");
    }
    let Value::Object(fields) = object else { return };
    for (name, value) in fields.iter_mut().filter(|(name, _)| *name != "kind") {
        let own = Walk { kind: &kind, inside: name };
        own.value(name, value, visitor);
    }
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct Walk<'a> {
    /// The kind of the object.
    kind: &'a str,
    /// The field around.
    inside: &'a str,
}

impl Walk<'_> {
    fn value(self, field: &str, value: &mut Value, visitor: &mut dyn FnMut(Sort, &mut String)) {
        match value {
            Value::String(text) => self.text(field, text, visitor),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(field, item, visitor)),
            Value::Object(fields) => self.map(field, fields, visitor),
            _ => {}
        }
    }

    fn is_of_devices(self) -> bool {
        OF_DEVICES.contains(&self.kind)
    }

    fn map(self, field: &str, fields: &mut Map<String, Value>, visitor: &mut dyn FnMut(Sort, &mut String)) {
        if self.is_of_devices() && OPAQUE.contains(&field) {
            return fields.clear();
        }
        if self.is_of_devices() && OF_SELECTORS.contains(&field) {
            return kept(fields, visitor);
        }
        // `selector` of a Service is a map of labels, of others a structure.
        let is_labels = field == "selector" && ["Service", "ReplicationController"].contains(&self.kind);
        let of_devices = field == "allocatable" && self.kind == "CSINode";
        // So is `nodeSelector` of a pod.
        let is_structure = field == "nodeSelector" && self.is_of_devices();
        if FREE.contains(&field) && !is_structure || is_labels {
            return free(fields, Sort::Key, visitor);
        }
        // Requests of a claim are a list, and its capacities stay.
        if AMOUNTS.contains(&field) && !of_devices && !self.is_of_devices() {
            return free(fields, Sort::Resource, visitor);
        }
        for (name, value) in fields.iter_mut() {
            Walk { inside: field, ..self }.value(name, value, visitor);
        }
    }

    fn text(self, field: &str, text: &mut String, visitor: &mut dyn FnMut(Sort, &mut String)) {
        if WORDS.contains(&field) || self.is_of_devices() && WORDS_OF_DEVICES.contains(&field) {
            return;
        }
        if TEXTS.contains(&field) {
            text.clear();
            return;
        }
        // A request, or an alternative behind its parent.
        if field == "request" || field == "requests" || field == "requestName" {
            return parts(text, "/", Sort::Object, visitor);
        }
        let sort = match field {
            _ if self.is_of_devices() && OF_SELECTORS.contains(&field) => Sort::Device,
            _ if KEYS.contains(&field) => Sort::Key,
            "value" | "values" => Sort::Value,
            "uid" => Sort::Uid,
            "image" => Sort::Image,
            "names" if self.inside == "images" => Sort::Image,
            "namespace" | "namespaces" => Sort::Namespace,
            "nodeName" | "nominatedNodeName" | "nodeID" => Sort::Node,
            // Most pools have the name of their node, and the order of both counts.
            "pool" if self.is_of_devices() => Sort::Node,
            "name" if self.inside == "pool" && self.is_of_devices() => Sort::Node,
            "device" if self.is_of_devices() => Sort::Object,
            "shareID" => Sort::Uid,
            "extendedResourceName" | "resourceName" => return resource(text, visitor),
            "name" if self.inside == "metadata" => match self.kind {
                "Node" | "CSINode" | "NodeMetrics" => Sort::Node,
                "Pod" => Sort::Pod,
                "Namespace" => Sort::Namespace,
                _ => Sort::Object,
            },
            "kind" if words::is_kind(text) => return,
            "reason" if words::is_value(text) => return,
            _ if self.inside == "metadata" || field.ends_with("Name") || field == "name" => Sort::Object,
            "driver" | "provisioner" | "attacher" | "kind" => Sort::Object,
            _ => Sort::Text,
        };
        visitor(sort, text);
    }
}

/// A map whose keys are of a sort, with its values.
fn free(fields: &mut Map<String, Value>, keys: Sort, visitor: &mut dyn FnMut(Sort, &mut String)) {
    let mut renamed = Map::new();
    for (mut key, mut value) in std::mem::take(fields) {
        let is_well_known = keys.stays(&key);
        match keys {
            Sort::Resource => resource(&mut key, visitor),
            keys => visitor(keys, &mut key),
        }
        if let (Value::String(text), Sort::Key) = (&mut value, keys) {
            // Zones of a volume are in one value.
            if is_well_known && text.contains("__") {
                parts(text, "__", Sort::Value, visitor);
            } else {
                visitor(Sort::Value, text);
            }
        }
        renamed.insert(key, value);
    }
    *fields = renamed;
}

/// A resource; one that is named after a DeviceClass goes with the class.
fn resource(name: &mut String, visitor: &mut dyn FnMut(Sort, &mut String)) {
    match name.strip_prefix(CLASS_RESOURCE).map(str::to_owned) {
        Some(mut class) => {
            visitor(Sort::Object, &mut class);
            *name = format!("{CLASS_RESOURCE}{class}");
        }
        None => visitor(Sort::Resource, name),
    }
}

/// A text of several names.
fn parts(text: &mut String, between: &str, sort: Sort, visitor: &mut dyn FnMut(Sort, &mut String)) {
    let parts = text.split(between).map(|part| {
        let mut part = part.to_owned();
        visitor(sort, &mut part);
        part
    });
    *text = parts.collect::<Vec<_>>().join(between);
}

/// A map of names that stay, with the texts of attributes.
fn kept(fields: &Map<String, Value>, visitor: &mut dyn FnMut(Sort, &mut String)) {
    const ATTRIBUTES: [&str; 4] = ["string", "strings", "version", "versions"];
    for (key, value) in fields {
        if let ("requests", Some(amounts)) = (key.as_str(), value.as_object()) {
            kept(amounts, visitor);
            continue;
        }
        visitor(Sort::Device, &mut key.clone());
        let texts =
            value.as_object().into_iter().flatten().filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
        for (_, of) in texts {
            let list = of.as_array().into_iter().flatten();
            for text in std::iter::once(of).chain(list).filter_map(Value::as_str) {
                visitor(Sort::Device, &mut text.to_owned());
            }
        }
    }
}
