//! Pods through the whole scheduler: what becomes of them, and what their owners read.

use crate::support::plugins::{Gang, Reserved, Reserver, basics, framework, reserved};
use crate::support::policies::compile;
use crate::support::repository;
use bayplan::dry_run::{self, Api, Options, Report, Standing, WatchEvent, World};
use bayplan::framework::{At, Instances, Named, Plugin, Point, Profile, Selection};
use bayplan::model::{Duration, KindRow, Object, Symbol, Time};
use bayplan::plugins::policy::{self, ExemptPods};
use bayplan::scheduler::{self, Effect, Input, Profiles, Scheduler};
use bayplan::testing::{PodMaker, node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

fn profiles(scheduler_name: &str, plugins: Vec<Arc<dyn Plugin>>) -> Arc<Profiles> {
    Arc::new(Profiles { frameworks: vec![framework(scheduler_name, plugins)], revision: 1 })
}

fn with(more: Vec<Arc<dyn Plugin>>) -> Arc<Profiles> {
    profiles("default-scheduler", basics().into_iter().chain(more).collect())
}

fn run(objects: Vec<Object>, profiles: Arc<Profiles>) -> Report {
    let world: World = objects.into_iter().collect();
    dry_run::run(&world, profiles, &Options::default())
}

fn standings(report: &Report) -> Vec<(String, Standing)> {
    report.pods.iter().map(|pod| (pod.pod.name.to_string(), pod.standing.clone())).collect()
}

fn bound(node: &str) -> Standing {
    Standing::Bound(Symbol::new(node))
}

#[test]
fn a_pod_goes_through_assume_reserve_permit_and_bind() {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").object()];
    let report = run(objects, with(vec![Arc::new(Reserver("first")), Arc::new(Reserver("second"))]));
    assert_eq!(standings(&report), [(String::from("web"), bound("n1"))]);
    let notes: Vec<_> = report.pods[0].events.iter().map(|event| (&*event.reason, &*event.note)).collect();
    assert_eq!(notes, [("Scheduled", "Successfully assigned default/web to n1")]);
    let index = report.scheduler.snapshot().index::<Reserved>(&reserved()).unwrap();
    assert_eq!(index.history, ["+first web", "+second web", "=first web", "=second web"]);
    assert_eq!(report.scheduler.open_calls(), 0);
}

#[test]
fn room_that_is_taken_is_taken_for_the_next_pod() {
    let objects = vec![
        node("n1").cpu("1").object(),
        pod("a").cpu("700m").object(),
        pod("b").cpu("700m").object(),
        pod("c").cpu("300m").object(),
    ];
    let report = run(objects, with(vec![]));
    let message = String::from("0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(
        standings(&report),
        [
            (String::from("a"), bound("n1")),
            (String::from("b"), Standing::Waiting { message }),
            (String::from("c"), bound("n1")),
        ]
    );
}

#[test]
fn a_gang_that_is_whole_binds_and_one_that_is_not_times_out_with_nothing_left_behind() {
    let member = |name: &str, gang: &str, size: &str| {
        pod(name).cpu("400m").label("gang", gang).label("gang-size", size).object()
    };
    let objects = vec![
        node("n1").cpu("1").object(),
        node("n2").cpu("1").object(),
        member("whole-1", "whole", "2"),
        member("whole-2", "whole", "2"),
        member("half-1", "half", "3"),
        member("half-2", "half", "3"),
        member("half-3", "half", "3"),
    ];
    let report = run(objects, with(vec![Arc::new(Reserver("ledger")), Arc::new(Gang::default())]));
    let nodes: Vec<bool> = report.pods.iter().map(|pod| matches!(pod.standing, Standing::Bound(_))).collect();
    assert_eq!(nodes, [true, true, false, false, false]);
    assert!(report.pods[2].waited.is_some() && report.pods[3].waited.is_some());
    let refused = &report.pods[2].events[0];
    assert_eq!(
        refused.note,
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Gang."
    );
    assert_eq!(report.pods[3].events[0].note, "0/1 nodes are available: 1 the gang broke up.");
    let snapshot = report.scheduler.snapshot();
    let index = snapshot.index::<Reserved>(&reserved()).unwrap();
    assert!(index.now.is_empty(), "{:?}", index.now);
    let requested: Vec<i64> = snapshot.nodes().map(|node| node.requested().milli_cpu).collect();
    assert_eq!(requested.iter().sum::<i64>(), 800);
}

/// A cluster that goes on: the scheduler, its server, and a user who changes objects.
struct Cluster {
    scheduler: Scheduler,
    server: Api,
    seen: usize,
    now: Time,
    events: Vec<String>,
}

impl Cluster {
    fn new(profiles: Arc<Profiles>, objects: Vec<Object>) -> Self {
        let scheduler = Scheduler::new(scheduler::Options::default());
        let now = Time(1_767_614_400_000_000);
        let mut cluster = Self { scheduler, server: Api::new(), seen: 0, now, events: Vec::new() };
        cluster.step(Input::Profiles(profiles));
        cluster.step(Input::Lead(true));
        cluster.step(Input::Synced);
        objects.into_iter().for_each(|object| cluster.put(object));
        cluster
    }

    fn put(&mut self, object: Object) {
        self.server.put(object);
        self.watch();
    }

    fn watch(&mut self) {
        while let Some((_, event)) = self.server.log().get(self.seen).cloned() {
            self.seen += 1;
            self.step(match event {
                WatchEvent::Upserted(object) => Input::Upserted(object),
                WatchEvent::Deleted(key) => Input::Deleted(key),
            });
        }
    }

    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.scheduler.step(input, self.now, &mut out);
        for effect in out {
            match effect {
                Effect::Call(ticket, call) => {
                    let answer = self.server.answer(&call, self.now, None);
                    self.step(Input::Reply(ticket, answer));
                }
                Effect::Event(event) => self.events.push(format!("{} {}", event.reason, event.note)),
                _ => {}
            }
        }
    }

    /// Lets the scheduler work for some seconds.
    fn wait(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.watch();
            while self.scheduler.wants_cycle() {
                self.step(Input::Cycle);
                self.watch();
            }
            self.now = self.now + Duration::from_seconds(1);
            self.step(Input::Tick);
        }
    }

    fn node_of(&self, pod: &str) -> Option<String> {
        self.server.pod("default", pod)?.node_name.as_ref().map(|node| node.to_string())
    }
}

