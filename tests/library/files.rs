//! Every policy of the library: it has no findings, says what it is for, and its tests see every condition both true and
//! false.

use super::{Shipped, bayplan, entries, name_of, shipped, tests_pass};
use crate::support::repository;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::syntax::ast::StatementKind;

#[test]
fn no_policy_has_a_finding() {
    let lint = |folder: &str, denied: &str| {
        let arguments = ["lint", "--schema", "policies/schemas", folder, "--deny", denied];
        bayplan(&repository(""), &arguments).1
    };
    let all = lint("policies", "notes");
    assert!(all.contains("nothing to say"), "{all}");
    // The notes of documents name where CEL may end with an error, and conditions that it cannot file.
    let all = lint("policies-cel", "warnings");
    assert!(!all.contains("error[") && !all.contains("warning["), "{all}");
}

#[test]
fn the_tests_of_all_policies_pass_and_see_every_condition_both_true_and_false() {
    tests_pass(&repository("policies"));
}

#[test]
fn every_policy_is_described_and_has_tests_of_its_own() {
    for policy in shipped() {
        let name = &policy.name;
        let (file, _) = policy.checked(Size::default());
        let [ast] = file.policies().collect::<Vec<_>>()[..] else { panic!("{name}: one policy a file") };
        assert_eq!(&*ast.name.text, name.as_str(), "a policy has the name of its file");
        let doc = file.items.iter().find_map(|item| item.doc.as_ref());
        assert!(doc.is_some(), "{name}: no `///` above the policy");
        for heading in ["What it does", "Parameters"] {
            assert!(
                policy.text.starts_with("// ") && policy.text.contains(&format!("// {heading} ")),
                "{name}: {heading}"
            );
        }
        for statement in &ast.statements {
            let StatementKind::Param(param) = &statement.kind else { continue };
            assert!(statement.doc.is_some(), "{name}: no `///` above the param");
            let head = policy.text.split("\npolicy ").next().unwrap();
            assert!(
                head.contains(&format!(" {} ", param.name.text)),
                "{name}: the head does not name `{}`",
                param.name.text
            );
        }
        let folder = policy.path.parent().unwrap();
        let names = format!("policies: [{name}.bay");
        let tested = entries(folder).iter().any(|path| {
            let own = name_of(path) == format!("{name}.test.yaml");
            own && std::fs::read_to_string(path).unwrap().contains(&names)
        });
        assert!(tested, "{name}.test.yaml with `{names}` is missing");
        let long = policy.text.lines().find(|line| line.chars().count() > 125);
        assert_eq!(long, None, "{name}: lines have at most 125 characters");
    }
}

/// A case that cannot fail shows nothing: where the rules of a policy do nothing, its tests fail.
#[test]
fn the_tests_of_a_policy_fail_without_its_rules() {
    for policy in shipped() {
        let root =
            std::env::temp_dir().join(format!("bayplan-library-{}-{}", policy.name, std::process::id()));
        for origin in [&*policy.origin, "schemas"] {
            std::fs::create_dir_all(root.join(origin)).unwrap();
            for path in entries(&repository("policies").join(origin)) {
                std::fs::copy(&path, root.join(origin).join(name_of(&path))).unwrap();
            }
        }
        let folder = root.join(&policy.origin);
        std::fs::write(folder.join(format!("{}.bay", policy.name)), without_rules(&policy)).unwrap();
        let test = format!("{}.test.yaml", policy.name);
        let (out, all) = bayplan(&folder, &["test", &test, "-o", "json"]);
        std::fs::remove_dir_all(&root).unwrap();
        let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{all}"));
        let failed = report["summary"]["failed"].as_u64().unwrap_or_default();
        assert!(failed > 0, "{}: {all}", policy.name);
    }
}

/// A policy with the same names of filters and scores, of which none does anything.
fn without_rules(policy: &Shipped) -> String {
    let (file, _) = policy.checked(Size::default());
    let statements = file.policies().flat_map(|policy| &policy.statements);
    let rules = statements.filter_map(|statement| match &statement.kind {
        StatementKind::Filter(filter) => {
            Some(format!("  filter {} {{ require node.name != \"\" else \"no name\" }}\n", filter.name.text))
        }
        StatementKind::Score(score) => Some(format!("  score {} {{ give 1 }}\n", score.name.text)),
        _ => None,
    });
    let rules: String = rules.collect();
    format!("/// Does nothing.\npolicy {} {{\n  prefer 1 when node.name == \"\"\n{rules}}}\n", policy.name)
}
