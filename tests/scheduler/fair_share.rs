//! `queue by` over a ledger: the queue follows the sums while pods wait in it.

use super::run::Run;
use bayplan::model::Duration;
use bayplan::scheduler::Input;
use bayplan::testing::{PodMaker, Random, namespace, pod};

/// The team with the least CPU first; a pod that is late for its team's start waits at Permit in vain.
const FAIR: &str = r#"
    policy fair {
      ledger used: cpu by pod.labels["team"] ?? "" { add pod.requests.cpu }
      queue by desc pod.priority, asc used[pod.labels["team"] ?? ""]
      permit { wait 5s until pod.labels["late"] == none else "is late" }
    }"#;

fn of_team(name: &str, team: &str, cpu: &str) -> PodMaker {
    pod(name).label("team", team).cpu(cpu)
}

impl Run {
    /// Creates pods, and tries none.
    fn queue(&mut self, pods: impl IntoIterator<Item = PodMaker>) {
        for pod in pods {
            self.step(Input::Upserted(pod.object()));
        }
        self.in_order();
    }

    /// No pod stands where its key does not put it, though nothing would compute the key again.
    fn in_order(&self) {
        assert_eq!(self.scheduler.misplaced(), None);
    }

    /// The pod that is tried next.
    fn first(&mut self) -> Option<String> {
        let key = self.scheduler.next_pod()?.clone();
        Some(self.scheduler.snapshot().pod(&key)?.pod.name.to_string())
    }

    fn delete(&mut self, name: &str) {
        self.step(Input::Deleted(pod(name).object().key()));
        self.in_order();
    }
}

#[test]
fn a_pod_that_is_placed_moves_the_queued_pods_of_its_team_back() {
    let mut run = Run::of(FAIR);
    let all = [
        ("a1", "a", "200m"),
        ("a2", "a", "200m"),
        ("a3", "a", "200m"),
        ("b1", "b", "100m"),
        ("b2", "b", "100m"),
    ];
    run.queue(all.map(|(name, team, cpu)| of_team(name, team, cpu)));
    run.queue([of_team("urgent", "a", "500m").priority(9)]);
    run.settle();
    // 700m of `a` after `urgent` and `a1`; `b` is behind until it has as much.
    assert_eq!(run.bound, ["urgent", "b1", "b2", "a1", "a2", "a3"]);
}

#[test]
fn a_pod_that_goes_moves_the_queued_pods_of_its_team_forward() {
    let mut run = Run::of(FAIR);
    run.queue([of_team("a1", "a", "200m"), of_team("b1", "b", "100m")]);
    run.settle();
    run.queue([of_team("a2", "a", "100m"), of_team("b2", "b", "100m")]);
    assert_eq!(run.first().as_deref(), Some("b2"));
    run.delete("a1");
    assert_eq!(run.first().as_deref(), Some("a2"), "its team has nothing any more");
    run.settle();
    assert_eq!(run.bound, ["a1", "b1", "a2", "b2"]);
}

#[test]
fn a_pod_that_fails_at_permit_gives_its_share_back() {
    let mut run = Run::of(FAIR);
    run.queue([of_team("a1", "a", "200m").label("late", "yes")]);
    run.settle();
    run.queue([of_team("a2", "a", "100m"), of_team("b1", "b", "100m")]);
    assert_eq!(run.first().as_deref(), Some("b1"), "`a1` waits, and counts");
    run.now = run.now + Duration::from_seconds(6);
    run.step(Input::Tick);
    run.in_order();
    assert_eq!(run.first().as_deref(), Some("a2"));
}

