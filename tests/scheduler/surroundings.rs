//! What others do to decisions: bindings by other schedulers, refusals by kubelets, preemption in vain; and how long pods
//! have waited. Metrics show these numbers.

use super::steps::{Steps, with};
use bayplan::framework::{Answer, ApiCall};
use bayplan::model::{Duration, Object, OwnerReference, PodInfo, PodKey, Symbol};
use bayplan::scheduler::Input;
use bayplan::testing::{PodMaker, node, pod};

fn foreign(steps: &Steps) -> Vec<(String, u64)> {
    steps.scheduler.foreign_bindings().map(|(name, count)| (name.to_string(), count)).collect()
}

fn refusals(steps: &Steps) -> Vec<(&'static str, u64)> {
    steps.scheduler.kubelet_refusals().collect()
}

/// A pod that another scheduler places.
fn other(name: &str) -> PodMaker {
    pod(name).cpu("1").set("spec.schedulerName", "other".into())
}

/// Two nodes, on the first of which a pod of ours runs.
fn shared() -> Steps {
    let nodes = ["n1", "n2"].map(|name| node(name).cpu("4").object());
    let mut steps = Steps::new(with(Vec::new()), nodes.into());
    steps.put(pod("ours").cpu("1").on("n1").phase("Running").object());
    steps
}

#[test]
fn bindings_of_others_count_on_nodes_that_have_a_pod_of_ours() {
    let mut steps = shared();
    steps.put(other("seen-waiting").object());
    assert_eq!(foreign(&steps), []);
    steps.put(other("seen-waiting").on("n1").object());
    steps.put(other("seen-waiting").on("n1").phase("Running").object());
    steps.put(other("seen-late").on("n1").object());
    steps.put(other("elsewhere").on("n2").object());
    steps.put(pod("also-ours").cpu("1").on("n1").object());
    assert_eq!(foreign(&steps), [("other".to_owned(), 2)]);

    // A kubelet makes the mirror of a static pod on its node; no scheduler does.
    let mut mirror = (*other("mirror").on("n1").build()).clone();
    let owner = OwnerReference {
        api_version: "v1".into(),
        kind: "Node".into(),
        name: "n1".into(),
        uid: Symbol::default(),
        controller: true,
    };
    mirror.owners = vec![owner].into();
    steps.put(Object::Pod(mirror.into()));
    // Another replica counts what happens while it leads.
    steps.step(Input::Lead(false));
    steps.put(other("later").on("n1").object());
    assert_eq!(foreign(&steps), [("other".to_owned(), 2)]);
}

/// What a kubelet makes of a pod that it does not take.
fn fails(steps: &mut Steps, name: &str, reason: &str) {
    steps.change(name, |pod| {
        pod.phase = "Failed".into();
        pod.failure = Some(reason.into());
    });
}

#[test]
fn a_pod_that_the_kubelet_refuses_is_counted_by_reason_and_told() {
    let mut steps = shared();
    steps.put(other("taker").cpu("3").on("n1").object());
    for name in ["a", "b", "c", "d"] {
        steps.put(pod(name).cpu("1").on("n1").object());
    }
    steps.put(pod("e").cpu("1").object());
    steps.events.clear();
    fails(&mut steps, "a", "OutOfcpu");
    fails(&mut steps, "b", "OutOfnvidia.com/gpu");
    // It ran, and a controller or the kubelet ended it.
    fails(&mut steps, "c", "Evicted");
    fails(&mut steps, "d", "DeadlineExceeded");
    // It has no node yet, and it is not ours.
    fails(&mut steps, "e", "OutOfcpu");
    fails(&mut steps, "taker", "OutOfcpu");
    assert_eq!(refusals(&steps), [("OutOfOther", 1), ("OutOfcpu", 1)]);
    let told = |why| {
        format!(
            "NodeRefused node n1 refused the pod after it was bound: {why}; pods there that others placed: 1 (other)"
        )
    };
    assert_eq!(steps.events, [told("OutOfcpu"), told("OutOfnvidia.com/gpu")]);
}

/// The watch of a real API server leaves failed pods out: a pod that fails is deleted from it.
#[test]
fn a_pod_that_leaves_the_watch_before_its_kubelet_took_it_is_read() {
    let mut steps = shared();
    for name in ["refused", "deleted", "replaced"] {
        steps.put(pod(name).cpu("1").on("n1").phase("Pending").object());
    }
    // Its kubelet took it, and it was deleted in the usual way.
    steps.put(
        pod("started")
            .cpu("1")
            .on("n1")
            .phase("Pending")
            .set("status.startTime", "2026-01-05T12:00:00Z".into())
            .object(),
    );
    steps.put(pod("ending").cpu("1").on("n1").phase("Pending").terminating().object());
    let keys: Vec<_> = steps.scheduler.pod_states().into_iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys.len(), 6);
    for name in ["refused", "deleted", "replaced", "started", "ending", "ours"] {
        let key = Object::Pod(steps.pod(name)).key();
        steps.step(Input::Deleted(key));
    }
    let mut asked: Vec<String> = steps.calls();
    asked.sort();
    assert_eq!(asked, ["read deleted", "read refused", "read replaced"]);
    steps.events.clear();
    for at in (0..3).rev() {
        let (ticket, call) = steps.open.remove(at);
        let ApiCall::Read(key) = call else { panic!("{call:?}") };
        let mut pod = (*steps.pod(&key.name)).clone();
        pod.phase = "Failed".into();
        pod.failure = Some("OutOfcpu".into());
        let found = match &*key.name {
            "deleted" => None,
            "replaced" => Some(PodInfo { key: PodKey("other".into()), ..pod }),
            _ => Some(pod),
        };
        let answer = Answer::Object(found.map(|pod| Object::Pod(pod.into())));
        steps.step(Input::Reply(ticket, Ok(answer)));
    }
    assert_eq!(refusals(&steps), [("OutOfcpu", 1)]);
    assert_eq!(steps.events, ["NodeRefused node n1 refused the pod after it was bound: OutOfcpu"]);
    assert_eq!(steps.scheduler.open_calls(), 0);
}

#[test]
fn a_pod_that_failed_before_this_instance_saw_it_is_not_counted() {
    let mut steps = shared();
    steps.put(pod("old").cpu("1").on("n1").phase("Failed").set("status.reason", "OutOfcpu".into()).object());
    assert_eq!(steps.pod("old").failure.as_deref(), Some("OutOfcpu"));
    assert_eq!(refusals(&steps), []);
}

#[test]
fn the_longest_wait_of_each_queue_leaves_gated_pods_out() {
    let mut steps = Steps::new(with(Vec::new()), vec![node("n1").cpu("4").object()]);
    let seconds = |steps: &Steps| steps.scheduler.longest_waits().map(|wait| wait.0 / 1_000_000);
    steps.put(pod("huge").cpu("64").object());
    steps.cycles();
    steps.put(
        pod("gated").cpu("1").set("spec.schedulingGates", serde_json::json!([{"name": "wait"}])).object(),
    );
    steps.wait(Duration::from_seconds(40));
    assert_eq!(seconds(&steps), [0, 0, 40]);
    // An event makes it active: there it has waited for no time yet, though it came long ago.
    steps.put(node("n2").cpu("2").object());
    steps.put(node("n3").cpu("128").object());
    assert_eq!(seconds(&steps), [0, 0, 0]);
    steps.wait(Duration::from_seconds(7));
    assert_eq!(seconds(&steps), [7, 0, 0]);
    steps.cycles();
    assert_eq!(seconds(&steps), [0, 0, 0]);
}
