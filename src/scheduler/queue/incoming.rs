//! Counts how often pods entered each queue and why. Drivers export the counts as
//! `scheduler_queue_incoming_pods_total`, and those of entities as `scheduler_queue_incoming_entities_total`; no decision
//! depends on them. Each pod is an entity, as long as groups of pods are not built.
//!
//! Source: `pkg/scheduler/backend/queue/scheduling_queue.go`, `recordIncomingEntitiesMetrics`.

use super::interest::RequeueStrategy;
use std::collections::BTreeMap;

/// The queue of pods that wait for an event, gated ones too.
pub(super) const UNSCHEDULABLE: &str = "unschedulable";

/// Arrivals by queue and label of the event.
#[derive(Clone, Debug, Default)]
struct Arrivals(BTreeMap<&'static str, BTreeMap<Box<str>, u64>>);

/// Arrivals of pods, and of entities.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming {
    pods: Arrivals,
    entities: Arrivals,
}

impl Arrivals {
    fn count(&mut self, queue: &'static str, event: &str) {
        let events = self.0.entry(queue).or_default();
        match events.get_mut(event) {
            Some(count) => *count += 1,
            None => {
                events.insert(event.into(), 1);
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.0
            .iter()
            .flat_map(|(queue, events)| events.iter().map(|(event, count)| (*queue, &**event, *count)))
    }
}

impl Incoming {
    /// Counts a pod that entered a queue.
    pub(super) fn count(&mut self, queue: &'static str, event: &str) {
        self.pods.count(queue, event);
        self.entities.count(queue, event);
    }

    /// Counts a pod that came back to the queue. As upstream, the entity does not count in the queue that it was meant for,
    /// only in another one.
    pub(super) fn requeued(&mut self, queue: &'static str, strategy: RequeueStrategy, event: &str) {
        self.pods.count(queue, event);
        let meant = match strategy {
            RequeueStrategy::Skip => UNSCHEDULABLE,
            RequeueStrategy::AfterBackoff => "backoff",
            RequeueStrategy::Immediately => "active",
        };
        if queue != meant {
            self.entities.count(queue, event);
        }
    }

    /// Counts a waiting pod that was activated, unless its gate sent it back to the same queue.
    pub(super) fn activated(&mut self, queue: &'static str, event: &str) {
        if queue != UNSCHEDULABLE {
            self.count(queue, event);
        }
    }

    /// Counts a waiting pod that was moved, unless its gate sent it back to the same queue.
    pub(super) fn moved(&mut self, queue: &'static str, strategy: RequeueStrategy, event: &str) {
        if queue != UNSCHEDULABLE {
            self.requeued(queue, strategy, event);
        }
    }

    /// All counts of pods: queue, event, count.
    pub(super) fn pods(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.pods.iter()
    }

    /// All counts of entities: queue, event, count.
    pub(super) fn entities(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.entities.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_counts_where_it_was_not_meant_for() {
        let mut incoming = Incoming::default();
        incoming.count("active", "UnscheduledPodAdd");
        // Refused, refused while an event helped, and woken once its back-off is over and before.
        incoming.requeued(UNSCHEDULABLE, RequeueStrategy::Skip, "ScheduleAttemptFailure");
        incoming.requeued("backoff", RequeueStrategy::AfterBackoff, "ScheduleAttemptFailure");
        incoming.moved("active", RequeueStrategy::AfterBackoff, "NodeAdd");
        incoming.moved("backoff", RequeueStrategy::AfterBackoff, "NodeAdd");
        incoming.moved("active", RequeueStrategy::Immediately, "NodeAdd");
        incoming.moved(UNSCHEDULABLE, RequeueStrategy::AfterBackoff, "NodeAdd");
        incoming.activated("active", "ForceActivate");
        assert_eq!(incoming.pods().map(|(.., count)| count).sum::<u64>(), 7);
        let entities: Vec<_> = incoming.entities().collect();
        let expected =
            [("active", "ForceActivate", 1), ("active", "NodeAdd", 1), ("active", "UnscheduledPodAdd", 1)];
        assert_eq!(entities, expected);
    }
}
