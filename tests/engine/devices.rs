//! The plugin DynamicResources against what kube-scheduler of each version decided about devices: nodes, texts and scores as
//! of any other plugin, and besides the devices that claims get on each node and the claims that are taken back.

use super::conformance::{
    Count, NOW, cluster, compare_decision, frameworks, hints, requests_ousted_class, reserve, upsert,
};
use super::device_writes;
use crate::support::{recorded, vectors_of, version_of};
use bayplan::engine::{Decider, Plain, Scan};
use bayplan::framework::{Answer, ApiCall, ClaimPatch, Cycle, Framework, PatchBody, Silent};
use bayplan::model::{ClaimSource, KubernetesVersion, PodInfo, ResourceClaim, Snapshot, Symbol};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files of decisions about devices, of both versions.
const FAMILIES: [&str; 17] = [
    "devices-exact",
    "devices-all",
    "devices-pools",
    "devices-match",
    "devices-prioritized",
    "devices-admin",
    "devices-counters",
    "devices-capacity",
    "devices-taints",
    "devices-conditions",
    "devices-cel",
    "devices-config",
    "devices-allocated",
    "devices-extended",
    "devices-names",
    "devices-mixed",
    "devices-worked",
];

/// The name of the claim of extended resources, which does not exist yet.
const EXTENDED: &str = "<extended-resources>";

/// Compares the decisions of a case.
fn compare(case: &Value, decider: &mut dyn Decider, count: &mut Count) {
    let frameworks = frameworks(&case["config"], version_of(case));
    let mut snapshot = cluster(&case["objects"], &frameworks);
    count.cases += 1;
    let pods = case["pending"].as_array().unwrap().iter();
    for (pod, decision) in pods.zip(case["decisions"].as_array().unwrap()) {
        if requests_ousted_class(case, pod) {
            // Where it is placed decides what the pods after it find.
            if decision["chosen"].is_null() { continue } else { break }
        }
        let place = format!("{} {}", case["name"], decision["pod"]);
        count.same(|| format!("{place} gated"), &gated(&frameworks, &snapshot, pod), &decision["gated"]);
        compare_decision(case, pod, decision, &frameworks, &snapshot, decider, count);
        if decision["feasible"] == json!([]) && decision["error"].is_null() {
            let ours = taken_back(&frameworks, &snapshot, pod, decider);
            let names = |of: &Value| of.as_array().cloned().unwrap_or_default();
            let theirs = (names(&decision["deallocated"]), names(&decision["deletedClaims"]));
            count.same(|| format!("{place} taken back"), &ours, &theirs);
        }
        compare_allocations(&place, pod, decision, &frameworks, &snapshot, count);
        if let Some(chosen) = decision["chosen"].as_str() {
            let reserved = reserve(&frameworks, &mut snapshot, pod, chosen);
            count.same(|| format!("{place} reserve"), &reserved.map_err(|status| status.message()), &Ok(()));
            let mut pod = pod.clone();
            pod["spec"]["nodeName"] = chosen.into();
            upsert(&mut snapshot, &pod);
        }
    }
}

/// Compares what the claims of a pod get on each node.
pub(super) fn compare_allocations(
    place: &str,
    pod: &Value,
    decision: &Value,
    frameworks: &[Arc<Framework>],
    snapshot: &Snapshot,
    count: &mut Count,
) {
    // A claim that is named twice is searched for twice, and the pod can never be bound: the first one counts.
    let recorded = decision["allocations"].as_object().filter(|_| !names_a_claim_twice(pod));
    for (node, expected) in recorded.into_iter().flatten() {
        let ours = allocations(frameworks, snapshot, pod, node);
        count.same(|| format!("{place} allocations on {node}"), &ours, &Ok(expected_of(expected)));
    }
}

fn names_a_claim_twice(pod: &Value) -> bool {
    let entries = pod["spec"]["resourceClaims"].as_array();
    let names = entries.into_iter().flatten().filter_map(|entry| entry["resourceClaimName"].as_str());
    let names: Vec<&str> = names.collect();
    names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
}

