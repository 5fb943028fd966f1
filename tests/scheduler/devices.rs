//! DynamicResources through the whole scheduler: what is assumed and written for claims, what is taken back, and PostFilter,
//! which waits for its calls.

use super::refuser::{Refuser, Where};
use super::steps::{self, Steps};
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::framework::{Answer, ApiCall, CallError, ClaimPatch, Code, Features, Framework, PatchBody};
use bayplan::model::objects::devices::DELETE_PROTECTION;
use bayplan::model::{
    Duration, Kind, KindRow, KubernetesVersion, Labels, Object, ObjectKey, ResourceClaim, Symbol, downcast,
};
use bayplan::plugins;
use bayplan::scheduler::Profiles;
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

const V1: &str = "resource.k8s.io/v1";

/// The default profile.
fn profiles() -> Arc<Profiles> {
    Arc::new(Profiles { frameworks: frameworks(), revision: 1 })
}

pub(super) fn frameworks() -> Vec<Arc<Framework>> {
    frameworks_of(KubernetesVersion::V1_37)
}

fn frameworks_of(version: KubernetesVersion) -> Vec<Arc<Framework>> {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{}],
    });
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    config.frameworks(&plugins::registry_with(Features::of(version)), id).unwrap().frameworks
}

fn object(value: Value) -> Object {
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    let row = KindRow::named(&text("apiVersion"), &text("kind")).unwrap();
    (row.from_value)(Arc::new(value)).unwrap()
}

pub(super) fn class(resource: Option<&str>) -> Object {
    object(json!({
        "apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "c"},
        "spec": {"extendedResourceName": resource},
    }))
}

pub(super) fn slice(devices: Value) -> Object {
    object(json!({
        "apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": "s"},
        "spec": {"driver": "d.ex", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n1", "devices": devices},
    }))
}

pub(super) fn claim(name: &str) -> Object {
    object(json!({
        "apiVersion": V1, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 1}}]}},
    }))
}

pub(super) fn with_claim(name: &str, claim: &str) -> Object {
    let claims = json!([{"name": "n", "resourceClaimName": claim}]);
    pod(name).uid(name).set("spec.resourceClaims", claims).object()
}

pub(super) fn n1() -> Object {
    node("n1").cpu("8").memory("8Gi").object()
}

fn key(kind: Kind, name: &str) -> ObjectKey {
    ObjectKey { kind, namespace: "default".into(), name: name.into(), uid: "".into() }
}

fn stored(steps: &Steps, name: &str) -> Option<ResourceClaim> {
    match steps.server.get(&key(Kind::ResourceClaim, name)) {
        Some(Object::Other(object)) => downcast::<ResourceClaim>(object.as_ref()).cloned(),
        _ => None,
    }
}

/// The device that a claim has, and how many consumers.
pub(super) fn device(steps: &Steps, name: &str) -> (String, usize) {
    let claim = stored(steps, name).unwrap();
    let results = claim.allocation.iter().flat_map(|of| &of.devices.results);
    (results.map(|of| of.device.to_string()).collect(), claim.reserved_for.len())
}

pub(super) fn conflict() -> Result<Answer, CallError> {
    let (reason, message) = ("Conflict".to_owned(), "the object has been modified".to_owned());
    Err(CallError::Refused { code: 409, reason, message })
}

#[test]
fn a_claim_is_allocated_and_reserved_before_its_pod_is_bound() {
    let objects = vec![n1(), class(None), slice(json!([{"name": "d1"}])), claim("x"), claim("y")];
    let mut steps = Steps::new(profiles(), objects);
    steps.put(with_claim("p", "x"));
    steps.put(with_claim("q", "x"));
    steps.put(with_claim("r", "y"));
    steps.cycles();
    // The patch of the pod's nomination, and the finalizer.
    let patches = steps.open.iter().filter_map(|(_, call)| match call {
        ApiCall::Patch { body: PatchBody::Claim(patch), .. } => Some(patch.clone()),
        _ => None,
    });
    let protected = ClaimPatch::Protected(Box::new([Symbol::new(DELETE_PROTECTION)]));
    assert_eq!(patches.collect::<Vec<_>>(), [protected]);
    let told = |steps: &Steps, text: &str| steps.events.iter().any(|event| event.contains(text));
    assert!(
        told(&steps, "available: resource claim default/x is in the process of being allocated"),
        "{:?}",
        steps.events
    );
    assert!(told(&steps, "0/1 nodes are available: 1 cannot allocate all claims."), "{:?}", steps.events);
    steps.serve();
    assert_eq!(device(&steps, "x"), ("d1".to_owned(), 1));
    assert!(stored(&steps, "x").unwrap().is_protected());
    assert!(stored(&steps, "x").unwrap().allocation.unwrap().allocation_timestamp.is_some());
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"));
    // The pod that shares the claim was woken by it.
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("q").node_name.as_deref(), Some("n1"));
    assert_eq!((device(&steps, "x").1, device(&steps, "y").0), (2, String::new()));
    assert_eq!(steps.scheduler.snapshot().kept().assumptions, 0);
}

