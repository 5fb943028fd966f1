//! Makers of pods, nodes and namespaces for tests (feature `testing`): each writes the JSON that the API would give and
//! has it read by the real parser. Used by tests of every room; not part of a normal build.
//!
//! ```
//! use bayplan_model::testing::{node, pod};
//! let web = pod("web-0").cpu("500m").memory("1Gi").label("app", "web").build();
//! let n1 = node("n1").cpu("4").memory("8Gi").zone("a").taint("dedicated", "gpu", "NoSchedule").build();
//! assert_eq!(web.requests.milli_cpu, 500);
//! assert_eq!(n1.allocatable.pods, 110);
//! ```
// Wrong use of a maker must fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod random;

pub use random::Random;

use crate::{KindRow, Namespace, Node, Object, PodInfo};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The object that JSON with `apiVersion` and `kind` describes, of any kind that the core knows.
pub fn object_of(value: Value) -> Object {
    let text = |field: &str| value[field].as_str().unwrap_or_default();
    let row = KindRow::named(text("apiVersion"), text("kind")).expect("the kind is in the table");
    (row.from_value)(Arc::new(value)).expect("the object is valid")
}

/// The value at `path` (names joined by dots, list places as numbers), made when it is not there.
fn at<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(value, |value, name| child(value, name))
}

fn child<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if let Value::Array(list) = value {
        let place: usize = name.parse().expect("a place in a list is a number");
        return list.get_mut(place).expect("the list has that place");
    }
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("a path leads through maps").entry(name).or_insert(Value::Null)
}

fn push(value: &mut Value, path: &str, item: Value) {
    let list = at(value, path);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().expect("the path names a list").push(item);
}

fn put(value: &mut Value, path: &str, key: &str, item: Value) {
    *child(at(value, path), key) = item;
}

macro_rules! metadata_makers {
    () => {
        /// Adds a label.
        pub fn label(mut self, key: &str, value: &str) -> Self {
            put(&mut self.object, "metadata.labels", key, json!(value));
            self
        }

        /// Adds an annotation.
        pub fn annotation(mut self, key: &str, value: &str) -> Self {
            put(&mut self.object, "metadata.annotations", key, json!(value));
            self
        }

        /// Sets the value at `path` (names joined by dots, places in lists as numbers).
        pub fn set(mut self, path: &str, value: Value) -> Self {
            *at(&mut self.object, path) = value;
            self
        }

        /// Sets `creationTimestamp` (RFC 3339).
        pub fn created(self, instant: &str) -> Self {
            self.set("metadata.creationTimestamp", json!(instant))
        }

        /// Keeps the whole object beside the parsed one.
        pub fn raw(mut self) -> Self {
            self.raw = true;
            self
        }

        /// The object as the API writes it.
        pub fn json(&self) -> Value {
            self.object.clone()
        }
    };
}

/// A pod in the making; see [`pod`].
#[derive(Clone, Debug)]
pub struct PodMaker {
    object: Value,
    raw: bool,
}

/// A pending pod with one container without requests, in namespace `default`, with UID `default/name`.
pub fn pod(name: &str) -> PodMaker {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "uid": format!("default/{name}") },
        "spec": { "containers": [{ "name": "main", "image": "main:1" }] },
        "status": { "phase": "Pending" },
    });
    PodMaker { object, raw: false }
}

impl PodMaker {
    metadata_makers!();

    /// Sets the namespace, and the UID to `namespace/name`.
    pub fn namespace(self, namespace: &str) -> Self {
        let uid = format!("{namespace}/{}", self.object["metadata"]["name"].as_str().unwrap_or_default());
        self.set("metadata.namespace", json!(namespace)).uid(&uid)
    }

    /// Sets the UID.
    pub fn uid(self, uid: &str) -> Self {
        self.set("metadata.uid", json!(uid))
    }

    /// The pod is being deleted.
    pub fn terminating(self) -> Self {
        self.set("metadata.deletionTimestamp", json!("2026-01-01T00:00:00Z"))
    }

    /// Adds a controlling owner.
    pub fn owner(mut self, kind: &str, name: &str) -> Self {
        let owner = json!({
            "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": format!("{kind}/{name}"), "controller": true,
        });
        push(&mut self.object, "metadata.ownerReferences", owner);
        self
    }

