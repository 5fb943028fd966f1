//! Windows, ages, clocks that disagree, readings of no use, and the memory that metrics take. The last property compares
//! what is kept with its definition.

use super::*;
use crate::testing::{Random, node};
use crate::{Change, Snapshot};

const POLL: i64 = 15_000_000;

fn name(name: &str) -> Symbol {
    Symbol::new(name)
}

fn sample(of: &str, at: i64, cpu: i64, memory: i64) -> Reading {
    Reading { node: name(of), measured: Measured::Sample { at: Time(at), cpu, memory } }
}

fn cluster(nodes: &[&str], windows: &[i64]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.set_metrics_windows(windows.iter().map(|of| Duration::from_seconds(*of)).collect());
    for of in nodes {
        snapshot.apply(Change::NodeUpserted { node: node(of).build() });
    }
    snapshot
}

fn poll(snapshot: &mut Snapshot, at: i64, readings: Vec<Reading>) {
    snapshot.apply(Change::Metrics { at: Time(at), readings: readings.into() });
}

fn load(snapshot: &Snapshot, of: &str, window: i64) -> Option<Load> {
    snapshot.metrics().load(&name(of), Duration::from_seconds(window)).map(|load| **load)
}

#[test]
fn mean_and_deviation_are_those_of_the_samples_in_the_window() {
    let mut snapshot = cluster(&["n1"], &[60, 30]);
    for (at, cpu) in [100, 200, 900, 400].into_iter().enumerate() {
        let at = at as i64 * POLL;
        poll(&mut snapshot, at, vec![sample("n1", at, cpu, 2 * cpu)]);
    }
    let usage = |latest, mean, std, max| Usage { latest, mean, std, max };
    let expected = Load {
        cpu: usage(400, 400, 308, 900),
        memory: usage(800, 800, 616, 1800),
        samples: 4,
        at: Time(3 * POLL),
    };
    assert_eq!(load(&snapshot, "n1", 60), Some(expected));
    // The sample of 30 seconds ago is outside.
    assert_eq!(load(&snapshot, "n1", 30).map(|load| (load.samples, load.cpu.mean)), Some((2, 650)));
    assert_eq!((load(&snapshot, "n1", 45), load(&snapshot, "n2", 60)), (None, None));
}

#[test]
fn the_same_sample_again_is_no_other_and_grows_older() {
    let mut snapshot = cluster(&["n1"], &[60]);
    for at in 0..4 {
        poll(&mut snapshot, at * POLL, vec![sample("n1", 0, 100, 1)]);
    }
    let known = load(&snapshot, "n1", 60).unwrap();
    assert_eq!((known.samples, snapshot.metrics().age(&known)), (1, Duration(3 * POLL)));
    // A poll without an answer ages it too, and an older sample of another server is not taken.
    poll(&mut snapshot, 4 * POLL, Vec::new());
    poll(&mut snapshot, 5 * POLL, vec![sample("n1", -POLL, 900, 1)]);
    let known = load(&snapshot, "n1", 60).unwrap();
    assert_eq!((known.cpu.max, snapshot.metrics().age(&known)), (100, Duration(5 * POLL)));
}

#[test]
fn readings_that_cannot_be_used_are_left_out() {
    let mut snapshot = cluster(&["n1"], &[60]);
    let bad = [
        sample("n1", 0, -1, 0),
        sample("n1", 0, 0, -1),
        sample("n1", 0, i64::MAX, 0),
        sample("n1", 0, 0, i64::MAX),
        sample("unknown", 0, 1, 1),
    ];
    poll(&mut snapshot, 0, bad.to_vec());
    assert_eq!(snapshot.metrics().node_count(), 0);
}

#[test]
fn clocks_that_disagree_make_no_sample_of_the_future_and_none_that_never_ages() {
    let mut snapshot = cluster(&["n1"], &[60]);
    let far = 1_000_000 * POLL;
    poll(&mut snapshot, 0, vec![sample("n1", far, 100, 1)]);
    poll(&mut snapshot, POLL, vec![sample("n1", far, 100, 1)]);
    let known = load(&snapshot, "n1", 60).unwrap();
    assert_eq!((known.at, snapshot.metrics().age(&known)), (Time(0), Duration(POLL)));
    // Our wall clock is stepped by a day, there and back: what is known keeps its age.
    let day = Duration::from_seconds(86_400);
    snapshot.set_wall_offset(day);
    poll(&mut snapshot, 2 * POLL, vec![sample("n1", 2 * POLL, 200, 1)]);
    let known = load(&snapshot, "n1", 60).unwrap();
    assert_eq!((known.cpu.max, snapshot.metrics().age(&known)), (100, Duration(2 * POLL)));
    snapshot.set_wall_offset(Duration(0));
    poll(&mut snapshot, 3 * POLL, vec![sample("n1", 3 * POLL, 300, 1)]);
    assert_eq!(load(&snapshot, "n1", 60).map(|load| load.cpu.latest), Some(300));
    snapshot.set_wall_offset(Duration(-day.0));
    poll(&mut snapshot, 4 * POLL, vec![sample("n1", 4 * POLL, 400, 1)]);
    assert_eq!(load(&snapshot, "n1", 60).map(|load| (load.samples, load.cpu.latest)), Some((2, 400)));
}

