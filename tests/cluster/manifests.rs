//! Applies the manifests of `deploy/` unchanged, and runs the scheduler with the rights of its
//! service account.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::binaries::as_said;
use crate::support::{ControlPlane, objects, wait_until};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn the_manifests_give_the_scheduler_the_rights_it_needs() {
    let plane = ControlPlane::start();
    for file in ["namespace", "rbac", "flowschemas", "config", "deployment", "policy-example"] {
        let path = format!("{}/deploy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        plane.apply(&std::fs::read_to_string(path).unwrap());
    }
    let kubeconfig = plane.kubeconfig_of_service_account("bayplan", "bayplan");
    let config = plane.get_json(["configmap", "bayplan-config", "--namespace", "bayplan"]);
    let path = plane.folder().join("deployed.yaml");
    std::fs::write(&path, config["data"]["config.yaml"].as_str().unwrap()).unwrap();
    let setup =
        Setup::new("bayplan").policies_from("bayplan-policies").kubeconfig(kubeconfig).config(path.clone());
    let mut ours = SchedulerProcess::start(&plane, &setup);
    wait_until("it leads", SOON, || ours.said().contains("became leader"));

    let room = [("cpu", "4"), ("memory", "8Gi")];
    plane.create(&[
        objects::with_label(objects::node("spot", &room), "node-kind", "spot"),
        objects::with_label(
            objects::node("steady", &[("cpu", "100m"), ("memory", "1Gi")]),
            "node-kind",
            "steady",
        ),
    ]);
    let database = |name: &str| {
        objects::with_label(objects::pod("default", name, "bayplan", &[("cpu", "80m")]), "tier", "database")
    };
    plane.create(&[database("first")]);
    wait_until("it is bound", SOON, || plane.node_of("default", "first").is_some());
    assert_eq!(plane.node_of("default", "first").unwrap(), "steady");
    // The steady node is full and the policy refuses the spot node, so condition and event are
    // written.
    plane.create(&[database("second")]);
    wait_until("the event", SOON, || !plane.events_about("default", "second").is_empty());
    let note = plane.events_about("default", "second").remove(0)["note"].as_str().unwrap().to_owned();
    assert_eq!(
        note,
        as_said(
            "0/2 nodes are available: 1 Insufficient cpu, 1 database pods do not run on spot nodes. preemption: 0/2 nodes \
             are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
        )
    );
    explained(&plane);
    apart(&plane);
    wait_until("the verdict on the example", SOON, || {
        let map = plane.get_json(["configmap", "keep-spot-free", "--namespace", "bayplan-policies"]);
        map["metadata"]["annotations"]["bayplan.dev/verdict"] == "Serving"
    });
    wait_until("the history is written", SOON, || {
        let args = ["get", "configmap", "bayplan-history-keep-spot-free", "--namespace", "bayplan-policies"];
        plane.kubectl(args).status.success()
    });
    prioritized(&plane);
    // The API server allows the admin to read the metrics.
    assert!(plane.get_from(&ours.url(), "/metrics").is_some());
    ours.daemon.terminate();
    assert_eq!(ours.daemon.wait_exit(SOON).and_then(|it| it.code()), Some(0), "{}", ours.daemon.log_tail(20));
    assert!(ours.said().contains("released the lease"), "{}", ours.daemon.log_tail(20));
    let refused: Vec<String> =
        ours.said().lines().filter(|line| line.contains("forbidden")).map(str::to_owned).collect();
    assert!(refused.is_empty(), "rights are missing:\n{}", refused.join("\n"));
}

/// The roles for users of the commands are enough to explain the scheduler's decisions.
fn explained(plane: &ControlPlane) {
    plane.kubectl_ok(["create", "serviceaccount", "asker", "--namespace", "default"]);
    let account = "--serviceaccount=default:asker";
    plane.kubectl_ok(["create", "clusterrolebinding", "asker", "--clusterrole=bayplan-reader", account]);
    let role = "--role=bayplan-policy-reader";
    plane.kubectl_ok(["create", "rolebinding", "asker", role, account, "--namespace", "bayplan-policies"]);
    let published = "bayplan-configuration-bayplan";
    wait_until("the configuration is published", SOON, || {
        plane.kubectl(["get", "configmap", published, "--namespace", "bayplan-policies"]).status.success()
    });
    let explain = |namespaces: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
            .args(["explain", "second", namespaces, "--kubeconfig"])
            .arg(plane.kubeconfig_of_service_account("default", "asker"))
            .args(["--policies", "deploy/policy-example.yaml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    // Where nobody publishes, and where one may not read it, the way out is said.
    let (told, errors) = explain("--policy-namespaces=kube-system");
    assert!(told.contains("no profile is called `bayplan`"), "{told}");
    assert!(
        errors.contains("the scheduler's configuration cannot be read: ") && errors.contains("--config FILE"),
        "{errors}"
    );
    assert!(errors.contains("resources: [\"configmaps\"], verbs: [\"list\"]"), "{errors}");
    let (told, errors) = explain("--policy-namespaces=");
    assert!(told.contains("no profile is called `bayplan`"), "{told}");
    assert!(errors.contains("no scheduler has published its configuration: "), "{errors}");

    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["explain", "second", "--kubeconfig"])
        .arg(plane.kubeconfig_of_service_account("default", "asker"))
        .output()
        .unwrap();
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !errors.contains("forbidden"), "{errors}");
    let from = "the configuration is that of the scheduler ";
    assert!(errors.contains(from) && errors.contains("ConfigMap bayplan-policies/"), "{errors}");
    assert!(told.starts_with("default/second waits: none of 2 nodes fits."), "{told}");
    assert!(
        told.contains("database pods do not run on spot nodes  bayplan-policies/keep-spot-free "),
        "{told}"
    );
}

/// Authors of policies reach neither the configuration nor other namespaces, and the scheduler may
/// not write its own configuration.
fn apart(plane: &ControlPlane) {
    plane.kubectl_ok(["create", "serviceaccount", "author", "--namespace", "default"]);
    let (role, account) = ("--role=bayplan-policy-author", "--serviceaccount=default:author");
    plane.kubectl_ok(["create", "rolebinding", "author", role, account, "--namespace", "bayplan-policies"]);
    let may = |user: &str, verb: &str, namespace: &str| {
        let account = format!("--as=system:serviceaccount:{user}");
        let asked = plane.kubectl(["auth", "can-i", verb, "configmaps", "--namespace", namespace, &account]);
        String::from_utf8_lossy(&asked.stdout).trim() == "yes"
    };
    for verb in ["get", "create", "update", "patch", "delete"] {
        assert!(may("default:author", verb, "bayplan-policies"), "{verb}");
        assert!(!may("default:author", verb, "bayplan") && !may("default:author", verb, "default"), "{verb}");
        assert!(!may("bayplan:bayplan", verb, "bayplan"), "the scheduler may {verb} its configuration");
    }
}

/// The API server gives the calls the priority levels of kube-scheduler.
fn prioritized(plane: &ControlPlane) {
    wait_until("both flow schemas match calls", SOON, || {
        let metrics = plane.kubectl_ok(["get", "--raw", "/metrics"]);
        [("bayplan-leader-election", "leader-election"), ("bayplan", "workload-high")].iter().all(
            |(schema, level)| {
                let labels = format!("{{flow_schema=\"{schema}\",priority_level=\"{level}\"}}");
                let name = format!("apiserver_flowcontrol_dispatched_requests_total{labels} ");
                metrics.lines().any(|line| line.strip_prefix(&name).is_some_and(|count| count != "0"))
            },
        )
    });
}
