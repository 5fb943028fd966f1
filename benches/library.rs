//! What each policy of the library costs at 1,000 and 5,000 nodes, the columns of `policies/README.md`: one decision with
//! the policy alone; where it orders the queue or gates pods, one key and one look at a gate; where it speaks of evictions,
//! an attempt of a pod that fits nowhere, beside the same attempt without the policy. CPU times of this thread; the median of
//! some rounds. `BAYPLAN_BENCH_ROWS` chooses policies by a part of their names, `BAYPLAN_BENCH_NODES` other sizes. Prints
//! its figures and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::{Decider, Scan};
use bayplan::framework::{
    Candidate, Cycle, Framework, Instances, Plugin, PluginId, Points, Profile, QueuedPodInfo, Silent,
};
use bayplan::model::{Change, Symbol, Time};
use bayplan::plugins::policy::PolicyPlugin;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::cpu::{Work, measure, median};
use support::library::{arguments, cluster, folder, full, new_pod, schemas};
use support::{decide, policy_given, scoring, sizes};

/// Rounds of a policy; the median counts.
const ROUNDS: usize = 9;
/// CPU time of one round in microseconds, about.
const ENOUGH: f64 = 20_000.0;

/// What is measured of a policy.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Decision,
    QueueKey,
    Gate,
    Preemption,
}

impl What {
    const ALL: [Self; 4] = [Self::Decision, Self::QueueKey, Self::Gate, Self::Preemption];

    fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::QueueKey => "queue key",
            Self::Gate => "gate",
            Self::Preemption => "preemption",
        }
    }

    /// Whether a policy has a part in it.
    fn concerns(self, plugin: &PolicyPlugin) -> bool {
        match self {
            Self::Decision => {
                plugin.pre_filter().is_some() || plugin.filter().is_some() || plugin.score().is_some()
            }
            Self::QueueKey => plugin.queue_sort().is_some(),
            Self::Gate => plugin.pre_enqueue().is_some(),
            Self::Preemption => plugin.rule_plugin().is_some_and(|of| of.preemption().is_some()),
        }
    }

    /// Microseconds of one, in a cluster of so many nodes; without a plugin those of the scheduler alone.
    fn time(self, plugin: Option<PolicyPlugin>, nodes: usize) -> f64 {
        let mut work: Work = match self {
            Self::Decision => decisions(plugin.unwrap_or_else(nobody), nodes),
            Self::QueueKey | Self::Gate => early(self, plugin.unwrap_or_else(nobody), nodes),
            Self::Preemption => preemptions(plugin, nodes),
        };
        let times = ((ENOUGH / measure(&mut work, 2)) as usize).clamp(1, 20_000);
        median((0..ROUNDS).map(|_| measure(&mut work, times)).collect())
    }
}

fn decisions(plugin: PolicyPlugin, nodes: usize) -> Work {
    let framework = scoring(plugin);
    let mut snapshot = cluster(nodes, &framework);
    let pods: Vec<_> = (0..20).map(|at| new_pod(&format!("new-{at}")).build()).collect();
    pods.iter().for_each(|pod| snapshot.apply(Change::PodPending { pod: pod.clone() }));
    let (mut scan, mut next) = (Scan::new(), 0);
    Box::new(move |times| {
        for _ in 0..times {
            next += 1;
            decide(&mut scan, &pods[next % pods.len()], &framework, &snapshot);
        }
    })
}

/// What happens before a pod is tried.
fn early(what: What, plugin: PolicyPlugin, nodes: usize) -> Work {
    let points = Points {
        queue_sort: if what == What::QueueKey { vec![PluginId(0)] } else { Vec::new() },
        pre_enqueue: if what == What::Gate { vec![PluginId(0)] } else { Vec::new() },
        ..Points::default()
    };
    let plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(plugin)];
    let framework = Arc::new(Framework::new(Symbol::new("bench"), plugins, points));
    let mut snapshot = cluster(nodes, &framework);
    let pod = new_pod("new").build();
    snapshot.apply(Change::PodPending { pod: pod.clone() });
    let queued = QueuedPodInfo::new(pod.clone(), Time(0));
    Box::new(move |times| {
        for _ in 0..times {
            if what == What::QueueKey {
                std::hint::black_box(framework.sort_key(&queued, &snapshot));
            } else {
                let cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
                let _ = std::hint::black_box(framework.run_pre_enqueue(cycle.handle(&snapshot)));
            }
        }
    })
}

/// Attempts of a pod that fits nowhere, in the default profile.
fn preemptions(plugin: Option<PolicyPlugin>, nodes: usize) -> Work {
    let mut registry = bayplan::plugins::registry();
    if let Some(plugin) = plugin {
        registry.add_plugin(Arc::new(plugin)).unwrap();
    }
    let profile = Profile::new("default-scheduler");
    let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
    let (mut snapshot, pod) = full(nodes, &framework);
    snapshot.apply(Change::PodPending { pod: pod.clone() });
    let mut scan = Scan::new();
    Box::new(move |times| {
        for _ in 0..times {
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
            let found = scan.filter(&mut cycle, &snapshot, &mut Silent).unwrap();
            assert!(found.nodes.is_empty(), "the pod fits nowhere");
            let answer = framework.run_post_filter(&cycle, &snapshot);
            assert!(Candidate::best(&answer.candidates, Time(0)).is_some(), "there are victims");
        }
    })
}

/// A policy that concerns no pod: what a decision takes without rules.
fn nobody() -> PolicyPlugin {
    const NOBODY: &str = "/// Concerns no pod.\npolicy none {\n  applies when pod.namespace == \"nowhere\"\n  prefer 1 when node.ready\n}\n";
    support::policy(NOBODY)
}

/// With two digits, as the README has it.
fn shown(microseconds: f64) -> String {
    let (number, unit) =
        if microseconds < 1_000.0 { (microseconds, "µs") } else { (microseconds / 1_000.0, "ms") };
    if number < 10.0 { format!("{number:.1} {unit}") } else { format!("{number:.0} {unit}") }
}

fn policies(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            policies(&path, found);
        } else if path.extension().is_some_and(|of| of == "bay") {
            found.push(path);
        }
    }
}

fn main() {
    let chosen = std::env::var("BAYPLAN_BENCH_ROWS").unwrap_or_default();
    let sizes = sizes("1000,5000");
    let row = |name: &str, what: What, time: &dyn Fn(usize) -> f64| {
        let times: Vec<String> = sizes.iter().map(|nodes| format!("{:>12}", shown(time(*nodes)))).collect();
        println!("{name:<30} {:<11}{}", what.name(), times.join(""));
    };
    let heads: Vec<String> = sizes.iter().map(|nodes| format!("{nodes:>12}")).collect();
    println!("each policy alone; 20 pods for each node, or 10 that may be evicted");
    println!("{:<30} {:<11}{}  nodes", "policy", "", heads.join(""));
    for what in [What::Decision, What::Preemption] {
        row("(none)", what, &|nodes| what.time(None, nodes));
    }
    let mut found = Vec::new();
    policies(&folder("policies"), &mut found);
    found.sort();
    let schemas = schemas();
    for path in found {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&chosen) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let plugin = |nodes| policy_given("bench.bay", &text, &schemas, &arguments(&name, nodes));
        for what in What::ALL.into_iter().filter(|what| what.concerns(&plugin(0))) {
            row(&name, what, &|nodes| what.time(Some(plugin(nodes)), nodes));
        }
    }
}
