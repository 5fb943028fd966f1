//! A snapshot that took changes in one by one is the snapshot made anew from its objects, and a fork never changes
//! what it was forked from.

use bayplan::model::{
    Change, Kept, KeptColumns, Kinds, Moved, Node, NodeId, Overlay, Placement, PodInfo, PodKey, Snapshot,
    Symbol, Time, Want,
};
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
    Assumed { pod: u8, at: u8 },
    Want(u8),
    Unwant(u8),
    Pin(u8),
    Unpin(u8),
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
        2 => (0..12u8, 0..9u8).prop_map(|(pod, at)| Step::Assumed { pod, at }),
        1 => (0..3u8).prop_map(Step::Want),
        1 => (0..3u8).prop_map(Step::Unwant),
        1 => (0..6u8).prop_map(Step::Pin),
        1 => (0..6u8).prop_map(Step::Unpin),
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

fn label(at: u8) -> Want {
    Want::Label(Symbol::new(["zone", "app", "none"][usize::from(at)]))
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
        Step::Assumed { pod, at } => {
            snapshot.apply(Change::PodAssumed { pod: key(pod), at: Time(i64::from(at)) })
        }
        Step::Want(at) => snapshot.want(&[label(at)]),
        Step::Unwant(at) => snapshot.unwant(&[label(at)]),
        Step::Pin(row) => snapshot.pin(NodeId::from_row(usize::from(row))),
        Step::Unpin(row) => snapshot.unpin(NodeId::from_row(usize::from(row))),
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
            for (node, pod) in snapshot.nodes().flat_map(|node| node.pods().map(move |pod| (node, pod))) {
                let known = snapshot.pod(&pod.key).map(|entry| entry.assumed_at);
                prop_assert_eq!(node.assumed_at(pod), known, "after step {}: {:?}", at, step);
            }
        }
    }

    #[test]
    fn after_everything_is_gone_nothing_is_kept(steps in proptest::collection::vec(step(), 1..80)) {
        let mut snapshot = Snapshot::default();
        let (mut wanted, mut pinned) = ([0i32; 3], [0i32; 6]);
        for step in &steps {
            take(&mut snapshot, step);
            match step {
                Step::Want(at) => wanted[usize::from(*at)] += 1,
                Step::Unwant(at) => wanted[usize::from(*at)] = (wanted[usize::from(*at)] - 1).max(0),
                Step::Pin(row) => pinned[usize::from(*row)] += 1,
                Step::Unpin(row) => pinned[usize::from(*row)] = (pinned[usize::from(*row)] - 1).max(0),
                _ => {}
            }
        }
        let held = wanted.iter().filter(|count| **count > 0).count();
        prop_assert_eq!(snapshot.kept().columns.wanted_labels, held);
        for name in 0..12 {
            let pod = make_pod(name, 0, 0, false);
            snapshot.apply(Change::PodRemoved { pod: pod.key.clone() });
            snapshot.apply(Change::Nominated { pod, node: None });
        }
        (0..6).for_each(|name| take(&mut snapshot, &Step::NodeGone(name)));
        (0..3u8).for_each(|at| (0..wanted[usize::from(at)]).for_each(|_| snapshot.unwant(&[label(at)])));
        (0..6u8).for_each(|row| (0..pinned[usize::from(row)]).for_each(|_| take(&mut snapshot, &Step::Unpin(row))));
        let lingering_labels = snapshot.kept().columns.lingering_labels;
        prop_assert!(lingering_labels <= 3);
        let columns = KeptColumns { lingering_labels, ..KeptColumns::default() };
        prop_assert_eq!(snapshot.kept(), Kept { columns, ..Kept::default() });
        prop_assert_eq!(snapshot.columns().taint_sets().len(), 1);
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
        let mut fork = origin.fork();
        prop_assert!(fork.changes_since(generation).is_some_and(|mut records| records.next().is_none()));
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

#[test]
fn an_update_that_nobody_can_read_makes_no_record() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let node = snapshot.node_by_name(&Symbol::new("n1")).unwrap();
    let first = make_pod(1, 2, 0, true);
    let place = |snapshot: &mut Snapshot, pod: &Arc<PodInfo>, how| {
        let before = snapshot.generation();
        snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how });
        let records = snapshot.changes_since(before).unwrap();
        records.map(|record| record.kinds).collect::<Vec<_>>()
    };
    let placed = Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER).with(Kinds::PODS_PORTS);
    assert_eq!(place(&mut snapshot, &first, Placement::Assumed), [placed]);
    assert_eq!(place(&mut snapshot, &first, Placement::Assumed), []);
    assert_eq!(place(&mut snapshot, &first, Placement::Bound), [Kinds::PODS_OTHER]);
    let change = |pod: &Arc<PodInfo>, change: &dyn Fn(&mut PodInfo)| {
        let mut pod = (**pod).clone();
        change(&mut pod);
        Arc::new(pod)
    };
    // The watch shows the pod on its node, and kubelet writes conditions that no field holds.
    let status = change(&first, &|pod| {
        pod.resource_version = "7".into();
        pod.generation = 2;
        pod.node_name = Some(Symbol::new("n1"));
    });
    assert_eq!(place(&mut snapshot, &status, Placement::Bound), []);
    assert!(Arc::ptr_eq(&snapshot.pod(&first.key).unwrap().pod, &status), "the newest version is kept");
    let on_row: Vec<_> = snapshot.node(node).unwrap().pods().cloned().collect();
    assert!(on_row.len() == 1 && Arc::ptr_eq(&on_row[0], &status), "on its row too");
    let labelled =
        change(&status, &|pod| pod.labels = [(Symbol::new("a"), Symbol::new("b"))].into_iter().collect());
    assert_eq!(place(&mut snapshot, &labelled, Placement::Bound), [Kinds::PODS_OTHER]);
    let raw = change(&labelled, &|pod| pod.raw = Some(Arc::new(serde_json::json!({"status": 1}))));
    assert_eq!(
        place(&mut snapshot, &raw, Placement::Bound),
        [Kinds::PODS_OTHER],
        "a policy reads whole objects"
    );
    let resized = change(&raw, &|pod| pod.requests.milli_cpu = 900);
    assert_eq!(
        place(&mut snapshot, &resized, Placement::Bound),
        [Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER)]
    );
    assert_eq!(snapshot.node(node).unwrap().requested().milli_cpu, 900);
    assert_eq!(snapshot.describe(), snapshot.rebuilt().describe());
}

