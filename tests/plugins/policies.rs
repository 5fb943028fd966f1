//! Policies as plugins, from their text to placements: each statement at its extension point.

use crate::support::policies::{attempt, compile, framework, parts, snapshot};
use crate::support::repository;
use bayplan::testing::{node, pod};

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap()
}

#[test]
fn a_policy_filters_scores_and_applies() {
    let framework = framework(
        r#"
        policy gpu {
          param resource = "nvidia.com/gpu"
          applies when pod.requests[resource] > 0
          filter free {
            require node.free[resource] >= pod.requests[resource] else "Insufficient GPUs" with { free: node.free[resource] }
            reject "node(s) belong to another team" when node.labels["team"] != pod.labels["team"] && node.labels["shared"] != "true"
          }
          score fullest weight 3 {
            give percent(node.requested[resource] + pod.requests[resource], node.allocatable[resource])
          }
          prefer 5 when node.labels["fast"] == "yes"
        }
        "#,
    );
    let gpu = |name: &str| node(name).resource("nvidia.com/gpu", "8");
    let nodes = vec![
        gpu("a").label("team", "shop").build(),
        gpu("b").label("team", "vision").build(),
        gpu("c").label("shared", "true").label("fast", "yes").build(),
        node("d").label("team", "shop").build(),
    ];
    let busy = pod("busy").request("nvidia.com/gpu", "4").on("a").build();
    let snapshot = snapshot(&framework, nodes, vec![busy]);
    let train = pod("train").label("team", "shop").request("nvidia.com/gpu", "2").build();
    let outcome = attempt(&framework, &snapshot, &train);
    assert_eq!(outcome.refused, None);
    assert_eq!(outcome.scores, [("a".into(), 3 * 75), ("c".into(), 3 * 25 + 5 * 100)]);
    assert_eq!(
        outcome.reasons,
        [("b".into(), "node(s) belong to another team".into()), ("d".into(), "Insufficient GPUs".into())]
    );
    let of_c: Vec<_> = parts(&framework, &snapshot, &train, "c")
        .into_iter()
        .map(|p| (p.name.to_string(), p.score, p.weight))
        .collect();
    assert_eq!(of_c, [("fullest".into(), 25, 3), ("prefer-1".into(), 100, 5)]);

    let web = attempt(&framework, &snapshot, &pod("web").build());
    assert_eq!(web.scores.len(), 4, "a pod without GPUs is not touched");
    assert_eq!(web.scores.iter().map(|(_, score)| score).sum::<i64>(), 0);
    let system = pod("agent").namespace("kube-system").request("nvidia.com/gpu", "2").build();
    assert_eq!(attempt(&framework, &snapshot, &system).reasons, [], "system pods are left alone");
}

#[test]
fn the_tutorial_policies_do_what_the_tutorials_say() {
    let avoid = framework(&read("policies/tutorial/avoid-node.bay"));
    let nodes = || {
        vec![
            node("n1").label("avoid", "true").build(),
            node("n2").label("avoid", "no").build(),
            node("n3").build(),
        ]
    };
    let outcome = attempt(&avoid, &snapshot(&avoid, nodes(), vec![]), &pod("p").build());
    assert_eq!(outcome.reasons, [("n1".into(), "node is labeled avoid=true".into())]);

    let gpus = framework(&read("policies/tutorial/gpu-priority.bay"));
    let nodes = vec![
        node("none").build(),
        node("some").resource("nvidia.com/gpu", "4").build(),
        node("most").resource("nvidia.com/gpu", "8").build(),
    ];
    let outcome =
        attempt(&gpus, &snapshot(&gpus, nodes, vec![]), &pod("p").request("nvidia.com/gpu", "1").build());
    assert_eq!(outcome.scores, [("none".into(), 0), ("some".into(), 50), ("most".into(), 100)]);

    let labels = framework(&read("policies/tutorial/label-priority.bay"));
    let key = "priority.lixueduan.com";
    let outcome = attempt(
        &labels,
        &snapshot(&labels, vec![node("scheduler-1").build(), node("scheduler-2").build()], vec![]),
        &pod("p").build(),
    );
    assert_eq!(
        outcome.reasons,
        [
            ("scheduler-1".into(), format!("Node:Node: scheduler-1 does not have label {key}")),
            ("scheduler-2".into(), format!("Node:Node: scheduler-2 does not have label {key}")),
        ]
    );
    let nodes = vec![
        node("ten").label(key, "10").build(),
        node("twenty").label(key, "20").build(),
        node("words").label(key, "many").build(),
        node("below").label(key, "-5").build(),
    ];
    let outcome = attempt(&labels, &snapshot(&labels, nodes, vec![]), &pod("p").build());
    let wanted = [("ten", 50), ("twenty", 100), ("words", 0), ("below", 0)];
    assert_eq!(outcome.scores, wanted.map(|(name, score)| (name.to_owned(), score)));
}

