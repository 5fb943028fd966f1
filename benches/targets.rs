//! The times that Bayplan is to reach at 5,000 nodes with 50,000 running pods (with devices: at 500 nodes with eight
//! each), each beside its target. Times are CPU
//! times of this thread, and each round measures the plain pod right before and after the row, so that the ratio to it
//! also holds on a busy machine. `BAYPLAN_BENCH_ROWS` chooses rows by a part of their name. Prints its figures and
//! fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::diag::SourceMap;
use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Cycle, Framework, Silent};
use bayplan::lang::codegen::ledgers::index;
use bayplan::lang::compile;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::typed::LedgerId;
use bayplan::model::{
    Change, Delta, Index, Moves, NodeId, Placement, PodInfo, PodKey, Snapshot, Symbol, Time,
};
use bayplan::testing::pod;
use std::hint::black_box;
use std::sync::Arc;
use support::cpu::{Work, measure, median};
use support::crowd::{self, Crowd, selectors};
use support::devices::{self, Devices};
use support::preemption::{self, Full};
use support::rules::{self, FOUR_TERMS, Language};
use support::{cluster, decide, framework, only, small_pod};

const NODES: usize = 5_000;
/// What a plain pod takes on an idle machine, in microseconds. A ratio to it is allowed that reaches the target there.
const PLAIN: f64 = 87.0;
/// What a rule that may fail may take for a node, in microseconds.
const MAY_FAIL: f64 = 0.4;
/// Rounds of a row; the median counts.
const ROUNDS: usize = 15;
/// Rounds of a row whose work takes longer than a measurement.
const LONG_ROUNDS: usize = 5;
/// CPU time of one measurement in microseconds, about.
const ENOUGH: f64 = 20_000.0;

/// Prepares the work for the plugins of a profile.
type Make = Box<dyn Fn(&Arc<Framework>) -> Work>;

/// A figure to reach: what is measured, and the most that it may take in microseconds.
struct Row {
    name: String,
    target: f64,
    make: Make,
}

impl Row {
    fn new(name: &str, target: f64, make: impl Fn(&Arc<Framework>) -> Work + 'static) -> Self {
        Self { name: name.to_owned(), target, make: Box::new(make) }
    }
}

fn rows() -> Vec<Row> {
    let decision = |kind: &'static str, target: f64| {
        Row::new(kind, target, move |framework| {
            let (crowd, framework) = (Crowd::new(kind, NODES, framework), framework.clone());
            let (mut scan, mut next) = (Scan::new(), 0);
            Box::new(move |times| {
                for _ in 0..times {
                    next += 1;
                    decide(&mut scan, &crowd.pods[next % crowd.pods.len()], &framework, &crowd.snapshot);
                }
            })
        })
    };
    let targets = [PLAIN, 130.0, 140.0, 140.0, 140.0, 140.0, 130.0, 120.0, 1_000.0, 300.0, 300.0];
    let mut rows: Vec<Row> =
        crowd::KINDS.into_iter().zip(targets).map(|(kind, target)| decision(kind, target)).collect();
    rows.extend(preemption::KINDS.map(|kind| {
        Row::new(kind, 20_000.0, move |framework| {
            let (full, framework) = (Full::new(kind, NODES, framework), framework.clone());
            let mut scan = Scan::new();
            Box::new(move |times| (0..times).for_each(|_| full.attempt(&mut scan, &framework)))
        })
    }));
    rows.extend(devices::KINDS.map(|kind| {
        Row::new(kind, 2_000.0, move |framework| {
            let (devices, framework) = (Devices::new(kind, devices::NODES, framework), framework.clone());
            let (mut scan, mut next) = (Scan::new(), 0);
            Box::new(move |times| {
                for _ in 0..times {
                    next += 1;
                    let pod = &devices.pods[next % devices.pods.len()];
                    decide(&mut scan, pod, &framework, &devices.snapshot);
                }
            })
        })
    }));
    rows.push(Row::new("fork, 100,000 pods", 1_000.0, |framework| {
        let snapshot = many_pods(framework);
        Box::new(move |times| (0..times).for_each(|_| drop(black_box(snapshot.fork()))))
    }));
    rows.push(Row::new("fork and ten placed pods", 1_000.0, |framework| {
        let (mut snapshot, mut row) = (many_pods(framework), 0);
        Box::new(move |times| {
            for _ in 0..times {
                let fork = snapshot.fork();
                for _ in 0..10 {
                    row = (row + 7) % NODES;
                    place(&mut snapshot, &format!("new/{}", row % 100), row);
                }
                drop(black_box(fork));
            }
        })
    }));
    for (what, relabelled) in [("update that nobody reads", false), ("update of the labels", true)] {
        for (registered, target) in [(0, 1.0), (1_000, 5.0)] {
            // The target without selectors is that of an update that nobody reads.
            let target = if relabelled { 5.0 } else { target };
            let name = format!("{what}, {registered} selectors");
            rows.push(Row::new(&name, target, move |framework| updates(framework, registered, relabelled)));
        }
    }
    rows.extend(rows_of_rules());
    rows
}

