//! A cluster in one JSON file, kind `Snapshot`: the objects that configuration and policies read, with the texts of both.
//! `bayplan snapshot` writes it, [`load`](super::load) reads it wherever a cluster file may be.
//!
//! Fields are only added. A reader takes the formats up to its own, [`FORMAT`], and says so of others.

use super::remembered;
use bayplan_scheduler::memory::Memory;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;

/// What is wrong with a snapshot, and the way out.
pub(super) type Broken = (String, Option<&'static str>);

/// The kind.
const KIND: &str = "Snapshot";
/// The group of the kind.
const GROUP: &str = "bayplan.dev/";
/// The version of the group.
const API_VERSION: &str = "bayplan.dev/v1";
/// The newest format.
const FORMAT: u64 = 1;

/// All of a snapshot but its objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Saved {
    /// The version of the program that wrote it.
    pub program: String,
    /// When the objects were read, in RFC 3339.
    pub taken: String,
    /// As which version of Kubernetes decisions are made: `1.37`.
    pub kubernetes: String,
    /// The version of the API server; empty if it was not read from one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// Where the objects are from: `the API server`, `files`; and where the memory is from.
    pub source: String,
    /// The namespace of the objects that name none.
    pub namespace: String,
    /// The configuration in force; `None` for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SavedConfiguration>,
    /// The texts of policies in service, and those that they use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<SavedText>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether names were replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
    /// The pod whose verdict the objects were reduced to: `namespace/name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reduced_to: String,
    /// What a running scheduler remembered; `None` without `--scheduler`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Arc<Memory>>,
}

/// A configuration of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedConfiguration {
    /// Where it is from, as a line of text.
    pub from: String,
    /// The configuration as YAML or JSON.
    pub text: String,
}

/// A text of policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedText {
    /// `namespace/name` of its ConfigMap, or the folder of its file.
    pub object: String,
    /// Its key there, or the name of the file.
    pub key: String,
    /// The text.
    pub text: String,
    /// The policies of the text that are in service.
    pub serves: Vec<String>,
}

/// Whether a text is a snapshot, as far as that can be told without parsing it.
pub(super) fn may_be(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && text.contains("\"Snapshot\"")
        && text.contains("\"formatVersion\"")
}

/// Whether an object is a snapshot, of whatever format.
pub(super) fn is_one(version: &str, kind: &str) -> bool {
    kind == KIND && version.starts_with(GROUP)
}

impl Saved {
    /// Takes a snapshot apart into this and its objects; what is wrong with it as a sentence.
    pub(super) fn taken_apart(mut document: Value) -> Result<(Self, Vec<Value>), Broken> {
        match document.get("formatVersion").map(|format| (format.as_u64(), format.to_string())) {
            Some((Some(1..=FORMAT), _)) => {}
            Some((Some(_), format)) => {
                let said = format!(
                    "the snapshot has the format {format}, and this version reads formats up to {FORMAT}"
                );
                return Err((
                    said,
                    Some("read it with the version of Bayplan that wrote it, or a newer one"),
                ));
            }
            Some((None, format)) => {
                return Err((format!("`formatVersion` of the snapshot cannot be {format}"), None));
            }
            None => return Err(("the snapshot has no `formatVersion`".to_owned(), Some(ANEW))),
        }
        let objects = document.as_object_mut().and_then(|fields| fields.shift_remove("objects"));
        let objects = match objects {
            Some(Value::Array(objects)) => objects,
            Some(_) => return Err(("`objects` of the snapshot is not a list".to_owned(), Some(ANEW))),
            None => return Err(("the snapshot has no `objects`".to_owned(), Some(ANEW))),
        };
        match serde_json::from_value(document) {
            Ok(saved) => Ok((saved, objects)),
            Err(error) => {
                let error = error.to_string();
                // What is expected has the name of a type.
                let error = error.split(", expected struct").next().unwrap_or_default();
                Err((format!("the snapshot cannot be read: {error}"), Some(ANEW)))
            }
        }
    }

    /// Leaves the memory of the scheduler out: what it knew of the objects is put into them.
    pub fn forget_memory(&mut self, objects: &mut [Value]) {
        if let Some(memory) = self.memory.take() {
            remembered::settle(&memory, objects);
        }
    }

    /// Writes a snapshot: an object on each line.
    pub fn write(&self, objects: &[Value], to: &mut dyn Write) -> io::Result<()> {
        let mut head = serde_json::Map::new();
        head.insert("apiVersion".to_owned(), API_VERSION.into());
        head.insert("kind".to_owned(), KIND.into());
        head.insert("formatVersion".to_owned(), FORMAT.into());
        if let Value::Object(own) = serde_json::to_value(self)? {
            head.extend(own);
        }
        for (at, (name, value)) in head.iter().enumerate() {
            let before = if at == 0 { "{" } else { "," };
            writeln!(to, "{before}{}:{value}", Value::from(name.as_str()))?;
        }
        writeln!(to, ",\"objects\":[")?;
        for (at, object) in objects.iter().enumerate() {
            let end = if at + 1 == objects.len() { "" } else { "," };
            serde_json::to_writer(&mut *to, object)?;
            writeln!(to, "{end}")?;
        }
        writeln!(to, "]}}")
    }
}

/// The way out of a snapshot that is broken.
const ANEW: &str = "write it anew with `bayplan snapshot -o FILE`";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let saved = Saved {
            taken: "2026-01-05T09:00:00Z".into(),
            namespace: "shop".into(),
            configuration: Some(SavedConfiguration { from: "of x".into(), text: "{}".into() }),
            policies: vec![SavedText { object: "n/p".into(), key: "a.bay".into(), ..SavedText::default() }],
            missing: vec!["metrics".into()],
            ..Saved::default()
        };
        for objects in [vec![], vec![json!({"kind": "Node"})], vec![json!(1), json!("\u{202e}\n")]] {
            let mut text = Vec::new();
            saved.write(&objects, &mut text).unwrap();
            assert!(may_be(std::str::from_utf8(&text).unwrap()));
            let document: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(Saved::taken_apart(document), Ok((saved.clone(), objects)));
        }
    }

    #[test]
    fn other_formats_are_named() {
        let said = |document: Value| Saved::taken_apart(document).unwrap_err().0;
        assert!(said(json!({"formatVersion": 2})).contains("has the format 2"));
        assert!(said(json!({"formatVersion": 0})).contains("has the format 0"));
        assert!(said(json!({"formatVersion": "x"})).contains("cannot be \"x\""));
        assert!(said(json!({})).contains("no `formatVersion`"));
        assert!(said(json!({"formatVersion": 1})).contains("no `objects`"));
        assert!(said(json!({"formatVersion": 1, "objects": {}})).contains("is not a list"));
        assert!(said(json!({"formatVersion": 1, "objects": [], "policies": 7})).contains("cannot be read"));
    }
}