    /// The first container requests CPU.
    pub fn cpu(self, amount: &str) -> Self {
        self.request("cpu", amount)
    }

    /// The first container requests memory.
    pub fn memory(self, amount: &str) -> Self {
        self.request("memory", amount)
    }

    /// The first container requests a resource.
    pub fn request(mut self, resource: &str, amount: &str) -> Self {
        put(&mut self.object, "spec.containers.0.resources.requests", resource, json!(amount));
        self
    }

    /// The first container is limited.
    pub fn limit(mut self, resource: &str, amount: &str) -> Self {
        put(&mut self.object, "spec.containers.0.resources.limits", resource, json!(amount));
        self
    }

    /// The image of the first container.
    pub fn image(self, image: &str) -> Self {
        self.set("spec.containers.0.image", json!(image))
    }

    /// Adds a container, as JSON.
    pub fn container(mut self, container: Value) -> Self {
        push(&mut self.object, "spec.containers", container);
        self
    }

    /// Adds an init container, as JSON; with `"restartPolicy": "Always"` it is a sidecar.
    pub fn init_container(mut self, container: Value) -> Self {
        push(&mut self.object, "spec.initContainers", container);
        self
    }

    /// Adds overhead.
    pub fn overhead(mut self, resource: &str, amount: &str) -> Self {
        put(&mut self.object, "spec.overhead", resource, json!(amount));
        self
    }

    /// The first container takes a TCP port of the host on all addresses.
    pub fn host_port(self, port: i32) -> Self {
        self.host_port_of("TCP", "", port)
    }

    /// The first container takes a port of the host.
    pub fn host_port_of(mut self, protocol: &str, ip: &str, port: i32) -> Self {
        let port = json!({ "containerPort": port, "hostPort": port, "protocol": protocol, "hostIP": ip });
        push(&mut self.object, "spec.containers.0.ports", port);
        self
    }

    /// Adds a toleration; an empty text means an absent field.
    pub fn toleration(mut self, key: &str, operator: &str, value: &str, effect: &str) -> Self {
        let toleration = json!({ "key": key, "operator": operator, "value": value, "effect": effect });
        push(&mut self.object, "spec.tolerations", toleration);
        self
    }

    /// Adds a label to the node selector.
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        put(&mut self.object, "spec.nodeSelector", key, json!(value));
        self
    }

    /// Adds a required term of node affinity with one requirement. Terms are alternatives.
    pub fn require_node(self, key: &str, operator: &str, values: &[&str]) -> Self {
        self.node_term(
            json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }),
        )
    }

    /// Adds a required term of node affinity, as JSON. Terms are alternatives.
    pub fn node_term(mut self, term: Value) -> Self {
        let required = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
        push(&mut self.object, &format!("{required}.nodeSelectorTerms"), term);
        self
    }

    /// Adds a preferred term of node affinity with one requirement.
    pub fn prefer_node(mut self, weight: i32, key: &str, operator: &str, values: &[&str]) -> Self {
        let preferred = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution";
        let expression = json!({ "key": key, "operator": operator, "values": values });
        let term = json!({ "weight": weight, "preference": { "matchExpressions": [expression] } });
        push(&mut self.object, preferred, term);
        self
    }

    /// Sets the priority.
    pub fn priority(self, priority: i32) -> Self {
        self.set("spec.priority", json!(priority))
    }

    /// The pod preempts no other.
    pub fn never_preempts(self) -> Self {
        self.set("spec.preemptionPolicy", json!("Never"))
    }

    /// Sets the scheduler's name.
    pub fn scheduler(self, name: &str) -> Self {
        self.set("spec.schedulerName", json!(name))
    }

    /// Adds a scheduling gate.
    pub fn gate(mut self, name: &str) -> Self {
        push(&mut self.object, "spec.schedulingGates", json!({ "name": name }));
        self
    }

    /// The pod runs on a node.
    pub fn on(self, node: &str) -> Self {
        self.set("spec.nodeName", json!(node)).phase("Running")
    }

    /// The pod is nominated to a node.
    pub fn nominated(self, node: &str) -> Self {
        self.set("status.nominatedNodeName", json!(node))
    }

    /// Sets the phase.
    pub fn phase(self, phase: &str) -> Self {
        self.set("status.phase", json!(phase))
    }

    /// The pod, parsed.
    pub fn build(self) -> Arc<PodInfo> {
        let pod = PodInfo::from_value(Arc::new(self.object)).expect("the maker's pod is valid");
        Arc::new(if self.raw { pod } else { PodInfo { raw: None, ..pod } })
    }

    /// The pod as an object of the cluster.
    pub fn object(self) -> Object {
        Object::Pod(self.build())
    }
}

