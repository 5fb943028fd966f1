//! Numbers from 0 to 100 beside shares from 0 to 1, in all forms of both languages.

use bayplan::diag::{Diagnostic, FixClass, SourceMap};
use bayplan::lang;

/// What is said of a condition on nodes after declarations of its policy, in the policy language.
fn said_of(declared: &str, condition: &str) -> Vec<Diagnostic> {
    let text = format!(
        "/// A.\npolicy p {{\n  applies to all pods\n  {declared}\n  filter f {{ require {condition} else \"node(s) too full\" }}\n}}\n"
    );
    found("p.bay", &text)
}

/// The same in CEL, with variables.
fn said_of_cel(variables: &str, condition: &str) -> Vec<Diagnostic> {
    let text = format!(
        "# A.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: p}}\nspec:\n{variables}  filters:\n  - name: f\n    \
         expression: |-\n      {condition}\n    reason: node(s) too full\n"
    );
    found("p.yaml", &text)
}

fn found(name: &str, text: &str) -> Vec<Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (policies, said) = lang::compile(sources.get(id).unwrap());
    let errors: Vec<&str> = said.iter().filter(|said| said.is_error()).map(|said| &*said.message).collect();
    assert!(errors.is_empty() && policies.len() == 1, "{errors:?}\n{text}");
    said.into_iter().filter(|said| said.code.id == "BP0417").collect()
}

const PERCENT: &str = "percent(node.requested.cpu, node.allocatable.cpu)";
const SHARE: &str = "share(node.requested.cpu, node.allocatable.cpu)";
const FREE: &str = "(node.free.memory / node.allocatable.memory ?? 0)";
const RATIO: &str = "(node.requested.memory / node.allocatable.memory ?? 0)";