/// The tutorial's walk-through: i-scheduler with all other scores disabled and the policy for its plugin.
#[test]
fn a_label_that_comes_later_lets_a_waiting_pod_in_and_the_highest_label_wins() {
    const KEY: &str = "priority.lixueduan.com";
    let text = std::fs::read_to_string(repository("policies/tutorial/label-priority.bay")).unwrap();
    let mut registry = bayplan::plugins::registry();
    for plugin in policy::plugins(&compile(&text), &ExemptPods::default()) {
        registry.add_plugin(plugin).unwrap();
    }
    let all = Named { name: String::from("*"), weight: 0, at: At::default() };
    let ours = Named { name: String::from("label-priority"), weight: 1, at: At::default() };
    let scores = Selection { enabled: vec![ours], disabled: vec![all] };
    let profile = Profile { points: vec![(Point::Score, scores)], ..Profile::new("i-scheduler") };
    let framework = profile.build(&registry, &mut Instances::default()).unwrap();
    let profiles = Arc::new(Profiles { frameworks: vec![Arc::new(framework)], revision: 1 });

    let labelled = |name: &str, value: &str| node(name).cpu("4").memory("8Gi").label(KEY, value).object();
    let bare = |name: &str| node(name).cpu("4").memory("8Gi").object();
    let test = |name: &str| pod(name).scheduler("i-scheduler").object();
    let mut cluster = Cluster::new(profiles, vec![bare("scheduler-1"), bare("scheduler-2"), test("first")]);
    cluster.wait(3);
    assert_eq!(cluster.node_of("first"), None);
    assert_eq!(
        cluster.events,
        [format!(
            "FailedScheduling 0/2 nodes are available: 1 Node:Node: scheduler-1 does not have label {KEY}, \
             1 Node:Node: scheduler-2 does not have label {KEY}. preemption: 0/2 nodes are \
             available: 2 No preemption victims found for incoming pod."
        )]
    );
    cluster.put(labelled("scheduler-1", "10"));
    cluster.wait(3);
    assert_eq!(cluster.node_of("first").as_deref(), Some("scheduler-1"));
    assert_eq!(cluster.events[1], "Scheduled Successfully assigned default/first to scheduler-1");
    cluster.put(labelled("scheduler-2", "20"));
    cluster.put(test("second"));
    cluster.wait(3);
    assert_eq!(cluster.node_of("second").as_deref(), Some("scheduler-2"));
    cluster.put(labelled("scheduler-1", "30"));
    cluster.put(test("third"));
    cluster.wait(3);
    assert_eq!(cluster.node_of("third").as_deref(), Some("scheduler-1"));
}

