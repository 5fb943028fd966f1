//! PodDisruptionBudgets in a dry run: their status follows the pods that are evicted and bound.

use bayplan::diag::SourceMap;
use bayplan::dry_run::{self, Options, Standing, load};
use bayplan::framework::{Instances, Profile};
use bayplan::model::{PodDisruptionBudget, Symbol};
use bayplan::scheduler::Profiles;
use std::sync::Arc;

/// Three nodes that are full: two with a pod of the budget, one with a pod of a higher priority that no budget protects.
fn cluster(status: &str) -> String {
    let mut text = String::new();
    for (node, app, priority) in [("a", "web", 1), ("b", "web", 1), ("c", "other", 2)] {
        text += &format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n\
             status: {{allocatable: {{cpu: \"1\", memory: 4Gi, pods: \"10\"}}}}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {{name: on-{node}, uid: on-{node}, labels: {{app: {app}}}}}\n\
             spec: {{nodeName: {node}, priority: {priority}, containers: [{{name: main, resources: \
             {{requests: {{cpu: \"1\"}}}}}}]}}\nstatus: {{phase: Running}}\n---\n"
        );
    }
    for name in ["first", "second"] {
        text += &format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: {name}}}\n\
             spec: {{priority: 10, containers: [{{name: main, resources: {{requests: {{cpu: \"1\"}}}}}}]}}\n---\n"
        );
    }
    text + &format!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: guard}}\n\
         spec: {{minAvailable: 1, selector: {{matchLabels: {{app: web}}}}}}\n{status}"
    )
}

/// The apps whose pods the two pending pods evict, in order, and what the budget allows at the end.
fn evicted(status: &str) -> (Vec<String>, i32) {
    let mut sources = SourceMap::new();
    let file = sources.add("cluster.yaml", cluster(status));
    let loaded = load(&mut sources, &[file]);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let registry = bayplan::plugins::registry();
    let profile = Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap();
    let profiles = Arc::new(Profiles { frameworks: vec![Arc::new(profile)], revision: 1 });
    let report = dry_run::run(&loaded.world, profiles, &Options::default());
    let mut apps = Vec::new();
    for pod in report.tried.iter().map(|at| &report.pods[*at]) {
        assert!(matches!(pod.standing, Standing::Bound(_)), "{:?}", pod.standing);
        for victim in pod.decisions.iter().flat_map(|record| &record.preemption).flat_map(|of| &of.victims) {
            apps.push(if victim.name.ends_with("on-c") { "other" } else { "web" }.to_owned());
        }
    }
    let snapshot = report.scheduler.snapshot();
    let budget = snapshot.object::<PodDisruptionBudget>(&Symbol::new("default"), &Symbol::new("guard"));
    (apps, budget.unwrap().disruptions_allowed)
}

#[test]
fn evictions_use_up_a_budget() {
    assert_eq!(evicted(""), (vec!["web".to_owned(), "other".to_owned()], 0));
}

#[test]
fn a_status_of_the_file_counts_until_a_pod_of_the_budget_changes() {
    // Of three allowed disruptions the first leaves what the controller counts: none.
    let used_up = (vec!["web".to_owned(), "other".to_owned()], 0);
    assert_eq!(evicted("status: {disruptionsAllowed: 3}"), used_up);
    // When nothing is allowed, the pod without a budget goes first; then a budget is violated.
    let violated = (vec!["other".to_owned(), "web".to_owned()], 0);
    assert_eq!(evicted("status: {disruptionsAllowed: 0}"), violated);
}
