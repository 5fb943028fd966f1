//! 429 and its `Retry-After`: calls of one class wait and the others go on, and a call that certainly
//! did not happen is sent again. Besides, events over a slow connection.

use crate::api_load::{ApiClient, post};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::http_proxy::Seen;
use crate::support::{ControlPlane, HttpProxy, Rule, User, wait_until};
use crate::throughput_bench::size;
use crate::workload::Workload;
use bayplan::cluster::api::client::{ApiError, Request};
use http::Method;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(40);
const LONG: Duration = Duration::from_secs(600);

/// The kubeconfig of a user of the options through a proxy.
fn through(plane: &ControlPlane, proxy: &HttpProxy) -> std::path::PathBuf {
    plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token())
}

fn proxy(plane: &ControlPlane) -> HttpProxy {
    HttpProxy::start(&plane.url())
}

/// The largest number of requests that were open at once.
fn most_open(requests: &[Seen]) -> usize {
    let mut changes: Vec<_> =
        requests.iter().flat_map(|seen| [(seen.at, 1), (seen.ended.expect("an answer"), -1_isize)]).collect();
    changes.sort();
    let mut open = 0;
    let numbers = changes.into_iter().map(|(_, change)| {
        open += change;
        open
    });
    numbers.max().unwrap_or(0).unsigned_abs()
}

#[test]
fn reviews_that_are_throttled_leave_the_lease() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "reviews", 1);
    let proxy = proxy(plane);
    let config = plane.folder().join(format!("{}.yaml", load.namespace));
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection:\n  \
         leaderElect: true\n  leaseDuration: 5s\n  renewDeadline: 3s\n  retryPeriod: 500ms\n  resourceName: {name}\n  \
         resourceNamespace: {name}\nprofiles:\n- schedulerName: {scheduler}\n",
        name = load.namespace,
        scheduler = load.scheduler
    );
    std::fs::write(&config, text).unwrap();
    let setup = Setup::new(&load.scheduler).config(config).kubeconfig(through(plane, &proxy)).guarded();
    let mut ours = SchedulerProcess::start(plane, &setup);
    wait_until("it leads", SOON, || ours.said().contains("became leader"));

    proxy.rule(Rule::throttles(Method::POST, "/tokenreviews", 32));
    let scrape = |token: &str| {
        let scraper = ApiClient::of(&plane.kubeconfig_at(&ours.url(), token));
        let answer = scraper.runtime.block_on(scraper.api.send(Request::get("/metrics")));
        answer.unwrap_err()
    };
    let throttled = || {
        let reviews = proxy.seen(&Method::POST, "/tokenreviews");
        reviews.iter().filter(|seen| seen.ruled.is_some()).count()
    };
    assert_eq!(scrape("some-token").code(), Some(500), "its review is throttled");
    assert_eq!(throttled(), 1);
    // The next caller learns at once how long to wait.
    let refused = scrape("other-token");
    let ApiError::Status { code: 429, retry_after: Some(after), .. } = &refused else {
        panic!("{refused:?}")
    };
    assert!(*after > Duration::from_secs(20) && *after <= Duration::from_secs(32), "{after:?}");
    let renewals = || proxy.seen(&Method::PUT, "/leases/").len();
    let before = renewals();
    // Longer than the renew deadline.
    std::thread::sleep(Duration::from_secs(5));
    assert!(ours.daemon.is_running(), "{}", ours.daemon.log_tail(10));
    assert!(renewals() >= before + 4, "{} renewals in 5 s", renewals() - before);
    load.create_pods(1, "100m");
    load.wait_bound(1, SOON);
    assert_eq!(throttled(), 1, "reviews wait as long as the server asks");
}

#[test]
fn a_server_that_throttles_at_the_start_is_there() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "busy", 1);
    let proxy = proxy(plane);
    proxy.rule(Rule::throttles(Method::GET, "/version", 2));
    let ours =
        SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(through(plane, &proxy)));
    load.create_pods(1, "100m");
    load.wait_bound(1, SOON);
    assert!(!ours.said().contains("cannot reach the API server"), "{}", ours.said());
}

