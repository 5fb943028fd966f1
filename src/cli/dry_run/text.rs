//! The text report of `dry-run`: a line for each pod with the decisive reason, then the counts.

use super::super::explain::gate::HeldBecause;
use super::why::{evictions, reasons, why_within};
use super::{How, in_order, standing};
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::cli::setup::Setup;
use crate::dry_run::{PodReport, Report, Standing};
use crate::scheduler::Decision;
use serde_json::Value;
use std::fmt::Write;

/// How many pods are shown before the rest is counted.
const SHOWN: usize = 30;

/// What policies write into objects, a row for each.
fn writes(report: &Report, all: bool, out: &Output) -> String {
    if report.writes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[Column::words("WOULD WRITE INTO"), Column::words("WHAT")]);
    let most = if all { usize::MAX } else { SHOWN };
    for (object, fields) in report.writes.iter().take(most) {
        table.row([(Style::Name, object), (Style::Plain, written(fields))]);
    }
    let mut text = table.draw(out);
    let more = report.writes.iter().count().saturating_sub(most);
    if more > 0 {
        let line = format!("{} more objects (--all)", count(more));
        let _ = writeln!(text, "{}", out.paint(Style::Dim, &line));
    }
    text.push('\n');
    text
}

/// Labels and annotations as `KEY=VALUE`, or `KEY-` where one is removed; other fields as JSON.
fn written(fields: &Value) -> String {
    let mut parts = Vec::new();
    for (field, value) in fields.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("labels" | "annotations", Value::Object(all)) => {
                let word = field.trim_end_matches('s');
                parts.extend(all.iter().map(|(key, value)| match value.as_str() {
                    Some(value) => format!("{word} {key}={value}"),
                    None => format!("{word} {key}-"),
                }));
            }
            (field, value) => parts.push(format!("{field}: {value}")),
        }
    }
    parts.join(", ")
}

/// The whole report.
pub(crate) fn report(
    setup: &Setup,
    report: &Report,
    how: &How,
    all: bool,
    flags: &str,
    out: &Output,
) -> String {
    let mut text = String::new();
    let summary = summary(setup, report);
    if out.quiet {
        return format!("{summary}\n");
    }
    if report.pods.is_empty() {
        let _ = writeln!(text, "No pod is pending: {}.", cluster(setup));
        let _ = writeln!(text, "Next: {} dry-run{flags} --pods FILE", out.program);
        return text;
    }
    let order = in_order(report);
    let shown = choose(report, &order, if all { usize::MAX } else { SHOWN });
    let mut table = Table::new(&[
        Column::words("POD"),
        Column::words("NODE"),
        Column::numbers("SCORE"),
        Column::words("WHY"),
    ]);
    let several = several_namespaces(report);
    for at in order.iter().filter(|at| shown.contains(at)) {
        let Some(pod) = report.pods.get(*at) else { continue };
        let held = matches!(standing(pod), Standing::Gated { .. });
        let held = held.then(|| super::held(setup, report, how, pod)).flatten();
        table.row(row(pod, several, how, held, out.width.is_some()));
    }
    text.push_str(&table.draw(out));
    if shown.len() < order.len() {
        let rest: Vec<&PodReport> =
            order.iter().filter(|at| !shown.contains(at)).filter_map(|at| report.pods.get(*at)).collect();
        let placed = rest.iter().filter(|pod| matches!(standing(pod), Standing::Bound(_))).count();
        let line = match (placed, rest.len() - placed) {
            (placed, 0) => format!("{} more placed (--all)", count(placed)),
            (placed, others) => format!("{} more placed, {} more not (--all)", count(placed), count(others)),
        };
        let _ = writeln!(text, "{}", out.paint(Style::Dim, &line));
    }
    text.push('\n');
    text.push_str(&writes(report, all, out));
    text.push_str(&super::would::text(report, &order, |pod| short_name(pod, several), out));
    let _ = writeln!(text, "{}", out.paint(Style::Strong, &summary));
    if report.stopped {
        let _ = writeln!(
            text,
            "Pods that are rejected after waiting are retried for ever; the dry run stops there."
        );
    }
    let next = order.iter().filter_map(|at| report.pods.get(*at)).min_by_key(|pod| match standing(pod) {
        Standing::Waiting { .. } | Standing::Failing { .. } => 0,
        Standing::AtPermit { .. } | Standing::Gated { .. } => 1,
        Standing::Bound(_) => 2,
        Standing::NotOurs | Standing::Terminating => 3,
    });
    if let Some(pod) = next {
        let command =
            out.paint(Style::Strong, &format!("{} explain {}{flags}", out.program, short_name(pod, several)));
        let _ = writeln!(text, "{} {command}", out.paint(Style::Dim, "Next:"));
    }
    text
}

/// The pods to show: all, or those that were not placed first, up to `limit`.
fn choose(report: &Report, order: &[usize], limit: usize) -> Vec<usize> {
    let placed =
        |at: &&usize| report.pods.get(**at).is_some_and(|pod| matches!(standing(pod), Standing::Bound(_)));
    let (placed, waiting): (Vec<&usize>, Vec<&usize>) = order.iter().partition(placed);
    waiting.into_iter().chain(placed).take(limit).copied().collect()
}

