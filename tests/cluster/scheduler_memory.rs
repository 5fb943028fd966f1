//! `bayplan snapshot --scheduler`: the memory of a running scheduler, its right, and a replay that decides as the scheduler
//! goes on.

use crate::api_load::{ApiClient, delete, post};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, Proxy, binaries::kubernetes, daemon::Folder, objects, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);
/// More nodes than sampling looks at for each pod, which are 100.
const NODES: usize = 130;
/// Pods whose live decisions are compared.
const COMPARED: usize = 1_000;

struct Ended {
    status: i32,
    out: String,
    err: String,
}

fn bayplan(arguments: &[&str]) -> Ended {
    let home = Folder::new("home");
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(arguments)
        .env("HOME", home.path())
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ended =
        Ended { status: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) };
    assert!(!ended.err.contains("panicked"), "{arguments:?}: {}", ended.err);
    ended
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The pods of a namespace that have a node, by name.
fn placed(plane: &ControlPlane, namespace: &str) -> BTreeMap<String, String> {
    let pods = plane.get_json(["pods", "--namespace", namespace]);
    let pods = pods["items"].as_array().unwrap().iter();
    let named = pods.filter_map(|pod| {
        let node = pod["spec"]["nodeName"].as_str()?.to_owned();
        Some((pod["metadata"]["name"].as_str()?.to_owned(), node))
    });
    named.collect()
}

