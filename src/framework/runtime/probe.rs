//! Calls of plugins as a probe sees them.

use super::Framework;
use crate::events::{ClusterEvent, QueueingHint};
use crate::plugin_id::PluginId;
use crate::probe::{Counted, Mark, Outcome, Probe, RuleTimes, Tally, TimedPoint};
use crate::status::Status;
use std::sync::Arc;

fn code_of<T: Outcome>(of: &Result<T, Status>) -> &'static str {
    match of {
        Ok(outcome) => outcome.code(),
        Err(status) => status.code.name(),
    }
}

/// The probe of a framework, and the counters it gave out: of each plugin, those of [`TimedPoint::COUNTED`].
pub(super) struct Watch {
    probe: Arc<dyn Probe>,
    evaluations: Vec<[Option<Arc<dyn Tally>>; 4]>,
}

impl Framework {
    /// Lets a probe watch this framework from its first attempt on.
    pub fn observe(&mut self, probe: &Arc<dyn Probe>) {
        let points = self.points();
        let scorers: Vec<PluginId> = points.score.iter().map(|scorer| scorer.plugin).collect();
        let lists = [&points.pre_filter, &points.filter, &points.pre_score, &scorers];
        let mut evaluations: Vec<[Option<Arc<dyn Tally>>; 4]> =
            vec![Default::default(); self.plugins().len()];
        for (at, (point, list)) in TimedPoint::COUNTED.into_iter().zip(lists).enumerate() {
            for id in list {
                let count = probe.evaluations(&self.scheduler_name, self.plugin_name(*id), point);
                if let Some(counters) = evaluations.get_mut(id.index()) {
                    counters[at] = Some(count);
                }
            }
        }
        self.watch = Some(Watch { probe: Arc::clone(probe), evaluations });
    }