fn several_namespaces(report: &Report) -> bool {
    let first = report.pods.first().map(|pod| &pod.pod.namespace);
    report.pods.iter().any(|pod| Some(&pod.pod.namespace) != first || pod.pod.namespace.as_str() != "default")
}

fn short_name(pod: &PodReport, several: bool) -> String {
    if several { pod.pod.full_name() } else { pod.pod.name.to_string() }
}

fn row(
    pod: &PodReport,
    several: bool,
    how: &How,
    held: Option<HeldBecause>,
    cut: bool,
) -> Vec<(Style, String)> {
    let last = pod.decisions.last();
    let score = last.and_then(|record| match &record.decision {
        Decision::Placed { total, .. } => *total,
        _ => None,
    });
    let score = score.map_or_else(|| "-".to_owned(), count_signed);
    let name = (Style::Plain, short_name(pod, several));
    let dash = (Style::Plain, "-".to_owned());
    match &standing(pod) {
        Standing::Bound(node) => {
            let mut text = last.map(|record| why_within(record, how, cut)).unwrap_or_default();
            if let Some(waited) = &pod.waited {
                let plugins: Vec<&str> = waited.plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
                let _ = write!(text, "; waited for {}", plugins.join(", "));
            }
            if let Some(evictions) = evictions(pod) {
                let _ = write!(text, "; {evictions}");
            }
            vec![name, (Style::Good, node.to_string()), (Style::Plain, score), (Style::Plain, text)]
        }
        Standing::Waiting { message } => {
            let mut text = reasons(message);
            if let Some(waited) = &pod.waited {
                let _ = write!(text, " (it had {})", waited.node);
            }
            if let Some(evictions) = evictions(pod) {
                let _ = write!(text, "; {evictions}");
            }
            vec![name, (Style::Warn, "waits".into()), dash, (Style::Plain, text)]
        }
        Standing::Gated { by } => {
            let text = match &pod.pod.scheduling_gates[..] {
                [] => {
                    let why = held.map_or_else(String::new, |held| format!(": {}", held.words()));
                    format!("kept out of the queue by {by}{why}")
                }
                gates => format!(
                    "gated by {}",
                    gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(", ")
                ),
            };
            vec![name, (Style::Warn, "gated".into()), dash, (Style::Plain, text)]
        }
        Standing::AtPermit { node, plugins } => {
            let plugins: Vec<&str> = plugins.iter().map(|plugin| plugin.as_str()).collect();
            let text = format!("has {node}, waits for {}", plugins.join(", "));
            vec![name, (Style::Warn, "waits".into()), (Style::Plain, score), (Style::Plain, text)]
        }
        Standing::Failing { message } => {
            vec![name, (Style::Bad, "error".into()), dash, (Style::Plain, message.clone())]
        }
        Standing::NotOurs => {
            let text = format!("no profile is called `{}`", pod.pod.scheduler_name);
            vec![name, (Style::Dim, "not ours".into()), dash, (Style::Plain, text)]
        }
        Standing::Terminating => {
            vec![name, (Style::Dim, "ends".into()), dash, (Style::Plain, why_it_ends(&pod.pod).into())]
        }
    }
}

/// Why a pod ends that is not scheduled.
pub(super) fn why_it_ends(pod: &crate::model::PodInfo) -> &'static str {
    if pod.is_terminating() { "it is being deleted" } else { "it was evicted to make room for another pod" }
}

fn count_signed(number: i64) -> String {
    let digits = count(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX));
    if number < 0 { format!("-{digits}") } else { digits }
}

fn cluster(setup: &Setup) -> String {
    let nodes =
        setup.world.objects.iter().filter(|object| matches!(object, crate::model::Object::Node(_))).count();
    let policies = setup.policies.set.len();
    let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", count(nodes)) };
    let policies = match policies {
        0 => "no policy".to_owned(),
        1 => "1 policy".to_owned(),
        many => format!("{} policies", count(many)),
    };
    format!("{nodes}, {policies}")
}

/// `4 pods: 3 placed, 1 waits. 4 nodes, 1 policy. Nothing was written.` The parts add up to the pods.
pub(crate) fn summary(setup: &Setup, report: &Report) -> String {
    let mut tally = [0usize; 6];
    for pod in &report.pods {
        let at = match standing(pod) {
            Standing::Bound(_) => 0,
            Standing::Waiting { .. } | Standing::AtPermit { .. } => 1,
            Standing::Gated { .. } => 2,
            Standing::Failing { .. } => 3,
            Standing::NotOurs => 4,
            Standing::Terminating => 5,
        };
        tally[at] += 1;
    }
    let words: [[&str; 2]; 6] = [
        ["placed", "placed"],
        ["waits", "wait"],
        ["gated", "gated"],
        ["failed", "failed"],
        ["of another scheduler", "of another scheduler"],
        ["ends", "end"],
    ];
    let parts: Vec<String> = tally
        .iter()
        .zip(words)
        .enumerate()
        .filter(|(at, (number, _))| **number > 0 || *at == 0)
        .map(|(_, (number, words))| format!("{} {}", count(*number), words[usize::from(*number != 1)]))
        .collect();
    let pods = if report.pods.len() == 1 {
        "1 pod".to_owned()
    } else {
        format!("{} pods", count(report.pods.len()))
    };
    format!("{pods}: {}. {}. Nothing was written.", parts.join(", "), cluster(setup))
}
