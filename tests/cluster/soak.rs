//! Two replicas under a steady stream of changes: pods and nodes are created, changed and deleted,
//! policies replaced and made invalid, connections broken and delayed, replicas killed, stopped and
//! paused, the API server restarted. Afterwards the caches of both replicas (SIGUSR2) must equal the
//! objects of the API server. At all times no node is over-committed and no pod bound twice. In the
//! end no pod is lost, and memory, threads and file descriptors of the leader have not grown.
//!
//! `make soak` takes ten minutes (`BAYPLAN_SOAK_MINUTES`), `make test` half a minute.
//! `BAYPLAN_SOAK_SEED` repeats a run. Replicas are disturbed in the first third only: what grows
//! shows in a process that lives long.

use crate::api_load::{ApiClient, delete, merge, post, strategic};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, Proxy, objects, wait::became_true, wait_until};
use bayplan::cluster::api::client::Request;
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Changes per second.
const RATE: u32 = 40;
/// Time between two checks of the invariants.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of file descriptors: 32 connections of calls, as many that are being closed, one for the watch of each
/// kind, those of events, policies and the lease, and a few more.
const MOST_FILES: u64 = 92;
/// CPUs of a node.
const CPUS: i64 = 4;

const POLICIES: [&str; 4] = [
    "/// Gold is not for slow disks.\npolicy tiers {\n  filter gold {\n    reject \"slow disk\" when \
     node.labels[\"disk\"] == \"hdd\" && pod.labels[\"tier\"] == \"gold\"\n  }\n}\n",
    "/// A job starts whole or not at all.\npolicy gang {\n  param patience = 2s\n  group members = p in pods where \
     p.namespace == pod.namespace && p.labels[\"job\"] == pod.labels[\"job\"]\n  applies when \
     has(pod.labels[\"job\"])\n  permit { wait patience for members until members.count(m, m.placed) >= 3 else \"job \
     did not become whole in time\" }\n}\n",
    "/// Nothing on hot nodes.\npolicy heat {\n  filter cool {\n    reject \"too hot\" when node.labels[\"heat\"] == \
     \"hot\"\n  }\n}\n",
    "policy broken {\n  filter nothing {\n",
];

#[test]
fn after_half_a_minute_of_changes_the_cache_equals_the_api_server() {
    soak(Duration::from_secs(30), number("BAYPLAN_SOAK_SEED", 1));
}

#[test]
#[ignore = "takes ten minutes: make soak"]
fn soak_for_minutes() {
    let minutes = number("BAYPLAN_SOAK_MINUTES", 10);
    let clock = jiff::Timestamp::now().as_millisecond().unsigned_abs();
    soak(Duration::from_secs(minutes * 60), number("BAYPLAN_SOAK_SEED", clock));
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Changes the cluster at random.
struct World<'a> {
    client: &'a ApiClient,
    dice: Random,
    namespace: String,
    scheduler: String,
    /// Names of the pods that were not deleted.
    pods: Vec<String>,
    nodes: Vec<String>,
    made: usize,
    /// Number of changes by kind.
    done: BTreeMap<&'static str, u64>,
    /// The node on which each pod was first seen, by UID.
    places: BTreeMap<String, String>,
}

