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
    assert_eq!(counted(&scheduler), [("rooms/far".to_owned(), 1), ("rooms/hot".to_owned(), 1)]);

    // Policies that are gone have no counts.
    let plain = Profiles { frameworks: vec![framework("default-scheduler", basics())], revision: 2 };
    scheduler.step(Input::Profiles(Arc::new(plain)), bayplan::model::Time(0), &mut Vec::new());
    assert_eq!(counted(&scheduler), []);
}

#[test]
fn a_rule_that_alone_leaves_no_node_is_the_sole_blocker() {
    let scheduler = run(vec![
        node("small").cpu("1").object(),
        node("away").cpu("4").label("far", "yes").object(),
        pod("web").cpu("2").object(),
    ]);
    let waiting = scheduler.waiting();
    let alone: Vec<String> =
        waiting.by_one_rule.keys().map(|(policy, rule)| format!("{policy}/{rule}")).collect();
    assert_eq!(alone, ["rooms/far"]);
}
