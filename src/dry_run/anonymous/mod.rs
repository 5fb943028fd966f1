//! Objects without the names of their cluster. Equal texts stay equal and different ones different, wherever they are, and
//! the names of a sort keep their order; words of Kubernetes, what policies name and what selectors of devices may read stay.
//!
//! - `walk.rs`: where names are
//! - `words.rs`: what Kubernetes calls things
//! - `patterns.rs`: what policies and configurations name

mod patterns;
mod walk;
pub mod words;

pub use patterns::Named;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use walk::{Sort, visit};

/// The names of some objects, each with its anonymous one.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: BTreeMap<String, String>,
    stayed: BTreeSet<String>,
    /// What selectors of devices may read.
    devices: BTreeSet<String>,
}

impl Names {
    /// Gives every name of these objects another one, but those that `named` has, and what begins, ends or matches as
    /// something there does.
    pub fn of(objects: &[Value], named: &Named) -> Self {
        let mut sorts: BTreeMap<String, Sort> = BTreeMap::new();
        let (mut stayed, mut devices) = (BTreeSet::new(), BTreeSet::new());
        for object in objects {
            visit(&mut object.clone(), &mut |sort, text| {
                if sort == Sort::Device && !words::is_value(text) {
                    devices.insert(text.clone());
                }
                if sort.stays(text) {
                    return;
                }
                if named.has(text) {
                    stayed.insert(text.clone());
                    return;
                }
                let name = if sort == Sort::Image { tagged(text) } else { text.clone() };
                sorts.entry(name).and_modify(|known| *known = (*known).min(sort)).or_insert(sort);
            });
        }
        let mut counts: BTreeMap<Sort, usize> = BTreeMap::new();
        sorts.values().for_each(|sort| *counts.entry(*sort).or_default() += 1);
        let mut numbers: BTreeMap<Sort, usize> = BTreeMap::new();
        let mut known = BTreeMap::new();
        for (name, sort) in sorts {
            let number = numbers.entry(sort).or_default();
            *number += 1;
            // As many digits as the last one has, so that the order stays.
            let digits = counts.get(&sort).map_or(1, |count| count.to_string().len());
            let plain = format!("{}-{number:0digits$}", sort.word());
            let plain = if sort == Sort::Image { format!("{plain}:1") } else { plain };
            let kept = named.kept_of(&name);
            if let Some(part) = &kept {
                stayed.insert(part.shown());
            }
            known.insert(name, kept.map_or_else(|| plain.clone(), |part| part.around(&plain)));
        }
        let mut names = Self { known, stayed, devices };
        objects.iter().for_each(|object| names.claims_of(object));
        names
    }

    /// The claim of an ephemeral volume is called after the pod and the volume.
    fn claims_of(&mut self, pod: &Value) {
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
        let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        for volume in volumes.into_iter().flatten().filter(|volume| volume.get("ephemeral").is_some()) {
            let own = volume.get("name").and_then(Value::as_str).unwrap_or_default();
            let claim = format!("{}-{}", self.text(name), self.text(own));
            self.known.insert(format!("{name}-{own}"), claim);
        }
    }

    /// The anonymous form of a text.
    pub fn text(&self, text: &str) -> String {
        self.known.get(text).cloned().unwrap_or_else(|| text.to_owned())
    }

    /// The anonymous form of `namespace/name`.
    pub fn full_name(&self, name: &str) -> String {
        let parts: Vec<String> = name.split('/').map(|part| self.text(part)).collect();
        parts.join("/")
    }

    /// An object without the names of its cluster.
    pub fn object(&self, mut object: Value) -> Value {
        visit(&mut object, &mut |sort, text| {
            if sort.stays(text) {
                return;
            }
            *text = if sort == Sort::Image { self.text(&tagged(text)) } else { self.text(text) };
        });
        object
    }

    /// What stayed because something depends on it, in the order of the words.
    pub fn stayed(&self) -> impl Iterator<Item = &str> {
        self.stayed.iter().map(String::as_str)
    }

    /// What stayed because selectors and constraints of devices may read it: drivers, attributes with their texts, names
    /// of capacities, expressions. In the order of the words.
    pub fn of_devices(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().map(String::as_str)
    }

    /// The names that were replaced.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.known.iter().filter(|(name, other)| name != other).map(|(name, _)| name.as_str())
    }
}

