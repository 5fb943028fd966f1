//! Memos in the scheduler itself: what is remembered, when it ends, and which pods are tried again because of it.

use crate::support::policies::{NOW, compile};
use bayplan::framework::{Answer, Instances, Named, Profile};
use bayplan::lang::eval::memos::MemoIndex;
use bayplan::lang::types::value::Value;
use bayplan::model::{Duration, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{PodMaker, node, pod};
use std::sync::Arc;

/// A scheduler whose calls are all done at once, and its clock.
struct Run {
    scheduler: Scheduler,
    now: Time,
    attempts: Vec<String>,
    bound: Vec<String>,
}

impl Run {
    fn of(policy: &str) -> Self {
        let options = Options { longest_wait: None, window: usize::MAX, ..Options::default() };
        let mut run =
            Self { scheduler: Scheduler::new(options), now: NOW, attempts: Vec::new(), bound: Vec::new() };
        run.reload(policy, 1);
        run.step(Input::Lead(true));
        run.step(Input::Upserted(node("n").cpu("2").pods(9_999).object()));
        run.step(Input::Synced);
        run
    }

    fn reload(&mut self, policy: &str, revision: u64) {
        let mut registry = bayplan::plugins::registry();
        for plugin in plugins(&compile(policy), &ExemptPods::default()) {
            registry.add_plugin(plugin).unwrap();
        }
        let mut profile = Profile::new("default-scheduler");
        let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
        profile.multi_point.disabled.push(named("*"));
        profile.multi_point.enabled.extend(["NodeResourcesFit", "DefaultBinder", "rest"].map(named));
        if !policy.contains("queue by") {
            profile.multi_point.enabled.push(named("PrioritySort"));
        }
        let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
        let profiles = Profiles { frameworks: vec![framework], revision };
        self.step(Input::Profiles(Arc::new(profiles)));
    }

    fn step(&mut self, input: Input) {
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

    fn add(&mut self, pod: PodMaker) {
        self.step(Input::Upserted(pod.object()));
        self.settle();
    }

    fn settle(&mut self) {
        let before = self.attempts.len();
        while self.scheduler.wants_cycle() {
            assert!(self.attempts.len() < before + 1_000, "it never ends: {:?}", self.attempts.last());
            self.step(Input::Cycle);
        }
    }

    /// Lets that many seconds pass.
    fn pass(&mut self, seconds: i64) {
        let end = self.now + Duration::from_seconds(seconds);
        self.settle();
        while let Some(next) = self.scheduler.next_wakeup().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.step(Input::Tick);
            self.settle();
        }
        self.now = end;
    }

    fn place(&self, name: &str) -> Option<QueuePlace> {
        self.scheduler.queue_place(&pod(name).build().key)
    }

    fn remembered(&self) -> Vec<Value<'static>> {
        let snapshot = self.scheduler.snapshot();
        let indexes = snapshot.index_keys().filter_map(|key| snapshot.index::<MemoIndex>(key));
        indexes
            .flat_map(|index| index.iter().map(|(_, value, _)| value.clone()).collect::<Vec<_>>())
            .collect()
    }
}

fn of_job(name: &str, job: &str, cpu: &str) -> PodMaker {
    pod(name).label("job", job).cpu(cpu)
}

const REST: &str = r#"
    policy rest {
      applies when has(pod.labels["job"])
      memo resting: bool by [pod.namespace, pod.labels["job"] ?? ""] ttl 30s
      prefilter { reject "the job rests" when resting ?? false }
      after failure { remember resting = true when !(resting ?? false) }
    }"#;

#[test]
fn a_pod_refused_because_of_a_memo_is_tried_again_when_it_ends_and_no_other_pod() {
    let mut run = Run::of(REST);
    run.add(of_job("large", "a", "9"));
    assert_eq!(run.remembered(), [Value::Bool(true)]);
    run.add(of_job("small", "a", "1"));
    assert_eq!(run.place("small"), Some(QueuePlace::Unschedulable), "its job rests");
    run.add(of_job("other", "b", "1"));
    assert_eq!(run.bound, ["other"], "another job does not rest");
    run.pass(29);
    assert_eq!(run.attempts, ["large", "small", "other"], "nothing wakes a pod before the end");
    run.pass(2);
    assert_eq!(run.bound, ["other", "small"], "{:?}", run.attempts);
    assert!(run.remembered().is_empty());
    let large = run.attempts.iter().filter(|name| *name == "large").count();
    assert_eq!(large, 1, "a pod that the memo did not refuse is not tried again");
}

