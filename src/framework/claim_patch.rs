//! [`ClaimPatch`]: what the scheduler writes into a ResourceClaim. kube-scheduler writes the whole object; these are
//! patches of the same fields, so that fields which this program does not know survive.
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
    /// Part `Object`: the finalizer that keeps the claim while it is allocated, after all others that it has. It is a JSON
    /// merge patch: for a strategic one the API server writes the parameters of drivers in the spec with sorted keys, and
    /// then refuses them as a change of what cannot change.
    Protected(Box<[Symbol]>),
    /// Part `Object`: that finalizer goes.
    Unprotected,
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
    /// The patch that protects this claim.
    pub fn protecting(claim: &ResourceClaim) -> Self {
        let others = claim.finalizers.iter().filter(|name| **name != DELETE_PROTECTION);
        Self::Protected(others.cloned().chain([Symbol::new(DELETE_PROTECTION)]).collect())
    }

    /// Adds the fields to a patch that has metadata.
    pub(super) fn write(&self, patch: &mut Value) {
        match self {
            Self::Protected(all) => {
                patch["metadata"]["finalizers"] = all.iter().map(Symbol::as_str).collect();
            }
            Self::Unprotected => {
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
            Self::Protected(all) => claim.finalizers = all.clone(),
            Self::Unprotected => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::ObjectPart;
    use crate::{ApiCall, PatchBody};
    use bayplan_model::{Kind, ObjectKey};

    fn json(patch: ClaimPatch) -> Value {
        let (kind, namespace) = (Kind::ResourceClaim, "ns".into());
        let of = ObjectKey { kind, namespace, name: "x".into(), uid: "u".into() };
        let body = PatchBody::Claim(patch);
        assert_eq!(body.is_merge_patch(), matches!(body, PatchBody::Claim(ClaimPatch::Protected(_))));
        assert!(!body.is_of_policy());
        let call = ApiCall::Patch { of, part: ObjectPart::Status, version: None, body: body.clone() };
        body.json(call.object(), Some("7"), "")
    }

    #[test]
    fn patches_name_what_changes_and_nothing_else() {
        let metadata = json!({"uid": "u", "resourceVersion": "7"});
        let with = |more: Value| {
            let mut metadata = metadata.clone();
            metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"metadata": metadata})
        };
        let all = json!({"finalizers": ["example.com/other", DELETE_PROTECTION]});
        let protected = ["example.com/other", DELETE_PROTECTION].map(Symbol::new).into();
        assert_eq!(json(ClaimPatch::Protected(protected)), with(all));
        let deletes = json!({"$deleteFromPrimitiveList/finalizers": [DELETE_PROTECTION]});
        assert_eq!(json(ClaimPatch::Unprotected), with(deletes));
        let status = |patch: ClaimPatch| {
            let json = json(patch);
            assert_eq!(json["metadata"], metadata);
            json["status"].clone()
        };
        let consumer = Consumer::pod(&"p".into(), &"u-p".into());
        let pod = json!({"resource": "pods", "name": "p", "uid": "u-p"});
        let reserved = ClaimPatch::Reserved { allocation: None, consumer: consumer.clone() };
        assert_eq!(status(reserved), json!({"reservedFor": [pod]}));
        let allocation = Allocation { allocation_timestamp: Some("t".into()), ..Allocation::default() };
        let allocated = ClaimPatch::Reserved { allocation: Some(Arc::new(allocation)), consumer };
        let expected = json!({"devices": {}, "allocationTimestamp": "t"});
        assert_eq!(status(allocated), json!({"reservedFor": [pod], "allocation": expected}));
        let none = json!({"allocation": null, "reservedFor": null, "devices": null});
        assert_eq!(status(ClaimPatch::Deallocated), none);
        let released = json!({"reservedFor": [{"$patch": "delete", "uid": "u-p"}]});
        assert_eq!(status(ClaimPatch::Released("u-p".into())), released);
    }
}
