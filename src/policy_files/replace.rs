//! Replaces policy texts in the ConfigMaps of a YAML or JSON file, for `bayplan convert`.

use super::KIND;
use crate::yaml::{self, Tree, TreeEntry, TreeValue};

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
        edits.push((entry.key_at.start, end(file, &entry.value)?, written(file, entry, new)));
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

/// The byte behind a scalar, without the white space that ends a block.
fn end(file: &str, value: &Tree) -> Option<usize> {
    let inside = file.get(value.at.start..value.at.end)?;
    Some(value.at.start + inside.trim_end().len())
}

/// The entry as it is written: a block below a key of a block, else a text of JSON.
fn written(file: &str, entry: &TreeEntry, new: &Replacement) -> String {
    let line = file.get(..entry.key_at.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let indent = file.get(line..entry.key_at.start).unwrap_or("");
    if !indent.trim().is_empty() || file.trim_start().starts_with(['{', '[']) {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        return format!("{}: {}", json(&new.key), json(&new.text));
    }
    let lines: Vec<String> = new
        .text
        .trim_end()
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("{indent}  {line}") })
        .collect();
    format!("{}: |\n{}", new.key, lines.join("\n"))
}
