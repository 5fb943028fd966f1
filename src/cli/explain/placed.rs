//! Why a pod was placed on its node: the chosen node beside the runner-up, score by score, and the
//! plugins that refused the others.

use crate::cli::dry_run::why::runner_up;
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::dry_run::because::addends;
use crate::explain::Explanation;
use crate::scheduler::{Decision, DecisionRecord, NodeDetail};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Everything below the verdict of a pod that was placed.
pub(crate) fn body(record: &DecisionRecord, explanation: &Explanation, all: bool, out: &Output) -> String {
    let (Decision::Placed { node, .. }, Some(detail)) = (&record.decision, &record.detail) else {
        return String::new();
    };
    let mut text = String::new();
    let Some(chosen) = detail.nodes.iter().find(|other| other.name == *node) else { return text };
    let mut others: Vec<&NodeDetail> =
        detail.nodes.iter().filter(|other| was_scored(other) && other.name != *node).collect();
    if all {
        others.sort_by_key(|other| std::cmp::Reverse(other.total));
    } else {
        others = runner_up(&detail.nodes, node).filter(|other| was_scored(other)).into_iter().collect();
    }
    for other in others {
        let _ = write!(text, "\n{}", beside(chosen, other, out));
    }
    let _ = write!(text, "\n{}", nodes(&detail.nodes, (node, explanation), out));
    text
}

/// Whether a node was evaluated and fits: of a pod that pods were evicted for only its nominated node is.
fn was_scored(node: &NodeDetail) -> bool {
    node.refused.is_none() && node.total.is_some()
}

/// Why a node that was not evaluated does not fit; `None`: it would.
fn as_it_is(explanation: &Explanation, node: &str) -> Option<String> {
    let told = explanation.per_node.iter().find(|told| told.name == node)?;
    let refusal = told.refusals.first()?;
    Some(format!("{}: {}", refusal.rule, refusal.reason))
}

/// The scores of two nodes; the last line is the totals.
fn beside(chosen: &NodeDetail, other: &NodeDetail, out: &Output) -> String {
    let mut table = Table::new(&[
        Column::words("SCORE BY"),
        Column::numbers_of(&chosen.name),
        Column::numbers_of(&other.name),
        Column::numbers("AHEAD"),
    ]);
    table.indent = 2;
    let [plain, strong] = [Style::Plain, Style::Strong];
    let theirs = addends(other);
    for (name, score) in addends(chosen) {
        let their = theirs.iter().find(|(known, _)| *known == name).map_or(0, |(_, score)| *score);
        if score == 0 && their == 0 {
            continue;
        }
        let ahead = score - their;
        let style = if ahead == 0 { plain } else { strong };
        table.row([
            (Style::Name, name),
            (plain, score.to_string()),
            (plain, their.to_string()),
            (style, ahead.to_string()),
        ]);
    }
    let totals = [chosen.total.unwrap_or_default(), other.total.unwrap_or_default()];
    let ahead = totals[0] - totals[1];
    table.row([
        (strong, "total".into()),
        (strong, totals[0].to_string()),
        (strong, totals[1].to_string()),
        (strong, ahead.to_string()),
    ]);
    table.draw(out)
}

/// All nodes by the first reason that refused them; the counts add up. A node that was not evaluated is explained as it is now.
fn nodes(nodes: &[NodeDetail], (chosen, explanation): (&str, &Explanation), out: &Output) -> String {
    let mut by_reason: BTreeMap<String, usize> = BTreeMap::new();
    let mut fit = 0;
    for node in nodes {
        let skipped = !was_scored(node) && node.name != *chosen;
        match &node.refused {
            None if skipped => {
                let why = as_it_is(explanation, &node.name);
                let why = why.unwrap_or_else(|| "none: it was not evaluated, and fits".to_owned());
                *by_reason.entry(why).or_default() += 1;
            }
            None => fit += 1,
            Some((plugin, status)) => {
                // Nodes that plugins leave out together have no plugin of their own, and the text names them.
                let by = if plugin.is_empty() { String::new() } else { format!("{plugin}: ") };
                *by_reason.entry(format!("{by}{}", status.message())).or_default() += 1;
            }
        }
    }
    let mut rows: Vec<(usize, String)> =
        by_reason.into_iter().map(|(reason, nodes)| (nodes, reason)).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut table = Table::new(&[Column::numbers("NODES"), Column::words("FIRST REFUSED BY")]);
    table.indent = 2;
    table.row([(Style::Good, count(fit)), (Style::Plain, "none: they let it pass".into())]);
    for (nodes, reason) in rows {
        table.row([(Style::Plain, count(nodes)), (Style::Plain, reason)]);
    }
    table.row([(Style::Strong, count(nodes.len())), (Style::Plain, String::new())]);
    table.draw(out)
}
