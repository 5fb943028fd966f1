//! The claim for extended resources of a pod that a DeviceClass stands for. Where a node has the resource itself, its
//! device plugin serves it; where it has none, the pod gets devices through a claim that the scheduler makes.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`.

use super::gates::Gates;
use super::requests::{self, Requests};
use super::state::{NOT_MADE, PodClaim, State};
use super::{claims, index};
use bayplan_framework::{Handle, Status};
use bayplan_model::{
    DeviceIndex, NodeInfo, ObjectMeta, PodInfo, ResourceClaim, Symbol, downcast, may_be_of_devices,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many characters the server would add to a name that it completes.
const SUFFIX: usize = 5;
/// How long the part before it may be.
const LONGEST_BASE: usize = 58;

/// Characters that make no words. Source: `apimachinery/pkg/util/rand/rand.go`.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The scalar resources that the pod requests and that a class may stand for, by name.
fn requested(pod: &PodInfo) -> impl Iterator<Item = &Symbol> {
    let scalars = pod.requests.scalars.iter().filter(|(_, amount)| *amount != 0).map(|(name, _)| name);
    scalars.filter(|name| may_be_of_devices(name))
}

/// The claim for the extended resources of the pod: the one of an earlier attempt, or one that does not exist yet.
pub(super) fn claim(gates: &Gates, h: &Handle) -> Result<Option<PodClaim>, Status> {
    if !gates.extended_resources || h.pod.requests.scalars.is_empty() {
        return Ok(None);
    }
    let index = index(h)?;
    if !requested(h.pod).any(|resource| index.class_of_resource(resource).is_some()) {
        return Ok(None);
    }
    let made = index.special_claim_of(&h.pod.uid, &h.pod.name);
    let made = made.and_then(|made| claims::claim(h.snapshot, &made.namespace, &made.name));
    let claim = made.unwrap_or_else(|| {
        let (namespace, name) = (h.pod.namespace.clone(), Symbol::new(NOT_MADE));
        Arc::new(empty(ObjectMeta { namespace, name, ..ObjectMeta::default() }))
    });
    Ok(Some(PodClaim::new(claim, true)))
}

/// A claim without requests.
fn empty(metadata: ObjectMeta) -> ResourceClaim {
    ResourceClaim {
        metadata,
        finalizers: Box::default(),
        requests: Arc::new([]),
        constraints: Arc::new([]),
        config: Arc::new([]),
        allocation: None,
        reserved_for: Arc::new([]),
        devices: Arc::new([]),
        other_status: Arc::default(),
    }
}

/// What the claim for extended resources requests on a node; `None`: no claim is made there, because the node serves all
/// resources itself or the pod has no such claim.
pub(super) fn on_node(
    h: &Handle,
    index: &DeviceIndex,
    state: &State,
    node: &NodeInfo,
) -> Result<Option<Requests>, Status> {
    let Some(special) = state.special() else { return Ok(None) };
    if !special.claim.requests.is_empty() {
        // PostFilter deletes it.
        return Err(Status::unresolvable("cannot schedule extended resource claim"));
    }
    let mut served = Vec::new();
    let scalars = &node.allocatable().scalars;
    for resource in requested(h.pod) {
        let allocatable = scalars.iter().find(|(name, _)| name == resource).map(|(_, amount)| *amount);
        match index.class_of_resource(resource) {
            Some(class) if allocatable.unwrap_or(0) == 0 => {
                served.push((resource.clone(), class.metadata.name.clone()));
            }
            _ if allocatable.is_none() => return Err(Status::unresolvable("cannot fit resource")),
            _ => {}
        }
    }
    let nothing = !state.has_user_claims() && served.is_empty();
    if nothing || special.claim.allocation.is_some() {
        return Ok(None);
    }
    Ok(Some(requests::of(h.pod, &served)))
}

/// The claim with the requests of a node.
pub(super) fn with_requests(claim: &ResourceClaim, requests: &Requests) -> ResourceClaim {
    ResourceClaim { requests: requests.requests.clone(), ..claim.clone() }
}

/// The name that the claim of a pod gets: chosen here, so that the claim can be assumed before it exists. `seed` differs
/// from attempt to attempt, as what the server appends would.
pub(super) fn name(pod: &PodInfo, seed: u64) -> Symbol {
    let mut base = format!("{}-extended-resources-", pod.name);
    base.truncate(LONGEST_BASE);
    // FNV-1a, then the finaliser of SplitMix64.
    let bytes = pod.uid.bytes().chain(pod.name.bytes()).chain(seed.to_le_bytes());
    let start = 0xcbf2_9ce4_8422_2325u64;
    let mut hash = bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    for _ in 0..SUFFIX {
        let at = (hash % ALPHABET.len() as u64) as usize;
        base.push(char::from(ALPHABET.get(at).copied().unwrap_or(b'x')));
        hash /= ALPHABET.len() as u64;
    }
    Symbol::from(base)
}

/// The claim as it is created.
pub(super) fn object(pod: &PodInfo, name: &Symbol, requests: &Requests) -> Value {
    let requests = requests.requests.iter().filter_map(|request| {
        let exactly = request.exactly.as_ref()?;
        let bayplan_model::objects::devices::AllocationMode::ExactCount(count) = exactly.device.mode() else {
            return None;
        };
        Some(json!({"name": request.name.as_str(), "exactly": {
            "deviceClassName": exactly.device.device_class_name.as_str(),
            "allocationMode": "ExactCount", "count": count,
        }}))
    });
    let requests: Vec<Value> = requests.collect();
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "name": name.as_str(), "namespace": pod.namespace.as_str(),
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str(),
                "controller": true,
            }],
        },
        "spec": {"devices": {"requests": requests}},
    })
}

/// A claim as it is read from the API.
pub(super) fn read(object: Value) -> Option<ResourceClaim> {
    let row = bayplan_model::Kind::ResourceClaim.row()?;
    match (row.from_value)(Arc::new(object)).ok()? {
        bayplan_model::Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()).cloned(),
        _ => None,
    }
}
