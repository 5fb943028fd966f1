//! Annotations and labels that a binding adds to its pod. The API server copies those of a Binding to the pod in the
//! transaction that sets the node.
//!
//! Source: `setPodNodeAndMetadata` in `pkg/registry/core/pod/storage/storage.go`; labels since Kubernetes 1.35
//! (KEP-4742).

use super::labels::{Annotations, Labels};
use super::pod::PodInfo;
use super::symbol::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Annotations and labels, by key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodMarks {
    /// Annotations.
    pub annotations: BTreeMap<Symbol, Arc<str>>,
    /// Labels.
    pub labels: BTreeMap<Symbol, Symbol>,
}

impl PodMarks {
    /// The first version of Kubernetes whose API server copies the labels of a Binding to its pod; annotations were
    /// always copied.
    pub const LABELS_SINCE: (u32, u32) = (1, 35);

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.labels.is_empty()
    }

    /// Takes others in; of two with one key the other counts.
    pub fn add(&mut self, others: PodMarks) {
        self.annotations.extend(others.annotations);
        self.labels.extend(others.labels);
    }

    /// The pod with these marks, which replace its own under the same keys.
    pub fn laid_over(&self, pod: &PodInfo) -> PodInfo {
        let own = pod.annotations.iter().filter(|(key, _)| !self.annotations.contains_key(*key));
        let annotations: Annotations =
            own.chain(&self.annotations).map(|(key, value)| (key.clone(), value.clone())).collect();
        let own = pod.labels.iter().filter(|(key, _)| !self.labels.contains_key(*key));
        let labels: Labels =
            own.chain(&self.labels).map(|(key, value)| (key.clone(), value.clone())).collect();
        let raw = pod.raw.as_ref().map(|raw| Arc::new(self.laid_over_object(raw)));
        PodInfo { annotations, labels, raw, ..pod.clone() }
    }

    /// The same for the object as the API has it.
    fn laid_over_object(&self, object: &serde_json::Value) -> serde_json::Value {
        let annotations = self.annotations.iter().map(|(key, value)| ("annotations", key, &**value));
        let labels = self.labels.iter().map(|(key, value)| ("labels", key, value.as_str()));
        let mut object = object.clone();
        for (part, key, value) in annotations.chain(labels) {
            object["metadata"][part][key.as_str()] = value.into();
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;

    #[test]
    fn marks_replace_what_the_pod_has_under_the_same_keys_and_leave_the_rest() {
        let pod = pod("p").label("a", "1").label("b", "2").annotation("x", "old").build();
        let marks = PodMarks {
            annotations: BTreeMap::from([("x".into(), "new".into()), ("y".into(), "added".into())]),
            labels: BTreeMap::from([("b".into(), "3".into())]),
        };
        let marked = marks.laid_over(&pod);
        let annotations: Vec<_> =
            marked.annotations.iter().map(|(key, value)| (key.as_str(), &**value)).collect();
        assert_eq!(annotations, [("x", "new"), ("y", "added")]);
        let labels: Vec<_> =
            marked.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("a", "1"), ("b", "3")]);
    }
}
