//! JSON merge patches (RFC 7396) of parsed objects, as far as these have the fields.

use super::metadata_change::MetadataChange;
use super::node::Node;
use super::symbol::Symbol;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Applies a merge patch: maps are merged, `null` removes, anything else replaces.
pub fn merge(to: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *to = patch.clone();
        return;
    };
    if !to.is_object() {
        *to = Value::Object(Map::new());
    }
    let Value::Object(to) = to else { return };
    for (name, value) in patch {
        match value {
            Value::Null => {
                to.remove(name);
            }
            value => merge(to.entry(name.clone()).or_insert(Value::Null), value),
        }
    }
}

impl MetadataChange {
    /// The annotations and labels of a merge patch. `None`: it changes other metadata too.
    pub fn of_patch(patch: &Value) -> Option<Self> {
        let mut change = Self::default();
        let Some(metadata) = patch.get("metadata") else { return Some(change) };
        for (part, keys) in metadata.as_object()? {
            for (key, value) in keys.as_object()? {
                let (key, text) = (Symbol::new(key), value.as_str());
                match part.as_str() {
                    "annotations" => change.annotations.insert(key, text.map(Arc::from)).is_some(),
                    "labels" => change.labels.insert(key, text.map(Symbol::new)).is_some(),
                    _ => return None,
                };
            }
        }
        Some(change)
    }
}

impl Node {
    /// The node after a merge patch, as far as nodes are kept: annotations, labels, `spec.unschedulable`, and what policies
    /// read of the object as the API has it. `None`: the patch changes other metadata.
    pub fn merged(&self, patch: &Value) -> Option<Self> {
        let change = MetadataChange::of_patch(patch)?;
        let raw = self.raw.as_deref().map(|raw| {
            let mut raw = raw.clone();
            merge(&mut raw, patch);
            Arc::new(raw)
        });
        let unschedulable = match patch.pointer("/spec/unschedulable") {
            Some(value) => value.as_bool().unwrap_or(false),
            None => self.unschedulable,
        };
        Some(Self {
            annotations: change.annotations_of(&self.annotations),
            labels: change.labels_of(&self.labels),
            unschedulable,
            raw,
            ..self.clone()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Object;
    use crate::testing::node;
    use serde_json::json;

    #[test]
    fn maps_are_merged_null_removes_and_the_rest_is_replaced() {
        let mut object = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        merge(&mut object, &json!({"a": {"b": null, "c": [3], "e": {"f": true}}, "d": {"g": 1}}));
        assert_eq!(object, json!({"a": {"c": [3], "e": {"f": true}}, "d": {"g": 1}}));
    }

    #[test]
    fn a_node_gets_what_is_kept_of_it() {
        let Object::Node(before) = node("n").label("a", "1").object() else { panic!() };
        let patch = json!({"metadata": {"labels": {"a": null, "b": "2"}, "annotations": {"c": "3"}},
                           "spec": {"unschedulable": true}});
        let after = before.merged(&patch).unwrap();
        assert_eq!(
            (after.labels.get(&"a".into()), after.labels.get(&"b".into()).map(Symbol::as_str)),
            (None, Some("2"))
        );
        assert_eq!((after.annotations.get("c"), after.unschedulable), (Some("3"), true));
        let back = after.merged(&json!({"spec": {"unschedulable": null}})).unwrap();
        assert!(!back.unschedulable && back.labels == after.labels);
        assert!(before.merged(&json!({"metadata": {"finalizers": ["x"]}})).is_none());
    }
}
