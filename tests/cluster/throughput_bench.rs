//! Measures pods per second on a real API server, beside the real kube-scheduler: `make
//! bench-cluster`. Prints figures, and fails only if a pod is not bound. `BAYPLAN_BENCH_NODES` and
//! `BAYPLAN_BENCH_PODS` change the size, `BAYPLAN_BENCH_ROWS=basic,hard spread` chooses workloads,
//! and `BAYPLAN_BENCH_PEER=0` leaves kube-scheduler out.

use crate::api_load::ApiClient;
use crate::bench_workloads::{Bench, ROWS, Row};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, Daemon, control_plane::Options};
use bayplan::cluster::api::client::Request;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A number from the environment.
pub(crate) fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) struct Figures {
    who: &'static str,
    /// Until the last binding.
    pub seconds: f64,
    cpu: f64,
    peak_mib: f64,
    /// POST, PATCH and PUT requests: mainly a binding and an event for each pod, and what is written into its claims.
    writes: f64,
    /// From the start to the last event.
    to_last_event: f64,
}

impl Figures {
    fn print(&self, row: &str, pods: usize, events: usize) {
        let thousands = pods as f64 / 1_000.0;
        println!(
            "{row:>24}, {pods:>6} pods, {:>14}: {:7.1} pods/s  last binding after {:5.1} s, last event after {:5.1} s  \
             {:5.2} CPU s per 1,000 pods  {:6.1} MiB at most  {:4.2} writing calls a pod, {events} events of bindings",
            self.who,
            pods as f64 / self.seconds,
            self.seconds,
            self.to_last_event,
            self.cpu / thousands,
            self.peak_mib,
            self.writes / pods as f64,
        );
    }
}

/// Waits until the scheduler's metrics count `count` scheduled pods, and takes its figures. Sets `stop` then, so that the
/// changes of the cluster end, and with them the events of pods that fit nowhere.
pub(crate) fn measure(
    plane: &ControlPlane,
    who: &'static str,
    daemon: &Daemon,
    url: &str,
    since: (Instant, f64),
    count: usize,
    stop: &AtomicBool,
) -> Figures {
    let client = ApiClient::of(&plane.kubeconfig_for(url));
    let sum = |metric: &str, labels: &[&str]| -> f64 {
        // Not with kubectl, whose start ten times per second would take a good part of the machine.
        let metrics = client.text("/metrics").unwrap_or_default();
        metrics
            .lines()
            .filter(|line| line.starts_with(metric) && labels.iter().any(|label| line.contains(label)))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    };
    let scheduled = || sum("scheduler_schedule_attempts_total{", &["result=\"scheduled\""]) as usize;
    let limit = Instant::now() + Duration::from_secs(600);
    while scheduled() < count && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(100));
    }
    let seconds = since.0.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    assert!(scheduled() >= count, "{who}: {} of {count} pods after 600 s", scheduled());
    // Events are written after the bindings, and their cost belongs to the pods, too. The last one was
    // written when none has followed for some seconds.
    let methods = ["method=\"POST\"", "method=\"PATCH\"", "method=\"PUT\""];
    let made = || sum("rest_client_requests_total{", &methods);
    let (mut writes, mut last) = (made(), Instant::now());
    while last.elapsed() < Duration::from_secs(3) && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(100));
        let more = made();
        if more > writes {
            (writes, last) = (more, Instant::now());
        }
    }
    let to_last_event = (last - since.0).as_secs_f64();
    let cpu = daemon.cpu_seconds().unwrap_or(0.0) - since.1;
    let peak_mib = daemon.memory_kib().map_or(0.0, |(_, peak)| peak as f64 / 1024.0);
    Figures { who, seconds, cpu, peak_mib, writes, to_last_event }
}

/// The number of events `Scheduled` that the API server has.
fn scheduled_events(client: &ApiClient, namespace: &str) -> usize {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let events = client.call(Request::get(path).within(Duration::from_secs(60))).unwrap_or_default();
    let events = events["items"].as_array().into_iter().flatten();
    events.filter(|event| event["reason"] == "Scheduled").count()
}

#[test]
#[ignore = "takes minutes and needs a release build: make bench-cluster"]
fn bench_workloads_beside_kube_scheduler() {
    let (nodes, peer) = (size("BAYPLAN_BENCH_NODES", 5_000), size("BAYPLAN_BENCH_PEER", 1) != 0);
    let asked = std::env::var("BAYPLAN_BENCH_ROWS").unwrap_or_default();
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    println!("{nodes} nodes; the pods exist before the scheduler starts");
    for row in ROWS.iter().filter(|row| asked.is_empty() || asked.contains(&row.name)) {
        let pods = row.count(nodes, size("BAYPLAN_BENCH_PODS", row.pods));
        // Each scheduler has a cluster of its own, so that none sees the pods of the other.
        bench_ours(row, nodes, pods);
        if peer {
            bench_theirs(row, nodes, pods);
        }
    }
}

fn bench(row: &Row, who: &str, nodes: usize, pods: usize) -> Bench {
    let flags = ["--max-requests-inflight=3000", "--max-mutating-requests-inflight=1500"];
    let options = Options { api_server_flags: flags.map(str::to_owned).to_vec(), ..Options::default() };
    Bench::new(ControlPlane::start_with(options), row, who, nodes, pods)
}

/// Runs `work` while the cluster changes as the row says.
fn with_churn(row: &Row, bench: &Bench, who: &str, work: impl FnOnce(&AtomicBool) -> Figures) -> Figures {
    let stop = AtomicBool::new(!row.churn);
    std::thread::scope(|scope| {
        scope.spawn(|| bench.churn(who, &stop));
        work(&stop)
    })
}

fn bench_ours(row: &Row, nodes: usize, pods: usize) {
    let bench = bench(row, "bayplan", nodes, pods);
    let since = (Instant::now(), 0.0);
    let ours = SchedulerProcess::start(&bench.plane, &Setup::new("bayplan").flag("-v=0"));
    let figures = with_churn(row, &bench, "bayplan", |stop| {
        measure(&bench.plane, "bayplan", &ours.daemon, &ours.url(), since, pods, stop)
    });
    figures.print(row.name, pods, scheduled_events(&bench.client, &bench.namespace));
    let list = bench.plane.get_json(["pods", "--namespace", &bench.namespace]);
    let is_bound =
        |pod: &&Value| pod["spec"]["schedulerName"] == "bayplan" && pod["spec"]["nodeName"].is_string();
    assert_eq!(list["items"].as_array().unwrap().iter().filter(is_bound).count(), pods, "{}", row.name);
}

fn bench_theirs(row: &Row, nodes: usize, pods: usize) {
    let bench = bench(row, "real", nodes, pods);
    let since = (Instant::now(), 0.0);
    let real = bench.plane.start_kube_scheduler("profiles:\n- schedulerName: real\n");
    let figures = with_churn(row, &bench, "real", |stop| {
        measure(&bench.plane, "kube-scheduler", &real.daemon, &real.url(), since, pods, stop)
    });
    figures.print(row.name, pods, scheduled_events(&bench.client, &bench.namespace));
}
