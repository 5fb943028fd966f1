//! A change of policies as text.

use super::effect::{Effect, Outcome, Pending, Refused};
use super::{Change, Reading, Wakes};
use crate::cli::output::{Buffer, count};
use crate::cli::{Column, Output, Style, Table};
use crate::compare::{RuleDiff, Unproved, Verdict, Witness, begin};
use crate::diag::Span;

/// So many pods are named unless all are wanted.
const NAMED: usize = 5;

/// A number of things.
pub(super) fn counted(number: usize, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

pub(super) fn style(verdict: &Verdict) -> Style {
    match verdict {
        Verdict::Stricter(_) => Style::Bad,
        Verdict::Looser(_) => Style::Good,
        Verdict::Same => Style::Dim,
        _ => Style::Warn,
    }
}

/// `5 rules compared: 2 mean something else, 1 only reads otherwise, 2 are untouched`
pub(super) fn summary(change: &Change) -> String {
    let is_unknown = |rule: &&RuleDiff| matches!(rule.verdict, Verdict::Unknown(_));
    let unknown = change.rules.iter().filter(is_unknown).count();
    let changed = change.count(Reading::Changed) - unknown;
    let rewritten = change.count(Reading::Rewritten);
    let untouched = change.count(Reading::Untouched);
    let verb = |number: usize, one: &'static str, more: &'static str| if number == 1 { one } else { more };
    let mut parts = vec![format!("{changed} {} something else", verb(changed, "means", "mean"))];
    if unknown > 0 {
        parts.push(format!("of {unknown} it is unknown"));
    }
    parts.push(format!("{rewritten} only {} otherwise", verb(rewritten, "reads", "read")));
    parts.push(format!("{untouched} {} untouched", verb(untouched, "is", "are")));
    format!("{} compared: {}", counted(change.rules.len(), "rule"), parts.join(", "))
}

/// A rule by its policy and name.
pub(super) fn rule_name(rule: &RuleDiff) -> String {
    match &rule.renamed_from {
        Some(old) => format!("{}/{} (was {old})", rule.policy, rule.name),
        None => format!("{}/{}", rule.policy, rule.name),
    }
}

/// The pod and the node of a witness.
pub(super) fn shown(witness: &Witness) -> String {
    match &witness.made_of {
        None => format!("{}/{} on {}", witness.pod.namespace, witness.pod.name, witness.node),
        Some(objects) if objects.because.is_empty() => "e.g. any pod".to_owned(),
        Some(objects) => format!("e.g. {}", objects.because.join(", ")),
    }
}

/// The lines about a rule: its witnesses, why it is unknown, and what changes beside its condition.
pub(super) fn said(change: &Change, rule: &RuleDiff) -> Vec<String> {
    let mut lines = Vec::new();
    for (effect, witness) in rule.verdict.witnesses() {
        let what = match &rule.scores {
            Some((old, new)) => format!("{old}, now {new}"),
            None if rule.kind.is_about_victims() => match effect {
                crate::compare::Effect::Refused => "might be evicted, now it may not".to_owned(),
                _ => "might not be evicted, now it may".to_owned(),
            },
            None => effect.to_string(),
        };
        lines.push(format!("{}: {what}", shown(witness)));
    }
    if let Verdict::Unknown(why) = &rule.verdict {
        lines.push(unknown(change, why));
    }
    lines.extend(rule.notes.iter().cloned());
    if let Some(Wakes { before, after }) = change.wakes(rule) {
        let (before, after) = (before.join(", "), after.join(", "));
        lines.push(format!("a pod that it refuses wakes on: {after}; before on: {before}"));
    }
    if rule.only_counts() && !matches!(rule.verdict, Verdict::Same) {
        lines.push("it counts and decides nothing".to_owned());
    }
    lines
}

/// Why a verdict is unknown.
pub(super) fn unknown(change: &Change, why: &Unproved) -> String {
    let of = |spans: &[(usize, Span)]| {
        let texts = change.written(spans);
        match texts.as_slice() {
            [] => String::new(),
            texts => format!(
                "; the proof does not look into {}",
                texts.iter().take(3).map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
            ),
        }
    };
    match why {
        Unproved::TooLarge => "the conditions have too many parts to compare".to_owned(),
        Unproved::TooLong => "the conditions have too many cases to compare".to_owned(),
        Unproved::NoWitness(spans) => {
            format!("no pod and node that differ were found, and none were ruled out{}", of(spans))
        }
        Unproved::SameOrStricter(spans) => {
            format!("the same or stricter: no pod that is refused now was found{}", of(spans))
        }
        Unproved::SameOrLooser(spans) => {
            format!("the same or looser: no pod that passes now was found{}", of(spans))
        }
        Unproved::StricterOrIncomparable(_, spans) => {
            format!("stricter at least; it is not ruled out that another pod passes now{}", of(spans))
        }
        Unproved::LooserOrIncomparable(_, spans) => {
            format!("looser at least; it is not ruled out that another pod is refused now{}", of(spans))
        }
        Unproved::NotCompared => "what it writes, orders or counts is not compared".to_owned(),
    }
}

/// Prints the change.
pub(super) fn write(change: &Change, all: bool, out: &mut Output) -> anyhow::Result<()> {
    if out.quiet {
        let line = change.effect.as_ref().map_or_else(|| summary(change), verdict);
        writeln!(out.stdout(), "{line}.")?;
        return Ok(());
    }
    writeln!(out.stdout(), "RULES     {}", summary(change))?;
    let mut table = Table::new(&[Column::words(""), Column::words(""), Column::words(""), Column::words("")]);
    table.indent = 2;
    for rule in change.shown() {
        let said = said(change, rule);
        let word = rule.verdict.word();
        let first = [
            (style(&rule.verdict), word.to_owned()),
            (Style::Name, rule_name(rule)),
            (Style::Plain, change.place(rule)),
            (Style::Plain, said.first().cloned().unwrap_or_default()),
        ];
        table.row(first);
        for more in said.into_iter().skip(1) {
            table.row([String::new(), String::new(), String::new(), more].map(|cell| (Style::Plain, cell)));
        }
    }
    if change.shown().next().is_some() {
        let drawn = table.draw(out);
        write!(out.stdout(), "{drawn}")?;
    }
    match &change.effect {
        None => {
            if change.count(Reading::Changed) > 0 {
                let ([old, new], program) = (&change.paths, out.program);
                writeln!(
                    out.stdout(),
                    "\nNext: {program} diff {old} {new} --cluster cluster.json     what that does to the pods of a cluster"
                )?;
            }
        }
        Some(effect) => write_effect(change, effect, all, out)?,
    }
    Ok(())
}

/// The pods and why, a few or all of them.
fn named(names: impl ExactSizeIterator<Item = String>, all: bool) -> String {
    let count = names.len();
    let limit = if all { usize::MAX } else { NAMED };
    let mut shown: Vec<String> = names.take(limit).collect();
    if count > shown.len() {
        shown.push(format!("and {} more", count - shown.len()));
    }
    shown.join(", ")
}

pub(super) fn pod_name(pod: &crate::model::PodInfo) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// The rules of pods, each once.
fn rules_of<'r>(rules: impl Iterator<Item = &'r String>) -> String {
    let mut names: Vec<&str> = rules.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn write_effect(change: &Change, effect: &Effect, all: bool, out: &mut Output) -> anyhow::Result<()> {
    let nodes = counted(effect.nodes, "node");
    let (running, pending) = (count(effect.running), effect.pending.len());
    writeln!(out.stdout(), "\nCLUSTER   {nodes}, {running} running and {} pending pods\n", count(pending))?;
    let line = |out: &mut Output, number: usize, indent: usize, text: String| -> anyhow::Result<()> {
        writeln!(out.stdout(), "{:>7}   {:indent$}{text}", count(number), "")?;
        Ok(())
    };
    let number = |test: fn(&Pending) -> bool| effect.pending_that(test).count();
    line(out, pending, 0, if pending == 1 { "pending pod" } else { "pending pods" }.to_owned())?;
    line(out, number(Pending::waits), 2, "wait before and after".to_owned())?;
    let moved = number(Pending::moves);
    let on_another = if moved == 0 { String::new() } else { format!(", {moved} of them on another node") };
    line(out, number(Pending::is_placed), 2, format!("placed before and after{on_another}"))?;
    let begin: Vec<&Pending> = effect.pending_that(Pending::begins_to_wait).collect();
    let by = match begin.is_empty() {
        true => String::new(),
        false => {
            let rules = rules_of(begin.iter().flat_map(|pod| &pod.rules));
            format!("     {rules}   {}", named(begin.iter().map(|pod| pod_name(&pod.pod)), all))
        }
    };
    line(out, begin.len(), 2, format!("begin to wait{by}"))?;
    let run: Vec<&Pending> = effect.pending_that(Pending::begins_to_run).collect();
    let who = match run.is_empty() {
        true => String::new(),
        false => format!("     {}", named(run.iter().map(|pod| pod_name(&pod.pod)), all)),
    };
    line(out, run.len(), 2, format!("begin to run{who}"))?;
    writeln!(out.stdout())?;
    let rules = "that the rules which changed apply to";
    line(
        out,
        effect.asked,
        0,
        format!("{} {rules}", if effect.asked == 1 { "running pod" } else { "running pods" }),
    )?;
    line(out, effect.may_stay(), 2, "may stay where they are".to_owned())?;
    if effect.as_before > 0 {
        line(out, effect.as_before, 2, "refused where they are, as before".to_owned())?;
    }
    line(out, effect.refused.len(), 2, refused_text(&effect.refused))?;
    if all {
        write_pods(effect, out)?;
    }
    writeln!(out.stdout(), "\n{}.", verdict(effect))?;
    if !all && (moved > 0 || begin.len() > NAMED || !effect.refused.is_empty()) {
        let ([old, new], program, flags) = (&change.paths, out.program, &change.flags);
        writeln!(out.stdout(), "Next: {program} diff {old} {new}{flags} --all        lists the pods")?;
    }
    Ok(())
}

/// What happens to running pods that are refused.
fn refused_text(refused: &[Refused]) -> String {
    if refused.is_empty() {
        return "refused where they are".to_owned();
    }
    let fit = refused.iter().filter(|of| of.restarted_on.is_some()).count();
    let wait = refused.len() - fit;
    format!("refused where they are: they keep running; once restarted {fit} fit elsewhere, {wait} wait")
}

fn place(of: &Outcome) -> String {
    match (&of.node, of.score) {
        (Some(node), Some(score)) => format!("{node} ({score})"),
        (Some(node), None) => node.to_string(),
        (None, _) => "waits".to_owned(),
    }
}

/// Every pod that is decided otherwise.
fn write_pods(effect: &Effect, out: &mut Output) -> anyhow::Result<()> {
    let moved: Vec<&Pending> = effect.pending.iter().filter(|pod| pod.old.node != pod.new.node).collect();
    if !moved.is_empty() {
        let mut table = Table::new(&["PENDING POD", "BEFORE", "AFTER", "BECAUSE OF"].map(Column::words));
        for pod in moved {
            let why = if pod.begins_to_wait() { pod.rules.join(", ") } else { String::new() };
            let cells = [pod_name(&pod.pod), place(&pod.old), place(&pod.new), why];
            table.row(cells.into_iter().map(|cell| (Style::Plain, cell)));
        }
        let drawn = table.draw(out);
        write!(out.stdout(), "\n{drawn}")?;
    }
    if !effect.refused.is_empty() {
        let mut table = Table::new(&["RUNNING POD", "ON", "REFUSED BY", "ONCE RESTARTED"].map(Column::words));
        for of in &effect.refused {
            let then = of.restarted_on.as_ref().map_or("waits".to_owned(), ToString::to_string);
            let cells = [pod_name(&of.pod), of.node.to_string(), of.rule.clone(), then];
            table.row(cells.into_iter().map(|cell| (Style::Plain, cell)));
        }
        let drawn = table.draw(out);
        write!(out.stdout(), "\n{drawn}")?;
    }
    Ok(())
}

/// The last sentence: what happens now, and what when pods restart.
pub(super) fn verdict(effect: &Effect) -> String {
    let number = |test: fn(&Pending) -> bool| effect.pending_that(test).count();
    let moved = number(Pending::moves);
    let later = effect.refused.iter().filter(|of| of.restarted_on.is_none()).count();
    let mut parts = begin(number(Pending::begins_to_wait), number(Pending::begins_to_run));
    if later > 0 {
        parts.push(format!("{later} more wait when they restart"));
    }
    if parts.is_empty() && moved > 0 {
        parts.push(format!("{} on another node, and no pod waits that did not", counted(moved, "pod")));
    }
    match parts.as_slice() {
        [] => "No pod is decided otherwise".to_owned(),
        parts => parts.join(", "),
    }
}

/// The change as the command prints it.
pub(super) fn of(change: &Change) -> anyhow::Result<String> {
    let buffer = Buffer::default();
    let mut out = Output::to_sinks(Box::new(buffer.clone()), Box::new(std::io::sink()));
    write(change, false, &mut out)?;
    out.stdout().flush()?;
    Ok(buffer.text())
}
