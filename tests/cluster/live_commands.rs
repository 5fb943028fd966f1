//! Commands on a live cluster, also as a plugin of kubectl. They print the same as for files of
//! that cluster, need only rights to read, use the policies in service, and end soon with a clear
//! message if something is wrong.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, Proxy, control_plane::free_port, daemon::Folder, objects, wait_until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(30);
/// Maximum time of a command until it reports that the server does not answer.
const BOUND: Duration = Duration::from_secs(25);

/// The result of a command.
struct Ended {
    status: i32,
    out: String,
    err: String,
}

/// Runs a command with an empty home and no kubeconfig, unless `environment` names one.
fn command(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let home = Folder::new("home");
    let output = Command::new(program)
        .args(arguments)
        .env("HOME", home.path())
        .env_remove("KUBECONFIG")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    // The warning about missing plugins does not depend on the cluster.
    let of_cluster = err.lines().filter(|line| !line.starts_with("warning: plugins of the default profile"));
    let ended = Ended {
        status: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: of_cluster.map(|line| format!("{line}\n")).collect(),
    };
    assert!(!ended.err.contains("panicked"), "{arguments:?}: {}", ended.err);
    ended
}

fn bayplan(arguments: &[&str]) -> Ended {
    command(Path::new(env!("CARGO_BIN_EXE_bayplan")), arguments, &[])
}

/// The output of a command that must succeed.
#[track_caller]
fn said(arguments: &[&str]) -> String {
    let ended = bayplan(arguments);
    assert_eq!(ended.status, 0, "{arguments:?}: {}", ended.err);
    ended.out
}

/// The error message of a command that must fail.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let ended = bayplan(arguments);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
    ended.err
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The text without the commands at its end, which repeat the flags of this one.
fn without_next(text: &str) -> String {
    let answer = text.split("\nNext: ").next().unwrap_or(text);
    format!("{}\n", answer.trim_end())
}

/// The command that the text suggests for one node.
fn next_for_a_node(text: &str) -> &str {
    let (_, next) = text.split_once("Next: ").unwrap();
    // A command and what it does stand three blanks apart.
    let mut commands = next.lines().map(|line| line.trim().split("   ").next().unwrap());
    commands.find(|command| command.contains(" --node ")).unwrap()
}

/// The kubeconfig of a service account with these rights in all namespaces.
fn someone(plane: &ControlPlane, name: &str, verbs: &str, resources: &str) -> PathBuf {
    plane.kubectl_ok(["create", "serviceaccount", name, "--namespace", "default"]);
    let (verbs, resources) = (format!("--verb={verbs}"), format!("--resource={resources}"));
    plane.kubectl_ok(["create", "clusterrole", name, &verbs, &resources]);
    let (role, account) = (format!("--clusterrole={name}"), format!("--serviceaccount=default:{name}"));
    plane.kubectl_ok(["create", "clusterrolebinding", name, &role, &account]);
    plane.kubeconfig_of_service_account("default", name)
}

/// Creates four nodes, running pods, and pods that wait for different reasons.
fn fill(plane: &ControlPlane) -> (String, Vec<&'static str>) {
    let namespace = plane.create_namespace("shop");
    plane.create_nodes("rack", 4, &[("cpu", "4"), ("memory", "8Gi")]);
    plane.kubectl_ok(["label", "node", "rack-1", "disk=ssd"]);
    plane.kubectl_ok(["taint", "node", "rack-2", "dedicated=batch:NoSchedule"]);
    let pod = |name: &str, cpu: &str| objects::pod(&namespace, name, "default-scheduler", &[("cpu", cpu)]);
    let mut running = pod("running", "3");
    running["spec"]["nodeName"] = json!("rack-1");
    let mut ended = pod("ended", "1");
    ended["spec"]["nodeName"] = json!("rack-1");
    let mut picky = pod("picky", "2");
    picky["spec"]["nodeSelector"] = json!({ "disk": "ssd" });
    let mut gated = pod("gated", "1");
    gated["spec"]["schedulingGates"] = json!([{ "name": "example.com/quota" }]);
    let mut others = pod("others", "1");
    others["spec"]["schedulerName"] = json!("nobody-serves-this");
    plane.create(&[running, ended, picky, gated, others, pod("huge", "64"), pod("fits", "1")]);
    let status = json!({ "status": { "phase": "Succeeded" } }).to_string();
    let of =
        ["pod", "ended", "--namespace", &namespace, "--subresource=status", "--type=merge", "-p", &status];
    plane.kubectl_with_input(&[&["patch"], &of[..]].concat(), "");
    (namespace, vec!["running", "picky", "gated", "others", "huge", "fits"])
}

