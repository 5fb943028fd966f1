//! Cases of upstream's rules, and the index against its definition.

use super::super::trial::{Trial, map, object};
use super::*;
use bayplan_framework::{ActionType, ClusterEvent, EventObjects, EventResource, Tree};
use bayplan_model::testing::{PodMaker, node, pod};
use bayplan_model::{Change, Object, Placement, PodInfo, Symbol};
use serde_json::{Value, json};

const FULL: &str = "Unschedulable: node(s) exceed max volume count";

fn claim(name: &str, spec: Value) -> Object {
    let metadata = json!({"name": name, "namespace": "default"});
    object(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}))
}

fn bound(name: &str, volume: &str) -> Object {
    claim(name, json!({"volumeName": volume}))
}

fn volume(name: &str, source: Value) -> Object {
    object(
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": source}),
    )
}

fn csi(name: &str, handle: &str) -> Object {
    volume(name, json!({"csi": {"driver": "d", "volumeHandle": handle}}))
}

fn class(name: &str, provisioner: &str) -> Object {
    let mode = "WaitForFirstConsumer";
    object(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    }))
}

fn csi_node(name: &str, drivers: &[(&str, Option<i64>)]) -> Object {
    let driver = |(name, limit): &(&str, Option<i64>)| match limit {
        Some(count) => json!({"name": name, "nodeID": "n", "allocatable": {"count": count}}),
        None => json!({"name": name, "nodeID": "n"}),
    };
    let drivers: Vec<Value> = drivers.iter().map(driver).collect();
    object(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }))
}

fn attachment(name: &str, node: &str, volume: &str) -> Object {
    object(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name},
        "spec": {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": volume}},
    }))
}

fn using(name: &str, claims: &[&str]) -> PodMaker {
    let volume = |claim: &&str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    pod(name).set("spec.volumes", claims.iter().map(volume).collect())
}

fn refused(objects: Vec<Object>, pod: PodMaker) -> std::collections::BTreeMap<String, String> {
    Trial::of("NodeVolumeLimits", objects).refused(&pod.build())
}

#[test]
fn volumes_count_once_and_only_against_a_limit() {
    let objects = |limit: Option<i64>| {
        vec![
            node("n").object(),
            node("free").object(),
            csi_node("n", &[("d", limit)]),
            csi("v1", "h1"),
            csi("v2", "h2"),
            bound("c1", "v1"),
            bound("c2", "v2"),
            using("used", &["c1"]).on("n").object(),
        ]
    };
    assert_eq!(refused(objects(Some(1)), using("p", &["c2"])), map([("n", FULL)]));
    assert_eq!(refused(objects(Some(1)), using("p", &["c1"])), map::<&str, _>([]));
    assert_eq!(refused(objects(Some(2)), using("p", &["c1", "c2"])), map::<&str, _>([]));
    assert_eq!(refused(objects(Some(0)), using("p", &["c2"])), map([("n", FULL)]));
    assert_eq!(refused(objects(None), using("p", &["c2"])), map::<&str, _>([]));
    let trial = Trial::of("NodeVolumeLimits", objects(Some(1)));
    let said = trial.violation_texts(&using("p", &["c2"]).build(), "n");
    assert_eq!(said, ["driver d: needs 1 more, has 1 of 1 attached"]);
    let missing =
        "UnschedulableAndUnresolvable: looking up PVC default/c3: persistentvolumeclaim \"c3\" not found";
    assert_eq!(refused(objects(Some(1)), using("p", &["c3"])), map([("n", missing), ("free", missing)]));
}

/// Worked case 12: a volume that is attached and that no pod uses counts as used and as new.
#[test]
fn attached_volumes_that_no_pod_uses_count() {
    let objects = |limit: i64| {
        vec![
            node("n").object(),
            csi_node("n", &[("d", Some(limit))]),
            csi("v1", "h1"),
            csi("v2", "h2"),
            bound("c1", "v1"),
            bound("c2", "v2"),
            using("used", &["c2"]).on("n").object(),
            attachment("a1", "n", "v1"),
            attachment("a2", "n", "v2"),
            attachment("other", "m", "v2"),
            attachment("unknown", "n", "v9"),
        ]
    };
    assert_eq!(refused(objects(2), using("p", &["c1"])), map([("n", FULL)]));
    assert_eq!(refused(objects(3), using("p", &["c1"])), map::<&str, _>([]));
}

