//! VolumeBinding through the whole scheduler, with an API server and a volume controller in memory. The numbered cases
//! are worked out by hand from the rules of kube-scheduler 1.36.

use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::dry_run::{Api, Provisioning, VolumeController, WatchEvent};
use bayplan::framework::{ApiCall, PatchBody};
use bayplan::model::{
    Duration, Kind, KindRow, Object, ObjectKey, PersistentVolume, PersistentVolumeClaim, Symbol, Time, Typed,
    downcast,
};
use bayplan::plugins;
use bayplan::scheduler::{self, DecisionRecord, Effect, Input, Profiles, RecordLevel, Scheduler};
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_CAPACITY: &str = "node(s) did not have enough free storage";
const GONE: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Who acts beside the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Controller {
    /// Binds and provisions at once.
    Works,
    /// Every provisioning fails.
    Fails,
    /// No controller.
    Absent,
}

struct Lab {
    scheduler: Scheduler,
    server: Api,
    volumes: VolumeController,
    controller: Controller,
    seen: usize,
    now: Time,
    events: Vec<String>,
    records: Vec<DecisionRecord>,
    patches: Vec<(ObjectKey, PatchBody)>,
}

/// Profiles with the plugins that this file is about. `timeout`: `bindTimeoutSeconds`.
fn profiles(timeout: i64) -> Arc<Profiles> {
    let off: Vec<Value> =
        ["VolumeRestrictions", "NodeVolumeLimits", "VolumeZone", "DynamicResources", "DefaultPreemption"]
            .map(|name| json!({"name": name}))
            .to_vec();
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{
            "plugins": {"multiPoint": {"disabled": off}},
            "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": timeout}}],
        }],
    });
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let frameworks = config.frameworks(&plugins::registry(), id).unwrap().frameworks;
    Arc::new(Profiles { frameworks, revision: 1 })
}

impl Lab {
    fn new(controller: Controller, timeout: i64, objects: Vec<Value>) -> Self {
        let options = scheduler::Options { records: RecordLevel::Nodes, ..scheduler::Options::default() };
        let mut lab = Self {
            scheduler: Scheduler::new(options),
            server: Api::new(),
            volumes: VolumeController::default(),
            controller,
            seen: 0,
            now: Time(1_767_614_400_000_000),
            events: Vec::new(),
            records: Vec::new(),
            patches: Vec::new(),
        };
        lab.step(Input::Profiles(profiles(timeout)));
        lab.step(Input::Lead(true));
        objects.into_iter().for_each(|object| lab.put(object));
        lab.watch();
        lab.step(Input::Synced);
        lab.settle();
        lab
    }

    fn put(&mut self, value: Value) {
        let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
        self.server.put((row.expect("a row").from_value)(Arc::new(value)).unwrap());
    }

    fn put_object<T: Typed + Clone>(&mut self, object: T) {
        self.server.put(Object::Other(Arc::new(object)));
    }

    fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        let (namespace, name, uid) = (namespace.into(), name.into(), "".into());
        assert!(self.server.delete(&ObjectKey { kind, namespace, name, uid }));
    }

    fn get<T: Typed + Clone>(&self, namespace: &str, name: &str) -> T {
        let (namespace, name, uid) = (namespace.into(), name.into(), "".into());
        match self.server.get(&ObjectKey { kind: T::KIND, namespace, name, uid }) {
            Some(Object::Other(object)) => downcast::<T>(object.as_ref()).unwrap().clone(),
            other => panic!("{other:?}"),
        }
    }

    fn volume(&self, name: &str) -> PersistentVolume {
        self.get("", name)
    }

    fn claim(&self, name: &str) -> PersistentVolumeClaim {
        self.get("default", name)
    }

    fn watch(&mut self) {
        match self.controller {
            Controller::Works => self.volumes.act(&mut self.server),
            Controller::Fails => {
                self.volumes.watch(&mut self.server);
                for claim in self.volumes.open().clone() {
                    self.volumes.sync(&mut self.server, &claim, Provisioning::Fails);
                }
            }
            Controller::Absent => {}
        }
        while let Some((_, event)) = self.server.log().get(self.seen).cloned() {
            self.seen += 1;
            self.step(match event {
                WatchEvent::Upserted(object) => Input::Upserted(object),
                WatchEvent::Deleted(key) => Input::Deleted(key),
            });
        }
    }

    fn step(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut out = Vec::new();
            self.scheduler.step(input, self.now, &mut out);
            for effect in out {
                match effect {
                    Effect::Call(ticket, call) => {
                        if let ApiCall::Patch { of, body, .. } = &call {
                            self.patches.push((of.clone(), body.clone()));
                        }
                        inputs.push_back(Input::Reply(ticket, self.server.answer(&call, self.now, None)));
                    }
                    Effect::Event(event) => self.events.push(format!("{} {}", event.reason, event.note)),
                    Effect::Decided(record) => self.records.push(*record),
                }
            }
        }
    }

    /// Runs attempts until only time can change anything.
    fn settle(&mut self) {
        self.watch();
        for _ in 0..100 {
            if !self.scheduler.wants_cycle() {
                return;
            }
            self.step(Input::Cycle);
            self.watch();
        }
        panic!("no rest");
    }

    fn wait(&mut self, seconds: i64) {
        self.now = self.now + Duration::from_seconds(seconds);
        self.step(Input::Tick);
        self.settle();
    }

    fn node_of(&self, pod: &str) -> Option<String> {
        self.server.pod("default", pod).unwrap().node_name.as_ref().map(|node| node.to_string())
    }

    /// What the condition of a pod says.
    fn said(&self, pod: &str) -> String {
        let pod = self.server.pod("default", pod).unwrap();
        pod.scheduled_condition.as_ref().map(|condition| condition.2.to_string()).unwrap_or_default()
    }

    /// The reasons of the nodes that the last attempt refused.
    fn refused(&self) -> BTreeMap<String, Vec<String>> {
        let nodes = &self.records.last().unwrap().detail.as_ref().unwrap().nodes;
        let refused = nodes.iter().filter_map(|node| {
            let (_, status) = node.refused.as_ref()?;
            Some((node.name.to_string(), status.reasons().map(str::to_owned).collect()))
        });
        refused.collect()
    }

    fn is_clean(&self) {
        let kept = self.scheduler.snapshot().kept();
        assert_eq!((kept.assumptions, kept.pinned), (0, 0));
        assert!(self.scheduler.bindings().is_empty());
    }
}

fn object(kind: &str, name: &str, more: Value) -> Value {
    let version = if matches!(kind, "StorageClass" | "CSIDriver" | "CSIStorageCapacity" | "CSINode") {
        "storage.k8s.io/v1"
    } else {
        "v1"
    };
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": format!("uid-{name}")}});
    for (path, value) in more.as_object().unwrap() {
        let place = path.split('.').fold(&mut object, |place, part| &mut place[part]);
        *place = value.clone();
    }
    object
}

/// A volume of class `wait` that is available everywhere.
fn volume(name: &str, size: &str, more: Value) -> Value {
    let mut volume = object(
        "PersistentVolume",
        name,
        json!({"spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "wait"},
            "status": {"phase": "Available"}}),
    );
    for (key, value) in more.as_object().unwrap() {
        let place = key.split('.').fold(&mut volume, |place, part| &mut place[part]);
        *place = value.clone();
    }
    volume
}

/// A claim of class `wait`.
fn claim(name: &str, size: &str, more: Value) -> Value {
    let mut claim = object(
        "PersistentVolumeClaim",
        name,
        json!({"spec": {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait"}, "status": {"phase": "Pending"}, "metadata.namespace": "default"}),
    );
    for (key, value) in more.as_object().unwrap() {
        let place = key.split('|').fold(&mut claim, |place, part| &mut place[part]);
        *place = value.clone();
    }
    claim
}

fn bound(name: &str, volume: &str) -> Value {
    claim(
        name,
        "1Gi",
        json!({"spec|volumeName": volume, "status|phase": "Bound",
        "metadata|annotations": {"pv.kubernetes.io/bind-completed": "yes"}}),
    )
}

fn class(name: &str, provisioner: &str, mode: &str, more: Value) -> Value {
    let mut class =
        object("StorageClass", name, json!({"provisioner": provisioner, "volumeBindingMode": mode}));
    for (key, value) in more.as_object().unwrap() {
        class[key] = value.clone();
    }
    class
}

fn waits() -> Value {
    class("wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", json!({}))
}

fn made() -> Value {
    class("wait", "csi.example.com", "WaitForFirstConsumer", json!({}))
}

fn zone(zones: &[&str]) -> Value {
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones}]}]}})
}

