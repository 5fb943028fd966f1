//! A pod of a DaemonSet may be seen before its DaemonSet: it is refused until then, and no longer.

use super::run::{Run, framework_of};
use bayplan::scheduler::Input;
use bayplan::testing::{PodMaker, node, object_of, pod};
use serde_json::json;

fn of_set(uid: &str) -> PodMaker {
    let by_name = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]});
    pod("agent-n")
        .label("app", "agent")
        .owner("DaemonSet", "agent")
        .set("metadata.ownerReferences.0.uid", json!(uid))
        .set("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", by_name)
}

fn set(name: &str, uid: &str) -> Input {
    Input::Upserted(object_of(json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}},
    })))
}

#[test]
fn a_refused_pod_is_tried_again_when_its_daemon_set_is_seen() {
    for rules in [
        "gate \"closed\" when true",
        "prefilter { reject \"closed\" when true }",
        "filter closed { reject \"closed\" when node.labels[\"open\"] != \"yes\" }",
    ] {
        let mut run =
            Run::on(node("n").cpu("2").pods(110), framework_of(&format!("policy closed {{ {rules} }}")));
        run.add(of_set("u"));
        run.pass(20);
        assert!(run.bound.is_empty(), "{rules}: its DaemonSet is not there");
        let tried = run.attempts.len();
        // Another DaemonSet, and a namesake with another UID, help nobody.
        run.step(set("other", "v"));
        run.step(set("agent", "w"));
        run.pass(20);
        assert!(run.bound.is_empty() && run.attempts.len() == tried, "{rules}: {:?}", run.attempts);
        run.step(set("agent", "u"));
        run.pass(20);
        assert_eq!(run.bound, ["agent-n"], "{rules}: {:?}", run.notes);
    }
}
