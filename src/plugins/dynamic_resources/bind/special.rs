//! The claim for extended resources: it is created before it is allocated, and the status of the pod names it.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`,
//! `createExtendedResourceClaimInAPI`, `patchPodExtendedResourceClaimStatus`.

use super::super::claims::key_of;
use super::super::extended;
use super::{Binding, PENDING, Step, failed, pause};
use bayplan_framework::{
    Actor, Answer, ApiCall, CallError, Counted, ObjectPart, PatchBody, Status, TaskPoll,
};
use bayplan_model::{Duration, Object};
use std::sync::Arc;

/// The pauses before the status of the pod is written again.
const POD_PAUSES: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

impl Binding {
    /// Creates the claim of extended resources.
    pub(super) fn create(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let pod = a.pod.clone();
        let Some(state) = self.state(a) else { return Ok(TaskPoll::Done) };
        let (Some(name), Some(requests)) = (state.made_name.clone(), state.requests.clone()) else {
            return Err(failed(format!("extended resource claim not found for node {}", self.node)));
        };
        state.may_be_made = true;
        self.step = Step::Create;
        let object = Arc::new(extended::object(&pod, &name, &requests));
        a.call(ApiCall::Create { of: key_of(&pod.namespace, &name), object });
        Ok(PENDING)
    }

    pub(super) fn created(
        &mut self,
        a: &mut Actor,
        answer: &Result<Answer, CallError>,
    ) -> Result<TaskPoll, Status> {
        let (pod, at) = (a.pod.clone(), self.at);
        a.counted(Counted::ClaimCreation { done: answer.is_ok() });
        let (uid, version) = match answer {
            Ok(Answer::Created { uid, version }) => (uid, version),
            Ok(_) => return Err(Status::error("the API server did not answer with the object")),
            Err(error) => {
                if let (CallError::Refused { .. }, Some(state)) = (error, self.state(a)) {
                    state.may_be_made = false;
                }
                let namespace = &pod.namespace;
                let text = error.message();
                return Err(failed(format!("create claim for extended resources {namespace}/: {text}")));
            }
        };
        let Some(state) = self.state(a) else { return Ok(TaskPoll::Done) };
        let (Some(name), Some(requests)) = (&state.made_name, &state.requests) else {
            return Ok(TaskPoll::Done);
        };
        let made = extended::read(extended::object(&pod, name, requests));
        let Some(mut made) = made else { return Err(Status::error("the claim cannot be read")) };
        (made.metadata.uid, made.metadata.version) = (uid.clone(), version.clone());
        let made = Arc::new(made);
        if let Some(of) = state.claims.get_mut(at) {
            of.claim = made.clone();
        }
        self.claim = Some(made);
        self.assume(a);
        self.write(a)
    }

    /// Writes which claim has the devices of the extended resources of the pod.
    pub(super) fn write_pod(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let pod = a.pod.clone();
        let requests = self.state(a).and_then(|state| state.requests.clone());
        let mappings = requests.map(|requests| requests.mappings.clone()).unwrap_or_default();
        if mappings.is_empty() {
            let pod = pod.full_name();
            return Err(failed(format!(
                "nil or empty request mappings, no update of pod {pod} ExtendedResourceClaimStatus"
            )));
        }
        let claim = self.claim.as_ref().map(|claim| claim.metadata.name.clone()).unwrap_or_default();
        self.step = Step::Pod;
        self.tries += 1;
        a.call(ApiCall::Patch {
            of: Object::Pod(pod).key(),
            part: ObjectPart::Status,
            version: None,
            body: PatchBody::ExtendedClaim { claim, mappings },
        });
        Ok(PENDING)
    }

    pub(super) fn pod_failed(&mut self, a: &mut Actor, error: &CallError) -> Result<TaskPoll, Status> {
        let again = matches!(error, CallError::Unknown(_) | CallError::Refused { code: 409, .. });
        let pauses = POD_PAUSES.get((self.tries as usize).saturating_sub(1));
        match pauses.filter(|_| again) {
            Some(wait) => {
                self.step = Step::PodPause;
                Ok(pause(a.now + *wait))
            }
            None => {
                let (pod, text) = (a.pod.full_name(), error.message());
                Err(failed(format!("update pod {pod} ExtendedResourceClaimStatus: {text}")))
            }
        }
    }
}
