//! Policy texts in YAML and JSON: what is in the ConfigMaps of a file, each text with its places.
//!
//! Called by `cli`, `dry_run` and `cluster` before `lang::compile`. The only file of this room that knows
//! YAML; it reads no files and no other kinds than ConfigMaps and lists of them.

use crate::diag::{Diagnostic, Origin, SourceId, SourceMap, Span, codes};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// The label that says that a ConfigMap holds policies.
pub const LABEL: &str = "bayplan.dev/policy";

/// The ending of policy files and of keys that hold a policy.
pub const ENDING: &str = ".bay";

/// A policy text found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// The text; its origin is the ConfigMap and key.
    pub source: SourceId,
    /// Whether its ConfigMap has our label: without it a scheduler does not read the text, and only the
    /// linter looks at it.
    pub labelled: bool,
}

/// The policy texts of the ConfigMaps in a YAML or JSON file: single objects, streams of documents, lists.
/// Other kinds are passed over. What is wrong with the YAML itself comes back as diagnostics.
pub fn policies_in(sources: &mut SourceMap, file: SourceId) -> (Vec<PolicyText>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    let mut diagnostics = Vec::new();
    let Some(text) = sources.get(file).map(|source| source.shared_text()) else {
        return (found, diagnostics);
    };
    // most files of a cluster hold none; they are not read twice
    if !text.contains(ENDING) && !text.contains(LABEL) {
        return (found, diagnostics);
    }
    let options = serde_saphyr::options! { budget: None, strict_booleans: true };
    let whole: Result<Vec<Object>, _> = serde_saphyr::from_multiple_with_options(&text, options.clone());
    if let Ok(objects) = whole {
        for object in &objects {
            object.policies(sources, &At { file, text: &text, base: 0 }, &mut found, &mut diagnostics);
        }
        return (found, diagnostics);
    }
    // One document is broken: each is read for itself, so that the others are.
    for (base, document) in documents(&text) {
        let at = At { file, text: &text, base };
        let read: Result<Vec<Object>, _> =
            serde_saphyr::from_multiple_with_options(document, options.clone());
        match read {
            Ok(objects) => {
                for object in &objects {
                    object.policies(sources, &at, &mut found, &mut diagnostics);
                }
            }
            Err(error) => {
                let mut said = bad_yaml(file, document, &error);
                let inside = said.span.range();
                said.span = Span::new(file, base + inside.start, base + inside.end);
                diagnostics.push(said);
            }
        }
    }
    (found, diagnostics)
}

/// The documents of a stream with their first bytes. They begin at lines `---`; inside of a block scalar such a line
/// stands further right.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mark = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if mark && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let both = starts.iter().copied().zip(ends);
    both.filter_map(|(start, end)| Some((start, text.get(start..end)?))).collect()
}

/// A document that is read.
struct At<'t> {
    file: SourceId,
    /// All of the file.
    text: &'t str,
    /// The first byte of the document.
    base: usize,
}

impl At<'_> {
    /// The bytes of a value; for a block scalar from its first line of content on.
    fn place<T>(&self, value: &Spanned<T>) -> Span {
        let span = value.defined.span();
        let start = self.base + span.byte_offset().unwrap_or(0) as usize;
        let long = span.byte_len().unwrap_or(0) as usize;
        Span::new(self.file, start, start + long)
    }
}

/// What the YAML reader says, with its place. Also for other readers of files that people write.
pub fn bad_yaml(file: SourceId, text: &str, error: &serde_saphyr::Error) -> Diagnostic {
    // an error has a line and a column, and bytes only where the reader kept them
    let at = error.location().map_or(0, |location| match location.span().byte_offset() {
        Some(at) => at as usize,
        None => {
            let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
            let column = usize::try_from(location.column()).unwrap_or(1).saturating_sub(1);
            let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let rest = text.get(start..).unwrap_or("");
            start + rest.chars().take(column).take_while(|c| *c != '\n').map(char::len_utf8).sum::<usize>()
        }
    });
    let mut at = at.min(text.len());
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    let long =
        text.get(at..).and_then(|rest| rest.chars().next()).filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or("");
    // the place is said by the drawing
    let message = message.rfind(" at line ").and_then(|at| message.get(..at)).unwrap_or(message);
    let message = message.trim_end_matches(['.', ':', ' ']);
    Diagnostic::new(
        &codes::BAD_YAML,
        Span::new(file, at, at + long),
        format!("the file is no YAML: {message}"),
    )
}

#[derive(Debug, Default)]
struct Object {
    kind: Option<String>,
    metadata: Option<Node>,
    data: Option<Node>,
    items: Vec<Object>,
}

