//! Policies that look objects up on a real API server: a kind that comes later, a right that is granted later, objects
//! that change, and a CustomResourceDefinition that changes under a policy in service.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::http_proxy::{HttpProxy, Rule};
use crate::support::{ControlPlane, User, objects, wait_until};
use crate::workload::Workload;
use http::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

fn annotation(plane: &ControlPlane, namespace: &str, name: &str, key: &str) -> String {
    let object = plane.get_json(["configmap", name, "--namespace", namespace]);
    object["metadata"]["annotations"][format!("bayplan.dev/{key}")].as_str().unwrap_or_default().to_owned()
}

/// A definition of desks whose room has a type.
fn definition(group: &str, room: &str) -> Value {
    let spec = json!({"type": "object", "properties": {"room": {"type": room}, "note": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("desks.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Desk", "listKind": "DeskList", "plural": "desks", "singular": "desk"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn policy(group: &str) -> String {
    format!(
        "/// Pods work at a desk with room.\npolicy desk {{\n  applies when has(pod.labels[\"desk\"])\n  let desk = \
         lookup(\"{group}/v1/Desk\", pod.namespace, pod.labels[\"desk\"] ?? \"\") missing reject \"the desk does not exist\"\n  \
         let room = desk.spec.room ?? 0\n  prefilter {{ reject \"the desk is full\" when room < 1 }}\n}}\n"
    )
}

const OTHER: &str = "/// Nothing on hot nodes.\npolicy heat {\n  filter cool {\n    reject \"too hot\" when node.labels[\"heat\"] == \"hot\"\n  }\n}\n";

/// A service account with every right but those on the group of the desks; its kubeconfig.
pub(crate) fn account(plane: &ControlPlane, namespace: &str) -> std::path::PathBuf {
    let rbac = "rbac.authorization.k8s.io";
    let groups =
        ["", "apps", "policy", "storage.k8s.io", "resource.k8s.io", "coordination.k8s.io", "events.k8s.io"];
    let subjects = json!([{"kind": "ServiceAccount", "name": "bayplan", "namespace": namespace}]);
    plane.create(&[
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bayplan", "namespace": namespace}}),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": namespace},
            "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": namespace},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": namespace}, "subjects": subjects,
        }),
    ]);
    plane.kubeconfig_of_service_account(namespace, "bayplan")
}

/// The rules of a role that `bayplan plan` prints for a policy.
fn planned_rights(plane: &ControlPlane, text: &str, definition: &Value) -> Vec<Value> {
    let (policy, schema) = (plane.folder().join("desk.bay"), plane.folder().join("desk-schema.json"));
    std::fs::write(&policy, text).unwrap();
    std::fs::write(&schema, definition.to_string()).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["plan", "-o", "json", "--schema"])
        .args([&schema])
        .arg("--")
        .args([&policy])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let rights = plan["policies"][0]["rights"].as_array().unwrap().clone();
    let words = |text: &str, of: &str| -> Vec<String> {
        let list = text.split(&format!("{of}: [")).nth(1).unwrap().split(']').next().unwrap();
        list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect()
    };
    let rule = |text: &str| json!({"apiGroups": words(text, "apiGroups"), "resources": words(text, "resources"), "verbs": words(text, "verbs")});
    rights.iter().map(|right| rule(right.as_str().unwrap())).collect()
}

