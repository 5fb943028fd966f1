//! [`Surroundings`]: what others do to the decisions of this scheduler, counted for metrics and told in events: other
//! schedulers bind pods to nodes that it fills, kubelets refuse pods that it bound, and room that evictions made is taken
//! before the preemptor lands. Nothing here decides.
//!
//! Counted only while this instance leads, so that a sum over replicas counts each once; what happened before is not
//! known.

use super::Scheduler;
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::machine::Deferred;
use super::note::note;
use bayplan_framework::{Answer, ApiCall, CallError, EventRecord, EventType};
use bayplan_model::{Object, PodInfo, PodKey, Symbol, Time, kubelet_refusal};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most names of schedulers that are counted apart. Who creates a pod chooses the name.
const NAMES: usize = 10;
/// The longest name that is counted apart, in bytes: that of an object of the API.
const NAME_LENGTH: usize = 253;
/// The name under which all others are counted.
const OTHER: &str = "other";

/// What others did.
#[derive(Clone, Default, Debug)]
pub(crate) struct Surroundings {
    foreign: BTreeMap<Symbol, u64>,
    refusals: BTreeMap<&'static str, u64>,
    futile: u64,
    /// The pods for which others were evicted and which have no node yet, with the node of the victims.
    evicted_for: BTreeMap<PodKey, Symbol>,
}

impl Surroundings {
    pub(super) fn foreign_bindings(&self) -> impl Iterator<Item = (&Symbol, u64)> {
        self.foreign.iter().map(|(name, count)| (name, *count))
    }

    pub(super) fn kubelet_refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.refusals.iter().map(|(reason, count)| (*reason, *count))
    }

    pub(super) fn futile_preemptions(&self) -> u64 {
        self.futile
    }

    /// A pod was evicted from the node to make room for this one.
    pub(super) fn evicted_for(&mut self, preemptor: &PodKey, node: &Symbol) {
        if self.evicted_for.get(preemptor) != Some(node) {
            self.evicted_for.insert(preemptor.clone(), node.clone());
        }
    }

    /// The pod is gone, or not all of its victims were evicted.
    pub(super) fn preemptor_gone(&mut self, pod: &PodKey) {
        self.evicted_for.remove(pod);
    }

    /// This instance stopped leading: another one decides about the preemptors.
    pub(super) fn forget_preemptors(&mut self) {
        self.evicted_for.clear();
    }

    fn count_foreign(&mut self, scheduler: &Symbol) {
        let is_known = self.foreign.contains_key(scheduler);
        let has_place = self.foreign.len() < NAMES && scheduler.len() <= NAME_LENGTH;
        let name = if is_known || has_place { scheduler.clone() } else { Symbol::new(OTHER) };
        *self.foreign.entry(name).or_default() += 1;
    }
}

impl Scheduler {
    fn counts_others(&self) -> bool {
        self.readiness.leading && self.readiness.synced
    }

    /// A pod without a node that this scheduler knew of was seen on one.
    pub(super) fn binding_seen(&mut self, pod: &PodInfo, node: &Symbol) {
        if self.counts_others() && !self.is_served(pod) && !pod.is_of_its_node() {
            let snapshot = &self.cache.snapshot;
            let row = snapshot.node_by_name(node);
            let fills = row.is_some_and(|row| snapshot.pods_on(row).iter().any(|pod| self.is_served(pod)));
            if fills {
                self.surroundings.count_foreign(&pod.scheduler_name);
            }
        }
    }

    /// The pod, if this scheduler bound it and its kubelet has said nothing of it. When a watch that leaves finished pods
    /// out shows such a pod no more, its kubelet may have refused it. Of a pod that a kubelet took, and of one that was
    /// deleted with its time to end, a watch shows more before.
    pub(super) fn untouched(&self, key: &PodKey) -> Option<Arc<PodInfo>> {
        let is_bound = self.cache.state(key).is_some_and(PodState::is_bound);
        let pod = self.cache.pod(key).filter(|_| is_bound && self.counts_others())?;
        let untouched = pod.phase == "Pending" && pod.started.is_none() && !pod.is_terminating();
        (untouched && self.is_served(pod)).then(|| pod.clone())
    }

    /// Asks how a pod ended.
    pub(super) fn read_end(&mut self, pod: &PodInfo) {
        self.outbox.send(ApiCall::Read(object_key(pod)), Owner::Ended(pod.key.clone()));
    }

