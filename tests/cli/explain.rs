//! `bayplan explain` on clusters in which pods are evicted.

use crate::support::command::{bayplan, bayplan_in, folder};
use crate::support::repository;
use serde_json::{Value, json};

/// The last attempt is that after the eviction; the pod comes from the back-off queue.
#[test]
fn explain_shows_the_cluster_of_the_last_attempt() {
    let policy = "/// Pods of jobs may not be evicted.\npolicy jobs { preempt {\n  \
                  except until 2099-01-31 because \"OPS-1: it moves\" when pod.namespace == \"importer\"\n  \
                  protect v when v.labels[\"job\"] == \"yes\" } }\n";
    let pod = |namespace: &str, name: &str, rest: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{namespace: {namespace}, name: {name}, labels: {{job: 'yes'}}}}\n\
             spec: {{{rest}, containers: [{{name: c, image: i, resources: {{requests: {{cpu: '2'}}}}}}]}}\n"
        )
    };
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n\
                status: {allocatable: {cpu: '2', memory: 8Gi, pods: '10'}}\n";
    let cluster = [
        node.to_owned(),
        pod("default", "runs", "nodeName: n, priority: 0"),
        pod("importer", "first", "priority: 10"),
        pod("default", "second", "priority: 5"),
    ];
    let at = folder(&[("p.bay", policy), ("cluster.yaml", &cluster.concat())]);
    let ended = bayplan_in(
        &at,
        &["explain", "second", "--policies", "p.bay", "--cluster", "cluster.yaml", "-o", "json"],
    );
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(told["placedBefore"], json!(["importer/first"]), "{}", ended.out);
    assert_eq!(told["evictions"]["protected"], json!([]), "the pod that ran was evicted: {}", ended.out);
}

/// What other pods get is not asked of a pod that has finished.
#[test]
fn a_finished_pod_has_no_suggestion_and_no_node() {
    let case = repository("tests/explain/explanations/finished.yaml");
    let case = case.to_str().unwrap();
    for (flag, value, says) in [
        ("--fix", "1", "nothing is suggested for default/job-1: it has finished"),
        ("--node", "n1", "no node is evaluated for default/job-1: it has finished"),
    ] {
        let ended = bayplan(&["explain", "job-1", "--cluster", case, flag, value]);
        assert_eq!(ended.status, 2, "{}", ended.err);
        assert!(ended.err.contains(says), "{}", ended.err);
    }
    // A name that no pod has is still near another one.
    let ended = bayplan(&["explain", "job-2", "--cluster", case]);
    assert!(ended.err.contains("no pod that waits or runs is called `job-2`"), "{}", ended.err);
}
