//! `bayplan convert`: policies of the policy language as YAML documents, and documents as policies of the language.

use super::input;
use super::{ExitStatus, Output, setup};
use crate::diag::{Diagnostic, Form, Severity, SourceId, SourceMap, codes, draw};
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
    kinds: setup::PolicyKinds,
    /// Only say what cannot be converted.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Write files with the other ending beside those that are read; ConfigMaps are changed in place.
    #[arg(long)]
    write: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(stream) = args.paths.iter().find(|path| args.write && input::is_stream(path)) {
        bail!(
            "`--write` writes beside files that are read, and {} is none: redirect the output",
            stream.display()
        );
    }
    let read = input::policies(&args.paths, &args.kinds.schemas, Size::default())?;
    let errors: Vec<Diagnostic> = read.diagnostics.iter().filter(|said| said.is_error()).cloned().collect();
    if !errors.is_empty() {
        out.draw(&draw::human(&read.sources, &errors, out.look(None)))?;
        bail!("policies with mistakes cannot be converted");
    }
    let mut texts = Vec::new();
    let (mut without, mut remarks) = (Vec::new(), Vec::new());
    for id in &read.texts {
        let Some(source) = read.sources.get(*id) else { continue };
        match lang::convert::convert_given(source, read.given()) {
            Ok(converted) => {
                texts.push((*id, converted.text));
                let note = |of: &lang::convert::NoTwin| of.diagnostic().with_severity(Severity::Note);
                remarks.extend(converted.remarks.iter().map(note));
            }
            Err(said) => without.extend(said.iter().map(|of| no_twin(of, &read.diagnostics))),
        }
    }
    if !without.is_empty() {
        out.draw(&draw::human(&read.sources, &without, out.look(None)))?;
        return Ok(ExitStatus::Findings);
    }
    if !remarks.is_empty() {
        out.draw_on_stderr(&draw::human(&read.sources, &remarks, out.stderr_look(None)))?;
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
            out.file(&format!("{blank}{text}"))?;
        }
    }
    Ok(ExitStatus::Success)
}

/// What has no twin. A default that never applies has none, and the compiler knows how to remove it.
fn no_twin(of: &lang::convert::NoTwin, known: &[Diagnostic]) -> Diagnostic {
    let of_default = |said: &&Diagnostic| said.code == &codes::NEVER_ABSENT && !said.fixes.is_empty();
    let said = of.diagnostic();
    match known.iter().filter(of_default).any(|known| of.span.contains(known.span)) {
        true => said.with_help("remove the default that never applies: `bayplan lint --fix` does"),
        false => said,
    }
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