#[test]
fn a_pinned_row_is_not_given_to_another_node() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let row = snapshot.node_by_name(&Symbol::new("n1")).unwrap();
    snapshot.pin(row);
    snapshot.pin(row);
    snapshot.apply(Change::NodeRemoved { name: Symbol::new("n1") });
    snapshot.unpin(row);
    snapshot.apply(Change::NodeUpserted { node: make_node(2, 4, 1, false, false, 0) });
    assert_ne!(snapshot.node_by_name(&Symbol::new("n2")), Some(row));
    snapshot.unpin(row);
    snapshot.apply(Change::NodeUpserted { node: make_node(3, 4, 1, false, false, 0) });
    assert_eq!(snapshot.node_by_name(&Symbol::new("n3")), Some(row));
}

#[test]
fn a_fork_begins_an_empty_log() {
    let mut origin = Snapshot::default();
    let begin = origin.generation();
    origin.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let at = origin.generation();
    let mut fork = origin.fork();
    assert_eq!(fork.generation(), at);
    assert!(fork.changes_since(begin).is_none(), "older changes are not known");
    fork.apply(Change::NodeUpserted { node: make_node(2, 4, 1, false, false, 0) });
    assert_eq!(fork.changes_since(at).unwrap().count(), 2);
    assert_eq!(origin.changes_since(begin).unwrap().count(), 2);
}

#[test]
fn a_pod_that_is_not_there_is_taken_off_a_node_without_effect() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: make_node(1, 4, 1, false, false, 0) });
    let row = snapshot.node_by_name(&Symbol::new("n1")).unwrap();
    snapshot.apply(Change::PodPlaced { pod: make_pod(1, 2, 0, false), node: row, how: Placement::Bound });
    let node = snapshot.node(row).unwrap();
    let mut overlay = Overlay::new(node);
    let (there, other) = (make_pod(1, 2, 0, false), make_pod(2, 4, 0, false));
    overlay.remove(node, &other);
    assert_eq!(node.with_overlay(&overlay).pod_count(), 1);
    overlay.remove(node, &there);
    overlay.remove(node, &there);
    let seen = node.with_overlay(&overlay);
    assert_eq!((seen.pod_count(), seen.requested().milli_cpu), (0, 0));
    overlay.add(node, &other);
    overlay.remove(node, &other);
    overlay.add(node, &there);
    assert_eq!(node.with_overlay(&overlay).pod_count(), 1);
}
