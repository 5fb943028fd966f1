//! Cases of upstream's rules, and the index against its definition.

use super::*;
use crate::trial::{Trial, map, object};
use bayplan_framework::EventObjects;
use bayplan_model::testing::{node, pod};
use bayplan_model::{Change, Object, Placement};
use serde_json::{Value, json};

fn with(name: &str, namespace: &str, source: Value) -> bayplan_model::testing::PodMaker {
    let mut volume = source;
    volume["name"] = json!("data");
    pod(name).namespace(namespace).set("spec.volumes", json!([volume]))
}

fn claim(namespace: &str, name: &str, mode: &str) -> Object {
    let metadata = json!({"name": name, "namespace": namespace});
    let spec = json!({"accessModes": [mode], "volumeName": "v"});
    object(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}))
}

fn claiming(name: &str, namespace: &str) -> bayplan_model::testing::PodMaker {
    with(name, namespace, json!({"persistentVolumeClaim": {"claimName": "data"}}))
}

fn deleted(pod: Arc<PodInfo>) -> ClusterEvent {
    let objects = EventObjects::Pod { old: Some(pod), new: None };
    ClusterEvent::of(EventResource::AssignedPod, ActionType::DELETE, objects)
}

#[test]
fn a_disk_in_use_refuses_unless_all_only_read() {
    let refused = |used: Value, wanted: Value| {
        let used = with("used", "default", used).on("a").object();
        let trial = Trial::of("VolumeRestrictions", vec![node("a").object(), node("b").object(), used]);
        let found = trial.refused(&with("p", "default", wanted).build());
        assert!(found.is_empty() || found == map([("a", format!("Unschedulable: {DISK}"))]), "{found:?}");
        !found.is_empty()
    };
    let gce = |reads: bool| json!({"gcePersistentDisk": {"pdName": "d", "readOnly": reads}});
    assert!(
        refused(gce(false), gce(true)) && refused(gce(true), gce(false)) && !refused(gce(true), gce(true))
    );
    let ebs = |id: &str| json!({"awsElasticBlockStore": {"volumeID": id, "readOnly": true}});
    assert!(refused(ebs("a"), ebs("a")) && !refused(ebs("a"), ebs("b")));
    let iscsi = |lun: i32| json!({"iscsi": {"targetPortal": "p", "iqn": "i", "lun": lun}});
    assert!(refused(iscsi(1), iscsi(2)));
    let rbd =
        |monitors: &[&str], pool: &str| json!({"rbd": {"monitors": monitors, "pool": pool, "image": "i"}});
    assert!(refused(rbd(&["a", "b"], "p"), rbd(&["c", "b"], "p")));
    assert!(!refused(rbd(&["a"], "p"), rbd(&["b"], "p")) && !refused(rbd(&["a"], "p"), rbd(&["a"], "q")));
    // An image is in the pool `rbd` unless it says otherwise; other kinds of disks never conflict.
    assert!(!refused(gce(false), ebs("d")));
}

/// Worked case 14: disks conflict across namespaces, but the end of a pod of another namespace wakes none.
#[test]
fn disks_conflict_across_namespaces() {
    let disk = |reads: bool| json!({"gcePersistentDisk": {"pdName": "d", "readOnly": reads}});
    let other = with("used", "b", disk(false)).on("n");
    let trial = Trial::of("VolumeRestrictions", vec![node("n").object(), other.object()]);
    let pending = with("p", "a", disk(true)).build();
    assert_eq!(trial.refused(&pending), map([("n", format!("Unschedulable: {DISK}"))]));
    assert_eq!(
        trial.violation_texts(&pending, "n"),
        [
            "volume data (gcePersistentDisk): needs a disk that no other pod on the node excludes, has in use by b/used"
        ]
    );
    assert!(!trial.helps(&pending, &deleted(with("used", "b", disk(false)).on("n").build())));
    assert!(trial.helps(&pending, &deleted(with("used", "a", disk(false)).on("n").build())));
}

