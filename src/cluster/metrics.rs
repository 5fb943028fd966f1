//! Every metric, declared once with its name, help, labels and buckets: kube-scheduler's STABLE ones under their own
//! names, so that its dashboards and alerts work unchanged, and ours with the prefix `bayplan_`. A metric that is
//! not measured is not declared.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// Labels of a sample: names and values.
pub type Labels = Vec<(&'static str, String)>;
/// Arrivals in queues: queue, event, how many.
pub type Incoming = Vec<(&'static str, String, u64)>;
type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;
type FloatGauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics.
pub struct Metrics {
    registry: Registry,
    /// `result` (scheduled, unschedulable, error), `profile`.
    pub schedule_attempts: Counters,
    /// `result`, `profile`.
    pub attempt_duration: Histograms,
    /// No labels.
    pub algorithm_duration: Histogram,
    /// `extension_point`, `status`, `profile`.
    pub extension_point_duration: Histograms,
    /// `plugin`, `extension_point`, `status`; of one attempt in ten.
    pub plugin_duration: Histograms,
    /// `plugin`, `extension_point`, `profile`.
    pub plugin_evaluations: Counters,
    /// `result`.
    pub permit_wait: Histograms,
    /// `queue`.
    pub pending_pods: Gauges,
    /// `queue`, `event`.
    pub queue_incoming: Counters,
    /// No labels.
    pub pod_attempts: Histogram,
    /// `attempts`: 1 to 14, 15+.
    pub sli_duration: Histograms,
    /// `plugin`, `profile`.
    pub unschedulable_pods: Gauges,
    /// No labels; no pod is preempted by this scheduler.
    pub preemption_attempts: Counter,
    /// No labels; no pod is preempted by this scheduler.
    pub preemption_victims: Histogram,
    /// `type`: nodes, pods, assumed_pods.
    pub cache_size: Gauges,
    /// `operation`.
    pub goroutines: Gauges,
    /// `name` of the lease.
    pub master_status: Gauges,
    /// `code`, `host`, `method`.
    pub client_requests: Counters,
    /// `host`, `verb`.
    pub client_duration: Histograms,
    /// `name`, `code`.
    pub calls: Counters,
    /// 1 on the replica that schedules.
    pub leader: Gauge,
    /// `policy`, `revision`, `mode`, `source`.
    pub policy_info: Gauges,
    /// `policy`.
    pub policy_load_success: Gauges,
    /// `policy`.
    pub policy_load_timestamp: FloatGauges,
    /// The revision of the set that decides.
    pub policy_revision: Gauge,
    /// `kind`.
    pub watch_age: FloatGauges,
    /// `what`.
    pub dropped: Counters,
    /// `result`: done, refused, unknown.
    pub bind_results: Counters,
    /// Seconds.
    pub cpu: Counter<f64, AtomicU64>,
    /// Bytes.
    pub memory: Gauge,
    /// Seconds since 1970.
    pub started: Gauge<f64, AtomicU64>,
}

fn milliseconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

fn hundredths() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 20))
}

fn tenths_of_milliseconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 12))
}

fn hundredths_of_milliseconds() -> Histogram {
    Histogram::new(exponential_buckets(0.00001, 1.5, 20))
}

/// Those of client-go's requests.
fn of_requests() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0])
}

