//! The nodes that `--nodes` keeps an installation to: a selector that matches none, or few of them, leaves pods waiting while
//! other nodes have room.

use crate::doctor::facts::{Facts, Installation, Part};
use crate::doctor::finding::Finding;
use bayplan_config::NodeSelection;
use bayplan_model::{Node, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One node of this many is few.
const FEW: usize = 10;
/// How many values of a label are named.
const VALUES: usize = 4;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let nodes = facts.nodes.as_ref().map_err(Clone::clone)?;
    let kept = facts.installations.iter().filter_map(|of| Some((of, of.nodes.as_ref()?)));
    Ok(kept.filter_map(|(of, selection)| of_selection(of, selection, nodes)).collect())
}

fn of_selection(of: &Installation, selection: &NodeSelection, nodes: &[Arc<Node>]) -> Option<Finding> {
    let who = format!("`--nodes {selection}` of {}/{}", of.workload.namespace, of.workload.name);
    let matching = selection.matching(nodes);
    let look = || {
        let keys: Vec<&str> = selection.keys().collect();
        format!("kubectl get nodes --label-columns {}", keys.join(","))
    };
    let cordoned = matching.iter().filter(|node| node.unschedulable).count();
    match (nodes.len(), matching.len()) {
        (0, _) => None,
        (all, 0) => Some(
            Finding::error(format!("{who} matches no node; the cluster has {all}"))
                .because(format!("no pod is placed until a node matches{}", why_none(selection, nodes)))
                .then(look()),
        ),
        (_, found) if cordoned == found => Some(
            Finding::error(format!("all nodes that {who} matches are cordoned: {found}"))
                .because("no pod is placed until one of them takes pods again")
                .then("kubectl get nodes --field-selector spec.unschedulable=true"),
        ),
        (all, found) if found * FEW <= all => Some(
            Finding::note(format!("{who} matches {found} of {all} nodes"))
                .because(format!(
                    "its pods wait when these are full, whatever is free on the other {}",
                    all - found
                ))
                .then(look()),
        ),
        _ => None,
    }
}

/// Which part alone matches no node, and what nodes have instead.
fn why_none(selection: &NodeSelection, nodes: &[Arc<Node>]) -> String {
    let Some(part) = selection.parts_alone().into_iter().find(|part| part.matching(nodes).is_empty()) else {
        return "; each part matches nodes, and no node all of them".to_owned();
    };
    let key = Symbol::new(part.keys().next().unwrap_or_default());
    let mut values: BTreeMap<&str, usize> = BTreeMap::new();
    for value in nodes.iter().filter_map(|node| node.labels.get(&key)) {
        *values.entry(value.as_str()).or_default() += 1;
    }
    if values.is_empty() {
        return format!("; no node has the label `{key}`");
    }
    let mut values: Vec<(&str, usize)> = values.into_iter().collect();
    values.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    let named: Vec<String> =
        values.iter().take(VALUES).map(|(value, count)| format!("`{value}` ({count})")).collect();
    let more = if values.len() > VALUES { ", …" } else { "" };
    format!("; none matches `{part}`, and the values of `{key}` are {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing, object};
    use serde_json::json;

    fn node(name: usize, labels: serde_json::Value, cordoned: bool) -> Arc<Node> {
        let written = json!({
            "metadata": {"name": format!("n{name}"), "labels": labels},
            "spec": {"unschedulable": cordoned},
        });
        Arc::new(Node::from_object(&object(written)).unwrap())
    }

    fn said(selector: &str, nodes: Vec<Arc<Node>>) -> Option<Finding> {
        let mut of = installed("bayplan");
        of.nodes = Some(selector.parse().unwrap());
        check(&Facts { installations: vec![of], nodes: Ok(nodes), ..nothing() }).unwrap().pop()
    }

    #[test]
    fn a_selector_that_matches_no_node_is_an_error_with_what_nodes_have() {
        let pools = |cordoned| -> Vec<Arc<Node>> {
            (0..20)
                .map(|at| node(at, json!({"pool": if at < 2 { "gpu" } else { "cpu" }}), cordoned && at < 2))
                .collect()
        };
        let found = said("pool=gpus,!spot", pools(false)).unwrap();
        assert_eq!(
            found.what,
            "`--nodes pool=gpus,!spot` of bayplan/deploy/bayplan matches no node; the cluster has 20"
        );
        assert!(
            found
                .why
                .ends_with("none matches `pool=gpus`, and the values of `pool` are `cpu` (18), `gpu` (2)"),
            "{found:?}"
        );
        assert_eq!(found.command, "kubectl get nodes --label-columns pool,spot");
        assert!(said("tier", pools(false)).unwrap().why.ends_with("no node has the label `tier`"));
        assert!(said("pool=gpu,pool=cpu", pools(false)).unwrap().why.contains("no node all of them"));
        let few = said("pool=gpu", pools(false)).unwrap();
        assert!(few.what.ends_with("matches 2 of 20 nodes") && few.why.contains("the other 18"), "{few:?}");
        assert!(said("pool=gpu", pools(true)).unwrap().what.ends_with("are cordoned: 2"));
        assert_eq!(said("pool=cpu", pools(false)), None);
        assert_eq!(said("pool=cpu", Vec::new()), None);
    }
}
