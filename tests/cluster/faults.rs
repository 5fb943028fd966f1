//! Faults between the scheduler and the API server: a restart, a paused etcd, broken watches, lost
//! answers, throttling. In the end every pod is bound exactly once and no node is over-committed.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, Proxy, control_plane::Options, wait_until};
use crate::workload::Workload;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);

#[test]
fn the_api_server_restarts_while_pods_are_bound() {
    let mut plane = ControlPlane::start();
    let (namespace, scheduler) = {
        let load = Workload::new(&plane, "restart", 10);
        (load.namespace.clone(), load.scheduler.clone())
    };
    let mut ours = SchedulerProcess::start(&plane, &Setup::new(&scheduler));
    {
        let load = Workload::again(&plane, &namespace, 0);
        load.create_pods(300, "100m");
        load.wait_bound(1, Duration::from_secs(20));
    }
    plane.stop_api_server();
    std::thread::sleep(Duration::from_secs(2));
    plane.restart_api_server();
    {
        let load = Workload::again(&plane, &namespace, 300);
        load.create_pods(100, "100m");
        load.wait_bound(400, LONG);
        load.check();
    }
    plane.etcd.pause();
    std::thread::sleep(Duration::from_secs(3));
    plane.etcd.resume();
    // The nodes are full to the last millicore, so resources counted twice or never released would
    // show.
    wait_until("the API server answers again", LONG, || plane.api_server_is_ready());
    assert!(ours.daemon.is_running(), "{}", ours.daemon.log_tail(30));
}

#[test]
fn etcd_is_paused_while_pods_are_bound() {
    let mut plane = ControlPlane::start();
    let (namespace, scheduler) = {
        let load = Workload::new(&plane, "slow", 10);
        (load.namespace.clone(), load.scheduler.clone())
    };
    let _ours = SchedulerProcess::start(&plane, &Setup::new(&scheduler));
    for round in 0..3 {
        Workload::again(&plane, &namespace, round * 100).create_pods(100, "100m");
        plane.etcd.pause();
        // Longer than the time limit of a binding, so that some results are unknown.
        std::thread::sleep(Duration::from_secs(6));
        plane.etcd.resume();
        wait_until("the API server answers again", LONG, || plane.api_server_is_ready());
    }
    let load = Workload::again(&plane, &namespace, 300);
    load.wait_bound(300, LONG);
    load.check();
}

#[test]
fn watches_break_and_answers_are_lost() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "cut", 10);
    let proxy = Proxy::start(plane.port());
    let kubeconfig = plane.kubeconfig_through(&proxy, "admin");
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(kubeconfig));
    for round in 0..8 {
        load.create_pods(50, "100m");
        std::thread::sleep(Duration::from_millis(100 + 37 * round));
        proxy.cut();
        if round == 3 {
            proxy.hang(true);
            std::thread::sleep(Duration::from_secs(6));
            proxy.hang(false);
        }
        if round == 5 {
            proxy.refuse(true);
            proxy.cut();
            std::thread::sleep(Duration::from_secs(2));
            proxy.refuse(false);
        }
    }
    load.wait_bound(400, LONG);
    load.check();
    assert!(ours.said().contains("watch broken"), "the log shows the broken watches");
}

#[test]
fn a_throttled_client_binds_each_pod_once() {
    let flags = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=2"];
    let options = Options { api_server_flags: flags.map(str::to_owned).to_vec(), ..Options::default() };
    let plane = ControlPlane::start_with(options);
    let load = Workload::new(&plane, "throttled", 10);
    load.create_pods(200, "100m");
    // The API server never throttles `system:masters`.
    let kubeconfig = plane.kubeconfig_of_user("system:kube-scheduler");
    let ours = SchedulerProcess::start(&plane, &Setup::new(&load.scheduler).kubeconfig(kubeconfig));
    load.wait_bound(200, LONG);
    load.check();
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    let again = metrics.lines().find(|line| line.starts_with("bayplan_bind_results_total{result=\"retry\"}"));
    assert!(again.is_some(), "it was never throttled:\n{metrics}");
}