/// A node in the making; see [`node`].
#[derive(Clone, Debug)]
pub struct NodeMaker {
    object: Value,
    raw: bool,
}

/// A ready node that takes 110 pods and has nothing else, labelled with its host name.
pub fn node(name: &str) -> NodeMaker {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "uid": format!("node/{name}"), "labels": { "kubernetes.io/hostname": name } },
        "spec": {},
        "status": {
            "capacity": { "pods": "110" },
            "allocatable": { "pods": "110" },
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    });
    NodeMaker { object, raw: false }
}

impl NodeMaker {
    metadata_makers!();

    /// CPU.
    pub fn cpu(self, amount: &str) -> Self {
        self.resource("cpu", amount)
    }

    /// Memory.
    pub fn memory(self, amount: &str) -> Self {
        self.resource("memory", amount)
    }

    /// How many pods it takes.
    pub fn pods(self, count: i64) -> Self {
        self.resource("pods", &count.to_string())
    }

    /// Any resource, allocatable and capacity.
    pub fn resource(mut self, name: &str, amount: &str) -> Self {
        put(&mut self.object, "status.allocatable", name, json!(amount));
        put(&mut self.object, "status.capacity", name, json!(amount));
        self
    }

    /// The topology zone.
    pub fn zone(self, zone: &str) -> Self {
        self.label("topology.kubernetes.io/zone", zone)
    }

    /// The topology region.
    pub fn region(self, region: &str) -> Self {
        self.label("topology.kubernetes.io/region", region)
    }

    /// Adds a taint.
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        push(&mut self.object, "spec.taints", json!({ "key": key, "value": value, "effect": effect }));
        self
    }

    /// The node is cordoned.
    pub fn unschedulable(self) -> Self {
        self.set("spec.unschedulable", json!(true))
    }

    /// Adds an image.
    pub fn image(mut self, name: &str, size: i64) -> Self {
        push(&mut self.object, "status.images", json!({ "names": [name], "sizeBytes": size }));
        self
    }

    /// Adds a condition beside `Ready`.
    pub fn condition(mut self, kind: &str, status: &str) -> Self {
        push(&mut self.object, "status.conditions", json!({ "type": kind, "status": status }));
        self
    }

    /// The condition `Ready` is `False`.
    pub fn not_ready(self) -> Self {
        self.set("status.conditions.0.status", json!("False"))
    }

    /// The node, parsed.
    pub fn build(self) -> Arc<Node> {
        let node = Node::from_value(Arc::new(self.object)).expect("the maker's node is valid");
        Arc::new(if self.raw { node } else { Node { raw: None, ..node } })
    }

    /// The node as an object of the cluster.
    pub fn object(self) -> Object {
        Object::Node(self.build())
    }
}

/// A namespace in the making; see [`namespace`].
#[derive(Clone, Debug)]
pub struct NamespaceMaker {
    object: Value,
    raw: bool,
}

/// A namespace, labelled with its name as the API server does.
pub fn namespace(name: &str) -> NamespaceMaker {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
    });
    NamespaceMaker { object, raw: false }
}

impl NamespaceMaker {
    metadata_makers!();

    /// The namespace, parsed.
    pub fn build(self) -> Arc<Namespace> {
        let namespace = Namespace::from_value(Arc::new(self.object)).expect("the maker's namespace is valid");
        Arc::new(if self.raw { namespace } else { Namespace { raw: None, ..namespace } })
    }

    /// The namespace as an object of the cluster.
    pub fn object(self) -> Object {
        Object::Namespace(self.build())
    }
}
