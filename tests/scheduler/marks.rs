//! Annotations and labels that `reserve` adds: the snapshot shows them at once, the Binding has them, and they go
//! when the pod loses its node.

use super::steps::{Steps, with};
use crate::support::plugins::{basics, framework};
use crate::support::policies::compile;
use bayplan::framework::{ApiCall, CallError, Extender, Extenders};
use bayplan::model::{Duration, Object, PodInfo};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Input, Profiles};
use bayplan::testing::{node, pod};
use std::sync::Arc;

const ZONES: &str = r#"
    policy zones {
      reserve {
        reject "no zone for strict pods" when !has(node.zone) && pod.labels["strict"] == "true"
        annotate pod {"example.com/zone": node.zone, "example.com/node": node.name} when pod.labels["quiet"] != "true"
        label pod {"zone": node.zone}
      }
    }"#;

fn steps_of(text: &str, objects: Vec<Object>) -> Steps {
    let profiles = with(plugins(&compile(text), &ExemptPods::default()));
    let mut steps = Steps::new(profiles, objects);
    steps.cycles();
    steps
}

fn one_node() -> Object {
    node("n1").cpu("4").pods(10).zone("z1").object()
}

/// The annotations and labels under the keys of the tests.
fn marks(pod: &PodInfo) -> Vec<String> {
    let annotations = pod.annotations.iter().map(|(key, value)| format!("{key}={value}"));
    let labels = pod.labels.iter().map(|(key, value)| format!("{key}:{value}"));
    annotations.chain(labels).collect()
}

fn shown(steps: &Steps, pod: &str) -> Vec<String> {
    let snapshot = steps.scheduler.snapshot();
    let found = snapshot.pods().find(|entry| entry.pod.name.as_str() == pod);
    marks(&found.unwrap().pod)
}

fn bind_call(steps: &Steps) -> usize {
    steps.open.iter().position(|(_, call)| matches!(call, ApiCall::Bind { .. })).unwrap()
}

#[test]
fn the_assumed_pod_has_the_marks_and_the_binding_takes_them_along() {
    let mut steps = steps_of(ZONES, vec![one_node(), pod("p").cpu("1").object()]);
    let all = ["example.com/node=n1", "example.com/zone=z1", "zone:z1"];
    assert_eq!(shown(&steps, "p"), all);
    // A newer version of the pod that is not bound yet.
    steps.change("p", |pod| pod.priority = 7);
    assert_eq!(shown(&steps, "p"), all);
    let at = bind_call(&steps);
    let (ticket, call) = steps.open.remove(at);
    let answer = steps.server.answer(&call, steps.now, None);
    steps.step(Input::Reply(ticket, answer));
    assert_eq!(shown(&steps, "p"), all, "bound, and not seen");
    assert_eq!(marks(steps.server.pod("default", "p").unwrap()), all);
    steps.watch();
    assert_eq!(shown(&steps, "p"), all);
    // What somebody removes is gone.
    steps.change("p", |pod| pod.labels = Default::default());
    assert_eq!(shown(&steps, "p"), all[..2]);
}

#[test]
fn the_marks_go_when_the_binding_fails() {
    let mut steps = steps_of(ZONES, vec![one_node(), pod("p").cpu("1").label("a", "b").object()]);
    assert_eq!(shown(&steps, "p").len(), 4);
    let at = bind_call(&steps);
    let (ticket, _) = steps.open.remove(at);
    let refused = CallError::Refused { code: 422, reason: "Invalid".into(), message: "no".into() };
    steps.step(Input::Reply(ticket, Err(refused)));
    assert_eq!(shown(&steps, "p"), ["a:b"]);
}

#[test]
fn conditions_and_absent_values_leave_keys_as_they_are() {
    let bare = node("n1").cpu("4").pods(10).object();
    let quiet = pod("p").cpu("1").label("quiet", "true").label("zone", "own").object();
    let steps = steps_of(ZONES, vec![bare, quiet]);
    assert_eq!(shown(&steps, "p"), ["quiet:true", "zone:own"]);
}

#[test]
fn a_rejection_at_reserve_refuses_the_pod_until_the_node_changes() {
    let bare = node("n1").cpu("4").pods(10).object();
    let mut steps = steps_of(ZONES, vec![bare, pod("p").cpu("1").label("strict", "true").object()]);
    assert_eq!(steps.events, ["FailedScheduling 0/1 nodes are available: 1 no zone for strict pods."]);
    assert_eq!(shown(&steps, "p"), ["strict:true"]);
    steps.put(one_node());
    steps.now = steps.now + Duration::from_seconds(60);
    steps.step(Input::Tick);
    steps.cycles();
    assert_eq!(shown(&steps, "p")[0], "example.com/node=n1");
}

#[test]
fn a_label_with_a_value_that_no_label_may_have_is_refused_here() {
    let text = r#"policy p { reserve { label pod {"x": pod.annotations["x"]} } }"#;
    let steps = steps_of(text, vec![one_node(), pod("p").cpu("1").annotation("x", "a b").object()]);
    let event = &steps.events[0];
    assert!(event.contains("p/reserve: \"a b\" is not a valid value of label x"), "{event}");
}

#[test]
fn two_policies_mark_one_pod_and_the_later_one_sees_the_earlier_mark() {
    let text = r#"
        policy a { reserve { annotate pod {"example.com/a": node.name} } }
        policy b {
          reserve {
            annotate pod {"example.com/b": node.pods.first(p, p.name == pod.name).annotations["example.com/a"] ?? "none"}
          }
        }"#;
    let steps = steps_of(text, vec![one_node(), pod("p").cpu("1").object()]);
    assert_eq!(shown(&steps, "p"), ["example.com/a=n1", "example.com/b=n1"]);
}

#[test]
fn a_pod_that_an_extender_binds_is_not_bound_without_its_marks() {
    let policies = plugins(&compile(ZONES), &ExemptPods::default());
    let plugins = basics().into_iter().chain(policies).collect();
    let framework = Arc::into_inner(framework("default-scheduler", plugins)).unwrap();
    let extender = Extender {
        url: "http://binder".to_owned(),
        bind_verb: "bind".to_owned(),
        timeout: Duration::from_seconds(5),
        ..Extender::default()
    };
    let framework = Arc::new(framework.with_extenders(Arc::new(Extenders::new(vec![extender]))));
    let profiles = Arc::new(Profiles { frameworks: vec![framework], revision: 1 });
    let mut steps = Steps::new(profiles, vec![one_node(), pod("p").cpu("1").object()]);
    steps.cycles();
    assert!(steps.calls().iter().all(|call| !call.starts_with("bind")), "{:?}", steps.calls());
    let event = &steps.events[0];
    assert!(event.contains("extender \"http://binder\" binds the pod: it cannot add them"), "{event}");
    assert!(shown(&steps, "p").is_empty());
}