/// All objects of the kinds that the commands read.
fn everything(plane: &ControlPlane) -> String {
    plane.kubectl_ok(["get", "nodes,pods,namespaces,configmaps,events", "-A", "-o", "json"])
}

#[test]
fn commands_print_the_same_for_a_live_cluster_as_for_its_files() {
    let plane = ControlPlane::start();
    let (namespace, pods) = fill(&plane);
    let resources = format!("pods,nodes,namespaces,configmaps,{}", objects::other_resources());
    let kubeconfig = someone(&plane, "reader", "get,list,watch", &resources);
    let yaml = plane.kubectl_ok(["get", "nodes,pods,namespaces", "-A", "-o", "yaml"]);
    let file = plane.folder().join("cluster.yaml");
    std::fs::write(&file, yaml).unwrap();
    let before = everything(&plane);
    let (live, files) = (["--kubeconfig", text(&kubeconfig)], ["--cluster", text(&file)]);
    let saved = plane.folder().join("saved.json");
    let told = bayplan(&["snapshot", "-o", text(&saved), live[0], live[1]]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{}", told.err);
    assert!(told.err.starts_with("reading ") && told.err.contains(": 4 nodes, "), "{}", told.err);
    let saved = ["--cluster", text(&saved)];
    let both = |arguments: &[&str]| {
        let of = |from: [&str; 2]| without_next(&said(&[arguments, &from].concat()));
        let (live, files, saved) = (of(live), of(files), of(saved));
        assert_eq!(live, files, "{arguments:?}");
        assert_eq!(live, saved, "{arguments:?}: the snapshot");
        live
    };

    for pod in &pods {
        let full_name = format!("{namespace}/{pod}");
        let told = both(&["explain", &full_name]);
        assert!(told.starts_with(&full_name), "{told}");
        assert_eq!(both(&["explain", pod, "-n", &namespace]), told);
        both(&["explain", &full_name, "--all"]);
        both(&["explain", &full_name, "-o", "json"]);
    }
    let told = both(&["explain", "picky"]);
    assert!(told.contains("waits: none of 4 nodes fits"), "{told}");
    both(&["explain", "picky", "--node", "rack-1"]);
    // A pod that has ended takes no room: `explain` knows it, and a snapshot leaves it out.
    // Of a live cluster it is read by its name and namespace.
    for from in [live, files] {
        let told = said(&[&["explain", "ended", "-n", &namespace], &from[..]].concat());
        assert_eq!(told, format!("{namespace}/ended has succeeded on rack-1\n"));
    }
    let told = refused(&["explain", "ended", saved[0], saved[1]]);
    assert!(told.contains("no pod that waits or runs is called `ended`"), "{told}");
    let told = both(&["dry-run"]);
    assert!(told.contains("5 pods: 1 placed, 2 wait, 1 gated, 1 of another scheduler. 4 nodes"), "{told}");
    both(&["dry-run", "-o", "json", "--all-nodes"]);
    both(&["eval", "node.free.cpu", "--node", "rack-1"]);
    both(&["eval", "pod.requests.cpu <= node.free.cpu", "--node", "rack-1", "--pod", "fits"]);

    // The suggested next command is for this cluster, and works as printed.
    let told = said(&["explain", "picky", live[0], live[1]]);
    let next = next_for_a_node(&told).strip_prefix("bayplan ").unwrap();
    assert!(next.contains(&format!("--kubeconfig {}", text(&kubeconfig))), "{next}");
    let arguments: Vec<&str> = next.split(' ').collect();
    assert!(said(&arguments).contains("refused by"), "{next}");
    let more = plane.folder().join("more.yaml");
    std::fs::write(&more, objects::pod(&namespace, "more", "default-scheduler", &[("cpu", "1")]).to_string())
        .unwrap();
    let told = said(&["dry-run", "--pods", text(&more), live[0], live[1]]);
    assert!(told.contains("6 pods: 2 placed"), "{told}");

    assert_eq!(everything(&plane), before, "nothing was written");
}

/// More nodes than a page has, policies of the cluster with an object that they look up, and an account that may not read all.
#[test]
fn a_snapshot_of_a_cluster_decides_as_the_cluster_does() {
    let plane = ControlPlane::start();
    let namespace = plane.create_namespace("shop");
    plane.create_nodes("rack", 510, &[("cpu", "4"), ("memory", "8Gi")]);
    plane.kubectl_ok(["label", "node", "rack-7", "team=a"]);
    let quota = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "teams", "namespace": namespace},
        "data": {"team": "a"},
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": namespace},
        "stringData": {"token": "hidden-token"},
    });
    let mut pod = objects::pod(&namespace, "own", "default-scheduler", &[("cpu", "1")]);
    pod["spec"]["containers"][0]["env"] = json!([{"name": "TOKEN", "value": "hidden-value"}]);
    let huge = objects::pod(&namespace, "huge", "default-scheduler", &[("cpu", "64")]);
    plane.create(&[quota, secret, pod, huge]);
    plane.kubectl_ok(["create", "namespace", "bayplan-policies"]);
    let policy = "policy own {\n  let teams = lookup(\"ConfigMap\", pod.namespace, \"teams\") missing reject \"no teams\"\n  \
                  filter team {\n    require node.labels[\"team\"] == teams.data[\"team\"] else \"another team\"\n  }\n}\n";
    let rules = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "rules", "namespace": "bayplan-policies", "labels": {"bayplan.dev/policy": "true"}},
        "data": {"own.bay": policy},
    });
    plane.create(&[rules]);
    let folder = Folder::new("snapshot");
    let (file, kubeconfig) = (folder.join("all.json"), plane.kubeconfig());
    let live = ["--kubeconfig", text(&kubeconfig)];
    let told = bayplan(&["snapshot", "-o", text(&file), live[0], live[1]]);
    assert_eq!(told.status, 0, "{}", told.err);
    assert!(told.err.contains("510 nodes, ") && told.err.contains(" and 1 policy, "), "{}", told.err);
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written.matches("\"kind\":\"Node\"").count(), 510);
    for hidden in ["hidden-token", "hidden-value", "managedFields"] {
        assert!(!written.contains(hidden), "{hidden}");
    }
    let saved = ["--cluster", text(&file)];
    for arguments in [&["dry-run", "--all"][..], &["explain", "huge"], &["explain", "own", "--all"]] {
        let of = |from: [&str; 2]| without_next(&said(&[arguments, &from].concat()));
        assert_eq!(of(live), of(saved), "{arguments:?}");
    }
    // A case from a pod of the live cluster passes on its own.
    let told = bayplan(&["test", "--from", "huge", live[0], live[1], text(folder.path())]);
    assert!(told.status == 0 && told.err.contains("the case passes"), "{}", told.err);
    assert!(said(&["test", text(folder.path())]).contains("1 case: 1 passed"));
    // Without the right to list a kind that decisions can do without, the file says so wherever it is read.
    let some = someone(&plane, "some", "get,list", "pods,nodes,namespaces,configmaps");
    let told = bayplan(&["snapshot", "-o", text(&file), "--kubeconfig", text(&some)]);
    assert!(told.status == 0 && told.err.contains("poddisruptionbudgets"), "{}", told.err);
    let told = bayplan(&["dry-run", "--cluster", text(&file)]);
    assert!(told.err.contains("the snapshot lacks something: "), "{}", told.err);
    let none = someone(&plane, "none", "get,list", "nodes,namespaces,configmaps");
    let told = refused(&["snapshot", "-o", text(&file), "--kubeconfig", text(&none)]);
    assert!(told.contains("add this rule to your role"), "{told}");
}

