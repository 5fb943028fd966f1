//! Counts how often pods entered each queue and why. Drivers export the counts as
//! `scheduler_queue_incoming_pods_total`; no decision depends on them.
//!
//! Source: `pkg/scheduler/backend/queue/scheduling_queue.go`, `SchedulerQueueIncomingPods`.

use std::collections::BTreeMap;

/// The queue of pods that wait for an event, gated ones too.
pub(super) const UNSCHEDULABLE: &str = "unschedulable";

/// Arrivals by queue and label of the event.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming(BTreeMap<&'static str, BTreeMap<Box<str>, u64>>);

impl Incoming {
    /// Counts a pod that entered a queue.
    pub(super) fn count(&mut self, queue: &'static str, event: &str) {
        let events = self.0.entry(queue).or_default();
        match events.get_mut(event) {
            Some(count) => *count += 1,
            None => {
                events.insert(event.into(), 1);
            }
        }
    }

    /// Counts a waiting pod that was moved, unless its gate sent it back to the same queue.
    pub(super) fn moved(&mut self, queue: &'static str, event: &str) {
        if queue != UNSCHEDULABLE {
            self.count(queue, event);
        }
    }

    /// All counts: queue, event, count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.0
            .iter()
            .flat_map(|(queue, events)| events.iter().map(|(event, count)| (*queue, &**event, *count)))
    }
}
