//! The probe of a running scheduler: measures how long extension points, plugins and API calls
//! take. Every framework in service and the API client report to it. As upstream, it times single
//! plugins in one attempt of ten.

use crate::api::client::Observer;
use crate::port::metrics::Metrics;
use bayplan_framework::{
    ActionType, ClusterEvent, Counted, EventResource, Mark, Probe, QueueingHint, RuleTimes, Tally, TimedPoint,
};
use bayplan_model::Symbol;
use http::Method;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One attempt in this many has its plugins timed.
///
/// Source: `pkg/scheduler/scheduler.go`, `pluginMetricsSamplePercent`.
const SAMPLED: u64 = 10;

/// The points at which a failure of VolumeBinding is counted, with upstream's names of the operations.
///
/// Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`.
const VOLUME_STAGES: [(TimedPoint, &str); 3] =
    [(TimedPoint::Filter, "predicate"), (TimedPoint::Reserve, "assume"), (TimedPoint::PreBind, "bind")];

/// Measures durations and writes them into metrics.
pub(crate) struct Stopwatch {
    metrics: Arc<Metrics>,
    by_version: ByVersion,
    base: Instant,
    attempts: AtomicU64,
    /// Making the labels of a sample costs more than the sample, so each sample is looked up once.
    samples: Mutex<Samples>,
    rules: Arc<RuleSamples>,
}

/// What the version decides.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ByVersion {
    /// The durations of evictions are hidden.
    pub(crate) hides_durations: bool,
    /// Creations of claims are counted by their owner.
    pub(crate) counts_owners: bool,
}

/// A policy, its rule and the point at which it is evaluated.
type RuleAt = (Symbol, Symbol, TimedPoint);

/// The samples of single rules.
struct RuleSamples {
    metrics: Arc<Metrics>,
    base: Instant,
    samples: Mutex<FxHashMap<RuleAt, Histogram>>,
}

