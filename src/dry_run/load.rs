//! Cluster files to a [`World`]: YAML and JSON, single objects, streams of documents, lists, what `kubectl get -o json`
//! prints. What cannot be read is a diagnostic with its place, and never a panic. Files themselves are read by `cli`;
//! ConfigMaps with policies are found by `lang::sources`.

use super::place;
use super::world::World;
use crate::diag::{Diagnostic, SourceId, SourceMap, Span, codes};
use crate::lang::sources::{bad_yaml, policies_in};
use crate::model::objects::ObjectError;
use crate::model::{Labels, Namespace, Node, Object, PodInfo, PodKey, Symbol};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What cluster files hold.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The objects that can be used.
    pub world: World,
    /// Texts of policies in labelled ConfigMaps, in the order they were found.
    pub policies: Vec<SourceId>,
    /// What is to be said, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
}

impl Loaded {
    /// Whether anything could not be read.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads the cluster files that were added to `sources`. Namespaces that pods name and no file holds are made, as they
/// exist in every cluster.
pub fn load(sources: &mut SourceMap, files: &[SourceId]) -> Loaded {
    let mut reading = Reading::default();
    for file in files {
        let (found, diagnostics) = policies_in(sources, *file);
        let labelled = found.into_iter().filter(|found| found.labelled).map(|found| found.source);
        reading.loaded.policies.extend(labelled);
        let Some(text) = sources.get(*file).map(|source| (source.name().to_owned(), source.shared_text()))
        else {
            continue;
        };
        match documents(*file, &text.0, &text.1) {
            Ok(documents) => {
                // A text that is no YAML was said once already, when policies were looked for.
                reading.loaded.diagnostics.extend(diagnostics);
                let documents = documents.into_iter().filter(|document| !document.is_null());
                for (at, document) in documents.enumerate() {
                    let place = Place { file: *file, text: &text.1, document: at, path: String::new() };
                    reading.value(document, "", &place);
                }
            }
            Err(diagnostic) => reading.loaded.diagnostics.push(*diagnostic),
        }
    }
    reading.finish(files)
}

/// Reads pods alone, as `--pods` gives them; every other object is a mistake.
pub fn load_pods(sources: &mut SourceMap, files: &[SourceId], world: &mut World) -> Vec<Diagnostic> {
    let loaded = load(sources, files);
    let mut diagnostics = loaded.diagnostics;
    let given = world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(&pod.key),
        _ => None,
    });
    let given: FxHashSet<PodKey> = given.chain(world.pending.iter().map(|pod| &pod.key)).cloned().collect();
    for pod in &loaded.world.pending {
        if given.contains(&pod.key)
            && let Some(file) = files.first()
        {
            let text = format!("pod `{}` is in the cluster already", pod.full_name());
            diagnostics.push(Diagnostic::new(&codes::BAD_OBJECT, Span::new(*file, 0, 0), text));
        }
    }
    let known: BTreeSet<Symbol> = world.namespaces().cloned().collect();
    world.pending.extend(loaded.world.pending);
    for object in loaded.world.objects {
        match &object {
            Object::Namespace(namespace) if !known.contains(&namespace.name) => world.objects.push(object),
            Object::Pod(_) => world.objects.push(object),
            _ => {}
        }
    }
    diagnostics
}

/// Where an object stands.
#[derive(Clone)]
struct Place<'t> {
    file: SourceId,
    text: &'t str,
    document: usize,
    /// Of the object in its document: `items[3]`.
    path: String,
}

impl Place<'_> {
    fn inside(&self, path: &str) -> Self {
        let join = if self.path.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
        Self { path: format!("{}{join}{path}", self.path), ..self.clone() }
    }

    /// The place in the text; the file is read once more for it.
    fn span(&self) -> Span {
        let range = place::find(self.text, self.document, &self.path);
        Span::new(self.file, range.start, range.end)
    }
}

