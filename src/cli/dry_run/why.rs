//! The decisive reason of a decision in a few words: the last column of `dry-run`.

use super::How;
use crate::cli::output::count;
use crate::dry_run::PodReport;
use crate::dry_run::because::decisive;
use crate::scheduler::{Decision, DecisionRecord, NodeDetail};

/// The longest name of a runner-up on a terminal: the rule behind it matters more.
const NAME: usize = 24;

/// Why the pod is where it is, or why it waits.
pub(crate) fn why(record: &DecisionRecord, how: &How) -> String {
    why_within(record, how, false)
}

/// Why the pod is where it is, or why it waits; `cut` shortens long names, since the line must fit a terminal.
pub(crate) fn why_within(record: &DecisionRecord, how: &How, cut: bool) -> String {
    match &record.decision {
        Decision::Error { message } => format!("error: {message}"),
        Decision::Unschedulable { message, .. } => reasons(message),
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
                    let name = if cut { shortened(&second.name) } else { second.name.to_string() };
                    format!("best of {of}: {ahead} ahead of {name}, by {by}")
                }
                _ => format!("best of {of}"),
            }
        }
    }
}

/// Which pods make room for a pod: `evicts shop/web-1 and shop/web-2`, with the PodDisruptionBudgets that would keep
/// them. `None` when no pod was evicted for it.
pub(crate) fn evictions(report: &PodReport) -> Option<String> {
    let mut preempting = report.decisions.iter().filter_map(|record| record.preemption.as_ref());
    let preemption = preempting.rfind(|preemption| !preemption.victims.is_empty())?;
    let victims: Vec<String> =
        preemption.victims.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    let mut text = match &victims[..] {
        [first @ .., second, last] if first.len() < 2 => {
            let few: Vec<&str> = first.iter().chain([second]).map(String::as_str).collect();
            format!("evicts {} and {last}", few.join(", "))
        }
        [one] => format!("evicts {one}"),
        many => format!("evicts {}, {} and {} others", many[0], many[1], count(many.len() - 2)),
    };
    if !preemption.budgets.is_empty() {
        let names: Vec<&str> = preemption.budgets.iter().map(|name| name.as_str()).collect();
        text.push_str(&format!(" against PodDisruptionBudget {}", names.join(", ")));
    }
    Some(text)
}

/// The pods that were evicted for a pod, by their full names.
pub(crate) fn victims(report: &PodReport) -> Vec<String> {
    let preempting = report.decisions.iter().filter_map(|record| record.preemption.as_ref());
    let victims = preempting.flat_map(|preemption| &preemption.victims);
    victims.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect()
}

/// A long name without its middle, which names of one cluster mostly share.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    match letters.len() {
        0..=NAME => name.to_owned(),
        long => {
            let (start, end) = (letters.iter().take(12), letters.iter().skip(long - (NAME - 13)));
            start.chain(&['…']).chain(end).collect()
        }
    }
}

/// The reasons of kube-scheduler's text, those of the most nodes first, so that a narrow terminal
/// cuts the others. Their counts add up to the nodes.
pub(crate) fn reasons(message: &str) -> String {
    let Some((_, list)) = message.split_once("nodes are available: ") else {
        return message.strip_suffix('.').unwrap_or(message).to_owned();
    };
    let list = list.strip_suffix('.').unwrap_or(list);
    // What follows the reasons is about claims and preemption.
    let list = list.split_once(". ").map_or(list, |(list, _)| list);
    let counted = |part: &str| -> Option<usize> { part.split_once(' ')?.0.parse().ok() };
    let mut reasons: Vec<String> = Vec::new();
    for part in list.split(", ") {
        match reasons.last_mut() {
            // A reason may have a comma itself.
            Some(last) if counted(part).is_none() => {
                last.push_str(", ");
                last.push_str(part);
            }
            _ => reasons.push(part.to_owned()),
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(counted(reason)));
    reasons.join(", ")
}

/// The best of the other nodes; the first in the cluster's order when several are equal.
pub(crate) fn runner_up<'a>(nodes: &'a [NodeDetail], chosen: &str) -> Option<&'a NodeDetail> {
    let others = nodes.iter().filter(|node| node.refused.is_none() && node.name != *chosen);
    others.rev().max_by_key(|node| node.total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_most_nodes_comes_first() {
        let message = "0/17 nodes are available: 1 a, b and c, 13 Insufficient memory, 3 Insufficient cpu.";
        assert_eq!(reasons(message), "13 Insufficient memory, 3 Insufficient cpu, 1 a, b and c");
        assert_eq!(reasons("job is not complete."), "job is not complete");
        let preempted = "0/3 nodes are available: 1 a, 2 b. preemption: 0/3 nodes are available: 3 c.";
        assert_eq!(reasons(preempted), "2 b, 1 a");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("gpu-1"), "gpu-1");
        let name = shortened("ip-10-0-131-77.eu-central-1.compute.internal");
        assert_eq!(name, "ip-10-0-131-…te.internal");
        assert_eq!(name.chars().count(), NAME);
    }
}
