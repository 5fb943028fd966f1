//! `bayplan lint`: parses, checks and lints policies, and reports everything that is wrong with them.

mod cluster;
mod effect;

use super::input::{Glob, Policies};
use super::setup::quoted;
use super::{ExitStatus, Output, Style, setup};
use crate::diag::{Severity, Source, Tally, draw, fix, formats, json};
use crate::dry_run::Loaded;
use crate::lang::Given;
use crate::lang::analysis::memory::Memory;
use crate::lang::lint::due;
use crate::model::Time;
use anyhow::Context;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Checks policies and reports every mistake with its place and a way out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan lint                               all policies below this folder
  bayplan lint policies/ --exclude charts    files, and ConfigMaps in YAML files
  bayplan lint policies/ --fix               writes the fixes that are certain
  bayplan lint gpu.bay --format sarif        for programs
  bayplan lint gpu.bay --cluster prod.json   compares its names with those of a cluster
  bayplan lint --explain BP0104              more about one kind of mistake")]
pub(super) struct Args {
    /// Policy files, YAML files with ConfigMaps, folders of both; `-` is stdin.
    #[arg(default_value = ".", hide_default_value = true)]
    paths: Vec<PathBuf>,
    /// How to print: `human`, `json`, `sarif`, `github`, `junit` or `rdjson`.
    #[arg(long, short = 'o', visible_alias = "output", hide_possible_values = true, default_value = "human",
        value_parser = ["human", "text", "json", "sarif", "github", "junit", "rdjson"])]
    format: String,
    /// Write the fixes that are certain into the files, and print what is left. A test for what
    /// may fail in CEL is not: it decides what a missing value means, which `onError` decided
    #[arg(long)]
    fix: bool,
    /// Findings that count as errors: `warnings`, or `notes` for both.
    #[arg(long, value_name = "WHAT", value_parser = ["warnings", "notes"], hide_possible_values = true)]
    deny: Vec<String>,
    /// Files and folders to leave out of folders, as in `charts` or `old/*.yaml`.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<Glob>,
    #[command(flatten)]
    kinds: setup::Kinds,
    #[command(flatten)]
    declared: setup::Declared,
    /// Explain a code (`BP0104`) or a name of one (`mixed-units`).
    #[arg(long, value_name = "CODE", conflicts_with = "paths")]
    explain: Option<String>,
    /// Files of a cluster: names are compared with those of its objects. `-` is stdin.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    cluster: Vec<PathBuf>,
    /// Print all findings; without it 20 are drawn and the rest is counted.
    #[arg(long)]
    all: bool,
}

/// How many findings are drawn before the rest is counted.
const DRAWN: usize = 20;

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(wanted) = &args.explain {
        return explain(wanted, out);
    }
    let mut read = policies(args)?;
    let mut fixed = 0;
    if args.fix {
        (fixed, read) = write_fixes(read, args)?;
    }
    if read.files == 0
        && let Some(unreadable) = read.diagnostics.first()
    {
        anyhow::bail!("{}", unreadable.message);
    }
    for diagnostic in &mut read.diagnostics {
        let denied = args.deny.iter().any(|what| match diagnostic.severity {
            Severity::Error => false,
            Severity::Warning => true,
            Severity::Note => what == "notes",
        });
        if denied {
            diagnostic.severity = Severity::Error;
        }
    }
    let tally = Tally::of(&read.diagnostics);
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
    Ok(match tally.errors {
        _ if read.is_incomplete() => ExitStatus::Failure,
        0 => ExitStatus::Success,
        _ => ExitStatus::Findings,
    })
}

/// Reads and checks what was named, and takes out fixes that do not compile.
fn policies(args: &Args) -> anyhow::Result<Policies> {
    let size = args.declared.size();
    let mut read = Policies { size, exclude: args.exclude.clone(), ..Policies::default() };
    read.read_schemas(&args.kinds.schemas)?;
    read.read(&args.paths)?;
    let linted = read.files;
    let cluster = match args.cluster.is_empty() {
        true => None,
        false => {
            let files = read.add_all(&args.cluster)?;
            Some(crate::dry_run::load(&mut read.sources, &files))
        }
    };
    if let Some(loaded) = &cluster {
        read.schemas.merge(&loaded.others.schemas);
    }
    read.files = linted;
    read.compile();
    let now = Time(jiff::Timestamp::now().as_microsecond());
    let over: Vec<_> = read.set.iter().flat_map(|compiled| due(&compiled.policy, now)).collect();
    if !over.is_empty() {
        read.diagnostics.extend(over);
        in_order(&mut read);
    }
    if let Some(loaded) = cluster {
        compare(&mut read, loaded);
    }
    let (schemas, sources, exceptions) =
        (read.schemas.clone(), read.sources.clone(), read.exceptions.clone());
    let compile = |source: &Source| fix::Compiled {
        diagnostics: crate::lang::compile_given(
            source,
            Given {
                size,
                schemas: &schemas,
                arguments: &|_| Vec::new(),
                sources: Some(&sources),
                exceptions: Some(&exceptions),
            },
        )
        .1,
        statements: crate::lang::statements(source),
    };
    fix::verify(&read.sources, &mut read.diagnostics, &read.texts, &compile);
    Ok(read)
}

