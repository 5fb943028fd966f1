//! The objects of scenarios in the API server: made from data, created, changed, deleted and listed.

use super::data::{Change, NodeData, PodData, Step};
use crate::api_load::{ApiClient, delete, merge, post};
use crate::support::{ControlPlane, objects};
use bayplan::cluster::api::client::Request;
use bayplan::model::KINDS;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The PriorityClasses that every scenario may use.
const CLASSES: [(&str, i32, &str); 5] = [
    ("low", 10, "PreemptLowerPriority"),
    ("middle", 100, "PreemptLowerPriority"),
    ("high", 1_000, "PreemptLowerPriority"),
    ("higher", 2_000, "PreemptLowerPriority"),
    ("polite", 1_000, "Never"),
];

/// The objects of one scenario at a time.
pub(crate) struct Objects {
    client: ApiClient,
    /// The paths of what was created.
    made: RefCell<Vec<String>>,
    /// The UIDs of the pods, and their names.
    uids: RefCell<BTreeMap<String, String>>,
}

impl Objects {
    pub(crate) fn new(plane: &ControlPlane) -> Self {
        let it = Self { client: ApiClient::new(plane), made: RefCell::default(), uids: RefCell::default() };
        for (name, value, policy) in CLASSES {
            let class = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
            it.client.call(post("/apis/scheduling.k8s.io/v1/priorityclasses", &class));
        }
        it
    }

    /// Does what a step says, in the order in which its fields stand in `Step`.
    pub(crate) fn apply(&self, namespace: &str, step: &Step) {
        for (name, labels) in &step.namespaces {
            self.namespace(name, &json!(labels));
        }
        step.objects.iter().for_each(|object| self.create(namespace, object.clone()));
        for data in &step.nodes {
            match data.times {
                None => self.create(namespace, node(&data.name, data)),
                Some(times) => {
                    let names = (0..times).map(|at| format!("{}-{at}", data.name));
                    names.for_each(|name| self.create(namespace, node(&name, data)));
                }
            }
        }
        for data in &step.pods {
            for name in std::iter::once(&data.name).chain(&data.alike) {
                self.create(namespace, pod(name, data));
            }
        }
        step.change.iter().for_each(|change| self.change(namespace, change));
        for object in &step.delete {
            let path = path_of(namespace, object);
            let grace = object.starts_with("pod/").then_some(0);
            assert!(self.client.call(delete(path, grace)).is_some(), "there is no {object}");
        }
    }

    pub(crate) fn namespace(&self, name: &str, labels: &Value) {
        self.client.call(post("/api/v1/namespaces", &json!({"metadata": {"name": name, "labels": labels}})));
    }

    #[track_caller]
    fn create(&self, namespace: &str, mut object: Value) {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let row =
            KINDS.iter().find(|row| row.name == kind).unwrap_or_else(|| panic!("unknown kind {kind:?}"));
        object["apiVersion"] = json!(row.api_version());
        object = self.with_uids(&object);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace).to_owned();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let path = row.path_of(&namespace, &name);
        let collection = path.rsplit_once('/').expect("a path").0.to_owned();
        // With white space, as many programs write JSON: parameters of drivers are kept as they are.
        let body = serde_json::to_vec_pretty(&object).expect("JSON");
        let made = self.client.call(Request { body, ..post(collection, &object) });
        let made = made.unwrap_or_else(|| panic!("{path} exists"));
        // The status of most kinds is not taken from what is created.
        if !object["status"].is_null() && kind != "Node" && kind != "Pod" {
            self.client.call(merge(format!("{path}/status"), &json!({"status": object["status"]})));
        }
        self.made.borrow_mut().push(path);
        if kind == "Pod" {
            let uid = made["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            self.uids.borrow_mut().insert(uid, name);
        }
    }

    #[track_caller]
    fn change(&self, namespace: &str, change: &Change) {
        let mut path = path_of(namespace, &change.of);
        if change.status {
            path.push_str("/status");
        }
        if change.resize {
            path.push_str("/resize");
        }
        assert!(
            self.client.call(merge(path, &self.with_uids(&change.to))).is_some(),
            "there is no {}",
            change.of
        );
    }

