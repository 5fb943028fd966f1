//! `lint --fix` on broken policies: what can be fixed is fixed in one call, compiles, and means what the
//! policy meant before it was broken.

use bayplan::diag::{Diagnostic, FixClass, Source, SourceMap, fix};
use bayplan::lang;
use bayplan::testing::Random;

/// What is said of a text, with the fixes that are certain.
fn said(sources: &mut SourceMap, text: &str) -> Vec<Diagnostic> {
    let id = sources.add("fixed.bay", text);
    let (_, mut said) = lang::compile(sources.get(id).unwrap());
    let compile = |source: &Source| fix::Compiled {
        diagnostics: lang::compile(source).1,
        statements: lang::statements(source),
    };
    fix::verify(sources, &mut said, &[id], &compile);
    said
}

/// A text when nothing more can be fixed, with what is said of it, as `lint --fix` gives them.
fn fixed(text: &str) -> (String, Vec<Diagnostic>) {
    let mut text = text.to_owned();
    for _ in 0..50 {
        let mut sources = SourceMap::new();
        let said = said(&mut sources, &text);
        let round = fix::apply(&sources, &said, &[FixClass::Certain]);
        if round.applied == 0 {
            assert_eq!(round.left, 0, "{text}");
            return (text, said);
        }
        let after = round.files.into_values().next().unwrap();
        assert_ne!(after, text, "a fix changes nothing");
        text = after;
    }
    panic!("fixing does not end\n{text}");
}

fn shown(said: &Diagnostic) -> String {
    format!("{} {}", said.code.id, said.message)
}

fn errors(said: &[Diagnostic]) -> Vec<String> {
    said.iter().filter(|said| said.is_error()).map(shown).collect()
}

/// Mistakes of the parser, by their codes.
fn of_the_parser(said: &Diagnostic) -> bool {
    said.is_error() && said.code.id.starts_with("BP00")
}

/// Policies of the design, and a few with everything that mutations look for.
fn policies() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/design");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "bay"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .filter(|text| errors(&said(&mut SourceMap::new(), text)).is_empty())
        .collect();
    texts.sort();
    texts.extend(
        [
            "/// A.\npolicy a {\n  param least = 3\n  filter f {\n    let size = int(node.labels[\"size\"]) ?? 0\n    \
             require size >= least && !(node.labels[\"team\"] in [\"a\", \"b\"]) else \"too small\"\n    \
             reject \"tired\" when node.labels[\"tired\"] == \"true\" || node.labels[\"age\"] != \"5\"\n  }\n  \
             score s weight 2 normalize max { give size when size > 0 && node.ready\n    give 0 }\n}\n",
            "/// A.\npolicy b {\n  applies when pod.labels[\"gpu\"] == \"1\"\n  filter zone { require \
             node.labels[\"topology.kubernetes.io/zone\"] == \"z\" else \"zone {node.zone}\" }\n  \
             filter free { reject \"full\" when node.free.cpu < 500m || node.free.memory <= 1Gi }\n  \
             gate \"closed\" when pod.annotations[\"hold\"] == \"true\" && now() - pod.created < 10min\n}\n",
        ]
        .map(str::to_owned),
    );
    texts
}

/// Mistakes that have one meaning: what is written, and how it is broken.
const CERTAIN: &[(&str, &str)] = &[
    (" == ", " === "),
    (" == ", " = "),
    (" != ", " !== "),
    (" != ", " <> "),
    (" != ", " ≠ "),
    (" <= ", " ≤ "),
    (" >= ", " ≥ "),
    (" && ", " and "),
    (" && ", " & "),
    (" || ", " or "),
    (" || ", " | "),
    (" && ", " AND "),
    ("!(", "not ("),
    (" == \"true\"", " == true"),
    (" == \"true\"", " == (true)"),
    (" != \"5\"", " != 5"),
    (" == \"1\"", " == 1"),
    (" == \"z\"", " == “z”"),
    (" when ", "\u{a0}when "),
    ("[\"topology.kubernetes.io/zone\"]", ".topology.kubernetes.io/zone"),
    (" else \"too small\"", " else 'too small'"),
    ("reject \"full\"", "reject 'full'"),
    ("size >= ", "(size ?? 3) >= "),
    (" > 0", " ?? 0 > 0"),
];

/// Mistakes that leave the meaning open, or none at all.
const OPEN: &[(&str, &str)] = &[
    ("least", "most"),
    ("node.", "nod."),
    ("labels", "lables"),
    ("\"", ""),
    ("{", ""),
    ("}", ""),
    ("(", ""),
    (")", ""),
    (" && ", " "),
    ("filter", "fliter"),
    ("require", "requires"),
    ("reject", "deny"),
    ("else", ""),
    ("size", "sizes"),
    ("3", "3x"),
    ("500m", "500"),
    ("1Gi", "1GB"),
    ("10min", "10m"),
    (" == ", " ~= "),
    (" == ", " => "),
    ("!(", "not "),
    (" ", " is "),
    ("[\"", "[“"),
    ("\"]", "”]"),
    (" in ", ".contains "),
    ("give", "yield"),
    ("when", "if"),
    ("weight 2", "weight 0"),
    ("\n", "\n  // text\n"),
    (";", "\n"),
];

