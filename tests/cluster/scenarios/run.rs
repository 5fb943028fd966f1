//! Runs scenarios under a scheduler: ours, or the real kube-scheduler with the same configuration file.

use super::api::Objects;
use super::data::{Extender, Group, Recorded, Scenario};
use super::look::{Look, Looker};
use crate::api_load::ApiClient;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::daemon::Folder;
use crate::support::extender::{FakeExtender, Said, names};
use crate::support::wait::became_true;
use crate::support::{ControlPlane, KubeScheduler};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which scheduler runs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Who {
    Bayplan,
    KubeScheduler,
}

/// How long a scheduler may take until it has done what is expected.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing may happen after what is expected: longer than a retry without back-off takes.
const QUIET: Duration = Duration::from_millis(300);
/// The same when nothing is recorded yet: longer than the back-off and what follows it.
const QUIET_TO_RECORD: Duration = Duration::from_secs(3);

/// One API server for scenarios, which run one after the other.
pub(crate) struct Stage {
    plane: ControlPlane,
    objects: Objects,
    /// What the extender binds with.
    binder: Arc<ApiClient>,
}

#[allow(dead_code, reason = "dropping the field ends the process")]
enum Scheduler {
    Ours(SchedulerProcess),
    Theirs(KubeScheduler),
}

/// A scheduler that runs with one configuration.
struct Running {
    _scheduler: Scheduler,
    metrics: ApiClient,
    extender: FakeExtender,
    who: Who,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let plane = ControlPlane::start();
        let objects = Objects::new(&plane);
        let binder = Arc::new(ApiClient::new(&plane));
        Self { plane, objects, binder }
    }

    /// Runs the scenarios whose names hold one of `only`, and returns what was seen. With `expected`, a step ends as soon as
    /// that is seen, else when nothing happens for some time.
    pub(crate) fn run(&self, group: &Group, who: Who, expected: Option<&Recorded>, only: &str) -> Recorded {
        let mut seen = Recorded::new();
        let mut running: Option<(&str, Running)> = None;
        let is_chosen = |scenario: &&Scenario| only.split(',').any(|only| scenario.name.contains(only));
        for scenario in group.scenarios.iter().filter(is_chosen) {
            let config = scenario.config.as_deref().unwrap_or(&group.config);
            if running.as_ref().is_none_or(|(of, _)| *of != config) {
                drop(running.take());
                running = Some((config, self.start(config, who)));
            }
            let Some((_, scheduler)) = &running else { continue };
            let since = Instant::now();
            let expected = expected.map(|all| all.get(&scenario.name).cloned().unwrap_or_default());
            seen.insert(scenario.name.clone(), self.play(scenario, scheduler, expected.as_deref()));
            eprintln!("{}: {:.1} s", scenario.name, since.elapsed().as_secs_f64());
        }
        seen
    }

    fn start(&self, config: &str, who: Who) -> Running {
        let extender = FakeExtender::start(|_, _| Said::status(404));
        let config = config.replace("${EXTENDER}", &extender.url());
        let config = format!("podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n{config}");
        let (scheduler, url) = match who {
            Who::KubeScheduler => {
                let theirs = self.plane.start_kube_scheduler(&config);
                let url = theirs.url();
                (Scheduler::Theirs(theirs), url)
            }
            Who::Bayplan => {
                let folder = Folder::new("scenarios");
                let path = folder.join("config.yaml");
                std::fs::write(&path, self.plane.kube_scheduler_configuration(&config))
                    .expect("a configuration");
                let ours = SchedulerProcess::start(&self.plane, &Setup::new("scenarios").config(path));
                let url = ours.url();
                (Scheduler::Ours(ours), url)
            }
        };
        let metrics = ApiClient::of(&self.plane.kubeconfig_for(&url));
        Running { _scheduler: scheduler, metrics, extender, who }
    }

    fn play(&self, scenario: &Scenario, running: &Running, expected: Option<&[Value]>) -> Vec<Value> {
        let name = scenario.name.as_str();
        let (answers, binder) = (scenario.extender.clone(), Arc::clone(&self.binder));
        running.extender.answers(move |verb, question| match verb {
            "bind" => {
                let error = if Objects::bind(&binder, question) { "" } else { "the API server refuses" };
                Said::json(&json!({"Error": error}))
            }
            _ => answer(&answers, verb, question),
        });
        self.objects.namespace(name, &json!({}));
        self.objects.apply(name, &scenario.given);
        self.wait_until_seen(running);
        let mut looker = Looker { objects: &self.objects, scenario, before: None };
        let mut seen = Vec::new();
        for (at, step) in scenario.steps.iter().enumerate() {
            self.objects.apply(name, step);
            let quiet = Duration::from_secs_f64(step.quiet);
            let look = match (expected, step.ends) {
                (Some(all), _) => settled_as(&looker, all.get(at), quiet.max(QUIET)),
                (None, None) => settled(&looker, quiet.max(QUIET_TO_RECORD), true),
                (None, Some(ends)) => settled(&looker, Duration::from_secs_f64(ends), false),
            };
            let mut shown = json!({"step": step.does});
            if let (Value::Object(shown), Value::Object(look)) = (&mut shown, &look.shown) {
                shown.extend(look.clone());
            }
            seen.push(shown);
            looker.before = Some(look);
            self.wait_until_seen(running);
        }
        self.objects.clean();
        self.wait_until_seen(running);
        seen
    }

    /// Waits until the scheduler has the nodes and the placed pods of the API server, and a little for other kinds; we
    /// say how many objects about devices there are.
    fn wait_until_seen(&self, running: &Running) {
        let nodes = self.objects.list("/api/v1/nodes").len();
        let pods = self.objects.list("/api/v1/pods");
        let placed = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
        let devices = ["deviceclasses", "resourceslices", "resourceclaims"].map(|plural| {
            let count = self.objects.list(&format!("/apis/resource.k8s.io/v1/{plural}")).len();
            (plural, count as f64)
        });
        became_true(Duration::from_secs(5), || {
            let page = running.metrics.text("/metrics").unwrap_or_default();
            let value = |start: String| {
                page.lines()
                    .find_map(|line| line.strip_prefix(&start)?.parse::<f64>().ok())
                    .unwrap_or_default()
            };
            let size = |kind: &str| value(format!("scheduler_cache_size{{type=\"{kind}\"}} "));
            let knows = |(plural, count): &(&str, f64)| {
                value(format!("bayplan_objects{{kind=\"{plural}\"}} ")) == *count
            };
            size("nodes") == nodes as f64
                && size("pods") - size("assumed_pods") == placed as f64
                && (running.who == Who::KubeScheduler || devices.iter().all(knows))
        });
        std::thread::sleep(match running.who {
            Who::Bayplan => Duration::from_millis(100),
            Who::KubeScheduler => Duration::from_millis(500),
        });
    }
}

