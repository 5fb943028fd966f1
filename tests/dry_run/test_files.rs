//! The format of policy tests: what it reads, what it refuses, and what it says when something else came.

use crate::support::plugins::{Gang, basics, framework};
use bayplan::diag::SourceMap;
use bayplan::dry_run::World;
use bayplan::dry_run::cases::{self, Bench, Mismatch};
use bayplan::framework::Plugin;
use bayplan::lang::analysis::coverage::Coverage;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::plugins::policy::ExemptPods;
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

/// Every mistake of a file with its help, and the text at its place.
fn mistakes(text: &str) -> Vec<(String, String)> {
    let mut sources = SourceMap::new();
    let file = sources.add("some.test.yaml", text);
    let said = cases::read(&sources, file).unwrap_err();
    let with_help = |said: &bayplan::diag::Diagnostic| {
        let help = said.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        (format!("{}{help}", said.message), sources.text(said.span).to_owned())
    };
    said.iter().map(with_help).collect()
}

fn mistake(text: &str) -> (String, String) {
    let mut all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
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
        ["expected waits at permit; got does not wait at permit, is kept out of the queue by Gates"]
    );
}

#[test]
fn a_typing_error_is_a_mistake_and_has_a_place() {
    let (message, place) = mistake("cluster: c\ncases:\n- name: a\n  pod: {name: x}\n  expcet: {}\n");
    assert!(message.starts_with("unknown field `expcet`; did you mean `expect`?"), "{message}");
    assert_eq!(place, "expcet");
    let (message, place) = mistake("cluster: c\ncases:\n- name: first\n  pod: {}\n  expect: {nodde: n1}\n");
    assert!(message.starts_with("unknown field `nodde`; did you mean `node`?"), "{message}");
    assert_eq!(place, "nodde");
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
    let own = bayplan::plugins::policy::plugins(&policies, &ExemptPods::default());
    let mut coverage = Coverage::of([&*compiled.policy]);
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

#[test]
fn every_mistake_of_a_file_is_reported_with_its_place() {
    let text = "clutser: c
nodes: [{name: n1, cpu: 4}]
now: tomorrow
cases:
- name: a comma that ends the text
  pod: {}
  expect: {unschedulable: {reason: a, b}}
- name: nothing to fail
  pod: {}
  expect: {}
- name: neither
  pods: []
  expect: {a: {scores: {n1: 3}, gated: [x]}}
- pod: {requests: {cpu: lots}}
  expect: {refused: [n2], unschedulable: {nodes: -1}}
";
    let words: Vec<(String, String)> = mistakes(text);
    let expected = [
        ("unknown field `clutser`; did you mean `cluster`?", "clutser"),
        ("`tomorrow` is not an instant; write RFC 3339", "tomorrow"),
        ("unknown field `cpu`", "cpu"),
        ("unknown field `b`; quote a reason that has a comma", "b"),
        ("the case expects nothing: it could not fail; expect one of `node`, `one of`, `not`", "{"),
        ("`pods` needs at least one pod", "["),
        ("expected scores, found a whole number", "3"),
        ("expected `true`, `false` or the name of a policy or plugin, found a list", "["),
        ("a case needs a `name`", "pod"),
        ("`requests.cpu` cannot be `lots`", "lots"),
        ("a refusal is expected without its `reason`; write `reason: TEXT`", "{"),
        ("expected nodes with the rule that refuses, found a list", "["),
        ("expected a number of nodes, 0 or more", "-1"),
    ];
    for (message, place) in expected {
        let found = words.iter().find(|(said, _)| said.starts_with(message));
        let (_, at) = found.unwrap_or_else(|| panic!("{message}\nis not in {words:#?}"));
        assert!(at.starts_with(place), "{message} is at {at:?}");
    }
    assert_eq!(words.len(), expected.len(), "{words:#?}");
}

/// Runs the cases of a text with one policy: the mismatches of each.
fn with_policy(policy: &str, text: &str) -> Vec<Vec<String>> {
    let mut sources = SourceMap::new();
    let id = sources.add("p.bay", policy);
    let (mut policies, said) = bayplan::lang::compile(sources.get(id).unwrap());
    assert!(!said.iter().any(bayplan::diag::Diagnostic::is_error), "{said:?}");
    let compiled = Arc::new(CompiledPolicy::new(policies.remove(0), &sources));
    let file = sources.add("some.test.yaml", text);
    let read = cases::read(&sources, file).unwrap_or_else(|said| panic!("{said:#?}"));
    let policies = PolicySet::new([compiled]);
    let own = bayplan::plugins::policy::plugins(&policies, &ExemptPods::default());
    let plugins = basics().into_iter().chain(own).collect();
    at_bench(&sources, &World::default(), &policies, plugins, |bench| {
        let run = |at| {
            let ended = read.run_case(at, bench, &mut Coverage::default(), false);
            ended.unwrap_or_else(|said| panic!("{}", said.message)).mismatches
        };
        let words = |of: Mismatch| format!("expected {}; got {}", of.expected, of.got);
        (0..read.cases.len()).map(|at| run(at).into_iter().map(words).collect()).collect()
    })
}

#[test]
fn a_case_sets_the_clock() {
    let policy = "policy hours { gate \"after hours\" when !within(now(), \"Mon-Fri 08:00-18:00\", \"Europe/Berlin\") }";
    let text = "
now: 2026-01-05T09:00:00+01:00      # a Monday
nodes: [{name: n1}]
cases:
- {name: on Monday morning, pod: {}, expect: {gated: false, node: n1}}
- {name: at night, now: 2026-01-05T03:00:00+01:00, pod: {}, expect: {gated: hours}}
- {name: on Sunday, now: 2026-01-04T12:00:00Z, pod: {}, expect: {gated: hours}}
- {name: wrong, now: 2026-01-04T12:00:00Z, pod: {}, expect: {gated: false}}
";
    let came = with_policy(policy, text);
    assert_eq!(came[..3], [[""; 0]; 3]);
    assert_eq!(came[3], ["expected is let into the queue; got is kept out of the queue by hours"]);
}

#[test]
fn a_permit_wait_ends_at_its_time_after_the_start() {
    let policy =
        "policy patient { permit { wait 5s until now() > time(\"2026-01-05T08:00:02Z\") else \"late\" } }";
    let text = "
now: 2026-01-05T08:00:00Z
nodes: [{name: n1}]
cases:
- {name: goes on after two seconds, pod: {}, expect: {waits: patient, node: n1}}
- {name: needs no wait later, now: 2026-01-05T09:00:00Z, pod: {}, expect: {waits: false, node: n1}}
- {name: waits in vain before, now: 2026-01-05T07:00:00Z, pod: {}, expect: {unschedulable: true}}
";
    assert_eq!(with_policy(policy, text), [[""; 0]; 3]);
}

#[test]
fn a_case_has_namespaces_and_nodes_of_its_own() {
    let policy = "policy tier { filter same { \
        require node.labels[\"tier\"] == ns.labels[\"tier\"] else \"node(s) of another tier\" } }";
    let text = "
namespaces: {shop: {tier: prod}, other:}
nodes:
- {name: n1, labels: {tier: prod}, allocatable: {cpu: 4, memory: 8Gi}}
- metadata: {name: n2, labels: {tier: dev}}
  status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
cases:
- {name: prod, pod: {namespace: shop, requests: {cpu: 4}}, expect: {node: n1}}
- {name: no label, pod: {namespace: other}, expect: {unschedulable: {reason: node(s) of another tier, nodes: 2}}}
- name: this case only
  namespaces: {shop: {tier: dev}}
  pod: {namespace: shop}
  expect: {node: n2}
- name: a node of this case takes the place of the file's
  nodes: [{name: n1, labels: {tier: dev}, taints: [{key: x, effect: NoSchedule}]}, {name: n3, labels: {tier: prod}}]
  pod: {namespace: shop}
  expect: {node: n3, refused: {n1: tier/same, n2: tier}}
";
    assert_eq!(with_policy(policy, text), [[""; 0]; 4]);
}

#[test]
fn one_of_not_and_refused_are_expected_of_nodes() {
    let policy = "policy p {
        filter big { reject \"node(s) too small\" when node.allocatable.cpu < 4cpu }
        filter home { require node.labels[\"home\"] == \"yes\" else \"node(s) away\" }
        prefilter { reject \"too much\" when pod.requests.cpu > 6cpu }
    }";
    let head = "
nodes:
- {name: n1, allocatable: {cpu: 8}, labels: {home: 'yes'}}
- {name: n2, allocatable: {cpu: 8}, labels: {home: 'yes'}}
- {name: n3, allocatable: {cpu: 2}}
- {name: n4, allocatable: {cpu: 4}, labels: {home: 'yes'}}
cases:
";
    let right = [
        "expect: {one of: [n1, n2], not: n3}",
        "expect: {not: [n3, n4]}",
        "expect: {refused: {n3: p/big}}",
        "expect: {refused: {n3: p/home, n4: Fit}}",
        "expect: {refused: {n3: p, n4: true}}",
    ];
    let wrong = [
        ("{one of: [n3, n4]}", "expected one of n3, n4; got n"),
        ("{not: [n1, n2]}", "expected not n1, n2; got n"),
        ("{refused: {n1: p/big}}", "expected n1 refused by p/big; got n1 fits"),
        ("{refused: {n1: true}}", "expected n1 refused; got n1 fits"),
        ("{refused: {n4: p/home}}", "expected n4 refused by p/home; got n4 refused by Fit"),
    ];
    let case = |expect: &str| format!("- {{name: x, pod: {{requests: {{cpu: 5}}}}, {expect}}}\n");
    let text: String = right.iter().map(|expect| case(expect)).collect();
    assert_eq!(with_policy(policy, &format!("{head}{text}")), vec![Vec::<String>::new(); right.len()]);
    for (expect, came) in wrong {
        let found = with_policy(policy, &format!("{head}{}", case(&format!("expect: {expect}"))));
        assert!(found[0].len() == 1 && found[0][0].starts_with(came), "{expect}: {found:?}");
    }
    let refused = "- {name: x, pod: {requests: {cpu: 7}}, expect: {refused: {n1: p/prefilter, n2: p}}}\n";
    assert_eq!(with_policy(policy, &format!("{head}{refused}")), [[""; 0]]);
}

#[test]
fn the_example_names_every_expectation() {
    let readme = std::fs::read_to_string(crate::support::repository("examples/hours/README.md")).unwrap();
    for field in cases::FIELDS.iter().filter(|field| field.section == cases::Section::Expect) {
        assert!(readme.contains(&format!("| `{}: ", field.name)), "{}", field.name);
    }
    for section in cases::Section::ALL {
        assert!(cases::FIELDS.iter().any(|field| field.section == section), "{}", section.title());
    }
}

#[test]
fn evictions_are_expected_by_the_names_of_the_pods() {
    let head = "
nodes: [{name: n1, allocatable: {cpu: 4}}]
cases:
";
    let case = |expect: &str| {
        format!(
            "- name: x
  pods:
  - {{name: high, priority: 10, requests: {{cpu: 3}}}}
  - {{name: low, node: n1, priority: 5, requests: {{cpu: 2}}}}
  - {{name: small, node: n1, priority: 1, requests: {{cpu: 1}}}}
  expect: {{high: {expect}}}
"
        )
    };
    let policy = "policy keeps { preempt { protect v when v.name == \"small\" && pod.priority < 5 } }";
    let right = ["{node: n1, evicts: [low]}", "{evicts: [low]}"];
    let wrong = [
        ("{evicts: []}", "expected evicts no pod; got evicts low; the pod is placed on n1"),
        ("{evicts: [low, small]}", "expected evicts low, small; got evicts low; the pod is placed on n1"),
    ];
    let text: String = right.iter().map(|expect| case(expect)).collect();
    assert_eq!(with_policy(policy, &format!("{head}{text}")), vec![Vec::<String>::new(); right.len()]);
    for (expect, came) in wrong {
        let found = with_policy(policy, &format!("{head}{}", case(expect)));
        assert!(found[0].len() == 1 && found[0][0].starts_with(came), "{expect}: {found:?}");
    }
}

#[test]
fn what_rules_that_do_not_decide_would_do_is_expected_by_their_names() {
    let head = "
nodes: [{name: n1, allocatable: {cpu: 4}}, {name: n2, allocatable: {cpu: 1}}]
cases:
";
    let case = |expect: &str| format!("- {{name: x, pod: {{requests: {{cpu: 2}}}}, {expect}}}\n");
    let policy = "policy p { filter small { mode audit\n require node.name == \"n2\" else \"large\" }
        filter fast { mode warn\n require node.name != \"n2\" else \"slow\" } }";
    let right =
        ["expect: {node: n1, would: {small: waits}}", "expect: {would: {p/fast: same, p/small: waits}}"];
    let text: String = right.iter().map(|expect| case(expect)).collect();
    assert_eq!(with_policy(policy, &format!("{head}{text}")), vec![Vec::<String>::new(); right.len()]);
    let wrong = with_policy(policy, &format!("{head}{}", case("expect: {would: {small: moves}}")));
    assert_eq!(wrong, [["expected small: moves; got small: waits"]]);
    let found = mistakes(&format!("{head}{}", case("expect: {would: {small: wait}}")));
    assert_eq!(
        found[0].0,
        "this is nothing that a rule would do; one of `same`, `moves`, `waits`, `spares`, `evicts`"
    );
}

const REMEMBERS: &str = "policy p {
  memo tries: int by pod.labels[\"team\"] ?? \"\" ttl 1h
  memo pause: duration by pod.name ttl 1h
  memo off: bool by pod.name ttl 0s
  prefilter { reject \"rests\" when (tries ?? 0) >= 3 }
  filter small { require node.name == \"n2\" else \"large\" }
  after failure {
    remember tries = (tries ?? 0) + 1
    remember pause = 1min * (tries ?? 0)
    remember off = true
  }
  after bind { remember tries = none }
}";

#[test]
fn memos_are_given_and_expected_by_their_names() {
    let head = "nodes: [{name: n1}]\ncases:\n";
    let case = |rest: &str| format!("- {{name: x, {rest}}}\n");
    let one = "pod: {labels: {team: a}}";
    let right = [
        format!("{one}, expect: {{unschedulable: {{reason: large}}, remembers: {{tries: 1, pause: 0s, off: null}}}}"),
        format!("{one}, memos: {{tries: 2}}, expect: {{unschedulable: {{reason: large}}, remembers: {{p/tries: 3, pause: 2min}}}}"),
        format!("{one}, memos: {{p/tries: 3}}, expect: {{unschedulable: {{reason: rests}}}}"),
        format!("{one}, nodes: [{{name: n2}}], memos: {{tries: 2}}, expect: {{node: n2, remembers: {{tries: null}}}}"),
        // The pods of a team have one value.
        "pods: [{name: a, labels: {team: a}}, {name: b, labels: {team: a}}, {name: c}], memos: {a: {tries: 3}},
          expect: {b: {unschedulable: {reason: rests}}, c: {unschedulable: {reason: large}}}"
            .to_owned(),
    ];
    let text: String = right.iter().map(|rest| case(rest)).collect();
    assert_eq!(with_policy(REMEMBERS, &format!("{head}{text}")), vec![Vec::<String>::new(); right.len()]);
    let wrong = [
        ("{tries: 2}", "expected tries remembers 2; got tries remembers 1"),
        ("{pause: 2min}", "expected pause remembers 2min; got pause remembers 0s"),
        ("{p/tries: null}", "expected p/tries remembers nothing; got p/tries remembers 1"),
        ("{off: true}", "expected off remembers true; got off remembers nothing"),
    ];
    for (expect, came) in wrong {
        let text = case(&format!("{one}, expect: {{remembers: {expect}}}"));
        assert_eq!(with_policy(REMEMBERS, &format!("{head}{text}")), [[came]]);
    }
}

#[test]
fn memos_that_cannot_be_are_mistakes_of_the_case() {
    let other = "policy q { memo tries: int by 1 ttl 1h  filter f { require (tries ?? 0) < 3 else \"no\" } }";
    let said = |rest: &str| {
        let mut sources = SourceMap::new();
        let compiled = [REMEMBERS, other].map(|text| {
            let id = sources.add("p.bay", text);
            let (mut policies, _) = bayplan::lang::compile(sources.get(id).unwrap());
            Arc::new(CompiledPolicy::new(policies.remove(0), &sources))
        });
        let policies = PolicySet::new(compiled);
        let file =
            sources.add("some.test.yaml", format!("nodes: [{{name: n1}}]\ncases:\n- {{name: x, {rest}}}\n"));
        let read = cases::read(&sources, file).unwrap();
        let own = bayplan::plugins::policy::plugins(&policies, &ExemptPods::default());
        let plugins = basics().into_iter().chain(own).collect();
        let said = at_bench(&sources, &World::default(), &policies, plugins, |bench| {
            *read.run_case(0, bench, &mut Coverage::default(), false).unwrap_err()
        });
        let help = said.help.map(|help| format!("; {help}")).unwrap_or_default();
        (format!("{}{help}", said.message), sources.text(said.span).to_owned())
    };
    for (rest, message, place) in [
        (
            "pod: {}, memos: {paus: 1min}, expect: {node: n1}",
            "no policy has a memo `paus`; did you mean `pause`?",
            "1min",
        ),
        (
            "pod: {}, memos: {tries: 1}, expect: {node: n1}",
            "several policies have a memo `tries`; write `p/tries` or `q/tries`",
            "1",
        ),
        (
            "pod: {}, memos: {q/tries: a}, expect: {node: n1}",
            "the memo `q/tries` is `int`: `\"a\"` is a text",
            "a",
        ),
        (
            "pod: {}, memos: {pause: 7}, expect: {node: n1}",
            "the memo `pause` is `duration`: `7` has no unit; write it as a text, `\"60s\"`",
            "7",
        ),
        (
            "pod: {}, memos: {q/tries: null}, expect: {node: n1}",
            "the memo `q/tries` remembers nothing as the case begins",
            "null",
        ),
        (
            "pod: {}, memos: {off: true}, expect: {node: n1}",
            "the memo `off` keeps nothing: its ttl is 0",
            "true",
        ),
        (
            "pods: [{name: a}], memos: {b: {pause: 1s}}, expect: {a: {node: n1}}",
            "the case has no pod `b`",
            "1s",
        ),
        ("pod: {}, expect: {remembers: {off: 3}}", "the memo `off` is `bool`: `3` is a number", "3"),
    ] {
        assert_eq!(said(rest), (message.to_owned(), place.to_owned()), "{rest}");
    }
    let found =
        mistakes("nodes: [{name: n1}]\ncases:\n- {name: x, pod: {}, memos: [a], expect: {remembers: 3}}\n");
    let words: Vec<&str> = found.iter().map(|(said, _)| said.as_str()).collect();
    assert_eq!(
        words,
        [
            "expected memos with what they remember, found a whole number",
            "expected memos with what they remember, found a list"
        ]
    );
}

/// A gate that a failed attempt closes is asked again: explanations and coverage see what it saw then.
#[test]
fn a_gate_that_reads_a_memo_is_explained_as_it_was_at_the_end() {
    let policy = "policy c {
        applies when pod.labels[\"who\"] == \"c\"
        memo k: bool by pod.labels[\"job\"] ?? \"\" ttl 4min
        gate \"gated\" when k ?? false
        filter f { require now() >= timestamp(\"2026-03-02T10:03:00Z\") else \"late\" }
        after failure { remember k = true } }
      policy t { applies when pod.labels[\"who\"] == \"t\"
        permit { wait 210s until pod.labels[\"zz\"] == \"1\" else \"t\" } }";
    let text = "
now: 2026-03-02T10:00:00Z
nodes: [{name: n1}]
cases:
- name: x
  pods: [{name: q, labels: {who: c, job: x}}, {name: t, labels: {who: t}}]
  order: [q]
  expect: {q: {node: n1}}
";
    let mut sources = SourceMap::new();
    let id = sources.add("p.bay", policy);
    let (made, said) = bayplan::lang::compile(sources.get(id).unwrap());
    assert_eq!(made.len(), 2, "{said:?}");
    let policies = PolicySet::new(made.into_iter().map(|of| Arc::new(CompiledPolicy::new(of, &sources))));
    let file = sources.add("some.test.yaml", text);
    let read = cases::read(&sources, file).unwrap();
    let own = bayplan::plugins::policy::plugins(&policies, &ExemptPods::default());
    let plugins = basics().into_iter().chain(own).collect();
    let mut coverage = Coverage::of(policies.iter().map(|policy| &*policy.policy));
    let ended = at_bench(&sources, &World::default(), &policies, plugins, |bench| {
        read.run_case(0, bench, &mut coverage, false).unwrap()
    });
    let because: Vec<&str> =
        ended.mismatches.iter().flat_map(|wrong| &wrong.because).map(|because| &*because.text).collect();
    assert!(because.iter().any(|text| text.contains("keeps the pod out")), "{because:?}");
    assert!(!because.iter().any(|text| text.contains("lets the pod in")), "{because:?}");
    let gate = coverage.conditions().iter().find(|of| sources.text(of.span) == "k ?? false").unwrap();
    assert!(gate.seen_true && gate.seen_false, "{gate:?}");
}
