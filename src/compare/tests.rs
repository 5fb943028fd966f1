//! Verdicts about pairs of rules, and a slow oracle: every pod and node of a small domain, by the reference evaluator.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use super::*;
use bayplan_diag::SourceMap;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::types::value::Constant;

pub(super) fn policy(rules: &str) -> Policy {
    let mut sources = SourceMap::new();
    let id = sources
        .add("p.bay", format!("policy p {{ source load = metrics(window: 15min, max_age: 5min) {rules} }}"));
    let (mut policies, said) = bayplan_lang::compile(sources.get(id).unwrap());
    assert_eq!(policies.len(), 1, "{rules}: {said:?}");
    policies.remove(0)
}

/// The verdict about the only rule that is not the same, with the texts of its witnesses.
fn verdict(old: &str, new: &str) -> (&'static str, Vec<String>) {
    let (old, new) = (policy(old), policy(new));
    let diffs = compare(Some(&old), Some(&new), None);
    let changed: Vec<&RuleDiff> =
        diffs.iter().filter(|diff| !matches!(diff.verdict, Verdict::Same)).collect();
    match changed.as_slice() {
        [] => ("same", Vec::new()),
        [diff] => {
            let because = diff.verdict.witnesses().into_iter().map(|(effect, witness)| {
                format!("{effect}: {}", witness.made_of.as_ref().unwrap().because.join(", "))
            });
            (diff.verdict.word(), because.collect())
        }
        more => panic!("{more:?}"),
    }
}

pub(super) fn filter(condition: &str) -> String {
    format!("filter f {{ reject \"no\" when {condition} }}")
}

#[test]
fn conditions_are_compared_by_meaning() {
    let same = [
        ("node.labels[\"a\"] == \"x\"", "\"x\" == node.labels[\"a\"]"),
        ("!(node.unschedulable && pod.priority > 3)", "!node.unschedulable || pod.priority <= 3"),
        ("pod.priority > 3", "pod.priority >= 4"),
        (
            "node.labels[\"a\"] == \"x\" || node.labels[\"a\"] == \"y\"",
            "node.labels[\"a\"] in [\"y\", \"x\"]",
        ),
        ("pod.requests.cpu > node.free.cpu", "!(node.free.cpu >= pod.requests.cpu)"),
        ("(pod.labels[\"a\"] ?? \"\") == \"x\"", "pod.labels[\"a\"] == \"x\""),
        ("\"a\" in pod.labels", "has(pod.labels[\"a\"])"),
    ];
    for (old, new) in same {
        assert_eq!(verdict(&filter(old), &filter(new)).0, "same", "{old} and {new}");
    }
    let stricter = [
        ("pod.priority > 3", "pod.priority > 2"),
        ("node.labels[\"a\"] == \"x\"", "node.labels[\"a\"] in [\"x\", \"y\"]"),
        (
            "pod.labels[\"team\"] != node.labels[\"team\"] && node.unschedulable",
            "pod.labels[\"team\"] != node.labels[\"team\"]",
        ),
        ("node.free.cpu < 2cpu", "node.free.cpu < 4cpu"),
        ("node.pods.count() > 10", "node.pods.count() > 5"),
        ("node.name.startsWith(\"gpu-a\")", "node.name.startsWith(\"gpu-\")"),
    ];
    for (old, new) in stricter {
        let (word, witness) = verdict(&filter(old), &filter(new));
        assert_eq!((word, witness.len()), ("stricter", 1), "{old} and {new}: {witness:?}");
        let (word, witness) = verdict(&filter(new), &filter(old));
        assert_eq!((word, witness.len()), ("looser", 1), "{new} and {old}: {witness:?}");
    }
    let (word, witness) = verdict(&filter("pod.priority > 3"), &filter("node.unschedulable"));
    assert_eq!((word, witness.len()), ("incomparable", 2), "{witness:?}");
}

