//! An explanation as people read it: the verdict, nodes by their set of reasons, rules with what
//! they keep away.

use crate::cli::output::{Column, Output, Style, Table, count};
use crate::explain::{
    Because, Conflict, Explanation, Refusal, Requirement, RuleCount, Shortfall, Suggestion, Suggestions,
};
use crate::framework::EditOwner;
use crate::model::{amount_beside, rounded_down};
use std::fmt::Write;

/// How many lines a table shows before the rest is folded.
const LINES: usize = 7;

/// The verdict in one line, with numbers that add up.
pub(crate) fn verdict(explanation: &Explanation, out: &Output) -> String {
    let pod = out.part(&explanation.pod);
    let nodes = count(explanation.nodes);
    if let Some(node) = &explanation.node {
        let here = explanation.fits.contains(node);
        let others = explanation.fits.len() - usize::from(here);
        let there = if here { "which lets it in" } else { "which would refuse it now" };
        let node = out.paint(Style::Good, node);
        return match explanation.nodes.saturating_sub(1) {
            0 => format!("{pod} is on {node}, {there}; the cluster has only this node."),
            rest => format!(
                "{pod} is on {node}, {there}; {} of {} other nodes would, too.",
                count(others),
                count(rest)
            ),
        };
    }
    let waits = out.paint(Style::Warn, "waits");
    if let Some((plugin, reason)) = &explanation.refused_before_nodes {
        let by =
            if plugin.is_empty() { String::new() } else { format!(" by {}", out.paint(Style::Name, plugin)) };
        return format!("{pod} {waits}: refused{by} before nodes are evaluated: {}", out.part(reason));
    }
    match (explanation.nodes, explanation.fits.len()) {
        (0, _) => format!("{pod} {waits}: the cluster has no nodes."),
        (1, 0) => format!("{pod} {waits}: the only node does not fit."),
        (_, 0) => format!("{pod} {waits}: none of {nodes} nodes fits."),
        (_, 1) => format!(
            "{pod} {}: 1 of {nodes} nodes fits, {}.",
            out.paint(Style::Good, "can be placed"),
            out.part(&explanation.fits[0])
        ),
        (_, fits) => format!(
            "{pod} {}: {} of {nodes} nodes fit.",
            out.paint(Style::Good, "can be placed"),
            count(fits)
        ),
    }
}

/// Everything below the verdict. `all` folds nothing and shows the event and the funnel.
/// `told`: the statement that refuses the pod before nodes are evaluated is shown already.
pub(crate) fn body(explanation: &Explanation, told: bool, all: bool, out: &Output) -> String {
    let mut text = String::new();
    if let Some(error) = &explanation.error_before_nodes.as_ref().filter(|_| !told) {
        let (rule, place) = (out.paint(Style::Name, &error.rule), out.paint(Style::Name, &error.place));
        text.push_str(&format!("\n  {rule}   {place}\n    {}\n", out.part(&error.what)));
    }
    if explanation.per_node.is_empty() || explanation.sets.is_empty() {
        return text;
    }
    let _ = write!(text, "\n{}", sets(explanation, all, out));
    let _ = write!(text, "\n{}", rules(explanation, all, out));
    let conflicts = explanation.conflicts_to_show();
    if !conflicts.is_empty() {
        let _ = write!(text, "\n{}", conflict(conflicts, explanation.nodes, out));
    }
    if all {
        let _ = write!(text, "\n{}", nearest(explanation, out));
        if !explanation.message.is_empty() {
            let message = out.part(&explanation.message);
            let _ = write!(text, "\n  {}  {message}\n", out.paint(Style::Dim, "Event "));
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

/// The rules that do not decide, apart from those that do.
pub(crate) fn would_refuse(explanation: &Explanation, out: &Output) -> String {
    if explanation.would_refuse.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        Column::words("WOULD ALSO REFUSE"),
        Column::words("MODE"),
        Column::words("WHAT"),
        Column::words("REASON"),
        Column::words("PLACE"),
    ]);
    table.indent = 2;
    for of in &explanation.would_refuse {
        let what = match of.nodes {
            None => "the pod".to_owned(),
            Some(1) => "1 node".to_owned(),
            Some(many) => format!("{} nodes", count(many)),
        };
        table.row([
            (Style::Name, of.rule.clone()),
            (Style::Plain, of.mode.clone()),
            (Style::Plain, what),
            (Style::Plain, of.reason.clone()),
            (Style::Name, of.place.clone()),
        ]);
    }
    format!("\n{}", table.draw(out))
}

/// The exceptions by which policies leave the pod alone.
pub(crate) fn exceptions(explanation: &Explanation, out: &Output) -> String {
    if explanation.exceptions.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        Column::words("LEFT ALONE BY"),
        Column::words("UNTIL"),
        Column::words("BECAUSE"),
        Column::words("PLACE"),
    ]);
    table.indent = 2;
    for of in &explanation.exceptions {
        table.row([
            (Style::Name, of.rule.clone()),
            (Style::Plain, of.until.clone()),
            (Style::Plain, of.because.clone()),
            (Style::Name, of.place.clone()),
        ]);
    }
    format!("\n{}", table.draw(out))
}

