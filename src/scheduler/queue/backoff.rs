//! The back-off queue: pods wait 1, 2, 4, 8, 10, 10, … seconds after their last failure. When the active queue is
//! empty, refused pods are popped from here; pods that failed with an error are not, nor are those whose attempt other
//! pods of their group ended.
//!
//! Source: `pkg/scheduler/backend/queue/backoff_queue.go` with `SchedulerPopFromBackoffQ`.

use super::active::Rank;
use bayplan_framework::QueuedPodInfo;
use bayplan_model::{Duration, PodKey, Time};
use std::collections::BTreeMap;

const SECOND: i64 = 1_000_000;

/// The whole second that an instant is in.
fn window(at: Time) -> Time {
    Time(at.0.div_euclid(SECOND) * SECOND)
}

/// Pods in back-off, ordered by the end of the penalty and then by rank.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    initial: Duration,
    max: Duration,
    refused: BTreeMap<(Time, Rank), PodKey>,
    failed: BTreeMap<(Time, Rank), PodKey>,
}

impl Backoff {
    pub(super) fn new(initial: Duration, max: Duration) -> Self {
        Self { initial, max, refused: BTreeMap::new(), failed: BTreeMap::new() }
    }

    /// The second in which the penalty of a pod ends; `None` for a pod that never failed.
    pub(super) fn expiry(&self, info: &QueuedPodInfo) -> Option<Time> {
        let errors = info.consecutive_errors;
        let count = if errors > 0 { errors } else { info.unschedulable_count };
        let doublings = count.checked_sub(1)?;
        let longer = if doublings >= 62 { i64::MAX } else { self.initial.0.saturating_mul(1 << doublings) };
        Some(window(info.timestamp + Duration(longer.min(self.max.0))))
    }

    /// Whether the pod is still in back-off. The second in which the penalty ends belongs to it.
    pub(super) fn is_waiting(&self, info: &QueuedPodInfo, now: Time) -> bool {
        self.expiry(info).is_some_and(|expiry| expiry >= window(now))
    }

    fn part(&mut self, failed: bool) -> &mut BTreeMap<(Time, Rank), PodKey> {
        if failed { &mut self.failed } else { &mut self.refused }
    }

    pub(super) fn insert(&mut self, failed: bool, expiry: Time, rank: Rank, pod: PodKey) {
        self.part(failed).insert((expiry, rank), pod);
    }

    pub(super) fn remove(&mut self, failed: bool, expiry: Time, rank: &Rank) {
        self.part(failed).remove(&(expiry, rank.clone()));
    }

    /// The refused pod with the earliest end of back-off.
    pub(super) fn first_refused(&self) -> Option<&PodKey> {
        self.refused.values().next()
    }

    /// Removes a pod that has completed its back-off.
    pub(super) fn first_over(&self, now: Time) -> Option<&PodKey> {
        let over = |part: &BTreeMap<(Time, Rank), PodKey>| {
            let ((expiry, rank), _) = part.first_key_value()?;
            (*expiry < window(now)).then(|| (*expiry, rank.clone()))
        };
        match (over(&self.refused), over(&self.failed)) {
            (Some(a), Some(b)) if b < a => self.failed.values().next(),
            (Some(_), _) => self.refused.values().next(),
            (None, Some(_)) => self.failed.values().next(),
            (None, None) => None,
        }
    }

    /// The next instant at which a pod completes its back-off.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        let first = |part: &BTreeMap<(Time, Rank), PodKey>| part.keys().next().map(|(expiry, _)| *expiry);
        let next = [first(&self.refused), first(&self.failed)].into_iter().flatten().min()?;
        Some(next + Duration(SECOND))
    }

    pub(super) fn len(&self) -> usize {
        self.refused.len() + self.failed.len()
    }
}
