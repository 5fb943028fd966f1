//! `bayplan lint`: parses, checks and lints policies, and says everything that is wrong with them.

use super::{ExitStatus, Output, Style, input};
use crate::diag::render::{Look, Tally};
use crate::diag::{Severity, codes, json, render};
use std::path::PathBuf;

/// Checks policies: all mistakes, each on its line, with a way out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan lint policies/                     files, and ConfigMaps in YAML files
  bayplan lint gpu.bay --format json         for programs
  bayplan lint --explain BP0104              more about one kind of mistake")]
pub struct Args {
    /// Policy files, YAML files with ConfigMaps, folders of both; `-` is stdin.
    #[arg(required_unless_present = "explain")]
    paths: Vec<PathBuf>,
    /// How to print: `human` or `json`.
    #[arg(long, value_parser = ["human", "json"], default_value = "human")]
    format: String,
    /// Findings that count as errors: `warnings`.
    #[arg(long, value_parser = ["warnings"])]
    deny: Vec<String>,
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
    let mut read = input::policies(&args.paths)?;
    if args.deny.iter().any(|what| what == "warnings") {
        for diagnostic in &mut read.diagnostics {
            if diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
        }
    }
    let tally = Tally::of(&read.diagnostics);
    let status = if tally.errors > 0 { ExitStatus::Findings } else { ExitStatus::Success };
    if args.format == "json" {
        writeln!(out.stdout(), "{:#}", json::report(&read.sources, &read.diagnostics, read.files))?;
        return Ok(status);
    }
    let files = if read.files == 1 { "1 file".to_owned() } else { format!("{} files", read.files) };
    if read.diagnostics.is_empty() {
        let policies =
            if read.set.len() == 1 { "1 policy".to_owned() } else { format!("{} policies", read.set.len()) };
        let line = format!("{policies} in {files}: nothing to say.");
        let line = out.paint(Style::Good, &line);
        writeln!(out.stdout(), "{line}")?;
        return Ok(status);
    }
    if !out.quiet {
        let look = Look { colour: out.colour, unicode: out.unicode, limit: (!args.all).then_some(DRAWN) };
        let drawn = render::human(&read.sources, &read.diagnostics, look);
        writeln!(out.stdout(), "{drawn}")?;
    }
    writeln!(out.stdout(), "{} in {files}", tally.sentence())?;
    if let (Some(first), false) = (read.diagnostics.first(), out.quiet) {
        let program = out.program;
        writeln!(out.stdout(), "More about one: {program} lint --explain {}", first.code.id)?;
    }
    Ok(status)
}

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
