//! What the scheduler decides about a pod wakes those whose rules read it, before any watch shows it: its node, its marks,
//! whether it waits, is bound or is nominated, and policies that come into service.

use super::run::{Run, framework_with};
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{PodMaker, node, pod};
use serde_json::json;

fn member(name: &str, role: &str) -> PodMaker {
    pod(name).label("job", "a").label("role", role).cpu("100m")
}

/// A worker comes after its leader, which waits at Permit for a worker. Returns the pods that are bound after a while.
fn together(declared: &str, worker: &str, leader: &str) -> Vec<String> {
    let policy = format!(
        r#"policy lead {{
          applies when has(pod.labels["job"])
          {declared}
          {worker}
          permit {{ wait 60s until {leader} else "no worker came" }}
        }}"#
    );
    let mut run = Run::of(&policy);
    run.add(member("worker", "worker"));
    run.pass(1);
    assert_eq!(run.bound, [""; 0], "{policy}");
    run.add(member("leader", "leader"));
    run.pass(20);
    let mut bound = run.bound.clone();
    bound.sort();
    bound
}

const GROUPS: &str = r#"
    group leaders = p in pods where p.labels["job"] == pod.labels["job"] && p.labels["role"] == "leader"
    group workers = p in pods where p.labels["job"] == pod.labels["job"] && p.labels["role"] == "worker""#;
const NO_LEADER: &str = r#"pod.labels["role"] == "worker" && leaders.count(l, l.placed) == 0"#;
const WORKS: &str = r#"(pod.labels["role"] == "worker" || workers.exists(w, w.placed))"#;

#[test]
fn a_leader_and_a_worker_that_wait_for_each_other_are_placed() {
    let both = ["leader", "worker"];
    let gate = |when: &str| format!(r#"gate "no leader" when {when}"#);
    assert_eq!(together(GROUPS, &gate(NO_LEADER), WORKS), both);
    let prefilter = format!(r#"prefilter {{ reject "no leader" when {NO_LEADER} }}"#);
    assert_eq!(together(GROUPS, &prefilter, WORKS), both);
    let waits = NO_LEADER.replace("l.placed", "l.waiting");
    assert_eq!(together(GROUPS, &gate(&waits), WORKS), both);
    let at = NO_LEADER.replace("l.placed", "l.node.name == \"n\"");
    assert_eq!(together(GROUPS, &gate(&at), WORKS), both);
    // Any pods, those of a node, and what a node has left.
    let any = r#"filter near { reject "no leader" when pod.labels["role"] == "worker"
        && !pods.exists(p, p.placed && p.labels["role"] == "leader") }"#;
    assert_eq!(together(GROUPS, any, WORKS), both);
    let neighbour = r#"filter near { reject "no leader" when pod.labels["role"] == "worker"
        && !node.pods.exists(p, p.labels["role"] == "leader") }"#;
    assert_eq!(together(GROUPS, neighbour, WORKS), both);
    let busy = r#"filter busy { reject "nobody is here" when pod.labels["role"] == "worker" && node.free.cpu >= 2cpu }"#;
    assert_eq!(together(GROUPS, busy, WORKS), both);
}

