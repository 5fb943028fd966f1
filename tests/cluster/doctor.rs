//! `bayplan doctor` on installations in which something is broken: it finds what, says what to type, and what it says to type
//! helps.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::clock::WallClock;
use crate::support::{ControlPlane, Proxy, objects, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

/// What the command said.
struct Said {
    status: i32,
    document: Value,
}

impl Said {
    /// The findings of a check.
    fn of(&self, check: &str) -> Vec<&Value> {
        self.document["findings"].as_array().unwrap().iter().filter(|of| of["check"] == check).collect()
    }

    /// Whether a finding of a check has this text.
    fn says(&self, check: &str, text: &str) -> bool {
        let has = |of: &&Value| {
            ["what", "why", "command"].iter().any(|field| of[field].as_str().unwrap().contains(text))
        };
        self.of(check).iter().any(has)
    }

    fn errors(&self) -> u64 {
        self.document["summary"]["errors"].as_u64().unwrap()
    }
}

fn doctor_with(plane: &ControlPlane, user: &str, flags: &[&str], variables: &[(String, String)]) -> Said {
    let kubeconfig = if user == "admin" { plane.kubeconfig() } else { plane.kubeconfig_of_user(user) };
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["doctor", "-o", "json", "--kubeconfig"])
        .arg(kubeconfig)
        .args(flags)
        .envs(variables.iter().cloned())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    Said { status: output.status.code().unwrap(), document }
}

fn doctor(plane: &ControlPlane, flags: &[&str]) -> Said {
    doctor_with(plane, "admin", flags, &[])
}

/// Waits until the command says something in a finding of a check.
#[track_caller]
fn found(plane: &ControlPlane, flags: &[&str], check: &str, text: &str) -> Said {
    let mut said = doctor(plane, flags);
    wait_until(&format!("`{check}` says `{text}`"), SOON, || {
        said = doctor(plane, flags);
        said.says(check, text)
    });
    said
}

/// Runs what a finding says to type.
fn typed(plane: &ControlPlane, line: &str) {
    let ran = Command::new("sh")
        .args(["-ec", line])
        .env("KUBECONFIG", plane.kubeconfig())
        .env("PATH", format!("{}:{}", folder_of_ours(), plane.path_with_kubectl()))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The folder of the program.
fn folder_of_ours() -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_bayplan"));
    program.parent().unwrap().display().to_string()
}

