//! Marks on bound pods on a real API server: forged ones write nothing, and the admission rules of `deploy/` leave them to the
//! scheduler.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use bayplan::model::{MarkKey, PodKey, Symbol};
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);
const MARK: &str = "after-bind.bayplan.dev/stamp";

/// A policy that labels the node of a pod. Its filter keeps pods off the nodes of others.
fn stamp(space: &str) -> String {
    format!(
        "/// Notes the owner of a node.\npolicy stamp {{\n  applies when has(pod.labels[\"stamp\"])\n  filter own {{ require \
         (node.labels[\"tenant\"] ?? \"\") == (pod.labels[\"tenant\"] ?? \"\") else \"a node of another tenant\" }}\n  \
         after bind {{ label node {{\"example.com/{space}\": pod.labels[\"stamp\"]}} }}\n}}\n"
    )
}

#[test]
fn a_forged_mark_is_removed_and_writes_nothing() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "forged", 1);
    let space = load.namespace.as_str();
    let node = format!("{space}-0");
    plane.kubectl_ok(["label", "node", &node, "tenant=good", "--overwrite"]);
    plane.create(&[objects::config_map(
        space,
        "rules",
        &[("bayplan.dev/policy", "")],
        &[("a.bay", &stamp(space))],
    )]);
    let key = "0123456789abcdef0123456789abcdef";
    plane.create(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bayplan-marks", "namespace": space},
        "stringData": {"key": key},
    })]);
    let setup = Setup::new(&load.scheduler).policies_from(space);
    let ours = SchedulerProcess::start(plane, &setup);
    let pod = |name: &str, tenant: &str| {
        objects::with_label(objects::with_label(load.pod(name, "10m"), "stamp", name), "tenant", tenant)
    };
    let labelled =
        || plane.get_json(["node", &node])["metadata"]["labels"][format!("example.com/{space}")].clone();
    let mark = |name: &str| {
        plane.get_json(["pod", name, "--namespace", space])["metadata"]["annotations"][MARK].clone()
    };
    // The pod of a tenant, on a node that the rule forbids it.
    let mut forged = pod("forged", "evil");
    forged["spec"]["nodeName"] = json!(node);
    forged["metadata"]["annotations"] = json!({ MARK: "0" });
    plane.create(&[forged]);
    wait_until("the mark is gone", SOON, || mark("forged").is_null());
    assert_eq!(labelled(), Value::Null);
    // A pod that the scheduler binds is worked off.
    plane.create(&[pod("real", "good")]);
    wait_until("the node has its label", SOON, || labelled() == "real");
    wait_until("the mark is gone", SOON, || mark("real").is_null());
    // A condition beside the others says that its work is done, so that the next process knows a copy of the mark.
    let real = plane.get_json(["pod", "real", "--namespace", space]);
    let is_true = |kind: &str| {
        let mut all = real["status"]["conditions"].as_array().unwrap().iter();
        all.any(|of| of["type"] == kind && of["status"] == "True")
    };
    assert!(is_true(MARK) && is_true("PodScheduled"), "{real:#}");
    drop(ours);
    let _next = SchedulerProcess::start(plane, &setup);
    plane.kubectl_ok(["label", "node", &node, &format!("example.com/{space}-")]);
    let uid = PodKey(Symbol::new(real["metadata"]["uid"].as_str().unwrap()));
    let proof = MarkKey::new(key.as_bytes()).unwrap().proof(&uid, &Symbol::new(&node), "stamp");
    plane.kubectl_ok(["annotate", "pod", "real", "--namespace", space, &format!("{MARK}={proof}")]);
    wait_until("the copy is gone", SOON, || mark("real").is_null());
    assert_eq!(labelled(), Value::Null);
    // What is worked off after that shows that the process writes.
    plane.create(&[pod("last", "good")]);
    wait_until("the node has its label", SOON, || labelled() == "last");
}

