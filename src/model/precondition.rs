//! [`PodPrecondition`]: one property that a pod must have before a plugin can say anything about it.
//!
//! Policies derive it from `applies when` (`lang`), in-tree plugins state it, and `framework` files
//! the plugins of a profile under it, so that a pod costs nothing in plugins that ignore it. A
//! precondition may admit a pod that the plugin then ignores, but never the other way round.

use super::constraints::ConstraintKinds;
use super::pod::PodInfo;
use super::symbol::Symbol;

/// One property of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodPrecondition {
    /// The pod has a label with this key.
    Label(Symbol),
    /// The pod has a label with this key and one of these values.
    LabelIn(Symbol, Vec<Symbol>),
    /// The pod has an annotation with this key.
    Annotation(Symbol),
    /// The pod is in one of these namespaces.
    Namespace(Vec<Symbol>),
    /// The pod requests more than 0 of this resource.
    Requests(Symbol),
    /// The pod has a constraint of one of these kinds.
    Constraints(ConstraintKinds),
}

impl PodPrecondition {
    /// Whether the pod has the property.
    pub fn holds(&self, pod: &PodInfo) -> bool {
        match self {
            Self::Label(key) => pod.labels.get(key).is_some(),
            Self::LabelIn(key, values) => pod.labels.get(key).is_some_and(|value| values.contains(value)),
            Self::Annotation(key) => pod.annotations.get(key).is_some(),
            Self::Namespace(names) => names.contains(&pod.namespace),
            Self::Requests(name) => pod.requests.get(name) > 0,
            Self::Constraints(kinds) => pod.constraint_kinds().intersects(*kinds),
        }
    }
    /// Where the plugin is filed when several preconditions hold: the lowest is held by the fewest
    /// pods, as a rule.
    pub fn rank(&self) -> u8 {
        match self {
            Self::LabelIn(..) => 0,
            Self::Annotation(_) => 1,
            Self::Label(_) => 2,
            Self::Namespace(_) => 3,
            Self::Requests(_) => 4,
            Self::Constraints(_) => 5,
        }
    }
}
