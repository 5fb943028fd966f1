//! The format of policy tests: what it reads, what it refuses, and what it says when something else came.

use crate::support::plugins::{Gang, basics, framework};
use bayplan::diag::SourceMap;
use bayplan::dry_run::cases::{self, Bench, Mismatch};
use bayplan::dry_run::World;
use bayplan::lang::coverage::Coverage;
use bayplan::lang::policy_set::PolicySet;
use bayplan::scheduler::Profiles;
use bayplan::testing::node;
use std::sync::Arc;

fn results(text: &str) -> Vec<Vec<String>> {
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let read = cases::read(&sources, file).unwrap();
    let world: World = [node("n1").cpu("1").object(), node("n2").cpu("2").object()].into_iter().collect();
    let plugins = basics().into_iter().chain([Arc::new(Gang::default()) as _]).collect();
    let frameworks = vec![framework("default-scheduler", plugins)];
    let profiles = Arc::new(Profiles { frameworks, revision: 1 });
    let policies = PolicySet::default();
    let bench = Bench {
        sources: &sources,
        cluster: &world,
        profiles: &profiles,
        policies: &policies,
        pod_file: &|_| None,
    };
    let run = |at| read.run_case(at, &bench, &mut Coverage::default(), false).unwrap().mismatches;
    let words = |of: Mismatch| format!("expected {}; got {}", of.expected, of.got);
    (0..read.cases.len()).map(|at| run(at).into_iter().map(words).collect()).collect()
}

fn mistake(text: &str) -> (String, String) {
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let said = *cases::read(&sources, file).unwrap_err();
    (said.message.clone(), sources.text(said.span).to_owned())
}

#[test]
fn what_comes_as_expected_passes_and_what_does_not_says_what_came() {
    let text = "
cluster: c.yaml
cases:
- name: fits one
  pod: {name: a, requests: {cpu: 1500m}}
  expect: {node: n2}
- name: fits none
  pod: {name: a, requests: {cpu: 3}}
  expect: {unschedulable: {reason: Insufficient cpu, nodes: 2}}
- name: wrong
  pod: {name: a, requests: {cpu: 3}}
  expect: {node: n1}
- name: gang
  pods: [{name: a, labels: {gang: x, gang-size: '3'}}, {name: b, priority: 7}]
  order: [b, a]
  expect: {a: {waits: Gang}, b: {waits: false}}
- name: gated
  pod: {schedulingGates: [later]}
  expect: {gated: Gates, waits: true}
";
    let none: [&str; 0] = [];
    let results = results(text);
    assert_eq!(results[0], none);
    assert_eq!(results[1], none);
    let waits = "expected n1; got waits: 0/2 nodes are available: 2 Insufficient cpu.";
    assert_eq!(results[2], [waits]);
    assert_eq!(results[3], none);
    assert_eq!(results[4], ["expected waits at permit; got waits at permit for nobody, is kept out of the queue by Gates"]);
}

#[test]
fn a_typing_error_is_a_mistake_and_has_a_place() {
    let (message, _) = mistake("cluster: c\ncases:\n- name: a\n  pod: {name: x}\n  expcet: {}\n");
    assert!(message.contains("expcet"), "{message}");
    let (message, place) = mistake("cluster: c\ncases:\n- name: first\n  pod: {}\n  expect: {nodde: n1}\n");
    assert!(message.contains("nodde") && place.starts_with('{'), "{message} at {place:?}");
    let (message, place) = mistake("cluster: c\ncases:\n- name: first\n  expect: {node: n1}\n");
    assert_eq!((message.as_str(), place.as_str()), ("a case needs a `pod`, or `pods`", "first"));
}
