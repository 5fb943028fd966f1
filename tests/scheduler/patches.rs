//! `patch`: what a policy wants of an object, before and after the binding, on an API server that knows who wants what.

use super::steps::{Steps, with};
use crate::support::policies::compile;
use bayplan::dry_run::Fault;
use bayplan::framework::{ApiCall, Intent, ObjectPart, PatchBody};
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    Duration, Kind, KindName, LookedUp, Object, ObjectKey, OwnerReference, PodInfo, Symbol, looked_up,
};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

fn kind() -> KindName {
    KindName::parse("example.com/v1/Machine").unwrap()
}

fn machine() -> Object {
    let object = json!({
        "metadata": {"name": "m", "namespace": "default", "uid": "m-uid", "annotations": {"example.com/own": "stays"}},
        "spec": {"kept": true, "home": "elsewhere"},
    });
    Object::Other(Arc::new(LookedUp::new(&kind(), object, &Projection::everything()).unwrap()))
}

fn of_machine(name: &str, zone: Option<&str>) -> Object {
    let owner = OwnerReference {
        api_version: "example.com/v1".into(),
        kind: "Machine".into(),
        name: "m".into(),
        uid: "m-uid".into(),
        controller: true,
    };
    let pod = pod(name).cpu("500m");
    let pod = match zone {
        Some(zone) => pod.label("zone", zone),
        None => pod,
    };
    Object::Pod(Arc::new(PodInfo { owners: vec![owner].into(), ..(*pod.build()).clone() }))
}

fn fields(steps: &Steps) -> Value {
    let key = ObjectKey {
        kind: Kind::LookedUp(kind()),
        namespace: "default".into(),
        name: "m".into(),
        uid: Symbol::default(),
    };
    let Some(Object::Other(object)) = steps.server.get(&key) else { panic!("the machine is gone") };
    let mut fields = looked_up(object.as_ref()).unwrap().fields().clone();
    fields.as_object_mut().unwrap().remove("metadata");
    fields
}

/// The policy, a node, the machine and a pod of it.
fn started(acts: &str) -> Steps {
    let text = format!(
        "policy home {{ let vm = pod.owner(\"example.com/v1/Machine\") missing skip\n let zone = pod.labels[\"zone\"]\n {acts} }}"
    );
    let profiles = with(plugins(&compile(&text), &ExemptPods::default()));
    let objects = vec![node("n1").cpu("4").pods(10).object(), machine(), of_machine("p", Some("a"))];
    let mut steps = Steps::new(profiles, objects);
    steps.cycles();
    // Where the pod will go is said first.
    if let Some(at) = steps.open.iter().position(|(_, call)| matches!(call, ApiCall::PatchStatus { .. })) {
        steps.open.swap(0, at);
        answer(&mut steps, None);
    }
    steps
}

/// Answers the oldest call as the server does.
fn answer(steps: &mut Steps, fault: Option<Fault>) {
    let (ticket, call) = steps.open.remove(0);
    let answer = steps.server.answer(&call, steps.now, fault);
    steps.step(bayplan::scheduler::Input::Reply(ticket, answer));
}

const BEFORE: &str = r#"before bind {
    patch vm {"spec": {"home": node.name, "zone": zone, "cpu": pod.requests.cpu, "counts": [1, 2], "started": now()},
              "status": {"phase": "Placed"}}
    patch vm {"spec": {"first": {"pod": pod.name}}} when zone == "a"
}"#;