pub(super) fn of(frameworks: &[Arc<Framework>], pod: &Value) -> (Arc<PodInfo>, Arc<Framework>) {
    let pod = Arc::new(PodInfo::from_value(Arc::new(pod.clone())).unwrap());
    let framework = frameworks.iter().find(|f| f.scheduler_name == pod.scheduler_name).unwrap().clone();
    (pod, framework)
}

/// Why the pod is kept out of the queue.
pub(super) fn gated(frameworks: &[Arc<Framework>], snapshot: &Snapshot, pod: &Value) -> Value {
    let (pod, framework) = of(frameworks, pod);
    let cycle = Cycle::new(pod, framework.clone(), NOW);
    match framework.run_pre_enqueue(cycle.handle(snapshot)) {
        Err(status) if framework.plugin_name(status.plugin) == "DynamicResources" => json!(status.message()),
        _ => Value::Null,
    }
}

/// The claims that PostFilter deallocates and those that it deletes.
fn taken_back(
    frameworks: &[Arc<Framework>],
    snapshot: &Snapshot,
    pod: &Value,
    decider: &mut dyn Decider,
) -> (Vec<Value>, Vec<Value>) {
    let (pod, framework) = of(frameworks, pod);
    let mut cycle = Cycle::new(pod, framework.clone(), NOW);
    let _ = decider.filter(&mut cycle, snapshot, &mut Silent);
    let mut answer = framework.run_post_filter(&cycle, snapshot);
    let (mut deallocated, mut deleted) = (Vec::new(), Vec::new());
    while let Some(call) = answer.waits.as_ref().and_then(|wait| wait.call()).cloned() {
        let object = call.call.object();
        let name = json!(format!("{}/{}", object.namespace, object.name));
        match call.call {
            ApiCall::Patch { body: PatchBody::Claim(ClaimPatch::Deallocated), .. } => deallocated.push(name),
            ApiCall::Delete { .. } => deleted.push(name),
            _ => {}
        }
        let answered = answer.waits.as_mut().is_some_and(|wait| wait.answered(Ok(Answer::Done)));
        if answered {
            answer = framework.resume_post_filter(&cycle, snapshot, answer);
        }
    }
    (deallocated, deleted)
}

/// What the claims of a pod get on a node, in the order of the pod.
fn allocations(
    frameworks: &[Arc<Framework>],
    snapshot: &Snapshot,
    pod: &Value,
    node: &str,
) -> Result<Value, String> {
    let mut after = snapshot.fork();
    reserve(frameworks, &mut after, pod, node).map_err(|status| status.message())?;
    let (pod, _) = of(frameworks, pod);
    let assumed = after.assumed_by(&pod.key);
    let claim = |name: &Symbol| after.object::<ResourceClaim>(&pod.namespace, name).cloned();
    let mut names = Vec::new();
    let devices = pod.devices();
    for entry in devices.into_iter().flat_map(|devices| &devices.claims) {
        let status = devices.and_then(|all| all.claim_statuses.iter().find(|(name, _)| *name == entry.name));
        let name = match &entry.source {
            ClaimSource::Claim(name) => Some(name.clone()),
            _ => status.and_then(|(_, name)| name.clone()),
        };
        names.extend(name.filter(|name| assumed.iter().any(|key| key.name == *name)));
    }
    let further = assumed.iter().filter(|key| !names.contains(&key.name)).map(|key| key.name.clone());
    let further: Vec<Symbol> = further.collect();
    let mut shares = BTreeMap::new();
    let mut out = Vec::new();
    for name in names.iter().chain(&further) {
        let claim = claim(name).ok_or("the claim is not there")?;
        let mut allocation = claim.allocation.as_ref().ok_or("nothing is allocated")?.json();
        allocation.as_object_mut().unwrap().remove("allocationTimestamp");
        rename_shares(&mut allocation, &mut shares);
        let special = further.contains(name);
        let mut entry = json!({
            "claim": if special { EXTENDED.to_owned() } else { format!("{}/{name}", pod.namespace) },
            "allocation": allocation,
        });
        // One without requests is of a node that serves all resources itself.
        if special && !claim.requests.is_empty() {
            let requests = claim.requests.iter().map(|request| {
                let exactly = request.exactly.as_ref().unwrap();
                let bayplan::model::objects::devices::AllocationMode::ExactCount(count) =
                    exactly.device.mode()
                else {
                    panic!("extended resources are counted")
                };
                json!({"name": request.name.as_str(), "exactly": {
                    "deviceClassName": exactly.device.device_class_name.as_str(),
                    "allocationMode": "ExactCount", "count": count,
                }})
            });
            entry["requests"] = requests.collect();
        }
        out.push(entry);
    }
    Ok(Value::from(out))
}

