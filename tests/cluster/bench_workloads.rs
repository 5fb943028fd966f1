//! The workloads of `make bench-cluster`, a row each: which objects exist before the pods, and what the pods ask for.
//! They follow those that Kubernetes measures its scheduler with (`test/integration/scheduler_perf`).

use crate::api_load::{ApiClient, delete, post};
use crate::support::{ControlPlane, objects};
use bayplan::cluster::api::client::Request;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const HIGH: &str = "bench-high";

/// A workload.
pub(crate) struct Row {
    pub name: &'static str,
    /// How many pods are measured, when `BAYPLAN_BENCH_PODS` does not say it.
    pub pods: usize,
    /// Whether there are at most 4 pods for 5 nodes.
    few: bool,
    /// What exists before the pods.
    before: fn(&Bench) -> Vec<Request>,
    /// What the pod of this number asks for.
    pub asks: fn(&mut Value, usize),
    /// Whether nodes, Services and a pod that fits nowhere come and go during the measurement.
    pub churn: bool,
}

const PLAIN: Row =
    Row { name: "basic", pods: 5_000, few: false, before: |_| Vec::new(), asks: |_, _| {}, churn: false };

/// All workloads.
pub(crate) const ROWS: [Row; 13] = [
    Row { pods: 10_000, ..PLAIN },
    Row { name: "default spread", before: services, asks: app, ..PLAIN },
    Row { name: "hard spread", asks: |pod, _| spread(pod, "DoNotSchedule"), ..PLAIN },
    Row { name: "preferred spread", asks: |pod, _| spread(pod, "ScheduleAnyway"), ..PLAIN },
    Row { name: "pod affinity", asks: |pod, _| required(pod, "podAffinity", ZONE, "blue"), ..PLAIN },
    Row { name: "preferred affinity", asks: |pod, _| preferred(pod, "podAffinity", "red"), ..PLAIN },
    Row { name: "anti-affinity", few: true, asks: anti_affinity, ..PLAIN },
    Row {
        name: "preferred anti-affinity",
        asks: |pod, _| preferred(pod, "podAntiAffinity", "yellow"),
        ..PLAIN
    },
    Row { name: "node affinity", asks: |pod, _| node_affinity(pod), ..PLAIN },
    Row { name: "bound volumes", before: bound_volumes, asks: volume, ..PLAIN },
    Row { name: "devices", before: devices, asks: device, ..PLAIN },
    Row {
        name: "preemption",
        pods: 2_000,
        few: true,
        before: victims,
        asks: |pod, _| preempts(pod),
        ..PLAIN
    },
    Row { name: "mixed churn", before: services, asks: mixed, churn: true, ..PLAIN },
];

impl Row {
    /// How many pods are measured on this number of nodes.
    pub(crate) fn count(&self, nodes: usize, asked: usize) -> usize {
        if self.few { asked.min(nodes * 4 / 5) } else { asked }
    }
}

/// A cluster for one workload and one scheduler.
pub(crate) struct Bench {
    pub plane: ControlPlane,
    pub client: ApiClient,
    pub namespace: String,
    pub nodes: usize,
    pub pods: usize,
}

impl Bench {
    /// The cluster with all pods, which wait for the scheduler `who`.
    pub(crate) fn new(plane: ControlPlane, row: &Row, who: &str, nodes: usize, pods: usize) -> Self {
        let client = ApiClient::new(&plane);
        let bench = Self { namespace: plane.create_namespace(who), client, plane, nodes, pods };
        let all = (0..nodes).map(|at| post("/api/v1/nodes", &node(&format!("node-{at}"), at)));
        bench.client.all(32, all);
        bench.client.all(32, (row.before)(&bench));
        let path = bench.path("pods");
        let pod = |at: usize| {
            let mut pod = bench.pod(&format!("p{at}"), who);
            (row.asks)(&mut pod, at);
            post(&*path, &pod)
        };
        bench.client.all(32, (0..pods).map(pod));
        bench
    }

