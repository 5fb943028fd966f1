//! [`SelectorIndex`]: the Services and budgets of a namespace by one label pair that their selectors require, so that
//! those that select a pod are found without a look at the others.

use super::labels::{Labels, SelectorOperator};
use super::objects::{ApiObject, Kind, PodDisruptionBudget, Service, Typed, downcast};
use super::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A kind of object that selects pods of its namespace, and that the index finds for a pod.
pub trait Selects: Typed {
    /// Whether it selects pods with these labels.
    fn selects(&self, labels: &Labels) -> bool;
    /// The label pairs that every selected pod has. `None`: it selects no pod.
    fn pairs(&self) -> Option<Vec<Pair>>;
}

/// A label key and its value.
type Pair = (Symbol, Symbol);

impl Selects for Service {
    fn selects(&self, labels: &Labels) -> bool {
        !self.selector.is_empty() && self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    fn pairs(&self) -> Option<Vec<Pair>> {
        let pairs = self.selector.iter().map(|(key, value)| (key.clone(), value.clone()));
        (!self.selector.is_empty()).then(|| pairs.collect())
    }
}

impl Selects for PodDisruptionBudget {
    fn selects(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    fn pairs(&self) -> Option<Vec<Pair>> {
        let requirements = self.selector.as_ref()?.requirements.iter();
        let pairs = requirements.filter_map(|requirement| match &*requirement.values {
            [value] if requirement.operator == SelectorOperator::In => {
                Some((requirement.key.clone(), value.clone()))
            }
            _ => None,
        });
        Some(pairs.collect())
    }
}

/// The objects of one kind in a namespace.
#[derive(Clone, Debug, Default)]
struct Shelf {
    /// Names by a pair that the selector requires; `None`: it requires none.
    at: FxHashMap<Option<Pair>, BTreeSet<Symbol>>,
    /// Where each name is.
    places: FxHashMap<Symbol, Option<Pair>>,
}

impl Shelf {
    fn remove(&mut self, name: &Symbol) {
        let Some(place) = self.places.remove(name) else { return };
        if let Some(names) = self.at.get_mut(&place) {
            names.remove(name);
            if names.is_empty() {
                self.at.remove(&place);
            }
        }
    }

    /// Puts a name to the pair that has the fewest names: a pair that all selectors share would find all of them.
    fn put(&mut self, name: &Symbol, pairs: Vec<Pair>) {
        let count = |pair: &Pair| self.at.get(&Some(pair.clone())).map_or(0, BTreeSet::len);
        let place = pairs.into_iter().min_by_key(count);
        self.at.entry(place.clone()).or_default().insert(name.clone());
        self.places.insert(name.clone(), place);
    }
}

/// The names of Services and budgets, by kind and namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectorIndex(Arc<FxHashMap<(Kind, Symbol), Arc<Shelf>>>);

impl SelectorIndex {
    /// Follows a change of an object as readers see it.
    pub(super) fn change(&mut self, before: Option<&dyn ApiObject>, after: Option<&dyn ApiObject>) {
        let (was, is) = (before.and_then(pairs), after.and_then(pairs));
        if was == is {
            return;
        }
        let Some(object) = after.or(before) else { return };
        let metadata = object.metadata();
        let place = (object.kind(), metadata.namespace.clone());
        let shelves = Arc::make_mut(&mut self.0);
        let shelf = Arc::make_mut(shelves.entry(place.clone()).or_default());
        shelf.remove(&metadata.name);
        match is {
            Some(pairs) => shelf.put(&metadata.name, pairs),
            None if shelf.places.is_empty() => {
                shelves.remove(&place);
            }
            None => {}
        }
    }

    /// The names of the objects of a kind that may select pods of a namespace with these labels, sorted.
    pub(super) fn names(&self, kind: Kind, namespace: &Symbol, labels: &Labels) -> Vec<&Symbol> {
        let Some(shelf) = self.0.get(&(kind, namespace.clone())) else { return Vec::new() };
        let pairs = labels.iter().map(|(key, value)| Some((key.clone(), value.clone())));
        let mut names: Vec<&Symbol> =
            pairs.chain([None]).filter_map(|pair| shelf.at.get(&pair)).flatten().collect();
        names.sort_unstable();
        names
    }

    /// How many names it has.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(|shelf| shelf.places.len()).sum()
    }
}

/// The pairs of an object of any kind; `None`: it selects no pod, or the index does not have its kind.
fn pairs(object: &dyn ApiObject) -> Option<Vec<Pair>> {
    let service = downcast::<Service>(object).map(Selects::pairs);
    let budget = || downcast::<PodDisruptionBudget>(object).map(Selects::pairs);
    service.or_else(budget).flatten()
}
