//! What stays behind when tenants come and go: the time of a decision and the memory before and after 100,000 taint
//! lists, 10,000 keys of node selectors and 10,000 resources, each named once; and the time of a placed pod's status
//! update that no plugin or rule reads; and the memory of devices. It prints figures and fails when something is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::Scan;
use bayplan::framework::Framework;
use bayplan::model::{
    Change, DeviceIndex, Node, Object, Placement, PodInfo, PodKey, Snapshot, Symbol, Taint,
};
use bayplan::model::{Duration, Effect, Labels, Time};
use bayplan::scheduler::{Input, Options, Profiles, Scheduler};
use bayplan::testing::{node, pod};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use support::devices;
use support::{cluster, decide, framework, memory, small_pod};

const NODES: usize = 5_000;
const TAINT_LISTS: usize = 100_000;
const KEYS: usize = 10_000;

fn main() {
    // First: what earlier work frees would be used again.
    memory_of_devices();
    let framework = framework();
    let mut snapshot = cluster(NODES, &framework);
    // The log and the columns that linger have the same size all the time.
    wear(&mut snapshot, &framework, 70_000, 64);
    decisions("before", &framework, &snapshot);
    let before = memory();
    let kept = snapshot.kept();
    wear(&mut snapshot, &framework, TAINT_LISTS, KEYS);
    decisions("after", &framework, &snapshot);
    let now = snapshot.kept();
    assert_eq!(
        (now.columns.taint_sets, now.columns.scalars),
        (kept.columns.taint_sets, kept.columns.scalars)
    );
    assert_eq!((now.columns.wanted_labels, now.columns.lingering_labels), (0, 64));
    println!("memory: {before} kB before, {} kB after; kept: {now:?}", memory());
    updates(&framework);
}

/// The memory of 5,000 slices with eight devices each: of the objects, of the index, and of a claim for each device.
fn memory_of_devices() {
    let (mut snapshot, begin) = (Snapshot::default(), memory());
    devices::slices(NODES).for_each(|change| snapshot.apply(change));
    let objects = memory();
    snapshot.add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
    // Facts of pools are derived when they are first asked for.
    let index: &DeviceIndex = snapshot.index(&DeviceIndex::key()).unwrap();
    let nodes: Vec<Symbol> = index.pools().map(|pool| pool.id().name.clone()).collect();
    let found: usize = nodes.iter().flat_map(|node| index.pools_of(node)).map(|of| of.slices().len()).sum();
    let derived: i64 = index.pools().filter_map(|pool| Some(index.newest(pool.id())?.generation())).sum();
    assert_eq!((found, derived), (NODES, NODES as i64));
    let indexed = memory();
    devices::all_taken(NODES).for_each(|change| snapshot.apply(change));
    let claims = memory() - indexed;
    let per = |kib: u64| kib * 1024 / (8 * NODES as u64);
    println!(
        "40,000 devices: {} bytes each in slices, {} in the index; with a claim for each, {} more for device and claim",
        per(objects - begin),
        per(indexed - objects),
        per(claims)
    );
}