#[test]
fn a_throttled_binding_is_sent_again_and_nothing_else_notices() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "again", 1);
    let proxy = proxy(plane);
    let ours =
        SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(through(plane, &proxy)));
    proxy.rule(Rule::throttles(Method::POST, "/binding", 2).times(1));
    load.create_pods(1, "100m");
    load.wait_bound(1, SOON);
    let binds = proxy.seen(&Method::POST, "/p0/binding");
    assert_eq!(binds.iter().map(|seen| seen.ruled).collect::<Vec<_>>(), [Some(429), None]);
    assert!(binds[1].at - binds[0].at >= Duration::from_secs(2), "{binds:?}");
    wait_until("its event is written", SOON, || !plane.events_about(&load.namespace, "p0").is_empty());
    let events = plane.events_about(&load.namespace, "p0");
    assert_eq!(events.iter().map(|event| &event["reason"]).collect::<Vec<_>>(), ["Scheduled"]);
    assert!(proxy.seen(&Method::PATCH, "/p0/status").is_empty(), "its condition stays");
    load.check();
    assert!(ours.said().contains("Successfully bound pod to node"));
}

#[test]
fn bindings_that_are_answered_after_sigterm_have_their_events() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "drain", 4);
    let proxy = proxy(plane);
    proxy.delay(Duration::from_millis(200));
    let mut ours =
        SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(through(plane, &proxy)));
    load.create_pods(150, "40m");
    wait_until("some are bound", SOON, || proxy.seen(&Method::POST, "/binding").len() >= 40);
    ours.daemon.terminate();
    let status = ours.daemon.wait_exit(SOON).expect("an end");
    assert!(status.success(), "{}", ours.daemon.log_tail(10));
    let events = plane.get_json(["events.events.k8s.io", "--namespace", &load.namespace]);
    let events = events["items"].as_array().into_iter().flatten();
    let scheduled = events.filter(|event| event["reason"] == "Scheduled").count();
    let bound = load.bound();
    assert!(bound >= 40, "{bound}");
    assert_eq!(scheduled, bound, "{}", ours.daemon.log_tail(10));
}

/// `BAYPLAN_SLOW_PODS=20000` tries more pods.
#[test]
fn over_a_slow_connection_no_event_is_dropped() {
    let plane = ControlPlane::shared();
    let pods = size("BAYPLAN_SLOW_PODS", 300);
    let load = Workload::new(plane, "delay", pods.div_ceil(100));
    let client = ApiClient::new(plane);
    let path = format!("/api/v1/namespaces/{}/pods", load.namespace);
    client.all(32, (0..pods).map(|at| post(&*path, &load.pod(&format!("p{at}"), "40m"))));
    let proxy = proxy(plane);
    proxy.delay(Duration::from_millis(20));
    let ours =
        SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(through(plane, &proxy)));
    wait_until("all are bound", LONG, || proxy.seen(&Method::POST, "/binding").len() >= pods);
    let events = format!("{}/events", load.namespace);
    let written = || proxy.seen(&Method::POST, &events);
    let ended = || written().iter().filter(|seen| seen.ended.is_some()).count();
    wait_until("all events are written", LONG, || ended() >= pods);
    let (binds, events) = (proxy.seen(&Method::POST, "/binding"), written());
    assert_eq!((binds.len(), events.len()), (pods, pods), "each once");
    let at_once = most_open(&events);
    assert!(at_once > 8 && at_once <= 32, "{at_once} events at once: all of the window, once no bind waits");
    let last = |seen: &[Seen]| seen.iter().filter_map(|seen| seen.ended).max().unwrap();
    println!(
        "{pods} pods: last binding after {:?}, last event {:?} later",
        last(&binds) - binds[0].at,
        last(&events).saturating_duration_since(last(&binds))
    );
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    let dropped = metrics.lines().find(|line| line.starts_with("bayplan_dropped_total{what=\"events\"}"));
    assert!(dropped.is_none_or(|line| line.ends_with(" 0")), "{dropped:?}");
}