#[test]
fn only_the_scheduler_writes_keys_of_its_own_and_exceptions_stay_exceptions() {
    let plane = ControlPlane::start();
    for file in ["namespace", "rbac", "admission"] {
        let path = format!("{}/deploy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        plane.apply(&std::fs::read_to_string(path).unwrap());
    }
    let mut tries = 0;
    let refused = |pod: &Value| {
        let output = plane.kubectl_with_input(&["create", "-f", "-"], &pod.to_string());
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("below bayplan.dev")
    };
    let with = |name: &str, part: &str, key: &str| {
        let mut pod = objects::pod("default", name, "nobody", &[]);
        pod["metadata"][part] = json!({ key: "1" });
        pod
    };
    wait_until("the rule is in force", SOON, || {
        tries += 1;
        refused(&with(&format!("try-{tries}"), "annotations", MARK))
    });
    for (at, (part, key, taken)) in [
        ("annotations", "bayplan.dev/x", false),
        ("labels", "bayplan.dev/x", false),
        ("labels", "a.b.bayplan.dev/x", false),
        ("annotations", "example.com/bayplan.dev", true),
        ("annotations", "notbayplan.dev/x", true),
        ("labels", "bayplan.dev.example.com/x", true),
        ("labels", "app", true),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(!refused(&with(&format!("pod-{at}"), part, key)), taken, "{part} {key}");
    }
    // Neither by an update of a pod, nor of its status, nor by a Binding; and nobody takes one away.
    plane.create(&[objects::pod("default", "plain", "nobody", &[]), objects::node("n1", &[("cpu", "1")])]);
    let patch = |pod: &str, more: &[&str], value: &Value| {
        let body = json!({"metadata": {"annotations": {MARK: value}}}).to_string();
        let args = [&["patch", "pod", pod, "--type=merge", "-p", &body][..], more].concat();
        plane.kubectl_with_input(&args, "").status.success()
    };
    // kubectl reads what it patches.
    let role = ["create", "clusterrole", "reads-statuses", "--verb=get", "--resource=pods/status"];
    plane.kubectl_ok(role);
    plane.kubectl_ok([
        "create",
        "clusterrolebinding",
        "reads-statuses",
        "--clusterrole=reads-statuses",
        "--serviceaccount=bayplan:bayplan",
    ]);
    let ours = "--as=system:serviceaccount:bayplan:bayplan";
    assert!(!patch("plain", &[], &json!("1")) && !patch("plain", &["--subresource=status"], &json!("1")));
    assert!(patch("plain", &["--subresource=status", ours], &json!("1")), "the scheduler may");
    assert!(!patch("plain", &[], &Value::Null) && !patch("plain", &["--subresource=status"], &Value::Null));
    plane.kubectl_ok(["annotate", "pod", "plain", "example.com/a=b"]);
    assert!(patch("plain", &["--subresource=status", ours], &Value::Null));
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "plain", "namespace": "default", "annotations": {MARK: "1"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    });
    let file = plane.folder().join("binding.json");
    std::fs::write(&file, binding.to_string()).unwrap();
    let path = "/api/v1/namespaces/default/pods/plain/binding";
    let bind = |more: &[&str]| {
        let args = [&["create", "--raw", path, "-f", file.to_str().unwrap()][..], more].concat();
        plane.kubectl_with_input(&args, "").status.success()
    };
    assert!(!bind(&[]));
    assert!(bind(&[ours]));
    // The label of a ConfigMap with exceptions.
    let labels = [("bayplan.dev/policy", "exceptions")];
    plane.create(&[objects::config_map("bayplan-policies", "x", &labels, &[("a.bay", "")])]);
    let label = |value: &str| {
        let body = json!({"metadata": {"labels": {"bayplan.dev/policy": value}}}).to_string();
        let args =
            ["patch", "configmap", "x", "--namespace", "bayplan-policies", "--type=merge", "-p", &body];
        plane.kubectl(args).status.success()
    };
    assert!(!label("") && label("exceptions"));
    plane.kubectl_ok(["annotate", "configmap", "x", "--namespace", "bayplan-policies", "example.com/a=b"]);
}

/// In a namespace where the scheduler is required nobody steps out of policies by another scheduler, a node or a Binding.
#[test]
fn pods_name_no_other_scheduler_and_no_node_where_the_scheduler_is_required() {
    let plane = ControlPlane::start();
    for file in ["namespace", "rbac", "admission"] {
        let path = format!("{}/deploy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        plane.apply(&std::fs::read_to_string(path).unwrap());
    }
    for space in ["open", "required"] {
        plane.kubectl_ok(["create", "namespace", space]);
    }
    plane.kubectl_ok(["label", "namespace", "required", "bayplan.dev/scheduler=required"]);
    plane.create(&[objects::node("n1", &[("cpu", "1")])]);
    let pod = |space: &str, name: &str, scheduler: &str, node: Option<&str>| {
        let mut pod = objects::pod(space, name, scheduler, &[]);
        node.into_iter().for_each(|node| pod["spec"]["nodeName"] = json!(node));
        pod
    };
    let refusal = |pod: &Value, more: &[&str]| {
        let args = [&["create", "-f", "-"][..], more].concat();
        let output = plane.kubectl_with_input(&args, &pod.to_string());
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut tries = 0;
    wait_until("the rule is in force", SOON, || {
        tries += 1;
        refusal(&pod("required", &format!("try-{tries}"), "other", None), &[]).is_some()
    });
    let says = |refused: Option<String>, text: &str| {
        let refused = refused.expect("it is refused");
        assert!(refused.contains(text), "{refused}");
    };
    let no_scheduler = {
        let mut pod = pod("required", "default", "", None);
        pod["spec"].as_object_mut().unwrap().remove("schedulerName");
        pod
    };
    says(refusal(&no_scheduler, &[]), "`spec.schedulerName` is `bayplan`");
    says(refusal(&pod("required", "node", "bayplan", Some("n1")), &[]), "chooses the node");
    assert_eq!(refusal(&pod("required", "plain", "bayplan", None), &[]), None);
    assert_eq!(refusal(&pod("open", "plain", "other", Some("n1")), &[]), None, "other namespaces");
    let mut mirror = pod("required", "mirror", "bayplan", Some("n1"));
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let kubelet = ["--as=system:node:n1", "--as-group=system:nodes", "--as-group=system:masters"];
    assert_eq!(refusal(&mirror, &kubelet), None);
    let file = plane.folder().join("binding.json");
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "plain", "namespace": "required"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    });
    std::fs::write(&file, binding.to_string()).unwrap();
    let bind = |more: &[&str]| {
        let path = "/api/v1/namespaces/required/pods/plain/binding";
        let args = [&["create", "--raw", path, "-f", file.to_str().unwrap()][..], more].concat();
        plane.kubectl_with_input(&args, "").status.success()
    };
    assert!(!bind(&[]));
    assert!(bind(&["--as=system:serviceaccount:bayplan:bayplan"]));
}

