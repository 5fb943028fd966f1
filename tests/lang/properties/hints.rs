//! No event that helps a pod is skipped: on random policies, clusters and changes, the reference
//! evaluator refuses every pod that waits. Events that wake a pod in vain are counted, so that a hint
//! which always queues is noticed.

use super::Random;
use super::devices::{claim, claiming, slice};
use super::evaluators::cluster;
use super::programs::{Programs, Ty};
use crate::support::policies::{NOW, try_compile};
use bayplan::framework::{Answer, Framework, Instances, Named, Profile};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::{Check, Point, Rule, Statement};
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    Duration, KindName, Labels, LookedUp, Measured, Namespace, Node, Object, PodInfo, Reading, Symbol, Time,
};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{namespace, pod};
use std::sync::Arc;

/// Conditions on the pod and the cluster that real policies have and random programs seldom produce.
const OF_POD: &[&str] = &[
    r#"mates.count(m, m.placed) >= limit"#,
    r#"mates.count() < limit"#,
    r#"!mates.exists(m, m.placed)"#,
    r#"mates.all(m, !m.placed)"#,
    r#"mates.exists(m, m.node.labels["tier"] == "a")"#,
    r#"mates.sum(m, m.requests.cpu) > 1cpu"#,
    r#"mates.filter(m, m.placed).size() == 1"#,
    r#"nodes.count(n, n.labels["tier"] == "a") < 2"#,
    r#"nodes.all(n, n.ready)"#,
    r#"pods.exists(p, p.labels["team"] == pod.labels["team"] && p.name != pod.name)"#,
    r#"pods.count(p, p.nominated == "n1") > 0"#,
    r#"used[pod.labels["team"] ?? ""] < limit"#,
    r#"used[pod.labels["team"] ?? ""] >= limit"#,
    r#"used["a"] + used["b"] > 3"#,
    r#"tiers[pod.namespace].size() != 1"#,
    r#"asked[ns.labels["closed"] ?? ""].cpu <= 1cpu"#,
    r#"roomy["a"] >= limit"#,
    r#"roomy[lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "").labels["tier"] ?? ""] < 3"#,
    r#"ns.labels["closed"] == "yes""#,
    r#"pod.labels["team"] == "a""#,
    r#"has(lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? ""))"#,
    r#"objects("example.com/v1/Desk").count(d, d.labels["tier"] == "a") == 1"#,
    r#"(int(lookup("example.com/v1/Desk", "default", "a").spec.room) ?? 0) > 1"#,
    r#"objects("example.com/v1/Desk").exists(d, d.annotations["open"] == "yes" && d.name != pod.labels["job"])"#,
    r#"(load["n1"].cpu.mean ?? 0m) > 1cpu"#,
    r#"(load["n0"].cpu.latest ?? 0m) <= (load["n1"].cpu.max ?? 1cpu)"#,
    r#"load["n1"] == none"#,
    r#"nodes.exists(n, (late[n.name].age ?? 1h) <= 20s)"#,
    r#"pod.claims.all(c, c.allocated)"#,
    r#"pod.claims.exists(c, c.requests.exists(r, r.class == "x"))"#,
    r#"nodes.count(n, n.devices.exists(d, !d.allocated)) > 1"#,
    r#"mates.exists(m, m.claims.exists(c, c.allocated))"#,
];

/// Objects that policies look up.
const DESKS: [&str; 3] = ["a", "b", "shop"];

/// An object of the kind that the conditions look up, or its end. Some of its fields are read by no condition.
fn desk(random: &mut Random) -> Input {
    let kind = KindName::parse("example.com/v1/Desk").unwrap();
    let name = random.of(&DESKS);
    let desk = serde_json::json!({
        "metadata": {
            "name": name, "namespace": "default", "labels": {"tier": random.of(&["a", "b"])},
            "annotations": {"open": random.of(&["yes", "no"]), "other": random.of(&["x", "y"])},
        },
        "spec": {"room": random.below(4), "rest": random.below(4)},
    });
    let desk = LookedUp::new(&kind, desk, &Projection::everything()).unwrap();
    let desk = Object::Other(Arc::new(desk));
    if random.one_in(3) { Input::Deleted(desk.key()) } else { Input::Upserted(desk) }
}

