//! Reads the input of every command: policy files and folders, ConfigMaps with policies, cluster files.
//! A file that cannot be read, and everything that is wrong inside of a file, is a diagnostic.

use super::progress::Steps;
use crate::diag::{Diagnostic, Source, SourceId, SourceMap, Span, codes, suggest};
use crate::framework::Features;
use crate::lang::analysis::claims::{Claimed, Clash};
use crate::lang::analysis::cost::Size;
use crate::lang::analysis::load::Load;
use crate::lang::exceptions::{Outside, OutsideException};
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::schemas::Schemas;
use crate::lang::typed::Policy;
use crate::lang::types::ObjectKind;
use crate::lang::uses::{self, Wanted};
use crate::lang::{self, Given};
use crate::policy_files;
use crate::yaml;
use anyhow::Context;
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Policies that were read and compiled, with their diagnostics.
#[derive(Default)]
pub(super) struct Policies {
    /// All texts.
    pub sources: SourceMap,
    /// The policies without errors.
    pub set: PolicySet,
    /// The diagnostics, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// How many files were read.
    pub files: usize,
    /// The texts that hold policies, in the order they were read.
    pub texts: Vec<SourceId>,
    /// Policies that are in service in a live cluster. A policy of the same name in a text replaces one.
    pub in_service: Vec<Arc<CompiledPolicy>>,
    /// The cluster size to compile for.
    pub size: Size,
    /// The kinds that policies may look up beside those of Kubernetes.
    pub schemas: Schemas,
    /// Texts of a live cluster that may have exceptions from policies.
    pub elsewhere: Vec<SourceId>,
    /// The exceptions outside of policies, of all texts.
    pub exceptions: Arc<Outside>,
    /// As which version of Kubernetes plugins decide beside the policies.
    pub decides: Features,
    /// Patterns of files and folders to leave out.
    pub exclude: Vec<Glob>,
    /// Counts the files and texts.
    pub steps: Steps,
}