fn documents(file: SourceId, name: &str, text: &str) -> Result<Vec<Value>, Box<Diagnostic>> {
    let start = text.trim_start();
    if start.starts_with(['{', '[']) {
        let read: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        match read {
            Ok(values) => return Ok(values),
            Err(error) if name.ends_with(".json") => {
                let lines: usize =
                    text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
                let at = text.floor_char_boundary((lines + error.column().saturating_sub(1)).min(text.len()));
                let message = error.to_string();
                let message = message.rfind(" at line ").and_then(|at| message.get(..at)).unwrap_or(&message);
                let message = format!("the file is no JSON: {message}");
                return Err(Box::new(Diagnostic::new(&codes::BAD_YAML, Span::new(file, at, at), message)));
            }
            Err(_) => {}
        }
    }
    let options = serde_saphyr::options! { budget: None, strict_booleans: true };
    serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| Box::new(bad_yaml(file, text, &error)))
}

#[derive(Default)]
struct Reading {
    loaded: Loaded,
    /// Kinds that are not read, with their numbers.
    skipped: BTreeMap<String, usize>,
    known: BTreeSet<(String, String, String)>,
}

impl Reading {
    /// One document or one item of a list. `kind` is what the list says of its items.
    fn value(&mut self, value: Value, kind: &str, place: &Place) {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for (at, item) in items.into_iter().enumerate() {
                    self.value(item, kind, &place.inside(&format!("[{at}]")));
                }
            }
            Value::Object(object) => {
                let own = object.get("kind").and_then(Value::as_str).unwrap_or(kind).to_owned();
                if own.is_empty() {
                    let message = "the object has no `kind`";
                    let help = "write `apiVersion` and `kind`, as `kubectl get -o yaml` does";
                    self.complain(place, message.to_owned(), Some(help));
                } else if own.ends_with("List") && object.get("items").is_some_and(Value::is_array) {
                    let of = own.strip_suffix("List").unwrap_or_default();
                    let items = object.into_iter().find(|(key, _)| key == "items");
                    if let Some((_, items)) = items {
                        self.value(items, of, &place.inside("items"));
                    }
                } else {
                    self.object(Value::Object(object), &own, place);
                }
            }
            _ => self.complain(place, "an object was expected here".to_owned(), None),
        }
    }

    fn object(&mut self, value: Value, kind: &str, place: &Place) {
        let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or("v1").to_owned();
        if version != "v1" {
            *self.skipped.entry(kind.to_owned()).or_default() += 1;
            return;
        }
        let value = Arc::new(value);
        let read: Result<Object, ObjectError> = match kind {
            "Pod" => PodInfo::from_value(value).map(|pod| Object::Pod(Arc::new(pod))),
            "Node" => Node::from_value(value).map(|node| Object::Node(Arc::new(node))),
            "Namespace" => {
                Namespace::from_value(value).map(|namespace| Object::Namespace(Arc::new(namespace)))
            }
            // Their policies were found before.
            "ConfigMap" => return,
            _ => {
                *self.skipped.entry(kind.to_owned()).or_default() += 1;
                return;
            }
        };
        match read {
            Ok(object) => {
                let key = object.key();
                let name = match key.namespace.is_empty() {
                    true => key.name.to_string(),
                    false => format!("{}/{}", key.namespace, key.name),
                };
                if self.known.insert((kind.to_owned(), key.namespace.to_string(), key.name.to_string())) {
                    self.loaded.world.add(object);
                } else {
                    let message = format!("{} `{name}` is given twice", kind.to_lowercase());
                    self.complain(place, message, Some("take one of them out"));
                }
            }
            Err(error) => {
                let place = place.inside(&error.path);
                let of = if error.path.is_empty() { kind } else { &error.path };
                let message = match error.value.is_empty() {
                    true => format!("`{of}`: {}", error.reason),
                    false => format!("`{of}` cannot be `{}`: {}", shortened(&error.value), error.reason),
                };
                self.complain(&place, message, None);
            }
        }
    }

    fn complain(&mut self, place: &Place, message: String, help: Option<&str>) {
        let diagnostic = Diagnostic::new(&codes::BAD_OBJECT, place.span(), message);
        let diagnostic = match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        };
        self.loaded.diagnostics.push(diagnostic);
    }

    fn finish(mut self, files: &[SourceId]) -> Loaded {
        if !self.skipped.is_empty()
            && let Some(file) = files.first()
        {
            let count: usize = self.skipped.values().sum();
            let kinds: Vec<String> =
                self.skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let message = format!("skipped {count} objects of kinds that are not read: {}", kinds.join(", "));
            self.loaded.diagnostics.push(Diagnostic::new(
                &codes::SKIPPED_KINDS,
                Span::new(*file, 0, 0),
                message,
            ));
        }
        self.loaded.world.add_missing_namespaces();
        self.loaded
    }
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

