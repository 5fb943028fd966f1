//! [`Handle`]: the read-only view that a plugin gets in a call. [`Actor`]: the view of plugins that may act.

use super::calls::{ApiCall, EventType, Ticket};
use super::cycle_state::{CycleState, StateSlot};
use super::plugin_id::PluginId;
use super::probe::Counted;
use super::status::{RuleFault, Status};
use bayplan_model::{
    ApiObject, Change, Index, IndexKey, Moves, ObjectKey, PodInfo, PodKey, PodMarks, Snapshot, Symbol, Time,
};
use std::any::Any;
use std::sync::Arc;

/// What a plugin may read in one call.
#[derive(Clone, Copy)]
pub struct Handle<'a> {
    /// The pod being scheduled.
    pub pod: &'a Arc<PodInfo>,
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// The instant of the cycle.
    pub now: Time,
    /// When the pod first entered the queue; `None` where no queue is involved.
    pub queued_at: Option<Time>,
    /// How often the pod was tried before this attempt.
    pub attempts: u32,
    /// In hints: the pod was refused after its node had been chosen (Reserve, Permit, PreBind).
    pub refused_late: bool,
    /// Outside attempts: the plugin's gate holds the pod.
    pub gated: bool,
    /// The state of the attempt.
    pub cycle: &'a CycleState,
    /// The plugin that is called.
    pub plugin: PluginId,
}

impl<'a> Handle<'a> {
    /// What the plugin put into its slot in PreFilter or PreScore.
    pub fn state<T: Any>(&self) -> Option<&'a T> {
        self.cycle.slot(self.plugin).and_then(StateSlot::get)
    }

    /// Notes a fault that a rule of the plugin passes over, for the counts of faults: the first of each rule and
    /// attempt. `known` says whether a noted fault is of the same rule.
    pub fn pass_over(&self, known: impl Fn(&RuleFault) -> bool, fault: impl FnOnce() -> Arc<RuleFault>) {
        self.cycle.pass_over(self.plugin, known, fault);
    }

    /// This view for another plugin.
    #[inline]
    pub fn for_plugin(self, plugin: PluginId) -> Self {
        Self { plugin, ..self }
    }
}

/// An action of a plugin; the scheduler carries it out after the call.
#[derive(Clone, Debug)]
pub enum Act {
    /// An API call; its answer comes back under the ticket.
    Call(Ticket, ApiCall),
    /// Allows a pod that waits at the Permit of this plugin.
    Allow(PodKey, PluginId),
    /// Refuses a pod that waits at Permit.
    Reject(PodKey, Status),
    /// Refuses a pod that waits at Permit because the attempt for another pod failed: its back-off is not cut short.
    Release(PodKey, Status),
    /// Moves a pending pod to the active queue.
    Activate(PodKey),
    /// Values that an index keeps moved: the numbers of what did.
    Moved(Vec<u64>),
    /// Values that an index keeps moved because an attempt failed: pods that this wakes keep all of their back-off.
    MovedByFailure(Vec<u64>),
    /// Moves an unschedulable pod as an event would that helps it.
    Wake(PodKey),
    /// Records an event, for this pod.
    Event(PodKey, PluginEvent),
    /// Counts something for metrics.
    Counted(Counted),
}

/// An event that a plugin records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginEvent {
    /// The object that it is about.
    pub of: ObjectKey,
    /// Normal or warning.
    pub kind: EventType,
    /// The reason: a word.
    pub reason: Symbol,
    /// What the scheduler does: a word.
    pub action: &'static str,
    /// The text.
    pub note: String,
}

/// What a plugin may read and do in Reserve, Unreserve, Permit, PreBind and PostBind, and after a failed attempt.
pub struct Actor<'a> {
    /// The pod being bound.
    pub pod: &'a Arc<PodInfo>,
    /// The cluster; a plugin may write into it through [`Actor::own`] and [`Actor::assume`] only.
    snapshot: &'a mut Snapshot,
    /// The instant.
    pub now: Time,
    cycle: &'a mut CycleState,
    /// The plugin that is called.
    pub plugin: PluginId,
    acts: &'a mut Vec<Act>,
    next_ticket: &'a mut u64,
}

