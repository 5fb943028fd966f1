//! Policies that are written as YAML or JSON: documents of `kind: SchedulingPolicy`, with expressions of CEL.
//!
//! Called by `syntax::parse` for texts of that form. The result is the tree that the policy language gives, with
//! places in the document, so that everything after the parser is shared. A text may have several documents;
//! those of other kinds are not looked at. `language::documents` is the table of the fields.
//!
//! - `shape.rs` compares a document with the table
//! - `read.rs`, `blocks.rs`, `values.rs`, `types.rs` make statements, blocks and their parts
//! - `names.rs` resolves `params.x`, `variables.x`, `groups.x`, `ledgers.x` and `sources.x`
//! - `node_variables.rs` moves variables that read `node` into the blocks that use them
//! - `scalars.rs`, `place.rs`, `remap.rs` keep places
//! - `comments.rs` finds the comments of YAML

mod blocks;
mod comments;
mod edit;
mod names;
mod node_variables;
mod place;
mod read;
mod remap;
mod scalars;
mod shape;
mod stand_in;
mod types;
mod values;

pub use edit::with_exception;
pub use scalars::Scalar;
pub(crate) use scalars::settle_fixes;
pub use stand_in::{Kept, stand_in};

use crate::language::documents::{API_VERSION, DOCUMENT, KIND, SPEC};
use crate::syntax::ast::File;
use bayplan_diag::suggest::{Effort, nearest};
use bayplan_diag::{Diagnostic, Source, Span, codes};
use bayplan_yaml::{self as yaml, At, Tree, TreeEntry, TreeValue};
use place::Places;
use read::Reader;
use rustc_hash::FxHashMap;

/// Reads the policies of a text. The tree has every statement that could be read.
pub(super) fn parse(source: &Source) -> (File, Vec<Diagnostic>) {
    let text = source.text();
    let mut file = File { source: source.id(), ..File::default() };
    if let Some(diagnostic) = super::too_long(source) {
        return (file, vec![diagnostic]);
    }
    let (trees, errors, tags) = yaml::documents_of_expressions(text);
    let mut said: Vec<Diagnostic> = errors.iter().map(|error| error.diagnostic(source.id())).collect();
    let places = Places { source };
    let mut found = Vec::new();
    trees.iter().for_each(|tree| documents(tree, &mut found));
    for tree in &found {
        let mut mistakes = Vec::new();
        let mut checker = shape::Checker {
            places,
            said: &mut mistakes,
            renamed: Vec::new(),
            suggestions: Effort::default(),
        };
        checker.object(tree, &DOCUMENT);
        let renamed = std::mem::take(&mut checker.renamed);
        let mut reader = Reader::new(places, !mistakes.is_empty());
        let item = if renamed.is_empty() {
            reader.document(tree)
        } else {
            // What is below a misspelt key has mistakes of its own.
            let mut tree = (*tree).clone();
            rename(&mut tree, &renamed.into_iter().collect());
            reader.document(&tree)
        };
        file.items.push(item);
        file.scalars.append(&mut reader.scalars);
        said.append(&mut mistakes);
        said.append(&mut reader.said);
    }
    let ours: Vec<Span> = found.iter().map(|tree| places.whole(tree)).collect();
    let is_ours = |at: &&At| ours.iter().any(|span| span.range().contains(&at.start));
    said.extend(tags.iter().filter(is_ours).map(|at| yaml::tag(source.id(), text, *at)));
    if found.is_empty() {
        said.extend(nothing(source, errors.is_empty()));
    }
    if let Some(first) = said.first_mut()
        && found.is_empty()
        && is_language(text)
    {
        first.help = Some("this is the policy language: its files and keys end in `.bay`".to_owned());
    }
    comments::comments(source, &trees, &found, &mut file, &mut said);
    said.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    said.dedup();
    super::limit(&mut said);
    (file, said)
}

/// The documents of policies in a document, which may be a list of objects.
fn documents<'t>(tree: &'t Tree, found: &mut Vec<&'t Tree>) {
    if let Some(TreeValue::List(items)) = tree.get("items").map(|items| &items.value) {
        items.iter().for_each(|item| documents(item, found));
    } else if is_ours(tree) {
        found.push(tree);
    }
}

/// Gives keys at these places other names.
fn rename(tree: &mut Tree, renamed: &FxHashMap<At, &'static str>) {
    match &mut tree.value {
        TreeValue::List(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        TreeValue::Map(entries) => {
            for entry in entries {
                if let Some(name) = renamed.get(&entry.key_at) {
                    entry.key = (*name).to_owned();
                }
                rename(&mut entry.value, renamed);
            }
        }
        _ => {}
    }
}

/// Whether a document is a policy, or is meant to be one.
fn is_ours(tree: &Tree) -> bool {
    let kind = tree.get("kind").and_then(Tree::as_str);
    let version = tree.get("apiVersion").and_then(Tree::as_str);
    let group = API_VERSION.split('/').next().unwrap_or(API_VERSION);
    if let Some(kind) = kind {
        // What our commands print has our version too, and neither `spec` nor `metadata`.
        let is_object = tree.get("spec").is_some() || tree.get("metadata").is_some();
        let own = version.is_some_and(|version| version.split('/').next() == Some(group));
        // A kind of another group may have nearly the name of ours.
        let foreign = version.is_some_and(|version| !own && nearest(version, [API_VERSION]).is_none());
        return kind == KIND || is_object && own || nearest(kind, [KIND]).is_some() && !foreign;
    }
    let ours = version.is_some_and(|version| {
        version.split('/').next() == Some(group) || nearest(version, [API_VERSION]).is_some()
    });
    // Without a kind and a version: by what only policies have.
    let known = |entry: &TreeEntry| SPEC.field(&entry.key).is_some_and(|field| field.statement.is_some());
    let spec = tree.get("spec").map(|spec| &spec.value);
    ours || matches!(spec, Some(TreeValue::Map(entries)) if entries.iter().any(known))
}

/// A text without a policy; files of other kinds are not read as policies.
fn nothing(source: &Source, is_yaml: bool) -> Option<Diagnostic> {
    let help = format!("write `apiVersion: {API_VERSION}`, `kind: {KIND}`, `metadata.name` and `spec`");
    let message = format!("the text has no document of `kind: {KIND}`");
    is_yaml.then(|| Diagnostic::new(&codes::BAD_DOCUMENT, source.span().at_start(), message).with_help(help))
}

/// Whether a text looks like the policy language.
fn is_language(text: &str) -> bool {
    let first = text.lines().map(str::trim_start).find(|line| !line.is_empty()).unwrap_or("");
    first.starts_with("//") || first.starts_with("policy ") || first.starts_with("def ")
}

/// Whether a text looks like a document of policies.
pub(super) fn is_document(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.find(|line| *line != "---").unwrap_or("");
    let json = first.starts_with('{') && text.contains("\"apiVersion\"");
    json || first.starts_with("apiVersion:") || first.starts_with("kind:")
}