/// A policy's `permit` with a group, replaced while its pods wait.
#[test]
fn waiting_pods_are_judged_by_the_policy_that_replaced_theirs_and_go_on_when_it_is_gone() {
    let with = |text: &str| {
        let mut plugins = basics();
        if !text.is_empty() {
            plugins.extend(policy::plugins(&compile(text), &ExemptPods::default()));
        }
        profiles("default-scheduler", plugins)
    };
    let gang = |size: u32| {
        format!(
            "policy gang {{\n  group members = p in pods where p.labels[\"job\"] == pod.labels[\"job\"]\n  permit {{ \
             wait 60s for members until members.count(m, m.placed) >= {size} else \"too few members\" }}\n}}"
        )
    };
    let objects = || {
        let member = |name: &str| pod(name).label("job", "j").object();
        vec![node("n1").cpu("4").object(), member("a"), member("b")]
    };
    let mut cluster = Cluster::new(with(&gang(3)), objects());
    cluster.wait(2);
    assert_eq!((cluster.node_of("a"), cluster.scheduler.bindings().len()), (None, 2));
    cluster.step(Input::Profiles(with(&gang(2))));
    assert!(cluster.node_of("a").is_some() && cluster.node_of("b").is_some());

    let mut cluster = Cluster::new(with(&gang(3)), objects());
    cluster.wait(2);
    cluster.step(Input::Profiles(with("")));
    assert!(cluster.node_of("a").is_some() && cluster.node_of("b").is_some());

    let mut cluster = Cluster::new(with(&gang(3)), objects());
    cluster.wait(70);
    assert_eq!((cluster.node_of("a"), cluster.node_of("b")), (None, None));
    let text = "FailedScheduling 0/1 nodes are available: 1 too few members.";
    assert_eq!(cluster.events[..2], [text, text]);
}

/// The default profile, without these plugins.
fn default_profile(disabled: &[&str]) -> Arc<Profiles> {
    let disabled = disabled.iter().map(|name| Named { name: name.to_string(), weight: 0, at: At::default() });
    let profile = Profile {
        multi_point: Selection { enabled: Vec::new(), disabled: disabled.collect() },
        ..Profile::new("default-scheduler")
    };
    let framework = profile.build(&bayplan::plugins::registry(), &mut Instances::default()).unwrap();
    Arc::new(Profiles { frameworks: vec![Arc::new(framework)], revision: 1 })
}

fn anti_affinity_to(app: &str) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": app}}},
    ]})
}

/// One pod on a cluster with room, after which plugins were disabled: its last event.
fn event_of(made: PodMaker, disabled: &[&str]) -> String {
    let nodes = ["n1", "n2"].map(|name| node(name).cpu("4").memory("8Gi").object());
    let objects = nodes.into_iter().chain([made.object()]).collect();
    let report = run(objects, default_profile(disabled));
    let event = report.pods[0].events.last().unwrap();
    format!("{} {}", event.reason, event.note)
}

#[test]
fn a_profile_without_the_plugin_for_claims_places_a_pod_whose_claims_are_missing() {
    let claims = json!([{"name": "gpu", "resourceClaimName": "gpu"}]);
    let made = pod("p").set("spec.resourceClaims", claims);
    let report = run(vec![node("n1").object(), made.clone().object()], default_profile(&[]));
    assert!(report.pods[0].events.is_empty(), "its claim does not exist: {:?}", report.pods[0].events);
    let event = event_of(made, &["DynamicResources"]);
    assert!(event.starts_with("Scheduled Successfully assigned default/p to n"), "{event}");
}

/// Cases 8 and 9 of the reference: PreFilter refuses the pod before the plugin for resource claims runs, which then has
/// nothing to do at PostFilter and says so.
#[test]
fn a_claim_or_volume_that_does_not_exist_is_named() {
    let kind = |value: Value| {
        let row = KindRow::named("v1", value["kind"].as_str().unwrap()).unwrap();
        (row.from_value)(Arc::new(value)).unwrap()
    };
    let claim = || {
        let metadata = json!({"name": "c", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}});
        kind(json!({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": "v"}}))
    };
    let uses = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]);
    for (more, name) in [(vec![], "persistentvolumeclaim \"c\""), (vec![claim()], "persistentvolume \"v\"")] {
        let pod = pod("p").set("spec.volumes", uses.clone()).object();
        let objects =
            [node("n1").object(), node("n2").object()].into_iter().chain(more).chain([pod]).collect();
        let report = run(objects, default_profile(&[]));
        let event = report.pods[0].events.last().unwrap();
        assert_eq!(event.note, format!("0/2 nodes are available: {name} not found. not found"));
    }
}

#[test]
fn a_pod_that_a_running_pod_keeps_away_waits_until_that_pod_is_gone() {
    let guard = |name: &str| {
        pod(name).label("app", "db").set("spec.affinity.podAntiAffinity", anti_affinity_to("web"))
    };
    let zone = |name: &str| node(name).cpu("4").memory("8Gi").zone("a").object();
    let objects = vec![
        zone("n1"),
        zone("n2"),
        guard("guard").on("n1").phase("Running").object(),
        pod("web").label("app", "web").object(),
        pod("other").label("app", "other").object(),
    ];
    let mut cluster = Cluster::new(default_profile(&[]), objects);
    cluster.wait(3);
    assert!(cluster.node_of("other").is_some());
    assert_eq!(cluster.node_of("web"), None);
    let text = "FailedScheduling 0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules. \
                preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.";
    assert!(cluster.events.iter().any(|event| event == text), "{:#?}", cluster.events);
    let guard = Object::Pod(guard("guard").build()).key();
    assert!(cluster.server.delete(&guard));
    cluster.wait(30);
    assert!(cluster.node_of("web").is_some(), "{:#?}", cluster.events);
}
