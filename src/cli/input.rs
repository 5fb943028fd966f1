//! How every command finds its input: policy files and folders, ConfigMaps that hold policies, cluster files.
//! A path that cannot be read is an error that names it; what is wrong inside is a diagnostic with a place.

use crate::diag::{Diagnostic, SourceId, SourceMap};
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::sources;
use anyhow::Context;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Policies that were read and compiled, with everything that is to be said about them.
pub struct Policies {
    /// All texts.
    pub sources: SourceMap,
    /// The policies without a mistake.
    pub set: PolicySet,
    /// What is to be said, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// How many files were read.
    pub files: usize,
    /// The texts that hold policies, in the order they were read.
    pub texts: Vec<SourceId>,
}

impl Policies {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads and compiles the policies at `paths`: `*.bay` files, YAML or JSON files with ConfigMaps, folders of both.
pub fn policies(paths: &[PathBuf]) -> anyhow::Result<Policies> {
    let mut read = Policies {
        sources: SourceMap::new(),
        set: PolicySet::default(),
        diagnostics: Vec::new(),
        files: 0,
        texts: Vec::new(),
    };
    for path in paths {
        let mut files = Vec::new();
        policy_files(path, &mut files)?;
        if files.is_empty() {
            anyhow::bail!("no policies in {}: expected *.bay files, or ConfigMaps in *.yaml or *.json", path.display());
        }
        for file in files {
            add_file(&mut read, &file)?;
        }
    }
    let mut compiled = Vec::new();
    for id in read.texts.clone() {
        let (policies, diagnostics) = crate::lang::compile(&read.sources, id);
        compiled.extend(policies.into_iter().map(Arc::<CompiledPolicy>::new));
        read.diagnostics.extend(diagnostics);
    }
    read.diagnostics.extend(crate::lang::clashes(&compiled));
    read.set = PolicySet::new(compiled);
    Ok(read)
}

fn add_file(read: &mut Policies, file: &Path) -> anyhow::Result<()> {
    let text = text(file)?;
    let id = read.sources.add(file.display().to_string(), text);
    read.files += 1;
    if file.extension().is_some_and(|ending| ending == "bay") {
        read.texts.push(id);
        return Ok(());
    }
    let (found, diagnostics) = sources::policies_in(&mut read.sources, id);
    read.texts.extend(found.into_iter().map(|found| found.source));
    read.diagnostics.extend(diagnostics);
    Ok(())
}

/// The policy files at a path: itself, or what a folder holds, in the order of the names.
fn policy_files(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in folder(path)? {
        if entry.is_dir() {
            if !is_hidden(&entry) {
                policy_files(&entry, files)?;
            }
        } else if is_policy_file(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

fn is_policy_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    !is_hidden(path) && (name.ends_with(".bay") || yaml && !is_test_file(path) && mentions_policies(path))
}

/// Whether a YAML file in a folder may hold a ConfigMap with policies; the others are none of our business.
fn mentions_policies(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| {
        let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        holds(sources::LABEL.as_bytes()) || (holds(b"ConfigMap") && holds(b".bay"))
    })
}

/// Whether the path is a file of policy tests.
pub fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".test.yaml") || name.ends_with(".test.yml")
}

/// The files of policy tests at a path.
pub fn test_files(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in folder(path)? {
        if is_hidden(&entry) {
            continue;
        }
        if entry.is_dir() {
            test_files(&entry, files)?;
        } else if is_test_file(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn folder(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.with_context(|| format!("cannot read the folder {}", path.display()))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The text of a file; `-` is stdin. Not UTF-8 is an error that says where.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read stdin")?;
        bytes
    } else {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("{} is no UTF-8 text: byte {at}, in line {line}, is none; save the file as UTF-8", path.display())
    })
}