#[test]
fn a_policy_waits_for_its_kind_and_its_right_alone_and_follows_its_definition() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "desks", 2);
    let space = load.namespace.as_str();
    let group = format!("{space}.example.com");
    let map = |name: &str, text: &str| {
        objects::config_map(space, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
    };
    plane.create(&[map("desk", &policy(&group)), map("heat", OTHER)]);
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(account(plane, space));
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| annotation(plane, space, name, "verdict");
    let status = || annotation(plane, space, "desk", "status");
    wait_until("the other policy serves", SOON, || verdict("heat") == "Serving");
    wait_until("the policy waits", SOON, || verdict("desk") == "Waiting");
    assert!(status().contains("no such kind"), "{}", status());
    wait_until("its pods wait too", SOON, || status().contains("the pods of desk wait"));
    let at_desk = |name: &str, desk: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({ "desk": desk });
        pod
    };
    plane.create(&[load.pod("free", "10m"), at_desk("early", "a")]);
    wait_until("a pod of another policy is bound", SOON, || plane.node_of(space, "free").is_some());
    assert_eq!(plane.node_of(space, "early"), None, "its policy waits");

    // The kind is there, and the right is missing.
    let desks = definition(&group, "integer");
    plane.create(std::slice::from_ref(&desks));
    wait_until("the missing right is named", SOON, || status().contains("add this rule to the role"));
    assert_eq!((verdict("desk").as_str(), verdict("heat").as_str()), ("Waiting", "Serving"));
    let rbac = "rbac.authorization.k8s.io";
    let name = format!("{space}-desks");
    plane.create(&[
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": planned_rights(plane, &policy(&group), &desks),
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "bayplan", "namespace": space}],
        }),
    ]);
    wait_until("the policy serves", SOON, || verdict("desk") == "Serving");

    // Objects come and change.
    let says = |pod: &str, text: &str| {
        wait_until(&format!("{pod} says {text}"), SOON, || {
            let events = plane.events_about(space, pod);
            events.iter().any(|event| event["note"].as_str().is_some_and(|note| note.contains(text)))
        });
    };
    says("early", "the desk does not exist");
    let desk = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Desk", "metadata": {"name": "a", "namespace": space},
        "spec": {"room": 0},
    });
    plane.create(&[desk]);
    says("early", "the desk is full");
    let resource = format!("desks.{group}");
    let patch = |spec: Value| {
        let patch = json!({ "spec": spec }).to_string();
        plane.kubectl_ok(["patch", &resource, "a", "--namespace", space, "--type=merge", "-p", &patch]);
    };
    patch(json!({"room": 1}));
    wait_until("the pod is bound", SOON, || plane.node_of(space, "early").is_some());

    // The definition changes so that the policy does not check: it goes on with the types that it had.
    let revision = annotation(plane, space, "desk", "revision");
    let changed = json!({"spec": {"versions": definition(&group, "string")["spec"]["versions"]}}).to_string();
    plane.kubectl_ok(["patch", "crd", &resource, "--type=merge", "-p", &changed]);
    wait_until("the policy is refused", SOON, || verdict("desk") == "Refused");
    assert!(status().contains("BP0103"), "{}", status());
    assert_eq!(annotation(plane, space, "desk", "revision"), revision, "the same text serves");
    assert_eq!(verdict("heat"), "Serving");
    plane.create(&[at_desk("late", "none")]);
    says("late", "the desk does not exist");
    let back = json!({"spec": {"versions": desks["spec"]["versions"]}}).to_string();
    plane.kubectl_ok(["patch", "crd", &resource, "--type=merge", "-p", &back]);
    wait_until("the policy serves again", SOON, || verdict("desk") == "Serving");
    drop(ours);
    plane.kubectl_ok(["delete", "crd", &resource]);
}

/// A policy by which the pods of a team share a quota object.
fn quota(group: &str, name: &str, applies: &str) -> String {
    format!(
        "policy {name} {{\n  {applies}\n  let team = pod.labels[\"{name}\"] ?? \"\"\n  let quota = \
         lookup(\"{group}/v1/Desk\", pod.namespace, team) missing reject \"no quota\"\n  ledger used: int by \
         pod.labels[\"{name}\"] ?? \"\" {{ add 1 }}\n  prefilter {{ reject \"the quota is used up\" when used[team] >= \
         (quota.spec.room ?? 0) }}\n}}\n"
    )
}