#[test]
fn claims_without_volume_count_for_their_class() {
    let objects = |provisioner: &str| {
        vec![
            node("n").object(),
            csi_node("n", &[("d", Some(1)), ("ebs.csi.aws.com", Some(1))]),
            class("fast", provisioner),
            claim("c1", json!({"storageClassName": "fast"})),
            claim("c2", json!({"storageClassName": "fast", "volumeName": "missing"})),
            claim("c3", json!({})),
            using("used", &["c1"]).on("n").object(),
        ]
    };
    for provisioner in ["d", "kubernetes.io/aws-ebs"] {
        assert_eq!(refused(objects(provisioner), using("p", &["c1"])), map::<&str, _>([]));
        assert_eq!(refused(objects(provisioner), using("p", &["c2"])), map([("n", FULL)]));
        assert_eq!(refused(objects(provisioner), using("p", &["c3"])), map::<&str, _>([]));
    }
    // Azure files are left to another plugin.
    assert_eq!(refused(objects("kubernetes.io/azure-file"), using("p", &["c2"])), map::<&str, _>([]));
}

#[test]
fn in_tree_volumes_count_for_their_driver_where_there_is_a_csi_node() {
    let inline = |name: &str, disk: &str| {
        let disk = json!({"name": "disk", "gcePersistentDisk": {"pdName": disk, "readOnly": true}});
        pod(name).set("spec.volumes", json!([disk]))
    };
    let objects = || {
        vec![
            node("n").object(),
            node("bare").object(),
            csi_node("n", &[("pd.csi.storage.gke.io", Some(1))]),
            inline("used", "d1").on("n").object(),
            inline("there", "d1").on("bare").object(),
        ]
    };
    assert_eq!(refused(objects(), inline("p", "d2")), map([("n", FULL)]));
    assert_eq!(refused(objects(), inline("p", "d1")), map::<&str, _>([]));
    // A volume of a claim is named by its zone, so that one disk may count twice.
    let of_claim = [volume("v", json!({"gcePersistentDisk": {"pdName": "d1"}})), bound("c", "v")];
    let objects: Vec<Object> = objects().into_iter().chain(of_claim).collect();
    assert_eq!(refused(objects, using("p", &["c"])), map::<&str, _>([]));
}

#[test]
fn what_cannot_be_counted_is_an_error() {
    let azure = json!([{"name": "disk", "azureDisk": {"diskName": "d", "diskURI": "/d", "kind": "Shared"}}]);
    let objects = || vec![node("n").object(), node("bare").object(), csi_node("n", &[("d", Some(1))])];
    let text = "Error: running \"NodeVolumeLimits\" filter plugin: converting volume(disk) from inline to csi: kind(Shared) is not supported in csi migration";
    let broken = || pod("broken").set("spec.volumes", azure.clone());
    assert_eq!(refused(objects(), broken()), map([("n", text)]));
    // So is a pod on the node.
    let with = |more: Vec<Object>| {
        let all = [csi("v1", "h1"), bound("c1", "v1")].into_iter().chain(more);
        objects().into_iter().chain(all).collect::<Vec<Object>>()
    };
    assert_eq!(refused(with(vec![broken().on("n").object()]), using("p", &["c1"])), map([("n", text)]));
    let ephemeral = || pod("e").set("spec.volumes", json!([{"name": "v", "ephemeral": {}}]));
    let other = || claim("e-v", json!({"volumeName": "v1"}));
    let text = "Error: running \"NodeVolumeLimits\" filter plugin: PVC default/e-v was not created for pod default/e (pod is not owner)";
    assert_eq!(refused(with(vec![other()]), ephemeral()), map([("n", text), ("bare", text)]));
    let placed = vec![other(), ephemeral().on("n").object()];
    assert_eq!(refused(with(placed), using("p", &["c1"])), map([("n", text)]));
}

/// Worked case 13: a limit that comes wakes pods, a limit that goes does not.
#[test]
fn limits_that_rise_wake_pods() {
    let trial = Trial::of("NodeVolumeLimits", vec![node("n").object()]);
    let pending = using("p", &["c"]).build();
    let other = |object: Object| match object {
        Object::Other(object) => object,
        _ => panic!("a kind of the table"),
    };
    let event = |resource, action, old: Option<Object>, new: Option<Object>| {
        let objects = EventObjects::Object { old: old.map(other), new: new.map(other) };
        ClusterEvent::of(resource, action, objects)
    };
    let changed = |old: Option<i64>, new: Option<i64>| {
        let of = |limit| Some(csi_node("n", &[("d", limit)]));
        trial.helps(&pending, &event(EventResource::CsiNode, ActionType::UPDATE_OTHER, of(old), of(new)))
    };
    assert!(!changed(Some(2), None) && changed(None, Some(1)) && changed(Some(1), Some(2)));
    assert!(!changed(Some(2), Some(1)) && !changed(Some(1), Some(1)));
    let added = |name: &str| {
        let new = Some(bound(name, "v"));
        trial.helps(&pending, &event(EventResource::PersistentVolumeClaim, ActionType::ADD, None, new))
    };
    assert!(added("c") && !added("d"));
    let ephemeral = pod("e").set("spec.volumes", json!([{"name": "v", "ephemeral": {}}])).build();
    let detached = |pod: &Arc<PodInfo>| {
        let old = Some(attachment("a", "n", "v"));
        trial.helps(pod, &event(EventResource::VolumeAttachment, ActionType::DELETE, old, None))
    };
    assert!(detached(&pending) && !detached(&ephemeral));
    let gone = |pod: PodMaker| {
        let objects = EventObjects::Pod { old: Some(pod.build()), new: None };
        trial.helps(&pending, &ClusterEvent::of(EventResource::AssignedPod, ActionType::DELETE, objects))
    };
    assert!(gone(using("q", &["x"]).on("m")) && !gone(using("q", &["x"])) && !gone(pod("q").on("m")));
}

