//! `queue by` over a ledger: the queue follows the sums while pods wait in it.

use super::run::Run;
use bayplan::model::Duration;
use bayplan::scheduler::Input;
use bayplan::testing::{PodMaker, pod};

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
