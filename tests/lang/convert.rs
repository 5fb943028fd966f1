//! Policies of the policy language as documents and back: what is converted compiles and means the same, and what has
//! no twin is listed.

use super::fixtures::golden;
use bayplan::diag::SourceMap;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::convert::convert_for;
use bayplan::lang::typed::{Leave, Point};
use bayplan::lang::{self};
use std::path::{Path, PathBuf};

/// Every policy file of the tree that compiles.
fn policies() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open: Vec<PathBuf> = ["policies", "examples", "tests/lang/design", "tests/lang/documents/twins"]
        .map(|folder| root.join(folder))
        .into();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "bay") {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

fn size() -> Size {
    Size::of(100, 1_000)
}

/// The text in the other language, or what has no twin.
fn converted(name: &str, text: &str) -> Result<String, Vec<String>> {
    let mut sources = SourceMap::new();
    let id = sources.add(name.to_owned(), text);
    let source = sources.get(id).unwrap();
    let (_, said) = lang::compile_for(source, size(), &|_| Vec::new());
    assert!(!said.iter().any(|said| said.is_error()), "{name}: {said:?}\n{text}");
    convert_for(source, size()).map_err(|without| {
        without.iter().map(|of| format!("{}: {}", sources.places(of.span).0.line, of.why)).collect()
    })
}

fn errors(name: &str, text: &str) -> Vec<String> {
    let mut sources = SourceMap::new();
    let id = sources.add(name.to_owned(), text);
    let (_, said) = lang::compile_for(sources.get(id).unwrap(), size(), &|_| Vec::new());
    let errors = said.iter().filter(|said| said.is_error());
    errors
        .map(|said| {
            format!("{}: {} `{}`", sources.places(said.span).0.line, said.message, sources.text(said.span))
        })
        .collect()
}

/// `tests/lang/documents/converted.out`: what becomes of every policy of the tree.
#[test]
fn every_policy_of_the_tree_is_converted_or_has_no_twin() {
    let (mut record, mut whole) = (String::new(), 0);
    for (name, text) in policies() {
        if !errors(&name, &text).is_empty() {
            continue;
        }
        record.push_str(&format!("{name}: "));
        match converted(&name, &text) {
            Err(without) => record.push_str(&format!("no twin\n    {}\n", without.join("\n    "))),
            Ok(document) => {
                let refused = errors("p.yaml", &document);
                if refused.is_empty() {
                    whole += 1;
                    record.push_str("converted\n");
                } else {
                    record.push_str(&format!("refused\n    {}\n", refused.join("\n    ")));
                }
            }
        }
    }
    record.push_str(&format!("{whole} are converted\n"));
    golden("documents/converted.out", &record);
}

#[test]
fn a_document_and_its_twin_are_converted_into_each_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/documents/twins");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let there = converted("proved.bay", &read("proved.bay")).unwrap();
    assert_eq!(errors("p.yaml", &there), [""; 0], "{there}");
    let back = converted("p.yaml", &there).unwrap();
    assert_eq!(errors("p.bay", &back), [""; 0], "{back}");
    let again = converted("p.bay", &back).unwrap();
    assert_eq!(again, there, "a second time changes nothing");
    golden("documents/proved.converted.yaml", &there);
    golden("documents/proved.converted.bay", &back);
}

#[test]
fn a_let_that_applies_when_shows_to_be_there_is_an_optional_that_has_a_value() {
    let text = "/// A.\npolicy a {\n  let product = pod.labels[\"license\"]\n  let wanted = int(pod.labels[\"n\"])\n  \
                applies when product != none && wanted != none\n  ledger used: int by product { add wanted }\n  \
                prefilter { reject \"x\" when used[product] + wanted > 3 || !(product in {\"a\": 1}) }\n}\n";
    let document = converted("a.bay", text).unwrap();
    for part in [
        "appliesWhen: variables.product.hasValue() && variables.wanted.hasValue()",
        "expression: pod.labels[?\"license\"]",
        "expression: optional.ofValid(int(pod.labels[\"n\"]))",
        "by: variables.product.value()",
        "value: variables.wanted.value()",
    ] {
        assert!(document.contains(part), "{part} in\n{document}");
    }
    assert_eq!(errors("p.yaml", &document), [""; 0], "{document}");
}

