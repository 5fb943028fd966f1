//! Every metric, declared once with its name, help, labels and buckets: kube-scheduler's STABLE ones under their own
//! names, so that its dashboards and alerts work unchanged, and ours with the prefix `bayplan_`. A metric that is
//! not measured is not declared.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use std::sync::atomic::AtomicU64;

/// Labels of a sample: names and values.
pub type Labels = Vec<(&'static str, String)>;
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
    /// `queue`.
    pub pending_pods: Gauges,
    /// No labels.
    pub pod_attempts: Histogram,
    /// `type`: nodes, pods, assumed_pods.
    pub cache_size: Gauges,
    /// `operation`.
    pub goroutines: Gauges,
    /// `name` of the lease.
    pub master_status: Gauges,
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
}

fn milliseconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

fn tenths_of_milliseconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 12))
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
                "Latency for running all plugins of a specific extension point; here of Bind, which alone leaves the process",
                Family::new_with_constructor(tenths_of_milliseconds as fn() -> Histogram),
            ),
            pending_pods: add(
                &mut registry,
                "scheduler_pending_pods",
                "Number of pending pods, by the queue type",
                Gauges::default(),
            ),
            pod_attempts: add(
                &mut registry,
                "scheduler_pod_scheduling_attempts",
                "Number of attempts to successfully schedule a pod",
                attempts(),
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
            registry,
        };
        // Dashboards expect the samples of every queue from the start.
        for queue in ["active", "backoff", "unschedulable", "gated"] {
            metrics.pending_pods.get_or_create(&vec![("queue", queue.into())]).set(0);
        }
        metrics
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
        metrics.pod_attempts.observe(1.0);
        let text = metrics.encode();
        for line in [
            "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"default-scheduler\"} 1",
            "scheduler_pending_pods{queue=\"gated\"} 0",
            "scheduler_scheduling_attempt_duration_seconds_bucket{le=\"0.001\",result=\"scheduled\",profile=\"default-scheduler\"} 0",
            "scheduler_scheduling_attempt_duration_seconds_bucket{le=\"0.004\",result=\"scheduled\",profile=\"default-scheduler\"} 1",
            "scheduler_pod_scheduling_attempts_bucket{le=\"16.0\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
        }
        assert!(text.contains("process_resident_memory_bytes "));
    }
}
