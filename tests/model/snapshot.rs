//! A snapshot that took changes in one by one is the snapshot made anew from its objects, and a fork never changes
//! what it was forked from.

use bayplan::model::{Change, Kinds, Moved, Node, Placement, PodInfo, PodKey, Snapshot, Symbol};
use bayplan::testing::{node, pod};
use proptest::prelude::*;
use std::sync::Arc;

/// One random step; numbers are taken modulo what exists.
#[derive(Clone, Debug)]
enum Step {
    Node { name: u8, cpu: u8, zone: u8, tainted: bool, closed: bool, gpus: u8 },
    NodeGone(u8),
    Place { pod: u8, node: u8, assumed: bool, port: bool, cpu: u8, gpus: u8 },
    Pending(u8),
    Unplace(u8),
    Gone(u8),
    Nominate { pod: u8, node: Option<u8> },
    Waiting { pod: u8, waiting: bool },
    WantLabel(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let b = any::<bool>;
    prop_oneof![
        4 => (0..6u8, 1..9u8, 0..4u8, b(), b(), 0..3u8)
            .prop_map(|(name, cpu, zone, tainted, closed, gpus)| Step::Node { name, cpu, zone, tainted, closed, gpus }),
        1 => (0..6u8).prop_map(Step::NodeGone),
        6 => (0..12u8, 0..6u8, b(), b(), 0..4u8, 0..2u8)
            .prop_map(|(pod, node, assumed, port, cpu, gpus)| Step::Place { pod, node, assumed, port, cpu, gpus }),
        2 => (0..12u8).prop_map(Step::Pending),
        1 => (0..12u8).prop_map(Step::Unplace),
        2 => (0..12u8).prop_map(Step::Gone),
        1 => (0..12u8, proptest::option::of(0..6u8)).prop_map(|(pod, node)| Step::Nominate { pod, node }),
        1 => (0..12u8, b()).prop_map(|(pod, waiting)| Step::Waiting { pod, waiting }),
        1 => (0..3u8).prop_map(Step::WantLabel),
    ]
}

fn make_node(name: u8, cpu: u8, zone: u8, tainted: bool, closed: bool, gpus: u8) -> Arc<Node> {
    let mut made = node(&format!("n{name}")).cpu(&cpu.to_string()).memory("8Gi");
    if zone > 0 {
        made = made.label("zone", &format!("z{zone}"));
    }
    if tainted {
        made = made.taint("dedicated", &cpu.to_string(), "NoSchedule");
    }
    if closed {
        made = made.set("spec.unschedulable", serde_json::json!(true));
    }
    if gpus > 0 {
        made = made
            .set("status.allocatable", serde_json::json!({"cpu": "2", "example.com/gpu": gpus.to_string()}));
    }
    made.build()
}

fn make_pod(name: u8, cpu: u8, gpus: u8, port: bool) -> Arc<PodInfo> {
    let mut made =
        pod(&format!("p{name}")).cpu(&format!("{}m", u32::from(cpu) * 250)).label("app", &cpu.to_string());
    if gpus > 0 {
        made = made.set("spec.containers.0.resources.requests", serde_json::json!({"example.com/gpu": gpus}));
    }
    if port {
        made =
            made.set("spec.containers.0.ports", serde_json::json!([{"containerPort": 80, "hostPort": 8080}]));
    }
    made.build()
}

fn key(name: u8) -> PodKey {
    make_pod(name, 0, 0, false).key.clone()
}

fn take(snapshot: &mut Snapshot, step: &Step) {
    match step.clone() {
        Step::Node { name, cpu, zone, tainted, closed, gpus } => {
            snapshot.apply(Change::NodeUpserted { node: make_node(name, cpu, zone, tainted, closed, gpus) });
        }
        Step::NodeGone(name) => {
            snapshot.apply(Change::NodeRemoved { name: Symbol::new(&format!("n{name}")) })
        }
        Step::Place { pod, node, assumed, port, cpu, gpus } => {
            // The pod leaves its row first, as the cache does: its new node may be the one that goes with it.
            let node = snapshot.row_or_placeholder(&Symbol::new(&format!("n{node}")));
            let how = if assumed { Placement::Assumed } else { Placement::Bound };
            snapshot.apply(Change::PodPlaced { pod: make_pod(pod, cpu, gpus, port), node, how });
        }
        Step::Pending(pod) => snapshot.apply(Change::PodPending { pod: make_pod(pod, 1, 0, false) }),
        Step::Unplace(pod) => snapshot.apply(Change::PodUnplaced { pod: key(pod) }),
        Step::Gone(pod) => snapshot.apply(Change::PodRemoved { pod: key(pod) }),
        Step::Nominate { pod, node } => {
            let row = node.and_then(|node| snapshot.node_by_name(&Symbol::new(&format!("n{node}"))));
            snapshot.apply(Change::Nominated { pod: make_pod(pod, 1, 0, false), node: row });
        }
        Step::Waiting { pod, waiting } => snapshot.apply(Change::PodWaiting { pod: key(pod), waiting }),
        Step::WantLabel(at) => snapshot.want_label(&Symbol::new(["zone", "app", "none"][usize::from(at)])),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn changes_one_by_one_are_the_same_as_starting_anew(steps in proptest::collection::vec(step(), 1..60)) {
        let mut snapshot = Snapshot::default();
        for (at, step) in steps.iter().enumerate() {
            take(&mut snapshot, step);
            prop_assert_eq!(snapshot.describe(), snapshot.rebuilt().describe(), "after step {}: {:?}", at, step);
        }
    }

    #[test]
    fn a_fork_never_changes_its_origin(
        before in proptest::collection::vec(step(), 1..40),
        after in proptest::collection::vec(step(), 1..40),
    ) {
        let mut origin = Snapshot::default();
        for step in &before {
            take(&mut origin, step);
        }
        let described = origin.describe();
        let generation = origin.generation();
        let mut fork = origin.clone();
        for step in &after {
            take(&mut fork, step);
        }
        prop_assert_eq!(origin.describe(), described);
        prop_assert_eq!(origin.generation(), generation);
        prop_assert_eq!(fork.describe(), fork.rebuilt().describe());
    }
}

#[test]
fn the_log_names_what_moved_and_how() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let before = snapshot.generation();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 2, true, false, 0) });
    let id = snapshot.node_by_name(&Symbol::new("n1")).unwrap();
    let records: Vec<_> = snapshot.changes_since(before).unwrap().cloned().collect();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].what, records[0].kinds), (Moved::Node(id), Kinds::LABELS));
    assert_eq!(records[0].label.as_ref().map(|label| label.as_str()), Some("zone"));
    assert_eq!((records[1].what, records[1].kinds), (Moved::Node(id), Kinds::TAINTS));
    let before = snapshot.generation();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 2, true, false, 0) });
    assert_eq!(snapshot.generation(), before, "an update that changes nothing makes no record");
}