/// A claim, a slice of devices, or the end of one.
fn device(random: &mut Random) -> Input {
    let object = if random.one_in(2) { slice(random, &["n0", "n1", "n2"]) } else { claim(random) };
    if random.one_in(3) { Input::Deleted(object.key()) } else { Input::Upserted(object) }
}

/// A poll of the metrics API, which may say nothing, or nothing of some nodes.
fn poll(random: &mut Random, now: Time) -> Input {
    let names: Vec<&str> = ["n0", "n1", "n2"].into_iter().filter(|_| !random.one_in(3)).collect();
    let names = if random.one_in(5) { Vec::new() } else { names };
    let readings = names.into_iter().map(|name| {
        let at = now - Duration::from_seconds(random.below(40) as i64);
        let (cpu, memory) = (random.below(4) as i64 * 700, (random.below(4) as i64) << 30);
        Reading { node: Symbol::new(name), measured: Measured::Sample { at, cpu, memory } }
    });
    Input::Metrics(readings.collect())
}

const OF_NODE: &[&str] = &[
    r#"node.labels["tier"] == pod.labels["tier"]"#,
    r#"mates.count(m, m.placed && m.node.labels["zone"] == node.labels["zone"]) <= 1"#,
    r#"mates.exists(m, m.node == node)"#,
    r#"!node.pods.exists(p, p.labels["team"] == pod.labels["team"])"#,
    r#"node.pods.size() < limit"#,
    r#"node.free.cpu >= pod.requests.cpu"#,
    r#"node.requested.cpu <= 1cpu"#,
    r#"node.free.memory > 10Gi || node.ready"#,
    r#"node.allocatable.cpu > 4cpu"#,
    r#"node.gpus.exists(g, g.free >= 500)"#,
    r#"node.taints.size() == 0 && !node.unschedulable"#,
    r#"node.zone == "a""#,
    r#"busy[[pod.labels["team"] ?? "", node.labels["tier"] ?? ""]] <= 1cpu"#,
    r#"busy[["a", node.labels["tier"] ?? ""]] > 500m"#,
    r#"used[node.labels["tier"] ?? ""] <= 1"#,
    r#"nodes.filter(n, n.zone == node.zone).sum(n, n.free.cpu) > 5cpu"#,
    r#"pods.filter(p, p.node == node).all(p, p.priority <= pod.priority)"#,
    r#"lookup("example.com/v1/Desk", "default", "a").labels["tier"] == node.labels["tier"]"#,
    r#"objects("example.com/v1/Desk").exists(d, d.labels["tier"] == node.labels["tier"])"#,
    r#"(load[node.name].cpu.mean ?? 0m) < 1cpu"#,
    r#"(late[node.name].samples ?? 0) > 1"#,
    r#"load[node.name] != none && load[node.name].memory.std < 1Gi"#,
    r#"node.devices.exists(d, !d.allocated)"#,
    r#"node.devices.count(d, d.attributes["model"] == "a") == 1"#,
    r#"node.devices.sum(d, d.consumed.memory) > 0B"#,
    r#"node.pods.exists(p, p.claims.exists(c, c.allocated)) || pod.claims.size() == 0"#,
];

const LEDGERS: &str = r#"  ledger used: int by pod.labels["team"] ?? "" { add 1 when pod.labels["tier"] != "b" }
  ledger busy: cpu by [pod.labels["team"] ?? "", node.labels["tier"] ?? ""] { add pod.requests.cpu }
  ledger tiers: set<string> by pod.namespace { add pod.labels["tier"] ?? "" }
  ledger roomy: int by lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "").labels["tier"] ?? "" {
    add int(lookup("example.com/v1/Desk", "default", "b").spec.room) ?? 1 }
  ledger asked: resources by ns.labels["closed"] ?? "" { add pod.requests }
"#;