impl Policies {
    /// Whether any diagnostic is an error.
    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Reads `*.bay` files, YAML or JSON files with policy documents or ConfigMaps, folders of them. What cannot be read is a
    /// diagnostic; an error only when nothing at a path holds policies.
    pub(super) fn read(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        for path in paths {
            let mut walk = Walk::new(path, &self.exclude);
            walk.visit(path);
            let Walk { files, unreadable, .. } = walk;
            let before = self.texts.len() + self.diagnostics.len();
            for (folder, why) in unreadable {
                self.unreadable(&folder, &why);
            }
            self.steps.stage("reading files", files.len());
            for file in &files {
                self.steps.step();
                self.read_file(file, file == path);
            }
            if self.texts.len() + self.diagnostics.len() == before {
                let path = path.display();
                anyhow::bail!(
                    "no policies in {path}: expected *.bay files, or SchedulingPolicy documents or ConfigMaps in \
                     *.yaml or *.json"
                );
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, named: bool) {
        let id = match regular(file, named).and_then(|()| self.add(file)) {
            Ok(id) => id,
            Err(error) => return self.unreadable(file, &format!("{error:#}")),
        };
        if self.diagnostics.iter().any(|said| said.span.source == id) {
            return;
        }
        // Where the name says nothing, the content decides.
        let by_content = || self.sources.get(id).is_some_and(|source| policy_files::is_data(source.text()));
        let named = file.extension().is_some_and(|ending| ending == "bay");
        if is_data(file) || !named && by_content() {
            self.yaml_file(id);
        } else {
            self.texts.push(id);
        }
    }

    /// Reports a file or a folder that cannot be read.
    fn unreadable(&mut self, path: &Path, why: &str) {
        let id = self.sources.add(path.display().to_string(), "");
        let span = Span::new(id, 0, 0);
        self.diagnostics.push(Diagnostic::new(&codes::UNREADABLE, span, why));
    }

    /// Whether a file or a folder could not be read, so that the diagnostics are not complete.
    pub(super) fn is_incomplete(&self) -> bool {
        self.diagnostics.iter().any(|said| said.code == &codes::UNREADABLE)
    }

    /// Adds the text of a file; bytes that are not UTF-8 are a diagnostic.
    pub(super) fn add(&mut self, file: &Path) -> anyhow::Result<SourceId> {
        let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
        if let Some(known) = self.sources.iter().find(|source| source.name() == name) {
            return Ok(known.id());
        }
        let (id, problem) = self.sources.add_bytes(name, bytes(file)?);
        self.files += 1;
        self.diagnostics.extend(problem);
        Ok(id)
    }

    /// Adds the texts of files. A file that is not UTF-8 becomes a diagnostic.
    pub(super) fn add_all(&mut self, files: &[PathBuf]) -> anyhow::Result<Vec<SourceId>> {
        let mut ids = Vec::new();
        for file in files {
            let id = self.add(file)?;
            if !ids.contains(&id) && !self.diagnostics.iter().any(|said| said.span.source == id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Adds the policies of a YAML file: its documents, and those of its ConfigMaps with or without our label.
    fn yaml_file(&mut self, file: SourceId) {
        let (found, diagnostics) = policy_files::policies_in(&mut self.sources, file);
        self.texts.extend(found.iter().map(|found| found.source));
        self.diagnostics.extend(diagnostics);
    }

    /// The policies of a text, with default arguments.
    pub(super) fn compiled(&self, source: &Source) -> (Vec<Policy>, Vec<Diagnostic>) {
        lang::compile_given(source, self.given())
    }

    /// What a text of them is compiled for.
    pub(super) fn given(&self) -> Given<'_> {
        Given {
            size: self.size,
            schemas: &self.schemas,
            arguments: &|_| Vec::new(),
            sources: Some(&self.sources),
            exceptions: Some(&self.exceptions),
        }
    }

    /// The kinds that the policies look up, each once.
    pub(super) fn kinds(&self) -> Vec<Arc<ObjectKind>> {
        let mut kinds: Vec<Arc<ObjectKind>> = Vec::new();
        for kind in self.set.iter().flat_map(|compiled| &compiled.policy.kinds) {
            if !kinds.iter().any(|known| known.name == kind.name) {
                kinds.push(kind.clone());
            }
        }
        kinds
    }

    /// Whether a policy reads what nodes use.
    pub(super) fn read_metrics(&self) -> bool {
        self.set.iter().any(|compiled| !compiled.policy.sources.is_empty())
    }

    /// Reads files, and folders of files, of CustomResourceDefinitions; what cannot be read is a diagnostic.
    pub(super) fn read_schemas(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        let mut files = Vec::new();
        for path in paths {
            match path.is_dir() {
                true => files.extend(folder(path)?.into_iter().filter(|path| is_data(path))),
                false => files.push(path.clone()),
            }
        }
        for id in self.add_all(&files)? {
            let Some(source) = self.sources.get(id) else { continue };
            let (name, text) = (source.name().to_owned(), source.shared_text());
            let said = |message: String| Diagnostic::new(&codes::BAD_OBJECT, Span::new(id, 0, 0), message);
            let objects = match yaml::values(&text, name.ends_with(".json")) {
                Ok(objects) => objects,
                Err(error) => {
                    self.diagnostics.push(error.diagnostic(id));
                    continue;
                }
            };
            let items =
                |object: serde_json::Value| match object.get("items").and_then(|items| items.as_array()) {
                    Some(items) => items.clone(),
                    None => vec![object],
                };
            let objects = objects.into_iter().flat_map(items);
            let definitions: Vec<_> = objects.filter(Schemas::is_definition).collect();
            if definitions.is_empty() {
                let help = "save one with `kubectl get crd NAME -o yaml`";
                self.diagnostics
                    .push(said("the file has no CustomResourceDefinition".into()).with_help(help));
            }
            for definition in definitions {
                if let Err(why) = self.schemas.add_definition(&definition) {
                    self.diagnostics
                        .push(said(format!("the CustomResourceDefinition cannot be used: {why}")));
                }
            }
        }
        Ok(())
    }

    /// Reads the files that texts use. Those that are not there are missing, which the compiler says.
    fn read_used(&mut self) {
        let read = self.files;
        let mut open = self.texts.clone();
        while let Some(id) = open.pop() {
            for wanted in self.sources.get(id).map(uses::wanted).unwrap_or_default() {
                let Wanted::File(path) = &wanted else { continue };
                let path = Path::new(path);
                if uses::found(&self.sources, &wanted).is_some() || !path.exists() {
                    continue;
                }
                match regular(path, false).and_then(|()| self.add(path)) {
                    Ok(id) => open.push(id),
                    Err(error) => self.unreadable(path, &format!("{error:#}")),
                }
            }
        }
        self.files = read;
    }

    /// Compiles all texts. Two policies of the same name are an error, also in different files.
    pub(super) fn compile(&mut self) {
        self.texts.dedup();
        self.read_used();
        self.find_exceptions();
        let mut in_service = std::mem::take(&mut self.in_service);
        let mut compiled = Vec::new();
        let mut named = FxHashMap::default();
        let mut claimed = Claimed::default();
        let mut load = Load::default();
        self.steps.stage("checking policies", self.texts.len());
        for id in &self.texts {
            self.steps.step();
            let Some(source) = self.sources.get(*id) else { continue };
            let (policies, diagnostics) = self.compiled(source);
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
                // Those of one text are reported where it is compiled.
                let clashes = claimed.clashes(&policy);
                self.diagnostics
                    .extend(clashes.into_iter().filter(|of| !of.is_within_one_text()).map(Clash::diagnostic));
                let with = load.plus(Load::of(&policy, self.size));
                match with.beyond(Load::MOST) {
                    None => load = with,
                    Some(beyond) => {
                        let message = format!("with `{}` all policies together have {beyond}", policy.name);
                        let said = Diagnostic::new(&codes::TOO_COSTLY, policy.name_span, message);
                        let said = match with.heaviest(&policy, self.size, Load::MOST) {
                            Some(rule) => said.with_place(rule.span(), "of this policy this costs most"),
                            None => said,
                        };
                        self.diagnostics.push(said.with_help(
                            "remove or simplify policies; `run` refuses the newest object beyond the limit",
                        ));
                        continue;
                    }
                }
                in_service.retain(|known| *known.name() != *policy.name);
                compiled.push(Arc::new(CompiledPolicy::new(policy, &self.sources)));
            }
        }
        self.set = PolicySet::new(in_service.into_iter().chain(compiled));
        self.exceptions_of_nothing();
    }

    /// Finds the exceptions outside of policies.
    pub(super) fn find_exceptions(&mut self) {
        let texts = self.texts.iter().chain(&self.elsewhere).filter_map(|id| self.sources.get(*id));
        self.exceptions = Arc::new(Outside::of(texts));
    }

    /// Reports exceptions from policies that are not there, unless some have mistakes and are missing for that.
    fn exceptions_of_nothing(&mut self) {
        if self.has_errors() {
            return;
        }
        let suggestions = suggest::Effort::default();
        let own = |of: &&OutsideException| !self.elsewhere.contains(&of.source());
        for of in self.exceptions.iter().filter(own).filter(|of| self.set.get(&of.policy).is_none()) {
            let message = format!("no policy is called `{}`", of.policy);
            let names = self.set.iter().map(|policy| policy.name());
            let help = match suggestions.nearest(&of.policy, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "read the text of the policy too, or name the policy as its text does".to_owned(),
            };
            let said = Diagnostic::new(&codes::EXCEPTION_WITHOUT_EFFECT, of.target, message);
            if !of.allows(&said) {
                self.diagnostics.push(said.with_help(help));
            }
        }
    }
}

/// Reads and compiles the policies at `paths` for a cluster of a size, with files of CustomResourceDefinitions.
pub(super) fn policies(paths: &[PathBuf], schemas: &[PathBuf], size: Size) -> anyhow::Result<Policies> {
    let mut read = Policies { size, ..Policies::default() };
    read.read_schemas(schemas)?;
    read.read(paths)?;
    read.compile();
    Ok(read)
}

/// Looks for policy files at a path: the path itself, or what a folder holds, in the order of the names.
/// A folder that is reached twice, as through a link to a folder above it, is read once.
struct Walk<'a> {
    root: &'a Path,
    exclude: &'a [Glob],
    seen: FxHashSet<PathBuf>,
    files: Vec<PathBuf>,
    unreadable: Vec<(PathBuf, String)>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path, exclude: &'a [Glob]) -> Self {
        Walk { root, exclude, seen: FxHashSet::default(), files: Vec::new(), unreadable: Vec::new() }
    }

    fn visit(&mut self, path: &Path) {
        if !path.is_dir() {
            self.files.push(path.to_owned());
            return;
        }
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let entries = match folder(path) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable.push((path.to_owned(), format!("{error:#}"))),
        };
        for entry in entries {
            let relative = entry.strip_prefix(self.root).unwrap_or(&entry);
            if is_hidden(&entry) || self.exclude.iter().any(|glob| glob.takes(relative)) {
                continue;
            }
            if entry.is_dir() {
                self.visit(&entry);
            } else if is_policy_file(&entry) {
                // `p.bay` reads better than `./p.bay`.
                self.files.push(entry.strip_prefix(".").map(Path::to_owned).unwrap_or(entry));
            }
        }
    }
}

