//! Every metric, as one row of a table: its field, type, labels, name, stability and help. The
//! fields of [`Metrics`], the registry and the page `docs/metrics.md` come from the rows. Metrics
//! of kube-scheduler keep their names, labels, buckets and stability, so that its dashboards and
//! alerts work unchanged; our own have the prefix `bayplan_`. To add a metric, add a row and
//! observe its field.

use bayplan_model::{Duration, Symbol};
use bayplan_plugins::IN_TREE;
use bayplan_scheduler::{RuleErrors, Waiting};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// The labels of a sample: names and values.
type Labels = Vec<(&'static str, String)>;
type FloatCounter = Counter<f64, AtomicU64>;
type FloatGauge = Gauge<f64, AtomicU64>;
type Counters<const N: usize> = Labelled<Counter, N>;
type Gauges<const N: usize> = Labelled<Gauge, N>;
type FloatGauges<const N: usize> = Labelled<FloatGauge, N>;
type Histograms<const N: usize> = Labelled<Histogram, N>;

/// Pods added to queues: queue, event, number.
pub(crate) type Incoming = Vec<(&'static str, String, u64)>;

/// What a pod waits for that a plugin refuses: its row says it, and every plugin without a row is a `policy`.
fn cause_of(plugin: &str) -> &'static str {
    IN_TREE.iter().find(|known| known.name == plugin).map_or("policy", |known| known.cause)
}

/// The queues, in the order in which they are counted.
const QUEUES: [&str; 4] = ["active", "backoff", "unschedulable", "gated"];

/// The type of an entity.
const POD: &str = "pod";

/// Why upstream ends a batch, from `pkg/scheduler/metrics/metrics.go`.
const BATCHES_END: [&str; 8] = [
    "pod_failed",
    "pod_skipped",
    "node_missing",
    "node_not_full",
    "empty_list",
    "expired",
    "pod_incompatible",
    "pod_not_batchable",
];

/// How long a metric keeps its name, type and labels, in the terms of Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stability {
    /// Kept for at least a year after it is deprecated.
    Stable,
    /// Labels may be added.
    Beta,
    /// May change with any release.
    Alpha,
}

impl Stability {
    /// As Kubernetes writes it in front of the help.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stable => "STABLE",
            Self::Beta => "BETA",
            Self::Alpha => "ALPHA",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name as the page shows it.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// Its stability.
    pub stability: Stability,
    /// What it measures.
    pub help: &'static str,
}

/// A metric with `N` labels: a sample for each combination of their values.
#[derive(Clone, Debug)]
pub struct Labelled<M, const N: usize> {
    labels: [&'static str; N],
    family: Family<Labels, M, fn() -> M>,
}

impl<M: Clone, const N: usize> Labelled<M, N> {
    /// The sample with these label values, in the order of the row's labels.
    pub(crate) fn with(&self, values: [&str; N]) -> M {
        let values = values.into_iter().map(str::to_owned);
        self.family.get_or_create(&self.labels.into_iter().zip(values).collect()).clone()
    }

    /// Removes the sample with these label values.
    pub(crate) fn remove(&self, values: [&str; N]) {
        let values = values.into_iter().map(str::to_owned);
        self.family.remove(&self.labels.into_iter().zip(values).collect());
    }

    /// Removes all samples.
    pub(crate) fn clear(&self) {
        self.family.clear();
    }
}

impl<const N: usize> Gauges<N> {
    /// Sets the sample with these label values to a number of things.
    pub(crate) fn set(&self, values: [&str; N], count: usize) {
        self.with(values).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}

/// A type of metric without labels.
trait Kind: Metric + TypedMetric + Clone {
    const NAME: &'static str;
}

impl Kind for Counter {
    const NAME: &'static str = "counter";
}

impl Kind for FloatCounter {
    const NAME: &'static str = "counter";
}

impl Kind for Gauge {
    const NAME: &'static str = "gauge";
}

impl Kind for FloatGauge {
    const NAME: &'static str = "gauge";
}

impl Kind for Histogram {
    const NAME: &'static str = "histogram";
}

/// The type of a row's field.
trait Field {
    type Kind: Kind;
    type Labels;

