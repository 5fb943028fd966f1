//! Preemption on the real API server: victims, conditions, events and nominations.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

fn priority_class(name: &str, value: i32, policy: &str) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "preemptionPolicy": policy,
    })
}

/// Pods of one workload for single nodes of it, with priorities.
struct Pods<'a>(&'a Workload<'a>);

impl Pods<'_> {
    fn class(&self, name: &str) -> String {
        format!("{}-{name}", self.0.namespace)
    }

    fn node(&self, at: usize) -> String {
        format!("{}-{at}", self.0.namespace)
    }

    fn make(&self, name: &str, cpu: &str, class: &str, node: Option<usize>) -> Value {
        let mut pod = self.0.pod(name, cpu);
        if !class.is_empty() {
            pod["spec"]["priorityClassName"] = json!(self.class(class));
        }
        if let Some(node) = node {
            pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] = json!(self.node(node));
        }
        pod
    }

    fn get(&self, name: &str) -> Value {
        let list = self.0.pods();
        list.into_iter().find(|pod| pod["metadata"]["name"] == name).unwrap_or_default()
    }

    fn condition(&self, name: &str, kind: &str) -> Value {
        let pod = self.get(name);
        let all = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
    }

    fn bound(&self, name: &str) {
        wait_until(&format!("{name} is bound"), SOON, || self.get(name)["spec"]["nodeName"].is_string());
    }

    /// The condition says why a pod waits.
    fn waits(&self, name: &str, why: &str) {
        wait_until(&format!("{name} waits: {why}"), SOON, || {
            let condition = self.condition(name, "PodScheduled");
            condition["message"].as_str().is_some_and(|message| message.contains(why))
        });
    }
}

#[test]
fn a_pod_of_high_priority_gets_the_room_of_pods_of_low_priority() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "preemption", 4);
    let pods = Pods(&load);
    plane.create(&[
        priority_class(&pods.class("high"), 1_000, "PreemptLowerPriority"),
        priority_class(&pods.class("middle"), 10, "PreemptLowerPriority"),
        priority_class(&pods.class("never"), 1_000, "Never"),
    ]);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler));

    // Two victims, of which a finalizer keeps one.
    let mut kept = pods.make("kept", "2", "", Some(0));
    kept["metadata"]["finalizers"] = json!(["example.com/keep"]);
    plane.create(&[kept, pods.make("low", "2", "", Some(0))]);
    pods.bound("kept");
    pods.bound("low");
    plane.create(&[pods.make("high", "3", "high", Some(0))]);
    wait_until("the victims are deleted", SOON, || {
        pods.get("low").is_null() && pods.get("kept")["metadata"]["deletionTimestamp"].is_string()
    });
    let target = pods.condition("kept", "DisruptionTarget");
    assert_eq!((&target["status"], &target["reason"]), (&json!("True"), &json!("PreemptionByScheduler")));
    let message = format!("{}: preempting to accommodate a higher priority pod", load.scheduler);
    assert_eq!(target["message"], json!(message));
    assert!(target["lastTransitionTime"].is_string(), "{target}");
    let high = pods.get("high");
    assert_eq!(high["status"]["nominatedNodeName"], json!(pods.node(0)));
    let note =
        format!("Preempted by pod {} on node {}", high["metadata"]["uid"].as_str().unwrap(), pods.node(0));
    wait_until("both events are written", SOON, || {
        ["kept", "low"].iter().all(|name| {
            let events = plane.events_about(&load.namespace, name);
            events.iter().any(|event| event["reason"] == "Preempted" && event["note"] == note.as_str())
        })
    });
    let events = plane.events_about(&load.namespace, "kept");
    let event = events.iter().find(|event| event["reason"] == "Preempted").unwrap();
    assert_eq!((&event["type"], &event["action"]), (&json!("Normal"), &json!("Preempting")));
    assert_eq!(event["related"]["name"], json!("high"));
    // The room of the victim that is gone is kept for the preemptor, which chooses no further victim.
    plane.create(&[pods.make("middle", "1500m", "middle", Some(0))]);
    pods.waits("middle", "Insufficient cpu");
    assert!(pods.get("high")["spec"]["nodeName"].is_null());
    let free = r#"{"metadata": {"finalizers": null}}"#;
    plane.kubectl_ok(["patch", "pod", "kept", "--namespace", &load.namespace, "--type=merge", "-p", free]);
    pods.bound("high");
    assert!(pods.get("middle")["spec"]["nodeName"].is_null());

    // A pod that never preempts waits.
    plane.create(&[pods.make("stays", "3", "", Some(1))]);
    pods.bound("stays");
    plane.create(&[pods.make("polite", "3", "never", Some(1))]);
    pods.waits("polite", "preemption: not eligible due to preemptionPolicy=Never.");
    assert!(pods.get("stays")["metadata"]["deletionTimestamp"].is_null());

    // Of two nodes the one without a PodDisruptionBudget loses its pod.
    let guarded = objects::with_label(pods.make("guarded", "3", "", Some(2)), "app", "guarded");
    plane.create(&[
        guarded,
        pods.make("free", "3", "", Some(3)),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "guard", "namespace": load.namespace},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
        }),
    ]);
    pods.bound("guarded");
    pods.bound("free");
    let mut wants = pods.make("wants", "3", "high", None);
    let nodes = json!([{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": [pods.node(2), pods.node(3)]}]}]);
    wants["spec"]["affinity"] = json!({"nodeAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": nodes}}});
    plane.create(&[wants]);
    pods.bound("wants");
    assert_eq!(pods.get("wants")["spec"]["nodeName"], json!(pods.node(3)));
    assert!(pods.get("guarded")["metadata"]["deletionTimestamp"].is_null());
}

