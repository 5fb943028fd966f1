//! `before bind` and `after bind` on a real API server that refuses, throttles and forbids writes.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, HttpProxy, Rule, User, objects, wait_until};
use crate::workload::Workload;
use http::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

/// A policy with one block that annotates the pod.
fn checked(block: &str, value: &str) -> String {
    format!(
        "/// Notes something on the pod.\npolicy checked {{\n  applies when has(pod.labels[\"checked\"])\n  {block} {{\n    \
         annotate pod {{\"example.com/checked\": {value}}}\n  }}\n}}\n"
    )
}

fn map(load: &Workload<'_>, text: &str) -> Value {
    objects::config_map(&load.namespace, "rules", &[("bayplan.dev/policy", "")], &[("rules.bay", text)])
}

fn pod(load: &Workload<'_>, name: &str, cpu: &str) -> Value {
    objects::with_label(load.pod(name, cpu), "checked", "yes")
}

fn annotation(plane: &ControlPlane, space: &str, pod: &str, key: &str) -> Option<String> {
    let pod = plane.get_json(["pod", pod, "--namespace", space]);
    pod["metadata"]["annotations"][key].as_str().map(str::to_owned)
}

fn says(plane: &ControlPlane, space: &str, pod: &str, text: &str) -> bool {
    let events = plane.events_about(space, pod);
    events.iter().any(|event| event["note"].as_str().is_some_and(|note| note.contains(text)))
}

/// The admission of the API server refuses every pod of a namespace that has the annotation.
fn refuse(plane: &ControlPlane, space: &str) {
    let group = "admissionregistration.k8s.io";
    plane.create(&[
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ValidatingAdmissionPolicy", "metadata": {"name": space},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
                    "resourceRules": [{
                        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"],
                    }],
                },
                "validations": [{
                    "expression": "!has(object.metadata.annotations) || !('example.com/checked' in \
                                   object.metadata.annotations)",
                    "message": "nothing is checked today",
                }],
            },
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": space}, "spec": {"policyName": space, "validationActions": ["Deny"]},
        }),
    ]);
    let mut probe = objects::pod(space, "probe", "nobody", &[]);
    probe["metadata"]["labels"] = json!({"probe": "yes"});
    plane.create(&[probe]);
    wait_until("the admission policy is in force", SOON, || {
        let note = "example.com/checked=probe";
        !plane
            .kubectl(["annotate", "pod", "probe", note, "--overwrite", "--namespace", space])
            .status
            .success()
    });
}

#[test]
fn a_write_before_bind_that_admission_refuses_unreserves_the_pod_until_it_is_allowed() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "refused", 1);
    let space = load.namespace.as_str();
    plane.create(&[map(&load, &checked("before bind", "node.name"))]);
    refuse(plane, space);
    let _ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
    plane.create(&[pod(&load, "a", "3")]);
    wait_until("the refusal is an event", SOON, || says(plane, space, "a", "nothing is checked today"));
    assert_eq!(plane.node_of(space, "a"), None);

    // It gave its node back: a pod that needs the room is bound.
    plane.create(&[load.pod("other", "3")]);
    wait_until("another pod gets the room", SOON, || plane.node_of(space, "other").is_some());
    assert_eq!(plane.node_of(space, "a"), None);

    // It goes on when its write is allowed.
    plane.kubectl_ok(["delete", "validatingadmissionpolicybinding", space]);
    plane.kubectl_ok(["delete", "validatingadmissionpolicy", space]);
    plane.delete_pod(space, "other");
    wait_until("the pod is bound", SOON, || plane.node_of(space, "a").is_some());
    let node = plane.node_of(space, "a");
    assert_eq!(annotation(plane, space, "a", "example.com/checked"), node, "written before the binding");
}

