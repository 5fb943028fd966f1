//! What nodes use, from a metrics API behind the aggregation layer of a real API server: without the API and without
//! the right, then with both, then with an API that hangs.

use crate::look_ups::account;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::metrics_api::{MetricsApi, Says};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(90);

/// Prefers idle nodes, with more weight than all other plugins have together.
const IDLE: &str = "/// Prefers idle nodes.\npolicy idle {\n  source load = metrics(window: 30s, max_age: 30s)\n  \
    score idle weight 100 {\n    give 0 when load[node.name] == none\n    \
    give 100 - percent(load[node.name].cpu.mean ?? 0cpu, node.allocatable.cpu)\n  }\n}\n";

/// Some pods run only where the load is known.
const KNOWN: &str = "/// Strict pods run where the load is known.\npolicy known {\n  applies when pod.labels[\"strict\"] == \
    \"yes\"\n  source load = metrics(window: 30s, max_age: 30s)\n  filter known {\n    reject \"the load of the node is \
    unknown\" when load[node.name] == none\n  }\n}\n";

/// The rules of a role that `bayplan plan` prints for a policy.
fn planned_rights(plane: &ControlPlane, text: &str) -> Vec<String> {
    let policy = plane.folder().join("metrics.bay");
    std::fs::write(&policy, text).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["plan", "-o", "json"])
        .args([&policy])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let rights = plan["policies"][0]["rights"].as_array().unwrap();
    rights.iter().map(|right| right.as_str().unwrap().to_owned()).collect()
}

#[test]
fn load_aware_scores_come_and_go_with_the_metrics_api() {
    let plane = ControlPlane::start();
    let load = Workload::new(&plane, "metrics", 3);
    let space = load.namespace.as_str();
    let map = |name: &str, text: &str| {
        objects::config_map(space, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
    };
    plane.create(&[map("idle", IDLE), map("known", KNOWN)]);
    let ours = SchedulerProcess::start(
        &plane,
        &Setup::new(&load.scheduler).policies_from(space).kubeconfig(account(&plane, space)),
    );
    let said = |text: &str| wait_until(text, SOON, || ours.said().contains(text));
    let strict = |name: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({"strict": "yes"});
        pod
    };
    let bound =
        |name: &str| wait_until(&format!("{name} is bound"), SOON, || plane.node_of(space, name).is_some());
    let waits = |name: &str| {
        wait_until(&format!("{name} waits for metrics"), SOON, || {
            let events = plane.events_about(space, name);
            events.iter().any(|event| {
                event["note"].as_str().is_some_and(|note| note.contains("the load of the node is unknown"))
            })
        });
    };

    // Neither the API nor the right: nothing but the score and the strict pod notices.
    said("cannot read the metrics of the nodes");
    plane.create(&[load.pod("before", "10m"), strict("early")]);
    bound("before");
    waits("early");

    // The API is there, and the right is missing.
    let usage = |all: [&str; 3]| {
        let nodes = all.iter().enumerate();
        Says::Nodes(
            nodes.map(|(at, cpu)| (format!("{space}-{at}"), (*cpu).to_owned(), "1Gi".to_owned())).collect(),
        )
    };
    let api = MetricsApi::start(usage(["3900m", "100000000n", "2"]));
    plane.create(&api.objects(space));
    wait_until("the API is available", SOON, || {
        let service = plane.get_json(["apiservice", "v1beta1.metrics.k8s.io"]);
        service["status"]["conditions"].as_array().into_iter().flatten().any(|it| it["status"] == "True")
    });
    said("forbidden");
    assert_eq!(api.asked(), 0, "who has no right does not get through");
    let rights = planned_rights(&plane, IDLE);
    assert_eq!(rights, ["{apiGroups: [\"metrics.k8s.io\"], resources: [\"nodes\"], verbs: [\"list\"]}"]);
    let rbac = "rbac.authorization.k8s.io";
    plane.create(&[
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "metrics"},
            "rules": [{"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["list"]}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "metrics"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "metrics"},
            "subjects": [{"kind": "ServiceAccount", "name": "bayplan", "namespace": space}],
        }),
    ]);

    // The poll wakes the pod that waited, and the score decides.
    bound("early");
    said("the metrics API answers");
    for at in 0..4 {
        let name = format!("scored-{at}");
        plane.create(&[load.pod(&name, "10m")]);
        bound(&name);
        assert_eq!(plane.node_of(space, &name), Some(format!("{space}-1")), "the idle node");
    }

    // The API hangs: after half a minute nothing is known, and only what asks for it waits.
    api.says(Says::Hang);
    said("no answer from the API server");
    let asked = api.asked();
    wait_until("it is asked again", SOON, || api.asked() > asked + 2);
    plane.create(&[strict("late"), load.pod("after", "10m")]);
    bound("after");
    waits("late");
    assert_eq!(plane.node_of(space, "late"), None);
    api.says(Says::Fail);
    wait_until("it is asked again", SOON, || ours.said().matches("cannot read the metrics").count() > 2);
    api.says(usage(["100m", "3900m", "2"]));
    bound("late");
    plane.create(&[load.pod("again", "10m")]);
    bound("again");
    // The mean still has no sample of before: the window is half a minute.
    assert_eq!(plane.node_of(space, "again"), Some(format!("{space}-0")), "the node that is idle now");
}
