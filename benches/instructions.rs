//! Instructions of a decision, a rule and a compilation, counted by callgrind: figures that do not
//! depend on the load of the machine. The program runs itself under valgrind with few and with many
//! repetitions; the difference is the work of one. It prints figures and never fails; without
//! valgrind it prints a note.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Cycle, Silent};
use bayplan::model::{Change, Placement, Snapshot, Time, Want};
use std::hint::black_box;
use std::process::Command;
use support::crowd::{Crowd, KINDS, selectors, versions};
use support::devices::{self, Devices};
use support::preemption::{self, Full};
use support::rules::{self, Language, PREDICATES};
use support::{FOUR_TERMS, at_filter, cluster, decide, folder, framework, only, policy, sizes, small_pod};

const LANGUAGES: [&str; 2] = ["in the policy language", "in CEL"];
/// A rule in CEL without the tests that prove it.
const MAY_FAIL: &str = "in CEL without tests";
const CASES: [&str; 5] = ["decision", "rule", "compile", "folder", "filed"];
/// Updates of placed pods: how many matches are registered follows from the text.
const UPDATES: [&str; 4] = [
    "update that nobody reads",
    "update that nobody reads, 1,000 selectors",
    "update of the labels",
    "update of the labels, 1,000 selectors",
];
/// What the scheduling thread does for a change that the webhook judges: it forks the cluster, and the next write copies
/// what the fork shares.
const JUDGED: &str = "update of the labels after a fork";
/// Instructions of a compilation and of a folder before there was CEL, counted by this bench on the same compiler. What
/// is shared by both languages may take 5 % more.
const BEFORE_CEL: [(&str, u64); 2] = [("compile", 536_002), ("folder", 60_766_530)];
/// Nodes that a rule of both languages is counted on.
const NODES_OF_TWINS: usize = 1_000;
/// Repetitions of the short and the long run.
const FEW: usize = 5;
const MANY: usize = 25;
/// Repetitions of the long run where 2 % count: two runs of the preparations differ by as much as a scan or two.
const MANY_OF_TWINS: usize = 205;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, case, size, times] = &arguments[..]
        && flag == "--run"
    {
        return run(case, size.parse().unwrap(), times.parse().unwrap());
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions: not counted, valgrind is not installed");
        return;
    }
    let chosen = std::env::var("BAYPLAN_BENCH_ROWS").unwrap_or_default();
    println!("{:<40} {:>8} {:>16} {:>9} {:>9}", "work", "nodes", "instructions", "ratio", "target");
    for case in CASES.into_iter().filter(|case| case.contains(&chosen)) {
        let of_nodes = matches!(case, "decision" | "rule");
        for size in sizes("1000,5000").into_iter().take(if of_nodes { usize::MAX } else { 1 }) {
            let took = one(case, size);
            let shown = if of_nodes { size.to_string() } else { "-".to_owned() };
            let before = BEFORE_CEL.iter().find(|(name, _)| *name == case);
            let compared = before.map_or(String::new(), |(_, before)| against(took, *before, 1.05));
            println!("{case:<40} {shown:>8} {took:>16}{compared}");
        }
    }
    for kind in KINDS
        .into_iter()
        .chain(preemption::KINDS)
        .chain(UPDATES)
        .chain([JUDGED])
        .filter(|kind| kind.contains(&chosen))
    {
        let size = sizes("5000").into_iter().max().unwrap_or_default();
        println!("{kind:<40} {size:>8} {:>16}", one(kind, size));
    }
    for kind in devices::KINDS.into_iter().filter(|kind| kind.contains(&chosen)) {
        println!("{kind:<40} {:>8} {:>16}", devices::NODES, one(kind, devices::NODES));
    }
    for case in ["compile four terms", "compile eight terms", "lint ten rules"]
        .into_iter()
        .filter(|case| case.contains(&chosen))
    {
        for language in LANGUAGES {
            let name = format!("{case} {language}");
            println!("{name:<40} {:>8} {:>16}", "-", one(&name, 0));
        }
    }
    twins(&chosen);
}

/// Rules of both languages with the same conditions: in CEL, what cannot fail may take 2 % more.
fn twins(chosen: &str) {
    for of in PREDICATES.iter().chain([&rules::FOUR_TERMS]).filter(|of| of.name.contains(chosen)) {
        let size = NODES_OF_TWINS;
        let [policy, cel] =
            LANGUAGES.map(|language| one_of(&format!("{} {language}", of.name), size, MANY_OF_TWINS));
        println!("{:<40} {size:>8} {policy:>16}", format!("{} in the policy language", of.name));
        println!("{:<40} {size:>8} {cel:>16}{}", "  in CEL", against(cel, policy, 1.02));
        if of.may_fail.is_some() {
            let took = one(&format!("{} {MAY_FAIL}", of.name), size);
            println!(
                "{:<40} {size:>8} {took:>16}{}",
                "  in CEL without tests",
                against(took, policy, f64::MAX)
            );
        }
    }
}

