//! `bayplan convert`: policies of the policy language as YAML documents, and documents as policies of the language.

use super::input::{self, Policies};
use super::{ExitStatus, Output, setup};
use crate::diag::{Diagnostic, Form, Source, SourceId, SourceMap, Span, codes, draw};
use crate::lang;
use crate::lang::analysis::cost::Size;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// Converts policies between the policy language and YAML documents with CEL.
///
/// A file that ends in `.bay` becomes a YAML document, a YAML file becomes the policy language, and so do the keys of
/// ConfigMaps. What has no twin is listed with its place; then nothing is written, and the exit status is 1.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan convert gpu.bay               the policy as a document, on stdout
  bayplan convert --write policies/     writes gpu.yaml beside gpu.bay
  bayplan convert --check policies/     only says what has no twin")]
pub(super) struct Args {
    /// Policy files, YAML files with policy documents or ConfigMaps, folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    kinds: setup::Kinds,
    /// Only say what cannot be converted.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Write files with the other ending beside those that are read; ConfigMaps are changed in place.
    #[arg(long)]
    write: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let read = input::policies(&args.paths, &args.kinds.schemas, Size::default())?;
    let errors: Vec<Diagnostic> = read.diagnostics.iter().filter(|said| said.is_error()).cloned().collect();
    if !errors.is_empty() {
        out.draw(&draw::human(&read.sources, &errors, out.look(None)))?;
        bail!("policies with mistakes cannot be converted");
    }
    let mut texts = Vec::new();
    let mut without = Vec::new();
    for id in &read.texts {
        let Some(source) = read.sources.get(*id) else { continue };
        match converted(&read, source) {
            Ok(text) => texts.push((*id, text)),
            Err(said) => without.extend(said),
        }
    }
    if !without.is_empty() {
        out.draw(&draw::human(&read.sources, &without, out.look(None)))?;
        return Ok(ExitStatus::Findings);
    }
    let files = files(&read.sources, &texts)?;
    if args.check {
        let many = if texts.len() == 1 { "1 text".to_owned() } else { format!("{} texts", texts.len()) };
        writeln!(out.stdout(), "{many} can be converted")?;
        return Ok(ExitStatus::Success);
    }
    let taken = files.iter().find(|file| args.write && !file.in_place && Path::new(&file.path).exists());
    if let Some(taken) = taken {
        bail!("{} exists already", taken.path);
    }
    for (at, Converted { path, text, .. }) in files.iter().enumerate() {
        if args.write {
            std::fs::write(path, text).with_context(|| format!("cannot write {path}"))?;
            writeln!(out.stdout(), "wrote {path}")?;
        } else {
            let blank = if at > 0 { "\n" } else { "" };
            write!(out.stdout(), "{blank}{text}")?;
        }
    }
    Ok(ExitStatus::Success)
}

/// A text in the other language, or what is in the way. The new text compiles.
fn converted(read: &Policies, source: &Source) -> Result<String, Vec<Diagnostic>> {
    let (policies, said) = read.compiled(source);
    // What may fail in CEL has a value in the policy language: that is another meaning.
    let may_fail: Vec<Diagnostic> = said
        .into_iter()
        .filter(|said| said.code == &codes::MAY_FAIL)
        .map(|said| {
            let mut no_twin =
                Diagnostic::new(&codes::NO_TWIN, said.span, "this may end with an error in CEL only");
            no_twin.help = said.help;
            no_twin
        })
        .collect();
    if !may_fail.is_empty() && source.form() == Form::Document {
        return Err(may_fail);
    }
    let text = lang::convert::convert_with(source, &policies, Some(&read.sources))
        .map_err(|without| without.iter().map(lang::convert::NoTwin::diagnostic).collect::<Vec<_>>())?;
    let mut sources = SourceMap::new();
    let id = sources.add(other_ending("converted.yaml", source.form() == Form::Language), text.as_str());
    let Some(new) = sources.get(id) else { return Ok(text) };
    let (_, said) = read.compiled(new);
    match said.into_iter().find(Diagnostic::is_error) {
        Some(error) => {
            let message = format!("the other language refuses what this would be: {}", error.message);
            let help = format!("it would be `{}`", sources.text(error.span));
            let span = named_before(new.text(), error.span.start as usize)
                .and_then(|name| statement_named(source, name))
                .unwrap_or_else(|| source.span().at_start());
            Err(vec![Diagnostic::new(&codes::NO_TWIN, span, message).with_help(help)])
        }
        None => Ok(text),
    }
}

/// The name of the item of a document that has a byte.
fn named_before(document: &str, at: usize) -> Option<&str> {
    let line_end = document.get(at..).and_then(|rest| rest.find('\n')).map_or(document.len(), |end| at + end);
    let lines = document.get(..line_end)?.lines().rev();
    let name = lines.map(str::trim_start).find_map(|line| line.strip_prefix("- name: "))?;
    Some(name.trim_matches(['"', '\'']))
}

/// The keyword and the name of the statement of the policy language with this name.
fn statement_named(source: &Source, name: &str) -> Option<Span> {
    let parts = |text: &str| {
        let (keyword, rest) = text.split_once(' ')?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        (rest.get(..end) == Some(name)).then_some(keyword.len() + 1 + end)
    };
    lang::statements(source).into_iter().find_map(|span| {
        let text = source.text().get(span.range())?;
        let start = span.start as usize;
        parts(text).map(|end| Span::new(span.source, start, start + end))
    })
}

fn other_ending(name: &str, document: bool) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if document { format!("{stem}.yaml") } else { format!("{stem}.bay") }
}

/// A file to write.
struct Converted {
    path: String,
    text: String,
    /// It is the file that was read.
    in_place: bool,
}

/// The files to write: a converted file under its new name, a file with ConfigMaps under its own.
fn files(sources: &SourceMap, texts: &[(SourceId, String)]) -> anyhow::Result<Vec<Converted>> {
    let mut files = Vec::new();
    let mut hosts: Vec<(SourceId, Vec<crate::policy_files::Replacement>)> = Vec::new();
    for (id, text) in texts {
        let Some(source) = sources.get(*id) else { continue };
        match (source.host(), source.origin()) {
            (Some(host), Some(origin)) => {
                let key = other_ending(&origin.key, source.form() == Form::Language);
                let new = crate::policy_files::Replacement {
                    object: origin.object.clone(),
                    old_key: origin.key.clone(),
                    key,
                    text: text.clone(),
                };
                match hosts.iter_mut().find(|(known, _)| *known == host) {
                    Some((_, all)) => all.push(new),
                    None => hosts.push((host, vec![new])),
                }
            }
            _ => {
                if source.form() == Form::Document && !crate::policy_files::holds_only_policies(source.text())
                {
                    bail!(
                        "{} holds other objects beside policies: move the policies into a file of their own",
                        source.name()
                    );
                }
                let path = other_ending(source.name(), source.form() == Form::Language);
                files.push(Converted { path, text: text.clone(), in_place: false });
            }
        }
    }
    for (host, replacements) in hosts {
        let Some(source) = sources.get(host) else { continue };
        let text = crate::policy_files::replaced(source.text(), &replacements)
            .with_context(|| format!("cannot change the ConfigMaps of {}", source.name()))?;
        files.push(Converted { path: source.name().to_owned(), text, in_place: true });
    }
    Ok(files)
}
