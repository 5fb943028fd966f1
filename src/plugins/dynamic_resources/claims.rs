//! The claims that a pod names, and PreEnqueue, which holds a pod whose claims are not there.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `foreachPodResourceClaim`;
//! `dynamic-resource-allocation/resourceclaim/claim.go`.

use super::DynamicResources;
use bayplan_framework::{Handle, PreEnqueue, Status};
use bayplan_model::{
    ApiObject, Assumption, ClaimSource, Kind, ObjectKey, PodClaim, PodInfo, ResourceClaim, Snapshot, Symbol,
    downcast,
};
use std::sync::Arc;

impl PreEnqueue for DynamicResources {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        match user_claims(h.pod, h.snapshot) {
            // PreFilter says it, with an event.
            Err(_) if !are_served(h.snapshot) => Ok(()),
            found => found.map(|_| ()).map_err(Status::unresolvable),
        }
    }
}

/// Why a pod with claims waits whose API server is older than claims.
pub(super) const NOT_SERVED: &str = "the API server has no resource.k8s.io/v1, which Kubernetes has since 1.34: pods with resource claims wait";

/// Whether the API server has claims.
pub(super) fn are_served(snapshot: &Snapshot) -> bool {
    snapshot.is_served(&Kind::ResourceClaim)
}

/// What names a claim whatever its UID.
pub(super) fn key_of(namespace: &Symbol, name: &Symbol) -> ObjectKey {
    ObjectKey {
        kind: Kind::ResourceClaim,
        namespace: namespace.clone(),
        name: name.clone(),
        uid: Symbol::default(),
    }
}

/// `namespace/name` of a claim.
pub(super) fn full_name(claim: &ResourceClaim) -> String {
    format!("{}/{}", claim.metadata.namespace, claim.metadata.name)
}

/// A claim as it was seen, or as it was written here and not seen yet. What a pod assumes that has not written it is left
/// out: such a claim is in the process of being allocated.
///
/// Source: `pkg/scheduler/util/assumecache/assume_cache.go`; `dra_manager.go`, `SignalClaimPendingAllocation`.
pub(super) fn claim(snapshot: &Snapshot, namespace: &Symbol, name: &Symbol) -> Option<Arc<ResourceClaim>> {
    let assumed = snapshot.assumptions(&key_of(namespace, name));
    let written = assumed.iter().rev().find(|assumption| assumption.written.is_some());
    let Some(written) = written.and_then(as_claim) else {
        return snapshot.object_seen::<ResourceClaim>(namespace, name).cloned();
    };
    Some(Arc::new(written.clone()))
}

fn as_claim(assumption: &Assumption) -> Option<&ResourceClaim> {
    downcast(assumption.object().as_ref())
}

/// Whether a pod is about to write what is allocated to the claim.
pub(super) fn is_in_flight(snapshot: &Snapshot, claim: &ResourceClaim) -> bool {
    let assumed = snapshot.assumptions(&key_of(&claim.metadata.namespace, &claim.metadata.name));
    assumed.iter().any(|assumption| {
        let allocates = as_claim(assumption).is_some_and(|claim| claim.allocation.is_some());
        assumption.written.is_none() && allocates
    })
}

/// The claims that the pod names, in its order. Entries for which the controller made no claim because none is needed are
/// left out. Fails for the first entry whose claim cannot be used.
pub(super) fn user_claims(pod: &PodInfo, snapshot: &Snapshot) -> Result<Vec<Arc<ResourceClaim>>, String> {
    let entries = pod.devices().map_or(&[][..], |devices| &devices.claims);
    entries.iter().filter_map(|entry| user_claim(pod, entry, snapshot).transpose()).collect()
}

/// The claim of one entry; `None`: it needs none.
fn user_claim(
    pod: &PodInfo,
    entry: &PodClaim,
    snapshot: &Snapshot,
) -> Result<Option<Arc<ResourceClaim>>, String> {
    let name = match &entry.source {
        ClaimSource::Claim(name) => name.clone(),
        ClaimSource::Template(_) => {
            let made = pod.generated_claims().0.iter().find(|(of, _)| *of == entry.name);
            match made.map(|(_, claim)| claim) {
                None => return Err(format!("pod {:?}: ResourceClaim not created yet", pod.full_name())),
                Some(None) => return Ok(None),
                Some(Some(name)) => name.clone(),
            }
        }
        ClaimSource::Neither => {
            return Err(format!(
                "pod {:?}, spec.resourceClaim {:?}: none of the supported fields are set",
                pod.full_name(),
                entry.name.as_str()
            ));
        }
    };
    let namespace = &pod.namespace;
    let claim = claim(snapshot, namespace, &name)
        .ok_or_else(|| format!("could not find ResourceClaim {:?}", format!("{namespace}/{name}")))?;
    if claim.metadata.deleted.is_some() {
        return Err(format!("resourceclaim {:?} is being deleted", name.as_str()));
    }
    let is_made = matches!(entry.source, ClaimSource::Template(_));
    if is_made && !is_of(pod, &claim) {
        let claim = full_name(&claim);
        return Err(format!(
            "ResourceClaim {claim} was not created for Pod {} (Pod is not owner)",
            pod.full_name()
        ));
    }
    Ok(Some(claim))
}

/// Whether the pod controls the claim.
fn is_of(pod: &PodInfo, claim: &ResourceClaim) -> bool {
    claim.controller().is_some_and(|owner| owner.uid == pod.uid)
}
