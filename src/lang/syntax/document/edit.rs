//! Adds an exception to the text of a document, for suggestions that except a pod from a policy.

use super::place::Places;
use bayplan_diag::Source;
use bayplan_yaml::{self as yaml, Tree, TreeValue};

/// The text with a further item in `exceptions` of a policy, and the byte of the old text where it was put. The item is
/// JSON. `None` if the text has no such policy.
pub fn with_exception(source: &Source, policy: &str, item: &str) -> Option<(String, usize)> {
    let text = source.text();
    let (trees, _) = yaml::limited_documents(text);
    let mut found = Vec::new();
    trees.iter().for_each(|tree| super::documents(tree, &mut found));
    let named = |tree: &&&Tree| {
        let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
        name.and_then(Tree::as_str) == Some(policy)
    };
    let spec = found.iter().find(named)?.get("spec")?;
    let TreeValue::Map(entries) = &spec.value else { return None };
    let put = |at: usize, added: String| {
        let (before, after) = (text.get(..at)?, text.get(at..)?);
        Some((format!("{before}{added}{after}"), at))
    };
    // What precedes a place in its line.
    let indent = |at: usize| {
        let before = text.get(..at)?;
        before.get(before.rfind('\n').map_or(0, |end| end + 1)..)
    };
    let Some(entry) = entries.iter().find(|entry| entry.key == "exceptions") else {
        let first = entries.first()?.key_at.start;
        let indent = indent(first)?;
        let in_braces = text.get(spec.at.start..)?.starts_with('{');
        let separator = match (in_braces, indent.trim().is_empty()) {
            (true, true) => format!(",\n{indent}"),
            (true, false) => ", ".to_owned(),
            (false, _) => format!("\n{indent}"),
        };
        let key = if text.get(first..)?.starts_with('"') { "\"exceptions\"" } else { "exceptions" };
        return put(first, format!("{key}: [{item}]{separator}"));
    };
    let TreeValue::List(items) = &entry.value.value else { return None };
    let start = Places { source }.whole(&entry.value).range().start;
    if text.get(start..)?.starts_with('[') {
        let separator = if items.is_empty() { "" } else { ", " };
        return put(start + 1, format!("{item}{separator}"));
    }
    // `indent` ends with the dash of the first item.
    let first = items.first()?.at.start;
    let indent = indent(first)?.trim_end().strip_suffix('-').filter(|indent| indent.trim().is_empty())?;
    let dash = text.get(..first)?.rfind('-')?;
    put(dash, format!("- {item}\n{indent}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use bayplan_diag::SourceMap;

    #[test]
    fn an_exception_is_added_in_every_style() {
        let head = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: a}\n";
        for (spec, wanted) in [
            ("spec:\n  prefer: []\n", "spec:\n  exceptions: [{\"a\": 1}]\n  prefer: []\n"),
            ("spec: {prefer: []}\n", "spec: {exceptions: [{\"a\": 1}], prefer: []}\n"),
            ("spec: {\n  \"prefer\": []}\n", "spec: {\n  \"exceptions\": [{\"a\": 1}],\n  \"prefer\": []}\n"),
            ("spec:\n  exceptions: []\n", "spec:\n  exceptions: [{\"a\": 1}]\n"),
            ("spec: {exceptions: [{b: 2}]}\n", "spec: {exceptions: [{\"a\": 1}, {b: 2}]}\n"),
            (
                "spec:\n  exceptions:\n  # why\n  - b: 2\n    c: 3\n  prefer: []\n",
                "spec:\n  exceptions:\n  # why\n  - {\"a\": 1}\n  - b: 2\n    c: 3\n  prefer: []\n",
            ),
            (
                "spec:\n  prefer: []\n  exceptions:\n    - b: 2\n    - b: 3\n",
                "spec:\n  prefer: []\n  exceptions:\n    - {\"a\": 1}\n    - b: 2\n    - b: 3\n",
            ),
        ] {
            let mut sources = SourceMap::new();
            let id = sources.add("a.yaml", format!("{head}{spec}"));
            let (text, at) = with_exception(sources.get(id).unwrap(), "a", "{\"a\": 1}").expect(spec);
            assert_eq!(text, format!("{head}{wanted}"));
            assert!(at > head.len());
        }
    }
}