#[test]
fn cases_of_values_are_compared() {
    let load = "load[node.name]";
    let policies: [(String, String); 4] = [
        (format!("has({load}) && {load}.cpu.mean > 2cpu"), format!("({load}.cpu.mean ?? 0cpu) > 2cpu")),
        // The share is at most 1.
        (
            format!("(has({load}) ? 1.0 : 101.0) + share(pod.requests.cpu, node.allocatable.cpu) > 100.0"),
            format!("!has({load})"),
        ),
        ("({\"x\": 4}[pod.labels[\"a\"] ?? \"\"] ?? 0) > 2".into(), "pod.labels[\"a\"] == \"x\"".into()),
        (
            "(pod.priority > 3 ? \"x\" : \"y\") + \"z\" == \"xz\"".into(),
            "!(pod.priority <= 3) && \"xz\" == \"x\" + \"z\"".into(),
        ),
    ];
    for (old, new) in policies {
        assert_eq!(verdict(&filter(&old), &filter(&new)).0, "same", "{old} and {new}");
    }
    let of = |condition: &str| cel_policy(condition, OnError::Reject);
    let same = [
        ("pod.labels[?\"a\"].hasValue()", "\"a\" in pod.labels"),
        ("pod.labels[?\"a\"].value() == \"x\"", "pod.labels[\"a\"] == \"x\""),
        (
            "pod.labels[?\"a\"].optMap(v, v == \"x\").orValue(false)",
            "(\"a\" in pod.labels && pod.labels[\"a\"] == \"x\")",
        ),
        ("optional.of(pod.priority).orValue(1) > 3", "pod.priority > 3"),
        (
            "pod.labels[?\"a\"].or(pod.labels[?\"b\"]).hasValue()",
            "\"a\" in pod.labels || \"b\" in pod.labels",
        ),
        // A fault before and after, and what hides it.
        (
            "size(pod.labels[\"a\"] + \"-\") > 2 || node.unschedulable",
            "node.unschedulable || size(pod.labels[?\"a\"].value() + \"-\") > 2",
        ),
    ];
    for (old, new) in same {
        let diffs = compare(Some(&of(old)), Some(&of(new)), None);
        assert!(diffs.iter().all(|diff| matches!(diff.verdict, Verdict::Same)), "{old} and {new}: {diffs:?}");
    }
    let fault = compare(Some(&of("pod.labels[?\"a\"].orValue(\"\") == \"x\"")), Some(&of(same[1].1)), None);
    assert!(matches!(fault[0].verdict, Verdict::Stricter(_)), "{fault:?}");
}

#[test]
fn what_stands_around_a_condition_counts() {
    let when = |applies: &str, rule: &str| format!("applies when {applies} {rule}");
    let rule = filter("node.unschedulable");
    assert_eq!(verdict(&rule, &when("pod.priority > 0", &rule)).0, "looser");
    let lets = format!("let limit = 4 {}", filter("pod.priority > limit"));
    assert_eq!(verdict(&filter("pod.priority > 4"), &lets).0, "same");
    assert_eq!(verdict(&filter("pod.priority > 4"), "").0, "looser");
    assert_eq!(verdict("", &filter("pod.priority > 4")).0, "stricter");
    assert_eq!(verdict(&rule, &rule.replace("filter f", "filter g")).0, "same");
    let audit = rule.replace("{ ", "{ mode audit ");
    assert_eq!(verdict(&rule, &audit).0, "looser");
}

#[test]
fn scores_are_compared_by_their_values() {
    let score = |body: &str| format!("score s {{ {body} }}");
    let give = score("give 75 when node.labels[\"a\"] == \"x\" give 10");
    assert_eq!(verdict(&give, &score("give 10 when node.labels[\"a\"] != \"x\" give 75")).0, "same");
    assert_eq!(verdict(&give, &score("give 50 when node.labels[\"a\"] == \"x\" give 10")).0, "different");
    assert_eq!(verdict(&give, &give.replace("score s", "score s weight 3")).0, "different");
}

