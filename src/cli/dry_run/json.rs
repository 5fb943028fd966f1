//! The JSON of `dry-run`, kind `DryRun`: an interface for other programs; fields are only added.

use crate::scheduler::{Decision, DecisionRecord, NodeDetail};
use serde_json::{Map, Value, json};

/// All decisions, in the order they were made. `all_nodes` adds every node with its refusal or scores.
pub fn report(records: &[DecisionRecord], all_nodes: bool) -> Value {
    let decisions: Vec<Value> = records.iter().map(|record| decision(record, all_nodes)).collect();
    json!({"apiVersion": "bayplan.dev/v1", "kind": "DryRun", "decisions": decisions})
}

fn decision(record: &DecisionRecord, all_nodes: bool) -> Value {
    let (node, message, nominated, best): (&str, &str, &str, Vec<&str>) = match &record.decision {
        Decision::Placed { node, best, .. } => (node, "", "", best.iter().map(|name| name.as_str()).collect()),
        Decision::Unschedulable { message, nominated } => {
            ("", message, nominated.as_ref().map_or("", |name| name.as_str()), Vec::new())
        }
        Decision::Error { message } => ("", message, "", Vec::new()),
    };
    let mut one = json!({
        "pod": format!("{}/{}", record.pod.namespace, record.pod.name),
        "profile": record.profile.as_str(),
        "node": node,
        "message": message,
        "nominatedNode": nominated,
        "victims": [],
        "best": best,
    });
    if let (true, Some(detail), Some(one)) = (all_nodes, &record.detail, one.as_object_mut()) {
        one.insert("nodes".to_owned(), detail.nodes.iter().map(node_detail).collect());
    }
    one
}

fn node_detail(node: &NodeDetail) -> Value {
    let mut one = Map::new();
    one.insert("name".to_owned(), json!(node.name.as_str()));
    one.insert("feasible".to_owned(), json!(node.refused.is_none()));
    if let Some((plugin, status)) = &node.refused {
        one.insert("plugin".to_owned(), json!(plugin.as_str()));
        one.insert("code".to_owned(), json!(status.code.name()));
        one.insert("reasons".to_owned(), status.reasons().collect::<Vec<_>>().into());
    } else {
        let scores: Map<String, Value> =
            node.scores.iter().map(|score| (score.plugin.to_string(), json!(score.score))).collect();
        one.insert("scores".to_owned(), scores.into());
        let parts: Map<String, Value> = node
            .scores
            .iter()
            .filter(|score| !score.parts.is_empty())
            .map(|score| {
                let parts: Map<String, Value> =
                    score.parts.iter().map(|part| (part.name.to_string(), json!(part.score))).collect();
                (score.plugin.to_string(), parts.into())
            })
            .collect();
        if !parts.is_empty() {
            one.insert("policyScores".to_owned(), parts.into());
        }
        if let Some(total) = node.total {
            one.insert("total".to_owned(), json!(total));
        }
    }
    one.into()
}
