//! Pods through the whole scheduler: what becomes of them, and what their owners read.

use crate::support::plugins::{Fit, Gang, Labelled, Reserved, Reserver, basics, framework, reserved};
use bayplan::dry_run::{self, Options, Report, Standing, World};
use bayplan::framework::Plugin;
use bayplan::model::{Object, Symbol};
use bayplan::scheduler::Profiles;
use bayplan::testing::{node, pod};
use std::sync::Arc;

fn profiles(scheduler_name: &str, plugins: Vec<Arc<dyn Plugin>>) -> Arc<Profiles> {
    Arc::new(Profiles { frameworks: vec![framework(scheduler_name, plugins)], revision: 1 })
}

fn with(more: Vec<Arc<dyn Plugin>>) -> Arc<Profiles> {
    profiles("default-scheduler", basics().into_iter().chain(more).collect())
}

fn run(objects: Vec<Object>, profiles: Arc<Profiles>) -> Report {
    let world: World = objects.into_iter().collect();
    dry_run::run(&world, profiles, &Options::default())
}

fn standings(report: &Report) -> Vec<(String, Standing)> {
    report.pods.iter().map(|pod| (pod.pod.name.to_string(), pod.standing.clone())).collect()
}

fn bound(node: &str) -> Standing {
    Standing::Bound(Symbol::new(node))
}

#[test]
fn a_pod_goes_through_assume_reserve_permit_and_bind() {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").object()];
    let report = run(objects, with(vec![Arc::new(Reserver("first")), Arc::new(Reserver("second"))]));
    assert_eq!(standings(&report), [(String::from("web"), bound("n1"))]);
    let notes: Vec<_> = report.pods[0].events.iter().map(|event| (event.reason, &*event.note)).collect();
    assert_eq!(notes, [("Scheduled", "Successfully assigned default/web to n1")]);
    let index = report.scheduler.snapshot().index::<Reserved>(&reserved()).unwrap();
    assert_eq!(index.history, ["+first web", "+second web", "=first web", "=second web"]);
    assert_eq!(report.scheduler.open_calls(), 0);
}

#[test]
fn room_that_is_taken_is_taken_for_the_next_pod() {
    let objects = vec![
        node("n1").cpu("1").object(),
        pod("a").cpu("700m").object(),
        pod("b").cpu("700m").object(),
        pod("c").cpu("300m").object(),
    ];
    let report = run(objects, with(vec![]));
    let message = String::from("0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(
        standings(&report),
        [
            (String::from("a"), bound("n1")),
            (String::from("b"), Standing::Waiting { message }),
            (String::from("c"), bound("n1")),
        ]
    );
}

#[test]
fn a_gang_that_is_whole_binds_and_one_that_is_not_times_out_with_nothing_left_behind() {
    let member = |name: &str, gang: &str, size: &str| {
        pod(name).cpu("400m").label("gang", gang).label("gang-size", size).object()
    };
    let objects = vec![
        node("n1").cpu("1").object(),
        node("n2").cpu("1").object(),
        member("whole-1", "whole", "2"),
        member("whole-2", "whole", "2"),
        member("half-1", "half", "3"),
        member("half-2", "half", "3"),
        member("half-3", "half", "3"),
    ];
    let report = run(objects, with(vec![Arc::new(Reserver("ledger")), Arc::new(Gang::default())]));
    let nodes: Vec<bool> = report.pods.iter().map(|pod| matches!(pod.standing, Standing::Bound(_))).collect();
    assert_eq!(nodes, [true, true, false, false, false]);
    assert!(report.pods[2].waited.is_some() && report.pods[3].waited.is_some());
    let refused = &report.pods[2].events[0];
    assert_eq!(
        refused.note,
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Gang."
    );
    assert_eq!(report.pods[3].events[0].note, "0/1 nodes are available: 1 the gang broke up.");
    let snapshot = report.scheduler.snapshot();
    let index = snapshot.index::<Reserved>(&reserved()).unwrap();
    assert!(index.now.is_empty(), "{:?}", index.now);
    let requested: Vec<i64> = snapshot.nodes().map(|node| node.requested().milli_cpu).collect();
    assert_eq!(requested.iter().sum::<i64>(), 800);
}

#[test]
fn a_label_that_comes_later_lets_a_waiting_pod_in() {
    let mut plugins = basics();
    plugins.push(Arc::new(Labelled));
    let profiles = profiles("i-scheduler", plugins);
    let objects = vec![
        node("scheduler-1").object(),
        node("scheduler-2").object(),
        pod("test").scheduler("i-scheduler").object(),
    ];
    let report = run(objects, profiles);
    let message = String::from(
        "0/2 nodes are available: 1 Node:Node: scheduler-1 does not have label priority.lixueduan.com, \
         1 Node:Node: scheduler-2 does not have label priority.lixueduan.com.",
    );
    assert_eq!(report.pods[0].standing, Standing::Waiting { message });
    let _ = Fit;
}
