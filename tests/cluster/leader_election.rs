//! Two replicas and one lease: the leader dies or is stopped, the other replica takes over, and no
//! pod is bound twice or lost.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, wait_until};
use crate::workload::Workload;
use std::time::{Duration, Instant};

const PODS: usize = 300;

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