/// A pod with these claims.
fn user(name: &str, claims: &[&str]) -> Value {
    let volumes: Vec<Value> = claims
        .iter()
        .map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}))
        .collect();
    pod(name).set("spec.volumes", json!(volumes)).json()
}

fn nodes() -> [Value; 2] {
    [node("n1").zone("a").json(), node("n2").zone("b").json()]
}

fn of(lists: &[&[Value]]) -> Vec<Value> {
    lists.concat()
}

fn reasons(of: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let list = |reasons: &[&str]| reasons.iter().map(|reason| reason.to_string()).collect();
    of.iter().map(|(node, reasons)| (node.to_string(), list(reasons))).collect()
}

#[test]
fn case_1_the_smallest_claim_takes_the_smallest_volume() {
    let volumes =
        [("v8", "8Gi"), ("v10", "10Gi"), ("v20", "20Gi")].map(|(name, size)| volume(name, size, json!({})));
    let claims = [claim("x", "5Gi", json!({})), claim("y", "8Gi", json!({}))];
    let lab = Lab::new(
        Controller::Works,
        600,
        of(&[&nodes(), &[waits()], &volumes, &claims, &[user("p", &["y", "x"])]]),
    );
    assert!(lab.node_of("p").is_some(), "{:?}", lab.said("p"));
    assert_eq!((lab.claim("x").volume.as_str(), lab.claim("y").volume.as_str()), ("v8", "v10"));
    assert!(lab.volume("v8").bound_by_controller && lab.volume("v20").claim.is_none());
    lab.is_clean();
}

#[test]
fn case_2_claims_take_volumes_one_after_another_and_never_give_one_back() {
    let modes = |modes: Value| json!({"spec.accessModes": modes});
    let volumes = [
        volume("p", "8Gi", modes(json!(["ReadWriteOnce", "ReadWriteMany"]))),
        volume("q", "10Gi", modes(json!(["ReadWriteOnce"]))),
    ];
    let claims =
        [claim("x", "5Gi", json!({})), claim("y", "8Gi", json!({"spec|accessModes": ["ReadWriteMany"]}))];
    let lab = Lab::new(
        Controller::Works,
        600,
        of(&[&nodes(), &[waits()], &volumes, &claims, &[user("pod", &["x", "y"])]]),
    );
    assert_eq!(lab.refused(), reasons(&[("n1", &[NO_VOLUME]), ("n2", &[NO_VOLUME])]));
    assert_eq!(lab.said("pod"), format!("0/2 nodes are available: 2 {NO_VOLUME}."));
    assert!(lab.patches.is_empty());
}

#[test]
fn cases_3_and_4_a_volume_that_names_the_claim_is_the_only_one_in_its_class() {
    let named = |class: &str| {
        volume(
            "p",
            "10Gi",
            json!({"status.phase": "Released", "spec.nodeAffinity": zone(&["a"]),
            "spec.storageClassName": class, "spec.claimRef": {"namespace": "default", "name": "c"}}),
        )
    };
    let free = volume("q", "10Gi", json!({}));
    let rest = of(&[&nodes(), &[waits(), free, claim("c", "5Gi", json!({})), user("pod", &["c"])]]);
    // The scheduler is faster than the controller, which needs no pod to bind such a claim.
    let mut lab = Lab::new(Controller::Absent, 600, of(&[&[named("wait")], &rest]));
    assert_eq!(lab.refused(), reasons(&[("n2", &[NO_VOLUME])]));
    lab.controller = Controller::Works;
    lab.settle();
    assert_eq!(lab.node_of("pod").as_deref(), Some("n1"));
    assert_eq!(lab.claim("c").volume.as_str(), "p");
    assert_eq!(lab.volume("p").claim.unwrap().uid.as_str(), "uid-c");
    assert!(!lab.volume("p").bound_by_controller, "it was reserved by its owner");
    // Of another class, it is not seen by the scheduler.
    let lab = Lab::new(Controller::Absent, 600, of(&[&[named("other")], &rest]));
    assert_eq!(lab.refused(), reasons(&[]));
    assert_eq!(lab.patches.iter().map(|(of, _)| of.name.as_str()).collect::<Vec<_>>(), ["q"]);
}

