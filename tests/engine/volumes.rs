//! VolumeBinding on random volumes, claims, classes and capacities: nodes are refused alike one by one and all at once,
//! with and without label columns; the index is what it would be if it were made anew; and every node that passes can be
//! reserved.

use bayplan::framework::{Cycle, Framework, PluginId, Points, Silent, Status, Tree, Verdicts};
use bayplan::model::{Change, KindRow, Object, ObjectKey, PodInfo, Snapshot, Symbol, Time, Want};
use bayplan::plugins::{self, VolumeIndex};
use bayplan::testing::{Random, node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";
const SIZES: [&str; 6] = ["1Gi", "2Gi", "5Gi", "5368709120", "8Gi", "500m"];
const CLASSES: [&str; 4] = ["wait", "make", "now", ""];
const MODES: [&str; 3] = ["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"];

fn read(value: Value) -> Object {
    let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
    (row.unwrap().from_value)(Arc::new(value)).unwrap()
}

fn modes(r: &mut Random) -> Vec<&'static str> {
    let mut modes: Vec<_> = MODES.into_iter().filter(|_| r.one_in(2)).collect();
    if modes.is_empty() {
        modes.push("ReadWriteOnce");
    }
    modes
}

fn requirement(r: &mut Random) -> Value {
    let hosts = [format!("n{}", r.below(20)), format!("n{}", r.below(20))];
    let zones = ["a", "b", "c"];
    match r.below(8) {
        0..=2 => json!({"key": ZONE, "operator": "In", "values": zones[..1 + r.below(2)]}),
        3..=4 => json!({"key": HOST, "operator": "In", "values": hosts}),
        5 => json!({"key": "disk", "operator": "Exists"}),
        6 => json!({"key": ZONE, "operator": "NotIn", "values": ["a"]}),
        _ => json!({"key": "rank", "operator": r.of(&["Gt", "Near"]), "values": ["4"]}),
    }
}

fn affinity(r: &mut Random) -> Value {
    let term = |r: &mut Random| {
        let requirements: Vec<Value> = (0..r.below(3)).map(|_| requirement(r)).collect();
        let fields = if r.one_in(9) {
            json!([{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}])
        } else {
            json!([])
        };
        json!({"matchExpressions": requirements, "matchFields": fields})
    };
    let terms: Vec<Value> = (0..1 + r.below(2)).map(|_| term(r)).collect();
    json!({"required": {"nodeSelectorTerms": terms}})
}

fn volume(r: &mut Random, at: usize) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("v{at}"), "uid": format!("v{at}"), "labels": {"kind": r.of(&["x", "y"])}},
        "spec": {"capacity": {"storage": r.of(&SIZES)}, "accessModes": modes(r), "storageClassName": r.of(&CLASSES)},
        "status": {"phase": r.of(&["Available", "Available", "Available", "Released", "Bound"])},
    });
    if !r.one_in(4) {
        volume["spec"]["nodeAffinity"] = affinity(r);
    }
    if r.one_in(6) {
        volume["spec"]["volumeMode"] = json!("Block");
    }
    if r.one_in(6) {
        let claim = r.below(12);
        volume["spec"]["claimRef"] = json!({"namespace": "default", "name": format!("c{claim}")});
        if r.one_in(2) {
            volume["spec"]["claimRef"]["uid"] = json!(format!("c{}", if r.one_in(4) { 99 } else { claim }));
        }
    }
    if r.one_in(15) {
        volume["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if r.one_in(12) {
        volume["spec"]["awsElasticBlockStore"] = json!({"volumeID": "vol-1"});
        volume["metadata"]["labels"] = json!({ ZONE: "a__b" });
    }
    volume
}

