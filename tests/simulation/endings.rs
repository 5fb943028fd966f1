//! Invariants of pods that are being deleted, and of calls that the server answers with 429.

use crate::extenders::bound_by;
use crate::world::{Open, World};
use bayplan::framework::{ApiCall, CallError, Ticket};
use bayplan::model::{Object, PodInfo, PodKey};
use bayplan::scheduler::{Input, PodState, Scheduler, Stage};
use std::collections::BTreeSet;
use std::sync::Arc;

impl World {
    /// A user deletes a pod that is being bound; a finalizer keeps it.
    pub(crate) fn terminate_binding(&mut self, with: u64) {
        let bindings = self.scheduler.bindings();
        let pod = bindings.get(with as usize % bindings.len().max(1)).map(|binding| binding.pod.0.clone());
        let pod = self.api.pods().find(|it| Some(&it.uid) == pod.as_ref()).cloned();
        if let Some(pod) = pod {
            let deleted = Some(self.now);
            self.api.put(Object::Pod(Arc::new(PodInfo { deleted, ..(*pod).clone() })));
        }
    }
}

/// The pods that the scheduler saw being deleted without a node. A finalizer keeps them.
#[derive(Default)]
pub(crate) struct Endings(BTreeSet<PodKey>);

impl Endings {
    /// What the watch shows.
    pub(crate) fn see(&mut self, input: &Input) {
        let objects: Vec<&Object> = match input {
            Input::Upserted(object) => vec![object],
            Input::Relisted(_, all) => all.iter().collect(),
            _ => return,
        };
        for object in objects {
            if let Object::Pod(pod) = object
                && pod.is_terminating()
                && pod.node_name.is_none()
            {
                self.0.insert(pod.key.clone());
            }
        }
    }

    /// A call that is sent while others are open: calls about one object go one at a time, and no pod is bound whose
    /// deletion was seen.
    pub(crate) fn sent(&self, call: &ApiCall, open: &[Open]) -> Result<(), String> {
        // Questions to extenders change nothing.
        let writes = |call: &ApiCall| !matches!(call, ApiCall::Extender { .. }) || bound_by(call).is_some();
        let about = |other: &ApiCall| match call.object().uid.as_str() {
            "" => other.object() == call.object(),
            uid => other.object().uid == *uid,
        };
        let same = |other: &&Open| writes(&other.call) && about(&other.call);
        if let Some(other) = open.iter().find(same).filter(|_| writes(call)) {
            return Err(format!("11: {call:?} was sent while {other:?} was open"));
        }
        match bound_by(call) {
            Some(pod) if self.0.contains(&PodKey(pod.uid.clone())) => {
                Err(format!("11: {} is being deleted and bound", pod.name))
            }
            _ => Ok(()),
        }
    }

    /// A pod whose deletion was seen has no room, unless its bind is out.
    pub(crate) fn broken(&self, scheduler: &Scheduler, open: &[Open]) -> Option<String> {
        let assumed = |key: &&PodKey| scheduler.pod_state(key).is_some_and(PodState::is_assumed);
        let is_out = |key: &PodKey| {
            let of = |open: &Open| bound_by(&open.call).is_some_and(|pod| pod.uid == key.0);
            open.iter().any(of)
        };
        let taken = self.0.iter().filter(assumed).find(|key| !is_out(key))?;
        Some(format!("11: {taken:?} is being deleted and takes room"))
    }
}

/// A bind that the server answered with 429: nothing of it fails, unless its pod is gone, bound or being deleted.
pub(crate) struct ThrottledBind {
    pod: PodKey,
    ticket: Ticket,
}

impl ThrottledBind {
    /// The bind that this input answers with 429, while its pod still needs it.
    pub(crate) fn of(input: &Input, scheduler: &Scheduler) -> Option<Self> {
        let Input::Reply(ticket, Err(CallError::Retry { .. })) = input else { return None };
        let ticket = *ticket;
        let binding =
            scheduler.bindings().into_iter().find(|binding| binding.stage == Stage::Bind(ticket))?;
        let pod = binding.pod;
        let needed = scheduler.pod_state(&pod).is_some_and(PodState::is_assumed)
            && scheduler.snapshot().pod(&pod).is_some_and(|entry| !entry.pod.is_terminating());
        needed.then_some(Self { pod, ticket })
    }

    /// What broke after the answer.
    pub(crate) fn broken(&self, scheduler: &Scheduler) -> Option<String> {
        let goes_on = scheduler
            .bindings()
            .iter()
            .any(|binding| binding.pod == self.pod && binding.stage == Stage::Bind(self.ticket));
        (!goes_on).then(|| format!("12: the bind of {:?} was throttled, and its binding failed", self.pod))
    }
}