/// Applies manifests of `deploy`, and says that the Deployment is ready, which no controller does here.
fn apply(plane: &ControlPlane, files: &[&str]) {
    for file in files {
        let path = format!("{}/deploy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        plane.apply(&std::fs::read_to_string(path).unwrap());
    }
    let status = json!({"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}});
    plane.patch_status("bayplan", "deployment/bayplan", &status);
}

/// The pod that a process of the Deployment would have.
fn own_pod(name: &str) -> Value {
    let pod = objects::pod("bayplan", name, "default-scheduler", &[("cpu", "1m")]);
    let mut pod = objects::with_label(pod, "app.kubernetes.io/name", "bayplan");
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "bayplan-x", "uid": "1", "controller": true}]);
    pod["spec"]["nodeName"] = json!("steady");
    pod["spec"]["securityContext"] =
        json!({"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}});
    pod["spec"]["containers"][0]["securityContext"] =
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    pod
}

/// The installation of the manifests, with a process in the name of its account.
fn installation(plane: &ControlPlane, clock: &WallClock) -> SchedulerProcess {
    apply(plane, &["namespace", "rbac", "config", "deployment", "policy-example"]);
    plane.create(&[objects::node("steady", &[("cpu", "4"), ("memory", "8Gi")]), own_pod("bayplan-1")]);
    let config = plane.get_json(["configmap", "bayplan-config", "--namespace", "bayplan"]);
    let path = plane.folder().join("deployed.yaml");
    std::fs::write(&path, config["data"]["config.yaml"].as_str().unwrap()).unwrap();
    let kubeconfig = plane.kubeconfig_of_service_account("bayplan", "bayplan");
    let mut setup =
        Setup::new("bayplan").policies_from("bayplan-policies").kubeconfig(kubeconfig).config(path);
    setup = setup.variable("HOSTNAME", "bayplan-1");
    for (name, value) in clock.variables() {
        setup = setup.variable(&name, &value);
    }
    SchedulerProcess::start(plane, &setup)
}

/// Checks that an object has the documented fields of its kind.
#[track_caller]
fn as_documented(object: &Value, shape: &str) {
    let shape = bayplan::reference::SHAPES.iter().find(|it| it.name == shape).unwrap();
    let mut known: BTreeSet<&str> = shape.fields.iter().map(|(name, ..)| *name).collect();
    if !shape.printed_by.is_empty() {
        known.extend(["apiVersion", "kind"]);
    }
    let here: BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(here, known, "{object}");
}

#[test]
fn what_is_broken_in_an_installation_is_found_and_mended() {
    let plane = ControlPlane::start();
    let clock = WallClock::new();
    let ours = installation(&plane, &clock);
    let verdict = || {
        let map = plane.get_json(["configmap", "keep-spot-free", "--namespace", "bayplan-policies"]);
        map["metadata"]["annotations"]["bayplan.dev/verdict"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("the policy serves", SOON, || verdict() == "Serving");

    let sound = doctor(&plane, &[]);
    assert_eq!((sound.status, sound.errors()), (0, 0), "{:#}", sound.document);
    assert!(sound.of("rights").is_empty() && sound.of("leases").is_empty(), "{:#}", sound.document);
    // No network leads to the pod.
    assert!(sound.says("watches", "what the API server shows"), "{:#}", sound.document);
    assert!(doctor(&plane, &["--port", &ours.url()]).of("watches").is_empty());
    as_documented(&sound.document, "Diagnosis");
    as_documented(&sound.document["installations"][0], "Installation");
    as_documented(&sound.document["checks"][0], "CheckState");
    as_documented(&sound.document["findings"][0], "Finding");
    assert_eq!(sound.document["installations"][0]["schedulerNames"], json!(["bayplan"]));
    assert_eq!(sound.document["installations"][0]["lease"], "bayplan/bayplan");

    a_right_is_missing(&plane);
    a_policy_is_not_loaded(&plane);
    a_pod_waits_for_a_scheduler_that_does_not_run(&plane);
    clocks_differ(&plane, &clock);
    two_schedulers_have_one_name(&plane);
    a_kubelet_refuses_a_pod(&plane);
    no_node_is_left(&plane);
    somebody_may_read_nothing(&plane);
    it_is_to_be_removed(&plane);
}

fn a_right_is_missing(plane: &ControlPlane) {
    let role = plane.get_json(["clusterrole", "bayplan"]);
    let rules = role["rules"].as_array().unwrap().iter();
    let without: Vec<&Value> = rules.filter(|rule| rule["resources"] != json!(["pods/binding"])).collect();
    let patch = format!("--patch={}", json!({ "rules": without }));
    plane.kubectl_ok(["patch", "clusterrole", "bayplan", "--type=merge", &patch]);
    let said = found(plane, &[], "rights", "may not create pods/binding");
    assert_eq!(said.status, 1, "{:#}", said.document);
    assert!(said.says("rights", "no pod is bound"), "{:#}", said.document);
    typed(plane, said.of("rights")[0]["command"].as_str().unwrap());
    wait_until("nothing is missing", SOON, || doctor(plane, &[]).status == 0);
    // Another account has none of them, and gets the roles.
    let other = || doctor(plane, &["--as", "bayplan/other"]);
    let said = other();
    assert!(said.says("rights", "system:serviceaccount:bayplan:other lacks"), "{:#}", said.document);
    let line = said.of("rights")[0]["command"]
        .as_str()
        .unwrap()
        .replace("bayplan rbac", "bayplan rbac --name other");
    typed(plane, &line);
    wait_until("it has all", SOON, || other().of("rights").is_empty());
}

fn a_policy_is_not_loaded(plane: &ControlPlane) {
    let patch = |text: &str| {
        let patch = format!("--patch={}", json!({"data": {"keep-spot-free.bay": text}}));
        plane.kubectl_ok([
            "patch",
            "configmap",
            "keep-spot-free",
            "--namespace=bayplan-policies",
            "--type=merge",
            &patch,
        ]);
    };
    patch("policy keep-spot-free {");
    let said = found(plane, &[], "policies", "ConfigMap bayplan-policies/keep-spot-free is not in service");
    assert_eq!(said.status, 1);
    patch(
        "policy keep-spot-free {\n  filter none {\n    reject \"no\" when node.labels[\"no\"] == \"1\"\n  }\n}\n",
    );
    wait_until("it is in service again", SOON, || doctor(plane, &[]).of("policies").is_empty());
}

fn a_pod_waits_for_a_scheduler_that_does_not_run(plane: &ControlPlane) {
    plane.create(&[
        objects::pod("default", "lost", "bayplam", &[("cpu", "1m")]),
        objects::pod("default", "ours", "bayplan", &[("cpu", "1m")]),
    ]);
    let said = found(plane, &[], "unserved", "a pod waits for the scheduler `bayplam`");
    let bundle = plane.folder().join("bundle.json");
    doctor(plane, &["--bundle", bundle.to_str().unwrap()]);
    let bundle = std::fs::read_to_string(bundle).unwrap();
    assert!(
        bundle.contains("which does not run: default/name-") && bundle.contains("\"NodeResourcesFit\""),
        "{bundle}"
    );
    for name in ["lost", "bayplam", "keep-spot-free", "steady"] {
        assert!(!bundle.contains(name), "{name}: {bundle}");
    }
    assert!(said.says("unserved", "those of ours serve bayplan"), "{:#}", said.document);
    assert_eq!(said.of("unserved").len(), 1, "{:#}", said.document);
    plane.delete_pod("default", "lost");
}

fn clocks_differ(plane: &ControlPlane, clock: &WallClock) {
    let here = WallClock::new();
    here.step(3_600);
    let said = doctor_with(plane, "admin", &[], &here.variables());
    assert!(said.says("clocks", "s ahead of that of the API server"), "{:#}", said.document);
    // That of the leader.
    clock.step(600);
    let said = found(plane, &[], "clocks", "which holds the lease bayplan/bayplan");
    assert!(said.of("leases").is_empty(), "{:#}", said.document);
    clock.step(0);
    wait_until("the clocks agree", SOON, || doctor(plane, &[]).of("clocks").is_empty());
}

fn two_schedulers_have_one_name(plane: &ControlPlane) {
    let config = plane.folder().join("second.yaml");
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection:\n  \
                resourceName: second\n  resourceNamespace: default\nprofiles:\n- schedulerName: bayplan\n";
    std::fs::write(&config, text).unwrap();
    let setup = Setup::new("bayplan")
        .policies_from("bayplan-policies")
        .config(config)
        .variable("HOSTNAME", "stranger");
    let second = SchedulerProcess::start(plane, &setup);
    let said = found(plane, &[], "names", "2 schedulers serve the name `bayplan`");
    assert!(said.says("names", "stranger_") && said.says("names", "bayplan-1_"), "{:#}", said.document);
    drop(second);
    let published = ["delete", "configmap", "bayplan-configuration-second", "--namespace=bayplan-policies"];
    plane.kubectl_ok(published);
    assert!(doctor(plane, &[]).of("names").is_empty());
}

fn a_kubelet_refuses_a_pod(plane: &ControlPlane) {
    let mut pod = objects::pod("default", "refused", "bayplan", &[("cpu", "1m")]);
    pod["spec"]["nodeName"] = json!("steady");
    plane.create(&[pod]);
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let status = json!({"phase": "Failed", "reason": "OutOfcpu", "startTime": started});
    plane.patch_status("default", "pod/refused", &json!({ "status": status }));
    let said = found(plane, &[], "refused", "kubelets refused a pod in the last 6 h, placed by bayplan (1)");
    assert!(said.says("refused", "OutOfcpu (1), on steady (1)"), "{:#}", said.document);
    assert!(
        said.says("refused", "others have pods on these nodes: default-scheduler (1)"),
        "{:#}",
        said.document
    );
    typed(plane, said.of("refused")[0]["command"].as_str().unwrap());
    plane.kubectl_ok(["delete", "pod", "refused", "--force", "--grace-period=0"]);
    assert!(doctor(plane, &[]).of("refused").is_empty());
}

fn no_node_is_left(plane: &ControlPlane) {
    let change = |operation: Value| {
        let patch = format!("--patch={}", json!([operation]));
        plane.kubectl_ok(["patch", "deployment", "bayplan", "--namespace=bayplan", "--type=json", &patch]);
    };
    let args = "/spec/template/spec/containers/0/args";
    let deployment = plane.get_json(["deployment", "bayplan", "--namespace", "bayplan"]);
    let before = deployment.pointer(args).unwrap().as_array().unwrap().len();
    change(json!({"op": "add", "path": format!("{args}/-"), "value": "--nodes=pool=gpu"}));
    let said = found(
        plane,
        &[],
        "nodes",
        "`--nodes pool=gpu` of bayplan/deploy/bayplan matches no node; the cluster has 1",
    );
    assert_eq!(said.status, 1, "{:#}", said.document);
    assert!(said.says("nodes", "no node has the label `pool`"), "{:#}", said.document);
    typed(plane, said.of("nodes")[0]["command"].as_str().unwrap());
    plane.kubectl_ok(["label", "node", "steady", "pool=gpu"]);
    assert!(doctor(plane, &[]).errors() == 0 && doctor(plane, &[]).of("nodes").len() < 2);
    change(json!({"op": "remove", "path": format!("{args}/{before}")}));
}

fn somebody_may_read_nothing(plane: &ControlPlane) {
    let said = doctor_with(plane, "nobody", &[], &[]);
    assert_eq!(said.status, 0, "{:#}", said.document);
    let access = said.of("access");
    let resources: BTreeSet<&str> = access.iter().map(|of| of["what"].as_str().unwrap()).collect();
    assert_eq!(resources.len(), access.len(), "each once: {:#}", said.document);
    assert!(said.says("access", "you may not list pods") && said.says("access", "--user=nobody"));
    let left_out =
        said.document["checks"].as_array().unwrap().iter().filter(|of| of["state"] == "leftOut").count();
    assert!(left_out > 5, "{:#}", said.document);
}

fn it_is_to_be_removed(plane: &ControlPlane) {
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"schedulerName": "bayplan", "containers": [{"name": "c", "image": "pause"}]},
    });
    plane.create(&[
        objects::pod("default", "huge", "bayplan", &[("cpu", "900")]),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
        }),
    ]);
    plane.kubectl_ok(["label", "namespace", "default", "bayplan.dev/scheduler=required"]);
    apply(plane, &["admission"]);
    assert!(doctor(plane, &[]).of("templates").is_empty(), "only before a removal");
    let said = doctor(plane, &["--before-removal"]);
    assert_eq!(said.status, 1, "{:#}", said.document);
    assert!(said.says("waiting", "default/huge") && said.says("templates", "deployment default/web"));
    assert!(said.says("takeover", "no process holds the lease kube-system/kube-scheduler"));
    assert!(said.says("remains", "validatingadmissionpolicies/bayplan-keys"), "{:#}", said.document);
    assert!(said.says("remains", "secret/bayplan-marks --namespace bayplan"), "{:#}", said.document);
    for check in ["templates", "waiting", "remains"] {
        for of in said.of(check) {
            typed(plane, of["command"].as_str().unwrap());
        }
    }
    let said = doctor(plane, &["--before-removal"]);
    assert!(said.of("templates").is_empty() && said.of("waiting").is_empty(), "{:#}", said.document);
    assert!(!said.says("remains", "namespaces require"), "{:#}", said.document);
}