impl RuleSamples {
    fn samples(&self) -> MutexGuard<'_, FxHashMap<RuleAt, Histogram>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rules of one attempt, in nanoseconds.
struct RulesOfAttempt {
    rules: Arc<RuleSamples>,
    took: Mutex<FxHashMap<RuleAt, u64>>,
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl RuleTimes for RulesOfAttempt {
    fn mark(&self) -> Mark {
        Mark(nanoseconds(self.rules.base))
    }

    fn add(&self, policy: &str, rule: &Symbol, point: TimedPoint, since: Mark) {
        let took = self.mark().0.saturating_sub(since.0);
        let mut sums = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        *sums.entry((Symbol::new(policy), rule.clone(), point)).or_default() += took;
    }
}

impl Drop for RulesOfAttempt {
    fn drop(&mut self) {
        let sums = std::mem::take(self.took.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut samples = self.rules.samples();
        for (rule, took) in sums {
            let histogram = |(policy, rule, point): &RuleAt| {
                self.rules.metrics.rule_duration.with([policy, rule, point.name()])
            };
            samples.entry(rule).or_insert_with_key(histogram).observe(took as f64 / 1e9);
        }
    }
}

/// What the label of an event is made of.
type EventLabel = (EventResource, ActionType, Option<&'static str>);

fn label_of(event: &ClusterEvent) -> EventLabel {
    (event.resource, event.action, event.custom_label)
}

#[derive(Default)]
struct Samples {
    points: FxHashMap<(Symbol, TimedPoint, &'static str), Histogram>,
    plugins: FxHashMap<(Symbol, TimedPoint, &'static str), Histogram>,
    /// By plugin, then by event; for `Queue`, `QueueSkip` and `Error`.
    hints: FxHashMap<Symbol, FxHashMap<EventLabel, [Option<Histogram>; 3]>>,
    events: FxHashMap<EventLabel, Histogram>,
    evaluations: FxHashMap<(Symbol, Symbol, TimedPoint), (Counter, Arc<Count>)>,
    calls: FxHashMap<(Method, Option<u16>), (Counter, Histogram)>,
}

/// How often a plugin was evaluated.
#[derive(Default)]
struct Count(AtomicU64);

impl Tally for Count {
    fn add(&self, times: u64) {
        self.0.fetch_add(times, Ordering::Relaxed);
    }
}

impl Stopwatch {
    /// A probe that writes into these metrics.
    pub(crate) fn new(metrics: Arc<Metrics>, by_version: ByVersion) -> Self {
        let base = Instant::now();
        let rules = Arc::new(RuleSamples { metrics: Arc::clone(&metrics), base, samples: Mutex::default() });
        Self { metrics, by_version, base, attempts: AtomicU64::new(0), samples: Mutex::default(), rules }
    }

    /// Brings the counters of evaluations up to date, before the metrics are encoded.
    pub(crate) fn settle(&self) {
        for (counter, count) in self.cached().evaluations.values() {
            counter.inc_by(count.0.load(Ordering::Relaxed).saturating_sub(counter.get()));
        }
    }

    /// Forgets the rules that are not in service, so that the number of samples is bounded.
    pub(crate) fn keep_rules(&self, serving: &BTreeSet<(Symbol, Symbol)>) {
        let mut gone = Vec::new();
        self.rules.samples().retain(|(policy, rule, point), _| {
            let stays = serving.contains(&(policy.clone(), rule.clone()));
            if !stays {
                gone.push((policy.clone(), rule.clone(), *point));
            }
            stays
        });
        for (policy, rule, point) in gone {
            self.metrics.rule_duration.remove([&policy, &rule, point.name()]);
        }
    }

    fn cached(&self) -> MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seconds(&self, since: Mark) -> f64 {
        self.mark().0.saturating_sub(since.0) as f64 / 1e9
    }
}

impl Probe for Stopwatch {
    fn mark(&self) -> Mark {
        Mark(nanoseconds(self.base))
    }

    fn samples(&self) -> bool {
        // Attempts come in patterns, such as PreEnqueue and cycle in turn, so every tenth one would
        // be of one kind only. This is the finalizer of SplitMix64.
        let mut hash = self.attempts.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (hash ^ hash >> 31).is_multiple_of(SAMPLED)
    }

    fn rule_times(&self) -> Arc<dyn RuleTimes> {
        Arc::new(RulesOfAttempt { rules: Arc::clone(&self.rules), took: Mutex::default() })
    }

    fn point(&self, profile: &Symbol, point: TimedPoint, code: &'static str, since: Mark) {
        let seconds = self.seconds(since);
        let histogram = |_: &_| self.metrics.extension_point_duration.with([point.name(), code, profile]);
        let key = (profile.clone(), point, code);
        self.cached().points.entry(key).or_insert_with_key(histogram).observe(seconds);
    }

    fn plugin(&self, plugin: &str, point: TimedPoint, code: &'static str, since: Mark) {
        let seconds = self.seconds(since);
        let histogram = |_: &_| self.metrics.plugin_duration.with([plugin, point.name(), code]);
        let key = (Symbol::new(plugin), point, code);
        self.cached().plugins.entry(key).or_insert_with_key(histogram).observe(seconds);
    }

    fn failed(&self, plugin: &str, point: TimedPoint) {
        let stage = VOLUME_STAGES.iter().find(|(at, _)| *at == point && plugin == "VolumeBinding");
        if let Some((_, operation)) = stage {
            self.metrics.volume_stage_errors.with([operation]).inc();
        }
    }

    fn waited(&self, code: &'static str, since: Mark) {
        self.metrics.permit_wait.with([code]).observe(self.seconds(since));
    }

    fn hint(&self, plugin: &str, event: &ClusterEvent, hint: Option<QueueingHint>, since: Mark) {
        let seconds = self.seconds(since);
        let (at, word) = match hint {
            Some(QueueingHint::Queue) => (0, "Queue"),
            Some(QueueingHint::Skip) => (1, "QueueSkip"),
            None => (2, "Error"),
        };
        let mut cached = self.cached();
        let of_event =
            cached.hints.entry(Symbol::new(plugin)).or_default().entry(label_of(event)).or_default();
        let histogram = || self.metrics.hint_duration.with([plugin, &event.label(), word]);
        of_event[at].get_or_insert_with(histogram).observe(seconds);
    }

    fn event(&self, event: &ClusterEvent, since: Mark) {
        let seconds = self.seconds(since);
        let histogram = |_: &_| self.metrics.event_duration.with([&event.label()]);
        self.cached().events.entry(label_of(event)).or_insert_with_key(histogram).observe(seconds);
    }

    fn evicted(&self, result: &'static str, since: Mark) {
        if !self.by_version.hides_durations {
            self.metrics.eviction_duration.with([result]).observe(self.seconds(since));
        }
        self.metrics.evictions.with([result]).inc();
    }

    fn counted(&self, profile: &Symbol, what: &Counted) {
        match what {
            Counted::ClaimCreation { done } => {
                let status = if *done { "success" } else { "failure" };
                match self.by_version.counts_owners {
                    true => self.metrics.claim_creations_by_owner.with([status, "false", "", "Pod"]).inc(),
                    false => self.metrics.claim_creations.with([status]).inc(),
                };
            }
            Counted::Preparation { status, took, devices, prepared } => {
                for driver in devices {
                    let seconds = took.0 as f64 / 1e6;
                    self.metrics.device_waits.with([profile, driver, status]).observe(seconds);
                }
                for driver in prepared {
                    self.metrics.device_preparations.with([profile, driver, status]).inc();
                }
            }
        }
    }

    fn evaluations(&self, profile: &Symbol, plugin: &str, point: TimedPoint) -> Arc<dyn Tally> {
        let counter = |_: &_| {
            // A profile comes into service.
            self.metrics.no_batches(profile);
            let counter = self.metrics.plugin_evaluations.with([plugin, point.name(), profile]);
            (counter, Arc::default())
        };
        let key = (profile.clone(), Symbol::new(plugin), point);
        let mut cached = self.cached();
        let (_, count) = cached.evaluations.entry(key).or_insert_with_key(counter);
        Arc::clone(count) as Arc<dyn Tally>
    }
}

impl Observer for Stopwatch {
    fn called(&self, method: &Method, server: &str, code: Option<u16>, took: Duration) {
        let host = server.split_once("://").map_or(server, |(_, host)| host);
        let samples = |_: &_| {
            let code = code.map_or("<error>".to_owned(), |code| code.to_string());
            let verb = method.as_str();
            let counter = self.metrics.client_requests.with([&code, host, verb]);
            (counter, self.metrics.client_duration.with([host, verb]))
        };
        let mut cached = self.cached();
        let (count, duration) = cached.calls.entry((method.clone(), code)).or_insert_with_key(samples);
        count.inc();
        duration.observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_framework::EventObjects;

    #[test]
    fn durations_and_counts_have_the_names_of_upstream() {
        let metrics = Arc::new(Metrics::new());
        let watch = Stopwatch::new(Arc::clone(&metrics), ByVersion::default());
        let profile = Symbol::new("p");
        let since = watch.mark();
        watch.point(&profile, TimedPoint::PreFilter, "Success", since);
        watch.point(&profile, TimedPoint::PreFilter, "Success", since);
        watch.plugin("NodePorts", TimedPoint::PreFilter, "Skip", since);
        watch.waited("Unschedulable", since);
        watch.failed("VolumeBinding", TimedPoint::PreBind);
        watch.failed("VolumeBinding", TimedPoint::PostFilter);
        watch.failed("NodePorts", TimedPoint::Filter);
        let event = ClusterEvent::of(EventResource::Node, ActionType::ADD, EventObjects::None);
        watch.hint("NodePorts", &event, Some(QueueingHint::Skip), since);
        watch.hint("NodePorts", &event, None, since);
        watch.event(&event, since);
        watch.evicted("success", since);
        watch.evaluations(&profile, "NodePorts", TimedPoint::Filter).add(5);
        // After a reload the same counter continues.
        watch.evaluations(&profile, "NodePorts", TimedPoint::Filter).add(2);
        watch.called(&Method::POST, "https://10.0.0.1:6443", Some(201), Duration::from_millis(30));
        watch.called(&Method::POST, "https://10.0.0.1:6443", None, Duration::from_secs(90));
        watch.settle();
        let text = metrics.encode();
        for line in [
            r#"scheduler_framework_extension_point_duration_seconds_count{extension_point="PreFilter",status="Success",profile="p"} 2"#,
            r#"scheduler_plugin_execution_duration_seconds_count{plugin="NodePorts",extension_point="PreFilter",status="Skip"} 1"#,
            r#"scheduler_volume_scheduling_stage_error_total{operation="bind"} 1"#,
            r#"scheduler_permit_wait_duration_seconds_count{result="Unschedulable"} 1"#,
            r#"scheduler_plugin_evaluation_total{plugin="NodePorts",extension_point="Filter",profile="p"} 7"#,
            r#"scheduler_queueing_hint_execution_duration_seconds_count{plugin="NodePorts",event="NodeAdd",hint="QueueSkip"} 1"#,
            r#"scheduler_queueing_hint_execution_duration_seconds_count{plugin="NodePorts",event="NodeAdd",hint="Error"} 1"#,
            r#"scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 1"#,
            r#"scheduler_preemption_goroutines_execution_total{result="success"} 1"#,
            r#"rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="POST"} 1"#,
            r#"rest_client_request_duration_seconds_bucket{le="0.1",host="10.0.0.1:6443",verb="POST"} 1"#,
            r#"rest_client_request_duration_seconds_count{host="10.0.0.1:6443",verb="POST"} 2"#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
        }
        let mut sampled = [0, 0];
        (0..10_000).for_each(|i| sampled[i % 2] += i32::from(watch.samples()));
        assert!(sampled.iter().all(|sampled| (400..600).contains(sampled)), "{sampled:?} of 5,000 each");
    }

    #[test]
    fn durations_of_evictions_may_be_hidden() {
        for hides in [false, true] {
            let metrics = Arc::new(Metrics::new());
            let by_version = ByVersion { hides_durations: hides, ..ByVersion::default() };
            let watch = Stopwatch::new(Arc::clone(&metrics), by_version);
            watch.evicted("success", watch.mark());
            let text = metrics.encode();
            assert!(text.contains(r#"scheduler_preemption_goroutines_execution_total{result="success"} 1"#));
            let sample = r#"scheduler_preemption_goroutines_duration_seconds_count{result="success"} 1"#;
            assert_eq!(text.contains(sample), !hides);
            // Upstream's page does not name a metric that is hidden.
            assert_eq!(text.contains("scheduler_preemption_goroutines_duration_seconds"), !hides, "{text}");
        }
    }

    #[test]
    fn what_is_counted_about_claims_has_the_names_of_each_version() {
        let driver = Symbol::new("d.ex");
        let prepared = Counted::Preparation {
            status: "timeout",
            took: bayplan_model::Duration::from_millis(300),
            devices: vec![driver.clone(), driver.clone()],
            prepared: vec![driver],
        };
        for (counts_owners, creations) in [
            (false, r#"scheduler_resourceclaim_creates_total{status="failure"} 1"#),
            (
                true,
                r#"dynamic_resource_allocation_resourceclaim_creates_total{status="failure",admin_access="false",owner_api_group="",owner_api_kind="Pod"} 1"#,
            ),
        ] {
            let metrics = Arc::new(Metrics::new());
            let by_version = ByVersion { counts_owners, ..ByVersion::default() };
            let watch = Stopwatch::new(Arc::clone(&metrics), by_version);
            watch.counted(&Symbol::new("p"), &Counted::ClaimCreation { done: false });
            watch.counted(&Symbol::new("p"), &prepared);
            let text = metrics.encode();
            for line in [
                creations,
                r#"scheduler_dra_bindingconditions_allocations_total{profile="p",driver="d.ex",status="timeout"} 1"#,
                r#"scheduler_dra_bindingconditions_wait_duration_seconds_count{profile="p",driver="d.ex",status="timeout"} 2"#,
                r#"scheduler_dra_bindingconditions_wait_duration_seconds_bucket{le="0.4",profile="p",driver="d.ex",status="timeout"} 2"#,
                r#"scheduler_dra_bindingconditions_wait_duration_seconds_bucket{le="819.2",profile="p",driver="d.ex",status="timeout"} 2"#,
            ] {
                assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
            }
            assert_eq!(text.matches("resourceclaim_creates_total{").count(), 1, "{text}");
        }
    }

    #[test]
    fn an_attempt_is_one_sample_of_each_of_its_rules_until_they_go_out_of_service() {
        let metrics = Arc::new(Metrics::new());
        let watch = Stopwatch::new(Arc::clone(&metrics), ByVersion::default());
        let times = watch.rule_times();
        let hot = Symbol::new("hot");
        let since = times.mark();
        // Words of a scan, and nodes with nominated pods, are evaluated one after the other.
        times.add("rooms", &hot, TimedPoint::Filter, since);
        times.add("rooms", &hot, TimedPoint::Filter, since);
        times.add("rooms", &Symbol::new("near"), TimedPoint::PreScore, since);
        let sample = |rule: &str, point: &str| {
            format!(r#"bayplan_rule_seconds_count{{policy="rooms",rule="{rule}",point="{point}"}} 1"#)
        };
        assert!(!metrics.encode().contains(&sample("hot", "Filter")), "the attempt goes on");
        drop(times);
        let text = metrics.encode();
        assert!(
            text.contains(&sample("hot", "Filter")) && text.contains(&sample("near", "PreScore")),
            "{text}"
        );
        watch.keep_rules(&[("rooms".into(), hot)].into());
        let text = metrics.encode();
        assert!(text.contains(&sample("hot", "Filter")) && !text.contains("near"), "{text}");
    }
}