#[test]
fn a_pod_refused_because_of_a_memo_is_tried_again_when_another_pod_changes_it() {
    let mut run = Run::of(
        r#"
        policy rest {
          applies when has(pod.labels["job"])
          memo failed: string by pod.labels["job"] ?? "" ttl 1h
          prefilter { reject "it waits for a failure" when pod.labels["waits"] == "yes" && !has(failed) }
          after failure {
            remember failed = pod.name when pod.labels["waits"] != "yes"
            remember failed = none when pod.labels["forgets"] == "yes"
          }
        }"#,
    );
    run.add(of_job("first", "a", "1").label("waits", "yes"));
    run.add(of_job("second", "b", "1").label("waits", "yes"));
    assert!(run.bound.is_empty());
    run.add(of_job("large", "a", "9"));
    run.pass(20);
    assert_eq!(run.bound, ["first"], "the memo of its job was set; the other pod waits on");
    // A later statement of the block wins, and an absent value forgets.
    run.add(of_job("forgets", "b", "9").label("forgets", "yes"));
    assert_eq!(run.remembered(), [Value::text("large")]);
    assert_eq!(run.attempts.iter().filter(|name| *name == "second").count(), 1);
}

#[test]
fn a_gate_and_the_order_of_the_queue_follow_memos() {
    let mut run = Run::of(
        r#"
        policy rest {
          applies when has(pod.labels["job"])
          memo resting: bool by pod.labels["job"] ?? "" ttl 30s
          memo failures: int by pod.labels["job"] ?? "" ttl 1h
          gate "the job rests" when resting ?? false
          queue by failures ?? 0
          after failure {
            remember resting = true
            remember failures = (failures ?? 0) + 1
          }
        }"#,
    );
    run.add(of_job("large", "a", "9"));
    run.add(of_job("held", "a", "1"));
    assert_eq!(run.place("held"), Some(QueuePlace::Gated));
    run.pass(31);
    assert_eq!(run.bound, ["held"]);
    // Both come at once: the job that failed is tried later.
    run.step(Input::Upserted(of_job("a-failed", "a", "100m").object()));
    run.step(Input::Upserted(of_job("b-new", "b", "100m").object()));
    run.settle();
    assert_eq!(run.bound, ["held", "b-new", "a-failed"]);
}

#[test]
fn a_pod_that_waits_at_permit_goes_on_when_a_memo_says_so() {
    let mut run = Run::of(
        r#"
        policy rest {
          applies when has(pod.labels["job"])
          memo gone: bool by pod.labels["job"] ?? "" ttl 30s
          permit { wait 5min until gone ?? false else "no pod of the job failed" }
          after failure { remember gone = true }
        }"#,
    );
    run.add(of_job("waits", "a", "1"));
    run.add(of_job("other", "b", "1"));
    assert!(run.bound.is_empty());
    run.add(of_job("large", "a", "9"));
    assert_eq!(run.bound, ["waits"]);
}

#[test]
fn a_reload_keeps_what_a_policy_remembers_unless_its_memo_means_something_else() {
    let mut run = Run::of(REST);
    run.add(of_job("large", "a", "9"));
    run.reload(&REST.replace("the job rests", "the job has a rest").replace("ttl 30s", "ttl 1h"), 2);
    assert_eq!(run.remembered(), [Value::Bool(true)]);
    run.add(of_job("small", "a", "1"));
    assert_eq!(run.place("small"), Some(QueuePlace::Unschedulable));
    // The value ends when it was to end as it was written.
    run.pass(31);
    assert_eq!(run.bound, ["small"]);
    run.add(of_job("larger", "c", "9"));
    run.reload(&REST.replace(r#"[pod.namespace, pod.labels["job"] ?? ""]"#, r#"pod.labels["job"] ?? """#), 3);
    assert!(run.remembered().is_empty());
}

#[test]
fn a_memo_of_no_time_keeps_nothing_and_a_step_of_the_wall_clock_ends_nothing() {
    let mut run = Run::of(&REST.replace("ttl 30s", "ttl 0s"));
    run.add(of_job("large", "a", "9"));
    assert!(run.remembered().is_empty());
    run.add(of_job("small", "a", "1"));
    assert_eq!(run.bound, ["small"]);
    let mut run = Run::of(REST);
    run.add(of_job("large", "a", "9"));
    run.step(Input::WallClock(Duration::from_seconds(86_400)));
    assert_eq!(run.remembered(), [Value::Bool(true)]);
    run.add(of_job("small", "a", "1"));
    assert_eq!(run.place("small"), Some(QueuePlace::Unschedulable));
    run.step(Input::WallClock(Duration::from_seconds(-86_400)));
    run.pass(31);
    assert_eq!(run.bound, ["small"]);
    assert_eq!(run.scheduler.snapshot().next_end(), None);
}