/// A pattern of paths: `*` stands for any letters of a name, `**` for any folders, `?` for one letter. A
/// pattern without `/` is compared with the name of the file or folder, wherever it is.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    pattern: regex::Regex,
    whole_path: bool,
}

impl std::str::FromStr for Glob {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim_end_matches('/');
        let escaped = regex::escape(text.strip_prefix("./").unwrap_or(text));
        let pattern = escaped
            .replace("\\*\\*/", "(?:.*/)?")
            .replace("\\*\\*", ".*")
            .replace("\\*", "[^/]*")
            .replace("\\?", "[^/]");
        let whole_path = text.trim_start_matches("./").contains('/');
        Ok(Glob { pattern: regex::Regex::new(&format!("^(?:{pattern})$"))?, whole_path })
    }
}

impl Glob {
    fn takes(&self, path: &Path) -> bool {
        let name = if self.whole_path { path.as_os_str() } else { path.file_name().unwrap_or_default() };
        self.pattern.is_match(&name.to_string_lossy())
    }
}

/// Refuses what would make us wait or read without end: pipes, devices and sockets that a folder holds,
/// devices and sockets even when they are named. A missing file is left to the reader.
fn regular(path: &Path, named: bool) -> anyhow::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(kind) = std::fs::metadata(path).map(|found| found.file_type()) else { return Ok(()) };
    let pipe = kind.is_fifo();
    if path == Path::new("-") || kind.is_file() || kind.is_dir() || pipe && named {
        return Ok(());
    }
    anyhow::bail!("cannot read {}: not a regular file", path.display())
}