impl World<'_> {
    fn pod_path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/pods/{name}", self.namespace)
    }

    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    fn new_node(&mut self) {
        self.made += 1;
        let name = format!("node-{}", self.made);
        let mut node = objects::node(&name, &[("cpu", "4"), ("memory", "16Gi")]);
        let disk = if self.dice.chance(50) { "ssd" } else { "hdd" };
        node = objects::with_label(node, "disk", disk);
        self.client.call(post("/api/v1/nodes", &node));
        self.nodes.push(name);
    }

    fn pod(&mut self, name: &str) -> Value {
        let cpu = format!("{}m", 100 + 50 * self.dice.below(19));
        let mut pod =
            objects::pod(&self.namespace, name, &self.scheduler, &[("cpu", &cpu), ("memory", "64Mi")]);
        if self.dice.chance(25) {
            pod["spec"]["nodeSelector"] = json!({ "disk": "ssd" });
        } else if self.dice.chance(8) {
            // Only the nodes at the end have this label.
            pod["spec"]["nodeSelector"] = json!({ "late": "yes" });
        } else if self.dice.chance(4) {
            pod = objects::pod(&self.namespace, name, &self.scheduler, &[("cpu", "500")]);
        }
        if self.dice.chance(30) {
            pod["spec"]["tolerations"] = json!([{ "key": "dedicated", "operator": "Exists" }]);
        }
        if self.dice.chance(30) {
            pod["spec"]["terminationGracePeriodSeconds"] = json!(10);
        }
        let tier = if self.dice.chance(30) { "gold" } else { "tin" };
        objects::with_label(pod, "tier", tier)
    }

    fn new_pods(&mut self) {
        let job = self.dice.chance(10);
        let first = self.made;
        for _ in 0..if job { 3 } else { 1 } {
            self.made += 1;
            let name = format!("p{}", self.made);
            let mut pod = self.pod(&name);
            if job {
                pod = objects::with_label(pod, "job", &format!("j{first}"));
            }
            self.client.call(post(format!("/api/v1/namespaces/{}/pods", self.namespace), &pod));
            self.pods.push(name);
            self.count("pod created");
        }
    }

    /// Makes one random change.
    fn change(&mut self) {
        match self.dice.below(100) {
            0..45 => {
                // About as many pods as fit, so that some wait.
                if self.pods.len() < self.nodes.len() * 8 {
                    self.new_pods();
                } else {
                    self.delete_pod();
                }
            }
            45..60 => self.delete_pod(),
            60..70 => {
                let Some(name) = self.dice.pick(&self.pods).cloned() else { return };
                let value = format!("v{}", self.dice.below(5));
                let patch = match self.dice.below(3) {
                    0 => json!({"metadata": {"labels": {"tier": value}}}),
                    1 => json!({"metadata": {"annotations": {"note": value}}}),
                    _ => {
                        json!({"metadata": {"labels": {"extra": if self.dice.chance(50) { json!(value) } else { Value::Null }}}})
                    }
                };
                self.client.call(merge(self.pod_path(&name), &patch));
                self.count("pod changed");
            }
            70..80 => {
                // As a kubelet does when a pod ends.
                let Some(name) = self.dice.pick(&self.pods).cloned() else { return };
                let phase = if self.dice.chance(70) { "Succeeded" } else { "Failed" };
                let path = format!("{}/status", self.pod_path(&name));
                self.client.call(strategic(path, &json!({"status": {"phase": phase}})));
                self.pods.retain(|it| *it != name);
                self.count("pod ended");
            }
            80..96 => self.change_node(),
            96..98 if self.nodes.len() < 25 => {
                self.new_node();
                self.count("node created");
            }
            96..99 if self.nodes.len() > 15 => {
                let at = self.dice.below(self.nodes.len());
                let name = self.nodes.swap_remove(at);
                self.client.call(delete(format!("/api/v1/nodes/{name}"), None));
                self.count("node deleted");
            }
            _ => self.change_policy(),
        }
    }

    fn delete_pod(&mut self) {
        if self.pods.is_empty() {
            return;
        }
        let at = self.dice.below(self.pods.len());
        let name = self.pods.swap_remove(at);
        self.client.call(delete(self.pod_path(&name), None));
        self.count("pod deleted");
    }

    fn change_node(&mut self) {
        let Some(name) = self.dice.pick(&self.nodes).cloned() else { return };
        let path = format!("/api/v1/nodes/{name}");
        let on = self.dice.chance(30);
        let patch = match self.dice.below(6) {
            0 => json!({"metadata": {"labels": {"disk": if self.dice.chance(50) { "ssd" } else { "hdd" }}}}),
            1 => json!({"metadata": {"labels": {"heat": if on { json!("hot") } else { Value::Null }}}}),
            2 => json!({"metadata": {"annotations": {"note": format!("v{}", self.dice.below(9))}}}),
            3 => {
                let taint = json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]);
                json!({"spec": {"taints": if on { taint } else { Value::Null }}})
            }
            4 => json!({"spec": {"unschedulable": on}}),
            _ => {
                let more = json!({"cpu": CPUS.to_string(), "memory": "16Gi", "pods": format!("{}", 110 + self.dice.below(9))});
                let status = json!({"status": {"allocatable": more, "capacity": more}});
                self.client.call(merge(format!("{path}/status"), &status));
                return self.count("node grown");
            }
        };
        self.client.call(merge(path, &patch));
        self.count("node changed");
    }

    fn change_policy(&mut self) {
        let Some(text) = self.dice.pick(&POLICIES) else { return };
        let maps = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        if self.dice.chance(20) {
            self.client.call(delete(format!("{maps}/soak"), None));
            return self.count("policy deleted");
        }
        let label = [("bayplan.dev/policy", "")];
        let map = objects::config_map(&self.namespace, "soak", &label, &[("policy.bay", text)]);
        if self.client.call(post(&*maps, &map)).is_none() {
            self.client.call(merge(format!("{maps}/soak"), &json!({"data": {"policy.bay": text}})));
        }
        self.count("policy written");
    }

    /// Does the work of kubelets and the garbage collector, and checks the invariants, from one
    /// consistent list.
    fn look(&mut self) {
        let list = |path: String| self.client.call(Request::get(path)).unwrap_or_default();
        let nodes = list("/api/v1/nodes".into());
        let pods = list(format!("/api/v1/namespaces/{}/pods", self.namespace));
        let there: BTreeSet<&str> =
            items(&nodes).filter_map(|node| node["metadata"]["name"].as_str()).collect();
        let mut taken: BTreeMap<&str, i64> = BTreeMap::new();
        let mut calls = Vec::new();
        for pod in items(&pods) {
            let (meta, phase) = (&pod["metadata"], pod["status"]["phase"].as_str().unwrap_or_default());
            let name = meta["name"].as_str().unwrap_or_default();
            let path = self.pod_path(name);
            let ended = matches!(phase, "Succeeded" | "Failed");
            if let Some(node) = pod["spec"]["nodeName"].as_str() {
                let uid = meta["uid"].as_str().unwrap_or_default().to_owned();
                let place = self.places.entry(uid).or_insert_with(|| node.to_owned());
                assert_eq!(place, node, "{name} moved");
                if !ended {
                    *taken.entry(node).or_default() += cpu_of(pod);
                }
                // A pod may be bound to a node that was deleted a moment ago and has no kubelet.
                if !there.contains(node) && self.dice.chance(30) || ended && self.dice.chance(30) {
                    calls.push(delete(path, Some(0)));
                } else if meta["deletionTimestamp"].is_string() {
                    if self.dice.chance(40) {
                        calls.push(delete(path, Some(0)));
                    }
                } else if phase == "Pending" {
                    calls.push(strategic(format!("{path}/status"), &json!({"status": {"phase": "Running"}})));
                }
            } else if ended && self.dice.chance(30) {
                calls.push(delete(path, Some(0)));
            }
        }
        for (node, milli) in taken {
            assert!(milli <= CPUS * 1_000, "{node} is over-committed: {milli}m of {CPUS} CPUs");
        }
        for call in calls {
            self.client.call(call);
        }
    }

    /// Ends the changes, and adds nodes so that every pod fits that any node can take.
    fn settle(&mut self) {
        self.client.call(delete(format!("/api/v1/namespaces/{}/configmaps/soak", self.namespace), None));
        for name in &self.nodes {
            let path = format!("/api/v1/nodes/{name}");
            self.client.call(merge(path, &json!({"spec": {"taints": null, "unschedulable": false}})));
        }
        for i in 0..40 {
            let mut node = objects::node(&format!("late-{i}"), &[("cpu", "4"), ("memory", "16Gi")]);
            for (key, value) in [("disk", "ssd"), ("late", "yes")] {
                node = objects::with_label(node, key, value);
            }
            self.client.call(post("/api/v1/nodes", &node));
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

/// Requested CPU in millicores.
fn cpu_of(pod: &Value) -> i64 {
    let text = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_str().unwrap_or("0");
    text.strip_suffix('m').map_or_else(|| text.parse().map(|n: i64| n * 1_000), str::parse).unwrap()
}

/// Resources of the process.
#[derive(Clone, Copy, Debug)]
struct Held {
    kib: u64,
    threads: u64,
    files: u64,
}

fn held(ours: &SchedulerProcess) -> Held {
    let pid = ours.daemon.pid();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |all| all.count() as u64);
    Held { kib: field("VmRSS:"), threads: field("Threads:"), files }
}

fn most(of: &[Held]) -> Held {
    let most = |part: fn(&Held) -> u64| of.iter().map(part).max().unwrap_or(0);
    Held { kib: most(|it| it.kib), threads: most(|it| it.threads), files: most(|it| it.files) }
}

/// A replica and what it held, second by second.
struct Replica {
    process: SchedulerProcess,
    since: Instant,
    held: Vec<Held>,
    /// Until when it is paused.
    paused: Option<Instant>,
}

/// Two replicas, and those that have ended.
struct Replicas<'a> {
    plane: &'a mut ControlPlane,
    proxy: Proxy,
    setup: Setup,
    alive: Vec<Replica>,
    ended: Vec<SchedulerProcess>,
    delayed: Option<Instant>,
    /// Number of disturbances so far.
    disturbed: usize,
}

