//! `bayplan test`: runs the tests of policies (`*.test.yaml`). What a case means is `crate::dry_run::cases`'; here are
//! the files; the texts are in `report`, what no test has seen in `conditions`.

mod conditions;
mod report;

use super::input::{self, Policies};
use super::output::Output;
use super::{ExitStatus, setup};
use crate::diag::{Diagnostic, SourceMap, Span};
use crate::dry_run::because::Because;
use crate::dry_run::cases::{self, Bench, CaseFile, Ended};
use crate::lang::eval::coverage::Coverage;
use crate::lang::policy_set;
use anyhow::Context;
use conditions::Conditions;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Runs tests of policies: every case of the `*.test.yaml` files.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan test                                  all tests below this folder
  bayplan test policies/ -v                     with those that passed
  bayplan test gpu.test.yaml:18 --explain       the case at this line, with every rule on every node
  bayplan test policies/ -o junit")]
pub struct Args {
    /// Files of tests, and folders of such files; `FILE:LINE` is the case at that line.
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Names the cases that passed and all conditions that were not covered, too.
    #[arg(long, short)]
    verbose: bool,
    /// Each case with what every rule says of every node.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    declared: setup::Declared,
    /// How to print: `text`, `json`, `junit` or `github`.
    #[arg(long, short, visible_alias = "format", value_parser = ["text", "json", "junit", "github"],
        default_value = "text", hide_possible_values = true)]
    output: String,
}

/// A case that was run.
struct Outcome {
    name: String,
    /// Where its name is written.
    place: (String, usize),
    ended: Ended,
    /// The place of each mismatch.
    places: Vec<String>,
}

/// The cases of a file.
struct FileOutcome {
    file: String,
    cases: Vec<Outcome>,
    /// The policies' texts: the trees speak of them.
    sources: SourceMap,
}

/// Everything that was run.
struct Ran {
    files: Vec<FileOutcome>,
    conditions: Conditions,
    /// A single case was asked for: its coverage says nothing.
    selected: bool,
    milliseconds: u128,
}

impl Outcome {
    fn passed(&self) -> bool {
        self.ended.mismatches.is_empty()
    }

    fn place(&self) -> String {
        format!("{}:{}", self.place.0, self.place.1)
    }
}

impl Ran {
    fn cases(&self) -> impl Iterator<Item = (&FileOutcome, &Outcome)> {
        self.files.iter().flat_map(|file| file.cases.iter().map(move |case| (file, case)))
    }

    fn failed(&self) -> usize {
        self.cases().filter(|(_, case)| !case.passed()).count()
    }
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let began = Instant::now();
    let mut files: Vec<(PathBuf, Option<usize>)> = Vec::new();
    for path in &args.paths {
        let (path, line) = file_and_line(path);
        let mut found = Vec::new();
        input::test_files(&path, &mut found)?;
        if found.is_empty() {
            anyhow::bail!("no tests in {}: expected files called *.test.yaml", path.display());
        }
        // `./gpu.test.yaml` is said as it is known: `gpu.test.yaml`.
        let plain = |file: PathBuf| file.strip_prefix(".").map(Path::to_owned).unwrap_or(file);
        files.extend(found.into_iter().map(|file| (plain(file), line)));
    }
    let selected = files.iter().any(|(_, line)| line.is_some());
    let mut ran = Ran { files: Vec::new(), conditions: Conditions::default(), selected, milliseconds: 0 };
    let mut broken = false;
    for (file, line) in &files {
        match run_file(args, file, *line, &mut ran.conditions, out)? {
            Some(outcome) => ran.files.push(outcome),
            None => broken = true,
        }
    }
    ran.milliseconds = began.elapsed().as_millis();
    match args.output.as_str() {
        "json" => {
            let json = report::json(&ran);
            out.json(&json)?;
        }
        "junit" => write!(out.stdout(), "{}", report::junit(&ran))?,
        "github" => write!(out.stdout(), "{}", report::github(&ran))?,
        _ if broken && ran.files.is_empty() => {}
        _ => {
            let text = report::text(&ran, args, out);
            write!(out.stdout(), "{text}")?;
        }
    }
    Ok(match (broken, ran.failed()) {
        (true, _) => ExitStatus::Failure,
        (false, 0) => ExitStatus::Success,
        _ => ExitStatus::Findings,
    })
}