fn rename_shares(allocation: &mut Value, shares: &mut BTreeMap<String, String>) {
    let results = allocation.pointer_mut("/devices/results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        let Some(share) = result.get_mut("shareID") else { continue };
        let next = format!("share-{}", shares.len());
        let renamed = shares.entry(share.as_str().unwrap().to_owned()).or_insert(next);
        *share = json!(renamed);
    }
}

/// What upstream recorded, without the mappings of containers, which a pod gets after Reserve.
fn expected_of(recorded: &Value) -> Value {
    let mut expected = recorded.clone();
    for entry in expected.as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("mappings");
    }
    expected
}

fn family<D: Decider + Default>(name: &str, cases: &[Value]) -> Count {
    let mut count = Count::default();
    for case in cases.iter().filter(|case| case["ends"].is_null()) {
        // Which node fails first depends on where a decider begins.
        compare(case, &mut D::default(), &mut count);
    }
    count.tell(name);
    count
}

fn families<D: Decider + Default>() {
    for version in KubernetesVersion::ALL {
        let mut all = Count::default();
        for name in FAMILIES {
            all.add(family::<D>(name, &recorded(version, name)));
        }
        all.tell(&format!("devices of {version}"));
        assert_eq!(all.mismatches.len(), 0, "{:#?}", &all.mismatches[..all.mismatches.len().min(20)]);
        assert!(all.cases >= 300 && all.decisions >= 600 && all.values >= 10_000, "{all:?}");
    }
}

#[test]
fn devices_agree_when_asked_plainly() {
    families::<Plain>();
}

#[test]
fn devices_agree_when_asked_by_ranges() {
    families::<Scan>();
}

#[test]
fn hints_about_devices_agree() {
    for version in KubernetesVersion::ALL {
        let count = hints(&recorded(version, "hints-devices"));
        count.tell(&format!("hints about devices of {version}"));
        assert_eq!(count.mismatches.len(), 0, "{:#?}", &count.mismatches[..count.mismatches.len().min(20)]);
        assert!(count.values >= 1_000, "{count:?}");
    }
}

/// Cases that `tests/conformance/generator` made, in the folder that `BAYPLAN_VECTORS` names.
#[test]
#[ignore = "needs BAYPLAN_VECTORS"]
fn further_devices_agree() {
    let folder = std::env::var("BAYPLAN_VECTORS").expect("a folder with *.jsonl.gz");
    let mut all = Count::default();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl.gz") || !name.contains("devices") {
            continue;
        }
        let cases = vectors_of(&path);
        if name.starts_with("hints") {
            let count = hints(&cases);
            count.tell(&name);
            all.add(count);
        } else {
            all.add(family::<Plain>(&format!("{name} plain"), &cases));
            all.add(family::<Scan>(&format!("{name} scan"), &cases));
            all.add(device_writes::family::<Plain>(&name, &cases));
        }
    }
    all.tell("all");
    assert_eq!(all.mismatches.len(), 0);
}