/// What is combined to random conditions.
const ATOMS: &[&str] = &[
    "pod.priority > 3",
    "pod.priority >= 3",
    "pod.priority == 3",
    "pod.priority < 0",
    "node.unschedulable",
    "node.labels[\"a\"] == \"x\"",
    "node.labels[\"a\"] in [\"x\", \"y\"]",
    "node.labels[\"a\"] != \"y\"",
    "has(node.labels[\"a\"])",
    "pod.labels[\"a\"] == node.labels[\"a\"]",
    "pod.labels[\"a\"] != node.labels[\"a\"]",
    "(pod.labels[\"a\"] ?? \"x\") == \"x\"",
    "\"a\" in pod.labels",
    "pod.requests.cpu > node.free.cpu",
    "node.free.cpu < 2cpu",
    "pod.requests.cpu >= 2cpu",
    "(pod.labels[\"a\"] ?? \"\").startsWith(\"x\")",
    "(pod.labels[\"a\"] ?? \"\").startsWith(\"xy\")",
    "(pod.priority > 3 ? node.unschedulable : \"a\" in pod.labels)",
    "node.free.cpu >= pod.requests.cpu",
    "has(load[node.name])",
    "(load[node.name].cpu.mean ?? 0cpu) > 2cpu",
    "has(load[node.name]) && load[node.name].cpu.mean <= 2cpu",
    "(pod.priority > 3 ? load[node.name].cpu.mean ?? 3cpu : 1cpu) > 2cpu",
    "(load[node.name].cpu.mean ?? 0cpu) > node.free.cpu",
    "100.0 * share(pod.requests.cpu, node.free.cpu) > 60.0",
    "((load[node.name] == none ? 101.0 : 1.0) + share(pod.requests.cpu, node.free.cpu)) > 100.0",
    "({\"x\": 4, \"y\": 1}[pod.labels[\"a\"] ?? \"\"] ?? 0) > 2",
    "true",
];

/// Atoms of CEL, where a missing label is a fault.
const CEL_ATOMS: &[&str] = &[
    "pod.priority > 3",
    "pod.priority <= 3",
    "pod.priority == 3",
    "node.unschedulable",
    "node.labels[\"a\"] == \"x\"",
    "node.labels[\"a\"] in [\"x\", \"y\"]",
    "node.labels[\"a\"] != \"y\"",
    "\"a\" in node.labels",
    "pod.labels[\"a\"] == node.labels[\"a\"]",
    "pod.labels[\"a\"] != node.labels[\"a\"]",
    "\"a\" in pod.labels",
    "pod.labels[\"a\"].startsWith(\"x\")",
    "pod.labels[?\"a\"].orValue(\"x\") == \"x\"",
    "(pod.priority > 3 ? node.unschedulable : pod.labels[\"a\"] == \"x\")",
    "pod.labels[?\"a\"].hasValue()",
    "pod.labels[?\"a\"].value() == \"x\"",
    "pod.labels[?\"a\"].optMap(v, v == \"x\").orValue(false)",
    "pod.labels[?\"a\"].optMap(v, v in [\"x\", \"y\"]).orValue(true)",
    "pod.labels[?\"a\"].or(node.labels[?\"a\"]).orValue(\"y\") == \"x\"",
    "pod.labels[?\"a\"].optFlatMap(v, node.labels[?v]).hasValue()",
    "optional.of(pod.priority).orValue(1) > 3",
    "(pod.priority > 3 ? pod.labels[?\"a\"] : optional.none()).hasValue()",
    "size(pod.labels[\"a\"] + node.labels[\"a\"]) > 2",
    "[1, 2].exists(i, i == pod.priority - 1 && pod.labels[\"a\"] == \"x\")",
    "sources.load[?node.name].hasValue()",
    "sources.load[node.name].cpu.mean > node.free.cpu",
    "(sources.load[?node.name].hasValue() ? sources.load[?node.name].value().cpu.mean : pod.requests.cpu) > node.free.cpu",
    "share(pod.requests.cpu, node.free.cpu) * 100.0 > 60.0",
    "((sources.load[?node.name].hasValue() ? 1.0 : 101.0) + share(pod.requests.cpu, node.free.cpu)) > 100.0",
    "true",
];