impl<'a> Replicas<'a> {
    fn new(plane: &'a mut ControlPlane, scheduler: &str, namespace: &str) -> Self {
        let proxy = Proxy::start(plane.port());
        let setup = Setup::new(scheduler)
            .policies_from(namespace)
            .elects()
            .kubeconfig(plane.kubeconfig_through(&proxy, "admin"))
            .flag("--logging-format=json");
        let mut all =
            Self { plane, proxy, setup, alive: Vec::new(), ended: Vec::new(), delayed: None, disturbed: 0 };
        for _ in 0..2 {
            all.start();
        }
        all
    }

    fn start(&mut self) {
        let process = SchedulerProcess::spawn(self.plane, &self.setup);
        self.alive.push(Replica { process, since: Instant::now(), held: Vec::new(), paused: None });
    }

    /// Measures the replicas, resumes paused ones, and replaces those that ended.
    fn look(&mut self) {
        let now = Instant::now();
        if self.delayed.is_some_and(|until| until <= now) {
            self.delayed = None;
            self.proxy.delay(Duration::ZERO);
        }
        for at in (0..self.alive.len()).rev() {
            let replica = &mut self.alive[at];
            if replica.paused.is_some_and(|until| until <= now) {
                replica.paused = None;
                replica.process.daemon.resume();
            }
            if replica.process.daemon.is_running() {
                replica.held.push(held(&replica.process));
                continue;
            }
            let said = replica.process.said();
            assert!(!said.contains("panicked"), "{}", replica.process.daemon.log_tail(30));
            let ended = self.alive.remove(at);
            self.ended.push(ended.process);
            self.start();
        }
    }

