//! From the text of one document to a [`Tree`] with places ([`document`]), or from a stream to plain JSON values
//! ([`values`]) for large files, whose places are looked up only when something is wrong.

use super::indentation;
use super::limits::Limits;
use super::tags;
use super::templates;
use super::tree::{At, Tree, TreeEntry, TreeValue};
use bayplan_diag::{Diagnostic, SourceId, Span, codes};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};
use std::fmt;

/// Why a text is not valid YAML or JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct YamlError {
    /// `YAML` or `JSON`.
    pub format: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub at: At,
    /// Where the block begins that does not go on there.
    pub block: Option<At>,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file is not valid {}: {}", self.format, self.message)
    }
}

impl std::error::Error for YamlError {}

impl YamlError {
    /// The error as a diagnostic about a file.
    pub fn diagnostic(&self, file: SourceId) -> Diagnostic {
        let span = |at: At| Span::new(file, at.start, at.end);
        if templates::is_about_template(&self.message) {
            return templates::template(span(self.at), self.message.clone());
        }
        if let Some(help) = tags::help(&self.message) {
            return Diagnostic::new(&codes::BAD_YAML, span(self.at), self.message.clone()).with_help(help);
        }
        let said = Diagnostic::new(&codes::BAD_YAML, span(self.at), self.to_string());
        match self.block {
            Some(block) => said.with_place(span(block), "the lines from here on are indented deeper"),
            None => said,
        }
    }
}

/// Which plain scalars are booleans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Booleans {
    /// `true` and `false`.
    Strict,
    /// `yes`, `no`, `on` and `off` as well, as kube-scheduler reads its configuration.
    Yaml11,
}

/// Reads a text with one document. An empty text is `null`.
pub fn document(text: &str, booleans: Booleans) -> Result<Tree, YamlError> {
    if text.trim().is_empty() {
        return Ok(Tree::default());
    }
    let mut options = Limits::Own.options();
    options.strict_booleans = booleans == Booleans::Strict;
    serde_saphyr::from_str_with_options::<Spanned<Node>>(text, options)
        .map(|root| tree(text, 0, root))
        .map_err(|error| yaml_error(text, 0, &error))
}

/// Reads every document of a stream as JSON values without places; empty documents are `null`.
/// `is_json` decides the format that an error is about when both readers fail.
pub fn values(text: &str, is_json: bool) -> Result<Vec<Value>, YamlError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let mut as_json = None;
    if start.starts_with(['{', '[']) {
        match serde_json::Deserializer::from_str(start).into_iter().collect() {
            Ok(values) => return Ok(values),
            Err(error) if is_json => return Err(json_error(text, text.len() - start.len(), &error)),
            Err(error) => as_json = Some(error),
        }
    }
    serde_saphyr::from_multiple_with_options(text, Limits::Own.options()).map_err(|error| match as_json {
        Some(json) if start.starts_with("{\"") || start.starts_with("{\n") => {
            json_error(text, text.len() - start.len(), &json)
        }
        _ => yaml_error(text, 0, &error),
    })
}

fn json_error(text: &str, base: usize, error: &serde_json::Error) -> YamlError {
    let read = text.get(base..).unwrap_or("");
    let lines: usize = read.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = base + lines + error.column().saturating_sub(1);
    let at = text.floor_char_boundary(at.min(text.len()));
    let at = At { start: at, end: at };
    YamlError { format: "JSON", message: without_place(&error.to_string()), at, block: None }
}

pub(super) fn yaml_error(text: &str, base: usize, error: &serde_saphyr::Error) -> YamlError {
    let start = error.location().map_or(0, |location| offset(text, location)).min(text.len());
    let start = text.floor_char_boundary(start);
    let next = text.get(start..).and_then(|rest| rest.chars().next());
    let length = next.filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let message = error.without_snippet().to_string();
    let message = without_place(message.lines().next().unwrap_or(""));
    let moved = |at: At| At { start: base + at.start, end: base + at.end };
    if let Some(action) = templates::near(text, start) {
        let message = templates::message(text.get(action.start..action.end).unwrap_or(""));
        return YamlError { format: "YAML", message, at: moved(action), block: None };
    }
    if let Some(tag) = tags::near(text, start).filter(|_| message.contains("tag")) {
        let message = tags::message(text.get(tag.start..tag.end).unwrap_or(""));
        return YamlError { format: "YAML", message, at: moved(tag), block: None };
    }
    if let Some(tab) = indentation::tab_near(text, start) {
        let message = "a tab in the indentation; YAML indents with blanks".to_owned();
        return YamlError { format: "YAML", message, at: moved(tab), block: None };
    }
    let block = message.contains("did not find expected").then(|| indentation::block_above(text, start));
    let at = moved(At { start, end: start + length });
    YamlError { format: "YAML", message, at, block: block.flatten().map(moved) }
}

