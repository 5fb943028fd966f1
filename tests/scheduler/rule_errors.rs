//! Rules in CEL that fail: what their `onError` makes of the fault, and how metrics count it.

use crate::support::plugins::{basics, framework};
use crate::support::policies::compile;
use bayplan::dry_run::{self, Options, World};
use bayplan::model::{Object, Time};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Input, Profiles, Scheduler};
use bayplan::testing::{node, pod};
use std::sync::Arc;

fn document(spec: &str) -> String {
    format!("apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: tiers}}\nspec:\n{spec}")
}

fn profiles(text: &str) -> Arc<Profiles> {
    let policies = plugins(&compile(text), &ExemptPods::default());
    let plugins = basics().into_iter().chain(policies).collect();
    Arc::new(Profiles { frameworks: vec![framework("default-scheduler", plugins)], revision: 1 })
}

fn run(spec: &str, objects: Vec<Object>) -> Scheduler {
    let world: World = objects.into_iter().collect();
    dry_run::run(&world, profiles(&document(spec)), &Options::default()).scheduler
}

/// Rule, count, place and message of every rule that failed.
fn failed(scheduler: &Scheduler) -> Vec<String> {
    let said = |of: bayplan::scheduler::RuleErrors| {
        let fault = of.last;
        format!("{}/{} {} {}: {}", of.policy, fault.rule, of.count, fault.place, fault.message)
    };
    scheduler.rule_errors().map(said).collect()
}

fn nodes() -> Vec<Object> {
    let of_tier = |name: &str, tier: &str| node(name).cpu("4").label("tier", tier).object();
    vec![of_tier("gold", "gold"), of_tier("iron", "iron"), node("bare").cpu("4").object()]
}

fn with_pod(tier: &str) -> Vec<Object> {
    nodes().into_iter().chain([pod("web").cpu("1").label("tier", tier).object()]).collect()
}

/// How many pods have a node.
fn placed(scheduler: &Scheduler) -> usize {
    scheduler.snapshot().placed_pods()
}

const TIER: &str = "node.labels[\"tier\"]";

#[test]
fn a_filter_that_fails_refuses_passes_or_ends_the_attempt() {
    let filter = |on_error: &str, tier: &str| {
        let rule = format!(
            "  filters:\n  - name: tier\n    onError: {on_error}\n    rules:\n    - reject: another tier\n      when: '{TIER} != \"{tier}\"'\n"
        );
        run(&rule, with_pod("x"))
    };
    let fault = format!("test.yaml:10: no such key: {TIER}");
    // Counted once per attempt, whether or not the pod was placed.
    let scheduler = filter("reject", "gold");
    assert_eq!((placed(&scheduler), failed(&scheduler)), (1, vec![format!("tiers/tier 1 {fault}")]));
    let scheduler = filter("reject", "none");
    assert_eq!((placed(&scheduler), failed(&scheduler)), (0, vec![format!("tiers/tier 1 {fault}")]));
    let refusals: Vec<u64> = scheduler.rule_refusals().map(|(_, _, count)| count).collect();
    assert_eq!(refusals, [1], "a refusal by error is a refusal");
    let scheduler = filter("error", "none");
    assert_eq!(placed(&scheduler), 0);
    assert!(failed(&scheduler)[0].ends_with(&fault), "{:?}", failed(&scheduler));
    let scheduler = filter("ignore", "none");
    // What is ignored is counted too.
    assert_eq!((placed(&scheduler), failed(&scheduler)), (1, vec![format!("tiers/tier 1 {fault}")]));
}

#[test]
fn every_statement_that_fails_is_counted_under_its_name() {
    let key = "pod.labels[\"team\"] == \"a\"";
    let cases = [
        (
            format!(
                "  appliesWhen: '{key}'\n  filters: [{{name: f, expression: 'node.ready', reason: no}}]\n"
            ),
            "applies when",
        ),
        (format!("  gates: [{{reason: no, when: '{key}'}}]\n"), "gate"),
        (format!("  prefilter: [{{reject: no, when: '{key}'}}]\n"), "prefilter"),
        (format!("  scores: [{{name: rank, expression: '{TIER} == \"gold\" ? 5 : 6'}}]\n"), "rank"),
        (
            format!("  scores: [{{name: rank, onError: error, expression: '{TIER} == \"gold\" ? 5 : 6'}}]\n"),
            "rank",
        ),
        (format!("  permit: [{{reject: no, when: '{key}'}}]\n"), "permit"),
    ];
    for (spec, rule) in cases {
        let scheduler = run(&spec, with_pod("gold"));
        let said = failed(&scheduler);
        let one = said.first().unwrap_or_else(|| panic!("{spec}"));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(one.starts_with(&format!("tiers/{rule} ")) && one.contains("no such key: "), "{one}");
        let goes_on = rule == "rank" && !spec.contains("error");
        assert_eq!(placed(&scheduler), usize::from(goes_on), "{spec}");
        let ignoring = format!("  onError: ignore\n{}", spec.replace("onError: error, ", ""));
        let ignoring = run(&ignoring, with_pod("gold"));
        let said = failed(&ignoring);
        assert!(said.len() == 1 && said[0].starts_with(&format!("tiers/{rule} ")), "{spec}: {said:?}");
        assert_eq!(placed(&ignoring), 1, "{spec}");
    }
}

#[test]
fn counts_end_with_their_rule() {
    let spec =
        format!("  filters:\n  - name: tier\n    rules: [{{reject: another, when: '{TIER} != \"a\"'}}]\n");
    let mut scheduler = run(&spec, with_pod("x"));
    assert_eq!(failed(&scheduler).len(), 1);
    let again = profiles(&document(&spec));
    scheduler.step(Input::Profiles(again), Time(0), &mut Vec::new());
    assert_eq!(failed(&scheduler).len(), 1, "a reload keeps the counts");
    let renamed = profiles(&document(&spec.replace("name: tier", "name: other")));
    scheduler.step(Input::Profiles(renamed), Time(0), &mut Vec::new());
    assert_eq!(failed(&scheduler), Vec::<String>::new());
}
