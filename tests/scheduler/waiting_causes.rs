//! What waiting pods wait for, as metrics count it.

use crate::support::plugins::{basics, framework};
use crate::support::policies::compile;
use bayplan::dry_run::{self, Options, World};
use bayplan::model::Object;
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Input, Profiles, Scheduler};
use bayplan::testing::{node, pod};
use std::sync::Arc;

const RULES: &str = r#"
    policy rooms {
      gate "closed" when pod.labels["closed"] == "yes"
      prefilter { reject "full" when pod.labels["full"] == "yes" }
      filter hot { reject "hot" when node.labels["heat"] == "hot" && pod.labels["tough"] != "yes" }
      filter far { reject "far" when node.labels["far"] == "yes" }
    }"#;

fn run(objects: Vec<Object>) -> Scheduler {
    let policies = plugins(&compile(RULES), &ExemptPods::default());
    let plugins = basics().into_iter().chain(policies).collect();
    let profiles =
        Arc::new(Profiles { frameworks: vec![framework("default-scheduler", plugins)], revision: 1 });
    let world: World = objects.into_iter().collect();
    dry_run::run(&world, profiles, &Options::default()).scheduler
}

fn counted(scheduler: &Scheduler) -> Vec<(String, u64)> {
    let of = |(policy, rule, count): (&_, &_, u64)| (format!("{policy}/{rule}"), count);
    scheduler.rule_refusals().map(of).collect()
}

#[test]
fn rules_are_counted_once_per_attempt_and_the_sole_blocker_is_named() {
    let mut scheduler = run(vec![
        node("warm").cpu("4").label("heat", "hot").object(),
        node("hot").cpu("4").label("heat", "hot").object(),
        node("small").cpu("1").object(),
        node("away").cpu("4").label("far", "yes").object(),
        pod("both").cpu("2").object(),
        pod("one").cpu("2").label("tough", "yes").object(),
        pod("huge").cpu("64").object(),
        pod("gated").cpu("1").label("closed", "yes").object(),
    ]);
    // `one` fits on a hot node, and takes room that nobody else wants.
    let waiting = scheduler.waiting();
    let by = |of: &std::collections::BTreeMap<bayplan::model::Symbol, usize>| {
        of.iter().map(|(name, count)| (name.to_string(), *count)).collect::<Vec<_>>()
    };
    let refused = by(&waiting.refused);
    assert!(refused.contains(&("rooms".into(), 1)) && refused.contains(&("Fit".into(), 1)), "{refused:?}");
    assert_eq!(by(&waiting.gated), [("rooms".to_owned(), 1)]);
    let alone: Vec<(String, usize)> = waiting
        .by_one_rule
        .iter()
        .map(|((policy, rule), count)| (format!("{policy}/{rule}"), *count))
        .collect();
    assert_eq!(alone, [("rooms/gate".to_owned(), 1)], "two rules keep `both` waiting");
    // In-tree plugins would place `both` on a hot node; no node is large enough for `huge`.
    assert_eq!(waiting.by_policies_alone, 1);
    assert_eq!(counted(&scheduler), [("rooms/far".to_owned(), 1), ("rooms/hot".to_owned(), 1)]);

    // Policies that are gone have no counts.
    let plain = Profiles { frameworks: vec![framework("default-scheduler", basics())], revision: 2 };
    scheduler.step(Input::Profiles(Arc::new(plain)), bayplan::model::Time(0), &mut Vec::new());
    assert_eq!(counted(&scheduler), []);
}

#[test]
fn a_rule_that_alone_leaves_no_node_is_the_sole_blocker() {
    let mut scheduler = run(vec![
        node("small").cpu("1").object(),
        node("away").cpu("4").label("far", "yes").object(),
        pod("web").cpu("2").object(),
    ]);
    let waiting = scheduler.waiting();
    let alone: Vec<String> =
        waiting.by_one_rule.keys().map(|(policy, rule)| format!("{policy}/{rule}")).collect();
    assert_eq!(alone, ["rooms/far"]);

    // The rule goes, its policy and the pod's last refusal stay.
    let others = "policy rooms { filter hot { reject \"hot\" when node.labels[\"heat\"] == \"hot\" } }";
    let policies = plugins(&compile(others), &ExemptPods::default());
    let frameworks = vec![framework("default-scheduler", basics().into_iter().chain(policies).collect())];
    let changed = Profiles { frameworks, revision: 2 };
    scheduler.step(Input::Profiles(Arc::new(changed)), bayplan::model::Time(0), &mut Vec::new());
    assert!(scheduler.waiting().by_one_rule.is_empty(), "{:?}", scheduler.waiting());
}

#[test]
fn a_pod_that_waited_at_permit_in_vain_counts_as_permit() {
    let text = r#"
        policy pair {
          group mates = p in pods where p.labels["job"] == pod.labels["job"]
          permit { wait 3s for mates until mates.count(m, m.placed) >= 2 else "alone" }
        }"#;
    let policies = plugins(&compile(text), &ExemptPods::default());
    let frameworks = vec![framework("default-scheduler", basics().into_iter().chain(policies).collect())];
    let objects = vec![node("n").cpu("4").object(), pod("one").cpu("1").label("job", "a").object()];
    let world: World = objects.into_iter().collect();
    let profiles = Arc::new(Profiles { frameworks, revision: 1 });
    let waiting = dry_run::run(&world, profiles, &Options::default()).scheduler.waiting();
    assert_eq!((waiting.at_permit, waiting.refused.len()), (1, 0), "{waiting:?}");
}

#[test]
fn a_pod_that_prefilter_refuses_waits_for_that_rule() {
    let scheduler = run(vec![node("n").cpu("4").object(), pod("web").cpu("1").label("full", "yes").object()]);
    let waiting = scheduler.waiting();
    // No node was asked, and no autoscaler looks at a pod that waits for none.
    assert_eq!(waiting.by_policies_alone, 0);
    assert!(waiting.refused.keys().eq(["rooms"]), "{waiting:?}");
    let rule = ("rooms".into(), "prefilter".into());
    assert!(waiting.by_one_rule.keys().eq([&rule]), "{waiting:?}");
    assert_eq!(counted(&scheduler), [("rooms/prefilter".to_owned(), 1)]);
}
