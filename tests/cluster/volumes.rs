//! Pods with volumes on the real API server. The tests are the volume controller and the provisioner, because the control
//! plane has none.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);
const ZONE: &str = "topology.kubernetes.io/zone";
const SELECTED: &str = "volume.kubernetes.io/selected-node";

/// The objects of one test. Those without a namespace begin with the name of the namespace.
struct Volumes<'a>(Workload<'a>);

impl<'a> Volumes<'a> {
    /// Nodes without a label, or in the zones `a` and `b`.
    fn new(plane: &'a ControlPlane, purpose: &str, nodes: usize, zones: bool) -> Self {
        let load = Workload::new(plane, purpose, nodes);
        for at in (0..nodes).filter(|_| zones) {
            let zone = format!("{ZONE}={}", ["a", "b"][at % 2]);
            plane.kubectl_ok(["label", "node", &format!("{}-{at}", load.namespace), &zone]);
        }
        Self(load)
    }

    fn plane(&self) -> &ControlPlane {
        self.0.plane
    }

    fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.0.namespace)
    }

    fn node(&self, at: usize) -> String {
        self.named(&at.to_string())
    }

    /// A storage class. Without a provisioner volumes are made by hand.
    fn class(&self, name: &str, provisioner: &str, waits: bool) {
        let mode = if waits { "WaitForFirstConsumer" } else { "Immediate" };
        self.plane().create(&[json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.named(name)},
            "provisioner": provisioner, "volumeBindingMode": mode,
        })]);
    }

    /// A volume of a CSI driver, for a zone or for all nodes.
    fn volume(&self, name: &str, class: &str, size: &str, zone: Option<&str>) {
        self.volume_of_mode(name, class, size, zone, "ReadWriteOnce");
    }

    fn volume_of_mode(&self, name: &str, class: &str, size: &str, zone: Option<&str>, mode: &str) {
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": self.named(name)},
            "spec": {
                "capacity": {"storage": size}, "accessModes": [mode],
                "storageClassName": self.named(class), "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": self.named("driver"), "volumeHandle": name},
            },
        });
        if let Some(zone) = zone {
            let is = json!({"key": ZONE, "operator": "In", "values": [zone]});
            volume["spec"]["nodeAffinity"]["required"] =
                json!({"nodeSelectorTerms": [{"matchExpressions": [is]}]});
        }
        self.plane().create(&[volume]);
        self.phase("pv", &self.named(name), "Available");
    }

    fn phase(&self, kind: &str, name: &str, phase: &str) {
        let status = json!({"status": {"phase": phase}});
        self.plane().patch_status(&self.0.namespace, &format!("{kind}/{name}"), &status);
    }

    fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let patch = format!("--patch={patch}");
        self.plane().kubectl_ok([
            "patch",
            kind,
            name,
            "--namespace",
            &self.0.namespace,
            "--type=merge",
            &patch,
        ]);
    }

    fn claim_of_mode(&self, name: &str, class: &str, size: &str, mode: &str) {
        self.plane().create(&[json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self.0.namespace},
            "spec": {
                "storageClassName": self.named(class), "accessModes": [mode],
                "resources": {"requests": {"storage": size}},
            },
        })]);
    }

    fn claim(&self, name: &str, class: &str, size: &str) {
        self.claim_of_mode(name, class, size, "ReadWriteOnce");
    }

    /// A pod with a claim.
    fn pod(&self, name: &str, claim: &str) {
        self.pod_on(name, claim, None);
    }

    fn pod_on(&self, name: &str, claim: &str, node: Option<usize>) {
        let mut pod = self.0.pod(name, "100m");
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
        if let Some(node) = node {
            pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] = json!(self.node(node));
        }
        self.plane().create(&[pod]);
    }

    fn get(&self, kind: &str, name: &str) -> Value {
        self.plane().get_json([kind, name, "--namespace", &self.0.namespace])
    }

    fn node_of(&self, pod: &str) -> Option<String> {
        self.plane().node_of(&self.0.namespace, pod)
    }

    fn bound(&self, pod: &str) -> String {
        wait_until(&format!("{pod} is bound"), SOON, || self.node_of(pod).is_some());
        self.node_of(pod).unwrap()
    }

    /// An attempt failed with this text.
    fn failed(&self, pod: &str, text: &str) {
        wait_until(&format!("{pod} failed: {text}"), SOON, || {
            let events = self.plane().events_about(&self.0.namespace, pod);
            events.iter().any(|event| event["reason"] == "FailedScheduling" && event["note"] == text)
        });
    }

    /// The condition of a pod says why it waits.
    fn waits(&self, pod: &str, text: &str) {
        wait_until(&format!("{pod} waits: {text}"), SOON, || {
            let pod = self.get("pod", pod);
            let condition = &pod["status"]["conditions"][0];
            condition["reason"] == "Unschedulable"
                && condition["message"].as_str().is_some_and(|message| message.contains(text))
        });
    }

    /// Waits until the scheduler has chosen a node for a claim.
    fn selected(&self, claim: &str) -> String {
        let selected =
            || self.get("pvc", claim)["metadata"]["annotations"][SELECTED].as_str().map(str::to_owned);
        wait_until(&format!("{claim} has a node"), SOON, || selected().is_some());
        selected().unwrap()
    }

    /// Waits until the scheduler has given a volume to a claim.
    fn given(&self, volume: &str) -> Value {
        let volume = self.named(volume);
        let to = || self.get("pv", &volume)["spec"]["claimRef"].clone();
        wait_until(&format!("{volume} has a claim"), SOON, || to().is_object());
        to()
    }

    /// The volume controller binds a claim to a volume.
    fn bind(&self, claim: &str, volume: &str) {
        let volume = self.named(volume);
        let object = self.get("pvc", claim);
        let (namespace, uid) = (&self.0.namespace, &object["metadata"]["uid"]);
        let to = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim, "uid": uid,
        });
        self.patch("pv", &volume, &json!({"spec": {"claimRef": to}}));
        self.phase("pv", &volume, "Bound");
        let done =
            json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
        let bound = json!({"metadata": {"annotations": done}, "spec": {"volumeName": volume}});
        self.patch("pvc", claim, &bound);
        self.phase("pvc", claim, "Bound");
    }

    /// A CSI driver of the workload runs on a node and attaches at most `count` volumes.
    fn csi_node(&self, node: usize, count: u32) {
        let driver = json!({
            "name": self.named("driver"), "nodeID": self.node(node), "allocatable": {"count": count},
        });
        self.plane().create(&[json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": self.node(node)},
            "spec": {"drivers": [driver]},
        })]);
    }

    fn start(&self) -> SchedulerProcess {
        SchedulerProcess::start(self.plane(), &Setup::new(&self.0.scheduler))
    }
}

