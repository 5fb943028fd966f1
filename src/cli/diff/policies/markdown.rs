//! A change of policies as Markdown, for a comment on a change: the answer first, the rest folded.

use super::Change;
use super::effect::{Effect, Pending};
use super::text::{pod_name, rule_name, said, summary, verdict};
use crate::cli::Output;

/// A cell of a table: names and texts of others, without a meaning in Markdown.
fn cell(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ");
    plain.replace('<', "&lt;").replace('@', "&#64;").replace('`', "'")
}

/// Prints the change.
pub(super) fn write(change: &Change, all: bool, out: &mut Output) -> anyhow::Result<()> {
    let head = change.effect.as_ref().map_or_else(|| summary(change), verdict);
    writeln!(out.stdout(), "### {}\n", cell(&head))?;
    if change.effect.is_some() {
        writeln!(out.stdout(), "{}.\n", cell(&summary(change)))?;
    }
    if change.shown().next().is_some() {
        writeln!(out.stdout(), "| | rule | where | |\n|---|---|---|---|")?;
        for rule in change.shown() {
            let said = said(change, rule).iter().map(|line| cell(line)).collect::<Vec<_>>().join("<br>");
            let (word, name, place) =
                (rule.verdict.word(), cell(&rule_name(rule)), cell(&change.place(rule)));
            writeln!(out.stdout(), "| **{word}** | `{name}` | {place} | {said} |")?;
        }
    }
    if let Some(effect) = &change.effect {
        pods(effect, all, out)?;
    }
    Ok(())
}

/// So many pods are listed unless all are wanted.
const LISTED: usize = 50;

fn pods(effect: &Effect, all: bool, out: &mut Output) -> anyhow::Result<()> {
    let moved: Vec<&Pending> = effect.pending.iter().filter(|pod| pod.old.node != pod.new.node).collect();
    let limit = if all { usize::MAX } else { LISTED };
    let folded =
        |out: &mut Output, title: String, head: &str, rows: Vec<[String; 4]>| -> anyhow::Result<()> {
            if rows.is_empty() {
                return Ok(());
            }
            writeln!(out.stdout(), "\n<details><summary>{title}</summary>\n\n{head}\n|---|---|---|---|")?;
            let count = rows.len();
            for row in rows.into_iter().take(limit) {
                let [a, b, c, d] = row.map(|text| cell(&text));
                writeln!(out.stdout(), "| {a} | {b} | {c} | {d} |")?;
            }
            if count > limit {
                writeln!(out.stdout(), "\n{} more.", count - limit)?;
            }
            writeln!(out.stdout(), "\n</details>")?;
            Ok(())
        };
    let node =
        |node: &Option<crate::model::Symbol>| node.as_ref().map_or("waits".to_owned(), ToString::to_string);
    let rows = moved
        .iter()
        .map(|pod| [pod_name(&pod.pod), node(&pod.old.node), node(&pod.new.node), pod.rules.join(", ")]);
    let title = format!("{} of {} pending pods are decided otherwise", moved.len(), effect.pending.len());
    folded(out, title, "| pending pod | before | after | because of |", rows.collect())?;
    let rows = effect
        .refused
        .iter()
        .map(|of| [pod_name(&of.pod), of.node.to_string(), of.rule.clone(), node(&of.restarted_on)]);
    let title =
        format!("{} of {} running pods are refused where they are", effect.refused.len(), effect.running);
    folded(out, title, "| running pod | on | refused by | once restarted |", rows.collect())
}
