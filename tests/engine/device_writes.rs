//! What the plugin DynamicResources writes, against what kube-scheduler of each version sends to the API server for the same
//! pods: calls in their order, each with the claim as it is after the call. Attempts end in every way: bound, unreserved, failed
//! after PreBind, and refused by the API server.
//!
//! kube-scheduler writes whole objects, the plugin patches: what a patch makes of the claim is compared with the object. Left
//! out, as `docs/behaviour.md` has it: the name of a claim for extended resources, a time for an allocation that has none,
//! calls that only find out that the claim has changed, and pods after a claim is taken back whose device another claim has
//! too. A reservation that the claim has already is written again, and changes
//! nothing.

use super::conformance::{Count, NOW, cluster, compare_decision, frameworks, requests_ousted_class, upsert};
use super::devices::{compare_allocations, gated, of};
use crate::support::{recorded, version_of};
use bayplan::engine::{Decider, Plain, Scan};
use bayplan::framework::{
    Act, Acting, Answer, ApiCall, CallError, Cycle, ObjectPart, PatchBody, PluginId, PreFlight, Silent,
    TaskPoll, Wake,
};
use bayplan::model::{Change, KindRow, KubernetesVersion, NodeId, Snapshot, Symbol};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A call and what the object is after it.
type Write = (String, Value);

/// The API server: it shows each write before it answers.
#[derive(Default)]
struct Server {
    /// By namespace and name.
    claims: BTreeMap<String, Value>,
    writes: Vec<Write>,
    /// What it answers to the next write of a status.
    refuses: Option<CallError>,
    /// The names of random shares.
    shares: BTreeMap<String, String>,
    /// What upstream's API server makes of the names that the scheduler chooses.
    names: BTreeMap<String, String>,
}

fn refused(code: u16, message: &str) -> CallError {
    CallError::Refused { code, reason: String::new(), message: message.to_owned() }
}

fn conflict(name: &str) -> CallError {
    let what = format!("Operation cannot be fulfilled on resourceclaims.resource.k8s.io {name:?}");
    refused(409, &format!("{what}: the object has been modified"))
}

/// A claim after a strategic merge patch.
fn patched(claim: &Value, patch: &Value) -> Value {
    let mut claim = claim.clone();
    let finalizers = |name: &str| patch["metadata"][name].as_array().cloned().unwrap_or_default();
    let gone = finalizers("$deleteFromPrimitiveList/finalizers");
    let mut all = claim["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    all.retain(|name| !gone.contains(name));
    let new = finalizers("finalizers").into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>();
    all.extend(new);
    claim["metadata"]["finalizers"] = all.into();
    for (field, value) in patch["status"].as_object().into_iter().flatten() {
        let mut after = value.clone();
        if field == "reservedFor" && !value.is_null() {
            let mut all = claim["status"][field].as_array().cloned().unwrap_or_default();
            for one in value.as_array().unwrap() {
                all.retain(|known| known["uid"] != one["uid"] || one["$patch"].is_null());
                if one["$patch"].is_null() && !all.iter().any(|known| known["uid"] == one["uid"]) {
                    all.push(one.clone());
                }
            }
            after = all.into();
        }
        claim["status"][field] = after;
    }
    claim
}

/// Without what Go leaves out.
fn without_empty(value: &Value) -> Value {
    let mut value = value.clone();
    let of_devices = value.pointer_mut("/allocation/devices").and_then(Value::as_object_mut);
    if let Some(fields) = of_devices {
        fields.retain(|_, field| *field != json!([]));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !field.is_null() && *field != json!([]) && *field != json!({}));
    }
    value
}

/// The devices of a claim's allocation.
fn devices(claim: &Value) -> impl Iterator<Item = [&Value; 3]> {
    let results = claim.pointer("/status/allocation/devices/results").and_then(Value::as_array);
    results.into_iter().flatten().map(|result| ["driver", "pool", "device"].map(|field| &result[field]))
}