/// Parts of tests that the proof takes as one value.
const OPAQUE: &[&str] = &["exists(", "size(", "optFlatMap("];

/// A filter in CEL.
pub(super) fn cel_policy(condition: &str, on_error: OnError) -> Policy {
    let mut sources = SourceMap::new();
    let on_error = if on_error == OnError::Ignore { "ignore" } else { "reject" };
    let text = format!(
        "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: p}}\nspec:\n  onError: {on_error}\n  \
         sources:\n  - {{name: load, window: '900s', maxAge: '300s'}}\n  filters:\n  - name: f\n    rules:\n    - reject: 'no'\n      when: '{condition}'\n"
    );
    let id = sources.add("p.yaml", text);
    let (mut policies, said) = bayplan_lang::compile(sources.get(id).unwrap());
    assert_eq!(policies.len(), 1, "{condition}: {said:?}");
    policies.remove(0)
}

/// A condition of tests, each by its number.
#[derive(Clone)]
pub(super) enum Condition {
    Atom(usize),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    fn random(atoms: usize, random: &mut impl FnMut(usize) -> usize, depth: usize) -> Self {
        if depth == 0 || random(4) == 0 {
            return Self::Atom(random(atoms));
        }
        let left = Box::new(Self::random(atoms, random, depth - 1));
        match random(3) {
            0 => Self::Not(left),
            1 => Self::And(left, Box::new(Self::random(atoms, random, depth - 1))),
            _ => Self::Or(left, Box::new(Self::random(atoms, random, depth - 1))),
        }
    }