/// A document may write the choice itself: an absent value of the side that is chosen is an empty optional.
#[test]
fn a_choice_in_an_optional_may_be_absent() {
    let document = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata:\n  name: p\nspec:\n  filters:\n  \
                    - name: f\n    reason: no\n    expression: 'optional.ofValid(int(node.ready ? node.labels[\"n\"] : \
                    node.labels[\"m\"])).orValue(0) > 3'\n";
    assert_eq!(errors("p.yaml", document), [""; 0]);
    let back = converted("p.yaml", document).unwrap();
    let language = "(int(node.ready ? node.labels[\"n\"] : node.labels[\"m\"]) ?? 0) > 3";
    assert!(back.contains(language), "{language} in\n{back}");
}

#[test]
fn what_the_policy_language_means_is_said_in_cel() {
    let cases = [
        ("node.labels[\"a\"] == \"b\"", "node.labels[?\"a\"] == optional.of(\"b\")"),
        ("node.labels[\"a\"] != \"b\"", "node.labels[?\"a\"] != optional.of(\"b\")"),
        (
            "node.labels[\"a\"] == pod.labels[\"a\"]",
            "(node.labels[?\"a\"].hasValue() && node.labels[?\"a\"] == pod.labels[?\"a\"])",
        ),
        ("node.labels[\"a\"] in [\"b\"]", "(\"a\" in node.labels && node.labels[\"a\"] in [\"b\"])"),
        ("(node.labels[\"a\"] ?? \"x\") == \"b\"", "(node.labels[?\"a\"].orValue(\"x\")) == \"b\""),
        (
            "has(node.labels[\"a\"]) && node.labels[\"a\"] == \"b\"",
            "(\"a\" in node.labels) && node.labels[\"a\"] == \"b\"",
        ),
        ("node.zone == \"a\" || node.zone == none", "node.?zone == optional.of(\"a\") || !has(node.zone)"),
        ("(100 / size(node.pods) ?? 0) > 3", "((size(node.pods) != 0 ? 100 / size(node.pods) : 0)) > 3"),
        ("node.free.cpu >= 500m", "node.free.cpu >= quantity(\"500m\")"),
        ("node.free.memory >= 4Gi", "node.free.memory >= quantity(\"4Gi\")"),
        ("near(node)", "(node.name.startsWith(\"a\"))"),
        ("1.5 * node.pods.count() > 2", "1.5 * double(node.pods.count()) > 2.0"),
        ("(int(node.labels[\"n\"]) ?? 0) > 3", "(optional.ofValid(int(node.labels[\"n\"])).orValue(0)) > 3"),
        (
            "(int((node.ready ? node.labels[\"n\"] : node.labels[\"m\"])) ?? 0) > 3",
            "(optional.ofValid(int((node.ready ? node.labels[?\"n\"] : node.labels[?\"m\"]).value())).orValue(0)) > 3",
        ),
        (
            "(node.pods.min(p, p.priority) ?? 0) > 3",
            "(optional.ofValid(node.pods.min(p, p.priority)).orValue(0)) > 3",
        ),
        (
            "(node.pods.min(p, p.created) ?? pod.created) < now()",
            "(optional.ofValid(node.pods.min(p, p.created)).orValue(pod.created)) < now()",
        ),
        ("1 - 0.5 * (node.free.cpu / 1cpu) > 0.5", "1.0 - 0.5 * (node.free.cpu / quantity(\"1\")) > 0.5"),
        ("has(node.pods[0])", "node.pods[?0].hasValue()"),
        ("node.name matches \"a.*\"", "node.name.matches(\"a.*\")"),
    ];
    for (language, cel) in cases {
        let text = format!(
            "def near(n: node): bool = n.name.startsWith(\"a\")\n/// A.\npolicy a {{ filter f {{ require {language} else \"no\" }} }}\n"
        );
        let document = converted("a.bay", &text).unwrap_or_else(|without| panic!("{language}: {without:?}"));
        let quoted = cel.replace('\'', "''");
        assert!(
            document.contains(&format!("expression: {quoted}\n"))
                || document.contains(&format!("expression: '{quoted}'\n")),
            "{language}\n{document}"
        );
        assert_eq!(errors("p.yaml", &document), [""; 0], "{document}");
    }
}