#[test]
fn a_watch_that_brings_nothing_is_seen_at_the_port() {
    let plane = ControlPlane::start();
    let proxy = Proxy::start(plane.port());
    let kubeconfig = plane.kubeconfig_through(&proxy, "admin");
    let setup = Setup::new("stale").kubeconfig(kubeconfig).flag("--watch-max-age=8s");
    let ours = SchedulerProcess::start(&plane, &setup);
    let port = ours.url();
    let flags = ["--port", port.as_str(), "--policy-namespaces="];
    assert!(doctor(&plane, &flags).of("watches").is_empty());
    proxy.hang(true);
    let said = found(&plane, &flags, "watches", "is stale");
    assert!(said.status == 1 && said.says("watches", &port), "{:#}", said.document);
    proxy.hang(false);
    drop(ours);
    let said = doctor(&plane, &flags);
    assert!(said.says("watches", "does not answer here"), "{:#}", said.document);
}

#[test]
fn a_standby_that_took_the_lease_is_named_with_the_way_back() {
    let plane = ControlPlane::start();
    apply(&plane, &["instead/namespace", "instead/rbac", "instead/config", "instead/deployment"]);
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    plane.create(&[
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
            "spec": {"holderIdentity": "master-1_7c1f", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now},
        }),
        own_pod("bayplan-1"),
    ]);
    let said = doctor(&plane, &[]);
    assert_eq!(said.status, 1, "{:#}", said.document);
    assert!(
        said.says("leases", "master-1_7c1f holds the lease kube-system/kube-scheduler"),
        "{:#}",
        said.document
    );
    assert!(said.says("leases", "mv /etc/kubernetes/manifests/kube-scheduler.yaml"), "{:#}", said.document);
    assert!(said.says("own-pods", "without a kube-scheduler on standby"), "{:#}", said.document);
    // For people.
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(["doctor", "--kubeconfig"])
        .arg(plane.kubeconfig())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("bayplan/deploy/bayplan serves default-scheduler, bayplan"), "{text}");
    assert!(text.contains("\nerror leases: ") && text.contains("\n  $ mv "), "{text}");
}

