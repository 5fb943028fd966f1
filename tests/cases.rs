//! The format of policy tests: what it reads, what it refuses, and what it says when something else came.

use crate::support::plugins::{Gang, basics, framework};
use bayplan::diag::SourceMap;
use bayplan::dry_run::World;
use bayplan::dry_run::cases::{self, Bench, Mismatch};
use bayplan::framework::Plugin;
use bayplan::lang::eval::coverage::Coverage;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::plugins::policy::LeftAlone;
use bayplan::scheduler::Profiles;
use bayplan::testing::node;
use std::sync::Arc;

/// Calls `ask` with a bench that has this cluster, these policies and one profile of these plugins.
fn at_bench<T>(
    sources: &SourceMap,
    cluster: &World,
    policies: &PolicySet,
    plugins: Vec<Arc<dyn Plugin>>,
    ask: impl FnOnce(&Bench) -> T,
) -> T {
    let frameworks = vec![framework("default-scheduler", plugins)];
    let profiles = Arc::new(Profiles { frameworks, revision: 1 });
    ask(&Bench { sources, cluster, profiles: &profiles, policies, pod_file: &|_| None })
}

fn results(text: &str) -> Vec<Vec<String>> {
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let read = cases::read(&sources, file).unwrap();
    let world: World = [node("n1").cpu("1").object(), node("n2").cpu("2").object()].into_iter().collect();
    let plugins = basics().into_iter().chain([Arc::new(Gang::default()) as _]).collect();
    let words = |of: Mismatch| format!("expected {}; got {}", of.expected, of.got);
    at_bench(&sources, &world, &PolicySet::default(), plugins, |bench| {
        let run = |at| read.run_case(at, bench, &mut Coverage::default(), false).unwrap().mismatches;
        (0..read.cases.len()).map(|at| run(at).into_iter().map(words).collect()).collect()
    })
}

fn mistake(text: &str) -> (String, String) {
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let said = *cases::read(&sources, file).unwrap_err();
    let help = said.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    (format!("{}{help}", said.message), sources.text(said.span).to_owned())
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
    assert_eq!(
        results[4],
        ["expected waits at permit; got waits at permit for nobody, is kept out of the queue by Gates"]
    );
}

#[test]
fn a_typing_error_is_a_mistake_and_has_a_place() {
    let (message, _) = mistake("cluster: c\ncases:\n- name: a\n  pod: {name: x}\n  expcet: {}\n");
    assert!(message.contains("expcet") && message.ends_with("; did you mean `expect`?"), "{message}");
    let (message, place) = mistake("cluster: c\ncases:\n- name: first\n  pod: {}\n  expect: {nodde: n1}\n");
    assert!(message.contains("nodde") && place.starts_with('{'), "{message} at {place:?}");
    let (message, place) = mistake("cluster: c\ncases:\n- name: first\n  expect: {node: n1}\n");
    assert_eq!((message.as_str(), place.as_str()), ("a case needs a `pod`, or `pods`", "first"));
}

