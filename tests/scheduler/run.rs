//! [`Run`]: a scheduler whose calls are all done at once, and its clock.

use crate::support::policies::{NOW, compile};
use bayplan::framework::{Answer, ApiCall, Framework, Instances, Named, Profile};
use bayplan::lang::policy_set::PolicySet;
use bayplan::model::{Duration, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{NodeMaker, PodMaker, node, pod};
use std::sync::Arc;

/// A scheduler that leads, with one node.
pub(super) struct Run {
    pub(super) scheduler: Scheduler,
    pub(super) now: Time,
    /// The pods of the attempts.
    pub(super) attempts: Vec<String>,
    /// The pods that were bound.
    pub(super) bound: Vec<String>,
    /// The reasons and notes of all events.
    pub(super) notes: Vec<String>,
    /// What rules that do not decide would have done: `POD POLICY/RULE EFFECT`.
    pub(super) would: Vec<String>,
    /// The pods that were evicted.
    pub(super) deleted: Vec<String>,
}

impl Run {
    /// With one policy, and a node of two CPUs.
    pub(super) fn of(policy: &str) -> Self {
        Self::on(node("n").cpu("2").pods(9_999), framework_of(policy))
    }

    pub(super) fn on(node: NodeMaker, framework: Arc<Framework>) -> Self {
        let options = Options { longest_wait: None, window: usize::MAX, ..Options::default() };
        let scheduler = Scheduler::new(options);
        let mut run = Self {
            scheduler,
            now: NOW,
            attempts: Vec::new(),
            bound: Vec::new(),
            notes: Vec::new(),
            would: Vec::new(),
            deleted: Vec::new(),
        };
        run.load(framework, 1);
        run.step(Input::Lead(true));
        run.step(Input::Upserted(node.object()));
        run.step(Input::Synced);
        run
    }

    /// Loads a new revision of the policy.
    pub(super) fn reload(&mut self, policy: &str, revision: u64) {
        self.load(framework_of(policy), revision);
    }

    pub(super) fn load(&mut self, framework: Arc<Framework>, revision: u64) {
        self.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![framework], revision })));
    }

    pub(super) fn step(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            self.scheduler.step(input, self.now, &mut out);
            for effect in out {
                match effect {
                    Effect::Call(ticket, call) => {
                        if let ApiCall::Delete { of } = &call {
                            self.deleted.push(of.name.to_string());
                        }
                        inputs.push(Input::Reply(ticket, Ok(Answer::Done)));
                    }
                    Effect::Decided(record) => {
                        self.attempts.push(record.pod.name.to_string());
                        self.would.extend(record.would.iter().map(|would| {
                            let word = would.effect.word();
                            format!("{} {}/{} {word}", record.pod.name, would.policy, would.rule)
                        }));
                    }
                    Effect::Event(event) => {
                        if event.reason == "Scheduled" {
                            self.bound.push(event.pod.name.to_string());
                        }
                        self.notes.push(format!("{}: {}", event.reason, event.note));
                    }
                }
            }
        }
    }

    /// Creates a pod, and tries all pods that may be tried.
    pub(super) fn add(&mut self, pod: PodMaker) {
        self.step(Input::Upserted(pod.object()));
        self.settle();
    }

    /// Tries all pods that may be tried.
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

/// The plugins of all policies of a text, and those without which no pod is bound.
pub(super) fn framework_of(policy: &str) -> Arc<Framework> {
    framework_with(policy, &[])
}

/// The same with other plugins.
pub(super) fn framework_with(policy: &str, others: &[&str]) -> Arc<Framework> {
    let sort = if policy.contains("queue by") { &[][..] } else { &["PrioritySort"] };
    framework_of_set(&compile(policy), &[others, sort].concat())
}

/// The same of a compiled policy; one without `queue by` needs another plugin that orders the queue.
pub(super) fn framework_of_set(set: &PolicySet, others: &[&str]) -> Arc<Framework> {
    let mut registry = bayplan::plugins::registry();
    for plugin in plugins(set, &ExemptPods::default()) {
        registry.add_plugin(plugin).unwrap();
    }
    let mut profile = Profile::new("default-scheduler");
    let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
    profile.multi_point.disabled.push(named("*"));
    profile.multi_point.enabled.extend(["NodeResourcesFit", "DefaultBinder"].map(named));
    profile.multi_point.enabled.extend(set.iter().map(|policy| named(policy.name())));
    profile.multi_point.enabled.extend(others.iter().copied().map(named));
    Arc::new(profile.build(&registry, &mut Instances::default()).unwrap())
}