#[test]
fn a_number_from_0_to_100_and_a_share_are_told_apart() {
    // Declarations, condition, and a part of what is to be written.
    let wrong: &[(&str, &str, &str)] = &[
        ("", "PERCENT < 80%", "write `80`"),
        ("", "80% > PERCENT", "write `80`"),
        ("", "PERCENT <= 100%", "write `100`"),
        ("", "PERCENT == 50%", "write `50`"),
        ("", "PERCENT < 0.8", "write `80`"),
        ("param most = 80%", "PERCENT < most", "write `80`"),
        ("let most = 80%", "PERCENT < most", "write `80`"),
        (
            "def used(n: node): int = percent(n.requested.cpu, n.allocatable.cpu)",
            "used(node) < 80%",
            "write `80`",
        ),
        ("", "clamp(PERCENT, 5, 95) < 80%", "write `80`"),
        ("", "max(PERCENT, 10) < 80%", "write `80`"),
        ("", "PERCENT + 10 < 80%", "write `80`"),
        ("", "100 - PERCENT > 20%", "write `20`"),
        ("", "PERCENT + 10% < 80", "write `10`"),
        ("", "100 * SHARE < 80%", "write `80`"),
        ("", "SHARE * 100 < 0.8", "write `80`"),
        ("", "PERCENT < SHARE", "a share on both sides"),
        ("", "PERCENT < FREE", "a share on both sides"),
        ("", "SHARE < 80", "`80%`"),
        ("", "SHARE < 80.5", "`80.5%`"),
        ("param most = 80", "SHARE < most", "`80%`"),
        ("", "1 - SHARE > 20", "`20%`"),
        ("", "clamp(SHARE, 0.1, 0.9) < 80", "`80%`"),
        ("def used(n: node): float = share(n.requested.cpu, n.allocatable.cpu)", "used(node) < 80", "`80%`"),
        ("", "FREE > 20", "`20%`"),
        ("", "FREE > 5", "`5%`"),
        ("", "RATIO < 80", "`80%`"),
        ("", "(node.requested.cpu * 100 / node.allocatable.cpu ?? 0) < 80%", "write `80`"),
        ("", "PERCENT < (node.unschedulable ? 80% : 90%)", "write `80`"),
        ("def most(n: node): float = n.unschedulable ? 80% : 90%", "PERCENT < most(node)", "write `80`"),
        ("param most: map<string, float> = {\"a\": 80%}", "PERCENT < (most[node.name] ?? 90%)", "write `90`"),
        ("", "PERCENT < (float(node.labels[\"most\"]) ?? 80%)", "write `80`"),
        ("", "PERCENT in [80%, 90%]", "write `80`"),
        ("", "PERCENT < 200%", "write `200`"),
        ("", "SHARE in [80, 90]", "`80%`"),
        ("", "SHARE < (node.unschedulable ? 80 : 90)", "`80%`"),
        ("", "(nodes.sum(n, share(n.requested.cpu, n.allocatable.cpu)) / nodes.size() ?? 0) < 80", "`80%`"),
        (
            "ledger used: cpu by \"all\" { add pod.requests.cpu }",
            "(used[\"all\"] / nodes.sum(n, n.allocatable.cpu) ?? 0) < 80",
            "`80%`",
        ),
    ];
    let right: &[(&str, &str)] = &[
        ("", "PERCENT < 80"),
        ("", "PERCENT > 0"),
        ("", "PERCENT > 0%"),
        ("", "PERCENT >= 1"),
        ("", "PERCENT * 80% < 40"),
        ("", "PERCENT < 100 * SHARE"),
        ("", "PERCENT / 100 < 1"),
        ("", "SHARE < 80%"),
        ("", "SHARE < 0.8"),
        ("", "SHARE < 1"),
        ("", "SHARE > 0"),
        ("", "SHARE * 100 < 80"),
        ("", "100 * SHARE > 1"),
        ("", "SHARE + SHARE < 1.5"),
        ("", "(SHARE + FREE) / 2 < 80%"),
        ("", "SHARE * 2 < 1.5"),
        ("", "FREE > 20%"),
        ("", "RATIO < 1.5"),
        ("", "RATIO < 4"),
        ("", "RATIO < 2000%"),
        ("", "node.free.memory / 1Gi > 20"),
        ("", "(node.free.memory / pod.requests.memory ?? 0) > 20"),
        ("", "node.allocatable.memory / 1Gi / 64 > 20"),
        ("param most = 80%", "SHARE < most"),
        ("param most = 80", "PERCENT < most"),
        ("", "PERCENT * 1% < 80%"),
        ("", "PERCENT * 0.01 < 80%"),
        ("", "PERCENT < (node.unschedulable ? 80 : 90)"),
        ("", "SHARE < (node.unschedulable ? 80% : 90%)"),
        ("", "PERCENT in [80, 90]"),
        ("", "nodes.sum(n, share(n.requested.cpu, n.allocatable.cpu)) > 80"),
        ("", "nodes.sum(n, percent(n.requested.cpu, n.allocatable.cpu)) > 800"),
        ("", "pod.priority > 80"),
        ("", "node.pods.size() < 80"),
    ];
    let written = |text: &str| {
        text.replace("PERCENT", PERCENT).replace("SHARE", SHARE).replace("FREE", FREE).replace("RATIO", RATIO)
    };
    for (declared, condition, help) in wrong {
        let said = said_of(&written(declared), &written(condition));
        assert!(!said.is_empty(), "{declared} {condition}");
        assert!(said[0].help.as_deref().unwrap().contains(help), "{condition}: {:?}", said[0].help);
        let classes: Vec<FixClass> = said.iter().flat_map(|said| &said.fixes).map(|fix| fix.class).collect();
        assert!(classes.iter().all(|class| *class == FixClass::MayChangeDecisions), "{condition}");
    }
    for (declared, condition) in right {
        let said = said_of(&written(declared), &written(condition));
        assert_eq!(said.len(), 0, "{declared} {condition}: {said:?}");
    }
}

#[test]
fn cel_tells_a_number_from_0_to_100_and_a_share_apart() {
    let wrong: &[(&str, &str, &str)] = &[
        ("", "PERCENT < 0.8", "write `80`"),
        ("", "0.8 > PERCENT", "write `80`"),
        ("  variables: [{name: used, expression: 'PERCENT'}]\n", "variables.used < 0.8", "write `80`"),
        ("  variables: [{name: most, expression: '0.8'}]\n", "PERCENT < variables.most", "write `80`"),
        ("", "SHARE < 80.0", "`0.8`"),
        ("", "SHARE * 100.0 < 0.8", "write `80`"),
        ("", "PERCENT < (node.unschedulable ? 0.8 : 0.9)", "write `80`"),
    ];
    let right = [
        "PERCENT < (node.unschedulable ? 80 : 90)",
        "PERCENT < 80",
        "PERCENT > 0",
        "SHARE < 0.8",
        "SHARE * 100.0 < 80.0",
        "SHARE < 1.0",
    ];
    let written = |text: &str| text.replace("PERCENT", PERCENT).replace("SHARE", SHARE);
    for (variables, condition, help) in wrong {
        let said = said_of_cel(&written(variables), &written(condition));
        assert!(!said.is_empty(), "{condition}");
        assert!(said[0].help.as_deref().unwrap().contains(help), "{condition}: {:?}", said[0].help);
    }
    for condition in right {
        assert_eq!(said_of_cel("", &written(condition)).len(), 0, "{condition}");
    }
}