/// A figure beside another one, and whether the ratio is above the target.
fn against(took: u64, other: u64, target: f64) -> String {
    let ratio = took as f64 / other.max(1) as f64;
    let missed = if ratio > target { "  missed" } else { "" };
    let target = if target == f64::MAX { "-".to_owned() } else { format!("{target:.2}") };
    format!(" {ratio:>9.3} {target:>9}{missed}")
}

/// Instructions of one repetition.
fn one(case: &str, size: usize) -> u64 {
    one_of(case, size, MANY)
}

fn one_of(case: &str, size: usize, many: usize) -> u64 {
    count(case, size, many).saturating_sub(count(case, size, FEW)) / (many - FEW) as u64
}

/// Instructions of a whole run.
fn count(case: &str, size: usize, times: usize) -> u64 {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--run", case, &size.to_string(), &times.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let line = said.lines().find(|line| line.contains("Collected :")).unwrap_or_default();
    line.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// What is counted.
fn run(case: &str, size: usize, times: usize) {
    let pods: Vec<_> = (0..MANY).map(small_pod).collect();
    let mut scan = Scan::new();
    match case {
        kind if KINDS.contains(&kind) => {
            let framework = framework();
            let crowd = Crowd::new(kind, size, &framework);
            for pod in crowd.pods.iter().cycle().take(times) {
                decide(&mut scan, pod, &framework, &crowd.snapshot);
            }
        }
        kind if devices::KINDS.contains(&kind) => {
            let framework = framework();
            let devices = Devices::new(kind, size, &framework);
            for pod in devices.pods.iter().cycle().take(times) {
                decide(&mut scan, pod, &framework, &devices.snapshot);
            }
        }
        kind if preemption::KINDS.contains(&kind) => {
            let framework = framework();
            let full = Full::new(kind, size, &framework);
            (0..times).for_each(|_| full.attempt(&mut scan, &framework));
        }
        update if UPDATES.contains(&update) => {
            let framework = framework();
            let mut crowd = Crowd::new("looks at no pod", size, &framework);
            if update.ends_with("selectors") {
                crowd.snapshot.want(&selectors(1_000));
            }
            let later = versions(&crowd.snapshot, MANY, "later", update.contains("labels"));
            for (pod, node) in later.into_iter().take(times) {
                crowd.snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            }
        }
        JUDGED => {
            let framework = framework();
            let mut crowd = Crowd::new("looks at no pod", size, &framework);
            let later = versions(&crowd.snapshot, MANY, "later", true);
            for (pod, node) in later.into_iter().take(times) {
                // The webhook drops the fork on a thread of its own.
                std::mem::forget(crowd.snapshot.fork());
                crowd.snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            }
        }
        "decision" => {
            let framework = framework();
            let snapshot = cluster(size, &framework);
            for pod in pods.iter().take(times) {
                decide(&mut scan, pod, &framework, &snapshot);
            }
        }
        "rule" => {
            let framework = only(policy(FOUR_TERMS));
            let mut snapshot = cluster(size, &framework);
            for key in framework.plugins().iter().flat_map(|plugin| plugin.reads().label_keys) {
                snapshot.want(&[Want::Label(key)]);
            }
            for pod in pods.iter().take(times) {
                let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
                black_box(scan.filter(&mut cycle, &snapshot, &mut Silent).unwrap());
            }
        }
        // A hundred policies at a time, a file each, as when a folder is loaded.
        "folder" => {
            for _ in 0..times {
                black_box(folder(100));
            }
        }
        // One of a thousand policies applies to the pod.
        "filed" => {
            let framework = at_filter(folder(1000));
            let snapshot = Snapshot::default();
            for pod in pods.iter().take(times) {
                let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
                black_box(framework.run_pre_filter(&mut cycle, &snapshot, &mut Silent).unwrap());
            }
        }
        "compile" => {
            for _ in 0..times {
                black_box(policy(FOUR_TERMS));
            }
        }
        of_language => rule(of_language, size, times),
    }
}

/// The work of a rule in one of the languages.
fn rule(case: &str, size: usize, times: usize) {
    let language = if case.contains(LANGUAGES[1]) { Language::Cel } else { Language::Policy };
    if case.starts_with("compile") {
        let of = &rules::FOUR_TERMS;
        let condition = if case.contains("four") { of.may_fail.unwrap() } else { of.proved };
        for _ in 0..times {
            black_box(rules::rule(language, condition));
        }
        return;
    }
    if case.starts_with("lint ten rules") {
        let texts = rules::policies_of_ten_rules(language, MANY);
        black_box(rules::lint(language, &texts[..times]));
        return;
    }
    let of = PREDICATES.iter().chain([&rules::FOUR_TERMS]).find(|of| case.starts_with(of.name)).unwrap();
    let condition = if case.ends_with(MAY_FAIL) { of.may_fail.unwrap() } else { of.proved };
    let framework = only(rules::rule(language, condition));
    let (snapshot, pod) = (rules::nodes(size, &framework), rules::asking_pod());
    let mut scan = Scan::new();
    for _ in 0..times {
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
        let _ = black_box(scan.filter(&mut cycle, &snapshot, &mut Silent));
    }
}