#[test]
fn a_driver_may_demand_to_be_on_the_node() {
    let driver = |demands: bool| {
        object(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"},
            "spec": {"preventPodSchedulingIfMissing": demands},
        }))
    };
    let check = |scaling: bool, demands: bool| {
        let objects = vec![
            node("bare").object(),
            node("other").object(),
            node("has").object(),
            csi_node("other", &[("e", None)]),
            csi_node("has", &[("d", None)]),
            csi("v", "h"),
            bound("c", "v"),
            driver(demands),
        ];
        let features = Features::default().with(Gate::VolumeLimitScaling, scaling);
        let Ok(plugin) = new(&Tree::default(), features) else { panic!("no arguments") };
        Trial::with(plugin, objects).refused(&using("p", &["c"]).build())
    };
    let text = "Unschedulable: d CSI driver is not installed on the node";
    assert_eq!(check(true, true), map([("bare", text), ("other", text)]));
    assert_eq!((check(true, false), check(false, true)), (map::<&str, _>([]), map::<&str, _>([])));
}

/// The index after random changes against one made anew, and the filter over ranges against the definition.
#[test]
fn the_index_is_as_if_made_anew() {
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let nodes = ["a", "b", "c"];
    let mut trial = Trial::of("NodeVolumeLimits", nodes.map(|name| node(name).object()).to_vec());
    let claims = ["c0", "c1", "c2", "c3"];
    let seen = |object: Object| match object {
        Object::Other(object) => Change::ObjectSeen { object },
        Object::Node(node) => Change::NodeUpserted { node },
        _ => panic!("a node or a kind of the table"),
    };
    for round in 0..600 {
        let place = nodes[next(3)];
        let object = match next(9) {
            0 => csi_node(
                place,
                &[("d", [None, Some(0), Some(1), Some(2)][next(4)]), ("e", [None, Some(1)][next(2)])],
            ),
            1 => claim(
                claims[next(4)],
                json!({"volumeName": (["", "v0", "v1", "v2"][next(4)]), "storageClassName": "s"}),
            ),
            2 => csi(["v0", "v1", "v2"][next(3)], ["h0", "h1"][next(2)]),
            3 => class("s", ["d", "e", "kubernetes.io/azure-file"][next(3)]),
            4 => attachment(["t0", "t1", "t2"][next(3)], place, ["v0", "v1", "v2"][next(3)]),
            5 => node(place).label("round", &round.to_string()).object(),
            _ => {
                let mut maker = using(["p0", "p1", "p2", "p3"][next(4)], &[claims[next(4)], claims[next(4)]]);
                if next(8) == 0 {
                    maker = maker.set("spec.volumes", json!([{"name": "v", "ephemeral": {}}]));
                }
                let pod = maker.build();
                let snapshot = trial.snapshot();
                match next(4) {
                    0 => snapshot.apply(Change::PodRemoved { pod: pod.key.clone() }),
                    1 => snapshot.apply(Change::PodPending { pod }),
                    _ => {
                        let node = snapshot.row_or_placeholder(&Symbol::new(place));
                        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
                    }
                }
                continue;
            }
        };
        let gone = next(4) == 0;
        let change = match (&object, gone) {
            (Object::Node(node), true) => Change::NodeRemoved { name: node.name.clone() },
            (Object::Other(object), true) => Change::ObjectGone { key: object.key() },
            _ => seen(object),
        };
        trial.snapshot().apply(change);
        let snapshot = trial.snapshot();
        let mut fresh = AttachedVolumes::default();
        fresh.rebuild(snapshot);
        let kept = snapshot.try_index::<AttachedVolumes>(&AttachedVolumes::key()).unwrap();
        assert!(kept.is_like(&fresh), "round {round}: {kept:#?}\n{fresh:#?}");
        // `refused` compares the filter over ranges with the definition.
        trial.refused(&using("p", &[claims[next(4)], claims[next(4)]]).build());
    }
}