/// Requirements that no node meets, alone or together.
fn conflict(conflicts: &[Conflict], nodes: usize, out: &Output) -> String {
    let mut table = Table::new(&[Column::words(""), Column::words("")]);
    table.indent = 2;
    for requirement in conflicts.iter().flat_map(|conflict| &conflict.requirements) {
        let meet = match requirement.meet {
            0 => "no node meets it".to_owned(),
            1 => format!("1 of {} nodes meets it", count(nodes)),
            many => format!("{} of {} nodes meet it", count(many), count(nodes)),
        };
        table.row([(Style::Name, words(requirement)), (Style::Plain, meet)]);
    }
    let together = conflicts.iter().any(|conflict| conflict.requirements.len() > 1);
    let head = match (together, table.len()) {
        (true, _) => "CONFLICT   no node meets all of these; without any one of them, some node would",
        (false, 1) => "CONFLICT   no node meets this",
        (false, _) => "CONFLICT   no node meets any of these",
    };
    format!("{}\n{}", out.paint(Style::Dim, head), table.draw(out))
}

/// `NodeResourcesFit  2 cpu`
fn words(requirement: &Requirement) -> String {
    let Requirement { rule, what, need, .. } = requirement;
    if what.is_empty() {
        return rule.clone();
    }
    let amount = need.strip_suffix("cpu").unwrap_or(need);
    format!("{rule}  {amount} {what}")
}

/// The nodes nearest to fitting, each with all its refusals.
fn nearest(explanation: &Explanation, out: &Output) -> String {
    let mut table = Table::new(&[Column::words("NEAREST"), Column::words("LACKS")]);
    table.indent = 2;
    for node in explanation.nearest(NEAREST) {
        for (at, refusal) in node.refusals.iter().enumerate() {
            let trouble = node.trouble.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            let name = if at == 0 { format!("{}{trouble}", node.name) } else { String::new() };
            table.row([(Style::Plain, name), (Style::Plain, lacks(refusal))]);
        }
    }
    if table.is_empty() { String::new() } else { table.draw(out) }
}

/// How many of the nearest nodes are shown.
const NEAREST: usize = 3;

/// `cpu: needs 2, 1400m free of 4`
fn lacks(refusal: &Refusal) -> String {
    let Refusal { rule, place, reason, what, need, have, .. } = refusal;
    // The sides of a policy's condition are shown by `--node`, in the rule's own text.
    if !place.is_empty() || (what.is_empty() && need.is_empty()) {
        return format!("{rule}: {reason}");
    }
    let head = if what.is_empty() { reason } else { what };
    match (need.is_empty(), have.is_empty()) {
        (true, true) => format!("{rule}: {head}"),
        (false, true) if need.starts_with("a toleration") => format!("{rule}: {head}"),
        (false, false) if need.starts_with("a toleration") => format!("{rule}: {head} is {have}"),
        (false, true) => format!("{rule}: {head}: needs {need}"),
        (true, false) => format!("{rule}: {head}: {have}"),
        (false, false) => format!("{rule}: {head}: needs {need}, {have}"),
    }
}

/// Changes that help; each was tried.
pub(crate) fn helps(found: &Suggestions, all: bool, out: &Output) -> String {
    helps_for("", found, all, out)
}