const COVERED: &str = "
/// Conditions of every kind.
policy kinds {
  let big = pod.requests.cpu > 2cpu
  applies when has(pod.labels[\"team\"])
  gate \"held\" when pod.labels[\"hold\"] == \"yes\"
  prefilter { reject unresolvable \"too much\" when pod.requests.cpu > 6cpu }
  filter home {
    require node.labels[\"team\"] == pod.labels[\"team\"] || node.labels[\"shared\"] == \"true\"
      else \"node(s) of another team\"
    reject \"node(s) for small pods\" when big && !(node.labels[\"big\"] == \"yes\")
  }
  score near { give 100 when node.labels[\"team\"] == \"shop\"; give 10 when node.labels[\"big\"] == \"yes\"; give 0 }
  permit { wait 5s until pod.labels[\"slow\"] != \"yes\" else \"too late\" }
}
";

/// The conditions that cases see: place in the text, seen true, seen false.
fn covered(pods: &str) -> Vec<(String, bool, bool)> {
    let mut sources = SourceMap::new();
    let text = sources.add("kinds.bay", COVERED);
    let (mut policies, said) = bayplan::lang::compile(sources.get(text).unwrap());
    assert!(!said.iter().any(bayplan::diag::Diagnostic::is_error), "{said:?}");
    let compiled = Arc::new(CompiledPolicy::new(policies.remove(0), &sources));
    let file = sources.add("some.test.yaml", format!("cluster: c.yaml\ncases:\n{pods}\n"));
    let read = cases::read(&sources, file).unwrap();
    let world: World = [
        node("n1").cpu("8").label("team", "shop").object(),
        node("n2").cpu("8").label("team", "audio").label("shared", "true").label("big", "yes").object(),
    ]
    .into_iter()
    .collect();
    let policies = PolicySet::new([compiled.clone()]);
    let own = bayplan::plugins::policy::plugins(&policies, &LeftAlone::default());
    let mut coverage = Coverage::of([&*compiled]);
    at_bench(&sources, &world, &policies, basics().into_iter().chain(own).collect(), |bench| {
        for at in 0..read.cases.len() {
            let ended = read.run_case(at, bench, &mut coverage, false).unwrap();
            assert_eq!(ended.mismatches, [], "{}", read.cases[at].name);
        }
    });
    let seen = coverage.conditions().iter();
    seen.map(|of| (sources.text(of.span).to_owned(), of.seen_true, of.seen_false)).collect()
}

#[test]
fn conditions_are_seen_as_far_as_attempts_ask_them() {
    let nothing = covered(" []");
    let texts: Vec<&str> = nothing.iter().map(|(text, ..)| text.as_str()).collect();
    let all = [
        "pod.requests.cpu > 2cpu",
        "has(pod.labels[\"team\"])",
        "pod.labels[\"hold\"] == \"yes\"",
        "pod.requests.cpu > 6cpu",
        "node.labels[\"team\"] == pod.labels[\"team\"] || node.labels[\"shared\"] == \"true\"",
        "node.labels[\"team\"] == pod.labels[\"team\"]",
        "node.labels[\"shared\"] == \"true\"",
        "big && !(node.labels[\"big\"] == \"yes\")",
        "(node.labels[\"big\"] == \"yes\")",
        "node.labels[\"team\"] == \"shop\"",
        "node.labels[\"big\"] == \"yes\"",
        "pod.labels[\"slow\"] != \"yes\"",
    ];
    assert_eq!(texts, all);
    assert!(nothing.iter().all(|(_, yes, no)| !yes && !no));
    let seen = |pods: &str| -> Vec<(bool, bool)> {
        covered(pods).into_iter().map(|(_, yes, no)| (yes, no)).collect()
    };
    let (neither, yes, no, both) = ((false, false), (true, false), (false, true), (true, true));
    // A pod without the label: nothing but `applies when` is asked.
    let other = seen("- {name: a, pod: {name: a}, expect: {unschedulable: false}}");
    assert_eq!(other[1], no);
    assert!(other.iter().enumerate().all(|(at, seen)| at == 1 || *seen == neither), "{other:?}");
    // A pod that the gate holds is not tried.
    let held = seen("- {name: a, pod: {labels: {team: shop, hold: 'yes'}}, expect: {gated: true}}");
    assert_eq!((held[1], held[2]), (yes, yes));
    assert!(held[3..].iter().all(|seen| *seen == neither), "{held:?}");
    // One that prefilter refuses asks no node.
    let large =
        seen("- {name: a, pod: {labels: {team: shop}, requests: {cpu: 7}}, expect: {unschedulable: true}}");
    assert_eq!((large[2], large[3]), (no, yes));
    assert!(large[4..].iter().all(|seen| *seen == neither), "{large:?}");
    // A small pod: short cuts leave `shared` of n1 and `big` unasked; both nodes are scored.
    let small = seen("- {name: a, pod: {labels: {team: shop}, requests: {cpu: 1}}, expect: {node: n1}}");
    assert_eq!(small, [no, yes, no, no, yes, both, yes, no, neither, both, yes, yes]);
    // A large one is refused by n1; the second condition of n1's `||` stays unasked.
    let one = seen("- {name: a, pod: {labels: {team: shop}, requests: {cpu: 3}}, expect: {node: n2}}");
    assert_eq!(one, [yes, yes, no, no, yes, both, yes, both, both, no, yes, yes]);
    // All together.
    let all = seen(
        "- {name: a, pod: {labels: {team: audio, slow: 'yes'}}, expect: {waits: kinds}}
- {name: b, pod: {labels: {team: nobody}}, expect: {node: n2}}",
    );
    assert_eq!((all[4], all[6], all[11]), (both, both, both));
}

#[test]
fn names_that_nothing_has_are_mistakes_of_the_case() {
    let broken = |expect: &str| {
        let mut sources = SourceMap::new();
        let text = format!("cluster: c.yaml\ncases:\n- name: a\n  pod: {{name: a}}\n  expect: {expect}\n");
        let file = sources.add("some.test.yaml", text);
        let read = cases::read(&sources, file).unwrap();
        let world: World = [node("node-1").cpu("1").object()].into_iter().collect();
        let said = at_bench(&sources, &world, &PolicySet::default(), basics(), |bench| {
            *read.run_case(0, bench, &mut Coverage::default(), false).unwrap_err()
        });
        (said.message.clone(), said.help.clone().unwrap_or_default(), sources.text(said.span).to_owned())
    };
    let (message, help, place) = broken("{node: node-2}");
    assert_eq!(message, "no node of the cluster is called `node-2`");
    assert_eq!((help.as_str(), place.as_str()), ("did you mean `node-1`?", "node-2"));
    assert_eq!(broken("{scores: {node-1: {fullest: 3}}}").0, "no policy has a score `fullest`");
    assert_eq!(broken("{gated: Gatess}").1, "did you mean `Gates`?");
}
