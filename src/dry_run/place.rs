//! Where a field of an object stands in its YAML or JSON text. The text is read a second time, with places; only when
//! something is wrong with it. Used by what reads files that people write.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;
use std::ops::Range;

/// The bytes of the value at `path` (`items[3].spec.containers[0].image`) in a document of a text; those of the nearest
/// value around it when the path leads nowhere, and the start of the text when nothing is found.
pub fn find(text: &str, document: usize, path: &str) -> Range<usize> {
    let options = serde_saphyr::options! { budget: None, strict_booleans: true };
    let read: Result<Vec<Spanned<Node>>, _> = serde_saphyr::from_multiple_with_options(text, options);
    let Ok(documents) = read else { return 0..0 };
    let documents: Vec<_> = documents.iter().filter(|node| !matches!(node.value, Node::Nothing)).collect();
    let Some(mut node) = documents.get(document).copied() else { return 0..0 };
    let mut rest = path;
    let mut found = range(text, node);
    while !rest.is_empty() {
        let Some((next, after)) = step(&node.value, rest) else { break };
        node = next;
        rest = after;
        found = range(text, node);
    }
    found
}

/// One step of a path: the value it leads to, and what is left of the path.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(&'n Spanned<Node>, &'p str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    match node {
        Node::List(items) => {
            let (number, after) = path.strip_prefix('[')?.split_once(']')?;
            Some((items.get(number.parse::<usize>().ok()?)?, after))
        }
        Node::Map(entries) => {
            let ends = |after: &str| after.is_empty() || after.starts_with(['.', '[']);
            let matching = |(key, value): &'n (String, Spanned<Node>)| {
                let quoted = path.strip_prefix('[').and_then(|path| path.strip_prefix(key.as_str()));
                let after = match quoted.and_then(|after| after.strip_prefix(']')) {
                    Some(after) => after,
                    None => path.strip_prefix(key.as_str())?,
                };
                ends(after).then_some((key.len(), value, after))
            };
            // Keys may hold dots; the longest that fits is meant.
            let longest = entries.iter().filter_map(matching).max_by_key(|(length, _, _)| *length)?;
            Some((longest.1, longest.2))
        }
        Node::Nothing | Node::Scalar => None,
    }
}

fn range(text: &str, node: &Spanned<Node>) -> Range<usize> {
    let location = node.referenced;
    let start = match location.span().byte_offset() {
        Some(at) => at as usize,
        None => {
            let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
            let column = usize::try_from(location.column()).unwrap_or(1).saturating_sub(1);
            let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let rest = text.get(before..).unwrap_or("");
            before + rest.chars().take(column).map(char::len_utf8).sum::<usize>()
        }
    };
    let start = text.floor_char_boundary(start.min(text.len()));
    let rest = text.get(start..).unwrap_or("");
    let line = rest.lines().next().unwrap_or("");
    // A scalar is underlined to its end, anything larger at its first word or bracket.
    let end = match node.value {
        Node::Scalar => line.find([',', '}', ']', '#']).unwrap_or(line.len()),
        _ if line.starts_with(['{', '[']) => 1,
        _ => line.find([' ', ':', ',']).unwrap_or(line.len()),
    };
    start..start + line.get(..end).unwrap_or("").trim_end().len()
}

/// Any value, as far as places are concerned.
enum Node {
    Nothing,
    Scalar,
    List(Vec<Spanned<Node>>),
    Map(Vec<(String, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNode;
        impl<'de> Visitor<'de> for AnyNode {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Nothing)
            }
            fn visit_none<E>(self) -> Result<Node, E> {
                Ok(Node::Nothing)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_str<E>(self, _: &str) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
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
        deserializer.deserialize_any(AnyNode)
    }
}
