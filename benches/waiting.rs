//! What pods that wait at Permit cost: the admission of a large gang, and the throughput of basic pods beside a
//! thousand waiting ones. Sizes by `BAYPLAN_BENCH_MEMBERS` and `BAYPLAN_BENCH_PODS`. Prints CPU time of the scheduling
//! thread and fails on nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::framework::{Answer, Instances, Named, Profile};
use bayplan::model::{Object, Time};
use bayplan::scheduler::{Effect, Input, Options, Profiles, Scheduler};
use bayplan::testing::{node, pod};
use std::sync::Arc;
use support::policy;

const GANG: &str = r#"
    policy gang {
      group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
      applies when has(pod.labels["job"])
      permit {
        wait 60s for members until members.count(m, m.placed) >= (int(pod.labels["size"]) ?? 1)
          else "not whole in time"
      }
    }"#;

/// A scheduler whose calls are all done at once.
struct Run {
    scheduler: Scheduler,
    bound: usize,
}

impl Run {
    fn new(nodes: usize) -> Self {
        let mut registry = bayplan::plugins::registry();
        registry.add_plugin(Arc::new(policy(GANG))).unwrap();
        let mut profile = Profile::new("default-scheduler");
        profile.multi_point.enabled.push(Named {
            name: "gang".to_owned(),
            weight: 0,
            at: Default::default(),
        });
        let framework = Arc::new(profile.build(&registry, &mut Instances::default()).unwrap());
        let options = Options { longest_wait: None, window: usize::MAX, ..Options::default() };
        let mut run = Self { scheduler: Scheduler::new(options), bound: 0 };
        run.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![framework], revision: 1 })));
        run.step(Input::Lead(true));
        for at in 0..nodes {
            run.step(Input::Upserted(node(&format!("node-{at:05}")).cpu("64").pods(110).object()));
        }
        run.step(Input::Synced);
        run
    }

    fn step(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            self.scheduler.step(input, Time(1_800_000_000_000_000), &mut out);
            for effect in out {
                match effect {
                    Effect::Call(ticket, _) => inputs.push(Input::Reply(ticket, Ok(Answer::Done))),
                    Effect::Decided(_) => {}
                    Effect::Event(event) => self.bound += usize::from(event.reason == "Scheduled"),
                }
            }
        }
    }

    /// Adds the pods and schedules them. Returns the seconds of CPU.
    fn schedule(&mut self, pods: Vec<Object>) -> f64 {
        let begin = cpu_seconds();
        for pod in pods {
            self.step(Input::Upserted(pod));
        }
        while self.scheduler.wants_cycle() {
            self.step(Input::Cycle);
        }
        cpu_seconds() - begin
    }
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

fn gang(job: usize, members: usize, size: usize) -> Vec<Object> {
    let member = |at: usize| {
        let name = format!("job-{job:04}-{at:05}");
        pod(&name).cpu("1").label("job", &format!("j{job}")).label("size", &size.to_string()).object()
    };
    (0..members).map(member).collect()
}

fn basic(count: usize) -> Vec<Object> {
    (0..count).map(|at| pod(&format!("basic-{at:05}")).cpu("1").object()).collect()
}

fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn main() {
    let members = size("BAYPLAN_BENCH_MEMBERS", 5_000);
    let pods = size("BAYPLAN_BENCH_PODS", 10_000);
    let mut run = Run::new(members / 50);
    let seconds = run.schedule(gang(0, members, members));
    println!("a gang of {members} is admitted in {seconds:.3} s of CPU ({} bound)", run.bound);

    let waiting = size("BAYPLAN_BENCH_WAITING", 1_000);
    let mut alone = f64::NAN;
    for (what, gangs, each) in [("none", 0, 0), ("one gang", 1, waiting), ("gangs of 5", waiting / 5, 5)] {
        let mut run = Run::new(1_000);
        for job in 0..gangs {
            run.schedule(gang(job, each, each + 1));
        }
        let seconds = run.schedule(basic(pods));
        if gangs == 0 {
            alone = seconds;
        }
        println!(
            "{pods} basic pods beside {} waiting ({what}): {seconds:.3} s of CPU, {:.0} % of the throughput ({} bound)",
            gangs * each,
            100.0 * alone / seconds,
            run.bound
        );
    }
}
