//! `bayplan lint`: parses, checks and lints policies, and reports everything that is wrong with them.

mod cluster;
mod effect;

use super::input::{Glob, Policies, is_stream};
use super::progress::Progress;
use super::project::{self, Findings, Project};
use super::setup::quoted;
use super::{ExitStatus, Output, Style, setup};
use crate::diag::{Diagnostic, FixClass, Severity, Source, Tally, draw, fix, formats, json};
use crate::dry_run::Loaded;
use crate::lang::Given;
use crate::lang::analysis::memory::Memory;
use crate::lang::lint::due;
use crate::lang::typed::Point;
use crate::model::Time;
use anyhow::Context;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Checks policies and reports every mistake with its place and a way out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan lint                               all policies below this folder
  bayplan lint policies/ --exclude charts    files, and ConfigMaps in YAML files
  bayplan lint policies/ --fix               writes the fixes that change no decision
  kustomize build deploy | bayplan lint -    what a pipe brings
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
    /// Write the fixes that are certain into the files, and print what is left: those that change
    /// no decision, and those of mistakes, with which a policy decides nothing
    #[arg(long)]
    fix: bool,
    /// With `--fix`, write the fixes that may change decisions too. Look at the difference: each is
    /// what is probably meant
    #[arg(long, requires = "fix")]
    unsafe_fixes: bool,
    /// Findings that count as errors: `warnings`, `notes` for both, or a code such as `BP0404`. The flag may be repeated,
    /// and so may `--allow`; `bayplan.yaml` has both for a project.
    #[arg(long, value_name = "WHAT")]
    deny: Vec<Findings>,
    /// Findings of warnings and notes that are not reported, by code or name: `BP0404`. It wins over `--deny`.
    #[arg(long, value_name = "CODE")]
    allow: Vec<Findings>,
    /// Files and folders to leave out of folders, as in `charts` or `old/*.yaml`.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<Glob>,
    #[command(flatten)]
    kinds: setup::PolicyKinds,
    #[command(flatten)]
    declared: setup::Declared,
    /// Explain a code (`BP0104`) or a name of one (`mixed-units`).
    #[arg(long, value_name = "CODE", conflicts_with = "paths")]
    explain: Option<String>,
    /// A file of a cluster: names are compared with those of its objects. `-` is stdin; the flag may be repeated.
    #[arg(long, value_name = "FILE")]
    cluster: Vec<PathBuf>,
    /// Print all findings; without it 20 are drawn and the rest is counted.
    #[arg(long)]
    all: bool,
}

impl Args {
    /// The fixes that are written.
    fn classes(&self) -> &'static [FixClass] {
        match self.unsafe_fixes {
            true => &[FixClass::Certain, FixClass::MayChangeDecisions],
            false => &[FixClass::Certain],
        }
    }
}

