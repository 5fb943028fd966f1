//! Policies that read what nodes use: what they decide, in both dialects, and which events wake their pods.

use crate::support::policies::{NOW, attempt, compile, framework, snapshot};
use bayplan::framework::{Answer, ApiCall, Framework, Instances, Named, Profile};
use bayplan::lang::typed::Point;
use bayplan::model::{Change, Duration, Measured, Object, Reading, Snapshot, Symbol, Time};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{namespace, node, pod};
use std::sync::Arc;

const POLL: Duration = Duration::from_seconds(15);

fn reading(node: &str, at: Time, cpu: i64) -> Reading {
    Reading { node: Symbol::new(node), measured: Measured::Sample { at, cpu, memory: cpu << 20 } }
}

fn poll(snapshot: &mut Snapshot, at: Time, readings: &[(&str, i64)]) {
    let readings = readings.iter().map(|(node, cpu)| reading(node, at, *cpu)).collect();
    snapshot.apply(Change::Metrics { at, readings });
}

fn read_by(framework: &Framework, snapshot: &mut Snapshot) {
    snapshot.set_metrics_windows(framework.metrics_windows());
}

const COOL: &str = r#"policy cool {
    source load = metrics(window: 30s, max_age: 1min)
    filter cool {
        reject "the load of the node is unknown" when load[node.name] == none
        reject "node(s) busy" with {load: load[node.name].cpu.mean} when load[node.name].cpu.mean > 1cpu
    }
}"#;

const COOL_DOCUMENT: &str = r#"apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: cool}
spec:
  sources: [{name: load, window: 30s, maxAge: 1min}]
  filters:
  - name: cool
    rules:
    - {reject: the load of the node is unknown, when: '!sources.load[?node.name].hasValue()'}
    - {reject: node(s) busy, when: 'sources.load[node.name].cpu.mean > quantity("1")'}
"#;

#[test]
fn the_mean_over_the_window_decides_in_both_dialects() {
    for text in [COOL, COOL_DOCUMENT] {
        let framework = framework(text);
        let nodes = ["n1", "n2", "n3"].map(|name| node(name).build()).to_vec();
        let mut snapshot = snapshot(&framework, nodes, Vec::new());
        read_by(&framework, &mut snapshot);
        let reasons = |snapshot: &Snapshot| attempt(&framework, snapshot, &pod("p").build()).reasons;
        let unknown = "the load of the node is unknown";
        let of = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(node, why)| (node.to_string(), why.to_string())).collect()
        };
        assert_eq!(reasons(&snapshot), of(&[("n1", unknown), ("n2", unknown), ("n3", unknown)]), "{text}");
        // The first sample is outside of the window at the third.
        poll(&mut snapshot, NOW, &[("n1", 9_000), ("n2", 9_000)]);
        poll(&mut snapshot, NOW + POLL, &[("n1", 900), ("n2", 1_200)]);
        poll(&mut snapshot, NOW + POLL + POLL, &[("n1", 1_100), ("n2", 900)]);
        assert_eq!(reasons(&snapshot), of(&[("n2", "node(s) busy"), ("n3", unknown)]), "{text}");
        // The API says nothing of n1 any more, and after a minute it is as if it had never said anything.
        for at in 3..8 {
            poll(&mut snapshot, NOW + Duration(POLL.0 * at), &[("n2", 500)]);
        }
        assert_eq!(reasons(&snapshot), of(&[("n1", unknown), ("n3", unknown)]), "{text}");
        snapshot.apply(Change::NodeRemoved { name: Symbol::new("n2") });
        snapshot.apply(Change::NodeUpserted { node: node("n2").build() });
        assert_eq!(reasons(&snapshot).len(), 3, "{text}: a node that was made again has no metrics");
    }
}

#[test]
fn every_field_of_a_source_is_read() {
    let framework = framework(
        r#"policy fields {
            source load = metrics(window: 5min, max_age: 1h)
            score s normalize minmax {
                let l = load[node.name]
                give none when l == none
                give l.cpu.latest / 1m + 10 * (l.cpu.mean / 1m) + 100 * (l.cpu.std / 1m) + 1000 * (l.cpu.max / 1m)
                    + 1000000 * (l.memory.mean / 1Mi) + 1000000000 * l.samples + (now() - l.window_end) / 1s + l.age / 1s
            }
        }"#,
    );
    let mut snapshot = snapshot(&framework, vec![node("n1").build(), node("n2").build()], Vec::new());
    read_by(&framework, &mut snapshot);
    poll(&mut snapshot, NOW - POLL - POLL, &[("n1", 1), ("n2", 9)]);
    poll(&mut snapshot, NOW - POLL, &[("n1", 3)]);
    snapshot.apply(Change::Metrics { at: NOW, readings: Arc::default() });
    let compiled = compile(
        r#"policy values { source load = metrics(window: 5min, max_age: 1h)
            filter f { require load["n1"] != none && load["n1"].cpu.latest == 3m && load["n1"].cpu.mean == 2m && load["n1"].cpu.std == 1m
                && load["n1"].cpu.max == 3m && load["n1"].memory.mean == 2Mi && load["n1"].samples == 2
                && load["n1"].age == 15s && now() - load["n1"].window_end == 15s else "no" } }"#,
    );
    let policy = compiled.iter().next().unwrap();
    let subject = pod("p").build();
    let context = bayplan::lang::eval::context::EvalContext::new(&subject, &snapshot, NOW);
    let check = policy.policy.checks_at(Point::Filter).next().unwrap();
    assert!(policy.evaluator(context).holds(check.condition.as_ref().unwrap()));
    let outcome = attempt(&framework, &snapshot, &subject);
    assert_eq!(outcome.scores.len(), 2);
}