#[test]
fn a_new_repository_tests_on_nodes_of_the_cluster() {
    let plane = ControlPlane::start();
    let (_, _) = fill(&plane);
    let folder = Folder::new("init");
    let made = folder.join("shop");
    let kubeconfig = plane.kubeconfig();
    let told = said(&["init", text(&made), "--from-cluster", "--kubeconfig", text(&kubeconfig)]);
    assert!(told.contains("policies/avoid-nodes.test.yaml"), "{told}");
    let snapshot = std::fs::read_to_string(made.join("snapshot.yaml")).unwrap();
    assert!(snapshot.contains("name: rack-0") && !snapshot.contains("uid"), "{snapshot}");
    // A node of another shape.
    assert!(snapshot.contains("dedicated"), "{snapshot}");
    let policies = made.join("policies");
    said(&["lint", text(&policies), "--deny", "warnings"]);
    said(&["test", text(&policies), "--min-coverage", "100"]);
    // The ConfigMap of the kustomization is a policy for the scheduler.
    plane.kubectl_ok(["create", "namespace", "bayplan-policies"]);
    plane.kubectl_ok(["apply", "--kustomize", text(&policies)]);
    let told = said(&["policies", "--kubeconfig", text(&kubeconfig)]);
    assert!(told.contains("avoid-nodes") && told.contains("serving"), "{told}");
}

