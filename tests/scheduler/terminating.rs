//! Pods that begin to be deleted, or turn out to be bound or gone, while they are being bound.

use super::refuser::{Refuser, Where};
use super::steps::{Steps, too_many, with};
use crate::support::plugins::{Gang, Slow};
use bayplan::framework::{Answer, CallError, Code, Plugin};
use bayplan::model::{Duration, Kind, Object, Time};
use bayplan::scheduler::{Input, PodState, QueuePlace, Stage};
use bayplan::testing::{PodMaker, node, pod};
use std::sync::Arc;

/// `p` is being bound to the only node, and `other` waits for room on it.
fn binding(plugins: Vec<Arc<dyn Plugin>>, p: PodMaker) -> Steps {
    let objects = vec![
        node("n1").cpu("1").object(),
        p.cpu("700m").priority(1).object(),
        pod("other").cpu("700m").object(),
    ];
    let mut steps = Steps::new(with(plugins), objects);
    steps.cycles();
    assert_eq!((steps.taken(), steps.scheduler.bindings().len()), (700, 1));
    steps.open.retain(|(_, call)| !matches!(call, bayplan::framework::ApiCall::PatchStatus { .. }));
    steps
}

fn terminate(steps: &mut Steps, pod: &str) {
    let now = steps.now;
    steps.change(pod, |pod| pod.deleted = Some(now));
}

/// The pod has no room, is in no queue, and nothing was said of it; the other pod is tried.
fn is_out(steps: &mut Steps) {
    let key = steps.key("p");
    assert_eq!(steps.scheduler.pod_state(&key), Some(&PodState::Pending));
    assert_eq!((steps.taken(), steps.scheduler.queue_place(&key)), (0, None));
    let other = steps.key("other");
    assert_ne!(steps.scheduler.queue_place(&other), Some(QueuePlace::Unschedulable));
    // Later updates of it do not bring it back.
    steps.change("p", |pod| pod.annotations = [("a".into(), "b".into())].into_iter().collect());
    assert_eq!(steps.scheduler.queue_place(&key), None);
    assert_eq!(steps.events.len(), 1, "{:?}", steps.events);
}

#[test]
fn at_permit_it_leaves_at_once() {
    let mut steps =
        binding(vec![Arc::new(Gang::default())], pod("p").label("gang", "g").label("gang-size", "2"));
    assert!(matches!(steps.scheduler.bindings()[0].stage, Stage::Permit(_)));
    terminate(&mut steps, "p");
    assert!(steps.scheduler.bindings().is_empty());
    is_out(&mut steps);
}

#[test]
fn before_the_bind_its_room_is_free_at_once_and_its_calls_are_waited_for() {
    let mut steps = binding(vec![Arc::new(Slow)], pod("p").label("slow", "yes"));
    assert_eq!(steps.calls(), ["read p"]);
    terminate(&mut steps, "p");
    assert_eq!(steps.scheduler.bindings()[0].stage, Stage::Leaving);
    is_out(&mut steps);
    steps.reply(Ok(Answer::Object(None)));
    assert!(steps.scheduler.bindings().is_empty());
    is_out(&mut steps);
}

#[test]
fn a_bind_that_was_not_sent_is_withdrawn() {
    let mut steps = binding(vec![], pod("p"));
    steps.reply(too_many(Duration::from_seconds(60)));
    terminate(&mut steps, "p");
    assert!(steps.scheduler.bindings().is_empty());
    is_out(&mut steps);
}

#[test]
fn a_bind_that_is_out_decides() {
    let conflict =
        || CallError::Refused { code: 409, reason: "Conflict".into(), message: "being deleted".into() };
    let answers = [
        Err(conflict()),
        Err(CallError::Unknown("lost".into())),
        Err(CallError::Refused { code: 404, reason: "NotFound".into(), message: "gone".into() }),
        too_many(Duration::from_seconds(1)),
    ];
    for answer in answers {
        let mut steps = binding(vec![], pod("p"));
        terminate(&mut steps, "p");
        assert_eq!((steps.taken(), steps.calls()), (700, vec![String::from("bind p n1")]));
        steps.reply(answer.clone());
        assert!(steps.scheduler.bindings().is_empty(), "{answer:?}");
        is_out(&mut steps);
        steps.wait(Duration::from_seconds(100));
        assert!(!steps.calls().iter().any(|call| call == "bind p n1"));
    }
}