    /// Makes and registers the metric.
    fn add(registry: &mut Registry, row: &Row, labels: Self::Labels, new: fn() -> Self::Kind) -> Self;

    /// Makes a sample, because a metric without samples is not encoded.
    #[cfg(test)]
    fn make_sample(&self) {}
}

impl<M: Kind> Field for M {
    type Kind = M;
    type Labels = [&'static str; 0];

    fn add(registry: &mut Registry, row: &Row, []: Self::Labels, new: fn() -> M) -> Self {
        let metric = new();
        registry.register(row.registered_name(), row.text(), metric.clone());
        metric
    }
}

impl<M: Kind, const N: usize> Field for Labelled<M, N> {
    type Kind = M;
    type Labels = [&'static str; N];

    fn add(registry: &mut Registry, row: &Row, labels: Self::Labels, new: fn() -> M) -> Self {
        let metric = Self { labels, family: Family::new_with_constructor(new) };
        registry.register(row.registered_name(), row.text(), metric.family.clone());
        metric
    }

    #[cfg(test)]
    fn make_sample(&self) {
        self.with([""; N]);
    }
}

impl Row {
    /// The name without the suffix that the encoder adds to counters.
    fn registered_name(&self) -> &'static str {
        self.name.trim_end_matches("_total")
    }