impl Server {
    fn new(objects: &Value) -> Self {
        let mut server = Self::default();
        for object in objects.as_array().unwrap().iter().filter(|one| one["kind"] == "ResourceClaim") {
            let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            server.claims.insert(format!("{}/{}", text("namespace"), text("name")), object.clone());
        }
        server
    }

    /// The name that upstream has for a claim.
    fn name(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// Whether other claims have a device of one of these claims, too.
    fn is_held_twice(&self, claims: &Value) -> bool {
        let gone: Vec<&str> = claims.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (gone, others): (Vec<_>, Vec<_>) =
            self.claims.iter().partition(|(name, _)| gone.contains(&name.as_str()));
        let held: Vec<_> = others.iter().flat_map(|(_, claim)| devices(claim)).collect();
        gone.iter().flat_map(|(_, claim)| devices(claim)).any(|device| held.contains(&device))
    }

    fn note(&mut self, call: String, mut body: Value) {
        let results = body.pointer_mut("/status/allocation/devices/results").and_then(Value::as_array_mut);
        for result in results.into_iter().flatten() {
            let Some(share) = result.get_mut("shareID") else { continue };
            // Those of drawn objects begin with zeros.
            if share.as_str().unwrap().starts_with("00000000") {
                continue;
            }
            let next = format!("share-{}", self.shares.len());
            *share = json!(self.shares.entry(share.as_str().unwrap().to_owned()).or_insert(next));
        }
        self.writes.push((call, body));
    }

    /// What is compared of a claim.
    fn body(&self, claim: &Value, status: bool) -> Value {
        let metadata = &claim["metadata"];
        let name = self.name(metadata["name"].as_str().unwrap());
        let mut body = json!({"metadata": without_empty(&json!({
            "name": name, "finalizers": metadata["finalizers"], "annotations": metadata["annotations"],
            "ownerReferences": metadata["ownerReferences"],
        }))});
        if status {
            body["status"] = without_empty(&claim["status"]);
            let at = body.pointer_mut("/status/allocation/allocationTimestamp");
            // Drawn objects are of another year.
            if let Some(at) = at.filter(|at| ("2027".."2099").contains(&at.as_str().unwrap())) {
                *at = json!("now");
            }
        }
        body
    }

    fn show(&mut self, key: &str, mut claim: Value, snapshot: &mut Snapshot) -> Box<str> {
        let version: u64 = claim["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        claim["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        upsert(snapshot, &claim);
        self.claims.insert(key.to_owned(), claim);
        (version + 1).to_string().into()
    }

    fn answer(&mut self, call: &ApiCall, snapshot: &mut Snapshot) -> Result<Answer, CallError> {
        let object = call.object();
        let key = format!("{}/{}", object.namespace, object.name);
        let shown = format!("{}/{}", object.namespace, self.name(&object.name));
        let stored = self.claims.get(&key).cloned();
        match call {
            ApiCall::Patch { of, part, body: body @ PatchBody::ExtendedClaim { claim, .. }, .. } => {
                assert_eq!(*part, ObjectPart::Status);
                let mut patch = body.json(of, None, "");
                patch["status"]["extendedResourceClaimStatus"]["resourceClaimName"] = json!(self.name(claim));
                self.note(format!("PATCH pods/{shown}/status"), json!({"status": patch["status"]}));
                Ok(Answer::Written { version: "1".into() })
            }
            ApiCall::Patch { of, part, version, body } => {
                let Some(stored) = stored else { return Err(refused(404, "not found")) };
                let patch = body.json(of, None, "");
                let claim = patched(&stored, &patch);
                let is_status = *part == ObjectPart::Status;
                if without_empty(&claim["status"]) == without_empty(&stored["status"]) && is_status {
                    return Ok(Answer::Written { version: self.show(&key, claim, snapshot) });
                }
                match is_status {
                    true if patch["status"]["reservedFor"][0]["$patch"] == "delete" => {
                        self.note(format!("PATCH resourceclaims/{shown}/status"), patch);
                    }
                    true => {
                        let body = self.body(&claim, true);
                        self.note(format!("PUT resourceclaims/{shown}/status"), body);
                        if let Some(error) = self.refuses.take() {
                            return Err(error);
                        }
                    }
                    false => self.note(format!("PUT resourceclaims/{shown}"), self.body(&claim, false)),
                }
                let at = stored["metadata"]["resourceVersion"].as_str().unwrap();
                if version.as_deref().is_some_and(|version| version != at) {
                    return Err(conflict(&object.name));
                }
                Ok(Answer::Written { version: self.show(&key, claim, snapshot) })
            }
            ApiCall::Create { object: claim, .. } => {
                let mut claim = (**claim).clone();
                let name = object.name.to_string();
                let generated = format!("{}-", name.rsplit_once('-').unwrap().0);
                let mut body = json!({"metadata": claim["metadata"], "spec": claim["spec"]});
                let metadata = body["metadata"].as_object_mut().unwrap();
                metadata.retain(|field, _| !["name", "namespace"].contains(&field.as_str()));
                metadata.insert("generateName".to_owned(), json!(generated));
                self.note(format!("POST resourceclaims/{}", object.namespace), body);
                let uid = format!("uid-{generated}made");
                self.names.insert(name, format!("{generated}made"));
                (claim["metadata"]["uid"], claim["metadata"]["resourceVersion"]) = (json!(uid), json!("9"));
                let version = self.show(&key, claim, snapshot);
                Ok(Answer::Created { uid: uid.into(), version })
            }
            ApiCall::Read(_) => Ok(Answer::Object(stored.map(|claim| {
                let row = KindRow::named("resource.k8s.io/v1", "ResourceClaim").unwrap();
                (row.from_value)(Arc::new(claim)).unwrap()
            }))),
            ApiCall::Delete { .. } => {
                self.note(format!("DELETE resourceclaims/{shown}"), Value::Null);
                self.claims.remove(&key);
                snapshot.apply(Change::ObjectGone { key: object.clone() });
                Ok(Answer::Done)
            }
            other => panic!("{other:?}"),
        }
    }

    fn answer_all(&mut self, acts: &mut Vec<Act>, snapshot: &mut Snapshot) {
        for act in std::mem::take(acts) {
            if let Act::Call(_, call) = act {
                let _ = self.answer(&call, snapshot);
            }
        }
    }
}

/// What upstream sends, without what is left out on purpose. `claims`: as they were before.
fn expected(decision: &Value, claims: &BTreeMap<String, Value>) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    for write in decision["writes"].as_array().into_iter().flatten() {
        let call = write["call"].as_str().unwrap().to_owned();
        let mut body = write["body"].clone();
        let path = call.strip_prefix("PUT resourceclaims/");
        let is_object = path.is_some_and(|path| !path.ends_with("/status"));
        if is_object && writes.last().is_some_and(|(last, _)| *last == call) {
            continue;
        }
        // The second allocation of a claim that the pod names twice, which is refused as too old.
        let is_protected = body["metadata"]["finalizers"][0] == "resource.kubernetes.io/delete-protection";
        if is_object && is_protected && writes.iter().any(|(known, _)| *known == call) {
            continue;
        }
        let before = path.and_then(|path| claims.get(path.trim_end_matches("/status")));
        let before = before.and_then(|claim| claim.pointer("/status/allocation")).filter(|of| !of.is_null());
        if before.is_some_and(|allocation| allocation["allocationTimestamp"].is_null()) {
            let allocation = body.pointer_mut("/status/allocation").and_then(Value::as_object_mut);
            allocation.map(|allocation| allocation.remove("allocationTimestamp"));
        }
        // Go's empty list.
        if let Some(requests) = body.pointer_mut("/spec/devices/requests").filter(|of| of.is_null()) {
            *requests = json!([]);
        }
        if path.is_some()
            && let Some(metadata) = body["metadata"].as_object_mut()
        {
            metadata.remove("generateName");
        }
        writes.push((call, body));
    }
    writes
}

/// One attempt from Reserve on; fails with the text of PreBind.
struct Attempt<'a> {
    cycle: Cycle,
    node: NodeId,
    snapshot: &'a mut Snapshot,
    server: &'a mut Server,
}

