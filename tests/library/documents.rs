//! `policies-cel`: every policy of the library that has a twin in CEL is there as a document, which is what `bayplan
//! convert` writes, and passes the tests of the policy. `BAYPLAN_GOLDEN=write` writes the documents anew.

use super::{entries, name_of, shipped, tests_pass, writes};
use crate::support::repository;

#[test]
fn the_documents_are_what_convert_writes() {
    let mut known = Vec::new();
    for policy in shipped() {
        let path = policy.document();
        match policy.converted() {
            Ok(document) if writes() => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, document).unwrap();
            }
            Ok(document) => {
                let there = std::fs::read_to_string(&path).unwrap_or_default();
                assert!(there == document, "{}: BAYPLAN_GOLDEN=write writes it:\n{document}", path.display());
            }
            Err(why) => assert!(!path.exists(), "{} has no twin: {why}", path.display()),
        }
        known.push(path);
    }
    for origin in entries(&repository("policies-cel")).into_iter().filter(|path| path.is_dir()) {
        for path in entries(&origin) {
            assert!(known.contains(&path), "{} is the document of no policy", path.display());
        }
    }
}

/// The test files of the policies, with the documents in place of the policies that have one.
#[test]
fn the_documents_pass_the_tests_of_their_policies() {
    let root = std::env::temp_dir().join(format!("bayplan-library-{}", std::process::id()));
    let policies = shipped();
    for origin in entries(&repository("policies")).into_iter().filter(|path| path.is_dir()) {
        let folder = root.join(name_of(&origin));
        std::fs::create_dir_all(&folder).unwrap();
        for path in entries(&origin).into_iter().filter(|path| path.extension().is_some_and(|of| of != "md"))
        {
            let mut text = std::fs::read_to_string(&path).unwrap();
            if name_of(&path).ends_with(".test.yaml") {
                for policy in policies.iter().filter(|policy| policy.document().exists()) {
                    for end in [",", "]"] {
                        text = text.replace(
                            &format!("{}.bay{end}", policy.name),
                            &format!("{}.yaml{end}", policy.name),
                        );
                    }
                }
            }
            std::fs::write(folder.join(name_of(&path)), text).unwrap();
        }
        for policy in policies.iter().filter(|policy| policy.document().exists()) {
            if policy.origin == name_of(&origin) {
                std::fs::copy(policy.document(), folder.join(format!("{}.yaml", policy.name))).unwrap();
                std::fs::remove_file(folder.join(format!("{}.bay", policy.name))).unwrap();
            }
        }
    }
    tests_pass(&root);
    std::fs::remove_dir_all(&root).unwrap();
}
