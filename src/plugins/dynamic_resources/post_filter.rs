//! PostFilter: takes back the allocation of a claim that no node can use, so that a later attempt allocates anew. It never
//! succeeds: preemption runs after it.
//!
//! Upstream takes a random one of these claims; here it is the first.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `PostFilter`.

use super::DynamicResources;
use super::claims::full_name;
use super::filter::NOT_AVAILABLE;
use super::state::{PodClaim, State};
use bayplan_framework::{
    ApiCall, ClaimPatch, Code, Handle, NodeToStatus, ObjectPart, PatchBody, PluginsRunner, PostFilter,
    PostFilterCall, PostFilterOutcome, Status,
};
use bayplan_model::{ApiObject, PodInfo, ResourceClaim, VersionRow};

impl PostFilter for DynamicResources {
    fn post_filter(&self, h: &Handle, nodes: &NodeToStatus, _: &mut dyn PluginsRunner) -> PostFilterOutcome {
        // A PreFilter before this one refused the pod.
        let Some(state) = h.state::<State>() else {
            return PostFilterOutcome::not(Status::error("not found"));
        };
        if state.claims.is_empty() {
            return self.nothing("no new claims to deallocate");
        }
        let unavailable = self.unavailable(h, state, nodes);
        if let Some(claim) = unavailable.into_iter().find(|claim| is_free_for(claim, h.pod)) {
            return deallocation(claim);
        }
        match state.special().filter(|special| !special.is_not_made()) {
            Some(special) => {
                let then = Status::unschedulable("deletion of ResourceClaim completed");
                PostFilterOutcome::Calls { calls: self.deletion(&special.claim), then }
            }
            None => self.nothing("still not schedulable"),
        }
    }
}

/// Whether no other pod may use the claim.
fn is_free_for(claim: &ResourceClaim, pod: &PodInfo) -> bool {
    match &claim.reserved_for[..] {
        [] => true,
        [one] => one.uid == pod.uid,
        _ => false,
    }
}

fn deallocation(claim: &ResourceClaim) -> PostFilterOutcome {
    let version = Some(claim.metadata.version.clone()).filter(|version| !version.is_empty());
    let call = ApiCall::Patch {
        of: claim.key(),
        part: ObjectPart::Status,
        version,
        body: PatchBody::Claim(ClaimPatch::Deallocated),
    };
    PostFilterOutcome::Calls {
        calls: vec![PostFilterCall { call, failed: String::new(), may_be_gone: false }],
        then: Status::unschedulable("deallocation of ResourceClaim completed"),
    }
}

impl DynamicResources {
    /// There is nothing to take back. 1.37 says it without words.
    fn nothing(&self, text: &str) -> PostFilterOutcome {
        PostFilterOutcome::not(match self.gates.has(VersionRow::NoClaimsText) {
            true => Status::with_reasons(Code::Unschedulable, []),
            false => Status::unschedulable(text),
        })
    }

    /// The claims that some node refused as not available there. A node on which other claims could not be allocated
    /// says nothing of these.
    fn unavailable<'s>(&self, h: &Handle, state: &'s State, nodes: &NodeToStatus) -> Vec<&'s ResourceClaim> {
        let now = h.snapshot.wall_clock(h.now);
        let refused = nodes.iter().filter(|(_, status)| {
            status.plugin == h.plugin && status.reasons().any(|reason| reason == NOT_AVAILABLE)
        });
        let refused: Vec<_> = refused.filter_map(|(id, _)| h.snapshot.node(id)).collect();
        let on_any = |of: &&PodClaim| refused.iter().any(|node| self.is_unavailable(&of.claim, node, now));
        let users = state.claims.iter().filter(|of| !of.special);
        users.filter(on_any).map(|of| &*of.claim).collect()
    }

    /// Deletes a claim that was made for extended resources: without its finalizer, so that it goes at once.
    pub(super) fn deletion(&self, claim: &ResourceClaim) -> Vec<PostFilterCall> {
        let (of, name) = (claim.key(), full_name(claim));
        let unprotect = ApiCall::Patch {
            of: of.clone(),
            part: ObjectPart::Object,
            version: None,
            body: PatchBody::Claim(ClaimPatch::Unprotected),
        };
        let failed = format!("update resourceclaim {name}: ");
        let may_be_gone = self.gates.has(VersionRow::GoneSpecialClaims);
        vec![
            PostFilterCall { call: unprotect, failed, may_be_gone: false },
            PostFilterCall { call: ApiCall::Delete { of }, failed: String::new(), may_be_gone },
        ]
    }
}