#[test]
fn case_5_a_claim_with_a_selected_node_takes_no_existing_volume() {
    let selected = json!({"metadata|annotations": {"volume.kubernetes.io/selected-node": "n1"}});
    let rest =
        of(&[&nodes(), &[volume("v", "10Gi", json!({})), claim("c", "5Gi", selected), user("pod", &["c"])]]);
    let lab = Lab::new(Controller::Works, 600, of(&[&[waits()], &rest]));
    assert_eq!(lab.refused(), reasons(&[("n1", &[NO_VOLUME]), ("n2", &[NO_VOLUME])]));
    let lab = Lab::new(Controller::Absent, 600, of(&[&[made()], &rest]));
    assert_eq!(lab.refused(), reasons(&[("n2", &[NO_VOLUME])]));
}

#[test]
fn case_6_requirements_on_fields_of_nodes_always_hold() {
    let fields = json!({"required": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]}]}});
    let v = volume("v", "10Gi", json!({"spec.nodeAffinity": fields}));
    let lab = Lab::new(Controller::Works, 600, of(&[&nodes(), &[v, bound("c", "v"), user("pod", &["c"])]]));
    assert_eq!(lab.refused(), reasons(&[]));
    assert!(lab.node_of("pod").is_some());
    assert!(lab.patches.is_empty(), "there is nothing to bind");
}

#[test]
fn case_7_some_capacity_must_hold_each_volume_and_capacities_are_not_summed() {
    let driver = object("CSIDriver", "csi.example.com", json!({"spec": {"storageCapacity": true}}));
    let capacity = |more: Value| {
        let mut capacity = object(
            "CSIStorageCapacity",
            "here",
            json!({"storageClassName": "wait", "capacity": "100Gi", "metadata.namespace": "kube-system",
                "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": "a"}}}),
        );
        for (key, value) in more.as_object().unwrap() {
            capacity[key] = value.clone();
        }
        capacity
    };
    let rest = of(&[&nodes(), &[made(), driver]]);
    let one = [claim("x", "10Gi", json!({})), user("pod", &["x"])];
    let lab = Lab::new(
        Controller::Works,
        600,
        of(&[&rest, &[capacity(json!({"maximumVolumeSize": "5Gi"}))], &one]),
    );
    assert_eq!(lab.refused(), reasons(&[("n1", &[NO_CAPACITY]), ("n2", &[NO_CAPACITY])]));
    let two = [claim("x", "60Gi", json!({})), claim("y", "60Gi", json!({})), user("pod", &["x", "y"])];
    let mut lab = Lab::new(Controller::Works, 600, of(&[&rest, &[capacity(json!({}))], &two]));
    assert_eq!(lab.node_of("pod").as_deref(), Some("n1"));
    assert_eq!(lab.refused(), reasons(&[("n2", &[NO_CAPACITY])]));
    lab.is_clean();
    // A larger capacity wakes a pod, a smaller one does not.
    lab.put(claim("z", "200Gi", json!({})));
    lab.put(user("late", &["z"]));
    lab.settle();
    let tried = lab.records.len();
    lab.put(capacity(json!({"capacity": "50Gi"})));
    lab.wait(60);
    assert_eq!(lab.records.len(), tried);
    lab.put(capacity(json!({"capacity": "300Gi"})));
    lab.wait(60);
    assert_eq!(lab.node_of("late").as_deref(), Some("n1"));
}

#[test]
fn case_8_a_missing_claim_refuses_the_pod_until_it_is_made() {
    let mut lab = Lab::new(Controller::Works, 600, of(&[&nodes(), &[waits(), user("pod", &["c"])]]));
    assert_eq!(lab.said("pod"), "0/2 nodes are available: persistentvolumeclaim \"c\" not found.");
    lab.put(volume("v", "5Gi", json!({})));
    lab.put(claim("other", "5Gi", json!({})));
    lab.wait(60);
    assert_eq!(lab.node_of("pod"), None);
    lab.put(claim("c", "5Gi", json!({})));
    lab.wait(60);
    assert!(lab.node_of("pod").is_some());
}

#[test]
fn case_9_a_bound_volume_that_is_gone_refuses_every_node() {
    let lab = Lab::new(Controller::Absent, 600, of(&[&nodes(), &[bound("c", "v"), user("pod", &["c"])]]));
    assert_eq!(lab.said("pod"), format!("0/2 nodes are available: 2 {GONE}."));
}