    /// Does something to the connections, a replica or the API server; returns what.
    fn disturb(&mut self, dice: &mut Random, hard: bool) -> &'static str {
        let at = dice.below(self.alive.len());
        let replica = &mut self.alive[at].process.daemon;
        let now = Instant::now();
        // In turn, so that a short run has the hardest ones.
        self.disturbed += 1;
        let soft = dice.below(3);
        let kind = if hard { [4, 6, 3, 5, soft][(self.disturbed - 1) % 5] } else { soft };
        match kind {
            0 => {
                self.proxy.cut();
                "connections cut"
            }
            1 => {
                self.proxy.delay(Duration::from_millis(20 + 10 * dice.below(10) as u64));
                self.delayed = Some(now + Duration::from_secs(5));
                "answers delayed"
            }
            2 => {
                replica.pause();
                self.alive[at].paused = Some(now + Duration::from_secs(4));
                "replica paused"
            }
            3 => {
                // Past its lease: if it leads, it must end by itself.
                replica.pause();
                self.alive[at].paused = Some(now + Duration::from_secs(20));
                "replica paused past its lease"
            }
            4 => {
                replica.kill();
                "replica killed"
            }
            5 => {
                replica.resume();
                replica.terminate();
                "replica stopped"
            }
            _ => {
                self.plane.restart_api_server();
                "API server restarted"
            }
        }
    }

    /// Ends all disturbances, and waits until both replicas run and one leads.
    fn settle(&mut self) {
        self.proxy.delay(Duration::ZERO);
        for replica in &mut self.alive {
            replica.paused = Some(Instant::now());
        }
        let ready = became_true(Duration::from_secs(90), || {
            self.look();
            let url = |replica: &Replica| replica.process.url();
            self.alive.iter().all(|it| self.plane.get_from(&url(it), "/readyz").as_deref() == Some("ok"))
                && self.alive.iter().any(|it| it.process.said().contains("became leader"))
        });
        assert!(ready, "a replica is not ready:\n{}", self.alive[0].process.daemon.log_tail(30));
    }

    /// The logs of all processes.
    fn said(&self) -> Vec<String> {
        self.ended.iter().chain(self.alive.iter().map(|it| &it.process)).map(SchedulerProcess::said).collect()
    }
}