    /// Its value where the atoms have these; `None` is a fault, which the other side hides if it decides.
    fn value(&self, atoms: &[Option<bool>]) -> Option<bool> {
        match self {
            Self::Atom(at) => atoms[*at],
            Self::Not(inner) => inner.value(atoms).map(|value| !value),
            Self::And(left, right) => match [left.value(atoms), right.value(atoms)] {
                [Some(false), _] | [_, Some(false)] => Some(false),
                [Some(true), Some(true)] => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match [left.value(atoms), right.value(atoms)] {
                [Some(true), _] | [_, Some(true)] => Some(true),
                [Some(false), Some(false)] => Some(false),
                _ => None,
            },
        }
    }

    /// As a policy writes it.
    pub(super) fn text(&self, atoms: &[&str]) -> String {
        match self {
            Self::Atom(at) => atoms[*at].to_owned(),
            Self::Not(inner) => format!("!({})", inner.text(atoms)),
            Self::And(left, right) => format!("({} && {})", left.text(atoms), right.text(atoms)),
            Self::Or(left, right) => format!("({} || {})", left.text(atoms), right.text(atoms)),
        }
    }
}

/// What a pair's policies in CEL say of faults: one and the other in turn.
pub(super) fn on_error(pair: usize) -> OnError {
    [OnError::Reject, OnError::Ignore][pair % 2]
}

/// Pairs of conditions over so many tests, others for each `BAYPLAN_PAIRS_SEED`. Half of them are a condition and a part of it.
pub(super) fn random_pairs(atoms: usize, pairs: usize) -> Vec<[Condition; 2]> {
    let mut state = std::env::var("BAYPLAN_PAIRS_SEED").map_or(7, |text| text.parse::<u64>().unwrap());
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let pair = |_| {
        let old = Condition::random(atoms, &mut random, 3);
        let new = match random(2) {
            0 => Condition::random(atoms, &mut random, 3),
            _ => {
                let is_and = random(2) == 0;
                let (left, right) =
                    (Box::new(old.clone()), Box::new(Condition::random(atoms, &mut random, 1)));
                if is_and { Condition::And(left, right) } else { Condition::Or(left, right) }
            }
        };
        [old, new]
    };
    (0..pairs).map(pair).collect()
}

/// A pod and a node for each way in which the tests of the atoms can come out together, so that it tells as much as all pods
/// and nodes.
fn domain() -> Vec<Objects> {
    let base = Objects::default();
    let texts = [None, Some("x"), Some("y"), Some("xy"), Some("xyz"), Some("xz"), Some("z")];
    let (mut all, mut turn) = (Vec::new(), 0);
    for of_pod in texts {
        for of_node in texts {
            for priority in [-1, 0, 3, 4] {
                let amounts = [("1", "1"), ("2", "1"), ("3", "4"), ("1", "3"), ("3", "2"), ("1", "500m")];
                // In millicores: below, at and above what the tests compare with.
                let loads = [None, Some(400), Some(2_000), Some(3_000), Some(5_000)];
                turn += 1;
                for ((cpu, free), unschedulable) in
                    amounts.into_iter().flat_map(|of| [(of, true), (of, false)])
                {
                    let mut objects = base.clone();
                    // Another one each time: over all of the domain each is beside every amount.
                    turn += 1;
                    if let Some(mean) = loads[turn % loads.len()] {
                        let part = node_load::LoadPart::Cpu(node_load::Amount::Mean);
                        node_load::NodeLoad::put(&mut objects.load, part, &Constant::Int(mean)).unwrap();
                    }
                    let set = |object: &mut serde_json::Value, path: &str, value: serde_json::Value| {
                        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
                        places::set(object, &path, Some(value));
                    };
                    of_pod
                        .into_iter()
                        .for_each(|text| set(&mut objects.pod, "metadata/labels/a", text.into()));
                    of_node
                        .into_iter()
                        .for_each(|text| set(&mut objects.node, "metadata/labels/a", text.into()));
                    set(&mut objects.pod, "spec/priority", priority.into());
                    set(&mut objects.pod, "spec/containers/0/resources/requests/cpu", cpu.into());
                    set(&mut objects.node, "status/allocatable/cpu", free.into());
                    set(&mut objects.node, "spec/unschedulable", unschedulable.into());
                    all.push(objects);
                }
            }
        }
    }
    all
}

/// The filter of a policy, made once for all pods and nodes.
fn filter_of(policy: &Policy) -> Group<'_> {
    Side::new(policy).groups().into_iter().find(|group| group.kind == GroupKind::Filter).unwrap()
}

fn refuses(policy: &Policy, objects: &Objects) -> bool {
    objects.evaluated(false, |context, _| filter_of(policy).refuses(context, None)).unwrap()
}

#[test]
fn no_verdict_about_random_conditions_is_wrong() {
    // A test of the language has no faults.
    check_random(ATOMS, &|condition, _| policy(&filter(&format!("({condition})"))));
}

#[test]
fn no_verdict_about_random_conditions_in_cel_is_wrong() {
    check_random(CEL_ATOMS, &cel_policy);
}

