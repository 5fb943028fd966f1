//! `use "file.bay"`: the types and defs of other files, and where those files are.
//!
//! The caller reads files: [`wanted`] names those of a text, and [`load`] finds them among its sources. A file is used
//! whole or not at all, and once, on whatever ways it is reached. A mistake in it is reported at the `use` of the
//! text that is compiled, with the place in the file beside it; the file has its own findings when it is compiled itself.

use super::syntax;
use super::syntax::ast::{self, ItemKind, StringLiteral};
use bayplan_diag::{Diagnostic, Origin, Source, SourceId, SourceMap, Span, codes};
use std::collections::BTreeSet;

/// Files that a text may use, directly and through others.
const MOST_FILES: usize = 64;

/// The ending of files with types and defs.
const ENDING: &str = ".bay";

/// A file that is used.
#[derive(Debug)]
pub struct UsedFile<'s> {
    /// Its tree.
    pub file: ast::File,
    /// Its source.
    pub source: &'s Source,
    /// The `use` of the text that is compiled, by which it came.
    pub span: Span,
}

/// Where a file that is used is looked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// A file, relative to the one that uses it.
    File(String),
    /// Another key of the ConfigMap `namespace/name`.
    Key(String, String),
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(name) => write!(f, "`{name}`"),
            Self::Key(object, key) => write!(f, "the key `{key}` of the ConfigMap `{object}`"),
        }
    }
}

/// Where the files are that a text uses itself, in the order of the text. Paths that cannot be used are left out.
pub fn wanted(source: &Source) -> Vec<Wanted> {
    // Most texts use none, and are not parsed twice.
    if !source.text().contains("use") || !source.text().contains(ENDING) {
        return Vec::new();
    }
    let (file, _) = syntax::parse(source);
    uses(&file).filter_map(|path| place(source, &path.text).ok()).collect()
}

/// The source that a text wants.
pub fn found<'s>(sources: &'s SourceMap, wanted: &Wanted) -> Option<&'s Source> {
    sources.iter().find(|source| match (wanted, source.origin()) {
        (Wanted::File(name), None) => normal(source.name()).as_deref() == Some(name),
        (Wanted::Key(object, key), Some(Origin { object: of, key: own })) => object == of && key == own,
        _ => false,
    })
}

/// All sources that a text uses, directly and through others, as far as they are there.
pub fn reached<'s>(sources: &'s SourceMap, source: &Source) -> Vec<&'s Source> {
    let mut all: Vec<&Source> = Vec::new();
    let mut open = wanted(source);
    while let Some(next) = open.pop() {
        let Some(of) = found(sources, &next) else { continue };
        if of.id() != source.id() && !all.iter().any(|known| known.id() == of.id()) && all.len() < MOST_FILES
        {
            all.push(of);
            open.extend(wanted(of));
        }
    }
    all
}

fn uses(file: &ast::File) -> impl Iterator<Item = &StringLiteral> {
    file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Use(path) => Some(path),
        _ => None,
    })
}

/// Where a path of a text leads, or why nowhere.
fn place(from: &Source, path: &str) -> Result<Wanted, &'static str> {
    if !path.ends_with(ENDING) {
        return Err("write a file that ends in `.bay`, with types and defs");
    }
    if path.starts_with('/') {
        return Err("write the path from the folder of this file");
    }
    if let Some(origin) = from.origin() {
        let key = normal(path).filter(|key| !key.contains('/'));
        let key = key.ok_or("write another key of the same ConfigMap")?;
        return Ok(Wanted::Key(origin.object.clone(), key));
    }
    let folder = from.name().rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = match (folder, from.name().starts_with('/')) {
        ("", true) => format!("/{path}"),
        ("", false) => path.to_owned(),
        _ => format!("{folder}/{path}"),
    };
    normal(&whole).map(Wanted::File).ok_or("write the path from the folder of this file")
}

/// A path without `.` and, as far as that is known, `..`; `None`: it leads nowhere.
fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => return None,
            part => parts.push(part),
        }
    }
    let text = parts.join("/");
    Some(if path.starts_with('/') { format!("/{text}") } else { text })
}

/// The files that a text uses, each once; those that a file uses come before it. `None`: one of them cannot be used, which
/// is added to `said`.
pub fn load<'s>(
    source: &Source,
    file: &ast::File,
    sources: Option<&'s SourceMap>,
    said: &mut Vec<Diagnostic>,
) -> Option<Vec<UsedFile<'s>>> {
    let before = said.len();
    let mut load = Load { sources, files: Vec::new(), seen: BTreeSet::new(), said };
    for path in uses(file) {
        load.seen.insert(source.id());
        load.file((source, path), path.span, &mut vec![(source.id(), name_of(source))]);
    }
    let Load { files, said, .. } = load;
    (said.len() == before).then_some(files)
}