/// A scheduler with a policy and in-tree plugins that place pods.
fn scheduler(text: &str) -> Scheduler {
    let compiled = compile(text).iter().next().unwrap().clone();
    let mut registry = bayplan::plugins::registry();
    let name = compiled.name().to_owned();
    registry.add_plugin(Arc::new(PolicyPlugin::new(compiled, ExemptPods::default()))).unwrap();
    let mut profile = Profile::new("default-scheduler");
    let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
    profile.multi_point.disabled.push(named("*"));
    profile.multi_point.enabled.extend(["PrioritySort", "DefaultBinder", &name].map(named));
    let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
    let mut scheduler = Scheduler::new(Options { longest_wait: None, ..Options::default() });
    let profiles = Arc::new(Profiles { frameworks: vec![framework], revision: 1 });
    let mut inputs = vec![Input::Profiles(profiles), Input::Lead(true)];
    inputs.push(Input::Upserted(namespace("default").object()));
    inputs.extend(["n1", "n2"].map(|name| Input::Upserted(Object::Node(node(name).build()))));
    inputs.extend([Input::Upserted(Object::Pod(pod("p").build())), Input::Synced]);
    inputs.into_iter().for_each(|input| scheduler.step(input, NOW, &mut Vec::new()));
    scheduler
}

/// Hands an input over, runs attempts and answers every call; whether the pod was placed, and how often it was tried.
fn step(scheduler: &mut Scheduler, input: Input, now: Time) -> (bool, usize) {
    let (mut inputs, mut placed, mut tried) = (vec![Input::Tick, input], false, 0);
    while let Some(input) = inputs.pop() {
        let mut effects = Vec::new();
        scheduler.step(input, now, &mut effects);
        for effect in effects {
            if let Effect::Call(ticket, call) = effect {
                placed |= matches!(call, ApiCall::Bind { .. });
                inputs.push(Input::Reply(ticket, Ok(Answer::Done)));
            }
        }
        if inputs.is_empty() && scheduler.wants_cycle() {
            tried += 1;
            inputs.push(Input::Cycle);
        }
    }
    (placed, tried)
}

#[test]
fn a_poll_wakes_the_pods_that_metrics_keep_waiting() {
    let mut scheduler = scheduler(COOL);
    let metrics = |all: &[(&str, i64)], at: Time| {
        Input::Metrics(all.iter().map(|(node, cpu)| reading(node, at, *cpu)).collect())
    };
    assert_eq!(step(&mut scheduler, Input::Tick, NOW), (false, 1));
    // Without any sample a poll that says nothing wakes no pod: a metrics API that is missing costs nothing.
    let mut now = NOW;
    for _ in 0..4 {
        now = now + POLL;
        assert_eq!(step(&mut scheduler, metrics(&[], now), now), (false, 0));
    }
    now = now + POLL;
    assert_eq!(step(&mut scheduler, metrics(&[("n1", 3_000)], now), now), (false, 1));
    now = now + POLL + POLL;
    assert_eq!(step(&mut scheduler, metrics(&[("n1", 500), ("n2", 3_000)], now), now), (true, 1));
    assert_eq!(scheduler.queue_place(&pod("p").build().key), None::<QueuePlace>);
}

#[test]
fn metrics_that_grow_too_old_wake_pods_too() {
    let mut scheduler = scheduler(
        r#"policy cool { source load = metrics(window: 30s, max_age: 30s)
            filter cool { reject "node(s) busy" when (load[node.name].cpu.mean ?? 0m) > 1cpu } }"#,
    );
    let mut now = NOW + POLL;
    let hot = ["n1", "n2"].map(|name| reading(name, now, 4_000)).to_vec();
    scheduler.step(Input::Metrics(hot.into()), now, &mut Vec::new());
    assert_eq!(step(&mut scheduler, Input::Tick, now), (false, 1));
    let mut placed = false;
    for _ in 0..4 {
        now = now + POLL;
        placed |= step(&mut scheduler, Input::Metrics(Arc::default()), now).0;
    }
    assert!(placed, "what is known of the nodes is too old to refuse anything");
}

#[test]
fn readings_of_no_use_change_nothing_and_keep_nothing() {
    let mut scheduler = scheduler(COOL);
    let bad = [reading("n1", NOW, -1), reading("n1", NOW, i64::MAX), reading("nowhere", NOW, 1)];
    let many = (0..100_000).map(|at| reading(&format!("x{at}"), NOW, 1));
    let readings: Vec<Reading> = bad.into_iter().chain(many).collect();
    assert!(!step(&mut scheduler, Input::Metrics(readings.into()), NOW).0);
    assert_eq!(scheduler.snapshot().kept().metrics, 0);
}

#[test]
fn without_a_policy_that_reads_them_no_metrics_are_kept() {
    let mut scheduler = scheduler("policy other { filter f { require node.ready else \"no\" } }");
    scheduler.step(Input::Metrics([reading("n1", NOW, 1)].into()), NOW, &mut Vec::new());
    assert_eq!(scheduler.snapshot().kept().metrics, 0);
}
