//! What rules that do not decide would have done to the pods of a dry run.

use crate::cli::output::{Column, Output, Style, Table, count};
use crate::dry_run::{PodReport, Report};
use crate::framework::{Would, WouldEffect};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many pods of a rule are named.
const NAMED: usize = 2;

/// For programs; `None`: no rule counts for the pod.
pub(super) fn json(pod: &PodReport) -> Option<Value> {
    let of = |would: &Would| {
        let (policy, rule) = (would.policy.as_str(), would.rule.as_str());
        json!({"policy": policy, "rule": rule, "effect": would.effect.word()})
    };
    let all: Vec<Value> = pod.would().iter().map(of).collect();
    (!all.is_empty()).then(|| all.into())
}

/// The rules that would have done something, each with its pods; empty where no rule counts.
pub(super) fn text(
    report: &Report,
    order: &[usize],
    name: impl Fn(&PodReport) -> String,
    out: &Output,
) -> String {
    let mut counted = 0;
    let mut pods: BTreeMap<(String, WouldEffect), Vec<String>> = BTreeMap::new();
    for pod in order.iter().filter_map(|at| report.pods.get(*at)) {
        let all = pod.would();
        counted += all.len();
        for would in all.iter().filter(|would| would.effect != WouldEffect::Same) {
            let rule = format!("{}/{}", would.policy, would.rule);
            pods.entry((rule, would.effect)).or_default().push(name(pod));
        }
    }
    if counted == 0 {
        return String::new();
    }
    if pods.is_empty() {
        return "The rules that do not decide would have changed nothing.\n\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::words("DOES NOT DECIDE"),
        Column::words("WOULD HAVE"),
        Column::numbers("PODS"),
        Column::words("THEY ARE"),
    ]);
    for ((rule, effect), pods) in pods {
        let did = match effect {
            WouldEffect::Same => "changed nothing",
            WouldEffect::Moves => "moved them",
            WouldEffect::Waits => "let them wait",
            WouldEffect::Spares => "evicted fewer for them",
            WouldEffect::Evicts => "evicted others for them",
        };
        let named = pods.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let they = match pods.len().saturating_sub(NAMED) {
            0 => named,
            1 => format!("{named} and 1 other"),
            rest => format!("{named} and {} others", count(rest)),
        };
        let cells = [rule, did.to_owned(), count(pods.len()), they];
        table.row(cells.map(|cell| (Style::Plain, cell)));
    }
    format!("{}\n", table.draw(out))
}
