//! PreBind: writes what Reserve assumed, claim after claim, and waits for devices that are prepared before the binding.
//!
//! A claim that another client wrote meanwhile is read and written again. What was written stays: the next attempt finds
//! the claim allocated.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `PreBind`, `bindClaim`.

mod prepare;
mod special;

pub(super) use prepare::{Ending, count_wait};

use super::DynamicResources;
use super::claims::full_name;
use super::reserve::assumed;
use super::state::{PodClaim, State};
use bayplan_framework::{
    Actor, Answer, ApiCall, BindTask, CallError, ClaimPatch, Handle, ObjectPart, PatchBody, PreBind,
    PreFlight, Status, TaskPoll, Wake,
};
use bayplan_model::objects::devices::{Allocation, Consumer};
use bayplan_model::{ApiObject, Duration, NodeId, Object, ResourceClaim, Symbol, Time, downcast};
use std::sync::Arc;

/// How often a claim is written that others write too, and the pause before it is read again. Of pods of this scheduler that
/// write the same claim, one succeeds in each round: each has a try more for each other one, and its turn to read.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);
const TURN: Duration = Duration::from_millis(4);

impl PreBind for DynamicResources {
    fn pre_flight(&self, h: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        match h.state::<State>().filter(|state| !state.claims.is_empty()) {
            Some(_) => Ok(PreFlight::Run { parallel: true }),
            None => Ok(PreFlight::Skip),
        }
    }

    fn start(&self, a: &mut Actor, node: NodeId) -> Result<Box<dyn BindTask>, Status> {
        let name = a.handle().snapshot.node(node).map(|node| node.name().clone()).unwrap_or_default();
        Ok(Box::new(Binding {
            node: name,
            timeout: self.args.binding_timeout,
            conditions: self.gates.allocator.binding_conditions,
            at: 0,
            claim: None,
            sent: None,
            step: Step::Start,
            tries: 0,
            until: None,
        }))
    }
}

/// What the binding waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Start,
    /// The claim of extended resources is created.
    Create,
    /// The finalizer is written.
    Protect,
    /// Allocation and reservation are written.
    Reserve,
    /// The pause before the claim is read again.
    Pause,
    /// The claim is read again.
    Read,
    /// The status of the pod is written.
    Pod,
    /// The pause before the status of the pod is written again.
    PodPause,
    /// Devices are prepared.
    Prepare,
}

/// The binding of the claims of one pod.
#[derive(Clone, Debug)]
struct Binding {
    node: Symbol,
    timeout: Duration,
    /// Whether there are devices that are prepared before the binding.
    conditions: bool,
    /// The claim that is written.
    at: usize,
    /// That claim as it is known best.
    claim: Option<Arc<ResourceClaim>>,
    /// The change that is under way.
    sent: Option<ClaimPatch>,
    step: Step,
    /// How often the claim, or the status of the pod, was written.
    tries: u32,
    /// When the devices must be prepared.
    until: Option<Time>,
}

/// Why a pod is not bound that names a claim twice: upstream allocates it twice, or reserves an allocated one twice, which
/// the API server refuses with the text of 1.37 that is here.
fn named_twice(of: &PodClaim, first: &PodClaim, consumer: &Consumer) -> String {
    let (full, name) = (full_name(&of.claim), &of.claim.metadata.name);
    if of.claim.allocation.is_none() {
        return format!("claim {full} got allocated elsewhere in the meantime");
    }
    let at = first.claim.reserved_for.len();
    format!(
        "add reservation to claim {full}: ResourceClaim.resource.k8s.io {:?} is invalid: status.reservedFor[{at}]: \
         Duplicate value: {}",
        name.as_str(),
        consumer.json()
    )
}

const PENDING: TaskPoll = TaskPoll::Pending { until: None, watch: Vec::new() };

fn pause(until: Time) -> TaskPoll {
    TaskPoll::Pending { until: Some(until), watch: Vec::new() }
}

fn failed(text: String) -> Status {
    Status::error(text)
}

impl BindTask for Binding {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        match (wake, self.step) {
            (Wake::Start, _) => self.next(a),
            (Wake::Answer(_, answer), _) => self.answered(a, answer),
            (Wake::Deadline, Step::Pause) => self.read(a),
            (Wake::Deadline, Step::PodPause) => self.write_pod(a),
            (Wake::Deadline | Wake::Changed(_), Step::Prepare) => self.prepare(a),
            _ => Ok(PENDING),
        }
    }

    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(self.clone())
    }
}