/// Random teams, priorities, arrivals, deletions and updates: each pod that is tried is the first by the keys as they are.
#[test]
fn the_first_pod_is_always_the_first_by_the_keys() {
    let keys = [
        "desc pod.priority, used[pod.labels[\"team\"] ?? \"\"]",
        "used[pod.labels[\"team\"] ?? \"\"], desc pod.priority, pod.name",
        "desc used[pod.labels[\"team\"] ?? \"\"] > 2, both[[pod.labels[\"team\"] ?? \"\", ns.labels[\"tier\"] ?? \"\"]], pod.attempts",
        "used[\"a\"] > used[\"b\"] ? used[pod.labels[\"team\"] ?? \"\"] : 0, desc pod.name",
        // These read the pod and a sum at once.
        "used[pod.labels[\"team\"] ?? \"\"] * (pod.priority + 1), pod.name",
        "pod.priority > 1 ? 0 : used[pod.labels[\"team\"] ?? \"\"], pod.queued_at",
    ];
    for (round, keys) in keys.iter().cycle().take(48).enumerate() {
        let mut random = Random(round as u64);
        let mut run = Run::of(&format!(
            r#"policy fair {{
              ledger used: int by pod.labels["team"] ?? "" {{ add 1 }}
              ledger both: int by [pod.labels["team"] ?? "", ns.labels["tier"] ?? ""] {{ add 1 }}
              queue by {keys}
              filter f {{ require pod.labels["stuck"] == none else "is stuck" }}
            }}"#
        ));
        for step in 0..60 {
            match random.below(6) {
                0 if run.scheduler.wants_cycle() => {
                    let expected = run.scheduler.queue_order().next().cloned();
                    let first = run.scheduler.next_pod().cloned();
                    if expected.is_some() {
                        assert_eq!(first, expected, "{round}, {step}: {keys}");
                    }
                    run.step(Input::Cycle);
                }
                1 => {
                    let object = pod(&format!("p{}", random.below(12))).object();
                    run.step(Input::Deleted(object.key()));
                }
                2 => {
                    let object = namespace("default").label("tier", random.of(&["x", "y"])).object();
                    run.step(Input::Upserted(object));
                }
                3 => run.pass(random.below(12) as i64 % 3),
                _ => {
                    let name = format!("p{}", random.below(12));
                    let mut new = of_team(&name, random.of(&["a", "b", "c"]), "10m");
                    new = new.priority(random.below(4) as i32);
                    if random.one_in(4) {
                        new = new.label("stuck", "yes");
                    }
                    if run
                        .scheduler
                        .snapshot()
                        .pod(&new.clone().build().key)
                        .is_none_or(|of| of.placed.is_none())
                    {
                        run.step(Input::Upserted(new.object()));
                    }
                }
            }
            run.in_order();
        }
    }
}

#[test]
fn a_pod_in_back_off_follows_the_sums_too() {
    let mut run = Run::of(
        r#"
        policy fair {
          ledger used: int by pod.labels["team"] ?? "" { add 1 }
          queue by used[pod.labels["team"] ?? ""]
          filter room { require used["c"] >= 1 else "nobody of c runs" }
        }"#,
    );
    run.queue([of_team("a1", "a", "100m"), of_team("b1", "b", "100m")]);
    run.settle();
    assert!(run.bound.is_empty());
    // A pod of `a` and one of `c` that another scheduler placed: both wait for their back-off, and then `b` is first.
    run.step(Input::Upserted(of_team("a0", "a", "100m").on("n").object()));
    run.step(Input::Upserted(of_team("c0", "c", "100m").on("n").object()));
    run.in_order();
    run.pass(20);
    assert_eq!(run.bound, ["b1", "a1"]);
}

#[test]
fn the_end_of_an_exception_moves_sums_whose_keys_are_looked_up() {
    let mut run = Run::of(
        r#"
        policy fair {
          let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
          ledger used: int by pod.labels["team"] ?? "" { add 1 }
          queue by used[desk.labels["of"] ?? (pod.labels["team"] ?? "")]
          except until 2026-01-05 because "a test" when pod.labels["free"] == "yes"
        }"#,
    );
    run.queue([of_team("a0", "a", "100m").label("free", "yes")]);
    run.settle();
    run.queue([of_team("a1", "a", "100m"), of_team("b1", "b", "100m")]);
    assert_eq!(run.first().as_deref(), Some("a1"));
    run.now = run.now + Duration::from_seconds(13 * 3_600);
    run.step(Input::Tick);
    run.in_order();
    assert_eq!(run.first().as_deref(), Some("b1"), "`a0` counts now");
}
