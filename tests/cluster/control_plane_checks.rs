//! Checks the control plane of these tests: real servers with real rights, which end with the
//! tests. The real kube-scheduler places a pod here, because other tests compare Bayplan with it.

use crate::support::binaries::kubernetes;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::{ControlPlane, Daemon, Proxy, daemon::Folder, objects, wait::became_true, wait_until};

const SOON: Duration = Duration::from_secs(30);

#[test]
fn kube_scheduler_places_a_pod_and_writes_its_event() {
    let plane = ControlPlane::shared();
    let profiles = "profiles:\n- schedulerName: real\n";
    let mut scheduler = plane.start_kube_scheduler(profiles);
    let namespace = plane.create_namespace("harness");
    plane.create_nodes("harness", 2, &[("cpu", "4"), ("memory", "8Gi")]);
    plane.kubectl_ok(["label", "node", "harness-1", "disk=ssd"]);
    let mut fits = objects::pod(&namespace, "fits", "real", &[("cpu", "1"), ("memory", "1Gi")]);
    fits["spec"]["nodeSelector"] = json!({ "node-group": "harness", "disk": "ssd" });
    let mut too_big = objects::pod(&namespace, "too-big", "real", &[("cpu", "64")]);
    too_big["spec"]["nodeSelector"] = json!({ "node-group": "harness" });
    plane.create(&[fits, too_big]);

    wait_until("`fits` is bound", SOON, || plane.node_of(&namespace, "fits").is_some());
    assert_eq!(plane.node_of(&namespace, "fits").unwrap(), "harness-1");
    wait_until("its event", SOON, || !plane.events_about(&namespace, "fits").is_empty());
    let event = plane.events_about(&namespace, "fits").remove(0);
    assert_eq!(event["reason"], "Scheduled");
    assert_eq!(event["note"], format!("Successfully assigned {namespace}/fits to harness-1"));
    assert_eq!(event["reportingController"], "real");

    wait_until("the event of `too-big`", SOON, || !plane.events_about(&namespace, "too-big").is_empty());
    let event = plane.events_about(&namespace, "too-big").remove(0);
    assert_eq!(event["reason"], "FailedScheduling");
    let note = event["note"].as_str().unwrap();
    assert!(note.contains("2 Insufficient cpu"), "{note}");
    assert_eq!(plane.node_of(&namespace, "too-big"), None);

    let metrics = plane.get_from(&scheduler.url(), "/metrics").expect("its metrics");
    assert!(metrics.contains(r#"scheduler_schedule_attempts_total{profile="real",result="scheduled"} 1"#));
    assert!(scheduler.daemon.is_running());
}

#[test]
fn every_user_has_its_own_rights() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("rights");
    plane.kubectl_ok(["create", "serviceaccount", "reader", "--namespace", &namespace]);
    plane.kubectl_ok([
        "create",
        "role",
        "reader",
        "--verb=list",
        "--resource=pods",
        "--namespace",
        &namespace,
    ]);
    let account = format!("--serviceaccount={namespace}:reader");
    plane.kubectl_ok([
        "create",
        "rolebinding",
        "reader",
        "--role=reader",
        &account,
        "--namespace",
        &namespace,
    ]);
    let list_pods = |kubeconfig: &std::path::Path, namespace: &str| {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let output = plane.kubectl([&kubeconfig, "get", "pods", "--namespace", namespace]);
        if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
    };

    let reader = plane.kubeconfig_of_service_account(&namespace, "reader");
    assert_eq!(list_pods(&reader, &namespace), Ok(()));
    let refused = list_pods(&reader, "default").unwrap_err();
    assert!(
        refused.contains(&format!(r#"User "system:serviceaccount:{namespace}:reader" cannot list"#)),
        "{refused}"
    );
    let refused = list_pods(&plane.kubeconfig_of_user("nobody"), "default").unwrap_err();
    assert!(refused.contains(r#"User "nobody" cannot list"#), "{refused}");
    let refused = list_pods(&plane.write_kubeconfig("stranger", "unknown"), "default").unwrap_err();
    assert!(refused.contains("Unauthorized"), "{refused}");
    assert_eq!(list_pods(&plane.kubeconfig_of_user("system:kube-scheduler"), "default"), Ok(()));
}

#[test]
fn the_client_trusts_the_certificate_of_the_server() {
    let plane = ControlPlane::shared();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let version = runtime.block_on(async {
        let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        kube::Client::try_from(config).unwrap().apiserver_version().await.unwrap()
    });
    assert_eq!(format!("{}.{}", version.major, version.minor), kubernetes());
}

#[test]
fn the_api_server_can_be_stopped_and_paused_and_keeps_its_objects() {
    let mut plane = ControlPlane::start();
    plane.create_nodes("kept", 1, &[("cpu", "1")]);
    plane.stop_api_server();
    assert!(!plane.api_server_is_ready());
    plane.restart_api_server();
    assert_eq!(plane.get_json(["node", "kept-0"])["status"]["capacity"]["cpu"], "1");

    plane.api_server().pause();
    let paused = plane.kubectl(["get", "--raw=/readyz", "--request-timeout=1s"]);
    assert!(!paused.status.success());
    plane.api_server().resume();
    wait_until("it answers again", SOON, || plane.api_server_is_ready());

    plane.etcd.pause();
    let write = ["create", "namespace", "slow", "--request-timeout=1s"];
    assert!(!plane.kubectl(write).status.success(), "a write without etcd");
    plane.etcd.resume();
    wait_until("it is ready again", SOON, || plane.api_server_is_ready());

    let folder = plane.folder().path().to_owned();
    assert!(folder.exists());
    plane.stop();
    assert!(!folder.exists());
}

#[test]
fn a_proxy_can_break_hang_and_refuse_connections() {
    let plane = ControlPlane::shared();
    let proxy = Proxy::start(plane.port());
    let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig_through(&proxy, "admin").display());
    let answers = || {
        let ready = plane.kubectl([&kubeconfig, "get", "--raw=/readyz", "--request-timeout=2s"]);
        ready.status.success()
    };
    assert!(answers());
    assert_eq!(proxy.connections(), 1);
    proxy.refuse(true);
    assert!(!answers());
    proxy.refuse(false);
    proxy.hang(true);
    assert!(!answers());
    proxy.hang(false);
    assert!(answers());

    std::thread::scope(|scope| {
        let before = proxy.connections();
        let watch = scope.spawn(|| {
            let path = "--raw=/api/v1/namespaces?watch=true&timeoutSeconds=60";
            plane.kubectl([&kubeconfig, "get", path, "--request-timeout=0"])
        });
        wait_until("the watch is open", SOON, || proxy.connections() > before);
        assert!(!became_true(Duration::from_secs(1), || watch.is_finished()), "the watch goes on");
        proxy.cut();
        wait_until("the watch is cut", Duration::from_secs(20), || watch.is_finished());
        assert!(!watch.join().unwrap().status.success());
    });
    assert!(answers(), "connections after the cut are good");
}

/// The child process runs this same test with a variable set: it starts a server, then kills
/// itself.
#[test]
fn servers_end_with_a_killed_test_process() {
    const NOTE: &str = "BAYPLAN_TEST_WATCHDOG";
    if let Ok(note) = std::env::var(NOTE) {
        let folder = Folder::new("watchdog");
        let mut sleep = Command::new("sleep");
        sleep.arg("600");
        let mut ended = Daemon::spawn("sleep", Command::new("true"), &folder.join("log"));
        ended.wait_exit(SOON).expect("`true` ends");
        let daemon = Daemon::spawn("sleep", sleep, &folder.join("log"));
        std::fs::write(note, format!("{}\n{}\n", daemon.pid(), folder.path().display())).unwrap();
        // Through a shell, because not every machine has the program `kill`. Its parent is this
        // process.
        Command::new("sh").args(["-c", "kill -KILL $PPID"]).status().unwrap();
        std::thread::sleep(SOON);
        unreachable!("killed");
    }
    let folder = Folder::new("watched");
    let note = folder.join("note");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "control_plane_checks::servers_end_with_a_killed_test_process"])
        .env(NOTE, &note)
        .output()
        .unwrap()
        .status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
    let note = std::fs::read_to_string(note).unwrap();
    let (pid, left) = note.trim().split_once('\n').unwrap();
    // A zombie has no command line.
    let lives = || std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"));
    assert!(became_true(SOON, || !lives()), "process {pid} lives on");
    assert!(became_true(SOON, || !std::path::Path::new(left).exists()), "{left} is left");
}
