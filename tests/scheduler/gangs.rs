//! Gangs in the scheduler itself: what many waiting members cost, and what becomes of a gang that timed out.

use super::run::{Run, framework_of};
use bayplan::model::{IndexKey, Symbol};
use bayplan::plugins::policy::Waits;
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{node, pod};
use std::ops::{Deref, DerefMut};

const GANG: &str = r#"
    policy gang {
      group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
      applies when has(pod.labels["job"])
      permit {
        wait 60s for members until members.count(m, m.placed) >= (int(pod.labels["size"]) ?? 1)
          else "not whole in time"
      }
    }"#;

/// A scheduler with a policy for gangs and one node.
struct Gangs(Run);

impl Deref for Gangs {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.0
    }
}

impl DerefMut for Gangs {
    fn deref_mut(&mut self) -> &mut Run {
        &mut self.0
    }
}

impl Gangs {
    fn new(cpu: &str) -> Self {
        Self::of(GANG, cpu)
    }

    fn of(policy: &str, cpu: &str) -> Self {
        Self(Run::on(node("a").cpu(cpu).pods(9_999), framework_of(policy)))
    }

    /// Creates a member of a job, which is not tried yet.
    fn create(&mut self, name: &str, job: &str, size: usize) {
        let member = pod(name).cpu("1").label("job", job).label("size", &size.to_string());
        self.step(Input::Upserted(member.object()));
    }

    fn waits(&self) -> &Waits {
        self.scheduler.snapshot().index::<Waits>(&IndexKey(Symbol::new("gang/waits"))).unwrap()
    }
}

#[test]
fn many_that_wait_are_judged_once() {
    for (members, jobs) in [(50, 1), (400, 1), (200, 4)] {
        let mut run = Gangs::new("9999");
        for at in 0..members {
            for job in 0..jobs {
                run.create(&format!("m{job}-{at}"), &format!("j{job}"), members);
            }
        }
        run.settle();
        let (looks, judgments) = (run.waits().looks(), run.waits().judgments());
        assert_eq!(run.bound.len(), members * jobs, "all go on");
        // Each that comes is looked at, and for each that comes and goes on one of each job that waits.
        let most = (members * jobs * (2 + 2 * jobs)) as u64;
        assert!(
            looks <= most && judgments <= most,
            "{members} x {jobs}: {looks} looks, {judgments} judgments"
        );
    }
}

#[test]
fn a_gang_is_counted_a_few_times_and_basic_pods_do_not_touch_it() {
    let mut run = Gangs::new("9999");
    for at in 0..399 {
        run.create(&format!("m-{at}"), "train", 400);
    }
    run.settle();
    let judgments = run.waits().judgments();
    assert!(judgments < 40, "{judgments} counts of the members");
    let looks = run.waits().looks();
    for at in 0..200 {
        run.step(Input::Upserted(pod(&format!("basic-{at}")).cpu("1").object()));
    }
    run.settle();
    // Each basic pod is looked at once at its own Permit.
    assert_eq!((run.bound.len(), run.waits().looks()), (200, looks + 200), "no waiting pod is looked at");
    run.create("last", "train", 400);
    run.settle();
    assert_eq!(run.bound.len(), 600);
    assert_eq!(run.waits().kept(), 0, "nothing is kept of a gang that went on");
}

#[test]
fn what_is_kept_of_waiting_gangs_goes_with_their_last_member() {
    let mut run = Gangs::new("9999");
    run.create("stays", "long", 2);
    run.settle();
    let kept = run.waits().kept();
    for at in 0..50 {
        let (name, job) = (format!("m-{at}"), format!("j-{at}"));
        run.create(&name, &job, 2);
        run.settle();
        run.step(Input::Deleted(pod(&name).object().key()));
    }
    assert_eq!(run.waits().kept(), kept, "one gang waits, as before");
}

#[test]
fn sort_keys_follow_the_groups_that_they_read() {
    const QUEUE: &str = r#"
        policy gang {
          group members = p in pods where p.labels["job"] == pod.labels["job"]
          queue by desc members.count(m, m.placed), asc pod.name
        }"#;
    let mut run = Gangs::of(QUEUE, "9999");
    for name in ["a-1", "b-1", "b-2", "c-1"] {
        run.create(name, &name[..1], 1);
    }
    let order = |run: &Run| -> Vec<String> {
        let name = |key| run.scheduler.snapshot().pod(key).unwrap().pod.name.to_string();
        run.scheduler.queue_order().map(name).collect()
    };
    assert_eq!(order(&run), ["a-1", "b-1", "b-2", "c-1"]);
    run.step(Input::Upserted(pod("placed").label("job", "c").on("a").object()));
    run.step(Input::Cycle);
    assert_eq!(order(&run), ["a-1", "b-1", "b-2"], "the one of the job with a placed pod went first");
    run.step(Input::Upserted(pod("placed").label("job", "b").on("a").object()));
    run.step(Input::Cycle);
    assert_eq!(order(&run), ["b-2", "a-1"]);
}

#[test]
fn a_gang_that_timed_out_waits_for_what_it_lacks() {
    let mut run = Gangs::new("9");
    run.create("one", "train", 3);
    run.create("two", "train", 3);
    run.pass(600);
    assert_eq!((run.attempts.len(), run.bound.len()), (2, 0), "nothing came that could help");
    for name in ["one", "two"] {
        let key = pod(name).build().key.clone();
        assert_eq!(run.scheduler.queue_place(&key), Some(QueuePlace::Unschedulable), "{name}");
    }
    run.create("three", "train", 3);
    run.pass(30);
    assert_eq!(run.bound.len(), 3);
}

