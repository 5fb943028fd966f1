//! The one thing that made a decision so, in a few words: the last column of `dry-run`.

use super::How;
use crate::cli::output::count;
use crate::dry_run::because::decisive;
use crate::scheduler::{Decision, DecisionRecord, NodeDetail};

/// Why the pod is where it is, or why it waits.
pub fn why(record: &DecisionRecord, how: &How) -> String {
    match &record.decision {
        Decision::Error { message } => format!("error: {message}"),
        Decision::Unschedulable { message, .. } => reasons(message).to_owned(),
        Decision::Placed { node, equal, feasible, .. } => {
            if *feasible == 1 {
                return "the only node that fits".to_owned();
            }
            let of = count(*feasible);
            if *equal > 1 {
                let shared =
                    if equal == feasible { "equal".to_owned() } else { format!("{} equal", count(*equal)) };
                let how = if how.tie_break == "name" {
                    "taken by name".to_owned()
                } else {
                    format!("drawn with seed {}", how.seed)
                };
                return format!("best of {of}, {shared}: {how}");
            }
            let nodes = record.detail.as_ref().map_or(&[][..], |detail| &detail.nodes);
            let chosen = nodes.iter().find(|other| other.name == *node);
            match (chosen, runner_up(nodes, node)) {
                (Some(chosen), Some(second)) => {
                    let ahead = chosen.total.unwrap_or_default() - second.total.unwrap_or_default();
                    let by = decisive(chosen, second).map(|(name, ..)| name).unwrap_or_default();
                    format!("best of {of}: {ahead} ahead of {}, by {by}", second.name)
                }
                _ => format!("best of {of}"),
            }
        }
    }
}

/// The reasons of kube-scheduler's text, without its beginning: their counts add up to the nodes.
pub fn reasons(message: &str) -> &str {
    let list = message.split_once("nodes are available: ").map_or(message, |(_, list)| list);
    list.strip_suffix('.').unwrap_or(list)
}

/// The best of the other nodes; the first in the cluster's order when several are equal.
pub fn runner_up<'a>(nodes: &'a [NodeDetail], chosen: &str) -> Option<&'a NodeDetail> {
    let others = nodes.iter().filter(|node| node.refused.is_none() && node.name != *chosen);
    others.rev().max_by_key(|node| node.total)
}
