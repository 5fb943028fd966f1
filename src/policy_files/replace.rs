//! Replaces policy texts in the ConfigMaps of a YAML or JSON file, for `bayplan convert` and for [`inserted`], which
//! `bayplan explain --fix` calls.
//!
//! [`inserted`]: super::inserted

use super::KIND;
use bayplan_yaml::{self as yaml, Tree, TreeEntry, TreeValue};

/// A new text for a key of a ConfigMap.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// `namespace/name` of the ConfigMap.
    pub object: String,
    /// The key that it has.
    pub old_key: String,
    /// Its new key.
    pub key: String,
    /// The new text.
    pub text: String,
}

/// The file with new texts in its ConfigMaps. `None` if it has no such ConfigMap or key.
pub fn replaced(file: &str, replacements: &[Replacement]) -> Option<String> {
    let (trees, _) = yaml::documents(file);
    let mut edits = Vec::new();
    for new in replacements {
        let entry = trees.iter().find_map(|tree| find(tree, new))?;
        let (end, text) = written(file, entry, new)?;
        edits.push((entry.key_at.start, end, text));
    }
    edits.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
    let mut text = file.to_owned();
    for (start, end, new) in edits {
        text.get(start..end)?;
        text.replace_range(start..end, &new);
    }
    Some(text)
}

/// Whether every document of a file is a policy.
pub fn holds_only_policies(file: &str) -> bool {
    let (trees, errors) = yaml::documents(file);
    errors.is_empty() && trees.iter().all(|tree| tree.get("kind").and_then(Tree::as_str) == Some(KIND))
}

fn find<'t>(tree: &'t Tree, new: &Replacement) -> Option<&'t TreeEntry> {
    if let Some(TreeValue::List(items)) = tree.get("items").map(|items| &items.value) {
        return items.iter().find_map(|item| find(item, new));
    }
    let metadata = tree.get("metadata")?;
    let namespace = metadata.get("namespace").and_then(Tree::as_str).unwrap_or("default");
    let name = metadata.get("name").and_then(Tree::as_str).unwrap_or("");
    let TreeValue::Map(entries) = &tree.get("data")?.value else { return None };
    let ours = tree.get("kind").and_then(Tree::as_str) == Some("ConfigMap")
        && new.object == format!("{namespace}/{name}");
    entries.iter().find(|entry| ours && entry.key == new.old_key)
}

/// The byte after a scalar, without the white space that ends a block.
fn end(file: &str, value: &Tree) -> Option<usize> {
    let inside = file.get(value.at.start..value.at.end)?;
    Some(value.at.start + inside.trim_end().len())
}

/// The byte after the entry, and the entry as it is written: a block below a key of a block, else a text of JSON. A
/// comment after the key or the value stays.
fn written(file: &str, entry: &TreeEntry, new: &Replacement) -> Option<(usize, String)> {
    let end = end(file, &entry.value)?;
    let line = file.get(..entry.key_at.start)?.rfind('\n').map_or(0, |end| end + 1);
    let indent = file.get(line..entry.key_at.start)?;
    if !indent.trim().is_empty() || file.trim_start().starts_with(['{', '[']) {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        return Some((end, format!("{}: {}", json(&new.key), json(&new.text))));
    }
    let head = file.get(entry.key_at.end..entry.value.at.start)?;
    let behind = file.get(end..)?.split('\n').next()?.trim_end_matches('\r');
    let (end, comment) = match (head.split_once('\n'), behind.trim_start().starts_with('#')) {
        (Some((head, _)), _) => (end, head.find(" #").and_then(|at| head.get(at..)).unwrap_or("").trim_end()),
        (None, true) => (end + behind.len(), behind),
        (None, false) => (end, ""),
    };
    // A block takes its indentation from its first line.
    let first = new.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let digit = if first.starts_with(' ') { "2" } else { "" };
    let line_end = line_end(file);
    let mut text = format!("{}: |{digit}{comment}", new.key);
    for line in new.text.trim_end().lines() {
        let blanks = if line.is_empty() { "" } else { "  " };
        let indent = if line.is_empty() { "" } else { indent };
        text.push_str(&format!("{line_end}{indent}{blanks}{line}"));
    }
    Some((end, text))
}

/// How the lines of a text end: as its first one.
pub(super) fn line_end(text: &str) -> &'static str {
    let first = text.find('\n').and_then(|end| text.get(..end)).unwrap_or("");
    if first.ends_with('\r') { "\r\n" } else { "\n" }
}
