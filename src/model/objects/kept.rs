//! An object as the API has it without what nothing reads: what a file of a whole cluster keeps of it. The types that are
//! decoded say what the core reads of a kind; a [`Projection`] says what policies read beyond that.

use super::kinds::{Kind, KindRow};
use super::projection::{Fields, Projection};
use serde::de::DeserializeOwned;
use serde_ignored::Path;
use serde_json::{Map, Value, json};

/// A step to a part of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A field of a structure or a key of a map.
    Field(Box<str>),
    /// An element of a list.
    Element(usize),
}

/// The fields of an object that a type does not read; none where the object cannot be decoded, so that all of it is kept.
pub(super) fn unread<T: DeserializeOwned>(object: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let decoded: Result<T, _> = serde_ignored::deserialize(object, |path| found.push(steps(&path)));
    if decoded.is_err() { Vec::new() } else { found }
}

fn steps(path: &Path<'_>) -> Vec<Step> {
    let (before, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Step::Element(*index)),
        Path::Map { parent, key } => (parent, Step::Field(key.as_str().into())),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            return steps(parent);
        }
    };
    let mut all = steps(before);
    all.push(step);
    all
}

impl KindRow {
    /// What the core reads of an object, and what `keep` names beyond that, with `apiVersion` and `kind`.
    pub fn kept(&self, mut object: Value, keep: &Projection) -> Value {
        for path in (self.unread)(&object) {
            reduce(&mut object, &path, &keep.fields);
        }
        if self.keeps_annotations_by_key()
            && let Some(annotations) =
                object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.retain(|key, _| keep.annotations.keeps(key));
        }
        named(&self.api_version(), self.name, object)
    }

    /// Whether the core reads no annotations of the kind but those that the scheduler itself writes.
    fn keeps_annotations_by_key(&self) -> bool {
        matches!(self.kind, Kind::Pod | Kind::Node | Kind::Namespace)
    }
}

/// An object of a kind that only policies look up, with what they read of it and what names it.
pub fn kept_of_looked_up(api_version: &str, kind: &str, object: Value, keep: &Projection) -> Value {
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut kept = match keep.fields.of(object) {
        Value::Object(kept) => kept,
        _ => Map::new(),
    };
    let mut own: Map<String, Value> = metadata
        .into_iter()
        .filter(|(name, _)| {
            ["name", "namespace", "uid", "labels", "annotations", "ownerReferences", "creationTimestamp"]
                .contains(&name.as_str())
        })
        .collect();
    if let Some(annotations) = own.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| keep.annotations.keeps(key) && key != LAST_APPLIED);
    }
    if let Some(Value::Object(further)) = kept.get("metadata") {
        for (name, value) in further.iter().filter(|(name, _)| *name != "managedFields") {
            own.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    kept.insert("metadata".to_owned(), Value::Object(own));
    named(api_version, kind, Value::Object(kept))
}

/// The whole object once more, as a text, that `kubectl apply` writes into it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object with the two fields first that say what it is.
fn named(api_version: &str, kind: &str, object: Value) -> Value {
    let mut all = Map::new();
    all.insert("apiVersion".to_owned(), json!(api_version));
    all.insert("kind".to_owned(), json!(kind));
    if let Value::Object(fields) = object {
        all.extend(fields.into_iter().filter(|(name, _)| name != "apiVersion" && name != "kind"));
    }
    if let Some(annotations) = all.get_mut("metadata").and_then(|it| it.get_mut("annotations"))
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.shift_remove(LAST_APPLIED);
    }
    without_empty(Value::Object(all))
}

/// Without maps and lists of the outer two levels that have become empty.
fn without_empty(object: Value) -> Value {
    fn is_empty(value: &Value) -> bool {
        value.as_object().is_some_and(Map::is_empty) || value.is_null()
    }
    let Value::Object(mut fields) = object else { return object };
    for value in fields.values_mut() {
        if let Value::Object(inner) = value {
            inner.retain(|_, value| !is_empty(value));
        }
    }
    fields.retain(|_, value| !is_empty(value));
    Value::Object(fields)
}