/// An image with its tag: what has none is the latest one.
fn tagged(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains(':') || last.contains('@') || image.is_empty() {
        return image.to_owned();
    }
    format!("{image}:latest")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn objects() -> Vec<Value> {
        vec![
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "acme-b", "labels": {
                    "kubernetes.io/hostname": "acme-b", "acme.com/team": "vision", "kubernetes.io/arch": "arm64"}},
                "spec": {"taints": [{"key": "acme.com/only", "value": "vision", "effect": "NoSchedule"}]},
                "status": {"allocatable": {"cpu": "4", "acme.com/chip": "2"},
                    "conditions": [{"type": "Ready", "status": "True", "message": "acme is ready"}],
                    "images": [{"names": ["acme.com/app:latest"], "sizeBytes": 5}]},
            }),
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "acme-a", "namespace": "acme", "uid": "5f", "labels": {"app": "acme"},
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "acme", "uid": "6f"}]},
                "spec": {
                    "nodeName": "acme-b", "schedulerName": "default-scheduler",
                    "nodeSelector": {"acme.com/team": "vision"},
                    "containers": [{"name": "acme", "image": "acme.com/app", "resources": {"requests": {"acme.com/chip": "1"}}}],
                    "volumes": [{"name": "acme-data", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "acme-fast"}}}}],
                    "tolerations": [{"key": "acme.com/only", "operator": "Exists"}],
                },
            }),
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "acme-a-acme-data", "namespace": "acme"}, "spec": {"storageClassName": "acme-fast"},
            }),
        ]
    }

    #[test]
    fn names_go_and_what_they_join_stays() {
        let objects = objects();
        let names = Names::of(&objects, &Named::default());
        let after: Vec<Value> = objects.into_iter().map(|object| names.object(object)).collect();
        let text = serde_json::to_string(&after).unwrap();
        assert!(!text.contains("acme") && !text.contains("vision"), "{text}");
        let at = |object: usize, path: &str| {
            after[object].pointer(path).and_then(Value::as_str).unwrap().to_owned()
        };
        assert_eq!(at(0, "/metadata/name"), at(1, "/spec/nodeName"));
        assert_eq!(at(0, "/metadata/name"), at(0, "/metadata/labels/kubernetes.io~1hostname"));
        assert_eq!(after[0]["metadata"]["labels"]["kubernetes.io/arch"], "arm64");
        assert_eq!(at(0, "/spec/taints/0/key"), at(1, "/spec/tolerations/0/key"));
        assert_eq!(at(0, "/status/images/0/names/0"), at(1, "/spec/containers/0/image"));
        assert_eq!(at(1, "/spec/schedulerName"), "default-scheduler");
        let selector = after[1]["spec"]["nodeSelector"].as_object().unwrap();
        let (key, value) = selector.iter().next().unwrap();
        assert_eq!(&after[0]["metadata"]["labels"][key], value);
        assert_eq!(
            at(2, "/metadata/name"),
            format!("{}-{}", at(1, "/metadata/name"), at(1, "/spec/volumes/0/name"))
        );
        let resource = after[1]["spec"]["containers"][0]["resources"]["requests"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap();
        assert_eq!(after[0]["status"]["allocatable"][resource], "2");
    }

    #[test]
    fn what_policies_name_stays_and_is_listed() {
        let mut named = Named::default();
        named.text(r#"policy x { filter { require node.labels["acme.com/team"].startsWith("vis") || pod.name.matches("^acme-[a-z]$") } }"#);
        let objects = objects();
        let names = Names::of(&objects, &named);
        let after = names.object(objects[0].clone());
        let team = after["metadata"]["labels"]["acme.com/team"].as_str().unwrap();
        assert!(team.starts_with("vis") && team != "vision", "{team}");
        let stayed: Vec<&str> = names.stayed().collect();
        assert_eq!(stayed, ["acme-a", "acme-b", "acme.com/team", "vis…"]);
    }

    #[test]
    fn devices_keep_what_selectors_read_and_lose_the_rest() {
        let objects = vec![
            json!({"kind": "Node", "metadata": {"name": "acme-n"}}),
            json!({"kind": "DeviceClass", "metadata": {"name": "acme-class"},
                "spec": {"extendedResourceName": "acme.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'gpu.vendor'"}}]}}),
            json!({"kind": "ResourceSlice", "metadata": {"name": "acme-slice"}, "spec": {
                "driver": "gpu.vendor", "nodeName": "acme-n", "pool": {"name": "acme-n", "generation": 1, "resourceSliceCount": 1},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["acme-n"]}]}]},
                "sharedCounters": [{"name": "acme-set", "counters": {"memory": {"value": "85899345920"}}}],
                "devices": [{"name": "acme-device", "attributes": {"model": {"string": "big"}},
                    "capacity": {"memory": {"value": "85899345920"}},
                    "consumesCounters": [{"counterSet": "acme-set", "counters": {"memory": {"value": "85899345920"}}}]}]}}),
            json!({"kind": "ResourceClaim", "metadata": {"name": "acme-claim", "namespace": "acme", "uid": "acme-uid"}, "spec": {"devices": {
                "requests": [{"name": "acme-one", "firstAvailable": [{"name": "acme-sub", "deviceClassName": "acme-class", "allocationMode": "ExactCount"}]}],
                "constraints": [{"requests": ["acme-one/acme-sub"], "matchAttribute": "gpu.vendor/model"}],
                "config": [{"opaque": {"driver": "gpu.vendor", "parameters": {"acme": {"key": ["acme"]}}}}]}},
                "status": {"reservedFor": [{"resource": "pods", "name": "acme-pod", "uid": "acme-pod-uid"}], "allocation": {"devices": {"results": [
                    {"request": "acme-one/acme-sub", "driver": "gpu.vendor", "pool": "acme-n", "device": "acme-device"}]}}}}),
            json!({"kind": "Pod", "metadata": {"name": "acme-pod", "namespace": "acme", "uid": "acme-pod-uid"}, "spec": {
                "resourceClaims": [{"name": "acme-one", "resourceClaimName": "acme-claim"}],
                "containers": [{"resources": {"claims": [{"name": "acme-one", "request": "acme-one"}],
                    "requests": {"acme.com/gpu": "1", "deviceclass.resource.kubernetes.io/acme-class": "1"}}}]}}),
        ];
        let names = Names::of(&objects, &Named::default());
        let after: Vec<Value> = objects.iter().map(|object| names.object(object.clone())).collect();
        let text = serde_json::to_string(&after).unwrap();
        assert!(!text.contains("acme"), "{text}");
        let at = |object: usize, path: &str| {
            after[object].pointer(path).unwrap_or_else(|| panic!("{path} in {}", after[object])).clone()
        };
        let is_same =
            |left: (usize, &str), right: (usize, &str)| assert_eq!(at(left.0, left.1), at(right.0, right.1));
        is_same((0, "/metadata/name"), (2, "/spec/pool/name"));
        is_same((0, "/metadata/name"), (2, "/spec/nodeName"));
        is_same((0, "/metadata/name"), (2, "/spec/nodeSelector/nodeSelectorTerms/0/matchFields/0/values/0"));
        is_same((0, "/metadata/name"), (3, "/status/allocation/devices/results/0/pool"));
        is_same((2, "/spec/devices/0/name"), (3, "/status/allocation/devices/results/0/device"));
        is_same((2, "/spec/sharedCounters/0/name"), (2, "/spec/devices/0/consumesCounters/0/counterSet"));
        is_same(
            (3, "/spec/devices/constraints/0/requests/0"),
            (3, "/status/allocation/devices/results/0/request"),
        );
        is_same((3, "/metadata/name"), (4, "/spec/resourceClaims/0/resourceClaimName"));
        is_same((3, "/status/reservedFor/0/uid"), (4, "/metadata/uid"));
        let request = |of: &str| at(3, of).as_str().unwrap().to_owned();
        assert_eq!(
            request("/spec/devices/constraints/0/requests/0"),
            format!(
                "{}/{}",
                request("/spec/devices/requests/0/name"),
                request("/spec/devices/requests/0/firstAvailable/0/name")
            )
        );
        let requests = at(4, "/spec/containers/0/resources/requests");
        let resource = at(1, "/spec/extendedResourceName").as_str().unwrap().to_owned();
        assert!(requests.get(&resource).is_some() && resource.contains('/'), "{requests} {resource}");
        let class = at(1, "/metadata/name").as_str().unwrap().to_owned();
        assert!(requests.get(format!("deviceclass.resource.kubernetes.io/{class}")).is_some(), "{requests}");
        assert_eq!(at(2, "/spec/devices/0/capacity"), objects[2]["spec"]["devices"][0]["capacity"]);
        assert_eq!(
            at(2, "/spec/sharedCounters/0/counters"),
            objects[2]["spec"]["sharedCounters"][0]["counters"]
        );
        let stayed: Vec<&str> = names.of_devices().collect();
        assert_eq!(
            stayed,
            ["big", "device.driver == 'gpu.vendor'", "gpu.vendor", "gpu.vendor/model", "memory", "model"]
        );
    }

    #[test]
    fn the_order_of_names_stays() {
        let nodes: Vec<Value> =
            (0..12).map(|at| json!({"kind": "Node", "metadata": {"name": format!("n{at:02}")}})).collect();
        let names = Names::of(&nodes, &Named::default());
        let after: Vec<String> = (0..12).map(|at| names.text(&format!("n{at:02}"))).collect();
        assert!(after.is_sorted(), "{after:?}");
        assert_eq!(after[0], "node-01");
    }
}
