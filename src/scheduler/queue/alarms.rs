//! [`Alarms`]: the instants at which time alone may help unschedulable pods. Computing one may evaluate conditions for
//! many nodes and pods, so the work of a second is bounded: what is left over is computed in the next second, and counts
//! from the instant at which it was requested, so that no instant is lost. A pod without an alarm is tried a minute later
//! meanwhile.

use super::interest::CLOCK_EVERY;
use super::queued::Queued;
use bayplan_model::{Duration, PodKey, Snapshot, Time};
use std::collections::BTreeMap;

/// How often the work is counted from 0.
const PERIOD: Duration = Duration::from_seconds(1);

/// Parts of conditions that are evaluated in a period: a few hundredths of its time.
const WORK: u64 = 500_000;

/// The alarms of unschedulable pods, by number of arrival.
#[derive(Clone, Debug)]
pub(super) struct Alarms {
    due: BTreeMap<(Time, u64), PodKey>,
    of: BTreeMap<u64, Time>,
    /// Pods whose alarm is still to be computed: the first instant after the one that is given.
    postponed: BTreeMap<u64, (PodKey, Time)>,
    /// When the period under way began, and what was evaluated in it.
    period: Time,
    spent: u64,
}

impl Default for Alarms {
    fn default() -> Self {
        let (due, of, postponed) = Default::default();
        Self { due, of, postponed, period: Time(i64::MIN), spent: 0 }
    }
}

impl Alarms {
    /// Whether work may be done now.
    fn may_work(&mut self, now: Time) -> bool {
        if self.period.0.saturating_add(PERIOD.0) <= now.0 {
            self.period = now;
            self.spent = 0;
        }
        self.spent < WORK
    }

    /// Sets the alarm of a pod to the first instant after `since` at which time may help it; later, if too much was
    /// computed lately.
    pub(super) fn compute(&mut self, queued: &Queued, since: Time, snapshot: &Snapshot, now: Time) {
        let known = self.postponed.remove(&queued.number).map(|(_, since)| since);
        let since = known.map_or(since, |known| known.min(since));
        if self.may_work(now) {
            let next = queued.hints.next_change(&queued.info, snapshot, since, &mut self.spent);
            self.set(queued.number, &queued.info.pod.key, next);
        } else {
            if self.of(queued.number).is_none() {
                self.set(queued.number, &queued.info.pod.key, Some(now + CLOCK_EVERY));
            }
            self.postponed.insert(queued.number, (queued.info.pod.key.clone(), since));
        }
    }

    /// A pod whose alarm is still to be computed, and from when on, if there is work to spare.
    pub(super) fn next_postponed(&mut self, now: Time) -> Option<(PodKey, Time)> {
        let first = self.postponed.values().next()?.clone();
        self.may_work(now).then_some(first)
    }

    /// Sets the alarm of a pod; `None`: never.
    pub(super) fn set(&mut self, number: u64, pod: &PodKey, at: Option<Time>) {
        if let Some(before) = self.of.remove(&number) {
            self.due.remove(&(before, number));
        }
        if let Some(at) = at {
            self.of.insert(number, at);
            self.due.insert((at, number), pod.clone());
        }
    }

    /// Forgets a pod.
    pub(super) fn remove(&mut self, number: u64) {
        self.postponed.remove(&number);
        if let Some(at) = self.of.remove(&number) {
            self.due.remove(&(at, number));
        }
    }

    /// The alarm of a pod.
    pub(super) fn of(&self, number: u64) -> Option<Time> {
        self.of.get(&number).copied()
    }

    /// A pod that the passed time may help.
    pub(super) fn first_due(&self, now: Time) -> Option<&PodKey> {
        self.due.first_key_value().filter(|((at, _), _)| *at <= now).map(|(_, pod)| pod)
    }

    /// When an alarm is due or can be computed.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        let due = self.due.keys().next().map(|(at, _)| *at);
        let computes = (!self.postponed.is_empty()).then(|| Time(self.period.0.saturating_add(PERIOD.0)));
        [due, computes].into_iter().flatten().min()
    }
}