/// Any value, as far as we look into it.
#[derive(Debug)]
enum Node {
    Text(String),
    Map(Vec<(String, Spanned<Node>)>),
    Other,
}

impl Node {
    fn get(&self, key: &str) -> Option<&Spanned<Node>> {
        match self {
            Node::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Object {
    fn policies(
        &self,
        sources: &mut SourceMap,
        at: &At,
        found: &mut Vec<PolicyText>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for item in &self.items {
            item.policies(sources, at, found, diagnostics);
        }
        if self.kind.as_deref() != Some("ConfigMap") {
            return;
        }
        let meta = |key: &str| self.metadata.as_ref().and_then(|metadata| metadata.text(key));
        let name = meta("name").unwrap_or("");
        let object = format!("{}/{name}", meta("namespace").unwrap_or("default"));
        let labels = self.metadata.as_ref().and_then(|metadata| metadata.get("labels"));
        let labelled = labels.and_then(|labels| labels.value.get(LABEL)).is_some();
        let data: &[(String, Spanned<Node>)] = match &self.data {
            Some(Node::Map(entries)) => entries,
            _ => &[],
        };
        let policies: Vec<_> = data.iter().filter(|(key, _)| key.ends_with(ENDING)).collect();
        if labelled && policies.is_empty() {
            let span = labels.and_then(|labels| labels.value.get(LABEL)).map(|label| at.place(label));
            diagnostics.push(
                Diagnostic::new(
                    &codes::BAD_POLICY_MAP,
                    span.unwrap_or_default(),
                    format!("the ConfigMap `{object}` has our label and no policy"),
                )
                .with_help("policies stand in `data`, under keys that end in `.bay`"),
            );
        }
        for (index, (key, value)) in policies.into_iter().enumerate() {
            let span = at.place(value);
            let Node::Text(policy) = &value.value else {
                let message = format!("`{key}` of the ConfigMap `{object}` is no text");
                diagnostics.push(
                    Diagnostic::new(&codes::BAD_POLICY_MAP, span, message)
                        .with_help(format!("write `{key}: |` and the policy indented below it")),
                );
                continue;
            };
            if !labelled && index == 0 {
                diagnostics.push(
                    Diagnostic::new(
                        &codes::UNLABELLED_POLICY_MAP,
                        span.at_start(),
                        "no scheduler will read this policy",
                    )
                    .with_help(format!("add the label `{LABEL}: \"true\"` to the ConfigMap `{object}`")),
                );
            }
            if let Some(mark) = folded(at.text, span) {
                let span = Span::new(at.file, mark, mark + 1);
                diagnostics.push(
                    Diagnostic::new(&codes::FOLDED_POLICY, span, "line breaks are lost in a folded block")
                        .with_help(format!("write `{key}: |`"))
                        .with_fix(format!("write `{key}: |`"), span, "|"),
                );
            }
            let origin = Origin { object: object.clone(), key: key.clone() };
            let source = sources.embed(at.file, span.range(), policy.as_str(), origin);
            found.push(PolicyText { source, labelled });
        }
    }
}

/// The `>` of a folded block scalar whose content begins at a place.
fn folded(text: &str, content: Span) -> Option<usize> {
    let before = text.get(..content.start as usize)?;
    let line = before.rfind('\n')?;
    if !before.get(line..)?.trim().is_empty() {
        return None;
    }
    // empty lines may stand between the header and the content
    let head = before.get(..line)?.trim_end();
    let start = head.rfind('\n').map_or(0, |end| end + 1);
    let header = head.get(start..)?;
    let header = header.split(" #").next()?.trim_end();
    let mark = header.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let behind = mark.strip_suffix('>')?;
    behind.ends_with([' ', '\t']).then_some(start + behind.len())
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of Kubernetes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some(key) = map.next_key::<Node>()? {
            let Node::Text(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            match key.as_str() {
                "kind" => {
                    if let Node::Text(kind) = map.next_value::<Node>()? {
                        object.kind = Some(kind);
                    }
                }
                "metadata" => object.metadata = Some(map.next_value()?),
                // Secrets have data too: their values are not kept
                "data" if object.kind.as_deref().is_none_or(|kind| kind == "ConfigMap") => {
                    object.data = Some(map.next_value()?);
                }
                "items" => object.items = map.next_value::<Items>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Object, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Object::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_unit<E>(self) -> Result<Object, E> {
        Ok(Object::default())
    }

    fn visit_none<E>(self) -> Result<Object, E> {
        Ok(Object::default())
    }
}

/// The items of a list; none where `items` is something else.
struct Items(Vec<Object>);

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsVisitor)
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Object>()? {
            if item.kind.as_deref() == Some("ConfigMap") || !item.items.is_empty() {
                items.push(item);
            }
        }
        Ok(Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Items, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Items(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<Items, E> {
        Ok(Items(Vec::new()))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Node>()? {
            let value = map.next_value::<Spanned<Node>>()?;
            if let Node::Text(key) = key {
                entries.push((key, value));
            }
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn load(text: &str) -> (SourceMap, Vec<PolicyText>, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let file = sources.add("x.yaml", text);
        let (found, diagnostics) = policies_in(&mut sources, file);
        (sources, found, diagnostics)
    }

    const HEAD: &str = "kind: ConfigMap\nmetadata:\n  name: rules\n  namespace: platform\n  labels: {bayplan.dev/policy: \"true\"}\n";

    #[test]
    fn texts_come_with_their_object_key_and_places() {
        let (sources, found, diagnostics) =
            load(&format!("{HEAD}data:\n  a.bay: |\n    policy x {{\n    }}\n  readme: no\n"));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(found.len(), 1);
        let source = sources.get(found[0].source).unwrap();
        assert_eq!(source.text(), "policy x {\n}\n");
        assert_eq!(
            source.origin().unwrap(),
            &Origin { object: "platform/rules".into(), key: "a.bay".into() }
        );
        let (start, end) = sources.places(Span::new(source.id(), 11, 12));
        assert_eq!((start.line, start.column, end.column), (9, 5, 6));
    }

    #[test]
    fn lists_streams_and_json_are_read_and_other_kinds_are_not() {
        let list = r#"{"kind": "List", "items": [
            {"data": {"a.bay": "policy x {\n}\n"}, "kind": "ConfigMap", "metadata": {"name": "r", "labels": {"bayplan.dev/policy": "true"}}},
            {"kind": "Secret", "data": {"b.bay": "eA=="}}, 7, null]}"#;
        let (sources, found, diagnostics) = load(list);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(found.len(), 1);
        let source = found[0].source;
        assert_eq!(sources.places(Span::new(source, 11, 12)).0.line, 2);
        let stream = format!(
            "---\nkind: Pod\nmetadata: {{name: x}}\n---\n{HEAD}data: {{a.bay: \"policy x {{}}\"}}\n---\n"
        );
        assert_eq!(load(&stream).1.len(), 1);
    }

    #[test]
    fn a_broken_document_does_not_stop_the_others() {
        let map = |name: &str| HEAD.replace("rules", name);
        let text = format!(
            "{}data:\n  a.bay: |\n    policy a {{\n    ---\n    }}\n---\nkind: ConfigMap\nmetadata: {{name: [\n--- # third\n{}data:\n  b.bay: |\n    policy b {{\n    }}\n---\nx: \"\n",
            map("one"),
            map("two")
        );
        let (sources, found, diagnostics) = load(&text);
        let texts: Vec<&str> = found.iter().map(|found| sources.get(found.source).unwrap().text()).collect();
        assert_eq!(texts, ["policy a {\n---\n}\n", "policy b {\n}\n"]);
        let lines: Vec<usize> = diagnostics.iter().map(|said| sources.places(said.span).0.line).collect();
        assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
        assert!(diagnostics.iter().all(|said| said.code.slug == "bad-yaml"));
        assert!((12..=14).contains(&lines[0]) && lines[1] >= 24, "{lines:?}\n{text}");
        // Places of the texts are those of the whole file.
        let second = sources.places(Span::new(found[1].source, 7, 8)).0;
        let line = text.lines().position(|line| line.contains("policy b")).unwrap() + 1;
        assert_eq!((second.line, second.column), (line, 12));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let (_, found, diagnostics) =
            load("kind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.bay: >-\n    policy x {}\n");
        assert_eq!(found.len(), 1);
        assert!(!found[0].labelled);
        let codes: Vec<_> = diagnostics.iter().map(|d| d.code.slug).collect();
        assert_eq!(codes, ["unlabelled-policy-map", "folded-policy"]);
        assert_eq!(diagnostics[1].span.start, 51);
        let (_, _, diagnostics) = load(&format!("{HEAD}data:\n  a.bay: [1]\n"));
        assert_eq!(diagnostics[0].code.slug, "bad-policy-map");
        let (sources, _, diagnostics) = load(&format!("{HEAD}data:\n  a.bay: \"x\n b: [\n"));
        assert_eq!(diagnostics[0].code.slug, "bad-yaml");
        assert!(sources.places(diagnostics[0].span).0.line >= 6, "{diagnostics:?}");
    }
}
