//! Pods that cannot be read: on a node they take it all, and pending ones are told why they wait.

use super::run::{Run, framework_of};
use bayplan::model::{Kind, Object, PodInfo};
use bayplan::scheduler::Input;
use bayplan::testing::{PodMaker, node, pod};
use serde_json::json;
use std::sync::Arc;

fn start() -> Run {
    let policy = "policy none { applies when pod.labels[\"none\"] == \"yes\" gate \"never\" when true }";
    Run::on(node("n").cpu("4").memory("8Gi").pods(110), framework_of(policy))
}

/// The pod as a watch has it.
fn seen(pod: &PodMaker) -> Object {
    Object::Pod(Arc::new(PodInfo::seen(Arc::new(pod.json())).unwrap().0))
}

fn broken(pod: PodMaker) -> PodMaker {
    pod.set("spec.containers.0.resources.requests", json!({"cpu": "much"}))
}

#[test]
fn an_unreadable_pod_on_a_node_keeps_others_off_it_also_after_updates_and_lists() {
    let mut run = start();
    let placed = pod("placed").uid("placed").cpu("1").on("n");
    run.step(Input::Upserted(seen(&placed)));
    run.add(pod("first").cpu("1"));
    assert_eq!(run.bound, ["first"]);
    // An update that cannot be read does not leave the old requests.
    let unreadable = broken(placed.clone());
    run.step(Input::Upserted(seen(&unreadable)));
    run.add(pod("second").cpu("1"));
    assert_eq!(run.bound, ["first"], "{:?}", run.notes);
    // A list does not remove it.
    let all = || vec![seen(&unreadable), seen(&pod("first").cpu("1").on("n")), seen(&pod("second").cpu("1"))];
    run.step(Input::Relisted(Kind::Pod, all()));
    run.pass(600);
    assert_eq!(run.bound, ["first"], "{:?}", run.notes);
    // One that can be read frees the room, and wakes the pod.
    run.step(Input::Upserted(seen(&placed)));
    run.pass(60);
    assert_eq!(run.bound, ["first", "second"], "{:?}", run.notes);
}

#[test]
fn a_pending_pod_that_cannot_be_read_is_told_what_it_is() {
    let mut run = start();
    run.step(Input::Upserted(seen(&broken(pod("odd")))));
    run.settle();
    let note = run.notes.iter().find(|note| note.starts_with("FailedScheduling")).expect("an event");
    assert!(
        note.contains(
            "it cannot be read what the pod requests: `spec.containers[0].resources.requests.cpu` is `much`"
        ),
        "{note}"
    );
    let tried = run.attempts.len();
    run.pass(240);
    assert!(run.attempts.len() <= tried + 1, "it waits for an update: {:?}", run.attempts);
    run.step(Input::Upserted(seen(&pod("odd").cpu("1"))));
    run.pass(60);
    assert_eq!(run.bound, ["odd"]);
    // Limits refuse no pod.
    run.step(Input::Upserted(seen(
        &pod("limited").set("spec.containers.0.resources.limits", json!({"cpu": "1e16"})),
    )));
    run.pass(60);
    assert_eq!(run.bound, ["odd", "limited"]);
}