/// `gpu.test.yaml:18` as a file and a line, unless there is a file of that name.
fn file_and_line(path: &Path) -> (PathBuf, Option<usize>) {
    let text = path.to_string_lossy();
    match text.rsplit_once(':') {
        Some((file, line)) if !path.exists() => match line.parse() {
            Ok(line) => (PathBuf::from(file), Some(line)),
            Err(_) => (path.to_owned(), None),
        },
        _ => (path.to_owned(), None),
    }
}

/// Runs a file's cases, or the one at a line. `None`: it could not be run, and why was printed.
fn run_file(
    args: &Args,
    path: &Path,
    line: Option<usize>,
    conditions: &mut Conditions,
    out: &mut Output,
) -> anyhow::Result<Option<FileOutcome>> {
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
        declared: args.declared,
        ..setup::From::default()
    };
    let setup = setup::read_quietly(&from, out).with_context(|| path.display().to_string())?;
    let Some(setup) = setup else { return Ok(None) };
    let mut pods: Vec<(String, Value)> = Vec::new();
    for name in file.pod_files() {
        let id = read.add(&beside(name))?;
        let text = read.sources.get(id).map(|source| source.text().to_owned()).unwrap_or_default();
        let pod: Value = serde_saphyr::from_str(&text)
            .map_err(|error| anyhow::anyhow!("cannot read the pod in {}: {error}", beside(name).display()))?;
        pods.push((name.to_owned(), pod));
    }
    let pod_file = |name: &str| pods.iter().find(|(known, _)| known == name).map(|(_, pod)| pod.clone());
    let bench = Bench {
        sources: &read.sources,
        cluster: &setup.world,
        profiles: &setup.profiles,
        policies: &setup.policies.set,
        pod_file: &pod_file,
    };
    let mut coverage = Coverage::of(setup.policies.set.iter().map(Arc::as_ref));
    let mut done = Vec::new();
    let wanted: Vec<usize> = match line {
        None => (0..file.cases.len()).collect(),
        Some(line) => vec![case_at(&file, &read.sources, path, line)?],
    };
    for at in wanted {
        let ended = match file.run_case(at, &bench, &mut coverage, args.explain) {
            Ok(ended) => ended,
            Err(said) => return refused(read, *said, out),
        };
        let place = (path.display().to_string(), line_of(&read.sources, file.place(&read.sources, at)));
        let places =
            ended.mismatches.iter().map(|wrong| policy_set::place(&read.sources, wrong.span)).collect();
        let name = file.cases.get(at).map(|case| case.name.clone()).unwrap_or_default();
        done.push(Outcome { name, place, ended, places });
    }
    conditions.add(&setup.policies.sources, &coverage);
    let sources = setup.policies.sources;
    Ok(Some(FileOutcome { file: path.display().to_string(), cases: done, sources }))
}

fn line_of(sources: &SourceMap, span: Span) -> usize {
    sources.places(span).0.line
}

/// The case that a line belongs to: the last one that begins at it or above.
fn case_at(file: &CaseFile, sources: &SourceMap, path: &Path, line: usize) -> anyhow::Result<usize> {
    let begins = |at: usize| line_of(sources, file.place(sources, at));
    let found = (0..file.cases.len()).rev().find(|at| begins(*at) <= line);
    found.ok_or_else(|| anyhow::anyhow!("no case of {} stands at line {line}", path.display()))
}

fn refused(mut read: Policies, said: Diagnostic, out: &mut Output) -> anyhow::Result<Option<FileOutcome>> {
    read.diagnostics.push(said);
    setup::complain(&read, out)?;
    Ok(None)
}

/// Why, as lines of text: the words, and the tree below them.
fn because_lines(because: &Because, sources: &SourceMap, indent: usize, out: &Output) -> (String, String) {
    match &because.tree {
        Some(tree) => {
            (format!("{}:", because.text), super::explain::tree::draw_beside(sources, tree, indent, out))
        }
        None => (because.text.clone(), String::new()),
    }
}