/// The real kube-scheduler on standby of the lease. What `doctor` says to type is run with another folder for
/// `/etc/kubernetes`, and the test is the kubelet that ends and starts kube-scheduler as its manifest goes and comes.
#[test]
fn a_kube_scheduler_on_standby_takes_over_and_the_lease_is_taken_back() {
    let plane = ControlPlane::start();
    apply(&plane, &["instead/namespace", "instead/rbac", "instead/config", "instead/deployment"]);
    plane.create(&[objects::node("steady", &[("cpu", "4"), ("memory", "8Gi")]), own_pod("bayplan-1")]);
    let soon = [
        "--leader-elect-lease-duration=6s",
        "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s",
    ];
    let replica = || {
        let config = plane.get_json(["configmap", "bayplan-config", "--namespace", "bayplan"]);
        let path = plane.folder().join("instead.yaml");
        std::fs::write(&path, config["data"]["config.yaml"].as_str().unwrap()).unwrap();
        let kubeconfig = plane.kubeconfig_of_service_account("bayplan", "bayplan");
        let setup =
            Setup::new("bayplan").policies_from("bayplan-policies").kubeconfig(kubeconfig).config(path);
        let setup =
            soon.iter().fold(setup.variable("HOSTNAME", "bayplan-1"), |setup, flag| setup.flag(*flag));
        SchedulerProcess::start(&plane, &setup)
    };
    let standby = || {
        let flags: Vec<&str> = ["--leader-elect=true"].into_iter().chain(soon).collect();
        plane.start_kube_scheduler_with("", &flags)
    };
    let place = |name: &str| {
        plane.create(&[objects::pod("default", name, "default-scheduler", &[("cpu", "1m")])]);
        wait_until(&format!("{name} is bound"), SOON, || plane.node_of("default", name).is_some());
    };

    let mut ours = replica();
    wait_until("a replica leads", SOON, || ours.said().contains("became leader"));
    let mut kube = standby();
    place("by-a-replica");
    let sound = doctor(&plane, &[]);
    assert!(sound.of("leases").is_empty(), "{:#}", sound.document);

    ours.daemon.kill();
    place("by-the-standby");
    let holder = || {
        let lease = plane.get_json(["lease", "kube-scheduler", "--namespace", "kube-system"]);
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    assert!(!holder().starts_with("bayplan"), "{}", holder());
    let said = found(&plane, &[], "leases", "holds the lease kube-system/kube-scheduler");
    assert_eq!(said.status, 1, "{:#}", said.document);
    assert!(
        said.says("leases", "kube-scheduler was on standby of the lease and took over"),
        "{:#}",
        said.document
    );
    // A replica that comes back waits.
    let ours = replica();
    wait_until("it waits", SOON, || {
        ours.said().contains("waiting for the lease, which another instance holds")
    });

    let etc = plane.folder().join("etc");
    let manifest = etc.join("manifests/kube-scheduler.yaml");
    std::fs::create_dir_all(etc.join("manifests")).unwrap();
    std::fs::write(&manifest, "").unwrap();
    let line = said.of("leases")[0]["command"].as_str().unwrap();
    let line = line.replace("/etc/kubernetes", &etc.display().to_string());
    let back = std::thread::scope(|scope| {
        let typing = scope.spawn(|| typed(&plane, &line));
        wait_until("the manifest is moved away", SOON, || !manifest.exists());
        kube.daemon.terminate();
        kube.daemon.wait_exit(SOON).expect("kube-scheduler ends");
        wait_until("the manifest is back", SOON, || manifest.exists());
        typing.join().expect("the command ends");
        standby()
    });
    assert!(holder().starts_with("bayplan-1"), "{}", holder());
    place("by-a-replica-again");
    assert!(doctor(&plane, &[]).of("leases").is_empty());
    assert!(holder().starts_with("bayplan-1"), "{}:\n{}", holder(), back.daemon.log_tail(20));
}