#[test]
fn a_gang_without_room_takes_turns_no_faster_than_it_waits() {
    let mut run = Gangs::new("2");
    for name in ["one", "two", "three"] {
        run.create(name, "train", 3);
    }
    run.pass(600);
    // At each end of a wait all three may be tried, and those whose places were taken once more.
    assert!(
        run.bound.is_empty() && run.attempts.len() <= 11 * 6,
        "{} attempts in ten minutes",
        run.attempts.len()
    );
    // Another pod has its turn.
    let small = pod("small").cpu("1").priority(9);
    run.step(Input::Upserted(small.object()));
    run.pass(120);
    assert_eq!(run.bound.len(), 1);
}

/// The gang of the other tests, which gives its room back as soon as one member finds none.
fn releasing(more: &str) -> String {
    let after = format!("after failure {{ release members \"a member found no node\" {more} }}");
    GANG.replacen("permit {", &format!("{after}\n      permit {{"), 1)
}

impl Gangs {
    /// The members of a job that have a node and do not wait.
    fn placed(&self, job: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in self.scheduler.snapshot().pods() {
            let of_job =
                entry.pod.labels.iter().any(|(key, value)| key.as_str() == "job" && value.as_str() == job);
            if of_job && entry.placed.is_some() && !entry.waiting {
                names.push(entry.pod.name.to_string());
            }
        }
        names.sort();
        names
    }

    fn delete(&mut self, name: &str) {
        let key = pod(name).object().key();
        self.step(Input::Deleted(key));
    }
}

#[test]
fn a_member_without_a_node_releases_those_that_wait() {
    let mut run = Gangs::of(&releasing(""), "2");
    for name in ["a", "b", "c"] {
        run.create(name, "train", 3);
    }
    run.settle();
    assert_eq!(run.waits().everybody().count(), 0, "no pod waits for the third member");
    assert_eq!((run.bound.len(), run.placed("train").len()), (0, 0));
    // A job that fits takes the room at once.
    for name in ["d", "e"] {
        run.create(name, "other", 2);
    }
    run.settle();
    assert_eq!(run.placed("other"), ["d", "e"]);
}

#[test]
fn a_release_has_its_condition_and_its_reason() {
    let mut run = Gangs::of(&releasing("when members.count(m, m.placed) < 2"), "2");
    for name in ["a", "b", "c"] {
        run.create(name, "train", 3);
    }
    run.settle();
    assert_eq!(run.waits().everybody().count(), 2, "two members have a node, so the condition does not hold");
    let mut run = Gangs::of(&releasing(""), "1");
    run.create("a", "train", 2);
    run.settle();
    run.create("b", "train", 2);
    run.settle();
    assert!(run.notes.iter().any(|note| note.contains("a member found no node")), "{:?}", run.notes);
}

#[test]
fn a_waiting_member_that_is_deleted_releases_the_others() {
    let mut run = Gangs::of(&releasing(""), "9");
    for name in ["a", "b"] {
        run.create(name, "train", 3);
    }
    run.settle();
    assert_eq!(run.waits().everybody().count(), 2);
    run.delete("a");
    assert_eq!(run.waits().everybody().count(), 0, "the other member waits no more");
}

/// Each job needs three of four CPUs. Whatever the order in which their members come, one becomes whole, and then,
/// when its pods are gone, the other.
#[test]
fn jobs_that_exclude_each_other_become_whole_one_after_another() {
    for seed in 0..40u64 {
        let mut run = Gangs::of(&releasing(["", "activate members"][seed as usize % 2]), "4");
        let mut members: Vec<(String, &str)> =
            ["x", "y"].iter().flat_map(|job| (0..3).map(move |at| (format!("{job}{at}"), *job))).collect();
        let mut state = seed;
        while !members.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (name, job) = members.remove((state >> 33) as usize % members.len());
            run.create(&name, job, 3);
            if state >> 40 & 1 == 0 {
                run.settle();
            }
        }
        run.pass(180);
        let (x, y) = (run.placed("x"), run.placed("y"));
        let (first, second) = if x.is_empty() { (y, "x") } else { (x, "y") };
        assert_eq!((first.len(), run.placed(second).len()), (3, 0), "seed {seed}: one job is whole");
        first.iter().for_each(|name| run.delete(name));
        run.pass(180);
        assert_eq!(run.placed(second).len(), 3, "seed {seed}: the other job is whole");
    }
}

/// Two jobs that wake each other whenever one fails are tried no faster than their back-off lets them.
#[test]
fn jobs_that_activate_each_other_do_not_spin() {
    let policy = releasing("activate everybody").replacen(
        "applies when",
        "group everybody = p in pods where p.namespace == pod.namespace\n      applies when",
        1,
    );
    let mut run = Gangs::of(&policy, "2");
    for at in 0..3 {
        run.create(&format!("x{at}"), "x", 3);
        run.create(&format!("y{at}"), "y", 3);
    }
    run.pass(600);
    assert_eq!(run.bound.len(), 0);
    // Back-off is 10 s at most; the first steps are shorter.
    assert!(run.attempts.len() < 6 * 70, "{} attempts in ten minutes", run.attempts.len());
    assert!(run.attempts.len() > 6 * 10, "{} attempts in ten minutes", run.attempts.len());
}