#[test]
fn a_pod_follows_the_volumes_of_its_bound_claims() {
    let of = Volumes::new(ControlPlane::shared(), "bound", 2, true);
    of.class("now", "kubernetes.io/no-provisioner", false);
    let _ours = of.start();
    of.pod("p", "c");
    of.waits("p", "nodes are available: persistentvolumeclaim \"c\" not found. not found");
    of.claim("c", "now", "1Gi");
    of.waits("p", "pod has unbound immediate PersistentVolumeClaims");
    of.volume("b", "now", "1Gi", Some("b"));
    of.bind("c", "b");
    assert_eq!(of.bound("p"), of.node(1));
    of.pod_on("stays", "c", Some(0));
    of.waits("stays", "node(s) didn't match PersistentVolume's node affinity");

    // A volume without node affinity whose label names its zone.
    of.volume("labelled", "now", "1Gi", None);
    of.plane().kubectl_ok(["label", "pv", &of.named("labelled"), &format!("{ZONE}=b")]);
    of.claim("zoned", "now", "1Gi");
    of.bind("zoned", "labelled");
    of.pod_on("elsewhere", "zoned", Some(0));
    of.waits("elsewhere", "node(s) had no available volume zone");
    of.pod("zoned", "zoned");
    assert_eq!(of.bound("zoned"), of.node(1));

    // Its volume goes after the claim was bound.
    of.volume("gone", "now", "1Gi", None);
    of.claim("lost", "now", "1Gi");
    of.bind("lost", "gone");
    of.patch("pv", &of.named("gone"), &json!({"metadata": {"finalizers": null}}));
    of.plane().kubectl_ok(["delete", "pv", &of.named("gone")]);
    of.pod("lost", "lost");
    of.waits("lost", &format!("persistentvolume \"{}\" not found. not found", of.named("gone")));
}