#[test]
fn what_nobody_reads_and_nodes_that_are_gone_are_forgotten() {
    let mut snapshot = cluster(&["n1", "n2"], &[60]);
    poll(&mut snapshot, 0, vec![sample("n1", 0, 1, 1), sample("n2", 0, 1, 1)]);
    let before = snapshot.generation();
    snapshot.apply(Change::NodeRemoved { name: name("n1") });
    assert_eq!((load(&snapshot, "n1", 60), snapshot.metrics().node_count()), (None, 1));
    let records: Vec<_> = snapshot.changes_since(before).unwrap().map(|record| record.kinds).collect();
    assert!(records.contains(&crate::Kinds::METRICS), "{records:?}");
    // A node without readings for an hour.
    poll(&mut snapshot, LONGEST_WINDOW.0 + 1, Vec::new());
    assert_eq!(snapshot.metrics().node_count(), 0);
    let generation = snapshot.generation();
    poll(&mut snapshot, LONGEST_WINDOW.0 + 2, Vec::new());
    assert_eq!(snapshot.generation(), generation, "nothing is known that could age");
    snapshot.set_metrics_windows(Vec::new());
    poll(&mut snapshot, LONGEST_WINDOW.0 + 3, vec![sample("n2", 0, 1, 1)]);
    assert_eq!((snapshot.metrics().node_count(), snapshot.metrics().bytes()), (0, 0));
}

#[test]
fn a_summary_stands_for_every_window() {
    let mut snapshot = cluster(&["n1"], &[60]);
    let load = Load { cpu: Usage { mean: 7, ..Usage::default() }, samples: 3, ..Load::default() };
    let measured = Measured::Summary { load, age: Duration(POLL) };
    poll(&mut snapshot, 10 * POLL, vec![Reading { node: name("n1"), measured }]);
    let metrics = snapshot.metrics();
    let found = metrics.load(&name("n1"), Duration::from_seconds(60)).unwrap();
    assert_eq!((found.cpu.mean, metrics.age(found)), (7, Duration(POLL)));
    assert_eq!(metrics.recomputed(&name("n1"), Duration::from_seconds(5)), Some(**found));
}

/// Random polls, steps of the wall clock, nodes that come and go, and windows that change.
#[test]
fn loads_are_those_that_the_samples_define_and_forks_keep_their_own() {
    let all = ["n1", "n2", "n3"];
    let (mut compared, mut several) = (0, 0);
    for seed in 0..200 {
        let mut dice = Random(seed);
        let mut snapshot = cluster(&all, &[60, 900]);
        let (mut now, mut fork) = (0, None);
        for _ in 0..80 {
            now += POLL + dice.below(5_000_000) as i64;
            match dice.below(20) {
                0 => snapshot.set_wall_offset(Duration(dice.below(400) as i64 * 1_000_000 - 200_000_000)),
                1 => snapshot.apply(Change::NodeRemoved { name: name(all[dice.below(3)]) }),
                2 => snapshot.apply(Change::NodeUpserted { node: node(all[dice.below(3)]).build() }),
                3 => {
                    let windows = [60, 120, 900].into_iter().filter(|_| dice.chance(60));
                    let windows: Vec<Duration> = windows.map(Duration::from_seconds).collect();
                    snapshot.set_metrics_windows(windows);
                }
                4 => fork = Some((snapshot.fork(), snapshot.metrics().clone())),
                _ => {
                    let listed = all.iter().filter(|_| dice.chance(80)).copied().collect::<Vec<_>>();
                    let readings = listed.into_iter().map(|of| {
                        let at = now - dice.below(40_000_000) as i64 + 5_000_000;
                        let amount = |dice: &mut Random| match dice.below(30) {
                            0 => -1,
                            1 => i64::MAX,
                            2 => 1 << 40,
                            _ => dice.below(4_000) as i64,
                        };
                        sample(of, at, amount(&mut dice), amount(&mut dice))
                    });
                    let readings = readings.collect();
                    poll(&mut snapshot, now, readings);
                }
            }
            let metrics = snapshot.metrics();
            for of in all.map(name) {
                for window in metrics.windows() {
                    let found = metrics.load(&of, *window).map(|load| **load);
                    assert_eq!(found, metrics.recomputed(&of, *window), "seed {seed}");
                    compared += usize::from(found.is_some());
                    several += usize::from(found.is_some_and(|load| load.samples > 3));
                    assert!(found.is_none_or(|load| load.at <= Time(now)), "seed {seed}");
                }
            }
            if let Some((fork, then)) = &fork {
                assert_eq!(fork.metrics(), then, "seed {seed}");
            }
        }
    }
    assert!(compared > 10_000 && several > 5_000, "{compared} {several}");
}

#[test]
fn fifteen_minutes_of_five_thousand_nodes_take_less_than_ten_megabytes() {
    let names: Vec<String> = (0..5_000).map(|at| format!("node-{at}")).collect();
    let mut snapshot = cluster(&names.iter().map(String::as_str).collect::<Vec<_>>(), &[900]);
    // An hour of polls: only the window is kept.
    for at in 0..240 {
        let at = at * POLL;
        let readings = names.iter().map(|of| sample(of, at, at % 4_000, at)).collect();
        poll(&mut snapshot, at, readings);
    }
    let metrics = snapshot.metrics();
    assert_eq!(load(&snapshot, "node-7", 900).map(|load| load.samples), Some(60));
    let bytes = metrics.bytes();
    assert!((5_000_000..10_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn samples_are_bounded_however_often_they_come() {
    let mut snapshot = cluster(&["n1"], &[3_600]);
    for at in 0..5_000 {
        poll(&mut snapshot, at, vec![sample("n1", at, 1, 1)]);
    }
    assert_eq!(load(&snapshot, "n1", 3_600).map(|load| load.samples), Some(MOST_SAMPLES as u32));
}