/// The median of many decisions, in microseconds.
fn decisions(when: &str, framework: &Arc<Framework>, snapshot: &Snapshot) {
    let mut scan = Scan::new();
    let pods: Vec<_> = (0..50).map(small_pod).collect();
    let mut times: Vec<u128> = (0..4_000)
        .map(|at| {
            let begin = Instant::now();
            decide(&mut scan, &pods[at % pods.len()], framework, snapshot);
            begin.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    println!("decision {when}: {:.1} µs", times[times.len() / 2] as f64 / 1e3);
}

/// Everything that tenants and controllers name, once.
fn wear(snapshot: &mut Snapshot, framework: &Framework, taint_lists: usize, keys: usize) {
    let nodes: Vec<Arc<Node>> = snapshot.nodes().map(|node| node.node().clone()).collect();
    for at in 0..taint_lists {
        let mut node = (*nodes[at % nodes.len()]).clone();
        let value = Symbol::from(at.to_string());
        let taint = Taint { key: Symbol::new("deletion-candidate"), value, effect: Effect::PreferNoSchedule };
        node.taints = node.taints.iter().cloned().chain([taint]).collect();
        snapshot.apply(Change::NodeUpserted { node: Arc::new(node) });
    }
    nodes.iter().for_each(|node| snapshot.apply(Change::NodeUpserted { node: node.clone() }));
    for at in 0..keys {
        let pod = pod("new").set("spec.nodeSelector", json!({ format!("key-{at}"): "yes" })).build();
        let wants = framework.wants(&pod, snapshot);
        snapshot.want(&wants);
        snapshot.unwant(&wants);
        let row = snapshot.row_by_name(&nodes[at % nodes.len()].name).unwrap();
        let pod = bayplan::testing::pod("foreign").request(&format!("example.com/r-{at}"), "1").build();
        snapshot.apply(Change::PodPlaced { pod: pod.clone(), node: row, how: Placement::Bound });
        snapshot.apply(Change::PodRemoved { pod: pod.key.clone() });
    }
}

/// Status updates of placed pods, in the snapshot alone and through the scheduler.
fn updates(framework: &Arc<Framework>) {
    const PODS: usize = 10_000;
    let mut scheduler = Scheduler::new(Options::default());
    let mut out = Vec::new();
    let profiles = Profiles { frameworks: vec![framework.clone()], revision: 1 };
    scheduler.step(Input::Profiles(Arc::new(profiles)), Time(0), &mut out);
    for at in 0..100 {
        let name = format!("n{at}");
        scheduler.step(Input::Upserted(node(&name).cpu("400").pods(200).object()), Time(0), &mut out);
    }
    let shape = (*pod("shape").cpu("100m").label("app", "web").build()).clone();
    let pods: Vec<PodInfo> = (0..PODS)
        .map(|at| PodInfo {
            key: PodKey(Symbol::from(format!("uid-{at}"))),
            uid: Symbol::from(format!("uid-{at}")),
            name: Symbol::from(format!("web-{at}")),
            node_name: Some(Symbol::from(format!("n{}", at % 100))),
            labels: (0..8).map(|l| (Symbol::from(format!("l{l}")), Symbol::new("v"))).collect::<Labels>(),
            ..shape.clone()
        })
        .collect();
    let version = |number: usize| -> Vec<Arc<PodInfo>> {
        let with = |pod: &PodInfo| PodInfo { resource_version: number.to_string().into(), ..pod.clone() };
        pods.iter().map(|pod| Arc::new(with(pod))).collect()
    };
    for pod in version(0) {
        scheduler.step(Input::Upserted(Object::Pod(pod)), Time(0), &mut out);
    }
    let mut snapshot = scheduler.fork();
    let rows: Vec<_> =
        pods.iter().map(|pod| snapshot.row_by_name(pod.node_name.as_ref().unwrap()).unwrap()).collect();
    for turn in 1..4 {
        let updates = version(turn);
        let at = snapshot.generation();
        let begin = Instant::now();
        for (pod, node) in updates.iter().zip(&rows) {
            let change = Change::PodPlaced { pod: pod.clone(), node: *node, how: Placement::Bound };
            snapshot.apply(change);
        }
        let alone = begin.elapsed();
        assert_eq!(snapshot.generation(), at, "no plugin or rule reads it");
        let inputs: Vec<Input> = updates.into_iter().map(|pod| Input::Upserted(Object::Pod(pod))).collect();
        let now = Time(0) + Duration::from_seconds(turn as i64);
        let begin = Instant::now();
        for input in inputs {
            scheduler.step(input, now, &mut out);
        }
        let whole = begin.elapsed();
        let of = |time: std::time::Duration| time.as_nanos() / PODS as u128;
        println!("status update: {} ns in the snapshot, {} ns in the scheduler", of(alone), of(whole));
    }
}