#[test]
fn ledgers_wake_as_groups_do() {
    let ledgers = r#"
        ledger led: int by pod.labels["job"] ?? "" { add 1 when pod.labels["role"] == "leader" }
        ledger work: int by pod.labels["job"] ?? "" { add 1 when pod.labels["role"] == "worker" }"#;
    let none = r#"pod.labels["role"] == "worker" && led[pod.labels["job"] ?? ""] == 0"#;
    let works = r#"(pod.labels["role"] == "worker" || work[pod.labels["job"] ?? ""] >= 1)"#;
    let both = ["leader", "worker"];
    assert_eq!(together(ledgers, &format!(r#"gate "no leader" when {none}"#), works), both);
    assert_eq!(together(ledgers, &format!(r#"prefilter {{ reject "no leader" when {none} }}"#), works), both);
}

#[test]
fn the_marks_of_a_pod_wake_others() {
    let mut run = Run::of(
        r#"policy marks {
          applies when has(pod.labels["job"])
          group chosen = p in pods where p.labels["chosen"] == pod.labels["role"]
          gate "nobody is chosen" when pod.labels["role"] == "worker" && chosen.count() == 0
          reserve { label pod {"chosen": "worker"} when pod.labels["role"] == "leader" }
          permit { wait 60s until pod.labels["role"] == "worker" || pods.exists(p, p.placed && p.labels["role"] == "worker")
                   else "no worker came" }
        }"#,
    );
    run.add(member("worker", "worker"));
    assert_eq!(run.place("worker"), Some(QueuePlace::Gated));
    run.add(member("leader", "leader"));
    run.pass(5);
    run.bound.sort();
    assert_eq!(run.bound, ["leader", "worker"]);
}

#[test]
fn a_pod_that_waits_no_longer_or_is_bound_wakes_others() {
    for held in ["m.waiting", "m.placed && !m.bound"] {
        let mut run = Run::of(&format!(
            r#"policy calm {{
              applies when has(pod.labels["job"])
              group members = p in pods where p.labels["job"] == pod.labels["job"]
              gate "one at a time" when pod.labels["role"] == "second" && members.exists(m, {held})
              permit {{ wait 60s until pod.labels["role"] != "first" || members.exists(m, m.labels["role"] == "go") else "no" }}
            }}"#
        ));
        run.add(member("first", "first"));
        run.add(member("second", "second"));
        assert_eq!(run.place("second"), Some(QueuePlace::Gated), "{held}");
        run.add(member("go", "go").cpu("9"));
        run.pass(1);
        assert_eq!(run.bound, ["first", "second"], "{held}");
    }
}

#[test]
fn a_nomination_wakes_those_who_read_it() {
    let policy = r#"policy polite {
      group others = p in pods where p.namespace == pod.namespace
      gate "nobody is promised a node" when pod.labels["role"] == "second" && !others.exists(m, has(m.nominated))
    }"#;
    let mut run = Run::on(node("n").cpu("1"), framework_with(policy, &["DefaultPreemption"]));
    run.add(pod("low").cpu("1"));
    run.add(member("second", "second"));
    assert_eq!(run.place("second"), Some(QueuePlace::Gated));
    run.add(pod("high").priority(5).cpu("950m"));
    assert_eq!(run.deleted, ["low"]);
    assert_ne!(run.place("second"), Some(QueuePlace::Gated));
}

/// Plugins of upstream that read which pods are on nodes: a worker that must run near its leader, and one that the leader makes
/// room for in another zone.
#[test]
fn a_pod_that_waits_at_permit_wakes_those_whom_in_tree_plugins_refused() {
    let policy = format!(
        r#"policy lead {{
          applies when has(pod.labels["job"])
          {GROUPS}
          permit {{ wait 60s until {WORKS} else "no worker came" }}
        }}"#
    );
    let leads = json!({"matchLabels": {"role": "leader"}});
    let near = json!([{"topologyKey": "zone", "labelSelector": leads}]);
    let near = member("worker", "worker")
        .set("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", near);
    let evenly = json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
        "nodeAffinityPolicy": "Ignore", "labelSelector": {"matchLabels": {"job": "a"}}}]);
    let evenly = member("worker", "worker")
        .set("spec.topologySpreadConstraints", evenly)
        .set("spec.nodeSelector", json!({"zone": "a"}));
    for (plugin, worker) in [("InterPodAffinity", near), ("PodTopologySpread", evenly)] {
        let node = |name: &str, zone: &str| node(name).label("zone", zone).cpu("2").pods(99);
        let mut run = Run::on(node("a", "a"), framework_with(&policy, &[plugin, "NodeAffinity"]));
        run.step(Input::Upserted(node("b", "b").object()));
        run.step(Input::Upserted(member("there", "other").on("a").object()));
        run.add(worker);
        run.pass(20);
        assert_eq!(run.bound, [""; 0], "{plugin}");
        assert_eq!(run.place("worker"), Some(QueuePlace::Unschedulable), "{plugin}");
        let in_b = json!({"zone": "b"});
        run.add(member("leader", "leader").set("spec.nodeSelector", in_b));
        run.pass(20);
        run.bound.sort();
        assert_eq!(run.bound, ["leader", "worker"], "{plugin}: {:?}", run.notes);
        // One that no pod can help is not tried again and again.
        let tried = run.attempts.len();
        run.add(member("alone", "worker").set("spec.nodeSelector", json!({"zone": "none"})));
        run.add(member("second", "leader"));
        run.pass(5);
        assert_eq!(run.attempts.len(), tried + 2, "{plugin}: {:?}", run.attempts);
    }
}

/// A pod whose labels change while it waits at Permit leaves the group that it has joined meanwhile.
#[test]
fn a_pod_that_changes_while_it_waits_wakes_those_who_count_it_when_it_leaves() {
    for rule in [
        "gate \"the team is busy\" when pod.labels[\"role\"] == \"second\" && team.exists(m, m.waiting)",
        "prefilter { reject \"the team is busy\" when pod.labels[\"role\"] == \"second\" && team.count(m, m.placed) > 0 }",
    ] {
        let mut run = Run::of(&format!(
            r#"policy busy {{
              applies when has(pod.labels["job"])
              group team = p in pods where p.labels["team"] == pod.labels["team"]
              {rule}
              permit {{ wait 10s until pod.labels["role"] != "first" else "nobody came" }}
            }}"#
        ));
        let first = member("first", "first").uid("first");
        run.add(first.clone().label("team", "a"));
        run.step(Input::Upserted(first.label("team", "b").object()));
        run.add(member("second", "second").label("team", "b"));
        run.pass(5);
        assert_eq!(run.bound, [""; 0], "{rule}");
        // The first one gives its node back, and is not tried at once again.
        run.pass(7);
        assert_eq!(run.bound, ["second"], "{rule}: {:?}", run.notes);
    }
}