#[test]
fn a_prefilter_refuses_and_narrows() {
    let framework = framework(
        r#"
        policy sticky {
          let home = pod.annotations["home"]
          prefilter {
            reject unresolvable "lost" when home == "nowhere"
            only nodes [home, pod.annotations["second"]] when home != none
          }
        }
        "#,
    );
    let nodes = vec![node("a").build(), node("b").build(), node("c").build()];
    let snapshot = snapshot(&framework, nodes, vec![]);
    let names =
        |pod| attempt(&framework, &snapshot, &pod).scores.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(names(pod("p").build()), ["a", "b", "c"]);
    assert_eq!(names(pod("p").annotation("home", "b").build()), ["b"]);
    assert_eq!(names(pod("p").annotation("home", "b").annotation("second", "c").build()), ["b", "c"]);
    let lost = attempt(&framework, &snapshot, &pod("p").annotation("home", "nowhere").build());
    assert_eq!(lost.refused.as_deref(), Some("lost"));
}

#[test]
fn groups_hold_the_pods_with_the_same_values() {
    let framework = framework(
        r#"
        policy gang {
          group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
          let wanted = int(pod.annotations["job-size"]) ?? 1
          applies when has(pod.labels["job"])
          prefilter { reject unresolvable "not all members of the job exist" when members.count() < wanted }
          score together normalize max { give node.pods.count(p, p.labels["job"] == pod.labels["job"]) }
        }
        "#,
    );
    let member = |name: &str| pod(name).label("job", "train").annotation("job-size", "3");
    let placed = member("one").on("a").build();
    let me = member("two").build();
    let mut snapshot =
        snapshot(&framework, vec![node("a").build(), node("b").build()], vec![placed, me.clone()]);
    let outcome = attempt(&framework, &snapshot, &me);
    assert_eq!(outcome.refused.as_deref(), Some("not all members of the job exist"));
    crate::support::policies::add_pod(&mut snapshot, member("three").build());
    crate::support::policies::add_pod(&mut snapshot, member("other").namespace("far").build());
    crate::support::policies::add_pod(&mut snapshot, member("ended").phase("Succeeded").build());
    let outcome = attempt(&framework, &snapshot, &me);
    assert_eq!(outcome.refused, None);
    assert_eq!(outcome.scores, [("a".into(), 100), ("b".into(), 0)]);
}

#[test]
fn the_queue_is_ordered_by_the_keys_of_a_policy() {
    use bayplan::framework::QueuedPodInfo;
    let framework = framework(
        r#"policy order { queue by desc pod.priority, asc pod.labels["team"] ?? "zz", desc pod.created }"#,
    );
    let snapshot = snapshot(&framework, vec![], vec![]);
    let key = |pod| framework.sort_key(&QueuedPodInfo::new(pod, crate::support::policies::NOW), &snapshot);
    let pods = [
        pod("1").priority(10).label("team", "a").build(),
        pod("2").priority(10).label("team", "ab").created("2026-01-02T00:00:00Z").build(),
        pod("3").priority(10).label("team", "ab").created("2026-01-01T00:00:00Z").build(),
        pod("4").priority(10).build(),
        pod("5").priority(-1).label("team", "a").build(),
    ];
    let keys: Vec<_> = pods.into_iter().map(key).collect();
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
}

