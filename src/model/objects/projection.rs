//! What is kept of an object beside its slim fields: annotations by key, and fields of the object as
//! the API has it. What no rule reads is dropped when the object is decoded, so that memory does not
//! grow with what users write into their objects.
//!
//! `lang::analysis::keeps` derives it from policies; `cluster` decodes objects with it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is kept of each object of a kind. By default nothing: in-tree plugins
/// read slim fields only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Projection {
    /// Which annotations.
    pub annotations: AnnotationKeys,
    /// Which fields of the object as the API has it.
    pub fields: Fields,
}

/// Keys of annotations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnnotationKeys {
    /// Every key.
    All,
    /// These.
    Only(BTreeSet<Box<str>>),
}

/// Fields of an object by name. Lists are transparent: the fields are those of their elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fields {
    /// The value with all that is below it.
    All,
    /// Of a structure these fields only.
    Only(BTreeMap<Box<str>, Fields>),
}

/// The longest text that is kept of an annotation or of a field that rules read, in bytes. Memory is not to grow with what
/// users write: a longer text counts as absent.
pub(crate) const MOST_KEPT: usize = 16 * 1024;

/// Takes the texts out of a tree that are too long to be kept.
fn take_long_texts(value: &mut Value) {
    let is_long = |value: &Value| value.as_str().is_some_and(|text| text.len() > MOST_KEPT);
    match value {
        Value::Object(fields) => {
            if fields.values().any(is_long) {
                fields.retain(|_, value| !is_long(value));
            }
            fields.values_mut().for_each(take_long_texts);
        }
        Value::Array(items) => {
            items.retain(|item| !is_long(item));
            items.iter_mut().for_each(take_long_texts);
        }
        other if is_long(other) => *other = Value::Null,
        _ => {}
    }
}

/// A whole object of a file as a watch would keep it.
pub(crate) fn kept_whole(mut object: Arc<Value>) -> Arc<Value> {
    fn has_long_texts(value: &Value) -> bool {
        match value {
            Value::String(text) => text.len() > MOST_KEPT,
            Value::Array(items) => items.iter().any(has_long_texts),
            Value::Object(fields) => fields.values().any(has_long_texts),
            _ => false,
        }
    }
    if has_long_texts(&object) {
        take_long_texts(Arc::make_mut(&mut object));
    }
    object
}

impl Default for AnnotationKeys {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Default for Fields {
    fn default() -> Self {
        Self::Only(BTreeMap::new())
    }
}

impl Projection {
    /// Keeps all.
    pub fn everything() -> Self {
        Self { annotations: AnnotationKeys::All, fields: Fields::All }
    }

    /// Keeps also what another one keeps.
    pub fn merge(&mut self, other: &Self) {
        self.annotations.merge(&other.annotations);
        self.fields.merge(&other.fields);
    }

    /// Whether it keeps at least what another one keeps.
    pub fn covers(&self, other: &Self) -> bool {
        self.annotations.covers(&other.annotations) && self.fields.covers(&other.fields)
    }
}

impl AnnotationKeys {
    /// Whether annotations under this key are kept.
    pub fn keeps(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            // The scheduler itself reads what is left to do for bound pods, and which pods are static.
            Self::Only(keys) => {
                keys.contains(key)
                    || key.starts_with(crate::AFTER_BIND)
                    || key == crate::metadata_change::STATIC_POD
            }
        }
    }

    /// Keeps also this key.
    pub fn add(&mut self, key: &str) {
        if let Self::Only(keys) = self {
            keys.insert(key.into());
        }
    }

    fn merge(&mut self, other: &Self) {
        match other {
            Self::All => *self = Self::All,
            Self::Only(keys) => keys.iter().for_each(|key| self.add(key)),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(mine), Self::Only(others)) => mine.is_superset(others),
        }
    }
}