fn text(random: &mut Random) -> String {
    let mut text = String::from(
        "policy random {\n  param limit = 2\n  param key = \"team\"\n  group mates = m in pods where m.namespace == \
         pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]",
    );
    let text_of_group =
        random.of(&["\n", " && m.name != pod.name\n", " && m.placed\n", " && m.labels[\"tier\"] == \"a\"\n"]);
    text.push_str(text_of_group);
    text.push_str(LEDGERS);
    text.push_str("  source load = metrics(window: 5min, max_age: 2min)\n");
    text.push_str("  source late = metrics(window: 30s, max_age: 30s)\n");
    let of_pod = |random: &mut Random| {
        if !random.one_in(4) {
            return random.of(OF_POD).to_owned();
        }
        let mut programs = Programs::new(random);
        programs.nodes.clear();
        programs.expr(Ty::Bool, 2)
    };
    let of_node = |random: &mut Random| {
        if !random.one_in(4) {
            return random.of(OF_NODE).to_owned();
        }
        Programs::new(random).expr(Ty::Bool, 2)
    };
    for at in 0..1 + random.below(2) {
        text.push_str(&match random.below(8) {
            0 => format!("  applies when {}\n", of_pod(random)),
            1 => format!("  gate \"gate{at}\" when {}\n", of_pod(random)),
            2 | 3 => format!("  prefilter {{ reject \"pre{at}\" when {} }}\n", of_pod(random)),
            4 => String::from("  prefilter { only nodes [pod.labels[\"size\"] ?? \"n1\", \"n0\"] }\n"),
            _ => format!("  filter f{at} {{ require {} else \"no\" }}\n", of_node(random)),
        });
    }
    text.push_str("}\n");
    text
}

/// Whether the policy lets the pod onto some node, by the reference evaluator.
fn lets_in(compiled: &CompiledPolicy, scheduler: &Scheduler, pod: &PodInfo, now: Time) -> bool {
    let snapshot = scheduler.snapshot();
    let context = EvalContext::new(pod, snapshot, now);
    let policy = &compiled.policy;
    let mut of_pod = compiled.evaluator(context);
    let has_nodes = snapshot.node_count() > 0;
    if !policy.applies().iter().all(|condition| of_pod.holds(condition)) {
        return has_nodes;
    }
    let rules = compiled.rules();
    let mut refuses = |rule: &Rule, check: &Check| of_pod.refuses(rules, rule, check);
    if rules.at(Point::PreEnqueue).any(|rule| rule.checks().any(|check| refuses(rule, check))) {
        return false;
    }
    let mut named: Option<Vec<String>> = None;
    let before = rules.at(Point::PreFilter).flat_map(|rule| rules.statements(rule).map(move |of| (rule, of)));
    for (rule, statement) in before {
        match statement {
            Statement::Check(check) if refuses(rule, check) => return false,
            Statement::Only(only) => {
                let names = compiled.evaluator(context).value(&only.nodes);
                let names = names.elements().unwrap_or_default();
                named = Some(names.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect());
            }
            _ => {}
        }
    }
    snapshot.nodes().any(|node| {
        let mut on_node = compiled.evaluator(context.on(node));
        named.as_ref().is_none_or(|named| named.iter().any(|name| name == node.name().as_str()))
            && rules
                .at(Point::Filter)
                .all(|rule| !rule.checks().any(|check| on_node.refuses(rules, rule, check)))
    })
}

fn framework(compiled: &Arc<CompiledPolicy>) -> Arc<Framework> {
    let mut registry = bayplan::plugins::registry();
    let plugin = PolicyPlugin::new(compiled.clone(), ExemptPods::default());
    registry.add_plugin(Arc::new(plugin)).unwrap();
    let mut profile = Profile::new("default-scheduler");
    let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
    profile.multi_point.disabled.push(named("*"));
    profile.multi_point.enabled.extend(["PrioritySort", "DefaultBinder", "random"].map(named));
    Arc::new(profile.build(&registry, &mut Instances::default()).unwrap())
}