impl World {
    /// The names of the namespaces that are given.
    pub fn namespaces(&self) -> impl Iterator<Item = &Symbol> {
        self.objects.iter().filter_map(|object| match object {
            Object::Namespace(namespace) => Some(&namespace.name),
            _ => None,
        })
    }

    /// Makes the namespaces that pods name and that are not given.
    pub fn add_missing_namespaces(&mut self) {
        let given: BTreeSet<Symbol> = self.namespaces().cloned().collect();
        let placed = self.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) => Some(&pod.namespace),
            _ => None,
        });
        let named: BTreeSet<Symbol> =
            placed.chain(self.pending.iter().map(|pod| &pod.namespace)).cloned().collect();
        for name in named.difference(&given) {
            let label = (Symbol::new("kubernetes.io/metadata.name"), name.clone());
            let namespace = Namespace {
                name: name.clone(),
                labels: Labels::from_iter([label]),
                annotations: Default::default(),
                raw: None,
            };
            self.objects.push(Object::Namespace(Arc::new(namespace)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> (SourceMap, Loaded) {
        let mut sources = SourceMap::new();
        let file = sources.add(name, text);
        let loaded = load(&mut sources, &[file]);
        (sources, loaded)
    }

    fn said(loaded: &Loaded) -> Vec<&str> {
        loaded.diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect()
    }

    #[test]
    fn streams_lists_and_json_are_read() {
        let yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}, spec: {containers: []}}\n\
                    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n";
        let (_, loaded) = read("c.yaml", yaml);
        assert_eq!(said(&loaded), ["skipped 1 objects of kinds that are not read: 1 Deployment"]);
        assert_eq!((loaded.world.objects.len(), loaded.world.pending.len()), (2, 1));
        let json = r#"{"kind":"PodList","items":[{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}]}"#;
        let (_, loaded) = read("c.json", json);
        assert_eq!(said(&loaded), [""; 0]);
        assert_eq!((loaded.world.objects.len(), loaded.world.pending.len()), (2, 0));
    }

    #[test]
    fn what_cannot_be_read_has_a_place() {
        let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    \
                    resources:\n      requests:\n        cpu: lots\n";
        let (sources, loaded) = read("c.yaml", yaml);
        assert_eq!(loaded.diagnostics.len(), 1, "{:?}", said(&loaded));
        assert!(said(&loaded)[0].contains("cannot be `lots`"), "{:?}", said(&loaded));
        assert_eq!(sources.text(loaded.diagnostics[0].span), "lots");
        let (_, loaded) = read("c.yaml", "kind: Pod\nmetadata: {name: [");
        assert_eq!(loaded.diagnostics[0].code.id, "BP0502");
        let (_, loaded) = read("c.json", "{\"kind\": \"Pod\", ");
        assert_eq!(said(&loaded), ["the file is no JSON: EOF while parsing a value"]);
        let (_, loaded) = read("c.yaml", "metadata: {name: a}");
        assert_eq!(said(&loaded), ["the object has no `kind`"]);
        let (sources, loaded) = read("c.yaml", "kind: Pod\nmetadata: {name: b}\nspec: {containers: {}}");
        assert_eq!(said(&loaded), ["`spec.containers`: invalid type: map, expected a sequence"]);
        assert_eq!(sources.text(loaded.diagnostics[0].span), "{");
        let twice = "kind: Node\nmetadata: {name: n}\n---\nkind: Node\nmetadata: {name: n}\n";
        let (_, loaded) = read("c.yaml", twice);
        assert_eq!(said(&loaded), ["node `n` is given twice"]);
    }
}
