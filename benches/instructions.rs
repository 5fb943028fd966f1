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
use support::preemption::{self, Full};
use support::{FOUR_TERMS, at_filter, cluster, decide, folder, framework, only, policy, sizes, small_pod};

const CASES: [&str; 5] = ["decision", "rule", "compile", "folder", "filed"];
/// Updates of placed pods: how many matches are registered follows from the text.
const UPDATES: [&str; 4] = [
    "update that nobody reads",
    "update that nobody reads, 1,000 selectors",
    "update of the labels",
    "update of the labels, 1,000 selectors",
];
/// Repetitions of the short and the long run.
const FEW: usize = 5;
const MANY: usize = 25;

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
    println!("{:<40} {:>8} {:>16}", "work", "nodes", "instructions");
    for case in CASES {
        let of_nodes = matches!(case, "decision" | "rule");
        for size in sizes("1000,5000").into_iter().take(if of_nodes { usize::MAX } else { 1 }) {
            let (few, many) = (count(case, size, FEW), count(case, size, MANY));
            let shown = if of_nodes { size.to_string() } else { "-".to_owned() };
            println!("{case:<40} {shown:>8} {:>16}", many.saturating_sub(few) / (MANY - FEW) as u64);
        }
    }
    for kind in KINDS.into_iter().chain(preemption::KINDS).chain(UPDATES) {
        let size = sizes("5000").into_iter().max().unwrap_or_default();
        let (few, many) = (count(kind, size, FEW), count(kind, size, MANY));
        println!("{kind:<40} {size:>8} {:>16}", many.saturating_sub(few) / (MANY - FEW) as u64);
    }
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
        _ => {
            for _ in 0..times {
                black_box(policy(FOUR_TERMS));
            }
        }
    }
}