fn claim(r: &mut Random, at: usize) -> Value {
    let name = format!("c{at}");
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": {}},
        "spec": {"accessModes": modes(r)[..1], "resources": {"requests": {"storage": r.of(&SIZES)}},
            "storageClassName": if r.one_in(9) { r.of(&CLASSES) } else { r.of(&["wait", "make"]) }},
        "status": {"phase": "Pending"},
    });
    match r.below(12) {
        0..=2 => {
            claim["spec"]["volumeName"] = json!(format!("v{}", r.below(40)));
            claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
        }
        3 => {
            claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] =
                json!(format!("n{}", r.below(20)));
        }
        4 => claim["spec"]["selector"] = json!({"matchLabels": {"kind": "x"}}),
        5 => claim["spec"]["volumeMode"] = json!("Block"),
        6 if r.one_in(6) => claim["spec"]["selector"] = json!({"matchLabels": {"bad key": "x"}}),
        7 => claim["spec"]["resources"] = json!({}),
        _ => {}
    }
    claim
}

fn capacity(r: &mut Random, at: usize) -> Value {
    let mut capacity = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": format!("k{at}"), "namespace": "kube-system", "uid": format!("k{at}")},
        "storageClassName": r.of(&["make", "wait"]), "capacity": r.of(&SIZES),
    });
    match r.below(6) {
        0 => {}
        1 => capacity["nodeTopology"] = json!({}),
        2 => capacity["nodeTopology"] = json!({"matchLabels": {ZONE: r.of(&["a", "b"]), "disk": "ssd"}}),
        3 => {
            capacity["nodeTopology"] = json!({"matchExpressions": [{"key": "disk", "operator": "Exists"}]});
        }
        _ => {
            let values = [format!("n{}", r.below(20)), format!("n{}", r.below(20))];
            capacity["nodeTopology"] =
                json!({"matchExpressions": [{"key": HOST, "operator": "In", "values": values}]});
        }
    }
    if r.one_in(3) {
        capacity["maximumVolumeSize"] = json!(r.of(&SIZES));
    }
    capacity
}

fn fixed(r: &mut Random) -> Vec<Value> {
    let class = |name: &str, provisioner: &str, mode: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": mode})
    };
    let mut make = class("make", "csi", "WaitForFirstConsumer");
    if r.one_in(2) {
        make["allowedTopologies"] = json!([
            {"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}, {"key": "disk", "values": ["ssd"]}]},
            {"matchLabelExpressions": [{"key": ZONE, "values": ["c"]}]}, {},
        ]);
    }
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi"},
        "spec": {"storageCapacity": r.one_in(2)}});
    let migrated = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n3",
        "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}}, "spec": {}});
    let wait = class("wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    vec![wait, make, class("now", "csi", "Immediate"), driver, migrated]
}

fn framework() -> Arc<Framework> {
    let registry = plugins::registry();
    let made = registry.get("VolumeBinding").and_then(|entry| entry.make(&Tree::default()));
    let Some(Ok(plugin)) = made else { panic!("it is built") };
    let id = PluginId(0);
    let points = Points { pre_filter: vec![id], filter: vec![id], reserve: vec![id], ..Points::default() };
    Arc::new(Framework::new(Symbol::new("default-scheduler"), vec![plugin], points))
}

fn user(r: &mut Random) -> Arc<PodInfo> {
    let volumes: Vec<Value> = (0..1 + r.below(4))
        .map(|at| json!({"name": format!("x{at}"), "persistentVolumeClaim": {"claimName": format!("c{}", r.below(12))}}))
        .collect();
    pod("p").set("spec.volumes", json!(volumes)).build()
}

fn see(snapshot: &mut Snapshot, object: Object) {
    match object {
        Object::Node(node) => snapshot.apply(Change::NodeUpserted { node }),
        Object::Other(object) => snapshot.apply(Change::ObjectSeen { object }),
        other => panic!("{other:?}"),
    }
}

