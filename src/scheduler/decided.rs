//! What this scheduler decides about a pod moves what rules read of it before a watch shows it: its node, its marks,
//! whether it waits at Permit, whether it is bound, its nomination. Pods in the queue receive it as an event;
//! those that wait at Permit, and sort keys, read the log. Where no rule reads it, an event costs one lookup.
//!
//! In-tree plugins do not register for these events and wait for the watch, as upstream; policies register beside
//! placed pods. Yet a pod whose binding waits wakes the pods that in-tree plugins refused
//! (`EventResource::WaitingPod`): it may wait at Permit for the very pod that wants to be near it. Such a wake is
//! after the full back-off, since what the woken pod does may end the wait.

use super::Scheduler;
use super::queue::Scope;
use bayplan_framework::{ActionType, ClusterEvent, EventObjects, EventResource};
use bayplan_model::{PodInfo, PodKey, Symbol, Time};
use std::sync::Arc;

/// Whether the pod waits, is bound, or is nominated.
const STATE: ActionType = ActionType::UPDATE_OTHER;
/// Its marks came or went.
const MARKS: ActionType = ActionType::UPDATE_POD_LABEL;

impl Scheduler {
    /// The pod was assumed, and its binding begins. `before`: as it was. One that `waits` at Permit may lose its node
    /// because of those whom it wakes: their back-off is not cut short, or both would be tried without end.
    pub(super) fn assumption_stands(&mut self, before: &Arc<PodInfo>, waits: bool, now: Time) {
        let is_marked = self.cache.snapshot.marks(&before.key).is_some();
        let marks = if is_marked { MARKS } else { ActionType::default() };
        let old = is_marked.then(|| before.clone());
        self.decided(&before.key, old, ActionType::ADD.with(STATE).with(marks), waits, now);
    }

    /// The binding of an assumed pod takes a while: those whom a pod on its node may help are tried before a watch shows it
    /// there. `waits`: at Permit.
    pub(super) fn binding_waits(&mut self, pod: &PodKey, waits: bool, now: Time) {
        if !self.queue.wants(EventResource::WaitingPod, ActionType::ADD) {
            return;
        }
        let Some(new) = self.as_it_is_here(pod) else { return };
        let objects = EventObjects::Pod { old: None, new: Some(new) };
        let scope = Scope { except: Some(pod.clone()), after_backoff: waits, ..Scope::default() };
        self.move_all(&ClusterEvent::of(EventResource::WaitingPod, ActionType::ADD, objects), &scope, now);
    }

    /// The pod stops waiting at Permit, the API server accepted its binding, or its nomination moved.
    pub(super) fn state_moved(&mut self, pod: &PodKey, by_failure: bool, now: Time) {
        let old = self.cache.pod(pod).cloned();
        self.decided(pod, old, STATE, by_failure, now);
    }

    /// An assumed pod is pending again, without the marks that it had.
    pub(super) fn marks_went(&mut self, marked: Arc<PodInfo>, now: Time) {
        let key = marked.key.clone();
        self.decided(&key, Some(marked), MARKS, true, now);
    }

    /// Sets or removes a nomination. What that moves comes from a failed attempt.
    pub(super) fn nominate(&mut self, pod: &Arc<PodInfo>, node: Option<&Symbol>, now: Time) {
        let before = self.cache.nominator.get(&pod.key).cloned();
        self.cache.nominator.set(pod, node, &mut self.cache.snapshot);
        if self.cache.nominator.get(&pod.key) != before.as_ref() {
            self.state_moved(&pod.key, true, now);
        }
    }

    /// Tells the other pods. The pod of the event has the node that it has here.
    fn decided(
        &mut self,
        pod: &PodKey,
        old: Option<Arc<PodInfo>>,
        actions: ActionType,
        after_backoff: bool,
        now: Time,
    ) {
        if !self.queue.wants(EventResource::DecidedPod, actions) {
            return;
        }
        let Some(new) = self.as_it_is_here(pod) else { return };
        let scope = Scope { except: Some(pod.clone()), after_backoff, ..Scope::default() };
        let objects = EventObjects::Pod { old, new: Some(new) };
        let event = ClusterEvent::of(EventResource::DecidedPod, actions, objects);
        self.move_all(&event, &scope, now);
    }

    /// The pod with the node that it has here.
    pub(super) fn as_it_is_here(&self, pod: &PodKey) -> Option<Arc<PodInfo>> {
        let entry = self.cache.snapshot.pod(pod)?;
        let node = entry.placed.and_then(|(row, _)| self.cache.snapshot.node(row));
        Some(match node {
            Some(node) => {
                let node_name = Some(node.name().clone());
                Arc::new(PodInfo { node_name, ..(*entry.pod).clone() })
            }
            None => entry.pod.clone(),
        })
    }
}