/// Worked case 8: a claim that does not exist.
#[test]
fn a_missing_claim_refuses_the_pod_until_it_comes() {
    let trial = Trial::of("VolumeRestrictions", vec![node("n").object()]);
    let pending = claiming("p", "a").build();
    let text = "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" not found";
    assert_eq!(trial.refused(&pending), map([("*", text)]));
    let added = |namespace: &str| {
        let Object::Other(claim) = claim(namespace, "data", "ReadWriteOnce") else { panic!("a claim") };
        let objects = EventObjects::Object { old: None, new: Some(claim) };
        ClusterEvent::of(EventResource::PersistentVolumeClaim, ActionType::ADD, objects)
    };
    assert!(trial.helps(&pending, &added("a")) && !trial.helps(&pending, &added("b")));
}

/// Worked case 15: the end of a pod with an equally named claim of another namespace lowers the counter.
#[test]
fn a_claim_for_a_single_pod_refuses_every_node_while_a_pod_uses_it() {
    let objects = || {
        vec![
            node("n1").object(),
            node("n2").object(),
            claim("a", "data", READ_WRITE_ONCE_POD),
            claim("b", "data", READ_WRITE_ONCE_POD),
            claiming("user", "a").on("n1").object(),
            claiming("w", "b").on("n2").object(),
        ]
    };
    let mut trial = Trial::of("VolumeRestrictions", objects());
    let pending = claiming("p", "a").build();
    let text = format!("Unschedulable: {CLAIM}");
    assert_eq!(trial.refused(&pending), map([("n1", text.clone()), ("n2", text)]));
    assert_eq!(
        trial.violation_texts(&pending, "n2"),
        ["claim a/data (ReadWriteOncePod): needs no other pod that uses it, has in use by a/user on node n1"]
    );
    let state = State { claims: Box::from([Symbol::new("data")]), in_use: 1 };
    let mut slot = StateSlot::default();
    slot.put(state.clone());
    change(&mut slot, &claiming("w", "b").build(), -1);
    assert_eq!(slot.get::<State>().unwrap().in_use, 0);
    change(&mut slot, &claiming("w", "b").build(), 1);
    assert_eq!(slot.get::<State>(), Some(&state));
    // Pods on nodes that are gone do not count; neither do claims with another mode.
    trial.snapshot().apply(Change::NodeRemoved { name: Symbol::new("n1") });
    assert_eq!(trial.refused(&pending), map::<&str, _>([]));
    let shared = objects().into_iter().filter(|object| object.key().namespace != "a");
    let shared = shared.chain([claim("a", "data", "ReadWriteOnce"), claiming("user", "a").on("n2").object()]);
    assert_eq!(Trial::of("VolumeRestrictions", shared.collect()).refused(&pending), map::<&str, _>([]));
}

#[test]
fn the_index_is_as_if_made_anew() {
    let mut trial = Trial::of("VolumeRestrictions", vec![node("a").object(), node("b").object()]);
    let (mut random, names) = (1u64, ["x", "y", "z"]);
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for _ in 0..300 {
        let source = match next(3) {
            0 => json!({"persistentVolumeClaim": {"claimName": names[next(3) as usize]}}),
            1 => json!({"gcePersistentDisk": {"pdName": names[next(3) as usize]}}),
            _ => json!({"emptyDir": {}}),
        };
        let pod = with(names[next(3) as usize], "a", source).build();
        let snapshot = trial.snapshot();
        match next(4) {
            0 => snapshot.apply(Change::PodRemoved { pod: pod.key.clone() }),
            1 => snapshot.apply(Change::PodPending { pod }),
            _ => {
                let node = snapshot.row_by_name(&Symbol::new(["a", "b"][next(2) as usize])).unwrap();
                snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
            }
        }
        let mut fresh = VolumeUsers::default();
        fresh.rebuild(snapshot);
        assert_eq!(snapshot.try_index::<VolumeUsers>(&VolumeUsers::key()).unwrap(), &fresh);
    }
}