/// Leaves of the part at a path what `keep` names of it.
fn reduce(object: &mut Value, path: &[Step], keep: &Fields) {
    let Some((last, before)) = path.split_last() else { return };
    let (mut place, mut keep) = (object, Some(keep));
    for step in before {
        let next = match step {
            Step::Field(name) => {
                keep = keep.and_then(|keep| below(keep, name));
                place.get_mut(&**name)
            }
            Step::Element(at) => place.get_mut(*at),
        };
        match next {
            Some(next) => place = next,
            None => return,
        }
    }
    let (Step::Field(name), Value::Object(fields)) = (last, place) else { return };
    match keep.and_then(|keep| below(keep, name)) {
        Some(Fields::All) => {}
        Some(some) => {
            if let Some(value) = fields.get_mut(&**name) {
                *value = some.of(value.take());
            }
        }
        None => drop(fields.shift_remove(&**name)),
    }
}

/// What is kept below a field; lists are transparent.
fn below<'f>(keep: &'f Fields, name: &str) -> Option<&'f Fields> {
    match keep {
        Fields::All => Some(keep),
        Fields::Only(fields) => fields.get(name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::projection::AnnotationKeys;
    use super::*;

    fn pod() -> Value {
        json!({
            "metadata": {
                "name": "a", "namespace": "n", "labels": {"app": "a.b"}, "managedFields": [{}],
                "annotations": {"x": "1", LAST_APPLIED: "{}", "bayplan.dev/x": "2"},
            },
            "spec": {
                "hostname": "h",
                "containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "secret"}],
                    "resources": {"requests": {"cpu": "1"}}}],
                "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
            },
            "status": {"phase": "Running", "podIP": "10.0.0.1"},
        })
    }

    #[test]
    fn what_nothing_reads_is_left_out() {
        let row = Kind::Pod.row().unwrap();
        let kept = row.kept(pod(), &Projection::default());
        assert_eq!((&kept["apiVersion"], &kept["kind"]), (&json!("v1"), &json!("Pod")));
        let text = kept.to_string();
        assert!(
            !["TOKEN", "secret", "hostname", "podIP", "managedFields", "\"x\""]
                .iter()
                .any(|word| text.contains(word)),
            "{text}"
        );
        assert_eq!(kept["metadata"]["labels"]["app"], "a.b");
        let read = |object: Value| (row.from_value)(std::sync::Arc::new(object)).unwrap();
        let (super::super::Object::Pod(all), super::super::Object::Pod(less)) = (read(pod()), read(kept))
        else {
            panic!("no pods")
        };
        let plain = |pod: &super::super::super::PodInfo| super::super::super::PodInfo {
            raw: None,
            annotations: Default::default(),
            ..pod.clone()
        };
        assert_eq!(plain(&all), plain(&less));
    }

    #[test]
    fn what_policies_read_stays() {
        let mut fields = Fields::default();
        fields.add(&["spec", "hostname"]);
        fields.add(&["spec", "containers", "env", "name"]);
        let annotations = AnnotationKeys::Only(["x".into()].into());
        let kept = Kind::Pod.row().unwrap().kept(pod(), &Projection { annotations, fields });
        assert_eq!(kept["spec"]["hostname"], "h");
        assert_eq!(kept["spec"]["containers"][0]["env"], json!([{"name": "TOKEN"}]));
        assert_eq!(kept["metadata"]["annotations"], json!({"x": "1"}));
    }

    #[test]
    fn what_cannot_be_decoded_stays_whole() {
        let kept =
            Kind::Node.row().unwrap().kept(json!({"metadata": 7, "spec": {"a": 1}}), &Projection::default());
        assert_eq!(kept["spec"]["a"], 1);
    }

    #[test]
    fn an_object_that_is_looked_up_keeps_its_names() {
        let mut fields = Fields::default();
        fields.add(&["spec", "size"]);
        let keep = Projection { fields, ..Projection::default() };
        let gang = json!({
            "metadata": {"name": "a", "uid": "u", "managedFields": [{}], "annotations": {"b": "c"}},
            "spec": {"size": 3, "other": 4},
        });
        let expected = json!({
            "apiVersion": "g.io/v1", "kind": "Gang", "spec": {"size": 3}, "metadata": {"name": "a", "uid": "u"},
        });
        assert_eq!(kept_of_looked_up("g.io/v1", "Gang", gang, &keep), expected);
    }
}