    /// The help as Kubernetes writes it.
    fn text(&self) -> String {
        format!("[{}] {}", self.stability.word(), self.help)
    }
}

/// Makes the fields, the rows and the constructor. The function at the end of a row makes its
/// histogram.
macro_rules! metrics {
    (@row $type:ty, $name:literal, $labels:expr, $stability:ident, $help:literal) => {
        Row {
            name: $name,
            kind: <<$type as Field>::Kind as Kind>::NAME,
            labels: &$labels,
            stability: Stability::$stability,
            help: $help,
        }
    };
    (@new) => { Default::default };
    (@new $new:expr) => { $new };
    ($(#[$doc:meta])* $page:ident; $($field:ident: $type:ty = $name:literal $labels:tt $stability:ident $help:literal $($new:ident)?;)*) => {
        $(#[$doc])*
        pub struct $page {
            registry: Registry,
            $(#[doc = $help] pub $field: $type,)*
        }

        impl $page {
            /// The table.
            pub const ROWS: &[Row] = &[$(metrics!(@row $type, $name, $labels, $stability, $help)),*];

            fn registered() -> Self {
                let mut registry = Registry::default();
                $(let $field = {
                    let row = metrics!(@row $type, $name, $labels, $stability, $help);
                    <$type as Field>::add(&mut registry, &row, $labels, metrics!(@new $($new)?))
                };)*
                Self { registry, $($field),* }
            }

            #[cfg(test)]
            fn make_samples(&self) {
                $(self.$field.make_sample();)*
            }
        }
    };
}

metrics! {
    /// The metrics of `/metrics`.
    Metrics;
    schedule_attempts: Counters<2> = "scheduler_schedule_attempts_total" ["result", "profile"] Stable
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem";
    attempt_duration: Histograms<2> = "scheduler_scheduling_attempt_duration_seconds" ["result", "profile"] Stable
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)" from_1_ms;
    algorithm_duration: Histogram = "scheduler_scheduling_algorithm_duration_seconds" [] Beta
        "Scheduling algorithm latency in seconds" from_1_ms;
    extension_point_duration: Histograms<3> = "scheduler_framework_extension_point_duration_seconds" ["extension_point", "status", "profile"] Stable
        "Latency for running all plugins of a specific extension point" from_100_us;
    plugin_duration: Histograms<3> = "scheduler_plugin_execution_duration_seconds" ["plugin", "extension_point", "status"] Beta
        "Duration for running a plugin at a specific extension point, in one attempt of ten; one sample covers a filter or score plugin's work on all nodes" from_10_us;
    plugin_evaluations: Counters<3> = "scheduler_plugin_evaluation_total" ["plugin", "extension_point", "profile"] Beta
        "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score)";
    volume_stage_errors: Counters<1> = "scheduler_volume_scheduling_stage_error_total" ["operation"] Alpha
        "Volume scheduling stage error count";
    permit_wait: Histograms<1> = "scheduler_permit_wait_duration_seconds" ["result"] Beta
        "Duration of waiting on permit" from_1_ms;
    pending_pods: Gauges<1> = "scheduler_pending_pods" ["queue"] Stable
        "Number of pending pods, by the queue type";
    queued_entities: Gauges<2> = "scheduler_queued_entities" ["queue", "type"] Alpha
        "Number of pending entities, by the queue type; since Kubernetes 1.37, and each is a pod: groups of pods are not built";
    queue_incoming: Counters<2> = "scheduler_queue_incoming_pods_total" ["queue", "event"] Stable
        "Number of pods added to scheduling queues by event and queue type";
    entities_incoming: Counters<3> = "scheduler_queue_incoming_entities_total" ["queue", "event", "type"] Alpha
        "Number of entities added to scheduling queues by event and queue type; since Kubernetes 1.37, which leaves a pod out that comes back to the queue it is meant for";
    pod_attempts: Histogram = "scheduler_pod_scheduling_attempts" [] Stable
        "Number of attempts to successfully schedule a pod" one_to_16;
    sli_duration: Histograms<1> = "scheduler_pod_scheduling_sli_duration_seconds" ["attempts"] Beta
        "E2e latency for a pod being scheduled, from the time of its first attempt" from_10_ms;
    unschedulable_pods: Gauges<2> = "scheduler_unschedulable_pods" ["plugin", "profile"] Beta
        "Number of unschedulable pods by the plugins that rejected them; a pod counts once for each plugin";
    preemption_attempts: Counter = "scheduler_preemption_attempts_total" [] Stable
        "Total preemption attempts in the cluster till now";
    preemption_victims: Histogram = "scheduler_preemption_victims" [] Stable
        "Number of selected preemption victims" one_to_64;
    evictions: Counters<1> = "scheduler_preemption_goroutines_execution_total" ["result"] Alpha
        "Number of evictions of the victims of one preemptor that ran beside the scheduling cycle";
    eviction_duration: Histograms<1> = "scheduler_preemption_goroutines_duration_seconds" ["result"] Alpha
        "Duration in seconds of these evictions; hidden since Kubernetes 1.37, where `--show-hidden-metrics-for-version=1.36` shows it" from_10_ms;
    hint_duration: Histograms<3> = "scheduler_queueing_hint_execution_duration_seconds" ["plugin", "event", "hint"] Alpha
        "Duration for running a queueing hint function of a plugin" from_10_us;
    event_duration: Histograms<1> = "scheduler_event_handling_duration_seconds" ["event"] Alpha
        "Event handling latency in seconds; of events that a plugin waits for" from_100_us;
    inflight_events: Gauges<1> = "scheduler_inflight_events" ["event"] Alpha
        "Number of events currently tracked in the scheduling queue";
    scheduled_after_flush: Counter = "scheduler_pod_scheduled_after_flush_total" [] Alpha
        "Number of pods that were bound after they had been tried again only because they had waited for too long: no event woke them";
    batch_attempts: Counters<2> = "scheduler_batch_attempts_total" ["profile", "result"] Alpha
        "Always 0: pods are not batched";
    batch_flushes: Counters<2> = "scheduler_batch_cache_flushed_total" ["profile", "reason"] Alpha
        "Always 0: pods are not batched";
    node_hint_duration: Histograms<2> = "scheduler_get_node_hint_duration_seconds" ["hinted", "profile"] Alpha
        "Always 0: pods are not batched" from_10_us_doubling;
    store_results_duration: Histograms<1> = "scheduler_store_schedule_results_duration_seconds" ["profile"] Alpha
        "Always 0: pods are not batched" from_10_us_doubling;
    binder_cache_requests: Counters<1> = "scheduler_volume_binder_cache_requests_total" ["operation"] Alpha
        "Always 0: upstream declares this counter and never counts";
    claim_creations: Counters<1> = "scheduler_resourceclaim_creates_total" ["status"] Alpha
        "Number of ResourceClaims creation requests within scheduler; in Kubernetes 1.36";
    claim_creations_by_owner: Counters<4> = "dynamic_resource_allocation_resourceclaim_creates_total" ["status", "admin_access", "owner_api_group", "owner_api_kind"] Alpha
        "Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning API group and kind; since Kubernetes 1.37, and each owner is a pod: groups of pods are not built";
    device_waits: Histograms<3> = "scheduler_dra_bindingconditions_wait_duration_seconds" ["profile", "driver", "status"] Alpha
        "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind; a sample for each device of the pod" from_100_ms;
    device_preparations: Counters<3> = "scheduler_dra_bindingconditions_allocations_total" ["profile", "driver", "status"] Alpha
        "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt";
    cache_size: Gauges<1> = "scheduler_cache_size" ["type"] Alpha
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache";
    goroutines: Gauges<1> = "scheduler_goroutines" ["operation"] Beta
        "Number of running bindings, and of extenders that are scoring nodes";
    master_status: Gauges<1> = "leader_election_master_status" ["name"] Alpha
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master";
    client_requests: Counters<3> = "rest_client_requests_total" ["code", "host", "method"] Alpha
        "Number of HTTP requests, partitioned by status code, method, and host";
    client_duration: Histograms<2> = "rest_client_request_duration_seconds" ["host", "verb"] Alpha
        "Request latency in seconds. Broken down by verb, and host" of_requests;
    calls: Counters<2> = "bayplan_calls_total" ["kind", "result"] Alpha
        "API calls about pods and questions to extenders, by kind (bind, patch, read, delete, extender) and result (done, refused, unknown, retry)";
    status_writes: Counters<2> = "bayplan_status_writes_total" ["kind", "result"] Alpha
        "Writes of the status of PodGroups and ElasticQuotas, with `--write-status`, by kind and result (done, refused, unknown, retry)";
    status_waits: Gauges<1> = "bayplan_status_waits" ["kind"] Alpha
        "1 while no status of the kind can be written, because the kind, a right or the policy with the sums is missing, else 0; the log says why";
    questions: Counters<2> = "bayplan_extender_questions_total" ["verb", "code"] Alpha
        "Questions of kube-scheduler that `bayplan extender` answered, by HTTP status";
    question_duration: Histograms<1> = "bayplan_extender_question_duration_seconds" ["verb"] Alpha
        "Time from a question's head to its answer" from_1_ms;
    admission_reviews: Counters<1> = "bayplan_admission_reviews_total" ["result"] Alpha
        "Changes of policies that were judged for the API server: allowed, refused, or bad, which was no question";
    admission_duration: Histograms<1> = "bayplan_admission_duration_seconds" ["result"] Alpha
        "Time from the head of such a question to its answer" from_1_ms;
    leader: Gauge = "bayplan_leader" [] Alpha
        "1 on the replica that schedules";
    policy_info: Gauges<4> = "bayplan_policy_info" ["policy", "revision", "mode", "source"] Alpha
        "The policies in service, with a sample of value 1 for each";
    policy_load_success: Gauges<1> = "bayplan_policy_load_success" ["policy"] Alpha
        "1 if the latest text of the policy is in service, 0 if an older text or none is";
    policy_load_timestamp: FloatGauges<1> = "bayplan_policy_load_timestamp_seconds" ["policy"] Alpha
        "Since when the present text of the policy is in service, in seconds since the Unix epoch";
    policy_override: Gauges<2> = "bayplan_policy_override" ["policy", "kind"] Alpha
        "Overrides of policies that hold, with a sample of value 1 for each; kind is suspend or rollback";
    policy_mode_due: Gauges<1> = "bayplan_policy_mode_due" ["policy"] Alpha
        "1 once the `until` date of a mode of the policy, or of one of its rules, has passed, 0 before; only for policies with such a date";
    policy_exception_end: FloatGauges<2> = "bayplan_policy_exception_end_seconds" ["policy", "exception"] Alpha
        "When an exception of the policy, or of a rule of it, ends, in seconds since the Unix epoch; exception is the rule, or policy, and the reason";
    rule_refusals: Counters<2> = "bayplan_rule_refusals_total" ["policy", "rule"] Alpha
        "Attempts to schedule a pod in which the rule refused a node and the pod was not placed";
    rule_errors: Counters<2> = "bayplan_rule_errors_total" ["policy", "rule"] Alpha
        "Attempts to schedule a pod in which the rule, in CEL, ended with an error and refused the pod or a node, gave a node no score, ended the attempt, or was passed over by `onError: ignore`; evaluations of a gate count one by one";
    rule_would: Counters<3> = "bayplan_rule_would_total" ["policy", "rule", "effect"] Alpha
        "Attempts to schedule a pod by what a rule in mode warn or audit would have done, had it decided: same, moves (another node), waits (no feasible node), and of rules about evictions spares and evicts";
    rule_duration: Histograms<3> = "bayplan_rule_seconds" ["policy", "rule", "point"] Alpha
        "Time that a rule takes at an extension point, over all nodes of an attempt; in one attempt of ten" from_1_us;
    after_bind_left: Gauges<1> = "bayplan_after_bind_left" ["policy"] Alpha
        "Bound pods for which the policy still has to write what `after bind` says";
    after_bind_given_up: Counters<2> = "bayplan_after_bind_given_up_total" ["policy", "gone"] Alpha
        "Bound pods for which not everything of `after bind` was written, because the pod, the policy or the mark on the pod is gone";
    rule_sole_blocker: Gauges<2> = "bayplan_rule_sole_blocker_pods" ["policy", "rule"] Alpha
        "Waiting pods that no other rule of a policy refused in their last attempt";
    waiting_pods: Gauges<1> = "bayplan_waiting_pods" ["cause"] Alpha
        "Waiting pods by what refused most nodes in their last attempt: resources, taint, affinity, spread, volume, claim, policy or other; gate before the queue, permit after a node was chosen";
    oldest_waiting: FloatGauges<1> = "bayplan_oldest_waiting_seconds" ["queue"] Alpha
        "How long a pod has waited at most: in the active queue since it was ready to be tried, in back-off and unschedulable since it came to the scheduler; gated pods do not count";
    autoscaler_blind: Gauge = "bayplan_autoscaler_blind_pods" [] Alpha
        "Waiting pods that some node has room for by every in-tree filter, so that filters of policies alone keep them off it: node autoscalers, which do not know policies, add no node for them";
    foreign_bindings: Counters<1> = "bayplan_foreign_bindings_total" ["scheduler"] Alpha
        "Pods that another scheduler bound to a node with pods of this one; the first 10 names, then other";
    bound_but_refused: Counters<1> = "bayplan_bound_but_refused_total" ["reason"] Alpha
        "Pods that a kubelet refused after this scheduler had bound them, by the kubelet's reason; OutOfOther for extended resources";
    preemption_futile: Counter = "bayplan_preemption_futile_total" [] Alpha
        "Preemptions after which the pod was not placed on the node from which others were evicted for it";
    policy_revision: Gauge = "bayplan_policy_set_revision" [] Alpha
        "The revision of the set of policies in service";
    watch_age: FloatGauges<1> = "bayplan_watch_age_seconds" ["kind"] Alpha
        "Time since the last event or bookmark of a watch";
    objects: Gauges<1> = "bayplan_objects" ["kind"] Alpha
        "Objects that the scheduler knows, by kind; of kinds that policies look up by their full name, such as v1/ConfigMap";
    declared_objects: Gauges<1> = "bayplan_declared_objects" ["kind"] Alpha
        "For how many objects of a kind policies are compiled, by `--size`: with more, an attempt may take longer than the bound";
    largest_parts: Gauges<1> = "bayplan_largest_parts" ["part"] Alpha
        "The most parts (labels, containers, ...) that one pod or node has had since these were listed; of annotations and of what is below spec those that policies read";
    declared_parts: Gauges<1> = "bayplan_declared_parts" ["part"] Alpha
        "For how many parts of an object policies are compiled, by `--size`: with more, an attempt may take longer than the bound";
    unreadable: Gauges<1> = "bayplan_unreadable_objects" ["kind"] Alpha
        "Objects of a watched kind that cannot be read whole, and count with what can be read: such a pod fills its node, and no pod is placed on such a node; the log names each";
    dropped: Counters<1> = "bayplan_dropped_total" ["what"] Alpha
        "Items dropped because a queue was full, or because the API server did not take them in several tries";
    inbox_depth: Gauge = "bayplan_inbox_depth" [] Alpha
        "Inputs that wait for the scheduling thread; updates of one object count once";
    bind_results: Counters<1> = "bayplan_bind_results_total" ["result"] Alpha
        "Bindings by result: done, refused, unknown, retry";
    feature_enabled: Gauges<2> = "kubernetes_feature_enabled" ["name", "stage"] Beta
        "This metric records the data about the stage and enablement of a k8s feature";
    cpu: FloatCounter = "process_cpu_seconds_total" [] Alpha
        "Total user and system CPU time spent in seconds";
    memory: Gauge = "process_resident_memory_bytes" [] Alpha
        "Resident memory size in bytes";
    started: FloatGauge = "process_start_time_seconds" [] Alpha
        "Start time of the process since unix epoch in seconds";
}

metrics! {
    /// The metrics of `/metrics/slis`: the results of health checks.
    ///
    /// Source: `component-base/metrics/prometheus/slis`.
    HealthMetrics;
    healthcheck: Gauges<2> = "kubernetes_healthcheck" ["name", "type"] Stable
        "This metric records the result of a single healthcheck";
    healthchecks: Counters<3> = "kubernetes_healthchecks_total" ["name", "type", "status"] Stable
        "This metric records the results of all healthcheck";
    started: FloatGauge = "process_start_time_seconds" [] Alpha
        "Start time of the process since unix epoch in seconds";
}

fn from_1_ms() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

fn from_10_ms() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 20))
}

fn from_100_ms() -> Histogram {
    Histogram::new(exponential_buckets(0.1, 2.0, 14))
}

fn from_100_us() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 12))
}

