//! The report of `bayplan test` for people: files, failures in full, conditions that no test has
//! seen both true and false.

use super::{Args, FileOutcome, Outcome, Ran};
use crate::cli::explain::tree;
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::cli::setup::quoted;
use crate::diag::SourceMap;
use crate::dry_run::because::Because;
use std::fmt::Write;

/// How many conditions are listed before the rest is counted.
const LISTED: usize = 10;

/// The column in which places end.
const WIDTH: usize = 95;

/// The report.
pub(super) fn report(ran: &Ran, args: &Args, out: &Output) -> String {
    let summary = summary(ran);
    if out.quiet {
        return format!("{summary}\n");
    }
    let mut table = Table::new(&[Column::words(""), Column::words("")]);
    for file in &ran.files {
        let good = file.cases.iter().filter(|case| case.passed()).count();
        if file.cases.is_empty() && !file.errors.is_empty() {
            table.row([(Style::Plain, file.file.clone()), (Style::Bad, "cannot run".to_owned())]);
            continue;
        }
        let style = if good == file.cases.len() { Style::Good } else { Style::Warn };
        table.row([(Style::Plain, file.file.clone()), (style, format!("{good} of {}", file.cases.len()))]);
        if args.verbose {
            for case in file.cases.iter().filter(|case| case.passed()) {
                table.row([(Style::Dim, format!("  {}", case.name)), (Style::Good, "ok".to_owned())]);
            }
        }
    }
    let mut text = table.draw(out);
    for (file, case) in ran.cases() {
        if !case.passed() {
            failure(&mut text, file, case, out);
        }
        account(&mut text, file, case, out);
    }
    let _ = writeln!(text, "\n{}", out.paint(Style::Strong, &summary));
    coverage(&mut text, ran, args, out);
    if let Some((_, case)) = ran.cases().find(|(_, case)| !case.passed()).filter(|_| !args.explain) {
        let command = format!("bayplan test {} --explain", quoted(&case.place()));
        let _ = writeln!(text, "{} {}", out.paint(Style::Dim, "Next:"), out.paint(Style::Strong, &command));
    }
    text
}

/// `8 cases: 7 passed, 1 failed. 9 ms.`
pub(super) fn summary(ran: &Ran) -> String {
    let (all, failed) = (ran.cases().count(), ran.failed());
    let cases = if all == 1 { "1 case".to_owned() } else { format!("{} cases", count(all)) };
    let mut text = format!("{cases}: {} passed", count(all - failed));
    if failed > 0 {
        let _ = write!(text, ", {} failed", count(failed));
    }
    match ran.broken() {
        0 => {}
        1 => text.push_str("; 1 file has cases that cannot run"),
        many => {
            let _ = write!(text, "; {} files have cases that cannot run", count(many));
        }
    }
    let _ = write!(text, ". {} ms.", ran.milliseconds);
    text
}

/// A head with a place at the right end of the line.
fn head(word: &str, style: Style, name: &str, place: &str, out: &Output) -> String {
    let used = word.chars().count() + 2 + name.chars().count() + place.chars().count();
    let gap = " ".repeat(WIDTH.saturating_sub(used).max(3));
    format!("{}  {name}{gap}{}", out.paint(style, word), out.paint(Style::Name, place))
}

fn failure(text: &mut String, file: &FileOutcome, case: &Outcome, out: &Output) {
    let _ = writeln!(text, "\n{}", head("FAIL", Style::Bad, &case.name, &case.place(), out));
    for wrong in &case.ended.mismatches {
        let _ = writeln!(text, "      expected  {}", out.paint(Style::Good, &wrong.expected));
        let _ = writeln!(text, "      got       {}", out.paint(Style::Bad, &wrong.got));
        for because in &wrong.because {
            let (words, tree) = because_lines(because, &file.sources, 14, out);
            let _ = writeln!(text, "      because   {words}");
            text.push_str(&tree);
        }
    }
}

/// Every pod of a case with the result of every rule on every node.
fn account(text: &mut String, file: &FileOutcome, case: &Outcome, out: &Output) {
    for (pod, all) in &case.ended.account {
        let _ = writeln!(text, "\n{}", head("CASE", Style::Strong, &case.name, &case.place(), out));
        let _ = writeln!(text, "      {pod}");
        for because in all {
            let (words, tree) = because_lines(because, &file.sources, 10, out);
            let _ = writeln!(text, "      {words}");
            text.push_str(&tree);
        }
    }
}

/// Which conditions were seen both true and false; the parts add up to all.
fn coverage(text: &mut String, ran: &Ran, args: &Args, out: &Output) {
    let all = ran.conditions.len();
    if all == 0 || ran.selected {
        return;
    }
    let uncovered = ran.conditions.uncovered();
    if let Some(least) = ran.least.filter(|_| ran.sees_too_little()) {
        let seen = (all - uncovered.len()) * 100 / all;
        let line =
            format!("{seen} % of the conditions were seen both true and false, the least is {least} %:");
        let _ = writeln!(text, "{}", out.paint(Style::Bad, &line));
    }
    let conditions = if all == 1 { "1 condition".to_owned() } else { format!("{} conditions", count(all)) };
    if uncovered.is_empty() {
        let both = if all == 1 { "seen both true and false" } else { "all seen both true and false" };
        let _ = writeln!(text, "{conditions}: {both}.");
        return;
    }
    let seen = count(all - uncovered.len());
    let _ = writeln!(text, "{conditions}: {seen} seen both true and false, {} not:", count(uncovered.len()));
    let mut table = Table::new(&[Column::words(""), Column::words(""), Column::words("")]);
    table.indent = 2;
    let shown = if args.verbose || uncovered.len() <= LISTED { uncovered.len() } else { LISTED };
    for condition in &uncovered[..shown] {
        table.row([
            (Style::Warn, format!("{} ", condition.missing().unwrap_or_default())),
            (Style::Name, format!("{} ", condition.place)),
            (Style::Plain, condition.text.clone()),
        ]);
    }
    text.push_str(&table.draw(out));
    if shown < uncovered.len() {
        let _ = writeln!(text, "  {} others (-v)", count(uncovered.len() - shown));
    }
}

/// The text of a failure, without colours.
pub(super) fn plain_failure(file: &FileOutcome, case: &Outcome) -> String {
    let out = Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()));
    let mut text = String::new();
    failure(&mut text, file, case, &out);
    // Without the head: it is the title.
    text.lines()
        .skip(2)
        .map(|line| line.strip_prefix("      ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Why, as lines of text: the words, and the tree below them.
fn because_lines(because: &Because, sources: &SourceMap, indent: usize, out: &Output) -> (String, String) {
    match &because.tree {
        Some(shown) => (format!("{}:", because.text), tree::draw_beside(sources, shown, indent, out)),
        None => (because.text.clone(), String::new()),
    }
}