    /// The path of a kind of the core group in the namespace.
    fn path(&self, plural: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}", self.namespace)
    }

    fn pod(&self, name: &str, scheduler: &str) -> Value {
        objects::pod(&self.namespace, name, scheduler, &[("cpu", "100m"), ("memory", "500Mi")])
    }

    fn service(&self, name: &str, app: &str) -> Request {
        post(
            self.path("services"),
            &json!({
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
                "spec": { "selector": { "app": app }, "clusterIP": "None", "ports": [{ "port": 80 }] },
            }),
        )
    }

    /// Until `stop`: five times a second a node, a Service and a pod that fits nowhere come and the last ones go.
    pub(crate) fn churn(&self, who: &str, stop: &AtomicBool) {
        let client = ApiClient::new(&self.plane);
        let made = |at: usize| [format!("churn-{at}"), format!("large-{at}")];
        for at in 0.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let [name, large] = made(at);
            let mut pod = self.pod(&large, who);
            pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1000" } });
            let node = objects::with_taint(node(&name, at), "bench", "churn", "NoSchedule");
            client.call(post("/api/v1/nodes", &node));
            client.call(self.service(&name, "app-0"));
            client.call(post(self.path("pods"), &pod));
            if let Some([name, large]) = at.checked_sub(1).map(made) {
                client.call(delete(format!("/api/v1/nodes/{name}"), None));
                client.call(delete(format!("{}/{name}", self.path("services")), None));
                client.call(delete(format!("{}/{large}", self.path("pods")), Some(0)));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn node(name: &str, at: usize) -> Value {
    let node = objects::node(name, &[("cpu", "32"), ("memory", "128Gi"), ("pods", "110")]);
    objects::with_label(node, ZONE, &format!("z{}", at % 3))
}

/// A Service for each app.
fn services(bench: &Bench) -> Vec<Request> {
    (0..20).map(|at| bench.service(&format!("app-{at}"), &format!("app-{at}"))).collect()
}

fn app(pod: &mut Value, number: usize) {
    pod["metadata"]["labels"]["app"] = json!(format!("app-{}", number % 20));
}

fn color(pod: &mut Value, color: &str) -> Value {
    pod["metadata"]["labels"]["color"] = json!(color);
    json!({ "matchLabels": { "color": color } })
}

fn spread(pod: &mut Value, when: &str) {
    let selector = color(pod, "blue");
    pod["spec"]["topologySpreadConstraints"] = json!([
        { "maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": when, "labelSelector": selector }
    ]);
}

fn required(pod: &mut Value, kind: &str, key: &str, of: &str) {
    let term = json!({ "topologyKey": key, "labelSelector": color(pod, of) });
    pod["spec"]["affinity"][kind] = json!({ REQUIRED: [term] });
}

fn preferred(pod: &mut Value, kind: &str, of: &str) {
    let term = json!({ "topologyKey": HOSTNAME, "labelSelector": color(pod, of) });
    pod["spec"]["affinity"][kind] = json!({ PREFERRED: [{ "weight": 1, "podAffinityTerm": term }] });
}

fn anti_affinity(pod: &mut Value, _: usize) {
    required(pod, "podAntiAffinity", HOSTNAME, "green");
}

fn node_affinity(pod: &mut Value) {
    let zones = json!({ "key": ZONE, "operator": "In", "values": ["z0", "z1"] });
    pod["spec"]["affinity"]["nodeAffinity"] =
        json!({ REQUIRED: { "nodeSelectorTerms": [{ "matchExpressions": [zones] }] } });
}

/// A bound volume for each pod, as the controller of volumes leaves it.
fn bound_volumes(bench: &Bench) -> Vec<Request> {
    let volume = |at: usize| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": format!("volume-{at}") },
            "spec": {
                "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
                "claimRef": { "namespace": bench.namespace, "name": format!("claim-{at}") },
                "csi": { "driver": "bench.example.com", "volumeHandle": format!("volume-{at}") },
            },
        })
    };
    let claim = |at: usize| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": format!("claim-{at}"), "annotations": { "pv.kubernetes.io/bind-completed": "yes" },
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": format!("volume-{at}"),
                "resources": { "requests": { "storage": "1Gi" } },
            },
        })
    };
    let claims = bench.path("persistentvolumeclaims");
    let of = |at| [post("/api/v1/persistentvolumes", &volume(at)), post(&*claims, &claim(at))];
    (0..bench.pods).flat_map(of).collect()
}

