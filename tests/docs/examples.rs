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
    // Examples have policies of the same names, so each folder is a set of its own.
    for folder in ["policies", "examples"] {
        let lint = format!("bayplan lint --schema policies/schemas {folder} --deny warnings");
        let (text, status, errors) = run(&lint);
        assert_eq!(status, Some(0), "{text}{errors}");
    }
}
