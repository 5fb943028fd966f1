//! What the condition of a pod says that only policies keep waiting.

use super::steps::{Steps, too_many, with};
use crate::support::plugins::Gang;
use crate::support::policies::{NOW, compile};
use bayplan::framework::{Answer, ApiCall, Instances, Named, Plugin, Profile};
use bayplan::model::{Duration, Object, Symbol, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Effect, Input, Options, Profiles, Scheduler};
use bayplan::testing::{PodMaker, node, pod};
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
fn a_text_that_changes_is_written_with_growing_pauses_and_the_last_one_arrives() {
    let mut run = Run::new(GATES);
    for at in 0..40 {
        run.put(pod("web").label("why", "").priority(at).object());
        run.pass(500);
    }
    assert_eq!(run.said.len(), 4, "after 2, 4, 8 and 16 seconds: {:?}", run.said());
    run.pass(15_000);
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
        (
            r#"let team = pod.labels["team"] missing reject "no team" filter f { reject "no" when team == "x" }"#,
            "HeldByPolicy",
        ),
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

#[test]
fn one_node_refused_by_a_rule_that_reads_no_node_is_enough() {
    let mut run = Run::new(r#"policy p { filter f { reject "too big" when pod.requests.cpu >= 500m } }"#);
    run.step(Input::Upserted(node("small").cpu("100m").pods(110).object()));
    run.put(pod("web").cpu("1").object());
    assert_eq!(run.said.len(), 1);
    assert_eq!(run.said[0].0, "HeldByPolicy", "the rule would refuse every new node");
    assert!(run.said[0].1.contains("1 Insufficient cpu, 1 too big"), "{:?}", run.said());
}

fn steps(policy: &str, more: Vec<Arc<dyn Plugin>>, pod: PodMaker) -> Steps {
    let plugins = plugins(&compile(policy), &ExemptPods::default()).into_iter().chain(more).collect();
    let objects = vec![node("n1").cpu("4").pods(110).object(), pod.label("hold", "yes").object()];
    let mut steps = Steps::new(with(plugins), objects);
    steps.cycles();
    steps.wait(Duration::from_millis(2_100));
    assert_eq!(steps.calls(), ["patch web"]);
    steps
}

fn release(steps: &mut Steps) {
    let hold = Symbol::new("hold");
    steps.change("web", |pod| {
        let kept = pod.labels.iter().filter(|(key, _)| **key != hold);
        pod.labels = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    });
}

#[test]
fn what_was_not_written_when_the_gate_opens_is_not_written_later() {
    for throttled_before in [true, false] {
        let mut steps = steps(GATES, vec![], pod("web"));
        if throttled_before {
            steps.reply(too_many(Duration::from_seconds(10)));
        }
        release(&mut steps);
        if !throttled_before {
            steps.reply(too_many(Duration::from_seconds(10)));
        }
        steps.wait(Duration::from_seconds(60));
        assert_eq!(steps.calls(), [""; 0], "throttled before the gate opens: {throttled_before}");
        assert_eq!(steps.scheduler.open_calls(), 0);
    }
}

#[test]
fn a_pod_that_waits_at_permit_does_not_say_that_a_policy_holds_it() {
    let refusal = r#"policy p { filter f { reject "closed" when pod.labels["hold"] == "yes" } }"#;
    for (policy, shown) in [(GATES, true), (GATES, false), (refusal, true), (refusal, false)] {
        let gang = pod("web").label("gang", "g").label("gang-size", "2");
        let mut steps = steps(policy, vec![Arc::new(Gang::default())], gang);
        if shown {
            steps.serve();
            let condition = steps.pod("web").scheduled_condition.clone().unwrap();
            assert_eq!(condition.1, "HeldByPolicy");
        }
        release(&mut steps);
        steps.wait(Duration::from_seconds(2));
        steps.cycles();
        assert_eq!(steps.scheduler.bindings().len(), 1, "{policy}");
        steps.serve();
        let web = steps.pod("web");
        assert_eq!(web.scheduled_condition, None, "{policy} {shown}");
        assert_eq!(web.nominated_node.as_deref(), Some("n1"));
    }
}