/// Time between two disturbances.
const DISTURB: Duration = Duration::from_secs(17);

fn soak(time: Duration, seed: u64) {
    println!("soak: seed {seed}, {time:?}");
    let mut plane = ControlPlane::start();
    let client = ApiClient::new(&plane);
    let namespace = plane.create_namespace("soak");
    let scheduler = "soaked".to_owned();
    let mut world = World {
        client: &client,
        dice: Random(seed),
        namespace: namespace.clone(),
        scheduler: scheduler.clone(),
        pods: Vec::new(),
        nodes: Vec::new(),
        made: 0,
        done: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    for _ in 0..20 {
        world.new_node();
    }
    let mut replicas = Replicas::new(&mut plane, &scheduler, &namespace);
    let (begun, mut looked, mut disturbed) = (Instant::now(), Instant::now(), Instant::now());
    let (mut ticks, mut began) = (0, begun);
    while begun.elapsed() < time {
        world.change();
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            world.look();
            replicas.look();
        }
        if disturbed.elapsed() >= DISTURB.min(time / 4) {
            let what = replicas.disturb(&mut world.dice, begun.elapsed() < time / 3);
            world.count(what);
            // Connections of before a restart are broken.
            let answers = || client.text("/readyz").is_some();
            wait_until("the API server answers", Duration::from_secs(60), answers);
            disturbed = Instant::now();
        }
        ticks += 1;
        // Changes that a disturbance held up are left out.
        began = began.max(Instant::now() - Duration::from_secs(1) * ticks / RATE - Duration::from_secs(1));
        let due = began + Duration::from_secs(1) * ticks / RATE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    replicas.settle();
    world.settle();
    check_nothing_is_lost(replicas.plane, &mut world);
    check_the_logs(&mut world, &replicas);
    for replica in &mut replicas.alive {
        check_the_cache(replicas.plane, &namespace, &mut replica.process);
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("soak: {ticks} changes in {seconds:.0} s: {:?}", world.done);
    for replica in &replicas.alive {
        check_what_it_holds(replica, time);
    }
}

/// Memory, threads and files of a replica that has lived long enough do not grow.
fn check_what_it_holds(replica: &Replica, time: Duration) {
    let (held, lived) = (&replica.held, replica.since.elapsed());
    let leads = replica.process.said().contains("became leader");
    let cpu = replica.process.daemon.cpu_seconds().unwrap_or_default();
    // While it warms up it grows: five minutes, or a sixth of a shorter run.
    let warm = Duration::from_secs(300).min(time / 6).as_secs() as usize;
    let part = (held.len().saturating_sub(warm) / 4).max(1);
    if lived < time / 2 || held.len() < warm + 2 * part {
        println!("soak: a replica (leads: {leads}) lived {lived:?} only, CPU {cpu:.1} s");
        return;
    }
    let (first, last) = (most(&held[warm..warm + part]), most(&held[held.len() - part..]));
    println!("soak: leads: {leads}, lived {lived:?}, at first {first:?}, at last {last:?}, CPU {cpu:.1} s");
    assert!(last.kib < first.kib + first.kib / 10 + 8 * 1024, "memory grows: {first:?}, {last:?}");
    assert!(last.threads <= first.threads + 2, "threads grow: {first:?}, {last:?}");
    assert!(last.files <= MOST_FILES, "files grow: {first:?}, {last:?}");
}

/// Every pod that fits some node is bound, and every other pod has the condition `Unschedulable`.
fn check_nothing_is_lost(plane: &ControlPlane, world: &mut World<'_>) {
    let (mut waiting, mut untold) = (Vec::new(), Vec::new());
    let settled = became_true(Duration::from_secs(90), || {
        world.look();
        let pods = plane.get_json(["pods", "--namespace", &world.namespace]);
        let open = items(&pods).filter(|pod| {
            let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            !ended && pod["spec"]["nodeName"].is_null()
        });
        let (huge, others): (Vec<&Value>, Vec<&Value>) = open.partition(|pod| cpu_of(pod) > CPUS * 1_000);
        let told = |pod: &&Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|it| it["type"] == "PodScheduled" && it["reason"] == "Unschedulable")
        };
        let names = |of: Vec<&Value>| -> Vec<String> {
            of.iter().map(|pod| pod["metadata"]["name"].to_string()).collect()
        };
        (waiting, untold) = (names(others), names(huge.into_iter().filter(|pod| !told(pod)).collect()));
        let terminating = items(&pods).any(|pod| pod["metadata"]["deletionTimestamp"].is_string());
        waiting.is_empty() && untold.is_empty() && !terminating
    });
    assert!(settled, "pods were lost: {waiting:?} wait, {untold:?} have no condition");
}