    /// Whether to time the plugins of a new attempt one by one.
    #[inline]
    pub fn samples(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.probe.samples())
    }

    /// What times the rules of a new attempt, if its plugins are timed.
    #[inline]
    pub fn rule_times(&self, sampled: bool) -> Option<Arc<dyn RuleTimes>> {
        self.watch.as_ref().filter(|_| sampled).map(|watch| watch.probe.rule_times())
    }

    /// The current instant; `None` without a probe.
    #[inline]
    pub fn mark(&self) -> Option<Mark> {
        self.watch.as_ref().map(|watch| watch.probe.mark())
    }

    /// Reports a point that began at `since` and has ended.
    pub fn point_ended(&self, point: TimedPoint, code: &'static str, since: Option<Mark>) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.point(&self.scheduler_name, point, code, since);
        }
    }

    /// Reports a plugin that began at `since` and has ended.
    pub fn plugin_ended(&self, id: PluginId, point: TimedPoint, code: &'static str, since: Option<Mark>) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.plugin(self.plugin_name(id), point, code, since);
        }
    }

    /// Reports a plugin that could not do its work.
    pub fn plugin_failed(&self, id: PluginId, point: TimedPoint) {
        if let Some(watch) = &self.watch {
            watch.probe.failed(self.plugin_name(id), point);
        }
    }

    /// Reports the end of a wait at Permit that began at `since`.
    pub fn waited(&self, code: &'static str, since: Option<Mark>) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.waited(code, since);
        }
    }

    /// Reports a hint whose evaluation began at `since`.
    pub fn hint_ended(
        &self,
        id: PluginId,
        event: &ClusterEvent,
        hint: Option<QueueingHint>,
        since: Option<Mark>,
    ) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.hint(self.plugin_name(id), event, hint, since);
        }
    }

    /// Reports an event that the queue began to handle at `since`.
    pub fn event_ended(&self, event: &ClusterEvent, since: Option<Mark>) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.event(event, since);
        }
    }

    /// Reports the end of an eviction that began at `since`.
    pub fn eviction_ended(&self, result: &'static str, since: Option<Mark>) {
        if let (Some(watch), Some(since)) = (&self.watch, since) {
            watch.probe.evicted(result, since);
        }
    }

    /// Reports what a plugin counts for metrics of its own.
    pub fn counted(&self, what: &Counted) {
        if let Some(watch) = &self.watch {
            watch.probe.counted(&self.scheduler_name, what);
        }
    }

    /// Counts evaluations of a plugin.
    pub fn evaluated(&self, id: PluginId, point: TimedPoint, times: usize) {
        let Some(counters) = self.watch.as_ref().and_then(|watch| watch.evaluations.get(id.index())) else {
            return;
        };
        let counted = TimedPoint::COUNTED.iter().position(|counted| *counted == point);
        if let Some(Some(counter)) = counted.and_then(|at| counters.get(at)) {
            counter.add(times as u64);
        }
    }

    /// Runs all plugins of a point.
    pub fn timed<T: Outcome>(
        &self,
        point: TimedPoint,
        work: impl FnOnce() -> Result<T, Status>,
    ) -> Result<T, Status> {
        let since = self.mark();
        let done = work();
        self.point_ended(point, code_of(&done), since);
        done
    }

    /// Runs one plugin, timed when the attempt is one of the sample.
    pub fn timed_plugin<T: Outcome>(
        &self,
        sampled: bool,
        id: PluginId,
        point: TimedPoint,
        work: impl FnOnce() -> Result<T, Status>,
    ) -> Result<T, Status> {
        if !sampled {
            return work();
        }
        let since = self.mark();
        let done = work();
        self.plugin_ended(id, point, code_of(&done), since);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Points, PreFilterOutcome};
    use bayplan_model::Symbol;
    use std::sync::mpsc::{Sender, channel};

    struct Notes(Sender<String>);

    impl Probe for Notes {
        fn mark(&self) -> Mark {
            Mark(7)
        }
        fn samples(&self) -> bool {
            true
        }
        fn rule_times(&self) -> Arc<dyn RuleTimes> {
            Arc::new(Nobody)
        }
        fn point(&self, profile: &Symbol, point: TimedPoint, code: &'static str, since: Mark) {
            self.0.send(format!("{profile} {} {code} {}", point.name(), since.0)).unwrap();
        }
        fn plugin(&self, plugin: &str, point: TimedPoint, code: &'static str, _: Mark) {
            self.0.send(format!("[{plugin}] {} {code}", point.name())).unwrap();
        }
        fn failed(&self, plugin: &str, point: TimedPoint) {
            self.0.send(format!("[{plugin}] {} failed", point.name())).unwrap();
        }
        fn waited(&self, code: &'static str, _: Mark) {
            self.0.send(format!("waited {code}")).unwrap();
        }
        fn hint(&self, plugin: &str, event: &ClusterEvent, _: Option<QueueingHint>, _: Mark) {
            self.0.send(format!("[{plugin}] hint {}", event.label())).unwrap();
        }
        fn event(&self, event: &ClusterEvent, _: Mark) {
            self.0.send(format!("event {}", event.label())).unwrap();
        }
        fn evicted(&self, result: &'static str, _: Mark) {
            self.0.send(format!("evicted {result}")).unwrap();
        }
        fn counted(&self, profile: &Symbol, what: &Counted) {
            self.0.send(format!("{profile} {what:?}")).unwrap();
        }
        fn evaluations(&self, _: &Symbol, _: &str, _: TimedPoint) -> Arc<dyn Tally> {
            Arc::new(Nobody)
        }
    }

    struct Nobody;

    impl Tally for Nobody {
        fn add(&self, _: u64) {}
    }

    impl RuleTimes for Nobody {
        fn mark(&self) -> Mark {
            Mark(7)
        }
        fn add(&self, _: &str, _: &Symbol, _: TimedPoint, _: Mark) {}
    }

    #[test]
    fn codes_are_those_of_upstream() {
        let (send, notes) = channel();
        let probe: Arc<dyn Probe> = Arc::new(Notes(send));
        let mut framework = Framework::new(Symbol::new("p"), Vec::new(), Points::default());
        assert!(!framework.samples() && framework.mark().is_none());
        framework.observe(&probe);
        assert!(framework.rule_times(true).is_some() && framework.rule_times(false).is_none());
        let _ = framework.timed(TimedPoint::Filter, || Ok(()));
        let _: Result<(), Status> = framework.timed(TimedPoint::Reserve, || Err(Status::unschedulable("no")));
        let skip = || Ok(PreFilterOutcome::Skip);
        let _ = framework.timed_plugin(true, PluginId::NONE, TimedPoint::PreFilter, skip);
        let _ = framework.timed_plugin(false, PluginId::NONE, TimedPoint::PreFilter, skip);
        framework.plugin_failed(PluginId::NONE, TimedPoint::PreBind);
        assert_eq!(
            notes.try_iter().collect::<Vec<_>>(),
            ["p Filter Success 7", "p Reserve Unschedulable 7", "[] PreFilter Skip", "[] PreBind failed"]
        );
    }
}