/// A change of one object, or of one of its fields.
fn change(random: &mut Random, nodes: &mut Vec<Arc<Node>>, pods: &mut Vec<Arc<PodInfo>>) -> Input {
    let (fresh_nodes, fresh_pods) = cluster(random);
    if random.one_in(4) {
        return desk(random);
    }
    if random.one_in(4) {
        return device(random);
    }
    match random.below(12) {
        0 => {
            let closed = (Symbol::new("closed"), Symbol::new(random.of(&["yes", "no"])));
            let name = Symbol::new(random.of(&["default", "other"]));
            Input::Upserted(Object::Namespace(Arc::new(Namespace {
                name,
                labels: Labels::from_iter([closed]),
                annotations: Default::default(),
                raw: None,
            })))
        }
        1 if nodes.len() > 1 => {
            let gone = nodes.remove(random.below(nodes.len()));
            Input::Deleted(Object::Node(gone).key())
        }
        2..=5 if !nodes.is_empty() => {
            let fresh: Arc<Node> = random.of(&fresh_nodes);
            let at = random.below(nodes.len());
            let mut node = (*nodes[at]).clone();
            match random.below(8) {
                0 => node.labels = fresh.labels.clone(),
                1 => node.unschedulable = !node.unschedulable,
                2 => {
                    node.allocatable = fresh.allocatable.clone();
                    node.allocatable_written = fresh.allocatable_written.clone();
                }
                3 => node.conditions = fresh.conditions.clone(),
                4 => node.taints = if node.taints.is_empty() { dirty() } else { Arc::from([]) },
                5 => node.capacity = fresh.capacity.clone(),
                6 => node.annotations = fresh.annotations.clone(),
                _ => node = Node { name: node.name.clone(), uid: node.uid.clone(), ..(*fresh).clone() },
            }
            nodes[at] = Arc::new(node);
            Input::Upserted(Object::Node(nodes[at].clone()))
        }
        1..=5 => {
            let fresh: Arc<Node> = random.of(&fresh_nodes);
            nodes.retain(|node| node.name != fresh.name);
            nodes.push(fresh.clone());
            Input::Upserted(Object::Node(fresh))
        }
        6 if !pods.is_empty() => {
            let gone = pods.remove(random.below(pods.len()));
            Input::Deleted(Object::Pod(gone).key())
        }
        7..=10 if !pods.is_empty() && !fresh_pods.is_empty() => {
            let fresh = random.of(&fresh_pods);
            let at = random.below(pods.len());
            let mut pod = (*pods[at]).clone();
            match random.below(6) {
                0 | 1 => pod.labels = fresh.labels.clone(),
                2 if pod.node_name.is_none() => {
                    pod.node_name = Some(Symbol::new(random.of(&["n0", "n1", "n2"])))
                }
                3 => pod.deleted = Some(NOW),
                4 if pod.node_name.is_none() => pod.nominated_node = Some(Symbol::new("n1")),
                5 => pod.requests = fresh.requests.clone(),
                _ => pod.annotations = fresh.annotations.clone(),
            }
            pods[at] = Arc::new(pod);
            Input::Upserted(Object::Pod(pods[at].clone()))
        }
        _ => {
            let name = format!("p{}", 10 + random.below(9));
            let mut maker = pod(&name).scheduler("another").cpu("500m");
            for key in ["team", "tier", "job"] {
                if random.one_in(2) {
                    maker = maker.label(key, random.of(&["a", "b"]));
                }
            }
            if random.one_in(2) {
                maker = maker.on(&format!("n{}", random.below(4)));
            }
            let fresh = maker.build();
            pods.retain(|pod| pod.name != fresh.name);
            pods.push(fresh.clone());
            Input::Upserted(Object::Pod(fresh))
        }
    }
}

fn dirty() -> Arc<[bayplan::model::Taint]> {
    Arc::from([bayplan::model::Taint {
        key: Symbol::new("dirty"),
        value: Symbol::default(),
        effect: bayplan::model::Effect::NoSchedule,
    }])
}

#[derive(Default, Debug)]
struct Counts {
    /// Changes while the pod waited.
    changes: usize,
    /// After which the pod could be placed.
    helped: usize,
    /// Which woke it in vain.
    in_vain: usize,
    /// Which did not wake it.
    asleep: usize,
}