#[test]
fn comments_stay_with_their_statements() {
    let text = "// A head.\n\n/// What it is for.\npolicy a {\n  // Why five.\n  param most = 5 // not six\n  /* The\n     rule. */\n  \
                // bayplan: allow(missing-reason) because it is a test\n  filter f {\n    // inside\n    require node.pods.count() < \
                most\n  }\n}\n// The end.\n";
    let document = converted("a.bay", text).unwrap();
    let wanted = "# A head.\n\n# What it is for.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata:\n  name: a\nspec:\n  \
                  params:\n  # Why five.\n  # not six\n\n  - name: most\n    default: 5\n  filters:\n  # The\n  # rule.\n  # bayplan: \
                  allow(missing-reason) because it is a test\n  # inside\n\n  - name: f\n    expression: node.pods.count() < \
                  params.most\n# The end.\n";
    assert_eq!(document, wanted);
    let back = converted("a.yaml", &document).unwrap();
    let wanted = "// A head.\n\n/// What it is for.\npolicy a {\n  // Why five.\n  // not six\n  param most = 5\n  // The\n  // rule.\n  // bayplan: \
                  allow(missing-reason) because it is a test\n  // inside\n  filter f {\n    require node.pods.count() < most\n  }\n}\n// The end.\n";
    assert_eq!(back, wanted);
}

#[test]
fn what_has_no_twin_is_listed_with_its_place() {
    let text = "/// A.\npolicy a {\n  score s normalize minmax {\n    give pod.priority * 10000000000 * 10000000000\n  }\n  \
                filter f {\n    require [node.labels[\"a\"]].size() > 3 else \"no\" }\n  filter g {\n    require \
                2 * (now() - node.created) > 1h\n  }\n}\n";
    let without = converted("a.bay", text).unwrap_err();
    let lines: Vec<&str> = without.iter().map(|of| of.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["4", "7", "9"], "{without:?}");
}

/// The mode of every statement, by rule.
fn modes(name: &str, text: &str) -> Vec<(String, &'static str)> {
    let mut sources = SourceMap::new();
    let id = sources.add(name.to_owned(), text);
    let (policies, said) = lang::compile_for(sources.get(id).unwrap(), size(), &|_| Vec::new());
    assert!(!said.iter().any(|said| said.is_error()), "{said:?}\n{text}");
    let policy = &policies[0];
    let rules = policy.rules.iter().flat_map(|rule| {
        let of = (rule.name().to_owned(), rule.head.mode.word());
        rule.statements(policy).map(move |_| of.clone())
    });
    rules.collect()
}

#[test]
fn modes_are_written_in_both_languages() {
    let text = r#"/// Tries rules before they decide.
policy teams {
  mode audit until 2027-01-31
  gate mode warn "held" when pod.priority > 5
  gate "held too" when pod.priority > 6
  prefilter { mode off
    reject "x" when pod.priority > 8 }
  prefilter { reject "y" when pod.priority > 7 }
  filter own { mode enforce
    require node.ready else "z" }
  filter two { mode warn
    reject "a" when pod.priority > 2
    reject "b" when node.unschedulable }
  score best { mode off
    give 100 when node.ready }
  prefer mode warn 3 when node.ready
  permit { mode warn
    reject "p" when pod.priority > 3 }
  preempt { mode enforce
    never "n" when pod.priority > 4 }
}
"#;
    let document = converted("p.bay", text).unwrap();
    assert!(document.contains("mode: audit"), "{document}");
    let back = converted("p.yaml", &document).unwrap();
    let all = modes("p.bay", text);
    assert_eq!(all.len(), 12);
    assert_eq!(modes("p.yaml", &document), all, "{document}");
    assert_eq!(modes("p.bay", &back), all, "{back}");
}