#[test]
fn a_node_has_every_reason_in_upstreams_order() {
    let v = volume(
        "v",
        "10Gi",
        json!({"spec.nodeAffinity": zone(&["a"]), "status.phase": "Bound",
            "spec.claimRef": {"namespace": "default", "name": "b", "uid": "uid-b"}}),
    );
    let objects = [v, waits(), bound("b", "v"), claim("c", "5Gi", json!({})), user("pod", &["b", "c"])];
    let lab = Lab::new(Controller::Works, 600, of(&[&nodes(), &objects]));
    assert_eq!(lab.refused(), reasons(&[("n1", &[NO_VOLUME]), ("n2", &[AFFINITY, NO_VOLUME])]));
}

#[test]
fn case_11_a_volume_of_a_migrated_plugin_needs_the_drivers_label() {
    let mut v = volume("v", "10Gi", json!({"spec.awsElasticBlockStore": {"volumeID": "vol-1"}}));
    v["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "a"});
    let mut csi_node = object("CSINode", "n1", json!({"spec": {"drivers": []}}));
    let rest = of(&[&[node("n1").zone("a").json()], &[v, bound("c", "v"), user("pod", &["c"])]]);
    let lab = Lab::new(Controller::Works, 600, of(&[&rest, &[csi_node.clone()]]));
    assert_eq!(lab.node_of("pod").as_deref(), Some("n1"));
    csi_node["metadata"]["annotations"] =
        json!({"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"});
    let mut lab = Lab::new(Controller::Works, 600, of(&[&rest, &[csi_node.clone()]]));
    assert_eq!(lab.refused(), reasons(&[("n1", &[AFFINITY])]));
    csi_node["metadata"]["annotations"] = json!({});
    lab.put(csi_node);
    lab.wait(60);
    assert_eq!(lab.node_of("pod").as_deref(), Some("n1"), "the annotation went");
}

#[test]
fn case_16_a_bind_timeout_of_nought_ends_after_the_writes() {
    let objects =
        [waits(), volume("v", "10Gi", json!({})), claim("c", "5Gi", json!({})), user("pod", &["c"])];
    let mut lab = Lab::new(Controller::Absent, 0, of(&[&nodes(), &objects]));
    let text = "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
    assert_eq!(lab.said("pod"), text);
    assert_eq!(lab.volume("v").claim.unwrap().uid.as_str(), "uid-c");
    lab.is_clean();
    // The next attempt finds the volume reserved and writes nothing.
    let patches = lab.patches.len();
    lab.controller = Controller::Works;
    lab.wait(60);
    assert_eq!(lab.patches.len(), patches);
    assert!(lab.node_of("pod").is_some() && lab.claim("c").is_bound());
}

#[test]
fn case_17_the_selected_node_stays_after_a_time_out() {
    let objects = [made(), claim("c", "5Gi", json!({})), user("pod", &["c"])];
    let mut lab = Lab::new(Controller::Absent, 30, of(&[&nodes(), &objects]));
    let selected = lab.claim("c").selected_node.unwrap();
    lab.wait(31);
    assert!(lab.said("pod").ends_with("binding volumes: context deadline exceeded"), "{}", lab.said("pod"));
    lab.is_clean();
    lab.wait(60);
    let other = if selected == "n1" { "n2" } else { "n1" };
    assert_eq!(lab.refused(), reasons(&[(other, &[NO_VOLUME])]));
    // The provisioner gives up: the pod may go anywhere.
    let mut gone = lab.claim("c");
    gone.selected_node = None;
    lab.put_object(gone);
    lab.settle();
    assert!(lab.said("pod").contains("provisioning failed for PVC \"c\""), "{}", lab.said("pod"));
    lab.wait(60);
    assert_eq!(lab.refused(), reasons(&[]));
}

#[test]
fn provisioning_that_fails_is_tried_again_until_it_succeeds() {
    let objects = [made(), claim("c", "5Gi", json!({})), user("pod", &["c"])];
    let mut lab = Lab::new(Controller::Fails, 600, of(&[&nodes(), &objects]));
    assert!(
        lab.said("pod").ends_with("binding volumes: provisioning failed for PVC \"c\""),
        "{}",
        lab.said("pod")
    );
    lab.wait(60);
    assert_eq!(lab.node_of("pod"), None);
    lab.controller = Controller::Works;
    lab.wait(60);
    let node = lab.node_of("pod").unwrap();
    let volume = lab.volume(lab.claim("c").volume.as_str());
    assert_eq!((volume.phase.as_str(), volume.provisioned_by.as_str()), ("Bound", "csi.example.com"));
    assert!(volume.affinity.is_some(), "it is for the zone of {node}");
    lab.is_clean();
}

#[test]
fn every_way_in_which_a_binding_is_undone_has_its_text() {
    let objects = || {
        let near = json!({"spec.nodeAffinity": zone(&["a"])});
        of(&[
            &nodes(),
            &[waits(), volume("v", "10Gi", near), claim("c", "5Gi", json!({})), user("pod", &["c"])],
        ])
    };
    let undone = |undo: &dyn Fn(&mut Lab)| {
        let mut lab = Lab::new(Controller::Absent, 600, objects());
        assert_eq!(lab.patches.len(), 1);
        undo(&mut lab);
        lab.settle();
        lab.is_clean();
        let said = lab.said("pod");
        said.strip_prefix("running PreBind plugin \"VolumeBinding\": binding volumes: ")
            .unwrap_or(&said)
            .to_owned()
    };
    assert_eq!(
        undone(&|lab| lab.delete(Kind::PersistentVolume, "", "v")),
        "failed to check binding: persistentvolumes \"v\" not found"
    );
    assert_eq!(
        undone(&|lab| lab.delete(Kind::PersistentVolumeClaim, "default", "c")),
        "failed to check binding: persistentvolumeclaims \"default/c\" not found"
    );
    assert_eq!(
        undone(&|lab| {
            let volume = PersistentVolume { claim: None, ..lab.volume("v") };
            lab.put_object(volume);
        }),
        "ClaimRef got reset for pv \"v\""
    );
    assert_eq!(
        undone(&|lab| lab.put(node("n1").zone("b").json())),
        "pv \"v\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms"
    );
    assert_eq!(
        undone(&|lab| lab.delete(Kind::Node, "", "n1")),
        "failed to get node \"n1\": node \"n1\" not found"
    );
}

#[test]
fn a_write_that_is_refused_ends_the_binding_with_the_servers_words() {
    let near = json!({"spec.nodeAffinity": zone(&["a"])});
    let objects = [waits(), volume("v", "10Gi", near), claim("c", "5Gi", json!({}))];
    let mut lab = Lab::new(Controller::Absent, 600, of(&[&nodes(), &objects]));
    // The scheduler does not see that somebody else writes the volume.
    lab.put(user("pod", &["c"]));
    lab.watch();
    let volume = lab.volume("v");
    lab.put_object(volume);
    lab.step(Input::Cycle);
    lab.watch();
    let text = "running PreBind plugin \"VolumeBinding\": Operation cannot be fulfilled on persistentvolumes \"v\": the \
                object has been modified; please apply your changes to the latest version and try again";
    assert_eq!(lab.said("pod"), text);
    lab.is_clean();
}

#[test]
fn a_volume_is_given_to_one_pod_only() {
    let objects =
        [waits(), volume("v", "10Gi", json!({})), claim("c", "5Gi", json!({})), claim("d", "5Gi", json!({}))];
    let pods = [user("one", &["c"]), user("two", &["d"])];
    let mut lab = Lab::new(Controller::Absent, 600, of(&[&nodes(), &objects, &pods]));
    assert_eq!(lab.said("two"), format!("0/2 nodes are available: 2 {NO_VOLUME}."));
    // The first pod goes before its claim is bound: the volume stays its claim's.
    lab.delete(Kind::Pod, "default", "one");
    lab.wait(60);
    assert_eq!(lab.node_of("two"), None);
    lab.put(volume("w", "10Gi", json!({})));
    lab.controller = Controller::Works;
    lab.wait(60);
    assert!(lab.node_of("two").is_some());
    assert_eq!(lab.claim("d").volume.as_str(), "w");
    lab.is_clean();
}

#[test]
fn claims_that_are_not_the_schedulers_to_bind_keep_the_pod_waiting() {
    let said = |claim: Value, classes: &[Value]| {
        let objects = of(&[&nodes(), classes, &[claim, user("pod", &["c"])]]);
        Lab::new(Controller::Absent, 600, objects).said("pod").replace("0/2 nodes are available: ", "")
    };
    let immediate = "pod has unbound immediate PersistentVolumeClaims.";
    assert_eq!(said(claim("c", "1Gi", json!({"spec|storageClassName": ""})), &[]), immediate);
    assert_eq!(said(claim("c", "1Gi", json!({})), &[]), immediate, "the class does not exist");
    let now = class("wait", "csi.example.com", "Immediate", json!({}));
    assert_eq!(said(claim("c", "1Gi", json!({})), &[now]), immediate);
    assert_eq!(
        said(claim("c", "1Gi", json!({"spec|volumeName": "v"})), &[waits()]),
        immediate,
        "bound beforehand"
    );
    assert_eq!(
        said(claim("c", "1Gi", json!({"status|phase": "Lost", "spec|volumeName": "v"})), &[waits()]),
        "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"."
    );
    let deleted = claim("c", "1Gi", json!({"metadata|deletionTimestamp": "2026-01-01T00:00:00Z"}));
    assert_eq!(said(deleted, &[waits()]), "persistentvolumeclaim \"c\" is being deleted.");
    let unset = object("StorageClass", "wait", json!({"provisioner": "p"}));
    assert_eq!(
        said(claim("c", "1Gi", json!({})), &[unset]),
        "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass \"wait\""
    );
    let selector = json!({"spec|selector": {"matchExpressions": [{"key": "k", "operator": "Near"}]}});
    let said = said(claim("c", "1Gi", selector), &[waits()]);
    assert!(said.ends_with("error creating internal label selector for claim: default/c: \"Near\" is not a valid label selector operator"), "{said}");
}

#[test]
fn an_ephemeral_volume_gets_a_claim_of_its_own() {
    let ephemeral = || {
        let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "wait",
            "resources": {"requests": {"storage": "1Gi"}}}});
        let volume = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}});
        pod("pod").set("spec.volumes", json!([volume])).json()
    };
    let lab = Lab::new(Controller::Works, 600, of(&[&nodes(), &[made(), ephemeral()]]));
    assert!(lab.node_of("pod").is_some(), "{}", lab.said("pod"));
    assert!(lab.claim("pod-scratch").is_bound());
    let mut lab = Lab::new(Controller::Absent, 600, of(&[&nodes(), &[made(), ephemeral()]]));
    let waiting =
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"pod-scratch\"";
    assert_eq!(lab.said("pod"), format!("0/2 nodes are available: {waiting}."));
    lab.put(claim("pod-scratch", "1Gi", json!({})));
    lab.wait(60);
    let other = "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)";
    assert_eq!(lab.said("pod"), format!("0/2 nodes are available: {other}."));
}