/// A message without ` at line 3, column 5`: the diagnostic shows the place.
fn without_place(message: &str) -> String {
    let message = message.rfind(" at line ").and_then(|at| message.get(..at)).unwrap_or(message);
    // The reader's advice about its own options is nothing for people who write YAML.
    let message = message.split(", set DuplicateKeyPolicy").next().unwrap_or(message);
    message.trim_end_matches(['.', ':', ' ']).to_owned()
}

/// The byte of a location. The reader gives a line and a column always, a byte sometimes.
fn offset(text: &str, location: Location) -> usize {
    if let Some(at) = location.span().byte_offset() {
        return at as usize;
    }
    let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(location.column()).unwrap_or(1).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..).unwrap_or("");
    start + rest.chars().take(column).take_while(|c| *c != '\n').map(char::len_utf8).sum::<usize>()
}

/// Where a value is defined. For a block scalar from its first line of content on.
fn at<T>(text: &str, base: usize, value: &Spanned<T>) -> At {
    let start = base + offset(text, value.defined);
    At { start, end: start + value.defined.span().byte_len().unwrap_or(0) as usize }
}

pub(super) fn tree(text: &str, base: usize, spanned: Spanned<Node>) -> Tree {
    let place = at(text, base, &spanned);
    let value = match spanned.value {
        Node::Scalar(value) => value,
        Node::List(items) => TreeValue::List(items.into_iter().map(|item| tree(text, base, item)).collect()),
        Node::Map(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<Node>)| TreeEntry {
                key_at: at(text, base, &key),
                key: key.value,
                value: tree(text, base, value),
            };
            TreeValue::Map(entries.into_iter().map(entry).collect())
        }
    };
    Tree { at: place, value }
}

/// A value as the YAML reader hands it over.
pub(super) enum Node {
    Scalar(TreeValue),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::Bool(value)))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::Int(value)))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        let value = i64::try_from(value).map_or(TreeValue::Float(value as f64), TreeValue::Int);
        Ok(Node::Scalar(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::Float(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::String(value.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::Null))
    }
    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(TreeValue::Null))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::place;

    /// The text at a path of the only document.
    fn text_at<'t>(text: &'t str, path: &str) -> &'t str {
        let at = place(text, 0, path);
        &text[at.start..at.end]
    }

    #[test]
    fn every_value_knows_its_place() {
        let text = "a: {b: [x, 'y z', 3]} # note\nc: |\n  one\n  two\nd.e:\n  f: yes # it is\n";
        assert_eq!(text_at(text, "a.b[1]"), "'y z'");
        assert_eq!(text_at(text, "a.b[2]"), "3");
        assert_eq!(text_at(text, "d.e.f"), "yes");
        assert_eq!(text_at(text, "a.b[7]"), "[", "the nearest enclosing value");
        let root = document(text, Booleans::Strict).unwrap();
        assert!(matches!(&root.find("d.e.f").value, TreeValue::String(text) if text == "yes"));
        let TreeValue::Map(entries) = &root.value else { panic!("{root:?}") };
        let keys: Vec<&str> =
            entries.iter().map(|entry| &text[entry.key_at.start..entry.key_at.end]).collect();
        assert_eq!(keys, ["a", "c", "d.e"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_places_stay_those_of_the_text() {
        let text = "\u{feff}a: {b: here}\n";
        assert_eq!(text_at(text, "a.b"), "here");
        assert_eq!(values(text, false).unwrap(), [serde_json::json!({"a": {"b": "here"}})]);
        assert_eq!(values("\u{feff}{\"a\": 1}", true).unwrap(), [serde_json::json!({"a": 1})]);
    }

    #[test]
    fn json_errors_have_a_place() {
        let error = values("{\n \"a\": tru }", true).unwrap_err();
        assert_eq!((error.format, error.message.as_str()), ("JSON", "expected ident"));
        assert_eq!(error.at.start, 11, "where the `e` is missing");
        assert!(values("{a: b}", false).is_ok(), "a flow mapping is YAML");
    }
}