fn from_1_us() -> Histogram {
    Histogram::new(exponential_buckets(0.000_001, 4.0, 11))
}

fn from_10_us() -> Histogram {
    Histogram::new(exponential_buckets(0.00001, 1.5, 20))
}

fn from_10_us_doubling() -> Histogram {
    Histogram::new(exponential_buckets(0.00001, 2.0, 12))
}

fn one_to_16() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 5))
}

fn one_to_64() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 7))
}

/// The buckets of client-go's requests.
fn of_requests() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0])
}

/// What others do, and how long pods have waited at most: active, in back-off, unschedulable.
pub(crate) struct Surroundings {
    pub(crate) foreign: Vec<(Symbol, u64)>,
    pub(crate) refusals: Vec<(&'static str, u64)>,
    pub(crate) futile: u64,
    pub(crate) waits: [Duration; 3],
}

/// Raises a counter to a count that only grows.
fn raise(counter: &Counter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

impl Metrics {
    /// All metrics at zero.
    pub(crate) fn new() -> Self {
        let metrics = Self::registered();
        metrics.started.set(jiff::Timestamp::now().as_millisecond() as f64 / 1e3);
        // Dashboards expect the samples of every queue from the start.
        metrics.set_pending([0; QUEUES.len()], false);
        metrics
    }

    /// Makes the samples of batching for a profile: they stay 0.
    pub(crate) fn no_batches(&self, profile: &str) {
        for result in ["no_hint", "hint_used", "hint_not_used"] {
            drop(self.batch_attempts.with([profile, result]));
        }
        for reason in BATCHES_END {
            drop(self.batch_flushes.with([profile, reason]));
        }
        for hinted in ["hint", "no_hint"] {
            drop(self.node_hint_duration.with([hinted, profile]));
        }
        drop(self.store_results_duration.with([profile]));
    }

    /// Takes over how many pods each queue holds, and how many entities where `entities` are counted.
    pub(crate) fn set_pending(&self, queues: [usize; 4], entities: bool) {
        for (queue, count) in QUEUES.into_iter().zip(queues) {
            self.pending_pods.set([queue], count);
            if entities {
                self.queued_entities.set([queue, POD], count);
            }
        }
    }

    /// Takes over how many entities were added to queues so far.
    pub(crate) fn set_entities(&self, incoming: &Incoming) {
        for (queue, event, count) in incoming {
            raise(&self.entities_incoming.with([queue, event, POD]), *count);
        }
    }

    /// Takes over the scheduler's counts: pods added to queues so far, and unschedulable pods by
    /// (profile, plugin).
    pub(crate) fn set_queue(&self, incoming: &Incoming, refused: &BTreeMap<(String, String), usize>) {
        for (queue, event, count) in incoming {
            raise(&self.queue_incoming.with([queue, event]), *count);
        }
        self.unschedulable_pods.clear();
        for ((profile, plugin), count) in refused {
            self.unschedulable_pods.set([plugin, profile], *count);
        }
    }

    /// Takes over what policies still have to write for bound pods, and what they gave up.
    pub(crate) fn set_after_bind(
        &self,
        left: &BTreeMap<Symbol, usize>,
        given_up: &[(Symbol, &'static str, u64)],
    ) {
        self.after_bind_left.clear();
        for (policy, count) in left {
            self.after_bind_left.set([policy], *count);
        }
        self.after_bind_given_up.clear();
        for (policy, gone, count) in given_up {
            self.after_bind_given_up.with([policy, gone]).inc_by(*count);
        }
    }

    /// Takes over the waiting pods, and the refusals and errors of each rule.
    pub(crate) fn set_waiting(
        &self,
        waiting: &Waiting,
        refusals: &[(Symbol, Symbol, u64)],
        errors: &[RuleErrors],
    ) {
        let mut by_cause: BTreeMap<&str, usize> = IN_TREE.iter().map(|known| (known.cause, 0)).collect();
        by_cause.insert("policy", 0);
        for (plugin, count) in &waiting.refused {
            *by_cause.entry(cause_of(plugin)).or_default() += count;
        }
        by_cause.insert("gate", waiting.gated.values().sum());
        by_cause.insert("permit", waiting.at_permit);
        for (cause, count) in by_cause {
            self.waiting_pods.set([cause], count);
        }
        self.autoscaler_blind.set(i64::try_from(waiting.by_policies_alone).unwrap_or(i64::MAX));
        self.rule_sole_blocker.clear();
        for ((policy, rule), count) in &waiting.by_one_rule {
            self.rule_sole_blocker.set([policy, rule], *count);
        }
        // Only the rules in service have samples, so that their number is bounded.
        self.rule_refusals.clear();
        for (policy, rule, count) in refusals {
            self.rule_refusals.with([policy, rule]).inc_by(*count);
        }
        self.rule_errors.clear();
        for of in errors {
            self.rule_errors.with([&of.policy, &of.last.rule]).inc_by(of.count);
        }
    }

    /// Takes over what others did.
    pub(crate) fn set_surroundings(&self, of: &Surroundings) {
        for (name, count) in &of.foreign {
            raise(&self.foreign_bindings.with([name]), *count);
        }
        for (reason, count) in &of.refusals {
            raise(&self.bound_but_refused.with([reason]), *count);
        }
        raise(&self.preemption_futile, of.futile);
        for (queue, wait) in ["active", "backoff", "unschedulable"].into_iter().zip(of.waits) {
            self.oldest_waiting.with([queue]).set(wait.0 as f64 / 1e6);
        }
    }

    /// Takes over what rules that do not decide would have done.
    pub(crate) fn set_would(&self, would: &[(Symbol, Symbol, &'static str, u64)]) {
        self.rule_would.clear();
        for (policy, rule, effect, count) in would {
            self.rule_would.with([policy, rule, effect]).inc_by(*count);
        }
    }

    /// Records that a pod was bound in its `attempt`th attempt, `since_first` seconds after the
    /// first.
    pub(crate) fn bound(&self, attempt: u32, since_first: f64) {
        self.pod_attempts.observe(f64::from(attempt));
        let attempts = if attempt >= 15 { "15+".to_owned() } else { attempt.to_string() };
        self.sli_duration.with([&attempts]).observe(since_first);
    }

    /// All samples as OpenMetrics text.
    pub(crate) fn encode(&self) -> String {
        self.cpu.inc_by((cpu_seconds() - self.cpu.get()).max(0.0));
        self.memory.set(resident_bytes());
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl HealthMetrics {
    /// No check has run.
    pub(crate) fn new() -> Self {
        let metrics = Self::registered();
        metrics.started.set(jiff::Timestamp::now().as_millisecond() as f64 / 1e3);
        metrics
    }

    /// Counts the result of a check of `/healthz`, `/livez` or `/readyz`, whose name is `page`.
    pub(crate) fn checked(&self, check: &str, page: &str, passed: bool) {
        self.healthcheck.set([check, page], usize::from(passed));
        self.healthchecks.with([check, page, if passed { "success" } else { "error" }]).inc();
    }

    /// Forgets all results.
    pub(crate) fn reset(&self) {
        self.healthcheck.clear();
        self.healthchecks.clear();
    }

    /// All samples as OpenMetrics text.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for HealthMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The CPU time of this process.
fn cpu_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// The resident memory of this process; 0 on systems without `/proc`.
fn resident_bytes() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|field| field.parse::<i64>().ok()).unwrap_or(0);
    pages.saturating_mul(i64::try_from(rustix::param::page_size()).unwrap_or(4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_kube_scheduler_have_its_names_labels_and_buckets() {
        let metrics = Metrics::new();
        metrics.schedule_attempts.with(["scheduled", "default-scheduler"]).inc();
        metrics.attempt_duration.with(["scheduled", "default-scheduler"]).observe(0.003);
        metrics.bound(1, 0.03);
        metrics.bound(17, 90.0);
        metrics.extension_point_duration.with(["Bind", "Success", "default-scheduler"]).observe(0.0003);
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
        assert!(!text.contains("scheduler_unschedulable_pods{"), "all pods are schedulable");
    }

    #[test]
    fn the_process_metrics_are_those_of_this_process() {
        let metrics = Metrics::new();
        // Some work, so that the clock moves.
        assert!((0..2_000_000u64).fold(1, |all, one| std::hint::black_box(all ^ one)) > 0);
        let text = metrics.encode();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            line.and_then(|value| value.parse().ok()).unwrap_or(-1.0)
        };
        assert!(value("process_cpu_seconds_total") > 0.0, "{text}");
        // The kernel's own account, in KiB; other tests of this process allocate meanwhile.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: f64 = field.split_whitespace().next().unwrap().parse().unwrap();
        let ratio = value("process_resident_memory_bytes") / (kib * 1024.0);
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn every_row_is_registered_once_with_its_type_and_stability() {
        let metrics = Metrics::new();
        metrics.make_samples();
        let text = metrics.encode();
        for row in Metrics::ROWS {
            let name = row.registered_name();
            assert!(text.contains(&format!("# TYPE {name} {}\n", row.kind)), "{name}");
            assert!(text.contains(&format!("# HELP {name} [{}] ", row.stability.word())), "{name}");
            assert_eq!(row.kind == "counter", row.name.ends_with("_total"), "{name}");
        }
        assert_eq!(text.matches("# TYPE ").count(), Metrics::ROWS.len());
        let health = HealthMetrics::new();
        health.make_samples();
        assert_eq!(health.encode().matches("# TYPE ").count(), HealthMetrics::ROWS.len());
    }
}