#[test]
fn it_works_as_a_plugin_of_kubectl() {
    let plane = ControlPlane::start();
    let (namespace, _) = fill(&plane);
    let folder = Folder::new("plugin");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bayplan"), folder.join("kubectl-bayplan")).unwrap();
    let kubectl = &plane.binaries().kubectl();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    // The namespace of the context, as `kubectl config set-context --current --namespace` writes
    // it.
    let config = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let config = config.replace("    user: test\n", &format!("    user: test\n    namespace: {namespace}\n"));
    let kubeconfig = folder.join("config");
    std::fs::write(&kubeconfig, &config).unwrap();
    let missing = folder.join("missing");
    // kubectl skips missing files of the list.
    let list = format!("{}:{}", missing.display(), kubeconfig.display());
    let environment = [("PATH", path.as_str()), ("KUBECONFIG", list.as_str())];

    // A pod of the same name in another namespace: the name alone means the context's namespace.
    plane.create(&[objects::pod("default", "picky", "default-scheduler", &[("cpu", "1")])]);
    let ended = command(kubectl, &["bayplan", "explain", "picky"], &environment);
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(
        ended.out.starts_with(&format!("{namespace}/picky waits: none of 4 nodes fits.")),
        "{}",
        ended.out
    );
    let next = next_for_a_node(&ended.out).strip_prefix("kubectl ").unwrap();
    assert!(next.starts_with("bayplan explain picky"), "{next}");
    let arguments: Vec<&str> = next.split(' ').collect();
    let ended = command(kubectl, &arguments, &environment);
    assert!(ended.status == 0 && ended.out.contains("refused by"), "{}{}", ended.out, ended.err);

    let given = ["bayplan", "explain", "picky", "-n", "default", "--kubeconfig", text(&kubeconfig)];
    let ended = command(kubectl, &[&given[..], &["--context", "test"]].concat(), &environment[..1]);
    assert!(
        ended.status == 0 && ended.out.starts_with("default/picky is placed"),
        "{}{}",
        ended.out,
        ended.err
    );
    let ended = command(kubectl, &["bayplan", "dry-run"], &environment);
    assert!(ended.status == 0 && ended.out.contains("Next: kubectl bayplan explain"), "{}", ended.out);
    let ended = command(kubectl, &["bayplan", "dry-run", "--fail-on", "unschedulable"], &environment);
    assert_eq!(ended.status, 1, "kubectl passes the exit status on");

    let help = command(kubectl, &["bayplan", "explain", "--help"], &environment).out;
    assert!(help.contains("Usage: kubectl bayplan explain"), "{help}");
    assert!(help.contains("  kubectl bayplan explain train-7 -n shop"), "{help}");
    assert!(!help.contains("  bayplan "), "{help}");
    let mistake = command(kubectl, &["bayplan", "explain", "one", "two"], &environment);
    assert!(mistake.status == 2 && mistake.err.contains("Usage: kubectl bayplan explain"), "{}", mistake.err);
    let listed = command(kubectl, &["plugin", "list"], &environment).out;
    assert!(listed.contains("kubectl-bayplan"), "{listed}");
}

fn rule(reason: &str, label: &str) -> String {
    format!(
        "policy home {{\n  filter here {{\n    reject \"{reason}\" when node.labels[\"{label}\"] == \"yes\"\n  }}\n}}\n"
    )
}

fn map(namespace: &str, name: &str, text: &str) -> Value {
    objects::config_map(namespace, name, &[("bayplan.dev/policy", "")], &[("home.bay", text)])
}