/// Compiling, linting and asking rules. That compiling the policy language takes no longer than before there was CEL is
/// shown by `benches/instructions.rs`.
fn rows_of_rules() -> Vec<Row> {
    let mut rows = vec![Row::new("compile four terms in CEL", 100.0, |_| {
        Box::new(|times| {
            for _ in 0..times {
                black_box(rules::rule(Language::Cel, FOUR_TERMS.may_fail.unwrap()));
            }
        })
    })];
    for (name, language) in [("the policy language", Language::Policy), ("CEL", Language::Cel)] {
        let target = if language == Language::Cel { 2e6 } else { 1e6 };
        rows.push(Row::new(&format!("lint 10,000 rules in {name}"), target, move |_| {
            let texts = rules::policies_of_ten_rules(language, 1_000);
            Box::new(move |times| {
                for _ in 0..times {
                    black_box(rules::lint(language, &texts));
                }
            })
        }));
    }
    let plain = rules::PREDICATES.iter().chain([&FOUR_TERMS]).filter_map(|of| Some((of.name, of.may_fail?)));
    for (name, condition) in plain.chain([("numbers in labels", rules::NUMBERS_IN_LABELS)]) {
        rows.push(Row::new(&format!("may fail: {name}"), MAY_FAIL * NODES as f64, move |_| {
            let framework = only(rules::rule(Language::Cel, condition));
            let (snapshot, pod) = (rules::nodes(NODES, &framework), rules::asking_pod());
            let mut scan = Scan::new();
            Box::new(move |times| {
                for _ in 0..times {
                    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
                    let _ = black_box(scan.filter(&mut cycle, &snapshot, &mut Silent));
                }
            })
        }));
    }
    rows.push(Row::new("placed pod moves a ledger", 1.0, |framework| moves_ledger(framework)));
    rows.push(Row::new("placed pod, 1,000 policies with ledgers", 5.0, |framework| {
        let mut snapshot = cluster(NODES, framework);
        for policy in ledgers(1_000).iter() {
            let index = index(&policy.policy, LedgerId(0));
            snapshot.add_index(policy.policy.ledgers[0].index.clone(), Box::new(index));
        }
        let pods = members(200);
        let mut next = 0;
        Box::new(move |times| {
            for _ in 0..times {
                next += 1;
                let pod = pods[next % pods.len()].clone();
                let node = NodeId::from_row(next % NODES);
                snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            }
        })
    }));
    rows
}

/// Policies with a ledger each; one of them is about the team `team7`.
fn ledgers(policies: usize) -> PolicySet {
    let mut sources = SourceMap::new();
    let set = (0..policies).map(|at| {
        let text = format!(
            r#"/// The quota of a team.
            policy quota-{at} {{
              applies when pod.labels["team"] == "team{at}"
              ledger used: cpu by pod.namespace {{ add pod.requests.cpu }}
              prefilter {{ reject "the team has its quota" when used[pod.namespace] > 9000cpu }}
            }}"#
        );
        let id = sources.add(format!("quota-{at}.bay"), text);
        let (policies, said) = compile(sources.get(id).unwrap());
        let policy = policies.into_iter().next().unwrap_or_else(|| panic!("{said:?}"));
        Arc::new(CompiledPolicy::new(policy, &sources))
    });
    PolicySet::new(set.collect::<Vec<_>>())
}