/// Each pod was bound once, by one replica.
fn check_the_logs(world: &mut World<'_>, replicas: &Replicas<'_>) {
    world.look();
    let mut bound: BTreeSet<String> = BTreeSet::new();
    for said in replicas.said() {
        for line in said.lines().filter(|line| line.contains("Successfully bound pod to node")) {
            // A killed process may leave half a line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let pod = line["pod"].as_str().unwrap_or_default().to_owned();
            assert!(bound.insert(pod.clone()), "{pod} was bound twice");
        }
    }
    let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", world.namespace);
    let request = Request::get(path).within(Duration::from_secs(300));
    let events = world.client.call(request).unwrap_or_default();
    let mut told = BTreeSet::new();
    for event in items(&events).filter(|event| event["reason"] == "Scheduled") {
        let uid = event["regarding"]["uid"].as_str().unwrap_or_default();
        assert!(event["series"].is_null() && told.insert(uid.to_owned()), "{uid} was bound twice");
    }
    world.done.insert("pods bound", bound.len() as u64);
    // A killed replica takes a few lines and events with it.
    let untold = world.places.keys().filter(|uid| !told.contains(*uid)).count();
    let (placed, logged) = (world.places.len(), bound.len());
    assert!(logged * 100 >= placed * 95, "{logged} of {placed} pods are in the logs");
    assert!(untold * 20 <= placed, "{untold} of {placed} bindings without event");
}