/// The verdict of each node, one by one and all at once.
fn decide(framework: &Arc<Framework>, snapshot: &Snapshot, pod: &Arc<PodInfo>) -> Result<usize, Status> {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    framework.run_pre_filter(&mut cycle, snapshot, &mut Silent)?;
    let h = cycle.handle(snapshot).for_plugin(PluginId(0));
    let filter = framework.plugin(PluginId(0)).and_then(|plugin| plugin.filter()).unwrap();
    let nodes = snapshot.columns().alive().clone();
    let mut verdicts = Verdicts::default();
    filter.filter_range(&h, &nodes, &mut verdicts);
    let mut at_once: Vec<_> = verdicts
        .refused()
        .map(|(node, status)| (node, verdicts.statuses()[status as usize].clone()))
        .collect();
    at_once.sort_by_key(|(node, _)| *node);
    let one_by_one: Vec<_> =
        snapshot.nodes().filter_map(|node| Some((node.id(), filter.filter(&h, node).err()?))).collect();
    assert_eq!(at_once, one_by_one);
    for node in snapshot.nodes() {
        let mut violations = Vec::new();
        filter.violations(&h, node, &mut violations);
        let refused = one_by_one.iter().any(|(id, _)| *id == node.id());
        assert_eq!(violations.is_empty(), !refused, "{violations:?}");
    }
    Ok(one_by_one.len())
}

#[test]
fn nodes_are_refused_alike_one_by_one_and_all_at_once() {
    let framework = framework();
    let plugin = framework.plugin(PluginId(0)).unwrap();
    let (mut some, mut refused_pods) = (0, 0);
    for seed in 0..300 {
        let mut r = Random(seed);
        let mut snapshot = Snapshot::default();
        for (key, index) in plugin.indexes() {
            snapshot.add_index(key, index);
        }
        for at in 0..70 {
            let mut made = node(&format!("n{}", at % 20 + 20 * (at / 20)));
            if !r.one_in(5) {
                made = made.zone(r.of(&["a", "b", "c"]));
            }
            if r.one_in(2) {
                made = made.label("disk", r.of(&["ssd", "hdd"]));
            }
            if r.one_in(3) {
                made = made.label("rank", &r.below(9).to_string());
            }
            see(&mut snapshot, made.object());
        }
        fixed(&mut r).into_iter().for_each(|object| see(&mut snapshot, read(object)));
        for at in 0..12 {
            let claim = claim(&mut r, at);
            see(&mut snapshot, read(claim));
        }
        for _ in 0..40 {
            change(&mut r, &mut snapshot);
        }
        for turn in 0..6 {
            let pod = user(&mut r);
            if turn % 2 == 1 {
                let mut wants: Vec<Want> = Vec::new();
                plugin.wants(&pod, &snapshot, &mut wants);
                snapshot.want(&wants);
            }
            match decide(&framework, &snapshot, &pod) {
                Ok(refused) => some += usize::from(refused > 0 && refused < 70),
                Err(_) => refused_pods += 1,
            }
            for _ in 0..4 {
                change(&mut r, &mut snapshot);
            }
        }
        let index = |snapshot: &Snapshot| snapshot.index::<VolumeIndex>(&VolumeIndex::key()).cloned();
        let kept = index(&snapshot);
        snapshot.rebuild_indexes();
        assert_eq!(index(&snapshot), kept, "seed {seed}");
    }
    assert!(some > 200 && refused_pods > 100, "{some} {refused_pods}");
}

/// A volume or capacity comes, changes, is assumed otherwise, or goes.
fn change(r: &mut Random, snapshot: &mut Snapshot) {
    let at = r.below(40);
    let made = if r.one_in(3) { capacity(r, at) } else { volume(r, at) };
    let Object::Other(object) = read(made) else { return };
    let key = object.key();
    let by = pod("binding").build().key.clone();
    match r.below(8) {
        0 => snapshot.apply(Change::ObjectGone { key: ObjectKey { uid: Symbol::default(), ..key } }),
        1 => snapshot.apply(Change::Assumed { key, with: object, by }),
        2 => snapshot.apply(Change::Unassumed { key, by }),
        _ => snapshot.apply(Change::ObjectSeen { object }),
    }
}
