//! What a pod takes whose amounts are beyond the range, or cannot be read at all, and what such a node has.

use bayplan::model::objects::node::Node as SlimNode;
use bayplan::model::objects::problems::Problems;
use bayplan::model::{Change, Effect, Node, ObjectError, Placement, PodInfo, Snapshot, Symbol};
use bayplan::testing::{PodMaker, node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

/// The fields of a pod that say what it takes, and those that only bound its use. Each is a list of resources.
const TAKES: [&str; 8] = [
    "spec.containers.0.resources.requests",
    "spec.initContainers.0.resources.requests",
    "spec.resources.requests",
    "spec.overhead",
    "status.containerStatuses.0.resources.requests",
    "status.containerStatuses.0.allocatedResources",
    "status.resources.requests",
    "status.allocatedResources",
];
const BOUNDS: [&str; 5] = [
    "spec.containers.0.resources.limits",
    "spec.initContainers.0.resources.limits",
    "spec.resources.limits",
    "status.containerStatuses.0.resources.limits",
    "status.resources.limits",
];
/// At the end of the range and beyond it: the API server takes all of them.
const LARGE: [&str; 7] = ["9223372036854775807", "9223372036854775808", "1e16", "10P", "1E", "1e19", "1e30"];

/// Whether a field is about the pod as a whole.
fn is_of_pod(path: &str) -> bool {
    ["spec.resources", "status.resources", "status.allocatedResources"].iter().any(|of| path.starts_with(of))
}

/// A pod on `n` in which the lists of amounts are there that count beside the one at a path: amounts of the pod as a whole
/// take the place of those of its containers.
fn whole(path: &str) -> PodMaker {
    let amounts = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
    let status =
        json!({"name": "c", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}});
    let pod = pod("p")
        .on("n")
        .set("spec.containers", json!([{"name": "c", "resources": amounts}]))
        .set("spec.initContainers", json!([{"name": "i", "restartPolicy": "Always", "resources": amounts}]))
        .set("spec.overhead", json!({"cpu": "1"}))
        .set("status.containerStatuses", json!([status]));
    match is_of_pod(path) {
        true => pod
            .set("spec.resources", json!({"requests": {"cpu": "3", "memory": "2Gi"}}))
            .set("status.resources", json!({"requests": {"cpu": "3"}}))
            .set("status.allocatedResources", json!({"cpu": "3"})),
        false => pod,
    }
}

fn with(path: &str, name: &str, amount: Value) -> Value {
    let of = whole(path).json();
    let pointer = format!("/{}", path.replace('.', "/"));
    let mut list = of.pointer(&pointer).cloned().unwrap_or(json!({}));
    list[name] = amount;
    whole(path).set(path, list).json()
}

fn read(value: Value) -> Result<PodInfo, ObjectError> {
    PodInfo::from_value(Arc::new(value))
}

fn seen(value: Value) -> (Arc<PodInfo>, Option<ObjectError>) {
    let (pod, problem) = PodInfo::seen(Arc::new(value)).unwrap();
    (Arc::new(pod), problem)
}

/// A cluster of one node with pods on it.
fn cluster(pods: &[&Arc<PodInfo>]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let node = node("n").cpu("8").memory("16Gi").resource("ephemeral-storage", "10Gi");
    let node = node.resource("example.com/gpu", "4").build();
    snapshot.apply(Change::NodeUpserted { node });
    pods.iter().for_each(|pod| put(&mut snapshot, pod));
    snapshot
}

fn put(snapshot: &mut Snapshot, pod: &Arc<PodInfo>) {
    let node = snapshot.row_or_placeholder(&Symbol::new("n"));
    snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how: Placement::Bound });
}

/// What is requested on the node: CPU, memory, ephemeral storage, GPUs; by row and by column.
fn requested(snapshot: &Snapshot) -> [i64; 4] {
    let node = snapshot.node(snapshot.node_by_name(&Symbol::new("n")).unwrap()).unwrap();
    let gpu = Symbol::new("example.com/gpu");
    let of = node.requested();
    let all = [of.milli_cpu, of.memory, of.ephemeral_storage, of.scalar(&gpu)];
    let columns = ["cpu", "memory", "ephemeral-storage", "example.com/gpu"].map(|name| {
        let column = snapshot.columns().resource(&Symbol::new(name));
        column.and_then(|column| column.requested.get(node.id().row()).copied()).unwrap_or(0)
    });
    assert_eq!(all, columns);
    all
}

#[test]
fn amounts_beyond_the_range_count_as_its_end_and_refuse_no_pod() {
    let plain = |path: &str| requested(&cluster(&[&Arc::new(read(whole(path).json()).unwrap())]));
    for path in TAKES {
        for (at, name) in ["cpu", "memory", "ephemeral-storage", "example.com/gpu"].into_iter().enumerate() {
            for amount in LARGE {
                let pod =
                    read(with(path, name, json!(amount))).unwrap_or_else(|error| panic!("{path}: {error}"));
                assert!(pod.unreadable.is_none(), "{path} {name} {amount}");
                let requested = requested(&cluster(&[&Arc::new(pod)]));
                let exact: i128 = match amount {
                    "1e16" | "10P" => 10i128.pow(16),
                    "1E" => 10i128.pow(18),
                    "1e19" => 10i128.pow(19),
                    "1e30" => 10i128.pow(30),
                    digits => digits.parse().unwrap(),
                };
                let end = (exact * if at == 0 { 1000 } else { 1 }).min(i64::MAX.into());
                for (other, (now, before)) in requested.into_iter().zip(plain(path)).enumerate() {
                    // Of the spec of the pod as a whole CPU and memory count.
                    match other == at && (at < 2 || path != "spec.resources.requests") {
                        true => assert!(i128::from(now) >= end, "{path} {name} {amount}: {now}"),
                        false => assert_eq!(now, before, "{path} {name} {amount}"),
                    }
                }
            }
        }
    }
    for path in BOUNDS {
        for amount in LARGE {
            let pod =
                read(with(path, "cpu", json!(amount))).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(requested(&cluster(&[&Arc::new(pod)])), plain(path), "{path} {amount}");
        }
    }
}

