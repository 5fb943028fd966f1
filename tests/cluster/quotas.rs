//! The policy `capacity-scheduling` on a real API server: a namespace borrows, the other takes back by eviction, no
//! namespace exceeds its `max`, and a quota that grows wakes the pods that wait.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(40);

const POLICY: &str = include_str!("../../policies/scheduler-plugins/capacity-scheduling.bay");
const KINDS: &str = include_str!("../../policies/schemas/scheduling.x-k8s.io.yaml");

fn quota(namespace: &str, min: u32, max: u32) -> Value {
    json!({
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": {"min": {"cpu": min}, "max": {"cpu": max}},
    })
}

#[test]
fn namespaces_borrow_and_take_back_and_wake_when_a_quota_grows() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "quotas", 3);
    let (lender, borrower) = (load.namespace.clone(), plane.create_namespace("quotas-borrower"));
    plane.define_kinds(KINDS);
    let labels = [("bayplan.dev/policy", "")];
    let map = objects::config_map(&lender, "capacity-scheduling", &labels, &[("policy.bay", POLICY)]);
    plane.create(&[map, quota(&lender, 2, 4), quota(&borrower, 2, 4)]);
    let setup = Setup::new(&load.scheduler).policies_from(&lender);
    let _ours = SchedulerProcess::start(plane, &setup);
    wait_until("the policy serves", SOON, || {
        let map = plane.get_json(["configmap", "capacity-scheduling", "--namespace", &lender]);
        map["metadata"]["annotations"]["bayplan.dev/verdict"] == "Serving"
    });
    let pod = |namespace: &str, name: &str, cpu: &str| {
        let mut pod = load.pod(name, cpu);
        pod["metadata"]["namespace"] = json!(namespace);
        pod
    };
    let bound = |namespace: &str, name: &str| {
        wait_until(&format!("{name} is bound"), SOON, || plane.node_of(namespace, name).is_some());
    };
    let waits = |namespace: &str, name: &str, why: &str| {
        wait_until(&format!("{name} waits: {why}"), SOON, || {
            let pod = plane.get_json(["pod", name, "--namespace", namespace]);
            let all = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            all.iter().any(|of| of["message"].as_str().is_some_and(|message| message.contains(why)))
        });
    };

    // The borrower takes what the lender leaves, up to its max.
    plane.create(&[pod(&borrower, "own", "2"), pod(&borrower, "lent", "2")]);
    bound(&borrower, "own");
    bound(&borrower, "lent");
    plane.create(&[pod(&borrower, "more", "1")]);
    waits(&borrower, "more", "more than the max of its ElasticQuota");

    // The lender takes back what it is guaranteed, and no more.
    plane.create(&[pod(&lender, "back", "2")]);
    bound(&lender, "back");
    let left = || -> Vec<String> {
        let pods = plane.get_json(["pods", "--namespace", &borrower]);
        let placed = pods["items"].as_array().unwrap().iter().filter(|pod| {
            pod["spec"]["nodeName"].is_string() && pod["metadata"]["deletionTimestamp"].is_null()
        });
        placed.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let stayed = left();
    assert_eq!(stayed.len(), 1, "one pod of the borrower stays: {stayed:?}");
    assert!(["own", "lent"].contains(&stayed[0].as_str()));
    waits(&borrower, "more", "more than the sum of their min");

    // A quota that grows wakes the pod.
    let grown = json!({"spec": {"min": {"cpu": 3}}}).to_string();
    let resource = "elasticquotas.scheduling.x-k8s.io";
    plane.kubectl_ok(["patch", resource, "quota", "--namespace", &borrower, "--type=merge", "-p", &grown]);
    bound(&borrower, "more");
    assert!(plane.node_of(&lender, "back").is_some());
    assert_eq!(left().len(), 2);
}