#[test]
fn gates_keep_pods_out_of_the_queue() {
    let set = compile(r#"policy hold { gate "held back" when pod.labels["hold"] == "true" }"#);
    let framework = crate::support::policies::framework_of(&set);
    let snapshot = snapshot(&framework, vec![], vec![]);
    let ask = |pod| {
        let cycle = bayplan::framework::Cycle::new(pod, framework.clone(), crate::support::policies::NOW);
        framework.run_pre_enqueue(cycle.handle(&snapshot)).map_err(|status| status.message())
    };
    assert_eq!(ask(pod("p").build()), Ok(()));
    assert_eq!(ask(pod("p").label("hold", "true").build()), Err("held back".into()));
}

/// What a permit of the first plugin said, and what it did to others.
fn permit(
    framework: &std::sync::Arc<bayplan::framework::Framework>,
    snapshot: &mut bayplan::model::Snapshot,
    pod: &std::sync::Arc<bayplan::model::PodInfo>,
    after: i64,
    ask: impl FnOnce(
        &dyn bayplan::framework::Permit,
        &mut bayplan::framework::Actor,
        bayplan::model::NodeId,
    ) -> String,
) -> (String, Vec<String>) {
    use bayplan::framework::{Act, Acting, Cycle, PluginId, Silent};
    use bayplan::model::{Change, Duration, Placement};
    let now = crate::support::policies::NOW + Duration::from_seconds(after);
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), now);
    framework.run_pre_filter(&mut cycle, snapshot, &mut Silent).unwrap();
    let node = snapshot.nodes().next().unwrap().id();
    snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how: Placement::Assumed });
    let (mut acts, mut next_ticket) = (Vec::new(), 0);
    let mut acting = Acting { snapshot, now, acts: &mut acts, next_ticket: &mut next_ticket };
    let plugin = framework.plugin(PluginId(0)).unwrap().permit().unwrap();
    let said = ask(plugin, &mut acting.actor(&mut cycle, PluginId(0)), node);
    let did = acts.into_iter().map(|act| match act {
        Act::Allow(pod, _) => format!("allow {}", pod.0),
        Act::Reject(pod, status) => format!("reject {} {}", pod.0, status.message()),
        Act::Activate(pod) => format!("activate {}", pod.0),
        other => format!("{other:?}"),
    });
    (said, did.collect())
}