impl Attempt<'_> {
    /// How Reserve and PreBind end.
    fn run(&mut self, end: &str) -> Result<(), String> {
        let framework = self.cycle.framework.clone();
        let (mut acts, mut next_ticket, mut now) = (Vec::new(), 0, NOW);
        let reserved = {
            let snapshot = &mut *self.snapshot;
            let mut acting = Acting { snapshot, now, acts: &mut acts, next_ticket: &mut next_ticket };
            framework.run_reserve(&mut self.cycle, self.node, &mut acting)
        };
        reserved.map_err(|status| status.message())?;
        if end == "unreserved" {
            return Ok(());
        }
        self.server.refuses = match end {
            "conflict" => Some(conflict("claim")),
            "forbidden" => Some(refused(403, "resourceclaims.resource.k8s.io \"claim\" is forbidden: no")),
            _ => None,
        };
        let is_it = |name: &str| name == "DynamicResources";
        let at = framework.plugins().iter().position(|plugin| is_it(plugin.name())).unwrap();
        let id = PluginId(u16::try_from(at).unwrap());
        let point = framework.plugin(id).and_then(|plugin| plugin.pre_bind()).unwrap();
        let handle = self.cycle.handle(self.snapshot).for_plugin(id);
        if point.pre_flight(&handle, self.node).unwrap() == PreFlight::Skip {
            return Ok(());
        }
        let mut task = {
            let snapshot = &mut *self.snapshot;
            let mut acting = Acting { snapshot, now, acts: &mut acts, next_ticket: &mut next_ticket };
            point.start(&mut acting.actor(&mut self.cycle, id), self.node).unwrap()
        };
        let mut wake = Wake::Start;
        let ended = loop {
            let snapshot = &mut *self.snapshot;
            let mut acting = Acting { snapshot, now, acts: &mut acts, next_ticket: &mut next_ticket };
            let polled = task.poll(&mut acting.actor(&mut self.cycle, id), &wake);
            let until = match polled {
                Ok(TaskPoll::Pending { until, .. }) => until,
                Ok(TaskPoll::Done) => break Ok(()),
                Err(status) => break Err(status.message()),
            };
            let call = acts.drain(..).find_map(|act| match act {
                Act::Call(ticket, call) => Some((ticket, call)),
                _ => None,
            });
            wake = match (call, until) {
                (Some((ticket, call)), _) => Wake::Answer(ticket, self.server.answer(&call, self.snapshot)),
                (None, Some(until)) => {
                    now = until;
                    Wake::Deadline
                }
                (None, None) => panic!("it waits for nothing"),
            };
        };
        self.server.refuses = None;
        ended
    }

    fn unreserve(&mut self) {
        let (mut acts, mut next_ticket) = (Vec::new(), 1_000);
        let framework = self.cycle.framework.clone();
        let snapshot = &mut *self.snapshot;
        let mut acting = Acting { snapshot, now: NOW, acts: &mut acts, next_ticket: &mut next_ticket };
        framework.run_unreserve(&mut self.cycle, self.node, &mut acting);
        self.server.answer_all(&mut acts, self.snapshot);
    }
}