#[test]
fn a_replay_of_the_memory_after_churn_decides_as_the_scheduler_does() {
    let plane = ControlPlane::start();
    let namespace = plane.create_namespace("memory");
    let capacity = [("cpu", "32"), ("memory", "64Gi"), ("pods", "110")];
    plane.create_nodes("rack", NODES, &capacity);
    let name = "bayplan-memory";
    let folder = Folder::new("memory");
    let config = folder.join("config.yaml");
    let settings = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {{leaderElect: \
         false}}\npercentageOfNodesToScore: 50\nprofiles:\n- schedulerName: {name}\n"
    );
    std::fs::write(&config, settings).unwrap();
    let ours = SchedulerProcess::start(&plane, &Setup::new(name).config(config.clone()).guarded());
    let client = ApiClient::new(&plane);
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let sizes = ["100m", "250m", "1", "1500m"];
    let pod = |name: &str, at: usize| {
        objects::pod(&namespace, name, "bayplan-memory", &[("cpu", sizes[at % 4]), ("memory", "64Mi")])
    };

    // Churn: pods come and go, nodes go, come and change, and some pods wait for ever.
    client.all(8, (0..300).map(|at| post(&*path, &pod(&format!("churn-{at}"), at))));
    client.all(
        4,
        (0..5).map(|at| {
            let huge = objects::pod(&namespace, &format!("huge-{at}"), "bayplan-memory", &[("cpu", "64")]);
            post(&*path, &huge)
        }),
    );
    wait_until("the churn is placed", SOON, || placed(&plane, &namespace).len() == 300);
    client.all(8, (0..120).map(|at| delete(format!("{path}/churn-{}", at * 2), Some(0))));
    for at in 0..8 {
        plane.kubectl_ok(["delete", "node", &format!("rack-{}", at * 7)]);
    }
    plane.create_nodes("late", 6, &capacity);
    plane.kubectl_ok(["label", "node", "rack-1", "disk=ssd"]);
    plane.kubectl_ok(["taint", "node", "rack-2", "dedicated=batch:NoSchedule"]);
    plane.kubectl_ok(["cordon", "rack-3"]);
    client.all(8, (0..100).map(|at| post(&*path, &pod(&format!("again-{at}"), at))));
    wait_until("the second wave is placed", SOON, || {
        placed(&plane, &namespace).keys().filter(|name| name.starts_with("again-")).count() == 100
    });

    let (file, kubeconfig) = (folder.join("prod.json"), plane.kubeconfig());
    let url = ours.url();
    let connection = ["--kubeconfig", text(&kubeconfig), "--scheduler", &url];
    let untrusted = bayplan(&[&["snapshot", "-o", text(&file)], &connection[..]].concat());
    assert_eq!((untrusted.status, file.exists()), (2, false), "{}", untrusted.err);
    assert!(untrusted.err.contains("--scheduler-ca-file"), "{}", untrusted.err);
    let insecure = "--scheduler-insecure-skip-tls-verify";
    let version = format!("--kubernetes={}", kubernetes());
    let flags = ["snapshot", "-o", text(&file), insecure, "--config", text(&config), &version];
    let told = bayplan(&[&flags, &connection[..]].concat());
    assert_eq!(told.status, 0, "{}", told.err);
    let saved = read(&file);
    assert_eq!(saved["source"], format!("the API server, and the memory of the scheduler {url}"));
    let memory = &saved["memory"];
    assert_eq!(memory["leads"], true);
    let waits: Vec<_> =
        memory["queue"].as_array().unwrap().iter().map(|of| of["pod"].as_str().unwrap()).collect();
    assert_eq!(waits.len(), 5, "{waits:?}");
    assert_eq!(memory["queue"][0]["refusedBy"], json!(["NodeResourcesFit"]));

    // After the churn the cache is what the API server has.
    let told = bayplan(&["explain", "--cluster", text(&file)]);
    assert!(told.out.contains("it differs from the API server in nothing"), "{}\n{}", told.out, told.err);

    // What the scheduler decides next.
    let made: Vec<Value> = (0..COMPARED)
        .map(|at| client.call(post(&*path, &pod(&format!("next-{at}"), at))).expect("a new pod"))
        .map(|pod| {
            let mut pod = pod;
            (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
            pod
        })
        .collect();
    let next = || -> BTreeMap<String, String> {
        placed(&plane, &namespace).into_iter().filter(|(name, _)| name.starts_with("next-")).collect()
    };
    wait_until("all are placed", SOON, || next().len() == COMPARED);
    let live = next();
    let pods = folder.join("pods.json");
    std::fs::write(&pods, json!({"apiVersion": "v1", "kind": "List", "items": made}).to_string()).unwrap();
    let replay =
        ["dry-run", "--cluster", text(&file), "--pods", text(&pods), "--order", "given", "-o", "json"];
    let told = bayplan(&replay);
    assert_eq!(told.status, 0, "{}", told.err);
    let decided: Value = serde_json::from_str(&told.out).unwrap();
    let decided: BTreeMap<String, String> = decided["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|of| {
            let (_, name) = of["pod"].as_str()?.split_once('/')?;
            Some((name.to_owned(), of["node"].as_str()?.to_owned()))
        })
        .filter(|(name, _)| name.starts_with("next-"))
        .collect();
    let differ: Vec<_> = live.iter().filter(|(name, node)| decided.get(*name) != Some(node)).collect();
    assert!(differ.is_empty(), "{} of {COMPARED} differ: {:?}", differ.len(), &differ[..differ.len().min(5)]);

    // A fault of the cache is found: a node that it has otherwise, a pod that it lost, one that is not there, and a pod that
    // fell out of the queue.
    let mut faulty = saved.clone();
    let of_memory = &mut faulty["memory"];
    let node = of_memory["nodes"].as_array().unwrap().iter().position(|of| of["object"] == "rack-1").unwrap();
    of_memory["nodes"][node]["fields"]["labels"] = json!("disk=hdd");
    let pods = of_memory["pods"].as_array_mut().unwrap();
    pods.retain(|of| of["object"] != format!("{namespace}/churn-1"));
    pods.push(json!({"object": format!("{namespace}/ghost"), "uid": "ghost", "version": "1"}));
    of_memory["queue"].as_array_mut().unwrap().remove(0);
    let broken = folder.join("faulty.json");
    std::fs::write(&broken, faulty.to_string()).unwrap();
    let told = bayplan(&["explain", "--cluster", text(&broken), "--all"]);
    for part in [
        "it differs from the API server in 4 places",
        "rack-1",
        "labels disk=hdd; the API server: ",
        "/churn-1",
        "the scheduler does not know it",
        "/ghost",
        "the API server has no such object",
        "it waits for a node, and is in no queue",
    ] {
        assert!(told.out.contains(part), "{part}:\n{}", told.out);
    }
    let told = bayplan(&["explain", "--cluster", text(&broken), "-o", "json"]);
    let said: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(said["memory"]["differences"].as_array().unwrap().len(), 4);
}