/// Changes that help a pod which is not the one that is explained, by its name.
pub(super) fn helps_for(other: &str, found: &Suggestions, all: bool, out: &Output) -> String {
    let stopped =
        if found.cut_short { "\n  The search ended before every pair of changes was tried.\n" } else { "" };
    let gated = found.helps.iter().all(|help| help.nodes.is_empty());
    if found.helps.is_empty() {
        let tried = match found.tried {
            0 => return "\nNothing was found that could be changed.\n".to_owned(),
            1 => "1 change was tried".to_owned(),
            many => format!("{} changes were tried, alone and two by two", count(many)),
        };
        return format!("\nNothing small helps: {tried}; the pod fits after none of them.\n{stopped}");
    }
    let columns = [Column::numbers(""), Column::words(""), Column::words(""), Column::words("")];
    let mut table = Table::new(&columns);
    table.indent = 2;
    let digits = found.helps.iter().map(|change| count(change.nodes.len()).len()).max().unwrap_or(0);
    let shown = if all || found.helps.len() <= LINES { found.helps.len() } else { LINES - 1 };
    for (at, change) in found.helps[..shown].iter().enumerate() {
        for (line, step) in change.steps.iter().enumerate() {
            let first = line == 0;
            let opens = if line + 1 == change.steps.len() { opens(change, digits) } else { String::new() };
            let and = if first { "" } else { "and " };
            let style = if change.caution.is_some() { Style::Warn } else { Style::Good };
            table.row([
                (Style::Plain, if first { (at + 1).to_string() } else { String::new() }),
                (Style::Dim, step.owner.word().to_owned()),
                (Style::Plain, format!("{and}{}", step.what)),
                (style, opens),
            ]);
        }
    }
    if shown < found.helps.len() {
        let others = format!("{} others (--all)", count(found.helps.len() - shown));
        table.row([(Style::Plain, String::new()), (Style::Plain, String::new()), (Style::Dim, others)]);
    }
    let pairs = found.helps.iter().any(|change| change.steps.len() > 1);
    let head = if gated {
        "each was tried: the pod then enters the queue"
    } else if pairs {
        "no single change does; each of these was tried: the pod then fits"
    } else {
        "each was tried: the pod then fits"
    };
    let whom = if other.is_empty() { String::new() } else { format!(" {}", out.part(other)) };
    let head = format!("WHAT WOULD HELP{whom}   {head}");
    format!("\n{}\n{}{stopped}", out.paint(Style::Dim, &head), table.draw(out))
}

/// `12 nodes`; `2 nodes, all cordoned`; `wakes by itself`.
pub(crate) fn opens(change: &Suggestion, digits: usize) -> String {
    let nodes = match change.nodes.len() {
        0 => return String::new(),
        many if change.at_least => format!("at least {}", count(many)),
        1 => format!("{:>digits$} node", 1),
        many => format!("{:>digits$} nodes", count(many)),
    };
    let opened = match &change.caution {
        Some(caution) if change.nodes.len() == 1 => format!("{nodes}, {caution}"),
        Some(caution) => format!("{nodes}, all {caution}"),
        None if change.owner == EditOwner::Wait => "wakes by itself".to_owned(),
        None => nodes,
    };
    match &change.waits_for[..] {
        [] => opened,
        waits => format!("{opened}, then waits there for {}", waits.join(", ")),
    }
}

/// Microseconds in at most two units: `2 d`, `3 h 20 min`, `14 min`, `9 s`.
pub(crate) fn age(microseconds: i64) -> String {
    let seconds = microseconds.max(0) / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) if hours < 10 => format!("{hours} h {minutes} min"),
        (0, hours, _) => format!("{hours} h"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) if days < 3 => format!("{days} d {hours} h"),
        (days, ..) => format!("{days} d"),
    }
}

