//! PreFilter: the claims of the pod, and whether they can be allocated at all. It never narrows the nodes.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `PreFilter`.

use super::DynamicResources;
use super::claims::{NOT_SERVED, are_served, full_name, is_in_flight, user_claims};
use super::extended;
use super::state::{PodClaim, State};
use bayplan_framework::{Handle, PreFilter, PreFilterOutcome, StateSlot, Status};
use bayplan_model::objects::devices::{ClaimRequest, RequestKind};
use bayplan_model::{DeviceClass, ResourceClaim, Snapshot, Symbol};

impl PreFilter for DynamicResources {
    fn pre_filter(&self, h: &Handle, slot: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        // PostFilter sees by it that no PreFilter before this one refused the pod.
        slot.put(State::default());
        let state = self.claims_of(h)?;
        if state.claims.is_empty() {
            return Ok(PreFilterOutcome::Skip);
        }
        slot.put(state);
        Ok(PreFilterOutcome::AllNodes)
    }
}

impl DynamicResources {
    /// The claims of the pod. Fails where PreFilter refuses it.
    pub(super) fn claims_of(&self, h: &Handle) -> Result<State, Status> {
        let why = |text: String| if are_served(h.snapshot) { text } else { NOT_SERVED.to_owned() };
        let users = user_claims(h.pod, h.snapshot).map_err(|text| Status::unresolvable(why(text)))?;
        let mut claims: Vec<_> = users.into_iter().map(|claim| PodClaim::new(claim, false)).collect();
        claims.extend(extended::claim(&self.gates, h)?);
        for of in &claims {
            self.check(h.snapshot, of)?;
        }
        Ok(State { claims, ..State::default() })
    }

    fn check(&self, snapshot: &Snapshot, of: &PodClaim) -> Result<(), Status> {
        let claim = &*of.claim;
        if let Some(allocation) = &claim.allocation {
            let error = allocation.node_selector.as_ref().and_then(|nodes| nodes.selector.error.as_ref());
            return error.map_or(Ok(()), |error| Err(Status::error(error.to_string())));
        }
        if is_in_flight(snapshot, claim) {
            let claim = full_name(claim);
            let text = format!("resource claim {claim} is in the process of being allocated");
            return Err(Status::unresolvable(text));
        }
        if of.special {
            return Ok(());
        }
        claim.requests.iter().try_for_each(|request| self.check_request(snapshot, claim, request))
    }

    fn check_request(
        &self,
        snapshot: &Snapshot,
        claim: &ResourceClaim,
        request: &ClaimRequest,
    ) -> Result<(), Status> {
        let refused = |text: &str| {
            let text = format!("resource claim {}, request {}: {text}", full_name(claim), request.name);
            Err(Status::unresolvable(text))
        };
        match request.kind() {
            RequestKind::Exactly(exactly) => {
                check_class(snapshot, &exactly.device.device_class_name, &request.name)
            }
            RequestKind::FirstAvailable(_) if !self.gates.allocator.prioritized_list => {
                refused("has subrequests, but the DRAPrioritizedList feature is disabled")
            }
            RequestKind::FirstAvailable(all) => all.iter().try_for_each(|alternative| {
                let name = format!("{}/{}", request.name, alternative.name);
                check_class(snapshot, &alternative.device.device_class_name, &name)
            }),
            RequestKind::Unknown => refused("unknown request type"),
        }
    }
}

fn check_class(snapshot: &Snapshot, class: &Symbol, request: &str) -> Result<(), Status> {
    if class.is_empty() {
        return Err(Status::error(format!("request {request}: unsupported request type")));
    }
    match snapshot.object::<DeviceClass>(&Symbol::default(), class) {
        Some(_) => Ok(()),
        None => Err(Status::unresolvable(format!("request {request}: device class {class} does not exist"))),
    }
}