#[test]
fn throttled_and_conflicting_writes_are_made_again() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "again-writes", 1);
    let space = load.namespace.as_str();
    let both = format!(
        "{}\n{}",
        checked("before bind", "node.name"),
        checked("after bind", "node.name")
            .replace("policy checked", "policy later")
            .replace("/checked", "/later")
    );
    plane.create(&[map(&load, &both)]);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig);
    let ours = SchedulerProcess::start(plane, &setup);
    let written = |name: &str| {
        wait_until(&format!("{name} is bound and noted"), SOON, || {
            let node = plane.node_of(space, name);
            node.is_some()
                && annotation(plane, space, name, "example.com/checked") == node
                && annotation(plane, space, name, "example.com/later") == node
                && annotation(plane, space, name, "after-bind.bayplan.dev/later").is_none()
        });
    };
    // 429: the call is sent again, and the attempt does not fail.
    proxy.rule(Rule::throttles(Method::PATCH, "/pods/slow", 1).times(1));
    plane.create(&[pod(&load, "slow", "100m")]);
    written("slow");
    let patches = proxy.seen(&Method::PATCH, "/pods/slow");
    assert_eq!(patches.first().map(|seen| seen.ruled), Some(Some(429)), "{patches:?}");
    assert!(!says(plane, space, "slow", "checked"), "no attempt fails because of 429");

    // 409 before the binding: the attempt fails, and the next one binds the pod.
    proxy.pass_all();
    proxy.rule(
        Rule::fails(Method::PATCH, "/pods/clash", 409, "Conflict", "the object has been modified").times(1),
    );
    plane.create(&[pod(&load, "clash", "100m")]);
    wait_until("the conflict is an event", SOON, || says(plane, space, "clash", "409 Conflict"));
    written("clash");

    // An error of the server: its outcome is unknown, and the write is made again.
    proxy.pass_all();
    proxy.rule(Rule::fails(Method::PATCH, "/pods/lost", 500, "InternalError", "an error").times(1));
    plane.create(&[pod(&load, "lost", "100m")]);
    written("lost");
    assert_eq!(ours.said().matches("panicked").count(), 0, "{}", ours.said());
}

/// Annotations of an object have at most 256 KiB together. The policy copies what the pod brings.
#[test]
fn annotations_beyond_their_limit_hold_up_their_own_pod_only() {
    let plane = ControlPlane::shared();
    for block in ["before bind", "after bind"] {
        let load = Workload::new(plane, "long", 1);
        let space = load.namespace.as_str();
        plane.create(&[map(&load, &checked(block, "pod.annotations[\"example.com/own\"] ?? \"none\""))]);
        let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
        let mut long = pod(&load, "long", "100m");
        // Of a longer value nothing is kept, and 256 KiB hold 17 of these.
        let brings = |name: &str| (format!("example.com/{name}"), json!("x".repeat(15_000)));
        let mut all: serde_json::Map<String, Value> =
            (0..16).map(|at| brings(&format!("other-{at}"))).collect();
        all.extend([brings("own")]);
        long["metadata"]["annotations"] = Value::Object(all);
        plane.create(&[long]);
        wait_until(&format!("{block}: the limit is named"), SOON, || {
            says(plane, space, "long", "Too long") || says(plane, space, "long", "must have at most")
        });
        plane.create(&[pod(&load, "short", "100m")]);
        wait_until(&format!("{block}: the other pod is bound"), SOON, || {
            annotation(plane, space, "short", "example.com/checked").as_deref() == Some("none")
                && plane.node_of(space, "short").is_some()
        });
        assert_eq!(plane.node_of(space, "long").is_some(), block == "after bind", "{block}");
        assert!(annotation(plane, space, "long", "example.com/checked").is_none());
        assert!(!ours.said().contains("panicked"), "{}", ours.said());
    }
}

/// The rules of roles as `bayplan plan` prints them for a policy: those of the scheduler, and those of the account in whose
/// name policies write.
fn planned(plane: &ControlPlane, text: &str, space: &str) -> [Vec<Value>; 2] {
    let policy = plane.folder().join(format!("{space}.bay"));
    std::fs::write(&policy, text).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["plan", "-o", "json"])
        .arg(&policy)
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let words = |text: &str, of: &str| -> Vec<String> {
        let list = text.split(&format!("{of}: [")).nth(1).unwrap().split(']').next().unwrap();
        list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect()
    };
    let rule = |text: &str| json!({"apiGroups": words(text, "apiGroups"), "resources": words(text, "resources"), "verbs": words(text, "verbs")});
    ["rights", "rightsOfPolicies"].map(|field| {
        let rights = plan["policies"][0][field].as_array().unwrap();
        rights.iter().map(|right| rule(right.as_str().unwrap())).collect()
    })
}

