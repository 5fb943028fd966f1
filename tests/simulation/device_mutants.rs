//! Mistakes about devices: what is left out of what pods assume, and of what the driver shows.

use bayplan::framework::{Actor, BindTask, Handle, Status, TaskPoll, Wake};
use bayplan::model::objects::devices::{AllocatedDevice, Allocation, Device, PoolId};
use bayplan::model::{
    ApiObject, ClaimSource, Kind, Object, ObjectKey, ResourceClaim, ResourceSlice, downcast,
};
use std::sync::Arc;

/// The claim with another allocation.
fn with(claim: &ResourceClaim, allocation: Option<Allocation>) -> ResourceClaim {
    ResourceClaim { allocation: allocation.map(Arc::new), ..claim.clone() }
}

/// The object as `change` makes it if it is a claim.
pub(crate) fn changed(object: Object, change: impl Fn(&ResourceClaim) -> Option<ResourceClaim>) -> Object {
    let claim = match &object {
        Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()),
        _ => None,
    };
    match claim.and_then(change) {
        Some(claim) => Object::Other(Arc::new(claim)),
        None => object,
    }
}

/// A claim that another scheduler allocated, as if it were not.
pub(crate) fn not_allocated(claim: &ResourceClaim) -> Option<ResourceClaim> {
    crate::devices::is_foreign(claim).then(|| with(claim, None))
}

/// A claim that pods use, as if none did.
pub(crate) fn not_reserved(claim: &ResourceClaim) -> Option<ResourceClaim> {
    Some(ResourceClaim { reserved_for: Arc::new([]), ..claim.clone() })
}

/// The claims that the pod assumes.
fn assumed(a: &Actor) -> Vec<ResourceClaim> {
    let snapshot = a.handle().snapshot;
    let keys = snapshot.assumed_by(&a.pod.key).into_iter().filter(|key| key.kind == Kind::ResourceClaim);
    let own = keys.filter_map(|key| snapshot.assumptions(&key).iter().find(|of| of.by == a.pod.key));
    own.filter_map(|of| downcast::<ResourceClaim>(of.object().as_ref()).cloned()).collect()
}

/// The shares that the pod assumes take nothing.
pub(crate) fn forget_capacity(a: &mut Actor) {
    for claim in assumed(a) {
        let Some(mut allocation) = claim.allocation.as_deref().cloned() else { continue };
        for result in &mut allocation.devices.results {
            result.consumed_capacity = None;
        }
        a.assume(Arc::new(with(&claim, Some(allocation))));
    }
}

/// The devices that the pod assumes consume nothing of the counters of their pools.
pub(crate) fn forget_counters(a: &mut Actor) {
    let claims = assumed(a);
    let results = claims.iter().filter_map(|claim| claim.allocation.as_ref());
    let results: Vec<&AllocatedDevice> = results.flat_map(|of| &of.devices.results).collect();
    let all: Vec<Arc<ResourceSlice>> = a.handle().snapshot.objects::<ResourceSlice>().cloned().collect();
    for slice in all {
        let is_taken = |device: &Device| {
            let of = |result: &&&AllocatedDevice| {
                let pool = PoolId { driver: result.driver.clone(), name: result.pool.clone() };
                pool == slice.pool && result.device == device.name
            };
            results.iter().any(|result| of(&result)) && !device.consumes_counters.is_empty()
        };
        if !slice.devices.iter().any(|device| is_taken(device)) {
            continue;
        }
        let devices = slice.devices.iter().map(|device| match is_taken(device) {
            true => Arc::new(Device { consumes_counters: Default::default(), ..(**device).clone() }),
            false => device.clone(),
        });
        a.assume(Arc::new(ResourceSlice { devices: devices.collect(), ..(*slice).clone() }));
    }
}

/// The keys of the claims that a pod assumes, written or not.
pub(crate) fn assumed_claims(a: &Actor) -> Vec<ObjectKey> {
    assumed(a).iter().map(ApiObject::key).collect()
}

/// Whether all claims of the pod were allocated before.
pub(crate) fn only_reserves(h: &Handle) -> bool {
    let entries = h.pod.devices().map_or(&[][..], |devices| &devices.claims);
    let is_allocated = |entry: &bayplan::model::PodClaim| match &entry.source {
        ClaimSource::Claim(name) => {
            let seen = h.snapshot.object_seen::<ResourceClaim>(&h.pod.namespace, name);
            seen.is_some_and(|claim| claim.allocation.is_some())
        }
        _ => false,
    };
    !entries.is_empty() && entries.iter().all(is_allocated)
}

/// Work before a binding that does not wait for what others do.
pub(crate) struct Hasty(pub(crate) Box<dyn BindTask>);

impl BindTask for Hasty {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        match self.0.poll(a, wake)? {
            TaskPoll::Pending { watch, .. } if !watch.is_empty() => Ok(TaskPoll::Done),
            poll => Ok(poll),
        }
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(Self(self.0.fork()))
    }
}
