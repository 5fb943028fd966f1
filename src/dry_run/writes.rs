//! What policies write in a dry run: labels and annotations that go with a binding (`reserve`), and what `before bind`,
//! `after bind` and `after failure` patch. `dry-run` prints it, and tests of policies expect it.

use bayplan_framework::{ApiCall, PatchBody};
use bayplan_model::{Kind, ObjectKey};
use serde_json::{Map, Value, json};

/// The domain of the scheduler's own marks, which no policy writes: `bayplan.dev/…`, `after-bind.bayplan.dev/…`.
const OWN: &str = "bayplan.dev";

/// What was written into objects, in the order of the first writes.
#[derive(Clone, Debug, Default)]
pub struct Writes(Vec<(ObjectKey, Value)>);

impl Writes {
    /// Notes a call that was answered without an error.
    pub(super) fn note(&mut self, call: &ApiCall) {
        let (of, written) = match call {
            ApiCall::Bind { pod, marks, .. } => {
                let annotations = marks.annotations.iter().map(|(key, value)| (key.as_str(), json!(**value)));
                let labels = marks.labels.iter().map(|(key, value)| (key.as_str(), json!(value.as_str())));
                (pod, metadata(annotations, labels))
            }
            ApiCall::Patch { of, body: PatchBody::Metadata(change), .. } => {
                let annotations =
                    change.annotations.iter().map(|(key, value)| (key.as_str(), json!(value.as_deref())));
                let labels = change
                    .labels
                    .iter()
                    .map(|(key, value)| (key.as_str(), json!(value.as_ref().map(|of| of.as_str()))));
                (of, metadata(annotations, labels))
            }
            ApiCall::Patch { of, body: PatchBody::Apply(intent), .. } => {
                (of, Value::Object(intent.fields.clone()))
            }
            _ => return,
        };
        if written.as_object().is_none_or(Map::is_empty) {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| same(known, of)) {
            Some((_, known)) => merge(known, written),
            None => self.0.push((of.clone(), written)),
        }
    }

    /// What was written into an object: `labels`, `annotations`, and other fields from its top; null removes.
    pub fn of(&self, wanted: &ObjectKey) -> Option<&Value> {
        self.0.iter().find(|(of, _)| same(of, wanted)).map(|(_, written)| written)
    }

    /// What was written into the object of a name, such as `Node/n1`.
    pub fn named(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(of, _)| names(of).iter().any(|known| known == name)).map(|(_, written)| written)
    }

    /// Every object with what was written into it.
    pub fn iter(&self) -> impl Iterator<Item = (String, &Value)> {
        self.0.iter().map(|(of, written)| (names(of).into_iter().next_back().unwrap_or_default(), written))
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn same(a: &ObjectKey, b: &ObjectKey) -> bool {
    (&a.kind, &a.namespace, &a.name) == (&b.kind, &b.namespace, &b.name)
}

/// `Pod/web` and `Pod/shop/web`.
fn names(of: &ObjectKey) -> Vec<String> {
    let kind = match &of.kind {
        Kind::LookedUp(name) => name.kind(),
        kind => kind.row().map_or("", |row| row.name),
    };
    let mut names = vec![format!("{kind}/{}", of.name)];
    if !of.namespace.is_empty() {
        names.push(format!("{kind}/{}/{}", of.namespace, of.name));
    }
    names
}

/// Annotations and labels without the scheduler's own.
fn metadata<'k>(
    annotations: impl Iterator<Item = (&'k str, Value)>,
    labels: impl Iterator<Item = (&'k str, Value)>,
) -> Value {
    let others = |all: &mut dyn Iterator<Item = (&'k str, Value)>| -> Map<String, Value> {
        all.filter(|(key, _)| !key.split('/').next().is_some_and(|domain| domain.ends_with(OWN)))
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    };
    let (mut annotations, mut labels) = (annotations, labels);
    let both = [("annotations", others(&mut annotations)), ("labels", others(&mut labels))];
    both.into_iter()
        .filter(|(_, all)| !all.is_empty())
        .map(|(field, all)| (field.to_owned(), Value::from(all)))
        .collect()
}

/// Takes a later write in.
fn merge(known: &mut Value, later: Value) {
    match (known, later) {
        (Value::Object(known), Value::Object(later)) => {
            for (key, value) in later {
                merge(known.entry(key).or_insert(Value::Null), value);
            }
        }
        (known, later) => *known = later,
    }
}