fn watch(seed: u64, counts: &mut Counts) {
    let mut random = Random(seed);
    let (mut nodes, pods) = cluster(&mut random);
    let mut pods: Vec<Arc<PodInfo>> = pods
        .into_iter()
        .map(|pod| Arc::new(PodInfo { scheduler_name: Symbol::new("another"), ..(*pod).clone() }))
        .collect();
    let text = text(&mut random);
    let Ok(set) = try_compile(&text) else { return };
    let Some(compiled) = set.iter().next().cloned() else { return };
    // Another test covers time, and the reference has no values of the queue here.
    if compiled.reads.clock || ["attempts", "queued_at"].iter().any(|word| text.contains(word)) {
        return;
    }
    let mut me = pod("me").cpu("500m").priority(5);
    for key in ["team", "tier", "job"] {
        me = me.label(key, random.of(&["a", "b"]));
    }
    let me = claiming(&mut random, &me.build());
    let profiles = Profiles { frameworks: vec![framework(&compiled)], revision: 1 };
    let mut scheduler = Scheduler::new(Options { longest_wait: None, ..Options::default() });
    let mut inputs = vec![Input::Profiles(Arc::new(profiles)), Input::Lead(true)];
    inputs.extend(["default", "other"].map(|name| Input::Upserted(namespace(name).object())));
    inputs.extend(nodes.iter().map(|node| Input::Upserted(Object::Node(node.clone()))));
    inputs.extend(pods.iter().map(|pod| Input::Upserted(Object::Pod(pod.clone()))));
    inputs.extend([Input::Upserted(Object::Pod(me.clone())), Input::Synced]);
    let mut now = NOW;
    // Every call completes at once.
    let step = |scheduler: &mut Scheduler, input: Input, now: Time| {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            scheduler.step(input, now, &mut out);
            inputs.extend(out.into_iter().filter_map(|effect| match effect {
                Effect::Call(ticket, _) => Some(Input::Reply(ticket, Ok(Answer::Done))),
                _ => None,
            }));
        }
    };
    inputs.into_iter().for_each(|input| step(&mut scheduler, input, now));
    for turn in 0..60 {
        while scheduler.wants_cycle() {
            step(&mut scheduler, Input::Cycle, now);
        }
        match scheduler.queue_place(&me.key) {
            Some(QueuePlace::Unschedulable | QueuePlace::Gated) => {}
            Some(_) => {
                // It backs off.
                let Some(next) = scheduler.next_wakeup() else { return };
                now = now.max(next);
                step(&mut scheduler, Input::Tick, now);
                continue;
            }
            None => {
                // It found a node: after one more change it is created again.
                let gone = Input::Deleted(Object::Pod(me.clone()).key());
                let changed = change(&mut random, &mut nodes, &mut pods);
                for input in [gone, changed, Input::Upserted(Object::Pod(me.clone()))] {
                    step(&mut scheduler, input, now);
                }
                continue;
            }
        }
        let input = if random.one_in(5) {
            now = now + Duration::from_seconds(1 + random.below(20) as i64);
            step(&mut scheduler, Input::Tick, now);
            poll(&mut random, now)
        } else {
            change(&mut random, &mut nodes, &mut pods)
        };
        let said = format!("{input:?}");
        step(&mut scheduler, input, now);
        counts.changes += 1;
        let sleeps =
            matches!(scheduler.queue_place(&me.key), Some(QueuePlace::Unschedulable | QueuePlace::Gated));
        let could = lets_in(&compiled, &scheduler, &me, now);
        counts.helped += usize::from(could);
        counts.in_vain += usize::from(!could && !sleeps);
        counts.asleep += usize::from(sleeps);
        let by = scheduler.queued(&me.key).map(|queued| queued.unschedulable_plugins.iter().count());
        assert!(
            !(could && sleeps),
            "seed {seed}, turn {turn}: the pod could be placed and sleeps ({:?}, {by:?}) after\n{said}\n{text}",
            scheduler.queue_place(&me.key),
        );
    }
}

#[test]
fn no_event_is_kept_from_a_pod_that_it_helps() {
    let programs =
        std::env::var("BAYPLAN_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(200u64);
    let mut counts = Counts::default();
    for seed in 0..programs {
        watch(seed, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.helped > programs as usize / 8, "{counts:?}");
    assert!(counts.asleep > 2 * counts.in_vain, "hints that wake for anything: {counts:?}");
}
