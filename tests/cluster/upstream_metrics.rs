//! Compares our metrics with those of the real kube-scheduler after the same work: same name, type,
//! labels, buckets and stability. The metrics that only kube-scheduler has are listed here, each
//! with the reason.

use crate::api_load::ApiClient;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::binaries::kubernetes;
use crate::support::{ControlPlane, objects, wait::became_true, wait_until};
use crate::workload::Workload;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

/// A metric of a page.
#[derive(Default, Debug)]
struct Family {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
    buckets: BTreeSet<String>,
    values: BTreeMap<String, BTreeSet<String>>,
}

/// The metrics of a page in either text format; counters without `_total`.
fn families(text: &str) -> BTreeMap<String, Family> {
    let mut all: BTreeMap<String, Family> = BTreeMap::new();
    let base = |name: &str| name.strip_suffix("_total").unwrap_or(name).to_owned();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            all.entry(base(name)).or_default().help = help.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            all.entry(base(name)).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#') && !line.is_empty() {
            let (name, labels) = match line.split_once('{') {
                Some((name, rest)) => (name, rest.rsplit_once('}').unwrap().0),
                None => (line.split(' ').next().unwrap(), ""),
            };
            let stem = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let known = |name: &&str| all.contains_key(*name);
            let name = base(stem.filter(known).unwrap_or(name));
            let family = all.entry(name).or_default();
            for pair in labels.split("\",").filter(|pair| !pair.is_empty()) {
                let (label, value) = pair.split_once("=\"").unwrap();
                let value = value.trim_end_matches('"');
                if label == "le" {
                    let bound = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap() };
                    family.buckets.insert(format!("{bound:.6}"));
                } else {
                    family.labels.insert(label.to_owned());
                    family.values.entry(label.to_owned()).or_default().insert(value.to_owned());
                }
            }
        }
    }
    all
}