impl Fields {
    /// Whether no field is kept.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(fields) if fields.is_empty())
    }

    /// Keeps also the value at a path, with all that is below it.
    pub fn add(&mut self, path: &[&str]) {
        match (path.split_first(), self) {
            (None, this) => *this = Self::All,
            (Some(_), Self::All) => {}
            (Some((name, below)), Self::Only(fields)) => {
                fields.entry((*name).into()).or_default().add(below);
            }
        }
    }

    /// Keeps the value at a path without what is below it: whether it exists, the length of a list.
    pub fn add_shell(&mut self, path: &[&str]) {
        if let (Some((name, below)), Self::Only(fields)) = (path.split_first(), self) {
            fields.entry((*name).into()).or_default().add_shell(below);
        }
    }

    /// The paths, such as `spec.hostname`, in the order of their names.
    pub fn paths(&self) -> Vec<String> {
        let Self::Only(fields) = self else { return vec![String::new()] };
        let mut all = Vec::new();
        for (name, below) in fields {
            match below.paths().as_slice() {
                [] => all.push(name.to_string()),
                paths => all.extend(paths.iter().map(|path| match path.as_str() {
                    "" => name.to_string(),
                    path => format!("{name}.{path}"),
                })),
            }
        }
        all
    }

    /// What remains of a value. Texts longer than [`MOST_KEPT`] do not.
    pub fn of(&self, value: Value) -> Value {
        match (self, value) {
            (Self::Only(fields), Value::Object(mut object)) => {
                // A new map: one whose entries are removed keeps its memory.
                let kept = fields.iter().filter_map(|(name, below)| {
                    Some((name.to_string(), below.of(object.swap_remove(&**name)?)))
                });
                Value::Object(kept.collect())
            }
            (Self::Only(_), Value::Array(items)) => {
                Value::Array(items.into_iter().map(|item| self.of(item)).collect())
            }
            (_, mut value) => {
                take_long_texts(&mut value);
                value
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::All, _) => {}
            (this, Self::All) => *this = Self::All,
            (Self::Only(mine), Self::Only(others)) => {
                for (name, below) in others {
                    mine.entry(name.clone()).or_default().merge(below);
                }
            }
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(mine), Self::Only(others)) => {
                others.iter().all(|(name, below)| mine.get(name).is_some_and(|it| it.covers(below)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(paths: &[&str]) -> Fields {
        let mut fields = Fields::default();
        paths.iter().for_each(|path| fields.add(&path.split('.').collect::<Vec<_>>()));
        fields
    }

    #[test]
    fn only_the_paths_remain_and_lists_keep_their_length() {
        let pod = json!({
            "metadata": {"name": "a", "uid": "u"},
            "spec": {"hostname": "h", "containers": [{"name": "c", "image": "i"}, {"name": "d"}], "x": null},
            "status": {"podIPs": [{"ip": "10.0.0.1"}]},
        });
        let kept =
            fields(&["spec.containers.image", "spec.hostname", "spec.x", "status.podIPs", "spec.none"]);
        let expected = json!({
            "spec": {"containers": [{"image": "i"}, {}], "hostname": "h", "x": null},
            "status": {"podIPs": [{"ip": "10.0.0.1"}]},
        });
        assert_eq!(kept.of(pod.clone()), expected);
        assert_eq!(Fields::All.of(pod.clone()), pod);
        assert_eq!(Fields::default().of(pod), json!({}));
        let paths = kept.paths();
        assert_eq!(paths, ["spec.containers.image", "spec.hostname", "spec.none", "spec.x", "status.podIPs"]);
    }

    #[test]
    fn long_texts_are_absent() {
        let (long, longest) = ("x".repeat(MOST_KEPT + 1), "x".repeat(MOST_KEPT));
        let object = json!({
            "data": {"a": long, "b": longest, "c": ["y", long]}, "spec": {"a": long}, "list": [{"a": long, "b": 1}],
        });
        let kept = json!({"data": {"b": longest, "c": ["y"]}, "spec": {}, "list": [{"b": 1}]});
        assert_eq!(Fields::All.of(object.clone()), kept);
        assert_eq!(*kept_whole(Arc::new(object.clone())), kept);
        assert_eq!(
            fields(&["data", "spec.a"]).of(object),
            json!({"data": kept["data"], "spec": {"a": null}})
        );
    }

    #[test]
    fn a_union_covers_its_parts() {
        let sets = [&["spec"][..], &["spec.a", "status"], &["spec.a.b"], &[]];
        let of = |paths: &[&str], keys: &[&str]| Projection {
            annotations: AnnotationKeys::Only(keys.iter().map(|key| (*key).into()).collect()),
            fields: fields(paths),
        };
        for a in sets {
            for b in sets {
                let (first, second) = (of(a, &["x"]), of(b, &["y"]));
                let mut both = first.clone();
                both.merge(&second);
                assert!(both.covers(&first) && both.covers(&second) && !second.covers(&both), "{a:?} {b:?}");
                assert!(Projection::everything().covers(&both));
            }
        }
        assert!(of(&["spec"], &[]).covers(&of(&["spec.a.b"], &[])));
        assert!(!of(&["spec.a"], &[]).covers(&of(&["spec"], &[])));
    }
}