/// Waits until the cluster is as expected, and stays so.
fn settled_as(looker: &Looker, expected: Option<&Value>, quiet: Duration) -> Look {
    let is = |look: &Look| {
        let mut expected = expected.cloned().unwrap_or_default();
        if let Some(fields) = expected.as_object_mut() {
            fields.remove("step");
        }
        look.shown == expected
    };
    became_true(PATIENCE, || is(&looker.look()));
    std::thread::sleep(quiet);
    looker.look()
}

/// Waits until nothing happens, and `decides` as long as a pod is undecided.
fn settled(looker: &Looker, quiet: Duration, decides: bool) -> Look {
    let (mut last, mut since) = (looker.look(), Instant::now());
    let begin = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let look = looker.look();
        if look != last {
            (last, since) = (look, Instant::now());
        } else if (last.decided || !decides) && since.elapsed() > quiet || begin.elapsed() > PATIENCE + quiet
        {
            return last;
        }
    }
}

/// What the extender of a scenario answers.
fn answer(of: &Extender, verb: &str, question: &Value) -> Said {
    if let Some(status) = of.status {
        return Said::status(status);
    }
    let asked = names(question);
    match verb {
        "filter" if !of.error.is_empty() => Said::json(&json!({"Error": of.error})),
        "filter" => {
            let refused = |name: &str| of.refuses.contains_key(name) || of.never.contains_key(name);
            let left: Vec<&String> = asked.iter().filter(|name| !refused(name)).collect();
            let among = |all: &BTreeMap<String, String>| -> Map<String, Value> {
                let of_asked = all.iter().filter(|(name, _)| asked.contains(name));
                of_asked.map(|(name, why)| (name.clone(), json!(why))).collect()
            };
            let mut said =
                json!({"FailedNodes": among(&of.refuses), "FailedAndUnresolvableNodes": among(&of.never)});
            match &question["Nodes"]["items"] {
                Value::Array(items) => {
                    let keeps = |it: &&Value| left.iter().any(|name| it["metadata"]["name"] == name.as_str());
                    said["Nodes"] = json!({"items": items.iter().filter(keeps).collect::<Vec<_>>()});
                }
                _ => said["NodeNames"] = json!(left),
            }
            Said::json(&said)
        }
        "prioritize" => {
            let score = |name: &String| of.scores.get(name).copied().unwrap_or_default();
            let scores: Vec<Value> =
                asked.iter().map(|name| json!({"Host": name, "Score": score(name)})).collect();
            Said::json(&json!(scores))
        }
        "preempt" => {
            let candidates = question["NodeNameToMetaVictims"].as_object().cloned().unwrap_or_default();
            let left = candidates.into_iter().filter(|(name, _)| !of.spares.contains(name));
            Said::json(&json!({"NodeNameToMetaVictims": left.collect::<Map<_, _>>()}))
        }
        _ => Said::status(404),
    }
}