/// Without changes the scheduler's cache becomes equal to the objects of the API server.
fn check_the_cache(plane: &ControlPlane, namespace: &str, ours: &mut SchedulerProcess) {
    std::thread::sleep(Duration::from_secs(3));
    ours.daemon.signal("USR2");
    wait_until("the cache is shown", Duration::from_secs(30), || {
        ours.said().contains("Dump of scheduling queue")
    });
    let said = ours.said();
    assert!(said.contains("Cache comparer finished"), "{}", ours.daemon.log_tail(20));
    assert!(!said.contains("Cache mismatch"), "{}", ours.daemon.log_tail(20));
    let field = |line: &str, name: &str| -> Value {
        let line: Value = serde_json::from_str(line).unwrap();
        serde_json::from_str(line[name].as_str().unwrap()).unwrap()
    };
    let shown: BTreeMap<String, Value> = said
        .lines()
        .filter(|line| line.contains("Dump of cached NodeInfo"))
        .map(|line| field(line, "node"))
        .map(|node| (node["name"].as_str().unwrap().to_owned(), node))
        .collect();
    let pods = plane.get_json(["pods", "--namespace", namespace]);
    let live: Vec<&Value> = items(&pods)
        .filter(|pod| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")))
        .collect();
    let nodes = plane.get_json(["nodes"]);
    let mut seen = 0;
    for node in items(&nodes) {
        let name = node["metadata"]["name"].as_str().unwrap();
        let cached = shown.get(name).unwrap_or_else(|| panic!("{name} is not in the cache"));
        let on: Vec<&&Value> = live.iter().filter(|pod| pod["spec"]["nodeName"] == name).collect();
        let uids = |of: Vec<&Value>| -> BTreeSet<String> { of.iter().map(|uid| uid.to_string()).collect() };
        let there = uids(on.iter().map(|pod| &pod["metadata"]["uid"]).collect());
        let here = uids(cached["pods"].as_array().unwrap().iter().map(|pod| &pod["uid"]).collect());
        assert_eq!(here, there, "pods of {name}");
        let milli: i64 = on.iter().map(|pod| cpu_of(pod)).sum();
        assert_eq!(cached["requested"]["milliCPU"], milli, "requested on {name}");
        assert_eq!(cached["requested"]["memory"], 64 * 1024 * 1024 * on.len(), "requested on {name}");
        assert_eq!(
            cached["allocatable"]["allowedPodNumber"].to_string(),
            node["status"]["allocatable"]["pods"].as_str().unwrap()
        );
        assert_eq!(cached["labels"], node["metadata"]["labels"], "labels of {name}");
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        assert_eq!(cached["taints"].as_array().unwrap().len(), taints.len(), "taints of {name}");
        assert_eq!(cached["unschedulable"], node["spec"]["unschedulable"] == true, "{name}");
        seen += 1;
    }
    let gone: Vec<&String> =
        shown.iter().filter(|(_, node)| node["deleted"] == true).map(|(name, _)| name).collect();
    for name in &gone {
        assert!(
            live.iter().any(|pod| pod["spec"]["nodeName"] == ***name),
            "{name} is kept although it has no pods"
        );
    }
    assert_eq!(shown.len(), seen + gone.len(), "the cache has nodes that the API server lacks");
    let queue = said.lines().rfind(|line| line.contains("Dump of scheduling queue")).unwrap();
    let queued = field(queue, "pods");
    let waiting = live.iter().filter(|pod| pod["spec"]["nodeName"].is_null()).count();
    assert_eq!(queued.as_array().unwrap().len(), waiting, "{queue}");
}