#[test]
fn policies_in_service_count_and_files_replace_them() {
    let plane = ControlPlane::start();
    let namespace = "bayplan-policies".to_owned();
    plane.kubectl_ok(["create", "namespace", &namespace]);
    plane.create_nodes("rack", 2, &[("cpu", "4"), ("memory", "8Gi")]);
    plane.kubectl_ok(["label", "node", "rack-0", "rack-1", "away=yes"]);
    plane.create(&[
        map(&namespace, "rules", &rule("away from here", "away")),
        objects::config_map(
            &namespace,
            "unlabelled",
            &[],
            &[("no.bay", &rule("never", "away").replace("home", "no"))],
        ),
        objects::pod("default", "web", "default-scheduler", &[("cpu", "1")]),
    ]);
    let kubeconfig = plane.kubeconfig();
    let explain = |more: &[&str]| {
        let arguments = ["explain", "web", "--kubeconfig", text(&kubeconfig)];
        let ended = bayplan(&[&arguments[..], more].concat());
        assert_eq!(ended.status, 0, "{}", ended.err);
        ended
    };
    let ended = explain(&[]);
    assert!(ended.out.contains("waits: none of 2 nodes fits"), "{}", ended.out);
    assert!(ended.out.contains(&format!("away from here  {namespace}/rules home.bay:3")), "{}", ended.out);
    assert!(!ended.out.contains("never") && ended.err.is_empty(), "{}{}", ended.out, ended.err);
    let one = explain(&["--node", "rack-0"]).out;
    assert!(
        one.contains(&format!("{namespace}/rules home.bay")) && one.contains("node.labels[\"away\"]"),
        "{one}"
    );

    // The effect of a change before it is applied.
    let changed = plane.folder().join("home.bay");
    std::fs::write(&changed, rule("too far", "far")).unwrap();
    let ended = explain(&["--policies", text(&changed)]);
    assert!(ended.out.contains("is placed"), "{}", ended.out);
    let added = plane.folder().join("added.bay");
    std::fs::write(&added, rule("closed", "away").replace("home", "door")).unwrap();
    let ended = explain(&["--policies", text(&added)]);
    assert!(ended.out.contains("home/here") && ended.out.contains("door/here"), "{}", ended.out);

    // Without a good text it has no effect, and its mistakes are shown.
    plane.create(&[map(
        &namespace,
        "young",
        "policy young {\n  filter f { require nod.ready else \"r\" }\n}\n",
    )]);
    let ended = explain(&[]);
    assert!(ended.out.contains("away from here"), "{}", ended.out);
    assert!(ended.err.contains("no earlier text is known, so it has no effect"), "{}", ended.err);
    assert!(ended.err.contains(&format!("{namespace}/young home.bay:2:")), "{}", ended.err);
    assert!(explain(&["--quiet"]).err.is_empty());
    plane.kubectl_ok(["delete", "configmap", "young", "--namespace", &namespace]);

    // After a good text, the history of the scheduler is in service.
    let ours = SchedulerProcess::start(&plane, &Setup::new("default-scheduler").policies_from(&namespace));
    wait_until("the history is written", SOON, || {
        plane
            .kubectl(["get", "configmap", "bayplan-history-home", "--namespace", &namespace])
            .status
            .success()
    });
    let patch = json!({ "data": { "home.bay": "policy home {\n  filter" } }).to_string();
    plane.kubectl_ok([
        "patch",
        "configmap",
        "rules",
        "--namespace",
        &namespace,
        "--type=merge",
        "-p",
        &patch,
    ]);
    drop(ours);
    let ended = explain(&[]);
    assert!(ended.out.contains("away from here"), "{}", ended.out);
    let what = format!("`{namespace}/rules` does not compile; its last good text is in service");
    assert!(ended.err.contains(&what) && ended.err.contains("warning["), "{}", ended.err);

    // A history in another namespace that claims to belong to our policy object.
    let other = plane.create_namespace("strangers");
    let mut forged = objects::config_map(
        &other,
        "bayplan-history-home",
        &[("bayplan.dev/history", "")],
        &[("home.bay", &rule("forged", "away"))],
    );
    forged["metadata"]["annotations"] = json!({
        "bayplan.dev/history-of": "home", "bayplan.dev/served-by": format!("{namespace}/rules"),
    });
    plane.create(&[forged, map(&other, "theirs", &rule("theirs", "away").replace("home", "theirs"))]);
    let ended = explain(&[]);
    assert!(ended.out.contains("away from here") && !ended.out.contains("forged"), "{}", ended.out);
    assert!(!ended.out.contains("theirs"), "{}", ended.out);
    assert!(ended.err.contains(&format!("in other namespaces are not read: {other}; ")), "{}", ended.err);
    let ended = explain(&["--policy-namespaces", &other]);
    assert!(ended.out.contains("theirs/here") && !ended.out.contains("home/here"), "{}", ended.out);
    assert!(
        ended.err.is_empty() && ended.out.contains(&format!("--policy-namespaces {other}")),
        "{}",
        ended.out
    );
    let ended = explain(&["--policy-namespaces", "default"]);
    assert!(ended.err.contains("no ConfigMap of the namespace `default` has the label"), "{}", ended.err);
}

