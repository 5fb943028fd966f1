//! What goes wrong between us and the API server: it stops and starts, its etcd stands still, watches are cut, answers
//! are lost, it throttles. Every pod ends bound exactly once and no node is over-committed.

use crate::load::Load;
use crate::ours::{Ours, Setup};
use crate::support::{ControlPlane, Proxy, control_plane::Options, wait_until};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);

#[test]
fn the_api_server_stops_and_starts_in_mid_work() {
    let Some(mut plane) = ControlPlane::start() else { return };
    let (namespace, scheduler) = {
        let load = Load::new(&plane, "restart", 10);
        (load.namespace.clone(), load.scheduler.clone())
    };
    let mut ours = Ours::start(&plane, &Setup::new(&scheduler));
    {
        let load = Load::again(&plane, &namespace, 0);
        load.create_pods(300, "100m");
        load.wait_bound(1, Duration::from_secs(20));
    }
    plane.stop_api_server();
    std::thread::sleep(Duration::from_secs(2));
    plane.restart_api_server();
    {
        let load = Load::again(&plane, &namespace, 300);
        load.create_pods(100, "100m");
        load.wait_bound(400, LONG);
        load.check();
    }
    plane.etcd.pause();
    std::thread::sleep(Duration::from_secs(3));
    plane.etcd.resume();
    // Full to the last millicore: room that was counted twice, or not given back, would show.
    wait_until("it answers again", LONG, || plane.api_server_is_ready());
    assert!(ours.daemon.is_running(), "{}", ours.daemon.log_tail(30));
}

#[test]
fn etcd_stands_still_while_pods_are_bound() {
    let Some(plane) = ControlPlane::start() else { return };
    let mut plane = plane;
    let (namespace, scheduler) = {
        let load = Load::new(&plane, "slow", 10);
        (load.namespace.clone(), load.scheduler.clone())
    };
    let _ours = Ours::start(&plane, &Setup::new(&scheduler));
    for round in 0..3 {
        Load::again(&plane, &namespace, round * 100).create_pods(100, "100m");
        plane.etcd.pause();
        // Longer than the API server may take for a binding, so that some have no known end.
        std::thread::sleep(Duration::from_secs(6));
        plane.etcd.resume();
        wait_until("it answers again", LONG, || plane.api_server_is_ready());
    }
    let load = Load::again(&plane, &namespace, 300);
    load.wait_bound(300, LONG);
    load.check();
}

#[test]
fn watches_are_cut_and_answers_lost() {
    let Some(plane) = ControlPlane::shared() else { return };
    let load = Load::new(plane, "cut", 10);
    let proxy = Proxy::start(plane.port());
    let kubeconfig = plane.kubeconfig_through(&proxy, "admin");
    let ours = Ours::start(plane, &Setup::new(&load.scheduler).kubeconfig(kubeconfig));
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
    assert!(ours.said().contains("watch broken"), "the cuts were seen");
}

#[test]
fn a_client_that_is_throttled_binds_each_pod_once() {
    let flags = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=2"];
    let options = Options { api_server_flags: flags.map(str::to_owned).to_vec(), ..Options::default() };
    let Some(plane) = ControlPlane::start_with(options) else { return };
    let load = Load::new(&plane, "throttled", 10);
    load.create_pods(200, "100m");
    // The API server never throttles `system:masters`.
    let kubeconfig = plane.kubeconfig_of_user("system:kube-scheduler");
    let ours = Ours::start(&plane, &Setup::new(&load.scheduler).kubeconfig(kubeconfig));
    load.wait_bound(200, LONG);
    load.check();
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    let refused =
        metrics.lines().find(|line| line.starts_with("bayplan_bind_results_total{result=\"refused\"}"));
    assert!(refused.is_some(), "it was never throttled:\n{metrics}");
}