fn is_policy_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    !is_hidden(path)
        && (name.ends_with(policy_files::ENDING) || yaml && !is_test_file(path) && mentions_policies(path))
}

/// Whether a YAML file in a folder may hold policies, in documents or in ConfigMaps; other YAML files are not ours.
fn mentions_policies(path: &Path) -> bool {
    path.is_file()
        && std::fs::read(path).is_ok_and(|bytes| {
            let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
            holds(policy_files::LABEL.as_bytes())
                || policy_files::mentions_documents(&bytes)
                || (holds(b"ConfigMap") && holds(policy_files::ENDING.as_bytes()))
        })
}

/// Whether the path is a file of policy tests.
pub(super) fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".test.yaml") || name.ends_with(".test.yml")
}

/// The files of policy tests at a path.
pub(super) fn test_files(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    test_files_once(path, files, &mut FxHashSet::default())
}

/// Visits each real folder once.
fn test_files_once(
    path: &Path,
    files: &mut Vec<PathBuf>,
    seen: &mut FxHashSet<PathBuf>,
) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if !seen.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())) {
        return Ok(());
    }
    for entry in folder(path)? {
        if is_hidden(&entry) {
            continue;
        }
        if entry.is_dir() {
            test_files_once(&entry, files, seen)?;
        } else if is_test_file(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

fn is_data(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
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

/// Whether a path is a stream: stdin, or a pipe of the shell such as `<(…)`. It can be read once, and not be written.
pub(super) fn is_stream(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let pipe = || std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    path == Path::new("-") || path.starts_with("/dev") || path.starts_with("/proc") || pipe()
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
