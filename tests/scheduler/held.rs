//! What the condition of a pod says that only policies keep waiting.

use crate::support::policies::{NOW, compile};
use bayplan::framework::{Answer, ApiCall, Instances, Named, Profile};
use bayplan::model::{Duration, Object, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, Scheduler};
use bayplan::testing::{node, pod};
use std::sync::Arc;

/// A scheduler whose calls are all done at once, and the conditions that it wrote.
struct Run {
    scheduler: Scheduler,
    now: Time,
    /// Reason and message of each patch.
    said: Vec<(&'static str, String)>,
}

impl Run {
    fn new(policy: &str) -> Self {
        let mut registry = bayplan::plugins::registry();
        let mut profile = Profile::new("default-scheduler");
        for plugin in plugins(&compile(policy), &ExemptPods::default()) {
            let name = plugin.name().to_owned();
            profile.multi_point.enabled.push(Named { name, weight: 0, at: Default::default() });
            registry.add_plugin(plugin).unwrap();
        }
        let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
        let mut run = Self { scheduler: Scheduler::new(Options::default()), now: NOW, said: Vec::new() };
        run.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![framework], revision: 1 })));
        run.step(Input::Lead(true));
        run.step(Input::Upserted(node("n1").cpu("4").pods(110).object()));
        run.step(Input::Synced);
        run
    }

    fn step(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            self.scheduler.step(input, self.now, &mut out);
            for effect in out {
                let Effect::Call(ticket, call) = effect else { continue };
                if let ApiCall::PatchStatus { patch, .. } = call
                    && let Some(reason) = patch.reason
                {
                    self.said.push((reason, patch.message));
                }
                inputs.push(Input::Reply(ticket, Ok(Answer::Done)));
            }
        }
    }

    fn put(&mut self, object: Object) {
        self.step(Input::Upserted(object));
        self.pass(0);
    }

    /// Lets that many milliseconds pass.
    fn pass(&mut self, milliseconds: i64) {
        let end = self.now + Duration::from_millis(milliseconds);
        loop {
            while self.scheduler.wants_cycle() {
                self.step(Input::Cycle);
            }
            match self.scheduler.next_wakeup().filter(|next| *next <= end) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
            self.step(Input::Tick);
        }
        self.now = end;
    }

    fn said(&self) -> Vec<(&str, &str)> {
        self.said.iter().map(|(reason, message)| (*reason, &**message)).collect()
    }
}

const GATES: &str = r#"
    policy quota {
      gate "held by the quota" when pod.labels["hold"] == "yes"
      gate "turn {pod.priority}" when has(pod.labels["why"])
    }"#;

#[test]
fn a_gate_that_holds_for_two_seconds_shows_it_on_the_pod() {
    let mut run = Run::new(GATES);
    run.put(pod("web").label("hold", "yes").object());
    run.pass(1_900);
    assert_eq!(run.said(), [], "not before two seconds");
    run.pass(200);
    assert_eq!(run.said(), [("HeldByPolicy", "held by the quota")]);
    run.pass(60_000);
    assert_eq!(run.said.len(), 1, "only when it changes");
    // It passes, and is refused by the nodes: upstream's condition takes its place.
    run.put(pod("web").cpu("64").object());
    assert_eq!(run.said[1].0, "Unschedulable");
}

#[test]
fn a_gate_that_passes_soon_shows_nothing() {
    let mut run = Run::new(GATES);
    run.put(pod("web").label("hold", "yes").object());
    run.pass(1_000);
    run.put(pod("web").object());
    run.pass(10_000);
    assert_eq!(run.said(), []);
}

#[test]
fn a_text_that_changes_is_written_at_most_every_two_seconds() {
    let mut run = Run::new(GATES);
    for at in 0..40 {
        run.put(pod("web").label("why", "").priority(at).object());
        run.pass(500);
    }
    assert!((8..=10).contains(&run.said.len()), "{:?}", run.said());
    run.pass(3_000);
    assert_eq!(run.said().last(), Some(&("HeldByPolicy", "turn 39")));
}

#[test]
fn a_pod_with_scheduling_gates_keeps_the_condition_of_the_api_server() {
    let mut run = Run::new(GATES);
    run.put(pod("web").label("hold", "yes").gate("wait").object());
    run.pass(60_000);
    assert_eq!(run.said(), []);
}

#[test]
fn refusals_that_no_new_node_could_pass_are_told_from_those_that_one_could() {
    let cases = [
        (r#"prefilter { reject "too big" when pod.requests.cpu >= 500m }"#, "HeldByPolicy"),
        (r#"filter f { reject "too big" when pod.requests.cpu >= 500m }"#, "HeldByPolicy"),
        (r#"filter f { reject "closed" when now() > time("2001-01-01T00:00:00Z") }"#, "HeldByPolicy"),
        (r#"filter f { require node.labels["tier"] == "gold" else "tier" }"#, "Unschedulable"),
        (r#"filter f { require node.free.cpu >= 99000m else "room" }"#, "Unschedulable"),
        (r#"prefilter { reject "few" when nodes.count() < 3 }"#, "Unschedulable"),
        (r#"prefilter { only nodes ["other"] }"#, "Unschedulable"),
    ];
    for (rule, reason) in cases {
        let mut run = Run::new(&format!("policy p {{ {rule} }}"));
        run.put(pod("web").cpu("1").object());
        let said: Vec<&str> = run.said.iter().map(|(reason, _)| *reason).collect();
        assert_eq!(said, [reason], "{rule}: {:?}", run.said());
        assert!(run.said[0].1.starts_with("0/1 nodes are available"), "the text stays: {:?}", run.said());
    }
    // A group that is full: no new node helps. Room on nodes: one does.
    let mut run = Run::new(
        r#"policy few {
            group team = p in pods where p.labels["team"] == pod.labels["team"]
            applies when has(pod.labels["team"])
            prefilter { reject "team is full" when team.count(m, m.placed) >= 1 } }"#,
    );
    run.put(pod("one").label("team", "x").cpu("1").object());
    run.put(pod("two").label("team", "x").cpu("1").object());
    run.put(pod("big").cpu("64").object());
    let said: Vec<&str> = run.said.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(said, ["HeldByPolicy", "Unschedulable"], "{:?}", run.said());
}