#[test]
fn after_a_restart_the_pods_of_a_quota_wait_while_its_kind_cannot_be_read() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "restart", 2);
    let space = load.namespace.as_str();
    let group = format!("{space}.example.com");
    plane.create(&[definition(&group, "integer")]);
    plane.kubectl_ok([
        "wait",
        "--for=condition=Established",
        "crd",
        &format!("desks.{group}"),
        "--timeout=60s",
    ]);
    let desk = |name: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Desk", "metadata": {"name": name, "namespace": space},
            "spec": {"room": 1},
        })
    };
    let map = |name: &str, text: &str| {
        objects::config_map(space, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
    };
    plane.create(&[
        desk("a"),
        map("quota", &quota(&group, "quota", "applies when has(pod.labels[\"quota\"])")),
    ]);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = || plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig());
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| annotation(plane, space, name, "verdict");
    wait_until("the quota serves", SOON, || verdict("quota") == "Serving");
    let of_team = |name: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({"quota": "a"});
        pod
    };
    plane.create(&[of_team("first")]);
    wait_until("a pod has the quota", SOON, || plane.node_of(space, "first").is_some());
    let history = "bayplan-history-quota";
    wait_until("the text is kept", SOON, || {
        plane.kubectl(["get", "configmap", history, "--namespace", space]).status.success()
    });
    drop(ours);

    // Its objects answer 503: a conversion that fails, or a server that is away.
    let unavailable = |part: &str| Rule::fails(Method::GET, part, 503, "ServiceUnavailable", "not now");
    proxy.rule(unavailable(&format!("/apis/{group}/v1/desks")));
    plane.create(&[of_team("second"), load.pod("free", "10m")]);
    let ours = SchedulerProcess::start(plane, &setup);
    wait_until("a pod of no policy is bound", SOON, || plane.node_of(space, "free").is_some());
    let status = || annotation(plane, space, "quota", "status");
    wait_until("the policy says what its pods wait for", SOON, || {
        status().contains("the pods of quota wait")
    });
    plane.create(&[of_team("third"), load.pod("free-2", "10m")]);
    wait_until("another one is bound", SOON, || plane.node_of(space, "free-2").is_some());
    std::thread::sleep(Duration::from_secs(5));
    for pod in ["second", "third"] {
        assert_eq!(plane.node_of(space, pod), None, "{pod} waits for its policy:\n{}", ours.said());
    }
    assert!(verdict("quota") == "Waiting" && status().contains("503"), "{}", status());

    // The objects are there again: the quota decides, and a larger one lets one more pod in.
    proxy.pass_all();
    wait_until("the quota serves again", SOON, || verdict("quota") == "Serving");
    plane.create(&[load.pod("free-3", "10m")]);
    wait_until("it goes on", SOON, || plane.node_of(space, "free-3").is_some());
    assert!(plane.node_of(space, "second").is_none() && plane.node_of(space, "third").is_none());
    let patch = json!({"spec": {"room": 3}}).to_string();
    let resource = format!("desks.{group}");
    plane.kubectl_ok(["patch", &resource, "a", "--namespace", space, "--type=merge", "-p", &patch]);
    wait_until("both are bound", SOON, || {
        ["second", "third"].iter().all(|pod| plane.node_of(space, pod).is_some())
    });
    drop(ours);

    // Without `applies when` it is about all pods, and so they all wait.
    plane.create(&[map("all", &quota(&group, "all", ""))]);
    let ours = SchedulerProcess::start(plane, &setup);
    wait_until("the other quota serves", SOON, || verdict("all") == "Serving");
    let history = "bayplan-history-all";
    wait_until("its text is kept", SOON, || {
        plane.kubectl(["get", "configmap", history, "--namespace", space]).status.success()
    });
    drop(ours);
    // Not even its types can be read.
    proxy.rule(unavailable(&format!("/apis/{group}")));
    plane.create(&[load.pod("late", "10m")]);
    let ours = SchedulerProcess::start(plane, &setup);
    let status = || annotation(plane, space, "all", "status");
    wait_until("all pods wait", SOON, || status().contains("the pods of all wait"));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(plane.node_of(space, "late"), None);
    drop(ours);
    plane.kubectl_ok(["delete", "crd", &resource]);
}

#[test]
fn a_policy_that_reads_further_fields_leaves_the_others_their_objects() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "further", 1);
    let space = load.namespace.as_str();
    let group = format!("{space}.example.com");
    let resource = format!("desks.{group}");
    plane.create(&[definition(&group, "integer")]);
    plane.kubectl_ok(["wait", "--for=condition=Established", "crd", &resource, "--timeout=60s"]);
    let map = |name: &str, text: &str| {
        objects::config_map(space, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
    };
    plane.create(&[
        map("desk", &policy(&group)),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Desk", "metadata": {"name": "a", "namespace": space},
            "spec": {"room": 0, "note": "n"},
        }),
    ]);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig);
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| annotation(plane, space, name, "verdict");
    wait_until("the policy serves", SOON, || verdict("desk") == "Serving");
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    let age = format!("bayplan_watch_age_seconds{{kind=\"{group}/v1/Desk\"}} ");
    assert!(metrics.lines().any(|line| line.starts_with(&age)), "{metrics}");

    let list = format!("/apis/{group}/v1/desks?limit=");
    proxy.rule(Rule::fails(Method::GET, &list, 503, "ServiceUnavailable", "not now"));
    let notes = policy(&group).replace("policy desk", "policy notes").replace("\"desk\"", "\"notes\"");
    let notes = notes.replace("let room = desk.spec.room ?? 0", "let note = desk.spec.note ?? \"\"");
    let notes = notes.replace("when room < 1", "when note == \"\"");
    plane.create(&[map("notes", &notes)]);
    let status = || annotation(plane, space, "notes", "status");
    wait_until("it says why it waits", SOON, || {
        status().contains("further fields") && status().contains("503")
    });
    let mut pod = load.pod("early", "10m");
    pod["metadata"]["labels"] = json!({"desk": "a"});
    plane.create(&[pod]);
    wait_until("the first policy decides", SOON, || {
        let events = plane.events_about(space, "early");
        events
            .iter()
            .any(|event| event["note"].as_str().is_some_and(|note| note.contains("the desk is full")))
    });
    let patch = json!({"spec": {"room": 1}}).to_string();
    plane.kubectl_ok(["patch", &resource, "a", "--namespace", space, "--type=merge", "-p", &patch]);
    wait_until("it follows its object", SOON, || plane.node_of(space, "early").is_some());
    assert_eq!((verdict("desk").as_str(), verdict("notes").as_str()), ("Serving", "Waiting"));
    proxy.pass_all();
    wait_until("the other one serves too", SOON, || verdict("notes") == "Serving");
    drop(ours);
    plane.kubectl_ok(["delete", "crd", &resource]);
}
