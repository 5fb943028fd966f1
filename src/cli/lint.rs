//! `bayplan lint`: parses, checks and lints policies, and says everything that is wrong with them.

use super::input::Policies;
use super::setup::quoted;
use super::{ExitStatus, Output, Style, input, setup};
use crate::diag::{Severity, Tally, codes, draw, fix, formats, json};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Checks policies: all mistakes, each on its line, with a way out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan lint policies/                     files, and ConfigMaps in YAML files
  bayplan lint policies/ --fix               writes the fixes that are certain
  bayplan lint gpu.bay --format sarif        for programs
  bayplan lint --explain BP0104              more about one kind of mistake")]
pub struct Args {
    /// Policy files, YAML files with ConfigMaps, folders of both; `-` is stdin.
    #[arg(required_unless_present = "explain")]
    paths: Vec<PathBuf>,
    /// How to print: `human`, `json`, `sarif`, `github`, `junit` or `rdjson`.
    #[arg(long, short = 'o', visible_alias = "output", hide_possible_values = true, default_value = "human",
        value_parser = ["human", "text", "json", "sarif", "github", "junit", "rdjson"])]
    format: String,
    /// Writes the fixes that are certain into the files, and prints what is left.
    #[arg(long)]
    fix: bool,
    /// Findings that count as errors: `warnings`.
    #[arg(long, value_parser = ["warnings"])]
    deny: Vec<String>,
    #[command(flatten)]
    declared: setup::Declared,
    /// Explains one code (`BP0104`) or its name (`mixed-units`).
    #[arg(long, value_name = "CODE", conflicts_with = "paths")]
    explain: Option<String>,
    /// Prints all findings; without it 20 are drawn and the rest is counted.
    #[arg(long)]
    all: bool,
}

/// How many findings are drawn before the rest is counted.
const DRAWN: usize = 20;

/// Runs the command.
pub fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(wanted) = &args.explain {
        return explain(wanted, out);
    }
    let mut read = input::policies(&args.paths, args.declared.size())?;
    let mut fixed = 0;
    if args.fix {
        fixed = write_fixes(&read, args)?;
        if fixed > 0 {
            read = input::policies(&args.paths, args.declared.size())?;
        }
    }
    if args.deny.iter().any(|what| what == "warnings") {
        for diagnostic in &mut read.diagnostics {
            if diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
        }
    }
    let tally = Tally::of(&read.diagnostics);
    let status = if tally.errors > 0 { ExitStatus::Findings } else { ExitStatus::Success };
    let (sources, said) = (&read.sources, &read.diagnostics);
    match args.format.as_str() {
        "json" => out.json(&json::report(sources, said, read.files))?,
        "sarif" => out.json(&formats::sarif(sources, said))?,
        "rdjson" => out.json(&formats::rdjson(sources, said))?,
        "junit" => write!(out.stdout(), "{}", formats::junit(sources, said, &files(&read)))?,
        "github" => {
            writeln!(out.stdout(), "{}{}", formats::github(sources, said), sentence(&read, tally))?;
        }
        _ => human(args, &read, fixed, tally, out)?,
    }
    Ok(status)
}

/// `2 errors in 1 file`
fn sentence(read: &Policies, tally: Tally) -> String {
    let files = if read.files == 1 { "1 file".to_owned() } else { format!("{} files", read.files) };
    if read.diagnostics.is_empty() {
        let policies =
            if read.set.len() == 1 { "1 policy".to_owned() } else { format!("{} policies", read.set.len()) };
        return format!("{policies} in {files}: nothing to say.");
    }
    format!("{} in {files}", tally.sentence())
}

/// The names of the files that were read, without texts inside of them.
fn files(read: &Policies) -> Vec<String> {
    read.sources
        .iter()
        .filter(|source| source.host().is_none())
        .map(|source| source.name().to_owned())
        .collect()
}

fn human(args: &Args, read: &Policies, fixed: usize, tally: Tally, out: &mut Output) -> anyhow::Result<()> {
    if args.fix && !out.quiet {
        let line = match fixed {
            0 => "nothing could be fixed".to_owned(),
            1 => "1 mistake was fixed".to_owned(),
            many => format!("{many} mistakes were fixed"),
        };
        writeln!(out.stdout(), "{line}")?;
    }
    let sentence = sentence(read, tally);
    if read.diagnostics.is_empty() {
        let line = out.paint(Style::Good, &sentence);
        writeln!(out.stdout(), "{line}")?;
        return Ok(());
    }
    if !out.quiet {
        let look = out.look((!args.all).then_some(DRAWN));
        out.draw(&draw::human(&read.sources, &read.diagnostics, look))?;
        writeln!(out.stdout())?;
    }
    let can_be = fix::apply(&read.sources, &read.diagnostics).applied;
    if can_be > 0 && !args.fix && !args.paths.iter().any(|path| path == Path::new("-")) {
        let paths: Vec<String> = args.paths.iter().map(|path| quoted(&path.display().to_string())).collect();
        let command = out.paint(Style::Strong, &format!("bayplan lint --fix {}", paths.join(" ")));
        writeln!(out.stdout(), "{sentence}; {can_be} can be fixed: {command}")?;
    } else {
        writeln!(out.stdout(), "{sentence}")?;
    }
    // What stops the policy is asked about before what is only noted.
    let first = read.diagnostics.iter().find(|said| said.is_error()).or(read.diagnostics.first());
    if let (Some(first), false) = (first, out.quiet) {
        let program = out.program;
        writeln!(out.stdout(), "More about one: {program} lint --explain {}", first.code.id)?;
    }
    Ok(())
}

/// Writes fixes into the files until none is left that can be applied, and says how many. A fix may uncover a mistake
/// that has one, too; each round makes at least one mistake fewer or is the last.
fn write_fixes(first: &Policies, args: &Args) -> anyhow::Result<usize> {
    if args.paths.iter().any(|path| path == Path::new("-")) {
        anyhow::bail!("stdin cannot be fixed in place: name files");
    }
    let mut fixed = 0;
    let mut left = first.diagnostics.len();
    let mut again;
    let mut read = first;
    for _ in 0..ROUNDS {
        let round = fix::apply(&read.sources, &read.diagnostics);
        if round.applied == 0 {
            break;
        }
        for (id, text) in &round.files {
            let Some(source) = read.sources.get(*id) else { continue };
            std::fs::write(source.name(), text).with_context(|| format!("cannot write {}", source.name()))?;
        }
        fixed += round.applied;
        again = input::policies(&args.paths, args.declared.size())?;
        read = &again;
        if read.diagnostics.len() >= left {
            break;
        }
        left = read.diagnostics.len();
    }
    Ok(fixed)
}

/// How often fixes are looked for again after some were written.
const ROUNDS: usize = 10;

fn explain(wanted: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(code) = codes::find(wanted) else {
        let known: Vec<&str> = codes::CODES.iter().flat_map(|code| [code.id, code.slug]).collect();
        let near = crate::diag::suggest::nearest(wanted, known.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        anyhow::bail!("no diagnostic has the code or name `{wanted}`{hint}");
    };
    let head = out.paint(Style::Strong, &format!("{} {}", code.id, code.slug));
    writeln!(out.stdout(), "{head} ({}): {}\n\n{}", code.severity.word(), code.title, code.explanation)?;
    Ok(ExitStatus::Success)
}
