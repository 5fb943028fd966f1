//! Scalars and lines of YAML.

use super::remarks::Comments;
use serde_json::Value;

/// A text as a scalar of a block: plain where that is read as the same text, else in single quotes, or in double
/// ones where it has line ends.
pub(super) fn scalar(text: &str) -> String {
    if text.chars().any(char::is_control) {
        return Value::String(text.to_owned()).to_string();
    }
    if is_plain(text) { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let marks = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']);
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n" | "nan" | "inf"
    );
    begins && !marks && !word
}

/// A part of a document.
pub(super) enum Node {
    /// As it is written.
    Scalar(String),
    /// A map, in its order.
    Map(Vec<(String, Node)>),
    /// A list of maps, each with the comments above it.
    List(Vec<Item>),
}

/// A map of a list, with the comments above it.
pub(super) struct Item {
    pub(super) comments: Comments,
    pub(super) fields: Vec<(String, Node)>,
}

/// Writes a map. The first line begins with `lead`, the others with as many blanks.
pub(super) fn map(out: &mut String, fields: &[(String, Node)], lead: &str) {
    let indent = " ".repeat(lead.len());
    for (at, (key, node)) in fields.iter().enumerate() {
        let start = if at == 0 { lead } else { &indent };
        match node {
            Node::Scalar(text) => out.push_str(&format!("{start}{key}: {text}\n")),
            Node::Map(inner) if inner.is_empty() => out.push_str(&format!("{start}{key}: {{}}\n")),
            Node::Map(inner) => {
                out.push_str(&format!("{start}{key}:\n"));
                map(out, inner, &format!("{indent}  "));
            }
            Node::List(items) => {
                out.push_str(&format!("{start}{key}:\n"));
                for item in items {
                    comments(out, &item.comments, &indent);
                    map(out, &item.fields, &format!("{indent}- "));
                }
            }
        }
    }
}

/// Writes the comments above something: a blank line keeps notes apart from its description.
pub(super) fn comments(out: &mut String, of: &Comments, indent: &str) {
    notes(out, &of.notes, indent);
    if of.has_plain_notes() {
        out.push('\n');
    }
    notes(out, &of.doc, indent);
}

/// Writes lines of comments.
pub(super) fn notes(out: &mut String, lines: &[String], indent: &str) {
    for line in lines {
        out.push_str(format!("{indent}# {line}").trim_end());
        out.push('\n');
    }
}

/// A value of a param.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // A list or map of JSON is one of YAML.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn every_text_is_read_as_itself() {
        for text in [
            "a",
            "node.ready ? a : b",
            "5",
            "true",
            "",
            "a: b",
            "a #b",
            "'x'",
            "[a]",
            "x\ny",
            "ü",
            "- a",
            "a:",
        ] {
            let document = format!("k: {}\n", scalar(text));
            let read = bayplan_yaml::values(&document, false).unwrap();
            assert_eq!(read[0]["k"], text, "{document}");
        }
    }
}
