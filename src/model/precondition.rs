//! [`PodPrecondition`] and [`Filed`]: one property that a pod must have before a plugin can say anything about it.
//!
//! Policies derive it from `applies when` (`lang`), in-tree plugins state it, and `framework` files
//! the plugins of a profile under it, so that a pod costs nothing in plugins that ignore it. A
//! precondition may admit a pod that the plugin then ignores, but never the other way round. Indexes of the snapshot
//! state one too.

use super::constraints::ConstraintKinds;
use super::pod::PodInfo;
use super::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::hash::Hash;

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

/// Things by the key of their precondition.
type ByKey<K, T> = FxHashMap<K, Vec<T>>;

/// Things filed under the preconditions that they state, so that a pod costs nothing in those that it does not concern.
#[derive(Clone, Debug)]
pub struct Filed<T> {
    namespaces: ByKey<Symbol, T>,
    labels: ByKey<(Symbol, Symbol), T>,
    label_keys: ByKey<Symbol, T>,
    annotations: ByKey<Symbol, T>,
    requests: ByKey<Symbol, T>,
    constraints: Vec<(ConstraintKinds, T)>,
    /// All kinds in `constraints`.
    constraint_kinds: ConstraintKinds,
}

impl<T> Default for Filed<T> {
    fn default() -> Self {
        Self {
            namespaces: ByKey::default(),
            labels: ByKey::default(),
            label_keys: ByKey::default(),
            annotations: ByKey::default(),
            requests: ByKey::default(),
            constraints: Vec::new(),
            constraint_kinds: ConstraintKinds::default(),
        }
    }
}

impl<T: Copy> Filed<T> {
    /// Files a thing under its precondition.
    pub fn file(&mut self, precondition: PodPrecondition, thing: T) {
        fn file<K: Hash + Eq, T>(filed: &mut ByKey<K, T>, key: K, thing: T) {
            filed.entry(key).or_default().push(thing);
        }
        match precondition {
            PodPrecondition::Label(key) => file(&mut self.label_keys, key, thing),
            PodPrecondition::LabelIn(key, values) => {
                values.into_iter().for_each(|value| file(&mut self.labels, (key.clone(), value), thing));
            }
            PodPrecondition::Annotation(key) => file(&mut self.annotations, key, thing),
            PodPrecondition::Namespace(names) => {
                names.into_iter().for_each(|name| file(&mut self.namespaces, name, thing));
            }
            PodPrecondition::Requests(name) => file(&mut self.requests, name, thing),
            PodPrecondition::Constraints(kinds) => {
                self.constraints.push((kinds, thing));
                self.constraint_kinds = self.constraint_kinds.with(kinds);
            }
        }
    }

    /// Calls `found` for each thing whose precondition the pod meets, in no order that means anything; for some more
    /// than once.
    pub fn each(&self, pod: &PodInfo, mut found: impl FnMut(T)) {
        let mut all = |things: Option<&Vec<T>>| things.into_iter().flatten().for_each(|thing| found(*thing));
        if !self.namespaces.is_empty() {
            all(self.namespaces.get(&pod.namespace));
        }
        if !self.label_keys.is_empty() {
            pod.labels.iter().for_each(|(key, _)| all(self.label_keys.get(key)));
        }
        if !self.labels.is_empty() {
            for (key, value) in pod.labels.iter() {
                all(self.labels.get(&(key.clone(), value.clone())));
            }
        }
        if !self.annotations.is_empty() {
            pod.annotations.iter().for_each(|(key, _)| all(self.annotations.get(key)));
        }
        // A cluster has few resources.
        for (name, things) in &self.requests {
            if pod.requests.get(name) > 0 {
                all(Some(things));
            }
        }
        let kinds = pod.constraint_kinds();
        if kinds.intersects(self.constraint_kinds) {
            let concerned = self.constraints.iter().filter(|(of, _)| of.intersects(kinds));
            concerned.for_each(|(_, thing)| found(*thing));
        }
    }
}
