//! Two replicas and one lease: the leader dies or is stopped, the other replica takes over, and no
//! pod is bound twice or lost.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, wait_until};
use crate::workload::Workload;
use std::time::{Duration, Instant};

const PODS: usize = 300;
const SOON: Duration = Duration::from_secs(40);

fn holder(plane: &ControlPlane, namespace: &str, name: &str) -> String {
    let lease = plane.kubectl([
        "get",
        "lease",
        name,
        "--namespace",
        namespace,
        "-o",
        "jsonpath={.spec.holderIdentity}",
    ]);
    String::from_utf8(lease.stdout).unwrap_or_default()
}

fn pair(plane: &ControlPlane, name: &str, namespace: &str) -> (SchedulerProcess, SchedulerProcess) {
    let setup = Setup::new(name).policies_from(namespace).elects();
    let first = SchedulerProcess::start(plane, &setup);
    wait_until("the first leads", Duration::from_secs(10), || first.said().contains("became leader"));
    let second = SchedulerProcess::start(plane, &setup);
    wait_until("the second names the leader", Duration::from_secs(10), || {
        second.said().contains("waiting for the lease, which another instance holds")
    });
    (first, second)
}

#[test]
fn after_a_killed_leader_the_other_leads_when_the_lease_expires() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "kill", 20);
    let (mut first, second) = pair(plane, &load.scheduler, &load.namespace);
    load.create_pods(PODS, "10m");
    load.wait_bound(1, Duration::from_secs(20));
    let since = Instant::now();
    first.daemon.kill();
    load.create_pods(PODS, "10m");
    wait_until("the second leads", Duration::from_secs(25), || second.said().contains("became leader"));
    assert!(since.elapsed() > Duration::from_secs(5), "not before the lease has expired");
    load.wait_bound(2 * PODS, Duration::from_secs(60));
    load.check();
}

#[test]
fn a_leader_that_was_paused_past_its_lease_writes_nothing_more() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "stop", 20);
    let (mut first, second) = pair(plane, &load.scheduler, &load.namespace);
    load.create_pods(PODS, "10m");
    load.wait_bound(1, Duration::from_secs(20));
    first.daemon.pause();
    load.create_pods(PODS, "10m");
    wait_until("the second leads", Duration::from_secs(30), || second.said().contains("became leader"));
    load.wait_bound(2 * PODS, Duration::from_secs(60));
    first.daemon.resume();
    let ended = first.daemon.wait_exit(Duration::from_secs(20)).expect("it ends by itself");
    assert_eq!(ended.code(), Some(1), "{}", first.daemon.log_tail(20));
    assert!(first.said().contains("Leaderelection lost"), "{}", first.daemon.log_tail(20));
    load.check();
}

#[test]
fn a_leader_that_gets_sigterm_releases_the_lease() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "term", 20);
    let (mut first, second) = pair(plane, &load.scheduler, &load.namespace);
    load.create_pods(PODS, "10m");
    load.wait_bound(1, Duration::from_secs(20));
    let before = holder(plane, &load.namespace, &load.scheduler);
    let since = Instant::now();
    first.daemon.terminate();
    let ended = first.daemon.wait_exit(Duration::from_secs(15)).expect("it ends");
    assert_eq!(ended.code(), Some(0), "{}", first.daemon.log_tail(20));
    wait_until("the second leads", Duration::from_secs(10), || second.said().contains("became leader"));
    assert!(since.elapsed() < Duration::from_secs(12), "it did not wait for the lease to expire");
    assert_ne!(holder(plane, &load.namespace, &load.scheduler), before);
    load.wait_bound(PODS, Duration::from_secs(60));
    load.check();
}