#[test]
fn a_pod_of_which_it_cannot_be_read_what_it_takes_fills_its_node() {
    let small = Arc::new(read(pod("q").uid("q").cpu("1").on("n").json()).unwrap());
    let alone = requested(&cluster(&[&small]));
    for path in TAKES {
        for amount in [json!("much"), json!("-1"), json!(["1"]), json!({}), json!(true)] {
            let value = with(path, "cpu", amount.clone());
            assert!(read(value.clone()).is_err(), "a file with {path}: {amount} is wrong");
            let (pod, problem) = seen(value);
            assert!(problem.is_some() && pod.unreadable.is_some(), "{path} {amount}");
            let mut snapshot = cluster(&[&small, &pod]);
            assert_eq!(requested(&snapshot), [i64::MAX; 4], "{path} {amount}");
            // An update that can be read, and one that cannot.
            let readable = Arc::new(read(whole(path).json()).unwrap());
            put(&mut snapshot, &readable);
            let sums = requested(&snapshot);
            assert_eq!(sums, requested(&cluster(&[&small, &readable])), "{path} {amount}");
            put(&mut snapshot, &pod);
            assert_eq!(requested(&snapshot), [i64::MAX; 4], "{path} {amount}");
            snapshot.apply(Change::PodRemoved { pod: pod.key.clone() });
            assert_eq!(requested(&snapshot), alone, "{path} {amount}");
        }
    }
    // Bounds on use, times and tolerations hide nothing.
    for (path, value) in [
        ("spec.containers.0.resources.limits", json!({"cpu": "much"})),
        ("spec.tolerations", json!([{"key": "a", "operator": "Exists", "effect": "Later"}])),
        ("spec.tolerations", json!([{"key": "a", "operator": "Near"}])),
        ("metadata.creationTimestamp", json!("yesterday")),
        ("status.startTime", json!("later")),
    ] {
        let (found, problem) = seen(whole(path).set(path, value).json());
        assert!(problem.is_some() && found.unreadable.is_none() && found.tolerations.is_empty(), "{path}");
        let plain = Arc::new(read(whole(path).json()).unwrap());
        assert_eq!(requested(&cluster(&[&found])), requested(&cluster(&[&plain])), "{path}");
    }
}

#[test]
fn sums_at_the_end_of_the_range_forget_no_pod() {
    let huge = |name: &str| Arc::new(read(pod(name).uid(name).memory("1e30").on("n").json()).unwrap());
    let (a, b) = (huge("a"), huge("b"));
    let small = Arc::new(read(pod("c").uid("c").memory("1Gi").on("n").json()).unwrap());
    let mut snapshot = cluster(&[&a, &small, &b]);
    snapshot.apply(Change::PodRemoved { pod: a.key.clone() });
    assert_eq!(requested(&snapshot)[1], i64::MAX, "the other one is still there");
    snapshot.apply(Change::PodRemoved { pod: b.key.clone() });
    assert_eq!(requested(&snapshot)[1], 1 << 30);
    // The same in a simulation.
    let snapshot = cluster(&[&a, &small, &b]);
    let node = snapshot.nodes().next().unwrap();
    let mut overlay = bayplan::model::Overlay::new(node);
    overlay.remove(node, &a);
    assert_eq!(node.with_overlay(&overlay).requested().memory, i64::MAX);
    overlay.remove(node, &b);
    assert_eq!(node.with_overlay(&overlay).requested().memory, 1 << 30);
    overlay.add(node, &b);
    assert_eq!(node.with_overlay(&overlay).requested().memory, i64::MAX);
}

#[test]
fn a_node_of_which_it_cannot_be_read_what_it_has_has_nothing() {
    let of = |value: Value| {
        let (slim, mut problems): (SlimNode, _) =
            (serde_json::from_value(value).unwrap(), Problems::default());
        (Node::read(&slim, &mut problems).unwrap(), problems.into_first().map(|problem| problem.path))
    };
    let (read, problem) = of(node("n").cpu("8").set("status.allocatable.memory", json!("much")).json());
    assert_eq!(problem.as_deref(), Some("status.allocatable.memory"));
    assert_eq!((read.allocatable.milli_cpu, read.allocatable.pods), (0, 0));
    assert!(read.taints.iter().any(|taint| taint.key == "bayplan.dev/unreadable"));
    let (read, problem) = of(node("n").cpu("8").taint("a", "", "Later").json());
    assert!(problem.is_some() && read.allocatable.milli_cpu == 8_000);
    assert_eq!(read.taints[0].effect, Effect::NoSchedule, "an unknown effect keeps pods away");
    let (read, problem) = of(node("n").set("status.allocatable.memory", json!("1e30")).json());
    assert!(problem.is_none() && read.allocatable.memory == i64::MAX);
    assert!(Node::from_value(Arc::new(node("n").taint("a", "", "Later").json())).is_err());
}

#[test]
fn a_pod_comes_before_its_node() {
    let (pod, _) = seen(with("spec.overhead", "cpu", json!("much")));
    let mut snapshot = Snapshot::default();
    put(&mut snapshot, &pod);
    let node = node("n").cpu("8").resource("example.com/gpu", "4").build();
    snapshot.apply(Change::NodeUpserted { node });
    assert_eq!(requested(&snapshot)[3], i64::MAX);
}
