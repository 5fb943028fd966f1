//! The table of codes: the wrong example of each row yields exactly its code, the right one does not.

use crate::support::repository;
use bayplan::diag::{Code, Diagnostic, SourceMap, codes};
use std::path::PathBuf;
use std::process::Command;

/// A cluster for BP03, which the examples there mention.
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {team: vision, zone: east}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10', nvidia.com/gpu: '2'}}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {team: vision}}
spec: {containers: [{name: main, image: x}]}
";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bayplan-codes-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The ids of what `bayplan lint` says of a text.
fn linted(code: &Code, text: &str) -> Vec<String> {
    let folder = folder(code.id);
    let file = folder.join(code.example_file);
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
    command.arg("lint").arg(&file).args(["--format", "json"]);
    if code == &codes::QUADRATIC_RULE {
        command.args(["--size", "nodes=200,pods=2000"]);
    }
    if code.id.starts_with("BP03") {
        let cluster = folder.join("cluster.yaml");
        std::fs::write(&cluster, CLUSTER).unwrap();
        command.arg("--cluster").arg(cluster);
    }
    let output = command.current_dir(repository("")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{}: {}", code.id, String::from_utf8_lossy(&output.stderr)));
    let said = report["diagnostics"].as_array().unwrap();
    said.iter().map(|said| said["code"].as_str().unwrap().to_owned()).collect()
}

fn ids(diagnostics: Vec<Diagnostic>) -> Vec<String> {
    diagnostics.iter().map(|said| said.code.id.to_owned()).collect()
}

/// The ids of what is said of an example, by the kind of its file.
fn said(code: &Code, text: &str) -> Vec<String> {
    let mut sources = SourceMap::new();
    let id = sources.add(code.example_file, text);
    match code.example_file {
        "config.yaml" => ids(bayplan::config::read(sources.get(id).unwrap()).1),
        "cluster.yaml" => ids(bayplan::dry_run::load::load(&mut sources, &[id]).diagnostics),
        file if file.ends_with(".test.yaml") => {
            ids(bayplan::dry_run::cases::read(&sources, id).err().unwrap_or_default())
        }
        _ => linted(code, text),
    }
}

#[test]
fn examples_show_their_code_and_no_other() {
    let mut wrong = Vec::new();
    for code in codes::CODES.iter().filter(|code| !code.example_file.is_empty()) {
        assert_ne!(code.bad, code.good, "{}", code.id);
        let mut bad = said(code, code.bad);
        bad.dedup();
        if bad != [code.id] {
            wrong.push(format!("{} {}: the wrong example yields {bad:?}", code.id, code.slug));
        }
        let good = said(code, code.good);
        if !good.is_empty() {
            wrong.push(format!("{} {}: the right example yields {good:?}", code.id, code.slug));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Only codes that no text alone can show have an example in words.
#[test]
fn nearly_every_code_has_an_example() {
    let without: Vec<&str> =
        codes::CODES.iter().filter(|code| code.example_file.is_empty()).map(|code| code.id).collect();
    assert_eq!(without, ["BP0010", "BP0015", "BP0120", "BP0507", "BP0513", "BP0514"]);
}
