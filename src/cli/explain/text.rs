//! An explanation as people read it: the verdict, nodes by their set of reasons, rules with what they keep away.

use crate::cli::output::{Column, Output, Style, Table, count};
use crate::explain::{Because, Explanation, RuleCount};
use std::fmt::Write;

/// How many lines a table shows before the rest is folded.
const LINES: usize = 7;

/// The verdict in one line, with numbers that add up.
pub fn verdict(explanation: &Explanation, out: &Output) -> String {
    let pod = &explanation.pod;
    let nodes = count(explanation.nodes);
    if let Some(node) = &explanation.node {
        let others = explanation.fits.len() - usize::from(explanation.fits.contains(node));
        let there =
            if explanation.fits.contains(node) { "which lets it in" } else { "which would refuse it now" };
        let rest = explanation.nodes.saturating_sub(1);
        return format!(
            "{pod} is on {}, {there}; {} of {} other nodes would, too.",
            out.paint(Style::Good, node),
            count(others),
            count(rest)
        );
    }
    let waits = out.paint(Style::Warn, "waits");
    if let Some((plugin, reason)) = &explanation.refused_before_nodes {
        let by =
            if plugin.is_empty() { String::new() } else { format!(" by {}", out.paint(Style::Name, plugin)) };
        return format!("{pod} {waits}: refused{by} before any node is asked: {reason}");
    }
    match (explanation.nodes, explanation.fits.len()) {
        (0, _) => format!("{pod} {waits}: there are no nodes."),
        (_, 0) => format!("{pod} {waits}: none of {nodes} nodes fits."),
        (_, 1) => format!(
            "{pod} {}: 1 of {nodes} nodes fits, {}.",
            out.paint(Style::Good, "can be placed"),
            explanation.fits[0]
        ),
        (_, fits) => format!(
            "{pod} {}: {} of {nodes} nodes fit.",
            out.paint(Style::Good, "can be placed"),
            count(fits)
        ),
    }
}

/// Everything below the verdict. `all` folds nothing and shows the event and the funnel.
pub fn body(explanation: &Explanation, all: bool, out: &Output) -> String {
    let mut text = String::new();
    if explanation.per_node.is_empty() || explanation.sets.is_empty() {
        return text;
    }
    let _ = write!(text, "\n{}", sets(explanation, all, out));
    let _ = write!(text, "\n{}", rules(explanation, all, out));
    if all {
        if !explanation.message.is_empty() {
            let _ = write!(text, "\n  {}  {}\n", out.paint(Style::Dim, "Event "), explanation.message);
        }
        let steps: Vec<String> =
            explanation.funnel.iter().map(|(rule, left)| format!("{} after {rule}", count(*left))).collect();
        let arrow = if out.unicode { " → " } else { " -> " };
        let _ = writeln!(
            text,
            "  {}  {}{arrow}{}",
            out.paint(Style::Dim, "Funnel"),
            count(explanation.nodes),
            steps.join(arrow)
        );
    }
    text
}

fn sets(explanation: &Explanation, all: bool, out: &Output) -> String {
    let mut table = Table::new(&[Column::numbers("NODES"), Column::words("REFUSED BY")]);
    table.indent = 2;
    let mut rows: Vec<(usize, String)> =
        explanation.sets.iter().map(|set| (set.nodes, set.rules.join(", "))).collect();
    if !explanation.fits.is_empty() {
        rows.push((explanation.fits.len(), "none: they fit".to_owned()));
        rows.sort_by_key(|(nodes, _)| std::cmp::Reverse(*nodes));
    }
    let shown = if all || rows.len() <= LINES { rows.len() } else { LINES - 1 };
    for (nodes, rules) in &rows[..shown] {
        table.row([(Style::Plain, count(*nodes)), (Style::Name, rules.clone())]);
    }
    let folded = &rows[shown..];
    if !folded.is_empty() {
        let nodes: usize = folded.iter().map(|(nodes, _)| nodes).sum();
        table.row([(Style::Plain, count(nodes)), (Style::Dim, format!("{} others (--all)", folded.len()))]);
    }
    if rows.len() > 1 {
        table.row([(Style::Strong, count(explanation.nodes)), (Style::Plain, String::new())]);
    }
    table.draw(out)
}

fn rules(explanation: &Explanation, all: bool, out: &Output) -> String {
    let mut table = Table::new(&[
        Column::words("RULE"),
        Column::numbers("REFUSES"),
        Column::numbers("ALONE"),
        Column::words("BECAUSE"),
    ]);
    table.indent = 2;
    let shown = if all || explanation.rules.len() <= LINES { explanation.rules.len() } else { LINES - 1 };
    for rule in &explanation.rules[..shown] {
        let lines = because_lines(rule, all);
        for (at, line) in lines.iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            table.row([
                (Style::Name, first(rule.rule.clone())),
                (Style::Plain, first(count(rule.refuses))),
                (Style::Strong, first(count(rule.alone))),
                (Style::Plain, line.clone()),
            ]);
        }
    }
    let folded = &explanation.rules[shown..];
    if !folded.is_empty() {
        table.row([(Style::Dim, format!("{} others (--all)", folded.len()))]);
    }
    table.draw(out)
}

/// A rule's reasons, a line each; the place of the rule behind the first.
fn because_lines(rule: &RuleCount, all: bool) -> Vec<String> {
    let shown = if all { rule.because.len() } else { rule.because.len().min(2) };
    let mut lines: Vec<String> = rule.because[..shown]
        .iter()
        .map(|because| because_text(because, !rule.place.is_empty(), all))
        .collect();
    if rule.because.len() > shown {
        lines.push(format!("{} other reasons (--all)", rule.because.len() - shown));
    }
    if let (Some(first), false) = (lines.first_mut(), rule.place.is_empty()) {
        let _ = write!(first, "  {}", rule.place);
    }
    lines
}

/// `nvidia.com/gpu: needs 2; 1 is free on 27 nodes, 0 on 423`.
///
/// The sides of a policy's condition are shown by `--node`, in the rule's own text; here stand the values that its
/// author named.
fn because_text(because: &Because, of_policy: bool, all: bool) -> String {
    if of_policy && !because.need.is_empty() {
        return because.reason.clone();
    }
    if because.what.is_empty() && because.need.is_empty() && because.have.is_empty() {
        return because.reason.clone();
    }
    let mut text = if because.what.is_empty() { because.reason.clone() } else { because.what.clone() };
    if !because.need.is_empty() {
        let _ = write!(text, ": needs {}", because.need);
    }
    let shown = if all { because.have.len() } else { because.have.len().min(3) };
    let parts: Vec<String> = because.have[..shown]
        .iter()
        .enumerate()
        .map(|(at, (have, nodes))| {
            let nodes = match (at, *nodes) {
                (0, 1) => "1 node".to_owned(),
                (0, nodes) => format!("{} nodes", count(nodes)),
                (_, nodes) => count(nodes),
            };
            format!("{have} on {nodes}")
        })
        .collect();
    if !parts.is_empty() {
        let _ = write!(text, "; {}", parts.join(", "));
        let rest: usize = because.have[shown..].iter().map(|(_, nodes)| nodes).sum();
        if rest > 0 {
            let _ = write!(text, ", other amounts on {}", count(rest));
        }
    }
    text
}