#[test]
fn the_patches_of_an_object_are_one_call_for_it_and_one_for_its_status() {
    let mut steps = started(BEFORE);
    assert_eq!(steps.calls(), ["patch m"], "the binding waits");
    let ApiCall::Patch { part, version, body: PatchBody::Apply(Intent { manager, fields }), .. } =
        &steps.open[0].1
    else {
        panic!("{:?}", steps.open)
    };
    assert_eq!((*part, version, manager.as_str()), (ObjectPart::Object, &None, "bayplan/home"));
    let started = fields["spec"]["started"].as_str().unwrap().to_owned();
    assert!(started.ends_with('Z'), "{started}");
    let wanted = json!({"spec": {"home": "n1", "zone": "a", "cpu": "500m", "counts": [1, 2], "started": started,
                                 "first": {"pod": "p"}}});
    assert_eq!(Value::Object(fields.clone()), wanted);
    answer(&mut steps, None);
    let ApiCall::Patch { part: ObjectPart::Status, body: PatchBody::Apply(intent), .. } = &steps.open[0].1
    else {
        panic!("{:?}", steps.open)
    };
    assert_eq!(Value::Object(intent.fields.clone()), json!({"status": {"phase": "Placed"}}));
    answer(&mut steps, None);
    assert_eq!(steps.calls(), ["bind p n1"]);
    steps.serve();
    assert_eq!(fields_of(&steps, "spec")["kept"], true, "what others want stays");
    assert_eq!(fields_of(&steps, "status"), json!({"phase": "Placed"}));

    // A further pod leaves fields out: they are removed, and no others.
    steps.put(of_machine("q", None));
    steps.cycles();
    steps.serve();
    let spec = fields_of(&steps, "spec");
    assert_eq!((&spec["kept"], &spec["home"], &spec["cpu"]), (&json!(true), &json!("n1"), &json!("500m")));
    assert_eq!(spec.get("zone"), None, "{spec}");
    assert_eq!(spec["first"].get("pod"), None, "{spec}");
}

fn fields_of(steps: &Steps, part: &str) -> Value {
    fields(steps)[part].clone()
}

#[test]
fn a_refused_patch_before_the_binding_fails_it_and_an_unknown_one_is_sent_again() {
    for code in [403, 404, 409, 422] {
        let mut steps = started(BEFORE);
        answer(&mut steps, Some(Fault::Refuse(code)));
        assert!(
            steps.events.iter().any(|event| event.contains("home/before bind: writing to \"m\"")),
            "{code}"
        );
        assert_eq!(steps.taken(), 0, "{code}: the pod holds no room");
        steps.serve();
        assert!(steps.pod("p").node_name.is_some() || steps.scheduler.next_wakeup().is_some(), "{code}");
    }
    for fault in [Fault::LoseAnswer, Fault::LoseCall, Fault::Refuse(500)] {
        let mut steps = started(BEFORE);
        answer(&mut steps, Some(fault));
        assert!(steps.open.is_empty(), "{fault:?}: {:?}", steps.calls());
        steps.wait(Duration::from_seconds(1));
        steps.serve();
        assert_eq!(fields_of(&steps, "spec")["home"], "n1", "{fault:?}");
        assert!(steps.pod("p").node_name.is_some(), "{fault:?}");
    }
}

#[test]
fn a_patch_after_the_binding_is_made_before_the_mark_goes() {
    let after = r#"after bind {
        annotate vm {"example.com/seen": "yes"}
        patch vm {"status": {"node": node.name, "zone": zone}}
        patch pod {"metadata": {"labels": {"patched": "yes"}}}
    }"#;
    let mut steps = started(after);
    assert_eq!(steps.calls(), ["bind p n1"], "no write before the binding is known");
    answer(&mut steps, None);
    answer(&mut steps, None);
    assert_eq!(steps.calls(), ["patch m"], "the annotation is made, the patch is not");
    answer(&mut steps, Some(Fault::Refuse(403)));
    assert!(
        steps.events.iter().any(|event| event.starts_with("AfterBindFailed policy home")),
        "{:?}",
        steps.events
    );
    assert_eq!(steps.scheduler.marks_left().count(), 1);
    let next = steps.scheduler.next_wakeup().unwrap();
    steps.wait(next - steps.now);
    steps.serve();
    assert_eq!(fields_of(&steps, "status"), json!({"node": "n1", "zone": "a"}));
    let pod = steps.pod("p");
    assert_eq!(pod.labels.get(&"patched".into()).map(Symbol::as_str), Some("yes"));
    assert!(pod.annotations.get("after-bind.bayplan.dev/home").is_none());
    assert_eq!(steps.scheduler.marks_left().count(), 0);
}
