//! `policies` and `examples`: each policy has tests that pass, and lint finds nothing.

use super::{below, run};
use crate::support::repository;

#[test]
fn every_policy_has_tests_and_they_pass() {
    let mut policies = Vec::new();
    below(&repository("policies"), ".bay", &mut policies);
    assert!(!policies.is_empty());
    for policy in policies {
        let tests = policy.with_extension("test.yaml");
        assert!(tests.exists(), "{} has no tests", policy.display());
    }
    let (text, status, errors) = run("bayplan test policies examples");
    assert_eq!(status, Some(0), "{text}{errors}");
}

#[test]
fn policies_and_examples_have_no_mistakes() {
    // Examples have policies of the same names, so each is a set of its own, and so is each step of one.
    let mut folders = vec![String::from("policies")];
    folders_with_policies(&repository("examples"), "examples", &mut folders);
    assert!(folders.len() > 8, "{folders:?}");
    for folder in folders {
        let lint = format!("bayplan lint --schema policies/schemas {folder} --deny warnings");
        let (text, status, errors) = run(&lint);
        assert_eq!(status, Some(0), "{text}{errors}");
    }
}

/// The folders below a folder that have files with policies of their own.
fn folders_with_policies(folder: &std::path::Path, name: &str, found: &mut Vec<String>) {
    let mut own = false;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let below = format!("{name}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            folders_with_policies(&path, &below, found);
        } else if below.ends_with(".bay")
            || below.ends_with(".yaml")
                && std::fs::read_to_string(&path).unwrap().contains("kind: SchedulingPolicy")
        {
            own = true;
        }
    }
    found.extend(own.then(|| name.to_owned()));
}
