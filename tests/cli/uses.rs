//! Commands on policies that use other files.

use crate::support::command::{Ended, Folder, bayplan, folder};
use crate::support::repository;

const SHARES: &str = "/// Half of the CPU of a node.\ndef half(n: node): cpu = n.allocatable.cpu / 2\n";
const RULE: &str = "use \"lib/shares.bay\"\n\n/// Keeps half of each node free.\npolicy half-empty {\n  filter free {\n    \
                    require node.requested.cpu + pod.requests.cpu <= half(node) else \"node(s) half full\"\n  }\n}\n";
const TESTS: &str = "\
policies: [a.bay]
cluster: cluster.yaml
cases:
- name: a small pod fits
  pod: {name: small, requests: {cpu: 2}}
  expect: {node: n}
- name: a large pod does not
  pod: {name: large, requests: {cpu: 3}}
  expect: {unschedulable: {reason: node(s) half full, nodes: 1}}
";
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
";

/// A folder with a policy and, below it, the file that it uses.
fn files() -> Folder {
    let folder = folder(&[("a.bay", RULE), ("a.test.yaml", TESTS), ("cluster.yaml", CLUSTER)]);
    std::fs::create_dir(folder.join("lib")).unwrap();
    std::fs::write(folder.join("lib/shares.bay"), SHARES).unwrap();
    folder
}

fn config_map() -> String {
    let lines = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: rules, labels: {{bayplan.dev/policy: \"\"}}}}\ndata:\n  \
         a.bay: |\n{}  shares.bay: |\n{}",
        lines(&RULE.replace("lib/", "")),
        lines(SHARES)
    )
}

#[test]
fn lint_reads_the_files_that_a_file_uses() {
    let folder = files();
    let file = folder.join("a.bay");
    for path in [file.to_str().unwrap(), folder.to_str().unwrap()] {
        let Ended { status, out, err } = bayplan(&["lint", path]);
        assert_eq!(status, 0, "{out}{err}");
    }
    std::fs::write(folder.join("lib/shares.bay"), SHARES.replace("cpu / 2", "cpus / 2")).unwrap();
    let Ended { status, out, err } = bayplan(&["lint", file.to_str().unwrap()]);
    let said = format!("{out}{err}");
    assert!(
        status == 1 && said.contains("use \"lib/shares.bay\"") && said.contains("n.allocatable.cpus"),
        "{said}"
    );
    std::fs::remove_file(folder.join("lib/shares.bay")).unwrap();
    let Ended { status, out, err } = bayplan(&["lint", file.to_str().unwrap()]);
    let said = format!("{out}{err}");
    assert!(status == 1 && said.contains("lib/shares.bay") && said.contains("BP0230"), "{said}");
}

#[test]
fn commands_read_files_and_keys_alike() {
    let files = self::files();
    let map = folder(&[("rules.yaml", &config_map())]);
    let cluster = repository("examples/first/cluster.yaml");
    let mut printed = Vec::new();
    for folder in [&files, &map] {
        let policies = folder.to_str().unwrap();
        let Ended { status, out, err } = bayplan(&["plan", policies]);
        assert!(status == 0 && out.contains("half-empty"), "{out}{err}");
        let Ended { status, out, err } = bayplan(&[
            "dry-run",
            "--cluster",
            cluster.to_str().unwrap(),
            "--policies",
            policies,
            "-o",
            "json",
        ]);
        assert_eq!(status, 0, "{err}");
        printed.push(out);
    }
    assert_eq!(printed[0], printed[1]);
}

#[test]
fn convert_writes_out_what_is_used() {
    let files = self::files();
    let Ended { status, out, err } = bayplan(&["convert", files.join("a.bay").to_str().unwrap()]);
    assert!(status == 0 && out.contains("node.allocatable.cpu / 2") && !out.contains("half("), "{out}{err}");
    let new = folder(&[("a.yaml", &out)]);
    let Ended { status, out, err } = bayplan(&["lint", new.to_str().unwrap()]);
    assert_eq!(status, 0, "{out}{err}");
}

#[test]
fn tests_of_policies_run_with_what_they_use() {
    let Ended { status, out, err } = bayplan(&["test", files().to_str().unwrap()]);
    assert_eq!(status, 0, "{out}{err}");
}