#[test]
fn a_claim_that_others_write_too_is_read_and_written_again() {
    let mut steps =
        Steps::new(profiles(), vec![n1(), class(None), slice(json!([{"name": "d1"}])), claim("x")]);
    steps.put(with_claim("p", "x"));
    steps.cycles();
    steps.open.retain(|(_, call)| !matches!(call, ApiCall::PatchStatus { .. }));
    assert_eq!(steps.calls(), ["patch x"]);
    for _ in 0..4 {
        steps.reply(conflict());
        steps.wait(Duration::from_millis(10));
        assert_eq!(steps.calls(), ["read x"]);
        let read = steps.server.get(&key(Kind::ResourceClaim, "x")).cloned();
        steps.reply(Ok(Answer::Object(read)));
        assert_eq!(steps.calls(), ["patch x"]);
    }
    steps.reply(conflict());
    let text =
        "running PreBind plugin \"DynamicResources\": add finalizer to claim default/x: the object has been";
    assert!(steps.events.iter().any(|event| event.contains(text)), "{:?}", steps.events);
    assert_eq!(steps.scheduler.snapshot().kept().assumptions, 0, "nothing was written");
}

/// Answers the calls until the binding is sent, which is refused. The watch of the claim is behind.
fn refuse_binding(steps: &mut Steps) {
    while !steps.calls().iter().any(|call| call.starts_with("bind")) {
        let (ticket, call) = steps.open.remove(0);
        let answer = steps.server.answer(&call, steps.now, None);
        steps.step(bayplan::scheduler::Input::Reply(ticket, answer));
    }
    let (reason, message) = ("Forbidden".to_owned(), "no".to_owned());
    let at = steps.calls().iter().position(|call| call.starts_with("bind")).unwrap();
    let (ticket, _) = steps.open.remove(at);
    let refused = Err(CallError::Refused { code: 403, reason, message });
    steps.step(bayplan::scheduler::Input::Reply(ticket, refused));
}

/// The claim `x` as the scheduler knows it.
fn known(steps: &Steps) -> &ResourceClaim {
    steps.scheduler.snapshot().object::<ResourceClaim>(&"default".into(), &"x".into()).unwrap()
}

#[test]
fn a_failed_binding_gives_the_reservation_back_and_keeps_the_allocation() {
    let mut steps =
        Steps::new(profiles(), vec![n1(), class(None), slice(json!([{"name": "d1"}])), claim("x")]);
    steps.put(with_claim("p", "x"));
    steps.cycles();
    refuse_binding(&mut steps);
    assert!(known(&steps).allocation.is_some(), "what was written stays assumed until it is seen");
    assert!(known(&steps).reserved_for.is_empty(), "the pod must reserve it again");
    steps.serve();
    steps.watch();
    assert_eq!(device(&steps, "x"), ("d1".to_owned(), 0));
    assert_eq!(steps.scheduler.snapshot().kept().assumptions, 0);
}

/// The watch has not shown what the first attempt wrote when a second one fails before it writes anything.
#[test]
fn a_later_attempt_that_fails_keeps_what_an_earlier_one_allocated() {
    let framework = frameworks().remove(0);
    let devices = framework.plugins().iter().find(|plugin| plugin.name() == "DynamicResources").unwrap();
    let refuser = Arc::new(Refuser(Where::Permit, Code::Unschedulable));
    let profiles = steps::with(vec![devices.clone(), refuser]);
    let mut steps = Steps::new(profiles, vec![n1(), class(None), slice(json!([{"name": "d1"}])), claim("x")]);
    steps.put(with_claim("p", "x"));
    steps.cycles();
    refuse_binding(&mut steps);
    steps.change("p", |pod| pod.labels = Labels::from_iter([("refused".into(), "yes".into())]));
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    let refused = steps.events.iter().any(|event| event.contains("no luck"));
    assert!(refused, "the second attempt came to Permit: {:?}", steps.events);
    assert!(known(&steps).allocation.is_some(), "the device is taken");
}

