//! The report of `bayplan test`: files, failures in full, conditions that no test has seen; as text, JSON, JUnit XML
//! and GitHub's workflow commands.

use super::{Args, FileOutcome, Outcome, Ran, because_lines};
use crate::cli::explain::tree;
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::cli::setup::quoted;
use crate::diag::SourceMap;
use crate::diag::formats;
use crate::dry_run::because::Because;
use serde_json::{Value, json};
use std::fmt::Write;

/// How many conditions are listed before the rest is counted.
const LISTED: usize = 10;

/// The column in which places end.
const WIDTH: usize = 95;

/// The report as people read it.
pub(super) fn text(ran: &Ran, args: &Args, out: &Output) -> String {
    let summary = summary(ran);
    if out.quiet {
        return format!("{summary}\n");
    }
    let mut table = Table::new(&[Column::words(""), Column::words("")]);
    for file in &ran.files {
        let good = file.cases.iter().filter(|case| case.passed()).count();
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
fn summary(ran: &Ran) -> String {
    let (all, failed) = (ran.cases().count(), ran.failed());
    let cases = if all == 1 { "1 case".to_owned() } else { format!("{} cases", count(all)) };
    let passed = count(all - failed);
    let took = ran.milliseconds;
    match failed {
        0 => format!("{cases}: {passed} passed. {took} ms."),
        _ => format!("{cases}: {passed} passed, {} failed. {took} ms.", count(failed)),
    }
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

/// Every pod of a case with what every rule says of every node.
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

fn because_json(because: &Because, sources: &SourceMap) -> Value {
    json!({
        "text": because.text,
        "tree": because.tree.as_ref().map(|shown| tree::to_json(sources, shown)),
    })
}

/// The report for programs.
pub(super) fn json(ran: &Ran) -> Value {
    let files: Vec<Value> = ran
        .files
        .iter()
        .map(|file| {
            let cases: Vec<Value> = file.cases.iter().map(|case| case_json(file, case)).collect();
            json!({"file": file.file, "cases": cases})
        })
        .collect();
    let all = ran.cases().count();
    let failed = ran.failed();
    let uncovered: Vec<Value> = ran
        .conditions
        .uncovered()
        .iter()
        .map(|condition| {
            json!({
                "place": condition.place, "condition": condition.text,
                "seenTrue": condition.seen_true, "seenFalse": condition.seen_false,
            })
        })
        .collect();
    let mut json = json!({
        "apiVersion": "bayplan.dev/v1", "kind": "TestReport", "files": files,
        "summary": {"cases": all, "passed": all - failed, "failed": failed},
    });
    if let (Some(json), false) = (json.as_object_mut(), ran.selected) {
        let all = ran.conditions.len();
        let covered = all - uncovered.len();
        json.insert(
            "coverage".to_owned(),
            json!({"conditions": all, "covered": covered, "uncovered": uncovered}),
        );
    }
    json
}

fn case_json(file: &FileOutcome, case: &Outcome) -> Value {
    let wrong: Vec<Value> = case
        .ended
        .mismatches
        .iter()
        .zip(&case.places)
        .map(|(wrong, place)| {
            let because: Vec<Value> =
                wrong.because.iter().map(|because| because_json(because, &file.sources)).collect();
            json!({
                "message": format!("expected {}, got {}", wrong.expected, wrong.got),
                "expected": wrong.expected, "got": wrong.got, "because": because, "place": place,
            })
        })
        .collect();
    let mut json = json!({
        "name": case.name, "place": case.place(), "passed": case.passed(), "mismatches": wrong,
    });
    let account: Vec<Value> = case
        .ended
        .account
        .iter()
        .map(|(pod, all)| {
            let all: Vec<Value> = all.iter().map(|because| because_json(because, &file.sources)).collect();
            json!({"pod": pod, "rules": all})
        })
        .collect();
    if let (Some(json), false) = (json.as_object_mut(), account.is_empty()) {
        json.insert("account".to_owned(), Value::Array(account));
    }
    json
}

/// What is said about a failure, without colours.
fn plain_failure(file: &FileOutcome, case: &Outcome) -> String {
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

/// JUnit XML: a suite for each file.
pub(super) fn junit(ran: &Ran) -> String {
    use formats::xml;
    let (all, failed) = (ran.cases().count(), ran.failed());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"bayplan test\" tests=\"{all}\" failures=\"{failed}\">\n"
    );
    for file in &ran.files {
        let name = xml(&file.file);
        let failed = file.cases.iter().filter(|case| !case.passed()).count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\">",
            file.cases.len()
        );
        for case in &file.cases {
            let open = format!(
                "    <testcase name=\"{}\" classname=\"{name}\" file=\"{name}\" line=\"{}\"",
                xml(&case.name),
                case.place.1
            );
            if case.passed() {
                let _ = writeln!(text, "{open}/>");
                continue;
            }
            let first = case.ended.mismatches.first();
            let message = first.map(|wrong| format!("expected {}, got {}", wrong.expected, wrong.got));
            let _ = writeln!(
                text,
                "{open}>\n      <failure message=\"{}\" type=\"expectation\">{}</failure>\n    </testcase>",
                xml(&message.unwrap_or_default()),
                xml(&format!("{}\n{}", case.place(), plain_failure(file, case)))
            );
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// GitHub's workflow commands: a failure at its line, the counts in the log.
pub(super) fn github(ran: &Ran) -> String {
    let mut text = String::new();
    let failures: Vec<_> = ran.cases().filter(|(_, case)| !case.passed()).collect();
    for (file, case) in failures.iter().take(formats::ANNOTATIONS) {
        let title = format!("FAIL {}", case.name);
        let said = plain_failure(file, case);
        let _ =
            writeln!(text, "{}", formats::annotation("error", &case.place.0, case.place.1, &title, &said));
    }
    if failures.len() > formats::ANNOTATIONS {
        let _ = writeln!(text, "::error::{} more in the log", failures.len() - formats::ANNOTATIONS);
    }
    for (_, case) in failures.iter().skip(formats::ANNOTATIONS) {
        let _ = writeln!(text, "FAIL {} {}", case.place(), case.name);
    }
    let _ = writeln!(text, "{}", summary(ran));
    text
}