#[test]
fn metrics_are_those_of_kube_scheduler() {
    // Of its own: nodes of other tests would be counted, too.
    let plane = &ControlPlane::start();
    let load = Workload::new(plane, "metered", 3);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler));
    let real_name = format!("{}-real", load.scheduler);
    let real = plane.start_kube_scheduler(&format!("profiles:\n- schedulerName: {real_name}\n"));
    // The same work for both: pods that fit, one that does not, one with a scheduling gate.
    for (who, name) in [("ours", &load.scheduler), ("real", &real_name)] {
        let mut all: Vec<_> = (0..20)
            .map(|i| objects::pod(&load.namespace, &format!("{who}-{i}"), name, &[("cpu", "10m")]))
            .collect();
        all.push(objects::pod(&load.namespace, &format!("{who}-huge"), name, &[("cpu", "9000")]));
        let mut held = objects::pod(&load.namespace, &format!("{who}-held"), name, &[]);
        held["spec"]["schedulingGates"] = json!([{"name": "example.com/held"}]);
        all.push(held);
        for pod in &mut all {
            pod["spec"]["nodeSelector"] = load.pod("any", "1m")["spec"]["nodeSelector"].clone();
        }
        plane.create(&all);
    }
    let page = |url: &str| ApiClient::of(&plane.kubeconfig_for(url)).text("/metrics").unwrap_or_default();
    let counted = |text: &str, result: &str| {
        text.lines()
            .filter(|line| {
                line.starts_with("scheduler_schedule_attempts_total{")
                    && line.contains(&format!("result=\"{result}\""))
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum::<f64>()
    };
    for url in [ours.url(), real.url()] {
        wait_until("all pods are attempted", SOON, || {
            let text = page(&url);
            counted(&text, "scheduled") >= 20.0 && counted(&text, "unschedulable") >= 1.0
        });
    }
    let (ours_text, real_text) = (page(&ours.url()), page(&real.url()));
    if let Some(folder) = std::env::var_os("BAYPLAN_METRICS") {
        let folder = std::path::Path::new(&folder);
        std::fs::write(folder.join("ours.txt"), &ours_text).unwrap();
        std::fs::write(folder.join("real.txt"), &real_text).unwrap();
    }
    let (ours_has, real_has) = (families(&ours_text), families(&real_text));
    for (name, theirs) in &real_has {
        let wanted = WANTED.iter().any(|prefix| name.starts_with(prefix));
        if !wanted || UPSTREAM_ONLY.iter().any(|(absent, _)| absent == name) {
            continue;
        }
        let Some(mine) = ours_has.get(name) else { panic!("`{name}` is missing: {}", theirs.help) };
        assert_eq!((&mine.kind, &mine.buckets), (&theirs.kind, &theirs.buckets), "{name}");
        assert_eq!(mine.labels, theirs.labels, "{name}");
        let stability = ["[STABLE] ", "[BETA] ", "[ALPHA] "].into_iter();
        let of = |help: &str| stability.clone().find(|word| help.starts_with(word));
        let beta_since_1_37 = BETA_SINCE_1_37.contains(&name.as_str()) && kubernetes() == "1.36";
        if let Some(theirs) = of(&theirs.help).filter(|_| !beta_since_1_37) {
            assert_eq!(of(&mine.help), Some(theirs), "stability of {name}");
        }
    }
    for name in ours_has.keys().filter(|name| name.starts_with("scheduler_")) {
        let known = real_has.contains_key(name) || OCCASIONAL.contains(&name.as_str());
        assert!(known, "kube-scheduler has no metric `{name}`");
    }
    for (name, why) in UPSTREAM_ONLY {
        assert!(real_has.contains_key(*name), "kube-scheduler has no metric `{name}`");
        assert!(!ours_has.contains_key(*name), "`{name}` exists, although {why}");
    }
    for metric in SAME {
        // Some samples come a moment after the binding.
        let of = |url: &str, profile: &str| samples(&page(url), metric, profile);
        let mut both = Default::default();
        became_true(SOON, || {
            both = (of(&ours.url(), &load.scheduler), of(&real.url(), &real_name));
            both.0 == both.1
        });
        assert_eq!(both.0, both.1, "{metric}");
    }
    let asked = "scheduler_plugin_evaluation_total";
    let mine = samples(&page(&ours.url()), asked, &load.scheduler);
    let theirs = samples(&page(&real.url()), asked, &real_name);
    // Every in-tree plugin is evaluated as often as upstream's.
    assert!(mine.len() > 15, "{mine:?}");
    // Since 1.37 upstream's VolumeBinding scores pods without claims too: 0 everywhere. Ours skips them.
    let skipped = |sample: &&String| sample.contains("Score\",plugin=\"VolumeBinding\"");
    let strange: Vec<_> = mine.difference(&theirs).filter(|sample| !skipped(sample)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

/// Metrics with the same value for the same work.
const SAME: [&str; 3] = [
    "scheduler_schedule_attempts_total",
    "scheduler_unschedulable_pods",
    "scheduler_framework_extension_point_duration_seconds_count",
];

/// Extension points with other values here, each with the reason.
const DIFFERENT: [(&str, &str); 2] =
    [("PreEnqueue", "upstream counts a rejection as Success"), ("Sign", "pods are not batched")];

/// The samples of a metric for a profile, without the name of the profile, labels in order.
fn samples(text: &str, metric: &str, profile: &str) -> BTreeSet<String> {
    let mine = format!("\"{profile}\"");
    let begins = format!("{metric}{{");
    text.lines()
        .filter(|line| line.starts_with(&begins) && line.contains(&mine))
        .filter(|line| !DIFFERENT.iter().any(|(point, _)| line.contains(&format!("\"{point}\""))))
        .map(|line| sorted(&line.replace(&mine, "\"\"")))
        .collect()
}

/// The metrics that dashboards and alerts for kube-scheduler read.
const WANTED: [&str; 4] =
    ["scheduler_", "leader_election_", "rest_client_request", "process_resident_memory_bytes"];

/// Metrics that only kube-scheduler has, each with the reason.
const UPSTREAM_ONLY: &[(&str, &str)] = &[("rest_client_request_size_bytes", "sizes are not counted")];

/// Metrics that were ALPHA in 1.36. Ours have one stability.
const BETA_SINCE_1_37: &[&str] =
    &["scheduler_scheduling_algorithm_duration_seconds", "scheduler_plugin_execution_duration_seconds"];

/// Metrics that kube-scheduler has only sometimes (after a wait at Permit, for one attempt in ten, during an
/// attempt, after a preemption, after an error). Unit tests check their labels and buckets.
const OCCASIONAL: &[&str] = &[
    "scheduler_inflight_events",
    "scheduler_permit_wait_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_preemption_goroutines_duration_seconds",
    "scheduler_preemption_goroutines_execution",
    "scheduler_batch_attempts",
    "scheduler_batch_cache_flushed",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_volume_binder_cache_requests",
    "scheduler_volume_scheduling_stage_error",
];

/// A sample with its labels in the order of their names.
fn sorted(line: &str) -> String {
    let (name, rest) = line.split_once('{').unwrap();
    let (labels, value) = rest.rsplit_once("} ").unwrap();
    let mut labels: Vec<&str> = labels.split(',').collect();
    labels.sort_unstable();
    format!("{name}{{{}}} {value}", labels.join(","))
}