/// The text with one place broken, if there is one.
fn broken(random: &mut Random, text: &str, mistakes: &[(&str, &str)]) -> Option<String> {
    let (right, wrong) = random.of(mistakes);
    let places: Vec<usize> = text.match_indices(right).map(|(at, _)| at).collect();
    let at = *random.pick(&places)?;
    // Not in comments.
    let line = text[..at].rsplit('\n').next().unwrap_or("");
    if line.contains("//") {
        return None;
    }
    Some(format!("{}{wrong}{}", &text[..at], &text[at + right.len()..]))
}

/// A text without blanks and brackets, in which two ways to write the same are the same.
fn essence(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect()
}

fn wanted() -> u64 {
    std::env::var("BAYPLAN_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

#[test]
fn certain_mistakes_are_fixed_to_what_was_meant() {
    let policies = policies();
    let (mut tried, mut mended) = (0, 0);
    for seed in 0..wanted() {
        let mut random = Random(31_000_000 + seed);
        let whole = random.of(&policies);
        let mut text = whole.clone();
        for _ in 0..1 + random.below(3) {
            text = broken(&mut random, &text, CERTAIN).unwrap_or(text);
        }
        if text == whole {
            continue;
        }
        tried += 1;
        let (after, said) = fixed(&text);
        // What is not certain in this place is left as it is; what was fixed is what was meant.
        if errors(&said).is_empty() {
            assert_eq!(essence(&after), essence(&whole), "from\n{text}\nto\n{after}");
            mended += 1;
        }
    }
    println!("{mended} of {tried} mended");
    assert!(mended * 10 >= tried * 8, "{mended} of {tried}");
}

#[test]
fn what_is_fixed_compiles_and_nothing_is_left_for_a_second_call() {
    let policies = policies();
    let (mut tried, mut fixable) = (0, 0);
    for seed in 0..wanted() {
        let mut random = Random(32_000_000 + seed);
        let mut text = random.of(&policies);
        for _ in 0..1 + random.below(3) {
            let mistakes = if random.one_in(2) { OPEN } else { CERTAIN };
            text = broken(&mut random, &text, mistakes).unwrap_or(text);
        }
        tried += 1;
        let mut sources = SourceMap::new();
        let before = said(&mut sources, &text);
        let only_fixable = before.iter().filter(|said| said.is_error()).all(|said| !said.fixes.is_empty());
        // The checker may find more in statements that the parser could not read.
        let unread = before.iter().any(of_the_parser);
        let (after, left) = fixed(&text);
        let known = errors(&before);
        let mut new: Vec<&Diagnostic> = left.iter().filter(|said| said.is_error()).collect();
        new.retain(|said| only_fixable || !known.contains(&shown(said)));
        new.retain(|said| !unread || of_the_parser(said));
        fixable += usize::from(only_fixable);
        let new: Vec<String> = new.into_iter().map(shown).collect();
        assert!(new.is_empty(), "{new:?}\nfrom\n{text}\nto\n{after}");
        let (again, _) = fixed(&after);
        assert_eq!(again, after, "a second call goes on");
    }
    println!("{fixable} of {tried} with certain fixes only");
    assert!(fixable * 10 > tried, "{fixable} of {tried}");
}

/// Changes with which a policy compiles as before, and about which there is something to say.
const ODD: &[(&str, &str)] = &[
    ("size >= ", "(size ?? 3) >= "),
    (" > 0", " ?? 0 > 0"),
    ("node.ready", "(node.ready ?? false)"),
    ("when node.free.cpu < 500m", "when percent(node.free.cpu, node.allocatable.cpu) < 80%"),
    ("when node.free.cpu < 500m", "when share(node.free.cpu, node.allocatable.cpu) < 80"),
    ("node.labels[\"tired\"] == \"true\"", "node.labels[\"tired\"] == pod.labels[\"tired\"]"),
    ("node.labels[\"age\"] != \"5\"", "node.labels[\"age\"] != pod.labels[\"age\"]"),
    ("filter free", "reserve { label pod {\"gpu\": \"1\"} }\n  filter free"),
    (
        "applies when pod.labels[\"gpu\"] == \"1\"",
        "applies when has(pod.labels[\"gpu\"])\n  queue by pod.labels[\"gpu\"] ?? \"\"",
    ),
    ("node.labels[\"topology.kubernetes.io/zone\"] ==", "(pod.labels[\"gpu\"] ?? \"\") =="),
];

/// What a policy decides about pods on a few clusters.
fn decisions(text: &str) -> Vec<String> {
    use crate::support::policies::{attempt, compile, framework_of, snapshot};
    use bayplan::testing::{node, pod};
    let framework = framework_of(&compile(text));
    let mut decided = Vec::new();
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut label = |value: &[&str]| random.of(value).to_owned();
        let nodes = (0..5).map(|at| {
            let made = node(&format!("n{at}")).cpu("4").memory("8Gi").label("size", &label(&["2", "3", "x"]));
            let made = made.label(&label(&["tired", "other"]), &label(&["true", "false"]));
            let made = made.label(&label(&["age", "other"]), &label(&["5", "6"]));
            made.zone(&label(&["z", "y"])).build()
        });
        let nodes = nodes.collect();
        let placed = pod("placed").cpu(&label(&["1", "3900m"])).on("n1").build();
        let asks = pod("asks").label(&label(&["gpu", "other"]), "1").label(&label(&["tired", "age"]), "true");
        let asks = asks.priority(if label(&["a", "b"]) == "a" { 5 } else { 0 }).build();
        let cluster = snapshot(&framework, nodes, vec![placed, asks.clone()]);
        decided.push(format!("{:?}", attempt(&framework, &cluster, &asks)));
    }
    decided
}

/// What `lint --fix` writes changes no decision: the fixes of what compiles keep its meaning, or are left to their author.
#[test]
fn what_compiled_before_decides_alike_after_its_fixes() {
    let policies = policies();
    let (mut tried, mut fixes, mut left) = (0, 0, 0);
    for seed in 0..wanted() {
        let mut random = Random(33_000_000 + seed);
        let mut text = random.pick(&policies[policies.len() - 2..]).unwrap().clone();
        for _ in 0..1 + random.below(3) {
            let mistakes = random.of(&[ODD, ODD, ODD, OPEN]);
            text = broken(&mut random, &text, mistakes).unwrap_or(text);
        }
        let mut sources = SourceMap::new();
        let before = said(&mut sources, &text);
        if !errors(&before).is_empty() {
            continue;
        }
        tried += 1;
        left +=
            before.iter().flat_map(|said| &said.fixes).filter(|fix| fix.class != FixClass::Certain).count();
        let (after, _) = fixed(&text);
        if after != text {
            fixes += 1;
            assert_eq!(decisions(&text), decisions(&after), "from\n{text}\nto\n{after}");
        }
    }
    assert!(tried > 200 && fixes > 30 && left > 10, "{tried} {fixes} {left}");
}

/// Texts that were fixed to what does not compile, or to another meaning.
#[test]
fn fixes_are_certain_or_are_none() {
    let policy = |statement: &str| format!("/// A.\npolicy p {{\n  applies to all pods\n  {statement}\n}}\n");
    for (wrong, right) in [
        (
            "filter f { reject \"on {node.labels.topology.kubernetes.io/zone}\" when node.name == \"n\" }",
            "filter f { reject \"on {node.labels['topology.kubernetes.io/zone']}\" when node.name == \"n\" }",
        ),
        (
            "filter f { require “a” == node.name else \"no\" }",
            "filter f { require \"a\" == node.name else \"no\" }",
        ),
        (
            "filter f { require ‘a’ == node.name else \"no\" }",
            "filter f { require 'a' == node.name else \"no\" }",
        ),
        (
            "filter f { require pod.labels[\"a\"] == (5) else \"no\" }",
            "filter f { require pod.labels[\"a\"] == \"5\" else \"no\" }",
        ),
        (
            "filter f { require node.name === \"a\" & node.ready | node.name === \"b\" else \"no\" }",
            "filter f { require node.name == \"a\" && node.ready || node.name == \"b\" else \"no\" }",
        ),
        (
            "filter f { require not node.name in [\"a\"] and node.ready else \"no\" }",
            "filter f { require !(node.name in [\"a\"]) && node.ready else \"no\" }",
        ),
        (
            "filter f { require node.labels[\"a\"] == true and !(node.labels[\"b\"] = 1) else \"no\" }",
            "filter f { require node.labels[\"a\"] == \"true\" && !(node.labels[\"b\"] == \"1\") else \"no\" }",
        ),
    ] {
        let (after, left) = fixed(&policy(wrong));
        assert_eq!(after, policy(right));
        assert!(errors(&left).is_empty(), "{:?}", errors(&left));
    }
    for open in [
        // Guesses.
        "param max_gpu = 8\n  filter f { require node.free[\"nvidia.com/gpu\"] >= min_gpu else \"no\" }",
        "filter f { require node.redy else \"no\" }",
        "fliter f { require node.ready else \"no\" }",
        "filter f { require node.lables[\"a\"] == \"b\" else \"no\" }",
        // More than one spelling of the text.
        "filter f { require pod.labels[\"a\"] == 0x10 else \"no\" }",
        "filter f { require pod.labels[\"a\"] == 1e3 else \"no\" }",
        // A quote without an end.
        "filter f { require “a == node.name else \"no\" }",
        "filter f { require don’t == node.name else \"no\" }",
    ] {
        let text = policy(open);
        let (after, left) = fixed(&text);
        assert_eq!(after, text);
        assert!(!errors(&left).is_empty(), "{open}");
    }
}
