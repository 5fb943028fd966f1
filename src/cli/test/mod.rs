//! `bayplan test`: runs the tests of policies (`*.test.yaml`). `dry_run::cases` defines what a case
//! means.
//!
//! - `run.rs`: files to results
//! - `conditions.rs`: conditions that no test has seen both true and false
//! - `from.rs`: a case from a pod of a cluster
//! - `text.rs`, `json.rs`, `junit.rs`, `github.rs`: the reports

mod conditions;
mod from;
mod github;
mod json;
mod junit;
mod run;
mod text;

use super::output::Output;
use super::progress::Progress;
use super::{ExitStatus, input, project, setup};
use crate::diag::SourceMap;
use crate::dry_run::cases::Ended;
use conditions::Conditions;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs tests of policies: every case of the `*.test.yaml` files.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan test                                  all tests below this folder
  bayplan test policies/ -v                     with those that passed
  bayplan test gpu.test.yaml:18 --explain       the case at this line, with every rule on every node
  bayplan test --name 'whole GPUs'              the cases whose names have these words
  bayplan test policies/ --min-coverage 100     fails unless every condition was seen both true and false
  bayplan test policies/ -o junit
  bayplan test --from shop/train-7 tests/       writes a case from a pod of a live cluster
  bayplan test --from shop/train-7 --cluster prod.json --policies policies/ tests/       from a file")]
pub(super) struct Args {
    /// Test files, and folders of test files; `FILE:LINE` is the case at that line.
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    from: from::FromPod,
    /// Also print the cases that passed, and all conditions that are not covered.
    #[arg(long, short)]
    verbose: bool,
    /// Run only the cases whose names have this text; the flag may be repeated.
    #[arg(long, short = 'k', value_name = "TEXT")]
    name: Vec<String>,
    /// Fail if tests have seen less than this percentage of the conditions both true and false.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    min_coverage: Option<u8>,
    /// Print the result of every rule on every node, for each case.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    kinds: setup::PolicyKinds,
    #[command(flatten)]
    declared: setup::Declared,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
    /// How to print: `text`, `json`, `junit` or `github`.
    #[arg(long, short, visible_alias = "format", value_parser = ["text", "json", "junit", "github"],
        default_value = "text", hide_possible_values = true)]
    output: String,
}

/// A case that ran.
struct Outcome {
    name: String,
    /// Where its name is written.
    place: (String, usize),
    ended: Ended,
    took: Duration,
    /// The place of each mismatch.
    places: Vec<String>,
}

/// The cases of a file.
struct FileOutcome {
    file: String,
    cases: Vec<Outcome>,
    /// The policies' texts, which the trees of rules point into.
    sources: SourceMap,
    /// Why the file, or some of its cases, could not run.
    errors: Vec<RunError>,
}

/// Why something could not run.
struct RunError {
    /// In one line.
    message: String,
    /// In full.
    text: String,
    /// The line of the test file, where that is known.
    line: Option<usize>,
}

/// Everything that ran.
struct Ran {
    files: Vec<FileOutcome>,
    conditions: Conditions,
    /// Some cases were selected: their coverage means nothing.
    selected: bool,
    milliseconds: u128,
    /// The least coverage in percent, by flag or project file.
    least: Option<u8>,
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

    fn broken(&self) -> usize {
        self.files.iter().filter(|file| !file.errors.is_empty()).count()
    }

    /// Whether tests saw fewer conditions both true and false than `least`.
    fn sees_too_little(&self) -> bool {
        let (all, seen) = (self.conditions.len(), self.conditions.len() - self.conditions.uncovered().len());
        self.least.is_some_and(|least| !self.selected && seen * 100 < usize::from(least) * all)
    }

    fn errors(&self) -> usize {
        self.files.iter().map(|file| file.errors.len()).sum()
    }
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(pod) = &args.from.pod {
        return from::write(args, pod, out);
    }
    args.from.refuse_connection()?;
    let began = Instant::now();
    let mut files: Vec<(PathBuf, Option<usize>)> = Vec::new();
    for path in &args.paths {
        let (path, line) = file_and_line(path);
        let mut found = Vec::new();
        input::test_files(&path, &mut found)?;
        if found.is_empty() {
            anyhow::bail!("no tests in {}: expected files called *.test.yaml", path.display());
        }
        // `./gpu.test.yaml` is printed as `gpu.test.yaml`.
        let plain = |file: PathBuf| file.strip_prefix(".").map(Path::to_owned).unwrap_or(file);
        files.extend(found.into_iter().map(|file| (plain(file), line)));
    }
    let project = project::read()?;
    let selected = files.iter().any(|(_, line)| line.is_some()) || !args.name.is_empty();
    let least = args.min_coverage.or(project.min_coverage);
    if args.min_coverage.is_some() && selected {
        anyhow::bail!("`--min-coverage` is about all cases: leave out `--name` and lines");
    }
    let mut kinds = args.kinds.clone();
    kinds.schemas.extend(project.schemas);
    let mut ran =
        Ran { files: Vec::new(), conditions: Conditions::default(), selected, milliseconds: 0, least };
    let progress = Progress::start(out, None);
    progress.stage("running test files", files.len());
    for (file, line) in &files {
        let outcome = run::file(args, &kinds, file, *line, &mut ran.conditions, out)?;
        ran.files.push(outcome);
        progress.step();
    }
    drop(progress);
    if !args.name.is_empty() && ran.broken() == 0 && ran.cases().next().is_none() {
        anyhow::bail!("no case has a name with `{}`", args.name.join("` or `"));
    }
    ran.milliseconds = began.elapsed().as_millis();
    let nothing_ran = ran.broken() > 0 && ran.cases().next().is_none();
    match args.output.as_str() {
        "json" => {
            let json = json::report(&ran);
            out.json(&json)?;
        }
        "junit" => write!(out.stdout(), "{}", junit::report(&ran))?,
        "github" => write!(out.stdout(), "{}", github::report(&ran))?,
        _ if nothing_ran => {}
        _ => {
            let text = text::report(&ran, args, out);
            write!(out.stdout(), "{text}")?;
        }
    }
    Ok(match (ran.broken(), ran.failed()) {
        (0, 0) if !ran.sees_too_little() => ExitStatus::Success,
        (0, _) => ExitStatus::Findings,
        _ => ExitStatus::Failure,
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
