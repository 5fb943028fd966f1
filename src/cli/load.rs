//! Objects of a cluster from YAML and JSON: single objects, streams of documents, lists. Every kind the scheduler
//! reads is read; the others are counted.

use super::input::Policies;
use crate::diag::{Diagnostic, SourceId, Span, codes};
use crate::dry_run::World;
use crate::lang::sources::bad_yaml;
use crate::model::objects::{self, ObjectError};
use crate::model::{Namespace, Node, Object, PodInfo};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds that are not read, with how many there were.
#[derive(Default)]
pub struct Skipped(BTreeMap<String, usize>);

impl Skipped {
    /// What is to be said about them.
    pub fn warning(&self) -> Option<String> {
        let all: usize = self.0.values().sum();
        if all == 0 {
            return None;
        }
        let kinds: Vec<String> = self.0.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let objects = if all == 1 { "1 object".to_owned() } else { format!("{all} objects") };
        Some(format!("{objects} of kinds that are not read: {}", kinds.join(", ")))
    }
}

/// Adds the objects of a file to a world. `pending` files hold pods only.
pub fn load(
    policies: &mut Policies,
    file: SourceId,
    pending: bool,
    world: &mut World,
    skipped: &mut Skipped,
    said: &mut Vec<Diagnostic>,
) {
    let Some(source) = policies.sources.get(file) else { return };
    let text = source.shared_text();
    let options = serde_saphyr::options! { budget: None };
    let documents: Vec<Value> = match serde_saphyr::from_multiple_with_options(&text, options) {
        Ok(documents) => documents,
        Err(error) => {
            said.push(bad_yaml(file, &text, &error));
            return;
        }
    };
    for document in documents {
        add(document, file, pending, world, skipped, said);
    }
}

fn add(
    object: Value,
    file: SourceId,
    pending: bool,
    world: &mut World,
    skipped: &mut Skipped,
    said: &mut Vec<Diagnostic>,
) {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(Value::Array(items)) =
        object.get("items").filter(|_| kind.ends_with("List") || kind == "List")
    {
        for item in items.clone() {
            add(item, file, pending, world, skipped, said);
        }
        return;
    }
    let name =
        object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
    let read = match kind.as_str() {
        "Pod" => pod(object).map(Object::Pod),
        "Node" => Node::from_value(Arc::new(object)).map(|node| Object::Node(Arc::new(node))),
        "Namespace" => Namespace::from_value(Arc::new(object)).map(|ns| Object::Namespace(Arc::new(ns))),
        "ConfigMap" => return,
        "" if object.is_null() => return,
        other => {
            let kind = if other.is_empty() { "without a kind" } else { other };
            *skipped.0.entry(kind.to_owned()).or_default() += 1;
            return;
        }
    };
    match read {
        Ok(object) if pending && !matches!(object, Object::Pod(_)) => {
            *skipped.0.entry(kind).or_default() += 1
        }
        Ok(object) => world.add(object),
        Err(error) => {
            let text = format!("{kind} `{name}`: {error}");
            said.push(Diagnostic::new(&codes::BAD_YAML, Span::new(file, 0, 0), text));
        }
    }
}

fn pod(value: Value) -> Result<Arc<PodInfo>, ObjectError> {
    let mut pod = objects::pod::Pod::deserialize(&value)
        .map_err(|error| ObjectError::new("", "", error.to_string()))?;
    pod.set_defaults();
    let mut pod = PodInfo::from_object(&pod)?;
    pod.raw = Some(Arc::new(value));
    Ok(Arc::new(pod))
}