#[test]
fn topologies_of_the_class_decide_where_a_volume_is_made() {
    let allowed = json!({"allowedTopologies": [{"matchLabelExpressions": [
        {"key": "topology.kubernetes.io/zone", "values": ["b", "c"]}]}]});
    let made = class("wait", "csi.example.com", "WaitForFirstConsumer", allowed);
    let lab = Lab::new(
        Controller::Works,
        600,
        of(&[&nodes(), &[made, claim("c", "5Gi", json!({})), user("pod", &["c"])]]),
    );
    assert_eq!(lab.node_of("pod").as_deref(), Some("n2"));
    assert_eq!(lab.refused(), reasons(&[("n1", &[NO_VOLUME])]));
    let patch = PatchBody::SelectedNode { node: Symbol::new("n2") };
    assert_eq!(lab.patches.iter().map(|(_, body)| body).collect::<Vec<_>>(), [&patch]);
}

#[test]
fn existing_and_provisioned_volumes_may_be_mixed() {
    let objects =
        [made(), volume("v", "5Gi", json!({})), claim("c", "5Gi", json!({})), claim("d", "50Gi", json!({}))];
    let lab = Lab::new(Controller::Works, 600, of(&[&nodes(), &objects, &[user("pod", &["c", "d"])]]));
    assert!(lab.node_of("pod").is_some());
    assert_eq!(lab.claim("c").volume.as_str(), "v");
    assert_eq!(lab.claim("d").volume.as_str(), "pvc-default-d");
    let of: Vec<_> = lab.patches.iter().map(|(of, _)| of.name.to_string()).collect();
    assert_eq!(of, ["v", "d"], "volumes are written before claims");
}