#[test]
fn a_cache_whose_watches_hang_is_found() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("stale");
    plane.create_nodes("stale", 3, &[("cpu", "8"), ("memory", "8Gi"), ("pods", "20")]);
    let pod = |name: &str| objects::pod(&namespace, name, &namespace, &[("cpu", "100m")]);
    let class = |name: &str, provisioner: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": format!("{namespace}-{name}")}, "provisioner": provisioner,
        })
    };
    plane.apply(&class("stays", "example.com/one").to_string());
    plane.apply(&class("goes", "example.com/one").to_string());
    let proxy = Proxy::start(plane.port());
    // Only what fills the cache goes through the proxy.
    let admin = plane.kubeconfig();
    let setup = Setup::new(&namespace).guarded().kubeconfig(plane.kubeconfig_through(&proxy, "admin"));
    let setup = ["authentication", "authorization"]
        .iter()
        .fold(setup, |setup, of| setup.flag(format!("--{of}-kubeconfig={}", admin.display())));
    let ours = SchedulerProcess::start(plane, &setup);
    let client = ApiClient::new(plane);
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    client.all(2, ["runs", "ends"].map(|name| post(&*path, &pod(name))).into_iter());
    wait_until("both are placed", SOON, || placed(plane, &namespace).len() == 2);

    let folder = Folder::new("stale");
    let file = folder.join("all.json");
    let url = ours.url();
    let version = format!("--kubernetes={}", kubernetes());
    let differences = || -> BTreeMap<String, String> {
        let insecure = "--scheduler-insecure-skip-tls-verify";
        let of = ["--scheduler", &url, "--kubeconfig", text(&admin), "--policy-namespaces="];
        let told = bayplan(&[&["snapshot", "-o", text(&file), insecure, &version], &of[..]].concat());
        assert_eq!(told.status, 0, "{}", told.err);
        let told = bayplan(&["explain", "--cluster", text(&file), "-o", "json"]);
        let said: Value = serde_json::from_str(&told.out).unwrap();
        let all = said["memory"]["differences"].as_array().unwrap();
        let field = |of: &Value, name: &str| of[name].as_str().unwrap().to_owned();
        let own = all.iter().filter(|of| field(of, "object").contains("stale"));
        own.map(|of| (field(of, "object"), field(of, "what"))).collect()
    };
    assert_eq!(differences(), BTreeMap::new());

    proxy.hang(true);
    plane.kubectl_ok(["label", "node", "stale-0", "disk=ssd"]);
    plane.kubectl_ok(["delete", "node", "stale-1"]);
    plane.create_nodes("stale-late", 1, &[("cpu", "8"), ("memory", "8Gi"), ("pods", "20")]);
    client.call(delete(format!("{path}/ends"), Some(0))).unwrap();
    client.call(post(&*path, &pod("new"))).unwrap();
    for (name, provisioner) in [("stays", "example.com/two"), ("new", "example.com/one")] {
        let object = class(name, provisioner).to_string();
        plane.kubectl_ok(["delete", "storageclass", &format!("{namespace}-{name}"), "--ignore-not-found"]);
        plane.apply(&object);
    }
    plane.kubectl_ok(["delete", "storageclass", &format!("{namespace}-goes")]);
    let found = differences();
    let parts = [
        ("stale-0".to_owned(), "disk=ssd"),
        ("stale-1".to_owned(), "the API server has no such object"),
        ("stale-late-0".to_owned(), "the scheduler does not know it"),
        (format!("{namespace}/ends"), "the API server has no such object"),
        (format!("{namespace}/new"), "the scheduler does not know it"),
        (
            format!("{namespace}-stays"),
            "it is another object of this name; its contents differ (it has version",
        ),
        (format!("{namespace}-goes"), "the API server has no such object"),
        (format!("{namespace}-new"), "the scheduler does not know it"),
    ];
    for (object, part) in &parts {
        assert!(found.get(object).is_some_and(|what| what.contains(part)), "{object}: {part}: {found:#?}");
    }
    assert_eq!(found.len(), parts.len(), "{found:#?}");

    proxy.hang(false);
    wait_until("the cache is right again", SOON, || differences().is_empty());
}

