//! The memory of a scheduler: a replay on it decides as the scheduler goes on, also where the memory is hostile.

use bayplan::diag::SourceMap;
use bayplan::dry_run::cases::{self, Bench};
use bayplan::dry_run::saved::Saved;
use bayplan::dry_run::{self, Options, Order, Report, Standing, World, load};
use bayplan::framework::{Instances, Profile};
use bayplan::lang::analysis::coverage::Coverage;
use bayplan::lang::policy_set::PolicySet;
use bayplan::model::Time;
use bayplan::scheduler::Profiles;
use bayplan::scheduler::memory::{Instant, Memory, Place};
use serde_json::{Value, json};
use std::sync::Arc;

const TAKEN: &str = "2026-01-05T09:00:00Z";

fn profiles() -> Arc<Profiles> {
    let registry = bayplan::plugins::registry();
    let profile = Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap();
    Arc::new(Profiles { frameworks: vec![Arc::new(profile)], revision: 1 })
}

fn node(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    })
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "x", "uid": name, "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    })
}

/// The world of a snapshot of these objects with this memory.
fn world(objects: &[Value], memory: Option<Memory>) -> World {
    let saved = Saved { taken: TAKEN.into(), memory: memory.map(Arc::new), ..Saved::default() };
    let mut text = Vec::new();
    saved.write(objects, &mut text).unwrap();
    let mut sources = SourceMap::new();
    let file = sources.add("snapshot.json", String::from_utf8(text).unwrap());
    let loaded = load(&mut sources, &[file]);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded.world
}

/// A replay on a snapshot of these objects with this memory.
fn replay(objects: &[Value], memory: Memory) -> Report {
    let world = world(objects, Some(memory));
    let start = Time::parse(TAKEN).unwrap();
    dry_run::run(&world, profiles(), &Options { start, order: Order::Queue, ..Options::default() })
}

fn ends(report: &Report) -> Vec<(String, String)> {
    let mut all: Vec<_> = report
        .pods
        .iter()
        .map(|pod| {
            let end = match &pod.standing {
                Standing::Bound(node) => node.to_string(),
                other => format!("{other:?}").split([' ', '{']).next().unwrap().to_owned(),
            };
            (pod.pod.name.to_string(), end)
        })
        .collect();
    all.sort();
    all
}

fn tried(report: &Report) -> Vec<&str> {
    report.tried.iter().map(|at| report.pods[*at].pod.name.as_str()).collect()
}

/// The memory of a scheduler that has tried everything.
fn settled(objects: &[Value]) -> Memory {
    replay(objects, Memory::default()).scheduler.copy_memory().memory()
}

#[test]
fn assumed_pods_take_room_and_the_queue_keeps_its_order() {
    let objects =
        [node("n1", "4"), node("n2", "4"), pod("a", "4"), pod("b", "4"), pod("c", "4"), pod("huge", "64")];
    let memory = settled(&objects);
    // Two of three have a node, which the objects do not show; the third and the huge one wait.
    assert_eq!(memory.pods.iter().filter(|of| of.node.is_some()).count(), 2);
    let waits: Vec<_> = memory.queue.iter().map(|of| (&*of.pod, of.queue, of.attempts)).collect();
    assert_eq!(waits, [("x/c", Place::Unschedulable, 1), ("x/huge", Place::Unschedulable, 1)]);
    assert_eq!(memory.queue[0].refused_by, ["NodeResourcesFit"]);
    let again = replay(&objects, memory.clone());
    assert_eq!(again.pods.len(), 2, "the pods with a node are placed");
    assert_eq!(ends(&again), [("c".into(), "Waiting".into()), ("huge".into(), "Waiting".into())]);
    // The memory counts, not the order of the file: the pod of a later arrival comes last.
    let mut turned = memory;
    for of in &mut turned.queue {
        of.queue = Place::Active;
        of.since = Instant(Time(Time::parse(TAKEN).unwrap().0 - i64::try_from(of.arrival).unwrap()));
    }
    assert_eq!(tried(&replay(&objects, turned)), ["huge", "c"], "it waits longer");
}

#[test]
fn a_policy_test_on_a_snapshot_counts_what_the_scheduler_assumed() {
    let text = "
cluster: snapshot.json
cases:
- name: both nodes are taken
  pod: {name: new, requests: {cpu: 2}}
  expect: {unschedulable: {reason: Insufficient cpu, nodes: 2}}
- name: nothing is taken
  pod: {name: new, requests: {cpu: 2}}
  expect: {node: n1}
";
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let read = cases::read(&sources, file).unwrap();
    let objects = [node("n1", "4"), node("n2", "2"), pod("a", "4"), pod("b", "1")];
    let passes = |memory: Option<Memory>| -> Vec<bool> {
        let (cluster, profiles, policies) = (world(&objects, memory), profiles(), PolicySet::default());
        let bench = Bench {
            sources: &sources,
            cluster: &cluster,
            profiles: &profiles,
            policies: &policies,
            pod_file: &|_| None,
        };
        let run = |at| read.run_case(at, &bench, &mut Coverage::default(), false).unwrap().mismatches;
        (0..2).map(|at| run(at).is_empty()).collect()
    };
    assert_eq!(passes(Some(settled(&objects))), [true, false]);
    // In the objects no pod has a node.
    assert_eq!(passes(None), [false, true]);
}

#[test]
fn a_nomination_keeps_its_room() {
    let mut high = pod("high", "4");
    high["spec"]["priority"] = json!(10);
    high["spec"]["preemptionPolicy"] = json!("Never");
    let objects = [node("n1", "4"), high, pod("low", "4")];
    let mut memory = Memory { taken: Instant(Time::parse(TAKEN).unwrap()), ..Memory::default() };
    let entry = |pod: &str, queue| bayplan::scheduler::memory::QueueEntry {
        pod: format!("x/{pod}"),
        uid: pod.into(),
        queue,
        attempts: 1,
        refusals: 1,
        refused_by: vec!["NodeResourcesFit".into()],
        ..Default::default()
    };
    memory.queue = vec![entry("low", Place::Active), entry("high", Place::Unschedulable)];
    let without = replay(&objects, memory.clone());
    assert_eq!(ends(&without)[1], ("low".into(), "n1".into()));
    memory.nominated = vec![bayplan::scheduler::memory::NominatedPod {
        pod: "x/high".into(),
        uid: "high".into(),
        node: "n1".into(),
    }];
    let with = replay(&objects, memory);
    assert_eq!(ends(&with), [("high".into(), "n1".into()), ("low".into(), "Waiting".into())]);
}

#[test]
fn a_memory_survives_its_json() {
    let objects = [node("n1", "4"), pod("a", "1"), pod("huge", "64")];
    let memory = settled(&objects);
    let text = serde_json::to_string(&memory).unwrap();
    assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
    assert!(memory.faults.is_empty(), "{:?}", memory.faults);
    assert!(!text.contains("annotations") && !text.contains("containers"), "{text}");
}