/// One rule for each resource and verb.
fn single(rules: &[Value]) -> Vec<Value> {
    let texts = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for rule in rules {
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                all.push(json!({"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": [verb]}));
            }
        }
    }
    all
}

/// An account with the shipped roles and more rules, as a kubeconfig; and the account of policies with its rules.
fn account(plane: &ControlPlane, space: &str, more: &[Value], of_policies: &[Value]) -> std::path::PathBuf {
    let path = format!("{}/deploy/rbac.yaml", env!("CARGO_MANIFEST_DIR"));
    let shipped = plane.kubectl_ok(["create", "--dry-run=client", "-o", "json", "-f", &path]);
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(&shipped).into_iter::<Value>().map(Result::unwrap).collect();
    let objects = objects.into_iter().flat_map(|of| match of["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![of],
    });
    let (mut cluster, mut own): (Vec<Value>, Vec<Value>) = (more.to_vec(), Vec::new());
    for role in objects {
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        match role["kind"].as_str() {
            Some("ClusterRole") => cluster.extend(rules),
            Some("Role") => own.extend(rules),
            _ => {}
        }
    }
    let group = "rbac.authorization.k8s.io";
    let mut all = vec![json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bayplan", "namespace": space},
    })];
    let writer = format!("{space}-writer");
    for (kind, name, rules) in [
        ("ClusterRole", space, cluster),
        ("Role", space, own),
        ("ClusterRole", writer.as_str(), of_policies.to_vec()),
    ] {
        let account = if name == space { "bayplan" } else { "bayplan-policies" };
        let metadata =
            json!({"name": name, "namespace": if kind == "Role" { json!(space) } else { Value::Null }});
        all.push(
            json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata, "rules": rules}),
        );
        all.push(json!({
            "apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": space}],
        }));
    }
    plane.create(&all);
    plane.kubeconfig_of_service_account(space, "bayplan")
}

#[test]
fn the_rights_that_plan_prints_for_writes_are_enough_and_each_is_needed() {
    let plane = ControlPlane::shared();
    let text = |space: &str| {
        format!(
            "/// Writes to its pod, its node and its class.\npolicy writer {{\n  let class = \
             lookup(\"PriorityClass\", pod.labels[\"class\"] ?? \"\")\n  before bind {{\n    annotate node \
             {{\"example.com/{space}\": pod.name}}\n    patch node {{\"status\": {{\"capacity\": \
             {{\"example.com/{space}\": \"1\"}}}}}}\n  }}\n  after bind {{\n    label pod {{\"written\": \"yes\"}}\n    \
             annotate class {{\"example.com/{space}\": pod.name}}\n    event class normal \"Used\" \"it is used\"\n    \
             event pod normal \"Written\" \"all is written\"\n  }}\n}}\n"
        )
    };
    let [rights, of_policies] = planned(plane, &text("x"), "planned-x").map(|rules| single(&rules));
    let rules: Vec<Value> = rights.iter().chain(&of_policies).cloned().collect();
    assert!(rules.len() >= 7, "{rules:#?}");
    for without in std::iter::once(None).chain((0..rules.len()).map(Some)) {
        let load = Workload::new(plane, "planned", 1);
        let space = load.namespace.as_str();
        let granted = |of: std::ops::Range<usize>| -> Vec<Value> {
            of.filter(|at| Some(*at) != without).map(|at| rules[at].clone()).collect()
        };
        // A second event of a series is written minutes later.
        if without.is_some_and(|at| rules[at]["resources"][0] == "events" && rules[at]["verbs"][0] == "patch")
        {
            continue;
        }
        let kubeconfig =
            account(plane, space, &granted(0..rights.len()), &granted(rights.len()..rules.len()));
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": space}, "value": 1,
        });
        plane.create(&[map(&load, &text(space)), class]);
        let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig);
        let setup = setup.flag(format!("--policy-service-account={space}/bayplan-policies"));
        let ours = SchedulerProcess::start(plane, &setup);
        plane.create(&[objects::with_label(load.pod("a", "100m"), "class", space)]);
        let done = || {
            let Some(node) = plane.node_of(space, "a") else { return false };
            let pod = plane.get_json(["pod", "a", "--namespace", space]);
            let class = plane.get_json(["priorityclass", space]);
            pod["metadata"]["labels"]["written"] == "yes"
                && plane.get_json(["node", &node])["status"]["capacity"][format!("example.com/{space}")]
                    == "1"
                && class["metadata"]["annotations"][format!("example.com/{space}")] == "a"
                && says(plane, space, "a", "all is written")
                && plane.get_json(["events.events.k8s.io", "--namespace", "default"])["items"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|event| event["regarding"]["name"] == space))
        };
        match without.map(|at| &rules[at]) {
            None => {
                wait_until("all is written", SOON, done);
                assert!(!ours.said().contains("forbidden"), "{}", ours.said());
            }
            Some(rule) => {
                let (verb, resource) = (&rule["verbs"][0], &rule["resources"][0]);
                let named =
                    format!("cannot {} resource \"{}\"", verb.as_str().unwrap(), resource.as_str().unwrap());
                wait_until(&format!("the log names {rule}"), SOON, || {
                    ours.said().replace('\\', "").contains(&named)
                        || says(plane, space, "a", &named)
                        || plane.get_json(["configmap", "rules", "--namespace", space])["metadata"]["annotations"]
                            .to_string()
                            .replace('\\', "")
                            .contains(&format!("resources: [\"{}\"]", resource.as_str().unwrap()))
                });
                // Without a watch the scheduler lists again and again.
                assert!(verb == "watch" || !done(), "{rule} is not needed");
            }
        }
    }
}

