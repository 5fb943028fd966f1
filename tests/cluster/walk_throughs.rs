//! The walk-throughs in `examples` whose README has commands for a cluster (`sh`): the commands run on a real API server,
//! beside a scheduler with the name and the namespaces of `deploy`, and each succeeds.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::ControlPlane;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The blocks of commands of a document.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_commands_of_the_walk_throughs_succeed_on_a_cluster() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = std::fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("README.md"))
        .filter(|path| !blocks(&std::fs::read_to_string(path).unwrap()).is_empty())
        .collect();
    documents.sort();
    assert!(documents.len() >= 3, "{documents:?}");
    let plane = ControlPlane::start();
    for namespace in ["bayplan", "bayplan-policies"] {
        plane.kubectl_ok(["create", "namespace", namespace]);
    }
    let _ours = SchedulerProcess::start(&plane, &Setup::new("bayplan").policies_from("bayplan-policies"));
    for document in documents {
        for block in blocks(&std::fs::read_to_string(&document).unwrap()) {
            let output = Command::new("sh")
                .args(["-euxc", block])
                .current_dir(root)
                .env("KUBECONFIG", plane.kubeconfig())
                .env("PATH", plane.path_with_kubectl())
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}:\n{}{}",
                document.display(),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}
