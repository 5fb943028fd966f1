//! Annotations and labels that a binding adds to its pod. The API server copies those of a Binding to the pod in the
//! transaction that sets the node.
//!
//! Marks are laid over the assumed pod (`snapshot/pods.rs`) and go when the pod loses its node or is seen bound. A
//! pod that an extender binds is not bound with marks: the extender's protocol has no place for them.
//!
//! Source: `setPodNodeAndMetadata` in `pkg/registry/core/pod/storage/storage.go`; labels since Kubernetes 1.35
//! (KEP-4742).

use super::labels::{Annotations, Labels, metadata_problem};
use super::pod::PodInfo;
use super::pod_annotations::pod_annotation_problem;
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

    /// Why the API server would not have these marks on the pod; `None` if it would. It copies those of a Binding without
    /// a look at them, and refuses every later update of the pod, also of its status.
    pub fn problem_on(&self, pod: &PodInfo) -> Option<String> {
        let replaced = pod.annotations.iter().filter(|(key, _)| self.annotations.contains_key(*key));
        let replaced: usize = replaced.map(|(key, value)| key.len() + value.len()).sum();
        let annotations = self.annotations.iter().map(|(key, value)| (key, &**value));
        let mut checked = annotations.clone();
        checked
            .find_map(|(key, value)| pod_annotation_problem(key, value))
            .or_else(|| metadata_problem(annotations, &self.labels, pod.annotations.bytes() - replaced))
    }

    /// The pod with these marks, which replace its own under the same keys.
    pub fn laid_over(&self, pod: &PodInfo) -> PodInfo {
        let own = pod.annotations.iter().filter(|(key, _)| !self.annotations.contains_key(*key));
        let annotations: Annotations =
            own.chain(&self.annotations).map(|(key, value)| (key.clone(), value.clone())).collect();
        let annotations = annotations.with_left_out_of(&pod.annotations);
        let own = pod.labels.iter().filter(|(key, _)| !self.labels.contains_key(*key));
        let labels: Labels =
            own.chain(&self.labels).map(|(key, value)| (key.clone(), value.clone())).collect();
        let raw = pod.raw.as_ref().map(|raw| Arc::new(self.laid_over_object(raw)));
        PodInfo { annotations, labels, raw, ..pod.clone() }
    }

    /// The object as the API has it, with the marks laid over it.
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

    #[test]
    fn what_the_api_server_would_not_have_is_found_with_what_the_pod_has() {
        let limit = 256 * 1024;
        // 32 bytes beside the annotations of the pod; each is short enough to be kept.
        let room = |used: usize| {
            let full = used / 8_000;
            let rest = used % 8_000;
            let filled =
                (0..full).fold(pod("p"), |pod, at| pod.annotation(&format!("f{at:02}"), &"v".repeat(7_997)));
            let pod = filled.annotation("x", &"v".repeat(rest - 1)).build();
            assert_eq!(pod.annotations.bytes(), used);
            let marks = |key: &str, value: &str| PodMarks {
                annotations: BTreeMap::from([(key.into(), value.into())]),
                ..PodMarks::default()
            };
            let added = marks("example.com/added", &"w".repeat(15));
            let replaced = marks("x", &"w".repeat(rest - 1 + limit - used));
            assert_eq!(replaced.problem_on(&pod), None);
            let mut less = PodInfo::clone(&pod);
            less.annotations.retain(|_, _| false);
            assert_eq!(added.problem_on(&less), added.problem_on(&pod), "what is not kept counts");
            added.problem_on(&pod)
        };
        assert_eq!(room(limit - 32), None);
        let text = "its annotations would take 262145 bytes together, and the API server takes 262144";
        assert_eq!(room(limit - 31).as_deref(), Some(text));
        let long = pod("p").annotation("x", &"v".repeat(20_000)).build();
        assert_eq!((long.annotations.get("x"), long.annotations.bytes()), (None, 20_001));
        let label = |key: &str, value: &str| PodMarks {
            labels: BTreeMap::from([(key.into(), value.into())]),
            ..PodMarks::default()
        };
        let pod = pod("p").build();
        assert_eq!(label("a/b", "v").problem_on(&pod), None);
        assert!(
            label("a/b", "v_")
                .problem_on(&pod)
                .unwrap()
                .starts_with("\"v_\" is not a valid value of label a/b")
        );
        assert!(label("a_", "v").problem_on(&pod).unwrap().starts_with("\"a_\" is not a valid key"));
    }
}
