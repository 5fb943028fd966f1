//! `bayplan test`: runs the tests of policies (`*.test.yaml`). What a case means is `crate::dry_run::cases`'; here are
//! the files and the report: only failures are shown in full, what went well is a count.

use super::input::{self, Policies};
use super::output::{Column, Output, Style, Table};
use super::{ExitStatus, setup};
use crate::diag::{Diagnostic, SourceMap, Span};
use crate::dry_run::cases::{self, CaseFile};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs tests of policies: every case of the `*.test.yaml` files.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan test                        all tests below this folder
  bayplan test policies/ -v           with those that passed
  bayplan test gpu.test.yaml -o json")]
pub struct Args {
    /// Files of tests, and folders of such files.
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Names the cases that passed, too.
    #[arg(long, short)]
    verbose: bool,
    /// How to print: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// A case that was run.
struct Outcome {
    name: String,
    place: String,
    /// What did not come as expected, each with its place.
    mismatches: Vec<(String, String)>,
}

/// The cases of a file.
struct FileOutcome {
    file: String,
    cases: Vec<Outcome>,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let began = Instant::now();
    let mut files = Vec::new();
    for path in &args.paths {
        let before = files.len();
        input::test_files(path, &mut files)?;
        if files.len() == before {
            anyhow::bail!("no tests in {}: expected files called *.test.yaml", path.display());
        }
    }
    let mut done = Vec::new();
    let mut broken = false;
    for file in &files {
        match run_file(file, out)? {
            Some(outcome) => done.push(outcome),
            None => broken = true,
        }
    }
    let failed: usize = done.iter().map(|file| file.cases.iter().filter(|case| !case.passed()).count()).sum();
    if args.output == "json" {
        let json = report(&done);
        writeln!(out.stdout(), "{json:#}")?;
    } else {
        let took = began.elapsed().as_millis();
        let text = text(&done, failed, took, args.verbose, out);
        write!(out.stdout(), "{text}")?;
    }
    Ok(match (broken, failed) {
        (true, _) => ExitStatus::Failure,
        (false, 0) => ExitStatus::Success,
        _ => ExitStatus::Findings,
    })
}

impl Outcome {
    fn passed(&self) -> bool {
        self.mismatches.is_empty()
    }
}

/// Runs a file's cases. `None`: it could not be run, and why was printed.
fn run_file(path: &Path, out: &mut Output) -> anyhow::Result<Option<FileOutcome>> {
    let mut read = Policies::default();
    let id = read.add(path)?;
    if setup::complain(&read, out)? {
        return Ok(None);
    }
    let file = match cases::read(&read.sources, id) {
        Ok(file) => file,
        Err(said) => return refused(read, *said, out),
    };
    let beside = |name: &str| path.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let from = setup::From {
        cluster: vec![beside(&file.cluster)],
        config: file.config.as_deref().map(beside),
        policies: file.policies.iter().map(|name| beside(name)).collect(),
        ..setup::From::default()
    };
    let Some(setup) = setup::read_quietly(&from, out)? else { return Ok(None) };
    let mut pods: Vec<(String, Value)> = Vec::new();
    for name in file.pod_files() {
        let id = read.add(&beside(name))?;
        let text = read.sources.get(id).map(|source| source.text().to_owned()).unwrap_or_default();
        let pod: Value = serde_saphyr::from_str(&text)
            .map_err(|error| anyhow::anyhow!("cannot read the pod in {}: {error}", beside(name).display()))?;
        pods.push((name.to_owned(), pod));
    }
    let pod_file = |name: &str| pods.iter().find(|(known, _)| known == name).map(|(_, pod)| pod.clone());
    let mut outcome = FileOutcome { file: path.display().to_string(), cases: Vec::new() };
    for at in 0..file.cases.len() {
        let found = file.run_case(&read.sources, at, &setup.world, &setup.profiles, &pod_file);
        let mismatches = match found {
            Ok(mismatches) => mismatches,
            Err(said) => return refused(read, *said, out),
        };
        let mismatches: Vec<(String, String)> =
            mismatches.into_iter().map(|wrong| (wrong.message, place(&read.sources, wrong.span))).collect();
        let place =
            mismatches.first().map_or_else(|| case_place(&read.sources, &file, at, path), |m| m.1.clone());
        let name = file.cases.get(at).map(|case| case.name.clone()).unwrap_or_default();
        outcome.cases.push(Outcome { name, place, mismatches });
    }
    Ok(Some(outcome))
}

fn refused(mut read: Policies, said: Diagnostic, out: &mut Output) -> anyhow::Result<Option<FileOutcome>> {
    read.diagnostics.push(said);
    setup::complain(&read, out)?;
    Ok(None)
}

fn place(sources: &SourceMap, span: Span) -> String {
    crate::lang::policy_set::place(sources, span)
}

/// The line that names a case.
fn case_place(sources: &SourceMap, file: &CaseFile, at: usize, path: &Path) -> String {
    let name = file.cases.get(at).map(|case| case.name.as_str()).unwrap_or_default();
    let text = sources.iter().next().map_or("", |source| source.text());
    let line =
        text.lines().position(|line| line.contains(name) && line.contains("name:")).map_or(1, |at| at + 1);
    format!("{}:{line}", path.display())
}

fn text(done: &[FileOutcome], failed: usize, took: u128, verbose: bool, out: &Output) -> String {
    use std::fmt::Write;
    let all: usize = done.iter().map(|file| file.cases.len()).sum();
    let cases = if all == 1 { "1 case".to_owned() } else { format!("{all} cases") };
    let passed = all - failed;
    let summary = match failed {
        0 => format!("{cases}: {passed} passed. {took} ms."),
        _ => format!("{cases}: {passed} passed, {failed} failed. {took} ms."),
    };
    if out.quiet {
        return format!("{summary}\n");
    }
    let mut table = Table::new(&[Column::words(""), Column::words("")]);
    for file in done {
        let good = file.cases.iter().filter(|case| case.passed()).count();
        let style = if good == file.cases.len() { Style::Good } else { Style::Warn };
        table.row([(Style::Plain, file.file.clone()), (style, format!("{good} of {}", file.cases.len()))]);
        if verbose {
            for case in file.cases.iter().filter(|case| case.passed()) {
                table.row([(Style::Dim, format!("  {}", case.name)), (Style::Good, "ok".to_owned())]);
            }
        }
    }
    let mut text = table.draw(out);
    for case in done.iter().flat_map(|file| &file.cases).filter(|case| !case.passed()) {
        let _ = writeln!(
            text,
            "\n{}  {}   {}",
            out.paint(Style::Bad, "FAIL"),
            case.name,
            out.paint(Style::Name, &case.place)
        );
        for (message, place) in &case.mismatches {
            let _ = writeln!(text, "      {message}   {}", out.paint(Style::Name, place));
        }
    }
    let _ = writeln!(text, "\n{}", out.paint(Style::Strong, &summary));
    text
}

fn report(done: &[FileOutcome]) -> Value {
    let files: Vec<Value> = done
        .iter()
        .map(|file| {
            let cases: Vec<Value> = file
                .cases
                .iter()
                .map(|case| {
                    let wrong: Vec<Value> = case
                        .mismatches
                        .iter()
                        .map(|(message, place)| json!({"message": message, "place": place}))
                        .collect();
                    json!({"name": case.name, "place": case.place, "passed": case.passed(), "mismatches": wrong})
                })
                .collect();
            json!({"file": file.file, "cases": cases})
        })
        .collect();
    let all: usize = done.iter().map(|file| file.cases.len()).sum();
    let passed: usize = done.iter().map(|file| file.cases.iter().filter(|case| case.passed()).count()).sum();
    json!({
        "apiVersion": "bayplan.dev/v1", "kind": "TestReport", "files": files,
        "summary": {"cases": all, "passed": passed, "failed": all - passed},
    })
}
