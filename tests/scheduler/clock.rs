//! Time in the scheduler: policies and events follow steps of the wall clock, timers do not. While the
//! watches are too old, no attempt begins.

use crate::support::policies::{NOW, compile};
use bayplan::framework::{Instances, Named, Profile};
use bayplan::model::{Duration, PodKey, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, QueuePlace, Scheduler};
use bayplan::testing::{node, pod};
use std::sync::Arc;

const HOUR: Duration = Duration::from_seconds(3_600);

/// A scheduler with one policy and one node, and its clock.
struct Run {
    scheduler: Scheduler,
    now: Time,
}

impl Run {
    fn new(policy: &str) -> Self {
        let mut registry = bayplan::plugins::registry();
        let mut enabled = vec!["PrioritySort", "NodeResourcesFit", "DefaultBinder"];
        for plugin in plugins(&compile(policy), &ExemptPods::default()) {
            registry.add_plugin(plugin).unwrap();
            enabled.push("clocked");
        }
        let mut profile = Profile::new("default-scheduler");
        let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: Default::default() };
        profile.multi_point.disabled.push(named("*"));
        profile.multi_point.enabled.extend(enabled.into_iter().map(named));
        let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
        let options = Options { longest_wait: None, ..Options::default() };
        let mut run = Self { scheduler: Scheduler::new(options), now: NOW };
        let profiles = Profiles { frameworks: vec![framework], revision: 1 };
        run.step(Input::Profiles(Arc::new(profiles)));
        run.step(Input::Lead(true));
        run.step(Input::Upserted(node("a").cpu("4").object()));
        run.step(Input::Synced);
        run
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.scheduler.step(input, self.now, &mut out);
        out
    }

    fn place(&self, pod: &str) -> Option<QueuePlace> {
        self.scheduler.queue_place(&PodKey(pod.into()))
    }
}

fn after(by: Duration) -> String {
    jiff::Timestamp::from_microsecond((NOW + by).0).unwrap().to_string()
}

#[test]
fn a_gate_that_reads_the_clock_opens_when_the_wall_clock_is_stepped() {
    let opens = after(HOUR);
    let mut run = Run::new(&format!(
        "policy clocked {{ applies to all pods gate \"later\" when now() < timestamp(\"{opens}\") }}"
    ));
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").object()));
    assert_eq!(run.place("p"), Some(QueuePlace::Gated));
    // The pod's condition shows the gate after two seconds.
    run.now = NOW + Duration::from_seconds(2);
    run.step(Input::Tick);
    let alarm = run.scheduler.next_wakeup().unwrap();
    assert_eq!(alarm, NOW + HOUR, "the gate opens at that time");
    // Half an hour forward: the alarm comes half an hour earlier.
    run.step(Input::WallClock(Duration::from_seconds(1_800)));
    assert_eq!(run.place("p"), Some(QueuePlace::Gated));
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + Duration::from_seconds(1_800)));
    // Back again, and then past the instant.
    run.step(Input::WallClock(Duration::ZERO));
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + HOUR));
    run.step(Input::WallClock(HOUR));
    assert!(run.scheduler.wants_cycle(), "the gate is open: {:?}", run.place("p"));
}

#[test]
fn a_gate_opens_when_the_holiday_is_over_and_a_window_begins() {
    // It is a Monday at noon.
    let mut run = Run::new(
        r#"policy clocked {
          param holidays: list<string> = ["2026-01-05", "2026-01-06"]
          applies to all pods
          gate "closed" when !within(now(), "Mon-Fri 08:00-18:00", "Europe/Berlin", holidays)
        }"#,
    );
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").object()));
    assert_eq!(run.place("p"), Some(QueuePlace::Gated));
    run.now = NOW + Duration::from_seconds(2);
    run.step(Input::Tick);
    // Wednesday at 8 in Berlin.
    let opens = NOW + Duration::from_seconds((19 + 24) * 3_600);
    assert_eq!(run.scheduler.next_wakeup(), Some(opens));
    run.now = opens;
    run.step(Input::Tick);
    assert!(run.scheduler.wants_cycle(), "the gate is open: {:?}", run.place("p"));
}

