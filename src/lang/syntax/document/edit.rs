//! Adds a condition to `appliesWhen` in the text of a document, for suggestions that leave a pod out of a policy.

use super::place::Places;
use crate::diag::Source;
use crate::yaml::{self, Tree, TreeValue};
use serde_json::Value;

/// The text with a further condition in `appliesWhen` of a policy, and the byte of the old text where it was changed.
/// `None` if the text has no such policy.
pub fn with_condition(source: &Source, policy: &str, condition: &str) -> Option<(String, usize)> {
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
    // A text of JSON is a scalar of YAML too, in every place where one may be.
    let quoted = |condition: String| Value::String(condition).to_string();
    if let Some(entry) = entries.iter().find(|entry| entry.key == "appliesWhen") {
        let old = match &entry.value.value {
            TreeValue::String(old) => old.trim().to_owned(),
            TreeValue::Bool(old) => old.to_string(),
            _ => return None,
        };
        let end = Places { source }.whole(&entry.value).end as usize;
        let start = entry.key_at.end;
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        let both = quoted(format!("({old}) && {condition}"));
        return Some((format!("{before}: {both}{after}"), entry.key_at.start));
    }
    let first = entries.first()?.key_at.start;
    let (before, after) = (text.get(..first)?, text.get(first..)?);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let indent = before.get(line..)?;
    let separator = if indent.trim().is_empty() { format!("\n{indent}") } else { ", ".to_owned() };
    Some((format!("{before}\"appliesWhen\": {}{separator}{after}", quoted(condition.to_owned())), first))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::diag::SourceMap;

    #[test]
    fn a_condition_is_added_in_every_style() {
        let head = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: a}\n";
        for (spec, wanted) in [
            ("spec:\n  prefer: []\n", "spec:\n  \"appliesWhen\": \"x == \\\"y\\\"\"\n  prefer: []\n"),
            ("spec: {prefer: []}\n", "spec: {\"appliesWhen\": \"x == \\\"y\\\"\", prefer: []}\n"),
            (
                "spec:\n  appliesWhen: >-\n    a &&\n    b\n  prefer: []\n",
                "spec:\n  appliesWhen: \"(a && b) && x == \\\"y\\\"\"\n  prefer: []\n",
            ),
            ("spec:\n  appliesWhen: 'a'\n", "spec:\n  appliesWhen: \"(a) && x == \\\"y\\\"\"\n"),
        ] {
            let mut sources = SourceMap::new();
            let id = sources.add("a.yaml", format!("{head}{spec}"));
            let (text, at) = with_condition(sources.get(id).unwrap(), "a", "x == \"y\"").expect(spec);
            assert_eq!(text, format!("{head}{wanted}"));
            assert!(at > head.len());
        }
    }
}