impl Metrics {
    /// All metrics at nought.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let attempts = || Histogram::new(exponential_buckets(1.0, 2.0, 5));
        let metrics = Self {
            schedule_attempts: add(
                &mut registry,
                "scheduler_schedule_attempts",
                "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem",
                Counters::default(),
            ),
            attempt_duration: add(
                &mut registry,
                "scheduler_scheduling_attempt_duration_seconds",
                "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                Family::new_with_constructor(milliseconds as fn() -> Histogram),
            ),
            algorithm_duration: add(
                &mut registry,
                "scheduler_scheduling_algorithm_duration_seconds",
                "Scheduling algorithm latency in seconds",
                milliseconds(),
            ),
            extension_point_duration: add(
                &mut registry,
                "scheduler_framework_extension_point_duration_seconds",
                "Latency for running all plugins of a specific extension point",
                Family::new_with_constructor(tenths_of_milliseconds as fn() -> Histogram),
            ),
            plugin_duration: add(
                &mut registry,
                "scheduler_plugin_execution_duration_seconds",
                "Duration for running a plugin at a specific extension point; a filter or scorer is asked for all nodes at once",
                Family::new_with_constructor(hundredths_of_milliseconds as fn() -> Histogram),
            ),
            plugin_evaluations: add(
                &mut registry,
                "scheduler_plugin_evaluation",
                "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score)",
                Counters::default(),
            ),
            permit_wait: add(
                &mut registry,
                "scheduler_permit_wait_duration_seconds",
                "Duration of waiting on permit",
                Family::new_with_constructor(milliseconds as fn() -> Histogram),
            ),
            pending_pods: add(
                &mut registry,
                "scheduler_pending_pods",
                "Number of pending pods, by the queue type",
                Gauges::default(),
            ),
            queue_incoming: add(
                &mut registry,
                "scheduler_queue_incoming_pods",
                "Number of pods added to scheduling queues by event and queue type",
                Counters::default(),
            ),
            pod_attempts: add(
                &mut registry,
                "scheduler_pod_scheduling_attempts",
                "Number of attempts to successfully schedule a pod",
                attempts(),
            ),
            sli_duration: add(
                &mut registry,
                "scheduler_pod_scheduling_sli_duration_seconds",
                "E2e latency for a pod being scheduled, from the time it was first tried",
                Family::new_with_constructor(hundredths as fn() -> Histogram),
            ),
            unschedulable_pods: add(
                &mut registry,
                "scheduler_unschedulable_pods",
                "Number of unschedulable pods by the plugins that refused them; a pod counts once for each",
                Gauges::default(),
            ),
            preemption_attempts: add(
                &mut registry,
                "scheduler_preemption_attempts",
                "Total preemption attempts in the cluster till now; this scheduler makes none",
                Counter::default(),
            ),
            preemption_victims: add(
                &mut registry,
                "scheduler_preemption_victims",
                "Number of selected preemption victims; this scheduler selects none",
                Histogram::new(exponential_buckets(1.0, 2.0, 7)),
            ),
            cache_size: add(
                &mut registry,
                "scheduler_cache_size",
                "Number of nodes, pods, and assumed (bound) pods in the scheduler cache",
                Gauges::default(),
            ),
            goroutines: add(
                &mut registry,
                "scheduler_goroutines",
                "Number of running bindings",
                Gauges::default(),
            ),
            master_status: add(
                &mut registry,
                "leader_election_master_status",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master",
                Gauges::default(),
            ),
            client_requests: add(
                &mut registry,
                "rest_client_requests",
                "Number of HTTP requests, partitioned by status code, method, and host",
                Counters::default(),
            ),
            client_duration: add(
                &mut registry,
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host",
                Family::new_with_constructor(of_requests as fn() -> Histogram),
            ),
            calls: add(
                &mut registry,
                "bayplan_calls",
                "Calls to the API server about pods, by kind and result",
                Counters::default(),
            ),
            leader: add(&mut registry, "bayplan_leader", "1 on the replica that schedules", Gauge::default()),
            policy_info: add(
                &mut registry,
                "bayplan_policy_info",
                "What runs: one sample for each policy",
                Gauges::default(),
            ),
            policy_load_success: add(
                &mut registry,
                "bayplan_policy_load_success",
                "1 when the present text of the policy runs, 0 when an older one does or none",
                Gauges::default(),
            ),
            policy_load_timestamp: add(
                &mut registry,
                "bayplan_policy_load_timestamp_seconds",
                "When the text that runs was taken into service",
                FloatGauges::default(),
            ),
            policy_revision: add(
                &mut registry,
                "bayplan_policy_set_revision",
                "The revision of the set of policies that decides",
                Gauge::default(),
            ),
            watch_age: add(
                &mut registry,
                "bayplan_watch_age_seconds",
                "Time since the last event or bookmark of a watch",
                FloatGauges::default(),
            ),
            dropped: add(
                &mut registry,
                "bayplan_dropped",
                "What was let go because a queue was full",
                Counters::default(),
            ),
            bind_results: add(
                &mut registry,
                "bayplan_bind_results",
                "Bindings by what became of them",
                Counters::default(),
            ),
            cpu: add(
                &mut registry,
                "process_cpu_seconds",
                "Total user and system CPU time spent in seconds",
                Counter::default(),
            ),
            memory: add(
                &mut registry,
                "process_resident_memory_bytes",
                "Resident memory size in bytes",
                Gauge::default(),
            ),
            started: add(
                &mut registry,
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds",
                Gauge::default(),
            ),
            registry,
        };
        metrics.started.set(jiff::Timestamp::now().as_millisecond() as f64 / 1e3);
        // Dashboards expect the samples of every queue from the start.
        for queue in ["active", "backoff", "unschedulable", "gated"] {
            metrics.pending_pods.get_or_create(&vec![("queue", queue.into())]).set(0);
        }
        metrics
    }

    /// What the scheduler counts of its queue: arrivals as (queue, event, how many till now), and pods refused by
    /// (profile, plugin).
    pub fn set_queue(&self, incoming: &Incoming, refused: &BTreeMap<(String, String), usize>) {
        for (queue, event, count) in incoming {
            let labels = vec![("queue", (*queue).to_owned()), ("event", event.clone())];
            let counter = self.queue_incoming.get_or_create(&labels);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        self.unschedulable_pods.clear();
        for ((profile, plugin), count) in refused {
            let labels = vec![("plugin", plugin.clone()), ("profile", profile.clone())];
            self.unschedulable_pods.get_or_create(&labels).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
    }

    /// A pod was bound at its `attempt`th attempt, so long after its first.
    pub fn bound(&self, attempt: u32, since_first: f64) {
        self.pod_attempts.observe(f64::from(attempt));
        let attempts = if attempt >= 15 { "15+".to_owned() } else { attempt.to_string() };
        self.sli_duration.get_or_create(&vec![("attempts", attempts)]).observe(since_first);
    }

    /// All samples as OpenMetrics text.
    pub fn encode(&self) -> String {
        let (cpu, memory) = own_usage();
        self.cpu.inc_by((cpu - self.cpu.get()).max(0.0));
        self.memory.set(memory);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// CPU seconds and resident bytes of this process, from `/proc`; nought where there is none.
pub fn own_usage() -> (f64, i64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold blanks; fields are counted after it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    let pages = ticks(21);
    ((ticks(11) + ticks(12)) / 100.0, (pages * 4096.0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_metrics_have_upstreams_names_labels_and_buckets() {
        let metrics = Metrics::new();
        let labels =
            |result: &str| vec![("result", result.to_owned()), ("profile", "default-scheduler".to_owned())];
        metrics.schedule_attempts.get_or_create(&labels("scheduled")).inc();
        metrics.attempt_duration.get_or_create(&labels("scheduled")).observe(0.003);
        metrics.bound(1, 0.03);
        metrics.bound(17, 90.0);
        let point = vec![
            ("extension_point", "Bind".to_owned()),
            ("status", "Success".to_owned()),
            ("profile", "default-scheduler".to_owned()),
        ];
        metrics.extension_point_duration.get_or_create(&point).observe(0.0003);
        let plugin = ("default-scheduler".to_owned(), "NodeResourcesFit".to_owned());
        let incoming = |count| vec![("active", "NodeAdd".to_owned(), count)];
        metrics.set_queue(&incoming(2), &BTreeMap::from([(plugin, 4)]));
        let refused =
            r#"scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 4"#;
        assert!(metrics.encode().lines().any(|it| it == refused));
        metrics.set_queue(&incoming(5), &BTreeMap::new());
        let text = metrics.encode();
        for line in [
            "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"default-scheduler\"} 1",
            "scheduler_pending_pods{queue=\"gated\"} 0",
            "scheduler_scheduling_attempt_duration_seconds_bucket{le=\"0.001\",result=\"scheduled\",profile=\"default-scheduler\"} 0",
            "scheduler_scheduling_attempt_duration_seconds_bucket{le=\"0.004\",result=\"scheduled\",profile=\"default-scheduler\"} 1",
            "scheduler_pod_scheduling_attempts_bucket{le=\"16.0\"} 1",
            "scheduler_pod_scheduling_attempts_count 2",
            "scheduler_queue_incoming_pods_total{queue=\"active\",event=\"NodeAdd\"} 5",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket{le=\"0.04\",attempts=\"1\"} 1",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket{le=\"5242.88\",attempts=\"15+\"} 1",
            "scheduler_framework_extension_point_duration_seconds_bucket{le=\"0.2048\",extension_point=\"Bind\",status=\"Success\",profile=\"default-scheduler\"} 1",
            "scheduler_preemption_attempts_total 0",
            "scheduler_preemption_victims_bucket{le=\"64.0\"} 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
        }
        assert!(!text.contains("scheduler_unschedulable_pods{"), "nobody is refused any more");
        assert!(text.contains("process_resident_memory_bytes "));
    }
}
