//! [`Largest`]: how many labels, containers and other parts the objects of a watch have at most, to be compared with what
//! `--size` declares. Noted by the watches, away from the scheduling thread, and forgotten with the next list: an object
//! that became smaller counts as it was until then.

use bayplan_lang::analysis::cost::Size;
use bayplan_lang::language::fields::{CountedPart, PARTS};
use bayplan_model::{Object, ResourceClaim, ResourceSlice, downcast};
use serde_json::Value;

/// The most parts that one object has, in the order of [`PARTS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Largest([u32; PARTS.len()]);

impl Largest {
    /// An object was seen.
    pub(crate) fn note(&mut self, object: &Object) {
        match object {
            Object::Pod(pod) => {
                self.grow(CountedPart::Labels, pod.labels.iter().count());
                self.grow(CountedPart::Annotations, pod.annotations.iter().len());
                self.grow(CountedPart::Containers, pod.containers.len());
                self.grow(CountedPart::Tolerations, pod.tolerations.len());
                self.grow(CountedPart::Claims, pod.devices().map_or(0, |of| of.claims.len()));
                self.grow(CountedPart::Terms, pod.raw.as_deref().map_or(0, longest));
            }
            Object::Node(node) => {
                self.grow(CountedPart::Labels, node.labels.iter().count());
                self.grow(CountedPart::Annotations, node.annotations.iter().len());
                self.grow(CountedPart::Taints, node.taints.len());
                self.grow(CountedPart::Images, node.images.iter().map(|image| image.names.len()).sum());
                self.grow(CountedPart::Terms, node.raw.as_deref().map_or(0, longest));
            }
            // A node reaches several slices; those that it reaches alone are seldom more than one for each driver.
            Object::Other(other) => {
                let slice = downcast::<ResourceSlice>(&**other);
                self.grow(CountedPart::Devices, slice.map_or(0, |slice| slice.devices.len()));
                let claim = downcast::<ResourceClaim>(&**other);
                let requests = claim.into_iter().flat_map(|claim| claim.requests.iter());
                self.grow(CountedPart::Requests, requests.map(|of| of.first_available.len().max(1)).sum());
            }
            Object::Namespace(_) => {}
        }
    }

    fn grow(&mut self, part: CountedPart, count: usize) {
        let at = PARTS.iter().position(|row| row.part == part);
        if let Some(known) = at.and_then(|at| self.0.get_mut(at)) {
            *known = (*known).max(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// Of both, the larger.
    pub(crate) fn max(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine = (*mine).max(other));
        self
    }

    /// Each part that is counted: its name, how many one object has, and how many the size declares.
    pub(crate) fn beside(self, size: Size) -> impl Iterator<Item = (&'static str, u32, u32)> {
        let counted = |part: CountedPart| !matches!(part, CountedPart::Objects | CountedPart::Nominated);
        let all = PARTS.iter().zip(self.0).filter(move |(row, _)| counted(row.part));
        all.map(move |(row, count)| (row.name, count, size.of_object(row.part)))
    }

    /// The size with what it declares too few of.
    pub(crate) fn exceeding(self, size: Size) -> Size {
        let larger = PARTS.iter().zip(self.0).filter(|(row, count)| *count > size.of_object(row.part));
        larger.fold(size, |size, (row, count)| size.with(row.part, count))
    }

    /// What exceeds the size, as sentences.
    pub(crate) fn exceeded(self, size: Size) -> Vec<String> {
        let over = self.beside(size).filter(|(_, count, declared)| count > declared);
        over.map(|(part, count, declared)| {
            format!("an object has {count} {part}, and the policy is compiled for `--size {part}={declared}`")
        })
        .collect()
    }
}

/// The longest list or map in a tree.
fn longest(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest).fold(items.len(), usize::max),
        Value::Object(fields) => fields.values().map(longest).fold(fields.len(), usize::max),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::testing::{node, pod};

    #[test]
    fn the_largest_object_is_compared_with_the_size() {
        let mut largest = Largest::default();
        let labelled = (0..40).fold(pod("p"), |pod, at| pod.label(&format!("l{at}"), "x"));
        largest.note(&labelled.object());
        largest.note(&pod("small").label("a", "b").object());
        let tainted = (0..3).fold(node("n"), |node, at| node.taint(&format!("t{at}"), "", "NoSchedule"));
        largest.note(&tainted.object());
        let size = Size::of(10, 10);
        let of = |name: &str| largest.beside(size).find(|(part, ..)| *part == name);
        assert_eq!((of("labels"), of("taints")), (Some(("labels", 40, 32)), Some(("taints", 3, 100))));
        assert_eq!((of("objects"), of("nominated")), (None, None));
        let said = "an object has 40 labels, and the policy is compiled for `--size labels=32`";
        assert_eq!(largest.exceeded(size), [said]);
        assert_eq!(largest.exceeding(size), size.with(CountedPart::Labels, 40));
        assert_eq!(Largest::default().exceeding(size), size);
        assert_eq!(Largest::default().max(largest), largest);
    }

    #[test]
    fn lists_below_spec_count_wherever_they_are() {
        let tree = serde_json::json!({"spec": {"a": [1, {"b": [1, 2, 3]}], "c": {"d": 1}}});
        assert_eq!(longest(&tree), 3);
    }
}