/// A custom kind with a status of its own.
fn requests(group: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("requests.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Request", "listKind": "RequestList", "plural": "requests", "singular": "request"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// The field managers of an object that apply, with the subresource.
fn appliers(object: &Value) -> Vec<(String, String)> {
    let all = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |of: &Value, field: &str| of[field].as_str().unwrap_or_default().to_owned();
    let all = all.iter().filter(|of| of["operation"] == "Apply");
    let mut all: Vec<_> = all.map(|of| (text(of, "manager"), text(of, "subresource"))).collect();
    all.sort();
    all
}

#[test]
fn a_patch_is_all_that_a_policy_wants_of_an_object() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "applied", 1);
    let space = load.namespace.as_str();
    let group = format!("{space}.example.com");
    plane.create(&[requests(&group)]);
    let request = |name: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Request",
            "metadata": {"name": name, "namespace": space}, "spec": {"kept": true, "node": "elsewhere"},
        })
    };
    wait_until("the kind is served", SOON, || {
        plane.kubectl(["get", &format!("requests.{group}")]).status.success()
    });
    plane.create(&[request("r")]);
    let text = format!(
        "/// Answers requests.\npolicy answers {{\n  applies when has(pod.labels[\"checked\"])\n  let request = \
         lookup(\"{group}/v1/Request\", pod.namespace, pod.labels[\"request\"] ?? \"\") missing skip\n  before bind {{\n    \
         patch request {{\"spec\": {{\"node\": node.name, \"zone\": pod.labels[\"zone\"], \"cpu\": pod.requests.cpu, \
         \"names\": [pod.name]}},\n      \"status\": {{\"phase\": \"Placed\"}}}}\n  }}\n  after bind {{\n    patch node \
         {{\"metadata\": {{\"labels\": {{\"example.com/last\": pod.name}}}}, \"status\": {{\"capacity\": \
         {{\"example.com/answers\": \"1\"}}}}}}\n  }}\n}}\n"
    );
    plane.create(&[map(&load, &text)]);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig);
    let ours = SchedulerProcess::start(plane, &setup);
    // How often the API server was asked for the resource of the kind.
    let discovered = || {
        let root = format!("/apis/{group}/v1");
        let seen = proxy.seen(&Method::GET, &root);
        seen.iter().filter(|seen| seen.path.split('?').next() == Some(root.as_str())).count()
    };
    let asking = |name: &str, request: &str, zone: Option<&str>| {
        let mut pod = objects::with_label(pod(&load, name, "100m"), "request", request);
        if let Some(zone) = zone {
            pod = objects::with_label(pod, "zone", zone);
        }
        plane.create(&[pod]);
    };
    let resource = format!("requests.{group}");
    let found = |name: &str| plane.get_json([&resource, name, "--namespace", space, "--show-managed-fields"]);

    asking("one", "r", Some("a"));
    wait_until("the first pod is bound", SOON, || plane.node_of(space, "one").is_some());
    let (node, first) = (plane.node_of(space, "one").unwrap(), found("r"));
    let wanted = json!({"kept": true, "node": node, "zone": "a", "cpu": "100m", "names": ["one"]});
    assert_eq!((&first["spec"], &first["status"]), (&wanted, &json!({"phase": "Placed"})), "{first:#}");
    let manager = || "bayplan/answers".to_owned();
    assert_eq!(appliers(&first), [(manager(), String::new()), (manager(), "status".to_owned())], "{first:#}");
    wait_until("the node is patched, and the mark is gone", SOON, || {
        let of = plane.get_json(["node", &node, "--show-managed-fields"]);
        of["metadata"]["labels"]["example.com/last"] == "one"
            && of["status"]["capacity"]["example.com/answers"] == "1"
            && appliers(&of).len() == 2
            && annotation(plane, space, "one", "after-bind.bayplan.dev/answers").is_none()
    });

    // What is left out now is removed; what others want stays.
    let before = discovered();
    assert!(before > 0);
    asking("two", "r", None);
    wait_until("the second pod is bound", SOON, || plane.node_of(space, "two").is_some());
    assert_eq!(discovered(), before, "the resource is known");
    let wanted = json!({"kept": true, "node": node, "cpu": "100m", "names": ["two"]});
    assert_eq!(found("r")["spec"], wanted);

    // A kind whose status is no part of its own: the refusal says so, and the pod is not bound.
    plane.kubectl_ok([
        "patch",
        "crd",
        &resource,
        "--type=json",
        "-p",
        r#"[{"op": "remove", "path": "/spec/versions/0/subresources"}]"#,
    ]);
    asking("three", "r", None);
    wait_until("the missing status is an event", SOON, || {
        says(plane, space, "three", "has no subresource `status`")
    });
    assert_eq!(plane.node_of(space, "three"), None);
    wait_until("the resource is asked for again, as nothing was found", SOON, || discovered() > before);
    assert_eq!(ours.said().matches("panicked").count(), 0, "{}", ours.said());
}