/// Compares the attempts of a case, each with its writes.
fn compare(case: &Value, decider: &mut dyn Decider, count: &mut Count) {
    let frameworks = frameworks(&case["config"], version_of(case));
    let mut snapshot = cluster(&case["objects"], &frameworks);
    let mut server = Server::new(&case["objects"]);
    count.cases += 1;
    let pods = case["pending"].as_array().unwrap().iter().zip(case["ends"].as_array().unwrap());
    for ((pod, end), decision) in pods.zip(case["decisions"].as_array().unwrap()) {
        if requests_ousted_class(case, pod) {
            // Where it is placed decides what the pods after it find.
            if decision["chosen"].is_null() { continue } else { break }
        }
        let place = format!("{} {}", case["name"], decision["pod"]);
        count.same(|| format!("{place} gated"), &gated(&frameworks, &snapshot, pod), &decision["gated"]);
        compare_decision(case, pod, decision, &frameworks, &snapshot, decider, count);
        compare_allocations(&place, pod, decision, &frameworks, &snapshot, count);
        let (info, framework) = of(&frameworks, pod);
        let mut cycle = Cycle::new(info, framework.clone(), NOW);
        let expected = expected(decision, &server.claims);
        // Upstream takes the device to be free, ours does not.
        let ends_here =
            ["deletedClaims", "deallocated"].iter().any(|of| server.is_held_twice(&decision[*of]));
        if let Some(chosen) = decision["chosen"].as_str() {
            let end = end.as_str().unwrap();
            framework.run_pre_filter(&mut cycle, &snapshot, &mut Silent).unwrap();
            let node = snapshot.node_by_name(&Symbol::new(chosen)).unwrap();
            let mut attempt = Attempt { cycle, node, snapshot: &mut snapshot, server: &mut server };
            let ended = attempt.run(end);
            let theirs = decision["preBind"].as_str().map(str::to_owned);
            let said = ended.as_ref().err().map(|said| {
                let names = attempt.server.names.iter();
                names.fold(said.clone(), |said, (ours, theirs)| said.replace(ours, theirs))
            });
            count.same(|| format!("{place} PreBind"), &said, &theirs);
            if ended.is_err() || ["unreserved", "failed"].contains(&end) {
                attempt.unreserve();
            } else {
                let mut pod = pod.clone();
                pod["spec"]["nodeName"] = chosen.into();
                upsert(&mut snapshot, &pod);
            }
        } else if decision["feasible"] == json!([]) && decision["error"].is_null() {
            let _ = decider.filter(&mut cycle, &snapshot, &mut Silent);
            let mut answer = framework.run_post_filter(&cycle, &snapshot);
            while let Some(call) = answer.waits.as_ref().and_then(|wait| wait.call()).cloned() {
                let given = server.answer(&call.call, &mut snapshot);
                if answer.waits.as_mut().is_some_and(|wait| wait.answered(given)) {
                    answer = framework.resume_post_filter(&cycle, &snapshot, answer);
                }
            }
        }
        let ours = std::mem::take(&mut server.writes);
        let calls = |all: &[Write]| all.iter().map(|(call, _)| call.clone()).collect::<Vec<_>>();
        count.same(|| format!("{place} calls"), &calls(&ours), &calls(&expected));
        for ((call, mine), (_, theirs)) in ours.iter().zip(&expected) {
            count.same(|| format!("{place} {call}"), mine, theirs);
        }
        if ends_here {
            break;
        }
    }
}

pub(super) fn family<D: Decider + Default>(name: &str, cases: &[Value]) -> Count {
    let mut count = Count::default();
    for case in cases.iter().filter(|case| !case["ends"].is_null()) {
        compare(case, &mut D::default(), &mut count);
    }
    count.tell(&format!("{name}, with what is written"));
    count
}

#[test]
fn writes_about_devices_agree() {
    for version in KubernetesVersion::ALL {
        let mut all = Count::default();
        for name in ["devices-writes", "devices-worked"] {
            let cases = recorded(version, name);
            all.add(family::<Plain>(name, &cases));
            all.add(family::<Scan>(name, &cases));
        }
        all.tell(&format!("writes about devices of {version}"));
        assert_eq!(all.mismatches.len(), 0, "{:#?}", &all.mismatches[..all.mismatches.len().min(20)]);
        assert!(all.cases >= 70 && all.decisions >= 190 && all.values >= 2_000, "{all:?}");
    }
}