/// The name of a file in messages.
fn name_of(source: &Source) -> String {
    match source.origin() {
        Some(origin) => origin.key.clone(),
        None => source.name().to_owned(),
    }
}

struct Load<'l, 's> {
    sources: Option<&'s SourceMap>,
    files: Vec<UsedFile<'s>>,
    seen: BTreeSet<SourceId>,
    said: &'l mut Vec<Diagnostic>,
}

impl<'s> Load<'_, 's> {
    /// Loads the file of a `use`. `at` is the `use` of the text that is compiled, `open` the files on the way to this one.
    fn file(
        &mut self,
        (from, path): (&Source, &StringLiteral),
        at: Span,
        open: &mut Vec<(SourceId, String)>,
    ) {
        let wanted = match place(from, &path.text) {
            Ok(wanted) => wanted,
            Err(help) => {
                let message = format!("`{}` cannot be used", path.text);
                return self.wrong(&codes::UNKNOWN_FILE, at, path.span, message, help);
            }
        };
        let Some(source) = self.sources.and_then(|sources| found(sources, &wanted)) else {
            let message = format!("`{}` does not exist: looked for {wanted}", path.text);
            let help = match &wanted {
                Wanted::File(_) => "paths begin at the folder of the file that has the `use`",
                Wanted::Key(..) => "a text of a ConfigMap uses other keys of the same ConfigMap",
            };
            return self.wrong(&codes::UNKNOWN_FILE, at, path.span, message, help);
        };
        if let Some(first) = open.iter().position(|(id, _)| *id == source.id()) {
            let names = open.iter().skip(first).map(|(_, name)| format!("`{name}`"));
            let circle: Vec<String> = names.chain([format!("`{}`", name_of(source))]).collect();
            let message = format!("files use each other in a circle: {}", circle.join(" → "));
            let help = "move what they share into a file that uses none of them";
            return self.wrong(&codes::USE_CIRCLE, at, path.span, message, help);
        }
        if !self.seen.insert(source.id()) {
            return;
        }
        if self.files.len() >= MOST_FILES {
            let message = format!("more than {MOST_FILES} files are used");
            return self.wrong(&codes::USED_FILE, at, path.span, message, "make fewer files of them");
        }
        let (file, mistakes) = syntax::parse(source);
        let name = name_of(source);
        if let Some(first) = mistakes.iter().find(|said| said.is_error()) {
            let message = format!("`{name}` has a mistake: {}", first.message);
            let help = format!("`bayplan lint` of `{name}` says all of them");
            return self.wrong(&codes::USED_FILE, at, first.span, message, &help);
        }
        let other = file
            .items
            .iter()
            .find(|item| !matches!(item.kind, ItemKind::Use(_) | ItemKind::Type(_) | ItemKind::Def(_)));
        if let Some(other) = other {
            let message = format!("`{name}` has more than types and defs");
            let help = "move the types and defs into a file of their own, and use that one in both";
            return self.wrong(&codes::USED_FILE, at, other.span, message, help);
        }
        open.push((source.id(), name));
        for path in uses(&file) {
            self.file((source, path), at, open);
        }
        open.pop();
        self.files.push(UsedFile { file, source, span: at });
    }

    /// Reports a mistake at the `use` of the text that is compiled, with the other place beside it.
    fn wrong(
        &mut self,
        code: &'static bayplan_diag::Code,
        at: Span,
        there: Span,
        message: String,
        help: &str,
    ) {
        let said = Diagnostic::new(code, at, message).with_help(help);
        self.said.push(if there == at { said } else { said.with_place(there, "here") });
    }
}

/// Mistakes in used files are reported at the `use` by which they came, the first one of each file; other findings about
/// them belong to the files themselves.
pub(super) fn at_their_use(source: SourceId, used: &[UsedFile<'_>], said: &mut Vec<Diagnostic>) {
    if used.is_empty() {
        return;
    }
    let mut named: BTreeSet<SourceId> = BTreeSet::new();
    let all = std::mem::take(said);
    for diagnostic in all {
        let of = used.iter().find(|of| of.source.id() == diagnostic.span.source);
        match of {
            Some(of) if diagnostic.span.source != source => {
                if diagnostic.is_error() && named.insert(diagnostic.span.source) {
                    let name = name_of(of.source);
                    let message = format!("`{name}` cannot be used: {}", diagnostic.message);
                    let mut moved = Diagnostic::new(diagnostic.code, of.span, message);
                    moved =
                        moved.with_place(diagnostic.span, diagnostic.label.unwrap_or_else(|| "here".into()));
                    moved.labels.extend(diagnostic.labels);
                    moved.help = diagnostic.help;
                    said.push(moved);
                }
            }
            _ => said.push(diagnostic),
        }
    }
}