#[test]
fn devices_for_extended_resources_get_a_claim() {
    let devices = slice(json!([{"name": "d1"}, {"name": "d2"}]));
    let mut steps = Steps::new(profiles(), vec![n1(), class(Some("e.ex/gpu")), devices]);
    steps.put(pod("p").uid("p").request("e.ex/gpu", "2").object());
    steps.cycles();
    let creates = |call: &String| call.starts_with("create p-extended-resources-");
    assert!(steps.calls().iter().any(creates), "{:?}", steps.calls());
    steps.serve();
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"), "{:?}", steps.events);
    let pod = steps.pod("p");
    let made = pod.generated_claims().1.unwrap();
    assert_eq!(made.mappings.len(), 1);
    assert_eq!(device(&steps, &made.name), ("d1d2".to_owned(), 1));
    assert_eq!(steps.scheduler.snapshot().kept().assumptions, 0);
    // The devices are taken.
    steps.put(pod_of("q"));
    steps.cycles();
    assert!(
        steps.events.iter().any(|event| event.contains("1 cannot allocate all claims")),
        "{:?}",
        steps.events
    );
}

pub(super) fn pod_of(name: &str) -> Object {
    pod(name).uid(name).request("e.ex/gpu", "1").object()
}

#[test]
fn a_claim_for_extended_resources_goes_when_its_pod_is_not_bound() {
    let devices = slice(json!([{"name": "d1"}]));
    let mut steps = Steps::new(profiles(), vec![n1(), class(Some("e.ex/gpu")), devices]);
    steps.put(pod_of("p"));
    steps.cycles();
    while !steps.calls().iter().any(|call| call.starts_with("bind")) {
        let (ticket, call) = steps.open.remove(0);
        let answer = steps.server.answer(&call, steps.now, None);
        steps.step(bayplan::scheduler::Input::Reply(ticket, answer));
        steps.watch();
    }
    let at = steps.calls().iter().position(|call| call.starts_with("bind")).unwrap();
    let (ticket, _) = steps.open.remove(at);
    let (reason, message) = ("Forbidden".to_owned(), "no".to_owned());
    let refused = Err(CallError::Refused { code: 403, reason, message });
    steps.step(bayplan::scheduler::Input::Reply(ticket, refused));
    steps.serve();
    let left = steps.server.objects().filter(|object| object.kind() == Kind::ResourceClaim).count();
    assert_eq!((left, steps.scheduler.snapshot().kept().assumptions), (0, 0));
}

/// A pod has the only device, and its first write fails: the pod that waits for the device is tried, although no watch shows
/// that it is free.
#[test]
fn a_device_that_was_only_assumed_is_free_for_the_pods_that_wait() {
    let of_claims = [with_claim("p", "x"), with_claim("q", "y")];
    let of_resources = [pod_of("p"), pod_of("q")];
    for (version, [first, second]) in [
        (KubernetesVersion::V1_37, of_claims.clone()),
        (KubernetesVersion::V1_37, of_resources.clone()),
        (KubernetesVersion::V1_36, of_claims),
        (KubernetesVersion::V1_36, of_resources),
    ] {
        let device = slice(json!([{"name": "d1"}]));
        let objects = vec![n1(), class(Some("e.ex/gpu")), device, claim("x"), claim("y")];
        let profiles = Arc::new(Profiles { frameworks: frameworks_of(version), revision: 1 });
        let mut steps = Steps::new(profiles, objects);
        steps.put(first);
        steps.put(second);
        steps.cycles();
        let waits = |text: &String| text.contains("1 cannot allocate all claims");
        assert!(steps.events.iter().any(waits), "{version:?}: {:?}", steps.events);
        let is_write = |call: &ApiCall| matches!(call, ApiCall::Patch { .. } | ApiCall::Create { .. });
        let at = steps.open.iter().position(|(_, call)| is_write(call)).unwrap();
        let (ticket, _) = steps.open.remove(at);
        steps.step(bayplan::scheduler::Input::Reply(ticket, conflict()));
        steps.delete("p");
        steps.wait(Duration::from_seconds(20));
        steps.cycles();
        steps.serve();
        assert_eq!(steps.pod("q").node_name.as_deref(), Some("n1"), "{version:?}: {:?}", steps.events);
    }
}

/// The claim `x`, allocated for a node and used by no pod.
fn allocated(node: &str) -> Object {
    let nodes = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    object(json!({
        "apiVersion": V1, "kind": "ResourceClaim",
        "metadata": {
            "name": "x", "namespace": "default", "uid": "x",
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 1}}]}},
        "status": {"allocation": {
            "devices": {"results": [{"request": "r", "driver": "d.ex", "pool": node, "device": "d1"}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [nodes]}]},
        }},
    }))
}

