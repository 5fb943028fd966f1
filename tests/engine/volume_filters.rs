//! VolumeRestrictions, VolumeZone and NodeVolumeLimits on random volumes: nodes are refused alike one by one and all at
//! once, the index is what it would be if it were made anew, and a pod that is taken off a node in a simulation leaves what
//! its end leaves.

use bayplan::framework::{Cycle, Framework, PluginId, Points, Silent, Simulation, Status, Tree, Verdicts};
use bayplan::model::{Change, KindRow, Object, Placement, PodInfo, PodKey, Snapshot, Symbol, Time, Want};
use bayplan::plugins::{self, VolumeUsers};
use bayplan::testing::{Random, node, pod};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const LABELS: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];
const NODES: usize = 70;
const CLAIMS: usize = 8;

fn read(value: Value) -> Object {
    let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
    (row.unwrap().from_value)(Arc::new(value)).unwrap()
}

fn object(r: &mut Random, kind: usize) -> Object {
    let volume = |r: &mut Random| ["", "v0", "v1", "v2", "v3"][r.below(5)];
    let storage = "storage.k8s.io/v1";
    read(match kind {
        0 => {
            let name = format!("c{}", r.below(CLAIMS));
            // One mode for each claim: a claim for a single pod stays one.
            let mode = if name.as_str() < "c3" { "ReadWriteOncePod" } else { "ReadWriteOnce" };
            let spec = json!({"volumeName": volume(r), "storageClassName": r.of(&["wait", "none"]), "accessModes": [mode]});
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": "default"}, "spec": spec})
        }
        1 => {
            let labels: BTreeMap<&str, &str> = LABELS
                .into_iter()
                .filter(|_| r.below(3) == 0)
                .collect::<Vec<_>>()
                .into_iter()
                .map(|key| (key, r.of(&["a", "b", "a__b", "a__"])))
                .collect();
            let mut spec = match r.below(3) {
                0 => json!({"gcePersistentDisk": {"pdName": "d"}}),
                _ => json!({"csi": {"driver": r.of(&["d", "e"]), "volumeHandle": r.of(&["h0", "h1", "h2"])}}),
            };
            spec["capacity"] = json!({"storage": "1Gi"});
            let name = ["v0", "v1", "v2", "v3"][r.below(4)];
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels},
                "spec": spec})
        }
        2 => {
            let drivers: Vec<Value> = ["d", "e", "pd.csi.storage.gke.io"]
                .into_iter()
                .map(|name| match r.below(4) {
                    0 => json!({"name": name}),
                    limit => json!({"name": name, "allocatable": {"count": limit}}),
                })
                .collect();
            let name = format!("n{}", r.below(NODES));
            json!({"apiVersion": storage, "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}})
        }
        3 => {
            let node = format!("n{}", r.below(NODES));
            json!({"apiVersion": storage, "kind": "VolumeAttachment", "metadata": {"name": format!("a{}", r.below(90))},
                "spec": {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": "v1"}}})
        }
        _ => json!({"apiVersion": storage, "kind": "StorageClass", "metadata": {"name": "wait"},
            "provisioner": r.of(&["d", "kubernetes.io/gce-pd"]), "volumeBindingMode": "WaitForFirstConsumer"}),
    })
}

fn user(r: &mut Random, name: &str, claims: usize) -> Arc<PodInfo> {
    let volumes: Vec<Value> = (0..r.below(3))
        .map(|at| {
            let mut volume = match r.below(5) {
                0 => json!({"gcePersistentDisk": {"pdName": r.of(&["x", "y"]), "readOnly": r.one_in(2)}}),
                1 => json!({"rbd": {"monitors": [r.of(&["m", "n"]), "o"], "pool": "p", "image": r.of(&["i", "j"])}}),
                _ => json!({"persistentVolumeClaim": {"claimName": format!("c{}", claims + r.below(CLAIMS - claims))}}),
            };
            volume["name"] = json!(format!("data-{at}"));
            volume
        })
        .collect();
    pod(name).set("spec.volumes", volumes.into()).build()
}

fn see(snapshot: &mut Snapshot, object: Object) {
    match object {
        Object::Node(node) => snapshot.apply(Change::NodeUpserted { node }),
        Object::Other(object) => snapshot.apply(Change::ObjectSeen { object }),
        _ => panic!("a node or a kind of the table"),
    }
}

fn place(snapshot: &mut Snapshot, r: &mut Random, pod: Arc<PodInfo>) {
    let node = snapshot.row_or_placeholder(&Symbol::new(&format!("n{}", r.below(NODES))));
    snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
}

/// A pod that alone uses one of the first claims, which are for a single pod.
fn sole_user(r: &mut Random, claim: usize) -> Arc<PodInfo> {
    let volume = json!([{"name": "own", "persistentVolumeClaim": {"claimName": format!("c{claim}")}}]);
    let priority = r.below(3) as i32;
    pod(&format!("sole-{claim}")).priority(priority).set("spec.volumes", volume).build()
}

fn framework() -> Arc<Framework> {
    let registry = plugins::registry();
    let made = ["VolumeRestrictions", "NodeVolumeLimits", "VolumeZone"].map(|name| {
        let made = registry.get(name).unwrap().make(&Tree::default());
        made.unwrap().unwrap_or_else(|_| panic!("{name} takes no arguments"))
    });
    let ids: Vec<PluginId> = (0..made.len() as u16).map(PluginId).collect();
    let points = Points { pre_filter: ids.clone(), filter: ids, ..Points::default() };
    Arc::new(Framework::new(Symbol::new("default-scheduler"), made.to_vec(), points))
}

fn cluster(r: &mut Random, framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    if r.one_in(2) {
        snapshot.want(&LABELS.map(|key| Want::Label(Symbol::new(key))));
    }
    for at in 0..NODES {
        let mut made = node(&format!("n{at}"));
        for key in LABELS {
            if r.below(3) == 0 {
                made = made.label(key, r.of(&["a", "b", "c"]));
            }
        }
        see(&mut snapshot, made.object());
    }
    for at in 0..500 {
        match r.below(4) {
            0 | 1 => {
                let kind = [0, 1, 2, 2, 3, 3, 4][r.below(7)];
                let object = object(r, kind);
                see(&mut snapshot, object);
            }
            2 => {
                let name = format!("p{}", r.below(90));
                let pod = user(r, &name, 3);
                place(&mut snapshot, r, pod);
            }
            _ if at % 5 == 0 => {
                let name = format!("p{}", r.below(90));
                snapshot.apply(Change::PodRemoved { pod: pod(&name).build().key.clone() });
            }
            _ => {
                let pod = sole_user(r, at % 3);
                place(&mut snapshot, r, pod);
            }
        }
    }
    snapshot
}

/// Whether a pod passes all filters on a node; a refusal or an error is its status.
fn passes(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    on: &str,
) -> Result<(), Status> {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    framework.run_pre_filter(&mut cycle, snapshot, &mut Silent)?;
    let row = snapshot.row_by_name(&Symbol::new(on)).unwrap();
    framework.filter_node(cycle.handle(snapshot), snapshot.node(row).unwrap())
}

#[test]
fn nodes_are_refused_alike_one_by_one_and_all_at_once() {
    let framework = framework();
    let (mut refused, mut asked) = (0, 0);
    for seed in 0..40 {
        let mut r = Random(seed);
        let snapshot = cluster(&mut r, &framework);
        let mut fresh = VolumeUsers::default();
        bayplan::model::Index::rebuild(&mut fresh, &snapshot);
        assert_eq!(snapshot.try_index::<VolumeUsers>(&VolumeUsers::key()).unwrap(), &fresh);
        for _ in 0..8 {
            let pod = user(&mut r, "pending", 0);
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
            if framework.run_pre_filter(&mut cycle, &snapshot, &mut Silent).is_err() {
                continue;
            }
            let nodes = snapshot.columns().alive().clone();
            for id in framework.filters(&cycle.state).collect::<Vec<_>>() {
                let filter = framework.plugin(id).and_then(|plugin| plugin.filter()).unwrap();
                let handle = cycle.handle(&snapshot).for_plugin(id);
                let mut verdicts = Verdicts::default();
                filter.filter_range(&handle, &nodes, &mut verdicts);
                let by_range: BTreeMap<usize, &Status> = verdicts
                    .refused()
                    .map(|(node, status)| (node.row(), &verdicts.statuses()[status as usize]))
                    .collect();
                for node in snapshot.nodes() {
                    let alone = filter.filter(&handle, node);
                    let what = framework.plugin_name(id);
                    assert_eq!(
                        by_range.get(&node.id().row()).copied(),
                        alone.as_ref().err(),
                        "{seed} {what}"
                    );
                    let mut violations = Vec::new();
                    filter.violations(&handle, node, &mut violations);
                    assert_eq!(violations.is_empty(), alone.is_ok(), "{seed} {what}");
                    (asked, refused) = (asked + 1, refused + usize::from(alone.is_err()));
                }
            }
        }
    }
    assert!(asked > 20_000 && refused > 1_500, "{refused} of {asked}");
}

#[test]
fn a_pod_that_is_taken_off_a_node_leaves_what_its_end_leaves() {
    let framework = framework();
    let (mut helped, mut tried) = (0, 0);
    for seed in 0..60 {
        let mut r = Random(seed);
        let snapshot = cluster(&mut r, &framework);
        let claim = r.below(3);
        let mut pod = user(&mut r, "pending", 3);
        if r.one_in(2) {
            let volume =
                json!([{"name": "own", "persistentVolumeClaim": {"claimName": format!("c{claim}")}}]);
            pod = bayplan::testing::pod("pending").set("spec.volumes", volume).build();
        }
        let placed: Vec<(PodKey, usize)> = {
            let pods = snapshot.pods().filter_map(|of| Some((of.pod.key.clone(), of.placed?.0.row())));
            let mut pods: Vec<_> = pods.collect();
            pods.sort();
            pods
        };
        for (key, row) in placed {
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
            if framework.run_pre_filter(&mut cycle, &snapshot, &mut Silent).is_err() {
                break;
            }
            let row = bayplan::model::NodeId::from_row(row);
            let node = snapshot.node(row).unwrap();
            let other = snapshot.pod(&key).unwrap().pod.clone();
            let before = framework.filter_node(cycle.handle(&snapshot), node);
            let mut simulation = Simulation::new(&*framework, cycle.handle(&snapshot), node);
            simulation.remove_pod(&other).unwrap();
            let without = simulation.passes();
            simulation.add_pod(&other).unwrap();
            assert_eq!(simulation.passes(), before, "{seed} {}", other.name);
            let mut changed = snapshot.fork();
            changed.apply(Change::PodRemoved { pod: key });
            assert_eq!(without, passes(&framework, &changed, &pod, node.name()), "{seed} {}", other.name);
            (tried, helped) = (tried + 1, helped + usize::from(before.is_err() && without.is_ok()));
        }
    }
    assert!(tried > 1_000 && helped > 20, "{helped} of {tried}");
}