#[test]
fn a_gang_waits_until_it_is_whole_and_has_one_deadline() {
    use bayplan::framework::PermitOutcome;
    let framework = framework(
        r#"
        policy gang {
          param patience = 60s
          group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
          let wanted = int(pod.annotations["job-size"]) ?? 1
          applies when has(pod.labels["job"])
          permit {
            reject "cursed" when pod.labels["cursed"] == "yes"
            wait patience for members until members.count(m, m.placed) >= wanted else "job did not become whole in time"
          }
        }
        "#,
    );
    let member = |name: &str| pod(name).label("job", "train").annotation("job-size", "3").build();
    let (one, two, three) = (member("one"), member("two"), member("three"));
    let pods = || vec![one.clone(), two.clone(), three.clone(), pod("other").build()];
    let arrive =
        |p: &dyn bayplan::framework::Permit, a: &mut bayplan::framework::Actor, n| match p.permit(a, n) {
            Ok(PermitOutcome::Allow) => String::from("goes on"),
            Ok(PermitOutcome::Wait { until }) => {
                format!("waits {} s", (until - crate::support::policies::NOW).as_seconds_f64())
            }
            Err(status) => status.message(),
        };

    let mut whole = snapshot(&framework, vec![node("a").build()], pods());
    let first = permit(&framework, &mut whole, &one, 0, arrive);
    assert_eq!(first.0, "waits 60 s");
    assert_eq!(first.1, ["activate default/three", "activate default/two"]);
    let second = permit(&framework, &mut whole, &two, 10, arrive);
    assert_eq!(second, ("waits 60 s".into(), vec![]), "the deadline is the group's");
    let third = permit(&framework, &mut whole, &three, 20, arrive);
    assert_eq!(third.0, "goes on");
    assert_eq!(third.1, ["allow default/one", "allow default/two"]);
    assert_eq!(permit(&framework, &mut whole, &pod("other").build(), 0, arrive).0, "goes on");
    let cursed = pod("cursed").label("job", "x").label("cursed", "yes").build();
    assert_eq!(permit(&framework, &mut whole, &cursed, 0, arrive).0, "cursed");

    let mut broken = snapshot(&framework, vec![node("a").build()], pods());
    permit(&framework, &mut broken, &one, 0, arrive);
    permit(&framework, &mut broken, &two, 10, arrive);
    let left = permit(&framework, &mut broken, &two, 30, |p, a, _| {
        p.left(a);
        String::new()
    });
    assert_eq!(left.1, ["reject default/one job did not become whole in time"]);
}

#[test]
fn a_simulation_is_what_really_happens() {
    use bayplan::framework::{Cycle, Silent, Simulation};
    use bayplan::model::Change;
    let framework = framework(
        r#"
        policy spread {
          group mates = p in pods where p.labels["app"] == pod.labels["app"]
          let placed = mates.count(m, m.placed)
          filter room {
            require node.free.cpu >= pod.requests.cpu else "no room"
            reject "a mate is here" when node.pods.exists(p, p.labels["app"] == pod.labels["app"])
            reject "too many mates" with { placed: placed } when placed > 2
            reject "zone is taken" when mates.exists(m, m.node.labels["zone"] == node.labels["zone"])
          }
        }
        "#,
    );
    let mate = |name: &str, on: &str| pod(name).label("app", "web").cpu("1").on(on).build();
    let nodes = || {
        ["a", "b", "c"]
            .map(|n| node(n).cpu("2").label("zone", if n == "c" { "z" } else { n }).build())
            .to_vec()
    };
    let placed =
        vec![mate("one", "a"), mate("two", "b"), mate("three", "b"), pod("big").cpu("2").on("c").build()];
    let me = pod("me").label("app", "web").cpu("1").build();
    let mut pods = placed.clone();
    pods.push(me.clone());
    let before = snapshot(&framework, nodes(), pods);
    let mut cycle = Cycle::new(me.clone(), framework.clone(), crate::support::policies::NOW);
    framework.run_pre_filter(&mut cycle, &before, &mut Silent).unwrap();
    for victims in 0..1u32 << placed.len() {
        let victims: Vec<_> =
            placed.iter().enumerate().filter(|(at, _)| victims >> at & 1 == 1).map(|(_, pod)| pod).collect();
        for info in before.nodes() {
            let here: Vec<_> =
                victims.iter().filter(|pod| pod.node_name.as_ref() == Some(info.name())).collect();
            let mut simulation = Simulation::new(&*framework, cycle.handle(&before), info);
            let mut after = before.clone();
            for pod in &here {
                simulation.remove_pod(pod).unwrap();
                after.apply(Change::PodRemoved { pod: pod.key.clone() });
            }
            let outcome = attempt(&framework, &after, &me);
            let really =
                outcome.reasons.into_iter().find(|(name, _)| name == &**info.name()).map(|(_, why)| why);
            assert_eq!(
                simulation.passes().err().map(|status| status.message()),
                really,
                "{} without {here:?}",
                info.name()
            );
        }
    }
}

