//! Reserve and Unreserve: the pod assumes what it will write into its claims.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `Reserve`, `Unreserve`;
//! `extendeddynamicresources.go`, `unreserveExtendedResourceClaim`.

use super::bind::{Ending, count_wait};
use super::claims::key_of;
use super::requests::Requests;
use super::state::{PodClaim, State};
use super::{DynamicResources, extended};
use bayplan_framework::{Actor, ApiCall, ClaimPatch, Handle, ObjectPart, PatchBody, Reserve, Status};
use bayplan_model::objects::devices::{Allocation, Consumer};
use bayplan_model::{ApiObject, NodeId, ObjectKey, ResourceClaim, Symbol, downcast};
use std::sync::Arc;

/// What Reserve allocates.
struct Chosen {
    /// In the order of the unallocated claims.
    allocations: Vec<Arc<Allocation>>,
    requests: Option<Arc<Requests>>,
    made_name: Option<Symbol>,
}

/// A claim as it will be when it is written.
pub(super) fn assumed(
    claim: &ResourceClaim,
    allocation: Option<&Arc<Allocation>>,
    consumer: Consumer,
) -> ResourceClaim {
    let reserved = ClaimPatch::Reserved { allocation: allocation.cloned(), consumer };
    match allocation {
        Some(_) => ClaimPatch::protecting(claim).of(&reserved.of(claim)),
        None => reserved.of(claim),
    }
}

impl DynamicResources {
    /// What the unallocated claims get on the node; `None`: nothing is allocated by the scheduler.
    fn choose(&self, h: &Handle, node: NodeId) -> Result<Option<Chosen>, Status> {
        let Some(state) = h.state::<State>() else { return Ok(None) };
        let wanted = state.to_allocate().count();
        let Some(node) = h.snapshot.node(node).filter(|_| wanted > 0) else { return Ok(None) };
        let found = self.search(h, state)?.on(node)?;
        let allocations = found.devices.unwrap_or_default();
        if allocations.is_empty() {
            // The device plugin of the node serves the extended resources.
            let only_special = state.to_allocate().all(|of| of.special);
            return match only_special {
                true => Ok(None),
                false => Err(Status::error("claim allocation not found for node")),
            };
        }
        if allocations.len() != wanted {
            let have = allocations.len();
            return Err(Status::error(format!(
                "internal error, have {have} allocations, {wanted} claims to allocate, want {wanted} claims"
            )));
        }
        let makes = state.special().is_some_and(PodClaim::is_not_made);
        Ok(Some(Chosen {
            allocations: allocations.into_iter().map(Arc::new).collect(),
            requests: found.requests.map(Arc::new),
            made_name: makes.then(|| extended::name(h.pod, h.now.0.cast_unsigned())),
        }))
    }
}

impl Reserve for DynamicResources {
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status> {
        let Some(chosen) = self.choose(&a.handle(), node)? else { return Ok(()) };
        let pod = a.pod.clone();
        let Some(state) = a.slot().get_mut::<State>() else { return Ok(()) };
        let mut allocations = chosen.allocations.into_iter();
        for of in state.claims.iter_mut().filter(|of| of.claim.allocation.is_none()) {
            of.allocated = allocations.next();
        }
        (state.requests, state.made_name) = (chosen.requests, chosen.made_name);
        let state = state.clone();
        for (at, of) in state.claims.iter().enumerate() {
            if of.allocated.is_none() || is_repeated(&state, at) {
                continue;
            }
            let made = match (of.is_not_made(), &state.made_name, &state.requests) {
                (true, Some(name), Some(requests)) => extended::read(extended::object(&pod, name, requests)),
                _ => Some((*of.claim).clone()),
            };
            let Some(claim) = made else { return Err(Status::error("the claim cannot be read")) };
            let consumer = Consumer::pod(&pod.name, &pod.uid);
            a.assume(Arc::new(assumed(&claim, of.allocated.as_ref(), consumer)));
        }
        Ok(())
    }

    fn unreserve(&self, a: &mut Actor, _: NodeId) {
        count_wait(a, Ending::Error);
        let Some(state) = a.slot().get::<State>().cloned() else { return };
        for (at, of) in state.claims.iter().enumerate() {
            if !of.special && !is_repeated(&state, at) {
                take_back(a, of);
            }
        }
        self.take_special_back(a, &state);
    }
}

/// Whether an entry of the pod before this one names the same claim. Such a pod is never bound: what counts is the first.
fn is_repeated(state: &State, at: usize) -> bool {
    let key = state.claims.get(at).map(|of| of.claim.key());
    state.claims.iter().take(at).any(|of| Some(of.claim.key()) == key)
}

/// The version of the write of what the pod assumes about a claim, and the claim after it; `None`: nothing was written, or
/// the watch has shown it.
fn written(a: &mut Actor, key: &ObjectKey) -> Option<(Box<str>, ResourceClaim)> {
    let h = a.handle();
    let own = h.snapshot.assumptions(key).iter().find(|of| of.by == h.pod.key)?;
    let claim = downcast::<ResourceClaim>(own.object().as_ref())?;
    Some((own.written.clone()?, claim.clone()))
}

/// Ends what the pod assumes about a claim, and its reservation. What was written stays assumed until the watch shows it:
/// its devices are taken. Only the reservation goes.
fn take_back(a: &mut Actor, of: &PodClaim) {
    let key = of.claim.key();
    // The finalizer alone allocates nothing; and what an earlier attempt allocated stays, however this one ends.
    let own = written(a, &key).filter(|_| of.reserves || of.allocated.is_none());
    if own.is_none() {
        a.unassume(&key);
    }
    let is_open = own.is_some();
    let (version, claim) = own.unwrap_or_else(|| (of.claim.metadata.version.clone(), (*of.claim).clone()));
    if claim.allocation.is_none() || !claim.is_reserved_for(&a.pod.uid) {
        return;
    }
    let released = ClaimPatch::Released(a.pod.uid.clone());
    if is_open {
        a.assume(Arc::new(released.of(&claim)));
        a.written(&key, &version);
    }
    // At this version: a call that is late must not take away what a later attempt reserves.
    let version = Some(version).filter(|version| !version.is_empty());
    a.call(ApiCall::Patch { of: key, part: ObjectPart::Status, version, body: PatchBody::Claim(released) });
}

impl DynamicResources {
    /// Deletes the claim that was made for extended resources.
    fn take_special_back(&self, a: &mut Actor, state: &State) {
        let Some(special) = state.special() else { return };
        let name = state.made_name.as_ref().unwrap_or(&special.claim.metadata.name);
        let key = key_of(&special.claim.metadata.namespace, name);
        if written(a, &key).is_none() {
            a.unassume(&key);
        }
        if special.is_not_made() && !state.may_be_made {
            return;
        }
        let mut claim = (*special.claim).clone();
        claim.metadata.name = name.clone();
        for made in self.deletion(&claim) {
            a.call(made.call);
        }
    }
}
