//! What bindings wrote for their assumptions: a write that the API server took stays assumed until the watch shows it. A
//! write without an answer may have happened, or happen later: what its pod assumes counts until reading the object
//! tells.

use super::Scheduler;
use super::binding_cycle::BindingCycle;
use super::calls::Owner;
use super::queue::Scope;
use bayplan_framework::{
    ActionType, Answer, ApiCall, CallError, ClusterEvent, EventObjects, EventResource, Ticket,
};
use bayplan_model::{ApiObject, Assumption, Change, Duration, Object, ObjectKey, PodKey, Time};
use std::sync::Arc;

/// An object is read again after this time.
const READ_AGAIN: Duration = Duration::from_seconds(1);

/// A write without an answer.
#[derive(Clone, Debug)]
pub(super) struct Unsure {
    object: ObjectKey,
    /// The version that the write needs: at another one it has happened, or cannot happen.
    version: Option<Box<str>>,
    /// Whether the write creates the object.
    creates: bool,
    /// From when on the write cannot happen.
    until: Time,
    /// When the object is read.
    next: Time,
    read: Option<Ticket>,
}

impl Unsure {
    /// When the object is to be read.
    pub(super) fn alarm(&self) -> Option<Time> {
        self.read.is_none().then_some(self.next)
    }

    /// Whether the object, as it was read, tells that the write has happened or cannot happen.
    fn is_decided(&self, found: Option<&Object>, now: Time) -> bool {
        match found {
            _ if now >= self.until => true,
            Some(_) if self.creates => true,
            Some(found) => self.version.as_deref().is_some_and(|needed| needed != found.version()),
            None => !self.creates,
        }
    }
}

impl Scheduler {
    /// A call of a binding was answered. A plugin is not told when the binding ended meanwhile.
    pub(super) fn write_of_a_binding(
        &mut self,
        pod: &PodKey,
        sent: Option<&ApiCall>,
        answer: &Result<Answer, CallError>,
        now: Time,
    ) {
        let Some((call, key)) = sent.map(|call| (call, call.object().clone())) else { return };
        match answer {
            Ok(Answer::Written { version } | Answer::Created { version, .. }) => {
                if let Some(mut binding) = self.bindings.take(pod) {
                    binding.unsure.retain(|of| of.object != key);
                    self.bindings.put(binding);
                }
                let (by, version) = (pod.clone(), version.clone());
                self.cache.snapshot.apply(Change::AssumedWritten { key, by, version });
            }
            Err(CallError::Unknown(_)) if self.is_assumed(pod, &key) => {
                let (version, creates) = match call {
                    ApiCall::Patch { version, .. } => (version.clone(), false),
                    ApiCall::Create { .. } => (None, true),
                    _ => return,
                };
                let timeout = self.options.request_timeout;
                let until = now + timeout + timeout;
                if let Some(mut binding) = self.bindings.take(pod) {
                    binding.unsure.push(Unsure {
                        object: key,
                        version,
                        creates,
                        until,
                        next: now,
                        read: None,
                    });
                    self.bindings.put(binding);
                }
            }
            _ => {}
        }
    }

    /// Whether the pod assumes something about the object that is not known to be written.
    fn is_assumed(&self, pod: &PodKey, object: &ObjectKey) -> bool {
        let mut all = self.cache.snapshot.assumptions(object).iter();
        all.any(|of| of.by == *pod && of.written.is_none())
    }

    /// Whether it is open what a binding wrote that ends; the objects are read.
    pub(super) fn is_unsure(&mut self, binding: &mut BindingCycle, now: Time) -> bool {
        let pod = binding.key().clone();
        binding.unsure.retain(|of| self.is_assumed(&pod, &of.object));
        for of in &mut binding.unsure {
            if of.read.is_none() && of.next <= now {
                let call = ApiCall::Read(of.object.clone());
                of.read = Some(self.outbox.send(call, Owner::Binding(pod.clone())));
            }
        }
        !binding.unsure.is_empty()
    }

    /// An object was read whose write had no answer. What it is now is assumed until the watch shows it.
    pub(super) fn write_was_read(
        &mut self,
        binding: &mut BindingCycle,
        ticket: Ticket,
        answer: Result<Answer, CallError>,
        now: Time,
    ) {
        let Some(at) = binding.unsure.iter().position(|of| of.read == Some(ticket)) else { return };
        let Some(of) = binding.unsure.get_mut(at) else { return };
        (of.read, of.next) = (None, now + READ_AGAIN);
        let Ok(Answer::Object(found)) = answer else { return };
        let uid = &of.object.uid;
        let found = found.filter(|found| uid.is_empty() || found.key().uid == *uid);
        if !of.is_decided(found.as_ref(), now) {
            return;
        }
        let (key, by) = (of.object.clone(), binding.key().clone());
        let before = self.object_shown(&key).cloned();
        match found {
            Some(Object::Other(with)) => {
                let (key, by, version) = (key.clone(), by.clone(), with.version().into());
                self.cache.snapshot.apply(Change::Assumed { key: key.clone(), with, by: by.clone() });
                self.cache.snapshot.apply(Change::AssumedWritten { key, by, version });
            }
            _ => self.cache.snapshot.apply(Change::Unassumed { key, by: by.clone() }),
        }
        binding.unsure.remove(at);
        if let Some(before) = before {
            self.shown_otherwise(&before, &by, now);
        }
    }

    /// The objects about which a pod assumes something, as readers of the snapshot see them.
    pub(super) fn objects_assumed_by(&self, pod: &PodKey) -> Vec<Arc<dyn ApiObject>> {
        let keys = self.cache.snapshot.assumed_by(pod);
        keys.iter().filter_map(|key| self.object_shown(key).cloned()).collect()
    }

    /// An object as readers of the snapshot see it.
    fn object_shown(&self, key: &ObjectKey) -> Option<&Arc<dyn ApiObject>> {
        let snapshot = &self.cache.snapshot;
        let assumed = snapshot.assumptions(key).last().map(Assumption::object);
        assumed.or_else(|| snapshot.any_object_seen(key))
    }

    /// What a pod assumed about an object ended, and no watch shows what is free now: wakes the other pods that it may help.
    /// For upstream this is not an event: such pods wait for another one, or for the flush after five minutes.
    pub(super) fn shown_otherwise(&mut self, before: &Arc<dyn ApiObject>, pod: &PodKey, now: Time) {
        let key = before.key();
        let after = self.object_shown(&key);
        let Some(resource) = EventResource::of(&key.kind) else { return };
        if after.is_none_or(|after| after.differs(before.as_ref())) {
            let objects = EventObjects::Object { old: Some(before.clone()), new: after.cloned() };
            let event = ClusterEvent::of(resource, ActionType::UPDATE_OTHER, objects);
            let others = Scope { except: Some(pod.clone()), ..Scope::default() };
            self.move_all(&event, &others, now);
        }
    }
}
