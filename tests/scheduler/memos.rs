//! Memos in the scheduler itself: what is remembered, when it ends, and which pods are tried again because of it.

use super::run::Run;
use bayplan::lang::eval::memos::MemoIndex;
use bayplan::lang::types::value::Value;
use bayplan::model::Duration;
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{PodMaker, pod};

impl Run {
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

/// Two pods of a team count their failures in one memo that both read: each failure may help both.
#[test]
fn pods_that_remember_at_each_failure_what_they_read_are_tried_after_their_back_off() {
    let mut run = Run::of(
        r#"
        policy patient {
          applies when has(pod.labels["job"])
          memo tries: int by pod.labels["job"] ?? "" ttl 1h
          filter wanted { require (tries ?? 0) >= 7 || node.name == "none" else "not yet" }
          after failure { remember tries = (tries ?? 0) + 1 }
        }"#,
    );
    run.add(of_job("first", "a", "1"));
    run.add(of_job("second", "a", "1"));
    assert_eq!(run.attempts, ["first", "second"], "no pod is tried again at once, though none else is there");
    // Back-offs of 1, 2, 4 and 8 seconds.
    for (seconds, attempts) in [(2, 4), (3, 6), (5, 8)] {
        run.pass(seconds);
        assert_eq!(run.attempts.len(), attempts, "{:?}", run.attempts);
    }
    assert_eq!(run.bound, ["second"], "the seventh failure is the first pod's");
    run.pass(9);
    assert_eq!((run.bound.len(), run.attempts.len()), (2, 9), "{:?}", run.attempts);
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
