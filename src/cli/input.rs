//! How every command finds its input: policy files and folders, ConfigMaps that hold policies, cluster files.
//! A path that cannot be read is an error that names it; what is wrong inside is a diagnostic with a place.

use crate::diag::{Diagnostic, SourceId, SourceMap, codes};
use crate::lang::analysis::cost::Size;
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::policy_files;
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Policies that were read and compiled, with everything that is to be said about them.
#[derive(Default)]
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
    /// Policies of a live cluster, as they are in service there. One of the texts takes the place of its namesake.
    pub in_service: Vec<Arc<CompiledPolicy>>,
    /// The size of the cluster that they are compiled for.
    pub size: Size,
}

impl Policies {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Reads `*.bay` files, YAML or JSON files with ConfigMaps, folders of both.
    pub fn read(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        for path in paths {
            let mut files = Vec::new();
            policy_files(path, &mut files)?;
            let before = self.texts.len() + self.diagnostics.len();
            for file in &files {
                self.read_file(file)?;
            }
            if self.texts.len() + self.diagnostics.len() == before {
                let path = path.display();
                anyhow::bail!(
                    "no policies in {path}: expected *.bay files, or ConfigMaps in *.yaml or *.json"
                );
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path) -> anyhow::Result<()> {
        let id = self.add(file)?;
        if self.diagnostics.iter().any(|said| said.span.source == id) {
            return Ok(());
        }
        if file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json") {
            self.config_maps(id);
        } else {
            self.texts.push(id);
        }
        Ok(())
    }

    /// Adds the text of a file; bytes that are no UTF-8 are a diagnostic.
    pub fn add(&mut self, file: &Path) -> anyhow::Result<SourceId> {
        let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
        if let Some(known) = self.sources.iter().find(|source| source.name() == name) {
            return Ok(known.id());
        }
        let (id, problem) = self.sources.add_bytes(name, bytes(file)?);
        self.files += 1;
        self.diagnostics.extend(problem);
        Ok(id)
    }

    /// Adds the texts of files, without those that are no texts: these are diagnostics.
    pub fn add_all(&mut self, files: &[PathBuf]) -> anyhow::Result<Vec<SourceId>> {
        let mut ids = Vec::new();
        for file in files {
            let id = self.add(file)?;
            if !ids.contains(&id) && !self.diagnostics.iter().any(|said| said.span.source == id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Takes the policies of the ConfigMaps in a file, labelled or not.
    fn config_maps(&mut self, file: SourceId) {
        let (found, diagnostics) = policy_files::policies_in(&mut self.sources, file);
        self.texts.extend(found.iter().map(|found| found.source));
        self.diagnostics.extend(diagnostics);
    }

    /// Compiles all texts; a name that is given twice is a mistake, wherever the two policies are.
    pub fn compile(&mut self) {
        let mut in_service = std::mem::take(&mut self.in_service);
        let mut compiled = Vec::new();
        let mut named = FxHashMap::default();
        self.texts.dedup();
        for id in &self.texts {
            let Some(source) = self.sources.get(*id) else { continue };
            let (policies, diagnostics) = crate::lang::compile_for(source, self.size, &|_| Vec::new());
            self.diagnostics.extend(diagnostics);
            for policy in policies {
                if let Some(first) = named.insert(policy.name.to_string(), policy.name_span) {
                    let message = format!("a second policy is called `{}`", policy.name);
                    self.diagnostics.push(
                        Diagnostic::new(&codes::POLICY_NAME_CLASH, policy.name_span, message)
                            .with_place(first, "the first one")
                            .with_help("a policy is a plugin of its own name: rename one of them"),
                    );
                    continue;
                }
                in_service.retain(|known| *known.name() != *policy.name);
                compiled.push(Arc::new(CompiledPolicy::new(policy, &self.sources)));
            }
        }
        self.set = PolicySet::new(in_service.into_iter().chain(compiled));
    }
}

/// Reads and compiles the policies at `paths` for a cluster of a size.
pub fn policies(paths: &[PathBuf], size: Size) -> anyhow::Result<Policies> {
    let mut read = Policies { size, ..Policies::default() };
    read.read(paths)?;
    read.compile();
    Ok(read)
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
    !is_hidden(path)
        && (name.ends_with(policy_files::ENDING) || yaml && !is_test_file(path) && mentions_policies(path))
}

/// Whether a YAML file in a folder may hold a ConfigMap with policies; the others are none of our business.
fn mentions_policies(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| {
        let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        holds(policy_files::LABEL.as_bytes())
            || (holds(b"ConfigMap") && holds(policy_files::ENDING.as_bytes()))
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
    let entries =
        std::fs::read_dir(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.with_context(|| format!("cannot read the folder {}", path.display()))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The bytes of a file; `-` is stdin.
fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read stdin")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
