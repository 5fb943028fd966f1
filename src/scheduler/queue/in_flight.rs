//! Pods in flight, and the events since they were popped. When a pod comes back refused, the queue replays these
//! events for it, so that no event that could help is missed. At most [`IN_FLIGHT_EVENTS`] are kept; beyond that, the
//! pod that is in flight longest is marked and retried once more than needed.

use super::Scope;
use bayplan_framework::ClusterEvent;
use bayplan_model::PodKey;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of events kept for pods in flight.
pub(crate) const IN_FLIGHT_EVENTS: usize = 10_000;

/// The events since a pod was popped.
pub(super) enum Since<'a> {
    /// These events, oldest first.
    Events(Box<dyn Iterator<Item = &'a (ClusterEvent, Scope)> + 'a>),
    /// Some of the events were dropped.
    TooMuch,
    /// The pod is not in flight.
    Unknown,
}

#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    /// The number of the first event for each pod; `None`: events were dropped.
    pods: FxHashMap<PodKey, Option<u64>>,
    /// The pods in the order of their first events.
    begins: BTreeMap<(u64, PodKey), ()>,
    events: VecDeque<(ClusterEvent, Scope)>,
    /// The number of the oldest event that is kept.
    oldest: u64,
}

impl InFlight {
    pub(super) fn begin(&mut self, pod: PodKey) {
        let at = self.oldest + self.events.len() as u64;
        self.begins.insert((at, pod.clone()), ());
        self.pods.insert(pod, Some(at));
    }

    pub(super) fn contains(&self, pod: &PodKey) -> bool {
        self.pods.contains_key(pod)
    }

    pub(super) fn end(&mut self, pod: &PodKey) {
        if let Some(Some(at)) = self.pods.remove(pod) {
            self.begins.remove(&(at, pod.clone()));
        }
        self.trim();
    }

    pub(super) fn note(&mut self, event: &ClusterEvent, scope: &Scope) {
        if self.begins.is_empty() {
            return;
        }
        self.events.push_back((event.clone(), scope.clone()));
        while self.events.len() > IN_FLIGHT_EVENTS {
            let Some(((_, pod), ())) = self.begins.pop_first() else { break };
            self.pods.insert(pod, None);
            self.trim();
        }
    }

    pub(super) fn since(&self, pod: &PodKey) -> Since<'_> {
        match self.pods.get(pod) {
            None => Since::Unknown,
            Some(None) => Since::TooMuch,
            Some(Some(at)) => {
                let skip = (at - self.oldest) as usize;
                Since::Events(Box::new(self.events.iter().skip(skip)))
            }
        }
    }

    /// The number of events kept.
    pub(super) fn events(&self) -> usize {
        self.events.len()
    }

    /// The number of events kept by label, and that of pods in flight as `PodPopped`.
    pub(super) fn by_label(&self) -> BTreeMap<String, usize> {
        let mut all = BTreeMap::from([("PodPopped".to_owned(), self.begins.len())]);
        for (event, _) in &self.events {
            *all.entry(event.label().into_owned()).or_default() += 1;
        }
        all
    }

    /// Drops events that no pod in flight needs.
    fn trim(&mut self) {
        let needed = self.begins.keys().next().map(|(at, _)| *at);
        while !self.events.is_empty() && needed.is_none_or(|needed| self.oldest < needed) {
            self.events.pop_front();
            self.oldest += 1;
        }
    }
}