#[test]
fn missing_rights_come_with_the_rule_to_add() {
    let plane = ControlPlane::start();
    let (namespace, _) = fill(&plane);
    let picky = format!("{namespace}/picky");
    let explain = |kubeconfig: &Path, more: &[&str]| {
        bayplan(&[&["explain", &picky, "--kubeconfig", text(kubeconfig)], more].concat())
    };
    let nobody = refused(&["dry-run", "--kubeconfig", text(&plane.kubeconfig_of_user("nobody"))]);
    assert!(nobody.contains("User \"nobody\" cannot list resource \"nodes\""), "{nobody}");
    let rule = "add this rule to your role: {apiGroups: [\"\"], resources: [\"nodes\", \"namespaces\", ";
    assert!(nobody.contains(rule), "{nobody}");
    assert!(
        nobody.contains("\"pods\", \"configmaps\"], verbs: [\"list\"]}, {apiGroups: [\"apps\"], "),
        "{nobody}"
    );
    assert!(
        nobody.contains("{apiGroups: [\"storage.k8s.io\"], resources: [\"storageclasses\", "),
        "{nobody}"
    );

    // Without namespaces and other kinds it continues, with one warning for each API group.
    let some = someone(&plane, "some", "list", "pods,nodes,configmaps");
    let ended = explain(&some, &[]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.out.contains("waits: none of 4 nodes fits"), "{}", ended.out);
    assert_eq!(ended.err.matches("continuing without namespaces").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("resources: [\"namespaces\", \"persistentvolumes\", "), "{}", ended.err);
    assert_eq!(ended.err.matches("continuing without").count(), 5, "{}", ended.err);

    // Without ConfigMaps the answer would be a guess, unless `--policies` gives the policies.
    let few = someone(&plane, "few", "list", "pods,nodes,namespaces");
    let ended = explain(&few, &[]);
    assert_eq!(ended.status, 2, "{}", ended.out);
    assert!(ended.err.contains("cannot list resource \"configmaps\""), "{}", ended.err);
    assert!(ended.err.contains("--policy-namespaces") && ended.err.contains("--policies"), "{}", ended.err);
    let policy = plane.folder().join("policy.bay");
    std::fs::write(&policy, self::rule("away", "away")).unwrap();
    let ended = explain(&few, &["--policies", text(&policy)]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.err.contains("continuing without the policies of the cluster"), "{}", ended.err);
    // Expressions need no policies.
    let free = said(&["eval", "node.free.cpu", "--node", "rack-1", "--kubeconfig", text(&few)]);
    assert!(free.starts_with("1cpu") || free.starts_with('1'), "{free}");

    // The right in one namespace is enough.
    plane.kubectl_ok([
        "create",
        "role",
        "maps",
        "--verb=list",
        "--resource=configmaps",
        "--namespace",
        &namespace,
    ]);
    let bind = [
        "create",
        "rolebinding",
        "maps",
        "--role=maps",
        "--serviceaccount=default:few",
        "--namespace",
        &namespace,
    ];
    plane.kubectl_ok(bind);
    let ended = explain(&few, &["--policy-namespaces", &namespace]);
    assert_eq!(ended.status, 0, "{}", ended.err);

    // Impersonation of a user.
    let admin = plane.kubeconfig();
    let told = refused(&["dry-run", "--kubeconfig", text(&admin), "--as", "nobody"]);
    assert!(told.contains("User \"nobody\" cannot list"), "{told}");
}