#[test]
fn a_pod_that_time_alone_would_never_help_is_tried_again_when_the_wall_clock_is_stepped_back() {
    let closes = after(Duration::from_seconds(-60));
    let mut run = Run::new(&format!(
        "policy clocked {{ applies to all pods filter f {{ reject \"too late\" when now() >= timestamp(\"{closes}\") }} }}"
    ));
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").object()));
    run.step(Input::Cycle);
    assert_eq!(run.place("p"), Some(QueuePlace::Unschedulable));
    assert_eq!(run.scheduler.next_wakeup(), None, "time does not help it");
    run.now = run.now + Duration::from_seconds(20);
    run.step(Input::WallClock(Duration::from_seconds(-120)));
    assert!(run.scheduler.wants_cycle(), "the pod is tried again: {:?}", run.place("p"));
}

#[test]
fn an_event_that_helps_no_pod_does_not_lose_an_instant_that_has_come() {
    let opens = after(HOUR);
    let mut run = Run::new(&format!(
        "policy clocked {{ applies to all pods filter f {{ reject \"later\" when node.name == \"a\" && now() < timestamp(\"{opens}\") }} }}"
    ));
    run.step(Input::Upserted(node("b").cpu("1").object()));
    run.step(Input::Upserted(pod("p").uid("p").cpu("2").object()));
    run.step(Input::Cycle);
    assert_eq!(run.place("p"), Some(QueuePlace::Unschedulable));
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + HOUR));
    // The instant has come, and the next input is a node that is still too small.
    run.now = NOW + HOUR + Duration::from_millis(1);
    run.step(Input::Upserted(node("b").cpu("1500m").object()));
    assert!(run.scheduler.wants_cycle(), "the pod is tried again: {:?}", run.place("p"));
}

#[test]
fn backoffs_do_not_move_with_the_wall_clock_and_events_do() {
    let mut run = Run::new(
        "policy clocked { applies to all pods filter f { reject \"no\" when node.name == \"a\" && pod.labels[\"no\"] == \"yes\" } }",
    );
    run.step(Input::WallClock(HOUR));
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").label("no", "yes").object()));
    let effects = run.step(Input::Cycle);
    let at = effects.iter().find_map(|effect| match effect {
        Effect::Event(event) => Some(event.at),
        _ => None,
    });
    assert_eq!(at, Some(NOW + HOUR), "an event has the time of the wall clock");
    assert_eq!(run.place("p"), Some(QueuePlace::Unschedulable));
    run.now = run.now + Duration::from_millis(100);
    run.step(Input::Upserted(node("b").cpu("4").object()));
    assert_eq!(run.place("p"), Some(QueuePlace::Backoff));
    let until = run.scheduler.next_wakeup().unwrap();
    run.step(Input::WallClock(Duration::from_seconds(7_200)));
    assert_eq!((run.place("p"), run.scheduler.next_wakeup()), (Some(QueuePlace::Backoff), Some(until)));
}

#[test]
fn no_attempt_begins_while_the_watches_are_too_old() {
    let mut run = Run::new("policy clocked { applies to all pods }");
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").object()));
    assert!(run.scheduler.wants_cycle());
    run.step(Input::Stale(true));
    assert!(!run.scheduler.wants_cycle());
    assert!(run.step(Input::Cycle).is_empty(), "a cycle does nothing");
    run.step(Input::Stale(false));
    let effects = run.step(Input::Cycle);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Call(..))), "{effects:?}");
}

