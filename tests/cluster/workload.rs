//! Many pods for one scheduler on nodes of their own. At the end, the API server alone tells
//! whether every pod is bound exactly once and no node has more pods than fit.

use crate::support::{ControlPlane, objects, wait_until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Pods of one scheduler in one namespace. A label keeps them on nodes of their own.
pub(crate) struct Workload<'a> {
    pub plane: &'a ControlPlane,
    pub namespace: String,
    pub scheduler: String,
    made: AtomicUsize,
}

impl<'a> Workload<'a> {
    /// Makes `nodes` nodes of 4 CPUs and a namespace.
    pub(crate) fn new(plane: &'a ControlPlane, purpose: &str, nodes: usize) -> Self {
        let namespace = plane.create_namespace(purpose);
        plane.create_nodes(&namespace, nodes, &[("cpu", "4"), ("memory", "8Gi")]);
        let scheduler = format!("bayplan-{namespace}");
        Self { plane, namespace, scheduler, made: AtomicUsize::new(0) }
    }

    /// The workload of a namespace that already has `made` pods.
    pub(crate) fn again(plane: &'a ControlPlane, namespace: &str, made: usize) -> Self {
        let scheduler = format!("bayplan-{namespace}");
        Self { plane, namespace: namespace.to_owned(), scheduler, made: AtomicUsize::new(made) }
    }

    /// A pod that fits only the nodes of this workload.
    pub(crate) fn pod(&self, name: &str, cpu: &str) -> Value {
        let mut pod = objects::pod(&self.namespace, name, &self.scheduler, &[("cpu", cpu)]);
        pod["spec"]["nodeSelector"] = json!({ "node-group": self.namespace });
        pod
    }

    /// Creates pods with unique names.
    pub(crate) fn create_pods(&self, count: usize, cpu: &str) {
        let first = self.made.fetch_add(count, Ordering::SeqCst);
        let pods: Vec<Value> = (first..first + count).map(|i| self.pod(&format!("p{i}"), cpu)).collect();
        self.plane.create(&pods);
    }

    /// The pods in the API server.
    pub(crate) fn pods(&self) -> Vec<Value> {
        let list = self.plane.get_json(["pods", "--namespace", &self.namespace]);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Number of bound pods.
    pub(crate) fn bound(&self) -> usize {
        self.pods().iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count()
    }

    /// Waits until `count` pods are bound.
    #[track_caller]
    pub(crate) fn wait_bound(&self, count: usize, timeout: Duration) {
        wait_until(&format!("{count} pods are bound in {}", self.namespace), timeout, || {
            self.bound() >= count
        });
    }

    /// Checks that every pod is bound once, to a node of this workload, and that no node exceeds
    /// its 4 CPUs.
    #[track_caller]
    pub(crate) fn check(&self) {
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
        // A second binding would make a second event. Events may be dropped, but are never written
        // twice.
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
