//! Many pods for one scheduler on nodes of their own, and what must be true of them in the end, asked of the API server
//! alone: every pod bound exactly once, no node beyond its room.

use crate::support::{ControlPlane, objects, wait_until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Pods of one scheduler in one namespace, kept on nodes of their own by a label.
pub struct Load<'a> {
    pub plane: &'a ControlPlane,
    pub namespace: String,
    pub scheduler: String,
    made: AtomicUsize,
}

impl<'a> Load<'a> {
    /// Makes `nodes` nodes of 4 CPUs and a namespace.
    pub fn new(plane: &'a ControlPlane, purpose: &str, nodes: usize) -> Self {
        let namespace = plane.create_namespace(purpose);
        plane.create_nodes(&namespace, nodes, &[("cpu", "4"), ("memory", "8Gi")]);
        let scheduler = format!("bayplan-{namespace}");
        Self { plane, namespace, scheduler, made: AtomicUsize::new(0) }
    }

    /// The load of a namespace that has `made` pods already.
    pub fn again(plane: &'a ControlPlane, namespace: &str, made: usize) -> Self {
        let scheduler = format!("bayplan-{namespace}");
        Self { plane, namespace: namespace.to_owned(), scheduler, made: AtomicUsize::new(made) }
    }

    /// A pod that fits the nodes of this load only.
    pub fn pod(&self, name: &str, cpu: &str) -> Value {
        let mut pod = objects::pod(&self.namespace, name, &self.scheduler, &[("cpu", cpu)]);
        pod["spec"]["nodeSelector"] = json!({ "node-group": self.namespace });
        pod
    }

    /// Creates pods with names of their own.
    pub fn create_pods(&self, count: usize, cpu: &str) {
        let first = self.made.fetch_add(count, Ordering::SeqCst);
        let pods: Vec<Value> = (first..first + count).map(|i| self.pod(&format!("p{i}"), cpu)).collect();
        self.plane.create(&pods);
    }

    /// The pods, as the API server has them.
    pub fn pods(&self) -> Vec<Value> {
        let list = self.plane.get_json(["pods", "--namespace", &self.namespace]);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// How many of them are bound.
    pub fn bound(&self) -> usize {
        self.pods().iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count()
    }

    /// Waits until so many pods are bound.
    #[track_caller]
    pub fn wait_bound(&self, count: usize, timeout: Duration) {
        wait_until(&format!("{count} pods are bound in {}", self.namespace), timeout, || {
            self.bound() >= count
        });
    }

    /// That every pod is bound to a node of this load, once, and that no node has more than 4 CPUs taken.
    #[track_caller]
    pub fn check(&self) {
        let pods = self.pods();
        assert_eq!(pods.len(), self.made.load(Ordering::SeqCst), "pods were lost");
        let mut taken: BTreeMap<String, i64> = BTreeMap::new();
        for pod in &pods {
            let name = &pod["metadata"]["name"];
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_else(|| panic!("{name} is not bound"));
            assert!(node.starts_with(&self.namespace), "{name} is on {node}");
            let cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_str().unwrap();
            *taken.entry(node.to_owned()).or_default() += milli(cpu);
        }
        for (node, cpu) in taken {
            assert!(cpu <= 4_000, "{node} is over-committed: {cpu}m of 4 CPUs");
        }
        // A second binding would be a second event; the first may have been let go, never written twice.
        let events = self.plane.get_json(["events.events.k8s.io", "--namespace", &self.namespace]);
        let mut seen = BTreeSet::new();
        for event in events["items"].as_array().into_iter().flatten().filter(|it| it["reason"] == "Scheduled")
        {
            let pod = event["regarding"]["name"].as_str().unwrap_or_default().to_owned();
            assert!(event["series"].is_null() && seen.insert(pod.clone()), "{pod} was bound twice");
        }
    }
}

fn milli(quantity: &str) -> i64 {
    match quantity.strip_suffix('m') {
        Some(milli) => milli.parse().unwrap(),
        None => quantity.parse::<i64>().unwrap() * 1_000,
    }
}
