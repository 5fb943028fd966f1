//! Mistakes at the start of `bayplan run`: each ends with a clear message and an exit status, never
//! a panic. Also missing rights and unusual objects, which must not stop a running scheduler.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, control_plane::free_port, objects, wait_until};
use crate::workload::Workload;
use serde_json::json;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// Starts a scheduler and waits for its end; returns its log.
#[track_caller]
fn fails(plane: &ControlPlane, setup: &Setup) -> String {
    let mut ours = SchedulerProcess::spawn(plane, setup);
    let ended = ours.daemon.wait_exit(Duration::from_secs(60)).expect("it ends");
    let said = ours.said();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

#[test]
fn wrong_connections_and_flags_are_explained() {
    let plane = ControlPlane::shared();
    let setup = Setup::new("mistakes");
    let said = fails(plane, &setup.clone().kubeconfig("/no/such/kubeconfig".into()));
    assert!(said.contains("cannot use the kubeconfig `/no/such/kubeconfig`"), "{said}");
    let said = fails(plane, &setup.clone().kubeconfig(plane.write_kubeconfig("expired", "old-token")));
    assert!(said.contains("is the token expired?"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let said = fails(plane, &setup.clone().flag(format!("--secure-port={port}")));
    assert!(said.contains("another process uses it"), "{said}");
    let said = fails(plane, &setup.clone().flag("--feature-gates=NoSuchGate=true"));
    assert!(said.contains("unrecognized feature gate: NoSuchGate"), "{said}");
    let said = fails(plane, &setup.clone().flag("--policies=/no/such/folder"));
    assert!(said.contains("cannot read policies from `/no/such/folder`"), "{said}");
}

#[test]
fn missing_rights_come_with_the_rule_to_add() {
    let plane = ControlPlane::shared();
    let setup = Setup::new("rightless").kubeconfig(plane.kubeconfig_of_user("nobody"));
    let ours = SchedulerProcess::spawn(plane, &setup);
    wait_until("it says which", SOON, || {
        let said = ours.said();
        ["pods", "nodes", "namespaces"].iter().all(|resource| {
            said.contains(&format!("resources: [\\\"{resource}\\\"], verbs: [\\\"list\\\", \\\"watch\\\"]"))
        })
    });
    assert!(plane.get_from(&ours.url(), "/readyz").is_none(), "it is not ready");
    assert_eq!(plane.get_from(&ours.url(), "/livez").as_deref(), Some("ok"), "but lives");
}

#[test]
fn a_server_that_does_not_answer_ends_the_start_with_its_address() {
    let plane = ControlPlane::shared();
    let config = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let closed = plane.folder().join("unreachable.kubeconfig");
    let port = free_port();
    std::fs::write(&closed, config.replace(&plane.port().to_string(), &port.to_string())).unwrap();
    let began = Instant::now();
    let said = fails(plane, &Setup::new("unreachable").kubeconfig(closed));
    assert!(began.elapsed() < Duration::from_secs(45), "it took {:?}", began.elapsed());
    let server = format!("cannot reach the API server https://127.0.0.1:{port}: ");
    assert!(said.contains(&server) && said.contains("refused"), "{said}");
}

#[test]
fn sigterm_is_heard_while_the_server_does_not_answer() {
    let plane = ControlPlane::shared();
    let config = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let closed = plane.folder().join("unreachable-at-start.kubeconfig");
    std::fs::write(&closed, config.replace(&plane.port().to_string(), &free_port().to_string())).unwrap();
    let mut ours = SchedulerProcess::spawn(plane, &Setup::new("early").kubeconfig(closed));
    wait_until("it tries", SOON, || ours.said().contains("cannot reach the API server"));
    ours.daemon.terminate();
    let ended = ours.daemon.wait_exit(Duration::from_secs(5)).expect("it ends at once");
    assert_eq!(ended.code(), Some(0), "{}", ours.daemon.log_tail(20));
}

#[test]
fn it_waits_for_a_lease_that_another_program_holds_and_names_the_holder() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "held", 1);
    plane.create(&[json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": load.scheduler, "namespace": load.namespace},
        "spec": {
            "holderIdentity": "somebody-else", "leaseDurationSeconds": 3600, "leaseTransitions": 4,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        },
    })]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let mut ours = SchedulerProcess::start(plane, &setup);
    wait_until("it says who", SOON, || {
        let said = ours.said();
        said.contains("waiting for the lease, which another instance holds") && said.contains("somebody-else")
    });
    load.create_pods(1, "10m");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(load.bound(), 0, "it binds nothing");
    let lease = plane.get_json(["lease", &load.scheduler, "--namespace", &load.namespace]);
    assert_eq!(lease["spec"]["holderIdentity"], "somebody-else");
    assert!(ours.daemon.is_running());
    plane.kubectl_ok(["delete", "lease", &load.scheduler, "--namespace", &load.namespace]);
    load.wait_bound(1, SOON);
}