/// An object for exceptions, and an older object with a policy of the same name: neither changes the policy in service.
#[test]
fn who_may_write_exceptions_or_an_older_object_does_not_change_a_policy() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "owners", 1);
    let space = load.namespace.as_str();
    let rules =
        "policy rules {\n  filter team {\n    require has(pod.labels[\"team\"]) else \"no team\"\n  }\n}\n";
    let exception = "except rules/team until 2099-01-31 because \"OPS-1: it moves\" when pod.labels[\"old\"] == \"yes\"\n";
    let policies = [("bayplan.dev/policy", "")];
    let older = |text: &str| objects::config_map(space, "older", &policies, &[("a.bay", text)]);
    plane.create(&[older("policy other {\n  filter f { require node.name != \"none\" else \"no\" }\n}\n")]);
    // Objects made in one second have one age.
    std::thread::sleep(Duration::from_millis(1_100));
    let exceptions = [("bayplan.dev/policy", "exceptions")];
    plane.create(&[
        objects::config_map(space, "rules", &policies, &[("a.bay", rules)]),
        objects::config_map(space, "exceptions", &exceptions, &[("a.bay", exception)]),
    ]);
    let setup = Setup::new(&load.scheduler).policies_from(space);
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| {
        let object = plane.get_json(["configmap", name, "--namespace", space]);
        let of = |key: &str| object["metadata"]["annotations"][key].as_str().unwrap_or_default().to_owned();
        (of("bayplan.dev/verdict"), of("bayplan.dev/status"))
    };
    wait_until("all serve", SOON, || {
        ["older", "rules", "exceptions"].iter().all(|name| verdict(name).0 == "Serving")
    });
    let write = |name: &str, text: &str| {
        let body = json!({"data": {"a.bay": text}}).to_string();
        plane.kubectl_ok(["patch", "configmap", name, "--namespace", space, "--type=merge", "-p", &body]);
    };
    let refused = |name: &str| {
        plane.create(&[load.pod(name, "10m")]);
        wait_until("the policy refuses the pod", SOON, || {
            let says = |event: &Value| event["note"].as_str().is_some_and(|note| note.contains("no team"));
            assert!(plane.node_of(space, name).is_none(), "{name} is placed");
            plane.events_about(space, name).iter().any(says)
        });
    };
    refused("before");
    write(
        "exceptions",
        &format!("{exception}\npolicy evil {{ preempt {{ victim v when v.namespace != \"a\" }} }}\n"),
    );
    wait_until("the object for exceptions is refused", SOON, || {
        let (verdict, status) = verdict("exceptions");
        verdict == "Refused" && status.contains("may hold exceptions alone")
    });
    write("older", "policy rules {\n}\n");
    wait_until("the older object waits", SOON, || {
        let (verdict, status) = verdict("older");
        verdict == "Waiting" && status.contains(&format!("is that of the object `{space}/rules`"))
    });
    refused("after");
    let old = objects::with_label(load.pod("old", "10m"), "old", "yes");
    plane.create(&[old]);
    wait_until("the exception before the edit serves", SOON, || plane.node_of(space, "old").is_some());
    // Also after a restart.
    drop(ours);
    let _next = SchedulerProcess::start(plane, &setup);
    refused("restarted");
    assert_eq!((verdict("rules").0.as_str(), verdict("older").0.as_str()), ("Serving", "Waiting"));
}
