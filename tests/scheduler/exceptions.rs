//! `except`: pods that a policy or a rule leaves alone up to the end of a day.

use super::run::Run;
use crate::support::policies::NOW;
use bayplan::model::{Duration, Time};
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{node, pod};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The day of the test, as exceptions write it.
fn today() -> String {
    let now = jiff::Timestamp::from_microsecond(NOW.0).unwrap();
    now.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// The seconds to the end of the day.
fn rest_of_day() -> i64 {
    DAY - (NOW.0 / 1_000_000).rem_euclid(DAY)
}

fn at_end(run: &mut Run) {
    run.pass(rest_of_day() - 1);
}

#[test]
fn a_filter_leaves_pods_alone_up_to_the_end_of_the_day() {
    let mut run = Run::of(&format!(
        r#"policy tiers {{
          filter tier {{
            except until {} because "OPS-1: it moves" when pod.namespace == "legacy"
            require pod.labels["tier"] == "a" else "no tier"
            reject "no tier at all" when !has(pod.labels["tier"])
          }}
        }}"#,
        today()
    ));
    run.add(pod("a").namespace("legacy").cpu("100m"));
    run.add(pod("b").cpu("100m"));
    assert_eq!(run.bound, ["a"]);
    at_end(&mut run);
    run.add(pod("c").namespace("legacy").cpu("100m"));
    assert_eq!(run.bound, ["a", "c"], "the day is not over");
    run.pass(2);
    run.add(pod("d").namespace("legacy").cpu("100m"));
    assert_eq!(run.bound, ["a", "c"]);
    assert_eq!(run.scheduler.queue_counts(), [0, 0, 2, 0]);
}

#[test]
fn every_kind_of_rule_leaves_pods_alone() {
    let until = format!("until {} because \"it moves\" when pod.name == \"a\"", today());
    let excepted = |rules: &str| {
        let mut run = Run::of(&format!(
            r#"policy p {{
              group mates = p in pods where p.namespace == pod.namespace
              {}
            }}"#,
            rules.replace("EXCEPT", "except UNTIL").replace("UNTIL", &until)
        ));
        run.step(Input::Upserted(node("second").cpu("1").object()));
        run.add(pod("a").cpu("100m"));
        run.add(pod("b").namespace("other").cpu("100m"));
        let bound = run.bound.clone();
        // Once the day is over the rule is for all pods.
        at_end(&mut run);
        run.pass(2);
        let gone = pod("a").object().key();
        run.step(Input::Deleted(gone));
        run.add(pod("a").uid("again").cpu("100m"));
        (bound, run.bound.len())
    };
    for rules in [
        r#"filter f { EXCEPT reject "no" when node.ready }"#,
        r#"filter f { EXCEPT reject "no" }"#,
        r#"filter f { EXCEPT require !node.ready else "no" }"#,
        r#"prefilter { EXCEPT reject "no" when pod.priority == 0 }"#,
        r#"prefilter { EXCEPT reject "no" }"#,
        r#"prefilter { EXCEPT only nodes ["none"] }"#,
        r#"prefilter { EXCEPT only nodes ["none"] when pod.priority == 0 }"#,
        r#"permit { EXCEPT reject "no" when node.ready }"#,
        r#"permit { EXCEPT wait 600s for mates until mates.count() > 5 else "too few" }"#,
        r#"EXCEPT gate "no" when pod.priority == 0"#,
        r#"EXCEPT let x = pod.labels["x"] missing reject "no" filter f { require x == "y" else "no" }"#,
        r#"EXCEPT reserve { reject "no" when node.ready }"#,
        r#"reserve { EXCEPT reject "no" when node.ready }"#,
        r#"except reserve UNTIL reserve { reject "no" when node.ready }"#,
        r#"except gate UNTIL gate "no" when pod.priority == 0"#,
        r#"except f UNTIL filter f { require !node.ready else "no" }"#,
        r#"except prefilter UNTIL prefilter { reject "no" }"#,
    ] {
        assert_eq!(excepted(rules), (vec!["a".to_owned()], 1), "{rules}");
    }
}