#[test]
fn the_memory_needs_a_right_of_its_own() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("snapshot");
    let ours = SchedulerProcess::start(plane, &Setup::new(&namespace).guarded());
    let account = |name: &str| {
        plane.kubectl_ok(["create", "serviceaccount", name, "--namespace", &namespace]);
        let subject = format!("--serviceaccount={namespace}:{name}");
        let binding = format!("{namespace}-{name}");
        plane.kubectl_ok(["create", "clusterrolebinding", &binding, "--clusterrole=view", &subject]);
        // The controller that fills `view` does not run here.
        let role = format!("{namespace}-{name}-lists");
        let kinds = format!("--resource=pods,namespaces,nodes,{}", objects::other_resources());
        plane.kubectl_ok(["create", "clusterrole", &role, "--verb=list", &kinds]);
        plane.kubectl_ok(["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &subject]);
        plane.kubeconfig_of_service_account(&namespace, name)
    };
    let (viewer, saver) = (account("viewer"), account("saver"));
    let user = format!("system:serviceaccount:{namespace}:saver");
    let name = format!("--name={namespace}");
    let rights = bayplan(&["rbac", &name, "--snapshot-reader", &user]).out;
    let role = rights.split("---\n").filter(|document| document.contains("-snapshot-reader"));
    let role: Vec<&str> = role.collect();
    assert_eq!(role.len(), 2, "{rights}");
    plane.apply(&role.join("---\n"));

    let folder = Folder::new("snapshot");
    let file = folder.join("all.json");
    let url = ours.url();
    let of = |kubeconfig: &Path, further: &[&str]| {
        let flags = ["snapshot", "-o", text(&file), "--kubeconfig", text(kubeconfig), "--policy-namespaces="];
        bayplan(&[&flags, further].concat())
    };
    let insecure = ["--scheduler", &url, "--scheduler-insecure-skip-tls-verify"];
    let told = of(&viewer, &insecure);
    assert_eq!(told.status, 0, "{}", told.err);
    assert!(
        told.err.contains("answers 403") && told.err.contains("no memory of a scheduler"),
        "{}",
        told.err
    );
    assert_eq!(
        (read(&file)["source"].clone(), read(&file)["memory"].clone()),
        (json!("the API server"), Value::Null)
    );
    let told = of(&viewer, &[]);
    assert!(told.err.contains("listed from the API server alone"), "{}", told.err);
    let told = of(&saver, &insecure);
    assert_eq!(told.status, 0, "{}", told.err);
    assert!(read(&file)["memory"]["taken"].is_string(), "{}", told.err);
    // A token of a file, and one that is none.
    let token = folder.join("token");
    std::fs::write(&token, plane.kubectl_ok(["create", "token", "saver", "--namespace", &namespace]))
        .unwrap();
    let told = of(&viewer, &[&insecure[..], &["--token-file", text(&token)]].concat());
    assert!(told.status == 0 && read(&file)["memory"].is_object(), "{}", told.err);
    std::fs::write(&token, "no token").unwrap();
    let told = of(&viewer, &[&insecure[..], &["--token-file", text(&token)]].concat());
    assert!(told.status == 0 && told.err.contains("answers 401"), "{}", told.err);
    // A wrong address leaves the file that was there.
    let before = std::fs::read(&file).unwrap();
    for (address, part) in
        [("https://127.0.0.1:1", "cannot reach the scheduler"), ("http://127.0.0.1:1", "is not a URL")]
    {
        let told = of(&saver, &["--scheduler", address]);
        assert!(told.status == 2 && told.err.contains(part), "{}", told.err);
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
