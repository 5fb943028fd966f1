//! [`Run`]: a scheduler with one policy and one node of two CPUs, whose calls are all done at once.

use crate::support::policies::{NOW, compile};
use bayplan::framework::{Answer, Instances, Named, Profile};
use bayplan::model::{Duration, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{PodMaker, node, pod};
use std::sync::Arc;

/// A scheduler whose calls are all done at once, and its clock.
pub(super) struct Run {
    pub(super) scheduler: Scheduler,
    pub(super) now: Time,
    /// The pods of the attempts.
    pub(super) attempts: Vec<String>,
    /// The pods that were bound.
    pub(super) bound: Vec<String>,
}

impl Run {
    pub(super) fn of(policy: &str) -> Self {
        let options = Options { longest_wait: None, window: usize::MAX, ..Options::default() };
        let mut run =
            Self { scheduler: Scheduler::new(options), now: NOW, attempts: Vec::new(), bound: Vec::new() };
        run.reload(policy, 1);
        run.step(Input::Lead(true));
        run.step(Input::Upserted(node("n").cpu("2").pods(9_999).object()));
        run.step(Input::Synced);
        run
    }

    pub(super) fn reload(&mut self, policy: &str, revision: u64) {
        let set = compile(policy);
        let name = set.iter().next().map(|policy| policy.name().to_owned()).unwrap();
        let name = name.as_str();
        let mut registry = bayplan::plugins::registry();
        for plugin in plugins(&set, &ExemptPods::default()) {
            registry.add_plugin(plugin).unwrap();
        }
        let mut profile = Profile::new("default-scheduler");
        let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
        profile.multi_point.disabled.push(named("*"));
        profile.multi_point.enabled.extend(["NodeResourcesFit", "DefaultBinder", name].map(named));
        if !policy.contains("queue by") {
            profile.multi_point.enabled.push(named("PrioritySort"));
        }
        let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
        let profiles = Profiles { frameworks: vec![framework], revision };
        self.step(Input::Profiles(Arc::new(profiles)));
    }

    pub(super) fn step(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            self.scheduler.step(input, self.now, &mut out);
            for effect in out {
                match effect {
                    Effect::Call(ticket, _) => inputs.push(Input::Reply(ticket, Ok(Answer::Done))),
                    Effect::Decided(record) => self.attempts.push(record.pod.name.to_string()),
                    Effect::Event(event) if event.reason == "Scheduled" => {
                        self.bound.push(event.pod.name.to_string());
                    }
                    Effect::Event(_) => {}
                }
            }
        }
    }

    pub(super) fn add(&mut self, pod: PodMaker) {
        self.step(Input::Upserted(pod.object()));
        self.settle();
    }

    pub(super) fn settle(&mut self) {
        let before = self.attempts.len();
        while self.scheduler.wants_cycle() {
            assert!(self.attempts.len() < before + 1_000, "it never ends: {:?}", self.attempts.last());
            self.step(Input::Cycle);
        }
    }

    /// Lets that many seconds pass.
    pub(super) fn pass(&mut self, seconds: i64) {
        let end = self.now + Duration::from_seconds(seconds);
        self.settle();
        while let Some(next) = self.scheduler.next_wakeup().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.step(Input::Tick);
            self.settle();
        }
        self.now = end;
    }

    pub(super) fn place(&self, name: &str) -> Option<QueuePlace> {
        self.scheduler.queue_place(&pod(name).build().key)
    }
}