#[test]
fn a_policy_that_decides_for_some_pods_is_written_in_both_languages() {
    let text = "/// A canary.\npolicy canary {\n  mode enforce when sample(pod.name, 10%) else warn until 2027-01-31\n  filter ready { require node.ready else \"x\" }\n}\n";
    let document = converted("p.bay", text).unwrap();
    assert!(
        document.contains("enforceWhen: sample(pod.metadata.name, 0.1)")
            || document.contains("enforceWhen: sample(pod.name, 0.1)"),
        "{document}"
    );
    assert!(document.contains("mode: warn") && document.contains("modeUntil: "), "{document}");
    let back = converted("p.yaml", &document).unwrap();
    assert!(back.contains("mode enforce when sample(pod.name, 0.1) else warn until 2027-01-31"), "{back}");
    assert!(errors("p.bay", &back).is_empty());
}

/// The exceptions of the policies of a text: the rule, the last day, the reason and whether it is about every pod.
fn exceptions(name: &str, text: &str) -> Vec<(Option<String>, String, String, bool)> {
    let mut sources = SourceMap::new();
    let id = sources.add(name.to_owned(), text);
    let (policies, _) = lang::compile_for(sources.get(id).unwrap(), size(), &|_| Vec::new());
    let all = policies.iter().flat_map(|policy| &policy.exceptions).map(|of| {
        let rule = of.rule.as_ref().map(ToString::to_string);
        (rule, of.until.to_string(), of.because.to_string(), of.when.is_none())
    });
    let mut all: Vec<_> = all.collect();
    all.sort();
    all
}

#[test]
fn exceptions_are_written_in_both_languages() {
    let text = r#"except teams/own until 2099-03-31 because "OPS-4: all of them"
/// Keeps teams apart.
policy teams {
  except until 2099-01-31 because "OPS-1: it moves" when pod.namespace == "old"
  prefilter {
    except until 2099-01-31 because "OPS-2: \"quoted\"" when pod.priority > 8
    reject "x" when pod.priority > 7 }
  filter own {
    except until 2099-02-28 because "OPS-3: b" when pod.labels["b"] == "c"
    require node.ready else "z" }
  score best {
    except until 2099-01-31 because "OPS-5: c"
    give 100 when node.ready }
  permit {
    except until 2099-01-31 because "OPS-6: d" when has(pod.labels["d"])
    reject "p" when pod.priority > 3 }
  gate "g" when pod.priority > 2
  except gate until 2099-02-28 because "OPS-8: f" when pod.priority == 5
  reserve {
    except until 2099-02-28 because "OPS-9: g" when pod.priority == 6
    annotate pod {"example.com/a": "b"} }
  preempt {
    except until 2099-02-28 because "OPS-10: h" when pod.priority == 7
    protect v when v.priority > 3 }
}
except teams until 2099-03-31 because "OPS-7: e" when pod.priority < 0
"#;
    let all = exceptions("p.bay", text);
    assert_eq!(all.len(), 10, "{all:?}");
    let document = converted("p.bay", text).unwrap();
    assert_eq!(exceptions("p.yaml", &document), all, "{document}");
    let back = converted("p.yaml", &document).unwrap();
    assert_eq!(exceptions("p.bay", &back), all, "{back}");
    let elsewhere = "except other until 2099-03-31 because \"OPS-7: e\"\n/// A.\npolicy a { filter f { require node.ready else \"x\" } }\n";
    let why = "1: a document has exceptions from its own policy only: leave this one in a `.bay` text";
    assert_eq!(converted("p.bay", elsewhere).unwrap_err(), [why]);
    let of_one = "/// A.\npolicy a {\n  prefilter { reject \"x\" when pod.priority > 7 }\n  \
                  prefilter { except until 2099-01-31 because \"OPS-1: a\"\n    reject \"y\" when pod.priority > 8 }\n}\n";
    let why = "4: an exception of a document is from all blocks of its word: write them as one";
    assert_eq!(converted("p.bay", of_one).unwrap_err(), [why]);
}

