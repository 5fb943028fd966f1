//! The JSON report of `dry-run`, kind `DryRun`, for programs; fields are only added.

use super::{in_order, standing};
use crate::cli::explain::gate::HeldBecause;
use crate::cli::explain::pod::state_word;
use crate::dry_run::{PodReport, Report, Standing};
use crate::scheduler::{Decision, DecisionRecord, NodeDetail};
use serde_json::{Map, Value, json};

/// Why a gate holds a pod.
pub(crate) type Held<'a> = &'a dyn Fn(&PodReport) -> Option<HeldBecause>;

/// The last decision of each pod, in the order of first attempts. `all_nodes` adds every node with
/// its refusal or scores.
pub(crate) fn report(report: &Report, all_nodes: bool, held: Held) -> Value {
    let pods = in_order(report).into_iter().filter_map(|at| report.pods.get(at));
    let decisions: Vec<Value> = pods.map(|pod| of_pod(pod, all_nodes, held)).collect();
    let writes: Vec<Value> =
        report.writes.iter().map(|(object, fields)| json!({"object": object, "fields": fields})).collect();
    let version = report.scheduler.snapshot().version_rows().version().unwrap_or_default();
    json!({
        "apiVersion": "bayplan.dev/v1", "kind": "DryRun", "kubernetes": version.word(), "totals": totals(report),
        "decisions": decisions, "writes": writes,
    })
}

/// How many pods end in each state, of all states.
pub(crate) fn totals(report: &Report) -> Value {
    let ends: Vec<&str> = report.pods.iter().map(|pod| state_word(&standing(pod))).collect();
    let count = |state: &str| ends.iter().filter(|end| **end == state).count();
    let states = STATES.iter().map(|state| ((*state).to_owned(), json!(count(state))));
    let mut totals: Map<String, Value> = states.collect();
    totals.insert("pods".to_owned(), json!(ends.len()));
    totals.into()
}

/// The states that [`of_pod`] tells.
const STATES: [&str; 7] = ["placed", "waits", "failed", "gated", "atPermit", "notOurs", "terminating"];

/// A pod's last decision, with its final state.
pub(crate) fn of_pod(pod: &PodReport, all_nodes: bool, held: Held) -> Value {
    let mut one = match pod.decisions.last() {
        Some(record) => decision(record, all_nodes),
        None => json!({
            "pod": pod.pod.full_name(),
            "profile": pod.pod.scheduler_name.as_str(),
            "node": "", "message": "", "nominatedNode": "", "victims": [], "best": [],
        }),
    };
    let standing = standing(pod);
    let held = matches!(standing, Standing::Gated { .. }).then(|| held(pod)).flatten();
    let (state, node, message) = match &standing {
        Standing::Bound(node) => ("placed", node.as_str(), String::new()),
        Standing::Waiting { message } => ("waits", "", message.clone()),
        Standing::Failing { message } => ("failed", "", message.clone()),
        Standing::Gated { by } => {
            let why = held.as_ref().map_or_else(String::new, |held| format!(": {}", held.reason));
            ("gated", "", format!("kept out of the queue by {by}{why}"))
        }
        Standing::AtPermit { plugins, .. } => {
            let plugins: Vec<&str> = plugins.iter().map(|plugin| plugin.as_str()).collect();
            ("atPermit", "", format!("waits for {}", plugins.join(", ")))
        }
        Standing::NotOurs => ("notOurs", "", format!("no profile is called `{}`", pod.pod.scheduler_name)),
        Standing::Terminating => ("terminating", "", super::text::why_it_ends(&pod.pod).to_owned()),
    };
    if let Some(one) = one.as_object_mut() {
        one.insert("node".to_owned(), json!(node));
        one.insert("message".to_owned(), json!(message));
        one.insert("state".to_owned(), json!(state));
        let opens = held.and_then(|held| held.at);
        if let Some(at) = opens.and_then(|at| jiff::Timestamp::from_microsecond(at.0).ok()) {
            one.insert("opens".to_owned(), json!(at.to_string()));
        }
        one.insert("victims".to_owned(), json!(super::why::victims(pod)));
        if let Some(would) = super::would::json(pod) {
            one.insert("would".to_owned(), would);
        }
        if let Some(waited) = &pod.waited {
            let plugins: Vec<&str> = waited.plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
            one.insert("waited".to_owned(), json!({"node": waited.node.as_str(), "plugins": plugins}));
        }
    }
    one
}

fn decision(record: &DecisionRecord, all_nodes: bool) -> Value {
    let victims = record.preemption.iter().flat_map(|preemption| &preemption.victims);
    let victims: Vec<String> = victims.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    let (node, message, nominated, best): (&str, &str, &str, Vec<&str>) = match &record.decision {
        Decision::Placed { node, best, .. } => {
            (node, "", "", best.iter().map(|name| name.as_str()).collect())
        }
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
        "victims": victims,
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