    /// The answer to [`Scheduler::read_end`].
    pub(super) fn end_read(&mut self, key: &PodKey, answer: Result<Answer, CallError>, now: Time) {
        if let Ok(Answer::Object(Some(Object::Pod(pod)))) = answer
            && pod.key == *key
            && let Some(node) = &pod.node_name
        {
            self.refusal_seen(&pod, node, now);
        }
    }

    /// A pod that this scheduler knows has failed or succeeded.
    pub(super) fn pod_failed(&mut self, pod: &PodInfo, now: Time) {
        if let Some(node) = self.cache.state(&pod.key).and_then(|state| state.node()).cloned() {
            self.refusal_seen(pod, &node, now);
        }
    }

    /// A pod ended on the node: its kubelet may have refused it.
    fn refusal_seen(&mut self, pod: &PodInfo, node: &Symbol, now: Time) {
        let Some((reason, written)) = pod.failure.as_ref().and_then(|why| Some((kubelet_refusal(why)?, why)))
        else {
            return;
        };
        if self.counts_others() && self.is_served(pod) {
            *self.surroundings.refusals.entry(reason).or_default() += 1;
            let others = self.others_on(node);
            let text = format!("node {node} refused the pod after it was bound: {written}{others}");
            self.tell(pod, "NodeRefused", &text, now);
        }
    }

    /// The pods on a node that this scheduler did not place, as the end of a sentence. It names none of them: who may read
    /// the event may not know their namespaces.
    fn others_on(&self, node: &Symbol) -> String {
        let snapshot = &self.cache.snapshot;
        let pods = snapshot.node_by_name(node).map_or(&[][..], |row| snapshot.pods_on(row));
        let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| !self.is_served(pod) || pod.is_of_its_node()) {
            let of = if pod.is_of_its_node() { "without a scheduler" } else { pod.scheduler_name.as_str() };
            *by_name.entry(of).or_default() += 1;
        }
        let mut counted: Vec<(&str, usize)> = by_name.into_iter().collect();
        counted.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let several = counted.iter().take(3).map(|(name, count)| format!("{count} ({name})"));
        let several = several.collect::<Vec<String>>().join(", ");
        if several.is_empty() { several } else { format!("; pods there that others placed: {several}") }
    }

    /// The pod was seen on its node.
    pub(super) fn preemptor_landed(&mut self, pod: &Arc<PodInfo>, node: &Symbol, now: Time) {
        if self.surroundings.evicted_for.get(&pod.key) == Some(node) {
            self.surroundings.preemptor_gone(&pod.key);
        }
        self.preemption_was_futile(pod, &format!("it was bound to node {node}"), now);
    }

    /// The pod does not take the room that evictions made for it, if there were any.
    pub(super) fn preemption_was_futile(&mut self, pod: &Arc<PodInfo>, instead: &str, now: Time) {
        let Some(node) = self.surroundings.evicted_for.remove(&pod.key) else { return };
        self.surroundings.futile += 1;
        let text = format!("pods were evicted from node {node} for the pod, and then {instead}");
        self.tell(pod, "PreemptionFutile", &text, now);
    }

    fn tell(&mut self, pod: &PodInfo, reason: &'static str, text: &str, now: Time) {
        let event = EventRecord {
            pod: object_key(pod),
            related: None,
            key: pod.key.clone(),
            scheduler: pod.scheduler_name.clone(),
            kind: EventType::Warning,
            reason: reason.into(),
            action: "Scheduling",
            note: note(text),
            result: None,
            at: now,
        };
        self.deferred.push_back(Deferred::Event(Box::new(event)));
    }

    fn is_served(&self, pod: &PodInfo) -> bool {
        self.profiles.get(&pod.scheduler_name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_schedulers_are_bounded() {
        let mut surroundings = Surroundings::default();
        for at in 0..30 {
            surroundings.count_foreign(&Symbol::from(format!("scheduler-{at:02}")));
        }
        surroundings.count_foreign(&Symbol::new("scheduler-03"));
        surroundings.count_foreign(&Symbol::from("x".repeat(NAME_LENGTH + 1)));
        let counts: Vec<(String, u64)> =
            surroundings.foreign_bindings().map(|(name, count)| (name.to_string(), count)).collect();
        assert_eq!(counts.len(), NAMES + 1);
        assert!(counts.contains(&("scheduler-03".into(), 2)) && counts.contains(&("other".into(), 21)));
    }
}
