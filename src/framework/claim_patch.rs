//! [`ClaimPatch`]: what the scheduler writes into a ResourceClaim. kube-scheduler writes the whole object; these are strategic
//! merge patches of the same fields, so that fields which this program does not know survive.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `bindClaim`, `PostFilter`, `Unreserve`;
//! `extendeddynamicresources.go`, `deleteClaim`.

use bayplan_model::objects::devices::{Allocation, Consumer, DELETE_PROTECTION};
use bayplan_model::{Object, ResourceClaim, Symbol, downcast};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a patch of a claim changes.
#[derive(Clone, PartialEq, Debug)]
pub enum ClaimPatch {
    /// Part `Object`: whether the claim has the finalizer that keeps it while it is allocated.
    Protected(bool),
    /// Part `Status`: a consumer more, and what is allocated unless something was already.
    Reserved {
        /// What is allocated; `None`: it stays as it is.
        allocation: Option<Arc<Allocation>>,
        /// Who may use the claim.
        consumer: Consumer,
    },
    /// Part `Status`: nothing is allocated, and the claim has no consumer.
    Deallocated,
    /// Part `Status`: the consumer of this UID goes.
    Released(Symbol),
}

// Amounts and selectors compare as their texts do.
impl Eq for ClaimPatch {}

impl ClaimPatch {
    /// Adds the fields to a patch that has metadata.
    pub(super) fn write(&self, patch: &mut Value) {
        match self {
            Self::Protected(true) => patch["metadata"]["finalizers"] = json!([DELETE_PROTECTION]),
            Self::Protected(false) => {
                patch["metadata"]["$deleteFromPrimitiveList/finalizers"] = json!([DELETE_PROTECTION]);
            }
            Self::Reserved { allocation, consumer } => {
                patch["status"] = json!({"reservedFor": [consumer.json()]});
                if let Some(allocation) = allocation {
                    patch["status"]["allocation"] = allocation.json();
                }
            }
            Self::Deallocated => {
                patch["status"] = json!({"allocation": null, "reservedFor": null, "devices": null});
            }
            Self::Released(uid) => {
                patch["status"] = json!({"reservedFor": [{"$patch": "delete", "uid": uid.as_str()}]});
            }
        }
    }

    /// The claim after the patch.
    pub fn of(&self, claim: &ResourceClaim) -> ResourceClaim {
        let mut claim = claim.clone();
        match self {
            Self::Protected(true) if claim.is_protected() => {}
            Self::Protected(true) => {
                let all = claim.finalizers.iter().cloned().chain([Symbol::new(DELETE_PROTECTION)]);
                claim.finalizers = all.collect();
            }
            Self::Protected(false) => {
                let all = claim.finalizers.iter().filter(|name| **name != DELETE_PROTECTION);
                claim.finalizers = all.cloned().collect();
            }
            Self::Reserved { allocation, consumer } => {
                if allocation.is_some() {
                    claim.allocation = allocation.clone();
                }
                if !claim.is_reserved_for(&consumer.uid) {
                    claim.reserved_for =
                        claim.reserved_for.iter().cloned().chain([consumer.clone()]).collect();
                }
            }
            Self::Deallocated => {
                (claim.allocation, claim.reserved_for, claim.devices) = (None, Arc::new([]), Arc::new([]));
            }
            Self::Released(uid) => {
                let others = claim.reserved_for.iter().filter(|consumer| consumer.uid != *uid);
                claim.reserved_for = others.cloned().collect();
            }
        }
        claim
    }

    pub(super) fn applied(&self, to: &Object) -> Option<Object> {
        let Object::Other(object) = to else { return None };
        let claim = downcast::<ResourceClaim>(object.as_ref())?;
        Some(Object::Other(Arc::new(self.of(claim))))
    }
}
