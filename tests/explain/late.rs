//! Suggestions for pods that rules after the choice of a node concern: each is made on the objects, and the whole
//! cluster is scheduled again.

use super::changes::{Bench, Brute, LATE, ask, pick, random_cluster};
use crate::support::command::bayplan;
use bayplan::dry_run::Standing;
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn a_suggestion_counts_if_the_whole_attempt_ends_with_a_node() {
    let mut bench = Bench::default();
    let (mut asked, mut late, mut helped, mut waited) = (0, 0, 0, 0);
    let seeds = std::env::var("BAYPLAN_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(120);
    for seed in 0..seeds {
        let mut random = Random(5_000 + seed);
        let mut cluster = random_cluster(&mut random);
        cluster.rules = (0..2).map(|_| pick(&mut random, &LATE).0).collect();
        if random.below(2) == 0 {
            cluster.rules.push("calm");
        }
        cluster.rules.sort_unstable();
        cluster.rules.dedup();
        let decided = bench.decide(&cluster);
        if matches!(decided.report.standing, Standing::Bound(_)) || decided.report.waited.is_some() {
            continue;
        }
        asked += 1;
        let taints = cluster.nodes.iter().flat_map(|node| node["spec"]["taints"].as_array().unwrap());
        let effects: BTreeMap<String, String> =
            taints.map(|taint| (taint["key"].as_str().unwrap().to_owned(), String::new())).collect();
        for help in &ask(&decided).helps {
            helped += 1;
            late += usize::from(!decided.explanation.fits.is_empty());
            waited += usize::from(!help.waits_for.is_empty());
            let set: Vec<Brute> = help.steps.iter().map(|step| Brute::read(&step.what, &effects)).collect();
            let of_node = set.iter().any(Brute::of_node);
            let tried = if of_node { help.nodes.len() } else { 1 };
            for name in help.nodes.iter().take(tried) {
                let node = cluster.nodes.iter().position(|node| node["metadata"]["name"] == **name).unwrap();
                let mut changed = cluster.clone();
                set.iter().for_each(|change| change.apply(&mut changed, node));
                let after = bench.decide(&changed).report;
                let has_node = matches!(after.standing, Standing::Bound(_)) || after.waited.is_some();
                assert!(
                    has_node,
                    "seed {seed} {:?} on {name}: {help:?}: {:?}",
                    cluster.rules, after.standing
                );
                assert_eq!(after.waited.is_some(), !help.waits_for.is_empty(), "seed {seed}: {help:?}");
            }
        }
    }
    assert!(asked > 40 && helped > asked && late > 10 && waited > 10, "{asked} {helped} {late} {waited}");
}

/// Nodes with labels and whether they are cordoned, and a pending pod.
fn cluster(nodes: &[(&str, Value, bool)]) -> String {
    let nodes = nodes.iter().map(|(name, labels, cordoned)| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"unschedulable": cordoned}, "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}},
        })
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    });
    json!({"kind": "List", "items": nodes.chain([pod]).collect::<Vec<_>>()}).to_string()
}

fn helps(name: &str, cluster: &str, policy: &str) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("bayplan-late-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, rules) = (folder.join("c.json"), folder.join("p.bay"));
    std::fs::write(&file, cluster).unwrap();
    std::fs::write(&rules, policy).unwrap();
    let (file, rules) = (file.to_str().unwrap(), rules.to_str().unwrap());
    let told = bayplan(&["explain", "q", "--cluster", file, "--policies", rules, "-o", "json"]).out;
    let told: Value = serde_json::from_str(&told).unwrap();
    let helps = told["wouldHelp"].as_array().unwrap().iter();
    helps.map(|help| help["what"].as_str().unwrap().to_owned()).collect()
}

const SHARE: &str =
    "/// x\npolicy p { reserve { reject \"no share\" when node.labels[\"gpu\"] != \"yes\" } }";

#[test]
fn what_reserve_refuses_afterwards_is_not_suggested() {
    let found = helps("cordoned", &cluster(&[("n1", json!({}), true)]), SHARE);
    assert!(
        !found
            .iter()
            .any(|what| ["uncordon n1", "tolerate node.kubernetes.io/unschedulable:NoSchedule"]
                .contains(&&**what)),
        "{found:?}"
    );
    assert!(found.iter().any(|what| what.contains("gpu=yes") && what.contains("uncordon")), "{found:?}");
}

#[test]
fn a_pod_that_reserve_refuses_on_the_best_node_gets_suggestions() {
    let found = helps("best", &cluster(&[("n1", json!({}), false)]), SHARE);
    assert!(found.contains(&"label n1 gpu=yes".to_owned()), "{found:?}");
    assert!(found.contains(&"except this pod from p/reserve".to_owned()), "{found:?}");
}