#[test]
fn an_event_after_which_time_would_help_sets_the_instant() {
    let opens = after(HOUR);
    let mut run = Run::new(
        "policy clocked { applies to all pods filter f { require node.labels[\"ready\"] == \"yes\" \
         && (timestamp(node.annotations[\"opens\"]) ?? timestamp(\"2020-01-01T00:00:00Z\")) <= now() else \"later\" } }",
    );
    run.step(Input::Upserted(pod("p").uid("p").cpu("2").object()));
    run.step(Input::Cycle);
    assert_eq!(run.place("p"), Some(QueuePlace::Unschedulable));
    assert_eq!(run.scheduler.next_wakeup(), None, "time does not help");
    run.now = NOW + Duration::from_seconds(20);
    let ready = node("a").cpu("4").label("ready", "yes").annotation("opens", &opens);
    run.step(Input::Upserted(ready.object()));
    assert_eq!(run.place("p"), Some(QueuePlace::Unschedulable));
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + HOUR));
}

/// A pod is safe for ten seconds after it was placed.
const SAFE: &str = "policy clocked { applies to all pods preempt { \
     protect v when v.labels[\"safe\"] == \"yes\" && (v.placed_at == none || v.placed_at + 10s > now()) } }";

/// A full node with a pod that is safe, and this many pods elsewhere.
fn beside(others: usize) -> Run {
    let mut run = Run::new(SAFE);
    run.step(Input::Upserted(node("b").cpu("2").object()));
    for number in 0..others {
        let other = pod(&format!("other-{number}")).cpu("1m").on("b");
        run.step(Input::Upserted(other.object()));
    }
    run.step(Input::Upserted(pod("low").uid("low").cpu("4").label("safe", "yes").object()));
    run.step(Input::Cycle);
    run
}

#[test]
fn a_pod_may_be_evicted_from_its_second_on_also_beside_thousands_of_others() {
    let mut run = beside(5_000);
    run.step(Input::Upserted(pod("high").uid("high").cpu("4").priority(1).object()));
    run.step(Input::Cycle);
    assert_eq!(run.place("high"), Some(QueuePlace::Unschedulable));
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + Duration::from_seconds(10)));
}

#[test]
fn more_instants_than_can_be_computed_in_a_second_are_computed_in_the_next() {
    let mut run = beside(5_000);
    for number in 0..50 {
        let name = format!("high-{number}");
        let high = pod(&name).uid(&name).cpu("4").priority(1);
        run.step(Input::Upserted(high.object()));
    }
    while run.scheduler.wants_cycle() {
        run.step(Input::Cycle);
    }
    let waiting = |run: &Run| {
        let place = |number| run.place(&format!("high-{number}"));
        (0..50).filter(|number| place(*number) == Some(QueuePlace::Unschedulable)).count()
    };
    assert_eq!(waiting(&run), 50);
    let mut wakeups = Vec::new();
    while waiting(&run) == 50 {
        run.now = run.scheduler.next_wakeup().unwrap();
        run.step(Input::Tick);
        wakeups.push((run.now - NOW).0 / 1_000_000);
    }
    assert_eq!(wakeups.last(), Some(&10), "{wakeups:?}");
    assert!(wakeups.len() > 2 && wakeups.is_sorted_by(|a, b| a < b), "once in a second: {wakeups:?}");
    assert_eq!(waiting(&run), 0, "of none the instant was lost");
}

#[test]
fn a_gated_pod_waits_for_the_instant_of_its_gate_alone() {
    let opens = after(HOUR);
    let gate = format!("gate \"later\" when pod.name == \"p\" && now() < timestamp(\"{opens}\") preempt {{");
    let mut run = Run::new(&SAFE.replace("preempt {", &gate));
    run.step(Input::Upserted(pod("low").uid("low").cpu("4").label("safe", "yes").object()));
    run.step(Input::Cycle);
    run.step(Input::Upserted(pod("p").uid("p").cpu("1").object()));
    assert_eq!(run.place("p"), Some(QueuePlace::Gated));
    run.now = NOW + Duration::from_seconds(2);
    run.step(Input::Tick);
    assert_eq!(run.scheduler.next_wakeup(), Some(NOW + HOUR), "not when a pod is no longer safe");
}
