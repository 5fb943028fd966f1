//! Mistakes about devices: what the driver leaves out, and work before a binding that is left out.

use bayplan::framework::{Actor, BindTask, Handle, Status, TaskPoll, Wake};
use bayplan::model::{ClaimSource, Object, ResourceClaim, downcast};
use std::sync::Arc;

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
    crate::devices::is_foreign(claim).then(|| ResourceClaim { allocation: None, ..claim.clone() })
}

/// A claim that pods use, as if none did.
pub(crate) fn not_reserved(claim: &ResourceClaim) -> Option<ResourceClaim> {
    Some(ResourceClaim { reserved_for: Arc::new([]), ..claim.clone() })
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