/// What each atom comes to for each pod and node; `None` is a fault.
fn outcomes(
    atoms: &[&str],
    policy: &dyn Fn(&str, OnError) -> Policy,
    domain: &[Objects],
) -> Vec<Vec<Option<bool>>> {
    let both_ways = |atom: &&str| [OnError::Reject, OnError::Ignore].map(|on_error| policy(atom, on_error));
    let policies: Vec<[Policy; 2]> = atoms.iter().map(both_ways).collect();
    let filters: Vec<[Group<'_>; 2]> = policies.iter().map(|both| both.each_ref().map(filter_of)).collect();
    let of_objects = |objects: &Objects| {
        let all = objects.evaluated(false, |context, _| {
            let outcome = |both: &[Group<'_>; 2]| {
                let [fails_or_holds, holds] = both.each_ref().map(|filter| filter.refuses(context, None));
                (fails_or_holds == holds).then_some(holds)
            };
            filters.iter().map(outcome).collect()
        });
        all.unwrap()
    };
    domain.iter().map(of_objects).collect()
}

/// Compares random pairs, and holds each verdict against every pod and node of the domain.
///
/// What a condition comes to follows from its atoms, which are evaluated once for each pod and node. For a thousand of the
/// pairs, or all if there are fewer, the reference evaluator confirms it.
fn check_random(atoms: &[&str], policy: &dyn Fn(&str, OnError) -> Policy) {
    // So many policies are in memory at a time.
    const BATCH: usize = 1_000;
    let pairs: usize = std::env::var("BAYPLAN_PAIRS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    // Odd, so that both ways to take faults are among them.
    let confirmed = (pairs / 1_000) | 1;
    let domain = domain();
    let outcomes = outcomes(atoms, policy, &domain);
    let (mut unknown, mut words) = (Vec::new(), std::collections::BTreeMap::<&str, usize>::new());
    let conditions = random_pairs(atoms.len(), pairs);
    for (batch, conditions) in conditions.chunks(BATCH).enumerate() {
        let policies: Vec<[Policy; 2]> = (batch * BATCH..)
            .zip(conditions)
            .map(|(at, both)| both.each_ref().map(|of| policy(&of.text(atoms), on_error(at))))
            .collect();
        let filters: Vec<[Group<'_>; 2]> =
            policies.iter().map(|both| both.each_ref().map(filter_of)).collect();
        // Whether one is stricter, and whether one is looser, for some pod and node of the domain.
        let mut shown = vec![(false, false); conditions.len()];
        for (objects, outcomes) in domain.iter().zip(&outcomes) {
            objects.evaluated(false, |context, _| {
                let pairs = conditions.iter().zip(&filters).zip(&mut shown);
                for (at, ((both, filters), shown)) in (batch * BATCH..).zip(pairs) {
                    let [before, after] = both
                        .each_ref()
                        .map(|of| of.value(outcomes).unwrap_or(on_error(at) == OnError::Reject));
                    if at % confirmed == 0 {
                        let evaluated = filters.each_ref().map(|filter| filter.refuses(context, None));
                        assert_eq!(
                            [before, after],
                            evaluated,
                            "{}",
                            both.each_ref().map(|of| of.text(atoms)).join("\n")
                        );
                    }
                    shown.0 |= after && !before;
                    shown.1 |= before && !after;
                }
            });
        }
        for ((both, [before, after]), (stricter, looser)) in conditions.iter().zip(&policies).zip(shown) {
            let [old, new] = both.each_ref().map(|of| of.text(atoms));
            let diffs = compare(Some(before), Some(after), None);
            let [diff] = diffs.as_slice() else { panic!("{diffs:?}") };
            *words.entry(diff.verdict.word()).or_default() += 1;
            let right = match &diff.verdict {
                Verdict::Same => !stricter && !looser,
                Verdict::Stricter(_) => !looser,
                Verdict::Looser(_) => !stricter,
                Verdict::Unknown(Unproved::SameOrStricter(_)) => !looser,
                Verdict::Unknown(Unproved::SameOrLooser(_)) => !stricter,
                _ => true,
            };
            assert!(right, "{}\n{old}\n{new}", diff.verdict.word());
            for (effect, witness) in diff.verdict.witnesses() {
                let objects = witness.made_of.as_ref().unwrap();
                let now = (refuses(before, objects), refuses(after, objects));
                assert_eq!(now, (effect == Effect::Passes, effect == Effect::Refused), "{old}\n{new}");
            }
            let is_opaque = |text: &String| OPAQUE.iter().any(|part| text.contains(part));
            if matches!(diff.verdict, Verdict::Unknown(_)) && !is_opaque(&old) && !is_opaque(&new) {
                unknown.push(format!("{old}\n  {new}"));
            }
        }
    }
    assert!(unknown.len() * 50 <= pairs, "of {pairs}, {words:?}:\n{}", unknown.join("\n"));
}

/// Changes of one place of a text: of a number, a comparison, `&&` and `||`, a negation.
fn edits(text: &str) -> Vec<String> {
    const SWAPS: &[(&str, &str)] = &[
        (" < ", " <= "),
        (" > ", " >= "),
        (" >= ", " > "),
        (" == ", " != "),
        (" != ", " == "),
        (" && ", " || "),
        (" || ", " && "),
        ("!", ""),
        (" when ", " when !has(pod.labels[\"edited\"]) && "),
        (" 100", " 99"),
        ("> 0", "> 1"),
        ("\"true\"", "\"yes\""),
        (" in ", " == "),
    ];
    let mut all = Vec::new();
    for (from, to) in SWAPS {
        for (at, _) in text.match_indices(from).take(4) {
            all.push(format!("{}{to}{}", &text[..at], &text[at + from.len()..]));
        }
    }
    all
}

/// Every policy below a folder.
fn library(folder: &std::path::Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => all.extend(library(&path)),
            false if path.extension().is_some_and(|ending| ending == "bay") => {
                all.push(std::fs::read_to_string(path).unwrap());
            }
            false => {}
        }
    }
    all
}

/// Policies of the library and edits of them: no verdict is contradicted by random pods and nodes that are made of the
/// fields which the policies read.
#[test]
fn no_verdict_about_edits_of_the_library_is_wrong() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let compiled = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", text);
        let (policies, said) = bayplan_lang::compile(sources.get(id).unwrap());
        (!said.iter().any(|said| said.is_error())).then_some(policies)?.into_iter().next()
    };
    let (mut compared, mut contradictions) = (0, Vec::new());
    for text in library(&folder) {
        let Some(old) = compiled(&text) else { continue };
        for edited in edits(&text).iter().step_by(3) {
            let Some(new) = compiled(edited) else { continue };
            let diffs = compare(Some(&old), Some(&new), None);
            compared += 1;
            let formulas = Formulas::new([&old, &new]);
            let exprs = [&old, &new].into_iter().enumerate().flat_map(|(side, policy)| {
                let conditions = policy.statements().filter_map(|of| of.condition());
                let narrows = policy.narrows();
                conditions.chain(narrows).map(move |expr| (side, expr)).collect::<Vec<_>>()
            });
            let leaves = witness::Leaves::of(&formulas, [None, None], exprs);
            let sides = [Side::new(&old), Side::new(&new)];
            let groups = [sides[0].groups(), sides[1].groups()];
            for at in 0..40 {
                let Some(objects) = witness::random(&leaves, at) else { continue };
                for diff in diffs.iter().filter(|diff| diff.kind.refuses_pods() && !diff.only_counts()) {
                    let [was, is] = [0, 1].map(|side: usize| {
                        let name = diff.renamed_from.as_ref().filter(|_| side == 0).unwrap_or(&diff.name);
                        let group = groups[side]
                            .iter()
                            .find(|of| of.kind == diff.kind && of.name == *name && !of.counts);
                        let refuses = |group: &Group<'_>| {
                            objects.evaluated(false, |context, _| group.refuses(context, None))
                        };
                        group.and_then(refuses).unwrap_or(false)
                    });
                    let wrong = match &diff.verdict {
                        Verdict::Same => was != is,
                        Verdict::Stricter(_) | Verdict::Unknown(Unproved::SameOrStricter(_)) => was && !is,
                        Verdict::Looser(_) | Verdict::Unknown(Unproved::SameOrLooser(_)) => is && !was,
                        _ => false,
                    };
                    if wrong {
                        contradictions.push(format!(
                            "{}/{} {} {was} {is}: {:?}",
                            diff.policy,
                            diff.name,
                            diff.verdict.word(),
                            objects.because
                        ));
                    }
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}