/// Pods of `team7`.
fn members(number: usize) -> Vec<Arc<PodInfo>> {
    (0..number).map(|at| pod(&format!("member-{at}")).label("team", "team7").cpu("10m").build()).collect()
}

/// The index alone: each change counts a pod under one key.
fn moves_ledger(framework: &Framework) -> Work {
    let (snapshot, set) = (cluster(NODES, framework), ledgers(8));
    let policy = set.get("quota-7").unwrap().policy.clone();
    let mut ledger = index(&policy, LedgerId(0));
    let pods = members(200);
    let (mut next, mut moved) = (0, Moves::default());
    Box::new(move |times| {
        for _ in 0..times {
            next += 1;
            let pod = &pods[next / 2 % pods.len()];
            let change = match next % 2 {
                0 => Change::PodPlaced { pod: pod.clone(), node: NodeId::from_row(0), how: Placement::Bound },
                _ => Change::PodRemoved { pod: pod.key.clone() },
            };
            let delta =
                Delta { change: &change, node_before: None, node: None, pod_before: None, object: None };
            ledger.apply(&delta, &snapshot, &mut moved);
            moved.0.clear();
        }
    })
}

/// 5,000 nodes with 100,000 pods.
fn many_pods(framework: &Framework) -> Snapshot {
    let mut snapshot = cluster(NODES, framework);
    for at in 0..100_000 - snapshot.pod_count() {
        place(&mut snapshot, &format!("more/{at}"), at % NODES);
    }
    snapshot
}

fn place(snapshot: &mut Snapshot, name: &str, row: usize) {
    let mut one = (*pod("more").cpu("10m").build()).clone();
    one.key = PodKey(Symbol::new(name));
    let (pod, node) = (Arc::new(one), NodeId::from_row(row));
    snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
}

/// Updates of placed pods, to a later version and back.
fn updates(framework: &Framework, registered: usize, relabelled: bool) -> Work {
    let mut snapshot = Crowd::new(crowd::KINDS[0], NODES, framework).snapshot;
    snapshot.want(&selectors(registered));
    let versions: Vec<Vec<(Arc<PodInfo>, NodeId)>> =
        ["earlier", "later"].map(|version| crowd::versions(&snapshot, NODES, version, relabelled)).into();
    let mut next = 0;
    Box::new(move |times| {
        for _ in 0..times {
            let (pod, node) = versions[next / NODES % 2][next % NODES].clone();
            snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            next += 1;
        }
    })
}

fn main() {
    let framework = framework();
    let snapshot = cluster(NODES, &framework);
    let pods: Vec<_> = (0..50).map(small_pod).collect();
    let (mut scan, mut next, profile) = (Scan::new(), 0, framework.clone());
    let mut plain: Work = Box::new(move |times| {
        for _ in 0..times {
            next += 1;
            decide(&mut scan, &pods[next % pods.len()], &profile, &snapshot);
        }
    });
    measure(&mut plain, 500);
    let chosen = std::env::var("BAYPLAN_BENCH_ROWS").unwrap_or_default();
    println!("{NODES} nodes; the target of a ratio is the target over {PLAIN} µs, the time of a plain pod");
    println!("{:<40} {:>11} {:>11} {:>9} {:>9}", "work", "CPU time", "target", "ratio", "target");
    for row in rows().into_iter().filter(|row| row.name.contains(&chosen)) {
        let mut work = (row.make)(&framework);
        let once = measure(&mut work, 3);
        let times = ((ENOUGH / once) as usize).clamp(1, 20_000);
        let (mut took, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..if once > ENOUGH { LONG_ROUNDS } else { ROUNDS } {
            let before = measure(&mut plain, 100);
            let time = measure(&mut work, times);
            let after = measure(&mut plain, 100);
            took.push(time);
            ratios.push(time / ((before + after) / 2.0));
        }
        let (time, ratio) = (median(took), median(ratios));
        let missed = if ratio > row.target / PLAIN { "  missed" } else { "" };
        println!(
            "{:<40} {time:>8.2} µs {:>8} µs {ratio:>9.3} {:>9.3}{missed}",
            row.name,
            row.target,
            row.target / PLAIN
        );
    }
}
