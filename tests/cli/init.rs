//! `bayplan init`: what it writes passes the checks of its own workflow, with nodes of an example and of a cluster, and it
//! overwrites nothing.

use crate::support::command::{Ended, bayplan_in, folder};
use crate::support::repository;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn files_below(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The commands of the workflow that is written.
fn checks(workflow: &str) -> Vec<Vec<String>> {
    let workflow: Value = serde_saphyr::from_str(workflow).unwrap();
    let steps = workflow["jobs"]["policies"]["steps"].as_array().unwrap().iter();
    let commands = steps.filter_map(|step| step["run"].as_str()?.strip_prefix("bayplan "));
    commands.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Runs the command in a folder, and in the repository what its workflow and its last line say.
fn made(arguments: &[&str], files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let here = folder(files);
    let Ended { status, out, err } = bayplan_in(&here, &[&["init"], arguments, &["shop"]].concat());
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let made = here.join("shop");
    let found = files_below(&made);
    for path in found.keys() {
        assert!(out.contains(&format!("wrote shop/{path}\n")), "{path}: {out}");
    }
    let checks = checks(&found[".github/workflows/policies.yaml"]);
    assert!(checks.len() >= 3, "{checks:?}");
    for check in checks {
        let words: Vec<&str> = check.iter().map(String::as_str).collect();
        let Ended { status, out, err } = bayplan_in(&made, &words);
        assert_eq!(status, 0, "{check:?}: {out}{err}");
    }
    let next = out.split("Next: cd shop && ").nth(1).unwrap().lines().next().unwrap();
    for command in next.split(" && ") {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let Ended { status, out, err } = bayplan_in(&made, &words);
        assert_eq!(status, 0, "{command}: {out}{err}");
    }
    // Again: nothing is overwritten.
    let Ended { status, out, err } = bayplan_in(&here, &["init", "shop"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("shop/bayplan.yaml, ") && err.contains("nothing was written"), "{err}");
    assert_eq!(files_below(&made), found);
    found
}

#[test]
fn a_new_repository_passes_its_own_checks() {
    let found = made(&[], &[]);
    let kustomization: Value = serde_saphyr::from_str(&found["policies/kustomization.yaml"]).unwrap();
    for map in kustomization["configMapGenerator"].as_array().unwrap() {
        assert!(map["options"]["labels"]["bayplan.dev/policy"].is_string(), "{map}");
        for file in map["files"].as_array().unwrap() {
            assert!(found.contains_key(&format!("policies/{}", file.as_str().unwrap())), "{file}");
        }
    }
    let ci = |file: &str| std::fs::read_to_string(repository("examples/ci").join(file)).unwrap();
    assert_eq!(found[".pre-commit-config.yaml"], ci("pre-commit-config.yaml"));
}

#[test]
fn the_test_has_nodes_of_the_cluster() {
    let cluster = std::fs::read_to_string(repository("examples/first/cluster.yaml")).unwrap();
    let found = made(&["--from-cluster=cluster.yaml"], &[("cluster.yaml", &cluster)]);
    assert!(found["snapshot.yaml"].contains("name: gpu-1"), "{}", found["snapshot.yaml"]);
    assert!(found["policies/avoid-nodes.test.yaml"].contains("{node: \"gpu-1\"}"));
    // Nodes that no pod may go to, with a name that needs quotes.
    let tainted = "apiVersion: v1\nkind: Node\nmetadata: {name: \"1\", labels: {kubernetes.io/hostname: \"1\", \
                   example.com/avoid: \"true\"}, annotations: {secret: x}}\nspec: {unschedulable: true, taints: [{key: a, effect: \
                   NoExecute}]}\nstatus: {allocatable: {cpu: \"2\", memory: 1Gi, pods: \"9\"}}\n";
    let found = made(&["--from-cluster=cluster.yaml"], &[("cluster.yaml", tainted)]);
    assert!(!found["snapshot.yaml"].contains("secret"), "{}", found["snapshot.yaml"]);
}

#[test]
fn a_cluster_without_nodes_is_refused_with_what_to_do() {
    let here = folder(&[("cluster.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")]);
    for (arguments, said) in [
        (
            &["--from-cluster=cluster.yaml", "new"][..],
            "without `--from-cluster` the test has nodes of an example",
        ),
        (&["--from-cluster=none.yaml", "new"], "none.yaml"),
    ] {
        let Ended { status, err, .. } = bayplan_in(&here, &[&["init"], arguments].concat());
        assert_eq!(status, 2, "{err}");
        assert!(err.contains(said), "{err}");
        assert!(!here.join("new").exists(), "nothing was written");
    }
}
