//! [`MetadataChange`]: annotations and labels that policies set on an object or remove from it. Also the names of the
//! annotations that say what is left to do for a bound pod.

use super::labels::{Annotations, Labels, metadata_problem};
use super::pod::PodInfo;
use super::pod_annotations::pod_annotation_problem;
use super::symbol::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The annotations of a pod whose plugin has something to do after the binding: the name of the plugin follows. The
/// condition of the same name says that it is done.
pub const AFTER_BIND: &str = "after-bind.bayplan.dev/";

/// The annotation of a pod for which this plugin has something to do after the binding.
pub fn after_bind_mark(plugin: &str) -> Symbol {
    Symbol::from(format!("{AFTER_BIND}{plugin}"))
}

/// The annotation of the mirror of a static pod, which a kubelet makes. One that another writer set is deleted by the
/// kubelet.
///
/// Source: `pkg/kubelet/types/pod_update.go`, `ConfigMirrorAnnotationKey`.
pub(crate) const STATIC_POD: &str = "kubernetes.io/config.mirror";

impl PodInfo {
    /// Whether it is the mirror of a static pod: it runs whether the API server has it or not.
    pub fn is_static(&self) -> bool {
        self.annotations.get(STATIC_POD).is_some()
    }

    /// The plugins that have something to do for the pod after its binding, if their marks hold, and the values of these.
    pub fn after_bind_marks(&self) -> impl Iterator<Item = (&str, &str)> {
        let marks = self.annotations.iter();
        marks.filter_map(|(key, value)| Some((key.as_str().strip_prefix(AFTER_BIND)?, &**value)))
    }
}

/// Keys that are set, or removed: `None`. All others stay as they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetadataChange {
    /// Annotations.
    pub annotations: BTreeMap<Symbol, Option<Arc<str>>>,
    /// Labels.
    pub labels: BTreeMap<Symbol, Option<Symbol>>,
}

impl MetadataChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.labels.is_empty()
    }

    /// Takes another change in, which is made after this one.
    pub fn then(&mut self, later: MetadataChange) {
        self.annotations.extend(later.annotations);
        self.labels.extend(later.labels);
    }

    /// Why the API server would refuse the change, whatever the object has; `None` if it may take it.
    pub fn problem(&self) -> Option<String> {
        let annotations = self.annotations.iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let labels = self.labels.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        metadata_problem(annotations, labels, 0)
    }

    /// Why the API server would refuse the change of a pod; `None` if it may take it.
    pub fn problem_on_pod(&self) -> Option<String> {
        let mut annotations = self.annotations.iter();
        let problem =
            annotations.find_map(|(key, value)| pod_annotation_problem(key, value.as_deref().unwrap_or("0")));
        problem.or_else(|| self.problem())
    }

    /// Annotations after the change.
    pub fn annotations_of(&self, before: &Annotations) -> Annotations {
        let kept = before.iter().filter(|(key, _)| !self.annotations.contains_key(*key));
        let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
        let set = self.annotations.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        kept.chain(set).collect::<Annotations>().with_left_out_of(before)
    }

    /// Labels after the change.
    pub fn labels_of(&self, before: &Labels) -> Labels {
        let kept = before.iter().filter(|(key, _)| !self.labels.contains_key(*key));
        let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
        let set = self.labels.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        kept.chain(set).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;

    #[test]
    fn a_change_sets_and_removes_its_keys_and_leaves_the_others() {
        let pod = pod("p").annotation("x", "old").annotation("y", "kept").annotation("z", "goes").build();
        let annotations =
            BTreeMap::from([("x".into(), Some("new".into())), ("z".into(), None), ("none".into(), None)]);
        let change = MetadataChange { annotations, ..MetadataChange::default() };
        let after = change.annotations_of(&pod.annotations);
        let after: Vec<_> = after.iter().map(|(key, value)| (key.as_str(), &**value)).collect();
        assert_eq!(after, [("x", "new"), ("y", "kept")]);
        let mark = after_bind_mark("sticky");
        let marked = crate::testing::pod("p").annotation(mark.as_str(), "1").annotation("x", "y").build();
        assert_eq!(marked.after_bind_marks().collect::<Vec<_>>(), [("sticky", "1")]);
    }
}