    /// Deletes everything that was created, whatever its finalizers, and the claims of devices that a scheduler made.
    pub(crate) fn clean(&self) {
        let no_finalizers = json!({"metadata": {"finalizers": null}});
        let made: Vec<String> = self.made.borrow_mut().drain(..).rev().collect();
        for path in made.into_iter().filter(|path| !path.contains("/resourceclaims/")) {
            self.client.call(delete(path.clone(), Some(0)));
            self.client.call(merge(path, &no_finalizers));
        }
        for claim in self.list("/apis/resource.k8s.io/v1/resourceclaims") {
            let [namespace, name] =
                ["namespace", "name"].map(|key| claim["metadata"][key].as_str().unwrap_or_default());
            let path = path_of(namespace, &format!("ResourceClaim/{name}"));
            let free = json!({"status": {"allocation": null, "reservedFor": null}});
            self.client.call(merge(format!("{path}/status"), &free));
            self.client.call(delete(path.clone(), None));
            // One with parameters takes no patch, and stays without devices.
            let answer = self.client.runtime.block_on(self.client.api.send(merge(path, &no_finalizers)));
            drop(answer);
        }
        self.uids.borrow_mut().clear();
    }

    /// Binds a pod as an extender does.
    pub(crate) fn bind(client: &ApiClient, question: &Value) -> bool {
        let [name, namespace, uid, node] = ["PodName", "PodNamespace", "PodUID", "Node"]
            .map(|key| question[key].as_str().unwrap_or_default());
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        client.call(post(format!("/api/v1/namespaces/{namespace}/pods/{name}/binding"), &binding)).is_some()
    }

    /// The objects of a collection.
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let list = self.client.call(Request::get(path)).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// An object with the UIDs of pods that it means as `<uid of NAME>`.
    fn with_uids(&self, object: &Value) -> Value {
        let mut text = object.to_string();
        for (uid, name) in self.uids.borrow().iter() {
            text = text.replace(&format!("<uid of {name}>"), uid);
        }
        serde_json::from_str(&text).expect("JSON")
    }

    /// A text with the names of pods instead of their UIDs.
    pub(crate) fn without_uids(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (uid, name) in self.uids.borrow().iter() {
            text = text.replace(uid, &format!("<uid of {name}>"));
        }
        text
    }
}

#[track_caller]
fn path_of(namespace: &str, object: &str) -> String {
    let (kind, name) = object.split_once('/').expect("KIND/NAME");
    let row = KINDS.iter().find(|row| row.name.eq_ignore_ascii_case(kind));
    row.unwrap_or_else(|| panic!("unknown kind {kind:?}")).path_of(namespace, name)
}

fn node(name: &str, data: &NodeData) -> Value {
    let mut capacity = BTreeMap::from([("cpu", "4"), ("memory", "8Gi")]);
    capacity.extend(data.capacity.iter().map(|(resource, quantity)| (resource.as_str(), quantity.as_str())));
    let mut node = objects::node(name, &capacity.into_iter().collect::<Vec<_>>());
    if !data.zone.is_empty() {
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!(data.zone);
    }
    merged(&mut node["metadata"]["labels"], &json!(data.labels));
    for taint in &data.taints {
        let (pair, effect) = taint.rsplit_once(':').expect("KEY=VALUE:EFFECT");
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        node = objects::with_taint(node, key, value, effect);
    }
    merged(&mut node, &data.more);
    node
}

fn pod(name: &str, data: &PodData) -> Value {
    let requests: Vec<(&str, &str)> =
        data.requests.iter().map(|(resource, quantity)| (resource.as_str(), quantity.as_str())).collect();
    let mut pod = objects::pod(&data.namespace, name, "default-scheduler", &requests);
    if data.namespace.is_empty() {
        pod["metadata"]["namespace"] = Value::Null;
    }
    pod["metadata"]["labels"] = json!(data.labels);
    if let Some(node) = &data.on {
        pod["spec"]["nodeName"] = json!(node);
    }
    if let Some(class) = &data.class {
        pod["spec"]["priorityClassName"] = json!(class);
    }
    if !data.claims.is_empty() {
        let volume = |claim: &String| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
        pod["spec"]["volumes"] = data.claims.iter().map(volume).collect();
    }
    merged(&mut pod["spec"], &data.spec);
    merged(&mut pod["metadata"], &data.metadata);
    pod
}

/// Lays one value over another: objects are merged, everything else is replaced.
fn merged(below: &mut Value, above: &Value) {
    match (below, above) {
        (_, Value::Null) => {}
        (Value::Object(below), Value::Object(above)) => {
            above
                .iter()
                .for_each(|(key, value)| merged(below.entry(key.clone()).or_insert(Value::Null), value));
        }
        (below, above) => *below = above.clone(),
    }
}
