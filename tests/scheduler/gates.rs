//! Gates over groups, ledgers and objects that are looked up: which pods they hold, and until when.

use super::run::Run;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{KindName, LookedUp, Object};
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{PodMaker, pod};
use std::sync::Arc;

fn of_team(name: &str, team: &str) -> PodMaker {
    pod(name).label("team", team).cpu("100m")
}

#[test]
fn a_gate_over_a_ledger_holds_a_pod_until_the_sum_of_its_key_falls() {
    let mut run = Run::of(
        r#"
        policy quota {
          let team = pod.labels["team"] ?? ""
          ledger used: int by team { add 1 }
          gate "the team has two pods" when used[team] >= 2
          prefilter { reject "the team has two pods" when used[team] >= 2 }
        }"#,
    );
    for name in ["a1", "a2"] {
        run.add(of_team(name, "a"));
    }
    run.add(of_team("a3", "a"));
    assert_eq!(run.place("a3"), Some(QueuePlace::Gated));
    run.add(of_team("b1", "b"));
    assert_eq!(run.bound, ["a1", "a2", "b1"]);
    let attempts = run.attempts.len();
    run.step(Input::Deleted(of_team("b1", "b").object().key()));
    run.settle();
    assert_eq!(
        (run.place("a3"), run.attempts.len()),
        (Some(QueuePlace::Gated), attempts),
        "another key fell"
    );
    run.step(Input::Deleted(of_team("a1", "a").object().key()));
    run.pass(1);
    assert_eq!(run.bound.last().map(String::as_str), Some("a3"));
}

#[test]
fn a_gate_over_a_group_opens_with_its_last_member() {
    let mut run = Run::of(
        r#"
        policy whole {
          applies when has(pod.labels["team"])
          group mates = p in pods where p.namespace == pod.namespace && p.labels["team"] == pod.labels["team"]
          gate "not all pods of the team exist" when mates.count() < 3
        }"#,
    );
    run.add(of_team("a1", "a"));
    run.add(of_team("b1", "b"));
    run.add(of_team("a2", "a"));
    assert_eq!(run.place("a1"), Some(QueuePlace::Gated));
    assert!(run.attempts.is_empty());
    run.add(of_team("a3", "a"));
    run.pass(1);
    let mut bound = run.bound.clone();
    bound.sort();
    assert_eq!(bound, ["a1", "a2", "a3"]);
    assert_eq!(run.place("b1"), Some(QueuePlace::Gated));
}

#[test]
fn a_gate_over_an_object_opens_when_it_changes() {
    let mut run = Run::of(
        r#"
        policy desk {
          applies when has(pod.labels["team"])
          gate "the desk is closed" when
            lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "").annotations["open"] != "yes"
        }"#,
    );
    let kind = KindName::parse("example.com/v1/Desk").unwrap();
    let desk = |name: &str, open: &str| {
        let value = serde_json::json!({
            "metadata": {"name": name, "namespace": "default", "annotations": {"open": open}}
        });
        let desk = LookedUp::new(&kind, value, &Projection::everything()).unwrap();
        Input::Upserted(Object::Other(Arc::new(desk)))
    };
    run.add(of_team("a1", "a"));
    run.step(desk("a", "no"));
    run.step(desk("b", "yes"));
    run.settle();
    assert_eq!(run.place("a1"), Some(QueuePlace::Gated));
    run.step(desk("a", "yes"));
    run.pass(1);
    assert_eq!(run.bound, ["a1"]);
}
