//! The claims that schedulers make for the extended resources of pods, by pod.

use super::Holder;
use crate::objects::{ApiObject, ResourceClaim};
use crate::symbol::Symbol;
use crate::table::{Placed, Table};
use std::collections::BTreeSet;

/// The claims of a pod.
#[derive(Clone, PartialEq, Debug)]
struct OfPod {
    uid: Symbol,
    name: Symbol,
    claims: BTreeSet<Holder>,
}

impl Placed for OfPod {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.uid, &self.name)
    }
}

/// Claims of extended resources by UID and name of the pod that controls them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SpecialClaims(Table<OfPod>);

/// UID and name of the pod whose extended resources the claim is for.
fn pod_of(claim: &ResourceClaim) -> Option<(&Symbol, &Symbol)> {
    let owner = claim.controller().filter(|_| claim.is_of_extended_resources())?;
    Some((&owner.uid, &owner.name))
}

impl SpecialClaims {
    pub(super) fn of(&self, uid: &Symbol, pod: &Symbol) -> Option<&Holder> {
        self.0.get(uid, pod)?.claims.first()
    }

    pub(super) fn change(&mut self, before: Option<&ResourceClaim>, after: Option<&ResourceClaim>) {
        let (was, is) = (before.and_then(pod_of), after.and_then(pod_of));
        if was == is {
            return;
        }
        if let Some((claim, (uid, name))) = before.zip(was)
            && let Some(mut known) = self.0.get(uid, name).cloned()
        {
            known.claims.remove(&Holder::of(claim));
            match known.claims.is_empty() {
                true => drop(self.0.remove(uid, name)),
                false => drop(self.0.put(known)),
            }
        }
        if let Some((claim, (uid, name))) = after.zip(is) {
            let mut known = self.0.get(uid, name).cloned().unwrap_or_else(|| OfPod {
                uid: uid.clone(),
                name: name.clone(),
                claims: BTreeSet::new(),
            });
            known.claims.insert(Holder::of(claim));
            self.0.put(known);
        }
    }
}