#[test]
fn a_bind_of_unknown_outcome_did_not_happen_when_the_pod_is_deleted_without_a_node() {
    let mut steps = binding(vec![], pod("p"));
    steps.reply(Err(CallError::Unknown("lost".into())));
    assert_eq!(steps.calls(), ["read p"]);
    terminate(&mut steps, "p");
    is_out(&mut steps);
    steps.reply(Ok(Answer::Object(None)));
    assert!(steps.scheduler.bindings().is_empty());
    is_out(&mut steps);
}

#[test]
fn a_bind_that_succeeded_before_the_deletion_stands() {
    let mut steps = binding(vec![], pod("p"));
    terminate(&mut steps, "p");
    steps.reply(Ok(Answer::Done));
    assert_eq!(steps.scheduler.pod_state(&steps.key("p")), Some(&PodState::Told("n1".into())));
    assert_eq!((steps.taken(), steps.events.len()), (700, 2));
}

#[test]
fn a_failed_binding_of_a_pod_that_is_being_deleted_is_not_requeued() {
    let refuser = Refuser(Where::WaitOnPermit, Code::Unschedulable);
    let mut steps = binding(vec![Arc::new(refuser)], pod("p").label("refused", "yes"));
    terminate(&mut steps, "p");
    steps.put(node("n1").cpu("1").label("moved", "yes").object());
    is_out(&mut steps);
}

#[test]
fn a_pod_that_a_stale_list_shows_again_while_its_binding_ends_is_queued() {
    for gone in [true, false] {
        let mut steps = binding(vec![Arc::new(Slow)], pod("p").label("slow", "yes"));
        let stale = steps.pod("p");
        match gone {
            true => steps.delete("p"),
            false => steps.change("p", |pod| pod.node_name = Some("n2".into())),
        }
        assert_eq!(steps.scheduler.bindings()[0].stage, Stage::Leaving);
        let mut listed = steps.server.list(&Kind::Pod);
        listed.retain(|object| object.key().name.as_str() != "p");
        listed.push(Object::Pod(stale.clone()));
        steps.step(Input::Relisted(Kind::Pod, listed));
        assert_eq!(steps.scheduler.queue_place(&stale.key), None);
        steps.reply(Ok(Answer::Object(None)));
        assert!(steps.scheduler.queue_place(&stale.key).is_some(), "gone: {gone}");
    }
}

#[test]
fn a_binding_that_is_answered_after_the_lead_is_lost_is_still_reported() {
    let mut steps = binding(vec![], pod("p"));
    steps.step(Input::Lead(false));
    steps.now = steps.now.max(Time(0));
    steps.reply(Ok(Answer::Done));
    assert_eq!(steps.events.last().unwrap(), "Scheduled Successfully assigned default/p to n1");
    assert!(steps.open.is_empty());
}

#[test]
fn room_that_is_free_already_wakes_pods_once() {
    let mut steps = binding(vec![Arc::new(Slow)], pod("p").label("slow", "yes"));
    terminate(&mut steps, "p");
    steps.wait(Duration::from_millis(1_100));
    steps.cycles();
    assert_eq!(steps.taken(), 700, "the other pod has the room");
    steps.put(pod("big").cpu("700m").object());
    steps.cycles();
    let big = steps.key("big");
    assert_eq!(steps.scheduler.queue_place(&big), Some(QueuePlace::Unschedulable));
    assert_eq!(steps.calls()[0], "read p");
    steps.reply(Ok(Answer::Object(None)));
    assert!(!steps.scheduler.bindings().iter().any(|binding| binding.stage == Stage::Leaving));
    assert_eq!(steps.scheduler.queue_place(&big), Some(QueuePlace::Unschedulable));
}

#[test]
fn a_pod_that_a_read_finds_on_another_node_gives_its_room_back() {
    let mut steps = binding(vec![], pod("p"));
    steps.reply(Err(CallError::Unknown("the connection was lost".into())));
    assert_eq!(steps.calls()[0], "read p");
    let mut elsewhere = (*steps.pod("p")).clone();
    elsewhere.node_name = Some("n2".into());
    steps.reply(Ok(Answer::Object(Some(Object::Pod(Arc::new(elsewhere))))));
    let other = steps.key("other");
    assert_ne!(steps.scheduler.queue_place(&other), Some(QueuePlace::Unschedulable));
}
