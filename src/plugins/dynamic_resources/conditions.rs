//! Binding conditions: devices that their driver prepares before a pod may be bound, as the status of the claim says.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `isClaimReadyForBinding`,
//! `isClaimTimeout`, `hasBindingConditions`.

use bayplan_model::objects::devices::{AllocatedDevice, DeviceStatus};
use bayplan_model::{Duration, ResourceClaim, Symbol, Time};

/// Devices of the claim that are prepared before the binding.
pub(super) fn prepared(claim: &ResourceClaim) -> impl Iterator<Item = &AllocatedDevice> {
    let results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.filter(|result| !result.binding_conditions.is_empty())
}

/// Whether the claim has devices that are prepared before the binding.
pub(super) fn has_any(claim: &ResourceClaim) -> bool {
    prepared(claim).next().is_some()
}

/// What the driver says of a device.
fn status_of<'c>(claim: &'c ResourceClaim, result: &AllocatedDevice) -> Option<&'c DeviceStatus> {
    let is_it = |status: &&DeviceStatus| {
        (&status.driver, &status.pool, &status.device) == (&result.driver, &result.pool, &result.device)
    };
    claim.devices.iter().find(is_it)
}

/// Whether all devices of the claim are prepared. `Err`: the driver says that one will not be.
pub(super) fn ready(claim: &ResourceClaim) -> Result<bool, String> {
    if claim.allocation.is_none() {
        return Ok(false);
    }
    for result in prepared(claim) {
        let Some(status) = status_of(claim, result) else { return Ok(false) };
        let is_true = |name: &Symbol| {
            let found = status.conditions.iter().find(|condition| condition.kind == *name);
            found.filter(|condition| condition.status == "True")
        };
        if let Some(failed) = result.binding_failure_conditions.iter().find_map(is_true) {
            let (claim, reason) = (&claim.metadata.name, &failed.reason);
            return Err(format!(
                "device binding failed: claim={claim}, reason={reason}, message={:?}",
                failed.message
            ));
        }
        if !result.binding_conditions.iter().all(|name| is_true(name).is_some()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the devices of the claim have had their time to be prepared.
pub(super) fn is_late(claim: &ResourceClaim, timeout: Duration, now: Time) -> bool {
    let at = claim.allocation.as_ref().and_then(|allocation| allocation.allocation_timestamp.as_deref());
    let Some(at) = at.and_then(Time::parse) else { return false };
    has_any(claim) && at + timeout < now
}