#[test]
fn without_the_right_to_namespaces_only_policies_that_read_them_wait() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "unnamed", 1);
    let namespace = &load.namespace;
    plane.kubectl_ok(["create", "serviceaccount", "narrow", "--namespace", namespace]);
    let account = format!("--serviceaccount={namespace}:narrow");
    let may = |role: &str, verbs: &str, resources: &str| {
        let name = format!("{namespace}-{role}");
        let rule = [format!("--verb={verbs}"), format!("--resource={resources}")];
        plane.kubectl_ok(["create", "clusterrole", &name, &rule[0], &rule[1]]);
        plane.kubectl_ok(["create", "clusterrolebinding", &name, &format!("--clusterrole={name}"), &account]);
    };
    may("reads", "get,list,watch", &format!("pods,nodes,configmaps,{}", objects::other_resources()));
    may("writes", "create,patch", "pods/binding,pods/status,configmaps,events,events.events.k8s.io");
    let kubeconfig = plane.kubeconfig_of_service_account(namespace, "narrow");
    let verdict = |name: &str| {
        let object = plane.get_json(["configmap", name, "--namespace", namespace]);
        object["metadata"]["annotations"]["bayplan.dev/verdict"].as_str().unwrap_or_default().to_owned()
    };
    // InterPodAffinity needs namespaces itself.
    let config = plane.folder().join("without-affinity.yaml");
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {{leaderElect: \
         false}}\nprofiles:\n- schedulerName: {}\n  plugins:\n    multiPoint:\n      disabled: [{{name: \
         InterPodAffinity}}]\n",
        load.scheduler
    );
    std::fs::write(&config, text).unwrap();
    let setup = Setup::new(&load.scheduler).policies_from(namespace).kubeconfig(kubeconfig).config(config);
    let ours = SchedulerProcess::start(plane, &setup);
    assert!(ours.said().contains("resources: [\\\"namespaces\\\"], verbs: [\\\"list\\\", \\\"watch\\\"]"));
    load.create_pods(1, "10m");
    load.wait_bound(1, SOON);
    let text = "policy closed {\n  filter open { reject \"the namespace is closed\" when ns.labels[\"closed\"] == \"yes\" }\n}\n";
    plane.create(&[objects::config_map(
        namespace,
        "closed",
        &[("bayplan.dev/policy", "true")],
        &[("policy.bay", text)],
    )]);
    wait_until("it says what the policy lacks", SOON, || {
        ours.said().contains("policy `closed` reads namespaces, and they cannot be watched")
    });
    wait_until("and on the object", SOON, || verdict("closed") == "Waiting");
    // Another policy comes into service meanwhile.
    let other = "policy small {\n  filter few { reject \"too large\" when pod.requests.cpu > 20m }\n}\n";
    let label = [("bayplan.dev/policy", "")];
    plane.create(&[objects::config_map(namespace, "small", &label, &[("policy.bay", other)])]);
    wait_until("the other one serves", SOON, || verdict("small") == "Serving");
    plane.kubectl_ok(["label", "namespace", namespace, "closed=yes"]);
    load.create_pods(1, "10m");
    load.wait_bound(2, SOON);
    // A scheduler that starts with such a policy is ready, and has the other one.
    let late = SchedulerProcess::start(plane, &setup);
    assert!(late.said().contains("policies=1 objects=2"), "{}", late.daemon.log_tail(20));
    drop(late);
    // With the right the policy is in service, and pods wait for it.
    may("namespaces", "list,watch", "namespaces");
    wait_until("it serves", Duration::from_secs(60), || {
        ours.said().contains("policies=2 objects=2") && verdict("closed") == "Serving"
    });
    load.create_pods(1, "10m");
    wait_until("the gate is said", SOON, || {
        let pods = load.pods();
        pods.iter().any(|pod| pod.to_string().contains("the namespace is closed"))
    });
    assert_eq!(load.bound(), 2);
}