#[test]
fn a_claim_takes_the_smallest_volume_that_suits_the_node_of_its_pod() {
    let of = Volumes::new(ControlPlane::shared(), "static", 2, true);
    of.class("wait", "kubernetes.io/no-provisioner", true);
    of.volume("large", "wait", "10Gi", Some("b"));
    of.volume("small", "wait", "8Gi", Some("b"));
    of.volume("tiny", "wait", "1Gi", Some("a"));
    let ours = of.start();
    of.claim("c", "wait", "5Gi");
    of.pod("p", "c");
    let to = of.given("small");
    let claim = of.get("pvc", "c");
    let (uid, version) = (&claim["metadata"]["uid"], &to["resourceVersion"]);
    assert_eq!(
        (&to["kind"], &to["apiVersion"], &to["uid"]),
        (&json!("PersistentVolumeClaim"), &json!("v1"), uid)
    );
    assert_eq!((&to["name"], &to["namespace"]), (&json!("c"), &json!(of.0.namespace)));
    assert!(version.is_string(), "{to}");
    let volume = of.get("pv", &of.named("small"));
    assert_eq!(volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"], "yes");
    // The pod waits for the volume controller. Another pod does not get the volume meanwhile.
    of.claim("d", "wait", "5Gi");
    of.pod("q", "d");
    assert_eq!(of.given("large")["name"], "d");
    of.claim("e", "wait", "5Gi");
    of.pod("r", "e");
    of.waits("r", "node(s) didn't find available persistent volumes to bind");
    assert!(of.node_of("p").is_none() && of.node_of("q").is_none());
    of.bind("d", "large");
    assert_eq!(of.bound("q"), of.node(1));
    assert!(of.node_of("p").is_none());
    of.bind("c", "small");
    assert_eq!(of.bound("p"), of.node(1));
    // A new volume is for the pod that waits.
    of.volume("new", "wait", "5Gi", None);
    assert_eq!(of.given("new")["name"], "e");
    of.bind("e", "new");
    of.bound("r");
    assert!(!ours.said().contains("panic"), "{}", ours.daemon.log_tail(30));
}

#[test]
fn a_claim_is_provisioned_for_a_node_and_the_pod_comes_back_when_that_fails() {
    let of = Volumes::new(ControlPlane::shared(), "dynamic", 2, true);
    of.class("made", "example.com/disks", true);
    let _ours = of.start();
    of.claim("c", "made", "5Gi");
    of.pod_on("p", "c", Some(1));
    assert_eq!(of.selected("c"), of.node(1));
    // The provisioner gives up.
    of.patch("pvc", "c", &json!({"metadata": {"annotations": {SELECTED: null, "example.com/tries": "1"}}}));
    let text = "running PreBind plugin \"VolumeBinding\": binding volumes: provisioning failed for PVC \"c\"";
    of.failed("p", text);
    // It is tried again, and now the provisioner succeeds.
    assert_eq!(of.selected("c"), of.node(1));
    assert!(of.node_of("p").is_none());
    of.volume("made", "made", "5Gi", Some("b"));
    of.bind("c", "made");
    assert_eq!(of.bound("p"), of.node(1));

    // The claim goes while the pod waits for it.
    of.claim("d", "made", "5Gi");
    of.pod("q", "d");
    of.selected("d");
    of.plane().kubectl_ok(["delete", "pvc", "d", "--namespace", &of.0.namespace, "--wait=false"]);
    of.patch("pvc", "d", &json!({"metadata": {"finalizers": null}}));
    let missing = format!(
        "running PreBind plugin \"VolumeBinding\": binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"{}/d\" not found",
        of.0.namespace
    );
    of.failed("q", &missing);
    of.waits("q", "persistentvolumeclaim \"d\" not found");
}

#[test]
fn a_scheduler_that_was_killed_while_a_claim_is_provisioned_binds_the_pod_to_the_same_node() {
    let of = Volumes::new(ControlPlane::shared(), "killed", 4, true);
    of.class("made", "example.com/disks", true);
    of.class("wait", "kubernetes.io/no-provisioner", true);
    let ours = of.start();
    of.claim("c", "made", "5Gi");
    of.pod("p", "c");
    let node = of.selected("c");
    of.volume("hand", "wait", "5Gi", Some("b"));
    of.claim("d", "wait", "5Gi");
    of.pod("q", "d");
    assert_eq!(of.given("hand")["name"], "d");
    // SIGKILL.
    drop(ours);
    let _ours = of.start();
    assert_eq!(of.selected("c"), node);
    assert!(of.node_of("p").is_none());
    of.volume("made", "made", "5Gi", None);
    of.bind("c", "made");
    of.bind("d", "hand");
    of.bound("p");
    assert!([of.node(1), of.node(3)].contains(&of.bound("q")));
}

#[test]
fn limits_of_volumes_and_capacities_of_drivers_are_kept() {
    let of = Volumes::new(ControlPlane::shared(), "limits", 1, false);
    of.class("now", "kubernetes.io/no-provisioner", false);
    of.csi_node(0, 1);
    let _ours = of.start();
    for name in ["one", "two"] {
        of.volume(name, "now", "1Gi", None);
        of.claim(name, "now", "1Gi");
        of.bind(name, name);
    }
    of.pod("first", "one");
    of.bound("first");
    of.pod("shares", "one");
    of.bound("shares");
    of.pod("second", "two");
    of.waits("second", "node(s) exceed max volume count");
    let more = json!({"name": of.named("driver"), "nodeID": of.node(0), "allocatable": {"count": 9}});
    of.patch("csinode", &of.node(0), &json!({"spec": {"drivers": [more]}}));
    of.bound("second");

    // The driver says how much it can provision where.
    let driver = of.named("driver");
    of.plane().create(&[json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver},
        "spec": {"storageCapacity": true},
    })]);
    of.class("made", &driver, true);
    let capacity = |size: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": "some", "namespace": of.0.namespace},
            "storageClassName": of.named("made"), "capacity": size,
            "nodeTopology": {"matchLabels": {"node-group": of.0.namespace}},
        })
    };
    of.plane().create(&[capacity("1Gi")]);
    of.claim("three", "made", "5Gi");
    of.pod("third", "three");
    of.waits("third", "node(s) did not have enough free storage");
    of.patch("csistoragecapacity", "some", &json!({"capacity": "6Gi"}));
    assert_eq!(of.selected("three"), of.node(0));
    of.volume("three", "made", "5Gi", None);
    of.bind("three", "three");
    of.bound("third");
}

#[test]
fn a_claim_for_one_pod_is_given_to_the_next_when_the_first_is_gone() {
    let of = Volumes::new(ControlPlane::shared(), "single", 2, false);
    of.class("now", "kubernetes.io/no-provisioner", false);
    let _ours = of.start();
    of.volume_of_mode("v", "now", "1Gi", None, "ReadWriteOncePod");
    of.claim_of_mode("c", "now", "1Gi", "ReadWriteOncePod");
    of.bind("c", "v");
    of.pod("first", "c");
    of.bound("first");
    of.pod("second", "c");
    of.waits(
        "second",
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    );
    of.plane().delete_pod(&of.0.namespace, "first");
    of.bound("second");
}