impl Binding {
    fn state<'s>(&self, a: &'s mut Actor) -> Option<&'s mut State> {
        a.slot().get_mut::<State>()
    }

    /// The claim that is written, as the attempt knows it.
    fn of(&self, a: &mut Actor) -> Option<PodClaim> {
        self.state(a)?.claims.get(self.at).cloned()
    }

    /// Begins with the next claim; after the last one devices are prepared. A claim that lists the pod already is written
    /// too: the call of an earlier attempt may be under way that takes the reservation back.
    fn next(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        while let Some(of) = self.of(a) {
            let idle = of.special && of.allocated.is_none() && of.claim.requests.is_empty();
            if idle || of.special && of.claim.is_reserved_for(&a.pod.uid) {
                self.at += 1;
                continue;
            }
            if let Some(first) = self.first_of(a, &of) {
                if of.claim.is_reserved_for(&a.pod.uid) {
                    self.at += 1;
                    continue;
                }
                return Err(failed(named_twice(&of, &first, &Consumer::pod(&a.pod.name, &a.pod.uid))));
            }
            self.tries = 0;
            if of.is_not_made() {
                return self.create(a);
            }
            self.claim = Some(of.claim);
            return self.write(a);
        }
        self.begin_to_prepare(a)
    }

    /// The entry of the pod before this one that names the same claim.
    fn first_of(&self, a: &mut Actor, of: &PodClaim) -> Option<PodClaim> {
        let (at, key) = (self.at, of.claim.key());
        self.state(a)?.claims.iter().take(at).find(|first| first.claim.key() == key).cloned()
    }

    fn answered(&mut self, a: &mut Actor, answer: &Result<Answer, CallError>) -> Result<TaskPoll, Status> {
        match self.step {
            Step::Create => self.created(a, answer),
            Step::Protect | Step::Reserve => match answer {
                Ok(Answer::Written { version }) => self.written(a, version),
                Ok(_) => Err(Status::error("the API server did not answer with the object")),
                Err(error @ CallError::Refused { code: 409, .. }) => self.was_overtaken(a, error),
                Err(error) => Err(failed(format!("{}{}", self.what_failed(), error.message()))),
            },
            Step::Read => self.was_read(a, answer),
            Step::Pod => match answer {
                Ok(_) => {
                    self.at += 1;
                    self.next(a)
                }
                Err(error) => self.pod_failed(a, error),
            },
            _ => Ok(PENDING),
        }
    }

    /// Another one wrote the claim meanwhile: another client, or another pod of this scheduler.
    fn was_overtaken(&mut self, a: &mut Actor, error: &CallError) -> Result<TaskPoll, Status> {
        let own = &a.pod.key;
        let all = self.claim.iter().flat_map(|claim| a.handle().snapshot.assumptions(&claim.key()));
        let waiting: Vec<_> = all.filter(|of| of.written.is_none()).map(|of| of.by == *own).collect();
        let others = waiting.iter().filter(|is_own| !**is_own).count();
        let before = waiting.iter().take_while(|is_own| !**is_own).count();
        if self.tries as usize >= TRIES as usize + others {
            return Err(failed(format!("{}{}", self.what_failed(), error.message())));
        }
        self.step = Step::Pause;
        let turn = TURN.0.saturating_mul(i64::try_from(before).unwrap_or(i64::MAX));
        Ok(pause(a.now + PAUSE + Duration(turn)))
    }

    /// `namespace/name` of the claim that is written.
    fn name(&self) -> String {
        self.claim.as_ref().map(|claim| full_name(claim)).unwrap_or_default()
    }

    fn what_failed(&self) -> String {
        let name = self.name();
        match &self.sent {
            Some(ClaimPatch::Protected(_)) => format!("add finalizer to claim {name}: "),
            Some(ClaimPatch::Reserved { allocation: Some(_), .. }) => {
                format!("add allocation and reservation to claim {name}: ")
            }
            _ => format!("add reservation to claim {name}: "),
        }
    }

    /// What the pod allocates to the claim.
    fn allocated(&self, a: &mut Actor) -> Option<Arc<Allocation>> {
        self.of(a)?.allocated
    }

    /// Assumes the claim as it will be: the answer to an earlier write must not end what the pod assumes.
    fn assume(&self, a: &mut Actor) {
        let (Some(claim), Some(allocation)) = (&self.claim, self.allocated(a)) else { return };
        let consumer = Consumer::pod(&a.pod.name, &a.pod.uid);
        a.assume(Arc::new(assumed(claim, Some(&allocation), consumer)));
    }

    /// Writes the finalizer, or else allocation and reservation.
    fn write(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let Some(claim) = self.claim.clone() else { return Ok(TaskPoll::Done) };
        if self.step != Step::Protect {
            self.tries += 1;
        }
        if claim.metadata.deleted.is_some() {
            return Err(failed(format!("claim {} got deleted in the meantime", self.name())));
        }
        let mut allocation = self.allocated(a);
        if allocation.is_some() {
            if claim.allocation.is_some() {
                return Err(failed(format!("claim {} got allocated elsewhere in the meantime", self.name())));
            }
            if !claim.is_protected() {
                let patch = ClaimPatch::protecting(&claim);
                return Ok(self.send(a, Step::Protect, ObjectPart::Object, patch));
            }
        }
        // What Filter saw may be deallocated, and allocated anew for another node. Upstream reserves that, too.
        if allocation.is_none() && !self.of(a).is_some_and(|of| of.claim.allocation == claim.allocation) {
            return Err(failed(format!("claim {} got deallocated elsewhere in the meantime", self.name())));
        }
        if self.conditions {
            // What is allocated already cannot be changed.
            if let Some(new) = allocation.as_mut().filter(|new| new.allocation_timestamp.is_none()) {
                let now = a.handle().snapshot.wall_clock(a.now).to_rfc3339();
                Arc::make_mut(new).allocation_timestamp = Some(now.into());
            }
        }
        let consumer = Consumer::pod(&a.pod.name, &a.pod.uid);
        let patch = ClaimPatch::Reserved { allocation, consumer };
        Ok(self.send(a, Step::Reserve, ObjectPart::Status, patch))
    }

    fn send(&mut self, a: &mut Actor, step: Step, part: ObjectPart, patch: ClaimPatch) -> TaskPoll {
        let at = self.at;
        if let Some(of) = self.state(a).and_then(|state| state.claims.get_mut(at)) {
            of.reserves = step == Step::Reserve;
        }
        let Some(claim) = &self.claim else { return PENDING };
        let version = Some(claim.metadata.version.clone()).filter(|version| !version.is_empty());
        a.call(ApiCall::Patch { of: claim.key(), part, version, body: PatchBody::Claim(patch.clone()) });
        (self.step, self.sent) = (step, Some(patch));
        PENDING
    }

    /// The API server took the change that was under way.
    fn written(&mut self, a: &mut Actor, version: &str) -> Result<TaskPoll, Status> {
        let (Some(claim), Some(patch)) = (&self.claim, self.sent.take()) else { return Ok(PENDING) };
        let mut claim = patch.of(claim);
        claim.metadata.version = version.into();
        let claim = Arc::new(claim);
        self.claim = Some(claim.clone());
        if self.step == Step::Protect {
            self.assume(a);
            return self.write(a);
        }
        a.assume(claim.clone());
        a.written(&claim.key(), version);
        let at = self.at;
        let mut special = false;
        if let Some(of) = self.state(a).and_then(|state| state.claims.get_mut(at)) {
            of.claim = claim;
            special = of.special;
        }
        if special {
            self.tries = 0;
            return self.write_pod(a);
        }
        self.at += 1;
        self.next(a)
    }

    /// Reads the claim again that another client has written.
    fn read(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let Some(claim) = &self.claim else { return Ok(TaskPoll::Done) };
        self.step = Step::Read;
        a.call(ApiCall::Read(claim.key()));
        Ok(PENDING)
    }

    fn was_read(&mut self, a: &mut Actor, answer: &Result<Answer, CallError>) -> Result<TaskPoll, Status> {
        let what = format!("get updated claim {} after conflict: ", self.name());
        let name = self.claim.as_ref().map(|claim| claim.metadata.name.clone()).unwrap_or_default();
        let read = match answer {
            Ok(Answer::Object(Some(Object::Other(object)))) => downcast::<ResourceClaim>(object.as_ref()),
            Ok(_) => None,
            Err(error) => return Err(failed(format!("{what}{}", error.message()))),
        };
        let Some(claim) = read else {
            let gone = format!("resourceclaims.resource.k8s.io {:?} not found", name.as_str());
            return Err(failed(format!("{what}{gone}")));
        };
        self.claim = Some(Arc::new(claim.clone()));
        self.assume(a);
        self.write(a)
    }
}