/// A service account that may read everything that decisions need, and write nothing.
fn reader(plane: &ControlPlane, namespace: &str) -> std::path::PathBuf {
    plane.kubectl_ok(["create", "serviceaccount", "reader", "--namespace", namespace]);
    let role = format!("{namespace}-reader");
    let resources = format!("--resource=pods,nodes,namespaces,configmaps,{}", objects::other_resources());
    plane.kubectl_ok(["create", "clusterrole", &role, "--verb=get,list,watch", &resources]);
    let account = format!("--serviceaccount={namespace}:reader");
    plane.kubectl_ok(["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &account]);
    plane.kubeconfig_of_service_account(namespace, "reader")
}

#[test]
fn rights_that_are_missed_later_come_with_verb_and_resource() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "mute", 1);
    let kubeconfig = reader(plane, &load.namespace);
    // Without rights to the lease.
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).kubeconfig(kubeconfig);
    let mut standby = SchedulerProcess::spawn(plane, &setup.clone().elects());
    wait_until("it says what it may not", SOON, || {
        let said = standby.said();
        said.contains("cannot take the lease") && said.contains("cannot get resource \\\"leases\\\"")
    });
    assert!(standby.daemon.is_running());
    drop(standby);
    // Without rights to bindings.
    let mut ours = SchedulerProcess::spawn(plane, &setup);
    load.create_pods(1, "10m");
    wait_until("it says what it may not, and the rule to add", SOON, || {
        let said = ours.said();
        said.contains("cannot create resource \\\"pods/binding\\\"")
            && said.contains("resources: [\\\"pods/binding\\\"], verbs: [\\\"create\\\"]")
            && said.contains("resources: [\\\"events\\\"], verbs: [\\\"create\\\", \\\"patch\\\"]")
    });
    assert_eq!(load.bound(), 0);
    assert!(ours.daemon.is_running(), "{}", ours.daemon.log_tail(20));
}

#[test]
fn pods_that_fit_nowhere_do_not_delay_others() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "strange", 1);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler));
    // The API server accepts it, because it checks the number of values, not the values.
    let mut strange = load.pod("strange", "10m");
    strange["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["many"]}]}]}}});
    let mut others = load.pod("others", "10m");
    others["spec"]["schedulerName"] = json!("nobody-serves-this");
    plane.create(&[
        strange,
        others,
        objects::pod(&load.namespace, "huge", &load.scheduler, &[("cpu", "9000")]),
    ]);
    load.create_pods(3, "10m");
    load.wait_bound(3, SOON);
    let note = |name: &str| {
        wait_until(&format!("an event about `{name}`"), SOON, || {
            !plane.events_about(&load.namespace, name).is_empty()
        });
        plane.events_about(&load.namespace, name).remove(0)["note"].as_str().unwrap().to_owned()
    };
    assert!(
        note("strange").contains("node(s) didn't match Pod's node affinity/selector"),
        "{}",
        note("strange")
    );
    assert!(note("huge").contains("Insufficient cpu"), "{}", note("huge"));
    assert!(
        plane.events_about(&load.namespace, "others").is_empty(),
        "the pod of another scheduler gets no event"
    );
    assert_eq!(plane.node_of(&load.namespace, "others"), None);
    assert!(!ours.said().contains("panicked"));
}

#[test]
fn config_maps_of_a_mebibyte_get_a_verdict_and_delay_no_pod() {
    const MEBIBYTE: usize = 1 << 20;
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "large", 1);
    let filled = |begin: &str, part: &str, end: &str| {
        let room = MEBIBYTE - begin.len() - end.len();
        let mut middle = part.repeat(room / part.len());
        middle.push_str(&" ".repeat(room - middle.len()));
        format!("{begin}{middle}{end}")
    };
    let rule = "filter f { reject \"no\" when node.labels[\"never\"] == \"yes\" }\n}\n";
    let texts = [
        ("comments", filled("policy comments {\n", "  // nothing to see here\n", rule), "Serving"),
        ("garbage", filled("", "polcy x { fliter ", ""), "Refused"),
        ("brackets", filled("policy p { filter f { require ", "(", ""), "Refused"),
        ("letters", filled("policy p { filter f { require ", "a", " } }"), "Refused"),
    ];
    let maps = texts.iter().map(|(name, text, _)| {
        assert_eq!(text.len(), MEBIBYTE);
        objects::config_map(&load.namespace, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
    });
    plane.create(&maps.collect::<Vec<_>>());
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    load.create_pods(3, "10m");
    load.wait_bound(3, SOON);
    for (name, _, verdict) in &texts {
        wait_until(&format!("the verdict on `{name}`"), SOON, || {
            let map = plane.get_json(["configmap", name, "--namespace", &load.namespace]);
            map["metadata"]["annotations"]["bayplan.dev/verdict"] == *verdict
        });
    }
    let longest = ours.said().lines().map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 10_000), "a line of the log has {longest:?} bytes");
}