/// The claim of the pod is allocated when its node is chosen, and anew for another node before it is reserved.
#[test]
fn a_claim_that_moved_to_another_node_is_not_reserved() {
    let objects = vec![n1(), class(None), slice(json!([{"name": "d1"}])), allocated("n1")];
    let mut steps = Steps::new(profiles(), objects);
    steps.put(with_claim("p", "x"));
    steps.cycles();
    steps.server.put(allocated("n2"));
    steps.serve();
    steps.wait(Duration::from_millis(10));
    steps.serve();
    let text = "claim default/x got deallocated elsewhere in the meantime";
    assert!(steps.events.iter().any(|event| event.contains(text)), "{:?}", steps.events);
    assert!(stored(&steps, "x").unwrap().reserved_for.is_empty());
}

#[test]
fn post_filter_waits_for_the_deallocation_of_a_claim() {
    let mut steps = Steps::new(profiles(), vec![n1(), class(None), slice(json!([{"name": "d1"}]))]);
    steps.put(allocated("gone"));
    steps.put(with_claim("p", "x"));
    steps.put(pod("other").uid("other").object());
    steps.cycles();
    assert_eq!(steps.calls(), ["patch x"]);
    assert!(!steps.scheduler.wants_cycle() && steps.scheduler.next_wakeup().is_none_or(|at| at > steps.now));
    // A failure is told, and preemption does not run.
    steps.reply(conflict());
    let failed =
        "0/1 nodes are available: 1 resourceclaim not available on the node. the object has been modified";
    assert!(steps.events.iter().any(|event| event.ends_with(failed)), "{:?}", steps.events);
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("other").node_name.as_deref(), Some("n1"));
    // Something wakes the pod.
    steps.put(node_with_label());
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    steps.serve();
    let done = "1 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: 0/1 \
                nodes are available: 1 Preemption is not helpful for scheduling.";
    assert!(steps.events.iter().any(|event| event.ends_with(done)), "{:?}", steps.events);
    // Its own deallocation wakes the pod.
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    steps.serve();
    assert_eq!(device(&steps, "x"), ("d1".to_owned(), 1));
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"));
}

fn node_with_label() -> Object {
    node("n1").cpu("8").memory("8Gi").label("a", "b").object()
}

/// A slice whose device is prepared before the binding.
pub(super) fn prepared() -> Object {
    slice(json!([{"name": "d1", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}]))
}

/// What the driver says of the device of a claim.
pub(super) fn say(steps: &mut Steps, condition: &str) {
    let mut claim = stored(steps, "x").unwrap();
    let condition = json!({"type": condition, "status": "True", "reason": "R", "message": "m"});
    let status = json!({"driver": "d.ex", "pool": "n1", "device": "d1", "conditions": [condition]});
    claim.devices = vec![serde_json::from_value(status).unwrap()].into();
    steps.put(Object::Other(Arc::new(claim)));
}

#[test]
fn devices_are_prepared_before_the_binding() {
    let mut steps = Steps::new(profiles(), vec![n1(), class(None), prepared(), claim("x")]);
    steps.put(with_claim("p", "x"));
    steps.cycles();
    steps.serve();
    let event = "BindingConditionsPending waiting for binding conditions for device on node n1";
    assert!(steps.events.iter().any(|told| told == event), "{:?}", steps.events);
    assert_eq!(steps.pod("p").node_name, None);
    say(&mut steps, "ready");
    steps.serve();
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"));
}

#[test]
fn devices_that_are_not_prepared_end_the_binding() {
    let told = |steps: &Steps, text: &str| {
        let text = format!("running PreBind plugin \"DynamicResources\": {text}");
        steps.events.iter().any(|event| event.contains(&text))
    };
    let begin = || {
        let mut steps = Steps::new(profiles(), vec![n1(), class(None), prepared(), claim("x")]);
        steps.put(with_claim("p", "x"));
        steps.cycles();
        steps.serve();
        steps
    };
    let mut steps = begin();
    say(&mut steps, "broken");
    steps.serve();
    assert!(told(&steps, "device binding failed: claim=x, reason=R, message=\"m\""), "{:?}", steps.events);
    assert_eq!(device(&steps, "x"), ("d1".to_owned(), 0));
    // The next attempt takes the allocation back.
    steps.wait(Duration::from_seconds(2));
    steps.cycles();
    steps.serve();
    assert!(steps.events.iter().any(|event| event.contains("deallocation of ResourceClaim completed")));
    let mut steps = begin();
    for _ in 0..121 {
        steps.wait(Duration::from_seconds(5));
    }
    assert!(told(&steps, "device binding timeout: "), "{:?}", steps.events);
}
