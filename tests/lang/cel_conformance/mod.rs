//! CEL is what Kubernetes' own CEL and the tests of cel-spec say: compile error, checked type, value,
//! run-time error. In the environment of policies it is that, too, but for the rows of `language/environments.rs`.
//!
//! Each test prints a table of what passed, what is excluded and why, and what failed, and compares it with
//! `docs/cel-conformance.md` (`page.rs`). `BAYPLAN_CEL_STRICT=1` counts the named differences as failures.
//! `BAYPLAN_CEL=FILE cargo test --test tests cel_conformance -- --nocapture` compares a file of
//! `tests/conformance/generator -cel`, `-cel-random`, `-cel-typed`, `-cel-spliced` or `-cel-devices`, gzipped or not.

mod devices;
mod kubernetes;
mod page;
mod specification;
mod run;
mod tally;

use serde_json::Value as Json;
use std::io::Read;
use std::path::Path;
use tally::Tally;

/// The lines of a file of `tests/conformance`, or of a path.
fn lines(file: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(file);
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Verdicts of Kubernetes' CEL.
const RECORDED: &[&str] = &[
    "cel-kubernetes-1.36.jsonl.gz",
    "cel-words-1.36.jsonl.gz",
    "cel-quantities-1.36.jsonl.gz",
    "cel-random-1.36.jsonl.gz",
    "cel-more-1.36.jsonl.gz",
    "cel-spliced-1.36.jsonl.gz",
];

#[test]
fn expressions_are_what_they_are_in_kubernetes() {
    let compare = |file: &&str| kubernetes::compare(file, &lines(file), kubernetes::kubernetes);
    let tallies = RECORDED.iter().map(compare).collect();
    page::published("Expressions of Kubernetes", &tally::judge("Kubernetes' CEL, 1.36", tallies));
    page::published("Differences from Kubernetes", &kubernetes::differences());
}

#[test]
fn expressions_are_in_policies_what_they_are_in_kubernetes_but_for_rows() {
    let compare = |file: &&str| kubernetes::compare(file, &lines(file), kubernetes::policies);
    let table = tally::judge("policies, 1.36", RECORDED.iter().map(compare).collect());
    let mut proved = String::from("\n| environment | compiles | cannot fail |\n|---|---|---|\n");
    let environments: [(&str, kubernetes::Make); 2] =
        [("Kubernetes", kubernetes::kubernetes), ("policies", kubernetes::policies)];
    for (name, make) in environments {
        let counts = RECORDED.iter().map(|file| kubernetes::proved(&lines(file), make));
        let (compiled, sure) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        proved += &format!("| {name} | {compiled} | {sure} |\n");
    }
    page::published("Expressions of Kubernetes in policies", &(table + &proved));
    page::published("Environments of policies and of devices", &kubernetes::rows());
}

#[test]
fn device_selectors_are_what_they_are_in_kubernetes() {
    let files = ["cel-devices-1.36.jsonl.gz", "cel-devices-1.37.jsonl.gz"];
    let tallies = files.iter().map(|file| devices::compare(file, &lines(file))).collect();
    let table = tally::judge("Device selectors of Kubernetes, 1.36 and 1.37", tallies);
    page::published("Selectors of devices", &table);
}

#[test]
fn the_tests_of_cel_spec_pass() {
    let tests = lines("cel-spec.jsonl.gz");
    assert_eq!(tests.len(), 1302);
    page::published("cel-spec", &tally::judge("cel-spec", specification::compare(&tests)));
}

#[test]
fn another_file_has_the_verdicts_of_kubernetes() {
    let Ok(file) = std::env::var("BAYPLAN_CEL") else { return };
    let found = lines(&file);
    let devices = found.first().is_some_and(|line| line.get("device").is_some());
    let tally: Tally = if devices {
        devices::compare(&file, &found)
    } else {
        kubernetes::compare(&file, &found, kubernetes::kubernetes)
    };
    tally::judge("Kubernetes' CEL", vec![tally]);
}
