//! What a pod assumes about objects while it is being bound: seen by everyone, kept through reloads and foreign updates,
//! and given back at the end whatever the plugin does.

use super::steps::{Steps, with};
use bayplan::framework::{
    Actor, Answer, ApiCall, BindTask, CallError, Handle, Plugin, PreBind, PreFlight, Reads, Reserve, Status,
    TaskPoll, Wake,
};
use bayplan::model::{ApiObject, Labels, NodeId, Object, ObjectKey, Service, Symbol};
use bayplan::scheduler::Input;
use bayplan::testing::{node, object_of, pod};
use serde_json::json;
use std::sync::Arc;

/// Assumes that the Service `web` selects its pod, and writes that before the binding.
struct Taker {
    /// Unreserve takes nothing back.
    forgets: bool,
    /// Nothing is written.
    idle: bool,
}

impl Plugin for Taker {
    fn name(&self) -> &str {
        "Taker"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(Reserve, PreBind);
}

fn web(a: &Actor) -> Arc<Service> {
    a.handle().snapshot.object::<Service>(&"default".into(), &"web".into()).unwrap().clone()
}

impl Reserve for Taker {
    fn reserve(&self, a: &mut Actor, _: NodeId) -> Result<(), Status> {
        let selector = Labels::from_iter([("pod".into(), a.pod.name.clone())]);
        a.assume(Arc::new(Service { selector, ..(*web(a)).clone() }));
        Ok(())
    }
    fn unreserve(&self, a: &mut Actor, _: NodeId) {
        if !self.forgets {
            a.unassume(&web(a).key());
        }
    }
}

impl PreBind for Taker {
    fn pre_flight(&self, _: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        Ok(if self.idle { PreFlight::Skip } else { PreFlight::Run { parallel: false } })
    }
    fn start(&self, a: &mut Actor, _: NodeId) -> Result<Box<dyn BindTask>, Status> {
        Ok(Box::new(Write(web(a).key())))
    }
}

/// A call whose answer has the version of the Service; it stands for a write.
struct Write(ObjectKey);

impl BindTask for Write {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        match wake {
            Wake::Answer(_, Ok(Answer::Object(Some(object)))) => {
                let Object::Other(object) = object else { panic!("no Service") };
                a.written(&self.0, object.version());
                Ok(TaskPoll::Done)
            }
            Wake::Answer(..) => Err(Status::error("the write failed")),
            _ => {
                let _ = a.call(ApiCall::Read(self.0.clone()));
                Ok(TaskPoll::Pending { until: None, watch: Vec::new() })
            }
        }
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(Write(self.0.clone()))
    }
}

fn service(app: &str) -> Object {
    object_of(json!({
        "apiVersion": "v1", "kind": "Service", "spec": {"selector": {"pod": app}},
        "metadata": {"name": "web", "namespace": "default", "uid": "u"},
    }))
}

/// A world in which the pod `p` is being bound.
fn steps(forgets: bool, idle: bool) -> Steps {
    let profiles = with(vec![Arc::new(Taker { forgets, idle })]);
    let objects = vec![node("n1").cpu("4").pods(10).object(), service("no"), pod("p").cpu("1").object()];
    let mut steps = Steps::new(profiles, objects);
    steps.cycles();
    steps
}

/// The pod that the Service selects, and how many assumptions there are.
fn shown(steps: &Steps) -> (String, usize) {
    let snapshot = steps.scheduler.snapshot();
    let service = snapshot.object::<Service>(&"default".into(), &"web".into()).unwrap();
    let selected = service.selector.get(&Symbol::new("pod")).unwrap().to_string();
    (selected, snapshot.kept().assumptions)
}

fn refused() -> Result<Answer, CallError> {
    Err(CallError::Refused { code: 409, reason: "Conflict".into(), message: "no".into() })
}

/// Answers the open call that `is` finds: as the server does, or with a refusal.
fn answer(steps: &mut Steps, is: impl Fn(&ApiCall) -> bool, refuse: bool) {
    let at = steps.open.iter().position(|(_, call)| is(call)).unwrap();
    let (ticket, call) = steps.open.remove(at);
    let answer = if refuse { refused() } else { steps.server.answer(&call, steps.now, None) };
    steps.step(Input::Reply(ticket, answer));
}

fn is_read(call: &ApiCall) -> bool {
    matches!(call, ApiCall::Read(key) if *key.name == *"web")
}

/// The nomination, which goes before the binding.
fn is_patch(call: &ApiCall) -> bool {
    matches!(call, ApiCall::PatchStatus { .. })
}

fn is_bind(call: &ApiCall) -> bool {
    matches!(call, ApiCall::Bind { .. })
}

#[test]
fn an_assumption_outlives_reloads_and_foreign_updates_and_ends_when_its_write_is_seen() {
    let mut steps = steps(false, false);
    assert_eq!(shown(&steps), ("p".into(), 1));
    steps.step(Input::Profiles(with(vec![Arc::new(Taker { forgets: false, idle: false })])));
    steps.put(service("foreign"));
    assert_eq!(shown(&steps), ("p".into(), 1), "a newer version that somebody else wrote");
    // The write happens, and its answer comes before the watch shows it.
    steps.server.put(service("p-as-written"));
    answer(&mut steps, is_read, false);
    answer(&mut steps, is_patch, false);
    answer(&mut steps, is_bind, false);
    assert_eq!(shown(&steps), ("p".into(), 1), "the pod is bound, and the write is not seen yet");
    steps.watch();
    assert_eq!(shown(&steps), ("p-as-written".into(), 0));
}

#[test]
fn what_was_assumed_is_given_back_when_the_write_fails() {
    for forgets in [false, true] {
        let mut steps = steps(forgets, false);
        assert_eq!(shown(&steps).1, 1);
        answer(&mut steps, is_read, true);
        assert_eq!(shown(&steps), ("no".into(), 0), "forgets: {forgets}");
    }
}

/// The object is as it was written, so nothing else may rely on what the watch still shows.
#[test]
fn what_was_written_stays_assumed_until_it_is_seen_unless_the_plugin_gives_it_back() {
    for forgets in [false, true] {
        let mut steps = steps(forgets, false);
        steps.server.put(service("p-as-written"));
        answer(&mut steps, is_read, false);
        answer(&mut steps, is_patch, false);
        assert_eq!(shown(&steps), ("p".into(), 1), "written, and not seen");
        let gone = Object::Pod(steps.pod("p")).key();
        steps.step(Input::Deleted(gone));
        answer(&mut steps, is_bind, true);
        let kept = if forgets { ("p".into(), 1) } else { ("no".into(), 0) };
        assert_eq!(shown(&steps), kept, "forgets: {forgets}");
        steps.watch();
        assert_eq!(shown(&steps), ("p-as-written".into(), 0), "forgets: {forgets}");
    }
}

#[test]
fn what_was_assumed_and_never_written_ends_with_the_binding() {
    let mut steps = steps(false, true);
    assert_eq!((shown(&steps).1, steps.calls()), (1, vec!["bind p n1".to_owned()]));
    steps.serve();
    assert_eq!(shown(&steps), ("no".into(), 0));
}