/// A pod whose labels change while it waits at Permit gives its seat back.
#[test]
fn a_pod_that_changes_while_it_waits_wakes_those_who_counted_it() {
    for (counts, refuses) in [
        (
            "ledger seats: int by pod.labels[\"team\"] ?? \"\" { add 1 }",
            "seats[pod.labels[\"team\"] ?? \"\"] >= 1",
        ),
        (
            "group team = p in pods where p.labels[\"team\"] == pod.labels[\"team\"]",
            "team.exists(m, m.placed)",
        ),
    ] {
        let mut run = Run::of(&format!(
            r#"policy seats {{
              applies when has(pod.labels["job"])
              {counts}
              prefilter {{ reject "the seat is taken" when {refuses} }}
              permit {{ wait 60s until pod.labels["role"] != "first" else "nobody came" }}
            }}"#
        ));
        let first = member("first", "first").uid("first");
        run.add(first.clone().label("team", "a"));
        run.add(member("second", "second").label("team", "a"));
        run.pass(20);
        assert_eq!((run.bound.len(), run.attempts.len()), (0, 2), "{counts}: {:?}", run.attempts);
        run.step(Input::Upserted(first.label("team", "b").object()));
        run.pass(11);
        assert_eq!(run.bound, ["second"], "{counts}: {:?}", run.notes);
    }
}

/// A pod that waits at Permit and the pod that it wakes, which releases it: without pauses they would try each other
/// for ever.
#[test]
fn pods_that_wake_each_other_pause() {
    for (releases, most) in [("release members \"a mate found no node\"", 30), ("activate members", 30)] {
        let mut run = Run::of(&format!(
            r#"policy duel {{
              applies when has(pod.labels["job"])
              group members = p in pods where p.labels["job"] == pod.labels["job"]
              prefilter {{ reject "nobody waits" when pod.labels["role"] == "b" && !members.exists(m, m.waiting) }}
              permit {{ wait 20s for members until members.count(m, m.placed) >= 2 else "no" }}
              after failure {{ {releases} }}
            }}"#
        ));
        run.add(member("b", "b").cpu("9"));
        run.add(member("a", "a"));
        run.pass(60);
        assert_eq!(run.bound, [""; 0]);
        assert!((4..=most).contains(&run.attempts.len()), "{releases}: {:?}", run.attempts);
    }
}

/// Two pods at Permit, each of which refuses to wait beside the other.
#[test]
fn pods_that_refuse_each_other_at_permit_pause() {
    let mut run = Run::of(
        r#"policy shy {
          applies when has(pod.labels["job"])
          group others = p in pods where p.labels["job"] == pod.labels["job"] && p.name != pod.name
          gate "b comes after a" when pod.labels["role"] == "b" && !others.exists(m, m.waiting)
          permit {
            reject "not beside another" when others.exists(m, m.placed)
            wait 10s until false else "no"
          }
        }"#,
    );
    run.add(member("b", "b"));
    run.add(member("a", "a"));
    run.pass(60);
    assert!((2..=40).contains(&run.attempts.len()), "{:?}", run.attempts);
}

#[test]
fn a_pod_whose_rules_read_nothing_of_it_is_not_asked() {
    let mut run = Run::of(
        r#"policy alone {
          applies when has(pod.labels["job"])
          group mates = p in pods where p.labels["role"] == pod.labels["role"]
          prefilter { reject "no mate" when mates.count(m, m.placed) == 0 && pod.labels["role"] == "second" }
        }"#,
    );
    run.add(member("lonely", "second"));
    for at in 0..5 {
        run.add(member(&format!("p{at}"), "third"));
    }
    run.pass(30);
    let lonely = run.attempts.iter().filter(|name| *name == "lonely").count();
    assert_eq!(lonely, 1, "{:?}", run.attempts);
}

#[test]
fn a_policy_that_names_victims_wakes_waiting_pods_when_it_comes_into_service() {
    let text = |preempt: &str| {
        format!(
            r#"policy p {{ applies when has(pod.labels["job"]) prefer 1 when node.name == "n" {preempt} }}"#
        )
    };
    let named = text(r#"preempt { victim v when v.name == "high" }"#);
    let held = text(r#"preempt { protect v when v.name == "high" }"#);
    for (others, policy, evicted) in [
        (&["DefaultPreemption"][..], &named, 1),
        (&[][..], &named, 1),
        (&["DefaultPreemption"][..], &held, 0),
        (&["DefaultPreemption"][..], &text(""), 0),
    ] {
        let mut run = Run::on(node("n").cpu("1"), framework_with(&text(""), others));
        run.add(pod("high").priority(10).cpu("1"));
        run.add(member("waits", "worker"));
        run.add(pod("other").cpu("1"));
        run.pass(30);
        assert_eq!((run.deleted.len(), run.attempts.len()), (0, 3), "{:?}", run.attempts);
        run.load(framework_with(policy, others), 2);
        run.pass(30);
        assert_eq!(run.deleted.len(), evicted, "{policy}: {:?}", run.attempts);
        let others = run.attempts.iter().filter(|name| *name == "other").count();
        assert_eq!(others, 1, "the policy does not apply to it: {:?}", run.attempts);
    }
}