fn sets(explanation: &Explanation, all: bool, out: &Output) -> String {
    let mut table = Table::new(&[Column::numbers("NODES"), Column::words("REFUSED BY")]);
    table.indent = 2;
    let all_rules = explanation.rules.len();
    let names = |rules: &[String]| match rules.len() {
        2 if all_rules == 2 => "both".to_owned(),
        several if several == all_rules && several > 2 => format!("all {}", in_words(several)),
        // In the order of the table below.
        _ => {
            let in_set = explanation.rules.iter().filter(|of| rules.contains(&of.rule));
            in_set.map(|of| of.rule.as_str()).collect::<Vec<_>>().join(", ")
        }
    };
    let mut rows: Vec<(usize, String)> =
        explanation.sets.iter().map(|set| (set.nodes, names(&set.rules))).collect();
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

/// `three`: numbers up to nine in words.
fn in_words(number: usize) -> String {
    let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    words.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// The rules that refuse nodes, each with its reasons.
pub(super) fn rules(explanation: &Explanation, all: bool, out: &Output) -> String {
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

/// A rule's reasons, one per line; the first line ends with the place of the rule.
fn because_lines(rule: &RuleCount, all: bool) -> Vec<String> {
    let shown = if all { rule.because.len() } else { rule.because.len().min(2) };
    let mut lines: Vec<String> = rule.because[..shown]
        .iter()
        .map(|because| because_text(because, !rule.place.is_empty(), all))
        .collect();
    if rule.because.len() > shown {
        lines.push(match rule.because.len() - shown {
            1 => "1 other reason (--all)".to_owned(),
            others => format!("{others} other reasons (--all)"),
        });
    }
    if let (Some(first), false) = (lines.first_mut(), rule.place.is_empty()) {
        let _ = write!(first, "  {}", rule.place);
    }
    lines
}

/// The most frequent reasons of a rule, in words.
pub(crate) fn because(rule: &RuleCount) -> Vec<String> {
    let reasons = rule.because.iter().take(REASONS);
    reasons.map(|because| because_text(because, !rule.place.is_empty(), false)).collect()
}

/// How many reasons of a rule the page has.
const REASONS: usize = 3;

/// How many different amounts are named before the rest is counted.
const AMOUNTS: usize = 3;

/// `needs 2; 1 is free on 27 nodes, 0 on 423`: the largest amounts first.
fn free_on(shortfall: &Shortfall, all: bool) -> String {
    let Shortfall { resource, needed, free } = shortfall;
    // The largest amount and the need decide on the unit of all.
    let beside = free.first().map_or(*needed, |(most, _)| *most.max(needed));
    let mut by_amount: Vec<(String, usize)> = Vec::new();
    for (amount, nodes) in free {
        let shown = amount_beside(resource, rounded_down(resource, *amount), beside);
        match by_amount.last_mut().filter(|(known, _)| *known == shown) {
            Some((_, count)) => *count += nodes,
            None => by_amount.push((shown, *nodes)),
        }
    }
    let shown = if all { by_amount.len() } else { by_amount.len().min(AMOUNTS) };
    let mut parts: Vec<String> = Vec::new();
    for (at, (free, nodes)) in by_amount[..shown].iter().enumerate() {
        let is = if at == 0 { " is free" } else { "" };
        parts.push(format!("{free}{is} on {}", nodes_in_row(at, *nodes)));
    }
    let rest: usize = by_amount[shown..].iter().map(|(_, nodes)| nodes).sum();
    if rest > 0 {
        parts.push(format!("less on {}", count(rest)));
    }
    format!("needs {}; {}", amount_beside(resource, *needed, beside), parts.join(", "))
}

/// `27 nodes` for the first of a row, `423` for the others.
fn nodes_in_row(at: usize, nodes: usize) -> String {
    match (at, nodes) {
        (0, 1) => "1 node".to_owned(),
        (0, many) => format!("{} nodes", count(many)),
        (_, many) => count(many),
    }
}

/// `nvidia.com/gpu: needs 2; 1 is free on 27 nodes, 0 on 423`.
///
/// The sides of a policy's condition are shown by `--node`, in the rule's own text; this line has the
/// values that its author named.
fn because_text(because: &Because, of_policy: bool, all: bool) -> String {
    if of_policy && !because.need.is_empty() {
        return because.reason.clone();
    }
    if because.what.is_empty() && because.need.is_empty() && because.have.is_empty() {
        return because.reason.clone();
    }
    // The taint, or that the node is cordoned, says it all.
    if because.need.starts_with("a toleration") {
        return match &because.have[..] {
            [(have, _)] => format!("{} is {have}", because.what),
            _ => because.what.clone(),
        };
    }
    let mut text = if because.what.is_empty() { because.reason.clone() } else { because.what.clone() };
    if let Some(shortfall) = &because.shortfall {
        let _ = write!(text, ": {}", free_on(shortfall, all));
        return text;
    }
    if !because.need.is_empty() {
        let _ = write!(text, ": needs {}", because.need);
    }
    let shown = if all { because.have.len() } else { because.have.len().min(AMOUNTS) };
    let parts: Vec<String> = because.have[..shown]
        .iter()
        .enumerate()
        .map(|(at, (have, nodes))| format!("{have} on {}", nodes_in_row(at, *nodes)))
        .collect();
    if !parts.is_empty() {
        let _ = write!(text, "; {}", parts.join(", "));
        match because.have[shown..].iter().map(|(_, nodes)| nodes).sum() {
            0 => {}
            1 => text.push_str(", something else on 1"),
            rest => {
                let _ = write!(text, ", others on {}", count(rest));
            }
        }
    }
    text
}