impl<'a> Actor<'a> {
    /// Made by the framework for one call.
    pub(super) fn new(
        pod: &'a Arc<PodInfo>,
        snapshot: &'a mut Snapshot,
        now: Time,
        cycle: &'a mut CycleState,
        plugin: PluginId,
        acts: &'a mut Vec<Act>,
        next_ticket: &'a mut u64,
    ) -> Self {
        Self { pod, snapshot, now, cycle, plugin, acts, next_ticket }
    }

    /// The frozen view.
    #[inline]
    pub fn handle(&self) -> Handle<'_> {
        Handle {
            pod: self.pod,
            snapshot: self.snapshot,
            now: self.now,
            queued_at: None,
            attempts: 0,
            refused_late: false,
            gated: false,
            cycle: self.cycle,
            plugin: self.plugin,
        }
    }

    /// The plugin's slot of the cycle state.
    #[inline]
    pub fn slot(&mut self) -> &mut StateSlot {
        self.cycle.slot_mut(self.plugin)
    }

    /// An index of the plugin's own, to be written.
    pub fn own<T: Index>(&mut self, key: &IndexKey) -> Option<&mut T> {
        self.snapshot.index_mut(key)
    }

    /// Writes an index of the plugin's own that other pods read: those that wait for what moves in it are notified.
    pub fn write<T: Index>(&mut self, key: &IndexKey, write: impl FnOnce(&mut T, &mut Moves)) {
        let moved = self.snapshot.write_index(key, write);
        if !moved.is_empty() {
            self.acts.push(Act::Moved(moved));
        }
    }

    /// Takes an object to be as the plugin will write it: every reader of the snapshot sees it so, also after a reload.
    /// Ignored when the object is not known by its UID. One assumption about an object for each pod: another one takes
    /// its place. Whatever assumes something in Reserve takes it back in Unreserve.
    pub fn assume(&mut self, object: Arc<dyn ApiObject>) {
        let by = self.pod.key.clone();
        self.snapshot.apply(Change::Assumed { key: object.key(), with: object, by });
    }

    /// Takes back what was assumed about an object for this pod.
    pub fn unassume(&mut self, key: &ObjectKey) {
        self.snapshot.apply(Change::Unassumed { key: key.clone(), by: self.pod.key.clone() });
    }

    /// Adds annotations and labels to the pod: every reader of the snapshot sees them at once, and the Binding takes them
    /// to the API server. They go when the pod loses its node.
    pub fn mark(&mut self, marks: PodMarks) {
        self.snapshot.mark_pod(&self.pod.key, marks);
    }

    /// The API server accepted the write of an assumed object and returned this version: the assumption ends when the
    /// object is seen at or above it.
    pub fn written(&mut self, key: &ObjectKey, version: &str) {
        let by = self.pod.key.clone();
        self.snapshot.apply(Change::AssumedWritten { key: key.clone(), by, version: version.into() });
    }

    /// Sends a call; its reply comes to the plugin's task.
    pub fn call(&mut self, call: ApiCall) -> Ticket {
        let ticket = Ticket(*self.next_ticket);
        *self.next_ticket += 1;
        self.acts.push(Act::Call(ticket, call));
        ticket
    }

    /// Allows a pod that waits at this plugin's Permit.
    pub fn allow(&mut self, pod: PodKey) {
        self.acts.push(Act::Allow(pod, self.plugin));
    }

    /// Refuses a pod that waits at Permit.
    pub fn reject(&mut self, pod: PodKey, why: Status) {
        self.acts.push(Act::Reject(pod, why.by(self.plugin)));
    }

    /// Refuses a pod that waits at Permit because the attempt for another pod failed. Its back-off is not cut short.
    pub fn release(&mut self, pod: PodKey, why: Status) {
        self.acts.push(Act::Release(pod, why.by(self.plugin)));
    }

    /// Records an event.
    pub fn event(&mut self, event: PluginEvent) {
        self.acts.push(Act::Event(self.pod.key.clone(), event));
    }

    /// Counts something for metrics.
    pub fn counted(&mut self, what: Counted) {
        self.acts.push(Act::Counted(what));
    }

    /// Moves an unschedulable pod as an event would that helps it: to the active queue, or to back-off while that runs.
    pub fn wake(&mut self, pod: PodKey) {
        self.acts.push(Act::Wake(pod));
    }

    /// Puts a pending pod into the active queue.
    pub fn activate(&mut self, pod: PodKey) {
        self.acts.push(Act::Activate(pod));
    }
}
