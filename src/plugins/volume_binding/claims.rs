//! [`Claims`]: the claims of a pod and what PreFilter finds out about them.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/volume_binding.go`, `podHasPVCs`; `binder.go`,
//! `GetPodVolumeClaims`.

use super::index::VolumeIndex;
use super::matching::Candidates;
use crate::volumes;
use bayplan_framework::{Handle, Status};
use bayplan_model::{
    CsiDriver, PersistentVolume, PersistentVolumeClaim, PodInfo, Snapshot, StorageClass, Symbol,
};
use std::sync::Arc;

const IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// A claim that the controller has bound.
#[derive(Clone)]
pub(super) struct BoundClaim {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    /// `None`: its volume does not exist.
    pub(super) volume: Option<Arc<PersistentVolume>>,
}

/// A claim that is bound when its pod has a node.
#[derive(Clone)]
pub(super) struct DelayedClaim {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    pub(super) class: Arc<StorageClass>,
    /// The volumes that it may take.
    pub(super) candidates: Arc<Candidates>,
    /// The bytes for which some capacity of the class must suffice when a volume is provisioned; `None`: capacities do
    /// not matter.
    pub(super) bytes: Option<i64>,
}

/// The claims of a pod; what Filter needs.
#[derive(Clone, Default)]
pub(super) struct Claims {
    /// In the order of the pod's volumes.
    pub(super) bound: Vec<BoundClaim>,
    /// In the order of the pod's volumes.
    pub(super) delayed: Vec<DelayedClaim>,
}

impl Claims {
    /// The claims of the pod; `None` when it has none. Fails where PreFilter refuses the pod.
    pub(super) fn of(h: &Handle) -> Result<Option<Self>, Status> {
        let mut listed = false;
        for (_, name, ephemeral) in h.pod.claims() {
            listed = true;
            check(h.pod, h.snapshot, &name, ephemeral).map_err(Status::unresolvable)?;
        }
        if !listed {
            return Ok(None);
        }
        let index = h.snapshot.try_index::<VolumeIndex>(&VolumeIndex::key());
        let index = index.map_err(|error| Status::error(format!("VolumeBinding: {error}")))?;
        let (mut claims, mut immediate) = (Self::default(), false);
        for (_, name, _) in h.pod.claims() {
            let Some(claim) = h.snapshot.object::<PersistentVolumeClaim>(&h.pod.namespace, &name) else {
                continue;
            };
            if claim.is_bound() {
                let volume = h.snapshot.object(&Symbol::default(), &claim.volume).cloned();
                claims.bound.push(BoundClaim { claim: claim.clone(), volume });
                continue;
            }
            match delaying_class(h.snapshot, claim).map_err(Status::error)? {
                Some(class) if claim.volume.is_empty() => {
                    claims.delayed.push(DelayedClaim::of(h.snapshot, index, claim, class));
                }
                _ => immediate = true,
            }
        }
        if immediate { Err(Status::unresolvable(IMMEDIATE)) } else { Ok(Some(claims)) }
    }

    /// The claims that PreFilter left for the attempt, or the same when a profile has the plugin without PreFilter.
    pub(super) fn in_attempt<'h>(h: &Handle<'h>) -> Result<std::borrow::Cow<'h, Self>, Status> {
        match h.state::<Self>() {
            Some(claims) => Ok(std::borrow::Cow::Borrowed(claims)),
            None => Ok(std::borrow::Cow::Owned(Self::of(h)?.unwrap_or_default())),
        }
    }
}

impl DelayedClaim {
    fn of(
        snapshot: &Snapshot,
        index: &VolumeIndex,
        claim: &Arc<PersistentVolumeClaim>,
        class: &Arc<StorageClass>,
    ) -> Self {
        let driver = snapshot.object::<CsiDriver>(&Symbol::default(), &class.provisioner);
        let counts = driver.is_some_and(|driver| driver.storage_capacity);
        Self {
            candidates: Arc::new(Candidates::of(claim, index.class(&claim.class))),
            bytes: claim.request.filter(|_| counts).map(|request| request.value()),
            claim: claim.clone(),
            class: class.clone(),
        }
    }

    /// `namespace/name` of the claim.
    pub(super) fn name(&self) -> String {
        volumes::full_name(&self.claim.metadata)
    }
}

/// Complains about a claim that keeps its pod from every node.
fn check(pod: &PodInfo, snapshot: &Snapshot, name: &Symbol, ephemeral: bool) -> Result<(), String> {
    let Some(claim) = snapshot.object::<PersistentVolumeClaim>(&pod.namespace, name) else {
        return Err(match ephemeral {
            true => format!(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}",
                name.as_str()
            ),
            false => volumes::claim_not_found(name),
        });
    };
    let (name, volume) = (name.as_str(), claim.volume.as_str());
    if claim.is_lost() {
        return Err(format!(
            "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
        ));
    }
    if claim.metadata.deleted.is_some() {
        return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
    }
    if ephemeral { volumes::check_owner(pod, claim) } else { Ok(()) }
}

/// The class of a claim whose binding waits for a pod; `None` when the binding does not wait.
fn delaying_class<'s>(
    snapshot: &'s Snapshot,
    claim: &PersistentVolumeClaim,
) -> Result<Option<&'s Arc<StorageClass>>, String> {
    if claim.class.is_empty() {
        return Ok(None);
    }
    let Some(class) = snapshot.object::<StorageClass>(&Symbol::default(), &claim.class) else {
        return Ok(None);
    };
    match &class.mode {
        None => Err(format!("VolumeBindingMode not set for StorageClass {:?}", claim.class.as_str())),
        Some(_) => Ok(Some(class).filter(|class| class.waits_for_first_consumer())),
    }
}