/// A service account that may do everything but list and watch nodes.
fn without_nodes(plane: &ControlPlane, namespace: &str) -> std::path::PathBuf {
    plane.kubectl_ok(["create", "serviceaccount", "blind", "--namespace", namespace]);
    let account = format!("--serviceaccount={namespace}:blind");
    let role = format!("{namespace}-blind");
    plane.kubectl_ok([
        "create",
        "clusterrole",
        &role,
        "--verb=get,list,watch,create,update,patch",
        "--resource=pods,pods/binding,pods/status,namespaces,configmaps,events.events.k8s.io,leases.coordination.k8s.io",
    ]);
    plane.kubectl_ok(["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &account]);
    plane.kubeconfig_of_service_account(namespace, "blind")
}

#[test]
fn a_replica_that_cannot_list_never_takes_the_lease() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "rollout", 5);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let mut old = SchedulerProcess::start(plane, &setup);
    wait_until("the old replica leads", SOON, || old.said().contains("became leader"));
    let blind = setup.clone().kubeconfig(without_nodes(plane, &load.namespace));
    let mut new = SchedulerProcess::spawn(plane, &blind);
    wait_until("the new replica has read all else", SOON, || {
        let said = new.said();
        said.contains("cannot watch: nodes is forbidden") && said.contains("\"pods\" count")
    });
    old.daemon.terminate();
    old.daemon.wait_exit(SOON).expect("the old replica ends");
    // Longer than it takes to acquire a free lease.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(holder(plane, &load.namespace, &load.scheduler), "", "{}", new.daemon.log_tail(20));
    let other = SchedulerProcess::start(plane, &setup);
    load.create_pods(20, "10m");
    load.wait_bound(20, SOON);
    assert!(other.said().contains("became leader"));
    assert!(!new.said().contains("became leader"), "{}", new.daemon.log_tail(20));
    // It hears SIGTERM while it waits for its caches.
    new.daemon.terminate();
    let ended = new.daemon.wait_exit(Duration::from_secs(10)).expect("it ends");
    assert_eq!(ended.code(), Some(0), "{}", new.daemon.log_tail(20));
}

#[test]
fn a_lease_that_other_clients_write_stays_ours_and_is_released() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "conflict", 1);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let setup = setup.flag("--leader-elect-retry-period=200ms");
    let mut ours = SchedulerProcess::start(plane, &setup);
    wait_until("it leads", SOON, || ours.said().contains("became leader"));
    let since = Instant::now();
    let mut writes = 0;
    while since.elapsed() < Duration::from_secs(12) {
        let note = format!("note={writes}");
        let namespace = &load.namespace;
        plane.kubectl_ok([
            "annotate",
            "lease",
            &load.scheduler,
            &note,
            "--overwrite",
            "--namespace",
            namespace,
        ]);
        writes += 1;
    }
    assert!(ours.daemon.is_running(), "after {writes} writes: {}", ours.daemon.log_tail(20));
    assert_ne!(holder(plane, &load.namespace, &load.scheduler), "");
    // The version that it saw last is outdated, and still it releases the lease.
    ours.daemon.pause();
    plane.kubectl_ok([
        "annotate",
        "lease",
        &load.scheduler,
        "note=last",
        "--overwrite",
        "--namespace",
        &load.namespace,
    ]);
    ours.daemon.terminate();
    ours.daemon.resume();
    let ended = ours.daemon.wait_exit(SOON).expect("it ends");
    assert_eq!(ended.code(), Some(0), "{}", ours.daemon.log_tail(20));
    assert_eq!(holder(plane, &load.namespace, &load.scheduler), "", "{}", ours.daemon.log_tail(20));
}

/// With `delayCacheUntilActive` a replica reads nothing before it leads.
#[test]
fn a_replica_that_delays_its_cache_reads_the_cluster_once_it_leads() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "delayed", 5);
    let folder = crate::support::daemon::Folder::new("delayed");
    let config = folder.join("config.yaml");
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\ndelayCacheUntilActive: true\n\
         leaderElection: {{leaderElect: true, resourceName: {0}, resourceNamespace: {1}}}\nprofiles: [{{schedulerName: \
         {0}}}]\n",
        load.scheduler, load.namespace
    );
    std::fs::write(&config, text).unwrap();
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let mut first = SchedulerProcess::start(plane, &setup.clone().config(config.clone()));
    let second = SchedulerProcess::spawn(plane, &setup.config(config));
    wait_until("the second names the leader", Duration::from_secs(20), || {
        second.said().contains("waiting for the lease, which another instance holds")
    });
    let ready = || plane.get_from(&second.url(), "/readyz").is_some_and(|it| it == "ok");
    assert!(!ready());
    load.create_pods(20, "10m");
    load.wait_bound(20, Duration::from_secs(30));
    first.daemon.kill();
    wait_until("the second is ready", Duration::from_secs(40), ready);
    load.create_pods(20, "10m");
    load.wait_bound(40, Duration::from_secs(30));
    load.check();
}