#[test]
fn a_row_is_kept_while_a_pod_names_it() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let row = snapshot.node_by_name(&Symbol::new("n1")).unwrap();
    snapshot.apply(Change::PodPlaced { pod: make_pod(1, 2, 0, false), node: row, how: Placement::Bound });
    snapshot.apply(Change::NodeRemoved { name: Symbol::new("n1") });
    assert_eq!(snapshot.node_by_name(&Symbol::new("n1")), None);
    assert_eq!(snapshot.row_by_name(&Symbol::new("n1")), Some(row));
    snapshot.apply(Change::NodeUpserted { node: make_node(2, 4, 1, false, false, 0) });
    assert_ne!(snapshot.node_by_name(&Symbol::new("n2")), Some(row));
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    assert_eq!(snapshot.node_by_name(&Symbol::new("n1")), Some(row), "the node came back to its pods");
    assert_eq!(snapshot.node(row).unwrap().pod_count(), 1);
    assert_eq!(snapshot.columns().resource(&Symbol::new("cpu")).unwrap().requested[row.row()], 500);
    snapshot.apply(Change::NodeRemoved { name: Symbol::new("n1") });
    snapshot.apply(Change::PodRemoved { pod: key(1) });
    snapshot.apply(Change::NodeUpserted { node: make_node(3, 4, 1, false, false, 0) });
    assert_eq!(snapshot.node_by_name(&Symbol::new("n3")), Some(row), "a row that nobody names is used again");
}