/// How many findings are drawn before the rest is counted.
const DRAWN: usize = 20;

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(wanted) = &args.explain {
        return explain(wanted, out);
    }
    let project = project::read()?;
    let progress = Progress::start(out, None);
    let mut read = policies(args, &project, &progress)?;
    let mut fixed = 0;
    if args.fix {
        (fixed, read) = write_fixes(read, args, &project, &progress)?;
    }
    drop(progress);
    if read.files == 0
        && let Some(unreadable) = read.diagnostics.first()
    {
        anyhow::bail!("{}", unreadable.message);
    }
    let suppressed = suppress(&mut read, args, &project);
    for diagnostic in &mut read.diagnostics {
        if args.deny.iter().chain(&project.deny).any(|what| is_of(diagnostic, *what)) {
            diagnostic.severity = Severity::Error;
        }
    }
    let tally = Tally::of(&read.diagnostics);
    let (sources, said) = (&read.sources, &read.diagnostics);
    match args.format.as_str() {
        "json" => out.json(&json::report(sources, said, read.files))?,
        "sarif" => out.json(&formats::sarif(sources, said, &suppressed))?,
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

/// Whether a finding is one of those that `--deny` or `--allow` names. An error is none: nothing takes it away.
fn is_of(said: &Diagnostic, what: Findings) -> bool {
    match (said.severity, what) {
        (Severity::Error, _) => false,
        (_, Findings::Of(code)) => said.code == code,
        (Severity::Warning, _) => true,
        (Severity::Note, what) => what == Findings::Notes,
    }
}

/// Takes out the findings that `--allow` or the project file names. Gives them, and those that comments allow, with the
/// reason of each: programs that read SARIF show them as suppressed.
fn suppress(read: &mut Policies, args: &Args, project: &Project) -> Vec<formats::Suppressed> {
    let mut suppressed = Vec::new();
    let allowed: Vec<Findings> = args.allow.iter().chain(&project.allow).copied().collect();
    let (out, kept) = std::mem::take(&mut read.diagnostics)
        .into_iter()
        .partition::<Vec<_>, _>(|said| allowed.iter().any(|what| is_of(said, *what)));
    read.diagnostics = kept;
    let by_flag =
        |said| formats::Suppressed { said, in_source: false, why: "allowed for the project".to_owned() };
    suppressed.extend(out.into_iter().map(by_flag));
    if args.format == "sarif" {
        suppressed.extend(
            read.texts.iter().filter_map(|id| read.sources.get(*id)).flat_map(|of| in_comments(read, of)),
        );
    }
    suppressed
}

/// The findings of a text that its comments allow: those that it has without them.
fn in_comments(read: &Policies, source: &Source) -> Vec<formats::Suppressed> {
    const COMMENT: &str = "bayplan: allow(";
    if !source.text().contains(COMMENT) {
        return Vec::new();
    }
    let mut sources = read.sources.clone();
    // Of the same length, so that places stay.
    let id = sources.add_like(source, source.text().replace(COMMENT, "bayplan- allow("));
    let Some(without) = sources.get(id) else { return Vec::new() };
    let (_, with) = read.compiled(source);
    let (_, all) = read.compiled(without);
    let at = |said: &Diagnostic| (said.code.id, said.span.start, said.span.end);
    let known: BTreeSet<_> = with.iter().map(at).collect();
    let fresh = all.into_iter().filter(|said| !said.is_error() && !known.contains(&at(said)));
    fresh
        .map(|mut said| {
            said.span.source = source.id();
            said.labels.iter_mut().for_each(|label| label.span.source = source.id());
            said.fixes.clear();
            let before = source.text().get(..said.span.start as usize).unwrap_or("");
            let mut comments =
                source.text().lines().filter(|line| line.contains(COMMENT) && line.contains(said.code.slug));
            let above =
                before.lines().rev().find(|line| line.contains(COMMENT) && line.contains(said.code.slug));
            let comment = above.or_else(|| comments.next()).unwrap_or("");
            let why = comment.split_once(" because ").map_or("", |(_, why)| why.trim()).to_owned();
            formats::Suppressed { said, in_source: true, why }
        })
        .collect()
}

/// Reads and checks what was named, and takes out fixes that do not compile.
fn policies(args: &Args, project: &Project, progress: &Progress) -> anyhow::Result<Policies> {
    let size = args.declared.size();
    let exclude = args.exclude.iter().chain(&project.exclude).cloned().collect();
    let mut read = Policies { size, exclude, steps: progress.steps(), ..Policies::default() };
    read.read_schemas(&[&args.kinds.schemas[..], &project.schemas].concat())?;
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
            let mut filters = compiled.policy.rules_at(Point::Filter);
            let within = filters.find(|rule| rule.span().contains(said.span));
            let effect = within.and_then(|rule| effect::of_filter(compiled, rule, &loaded.world, &snapshot));
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
        tell_memory(read, out)?;
        let line = out.paint(Style::Good, &sentence);
        writeln!(out.stdout(), "{line}")?;
        return Ok(());
    }
    if !out.quiet {
        let look = out.look((!args.all).then_some(DRAWN));
        out.draw(&draw::human(&read.sources, &read.diagnostics, look))?;
        writeln!(out.stdout())?;
    }
    let can_be = fix::apply(&read.sources, &read.diagnostics, args.classes()).possible();
    if can_be > 0 && !args.fix && !args.paths.iter().any(|path| is_stream(path)) {
        let paths: Vec<String> = args.paths.iter().map(|path| quoted(&path.display().to_string())).collect();
        let cluster = args.cluster.iter().map(|file| quoted(&file.display().to_string()));
        let cluster: String = cluster.map(|file| format!(" --cluster {file}")).collect();
        let command = format!("{} lint --fix{cluster} {}", out.program, paths.join(" "));
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
fn write_fixes(
    first: Policies,
    args: &Args,
    project: &Project,
    progress: &Progress,
) -> anyhow::Result<(usize, Policies)> {
    if args.paths.iter().any(|path| is_stream(path)) {
        anyhow::bail!("stdin cannot be fixed in place: name files");
    }
    let mut fixed = 0;
    let mut read = first;
    // Two fixes that undo each other must not go on for ever: a text that was there before ends it.
    let mut seen = BTreeSet::new();
    loop {
        let round = fix::apply(&read.sources, &read.diagnostics, args.classes());
        let texts: Vec<String> = round.files.values().cloned().collect();
        if round.applied == 0 || !seen.insert(texts) {
            return Ok((fixed, read));
        }
        for (id, text) in &round.files {
            let Some(source) = read.sources.get(*id) else { continue };
            std::fs::write(source.name(), text).with_context(|| format!("cannot write {}", source.name()))?;
        }
        fixed += round.applied;
        read = policies(args, project, progress)?;
    }
}

/// Prints what a code means, with its examples: the same page as `bayplan help codes CODE`.
fn explain(wanted: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    super::help::code(wanted, out)
}