#[test]
fn events_that_cannot_help_wake_nobody() {
    use bayplan::framework::{
        ActionType, ClusterEvent, Cycle, EventObjects, EventResource, PluginId, QueueingHint,
    };
    let framework = framework(
        r#"
        policy cpu {
          filter room { require node.free.cpu >= pod.requests.cpu && node.labels["team"] == pod.labels["team"] else "no" }
        }
        "#,
    );
    let plugin = framework.plugin(PluginId(0)).unwrap().enqueue_extensions().unwrap();
    let of = |resource| {
        let registered = plugin.events().into_iter().find(|event| event.resource == resource);
        registered.map_or(ActionType(0), |event| event.actions)
    };
    assert!(of(EventResource::Node).intersects(ActionType::ADD));
    assert!(of(EventResource::Node).intersects(ActionType::UPDATE_NODE_LABEL));
    assert!(of(EventResource::Node).intersects(ActionType::UPDATE_NODE_ALLOCATABLE));
    assert!(!of(EventResource::Node).intersects(ActionType::UPDATE_NODE_TAINT));
    assert!(of(EventResource::AssignedPod).intersects(ActionType::DELETE));
    assert!(!of(EventResource::AssignedPod).intersects(ActionType::ADD), "a pod that comes takes room");

    let me = pod("me").cpu("2").label("team", "a").build();
    let gone = pod("gone").cpu("1").on("n1").build();
    let hint = |nodes: Vec<std::sync::Arc<bayplan::model::Node>>, event: ClusterEvent| {
        let snapshot = snapshot(&framework, nodes, vec![me.clone()]);
        let cycle = Cycle::new(me.clone(), framework.clone(), crate::support::policies::NOW);
        plugin.hint(&cycle.handle(&snapshot).for_plugin(PluginId(0)), &event)
    };
    let event = |resource, action, objects| ClusterEvent { resource, action, custom_label: None, objects };
    let deleted = |_: ()| {
        let objects = EventObjects::Pod { old: Some(gone.clone()), new: None };
        event(EventResource::AssignedPod, ActionType::DELETE, objects)
    };
    let n1 = |cpu: &str, team: &str| node("n1").cpu(cpu).label("team", team).build();
    assert_eq!(hint(vec![n1("4", "a")], deleted(())), QueueingHint::Queue);
    assert_eq!(hint(vec![n1("1", "a")], deleted(())), QueueingHint::Skip, "still no room");
    assert_eq!(hint(vec![n1("4", "b")], deleted(())), QueueingHint::Skip, "another team's node");
    let added = n1("4", "a");
    let objects = EventObjects::Node { old: None, new: Some(added.clone()) };
    assert_eq!(hint(vec![added], event(EventResource::Node, ActionType::ADD, objects)), QueueingHint::Queue);
}

#[test]
fn a_gate_that_reads_the_clock_opens_in_time() {
    use bayplan::model::Duration;
    use bayplan::scheduler::{Input, Options, Profiles, Scheduler};
    let framework = framework(
        r#"policy hours { gate "outside the hours" when !within(now(), "Mon-Fri 12:05-13:00", "UTC") }"#,
    );
    let start = crate::support::policies::NOW;
    let profiles = std::sync::Arc::new(Profiles { frameworks: vec![framework], revision: 1 });
    let (mut scheduler, mut out) = (Scheduler::new(Options::default()), Vec::new());
    let held = pod("held").scheduler("bayplan").object();
    for input in [Input::Profiles(profiles), Input::Lead(true), Input::Synced, Input::Upserted(held)] {
        scheduler.step(input, start, &mut out);
    }
    assert!(!scheduler.wants_cycle(), "the pod is kept out of the queue");
    let mut now = start;
    while !scheduler.wants_cycle() && now - start < Duration::from_seconds(600) {
        now = scheduler.next_wakeup().unwrap();
        scheduler.step(Input::Tick, now, &mut out);
    }
    assert_eq!(now - start, Duration::from_seconds(300));
}