/// Compares the names that policies read with those of a cluster, and counts what a wrong one does there.
fn compare(read: &mut Policies, mut loaded: Loaded) {
    loaded.world.objects.extend(loaded.others.looked_up(&read.kinds()).0);
    read.diagnostics.extend(loaded.diagnostics);
    let names = cluster::Names::of(&loaded.world);
    let snapshot = super::eval::snapshot(&loaded.world);
    for compiled in read.set.iter() {
        for mut said in cluster::check(&compiled.policy, &names, &read.sources) {
            let within = compiled.policy.filters.iter().find(|filter| filter.span.contains(said.span));
            let effect =
                within.and_then(|filter| effect::of_filter(compiled, filter, &loaded.world, &snapshot));
            if let Some(effect) = effect {
                said = said.with_effect(effect);
            }
            read.diagnostics.push(said);
        }
    }
    in_order(read);
}

fn in_order(read: &mut Policies) {
    let sources = &read.sources;
    read.diagnostics.sort_by_key(|said| {
        let place = sources.in_file(said.span);
        (place.source, place.start)
    });
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
        return tell_memory(read, out);
    }
    if !out.quiet {
        let look = out.look((!args.all).then_some(DRAWN));
        out.draw(&draw::human(&read.sources, &read.diagnostics, look))?;
        writeln!(out.stdout())?;
    }
    let can_be = fix::apply_certain(&read.sources, &read.diagnostics).possible();
    if can_be > 0 && !args.fix && !args.paths.iter().any(|path| path == Path::new("-")) {
        let paths: Vec<String> = args.paths.iter().map(|path| quoted(&path.display().to_string())).collect();
        let cluster = args.cluster.iter().map(|file| quoted(&file.display().to_string()));
        let cluster: String = cluster.map(|file| format!(" --cluster {file}")).collect();
        let command = format!("{} lint --fix {}{cluster}", out.program, paths.join(" "));
        let command = out.paint(Style::Strong, &command);
        writeln!(out.stdout(), "{sentence}; {can_be} can be fixed: {command}")?;
    } else {
        writeln!(out.stdout(), "{sentence}")?;
    }
    // Suggest an error before a warning.
    let first = read.diagnostics.iter().find(|said| said.is_error()).or(read.diagnostics.first());
    if let (Some(first), false) = (first, out.quiet) {
        let program = out.program;
        writeln!(out.stdout(), "More about one: {program} lint --explain {}", first.code.id)?;
    }
    tell_memory(read, out)
}

/// Tells what the policies take of memory for what they read beyond the scheduler's own fields.
fn tell_memory(read: &Policies, out: &mut Output) -> anyhow::Result<()> {
    if out.quiet {
        return Ok(());
    }
    for compiled in read.set.iter() {
        if let Some(text) = Memory::of(&compiled.policy.keeps.pods).text() {
            let line = out.paint(Style::Dim, &format!("memory of {}: {text}", compiled.name()));
            writeln!(out.stdout(), "{line}")?;
        }
    }
    Ok(())
}

/// Writes fixes into the files until nothing more can be fixed, and says how many it wrote. A fix may
/// uncover a mistake that has one, too.
fn write_fixes(first: Policies, args: &Args) -> anyhow::Result<(usize, Policies)> {
    if args.paths.iter().any(|path| path == Path::new("-")) {
        anyhow::bail!("stdin cannot be fixed in place: name files");
    }
    let mut fixed = 0;
    let mut read = first;
    // Two fixes that undo each other must not go on for ever: a text that was there before ends it.
    let mut seen = BTreeSet::new();
    loop {
        let round = fix::apply_certain(&read.sources, &read.diagnostics);
        let texts: Vec<String> = round.files.values().cloned().collect();
        if round.applied == 0 || !seen.insert(texts) {
            return Ok((fixed, read));
        }
        for (id, text) in &round.files {
            let Some(source) = read.sources.get(*id) else { continue };
            std::fs::write(source.name(), text).with_context(|| format!("cannot write {}", source.name()))?;
        }
        fixed += round.applied;
        read = policies(args)?;
    }
}

/// Prints what a code means, with its examples: the same page as `bayplan help codes CODE`.
fn explain(wanted: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    super::help::code(wanted, out)
}
