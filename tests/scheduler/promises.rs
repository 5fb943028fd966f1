//! A promised node is kept from pods that the promised pod may evict: they would take it and be evicted again.

use super::run::{Run, framework_with};
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{PodMaker, node, pod};

const GREEDY: &str = r#"policy greedy {
  applies when pod.namespace == "shop"
  preempt { victim v when v.namespace == "batch" }
}"#;

fn batch(name: &str, priority: i32) -> PodMaker {
    pod(name).namespace("batch").priority(priority).cpu("3")
}

fn web() -> PodMaker {
    pod("web").namespace("shop").cpu("3")
}

/// The web has evicted a pod of the batch, whose controller makes it again before the old one is gone.
fn evicted(policy: &str) -> Run {
    let mut run = Run::on(node("n").cpu("4"), framework_with(policy, &["DefaultPreemption"]));
    run.add(batch("batch", 1_000));
    run.add(web());
    assert_eq!(run.deleted, ["batch"]);
    run.add(batch("again", 1_000));
    run
}

fn gone(run: &mut Run, pod: PodMaker) {
    run.step(Input::Deleted(pod.object().key()));
    run.pass(20);
}

#[test]
fn a_pod_of_higher_priority_that_may_be_evicted_does_not_take_a_promised_node() {
    for policy in [
        GREEDY.to_owned(),
        GREEDY.replace("victim v when", "victim v when v.node.name == \"n\" &&"),
        GREEDY.replace("preempt {", "preempt { never \"no\" when pod.priority > 5"),
        GREEDY.replace("preempt {", "preempt { protect v when v.labels[\"a\"] == \"b\""),
    ] {
        let mut run = evicted(&policy);
        gone(&mut run, batch("batch", 1_000));
        assert_eq!(run.bound, ["batch", "web"], "{policy}");
        let again = run.scheduler.queue_place(&batch("again", 1_000).build().key);
        assert_eq!((again, run.deleted.len()), (Some(QueuePlace::Unschedulable), 1), "{policy}");
    }
}

#[test]
fn a_pod_that_was_kept_off_is_tried_when_the_promise_ends() {
    let mut run = evicted(GREEDY);
    gone(&mut run, web());
    gone(&mut run, batch("batch", 1_000));
    assert_eq!(run.bound, ["batch", "again"]);
    // The room is there, and the promise alone keeps it.
    let mut run = evicted(GREEDY);
    run.step(Input::Deleted(batch("batch", 1_000).object().key()));
    run.step(Input::Cycle);
    run.step(Input::Deleted(web().object().key()));
    run.pass(20);
    assert_eq!(run.bound.last().map(String::as_str), Some("again"));
}

#[test]
fn other_pods_of_higher_priority_take_a_promised_node_as_ever() {
    for (policy, name) in [
        (GREEDY.replace("batch\"", "batch\" && v.priority < 2000"), "rules that do not name it"),
        (
            GREEDY.replace("preempt {", "preempt { protect v when v.priority >= 2000"),
            "a rule that protects it",
        ),
        (GREEDY.replace("\"batch\"", "\"other\""), "rules about others"),
    ] {
        let mut run = Run::on(node("n").cpu("4"), framework_with(&policy, &["DefaultPreemption"]));
        let victim = pod("old").namespace(if name.ends_with("others") { "other" } else { "batch" }).cpu("3");
        run.add(victim.clone());
        run.add(web());
        assert_eq!(run.deleted, ["old"], "{name}");
        run.add(batch("high", 2_000).cpu("4"));
        gone(&mut run, victim);
        assert_eq!(run.bound, ["old", "high"], "{name}");
    }
}