/// A patch names the UID, so that the API server does not make an object again that is gone.
#[test]
fn a_patch_of_an_object_that_is_gone_makes_none() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "gone", 1);
    let space = load.namespace.as_str();
    let text = "/// Marks budgets.\npolicy budgets {\n  applies when has(pod.labels[\"checked\"])\n  let budget = \
                lookup(\"policy/v1/PodDisruptionBudget\", pod.namespace, \"b\")\n  before bind {\n    patch budget \
                {\"metadata\": {\"labels\": {\"example.com/pod\": pod.name}}}\n  }\n}\n";
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": space},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"none": "none"}}},
    });
    plane.create(&[map(&load, text), budget]);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(kubeconfig);
    let ours = SchedulerProcess::start(plane, &setup);
    plane.create(&[pod(&load, "a", "100m")]);
    wait_until("the budget is patched", SOON, || {
        let of = plane.get_json(["poddisruptionbudget", "b", "--namespace", space]);
        of["metadata"]["labels"]["example.com/pod"] == "a"
    });

    // The outcome of the patch stays unknown until the budget is gone; then it is sent again.
    let path = "/poddisruptionbudgets/b";
    proxy.rule(Rule::fails(Method::PATCH, path, 500, "InternalError", "an error").times(5));
    plane.create(&[pod(&load, "b", "100m")]);
    wait_until("a patch was sent", SOON, || {
        proxy.seen(&Method::PATCH, path).iter().any(|seen| seen.ruled == Some(500))
    });
    plane.kubectl_ok(["delete", "poddisruptionbudget", "b", "--namespace", space]);
    wait_until("the API server refused it", SOON, || says(plane, space, "b", "before bind: writing to"));
    wait_until("the pod is bound, as nothing is to be patched", SOON, || plane.node_of(space, "b").is_some());
    assert!(!plane.kubectl(["get", "poddisruptionbudget", "b", "--namespace", space]).status.success());
    assert_eq!(ours.said().matches("panicked").count(), 0, "{}", ours.said());
}
