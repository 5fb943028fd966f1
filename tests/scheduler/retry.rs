//! Calls that certainly did not happen and that the API server did not refuse (429, never sent): the same call is sent
//! again, and nothing else notices.

use super::steps::{Steps, too_many, with};
use crate::support::plugins::Slow;
use bayplan::framework::Answer;
use bayplan::model::Duration;
use bayplan::scheduler::{Input, PodState, Stage};
use bayplan::testing::{node, pod};
use std::sync::Arc;

fn one_binding() -> Steps {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").object()];
    let mut steps = Steps::new(with(vec![]), objects);
    steps.cycles();
    assert_eq!(steps.calls(), ["bind web n1"]);
    steps
}

#[test]
fn a_throttled_bind_is_sent_again_after_the_pause_and_nobody_notices() {
    let mut steps = one_binding();
    let ticket = steps.open[0].0;
    for _ in 0..20 {
        steps.reply(too_many(Duration::from_seconds(2)));
        assert_eq!(steps.scheduler.next_wakeup(), Some(steps.now + Duration::from_seconds(2)));
        steps.wait(Duration::from_millis(1_900));
        assert!(steps.open.is_empty(), "{:?}", steps.open);
        assert_eq!(steps.scheduler.bindings()[0].stage, Stage::Bind(ticket));
        assert_eq!(steps.taken(), 500);
        steps.wait(Duration::from_millis(100));
        assert_eq!((steps.calls(), steps.open[0].0), (vec![String::from("bind web n1")], ticket));
    }
    steps.serve();
    assert_eq!(steps.pod("web").node_name.as_deref(), Some("n1"));
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n1"]);
    assert_eq!(steps.scheduler.next_wakeup(), None);
}

#[test]
fn a_driver_that_asks_for_no_pause_gets_one() {
    let mut steps = one_binding();
    steps.reply(too_many(Duration(0)));
    assert!(steps.scheduler.next_wakeup() > Some(steps.now));
}

#[test]
fn a_bind_that_waits_to_be_sent_again_is_withdrawn_when_its_pod_goes() {
    let mut steps = one_binding();
    steps.reply(too_many(Duration::from_seconds(2)));
    steps.delete("web");
    assert_eq!((steps.taken(), steps.scheduler.bindings().len()), (0, 0));
    steps.wait(Duration::from_seconds(3));
    assert!(steps.open.is_empty() && steps.scheduler.open_calls() == 0);

    // The answer comes when nobody wants the bind any more.
    let mut steps = one_binding();
    steps.delete("web");
    assert_eq!(steps.scheduler.bindings().len(), 1);
    steps.reply(too_many(Duration::from_seconds(2)));
    assert_eq!((steps.taken(), steps.scheduler.bindings().len()), (0, 0));
    steps.wait(Duration::from_seconds(3));
    assert!(steps.open.is_empty() && steps.scheduler.next_wakeup().is_none());
    assert_eq!(steps.scheduler.calls_kept(), 0);
}

#[test]
fn a_call_of_a_binding_that_was_cancelled_is_not_sent_again() {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").label("slow", "yes").object()];
    let mut steps = Steps::new(with(vec![Arc::new(Slow)]), objects);
    steps.cycles();
    assert_eq!(steps.calls(), ["read web"]);
    steps.delete("web");
    assert_eq!(steps.scheduler.bindings()[0].stage, Stage::Leaving);
    steps.reply(too_many(Duration::from_seconds(1)));
    assert!(steps.scheduler.bindings().is_empty());
    steps.wait(Duration::from_seconds(2));
    assert!(steps.open.is_empty(), "{:?}", steps.open);
}

#[test]
fn a_throttled_read_keeps_its_place_before_the_bind() {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").label("slow", "yes").object()];
    let mut steps = Steps::new(with(vec![Arc::new(Slow)]), objects);
    steps.cycles();
    steps.reply(too_many(Duration::from_seconds(10)));
    // The nomination of the binding waits after the read.
    for _ in 0..9 {
        steps.wait(Duration::from_seconds(1));
        assert!(steps.open.is_empty(), "{:?}", steps.open);
    }
    steps.wait(Duration::from_seconds(1));
    assert_eq!(steps.calls(), ["read web"]);
    steps.serve();
    assert_eq!(steps.pod("web").node_name.as_deref(), Some("n1"));
}

/// A pod whose refusal is written: the patch is open.
fn refused() -> Steps {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("2").object()];
    let mut steps = Steps::new(with(vec![]), objects);
    steps.cycles();
    assert_eq!(steps.calls(), ["patch web"]);
    steps
}

#[test]
fn a_throttled_patch_is_sent_again_however_often_it_is_throttled() {
    let mut steps = refused();
    for _ in 0..20 {
        steps.reply(too_many(Duration::from_seconds(3)));
        steps.wait(Duration::from_millis(2_900));
        assert!(steps.open.is_empty());
        steps.wait(Duration::from_millis(100));
        assert_eq!(steps.calls(), ["patch web"]);
    }
    steps.serve();
    assert!(steps.pod("web").scheduled_condition.is_some());
}

#[test]
fn a_bind_drops_a_patch_that_waits_to_be_sent_again() {
    let mut steps = refused();
    steps.reply(too_many(Duration::from_seconds(60)));
    steps.put(node("n2").cpu("4").object());
    steps.wait(Duration::from_seconds(5));
    steps.cycles();
    assert_eq!(steps.calls(), ["bind web n2"]);
    steps.serve();
    steps.wait(Duration::from_seconds(120));
    assert!(steps.open.is_empty(), "{:?}", steps.open);

    // The same while the patch is open: the bind follows it, and the patch does not come back.
    let mut steps = refused();
    steps.put(node("n2").cpu("4").object());
    steps.wait(Duration::from_seconds(5));
    steps.cycles();
    assert_eq!(steps.calls(), ["patch web"]);
    steps.reply(too_many(Duration::from_seconds(60)));
    assert_eq!(steps.calls(), ["bind web n2"]);
    steps.serve();
    steps.wait(Duration::from_seconds(120));
    assert!(steps.open.is_empty(), "{:?}", steps.open);
}

#[test]
fn nothing_is_sent_again_after_the_lead_is_lost() {
    let mut steps = one_binding();
    steps.step(Input::Lead(false));
    steps.reply(too_many(Duration::from_seconds(1)));
    assert_eq!(steps.scheduler.next_wakeup(), None, "the driver would tick for nothing");
    steps.wait(Duration::from_seconds(2));
    assert!(steps.open.is_empty());
    assert_eq!(steps.scheduler.pod_state(&steps.key("web")), Some(&PodState::Assumed("n1".into())));
}

#[test]
fn an_answer_for_a_call_that_is_not_open_changes_nothing() {
    let mut steps = one_binding();
    let ticket = steps.open[0].0;
    steps.reply(too_many(Duration::from_seconds(1)));
    steps.step(Input::Reply(ticket, Ok(Answer::Done)));
    assert_eq!(steps.scheduler.bindings()[0].stage, Stage::Bind(ticket));
    steps.wait(Duration::from_seconds(1));
    assert_eq!(steps.calls(), ["bind web n1"]);
}