/// Rules about evictions: an excepted pod preempts as if they were not there, up to the end of the day.
#[test]
fn preempt_leaves_pods_that_preempt_alone() {
    let until = format!("until {} because \"it moves\" when pod.namespace == \"a\"", today());
    let evicted = |policy: &str, default: &[&str], namespace: &str, is_over: bool| {
        let policy = policy.replace("EXCEPT", "except UNTIL").replace("UNTIL", &until);
        let mut run = Run::on(node("n").cpu("1"), super::run::framework_with(&policy, default));
        if is_over {
            at_end(&mut run);
            run.pass(2);
        }
        run.add(pod("low").cpu("600m"));
        run.add(pod("other").cpu("300m").priority(1));
        run.add(pod("high").namespace(namespace).priority(10).cpu("600m"));
        run.deleted.len()
    };
    for rule in [
        r#"policy p { preempt { EXCEPT protect v when v.name == "low" } }"#,
        r#"policy p { preempt { EXCEPT never "no" when pod.priority > 5 } }"#,
        r#"policy p { preempt { EXCEPT guard node.pods.count() >= 2 else "few" } }"#,
        r#"policy p { preempt { EXCEPT victim v when v.name == "other" } }"#,
        r#"policy p { except preempt UNTIL preempt { victim v when v.name == "other" } }"#,
        r#"except p/preempt UNTIL policy p { preempt { never "no" when pod.priority > 5 } }"#,
    ] {
        let of = |namespace, is_over| evicted(rule, &["DefaultPreemption"], namespace, is_over);
        assert_eq!([of("a", false), of("b", false), of("a", true)], [1, 0, 0], "{rule}");
    }
    // Of two blocks the other one goes on.
    let two = r#"policy p {
      preempt { EXCEPT never "no" when pod.priority > 5 }
      preempt { protect v when v.name == "low" } }"#;
    assert_eq!(evicted(two, &["DefaultPreemption"], "a", false), 0);
    // Where no other plugin preempts, nothing evicts for a pod that the rules leave alone.
    let alone = r#"policy p { preempt { EXCEPT victim v when v.name == "low" } }"#;
    let of = |namespace, is_over| evicted(alone, &[], namespace, is_over);
    assert_eq!([of("a", false), of("b", false), of("a", true)], [0, 1, 1]);
}

#[test]
fn a_pod_preempts_from_the_end_of_an_exception_on() {
    let policy = format!(
        r#"policy p {{ preempt {{
             except until {} because "it moves" when pod.namespace == "a"
             victim v when v.name == "other" }} }}"#,
        today()
    );
    let mut run = Run::on(node("n").cpu("1"), super::run::framework_with(&policy, &["DefaultPreemption"]));
    run.add(pod("other").cpu("900m").priority(20));
    run.add(pod("high").namespace("a").priority(10).cpu("600m"));
    at_end(&mut run);
    assert!(run.deleted.is_empty(), "without the rule only pods of lower priority may be evicted");
    run.pass(2);
    assert_eq!(run.deleted, ["other"]);
}

#[test]
fn a_score_leaves_pods_alone() {
    let mut run = Run::on(
        node("n").cpu("2"),
        super::run::framework_of(&format!(
            r#"policy p {{
              score base weight 1 {{ give 100 when node.name == "n" }}
              score s weight 5 {{
                except until {} because "it moves" when pod.name == "a"
                give 100 when node.name == "second" }}
            }}"#,
            today()
        )),
    );
    run.step(Input::Upserted(node("second").cpu("2").object()));
    let on = |run: &Run, name: &str| {
        let snapshot = run.scheduler.snapshot();
        let placed = snapshot.pod(&pod(name).build().key).and_then(|entry| entry.placed);
        placed.and_then(|(node, _)| snapshot.node(node)).map(|node| node.name().to_string())
    };
    run.add(pod("a").cpu("100m"));
    run.add(pod("b").cpu("100m"));
    assert_eq!((on(&run, "a").as_deref(), on(&run, "b").as_deref()), (Some("n"), Some("second")));
}

fn quota(until: &str) -> String {
    format!(
        r#"policy quota {{
          except until {until} because "it moves" when pod.labels["free"] == "yes"
          let team = pod.labels["team"] ?? ""
          ledger used: int by team {{ add 1 }}
          prefilter {{ reject "the team has two pods" when used[team] >= 2 }}
        }}"#
    )
}

