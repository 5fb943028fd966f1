//! What the memory of a scheduler adds to the objects of a snapshot: assumed pods are on their nodes, pods are nominated,
//! and nodes have the order of the scheduler's rows. What the memory does not know counts as the API server has it.

use bayplan_lang::eval::memos::MemoIndex;
use bayplan_lang::types::tagged::of_tagged;
use bayplan_lang::types::value::Ordered;
use bayplan_model::Time;
use bayplan_policy::of_profile;
use bayplan_scheduler::Scheduler;
use bayplan_scheduler::memory::{Memory, key_of};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Puts into the objects what only the scheduler knew of them.
pub(super) fn settle(memory: &Memory, objects: &mut [Value]) {
    let assumed = memory.assumed.iter().map(|of| (key_of(&of.uid, &of.pod), of.node.as_str()));
    // The memory was copied after the objects had been listed: a pod may have got its node in between.
    let bound = memory.pods.iter().filter_map(|of| Some((key_of(&of.uid, &of.object), of.node.as_deref()?)));
    let assumed: FxHashMap<_, _> = assumed.chain(bound).filter(|(_, node)| !node.is_empty()).collect();
    let nominated = memory.nominated.iter().map(|of| (key_of(&of.uid, &of.pod), of.node.as_str()));
    let nominated: FxHashMap<_, _> = nominated.filter(|(_, node)| !node.is_empty()).collect();
    for pod in objects.iter_mut().filter(|object| is(object, "Pod")) {
        if assumed.is_empty() && nominated.is_empty() {
            break;
        }
        let text = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let namespace =
            Some(text("/metadata/namespace")).filter(|name| !name.is_empty()).unwrap_or("default");
        let key = key_of(text("/metadata/uid"), &format!("{namespace}/{}", text("/metadata/name")));
        let has_node = !text("/spec/nodeName").is_empty();
        if let Some(node) = assumed.get(&key).filter(|_| !has_node) {
            set(pod, "spec", "nodeName", node);
        } else if let Some(node) = nominated.get(&key).filter(|_| !has_node) {
            set(pod, "status", "nominatedNodeName", node);
        }
    }
    let rows = memory.nodes.iter().enumerate().map(|(row, node)| (node.object.as_str(), row));
    let rows: FxHashMap<&str, usize> = rows.collect();
    let row = |object: &Value| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        match is(object, "Node") {
            true => (0, rows.get(name).copied().unwrap_or(usize::MAX)),
            false => (1, 0),
        }
    };
    if !rows.is_empty() {
        objects.sort_by_key(row);
    }
}

fn is(object: &Value, kind: &str) -> bool {
    object.get("kind").and_then(Value::as_str) == Some(kind)
        && object.get("apiVersion").and_then(Value::as_str) == Some("v1")
}

fn set(object: &mut Value, part: &str, field: &str, value: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    let part = fields.entry(part).or_insert_with(|| Value::Object(Map::new()));
    if let Some(part) = part.as_object_mut() {
        part.insert(field.to_owned(), json!(value));
    }
}

/// Gives a scheduler what its policies remembered, before the first pod is queued. What no memo of a profile has the key and
/// type of is left out.
pub(super) fn fill_memos(memory: &Memory, scheduler: &mut Scheduler, now: Time) {
    let profiles = scheduler.profiles().clone();
    let policies: Vec<_> = profiles.frameworks.iter().map(|framework| of_profile(framework)).collect();
    let memos = policies.iter().flat_map(|set| set.iter()).flat_map(|of| &of.policy.memos);
    let memos: BTreeMap<&str, _> = memos.map(|memo| (memo.index.0.as_str(), memo)).collect();
    for of in &memory.memos {
        let Some(memo) = memos.get(of.memo.as_str()) else { continue };
        let (key, value) = (of_tagged(&of.key, &memo.key.ty), of_tagged(&of.value, &memo.ty));
        let (Some(key), Some(value)) = (key, value) else { continue };
        let keeps_for = (of.until.0 - now).min(memo.keeps_for);
        scheduler.fill::<MemoIndex>(&memo.index, |index, moved| {
            index.remember(Ordered(key), Some(value), now, keeps_for, moved);
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bayplan_scheduler::memory::{AssumedPod, KnownObject, NominatedPod};

    #[test]
    fn assumptions_nominations_and_the_order_of_nodes_are_put_into_objects() {
        let pod = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "x", "uid": uid}});
        let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        let mut bound = pod("c", "3");
        bound["spec"] = json!({"nodeName": "n9"});
        let mut odd = pod("d", "4");
        odd["spec"] = json!(7);
        let mut objects =
            vec![node("n1"), node("n3"), node("n2"), pod("a", "1"), pod("b", ""), bound, odd, json!(1)];
        let assumed = |pod: &str, uid: &str| AssumedPod {
            pod: pod.into(),
            uid: uid.into(),
            node: "n1".into(),
            ..AssumedPod::default()
        };
        let known = |name: &str| KnownObject { object: name.into(), ..KnownObject::default() };
        let memory = Memory {
            assumed: vec![
                assumed("x/a", "1"),
                assumed("x/c", "3"),
                assumed("x/d", "4"),
                assumed("x/gone", "9"),
            ],
            nominated: vec![NominatedPod { pod: "x/b".into(), uid: String::new(), node: "n2".into() }],
            nodes: vec![known("n2"), known("n1")],
            ..Memory::default()
        };
        settle(&memory, &mut objects);
        let names: Vec<_> = objects.iter().filter_map(|of| of["metadata"]["name"].as_str()).collect();
        assert_eq!(names, ["n2", "n1", "n3", "a", "b", "c", "d"]);
        assert_eq!(objects[3]["spec"]["nodeName"], "n1");
        assert_eq!(objects[4]["status"]["nominatedNodeName"], "n2");
        assert_eq!(objects[5]["spec"]["nodeName"], "n9", "the API server's node counts");
        assert_eq!(objects[6]["spec"], 7);
    }
}