#[test]
fn rules_that_decide_for_some_pods_are_written_in_both_languages() {
    let text = r#"/// A canary of each rule.
policy canary {
  gate mode enforce when pod.priority > 1 else warn until 2027-01-31 "held" when pod.priority > 5
  prefilter { mode enforce when pod.priority > 2 until 2027-02-28
    reject "x" when pod.priority > 8
    reject "y" when pod.priority > 9 }
  prefilter { reject "z" when pod.priority > 7 }
  filter own { mode enforce when pod.priority > 3 else audit
    require node.ready else "z" }
  filter two { mode warn until 2027-01-30
    reject "a" when pod.priority > 2
    reject "b" when node.unschedulable }
  score best { mode enforce when pod.priority > 4 else warn
    give 100 when node.ready }
  prefer mode enforce when pod.priority > 5 else audit 3 when node.ready
  permit { mode enforce when pod.priority > 6
    reject "p" when pod.priority > 3 }
  preempt { mode enforce when pod.priority > 7 else warn
    victim v when v.priority < 3
    never "n" when pod.priority > 4 }
}
"#;
    /// The condition of each canary in short, its other mode and how many places it has; the days.
    fn canaries(name: &str, text: &str) -> Vec<String> {
        let mut sources = SourceMap::new();
        let id = sources.add(name.to_owned(), text);
        let (policies, said) = lang::compile_for(sources.get(id).unwrap(), size(), &|_| Vec::new());
        assert!(!said.iter().any(|said| said.is_error()), "{said:?}\n{text}");
        let modes = &policies[0].modes;
        let of = policies[0].rules.iter().flat_map(|rule| {
            let shown = rule.head.guard.iter().filter_map(Leave::decides).map(|(decides, otherwise)| {
                let text = sources.text(policies[0][decides].value.span);
                let condition = text.split('>').nth(1).unwrap_or_default().trim();
                format!("{} {}", condition.trim_matches('"'), otherwise.word())
            });
            // The modes of blocks are those of their statements.
            let places = rule.statements(&policies[0]).map(|statement| statement.span());
            let inside = matches!(rule.point(), Point::PreFilter | Point::Permit);
            let places = if inside { places.count() } else { 1 };
            shown.flat_map(move |shown| std::iter::repeat_n(shown, places)).collect::<Vec<_>>()
        });
        let mut all: Vec<String> = of.collect();
        all.sort();
        let mut days: Vec<String> =
            modes.until.iter().map(|until| format!("{} {:?}", until.mode.word(), until.end)).collect();
        days.sort();
        days.dedup();
        all.extend(days);
        all
    }
    let document = converted("p.bay", text).unwrap();
    let back = converted("p.yaml", &document).unwrap();
    let all = canaries("p.bay", text);
    assert_eq!(all.len(), 9 + 3, "{all:?}");
    assert_eq!(canaries("p.yaml", &document), all, "{document}");
    assert_eq!(canaries("p.bay", &back), all, "{back}");
    // Documents say it of each statement of a block.
    let of_rules = |name: &str, text: &str| {
        modes(name, text).into_iter().filter(|(rule, _)| rule != "mode").collect::<Vec<_>>()
    };
    assert_eq!(of_rules("p.bay", &back), of_rules("p.bay", text), "{back}");
    assert_eq!(of_rules("p.yaml", &document), of_rules("p.bay", text), "{document}");
}

#[test]
fn a_day_of_a_rule_in_a_document_needs_a_mode() {
    let text = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n  filters:\n  - name: f\n    \
                expression: node.ready\n    reason: x\n    modeUntil: '2027-01-31'\n";
    let said = errors("p.yaml", text);
    assert!(said.iter().any(|said| said.contains("`modeUntil` belongs to a `mode`")), "{said:?}");
    let with = text.replace("    modeUntil", "    mode: audit\n    modeUntil");
    assert!(errors("p.yaml", &with).is_empty(), "{:?}", errors("p.yaml", &with));
}
