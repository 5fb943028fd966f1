//! What two versions decide, as text, as Markdown and as JSON.

use super::causes::Cause;
use super::compare::{Comparison, Differing};
use super::decided::Outcome;
use crate::cli::output::count;
use crate::cli::{Column, Output, Style, Table};
use crate::model::{VersionRow, VersionRowKind};
use serde_json::{Value, json};

/// A number of pods.
fn counted(number: usize, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// So many pods are listed unless all are wanted.
const LISTED: usize = 20;

fn names(cause: &Cause) -> String {
    let ids: Vec<&str> = cause.rows().iter().map(|row| row.def().id).collect();
    match cause {
        Cause::Among(_) if ids.len() > 1 => format!("some of {}", ids.join(", ")),
        _ => ids.join(" + "),
    }
}

fn place(of: &Outcome, pod: &Differing) -> String {
    let node = match &of.node {
        None if !of.message.is_empty() && pod.runs => return of.message.clone(),
        None if pod.runs => return "fits no node".to_owned(),
        None => return "waits".to_owned(),
        Some(node) => node,
    };
    let equal = match of.best.len() {
        0 | 1 => String::new(),
        count => format!(" (of {count} equal)"),
    };
    let evicts = match of.evicts.is_empty() {
        true => String::new(),
        false => format!(", evicts {}", of.evicts.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    format!("{node}{equal}{evicts}")
}

/// The heading: how many pods are decided otherwise.
fn summary(of: &Comparison) -> String {
    let (moved, would) = (of.moved(false).len(), of.moved(true).len());
    let pods = counted(of.pending, "pending pod");
    let running = counted(of.running, "running pod");
    let first = match moved {
        0 => format!("kube-scheduler {} decides {pods} as {} does", of.new, of.old),
        _ => format!("kube-scheduler {} decides {moved} of {pods} otherwise than {}", of.new, of.old),
    };
    match (of.running, would) {
        (0, _) => first,
        (_, 0) => format!("{first}; it would decide {running} alike, if each were new and alone"),
        _ => format!("{first}; it would decide {would} of {running} otherwise, if each were new and alone"),
    }
}

/// The rows that make a difference, each once, in the order of the table.
fn causes(of: &Comparison) -> Vec<VersionRow> {
    let named = |row: &&VersionRow| of.pods.iter().any(|pod| pod.cause.rows().contains(row));
    VersionRow::ALL.iter().filter(named).copied().collect()
}

fn name(pod: &Differing) -> String {
    format!("{}/{}", pod.pod.namespace, pod.pod.name)
}

/// As text.
pub(super) fn text(of: &Comparison, all: bool, out: &mut Output) -> anyhow::Result<()> {
    writeln!(out.stdout(), "{}.", summary(of))?;
    if out.quiet {
        return Ok(());
    }
    for running in [false, true] {
        table(of, running, all, out)?;
    }
    for (cause, count) in of.texts() {
        let pods = counted(count, "pod");
        writeln!(out.stdout(), "\nAnother text in events and conditions of {pods}: {}.", names(cause))?;
    }
    for row in causes(of) {
        let def = row.def();
        writeln!(out.stdout(), "\n{} ({})", def.id, def.source)?;
        writeln!(out.stdout(), "  {}: {}\n  {}: {}", of.old, before(of, row), of.new, after(of, row))?;
    }
    if !of.applies.is_empty() {
        writeln!(out.stdout(), "\nAlso, whatever is pending:")?;
        for row in &of.applies {
            writeln!(out.stdout(), "  {}: {}", row.def().kind.word(), after(of, *row))?;
        }
    }
    Ok(())
}

/// The pods of one kind that are decided otherwise, with a heading for running ones.
fn table(of: &Comparison, running: bool, all: bool, out: &mut Output) -> anyhow::Result<()> {
    let moved = of.moved(running);
    if moved.is_empty() {
        return Ok(());
    }
    let (old, new) = (format!("IN {}", of.old), format!("IN {}", of.new));
    let mut table = Table::new(&[
        Column::words(if running { "RUNNING POD" } else { "POD" }),
        Column { head: old.into(), right: false },
        Column { head: new.into(), right: false },
        Column::words("BECAUSE OF"),
    ]);
    let shown = if all { moved.len() } else { moved.len().min(LISTED) };
    for pod in moved.iter().take(shown) {
        let cells = [name(pod), place(&pod.old, pod), place(&pod.new, pod), names(&pod.cause)];
        table.row(cells.into_iter().map(|cell| (Style::Plain, cell)));
    }
    writeln!(out.stdout())?;
    let drawn = table.draw(out);
    write!(out.stdout(), "{drawn}")?;
    if shown < moved.len() {
        writeln!(out.stdout(), "{} more; `--all` lists them.", moved.len() - shown)?;
    }
    Ok(())
}

/// What the old version does.
fn before(of: &Comparison, row: VersionRow) -> &'static str {
    if of.old < of.new { row.def().before } else { row.def().after }
}

/// What the new version does.
fn after(of: &Comparison, row: VersionRow) -> &'static str {
    if of.old < of.new { row.def().after } else { row.def().before }
}

/// As Markdown, for a comment on a change.
pub(super) fn markdown(of: &Comparison, all: bool, out: &mut Output) -> anyhow::Result<()> {
    writeln!(out.stdout(), "### {}\n", summary(of))?;
    for (moved, what) in [(of.moved(false), "pod"), (of.moved(true), "running pod")] {
        if moved.is_empty() {
            continue;
        }
        writeln!(out.stdout(), "| {what} | {} | {} | because of |\n|---|---|---|---|", of.old, of.new)?;
        let shown = if all { moved.len() } else { moved.len().min(LISTED) };
        for pod in moved.iter().take(shown) {
            let cells = [name(pod), place(&pod.old, pod), place(&pod.new, pod)];
            let [name, old, new] = cells.map(|cell| cell.replace('|', "\\|"));
            writeln!(out.stdout(), "| {name} | {old} | {new} | `{}` |", names(&pod.cause))?;
        }
        if shown < moved.len() {
            writeln!(out.stdout(), "\n{} more.", moved.len() - shown)?;
        }
        writeln!(out.stdout())?;
    }
    for (cause, count) in of.texts() {
        writeln!(out.stdout(), "\nAnother text for {}: `{}`.", counted(count, "pod"), names(cause))?;
    }
    for row in causes(of) {
        writeln!(out.stdout(), "\n- `{}`: {}", row.def().id, after(of, row))?;
    }
    Ok(())
}

fn outcome(whole: &Comparison, of: &Outcome) -> Value {
    json!({
        "node": of.node.as_ref().map(|node| node.to_string()),
        "best": whole.best(of).into_iter().map(|node| node.to_string()).collect::<Vec<_>>(),
        "evicts": of.evicts,
        "message": of.message,
    })
}

fn row(of: &Comparison, row: VersionRow) -> Value {
    let def = row.def();
    json!({
        "id": def.id, "kind": def.kind.word(), "before": before(of, row), "after": after(of, row),
        "source": def.source,
    })
}

/// As JSON.
pub(super) fn json(of: &Comparison) -> Value {
    let ids = |rows: &[VersionRow]| rows.iter().map(|row| row.def().id).collect::<Vec<_>>();
    let pods = of.pods.iter().map(|pod| {
        let kind = if pod.is_decision() { VersionRowKind::Decision } else { VersionRowKind::Text };
        json!({
            "pod": name(pod), "runs": pod.runs, "kind": kind.word(),
            "before": outcome(of, &pod.old), "after": outcome(of, &pod.new),
            "rows": ids(pod.cause.rows()), "cause": pod.cause.word(),
        })
    });
    json!({
        "apiVersion": "bayplan.dev/v1",
        "kind": "VersionDiff",
        "from": of.old.word(),
        "to": of.new.word(),
        "pending": of.pending,
        "running": of.running,
        "pods": pods.collect::<Vec<_>>(),
        "rows": causes(of).into_iter().map(|one| row(of, one)).collect::<Vec<_>>(),
        "applies": of.applies.iter().map(|one| row(of, *one)).collect::<Vec<_>>(),
    })
}