#[test]
fn connection_errors_come_soon_and_with_a_way_out() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("mistyped");
    let mut pod = objects::pod(&namespace, "train-7", "nobody", &[("cpu", "1")]);
    pod["spec"]["schedulingGates"] = json!([{ "name": "example.com/never" }]);
    plane.create(&[pod]);
    let admin = plane.kubeconfig();
    let of = ["--kubeconfig", text(&admin), "--policy-namespaces", &namespace];
    let with = |arguments: &[&str]| refused(&[arguments, &of].concat());
    let told = with(&["explain", "train-8", "-n", &namespace]);
    assert!(
        told.contains(&format!(
            "no pod that waits or runs is called `{namespace}/train-8`; did you mean `train-7`?"
        )),
        "{told}"
    );
    let told = with(&["explain", "train-7", "-n", "default"]);
    assert!(
        told.contains(&format!(
            "no pod that waits or runs is called `default/train-7`; there is {namespace}/train-7"
        )),
        "{told}"
    );

    let told = refused(&["explain", "x", "--kubeconfig", text(&admin), "--context", "tets"]);
    assert!(told.contains("has no context `tets`; did you mean `test`?"), "{told}");
    let told = refused(&["dry-run", "--kubeconfig", "/no/such/kubeconfig"]);
    assert!(told.contains("cannot use the kubeconfig `/no/such/kubeconfig`: No such file"), "{told}");
    let expired = plane.write_kubeconfig("expired-token", "old-token");
    let told = refused(&["dry-run", "--kubeconfig", text(&expired)]);
    assert!(
        told.contains("does not accept your credentials") && told.contains("is the token expired?"),
        "{told}"
    );
    let told = refused(&["dry-run"]);
    assert!(told.contains("`--cluster FILE`") && told.contains("`--kubeconfig FILE`"), "{told}");
    let told = refused(&["dry-run", "--cluster", "x.yaml", "--context", "test"]);
    assert!(told.contains("cannot be used with"), "{told}");
    let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
    let ended = command(binary, &["dry-run"], &[("KUBECONFIG", "/no/such/one:/no/such/two")]);
    assert_eq!(ended.status, 2);
    assert!(
        ended.err.contains("none of the files that KUBECONFIG names exists: /no/such/one, /no/such/two"),
        "{}",
        ended.err
    );
    // Addresses in NO_PROXY bypass the proxy.
    let arguments = [&["eval", "1 + 1", "--node", "none"], &of[..2]].concat();
    let proxied =
        |no: &str| command(binary, &arguments, &[("HTTPS_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", no)]);
    let ended = proxied("127.0.0.1");
    assert!(ended.err.contains("no node of the cluster is called `none`"), "{}", ended.err);
    let ended = proxied("");
    assert!(ended.status == 2 && ended.err.contains("cannot reach the API server"), "{}", ended.err);
    let broken = plane.folder().join("broken.kubeconfig");
    std::fs::write(&broken, "clusters: [{name: 7, cluster: {server\n").unwrap();
    let told = refused(&["dry-run", "--kubeconfig", text(&broken)]);
    assert!(told.contains("cannot use the kubeconfig") && told.contains("broken.kubeconfig"), "{told}");

    let timed = |kubeconfig: &Path| {
        let began = Instant::now();
        let told = refused(&["dry-run", "--kubeconfig", text(kubeconfig)]);
        assert!(began.elapsed() < BOUND, "it took {:?}", began.elapsed());
        assert!(told.contains("cannot reach the API server https://127.0.0.1:"), "{told}");
        assert!(told.contains("`--context NAME`"), "{told}");
        told
    };
    let config = std::fs::read_to_string(&admin).unwrap();
    let closed = plane.folder().join("closed.kubeconfig");
    std::fs::write(&closed, config.replace(&plane.port().to_string(), &free_port().to_string())).unwrap();
    let told = timed(&closed);
    assert!(told.contains("refused"), "{told}");
    let told = refused(&["doctor", "--kubeconfig", text(&closed)]);
    assert!(told.contains("cannot reach the API server") && told.contains("`--context NAME`"), "{told}");
    let proxy = Proxy::start(plane.port());
    proxy.hang(true);
    let told = timed(&plane.kubeconfig_through(&proxy, "admin"));
    assert!(told.contains("no answer in time"), "{told}");
    // A kubeconfig with another authority than that of the server's certificate.
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let authority = plane.folder().join("other-authority.crt");
    std::fs::write(&authority, own.cert.pem()).unwrap();
    let foreign = plane.folder().join("foreign.kubeconfig");
    let theirs = plane.certificate_authority().display().to_string();
    std::fs::write(&foreign, config.replace(&theirs, text(&authority))).unwrap();
    let told = timed(&foreign);
    assert!(told.to_lowercase().contains("certificate"), "{told}");
}