#[test]
fn an_exception_of_a_policy_takes_its_pods_out_of_ledgers_until_its_end() {
    let mut run = Run::of(&quota(&today()));
    for name in ["a", "b", "c"] {
        run.add(pod(name).label("team", "x").label("free", "yes").cpu("100m"));
    }
    run.add(pod("d").label("team", "x").cpu("100m"));
    assert_eq!(run.bound, ["a", "b", "c", "d"], "the first three do not count");
    let sums = |run: &Run| {
        let mut fresh = run.scheduler.snapshot().clone();
        fresh.rebuild_indexes();
        let policy = bayplan::lang::eval::ledgers::index_keys;
        let set = crate::support::policies::compile(&quota(&today()));
        let key = policy(&set.iter().next().unwrap().policy).remove(0);
        let index = |snapshot: &bayplan::model::Snapshot| {
            let index: &bayplan::lang::eval::ledgers::LedgerIndex = snapshot.index(&key).unwrap();
            assert_eq!(index, fresh.index::<bayplan::lang::eval::ledgers::LedgerIndex>(&key).unwrap());
            index.kept()
        };
        index(run.scheduler.snapshot())
    };
    assert_eq!(sums(&run), (1, 1));
    at_end(&mut run);
    run.add(pod("e").label("team", "x").cpu("100m"));
    assert_eq!(run.bound.len(), 5);
    run.pass(2);
    assert_eq!(sums(&run), (5, 1), "all of them count");
    run.add(pod("f").label("team", "x").cpu("100m"));
    run.add(pod("g").label("team", "x").label("free", "yes").cpu("100m"));
    assert_eq!(run.bound.len(), 5);
    // The wall clock is stepped back before the end, and forward again.
    run.step(Input::WallClock(Duration::from_seconds(-DAY)));
    assert_eq!(sums(&run), (2, 1));
    run.pass(600);
    assert_eq!(run.bound.len(), 6, "the pod that is excepted again: {:?}", run.bound);
    run.step(Input::WallClock(Duration::ZERO));
    assert_eq!(sums(&run), (6, 1));
}

#[test]
fn a_pod_that_waits_for_a_sum_is_tried_when_an_exception_ends_and_helps_it() {
    // While the exception holds, its pod is not counted; the other rule wants it counted.
    let mut run = Run::of(&format!(
        r#"policy pairs {{
          except until {} because "it moves" when pod.labels["free"] == "yes"
          let team = pod.labels["team"] ?? ""
          ledger used: int by team {{ add 1 }}
          prefilter {{ reject "the first of the team is missing" when used[team] < 1 }}
        }}"#,
        today()
    ));
    run.add(pod("first").label("team", "x").label("free", "yes").cpu("100m"));
    run.add(pod("second").label("team", "x").cpu("100m"));
    run.add(pod("other").label("team", "y").cpu("100m"));
    assert_eq!(run.bound, ["first"]);
    run.pass(600);
    let attempts = run.attempts.len();
    run.pass(rest_of_day() - 601);
    assert_eq!(run.attempts.len(), attempts, "nothing helps before");
    run.pass(600);
    assert_eq!(run.bound, ["first", "second"]);
    let of_other = run.attempts.iter().filter(|name| *name == "other").count();
    assert_eq!(of_other, 1, "the sum of its key did not move");
    assert_eq!(run.place("other"), Some(QueuePlace::Unschedulable));
}

#[test]
fn the_end_of_an_exception_wakes_no_pod_that_it_is_not_about() {
    let mut run = Run::of(&format!(
        r#"policy tiers {{
          except until {} because "it moves" when pod.labels["old"] == "yes"
          filter tier {{ require pod.labels["tier"] == "a" else "no tier" }}
        }}"#,
        today()
    ));
    run.add(pod("a").cpu("100m"));
    assert_eq!(run.attempts, ["a"]);
    assert_eq!(run.scheduler.next_wakeup().filter(|at| *at < Time(NOW.0 + 2 * DAY * 1_000_000)), None);
    run.pass(2 * DAY);
    assert_eq!(run.attempts, ["a"]);
}