fn volume(pod: &mut Value, number: usize) {
    pod["spec"]["volumes"] =
        json!([{ "name": "data", "persistentVolumeClaim": { "claimName": format!("claim-{number}") } }]);
}

/// A slice with eight devices for each node, a class, and a claim of one device for each pod.
fn devices(bench: &Bench) -> Vec<Request> {
    let group = "/apis/resource.k8s.io/v1";
    let class = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu" },
        "spec": { "selectors": [{ "cel": { "expression": "device.driver == 'gpu.example.com'" } }] },
    });
    let device = |number: usize| {
        json!({
            "name": format!("gpu-{number}"),
            "attributes": { "model": { "string": "large" }, "index": { "int": number } },
            "capacity": { "memory": { "value": "80Gi" } },
        })
    };
    let slice = |at: usize| {
        let devices: Vec<Value> = (0..8).map(device).collect();
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": { "name": format!("node-{at}-gpu") },
            "spec": {
                "driver": "gpu.example.com", "nodeName": format!("node-{at}"), "devices": devices,
                "pool": { "name": format!("node-{at}"), "generation": 1, "resourceSliceCount": 1 },
            },
        })
    };
    let wanted = "device.attributes['gpu.example.com'].model == 'large'";
    let claim = |at: usize| {
        let request = json!({ "deviceClassName": "gpu", "selectors": [{ "cel": { "expression": wanted } }] });
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": { "name": format!("claim-{at}") },
            "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": request }] } },
        })
    };
    let claims = format!("{group}/namespaces/{}/resourceclaims", bench.namespace);
    let class = post(format!("{group}/deviceclasses"), &class);
    let slices = (0..bench.nodes).map(|at| post(format!("{group}/resourceslices"), &slice(at)));
    let claims = (0..bench.pods).map(|at| post(&*claims, &claim(at)));
    std::iter::once(class).chain(slices).chain(claims).collect()
}

fn device(pod: &mut Value, number: usize) {
    pod["spec"]["resourceClaims"] =
        json!([{ "name": "gpu", "resourceClaimName": format!("claim-{number}") }]);
}

/// Two pods on each node that fill it, and a class for the pods that take their place.
fn victims(bench: &Bench) -> Vec<Request> {
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": HIGH },
        "value": 1_000,
    });
    let victim = |at: usize| {
        let requests = [("cpu", "16"), ("memory", "500Mi")];
        let mut pod = objects::pod(&bench.namespace, &format!("victim-{at}"), "nobody", &requests);
        pod["spec"]["nodeName"] = json!(format!("node-{}", at / 2));
        post(bench.path("pods"), &pod)
    };
    let class = post("/apis/scheduling.k8s.io/v1/priorityclasses", &class);
    std::iter::once(class).chain((0..2 * bench.nodes).map(victim)).collect()
}

fn preempts(pod: &mut Value) {
    pod["spec"]["priorityClassName"] = json!(HIGH);
    let requests = json!({ "cpu": "20", "memory": "500Mi" });
    pod["spec"]["containers"][0]["resources"] = json!({ "requests": requests, "limits": requests });
}

/// Pods of all kinds in turn.
fn mixed(pod: &mut Value, number: usize) {
    match number % 8 {
        0 => spread(pod, "DoNotSchedule"),
        1 => spread(pod, "ScheduleAnyway"),
        2 => required(pod, "podAffinity", ZONE, "white"),
        3 => preferred(pod, "podAffinity", "red"),
        4 if number < 8_000 => anti_affinity(pod, number),
        5 => node_affinity(pod),
        6 => app(pod, number),
        _ => {}
    }
}
