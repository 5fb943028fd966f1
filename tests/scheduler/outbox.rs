//! What the queue of outgoing calls and events lets out, and when.

use super::steps::{Steps, with};
use bayplan::framework::CallError;
use bayplan::model::Duration;
use bayplan::scheduler::Input;
use bayplan::testing::{node, pod};

/// So many pods that fit nowhere; each wants a patch of its status.
fn refused(pods: usize) -> Steps {
    let objects = (0..pods).map(|at| pod(&format!("p{at:03}")).cpu("2").object()).collect();
    let mut steps = Steps::new(with(vec![]), objects);
    steps.put(node("small").cpu("1").object());
    steps.cycles();
    steps
}

#[test]
fn a_late_bind_drops_the_unsent_patch_of_its_pod() {
    let mut steps = refused(100);
    let sent: Vec<String> = (0..32).map(|at| format!("patch p{at:03}")).collect();
    assert_eq!(steps.calls(), sent, "the others are not on their way yet");
    steps.put(node("large").cpu("1000").object());
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    let binds: Vec<String> = (32..100).map(|at| format!("bind p{at:03} large")).collect();
    assert_eq!(steps.calls()[32..], binds, "none waits for a patch");
    steps.serve();
    for at in 0..100 {
        assert_eq!(steps.pod(&format!("p{at:03}")).node_name.as_deref(), Some("large"));
    }
    assert_eq!(steps.scheduler.open_calls(), 0);
}

#[test]
fn patches_that_wait_for_room_are_sent_in_order_as_others_are_answered() {
    let mut steps = refused(100);
    for at in 32..100 {
        steps.reply(Err(CallError::Refused { code: 404, reason: "NotFound".into(), message: "gone".into() }));
        assert_eq!(steps.calls().last(), Some(&format!("patch p{at:03}")));
    }
    steps.serve();
    assert_eq!((steps.scheduler.open_calls(), steps.scheduler.next_wakeup()), (0, None));
}

#[test]
fn a_binding_that_is_answered_after_the_lead_ended_has_its_event() {
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").object()];
    let mut steps = Steps::new(with(vec![]), objects);
    steps.cycles();
    steps.step(Input::Lead(false));
    steps.serve();
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n1"]);

    // The next leader tries the pod of a failed binding again, and reports it then.
    let objects = vec![node("n1").cpu("1").object(), pod("web").cpu("500m").object()];
    let mut steps = Steps::new(with(vec![]), objects);
    steps.cycles();
    steps.step(Input::Lead(false));
    steps.reply(Err(CallError::Refused { code: 403, reason: "Forbidden".into(), message: "no".into() }));
    assert!(steps.events.is_empty() && steps.open.is_empty(), "{:?}", steps.events);
}