/// The policy of the library.
const TOLERATION: &str = include_str!("../../policies/scheduler-plugins/preemption-toleration.bay");

#[test]
fn a_protected_pod_is_safe_until_its_second_and_not_after() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "spares", 1);
    let pods = Pods(&load);
    let labels = [("bayplan.dev/policy", "")];
    let map = objects::config_map(&load.namespace, "toleration", &labels, &[("policy.bay", TOLERATION)]);
    let mut low = priority_class(&pods.class("low"), 10, "PreemptLowerPriority");
    let key = |name: &str| format!("preemption-toleration.scheduling.x-k8s.io/{name}");
    low["metadata"]["annotations"] =
        json!({key("minimum-preemptable-priority"): "2000", key("toleration-seconds"): "10"});
    plane.create(&[low, priority_class(&pods.class("high"), 1_000, "PreemptLowerPriority"), map]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let _ours = SchedulerProcess::start(plane, &setup);

    let mut low = pods.make("low", "3", "low", Some(0));
    low["metadata"]["finalizers"] = json!(["example.com/keep"]);
    plane.create(&[low]);
    pods.bound("low");
    plane.create(&[pods.make("high", "3", "high", Some(0))]);
    pods.waits("high", "1 node(s) with pods protected by preemption-toleration");
    assert!(pods.get("low")["metadata"]["deletionTimestamp"].is_null());
    // Nothing happens but that time passes.
    wait_until("the victim is deleted", SOON, || {
        pods.get("low")["metadata"]["deletionTimestamp"].is_string()
    });
    let second = |kind: &str| {
        let at = pods.condition("low", kind)["lastTransitionTime"].as_str().unwrap_or_default().to_owned();
        bayplan::model::Time::parse_exactly(&at).unwrap_or_else(|| panic!("{kind}: {at:?}")).0 / 1_000_000
    };
    // The condition has whole seconds, and is written a moment after the scheduler chose the node.
    let after = second("DisruptionTarget") - second("PodScheduled");
    assert!((9..=15).contains(&after), "evicted after {after} s");
    let free = r#"{"metadata": {"finalizers": null}}"#;
    plane.kubectl_ok(["patch", "pod", "low", "--namespace", &load.namespace, "--type=merge", "-p", free]);
    pods.bound("high");
}
