//! What several test modules use.

pub(crate) mod affinity;
pub(crate) mod command;
pub(crate) mod plugins;
pub(crate) mod policies;
pub(crate) mod spreading;

use bayplan::model::KubernetesVersion;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The lines of `tests/conformance/<family>.jsonl.gz`.
pub(crate) fn vectors(family: &str) -> Vec<serde_json::Value> {
    vectors_of(&repository(&format!("tests/conformance/{family}.jsonl.gz")))
}

/// What kube-scheduler of a version decided: `tests/conformance/kube-scheduler-<version>/<family>.jsonl.gz`.
pub(crate) fn recorded(version: KubernetesVersion, family: &str) -> Vec<serde_json::Value> {
    let cases = vectors(&format!("kube-scheduler-{version}/{family}"));
    let named = cases.iter().all(|case| version_of(case) == version);
    assert!(named, "{family} of {version} has cases of another version");
    cases
}

/// The version of kube-scheduler that decided a case. Cases without a version are of 1.36.
pub(crate) fn version_of(case: &serde_json::Value) -> KubernetesVersion {
    case["kubernetes"]
        .as_str()
        .map_or(KubernetesVersion::V1_36, |text| KubernetesVersion::parse(text).unwrap())
}

/// The lines of a compressed file of vectors.
pub(crate) fn vectors_of(path: &Path) -> Vec<serde_json::Value> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
